/* anchor_assign.h - which resource gets which block: one decision for the whole container.
 *
 * Every resource takes one of its places or none; two resources may not overlap unless they share one whole
 * block. The assignment of greatest total score is found exactly for each group of resources whose places
 * touch each other, as long as that takes bounded work. A resource's margin is what the total loses when it
 * may not have what it got: the best assignment in which it lies elsewhere, or nowhere.
 */
#ifndef ANCHORAGE_ANCHOR_ASSIGN_H
#define ANCHORAGE_ANCHOR_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* What a resource pays for a block that another one has. */
#define ANCHOR_SHARE_COST 2.0

/* A place a resource may have; only those of positive score are ever taken. */
struct anchor_choice {
    uint64_t start, end;
    double score;
    double quality;   /* how fine it looks: decides between places a few bytes apart */
    bool sound;       /* good enough to decide that */
    uint32_t content; /* equal for places whose geometry is equal: choosing among them is no decision */
};

struct anchor_item {
    uint32_t count;
    struct anchor_choice *choices;
    /* Results. */
    int32_t chosen; /* -1: none */
    double margin;  /* of the choice, or of the choice of none; INFINITY when there was nothing to choose */
    bool exact;     /* false: too many possibilities for an exact answer; the margin is then a guess, or 0 */
};

/* Decides all items. Linear in items for containers as they are, n log n always; false when memory runs out.
 * Places may be tried in any order: equal scores are decided by the order of items and choices alone. */
bool anchor_assign(struct anchor_item *items, size_t count, struct arena *arena);

#endif
