/* test_codec.c - what goes in comes out, by every codec; hostile bytes are refused without harm. */
#include "store/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/arena.h"
#include "formats/mesh.h"

/* A grid with a stream of each width, one of them with corners of its own, parts and bones. */
static struct buffer make_canonical(uint32_t side, bool indexed)
{
    struct arena arena = {0};
    struct buffer out = {0};
    uint32_t vertices = side * side, triangles = side ? (side - 1) * (side - 1) * 2 : 0;
    struct mesh *mesh = mesh_new(&arena, vertices, triangles, 1);
    for (unsigned c = 1; c <= 4; c++)
        assert_non_null(mesh_add_stream(mesh, &arena, MESH_TEXCOORD, c, c, vertices, indexed && c == 2));
    mesh->bone_count = 2;
    mesh->bones = arena_array(&arena, 2, sizeof *mesh->bones);
    mesh->bones[0].parent = -1;
    mesh->parts[0] = (struct mesh_part){0, triangles, 0, vertices, 0x1F};
    for (uint32_t i = 0; i < mesh->stream_count; i++)
        for (uint32_t k = 0; k < vertices * mesh->streams[i].components; k++)
            mesh->streams[i].data[k] = (float)((k * 37 + i) % 1001) / 128 - 3;
    for (uint32_t t = 0; t < triangles; t++)
        for (uint32_t k = 0; k < 3; k++) {
            mesh->streams[0].corner[3 * t + k] = (t / 2 + k * side) % vertices;
            if (indexed)
                mesh->streams[2].corner[3 * t + k] = (t * 3 + k) % vertices;
        }
    mesh_write(mesh, buffer_extend(&out, mesh_canonical_size(mesh)));
    arena_free(&arena);
    return out;
}

static void round_trip(enum codec codec, const uint8_t *bytes, size_t size)
{
    struct buffer encoded = {0}, again = {0}, decoded = {0};
    struct error err = {0};
    uint64_t raw_size = 0;
    buffer_append(&decoded, "front", 5); /* both functions append */
    buffer_append(&encoded, "x", 1);
    assert_true(codec_encode(codec, bytes, size, &encoded));
    assert_true(codec_encode(codec, bytes, size, &again));
    assert_int_equal(encoded.size, again.size + 1);
    assert_memory_equal(encoded.data + 1, again.data, again.size);
    assert_true(again.size <= size + 16);
    assert_true(codec_raw_size(again.data, again.size, &raw_size));
    assert_int_equal(raw_size, size);
    assert_true(codec_decode(again.data, again.size, &decoded, &err));
    assert_int_equal(decoded.size, size + 5);
    assert_memory_equal(decoded.data, "front", 5);
    if (size)
        assert_memory_equal(decoded.data + 5, bytes, size);
    buffer_free(&encoded);
    buffer_free(&again);
    buffer_free(&decoded);
}

static void meshes_round_trip(void **state)
{
    /* Sides around the block of 256 entries in which planes are cut: 15 * 15 < 256 = 16 * 16 < 17 * 17. */
    static const uint32_t sides[] = {0, 1, 2, 15, 16, 17, 33, 100};
    (void)state;
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        for (size_t i = 0; i < 2 * sizeof sides / sizeof *sides; i++) {
            struct buffer canonical = make_canonical(sides[i / 2], i % 2);
            round_trip((enum codec)codec, canonical.data, canonical.size);
            buffer_free(&canonical);
        }
    }
}

static void any_bits_round_trip(void **state)
{
    struct buffer canonical = make_canonical(40, true);
    uint32_t word = 1;
    (void)state;
    /* Every array holds noise: NaNs, extremes and indices out of range come back bit for bit. */
    for (size_t i = canonical.size - 40 * 40 * 13 * 4; i + 4 <= canonical.size; i += 4) {
        word = word * 1664525u + 1013904223u;
        memcpy(canonical.data + i, &word, 4);
    }
    for (int codec = 0; codec < CODEC_COUNT; codec++)
        round_trip((enum codec)codec, canonical.data, canonical.size);
    buffer_free(&canonical);
}

/* What is no canonical serialisation is kept all the same. */
static void other_bytes_round_trip(void **state)
{
    struct buffer canonical = make_canonical(5, false);
    (void)state;
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        round_trip((enum codec)codec, canonical.data, 0);
        round_trip((enum codec)codec, canonical.data, 3);
        round_trip((enum codec)codec, canonical.data, 32);
        round_trip((enum codec)codec, canonical.data, canonical.size - 4); /* its counts need more */
    }
    buffer_free(&canonical);
}

static void meshes_shrink(void **state)
{
    struct buffer canonical = make_canonical(100, false), encoded = {0};
    (void)state;
    assert_true(codec_encode(CODEC_DEFAULT, canonical.data, canonical.size, &encoded));
    assert_int_equal(encoded.data[0], CODEC_DEFAULT);
    assert_true(encoded.size * 2 < canonical.size);
    buffer_free(&canonical);
    buffer_free(&encoded);
}

/* Decodes bytes that may be anything: either an error and no output, or as many bytes as were announced. */
static bool decode_hostile(const uint8_t *bytes, size_t size)
{
    struct buffer out = {0};
    struct error err = {0};
    uint64_t raw_size = 0;
    uint8_t *copy =
        malloc(size ? size : 1); /* of the exact size, so that the sanitizer sees a read past it */
    memcpy(copy, bytes, size);
    bool decoded = codec_decode(copy, size, &out, &err);
    if (decoded) {
        assert_true(codec_raw_size(copy, size, &raw_size));
        assert_int_equal(out.size, raw_size);
    } else {
        assert_int_equal(out.size, 0);
        assert_true(err.code == ERROR_MALFORMED || err.code == ERROR_RANGE || err.code == ERROR_TRUNCATED);
    }
    free(copy);
    buffer_free(&out);
    return decoded;
}

static void truncations_are_refused(void **state)
{
    (void)state;
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        struct buffer canonical = make_canonical(12, true), encoded = {0};
        assert_true(codec_encode((enum codec)codec, canonical.data, canonical.size, &encoded));
        for (size_t size = 0; size < encoded.size; size++)
            assert_false(decode_hostile(encoded.data, size));
        buffer_free(&canonical);
        buffer_free(&encoded);
    }
}

static void flips_do_no_harm(void **state)
{
    (void)state;
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        struct buffer canonical = make_canonical(12, true), encoded = {0};
        assert_true(codec_encode((enum codec)codec, canonical.data, canonical.size, &encoded));
        for (size_t i = 0; i < encoded.size; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                encoded.data[i] ^= (uint8_t)(1u << bit);
                decode_hostile(encoded.data, encoded.size);
                encoded.data[i] ^= (uint8_t)(1u << bit);
            }
        }
        buffer_free(&canonical);
        buffer_free(&encoded);
    }
}

/* A length that the payload cannot expand to is refused before memory is taken for it. */
static void sizes_are_bounded(void **state)
{
    (void)state;
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        uint8_t bytes[64] = {(uint8_t)codec, 1};
        struct buffer out = {0};
        struct error err = {0};
        memset(bytes + 8, 0xFF, 8);
        assert_false(codec_decode(bytes, sizeof bytes, &out, &err));
        assert_int_equal(err.code, ERROR_RANGE);
        assert_int_equal(err.offset, 8);
        assert_int_equal(out.room, 0);
    }
}

static void unknown_headers_are_refused(void **state)
{
    static const struct {
        size_t offset;
        uint8_t value;
    } wrong[] = {{0, CODEC_COUNT}, {0, 255}, {1, 0}, {1, 2}, {2, 1}, {7, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t bytes[16] = {CODEC_RAW, 1};
        struct buffer out = {0};
        struct error err = {0};
        assert_true(codec_decode(bytes, sizeof bytes, &out, &err));
        bytes[wrong[i].offset] = wrong[i].value;
        assert_false(codec_decode(bytes, sizeof bytes, &out, &err));
        assert_int_equal(err.code, ERROR_MALFORMED);
        buffer_free(&out);
    }
}

/* The cheap codec stands in for zstd below CODEC_SMALL, and only there. */
static void small_models_are_packed(void **state)
{
    (void)state;
    for (uint32_t vertices = 3; vertices < 400; vertices++) {
        struct arena arena = {0};
        struct mesh *mesh = mesh_new(&arena, vertices, 2, 1);
        assert_non_null(mesh);
        for (uint32_t i = 0; i < vertices * 3; i++)
            mesh->streams[0].data[i] = (float)i / 128.0f;
        mesh->streams[0].corner[5] = 2;
        struct buffer canonical = {0}, encoded = {0}, decoded = {0};
        struct error err = {0};
        size_t size = mesh_canonical_size(mesh);
        mesh_write(mesh, buffer_extend(&canonical, size));
        assert_true(codec_encode(CODEC_DEFAULT, canonical.data, size, &encoded));
        assert_int_equal(encoded.data[0], size < CODEC_SMALL ? CODEC_PACKED : CODEC_DEFAULT);
        assert_true(encoded.size < size);
        assert_true(codec_decode(encoded.data, encoded.size, &decoded, &err));
        assert_memory_equal(decoded.data, canonical.data, size);
        if (size < CODEC_SMALL) { /* a byte too many is no packing */
            buffer_append(&encoded, "", 1);
            buffer_clear(&decoded);
            assert_false(codec_decode(encoded.data, encoded.size, &decoded, &err));
            assert_int_equal(err.code, ERROR_MALFORMED);
            assert_int_equal(decoded.size, 0);
        }
        buffer_free(&canonical);
        buffer_free(&encoded);
        buffer_free(&decoded);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_round_trip),
        cmocka_unit_test(any_bits_round_trip),
        cmocka_unit_test(other_bytes_round_trip),
        cmocka_unit_test(meshes_shrink),
        cmocka_unit_test(small_models_are_packed),
        cmocka_unit_test(truncations_are_refused),
        cmocka_unit_test(flips_do_no_harm),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(unknown_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
