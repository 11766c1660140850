/* meshbin.c - MESHBIN, meshes of a PlayStation engine: versions 0 to 3 and what was written before the magic.
 *
 * The layout is in formats/meshbin.md. Its difficulty is not any field but which of ten layouts a file has:
 * the version byte does not tell early forms from later ones, and the oldest files have no version at all.
 * All layouts are rows of one table, walked by one function; a file is what the row that ends where the file
 * ends says it is. Nothing is allocated before the winning row has every block inside the file and every
 * index in range.
 */
#include "format.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"

#define MESHBIN_MAGIC       "MESHBIN"
#define MESHBIN_MAGIC_SIZE  7
#define MESHBIN_VERSION_MAX 3
#define MESHBIN_LEGACY      (-1) /* in place of a version: older than the magic */

/* What the console's loader refuses; the files are sound all the same. */
#define MESHBIN_ENGINE_FACES 1000
#define MESHBIN_ENGINE_BONES 15

/* Counts of 32 bits are added to and doubled below; only a file of more than 2 GiB can have such a one. */
#define MESHBIN_COUNT_LIMIT (UINT32_C(1) << 30)

#define MESHBIN_UNITS_PER_METRE 128.0f
#define MESHBIN_ROTATION_ONE    4096
#define MESHBIN_GROUP_SIZE      8 /* 4 x i16 */
#define MESHBIN_LEGACY_VARIANTS 4

/* One layout: the sizes in bytes of what differs between them. */
struct form {
    const char *name;
    int version;
    bool early;
    bool boxes;       /* the tail is a list of boxes of points, not one box */
    uint8_t position; /* 12: 3 x i32; 8: 4 x i16, the last 0 */
    uint8_t color;    /* 3: 3 x u8 (or i8); 6: 3 x i16 */
    uint8_t normal;   /* 6: 3 x i16; 8: 4 x i16, the last 0 */
    uint8_t uv;       /* 2: 2 x u8; 4: 2 x i16; 8: 4 x i16, the last two 0 */
    uint8_t sphere;   /* centre and radius; 0: none */
    uint8_t bone;     /* 21: i8, 3 x i32, 4 x i16; 29: i8, 7 x i32; 0: the version has no skeletons */
    bool bone_of_vertex;
    float normal_unit; /* the stored length of a unit normal */
};

/* Newer forms of a version stand first: between equals the first wins. */
/* clang-format off */
static const struct form forms[] = {
    /* name      version         early  boxes  position, colour, normal, uv, sphere, bone, of vertex, unit */
    {"v0",       0,              false, false, 12, 3, 6, 2, 0,  0,  false, 1.0f},
    {"v1",       1,              false, false, 12, 3, 6, 2, 0,  0,  false, 1.0f},
    {"v2",       2,              false, false, 12, 3, 6, 2, 0,  21, true,  1.0f},
    {"v2-early", 2,              true,  false, 12, 3, 6, 2, 0,  29, false, 1.0f},
    {"v3",       3,              false, false, 12, 3, 6, 2, 10, 21, true,  1.0f},
    {"v3-early", 3,              true,  false, 12, 3, 6, 2, 8,  21, true,  1.0f},
    {"legacy-a", MESHBIN_LEGACY, false, true,  8,  6, 8, 8, 0,  0,  false, 128.0f},
    {"legacy-b", MESHBIN_LEGACY, false, true,  12, 6, 6, 4, 0,  0,  false, 1.0f},
    {"legacy-c", MESHBIN_LEGACY, false, true,  12, 6, 6, 2, 0,  0,  false, 1.0f},
    {"legacy-d", MESHBIN_LEGACY, false, false, 12, 6, 6, 2, 0,  0,  false, 1.0f},
};
/* clang-format on */
#define MESHBIN_FORMS (sizeof forms / sizeof *forms)

/* The three lists of index groups, in file order. */
enum group_list { GROUPS_VERTEX, GROUPS_NORMAL, GROUPS_UV, GROUP_LISTS };

static const char *const group_words[GROUP_LISTS] = {"vertex index groups", "normal index groups",
                                                     "uv index groups"};

/* A run of equal elements whose bytes are known to exist. */
struct block {
    const uint8_t *bytes; /* NULL: not reached, or not there in this form */
    uint64_t offset;
};

enum fit { FIT_SHORT, FIT_TRAILING, FIT_EXACT };

/* A file read as one form. */
struct attempt {
    const struct form *form;
    enum fit fit;
    uint64_t end;       /* where the form says the file ends, or where it ran out */
    struct error error; /* FIT_SHORT: the field it ran out in */
    uint32_t vertex_count, group_count, face_count;
    uint32_t count[GROUP_LISTS]; /* what each list of groups points into */
    bool has_skeleton;
    uint8_t bone_count;
    struct block position, color, normal, uv, bone, bone_of_vertex;
    struct block groups[GROUP_LISTS];
};

/* ---- layout ------------------------------------------------------------------------------------------- */

static struct block read_block(struct reader *r, size_t count, size_t size, const char *what)
{
    uint64_t offset = reader_offset(r);
    return (struct block){reader_array(r, count, size, what), offset};
}

static void read_header(struct reader *r, struct attempt *at)
{
    bool legacy = at->form->version == MESHBIN_LEGACY;
    if (!legacy) {
        reader_bytes(r, MESHBIN_MAGIC_SIZE, "magic");
        reader_u8(r, "version");
        reader_u8(r, "type"); /* any value: the engine drops it too */
    }
    at->vertex_count = reader_u32le(r, "vertex count");
    at->group_count = reader_u32le(r, "index group count");
    at->face_count = reader_u32le(r, "face count");
    if (!legacy) {
        at->count[GROUPS_NORMAL] = reader_u32le(r, "normal count");
        at->count[GROUPS_UV] = reader_u32le(r, "uv count");
    }
    if (at->form->bone) {
        at->has_skeleton = reader_u8(r, "skeleton mark") != 0;
        at->bone_count = reader_u8(r, "bone count");
    }
    at->count[GROUPS_VERTEX] = at->vertex_count;
}

/* A box of the oldest tails is a list of points. Each takes at least its count, so the file bounds the loop.
 */
static void skip_boxes(struct reader *r)
{
    uint32_t boxes = reader_u32le(r, "box count");
    for (uint32_t i = 0; i < boxes && reader_ok(r); i++) {
        uint32_t points = reader_u32le(r, "box point count");
        reader_array(r, points, 8, "box points");
    }
}

static void read_tail(struct reader *r, struct attempt *at)
{
    const struct form *form = at->form;
    if (form->boxes) {
        skip_boxes(r);
        return;
    }
    /* Box and sphere repeat what the vertices say, so they are measured from those. */
    reader_bytes(r, 12, "bounding box");
    if (form->sphere)
        reader_bytes(r, form->sphere, "bounding sphere");
    if (!at->has_skeleton)
        return;
    at->bone = read_block(r, at->bone_count, form->bone, "bones");
    if (form->bone_of_vertex)
        at->bone_of_vertex = read_block(r, at->vertex_count, 1, "bone of vertex");
}

/* Walks the whole file as `form`: finds every block or the field that does not fit. */
static void attempt_form(const struct input *in, const struct form *form, struct attempt *at)
{
    *at = (struct attempt){.form = form, .error.offset = ERROR_NO_OFFSET};
    struct reader r = reader_make(in->data, in->size, 0, form->name, &at->error);
    bool legacy = form->version == MESHBIN_LEGACY;
    read_header(&r, at);
    at->position = read_block(&r, at->vertex_count, form->position, "vertices");
    at->color = read_block(&r, at->vertex_count, form->color, "vertex colours");
    at->groups[GROUPS_VERTEX] =
        read_block(&r, at->group_count, MESHBIN_GROUP_SIZE, group_words[GROUPS_VERTEX]);
    if (legacy)
        at->count[GROUPS_NORMAL] = reader_u32le(&r, "normal count");
    at->normal = read_block(&r, at->count[GROUPS_NORMAL], form->normal, "normals");
    at->groups[GROUPS_NORMAL] =
        read_block(&r, at->group_count, MESHBIN_GROUP_SIZE, group_words[GROUPS_NORMAL]);
    if (legacy)
        at->count[GROUPS_UV] = reader_u32le(&r, "uv count");
    at->uv = read_block(&r, at->count[GROUPS_UV], form->uv, "uvs");
    at->groups[GROUPS_UV] = read_block(&r, at->group_count, MESHBIN_GROUP_SIZE, group_words[GROUPS_UV]);
    read_tail(&r, at);
    at->end = reader_offset(&r);
    at->fit = !reader_ok(&r) ? FIT_SHORT : reader_left(&r) ? FIT_TRAILING : FIT_EXACT;
}

/* ---- index groups ------------------------------------------------------------------------------------- */

/* A group is a quad in Z order: the exporter turns the polygon p0 p1 p2 p3 into the slots p0 p3 p1 p2. These
 * slots, three by three, are its triangles in the polygon's own winding; the first three alone are those of a
 * triangle, whose slot 1 is unused. */
static const uint8_t corner_slots[6] = {0, 2, 3, 0, 3, 1};

static int group_slot(const uint8_t *group, unsigned slot)
{
    return (int16_t)load_u16le(group + (size_t)slot * 2);
}

/* The vertex groups alone say whether a face is a triangle; what the other lists hold in slot 1 then is moot.
 */
static unsigned group_corners(const struct attempt *at, uint32_t group)
{
    const uint8_t *bytes = at->groups[GROUPS_VERTEX].bytes + (size_t)group * MESHBIN_GROUP_SIZE;
    return group_slot(bytes, 1) == -1 ? 3 : 6;
}

/* Exact when the vertex groups could be read, else the file's own count of faces. */
static uint32_t declared_triangles(const struct attempt *at)
{
    if (!at->groups[GROUPS_VERTEX].bytes)
        return at->face_count;
    uint64_t triangles = 0;
    for (uint32_t g = 0; g < at->group_count; g++)
        triangles += group_corners(at, g) / 3;
    return triangles < UINT32_MAX ? (uint32_t)triangles : UINT32_MAX;
}

/* -1 in a used slot of a normal or uv group is no error: the exporter writes it for a corner of the source
 * without that attribute. Of a list that points into nothing the contents do not matter at all. */
static bool list_in_range(const struct attempt *at, enum group_list list, struct error *err)
{
    const struct block *block = &at->groups[list];
    int64_t limit = at->count[list];
    if (list != GROUPS_VERTEX && limit == 0)
        return true;
    int lowest = list == GROUPS_VERTEX ? 0 : -1;
    for (uint32_t g = 0; g < at->group_count; g++) {
        const uint8_t *group = block->bytes + (size_t)g * MESHBIN_GROUP_SIZE;
        bool quad = group_corners(at, g) == 6;
        for (unsigned slot = 0; slot < 4; slot++) {
            int index = group_slot(group, slot);
            if ((slot == 1 && !quad) || (index >= lowest && index < limit))
                continue;
            return error_set(err, ERROR_RANGE, block->offset + (uint64_t)g * MESHBIN_GROUP_SIZE + slot * 2,
                             "%s: %s: group %u, slot %u: index %d of %lld", at->form->name, group_words[list],
                             g, slot + 1, index, (long long)limit);
        }
    }
    return true;
}

static bool indices_in_range(const struct attempt *at, struct error *err)
{
    for (int list = 0; list < GROUP_LISTS; list++)
        if (!list_in_range(at, (enum group_list)list, err))
            return false;
    return true;
}

/* ---- skeleton ----------------------------------------------------------------------------------------- */

struct stored_bone {
    int32_t parent, position[3], rotation[4]; /* rotation: w x y z */
};

static struct stored_bone load_bone(const struct attempt *at, unsigned index)
{
    const uint8_t *p = at->bone.bytes + (size_t)index * at->form->bone;
    bool wide = at->form->bone == 29;
    struct stored_bone bone = {.parent = (int8_t)p[0]};
    for (int i = 0; i < 3; i++)
        bone.position[i] = (int32_t)load_u32le(p + 1 + i * 4);
    for (int i = 0; i < 4; i++)
        bone.rotation[i] = wide ? (int32_t)load_u32le(p + 13 + i * 4) : (int16_t)load_u16le(p + 13 + i * 2);
    return bone;
}

static bool parents_valid(const struct attempt *at, struct error *err)
{
    for (unsigned i = 0; i < at->bone_count && at->has_skeleton; i++) {
        int parent = load_bone(at, i).parent;
        if (parent < -1 || parent >= (int)i)
            return error_set(err, ERROR_RANGE, at->bone.offset + (uint64_t)i * at->form->bone,
                             "%s: bones: parent %d of bone %u is no earlier bone", at->form->name, parent, i);
    }
    return true;
}

static bool skeleton_valid(const struct attempt *at, struct error *err)
{
    if (!parents_valid(at, err))
        return false;
    if (!at->bone_of_vertex.bytes)
        return true;
    for (uint32_t v = 0; v < at->vertex_count; v++)
        if (at->bone_of_vertex.bytes[v] >= at->bone_count)
            return error_set(err, ERROR_RANGE, at->bone_of_vertex.offset + v,
                             "%s: bone of vertex: vertex %u has bone %u of %u", at->form->name, v,
                             at->bone_of_vertex.bytes[v], at->bone_count);
    return true;
}

/* Whether every rotation has the length `one`. The exporter truncates each component, which costs less than
 * one part in a thousand at 1/4096; one in 64 of the square leaves room and still tells bones from other
 * bytes. */
static bool rotations_have_length(const struct attempt *at, int32_t one)
{
    double square = (double)one * one, slack = square / 64;
    for (unsigned i = 0; i < at->bone_count && at->has_skeleton; i++) {
        struct stored_bone bone = load_bone(at, i);
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (double)bone.rotation[k] * bone.rotation[k];
        if (sum < square - slack || sum > square + slack)
            return false;
    }
    return true;
}

/* The 29-byte bones were first written without the factors 128 and 4096, as whole metres and whole quaternion
 * components; then each rotation has the length 1, which scaled ones cannot have. */
static bool bones_unscaled(const struct attempt *at)
{
    return at->form->bone == 29 && rotations_have_length(at, 1);
}

static bool rotations_unit(const struct attempt *at)
{
    return rotations_have_length(at, MESHBIN_ROTATION_ONE) || bones_unscaled(at);
}

/* ---- which form --------------------------------------------------------------------------------------- */

static bool skeleton_convincing(const struct attempt *at)
{
    struct error ignored = {0};
    return skeleton_valid(at, &ignored) && rotations_unit(at);
}

/* A newer form that was cut short can end where an early form would. Its bytes, read at the wrong place, give
 * themselves away: parents that make no sense, and either no root or rotations that make none. */
static bool closes_believably(const struct attempt *at)
{
    struct error ignored = {0};
    if (at->fit != FIT_EXACT)
        return false;
    return !at->form->early || parents_valid(at, &ignored) ||
           (load_bone(at, 0).parent == -1 && rotations_unit(at));
}

/* Of two forms that fit equally, whether the older one is to be preferred: only its skeleton makes sense. */
static bool explains_better(const struct attempt *older, const struct attempt *newer)
{
    return skeleton_convincing(older) && !skeleton_convincing(newer);
}

/* The attempt that explains the file, of all forms of one version with the newest first. A form that closes
 * outranks one with bytes to spare; then the skeleton decides, then age. An early form with bytes to spare
 * does not rescue a file too short for the newest form: that file is truncated. */
static const struct attempt *choose_form(const struct attempt *tries, size_t count)
{
    const struct attempt *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (closes_believably(&tries[i]) && (!best || explains_better(&tries[i], best)))
            best = &tries[i];
    if (best)
        return best;
    best = &tries[0];
    for (size_t i = 1; i < count && best->fit == FIT_TRAILING; i++)
        if (tries[i].fit == FIT_TRAILING && explains_better(&tries[i], best))
            best = &tries[i];
    return best;
}

/* ---- mesh --------------------------------------------------------------------------------------------- */

/* The f32 nearest to value / unit; *rounded is set when there is no exact one. Units are powers of two, so
 * only the conversion of the integer can round. */
static float scaled(int32_t value, float unit, bool *rounded)
{
    float whole = (float)value;
    if ((int64_t)whole != value)
        *rounded = true;
    return whole / unit;
}

static void fill_positions(const struct attempt *at, float *out, bool *rounded)
{
    const struct form *form = at->form;
    const uint8_t *p = at->position.bytes;
    for (uint32_t v = 0; v < at->vertex_count; v++, p += form->position)
        for (int axis = 0; axis < 3; axis++) {
            int32_t value =
                form->position == 12 ? (int32_t)load_u32le(p + axis * 4) : (int16_t)load_u16le(p + axis * 2);
            *out++ = scaled(value, MESHBIN_UNITS_PER_METRE, rounded);
        }
}

/* The colours of a vertex as stored; false when it has none: all -1. In u8 that is 255 as well, see below. */
static bool load_color(const struct attempt *at, uint32_t vertex, int rgb[3])
{
    const uint8_t *p = at->color.bytes + (size_t)vertex * at->form->color;
    bool wide = at->form->color == 6;
    for (int i = 0; i < 3; i++)
        rgb[i] = wide ? (int16_t)load_u16le(p + i * 2) : p[i];
    int none = wide ? -1 : 255;
    return rgb[0] != none || rgb[1] != none || rgb[2] != none;
}

/* Whether the file says anything about colour. Bytes were signed with -1 for none before they were unsigned,
 * and no field tells which: white everywhere may be either and is left out, white among other colours is
 * white. Mid grey everywhere is what later exporters write for none. */
static bool has_colors(const struct attempt *at)
{
    bool grey = true, any = false;
    for (uint32_t v = 0; v < at->vertex_count; v++) {
        int rgb[3];
        any |= load_color(at, v, rgb);
        grey &= rgb[0] == 128 && rgb[1] == 128 && rgb[2] == 128;
    }
    return any && !grey;
}

static float color_unit(int value)
{
    return (float)(value < 0 ? 0 : value > 255 ? 255 : value) / 255.0f;
}

static void fill_colors(const struct attempt *at, float *out)
{
    for (uint32_t v = 0; v < at->vertex_count; v++) {
        int rgb[3];
        bool none = !load_color(at, v, rgb) && at->form->color == 6;
        for (int i = 0; i < 3; i++)
            *out++ = color_unit(none ? 128 : rgb[i]);
    }
}

/* The corners of every triangle out of one list of groups; a slot of -1 becomes `none`. */
static void fill_corners(const struct attempt *at, enum group_list list, uint32_t none, uint32_t *out)
{
    const uint8_t *group = at->groups[list].bytes;
    for (uint32_t g = 0; g < at->group_count; g++, group += MESHBIN_GROUP_SIZE) {
        unsigned corners = group_corners(at, g);
        for (unsigned k = 0; k < corners; k++) {
            int index = group_slot(group, corner_slots[k]);
            *out++ = index < 0 ? none : (uint32_t)index;
        }
    }
}

static bool list_has_gaps(const struct attempt *at, enum group_list list)
{
    const uint8_t *group = at->groups[list].bytes;
    for (uint32_t g = 0; g < at->group_count; g++, group += MESHBIN_GROUP_SIZE)
        for (unsigned k = 0; k < group_corners(at, g); k++)
            if (group_slot(group, corner_slots[k]) < 0)
                return true;
    return false;
}

/* Adds the stream a list of groups points into, its data still zero. Corners without the attribute share one
 * more entry at its end, which stays zero. NULL when memory runs out. */
static struct mesh_stream *add_indexed(struct mesh *mesh, struct arena *arena, const struct attempt *at,
                                       enum group_list list, enum mesh_usage usage, unsigned components)
{
    uint32_t count = at->count[list];
    uint32_t entries = count + (list_has_gaps(at, list) ? 1 : 0);
    struct mesh_stream *stream = mesh_add_stream(mesh, arena, usage, 0, components, entries, true);
    if (stream)
        fill_corners(at, list, count, stream->corner);
    return stream;
}

static bool add_normals(struct mesh *mesh, struct arena *arena, const struct attempt *at)
{
    struct mesh_stream *stream = add_indexed(mesh, arena, at, GROUPS_NORMAL, MESH_NORMAL, 3);
    if (!stream)
        return false;
    const uint8_t *p = at->normal.bytes;
    float *out = stream->data;
    for (uint32_t i = 0; i < at->count[GROUPS_NORMAL]; i++, p += at->form->normal)
        for (int axis = 0; axis < 3; axis++)
            *out++ = (float)(int16_t)load_u16le(p + axis * 2) / at->form->normal_unit;
    return true;
}

static bool add_uvs(struct mesh *mesh, struct arena *arena, const struct attempt *at)
{
    struct mesh_stream *stream = add_indexed(mesh, arena, at, GROUPS_UV, MESH_TEXCOORD, 2);
    if (!stream)
        return false;
    const uint8_t *p = at->uv.bytes;
    float *out = stream->data;
    for (uint32_t i = 0; i < at->count[GROUPS_UV]; i++, p += at->form->uv)
        for (int axis = 0; axis < 2; axis++)
            *out++ = at->form->uv == 2 ? (float)p[axis] : (float)(int16_t)load_u16le(p + axis * 2);
    return true;
}

static bool add_skeleton(struct mesh *mesh, struct arena *arena, const struct attempt *at, bool *rounded)
{
    if (at->bone_of_vertex.bytes) {
        struct mesh_stream *stream =
            mesh_add_stream(mesh, arena, MESH_BLENDINDICES, 0, 1, at->vertex_count, false);
        if (!stream)
            return false;
        for (uint32_t v = 0; v < at->vertex_count; v++)
            stream->data[v] = at->bone_of_vertex.bytes[v];
    }
    mesh->bones = arena_array(arena, at->bone_count, sizeof *mesh->bones);
    if (!mesh->bones)
        return false;
    mesh->bone_count = at->bone_count;
    bool unscaled = bones_unscaled(at);
    float metre = unscaled ? 1.0f : MESHBIN_UNITS_PER_METRE;
    float one = unscaled ? 1.0f : (float)MESHBIN_ROTATION_ONE;
    for (unsigned i = 0; i < at->bone_count; i++) {
        struct stored_bone stored = load_bone(at, i);
        struct mesh_bone *bone = &mesh->bones[i];
        bone->parent = stored.parent;
        for (int k = 0; k < 3; k++)
            bone->position[k] = scaled(stored.position[k], metre, rounded);
        for (int k = 0; k < 4; k++)
            bone->rotation[k] = scaled(stored.rotation[(k + 1) % 4], one, rounded);
    }
    return true;
}

/* The mesh of an attempt whose blocks and indices were proven. NULL when memory runs out. */
static struct mesh *build_mesh(const struct attempt *at, struct arena *arena, bool *rounded)
{
    struct mesh *mesh = mesh_new(arena, at->vertex_count, declared_triangles(at), 1);
    if (!mesh)
        return NULL;
    fill_positions(at, mesh->streams[0].data, rounded);
    fill_corners(at, GROUPS_VERTEX, 0, mesh->streams[0].corner);
    if (at->count[GROUPS_NORMAL] && !add_normals(mesh, arena, at))
        return NULL;
    if (at->count[GROUPS_UV] && !add_uvs(mesh, arena, at))
        return NULL;
    if (has_colors(at)) {
        struct mesh_stream *stream = mesh_add_stream(mesh, arena, MESH_COLOR, 0, 3, at->vertex_count, false);
        if (!stream)
            return NULL;
        fill_colors(at, stream->data);
    }
    if (at->has_skeleton && !add_skeleton(mesh, arena, at, rounded))
        return NULL;
    mesh->parts[0] = (struct mesh_part){.triangle_count = mesh->triangle_count,
                                        .vertex_count = mesh->vertex_count,
                                        .streams = (UINT32_C(1) << mesh->stream_count) - 1};
    return mesh;
}

/* ---- decoding ----------------------------------------------------------------------------------------- */

static void decline(struct resource *resource, const struct attempt *at, enum decline_reason reason,
                    const struct error *err)
{
    resource->vertices = at->vertex_count;
    resource->triangles = declared_triangles(at);
    resource_decline(resource, reason, err);
}

static bool over_limit(const struct attempt *at)
{
    return at->vertex_count > MESHBIN_COUNT_LIMIT || at->group_count > MESHBIN_COUNT_LIMIT ||
           at->count[GROUPS_NORMAL] > MESHBIN_COUNT_LIMIT || at->count[GROUPS_UV] > MESHBIN_COUNT_LIMIT;
}

/* Decodes a file as the form that was chosen for it. False when memory runs out. */
static bool decode_attempt(const struct attempt *at, struct arena *arena, struct resource *resource)
{
    struct error err = {.offset = ERROR_NO_OFFSET};
    resource->variant = at->form->name;
    if (at->form->version == MESHBIN_LEGACY)
        resource->flags |= FLAG_BIT(FLAG_LEGACY);
    if (at->form->early)
        resource->flags |= FLAG_BIT(FLAG_EARLY_FORM);
    if (at->fit == FIT_TRAILING)
        resource->flags |= FLAG_BIT(FLAG_TRAILING_BYTES);
    if (at->face_count >= MESHBIN_ENGINE_FACES || at->bone_count > MESHBIN_ENGINE_BONES)
        resource->flags |= FLAG_BIT(FLAG_OVER_ENGINE_LIMIT);
    if (!indices_in_range(at, &err)) {
        decline(resource, at, DECLINE_OUT_OF_RANGE_INDEX, &err);
        return true;
    }
    if (!skeleton_valid(at, &err)) {
        decline(resource, at, DECLINE_BAD_SKELETON, &err);
        return true;
    }
    if (over_limit(at)) {
        error_set(&err, ERROR_LIMIT, ERROR_NO_OFFSET, "%s: a count is more than %u", at->form->name,
                  MESHBIN_COUNT_LIMIT);
        decline(resource, at, DECLINE_OVER_LIMIT, &err);
        return true;
    }
    bool rounded = false;
    resource->mesh = build_mesh(at, arena, &rounded);
    if (rounded)
        resource->flags |= FLAG_BIT(FLAG_ROUNDED);
    resource->status = RESOURCE_DECODED;
    return resource->mesh != NULL;
}

static bool decode_versioned(const struct input *in, struct arena *arena, struct container *out)
{
    struct resource *resource = &out->resources[0];
    struct error err = {.offset = ERROR_NO_OFFSET};
    struct reader r = reader_make(in->data, in->size, 0, NULL, &err);
    reader_bytes(&r, MESHBIN_MAGIC_SIZE, "magic");
    uint64_t version_offset = reader_offset(&r);
    int version = reader_u8(&r, "version");
    if (reader_ok(&r) && version > MESHBIN_VERSION_MAX) {
        error_set(&err, ERROR_UNSUPPORTED, version_offset, "version %d, versions to %d are known", version,
                  MESHBIN_VERSION_MAX);
        resource_decline(resource, DECLINE_UNKNOWN_VERSION, &err);
        return true;
    }
    struct attempt tries[MESHBIN_FORMS];
    size_t count = 0;
    for (size_t i = 0; i < MESHBIN_FORMS && reader_ok(&r); i++)
        if (forms[i].version == version)
            attempt_form(in, &forms[i], &tries[count++]);
    if (count) {
        const struct attempt *chosen = choose_form(tries, count);
        if (chosen->fit != FIT_SHORT)
            return decode_attempt(chosen, arena, resource);
        err = chosen->error;
        decline(resource, chosen, DECLINE_TRUNCATED, &err);
    } else {
        resource_decline(resource, DECLINE_TRUNCATED, &err);
    }
    out->status = CONTAINER_DAMAGED;
    out->reason = CONTAINER_TRUNCATED;
    out->error = err;
    return true;
}

/* No variant closes: tells where the one that got furthest went wrong; between equals, the one that had all
 * it needs. */
static void decline_unclosed(const struct attempt *tries, size_t size, struct resource *resource)
{
    const struct attempt *best = &tries[0];
    for (size_t i = 1; i < MESHBIN_LEGACY_VARIANTS; i++)
        if (tries[i].end > best->end || (tries[i].end == best->end && tries[i].fit > best->fit))
            best = &tries[i];
    struct error err = best->error;
    if (best->fit == FIT_TRAILING)
        error_set(&err, ERROR_MALFORMED, best->end, "%s: %llu bytes are left over", best->form->name,
                  (unsigned long long)(size - best->end));
    error_prefix(&err, "no magic, and no legacy variant closes");
    decline(resource, best, DECLINE_DOES_NOT_CLOSE, &err);
}

/* Decodes as the first of several variants that close, and says so. */
static bool decode_ambiguous(const struct attempt *tries, const bool *closes, size_t first,
                             struct arena *arena, struct resource *resource)
{
    if (!decode_attempt(&tries[first], arena, resource))
        return false;
    if (resource->status != RESOURCE_DECODED)
        return true;
    char others[64] = "";
    for (size_t i = first + 1; i < MESHBIN_LEGACY_VARIANTS; i++)
        if (closes[i])
            snprintf(others + strlen(others), sizeof others - strlen(others), " %s", tries[i].form->name);
    resource->status = RESOURCE_AMBIGUOUS;
    resource->flags |= FLAG_BIT(FLAG_AMBIGUOUS_VARIANT);
    error_set(&resource->error, ERROR_UNSUPPORTED, ERROR_NO_OFFSET, "read as %s, but these close as well:%s",
              tries[first].form->name, others);
    return true;
}

/* Without a magic, closing to the byte with every index in range is the only evidence there is; so anything
 * less is declined. */
static bool decode_legacy(const struct input *in, struct arena *arena, struct container *out)
{
    struct resource *resource = &out->resources[0];
    struct attempt tries[MESHBIN_LEGACY_VARIANTS];
    bool closes[MESHBIN_LEGACY_VARIANTS] = {false};
    const struct attempt *out_of_range = NULL;
    size_t count = 0, closing = 0, first = 0;
    for (size_t i = 0; i < MESHBIN_FORMS; i++) {
        if (forms[i].version != MESHBIN_LEGACY)
            continue;
        struct attempt *at = &tries[count];
        struct error ignored = {0};
        attempt_form(in, &forms[i], at);
        closes[count] = at->fit == FIT_EXACT && indices_in_range(at, &ignored);
        if (closes[count] && closing++ == 0)
            first = count;
        if (at->fit == FIT_EXACT && !closes[count] && !out_of_range)
            out_of_range = at;
        count++;
    }
    if (closing == 1)
        return decode_attempt(&tries[first], arena, resource);
    if (closing > 1)
        return decode_ambiguous(tries, closes, first, arena, resource);
    if (out_of_range)
        return decode_attempt(out_of_range, arena, resource);
    decline_unclosed(tries, in->size, resource);
    return true;
}

/* The bytes start with the magic, or are all of a file that ends within it. */
static bool starts_with_magic(const struct input *in)
{
    size_t size = in->size < MESHBIN_MAGIC_SIZE ? in->size : MESHBIN_MAGIC_SIZE;
    return size == 0 || memcmp(in->data, MESHBIN_MAGIC, size) == 0;
}

static bool meshbin_decode(const struct input *in, struct arena *arena, struct container *out)
{
    out->resources = arena_array(arena, 1, sizeof *out->resources);
    if (!out->resources)
        return false;
    out->resource_count = 1;
    out->resources[0].format = FORMAT_MESHBIN;
    out->resources[0].error.offset = ERROR_NO_OFFSET;
    return starts_with_magic(in) ? decode_versioned(in, arena, out) : decode_legacy(in, arena, out);
}

/* By its name alone a file is taken on weak evidence: any other format that knows its bytes outbids it, and
 * what nobody can read is declined here instead of vanishing. */
static unsigned meshbin_probe(const struct input *in)
{
    if (in->size >= MESHBIN_MAGIC_SIZE && starts_with_magic(in))
        return MESHBIN_MAGIC_SIZE * 8;
    return name_has_ending(in->name, ".meshbin") ? 8 : 0;
}

const struct format format_meshbin = {
    .id = FORMAT_MESHBIN, .version = 1, .probe = meshbin_probe, .decode = meshbin_decode};
