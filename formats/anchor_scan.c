/* anchor_scan.c - see anchor_scan.h
 *
 * All paths compute (x*x + y*y) + z*z in f32 and compare with the same two bounds. The square of an f16 is
 * exact in f32, so that it does not matter whether a compiler fuses a multiplication with an addition: the
 * bits are equal.
 */
#include "anchor_scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* Squares of 0.96 and 1.04. Stored f16 normals are within 0.001 of unit length. */
#define UNIT_LOW  0.9216f
#define UNIT_HIGH 1.0816f
/* Bytes a kernel may read behind the block it describes: the third word of the last triple. */
#define AHEAD 4u

typedef void kernel(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small, uint16_t *top);

static bool triple_is_unit(const uint8_t *at)
{
    float x = anchor_half(load_u16be(at)), y = anchor_half(load_u16be(at + 2)),
          z = anchor_half(load_u16be(at + 4));
    float length = (x * x + y * y) + z * z;
    return length >= UNIT_LOW && length <= UNIT_HIGH;
}

static void scan_portable(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small, uint16_t *top)
{
    for (size_t b = 0; b < blocks; b++, data += ANCHOR_BLOCK) {
        unsigned unit_bits = 0, small_bits = 0;
        uint16_t greatest = 0;
        for (unsigned i = 0; i < 16; i++) {
            uint16_t first = load_u16be(data + 4 * i), second = load_u16be(data + 4 * i + 2);
            uint16_t larger = first > second ? first : second;
            greatest = larger > greatest ? larger : greatest;
            small_bits |= (unsigned)(larger < ANCHOR_SMALL) << i;
            unit_bits |= (unsigned)triple_is_unit(data + 4 * i) << i;
        }
        unit[b] = (uint16_t)unit_bits;
        small[b] = (uint16_t)small_bits;
        top[b] = greatest;
    }
}

#if defined(__x86_64__)

/* The kernels describe four blocks at a time. */
#define GROUP 4u

/* Compilers move what asks for memory to the front of a turn, where the requests wait for each other. Kept
 * where they are written, the pass over memory is a sixth faster. */
#define STAY_IN_ORDER() __asm__ volatile("" ::: "memory")

/* Helpers are always inlined, so that each kernel is compiled for one target throughout. */
#define TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define HELPER_AVX2 __attribute__((target("avx2,fma,f16c"), always_inline)) static inline

static inline void store_group(uint16_t *out, uint64_t four)
{
    memcpy(out, &four, sizeof four);
}

/* The greatest words of four blocks, which take turns in `words`. */
HELPER_AVX2 uint64_t greatest_of_turns(__m256i words)
{
    __m128i half = _mm_max_epu16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_max_epu16(half, _mm_unpackhi_epi64(half, half)));
}

/* ---- AVX2: first all words of some blocks are put apart in little-endian, then all triples are looked at.
 * f16s are turned to f32s as they are loaded, which costs half of what it does in registers. ---- */

/* Blocks between the two steps: all that is kept of them is in the first-level cache by then, and nothing
 * waits for stores. */
#define CHUNK 16u

/* The two words of each place; behind the last one the first word of the place that follows. */
struct chunk {
    _Alignas(32) uint16_t first[16 * CHUNK + 16], second[16 * CHUNK];
};

/* 16 bytes from there and 16 from 32 bytes on; of each four places the first words, then the second ones. */
HELPER_AVX2 __m256i words_avx2(const uint8_t *data)
{
    const __m128i shuffle = _mm_setr_epi8(1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14);
    __m256i bytes = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)data));
    bytes = _mm256_inserti128_si256(bytes, _mm_loadu_si128((const __m128i *)(data + 32)), 1);
    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(shuffle));
}

/* Puts a block's words apart; the greater of each place. */
HELPER_AVX2 __m256i part_avx2(const uint8_t *data, uint16_t *first, uint16_t *second)
{
    __m256i a = words_avx2(data), b = words_avx2(data + 16);
    __m256i low = _mm256_unpacklo_epi64(a, b), high = _mm256_unpackhi_epi64(a, b);
    _mm256_store_si256((__m256i *)first, low);
    _mm256_store_si256((__m256i *)second, high);
    return _mm256_max_epu16(low, high);
}

/* Of 32 places, by the greater word of each: which are below 256. */
HELPER_AVX2 uint32_t small_avx2(__m256i a, __m256i b)
{
    __m256i high = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
    __m256i is_small = _mm256_cmpeq_epi8(_mm256_permute4x64_epi64(high, 0xD8), _mm256_setzero_si256());
    return (uint32_t)_mm256_movemask_epi8(is_small);
}

HELPER_AVX2 uint64_t greatest_avx2(const __m256i *block)
{
    __m256i ab = _mm256_max_epu16(_mm256_unpacklo_epi16(block[0], block[1]),
                                  _mm256_unpackhi_epi16(block[0], block[1]));
    __m256i cd = _mm256_max_epu16(_mm256_unpacklo_epi16(block[2], block[3]),
                                  _mm256_unpackhi_epi16(block[2], block[3]));
    return greatest_of_turns(_mm256_max_epu16(_mm256_unpacklo_epi32(ab, cd), _mm256_unpackhi_epi32(ab, cd)));
}

/* The sign bit of each of eight places: whether the triple is of unit length. Bits of floats that are not
 * negative are ordered as they are, and a NaN's are above or negative. */
HELPER_AVX2 __m256i unit_avx2(const uint16_t *first, const uint16_t *second)
{
    const __m256i low = _mm256_castps_si256(_mm256_set1_ps(UNIT_LOW));
    const __m256i above =
        _mm256_add_epi32(_mm256_castps_si256(_mm256_set1_ps(UNIT_HIGH)), _mm256_set1_epi32(1));
    __m256 x = _mm256_cvtph_ps(_mm_load_si128((const __m128i *)first));
    __m256 y = _mm256_cvtph_ps(_mm_load_si128((const __m128i *)second));
    __m256 z = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(first + 1)));
    __m256i length = _mm256_castps_si256(_mm256_fmadd_ps(z, z, _mm256_fmadd_ps(y, y, _mm256_mul_ps(x, x))));
    return _mm256_andnot_si256(_mm256_sub_epi32(length, low), _mm256_sub_epi32(length, above));
}

/* One bit for each of 32 places. */
HELPER_AVX2 uint32_t units_avx2(const uint16_t *first, const uint16_t *second)
{
    __m256i low = _mm256_packs_epi32(unit_avx2(first, second), unit_avx2(first + 8, second + 8));
    __m256i high = _mm256_packs_epi32(unit_avx2(first + 16, second + 16), unit_avx2(first + 24, second + 24));
    __m256i bytes = _mm256_packs_epi16(low, high);
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

TARGET_AVX2 static void scan_avx2(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small,
                                  uint16_t *top)
{
    struct chunk c;
    size_t b = 0;
    while (blocks - b >= GROUP) {
        unsigned count = blocks - b < CHUNK ? (unsigned)(blocks - b) / GROUP * GROUP : CHUNK;
        const uint8_t *ask = data; /* half of it while words are put apart, half while they are looked at */
        for (unsigned k = 0; k < count; k += GROUP, data += GROUP * ANCHOR_BLOCK, ask += 2 * ANCHOR_BLOCK) {
            __m256i most[GROUP];
            anchor_ask_ahead(ask);
            anchor_ask_ahead(ask + ANCHOR_BLOCK);
#pragma GCC unroll 4
            for (unsigned i = 0; i < GROUP; i++)
                most[i] = part_avx2(data + ANCHOR_BLOCK * i, c.first + 16 * (k + i), c.second + 16 * (k + i));
            store_group(small + b + k, small_avx2(most[0], most[1]) | (uint64_t)small_avx2(most[2], most[3])
                                                                          << 32);
            store_group(top + b + k, greatest_avx2(most));
            STAY_IN_ORDER();
        }
        c.first[16 * count] = load_u16be(data);
        for (unsigned k = 0; k < count; k += GROUP, ask += 2 * ANCHOR_BLOCK) {
            const uint16_t *first = c.first + 16 * k, *second = c.second + 16 * k;
            anchor_ask_ahead(ask);
            anchor_ask_ahead(ask + ANCHOR_BLOCK);
            store_group(unit + b + k,
                        units_avx2(first, second) | (uint64_t)units_avx2(first + 32, second + 32) << 32);
            STAY_IN_ORDER();
        }
        b += count;
    }
    scan_portable(data, blocks - b, unit + b, small + b, top + b);
}

/* ---- AVX-512: each word is turned into a square once. The third square of a triple is the first of the next
 * one, for the last triple of a block that of the block behind it. ---- */

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma,f16c")))
#define HELPER_AVX512                                                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma,f16c"), always_inline)) static inline

/* An f16's exponent and mantissa where an f32 has them, and what makes it an f32 of 2^-16 times the value:
 * f16s count exponents from 15, f32s from 127, and 96 = 127 - 15 - 16 has no bits that an f16's exponent has.
 * Denormals become something between 2^-15 and 2^-14 instead of 0 and 2^-14, infinities and NaNs something
 * from 65536 up: neither makes another triple one of unit length, which a test tries for all that are near.
 */
#define HALF_BITS  0x0FFFE000
#define HALF_BIAS  (96 << 23)
#define SQUARES_BY 0x1p-32f
/* (a & b) | c */
#define AND_OR 0xEA

/* 64 bytes: the words of each place, and their squares. */
struct whole_block {
    __m512i words;
    __m512 first, second;
};

HELPER_AVX512 __m512 square_avx512(__m512i shifted)
{
    __m512i bits = _mm512_ternarylogic_epi32(shifted, _mm512_set1_epi32(HALF_BITS),
                                             _mm512_set1_epi32(HALF_BIAS), AND_OR);
    return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_castsi512_ps(bits));
}

HELPER_AVX512 struct whole_block whole_block(const uint8_t *data)
{
    const __m128i reverse = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    __m512i words = _mm512_shuffle_epi8(_mm512_loadu_si512(data), _mm512_broadcast_i32x4(reverse));
    return (struct whole_block){words, square_avx512(_mm512_srli_epi32(words, 3)),
                                square_avx512(_mm512_slli_epi32(words, 13))};
}

/* Lengths are not negative, so that their bits are ordered as they are. */
HELPER_AVX512 uint16_t unit_avx512(struct whole_block here, __m512 next)
{
    const __m512i low = _mm512_castps_si512(_mm512_set1_ps(UNIT_LOW * SQUARES_BY));
    const __m512i high = _mm512_castps_si512(_mm512_set1_ps(UNIT_HIGH * SQUARES_BY));
    __m512i third = _mm512_alignr_epi32(_mm512_castps_si512(next), _mm512_castps_si512(here.first), 1);
    __m512 length = _mm512_add_ps(_mm512_add_ps(here.first, here.second), _mm512_castsi512_ps(third));
    return _mm512_cmple_epu32_mask(_mm512_sub_epi32(_mm512_castps_si512(length), low),
                                   _mm512_sub_epi32(high, low));
}

HELPER_AVX512 uint16_t small_avx512(__m512i words)
{
    return _mm512_testn_epi32_mask(words, _mm512_set1_epi32((int)0xFF00FF00));
}

HELPER_AVX512 uint64_t greatest_avx512(const struct whole_block *w)
{
    __m512i ab = _mm512_max_epu16(_mm512_unpacklo_epi16(w[0].words, w[1].words),
                                  _mm512_unpackhi_epi16(w[0].words, w[1].words));
    __m512i cd = _mm512_max_epu16(_mm512_unpacklo_epi16(w[2].words, w[3].words),
                                  _mm512_unpackhi_epi16(w[2].words, w[3].words));
    __m512i all = _mm512_max_epu16(_mm512_unpacklo_epi32(ab, cd), _mm512_unpackhi_epi32(ab, cd));
    return greatest_of_turns(
        _mm256_max_epu16(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1)));
}

/* Masks are stored one by one: gcc 12 at -O1 under sanitizers spills 16 bits of a mask of which it reads 64
 * back when they are put together. */
TARGET_AVX512 static void scan_avx512(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small,
                                      uint16_t *top)
{
    struct whole_block w[GROUP + 1];
    size_t b = 0;
    if (blocks > GROUP)
        w[GROUP] = whole_block(data);
    for (; b + GROUP < blocks; b += GROUP, data += GROUP * ANCHOR_BLOCK) {
        w[0] = w[GROUP];
        /* gcc unrolls such loops only when told to, and keeps the array in memory otherwise. */
#pragma GCC unroll 4
        for (unsigned i = 0; i < GROUP; i++) {
            anchor_ask_ahead(data + ANCHOR_BLOCK * i);
            w[i + 1] = whole_block(data + ANCHOR_BLOCK * (i + 1));
            unit[b + i] = unit_avx512(w[i], w[i + 1].first);
            small[b + i] = small_avx512(w[i].words);
            STAY_IN_ORDER();
        }
        store_group(top + b, greatest_avx512(w));
    }
    scan_portable(data, blocks - b, unit + b, small + b, top + b);
}

/* Asked of the processor itself: clang 14's __builtin_cpu_supports does not know the word. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

enum anchor_path anchor_best_path(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
        return ANCHOR_PORTABLE;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl");
    return wide ? ANCHOR_AVX512 : ANCHOR_AVX2;
}

static kernel *kernel_of(enum anchor_path path)
{
    return path == ANCHOR_AVX512 ? scan_avx512 : path == ANCHOR_AVX2 ? scan_avx2 : scan_portable;
}

#else

enum anchor_path anchor_best_path(void)
{
    return ANCHOR_PORTABLE;
}

static kernel *kernel_of(enum anchor_path path)
{
    (void)path;
    return scan_portable;
}

#endif

const char *anchor_path_word(enum anchor_path path)
{
    static const char *const words[ANCHOR_PATH_COUNT] = {"portable", "avx2", "avx512"};
    return (unsigned)path < ANCHOR_PATH_COUNT ? words[path] : "unknown";
}

uint64_t anchor_unit_bits_checked(const struct anchor_map *map, int64_t place)
{
    int64_t block = place >> 4, blocks = (int64_t)map->blocks;
    int shift = (int)(place & 15);
    uint64_t entry[5] = {0};
    for (int i = 0; i < 5; i++)
        if (block + i >= 0 && block + i < blocks)
            entry[i] = map->unit[block + i];
    uint64_t low = entry[0] | entry[1] << 16 | entry[2] << 32 | entry[3] << 48;
    return shift ? low >> shift | entry[4] << (64 - shift) : low;
}

/* One scan's state: `block` is the next to be described. */
struct scan {
    struct anchor_map *map;
    kernel *run;
    size_t block;
};

/* Describes the blocks before `end` in place. */
static void scan_open(struct scan *scan, size_t end)
{
    struct anchor_map *map = scan->map;
    if (end > scan->block)
        scan->run(map->data + scan->block * ANCHOR_BLOCK, end - scan->block, map->unit + scan->block,
                  map->small + scan->block, map->top + scan->block);
    scan->block = end > scan->block ? end : scan->block;
}

/* Describes the blocks before `end` as walled off. */
static void scan_walled(struct scan *scan, size_t end)
{
    for (; scan->block < end; scan->block++) {
        scan->map->unit[scan->block] = 0;
        scan->map->small[scan->block] = 0;
        scan->map->top[scan->block] = 0xFFFF;
    }
}

/* Describes one block that the section's end or a wall cuts, from a copy with 0xFF in place of what is not to
 * be seen. */
static void scan_cut(struct scan *scan, const struct anchor_range *walls, size_t wall_count)
{
    struct anchor_map *map = scan->map;
    uint64_t start = (uint64_t)scan->block * ANCHOR_BLOCK;
    uint8_t copy[ANCHOR_BLOCK + AHEAD];
    memset(copy, 0xFF, sizeof copy);
    size_t there = map->size - start < sizeof copy ? map->size - start : sizeof copy;
    memcpy(copy, map->data + start, there);
    for (size_t w = 0; w < wall_count && walls[w].start < start + sizeof copy; w++) {
        uint64_t from = walls[w].start > start ? walls[w].start - start : 0;
        uint64_t to = walls[w].end - start < sizeof copy ? walls[w].end - start : sizeof copy;
        if (walls[w].end > start)
            memset(copy + from, 0xFF, to - from);
    }
    scan_portable(copy, 1, map->unit + scan->block, map->small + scan->block, map->top + scan->block);
    scan->block++;
}

bool anchor_scan(const uint8_t *data, size_t size, const struct anchor_range *walls, size_t wall_count,
                 enum anchor_path path, struct arena *arena, struct anchor_map *out)
{
    size_t blocks = (size + ANCHOR_BLOCK - 1) / ANCHOR_BLOCK;
    *out = (struct anchor_map){.data = data, .size = size, .blocks = blocks, .path = path};
    /* One piece of memory: three would each begin a huge page of their own. */
    out->unit = arena_array_raw(arena, blocks, 3 * sizeof *out->unit);
    if (!out->unit)
        return false;
    out->small = out->unit + blocks;
    out->top = out->small + blocks;
    struct scan scan = {.map = out, .run = kernel_of(path)};
    /* Whole blocks whose kernel may look ahead without leaving the section. */
    size_t whole = size >= ANCHOR_BLOCK + AHEAD ? (size - AHEAD) / ANCHOR_BLOCK : 0;
    for (size_t w = 0; w < wall_count && walls[w].start < size; w++) {
        uint64_t start = walls[w].start;
        uint64_t end = walls[w].end < size ? walls[w].end : size;
        /* The last block in front of the wall looks into it. */
        size_t before = (size_t)(start >= AHEAD ? start - AHEAD : 0) / ANCHOR_BLOCK;
        scan_open(&scan, before < whole ? before : whole);
        while (scan.block * ANCHOR_BLOCK < start)
            scan_cut(&scan, walls + w, wall_count - w);
        scan_walled(&scan, (size_t)(end / ANCHOR_BLOCK));
        if (scan.block < blocks && scan.block * ANCHOR_BLOCK < end)
            scan_cut(&scan, walls + w, wall_count - w);
    }
    scan_open(&scan, whole);
    while (scan.block < blocks)
        scan_cut(&scan, walls, wall_count);
    return true;
}
