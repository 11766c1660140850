/* anchor_context.h - what a container's sure placements teach about the unsure ones: which descriptor word
 * stores a model's size, and how near each other neighbours of the directory lie.
 *
 * Nothing is assumed. Both are learned from the container at hand, and where it teaches nothing they weigh
 * nothing.
 */
#ifndef ANCHORAGE_ANCHOR_CONTEXT_H
#define ANCHORAGE_ANCHOR_CONTEXT_H

#include "anchor_assign.h"
#include "anchor_evidence.h"

/* A resource while it is being located. */
struct anchor_subject {
    struct resource *resource;
    const uint8_t *descriptor;
    size_t descriptor_size;
    struct anchor_form form;
    uint32_t group;
    uint32_t count; /* of candidates */
    struct candidate *candidates;
    struct anchor_item item; /* choices parallel to candidates */
    bool sure;               /* what was chosen may teach */
    bool stand_in;           /* but not where neighbours lie: its own block may be missing */
    bool only_near;          /* without locality something else, or nothing clear, would have been chosen */
    bool shared;             /* another resource has the chosen block too */
    bool leaves_own;         /* shared, although sound geometry of equal counts is nobody's */
    bool shared_by_size;     /* and the stored size of one of those is the block's */
    bool *outgrown; /* [count]: the candidate's run of normals ends where a longer one of another resource
                       does */
};

/* Learns from the sure subjects where the stored size is, what it measures and how closely, and sets
 * size_match and size_odds of every candidate (anchor_size.c). `data`: the data section. False when memory
 * runs out. */
bool anchor_apply_sizes(const uint8_t *data, struct anchor_subject *subjects, size_t count,
                        struct arena *arena);

/* Learns from the sure subjects that are no stand-ins, all in the directory's order, how far neighbours are
 * apart, and sets locality of every candidate. Nothing is set where fewer than 16 teach. False when memory
 * runs out. */
bool anchor_apply_locality(struct anchor_subject *subjects, size_t count, struct arena *arena);

/* Descriptor neighbours on each side that locality looks at. */
#define ANCHOR_NEIGHBOURS 2
/* Distances in bytes from `place` to the nearest and the second nearest of the sure anchors of a subject's
 * neighbours in the directory, into out[0] and out[1]; how many of the two there are. anchors[count]: a
 * block's offset, below 0 where none is sure. The global passes measure nearness by it, too. */
unsigned anchor_nearest(const int64_t *anchors, size_t count, size_t subject, int64_t place, uint64_t out[2]);

#endif
