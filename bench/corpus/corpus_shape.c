/* corpus_shape.c - parametric surfaces. See corpus.h and corpus_internal.h.
 *
 * Only + - * / and sqrtf decide a value: these are exact to the last bit under IEEE 754, so a shape is the
 * same on every machine. Circles come from the rational parametrisation, spheres from a lattice on the cube
 * that is pushed out. The object files of the generator must be compiled without contraction of a * b + c.
 */
#include "bench/corpus/corpus_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shape shape_room(uint32_t vertices, uint32_t triangles)
{
    struct shape shape = {.vertex_count = vertices, .triangle_count = triangles};
    shape.position = malloc((size_t)vertices * 3 * sizeof *shape.position);
    shape.normal = malloc((size_t)vertices * 3 * sizeof *shape.normal);
    shape.uv = malloc((size_t)vertices * 2 * sizeof *shape.uv);
    shape.corner = malloc((size_t)triangles * 3 * sizeof *shape.corner);
    if (!shape.position || !shape.normal || !shape.uv || !shape.corner)
        shape_free(&shape);
    return shape;
}

void shape_free(struct shape *shape)
{
    free(shape->position);
    free(shape->normal);
    free(shape->uv);
    free(shape->corner);
    *shape = (struct shape){0};
}

static void normalise(float v[3], const float otherwise[3])
{
    float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] = length > 1e-12f ? v[i] / length : otherwise[i];
}

/* The cross product of a triangle's edges: its face normal, twice its area long. */
static void face_normal(const struct shape *shape, uint32_t triangle, float out[3])
{
    const uint32_t *corner = shape->corner + (size_t)triangle * 3;
    const float *a = shape->position + (size_t)corner[0] * 3, *b = shape->position + (size_t)corner[1] * 3;
    const float *c = shape->position + (size_t)corner[2] * 3;
    float u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = b[i] - a[i];
        v[i] = c[i] - a[i];
    }
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

void shape_smooth_normals(struct shape *shape)
{
    static const float up[3] = {0, 0, 1};
    memset(shape->normal, 0, (size_t)shape->vertex_count * 3 * sizeof *shape->normal);
    for (uint32_t t = 0; t < shape->triangle_count; t++) {
        float face[3];
        face_normal(shape, t, face);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                shape->normal[(size_t)shape->corner[(size_t)t * 3 + (size_t)k] * 3 + (size_t)i] += face[i];
    }
    for (uint32_t v = 0; v < shape->vertex_count; v++)
        normalise(shape->normal + (size_t)v * 3, up);
}

/* ---- patches: a grid over the unit square, mapped by a surface ---- */

/* What a surface needs: which face of several, and its random parameters. */
struct surface {
    unsigned face;
    const float *parameter;
};
/* (s, t) in the unit square to a point; the cross product of its derivatives points outward. */
typedef void surface_fn(const struct surface *surface, float s, float t, float out[3]);

/* Where a shape under construction has got to. */
struct cursor {
    uint32_t vertex, triangle;
};

static uint32_t patch_vertices(uint32_t columns, uint32_t rows)
{
    return (columns + 1) * (rows + 1);
}

static void add_patch(struct shape *shape, struct cursor *at, uint32_t columns, uint32_t rows,
                      surface_fn *point, const struct surface *surface)
{
    uint32_t first = at->vertex;
    for (uint32_t row = 0; row <= rows; row++) {
        for (uint32_t column = 0; column <= columns; column++) {
            float s = (float)column / (float)columns, t = (float)row / (float)rows;
            point(surface, s, t, shape->position + (size_t)at->vertex * 3);
            shape->uv[(size_t)at->vertex * 2] = s;
            shape->uv[(size_t)at->vertex * 2 + 1] = t;
            at->vertex++;
        }
    }
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t a = first + row * (columns + 1) + column, b = a + 1, d = a + columns + 1, c = d + 1;
            uint32_t quad[6] = {a, b, c, a, c, d};
            memcpy(shape->corner + (size_t)at->triangle * 3, quad, sizeof quad);
            at->triangle += 2;
        }
    }
}

/* A point of the unit circle at `turn` 0..1, counter-clockwise: rational in each quarter. */
static void circle(float turn, float *x, float *y)
{
    float quarters = turn * 4;
    unsigned quarter = (unsigned)quarters;
    float t = quarters - (float)quarter, below = 1 + t * t;
    float c = (1 - t * t) / below, s = 2 * t / below;
    switch (quarter & 3) {
    case 0:
        *x = c, *y = s;
        break;
    case 1:
        *x = -s, *y = c;
        break;
    case 2:
        *x = -c, *y = -s;
        break;
    default:
        *x = s, *y = -c;
        break;
    }
}

/* A face of the cube -1..1: faces 0..5 are +x -x +y -y +z -z. */
static void cube_point(const struct surface *surface, float s, float t, float out[3])
{
    unsigned axis = surface->face / 2, negative = surface->face % 2;
    out[axis] = negative ? -1 : 1;
    out[(axis + 1) % 3] = 2 * (negative ? t : s) - 1;
    out[(axis + 2) % 3] = 2 * (negative ? s : t) - 1;
    for (int i = 0; i < 3; i++)
        out[i] *= surface->parameter[i];
}

static void sphere_point(const struct surface *surface, float s, float t, float out[3])
{
    static const float one[3] = {1, 1, 1};
    struct surface cube = {surface->face, one};
    cube_point(&cube, s, t, out);
    normalise(out, one);
    /* A dent or a nose along x keeps two spheres apart. */
    float stretch = 1 + surface->parameter[3] * out[0] * out[0] * out[0];
    for (int i = 0; i < 3; i++)
        out[i] *= surface->parameter[i] * stretch;
}

/* Around z; its radius is a parabola over the height. */
static void tube_point(const struct surface *surface, float s, float t, float out[3])
{
    const float *p = surface->parameter;
    float radius = p[0] + p[3] * t * (1 - t);
    circle(s, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
    out[2] = p[2] * (2 * t - 1);
}

/* The discs that close a tube: t runs from the rim to nearly the centre. */
static void cap_point(const struct surface *surface, float s, float t, float out[3])
{
    const float *p = surface->parameter;
    float radius = p[0] * (1 - 0.98f * t);
    bool bottom = surface->face == 1;
    circle(bottom ? 1 - s : s, &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
    out[2] = bottom ? -p[2] : p[2];
}

static void torus_point(const struct surface *surface, float s, float t, float out[3])
{
    const float *p = surface->parameter;
    float x, y, c, h;
    circle(s, &x, &y);
    circle(t, &c, &h);
    float radius = p[0] + 0.45f * p[0] * c * (1 + 0.5f * p[3] * x);
    out[0] = radius * x;
    out[1] = radius * y;
    out[2] = 0.45f * p[2] * h;
}

/* A height field over x, y: two hills and a slope. */
static void terrain_point(const struct surface *surface, float s, float t, float out[3])
{
    const float *p = surface->parameter;
    float height = p[3] * s * t;
    for (int hill = 0; hill < 2; hill++) {
        float dx = s - p[4 + hill * 3], dy = t - p[5 + hill * 3];
        height += p[6 + hill * 3] / (1 + 12 * (dx * dx + dy * dy));
    }
    out[0] = p[0] * (2 * s - 1);
    out[1] = p[1] * (2 * t - 1);
    out[2] = p[2] * height;
}

/* ---- families ---- */

static uint32_t square_root(uint32_t value)
{
    uint32_t root = (uint32_t)sqrtf((float)value);
    return root ? root : 1;
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
    return value > least ? value : least;
}

static struct shape cube_family(surface_fn *point, const float *parameter, uint32_t triangles)
{
    uint32_t n = square_root(triangles / 12);
    struct shape shape = shape_room(6 * patch_vertices(n, n), 12 * n * n);
    struct cursor at = {0, 0};
    for (unsigned face = 0; shape.corner && face < 6; face++)
        add_patch(&shape, &at, n, n, point, &(struct surface){face, parameter});
    return shape;
}

static struct shape tube_family(const float *parameter, uint32_t triangles)
{
    uint32_t around = 4 * square_root(triangles / 40);
    uint32_t along = at_least(triangles / (2 * around), 3) - 2;
    struct shape shape =
        shape_room(patch_vertices(around, along) + 2 * patch_vertices(around, 1), 2 * around * (along + 2));
    struct cursor at = {0, 0};
    if (!shape.corner)
        return shape;
    add_patch(&shape, &at, around, along, tube_point, &(struct surface){0, parameter});
    add_patch(&shape, &at, around, 1, cap_point, &(struct surface){0, parameter});
    add_patch(&shape, &at, around, 1, cap_point, &(struct surface){1, parameter});
    return shape;
}

static struct shape patch_family(surface_fn *point, const float *parameter, uint32_t columns, uint32_t rows)
{
    struct shape shape = shape_room(patch_vertices(columns, rows), 2 * columns * rows);
    struct cursor at = {0, 0};
    if (shape.corner)
        add_patch(&shape, &at, columns, rows, point, &(struct surface){0, parameter});
    return shape;
}

/* One to eight triangles: a triangle, a square, a tetrahedron, a double pyramid. */
static struct shape tiny_family(const float *parameter, uint32_t triangles)
{
    static const float point[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
    static const uint8_t triangle[] = {0, 1, 2}, square[] = {0, 1, 3, 0, 3, 4};
    static const uint8_t tetrahedron[] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    static const uint8_t pyramids[] = {0, 1, 2, 1, 3, 2, 3, 4, 2, 4, 0, 2,
                                       1, 0, 5, 3, 1, 5, 4, 3, 5, 0, 4, 5};
    const uint8_t *corner = triangles < 2   ? triangle
                            : triangles < 4 ? square
                            : triangles < 8 ? tetrahedron
                                            : pyramids;
    uint32_t count = triangles < 2 ? 1 : triangles < 4 ? 2 : triangles < 8 ? 4 : 8;
    /* Points are numbered in the order of first use, so that none is left over. */
    uint32_t number[6] = {0}, vertices = 0;
    bool met[6] = {false};
    for (uint32_t i = 0; i < count * 3; i++) {
        if (!met[corner[i]])
            number[corner[i]] = vertices++;
        met[corner[i]] = true;
    }
    struct shape shape = shape_room(vertices, count);
    if (!shape.corner)
        return shape;
    for (uint32_t i = 0; i < count * 3; i++) {
        uint32_t v = number[corner[i]];
        shape.corner[i] = v;
        for (int k = 0; k < 3; k++)
            shape.position[v * 3 + (uint32_t)k] = point[corner[i]][k] * parameter[k];
        shape.uv[v * 2] = (point[corner[i]][0] + 1) / 2;
        shape.uv[v * 2 + 1] = (point[corner[i]][1] + 1) / 2;
    }
    return shape;
}

static struct shape family_make(enum shape_family family, const float *parameter, uint32_t triangles)
{
    uint32_t side = square_root(triangles / 2), k = square_root(triangles / 64);
    switch (family) {
    case SHAPE_SPHERE:
        return cube_family(sphere_point, parameter, triangles);
    case SHAPE_BOX:
        return cube_family(cube_point, parameter, triangles);
    case SHAPE_TUBE:
        return tube_family(parameter, triangles);
    case SHAPE_TERRAIN:
        return patch_family(terrain_point, parameter, side, at_least(triangles / (2 * side), 1));
    case SHAPE_TORUS:
        return patch_family(torus_point, parameter, 4 * k, at_least(triangles / (8 * k), 3));
    default:
        return tiny_family(parameter, triangles);
    }
}

/* Gives every pair of triangles that share an edge four vertices of its own, every other triangle three. */
static struct shape split_pairs(const struct shape *whole)
{
    struct shape out = shape_room(whole->triangle_count * 3, whole->triangle_count);
    uint32_t used = 0;
    for (uint32_t t = 0; out.corner && t < whole->triangle_count; t++) {
        uint32_t first = t % 2 ? used - 3 : used; /* the odd triangle may take the even one's vertices */
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t from = whole->corner[(size_t)t * 3 + k], to = used;
            for (uint32_t j = 0; t % 2 && j < 3; j++)
                if (whole->corner[(size_t)(t - 1) * 3 + j] == from)
                    to = first + j;
            if (to == used) {
                memcpy(out.position + (size_t)to * 3, whole->position + (size_t)from * 3, 3 * sizeof(float));
                memcpy(out.uv + (size_t)to * 2, whole->uv + (size_t)from * 2, 2 * sizeof(float));
                used++;
            }
            out.corner[(size_t)t * 3 + k] = to;
        }
    }
    if (out.corner)
        out.vertex_count = used;
    return out;
}

void shape_pose(struct shape *shape, struct rng *rng, float size)
{
    float q[4], length = 0, low[3] = {0}, high[3] = {0};
    for (int i = 0; i < 4; i++) {
        q[i] = rng_float(rng, -1, 1) + (i == 0 ? 1.5f : 0);
        length += q[i] * q[i];
    }
    length = sqrtf(length);
    for (int i = 0; i < 4; i++)
        q[i] /= length;
    const float w = q[0], x = q[1], y = q[2], z = q[3];
    const float turn[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                              {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                              {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (uint32_t v = 0; v < shape->vertex_count; v++) {
        float *p = shape->position + (size_t)v * 3, was[3] = {p[0], p[1], p[2]};
        for (int i = 0; i < 3; i++) {
            p[i] = turn[i][0] * was[0] + turn[i][1] * was[1] + turn[i][2] * was[2];
            low[i] = v == 0 || p[i] < low[i] ? p[i] : low[i];
            high[i] = v == 0 || p[i] > high[i] ? p[i] : high[i];
        }
    }
    float extent = 0, shift[3];
    for (int i = 0; i < 3; i++) {
        extent = high[i] - low[i] > extent ? high[i] - low[i] : extent;
        shift[i] = rng_float(rng, -0.4f, 0.4f) * size;
    }
    float scale = extent > 0 ? size / extent : 1;
    for (uint32_t v = 0; v < shape->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            shape->position[(size_t)v * 3 + (size_t)i] =
                shape->position[(size_t)v * 3 + (size_t)i] * scale + shift[i];
}

struct shape shape_make(struct rng *rng, enum shape_family family, bool split, uint32_t triangles, float size)
{
    float parameter[10];
    for (int i = 0; i < 3; i++)
        parameter[i] = rng_float(rng, 0.35f, 1.0f);
    parameter[3] = rng_float(rng, -0.4f, 0.4f);
    for (int i = 4; i < 10; i++)
        parameter[i] = rng_float(rng, 0.1f, 0.9f);
    struct shape shape = family_make(family, parameter, triangles);
    if (shape.corner && split) {
        struct shape whole = shape;
        shape = split_pairs(&whole);
        shape_free(&whole);
    }
    if (!shape.corner)
        return shape;
    shape_pose(&shape, rng, size);
    shape_smooth_normals(&shape);
    return shape;
}

struct shape shape_random(struct rng *rng, uint32_t triangles, float size)
{
    enum shape_family family = triangles < 12 ? SHAPE_TINY : (enum shape_family)rng_below(rng, SHAPE_TINY);
    return shape_make(rng, family, rng_chance(rng, 20), triangles, size);
}
