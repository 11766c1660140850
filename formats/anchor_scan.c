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

/* The kernels describe four blocks at a time. Each word is turned into a square once: the third square of a
 * triple is the first of the next one, for the last triple of a block that of the block behind it. gcc
 * unrolls such loops only when told to, and keeps the arrays in memory otherwise. */
#define GROUP 4u

/* Within each 16 bytes: the even words, then the odd ones, each turned to little-endian. */
#define SHUFFLE_WORDS 1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14
/* The bits that must be zero in a 4-byte place whose words are both below 256. */
#define HIGH_BYTES 0x00FF00FF

/* Helpers are always inlined, so that each kernel is compiled for one target throughout. */
#define TARGET_AVX2 __attribute__((target("avx2,f16c")))
#define HELPER_AVX2 __attribute__((target("avx2,f16c"), always_inline)) static inline

static inline void store_group(uint16_t *out, uint64_t four)
{
    memcpy(out, &four, sizeof four);
}

/* The greatest words of four blocks, of each of which the greatest are among 16. */
HELPER_AVX2 uint64_t greatest_of_four(__m256i a, __m256i b, __m256i c, __m256i d)
{
    __m256i ab = _mm256_max_epu16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
    __m256i cd = _mm256_max_epu16(_mm256_unpacklo_epi16(c, d), _mm256_unpackhi_epi16(c, d));
    __m256i all = _mm256_max_epu16(_mm256_unpacklo_epi32(ab, cd), _mm256_unpackhi_epi32(ab, cd));
    __m128i half = _mm_max_epu16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_max_epu16(half, _mm_unpackhi_epi64(half, half)));
}

/* 32 bytes: the words themselves, in some order, and the squares of those at even and at odd places. */
struct half_block {
    __m256i words;
    __m256 even, odd;
};

HELPER_AVX2 struct half_block half_block(const uint8_t *data)
{
    const __m256i shuffle = _mm256_setr_epi8(SHUFFLE_WORDS, SHUFFLE_WORDS);
    __m256i words = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)data), shuffle);
    words = _mm256_permute4x64_epi64(words, 0xD8);
    __m256 x = _mm256_cvtph_ps(_mm256_castsi256_si128(words));
    __m256 y = _mm256_cvtph_ps(_mm256_extracti128_si256(words, 1));
    return (struct half_block){words, _mm256_mul_ps(x, x), _mm256_mul_ps(y, y)};
}

/* All ones where the triple is of unit length. Lengths are not negative, so that their bits are ordered as
 * they are. */
HELPER_AVX2 __m256i unit_avx2(struct half_block here, __m256 next)
{
    __m256i even = _mm256_castps_si256(here.even);
    __m256i over = _mm256_permute2x128_si256(even, _mm256_castps_si256(next), 0x21);
    __m256 third = _mm256_castsi256_ps(_mm256_alignr_epi8(over, even, 4));
    __m256 length = _mm256_add_ps(_mm256_add_ps(here.even, here.odd), third);
    __m256i low = _mm256_castps_si256(_mm256_set1_ps(UNIT_LOW));
    __m256i most = _mm256_sub_epi32(_mm256_castps_si256(_mm256_set1_ps(UNIT_HIGH)), low);
    __m256i above = _mm256_sub_epi32(_mm256_castps_si256(length), low);
    return _mm256_cmpeq_epi32(_mm256_min_epu32(above, most), above);
}

HELPER_AVX2 __m256i small_avx2(const uint8_t *data)
{
    __m256i high = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)data), _mm256_set1_epi32(HIGH_BYTES));
    return _mm256_cmpeq_epi32(high, _mm256_setzero_si256());
}

/* One bit for each of 32 places. */
HELPER_AVX2 uint32_t bits_avx2(__m256i a, __m256i b, __m256i c, __m256i d)
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

TARGET_AVX2 static void scan_avx2(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small,
                                  uint16_t *top)
{
    struct half_block h[9];
    size_t b = 0;
    if (blocks > GROUP)
        h[8] = half_block(data);
    for (; b + GROUP < blocks; b += GROUP, data += GROUP * ANCHOR_BLOCK) {
        uint64_t unit_bits = 0, small_bits = 0;
        __m256i most[GROUP];
        h[0] = h[8];
#pragma GCC unroll 8
        for (unsigned i = 1; i <= 8; i++)
            h[i] = half_block(data + 32 * i);
#pragma GCC unroll 4
        for (unsigned i = 0; i < GROUP; i++) {
            _mm_prefetch((const char *)data + ANCHOR_PREFETCH + ANCHOR_BLOCK * i, _MM_HINT_T0);
            most[i] = _mm256_max_epu16(h[2 * i].words, h[2 * i + 1].words);
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 8; i += 4) {
            const uint8_t *at = data + 32 * i;
            unit_bits |=
                (uint64_t)bits_avx2(unit_avx2(h[i], h[i + 1].even), unit_avx2(h[i + 1], h[i + 2].even),
                                    unit_avx2(h[i + 2], h[i + 3].even), unit_avx2(h[i + 3], h[i + 4].even))
                << 8 * i;
            small_bits |= (uint64_t)bits_avx2(small_avx2(at), small_avx2(at + 32), small_avx2(at + 64),
                                              small_avx2(at + 96))
                          << 8 * i;
        }
        store_group(unit + b, unit_bits);
        store_group(small + b, small_bits);
        store_group(top + b, greatest_of_four(most[0], most[1], most[2], most[3]));
    }
    scan_portable(data, blocks - b, unit + b, small + b, top + b);
}

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,f16c")))
#define HELPER_AVX512                                                                                        \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx2,f16c"), always_inline)) static inline

/* 64 bytes: the greater of each two words, and the squares of those at even and at odd places. */
struct whole_block {
    __m256i greater;
    __m512 even, odd;
};

HELPER_AVX512 struct whole_block whole_block(const uint8_t *data)
{
    const __m512i shuffle = _mm512_broadcast_i32x4(_mm_setr_epi8(SHUFFLE_WORDS));
    const __m512i gather = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i words = _mm512_permutexvar_epi64(gather, _mm512_shuffle_epi8(_mm512_loadu_si512(data), shuffle));
    __m256i even = _mm512_castsi512_si256(words), odd = _mm512_extracti64x4_epi64(words, 1);
    __m512 x = _mm512_cvtph_ps(even), y = _mm512_cvtph_ps(odd);
    return (struct whole_block){_mm256_max_epu16(even, odd), _mm512_mul_ps(x, x), _mm512_mul_ps(y, y)};
}

HELPER_AVX512 uint16_t unit_avx512(struct whole_block here, __m512 next)
{
    __m512i third = _mm512_alignr_epi32(_mm512_castps_si512(next), _mm512_castps_si512(here.even), 1);
    __m512 length = _mm512_add_ps(_mm512_add_ps(here.even, here.odd), _mm512_castsi512_ps(third));
    __m512i low = _mm512_castps_si512(_mm512_set1_ps(UNIT_LOW));
    __m512i most = _mm512_sub_epi32(_mm512_castps_si512(_mm512_set1_ps(UNIT_HIGH)), low);
    return _mm512_cmple_epu32_mask(_mm512_sub_epi32(_mm512_castps_si512(length), low), most);
}

HELPER_AVX512 uint16_t small_avx512(const uint8_t *data)
{
    return _mm512_testn_epi32_mask(_mm512_loadu_si512(data), _mm512_set1_epi32(HIGH_BYTES));
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
#pragma GCC unroll 4
        for (unsigned i = 0; i < GROUP; i++) {
            _mm_prefetch((const char *)data + ANCHOR_PREFETCH + ANCHOR_BLOCK * i, _MM_HINT_T0);
            w[i + 1] = whole_block(data + ANCHOR_BLOCK * (i + 1));
            unit[b + i] = unit_avx512(w[i], w[i + 1].even);
            small[b + i] = small_avx512(data + ANCHOR_BLOCK * i);
        }
        store_group(top + b, greatest_of_four(w[0].greater, w[1].greater, w[2].greater, w[3].greater));
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
    if (!__builtin_cpu_supports("avx2") || !has_f16c())
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
    out->unit = arena_array_raw(arena, blocks, sizeof *out->unit);
    out->small = arena_array_raw(arena, blocks, sizeof *out->small);
    out->top = arena_array_raw(arena, blocks, sizeof *out->top);
    if (!out->unit || !out->small || !out->top)
        return false;
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
