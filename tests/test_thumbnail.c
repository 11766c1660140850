/* test_thumbnail.c - pictures of meshes made by hand: what is inside a silhouette is covered, what faces the
 * light is brighter, what is nearer hides what is behind, and no vertex can do harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <png.h>

#include "reports/thumbnail.h"

#define SIZE THUMBNAIL_SIZE

struct picture {
    uint8_t pixels[SIZE * SIZE];
};

static void render(const struct mesh *mesh, enum format_id format, bool mirrored, struct picture *out)
{
    struct arena scratch = {0};
    struct error err = {0};
    if (!thumbnail_render(mesh, format, mirrored, &scratch, out->pixels, &err))
        fail_msg("%s", err.msg);
    arena_free(&scratch);
}

static const uint8_t *pixel(const struct picture *picture, double x, double y)
{
    return thumbnail_palette()[picture->pixels[(size_t)y * SIZE + (size_t)x]];
}

static int light(const struct picture *picture, const double at[static 2])
{
    const uint8_t *rgba = pixel(picture, at[0], at[1]);
    assert_int_equal(rgba[3], 255);
    return rgba[0] + rgba[1] + rgba[2];
}

static struct mesh *mesh_of(struct arena *arena, const float (*positions)[3], uint32_t vertices,
                            const uint32_t *corners, uint32_t triangles)
{
    struct mesh *mesh = mesh_new(arena, vertices, triangles, 0);
    assert_non_null(mesh);
    memcpy(mesh->streams[0].data, positions, vertices * sizeof *positions);
    if (triangles)
        memcpy(mesh->streams[0].corner, corners, triangles * 3 * sizeof *corners);
    return mesh;
}

/* Corner i of the cube has x, y, z = -1 or 1 by bits 0, 1, 2. */
static const uint32_t cube_corners[36] = {0, 1, 3, 0, 3, 2, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                          2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 3, 7, 1, 7, 5};

static struct mesh *cube(struct arena *arena)
{
    float positions[8][3];
    for (unsigned i = 0; i < 8; i++)
        for (unsigned axis = 0; axis < 3; axis++)
            positions[i][axis] = i >> axis & 1 ? 1 : -1;
    return mesh_of(arena, positions, 8, cube_corners, 12);
}

/* Where the header says a point is seen: 35 degrees to the right, 24 up, the cube filling the picture but for
 * seven pixels at each side. */
static void seen(const double v[static 3], double at[static 2])
{
    const double yaw = 35 * M_PI / 180, pitch = 24 * M_PI / 180;
    const double across = v[0] * cos(yaw) - v[2] * sin(yaw);
    const double up = -v[0] * sin(yaw) * sin(pitch) + v[1] * cos(pitch) - v[2] * cos(yaw) * sin(pitch);
    const double wide = 2 * (cos(yaw) + sin(yaw)),
                 tall = 2 * (cos(pitch) + sin(pitch) * (cos(yaw) + sin(yaw)));
    const double scale = (SIZE - 14) / (wide > tall ? wide : tall);
    at[0] = SIZE / 2.0 + across * scale;
    at[1] = SIZE / 2.0 - up * scale;
}

/* How far a pixel's centre lies inside the silhouette; negative outside. The silhouette is the convex hull of
 * the corners: inside is where every line through two of them that has all others on one side says so. */
static double inside(double x, double y)
{
    double corner[8][2], least = INFINITY;
    for (unsigned i = 0; i < 8; i++)
        seen((const double[3]){i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1}, corner[i]);
    for (unsigned a = 0; a < 8; a++)
        for (unsigned b = 0; b < 8; b++) {
            double dx = corner[b][0] - corner[a][0], dy = corner[b][1] - corner[a][1], length = hypot(dx, dy);
            bool edge = length > 1e-9;
            for (unsigned c = 0; edge && c < 8; c++)
                edge = (dx * (corner[c][1] - corner[a][1]) - dy * (corner[c][0] - corner[a][0])) / length >
                       -1e-6;
            if (edge)
                least = fmin(least, (dx * (y - corner[a][1]) - dy * (x - corner[a][0])) / length);
        }
    return least;
}

static void a_cube_has_its_silhouette(void **state)
{
    struct arena arena = {0};
    struct picture picture;
    unsigned covered = 0;
    (void)state;
    render(cube(&arena), FORMAT_XBG7, false, &picture);
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            double depth = inside(x + 0.5, y + 0.5);
            unsigned alpha = pixel(&picture, x, y)[3];
            covered += alpha == 255;
            if (depth > 1)
                assert_int_equal(alpha, 255);
            else if (depth < -1)
                assert_int_equal(alpha, 0);
        }
    assert_true(covered > SIZE * SIZE / 3);
    arena_free(&arena);
}

/* Of the three faces that are seen the top looks into the light most, the front less, the right away. Each is
 * of one light, whatever way its triangles wind. */
static void faces_are_lit_by_where_they_look(void **state)
{
    static const double faces[3][2][3] = {
        {{0, 1, 0}, {0.6, 1, -0.5}}, {{0, 0, 1}, {-0.7, 0.5, 1}}, {{1, 0, 0}, {1, -0.6, 0.4}}};
    struct arena arena = {0};
    struct picture picture, turned;
    int lights[3];
    (void)state;
    struct mesh *mesh = cube(&arena);
    render(mesh, FORMAT_XBG7, false, &picture);
    for (int i = 0; i < 3; i++) {
        double centre[2], other[2];
        seen(faces[i][0], centre);
        seen(faces[i][1], other);
        lights[i] = light(&picture, centre);
        assert_in_range(light(&picture, other), lights[i] - 6, lights[i] + 6);
    }
    assert_true(lights[0] > lights[1] + 60);
    assert_true(lights[1] > lights[2] + 60);
    for (uint32_t t = 0; t < mesh->triangle_count; t += 2) {
        uint32_t *corner = &mesh->streams[0].corner[3 * t], first = corner[1];
        corner[1] = corner[2];
        corner[2] = first;
    }
    render(mesh, FORMAT_XBG7, false, &turned);
    assert_memory_equal(&picture, &turned, sizeof picture);
    arena_free(&arena);
}

/* A small square in front of a large one shows, whichever is drawn first. */
static void what_is_nearer_hides_what_is_behind(void **state)
{
    static const float positions[8][3] = {{-2, -2, 0}, {2, -2, 0}, {2, 2, 0},    {-2, 2, 0},
                                          {-1, -1, 1}, {1, -1, 2}, {1, 1, 1.4f}, {-1, 1, 1}};
    static const uint32_t first[12] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7};
    static const uint32_t last[12] = {4, 5, 6, 4, 6, 7, 0, 1, 2, 0, 2, 3};
    struct arena arena = {0};
    struct picture one, other, back;
    (void)state;
    render(mesh_of(&arena, positions, 8, first, 4), FORMAT_XBG7, false, &one);
    render(mesh_of(&arena, positions, 8, last, 4), FORMAT_XBG7, false, &other);
    assert_memory_equal(&one, &other, sizeof one);
    render(mesh_of(&arena, positions, 4, first, 2), FORMAT_XBG7, false, &back);
    assert_memory_not_equal(&one, &back, sizeof one);
    arena_free(&arena);
}

/* Drawn mirrored, a reflection looks like what it is the reflection of. */
static void mirrored_is_with_x_negated(void **state)
{
    static const float positions[4][3] = {{0, 0, 0}, {3, 0.5f, 0}, {0.25f, 2, 1}, {1, 1, -2}};
    static const uint32_t corners[12] = {0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 2, 3};
    struct arena arena = {0};
    struct picture straight, mirrored, plain;
    float reflected[4][3];
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int axis = 0; axis < 3; axis++)
            reflected[i][axis] = axis ? positions[i][axis] : -positions[i][axis];
    render(mesh_of(&arena, positions, 4, corners, 4), FORMAT_XBG7, false, &straight);
    render(mesh_of(&arena, reflected, 4, corners, 4), FORMAT_XBG7, true, &mirrored);
    render(mesh_of(&arena, reflected, 4, corners, 4), FORMAT_XBG7, false, &plain);
    assert_memory_equal(&straight, &mirrored, sizeof straight);
    assert_memory_not_equal(&straight, &plain, sizeof straight);
    arena_free(&arena);
}

static unsigned covered(const struct picture *picture)
{
    unsigned count = 0;
    for (size_t i = 0; i < SIZE * SIZE; i++)
        count += thumbnail_palette()[picture->pixels[i]][3] != 0;
    return count;
}

static void any_vertex_can_be_drawn(void **state)
{
    static const uint32_t corners[6] = {0, 1, 2, 1, 2, 3};
    static const float strange[][4][3] = {
        {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {NAN, INFINITY, -INFINITY}}, /* the second triangle is left out */
        {{NAN, 0, 0}, {NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, 0}},       /* both are */
        {{FLT_MAX, FLT_MAX, 0}, {-FLT_MAX, 0, FLT_MAX}, {0, -FLT_MAX, 1}, {1, 2, 3}},
        {{1e-45f, 0, 0}, {0, 1e-45f, 0}, {0, 0, 1e-45f}, {0, 0, 0}}, /* denormal */
        {{5, 5, 5}, {5, 5, 5}, {5, 5, 5}, {5, 5, 5}},                /* a point */
        {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}},                /* a line */
    };
    static const bool something[] = {true, false, true, true, false, false};
    (void)state;
    for (size_t i = 0; i < sizeof something; i++) {
        struct arena arena = {0};
        struct picture picture;
        render(mesh_of(&arena, strange[i], 4, corners, 2), FORMAT_BGF, false, &picture);
        assert_int_equal(covered(&picture) > 0, something[i]);
        arena_free(&arena);
    }
}

static void without_triangles_points_are_drawn(void **state)
{
    static const float positions[3][3] = {{0, 0, 0}, {1, 2, 3}, {3, -1, 0}};
    struct arena arena = {0};
    struct picture picture;
    (void)state;
    render(mesh_of(&arena, positions, 3, NULL, 0), FORMAT_BGF, false, &picture);
    assert_in_range(covered(&picture), 3, 3 * 9);
    render(mesh_of(&arena, positions, 0, NULL, 0), FORMAT_BGF, false, &picture);
    assert_int_equal(covered(&picture), 0);
    arena_free(&arena);
}

/* Whatever normals say, light stays between the darkest and the brightest, and a normal that is none is the
 * face's. */
static void stored_normals_shade(void **state)
{
    struct arena arena = {0};
    struct picture flat, smooth, broken;
    (void)state;
    struct mesh *mesh = cube(&arena);
    render(mesh, FORMAT_XBG7, false, &flat);
    struct mesh_stream *normals = mesh_add_stream(mesh, &arena, MESH_NORMAL, 0, 3, 8, false);
    assert_non_null(normals);
    memset(normals->data, 0, 8 * 3 * sizeof(float));
    render(mesh, FORMAT_XBG7, false, &broken);
    assert_memory_equal(&flat, &broken, sizeof flat);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned axis = 0; axis < 3; axis++)
            normals->data[3 * i + axis] = i >> axis & 1 ? 0.57735f : -0.57735f;
    render(mesh, FORMAT_XBG7, false, &smooth);
    assert_memory_not_equal(&flat, &smooth, sizeof flat);
    double corner[2], middle[2];
    seen((const double[3]){-0.9, 0.9, 0.9}, corner);
    seen((const double[3]){0.9, -0.9, 0.9}, middle);
    assert_true(light(&smooth, corner) > light(&smooth, middle) + 100); /* one face, two lights */
    arena_free(&arena);
}

static void the_file_holds_the_pixels(void **state)
{
    struct arena arena = {0}, scratch = {0};
    struct buffer file = {0}, again = {0};
    struct error err = {0};
    struct picture picture;
    (void)state;
    struct mesh *mesh = cube(&arena);
    render(mesh, FORMAT_XBG7, false, &picture);
    assert_true(thumbnail_png(mesh, FORMAT_XBG7, false, &scratch, &file, &err));
    assert_true(thumbnail_png(mesh, FORMAT_XBG7, false, &scratch, &again, &err));
    assert_int_equal(file.size, again.size);
    assert_memory_equal(file.data, again.data, file.size);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, file.data, file.size));
    image.format = PNG_FORMAT_RGBA;
    assert_int_equal(image.width, SIZE);
    assert_int_equal(image.height, SIZE);
    uint8_t *rgba = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(rgba);
    assert_true(png_image_finish_read(&image, NULL, rgba, 0, NULL));
    for (size_t i = 0; i < SIZE * SIZE; i++)
        assert_memory_equal(rgba + 4 * i, thumbnail_palette()[picture.pixels[i]], 4);
    free(rgba);
    buffer_free(&file);
    buffer_free(&again);
    arena_free(&arena);
    arena_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cube_has_its_silhouette),
        cmocka_unit_test(faces_are_lit_by_where_they_look),
        cmocka_unit_test(what_is_nearer_hides_what_is_behind),
        cmocka_unit_test(mirrored_is_with_x_negated),
        cmocka_unit_test(any_vertex_can_be_drawn),
        cmocka_unit_test(without_triangles_points_are_drawn),
        cmocka_unit_test(stored_normals_shade),
        cmocka_unit_test(the_file_holds_the_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
