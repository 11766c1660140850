/* anchor_gather.c - see anchor_gather.h */
#include "anchor_gather.h"

#include <stdlib.h>
#include <string.h>

#include "anchor_words.h"
#include "reader.h"
#include "xbg7.h"
#include "xbg7_mesh.h"

/* Bytes of blocks that all measuring together may read, per byte of the section, and for any section. */
#define MEASURE_PER_BYTE 4u
#define MEASURE_FREE     ((uint64_t)64 << 20)
#define MEASURE_SHARE    8u
/* Forms whose vertices are looked for without their indices, and how many vertices such a run must have at
 * least. */
#define RUNS_MAX     8u
#define RUN_VERTICES 16u
/* With at most this share of bad indices in front of it, a run with both ends is the resource's. */
#define OUT_OF_RANGE_MAX 0.1
#define COUNT_PART       1024u

/* One form's search. */
struct hunt {
    struct anchor_gather *gather;
    struct anchor_found *found;
    struct buffer_place *places; /* [form.count] */
    uint64_t pivot_offset;       /* of the pivot's indices from a grouped block's start */
    uint64_t measure[2];         /* bytes left for this form: for exact windows, for others */
    uint64_t leads[3];           /* how far the pivot's vertices are behind its indices, by layout */
    int lead_count;
    struct anchor_probe probe; /* of the pivot */
    struct arena *arena;
    bool failed; /* memory ran out */
};

static bool walled(const struct anchor_input *in, uint64_t start, uint64_t end)
{
    size_t low = 0, high = in->wall_count;
    while (low < high) { /* the first wall that ends behind `start` */
        size_t middle = low + (high - low) / 2;
        if (in->walls[middle].end <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < in->wall_count && in->walls[low].start < end;
}

static bool is_better(const struct anchor_spot *a, const struct anchor_spot *b)
{
    return a->score != b->score ? a->score > b->score : a->start < b->start;
}

/* Keeps the best, in order. */
static void keep(struct anchor_found *found, const struct anchor_spot *spot)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->spots[i].start == spot->start && found->spots[i].layout == spot->layout)
            return;
    uint32_t at = found->count;
    while (at > 0 && is_better(spot, &found->spots[at - 1]))
        at--;
    if (found->count == ANCHOR_CANDIDATES)
        found->dropped++;
    else
        found->count++;
    if (at >= found->count)
        return;
    memmove(&found->spots[at + 1], &found->spots[at], (found->count - 1 - at) * sizeof *spot);
    found->spots[at] = *spot;
}

/* Notes a spot that cannot be among those kept, whatever would be measured of it: there may be thousands of
 * equal blocks, or hundreds of windows in a list of many more indices. False when it can be. */
static bool is_outdone(struct hunt *h, const struct anchor_use *use, const struct anchor_spot *place)
{
    struct anchor_found *found = h->found;
    if (!use || found->count < ANCHOR_CANDIDATES || found->form.count > 1)
        return false;
    struct anchor_spot spot = *place;
    for (int look = 0; look < 2; look++) {
        spot.score = anchor_score_most(h->gather->map, &found->form, spot.layout, h->places, *use, look,
                                       (double)(h->gather->in->size / 4));
        if (!is_better(&spot, &found->spots[ANCHOR_CANDIDATES - 1])) {
            keep(found, &spot);
            return true;
        }
    }
    return false;
}

/* Looks at a block of that layout and start, whose pivot has that use (NULL: not known); false when no more
 * exact windows may be measured. Other windows are passed over once their share is used up: there may be
 * thousands in a region of boxes. */
static bool try_start(struct hunt *h, enum anchor_layout layout, uint64_t start, const struct anchor_use *use,
                      bool strict)
{
    struct anchor_gather *g = h->gather;
    const struct anchor_form *form = &h->found->form;
    struct anchor_spot spot = {.start = start, .layout = layout};
    spot.end = anchor_place(form, layout, start, g->in->size, h->places);
    if (!spot.end || walled(g->in, start, spot.end) || !anchor_glance(g->map, form, h->places, strict))
        return true;
    if (spot.end - start > h->measure[strict]) {
        h->found->skipped |= strict;
        return strict;
    }
    h->measure[strict] -= spot.end - start;
    if (is_outdone(h, use, &spot))
        return true;
    uint64_t bad;
    if (!anchor_measure(g->map, form, layout, h->places, use, g->scratch, &spot.evidence, &bad))
        return true;
    spot.score = anchor_score(&spot.evidence, (double)(g->in->size / 4), false);
    if (!h->found->spots) {
        h->found->spots = arena_array(h->arena, ANCHOR_CANDIDATES, sizeof spot);
        h->failed = !h->found->spots;
    }
    if (!h->failed)
        keep(h->found, &spot);
    return !h->failed;
}

static uint64_t pair_bytes(const struct xbg7_marker *marker)
{
    return ((2 * (uint64_t)marker->index_count + 3) & ~UINT64_C(3)) +
           (uint64_t)marker->vertex_count * marker->stride;
}

/* The sequences whose pivot's indices lie at `offset`. All but the first pair begin at multiples of 16, so
 * that the way back is certain but for the first, which has four places. */
static bool try_sequence(struct hunt *h, uint64_t offset, bool strict)
{
    const struct anchor_form *form = &h->found->form;
    uint64_t at = offset;
    if (form->pivot == 0)
        return try_start(h, ANCHOR_SEQUENCE, at, NULL, strict);
    if (at % 16 != 0)
        return true;
    for (uint32_t i = form->pivot - 1; i > 0; i--) {
        uint64_t back = (pair_bytes(&form->markers[i]) + 12 + 15) & ~UINT64_C(15);
        if (back > at)
            return true;
        at -= back;
    }
    uint64_t first = pair_bytes(&form->markers[0]) + 12;
    for (uint64_t slack = 0; slack < 16; slack += 4)
        if (first + slack <= at &&
            !try_start(h, ANCHOR_SEQUENCE, (at - first - slack) & ~UINT64_C(3), NULL, strict))
            return false;
    return true;
}

/* How far a grouped pivot's vertices are behind its indices. */
static uint64_t grouped_lead(const struct anchor_form *form, enum anchor_layout layout)
{
    uint64_t lead = layout == ANCHOR_STATED ? form->stated_vertex : form->index_pool;
    for (uint32_t i = 0; i < form->pivot; i++) {
        const struct xbg7_marker *marker = &form->markers[i];
        lead += (uint64_t)marker->vertex_count * marker->stride;
        lead -= (2 * (uint64_t)marker->index_count + 3) & ~UINT64_C(3);
    }
    return lead;
}

/* Which of the 64 places from `offset` on are worth counting: those whose vertices, by any layout, pass a
 * first glance. */
static uint64_t on_places(void *context, uint64_t offset, uint64_t asked)
{
    const struct hunt *h = context;
    uint64_t mask = 0;
    for (int i = 0; i < h->lead_count; i++)
        mask |= anchor_probe_test(&h->probe, h->gather->map, offset + h->leads[i], asked & ~mask);
    return mask;
}

/* Notes the leads of all layouts that are to be tried. */
static void set_leads(struct hunt *h)
{
    const struct anchor_form *form = &h->found->form;
    if (anchor_form_has_layout(form, ANCHOR_GROUPED))
        h->leads[h->lead_count++] = grouped_lead(form, ANCHOR_GROUPED);
    if (anchor_form_has_layout(form, ANCHOR_STATED))
        h->leads[h->lead_count++] = grouped_lead(form, ANCHOR_STATED);
    if (anchor_form_has_layout(form, ANCHOR_SEQUENCE))
        h->leads[h->lead_count++] = (2 * (uint64_t)form->markers[form->pivot].index_count + 3) & ~UINT64_C(3);
}

static bool on_window(void *context, const struct anchor_window *window)
{
    struct hunt *h = context;
    const struct anchor_form *form = &h->found->form;
    bool strict = !window->exact || window->distinct < form->markers[form->pivot].vertex_count;
    struct anchor_use use = {window->distinct, window->exact};
    static const enum anchor_layout grouped[] = {ANCHOR_GROUPED, ANCHOR_STATED};
    for (int i = 0; i < 2 && window->offset >= h->pivot_offset; i++)
        if (anchor_form_has_layout(form, grouped[i]) &&
            !try_start(h, grouped[i], window->offset - h->pivot_offset, &use, strict))
            return false;
    return !anchor_form_has_layout(form, ANCHOR_SEQUENCE) || try_sequence(h, window->offset, strict);
}

/* ---- vertices by themselves
 * -------------------------------------------------------------------------------- */

/* What a run of normals that belongs to nothing readable has in front of it: indices out of range. */
static void note_bad_index(struct hunt *h, uint64_t start)
{
    const struct anchor_form *form = &h->found->form;
    anchor_place(form, ANCHOR_GROUPED, start, h->gather->in->size, h->places);
    const struct buffer_place *place = &h->places[form->pivot];
    const uint8_t *words = h->gather->in->data + place->index_offset;
    uint32_t outside = 0, limit = place->vertex_count, left = place->index_count;
    while (left) { /* in parts, so that the count in a part needs no look at the sum */
        uint32_t part = left < COUNT_PART ? left : COUNT_PART;
        left -= part;
        for (uint32_t i = left; i < left + part; i++)
            outside += load_u16be(words + 2 * (size_t)i) >= limit;
        if (outside > OUT_OF_RANGE_MAX * place->index_count)
            return;
    }
    if (!outside)
        return;
    uint64_t first = place->index_offset / 2;
    h->found->out_of_range = true;
    h->found->bad = 2 * anchor_first_large(anchor_section_words(h->gather->map), first,
                                           first + place->index_count, limit);
}

/* A run of exactly vertex_count unit normals whose first lies at `normal`. */
static bool try_run(struct hunt *h, uint64_t normal)
{
    const struct anchor_form *form = &h->found->form;
    const struct xbg7_marker *marker = &form->markers[0];
    uint64_t before = xbg7_find_element(marker, MESH_NORMAL)->offset + form->index_pool;
    if (normal < before)
        return true;
    uint64_t start = normal - before;
    uint32_t had = h->found->count;
    if (!try_start(h, ANCHOR_GROUPED, start, NULL, true))
        return false;
    uint64_t end = anchor_place(form, ANCHOR_GROUPED, start, h->gather->in->size, h->places);
    if (h->found->count == had && !h->found->out_of_range && end && !walled(h->gather->in, start, end))
        note_bad_index(h, start);
    return true;
}

/* Looks for a single buffer by its run of unit normals, both ends clean, 64 places at a time: the first and
 * the last slot unit, those around them not, and one in the middle. */
static bool find_runs(struct hunt *h)
{
    const struct anchor_map *map = h->gather->map;
    const struct xbg7_marker *marker = &h->found->form.markers[0];
    int64_t stride = marker->stride / 4, count = marker->vertex_count;
    const struct anchor_range *wall = h->gather->in->walls, *last = wall + h->gather->in->wall_count;
    for (size_t b = 0; b < map->blocks; b += 4) {
        static const uint16_t none[4] = {0};
        for (; wall < last && wall->start / ANCHOR_BLOCK <= b; wall++)
            if (wall->end / ANCHOR_BLOCK > b + 4)
                b = (size_t)(wall->end / ANCHOR_BLOCK) & ~(size_t)3;
        int64_t place = (int64_t)b * 16;
        if (b + 4 <= map->blocks && memcmp(map->unit + b, none, sizeof none) == 0)
            continue;
        uint64_t bits = anchor_unit_bits(map, place);
        if (bits)
            bits &= anchor_unit_bits(map, place + stride * (count - 1));
        if (bits)
            bits &=
                anchor_unit_bits(map, place + stride * (count / 2)) & ~anchor_unit_bits(map, place - stride);
        if (bits)
            bits &= ~anchor_unit_bits(map, place + stride * count);
        for (; bits; bits &= bits - 1) {
            uint64_t normal = 4 * ((uint64_t)place + (unsigned)__builtin_ctzll(bits));
            if (!try_run(h, normal))
                return false;
        }
    }
    return true;
}

/* Whether the form's vertices can be looked for in the map. */
static bool has_mapped_run(const struct anchor_form *form)
{
    const struct xbg7_marker *marker = &form->markers[0];
    const struct vertex_element *normal = xbg7_find_element(marker, MESH_NORMAL);
    return form->count == 1 && marker->vertex_count >= RUN_VERTICES && normal &&
           (normal->format & 63) == XBG7_F16X4 && normal->offset % 4 == 0 && marker->stride % 4 == 0;
}

/* ---- all
 * --------------------------------------------------------------------------------------------------- */

bool anchor_gather_open(struct anchor_gather *gather, const struct anchor_input *in,
                        const struct anchor_map *map, const struct anchor_found *found, size_t count,
                        struct arena *arena)
{
    *gather = (struct anchor_gather){.in = in, .map = map, .runs = RUNS_MAX};
    gather->measure = MEASURE_PER_BYTE * (uint64_t)in->size + MEASURE_FREE;
    gather->scratch = arena_alloc(arena, sizeof *gather->scratch);
    struct anchor_counts *wanted = arena_array(arena, count, sizeof *wanted);
    if (!gather->scratch || !wanted)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct xbg7_marker *pivot = &found[i].form.markers[found[i].form.pivot];
        wanted[i] = (struct anchor_counts){pivot->vertex_count, pivot->index_count};
    }
    return anchor_index_open(&gather->index, map, wanted, count, arena);
}

bool anchor_gather_find(struct anchor_gather *gather, struct anchor_found *found, struct arena *arena)
{
    const struct anchor_form *form = &found->form;
    const struct xbg7_marker *pivot = &form->markers[form->pivot];
    struct hunt h = {.gather = gather, .found = found, .arena = arena};
    h.places = arena_array(arena, form->count, sizeof *h.places);
    if (!h.places)
        return false;
    for (uint32_t i = 0; i < form->pivot; i++)
        h.pivot_offset += (2 * (uint64_t)form->markers[i].index_count + 3) & ~UINT64_C(3);
    uint64_t granted = gather->measure / MEASURE_SHARE;
    h.measure[false] = h.measure[true] = granted;
    struct anchor_counts counts = {pivot->vertex_count, pivot->index_count};
    struct anchor_search search = {.filter = on_places, .report = on_window, .context = &h};
    set_leads(&h);
    h.probe = anchor_probe_make(pivot);
    found->exhausted = !anchor_index_find(&gather->index, counts, &search);
    if (!found->exhausted && !found->count && gather->runs && has_mapped_run(form)) {
        gather->runs--;
        found->exhausted = !find_runs(&h);
    }
    gather->measure -= (2 * granted - h.measure[false] - h.measure[true]) / 2;
    return !h.failed;
}
