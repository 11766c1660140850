/* corpus_descriptor.c - what an XPR2 directory points to: XBG7 and TX2D descriptors.
 *
 * Layouts: formats/xbg7.md section 2 and formats/xpr2-textures.md. Bytes those pages call unknown are random.
 * Only where the container's trait says so the derived words (fetch constant, index address, stride,
 * primitive type) hold what they would in the console kit's structure.
 */
#include "bench/corpus/corpus_internal.h"

#include <string.h>

#include "formats/mesh.h"

enum { ELEMENT_SLOTS = 16 };

/* ---- words ---- */

static void put_random(struct buffer *out, struct rng *rng, unsigned words)
{
    while (words--)
        put_u32be(out,
                  (uint32_t)rng_u64(rng) | 1); /* never zero: a zero word is what draw records look for */
}

/* A float such as scene graphs hold: a matrix element, a colour, a distance. */
static float scene_float(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return 1.0f;
    case 1:
        return rng_float(rng, -1, 1);
    case 2:
        return rng_float(rng, 0.5f, 120);
    default:
        return rng_float(rng, 100, 4000);
    }
}

static void put_string(struct buffer *out, const char *text, const char *tail)
{
    buffer_append(out, text, strlen(text));
    buffer_append(out, tail, strlen(tail) + 1);
    while (out->size % 4)
        put_u8(out, 0);
}

/* Eight floats of which one may be the stored size. */
static void put_floats(struct stage *stage, struct buffer *out, const struct resource_plan *resource,
                       bool here)
{
    for (unsigned i = 0; i < 8; i++) {
        float value = scene_float(stage->rng);
        if (here && i == stage->size_word)
            value = resource->size;
        put_f32be(out, value);
    }
}

/* ---- markers ---- */

struct triple {
    uint32_t offset, format, usage;
};

static void put_triple(struct buffer *out, struct triple triple)
{
    put_u32be(out, triple.offset);
    put_u32be(out, triple.format);
    put_u32be(out, triple.usage);
}

/* The declaration of a layout, spoiled as the lie wants it; returns the triples written. */
static unsigned put_declaration(struct buffer *out, const struct layout *layout, enum lie lie)
{
    unsigned written = 0;
    for (unsigned i = 0; i < layout->count; i++) {
        const struct layout_element *element = &layout->element[i];
        struct triple triple = {element->offset, element->format,
                                (uint32_t)element->usage << 16 | (uint32_t)element->usage_index << 8};
        if (lie == LIE_OVERLAP && element->usage != MESH_POSITION)
            triple.offset = layout->element[0].usage == MESH_POSITION ? 4 : 8;
        if (lie == LIE_NO_POSITION && element->usage == MESH_POSITION)
            triple.usage = (uint32_t)MESH_TANGENT << 16;
        if (lie == LIE_ELEMENT && element->usage != MESH_POSITION)
            triple.format = (triple.format & ~UINT32_C(63)) | 51;
        put_triple(out, triple);
        written++;
    }
    if (lie == LIE_OVERLAP && layout->count == 1) {
        put_triple(out, (struct triple){4, 0x2A23B9, (uint32_t)MESH_NORMAL << 16});
        written++;
    }
    put_triple(out, (struct triple){0x00FF0000, 0xFFFFFFFF, 0});
    return written + 1;
}

/* Offsets in the resource's own data, which begins with its first index buffer. */
struct pool {
    uint32_t index, vertex;
};

static struct pool pool_of(const struct stage *stage, const struct resource_plan *resource, unsigned which)
{
    if (resource->placement_count == 0)
        return (struct pool){0, (resource->part[which].index_count * 2 + 3) & ~UINT32_C(3)};
    const struct span *span = &stage->blocks[resource->placement[0]].span[which];
    return (struct pool){span->index_offset, span->vertex_offset};
}

/* The console kit's mesh structure around marker word m: from m-64 to the subset count at m+0xD4. */
static void put_structure(struct stage *stage, struct buffer *out, const struct resource_plan *resource,
                          unsigned which)
{
    const struct declared *part = &resource->part[which];
    struct rng *rng = stage->rng;
    struct pool pool = pool_of(stage, resource, which);
    uint32_t vertex_bytes = part->vertex_count * part->layout.stride;
    bool derived = stage->traits.derived && resource->lie == LIE_NONE;
    bool stride_known = derived || part->layout.hidden_number;
    put_random(out, rng, 6);
    put_u32be(out, derived ? pool.vertex | 3 : (uint32_t)rng_u64(rng));
    /* Arbitrary words never have the nibble 1 on top, so that nothing about a stride follows from them. */
    put_u32be(out,
              stride_known ? UINT32_C(0x10000000) | (vertex_bytes + 2) : (uint32_t)rng_u64(rng) | 0x20000000);
    put_u32be(out, part->vertex_count);
    put_random(out, rng, 6);
    put_u32be(out, derived ? pool.index : (uint32_t)rng_u64(rng) | 1);
    put_u32be(out, part->index_count * 2);
    put_u32be(out, part->index_count);
    unsigned slots = put_declaration(out, &part->layout, resource->lie);
    put_random(out, rng, (ELEMENT_SLOTS - slots) * 3 + 1);
    put_u32be(out, derived ? part->layout.stride : (uint32_t)rng_u64(rng));
    put_u32be(out, derived ? 4 : (uint32_t)rng_u64(rng));
    put_u32be(out, derived ? part->draw_count + !part->draw_count : (uint32_t)rng_u64(rng) | 0x100);
}

/* Byte patterns that look like a marker and are none, by one rule of the format page each. */
static void put_decoy(struct stage *stage, struct buffer *out)
{
    struct rng *rng = stage->rng;
    uint32_t count = 3 * (1 + rng_below(rng, 900)), vertices = 3 + rng_below(rng, 900);
    unsigned kind = rng_below(rng, 4);
    put_random(out, rng, 2);
    put_u32be(out, kind == 2 ? 70000 : vertices); /* a vertex count out of range */
    put_random(out, rng, 7);
    put_u32be(out, count * 2);
    put_u32be(out, count);
    switch (kind) {
    case 0: /* no declaration */
        put_random(out, rng, 9);
        break;
    case 1: /* overlapping elements */
        put_triple(out, (struct triple){0, 0x2A23B9, 0});
        put_triple(out, (struct triple){8, 0x1A2360, UINT32_C(3) << 16});
        put_triple(out, (struct triple){0x00FF0000, 0xFFFFFFFF, 0});
        break;
    case 2:
        put_triple(out, (struct triple){0, 0x2A23B9, 0});
        put_triple(out, (struct triple){12, 0x1A2360, UINT32_C(3) << 16});
        put_triple(out, (struct triple){0x00FF0000, 0xFFFFFFFF, 0});
        break;
    default: /* no POSITION */
        put_triple(out, (struct triple){0, 0x1A2360, UINT32_C(3) << 16});
        put_triple(out, (struct triple){8, 0x2C235F, UINT32_C(5) << 16});
        put_triple(out, (struct triple){0x00FF0000, 0xFFFFFFFF, 0});
        break;
    }
    put_random(out, rng, 3);
}

/* ---- draws ---- */

static void put_draws(struct stage *stage, struct buffer *out, const struct declared *part)
{
    for (unsigned i = 0; i < part->draw_count; i++) {
        put_random(out, stage->rng, 1 + rng_below(stage->rng, 6));
        put_u32be(out, part->vertex_count);
        put_u32be(out, 0);
        put_u32be(out, part->draw[i]);
        put_u32be(out, rng_chance(stage->rng, 70) ? 4 : 1 + rng_below(stage->rng, 64));
    }
}

void descriptor_write(struct stage *stage, const struct resource_plan *resource, struct buffer *out)
{
    struct buffer own = {0}; /* strings align to the descriptor's own start */
    struct rng *rng = stage->rng;
    put_random(&own, rng, 2);
    put_u32be(&own, 0x00010000 | (resource->part_count ? resource->part_count : 1));
    put_random(&own, rng, 1);
    put_floats(stage, &own, resource, !stage->size_before_marker);
    put_string(&own, resource->name, "_root");
    put_string(&own, "Light", "");
    if (resource->decoys)
        put_decoy(stage, &own);
    for (unsigned i = 0; i < resource->part_count && resource->lie != LIE_NO_MARKER; i++) {
        put_random(&own, rng, rng_below(rng, 12));
        put_floats(stage, &own, resource, stage->size_before_marker && i == 0);
        put_structure(stage, &own, resource, i);
    }
    if (resource->decoys && rng_chance(rng, 50))
        put_decoy(stage, &own);
    for (unsigned i = 0; i < resource->part_count && resource->lie != LIE_NO_MARKER; i++)
        put_draws(stage, &own, &resource->part[i]);
    put_random(&own, rng, 4);
    put_string(&own, resource->name, "_col");
    put_string(&own, resource->name, "_spc");
    put_random(&own, rng, rng_below(rng, 24));
    out->failed |= own.failed;
    buffer_append(out, own.data, own.size);
    buffer_free(&own);
}

/* ---- textures ---- */

void descriptor_write_texture(struct stage *stage, const struct texture_plan *texture, struct buffer *out)
{
    static const uint8_t block_width_log2[64] = {[18] = 2, [20] = 2};
    uint32_t width = UINT32_C(1) << texture->log2_width, height = UINT32_C(1) << texture->log2_height;
    uint32_t page = (uint32_t)(texture->place >> 12), mip_page = page + (texture->base_bytes >> 12);
    /* The pitch counts whole tiles of 32 blocks. */
    uint32_t tile = UINT32_C(32) << block_width_log2[texture->format];
    uint32_t pitch = (width + tile - 1) / tile * tile;
    uint32_t levels = texture->log2_width > texture->log2_height ? texture->log2_width : texture->log2_height;
    put_u32be(out, 3);
    put_u32be(out, 1);
    for (int i = 0; i < 3; i++)
        put_u32be(out, 0);
    put_u32be(out, 0xFFFF0000);
    put_u32be(out, 0xFFFF0000 | rng_below(stage->rng, 256));
    put_u32be(out, UINT32_C(0x80000002) | (pitch / 32) << 22);
    put_u32be(out, page << 12 | 1 << 6 | texture->format);
    put_u32be(out, (height - 1) << 13 | (width - 1));
    put_u32be(out, 0x00000D10);
    put_u32be(out, texture->mips ? levels << 6 : 0);
    /* 2D; the smallest mips share one packed level. */
    put_u32be(out, (texture->mips ? mip_page << 12 | UINT32_C(1) << 11 : 0) | UINT32_C(1) << 9);
}
