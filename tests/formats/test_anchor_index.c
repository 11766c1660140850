/* test_anchor_index.c - windows of indices: every one is found, compared with looking at every place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_index.h"
#include "formats/anchor_words.h"
#include "formats/reader.h"
#include "tests/support/xbg7_block.h"
#include "tests/support/xpr2_build.h"

struct seen {
    uint8_t *exact; /* by offset / 4: 1 reported, 2 reported and exact */
    uint32_t *distinct;
    uint64_t stop_after;
};

static uint64_t any_place(void *context, uint64_t offset, uint64_t asked)
{
    (void)asked;
    (void)context;
    return offset % 4 == 0 ? UINT64_MAX : 0;
}

static uint64_t every_third(void *context, uint64_t offset, uint64_t asked)
{
    (void)asked;
    (void)context;
    uint64_t mask = 0;
    for (uint64_t i = 0; i < 64; i++)
        mask |= (uint64_t)((offset / 4 + i) % 3 == 0) << i;
    return mask;
}

static bool note(void *context, const struct anchor_window *window)
{
    struct seen *seen = context;
    assert_int_equal(seen->exact[window->offset / 4], 0); /* each once */
    seen->exact[window->offset / 4] = window->exact ? 2 : 1;
    seen->distinct[window->offset / 4] = window->distinct;
    return --seen->stop_after != 0;
}

/* What a window at that offset is, by definition: 0 none, 1 one, 2 an exact one. */
static int look(const uint8_t *data, size_t size, size_t offset, struct anchor_counts counts,
                uint32_t *distinct)
{
    static uint8_t used[65536];
    memset(used, 0, counts.vertex_count);
    *distinct = 0;
    if (offset + 2 * (size_t)counts.index_count > size)
        return 0;
    for (uint32_t i = 0; i < counts.index_count; i++) {
        uint32_t word = load_u16be(data + offset + 2 * i);
        if (word >= counts.vertex_count)
            return 0;
        *distinct += !used[word];
        used[word] = 1;
    }
    if (*distinct < ANCHOR_COVERAGE_MIN * counts.vertex_count)
        return 0;
    return used[counts.vertex_count - 1] ? 2 : 1;
}

static void compare_by(enum anchor_path path, const struct buffer *bytes, const struct anchor_counts *wanted,
                       size_t count, bool thirds)
{
    struct arena arena = {0};
    struct anchor_map map;
    struct anchor_index index;
    assert_true(anchor_scan(bytes->data, bytes->size, NULL, 0, path, &arena, &map));
    assert_true(anchor_index_open(&index, &map, wanted, count, &arena));
    size_t places = bytes->size / 4 + 1, found = 0;
    for (size_t k = 0; k < count; k++) {
        struct seen seen = {calloc(places, 1), calloc(places, sizeof(uint32_t)), UINT64_MAX};
        struct anchor_search search = {thirds ? every_third : any_place, note, &seen};
        assert_true(anchor_index_find(&index, wanted[k], &search));
        for (size_t i = 0; i < places; i++) {
            uint32_t distinct;
            int expected = look(bytes->data, bytes->size, 4 * i, wanted[k], &distinct);
            if (thirds && i % 3 != 0)
                expected = 0;
            assert_int_equal(seen.exact[i], expected);
            if (expected)
                assert_int_equal(seen.distinct[i], distinct);
            found += expected != 0;
        }
        free(seen.exact);
        free(seen.distinct);
    }
    assert_true(found > 0);
    for (size_t i = 0; i < 65536; i++)
        assert_int_equal(index.uses[i], 0);
    arena_free(&arena);
}

static void compare(const struct buffer *bytes, const struct anchor_counts *wanted, size_t count, bool thirds)
{
    compare_by(anchor_best_path(), bytes, wanted, count, thirds);
    compare_by(ANCHOR_PORTABLE, bytes, wanted, count, thirds);
}

/* Blocks of all sizes with noise, zeros and each other between them. */
static struct buffer section(unsigned seed)
{
    struct buffer out = {0};
    static const uint32_t sides[][2] = {{2, 2},   {3, 2}, {5, 3},    {16, 16}, {17, 16},
                                        {40, 30}, {9, 7}, {100, 13}, {5, 3}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct sheet sheet = {.columns = sides[i][0], .rows = sides[i][1], .seed = seed, .size = 20};
        if (i % 3 == 1)
            put_noise(&out, 4 * (seed + i), seed);
        if (i % 3 == 2)
            memset(buffer_extend(&out, 36), 0, 36);
        put_block(&out, &sheet);
        if (i % 4 == 3) {
            put_indices(&out, &sheet); /* indices that go on: grouped pools look like that */
            put_indices(&out, &sheet);
        }
    }
    return out;
}

static void test_every_window(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 6; seed++) {
        struct buffer bytes = section(seed);
        struct anchor_counts wanted[] = {{4, 6},       {6, 12},   {15, 48},     {256, 1350}, {272, 1440},
                                         {1200, 6786}, {63, 288}, {1300, 7128}, {250, 1344}, {64, 294},
                                         {257, 1350},  {14, 36},  {1000, 3000}, {20, 36}};
        compare(&bytes, wanted, sizeof wanted / sizeof *wanted, false);
        compare(&bytes, wanted, sizeof wanted / sizeof *wanted, true);
        buffer_free(&bytes);
    }
}

static void test_large_counts(void **state)
{
    (void)state;
    /* Words above 0x8000 in the list; the last words of the section belong to it. */
    struct buffer bytes = {0};
    put_noise(&bytes, 4096, 3);
    struct sheet sheet = {.columns = 200, .rows = 200, .size = 9};
    put_indices(&bytes, &sheet);
    struct anchor_counts wanted[] = {{40000, 237606}, {45000, 236000}, {65535, 237000}};
    compare(&bytes, wanted, 2, false);
    buffer_free(&bytes);
}

/* The three questions by definition, for each stretch of some words: every length around a vector's, every
 * place of the large word in it. */
static void check_words(struct anchor_words words, const uint16_t *values, uint64_t count, uint32_t limit)
{
    for (uint64_t first = 0; first <= count; first++) {
        uint64_t large = count, behind = first;
        uint16_t greatest = 0;
        for (uint64_t i = first; i < count; i++) {
            if (values[i] >= limit) {
                large = i < large ? i : large;
                behind = i + 1;
            }
            greatest = values[i] > greatest ? values[i] : greatest;
        }
        assert_int_equal(anchor_first_large(words, first, count, limit), large);
        assert_int_equal(anchor_behind_large(words, first, count, limit), behind);
        assert_int_equal(anchor_greatest(words, first, count), greatest);
    }
}

static void test_words(void **state)
{
    (void)state;
    static const uint32_t limits[] = {0, 1, 200, 256, 40000, 65535, 65536};
    bool vectors = anchor_best_path() != ANCHOR_PORTABLE;
    for (uint64_t count = 0; count < 70; count++) {
        /* Allocated to the byte, so that a sanitizer sees what reads past the end. */
        uint16_t *values = malloc(2 * count + 1);
        uint8_t *bytes = malloc(2 * count + 1);
        for (uint64_t i = 0; i < count; i++) {
            bool rare = (i * 7 + count) % 23 == 0;
            values[i] = (uint16_t)(rare ? 40000 + 65535 * (i % 2) % 25536 : (i * 37 + count) % 200);
            bytes[2 * i] = (uint8_t)(values[i] >> 8);
            bytes[2 * i + 1] = (uint8_t)values[i];
        }
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
            for (int with = 0; with <= (int)vectors; with++) {
                check_words((struct anchor_words){bytes, true, with}, values, count, limits[k]);
                check_words((struct anchor_words){(uint8_t *)values, false, with}, values, count, limits[k]);
            }
        free(values);
        free(bytes);
    }
}

static void test_end(void **state)
{
    (void)state;
    /* The caller has enough after one window. */
    struct buffer bytes = section(1);
    struct arena arena = {0};
    struct anchor_map map;
    struct anchor_index index;
    struct anchor_counts counts = {15, 48};
    assert_true(anchor_scan(bytes.data, bytes.size, NULL, 0, anchor_best_path(), &arena, &map));
    assert_true(anchor_index_open(&index, &map, &counts, 1, &arena));
    struct seen seen = {calloc(bytes.size, 1), calloc(bytes.size, sizeof(uint32_t)), 1};
    struct anchor_search search = {any_place, note, &seen};
    assert_false(anchor_index_find(&index, counts, &search));
    assert_int_equal(seen.stop_after, 0);
    free(seen.exact);
    free(seen.distinct);
    arena_free(&arena);
    buffer_free(&bytes);
}

static void test_steps_end(void **state)
{
    (void)state;
    /* Nothing but one small word: every search would visit all of it; together they may not. */
    size_t size = (size_t)4 << 20;
    uint8_t *data = calloc(size, 1);
    for (size_t i = 1; i < size; i += 2)
        data[i] = (uint8_t)(i / 2 % 200);
    struct arena arena = {0};
    struct anchor_map map;
    struct anchor_index index;
    struct anchor_counts counts[40];
    for (uint32_t i = 0; i < 40; i++)
        counts[i] = (struct anchor_counts){200 + i, 600};
    assert_true(anchor_scan(data, size, NULL, 0, anchor_best_path(), &arena, &map));
    assert_true(anchor_index_open(&index, &map, counts, 40, &arena));
    uint64_t before = index.steps;
    struct seen seen = {calloc(size, 1), calloc(size, sizeof(uint32_t)), UINT64_MAX};
    for (uint32_t i = 0; i < 40; i++) {
        struct anchor_search search = {any_place, note, &seen};
        memset(seen.exact, 0, size);
        anchor_index_find(&index, counts[i], &search);
    }
    assert_true(index.steps < before);
    for (size_t i = 0; i < 65536; i++)
        assert_int_equal(index.uses[i], 0);
    free(seen.exact);
    free(seen.distinct);
    arena_free(&arena);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_window), cmocka_unit_test(test_large_counts),
        cmocka_unit_test(test_words),        cmocka_unit_test(test_end),
        cmocka_unit_test(test_steps_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
