/* anchor_words.c - see anchor_words.h */
#include "anchor_words.h"

#include <string.h>

#include "reader.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint16_t word_of(struct anchor_words words, uint64_t number)
{
    uint16_t word;
    memcpy(&word, words.bytes + 2 * number, sizeof word);
    return words.big_endian ? load_u16be(words.bytes + 2 * number) : word;
}

static inline uint64_t first_portable(struct anchor_words words, uint64_t first, uint64_t end, uint32_t limit)
{
    while (first < end && word_of(words, first) < limit)
        first++;
    return first;
}

static inline uint64_t behind_portable(struct anchor_words words, uint64_t first, uint64_t end,
                                       uint32_t limit)
{
    while (end > first && word_of(words, end - 1) < limit)
        end--;
    return end;
}

static inline uint16_t greatest_portable(struct anchor_words words, uint64_t first, uint64_t end)
{
    uint16_t greatest = 0;
    for (; first < end; first++) {
        uint16_t word = word_of(words, first);
        greatest = word > greatest ? word : greatest;
    }
    return greatest;
}

#if defined(__x86_64__)

#define LANES       16u /* words of a vector */
#define TARGET_AVX2 __attribute__((target("avx2")))
#define HELPER_AVX2 __attribute__((target("avx2"), always_inline)) static inline

/* Turns a vector's words to this machine's order. */
HELPER_AVX2 __m256i order_of(struct anchor_words words)
{
    const __m128i swapped = _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    const __m128i same = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_broadcastsi128_si256(words.big_endian ? swapped : same);
}

HELPER_AVX2 __m256i vector_of(struct anchor_words words, uint64_t number, __m256i order)
{
    return _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(words.bytes + 2 * number)), order);
}

/* Two bits for each word that is not below the limit. */
HELPER_AVX2 uint32_t large_bits(__m256i words, __m256i limits)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(words, limits), words));
}

TARGET_AVX2 static uint64_t first_avx2(struct anchor_words words, uint64_t first, uint64_t end,
                                       uint32_t limit)
{
    const __m256i order = order_of(words), limits = _mm256_set1_epi16((int16_t)limit);
    for (; end - first >= LANES; first += LANES) {
        uint32_t bits = large_bits(vector_of(words, first, order), limits);
        if (bits)
            return first + (unsigned)__builtin_ctz(bits) / 2;
    }
    return first_portable(words, first, end, limit);
}

TARGET_AVX2 static uint64_t behind_avx2(struct anchor_words words, uint64_t first, uint64_t end,
                                        uint32_t limit)
{
    const __m256i order = order_of(words), limits = _mm256_set1_epi16((int16_t)limit);
    for (; end - first >= LANES; end -= LANES) {
        uint32_t bits = large_bits(vector_of(words, end - LANES, order), limits);
        if (bits)
            return end - (unsigned)__builtin_clz(bits) / 2;
    }
    return behind_portable(words, first, end, limit);
}

TARGET_AVX2 static uint16_t greatest_avx2(struct anchor_words words, uint64_t first, uint64_t end)
{
    const __m256i order = order_of(words);
    __m256i most = _mm256_setzero_si256();
    for (; end - first >= LANES; first += LANES)
        most = _mm256_max_epu16(most, vector_of(words, first, order));
    uint8_t lanes[2 * LANES];
    _mm256_storeu_si256((__m256i *)lanes, most);
    uint16_t greatest = greatest_portable((struct anchor_words){.bytes = lanes}, 0, LANES);
    uint16_t rest = greatest_portable(words, first, end);
    return rest > greatest ? rest : greatest;
}

#else

#define first_avx2    first_portable
#define behind_avx2   behind_portable
#define greatest_avx2 greatest_portable

#endif

/* A limit above all words, 65536, fits no lane. */
uint64_t anchor_first_large(struct anchor_words words, uint64_t first, uint64_t end, uint32_t limit)
{
    if (limit > UINT16_MAX)
        return end;
    return words.vectors ? first_avx2(words, first, end, limit) : first_portable(words, first, end, limit);
}

uint64_t anchor_behind_large(struct anchor_words words, uint64_t first, uint64_t end, uint32_t limit)
{
    if (limit > UINT16_MAX)
        return first;
    return words.vectors ? behind_avx2(words, first, end, limit) : behind_portable(words, first, end, limit);
}

uint16_t anchor_greatest(struct anchor_words words, uint64_t first, uint64_t end)
{
    return words.vectors ? greatest_avx2(words, first, end) : greatest_portable(words, first, end);
}
