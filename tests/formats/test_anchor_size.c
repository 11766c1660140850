/* test_anchor_size.c - which descriptor word is the stored size, what it measures and how closely: learned
 * from sure placements, judged on all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/anchor_context.h"
#include "formats/reader.h"
#include "tests/support/xbg7_block.h"

#define RESOURCES  60
#define SIZE_WORD  10
#define VERTICES   4
#define DESCRIPTOR 64

/* Resources with one candidate each, whose four vertices are in `data`: an offset box. */
struct fixture {
    struct arena arena;
    struct anchor_subject subjects[RESOURCES];
    struct candidate candidates[RESOURCES];
    struct anchor_choice choices[RESOURCES];
    struct buffer_place places[RESOURCES];
    struct xbg7_marker markers[RESOURCES];
    uint8_t descriptors[RESOURCES][DESCRIPTOR], data[RESOURCES * VERTICES * 12];
    float axis[RESOURCES], centre[RESOURCES];
    uint32_t random;
};

static float random_unit(struct fixture *f)
{
    f->random = f->random * 1664525u + 1013904223u;
    return (float)(f->random >> 8) / 16777216.0f;
}

static void store_f32(uint8_t *at, float value)
{
    uint32_t bits = bits_of_float(value);
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(bits >> (24 - 8 * i));
}

/* A tetrahedron in a box of random sides far from the origin: its radius about the middle of the box is none
 * of the measures that the box alone gives. */
static void make_block(struct fixture *f, int i)
{
    static const float corners[VERTICES][3] = {{0, 0, 0.5f}, {1, 0.4f, 0.5f}, {0.5f, 1, 1}, {0.6f, 0.3f, 0}};
    float side[3], middle[3], radius2 = 0, centre2 = 0;
    struct anchor_evidence *e = &f->candidates[i].evidence;
    for (int k = 0; k < 3; k++) {
        side[k] = 2 + 200 * random_unit(f) * random_unit(f);
        middle[k] = 1000 + 50 * (float)k;
        e->extent[k] = side[k];
    }
    for (int v = 0; v < VERTICES; v++) {
        float from_centre = 0, from_origin = 0;
        for (int k = 0; k < 3; k++) {
            float p = middle[k] + (corners[v][k] - 0.5f) * side[k];
            store_f32(f->data + ((size_t)i * VERTICES + (size_t)v) * 12 + 4 * k, p);
            from_centre += (p - middle[k]) * (p - middle[k]);
            from_origin += p * p;
        }
        radius2 = fmaxf(radius2, from_origin);
        centre2 = fmaxf(centre2, from_centre);
    }
    e->radius = sqrtf(radius2);
    f->axis[i] = fmaxf(side[0], fmaxf(side[1], side[2]));
    f->centre[i] = sqrtf(centre2);
    f->places[i] = (struct buffer_place){
        .vertex_offset = (uint64_t)i * VERTICES * 12, .vertex_count = VERTICES, .stride = 12};
}

static int start(void **state)
{
    static struct vertex_element position = {.usage = MESH_POSITION, .format = 0x2A23B9, .size = 12};
    struct fixture *f = *state = calloc(1, sizeof *f);
    f->random = 7;
    for (int i = 0; i < RESOURCES; i++) {
        make_block(f, i);
        f->markers[i] = (struct xbg7_marker){
            .vertex_count = VERTICES, .stride = 12, .element_count = 1, .elements = &position};
        f->candidates[i].buffers = &f->places[i];
        f->subjects[i] = (struct anchor_subject){.descriptor = f->descriptors[i],
                                                 .descriptor_size = DESCRIPTOR,
                                                 .form = anchor_form_make(&f->markers[i], 1),
                                                 .count = 1,
                                                 .candidates = &f->candidates[i],
                                                 .item = {.choices = &f->choices[i], .count = 1},
                                                 .sure = true};
        for (int word = 0; word < DESCRIPTOR / 4; word++) /* other floats, in the range of sizes */
            store_f32(f->descriptors[i] + 4 * word, 1 + 200 * random_unit(f));
    }
    return 0;
}

static int finish(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    free(f);
    return 0;
}

static void state_size(struct fixture *f, int i, float size)
{
    store_f32(f->descriptors[i] + 4 * SIZE_WORD, size);
}

static const struct anchor_evidence *evidence(const struct fixture *f, int i)
{
    return &f->candidates[i].evidence;
}

static void apply(struct fixture *f)
{
    assert_true(anchor_apply_sizes(f->data, f->subjects, RESOURCES, &f->arena));
}

static int count_matches(const struct fixture *f, int from, int to)
{
    int matches = 0;
    for (int i = from; i < to; i++)
        matches += evidence(f, i)->size_match > 0;
    return matches;
}

static void exact_sizes(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < RESOURCES; i++)
        state_size(f, i, f->axis[i]);
    state_size(f, 58, f->axis[58] * 1.05f); /* not its own, and not far either */
    state_size(f, 59, f->axis[59] * 3);     /* another model's */
    apply(f);
    assert_int_equal(count_matches(f, 0, 58), 58);
    assert_int_equal(evidence(f, 58)->size_match, -1);
    assert_int_equal(evidence(f, 59)->size_match, -2);
    assert_true(evidence(f, 0)->size_odds > 3 && evidence(f, 59)->size_odds < -2);
}

static void random_words_are_no_size(void **state)
{
    struct fixture *f = *state;
    apply(f);
    for (int i = 0; i < RESOURCES; i++) {
        assert_int_equal(evidence(f, i)->size_match, 0);
        assert_true(evidence(f, i)->size_odds == 0);
    }
}

/* "About" its size: within 8 %. Exactly as many fit within 2 % as chance and that make. */
static void rough_sizes(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < RESOURCES; i++)
        state_size(f, i, f->axis[i] * (0.92f + 0.16f * random_unit(f)));
    state_size(f, 59, f->axis[59] * 2);
    apply(f);
    assert_int_equal(count_matches(f, 0, 59), 59);
    assert_int_equal(evidence(f, 59)->size_match, -2);
    /* A rough match says less than an exact one. */
    assert_true(evidence(f, 0)->size_odds > 2 && evidence(f, 0)->size_odds < 3.5f);
}

/* The radius about the middle of the box, which only the vertices tell. */
static void radius_about_the_middle(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < RESOURCES; i++)
        state_size(f, i, f->centre[i]);
    state_size(f, 59, f->centre[59] / 2);
    apply(f);
    assert_int_equal(count_matches(f, 0, 59), 59);
    assert_int_equal(evidence(f, 59)->size_match, -2);
}

/* Where no size is stated a constant stands: 40 of 60 have it, and it speaks against none of them. */
static void a_constant_is_no_size(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < RESOURCES; i++)
        state_size(f, i, i % 3 ? 1.0f : f->axis[i]);
    state_size(f, 57, f->axis[57] * 4);
    apply(f);
    for (int i = 0; i < RESOURCES; i++)
        assert_int_equal(evidence(f, i)->size_match, i == 57 ? -2 : i % 3 ? 0 : 1);
}

/* Half of them state anything at all: then nothing is far from its size, but a mismatch is one. */
static void a_word_that_often_fails_condemns_nobody(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < RESOURCES; i++)
        if (i % 5 < 3)
            state_size(f, i, f->axis[i]);
    apply(f);
    for (int i = 0; i < RESOURCES; i++)
        assert_true(evidence(f, i)->size_match > (i % 5 < 3 ? 0 : -2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exact_sizes, start, finish),
        cmocka_unit_test_setup_teardown(random_words_are_no_size, start, finish),
        cmocka_unit_test_setup_teardown(rough_sizes, start, finish),
        cmocka_unit_test_setup_teardown(radius_about_the_middle, start, finish),
        cmocka_unit_test_setup_teardown(a_constant_is_no_size, start, finish),
        cmocka_unit_test_setup_teardown(a_word_that_often_fails_condemns_nobody, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
