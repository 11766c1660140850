/* test_meshbin.c - formats/meshbin.c on what it reads: every version, form and variant, the real files, and
 * the generator's kinds. What it declines is in test_meshbin_damage.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "tests/support/meshbin_build.h"

extern const struct format format_meshbin;

/* ---- sound files ---- */

static void test_versions(void **state)
{
    (void)state;
    static const char *const names[] = {"v0", "v1", "v2", "v3"};
    for (int version = 0; version <= 3; version++) {
        struct recipe r = mb_recipe(version);
        struct mb_decoded d = mb_decode_recipe(&r);
        mb_assert_pyramid(&d, names[version]);
        assert_int_equal(d.resource->flags, 0);
        assert_int_equal(d.mesh->bone_count, 0);
        arena_free(&d.arena);
    }
}

static void test_sizes_are_as_assumed(void **state)
{
    (void)state;
    static const size_t sizes[] = {V1_SIZE, V1_SIZE, V2_SIZE, V3_SIZE};
    for (int version = 0; version <= 3; version++) {
        struct recipe r = mb_recipe(version);
        struct buffer file = mb_build(&r);
        assert_int_equal(file.size, sizes[version]);
        buffer_free(&file);
    }
}

/* The order of triangles and corners, and that normals and uvs follow slot by slot. */
static void test_corners(void **state)
{
    (void)state;
    static const uint32_t vertices[6][3] = {{0, 3, 2}, {0, 2, 1}, {0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}};
    static const uint32_t uvs[6][3] = {{0, 2, 3}, {0, 3, 1}, {0, 2, 3}, {0, 2, 3}, {0, 2, 3}, {0, 2, 3}};
    static const uint32_t normals[6] = {0, 0, 1, 2, 0, 1};
    struct recipe r = mb_recipe(3);
    struct mb_decoded d = mb_decode_recipe(&r);
    const struct mesh_stream *normal = mesh_stream(d.mesh, MESH_NORMAL, 0);
    const struct mesh_stream *uv = mesh_stream(d.mesh, MESH_TEXCOORD, 0);
    assert_int_equal(normal->count, 3);
    assert_int_equal(uv->count, 4);
    for (uint32_t t = 0; t < 6; t++)
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(mesh_corner(d.mesh, &d.mesh->streams[0], t, k), vertices[t][k]);
            assert_int_equal(mesh_corner(d.mesh, uv, t, k), uvs[t][k]);
            assert_int_equal(mesh_corner(d.mesh, normal, t, k), normals[t]);
        }
    assert_true(normal->data[2] == -1.0f && normal->data[3] == 1.0f && normal->data[8] == 0.0f);
    assert_true(uv->data[2] == 10.0f && uv->data[3] == 201.0f);
    assert_int_equal(d.mesh->part_count, 1);
    assert_int_equal(d.mesh->parts[0].triangle_count, 6);
    assert_int_equal(d.mesh->parts[0].streams, 0xF);
    arena_free(&d.arena);
}

/* A quad that is no rectangle: its two triangles must cover the polygon once. A fan over the stored slots
 * would be a bow-tie of another area. */
static void test_quad_area_is_polygon_area(void **state)
{
    (void)state;
    static const double polygon[4][2] = {{0, 0}, {5, 1}, {6, 4}, {1, 3}};
    static const unsigned order[4] = {0, 3, 1, 2}; /* the exporter's slots */
    double shoelace = 0;
    for (int i = 0; i < 4; i++) {
        const double *p = polygon[i], *q = polygon[(i + 1) % 4];
        shoelace += (p[0] * q[1] - q[0] * p[1]) / 2;
    }
    struct buffer file = {0};
    struct recipe r = {.version = 1, .vertex_count = 4, .group_count = 1, .face_count = 1};
    mb_put_header(&file, &r);
    for (int i = 0; i < 4; i++) {
        put_u32le(&file, (uint32_t)(polygon[i][0] * 128));
        put_u32le(&file, (uint32_t)(polygon[i][1] * 128));
        put_u32le(&file, 0);
    }
    for (int i = 0; i < 12; i++)
        put_u8(&file, 128);
    for (int list = 0; list < 3; list++)
        for (int slot = 0; slot < 4; slot++)
            put_u16le(&file, (uint16_t)order[slot]);
    for (int i = 0; i < 12; i++)
        put_u8(&file, 0);
    struct mb_decoded d = mb_decode(&file);
    assert_int_equal(d.resource->status, RESOURCE_DECODED);
    assert_int_equal(d.resource->triangles, 2);
    mb_assert_near(mb_area(d.mesh), shoelace);
    for (uint32_t t = 0; t < 2; t++) {
        double n[3];
        mb_cross(mb_corner(d.mesh, t, 0), mb_corner(d.mesh, t, 1), mb_corner(d.mesh, t, 2), n);
        assert_true(n[2] > 0);
    }
    /* No colours, normals or uvs are given: only positions are there. */
    assert_int_equal(d.mesh->stream_count, 1);
    arena_free(&d.arena);
    buffer_free(&file);
}

static void test_colors(void **state)
{
    (void)state;
    static const struct {
        int version;
        int16_t color[3], first[3];
        bool given;
        double expected[3]; /* of vertex 0 */
    } cases[] = {
        {3, {10, 20, 30}, {255, 0, 51}, true, {1, 0, 0.2}},
        {3, {128, 128, 128}, {128, 128, 128}, false, {0}}, /* none given */
        {1, {-1, -1, -1}, {-1, -1, -1}, false, {0}},       /* i8: none given */
        {2, {128, 128, 128}, {128, 128, 127}, true, {128 / 255.0, 128 / 255.0, 127 / 255.0}},
        {'d', {-1, -1, -1}, {-1, -1, -1}, false, {0}}, /* i16: none given */
        {'d',
         {0, 51, 102},
         {-1, -1, -1},
         true,
         {128 / 255.0, 128 / 255.0, 128 / 255.0}},              /* one vertex without */
        {'a', {0, 51, 102}, {-5, 300, 102}, true, {0, 1, 0.4}}, /* out of a byte: clamped */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recipe r = mb_recipe(cases[i].version);
        memcpy(r.color, cases[i].color, sizeof r.color);
        memcpy(r.first_color, cases[i].first, sizeof r.first_color);
        struct mb_decoded d = mb_decode_recipe(&r);
        const struct mesh_stream *color = mesh_stream(d.mesh, MESH_COLOR, 0);
        assert_int_equal(color != NULL, cases[i].given);
        for (int k = 0; color && k < 3; k++)
            mb_assert_near(color->data[k], cases[i].expected[k]);
        arena_free(&d.arena);
    }
}

/* A corner of the source without uv or normal is written as -1: no error, and no other corner's value. */
static void test_missing_attributes(void **state)
{
    (void)state;
    struct recipe r = mb_recipe(3);
    r.uv_groups[1][2] = -1;
    r.normal_groups[0][1] = -1;
    /* Slot 2 of a triangle's other groups is not used, whatever it holds. */
    r.uv_groups[2][1] = 9999;
    r.normal_groups[2][1] = -7;
    struct mb_decoded d = mb_decode_recipe(&r);
    mb_assert_pyramid(&d, "v3");
    const struct mesh_stream *uv = mesh_stream(d.mesh, MESH_TEXCOORD, 0);
    const struct mesh_stream *normal = mesh_stream(d.mesh, MESH_NORMAL, 0);
    assert_int_equal(uv->count, 5);
    assert_int_equal(mesh_corner(d.mesh, uv, 2, 1), 4);
    assert_true(uv->data[8] == 0.0f && uv->data[9] == 0.0f);
    assert_int_equal(normal->count, 4);
    assert_int_equal(mesh_corner(d.mesh, normal, 1, 2), 3);
    arena_free(&d.arena);

    /* With no uvs and normals at all their groups may hold anything. */
    r = mb_recipe(3);
    r.uv_count = r.normal_count = 0;
    r.uv_groups[0][0] = 555;
    d = mb_decode_recipe(&r);
    mb_assert_pyramid(&d, "v3");
    assert_null(mesh_stream(d.mesh, MESH_TEXCOORD, 0));
    assert_null(mesh_stream(d.mesh, MESH_NORMAL, 0));
    arena_free(&d.arena);
}

static void test_skeletons(void **state)
{
    (void)state;
    static const struct {
        int version;
        bool early;
        const char *variant;
    } cases[] = {{2, false, "v2"}, {2, true, "v2-early"}, {3, false, "v3"}, {3, true, "v3-early"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recipe r = mb_recipe(cases[i].version);
        r.skeleton = true;
        r.early = cases[i].early;
        r.bone_count = 3;
        memcpy(r.bone_of_vertex, (uint8_t[]){0, 1, 2, 0, 1}, 5);
        struct mb_decoded d = mb_decode_recipe(&r);
        mb_assert_pyramid(&d, cases[i].variant);
        assert_int_equal(mb_has_flag(&d, FLAG_EARLY_FORM), cases[i].early);
        assert_int_equal(d.mesh->bone_count, 3);
        const struct mesh_bone *bone = &d.mesh->bones[2];
        assert_int_equal(d.mesh->bones[0].parent, -1);
        assert_int_equal(bone->parent, 1);
        assert_true(bone->position[0] == 3.0f && bone->position[1] == -2.0f && bone->position[2] == 2.0f);
        assert_true(bone->rotation[1] == -2896.0f / 4096 && bone->rotation[3] == 2896.0f / 4096);
        assert_true(bone->rotation[0] == 0.0f && bone->rotation[2] == 0.0f);
        const struct mesh_stream *index = mesh_stream(d.mesh, MESH_BLENDINDICES, 0);
        assert_int_equal(index != NULL, !(cases[i].version == 2 && cases[i].early));
        if (index)
            assert_true(index->components == 1 && index->count == 5 && index->data[2] == 2.0f);
        arena_free(&d.arena);
    }
}

/* Version 3 without a skeleton in its first form: an i16 radius. */
static void test_early_version_3(void **state)
{
    (void)state;
    struct recipe r = mb_recipe(3);
    r.early = true;
    struct mb_decoded d = mb_decode_recipe(&r);
    mb_assert_pyramid(&d, "v3-early");
    assert_int_equal(d.resource->flags, FLAG_BIT(FLAG_EARLY_FORM));
    arena_free(&d.arena);
}

/* Eight vertices a bone: 21 n + vertices = 29 n, both forms of version 2 close and the skeleton must decide.
 */
static void test_both_forms_of_version_2_close(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        struct buffer file = {0};
        struct recipe r = {.version = 2,
                           .vertex_count = 16,
                           .skeleton = true,
                           .bone_count = 2,
                           .early = early,
                           .parents = {0xFF, 0}};
        mb_put_header(&file, &r);
        for (int i = 0; i < 16 * 15 + 12; i++)
            put_u8(&file, 0);
        mb_put_bones(&file, &r);
        for (int i = 5; i < 16 && !early; i++) /* put_bones wrote five */
            put_u8(&file, 1);
        struct mb_decoded d = mb_decode(&file);
        assert_int_equal(d.resource->status, RESOURCE_DECODED);
        assert_string_equal(d.resource->variant, early ? "v2-early" : "v2");
        assert_true(d.mesh->bones[1].position[0] == 2.0f && d.mesh->bones[1].parent == 0);
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

/* The very first bones had no factors: whole metres, whole quaternion components. */
static void test_unscaled_bones(void **state)
{
    (void)state;
    struct recipe r = mb_recipe(2);
    r.skeleton = true;
    struct buffer file = mb_build(&r);
    file.size -= 5; /* the bone of each vertex */
    file.data[30] = 1;
    put_u8(&file, 0xFF);
    static const int32_t words[7] = {3, -4, 5, 0, 1, 0, 0};
    for (int i = 0; i < 7; i++)
        put_u32le(&file, (uint32_t)words[i]);
    struct mb_decoded d = mb_decode(&file);
    mb_assert_pyramid(&d, "v2-early");
    const struct mesh_bone *bone = &d.mesh->bones[0];
    assert_true(bone->position[0] == 3.0f && bone->position[1] == -4.0f && bone->position[2] == 5.0f);
    assert_true(bone->rotation[0] == 1.0f && bone->rotation[3] == 0.0f);
    arena_free(&d.arena);
    buffer_free(&file);
}

static void test_legacy_variants(void **state)
{
    (void)state;
    static const char *const names[] = {"legacy-a", "legacy-b", "legacy-c", "legacy-d"};
    for (int variant = 0; variant < 4; variant++) {
        struct recipe r = mb_recipe('a' + variant);
        struct mb_decoded d = mb_decode_recipe(&r);
        mb_assert_pyramid(&d, names[variant]);
        assert_int_equal(d.resource->flags, FLAG_BIT(FLAG_LEGACY));
        const struct mesh_stream *normal = mesh_stream(d.mesh, MESH_NORMAL, 0);
        const struct mesh_stream *uv = mesh_stream(d.mesh, MESH_TEXCOORD, 0);
        assert_true(normal->data[2] == -1.0f && normal->data[3] == 1.0f);
        assert_true(uv->data[2] == 10.0f && uv->data[3] == 201.0f);
        arena_free(&d.arena);
    }
}

/* Without uvs variants b and c are the same bytes. */
static void test_ambiguous_legacy(void **state)
{
    (void)state;
    struct recipe r = mb_recipe('c');
    r.uv_count = 0;
    struct mb_decoded d = mb_decode_recipe(&r);
    assert_int_equal(d.resource->status, RESOURCE_AMBIGUOUS);
    assert_string_equal(d.resource->variant, "legacy-b");
    assert_true(mb_has_flag(&d, FLAG_AMBIGUOUS_VARIANT) && mb_has_flag(&d, FLAG_LEGACY));
    mb_assert_says(&d, "legacy-c");
    mb_assert_near(mb_area(d.mesh), PYRAMID_AREA);
    arena_free(&d.arena);
}

/* Bytes that close both as legacy-b and as legacy-c. The eight bytes by which the uvs of b are longer push
 * its uv groups into the tail of c, whose first word then is an index: 5 of 4 uvs rules b out, 3 does not. */
static void test_indices_decide_between_variants(void **state)
{
    (void)state;
    static const uint32_t only_c[] = {5, 1, 5, 0, 0, 0, 0, 0}, both[] = {3, 1, 3, 0, 0, 0};
    for (int round = 0; round < 2; round++) {
        struct recipe r = mb_recipe('c');
        struct buffer file = mb_build(&r);
        file.size -= 16; /* its own tail */
        for (size_t i = 0; i < (round ? COUNT(both) : COUNT(only_c)); i++)
            put_u32le(&file, round ? both[i] : only_c[i]);
        struct mb_decoded d = mb_decode(&file);
        if (round)
            assert_int_equal(d.resource->status, RESOURCE_AMBIGUOUS);
        else
            mb_assert_pyramid(&d, "legacy-c");
        assert_int_equal(mb_has_flag(&d, FLAG_AMBIGUOUS_VARIANT), round);
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

static void test_flags(void **state)
{
    (void)state;
    /* A face of more corners than four raises face_count and writes no group. */
    struct recipe r = mb_recipe(3);
    r.face_count = 999;
    struct mb_decoded d = mb_decode_recipe(&r);
    mb_assert_pyramid(&d, "v3");
    assert_int_equal(d.resource->flags, 0);
    arena_free(&d.arena);

    /* The console refuses 1000 faces; the file is read. */
    r.face_count = 1000;
    d = mb_decode_recipe(&r);
    mb_assert_pyramid(&d, "v3");
    assert_int_equal(d.resource->flags, FLAG_BIT(FLAG_OVER_ENGINE_LIMIT));
    arena_free(&d.arena);

    /* It takes 15 bones, not 16. */
    for (uint8_t bones = 15; bones <= 16; bones++) {
        r = mb_recipe(3);
        r.skeleton = true;
        r.bone_count = bones;
        d = mb_decode_recipe(&r);
        mb_assert_pyramid(&d, "v3");
        assert_int_equal(mb_has_flag(&d, FLAG_OVER_ENGINE_LIMIT), bones > 15);
        arena_free(&d.arena);
    }

    /* One byte more than the counts need. */
    r = mb_recipe(3);
    struct buffer file = mb_build(&r);
    put_u8(&file, 0);
    d = mb_decode(&file);
    mb_assert_pyramid(&d, "v3");
    assert_int_equal(d.resource->flags, FLAG_BIT(FLAG_TRAILING_BYTES));
    arena_free(&d.arena);
    buffer_free(&file);
}

/* f32 holds every integer up to 2^24 and some beyond. */
static void test_rounding(void **state)
{
    (void)state;
    static const struct {
        int32_t value;
        bool rounded;
    } cases[] = {{1 << 24, false},       {(1 << 24) + 2, false}, {(1 << 24) + 1, true},
                 {-(1 << 24) - 1, true}, {INT32_MAX, true},      {INT32_MIN, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recipe r = mb_recipe(1);
        struct buffer file = mb_build(&r);
        for (int k = 0; k < 4; k++)
            file.data[AT_POSITIONS + k] = (uint8_t)((uint32_t)cases[i].value >> 8 * k);
        struct mb_decoded d = mb_decode(&file);
        assert_int_equal(d.resource->status, RESOURCE_DECODED);
        assert_int_equal(mb_has_flag(&d, FLAG_ROUNDED), cases[i].rounded);
        assert_true(d.mesh->streams[0].data[0] == (float)cases[i].value / 128);
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

static void test_probe(void **state)
{
    (void)state;
    const struct {
        const char *bytes, *name;
        size_t size;
        unsigned bits;
    } cases[] = {{"MESHBIN\3", "a.dat", 8, 56}, {"MESHBIN", "a.meshbin", 7, 56},
                 {"MESHBIX\3", "a.dat", 8, 0},  {"MESHBI", "a.dat", 6, 0},
                 {"MESHBI", "a.MeshBin", 6, 8}, {"anything", "a.meshbin", 8, 8},
                 {"", "a.meshbin", 0, 8},       {"", "a", 0, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct input in = {(const uint8_t *)cases[i].bytes, cases[i].size, cases[i].name};
        assert_int_equal(format_meshbin.probe(&in), cases[i].bits);
    }
}

/* ---- the real files ---- */

struct sample {
    uint8_t *data;
    size_t size;
};

static struct sample read_sample(const char *name)
{
    const char *shared = getenv("ANCHORAGE_SHARED");
    char path[4096];
    snprintf(path, sizeof path, "%s/samples/meshbin/%s", shared ? shared : "../shared", name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_message("%s is not here\n", path);
        skip();
    }
    struct sample sample = {.data = malloc(1 << 20)};
    assert_non_null(sample.data);
    sample.size = fread(sample.data, 1, 1 << 20, file);
    fclose(file);
    return sample;
}

static void check_cube(const char *name, const char *variant)
{
    struct sample sample = read_sample(name);
    struct mb_decoded d = mb_decode_named(sample.data, sample.size, name);
    assert_int_equal(d.resource->status, RESOURCE_DECODED);
    assert_string_equal(d.resource->variant, variant);
    assert_int_equal(d.resource->vertices, 8);
    assert_int_equal(d.resource->triangles, 12);
    /* A box of 0.25 x 0.25 x 0.5 m, wound outward. */
    mb_assert_near(mb_area(d.mesh), 2 * (0.25 * 0.25) + 4 * (0.25 * 0.5));
    mb_assert_near(mb_volume(d.mesh), 0.25 * 0.25 * 0.5);
    static const float min[3] = {-0.125f, -0.25f, -0.25f}, max[3] = {0.125f, 0, 0.25f};
    assert_memory_equal(d.resource->bounds.min, min, sizeof min);
    assert_memory_equal(d.resource->bounds.max, max, sizeof max);
    /* All colours are -1: none; normals are of unit length in either variant. */
    assert_null(mesh_stream(d.mesh, MESH_COLOR, 0));
    const struct mesh_stream *normal = mesh_stream(d.mesh, MESH_NORMAL, 0);
    assert_int_equal(normal->count, 6);
    for (int i = 0; i < 6; i++) {
        const float *n = normal->data + i * 3;
        assert_true(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] == 1.0f);
    }
    assert_int_equal(mesh_stream(d.mesh, MESH_TEXCOORD, 0)->count, 14);
    assert_true(mesh_stream(d.mesh, MESH_TEXCOORD, 0)->data[0] == 79.0f);
    arena_free(&d.arena);
    free(sample.data);
}

static void test_sample_cube_a(void **state)
{
    (void)state;
    check_cube("cc1950e_cube.meshbin", "legacy-a");
}

static void test_sample_cube_b(void **state)
{
    (void)state;
    check_cube("393a515_cube.meshbin", "legacy-b");
}

/* The sum of the polygons' areas straight from the file's bytes: each group read as the polygon of its slots
 * 1 3 4 2, its area half the length of the sum of cross products around it. */
static double polygons_area(const uint8_t *data)
{
    uint32_t vertices = load_u32le(data), groups = load_u32le(data + 4);
    const uint8_t *position = data + 12, *group = position + vertices * 18;
    double total = 0;
    for (uint32_t g = 0; g < groups; g++, group += 8) {
        static const int ring[4] = {0, 2, 3, 1};
        double sum[3] = {0, 0, 0};
        for (int k = 0; k < 4; k++) {
            double p[3], q[3];
            for (int i = 0; i < 3; i++) {
                p[i] = (int32_t)load_u32le(position + load_u16le(group + ring[k] * 2) * 12 + i * 4);
                q[i] = (int32_t)load_u32le(position + load_u16le(group + ring[(k + 1) % 4] * 2) * 12 + i * 4);
            }
            sum[0] += p[1] * q[2] - p[2] * q[1];
            sum[1] += p[2] * q[0] - p[0] * q[2];
            sum[2] += p[0] * q[1] - p[1] * q[0];
        }
        total += sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / 2;
    }
    return total / (128 * 128);
}

static void check_street(const char *name, const char *variant)
{
    struct sample sample = read_sample(name);
    struct mb_decoded d = mb_decode_named(sample.data, sample.size, name);
    assert_int_equal(d.resource->status, RESOURCE_DECODED);
    assert_string_equal(d.resource->variant, variant);
    assert_int_equal(d.resource->vertices, 474);
    assert_int_equal(d.resource->triangles, 720);
    mb_assert_near(mb_area(d.mesh), polygons_area(sample.data));
    /* The box that legacy-d stores in its last 12 bytes; both files hold the same street. */
    static const int box[6] = {-560, -208, -160, 80, 0, 1838};
    for (int i = 0; i < 3; i++) {
        mb_assert_near(d.resource->bounds.min[i], box[i] / 128.0);
        mb_assert_near(d.resource->bounds.max[i], box[3 + i] / 128.0);
    }
    if (strcmp(variant, "legacy-d") == 0)
        for (int i = 0; i < 6; i++)
            assert_int_equal((int16_t)load_u16le(sample.data + sample.size - 12 + i * 2), box[i]);
    assert_int_equal(mesh_stream(d.mesh, MESH_NORMAL, 0)->count, 42);
    assert_int_equal(mesh_stream(d.mesh, MESH_TEXCOORD, 0)->count, 618);
    /* It closes to the byte: one byte less or more and it is no such file. */
    struct mb_decoded less = mb_decode_named(sample.data, sample.size - 1, name);
    assert_int_equal(less.resource->reason, DECLINE_DOES_NOT_CLOSE);
    sample.data[sample.size] = 0;
    struct mb_decoded more = mb_decode_named(sample.data, sample.size + 1, name);
    assert_int_equal(more.resource->reason, DECLINE_DOES_NOT_CLOSE);
    assert_int_equal(more.resource->error.offset, sample.size);
    arena_free(&less.arena);
    arena_free(&more.arena);
    arena_free(&d.arena);
    free(sample.data);
}

static void test_sample_street_c(void **state)
{
    (void)state;
    check_street("c686df4_residential_street.meshbin", "legacy-c");
}

static void test_sample_street_d(void **state)
{
    (void)state;
    check_street("f8a665f_residential_street.meshbin", "legacy-d");
}

/* ---- the generator ---- */

static const char *truth_word(const json_t *truth, const char *field)
{
    return json_string_value(json_object_get(truth, field));
}

static void check_generated(const struct corpus_file *file)
{
    const json_t *truth = json_array_get(file->truth, 0);
    struct mb_decoded d = mb_decode_named(file->bytes.data, file->bytes.size, file->path);
    if (strcmp(resource_status_word(d.resource->status), truth_word(truth, "status")) != 0)
        fail_msg("%s: %s", file->path, resource_status_word(d.resource->status));
    const char *reason = decline_reason_word(d.resource->reason), *expected = truth_word(truth, "reason");
    assert_string_equal(reason ? reason : "-", expected ? expected : "-");
    assert_int_equal(d.resource->vertices, json_integer_value(json_object_get(truth, "vertices")));
    assert_int_equal(d.resource->triangles, json_integer_value(json_object_get(truth, "triangles")));
    uint32_t flags = 0;
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(truth, "flags"), i,
                       value) for (int flag = 0; flag < FLAG_COUNT;
                                   flag++) if (strcmp(flag_word((enum flag)flag), json_string_value(value)) ==
                                               0) flags |= FLAG_BIT(flag);
    assert_int_equal(d.resource->flags, flags);
    const json_t *bounds = json_object_get(truth, "bounds");
    assert_int_equal(d.resource->bounds.valid, json_is_object(bounds));
    for (i = 0; i < 3 && d.resource->bounds.valid; i++) {
        json_t *min = json_object_get(bounds, "min"), *max = json_object_get(bounds, "max");
        assert_true(d.resource->bounds.min[i] == (float)json_number_value(json_array_get(min, i)));
        assert_true(d.resource->bounds.max[i] == (float)json_number_value(json_array_get(max, i)));
    }
    arena_free(&d.arena);
}

static void test_generated_kinds(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 12, 60, 700, 2500};
    struct rng rng = rng_make(42, 6);
    for (unsigned kind = 0; kind < corpus_meshbin_kinds(); kind++)
        for (size_t i = 0; i < COUNT(sizes); i++) {
            struct corpus_file file;
            assert_true(corpus_meshbin(&rng, kind, sizes[i], &file));
            check_generated(&file);
            corpus_file_free(&file);
        }
}

static void test_generator_repeats_itself(void **state)
{
    (void)state;
    struct corpus_file files[2];
    for (int i = 0; i < 2; i++) {
        struct rng rng = rng_make(3, 9);
        assert_true(corpus_meshbin(&rng, 7, 300, &files[i]));
    }
    assert_int_equal(files[0].bytes.size, files[1].bytes.size);
    assert_memory_equal(files[0].bytes.data, files[1].bytes.data, files[0].bytes.size);
    assert_string_equal(files[0].path, files[1].path);
    corpus_file_free(&files[0]);
    corpus_file_free(&files[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_sizes_are_as_assumed),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_quad_area_is_polygon_area),
        cmocka_unit_test(test_colors),
        cmocka_unit_test(test_missing_attributes),
        cmocka_unit_test(test_skeletons),
        cmocka_unit_test(test_early_version_3),
        cmocka_unit_test(test_both_forms_of_version_2_close),
        cmocka_unit_test(test_unscaled_bones),
        cmocka_unit_test(test_legacy_variants),
        cmocka_unit_test(test_ambiguous_legacy),
        cmocka_unit_test(test_indices_decide_between_variants),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_sample_cube_a),
        cmocka_unit_test(test_sample_cube_b),
        cmocka_unit_test(test_sample_street_c),
        cmocka_unit_test(test_sample_street_d),
        cmocka_unit_test(test_generated_kinds),
        cmocka_unit_test(test_generator_repeats_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
