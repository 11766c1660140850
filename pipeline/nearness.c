/* nearness.c - see nearness.h */
#include "pipeline/nearness.h"

#include <math.h>
#include <stdlib.h>

#include "formats/anchor_context.h"

#define STRANGERS 16 /* places of others that each anchor is compared with */

/* Distances by kind: k 0 to the nearest, 1 to the second nearest. */
struct sample {
    uint64_t *list[2];
    size_t count[2];
};

static void add(struct sample *sample, unsigned found, const uint64_t distances[2])
{
    for (unsigned k = 0; k < found; k++)
        sample->list[k][sample->count[k]++] = distances[k];
}

/* How far neighbours are from their own places, and from places of strangers, which are spread evenly over
 * the others. */
static void collect(const int64_t *anchors, size_t count, struct sample *right, struct sample *chance)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t distances[2];
        if (anchors[i] < 0)
            continue;
        add(right, anchor_nearest(anchors, count, i, anchors[i], distances), distances);
        for (size_t n = 1; n <= STRANGERS; n++) {
            size_t other = (i + n * count / (STRANGERS + 1)) % count;
            size_t apart = other > i ? other - i : i - other;
            if (anchors[other] >= 0 && apart > ANCHOR_NEIGHBOURS)
                add(chance, anchor_nearest(anchors, count, i, anchors[other], distances), distances);
        }
    }
}

static int compare_distances(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many of a sorted list are at most `limit`. */
static size_t within(const uint64_t *list, size_t count, uint64_t limit)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle] <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double share(size_t part, size_t whole)
{
    return ((double)part + 0.5) / ((double)whole + 1);
}

/* The limit that tells neighbours from strangers best. Distances on one side of it are not told apart: that
 * one of two places in the same neighbourhood is nearer by chance means nothing. */
static void learn(const struct sample *right, const struct sample *chance, unsigned k, struct nearness *out)
{
    const uint64_t *mine = right->list[k], *theirs = chance->list[k];
    size_t n = right->count[k], m = chance->count[k];
    double best = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && mine[i + 1] == mine[i])
            continue;
        double p = share(i + 1, n), q = share(within(theirs, m, mine[i]), m);
        double gain = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q));
        if (p <= q || !(gain > best))
            continue;
        best = gain;
        out->near[k] = mine[i];
        out->near_odds[k] = log(p / q);
    }
    if (best == 0)
        return;
    out->far[k] = out->near[k] + out->near[k] / 2;
    double p = share(n - within(mine, n, out->far[k]), n), q = share(m - within(theirs, m, out->far[k]), m);
    out->far_odds[k] = fmin(0, log(p / q));
}

bool nearness_learn(const int64_t *anchors, size_t count, struct arena *arena, struct nearness *out)
{
    struct sample right = {0}, chance = {0};
    *out = (struct nearness){0};
    for (unsigned k = 0; k < 2; k++) {
        right.list[k] = arena_array(arena, count, sizeof **right.list);
        chance.list[k] = arena_array(arena, count, STRANGERS * sizeof **chance.list);
        if (!right.list[k] || !chance.list[k])
            return false;
    }
    collect(anchors, count, &right, &chance);
    if (right.count[0] < NEARNESS_TEACHERS)
        return true;
    for (unsigned k = 0; k < 2; k++) {
        qsort(right.list[k], right.count[k], sizeof **right.list, compare_distances);
        qsort(chance.list[k], chance.count[k], sizeof **chance.list, compare_distances);
        learn(&right, &chance, k, out);
    }
    return true;
}

double nearness_odds(const struct nearness *nearness, const int64_t *anchors, size_t count, size_t number,
                     int64_t place)
{
    uint64_t distances[2];
    unsigned found = anchor_nearest(anchors, count, number, place, distances);
    double sum = 0;
    for (unsigned k = 0; k < found; k++) {
        double odds = distances[k] <= nearness->near[k] ? nearness->near_odds[k]
                      : distances[k] > nearness->far[k] ? nearness->far_odds[k]
                                                        : 0;
        sum += odds / (k + 1);
    }
    return fmax(fmin(sum, NEARNESS_MAX), -NEARNESS_MAX);
}
