/* test_export.c - meshes made by hand, written as GLB, OBJ and PLY, read back and compared bit for bit.
 *
 * With EXPORT_SAMPLES_DIR set every file is kept there under its test's name, for tests/cli/validate_glb.mjs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/reader.h"
#include "reports/export.h"
#include "tests/support/glb_read.h"

extern const struct format format_meshbin;

/* ---- files -------------------------------------------------------------------------------------------- */

struct text {
    uint8_t *data;
    size_t size;
};

static struct text written(enum export_format format, const char *name, const struct export_item *items,
                           size_t count)
{
    const char *dir = getenv("EXPORT_SAMPLES_DIR");
    char path[512] = "";
    if (dir)
        snprintf(path, sizeof path, "%s/%s.%s", dir, name, export_word(format));
    FILE *file = dir ? fopen(path, "w+b") : tmpfile();
    assert_non_null(file);
    struct error err = {0};
    if (!export_write(format, items, count, file, &err))
        fail_msg("%s", err.msg);
    struct text text = {.size = (size_t)ftell(file)};
    rewind(file);
    text.data = malloc(text.size + 1);
    assert_non_null(text.data);
    assert_int_equal(fread(text.data, 1, text.size, file), text.size);
    text.data[text.size] = '\0';
    fclose(file);
    return text;
}

static struct glb read_glb(const char *name, const struct export_item *items, size_t count)
{
    struct text text = written(EXPORT_GLB, name, items, count);
    return glb_open(text.data, text.size);
}

static void assert_bits(float got, float want)
{
    if (bits_of_float(got) != bits_of_float(want))
        fail_msg("%.9g (%08x) is not %.9g (%08x)", (double)got, bits_of_float(got), (double)want,
                 bits_of_float(want));
}

static void assert_unit_normals(const struct glb_accessor *a)
{
    for (size_t v = 0; v < a->count; v++) {
        double x = (double)glb_float(a, v * 3), y = (double)glb_float(a, v * 3 + 1),
               z = (double)glb_float(a, v * 3 + 2);
        assert_true(fabs(sqrt(x * x + y * y + z * z) - 1) < 1e-6);
    }
}

/* ---- meshes ------------------------------------------------------------------------------------------- */

struct model {
    struct arena arena;
    struct mesh *mesh;
    struct resource resource;
    struct export_item item;
};

static void model_make(struct model *model, enum format_id format, const char *name, uint32_t vertices,
                       uint32_t triangles, uint32_t parts)
{
    memset(model, 0, sizeof *model);
    model->mesh = mesh_new(&model->arena, vertices, triangles, parts);
    assert_non_null(model->mesh);
    model->resource.format = format;
    model->item = (struct export_item){.resource = &model->resource, .mesh = model->mesh, .name = name};
}

static void model_free(struct model *model)
{
    arena_free(&model->arena);
}

static void set_positions(struct model *model, const float *positions)
{
    memcpy(model->mesh->streams[0].data, positions, (size_t)model->mesh->vertex_count * 12);
}

static void set_corners(struct model *model, const uint32_t *corners)
{
    memcpy(model->mesh->streams[0].corner, corners, (size_t)model->mesh->triangle_count * 12);
}

static struct mesh_stream *add_stream(struct model *model, enum mesh_usage usage, unsigned components,
                                      uint32_t count, const float *data, const uint32_t *corner)
{
    struct mesh_stream *stream =
        mesh_add_stream(model->mesh, &model->arena, usage, 0, components, count, corner != NULL);
    assert_non_null(stream);
    if (data)
        memcpy(stream->data, data, (size_t)count * components * 4);
    if (corner)
        memcpy(stream->corner, corner, (size_t)model->mesh->triangle_count * 12);
    return stream;
}

static const float quad_positions[12] = {0.1f, 0, 0, 1.7f, 0, 0, 1, 2.3f, 0.25f, 0, 1, -0.3f};
static const uint32_t quad_corners[6] = {0, 1, 2, 0, 2, 3};

/* A bent quad of two triangles in one part, with no attributes. */
static void quad_make(struct model *model, enum format_id format, const char *name)
{
    model_make(model, format, name, 4, 2, 1);
    set_positions(model, quad_positions);
    set_corners(model, quad_corners);
    model->mesh->parts[0] = (struct mesh_part){0, 2, 0, 4, 1};
}

static void words_name_formats(void **state)
{
    (void)state;
    enum export_format format = EXPORT_PLY;
    assert_true(export_parse("glb", &format) && format == EXPORT_GLB);
    assert_true(export_parse("a.b/c.OBJ", &format) && format == EXPORT_OBJ);
    assert_true(export_parse("x.ply", &format) && format == EXPORT_PLY);
    assert_false(export_parse("x.gltf", &format));
    assert_false(export_parse("aglb", &format));
    assert_string_equal(export_word(EXPORT_PLY), "ply");
}

/* ---- GLB ---------------------------------------------------------------------------------------------- */

static void add_quad_attributes(struct model *model)
{
    static const float normals[12] = {0, 0, 2, 0, 0, 1, 0.6f, 0, 0.8f, 0, 0, 0}; /* one long, one zero */
    static const float uvs[8] = {0, 0, 1, 0.25f, NAN, 1, 0, 0.5f};
    add_stream(model, MESH_NORMAL, 3, 4, normals, NULL);
    add_stream(model, MESH_TEXCOORD, 2, 4, uvs, NULL);
    model->mesh->parts[0].streams = 7;
}

static void plain_mesh_keeps_every_bit(void **state)
{
    (void)state;
    struct model m;
    quad_make(&m, FORMAT_XBG7, "quad");
    add_quad_attributes(&m);
    json_t *extras = json_pack("{s:s, s:i}", "container", "disc.iso!a.xpr", "index", 3);
    m.item.extras = extras;
    struct glb glb = read_glb("plain", &m.item, 1);
    struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION"),
                        index = glb_indices(&glb, "0", "0");
    assert_int_equal(position.count, 4);
    assert_memory_equal(position.data, quad_positions, sizeof quad_positions);
    assert_int_equal(index.count, 6);
    assert_int_equal(index.type, 5123);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(glb_index(&index, i), quad_corners[i]);
    assert_true(json_real_value(json_array_get(json_object_get(position.json, "min"), 2)) == (double)-0.3f);
    assert_true(json_real_value(json_array_get(json_object_get(position.json, "max"), 0)) == (double)1.7f);
    struct glb_accessor normal = glb_attribute(&glb, "0", "0", "NORMAL");
    assert_int_equal(normal.count, 4); /* the zero normal is derived without a copy */
    assert_unit_normals(&normal);
    assert_bits(glb_float(&normal, 2), 1);
    struct glb_accessor uv = glb_attribute(&glb, "0", "0", "TEXCOORD_0");
    assert_bits(glb_float(&uv, 3), 0.25f);
    assert_bits(glb_float(&uv, 4), 0); /* was a NaN */
    json_t *node = glb_node(&glb, "quad");
    assert_string_equal(json_string_value(GLB_AT(node, "extras", "container")), "disc.iso!a.xpr");
    assert_null(GLB_AT(glb.root, "materials", "0", "doubleSided"));
    assert_true(
        json_real_value(GLB_AT(glb.root, "materials", "0", "pbrMetallicRoughness", "metallicFactor")) == 0);
    glb_close(&glb);
    json_decref(extras);
    model_free(&m);
}

static void no_normals_are_made_up_for_xbg7(void **state)
{
    (void)state;
    struct model m;
    quad_make(&m, FORMAT_XBG7, "quad");
    m.mesh->part_count = 0; /* triangles without parts are one part */
    struct glb glb = read_glb("no_normals", &m.item, 1);
    assert_null(GLB_AT(glb.root, "meshes", "0", "primitives", "0", "attributes", "NORMAL"));
    assert_int_equal(glb_attribute(&glb, "0", "0", "POSITION").count, 4);
    assert_int_equal(glb_indices(&glb, "0", "0").count, 6);
    glb_close(&glb);
    model_free(&m);
}

static void mirrored_negates_x_and_turns_winding(void **state)
{
    (void)state;
    struct model m;
    quad_make(&m, FORMAT_XBG7, "quad");
    add_quad_attributes(&m);
    m.item.mirrored = true;
    struct glb glb = read_glb("mirrored", &m.item, 1);
    struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION"),
                        index = glb_indices(&glb, "0", "0");
    struct glb_accessor normal = glb_attribute(&glb, "0", "0", "NORMAL");
    static const uint32_t turned[6] = {0, 2, 1, 0, 3, 2};
    for (size_t i = 0; i < 12; i++)
        assert_bits(glb_float(&position, i), i % 3 ? quad_positions[i] : -quad_positions[i]);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(glb_index(&index, i), turned[i]);
    assert_bits(glb_float(&normal, 6), -0.6f);
    assert_bits(glb_float(&normal, 8), 0.8f);
    glb_close(&glb);
    model_free(&m);
}

/* Draws over one vertex buffer, with vertices outside every draw in front, between and behind. */
static void overlapping_parts_share_vertices(void **state)
{
    (void)state;
    struct model m;
    model_make(&m, FORMAT_XBG7, "draws", 14, 4, 4);
    for (uint32_t i = 0; i < 42; i++)
        m.mesh->streams[0].data[i] = (float)(i * i % 17);
    set_corners(&m, (const uint32_t[]){1, 2, 3, 2, 3, 4, 7, 8, 9, 9, 10, 8});
    m.mesh->parts[0] = (struct mesh_part){0, 1, 1, 3, 1};
    m.mesh->parts[1] = (struct mesh_part){2, 1, 7, 4, 1}; /* out of vertex order */
    m.mesh->parts[2] = (struct mesh_part){1, 1, 2, 3, 1};
    m.mesh->parts[3] = (struct mesh_part){3, 1, 7, 4, 1};
    assert_true(mesh_is_sound(m.mesh));
    struct glb glb = read_glb("draws", &m.item, 1);
    json_t *primitives = GLB_AT(glb.root, "meshes", "0", "primitives");
    assert_int_equal(json_array_size(primitives), 4);
    assert_int_equal(json_integer_value(GLB_AT(primitives, "0", "attributes", "POSITION")),
                     json_integer_value(GLB_AT(primitives, "2", "attributes", "POSITION")));
    assert_int_equal(json_integer_value(GLB_AT(primitives, "1", "attributes", "POSITION")),
                     json_integer_value(GLB_AT(primitives, "3", "attributes", "POSITION")));
    struct glb_accessor front = glb_attribute(&glb, "0", "0", "POSITION"),
                        back = glb_attribute(&glb, "0", "1", "POSITION");
    assert_int_equal(front.count, 7); /* 0 in front and 5, 6 in between */
    assert_int_equal(back.count, 7);  /* 7..10 and 11, 12, 13 behind */
    assert_memory_equal(front.data, m.mesh->streams[0].data, 7 * 12);
    assert_memory_equal(back.data, m.mesh->streams[0].data + 21, 7 * 12);
    struct glb_accessor index = glb_indices(&glb, "0", "2");
    assert_int_equal(glb_index(&index, 2), 4);
    index = glb_indices(&glb, "0", "1");
    assert_int_equal(glb_index(&index, 0), 0);
    glb_close(&glb);
    model_free(&m);
}

/* A NaN and an infinity: 0 in their place, and no triangle that used them. */
static void values_that_are_not_finite_are_left_out(void **state)
{
    (void)state;
    struct model m;
    quad_make(&m, FORMAT_BGF, "hole");
    m.mesh->streams[0].data[4] = NAN;
    struct glb glb = read_glb("not_finite", &m.item, 1);
    struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION"),
                        index = glb_indices(&glb, "0", "0");
    assert_int_equal(position.count, 4);
    assert_bits(glb_float(&position, 3), 1.7f);
    assert_bits(glb_float(&position, 4), 0);
    assert_int_equal(index.count, 3);
    assert_int_equal(glb_index(&index, 2), 3);
    glb_close(&glb);
    m.mesh->streams[0].data[0] = -INFINITY; /* now no triangle is left: the vertices stay, as points */
    glb = read_glb("all_not_finite", &m.item, 1);
    assert_int_equal(json_integer_value(GLB_AT(glb.root, "meshes", "0", "primitives", "0", "mode")), 0);
    assert_non_null(GLB_AT(glb.root, "meshes", "0", "primitives", "0", "mode"));
    assert_int_equal(glb_attribute(&glb, "0", "0", "POSITION").count, 4);
    glb_close(&glb);
    model_free(&m);
}

/* The largest and the smallest f32, a triangle without an area, and one of one point. */
static void extremes_have_unit_normals(void **state)
{
    (void)state;
    static const float positions[18] = {
        FLT_MAX,      0, 0, -FLT_MAX, FLT_MAX,      0, 0, -FLT_MAX, FLT_MAX,
        FLT_TRUE_MIN, 0, 0, 0,        FLT_TRUE_MIN, 0, 0, 0,        FLT_TRUE_MIN};
    static const uint32_t corners[12] = {0, 1, 2, 3, 4, 5, 0, 0, 0, 3, 4, 4};
    for (int faceted = 0; faceted < 2; faceted++) {
        struct model m;
        struct part_info info = {.faceted = faceted};
        model_make(&m, FORMAT_BGF, "extreme", 6, 4, 1);
        set_positions(&m, positions);
        set_corners(&m, corners);
        m.mesh->parts[0] = (struct mesh_part){0, 4, 0, 6, 1};
        m.resource.parts = &info;
        struct glb glb = read_glb(faceted ? "extreme_flat" : "extreme_smooth", &m.item, 1);
        struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION");
        struct glb_accessor normal = glb_attribute(&glb, "0", "0", "NORMAL");
        assert_int_equal(position.count, faceted ? 9 : 6);
        assert_memory_equal(position.data, positions, sizeof positions);
        assert_unit_normals(&normal);
        glb_close(&glb);
        model_free(&m);
    }
}

static void indices_grow_to_32_bits_in_time(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {65535, 65536, 70000}; /* 65535 as an index would restart the primitive */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct model m;
        char name[32];
        snprintf(name, sizeof name, "vertices_%u", sizes[i]);
        model_make(&m, FORMAT_XBG7, name, sizes[i], sizes[i] - 2, 0);
        for (uint32_t v = 0; v < sizes[i]; v++) {
            m.mesh->streams[0].data[v * 3] = (float)v;
            m.mesh->streams[0].data[v * 3 + 1] = (float)(v % 2);
        }
        for (uint32_t t = 0; t < (sizes[i] - 2) * 3; t++)
            m.mesh->streams[0].corner[t] = t / 3 + t % 3;
        struct glb glb = read_glb(name, &m.item, 1);
        struct glb_accessor index = glb_indices(&glb, "0", "0"),
                            position = glb_attribute(&glb, "0", "0", "POSITION");
        assert_int_equal(index.type, sizes[i] > 65535 ? 5125 : 5123);
        assert_int_equal(glb_index(&index, index.count - 1), sizes[i] - 1);
        assert_memory_equal(position.data, m.mesh->streams[0].data, (size_t)sizes[i] * 12);
        glb_close(&glb);
        model_free(&m);
    }
}

/* ---- GLB of MESHBIN ----------------------------------------------------------------------------------- */

/* A cube with its sides' normals and texture coordinates indexed by corner, as MESHBIN has them. The last
 * side's normal is zero. */
static void cube_make(struct model *m)
{
    static const uint8_t sides[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1},
                                        {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};
    static const float normals[18] = {-1, 0, 0, 1, 0, 0, 0, -3, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0};
    static const float uvs[8] = {0, 0, 255, 0, 255, 255, 0, 255};
    uint32_t corner[36], normal[36], uv[36];
    for (uint32_t side = 0, n = 0; side < 6; side++)
        for (uint32_t k = 0; k < 6; k++, n++) {
            uint32_t which = (uint32_t[]){0, 1, 2, 0, 2, 3}[k];
            corner[n] = sides[side][which];
            normal[n] = side;
            uv[n] = which;
        }
    model_make(m, FORMAT_MESHBIN, "cube", 8, 12, 1);
    for (uint32_t v = 0; v < 8; v++)
        for (uint32_t axis = 0; axis < 3; axis++)
            m->mesh->streams[0].data[v * 3 + axis] = v >> (2 - axis) & 1 ? 0.7f : -0.5f;
    set_corners(m, corner);
    add_stream(m, MESH_NORMAL, 3, 6, normals, normal);
    add_stream(m, MESH_TEXCOORD, 2, 4, uvs, uv);
    m->mesh->parts[0] = (struct mesh_part){0, 12, 0, 8, 7};
}

static void meshbin_corners_split_vertices(void **state)
{
    (void)state;
    struct model m;
    cube_make(&m);
    struct glb glb = read_glb("cube", &m.item, 1);
    struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION"),
                        normal = glb_attribute(&glb, "0", "0", "NORMAL");
    struct glb_accessor uv = glb_attribute(&glb, "0", "0", "TEXCOORD_0"), index = glb_indices(&glb, "0", "0");
    assert_int_equal(position.count, 24); /* not 36: the two triangles of a side share corners */
    const float *stored = m.mesh->streams[0].data;
    for (uint32_t i = 0; i < 24; i++) /* stored vertices first, axes turned */
        assert_bits(glb_float(&position, i), i % 3 ? -stored[i] : stored[i]);
    assert_unit_normals(&normal);
    static const float turned[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    for (uint32_t i = 0; i < 36; i++) {
        uint32_t v = glb_index(&index, i), from = m.mesh->streams[0].corner[i];
        uint32_t texel = m.mesh->streams[2].corner[i];
        for (uint32_t axis = 0; axis < 3; axis++) {
            assert_bits(glb_float(&position, v * 3 + axis),
                        axis ? -stored[from * 3 + axis] : stored[from * 3]);
            assert_true(glb_float(&normal, v * 3 + axis) == turned[i / 6][axis]);
        }
        assert_bits(glb_float(&uv, v * 2), m.mesh->streams[2].data[texel * 2] / 256);
    }
    assert_true(json_is_true(GLB_AT(glb.root, "materials", "0", "doubleSided")));
    glb_close(&glb);
    model_free(&m);
}

/* A file of the old kind whose normals do agree with its faces is not turned. */
static void agreeing_normals_are_not_turned(void **state)
{
    (void)state;
    struct model m;
    cube_make(&m);
    m.resource.flags = FLAG_BIT(FLAG_LEGACY);
    struct glb glb = read_glb("legacy", &m.item, 1);
    struct glb_accessor normal = glb_attribute(&glb, "0", "0", "NORMAL"), index = glb_indices(&glb, "0", "0");
    assert_bits(glb_float(&normal, glb_index(&index, 12) * 3 + 1), 1); /* (0, -3, 0) stored */
    glb_close(&glb);
    float *stored = m.mesh->streams[1].data;
    for (size_t i = 0; i < 6; i++) { /* the same cube with its normals in the other axes */
        float y = stored[i * 3 + 1];
        stored[i * 3 + 1] = -stored[i * 3 + 2];
        stored[i * 3 + 2] = y;
    }
    glb = read_glb("legacy_turned", &m.item, 1);
    normal = glb_attribute(&glb, "0", "0", "NORMAL");
    index = glb_indices(&glb, "0", "0");
    assert_bits(glb_float(&normal, glb_index(&index, 12) * 3 + 1), 1);
    glb_close(&glb);
    model_free(&m);
}

static void add_skeleton(struct model *m, float last)
{
    const float bone_of_vertex[8] = {0, 0, 1, 1, 2, 2, 0, last};
    add_stream(m, MESH_BLENDINDICES, 1, 8, bone_of_vertex, NULL);
    m->mesh->bones = arena_array(&m->arena, 3, sizeof *m->mesh->bones);
    assert_non_null(m->mesh->bones);
    m->mesh->bone_count = 3;
    m->mesh->bones[0] = (struct mesh_bone){-1, {1, 2, 3}, {0, 0, 1, 1}}; /* not of length 1 */
    m->mesh->bones[1] = (struct mesh_bone){0, {0, 1, 0}, {0.5f, 0.5f, 0.5f, 0.5f}};
    m->mesh->bones[2] =
        (struct mesh_bone){-1, {0, 0, 4}, {0, 0, 0, 0}}; /* a second root, no rotation at all */
}

/* node * inverse bind must be the identity: at rest the vertices are where the file has them. */
static void check_bind(const struct glb *glb, const struct glb_accessor *bind, size_t bone,
                       const double place[3])
{
    (void)glb;
    for (size_t row = 0; row < 3; row++) {
        double sum = (double)glb_float(bind, bone * 16 + 12 + row);
        for (size_t column = 0; column < 3; column++)
            sum += (double)glb_float(bind, bone * 16 + column * 4 + row) * place[column];
        assert_true(fabs(sum) < 1e-5); /* the bone's own place goes to the origin */
    }
    assert_bits(glb_float(bind, bone * 16 + 15), 1);
}

static void skeletons_become_skins(void **state)
{
    (void)state;
    struct model m;
    cube_make(&m);
    add_skeleton(&m, 2);
    struct glb glb = read_glb("skin", &m.item, 1);
    struct glb_accessor joints = glb_attribute(&glb, "0", "0", "JOINTS_0"),
                        weights = glb_attribute(&glb, "0", "0", "WEIGHTS_0");
    assert_int_equal(joints.type, 5121);
    assert_memory_equal(joints.data + 7 * 4, "\2\0\0\0", 4);
    assert_memory_equal(joints.data + 2 * 4, "\1\0\0\0", 4);
    assert_memory_equal(weights.data + 23 * 4, "\xFF\0\0\0", 4);
    json_t *skin = GLB_AT(glb.root, "skins", "0"), *item = glb_node(&glb, "cube");
    assert_int_equal(json_integer_value(GLB_AT(item, "skin")), 0);
    assert_int_equal(json_array_size(GLB_AT(skin, "joints")), 3);
    assert_int_equal(json_array_size(GLB_AT(item, "children")), 2);
    assert_int_equal(json_array_size(GLB_AT(glb_node(&glb, "bone0"), "children")), 1);
    assert_true(json_real_value(GLB_AT(glb_node(&glb, "bone0"), "translation", "1")) == -2);
    assert_true(fabs(json_real_value(GLB_AT(glb_node(&glb, "bone0"), "rotation", "2")) + sqrt(0.5)) < 1e-12);
    assert_true(json_real_value(GLB_AT(glb_node(&glb, "bone2"), "rotation", "3")) == 1);
    struct glb_accessor bind = glb_accessor(&glb, GLB_AT(skin, "inverseBindMatrices"));
    assert_int_equal(bind.count, 3);
    check_bind(&glb, &bind, 0, (const double[]){1, -2, -3});
    check_bind(&glb, &bind, 1,
               (const double[]){0, -2, -3}); /* a quarter turn about z carries (0, 1, 0) to x */
    check_bind(&glb, &bind, 2, (const double[]){0, 0, -4});
    glb_close(&glb);
    model_free(&m);
}

/* A bone number past the table: no skin rather than a wrong one. */
static void broken_skeletons_are_left_out(void **state)
{
    (void)state;
    struct model m;
    cube_make(&m);
    add_skeleton(&m, 3);
    struct glb glb = read_glb("broken_skin", &m.item, 1);
    assert_null(GLB_AT(glb.root, "skins"));
    assert_null(GLB_AT(glb.root, "meshes", "0", "primitives", "0", "attributes", "JOINTS_0"));
    glb_close(&glb);
    model_free(&m);
}

/* ---- GLB of BGF --------------------------------------------------------------------------------------- */

static const char hostile[] =
    "a\xFF\xC0\x80\x01\n\"\\</script> \xED\xA0\x80 \xE2\x80\xA8 \xC2\x85 \xC3\xA9 %s";

struct house {
    struct model model;
    struct object_info objects[2];
    struct lod_info lods[4];
    struct part_info parts[4];
};

/* Two objects, four LODs (one without triangles, one of no known object), faceted and smooth patches,
 * colours. */
static void house_make(struct house *h)
{
    static const float colours[64] = {
        [0] = 1, [1] = 0.2f, [3] = 1, [16] = 0.3f, [17] = 7, [18] = -1, [19] = NAN};
    model_make(&h->model, FORMAT_BGF, hostile, 16, 8, 4);
    struct mesh *mesh = h->model.mesh;
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(mesh->streams[0].data + (size_t)i * 12, quad_positions, sizeof quad_positions);
        for (uint32_t k = 0; k < 6; k++)
            mesh->streams[0].corner[i * 6 + k] = quad_corners[k] + i * 4;
        mesh->parts[i] = (struct mesh_part){i * 2, 2, i * 4, 4, i < 2 ? 3 : 1};
    }
    add_stream(&h->model, MESH_COLOR, 4, 16, colours, NULL);
    h->objects[0].name = "hull";
    h->objects[1].name = NULL;
    h->lods[0] = (struct lod_info){.object = 0, .has_distance = true, .in = 0, .out = 250.5f, .triangles = 2};
    h->lods[1] =
        (struct lod_info){.object = 0, .has_distance = true, .in = 250.5f, .out = INFINITY, .triangles = 2};
    h->lods[2] = (struct lod_info){.object = 1, .implicit = true};
    h->lods[3] = (struct lod_info){.object = UINT32_MAX, .implicit = true, .triangles = 4};
    h->parts[0] = (struct part_info){.material = "lib:red", .object = 0, .lod = 0, .faceted = true};
    h->parts[1] = (struct part_info){.material = "lib:blue",
                                     .back_material = hostile,
                                     .special = "DOOR 1",
                                     .lod = 1,
                                     .patch = 1,
                                     .decal = true};
    h->parts[2] = (struct part_info){.material = "lib:red", .object = UINT32_MAX, .lod = 3, .patch = 2};
    h->parts[3] = (struct part_info){.object = UINT32_MAX, .lod = UINT32_MAX, .patch = 3};
    h->model.resource.parts = h->parts;
    h->model.resource.objects = h->objects;
    h->model.resource.object_count = 2;
    h->model.resource.lods = h->lods;
    h->model.resource.lod_count = 4;
}

static void objects_and_lods_become_nodes(void **state)
{
    (void)state;
    struct house h;
    house_make(&h);
    struct glb glb = read_glb("house", &h.model.item, 1);
    json_t *item = GLB_AT(glb.root, "nodes", "0");
    assert_string_equal(json_string_value(GLB_AT(item, "name")),
                        "a%FF%C0%80%01%0A\"\\</script> %ED%A0%80 %E2%80%A8 %C2%85 \xC3\xA9 %s");
    assert_int_equal(json_array_size(GLB_AT(item, "children")), 3); /* two objects, the LOD of none */
    assert_non_null(glb_node(&glb, "hull.lod1"));
    json_t *second = glb_node(&glb, "hull.lod2");
    assert_non_null(second);
    assert_null(GLB_AT(second, "extras", "distance")); /* not finite */
    assert_true(json_real_value(GLB_AT(glb_node(&glb, "hull.lod1"), "extras", "distance", "1")) == 250.5);
    assert_non_null(glb_node(&glb, "object1"));
    assert_int_equal(json_array_size(GLB_AT(glb.root, "meshes")),
                     4); /* three LODs with parts, and the stray part's */
    assert_int_equal(json_array_size(GLB_AT(glb.root, "materials")), 3);
    json_t *primitive = json_array_get(
        GLB_AT(json_array_get(GLB_AT(glb.root, "meshes"), (size_t)json_integer_value(GLB_AT(second, "mesh"))),
               "primitives"),
        0);
    assert_string_equal(json_string_value(GLB_AT(primitive, "extras", "special")), "DOOR 1");
    assert_true(json_is_true(GLB_AT(primitive, "extras", "decal")));
    assert_int_equal(json_integer_value(GLB_AT(primitive, "extras", "part")), 1);
    json_t *materials = GLB_AT(glb.root, "materials");
    assert_string_equal(
        json_string_value(GLB_AT(
            json_array_get(materials, (size_t)json_integer_value(GLB_AT(primitive, "material"))), "name")),
        "lib:blue");
    glb_close(&glb);
    model_free(&h.model);
}

static void faceted_patches_are_split_and_others_are_not(void **state)
{
    (void)state;
    struct house h;
    house_make(&h);
    struct glb glb = read_glb("house", &h.model.item, 1);
    struct glb_accessor flat =
        glb_accessor(&glb, GLB_AT(glb.root, "meshes", "0", "primitives", "0", "attributes", "NORMAL"));
    struct glb_accessor index = glb_indices(&glb, "0", "0");
    assert_int_equal(flat.count, 6); /* the two corners on the fold twice */
    static const uint32_t want[6] = {0, 1, 2, 4, 5, 3};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(glb_index(&index, i), want[i]);
    assert_unit_normals(&flat);
    assert_memory_equal(flat.data, flat.data + 12, 12); /* 0 and 1 lie on one face */
    assert_memory_not_equal(flat.data, flat.data + 48, 12);
    struct glb_accessor smooth = glb_attribute(&glb, "1", "0", "NORMAL");
    assert_int_equal(smooth.count, 4);
    assert_unit_normals(&smooth);
    struct glb_accessor bytes = glb_attribute(&glb, "0", "0", "COLOR_0"),
                        floats = glb_attribute(&glb, "1", "0", "COLOR_0");
    assert_int_equal(bytes.type, 5121); /* 1, 0.2 and 0 are k / 255 */
    assert_memory_equal(bytes.data, "\xFF\x33\0\xFF", 4);
    assert_int_equal(floats.type, 5126); /* 0.3 is not */
    assert_bits(glb_float(&floats, 0), 0.3f);
    assert_bits(glb_float(&floats, 1), 1);
    assert_bits(glb_float(&floats, 2), 0);
    assert_bits(glb_float(&floats, 3), 0);
    assert_null(GLB_AT(glb.root, "meshes", "2", "primitives", "0", "attributes", "COLOR_0"));
    glb_close(&glb);
    model_free(&h.model);
}

static void several_items_share_a_scene_and_materials(void **state)
{
    (void)state;
    struct house h;
    struct model cube, effect, empty_name;
    house_make(&h);
    cube_make(&cube);
    add_skeleton(&cube, 2);
    model_make(&effect, FORMAT_BGF, "spark", 0, 0, 0); /* spheres only: no geometry at all */
    effect.resource.objects = h.objects;
    effect.resource.object_count = 2;
    quad_make(&empty_name, FORMAT_XBG7, "");
    const struct export_item items[] = {h.model.item, cube.item, effect.item, empty_name.item, h.model.item};
    struct glb glb = read_glb("several", items, 5);
    assert_int_equal(json_array_size(GLB_AT(glb.root, "scenes", "0", "nodes")), 5);
    assert_int_equal(json_array_size(GLB_AT(glb.root, "materials")), 4); /* red, blue, two nameless */
    assert_null(GLB_AT(glb_node(&glb, "spark"), "mesh"));
    assert_non_null(glb_node(&glb, "mesh"));
    glb_close(&glb);
    glb = read_glb("effect", &effect.item, 1);
    assert_null(glb.bin);
    assert_null(GLB_AT(glb.root, "buffers"));
    glb_close(&glb);
    for (int format = EXPORT_OBJ; format <= EXPORT_PLY; format++) {
        struct text text = written((enum export_format)format, "several", items, 5);
        free(text.data);
        text = written((enum export_format)format, "effect", &effect.item, 1);
        free(text.data);
    }
    model_free(&h.model);
    model_free(&cube);
    model_free(&effect);
    model_free(&empty_name);
}

/* ---- OBJ and PLY -------------------------------------------------------------------------------------- */

static void obj_keeps_its_own_indices(void **state)
{
    (void)state;
    struct model m, second;
    quad_make(&m, FORMAT_MESHBIN, "two words\n#\\");
    add_stream(&m, MESH_NORMAL, 3, 2, (const float[]){0, 0, -2, 0, 0, 0},
               (const uint32_t[]){0, 0, 0, 0, 1, 0});
    add_stream(&m, MESH_TEXCOORD, 2, 2, (const float[]){64, 0, 1, 2}, (const uint32_t[]){0, 1, 0, 1, 1, 1});
    m.mesh->parts[0].streams = 7;
    json_t *extras = json_pack("{s:s, s:i}", "contai\nner", "a\nv 1 2 3", "index", 3);
    m.item.extras = extras;
    quad_make(&second, FORMAT_XBG7, "b");
    second.item.mirrored = true;
    add_stream(&second, MESH_NORMAL, 3, 4, (const float[]){1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 9}, NULL);
    second.mesh->parts[0].streams = 3;
    const struct export_item items[] = {m.item, second.item};
    struct text text = written(EXPORT_OBJ, "two", items, 2);
    assert_string_equal((const char *)text.data, "# anchorage\n"
                                                 "# contai%0Aner: \"a\\nv 1 2 3\"\n"
                                                 "# index: 3\n"
                                                 "o two%20words%0A%23%5C\n"
                                                 "v 0.1 -0 -0\n"
                                                 "v 1.7 -0 -0\n"
                                                 "v 1 -2.3 -0.25\n"
                                                 "v 0 -1 0.3\n"
                                                 "vt 0.25 0\n"
                                                 "vt 0.00390625 0.0078125\n"
                                                 "vn 0 -0 1\n"
                                                 "vn 0 0 0\n"
                                                 "usemtl default\n"
                                                 "f 1/1/1 2/2/1 3/1/1\n"
                                                 "f 1/2 3/2 4/2\n"
                                                 "o b\n"
                                                 "v -0.1 0 0\n"
                                                 "v -1.7 0 0\n"
                                                 "v -1 2.3 0.25\n"
                                                 "v -0 1 -0.3\n"
                                                 "vn -1 0 0\n"
                                                 "vn -0 1 0\n"
                                                 "vn -0 0 1\n"
                                                 "vn -0 0 1\n"
                                                 "usemtl default\n"
                                                 "f 5//3 7//5 6//4\n"
                                                 "f 5//3 8//6 7//5\n");
    free(text.data);
    json_decref(extras);
    model_free(&m);
    model_free(&second);
}

static void obj_groups_parts(void **state)
{
    (void)state;
    struct house h;
    house_make(&h);
    struct text text = written(EXPORT_OBJ, "house", &h.model.item, 1);
    const char *obj = (const char *)text.data;
    assert_non_null(strstr(obj, "\ng part0 hull lod1\nusemtl lib:red\ns off\nf 1 2 3\n"));
    assert_non_null(strstr(obj, "\ng part1 hull lod2\nusemtl lib:blue\ns 1\nf 5 6 7\n"));
    assert_non_null(strstr(obj, "\ng part2 lod1\nusemtl lib:red\ns 1\nf 9 10 11\n"));
    assert_non_null(strstr(obj, "\ng part3\nusemtl default\ns 1\nf 13 14 15\n"));
    free(text.data);
    model_free(&h.model);
}

static void ply_is_what_its_header_says(void **state)
{
    (void)state;
    struct house h;
    struct model m;
    house_make(&h);
    quad_make(&m, FORMAT_XBG7, "quad");
    const struct export_item items[] = {m.item, h.model.item};
    struct text text = written(EXPORT_PLY, "two", items, 2);
    const char *end = strstr((const char *)text.data, "end_header\n");
    assert_non_null(end);
    assert_non_null(
        strstr((const char *)text.data, "\nelement vertex 22\n")); /* 4 + 16 + 2 for the flat patch */
    assert_non_null(strstr((const char *)text.data, "\nelement face 10\n"));
    assert_non_null(strstr((const char *)text.data, "property uchar blue\n"));
    const uint8_t *vertex = (const uint8_t *)end + strlen("end_header\n");
    const size_t vertex_size = 6 * 4 + 3, face_size = 13;
    assert_int_equal(vertex + 22 * vertex_size + 10 * face_size - text.data, text.size);
    for (size_t v = 0; v < 20; v++)
        assert_memory_equal(vertex + v * vertex_size, quad_positions + v % 4 * 3, 12);
    assert_memory_equal(vertex + 24, "\xFF\xFF\xFF", 3); /* the quad has no colours: white */
    const uint8_t *face = vertex + 22 * vertex_size;
    assert_int_equal(face[0], 3);
    assert_int_equal(load_u32le(face + 9), 2);
    assert_int_equal(load_u32le(face + 2 * face_size + 5), 5); /* the second item counts from 4 */
    free(text.data);
    model_free(&h.model);
    model_free(&m);
}

/* ---- failures ----------------------------------------------------------------------------------------- */

static void nothing_to_write_is_an_error(void **state)
{
    (void)state;
    struct error err = {0};
    for (int format = 0; format < EXPORT_FORMAT_COUNT; format++) {
        error_clear(&err);
        assert_false(export_write((enum export_format)format, NULL, 0, stderr, &err));
        assert_int_equal(err.code, ERROR_USAGE);
    }
}

static void full_disks_are_told(void **state)
{
    (void)state;
    struct model m;
    quad_make(&m, FORMAT_XBG7, "quad");
    for (int format = 0; format < EXPORT_FORMAT_COUNT; format++) {
        struct error err = {0};
        FILE *full = fopen("/dev/full", "wb");
        if (!full) {
            print_message("/dev/full is not there\n");
            skip();
        }
        assert_false(export_write((enum export_format)format, &m.item, 1, full, &err));
        assert_int_equal(err.code, ERROR_DISK);
        fclose(full);
    }
    model_free(&m);
}

/* ---- real files --------------------------------------------------------------------------------------- */

/* The normals of these files are stored in other axes than the positions; on export they stand on their
 * faces. */
static void check_normals_face_outward(const struct glb *glb)
{
    struct glb_accessor position = glb_attribute(glb, "0", "0", "POSITION"),
                        normal = glb_attribute(glb, "0", "0", "NORMAL");
    struct glb_accessor index = glb_indices(glb, "0", "0");
    for (size_t i = 0; i < index.count; i += 3) {
        double edge[2][3], n[3];
        for (size_t axis = 0; axis < 3; axis++) {
            double first = (double)glb_float(&position, glb_index(&index, i) * 3 + axis);
            for (size_t k = 0; k < 2; k++)
                edge[k][axis] = (double)glb_float(&position, glb_index(&index, i + k + 1) * 3 + axis) - first;
            n[axis] = (double)glb_float(&normal, glb_index(&index, i) * 3 + axis);
        }
        double along = n[0] * (edge[0][1] * edge[1][2] - edge[0][2] * edge[1][1]) +
                       n[1] * (edge[0][2] * edge[1][0] - edge[0][0] * edge[1][2]) +
                       n[2] * (edge[0][0] * edge[1][1] - edge[0][1] * edge[1][0]);
        assert_true(along > 0);
    }
}

static void export_real(const char *path, const char *name)
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_message("%s is not there\n", path);
        skip();
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct arena arena = {0};
    struct container container = {0};
    const struct input input = {.data = bytes, .size = size, .name = name};
    assert_true(format_meshbin.decode(&input, &arena, &container));
    assert_int_equal(container.resource_count, 1);
    const struct mesh *mesh = container.resources[0].mesh;
    assert_non_null(mesh);
    struct export_item item = {.resource = &container.resources[0], .mesh = mesh, .name = name};
    struct glb glb = read_glb(name, &item, 1);
    struct glb_accessor position = glb_attribute(&glb, "0", "0", "POSITION");
    assert_true(position.count >= mesh->vertex_count);
    for (size_t i = 0; i < (size_t)mesh->vertex_count * 3; i++)
        assert_bits(glb_float(&position, i), i % 3 ? -mesh->streams[0].data[i] : mesh->streams[0].data[i]);
    assert_int_equal(glb_indices(&glb, "0", "0").count, mesh->triangle_count * 3);
    check_normals_face_outward(&glb);
    glb_close(&glb);
    for (int format = EXPORT_OBJ; format <= EXPORT_PLY; format++)
        free(written((enum export_format)format, name, &item, 1).data);
    arena_free(&arena);
}

static void real_files_are_exported(void **state)
{
    (void)state;
    static const char *const names[] = {"393a515_cube.meshbin", "c686df4_residential_street.meshbin",
                                        "cc1950e_cube.meshbin", "f8a665f_residential_street.meshbin"};
    const char *shared = getenv("ANCHORAGE_SHARED");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/samples/meshbin/%s", shared ? shared : "../shared", names[i]);
        export_real(path, names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_name_formats),
        cmocka_unit_test(plain_mesh_keeps_every_bit),
        cmocka_unit_test(no_normals_are_made_up_for_xbg7),
        cmocka_unit_test(mirrored_negates_x_and_turns_winding),
        cmocka_unit_test(overlapping_parts_share_vertices),
        cmocka_unit_test(values_that_are_not_finite_are_left_out),
        cmocka_unit_test(extremes_have_unit_normals),
        cmocka_unit_test(indices_grow_to_32_bits_in_time),
        cmocka_unit_test(meshbin_corners_split_vertices),
        cmocka_unit_test(agreeing_normals_are_not_turned),
        cmocka_unit_test(skeletons_become_skins),
        cmocka_unit_test(broken_skeletons_are_left_out),
        cmocka_unit_test(objects_and_lods_become_nodes),
        cmocka_unit_test(faceted_patches_are_split_and_others_are_not),
        cmocka_unit_test(several_items_share_a_scene_and_materials),
        cmocka_unit_test(obj_keeps_its_own_indices),
        cmocka_unit_test(obj_groups_parts),
        cmocka_unit_test(ply_is_what_its_header_says),
        cmocka_unit_test(nothing_to_write_is_an_error),
        cmocka_unit_test(full_disks_are_told),
        cmocka_unit_test(real_files_are_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
