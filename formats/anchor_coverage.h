/* anchor_coverage.h - what every byte of a data section is: the account that locating geometry ends with.
 * What is unclaimed and looks like geometry is the frontier of what is known.
 */
#ifndef ANCHORAGE_ANCHOR_COVERAGE_H
#define ANCHORAGE_ANCHOR_COVERAGE_H

#include "anchor_scan.h"
#include "format.h"

/* Fills out->coverage from out->textures, the buffers of out's proven and assigned resources, and the map of
 * the data section at out->data_offset. Runs are in order, touch each other, and cover the section exactly;
 * neighbours differ in kind. Claimed buffers go before textures, which only contested ones can overlap.
 * Unclaimed bytes: all zero or fewer than 16 is padding; vertex-like and index-like stretches have 256 bytes
 * at least. False when memory runs out. */
bool anchor_coverage(const struct anchor_map *map, struct container *out, struct arena *arena);

/* Lays container->coverage out for these placements in the place of those it was made with; `places[count]`
 * have offsets from the container's start. What was claimed and is not any more is vertex-like or index-like.
 * The runs are copied to the arena. Linear in runs, n log n in places. False when memory runs out. */
bool anchor_coverage_replace(struct container *container, const struct buffer_place *places, size_t count,
                             struct arena *arena);

#endif
