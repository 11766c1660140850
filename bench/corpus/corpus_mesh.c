/* corpus_mesh.c - shapes changed, and stored as XBG7 blocks. Layout: formats/xbg7.md, sections 2 and 4. */
#include "bench/corpus/corpus_internal.h"

#include <stdlib.h>
#include <string.h>

#include "formats/mesh.h"

/* ---- changes to shapes ---- */

struct shape shape_copy(const struct shape *shape)
{
    struct shape copy = shape_room(shape->vertex_count, shape->triangle_count);
    if (!copy.corner)
        return copy;
    memcpy(copy.position, shape->position, (size_t)shape->vertex_count * 3 * sizeof(float));
    memcpy(copy.normal, shape->normal, (size_t)shape->vertex_count * 3 * sizeof(float));
    memcpy(copy.uv, shape->uv, (size_t)shape->vertex_count * 2 * sizeof(float));
    memcpy(copy.corner, shape->corner, (size_t)shape->triangle_count * 3 * sizeof(uint32_t));
    return copy;
}

void shape_bounds(const struct shape *shape, float low[3], float high[3])
{
    for (uint32_t v = 0; v < shape->vertex_count; v++) {
        for (size_t i = 0; i < 3; i++) {
            float value = shape->position[(size_t)v * 3 + i];
            low[i] = v == 0 || value < low[i] ? value : low[i];
            high[i] = v == 0 || value > high[i] ? value : high[i];
        }
    }
}

static void swap_floats(float *a, float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float was = a[i];
        a[i] = b[i];
        b[i] = was;
    }
}

void shape_swap_vertices(struct shape *shape, uint32_t a, uint32_t b)
{
    if (a == b)
        return;
    swap_floats(shape->position + (size_t)a * 3, shape->position + (size_t)b * 3, 3);
    swap_floats(shape->normal + (size_t)a * 3, shape->normal + (size_t)b * 3, 3);
    swap_floats(shape->uv + (size_t)a * 2, shape->uv + (size_t)b * 2, 2);
    for (size_t i = 0; i < (size_t)shape->triangle_count * 3; i++) {
        if (shape->corner[i] == a)
            shape->corner[i] = b;
        else if (shape->corner[i] == b)
            shape->corner[i] = a;
    }
}

/* Numbers vertices by first use; vertices without one keep their order at the end. Returns how many are used,
 * which is where those begin. */
static uint32_t renumber(struct shape *shape)
{
    struct shape copy = shape_copy(shape);
    uint32_t *number = malloc(((size_t)shape->vertex_count + 1) * sizeof *number), used = 0,
             referenced = shape->vertex_count;
    if (copy.corner && number) {
        memset(number, 0xFF, (size_t)shape->vertex_count * sizeof *number);
        for (size_t i = 0; i < (size_t)shape->triangle_count * 3; i++) {
            if (number[copy.corner[i]] == UINT32_MAX)
                number[copy.corner[i]] = used++;
            shape->corner[i] = number[copy.corner[i]];
        }
        referenced = used;
        for (uint32_t v = 0; v < shape->vertex_count; v++) {
            uint32_t to = number[v] == UINT32_MAX ? used++ : number[v];
            memcpy(shape->position + (size_t)to * 3, copy.position + (size_t)v * 3, 3 * sizeof(float));
            memcpy(shape->normal + (size_t)to * 3, copy.normal + (size_t)v * 3, 3 * sizeof(float));
            memcpy(shape->uv + (size_t)to * 2, copy.uv + (size_t)v * 2, 2 * sizeof(float));
        }
    }
    free(number);
    shape_free(&copy);
    return referenced;
}

void shape_drop_unused(struct shape *shape)
{
    shape->vertex_count = renumber(shape);
}

void shape_crop(struct shape *shape, uint32_t triangles)
{
    if (triangles == 0 || triangles >= shape->triangle_count)
        return;
    shape->triangle_count = triangles;
    shape_drop_unused(shape);
}

void shape_shuffle(struct shape *shape, struct rng *rng)
{
    enum { WINDOW = 24 };
    for (uint32_t t = 0; t < shape->triangle_count; t++) {
        uint32_t left = shape->triangle_count - t, other = t + rng_below(rng, left < WINDOW ? left : WINDOW);
        uint32_t *a = shape->corner + (size_t)t * 3, *b = shape->corner + (size_t)other * 3, was[3];
        unsigned turn = rng_below(rng, 3);
        memcpy(was, a, sizeof was);
        memcpy(a, b, sizeof was);
        memcpy(b, was, sizeof was);
        memcpy(was, a, sizeof was);
        for (unsigned k = 0; k < 3; k++)
            a[k] = was[(k + turn) % 3];
    }
    renumber(shape);
}

struct shape shape_rival(const struct shape *shape, struct rng *rng, float size)
{
    struct shape rival = shape_copy(shape);
    if (!rival.corner)
        return rival;
    float low[3], high[3], stretch[3], bend = rng_float(rng, 0.2f, 0.6f), extent = 0;
    shape_bounds(shape, low, high);
    for (int i = 0; i < 3; i++) {
        stretch[i] = rng_float(rng, 0.5f, 1.5f);
        extent = high[i] - low[i] > extent ? high[i] - low[i] : extent;
    }
    for (uint32_t v = 0; v < rival.vertex_count; v++) {
        float *p = rival.position + (size_t)v * 3;
        float along = extent > 0 ? (p[1] - low[1]) / extent : 0;
        for (int i = 0; i < 3; i++)
            p[i] = (p[i] - low[i]) * stretch[i];
        p[0] += bend * along * along * extent;
    }
    shape_pose(&rival, rng, size);
    shape_smooth_normals(&rival);
    shape_shuffle(&rival, rng);
    return rival;
}

struct shape shape_mirror(const struct shape *shape)
{
    struct shape mirror = shape_copy(shape);
    if (!mirror.corner)
        return mirror;
    for (uint32_t v = 0; v < mirror.vertex_count; v++) {
        mirror.position[(size_t)v * 3] = -mirror.position[(size_t)v * 3];
        mirror.normal[(size_t)v * 3] = -mirror.normal[(size_t)v * 3];
    }
    for (uint32_t t = 0; t < mirror.triangle_count; t++) {
        uint32_t *corner = mirror.corner + (size_t)t * 3, was = corner[1];
        corner[1] = corner[2];
        corner[2] = was;
    }
    return mirror;
}

void shape_flip(struct shape *shape, struct rng *rng, unsigned percent)
{
    for (uint32_t t = 0; t < shape->triangle_count; t++) {
        uint32_t *corner = shape->corner + (size_t)t * 3, was = corner[1];
        if (!rng_chance(rng, percent))
            continue;
        corner[1] = corner[2];
        corner[2] = was;
    }
}

struct shape shape_with_degenerate(const struct shape *shape, struct rng *rng, uint32_t extra)
{
    struct shape out = shape_copy(shape);
    uint32_t before = shape->triangle_count;
    uint32_t *corner = out.corner ? realloc(out.corner, ((size_t)before + extra) * 3 * sizeof *corner) : NULL;
    if (!corner) {
        shape_free(&out);
        return out;
    }
    out.corner = corner;
    out.triangle_count = before + extra;
    for (uint32_t t = before; t < before + extra; t++) {
        memcpy(corner + (size_t)t * 3, corner + (size_t)rng_below(rng, before) * 3, 3 * sizeof *corner);
        corner[(size_t)t * 3 + 2] = corner[(size_t)t * 3 + 1];
        uint32_t other = rng_below(rng, before), was[3];
        memcpy(was, corner + (size_t)t * 3, sizeof was);
        memcpy(corner + (size_t)t * 3, corner + (size_t)other * 3, sizeof was);
        memcpy(corner + (size_t)other * 3, was, sizeof was);
    }
    return out;
}

struct shape shape_with_unused(const struct shape *shape, struct rng *rng, uint32_t extra, bool at_end)
{
    uint32_t before = shape->vertex_count;
    struct shape out = shape_room(before + extra, shape->triangle_count);
    if (!out.corner)
        return out;
    memcpy(out.corner, shape->corner, (size_t)shape->triangle_count * 3 * sizeof(uint32_t));
    for (uint32_t v = 0; v < before + extra; v++) {
        uint32_t from = v < before ? v : rng_below(rng, before);
        memcpy(out.position + (size_t)v * 3, shape->position + (size_t)from * 3, 3 * sizeof(float));
        memcpy(out.normal + (size_t)v * 3, shape->normal + (size_t)from * 3, 3 * sizeof(float));
        memcpy(out.uv + (size_t)v * 2, shape->uv + (size_t)from * 2, 2 * sizeof(float));
        if (v >= before)
            out.position[(size_t)v * 3 + 1] *= 0.9375f;
    }
    for (uint32_t v = before; !at_end && v < before + extra; v++)
        shape_swap_vertices(&out, v, rng_below(rng, before));
    return out;
}

/* ---- numbers ---- */

/* To half precision, to nearest, ties to even; values are of moderate size. */
static uint16_t half_of(float value)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = value};
    uint32_t sign = pun.u >> 16 & 0x8000, exponent = pun.u >> 23 & 0xFF, fraction = pun.u & 0x7FFFFF;
    if (exponent > 142)
        return (uint16_t)(sign | 0x7BFF); /* the largest finite half */
    if (exponent < 103)
        return (uint16_t)sign;
    uint32_t whole, drop;
    if (exponent < 113) { /* subnormal half */
        whole = fraction | 0x800000;
        drop = 126 - exponent;
    } else {
        whole = (exponent - 112) << 23 | fraction;
        drop = 13;
    }
    uint32_t kept = whole >> drop, rest = whole & ((UINT32_C(1) << drop) - 1),
             middle = UINT32_C(1) << (drop - 1);
    kept += rest > middle || (rest == middle && (kept & 1));
    return (uint16_t)(sign | kept);
}

static void store_u16(uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
}

static void store_u32(uint8_t *out, uint32_t value)
{
    store_u16(out, (uint16_t)(value >> 16));
    store_u16(out + 2, (uint16_t)value);
}

static void store_f32(uint8_t *out, float value)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = value};
    store_u32(out, pun.u);
}

/* A signed normalised component of `bits` bits at `shift`. */
static uint32_t packed(float value, unsigned bits, unsigned shift)
{
    float scaled = value * (float)((1 << (bits - 1)) - 1);
    int32_t whole = (int32_t)(scaled + (scaled < 0 ? -0.5f : 0.5f));
    return ((uint32_t)whole & ((UINT32_C(1) << bits) - 1)) << shift;
}

/* ---- layouts ---- */

/* GPU vertex format numbers of the format page's table that are used here, and their sizes. */
enum {
    F_8888 = 6,
    F_2101010 = 7,
    F_101111 = 16,
    F_111110 = 17,
    F_HALF2 = 31,
    F_HALF4 = 32,
    F_FLOAT2 = 37,
    F_FLOAT4 = 38,
    F_FLOAT3 = 57,
    F_HIDDEN = 44
};

static unsigned number_bytes(unsigned number)
{
    switch (number) {
    case F_HALF4:
    case F_FLOAT2:
        return 8;
    case F_FLOAT3:
        return 12;
    case F_FLOAT4:
        return 16;
    default:
        return 4;
    }
}

unsigned layout_number(const struct layout_element *element)
{
    return element->format & 63;
}

struct preset {
    unsigned weight, count;
    enum layout_wish kind;
    struct {
        uint8_t usage, usage_index, number;
    } element[LAYOUT_ELEMENTS_MAX];
};

/* clang-format off */
static const struct preset presets[] = {
    {24, 3, LAYOUT_HALF_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}, {MESH_TEXCOORD, 0, F_HALF2}}},
    {18, 2, LAYOUT_HALF_NORMAL, {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}}},
    {7, 4, LAYOUT_HALF_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}, {MESH_COLOR, 0, F_8888},
      {MESH_TEXCOORD, 0, F_HALF2}}},
    {5, 5, LAYOUT_FLOAT_NORMAL, /* the captured 44: position, f32 x 3, colour, two f16 x 4 */
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_FLOAT3}, {MESH_COLOR, 0, F_8888},
      {MESH_TEXCOORD, 0, F_HALF4}, {MESH_TEXCOORD, 1, F_HALF4}}},
    {5, 5, LAYOUT_HALF_NORMAL, /* the same size, the f32 x 3 a tangent */
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_TANGENT, 0, F_FLOAT3}, {MESH_COLOR, 0, F_8888},
      {MESH_NORMAL, 0, F_HALF4}, {MESH_TEXCOORD, 0, F_HALF4}}},
    {9, 1, LAYOUT_NO_NORMAL, {{MESH_POSITION, 0, F_FLOAT3}}},
    {5, 2, LAYOUT_NO_NORMAL, {{MESH_POSITION, 0, F_FLOAT3}, {MESH_TEXCOORD, 0, F_HALF2}}},
    {6, 2, LAYOUT_PACKED_NORMAL, {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_2101010}}},
    {4, 3, LAYOUT_PACKED_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_101111}, {MESH_TEXCOORD, 0, F_HALF2}}},
    {4, 3, LAYOUT_PACKED_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_111110}, {MESH_TEXCOORD, 0, F_HALF2}}},
    {5, 5, LAYOUT_HALF_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}, {MESH_BLENDWEIGHT, 0, F_8888},
      {MESH_BLENDINDICES, 0, F_8888}, {MESH_TEXCOORD, 0, F_HALF2}}},
    {4, 3, LAYOUT_FLOAT_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_FLOAT3}, {MESH_TEXCOORD, 0, F_FLOAT2}}},
    {6, 5, LAYOUT_HALF_NORMAL,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}, {MESH_TANGENT, 0, F_FLOAT4},
      {MESH_TEXCOORD, 0, F_FLOAT2}, {MESH_COLOR, 0, F_8888}}},
    {2, 4, LAYOUT_HIDDEN_NUMBER,
     {{MESH_POSITION, 0, F_FLOAT3}, {MESH_NORMAL, 0, F_HALF4}, {MESH_TANGENT, 0, F_HIDDEN},
      {MESH_TEXCOORD, 0, F_HALF2}}},
};
/* clang-format on */
enum { PRESETS = sizeof presets / sizeof *presets };

/* Any: everything but an element of unknown size, which needs a descriptor that tells the stride. */
static bool preset_fits(const struct preset *preset, enum layout_wish wish)
{
    return wish == LAYOUT_ANY ? preset->kind != LAYOUT_HIDDEN_NUMBER : preset->kind == wish;
}

static uint32_t format_code(unsigned number, bool unusual, struct rng *rng)
{
    /* The codes the research log has seen; other numbers get made-up bits above the number. */
    if (!unusual) {
        if (number == F_FLOAT3)
            return 0x2A23B9;
        if (number == F_HALF4)
            return 0x1A2360;
        if (number == F_HALF2)
            return 0x2C235F;
    }
    return (rng_below(rng, 0x10000) << 6 & 0x3FFFC0) | number;
}

struct layout layout_random(struct rng *rng, enum layout_wish wish)
{
    unsigned total = 0, pick;
    for (unsigned i = 0; i < PRESETS; i++)
        total += preset_fits(&presets[i], wish) ? presets[i].weight : 0;
    pick = rng_below(rng, total);
    const struct preset *preset = NULL;
    for (unsigned i = 0; i < PRESETS; i++) {
        if (!preset_fits(&presets[i], wish))
            continue;
        preset = &presets[i];
        if (pick < preset->weight)
            break;
        pick -= preset->weight;
    }
    struct layout layout = {.count = preset->count, .normal = -1};
    unsigned order[LAYOUT_ELEMENTS_MAX];
    for (unsigned i = 0; i < preset->count; i++)
        order[i] = i;
    layout.unusual_code = rng_chance(rng, 15);
    layout.hidden_number = preset->kind == LAYOUT_HIDDEN_NUMBER;
    if (preset->count > 1 && rng_chance(rng, 20)) {
        layout.reordered = true;
        unsigned other = 1 + rng_below(rng, preset->count - 1);
        order[0] = other;
        order[other] = 0;
    }
    for (unsigned i = 0; i < preset->count; i++) {
        unsigned number = preset->element[order[i]].number;
        struct layout_element *element = &layout.element[i];
        element->offset = (uint16_t)layout.stride;
        element->size = (uint8_t)number_bytes(number);
        element->usage = preset->element[order[i]].usage;
        element->usage_index = preset->element[order[i]].usage_index;
        element->format = format_code(number, layout.unusual_code, rng);
        layout.stride += element->size;
        if (element->usage == MESH_NORMAL)
            layout.normal = (int)i;
    }
    return layout;
}

/* ---- vertices ---- */

static void store_element(uint8_t *out, unsigned number, const float value[4])
{
    switch (number) {
    case F_FLOAT2:
    case F_FLOAT3:
    case F_FLOAT4:
        for (unsigned i = 0; i < number_bytes(number) / 4; i++)
            store_f32(out + 4 * i, value[i]);
        break;
    case F_HALF2:
    case F_HALF4:
        for (unsigned i = 0; i < number_bytes(number) / 2; i++)
            store_u16(out + 2 * i, half_of(value[i]));
        break;
    case F_2101010:
        store_u32(out, packed(value[0], 10, 0) | packed(value[1], 10, 10) | packed(value[2], 10, 20));
        break;
    case F_101111:
        store_u32(out, packed(value[0], 11, 0) | packed(value[1], 11, 11) | packed(value[2], 10, 22));
        break;
    case F_111110:
        store_u32(out, packed(value[0], 10, 0) | packed(value[1], 11, 10) | packed(value[2], 11, 21));
        break;
    default: /* colours, weights, and the number in no table: four bytes */
        for (unsigned i = 0; i < 4; i++)
            out[i] = (uint8_t)(value[i] * 255.0f);
        break;
    }
}

/* How much stored normals deviate: 1 is unit length. */
static float normal_length(const struct defects *defects, uint32_t vertex, uint32_t count, struct rng *rng)
{
    bool bad = (vertex == 0 && defects->first_normal) || (vertex == count - 1 && defects->last_normal);
    if (!bad && defects->imperfect_percent)
        bad = rng_chance(rng, defects->imperfect_percent);
    return bad ? rng_float(rng, 0.1f, 0.6f) : 1.0f;
}

static void store_vertex(uint8_t *out, const struct shape *shape, uint32_t vertex,
                         const struct layout *layout, float length, struct rng *rng)
{
    for (unsigned i = 0; i < layout->count; i++) {
        const struct layout_element *element = &layout->element[i];
        float value[4] = {0};
        switch (element->usage) {
        case MESH_POSITION:
            memcpy(value, shape->position + (size_t)vertex * 3, 3 * sizeof *value);
            break;
        case MESH_NORMAL:
            for (size_t k = 0; k < 3; k++)
                value[k] = shape->normal[(size_t)vertex * 3 + k] * length;
            break;
        case MESH_TEXCOORD:
            memcpy(value, shape->uv + (size_t)vertex * 2, 2 * sizeof *value);
            break;
        default:
            for (int k = 0; k < 4; k++)
                value[k] = rng_float(rng, 0, 1);
            break;
        }
        store_element(out + element->offset, layout_number(element), value);
    }
}

/* ---- blocks ---- */

static void pad_to(struct buffer *out, size_t multiple, size_t shift)
{
    while ((out->size + shift) % multiple)
        put_u8(out, 0);
}

static void append_indices(struct block *block, unsigned i, const struct shape *shape)
{
    block->span[i].index_offset = (uint32_t)block->bytes.size;
    block->span[i].index_count = shape->triangle_count * 3;
    uint8_t *out = buffer_extend(&block->bytes, (size_t)shape->triangle_count * 6);
    for (size_t k = 0; out && k < (size_t)shape->triangle_count * 3; k++)
        store_u16(out + 2 * k, (uint16_t)shape->corner[k]);
}

static void append_vertices(struct block *block, unsigned i, const struct part *part,
                            const struct defects *defects, struct rng *rng)
{
    const struct shape *shape = &part->shape;
    block->span[i].vertex_offset = (uint32_t)block->bytes.size;
    block->span[i].vertex_count = shape->vertex_count;
    block->span[i].stride = part->layout.stride;
    uint8_t *out = buffer_extend(&block->bytes, (size_t)shape->vertex_count * part->layout.stride);
    for (uint32_t v = 0; out && v < shape->vertex_count; v++)
        store_vertex(out + (size_t)v * part->layout.stride, shape, v, &part->layout,
                     normal_length(defects, v, shape->vertex_count, rng), rng);
    float low[3], high[3];
    shape_bounds(shape, low, high);
    for (int k = 0; k < 3; k++) {
        block->low[k] = i == 0 || low[k] < block->low[k] ? low[k] : block->low[k];
        block->high[k] = i == 0 || high[k] > block->high[k] ? high[k] : block->high[k];
    }
}

bool block_build(struct block *block, const struct part *parts, unsigned count, bool sequence, unsigned phase,
                 struct defects defects, struct rng *rng)
{
    *block = (struct block){.part_count = count, .phase = phase, .phased = sequence};
    for (unsigned i = 0; i < count; i++)
        if (!parts[i].shape.corner)
            return false;
    for (unsigned i = 0; i < count; i++) {
        if (sequence && i > 0) {
            /* The next pair starts at align16(end + 12), counted from the start of the data section. */
            for (int k = 0; k < 3; k++)
                put_u32be(&block->bytes, (uint32_t)rng_u64(rng));
            pad_to(&block->bytes, 16, phase);
        }
        append_indices(block, i, &parts[i].shape);
        pad_to(&block->bytes, 4, 0);
        if (sequence)
            append_vertices(block, i, &parts[i], &defects, rng);
    }
    for (unsigned i = 0; !sequence && i < count; i++)
        append_vertices(block, i, &parts[i], &defects, rng);
    return !block->bytes.failed;
}

bool block_add_orphans(struct block *block, const struct layout *layout, uint32_t count, struct rng *rng)
{
    struct shape stray = shape_make(rng, SHAPE_SPHERE, false, count * 2, rng_float(rng, 2, 50));
    if (!stray.corner)
        return false;
    count = count < stray.vertex_count ? count : stray.vertex_count;
    uint8_t *out = buffer_extend(&block->bytes, (size_t)count * layout->stride);
    for (uint32_t v = 0; out && v < count; v++)
        store_vertex(out + (size_t)v * layout->stride, &stray, v, layout, 1, rng);
    shape_free(&stray);
    return out != NULL;
}
