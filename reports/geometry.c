/* geometry.c - see geometry.h */
#include "reports/geometry.h"

bool geometry_load(struct store_txn *txn, const struct hash *hash, struct arena *arena,
                   const struct mesh **mesh, struct error *err)
{
    struct buffer canonical = {0};
    bool found = false;
    *mesh = NULL;
    bool ok = store_get_geometry(txn, hash, &canonical, &found, err);
    if (ok && found)
        ok = (*mesh = mesh_read(canonical.data, canonical.size, arena, err)) != NULL;
    buffer_free(&canonical);
    return ok;
}

struct view_resource *geometry_as_resource(const struct hash *hash, const struct mesh *mesh, const char *name,
                                           struct arena *arena)
{
    struct view_resource *view = arena_alloc(arena, sizeof *view);
    struct view_container *container = arena_alloc(arena, sizeof *container);
    struct resource_record *record = arena_alloc(arena, sizeof *record);
    if (!view || !container || !record)
        return NULL;
    *container = (struct view_container){.path = "", .hash = *hash, .format = FORMAT_XPR2};
    *record = (struct resource_record){.geometry = *hash};
    record->resource.format = FORMAT_XBG7;
    record->resource.status = RESOURCE_AMBIGUOUS;
    record->resource.vertices = mesh->vertex_count;
    record->resource.triangles = mesh->triangle_count;
    record->resource.bounds = mesh_bounds(mesh);
    *view = (struct view_resource){.container = container, .record = record, .name = name, .address = name};
    return view;
}
