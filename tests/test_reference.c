/* test_reference.c - the earlier decoders' method as bench/ has it: what it finds, and the mistake it is
 * known for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bench/reference.h"
#include "formats/buffer.h"
#include "tests/support/xpr2_build.h"

enum { STRIDE = 20, NORMAL = 12, UNIT_WORD = 0x389E /* 0.577 as an f16 */, OFFSET = 1000 };

static struct vertex_element elements[] = {
    {.offset = 0, .usage = MESH_POSITION, .format = 0x2A23B9, .size = 12},
    {.offset = NORMAL, .usage = MESH_NORMAL, .format = 0x1A2360, .size = 8},
};

/* What a descriptor says of a mesh of `quads` split quads, less `dropped` of its triangles. */
static struct xbg7_marker marker_of(uint32_t quads, uint32_t dropped)
{
    return (struct xbg7_marker){.vertex_count = quads * 4,
                                .index_count = quads * 6 - dropped * 3,
                                .stride = STRIDE,
                                .element_count = 2,
                                .elements = elements};
}

static void put_indices(struct buffer *out, const struct xbg7_marker *marker)
{
    static const uint8_t corners[6] = {0, 1, 2, 2, 1, 3};
    for (uint32_t i = 0; i < marker->index_count; i++)
        be16(out, (uint16_t)(i / 6 * 4 + corners[i % 6]));
}

/* Quads of size `size` in a row, facing z; the normals lean, so that no triple but theirs is of unit length.
 */
static void put_vertices(struct buffer *out, const struct xbg7_marker *marker, float size)
{
    for (uint32_t v = 0; v < marker->vertex_count; v++) {
        bef32(out, size * (float)(v / 4 + (v & 1)));
        bef32(out, size * (float)(v >> 1 & 1));
        bef32(out, size);
        be32(out, (uint32_t)UNIT_WORD << 16 | UNIT_WORD);
        be32(out, (uint32_t)UNIT_WORD << 16);
    }
}

static void put_block(struct buffer *out, const struct xbg7_marker *marker, float size)
{
    put_indices(out, marker);
    if (out->size % 4)
        be16(out, 0);
    put_vertices(out, marker, size);
}

static void put_gap(struct buffer *out, size_t words)
{
    while (words--)
        be32(out, 0xFFFFFFFF);
}

/* Asks for one resource. The arena is the caller's to free. */
static struct reference_answer ask(const struct buffer *data, struct xbg7_marker *markers, uint32_t count,
                                   struct arena *arena)
{
    struct resource resource = {.marker_count = count, .markers = markers};
    struct reference_answer answer;
    assert_true(
        reference_locate(data->data, data->size, OFFSET, &resource, 1, REFERENCE_FAVOURED, arena, &answer));
    return answer;
}

/* ---- the scan ---- */

static void scan_gives_starts_of_runs(void **state)
{
    (void)state;
    struct buffer data = {0};
    struct xbg7_marker first = marker_of(2, 0), second = marker_of(3, 0);
    struct reference_starts starts;
    put_gap(&data, 5);
    uint32_t a = (uint32_t)data.size;
    put_vertices(&data, &first, 1);
    put_gap(&data, 7);
    uint32_t b = (uint32_t)data.size;
    put_vertices(&data, &second, 1);
    put_vertices(&data, &first, 1); /* abuts: no start of its own */
    put_gap(&data, 8);
    assert_true(reference_scan(data.data, data.size, STRIDE, REFERENCE_LITERAL, &starts));
    assert_int_equal(starts.count, 2);
    assert_int_equal(starts.list[0], a + NORMAL);
    assert_int_equal(starts.list[1], b + NORMAL);
    free(starts.list);
    /* Twice the stride: the second slot has none of its own before it and starts a run too. */
    assert_true(reference_scan(data.data, data.size, 2 * STRIDE, REFERENCE_FAVOURED, &starts));
    assert_int_equal(starts.count, 4);
    assert_int_equal(starts.list[1], a + NORMAL + STRIDE);
    free(starts.list);
    /* A stride that is none of the mesh's: by the letter each normal starts a run. */
    assert_true(reference_scan(data.data, data.size, STRIDE - 8, REFERENCE_FAVOURED, &starts));
    assert_int_equal(starts.count, 0);
    free(starts.list);
    assert_true(reference_scan(data.data, data.size, STRIDE - 8, REFERENCE_LITERAL, &starts));
    assert_int_equal(starts.count, 8 + 12 + 8);
    free(starts.list);
    buffer_free(&data);
}

static void scan_of_little_finds_nothing(void **state)
{
    (void)state;
    static const uint8_t bytes[STRIDE + 6];
    struct reference_starts starts;
    for (size_t size = 0; size <= sizeof bytes; size++) {
        assert_true(reference_scan(bytes, size, STRIDE, REFERENCE_LITERAL, &starts));
        assert_int_equal(starts.count, 0);
        free(starts.list);
    }
}

/* ---- location ---- */

static void finds_a_block(void **state)
{
    (void)state;
    /* An odd number of triangles leaves two bytes between the pools. */
    for (uint32_t dropped = 0; dropped < 2; dropped++) {
        struct buffer data = {0};
        struct arena arena = {0};
        struct xbg7_marker marker = marker_of(6, dropped);
        put_gap(&data, 9);
        size_t start = data.size;
        put_block(&data, &marker, 1);
        put_gap(&data, 9);
        struct reference_answer answer = ask(&data, &marker, 1, &arena);
        assert_true(answer.found);
        assert_int_equal(answer.buffers[0].index_offset, OFFSET + start);
        assert_int_equal(answer.buffers[0].vertex_offset,
                         OFFSET + start + (6 * 12 - dropped * 6 + 2 * dropped));
        assert_int_equal(answer.buffers[0].index_count, 36 - 3 * dropped);
        arena_free(&arena);
        buffer_free(&data);
    }
}

/* Two blocks of equal counts: the first in the file wins whoever asks. This is what the locator must not do.
 */
static void takes_the_first_that_validates(void **state)
{
    (void)state;
    struct buffer data = {0};
    struct arena arena = {0};
    struct xbg7_marker marker = marker_of(6, 0);
    put_block(&data, &marker, 900);
    put_gap(&data, 9);
    put_block(&data, &marker, 1);
    put_gap(&data, 9);
    struct reference_answer answer = ask(&data, &marker, 1, &arena);
    assert_true(answer.found);
    assert_int_equal(answer.buffers[0].index_offset, OFFSET);
    arena_free(&arena);
    buffer_free(&data);
}

static void finds_a_group(void **state)
{
    (void)state;
    struct buffer data = {0};
    struct arena arena = {0};
    struct xbg7_marker markers[2] = {marker_of(3, 1), marker_of(8, 0)};
    put_gap(&data, 4);
    size_t start = data.size;
    put_indices(&data, &markers[0]);
    be16(&data, 0); /* 15 indices end between two multiples of 4 */
    put_indices(&data, &markers[1]);
    size_t vertices = data.size;
    put_vertices(&data, &markers[0], 1);
    put_vertices(&data, &markers[1], 2);
    put_gap(&data, 9);
    struct reference_answer answer = ask(&data, markers, 2, &arena);
    assert_true(answer.found);
    assert_int_equal(answer.buffers[0].index_offset, OFFSET + start);
    assert_int_equal(answer.buffers[1].index_offset, OFFSET + start + 32);
    assert_int_equal(answer.buffers[0].vertex_offset, OFFSET + vertices);
    assert_int_equal(answer.buffers[1].vertex_offset, OFFSET + vertices + 12 * STRIDE);
    arena_free(&arena);
    buffer_free(&data);
}

/* Blocks that are there but for one fault. */
static void declines(void **state)
{
    (void)state;
    enum fault { BAD_INDEX, FEW_REFERENCED, NO_EXTENT, NO_NORMAL, AT_THE_END, FAULTS };
    for (int fault = 0; fault < FAULTS; fault++) {
        struct buffer data = {0};
        struct arena arena = {0};
        struct xbg7_marker marker = marker_of(6, 0);
        put_block(&data, &marker, fault == NO_EXTENT ? 0 : 1);
        if (fault == BAD_INDEX) /* an index that is vertex_count */
            data.data[7] = 24;
        if (fault == FEW_REFERENCED)
            memset(data.data, 0, 48);
        if (fault == NO_NORMAL)
            marker.element_count = 1;
        if (fault == AT_THE_END) /* its last vertex is cut off */
            data.size -= 4;
        else
            put_gap(&data, 9);
        struct reference_answer answer = ask(&data, &marker, 1, &arena);
        assert_false(answer.found);
        assert_null(answer.buffers);
        arena_free(&arena);
        buffer_free(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_gives_starts_of_runs),
        cmocka_unit_test(scan_of_little_finds_nothing),
        cmocka_unit_test(finds_a_block),
        cmocka_unit_test(takes_the_first_that_validates),
        cmocka_unit_test(finds_a_group),
        cmocka_unit_test(declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
