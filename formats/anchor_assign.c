/* anchor_assign.c - see anchor_assign.h */
#include "anchor_assign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nodes one search may visit, and all of a component's together. */
#define NODES_MAX       20000u
#define NODES_COMPONENT 400000u
/* Items that are decided together exactly; larger components are decided one by one. */
#define EXACT_MAX 40u
/* A place that another resource's only strong one overlaps is out of the running. */
#define STRONG 8.0
#define WEAKER 4.0
/* So is one that is at most this many bytes off a sound place that looks so much finer: real blocks never
 * overlap. */
#define SHIFT 256u
#define FINER 2.0

/* A place of some item, in the list of all. */
struct ref {
    const struct anchor_choice *choice;
    uint32_t item;
};

struct assign {
    struct anchor_item *items;
    size_t count, ref_count;
    struct ref *refs; /* by start */
    uint32_t *group;  /* of each item: union-find */
    bool *open;       /* of each ref, by number of choice: still in the running */
    uint32_t *first;  /* of each item: its first entry of `open` */
};

static bool same_block(const struct anchor_choice *a, const struct anchor_choice *b)
{
    return a->start == b->start && a->end == b->end;
}

static bool overlap(const struct anchor_choice *a, const struct anchor_choice *b)
{
    return a->start < b->end && b->start < a->end;
}

/* Whether both ends of two places are near each other. */
static bool is_shifted(const struct anchor_choice *a, const struct anchor_choice *b)
{
    uint64_t start = a->start < b->start ? b->start - a->start : a->start - b->start;
    uint64_t end = a->end < b->end ? b->end - a->end : a->end - b->end;
    return start <= SHIFT && end <= SHIFT;
}

static int ref_order(const void *left, const void *right)
{
    const struct ref *a = left, *b = right;
    if (a->choice->start != b->choice->start)
        return a->choice->start < b->choice->start ? -1 : 1;
    if (a->choice->end != b->choice->end)
        return a->choice->end < b->choice->end ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static uint32_t find_group(struct assign *a, uint32_t item)
{
    while (a->group[item] != item)
        item = a->group[item] = a->group[a->group[item]];
    return item;
}

static bool *open_of(struct assign *a, const struct ref *ref)
{
    return &a->open[a->first[ref->item] + (size_t)(ref->choice - a->items[ref->item].choices)];
}

/* The item's best place in the running, and how far the next one of other content is behind; -1 without any.
 */
static int32_t best_of(const struct assign *a, uint32_t item, double *ahead)
{
    const struct anchor_item *it = &a->items[item];
    int32_t best = -1;
    double second = 0;
    for (uint32_t i = 0; i < it->count; i++)
        if (a->open[a->first[item] + i] && (best < 0 || it->choices[i].score > it->choices[best].score))
            best = (int32_t)i;
    for (uint32_t i = 0; best >= 0 && i < it->count; i++)
        if (a->open[a->first[item] + i] && (int32_t)i != best && it->choices[i].score > second)
            second = it->choices[i].score;
    *ahead = best >= 0 ? it->choices[best].score - second : 0;
    return best;
}

/* Takes `weak` out of the running when `fine`, a few bytes off, looks so much better. */
static void drop_shifted(struct assign *a, const struct ref *fine, const struct ref *weak)
{
    if (fine->choice->sound && is_shifted(fine->choice, weak->choice) &&
        fine->choice->quality >= weak->choice->quality + FINER)
        *open_of(a, weak) = false;
}

/* Takes `weak` out of the running when `strong` is the only place of another resource, and much stronger. */
static void drop_overlapped(struct assign *a, const struct ref *strong, const struct ref *weak)
{
    double ahead;
    if (strong->item == weak->item || !*open_of(a, strong))
        return;
    int32_t best = best_of(a, strong->item, &ahead);
    if (best >= 0 && &a->items[strong->item].choices[best] == strong->choice && ahead >= STRONG &&
        strong->choice->score >= weak->choice->score + WEAKER)
        *open_of(a, weak) = false;
}

typedef void drop_fn(struct assign *a, const struct ref *better, const struct ref *weak);

/* Asks `drop` about every two places that overlap and are not one block, both ways. The list is sorted by
 * start, so that a place meets its rivals in a short stretch behind it; one far in front of it is met from
 * there. */
static void prune(struct assign *a, drop_fn *drop)
{
    uint64_t pairs = 64 * (uint64_t)a->ref_count; /* visited at most: rivals are few where files are real */
    for (size_t i = 0; i < a->ref_count; i++)
        for (size_t k = i + 1; k < a->ref_count && pairs && a->refs[k].choice->start < a->refs[i].choice->end;
             k++) {
            pairs--;
            if (same_block(a->refs[i].choice, a->refs[k].choice))
                continue;
            drop(a, &a->refs[i], &a->refs[k]);
            drop(a, &a->refs[k], &a->refs[i]);
        }
}

/* Joins items whose places in the running touch. */
static void join_groups(struct assign *a)
{
    uint64_t reach = 0;
    uint32_t holder = 0;
    for (size_t i = 0; i < a->ref_count; i++) {
        const struct ref *ref = &a->refs[i];
        if (!*open_of(a, ref))
            continue;
        if (ref->choice->start < reach) {
            uint32_t x = find_group(a, holder), y = find_group(a, ref->item);
            a->group[x > y ? x : y] = x > y ? y : x;
        }
        if (ref->choice->end > reach) {
            reach = ref->choice->end;
            holder = ref->item;
        }
    }
}

/* ---- one component
 * ----------------------------------------------------------------------------------------- */

/* A depth-first search over the items of a component, best first. */
struct search {
    const struct assign *a;
    uint32_t count;
    const uint32_t *items;              /* in order of decision */
    const struct anchor_choice **taken; /* [count] */
    int32_t *current, *best;            /* [count] numbers of choices, -1: none */
    double *bound;                      /* [count + 1] the most that items from there on can add */
    double best_score;
    uint32_t forced;       /* item position that may not have `forbidden`; count: no such */
    uint32_t forbidden;    /* a content; UINT32_MAX: none is forbidden (it must have some place) */
    uint32_t nodes, total; /* left: for this search, for the component */
};

/* What choice `c` adds behind the decisions before `depth`; false when it overlaps one. */
static bool gain(const struct search *s, uint32_t depth, const struct anchor_choice *c, double *out)
{
    bool shared = false;
    for (uint32_t i = 0; i < depth; i++) {
        const struct anchor_choice *other = s->taken[i];
        if (!other)
            continue;
        if (same_block(other, c))
            shared = true;
        else if (overlap(other, c))
            return false;
    }
    *out = c->score - (shared ? ANCHOR_SHARE_COST : 0);
    return true;
}

static void decide(struct search *s, uint32_t depth, double score)
{
    if (!s->nodes)
        return;
    s->nodes--;
    if (depth == s->count) {
        if (score > s->best_score + 1e-9) {
            s->best_score = score;
            memcpy(s->best, s->current, s->count * sizeof *s->best);
        }
        return;
    }
    if (score + s->bound[depth] <= s->best_score + 1e-9)
        return;
    uint32_t item = s->items[depth];
    const struct anchor_item *it = &s->a->items[item];
    bool forced = depth == s->forced;
    for (uint32_t i = 0; i < it->count; i++) {
        const struct anchor_choice *c = &it->choices[i];
        double more;
        if (!s->a->open[s->a->first[item] + i] || (forced && c->content == s->forbidden) ||
            !gain(s, depth, c, &more))
            continue;
        s->taken[depth] = c;
        s->current[depth] = (int32_t)i;
        decide(s, depth + 1, score + more);
    }
    if (forced && s->forbidden == UINT32_MAX)
        return;
    s->taken[depth] = NULL;
    s->current[depth] = -1;
    decide(s, depth + 1, score);
}

/* Runs one search; false when it ran out of nodes. */
static bool run(struct search *s, uint32_t forced, uint32_t forbidden)
{
    s->forced = forced;
    s->forbidden = forbidden;
    s->best_score = -INFINITY;
    s->nodes = s->total < NODES_MAX ? s->total : NODES_MAX;
    uint32_t granted = s->nodes;
    decide(s, 0, 0);
    s->total -= granted - s->nodes;
    return s->nodes > 0;
}

/* Decides a component and the margin of each of its items. */
static bool solve(struct assign *a, const uint32_t *items, uint32_t count, struct arena *arena)
{
    struct search s = {.a = a, .count = count, .items = items, .total = NODES_COMPONENT};
    s.taken = arena_array(arena, count, sizeof *s.taken);
    s.current = arena_array(arena, count, sizeof *s.current);
    s.best = arena_array(arena, count, sizeof *s.best);
    s.bound = arena_array(arena, (size_t)count + 1, sizeof *s.bound);
    int32_t *found = arena_array(arena, count, sizeof *found);
    if (!s.taken || !s.current || !s.best || !s.bound || !found)
        return false;
    for (uint32_t i = count; i-- > 0;) {
        double ahead;
        int32_t best = best_of(a, items[i], &ahead);
        s.bound[i] = s.bound[i + 1] + (best >= 0 ? a->items[items[i]].choices[best].score : 0);
    }
    bool exact = run(&s, count, 0);
    double optimum = s.best_score;
    if (!isfinite(optimum)) /* not even one way to the end was seen: none of them is placed */
        for (uint32_t i = 0; i < count; i++)
            s.best[i] = -1;
    memcpy(found, s.best, count * sizeof *found);
    for (uint32_t i = 0; i < count; i++) {
        struct anchor_item *it = &a->items[items[i]];
        it->chosen = found[i];
        it->exact = exact && run(&s, i, found[i] < 0 ? UINT32_MAX : it->choices[found[i]].content);
        it->margin = it->exact ? optimum - s.best_score : 0;
    }
    return true;
}

/* Whether another item of the component has a place in the running that overlaps this one in part. */
static bool is_contended(const struct assign *a, const uint32_t *items, uint32_t count,
                         const struct anchor_choice *c)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct anchor_item *other = &a->items[items[i]];
        for (uint32_t k = 0; k < other->count; k++)
            if (a->open[a->first[items[i]] + k] && overlap(&other->choices[k], c) &&
                !same_block(&other->choices[k], c))
                return true;
    }
    return false;
}

/* Decides a component too large for that: each item in turn takes the best place that is left. Only an item
 * with one place, which nobody else wants a part of, has a clear choice: so do the many resources that share
 * one block. */
static bool solve_greedily(struct assign *a, const uint32_t *items, uint32_t count, struct arena *arena)
{
    struct search s = {.a = a, .count = count, .items = items};
    s.taken = arena_array(arena, count, sizeof *s.taken);
    if (!s.taken)
        return false;
    uint64_t work = 4096 * (uint64_t)count; /* comparisons at most; behind them nothing more is placed */
    for (uint32_t i = 0; i < count; i++) {
        struct anchor_item *it = &a->items[items[i]];
        double best = 0, more;
        uint32_t places = 0;
        it->chosen = -1;
        for (uint32_t k = 0; k < it->count && work > i; k++) {
            work -= i;
            if (!a->open[a->first[items[i]] + k])
                continue;
            places++;
            if (gain(&s, i, &it->choices[k], &more) && more > best) {
                best = more;
                it->chosen = (int32_t)k;
            }
        }
        s.taken[i] = it->chosen < 0 ? NULL : &it->choices[it->chosen];
        it->exact = false;
        it->margin = 0;
        if (places == 1 && it->chosen >= 0 && work > count && !is_contended(a, items, count, s.taken[i])) {
            work -= count;
            it->margin = best;
        }
    }
    return true;
}

/* ---- all
 * --------------------------------------------------------------------------------------------------- */

static bool prepare(struct assign *a, struct arena *arena)
{
    size_t total = 0;
    for (size_t i = 0; i < a->count; i++)
        total += a->items[i].count;
    a->refs = arena_array(arena, total, sizeof *a->refs);
    a->open = arena_array(arena, total, sizeof *a->open);
    a->first = arena_array(arena, a->count, sizeof *a->first);
    a->group = arena_array(arena, a->count, sizeof *a->group);
    if (!a->refs || !a->open || !a->first || !a->group)
        return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct anchor_item *item = &a->items[i];
        a->group[i] = i;
        a->first[i] = at;
        for (uint32_t k = 0; k < item->count; k++, at++) {
            a->open[at] = item->choices[k].score > 0;
            if (a->open[at])
                a->refs[a->ref_count++] = (struct ref){&item->choices[k], i};
        }
    }
    qsort(a->refs, a->ref_count, sizeof *a->refs, ref_order);
    return true;
}

/* An item and where it stands in the order of decision. */
struct member {
    uint32_t group, item;
    double score;
};

/* By component; within one, strong ones first, because they cut the search most. */
static int member_order(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

bool anchor_assign(struct anchor_item *items, size_t count, struct arena *arena)
{
    struct assign a = {.items = items, .count = count};
    struct member *members = arena_array(arena, count, sizeof *members);
    uint32_t *order = arena_array(arena, count, sizeof *order);
    if (!members || !order || !prepare(&a, arena))
        return false;
    prune(&a, drop_shifted); /* first: what is shifted may score well enough to rule out the real one */
    prune(&a, drop_overlapped);
    join_groups(&a);
    for (uint32_t i = 0; i < count; i++) {
        double ahead;
        int32_t best = best_of(&a, i, &ahead);
        members[i] = (struct member){find_group(&a, i), i, best >= 0 ? items[i].choices[best].score : 0};
    }
    qsort(members, count, sizeof *members, member_order);
    for (size_t i = 0; i < count; i++)
        order[i] = members[i].item;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && members[end].group == members[i].group;)
            end++;
        uint32_t size = (uint32_t)(end - i);
        if (size > EXACT_MAX ? !solve_greedily(&a, order + i, size, arena)
                             : !solve(&a, order + i, size, arena))
            return false;
    }
    return true;
}
