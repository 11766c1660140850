/* test_anchor_evidence.c - what may be said of a place before it is measured. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_evidence.h"
#include "formats/reader.h"
#include "formats/xbg7.h"
#include "tests/support/xbg7_block.h"

#define MUTATIONS 4000

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* How many of a block's indices are used, counted here. */
static struct anchor_use use_of(const uint8_t *words, const struct buffer_place *place)
{
    static uint8_t used[65536];
    memset(used, 0, sizeof used);
    for (uint32_t i = 0; i < place->index_count; i++)
        used[load_u16be(words + 2 * (size_t)i)] = 1;
    struct anchor_use use = {.exact = used[place->vertex_count - 1]};
    for (uint32_t v = 0; v < place->vertex_count; v++)
        use.distinct += used[v];
    return use;
}

/* Damages a few words of a block: its indices (which stay in range), and anything of its vertices; and now
 * and then what is in front of it. */
static void damage(uint8_t *block, const struct sheet *sheet, uint32_t *state)
{
    uint32_t indices = sheet_indices(sheet), vertices = sheet_vertices(sheet);
    uint32_t vertex_words = vertices * (sheet->no_normals ? 6 : 12);
    for (uint32_t i = next(state) % 4 * (next(state) % 8); i > 0; i--) {
        uint8_t *at = block + 2 * (next(state) % indices);
        uint32_t word = next(state) % 3 ? next(state) % vertices : load_u16be(block);
        at[0] = (uint8_t)(word >> 8);
        at[1] = (uint8_t)word;
    }
    for (uint32_t i = next(state) % 3 * (next(state) % 64); i > 0; i--)
        block[2 * indices + (2 * indices & 2) + 2 * (next(state) % vertex_words)] = (uint8_t)next(state);
    if (next(state) % 3 == 0)
        memset(block - 4, next(state) % 2, 4);
}

/* The bound is one, and nearer with a look, of blocks of many kinds and damages; and counting indices once
 * more finds what is known of them. */
static void test_most(void **state)
{
    (void)state;
    static const struct sheet sheets[] = {
        {.columns = 3, .rows = 2, .seed = 1, .size = 10},
        {.columns = 6, .rows = 5, .seed = 2, .size = 10},
        {.columns = 14, .rows = 11, .seed = 3, .size = 10},
        {.columns = 14, .rows = 11, .seed = 4, .size = 3, .mirrored = true},
        {.columns = 40, .rows = 30, .seed = 5, .size = 10, .odd_every = 3},
        {.columns = 6, .rows = 5, .seed = 6, .size = 10, .no_normals = true},
        {.columns = 15, .rows = 9, .seed = 7, .size = 1, .no_normals = true}};
    struct anchor_scratch *scratch = calloc(1, sizeof *scratch);
    uint32_t seed = 1, sound = 0, reached = 0;
    for (unsigned m = 0; m < MUTATIONS; m++) {
        const struct sheet *sheet = &sheets[m % (sizeof sheets / sizeof *sheets)];
        struct buffer bytes = {0}, descriptor = sheet_descriptor(&sheet, 1, sheet->size);
        struct arena arena = {0};
        struct resource resource = {0};
        struct error err = {0};
        struct reader r = reader_make(descriptor.data, descriptor.size, 0, "test", &err);
        assert_true(xbg7_parse(&r, &arena, &resource));
        put_noise(&bytes, 64, m);
        size_t start = put_block(&bytes, sheet);
        put_noise(&bytes, 64, m + 1);
        if (m >= 7)
            damage(bytes.data + start, sheet, &seed);
        struct anchor_map map;
        assert_true(anchor_scan(bytes.data, bytes.size, NULL, 0, anchor_best_path(), &arena, &map));
        struct anchor_form form = anchor_form_make(resource.markers, resource.marker_count);
        struct buffer_place place;
        assert_true(anchor_place(&form, ANCHOR_GROUPED, start, bytes.size, &place) != 0);
        struct anchor_use use = use_of(bytes.data + start, &place);
        struct anchor_evidence evidence, again;
        uint64_t bad;
        assert_true(anchor_measure(&map, &form, ANCHOR_GROUPED, &place, NULL, scratch, &evidence, &bad));
        assert_true(anchor_measure(&map, &form, ANCHOR_GROUPED, &place, &use, scratch, &again, &bad));
        assert_int_equal(evidence.unreferenced, again.unreferenced);
        assert_int_equal(evidence.short_of_top, again.short_of_top);
        assert_int_equal(evidence.degenerate, again.degenerate);
        double score = anchor_score(&evidence, 1e6, false);
        double most = anchor_score_most(&map, &form, ANCHOR_GROUPED, &place, use, false, 1e6);
        double looked = anchor_score_most(&map, &form, ANCHOR_GROUPED, &place, use, true, 1e6);
        assert_true(score == anchor_score(&again, 1e6, false));
        assert_true(looked >= score && most >= score && most >= looked);
        sound += anchor_is_sound(&evidence);
        reached += anchor_is_sound(&evidence) && most == score;
        buffer_free(&bytes);
        buffer_free(&descriptor);
        arena_free(&arena);
    }
    /* Sound places are worth all that can be said: of those no second one is measured in vain. */
    assert_true(sound > MUTATIONS / 20 && reached == sound && sound < MUTATIONS / 2);
    free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
