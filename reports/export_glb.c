/* export_glb.c - glTF 2.0 in its binary container (Khronos glTF 2.0 specification, 3 and 4).
 *
 *   u32 "glTF", u32 2, u32 length of the file
 *   u32 length, u32 "JSON", the JSON padded with blanks to a multiple of 4
 *   u32 length, u32 "BIN\0", the buffer; left out when there is nothing in it
 *
 * The JSON stands in front and names every offset, so the items are gone through twice: once to plan, which
 * counts and makes the JSON, once to write. Each span is welded anew in the second round; the memory held at
 * a time is that of one span and of the JSON. Both rounds take their order from list_blocks, so that they
 * cannot disagree.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "export_internal.h"
#include "pipeline/json_whole.h"

#define GLB_MAGIC  0x46546C67u
#define CHUNK_JSON 0x4E4F534Au
#define CHUNK_BIN  0x004E4942u
#define GLB_HEADER 12
#define GLB_CHUNK  8

/* Names of glTF and OpenGL. */
enum { TYPE_U8 = 5121, TYPE_U16 = 5123, TYPE_U32 = 5125, TYPE_F32 = 5126 };
enum { TARGET_NONE = 0, TARGET_VERTICES = 34962, TARGET_INDICES = 34963 };
enum { MODE_POINTS = 0 };

/* 65535 restarts a primitive, so 16-bit indices end below it. */
#define VERTICES_16BIT 65535u

enum block_kind { BLOCK_POSITION, BLOCK_NORMAL, BLOCK_ATTRIBUTE, BLOCK_JOINTS, BLOCK_WEIGHTS, BLOCK_INDICES };

/* A run of the buffer with one accessor over it. */
struct block {
    enum block_kind kind;
    const struct export_attribute *attribute; /* BLOCK_ATTRIBUTE */
    const struct export_part *part;           /* BLOCK_INDICES */
    const uint32_t *index;                    /* BLOCK_INDICES: its first in the weld */
    uint32_t type, count, components;
    bool normalized;
    uint32_t accessor; /* known once planned */
};

struct glb {
    struct error *err;
    struct arena item_arena, span_arena;
    json_t *nodes, *meshes, *accessors, *views, *materials, *skins, *scene;
    json_t *material_index; /* key -> index in materials */
    uint64_t size;          /* of the buffer, as planned */
    bool failed;            /* jansson ran out of memory, or was given what it refuses */
};

/* ---- JSON, with one check at the end ------------------------------------------------------------------ */

static void set(struct glb *glb, json_t *object, const char *key, json_t *value)
{
    glb->failed |= json_object_set_new(object, key, value) != 0;
}

static void append(struct glb *glb, json_t *array, json_t *value)
{
    glb->failed |= json_array_append_new(array, value) != 0;
}

/* Appends and returns the index it got. */
static uint32_t append_indexed(struct glb *glb, json_t *array, json_t *value)
{
    append(glb, array, value);
    return (uint32_t)json_array_size(array) - 1;
}

/* The member `key` of `object`, made as an empty array when it is not there. */
static json_t *array_member(struct glb *glb, json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        set(glb, object, key, json_array());
    return json_object_get(object, key);
}

static void set_name(struct glb *glb, json_t *object, const char *key, const char *name)
{
    char *text = export_name(&glb->item_arena, name, false);
    set(glb, object, key, text ? json_string(text) : NULL);
}

/* Sets an array of numbers; one that is not finite is written as 0. */
static void set_vector(struct glb *glb, json_t *object, const char *key, const double *values, unsigned count)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < count; i++)
        append(glb, array, json_real(isfinite(values[i]) ? values[i] : 0));
    set(glb, object, key, array);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

static unsigned type_size(uint32_t type)
{
    return type == TYPE_U8 ? 1 : type == TYPE_U16 ? 2 : 4;
}

static uint64_t block_bytes(const struct block *block)
{
    return (uint64_t)block->count * block->components * type_size(block->type);
}

static uint64_t aligned(uint64_t size)
{
    return (size + 3) & ~UINT64_C(3);
}

/* Whether every value of a colour is k / 255, so that bytes hold it exactly. */
static bool is_byte_colour(const struct export_view *view, const struct export_weld *weld,
                           const struct export_attribute *attribute)
{
    for (uint32_t v = 0; v < weld->vertex_count; v++) {
        float value[4];
        export_weld_value(view, weld, attribute, v, value);
        for (unsigned i = 0; i < attribute->stream->components; i++)
            if ((float)nearbyint(value[i] * 255.0) / 255.0f != value[i])
                return false;
    }
    return true;
}

static struct block attribute_block(const struct export_view *view, const struct export_weld *weld,
                                    const struct export_attribute *attribute)
{
    struct block block = {.kind = BLOCK_ATTRIBUTE,
                          .attribute = attribute,
                          .type = TYPE_F32,
                          .count = weld->vertex_count,
                          .components = 2};
    if (attribute->stream->usage == MESH_COLOR) {
        block.normalized = is_byte_colour(view, weld, attribute);
        block.type = block.normalized ? TYPE_U8 : TYPE_F32;
        /* Elements of vertex data start at multiples of 4: three bytes get an alpha of 255. */
        block.components = block.normalized ? 4 : attribute->stream->components;
    }
    return block;
}

/* Whether the mesh has a skeleton glTF can express: a bone for every vertex, one mesh, few enough bones. */
static bool has_skin(const struct export_view *view)
{
    const struct mesh *mesh = view->mesh;
    int index = export_stream(mesh, MESH_BLENDINDICES, 1);
    if (!mesh->bone_count || mesh->bone_count > UINT16_MAX || index < 0 || view->item->resource->lod_count ||
        !view->drawn)
        return false;
    const struct mesh_stream *stream = &mesh->streams[index];
    if (stream->corner || stream->components != 1)
        return false;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (!(stream->data[v] >= 0 && stream->data[v] < (float)mesh->bone_count &&
              truncf(stream->data[v]) == stream->data[v]))
            return false;
    for (size_t i = 0; i < mesh->bone_count; i++)
        for (int axis = 0; axis < 3; axis++)
            if (!isfinite(mesh->bones[i].position[axis]))
                return false;
    return true;
}

/* The blocks of a span in the order they stand in the buffer. NULL when memory runs out. */
static struct block *list_blocks(const struct export_view *view, const struct export_span *span,
                                 const struct export_weld *weld, bool skin, struct arena *arena,
                                 uint32_t *count)
{
    size_t room = (size_t)span->part_count + MESH_STREAMS_MAX + 4;
    struct block *blocks = arena_array(arena, room, sizeof *blocks);
    uint32_t n = 0;
    if (!blocks)
        return NULL;
    blocks[n++] = (struct block){
        .kind = BLOCK_POSITION, .type = TYPE_F32, .count = weld->vertex_count, .components = 3};
    if (weld->has_normals)
        blocks[n++] = (struct block){
            .kind = BLOCK_NORMAL, .type = TYPE_F32, .count = weld->vertex_count, .components = 3};
    for (uint32_t i = 0; i < weld->attribute_count; i++)
        blocks[n++] = attribute_block(view, weld, &weld->attributes[i]);
    if (skin) {
        blocks[n++] = (struct block){.kind = BLOCK_JOINTS,
                                     .type = view->mesh->bone_count > 256 ? TYPE_U16 : TYPE_U8,
                                     .count = weld->vertex_count,
                                     .components = 4};
        blocks[n++] = (struct block){.kind = BLOCK_WEIGHTS,
                                     .type = TYPE_U8,
                                     .count = weld->vertex_count,
                                     .components = 4,
                                     .normalized = true};
    }
    const uint32_t *index = weld->index;
    for (uint32_t p = 0; p < span->part_count; p++) {
        const struct export_part *part = &view->parts[span->first_part + p];
        blocks[n++] = (struct block){.kind = BLOCK_INDICES,
                                     .part = part,
                                     .index = index,
                                     .type = weld->vertex_count <= VERTICES_16BIT ? TYPE_U16 : TYPE_U32,
                                     .count = part->drawn * 3,
                                     .components = 1};
        index += (size_t)part->drawn * 3;
    }
    *count = n;
    return blocks;
}

/* Writes a block and its padding. */
static void write_block(struct export_sink *sink, const struct export_view *view,
                        const struct export_weld *weld, const struct block *block)
{
    int bones = block->kind == BLOCK_JOINTS ? export_stream(view->mesh, MESH_BLENDINDICES, 1) : -1;
    for (uint32_t i = 0; i < block->count; i++) {
        float value[4] = {0, 0, 0, 1};
        switch (block->kind) {
        case BLOCK_POSITION:
            export_position(view, weld->source[i], value);
            break;
        case BLOCK_NORMAL:
            export_weld_normal(weld, i, value);
            break;
        case BLOCK_ATTRIBUTE:
            export_weld_value(view, weld, block->attribute, i, value);
            break;
        case BLOCK_JOINTS: {
            uint16_t bone = (uint16_t)view->mesh->streams[bones].data[weld->source[i]];
            const uint8_t narrow[4] = {(uint8_t)bone}, wide[8] = {(uint8_t)bone, (uint8_t)(bone >> 8)};
            sink_bytes(sink, block->type == TYPE_U8 ? narrow : wide, block->type == TYPE_U8 ? 4 : 8);
            continue;
        }
        case BLOCK_WEIGHTS:
            sink_bytes(sink, (const uint8_t[4]){255}, 4);
            continue;
        case BLOCK_INDICES:
            if (block->type == TYPE_U16)
                sink_u16(sink, (uint16_t)block->index[i]);
            else
                sink_u32(sink, block->index[i]);
            continue;
        }
        for (unsigned k = 0; k < block->components; k++)
            if (block->type == TYPE_U8)
                sink_u8(sink, (uint8_t)nearbyint(value[k] * 255.0));
            else
                sink_f32(sink, value[k]);
    }
    uint64_t bytes = block_bytes(block);
    sink_bytes(sink, "\0\0\0", (size_t)(aligned(bytes) - bytes));
}

/* ---- planning: accessors, primitives, materials ------------------------------------------------------- */

/* Adds a buffer view at the planned end of the buffer and an accessor over all of it. */
static json_t *plan_accessor(struct glb *glb, uint64_t bytes, int target, uint32_t component_type,
                             const char *type, uint32_t count)
{
    json_t *view = json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)glb->size,
                             "byteLength", (json_int_t)bytes);
    if (view && target)
        set(glb, view, "target", json_integer(target));
    json_t *accessor =
        json_pack("{s:I, s:I, s:I, s:s}", "bufferView", (json_int_t)append_indexed(glb, glb->views, view),
                  "componentType", (json_int_t)component_type, "count", (json_int_t)count, "type", type);
    append(glb, glb->accessors, accessor);
    glb->size += aligned(bytes);
    return accessor;
}

/* The bounds of what is written, which is what the validator compares them with. */
static void plan_bounds(struct glb *glb, json_t *accessor, const struct export_view *view,
                        const struct export_span *span)
{
    double low[3] = {0}, high[3] = {0};
    for (uint32_t v = 0; v < span->vertex_count; v++) {
        float position[3];
        export_position(view, span->first_vertex + v, position);
        for (int axis = 0; axis < 3; axis++) {
            if (v == 0 || position[axis] < low[axis])
                low[axis] = position[axis];
            if (v == 0 || position[axis] > high[axis])
                high[axis] = position[axis];
        }
    }
    set_vector(glb, accessor, "min", low, 3);
    set_vector(glb, accessor, "max", high, 3);
}

static void plan_block(struct glb *glb, const struct export_view *view, const struct export_span *span,
                       struct block *block)
{
    static const char *const types[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    int target = block->kind == BLOCK_INDICES ? TARGET_INDICES : TARGET_VERTICES;
    block->accessor = (uint32_t)json_array_size(glb->accessors);
    json_t *accessor =
        plan_accessor(glb, block_bytes(block), target, block->type, types[block->components], block->count);
    if (block->normalized)
        set(glb, accessor, "normalized", json_true());
    if (block->kind == BLOCK_POSITION)
        plan_bounds(glb, accessor, view, span);
}

/* The material of a part: one a name, as neither textures nor colours are known here. Consoles of BGF's and
 * MESHBIN's kind draw both sides. */
static uint32_t plan_material(struct glb *glb, const struct export_view *view, const struct export_part *part)
{
    bool both_sides = view->format == FORMAT_BGF || view->format == FORMAT_MESHBIN;
    const char *name = part->info ? part->info->material : NULL;
    struct buffer key = {0};
    buffer_append(&key, both_sides ? "2" : "1", 1);
    if (name) {
        buffer_append(&key, "=", 1);
        export_escape(&key, name, false);
    }
    buffer_append(&key, "", 1);
    const char *text = key.failed ? NULL : (const char *)key.data;
    const json_t *known = text ? json_object_get(glb->material_index, text) : NULL;
    uint32_t index = (uint32_t)json_integer_value(known);
    if (text && !known) {
        json_t *material = json_pack("{s:{s:f, s:f}}", "pbrMetallicRoughness", "metallicFactor", 0.0,
                                     "roughnessFactor", 1.0);
        if (name)
            set_name(glb, material, "name", name);
        if (both_sides)
            set(glb, material, "doubleSided", json_true());
        index = append_indexed(glb, glb->materials, material);
        set(glb, glb->material_index, text, json_integer(index));
    }
    glb->failed |= !text;
    buffer_free(&key);
    return index;
}

/* What the format says of a part and glTF has no word for. */
static void plan_part_extras(struct glb *glb, json_t *primitive, const struct export_part *part)
{
    const struct part_info *info = part->info;
    json_t *extras = json_object();
    set(glb, extras, "part", json_integer(part->part));
    if (info) {
        set(glb, extras, "patch", json_integer(info->patch));
        if (info->back_material)
            set_name(glb, extras, "back_material", info->back_material);
        if (info->special)
            set_name(glb, extras, "special", info->special);
        if (info->faceted)
            set(glb, extras, "faceted", json_true());
        if (info->decal)
            set(glb, extras, "decal", json_true());
    }
    set(glb, primitive, "extras", extras);
}

/* The attributes a part has, by name. Texture coordinates and colours are numbered from 0 without gaps, as
 * glTF wants, whatever their usage index. */
static json_t *plan_attributes(struct glb *glb, const struct export_view *view,
                               const struct export_part *part, const struct block *blocks, uint32_t count)
{
    json_t *attributes = json_object();
    unsigned texcoords = 0, colours = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct block *block = &blocks[i];
        char name[32] = "";
        switch (block->kind) {
        case BLOCK_POSITION:
            strcpy(name, "POSITION");
            break;
        case BLOCK_NORMAL:
            if (export_part_has_normals(view, part))
                strcpy(name, "NORMAL");
            break;
        case BLOCK_ATTRIBUTE:
            if (!(part->streams & block->attribute->bit))
                break;
            if (block->attribute->stream->usage == MESH_COLOR)
                snprintf(name, sizeof name, "COLOR_%u", colours++);
            else
                snprintf(name, sizeof name, "TEXCOORD_%u", texcoords++);
            break;
        case BLOCK_JOINTS:
            strcpy(name, "JOINTS_0");
            break;
        case BLOCK_WEIGHTS:
            strcpy(name, "WEIGHTS_0");
            break;
        case BLOCK_INDICES:
            break;
        }
        if (name[0])
            set(glb, attributes, name, json_integer(block->accessor));
    }
    return attributes;
}

/* Vertices without any triangle, as points: they are data of the file too. */
static json_t *plan_points(struct glb *glb, const struct block *blocks)
{
    json_t *primitive = json_pack("{s:i, s:{s:I}}", "mode", MODE_POINTS, "attributes", "POSITION",
                                  (json_int_t)blocks[0].accessor);
    glb->failed |= !primitive;
    return primitive;
}

/* Plans a span's blocks and leaves its primitives in `primitives`, one a part of the mesh. */
static bool plan_span(struct glb *glb, const struct export_view *view, const struct export_span *span,
                      bool skin, json_t **primitives)
{
    struct export_weld weld;
    uint32_t count;
    arena_reset(&glb->span_arena);
    if (!export_weld_make(view, span, &glb->span_arena, &weld, glb->err))
        return false;
    struct block *blocks = list_blocks(view, span, &weld, skin, &glb->span_arena, &count);
    if (!blocks)
        return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    for (uint32_t i = 0; i < count; i++)
        plan_block(glb, view, span, &blocks[i]);
    if (span->part_count == 0)
        primitives[0] = plan_points(glb, blocks);
    for (uint32_t i = 0; i < count; i++) {
        if (blocks[i].kind != BLOCK_INDICES)
            continue;
        const struct export_part *part = blocks[i].part;
        json_t *primitive = json_object();
        set(glb, primitive, "attributes", plan_attributes(glb, view, part, blocks, count));
        set(glb, primitive, "indices", json_integer(blocks[i].accessor));
        set(glb, primitive, "material", json_integer(plan_material(glb, view, part)));
        plan_part_extras(glb, primitive, part);
        primitives[part->part] = primitive;
    }
    return true;
}

/* ---- planning: nodes ---------------------------------------------------------------------------------- */

/* Adds a node; the pointer stays good, as the tree owns it. NULL when memory ran out. */
static json_t *plan_node(struct glb *glb, json_t *parent, const char *name)
{
    json_t *node = json_object();
    set_name(glb, node, "name", name);
    json_int_t index = append_indexed(glb, glb->nodes, node);
    append(glb, parent ? array_member(glb, parent, "children") : glb->scene, json_integer(index));
    return node;
}

/* Hands a primitive to the mesh of a node, which is made on first use and named as the node. */
static void plan_primitive(struct glb *glb, json_t *node, json_t *primitive)
{
    const json_t *known = json_object_get(node, "mesh");
    json_t *mesh = known ? json_array_get(glb->meshes, (size_t)json_integer_value(known)) : json_object();
    if (!known) {
        json_t *name = json_object_get(node, "name");
        set(glb, mesh, "name", name ? json_incref(name) : NULL);
        set(glb, node, "mesh", json_integer(append_indexed(glb, glb->meshes, mesh)));
    }
    append(glb, array_member(glb, mesh, "primitives"), primitive);
}

static void plan_lod_extras(struct glb *glb, json_t *node, const struct lod_info *lod)
{
    json_t *extras = json_object();
    if (lod->has_distance && isfinite(lod->in) && isfinite(lod->out))
        set_vector(glb, extras, "distance", (const double[2]){lod->in, lod->out}, 2);
    if (lod->implicit)
        set(glb, extras, "implicit", json_true());
    set(glb, extras, "triangles", json_integer(lod->triangles));
    set(glb, node, "extras", extras);
}

/* Nodes for the objects and their LODs, below the item's; returns the LODs' nodes, NULL when memory runs out.
 */
static json_t **plan_lods(struct glb *glb, const struct export_item *item, json_t *item_node)
{
    const struct resource *resource = item->resource;
    struct arena *arena = &glb->item_arena;
    json_t **objects = arena_array(arena, resource->object_count, sizeof(json_t *));
    const uint32_t *numbers = export_lod_numbers(resource, arena);
    json_t **lods = arena_array(arena, resource->lod_count, sizeof(json_t *));
    if (!objects || !numbers || !lods)
        return NULL;
    for (uint32_t i = 0; i < resource->object_count; i++) {
        char text[32];
        snprintf(text, sizeof text, "object%u", i);
        const char *name = resource->objects[i].name;
        objects[i] = plan_node(glb, item_node, name && name[0] ? name : text);
    }
    for (uint32_t i = 0; i < resource->lod_count; i++) {
        const struct lod_info *lod = &resource->lods[i];
        bool known = lod->object < resource->object_count;
        const char *name = known ? resource->objects[lod->object].name : NULL;
        struct buffer text = {0};
        char ending[32];
        int length = snprintf(ending, sizeof ending, ".lod%u", numbers[i]);
        export_escape(&text, name && name[0] ? name : export_item_name(item), false);
        buffer_append(&text, ending, (size_t)length + 1);
        if (!text.failed)
            lods[i] = plan_node(glb, known ? objects[lod->object] : item_node, (const char *)text.data);
        buffer_free(&text);
        if (!lods[i])
            return NULL;
        plan_lod_extras(glb, lods[i], lod);
    }
    return lods;
}

/* ---- skins -------------------------------------------------------------------------------------------- */

/* A bone's rest: its place relative to the parent, and the inverse of its place in the model. */
struct bone_rest {
    double translation[3], rotation[4];
    double model_rotation[4], model_translation[3];
};

static void quaternion_product(const double a[4], const double b[4], double out[4])
{
    out[0] = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    out[1] = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    out[2] = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    out[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}

/* The 3 x 3 matrix of a unit quaternion, by rows. */
static void quaternion_matrix(const double q[4], double m[3][3])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    m[0][0] = 1 - 2 * (y * y + z * z);
    m[0][1] = 2 * (x * y - z * w);
    m[0][2] = 2 * (x * z + y * w);
    m[1][0] = 2 * (x * y + z * w);
    m[1][1] = 1 - 2 * (x * x + z * z);
    m[1][2] = 2 * (y * z - x * w);
    m[2][0] = 2 * (x * z - y * w);
    m[2][1] = 2 * (y * z + x * w);
    m[2][2] = 1 - 2 * (x * x + y * y);
}

static void make_unit(double q[4])
{
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] = length > 0 && isfinite(length) ? q[i] / length : i == 3;
}

/* Turns a bone's axes as the view does. Under a reflection an axis of rotation turns the other way. */
static void bone_rest(const struct export_view *view, uint32_t bone, const struct bone_rest *all,
                      struct bone_rest *rest)
{
    const struct mesh_bone *from = &view->mesh->bones[bone];
    double hand = (double)view->sign[0] * view->sign[1] * view->sign[2];
    for (int i = 0; i < 3; i++) {
        rest->translation[i] = (double)from->position[i] * view->sign[i];
        rest->rotation[i] = (double)from->rotation[i] * view->sign[i] * hand;
    }
    rest->rotation[3] = from->rotation[3];
    make_unit(rest->rotation);
    memcpy(rest->model_rotation, rest->rotation, sizeof rest->rotation);
    memcpy(rest->model_translation, rest->translation, sizeof rest->translation);
    if (from->parent < 0)
        return;
    const struct bone_rest *parent = &all[from->parent];
    double m[3][3];
    quaternion_product(parent->model_rotation, rest->rotation, rest->model_rotation);
    make_unit(rest->model_rotation);
    quaternion_matrix(parent->model_rotation, m);
    for (int i = 0; i < 3; i++)
        rest->model_translation[i] = parent->model_translation[i] + m[i][0] * rest->translation[0] +
                                     m[i][1] * rest->translation[1] + m[i][2] * rest->translation[2];
}

/* The rests of all bones; NULL when memory runs out. */
static struct bone_rest *bone_rests(const struct export_view *view, struct arena *arena)
{
    struct bone_rest *rests = arena_array(arena, view->mesh->bone_count, sizeof *rests);
    for (uint32_t i = 0; rests && i < view->mesh->bone_count; i++)
        bone_rest(view, i, rests, &rests[i]);
    return rests;
}

/* f32 of a value that may lie outside its range. */
static float narrowed(double value)
{
    return (float)fmin(fmax(value, -FLT_MAX), FLT_MAX);
}

/* Writes the inverse bind matrices, column by column: the stored vertices are taken to be the pose of rest.
 */
static void write_bind_matrices(struct export_sink *sink, const struct bone_rest *rests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const double *t = rests[i].model_translation;
        double m[3][3];
        quaternion_matrix(rests[i].model_rotation, m);
        for (int column = 0; column < 3; column++) {
            for (int row = 0; row < 3; row++)
                sink_f32(sink, (float)m[column][row]); /* transposed: the inverse of a rotation */
            sink_f32(sink, 0);
        }
        for (int row = 0; row < 3; row++)
            sink_f32(sink, narrowed(-(m[0][row] * t[0] + m[1][row] * t[1] + m[2][row] * t[2])));
        sink_f32(sink, 1);
    }
}

/* A node a bone, below the item's node, which is the common root glTF asks for; and the skin. */
static bool plan_skin(struct glb *glb, const struct export_view *view, json_t *item_node)
{
    uint32_t count = view->mesh->bone_count;
    struct bone_rest *rests = bone_rests(view, &glb->item_arena);
    json_t **nodes = arena_array(&glb->item_arena, count, sizeof(json_t *));
    json_t *joints = json_array();
    for (uint32_t i = 0; rests && nodes && i < count; i++) {
        char name[32];
        int32_t parent = view->mesh->bones[i].parent;
        snprintf(name, sizeof name, "bone%u", i);
        append(glb, joints, json_integer((json_int_t)json_array_size(glb->nodes)));
        nodes[i] = plan_node(glb, parent < 0 ? item_node : nodes[parent], name);
        set_vector(glb, nodes[i], "translation", rests[i].translation, 3);
        set_vector(glb, nodes[i], "rotation", rests[i].rotation, 4);
    }
    json_int_t accessor = (json_int_t)json_array_size(glb->accessors);
    plan_accessor(glb, (uint64_t)count * 64, TARGET_NONE, TYPE_F32, "MAT4", count);
    json_t *skin = json_object();
    set(glb, skin, "joints", joints);
    set(glb, skin, "inverseBindMatrices", json_integer(accessor));
    set(glb, item_node, "skin", json_integer(append_indexed(glb, glb->skins, skin)));
    return rests && nodes ? true : error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
}

/* ---- both rounds -------------------------------------------------------------------------------------- */

/* Hands each primitive to the node it belongs to: its LOD's, else the item's. */
static void place_primitives(struct glb *glb, const struct export_view *view, json_t *item_node,
                             json_t **lods, json_t **primitives, size_t count)
{
    const struct resource *resource = view->item->resource;
    for (size_t i = 0; i < count; i++) {
        const struct part_info *info = view->mesh->part_count && resource->parts ? &resource->parts[i] : NULL;
        if (primitives[i])
            plan_primitive(glb, info && info->lod < resource->lod_count ? lods[info->lod] : item_node,
                           primitives[i]);
    }
}

static bool plan_item(struct glb *glb, const struct export_item *item)
{
    struct export_view view;
    arena_reset(&glb->item_arena);
    if (!export_view_make(item, false, &glb->item_arena, &view, glb->err))
        return false;
    bool skin = has_skin(&view);
    size_t room = item->mesh->part_count ? item->mesh->part_count : 1;
    json_t *node = plan_node(glb, NULL, export_item_name(item));
    if (item->extras)
        set(glb, node, "extras", json_deep_copy(item->extras));
    json_t **primitives = arena_array(&glb->item_arena, room, sizeof(json_t *));
    json_t **lods = plan_lods(glb, item, node);
    if (!primitives || !lods)
        return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    bool ok = true;
    for (uint32_t i = 0; ok && i < view.span_count; i++)
        ok = plan_span(glb, &view, &view.spans[i], skin, primitives);
    place_primitives(glb, &view, node, lods, primitives, room);
    return ok && (!skin || plan_skin(glb, &view, node));
}

static bool write_item(struct glb *glb, const struct export_item *item, struct export_sink *sink)
{
    struct export_view view;
    arena_reset(&glb->item_arena);
    if (!export_view_make(item, false, &glb->item_arena, &view, glb->err))
        return false;
    bool skin = has_skin(&view);
    for (uint32_t i = 0; i < view.span_count; i++) {
        struct export_weld weld;
        uint32_t count;
        arena_reset(&glb->span_arena);
        if (!export_weld_make(&view, &view.spans[i], &glb->span_arena, &weld, glb->err))
            return false;
        struct block *blocks = list_blocks(&view, &view.spans[i], &weld, skin, &glb->span_arena, &count);
        if (!blocks)
            return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
        for (uint32_t k = 0; k < count; k++)
            write_block(sink, &view, &weld, &blocks[k]);
    }
    if (!skin)
        return true;
    struct bone_rest *rests = bone_rests(&view, &glb->item_arena);
    if (!rests)
        return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    write_bind_matrices(sink, rests, item->mesh->bone_count);
    return true;
}

/* Puts the arrays together; glTF allows no empty ones. NULL when memory ran out on the way. */
static json_t *glb_root(struct glb *glb)
{
    json_t *scene = json_pack("{s:O}", "nodes", glb->scene);
    json_t *root = json_pack("{s:{s:s, s:s}, s:i, s:[o]}", "asset", "version", "2.0", "generator",
                             "anchorage", "scene", 0, "scenes", scene);
    const struct {
        const char *key;
        json_t *array;
    } arrays[] = {{"nodes", glb->nodes},       {"meshes", glb->meshes},       {"accessors", glb->accessors},
                  {"bufferViews", glb->views}, {"materials", glb->materials}, {"skins", glb->skins}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (json_array_size(arrays[i].array))
            set(glb, root, arrays[i].key, json_incref(arrays[i].array));
    if (glb->size)
        set(glb, root, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)glb->size));
    if (!glb->failed)
        return root;
    json_decref(root);
    return NULL;
}

static int count_bytes(const char *bytes, size_t size, void *total)
{
    (void)bytes;
    *(uint64_t *)total += size;
    return 0;
}

static int write_bytes(const char *bytes, size_t size, void *sink)
{
    sink_bytes(sink, bytes, size);
    return 0;
}

/* Writes the header, the JSON chunk and the header of the buffer's chunk. */
static bool write_front(const struct glb *glb, const json_t *root, struct export_sink *sink)
{
    uint64_t json_size = 0;
    if (!json_is_whole(root) || json_dump_callback(root, count_bytes, &json_size, JSON_COMPACT) != 0)
        return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: cannot make the JSON");
    uint64_t size = GLB_HEADER + GLB_CHUNK + aligned(json_size) + (glb->size ? GLB_CHUNK + glb->size : 0);
    if (size > UINT32_MAX)
        return error_set(glb->err, ERROR_LIMIT, ERROR_NO_OFFSET,
                         "export: %llu bytes are more than a GLB can hold; export fewer at a time",
                         (unsigned long long)size);
    sink_u32(sink, GLB_MAGIC);
    sink_u32(sink, 2);
    sink_u32(sink, (uint32_t)size);
    sink_u32(sink, (uint32_t)aligned(json_size));
    sink_u32(sink, CHUNK_JSON);
    if (json_dump_callback(root, write_bytes, sink, JSON_COMPACT) != 0)
        return error_set(glb->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    sink_bytes(sink, "   ", (size_t)(aligned(json_size) - json_size));
    if (glb->size) {
        sink_u32(sink, (uint32_t)glb->size);
        sink_u32(sink, CHUNK_BIN);
    }
    return true;
}

static void glb_free(struct glb *glb)
{
    json_t *const all[] = {glb->nodes,     glb->meshes, glb->accessors, glb->views,
                           glb->materials, glb->skins,  glb->scene,     glb->material_index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_decref(all[i]);
    arena_free(&glb->item_arena);
    arena_free(&glb->span_arena);
}

bool export_write_glb(const struct export_item *items, size_t count, FILE *out, struct error *err)
{
    struct glb glb = {.err = err,
                      .nodes = json_array(),
                      .meshes = json_array(),
                      .accessors = json_array(),
                      .views = json_array(),
                      .materials = json_array(),
                      .skins = json_array(),
                      .scene = json_array(),
                      .material_index = json_object()};
    struct export_sink sink;
    sink_start(&sink, out, err);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = plan_item(&glb, &items[i]);
    json_t *root = ok ? glb_root(&glb) : NULL;
    if (ok && !root)
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    ok = ok && write_front(&glb, root, &sink);
    json_decref(root);
    for (size_t i = 0; ok && i < count; i++)
        ok = write_item(&glb, &items[i], &sink);
    ok = ok && sink_finish(&sink);
    glb_free(&glb);
    return ok;
}
