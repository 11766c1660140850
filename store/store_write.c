/* store_write.c - typed writes, inside store_update. See store.h.
 *
 * What keeps the sets right: a record is replaced only together with the references that its old form had, so
 * each reference stands exactly as long as what it refers to.
 */
#include "store/store_internal.h"

#include <string.h>

/* ---- sources ---- */

typedef bool set_change_fn(struct store_txn *txn, enum store_db db, const struct hash *key, const void *value,
                           size_t size, struct error *err);

/* Adds or removes (`change`) the references to a source: of its content, its parent and its stem. */
static bool source_references(struct store_txn *txn, const struct hash *path_hash,
                              const struct source_record *record, set_change_fn *change, struct error *err)
{
    bool is_content = record->kind == SOURCE_CONTAINER;
    if (is_content && !change(txn, DB_PLACES, &record->container, path_hash->bytes, HASH_SIZE, err))
        return false;
    if (!hash_is_zero(&record->parent) &&
        !change(txn, DB_MEMBERS, &record->parent, path_hash->bytes, HASH_SIZE, err))
        return false;
    if (!is_content || !record->stem)
        return true;
    struct hash stem = hash_text(record->stem);
    return change(txn, DB_STEMS, &stem, path_hash->bytes, HASH_SIZE, err);
}

static bool same_references(const struct source_record *a, const struct source_record *b)
{
    bool same_stem = a->stem == b->stem || (a->stem && b->stem && strcmp(a->stem, b->stem) == 0);
    return (a->kind == SOURCE_CONTAINER) == (b->kind == SOURCE_CONTAINER) && same_stem &&
           hash_equal(&a->container, &b->container) && hash_equal(&a->parent, &b->parent);
}

bool store_put_source(struct store_txn *txn, const struct source_record *record, struct error *err)
{
    struct hash path_hash = hash_text(record->path);
    MDB_val existing, key = {HASH_SIZE, path_hash.bytes};
    bool existed;
    buffer_clear(&txn->scratch);
    if (!source_write(&txn->scratch, record))
        return store_nomem(err);
    if (!value_put(txn, DB_SOURCES, path_hash.bytes, HASH_SIZE, txn->scratch.data, txn->scratch.size,
                   &existing, &existed, err))
        return false;
    if (!existed)
        return source_references(txn, &path_hash, record, set_add, err);
    struct source_record old;
    struct value value;
    arena_reset(&txn->arena);
    if (!value_verify(DB_SOURCES, &key, &existing, &value, err))
        return false;
    if (!source_read(value.bytes, value.size, &txn->arena, &old, err))
        return store_bad_record(DB_SOURCES, path_hash.bytes, HASH_SIZE, err);
    if (!same_references(&old, record) && (!source_references(txn, &path_hash, &old, set_remove, err) ||
                                           !source_references(txn, &path_hash, record, set_add, err)))
        return false;
    return value_put(txn, DB_SOURCES, path_hash.bytes, HASH_SIZE, txn->scratch.data, txn->scratch.size, NULL,
                     NULL, err);
}

/* Drops one source unless run `keep` has seen it, and appends its members to the list. */
static bool drop_source(struct store_txn *txn, const struct hash *path_hash, const uint64_t *keep,
                        struct buffer *list, struct error *err)
{
    struct source_record record;
    bool found;
    arena_reset(&txn->arena);
    if (!store_get_source(txn, path_hash, &txn->arena, &record, &found, err))
        return false;
    if (!found || (keep && record.run == *keep))
        return true;
    return set_collect(txn, DB_MEMBERS, path_hash, HASH_SIZE, list, err) &&
           source_references(txn, path_hash, &record, set_remove, err) &&
           value_delete(txn, DB_SOURCES, path_hash->bytes, HASH_SIZE, err);
}

bool store_drop_unseen(struct store_txn *txn, const struct hash *parent_path, uint64_t run, uint64_t seen,
                       struct error *err)
{
    uint64_t members;
    if (!set_count(txn, DB_MEMBERS, parent_path, &members, err))
        return false;
    if (members == seen) /* the run has seen that many different ones, so it has seen all */
        return true;
    /* The list grows as members of members are met. It ends whatever the sets say: a source is dropped once.
     */
    struct buffer list = {0};
    bool done = set_collect(txn, DB_MEMBERS, parent_path, HASH_SIZE, &list, err);
    size_t own = list.size;
    for (size_t at = 0; at < list.size && done; at += HASH_SIZE) {
        struct hash path_hash = hash_read(list.data + at);
        done = drop_source(txn, &path_hash, at < own ? &run : NULL, &list, err);
    }
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
        done = (!old.has_name || set_remove(txn, DB_NAMES, &old.name, old.key, sizeof old.key, err)) &&
               (hash_is_zero(&old.geometry) ||
                set_remove(txn, DB_USES, &old.geometry, old.key, sizeof old.key, err)) &&
               value_delete(txn, DB_CANDIDATES, old.key, sizeof old.key, err) &&
               value_delete(txn, DB_RESOURCES, old.key, sizeof old.key, err);
    }
    buffer_free(&list);
    return done;
}

static bool put_resource(struct store_txn *txn, const struct hash *container,
                         const struct resource_record *record, struct error *err)
{
    const char *name = record->resource.name;
    uint8_t key[RESOURCE_KEY_SIZE];
    MDB_val existing;
    bool existed;
    resource_key_write(key, &(struct resource_key){*container, record->resource.index});
    buffer_clear(&txn->scratch);
    if (!resource_write(&txn->scratch, record))
        return store_nomem(err);
    if (!value_put(txn, DB_RESOURCES, key, sizeof key, txn->scratch.data, txn->scratch.size, &existing,
                   &existed, err))
        return false;
    if (existed) {
        error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "two resources of one index");
        return store_bad_record(DB_RESOURCES, key, sizeof key, err);
    }
    if (name) {
        struct hash name_hash = hash_text(name);
        if (!set_add(txn, DB_NAMES, &name_hash, key, sizeof key, err))
            return false;
    }
    if (record->resource.candidate_count) {
        buffer_clear(&txn->scratch);
        if (!candidates_write(&txn->scratch, record))
            return store_nomem(err);
        if (!value_put(txn, DB_CANDIDATES, key, sizeof key, txn->scratch.data, txn->scratch.size, NULL, NULL, err))
            return false;
    }
    return hash_is_zero(&record->geometry) || set_add(txn, DB_USES, &record->geometry, key, sizeof key, err);
}

bool store_put_container(struct store_txn *txn, const struct hash *container,
                         const struct container_record *record, const struct resource_record *resources,
                         size_t resource_count, struct error *err)
{
    MDB_val existing;
    bool existed;
    buffer_clear(&txn->scratch);
    if (!container_write(&txn->scratch, record))
        return store_nomem(err);
    if (!value_put(txn, DB_CONTAINERS, container->bytes, HASH_SIZE, txn->scratch.data, txn->scratch.size,
                   &existing, &existed, err))
        return false;
    /* A content without a record has no resources either, so only a known one is searched for old ones. */
    if (existed && (!value_put(txn, DB_CONTAINERS, container->bytes, HASH_SIZE, txn->scratch.data,
                               txn->scratch.size, NULL, NULL, err) ||
                    !remove_resources(txn, container, err) ||
                    !value_delete(txn, DB_COVERAGE, container->bytes, HASH_SIZE, err)))
        return false;
    if (record->container.coverage_count) {
        buffer_clear(&txn->scratch);
        if (!coverage_write(&txn->scratch, &record->container))
            return store_nomem(err);
        if (!value_put(txn, DB_COVERAGE, container->bytes, HASH_SIZE, txn->scratch.data, txn->scratch.size, NULL,
                       NULL, err))
            return false;
    }
    for (size_t i = 0; i < resource_count; i++)
        if (!put_resource(txn, container, &resources[i], err))
            return false;
    return true;
}

/* ---- geometry ---- */

/* Whether two encodings hold the same bytes. Equal encodings do; encodings by other codecs are decoded. */
static bool same_geometry(const struct value *a, const uint8_t *b, size_t b_size, bool *same,
                          struct error *err)
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

bool store_put_geometry(struct store_txn *txn, const struct hash *geometry, const uint8_t *encoded,
                        size_t size, struct error *err)
{
    MDB_val existing, key = {HASH_SIZE, (void *)(uintptr_t)geometry->bytes};
    struct value value;
    bool existed, same;
    if (!value_put(txn, DB_GEOMETRY, geometry->bytes, HASH_SIZE, encoded, size, &existing, &existed, err))
        return false;
    if (!existed)
        return true;
    if (!value_verify(DB_GEOMETRY, &key, &existing, &value, err))
        return false;
    if (!same_geometry(&value, encoded, size, &same, err))
        return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
    if (same)
        return true;
    error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "other bytes have the same hash");
    return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
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
