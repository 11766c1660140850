/* anchor_scan.h - the one pass over a data section from which geometry is located.
 *
 * For every 64 bytes it keeps six: which of the sixteen 4-byte places begin an f16 triple of length about 1,
 * which hold two 16-bit words below 256, and the greatest word. Everything that later asks "is there a run of
 * normals of this stride" or "could indices below this bound lie here" asks these, and touches the bytes
 * themselves only where the answer is yes. Bytes inside walls (textures that nothing contradicts) count as
 * 0xFF.
 */
#ifndef ANCHORAGE_ANCHOR_SCAN_H
#define ANCHORAGE_ANCHOR_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "reader.h"

#define ANCHOR_BLOCK 64u /* bytes one entry of the map describes */
#define ANCHOR_SMALL 256u
/* So many bytes ahead the pass asks for memory: far ahead into a cache of any level, near into the first one.
 * With the near one alone the pass is a sixth slower (bench/README.md). */
#define ANCHOR_NEAR 1024
#define ANCHOR_FAR  4096

/* A half-open range of bytes, counted from the start of the data section. */
struct anchor_range {
    uint64_t start, end;
};

enum anchor_path { ANCHOR_PORTABLE, ANCHOR_AVX2, ANCHOR_AVX512, ANCHOR_PATH_COUNT };

struct anchor_map {
    const uint8_t *data; /* the data section */
    size_t size;
    size_t blocks;   /* entries below; the last may describe fewer than 64 bytes, the rest taken as 0xFF */
    uint16_t *unit;  /* bit i: the big-endian f16 triple at 64 b + 4 i is of length 0.96..1.04 */
    uint16_t *small; /* bit i: both big-endian words at 64 b + 4 i are below 256 */
    uint16_t *top;   /* the greatest big-endian word at an even offset */
    enum anchor_path path; /* what the processor has for later questions about the bytes, too */
};

/* The fastest path this processor has, and its name. */
enum anchor_path anchor_best_path(void);
const char *anchor_path_word(enum anchor_path path);

/* Scans data[0..size). `walls` are sorted and do not overlap. Every path gives the same bits; `path` must be
 * one the processor has (anchor_best_path or a lower one). False when memory runs out. Takes one pass; any
 * thread. */
bool anchor_scan(const uint8_t *data, size_t size, const struct anchor_range *walls, size_t wall_count,
                 enum anchor_path path, struct arena *arena, struct anchor_map *out);

/* Asks for the memory that a pass which is at `at` will need. Any address will do. */
static inline void anchor_ask_ahead(const uint8_t *at)
{
    __builtin_prefetch((const void *)((uintptr_t)at + ANCHOR_FAR), 0, 2);
    __builtin_prefetch((const void *)((uintptr_t)at + ANCHOR_NEAR), 0, 3);
}

/* Whether the f16 triple at that offset, a multiple of 4, is of unit length; false outside the section. */
static inline bool anchor_is_unit(const struct anchor_map *map, uint64_t offset)
{
    return offset < map->size && (map->unit[offset / ANCHOR_BLOCK] >> (offset / 4 % 16) & 1);
}

/* The same near the map's ends, and on big-endian machines. */
uint64_t anchor_unit_bits_checked(const struct anchor_map *map, int64_t place);

/* The unit bits of 64 places from 4-byte place `place` on, which may be negative; zero past the map's ends.
 */
static inline uint64_t anchor_unit_bits(const struct anchor_map *map, int64_t place)
{
    /* Little-endian, the entries are one stream of bits. */
    uint64_t byte = (uint64_t)place / 8, low;
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || place < 0 || byte + 9 > 2 * (uint64_t)map->blocks)
        return anchor_unit_bits_checked(map, place);
    const uint8_t *at = (const uint8_t *)map->unit + byte;
    memcpy(&low, at, sizeof low);
    unsigned shift = (unsigned)place % 8;
    return low >> shift | ((uint64_t)at[8] << 1) << (63 - shift);
}

/* The value of an f16, exactly. */
static inline float anchor_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7FFF;
    /* Without a branch: exponents count from 15 and from 127, and the greatest is that of infinity. */
    uint32_t value = (rest << 13) + (rest < 0x7C00 ? UINT32_C(112) << 23 : UINT32_C(224) << 23);
    uint32_t tiny = bits_of_float((float)(int32_t)rest * 0x1p-24f);
    return float_of_bits(sign | (rest < 0x0400 ? tiny : value));
}

#endif
