/* test_chunk.c - the chunk grammar: unknown tags, lengths, and every way not to close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "formats/chunk.h"
#include "tests/support/chunk_build.h"

/* ---- unknown tags -------------------------------------------------------------------------------------- */

static void test_inferred_containers(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    open_chunk(&w, 0x0060);
    open_chunk(&w, 0x0061);
    open_chunk(&w, CHUNK_PATCH);
    text_chunk(&w, CHUNK_SV_SPECIAL, "dz_hip");
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_INFERRED_CONTAINER));
    assert_int_equal(r.container.flags, FLAG_BIT(FLAG_INFERRED_CONTAINER));
    assert_string_equal(r.resource->parts[0].special, "dz_hip");
    assert_int_equal(r.container.tag_count_count, 2);
    assert_string_equal(r.container.tag_counts[0].tag, "0x0060");
    assert_string_equal(r.container.tag_counts[1].tag, "0x0061");
    free_decoded(&r);
}

/* Whether one leaf of this tag and payload inside an OBJECT is walked as a container. */
static bool is_inferred(unsigned tag, const void *payload, size_t size)
{
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    leaf_chunk(&w, tag, payload, size);
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    bool inferred = r.resource->flags & FLAG_BIT(FLAG_INFERRED_CONTAINER);
    free_decoded(&r);
    return inferred;
}

static void test_what_is_inferred(void **state)
{
    (void)state;
    assert_true(is_inferred(0x0060, "\x08\x20\2a", 5));          /* one NAME */
    assert_true(is_inferred(0x0060, "\x08\x20\0\x99\x20\0", 6)); /* unknown attributes are chunks too */
    assert_true(
        is_inferred(0x0060, "\x61\0\4\xFF\xFF\xFF\xFF", 7)); /* inside it a leaf that does not close */
    assert_false(is_inferred(0x0060, "", 0));                /* nothing closes trivially */
    assert_false(is_inferred(0x0060, "\x08\x20\2a", 4));     /* a byte is missing */
    assert_false(is_inferred(0x0060, "\x08\x20\0\0", 4));    /* a byte is left over */
    assert_false(is_inferred(0x0060, "\x08\xE0\0", 3));      /* width code 3 */
    assert_false(is_inferred(0x0060, "\x08\x21\0", 3));      /* 0x2108 is in no namespace */
    assert_false(is_inferred(0x0060, "\0\0\0\0\0\0", 6));    /* zeros are no structure */
    assert_false(is_inferred(0x0060, "\x80\0\1\0", 4));      /* a vertex block with a remainder */
    assert_false(is_inferred(0x0060, "\x42\0\1\0", 4));      /* a known container that does not close */
    assert_false(is_inferred(0x2060, "\x08\x20\0", 3));      /* attributes are leaves */
    assert_false(is_inferred(CHUNK_BBOX, "\x08\x20\0", 3));  /* and so are known leaves */
    assert_false(is_inferred(CHUNK_BSPHERE, "\x08\x20\0", 3));
    assert_false(is_inferred(CHUNK_SPHERE, "\x08\x20\0", 3));
}

static void test_unknown_tags_are_counted(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    leaf_chunk(&w, 0x2FFF, "x", 1);
    open_chunk(&w, CHUNK_OBJECT);
    leaf_chunk(&w, 0x2099, "x", 1);
    leaf_chunk(&w, 0x004E, "x", 1);
    leaf_chunk(&w, 0x2099, "", 0);
    leaf_chunk(&w, 0x2048, "x", 1); /* known, if unused */
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    static const char *const tags[] = {"0x004E", "0x2099", "0x2FFF"};
    static const uint32_t counts[] = {1, 2, 1};
    assert_int_equal(r.container.tag_count_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(r.container.tag_counts[i].tag, tags[i]);
        assert_int_equal(r.container.tag_counts[i].count, counts[i]);
    }
    free_decoded(&r);
}

/* ---- lengths and closing ------------------------------------------------------------------------------- */

static void test_length_widths(void **state)
{
    (void)state;
    for (unsigned width = 1; width <= 4; width *= 2) {
        struct chunk_build w = triangle_model(width);
        struct decoded r = decode_model(&w);
        assert_decoded(&r, 3, 1);
        free_decoded(&r);
    }
}

/* Every file cut short is declined as truncated, at the chunk that was cut: HEADER, OBJECT or BIZ_DONE. */
static void test_every_truncation(void **state)
{
    (void)state;
    struct chunk_build w = triangle_model(0);
    const size_t object = MODEL_START, done = w.out.size - 3;
    for (size_t size = 0; size < w.out.size; size++) {
        struct decoded r = decode_chunks(&w.out, size, "model.bgf");
        if (size < 8) {
            assert_int_equal(r.container.format, FORMAT_UNKNOWN);
        } else {
            assert_int_equal(r.container.status, CONTAINER_DAMAGED);
            assert_int_equal(r.container.reason, CONTAINER_TRUNCATED);
            assert_int_equal(r.resource->status, RESOURCE_DECLINED);
            assert_int_equal(r.resource->reason, DECLINE_DOES_NOT_CLOSE);
            assert_int_equal(r.resource->error.code, ERROR_TRUNCATED);
            assert_int_equal(r.resource->error.offset, size < object ? 8 : size < done ? object : done);
        }
        free_decoded(&r);
    }
    buffer_free(&w.out);
}

/* Every byte of a small model overwritten in turn: never a crash, never a mesh that is not sound. */
static void test_every_byte_spoiled(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 0x40, 0x7F, 0x80, 0xC0, 0xFF};
    struct chunk_build w = triangle_model(0);
    for (size_t at = 8; at < w.out.size; at++) {
        uint8_t kept = w.out.data[at];
        for (size_t i = 0; i < sizeof values; i++) {
            w.out.data[at] = values[i];
            struct decoded r = decode_chunks(&w.out, w.out.size, "model.bgf");
            if (r.resource->status == RESOURCE_DECLINED) {
                assert_null(r.mesh);
                assert_int_not_equal(r.resource->reason, DECLINE_NONE);
                assert_true(r.resource->error.offset <= w.out.size);
            }
            free_decoded(&r);
        }
        w.out.data[at] = kept;
    }
    buffer_free(&w.out);
}

static void test_top_level_order(void **state)
{
    (void)state;
    /* The first chunk is an OBJECT. */
    struct chunk_build w = {0};
    buffer_append(&w.out, "DIV-BIZ2", 8);
    open_chunk(&w, CHUNK_OBJECT);
    small_pmesh(&w);
    end_model(&w);
    assert_does_not_close(&w, 8, CONTAINER_REASON_NONE, ERROR_MALFORMED);

    /* Two bytes behind BIZ_DONE, which is no tail to skip. */
    w = triangle_model(0);
    size_t behind = w.out.size;
    buffer_append(&w.out, "\x1A\x1A", 2);
    assert_does_not_close(&w, behind, CONTAINER_REASON_NONE, ERROR_MALFORMED);

    /* A whole chunk behind BIZ_DONE. */
    w = triangle_model(0);
    leaf_chunk(&w, CHUNK_BIZ_DONE, "", 0);
    assert_does_not_close(&w, behind, CONTAINER_REASON_NONE, ERROR_MALFORMED);

    /* The last chunk is no BIZ_DONE: the file ends where it should begin. */
    w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    close_chunk(&w);
    assert_does_not_close(&w, w.out.size, CONTAINER_TRUNCATED, ERROR_TRUNCATED);
}

static void test_broken_chunks(void **state)
{
    (void)state;
    /* A child whose length passes its parent's end; the file itself is whole. */
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    small_pmesh(&w);
    size_t child = w.out.size;
    buffer_append(&w.out, "\x37\x20\x7F\x00", 4);
    end_model(&w);
    assert_does_not_close(&w, child + 3, CONTAINER_REASON_NONE, ERROR_RANGE); /* + the OBJECT's own head */

    /* A parent that ends inside the length of its child, and one that ends inside the tagword. */
    w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    buffer_append(&w.out, "\x37\x60\x01", 3);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START + 3, CONTAINER_REASON_NONE, ERROR_RANGE);
    w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    buffer_append(&w.out, "\x37", 1);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START + 3, CONTAINER_REASON_NONE, ERROR_RANGE);

    /* Width code 3, at the top level. */
    w = begin_model(0);
    buffer_append(&w.out, "\x37\xE0\x01\x00", 4);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START, CONTAINER_REASON_NONE, ERROR_MALFORMED);

    /* A 4-byte length of 0xFFFFFFFF at the top level. */
    w = begin_model(0);
    buffer_append(&w.out, "\x40\x80\xFF\xFF\xFF\xFF", 6);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START, CONTAINER_TRUNCATED, ERROR_TRUNCATED);
}

/* Every tag that the page calls a container is one: a child of it that does not close breaks the file. */
static void test_known_containers(void **state)
{
    (void)state;
    static const unsigned tags[] = {CHUNK_HEADER, CHUNK_OBJECT,      CHUNK_LOD,  CHUNK_PATCH,
                                    CHUNK_PMESH,  CHUNK_SPHERE_LIST, CHUNK_BOUND};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct chunk_build w = begin_model(0);
        leaf_chunk(&w, tags[i], "\x08\x20\1", 3);
        end_model(&w);
        assert_does_not_close(&w, MODEL_START + 3, CONTAINER_REASON_NONE, ERROR_RANGE);
    }
}

/* A leaf of this tag and payload as the only child of a PMESH is broken where it stands. */
static void assert_remainder(unsigned tag, const void *payload, size_t size)
{
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    leaf_chunk(&w, tag, payload, size);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START + 4 * 3, CONTAINER_REASON_NONE, ERROR_MALFORMED);
}

static void test_remainders(void **state)
{
    (void)state;
    static const uint8_t zeros[64];
    static const unsigned tags[] = {0x80, 0x81, 0x82, 0x88, 0x89, 0x8A};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        assert_remainder(tags[i], zeros, 37); /* one byte more than the longest vertex */
        assert_remainder(tags[i], zeros, 4);
    }
    assert_remainder(CHUNK_CONNECTION_LIST, zeros, 13);        /* no whole index */
    assert_remainder(CHUNK_CONNECTION_LIST, zeros, 16);        /* no whole triangle */
    assert_remainder(CHUNK_PCONN_LIST, zeros, 0);              /* no points per face */
    assert_remainder(CHUNK_PCONN_LIST, "\2\0\0\0\0\0\0\0", 9); /* two points are no face */
    assert_remainder(CHUNK_PCONN_LIST, "\0", 1);               /* nor are none: no division by it */
    assert_remainder(CHUNK_PCONN_LIST, "\3\0\0\0\0\0\0\0\0\0\0\0\0\0", 14); /* no whole index */
    assert_remainder(CHUNK_PCONN_LIST, "\4\0\0\0\0\0\0\0\0\0\0\0", 13);     /* no whole quad */
}

static void nest(struct chunk_build *w, unsigned tag, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        open_chunk(w, tag);
}

static void test_depth(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(1);
    nest(&w, CHUNK_LOD, 64);
    leaf_chunk(&w, CHUNK_LOD_TRANSITION, "", 0);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.resource->lod_count, 64);
    free_decoded(&r);

    /* The 65th container. */
    w = begin_model(1);
    nest(&w, CHUNK_LOD, 65);
    end_model(&w);
    assert_does_not_close(&w, MODEL_START + 64 * 3, CONTAINER_REASON_NONE, ERROR_LIMIT);

    /* Unknown tags are leaves past the bound, never an error: 64 of the 70 are walked. */
    w = begin_model(0);
    nest(&w, 0x0060, 70);
    leaf_chunk(&w, CHUNK_NAME, "", 0);
    end_model(&w);
    r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.container.tag_counts[0].count, 65);
    free_decoded(&r);
}

/* An unknown leaf that reads as 20 000 chunks and then does not close: what was tried is taken back, and is
 * more than the file's chunks need room for. */
static void test_attempt_larger_than_file(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_chunk(&w, 0x0060);
    for (int i = 0; i < 20000; i++)
        leaf_chunk(&w, CHUNK_NAME, "", 0);
    buffer_append(&w.out, "\x08", 1);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.resource->flags, 0);
    assert_int_equal(r.container.tag_counts[0].count, 1);
    free_decoded(&r);
}

/* 1 MB of nested unknown chunks that fail only at the innermost level, many times over. Were inner attempts
 * repeated by the outer ones, this would take 2^60 steps. */
static void test_nested_attempts_are_linear(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(4);
    for (int i = 0; i < 2500; i++) {
        nest(&w, 0x0060, 60);
        buffer_append(&w.out, "\x42\0\1\0", 4); /* a PATCH that does not close */
        while (w.depth)
            close_chunk(&w);
    }
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.container.tag_counts[0].count, 2500 * 60);
    free_decoded(&r);
}

/* 4 GiB of zeros behind a magic: declined before anything is allocated for it. */
static void test_over_limit(void **state)
{
    (void)state;
    size_t size = (size_t)1 << 32;
    uint8_t *bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        skip();
    memcpy(bytes, "DIV-BIZ2\x03\0\0", 11);
    struct arena arena = {0};
    struct container out;
    const struct input in = {bytes, size, "model.bgf"};
    extern const struct format format_bgf;
    assert_true(format_decode(&format_bgf, &in, &arena, &out));
    assert_int_equal(out.status, CONTAINER_SKIPPED);
    assert_int_equal(out.reason, CONTAINER_OVER_LIMIT);
    assert_int_equal(out.resources[0].reason, DECLINE_OVER_LIMIT);
    assert_true(arena.bytes < 100000);
    arena_free(&arena);
    munmap(bytes, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inferred_containers),
        cmocka_unit_test(test_what_is_inferred),
        cmocka_unit_test(test_unknown_tags_are_counted),
        cmocka_unit_test(test_length_widths),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_byte_spoiled),
        cmocka_unit_test(test_top_level_order),
        cmocka_unit_test(test_broken_chunks),
        cmocka_unit_test(test_known_containers),
        cmocka_unit_test(test_remainders),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_attempt_larger_than_file),
        cmocka_unit_test(test_nested_attempts_are_linear),
        cmocka_unit_test(test_over_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
