/* nearness.h - what it is worth that a place lies near the descriptor's neighbours, as learned from a
 * container's own sure anchors. Pure.
 *
 * Nothing is assumed: where neighbours lie no nearer to each other than strangers do, or too few are sure, it
 * is worth nothing. The locator asks the same question of one container (formats/anchor_context.h), in powers
 * of two; this asks it once more where a proof from elsewhere has added anchors, and to the byte. One answer
 * for both was tried: in powers of two this one leaves open 8 of 38 resources of a corpus, and to the byte,
 * or to a quarter of a power, the locator's claims 2 of 1 012 that cannot be told.
 */
#ifndef ANCHORAGE_NEARNESS_H
#define ANCHORAGE_NEARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/arena.h"

#define NEARNESS_TEACHERS 16u /* anchors with a sure neighbour that are needed */
#define NEARNESS_MAX      2.5 /* natural-log odds, either way */

/* Of the nearest and the second nearest of two neighbours on each side. */
struct nearness {
    uint64_t near[2], far[2]; /* near: at most; far: more than. Between them nothing is said */
    double near_odds[2],
        far_odds[2]; /* natural logs of how much oftener neighbours are there than strangers */
};

/* Learns from anchors in the directory's order: a place each, or -1 for what is not sure. All zero when there
 * is nothing to learn. False when memory runs out. */
bool nearness_learn(const int64_t *anchors, size_t count, struct arena *arena, struct nearness *out);

/* The odds of a place for the resource of that number, within +-NEARNESS_MAX; 0 where no neighbour is sure.
 */
double nearness_odds(const struct nearness *nearness, const int64_t *anchors, size_t count, size_t number,
                     int64_t place);

#endif
