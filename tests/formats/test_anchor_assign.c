/* test_anchor_assign.c - who gets which place: exclusivity, sharing, margins, against trying every
 * possibility. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_assign.h"

static struct anchor_choice at(uint64_t start, uint64_t size, double score, uint32_t content)
{
    return (struct anchor_choice){.start = start, .end = start + size, .score = score, .content = content};
}

static void assign(struct anchor_item *items, size_t count)
{
    struct arena arena = {0};
    assert_true(anchor_assign(items, count, &arena));
    arena_free(&arena);
}

static void near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-9);
}

static void test_alone(void **state)
{
    (void)state;
    struct anchor_choice choices[] = {at(0, 100, 3, 0), at(500, 100, 9, 1), at(900, 100, -5, 2)};
    struct anchor_item items[] = {
        {.count = 3, .choices = choices}, {.count = 0}, {.count = 1, .choices = choices + 2}};
    assign(items, 3);
    assert_int_equal(items[0].chosen, 1);
    near(items[0].margin, 6);
    assert_true(items[0].exact);
    assert_int_equal(items[1].chosen, -1);
    assert_int_equal(items[2].chosen, -1); /* a score below zero is never worth it */
}

static void test_none_is_a_rival(void **state)
{
    (void)state;
    struct anchor_choice choice = at(0, 100, 0.5, 0);
    struct anchor_item item = {.count = 1, .choices = &choice};
    assign(&item, 1);
    assert_int_equal(item.chosen, 0);
    near(item.margin, 0.5);
}

static void test_equal_places_are_no_decision(void **state)
{
    (void)state;
    struct anchor_choice same[] = {at(0, 100, 9, 0), at(500, 100, 9, 0)};
    struct anchor_choice other[] = {at(1000, 100, 9, 0), at(1500, 100, 9, 1)};
    struct anchor_item items[] = {{.count = 2, .choices = same}, {.count = 2, .choices = other}};
    assign(items, 2);
    near(items[0].margin, 9);
    near(items[1].margin, 0);
}

static void test_rivals_swap(void **state)
{
    (void)state;
    /* Two resources, two places, nothing to choose by: the best total is sure, who lies where is not. */
    struct anchor_choice a[] = {at(0, 100, 9, 0), at(500, 100, 9, 1)},
                         b[] = {at(0, 100, 9, 0), at(500, 100, 9, 1)};
    struct anchor_item items[] = {{.count = 2, .choices = a}, {.count = 2, .choices = b}};
    assign(items, 2);
    assert_int_not_equal(items[0].chosen, items[1].chosen);
    near(items[0].margin, 0);
    near(items[1].margin, 0);
    /* One that knows decides for both. */
    a[1].score = 13;
    assign(items, 2);
    assert_int_equal(items[0].chosen, 1);
    assert_int_equal(items[1].chosen, 0);
    near(items[0].margin, 4);                 /* swapped */
    near(items[1].margin, ANCHOR_SHARE_COST); /* both in the one */
}

static void test_sharing(void **state)
{
    (void)state;
    struct anchor_choice a = at(0, 100, 9, 0), b = at(0, 100, 7, 0), c = at(0, 96, 6, 0);
    struct anchor_item items[] = {
        {.count = 1, .choices = &a}, {.count = 1, .choices = &b}, {.count = 1, .choices = &c}};
    assign(items, 2); /* one whole block may have two owners */
    assert_int_equal(items[0].chosen, 0);
    assert_int_equal(items[1].chosen, 0);
    near(items[1].margin, 7 - ANCHOR_SHARE_COST);
    assign(items, 3); /* a part of it may not */
    assert_int_equal(items[2].chosen, -1);
}

static void test_joint_beats_greedy(void **state)
{
    (void)state;
    /* The best single place leaves two others homeless. */
    struct anchor_choice a[] = {at(0, 300, 10, 0), at(1000, 300, 8, 1)};
    struct anchor_choice b = at(0, 100, 7, 0), c = at(200, 100, 7, 0);
    struct anchor_item items[] = {
        {.count = 2, .choices = a}, {.count = 1, .choices = &b}, {.count = 1, .choices = &c}};
    assign(items, 3);
    assert_int_equal(items[0].chosen, 1);
    assert_int_equal(items[1].chosen, 0);
    assert_int_equal(items[2].chosen, 0);
}

static void test_shifted(void **state)
{
    (void)state;
    /* Equal scores four bytes apart: the finer one is the block, whoever it belongs to. */
    struct anchor_choice a[] = {at(0, 100, 9, 0), at(5000, 100, 9, 1)};
    struct anchor_choice b = at(4, 100, 9, 0);
    a[0].sound = a[1].sound = b.sound = true;
    a[0].quality = -6;
    struct anchor_item items[] = {{.count = 2, .choices = a}, {.count = 1, .choices = &b}};
    assign(items, 2);
    assert_int_equal(items[0].chosen, 1);
    near(items[0].margin, 9);
    assert_int_equal(items[1].chosen, 0);
    /* Far apart, how fine it looks is no argument. */
    a[0].quality = 0;
    a[1].quality = -6;
    items[1].count = 0;
    assign(items, 2);
    near(items[0].margin, 0);
}

static void test_shifted_before_strong(void **state)
{
    (void)state;
    /* A place that scores well and is the sole one of its resource is still only another's, cut short. */
    struct anchor_choice real = at(0, 100, 5, 0), part = at(0, 96, 25, 0);
    real.sound = part.sound = true;
    part.quality = -4;
    struct anchor_item items[] = {{.count = 1, .choices = &real}, {.count = 1, .choices = &part}};
    assign(items, 2);
    assert_int_equal(items[0].chosen, 0);
    assert_int_equal(items[1].chosen, -1);
}

/* ---- against all possibilities ---- */

#define ITEMS   5
#define CHOICES 3

static double total_of(const struct anchor_item *items, const int *pick)
{
    double total = 0;
    for (int i = 0; i < ITEMS; i++) {
        if (pick[i] < 0)
            continue;
        const struct anchor_choice *c = &items[i].choices[pick[i]];
        bool shared = false;
        if (c->score <= 0)
            return -INFINITY;
        for (int k = 0; k < i; k++) {
            if (pick[k] < 0)
                continue;
            const struct anchor_choice *o = &items[k].choices[pick[k]];
            if (o->start == c->start && o->end == c->end)
                shared = true;
            else if (o->start < c->end && c->start < o->end)
                return -INFINITY;
        }
        total += c->score - (shared ? ANCHOR_SHARE_COST : 0);
    }
    return total;
}

/* The best total; `not_item` may not have content `content`, or none when that is UINT32_MAX. */
static double best_total(const struct anchor_item *items, int not_item, uint32_t content)
{
    double best = -INFINITY;
    for (int n = 0; n < 1024; n++) {
        int pick[ITEMS];
        for (int i = 0; i < ITEMS; i++)
            pick[i] = (n >> (2 * i) & 3) - 1;
        if (not_item >= 0) {
            int p = pick[not_item];
            if (p < 0 ? content == UINT32_MAX : items[not_item].choices[p].content == content)
                continue;
        }
        double total = total_of(items, pick);
        best = total > best ? total : best;
    }
    return best;
}

static void test_against_all(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 400; round++) {
        struct anchor_choice choices[ITEMS][CHOICES];
        struct anchor_item items[ITEMS];
        for (int i = 0; i < ITEMS; i++) {
            for (int k = 0; k < CHOICES; k++) {
                seed = seed * 1664525u + 1013904223u;
                choices[i][k] =
                    at(seed >> 28, 2 + (seed >> 24 & 3), (double)(seed >> 16 & 127) / 16 - 1, (uint32_t)k);
            }
            items[i] = (struct anchor_item){.count = CHOICES, .choices = choices[i]};
        }
        assign(items, ITEMS);
        int pick[ITEMS];
        for (int i = 0; i < ITEMS; i++) {
            pick[i] = items[i].chosen;
            assert_true(items[i].exact);
        }
        double best = best_total(items, -1, 0);
        assert_true(fabs(total_of(items, pick) - best) < 1e-6);
        for (int i = 0; i < ITEMS; i++) {
            uint32_t content = pick[i] < 0 ? UINT32_MAX : choices[i][pick[i]].content;
            double other = best_total(items, i, content);
            assert_true(isinf(other) ? items[i].margin > 1e9 : fabs(items[i].margin - (best - other)) < 1e-6);
        }
    }
}

static void test_large_components_end(void **state)
{
    (void)state;
    /* Five thousand resources that all want the same sixteen places, each a byte off the next one's. */
    enum { COUNT = 5000 };
    struct anchor_choice *choices = calloc(COUNT * 16, sizeof *choices);
    struct anchor_item *items = calloc(COUNT, sizeof *items);
    for (uint64_t i = 0; i < COUNT; i++) {
        for (uint64_t k = 0; k < 16; k++)
            choices[16 * i + k] = at(1000 * k + i % 7, 900, 9, (uint32_t)k);
        items[i] = (struct anchor_item){.count = 16, .choices = choices + 16 * i};
    }
    assign(items, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(items[i].margin < 1 || items[i].chosen < 0);
    /* A hundred that share one block are sure of it. */
    for (uint64_t i = 0; i < 100; i++) {
        choices[i] = at(1000, 900, 9, 0);
        items[i] = (struct anchor_item){.count = 1, .choices = choices + i};
    }
    assign(items, 100);
    for (size_t i = 0; i < 100; i++)
        assert_true(items[i].chosen == 0 && items[i].margin >= 9 - ANCHOR_SHARE_COST);
    free(choices);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_none_is_a_rival),
        cmocka_unit_test(test_equal_places_are_no_decision),
        cmocka_unit_test(test_rivals_swap),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_joint_beats_greedy),
        cmocka_unit_test(test_shifted),
        cmocka_unit_test(test_shifted_before_strong),
        cmocka_unit_test(test_against_all),
        cmocka_unit_test(test_large_components_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
