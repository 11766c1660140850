/* test_arena.c - memory of an arena is zeroed and aligned, whatever lay there before. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "formats/arena.h"

static void check_zeroed(struct arena *arena, size_t size)
{
    unsigned char *object = arena_alloc(arena, size);
    assert_non_null(object);
    assert_int_equal((uintptr_t)object % 16, 0);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(object[i], 0);
    memset(object, 0xAA, size);
}

static void objects_are_zeroed(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 300; size += 7)
            check_zeroed(&arena, size);
        check_zeroed(&arena, 100000);
        arena_reset(&arena);
    }
    arena_free(&arena);
    assert_int_equal(arena.bytes, 0);
}

/* A raw array may leave room in a block that was never cleared; what follows it there must be. */
static void objects_behind_raw_arrays_are_zeroed(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (size_t count = 1; count < 200; count += 13) {
        uint16_t *raw = arena_array_raw(&arena, count, sizeof *raw);
        assert_non_null(raw);
        assert_int_equal((uintptr_t)raw % 16, 0);
        memset(raw, 0xBB, count * sizeof *raw);
        check_zeroed(&arena, 40);
    }
    arena_reset(&arena);
    check_zeroed(&arena, 4000);
    arena_free(&arena);
}

/* Large objects, and all of a large arena, lie in huge pages of their own. */
static void large_objects_are_zeroed(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (int round = 0; round < 2; round++) {
        check_zeroed(&arena, ((size_t)3 << 20) + 5);
        check_zeroed(&arena, 40);
        memset(arena_array_raw(&arena, 300000, 2), 0xBB, 600000);
        for (size_t size = 1000; size < 1200000; size += 9973)
            check_zeroed(&arena, size);
        arena_reset(&arena);
    }
    check_zeroed(&arena, 100);
    arena_free(&arena);
    assert_int_equal(arena.bytes, 0);
}

/* A reset keeps large blocks, up to a bound, and what is in them does not show. */
static void large_blocks_are_used_again(void **state)
{
    (void)state;
    struct arena arena = {0};
    const size_t size = (size_t)3 << 20;
    void *first = arena_array_raw(&arena, size, 1);
    assert_non_null(first);
    memset(first, 0xBB, size);
    arena_reset(&arena);
    assert_int_equal(arena.bytes, 0);
    assert_non_null(arena.spare);
    assert_ptr_equal(arena_array_raw(&arena, size, 1), first);
    assert_null(arena.spare);
    arena_reset(&arena);
    check_zeroed(&arena, size);
    for (int i = 0; i < 9; i++) /* 4 MiB each */
        assert_non_null(arena_array_raw(&arena, size, 1));
    arena_reset(&arena);
    for (int kept = 0; kept < 4; kept++) {
        assert_non_null(arena.spare);
        assert_non_null(arena_array_raw(&arena, size, 1));
    }
    assert_null(arena.spare);
    arena_free(&arena);
    assert_int_equal(arena.bytes, 0);
}

/* Of several spare blocks the smallest that is large enough is taken. */
static void small_spare_blocks_go_first(void **state)
{
    (void)state;
    struct arena arena = {0};
    void *small = arena_array_raw(&arena, (size_t)3 << 20, 1);
    void *large = arena_array_raw(&arena, (size_t)7 << 20, 1);
    assert_true(small && large);
    arena_reset(&arena);
    assert_ptr_equal(arena_array_raw(&arena, (size_t)3 << 20, 1), small);
    assert_ptr_equal(arena_array_raw(&arena, (size_t)5 << 20, 1), large);
    arena_free(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_array(&arena, SIZE_MAX / 4, 8));
    assert_null(arena_array_raw(&arena, SIZE_MAX / 4, 8));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_zeroed),          cmocka_unit_test(objects_behind_raw_arrays_are_zeroed),
        cmocka_unit_test(large_objects_are_zeroed),    cmocka_unit_test(large_blocks_are_used_again),
        cmocka_unit_test(small_spare_blocks_go_first), cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
