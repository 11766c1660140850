/* mesh.h - decoded geometry, the same shape for every format.
 *
 * A mesh is a list of triangles whose corners name entries of streams. Stream 0 is POSITION; the others
 * (normals, texture coordinates, colours ...) are either parallel to it or, as in MESHBIN and OBJ, indexed by
 * corner arrays of their own. Parts cut the triangle list into what a viewer draws at once: a draw record of
 * XBG7, a PMESH of BGF. A mesh holds geometry only; what the parts are called is in struct resource.
 *
 * Positions and all else are the stored values; a unit a format page converts (1/128 metre) is converted,
 * axes are as stored. Everything lives in the arena it was decoded into. A finished mesh is read-only and may
 * be shared between threads.
 */
#ifndef ANCHORAGE_MESH_H
#define ANCHORAGE_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

/* What a stream means, numbered as the vertex elements of XBG7 are (formats/xbg7.md). */
enum mesh_usage {
    MESH_POSITION = 0,
    MESH_BLENDWEIGHT = 1,
    MESH_BLENDINDICES = 2, /* one component: the vertex's bone */
    MESH_NORMAL = 3,
    MESH_TEXCOORD = 5,
    MESH_TANGENT = 6,
    MESH_BINORMAL = 7,
    MESH_COLOR = 10, /* 3 or 4 components, 0..1 */
};

#define MESH_STREAMS_MAX 16

struct mesh_stream {
    uint8_t usage;       /* enum mesh_usage, or another number as found */
    uint8_t usage_index; /* 0 for the first TEXCOORD, 1 for the second ... */
    uint8_t components;  /* floats per entry, 1..4 */
    uint32_t count;      /* entries; equal to the mesh's vertex_count unless `corner` is set */
    float *data;         /* [count][components] */
    uint32_t *corner;    /* [triangle_count][3], each < count; NULL: the position's corners serve */
};

/* A run of triangles over a run of vertices. */
struct mesh_part {
    uint32_t first_triangle, triangle_count;
    uint32_t first_vertex, vertex_count; /* every corner of its triangles lies in this range */
    uint32_t streams; /* bit i: streams[i] has values here; elsewhere its entries are zero */
};

struct mesh_bone {
    int32_t parent; /* -1 or an earlier bone */
    float position[3];
    float rotation[4]; /* x, y, z, w */
};

struct mesh {
    uint32_t vertex_count, triangle_count, stream_count, part_count, bone_count;
    struct mesh_stream streams[MESH_STREAMS_MAX]; /* [0] is POSITION, 3 components, its corner never NULL */
    struct mesh_part *parts;
    struct mesh_bone *bones;
};

struct bounds {
    bool valid; /* false: no finite vertex */
    float min[3], max[3];
};

/* A mesh with its POSITION stream allocated: room for `vertices` positions and `triangles` corner triples,
 * and `parts` parts, all zero. NULL when memory runs out. */
struct mesh *mesh_new(struct arena *arena, uint32_t vertices, uint32_t triangles, uint32_t parts);

/* Adds a stream of `count` entries, with a corner array of its own when `indexed`. NULL when memory runs out
 * or there are MESH_STREAMS_MAX already. */
struct mesh_stream *mesh_add_stream(struct mesh *mesh, struct arena *arena, enum mesh_usage usage,
                                    unsigned usage_index, unsigned components, uint32_t count, bool indexed);

/* The stream of that usage, NULL when there is none. */
const struct mesh_stream *mesh_stream(const struct mesh *mesh, enum mesh_usage usage, unsigned usage_index);

/* The entry of `stream` that corner `corner` (0..2) of `triangle` uses. */
static inline uint32_t mesh_corner(const struct mesh *mesh, const struct mesh_stream *stream,
                                   uint32_t triangle, unsigned corner)
{
    const uint32_t *corners = stream->corner ? stream->corner : mesh->streams[0].corner;
    return corners[(size_t)triangle * 3 + corner];
}

/* The box around every finite position, referenced or not. */
struct bounds mesh_bounds(const struct mesh *mesh);

/* Whether any value of any stream is a NaN or an infinity. */
bool mesh_has_non_finite(const struct mesh *mesh);

/* Whether ranges, corners and bones are what this header says. Decoders hold it by construction; what comes
 * from a store is checked with it. */
bool mesh_is_sound(const struct mesh *mesh);

/* The canonical serialisation, version 1: content hashes are taken over it, and a store keeps it. All
 * little-endian:
 *
 *   u32 "AMSH" (0x48534D41), u32 version = 1
 *   u32 vertex_count, triangle_count, stream_count, part_count, bone_count, 0
 *   stream_count x { u8 usage, u8 usage_index, u8 components, u8 indexed; u32 count }
 *   part_count   x { u32 first_triangle, triangle_count, first_vertex, vertex_count, streams }
 *   bone_count   x { i32 parent; f32 position[3]; f32 rotation[4] }
 *   u32 corner[triangle_count][3] of POSITION
 *   per stream: f32 data[count][components], then u32 corner[triangle_count][3] when indexed (never POSITION)
 */
#define MESH_CANONICAL_VERSION 1
#define MESH_CANONICAL_HEADER  32
#define MESH_CANONICAL_STREAM  8
#define MESH_CANONICAL_PART    20
#define MESH_CANONICAL_BONE    32

/* Bytes that mesh_write will write. */
size_t mesh_canonical_size(const struct mesh *mesh);
/* Writes the canonical serialisation to `out`, which has mesh_canonical_size bytes. */
void mesh_write(const struct mesh *mesh, uint8_t *out);
/* Reads a canonical serialisation into the arena. NULL with *err set when it is not one (every length is
 * checked before anything is allocated) or memory runs out. */
struct mesh *mesh_read(const uint8_t *bytes, size_t size, struct arena *arena, struct error *err);

#endif
