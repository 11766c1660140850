/* corpus_meshbin.c - MESHBIN files of every version, form and legacy variant, and what can be wrong with
 * them.
 *
 * The writer follows formats/meshbin.md and shares nothing with the decoder, not even a table: it is the
 * other opinion the tests compare against. See corpus.h.
 */
#include "bench/corpus/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a kind has beyond a plain mesh. */
enum trait {
    EARLY = 1 << 0,
    SKELETON = 1 << 1,
    SIGNED_COLORS = 1 << 2, /* i8, -1 = none */
    NO_UVS = 1 << 3,        /* legacy-b and legacy-c are then the same bytes */
    GAPS = 1 << 4,          /* some corners without a normal or uv */
    POLYGONS = 1 << 5,      /* faces of more than four corners: counted, not written */
    MANY_FACES = 1 << 6,
    MANY_BONES = 1 << 7,
    TRAILING = 1 << 8,
    LARGE = 1 << 9, /* a coordinate that no f32 holds */
    /* What makes a decoder decline. */
    CUT = 1 << 10,
    HUGE_COUNT = 1 << 11,
    NEXT_VERSION = 1 << 12,
    BAD_VERTEX = 1 << 13,
    BAD_NORMAL = 1 << 14,
    BAD_UV = 1 << 15,
    BAD_PARENT = 1 << 16,
    BAD_BONE = 1 << 17,
    UNCLOSED = 1 << 18,
};

struct kind {
    const char *name;
    int version; /* 0..3, or 'a'..'d' of the legacy variants */
    unsigned traits;
};

static const struct kind kinds[] = {
    {"v0", 0, 0},
    {"v1", 1, 0},
    {"v1-signed-colours", 1, SIGNED_COLORS},
    {"v2", 2, 0},
    {"v2-skeleton", 2, SKELETON},
    {"v2-early", 2, SKELETON | EARLY},
    {"v3", 3, 0},
    {"v3-skeleton", 3, SKELETON},
    {"v3-early", 3, EARLY},
    {"v3-early-skeleton", 3, EARLY | SKELETON},
    {"v3-gaps", 3, GAPS},
    {"v3-polygons", 3, POLYGONS},
    {"v3-many-faces", 3, MANY_FACES},
    {"v3-many-bones", 3, SKELETON | MANY_BONES},
    {"v3-trailing", 3, TRAILING},
    {"v3-large", 3, LARGE},
    {"legacy-a", 'a', 0},
    {"legacy-b", 'b', 0},
    {"legacy-c", 'c', 0},
    {"legacy-d", 'd', 0},
    {"legacy-ambiguous", 'c', NO_UVS},
    {"truncated", 3, CUT},
    {"truncated-v1", 1, CUT},
    {"huge-count", 3, HUGE_COUNT},
    {"unknown-version", 3, NEXT_VERSION},
    {"bad-vertex-index", 3, BAD_VERTEX},
    {"bad-normal-index", 2, BAD_NORMAL},
    {"bad-uv-index", 1, BAD_UV},
    {"bad-legacy-index", 'd', BAD_VERTEX},
    {"bad-parent", 3, SKELETON | BAD_PARENT},
    {"bad-bone", 2, SKELETON | BAD_BONE},
    {"legacy-unclosed", 'd', UNCLOSED},
};

/* i16 indices reach 32767, and a split shape has up to three vertices a triangle. */
#define TRIANGLES_MAX 10000

/* A mesh in the file's own units. */
struct model {
    uint32_t vertex_count, group_count, face_count, triangle_count;
    int32_t (*position)[3];
    int16_t (*normal)[3];
    uint8_t (*uv)[2];
    int16_t (*color)[3];
    int16_t (*group)[4]; /* all three lists: every vertex has a normal and a uv of its own number */
    uint32_t bone_count;
};

/* Where in the file the parts lie that malformed kinds break. */
struct marks {
    size_t groups[3], groups_end, bones, bone_of_vertex;
};

/* ---- the mesh ---- */

static void model_free(struct model *model)
{
    free(model->position);
    free(model->normal);
    free(model->uv);
    free(model->color);
    free(model->group);
}

static bool model_room(struct model *model, const struct shape *shape)
{
    size_t vertices = shape->vertex_count;
    model->position = malloc(vertices * sizeof *model->position);
    model->normal = malloc(vertices * sizeof *model->normal);
    model->uv = malloc(vertices * sizeof *model->uv);
    model->color = malloc(vertices * sizeof *model->color);
    model->group = malloc(shape->triangle_count * sizeof *model->group);
    return model->position && model->normal && model->uv && model->color && model->group;
}

/* Colours as each era writes them when there are none, or random ones. */
static void model_colors(struct model *model, struct rng *rng, const struct kind *kind)
{
    bool legacy = kind->version >= 'a', minus = legacy || kind->traits & SIGNED_COLORS;
    bool colored = rng_chance(rng, 50);
    for (uint32_t v = 0; v < model->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            model->color[v][i] = colored ? (int16_t)rng_below(rng, minus ? 128 : 256) : minus ? -1 : 128;
}

/* Whole units, truncated toward zero as the exporter does. */
static void model_vertices(struct model *model, const struct shape *shape, const struct kind *kind)
{
    float normal_unit = kind->version == 'a' ? 128.0f : 1.0f;
    model->vertex_count = shape->vertex_count;
    for (uint32_t v = 0; v < shape->vertex_count; v++) {
        for (uint32_t i = 0; i < 3; i++) {
            model->position[v][i] = (int32_t)(shape->position[v * 3 + i] * 128.0f);
            model->normal[v][i] = (int16_t)(shape->normal[v * 3 + i] * normal_unit);
        }
        for (uint32_t i = 0; i < 2; i++)
            model->uv[v][i] = (uint8_t)(shape->uv[v * 2 + i] * 255.0f);
    }
    if (kind->traits & LARGE)
        model->position[0][0] = (INT32_C(1) << 24) + 1;
}

/* Most pairs of triangles (a, b, c), (a, c, d) become a quad a b c d, whose slots are a d b c. */
static void model_groups(struct model *model, struct rng *rng, const struct shape *shape)
{
    model->triangle_count = shape->triangle_count;
    for (uint32_t t = 0; t < shape->triangle_count; t++) {
        const uint32_t *p = shape->corner + (size_t)t * 3;
        int16_t *group = model->group[model->group_count++];
        bool pair = t + 1 < shape->triangle_count && p[3] == p[0] && p[4] == p[2];
        bool quad = pair && rng_chance(rng, 80);
        group[0] = (int16_t)p[0];
        group[1] = quad ? (int16_t)p[5] : -1;
        group[2] = (int16_t)p[1];
        group[3] = (int16_t)p[2];
        t += quad;
    }
    model->face_count = model->group_count;
}

static bool model_make(struct model *model, struct rng *rng, const struct kind *kind, uint32_t triangles)
{
    uint32_t wanted = triangles < TRIANGLES_MAX ? triangles : TRIANGLES_MAX;
    struct shape shape = shape_random(rng, wanted ? wanted : 1, rng_float(rng, 1.0f, 20.0f));
    bool made = shape.corner && model_room(model, &shape);
    if (made) {
        model_vertices(model, &shape, kind);
        model_groups(model, rng, &shape);
        model_colors(model, rng, kind);
        if (kind->traits & POLYGONS)
            model->face_count += 1 + rng_below(rng, 5);
        if (kind->traits & MANY_FACES)
            model->face_count += 1000;
        if (kind->traits & SKELETON)
            model->bone_count = kind->traits & MANY_BONES ? 16 : 2 + rng_below(rng, 6);
    }
    shape_free(&shape);
    return made;
}

static void model_box(const struct model *model, int32_t low[3], int32_t high[3])
{
    for (int i = 0; i < 3; i++) {
        low[i] = high[i] = model->position[0][i];
        for (uint32_t v = 1; v < model->vertex_count; v++) {
            int32_t value = model->position[v][i];
            low[i] = value < low[i] ? value : low[i];
            high[i] = value > high[i] ? value : high[i];
        }
    }
}

/* ---- the file ---- */

static void put_i16s(struct buffer *out, const int16_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put_u16le(out, (uint16_t)values[i]);
}

/* One list of index groups; `every` > 0 leaves each such corner without its attribute. */
static void put_groups(struct buffer *out, const struct model *model, struct marks *marks, int list,
                       unsigned every)
{
    marks->groups[list] = out->size;
    for (uint32_t g = 0; g < model->group_count; g++) {
        int16_t group[4];
        memcpy(group, model->group[g], sizeof group);
        if (every && g % every == 0)
            group[2] = -1;
        put_i16s(out, group, 4);
    }
    marks->groups_end = out->size;
}

static void put_positions(struct buffer *out, const struct model *model, bool narrow)
{
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        for (int i = 0; i < 3; i++)
            if (narrow)
                put_u16le(out, (uint16_t)model->position[v][i]);
            else
                put_u32le(out, (uint32_t)model->position[v][i]);
        if (narrow)
            put_u16le(out, 0);
    }
}

static void put_box(struct buffer *out, const struct model *model)
{
    int32_t low[3], high[3];
    model_box(model, low, high);
    for (int i = 0; i < 3; i++)
        put_u16le(out, (uint16_t)low[i]);
    for (int i = 0; i < 3; i++)
        put_u16le(out, (uint16_t)high[i]);
}

static void put_skeleton(struct buffer *out, const struct model *model, struct rng *rng, bool early,
                         struct marks *marks)
{
    static const int16_t rotations[4][4] = {
        {4096, 0, 0, 0}, {2048, 2048, -2048, 2048}, {2896, 0, 2896, 0}, {0, -4096, 0, 0}};
    marks->bones = out->size;
    for (uint32_t b = 0; b < model->bone_count; b++) {
        put_u8(out, b ? (uint8_t)rng_below(rng, b) : 0xFF);
        for (int i = 0; i < 3; i++)
            put_u32le(out, (uint32_t)((int32_t)rng_below(rng, 2048) - 1024));
        const int16_t *rotation = rotations[rng_below(rng, 4)];
        for (int i = 0; i < 4; i++)
            if (early)
                put_u32le(out, (uint32_t)rotation[i]);
            else
                put_u16le(out, (uint16_t)rotation[i]);
    }
    marks->bone_of_vertex = out->size;
    for (uint32_t v = 0; !early && v < model->vertex_count; v++)
        put_u8(out, (uint8_t)rng_below(rng, model->bone_count));
}

static void put_versioned(struct buffer *out, const struct model *model, struct rng *rng,
                          const struct kind *kind, struct marks *marks)
{
    bool early = kind->traits & EARLY, gaps = kind->traits & GAPS;
    buffer_append(out, "MESHBIN", 7);
    put_u8(out, (uint8_t)kind->version);
    put_u8(out, 1);
    put_u32le(out, model->vertex_count);
    put_u32le(out, model->group_count);
    put_u32le(out, model->face_count);
    put_u32le(out, model->vertex_count); /* normals */
    put_u32le(out, model->vertex_count); /* uvs */
    if (kind->version >= 2) {
        put_u8(out, kind->traits & SKELETON ? 1 : 0);
        put_u8(out, (uint8_t)model->bone_count);
    }
    put_positions(out, model, false);
    for (uint32_t v = 0; v < model->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            put_u8(out, (uint8_t)model->color[v][i]);
    put_groups(out, model, marks, 0, 0);
    for (uint32_t v = 0; v < model->vertex_count; v++)
        put_i16s(out, model->normal[v], 3);
    put_groups(out, model, marks, 1, gaps ? 3 : 0);
    buffer_append(out, model->uv, (size_t)model->vertex_count * 2);
    put_groups(out, model, marks, 2, gaps ? 2 : 0);
    put_box(out, model);
    if (kind->version >= 3) {
        put_i16s(out, (int16_t[]){0, 0, 0}, 3);
        put_u16le(out, 300);
        if (!early)
            put_u16le(out, 0);
    }
    if (kind->traits & SKELETON)
        put_skeleton(out, model, rng, early && kind->version == 2, marks);
}

static void put_legacy_attributes(struct buffer *out, const struct model *model, const struct kind *kind,
                                  struct marks *marks)
{
    char variant = (char)kind->version;
    uint32_t uvs = kind->traits & NO_UVS ? 0 : model->vertex_count;
    put_u32le(out, model->vertex_count);
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        put_i16s(out, model->normal[v], 3);
        if (variant == 'a')
            put_u16le(out, 0);
    }
    put_groups(out, model, marks, 1, 0);
    put_u32le(out, uvs);
    for (uint32_t v = 0; v < uvs; v++) {
        const uint8_t *uv = model->uv[v];
        if (variant == 'a')
            put_i16s(out, (int16_t[]){uv[0], uv[1], 0, 0}, 4);
        else if (variant == 'b')
            put_i16s(out, (int16_t[]){uv[0], uv[1]}, 2);
        else
            buffer_append(out, uv, 2);
    }
    put_groups(out, model, marks, 2, uvs ? 0 : 1);
}

static void put_legacy(struct buffer *out, const struct model *model, const struct kind *kind,
                       struct marks *marks)
{
    put_u32le(out, model->vertex_count);
    put_u32le(out, model->group_count);
    put_u32le(out, model->face_count);
    put_positions(out, model, kind->version == 'a');
    for (uint32_t v = 0; v < model->vertex_count; v++)
        put_i16s(out, model->color[v], 3);
    put_groups(out, model, marks, 0, 0);
    put_legacy_attributes(out, model, kind, marks);
    if (kind->version == 'd') {
        put_box(out, model);
        return;
    }
    /* One box of two points. */
    put_u32le(out, 1);
    put_u32le(out, 2);
    put_i16s(out, (int16_t[]){-1, -1, -1, 0, 1, 1, 1, 0}, 8);
}

/* ---- what is wrong with it ---- */

static void break_index(struct buffer *out, const struct model *model, struct rng *rng, size_t groups)
{
    /* Slot 0 is used by triangles and quads alike; the first number past the end is the one that is easily
     * let by. */
    uint8_t *index = out->data + groups + (size_t)rng_below(rng, model->group_count) * 8;
    index[0] = (uint8_t)model->vertex_count;
    index[1] = (uint8_t)(model->vertex_count >> 8);
}

static void break_file(struct buffer *out, const struct model *model, struct rng *rng,
                       const struct kind *kind, const struct marks *marks)
{
    static const enum trait bad_index[3] = {BAD_VERTEX, BAD_NORMAL, BAD_UV};
    if (out->failed)
        return;
    for (int list = 0; list < 3; list++)
        if (kind->traits & bad_index[list])
            break_index(out, model, rng, marks->groups[list]);
    if (kind->traits & NEXT_VERSION)
        out->data[7] = (uint8_t)(4 + rng_below(rng, 252));
    if (kind->traits & HUGE_COUNT)
        memset(out->data + 9, 0xFF, 4);
    if (kind->traits & BAD_PARENT)
        out->data[marks->bones] = 0; /* bone 0 its own parent */
    if (kind->traits & BAD_BONE)
        out->data[marks->bone_of_vertex + rng_below(rng, model->vertex_count)] = (uint8_t)model->bone_count;
    if (kind->traits & (TRAILING | UNCLOSED))
        put_u8(out, 0);
    if (kind->traits & CUT)
        /* Behind the header and before the tail, whose length is what tells an early form from a later one.
         */
        out->size = 31 + rng_below(rng, (uint32_t)marks->groups_end - 31);
}

/* ---- the truth ---- */

static const char *reason_word(const struct kind *kind)
{
    if (kind->traits & (CUT | HUGE_COUNT))
        return "truncated";
    if (kind->traits & (BAD_VERTEX | BAD_NORMAL | BAD_UV))
        return "out-of-range-index";
    if (kind->traits & UNCLOSED)
        return "does-not-close";
    if (kind->traits & NEXT_VERSION)
        return "unknown-version";
    return kind->traits & (BAD_PARENT | BAD_BONE) ? "bad-skeleton" : NULL;
}

static json_t *truth_flags(const struct model *model, const struct kind *kind)
{
    json_t *flags = json_array();
    bool unread =
        kind->traits & (CUT | HUGE_COUNT | NEXT_VERSION | UNCLOSED); /* nothing is known of such a file */
    if (unread)
        return flags;
    if (kind->version >= 'a')
        json_array_append_new(flags, json_string("legacy"));
    if (kind->traits & EARLY)
        json_array_append_new(flags, json_string("early-form"));
    if (kind->traits & TRAILING)
        json_array_append_new(flags, json_string("trailing-bytes"));
    if (kind->traits & LARGE)
        json_array_append_new(flags, json_string("rounded"));
    if (kind->traits & NO_UVS)
        json_array_append_new(flags, json_string("ambiguous-variant"));
    if (model->face_count >= 1000 || model->bone_count > 15)
        json_array_append_new(flags, json_string("over-engine-limit"));
    return flags;
}

static json_t *truth_bounds(const struct model *model)
{
    int32_t low[3], high[3];
    float min[3], max[3];
    model_box(model, low, high);
    for (int i = 0; i < 3; i++) {
        min[i] = (float)low[i] / 128.0f;
        max[i] = (float)high[i] / 128.0f;
    }
    return json_pack("{s:o, s:o}", "min", corpus_vector(min), "max", corpus_vector(max));
}

/* What is declared where nothing is decoded: the vertex groups count triangles if the file still has them
 * all. */
static json_t *truth_make(const struct model *model, const struct kind *kind, const struct marks *marks,
                          const struct buffer *bytes, const char *name)
{
    const char *reason = reason_word(kind);
    size_t groups_end = marks->groups[0] + (size_t)model->group_count * 8;
    json_int_t vertices = model->vertex_count, triangles = model->triangle_count;
    if (kind->traits & HUGE_COUNT) {
        vertices = UINT32_MAX;
        triangles = model->face_count;
    } else if (kind->traits & CUT && bytes->size < groups_end) {
        triangles = model->face_count;
    } else if (kind->traits & NEXT_VERSION) {
        vertices = triangles = 0;
    }
    const char *status = reason ? "declined" : kind->traits & NO_UVS ? "ambiguous" : "decoded";
    return json_pack("[{s:i, s:s, s:s, s:s, s:s?, s:I, s:I, s:o, s:o, s:[s]}]", "index", 0, "name", name,
                     "format", "meshbin", "status", status, "reason", reason, "vertices", vertices,
                     "triangles", triangles, "bounds", reason ? json_null() : truth_bounds(model), "flags",
                     truth_flags(model, kind), "classes", kind->name);
}

unsigned corpus_meshbin_kinds(void)
{
    return sizeof kinds / sizeof *kinds;
}

bool corpus_meshbin(struct rng *rng, unsigned kind_index, uint32_t triangles, struct corpus_file *out)
{
    const struct kind *kind = &kinds[kind_index];
    struct model model = {0};
    struct marks marks = {0};
    char name[64];
    *out = (struct corpus_file){0};
    bool made = model_make(&model, rng, kind, triangles);
    if (made) {
        snprintf(name, sizeof name, "%s-%08x", kind->name, (unsigned)(rng_u64(rng) >> 32));
        snprintf(out->path, sizeof out->path, "meshbin/%s.meshbin", name);
        if (kind->version >= 'a')
            put_legacy(&out->bytes, &model, kind, &marks);
        else
            put_versioned(&out->bytes, &model, rng, kind, &marks);
        break_file(&out->bytes, &model, rng, kind, &marks);
        out->truth = truth_make(&model, kind, &marks, &out->bytes, name);
        made = !out->bytes.failed && out->truth;
    }
    model_free(&model);
    if (!made)
        corpus_file_free(out);
    return made;
}
