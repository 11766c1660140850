/* test_meshbin_damage.c - formats/meshbin.c on what it declines: each cause with its status, reason and
 * offset.
 */
#include <string.h>

#include "tests/support/meshbin_build.h"

static void test_unknown_version(void **state)
{
    (void)state;
    /* Version 4 may have any layout: not even its counts are known. */
    for (int version = 4; version < 256; version += 251) {
        struct recipe r = mb_recipe(1);
        struct buffer file = mb_build(&r);
        file.data[7] = (uint8_t)version;
        struct mb_decoded d = mb_decode(&file);
        mb_assert_declined(&d, DECLINE_UNKNOWN_VERSION, 7);
        assert_int_equal(d.container.status, CONTAINER_READ);
        assert_int_equal(d.resource->vertices, 0);
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

static void test_out_of_range_indices(void **state)
{
    (void)state;
    static const struct {
        int list, group, slot;
        int16_t index;
    } cases[] = {
        {0, 0, 0, 5},      /* the first vertex past the end */
        {0, 0, 1, 5},      /* slot 2 of a quad */
        {0, 4, 3, 32767},  /* the last slot of all */
        {0, 1, 2, -1},     /* -1 marks a triangle in slot 2 only */
        {0, 2, 1, -2},     /* and only -1 does */
        {1, 0, 1, 3},      /* the first normal past the end */
        {1, 3, 0, -2},     /* -1 is no normal, -2 is nothing */
        {2, 0, 3, 4},      /* the first uv past the end */
        {2, 4, 2, -32768}, /* the least i16 */
    };
    static const int starts[3] = {AT_GROUPS, AT_NORMAL_GROUPS, AT_UV_GROUPS};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recipe r = mb_recipe(1);
        int16_t(*lists[3])[4] = {r.groups, r.normal_groups, r.uv_groups};
        lists[cases[i].list][cases[i].group][cases[i].slot] = cases[i].index;
        struct mb_decoded d = mb_decode_recipe(&r);
        mb_assert_declined(&d, DECLINE_OUT_OF_RANGE_INDEX,
                           (uint64_t)(starts[cases[i].list] + cases[i].group * 8 + cases[i].slot * 2));
        assert_int_equal(d.resource->error.code, ERROR_RANGE);
        assert_int_equal(d.container.status, CONTAINER_READ);
        assert_int_equal(d.resource->vertices, PYRAMID_VERTICES);
        arena_free(&d.arena);
    }
}

/* A legacy file that closes to the byte, with one index past the end. */
static void test_out_of_range_legacy_index(void **state)
{
    (void)state;
    struct recipe r = mb_recipe('d');
    r.groups[3][2] = 5;
    struct mb_decoded d = mb_decode_recipe(&r);
    mb_assert_declined(&d, DECLINE_OUT_OF_RANGE_INDEX, 12 + 5 * 12 + 5 * 6 + 3 * 8 + 2 * 2);
    mb_assert_says(&d, "legacy-d");
    arena_free(&d.arena);
}

static void test_bad_skeletons(void **state)
{
    (void)state;
    enum { AT_BONES = V3_SIZE, AT_BONE_OF_VERTEX = AT_BONES + 3 * 21 };
    static const struct {
        int bone, vertex;
        uint8_t value;
        uint64_t offset;
    } cases[] = {
        {0, -1, 0, AT_BONES},               /* the root its own parent */
        {1, -1, 1, AT_BONES + 21},          /* a bone its own parent */
        {1, -1, 2, AT_BONES + 21},          /* a later bone */
        {2, -1, 0xFE, AT_BONES + 42},       /* -2 */
        {-1, 0, 3, AT_BONE_OF_VERTEX},      /* the first bone past the end */
        {-1, 4, 255, AT_BONE_OF_VERTEX + 4} /* the last vertex */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recipe r = mb_recipe(3);
        r.skeleton = true;
        r.bone_count = 3;
        if (cases[i].bone >= 0)
            r.parents[cases[i].bone] = cases[i].value;
        else
            r.bone_of_vertex[cases[i].vertex] = cases[i].value;
        struct mb_decoded d = mb_decode_recipe(&r);
        mb_assert_declined(&d, DECLINE_BAD_SKELETON, cases[i].offset);
        assert_int_equal(d.resource->vertices, PYRAMID_VERTICES);
        assert_int_equal(d.resource->triangles, PYRAMID_TRIANGLES);
        arena_free(&d.arena);
    }
    /* A skeleton of no bones, and vertices that need one. */
    struct recipe r = mb_recipe(3);
    r.skeleton = true;
    struct mb_decoded d = mb_decode_recipe(&r);
    mb_assert_declined(&d, DECLINE_BAD_SKELETON, AT_BONES);
    arena_free(&d.arena);
    /* An early form of version 2, bone 1 its own parent: its rotations still show what it is. */
    r = mb_recipe(2);
    r.skeleton = r.early = true;
    r.bone_count = 2;
    r.parents[1] = 1;
    d = mb_decode_recipe(&r);
    mb_assert_declined(&d, DECLINE_BAD_SKELETON, V2_SIZE + 29);
    mb_assert_says(&d, "v2-early");
    arena_free(&d.arena);
}

static void test_does_not_close(void **state)
{
    (void)state;
    /* One byte behind a legacy file: there is no "trailing bytes" without a magic. */
    struct recipe r = mb_recipe('d');
    struct buffer file = mb_build(&r);
    uint64_t end = file.size;
    put_u8(&file, 0);
    struct mb_decoded d = mb_decode(&file);
    mb_assert_declined(&d, DECLINE_DOES_NOT_CLOSE, end);
    mb_assert_says(&d, "legacy-d");
    assert_int_equal(d.resource->vertices, PYRAMID_VERTICES);
    assert_int_equal(d.resource->triangles, PYRAMID_TRIANGLES);
    assert_int_equal(d.container.status, CONTAINER_READ);
    arena_free(&d.arena);
    buffer_free(&file);

    /* A text that somebody named .meshbin. */
    static const char text[] = "not a mesh at all, only a long enough text";
    d = mb_decode_named((const uint8_t *)text, sizeof text, "notes.meshbin");
    mb_assert_declined(&d, DECLINE_DOES_NOT_CLOSE, 12);
    arena_free(&d.arena);
}

/* Counts whose blocks no file holds, one by one: refused where the block begins, before any allocation. */
static void test_huge_counts(void **state)
{
    (void)state;
    static const uint32_t huge[] = {UINT32_MAX, 0x80000000u, 0x40000000u, 0x15555556u};
    static const struct {
        int field; /* 0 vertices, 1 groups, 3 normals, 4 uvs */
        uint64_t offset;
        const char *name;
    } cases[] = {{0, AT_POSITIONS, "vertices"},
                 {1, AT_GROUPS, "vertex index groups"},
                 {3, AT_NORMALS, "normals"},
                 {4, AT_UVS, "uvs"}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t k = 0; k < COUNT(huge); k++) {
            struct recipe r = mb_recipe(1);
            struct buffer file = mb_build(&r);
            for (int byte = 0; byte < 4; byte++)
                file.data[9 + cases[i].field * 4 + byte] = (uint8_t)(huge[k] >> 8 * byte);
            struct mb_decoded d = mb_decode(&file);
            mb_assert_declined(&d, DECLINE_TRUNCATED, cases[i].offset);
            mb_assert_says(&d, cases[i].name);
            assert_int_equal(d.container.status, CONTAINER_DAMAGED);
            assert_int_equal(d.container.reason, CONTAINER_TRUNCATED);
            assert_true(d.arena.bytes < 65536);
            arena_free(&d.arena);
            buffer_free(&file);
        }
    /* 2^32 - 1 boxes, and a box of as many points, at the end of a legacy file. */
    for (int field = 0; field < 2; field++) {
        struct recipe r = mb_recipe('c');
        struct buffer file = mb_build(&r);
        memset(file.data + file.size - 16 + field * 4, 0xFF, 4);
        struct mb_decoded d = mb_decode(&file);
        assert_int_equal(d.resource->reason, DECLINE_DOES_NOT_CLOSE);
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

/* A header that promises nothing: no vertices, no faces. Sound, and empty. */
static void test_empty_mesh(void **state)
{
    (void)state;
    struct buffer file = {0};
    struct recipe r = {.version = 3};
    mb_put_header(&file, &r);
    for (int i = 0; i < 22; i++)
        put_u8(&file, 0);
    struct mb_decoded d = mb_decode(&file);
    assert_int_equal(d.resource->status, RESOURCE_DECODED);
    assert_int_equal(d.resource->vertices, 0);
    assert_false(d.resource->bounds.valid);
    arena_free(&d.arena);
    buffer_free(&file);
}

/* What is known of a file cut at `size`: the field its end falls into begins at or before the cut. */
static void assert_cut_is_declined(const struct buffer *file, size_t size, enum decline_reason reason)
{
    struct mb_decoded d = mb_decode_named(file->data, size, "x.meshbin");
    if (d.resource->status != RESOURCE_DECLINED || d.resource->reason != reason)
        fail_msg("cut at %zu of %zu: %s, %s", size, file->size, resource_status_word(d.resource->status),
                 d.resource->variant ? d.resource->variant : "-");
    assert_true(d.resource->error.offset <= size);
    if (reason == DECLINE_TRUNCATED) {
        assert_int_equal(d.container.status, CONTAINER_DAMAGED);
        assert_int_equal(d.container.reason, CONTAINER_TRUNCATED);
        assert_int_equal(d.container.error.code, ERROR_TRUNCATED);
    }
    arena_free(&d.arena);
}

static void test_every_truncation(void **state)
{
    (void)state;
    for (int version = 0; version <= 3; version++)
        for (int form = 0; form < 4; form++) {
            struct recipe r = mb_recipe(version);
            r.skeleton = form & 1;
            r.early = form & 2;
            r.bone_count = r.skeleton ? 3 : 0;
            if ((version < 2 && form) || (version == 2 && form == 2))
                continue; /* no such form */
            struct buffer file = mb_build(&r);
            for (size_t size = 0; size < file.size; size++) {
                /* Less two bytes, a version 3 without a skeleton is its own early form: the same geometry. */
                if (version == 3 && form == 0 && size == file.size - 2)
                    continue;
                /* Cut, but long enough for later bones, early bones are later ones that make no sense. */
                bool later_fits = version == 2 && form == 3 && size >= V2_SIZE + 3 * 21 + 5;
                assert_cut_is_declined(&file, size, later_fits ? DECLINE_BAD_SKELETON : DECLINE_TRUNCATED);
            }
            buffer_free(&file);
        }
}

static void test_every_legacy_truncation(void **state)
{
    (void)state;
    for (int variant = 'a'; variant <= 'd'; variant++) {
        struct recipe r = mb_recipe(variant);
        struct buffer file = mb_build(&r);
        for (size_t size = 1; size < file.size; size++) {
            /* legacy-c with 12 bytes of its tail left is legacy-d: the same geometry. With legacy-b the uvs
             * are of another size, and indices read at the wrong place give it away. */
            if (variant == 'c' && size == file.size - 4)
                continue;
            bool closes_as_d = variant == 'b' && size == file.size - 12;
            assert_cut_is_declined(&file, size,
                                   closes_as_d ? DECLINE_OUT_OF_RANGE_INDEX : DECLINE_DOES_NOT_CLOSE);
        }
        /* No bytes at all: the magic itself is cut off. */
        assert_cut_is_declined(&file, 0, DECLINE_TRUNCATED);
        buffer_free(&file);
    }
}

static void test_truncation_is_located(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t offset;
        const char *field;
    } cases[] = {
        {3, 0, "magic"},
        {7, 7, "version"},
        {8, 8, "type"},
        {AT_POSITIONS - 1, AT_POSITIONS - 4, "uv count"},
        {AT_COLORS - 1, AT_POSITIONS, "vertices"},
        {AT_GROUPS - 1, AT_COLORS, "vertex colours"},
        {AT_NORMALS - 1, AT_GROUPS, "vertex index groups"},
        {AT_NORMAL_GROUPS - 1, AT_NORMALS, "normals"},
        {AT_UVS - 1, AT_NORMAL_GROUPS, "normal index groups"},
        {AT_UV_GROUPS - 1, AT_UVS, "uvs"},
        {AT_BOX - 1, AT_UV_GROUPS, "uv index groups"},
        {V1_SIZE - 1, AT_BOX, "bounding box"},
    };
    struct recipe r = mb_recipe(1);
    r.face_count = 7;
    struct buffer file = mb_build(&r);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mb_decoded d = mb_decode_named(file.data, cases[i].size, "x.meshbin");
        mb_assert_declined(&d, DECLINE_TRUNCATED, cases[i].offset);
        mb_assert_says(&d, cases[i].field);
        if (cases[i].size > 29) {
            assert_int_equal(d.resource->vertices, PYRAMID_VERTICES);
            /* The groups count triangles once they are all there; before that the header's faces must do. */
            assert_int_equal(d.resource->triangles, cases[i].size >= AT_NORMALS ? PYRAMID_TRIANGLES : 7);
        }
        arena_free(&d.arena);
    }
    buffer_free(&file);
}

/* Any bytes whatever: a sound mesh or a reason, never more. */
static void test_random_damage(void **state)
{
    (void)state;
    static const int versions[] = {1, 2, 3, 'a', 'b', 'c', 'd'};
    struct rng rng = rng_make(7, 1);
    for (int round = 0; round < 4000; round++) {
        struct recipe r = mb_recipe(versions[rng_below(&rng, COUNT(versions))]);
        r.skeleton = (r.version == 2 || r.version == 3) && rng_chance(&rng, 50);
        r.early = rng_chance(&rng, 50);
        r.bone_count = r.skeleton ? 3 : 0;
        struct buffer file = mb_build(&r);
        for (uint32_t hits = 1 + rng_below(&rng, 4); hits; hits--)
            file.data[rng_below(&rng, (uint32_t)file.size)] = (uint8_t)rng_u64(&rng);
        struct mb_decoded d = mb_decode(&file); /* checks that the mesh is sound */
        arena_free(&d.arena);
        buffer_free(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_version),
        cmocka_unit_test(test_out_of_range_indices),
        cmocka_unit_test(test_out_of_range_legacy_index),
        cmocka_unit_test(test_bad_skeletons),
        cmocka_unit_test(test_does_not_close),
        cmocka_unit_test(test_huge_counts),
        cmocka_unit_test(test_empty_mesh),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_legacy_truncation),
        cmocka_unit_test(test_truncation_is_located),
        cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
