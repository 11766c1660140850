/* anchor_evidence.c - see anchor_evidence.h */
#include "anchor_evidence.h"

#include <math.h>
#include <string.h>

#include "anchor_words.h"
#include "reader.h"
#include "xbg7.h"
#include "xbg7_mesh.h"

#define FACES_SAMPLED 160u
/* Exponents (biased) of coordinates a modeller may store: above 2^-64 and below 2^27. Words of indices read
 * as floats are below. */
#define EXPONENT_LOW  63u
#define EXPONENT_HIGH 154u
/* Vertex counts up to which a word below them is small. */
#define LIST_LIMIT 8192u
/* Vertices from which on the edges of a real mesh are short beside its size; a box's are not. */
#define COHERENT_MIN 128u

/* ---- forms and layouts
 * ------------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static uint64_t vertex_bytes(const struct xbg7_marker *marker)
{
    return (uint64_t)marker->vertex_count * marker->stride;
}

static uint64_t index_bytes(const struct xbg7_marker *marker)
{
    return align_up(2 * (uint64_t)marker->index_count, 4);
}

/* Whether the fetch words of all markers tell one story: sizes that are right and buffers that follow each
 * other, behind the indices. Anything else is taken as other data. */
static bool words_agree(const struct anchor_form *form)
{
    for (uint32_t i = 0; i < form->count; i++) {
        const struct xbg7_marker *marker = &form->markers[i];
        if ((marker->fetch0 & 3) != 3 || vertex_bytes(marker) > 0x0FFFFFFC ||
            marker->fetch1 != (0x10000000u | ((uint32_t)vertex_bytes(marker) + 2)))
            return false;
        uint64_t expected = i ? (form->markers[i - 1].fetch0 & ~3u) + vertex_bytes(marker - 1) : 0;
        if (i ? (marker->fetch0 & ~3u) != expected : (marker->fetch0 & ~3u) < form->index_pool)
            return false;
    }
    return true;
}

struct anchor_form anchor_form_make(const struct xbg7_marker *markers, uint32_t count)
{
    struct anchor_form form = {.count = count, .markers = markers};
    for (uint32_t i = 0; i < count; i++) {
        if (markers[i].index_count > markers[form.pivot].index_count)
            form.pivot = i;
        form.index_pool += index_bytes(&markers[i]);
        const struct vertex_element *normal = xbg7_find_element(&markers[i], MESH_NORMAL);
        form.normals |= normal && xbg7_components(normal->format, MESH_NORMAL) == 3;
    }
    form.stated = words_agree(&form);
    form.stated_vertex = form.stated ? markers[0].fetch0 & ~3u : 0;
    return form;
}

bool anchor_form_equal(const struct anchor_form *a, const struct anchor_form *b)
{
    if (a->count != b->count || a->stated != b->stated || a->stated_vertex != b->stated_vertex)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct xbg7_marker *x = &a->markers[i], *y = &b->markers[i];
        if (x->vertex_count != y->vertex_count || x->index_count != y->index_count ||
            x->stride != y->stride || x->element_count != y->element_count)
            return false;
        for (uint32_t e = 0; e < x->element_count; e++) {
            const struct vertex_element *p = &x->elements[e], *q = &y->elements[e];
            if (p->offset != q->offset || p->usage != q->usage || p->usage_index != q->usage_index ||
                p->format != q->format)
                return false;
        }
    }
    return true;
}

bool anchor_form_has_layout(const struct anchor_form *form, enum anchor_layout layout)
{
    bool gap = form->stated && form->stated_vertex != form->index_pool;
    switch (layout) {
    case ANCHOR_GROUPED: /* a single buffer's words have nothing to agree with: any word may look like an
                            offset */
        return !gap || form->count == 1;
    case ANCHOR_SEQUENCE: /* words that agree say grouped */
        return form->count > 1 && !form->stated;
    case ANCHOR_STATED:
        return gap;
    }
    return false;
}

static uint64_t place_grouped(const struct anchor_form *form, uint64_t gap_end, uint64_t start,
                              struct buffer_place *places)
{
    uint64_t index = start, vertex = start + gap_end;
    for (uint32_t i = 0; i < form->count; i++) {
        places[i].index_offset = index;
        places[i].vertex_offset = vertex;
        index += index_bytes(&form->markers[i]);
        vertex += vertex_bytes(&form->markers[i]);
    }
    return vertex;
}

static uint64_t place_sequence(const struct anchor_form *form, uint64_t start, struct buffer_place *places)
{
    uint64_t at = start;
    for (uint32_t i = 0; i < form->count; i++) {
        places[i].index_offset = i ? align_up(at + 12, 16) : at;
        places[i].vertex_offset = places[i].index_offset + index_bytes(&form->markers[i]);
        at = places[i].vertex_offset + vertex_bytes(&form->markers[i]);
    }
    return at;
}

uint64_t anchor_place(const struct anchor_form *form, enum anchor_layout layout, uint64_t start,
                      uint64_t size, struct buffer_place *places)
{
    for (uint32_t i = 0; i < form->count; i++)
        places[i] = (struct buffer_place){.index_count = form->markers[i].index_count,
                                          .vertex_count = form->markers[i].vertex_count,
                                          .stride = form->markers[i].stride};
    uint64_t end = layout == ANCHOR_SEQUENCE
                       ? place_sequence(form, start, places)
                       : place_grouped(form, layout == ANCHOR_STATED ? form->stated_vertex : form->index_pool,
                                       start, places);
    return end <= size ? end : 0;
}

/* ---- one buffer
 * -------------------------------------------------------------------------------------------- */

/* A buffer pair and how its vertices are read. */
struct view {
    const struct anchor_map *map;
    const struct buffer_place *place;
    const uint8_t *indices, *vertices;
    const struct vertex_element *position, *normal; /* normal: NULL without one that can be read */
    bool mapped;                                    /* its normals are what the map has bits of */
};

static struct view view_of(const struct anchor_map *map, const struct xbg7_marker *marker,
                           const struct buffer_place *place)
{
    struct view view = {.map = map, .place = place};
    view.indices = map->data + place->index_offset;
    view.vertices = map->data + place->vertex_offset;
    view.position = xbg7_find_element(marker, MESH_POSITION);
    view.normal = xbg7_find_element(marker, MESH_NORMAL);
    if (view.normal && xbg7_components(view.normal->format, MESH_NORMAL) != 3)
        view.normal = NULL;
    view.mapped = view.normal && (view.normal->format & 63) == XBG7_F16X4 && view.normal->offset % 4 == 0 &&
                  place->stride % 4 == 0;
    return view;
}

/* Whether the slot of that number, which may be -1 or vertex_count, holds a normal of unit length. */
static bool slot_is_unit(const struct view *view, int64_t slot)
{
    int64_t at = (int64_t)view->place->vertex_offset + slot * view->place->stride + view->normal->offset;
    if (at < 0)
        return false;
    if (view->mapped)
        return anchor_is_unit(view->map, (uint64_t)at);
    if ((uint64_t)at + xbg7_format_size(view->normal->format) > view->map->size)
        return false;
    float n[3];
    xbg7_element(view->normal->format, MESH_NORMAL, view->map->data + at, 3, n);
    float length = (n[0] * n[0] + n[1] * n[1]) + n[2] * n[2];
    return length >= 0.9216f && length <= 1.0816f;
}

/* A coordinate in the usual range, or zero. */
static inline bool is_usual(uint32_t bits)
{
    return (bits >> 23 & 255) - EXPONENT_LOW <= EXPONENT_HIGH - EXPONENT_LOW || bits << 1 == 0;
}

static inline bool position_is_nonsense(const uint8_t *at)
{
    uint32_t x = load_u32be(at), y = load_u32be(at + 4), z = load_u32be(at + 8);
    if (is_usual(x) && is_usual(y) && is_usual(z))
        return false;
    unsigned tiny = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t bits = i == 0 ? x : i == 1 ? y : z, exponent = bits >> 23 & 255;
        if (exponent > EXPONENT_HIGH || (exponent == 0 && bits << 1 != 0))
            return true;
        tiny += exponent && exponent < EXPONENT_LOW;
    }
    return tiny >= 2; /* one alone is a rounding error, such as a cosine of a right angle */
}

/* Whether a coordinate is below 2^-111 and no zero. A product of two rounding errors is above; two words of
 * indices up to 2047, read as one float, are below. */
static bool has_index_words(const uint8_t *at)
{
    for (int i = 0; i < 3; i++) {
        uint32_t bits = load_u32be(at + 4 * i);
        if ((bits >> 23 & 255) < 16 && bits << 1 != 0)
            return true;
    }
    return false;
}

static const uint8_t *position_at(const struct view *view, uint32_t vertex)
{
    return view->vertices + (size_t)vertex * view->place->stride + view->position->offset;
}

static uint32_t index_at(const struct view *view, uint32_t i)
{
    return load_u16be(view->indices + 2 * (size_t)i);
}

/* Whether a run of unit normals ends in front of the first buffer and behind the last one; inner ones abut by
 * construction. */
static void measure_ends(const struct view *first, const struct view *last, struct anchor_evidence *out)
{
    if (first->normal)
        out->run_start = slot_is_unit(first, -1) ? -1 : 1;
    if (last->normal)
        out->run_end = slot_is_unit(last, last->place->vertex_count) ? -1 : 1;
}

/* The vertex that look number i of so many falls on: the first, the last, those between evenly. */
static uint32_t spread(uint32_t i, uint32_t looks, uint32_t count)
{
    return (uint32_t)((uint64_t)i * (count - 1) / (looks - 1));
}

/* Of so many normals looked at, how many a buffer must have of unit length whatever else speaks for it. */
static uint32_t enough_units(uint32_t looks)
{
    return (looks + 3) / 4;
}

/* A glance at one buffer. Real buffers hold no nonsense; a block that is one slot off holds one of it. */
static bool glance_at(const struct view *view, bool strict)
{
    uint32_t count = view->place->vertex_count, looks = count < ANCHOR_GLANCES ? count : ANCHOR_GLANCES;
    uint32_t nonsense = 0, unit = 0;
    uint32_t odd_allowed = !view->normal ? looks : strict ? looks / 8 : looks - enough_units(looks);
    /* Normals first: of most the map tells. */
    for (uint32_t i = 0; view->normal && i < looks; i++) {
        unit += slot_is_unit(view, spread(i, looks, count));
        if (i + 1 - unit > odd_allowed)
            return false;
    }
    for (uint32_t i = 0; i < looks; i++) {
        nonsense += position_is_nonsense(position_at(view, spread(i, looks, count)));
        if (nonsense > (strict ? 0 : 1))
            return false;
    }
    return true;
}

struct anchor_probe anchor_probe_make(const struct xbg7_marker *marker)
{
    uint32_t count = marker->vertex_count;
    struct anchor_probe probe = {.bytes = vertex_bytes(marker)};
    const struct vertex_element *position = xbg7_find_element(marker, MESH_POSITION);
    const struct vertex_element *normal = xbg7_find_element(marker, MESH_NORMAL);
    probe.looks = count < ANCHOR_GLANCES ? count : ANCHOR_GLANCES;
    for (uint32_t i = 0; i < probe.looks; i++)
        probe.position[i] = spread(i, probe.looks, count) * marker->stride + position->offset;
    if (!normal || (normal->format & 63) != XBG7_F16X4 || normal->offset % 4 != 0 || marker->stride % 4 != 0)
        return probe;
    probe.enough = enough_units(probe.looks);
    for (uint32_t i = 0; i < probe.looks; i++)
        probe.normal[i] = spread(i, probe.looks, count) * marker->stride + normal->offset;
    probe.probes = count < ANCHOR_PROBES ? count : ANCHOR_PROBES;
    for (uint32_t i = 0; i < probe.probes; i++)
        probe.probe[i] = spread(i, probe.probes, count) * marker->stride + normal->offset;
    return probe;
}

/* At which of 64 places one of the probed normals is unit. */
static uint64_t some_normal(const struct anchor_probe *probe, const struct anchor_map *map,
                            uint64_t vertex_offset)
{
    uint64_t some = 0;
    for (uint32_t i = 0; i < probe->probes; i++)
        some |= anchor_unit_bits(map, (int64_t)((vertex_offset + probe->probe[i]) / 4));
    return some;
}

/* At which of 64 places enough normals are unit: 64 counters, of three binary digits each. */
static uint64_t enough_normals(const struct anchor_probe *probe, const struct anchor_map *map,
                               uint64_t vertex_offset)
{
    uint64_t ones = 0, twos = 0, fours = 0;
    for (uint32_t i = 0; i < probe->looks; i++) {
        uint64_t unit = anchor_unit_bits(map, (int64_t)((vertex_offset + probe->normal[i]) / 4));
        uint64_t carry = ones & unit;
        ones ^= unit;
        fours |= twos & carry;
        twos ^= carry;
    }
    switch (probe->enough) {
    case 1:
        return ones | twos | fours;
    case 2:
        return twos | fours;
    case 3:
        return (ones & twos) | fours;
    default:
        return fours;
    }
}

/* Whether the first position is no nonsense, and of the others looked at one at most. */
static bool positions_make_sense(const struct anchor_probe *probe, const uint8_t *vertices)
{
    uint32_t nonsense = 0;
    if (position_is_nonsense(vertices + probe->position[0]))
        return false;
    for (uint32_t i = 1; i < probe->looks && nonsense < 2; i++)
        nonsense += position_is_nonsense(vertices + probe->position[i]);
    return nonsense < 2;
}

uint64_t anchor_probe_test(const struct anchor_probe *probe, const struct anchor_map *map,
                           uint64_t vertex_offset, uint64_t asked)
{
    if (vertex_offset > map->size || probe->bytes > map->size - vertex_offset)
        return 0;
    uint64_t room = (map->size - vertex_offset - probe->bytes) / 4 + 1;
    uint64_t mask = room < 64 ? asked & ((UINT64_C(1) << room) - 1) : asked;
    if (probe->probes)
        mask &= some_normal(probe, map, vertex_offset);
    if (probe->probes && mask)
        mask &= enough_normals(probe, map, vertex_offset);
    for (uint64_t left = mask; left; left &= left - 1)
        if (!positions_make_sense(probe, map->data + vertex_offset + 4 * (uint64_t)__builtin_ctzll(left)))
            mask &= ~(left & -left);
    return mask;
}

/* Whether at least three of the sixteen slots at an end of a block hold unit normals: a block several slots
 * off has other bytes at one of them. */
static bool end_holds(const struct view *view, bool at_end)
{
    uint32_t count = view->place->vertex_count, looks = count < 16 ? count : 16, unit = 0;
    for (uint32_t i = 0; view->normal && i < looks; i++)
        unit += slot_is_unit(view, at_end ? count - 1 - i : i);
    return !view->normal || unit >= 3 || unit == looks;
}

bool anchor_glance(const struct anchor_map *map, const struct anchor_form *form,
                   const struct buffer_place *places, bool strict)
{
    for (uint32_t i = 0; i < form->count; i++) {
        struct view view = view_of(map, &form->markers[i], &places[i]);
        if (!glance_at(&view, strict))
            return false;
    }
    struct anchor_evidence ends = {0};
    struct view first = view_of(map, &form->markers[0], &places[0]);
    struct view last = view_of(map, &form->markers[form->count - 1], &places[form->count - 1]);
    if (!strict)
        return end_holds(&first, false) && end_holds(&last, true);
    measure_ends(&first, &last, &ends);
    return ends.run_start >= 0 || ends.run_end >= 0;
}

/* Triangles that use an index twice. Equal words are equal whatever their byte order. */
static uint32_t count_degenerate(const struct view *view)
{
    uint32_t degenerate = 0;
    const uint8_t *at = view->indices;
    for (uint32_t i = 0; i < view->place->index_count; i += 3, at += 6) {
        uint16_t a, b, c;
        memcpy(&a, at, 2);
        memcpy(&b, at + 2, 2);
        memcpy(&c, at + 4, 2);
        degenerate += (a == b) | (b == c) | (a == c);
    }
    return degenerate;
}

/* Marks the indices that are used, and counts them; false at the first out of range. */
static bool measure_use(const struct view *view, struct anchor_scratch *scratch, struct anchor_use *use,
                        uint64_t *bad)
{
    uint32_t count = view->place->index_count, limit = view->place->vertex_count;
    uint64_t first = view->place->index_offset / 2;
    uint64_t large = anchor_first_large(anchor_section_words(view->map), first, first + count, limit);
    if (large < first + count) {
        *bad = 2 * large;
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        scratch->used[index_at(view, i)] = 1;
    use->distinct = 0;
    for (uint32_t v = 0; v < limit; v++)
        use->distinct += scratch->used[v];
    use->exact = scratch->used[limit - 1];
    memset(scratch->used, 0, limit);
    return true;
}

static void measure_indices(const struct view *view, struct anchor_use use, struct anchor_evidence *out)
{
    out->short_of_top += !use.exact;
    out->unreferenced += view->place->vertex_count - use.distinct;
    out->degenerate += count_degenerate(view);
    out->triangles += view->place->index_count / 3;
    out->vertices += view->place->vertex_count;
}

/* Whether the list begins elsewhere: the two words in front of the first index buffer may be indices too, or
 * its own first two are the padding in front of a list. Padding is zero; vertices have words that are larger
 * than most vertex counts, and where they are not nothing can be said. */
static bool begins_elsewhere(const struct view *view)
{
    uint32_t limit = view->place->vertex_count;
    if (load_u32be(view->indices) == 0)
        return true;
    if (limit > LIST_LIMIT || view->place->index_offset < 4)
        return false;
    uint32_t first = load_u16be(view->indices - 4), second = load_u16be(view->indices - 2);
    return first < limit && second < limit && (first || second);
}

struct box {
    float low[3], high[3], radius2;
    bool any;
};

static void measure_positions(const struct view *view, struct box *box, struct anchor_evidence *out)
{
    struct box sum = *box; /* by itself, so that it stays in registers */
    uint32_t count = view->place->vertex_count, stride = view->place->stride, nonsense = 0;
    const uint8_t *at = position_at(view, 0);
    for (uint32_t v = 0; v < count; v++, at += stride) {
        /* A block that is a few bytes off has the end of the indices in its first vertex. */
        if (position_is_nonsense(at) || (v == 0 && has_index_words(at))) {
            nonsense++;
            continue;
        }
        float p[3] = {load_f32be(at), load_f32be(at + 4), load_f32be(at + 8)};
        float radius2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
        sum.any = true;
        sum.radius2 = radius2 > sum.radius2 ? radius2 : sum.radius2;
        for (int k = 0; k < 3; k++) { /* what makes sense is finite */
            sum.low[k] = p[k] < sum.low[k] ? p[k] : sum.low[k];
            sum.high[k] = p[k] > sum.high[k] ? p[k] : sum.high[k];
        }
    }
    out->nonsense += nonsense;
    *box = sum;
}

static void measure_normals(const struct view *view, struct anchor_evidence *out)
{
    if (!view->normal)
        return;
    uint32_t unit = 0, count = view->place->vertex_count;
    if (view->mapped) { /* all of them are in the section, and so in the map */
        uint64_t place = (view->place->vertex_offset + view->normal->offset) / 4;
        for (uint32_t v = 0; v < count; v++, place += view->place->stride / 4)
            unit += view->map->unit[place / 16] >> place % 16 & 1;
    } else {
        for (uint32_t v = 0; v < count; v++)
            unit += slot_is_unit(view, v);
    }
    out->normals += count;
    out->unit += unit;
}

static void subtract(const float a[3], const float b[3], float out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

static float length_of(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void read_position(const struct view *view, uint32_t vertex, float out[3])
{
    const uint8_t *at = position_at(view, vertex);
    for (int i = 0; i < 3; i++)
        out[i] = load_f32be(at + 4 * i);
}

static void read_normal(const struct view *view, uint32_t vertex, float out[3])
{
    uint32_t format = view->normal->format;
    const uint8_t *at = view->vertices + (size_t)vertex * view->place->stride + view->normal->offset;
    if ((format & 63) != XBG7_F16X4) {
        xbg7_element(format, MESH_NORMAL, at, 3, out);
        return;
    }
    for (size_t i = 0; i < 3; i++) /* nearly all are these */
        out[i] = anchor_half(load_u16be(at + 2 * i));
}

/* Which side of the triangle its stored normals are on: 1, -1, or 0 when that cannot be said. */
static int normal_side(const struct view *view, const uint32_t corner[3], const float e1[3],
                       const float e2[3])
{
    float face[3] = {e1[1] * e2[2] - e1[2] * e2[1], e1[2] * e2[0] - e1[0] * e2[2],
                     e1[0] * e2[1] - e1[1] * e2[0]};
    float dot = 0;
    for (int k = 0; k < 3; k++) {
        float n[3];
        read_normal(view, corner[k], n);
        dot += face[0] * n[0] + face[1] * n[1] + face[2] * n[2];
    }
    return dot > 0 ? 1 : dot < 0 ? -1 : 0;
}

/* Sums over sampled triangles: edges, as far apart as chance would have two vertices, and sides. */
struct faces {
    double edges, random;
    uint32_t sampled;
};

/* Edges as a part of what chance would have: 1 where nothing can be said. */
static float coherence_of(const struct faces *faces)
{
    return faces->random > 0 ? (float)(faces->edges / faces->random) : 1.0f;
}

static void measure_faces(const struct view *view, struct faces *faces, struct anchor_evidence *out)
{
    uint32_t triangles = view->place->index_count / 3;
    uint32_t looks = triangles < FACES_SAMPLED ? triangles : FACES_SAMPLED;
    uint32_t seed = 1;
    for (uint32_t i = 0; i < looks; i++) {
        uint32_t first = 3 * (uint32_t)((uint64_t)i * triangles / looks);
        uint32_t corner[3] = {index_at(view, first), index_at(view, first + 1), index_at(view, first + 2)};
        float a[3], b[3], c[3], other[3], e1[3], e2[3], far[3];
        seed = seed * 1664525u + 1013904223u;
        read_position(view, corner[0], a);
        read_position(view, corner[1], b);
        read_position(view, corner[2], c);
        read_position(view, (uint32_t)((uint64_t)seed * view->place->vertex_count >> 32), other);
        subtract(b, a, e1);
        subtract(c, a, e2);
        subtract(other, a, far);
        float edge = length_of(e1), distance = length_of(far);
        if (isfinite(edge) && isfinite(distance)) {
            faces->edges += edge;
            faces->random += distance;
            faces->sampled++;
        }
        int side = view->normal ? normal_side(view, corner, e1, e2) : 0;
        out->faces += side != 0;
        out->agreeing += side > 0;
    }
}

/* Whether the descriptor's words say this layout. */
static bool is_stated(const struct anchor_form *form, enum anchor_layout layout)
{
    return form->stated && (layout == ANCHOR_STATED) == (form->stated_vertex != form->index_pool);
}

bool anchor_measure(const struct anchor_map *map, const struct anchor_form *form, enum anchor_layout layout,
                    const struct buffer_place *places, const struct anchor_use *known,
                    struct anchor_scratch *scratch, struct anchor_evidence *out, uint64_t *bad)
{
    *out = (struct anchor_evidence){.layout = (uint8_t)layout, .stated = is_stated(form, layout)};
    struct box box = {.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    struct faces faces = {0};
    for (uint32_t i = 0; i < form->count; i++) {
        struct view view = view_of(map, &form->markers[i], &places[i]);
        struct anchor_use use;
        if (known && i == form->pivot)
            use = *known;
        else if (!measure_use(&view, scratch, &use, bad))
            return false;
        measure_indices(&view, use, out);
    }
    for (uint32_t i = 0; i < form->count; i++) {
        struct view view = view_of(map, &form->markers[i], &places[i]);
        measure_positions(&view, &box, out);
        measure_normals(&view, out);
        measure_faces(&view, &faces, out);
    }
    struct view first = view_of(map, &form->markers[0], &places[0]);
    struct view last = view_of(map, &form->markers[form->count - 1], &places[form->count - 1]);
    measure_ends(&first, &last, out);
    out->index_start = begins_elsewhere(&first) ? -1 : 1;
    out->coherence = coherence_of(&faces);
    for (int k = 0; k < 3; k++)
        out->extent[k] = box.any ? box.high[k] - box.low[k] : 0;
    out->radius = sqrtf(box.radius2);
    return true;
}

/* ---- weights
 * ----------------------------------------------------------------------------------------------- */

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

bool anchor_is_whole_run(const struct anchor_evidence *e)
{
    return e->normals >= 12 && e->unit == e->normals && e->run_start > 0 && e->run_end > 0 &&
           e->index_start > 0 && e->vertices <= LIST_LIMIT;
}

static bool is_perfect(const struct anchor_evidence *e)
{
    return !e->short_of_top && !e->unreferenced;
}

bool anchor_makes_sense(const struct anchor_evidence *e)
{
    bool normals = !e->normals || (4 * e->unit >= e->normals && e->run_start + e->run_end >= 0);
    bool joined =
        e->vertices < COHERENT_MIN || e->coherence < (e->vertices < 8 * COHERENT_MIN ? 1.5f : 0.85f);
    /* A strip made into a list has many degenerate triangles; a whole run of normals says that it is one. */
    bool whole = anchor_is_whole_run(e);
    bool solid = 4 * e->degenerate <= (is_perfect(e) && whole ? 3 : 1) * e->triangles;
    return (is_perfect(e) || whole) && !e->nonsense && solid &&
           e->extent[0] + e->extent[1] + e->extent[2] > 0 && normals && joined;
}

bool anchor_is_sound(const struct anchor_evidence *e)
{
    return anchor_makes_sense(e) && is_perfect(e) && e->index_start > 0;
}

/* The share of triangles whose normals are on one side, whichever it is. */
static double one_sided(const struct anchor_evidence *e)
{
    double side = e->faces ? (double)e->agreeing / e->faces : 1;
    return side < 0.5 ? 1 - side : side;
}

static double index_score(const struct anchor_evidence *e)
{
    double score = e->short_of_top ? -3.0 : 5.0;
    double missing = (double)e->unreferenced / e->vertices;
    score += missing > 0 ? -2.0 - 30.0 * missing : 5.0;
    /* A window that is not perfect may be a stretch of another's list, and one behind a longer list is its
     * tail: only a whole run of normals speaks for them, and nothing when it is both. */
    bool whole_run = e->normals && e->unit == e->normals && e->run_start > 0 && e->run_end > 0;
    bool tail = e->index_start < 0 &&
                (!is_perfect(e) || (e->degenerate && !whole_run) || (e->faces >= 16 && one_sided(e) < 0.8));
    score -= tail ? 40 : e->index_start < 0 ? 4 : 0;
    score -= (e->short_of_top || missing > 0) && e->normals && !whole_run ? 15 : 0;
    score += clamp(0.3 * e->triangles, 0, 16);
    return score;
}

static double normal_score(const struct anchor_evidence *e)
{
    if (!e->normals)
        return 0;
    double odd = 1.0 - (double)e->unit / e->normals;
    double score = clamp(0.6 * e->normals, 0, 16) * (1 - odd) - 30.0 * odd;
    score += e->run_start > 0 ? 2 : e->run_start < 0 ? -2 : 0;
    score += e->run_end > 0 ? 2 : e->run_end < 0 ? -2 : 0;
    return score + clamp(e->faces / 16.0, 0, 1) * 12.0 * (one_sided(e) - 0.5);
}

static double position_score(const struct anchor_evidence *e)
{
    double extent = (double)e->extent[0] + e->extent[1] + e->extent[2];
    double score = -15.0 * clamp(e->nonsense, 0, 3) - 40.0 * e->degenerate / e->triangles;
    if (!(extent > 0))
        score -= 20;
    if (e->vertices >= COHERENT_MIN)
        score += clamp(10.0 * (0.8 - (double)e->coherence), -6, 6);
    return score;
}

/* A list that begins there, and vertices that begin where it ends: only where real blocks begin are there
 * such places, one in some thousands, and those of known blocks are another's. Normals say where vertices
 * begin as well, whatever words lie in front of the list. */
#define BOUNDARY 5.0

/* What a sound block of those counts is worth: the scores above for a usual one. */
static double sound_score(const struct anchor_evidence *e)
{
    double score = e->vertices >= COHERENT_MIN ? 4.0 : 0;
    if (e->normals)
        score += clamp(0.6 * e->normals, 0, 16) + 4.0 + 4.0 * clamp(e->triangles / 16.0, 0, 1);
    return score;
}

double anchor_quality(const struct anchor_evidence *e)
{
    double odd = -clamp(2.0 * log2(1.0 + e->degenerate), 0, 12);
    odd -= is_perfect(e) || anchor_is_whole_run(e) ? 0 : 6;
    odd -= e->index_start < 0 ? 6 : 0;
    return normal_score(e) + position_score(e) - sound_score(e) + odd;
}

double anchor_score(const struct anchor_evidence *e, double places, bool claimed)
{
    bool sound = anchor_is_sound(e);
    double score = index_score(e) - log(places + 1) + (e->stated ? 1 : 0);
    score += sound ? sound_score(e) : normal_score(e) + position_score(e);
    score += !claimed && (sound || (e->normals && anchor_makes_sense(e))) ? BOUNDARY : 0;
    return score + (double)e->size_odds + (double)e->locality;
}

double anchor_score_most(const struct anchor_map *map, const struct anchor_form *form,
                         enum anchor_layout layout, const struct buffer_place *place, struct anchor_use use,
                         bool look, double places)
{
    struct view view = view_of(map, &form->markers[0], place);
    struct anchor_evidence best = {.layout = (uint8_t)layout, .stated = is_stated(form, layout)};
    best.vertices = place->vertex_count;
    best.triangles = place->index_count / 3;
    best.unreferenced = best.vertices - use.distinct;
    best.short_of_top = !use.exact;
    best.index_start = begins_elsewhere(&view) ? -1 : 1;
    best.extent[0] = 1;
    /* A sound place that turns out not to be makes no sense: it lacks BOUNDARY then, and what else it may be
     * worth more, six for coherence and six for winding instead of four and four, is less than that. */
    if (look) {
        struct faces faces = {0};
        measure_normals(&view, &best);
        measure_faces(&view, &faces, &best);
        measure_ends(&view, &view, &best);
        best.coherence = coherence_of(&faces);
        return anchor_score(&best, places, false);
    }
    best.normals = best.unit = view.normal ? best.vertices : 0;
    best.run_start = best.run_end = 1;
    if (is_perfect(&best) && best.index_start > 0)
        return anchor_score(&best, places, false);
    /* All that winding and coherence may give, and a little for sums in another order. */
    double most = normal_score(&best) + 6 + 6 + BOUNDARY + 1e-6;
    return index_score(&best) - log(places + 1) + (best.stated ? 1 : 0) + most;
}

bool anchor_is_exact(const struct anchor_evidence *e)
{
    return !e->short_of_top && !e->unreferenced && !e->nonsense && e->vertices >= 12 && e->triangles >= 8 &&
           e->normals == e->vertices && e->unit == e->normals && e->run_start > 0 && e->run_end > 0 &&
           e->size_match >= 0;
}
