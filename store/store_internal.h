/* store_internal.h - what the files of the store share. Nothing outside store/ includes it, except its tests.
 *
 * store.c opens, locks and commits; store_value.c keeps checksums and dup sets; store_read.c, store_write.c
 * and check.c are written on those.
 */
#ifndef ANCHORAGE_STORE_INTERNAL_H
#define ANCHORAGE_STORE_INTERNAL_H

#include <lmdb.h>
#include <pthread.h>
#include <sys/types.h>

#include "formats/reader.h"
#include "store/store.h"

/* The databases, in the order of store/README.md. "Set" marks those of DUPSORT: a key has a sorted set of
 * values, which are references without a checksum; every reference can be told from what it names. */
enum store_db {
    DB_META,
    DB_SOURCES,    /* path hash -> source record */
    DB_PLACES,     /* set: container hash -> path hashes */
    DB_MEMBERS,    /* set: parent's path hash -> path hashes */
    DB_STEMS,      /* set: hash of a stem -> path hashes */
    DB_CONTAINERS, /* container hash -> container record */
    DB_RESOURCES,  /* container hash, u32 BE index -> resource record */
    DB_NAMES,      /* set: hash of a name -> resource keys */
    DB_CANDIDATES, /* container hash, u32 BE index -> candidates record, of resources that have some */
    DB_COVERAGE,   /* container hash -> coverage record */
    DB_RESOLVED,   /* container hash, u32 BE index -> resolved record, where the passes changed something */
    DB_FINDINGS,   /* hash of what it is about -> finding record */
    DB_CAPTURES,   /* hash of what it says -> capture record */
    DB_DECLINED,   /* u64 BE run -> census of declined resources */
    DB_GEOMETRY,   /* geometry hash -> encoded geometry */
    DB_USES,       /* set: geometry hash -> resource keys */
    DB_RUNS,       /* u64 BE -> run record */
    DB_PARTS,      /* hash of an archive's path, u32 BE shard -> part record: what one shard saw of it */
    DB_COUNT
};

#define CHECKSUM_SIZE     8
#define RESOURCE_KEY_SIZE (HASH_SIZE + 4)
/* Address space for the map, not memory and not disk: more than a store grows to, so that the map is almost
 * never made anew. Where a process may not have that much, the half is tried, and so on. */
#define STORE_MAP_RESERVE ((size_t)1 << 40)
#define STORE_MAP_LEAST   ((size_t)64 << 20)
/* A data file may end this many pages before the last page it counts: pages that one transaction took and
 * gave back at the end of the file are never written. Any more is missing. */
#define STORE_UNWRITTEN_PAGES 64

struct store {
    char *path;
    MDB_env *env;
    MDB_dbi dbi[DB_COUNT];
    int lock_fd; /* of the writer's lock; -1 for readers */
    bool writer, registered;
    bool sealed;  /* see store_is_sealed */
    dev_t device; /* of the data file: a process opens a store once */
    ino_t inode;
    struct store *next;
    pthread_mutex_t update; /* held by store_update */
    pthread_mutex_t mutex;  /* guards `readers`, `seen` and the map's place */
    off_t seen;             /* the data file's length at the last look: it only ever grows */
    unsigned readers;       /* open read transactions of this process: the map may not move under them */
};

struct store_txn {
    struct store *store;
    MDB_txn *txn;
    bool reading;                    /* of store_begin_read */
    bool map_full;                   /* a write failed for that alone: store_update tries again */
    struct buffer scratch, old_row;  /* what is being written; what a source put before */
    struct arena arena;              /* records being read on the way */
    struct buffer pending[DB_COUNT]; /* changes of sets not made yet; see set_add */
    MDB_cursor *cursors[DB_COUNT];   /* of value_put, or of value_get when reading; opened by the first */
    uint64_t key_sums[DB_COUNT];     /* see keys_load */
    bool keys_changed;
};

/* store_open with the size of the first map. */
struct store *store_open_map(const char *path, enum store_mode mode, bool wait_lock, size_t map,
                             struct error *err);

/* ERROR_STORE with the path, what was tried and LMDB's words for `rc`. Always false. */
bool store_fail(const struct store *store, int rc, const char *what, struct error *err);
/* The same for a write: notes a full map in the transaction. */
bool store_fail_write(struct store_txn *txn, int rc, const char *what, struct error *err);
/* ERROR_STORE: damaged, what of it, and what to do. Always false. */
bool store_damaged(const struct store *store, const char *what, struct error *err);
/* ERROR_NOMEM. Always false. */
bool store_nomem(struct error *err);
const char *store_db_name(enum store_db db);
/* The database of a name of `size` bytes; DB_COUNT when it is none. */
enum store_db store_db_of(const char *name, size_t size);
bool store_db_is_set(enum store_db db);

/* ---- store_lock.c: what surrounds LMDB; no LMDB in it ---- */
/* Refuses file systems that other machines write to. `path` exists. */
bool lock_check_filesystem(const char *path, struct error *err);
/* Takes the writer's lock kept in the file at `path`, which is made when absent; -1 with *err set. The lock
 * goes with the process, however it ends. */
int lock_take(const char *path, bool wait, struct error *err);

/* ---- guard.c ----
 * Damage that the walk over the pages did not meet, or that came after it, may fault inside LMDB. Between
 * enter and leave a fault of this thread (SIGSEGV, SIGBUS, SIGFPE, SIGABRT), and anywhere a fault in a
 * mapping of a store's file, ends the process with status 3 and a message that names the store and `repair`;
 * any other fault is left to whoever handled it before. Not nested. */
void guard_install(struct store *store); /* when its environment is open; guard_remove before it is closed */
void guard_remove(const struct store *store);
void guard_enter(const struct store *store);
void guard_leave(void);
void guard_assertion(MDB_env *env, const char *message);

/* ---- store_value.c ---- */
struct value {
    const uint8_t *bytes; /* in the map: good until the transaction ends or writes */
    size_t size;
};
/* The payload under the key when its checksum holds. Of a reading transaction, keys in their order are found
 * on the page of the one before them, without a descent. */
bool value_get(struct store_txn *txn, enum store_db db, const void *key, size_t key_size, struct value *value,
               bool *found, struct error *err);
/* Verifies a value as it is stored, checksum in front, and gives its payload. */
bool value_verify(enum store_db db, const MDB_val *key, const MDB_val *stored, struct value *payload,
                  struct error *err);
/* Writes checksum and payload. With `existing` not NULL a value that is there stays, goes to *existing as
 * stored and *existed is set. */
bool value_put(struct store_txn *txn, enum store_db db, const void *key, size_t key_size, const void *payload,
               size_t size, MDB_val *existing, bool *existed, struct error *err);
/* The same for a value as it is stored, whose checksum is there already. */
bool value_put_stored(struct store_txn *txn, enum store_db db, const void *key, size_t key_size,
                      const void *stored, size_t size, MDB_val *existing, bool *existed, struct error *err);
/* Writes the checksum of a value into its first bytes; stored[CHECKSUM_SIZE..size) is the payload. */
void value_seal(uint8_t *stored, size_t size, const void *key, size_t key_size);
/* Whether they are what value_seal writes. */
bool value_is_sealed(const uint8_t *stored, size_t size, const void *key, size_t key_size);
bool value_delete(struct store_txn *txn, enum store_db db, const void *key, size_t key_size,
                  struct error *err);

/* ---- which keys there are ----
 * A wrong bit in a key is not in the value whose checksum would show it when nobody looks under the wrong
 * key: the row would be missing without a word. So `meta` has, under KEY_SUMS, a u64 for each database in the
 * order of enum store_db, the sum modulo 2^64 of key_sum over its entries (0 for `meta` itself). A write
 * transaction takes the sums in at its begin, follows each put and delete, and writes them back before its
 * commit; tree_verify sums again. */
#define KEY_SUMS "keys"
/* What an entry adds: XXH3-64 of the key, of a set's of the key and the value behind it (else NULL). */
uint64_t key_sum(const void *key, size_t key_size, const void *value, size_t value_size);
/* Reads a row of sums; databases that it does not have yet sum to 0. False when it cannot be one. */
bool keys_read(const struct value *value, uint64_t sums[static DB_COUNT]);
bool keys_load(struct store_txn *txn, struct error *err);
bool keys_save(struct store_txn *txn, struct error *err);
/* An entry is new; `value` counts for sets only. */
void keys_add(struct store_txn *txn, enum store_db db, const MDB_val *key, const MDB_val *value);

/* Adds to and removes from the set under a key; nothing happens when it is as wanted already. Keys are
 * hashes, so changes in the order of the input touch pages all over the tree; they are collected and made in
 * key order by set_flush, which the functions below and the commit call for themselves. */
bool set_add(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value, size_t size,
             struct error *err);
bool set_remove(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value,
                size_t size, struct error *err);
bool set_flush(struct store_txn *txn, enum store_db db, struct error *err);
bool set_has(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value, size_t size,
             bool *found, struct error *err);
/* Appends the values of a set, which have `size` bytes each, to the list, in their order. */
bool set_collect(struct store_txn *txn, enum store_db db, const struct hash *key, size_t size,
                 struct buffer *list, struct error *err);
/* How many values the set of that key has. */
bool set_count(struct store_txn *txn, enum store_db db, const struct hash *key, uint64_t *count,
               struct error *err);
/* Whether the key has any value: of DB_PLACES, whether a content is live. */
bool set_any(struct store_txn *txn, enum store_db db, const struct hash *key, bool *found, struct error *err);

/* Walks a database in key order, sets value by value, from the first key not below `from` on (NULL: from the
 * start). False from `each` stops and is no error unless *err is set. Nothing may be written meanwhile. */
bool db_each(struct store_txn *txn, enum store_db db, const void *from, size_t from_size,
             bool (*each)(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err), void *ctx,
             struct error *err);

/* Sorts elements of `size` bytes that begin with a hash as `compare` says, which must agree with the order of
 * those hashes. Hashes are spread evenly, so this is mostly one distribution by their leading bits; where
 * they are not (equal keys of a set, made-up collisions) it is as fast as qsort. */
void hash_sort(void *elements, size_t count, size_t size, int (*compare)(const void *, const void *));

/* ---- store_log.c ---- */
/* One change of a put, its bytes behind it: a value as it is stored, or a reference to add to a set. */
struct change {
    size_t size;
    uint8_t db, key_size, key[RESOURCE_KEY_SIZE];
    uint8_t bytes[];
};
#define CHANGE_HEAD offsetof(struct change, bytes)
/* The change behind this one, or the end of the row. */
const struct change *change_next(const struct change *change);

/* A put: changes one after the other, the record itself first. Made of an empty buffer. */
struct row {
    struct buffer *bytes;
    size_t count;
};
/* What a source or a container with its resources puts. False when memory runs out. */
bool row_source(struct row *row, const struct hash *path, const struct source_record *record);
bool row_container(struct row *row, const struct hash *container, const struct container_record *record,
                   const struct resource_record *resources, size_t resource_count);

enum log_kind { LOG_GEOMETRIES, LOG_CONTAINERS, LOG_SOURCES, LOG_PARTS, LOG_KINDS };

struct log_entry {
    struct hash key; /* of the record; first, for hash_sort */
    uint32_t order, count;
    const struct change *row; /* [count] */
    const uint8_t *end;       /* of the rows it is among */
};
/* The entries of all logs as an array of struct log_entry in the order of keys, equal ones in that of
 * `order`. */
bool log_sorted(const struct store_log *logs, size_t count, enum log_kind kind, struct buffer *list,
                struct error *err);
/* Whether a row is what that kind of put consists of, and ends where it should: before anything of it is
 * used. *size: its bytes. */
bool log_check_row(const struct log_entry *entry, enum log_kind kind, bool verify, size_t *size,
                   struct error *err);

static inline void resource_key_write(uint8_t out[static RESOURCE_KEY_SIZE], const struct resource_key *key)
{
    memcpy(out, key->container.bytes, HASH_SIZE);
    for (unsigned i = 0; i < 4; i++)
        out[HASH_SIZE + i] = (uint8_t)(key->index >> (24 - 8 * i));
}
static inline struct resource_key resource_key_read(const uint8_t bytes[static RESOURCE_KEY_SIZE])
{
    struct resource_key key = {.index = load_u32be(bytes + HASH_SIZE)};
    memcpy(key.container.bytes, bytes, HASH_SIZE);
    return key;
}
static inline struct hash hash_read(const void *bytes)
{
    struct hash hash;
    memcpy(hash.bytes, bytes, HASH_SIZE);
    return hash;
}
static inline struct hash hash_text(const char *text)
{
    return hash_bytes(text, strlen(text));
}

/* ---- store_write.c ---- */
/* Whether two encodings of a geometry hold the same bytes. Equal encodings do; others are decoded. */
bool same_geometry(const struct value *a, const uint8_t *b, size_t b_size, bool *same, struct error *err);

/* ---- check.c: whether what a set names has what the set is kept for ---- */
bool source_belongs(enum store_db db, const struct source_record *record, const struct hash *key);
bool resource_belongs(enum store_db db, const struct resource_record *record, const struct hash *key);

/* Says which record of which key cannot be read; a failure to read one is a failure of the store. Always
 * false. */
bool store_bad_record(enum store_db db, const void *key, size_t key_size, struct error *err);

#endif
