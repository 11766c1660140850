/* store_value.c - values with their checksums, and sets of references. See store_internal.h. */
#include "store/store_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MDB_val val(const void *bytes, size_t size)
{
    return (MDB_val){.mv_size = size, .mv_data = (void *)(uintptr_t)bytes};
}

static void key_hex(const void *key, size_t size, char text[static 2 * RESOURCE_KEY_SIZE + 1])
{
    const uint8_t *bytes = key;
    size_t shown = size < RESOURCE_KEY_SIZE ? size : RESOURCE_KEY_SIZE;
    for (size_t i = 0; i < shown; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[2 * shown] = '\0';
}

bool store_bad_record(enum store_db db, const void *key, size_t key_size, struct error *err)
{
    char text[2 * RESOURCE_KEY_SIZE + 1];
    key_hex(key, key_size, text);
    if (!error_is_fatal(err))
        err->code = ERROR_STORE;
    error_prefix(err, "%s %s", store_db_name(db), text);
    return false;
}

/* ---- values ---- */

static uint64_t load_u64le(const uint8_t *p)
{
    return load_u32le(p) | (uint64_t)load_u32le(p + 4) << 32;
}

static void store_u64le(uint8_t *p, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

bool value_verify(enum store_db db, const MDB_val *key, const MDB_val *stored, struct value *payload,
                  struct error *err)
{
    const uint8_t *bytes = stored->mv_data;
    if (stored->mv_size < CHECKSUM_SIZE) {
        error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "%zu bytes hold no checksum", stored->mv_size);
        return store_bad_record(db, key->mv_data, key->mv_size, err);
    }
    *payload = (struct value){bytes + CHECKSUM_SIZE, stored->mv_size - CHECKSUM_SIZE};
    if (load_u64le(bytes) == hash_checksum(key->mv_data, key->mv_size, payload->bytes, payload->size))
        return true;
    error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "the checksum does not fit its %zu bytes", payload->size);
    return store_bad_record(db, key->mv_data, key->mv_size, err);
}

static int find_value(struct store_txn *txn, enum store_db db, MDB_val *key, MDB_val *stored)
{
    MDB_cursor **cursor = &txn->cursors[db];
    if (!txn->reading)
        return mdb_get(txn->txn, txn->store->dbi[db], key, stored);
    int rc = *cursor ? MDB_SUCCESS : mdb_cursor_open(txn->txn, txn->store->dbi[db], cursor);
    return rc == MDB_SUCCESS ? mdb_cursor_get(*cursor, key, stored, MDB_SET) : rc;
}

bool value_get(struct store_txn *txn, enum store_db db, const void *key, size_t key_size, struct value *value,
               bool *found, struct error *err)
{
    MDB_val k = val(key, key_size), stored;
    guard_enter(txn->store);
    int rc = find_value(txn, db, &k, &stored);
    guard_leave();
    *found = rc == MDB_SUCCESS;
    if (rc == MDB_NOTFOUND)
        return true;
    if (rc != MDB_SUCCESS)
        return store_fail(txn->store, rc, store_db_name(db), err);
    k = val(key, key_size);
    return value_verify(db, &k, &stored, value, err);
}

void value_seal(uint8_t *stored, size_t size, const void *key, size_t key_size)
{
    store_u64le(stored, hash_checksum(key, key_size, stored + CHECKSUM_SIZE, size - CHECKSUM_SIZE));
}

bool value_is_sealed(const uint8_t *stored, size_t size, const void *key, size_t key_size)
{
    return load_u64le(stored) == hash_checksum(key, key_size, stored + CHECKSUM_SIZE, size - CHECKSUM_SIZE);
}

/* ---- which keys there are ---- */

uint64_t key_sum(const void *key, size_t key_size, const void *value, size_t value_size)
{
    return hash_checksum(key, key_size, value, value_size);
}

static uint64_t entry_sum(enum store_db db, const MDB_val *key, const MDB_val *value)
{
    return store_db_is_set(db) ? key_sum(key->mv_data, key->mv_size, value->mv_data, value->mv_size)
                               : key_sum(key->mv_data, key->mv_size, NULL, 0);
}

void keys_add(struct store_txn *txn, enum store_db db, const MDB_val *key, const MDB_val *value)
{
    if (db == DB_META) /* it has the sums */
        return;
    txn->key_sums[db] += entry_sum(db, key, value);
    txn->keys_changed = true;
}

static void keys_remove(struct store_txn *txn, enum store_db db, const MDB_val *key, const MDB_val *value)
{
    txn->key_sums[db] -= entry_sum(db, key, value);
    txn->keys_changed = true;
}

bool keys_read(const struct value *value, uint64_t sums[static DB_COUNT])
{
    memset(sums, 0, DB_COUNT * sizeof *sums);
    for (size_t db = 0; db < DB_COUNT && 8 * db + 8 <= value->size; db++)
        sums[db] = load_u64le(value->bytes + 8 * db);
    return value->size && value->size % 8 == 0;
}

bool keys_load(struct store_txn *txn, struct error *err)
{
    struct value value;
    bool found;
    txn->keys_changed = false;
    if (!value_get(txn, DB_META, KEY_SUMS, strlen(KEY_SUMS), &value, &found, err))
        return false;
    return (found && keys_read(&value, txn->key_sums)) ||
           store_damaged(txn->store, "it does not say which keys it has", err);
}

bool keys_save(struct store_txn *txn, struct error *err)
{
    uint8_t row[8 * DB_COUNT];
    for (int db = 0; db < DB_COUNT; db++)
        store_u64le(row + 8 * db, txn->key_sums[db]);
    return value_put(txn, DB_META, KEY_SUMS, strlen(KEY_SUMS), row, sizeof row, NULL, NULL, err);
}

/* ---- puts ---- */

/* Puts with the given flags through the transaction's cursor: a key that belongs to the page of the one
 * before it is found there without a descent, so callers put in key order where they can. `existing` as in
 * value_put. */
static bool put(struct store_txn *txn, enum store_db db, MDB_val *key, MDB_val *stored, unsigned flags,
                MDB_val *existing, bool *existed, struct error *err)
{
    MDB_cursor **cursor = &txn->cursors[db];
    const MDB_val wanted = *stored;
    guard_enter(txn->store);
    int rc = *cursor ? MDB_SUCCESS : mdb_cursor_open(txn->txn, txn->store->dbi[db], cursor);
    if (rc == MDB_SUCCESS)
        rc = mdb_cursor_put(*cursor, key, stored, flags | MDB_NOOVERWRITE);
    if (rc == MDB_SUCCESS)
        keys_add(txn, db, key, NULL);
    if (rc == MDB_KEYEXIST && !existing) { /* no new key */
        *stored = wanted;
        rc = mdb_cursor_put(*cursor, key, stored, flags);
    }
    guard_leave();
    if (existing) {
        *existed = rc == MDB_KEYEXIST;
        if (*existed) {
            *existing = *stored;
            return true;
        }
    }
    return rc == MDB_SUCCESS || store_fail_write(txn, rc, store_db_name(db), err);
}

/* LMDB's own limit is 2^32 - 1; staying below it is worth a message of its own. */
static bool check_size(enum store_db db, size_t payload, struct error *err)
{
    return payload <= UINT32_MAX - CHECKSUM_SIZE ||
           error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "%s: a value of %zu bytes, 4 GiB is the most",
                     store_db_name(db), payload);
}

bool value_put(struct store_txn *txn, enum store_db db, const void *key, size_t key_size, const void *payload,
               size_t size, MDB_val *existing, bool *existed, struct error *err)
{
    MDB_val k = val(key, key_size), stored = val(NULL, size + CHECKSUM_SIZE);
    bool found = false;
    /* The room is reserved in the page and filled there, so large values are copied once. */
    if (!check_size(db, size, err) || !put(txn, db, &k, &stored, MDB_RESERVE, existing, &found, err))
        return false;
    if (existing)
        *existed = found;
    if (found)
        return true;
    uint8_t *room = stored.mv_data;
    memcpy(room + CHECKSUM_SIZE, payload, size);
    value_seal(room, size + CHECKSUM_SIZE, key, key_size);
    return true;
}

bool value_put_stored(struct store_txn *txn, enum store_db db, const void *key, size_t key_size,
                      const void *stored, size_t size, MDB_val *existing, bool *existed, struct error *err)
{
    MDB_val k = val(key, key_size), v = val(stored, size);
    return check_size(db, size - CHECKSUM_SIZE, err) && put(txn, db, &k, &v, 0, existing, existed, err);
}

bool value_delete(struct store_txn *txn, enum store_db db, const void *key, size_t key_size,
                  struct error *err)
{
    MDB_val k = val(key, key_size);
    guard_enter(txn->store);
    int rc = mdb_del(txn->txn, txn->store->dbi[db], &k, NULL);
    guard_leave();
    if (rc == MDB_SUCCESS)
        keys_remove(txn, db, &k, NULL);
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND || store_fail_write(txn, rc, store_db_name(db), err);
}

/* ---- sorting by hash ---- */

/* Buckets are small then, and their counters still fit the second-level cache. */
#define SORT_BITS_MOST 16

/* The leading `bits` bits of the hash that the element begins with. */
static size_t bucket_of(const uint8_t *element, unsigned bits)
{
    return load_u32be(element) >> (32 - bits);
}

static bool is_sorted(const uint8_t *elements, size_t count, size_t size,
                      int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < count; i++)
        if (compare(elements + (i - 1) * size, elements + i * size) > 0)
            return false;
    return true;
}

/* Buckets of at most so many elements are sorted where they lie: to call qsort costs more. */
#define SORT_FEW_MOST  12
#define SORT_SIZE_MOST 64

static void sort_few(uint8_t *elements, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    uint8_t moved[SORT_SIZE_MOST];
    for (size_t i = 1; i < count; i++) {
        size_t to = i;
        while (to > 0 && compare(elements + (to - 1) * size, elements + i * size) > 0)
            to--;
        if (to == i)
            continue;
        memcpy(moved, elements + i * size, size);
        memmove(elements + (to + 1) * size, elements + to * size, (i - to) * size);
        memcpy(elements + to * size, moved, size);
    }
}

void hash_sort(void *elements, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    unsigned bits = 1;
    while (bits < SORT_BITS_MOST && (size_t)1 << bits < count)
        bits++;
    size_t buckets = (size_t)1 << bits;
    if (is_sorted(elements, count, size, compare))
        return;
    uint32_t *ends = count < UINT32_MAX ? calloc(buckets + 1, sizeof *ends) : NULL;
    uint8_t *from = elements, *to = ends ? malloc(count * size) : NULL;
    if (!to) { /* slower, and without memory of its own */
        free(ends);
        qsort(elements, count, size, compare);
        return;
    }
    for (size_t i = 0; i < count; i++)
        ends[bucket_of(from + i * size, bits) + 1]++;
    for (size_t b = 0; b < buckets; b++)
        ends[b + 1] += ends[b];
    /* ends[b] is where bucket b begins, and, when its elements are in, where it ends. */
    for (size_t i = 0; i < count; i++)
        memcpy(to + ends[bucket_of(from + i * size, bits)]++ * size, from + i * size, size);
    memcpy(from, to, count * size);
    for (size_t b = 0, start = 0; b < buckets; start = ends[b++]) {
        size_t in_bucket = ends[b] - start;
        if (in_bucket > SORT_FEW_MOST || size > SORT_SIZE_MOST)
            qsort(from + start * size, in_bucket, size, compare);
        else
            sort_few(from + start * size, in_bucket, size, compare);
    }
    free(ends);
    free(to);
}

/* ---- sets ---- */

struct set_change {
    struct hash key;
    uint8_t value[RESOURCE_KEY_SIZE]; /* the first `size` bytes, the rest zero */
    uint8_t size;
    bool add;
    uint32_t number; /* of changes to one reference the last one counts */
};
/* Changes are made early when so many wait, which bounds the memory of a large transaction. */
#define SET_PENDING_MOST 1000000u

static bool set_change(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value,
                       size_t size, bool add, struct error *err)
{
    struct buffer *pending = &txn->pending[db];
    size_t number = pending->size / sizeof(struct set_change);
    struct set_change change = {.key = *key, .size = (uint8_t)size, .add = add, .number = (uint32_t)number};
    memcpy(change.value, value, size);
    buffer_append(pending, &change, sizeof change);
    if (pending->failed)
        return store_nomem(err);
    return number < SET_PENDING_MOST || set_flush(txn, db, err);
}

bool set_add(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value, size_t size,
             struct error *err)
{
    return set_change(txn, db, key, value, size, true, err);
}

bool set_remove(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value,
                size_t size, struct error *err)
{
    return set_change(txn, db, key, value, size, false, err);
}

static int compare_references(const struct set_change *a, const struct set_change *b)
{
    int order = memcmp(a->key.bytes, b->key.bytes, HASH_SIZE);
    return order ? order : memcmp(a->value, b->value, sizeof a->value);
}

static int compare_changes(const void *a, const void *b)
{
    const struct set_change *x = a, *y = b;
    int order = compare_references(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int make_change(struct store_txn *txn, enum store_db db, MDB_cursor *cursor,
                       const struct set_change *change)
{
    const MDB_val own_key = val(change->key.bytes, HASH_SIZE), own_value = val(change->value, change->size);
    MDB_val key = own_key, value = own_value; /* LMDB lets them point to its pages */
    if (change->add) {
        int rc = mdb_cursor_put(cursor, &key, &value, MDB_NODUPDATA);
        if (rc == MDB_SUCCESS)
            keys_add(txn, db, &own_key, &own_value);
        return rc == MDB_KEYEXIST ? MDB_SUCCESS : rc;
    }
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH);
    if (rc == MDB_NOTFOUND)
        return MDB_SUCCESS;
    if (rc == MDB_SUCCESS)
        rc = mdb_cursor_del(cursor, 0);
    if (rc == MDB_SUCCESS)
        keys_remove(txn, db, &own_key, &own_value);
    return rc;
}

bool set_flush(struct store_txn *txn, enum store_db db, struct error *err)
{
    struct buffer *pending = &txn->pending[db];
    struct set_change *changes = (struct set_change *)pending->data;
    size_t count = pending->size / sizeof *changes;
    MDB_cursor *cursor;
    if (!count)
        return true;
    buffer_clear(pending);
    hash_sort(changes, count, sizeof *changes, compare_changes);
    guard_enter(txn->store);
    int rc = mdb_cursor_open(txn->txn, txn->store->dbi[db], &cursor);
    bool open = rc == MDB_SUCCESS;
    for (size_t i = 0; i < count && rc == MDB_SUCCESS; i++)
        if (i + 1 == count || compare_references(&changes[i], &changes[i + 1]) != 0)
            rc = make_change(txn, db, cursor, &changes[i]);
    if (open)
        mdb_cursor_close(cursor);
    guard_leave();
    return rc == MDB_SUCCESS || store_fail_write(txn, rc, store_db_name(db), err);
}

bool set_has(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value, size_t size,
             bool *found, struct error *err)
{
    MDB_val k = val(key->bytes, HASH_SIZE), v = val(value, size);
    MDB_cursor *cursor;
    if (!set_flush(txn, db, err))
        return false;
    guard_enter(txn->store);
    int rc = mdb_cursor_open(txn->txn, txn->store->dbi[db], &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH);
        mdb_cursor_close(cursor);
    }
    guard_leave();
    *found = rc == MDB_SUCCESS;
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND || store_fail(txn->store, rc, store_db_name(db), err);
}

bool set_count(struct store_txn *txn, enum store_db db, const struct hash *key, uint64_t *count,
               struct error *err)
{
    MDB_val k = val(key->bytes, HASH_SIZE), v;
    MDB_cursor *cursor;
    size_t values = 0;
    if (!set_flush(txn, db, err))
        return false;
    guard_enter(txn->store);
    int rc = mdb_cursor_open(txn->txn, txn->store->dbi[db], &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &k, &v, MDB_SET);
        if (rc == MDB_SUCCESS)
            rc = mdb_cursor_count(cursor, &values);
        mdb_cursor_close(cursor);
    }
    guard_leave();
    *count = values;
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND || store_fail(txn->store, rc, store_db_name(db), err);
}

bool set_any(struct store_txn *txn, enum store_db db, const struct hash *key, bool *found, struct error *err)
{
    MDB_val k = val(key->bytes, HASH_SIZE), v;
    if (!set_flush(txn, db, err))
        return false;
    guard_enter(txn->store);
    int rc = mdb_get(txn->txn, txn->store->dbi[db], &k, &v);
    guard_leave();
    *found = rc == MDB_SUCCESS;
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND || store_fail(txn->store, rc, store_db_name(db), err);
}

struct collection {
    enum store_db db;
    const struct hash *key;
    size_t size;
    struct buffer *list;
};

static bool collect_one(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    const struct collection *collection = ctx;
    if (key->mv_size != HASH_SIZE || memcmp(key->mv_data, collection->key->bytes, HASH_SIZE) != 0)
        return false;
    if (value->mv_size != collection->size) {
        error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "a reference of %zu bytes", value->mv_size);
        return store_bad_record(collection->db, key->mv_data, key->mv_size, err);
    }
    buffer_append(collection->list, value->mv_data, value->mv_size);
    return !collection->list->failed || store_nomem(err);
}

bool set_collect(struct store_txn *txn, enum store_db db, const struct hash *key, size_t size,
                 struct buffer *list, struct error *err)
{
    struct collection collection = {db, key, size, list};
    return db_each(txn, db, key->bytes, HASH_SIZE, collect_one, &collection, err);
}

static int cursor_step(struct store_txn *txn, MDB_cursor *cursor, MDB_val *key, MDB_val *value,
                       MDB_cursor_op step)
{
    guard_enter(txn->store);
    int rc = mdb_cursor_get(cursor, key, value, step);
    guard_leave();
    return rc;
}

bool db_each(struct store_txn *txn, enum store_db db, const void *from, size_t from_size,
             bool (*each)(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err), void *ctx,
             struct error *err)
{
    MDB_cursor *cursor;
    if (!set_flush(txn, db, err))
        return false;
    int rc = mdb_cursor_open(txn->txn, txn->store->dbi[db], &cursor);
    if (rc != MDB_SUCCESS)
        return store_fail(txn->store, rc, store_db_name(db), err);
    MDB_val key = val(from, from_size), value;
    rc = cursor_step(txn, cursor, &key, &value, from ? MDB_SET_RANGE : MDB_FIRST);
    while (rc == MDB_SUCCESS && each(&key, &value, ctx, err))
        rc = cursor_step(txn, cursor, &key, &value, MDB_NEXT);
    mdb_cursor_close(cursor);
    if (rc != MDB_SUCCESS && rc != MDB_NOTFOUND)
        return store_fail(txn->store, rc, store_db_name(db), err);
    return err->code == ERROR_NONE;
}
