/* pass_neighbour.c - what is left of a container is decided again among what is proven by now.
 *
 * A proof that came from elsewhere takes a block away from its rivals, and adds an anchor to the
 * neighbourhood. So the container's resources are put to the same joint decision the locator makes
 * (formats/anchor_assign.h), those that are proven with their one place; how much nearness is worth is
 * learned from its sure anchors (formats/anchor_context.h) and is nothing where fewer than 16 teach. The
 * claims are the locator's as well (formats/anchor_locate.c): a margin, and where only nearness tells, a
 * clear case. A resource whose place a proof contradicts loses it.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_context.h"
#include "formats/anchor_locate.h"
#include "pipeline/nearness.h"

/* Score of a place that is proven, beyond any other: what overlaps it is out. */
#define PROVEN_SCORE 1000.0
/* Where only nearness tells, the chosen place is as near as this and its rivals as far, in natural-log odds.
 * Strays exist: a resource may lie far from its neighbours. APART is what the decision would lose; of two
 * resources that are each other's rivals it counts both, and hardly both are strays. */
#define NEAR  1.0
#define FAR   (-2.2)
#define APART 4.5
/* And so many sure anchors lie between the two: places side by side are one neighbourhood, however finely a
 * container's order has taught to measure. */
#define BETWEEN 4

static bool neighbour_units(struct passes *passes, size_t *count, struct error *err)
{
    (void)err;
    *count = passes->container_count;
    return true;
}

/* What is to become of one resource. */
struct decision {
    uint32_t resource, chosen;
    enum resource_status status;
    double margin;
    char why[160];
};

struct decisions {
    size_t count;
    struct decision *list;
};

/* A block that is proven. */
struct claim {
    uint64_t start, end;
    uint64_t reach; /* the greatest end of this and those before */
    uint32_t resource;
};

/* A container while it is decided again. */
struct again {
    const struct passes *passes;
    const struct pass_container *container;
    struct arena *arena;
    size_t count;
    uint32_t *numbers;               /* of the subjects' resources */
    struct anchor_subject *subjects; /* in the directory's order */
    struct anchor_item *plain;       /* decided without nearness */
    int64_t *sure;                   /* places of what teaches, ascending */
    size_t sure_count;
    struct claim *claims; /* of what is proven, by start */
    size_t claim_count;
    struct claim *decided; /* of what was decided again, likewise; no reach */
    size_t decided_count;
};

static const struct pass_resource *resource_of(const struct again *a, size_t subject)
{
    return &a->passes->resources[a->numbers[subject]];
}

static bool is_fixed(const struct pass_resource *r)
{
    return r->now.status == RESOURCE_PROVEN || r->now.captured || r->now.taught;
}

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->resource > y->resource) - (x->resource < y->resource);
}

static bool collect_claims(struct again *a)
{
    a->claims = arena_array(a->arena, a->count, sizeof *a->claims);
    if (!a->claims)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct pass_resource *r = resource_of(a, i);
        uint32_t chosen = r->now.chosen;
        if (is_fixed(r) && pass_is_located(r) && chosen != RESOLVED_NONE)
            a->claims[a->claim_count++] =
                (struct claim){pass_block_start(r, chosen), pass_block_end(r, chosen), 0, a->numbers[i]};
    }
    qsort(a->claims, a->claim_count, sizeof *a->claims, compare_claims);
    for (size_t i = 0; i < a->claim_count; i++) {
        uint64_t before = i ? a->claims[i - 1].reach : 0;
        a->claims[i].reach = a->claims[i].end > before ? a->claims[i].end : before;
    }
    return true;
}

/* A resource that is proven to have a block which the place of `r` overlaps without being the same; NULL:
 * none. */
static const struct pass_resource *proven_rival(const struct again *a, const struct pass_resource *r)
{
    if (r->now.chosen == RESOLVED_NONE)
        return NULL;
    uint64_t start = pass_block_start(r, r->now.chosen), end = pass_block_end(r, r->now.chosen);
    size_t low = 0, high = a->claim_count; /* the first claim that starts at `end` or behind */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->claims[middle].start < end)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && a->claims[low].reach > start) {
        const struct claim *claim = &a->claims[low];
        if (claim->end > start && (claim->start != start || claim->end != end))
            return &a->passes->resources[claim->resource];
    }
    return NULL;
}

/* ---- the locator's view of it -------------------------------------------------------------------------- */

/* Places of equal bytes, or that are reflections: which of them is whose is no decision. */
static uint32_t content_of(const struct resource_record *record, const struct anchor_item *item, uint32_t c)
{
    const struct candidate *candidates = record->resource.candidates;
    for (uint32_t k = 0; k < c; k++)
        if ((candidates[c].answer && candidates[k].answer == candidates[c].answer) ||
            pass_same_bytes(&record->candidate_hashes[k], &record->candidate_hashes[c]))
            return item->choices[k].content;
    return c;
}

static void add_candidate(struct anchor_subject *s, const struct pass_resource *r, uint32_t c)
{
    const struct candidate *candidate = &r->record->resource.candidates[c];
    struct anchor_choice *choice = &s->item.choices[s->count];
    s->candidates[s->count] = *candidate;
    choice->start = pass_block_start(r, c);
    choice->end = pass_block_end(r, c);
    choice->quality = anchor_quality(&candidate->evidence);
    choice->sound = anchor_is_sound(&candidate->evidence);
    s->count = ++s->item.count;
}

static bool make_subject(struct again *a, const struct pass_resource *r, struct anchor_subject *s)
{
    uint32_t count = r->record->resource.candidate_count;
    bool fixed = is_fixed(r);
    s->candidates = arena_array(a->arena, count, sizeof *s->candidates);
    s->item.choices = arena_array(a->arena, count, sizeof *s->item.choices);
    if (!s->candidates || !s->item.choices)
        return false;
    for (uint32_t c = 0; c < count; c++)
        if (!fixed || (pass_is_located(r) && c == r->now.chosen))
            add_candidate(s, r, c);
    for (uint32_t c = 0; c < s->count && !fixed; c++)
        s->item.choices[c].content = content_of(r->record, &s->item, c);
    s->item.chosen = -1;
    return true;
}

static void set_scores(struct again *a, bool nearness)
{
    for (size_t i = 0; i < a->count; i++) {
        struct anchor_subject *s = &a->subjects[i];
        const struct resource_record *record = resource_of(a, i)->record;
        bool fixed = is_fixed(resource_of(a, i));
        for (uint32_t c = 0; c < s->count; c++) {
            const struct candidate *was = &record->resource.candidates[c];
            double score = was->score - (double)was->evidence.locality - PASS_SCORE_LEAST;
            s->item.choices[c].score =
                fixed ? PROVEN_SCORE : score + (nearness ? (double)s->candidates[c].evidence.locality : 0);
        }
    }
}

static bool assign(struct again *a, struct anchor_item *items, bool nearness)
{
    set_scores(a, nearness);
    for (size_t i = 0; i < a->count; i++)
        items[i] = a->subjects[i].item;
    return anchor_assign(items, a->count, a->arena);
}

/* Marks what may teach: what is proven, and what was assigned by a wide margin and is so still. */
static void mark_sure(struct again *a)
{
    for (size_t i = 0; i < a->count; i++) {
        struct anchor_subject *s = &a->subjects[i];
        const struct pass_resource *r = resource_of(a, i);
        bool assigned =
            r->now.status == RESOURCE_ASSIGNED && s->item.exact && s->item.margin >= PASS_SURE_MARGIN;
        s->sure = s->item.chosen >= 0 && (is_fixed(r) || assigned) &&
                  !s->candidates[s->item.chosen].evidence.short_of_top;
    }
}

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Learns what nearness is worth here, and sets it for every candidate. */
static bool apply_nearness(struct again *a)
{
    struct nearness nearness;
    int64_t *anchors = arena_array(a->arena, a->count, sizeof *anchors);
    if (!anchors)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct anchor_subject *s = &a->subjects[i];
        anchors[i] = s->sure ? (int64_t)s->candidates[s->item.chosen].buffers[0].index_offset : -1;
    }
    a->sure = arena_array(a->arena, a->count, sizeof *a->sure);
    if (!a->sure || !nearness_learn(anchors, a->count, a->arena, &nearness))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (anchors[i] >= 0)
            a->sure[a->sure_count++] = anchors[i];
    qsort(a->sure, a->sure_count, sizeof *a->sure, compare_places);
    for (size_t i = 0; i < a->count; i++)
        for (uint32_t c = 0; c < a->subjects[i].count; c++) {
            struct candidate *candidate = &a->subjects[i].candidates[c];
            candidate->evidence.locality = (float)nearness_odds(&nearness, anchors, a->count, i,
                                                                (int64_t)candidate->buffers[0].index_offset);
        }
    return true;
}

/* Lists the places of what was decided just now. */
static bool list_decided(struct again *a)
{
    a->decided = arena_array(a->arena, a->count, sizeof *a->decided);
    if (!a->decided)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct anchor_item *item = &a->subjects[i].item;
        if (item->chosen >= 0)
            a->decided[a->decided_count++] = (struct claim){
                item->choices[item->chosen].start, item->choices[item->chosen].end, 0, a->numbers[i]};
    }
    qsort(a->decided, a->decided_count, sizeof *a->decided, compare_claims);
    return true;
}

/* Decides without nearness, learns what it is worth, and decides with it. */
static bool decide_again(struct again *a)
{
    a->plain = arena_array(a->arena, a->count, sizeof *a->plain);
    struct anchor_item *items = arena_array(a->arena, a->count, sizeof *items);
    if (!a->plain || !items || !assign(a, a->plain, false))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        a->subjects[i].item.chosen = a->plain[i].chosen;
        a->subjects[i].item.margin = a->plain[i].margin;
        a->subjects[i].item.exact = a->plain[i].exact;
    }
    mark_sure(a);
    if (!apply_nearness(a) || !assign(a, items, true))
        return false;
    for (size_t i = 0; i < a->count; i++)
        a->subjects[i].item = items[i];
    return list_decided(a);
}

/* ---- what may be claimed ------------------------------------------------------------------------------- */

/* How many sure anchors lie in front of a place. */
static size_t rank_of(const struct again *a, uint64_t place)
{
    size_t low = 0, high = a->sure_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uint64_t)a->sure[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_side_by_side(const struct again *a, const struct anchor_choice *x,
                            const struct anchor_choice *y)
{
    size_t first = rank_of(a, x->start), second = rank_of(a, y->start);
    return (first > second ? first - second : second - first) < BETWEEN;
}

/* Whether nearness alone puts a place ahead of another one, and not by a clear case. */
static bool only_nearer(const struct again *a, const struct anchor_subject *s, uint32_t chosen)
{
    double mine = s->item.choices[chosen].score, near = (double)s->candidates[chosen].evidence.locality;
    for (uint32_t c = 0; c < s->count; c++) {
        double far = (double)s->candidates[c].evidence.locality;
        if (s->item.choices[c].content == s->item.choices[chosen].content ||
            (mine - near) - (s->item.choices[c].score - far) >= ANCHOR_MARGIN)
            continue;
        if (near < NEAR || (far > FAR && near - far < APART && s->item.margin < APART) ||
            is_side_by_side(a, &s->item.choices[chosen], &s->item.choices[c]))
            return true;
    }
    return false;
}

/* The same of what the locator saw: whether that is why it did not decide. */
static bool was_only_nearer(const struct pass_resource *r)
{
    const struct resource *resource = &r->record->resource;
    const struct candidate *mine = &resource->candidates[resource->chosen];
    for (uint32_t c = 0; c < resource->candidate_count; c++) {
        const struct candidate *other = &resource->candidates[c];
        double ahead = (mine->score - (double)mine->evidence.locality) -
                       (other->score - (double)other->evidence.locality);
        if (c != resource->chosen && ahead < ANCHOR_MARGIN)
            return true;
    }
    return false;
}

/* Whether candidates of an ambiguous resource are all there is: otherwise what speaks for one says little.
 * The locator leaves a resource ambiguous in spite of a margin when places were passed over; so does this. */
static bool is_complete(const struct pass_resource *r)
{
    const struct resource *resource = &r->record->resource;
    return !resource->candidates_dropped && (resource->margin < ANCHOR_MARGIN || was_only_nearer(r));
}

/* Nothing of its own is left to be desired, and it is not far from the size that the descriptor stores. */
static bool is_perfect(const struct anchor_evidence *e)
{
    return !e->short_of_top && !e->unreferenced && !e->nonsense && e->size_match >= -1;
}

/* Whether the place of subject i is another resource's, too, by what was decided just now. */
static bool is_shared(const struct again *a, size_t i)
{
    const struct anchor_item *item = &a->subjects[i].item;
    const struct anchor_choice *mine = &item->choices[item->chosen];
    size_t low = 0, high = a->decided_count; /* the first that starts there */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->decided[middle].start < mine->start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < a->decided_count && a->decided[low].start == mine->start; low++)
        if (a->decided[low].end == mine->end && a->decided[low].resource != a->numbers[i])
            return true;
    return false;
}

/* An ambiguous resource: decided when its rivals' places turn out to be others', or far from where it must
 * lie. */
static bool settle_ambiguous(const struct again *a, size_t i, struct decision *out)
{
    const struct pass_resource *r = resource_of(a, i);
    const struct anchor_subject *s = &a->subjects[i];
    int32_t chosen = s->item.chosen;
    if (chosen < 0 || !s->item.exact || s->item.margin < ANCHOR_MARGIN || !is_complete(r) ||
        !is_perfect(&s->candidates[chosen].evidence))
        return false;
    struct hash geometry = pass_geometry_of(a->passes, r, (uint32_t)chosen);
    bool plain = a->plain[i].chosen == chosen && a->plain[i].exact && a->plain[i].margin >= ANCHOR_MARGIN;
    /* Nearness and elimination are no reason to take what another has. */
    if (hash_is_zero(&geometry) || is_shared(a, i) || (!plain && only_nearer(a, s, (uint32_t)chosen)))
        return false;
    *out = (struct decision){a->numbers[i], (uint32_t)chosen, RESOURCE_ASSIGNED, s->item.margin, ""};
    snprintf(out->why, sizeof out->why, "%s",
             plain ? "its other places belong to resources that are decided by now"
                   : "its descriptor's neighbours lie near this place and far from the others");
    return true;
}

/* An assigned resource that lies on what another is proven to have: it goes elsewhere, or is not decided any
 * more. */
static bool settle_contradicted(const struct again *a, size_t i, const struct pass_resource *rival,
                                struct decision *out)
{
    const struct pass_resource *r = resource_of(a, i);
    const struct anchor_subject *s = &a->subjects[i];
    int32_t chosen = s->item.chosen;
    bool clear = chosen >= 0 && s->item.exact && s->item.margin >= ANCHOR_MARGIN &&
                 !r->record->resource.candidates_dropped && s->candidates[chosen].evidence.size_match >= -1;
    struct hash geometry = {{0}};
    if (clear)
        geometry = pass_geometry_of(a->passes, r, (uint32_t)chosen);
    if (clear && !hash_is_zero(&geometry) && (uint32_t)chosen != r->now.chosen)
        *out = (struct decision){a->numbers[i], (uint32_t)chosen, RESOURCE_ASSIGNED, s->item.margin, ""};
    else if (chosen < 0)
        *out = (struct decision){a->numbers[i], RESOLVED_NONE, RESOURCE_DECLINED, 0, ""};
    else
        *out = (struct decision){a->numbers[i], r->now.chosen, RESOURCE_AMBIGUOUS, 0, ""};
    snprintf(out->why, sizeof out->why, "its place is on that of %.100s, which is proven", rival->name);
    return true;
}

static bool settle(const struct again *a, size_t i, struct decision *out)
{
    const struct pass_resource *r = resource_of(a, i), *rival;
    if (is_fixed(r))
        return false;
    if (r->now.status == RESOURCE_AMBIGUOUS)
        return r->was == RESOURCE_AMBIGUOUS && settle_ambiguous(a, i, out);
    if (r->now.status == RESOURCE_ASSIGNED && (rival = proven_rival(a, r)))
        return settle_contradicted(a, i, rival, out);
    return false;
}

/* ---- the stage ----------------------------------------------------------------------------------------- */

/* Whether there is anything to decide: something ambiguous, or a change since the decoder. */
static bool is_open(const struct passes *passes, const struct pass_container *container)
{
    for (uint32_t i = 0; i < container->count; i++) {
        const struct pass_resource *r = &passes->resources[container->first + i];
        if (r->record && (r->now.status == RESOURCE_AMBIGUOUS || r->now.change_count))
            return true;
    }
    return false;
}

static bool prepare(struct again *a)
{
    a->numbers = arena_array(a->arena, a->container->count, sizeof *a->numbers);
    a->subjects = arena_array(a->arena, a->container->count, sizeof *a->subjects);
    if (!a->numbers || !a->subjects)
        return false;
    for (uint32_t i = 0; i < a->container->count; i++) {
        const struct pass_resource *r = &a->passes->resources[a->container->first + i];
        if (!r->record || !r->record->resource.marker_count)
            continue;
        a->numbers[a->count] = a->container->first + i;
        if (!make_subject(a, r, &a->subjects[a->count++]))
            return false;
    }
    return collect_claims(a);
}

static bool neighbour_run(const struct passes *passes, size_t unit, int thread, void **result,
                          struct error *err)
{
    struct again a = {
        .passes = passes, .container = &passes->containers[unit], .arena = &passes->threads[thread].arena};
    if (!is_open(passes, a.container))
        return true;
    struct decisions *out = arena_alloc(a.arena, sizeof *out);
    if (!out || !prepare(&a) || !decide_again(&a) ||
        !(out->list = arena_array(a.arena, a.count, sizeof *out->list)))
        return passes_out_of_memory(err);
    for (size_t i = 0; i < a.count; i++)
        out->count += settle(&a, i, &out->list[out->count]);
    *result = out->count ? out : NULL;
    return true;
}

static bool neighbour_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct decisions *decisions = result;
    (void)unit;
    for (size_t i = 0; i < decisions->count; i++) {
        const struct decision *d = &decisions->list[i];
        if (!passes_change(passes, &passes->resources[d->resource], d->status, d->chosen, d->margin, err,
                           "%s", d->why))
            return false;
    }
    return true;
}

const struct stage pass_neighbour = {.name = "neighbour",
                                     .version = 2,
                                     .units = neighbour_units,
                                     .run = neighbour_run,
                                     .commit = neighbour_commit};
