/* rebuild.c - see rebuild.h */
#include "store/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What one transaction writes; its pages are in memory until it is committed. */
#define BATCH_BYTES ((size_t)24 << 20)

bool rebuild_open(struct rebuild *rebuild, const char *path, bool single, struct error *err)
{
    char data[4096];
    struct stat status;
    *rebuild = (struct rebuild){.lock_fd = -1};
    snprintf(data, sizeof data, "%s%s", path, single ? "" : "/data.mdb");
    int fd = open(data, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        error_set_system(err, ERROR_STORE, errno, "store '%s'", path);
    else if (status.st_size < 2 * 512)
        error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "store '%s' has no heads: nothing can be had of it",
                  path);
    if (err->code == ERROR_NONE) {
        void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            error_set_system(err, ERROR_STORE, errno, "store '%s' cannot be mapped", path);
        else
            rebuild->file = (struct tree_file){.bytes = map, .size = (uint64_t)status.st_size};
    }
    if (fd >= 0)
        close(fd);
    return err->code == ERROR_NONE;
}

void rebuild_close(struct rebuild *rebuild)
{
    if (rebuild->file.bytes)
        munmap((void *)(uintptr_t)rebuild->file.bytes, rebuild->file.size);
    if (rebuild->lock_fd >= 0)
        close(rebuild->lock_fd);
    for (int db = 0; db < DB_COUNT; db++)
        buffer_free(&rebuild->entries[db]);
    *rebuild = (struct rebuild){.lock_fd = -1};
}

/* ---- the index ---- */

unsigned rebuild_heads(const struct rebuild *rebuild, struct tree_meta heads[static 2])
{
    const struct tree_file *file = &rebuild->file;
    unsigned count = tree_read_meta(file->bytes, file->size, 0, &heads[0]);
    /* Without the first head the second is looked for where it usually is. */
    size_t page_size = count ? heads[0].page_size : 4096;
    if (file->size >= 2 * page_size && tree_read_meta(file->bytes + page_size, page_size, 1, &heads[count]) &&
        heads[count].page_size == page_size)
        count++;
    if (count == 2 && heads[1].commit > heads[0].commit) {
        struct tree_meta newest = heads[1];
        heads[1] = heads[0];
        heads[0] = newest;
    }
    return count;
}

struct reading {
    struct rebuild *rebuild;
    struct tree_db trees[DB_COUNT];
    uint64_t *counted;
    bool failed;
    bool (*damage)(const struct tree_damage *damage, void *ctx); /* the caller's */
    void *ctx;
};

static void take_tree(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                      bool subtree, void *ctx)
{
    struct reading *reading = ctx;
    enum store_db db = store_db_of((const char *)key->bytes, key->size);
    (void)database, (void)size;
    if (!subtree || db == DB_COUNT)
        return;
    reading->trees[db] = tree_read_db(value);
    reading->counted[db] = reading->trees[db].entries;
}

static void take_entry(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                       bool subtree, void *ctx)
{
    struct reading *reading = ctx;
    enum store_db db = store_db_of(database, strlen(database));
    if (!subtree && !rebuild_add(reading->rebuild, db, key, value, size, false))
        reading->failed = true;
}

static bool pass_damage(const struct tree_damage *damage, void *ctx)
{
    const struct reading *reading = ctx;
    return reading->damage && reading->damage(damage, reading->ctx);
}

bool rebuild_read(struct rebuild *rebuild, struct tree_walk *walk, uint64_t counted[static DB_COUNT])
{
    struct reading reading = {
        .rebuild = rebuild, .counted = counted, .damage = walk->damage, .ctx = walk->ctx};
    for (int db = 0; db < DB_COUNT; db++) {
        reading.trees[db] = (struct tree_db){.root = TREE_EMPTY};
        counted[db] = UINT64_MAX;
    }
    walk->damage = pass_damage;
    walk->ctx = &reading;
    walk->entry = take_tree;
    tree_walk_db(walk, &rebuild->file.meta.main, "main");
    walk->entry = take_entry;
    for (int db = 0; db < DB_COUNT; db++)
        tree_walk_db(walk, &reading.trees[db], store_db_name((enum store_db)db));
    walk->entry = NULL;
    walk->damage = reading.damage;
    walk->ctx = reading.ctx;
    return !reading.failed;
}

bool rebuild_add(struct rebuild *rebuild, enum store_db db, const struct tree_key *key, const uint8_t *stored,
                 size_t size, bool stray)
{
    if (key->size > RESOURCE_KEY_SIZE || size > UINT32_MAX)
        return true; /* no entry of a store: nothing of it is kept */
    struct rebuild_entry entry = {key->bytes, stored, (uint32_t)size, (uint8_t)key->size, stray, false};
    buffer_append(&rebuild->entries[db], &entry, sizeof entry);
    return !rebuild->entries[db].failed;
}

static int compare_key(const struct rebuild_entry *entry, const void *key, size_t size)
{
    int order = memcmp(entry->key, key, entry->key_size < size ? entry->key_size : size);
    return order ? order : (entry->key_size > size) - (entry->key_size < size);
}

static int compare_entries(const void *a, const void *b)
{
    const struct rebuild_entry *x = a, *y = b;
    int order = compare_key(x, y->key, y->key_size);
    return order ? order : (int)x->stray - (int)y->stray;
}

static int compare_references(const void *a, const void *b)
{
    const struct rebuild_entry *x = a, *y = b;
    int order = compare_key(x, y->key, y->key_size);
    if (order == 0)
        order = memcmp(x->stored, y->stored, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

void rebuild_sort(struct rebuild *rebuild)
{
    for (int db = 0; db < DB_COUNT; db++) {
        size_t count, kept = 0;
        bool set = store_db_is_set((enum store_db)db);
        struct rebuild_entry *list = rebuild_list(rebuild, (enum store_db)db, &count);
        if (count)
            qsort(list, count, sizeof *list, set ? compare_references : compare_entries);
        for (size_t i = 0; i < count; i++)
            if (!kept || (set ? compare_references(&list[kept - 1], &list[i])
                              : compare_key(&list[kept - 1], list[i].key, list[i].key_size)) != 0)
                list[kept++] = list[i];
        rebuild->entries[db].size = kept * sizeof *list;
    }
}

struct rebuild_entry *rebuild_from(const struct rebuild *rebuild, enum store_db db, const void *key,
                                   size_t size)
{
    size_t count, low = 0;
    struct rebuild_entry *list = rebuild_list(rebuild, db, &count);
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare_key(&list[middle], key, size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? &list[low] : NULL;
}

struct rebuild_entry *rebuild_find(const struct rebuild *rebuild, enum store_db db, const void *key,
                                   size_t size)
{
    struct rebuild_entry *entry = rebuild_from(rebuild, db, key, size);
    return entry && compare_key(entry, key, size) == 0 ? entry : NULL;
}

bool rebuild_value(enum store_db db, const struct rebuild_entry *entry, struct value *value)
{
    const MDB_val key = {entry->key_size, (void *)(uintptr_t)entry->key};
    const MDB_val stored = {entry->size, (void *)(uintptr_t)entry->stored};
    struct error ignored = {0};
    return value_verify(db, &key, &stored, value, &ignored);
}

/* ---- writing ---- */

struct batch {
    const struct rebuild *rebuild;
    enum store_db db;
    size_t from, to; /* entries; what is not kept is passed over */
};

static bool put_raw(struct store_txn *txn, enum store_db db, const struct rebuild_entry *entry,
                    struct error *err)
{
    return value_put_stored(txn, db, entry->key, entry->key_size, entry->stored, entry->size, NULL, NULL,
                            err);
}

/* What is kept has been read before. */
static bool put_source(struct store_txn *txn, const struct rebuild *rebuild, const struct value *value,
                       struct error *err)
{
    struct source_record record;
    if (!source_read(value->bytes, value->size, &txn->arena, &record, err))
        return false;
    if (record.run > rebuild->last_run)
        record.run = 0;
    return store_put_source(txn, &record, err);
}

static bool put_resource(struct store_txn *txn, const struct rebuild_entry *entry, const struct value *value,
                         struct error *err)
{
    struct resource_record record;
    if (!resource_read(value->bytes, value->size, &txn->arena, &record, err) ||
        !put_raw(txn, DB_RESOURCES, entry, err))
        return false;
    if (record.resource.name) {
        struct hash name = hash_text(record.resource.name);
        if (!set_add(txn, DB_NAMES, &name, entry->key, entry->key_size, err))
            return false;
    }
    return hash_is_zero(&record.geometry) ||
           set_add(txn, DB_USES, &record.geometry, entry->key, entry->key_size, err);
}

static bool put_resolved(struct store_txn *txn, const struct rebuild_entry *entry, const struct value *value,
                         struct error *err)
{
    struct resolved_record record;
    return resolved_read(value->bytes, value->size, &txn->arena, &record, err) &&
           put_raw(txn, DB_RESOLVED, entry, err) &&
           (hash_is_zero(&record.geometry) ||
            set_add(txn, DB_USES, &record.geometry, entry->key, entry->key_size, err));
}

static bool write_entry(struct store_txn *txn, const struct batch *batch, const struct rebuild_entry *entry,
                        struct error *err)
{
    struct value value;
    arena_reset(&txn->arena);
    if (!rebuild_value(batch->db, entry, &value))
        return store_bad_record(batch->db, entry->key, entry->key_size, err);
    switch (batch->db) {
    case DB_SOURCES:
        return put_source(txn, batch->rebuild, &value, err);
    case DB_RESOURCES:
        return put_resource(txn, entry, &value, err);
    case DB_RESOLVED:
        return put_resolved(txn, entry, &value, err);
    default:
        return put_raw(txn, batch->db, entry, err);
    }
}

static bool write_batch(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct batch *batch = ctx;
    size_t count;
    const struct rebuild_entry *list = rebuild_list(batch->rebuild, batch->db, &count);
    for (size_t i = batch->from; i < batch->to; i++)
        if (list[i].keep && !write_entry(txn, batch, &list[i], err))
            return false;
    return true;
}

bool rebuild_write(const struct rebuild *rebuild, struct store *out, struct error *err)
{
    for (int db = 0; db < DB_COUNT; db++) {
        struct batch batch = {.rebuild = rebuild, .db = (enum store_db)db};
        size_t count, bytes = 0;
        const struct rebuild_entry *list = rebuild_list(rebuild, batch.db, &count);
        if (store_db_is_set(batch.db) || db == DB_META) /* made with the store, or from the records */
            continue;
        while (batch.to < count) {
            bytes += list[batch.to].keep ? list[batch.to].size : 0;
            batch.to++;
            if (bytes < BATCH_BYTES && batch.to < count)
                continue;
            if (!store_update(out, write_batch, &batch, err))
                return false;
            batch.from = batch.to;
            bytes = 0;
        }
    }
    return true;
}
