/* test_tx2d.c - texture headers: extents, what is refused, what contradicts itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tx2d.h"
#include "tests/support/xpr2_build.h"

/* The words of a sound header: 64 x 32 DXT1, tiled, at 0x1000, levels up to `mip_max`, mips at 0x3000. */
struct words {
    uint32_t d0, d1, d2, d3, d4, d5;
};

static struct words words(uint32_t format, uint32_t width, uint32_t height, uint32_t base, uint32_t mips,
                          uint32_t mip_max, bool packed)
{
    return (struct words){.d0 = 2 | (width + 31) / 32 << 22 | 1u << 31,
                          .d1 = format | base,
                          .d2 = (width - 1) | (height - 1) << 13,
                          .d4 = mip_max << 6,
                          .d5 = 1 << 9 | (packed ? 1u << 11 : 0) | mips};
}

static struct buffer header(const struct words *w, bool old)
{
    struct buffer out = {0};
    for (int i = 0; i < (old ? 4 : 7); i++)
        be32(&out, i == 0 ? 3 : 0);
    be32(&out, w->d0);
    be32(&out, w->d1);
    be32(&out, w->d2);
    be32(&out, w->d3);
    be32(&out, w->d4);
    be32(&out, w->d5);
    return out;
}

static struct texture parse_bytes(struct buffer *bytes)
{
    static struct texture texture;
    memset(&texture, 0, sizeof texture);
    uint8_t *exact = malloc(bytes->size ? bytes->size : 1);
    memcpy(exact, bytes->data, bytes->size);
    struct reader r = reader_make(exact, bytes->size, 0x500, "texture", &texture.error);
    tx2d_parse(&r, 0x10000, &texture);
    free(exact);
    buffer_free(bytes);
    return texture;
}

static struct texture parse(struct words w, bool old)
{
    struct buffer bytes = header(&w, old);
    return parse_bytes(&bytes);
}

static void test_extent_of_one_level(void **state)
{
    (void)state;
    /* 256 x 128 DXT1: 64 x 32 blocks of 8 bytes. */
    struct texture t = parse(words(18, 256, 128, 0x3000, 0, 0, false), false);
    assert_true(t.valid);
    assert_false(t.contested);
    assert_int_equal(t.width, 256);
    assert_int_equal(t.height, 128);
    assert_int_equal(t.base_offset, 0x13000);
    assert_int_equal(t.base_size, 64 * 32 * 8);
    assert_int_equal(t.mip_size, 0);
    assert_int_equal(t.mip_offset, 0);
}

static void test_block_sizes(void **state)
{
    (void)state;
    static const struct {
        uint32_t format, bytes; /* of 128 x 128 pixels */
    } cases[] = {{2, 128 * 128},    {3, 128 * 128 * 2}, {4, 128 * 128 * 2}, {6, 128 * 128 * 4},
                 {18, 32 * 32 * 8}, {19, 32 * 32 * 16}, {20, 32 * 32 * 16}, {49, 32 * 32 * 16},
                 {59, 32 * 32 * 8}, {60, 32 * 32 * 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct texture t = parse(words(cases[i].format, 128, 128, 0, 0, 0, false), false);
        assert_true(t.valid);
        assert_int_equal(t.base_size, cases[i].bytes);
    }
}

static void test_small_texture_takes_a_tile(void **state)
{
    (void)state;
    /* 8 x 8 at 4 bytes: one 32 x 32 tile; a page at least. */
    assert_int_equal(parse(words(6, 8, 8, 0, 0, 0, false), false).base_size, 4096);
    assert_int_equal(parse(words(2, 8, 8, 0, 0, 0, false), false).base_size, 4096);
}

static void test_mip_chain(void **state)
{
    (void)state;
    /* 512 x 512 DXT3, packed, as the real header: levels 1..5, the last with the tail. */
    struct texture t = parse(words(19, 512, 512, 0, 0x40000, 9, true), false);
    assert_int_equal(t.base_size, 0x40000);
    assert_int_equal(t.mip_offset, 0x50000);
    assert_int_equal(t.mip_size, 0x20000);
    /* Not packed: levels 6..9 have a tile each. */
    t = parse(words(19, 512, 512, 0, 0x40000, 9, false), false);
    assert_int_equal(t.mip_size, 0x20000 + 4 * 0x4000);
    /* 300 x 200: level 1 counts from 512 x 256. 256 x 128 pixels = 64 x 32 blocks of 16. */
    t = parse(words(19, 300, 200, 0, 0x40000, 1, false), false);
    assert_int_equal(t.mip_size, 64 * 32 * 16);
    /* Levels past 1 x 1 do not exist, whatever mip_max says. */
    t = parse(words(6, 32, 32, 0, 0x40000, 15, false), false);
    assert_int_equal(t.mip_size, 5 * 4096);
    /* 16 x 16 packed: the first level holds them all. */
    t = parse(words(6, 16, 16, 0, 0x40000, 4, true), false);
    assert_int_equal(t.mip_size, 0);
}

static void test_pitch_and_linear_rows(void **state)
{
    (void)state;
    struct words w = words(2, 64, 64, 0, 0, 0, false);
    w.d0 = 2 | 4u << 22 | 1u << 31; /* pitch 128 */
    assert_int_equal(parse(w, false).base_size, 128 * 64);
    w.d0 = 2 | 2u << 22; /* linear: 64-byte rows become 256 */
    struct texture t = parse(w, false);
    assert_false(t.tiled);
    assert_int_equal(t.base_size, 256 * 64);
    w.d0 = 2 | 1u << 22 | 1u << 31; /* a pitch of 32 under a width of 64 contradicts itself */
    assert_true(parse(w, false).contested);
}

static void test_older_header(void **state)
{
    (void)state;
    struct texture t = parse(words(18, 256, 128, 0x3000, 0, 0, false), true);
    assert_true(t.valid);
    assert_int_equal(t.base_offset, 0x13000);
    assert_int_equal(t.base_size, 64 * 32 * 8);
}

static void test_refused(void **state)
{
    (void)state;
    /* A constant that is no texture's. */
    struct words w = words(18, 64, 64, 0, 0, 0, false);
    w.d0 = (w.d0 & ~3u) | 3;
    struct texture t = parse(w, false);
    assert_false(t.valid);
    assert_int_equal(t.error.code, ERROR_MALFORMED);
    assert_int_equal(t.error.offset, 0x500 + 28);
    /* The same in an older header. */
    t = parse(w, true);
    assert_false(t.valid);
    assert_int_equal(t.error.offset, 0x500 + 16);
    /* A pixel format whose blocks are not known. */
    t = parse(words(63, 64, 64, 0, 0, 0, false), false);
    assert_false(t.valid);
    assert_int_equal(t.error.code, ERROR_UNSUPPORTED);
    /* 3D: its words mean something else. */
    w = words(18, 64, 64, 0, 0, 0, false);
    w.d5 = 2 << 9;
    assert_false(parse(w, false).valid);
    /* 39 bytes: one less than the shorter header. */
    w = words(18, 64, 64, 0, 0, 0, false);
    struct buffer bytes = header(&w, true);
    bytes.size--;
    t = parse_bytes(&bytes);
    assert_false(t.valid);
    assert_int_equal(t.error.code, ERROR_MALFORMED);
    assert_int_equal(t.error.offset, 0x500);
}

static void test_cube_has_six_faces_and_no_wall(void **state)
{
    (void)state;
    struct words w = words(18, 128, 128, 0, 0, 0, false);
    w.d5 |= 3 << 9;
    struct texture t = parse(w, false);
    assert_true(t.valid);
    assert_true(t.contested);
    assert_int_equal(t.base_size, 6 * 32 * 32 * 8);
}

/* Three textures by their extents alone. */
static struct texture extent(uint64_t base, uint64_t size, uint64_t mips, uint64_t mip_size)
{
    return (struct texture){
        .valid = true, .base_offset = base, .base_size = size, .mip_offset = mips, .mip_size = mip_size};
}

static uint32_t contest(struct texture *t, size_t count)
{
    struct arena arena = {0};
    uint32_t flags = 0;
    assert_true(tx2d_contest(t, count, 1000, 10000, &arena, &flags));
    arena_free(&arena);
    return flags;
}

static void test_contested(void **state)
{
    (void)state;
    /* Abutting, equal, and far: nothing to object to. */
    struct texture sound[] = {extent(1000, 500, 1500, 100), extent(1600, 400, 0, 0), extent(1600, 400, 0, 0)};
    assert_int_equal(contest(sound, 3), 0);
    for (int i = 0; i < 3; i++)
        assert_false(sound[i].contested);
    /* One byte in common; the third, equal to the second, is contested with it; the fourth is not. */
    struct texture overlap[] = {extent(1000, 501, 0, 0), extent(1500, 400, 0, 0), extent(1500, 400, 0, 0),
                                extent(1900, 10, 0, 0)};
    assert_int_equal(contest(overlap, 4), FLAG_BIT(FLAG_TEXTURE_OVERLAP));
    assert_true(overlap[0].contested && overlap[1].contested && overlap[2].contested);
    assert_false(overlap[3].contested);
    /* A long one over two short ones: all three, though the short ones do not touch each other. */
    struct texture nested[] = {extent(1000, 5000, 0, 0), extent(2000, 10, 0, 0), extent(3000, 10, 0, 0)};
    contest(nested, 3);
    assert_true(nested[0].contested && nested[1].contested && nested[2].contested);
    /* Its own mips over its own base. */
    struct texture own[] = {extent(1000, 500, 1000, 500)};
    assert_int_equal(contest(own, 1), FLAG_BIT(FLAG_TEXTURE_OVERLAP));
    assert_true(own[0].contested);
    /* One byte past the data section. */
    struct texture out[] = {extent(10990, 11, 0, 0), extent(1000, 1, 0, 0)};
    assert_int_equal(contest(out, 2), FLAG_BIT(FLAG_TEXTURE_OUT_OF_DATA));
    assert_true(out[0].contested);
    assert_false(out[1].contested);
    /* What could not be read takes no part. */
    struct texture unread[] = {extent(1000, 100, 0, 0), extent(1050, 100, 0, 0)};
    unread[1].valid = false;
    assert_int_equal(contest(unread, 2), 0);
}

static void test_real_header(void **state)
{
    (void)state;
    const char *shared = getenv("ANCHORAGE_SHARED");
    char path[4096];
    snprintf(path, sizeof path, "%s/samples/xpr2/item_first_112_bytes.bin", shared ? shared : "../shared");
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_message("no sample at %s\n", path);
        skip();
    }
    struct buffer bytes = {0};
    buffer_append(&bytes, (char[112]){0}, 112);
    assert_int_equal(fread(bytes.data, 1, 112, file), 112);
    fclose(file);
    struct arena arena = {0};
    struct container c = xpr2_build_decode(&bytes, &arena);
    assert_int_equal(c.status, CONTAINER_DAMAGED);
    assert_int_equal(c.reason, CONTAINER_TRUNCATED);
    assert_int_equal(c.flags, 0);
    assert_int_equal(c.texture_count, 1);
    const struct texture *t = &c.textures[0];
    assert_string_equal(t->name, "Item");
    assert_true(t->valid);
    assert_false(t->contested);
    assert_int_equal(t->width, 512);
    assert_int_equal(t->height, 512);
    assert_int_equal(t->format, 19);
    assert_int_equal(t->base_offset, 0x80C);
    assert_int_equal(t->base_size + t->mip_size, 0x60000);
    assert_int_equal(t->mip_offset, t->base_offset + t->base_size);
    arena_free(&arena);
    buffer_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extent_of_one_level),
        cmocka_unit_test(test_block_sizes),
        cmocka_unit_test(test_small_texture_takes_a_tile),
        cmocka_unit_test(test_mip_chain),
        cmocka_unit_test(test_pitch_and_linear_rows),
        cmocka_unit_test(test_older_header),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cube_has_six_faces_and_no_wall),
        cmocka_unit_test(test_contested),
        cmocka_unit_test(test_real_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
