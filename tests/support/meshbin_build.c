/* meshbin_build.c - see meshbin_build.h */
#include "tests/support/meshbin_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct format format_meshbin;

/* ---- decoding in a test ---- */

/* The bytes are copied to the end of an allocation of their own, so that the sanitizer sees one byte too
 * many. */
struct mb_decoded mb_decode_named(const uint8_t *bytes, size_t size, const char *name)
{
    struct mb_decoded d = {0};
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    struct input in = {copy, size, name};
    assert_true(format_decode(&format_meshbin, &in, &d.arena, &d.container));
    free(copy);
    assert_int_equal(d.container.resource_count, 1);
    d.resource = &d.container.resources[0];
    d.mesh = d.resource->mesh;
    if (d.mesh)
        assert_true(mesh_is_sound(d.mesh));
    else
        assert_int_equal(d.resource->status, RESOURCE_DECLINED);
    return d;
}

struct mb_decoded mb_decode(const struct buffer *file)
{
    assert_false(file->failed);
    return mb_decode_named(file->data, file->size, "x.meshbin");
}

void mb_assert_declined(const struct mb_decoded *d, enum decline_reason reason, uint64_t offset)
{
    assert_int_equal(d->resource->status, RESOURCE_DECLINED);
    assert_string_equal(decline_reason_word(d->resource->reason), decline_reason_word(reason));
    assert_int_equal(d->resource->error.offset, offset);
    assert_null(d->mesh);
}

void mb_assert_says(const struct mb_decoded *d, const char *words)
{
    if (!strstr(d->resource->error.msg, words))
        fail_msg("'%s' does not say '%s'", d->resource->error.msg, words);
}

bool mb_has_flag(const struct mb_decoded *d, enum flag flag)
{
    return d->resource->flags & FLAG_BIT(flag);
}

/* ---- measuring ---- */

const float *mb_corner(const struct mesh *mesh, uint32_t triangle, unsigned corner)
{
    return mesh->streams[0].data + (size_t)mesh_corner(mesh, &mesh->streams[0], triangle, corner) * 3;
}

void mb_cross(const float *a, const float *b, const float *c, double out[3])
{
    double u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = (double)b[i] - a[i];
        v[i] = (double)c[i] - a[i];
    }
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

double mb_area(const struct mesh *mesh)
{
    double area = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double n[3];
        mb_cross(mb_corner(mesh, t, 0), mb_corner(mesh, t, 1), mb_corner(mesh, t, 2), n);
        area += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
    }
    return area;
}

/* Signed volume: positive when the winding is counter-clockwise seen from outside. */
double mb_volume(const struct mesh *mesh)
{
    double volume = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double n[3];
        const float *a = mb_corner(mesh, t, 0);
        mb_cross(a, mb_corner(mesh, t, 1), mb_corner(mesh, t, 2), n);
        volume += (a[0] * n[0] + a[1] * n[1] + a[2] * n[2]) / 6;
    }
    return volume;
}

void mb_assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* ---- small files, built by hand ---- */

/* A pyramid: a square base (a quad) and four sides (triangles). Polygons counter-clockwise from outside, in
 * units of 1/128 m: 2 m wide, 3 m high. The surface is 4 + 4 * sqrt(10) m2, the volume 4 m3. */
static const int32_t pyramid[5][3] = {
    {-128, -128, 0}, {128, -128, 0}, {128, 128, 0}, {-128, 128, 0}, {0, 0, 384}};
/* The base is the polygon 0 3 2 1, its slots are p0 p3 p1 p2. */
static const int16_t pyramid_groups[5][4] = {
    {0, 1, 3, 2}, {0, -1, 1, 4}, {1, -1, 2, 4}, {2, -1, 3, 4}, {3, -1, 0, 4}};
struct recipe mb_recipe(int version)
{
    struct recipe r = {.version = version,
                       .face_count = 5,
                       .vertex_count = PYRAMID_VERTICES,
                       .group_count = PYRAMID_GROUPS,
                       .normal_count = 3,
                       .uv_count = 4,
                       .color = {10, 20, 30},
                       .first_color = {10, 20, 30},
                       .parents = {0xFF, 0, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    memcpy(r.groups, pyramid_groups, sizeof r.groups);
    for (int g = 0; g < 5; g++)
        for (int slot = 0; slot < 4; slot++) {
            r.normal_groups[g][slot] = (int16_t)(g % 3);
            r.uv_groups[g][slot] = (int16_t)slot;
        }
    return r;
}

static void put_i16s(struct buffer *out, const int16_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_u16le(out, (uint16_t)values[i]);
}

void mb_put_header(struct buffer *out, const struct recipe *r)
{
    buffer_append(out, "MESHBIN", 7);
    put_u8(out, (uint8_t)r->version);
    put_u8(out, 77);
    put_u32le(out, r->vertex_count);
    put_u32le(out, r->group_count);
    put_u32le(out, r->face_count);
    put_u32le(out, r->normal_count);
    put_u32le(out, r->uv_count);
    if (r->version >= 2) {
        put_u8(out, r->skeleton);
        put_u8(out, r->bone_count);
    }
}

static void put_positions_and_colors(struct buffer *out, const struct recipe *r)
{
    for (int v = 0; v < 5; v++) {
        for (int i = 0; i < 3; i++)
            if (r->version == 'a')
                put_u16le(out, (uint16_t)pyramid[v][i]);
            else
                put_u32le(out, (uint32_t)pyramid[v][i]);
        if (r->version == 'a')
            put_u16le(out, 0);
    }
    for (int v = 0; v < 5; v++)
        for (int i = 0; i < 3; i++) {
            int16_t value = v ? r->color[i] : r->first_color[i];
            if (r->version >= 'a')
                put_u16le(out, (uint16_t)value);
            else
                put_u8(out, (uint8_t)value);
        }
}

static void put_attributes(struct buffer *out, const struct recipe *r)
{
    static const int16_t normals[3][3] = {{0, 0, -1}, {1, 0, 0}, {0, 0, 0}};
    bool legacy = r->version >= 'a', wide = r->version == 'a';
    if (legacy)
        put_u32le(out, r->normal_count);
    for (uint32_t n = 0; n < r->normal_count && n < 3; n++) {
        for (int i = 0; i < 3; i++)
            put_u16le(out, (uint16_t)(normals[n][i] * (wide ? 128 : 1)));
        if (wide)
            put_u16le(out, 0);
    }
    put_i16s(out, r->normal_groups[0], 20);
    if (legacy)
        put_u32le(out, r->uv_count);
    for (uint32_t u = 0; u < r->uv_count && u < 4; u++) {
        const int16_t texel[4] = {(int16_t)(u * 10), (int16_t)(200 + u), 0, 0};
        if (r->version == 'a' || r->version == 'b')
            put_i16s(out, texel, wide ? 4 : 2);
        else
            buffer_append(out, (uint8_t[]){(uint8_t)texel[0], (uint8_t)texel[1]}, 2);
    }
    put_i16s(out, r->uv_groups[0], 20);
}

/* Bone b stands at (b + 1, -b, 2) metres and is turned half around y, or not at all. */
void mb_put_bones(struct buffer *out, const struct recipe *r)
{
    bool wide = r->version == 2 && r->early;
    for (int b = 0; b < r->bone_count; b++) {
        put_u8(out, r->parents[b]);
        put_u32le(out, (uint32_t)((b + 1) * 128));
        put_u32le(out, (uint32_t)(-b * 128));
        put_u32le(out, 256);
        const int32_t rotation[4] = {b % 2 ? 4096 : 2896, 0, b % 2 ? 0 : -2896, 0};
        for (int i = 0; i < 4; i++)
            if (wide)
                put_u32le(out, (uint32_t)rotation[i]);
            else
                put_u16le(out, (uint16_t)rotation[i]);
    }
    if (!wide)
        buffer_append(out, r->bone_of_vertex, 5);
}

struct buffer mb_build(const struct recipe *r)
{
    struct buffer out = {0};
    bool legacy = r->version >= 'a';
    if (legacy) {
        put_u32le(&out, r->vertex_count);
        put_u32le(&out, r->group_count);
        put_u32le(&out, r->face_count);
    } else {
        mb_put_header(&out, r);
    }
    put_positions_and_colors(&out, r);
    put_i16s(&out, r->groups[0], 20);
    put_attributes(&out, r);
    if (legacy && r->version != 'd') {
        put_u32le(&out, 1);
        put_u32le(&out, 1);
        put_i16s(&out, (int16_t[]){1, 2, 3, 0}, 4);
        return out;
    }
    put_i16s(&out, (int16_t[]){-128, -128, 0, 128, 128, 384}, 6);
    if (!legacy && r->version >= 3) {
        put_i16s(&out, (int16_t[]){0, 0, 128}, 3);
        put_u16le(&out, 282);
        if (!r->early)
            put_u16le(&out, 0);
    }
    if (r->skeleton)
        mb_put_bones(&out, r);
    return out;
}

struct mb_decoded mb_decode_recipe(const struct recipe *r)
{
    struct buffer file = mb_build(r);
    struct mb_decoded d = mb_decode(&file);
    buffer_free(&file);
    return d;
}

void mb_assert_pyramid(const struct mb_decoded *d, const char *variant)
{
    assert_int_equal(d->resource->status, RESOURCE_DECODED);
    assert_int_equal(d->resource->reason, DECLINE_NONE);
    assert_int_equal(d->resource->error.code, ERROR_NONE);
    assert_string_equal(d->resource->variant, variant);
    assert_int_equal(d->resource->format, FORMAT_MESHBIN);
    assert_int_equal(d->container.status, CONTAINER_READ);
    assert_int_equal(d->resource->vertices, PYRAMID_VERTICES);
    assert_int_equal(d->resource->triangles, PYRAMID_TRIANGLES);
    mb_assert_near(mb_area(d->mesh), PYRAMID_AREA);
    mb_assert_near(mb_volume(d->mesh), PYRAMID_VOLUME);
    assert_true(d->resource->bounds.min[0] == -1.0f && d->resource->bounds.max[2] == 3.0f);
}
