/* anchor_context.c - see anchor_context.h */
#include "anchor_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* ---- stored size
 * ------------------------------------------------------------------------------------------- */

/* A word of the descriptor is named by what its offset counts from. */
enum origin { FROM_START, FROM_MARKER, FROM_END, ORIGINS };
#define REACH    512 /* words on either side of an origin that are looked at */
#define MEASURES 5
#define TEACHERS 96u /* sure placements that are asked at most */
#define TAUGHT   3u  /* placements that must agree, and the share of those asked */
#define SUPPORT  0.5
#define NEAR     0.02 /* relative; how tightly sizes fit is learned, but never looser than this */
#define ODDS_MAX 4.0

struct size_rule {
    enum origin origin;
    int32_t offset; /* in words */
    unsigned measure;
    double support;   /* share that fits, of what states a size there; 0: there is no such word */
    double tolerance; /* relative */
};

static void measures_of(const struct anchor_evidence *e, float out[MEASURES])
{
    const float *x = e->extent;
    float axis = x[0] > x[1] ? x[0] : x[1];
    axis = axis > x[2] ? axis : x[2];
    float diagonal = sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    out[0] = axis;
    out[1] = axis / 2;
    out[2] = diagonal;
    out[3] = diagonal / 2;
    out[4] = e->radius;
}

/* The float at that word of the subject's descriptor; 0 where there is none that could be a size. */
static float word_at(const struct anchor_subject *s, enum origin origin, int32_t offset)
{
    int64_t at = 4 * (int64_t)offset;
    if (origin == FROM_MARKER)
        at += s->form.markers[0].offset;
    if (origin == FROM_END)
        at += (int64_t)(s->descriptor_size & ~(size_t)3);
    if (at < 0 || (uint64_t)at + 4 > s->descriptor_size)
        return 0;
    float value = load_f32be(s->descriptor + at);
    return value > 1e-6f && value < 1e9f ? value : 0;
}

static double relative(float stored, float measured)
{
    return measured > 0 ? fabs((double)stored / (double)measured - 1) : INFINITY;
}

static const struct anchor_evidence *chosen_evidence(const struct anchor_subject *s)
{
    return &s->candidates[s->item.chosen].evidence;
}

/* Votes of one sure placement for every word and measure that fit. */
static void vote(const struct anchor_subject *s, uint16_t *votes)
{
    float measures[MEASURES];
    measures_of(chosen_evidence(s), measures);
    for (enum origin origin = 0; origin < ORIGINS; origin++)
        for (int32_t offset = -REACH; offset < REACH; offset++) {
            float stored = word_at(s, origin, offset);
            uint16_t *slot = votes + ((size_t)origin * 2 * REACH + (size_t)(offset + REACH)) * MEASURES;
            for (unsigned m = 0; stored > 0 && m < MEASURES; m++)
                slot[m] += relative(stored, measures[m]) < NEAR;
        }
}

static int double_order(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* How many of the sure placements that are asked state a size there. */
static uint32_t count_stated(const struct anchor_subject *subjects, size_t count,
                             const struct size_rule *rule)
{
    uint32_t asked = 0, stated = 0;
    for (size_t i = 0; i < count && asked < TEACHERS; i++)
        if (subjects[i].sure) {
            stated += word_at(&subjects[i], rule->origin, rule->offset) > 0;
            asked++;
        }
    return stated;
}

/* How tightly the rule fits: half as much again as what nine of ten that it fits keep within. */
static double tolerance_of(const struct anchor_subject *subjects, size_t count, const struct size_rule *rule,
                           double *errors)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < TEACHERS; i++) {
        if (!subjects[i].sure)
            continue;
        float measures[MEASURES];
        measures_of(chosen_evidence(&subjects[i]), measures);
        double error = relative(word_at(&subjects[i], rule->origin, rule->offset), measures[rule->measure]);
        if (error < NEAR)
            errors[used++] = error;
    }
    qsort(errors, used, sizeof *errors, double_order);
    double tolerance = used ? 1.5 * errors[used * 9 / 10] + 1e-5 : NEAR;
    return tolerance < NEAR ? tolerance : NEAR;
}

static bool learn_size(const struct anchor_subject *subjects, size_t count, struct arena *arena,
                       struct size_rule *rule)
{
    uint16_t *votes = arena_array(arena, (size_t)ORIGINS * 2 * REACH * MEASURES, sizeof *votes);
    double *errors = arena_array(arena, TEACHERS, sizeof *errors);
    if (!votes || !errors)
        return false;
    uint32_t asked = 0;
    for (size_t i = 0; i < count && asked < TEACHERS; i++)
        if (subjects[i].sure) {
            vote(&subjects[i], votes);
            asked++;
        }
    size_t best = 0;
    for (size_t i = 1; i < (size_t)ORIGINS * 2 * REACH * MEASURES; i++)
        best = votes[i] > votes[best] ? i : best;
    rule->measure = (unsigned)(best % MEASURES);
    rule->offset = (int32_t)(best / MEASURES % (2 * REACH)) - REACH;
    rule->origin = (enum origin)(best / MEASURES / (2 * REACH));
    if (votes[best] < TAUGHT || votes[best] < SUPPORT * asked)
        return true;
    uint32_t stated = count_stated(subjects, count, rule);
    if (votes[best] < stated &&
        votes[best] == TAUGHT) /* chance makes three of four agree, not three of three */
        return true;
    rule->support = votes[best] / (stated + 1.0); /* one more might have failed: three that agree are few */
    rule->tolerance = tolerance_of(subjects, count, rule, errors);
    return true;
}

/* Chance fits about one size in a hundred; a right place fails as often as the sure ones do. A word that is
 * no size, zero most of all, states nothing: that a resource is silent is no evidence against a place. */
static void judge_size(const struct size_rule *rule, float stored, struct anchor_evidence *e)
{
    float measures[MEASURES];
    measures_of(e, measures);
    bool match = relative(stored, measures[rule->measure]) <= rule->tolerance;
    double odds = match ? log(rule->support / 0.01) : log(1.02 - rule->support);
    e->size_match = stored > 0 ? match ? 1 : -1 : 0;
    e->size_odds = stored > 0 ? (float)fmax(fmin(odds, ODDS_MAX), -ODDS_MAX) : 0;
}

bool anchor_apply_sizes(struct anchor_subject *subjects, size_t count, struct arena *arena)
{
    struct size_rule rule = {0};
    if (!learn_size(subjects, count, arena, &rule))
        return false;
    for (size_t i = 0; i < count; i++) {
        float stored = rule.support > 0 ? word_at(&subjects[i], rule.origin, rule.offset) : 0;
        for (uint32_t c = 0; c < subjects[i].count; c++)
            judge_size(&rule, stored, &subjects[i].candidates[c].evidence);
    }
    return true;
}

/* ---- locality
 * ---------------------------------------------------------------------------------------------- */

#define BINS         36
#define LEARN_MIN    16u
#define LOCALITY_MAX 2.5
#define GREY         2u /* bins, each a factor of two, between near and far */

/* Where a resource lies for this purpose, -1: not sure. */
static int64_t anchor_of(const struct anchor_subject *s)
{
    return s->sure && !s->stand_in ? (int64_t)s->candidates[s->item.chosen].buffers[0].index_offset : -1;
}

unsigned anchor_nearest(const int64_t *anchors, size_t count, size_t subject, int64_t place, uint64_t out[2])
{
    unsigned found = 0;
    out[0] = out[1] = UINT64_MAX;
    for (int step = -ANCHOR_NEIGHBOURS; step <= ANCHOR_NEIGHBOURS; step++) {
        int64_t other = (int64_t)subject + step;
        if (step == 0 || other < 0 || other >= (int64_t)count || anchors[other] < 0)
            continue;
        uint64_t distance = (uint64_t)llabs(anchors[other] - place);
        found++;
        if (distance < out[0]) {
            out[1] = out[0];
            out[0] = distance;
        } else if (distance < out[1]) {
            out[1] = distance;
        }
    }
    return found < 2 ? found : 2;
}

static unsigned bin_of(uint64_t distance)
{
    unsigned bin = 0;
    while (distance > 0 && bin < BINS - 1) {
        distance >>= 1;
        bin++;
    }
    return bin;
}

/* How often neighbours (right) and strangers (chance) are that far apart, for nearest and second nearest. */
struct distances {
    double right[2][BINS], chance[2][BINS];
    double rights[2], chances[2];
};

static void count_distances(struct distances *d, const int64_t *anchors, size_t count)
{
    uint32_t seed = 12345;
    for (size_t i = 0; i < count; i++) {
        uint64_t out[2];
        if (anchors[i] < 0)
            continue;
        unsigned n = anchor_nearest(anchors, count, i, anchors[i], out);
        for (unsigned k = 0; k < n; k++) {
            d->right[k][bin_of(out[k])]++;
            d->rights[k]++;
        }
        for (int tries = 0; tries < 8; tries++) {
            seed = seed * 1664525u + 1013904223u;
            size_t other = (size_t)((uint64_t)seed * count >> 32);
            if (anchors[other] < 0 || other == i)
                continue;
            n = anchor_nearest(anchors, count, i, anchors[other], out);
            for (unsigned k = 0; k < n; k++) {
                d->chance[k][bin_of(out[k])]++;
                d->chances[k]++;
            }
        }
    }
}

/* Near is below bin `near`, far from `far` on; between them nothing is said. */
struct zones {
    unsigned near, far;
    double near_odds, far_odds;
};

/* The split that tells neighbours from strangers best. Distances within a zone are not told apart: that one
 * of two places in the same neighbourhood is nearer by chance means nothing. */
static struct zones learn_zones(const struct distances *d, unsigned k)
{
    struct zones best = {.near = 0, .far = BINS};
    double best_gain = 0, right = 0, chance = 0;
    for (unsigned bin = 0; bin + GREY < BINS; bin++) {
        right += d->right[k][bin];
        chance += d->chance[k][bin];
        double p = (right + 0.5) / (d->rights[k] + 1), q = (chance + 0.5) / (d->chances[k] + 1);
        double gain = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q));
        if (!(gain > best_gain) || p < q)
            continue;
        best_gain = gain;
        best = (struct zones){bin + 1, bin + 1 + GREY, log(p / q), 0};
    }
    double far_right = 0.5, far_chance = 0.5;
    for (unsigned bin = best.far; bin < BINS; bin++) {
        far_right += d->right[k][bin];
        far_chance += d->chance[k][bin];
    }
    best.far_odds = fmin(0, log(far_right / (d->rights[k] + 1) * (d->chances[k] + 1) / far_chance));
    return best;
}

static double odds(const struct zones *zones, uint64_t distance)
{
    unsigned bin = bin_of(distance);
    return bin < zones->near ? zones->near_odds : bin >= zones->far ? zones->far_odds : 0;
}

bool anchor_apply_locality(struct anchor_subject *subjects, size_t count, struct arena *arena)
{
    int64_t *anchors = arena_array(arena, count, sizeof *anchors);
    struct distances *d = arena_alloc(arena, sizeof *d);
    if (!anchors || !d)
        return false;
    for (size_t i = 0; i < count; i++)
        anchors[i] = anchor_of(&subjects[i]);
    count_distances(d, anchors, count);
    struct zones zones[2] = {learn_zones(d, 0), learn_zones(d, 1)};
    for (size_t i = 0; i < count; i++) {
        for (uint32_t c = 0; c < subjects[i].count; c++) {
            struct candidate *candidate = &subjects[i].candidates[c];
            uint64_t out[2];
            unsigned n = anchor_nearest(anchors, count, i, (int64_t)candidate->buffers[0].index_offset, out);
            double sum = 0;
            for (unsigned k = 0; k < n && d->rights[0] >= LEARN_MIN; k++)
                sum += odds(&zones[k], out[k]) / (k + 1);
            candidate->evidence.locality = (float)fmax(fmin(sum, LOCALITY_MAX), -LOCALITY_MAX);
        }
    }
    return true;
}
