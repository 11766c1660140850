/* tree.h - the pages of an LMDB file, read without LMDB and without believing any of them.
 *
 * LMDB trusts its pages: one wrong bit in a tree can fault, or, worse, leave rows out. Values have checksums
 * of this program's; what leads to them has none, but it is redundant enough that every single wrong bit
 * shows: a page carries its own number, keys ascend and stay between the separators above them, counts of
 * pages and entries are written down, each page of a file is exactly one of: a head, in one tree once, or
 * free, and this program writes down the sum of its keys (KEY_SUMS). This is the walk that holds all that.
 * Opening a store does it (tree_verify), `check` goes deeper, and `repair` goes on where something is wrong,
 * with the range of keys that is missing.
 *
 * Layout: LMDB 0.9 (mdb.c, "Page formats"), 64-bit; numbers are in the machine's byte order. Pure reading of
 * memory; any thread.
 */
#ifndef ANCHORAGE_TREE_H
#define ANCHORAGE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

/* MDB_db: a tree. */
struct tree_db {
    uint32_t value_size; /* of values of a fixed size; 0 otherwise */
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
#define TREE_EMPTY UINT64_MAX /* root of a tree without pages */

/* A head page: one commit. */
struct tree_meta {
    uint32_t page_size;
    uint64_t pages, commit; /* pages: counted by it, heads included */
    struct tree_db free, main;
};

struct tree_file {
    const uint8_t *bytes;
    uint64_t size;
    struct tree_meta meta;
};

struct tree_key {
    const uint8_t *bytes; /* NULL: no bound */
    size_t size;
};

/* One thing wrong. Keys k of the tree with from <= k < to may be missing, each where it is not NULL. */
struct tree_damage {
    const char *database; /* "resources", or LMDB's own: "main", "free" */
    uint64_t page;
    const char *what;
    struct tree_key from, to;
};

struct tree_walk {
    const struct tree_file *file;
    uint64_t *used; /* a bit a page, from tree_walk_begin */
    /* A key and one of its values, in order; NULL: not wanted. `subtree`: the value is a struct MDB_db. */
    void (*entry)(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                  bool subtree, void *ctx);
    /* False stops the walk. */
    bool (*damage)(const struct tree_damage *damage, void *ctx);
    void *ctx;
    /* The walk's own. */
    const char *database;
    bool stopped;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries;
    unsigned depth;
};

/* Reads a head page, number 0 or 1, of which `size` bytes (512 do) are there: number 1 lies one page size
 * behind number 0. False when it is none. */
bool tree_read_meta(const uint8_t *page, size_t size, unsigned number, struct tree_meta *meta);
/* Whether `size` bytes, one of a file's first two pages, say to be LMDB's, whatever else is wrong with them.
 */
bool tree_has_magic(const uint8_t *page, size_t size);
/* Reads a struct MDB_db of TREE_DB_SIZE bytes. */
#define TREE_DB_SIZE 48
struct tree_db tree_read_db(const uint8_t *bytes);

/* Makes the bitmap, with the heads in it. False when memory runs out, or the head counts more pages than a
 * file of that size can hold. */
bool tree_walk_begin(struct tree_walk *walk, const struct tree_file *file);
void tree_walk_end(struct tree_walk *walk);
/* Walks one tree under a name. True when nothing was wrong. */
bool tree_walk_db(struct tree_walk *walk, const struct tree_db *db, const char *name);
/* Marks the pages of the list of free ones, which is in the tree of that name. True when nothing was wrong.
 */
bool tree_walk_free(struct tree_walk *walk);
bool tree_is_used(const struct tree_walk *walk, uint64_t page);

/* The whole of a file by its head: the tree of trees, each tree in it, the free list, and that nothing is
 * left over. False with *err set (ERROR_STORE, "page 12 of resources: ...") for the first thing wrong. */
bool tree_verify(const struct tree_file *file, struct error *err);

/* A page that no tree leads to, taken for a leaf with whole values: calls entry for what is sound in it. */
void tree_scan_leaf(struct tree_walk *walk, uint64_t page);

#endif
