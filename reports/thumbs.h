/* thumbs.h - a folder with a picture of each geometry of a store: HASH.png (thumbnail.h).
 *
 * Drawn in parallel, and only what the folder does not have: a geometry's hash is its content, so a picture
 * never goes stale unless the renderer changes (the file `renderer` has its number).
 */
#ifndef ANCHORAGE_THUMBS_H
#define ANCHORAGE_THUMBS_H

#include "store/store.h"

struct thumbs_result {
    uint64_t drawn, kept;
    uint64_t failed; /* geometries that the store does not have, or that are no sound mesh */
};

struct thumbs_subject {
    struct hash geometry;
    enum format_id format; /* which way its axes are turned */
};
/* Draws what `directory` (made when absent) lacks of the geometries listed, which are sorted here and lose
 * those that occur again. Each thread reads in a transaction of its own. */
bool thumbs_draw(struct store *store, struct thumbs_subject *subjects, size_t count, const char *directory,
                 int threads, struct thumbs_result *result, struct error *err);

/* Draws what `directory` (made when absent) lacks of the geometries of all live resources and of the
 * alternatives of ambiguous ones. `txn` is a read transaction of `store`; each thread opens one of its own.
 * False with *err set for faults of the job. */
bool thumbs_write(struct store *store, struct store_txn *txn, const char *directory, int threads,
                  struct thumbs_result *result, struct error *err);

#endif
