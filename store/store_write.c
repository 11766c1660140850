/* store_write.c - typed writes, inside store_update. See store.h.
 *
 * What keeps the sets right: a record is replaced only together with the references that its old form had, so
 * each reference stands exactly as long as what it refers to.
 */
#include "store/store_internal.h"

#include <string.h>

/* ---- rows: what store_log.c makes of a record ---- */

/* Puts the record that a row begins with unless its key is there, as value_put_stored does. */
static bool put_head(struct store_txn *txn, const struct change *head, MDB_val *existing, bool *existed,
                     struct error *err)
{
    return value_put_stored(txn, head->db, head->key, head->key_size, head->bytes, head->size, existing,
                            existed, err);
}

static bool replace_head(struct store_txn *txn, const struct change *head, struct error *err)
{
    return value_put_stored(txn, head->db, head->key, head->key_size, head->bytes, head->size, NULL, NULL,
                            err);
}

/* Makes the changes behind the head, which are references and values of keys that were free. */
static bool put_rest(struct store_txn *txn, const struct change *change, size_t count, struct error *err)
{
    for (size_t i = 1; i < count; i++) {
        MDB_val existing;
        bool existed = false;
        change = change_next(change);
        struct hash key = hash_read(change->key);
        if (store_db_is_set(change->db) ? !set_add(txn, change->db, &key, change->bytes, change->size, err)
                                        : !put_head(txn, change, &existing, &existed, err))
            return false;
        if (existed) {
            error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "two %s of one index", store_db_name(change->db));
            return store_bad_record(change->db, change->key, change->key_size, err);
        }
    }
    return true;
}

/* ---- sources ---- */

/* Takes back the references behind the head of a source's row. */
static bool remove_references(struct store_txn *txn, const struct change *change, size_t count,
                              struct error *err)
{
    for (size_t i = 1; i < count; i++) {
        change = change_next(change);
        struct hash key = hash_read(change->key);
        if (!set_remove(txn, change->db, &key, change->bytes, change->size, err))
            return false;
    }
    return true;
}

static bool same_references(const struct change *a, size_t a_count, const struct change *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 1; i < a_count; i++) {
        a = change_next(a);
        b = change_next(b);
        if (a->db != b->db || a->size != b->size || memcmp(a->key, b->key, HASH_SIZE) != 0 ||
            memcmp(a->bytes, b->bytes, a->size) != 0)
            return false;
    }
    return true;
}

/* The row that a stored source was put by, in txn->old_row. */
static bool old_source(struct store_txn *txn, const struct hash *path_hash, const MDB_val *stored,
                       struct row *row, struct error *err)
{
    struct source_record record;
    struct value value;
    MDB_val key = {HASH_SIZE, (void *)(uintptr_t)path_hash->bytes};
    arena_reset(&txn->arena);
    if (!value_verify(DB_SOURCES, &key, stored, &value, err))
        return false;
    if (!source_read(value.bytes, value.size, &txn->arena, &record, err))
        return store_bad_record(DB_SOURCES, path_hash->bytes, HASH_SIZE, err);
    buffer_clear(&txn->old_row);
    *row = (struct row){.bytes = &txn->old_row};
    return row_source(row, path_hash, &record) || store_nomem(err);
}

static bool put_source(struct store_txn *txn, const struct change *head, size_t count, struct error *err)
{
    MDB_val existing;
    struct row row;
    bool existed;
    if (!put_head(txn, head, &existing, &existed, err))
        return false;
    if (!existed)
        return put_rest(txn, head, count, err);
    struct hash path_hash = hash_read(head->key);
    if (!old_source(txn, &path_hash, &existing, &row, err))
        return false;
    const struct change *old = (const struct change *)row.bytes->data;
    if (!same_references(old, row.count, head, count) &&
        (!remove_references(txn, old, row.count, err) || !put_rest(txn, head, count, err)))
        return false;
    return replace_head(txn, head, err);
}

bool store_put_source(struct store_txn *txn, const struct source_record *record, struct error *err)
{
    struct hash path_hash = hash_text(record->path);
    struct row row = {.bytes = &txn->scratch};
    buffer_clear(&txn->scratch);
    return row_source(&row, &path_hash, record)
               ? put_source(txn, (const struct change *)txn->scratch.data, row.count, err)
               : store_nomem(err);
}

/* Drops one source unless run `keep` has seen it, and appends its members to the list. */
static bool drop_source(struct store_txn *txn, const struct hash *path_hash, const uint64_t *keep,
                        struct buffer *list, struct error *err)
{
    struct source_record record;
    struct row row = {.bytes = &txn->old_row};
    bool found;
    arena_reset(&txn->arena);
    if (!store_get_source(txn, path_hash, &txn->arena, &record, &found, err))
        return false;
    if (!found || (keep && record.run == *keep))
        return true;
    buffer_clear(&txn->old_row);
    if (!row_source(&row, path_hash, &record))
        return store_nomem(err);
    return set_collect(txn, DB_MEMBERS, path_hash, HASH_SIZE, list, err) &&
           remove_references(txn, (const struct change *)row.bytes->data, row.count, err) &&
           value_delete(txn, DB_SOURCES, path_hash->bytes, HASH_SIZE, err);
}

/* Drops what is listed from `at` on. The list grows as members of members are met, up to `own` only those
 * that run `keep` has not seen. It ends whatever the sets say: a source is dropped once. */
static bool drop_all(struct store_txn *txn, struct buffer *list, size_t own, const uint64_t *keep,
                     struct error *err)
{
    bool done = true;
    for (size_t at = 0; at < list->size && done; at += HASH_SIZE) {
        struct hash path_hash = hash_read(list->data + at);
        done = drop_source(txn, &path_hash, at < own ? keep : NULL, list, err);
    }
    return done;
}

bool store_drop_source(struct store_txn *txn, const struct hash *path_hash, struct error *err)
{
    struct buffer list = {0};
    buffer_append(&list, path_hash->bytes, HASH_SIZE);
    bool done = list.failed ? store_nomem(err) : drop_all(txn, &list, 0, NULL, err);
    buffer_free(&list);
    return done;
}

bool store_drop_unseen(struct store_txn *txn, const struct hash *parent_path, uint64_t run, uint64_t seen,
                       struct error *err)
{
    uint64_t members;
    if (!set_count(txn, DB_MEMBERS, parent_path, &members, err))
        return false;
    if (members == seen) /* the run has seen that many different ones, so it has seen all */
        return true;
    struct buffer list = {0};
    bool done = set_collect(txn, DB_MEMBERS, parent_path, HASH_SIZE, &list, err) &&
                drop_all(txn, &list, list.size, &run, err);
    buffer_free(&list);
    return done;
}

/* ---- containers and resources ---- */

/* What must be known of a resource to take its references back. */
struct old_resource {
    uint8_t key[RESOURCE_KEY_SIZE];
    bool has_name;
    struct hash name, geometry;
};

struct old_walk {
    const struct hash *container;
    struct arena *arena;
    struct buffer *list; /* of struct old_resource */
};

static bool old_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    const struct old_walk *walk = ctx;
    struct resource_record record;
    struct value value;
    if (key->mv_size != RESOURCE_KEY_SIZE || memcmp(key->mv_data, walk->container->bytes, HASH_SIZE) != 0)
        return false;
    arena_reset(walk->arena);
    if (!value_verify(DB_RESOURCES, key, stored, &value, err))
        return false;
    if (!resource_read(value.bytes, value.size, walk->arena, &record, err))
        return store_bad_record(DB_RESOURCES, key->mv_data, key->mv_size, err);
    const char *name = record.resource.name;
    struct old_resource old = {.has_name = name != NULL, .geometry = record.geometry};
    if (name)
        old.name = hash_text(name);
    memcpy(old.key, key->mv_data, sizeof old.key);
    buffer_append(walk->list, &old, sizeof old);
    return !walk->list->failed || store_nomem(err);
}

static bool remove_resources(struct store_txn *txn, const struct hash *container, struct error *err)
{
    struct buffer list = {0};
    struct old_walk walk = {container, &txn->arena, &list};
    bool done = db_each(txn, DB_RESOURCES, container->bytes, HASH_SIZE, old_one, &walk, err);
    for (size_t at = 0; at < list.size && done; at += sizeof(struct old_resource)) {
        struct old_resource old;
        memcpy(&old, list.data + at, sizeof old);
        struct resource_key key = resource_key_read(old.key);
        done = store_drop_resolved(txn, &key, err) &&
               (!old.has_name || set_remove(txn, DB_NAMES, &old.name, old.key, sizeof old.key, err)) &&
               (hash_is_zero(&old.geometry) ||
                set_remove(txn, DB_USES, &old.geometry, old.key, sizeof old.key, err)) &&
               value_delete(txn, DB_CANDIDATES, old.key, sizeof old.key, err) &&
               value_delete(txn, DB_RESOURCES, old.key, sizeof old.key, err);
    }
    buffer_free(&list);
    return done;
}

static bool put_container(struct store_txn *txn, const struct change *head, size_t count, struct error *err)
{
    MDB_val existing;
    bool existed;
    struct hash container = hash_read(head->key);
    if (!put_head(txn, head, &existing, &existed, err))
        return false;
    /* A content without a record has no resources either, so only a known one is searched for old ones. */
    if (existed && (!replace_head(txn, head, err) || !remove_resources(txn, &container, err) ||
                    !value_delete(txn, DB_COVERAGE, container.bytes, HASH_SIZE, err)))
        return false;
    return put_rest(txn, head, count, err);
}

bool store_put_container(struct store_txn *txn, const struct hash *container,
                         const struct container_record *record, const struct resource_record *resources,
                         size_t resource_count, struct error *err)
{
    struct row row = {.bytes = &txn->scratch};
    buffer_clear(&txn->scratch);
    return row_container(&row, container, record, resources, resource_count)
               ? put_container(txn, (const struct change *)txn->scratch.data, row.count, err)
               : store_nomem(err);
}

/* ---- geometry ---- */

bool same_geometry(const struct value *a, const uint8_t *b, size_t b_size, bool *same, struct error *err)
{
    *same = a->size == b_size && memcmp(a->bytes, b, b_size) == 0;
    if (*same)
        return true;
    struct buffer raw_a = {0}, raw_b = {0};
    bool done = codec_decode(a->bytes, a->size, &raw_a, err) && codec_decode(b, b_size, &raw_b, err);
    if (done)
        *same =
            raw_a.size == raw_b.size && (raw_a.size == 0 || memcmp(raw_a.data, raw_b.data, raw_a.size) == 0);
    buffer_free(&raw_a);
    buffer_free(&raw_b);
    return done;
}

/* The geometry is there: it must be the same bytes. */
static bool compare_geometry(const struct hash *geometry, const MDB_val *existing, const uint8_t *encoded,
                             size_t size, struct error *err)
{
    MDB_val key = {HASH_SIZE, (void *)(uintptr_t)geometry->bytes};
    struct value value;
    bool same;
    if (!value_verify(DB_GEOMETRY, &key, existing, &value, err))
        return false;
    if (!same_geometry(&value, encoded, size, &same, err))
        return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
    if (same)
        return true;
    error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "other bytes have the same hash");
    return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
}

bool store_put_geometry(struct store_txn *txn, const struct hash *geometry, const uint8_t *encoded,
                        size_t size, struct error *err)
{
    MDB_val existing;
    bool existed;
    return value_put(txn, DB_GEOMETRY, geometry->bytes, HASH_SIZE, encoded, size, &existing, &existed, err) &&
           (!existed || compare_geometry(geometry, &existing, encoded, size, err));
}

static bool put_geometry(struct store_txn *txn, const struct change *head, size_t count, struct error *err)
{
    MDB_val existing;
    bool existed;
    struct hash geometry = hash_read(head->key);
    (void)count; /* a geometry has no references of its own */
    return put_head(txn, head, &existing, &existed, err) &&
           (!existed || compare_geometry(&geometry, &existing, head->bytes + CHECKSUM_SIZE,
                                         head->size - CHECKSUM_SIZE, err));
}

/* ---- logs ---- */

static bool put_part(struct store_txn *txn, const struct change *head, size_t count, struct error *err)
{
    (void)count; /* nothing refers to it */
    return replace_head(txn, head, err);
}

/* Key order is no order for the rows: the first lines of one are asked for while those before it are put. */
#define PREFETCH_AHEAD 8
static void prefetch_row(const struct log_entry *entries, size_t count, size_t i)
{
    if (i >= count)
        return;
    const uint8_t *row = (const uint8_t *)entries[i].row;
    for (size_t line = 0; line < 512; line += 64)
        __builtin_prefetch(row + line);
}

/* A transaction takes no more rows when the pages that it changes may be so much: they are in memory until it
 * is committed. */
#define COMMIT_BYTES ((size_t)32 << 20)

/* Where the puts of logs stand: at an entry of the sorted list of a kind. */
struct log_position {
    enum log_kind kind;
    size_t entry;
};

struct log_puts {
    const struct store_log *logs;
    size_t count;
    bool verify;
    bool (*last)(struct store_txn *txn, void *ctx, struct error *err);
    void *ctx;
    struct log_position done, reached; /* what is committed; what the transaction that runs has put */
    struct buffer list;                /* of the kind `listed` */
    enum log_kind listed;
};

/* Sorts the entries of the kind, unless they are the ones that were sorted last. */
static bool list_kind(struct log_puts *puts, enum log_kind kind, struct error *err)
{
    if (puts->listed == kind)
        return true;
    puts->listed = kind;
    return log_sorted(puts->logs, puts->count, kind, &puts->list, err);
}

/* What an entry changes of pages that are there before it, at the most: with few keys in large trees each has
 * a page of its own in every tree that its row goes to. */
static size_t pages_of_entry(const struct store_txn *txn, enum log_kind kind, size_t entries)
{
    static const enum store_db trees[LOG_KINDS][4] = {
        [LOG_GEOMETRIES] = {DB_GEOMETRY},
        [LOG_CONTAINERS] = {DB_CONTAINERS, DB_RESOURCES, DB_USES, DB_NAMES},
        [LOG_SOURCES] = {DB_SOURCES, DB_PLACES, DB_STEMS},
        [LOG_PARTS] = {DB_PARTS}};
    size_t bytes = 0;
    for (size_t i = 0; i < 4 && trees[kind][i] != DB_META; i++) {
        MDB_stat stat = {0};
        mdb_stat(txn->txn, txn->store->dbi[trees[kind][i]], &stat);
        size_t pages = stat.ms_leaf_pages < entries ? stat.ms_leaf_pages : entries;
        bytes += pages * stat.ms_psize / (entries + 1);
    }
    return bytes;
}

/* Whether entries of the kind may be put in several transactions. A file's place says that all that was in it
 * is stored: were it committed before its members, a run that goes on after a kill would pass the file over.
 * So places go with all other places, and with what is done last. */
static bool may_part(enum log_kind kind)
{
    return kind < LOG_SOURCES;
}

/* Whether a kind may begin in a transaction that has so much. Places do not where there is much already; what
 * is behind them belongs to them. */
static bool may_begin(enum log_kind kind, size_t bytes)
{
    if (may_part(kind))
        return bytes < COMMIT_BYTES;
    return kind > LOG_SOURCES || bytes < COMMIT_BYTES / 2;
}

/* Puts entries of one kind from puts->reached on, until the transaction has as many bytes as it may. */
static bool put_entries(struct store_txn *txn, struct log_puts *puts, size_t *bytes, struct error *err)
{
    static bool (*const put[LOG_KINDS])(struct store_txn *, const struct change *, size_t,
                                        struct error *) = {[LOG_GEOMETRIES] = put_geometry,
                                                           [LOG_CONTAINERS] = put_container,
                                                           [LOG_SOURCES] = put_source,
                                                           [LOG_PARTS] = put_part};
    enum log_kind kind = puts->reached.kind;
    const struct log_entry *entries = (const struct log_entry *)puts->list.data;
    size_t count = puts->list.size / sizeof *entries, i = puts->reached.entry, size;
    const size_t pages = pages_of_entry(txn, kind, count);
    bool done = true;
    for (; i < count && done && (*bytes < COMMIT_BYTES || !may_part(kind)); i++) {
        prefetch_row(entries, count, i + PREFETCH_AHEAD);
        if (kind == LOG_CONTAINERS && i > 0 && hash_equal(&entries[i].key, &entries[i - 1].key))
            continue;
        done = log_check_row(&entries[i], kind, puts->verify, &size, err) &&
               put[kind](txn, entries[i].row, entries[i].count, err);
        *bytes += done ? size + pages : 0;
    }
    puts->reached = i < count ? (struct log_position){kind, i} : (struct log_position){kind + 1, 0};
    return done;
}

static bool put_some(struct store_txn *txn, void *ctx, struct error *err)
{
    struct log_puts *puts = ctx;
    size_t bytes = 0;
    puts->reached = puts->done;
    while (puts->reached.kind < LOG_KINDS && may_begin(puts->reached.kind, bytes))
        if (!list_kind(puts, puts->reached.kind, err) || !put_entries(txn, puts, &bytes, err))
            return false;
    return puts->reached.kind < LOG_KINDS || puts->last(txn, puts->ctx, err);
}

bool store_commit_logs(struct store *store, const struct store_log *logs, size_t count, bool verify,
                       bool (*last)(struct store_txn *txn, void *ctx, struct error *err), void *ctx,
                       struct error *err)
{
    struct log_puts puts = {
        .logs = logs, .count = count, .verify = verify, .last = last, .ctx = ctx, .listed = LOG_KINDS};
    bool done = true;
    /* Kinds are in the order in which one may stand without the next: a geometry that nothing uses, a content
     * without a place. */
    while (done && puts.done.kind < LOG_KINDS) {
        done = store_update(store, put_some, &puts, err);
        puts.done = puts.reached;
    }
    buffer_free(&puts.list);
    return done;
}

/* ---- runs: keys of u64, big-endian, so that they are in order ---- */

static void run_key(uint64_t id, uint8_t key[static 8])
{
    for (unsigned i = 0; i < 8; i++)
        key[i] = (uint8_t)(id >> (56 - 8 * i));
}

bool store_put_run(struct store_txn *txn, const struct run_record *record, struct error *err)
{
    uint8_t key[8];
    run_key(record->id, key);
    buffer_clear(&txn->scratch);
    if (!run_write(&txn->scratch, record))
        return store_nomem(err);
    return value_put(txn, DB_RUNS, key, sizeof key, txn->scratch.data, txn->scratch.size, NULL, NULL, err);
}

bool store_next_run(struct store_txn *txn, uint64_t *id, struct error *err)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_cursor_open(txn->txn, txn->store->dbi[DB_RUNS], &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
        mdb_cursor_close(cursor);
    }
    if (rc != MDB_SUCCESS && rc != MDB_NOTFOUND)
        return store_fail(txn->store, rc, "runs", err);
    uint64_t last = 0;
    for (size_t i = 0; rc == MDB_SUCCESS && i < key.mv_size; i++)
        last = last << 8 | ((const uint8_t *)key.mv_data)[i];
    *id = last + 1;
    return true;
}
