/* anchor_gather.h - all places that look like a form, the best of them measured. Offsets count from the start
 * of the data section.
 */
#ifndef ANCHORAGE_ANCHOR_GATHER_H
#define ANCHORAGE_ANCHOR_GATHER_H

#include "anchor_evidence.h"
#include "anchor_index.h"
#include "anchor_locate.h"

/* One place of a form. */
struct anchor_spot {
    uint64_t start, end;
    double score;
    enum anchor_layout layout;
    struct anchor_evidence evidence;
};

/* What was found for a form. */
struct anchor_found {
    struct anchor_form form;
    uint32_t resources; /* that have it */
    uint32_t count, dropped;
    struct anchor_spot
        *spots;        /* at most ANCHOR_CANDIDATES, best first, then by start; NULL when there are none */
    bool exhausted;    /* the search was cut short: there may be others */
    bool skipped;      /* windows that are not exact were passed over */
    bool out_of_range; /* a run of vertices was found whose indices do not fit it, the first at `bad` */
    uint64_t bad;
};

/* State shared by the searches of a container. */
struct anchor_gather {
    const struct anchor_input *in;
    const struct anchor_map *map;
    struct anchor_index index;
    struct anchor_scratch *scratch;
    uint64_t measure; /* bytes that may still be measured */
    uint32_t runs;    /* forms whose vertices may still be looked for by themselves */
};

/* Prepares for the given forms. False when memory runs out. */
bool anchor_gather_open(struct anchor_gather *gather, const struct anchor_input *in,
                        const struct anchor_map *map, const struct anchor_found *found, size_t count,
                        struct arena *arena);

/* Finds the places of found->form: by its indices, and where that shows nothing by its run of unit normals.
 * False when memory runs out. */
bool anchor_gather_find(struct anchor_gather *gather, struct anchor_found *found, struct arena *arena);

#endif
