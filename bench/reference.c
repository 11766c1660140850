/* reference.c - see reference.h */
#include "bench/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_scan.h"
#include "formats/buffer.h"
#include "formats/reader.h"
#include "formats/xbg7.h"
#include "formats/xbg7_mesh.h"

#define WORDS 65536u
/* Squares of 0.96 and 1.04. */
#define UNIT_LOW  0.9216f
#define UNIT_HIGH 1.0816f
/* What a block needs to validate. The log gives only the last: "all in range, nearly all referenced,
 * non-degenerate, with real extent", and winding agreement of 0.85 where padding or a group asks for it. */
#define REFERENCED_MIN 0.9
#define DEGENERATE_MAX 0.1
#define EXTENT_MIN     1e-3f
#define EXTENT_MAX     1e7f
#define AGREEMENT_MIN  0.85

/* ---- the scan ------------------------------------------------------------------------------------------ */

/* square[w]: the square of the f16 whose bits are w. */
static float *square_table(void)
{
    float *square = malloc(WORDS * sizeof *square);
    for (uint32_t word = 0; square && word < WORDS; word++) {
        float value = anchor_half((uint16_t)word);
        square[word] = value * value;
    }
    return square;
}

static bool is_unit(const float *square, const uint8_t *at)
{
    float length = square[load_u16be(at)] + square[load_u16be(at + 2)] + square[load_u16be(at + 4)];
    return length >= UNIT_LOW && length <= UNIT_HIGH;
}

bool reference_scan(const uint8_t *data, size_t size, uint32_t stride, enum reference_rule rule,
                    struct reference_starts *starts)
{
    struct buffer found = {0};
    float *square = square_table();
    size_t ahead = rule == REFERENCE_FAVOURED ? stride : 0;
    for (size_t at = 0; square && at + ahead + 6 <= size; at += 4) {
        if (!is_unit(square, data + at) || (at >= stride && is_unit(square, data + at - stride)) ||
            !is_unit(square, data + at + ahead))
            continue;
        uint32_t start = (uint32_t)at;
        buffer_append(&found, &start, sizeof start);
    }
    bool ok = square && !found.failed;
    free(square);
    if (!ok)
        buffer_free(&found);
    *starts = (struct reference_starts){(uint32_t *)(void *)found.data, found.size / sizeof *starts->list};
    return ok;
}

/* ---- validation ---------------------------------------------------------------------------------------- */

struct search {
    const uint8_t *data;
    size_t size;
    enum reference_rule rule;
    uint32_t mark;        /* of the block being validated */
    uint32_t used[WORDS]; /* the mark of the last block that named the index */
};

/* How many distinct vertices the indices name; 0 when one is out of range. */
static uint32_t referenced(struct search *s, const struct buffer_place *place)
{
    const uint8_t *indices = s->data + place->index_offset;
    uint32_t distinct = 0, mark = ++s->mark;
    for (uint32_t i = 0; i < place->index_count; i++) {
        uint32_t index = load_u16be(indices + 2 * (size_t)i);
        if (index >= place->vertex_count)
            return 0;
        distinct += s->used[index] != mark;
        s->used[index] = mark;
    }
    return distinct;
}

struct vector {
    float x, y, z;
};

static struct vector minus(struct vector a, struct vector b)
{
    return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static float dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector position_at(const uint8_t *at)
{
    return (struct vector){load_f32be(at), load_f32be(at + 4), load_f32be(at + 8)};
}

static struct vector normal_at(const uint8_t *at)
{
    return (struct vector){anchor_half(load_u16be(at)), anchor_half(load_u16be(at + 2)),
                           anchor_half(load_u16be(at + 4))};
}

static bool has_extent(const uint8_t *vertices, const struct buffer_place *place)
{
    struct vector low = position_at(vertices), high = low;
    for (uint32_t v = 0; v < place->vertex_count; v++) {
        struct vector p = position_at(vertices + (size_t)v * place->stride);
        if (!isfinite(p.x) || !isfinite(p.y) || !isfinite(p.z))
            return false;
        low = (struct vector){fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z)};
        high = (struct vector){fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z)};
    }
    struct vector span = minus(high, low);
    float largest = fmaxf(span.x, fmaxf(span.y, span.z));
    return largest >= EXTENT_MIN && largest <= EXTENT_MAX;
}

/* Shares of the triangles. */
struct quality {
    double degenerate, agreement;
};

static struct quality quality_of(const struct search *s, const struct buffer_place *place, size_t position,
                                 size_t normal)
{
    uint32_t triangles = place->index_count / 3, flat = 0, agree = 0;
    const uint8_t *indices = s->data + place->index_offset, *vertices = s->data + place->vertex_offset;
    for (uint32_t t = 0; t < triangles; t++) {
        struct vector p[3], n[3];
        for (int c = 0; c < 3; c++) {
            const uint8_t *vertex =
                vertices + (size_t)load_u16be(indices + 6 * (size_t)t + 2 * c) * place->stride;
            p[c] = position_at(vertex + position);
            n[c] = normal_at(vertex + normal);
        }
        struct vector face = cross(minus(p[1], p[0]), minus(p[2], p[0]));
        struct vector sum = {n[0].x + n[1].x + n[2].x, n[0].y + n[1].y + n[2].y, n[0].z + n[1].z + n[2].z};
        flat += !(dot(face, face) > 0);
        agree += dot(face, sum) > 0;
    }
    double share = triangles > flat ? (double)agree / (triangles - flat) : 0;
    return (struct quality){(double)flat / triangles, fmax(share, 1 - share)};
}

/* A part of a group whose place is derived has only its indices and its winding to validate. */
enum check { CHECK_WHOLE, CHECK_WHOLE_STRICTLY, CHECK_DERIVED };

static bool validates(struct search *s, const struct xbg7_marker *marker, const struct buffer_place *place,
                      enum check check)
{
    uint32_t distinct = referenced(s, place);
    if (!distinct || (check != CHECK_DERIVED && distinct < REFERENCED_MIN * place->vertex_count))
        return false;
    size_t position = xbg7_find_element(marker, MESH_POSITION)->offset;
    const struct vertex_element *normal = xbg7_find_element(marker, MESH_NORMAL);
    if (!has_extent(s->data + place->vertex_offset + position, place))
        return false;
    if (!normal || (normal->format & 63) != XBG7_F16X4)
        return true;
    struct quality quality = quality_of(s, place, position, normal->offset);
    return (check == CHECK_DERIVED || quality.degenerate <= DEGENERATE_MAX) &&
           (check == CHECK_WHOLE || quality.agreement >= AGREEMENT_MIN);
}

/* ---- placing ------------------------------------------------------------------------------------------- */

static uint64_t align4(uint64_t value)
{
    return (value + 3) & ~UINT64_C(3);
}

/* Fills places[] for grouped pools whose first vertex buffer lies at `first_vertex`; false when they leave
 * the section. *padded: bytes lie between the pools. */
static bool place_pools(const struct search *s, const struct resource *resource, uint64_t first_vertex,
                        struct buffer_place *places, bool *padded)
{
    uint64_t span = 0;
    for (uint32_t i = 0; i < resource->marker_count; i++)
        span = align4(span) + 2 * (uint64_t)resource->markers[i].index_count;
    if (span > first_vertex)
        return false;
    uint64_t index = (first_vertex - span) & ~UINT64_C(3), vertex = first_vertex;
    *padded = first_vertex - span != index;
    for (uint32_t i = 0; i < resource->marker_count; i++) {
        const struct xbg7_marker *marker = &resource->markers[i];
        places[i] =
            (struct buffer_place){index, vertex, marker->index_count, marker->vertex_count, marker->stride};
        index = align4(index + 2 * (uint64_t)marker->index_count);
        vertex += (uint64_t)marker->vertex_count * marker->stride;
    }
    return vertex <= s->size;
}

static uint32_t largest_marker(const struct resource *resource)
{
    uint32_t pivot = 0;
    for (uint32_t i = 1; i < resource->marker_count; i++)
        if (resource->markers[i].index_count > resource->markers[pivot].index_count)
            pivot = i;
    return pivot;
}

/* The largest part decides whether the group lies here; those in front of it need only be readable. */
static bool group_validates(struct search *s, const struct resource *resource,
                            const struct buffer_place *places)
{
    uint32_t pivot = largest_marker(resource);
    if (!validates(s, &resource->markers[pivot], &places[pivot], CHECK_WHOLE_STRICTLY))
        return false;
    for (uint32_t i = 0; i < resource->marker_count; i++)
        if (i < pivot ? !referenced(s, &places[i])
                      : i > pivot && !validates(s, &resource->markers[i], &places[i], CHECK_DERIVED))
            return false;
    return true;
}

/* The f16 normal by which a marker's vertices can be found, NULL when it has none. */
static const struct vertex_element *run_normal(const struct xbg7_marker *marker)
{
    const struct vertex_element *normal = xbg7_find_element(marker, MESH_NORMAL);
    bool mapped =
        normal && (normal->format & 63) == XBG7_F16X4 && normal->offset % 4 == 0 && marker->stride % 4 == 0;
    return mapped ? normal : NULL;
}

/* Takes the first start, in file order, whose block validates. */
static bool answer(struct search *s, const struct resource *resource, const struct reference_starts *starts,
                   struct reference_answer *out)
{
    const struct xbg7_marker *first = &resource->markers[0];
    uint32_t offset = run_normal(first)->offset;
    for (size_t i = 0; i < starts->count && !out->found; i++) {
        bool padded;
        if (starts->list[i] < offset ||
            !place_pools(s, resource, starts->list[i] - offset, out->buffers, &padded))
            continue;
        if (resource->marker_count > 1)
            out->found = group_validates(s, resource, out->buffers);
        else
            out->found = validates(s, first, out->buffers, padded ? CHECK_WHOLE_STRICTLY : CHECK_WHOLE);
    }
    return out->found;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct resource *resource)
{
    return resource->marker_count && run_normal(&resource->markers[0]);
}

/* Answers for the resources whose first marker has that stride, after one scan. */
static bool answer_stride(struct search *s, uint32_t stride, const struct resource *resources, size_t count,
                          struct reference_answer *answers)
{
    struct reference_starts starts;
    if (!reference_scan(s->data, s->size, stride, s->rule, &starts))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_asked_for(&resources[i]) && resources[i].markers[0].stride == stride)
            answer(s, &resources[i], &starts, &answers[i]);
    free(starts.list);
    return true;
}

bool reference_locate(const uint8_t *data, size_t size, uint64_t offset, const struct resource *resources,
                      size_t count, enum reference_rule rule, struct arena *arena,
                      struct reference_answer *answers)
{
    struct search *s = arena_alloc(arena, sizeof *s);
    bool ok = s != NULL;
    memset(answers, 0, count * sizeof *answers);
    for (size_t i = 0; ok && i < count; i++) {
        answers[i].buffers = arena_array(arena, resources[i].marker_count, sizeof *answers[i].buffers);
        ok = answers[i].buffers != NULL;
    }
    if (ok) {
        s->data = data;
        s->size = size;
        s->rule = rule;
    }
    for (size_t i = 0; ok && i < count; i++) {
        bool fresh = is_asked_for(&resources[i]);
        for (size_t k = 0; fresh && k < i; k++)
            fresh = !is_asked_for(&resources[k]) ||
                    resources[k].markers[0].stride != resources[i].markers[0].stride;
        ok = !fresh || answer_stride(s, resources[i].markers[0].stride, resources, count, answers);
    }
    for (size_t i = 0; ok && i < count; i++) {
        for (uint32_t m = 0; answers[i].found && m < resources[i].marker_count; m++) {
            answers[i].buffers[m].index_offset += offset;
            answers[i].buffers[m].vertex_offset += offset;
        }
        if (!answers[i].found)
            answers[i].buffers = NULL;
    }
    return ok;
}
