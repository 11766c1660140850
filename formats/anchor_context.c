/* anchor_context.c - see anchor_context.h */
#include "anchor_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

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
