/* test_xpr2.c - the container: directory, bases, names, and what one broken entry leaves of the others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/xpr2_build.h"

static const uint32_t usual[][3] = {{0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};

/* A directory of two meshes, a texture and a stray tag, with 64 KiB of 0xFF as data. */
struct fixture {
    struct arena arena;
    struct xpr2_build build;
    struct buffer mesh, texture, data, bytes;
};

static int start(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    xbg7_build_marker(&f->mesh, 100, 300, 3, usual);
    for (int i = 0; i < 7; i++)
        be32(&f->texture, 0);
    be32(&f->texture, 2 | 8u << 22 | 1u << 31); /* 256 x 128 DXT1 at 0x1000 */
    be32(&f->texture, 18 | 0x1000);
    be32(&f->texture, 255 | 127 << 13);
    be32(&f->texture, 0);
    be32(&f->texture, 0);
    be32(&f->texture, 1 << 9);
    memset(buffer_extend(&f->data, 65536), 0xFF, 65536);
    f->build.data = f->data.data;
    f->build.data_size = 65536;
    xpr2_build_add(&f->build, "XBG7", "rou_f001_wep_00", &f->mesh);
    xpr2_build_add(&f->build, "TX2D", "rou_f001_wep_00_col", &f->texture);
    xpr2_build_add(&f->build, "TXCM", "sky", &f->texture);
    xpr2_build_add(&f->build, "XBG7", "e003", &f->mesh);
    *state = f;
    return 0;
}

static int finish(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    buffer_free(&f->mesh);
    buffer_free(&f->texture);
    buffer_free(&f->data);
    buffer_free(&f->bytes);
    free(f);
    return 0;
}

static struct container decode(struct fixture *f)
{
    return xpr2_build_decode(&f->bytes, &f->arena);
}

static void build(struct fixture *f)
{
    buffer_free(&f->bytes);
    f->bytes = xpr2_build_finish(&f->build);
}

/* Where word `word` of entry `index` lies. */
static size_t entry_word(uint32_t index, uint32_t word)
{
    return 16 + 16 * (size_t)index + 4 * (size_t)word;
}

static void test_sound(void **state)
{
    struct fixture *f = *state;
    build(f);
    struct container c = decode(f);
    assert_int_equal(c.status, CONTAINER_READ);
    assert_int_equal(c.reason, CONTAINER_REASON_NONE);
    assert_int_equal(c.flags, 0);
    assert_int_equal(c.data_offset, f->bytes.size - 65536);
    assert_int_equal(c.data_size, 65536);
    assert_int_equal(c.resource_count, 2);
    assert_string_equal(c.resources[0].name, "rou_f001_wep_00");
    assert_string_equal(c.resources[1].name, "e003");
    assert_int_equal(c.resources[1].index, 3);
    assert_int_equal(c.resources[1].format, FORMAT_XBG7);
    assert_int_equal(c.resources[1].marker_count, 1);
    /* 0xFF everywhere: no index of a buffer of 100 vertices. */
    assert_int_equal(c.resources[1].status, RESOURCE_DECLINED);
    assert_int_equal(c.resources[1].reason, DECLINE_NO_CANDIDATE);
    assert_int_equal(c.resources[1].vertices, 100);
    assert_int_equal(c.resources[1].triangles, 100);
    assert_int_equal(c.texture_count, 1);
    assert_int_equal(c.textures[0].index, 1);
    assert_string_equal(c.textures[0].name, "rou_f001_wep_00_col");
    assert_true(c.textures[0].valid);
    assert_int_equal(c.textures[0].base_offset, c.data_offset + 0x1000);
    assert_int_equal(c.tag_count_count, 1);
    assert_string_equal(c.tag_counts[0].tag, "TXCM");
    assert_int_equal(c.tag_counts[0].count, 1);
}

static void test_legacy_base(void **state)
{
    struct fixture *f = *state;
    f->build.legacy = true;
    build(f);
    struct container c = decode(f);
    assert_int_equal(c.flags, FLAG_BIT(FLAG_LEGACY_BASE));
    assert_int_equal(c.status, CONTAINER_READ);
    assert_int_equal(c.data_offset, f->bytes.size - 65536);
    assert_string_equal(c.resources[0].name, "rou_f001_wep_00");
    assert_int_equal(c.resources[0].reason, DECLINE_NO_CANDIDATE);
    /* One short name says nothing; then the sizes decide. */
    f->build.count = 1;
    f->build.entries[0].name = "abc";
    build(f);
    f->bytes.data[0x20 + 3] = 0; /* the NULs in front stay NULs */
    c = decode(f);
    assert_int_equal(c.flags, FLAG_BIT(FLAG_LEGACY_BASE));
    /* Some bytes behind the data section change nothing for names that speak. */
    f->build.legacy = false;
    f->build.entries[0].name = "rou_f001_wep_00";
    build(f);
    f->bytes.size -= 4;
    c = decode(f);
    assert_int_equal(c.flags, 0);
    assert_int_equal(c.reason, CONTAINER_TRUNCATED);
}

/* Every word of one entry that can leave the file does, and the other entries are as before. */
static void test_entry_isolated(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t word, value;
        enum decline_reason reason;
    } cases[] = {
        {1, 0xFFFFFFF0, DECLINE_BAD_DIRECTORY}, /* the descriptor begins past the file */
        {2, 0x7FFFFFFF, DECLINE_BAD_DIRECTORY}, /* and ends past it */
        {3, 0xFFFFFFFF, DECLINE_BAD_DIRECTORY}, /* the name begins past it */
        {2, 0, DECLINE_BAD_DESCRIPTOR},         /* an empty descriptor */
        {1, 0x10, DECLINE_BAD_DESCRIPTOR},      /* one inside the directory */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        build(f);
        be32_at(&f->bytes, entry_word(0, cases[i].word), cases[i].value);
        struct container c = decode(f);
        assert_int_equal(c.resource_count, 2);
        assert_int_equal(c.resources[0].status, RESOURCE_DECLINED);
        assert_int_equal(c.resources[0].reason, cases[i].reason);
        bool directory = cases[i].reason == DECLINE_BAD_DIRECTORY;
        assert_int_equal(c.status, directory ? CONTAINER_DAMAGED : CONTAINER_READ);
        assert_int_equal(c.reason, directory ? CONTAINER_BAD_DIRECTORY : CONTAINER_REASON_NONE);
        if (cases[i].word != 2 || cases[i].value)
            assert_int_equal(c.resources[0].error.offset, cases[i].word == 2
                                                              ? c.resources[0].error.offset
                                                              : 0xCu + (uint64_t)cases[i].value);
        assert_int_equal(c.resources[1].reason, DECLINE_NO_CANDIDATE);
        assert_string_equal(c.resources[1].name, "e003");
        assert_true(c.textures[0].valid);
    }
    /* The same in the texture's entry. */
    build(f);
    be32_at(&f->bytes, entry_word(1, 1), 0xFFFFFFF0);
    struct container c = decode(f);
    assert_false(c.textures[0].valid);
    assert_int_equal(c.textures[0].error.code, ERROR_RANGE);
    assert_int_equal(c.reason, CONTAINER_BAD_DIRECTORY);
    assert_int_equal(c.resources[0].reason, DECLINE_NO_CANDIDATE);
}

static void test_unterminated_name(void **state)
{
    struct fixture *f = *state;
    build(f);
    /* A name that begins in the data of 0xFF ends nowhere. */
    uint32_t offset = (uint32_t)f->bytes.size - 5000 - 0xC;
    be32_at(&f->bytes, entry_word(3, 3), offset);
    struct container c = decode(f);
    assert_null(c.resources[1].name);
    assert_int_equal(c.resources[1].reason, DECLINE_BAD_DIRECTORY);
    assert_int_equal(c.resources[1].error.offset, offset + 0xCu);
    assert_string_equal(c.resources[0].name, "rou_f001_wep_00");
}

static void test_count_past_file(void **state)
{
    struct fixture *f = *state;
    build(f);
    be32_at(&f->bytes, 12, 0xFFFFFFFF);
    struct container c = decode(f);
    assert_int_equal(c.status, CONTAINER_DAMAGED);
    assert_int_equal(c.reason, CONTAINER_BAD_DIRECTORY);
    assert_int_equal(c.error.offset, 0xC);
    assert_int_equal(c.resource_count, 2);
    assert_string_equal(c.resources[1].name, "e003");
    /* What the entries point at is where they end: it is neither part of the directory, which would make
     * every descriptor a bad one, nor read as entries under tags that are none. */
    assert_int_equal(c.resources[0].reason, DECLINE_NO_CANDIDATE);
    assert_int_equal(c.resources[1].reason, DECLINE_NO_CANDIDATE);
    assert_true(c.textures[0].valid);
    assert_int_equal(c.tag_count_count, 1);
    /* A header size that ends inside the directory does not hide entries that are there. */
    build(f);
    be32_at(&f->bytes, 4, 0x14);
    c = decode(f);
    assert_int_equal(c.resource_count, 2);
}

static void test_truncated(void **state)
{
    struct fixture *f = *state;
    build(f);
    size_t whole = f->bytes.size;
    /* In the data section: everything of the directory is there. */
    f->bytes.size = whole - 5000;
    struct container c = decode(f);
    assert_int_equal(c.status, CONTAINER_DAMAGED);
    assert_int_equal(c.reason, CONTAINER_TRUNCATED);
    assert_int_equal(c.error.offset, whole - 5000);
    assert_int_equal(c.data_size, 65536 - 5000);
    assert_int_equal(c.resource_count, 2);
    assert_true(c.textures[0].valid);
    assert_false(c.textures[0].contested);
    /* At every byte of the header: nothing crashes, nothing is invented. */
    for (size_t size = 4; size < whole - 65536; size++) {
        f->bytes.size = size;
        c = decode(f);
        assert_int_equal(c.status, CONTAINER_DAMAGED);
        assert_int_equal(c.reason, CONTAINER_TRUNCATED);
        assert_int_equal(c.resource_count, size >= 32 ? size >= 80 ? 2 : 1 : 0);
        for (uint32_t i = 0; i < c.resource_count; i++)
            assert_int_equal(c.resources[i].status, RESOURCE_DECLINED);
        arena_reset(&f->arena);
    }
    /* The cut runs through the second mesh's descriptor: the first is read, the second is cut off. */
    uint32_t descriptor;
    f->bytes.size = whole;
    memcpy(&descriptor, f->bytes.data + entry_word(3, 1), 4);
    f->bytes.size = __builtin_bswap32(descriptor) + 0xC + 10;
    c = decode(f);
    assert_int_equal(c.resources[0].marker_count, 1);
    assert_int_equal(c.resources[1].reason, DECLINE_TRUNCATED);
    assert_string_equal(c.resources[1].name, "e003");
}

static void test_textures_contested(void **state)
{
    struct fixture *f = *state;
    struct buffer second = {0};
    buffer_append(&second, f->texture.data, f->texture.size);
    be32_at(&second, 32, 18 | 0x2000); /* one page into the first */
    xpr2_build_add(&f->build, "TX2D", "other_col", &second);
    build(f);
    struct container c = decode(f);
    assert_int_equal(c.flags, FLAG_BIT(FLAG_TEXTURE_OVERLAP));
    assert_true(c.textures[0].contested && c.textures[1].contested);
    be32_at(&second, 32, 18 | 0xF000); /* three pages past the section's end */
    build(f);
    c = decode(f);
    assert_int_equal(c.flags, FLAG_BIT(FLAG_TEXTURE_OUT_OF_DATA));
    assert_false(c.textures[0].contested);
    assert_true(c.textures[1].contested);
    /* Truncation is no contradiction. */
    be32_at(&second, 32, 18 | 0xC000);
    build(f);
    f->bytes.size -= 4096;
    c = decode(f);
    assert_int_equal(c.flags, 0);
    assert_false(c.textures[1].contested);
    buffer_free(&second);
}

static void test_tags(void **state)
{
    struct fixture *f = *state;
    xpr2_build_add(&f->build, "USER", "u", &f->texture);
    xpr2_build_add(&f->build, "TXCM", "t", &f->texture);
    xpr2_build_add(&f->build, "ab\1\2", "x", &f->texture); /* no tag at all */
    build(f);
    struct container c = decode(f);
    assert_int_equal(c.tag_count_count, 3);
    assert_string_equal(c.tag_counts[0].tag, "?");
    assert_string_equal(c.tag_counts[1].tag, "TXCM");
    assert_int_equal(c.tag_counts[1].count, 2);
    assert_string_equal(c.tag_counts[2].tag, "USER");
    assert_int_equal(c.reason, CONTAINER_BAD_DIRECTORY);
    assert_int_equal(c.error.offset, entry_word(6, 0));
}

static void test_shared_descriptors(void **state)
{
    struct fixture *f = *state;
    /* A hundred entries over one megabyte: the work stops, the entries do not. */
    struct buffer big = {0};
    memset(buffer_extend(&big, 1 << 20), 0, 1 << 20);
    struct xpr2_build_entry first = {"XBG7", "big", big.data, (uint32_t)big.size};
    f->build.count = 100;
    for (int i = 0; i < 100; i++) {
        f->build.entries[i] = first;
        f->build.entries[i].size = i ? 0 : first.size;
    }
    build(f);
    uint32_t descriptor;
    memcpy(&descriptor, f->bytes.data + entry_word(0, 1), 4);
    for (uint32_t i = 1; i < 100; i++) {
        memcpy(f->bytes.data + entry_word(i, 1), &descriptor, 4);
        be32_at(&f->bytes, entry_word(i, 2), first.size);
    }
    struct container c = decode(f);
    assert_int_equal(c.resource_count, 100);
    assert_int_equal(c.resources[0].reason, DECLINE_NO_MARKER);
    assert_int_equal(c.resources[99].reason, DECLINE_OVER_LIMIT);
    assert_int_equal(c.reason, CONTAINER_OVER_LIMIT);
    buffer_free(&big);
}

/* Entries of one descriptor read the same, each under its own name; one of another size is read by itself. */
static void test_equal_descriptors(void **state)
{
    struct fixture *f = *state;
    build(f);
    uint32_t first;
    memcpy(&first, f->bytes.data + entry_word(0, 1), 4);
    memcpy(f->bytes.data + entry_word(3, 1), &first, 4);
    struct container c = decode(f);
    assert_int_equal(c.resource_count, 2);
    assert_string_equal(c.resources[0].name, "rou_f001_wep_00");
    assert_string_equal(c.resources[1].name, "e003");
    assert_int_equal(c.resources[0].index, 0);
    assert_int_equal(c.resources[1].index, 3);
    assert_int_equal(c.resources[1].marker_count, 1);
    assert_int_equal(c.resources[1].vertices, 100);
    assert_int_equal(c.resources[1].reason, DECLINE_NO_CANDIDATE);
    be32_at(&f->bytes, entry_word(3, 2), 40); /* cut off in front of its marker */
    c = decode(f);
    assert_int_equal(c.resources[0].reason, DECLINE_NO_CANDIDATE);
    assert_int_equal(c.resources[1].reason, DECLINE_NO_MARKER);
}

static void test_directory_only(void **state)
{
    struct fixture *f = *state;
    /* Magic and nothing. */
    buffer_append(&f->bytes, "XPR2", 4);
    struct container c = decode(f);
    assert_int_equal(c.reason, CONTAINER_TRUNCATED);
    assert_int_equal(c.resource_count, 0);
    /* All sizes zero: an empty container, nothing wrong. */
    buffer_append(&f->bytes, (char[12]){0}, 12);
    c = decode(f);
    assert_int_equal(c.status, CONTAINER_READ);
    assert_int_equal(c.data_size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sound, start, finish),
        cmocka_unit_test_setup_teardown(test_legacy_base, start, finish),
        cmocka_unit_test_setup_teardown(test_entry_isolated, start, finish),
        cmocka_unit_test_setup_teardown(test_unterminated_name, start, finish),
        cmocka_unit_test_setup_teardown(test_count_past_file, start, finish),
        cmocka_unit_test_setup_teardown(test_truncated, start, finish),
        cmocka_unit_test_setup_teardown(test_textures_contested, start, finish),
        cmocka_unit_test_setup_teardown(test_tags, start, finish),
        cmocka_unit_test_setup_teardown(test_shared_descriptors, start, finish),
        cmocka_unit_test_setup_teardown(test_equal_descriptors, start, finish),
        cmocka_unit_test_setup_teardown(test_directory_only, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
