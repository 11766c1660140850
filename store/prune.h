/* prune.h - a store without what nobody needs any more.
 */
#ifndef ANCHORAGE_PRUNE_H
#define ANCHORAGE_PRUNE_H

#include "store/store.h"

struct prune_options {
    /* Whether the file of an input's path (an address without a boundary) is gone. */
    bool (*is_gone)(const char *path, void *ctx);
    void *ctx;
    uint64_t keep_runs; /* the newest; at least 1, because the next run counts from it */
};

struct prune_result {
    uint64_t inputs;                                /* files and folders that were stored, gone or not */
    uint64_t gone;                                  /* of them */
    uint64_t members;                               /* places inside those */
    uint64_t contents, resources, geometries, runs; /* dropped */
    uint64_t bytes_before, bytes_after;             /* of the data file */
};

/* Fills `out`, which is new and open for writing, with what is to stay of `from`: places whose file is there
 * with all inside, contents that have a place, geometry that is used, captures, the newest runs. What the
 * passes found is copied and no longer of this set of contents: resolve() is to follow. `from` may not be
 * written meanwhile. False with *err set. */
bool store_prune(struct store *from, struct store *out, const struct prune_options *options,
                 struct prune_result *result, struct error *err);

#endif
