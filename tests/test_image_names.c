/* test_image_names.c - names of images: sorted, each once, whatever the order; too many are lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/image_names.h"

static void sorted_and_once(void **state)
{
    struct image_names names = {0};
    (void)state;
    assert_string_equal(image_names_text(&names), "");
    image_names_add(&names, "wood.tga");
    image_names_add(&names, "deck.vtx");
    image_names_add_all(&names, "hull.vtx/wood.tga/");
    assert_string_equal(image_names_text(&names), "deck.vtx/hull.vtx/wood.tga/");
    image_names_add(&names, "wood");
    assert_string_equal(image_names_text(&names), "deck.vtx/hull.vtx/wood/wood.tga/");
    image_names_free(&names);
}

static void repeated_are_no_more(void **state)
{
    struct image_names names = {0};
    (void)state;
    for (uint32_t i = 0; i < 1000000; i++)
        image_names_add(&names, i % 2 ? "a.tga" : "b.tga");
    assert_true(names.text.size <= 5 * IMAGE_NAMES_MOST);
    assert_string_equal(image_names_text(&names), "a.tga/b.tga/");
    image_names_free(&names);
}

static void too_many_are_lost(void **state)
{
    struct image_names names = {0};
    char name[16];
    (void)state;
    for (uint32_t i = 0; i < 100000; i++) { /* of 13 bytes each */
        snprintf(name, sizeof name, "%08u.tga", i);
        image_names_add(&names, name);
    }
    assert_null(image_names_text(&names));
    image_names_add(&names, "one.tga");
    assert_null(image_names_text(&names));
    image_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorted_and_once),
                                       cmocka_unit_test(repeated_are_no_more),
                                       cmocka_unit_test(too_many_are_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
