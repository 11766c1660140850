/* test_xbg7.c - descriptors: markers, declarations, draw records, names, and every reason to decline. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xbg7.h"
#include "formats/xbg7_mesh.h"
#include "tests/support/xpr2_build.h"

#define POSITION                                                                                             \
    {                                                                                                        \
        0, 0x2A23B9, 0                                                                                       \
    }
#define NORMAL                                                                                               \
    {                                                                                                        \
        12, 0x1A2360, 3 << 16                                                                                \
    }
#define TEXCOORD                                                                                             \
    {                                                                                                        \
        20, 0x2C235F, 5 << 16                                                                                \
    }

static const uint32_t usual[][3] = {POSITION, NORMAL, TEXCOORD};

static struct arena arena;

static int start(void **state)
{
    (void)state;
    memset(&arena, 0, sizeof arena);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Parses the descriptor, which is given back. Offsets in errors count from 0x1000. */
static struct resource parse(struct buffer *bytes)
{
    static struct error err;
    error_clear(&err);
    struct resource out = {0};
    uint8_t *exact = malloc(bytes->size ? bytes->size : 1);
    memcpy(exact, bytes->data, bytes->size);
    struct reader r = reader_make(exact, bytes->size, 0x1000, "descriptor", &err);
    assert_true(xbg7_parse(&r, &arena, &out));
    free(exact);
    buffer_free(bytes);
    return out;
}

static struct resource parse_elements(size_t count, const uint32_t (*triples)[3])
{
    struct buffer bytes = {0};
    xbg7_build_marker(&bytes, 100, 300, count, triples);
    return parse(&bytes);
}

static void test_usual(void **state)
{
    (void)state;
    struct buffer bytes = {0};
    be32(&bytes, 0x41F00000);
    size_t m = xbg7_build_marker(&bytes, 215, 1092, 3, usual);
    xbg7_build_record(&bytes, 215, 1092);
    struct resource r = parse(&bytes);
    assert_int_equal(r.reason, DECLINE_NONE);
    assert_int_equal(r.marker_count, 1);
    const struct xbg7_marker *marker = r.markers;
    assert_int_equal(marker->offset, m);
    assert_int_equal(marker->vertex_count, 215);
    assert_int_equal(marker->index_count, 1092);
    assert_int_equal(marker->fetch0, 3);
    assert_int_equal(marker->fetch1, 0x10000002);
    assert_int_equal(marker->stride, 24);
    assert_int_equal(marker->element_count, 3);
    assert_int_equal(marker->elements[1].offset, 12);
    assert_int_equal(marker->elements[1].usage, MESH_NORMAL);
    assert_int_equal(marker->elements[1].size, 8);
    assert_int_equal(marker->draw_count, 1);
    assert_int_equal(marker->draws[0].vertex_count, 215);
    assert_int_equal(marker->draws[0].index_count, 1092);
    assert_int_equal(r.vertices, 215);
    assert_int_equal(r.triangles, 364);
}

static void test_strides(void **state)
{
    (void)state;
    static const uint32_t short_one[][3] = {POSITION, NORMAL};
    assert_int_equal(parse_elements(2, short_one).markers[0].stride, 20);
    /* Any order, packed normal, index of the usage. */
    static const uint32_t mixed[][3] = {{16, 0x2C235F, 5 << 16 | 1 << 8}, {12, 0x2A2187, 3 << 16}, POSITION};
    struct resource r = parse_elements(3, mixed);
    assert_int_equal(r.markers[0].stride, 20);
    assert_int_equal(r.markers[0].elements[0].usage_index, 1);
    assert_int_equal(r.markers[0].elements[1].size, 4);
    /* 44 = position, f32 x 3, colour, two f16 x 4. */
    static const uint32_t wide[][3] = {
        POSITION, {12, 57, 3 << 16}, {24, 6, 10 << 16}, {28, 32, 6 << 16}, {36, 32, 7 << 16}};
    assert_int_equal(parse_elements(5, wide).markers[0].stride, 44);
    /* Sixteen elements are allowed, seventeen are not. */
    uint32_t many[17][3];
    for (uint32_t i = 0; i < 17; i++) {
        many[i][0] = i ? 8 + 4 * i : 0;
        many[i][1] = i ? 31 : 57;
        many[i][2] = (i ? 5u : 0u) << 16 | i << 8;
    }
    assert_int_equal(parse_elements(16, many).markers[0].stride, 72);
    assert_int_equal(parse_elements(17, many).reason, DECLINE_NO_DECLARATION);
}

static void test_format_sizes(void **state)
{
    (void)state;
    static const uint8_t known[][2] = {{6, 4},   {7, 4},  {16, 4}, {17, 4},  {25, 4},
                                       {26, 8},  {31, 4}, {32, 8}, {33, 4},  {34, 8},
                                       {35, 16}, {36, 4}, {37, 8}, {38, 16}, {57, 12}};
    unsigned sum = 0, expected = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(xbg7_format_size(0x2A2380u | known[i][0]), known[i][1]);
        expected += known[i][1];
    }
    for (uint32_t number = 0; number < 64; number++)
        sum += xbg7_format_size(number);
    assert_int_equal(sum, expected);
}

static void test_no_declaration(void **state)
{
    (void)state;
    /* Every one of these would make a marker of bytes that are none. */
    static const uint32_t no_position[][3] = {NORMAL, TEXCOORD};
    static const uint32_t overlap[][3] = {POSITION, {8, 0x1A2360, 3 << 16}};
    static const uint32_t same_place[][3] = {POSITION, NORMAL, {12, 0x2C235F, 5 << 16}};
    static const uint32_t other_stream[][3] = {POSITION, {1 << 16 | 12, 0x1A2360, 3 << 16}};
    static const uint32_t low_byte[][3] = {POSITION, {12, 0x1A2360, 3 << 16 | 1}};
    static const uint32_t unknown_overlap[][3] = {POSITION, {4, 63, 5 << 16}};
    static const struct {
        size_t count;
        const uint32_t (*triples)[3];
    } cases[] = {{0, usual},        {2, no_position}, {2, overlap},        {3, same_place},
                 {2, other_stream}, {2, low_byte},    {2, unknown_overlap}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct resource r = parse_elements(cases[i].count, cases[i].triples);
        assert_int_equal(r.status, RESOURCE_DECLINED);
        assert_int_equal(r.reason, DECLINE_NO_DECLARATION);
        assert_int_equal(r.error.offset, 0x1000 + 64);
        assert_int_equal(r.vertices, 0);
    }
    /* The descriptor ends inside the declaration. */
    struct buffer bytes = {0};
    xbg7_build_marker(&bytes, 100, 300, 3, usual);
    bytes.size -= 4;
    assert_int_equal(parse(&bytes).reason, DECLINE_NO_DECLARATION);
}

static void test_no_marker(void **state)
{
    (void)state;
    static const uint32_t counts[][2] = {
        {2, 300},     /* two vertices */
        {65536, 300}, /* more than u16 indices reach */
        {100, 301},   /* no whole triangles */
        {100, 0},     /* nothing */
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct buffer bytes = {0};
        xbg7_build_marker(&bytes, counts[i][0], counts[i][1], 3, usual);
        struct resource r = parse(&bytes);
        assert_int_equal(r.reason, DECLINE_NO_MARKER);
        assert_int_equal(r.error.offset, 0x1000);
    }
    /* 2 x index_count in 32 bits is 4, in truth it is not. */
    struct buffer bytes = {0};
    size_t m = xbg7_build_marker(&bytes, 100, 300, 3, usual);
    be32_at(&bytes, m, 0x80000002u * 2u);
    be32_at(&bytes, m + 4, 0x80000002u);
    assert_int_equal(parse(&bytes).reason, DECLINE_NO_MARKER);
    /* The vertex count would lie in front of the descriptor. */
    struct buffer cut = {0}, whole = {0};
    xbg7_build_marker(&whole, 100, 300, 3, usual);
    buffer_append(&cut, whole.data + 36, whole.size - 36);
    buffer_free(&whole);
    assert_int_equal(parse(&cut).reason, DECLINE_NO_MARKER);
    /* Shorter than any marker, down to one byte. */
    for (size_t size = 1; size < 48; size++) {
        struct buffer zeros = {0};
        buffer_append(&zeros, (char[48]){0}, size);
        assert_int_equal(parse(&zeros).reason, DECLINE_NO_MARKER);
    }
}

static void test_unknown_element(void **state)
{
    (void)state;
    static const uint32_t odd_position[][3] = {{0, 38, 0}, {16, 0x1A2360, 3 << 16}};
    struct resource r = parse_elements(2, odd_position);
    assert_int_equal(r.reason, DECLINE_UNKNOWN_ELEMENT);
    assert_int_equal(r.vertices, 100);
    assert_int_equal(r.triangles, 100);

    static const uint32_t odd[][3] = {POSITION, NORMAL, {20, 0x2C2340 | 63, 5 << 16}};
    r = parse_elements(3, odd);
    assert_int_equal(r.reason, DECLINE_UNKNOWN_ELEMENT);
    assert_int_equal(r.error.offset, 0x1000 + 64 + 8 + 24);

    /* Word m-36 states the stride: the element is skipped. */
    static const struct {
        uint32_t fetch1, stride;
    } cases[] = {
        {0x10000000 | (100 * 28 + 2), 28},    {0x20000000 | (100 * 28 + 2), 0}, /* top nibble */
        {0x10000000 | (100 * 28 + 1), 0},                                       /* low bits */
        {0x10000000 | (100 * 28 + 4 + 2), 0},                                   /* no whole stride */
        {0x10000000 | (100 * 20 + 2), 0}, /* less than the known extent */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer bytes = {0};
        size_t m = xbg7_build_marker(&bytes, 100, 300, 3, odd);
        be32_at(&bytes, m - 36, cases[i].fetch1);
        r = parse(&bytes);
        assert_int_equal(r.reason, cases[i].stride ? DECLINE_NONE : DECLINE_UNKNOWN_ELEMENT);
        assert_int_equal(r.markers[0].stride, cases[i].stride);
    }
}

static void test_several_markers(void **state)
{
    (void)state;
    struct buffer bytes = {0};
    xbg7_build_marker(&bytes, 10, 30, 3, usual);
    xbg7_build_marker(&bytes, 20, 60, 2, usual);
    xbg7_build_record(&bytes, 10, 30);
    xbg7_build_record(&bytes, 12, 24);
    xbg7_build_record(&bytes, 8, 36);
    struct resource r = parse(&bytes);
    assert_int_equal(r.marker_count, 2);
    assert_int_equal(r.markers[0].draw_count, 1);
    assert_int_equal(r.markers[1].stride, 20);
    assert_int_equal(r.markers[1].draw_count, 2);
    assert_int_equal(r.markers[1].draws[0].index_count, 24);
    assert_int_equal(r.markers[1].draws[1].vertex_count, 8);
    assert_int_equal(r.vertices, 30);
    assert_int_equal(r.triangles, 30);
}

static void test_draw_choice(void **state)
{
    (void)state;
    static const struct {
        uint32_t records[5][2];
        uint32_t count;
        uint32_t draws[3]; /* index counts, for a buffer of 100 vertices and 300 indices */
    } cases[] = {
        {{{100, 300}}, 1, {300}},
        {{{100, 150}, {100, 150}}, 2, {150, 150}},       /* whole buffer's count in both */
        {{{60, 90}, {60, 90}, {40, 210}}, 3, {90, 210}}, /* a run behind a stranger */
        {{{101, 300}}, 1, {300}},          /* too many vertices: one draw of the buffer's counts */
        {{{50, 200}, {50, 90}}, 2, {300}}, /* 200 is no multiple of 3; nothing fits */
        {{{50, 120}, {50, 33}, {50, 180}}, 3, {120, 180}},           /* a stranger between */
        {{{50, 297}, {50, 150}, {50, 6}, {50, 150}}, 4, {150, 150}}, /* the first leads nowhere */
        {{{50, 300}, {100, 300}}, 2, {300}}, /* the buffer's own counts before a sum */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer bytes = {0};
        xbg7_build_marker(&bytes, 100, 300, 3, usual);
        for (uint32_t k = 0; k < cases[i].count; k++)
            xbg7_build_record(&bytes, cases[i].records[k][0], cases[i].records[k][1]);
        struct resource r = parse(&bytes);
        uint32_t sum = 0;
        for (uint32_t k = 0; k < r.markers[0].draw_count; k++) {
            assert_true(k < 3);
            assert_int_equal(r.markers[0].draws[k].index_count, cases[i].draws[k]);
            sum += r.markers[0].draws[k].index_count;
        }
        assert_int_equal(sum, 300);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct buffer bytes = {0};
    static const char strings[] = "rou_f001_mnt1_root\0\0\0Light\0ab\0_e1_col\0\1\2x1\3wrong";
    buffer_append(&bytes, strings, sizeof strings);
    while (bytes.size % 4)
        buffer_append(&bytes, "", 1);
    xbg7_build_marker(&bytes, 10, 30, 3, usual);
    struct resource r = parse(&bytes);
    assert_int_equal(r.marker_count, 1);
    assert_int_equal(r.node_count, 4);
    assert_string_equal(r.nodes[0], "rou_f001_mnt1_root");
    assert_string_equal(r.nodes[1], "Light");
    assert_string_equal(r.nodes[2], "_e1_col");
    assert_string_equal(r.nodes[3], "wrong");
}

static void test_hostile(void **state)
{
    (void)state;
    /* Thousands of markers over thousands of records of 3 indices each, none of which sum up within bounds.
     */
    struct buffer bytes = {0};
    for (int i = 0; i < 4000; i++)
        xbg7_build_marker(&bytes, 65535, 3 * 200000 + 3, 3, usual);
    for (int i = 0; i < 60000; i++)
        xbg7_build_record(&bytes, 3, i % 2 ? 6 : 9);
    struct resource r = parse(&bytes);
    assert_int_equal(r.marker_count, 4000);
    assert_int_equal(r.triangles, 4000u * 200001u);
    /* Sums of triangles past 32 bits. */
    struct buffer sums = {0};
    for (int i = 0; i < 100; i++)
        xbg7_build_marker(&sums, 65535, 0x7FFFFFFEu / 3 * 3, 1, usual);
    r = parse(&sums);
    assert_int_equal(r.reason, DECLINE_BAD_DESCRIPTOR);
}

/* Streams hold what each element by itself reads as, whatever loop read them: words of every kind, in two
 * buffers of which one has more components. */
static void test_streams(void **state)
{
    (void)state;
    struct vertex_element elements[] = {
        {0, MESH_POSITION, 0, XBG7_F32X3, 12}, {12, MESH_NORMAL, 0, XBG7_F16X4, 8},
        {20, MESH_TEXCOORD, 0, XBG7_F16X2, 4}, {24, MESH_TEXCOORD, 1, XBG7_F32X2, 8},
        {32, MESH_COLOR, 0, XBG7_8_8_8_8, 4},  {36, MESH_TEXCOORD, 2, XBG7_F32X4, 16},
        {52, MESH_TANGENT, 0, XBG7_F32X3, 12}, {64, MESH_BINORMAL, 0, XBG7_2_10_10_10, 4},
        {68, MESH_TEXCOORD, 3, XBG7_F16X4, 8}, {76, MESH_BLENDWEIGHT, 0, XBG7_F32, 4},
        {80, MESH_TEXCOORD, 4, XBG7_F16X4, 8},
    };
    enum {
        ELEMENTS = sizeof elements / sizeof *elements,
        VERTICES = 50,
        STRIDE = 88,
        BYTES = VERTICES * STRIDE
    };
    struct vertex_element other[] = {elements[0], {12, MESH_TEXCOORD, 4, XBG7_F32X2, 8}};
    struct xbg7_draw draw = {VERTICES, 3};
    struct xbg7_marker markers[] = {{.vertex_count = VERTICES,
                                     .index_count = 3,
                                     .stride = STRIDE,
                                     .element_count = ELEMENTS,
                                     .elements = elements,
                                     .draw_count = 1,
                                     .draws = &draw},
                                    {.vertex_count = VERTICES,
                                     .index_count = 3,
                                     .stride = 20,
                                     .element_count = 2,
                                     .elements = other,
                                     .draw_count = 1,
                                     .draws = &draw}};
    struct buffer_place places[] = {{0, 8, 3, VERTICES, STRIDE}, {0, 8, 3, VERTICES, 20}};
    uint8_t *data = calloc(8 + BYTES, 1); /* to the byte; the indices are 0, 0, 0 */
    uint32_t seed = 1;
    for (size_t i = 8; i < 8 + BYTES; i++)
        data[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    const struct mesh *mesh = NULL;
    assert_true(xbg7_mesh(data, 8 + BYTES, markers, 2, places, &arena, &mesh));
    assert_int_equal(mesh->stream_count, ELEMENTS);
    for (unsigned m = 0; m < 2; m++)
        for (uint32_t e = 0; e < markers[m].element_count; e++) {
            const struct vertex_element *element = &markers[m].elements[e];
            const struct mesh_stream *stream =
                mesh_stream(mesh, (enum mesh_usage)element->usage, element->usage_index);
            for (size_t v = 0; v < VERTICES; v++) {
                float expected[4];
                const uint8_t *at = data + 8 + v * markers[m].stride + element->offset;
                xbg7_element(element->format, element->usage, at, stream->components, expected);
                assert_memory_equal(stream->data + (m * VERTICES + v) * stream->components, expected,
                                    stream->components * sizeof(float));
            }
        }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_usual, start, finish),
        cmocka_unit_test_setup_teardown(test_streams, start, finish),
        cmocka_unit_test_setup_teardown(test_strides, start, finish),
        cmocka_unit_test_setup_teardown(test_format_sizes, start, finish),
        cmocka_unit_test_setup_teardown(test_no_declaration, start, finish),
        cmocka_unit_test_setup_teardown(test_no_marker, start, finish),
        cmocka_unit_test_setup_teardown(test_unknown_element, start, finish),
        cmocka_unit_test_setup_teardown(test_several_markers, start, finish),
        cmocka_unit_test_setup_teardown(test_draw_choice, start, finish),
        cmocka_unit_test_setup_teardown(test_names, start, finish),
        cmocka_unit_test_setup_teardown(test_hostile, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
