/* test_anchor_scan.c - the one pass: what its bits mean, and that every path gives the same ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_scan.h"
#include "formats/reader.h"
#include "tests/support/xbg7_block.h"

static void test_half(void **state)
{
    (void)state;
    static const struct {
        uint16_t bits;
        float value;
    } cases[] = {{0, 0},        {0x3C00, 1},         {0xBC00, -1},       {0x7BFF, 65504},
                 {1, 0x1p-24f}, {0x8001, -0x1p-24f}, {0x0400, 0x1p-14f}, {0x3555, 0.333251953125f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(anchor_half(cases[i].bits) == cases[i].value);
    assert_true(isinf(anchor_half(0x7C00)));
    assert_true(isnan(anchor_half(0x7E00)));
    for (uint32_t bits = 0; bits < 0x7C00; bits++) {
        int exponent = bits >> 10 ? (int)(bits >> 10) : 1;
        float value = ldexpf((float)((bits & 1023) + (bits >> 10 ? 1024 : 0)), exponent - 25);
        assert_true(anchor_half((uint16_t)bits) == value);
        assert_true(anchor_half((uint16_t)(bits | 0x8000)) == -value);
    }
    assert_true(signbit(anchor_half(0x8000)));
    assert_int_equal(bits_of_float(anchor_half(0xFE01)), 0xFFC02000); /* a NaN keeps what it says */
    for (uint32_t bits = 0x0400; bits < 0x7C00; bits++)
        assert_int_equal(half_of(anchor_half((uint16_t)bits)), bits);
}

static struct anchor_map scan(const uint8_t *data, size_t size, const struct anchor_range *walls,
                              size_t count, enum anchor_path path, struct arena *arena)
{
    struct anchor_map map;
    assert_true(anchor_scan(data, size, walls, count, path, arena, &map));
    assert_int_equal(map.blocks, (size + 63) / 64);
    return map;
}

/* The definition, place by place, with walls seen as 0xFF. */
static void check(const struct anchor_map *map, const uint8_t *data, size_t size,
                  const struct anchor_range *walls, size_t wall_count)
{
    uint8_t *seen = malloc(map->blocks * 64 + 8);
    memset(seen, 0xFF, map->blocks * 64 + 8);
    memcpy(seen, data, size);
    for (size_t w = 0; w < wall_count; w++)
        for (uint64_t i = walls[w].start; i < walls[w].end && i < size; i++)
            seen[i] = 0xFF;
    for (size_t b = 0; b < map->blocks; b++) {
        uint16_t top = 0;
        for (size_t i = 0; i < 16; i++) {
            const uint8_t *at = seen + 64 * b + 4 * i;
            uint16_t first = load_u16be(at), second = load_u16be(at + 2);
            float x = anchor_half(first), y = anchor_half(second), z = anchor_half(load_u16be(at + 4));
            float length = x * x + y * y + z * z;
            top = first > top ? first : top;
            top = second > top ? second : top;
            assert_int_equal(map->unit[b] >> i & 1, length >= 0.9216f && length <= 1.0816f);
            assert_int_equal(map->small[b] >> i & 1, first < 256 && second < 256);
        }
        assert_int_equal(map->top[b], top);
    }
    free(seen);
}

/* Bytes with everything in them: noise, unit normals, small words, NaNs. */
static struct buffer mixture(size_t size, unsigned seed)
{
    struct buffer out = {0};
    struct sheet sheet = {.columns = 6, .rows = 5, .seed = seed, .size = 10};
    while (out.size < size) {
        put_noise(&out, 100, seed);
        put_block(&out, &sheet);
        uint32_t state = seed++ * 747796405u + 1;
        for (int i = 0; i < 200; i++) {
            state = state * 1664525u + 1013904223u;
            uint8_t bytes[2] = {(uint8_t)(state >> 24 & (i % 3 ? 0xFF : 0x3F)), (uint8_t)(state >> 16)};
            buffer_append(&out, bytes, 2);
        }
    }
    out.size = size;
    return out;
}

static void test_paths_agree(void **state)
{
    (void)state;
    static const struct anchor_range walls[] = {{70, 75},   {128, 192},   {300, 301},
                                                {303, 900}, {1000, 1024}, {1531, 9999}};
    for (enum anchor_path path = ANCHOR_PORTABLE; path <= anchor_best_path(); path++)
        for (size_t size = 0; size < 1700; size += size < 300 ? 1 : 61)
            for (size_t count = 0; count <= sizeof walls / sizeof *walls; count += 3) {
                struct arena arena = {0};
                struct buffer bytes = mixture(size, (unsigned)size);
                uint8_t *exact = malloc(size ? size : 1);
                if (size)
                    memcpy(exact, bytes.data, size);
                struct anchor_map map = scan(exact, size, walls, count, path, &arena);
                check(&map, exact, size, walls, count);
                free(exact);
                buffer_free(&bytes);
                arena_free(&arena);
            }
}

/* 64 unit bits from any place on, in front of the map and behind it too. */
static void test_unit_bits(void **state)
{
    (void)state;
    for (size_t size = 0; size < 1300; size += 47) {
        struct arena arena = {0};
        struct buffer bytes = mixture(size, 5);
        struct anchor_map map = scan(bytes.data, bytes.size, NULL, 0, ANCHOR_PORTABLE, &arena);
        for (int64_t place = -70; place < (int64_t)(size / 4) + 70; place++) {
            uint64_t expected = 0;
            for (int64_t i = 0; i < 64; i++) {
                int64_t at = place + i;
                bool unit = at >= 0 && at < (int64_t)map.blocks * 16 && (map.unit[at / 16] >> at % 16 & 1);
                expected |= (uint64_t)unit << i;
            }
            assert_true(anchor_unit_bits(&map, place) == expected);
        }
        buffer_free(&bytes);
        arena_free(&arena);
    }
}

/* Every path gives what the portable one does. */
static void check_paths(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct anchor_map expected = scan(data, size, NULL, 0, ANCHOR_PORTABLE, &arena);
    check(&expected, data, size, NULL, 0);
    for (enum anchor_path path = ANCHOR_AVX2; path <= anchor_best_path(); path++) {
        struct anchor_map map = scan(data, size, NULL, 0, path, &arena);
        assert_memory_equal(map.unit, expected.unit, map.blocks * 2);
        assert_memory_equal(map.small, expected.small, map.blocks * 2);
        assert_memory_equal(map.top, expected.top, map.blocks * 2);
    }
    arena_free(&arena);
}

static void test_every_half(void **state)
{
    (void)state;
    /* Each f16 in each of the three places of a triple whose others are zero: bounds, NaNs, infinities,
     * denormals. */
    size_t size = 65536 * 3 * 8;
    uint8_t *data = calloc(size, 1);
    for (uint32_t i = 0; i < 65536 * 3; i++) {
        data[8 * (size_t)i + 2 * (i % 3)] = (uint8_t)(i / 3 >> 8);
        data[8 * (size_t)i + 2 * (i % 3) + 1] = (uint8_t)(i / 3);
    }
    check_paths(data, size);
    free(data);
}

/* The least f16 that with `a` makes a square of the bound or more. */
static uint16_t partner_of(uint16_t a, float bound)
{
    uint16_t low = 0, high = 0x3C80;
    float x = anchor_half(a);
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        float y = anchor_half(middle);
        bool less = x * x + y * y < bound;
        low = less ? (uint16_t)(middle + 1) : low;
        high = less ? high : middle;
    }
    return low;
}

/* All triples of a denormal or zero and two f16s whose squares come nearest to a bound, the denormal in each
 * of three places: the AVX-512 path takes all denormals for larger ones. Between the least and the greatest
 * one nothing can change that does not change from one to the other. */
static void test_denormals_at_the_bounds(void **state)
{
    (void)state;
    static const float bounds[] = {0.9216f, 1.0816f};
    static const uint16_t denormals[] = {0, 1, 0x03FF, 0x0400};
    struct buffer bytes = {0};
    for (unsigned k = 0; k < 2; k++)
        for (uint16_t a = 0; anchor_half(a) * anchor_half(a) <= bounds[k]; a++)
            for (int b = partner_of(a, bounds[k]) - 2, last = b + 3; b <= last; b++)
                for (unsigned i = 0; b >= 0 && i < 12; i++) {
                    uint16_t t[4] = {0, 0, 0, 0x7BFF};
                    t[2] = i % 3 == 2 ? denormals[i / 3] : (uint16_t)b;
                    t[1] = i % 3 == 1 ? denormals[i / 3] : i % 3 == 0 ? a : (uint16_t)b;
                    t[0] = i % 3 == 0 ? denormals[i / 3] : a;
                    for (unsigned w = 0; w < 4; w++)
                        buffer_append(&bytes, (uint8_t[]){(uint8_t)(t[w] >> 8), (uint8_t)t[w]}, 2);
                }
    assert_false(bytes.failed);
    check_paths(bytes.data, bytes.size);
    buffer_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_paths_agree),
        cmocka_unit_test(test_unit_bits),
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_denormals_at_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
