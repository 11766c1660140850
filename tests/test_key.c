/* test_key.c - hashes: the values of XXH3 itself, pieces against the whole, hex. */
#include "store/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The published value for no bytes and seed 0: what another implementation of XXH3 gives. */
static void known_value(void **state)
{
    char text[HASH_HEX];
    struct hash hash = hash_bytes("", 0);
    (void)state;
    hash_format(&hash, text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    assert_true(hash_checksum(NULL, 0, NULL, 0) == UINT64_C(0x2D06800538D394C2));
}

static void pieces_give_the_whole(void **state)
{
    uint8_t bytes[5000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 131 >> 3);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 97) {
        struct hash_stream *stream = hash_stream_new();
        assert_non_null(stream);
        hash_stream_add(stream, bytes, cut);
        hash_stream_add(stream, bytes + cut, sizeof bytes - cut);
        struct hash whole = hash_bytes(bytes, sizeof bytes), pieces = hash_stream_finish(stream);
        assert_true(hash_equal(&whole, &pieces));
    }
    hash_stream_free(hash_stream_new());
    hash_stream_free(NULL);
}

/* Short inputs are joined on the stack, long ones streamed: the limit must not show. */
static void checksum_is_of_key_and_payload(void **state)
{
    uint8_t bytes[3000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    for (size_t size = 1000; size < 1050; size++) {
        uint64_t joined = hash_checksum(NULL, 0, bytes, size);
        assert_true(hash_checksum(bytes, 20, bytes + 20, size - 20) == joined);
        assert_true(hash_checksum(bytes, size, NULL, 0) == joined);
    }
    assert_true(hash_checksum(bytes, 16, bytes, 100) != hash_checksum(bytes + 1, 16, bytes, 100));
}

static void hex_is_strict(void **state)
{
    static const char *const wrong[] = {
        "",
        "0123456789abcdef0123456789abcde",   /* a digit short */
        "0123456789abcdef0123456789abcdef0", /* a digit long */
        "0123456789abcdef0123456789abcdeg",
        "0x23456789abcdef0123456789abcdef",
        " 123456789abcdef0123456789abcdef",
    };
    char text[HASH_HEX];
    struct hash hash = {{0}};
    (void)state;
    assert_true(hash_is_zero(&hash));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(hash_parse(wrong[i], &hash));
    assert_true(hash_is_zero(&hash));
    assert_true(hash_parse("0123456789abcdef0123456789ABCDEF", &hash));
    assert_int_equal(hash.bytes[0], 0x01);
    assert_int_equal(hash.bytes[15], 0xef);
    hash_format(&hash, text);
    assert_string_equal(text, "0123456789abcdef0123456789abcdef");
    assert_false(hash_is_zero(&hash));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_value),
        cmocka_unit_test(pieces_give_the_whole),
        cmocka_unit_test(checksum_is_of_key_and_payload),
        cmocka_unit_test(hex_is_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
