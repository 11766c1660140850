/* rebuild.h - a store read as a list of its entries, and written anew from those that are kept.
 *
 * Repairing and pruning differ only in what they keep. Both read the file's pages (tree.h) into an index that
 * points into its mapping, mark what is kept, and write that into a new store in key order; references
 * between records are made anew from the records, so they fit whatever was left out. Memory: 32 bytes an
 * entry.
 */
#ifndef ANCHORAGE_REBUILD_H
#define ANCHORAGE_REBUILD_H

#include "store/store_internal.h"
#include "store/tree.h"

struct rebuild_entry {
    const uint8_t *key, *stored; /* the value as it is stored, checksum in front */
    uint32_t size;               /* of stored */
    uint8_t key_size;
    bool stray; /* found on a page that no tree leads to: gives way to one that a tree leads to */
    bool keep;
};

struct rebuild {
    struct tree_file file;           /* mapped */
    int lock_fd;                     /* of the writer's lock, when rebuild_open took it; else -1 */
    struct buffer entries[DB_COUNT]; /* of struct rebuild_entry, by key; of sets one for each value */
    /* Sources that a later run than this saw are written as seen by none, so that no run of the same number
     * takes them for seen. */
    uint64_t last_run;
};

/* Maps the data file of the store at `path`. False with *err set. */
bool rebuild_open(struct rebuild *rebuild, const char *path, bool single, struct error *err);
void rebuild_close(struct rebuild *rebuild);

/* The heads that can be read, newest first; how many. */
unsigned rebuild_heads(const struct rebuild *rebuild, struct tree_meta heads[static 2]);
/* Reads the trees of rebuild->file.meta with a walk that was begun, whose `damage` and `ctx` are the
 * caller's. counted[db]: the entries that a tree says to have, UINT64_MAX when it was not found. False when
 * memory runs out. rebuild_sort is to follow. */
bool rebuild_read(struct rebuild *rebuild, struct tree_walk *walk, uint64_t counted[static DB_COUNT]);

static inline struct rebuild_entry *rebuild_list(const struct rebuild *rebuild, enum store_db db,
                                                 size_t *count)
{
    *count = rebuild->entries[db].size / sizeof(struct rebuild_entry);
    return (struct rebuild_entry *)rebuild->entries[db].data;
}
/* Adds an entry; rebuild_sort when all are added, which drops those whose key was added before (of sets: key
 * and value). False when memory runs out. */
bool rebuild_add(struct rebuild *rebuild, enum store_db db, const struct tree_key *key, const uint8_t *stored,
                 size_t size, bool stray);
void rebuild_sort(struct rebuild *rebuild);
/* The first entry of a key not below the one given; NULL behind the last. */
struct rebuild_entry *rebuild_from(const struct rebuild *rebuild, enum store_db db, const void *key,
                                   size_t size);
/* The entry of a key, NULL when there is none. */
struct rebuild_entry *rebuild_find(const struct rebuild *rebuild, enum store_db db, const void *key,
                                   size_t size);
/* Its payload, when the checksum holds. */
bool rebuild_value(enum store_db db, const struct rebuild_entry *entry, struct value *value);

/* Writes what is kept, but for sets, into a new store. False with *err set. */
bool rebuild_write(const struct rebuild *rebuild, struct store *out, struct error *err);

#endif
