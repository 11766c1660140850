/* part.h - what one shard saw of an archive that several shards entered (pipeline/shard.h).
 *
 * Such an archive is listed by each of its shards, and each looks into its own members only. Its record and
 * its census are therefore known in parts, one from each shard, kept under the archive's path until all of
 * them are in one store; together they say what one machine would have said. Joining depends on the set of
 * parts alone, so neither the order of merges matters nor how often a part comes. Layout: store/README.md.
 */
#ifndef ANCHORAGE_PART_H
#define ANCHORAGE_PART_H

#include "store/store.h"

#define PART_NO_FAILURE UINT64_MAX

struct part_record {
    uint32_t shard, expected; /* which one, and how many shards enter this archive */
    uint64_t rule;            /* hash of the rule by which members were dealt out: parts of two do not fit */
    uint64_t bytes;           /* of the archive's file, and its time: the state of it that was read */
    int64_t mtime_ns;
    uint64_t first_failed; /* the place of its first member that could not be had, or PART_NO_FAILURE */
    uint64_t readable;     /* members of this shard whose bytes were had */
    /* A fault that is about where the archive lies (too deep, past a limit of the whole input), so that there
     * is no record of its content; NONE: there is none. And the place of the member that had it. */
    enum container_reason place_reason;
    uint64_t place_failed;
    const char *place_message;       /* NULL or "" without one */
    struct container_record archive; /* as this shard would have it if there were no other members */
};

bool part_write(struct buffer *out, const struct part_record *part);
bool part_read(const uint8_t *bytes, size_t size, struct arena *arena, struct part_record *part,
               struct error *err);

/* Inside store_update: keeps a part under its archive's path. */
bool store_put_part(struct store_txn *txn, const struct hash *path, const struct part_record *part,
                    struct error *err);
/* The same into a log, as store_log_source. */
bool store_log_part(struct store_log *log, uint32_t order, const struct hash *path,
                    const struct part_record *part, struct error *err);
/* Puts parts together: counts are summed, and of several faults the one of the earliest member stands, as in
 * a walk. FLAG_PARTIAL is set unless all expected parts are there. Lists live in the arena. False when memory
 * runs out. */
bool part_join(const struct part_record *parts, size_t count, struct arena *arena,
               struct container_record *archive);

/* Makes the record of every archive that has parts in the store from those that fit the state of its file. Of
 * archives that are complete by that the parts go. *incomplete counts the others; `report`, unless NULL, is
 * told the path of each and how many parts are missing. */
bool store_join_parts(struct store *store, void (*report)(const char *path, unsigned missing, void *ctx),
                      void *ctx, uint64_t *incomplete, struct error *err);

#endif
