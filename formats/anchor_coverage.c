/* anchor_coverage.c - see anchor_coverage.h */
#include "anchor_coverage.h"

#include <stdlib.h>
#include <string.h>

#define PADDING_MAX 16u
/* A stretch of one kind: blocks of the map it has at least, and blocks in a row that may look otherwise. */
#define STRETCH_BLOCKS 4u
#define STRETCH_ODD    1u
/* The greatest word of a block of indices: f32 coordinates and f16 components are mostly above. */
#define INDEX_TOP 0x3000u

/* A claimed range of the section. Buffers go before textures. */
struct claim {
    uint64_t start, end;
    enum coverage_kind kind;
};

struct cover {
    const struct anchor_map *map;
    struct arena *arena;
    struct container *out;
    uint32_t room;
    bool failed; /* memory ran out */
};

/* Appends a run, or lengthens the last one. Offsets in the section. */
static void add_run(struct cover *c, uint64_t start, uint64_t end, enum coverage_kind kind)
{
    struct container *out = c->out;
    if (start >= end || c->failed)
        return;
    if (out->coverage_count && out->coverage[out->coverage_count - 1].kind == kind) {
        out->coverage[out->coverage_count - 1].end = out->data_offset + end;
        return;
    }
    if (out->coverage_count == c->room) {
        uint32_t room = c->room ? c->room * 2 : 64;
        struct coverage_run *grown = arena_array(c->arena, room, sizeof *grown);
        c->failed = !grown;
        if (!grown)
            return;
        if (out->coverage_count)
            memcpy(grown, out->coverage, out->coverage_count * sizeof *grown);
        out->coverage = grown;
        c->room = room;
    }
    out->coverage[out->coverage_count++] =
        (struct coverage_run){out->data_offset + start, out->data_offset + end, kind};
}

/* ---- unclaimed bytes
 * --------------------------------------------------------------------------------------- */

static enum coverage_kind kind_of_block(const struct anchor_map *map, size_t block)
{
    if (map->unit[block])
        return COVERAGE_VERTEX_LIKE;
    return map->top[block] && map->top[block] < INDEX_TOP ? COVERAGE_INDEX_LIKE : COVERAGE_OTHER;
}

/* Where the stretch of the kind of block `first` ends, at most at `end`; `first` itself when it is none. */
static size_t stretch_end(const struct anchor_map *map, size_t first, size_t end)
{
    enum coverage_kind kind = kind_of_block(map, first);
    size_t last = first, alike = 0;
    if (kind == COVERAGE_OTHER)
        return first;
    for (size_t b = first; b < end && b - last <= STRETCH_ODD; b++)
        if (kind_of_block(map, b) == kind) {
            last = b;
            alike++;
        }
    /* Two of three blocks at least must look like it: a pixel block in five holds a triple of unit length by
     * chance. */
    size_t length = last + 1 - first;
    return length >= STRETCH_BLOCKS && 3 * alike >= 2 * length ? last + 1 : first;
}

static bool all_zero(const uint8_t *bytes, uint64_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void add_unclaimed(struct cover *c, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    if (end - start < PADDING_MAX || all_zero(c->map->data + start, end - start)) {
        add_run(c, start, end, COVERAGE_PADDING);
        return;
    }
    size_t block = (size_t)((start + ANCHOR_BLOCK - 1) / ANCHOR_BLOCK), last = (size_t)(end / ANCHOR_BLOCK);
    uint64_t at = start;
    while (block < last) {
        size_t stop = stretch_end(c->map, block, last);
        if (stop == block) {
            block++;
            continue;
        }
        add_run(c, at, (uint64_t)block * ANCHOR_BLOCK, COVERAGE_OTHER);
        at = (uint64_t)stop * ANCHOR_BLOCK;
        add_run(c, (uint64_t)block * ANCHOR_BLOCK, at, kind_of_block(c->map, block));
        block = stop;
    }
    add_run(c, at, end, COVERAGE_OTHER);
}

/* ---- claims
 * ------------------------------------------------------------------------------------------------ */

static int claim_order(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

static void add_claim(struct claim *claims, size_t *count, const struct container *out, uint64_t start,
                      uint64_t size, enum coverage_kind kind)
{
    uint64_t from = start - out->data_offset, end = from + size;
    if (start < out->data_offset || from >= out->data_size || !size)
        return;
    claims[(*count)++] = (struct claim){from, end < out->data_size ? end : out->data_size, kind};
}

/* Sorts claims and cuts away what an earlier one has. */
static size_t settle(struct claim *claims, size_t count)
{
    size_t kept = 0;
    uint64_t end = 0;
    qsort(claims, count, sizeof *claims, claim_order);
    for (size_t i = 0; i < count; i++) {
        struct claim claim = claims[i];
        claim.start = claim.start > end ? claim.start : end;
        if (claim.start >= claim.end)
            continue;
        end = claim.end;
        claims[kept++] = claim;
    }
    return kept;
}

static void add_place(struct claim *claims, size_t *count, const struct container *out,
                      const struct buffer_place *place)
{
    add_claim(claims, count, out, place->index_offset, 2 * (uint64_t)place->index_count, COVERAGE_INDEX);
    add_claim(claims, count, out, place->vertex_offset, (uint64_t)place->vertex_count * place->stride,
              COVERAGE_VERTEX);
}

static struct claim *buffer_claims(const struct container *out, struct arena *arena, size_t *count)
{
    size_t room = 0;
    for (uint32_t i = 0; i < out->resource_count; i++)
        room += 2 * (size_t)out->resources[i].buffer_count;
    struct claim *claims = arena_array(arena, room, sizeof *claims);
    *count = 0;
    for (uint32_t i = 0; claims && i < out->resource_count; i++) {
        const struct resource *resource = &out->resources[i];
        if (resource->status != RESOURCE_PROVEN && resource->status != RESOURCE_ASSIGNED)
            continue;
        for (uint32_t b = 0; b < resource->buffer_count; b++)
            add_place(claims, count, out, &resource->buffers[b]);
    }
    *count = settle(claims, claims ? *count : 0);
    return claims;
}

static struct claim *texture_claims(const struct container *out, struct arena *arena, size_t *count)
{
    struct claim *claims = arena_array(arena, out->texture_count, 2 * sizeof *claims);
    *count = 0;
    for (uint32_t i = 0; claims && i < out->texture_count; i++) {
        const struct texture *texture = &out->textures[i];
        if (!texture->valid)
            continue;
        add_claim(claims, count, out, texture->base_offset, texture->base_size, COVERAGE_TEXTURE);
        add_claim(claims, count, out, texture->mip_offset, texture->mip_size, COVERAGE_TEXTURE);
    }
    *count = settle(claims, claims ? *count : 0);
    return claims;
}

bool anchor_coverage(const struct anchor_map *map, struct container *out, struct arena *arena)
{
    struct cover c = {.map = map, .arena = arena, .out = out};
    size_t buffer_count, texture_count, texture = 0;
    const struct claim *buffers = buffer_claims(out, arena, &buffer_count);
    const struct claim *textures = texture_claims(out, arena, &texture_count);
    if (!buffers || !textures)
        return false;
    uint64_t at = 0;
    for (size_t i = 0; i <= buffer_count; i++) {
        uint64_t stop = i < buffer_count ? buffers[i].start : out->data_size;
        while (at < stop) { /* up to the next buffer: textures, and what is between them */
            while (texture < texture_count && textures[texture].end <= at)
                texture++;
            uint64_t start = texture < texture_count ? textures[texture].start : stop;
            start = start < stop ? start : stop;
            if (start > at) {
                add_unclaimed(&c, at, start);
                at = start;
                continue;
            }
            uint64_t end = textures[texture].end < stop ? textures[texture].end : stop;
            add_run(&c, at, end, COVERAGE_TEXTURE);
            at = end;
        }
        if (i < buffer_count) {
            add_run(&c, buffers[i].start, buffers[i].end, buffers[i].kind);
            at = buffers[i].end;
        }
    }
    return !c.failed;
}

/* What a run is when nobody claims it. */
static enum coverage_kind unclaimed_kind(enum coverage_kind kind)
{
    return kind == COVERAGE_VERTEX  ? COVERAGE_VERTEX_LIKE
           : kind == COVERAGE_INDEX ? COVERAGE_INDEX_LIKE
                                    : kind;
}

bool anchor_coverage_replace(struct container *container, const struct buffer_place *places, size_t count,
                             struct arena *arena)
{
    struct cover c = {.arena = arena, .out = container};
    const struct coverage_run *runs = container->coverage;
    uint32_t run_count = container->coverage_count, run = 0;
    struct claim *claims = arena_array(arena, 2 * count, sizeof *claims);
    size_t claim_count = 0;
    if (!claims)
        return false;
    for (size_t i = 0; i < count; i++)
        add_place(claims, &claim_count, container, &places[i]);
    claim_count = settle(claims, claim_count);
    container->coverage = NULL;
    container->coverage_count = 0;
    uint64_t base = container->data_offset, at = run_count ? runs[0].start - base : 0;
    for (size_t i = 0; i <= claim_count; i++) {
        uint64_t stop = i < claim_count ? claims[i].start : UINT64_MAX;
        for (; run < run_count && at < stop; run += runs[run].end - base <= at) {
            uint64_t end = runs[run].end - base < stop ? runs[run].end - base : stop;
            add_run(&c, at, end, unclaimed_kind(runs[run].kind));
            at = end > at ? end : at;
        }
        if (i == claim_count)
            break;
        add_run(&c, claims[i].start, claims[i].end, claims[i].kind);
        at = claims[i].end;
    }
    return !c.failed;
}
