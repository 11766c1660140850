/* export_ply.c - Stanford PLY, binary little-endian: every item as one list of vertices and one of triangles.
 *
 * The header counts what follows and vertices stand before faces, so the items are gone through three times:
 * to count, for the vertices, for the faces. What one item has and another has not (normals, texture
 * coordinates, colours) is filled with 0, colours with white.
 */
#include <math.h>

#include "export_internal.h"

struct ply {
    struct export_sink sink;
    uint64_t vertices, triangles;
    bool normals, texcoords, colours;
    uint64_t base; /* the item's first vertex */
};

/* The first attribute of that usage, NULL when there is none. */
static const struct export_attribute *first_attribute(const struct export_weld *weld, enum mesh_usage usage)
{
    for (uint32_t i = 0; i < weld->attribute_count; i++)
        if (weld->attributes[i].stream->usage == usage)
            return &weld->attributes[i];
    return NULL;
}

static void count_item(struct ply *ply, const struct export_view *view, const struct export_weld *weld)
{
    ply->vertices += weld->vertex_count;
    ply->triangles += view->drawn;
    ply->normals |= weld->has_normals;
    ply->texcoords |= first_attribute(weld, MESH_TEXCOORD) != NULL;
    ply->colours |= first_attribute(weld, MESH_COLOR) != NULL;
}

static void write_vertices(struct ply *ply, const struct export_view *view, const struct export_weld *weld)
{
    const struct export_attribute *texcoord = first_attribute(weld, MESH_TEXCOORD);
    const struct export_attribute *colour = first_attribute(weld, MESH_COLOR);
    for (uint32_t v = 0; v < weld->vertex_count; v++) {
        float position[3], normal[3] = {0}, st[4] = {0}, rgba[4] = {1, 1, 1, 1};
        export_position(view, weld->source[v], position);
        for (int i = 0; i < 3; i++)
            sink_f32(&ply->sink, position[i]);
        if (weld->has_normals)
            export_weld_normal(weld, v, normal);
        for (int i = 0; ply->normals && i < 3; i++)
            sink_f32(&ply->sink, normal[i]);
        if (texcoord)
            export_weld_value(view, weld, texcoord, v, st);
        for (int i = 0; ply->texcoords && i < 2; i++)
            sink_f32(&ply->sink, st[i]);
        if (colour)
            export_weld_value(view, weld, colour, v, rgba);
        for (int i = 0; ply->colours && i < 3; i++)
            sink_u8(&ply->sink, (uint8_t)nearbyint(rgba[i] * 255.0));
    }
}

static void write_faces(struct ply *ply, const struct export_view *view, const struct export_weld *weld)
{
    for (uint64_t t = 0; t < view->drawn; t++) {
        sink_u8(&ply->sink, 3);
        for (int k = 0; k < 3; k++)
            sink_u32(&ply->sink, (uint32_t)(ply->base + weld->index[t * 3 + (unsigned)k]));
    }
    ply->base += weld->vertex_count;
}

static void write_header(struct ply *ply, const struct export_item *items, size_t count, struct arena *arena)
{
    struct export_sink *sink = &ply->sink;
    sink_text(sink, "ply\nformat binary_little_endian 1.0\ncomment anchorage\n");
    for (size_t i = 0; i < count; i++) {
        arena_reset(arena);
        const char *name = export_name(arena, export_item_name(&items[i]), true);
        sink_text(sink, "comment mesh ");
        sink_text(sink, name ? name : "mesh");
        sink_text(sink, "\n");
        export_provenance(sink, &items[i], "comment ", arena);
    }
    sink_text(sink, "element vertex ");
    sink_number(sink, ply->vertices);
    sink_text(sink, "\nproperty float x\nproperty float y\nproperty float z\n");
    if (ply->normals)
        sink_text(sink, "property float nx\nproperty float ny\nproperty float nz\n");
    if (ply->texcoords)
        sink_text(sink, "property float s\nproperty float t\n");
    if (ply->colours)
        sink_text(sink, "property uchar red\nproperty uchar green\nproperty uchar blue\n");
    sink_text(sink, "element face ");
    sink_number(sink, ply->triangles);
    sink_text(sink, "\nproperty list uchar int vertex_indices\nend_header\n");
}

/* Goes through the items once, each as one welded span. */
static bool each_item(struct ply *ply, const struct export_item *items, size_t count, struct arena *arena,
                      struct error *err,
                      void (*visit)(struct ply *, const struct export_view *, const struct export_weld *))
{
    for (size_t i = 0; i < count; i++) {
        struct export_view view;
        struct export_weld weld;
        arena_reset(arena);
        if (!export_view_make(&items[i], true, arena, &view, err))
            return false;
        if (view.span_count == 0)
            continue;
        if (!export_weld_make(&view, &view.spans[0], arena, &weld, err))
            return false;
        visit(ply, &view, &weld);
    }
    return true;
}

bool export_write_ply(const struct export_item *items, size_t count, FILE *out, struct error *err)
{
    struct arena arena = {0};
    struct ply ply = {.vertices = 0};
    sink_start(&ply.sink, out, err);
    bool ok = each_item(&ply, items, count, &arena, err, count_item);
    if (ok && ply.vertices > INT32_MAX)
        ok = error_set(err, ERROR_LIMIT, ERROR_NO_OFFSET, "export: too many vertices for PLY's int indices");
    if (ok)
        write_header(&ply, items, count, &arena);
    ok = ok && each_item(&ply, items, count, &arena, err, write_vertices) &&
         each_item(&ply, items, count, &arena, err, write_faces) && sink_finish(&ply.sink);
    arena_free(&arena);
    return ok;
}
