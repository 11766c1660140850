/* export_internal.h - what the three writers of export.h share.
 *
 * A view is one item with everything decided that does not depend on the file format: which triangles can be
 * drawn, how axes turn, which vertices belong together. A weld is the geometry of one span of it in the form
 * GLB and PLY want, one index a corner. A sink is the file. Views and welds live in arenas of the caller's
 * and are read-only once made.
 */
#ifndef ANCHORAGE_EXPORT_INTERNAL_H
#define ANCHORAGE_EXPORT_INTERNAL_H

#include "export.h"
#include "formats/buffer.h"

/* ---- the file ----------------------------------------------------------------------------------------- */

/* Bytes on their way to a file. A failure sticks: writers write freely and ask sink_finish once. */
struct export_sink {
    FILE *out;
    struct error *err;
    uint64_t written;
    size_t used;
    bool failed;
    uint8_t pending[1 << 14];
};

void sink_start(struct export_sink *sink, FILE *out, struct error *err);
void sink_bytes(struct export_sink *sink, const void *bytes, size_t size);
void sink_text(struct export_sink *sink, const char *text);
void sink_u8(struct export_sink *sink, uint8_t value);
/* Little-endian, as glTF and this program's PLY are. */
void sink_u16(struct export_sink *sink, uint16_t value);
void sink_u32(struct export_sink *sink, uint32_t value);
void sink_f32(struct export_sink *sink, float value);
/* Decimal text. */
void sink_number(struct export_sink *sink, uint64_t value);
void sink_float(struct export_sink *sink, float value);
/* Hands everything to the file. False with *err set when anything failed since sink_start. */
bool sink_finish(struct export_sink *sink);

/* ---- names -------------------------------------------------------------------------------------------- */

/* Appends `name` as valid UTF-8 without control characters: other bytes become %XX. With `token` also blanks,
 * '#' and
 * '\' do, so that it is one word of a line-based format. No NUL is appended. */
void export_escape(struct buffer *out, const char *name, bool token);
/* The same as a string of the arena; NULL when memory runs out. */
char *export_name(struct arena *arena, const char *name, bool token);
/* What an item is called: its name, else the resource's, else "mesh". */
const char *export_item_name(const struct export_item *item);
/* The item's extras as lines "PREFIX key: value", for formats that have comments. */
void export_provenance(struct export_sink *sink, const struct export_item *item, const char *prefix,
                       struct arena *arena);

/* ---- views -------------------------------------------------------------------------------------------- */

/* A part with at least one triangle that can be drawn. */
struct export_part {
    uint32_t part;                /* in mesh->parts and resource->parts; 0 for a mesh without parts */
    const struct part_info *info; /* NULL: nothing is said of it */
    uint32_t first_triangle, triangle_count;
    uint32_t first_vertex, vertex_count;
    uint32_t drawn;   /* triangles with three finite positions */
    uint32_t streams; /* as in struct mesh_part */
};

/* Vertices that are written together. The spans of a view cover its vertices once, in order: a span is a
 * maximal run of parts whose ranges overlap, and vertices outside every part belong to the span before them
 * (those in front of all parts to the first). */
struct export_span {
    uint32_t first_vertex, vertex_count;
    uint32_t first_part, part_count; /* in view->parts */
};

struct export_view {
    const struct export_item *item;
    const struct mesh *mesh;
    enum format_id format;
    float sign[3];       /* 1 or -1: positions and normals are multiplied by it */
    bool reverse;        /* corners are written in the order 0, 2, 1 */
    bool turned_normals; /* stored normals are (x, -z, y) where positions are (x, y, z) */
    uint32_t part_count, span_count;
    struct export_part *parts; /* by first vertex, then in mesh order; of a `whole` view in mesh order */
    struct export_span *spans; /* none for a mesh without vertices */
    uint64_t drawn;            /* triangles, over all parts */
};

/* Makes the view of an item. With `whole` its vertices are one span. False with *err set when memory runs
 * out. */
bool export_view_make(const struct export_item *item, bool whole, struct arena *arena,
                      struct export_view *view, struct error *err);

/* Position `vertex` as it is written: axes turned, components that are not finite 0. */
void export_position(const struct export_view *view, uint32_t vertex, float out[3]);
/* Whether the triangle's positions are all finite. */
bool export_drawable(const struct mesh *mesh, uint32_t triangle);
/* Entry `entry` of a stream of normals as it is written: axes turned, length 1. False when it is zero or not
 * finite; `out` is then 0. */
bool export_normal(const struct export_view *view, const struct mesh_stream *stream, uint32_t entry,
                   float out[3]);
/* An entry of a TEXCOORD or COLOR stream as it is written: units converted, colours clamped to 0..1, 0 for
 * what is not finite. `out` has room for the stream's components. */
void export_value(const struct export_view *view, const struct mesh_stream *stream, uint32_t entry,
                  float *out);
/* Corners of a triangle in the order they are written, as entries of `stream`. */
void export_corners(const struct export_view *view, const struct mesh_stream *stream, uint32_t triangle,
                    uint32_t out[3]);
/* Whether a BGF patch is drawn with flat shading. */
bool export_is_faceted(const struct export_view *view, const struct export_part *part);
/* For each LOD of the resource its number among its object's, from 1; LODs of no known object are counted
 * together. NULL when memory runs out. */
uint32_t *export_lod_numbers(const struct resource *resource, struct arena *arena);
/* Index in mesh->streams of the stream of that usage with at least `components`, -1 when there is none. */
int export_stream(const struct mesh *mesh, enum mesh_usage usage, unsigned components);

/* ---- welds (export_weld.c) ---------------------------------------------------------------------------- */

/* A TEXCOORD or COLOR stream of a span. */
struct export_attribute {
    const struct mesh_stream *stream;
    uint32_t bit; /* of struct mesh_part.streams */
    int record;   /* where its values stand in a record; -1: the source vertex's entry serves */
};

/* One index a corner. Output vertex i < stored_count is the span's stored vertex i; copies, for corners whose
 * normal, texture coordinates or colours differ, follow in the order the triangles need them. */
struct export_weld {
    uint32_t vertex_count, stored_count;
    const uint32_t *source; /* [vertex_count]: the stored vertex, counted from the mesh's first */
    const uint32_t *index;  /* [sum of drawn][3], output vertices, the span's parts in order */
    bool has_normals;
    uint32_t attribute_count;
    struct export_attribute attributes[MESH_STREAMS_MAX]; /* by usage, then usage index */
    uint32_t record_size;                                 /* floats a vertex */
    int normal_record;                                    /* -1: vertex_normals serves */
    const float *records, *vertex_normals;                /* [vertex_count][record_size], [stored_count][3] */
};

/* Welds a span. False with *err set when memory runs out or there are too many vertices for 32-bit indices.
 */
bool export_weld_make(const struct export_view *view, const struct export_span *span, struct arena *arena,
                      struct export_weld *weld, struct error *err);
/* Whether the stored normals of an old MESHBIN stand on its faces only when turned; see docs/export.md. */
bool export_normals_are_turned(const struct export_view *view);
/* Whether primitives of this part have a normal. */
bool export_part_has_normals(const struct export_view *view, const struct export_part *part);
/* The normal of an output vertex: always of length 1. */
void export_weld_normal(const struct export_weld *weld, uint32_t vertex, float out[3]);
/* An attribute's value at an output vertex; `out` has room for its stream's components. */
void export_weld_value(const struct export_view *view, const struct export_weld *weld,
                       const struct export_attribute *attribute, uint32_t vertex, float *out);

/* ---- the writers -------------------------------------------------------------------------------------- */

bool export_write_glb(const struct export_item *items, size_t count, FILE *out, struct error *err);
bool export_write_obj(const struct export_item *items, size_t count, FILE *out, struct error *err);
bool export_write_ply(const struct export_item *items, size_t count, FILE *out, struct error *err);

#endif
