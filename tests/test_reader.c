/* test_reader.c - reader, error, arena, buffer: the bottom of everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "formats/arena.h"
#include "formats/buffer.h"
#include "formats/reader.h"

static void test_reads_both_byte_orders(void **state)
{
    static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x80,
                                    0xBF, 0xC0, 0x00, 0x00, 0x00, 0xFE};
    struct error err = {0};
    struct reader r = reader_make(bytes, sizeof bytes, 0x100, "header", &err);
    (void)state;
    assert_int_equal(reader_u16le(&r, "a"), 0x0201);
    assert_int_equal(reader_u16be(&r, "b"), 0x0304);
    assert_true(reader_f32le(&r, "c") == -1.0f);
    assert_true(reader_f32be(&r, "d") == -2.0f);
    assert_int_equal(reader_offset(&r), 0x100 + 12);
    assert_int_equal(reader_i8(&r, "e"), -2);
    assert_true(reader_ok(&r));
    assert_int_equal(reader_left(&r), 0);
}

/* The first failure names field, context and absolute offset; what follows reads zero and changes nothing. */
static void test_error_sticks(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3};
    struct error err = {0};
    struct reader r = reader_make(bytes, sizeof bytes, 0x40, "entry 3", &err);
    (void)state;
    assert_int_equal(reader_u8(&r, "kind"), 1);
    assert_int_equal(reader_u32le(&r, "count"), 0);
    assert_int_equal(err.code, ERROR_TRUNCATED);
    assert_int_equal(err.offset, 0x41);
    assert_non_null(strstr(err.msg, "entry 3"));
    assert_non_null(strstr(err.msg, "count"));
    assert_int_equal(reader_u8(&r, "next"), 0);
    assert_int_equal(r.pos, 1);
    assert_int_equal(reader_left(&r), 0);
    reader_seek(&r, 99);
    assert_int_equal(err.offset, 0x41);
}

static void test_sub_reader_cannot_leave(void **state)
{
    static const uint8_t bytes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct error err = {0};
    struct reader r = reader_make(bytes, sizeof bytes, 0, NULL, &err);
    (void)state;
    reader_skip(&r, 2);
    struct reader sub = reader_sub(&r, 3, "chunk");
    assert_int_equal(reader_u8(&sub, "x"), 2);
    assert_int_equal(reader_offset(&sub), 3);
    assert_int_equal(reader_u8(&r, "behind"), 5);
    assert_int_equal(reader_u32le(&sub, "y"), 0); /* 2 of 4 bytes are its own */
    assert_int_equal(err.code, ERROR_TRUNCATED);
    assert_false(reader_ok(&r)); /* a failure anywhere stops both */
}

static void test_overflowing_array(void **state)
{
    static const uint8_t bytes[16];
    struct error err = {0};
    struct reader r = reader_make(bytes, sizeof bytes, 0, NULL, &err);
    (void)state;
    assert_null(reader_array(&r, SIZE_MAX / 4, 12, "vertices"));
    assert_int_equal(err.code, ERROR_TRUNCATED);
}

static void test_strings_end(void **state)
{
    static const uint8_t bytes[] = {'a', 'b', 0, 'c', 'd'};
    struct error err = {0};
    struct reader r = reader_make(bytes, sizeof bytes, 0, NULL, &err);
    size_t length;
    (void)state;
    assert_string_equal(reader_string(&r, 64, &length, "name"), "ab");
    assert_int_equal(length, 2);
    assert_null(reader_string(&r, 64, &length, "name")); /* no NUL before the end */
    assert_int_equal(err.code, ERROR_TRUNCATED);
}

static void test_error_prefix_and_first_wins(void **state)
{
    struct error err = {0};
    (void)state;
    error_prefix(&err, "nothing to prefix");
    assert_int_equal(err.code, ERROR_NONE);
    assert_false(error_set(&err, ERROR_RANGE, 7, "index %d", 9));
    error_set(&err, ERROR_IO, 8, "later");
    error_prefix(&err, "submesh %d", 3);
    assert_string_equal(err.msg, "submesh 3: index 9");
    assert_int_equal(err.offset, 7);
    assert_false(error_is_fatal(&err));
}

static void test_arena_zeroes_after_reset(void **state)
{
    struct arena arena = {0};
    (void)state;
    for (int round = 0; round < 3; round++) {
        uint8_t *a = arena_alloc(&arena, 100), *b = arena_array(&arena, 10, 10);
        assert_int_equal((uintptr_t)a % 16, 0);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(a[i], 0);
            assert_int_equal(b[i], 0);
        }
        memset(a, 0xFF, 100);
        memset(b, 0xFF, 100);
        arena_reset(&arena);
    }
    assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
    assert_string_equal(arena_copy(&arena, "xyz", 2), "xy");
    assert_non_null(arena_alloc(&arena, 5 << 20));
    arena_free(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void test_buffer_grows(void **state)
{
    struct buffer buffer = {0};
    (void)state;
    for (int i = 0; i < 10000; i++)
        buffer_append(&buffer, &(uint8_t){(uint8_t)i}, 1);
    assert_int_equal(buffer.size, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buffer.data[i], (uint8_t)i);
    assert_null(buffer_extend(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    buffer_free(&buffer);
    assert_int_equal(buffer.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_both_byte_orders),
        cmocka_unit_test(test_error_sticks),
        cmocka_unit_test(test_sub_reader_cannot_leave),
        cmocka_unit_test(test_overflowing_array),
        cmocka_unit_test(test_strings_end),
        cmocka_unit_test(test_error_prefix_and_first_wins),
        cmocka_unit_test(test_arena_zeroes_after_reset),
        cmocka_unit_test(test_buffer_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
