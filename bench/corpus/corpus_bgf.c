/* corpus_bgf.c - models and material libraries in the chunk grammar of formats/bgf.md. See corpus.h.
 *
 * Models name materials as "lib2:hull_mtl"; corpus_bmf writes LIB2.BMF with that material, so a corpus that
 * has every sound kind of library resolves all references but the few that are meant not to be ("unresolved"
 * in the truth). The path of a file is unique; its folder, not its name, is what makes a library's so.
 */
#include "bench/corpus/corpus.h"

#include <stdio.h>
#include <string.h>

#include "formats/chunk.h"
#include "formats/reader.h"

/* The numbers of MATERIAL, TEXTURE, TEXTURE_MAP and POINT_LIST are not known. These are unknown ones of the
 * right namespace in their place: what matters is that a decoder has to do without knowing them. */
#define TAG_SOME_GROUP       0x0060
#define TAG_SOME_POINTS      0x0063
#define TAG_SOME_MATERIAL    0x0050
#define TAG_SOME_TEXTURE     0x0052
#define TAG_SOME_TEXTURE_MAP 0x2060
#define TAG_SOME_COLOR       0x2051
#define TAG_SOME_ATTRIBUTE   0x2099

#define LIBRARIES 4 /* sound kinds of BMF */
static const char *const material_names[] = {"hull_mtl", "glass_mtl", "shadow_mtl", "trim_mtl", "light_mtl"};
#define MATERIALS (sizeof material_names / sizeof *material_names)

/* ---- chunks -------------------------------------------------------------------------------------------- */

struct chunk_writer {
    struct buffer *out;
    bool wide; /* every length in 4 bytes, which the studied files never do */
};

/* Puts tagword and length in front of what was written since `start`, in the shortest width that holds it. */
static void chunk_end(struct chunk_writer *w, size_t start, unsigned tag)
{
    size_t size = w->out->size - start;
    unsigned code = w->wide || size > 0xFFFF ? 2 : size > 0xFF ? 1 : 0, width = 1u << code;
    if (!buffer_extend(w->out, 2 + width))
        return;
    uint8_t *at = w->out->data + start;
    memmove(at + 2 + width, at, size);
    at[0] = (uint8_t)tag;
    at[1] = (uint8_t)(tag >> 8 | code << 6);
    for (unsigned i = 0; i < width; i++)
        at[2 + i] = (uint8_t)(size >> 8 * i);
}

static void put_leaf(struct chunk_writer *w, unsigned tag, const void *payload, size_t size)
{
    size_t start = w->out->size;
    buffer_append(w->out, payload, size);
    chunk_end(w, start, tag);
}

static void put_text(struct chunk_writer *w, unsigned tag, const char *text)
{
    put_leaf(w, tag, text, strlen(text) + 1);
}

static void put_header(struct chunk_writer *w, struct rng *rng, int filetype)
{
    size_t start = w->out->size;
    uint8_t some[8];
    for (size_t i = 0; i < sizeof some; i++)
        some[i] = (uint8_t)rng_u64(rng);
    put_leaf(w, CHUNK_VERSION, some, 2);
    put_leaf(w, CHUNK_DATE, some + 2, 4);
    put_leaf(w, CHUNK_SCALE, (const uint8_t[]){0, 0, 0x80, 0x3F}, 4);
    if (filetype >= 0)
        put_leaf(w, CHUNK_FILETYPE, (const uint8_t[]){(uint8_t)filetype}, 1);
    put_leaf(w, CHUNK_UNIT, (const uint8_t[]){1}, 1);
    chunk_end(w, start, CHUNK_HEADER);
}

/* ---- kinds of models ----------------------------------------------------------------------------------- */

enum fault {
    FAULT_NONE,
    FAULT_ASCII,
    FAULT_CUT_SHORT,
    FAULT_PAST_PARENT,
    FAULT_NO_WIDTH,
    FAULT_NO_HEADER,
    FAULT_NO_BIZ_DONE,
    FAULT_BYTES_BEHIND,
    FAULT_VERTEX_REMAINDER,
    FAULT_PCONN_REMAINDER,
    FAULT_CONN_REMAINDER,
    FAULT_TWO_POINTS,
    FAULT_TOO_DEEP,
    FAULT_INDEX_TOO_LARGE,
    FAULT_INDEX_NEGATIVE,
    FAULT_NO_VERTICES,
};

struct bgf_kind {
    const char *word;      /* the class in the truth */
    uint16_t vertex;       /* tag of the vertex blocks; 0: any */
    uint8_t objects, lods; /* objects: 0 is 1. lods: chunks in each object, 0 is implicit */
    bool mixed, effect, faceted, inferred, wide, one_bad, non_finite, unknown_tags;
    enum fault fault;
    const char *reason; /* NULL: decoded */
};

static const struct bgf_kind bgf_kinds[] = {
    {"bgf-xyz", .vertex = CHUNK_XYZ, .lods = 1},
    {"bgf-xyz-n", .vertex = CHUNK_XYZ_N, .lods = 1},
    {"bgf-xyz-rgba", .vertex = CHUNK_XYZ_RGBA, .lods = 1},
    {"bgf-xyz-uv", .vertex = CHUNK_XYZ_UV, .lods = 1},
    {"bgf-xyz-n-uv", .vertex = CHUNK_XYZ_N_UV, .lods = 1},
    {"bgf-xyz-rgba-uv", .vertex = CHUNK_XYZ_RGBA_UV, .lods = 1},
    {"bgf-mixed-lists", .vertex = CHUNK_XYZ_UV, .lods = 1, .mixed = true},
    {"bgf-lods", .lods = 3},
    {"bgf-implicit-lod", .lods = 0},
    {"bgf-effect", .lods = 1, .effect = true},
    {"bgf-faceted", .lods = 1, .faceted = true},
    {"bgf-inferred-container", .lods = 1, .inferred = true},
    {"bgf-four-byte-lengths", .lods = 1, .wide = true},
    {"bgf-several-objects", .lods = 2, .objects = 3, .mixed = true},
    {"bgf-one-bad-pmesh", .lods = 1, .one_bad = true},
    {"bgf-non-finite", .lods = 1, .non_finite = true},
    {"bgf-unknown-tags", .lods = 1, .unknown_tags = true},
    {"bgf-ascii-variant", .lods = 1, .fault = FAULT_ASCII, .reason = "ascii-variant"},
    {"bgf-cut-short", .lods = 1, .fault = FAULT_CUT_SHORT, .reason = "does-not-close"},
    {"bgf-past-parent", .lods = 1, .fault = FAULT_PAST_PARENT, .reason = "does-not-close"},
    {"bgf-no-width", .lods = 1, .fault = FAULT_NO_WIDTH, .reason = "does-not-close"},
    {"bgf-no-header", .lods = 1, .fault = FAULT_NO_HEADER, .reason = "does-not-close"},
    {"bgf-no-biz-done", .lods = 1, .fault = FAULT_NO_BIZ_DONE, .reason = "does-not-close"},
    {"bgf-bytes-behind", .lods = 1, .fault = FAULT_BYTES_BEHIND, .reason = "does-not-close"},
    {"bgf-vertex-remainder", .lods = 1, .fault = FAULT_VERTEX_REMAINDER, .reason = "does-not-close"},
    {"bgf-pconn-remainder", .lods = 1, .fault = FAULT_PCONN_REMAINDER, .reason = "does-not-close"},
    {"bgf-conn-remainder", .lods = 1, .fault = FAULT_CONN_REMAINDER, .reason = "does-not-close"},
    {"bgf-two-points", .lods = 1, .fault = FAULT_TWO_POINTS, .reason = "does-not-close"},
    {"bgf-too-deep", .lods = 1, .fault = FAULT_TOO_DEEP, .reason = "does-not-close"},
    {"bgf-index-too-large", .lods = 1, .fault = FAULT_INDEX_TOO_LARGE, .reason = "out-of-range-index"},
    {"bgf-index-negative", .lods = 1, .fault = FAULT_INDEX_NEGATIVE, .reason = "out-of-range-index"},
    {"bgf-no-vertices", .lods = 1, .fault = FAULT_NO_VERTICES, .reason = "out-of-range-index"},
};

/* ---- writing a model ----------------------------------------------------------------------------------- */

/* A model under way, and what a decoder must find in it. */
struct maker {
    struct chunk_writer w;
    struct rng *rng;
    const struct bgf_kind *kind;
    uint32_t vertices, triangles;
    struct bounds bounds;
    json_t *unresolved;
};

static void bounds_add(struct bounds *box, const float *p)
{
    for (int axis = 0; axis < 3; axis++) {
        if (!box->valid || p[axis] < box->min[axis])
            box->min[axis] = p[axis];
        if (!box->valid || p[axis] > box->max[axis])
            box->max[axis] = p[axis];
    }
    box->valid = true;
}

/* Writes the shape's vertices in the layout of `tag`. `counted`: they belong to a PMESH that holds. */
static void put_vertices(struct maker *m, const struct shape *shape, uint16_t tag, bool counted)
{
    struct chunk_vertex layout = chunk_vertex_layout(tag);
    struct buffer *out = m->w.out;
    size_t start = out->size;
    for (uint32_t v = 0; v < shape->vertex_count; v++) {
        float p[3] = {shape->position[v * 3], shape->position[v * 3 + 1], shape->position[v * 3 + 2]};
        bool finite = !(m->kind->non_finite && v == 0);
        if (!finite)
            p[1] = float_of_bits(0x7FC00000u);
        else if (counted)
            bounds_add(&m->bounds, p);
        for (int c = 0; c < 3; c++)
            put_f32le(out, p[c]);
        for (int c = 0; c < 3 && layout.normal; c++)
            put_f32le(out, shape->normal[v * 3 + (uint32_t)c]);
        for (int c = 0; c < 4 && layout.color; c++)
            put_f32le(out, c < 3 ? rng_float(m->rng, 0.0f, 1.0f) : 1.0f);
        for (int c = 0; c < 2 && layout.uv; c++)
            put_f32le(out, shape->uv[v * 2 + (uint32_t)c]);
    }
    if (m->kind->fault == FAULT_VERTEX_REMAINDER)
        put_u8(out, 0);
    chunk_end(&m->w, start, tag);
    if (counted)
        m->vertices += shape->vertex_count;
}

/* Triangles [first..end) as a flat list; `spoil` replaces the very last index. */
static void put_conn(struct maker *m, const struct shape *shape, uint32_t first, uint32_t end,
                     const uint32_t *spoil)
{
    size_t start = m->w.out->size;
    for (size_t i = (size_t)first * 3; i < (size_t)end * 3; i++)
        put_u32le(m->w.out, spoil && i + 1 == (size_t)end * 3 ? *spoil : shape->corner[i]);
    if (m->kind->fault == FAULT_CONN_REMAINDER)
        put_u32le(m->w.out, 0);
    chunk_end(&m->w, start, CHUNK_CONNECTION_LIST);
}

/* One list of `faces` faces of `points` points each, over random vertices: fans of them are triangles like
 * any other to a decoder. */
static void put_pconn(struct maker *m, const struct shape *shape, unsigned points, uint32_t faces)
{
    size_t start = m->w.out->size;
    put_u8(m->w.out, (uint8_t)points);
    for (uint32_t i = 0; i < faces * points; i++)
        put_u32le(m->w.out, rng_below(m->rng, shape->vertex_count));
    if (m->kind->fault == FAULT_PCONN_REMAINDER)
        put_u32le(m->w.out, 0);
    chunk_end(&m->w, start, CHUNK_PCONN_LIST);
    if (points > 2)
        m->triangles += faces * (points - 2);
}

/* The shape as one PMESH; a `bad` one has an index beyond its block. False when memory runs out. */
static bool put_pmesh(struct maker *m, uint32_t triangles, bool bad)
{
    static const uint16_t tags[] = {CHUNK_XYZ_UV,   CHUNK_XYZ_UV,   CHUNK_XYZ_UV,      CHUNK_XYZ,
                                    CHUNK_XYZ_N_UV, CHUNK_XYZ_RGBA, CHUNK_XYZ_RGBA_UV, CHUNK_XYZ_N};
    enum fault fault = m->kind->fault;
    struct shape shape = shape_random(m->rng, triangles ? triangles : 1, rng_float(m->rng, 0.5f, 40.0f));
    if (shape.vertex_count == 0)
        return false;
    uint16_t tag = m->kind->vertex ? m->kind->vertex : tags[rng_below(m->rng, sizeof tags / sizeof *tags)];
    uint32_t beyond = fault == FAULT_INDEX_NEGATIVE ? UINT32_MAX : shape.vertex_count;
    bad |= fault == FAULT_INDEX_TOO_LARGE || fault == FAULT_INDEX_NEGATIVE || fault == FAULT_NO_VERTICES;

    size_t start = m->w.out->size;
    if (fault != FAULT_NO_VERTICES)
        put_vertices(m, &shape, tag, !bad);
    uint32_t half = m->kind->mixed ? shape.triangle_count / 2 : 0;
    if (m->kind->mixed) {
        put_conn(m, &shape, 0, half, NULL);
        put_pconn(m, &shape, 4, 1 + rng_below(m->rng, 30));
        put_pconn(m, &shape, 6, 1 + rng_below(m->rng, 5));
    }
    if (fault == FAULT_PCONN_REMAINDER || fault == FAULT_TWO_POINTS)
        put_pconn(m, &shape, fault == FAULT_TWO_POINTS ? 2 : 4, 3);
    put_conn(m, &shape, half, shape.triangle_count, bad ? &beyond : NULL);
    chunk_end(&m->w, start, CHUNK_PMESH);
    if (!bad)
        m->triangles += shape.triangle_count;
    shape_free(&shape);
    return true;
}

static void put_material(struct maker *m, unsigned tag)
{
    char text[64];
    bool missing = rng_chance(m->rng, 8);
    snprintf(text, sizeof text, "lib%u:%s", (unsigned)rng_below(m->rng, LIBRARIES),
             missing ? "missing_mtl" : material_names[rng_below(m->rng, MATERIALS)]);
    if (missing)
        json_array_append_new(m->unresolved, json_string(text));
    size_t start = m->w.out->size;
    put_u8(m->w.out, 1);
    buffer_append(m->w.out, text, strlen(text) + 1);
    chunk_end(&m->w, start, tag);
}

static void put_spheres(struct maker *m)
{
    size_t start = m->w.out->size;
    for (unsigned count = 1 + rng_below(m->rng, 4); count; count--) {
        size_t sphere = m->w.out->size;
        for (int i = 0; i < 4; i++)
            put_f32le(m->w.out, rng_float(m->rng, -5.0f, 5.0f));
        chunk_end(&m->w, sphere, CHUNK_SPHERE);
    }
    chunk_end(&m->w, start, CHUNK_SPHERE_LIST);
    put_leaf(&m->w, TAG_SOME_POINTS, "\xFF\xFF\xFF\xFF points", 11);
}

/* Bytes that break the tree where they stand: as the last child of a PATCH. */
static void put_broken_child(struct maker *m)
{
    if (m->kind->fault == FAULT_PAST_PARENT)
        buffer_append(m->w.out, "\x37\x20\x7F\x00", 4); /* SV_SPECIAL of 127 bytes, of which there is 1 */
    if (m->kind->fault == FAULT_NO_WIDTH)
        buffer_append(m->w.out, "\x37\xE0\x01\x00", 4); /* width code 3 */
    for (int depth = 0; m->kind->fault == FAULT_TOO_DEEP && depth < CHUNK_DEPTH_MAX + 1; depth++)
        chunk_end(&m->w, m->w.out->size - (size_t)depth * (m->w.wide ? 6 : 3), CHUNK_PATCH);
}

static bool put_patch(struct maker *m, uint32_t triangles)
{
    static const char *const specials[] = {"dz_hip", "dz_searchlight", "PUNCH", "GEOMETRIZE 0x8000001a",
                                           "WIREFRAME"};
    struct chunk_writer *w = &m->w;
    size_t start = w->out->size;
    bool ok = true;
    put_material(m, CHUNK_SV_F_MATERIAL);
    if (rng_chance(m->rng, 30))
        put_material(m, CHUNK_SV_B_MATERIAL);
    if (m->kind->faceted)
        put_leaf(w, CHUNK_SV_FACETED, (const uint8_t[]){1}, 1);
    if (m->kind->faceted && rng_chance(m->rng, 50))
        put_leaf(w, CHUNK_SV_DECAL, (const uint8_t[]){1}, 1);
    if (rng_chance(m->rng, 40))
        put_text(w, CHUNK_SV_SPECIAL, specials[rng_below(m->rng, sizeof specials / sizeof *specials)]);
    if (m->kind->unknown_tags)
        put_leaf(w, TAG_SOME_ATTRIBUTE, "\x12\x34\x56", 3);
    if (m->kind->effect)
        put_spheres(m);
    else
        ok = put_pmesh(m, triangles, false) && (!m->kind->one_bad || put_pmesh(m, triangles / 4, true));
    put_broken_child(m);
    chunk_end(w, start, CHUNK_PATCH);
    return ok;
}

/* One level of detail of an object: a LOD chunk with two patches, or the patches alone. */
static bool put_lod(struct maker *m, unsigned level, uint32_t triangles)
{
    size_t start = m->w.out->size;
    if (m->kind->lods) {
        float near_far[2] = {(float)level * 100.0f, (float)(level + 1) * 100.0f};
        size_t distance = start;
        put_f32le(m->w.out, near_far[0]);
        put_f32le(m->w.out, near_far[1]);
        chunk_end(&m->w, distance, CHUNK_LOD_DISTANCE);
    }
    size_t group = m->w.out->size;
    bool ok = put_patch(m, triangles / 2);
    if (m->kind->inferred)
        chunk_end(&m->w, group, TAG_SOME_GROUP);
    ok = ok && put_patch(m, triangles / 2);
    if (m->kind->lods)
        chunk_end(&m->w, start, CHUNK_LOD);
    return ok;
}

static bool put_object(struct maker *m, unsigned number, uint32_t triangles)
{
    unsigned levels = m->kind->lods ? m->kind->lods : 1;
    size_t start = m->w.out->size;
    char name[16];
    snprintf(name, sizeof name, "object%u", number);
    put_text(&m->w, CHUNK_NAME, name);
    put_leaf(&m->w, CHUNK_SV_VERTEX, "\x00", 1);
    bool ok = true;
    for (unsigned level = 0; ok && level < levels; level++)
        ok = put_lod(m, level, triangles / levels >> level);
    chunk_end(&m->w, start, CHUNK_OBJECT);
    return ok;
}

static void put_bound(struct maker *m)
{
    size_t start = m->w.out->size, leaf = start;
    for (int i = 0; i < 6; i++)
        put_f32le(m->w.out, rng_float(m->rng, -9.0f, 9.0f));
    chunk_end(&m->w, leaf, CHUNK_BBOX);
    chunk_end(&m->w, start, CHUNK_BOUND);
}

static bool put_model(struct maker *m, uint32_t triangles)
{
    unsigned objects = m->kind->objects ? m->kind->objects : 1;
    buffer_append(m->w.out, m->kind->fault == FAULT_ASCII ? "DIV-VIZ2" : "DIV-BIZ2", CHUNK_MAGIC_SIZE);
    if (m->kind->fault != FAULT_NO_HEADER)
        put_header(&m->w, m->rng, 0);
    put_bound(m);
    for (unsigned number = 0; number < objects; number++)
        if (!put_object(m, number, triangles / objects))
            return false;
    if (m->kind->fault != FAULT_NO_BIZ_DONE)
        put_leaf(&m->w, CHUNK_BIZ_DONE, "", 0);
    if (m->kind->fault == FAULT_BYTES_BEHIND)
        buffer_append(m->w.out, "\x1A\x1A", 2);
    if (m->kind->fault == FAULT_CUT_SHORT) /* not inside the magic: then it is nothing */
        m->w.out->size = CHUNK_MAGIC_SIZE + rng_below(m->rng, (uint32_t)(m->w.out->size - CHUNK_MAGIC_SIZE));
    return true;
}

/* ---- truth --------------------------------------------------------------------------------------------- */

static json_t *bounds_json(const struct bounds *bounds)
{
    if (!bounds->valid)
        return json_null();
    return json_pack("{s:o, s:o}", "min", corpus_vector(bounds->min), "max", corpus_vector(bounds->max));
}

/* The fields that models and libraries share; the name is the file's stem. */
static json_t *resource_truth(const char *path, const char *format, const char *reason, const char *word)
{
    const char *file = strrchr(path, '/') + 1;
    const char *ending = strrchr(file, '.');
    return json_pack("{s:i, s:s%, s:s, s:s, s:s?, s:i, s:i, s:n, s:[], s:[s]}", "index", 0, "name", file,
                     (size_t)(ending - file), "format", format, "status", reason ? "declined" : "decoded",
                     "reason", reason, "vertices", 0, "triangles", 0, "bounds", "flags", "classes", word);
}

static bool finish(struct corpus_file *out, json_t *resource)
{
    out->truth = json_pack("[o]", resource);
    return out->truth && !out->bytes.failed;
}

static json_t *model_truth(const struct maker *m, const char *path)
{
    json_t *truth = resource_truth(path, "bgf", m->kind->reason, m->kind->word);
    json_t *flags = json_object_get(truth, "flags");
    bool bad_index = m->kind->reason && strcmp(m->kind->reason, "out-of-range-index") == 0;
    if (m->kind->non_finite)
        json_array_append_new(flags, json_string("non-finite"));
    if (m->kind->effect)
        json_array_append_new(flags, json_string("effect"));
    if (m->kind->one_bad || bad_index)
        json_array_append_new(flags, json_string("bad-pmesh"));
    if (m->kind->inferred)
        json_array_append_new(flags, json_string("inferred-container"));
    if (m->kind->reason)
        return truth;
    json_object_set_new(truth, "vertices", json_integer(m->vertices));
    json_object_set_new(truth, "triangles", json_integer(m->triangles));
    json_object_set_new(truth, "bounds", bounds_json(&m->bounds));
    if (json_array_size(m->unresolved) && !m->kind->effect)
        json_object_set(truth, "unresolved", m->unresolved);
    return truth;
}

unsigned corpus_bgf_kinds(void)
{
    return sizeof bgf_kinds / sizeof *bgf_kinds;
}

bool corpus_bgf(struct rng *rng, unsigned kind, uint32_t triangles, struct corpus_file *out)
{
    memset(out, 0, sizeof *out);
    struct maker m = {
        .w = {.out = &out->bytes, .wide = bgf_kinds[kind].wide},
        .rng = rng,
        .kind = &bgf_kinds[kind],
        .unresolved = json_array(),
    };
    snprintf(out->path, sizeof out->path, "models/%s_%08X.BGF", m.kind->word, (unsigned)rng_u64(rng));
    bool ok = m.unresolved && put_model(&m, triangles) && finish(out, model_truth(&m, out->path));
    json_decref(m.unresolved);
    return ok;
}

/* ---- libraries ----------------------------------------------------------------------------------------- */

/* The first LIBRARIES are sound; each is the library of its number. */
static const struct bmf_kind {
    const char *word, *magic;
    int filetype; /* -1: no such leaf */
    bool known_containers;
    enum fault fault;
    const char *reason;
} bmf_kinds[] = {
    {"bmf-filetype", "DIV-BIZ2", .filetype = 1},
    {"bmf-magic", "DIV-BMF2", .filetype = 1},
    {"bmf-by-name", "DIV-BIZ2", .filetype = -1},
    {"bmf-known-container", "DIV-BMF2", .filetype = -1, .known_containers = true},
    {"bmf-ascii-variant", "DIV-VMF2", .fault = FAULT_ASCII, .reason = "ascii-variant"},
    {"bmf-cut-short", "DIV-BMF2", .filetype = 1, .fault = FAULT_CUT_SHORT, .reason = "does-not-close"},
    {"bmf-bytes-behind", "DIV-BIZ2", .filetype = 1, .fault = FAULT_BYTES_BEHIND, .reason = "does-not-close"},
};

static void put_library_material(struct chunk_writer *w, struct rng *rng, const struct bmf_kind *kind,
                                 const char *name)
{
    char image[32];
    size_t start = w->out->size;
    put_text(w, CHUNK_NAME, name);
    size_t color = w->out->size;
    for (int i = 0; i < 3; i++)
        put_f32le(w->out, rng_float(rng, 0.0f, 1.0f));
    chunk_end(w, color, TAG_SOME_COLOR);
    if (rng_chance(rng, 70)) {
        size_t texture = w->out->size;
        snprintf(image, sizeof image, "tex%03u.vtx", (unsigned)rng_below(rng, 1000));
        put_text(w, TAG_SOME_TEXTURE_MAP, image);
        if (!kind->known_containers)
            chunk_end(w, texture, TAG_SOME_TEXTURE);
    }
    chunk_end(w, start, kind->known_containers ? CHUNK_PATCH : TAG_SOME_MATERIAL);
}

unsigned corpus_bmf_kinds(void)
{
    return sizeof bmf_kinds / sizeof *bmf_kinds;
}

bool corpus_bmf(struct rng *rng, unsigned number, struct corpus_file *out)
{
    memset(out, 0, sizeof *out);
    const struct bmf_kind *kind = &bmf_kinds[number];
    struct chunk_writer w = {.out = &out->bytes};
    snprintf(out->path, sizeof out->path, "materials/%08X/%s%u.BMF", (unsigned)rng_u64(rng),
             number < LIBRARIES ? "LIB" : "BROKEN", number);
    buffer_append(w.out, kind->magic, CHUNK_MAGIC_SIZE);
    put_header(&w, rng, kind->filetype);
    for (size_t i = 0; i < MATERIALS; i++)
        put_library_material(&w, rng, kind, material_names[i]);
    put_leaf(&w, CHUNK_BIZ_DONE, "", 0);
    if (kind->fault == FAULT_BYTES_BEHIND)
        put_u8(w.out, 0);
    if (kind->fault == FAULT_CUT_SHORT)
        w.out->size = CHUNK_MAGIC_SIZE + rng_below(rng, (uint32_t)(w.out->size - CHUNK_MAGIC_SIZE));
    json_t *truth = resource_truth(out->path, "bmf", kind->reason, kind->word);
    if (!kind->known_containers && !kind->reason)
        json_array_append_new(json_object_get(truth, "flags"), json_string("inferred-container"));
    return finish(out, truth);
}
