/* test_twins.c - reflections in x: which sets of points are some, which resources are pairs, and which block
 * they are drawn from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/captures.h"
#include "pipeline/reflect.h"
#include "tests/support/resolve_build.h"

/* ---- sets of points ------------------------------------------------------------------------------------ */

enum { POINTS = 500 };

static void fill(float *points)
{
    uint32_t state = 99;
    for (size_t i = 0; i < 3 * POINTS; i++) {
        state = state * 1664525u + 1013904223u;
        points[i] = (float)(state >> 12) / 1000.0f - 100;
    }
    for (size_t i = 0; i < 60; i++) /* split vertices: the same point several times */
        memcpy(points + 3 * (400 + i), points + 3 * (i % 20), 12);
}

/* Reflected in x, and in another order. */
static void reflect(const float *points, float *out)
{
    for (size_t i = 0; i < POINTS; i++) {
        size_t to = (i * 7 + 3) % POINTS;
        memcpy(out + 3 * to, points + 3 * i, 12);
        out[3 * to] = -points[3 * i];
    }
}

static enum reflect_answer match(const float *a, const float *b, bool mirrored)
{
    struct arena arena = {0};
    enum reflect_answer answer = reflect_match(a, b, POINTS, mirrored, &arena);
    arena_free(&arena);
    return answer;
}

static void order_does_not_matter(void **state)
{
    static float a[3 * POINTS], b[3 * POINTS];
    (void)state;
    fill(a);
    reflect(a, b);
    assert_int_equal(match(a, b, true), REFLECT_YES);
    assert_int_equal(match(b, a, true), REFLECT_YES);
    assert_int_equal(match(a, b, false), REFLECT_NO);
    assert_int_equal(match(a, a, false), REFLECT_YES);
}

static void rounding_does_not_matter(void **state)
{
    static float a[3 * POINTS], b[3 * POINTS];
    (void)state;
    fill(a);
    reflect(a, b);
    for (size_t i = 0; i < 3 * POINTS; i++)
        b[i] = nextafterf(nextafterf(b[i], i % 2 ? 1e9f : -1e9f), i % 3 ? 1e9f : -1e9f);
    assert_int_equal(match(a, b, true), REFLECT_YES);
}

/* The extent is about 1050, so the tolerance is about 0.016. */
static void a_vertex_that_was_moved_matters(void **state)
{
    static float a[3 * POINTS], b[3 * POINTS];
    (void)state;
    fill(a);
    for (size_t at = 0; at < 3 * POINTS; at += 301) {
        reflect(a, b);
        b[at] += 0.1f;
        assert_int_equal(match(a, b, true), REFLECT_NO);
    }
}

/* Equal means, bounds and points, but one of them occurs twice and another once. */
static void how_often_a_point_occurs_matters(void **state)
{
    static float a[3 * POINTS], b[3 * POINTS];
    (void)state;
    fill(a);
    reflect(a, b);
    memcpy(b + 3 * 100, b + 3 * 200, 12);
    assert_int_equal(match(a, b, true), REFLECT_NO);
}

static void what_is_not_finite_matches_nothing(void **state)
{
    static float a[3 * POINTS], b[3 * POINTS];
    (void)state;
    fill(a);
    a[7] = NAN;
    reflect(a, b);
    assert_int_equal(match(a, b, true), REFLECT_NO);
    fill(a);
    a[9] = INFINITY;
    reflect(a, b);
    assert_int_equal(match(a, b, true), REFLECT_NO);
    memset(a, 0, sizeof a); /* a point has no extent, and is its own reflection */
    assert_int_equal(match(a, a, true), REFLECT_YES);
    struct arena arena = {0};
    assert_int_equal(reflect_match(a, a, 0, true, &arena), REFLECT_NO);
    arena_free(&arena);
}

/* All points within one cell of the grid, none within reach of another set's: the search must give up. */
static void a_crowd_does_not_hang(void **state)
{
    enum { CROWD = 60000 };
    float *a = calloc(3 * CROWD, sizeof *a), *b = calloc(3 * CROWD, sizeof *b);
    struct arena arena = {0};
    (void)state;
    for (size_t i = 0; i < CROWD; i++) {
        a[3 * i + 1] = (float)i * 1e-9f;
        b[3 * i + 1] = 0.0001f + (float)i * 1e-9f;
    }
    a[0] = 1;
    b[0] = -1;
    assert_int_equal(reflect_match(a, b, CROWD, true, &arena), REFLECT_NO);
    arena_free(&arena);
    free(a);
    free(b);
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

#define P 0x10000
#define Q 0x20000
#define R 0x30000

/* Content 1 lies on the positive side, its reflection on the negative one. */
static const struct build_container pair = {
    .path = "pair.xpr",
    .resources = {{"e106_bdy_01", RESOURCE_ASSIGNED, .candidates = {{1, P}}},
                  {"e106_bdy_02", RESOURCE_ASSIGNED, .candidates = {{1 + BUILD_MIRRORED, Q}}}}};

static void capture(struct store *store, const char *text)
{
    struct capture_list list;
    struct error err = {0};
    uint64_t changed;
    if (!captures_parse(text, strlen(text), &list, &err) || !captures_store(store, &list, &changed, &err))
        fail_msg("%s", err.msg);
    captures_free(&list);
}

static struct resolved_canonical canonical_of(struct store *store, const struct build_container *container,
                                              uint32_t index)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    build_outcome(store, container, index, &outcome, &arena);
    arena_free(&arena);
    return outcome.canonical;
}

/* Both resources of a container are drawn from `content`, the second one mirrored if told. */
static void assert_pair(struct store *store, const struct build_container *container, unsigned content,
                        bool second_mirrored, enum canonical_basis basis)
{
    const struct hash want = build_geometry(content);
    for (uint32_t i = 0; i < 2; i++) {
        struct resolved_canonical canonical = canonical_of(store, container, i);
        assert_int_equal(canonical.basis, basis);
        assert_memory_equal(canonical.geometry.bytes, want.bytes, HASH_SIZE);
        assert_int_equal(canonical.mirrored, (i == 1) == second_mirrored);
        assert_int_equal(canonical.twin, 1 - i);
    }
    assert_int_equal(fixture_problems(store, true), 0);
}

static struct store *resolved(const struct build_container *container, const char *captures,
                              struct resolve_result *result)
{
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, container);
    if (captures)
        capture(store, captures);
    *result = build_resolve(store, 1);
    return store;
}

static void the_negative_side_is_assumed(void **state)
{
    struct resolve_result result;
    struct arena arena = {0};
    struct resolved_record outcome;
    (void)state;
    struct store *store = resolved(&pair, NULL, &result);
    assert_int_equal(result.twins, 1);
    assert_pair(store, &pair, 1 + BUILD_MIRRORED, true, CANONICAL_ASSUMED);
    /* Each keeps its own place and geometry. */
    struct resource_record record = build_outcome(store, &pair, 0, &outcome, &arena);
    assert_int_equal(record.resource.buffers[0].index_offset, P);
    assert_int_equal(record.resource.status, RESOURCE_ASSIGNED);
    assert_int_equal(outcome.change_count, 0);
    assert_int_equal(build_resolve(store, 2).changed, 0);
    arena_free(&arena);
    store_close(store);
}

static void captures_decide(void **state)
{
    static const struct {
        const char *captures;
        bool negative; /* the block on the negative side is canonical, the second twin mirrored */
    } cases[] = {
        {"{\"resource\":\"e106_bdy_01\",\"row0_x\":1}", true},
        {"{\"resource\":\"e106_bdy_01\",\"row0_x\":-1}", false},
        {"{\"resource\":\"e106_bdy_02\",\"row0_x\":-1.0}", true},
        {"{\"resource\":\"e106_bdy_02\",\"row0_x\":1}", false},
        {"{\"resource\":\"e106_bdy_01\",\"row0_x\":-1}\n{\"resource\":\"e106_bdy_02\",\"row0_x\":1}\n",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct resolve_result result;
        struct store *store = resolved(&pair, cases[i].captures, &result);
        assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
        assert_int_equal(result.findings[FINDING_UNUSED_CAPTURE], 0);
        assert_pair(store, &pair, cases[i].negative ? 1 + BUILD_MIRRORED : 1, cases[i].negative,
                    CANONICAL_CONFIRMED);
        store_close(store);
        fixture_teardown(NULL);
        fixture_setup(NULL);
    }
}

/* Twins are drawn from one block, one of them mirrored: both cannot have the same sign. Nor can one have two.
 */
static void the_earlier_capture_stays(void **state)
{
    static const char *const captures[] = {
        "{\"resource\":\"e106_bdy_01\",\"row0_x\":-1}\n{\"resource\":\"e106_bdy_02\",\"row0_x\":-1}\n",
        "{\"resource\":\"e106_bdy_01\",\"row0_x\":-1}\n{\"resource\":\"e106_bdy_01\",\"row0_x\":1}\n",
        "{\"resource\":\"e106_bdy_02\",\"row0_x\":1}\n{\"resource\":\"e106_bdy_01\",\"row0_x\":1}\n",
    };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct resolve_result result;
        struct arena arena = {0};
        struct finding_record finding;
        struct store *store = resolved(&pair, captures[i], &result);
        assert_int_equal(result.findings[FINDING_CONTRADICTED], 1);
        assert_pair(store, &pair, 1, false, CANONICAL_CONFIRMED);
        assert_true(build_finding(store, FINDING_CONTRADICTED, "", &finding, &arena));
        assert_non_null(strstr(finding.message, "e106_bdy_0"));
        assert_non_null(strstr(finding.message, "that stays"));
        arena_free(&arena);
        store_close(store);
        fixture_teardown(NULL);
        fixture_setup(NULL);
    }
}

/* No pairs: `container` has none. */
static void assert_no_pair(const struct build_container *container, uint64_t unclear)
{
    struct resolve_result result;
    struct store *store = resolved(container, NULL, &result);
    assert_int_equal(result.twins, 0);
    assert_int_equal(result.findings[FINDING_UNCLEAR_TWINS], unclear);
    assert_int_equal(canonical_of(store, container, 0).basis, CANONICAL_NONE);
    store_close(store);
    fixture_teardown(NULL);
    fixture_setup(NULL);
}

static void what_is_no_pair(void **state)
{
    (void)state;
    /* One vertex is moved, by a thousandth of the extent. */
    assert_no_pair(
        &(struct build_container){
            .path = "near.xpr",
            .resources = {{"a_01", RESOURCE_PROVEN, .candidates = {{1, P}}},
                          {"a_02", RESOURCE_PROVEN, .candidates = {{1 + BUILD_MIRRORED + BUILD_NEARLY, Q}}}}},
        0);
    /* It is its own reflection. */
    assert_no_pair(
        &(struct build_container){
            .path = "symmetric.xpr",
            .resources = {{"b_01", RESOURCE_PROVEN, .candidates = {{BUILD_SYMMETRIC, P}}},
                          {"b_02", RESOURCE_PROVEN, .candidates = {{BUILD_SYMMETRIC + BUILD_MIRRORED, Q}}}}},
        0);
    /* Both have the same block. */
    assert_no_pair(
        &(struct build_container){.path = "shared.xpr",
                                  .resources = {{"c_01", RESOURCE_PROVEN, .candidates = {{1, P}}},
                                                {"c_02", RESOURCE_PROVEN, .candidates = {{1, P}}}}},
        0);
    /* One of them is not decided. */
    assert_no_pair(
        &(struct build_container){
            .path = "open.xpr",
            .resources = {{"d_01", RESOURCE_PROVEN, .candidates = {{1, P}}},
                          {"d_02", RESOURCE_AMBIGUOUS, .candidates = {{1 + BUILD_MIRRORED, Q}, {3, R}}}}},
        0);
    /* Three have the two geometries, and no names that count on. */
    assert_no_pair(
        &(struct build_container){
            .path = "three.xpr",
            .resources = {{"left", RESOURCE_PROVEN, .candidates = {{1, P}}},
                          {"right", RESOURCE_PROVEN, .candidates = {{1 + BUILD_MIRRORED, Q}}},
                          {"other", RESOURCE_PROVEN, .candidates = {{1, P}}}}},
        1);
}

static void names_tell_pairs_apart(void **state)
{
    const struct build_container four = {
        .path = "four.xpr",
        .resources = {{"x_01", RESOURCE_PROVEN, .candidates = {{1, P}}},
                      {"x_02", RESOURCE_PROVEN, .candidates = {{1 + BUILD_MIRRORED, Q}}},
                      {"y_09", RESOURCE_PROVEN, .candidates = {{1, P}}},
                      {"y_10", RESOURCE_PROVEN, .candidates = {{1 + BUILD_MIRRORED, Q}}}}};
    struct resolve_result result;
    (void)state;
    struct store *store = resolved(&four, NULL, &result);
    assert_int_equal(result.twins, 2);
    assert_int_equal(canonical_of(store, &four, 0).twin, 1);
    assert_int_equal(canonical_of(store, &four, 2).twin, 3);
    assert_true(canonical_of(store, &four, 3).mirrored);
    store_close(store);
}

int main(void)
{
#define TWINS_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(rounding_does_not_matter),
        cmocka_unit_test(a_vertex_that_was_moved_matters),
        cmocka_unit_test(how_often_a_point_occurs_matters),
        cmocka_unit_test(what_is_not_finite_matches_nothing),
        cmocka_unit_test(a_crowd_does_not_hang),
        TWINS_TEST(the_negative_side_is_assumed),
        TWINS_TEST(captures_decide),
        TWINS_TEST(the_earlier_capture_stays),
        TWINS_TEST(what_is_no_pair),
        TWINS_TEST(names_tell_pairs_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
