/* priors.h - how the blocks of sure placements lie in their containers: what a hypothesis about the undecoded
 * order of allocation would be tested on.
 */
#ifndef ANCHORAGE_PRIORS_H
#define ANCHORAGE_PRIORS_H

#include "reports/view.h"

/* Statistics of the distinct blocks of proven resources, and of those assigned by a margin of PRIORS_MARGIN.
 */
#define PRIORS_MARGIN 6.0
/* A big-endian word in front of blocks. */
struct prior_word {
    uint32_t blocks; /* that have it: it lies in the data section */
    uint32_t zero, distinct;
    uint32_t most, most_count; /* the most frequent value, the least of several */
};

struct priors {
    const char *container; /* path; NULL: all containers together */
    uint32_t blocks;
    uint32_t residue[16]; /* of starts, counted from the data section, modulo 16 */
    uint32_t aligned_64;
    /* Bytes from the end of a block to the start of the next one, where no texture lies between. */
    uint32_t gaps, touching;       /* touching: of 0 bytes */
    uint64_t gap_median, gap_most; /* gap_most: nine of ten are at most that */
    /* What the coverage map has in front of a block's first byte, and how many blocks have it. */
    uint32_t preceded_by[COVERAGE_KIND_COUNT];
    struct prior_word before[4]; /* 16, 12, 8 and 4 bytes in front of a block's first byte */
    /* Spearman's rank correlation of directory index and file offset; of all containers the mean, weighted by
     * pairs. */
    uint32_t pairs; /* blocks it was made of; 0: fewer than three */
    double order;
};

/* Walks XPR2 containers that have such blocks by path, and at the end calls for all of them together. The
 * callback returns false to stop. False only for an error. */
bool priors_each(struct store_txn *txn, bool (*each)(const struct priors *priors, void *ctx), void *ctx,
                 struct error *err);
/* New reference; NULL when memory runs out. */
json_t *json_of_priors(const struct priors *priors);

#endif
