/* anchor_scan.c - see anchor_scan.h
 *
 * All paths compute (x*x + y*y) + z*z in f32 and compare with the same two bounds. The square of an f16 is
 * exact in f32, so that it does not matter whether a compiler fuses a multiplication with an addition: the
 * bits are equal.
 */
#include "anchor_scan.h"

#include <string.h>

#include "reader.h"

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

float anchor_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 31)
        return float_of_bits(sign | 0x7F800000u | mantissa << 13);
    if (exponent == 0) {
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

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

/* Within each 16 bytes: the even words, then the odd ones, each turned to little-endian. */
#define SHUFFLE_WORDS 1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14

/* Eight places of 32 bytes: bits of triples of unit length. `words` receives the words, in some order. */
__attribute__((target("avx2,f16c"))) static inline unsigned unit_avx2(const uint8_t *data, __m256i *words)
{
    const __m256i shuffle = _mm256_setr_epi8(SHUFFLE_WORDS, SHUFFLE_WORDS);
    __m256i here = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)data), shuffle);
    __m256i next = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(data + 4)), shuffle);
    here = _mm256_permute4x64_epi64(here, 0xD8);
    next = _mm256_permute4x64_epi64(next, 0xD8);
    __m256 x = _mm256_cvtph_ps(_mm256_castsi256_si128(here));
    __m256 y = _mm256_cvtph_ps(_mm256_extracti128_si256(here, 1));
    __m256 z = _mm256_cvtph_ps(_mm256_castsi256_si128(next));
    __m256 length =
        _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(y, y)), _mm256_mul_ps(z, z));
    __m256 inside = _mm256_and_ps(_mm256_cmp_ps(length, _mm256_set1_ps(UNIT_LOW), _CMP_GE_OQ),
                                  _mm256_cmp_ps(length, _mm256_set1_ps(UNIT_HIGH), _CMP_LE_OQ));
    *words = here;
    return (unsigned)_mm256_movemask_ps(inside);
}

/* Bits of the eight 4-byte places whose words are both below 256: bytes 0 and 2 are zero. */
__attribute__((target("avx2"))) static inline unsigned small_avx2(const uint8_t *data)
{
    __m256i high = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)data), _mm256_set1_epi32(0x00FF00FF));
    return (unsigned)_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(high, _mm256_setzero_si256())));
}

/* The greatest of eight words. */
__attribute__((target("avx2"))) static inline uint16_t greatest_word(__m128i words)
{
    __m128i least = _mm_minpos_epu16(_mm_xor_si128(words, _mm_set1_epi16(-1)));
    return (uint16_t)~_mm_cvtsi128_si32(least);
}

__attribute__((target("avx2,f16c"))) static void scan_avx2(const uint8_t *data, size_t blocks, uint16_t *unit,
                                                           uint16_t *small, uint16_t *top)
{
    for (size_t b = 0; b < blocks; b++, data += ANCHOR_BLOCK) {
        __m256i low, high;
        _mm_prefetch((const char *)data + ANCHOR_PREFETCH, _MM_HINT_T0);
        unsigned bits = unit_avx2(data, &low);
        bits |= unit_avx2(data + 32, &high) << 8;
        unit[b] = (uint16_t)bits;
        small[b] = (uint16_t)(small_avx2(data) | small_avx2(data + 32) << 8);
        __m256i most = _mm256_max_epu16(low, high);
        top[b] =
            greatest_word(_mm_max_epu16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1)));
    }
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx2,f16c"))) static void
scan_avx512(const uint8_t *data, size_t blocks, uint16_t *unit, uint16_t *small, uint16_t *top)
{
    const __m512i shuffle = _mm512_broadcast_i32x4(_mm_setr_epi8(SHUFFLE_WORDS));
    const __m512i gather = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512 low = _mm512_set1_ps(UNIT_LOW), high = _mm512_set1_ps(UNIT_HIGH);
    for (size_t b = 0; b < blocks; b++, data += ANCHOR_BLOCK) {
        _mm_prefetch((const char *)data + ANCHOR_PREFETCH, _MM_HINT_T0);
        __m512i raw = _mm512_loadu_si512(data);
        __m512i here = _mm512_permutexvar_epi64(gather, _mm512_shuffle_epi8(raw, shuffle));
        __m512i next =
            _mm512_permutexvar_epi64(gather, _mm512_shuffle_epi8(_mm512_loadu_si512(data + 4), shuffle));
        __m256i even = _mm512_castsi512_si256(here), odd = _mm512_extracti64x4_epi64(here, 1);
        __m512 x = _mm512_cvtph_ps(even), y = _mm512_cvtph_ps(odd),
               z = _mm512_cvtph_ps(_mm512_castsi512_si256(next));
        __m512 length =
            _mm512_add_ps(_mm512_add_ps(_mm512_mul_ps(x, x), _mm512_mul_ps(y, y)), _mm512_mul_ps(z, z));
        __mmask16 above = _mm512_cmp_ps_mask(length, low, _CMP_GE_OQ);
        unit[b] = (uint16_t)_mm512_mask_cmp_ps_mask(above, length, high, _CMP_LE_OQ);
        small[b] = (uint16_t)_mm512_testn_epi32_mask(raw, _mm512_set1_epi32(0x00FF00FF));
        __m256i most = _mm256_max_epu16(even, odd);
        top[b] =
            greatest_word(_mm_max_epu16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1)));
    }
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

uint64_t anchor_unit_bits(const struct anchor_map *map, int64_t place)
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

/* Describes the blocks before `end` as walled off. None of their bits is set: the arena gave zeros. */
static void scan_walled(struct scan *scan, size_t end)
{
    for (; scan->block < end; scan->block++)
        scan->map->top[scan->block] = 0xFFFF;
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
    *out = (struct anchor_map){.data = data, .size = size, .blocks = blocks};
    out->unit = arena_array(arena, blocks, sizeof *out->unit);
    out->small = arena_array(arena, blocks, sizeof *out->small);
    out->top = arena_array(arena, blocks, sizeof *out->top);
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
