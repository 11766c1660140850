/* ingest.h - inputs into a store: extraction, parallel decoding, commits in input order.
 *
 * Archives are read in one process and containers decoded in another (worker.h), which this one starts,
 * watches and starts again when they die (supervise.h); docs/isolation.md has the whole picture. What is
 * extracted between two points of the input is a batch, decoded into logs (store.h) in memory that all share,
 * and a batch is one transaction: while one is committed the next is filled, and the one behind waits. So
 * memory is bounded by the batch size, commits are in input order by construction, and the result is the same
 * at any thread count: a log's order is by key and by place in the input, never by who made it. A run that is
 * killed leaves whole batches, and the next run finds their contents by hash and goes on.
 */
#ifndef ANCHORAGE_INGEST_H
#define ANCHORAGE_INGEST_H

#include <signal.h>

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
    uint64_t known;         /* items whose content or file was known, so that nothing had to be decoded */
    uint64_t unknown;       /* members and files that are no known container */
    uint64_t failed;        /* items whose bytes could not be had */
    uint64_t inputs_failed; /* of those, named on the command line */
    uint64_t bytes_content; /* of containers met */
    /* Where the time went. The three go on beside each other: processor time of the extraction and of all
     * decoding threads, and how long commits took. */
    uint64_t extract_ns, decode_ns, commit_ns;
    uint64_t bytes_canonical;                  /* of geometry decoded by this run */
    uint64_t bytes_read, bytes_total;          /* of plain files; total 0: not known yet */
    uint64_t by_status[RESOURCE_STATUS_COUNT]; /* of resources decoded by this run */
    uint64_t restarts;                         /* workers that died, or stood still, and were started again */
    uint32_t extract_sandbox, decode_sandbox;  /* what was in force: sandbox.h */
};

struct ingest_options {
    const char *const *inputs;
    size_t input_count;
    int threads;        /* at least 1 */
    uint64_t run;       /* id of this run: what it sees is marked with it */
    bool rehash;        /* read files again whose size and mtime are unchanged */
    size_t batch_bytes; /* of content in one batch, an item counting for at least 1 KiB; 0: the default */
    struct extract_limits limits;
    struct spool *spool;       /* see struct extract_options; its file is made */
    const struct shard *shard; /* take only what is that shard's; NULL: everything */
    const char *plan_path;     /* where shard->plan was read from; NULL: there is none */
    const bool *walked;        /* see extract_options; NULL: all inputs were named */
    struct store *seed;   /* an earlier store: what it knows is not done again, and not stored; NULL: none */
    uint64_t memory;      /* that all processes together should stay under, bytes; 0: the default */
    double stall_seconds; /* without progress, after which an item is timed-out; 0: the default */
    bool no_sandbox;      /* for debugging */
    bool total;           /* progress wants bytes_total, for which all inputs are walked once more */
    const volatile sig_atomic_t
        *cancel; /* set by a signal handler: stop after the batches in flight. NULL: never */
    /* Called by one thread at a time, never for an uncommitted item; either may be NULL. */
    void (*event)(const struct ingest_event *event, void *ctx);
    void (*progress)(const struct ingest_progress *progress, void *ctx);
    void *ctx;
};

#define INGEST_STALL_SECONDS 60

/* Runs to the end or to a cancellation; *done holds what was committed. False with *err set when the job
 * cannot go on (memory, store). */
bool ingest(struct store *store, const struct ingest_options *options, struct ingest_progress *done,
            struct error *err);

#endif
