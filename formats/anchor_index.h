/* anchor_index.h - where in a data section a list of indices may lie: windows of index_count words below
 * vertex_count that use nearly all vertices.
 *
 * This side finds most blocks: a block is rigid, so that one window fixes its vertices too. Runs of small
 * words are collected once for all buffers (anchor_index_open), in classes of falling bounds, each made from
 * the runs of the one before; each buffer then looks only into runs of its class that are long enough and
 * hold words large enough.
 */
#ifndef ANCHORAGE_ANCHOR_INDEX_H
#define ANCHORAGE_ANCHOR_INDEX_H

#include "anchor_scan.h"

/* A window must use this share of the vertices. */
#define ANCHOR_COVERAGE_MIN 0.8

/* What is looked for. */
struct anchor_counts {
    uint32_t vertex_count, index_count;
};

/* A stretch of words that are all below some bound. */
struct anchor_run {
    uint64_t start, length; /* in words; of whole blocks where the bound is above 256 */
    uint16_t top;           /* the greatest of them */
};

/* All runs below `bound` that are long enough for some buffer of up to `bound` vertices. */
struct anchor_class {
    uint32_t bound;
    uint64_t shortest;  /* in words; UINT64_MAX: no buffer needs this class */
    uint64_t kept_from; /* runs from this length on are all there; there were too many shorter ones */
    size_t count;
    struct anchor_run *runs; /* longest first, up to a length where sorting ends */
};

#define ANCHOR_CLASSES 64

struct anchor_index {
    const struct anchor_map *map;
    unsigned class_count;
    struct anchor_class classes[ANCHOR_CLASSES]; /* bounds descend by a fifth each */
    uint32_t *uses; /* [65536], zero between calls: how often a window uses an index */
    uint8_t *marks; /* [65536]: whether it does, of one window */
    uint64_t steps; /* words that may still be visited, for all buffers together */
};

/* A window: all its words are below vertex_count. */
struct anchor_window {
    uint64_t offset;   /* in the data section, a multiple of 4 */
    uint32_t distinct; /* indices used */
    bool exact;        /* vertex_count - 1 is among them */
};

/* What a search asks its caller. Most places are ruled out by what would follow them, at less cost than by
 * counting indices. */
struct anchor_search {
    /* Which windows at the 64 places from `offset` on, four bytes apart, are worth counting: bit i for offset
     * + 4 i. Only bits of `asked` matter. */
    uint64_t (*filter)(void *context, uint64_t offset, uint64_t asked);
    /* Called for each window that uses enough vertices, in order of runs; false ends the search. */
    bool (*report)(void *context, const struct anchor_window *window);
    void *context;
};

/* Prepares for buffers of any of the given counts. False when memory runs out. Time is linear in the map. */
bool anchor_index_open(struct anchor_index *index, const struct anchor_map *map,
                       const struct anchor_counts *wanted, size_t wanted_count, struct arena *arena);

/* Reports every window of those counts (which were among the wanted ones). False when not all were seen: the
 * steps ran out, or so many runs are as short as this buffer that they were given up. One thread at a time
 * per index. */
bool anchor_index_find(struct anchor_index *index, struct anchor_counts counts,
                       const struct anchor_search *search);

#endif
