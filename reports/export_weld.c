/* export_weld.c - one index a corner, and the normals that a file lacks.
 *
 * glTF and PLY know a vertex only with all its attributes. Where an attribute is parallel to the positions
 * nothing changes; where corners of one vertex differ (MESHBIN's separate indices, flat shading) the vertex
 * is copied. What differs from corner to corner is collected in a record of floats; corners of a vertex with
 * equal records share a copy, so that a cube of 8 corners with flat sides gets 24 vertices, not 36.
 */
#include <math.h>
#include <string.h>

#include "export_internal.h"

#define RECORD_MAX (3 + 4 * MESH_STREAMS_MAX)

/* In the four real files known, turned normals stand on their faces exactly: the mean cosine is 1.0000, as
 * stored it is 0.33 to 0.38. */
#define TURNED_AGREEMENT 0.9

/* A triangle without an area, or a vertex that no triangle uses, has no normal to derive; glTF wants one. */
static const float any_normal[3] = {0, 0, 1};

/* Where the normals of a part come from. */
struct normal_source {
    const struct mesh_stream *stored; /* NULL: none, or not to be used */
    bool any;                         /* the part has normals */
    bool by_face; /* where none is stored the face's serves, so corners may differ; else a smooth one does */
};

struct welder {
    const struct export_view *view;
    const struct export_span *span;
    struct export_weld *weld;
    float *records;
    uint32_t *source, *index;
    bool *claimed;   /* [stored_count]: the stored vertex's own place carries a record already */
    uint32_t *table; /* output vertex + 1, open addressing */
    size_t table_mask;
};

static struct normal_source normal_source(const struct export_view *view, const struct export_part *part)
{
    int stream = export_stream(view->mesh, MESH_NORMAL, 3);
    bool faceted = export_is_faceted(view, part);
    bool stored = stream >= 0 && part->streams >> stream & 1 && !faceted;
    bool derived = view->format == FORMAT_MESHBIN || view->format == FORMAT_BGF;
    struct normal_source source = {.stored = stored ? &view->mesh->streams[stream] : NULL,
                                   .any = stored || derived};
    source.by_face =
        source.any && (faceted || view->format == FORMAT_MESHBIN || (stored && source.stored->corner));
    return source;
}

bool export_part_has_normals(const struct export_view *view, const struct export_part *part)
{
    return normal_source(view, part).any;
}

/* The face's normal times twice its area, counter-clockwise in the order that is written. */
static void face_vector(const struct export_view *view, uint32_t triangle, double out[3])
{
    uint32_t corner[3];
    float a[3], b[3], c[3];
    export_corners(view, &view->mesh->streams[0], triangle, corner);
    export_position(view, corner[0], a);
    export_position(view, corner[1], b);
    export_position(view, corner[2], c);
    double u[3], v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = (double)b[axis] - a[axis];
        v[axis] = (double)c[axis] - a[axis];
    }
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

static bool unit(const double vector[3], float out[3])
{
    double length = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    if (!(length > 0))
        return false;
    for (int axis = 0; axis < 3; axis++)
        out[axis] = (float)(vector[axis] / length);
    return true;
}

/* The mean cosine between the stored normals and the faces they are used on, with the view's idea of their
 * axes. */
static double normal_agreement(const struct export_view *view, const struct mesh_stream *stream)
{
    double sum = 0;
    uint64_t count = 0;
    for (uint32_t t = 0; t < view->mesh->triangle_count; t++) {
        double face[3];
        float flat[3], normal[3];
        uint32_t corner[3];
        if (!export_drawable(view->mesh, t))
            continue;
        face_vector(view, t, face);
        export_corners(view, stream, t, corner);
        if (!unit(face, flat) || !export_normal(view, stream, corner[0], normal))
            continue;
        sum += (double)flat[0] * normal[0] + (double)flat[1] * normal[1] + (double)flat[2] * normal[2];
        count++;
    }
    return count ? sum / (double)count : 0;
}

bool export_normals_are_turned(const struct export_view *view)
{
    int index = export_stream(view->mesh, MESH_NORMAL, 3);
    if (view->format != FORMAT_MESHBIN || !(view->item->resource->flags & FLAG_BIT(FLAG_LEGACY)) || index < 0)
        return false;
    struct export_view turned = *view;
    turned.turned_normals = true;
    double agreement = normal_agreement(&turned, &view->mesh->streams[index]);
    return agreement > TURNED_AGREEMENT && agreement > normal_agreement(view, &view->mesh->streams[index]);
}

/* Sums of the face vectors around each vertex of the span, over the parts that shade smoothly. */
static double *smooth_sums(const struct export_view *view, const struct export_span *span,
                           struct arena *arena)
{
    double *sums = arena_array(arena, (size_t)span->vertex_count * 3, sizeof *sums);
    for (uint32_t p = 0; sums && p < span->part_count; p++) {
        const struct export_part *part = &view->parts[span->first_part + p];
        if (normal_source(view, part).by_face)
            continue;
        for (uint32_t t = 0; t < part->triangle_count; t++) {
            uint32_t triangle = part->first_triangle + t;
            if (!export_drawable(view->mesh, triangle))
                continue;
            double face[3];
            face_vector(view, triangle, face);
            for (unsigned k = 0; k < 3; k++) {
                double *sum = sums + (size_t)(mesh_corner(view->mesh, &view->mesh->streams[0], triangle, k) -
                                              span->first_vertex) *
                                         3;
                for (int axis = 0; axis < 3; axis++)
                    sum[axis] += face[axis];
            }
        }
    }
    return sums;
}

/* A normal for each stored vertex of the span: the stored one, else a smooth one. */
static const float *vertex_normals(const struct export_view *view, const struct export_span *span,
                                   struct arena *arena)
{
    int index = export_stream(view->mesh, MESH_NORMAL, 3);
    const struct mesh_stream *stream = index >= 0 ? &view->mesh->streams[index] : NULL;
    if (stream && stream->corner)
        stream = NULL;
    float *normals = arena_array(arena, (size_t)span->vertex_count * 3, sizeof *normals);
    double *sums = NULL;
    for (uint32_t v = 0; normals && v < span->vertex_count; v++) {
        float *normal = normals + (size_t)v * 3;
        if (stream && export_normal(view, stream, span->first_vertex + v, normal))
            continue;
        if (!sums && !(sums = smooth_sums(view, span, arena)))
            return NULL;
        if (!unit(sums + (size_t)v * 3, normal))
            memcpy(normal, any_normal, sizeof any_normal);
    }
    return normals;
}

/* Lists a usage's streams that some part of the span has, by usage index. */
static void list_attributes(const struct export_view *view, const struct export_span *span,
                            enum mesh_usage usage, unsigned components, struct export_weld *weld)
{
    uint32_t streams = 0, first = weld->attribute_count;
    for (uint32_t p = 0; p < span->part_count; p++)
        streams |= view->parts[span->first_part + p].streams;
    for (uint32_t i = 1; i < view->mesh->stream_count; i++) {
        const struct mesh_stream *stream = &view->mesh->streams[i];
        if (stream->usage != usage || stream->components < components || !(streams >> i & 1))
            continue;
        uint32_t at = weld->attribute_count++;
        for (; at > first && weld->attributes[at - 1].stream->usage_index > stream->usage_index; at--)
            weld->attributes[at] = weld->attributes[at - 1];
        weld->attributes[at] = (struct export_attribute){.stream = stream, .bit = UINT32_C(1) << i};
    }
}

/* Decides which attributes there are and which of them differ from corner to corner. */
static void lay_out_records(const struct export_view *view, const struct export_span *span,
                            struct export_weld *weld)
{
    bool by_face = false;
    for (uint32_t p = 0; p < span->part_count; p++) {
        struct normal_source source = normal_source(view, &view->parts[span->first_part + p]);
        weld->has_normals |= source.any;
        by_face |= source.by_face;
    }
    weld->normal_record = by_face ? 0 : -1;
    weld->record_size = by_face ? 3 : 0;
    if (span->part_count == 0)
        return;
    list_attributes(view, span, MESH_TEXCOORD, 2, weld);
    list_attributes(view, span, MESH_COLOR, 3, weld);
    for (uint32_t i = 0; i < weld->attribute_count; i++) {
        struct export_attribute *attribute = &weld->attributes[i];
        attribute->record = attribute->stream->corner ? (int)weld->record_size : -1;
        if (attribute->stream->corner)
            weld->record_size += attribute->stream->components;
    }
}

static uint64_t record_hash(uint32_t vertex, const float *record, uint32_t size)
{
    uint64_t hash = vertex * UINT64_C(0x9E3779B97F4A7C15);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t word;
        memcpy(&word, record + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
    }
    return hash ^ hash >> 32;
}

/* The output vertex that is stored vertex `vertex` with this record: an equal one, else the stored vertex's
 * own place when it is free, else a new copy. */
static uint32_t place_record(struct welder *w, uint32_t vertex, const float *record)
{
    uint32_t size = w->weld->record_size;
    size_t slot = record_hash(vertex, record, size) & w->table_mask;
    for (; w->table[slot]; slot = (slot + 1) & w->table_mask) {
        uint32_t at = w->table[slot] - 1;
        if (w->source[at] == vertex &&
            memcmp(w->records + (size_t)at * size, record, size * sizeof *record) == 0)
            return at;
    }
    uint32_t at = vertex - w->span->first_vertex;
    if (w->claimed[at])
        at = w->weld->vertex_count++;
    else
        w->claimed[at] = true;
    w->source[at] = vertex;
    memcpy(w->records + (size_t)at * size, record, size * sizeof *record);
    w->table[slot] = at + 1;
    return at;
}

/* Fills the records of a triangle's three corners. */
static void corner_records(const struct welder *w, const struct normal_source *source, uint32_t triangle,
                           float records[3][RECORD_MAX])
{
    const struct export_view *view = w->view;
    const struct export_weld *weld = w->weld;
    uint32_t corner[3];
    if (weld->normal_record >= 0) {
        double face[3];
        float flat[3];
        face_vector(view, triangle, face);
        if (!unit(face, flat))
            memcpy(flat, any_normal, sizeof any_normal);
        export_corners(view, source->stored ? source->stored : &view->mesh->streams[0], triangle, corner);
        for (unsigned k = 0; k < 3; k++) {
            float *normal = records[k] + weld->normal_record;
            if (source->stored && export_normal(view, source->stored, corner[k], normal))
                continue;
            const float *derived = flat;
            if (!source->by_face)
                derived = weld->vertex_normals + (size_t)(corner[k] - w->span->first_vertex) * 3;
            memcpy(normal, derived, 3 * sizeof *normal);
        }
    }
    for (uint32_t i = 0; i < weld->attribute_count; i++) {
        const struct export_attribute *attribute = &weld->attributes[i];
        if (attribute->record < 0)
            continue;
        export_corners(view, attribute->stream, triangle, corner);
        for (unsigned k = 0; k < 3; k++)
            export_value(view, attribute->stream, corner[k], records[k] + attribute->record);
    }
}

static void weld_triangles(struct welder *w)
{
    const struct export_view *view = w->view;
    uint32_t *index = w->index;
    for (uint32_t p = 0; p < w->span->part_count; p++) {
        const struct export_part *part = &view->parts[w->span->first_part + p];
        struct normal_source source = normal_source(view, part);
        for (uint32_t t = 0; t < part->triangle_count; t++) {
            uint32_t triangle = part->first_triangle + t, corner[3];
            float records[3][RECORD_MAX];
            if (!export_drawable(view->mesh, triangle))
                continue;
            export_corners(view, &view->mesh->streams[0], triangle, corner);
            if (w->weld->record_size)
                corner_records(w, &source, triangle, records);
            for (unsigned k = 0; k < 3; k++)
                *index++ = w->weld->record_size ? place_record(w, corner[k], records[k])
                                                : corner[k] - w->span->first_vertex;
        }
    }
}

/* Memory for the worst case, a copy for each corner. Pages that are not needed are never touched. */
static bool welder_alloc(struct welder *w, uint64_t corners, struct arena *arena)
{
    struct export_weld *weld = w->weld;
    bool splits = weld->record_size > 0;
    size_t room = (size_t)(weld->stored_count + (splits ? corners : 0)), slots = 16;
    w->index = arena_array(arena, corners, sizeof *w->index);
    w->source = arena_array(arena, room, sizeof *w->source);
    if (splits) {
        while (slots < corners * 2)
            slots *= 2;
        w->table_mask = slots - 1;
        w->table = arena_array(arena, slots, sizeof *w->table);
        w->claimed = arena_array(arena, weld->stored_count, sizeof *w->claimed);
        w->records = arena_array(arena, room, weld->record_size * sizeof *w->records);
        if (!w->table || !w->claimed || !w->records)
            return false;
    }
    weld->index = w->index;
    weld->source = w->source;
    weld->records = w->records;
    return w->index && w->source;
}

bool export_weld_make(const struct export_view *view, const struct export_span *span, struct arena *arena,
                      struct export_weld *weld, struct error *err)
{
    uint64_t corners = 0;
    for (uint32_t p = 0; p < span->part_count; p++)
        corners += (uint64_t)view->parts[span->first_part + p].drawn * 3;
    if (span->vertex_count + corners >= UINT32_MAX)
        return error_set(err, ERROR_LIMIT, ERROR_NO_OFFSET, "export: too many vertices for 32-bit indices");
    *weld = (struct export_weld){.vertex_count = span->vertex_count, .stored_count = span->vertex_count};
    struct welder w = {.view = view, .span = span, .weld = weld};
    lay_out_records(view, span, weld);
    if (!welder_alloc(&w, corners, arena))
        goto nomem;
    if (weld->has_normals && !(weld->vertex_normals = vertex_normals(view, span, arena)))
        goto nomem;
    for (uint32_t v = 0; v < span->vertex_count; v++) {
        w.source[v] = span->first_vertex + v;
        if (weld->normal_record >= 0) /* what a vertex without a triangle keeps */
            memcpy(w.records + (size_t)v * weld->record_size, weld->vertex_normals + (size_t)v * 3,
                   3 * sizeof(float));
    }
    weld_triangles(&w);
    return true;
nomem:
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
}

void export_weld_normal(const struct export_weld *weld, uint32_t vertex, float out[3])
{
    const float *from;
    if (weld->normal_record >= 0)
        from = weld->records + (size_t)vertex * weld->record_size + weld->normal_record;
    else
        from = weld->vertex_normals + (size_t)(weld->source[vertex] - weld->source[0]) * 3;
    memcpy(out, from, 3 * sizeof *out);
}

void export_weld_value(const struct export_view *view, const struct export_weld *weld,
                       const struct export_attribute *attribute, uint32_t vertex, float *out)
{
    if (attribute->record < 0)
        export_value(view, attribute->stream, weld->source[vertex], out);
    else
        memcpy(out, weld->records + (size_t)vertex * weld->record_size + attribute->record,
               attribute->stream->components * sizeof *out);
}
