/* test_mesh.c - the canonical serialisation: what hashes are taken over must not move, and must be read back
 * safely. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "formats/mesh.h"

/* A quad with its own normal indices, a colour stream and a bone. */
static struct mesh *quad(struct arena *arena)
{
    static const float position[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    static const uint32_t corner[] = {0, 1, 2, 0, 2, 3};
    struct mesh *mesh = mesh_new(arena, 4, 2, 1);
    memcpy(mesh->streams[0].data, position, sizeof position);
    memcpy(mesh->streams[0].corner, corner, sizeof corner);
    mesh->parts[0] = (struct mesh_part){0, 2, 0, 4, 7};
    struct mesh_stream *normal = mesh_add_stream(mesh, arena, MESH_NORMAL, 0, 3, 1, true);
    normal->data[2] = 1;
    struct mesh_stream *colour = mesh_add_stream(mesh, arena, MESH_COLOR, 0, 4, 4, false);
    for (int i = 0; i < 16; i++)
        colour->data[i] = (float)i / 16;
    mesh->bones = arena_alloc(arena, sizeof *mesh->bones);
    mesh->bones[0] = (struct mesh_bone){-1, {1, 2, 3}, {0, 0, 0, 1}};
    mesh->bone_count = 1;
    return mesh;
}

static void test_round_trip(void **state)
{
    struct arena arena = {0};
    struct error err = {0};
    struct mesh *mesh = quad(&arena);
    size_t size = mesh_canonical_size(mesh);
    uint8_t *first = malloc(size), *second = malloc(size);
    (void)state;
    assert_true(mesh_is_sound(mesh));
    mesh_write(mesh, first);
    struct mesh *back = mesh_read(first, size, &arena, &err);
    assert_non_null(back);
    assert_int_equal(mesh_canonical_size(back), size);
    mesh_write(back, second);
    assert_memory_equal(first, second, size);
    assert_int_equal(mesh_corner(back, mesh_stream(back, MESH_NORMAL, 0), 1, 2), 0);
    assert_int_equal(mesh_corner(back, mesh_stream(back, MESH_COLOR, 0), 1, 2), 3);
    free(first);
    free(second);
    arena_free(&arena);
}

/* Stores outlive programs: these bytes are version 1 for ever. */
static void test_layout_is_fixed(void **state)
{
    struct arena arena = {0};
    struct mesh *mesh = mesh_new(&arena, 1, 0, 0);
    static const uint8_t expected[] = {'A', 'M', 'S', 'H', 1, 0, 0,    0,    1, 0, 0, 0, 0, 0, 0, 0,   1, 0,
                                       0,   0,   0,   0,   0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0,   3, 1,
                                       1,   0,   0,   0,   0, 0, 0x80, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0x80};
    uint8_t written[sizeof expected];
    (void)state;
    mesh->streams[0].data[0] = 1;
    mesh->streams[0].data[2] = -0.0f;
    assert_int_equal(mesh_canonical_size(mesh), sizeof expected);
    mesh_write(mesh, written);
    assert_memory_equal(written, expected, sizeof expected);
    arena_free(&arena);
}

/* Every length and every single-byte change either reads as a sound mesh or is refused: never more. */
static void test_hostile_bytes(void **state)
{
    struct arena arena = {0}, scratch = {0};
    struct mesh *mesh = quad(&arena);
    size_t size = mesh_canonical_size(mesh);
    uint8_t *bytes = malloc(size);
    (void)state;
    mesh_write(mesh, bytes);
    for (size_t n = 0; n < size; n++) {
        struct error err = {0};
        uint8_t *cut = malloc(n ? n : 1); /* its own allocation, so that a read past it is seen */
        memcpy(cut, bytes, n);
        assert_null(mesh_read(cut, n, &scratch, &err));
        assert_int_not_equal(err.code, ERROR_NONE);
        free(cut);
    }
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct error err = {0};
            bytes[i] ^= (uint8_t)(1 << bit);
            struct mesh *read = mesh_read(bytes, size, &scratch, &err);
            assert_true(read ? mesh_is_sound(read) : err.code != ERROR_NONE);
            bytes[i] ^= (uint8_t)(1 << bit);
            arena_reset(&scratch);
        }
    free(bytes);
    arena_free(&scratch);
    arena_free(&arena);
}

static void test_bounds_skip_non_finite(void **state)
{
    struct arena arena = {0};
    struct mesh *mesh = quad(&arena);
    (void)state;
    assert_false(mesh_has_non_finite(mesh));
    mesh->streams[0].data[3] = NAN;
    struct bounds bounds = mesh_bounds(mesh);
    assert_true(bounds.valid && bounds.max[0] == 1 && bounds.max[1] == 1);
    assert_true(mesh_has_non_finite(mesh));
    for (int i = 0; i < 12; i++)
        mesh->streams[0].data[i] = INFINITY;
    assert_false(mesh_bounds(mesh).valid);
    arena_free(&arena);
}

static void test_unsound_is_seen(void **state)
{
    struct arena arena = {0};
    struct mesh *mesh = quad(&arena);
    (void)state;
    mesh->streams[0].corner[5] = 4; /* the count itself */
    assert_false(mesh_is_sound(mesh));
    mesh->streams[0].corner[5] = 3;
    mesh->parts[0].vertex_count = 3; /* corner 3 leaves the part */
    assert_false(mesh_is_sound(mesh));
    mesh->parts[0].vertex_count = 4;
    mesh->bones[0].parent = 0; /* its own parent */
    assert_false(mesh_is_sound(mesh));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_layout_is_fixed),
        cmocka_unit_test(test_hostile_bytes),   cmocka_unit_test(test_bounds_skip_non_finite),
        cmocka_unit_test(test_unsound_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
