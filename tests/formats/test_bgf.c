/* test_bgf.c - BGF models: vertices, faces, hierarchy, strings, and what becomes of bad indices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "bench/corpus/corpus.h"
#include "formats/chunk.h"
#include "tests/support/chunk_build.h"

static void assert_corners(const struct mesh *mesh, const uint32_t *expected, size_t triangles)
{
    assert_int_equal(mesh->triangle_count, triangles);
    assert_memory_equal(mesh->streams[0].corner, expected, triangles * 12);
}

/* Declined because of an index: the file was read. */
static void assert_out_of_range(struct chunk_build *w, uint64_t offset)
{
    struct decoded r = decode_model(w);
    assert_int_equal(r.container.status, CONTAINER_READ);
    assert_int_equal(r.resource->status, RESOURCE_DECLINED);
    assert_int_equal(r.resource->reason, DECLINE_OUT_OF_RANGE_INDEX);
    assert_int_equal(r.resource->error.code, ERROR_RANGE);
    assert_int_equal(r.resource->error.offset, offset);
    assert_true(r.resource->flags & FLAG_BIT(FLAG_BAD_PMESH));
    assert_null(r.mesh);
    free_decoded(&r);
}

/* ---- vertices ------------------------------------------------------------------------------------------ */

/* Checks a stream's entry for vertex 1 of the only part: its first float stands `field` floats into the
 * vertex. */
static void assert_field(const struct mesh *mesh, enum mesh_usage usage, unsigned stride, int field)
{
    const struct mesh_stream *stream = mesh_stream(mesh, usage, 0);
    if (field < 0) {
        assert_null(stream);
        return;
    }
    assert_non_null(stream);
    assert_int_equal(stream->count, mesh->vertex_count);
    for (unsigned c = 0; c < stream->components; c++)
        assert_true(stream->data[stream->components + c] ==
                    7.0f + (float)stride / 4 + (float)field + (float)c);
}

static void test_every_vertex_tag(void **state)
{
    (void)state;
    static const struct {
        unsigned tag, stride;
        int normal, color, uv;
    } layouts[] = {
        {0x0080, 12, -1, -1, -1}, {0x0081, 24, 3, -1, -1}, {0x0082, 28, -1, 3, -1},
        {0x0088, 20, -1, -1, 3},  {0x0089, 32, 3, -1, 6},  {0x008A, 36, -1, 3, 7},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct chunk_build w = begin_model(0);
        open_pmesh(&w);
        vertex_chunk(&w, layouts[i].tag, layouts[i].stride, 4, 7.0f);
        conn(&w, 3, 1, 0);
        end_model(&w);
        struct decoded r = decode_model(&w);
        assert_decoded(&r, 4, 1);
        assert_field(r.mesh, MESH_POSITION, layouts[i].stride, 0);
        assert_field(r.mesh, MESH_NORMAL, layouts[i].stride, layouts[i].normal);
        assert_field(r.mesh, MESH_COLOR, layouts[i].stride, layouts[i].color);
        assert_field(r.mesh, MESH_TEXCOORD, layouts[i].stride, layouts[i].uv);
        assert_int_equal(r.mesh->parts[0].streams, (1u << r.mesh->stream_count) - 1);
        assert_true(r.resource->bounds.valid);
        assert_true(r.resource->bounds.min[2] == 9.0f);
        assert_true(r.resource->bounds.max[0] == 7.0f + 3.0f * (float)layouts[i].stride / 4);
        free_decoded(&r);
    }
}

/* PMESHes of different tags share streams of full length, zero where one has no such field. */
static void test_streams_of_mixed_pmeshes(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, 1.0f);
    conn(&w, 0, 1, 2);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PMESH);
    vertex_chunk(&w, CHUNK_XYZ_N_UV, 32, 3, 100.0f);
    conn(&w, 2, 1, 0);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 6, 2);
    assert_corners(r.mesh, (const uint32_t[]){0, 1, 2, 5, 4, 3}, 2);
    assert_int_equal(r.mesh->part_count, 2);
    assert_int_equal(r.mesh->parts[0].streams, 1);
    assert_int_equal(r.mesh->parts[1].streams, 7);
    assert_int_equal(r.mesh->parts[1].first_vertex, 3);
    assert_int_equal(r.mesh->parts[1].first_triangle, 1);
    assert_int_equal(r.resource->parts[0].patch, r.resource->parts[1].patch);
    const struct mesh_stream *normal = mesh_stream(r.mesh, MESH_NORMAL, 0);
    assert_true(normal->data[8] == 0.0f && normal->data[9] == 103.0f);
    free_decoded(&r);
}

/* ---- faces --------------------------------------------------------------------------------------------- */

/* Both kinds of list, several of each, in file order; quads and hexagons are fanned. */
static void test_mixed_lists(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ_UV, 20, 8, 0.0f);
    pconn(&w, 4, 0, 1, 2, 3, 4, 5, 6, 7);
    conn(&w, 7, 6, 5);
    pconn(&w, 6, 0, 1, 2, 3, 4, 5);
    conn(&w, 1, 2, 3, 3, 2, 1);
    pconn(&w, 3, 6, 7, 0);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 8, 12);
    const uint32_t expected[] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7, 7, 6, 5, 0, 1, 2,
                                 0, 2, 3, 0, 3, 4, 0, 4, 5, 1, 2, 3, 3, 2, 1, 6, 7, 0};
    assert_corners(r.mesh, expected, 12);
    assert_int_equal(r.mesh->parts[0].triangle_count, 12);
    free_decoded(&r);
}

/* Empty lists hold no face and break nothing; a vertex block may stand behind its faces. */
static void test_empty_lists_and_order(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    leaf_chunk(&w, CHUNK_CONNECTION_LIST, "", 0);
    leaf_chunk(&w, CHUNK_PCONN_LIST, "\5", 1);
    conn(&w, 0, 2, 1);
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, 0.0f);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PMESH); /* says nothing, gives no part */
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    assert_int_equal(r.mesh->part_count, 1);
    assert_corners(r.mesh, (const uint32_t[]){0, 2, 1}, 1);
    free_decoded(&r);
}

/* 255 points a face: the largest fan. */
static void test_largest_face(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 255, 0.0f);
    open_chunk(&w, CHUNK_PCONN_LIST);
    put_u8(&w.out, 255);
    for (uint32_t i = 0; i < 255; i++)
        put_u32le(&w.out, i);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 255, 253);
    assert_int_equal(r.mesh->streams[0].corner[252 * 3 + 2], 254);
    free_decoded(&r);
}

/* ---- hierarchy ----------------------------------------------------------------------------------------- */

static void test_patch_strings(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    text_chunk(&w, CHUNK_NAME, "calp");
    open_chunk(&w, CHUNK_LOD);
    open_chunk(&w, CHUNK_PATCH);
    reference_chunk(&w, CHUNK_SV_F_MATERIAL, 1, "basev:shadow_mtl");
    reference_chunk(&w, CHUNK_SV_B_MATERIAL, 1, "basev:b\xE9ton"); /* bytes as they are, UTF-8 or not */
    leaf_chunk(&w, CHUNK_SV_FACETED, "\1", 1);
    leaf_chunk(&w, CHUNK_SV_DECAL, "", 0);
    text_chunk(&w, CHUNK_SV_SPECIAL, " GEOMETRIZE  0x8000001a ");
    small_pmesh(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH);
    leaf_chunk(&w, CHUNK_SV_DECAL, "\1", 1);
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 9, 3);
    const struct part_info *part = r.resource->parts;
    assert_string_equal(part[0].material, "basev:shadow_mtl");
    assert_string_equal(part[0].back_material, "basev:b\xE9ton");
    assert_string_equal(part[0].special, " GEOMETRIZE  0x8000001a ");
    assert_true(part[0].faceted && part[0].decal);
    assert_null(part[1].material);
    assert_null(part[1].back_material);
    assert_null(part[1].special);
    assert_false(part[1].faceted || part[1].decal);
    assert_int_equal(part[1].patch, 1);
    assert_true(part[2].decal && !part[2].faceted);
    assert_string_equal(r.resource->objects[0].name, "calp");
    free_decoded(&r);
}

/* The string that is read from one SV_F_MATERIAL leaf of these bytes. */
static void assert_material(const void *payload, size_t size, const char *expected)
{
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    open_chunk(&w, CHUNK_PATCH);
    leaf_chunk(&w, CHUNK_SV_F_MATERIAL, payload, size);
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    const char *material = r.resource->parts[0].material;
    if (expected && material)
        assert_string_equal(material, expected);
    assert_int_equal(expected != NULL, material != NULL);
    free_decoded(&r);
}

static void test_material_references(void **state)
{
    (void)state;
    assert_material("\1lib:a", 7, "lib:a");
    assert_material("\1lib:a", 6, "lib:a");        /* no NUL: the chunk's length bounds it */
    assert_material("\1lib:a\0junk", 11, "lib:a"); /* bytes behind the NUL are not part of it */
    assert_material("\1", 1, NULL);
    assert_material("\1\0", 2, NULL);
    assert_material("", 0, NULL);
    assert_material("\0lib:a", 7, "lib:a"); /* another mattype: kept, there is a string */
    assert_material("\0lib:a", 6, NULL);    /* another mattype without a NUL: may be anything */
    assert_material("\2\x07\0\0\0", 5, NULL);
}

static void put_distance(struct chunk_build *w, float in, float out)
{
    open_chunk(w, CHUNK_LOD_DISTANCE);
    put_f32le(&w->out, in);
    put_f32le(&w->out, out);
    close_chunk(w);
}

static void test_lods_and_objects(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    text_chunk(&w, CHUNK_NAME, "first");
    open_chunk(&w, CHUNK_LOD);
    put_distance(&w, 0.0f, 150.5f);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    small_pmesh(&w);
    close_chunk(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_LOD); /* a distance of another length is not read */
    leaf_chunk(&w, CHUNK_LOD_DISTANCE, "\0\0\0\0", 4);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    close_chunk(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH); /* beside the LODs: an implicit one */
    small_pmesh(&w);
    close_chunk(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_OBJECT); /* no LOD chunk: one implicit LOD for both patches */
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    close_chunk(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_OBJECT); /* nothing at all: still one implicit LOD */
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 18, 6);
    const struct lod_info *lods = r.resource->lods;
    assert_int_equal(r.resource->object_count, 3);
    assert_string_equal(r.resource->objects[0].name, "first");
    assert_null(r.resource->objects[1].name);
    assert_int_equal(r.resource->lod_count, 5);
    assert_true(lods[0].has_distance && lods[0].in == 0.0f && lods[0].out == 150.5f && !lods[0].implicit);
    assert_true(!lods[1].has_distance && !lods[1].implicit);
    static const uint32_t object[] = {0, 0, 0, 1, 2}, triangles[] = {2, 1, 1, 2, 0};
    static const bool implicit[] = {false, false, true, true, true};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(lods[i].object, object[i]);
        assert_int_equal(lods[i].triangles, triangles[i]);
        assert_int_equal(lods[i].implicit, implicit[i]);
    }
    static const uint32_t part_lod[] = {0, 0, 1, 2, 3, 3}, part_patch[] = {0, 0, 1, 2, 3, 4};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(r.resource->parts[i].lod, part_lod[i]);
        assert_int_equal(r.resource->parts[i].patch, part_patch[i]);
        assert_int_equal(r.resource->parts[i].object, object[part_lod[i]]);
    }
    free_decoded(&r);
}

/* Containers where the page does not expect them: whatever holds geometry has an object and a LOD. */
static void test_geometry_outside_objects(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    small_pmesh(&w);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    open_chunk(&w, CHUNK_PATCH);
    small_pmesh(&w);
    close_chunk(&w);
    close_chunk(&w);
    open_chunk(&w, CHUNK_LOD);
    small_pmesh(&w);
    open_chunk(&w, CHUNK_OBJECT);
    small_pmesh(&w);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 15, 5);
    assert_int_equal(r.resource->object_count, 4);
    for (uint32_t i = 1; i < 5; i++)
        assert_int_equal(r.resource->parts[i].patch, i); /* one without a PATCH counts as one of its own */
    for (int i = 0; i < 5; i++) {
        assert_true(r.resource->parts[i].lod < r.resource->lod_count);
        assert_int_equal(r.resource->lods[r.resource->parts[i].lod].object, r.resource->parts[i].object);
    }
    free_decoded(&r);
}

static void test_effect(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    open_chunk(&w, CHUNK_LOD);
    open_chunk(&w, CHUNK_PATCH);
    open_chunk(&w, CHUNK_SPHERE_LIST);
    leaf_chunk(&w, CHUNK_SPHERE, "0123456789abcdef", 16);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_EFFECT));
    assert_null(r.mesh);
    assert_false(r.resource->bounds.valid);
    free_decoded(&r);

    /* Points: the number of POINT_LIST is unknown, an unknown structural tag may be it. */
    w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    leaf_chunk(&w, 0x004F, "\xFF\xFF\xFF\xFF", 4);
    end_model(&w);
    r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_EFFECT));
    assert_int_equal(r.container.tag_count_count, 1);
    free_decoded(&r);

    /* Triangles beside spheres are a model; no geometry at all is one without triangles. */
    w = begin_model(0);
    open_chunk(&w, CHUNK_OBJECT);
    small_pmesh(&w);
    open_chunk(&w, CHUNK_SPHERE_LIST);
    end_model(&w);
    r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    assert_int_equal(r.resource->flags, 0);
    free_decoded(&r);
    w = begin_model(0);
    end_model(&w);
    r = decode_model(&w);
    assert_decoded(&r, 0, 0);
    assert_int_equal(r.resource->flags, 0);
    free_decoded(&r);
}

/* ---- indices ------------------------------------------------------------------------------------------- */

/* The offset of the payload of the last face list of triangle-like models made below. */
static struct chunk_build one_pmesh(const int32_t *list, size_t count, unsigned points, bool with_vertices,
                                    size_t *at)
{
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    if (with_vertices)
        vertex_chunk(&w, CHUNK_XYZ, 12, 4, 0.0f);
    size_t start = w.out.size;
    face_chunk(&w, points ? CHUNK_PCONN_LIST : CHUNK_CONNECTION_LIST, points, list, count);
    end_model(&w);
    *at = start + 4 * 3 + 3 + (points ? 1 : 0);
    return w;
}

static void test_index_out_of_range(void **state)
{
    (void)state;
    size_t at;
    /* One past the block, in a flat list. */
    struct chunk_build w = one_pmesh((const int32_t[]){0, 1, 2, 2, 4, 0}, 6, 0, true, &at);
    assert_out_of_range(&w, at + 4 * 4);
    /* The same in a quad. */
    w = one_pmesh((const int32_t[]){0, 1, 2, 4}, 4, 4, true, &at);
    assert_out_of_range(&w, at + 3 * 4);
    /* Below zero: the indices are signed. */
    w = one_pmesh((const int32_t[]){0, -1, 2}, 3, 0, true, &at);
    assert_out_of_range(&w, at + 4);
    w = one_pmesh((const int32_t[]){INT32_MIN, 1, 2}, 3, 0, true, &at);
    assert_out_of_range(&w, at);
    /* No vertex block. */
    w = one_pmesh((const int32_t[]){0, 0, 0}, 3, 0, false, &at);
    assert_out_of_range(&w, at);
}

/* A bad PMESH is dropped whole, the others stay, and the bounds are those of the others. */
static void test_bad_pmesh_is_dropped(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ_N, 24, 3, -1000.0f);
    conn(&w, 0, 1, 2);
    conn(&w, 0, 1, 3);
    close_chunk(&w);
    small_pmesh(&w);
    open_chunk(&w, CHUNK_PMESH);
    conn(&w, 0, 1, 2);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_BAD_PMESH));
    assert_int_equal(r.mesh->part_count, 1);
    assert_int_equal(r.mesh->stream_count, 1);
    assert_true(r.resource->bounds.min[0] == 0.0f);
    assert_int_equal(r.resource->lods[0].triangles, 1);
    free_decoded(&r);
}

/* Two vertex blocks in one PMESH: its faces may mean either, so it is dropped. */
static void test_two_vertex_blocks(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, 0.0f);
    conn(&w, 0, 1, 2);
    size_t second = w.out.size + 4 * 3;
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, 50.0f);
    conn(&w, 0, 1, 2);
    end_model(&w);
    assert_out_of_range(&w, second);
}

/* Vertices alone are a model without triangles; its bounds are theirs. */
static void test_vertices_without_faces(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 2, 5.0f);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 2, 0);
    assert_true(r.resource->bounds.valid);
    assert_int_equal(r.resource->flags, 0);
    free_decoded(&r);
}

/* ---- recognising --------------------------------------------------------------------------------------- */

static void test_ascii_variant(void **state)
{
    (void)state;
    struct chunk_build w = {0};
    buffer_append(&w.out, "DIV-VIZ2\nOBJECT {\n", 18);
    struct decoded r = decode_model(&w);
    assert_int_equal(r.container.status, CONTAINER_SKIPPED);
    assert_int_equal(r.container.reason, CONTAINER_ASCII_VARIANT);
    assert_int_equal(r.resource->status, RESOURCE_DECLINED);
    assert_int_equal(r.resource->reason, DECLINE_ASCII_VARIANT);
    assert_int_equal(r.resource->error.offset, 0);
    free_decoded(&r);
}

static void test_geometry_wins_over_the_name(void **state)
{
    (void)state;
    struct chunk_build w = triangle_model(0);
    struct decoded r = decode_chunks(&w.out, w.out.size, "liar.BMF");
    assert_int_equal(r.container.format, FORMAT_BGF);
    free_decoded(&r);
    buffer_free(&w.out);
}

static void test_non_finite(void **state)
{
    (void)state;
    struct chunk_build w = begin_model(0);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ, 12, 3, INFINITY);
    conn(&w, 0, 1, 2);
    end_model(&w);
    struct decoded r = decode_model(&w);
    assert_decoded(&r, 3, 1);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_NON_FINITE));
    assert_false(r.resource->bounds.valid);
    free_decoded(&r);
}

/* ---- the generator ------------------------------------------------------------------------------------- */

static void test_corpus(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < corpus_bgf_kinds(); kind++) {
        for (uint32_t triangles = 1; triangles < 6000; triangles *= 12) {
            struct rng rng = rng_make(triangles, kind), again = rng;
            struct corpus_file file, same;
            assert_true(corpus_bgf(&rng, kind, triangles, &file));
            assert_is_truth(&file);
            assert_true(corpus_bgf(&again, kind, triangles, &same));
            assert_int_equal(file.bytes.size, same.bytes.size);
            assert_memory_equal(file.bytes.data, same.bytes.data, file.bytes.size);
            corpus_file_free(&file);
            corpus_file_free(&same);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_vertex_tag),
        cmocka_unit_test(test_streams_of_mixed_pmeshes),
        cmocka_unit_test(test_mixed_lists),
        cmocka_unit_test(test_empty_lists_and_order),
        cmocka_unit_test(test_largest_face),
        cmocka_unit_test(test_patch_strings),
        cmocka_unit_test(test_material_references),
        cmocka_unit_test(test_lods_and_objects),
        cmocka_unit_test(test_geometry_outside_objects),
        cmocka_unit_test(test_effect),
        cmocka_unit_test(test_index_out_of_range),
        cmocka_unit_test(test_bad_pmesh_is_dropped),
        cmocka_unit_test(test_two_vertex_blocks),
        cmocka_unit_test(test_vertices_without_faces),
        cmocka_unit_test(test_ascii_variant),
        cmocka_unit_test(test_geometry_wins_over_the_name),
        cmocka_unit_test(test_non_finite),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
