/* decode.c - see decode.h */
#include "pipeline/decode.h"

#include "pipeline/fault.h"

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

/* What one container is turned into on the way. */
struct decoding {
    const struct input *in;
    const struct decode_known *known;
    struct decode_scratch *scratch;
    struct arena *arena;
    struct decoded *out;
    uint32_t *table; /* open addressing over out->geometries: index + 1, 0 is free; shared blocks are the rule
                        in stages */
    size_t table_mask;
    struct error *err;
};

/* The slot of a geometry in the table: its own, or the free one where it belongs. */
static uint32_t *geometry_slot(const struct decoding *d, const struct hash *hash)
{
    uint64_t start;
    memcpy(&start, hash->bytes, sizeof start);
    for (size_t i = start & d->table_mask;; i = (i + 1) & d->table_mask)
        if (!d->table[i] || hash_equal(&d->out->geometries[d->table[i] - 1].hash, hash))
            return &d->table[i];
}

/* Serialises a mesh and keeps it encoded, once per container and unless the store has it. */
static bool keep_mesh(struct decoding *d, const struct mesh *mesh, struct hash *hash, uint64_t *bytes)
{
    struct decode_scratch *scratch = d->scratch;
    size_t size = mesh_canonical_size(mesh);
    buffer_clear(&scratch->canonical);
    uint8_t *canonical = buffer_extend(&scratch->canonical, size);
    if (!canonical)
        return out_of_memory(d->err);
    mesh_write(mesh, canonical);
    *hash = hash_bytes(canonical, size);
    *bytes = size;
    uint32_t *slot = geometry_slot(d, hash);
    if (*slot)
        return true;
    struct decoded_geometry *geometry = &d->out->geometries[d->out->geometry_count];
    geometry->hash = *hash;
    if (!known_has(d->known->set, hash, d->known->batch)) {
        buffer_clear(&scratch->encoded);
        if (!codec_encode(CODEC_DEFAULT, canonical, size, &scratch->encoded))
            return out_of_memory(d->err);
        geometry->encoded =
            (const uint8_t *)arena_copy(d->arena, scratch->encoded.data, scratch->encoded.size);
        geometry->size = scratch->encoded.size;
        if (!geometry->encoded)
            return out_of_memory(d->err);
    }
    *slot = (uint32_t)++d->out->geometry_count;
    return true;
}

/* Hash of the raw bytes of all buffers, indices or vertices, one after the other. */
static bool hash_buffers(const struct decoding *d, const struct candidate *candidate, uint32_t count,
                         bool vertices, struct hash *hash)
{
    struct buffer *raw = &d->scratch->encoded;
    buffer_clear(raw);
    for (uint32_t i = 0; i < count; i++) {
        const struct buffer_place *place = &candidate->buffers[i];
        uint64_t start = vertices ? place->vertex_offset : place->index_offset;
        uint64_t size =
            vertices ? (uint64_t)place->vertex_count * place->stride : (uint64_t)place->index_count * 2;
        if (start > d->in->size || size > d->in->size - start)
            continue; /* of a truncated file: the block was never placed, its hash proves nothing */
        buffer_append(raw, d->in->data + start, size);
    }
    *hash = hash_bytes(raw->data, raw->size);
    return !raw->failed || out_of_memory(d->err);
}

static bool keep_candidates(struct decoding *d, struct resource_record *record)
{
    struct resource *resource = &record->resource;
    record->candidate_hashes =
        arena_array(d->arena, resource->candidate_count, sizeof *record->candidate_hashes);
    if (!record->candidate_hashes)
        return out_of_memory(d->err);
    for (uint32_t i = 0; i < resource->candidate_count; i++) {
        struct candidate_hashes *hashes = &record->candidate_hashes[i];
        struct candidate *candidate = &resource->candidates[i];
        uint64_t bytes;
        if (!hash_buffers(d, candidate, resource->marker_count, false, &hashes->index_bytes) ||
            !hash_buffers(d, candidate, resource->marker_count, true, &hashes->vertex_bytes) ||
            (candidate->mesh && !keep_mesh(d, candidate->mesh, &hashes->geometry, &bytes)))
            return false;
    }
    return true;
}

static bool keep_resource(struct decoding *d, const struct resource *resource, struct resource_record *record)
{
    record->resource = *resource;
    record->resource.mesh = NULL;
    d->out->record.by_status[resource->status]++;
    if (resource->candidate_count && !keep_candidates(d, record))
        return false;
    if (!resource->mesh)
        return true;
    if (!keep_mesh(d, resource->mesh, &record->geometry, &record->geometry_bytes))
        return false;
    d->out->canonical_bytes += record->geometry_bytes;
    return true;
}

/* Room for every geometry of the container: its resources' and those of candidates that were decoded. */
static bool make_room(struct decoding *d, const struct container *container)
{
    size_t meshes = 0, room = 4;
    for (uint32_t i = 0; i < container->resource_count; i++) {
        const struct resource *resource = &container->resources[i];
        meshes += resource->mesh != NULL;
        for (uint32_t k = 0; k < resource->candidate_count; k++)
            meshes += resource->candidates[k].mesh != NULL;
    }
    while (room < 2 * meshes)
        room *= 2;
    d->table_mask = room - 1;
    d->table = arena_array(d->arena, room, sizeof *d->table);
    d->out->resource_count = container->resource_count;
    d->out->resources = arena_array(d->arena, container->resource_count, sizeof *d->out->resources);
    d->out->geometries = arena_array(d->arena, meshes, sizeof *d->out->geometries);
    return (d->table && d->out->resources && d->out->geometries) || out_of_memory(d->err);
}

bool decode_container(const struct input *in, enum format_id format_id, bool ambiguous_format,
                      const struct decode_known *known, struct decode_scratch *scratch, struct arena *arena,
                      struct decoded *out, struct error *err)
{
    const struct format *format = decode_format(format_id);
    memset(out, 0, sizeof *out);
    out->hash = hash_bytes(in->data, in->size);
    const struct hash key = known_content(&out->hash, format ? format->version : 0);
    out->known = known_has(known->set, &key, known->batch);
    if (out->known)
        return true;
    struct container *container = &out->record.container;
    fault_here(FAULT_DECODE, in->name);
    if (!format_decode(format, in, arena, container))
        return out_of_memory(err);
    if (ambiguous_format)
        container->flags |= FLAG_BIT(FLAG_AMBIGUOUS_FORMAT);
    out->record.bytes = in->size;
    out->record.decoder_version = format ? format->version : 0;
    struct decoding d = {
        .in = in, .known = known, .scratch = scratch, .arena = arena, .out = out, .err = err};
    if (!make_room(&d, container))
        return false;
    for (size_t i = 0; i < out->resource_count; i++)
        if (!keep_resource(&d, &container->resources[i], &out->resources[i]))
            return false;
    return true;
}
