/* pass_measure.c - bounds, size and flags of geometry that a resource was not decoded with by its decoder. */
#include "pipeline/passes.h"

struct measures {
    uint64_t bytes;
    struct bounds bounds;
    bool non_finite;
};

static bool measure_units(struct passes *passes, size_t *count, struct error *err)
{
    (void)err;
    *count = passes->resource_count;
    return true;
}

static bool measure_run(const struct passes *passes, size_t unit, int thread, void **result,
                        struct error *err)
{
    const struct pass_resource *r = &passes->resources[unit];
    struct pass_thread *own = &passes->threads[thread];
    struct arena scratch = {0};
    bool found = false;
    if (hash_equal(&r->now.geometry, &r->geometry) || hash_is_zero(&r->now.geometry))
        return true;
    struct measures *out = arena_alloc(&own->arena, sizeof *out);
    buffer_clear(&own->bytes);
    if (!out)
        return passes_out_of_memory(err);
    if (!store_get_geometry(own->txn, &r->now.geometry, &own->bytes, &found, err))
        return false;
    if (!found)
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                         "a geometry is missing: `anchorage check` tells more");
    const struct mesh *mesh = mesh_read(own->bytes.data, own->bytes.size, &scratch, err);
    if (mesh)
        *out = (struct measures){own->bytes.size, mesh_bounds(mesh), mesh_has_non_finite(mesh)};
    arena_free(&scratch);
    *result = out;
    return mesh != NULL;
}

static bool measure_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    struct pass_outcome *now = &passes->resources[unit].now;
    const struct measures *measures = result;
    (void)err;
    now->geometry_bytes = measures->bytes;
    now->bounds = measures->bounds;
    now->flags =
        (now->flags & ~FLAG_BIT(FLAG_NON_FINITE)) | (measures->non_finite ? FLAG_BIT(FLAG_NON_FINITE) : 0);
    return true;
}

const struct stage pass_measure = {
    .name = "measure", .version = 1, .units = measure_units, .run = measure_run, .commit = measure_commit};
