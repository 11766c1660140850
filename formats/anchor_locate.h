/* anchor_locate.h - finds where the geometry of XBG7 resources lies, with evidence for every answer.
 *
 * No field of a container says it. Places are found by content (anchor_index.h, anchor_scan.h), measured
 * (anchor_evidence.h), weighed with what the container itself teaches (anchor_context.h) and decided together
 * (anchor_assign.h). How, and what each outcome claims, is written in formats/anchor.md.
 */
#ifndef ANCHORAGE_ANCHOR_LOCATE_H
#define ANCHORAGE_ANCHOR_LOCATE_H

#include "anchor_scan.h"
#include "format.h"

/* At most so many candidates of a resource are kept. */
#define ANCHOR_CANDIDATES 16u
/* A choice whose margin is below is ambiguous. */
#define ANCHOR_MARGIN 1.0

/* A resource's descriptor: bytes of the container, NULL for resources that were declined. */
struct anchor_descriptor {
    const uint8_t *bytes;
    size_t size;
};

struct anchor_input {
    const uint8_t *data; /* the data section as far as the file has it */
    size_t size;
    uint64_t offset;                  /* where it begins in the container */
    bool truncated;                   /* the file ends before the section does */
    const struct anchor_range *walls; /* sorted, apart; offsets in the section */
    size_t wall_count;
};

/* Locates every resource that is not declined, with the map that anchor_scan made of in->data and in->walls:
 * sets status, reason, error, score, margin, candidates, chosen, buffers and mesh (of the best place when it
 * is ambiguous, whose candidates then have meshes too). `descriptors` is parallel to `resources`. False when
 * memory runs out. Time is linear in the section and the descriptors; n log n in resources. */
bool anchor_locate(const struct anchor_input *in, const struct anchor_map *map, struct resource *resources,
                   const struct anchor_descriptor *descriptors, size_t count, struct arena *arena);

#endif
