/* test_topology.c - whether stored normals tell a list of triangles from a strip, and what cannot tell. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "formats/topology.h"

#define VERTICES 9

/* Nine vertices in zigzag, as a strip would take them: (i / 2, i % 2, 0), with the normal -z. The first
 * triangle is wound to agree, and every second one of a strip is turned. */
static struct mesh *zigzag(struct arena *arena, struct mesh_stream **normal)
{
    struct mesh *mesh = mesh_new(arena, VERTICES, 3, 1);
    assert_non_null(mesh);
    *normal = mesh_add_stream(mesh, arena, MESH_NORMAL, 0, 3, VERTICES, false);
    assert_non_null(*normal);
    for (uint32_t i = 0; i < VERTICES; i++) {
        mesh->streams[0].data[3 * i] = (float)(i / 2);
        mesh->streams[0].data[3 * i + 1] = (float)(i % 2);
        mesh->streams[0].data[3 * i + 2] = 0;
        (*normal)->data[3 * i] = (*normal)->data[3 * i + 1] = 0;
        (*normal)->data[3 * i + 2] = -1;
        mesh->streams[0].corner[i] = i;
    }
    mesh->parts[0] = (struct mesh_part){.triangle_count = 3, .streams = 3};
    return mesh;
}

static void test_strip(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct mesh_stream *normal;
    struct topology t = topology_of(zigzag(&arena, &normal));
    assert_int_equal(t.strip_faces, VERTICES - 2);
    assert_true(t.strip == 1);
    assert_int_equal(t.list_faces, 3);
    assert_true(t.list == 2.0 / 3); /* the middle one is a turned one of the strip */
    arena_free(&arena);
}

static void test_list(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct mesh_stream *normal;
    struct mesh *mesh = zigzag(&arena, &normal);
    mesh->streams[0].corner[3] = 4; /* the middle one turned back */
    mesh->streams[0].corner[4] = 3;
    assert_true(topology_of(mesh).list == 1);
    for (int i = 0; i < VERTICES; i++)
        normal->data[3 * i + 2] = 1; /* inverted all over: as sure a sign */
    assert_true(topology_of(mesh).list == 0);
    assert_int_equal(topology_of(mesh).list_faces, 3);
    arena_free(&arena);
}

/* Normals of 0, without a number, of another part, or none: no face counts, and nothing is divided by. */
static void test_nothing_to_compare(void **state)
{
    (void)state;
    static const float values[] = {0, NAN};
    struct arena arena = {0};
    struct mesh_stream *normal;
    for (int kind = 0; kind < 4; kind++) {
        struct mesh *mesh = zigzag(&arena, &normal);
        for (int i = 0; i < VERTICES && kind < 2; i++)
            normal->data[3 * i + 2] = values[kind];
        if (kind == 2)
            mesh->parts[0].streams = 1;
        if (kind == 3)
            mesh->stream_count = 1;
        struct topology t = topology_of(mesh);
        assert_int_equal(t.list_faces, 0);
        assert_int_equal(t.strip_faces, 0);
        assert_true(t.list == 0 && t.strip == 0);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_nothing_to_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
