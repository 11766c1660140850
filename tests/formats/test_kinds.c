/* test_kinds.c - the ways in which a mesh can be wrong, for each format: what it is called, where, and that
 * whatever is decoded can be exported.
 *
 * A row is a file with one thing wrong with it. What has a test of its own beside its format is not repeated
 * here: truncation at every byte, offsets past the end, chunks that do not close, nesting, strings without
 * an end, skeletons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chunk.h"
#include "formats/reader.h"
#include "reports/export.h"
#include "tests/support/chunk_build.h"
#include "tests/support/glb_read.h"
#include "tests/support/meshbin_build.h"
#include "tests/support/xbg7_block.h"
#include "tests/support/xpr2_build.h"

#define NOWHERE ERROR_NO_OFFSET

/* ---- files --------------------------------------------------------------------------------------------- */

/* Where the parts of a container of one sheet lie. */
struct layout {
    size_t descriptor, index, vertex;
};

static const uint32_t usual[][3] = {{0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};
static const struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};

/* One XBG7 entry whose marker has those counts, over a data section. */
static struct layout put_container(struct buffer *out, uint32_t vertices, uint32_t indices,
                                   const struct buffer *data)
{
    struct buffer descriptor = {0};
    struct xpr2_build build = {.data = data->data, .data_size = (uint32_t)data->size};
    xbg7_build_marker(&descriptor, vertices, indices, 3, usual);
    xpr2_build_add(&build, "XBG7", "resource_name", &descriptor);
    *out = xpr2_build_finish(&build);
    buffer_free(&descriptor);
    return (struct layout){.descriptor = load_u32be(out->data + 16 + 4) + 12};
}

/* A sheet between bytes that look like nothing. */
static struct layout put_sheet(struct buffer *out, const struct sheet *of)
{
    struct buffer data = {0};
    put_noise(&data, 4000, 1);
    size_t index = put_indices(&data, of), vertex = put_vertices(&data, of);
    put_noise(&data, 4000, 2);
    struct layout layout = put_container(out, sheet_vertices(of), sheet_indices(of), &data);
    size_t start = out->size - data.size;
    buffer_free(&data);
    return (struct layout){layout.descriptor, start + index, start + vertex};
}

/* Rows return where the error is expected, or where the indices of located geometry are. */
static uint64_t xbg7_index_is_count(struct buffer *out)
{
    size_t at = put_sheet(out, &sheet).index + 100;
    out->data[at] = 0;
    out->data[at + 1] = 72; /* of 72 vertices */
    return at;
}

static uint64_t xbg7_empty_data(struct buffer *out)
{
    struct buffer none = {0};
    put_container(out, 72, 336, &none);
    return NOWHERE;
}

/* Vertices times 24 bytes is 8 in 32 bits. No 16-bit index reaches so many, so it is no marker. */
static uint64_t xbg7_product_wraps(struct buffer *out)
{
    struct buffer data = {0};
    put_noise(&data, 4000, 1);
    struct layout layout = put_container(out, 0x0AAAAAAB, 336, &data);
    buffer_free(&data);
    return layout.descriptor;
}

static uint64_t xbg7_huge_indices(struct buffer *out)
{
    struct buffer data = {0};
    put_noise(&data, 4000, 1);
    put_container(out, 72, 0x7FFFFFFE, &data);
    buffer_free(&data);
    return NOWHERE;
}

/* All vertices in one point: extents of 0, faces without area. */
static uint64_t xbg7_point(struct buffer *out)
{
    struct sheet point = sheet;
    point.size = 0;
    return put_sheet(out, &point).index;
}

static uint64_t xbg7_float(struct buffer *out, uint32_t bits)
{
    struct layout layout = put_sheet(out, &sheet);
    be32_at(out, layout.vertex + 24 * 40 + 4, bits);
    return layout.index;
}

static uint64_t xbg7_nan(struct buffer *out)
{
    return xbg7_float(out, 0x7FC00000);
}

static uint64_t xbg7_infinite(struct buffer *out)
{
    return xbg7_float(out, 0xFF800000);
}

static uint64_t xbg7_denormal(struct buffer *out)
{
    return xbg7_float(out, 0x80000001);
}

/* Three vertices with position, normal and uv, all floats `value` but the first `sound` of each. */
static uint64_t bgf_floats(struct buffer *out, float value, unsigned sound)
{
    struct chunk_build w = begin_model(0);
    struct buffer vertices = {0};
    for (unsigned v = 0; v < 3; v++)
        for (unsigned i = 0; i < 8; i++)
            put_f32le(&vertices, i < sound ? (float)(v == i) : value);
    open_pmesh(&w);
    leaf_chunk(&w, CHUNK_XYZ_N_UV, vertices.data, vertices.size);
    conn(&w, 0, 1, 2);
    end_model(&w);
    buffer_free(&vertices);
    *out = w.out;
    return NOWHERE;
}

static uint64_t bgf_point(struct buffer *out)
{
    return bgf_floats(out, 2.5f, 0);
}

static uint64_t bgf_nan_position(struct buffer *out)
{
    return bgf_floats(out, NAN, 0);
}

static uint64_t bgf_nan_normal(struct buffer *out)
{
    return bgf_floats(out, -NAN, 3);
}

static uint64_t bgf_infinite_uv(struct buffer *out)
{
    return bgf_floats(out, -INFINITY, 6);
}

static uint64_t bgf_denormal(struct buffer *out)
{
    return bgf_floats(out, 1e-45f, 0);
}

/* The extent of the greatest floats is none. */
static uint64_t bgf_extremes(struct buffer *out)
{
    struct chunk_build w = begin_model(0);
    static const float corners[3][3] = {{FLT_MAX, 0, 0}, {-FLT_MAX, FLT_MAX, 0}, {0, -FLT_MAX, FLT_MAX}};
    struct buffer vertices = {0};
    for (unsigned i = 0; i < 9; i++)
        put_f32le(&vertices, corners[i / 3][i % 3]);
    open_pmesh(&w);
    leaf_chunk(&w, CHUNK_XYZ, vertices.data, vertices.size);
    conn(&w, 0, 1, 2);
    end_model(&w);
    buffer_free(&vertices);
    *out = w.out;
    return NOWHERE;
}

/* The greatest i32 times 12 bytes wraps, below any check of a product. */
static uint64_t bgf_huge_index(struct buffer *out)
{
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, 0.0f);
    size_t at = w.out.size + 5 * 3; /* the heads of four containers and the list come in front of it */
    conn(&w, 0, 1, INT32_MAX);
    end_model(&w);
    *out = w.out;
    return at + 8;
}

/* Distances are no positions: a mesh is not flagged for them, and they have to get through an export. */
static uint64_t bgf_nan_distance(struct buffer *out)
{
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    open_chunk(&w, CHUNK_LOD);
    open_chunk(&w, CHUNK_LOD_DISTANCE);
    put_f32le(&w.out, NAN);
    put_f32le(&w.out, -INFINITY);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    end_model(&w);
    *out = w.out;
    return NOWHERE;
}

static uint64_t bgf_empty(struct buffer *out)
{
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    end_model(&w);
    *out = w.out;
    return NOWHERE;
}

/* A material whose name ends with its chunk, without a NUL, and an empty chunk of the same tag. */
static uint64_t bmf_unended(struct buffer *out)
{
    enum { MATERIAL = 0x0050 };
    struct chunk_build w = {0};
    buffer_append(&w.out, "DIV-BMF2", 8);
    open_chunk(&w, CHUNK_HEADER);
    leaf_chunk(&w, CHUNK_VERSION, "\2\x08", 2);
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    leaf_chunk(&w, CHUNK_NAME, "endless", 7);
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    end_model(&w);
    *out = w.out;
    return NOWHERE;
}

static uint64_t meshbin_positions(struct buffer *out, int32_t value)
{
    struct recipe r = mb_recipe(1);
    *out = mb_build(&r);
    for (unsigned i = 0; i < 3 * PYRAMID_VERTICES; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            out->data[AT_POSITIONS + 4 * i + byte] = (uint8_t)((uint32_t)value >> 8 * byte);
    return NOWHERE;
}

static uint64_t meshbin_point(struct buffer *out)
{
    return meshbin_positions(out, 77);
}

/* -INT32_MIN is no i32, and the axes are turned. */
static uint64_t meshbin_extremes(struct buffer *out)
{
    return meshbin_positions(out, INT32_MIN);
}

static uint64_t meshbin_index_is_count(struct buffer *out)
{
    struct recipe r = mb_recipe(3);
    r.groups[4][3] = PYRAMID_VERTICES;
    *out = mb_build(&r);
    return AT_GROUPS + 2 + 4 * 8 + 3 * 2;
}

/* 0x15555556 vertices of 12 bytes are 8 in 32 bits. */
static uint64_t meshbin_product_wraps(struct buffer *out)
{
    struct recipe r = mb_recipe(1);
    *out = mb_build(&r);
    memcpy(out->data + 9, "\x56\x55\x55\x15", 4);
    return AT_POSITIONS;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static const struct row {
    const char *kind, *file;
    uint64_t (*put)(struct buffer *out);
    enum resource_status status;
    enum decline_reason reason;
    uint32_t flags;
    uint32_t vertices, triangles;
    bool bounded;
} rows[] = {
    {"index = vertex count", "x.xpr", xbg7_index_is_count, RESOURCE_DECLINED, DECLINE_OUT_OF_RANGE_INDEX, 0,
     72, 112, false},
    {"an empty data section", "x.xpr", xbg7_empty_data, RESOURCE_DECLINED, DECLINE_NO_CANDIDATE, 0, 72, 112,
     false},
    {"count x stride", "x.xpr", xbg7_product_wraps, RESOURCE_DECLINED, DECLINE_NO_MARKER, 0, 0, 0, false},
    {"a huge count", "x.xpr", xbg7_huge_indices, RESOURCE_DECLINED, DECLINE_NO_CANDIDATE, 0, 72, 0x2AAAAAAA,
     false},
    {"no extent", "x.xpr", xbg7_point, RESOURCE_PROVEN, DECLINE_NONE, 0, 72, 112, true},
    {"not a number", "x.xpr", xbg7_nan, RESOURCE_ASSIGNED, DECLINE_NONE, FLAG_BIT(FLAG_NON_FINITE), 72, 112,
     true},
    {"infinity", "x.xpr", xbg7_infinite, RESOURCE_ASSIGNED, DECLINE_NONE, FLAG_BIT(FLAG_NON_FINITE), 72, 112,
     true},
    {"a denormal", "x.xpr", xbg7_denormal, RESOURCE_ASSIGNED, DECLINE_NONE, 0, 72, 112, true},
    {"no extent", "x.bgf", bgf_point, RESOURCE_DECODED, DECLINE_NONE, 0, 3, 1, true},
    {"not a number", "x.bgf", bgf_nan_position, RESOURCE_DECODED, DECLINE_NONE, FLAG_BIT(FLAG_NON_FINITE), 3,
     1, false},
    {"not a number, normal", "x.bgf", bgf_nan_normal, RESOURCE_DECODED, DECLINE_NONE,
     FLAG_BIT(FLAG_NON_FINITE), 3, 1, true},
    {"infinity, uv", "x.bgf", bgf_infinite_uv, RESOURCE_DECODED, DECLINE_NONE, FLAG_BIT(FLAG_NON_FINITE), 3,
     1, true},
    {"denormals", "x.bgf", bgf_denormal, RESOURCE_DECODED, DECLINE_NONE, 0, 3, 1, true},
    {"the greatest floats", "x.bgf", bgf_extremes, RESOURCE_DECODED, DECLINE_NONE, 0, 3, 1, true},
    {"a huge index", "x.bgf", bgf_huge_index, RESOURCE_DECLINED, DECLINE_OUT_OF_RANGE_INDEX,
     FLAG_BIT(FLAG_BAD_PMESH), 0, 0, false},
    {"a distance that is no number", "x.bgf", bgf_nan_distance, RESOURCE_DECODED, DECLINE_NONE, 0, 3, 1,
     true},
    {"a mesh of nothing", "x.bgf", bgf_empty, RESOURCE_DECODED, DECLINE_NONE, 0, 0, 0, false},
    {"strings without an end", "x.bmf", bmf_unended, RESOURCE_DECODED, DECLINE_NONE,
     FLAG_BIT(FLAG_INFERRED_CONTAINER), 0, 0, false},
    {"no extent", "x.meshbin", meshbin_point, RESOURCE_DECODED, DECLINE_NONE, 0, 5, 6, true},
    {"the least integers", "x.meshbin", meshbin_extremes, RESOURCE_DECODED, DECLINE_NONE, 0, 5, 6, true},
    {"index = vertex count", "x.meshbin", meshbin_index_is_count, RESOURCE_DECLINED,
     DECLINE_OUT_OF_RANGE_INDEX, 0, 5, 6, false},
    {"count x stride", "x.meshbin", meshbin_product_wraps, RESOURCE_DECLINED, DECLINE_TRUNCATED, 0,
     0x15555556, 5, false},
};

/* ---- what holds of every row --------------------------------------------------------------------------- */

/* Decodes from a copy of exactly the bytes, which is gone when the result is looked at. */
static void decode(const struct buffer *file, const char *name, struct arena *arena, struct container *out)
{
    uint8_t *copy = malloc(file->size);
    assert_non_null(copy);
    memcpy(copy, file->data, file->size);
    const struct input in = {copy, file->size, name};
    bool ambiguous;
    const struct format *format = format_probe(&in, &ambiguous);
    assert_false(ambiguous);
    assert_non_null(format);
    assert_true(format_decode(format, &in, arena, out));
    free(copy);
}

static void check_glb(uint8_t *bytes, size_t size)
{
    struct glb glb = glb_open(bytes, size);
    size_t number;
    json_t *accessor;
    json_array_foreach(json_object_get(glb.root, "accessors"), number, accessor)
    {
        json_t *index = json_integer((json_int_t)number);
        struct glb_accessor a = glb_accessor(&glb, index);
        const char *type = json_string_value(json_object_get(accessor, "type"));
        size_t components = strcmp(type, "SCALAR") == 0 ? 1 : (size_t)(type[strlen(type) - 1] - '0');
        for (size_t i = 0; a.type == 5126 && i < a.count * components; i++)
            assert_true(isfinite(glb_float(&a, i)));
        json_decref(index);
    }
    glb_close(&glb);
}

/* Every way out takes what was decoded; nothing in a GLB is anything but a number. */
static void export_all(const struct resource *r, const struct mesh *mesh)
{
    const struct export_item item = {.resource = r, .mesh = mesh, .name = "kind"};
    for (int format = 0; format < EXPORT_FORMAT_COUNT; format++) {
        struct error err = {0};
        char *bytes;
        size_t size;
        FILE *file = open_memstream(&bytes, &size);
        if (!export_write((enum export_format)format, &item, 1, file, &err))
            fail_msg("%s: %s", export_word((enum export_format)format), err.msg);
        fclose(file);
        assert_true(size > 0);
        if (format == EXPORT_GLB)
            check_glb((uint8_t *)bytes, size);
        else
            free(bytes);
    }
}

static void check_row(const struct row *row)
{
    struct buffer file = {0};
    struct arena arena = {0};
    struct container c;
    uint64_t offset = row->put(&file);
    print_message("%s: %s\n", row->file, row->kind); /* what failed, when something does */
    decode(&file, row->file, &arena, &c);
    assert_int_equal(c.resource_count, 1);
    const struct resource *r = &c.resources[0];
    assert_string_equal(resource_status_word(r->status), resource_status_word(row->status));
    assert_int_equal(r->reason, row->reason);
    if (offset != NOWHERE)
        assert_int_equal(r->buffer_count ? r->buffers[0].index_offset : r->error.offset, offset);
    assert_int_equal(r->flags, row->flags);
    assert_int_equal(r->vertices, row->vertices);
    assert_int_equal(r->triangles, row->triangles);
    assert_int_equal(r->bounds.valid, row->bounded);
    for (int axis = 0; axis < 3 && r->bounds.valid; axis++)
        assert_true(isfinite(r->bounds.min[axis]) && isfinite(r->bounds.max[axis]));
    assert_true(isfinite(r->score) && isfinite(r->margin));
    /* Whatever a count says, memory goes by the bytes that are there. */
    assert_true(arena.bytes < ((size_t)1 << 20) + file.size * 256);
    if (r->mesh) {
        assert_true(mesh_is_sound(r->mesh));
        export_all(r, r->mesh);
    }
    arena_free(&arena);
    buffer_free(&file);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

/* ---- recognising --------------------------------------------------------------------------------------- */

/* Bytes with a mark are what they say, under any name; of other bytes nothing is said, under any name but
 * .meshbin, whose old forms have no mark. */
static void test_names_decide_little(void **state)
{
    (void)state;
    static const char *const names[] = {"x.xpr", "x.BGF", "x.bmf", "x.meshbin", "x.zip", "", "."};
    struct buffer files[4] = {{0}};
    static const enum format_id formats[4] = {FORMAT_XPR2, FORMAT_BGF, FORMAT_MESHBIN, FORMAT_BMF};
    put_sheet(&files[0], &sheet);
    bgf_point(&files[1]);
    meshbin_point(&files[2]);
    bmf_unended(&files[3]);
    for (size_t f = 0; f < 4; f++) {
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            const struct input in = {files[f].data, files[f].size, names[n]};
            bool ambiguous;
            const struct format *format = format_probe(&in, &ambiguous);
            assert_non_null(format);
            assert_int_equal(format->id, formats[f]);
            assert_false(ambiguous);
            /* One bit off in the first byte of its mark, it is nobody's. */
            files[f].data[0] ^= 1;
            format = format_probe(&in, &ambiguous);
            if (strcmp(names[n], "x.meshbin") != 0)
                assert_null(format);
            files[f].data[0] ^= 1;
        }
        buffer_free(&files[f]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_names_decide_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
