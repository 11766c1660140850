/* record.c - see record.h; the layouts are in store/README.md, "Records", field by field in this order. */
#include "store/record.h"

#include <string.h>

#include "store/record_io.h"

/* The least bytes an element takes, so that a count is checked before memory is taken for it. */
#define CENSUS_LEAST   (2 * STRING_LEAST + 16)
#define TEXTURE_SIZE   (6 * 4 + 3 + 4 * 8)
#define TEXTURE_LEAST  (TEXTURE_SIZE + STRING_LEAST + ERROR_LEAST)
#define TAG_LEAST      (8 + 4)
#define PART_LEAST     (3 * STRING_LEAST + 3 * 4 + 2)
#define LOD_LEAST      (4 + 2 + 2 * 4 + 4)
#define MATERIAL_LEAST (STRING_LEAST + 4 + 1 + 4)
#define TAGGED_LEAST   (4 + STRING_LEAST)
#define ELEMENT_LEAST  (2 + 2 + 4 + 1)
#define MARKER_LEAST   (6 * 4 + 2 * 4)
#define DRAW_LEAST     8
#define EVIDENCE_SIZE  (10 * 4 + 6 + 7 * 4)
#define CANDIDATE_SIZE (8 + EVIDENCE_SIZE + 3 * HASH_SIZE + 2 + CANDIDATE_LEAD)
#define RUN_LEAST      (2 * 8 + 1)

/* ---- counts by status ---- */

static void write_statuses(struct buffer *out, const uint32_t counts[RESOURCE_STATUS_COUNT])
{
    write_u32(out, RESOURCE_STATUS_COUNT);
    for (unsigned i = 0; i < RESOURCE_STATUS_COUNT; i++)
        write_u32(out, counts[i]);
}

static void read_statuses(struct reader *r, uint32_t counts[RESOURCE_STATUS_COUNT])
{
    uint32_t count = reader_u32le(r, "count of statuses");
    if (reader_ok(r) && count != RESOURCE_STATUS_COUNT)
        reader_fail(r, ERROR_RANGE, "counts of %u statuses of %d known", count, RESOURCE_STATUS_COUNT);
    for (unsigned i = 0; i < RESOURCE_STATUS_COUNT; i++)
        counts[i] = reader_u32le(r, "count of a status");
}

/* ---- sources ---- */

bool source_write(struct buffer *out, const struct source_record *record)
{
    write_u8(out, RECORD_VERSION);
    write_u8(out, record->kind);
    write_u8(out, record->format);
    write_u8(out, record->status);
    write_u8(out, record->reason);
    write_u8(out, record->is_input);
    write_hash(out, &record->parent);
    write_hash(out, &record->container);
    write_u64(out, record->bytes);
    write_u64(out, (uint64_t)record->mtime_ns);
    write_u64(out, record->run);
    write_u32(out, record->version);
    write_string(out, record->path);
    write_string(out, record->stem);
    write_string(out, record->message);
    write_string(out, record->magic ? record->magic : "");
    write_string(out, record->ending ? record->ending : "");
    return !out->failed;
}

static void read_source_head(struct reader *r, struct source_head *head)
{
    read_version(r);
    head->kind = read_below(r, SOURCE_DIRECTORY + 1, "kind");
    if (reader_ok(r) && head->kind < SOURCE_CONTAINER)
        reader_fail(r, ERROR_RANGE, "kind 0");
    head->format = read_below(r, FORMAT_COUNT, "format");
    head->status = read_below(r, CONTAINER_SKIPPED + 1, "status");
    head->reason = read_below(r, CONTAINER_REASON_COUNT, "reason");
    head->is_input = read_bool(r, "is_input");
    head->parent = read_hash(r, "parent");
    head->container = read_hash(r, "container");
    head->bytes = read_u64(r, "bytes");
    head->mtime_ns = (int64_t)read_u64(r, "mtime");
    head->run = read_u64(r, "run");
    head->version = reader_u32le(r, "outcome version");
}

bool source_read_head(const uint8_t *bytes, size_t size, struct source_head *head, struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "source record", err);
    read_source_head(&r, head);
    return reader_ok(&r);
}

bool source_read(const uint8_t *bytes, size_t size, struct arena *arena, struct source_record *record,
                 struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "source record", err);
    struct source_head head;
    read_source_head(&r, &head);
    *record = (struct source_record){.kind = head.kind,
                                     .format = head.format,
                                     .status = head.status,
                                     .reason = head.reason,
                                     .is_input = head.is_input,
                                     .parent = head.parent,
                                     .container = head.container,
                                     .bytes = head.bytes,
                                     .mtime_ns = head.mtime_ns,
                                     .run = head.run,
                                     .version = head.version};
    record->path = read_text(&r, arena, "path");
    record->stem = read_string(&r, arena, "stem");
    record->message = read_string(&r, arena, "message");
    record->magic = read_text(&r, arena, "magic");
    record->ending = read_text(&r, arena, "ending");
    return read_end(&r);
}

/* ---- containers ---- */

static void write_textures(struct buffer *out, const struct container *container)
{
    write_u32(out, container->texture_count);
    for (uint32_t i = 0; i < container->texture_count; i++) {
        const struct texture *texture = &container->textures[i];
        write_u32(out, texture->index);
        write_u32(out, texture->width);
        write_u32(out, texture->height);
        write_u32(out, texture->depth);
        write_u32(out, texture->format);
        write_u32(out, texture->dimension);
        write_u8(out, texture->valid);
        write_u8(out, texture->tiled);
        write_u8(out, texture->contested);
        write_u64(out, texture->base_offset);
        write_u64(out, texture->base_size);
        write_u64(out, texture->mip_offset);
        write_u64(out, texture->mip_size);
        write_string(out, texture->name);
        write_error(out, &texture->error);
    }
}

static void read_textures(struct reader *r, struct arena *arena, struct container *container)
{
    uint32_t count = read_count(r, TEXTURE_LEAST, "textures");
    container->textures = read_room(r, arena, count, sizeof *container->textures);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        struct texture *texture = &container->textures[i];
        texture->index = reader_u32le(r, "texture index");
        texture->width = reader_u32le(r, "width");
        texture->height = reader_u32le(r, "height");
        texture->depth = reader_u32le(r, "depth");
        texture->format = reader_u32le(r, "texture format");
        texture->dimension = reader_u32le(r, "dimension");
        texture->valid = read_bool(r, "valid");
        texture->tiled = read_bool(r, "tiled");
        texture->contested = read_bool(r, "contested");
        texture->base_offset = read_u64(r, "base offset");
        texture->base_size = read_u64(r, "base size");
        texture->mip_offset = read_u64(r, "mip offset");
        texture->mip_size = read_u64(r, "mip size");
        texture->name = read_string(r, arena, "texture name");
        read_error(r, &texture->error);
    }
    container->texture_count = count;
}

static void write_tag_counts(struct buffer *out, const struct container *container)
{
    write_u32(out, container->tag_count_count);
    for (uint32_t i = 0; i < container->tag_count_count; i++) {
        buffer_append(out, container->tag_counts[i].tag, sizeof container->tag_counts[i].tag);
        write_u32(out, container->tag_counts[i].count);
    }
}

static void read_tag_counts(struct reader *r, struct arena *arena, struct container *container)
{
    uint32_t count = read_count(r, TAG_LEAST, "tags");
    container->tag_counts = read_room(r, arena, count, sizeof *container->tag_counts);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        struct tag_count *tag = &container->tag_counts[i];
        const uint8_t *text = reader_bytes(r, sizeof tag->tag, "tag");
        if (text)
            memcpy(tag->tag, text, sizeof tag->tag);
        if (reader_ok(r) && tag->tag[sizeof tag->tag - 1] != '\0')
            reader_fail(r, ERROR_MALFORMED, "a tag without its end");
        tag->count = reader_u32le(r, "count of a tag");
    }
    container->tag_count_count = count;
}

static void write_census(struct buffer *out, const struct container_record *record)
{
    write_u32(out, record->census_count);
    for (uint32_t i = 0; i < record->census_count; i++) {
        write_string(out, record->census[i].magic ? record->census[i].magic : "");
        write_string(out, record->census[i].ending ? record->census[i].ending : "");
        write_u64(out, record->census[i].count);
        write_u64(out, record->census[i].bytes);
    }
}

static void read_census(struct reader *r, struct arena *arena, struct container_record *record)
{
    uint32_t count = read_count(r, CENSUS_LEAST, "census rows");
    record->census = read_room(r, arena, count, sizeof *record->census);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        record->census[i].magic = read_text(r, arena, "magic");
        record->census[i].ending = read_text(r, arena, "ending");
        record->census[i].count = read_u64(r, "count");
        record->census[i].bytes = read_u64(r, "bytes");
    }
    record->census_count = count;
}

/* Version 1 ends with the census. */
#define CONTAINER_VERSION 2

bool container_write(struct buffer *out, const struct container_record *record)
{
    const struct container *container = &record->container;
    write_u8(out, CONTAINER_VERSION);
    write_u32(out, record->decoder_version);
    write_u8(out, container->format);
    write_u8(out, container->status);
    write_u8(out, container->reason);
    write_u32(out, container->flags);
    write_u64(out, record->bytes);
    write_u64(out, container->data_offset);
    write_u64(out, container->data_size);
    write_u32(out, container->resource_count);
    write_u64(out, record->member_count);
    write_statuses(out, record->by_status);
    write_error(out, &container->error);
    write_textures(out, container);
    write_tag_counts(out, container);
    write_census(out, record);
    write_string(out, record->images);
    return !out->failed;
}

/* Gives the version of the record. */
static unsigned read_container_head(struct reader *r, struct container_head *head)
{
    unsigned version = reader_u8(r, "version");
    if (reader_ok(r) && version != 1 && version != CONTAINER_VERSION)
        reader_fail(r, ERROR_UNSUPPORTED, "version %u, this program reads 1 and %d", version,
                    CONTAINER_VERSION);
    head->decoder_version = reader_u32le(r, "decoder version");
    head->format = read_below(r, FORMAT_COUNT, "format");
    head->status = read_below(r, CONTAINER_SKIPPED + 1, "status");
    head->reason = read_below(r, CONTAINER_REASON_COUNT, "reason");
    head->flags = reader_u32le(r, "flags");
    head->bytes = read_u64(r, "bytes");
    head->data_offset = read_u64(r, "data offset");
    head->data_size = read_u64(r, "data size");
    head->resource_count = reader_u32le(r, "resource count");
    head->member_count = read_u64(r, "member count");
    read_statuses(r, head->by_status);
    return version;
}

bool container_read_head(const uint8_t *bytes, size_t size, struct container_head *head, struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "container record", err);
    read_container_head(&r, head);
    return reader_ok(&r);
}

bool container_read(const uint8_t *bytes, size_t size, struct arena *arena, struct container_record *record,
                    struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "container record", err);
    struct container_head head;
    unsigned version = read_container_head(&r, &head);
    *record = (struct container_record){.bytes = head.bytes,
                                        .decoder_version = head.decoder_version,
                                        .member_count = head.member_count,
                                        .container = {.format = head.format,
                                                      .status = head.status,
                                                      .reason = head.reason,
                                                      .flags = head.flags,
                                                      .data_offset = head.data_offset,
                                                      .data_size = head.data_size,
                                                      .resource_count = head.resource_count}};
    struct container *container = &record->container;
    memcpy(record->by_status, head.by_status, sizeof record->by_status);
    read_error(&r, &container->error);
    read_textures(&r, arena, container);
    read_tag_counts(&r, arena, container);
    read_census(&r, arena, record);
    if (reader_ok(&r) && version >= CONTAINER_VERSION)
        record->images = read_string(&r, arena, "names of images");
    return read_end(&r);
}

/* ---- resources ---- */

/* How many parts the record has something to say about. */
static uint32_t parts_of(const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    if (!resource->parts)
        return 0;
    if (record->part_count || resource->part_count)
        return record->part_count ? record->part_count : resource->part_count;
    return resource->mesh ? resource->mesh->part_count : 0;
}

static void write_parts(struct buffer *out, const struct resource_record *record)
{
    uint32_t count = parts_of(record);
    write_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct part_info *part = &record->resource.parts[i];
        write_string(out, part->material);
        write_string(out, part->back_material);
        write_string(out, part->special);
        write_u32(out, part->object);
        write_u32(out, part->lod);
        write_u32(out, part->patch);
        write_u8(out, part->faceted);
        write_u8(out, part->decal);
    }
}

static void read_parts(struct reader *r, struct arena *arena, struct resource_record *record)
{
    uint32_t count = read_count(r, PART_LEAST, "parts");
    struct part_info *parts = read_room(r, arena, count, sizeof *parts);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        parts[i].material = read_string(r, arena, "material");
        parts[i].back_material = read_string(r, arena, "back material");
        parts[i].special = read_string(r, arena, "special");
        parts[i].object = reader_u32le(r, "object of a part");
        parts[i].lod = reader_u32le(r, "lod of a part");
        parts[i].patch = reader_u32le(r, "patch");
        parts[i].faceted = read_bool(r, "faceted");
        parts[i].decal = read_bool(r, "decal");
    }
    record->resource.parts = parts;
    record->part_count = record->resource.part_count = count;
}

static void write_objects(struct buffer *out, const struct resource *resource)
{
    write_u32(out, resource->object_count);
    for (uint32_t i = 0; i < resource->object_count; i++)
        write_string(out, resource->objects[i].name);
    write_u32(out, resource->lod_count);
    for (uint32_t i = 0; i < resource->lod_count; i++) {
        const struct lod_info *lod = &resource->lods[i];
        write_u32(out, lod->object);
        write_u8(out, lod->implicit);
        write_u8(out, lod->has_distance);
        write_f32(out, lod->in);
        write_f32(out, lod->out);
        write_u32(out, lod->triangles);
    }
}

static void read_objects(struct reader *r, struct arena *arena, struct resource *resource)
{
    uint32_t count = read_count(r, STRING_LEAST, "objects");
    resource->objects = read_room(r, arena, count, sizeof *resource->objects);
    for (uint32_t i = 0; i < count && reader_ok(r); i++)
        resource->objects[i].name = read_string(r, arena, "object name");
    resource->object_count = count;
    count = read_count(r, LOD_LEAST, "lods");
    resource->lods = read_room(r, arena, count, sizeof *resource->lods);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        struct lod_info *lod = &resource->lods[i];
        lod->object = reader_u32le(r, "object of a lod");
        lod->implicit = read_bool(r, "implicit");
        lod->has_distance = read_bool(r, "has_distance");
        lod->in = reader_f32le(r, "in");
        lod->out = reader_f32le(r, "out");
        lod->triangles = reader_u32le(r, "triangles of a lod");
    }
    resource->lod_count = count;
}

static void write_materials(struct buffer *out, const struct resource *resource)
{
    write_u32(out, resource->material_count);
    for (uint32_t i = 0; i < resource->material_count; i++) {
        const struct material_info *material = &resource->materials[i];
        write_string(out, material->name);
        write_u32(out, material->tag);
        write_u8(out, material->inferred);
        write_u32(out, material->string_count);
        for (uint32_t k = 0; k < material->string_count; k++) {
            write_u32(out, material->strings[k].tag);
            write_string(out, material->strings[k].text);
        }
    }
    write_u32(out, resource->node_count);
    for (uint32_t i = 0; i < resource->node_count; i++)
        write_string(out, resource->nodes[i]);
}

static void read_material(struct reader *r, struct arena *arena, struct material_info *material)
{
    material->name = read_string(r, arena, "material name");
    material->tag = reader_u32le(r, "material tag");
    material->inferred = read_bool(r, "inferred");
    uint32_t count = read_count(r, TAGGED_LEAST, "strings of a material");
    material->strings = read_room(r, arena, count, sizeof *material->strings);
    for (uint32_t k = 0; k < count && reader_ok(r); k++) {
        material->strings[k].tag = reader_u32le(r, "string tag");
        material->strings[k].text = read_string(r, arena, "string");
    }
    material->string_count = count;
}

static void read_materials(struct reader *r, struct arena *arena, struct resource *resource)
{
    uint32_t count = read_count(r, MATERIAL_LEAST, "materials");
    resource->materials = read_room(r, arena, count, sizeof *resource->materials);
    for (uint32_t i = 0; i < count && reader_ok(r); i++)
        read_material(r, arena, &resource->materials[i]);
    resource->material_count = count;
    count = read_count(r, STRING_LEAST, "nodes");
    resource->nodes = read_room(r, arena, count, sizeof *resource->nodes);
    for (uint32_t i = 0; i < count && reader_ok(r); i++)
        resource->nodes[i] = read_string(r, arena, "node");
    resource->node_count = count;
}

static void write_marker(struct buffer *out, const struct xbg7_marker *marker)
{
    write_u32(out, marker->offset);
    write_u32(out, marker->vertex_count);
    write_u32(out, marker->index_count);
    write_u32(out, marker->fetch0);
    write_u32(out, marker->fetch1);
    write_u32(out, marker->stride);
    write_u32(out, marker->element_count);
    for (uint32_t i = 0; i < marker->element_count; i++) {
        const struct vertex_element *element = &marker->elements[i];
        write_u16(out, element->offset);
        write_u8(out, element->usage);
        write_u8(out, element->usage_index);
        write_u32(out, element->format);
        write_u8(out, element->size);
    }
    write_u32(out, marker->draw_count);
    for (uint32_t i = 0; i < marker->draw_count; i++) {
        write_u32(out, marker->draws[i].vertex_count);
        write_u32(out, marker->draws[i].index_count);
    }
}

static void read_marker(struct reader *r, struct arena *arena, struct xbg7_marker *marker)
{
    marker->offset = reader_u32le(r, "marker offset");
    marker->vertex_count = reader_u32le(r, "vertex count");
    marker->index_count = reader_u32le(r, "index count");
    marker->fetch0 = reader_u32le(r, "fetch word 0");
    marker->fetch1 = reader_u32le(r, "fetch word 1");
    marker->stride = reader_u32le(r, "stride");
    uint32_t count = read_count(r, ELEMENT_LEAST, "elements");
    marker->elements = read_room(r, arena, count, sizeof *marker->elements);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        struct vertex_element *element = &marker->elements[i];
        element->offset = reader_u16le(r, "element offset");
        element->usage = reader_u8(r, "usage");
        element->usage_index = reader_u8(r, "usage index");
        element->format = reader_u32le(r, "element format");
        element->size = reader_u8(r, "element size");
    }
    marker->element_count = count;
    count = read_count(r, DRAW_LEAST, "draws");
    marker->draws = read_room(r, arena, count, sizeof *marker->draws);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        marker->draws[i].vertex_count = reader_u32le(r, "vertices of a draw");
        marker->draws[i].index_count = reader_u32le(r, "indices of a draw");
    }
    marker->draw_count = count;
}

static void write_placement(struct buffer *out, const struct resource *resource)
{
    write_u32(out, resource->marker_count);
    for (uint32_t i = 0; i < resource->marker_count; i++)
        write_marker(out, &resource->markers[i]);
    write_buffers(out, resource->buffers, resource->buffer_count);
}

static void read_placement(struct reader *r, struct arena *arena, struct resource *resource)
{
    uint32_t count = read_count(r, MARKER_LEAST, "markers");
    resource->markers = read_room(r, arena, count, sizeof *resource->markers);
    for (uint32_t i = 0; i < count && reader_ok(r); i++)
        read_marker(r, arena, &resource->markers[i]);
    resource->marker_count = count;
    resource->buffers = read_buffers(r, arena, &resource->buffer_count);
}

bool resource_write(struct buffer *out, const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    write_u8(out, RECORD_VERSION);
    write_u8(out, resource->format);
    write_u8(out, resource->status);
    write_u8(out, resource->reason);
    write_u32(out, resource->index);
    write_u32(out, resource->flags);
    write_u32(out, resource->vertices);
    write_u32(out, resource->triangles);
    write_f64(out, resource->score);
    write_f64(out, resource->margin);
    write_hash(out, &record->geometry);
    write_u64(out, record->geometry_bytes);
    write_u8(out, resource->bounds.valid);
    for (unsigned i = 0; i < 6; i++)
        write_f32(out, i < 3 ? resource->bounds.min[i] : resource->bounds.max[i - 3]);
    write_string(out, resource->name);
    write_string(out, resource->variant);
    write_error(out, &resource->error);
    write_parts(out, record);
    write_objects(out, resource);
    write_materials(out, resource);
    write_placement(out, resource);
    return !out->failed;
}

/* A part names an object and a lod, a lod an object: what uses a record may follow them without looking. */
static void check_references(struct reader *r, const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    bool sound = true;
    for (uint32_t i = 0; i < record->part_count; i++)
        sound &= (resource->parts[i].object < resource->object_count || resource->parts[i].object == 0) &&
                 (resource->parts[i].lod < resource->lod_count || resource->parts[i].lod == 0);
    for (uint32_t i = 0; i < resource->lod_count; i++)
        sound &= resource->lods[i].object < resource->object_count || resource->lods[i].object == 0;
    if (!sound)
        reader_fail(r, ERROR_RANGE, "a part or lod names an object or lod that is not there");
}

bool resource_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resource_record *record,
                   struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "resource record", err);
    *record = (struct resource_record){0};
    struct resource *resource = &record->resource;
    read_version(&r);
    resource->format = read_below(&r, FORMAT_COUNT, "format");
    resource->status = read_below(&r, RESOURCE_STATUS_COUNT, "status");
    resource->reason = read_below(&r, DECLINE_REASON_COUNT, "reason");
    resource->index = reader_u32le(&r, "index");
    resource->flags = reader_u32le(&r, "flags");
    resource->vertices = reader_u32le(&r, "vertices");
    resource->triangles = reader_u32le(&r, "triangles");
    resource->score = read_f64(&r, "score");
    resource->margin = read_f64(&r, "margin");
    record->geometry = read_hash(&r, "geometry");
    record->geometry_bytes = read_u64(&r, "geometry bytes");
    resource->bounds.valid = read_bool(&r, "bounds");
    for (unsigned i = 0; i < 6; i++)
        *(i < 3 ? &resource->bounds.min[i] : &resource->bounds.max[i - 3]) = reader_f32le(&r, "bounds");
    resource->name = read_string(&r, arena, "name");
    resource->variant = read_string(&r, arena, "variant");
    read_error(&r, &resource->error);
    read_parts(&r, arena, record);
    read_objects(&r, arena, resource);
    read_materials(&r, arena, resource);
    read_placement(&r, arena, resource);
    if (!read_end(&r))
        return false;
    check_references(&r, record);
    return reader_ok(&r);
}

/* ---- candidates ---- */

static void write_evidence(struct buffer *out, const struct anchor_evidence *evidence)
{
    const uint32_t counts[] = {evidence->vertices,     evidence->triangles, evidence->short_of_top,
                               evidence->unreferenced, evidence->normals,   evidence->unit,
                               evidence->faces,        evidence->agreeing,  evidence->degenerate,
                               evidence->nonsense};
    const float measures[] = {evidence->coherence, evidence->extent[0], evidence->extent[1],
                              evidence->extent[2], evidence->radius,    evidence->size_odds,
                              evidence->locality};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        write_u32(out, counts[i]);
    write_u8(out, (uint8_t)evidence->run_start);
    write_u8(out, (uint8_t)evidence->run_end);
    write_u8(out, (uint8_t)evidence->index_start);
    write_u8(out, (uint8_t)evidence->stated);
    write_u8(out, (uint8_t)evidence->size_match);
    write_u8(out, evidence->layout);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        write_f32(out, measures[i]);
}

static void read_evidence(struct reader *r, struct anchor_evidence *evidence)
{
    uint32_t *const counts[] = {&evidence->vertices,     &evidence->triangles, &evidence->short_of_top,
                                &evidence->unreferenced, &evidence->normals,   &evidence->unit,
                                &evidence->faces,        &evidence->agreeing,  &evidence->degenerate,
                                &evidence->nonsense};
    float *const measures[] = {&evidence->coherence, &evidence->extent[0], &evidence->extent[1],
                               &evidence->extent[2], &evidence->radius,    &evidence->size_odds,
                               &evidence->locality};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = reader_u32le(r, "evidence");
    evidence->run_start = reader_i8(r, "run start");
    evidence->run_end = reader_i8(r, "run end");
    evidence->index_start = reader_i8(r, "index start");
    evidence->stated = reader_i8(r, "stated");
    evidence->size_match = reader_i8(r, "size match");
    evidence->layout = reader_u8(r, "layout");
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        *measures[i] = reader_f32le(r, "evidence");
}

/* Versions 1 and 2 were those of stores of schema 1. */
#define CANDIDATES_VERSION 3

bool candidates_write(struct buffer *out, const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    write_u8(out, CANDIDATES_VERSION);
    write_u32(out, resource->candidates_dropped);
    write_u32(out, resource->chosen);
    write_u32(out, resource->candidate_count);
    for (uint32_t i = 0; i < resource->candidate_count; i++) {
        const struct candidate *candidate = &resource->candidates[i];
        write_f64(out, candidate->score);
        write_buffers(out, candidate->buffers, resource->marker_count);
        write_evidence(out, &candidate->evidence);
        write_hash(out, &record->candidate_hashes[i].index_bytes);
        write_hash(out, &record->candidate_hashes[i].vertex_bytes);
        write_hash(out, &record->candidate_hashes[i].geometry);
        write_u8(out, candidate->lead_size);
        buffer_append(out, candidate->lead, CANDIDATE_LEAD);
        write_u8(out, candidate->answer);
    }
    return !out->failed;
}

static void read_lead(struct reader *r, struct candidate *candidate)
{
    candidate->lead_size = read_below(r, CANDIDATE_LEAD + 1, "size of a lead");
    const uint8_t *bytes = reader_bytes(r, CANDIDATE_LEAD, "lead");
    if (bytes)
        memcpy(candidate->lead, bytes, CANDIDATE_LEAD);
}

bool candidates_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resource_record *record,
                     struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "candidates record", err);
    struct resource *resource = &record->resource;
    unsigned version = reader_u8(&r, "version");
    if (reader_ok(&r) && version != CANDIDATES_VERSION)
        reader_fail(&r, ERROR_UNSUPPORTED, "version %u, this program reads %d", version, CANDIDATES_VERSION);
    uint32_t dropped = reader_u32le(&r, "dropped candidates"), chosen = reader_u32le(&r, "chosen candidate");
    uint32_t count = read_count(&r, CANDIDATE_SIZE, "candidates");
    struct candidate *list = read_room(&r, arena, count, sizeof *list);
    struct candidate_hashes *hashes = read_room(&r, arena, count, sizeof *hashes);
    for (uint32_t i = 0; i < count && reader_ok(&r); i++) {
        uint32_t buffers;
        list[i].score = read_f64(&r, "score");
        list[i].buffers = read_buffers(&r, arena, &buffers);
        if (reader_ok(&r) && buffers != resource->marker_count)
            reader_fail(&r, ERROR_RANGE, "%u buffers of %u markers", buffers, resource->marker_count);
        read_evidence(&r, &list[i].evidence);
        hashes[i].index_bytes = read_hash(&r, "hash of indices");
        hashes[i].vertex_bytes = read_hash(&r, "hash of vertices");
        hashes[i].geometry = read_hash(&r, "geometry");
        read_lead(&r, &list[i]);
        list[i].answer = reader_u8(&r, "answer");
    }
    if (!read_end(&r))
        return false;
    resource->candidates = list;
    resource->candidate_count = count;
    resource->candidates_dropped = dropped;
    resource->chosen = chosen;
    record->candidate_hashes = hashes;
    return true;
}

/* ---- coverage ---- */

bool coverage_write(struct buffer *out, const struct container *container)
{
    write_u8(out, RECORD_VERSION);
    write_u32(out, container->coverage_count);
    for (uint32_t i = 0; i < container->coverage_count; i++) {
        write_u64(out, container->coverage[i].start);
        write_u64(out, container->coverage[i].end);
        write_u8(out, container->coverage[i].kind);
    }
    return !out->failed;
}

bool coverage_read(const uint8_t *bytes, size_t size, struct arena *arena, struct container *container,
                   struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "coverage record", err);
    read_version(&r);
    uint32_t count = read_count(&r, RUN_LEAST, "coverage runs");
    struct coverage_run *runs = read_room(&r, arena, count, sizeof *runs);
    for (uint32_t i = 0; i < count && reader_ok(&r); i++) {
        runs[i].start = read_u64(&r, "start");
        runs[i].end = read_u64(&r, "end");
        runs[i].kind = read_below(&r, COVERAGE_KIND_COUNT, "coverage kind");
        if (reader_ok(&r) && (runs[i].end <= runs[i].start || (i && runs[i].start != runs[i - 1].end)))
            reader_fail(&r, ERROR_RANGE, "run %u does not follow the one before it", i);
    }
    if (!read_end(&r))
        return false;
    container->coverage = runs;
    container->coverage_count = count;
    return true;
}

/* ---- runs ---- */

/* Version 1 ends with the arguments. */
#define RUN_VERSION 2

static void write_stages(struct buffer *out, const struct run_record *record)
{
    write_u32(out, record->stage_count);
    for (uint32_t i = 0; i < record->stage_count; i++) {
        write_string(out, record->stages[i].name);
        write_u64(out, record->stages[i].ns);
        write_u64(out, record->stages[i].items);
        write_u64(out, record->stages[i].bytes);
    }
    write_u32(out, record->condition_count);
    for (uint32_t i = 0; i < record->condition_count; i++) {
        write_string(out, record->conditions[i].name);
        write_string(out, record->conditions[i].value);
    }
}

static void read_stages(struct reader *r, struct arena *arena, struct run_record *record)
{
    record->stage_count = read_count(r, STRING_LEAST + 3 * 8, "stages");
    struct run_stage *stages = read_room(r, arena, record->stage_count, sizeof *stages);
    for (uint32_t i = 0; i < record->stage_count && reader_ok(r); i++) {
        stages[i].name = read_text(r, arena, "name of a stage");
        stages[i].ns = read_u64(r, "time of a stage");
        stages[i].items = read_u64(r, "items of a stage");
        stages[i].bytes = read_u64(r, "bytes of a stage");
    }
    record->stages = stages;
    record->condition_count = read_count(r, 2 * STRING_LEAST, "conditions");
    struct run_condition *conditions = read_room(r, arena, record->condition_count, sizeof *conditions);
    for (uint32_t i = 0; i < record->condition_count && reader_ok(r); i++) {
        conditions[i].name = read_text(r, arena, "name of a condition");
        conditions[i].value = read_text(r, arena, "value of a condition");
    }
    record->conditions = conditions;
}

bool run_write(struct buffer *out, const struct run_record *record)
{
    write_u8(out, RUN_VERSION);
    write_u64(out, record->id);
    write_u64(out, (uint64_t)record->started_ns);
    write_u64(out, (uint64_t)record->finished_ns);
    write_u64(out, record->inputs);
    write_u64(out, record->containers);
    write_u64(out, record->resources);
    write_u64(out, record->bytes_read);
    write_u64(out, record->bytes_decoded);
    write_u64(out, record->skipped_unchanged);
    write_u32(out, (uint32_t)record->exit_status);
    write_u32(out, RESOURCE_STATUS_COUNT);
    for (unsigned i = 0; i < RESOURCE_STATUS_COUNT; i++)
        write_u64(out, record->by_status[i]);
    write_string(out, record->version ? record->version : "");
    write_string(out, record->arguments ? record->arguments : "");
    write_stages(out, record);
    return !out->failed;
}

bool run_read(const uint8_t *bytes, size_t size, struct arena *arena, struct run_record *record,
              struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "run record", err);
    *record = (struct run_record){0};
    unsigned version = reader_u8(&r, "version");
    if (reader_ok(&r) && version != 1 && version != RUN_VERSION)
        reader_fail(&r, ERROR_UNSUPPORTED, "version %u, this program reads 1 and %d", version, RUN_VERSION);
    record->id = read_u64(&r, "id");
    record->started_ns = (int64_t)read_u64(&r, "start");
    record->finished_ns = (int64_t)read_u64(&r, "finish");
    record->inputs = read_u64(&r, "inputs");
    record->containers = read_u64(&r, "containers");
    record->resources = read_u64(&r, "resources");
    record->bytes_read = read_u64(&r, "bytes read");
    record->bytes_decoded = read_u64(&r, "bytes decoded");
    record->skipped_unchanged = read_u64(&r, "skipped");
    record->exit_status = reader_i32le(&r, "exit status");
    uint32_t count = reader_u32le(&r, "count of statuses");
    if (reader_ok(&r) && count != RESOURCE_STATUS_COUNT)
        reader_fail(&r, ERROR_RANGE, "counts of %u statuses of %d known", count, RESOURCE_STATUS_COUNT);
    for (unsigned i = 0; i < RESOURCE_STATUS_COUNT; i++)
        record->by_status[i] = read_u64(&r, "count of a status");
    record->version = read_text(&r, arena, "program version");
    record->arguments = read_text(&r, arena, "arguments");
    if (version >= 2)
        read_stages(&r, arena, record);
    return read_end(&r);
}
