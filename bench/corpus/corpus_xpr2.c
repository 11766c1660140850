/* corpus_xpr2.c - lays a planned container out and writes its bytes and its truth. Layout: formats/xbg7.md
 * section 1, formats/xpr2-textures.md. */
#include "bench/corpus/corpus_internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 0x0C, BASE_LEGACY = 0x10, DIRECTORY = 0x10, ENTRY = 16, HEADER_UNIT = 0x800, PAGE = 4096 };

static uint64_t align_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* ---- textures ---- */

static uint32_t level_bytes(unsigned format, uint32_t width, uint32_t height)
{
    uint32_t side = format == 18 || format == 20 ? 4 : 1;
    uint32_t unit = format == 18 ? 8 : format == 20 ? 16 : format == 6 ? 4 : 1;
    uint64_t columns = align_up((width + side - 1) / side, 32),
             rows = align_up((height + side - 1) / side, 32);
    return (uint32_t)align_up(columns * rows * unit, PAGE);
}

/* Levels 1 and up; the one whose smaller side is 16 holds all smaller ones. */
static uint32_t mip_bytes(const struct texture_plan *texture)
{
    unsigned smaller =
        texture->log2_width < texture->log2_height ? texture->log2_width : texture->log2_height;
    uint32_t bytes = 0;
    for (unsigned level = 1; level + 4 <= smaller; level++)
        bytes += level_bytes(texture->format, UINT32_C(1) << (texture->log2_width - level),
                             UINT32_C(1) << (texture->log2_height - level));
    return bytes;
}

unsigned stage_add_texture(struct stage *stage, uint32_t bytes)
{
    static const uint8_t formats[] = {18, 20, 20, 6, 2};
    if (stage->texture_count == stage->texture_room) {
        unsigned room = stage->texture_room ? stage->texture_room * 2 : 16;
        struct texture_plan *textures = realloc(stage->textures, room * sizeof *textures);
        if (!textures) {
            stage->failed = true;
            return 0;
        }
        stage->textures = textures;
        stage->texture_room = room;
    }
    struct texture_plan texture = {.log2_width = 6, .log2_height = 6, .decoy = -1};
    texture.format = formats[rng_below(stage->rng, sizeof formats)];
    texture.mips = rng_chance(stage->rng, 50);
    for (;;) {
        texture.base_bytes = level_bytes(texture.format, UINT32_C(1) << texture.log2_width,
                                         UINT32_C(1) << texture.log2_height);
        texture.mip_bytes = texture.mips ? mip_bytes(&texture) : 0;
        if (texture.base_bytes + texture.mip_bytes >= bytes || texture.log2_height == 11)
            break;
        if (texture.log2_width == texture.log2_height)
            texture.log2_width++;
        else
            texture.log2_height++;
    }
    stage->textures[stage->texture_count] = texture;
    return stage->texture_count++;
}

/* ---- order and places ---- */

/* A thing of the data section; sorting by key gives file order. */
struct piece {
    uint64_t key;
    bool is_texture;
    unsigned id;
};

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->is_texture != y->is_texture)
        return x->is_texture ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Clusters follow each other by rank; within one, blocks lie at random or, where file order is descriptor
 * order, in the order they were made. Contested blocks are last, in the texture that leaves the section. */
static uint64_t block_key(struct stage *stage, unsigned id)
{
    const struct block *block = &stage->blocks[id];
    uint64_t random = rng_u64(stage->rng) >> 32;
    if (block->contested)
        return UINT64_MAX;
    if (stage->traits.weapon && !stage->traits.elsewhere && id == 0)
        return 0;
    if (block->follows)
        return stage->blocks[id - 1].key + 1;
    if (stage->traits.locality == LOCALITY_NONE)
        return 1 + random;
    uint64_t within = stage->traits.locality == LOCALITY_ORDERED ? (uint64_t)id << 20 : random;
    return (uint64_t)(1 + stage->rank[block->cluster]) << 32 | (within & UINT32_MAX);
}

static uint64_t texture_key(struct stage *stage)
{
    uint64_t random = rng_u64(stage->rng) >> 32;
    if (stage->traits.locality == LOCALITY_NONE)
        return 1 + random;
    return (uint64_t)(1 + rng_below(stage->rng, stage->cluster_count)) << 32 | random;
}

static struct piece *order_pieces(struct stage *stage, unsigned *count)
{
    struct piece *pieces = calloc(stage->block_count + stage->texture_count + 1, sizeof *pieces);
    *count = 0;
    if (!pieces)
        return NULL;
    for (unsigned i = 0; i < stage->block_count; i++) {
        stage->blocks[i].key = block_key(stage, i);
        if (!stage->blocks[i].in_texture)
            pieces[(*count)++] = (struct piece){stage->blocks[i].key, false, i};
    }
    for (unsigned i = 0; i < stage->texture_count; i++)
        if (!stage->textures[i].contested)
            pieces[(*count)++] = (struct piece){texture_key(stage), true, i};
    qsort(pieces, *count, sizeof *pieces, compare_pieces);
    return pieces;
}

static uint64_t place_block(struct stage *stage, struct block *block, uint64_t at, bool first)
{
    if (!first && rng_chance(stage->rng, 60))
        at += 4 * rng_below(stage->rng, 16);
    at = align_up(at, stage->traits.alignment);
    while (block->phased && at % 16 != block->phase)
        at += 4;
    block->place = at;
    return at + block->bytes.size;
}

/* Gives every block and texture its offset in the data section; returns the section's size. */
static uint64_t lay_out(struct stage *stage, const struct piece *pieces, unsigned count)
{
    uint64_t at = stage->traits.elsewhere ? 64 + 4 * rng_below(stage->rng, 500) : 0;
    bool contested = false;
    for (unsigned i = 0; i < count; i++) {
        if (pieces[i].is_texture) {
            struct texture_plan *texture = &stage->textures[pieces[i].id];
            texture->place = align_up(at, PAGE);
            at = texture->place + texture->base_bytes + texture->mip_bytes;
            continue;
        }
        struct block *block = &stage->blocks[pieces[i].id];
        if (block->contested && !contested) {
            at = align_up(at, PAGE);
            for (unsigned t = 0; t < stage->texture_count; t++)
                if (stage->textures[t].contested)
                    stage->textures[t].place = at;
            contested = true;
        }
        at = place_block(stage, block, at, i == 0 && !stage->traits.elsewhere);
    }
    return align_up(at, 64);
}

/* ---- the data section ---- */

static void fill_random(struct rng *rng, uint8_t *out, size_t size)
{
    for (; size >= 8; size -= 8, out += 8) {
        uint64_t word = htole64(rng_u64(rng));
        memcpy(out, &word, 8);
    }
    for (; size; size--)
        *out++ = (uint8_t)rng_u64(rng);
}

/* Pixels: pages of noise, and pages of one repeated DXT block as flat areas have. */
static void fill_pixels(struct rng *rng, uint8_t *out, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE) {
        if (rng_chance(rng, 40)) {
            fill_random(rng, out + at, PAGE);
            continue;
        }
        fill_random(rng, out + at, 16);
        for (size_t k = 16; k < PAGE; k *= 2)
            memcpy(out + at + k, out + at, k);
    }
}

static void write_texture(struct stage *stage, const struct texture_plan *texture, uint8_t *data)
{
    size_t size = texture->base_bytes + texture->mip_bytes;
    fill_pixels(stage->rng, data + texture->place, size);
    if (texture->decoy < 0)
        return;
    const struct buffer *copy = &stage->blocks[texture->decoy].bytes;
    if (copy->size + 64 < size)
        memcpy(data + texture->place + 32 + 4 * rng_below(stage->rng, 4), copy->data, copy->size);
}

static void write_data(struct stage *stage, const struct piece *pieces, unsigned count, uint8_t *data,
                       uint64_t size)
{
    uint64_t end = 0;
    for (unsigned i = 0; i <= count; i++) {
        uint64_t start = i == count             ? size
                         : pieces[i].is_texture ? stage->textures[pieces[i].id].place
                                                : stage->blocks[pieces[i].id].place;
        /* What lies between is unknown to any reader: noise or zeros. */
        if (rng_chance(stage->rng, 50))
            fill_random(stage->rng, data + end, start - end);
        else
            memset(data + end, 0, start - end);
        if (i == count)
            break;
        if (pieces[i].is_texture) {
            const struct texture_plan *texture = &stage->textures[pieces[i].id];
            write_texture(stage, texture, data);
            end = start + texture->base_bytes + texture->mip_bytes;
        } else {
            const struct block *block = &stage->blocks[pieces[i].id];
            memcpy(data + start, block->bytes.data, block->bytes.size);
            end = start + block->bytes.size;
        }
    }
}

/* Where a truncated container ends: inside a block that has about a third of the blocks behind it. */
static uint64_t cut_place(const struct stage *stage, const struct piece *pieces, unsigned count)
{
    unsigned blocks = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct block *block = &stage->blocks[pieces[i].id];
        if (!pieces[i].is_texture && ++blocks > stage->block_count * 2 / 3)
            return block->place + block->bytes.size / 2;
    }
    return stage->textures[pieces[count - 1].id].place;
}

/* ---- the directory ---- */

/* An entry: a resource or a texture. */
struct entry {
    bool is_texture;
    unsigned id;
    uint32_t name, descriptor, descriptor_size; /* offsets in the file */
};

/* Resources by cluster, as they were made; textures strewn in between. */
static struct entry *order_entries(struct stage *stage)
{
    unsigned total = stage->resource_count + stage->texture_count, texture = 0, at = 0;
    struct entry *entries = calloc(total + 1, sizeof *entries);
    if (!entries)
        return NULL;
    for (unsigned cluster = 0; cluster < stage->cluster_count; cluster++) {
        for (unsigned i = 0; i < stage->resource_count; i++) {
            if (stage->resources[i].cluster != cluster)
                continue;
            entries[at++] = (struct entry){.id = i};
            unsigned rate = 1 + 100 * stage->texture_count / (stage->resource_count + 1);
            while (texture < stage->texture_count && rng_chance(stage->rng, rate > 60 ? 60 : rate))
                entries[at++] = (struct entry){.is_texture = true, .id = texture++};
        }
    }
    while (texture < stage->texture_count)
        entries[at++] = (struct entry){.is_texture = true, .id = texture++};
    return entries;
}

static void put_name(struct stage *stage, struct buffer *out, const struct entry *entry)
{
    static const char *const tails[] = {"_col", "_spc", "_gls", "_lum"};
    char name[64] = "";
    if (!entry->is_texture) {
        strcpy(name, stage->resources[entry->id].name);
    } else {
        /* Materials are named after a resource where there is one. */
        unsigned of = entry->id % (stage->resource_count ? stage->resource_count : 1);
        strcpy(name, stage->resources[of].name);
        strcat(name, tails[entry->id % 4]);
    }
    buffer_append(out, name, strlen(name) + 1);
}

static void put_entries(struct stage *stage, struct buffer *out, const struct entry *entries, unsigned count,
                        uint64_t file_size)
{
    uint32_t base = stage->traits.legacy_base ? BASE_LEGACY : BASE;
    for (unsigned i = 0; i < count; i++) {
        enum lie lie = entries[i].is_texture ? LIE_NONE : stage->resources[entries[i].id].lie;
        uint32_t outside = (uint32_t)file_size + 0x1000 + rng_below(stage->rng, 0x10000) * 4;
        buffer_append(out, entries[i].is_texture ? "TX2D" : "XBG7", 4);
        put_u32be(out, lie == LIE_OFFSET ? outside : entries[i].descriptor - base);
        put_u32be(out, lie == LIE_SIZE ? outside : entries[i].descriptor_size);
        put_u32be(out, lie == LIE_NAME ? outside : entries[i].name - base);
    }
}

/* Directory, names and descriptors: everything up to the data section. */
static void write_header(struct stage *stage, struct entry *entries, unsigned count, uint64_t data_size,
                         struct buffer *out)
{
    struct buffer tail = {0}; /* names and descriptors */
    uint32_t start = DIRECTORY + ENTRY * count;
    put_u32be(&tail, 0);
    for (unsigned i = 0; i < count; i++) {
        entries[i].name = start + (uint32_t)tail.size;
        put_name(stage, &tail, &entries[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        while ((start + tail.size) % 4)
            put_u8(&tail, 0);
        entries[i].descriptor = start + (uint32_t)tail.size;
        if (entries[i].is_texture)
            descriptor_write_texture(stage, &stage->textures[entries[i].id], &tail);
        else
            descriptor_write(stage, &stage->resources[entries[i].id], &tail);
        entries[i].descriptor_size = start + (uint32_t)tail.size - entries[i].descriptor;
    }
    uint64_t header = align_up(start + tail.size, HEADER_UNIT);
    uint64_t data_start = stage->traits.legacy_base ? header : header + BASE;
    buffer_append(out, "XPR2", 4);
    put_u32be(out, (uint32_t)header);
    put_u32be(out, (uint32_t)data_size);
    put_u32be(out, count);
    put_entries(stage, out, entries, count, data_start + data_size);
    buffer_append(out, tail.data, tail.size);
    out->failed |= tail.failed;
    buffer_free(&tail);
    if (!out->failed) {
        size_t padding = (size_t)data_start - out->size;
        uint8_t *zero = buffer_extend(out, padding);
        if (zero)
            memset(zero, 0, padding);
    }
}

/* ---- truth ---- */

static json_t *json_bounds(const struct block *block)
{
    return json_pack("{s:o,s:o}", "min", corpus_vector(block->low), "max", corpus_vector(block->high));
}

static json_t *json_buffers(const struct resource_plan *resource, const struct block *block,
                            uint64_t data_start)
{
    json_t *buffers = json_array();
    for (unsigned i = 0; i < block->part_count && i < resource->part_count; i++) {
        const struct span *span = &block->span[i];
        json_array_append_new(
            buffers, json_pack("{s:I,s:I,s:I,s:I,s:I}", "index_offset",
                               (json_int_t)(data_start + block->place + span->index_offset), "index_count",
                               (json_int_t)span->index_count, "vertex_offset",
                               (json_int_t)(data_start + block->place + span->vertex_offset), "vertex_count",
                               (json_int_t)span->vertex_count, "stride", (json_int_t)span->stride));
    }
    return buffers;
}

static json_t *json_classes(const struct resource_plan *resource)
{
    static const char *const words[] = {
#define CLASS_WORD(id, word) word,
        CORPUS_CLASSES(CLASS_WORD)
#undef CLASS_WORD
    };
    json_t *classes = json_array();
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        if (resource->has_class[i])
            json_array_append_new(classes, json_string(words[i]));
    return classes;
}

/* The placements that lie wholly inside the file, with their bounds beside them. */
static void add_placements(struct stage *stage, const struct resource_plan *resource, uint64_t data_start,
                           uint64_t file_size, json_t *placements, json_t *bounds)
{
    for (unsigned i = 0; i < resource->placement_count; i++) {
        const struct block *block = &stage->blocks[resource->placement[i]];
        const struct span *last = &block->span[block->part_count - 1];
        uint64_t end =
            data_start + block->place + last->vertex_offset + (uint64_t)last->vertex_count * last->stride;
        if (end > file_size)
            continue;
        json_array_append_new(placements, json_buffers(resource, block, data_start));
        json_array_append_new(bounds, json_bounds(block));
    }
}

static void add_counts(const struct resource_plan *resource, json_t *truth)
{
    json_int_t vertices = 0, triangles = 0;
    for (unsigned i = 0; i < resource->part_count; i++) {
        vertices += resource->part[i].vertex_count;
        triangles += resource->part[i].index_count / 3;
    }
    json_object_set_new(truth, "vertices", json_integer(vertices));
    json_object_set_new(truth, "triangles", json_integer(triangles));
}

/* Marks what depends on the whole container or on the layout alone. */
static void add_common_classes(const struct stage *stage, struct resource_plan *resource)
{
    bool *has = resource->has_class;
    has[stage->traits.weapon ? CLASS_WEAPON : CLASS_STAGE] = true;
    has[stage->traits.legacy_base ? CLASS_LEGACY_BASE : CLASS_BASE_0C] = true;
    has[stage->traits.derived ? CLASS_DERIVED_RIGHT : CLASS_DERIVED_ARBITRARY] = true;
    has[resource->size > 0 ? CLASS_STORED_SIZE : CLASS_NO_SIZE] = true;
    if (stage->cluster_count > 1) {
        has[stage->traits.locality == LOCALITY_NONE ? CLASS_NO_LOCALITY : CLASS_LOCALITY] = true;
        has[CLASS_ORDERED] = stage->traits.locality == LOCALITY_ORDERED;
    }
}

static json_t *json_resource(struct stage *stage, struct resource_plan *resource, unsigned index,
                             uint64_t data_start, uint64_t file_size)
{
    json_t *truth = json_object(), *placements = json_array(), *bounds = json_array();
    add_placements(stage, resource, data_start, file_size, placements, bounds);
    if (resource->placement_count && json_array_size(placements) == 0) {
        resource->declined = true;
        resource->has_class[CLASS_CUT_OFF] = true;
    }
    add_common_classes(stage, resource);
    json_object_set_new(truth, "index", json_integer(index));
    json_object_set_new(truth, "name", resource->lie == LIE_NAME ? json_null() : json_string(resource->name));
    json_object_set_new(truth, "format", json_string("xbg7"));
    if (resource->declined)
        json_object_set_new(truth, "status", json_string("declined"));
    else if (resource->undecidable)
        json_object_set_new(truth, "status", json_string("ambiguous"));
    if (resource->reason)
        json_object_set_new(truth, "reason", json_string(resource->reason));
    if (resource->lie == LIE_NONE)
        add_counts(resource, truth);
    json_object_set(truth, "bounds", json_array_size(bounds) ? json_array_get(bounds, 0) : json_null());
    json_object_set_new(truth, "placements", placements);
    json_object_set_new(truth, "placement_bounds", bounds);
    json_object_set_new(truth, "undecidable", json_boolean(resource->undecidable));
    if (resource->needs)
        json_object_set_new(truth, "needs", json_pack("[s]", resource->needs));
    if (resource->is_twin)
        json_object_set_new(truth, "canonical",
                            json_pack("{s:i,s:b,s:s}", "placement", (int)resource->canonical, "mirrored",
                                      (int)resource->mirrored, "basis",
                                      resource->confirmed ? "confirmed" : "assumed"));
    json_object_set_new(truth, "classes", json_classes(resource));
    return truth;
}

/* ---- the whole ---- */

bool stage_write(struct stage *stage, struct corpus_file *out)
{
    bool ok = false;
    unsigned piece_count, entry_count = stage->resource_count + stage->texture_count;
    struct piece *pieces = order_pieces(stage, &piece_count);
    struct entry *entries = order_entries(stage);
    if (!pieces || !entries || stage->failed)
        goto out;
    uint64_t data_size = lay_out(stage, pieces, piece_count);
    write_header(stage, entries, entry_count, data_size, &out->bytes);
    uint64_t data_start = out->bytes.size;
    uint8_t *data = buffer_extend(&out->bytes, (size_t)data_size);
    if (!data)
        goto out;
    write_data(stage, pieces, piece_count, data, data_size);
    if (stage->traits.truncated)
        out->bytes.size = (size_t)(data_start + cut_place(stage, pieces, piece_count));
    out->truth = json_array();
    for (unsigned i = 0; i < entry_count; i++)
        if (!entries[i].is_texture)
            json_array_append_new(out->truth, json_resource(stage, &stage->resources[entries[i].id], i,
                                                            data_start, out->bytes.size));
    ok = out->truth != NULL;
out:
    free(pieces);
    free(entries);
    return ok;
}

void stage_free(struct stage *stage)
{
    for (unsigned i = 0; i < stage->block_count; i++)
        buffer_free(&stage->blocks[i].bytes);
    free(stage->blocks);
    free(stage->resources);
    free(stage->textures);
    free(stage->signatures);
}
