/* ingest.h - inputs into a store: extraction, parallel decoding, commits in input order.
 *
 * Workers take turns at the input, a handful of items at a time; each decodes what it has read while the
 * bytes are in its cache, and serialises the records into a log of its own (store.h). What was taken between
 * two points of the input is a batch, and a batch is one transaction: while one is committed the next is
 * filled. A step of this is one par_for, whose first iteration is the commit and whose others are the
 * workers. So memory is bounded by the batch size, commits are in input order by construction, and the result
 * is the same at any thread count: a log's order is by key and by place in the input, never by who made it. A
 * run that is killed leaves whole batches, and the next run finds their contents by hash and goes on.
 */
#ifndef ANCHORAGE_INGEST_H
#define ANCHORAGE_INGEST_H

#include <signal.h>

#include "pipeline/decode.h"
#include "pipeline/extract.h"
#include "pipeline/shard.h"
#include "store/store.h"

/* One item as it was committed, for the log. Strings are good during the call. */
struct ingest_event {
    const char *path;
    enum extract_kind kind;
    enum format_id format;
    const struct hash *hash; /* NULL when its bytes could not be had */
    enum container_status status;
    enum container_reason reason;
    const char *message; /* NULL without a fault */
    uint64_t bytes;
    bool known; /* decoded by an earlier run, or under another path */
    uint32_t resources, declined, ambiguous;
};

struct ingest_progress {
    uint64_t items, containers, resources, declined; /* committed so far */
    uint64_t known;           /* items whose content or file was known, so that nothing had to be decoded */
    uint64_t unknown;         /* members and files that are no known container */
    uint64_t failed;          /* items whose bytes could not be had */
    uint64_t inputs_failed;   /* of those, named on the command line */
    uint64_t bytes_content;   /* of containers met */
    uint64_t bytes_canonical; /* of geometry decoded by this run */
    uint64_t bytes_read, bytes_total;          /* of plain files; total 0: not known yet */
    uint64_t by_status[RESOURCE_STATUS_COUNT]; /* of resources decoded by this run */
};

struct ingest_options {
    const char *const *inputs;
    size_t input_count;
    int threads;        /* at least 1 */
    uint64_t run;       /* id of this run: what it sees is marked with it */
    bool rehash;        /* read files again whose size and mtime are unchanged */
    size_t batch_bytes; /* of content in one batch, an item counting for at least 1 KiB; 0: the default */
    struct extract_limits limits;
    struct spool *spool;       /* see struct extract_options */
    const struct shard *shard; /* take only what is that shard's; NULL: everything */
    const bool *walked;        /* see extract_options; NULL: all inputs were named */
    struct store *seed; /* an earlier store: what it knows is not done again, and not stored; NULL: none */
    const volatile sig_atomic_t
        *cancel; /* set by a signal handler: stop after the batches in flight. NULL: never */
    /* Called by one thread at a time, never for an uncommitted item; either may be NULL. */
    void (*event)(const struct ingest_event *event, void *ctx);
    void (*progress)(const struct ingest_progress *progress, void *ctx);
    void *ctx;
};

/* Runs to the end or to a cancellation; *done holds what was committed. False with *err set when the job
 * cannot go on (memory, store). */
bool ingest(struct store *store, const struct ingest_options *options, struct ingest_progress *done,
            struct error *err);

#endif
