/* export_obj.c - Wavefront OBJ.
 *
 * OBJ indexes positions, texture coordinates and normals each on their own, so nothing is split or derived:
 * the lines v, vt and vn are the stored entries in their order. A face names normals only when all three are
 * usable, as a face must name them for all corners or for none. Materials are named; there is no .mtl, as
 * nothing is known of them.
 */
#include "export_internal.h"

/* Entries already written by the items before; OBJ counts through the whole file, from 1. */
struct obj_base {
    uint64_t position, texcoord, normal;
};

struct obj_streams {
    const struct mesh_stream *texcoord, *normal; /* NULL: none */
    int texcoord_index, normal_index;
};

static struct obj_streams obj_streams(const struct mesh *mesh)
{
    struct obj_streams streams = {.texcoord_index = export_stream(mesh, MESH_TEXCOORD, 2),
                                  .normal_index = export_stream(mesh, MESH_NORMAL, 3)};
    if (streams.texcoord_index >= 0)
        streams.texcoord = &mesh->streams[streams.texcoord_index];
    if (streams.normal_index >= 0)
        streams.normal = &mesh->streams[streams.normal_index];
    return streams;
}

static void write_vector(struct export_sink *sink, const char *keyword, const float *values, unsigned count)
{
    sink_text(sink, keyword);
    for (unsigned i = 0; i < count; i++) {
        sink_text(sink, " ");
        sink_float(sink, values[i]);
    }
    sink_text(sink, "\n");
}

static void write_entries(struct export_sink *sink, const struct export_view *view,
                          const struct obj_streams *streams)
{
    float value[4];
    for (uint32_t i = 0; i < view->mesh->vertex_count; i++) {
        export_position(view, i, value);
        write_vector(sink, "v", value, 3);
    }
    for (uint32_t i = 0; streams->texcoord && i < streams->texcoord->count; i++) {
        export_value(view, streams->texcoord, i, value);
        write_vector(sink, "vt", value, 2);
    }
    for (uint32_t i = 0; streams->normal && i < streams->normal->count; i++) {
        export_normal(view, streams->normal, i, value);
        write_vector(sink, "vn", value, 3);
    }
}

static bool normals_usable(const struct export_view *view, const struct mesh_stream *stream,
                           const uint32_t corner[3])
{
    float value[3];
    return export_normal(view, stream, corner[0], value) && export_normal(view, stream, corner[1], value) &&
           export_normal(view, stream, corner[2], value);
}

static void write_face(struct export_sink *sink, const struct export_view *view, const struct obj_base *base,
                       const struct mesh_stream *texcoord, const struct mesh_stream *normal,
                       uint32_t triangle)
{
    uint32_t p[3], t[3], n[3];
    export_corners(view, &view->mesh->streams[0], triangle, p);
    if (texcoord)
        export_corners(view, texcoord, triangle, t);
    if (normal) {
        export_corners(view, normal, triangle, n);
        if (!normals_usable(view, normal, n))
            normal = NULL;
    }
    sink_text(sink, "f");
    for (unsigned k = 0; k < 3; k++) {
        sink_text(sink, " ");
        sink_number(sink, base->position + p[k] + 1);
        if (texcoord || normal)
            sink_text(sink, "/");
        if (texcoord)
            sink_number(sink, base->texcoord + t[k] + 1);
        if (normal) {
            sink_text(sink, "/");
            sink_number(sink, base->normal + n[k] + 1);
        }
    }
    sink_text(sink, "\n");
}

/* The lines in front of a part's faces: object and level of detail as groups, material, smoothing. */
static void write_part_head(struct export_sink *sink, const struct export_view *view,
                            const struct export_part *part, const uint32_t *lod_numbers, struct arena *arena)
{
    const struct resource *resource = view->item->resource;
    const struct part_info *info = part->info;
    if (view->part_count > 1 || info) {
        sink_text(sink, "g part");
        sink_number(sink, part->part);
    }
    if (info && info->object < resource->object_count) {
        const char *given = resource->objects[info->object].name;
        const char *name = given ? export_name(arena, given, true) : NULL;
        sink_text(sink, name && name[0] ? " " : " object");
        if (name && name[0])
            sink_text(sink, name);
        else
            sink_number(sink, info->object);
    }
    if (info && info->lod < resource->lod_count) {
        sink_text(sink, " lod");
        sink_number(sink, lod_numbers[info->lod]);
    }
    if (view->part_count > 1 || info)
        sink_text(sink, "\n");
    const char *material = info && info->material ? export_name(arena, info->material, true) : NULL;
    sink_text(sink, "usemtl ");
    sink_text(sink, material && material[0] ? material : "default");
    sink_text(sink, "\n");
    if (view->format == FORMAT_BGF)
        sink_text(sink, export_is_faceted(view, part) ? "s off\n" : "s 1\n");
}

static void write_part(struct export_sink *sink, const struct export_view *view, const struct obj_base *base,
                       const struct obj_streams *streams, const struct export_part *part,
                       const uint32_t *lod_numbers, struct arena *arena)
{
    bool texcoord = streams->texcoord && part->streams >> streams->texcoord_index & 1;
    bool normal =
        streams->normal && part->streams >> streams->normal_index & 1 && !export_is_faceted(view, part);
    write_part_head(sink, view, part, lod_numbers, arena);
    for (uint32_t t = 0; t < part->triangle_count; t++)
        if (export_drawable(view->mesh, part->first_triangle + t))
            write_face(sink, view, base, texcoord ? streams->texcoord : NULL, normal ? streams->normal : NULL,
                       part->first_triangle + t);
}

bool export_write_obj(const struct export_item *items, size_t count, FILE *out, struct error *err)
{
    struct arena arena = {0};
    struct obj_base base = {0};
    struct export_sink sink;
    sink_start(&sink, out, err);
    sink_text(&sink, "# anchorage\n");
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        struct export_view view;
        arena_reset(&arena);
        const char *name = export_name(&arena, export_item_name(&items[i]), true);
        const uint32_t *lod_numbers = export_lod_numbers(items[i].resource, &arena);
        ok = name && lod_numbers ? export_view_make(&items[i], true, &arena, &view, err)
                                 : error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
        if (!ok)
            break;
        struct obj_streams streams = obj_streams(view.mesh);
        export_provenance(&sink, &items[i], "# ", &arena);
        sink_text(&sink, "o ");
        sink_text(&sink, name);
        sink_text(&sink, "\n");
        write_entries(&sink, &view, &streams);
        for (uint32_t p = 0; p < view.part_count; p++)
            write_part(&sink, &view, &base, &streams, &view.parts[p], lod_numbers, &arena);
        base.position += view.mesh->vertex_count;
        base.texcoord += streams.texcoord ? streams.texcoord->count : 0;
        base.normal += streams.normal ? streams.normal->count : 0;
    }
    ok = ok && sink_finish(&sink);
    arena_free(&arena);
    return ok;
}
