/* store.h - the geometry store: LMDB behind typed records. store/README.md has the written layout.
 *
 * One writer at a time, in this process or another; readers always run beside it and see the last commit. A
 * transaction belongs to the thread that began it. Every value carries a checksum over its key and payload
 * that is verified on each read: a value that does not match is an error (ERROR_STORE), never data. What
 * reads return lives in the caller's arena.
 */
#ifndef ANCHORAGE_STORE_H
#define ANCHORAGE_STORE_H

#include "store/codec.h"
#include "store/key.h"
#include "store/record.h"
#include "store/resolved.h"

#define STORE_SCHEMA_VERSION 2

struct store;
struct store_txn;

enum store_mode {
    STORE_READ,   /* must exist */
    STORE_WRITE,  /* must exist; takes the writer's lock */
    STORE_CREATE, /* made when absent; takes the writer's lock */
    /* As STORE_CREATE, and commits are not waited for: a store that is cheaper made again than kept through a
     * power cut. A process that dies loses nothing; store_sync makes it durable. */
    STORE_SCRATCH,
};

/* Opens the store at `path` (a directory, or one file whose name ends in .mdb). `wait_lock`: wait for another
 * writer instead of failing; a failure names the holder's pid. An older or newer schema is refused with both
 * numbers, a network file system with its name, what is no store with what it is. A process may open a store
 * once at a time, and a child it forks must not use the handle; any number of threads may. On failure *err is
 * set (ERROR_STORE, ERROR_DISK for a full or failing disk, or ERROR_NOMEM) and NULL returned. */
struct store *store_open(const char *path, enum store_mode mode, bool wait_lock, struct error *err);
void store_close(struct store *store); /* NULL is legal */
/* Waits until all commits are on the disk. */
bool store_sync(struct store *store, struct error *err);
/* Writes the last commit, without what is free in the file, to a descriptor; only plain writes are made.
 * `name` is the file's, for messages. */
bool store_copy(struct store *store, int fd, const char *name, struct error *err);
/* Whether the handle is of a sealed store: one file that nobody may write (no write permission). It never
 * changes again, so it is read without locks and from any file system, one shared by other machines
 * included. */
bool store_is_sealed(const struct store *store);
const char *store_path(const struct store *store);
/* Whether the handle is of the store at that path. */
bool store_is_at(const struct store *store, const char *path);

/* A read transaction sees one commit for its whole life, whichever thread uses it, one at a time. While it is
 * open the pages it sees cannot be reused, so one that is kept through many commits makes the file grow. NULL
 * with *err set on failure. */
struct store_txn *store_begin_read(struct store *store, struct error *err);
void store_end_read(struct store_txn *txn); /* NULL is legal */
/* The number of the commit a transaction sees; it grows with every commit of a store. */
uint64_t store_commit(const struct store_txn *txn);
/* Whether the path still leads to the file that is open, and all of it is there. False with *err set when it
 * was removed, replaced or cut short: what is open is then nobody's any more, and a file cut short must not
 * be read, because a look behind its end kills the process. For who keeps a store open for long; any thread.
 */
bool store_in_place(struct store *store, struct error *err);

/* Runs `change` in a write transaction and commits it durably; `change` sees what it has written. When the
 * map is full it is aborted, the map grown and `change` run again from the start, so it must not have effects
 * of its own. The map starts with address space enough for any store; where ulimit -v denied that, growing
 * fails with a message while this process has read transactions open. Threads take turns; not from inside
 * `change`. False with *err set when `change` returns false (it has set *err; nothing is committed) or the
 * commit fails. */
bool store_update(struct store *store, bool (*change)(struct store_txn *txn, void *ctx, struct error *err),
                  void *ctx, struct error *err);

/* ---- reading: *found tells whether there is one; false only for an error ---- */
bool store_get_source(struct store_txn *txn, const struct hash *path_hash, struct arena *arena,
                      struct source_record *record, bool *found, struct error *err);
bool store_get_container(struct store_txn *txn, const struct hash *container, struct arena *arena,
                         struct container_record *record, bool *found, struct error *err);
bool store_get_resource(struct store_txn *txn, const struct hash *container, uint32_t index,
                        struct arena *arena, struct resource_record *record, bool *found, struct error *err);
/* Adds the candidates of a resource to its record, which was read before; without any nothing changes. */
bool store_get_candidates(struct store_txn *txn, const struct hash *container, struct arena *arena,
                          struct resource_record *record, struct error *err);
/* Adds the coverage map to a container's record, which was read before; without one nothing changes. */
bool store_get_coverage(struct store_txn *txn, const struct hash *container, struct arena *arena,
                        struct container_record *record, struct error *err);
bool store_has_geometry(struct store_txn *txn, const struct hash *geometry, bool *found, struct error *err);
/* Walks what is stored of contents, live or not, by the heads of their records, leaving out those that cannot
 * be read; and of geometries by their keys alone. In key order; `each` returns false to stop. */
bool store_each_content(struct store_txn *txn,
                        bool (*each)(const struct hash *container, const struct container_head *head,
                                     void *ctx),
                        void *ctx, struct error *err);
bool store_each_geometry(struct store_txn *txn, bool (*each)(const struct hash *geometry, void *ctx),
                         void *ctx, struct error *err);
/* How many geometries there are, and how many bytes of the file their pages take: what can be told without
 * reading them. store_stat says more. */
bool store_geometry_pages(struct store_txn *txn, uint64_t *count, uint64_t *bytes, struct error *err);
/* Appends the canonical bytes of a geometry to `out`; they are hashed again and must give their key. */
bool store_get_geometry(struct store_txn *txn, const struct hash *geometry, struct buffer *out, bool *found,
                        struct error *err);

/* The places of a content: paths in byte order, so paths[0] is the `container` of JSON and the rest are
 * `also`. *stem is that of paths[0] (NULL when it has none); `stem` NULL: not wanted. */
bool store_places(struct store_txn *txn, const struct hash *container, struct arena *arena,
                  const char ***paths, size_t *count, const char **stem, struct error *err);

/* Resources of that name (a directory's, or a file name less its ending), and those that share a geometry;
 * sorted by container hash, then index. */
bool store_find_name(struct store_txn *txn, const char *name, struct arena *arena, struct resource_key **keys,
                     size_t *count, struct error *err);
bool store_find_geometry(struct store_txn *txn, const struct hash *geometry, struct arena *arena,
                         struct resource_key **keys, size_t *count, struct error *err);

/* Walks in key order. The callback returns false to stop; its records live until it returns. Only live
 * contents, those with a place, are walked. False only for an error. */
bool store_each_source(struct store_txn *txn,
                       bool (*each)(const struct hash *path_hash, const struct source_record *record,
                                    void *ctx),
                       void *ctx, struct error *err);
bool store_each_container(struct store_txn *txn,
                          bool (*each)(const struct hash *container, const struct container_record *record,
                                       void *ctx),
                          void *ctx, struct error *err);
/* The same by the heads of the records, several times as fast. The whole record of one that is wanted is
 * found the sooner for being the one the walk stands on. */
bool store_each_container_head(struct store_txn *txn,
                               bool (*each)(const struct hash *container, const struct container_head *head,
                                            void *ctx),
                               void *ctx, struct error *err);
/* Sources of which `wanted`, which sees the head of every one, says true. */
bool store_each_source_if(struct store_txn *txn, bool (*wanted)(const struct source_head *head, void *ctx),
                          bool (*each)(const struct hash *path_hash, const struct source_record *record,
                                       void *ctx),
                          void *ctx, struct error *err);
/* Live contents that have a stem in common with another one; a content comes once for each such stem. */
bool store_each_namesake(struct store_txn *txn, bool (*each)(const struct hash *container, void *ctx),
                         void *ctx, struct error *err);
bool store_each_resource(struct store_txn *txn,
                         bool (*each)(const struct resource_key *key, const struct resource_record *record,
                                      void *ctx),
                         void *ctx, struct error *err);
/* The resources of one container, by index. */
bool store_each_resource_of(struct store_txn *txn, const struct hash *container,
                            bool (*each)(const struct resource_key *key, const struct resource_record *record,
                                         void *ctx),
                            void *ctx, struct error *err);
bool store_each_run(struct store_txn *txn, bool (*each)(const struct run_record *record, void *ctx),
                    void *ctx, struct error *err);

/* ---- what the global passes made of it (pipeline/resolve.h) ---- */
/* The outcome of one resource, where it is not what the decoder said. */
bool store_get_resolved(struct store_txn *txn, const struct resource_key *key, struct arena *arena,
                        struct resolved_record *record, bool *found, struct error *err);
/* Puts the outcome, if there is one, in the place of what the decoder said (resolved_apply). *outcome is zero
 * when there is none. */
bool store_apply_resolved(struct store_txn *txn, const struct hash *container, struct arena *arena,
                          struct resource_record *record, struct resolved_record *outcome, struct error *err);
/* All outcomes of a container's resources, by index: for a walk, which would look up each. */
struct resolved_entry {
    uint32_t index;
    struct resolved_record outcome;
};
bool store_resolved_of(struct store_txn *txn, const struct hash *container, struct arena *arena,
                       struct resolved_entry **list, size_t *count, struct error *err);
/* Turns a container's counts by the decoder's status into counts by outcome. */
bool store_resolved_counts(struct store_txn *txn, const struct hash *container,
                           uint32_t by_status[static RESOURCE_STATUS_COUNT], struct error *err);
/* Walks findings in the order of their keys; the callback returns false to stop. */
bool store_each_finding(struct store_txn *txn, bool (*each)(const struct finding_record *record, void *ctx),
                        void *ctx, struct error *err);
/* All captures, earlier ones first. */
bool store_get_captures(struct store_txn *txn, struct arena *arena, struct capture_record **captures,
                        size_t *count, struct error *err);
/* The newest census of declined resources, and the one of the run before; without rows where there is none.
 */
bool store_get_declined(struct store_txn *txn, struct arena *arena, struct declined_census census[static 2],
                        struct error *err);
/* The greatest id of a stored run; 0 when there is none. */
bool store_last_run(struct store_txn *txn, uint64_t *run, struct error *err);

/* ---- writing, inside store_update ---- */
/* Records a place: the source, the content's place set, its parent's member set, and with a stem the name
 * that it gives to nameless resources. Replaces what stood under the same path. The record of its content
 * belongs into the same update, unless the store has it: a place without one is a problem to store_check. */
bool store_put_source(struct store_txn *txn, const struct source_record *record, struct error *err);
/* Removes a place, and its members in turn; nothing when there is none. */
bool store_drop_source(struct store_txn *txn, const struct hash *path_hash, struct error *err);
/* Removes members of `parent` that `run` has not seen, and their members in turn: what an archive held before
 * it changed. `seen`: how many different members the run has put, which spares looking at each when there are
 * no others; UINT64_MAX when it is not known. */
bool store_drop_unseen(struct store_txn *txn, const struct hash *parent_path, uint64_t run, uint64_t seen,
                       struct error *err);
/* Replaces a content's record, its coverage map, and its resources with their candidates. resources[i] are
 * written under their resource.index; two of one index are an error. record->container.resource_count and
 * by_status count them, which store_check compares. */
bool store_put_container(struct store_txn *txn, const struct hash *container,
                         const struct container_record *record, const struct resource_record *resources,
                         size_t resource_count, struct error *err);
/* Keeps an encoded geometry (codec.h) unless its key is there already, in which case the bytes are compared:
 * other bytes under one hash are an error. That the hash is the one of its bytes is the caller's word. At
 * most 4 GiB. */
bool store_put_geometry(struct store_txn *txn, const struct hash *geometry, const uint8_t *encoded,
                        size_t size, struct error *err);
bool store_put_run(struct store_txn *txn, const struct run_record *record, struct error *err);
/* The id the next run takes: one more than the greatest stored. */
bool store_next_run(struct store_txn *txn, uint64_t *id, struct error *err);

/* All that the passes say of the whole store. What is stored already stays untouched, what is not among it
 * goes, but for the censuses of other runs; *changed counts values written or removed. */
struct store_resolution {
    const struct resource_key *keys; /* [outcome_count], each once */
    const struct resolved_record *outcomes;
    size_t outcome_count;
    const struct finding_record *findings;
    size_t finding_count;
    const struct declined_census *census;
};
bool store_put_resolution(struct store_txn *txn, const struct store_resolution *resolution, uint64_t *changed,
                          struct error *err);
/* Forgets the outcome of a resource whose record is about to be replaced or removed. */
bool store_drop_resolved(struct store_txn *txn, const struct resource_key *key, struct error *err);
bool store_put_capture(struct store_txn *txn, const struct capture_record *record, struct error *err);
bool store_drop_capture(struct store_txn *txn, const struct capture_record *record, struct error *err);

/* ---- writing much: everything that needs no transaction is done before it ----
 * A log collects puts. Records are serialised and get their checksums while they are in the cache of whoever
 * made them, each thread into a log of its own; store_commit_logs then only copies, in the order of the keys,
 * so that neighbours in a tree are written together.
 *
 * A log lies in memory that its owner gives, holds no pointers, and is never moved: one process may write it
 * and another put it. What was written up to a mark stays as it is whatever comes behind it. */
#define STORE_LOG_KINDS 4

/* How far a log is written: bytes of rows, and entries of each kind. All zero: it is empty. */
struct store_log_mark {
    uint64_t rows, entries[STORE_LOG_KINDS];
};

struct store_log {
    uint8_t *memory; /* page-aligned and zero where it was never written; address space is taken, pages only
                        as far as they are used */
    size_t size;     /* of it; a log that outgrows it fails as when memory runs out */
    struct store_log_mark mark; /* set to zero to write it from its beginning again */
    struct buffer scratch;      /* the writer's, a row being made */
};

/* Where a log keeps its parts, for whoever gives pages back: rows and entries of each kind lie from part[i]
 * on; parts are page-aligned and part[STORE_LOG_KINDS + 1] is the end. */
void store_log_parts(size_t size, size_t part[static STORE_LOG_KINDS + 2]);
/* How many bytes of each part the mark uses. */
void store_log_used(const struct store_log_mark *mark, size_t used[static STORE_LOG_KINDS + 1]);
void store_log_free(struct store_log *log); /* the scratch; the memory is its owner's. NULL is legal */

/* As store_put_source, store_put_container, store_put_geometry will do; nothing of the arguments is needed
 * afterwards. `order` tells which of several puts of one key counts, whatever log they are in: the last of a
 * source, the first of a container. False with *err set when memory runs out; the mark then stays. */
bool store_log_source(struct store_log *log, uint32_t order, const struct source_record *record,
                      struct error *err);
bool store_log_container(struct store_log *log, uint32_t order, const struct hash *container,
                         const struct container_record *record, const struct resource_record *resources,
                         size_t resource_count, struct error *err);
bool store_log_geometry(struct store_log *log, uint32_t order, const struct hash *geometry,
                        const uint8_t *encoded, size_t size, struct error *err);
/* Makes the puts of all logs, which stay as they are, in transactions of its own: several when they are much,
 * since the pages that one changes are in memory until its commit. Each leaves what readers, and a run that
 * goes on after a kill, may meet: geometry first, then contents with their resources, then all places at
 * once. `last` is called in that last one, as store_update calls `change`. A log whose bytes are none (its
 * writer may have been led astray by its input) is an error, ERROR_STORE, and of its transaction nothing is
 * put; what is read is bounded by the log's memory in any case. `verify`: also holds each value against its
 * checksum before it is put. False with *err set as store_update. */
bool store_commit_logs(struct store *store, const struct store_log *logs, size_t count, bool verify,
                       bool (*last)(struct store_txn *txn, void *ctx, struct error *err), void *ctx,
                       struct error *err);

/* ---- whole-store checks (store/check.c) ---- */
struct store_problem {
    const char *database; /* "geometry" */
    char key[80];         /* hex */
    char what[200];
};
/* Re-hashes every geometry, verifies every checksum and every reference in both directions. Calls `report`
 * for each problem. False only when the walk itself cannot go on (*err); *problems counts what was reported.
 */
bool store_check(struct store *store, void (*report)(const struct store_problem *problem, void *ctx),
                 void *ctx, uint64_t *problems, struct error *err);
/* One hash over the logical content: sources (without stat times, run numbers and outcome versions), live
 * containers, resources with their outcomes, through their hashes the geometry they name, which must be
 * there, and findings and captures; independent of insertion order, codec, and history. Outcomes of the
 * machine (crashed, timed-out, quarantined) are left out, with the places that have them. */
bool store_digest(struct store *store, struct hash *digest, struct error *err);

/* Sizes for `check` and `bench store`. Counts what is stored, contents without a place included. */
struct store_stat {
    uint64_t sources, containers, resources, geometries, runs;
    uint64_t geometry_raw, geometry_encoded; /* bytes */
    uint64_t file_bytes;                     /* used pages x page size */
};
bool store_stat(struct store *store, struct store_stat *stat, struct error *err);

#endif
