/* decode.c - see decode.h */
#include "pipeline/decode.h"

#include <string.h>

void decode_scratch_free(struct decode_scratch *scratch)
{
    buffer_free(&scratch->canonical);
    buffer_free(&scratch->encoded);
}

const struct format *decode_format(enum format_id id)
{
    size_t count;
    const struct format *const *all = format_all(&count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->id == id)
            return all[i];
    return NULL;
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while decoding");
}

/* Whether `hash` is among the geometries of this container already: shared blocks are the rule in stages. */
static bool already_encoded(const struct decoded *out, const struct hash *hash)
{
    for (size_t i = 0; i < out->geometry_count; i++)
        if (hash_equal(&out->geometries[i].hash, hash))
            return true;
    return false;
}

static bool keep_geometry(struct decoded *out, const struct hash *hash, const struct decode_known *known,
                          struct decode_scratch *scratch, struct arena *arena, struct error *err)
{
    if (already_encoded(out, hash))
        return true;
    struct decoded_geometry *geometry = &out->geometries[out->geometry_count];
    bool found = false;
    if (known->txn && !store_has_geometry(known->txn, hash, &found, err))
        return false;
    geometry->hash = *hash;
    if (!found) {
        buffer_clear(&scratch->encoded);
        if (!codec_encode(CODEC_DEFAULT, scratch->canonical.data, scratch->canonical.size, &scratch->encoded))
            return out_of_memory(err);
        geometry->encoded = (const uint8_t *)arena_copy(arena, scratch->encoded.data, scratch->encoded.size);
        geometry->size = scratch->encoded.size;
        if (!geometry->encoded)
            return out_of_memory(err);
    }
    out->geometry_count++;
    return true;
}

static bool keep_resource(const struct resource *resource, struct resource_record *record, struct decoded *out,
                          const struct decode_known *known, struct decode_scratch *scratch, struct arena *arena,
                          struct error *err)
{
    record->resource = *resource;
    record->resource.mesh = NULL;
    out->record.by_status[resource->status]++;
    if (!resource->mesh)
        return true;
    size_t size = mesh_canonical_size(resource->mesh);
    buffer_clear(&scratch->canonical);
    uint8_t *canonical = buffer_extend(&scratch->canonical, size);
    if (!canonical)
        return out_of_memory(err);
    mesh_write(resource->mesh, canonical);
    record->geometry = hash_bytes(canonical, size);
    record->geometry_bytes = size;
    out->canonical_bytes += size;
    return keep_geometry(out, &record->geometry, known, scratch, arena, err);
}

bool decode_container(const struct input *in, enum format_id format_id, bool ambiguous_format,
                      const struct decode_known *known, struct decode_scratch *scratch, struct arena *arena,
                      struct decoded *out, struct error *err)
{
    const struct format *format = decode_format(format_id);
    memset(out, 0, sizeof *out);
    out->hash = hash_bytes(in->data, in->size);
    if (known->txn && !store_has_container(known->txn, &out->hash, format ? format->version : 0, &out->known, err))
        return false;
    if (out->known)
        return true;
    struct container *container = &out->record.container;
    if (!format_decode(format, in, arena, container))
        return out_of_memory(err);
    if (ambiguous_format)
        container->flags |= FLAG_BIT(FLAG_AMBIGUOUS_FORMAT);
    out->record.bytes = in->size;
    out->record.decoder_version = format ? format->version : 0;
    out->resource_count = container->resource_count;
    out->resources = arena_array(arena, out->resource_count, sizeof *out->resources);
    out->geometries = arena_array(arena, out->resource_count, sizeof *out->geometries);
    if (!out->resources || !out->geometries)
        return out_of_memory(err);
    for (size_t i = 0; i < out->resource_count; i++)
        if (!keep_resource(&container->resources[i], &out->resources[i], out, known, scratch, arena, err))
            return false;
    return true;
}
