/* merge.h - several stores into one.
 *
 * All databases are walked side by side in key order and written in that order, each page once and full, so
 * the memory needed does not grow with the stores. What comes out depends on the set of inputs alone: not on
 * their order, not on how merges are nested, not on how often one is named. Where inputs disagree about a
 * key:
 *
 * - sources: the later run's word; of one run the later state of the file, then a place that was read before
 * one that failed, then the greater bytes;
 * - containers: decoder versions may not differ, unless the newer is preferred; of equal versions an outcome
 * of the content before one of the machine (crashed, timed-out), a whole archive before one that is known in
 *   part, read before damaged before skipped, then the lesser bytes. Resources, candidates and coverage come
 *   from the same store as the record;
 * - geometry: has to be the same bytes; of two encodings the shorter, then the lesser;
 * - captures: say the same under one key; the lower order stays;
 * - parts: the later state of the archive's file, then the greater bytes;
 * - runs: see struct merge_options.
 *
 * What the global passes made (outcomes, findings, the census of what was declined) is left out: it belongs
 * to one set of contents, and resolve() makes it for the union.
 */
#ifndef ANCHORAGE_MERGE_H
#define ANCHORAGE_MERGE_H

#include "store/store.h"

struct merge_options {
    bool prefer_newer;
    /* The id under which all shards of one job wrote their piece of one run. Their records become one, whose
     * counts are sums; all other ids stay, as does the census of what was declined; and members that an
     * archive no longer has, since a shard has read it again, go. 0: runs are told apart by what they say,
     * and numbered anew in the order in which they began. */
    uint64_t job_run;
    /* Told the path of an archive of which parts are missing, and how many; may be NULL. */
    void (*incomplete)(const char *path, unsigned missing, void *ctx);
    void *ctx;
};

struct merge_result {
    uint64_t bytes;      /* of keys and values written */
    uint64_t incomplete; /* archives of which parts are missing */
};

/* Fills `out`, which is new and open for writing, from the inputs, which are open for reading. *out is not
 * resolved. False with *err set: memory, a damaged input (named), versions that differ (both stores and both
 * versions named), a content or geometry that is referred to and in none of the inputs. `out` is then of no
 * use. */
bool store_merge(struct store *out, struct store *const *inputs, size_t count,
                 const struct merge_options *options, struct merge_result *result, struct error *err);

#endif
