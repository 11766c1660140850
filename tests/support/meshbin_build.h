/* meshbin_build.h - small MESHBIN files for tests, put together byte by byte so that no expectation comes
 * from the decoder, and what tests ask of a decoded one.
 */
#ifndef ANCHORAGE_TESTS_MESHBIN_BUILD_H
#define ANCHORAGE_TESTS_MESHBIN_BUILD_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/corpus/corpus.h"
#include "formats/format.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a decoded file; arena_free(&d.arena) gives it back ---- */

struct mb_decoded {
    struct arena arena;
    struct container container;
    const struct resource *resource;
    const struct mesh *mesh;
};

struct mb_decoded mb_decode_named(const uint8_t *bytes, size_t size, const char *name);
struct mb_decoded mb_decode(const struct buffer *file); /* as x.meshbin */

void mb_assert_declined(const struct mb_decoded *d, enum decline_reason reason, uint64_t offset);
/* Its error message holds the words. */
void mb_assert_says(const struct mb_decoded *d, const char *words);
bool mb_has_flag(const struct mb_decoded *d, enum flag flag);

/* ---- measuring ---- */

const float *mb_corner(const struct mesh *mesh, uint32_t triangle, unsigned corner);
/* (b - a) x (c - a) */
void mb_cross(const float *a, const float *b, const float *c, double out[3]);
double mb_area(const struct mesh *mesh);
/* Signed: positive when the winding is counter-clockwise seen from outside. */
double mb_volume(const struct mesh *mesh);
void mb_assert_near(double value, double expected);

/* ---- a pyramid as a file ----
 *
 * A square base (a quad) and four sides (triangles), polygons counter-clockwise from outside: 2 m wide, 3 m
 * high. */

#define PYRAMID_VERTICES  5u
#define PYRAMID_GROUPS    5u
#define PYRAMID_TRIANGLES 6u
#define PYRAMID_AREA      (4 + 4 * sqrt(10.0))
#define PYRAMID_VOLUME    4.0

/* What a test changes before the file is written. */
struct recipe {
    int version; /* 0.., or 'a'..'d' */
    uint32_t face_count, vertex_count, group_count;
    uint32_t normal_count, uv_count;
    bool skeleton, early;
    uint8_t bone_count;
    int16_t color[3], first_color[3];
    int16_t normal_groups[5][4], uv_groups[5][4];
    int16_t groups[5][4];
    uint8_t parents[16], bone_of_vertex[5];
};

/* Where things lie in a built file of version 0 or 1 (two bytes more from version 2 on). */
enum {
    AT_POSITIONS = 29,
    AT_COLORS = AT_POSITIONS + 60,
    AT_GROUPS = AT_COLORS + 15,
    AT_NORMALS = AT_GROUPS + 40,
    AT_NORMAL_GROUPS = AT_NORMALS + 18,
    AT_UVS = AT_NORMAL_GROUPS + 40,
    AT_UV_GROUPS = AT_UVS + 8,
    AT_BOX = AT_UV_GROUPS + 40,
    V1_SIZE = AT_BOX + 12,
    V2_SIZE = V1_SIZE + 2,
    V3_SIZE = V2_SIZE + 10,
};

struct recipe mb_recipe(int version);
/* The caller frees the buffer. */
struct buffer mb_build(const struct recipe *r);
struct mb_decoded mb_decode_recipe(const struct recipe *r);
void mb_put_header(struct buffer *out, const struct recipe *r);
/* Bones and, where the form has it, the bone of each of five vertices. Bone b is at (b + 1, -b, 2) m. */
void mb_put_bones(struct buffer *out, const struct recipe *r);
/* Decoded without complaint, with the pyramid's counts, area, volume and bounds. */
void mb_assert_pyramid(const struct mb_decoded *d, const char *variant);

#endif
