/* tx2d.c - see tx2d.h; the layout is stated in formats/tx2d.md.
 *
 *   newer kits: 24-byte resource header, one word, fetch constant d0..d5 at +28 (52 bytes)
 *   older kits: fetch constant at +16 (40 bytes)
 */
#include "tx2d.h"

#include <stdlib.h>

#define NEW_SIZE     52u
#define NEW_CONSTANT 28u
#define OLD_SIZE     40u
#define OLD_CONSTANT 16u
#define TYPE_TEXTURE 2u
#define PAGE         4096u /* levels are rounded up to it; addresses count in it */
#define TILE         32u   /* blocks of a tile's side */
#define LINEAR_ROW   256u  /* bytes a linear row is rounded up to */
#define PACKED_SIDE  4     /* log2 of the side from which levels share one tile */

enum { DIMENSION_1D, DIMENSION_2D, DIMENSION_3D, DIMENSION_CUBE };

/* How a pixel format is stored: the side of a block in pixels and its bytes; bytes 0: not known. */
struct pixel_format {
    uint32_t side, bytes;
};

static struct pixel_format pixel_format(uint32_t number)
{
    switch (number) {
    case 2:
        return (struct pixel_format){1, 1};
    case 3:
    case 4:
        return (struct pixel_format){1, 2};
    case 6:
        return (struct pixel_format){1, 4};
    case 18: /* DXT1 */
    case 59: /* DXT5A */
    case 60: /* CTX1 */
        return (struct pixel_format){4, 8};
    case 19: /* DXT3 */
    case 20: /* DXT5 */
    case 49: /* DXN */
        return (struct pixel_format){4, 16};
    default:
        return (struct pixel_format){0, 0};
    }
}

static uint32_t bits(uint32_t word, unsigned shift, unsigned width)
{
    return word >> shift & ((1u << width) - 1);
}

static uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

/* The smallest l with 2^l >= value; value >= 1. */
static unsigned log2_ceil(uint32_t value)
{
    return value <= 1 ? 0 : 32u - (unsigned)__builtin_clz(value - 1);
}

/* Bytes of one slice of one level of `width` x `height` pixels. */
static uint64_t level_bytes(struct pixel_format format, bool tiled, uint32_t width, uint32_t height)
{
    uint64_t columns = align_up((width + format.side - 1) / format.side, TILE);
    uint64_t rows = align_up((height + format.side - 1) / format.side, TILE);
    uint64_t row = columns * format.bytes;
    return align_up((tiled ? row : align_up(row, LINEAR_ROW)) * rows, PAGE);
}

/* Bytes of levels 1..last, one after the other. */
static uint64_t mip_bytes(struct pixel_format format, bool tiled, uint32_t width, uint32_t height,
                          unsigned last)
{
    unsigned wide = log2_ceil(width), high = log2_ceil(height);
    uint64_t sum = 0;
    for (unsigned level = 1; level <= last; level++)
        sum += level_bytes(format, tiled, 1u << (wide > level ? wide - level : 0),
                           1u << (high > level ? high - level : 0));
    return sum;
}

/* The last level that is stored for itself; with packed mips that one holds all smaller ones too. */
static unsigned last_stored_level(uint32_t width, uint32_t height, unsigned mip_max, bool packed)
{
    unsigned wide = log2_ceil(width), high = log2_ceil(height);
    unsigned last = wide > high ? wide : high;
    if (mip_max < last)
        last = mip_max;
    if (packed) {
        unsigned least = wide < high ? wide : high;
        unsigned tail = least > PACKED_SIDE ? least - PACKED_SIDE : 0;
        if (tail < last)
            last = tail;
    }
    return last;
}

/* Moves to the fetch constant; false (error set) when the descriptor has none. */
static bool find_constant(struct reader *r)
{
    if (r->size < OLD_SIZE)
        return reader_fail(r, ERROR_MALFORMED, "%zu bytes are no texture header (52, older kits 40)",
                           r->size);
    reader_seek(r, r->size < NEW_SIZE ? OLD_CONSTANT : NEW_CONSTANT);
    struct reader ahead = *r;
    uint32_t d0 = reader_u32be(&ahead, "d0");
    if (bits(d0, 0, 2) != TYPE_TEXTURE)
        return reader_fail(r, ERROR_MALFORMED, "fetch constant of type %u, a texture's is 2", bits(d0, 0, 2));
    return true;
}

void tx2d_parse(struct reader *r, uint64_t data_offset, struct texture *texture)
{
    if (!find_constant(r))
        return;
    uint32_t d0 = reader_u32be(r, "d0"), d1 = reader_u32be(r, "d1"), d2 = reader_u32be(r, "d2");
    reader_skip(r, 4); /* d3: number format, swizzle, filters: no part of the extent */
    uint32_t d4 = reader_u32be(r, "d4"), d5 = reader_u32be(r, "d5");

    uint32_t pitch = bits(d0, 22, 9) * 32;
    bool stacked = bits(d1, 10, 1);
    texture->tiled = bits(d0, 31, 1);
    texture->format = bits(d1, 0, 6);
    texture->dimension = bits(d5, 9, 2);
    texture->width = bits(d2, 0, 13) + 1;
    texture->height = bits(d2, 13, 13) + 1;
    texture->depth = bits(d2, 26, 6) + 1;

    struct pixel_format format = pixel_format(texture->format);
    if (!format.bytes) {
        reader_fail(r, ERROR_UNSUPPORTED, "pixel format %u: its extent is not known", texture->format);
        return;
    }
    if (texture->dimension != DIMENSION_2D && texture->dimension != DIMENSION_CUBE) {
        reader_fail(r, ERROR_UNSUPPORTED, "a %s texture: its extent is not known",
                    texture->dimension == DIMENSION_1D ? "1D" : "3D");
        return;
    }
    uint32_t slices = texture->dimension == DIMENSION_CUBE ? 6 : stacked ? texture->depth : 1;
    unsigned last = last_stored_level(texture->width, texture->height, bits(d4, 6, 4), bits(d5, 11, 1));
    texture->base_offset = data_offset + (d1 & ~(PAGE - 1));
    texture->base_size =
        slices * level_bytes(format, texture->tiled, pitch ? pitch : texture->width, texture->height);
    texture->mip_offset = data_offset + (d5 & ~(PAGE - 1));
    texture->mip_size = slices * mip_bytes(format, texture->tiled, texture->width, texture->height, last);
    if (!texture->mip_size)
        texture->mip_offset = 0;
    /* A pitch below the width contradicts itself; the extent of more than one slice rests on no evidence. */
    texture->contested = pitch < texture->width || slices != 1 || texture->depth != 1;
    texture->valid = true;
}

/* One range of bytes and the textures that own it; equal ranges of several textures become one. */
struct extent {
    uint64_t start, end;
    uint32_t texture;
};

static int extent_order(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->texture < b->texture ? -1 : a->texture > b->texture;
}

static bool same_range(const struct extent *a, const struct extent *b)
{
    return a->start == b->start && a->end == b->end;
}

/* Contests the textures of the run of equal ranges that begins at `first`. */
static void contest_run(struct texture *textures, const struct extent *extents, size_t count, size_t first)
{
    for (size_t i = first; i < count && same_range(&extents[i], &extents[first]); i++)
        textures[extents[i].texture].contested = true;
}

/* Sweeps the sorted ranges. Comparing each run of equal ranges with the one that reaches furthest so far
 * finds every overlap: whatever else reaches into a run also overlaps that furthest one, and was contested
 * with it before. */
static bool contest_overlaps(struct texture *textures, const struct extent *extents, size_t count)
{
    bool found = false;
    size_t furthest = 0;
    bool furthest_contested = false;
    for (size_t i = 1; i < count; i++) {
        if (same_range(&extents[i], &extents[i - 1])) {
            /* Base and mips of one texture in the same bytes. */
            if (extents[i].texture == extents[i - 1].texture)
                found = textures[extents[i].texture].contested = true;
            continue;
        }
        bool overlap = extents[i].start < extents[furthest].end;
        if (overlap) {
            found = true;
            contest_run(textures, extents, count, i);
            if (!furthest_contested)
                contest_run(textures, extents, count, furthest);
            furthest_contested = true;
        }
        if (extents[i].end > extents[furthest].end) {
            furthest = i;
            furthest_contested = overlap;
        }
    }
    return found;
}

bool tx2d_contest(struct texture *textures, size_t count, uint64_t data_offset, uint64_t data_size,
                  struct arena *arena, uint32_t *flags)
{
    struct extent *extents = arena_array(arena, count, 2 * sizeof *extents);
    if (!extents)
        return false;
    size_t used = 0;
    uint64_t data_end = data_offset + data_size;
    for (uint32_t i = 0; i < count; i++) {
        struct texture *texture = &textures[i];
        if (!texture->valid)
            continue;
        struct extent base = {texture->base_offset, texture->base_offset + texture->base_size, i};
        struct extent mips = {texture->mip_offset, texture->mip_offset + texture->mip_size, i};
        if (base.end > data_end || (texture->mip_size && mips.end > data_end)) {
            texture->contested = true;
            *flags |= FLAG_BIT(FLAG_TEXTURE_OUT_OF_DATA);
        }
        extents[used++] = base;
        if (texture->mip_size)
            extents[used++] = mips;
    }
    qsort(extents, used, sizeof *extents, extent_order);
    if (contest_overlaps(textures, extents, used))
        *flags |= FLAG_BIT(FLAG_TEXTURE_OVERLAP);
    return true;
}
