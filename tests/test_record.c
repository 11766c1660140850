/* test_record.c - records to bytes and back, and bytes that are no records. */
#include "store/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct source_record source = {.kind = SOURCE_CONTAINER,
                                            .path = "a.zip!b/\xff c%21.bgf",
                                            .parent = {{1, 2}},
                                            .container = {{3, 4}},
                                            .format = FORMAT_BGF,
                                            .status = CONTAINER_DAMAGED,
                                            .reason = CONTAINER_BAD_CRC,
                                            .message = "crc",
                                            .stem = "c!",
                                            .is_input = true,
                                            .bytes = UINT64_MAX,
                                            .mtime_ns = -5,
                                            .run = 7,
                                            .version = 9,
                                            .magic = "0a0b",
                                            .ending = ".bgf"};

static struct census_row census[] = {{"00", ".txt", 1, 2}, {"", "", UINT64_MAX, 4}};
static struct texture textures[] = {
    {.index = 1,
     .name = "t0",
     .valid = true,
     .width = 1,
     .height = 2,
     .depth = 3,
     .format = 4,
     .dimension = 5,
     .tiled = true,
     .contested = true,
     .base_offset = UINT64_C(1) << 40,
     .base_size = 6,
     .mip_offset = 7,
     .mip_size = 8},
    {.error = {ERROR_RANGE, 77, "texture: bad"}},
};
static struct tag_count tags[] = {{"0x2099", 3}, {"TXCM", 1}};
static const struct container_record container = {
    .bytes = 99,
    .decoder_version = 3,
    .container = {.format = FORMAT_XPR2,
                  .status = CONTAINER_DAMAGED,
                  .reason = CONTAINER_TRUNCATED,
                  .error = {ERROR_TRUNCATED, 12, "directory ends"},
                  .flags = 0x80000001u,
                  .data_offset = 2048,
                  .data_size = 4096,
                  .resource_count = 5,
                  .texture_count = 2,
                  .tag_count_count = 2,
                  .textures = textures,
                  .tag_counts = tags},
    .by_status = {1, 2, 0, 0, 2},
    .member_count = 4,
    .census_count = 2,
    .census = census,
    .images = "a.tga/b.vtx/"};

static struct part_info parts[] = {{"lib:m", NULL, "special", 1, 0, 4, true, false},
                                   {NULL, "back", NULL, 0, 1, 5, false, true}};
static struct object_info objects[] = {{"hull"}, {NULL}};
static struct lod_info lods[] = {{0, true, false, 0, 0, 12}, {1, false, true, -0.0f, 100.5f, 13}};
static struct tagged_string strings[] = {{0x10, "tex.tga"}, {0x11, NULL}};
static struct material_info materials[] = {{"steel", 0x30, true, 2, strings}, {NULL, 0, false, 0, NULL}};
static const char *nodes[] = {"node0", ""};
static struct vertex_element elements[] = {{0, 0, 0, 0x2A23B9, 12}, {12, 3, 1, 7, 0}};
static struct xbg7_draw draws[] = {{3, 6}, {9, 12}};
static struct xbg7_marker markers[] = {{16, 100, 300, 1, 2, 32, 2, elements, 2, draws}};
static struct buffer_place buffers[] = {{1, UINT64_C(5) << 32, 3, 4, 32}};

static struct resource_record full_resource(void)
{
    struct resource_record record = {.geometry = {{9}}, .geometry_bytes = 1234, .part_count = 2};
    record.resource = (struct resource){.format = FORMAT_XBG7,
                                        .index = 3,
                                        .name = "e003",
                                        .status = RESOURCE_ASSIGNED,
                                        .reason = DECLINE_NONE,
                                        .score = 12.25,
                                        .margin = -0.0,
                                        .flags = FLAG_BIT(FLAG_ROUNDED),
                                        .vertices = 100,
                                        .triangles = 100,
                                        .bounds = {true, {-1.5f, -0.0f, 3}, {2, 1e-42f, INFINITY}},
                                        .variant = "legacy-a",
                                        .parts = parts,
                                        .object_count = 2,
                                        .lod_count = 2,
                                        .material_count = 2,
                                        .marker_count = 1,
                                        .buffer_count = 1,
                                        .node_count = 2,
                                        .objects = objects,
                                        .lods = lods,
                                        .materials = materials,
                                        .nodes = nodes,
                                        .markers = markers,
                                        .buffers = buffers};
    return record;
}

static const struct run_stage run_stages[2] = {{"ingest", 70, 80, 90}, {"resolve", UINT64_MAX, 0, 0}};
static const struct run_condition run_conditions[1] = {{"memory", "2 GB"}};
static const struct run_record run = {.id = 4,
                                      .started_ns = 5,
                                      .finished_ns = 6,
                                      .version = "1.0",
                                      .arguments = "run -s x",
                                      .inputs = 1,
                                      .containers = 2,
                                      .resources = 3,
                                      .bytes_read = 4,
                                      .bytes_decoded = 5,
                                      .skipped_unchanged = 6,
                                      .by_status = {1, 2, 3, 4, UINT64_MAX},
                                      .exit_status = -1,
                                      .stage_count = 2,
                                      .condition_count = 1,
                                      .stages = run_stages,
                                      .conditions = run_conditions};

/* One record of any kind: reads the bytes, and writes what was read when `out` is not NULL. */
typedef bool kind_fn(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                     struct error *err);

static bool source_kind(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                        struct error *err)
{
    struct source_record record;
    return source_read(bytes, size, arena, &record, err) && (!out || source_write(out, &record));
}

static bool container_kind(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                           struct error *err)
{
    struct container_record record;
    return container_read(bytes, size, arena, &record, err) && (!out || container_write(out, &record));
}

static bool resource_kind(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                          struct error *err)
{
    struct resource_record record;
    return resource_read(bytes, size, arena, &record, err) && (!out || resource_write(out, &record));
}

static bool run_kind(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                     struct error *err)
{
    struct run_record record;
    return run_read(bytes, size, arena, &record, err) && (!out || run_write(out, &record));
}

#define KINDS 4
static kind_fn *const kinds[KINDS] = {source_kind, container_kind, resource_kind, run_kind};

static struct buffer written(int kind)
{
    struct buffer out = {0};
    struct resource_record resource = full_resource();
    assert_true(kind == 0   ? source_write(&out, &source)
                : kind == 1 ? container_write(&out, &container)
                : kind == 2 ? resource_write(&out, &resource)
                            : run_write(&out, &run));
    return out;
}

/* Written, read and written again gives the same bytes: no field is lost that is written. */
static void rewriting_is_stable(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct buffer first = written(kind), second = {0};
        struct arena arena = {0};
        struct error err = {0};
        assert_true(kinds[kind](first.data, first.size, &arena, &second, &err));
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        buffer_free(&first);
        buffer_free(&second);
        arena_free(&arena);
    }
}

static void same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void source_fields(void **state)
{
    struct buffer bytes = written(0);
    struct arena arena = {0};
    struct error err = {0};
    struct source_record got;
    (void)state;
    assert_true(source_read(bytes.data, bytes.size, &arena, &got, &err));
    assert_int_equal(got.kind, source.kind);
    same_text(got.path, source.path);
    same_text(got.stem, source.stem);
    same_text(got.message, source.message);
    same_text(got.magic, source.magic);
    same_text(got.ending, source.ending);
    assert_true(hash_equal(&got.parent, &source.parent) && hash_equal(&got.container, &source.container));
    assert_int_equal(got.format, source.format);
    assert_int_equal(got.status, source.status);
    assert_int_equal(got.reason, source.reason);
    assert_true(got.is_input);
    assert_true(got.bytes == source.bytes && got.mtime_ns == source.mtime_ns && got.run == source.run);
    assert_int_equal(got.version, source.version);
    buffer_free(&bytes);
    arena_free(&arena);
}

static void container_fields(void **state)
{
    struct buffer bytes = written(1);
    struct arena arena = {0};
    struct error err = {0};
    struct container_record got;
    struct container_head head;
    (void)state;
    assert_true(container_read_head(bytes.data, bytes.size, &head, &err));
    assert_int_equal(head.decoder_version, 3);
    assert_int_equal(head.reason, container.container.reason);
    assert_int_equal(head.resource_count, 5);
    assert_memory_equal(head.by_status, container.by_status, sizeof head.by_status);
    /* It ends inside the counts by status, which are behind 49 bytes. */
    assert_false(container_read_head(bytes.data, 60, &head, &err));
    assert_int_equal(err.code, ERROR_TRUNCATED);
    error_clear(&err);
    assert_true(container_read(bytes.data, bytes.size, &arena, &got, &err));
    assert_int_equal(got.bytes, 99);
    assert_int_equal(got.container.format, FORMAT_XPR2);
    assert_int_equal(got.container.flags, container.container.flags);
    assert_int_equal(got.container.resource_count, 5);
    assert_int_equal(got.container.error.code, ERROR_TRUNCATED);
    assert_int_equal(got.container.error.offset, 12);
    assert_string_equal(got.container.error.msg, "directory ends");
    assert_int_equal(got.container.texture_count, 2);
    assert_true(got.container.textures[0].base_offset == UINT64_C(1) << 40);
    assert_true(got.container.textures[0].tiled && got.container.textures[0].contested);
    assert_null(got.container.textures[1].name);
    assert_string_equal(got.container.textures[1].error.msg, "texture: bad");
    assert_string_equal(got.container.tag_counts[0].tag, "0x2099");
    assert_int_equal(got.container.tag_counts[0].count, 3);
    assert_memory_equal(got.by_status, container.by_status, sizeof got.by_status);
    assert_int_equal(got.member_count, 4);
    same_text(got.census[0].ending, ".txt");
    assert_true(got.census[1].count == UINT64_MAX);
    assert_string_equal(got.images, "a.tga/b.vtx/");
    /* Version 1 ends with the census. */
    bytes.data[0] = 1;
    bytes.size -= 4 + strlen(container.images);
    assert_true(container_read(bytes.data, bytes.size, &arena, &got, &err));
    assert_null(got.images);
    buffer_free(&bytes);
    arena_free(&arena);
}

static void resource_fields(void **state)
{
    struct buffer bytes = written(2);
    struct arena arena = {0};
    struct error err = {0};
    struct resource_record got, want = full_resource();
    (void)state;
    assert_true(resource_read(bytes.data, bytes.size, &arena, &got, &err));
    const struct resource *r = &got.resource;
    assert_true(hash_equal(&got.geometry, &want.geometry));
    assert_int_equal(got.geometry_bytes, 1234);
    assert_int_equal(got.part_count, 2);
    assert_int_equal(r->format, FORMAT_XBG7);
    assert_int_equal(r->status, RESOURCE_ASSIGNED);
    assert_true(r->score == 12.25 && r->margin == 0 && signbit(r->margin));
    assert_true(r->bounds.valid);
    assert_memory_equal(r->bounds.min, want.resource.bounds.min,
                        sizeof r->bounds.min); /* bit for bit: -0, subnormal */
    assert_memory_equal(r->bounds.max, want.resource.bounds.max, sizeof r->bounds.max);
    same_text(r->name, "e003");
    same_text(r->variant, "legacy-a");
    same_text(r->parts[0].material, "lib:m");
    same_text(r->parts[0].back_material, NULL);
    assert_true(r->parts[0].faceted && r->parts[1].decal);
    assert_int_equal(r->parts[1].lod, 1);
    same_text(r->objects[1].name, NULL);
    assert_true(r->lods[0].implicit && r->lods[1].has_distance);
    assert_int_equal(r->lods[1].triangles, 13);
    same_text(r->materials[0].strings[0].text, "tex.tga");
    same_text(r->materials[0].strings[1].text, NULL);
    same_text(r->nodes[1], "");
    assert_int_equal(r->markers[0].elements[1].offset, 12);
    assert_int_equal(r->markers[0].elements[0].format, 0x2A23B9);
    assert_int_equal(r->markers[0].draws[1].index_count, 12);
    assert_true(r->buffers[0].vertex_offset == UINT64_C(5) << 32);
    buffer_free(&bytes);
    arena_free(&arena);
}

/* A writer that has the mesh at hand need not count its parts. */
static void parts_are_counted_from_the_mesh(void **state)
{
    struct mesh mesh = {.part_count = 2};
    struct resource_record record = full_resource(), got;
    struct buffer bytes = {0};
    struct arena arena = {0};
    struct error err = {0};
    (void)state;
    record.part_count = 0;
    record.resource.mesh = &mesh;
    assert_true(resource_write(&bytes, &record));
    assert_true(resource_read(bytes.data, bytes.size, &arena, &got, &err));
    assert_int_equal(got.part_count, 2);
    assert_null(got.resource.mesh);
    buffer_free(&bytes);
    arena_free(&arena);
}

/* Memory of the exact size, so that the sanitizer sees a read past it. */
static bool read_hostile(int kind, const uint8_t *bytes, size_t size, struct error *err)
{
    struct arena arena = {0};
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    *err = (struct error){0};
    bool read = kinds[kind](copy, size, &arena, NULL, err);
    assert_true(read == (err->code == ERROR_NONE));
    assert_true(arena.bytes < 64 * size + 65536);
    free(copy);
    arena_free(&arena);
    return read;
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct buffer bytes = written(kind);
        struct error err;
        for (size_t size = 0; size < bytes.size; size++) {
            assert_false(read_hostile(kind, bytes.data, size, &err));
            assert_int_equal(err.code, ERROR_TRUNCATED);
            assert_true(err.offset <= size);
        }
        buffer_append(&bytes, "x", 1);
        assert_false(read_hostile(kind, bytes.data, bytes.size, &err));
        assert_int_equal(err.code, ERROR_MALFORMED); /* a byte behind the end */
        assert_int_equal(err.offset, bytes.size - 1);
        buffer_free(&bytes);
    }
}

static void flips_do_no_harm(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct buffer bytes = written(kind);
        struct error err;
        for (size_t i = 0; i < bytes.size; i++) {
            static const uint8_t masks[] = {0x01, 0x80, 0xFF};
            for (size_t k = 0; k < sizeof masks; k++) {
                bytes.data[i] ^= masks[k];
                read_hostile(kind, bytes.data, bytes.size, &err);
                bytes.data[i] ^= masks[k];
            }
        }
        buffer_free(&bytes);
    }
}

static void bad_fields_are_refused(void **state)
{
    static const struct {
        int kind;
        size_t offset;
        uint8_t value;
        enum error_code code;
    } cases[] = {
        {0, 0, 2, ERROR_UNSUPPORTED},                    /* a later version */
        {0, 1, 0, ERROR_RANGE},                          /* kind 0 is none */
        {0, 1, SOURCE_DIRECTORY + 1, ERROR_RANGE},       /* an unknown kind */
        {0, 2, FORMAT_COUNT, ERROR_RANGE},               /* an unknown format */
        {0, 4, CONTAINER_REASON_COUNT, ERROR_RANGE},     /* an unknown reason */
        {0, 5, 2, ERROR_RANGE},                          /* is_input neither 0 nor 1 */
        {0, 70, 0, ERROR_MALFORMED},                     /* a NUL inside the path, which starts at 70 */
        {1, 6, CONTAINER_SKIPPED + 1, ERROR_RANGE},      /* an unknown status */
        {2, 2, RESOURCE_STATUS_COUNT, ERROR_RANGE},      /* an unknown status */
        {2, 3, DECLINE_REASON_COUNT, ERROR_RANGE},       /* an unknown reason */
        {2, 60, 2, ERROR_RANGE},                         /* bounds neither valid nor not */
        {3, 77, RESOURCE_STATUS_COUNT + 1, ERROR_RANGE}, /* counts of a status this program does not know */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer bytes = written(cases[i].kind);
        struct error err;
        assert_true(read_hostile(cases[i].kind, bytes.data, bytes.size, &err));
        bytes.data[cases[i].offset] = cases[i].value;
        assert_false(read_hostile(cases[i].kind, bytes.data, bytes.size, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_true(err.offset >= cases[i].offset);
        buffer_free(&bytes);
    }
}

/* A part that names a third object of two would send a reader of records out of bounds. */
static void bad_references_are_refused(void **state)
{
    struct resource_record record = full_resource();
    struct part_info wrong[2] = {parts[0], parts[1]};
    struct buffer bytes = {0};
    struct error err;
    (void)state;
    wrong[1].object = 2;
    record.resource.parts = wrong;
    assert_true(resource_write(&bytes, &record));
    assert_false(read_hostile(2, bytes.data, bytes.size, &err));
    assert_int_equal(err.code, ERROR_RANGE);
    buffer_free(&bytes);
}

/* Stores written before stages were kept have runs that end with the arguments. */
static void older_runs_are_read(void **state)
{
    struct run_record plain = run, read;
    struct buffer bytes = {0};
    struct arena arena = {0};
    struct error err = {0};
    (void)state;
    plain.stage_count = plain.condition_count = 0;
    assert_true(run_write(&bytes, &plain));
    bytes.data[0] = 1;
    assert_true(run_read(bytes.data, bytes.size - 2 * 4, &arena, &read, &err)); /* two empty lists */
    assert_int_equal(read.id, run.id);
    assert_string_equal(read.arguments, run.arguments);
    assert_int_equal(read.stage_count + read.condition_count, 0);
    bytes.data[0] = 3; /* a version that is not there yet */
    assert_false(run_read(bytes.data, bytes.size, &arena, &read, &err));
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    buffer_free(&bytes);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewriting_is_stable),
        cmocka_unit_test(older_runs_are_read),
        cmocka_unit_test(source_fields),
        cmocka_unit_test(container_fields),
        cmocka_unit_test(resource_fields),
        cmocka_unit_test(parts_are_counted_from_the_mesh),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(flips_do_no_harm),
        cmocka_unit_test(bad_fields_are_refused),
        cmocka_unit_test(bad_references_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
