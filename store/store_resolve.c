/* store_resolve.c - what the global passes keep: outcomes, findings, captures, census. See store.h.
 *
 * Everything of a resolution is put at once, compared with what is there, and only what differs is written:
 * resolving a second time writes nothing.
 */
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

bool store_get_resolved(struct store_txn *txn, const struct resource_key *key, struct arena *arena,
                        struct resolved_record *record, bool *found, struct error *err)
{
    uint8_t bytes[RESOURCE_KEY_SIZE];
    struct value value;
    resource_key_write(bytes, key);
    if (!value_get(txn, DB_RESOLVED, bytes, sizeof bytes, &value, found, err))
        return false;
    return !*found || resolved_read(value.bytes, value.size, arena, record, err) ||
           store_bad_record(DB_RESOLVED, bytes, sizeof bytes, err);
}

bool store_apply_resolved(struct store_txn *txn, const struct hash *container, struct arena *arena,
                          struct resource_record *record, struct resolved_record *outcome, struct error *err)
{
    const struct resource_key key = {*container, record->resource.index};
    bool found;
    *outcome = (struct resolved_record){0};
    if (record->resource.format != FORMAT_XBG7) /* nothing else is located, so nothing else changes */
        return true;
    if (!store_get_resolved(txn, &key, arena, outcome, &found, err))
        return false;
    if (found)
        resolved_apply(outcome, record);
    return true;
}

struct outcome_walk {
    const struct hash *container;
    struct arena *arena;
    struct resolved_entry *list;
    size_t count, room;
};

static bool outcome_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct outcome_walk *walk = ctx;
    struct value value;
    if (key->mv_size != RESOURCE_KEY_SIZE || memcmp(key->mv_data, walk->container->bytes, HASH_SIZE) != 0)
        return false;
    if (walk->count == walk->room) {
        size_t room = walk->room ? 2 * walk->room : 16;
        struct resolved_entry *list = arena_array(walk->arena, room, sizeof *list);
        if (!list)
            return store_nomem(err);
        if (walk->count)
            memcpy(list, walk->list, walk->count * sizeof *list);
        walk->list = list;
        walk->room = room;
    }
    struct resolved_entry *entry = &walk->list[walk->count++];
    entry->index = resource_key_read(key->mv_data).index;
    return value_verify(DB_RESOLVED, key, stored, &value, err) &&
           (resolved_read(value.bytes, value.size, walk->arena, &entry->outcome, err) ||
            store_bad_record(DB_RESOLVED, key->mv_data, key->mv_size, err));
}

bool store_resolved_of(struct store_txn *txn, const struct hash *container, struct arena *arena,
                       struct resolved_entry **list, size_t *count, struct error *err)
{
    struct outcome_walk walk = {.container = container, .arena = arena};
    bool done = db_each(txn, DB_RESOLVED, container->bytes, HASH_SIZE, outcome_one, &walk, err);
    *list = walk.list;
    *count = walk.count;
    return done;
}

struct count_walk {
    const struct hash *container;
    struct arena arena;
    uint32_t *by_status;
};

static bool count_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct count_walk *walk = ctx;
    struct resolved_record record;
    struct value value;
    if (key->mv_size != RESOURCE_KEY_SIZE || memcmp(key->mv_data, walk->container->bytes, HASH_SIZE) != 0)
        return false;
    arena_reset(&walk->arena);
    if (!value_verify(DB_RESOLVED, key, stored, &value, err))
        return false;
    if (!resolved_read(value.bytes, value.size, &walk->arena, &record, err))
        return store_bad_record(DB_RESOLVED, key->mv_data, key->mv_size, err);
    walk->by_status[record.was]--;
    walk->by_status[record.status]++;
    return true;
}

bool store_resolved_counts(struct store_txn *txn, const struct hash *container,
                           uint32_t by_status[static RESOURCE_STATUS_COUNT], struct error *err)
{
    struct count_walk walk = {.container = container, .by_status = by_status};
    bool done = db_each(txn, DB_RESOLVED, container->bytes, HASH_SIZE, count_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

struct finding_walk {
    struct arena arena;
    bool (*each)(const struct finding_record *record, void *ctx);
    void *ctx;
};

static bool finding_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct finding_walk *walk = ctx;
    struct finding_record record;
    struct value value;
    arena_reset(&walk->arena);
    if (!value_verify(DB_FINDINGS, key, stored, &value, err))
        return false;
    if (!finding_read(value.bytes, value.size, &walk->arena, &record, err))
        return store_bad_record(DB_FINDINGS, key->mv_data, key->mv_size, err);
    return walk->each(&record, walk->ctx);
}

bool store_each_finding(struct store_txn *txn, bool (*each)(const struct finding_record *record, void *ctx),
                        void *ctx, struct error *err)
{
    struct finding_walk walk = {.each = each, .ctx = ctx};
    bool done = db_each(txn, DB_FINDINGS, NULL, 0, finding_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

struct kept_capture {
    struct hash key;
    struct capture_record record;
};

struct capture_walk {
    struct arena *arena;
    struct kept_capture *list;
    size_t count, room;
};

static bool capture_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct capture_walk *walk = ctx;
    struct value value;
    if (walk->count == walk->room) {
        size_t room = walk->room ? 2 * walk->room : 64;
        struct kept_capture *list = realloc(walk->list, room * sizeof *list);
        if (!list)
            return store_nomem(err);
        walk->list = list;
        walk->room = room;
    }
    if (!value_verify(DB_CAPTURES, key, stored, &value, err))
        return false;
    struct kept_capture *kept = &walk->list[walk->count++];
    kept->key = key->mv_size == HASH_SIZE ? hash_read(key->mv_data) : (struct hash){0};
    return capture_read(value.bytes, value.size, walk->arena, &kept->record, err) ||
           store_bad_record(DB_CAPTURES, key->mv_data, key->mv_size, err);
}

static int compare_captures(const void *a, const void *b)
{
    const struct kept_capture *x = a, *y = b;
    if (x->record.order != y->record.order)
        return x->record.order < y->record.order ? -1 : 1;
    return memcmp(x->key.bytes, y->key.bytes, HASH_SIZE); /* equal orders come of merged stores */
}

bool store_get_captures(struct store_txn *txn, struct arena *arena, struct capture_record **captures,
                        size_t *count, struct error *err)
{
    struct capture_walk walk = {.arena = arena};
    bool done = db_each(txn, DB_CAPTURES, NULL, 0, capture_one, &walk, err);
    if (done && walk.count)
        qsort(walk.list, walk.count, sizeof *walk.list, compare_captures);
    *count = walk.count;
    *captures = done ? arena_array(arena, walk.count, sizeof **captures) : NULL;
    if (done && !*captures)
        done = store_nomem(err);
    for (size_t i = 0; done && i < walk.count; i++)
        (*captures)[i] = walk.list[i].record;
    free(walk.list);
    return done;
}

static void census_key(uint64_t run, uint8_t key[static 8])
{
    for (unsigned i = 0; i < 8; i++)
        key[i] = (uint8_t)(run >> (56 - 8 * i));
}

struct census_walk {
    struct arena *arena;
    struct declined_census *list; /* [2]: the newest, the one before it */
};

static bool census_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct census_walk *walk = ctx;
    struct value value;
    walk->list[1] = walk->list[0];
    if (!value_verify(DB_DECLINED, key, stored, &value, err))
        return false;
    return declined_read(value.bytes, value.size, walk->arena, &walk->list[0], err) ||
           store_bad_record(DB_DECLINED, key->mv_data, key->mv_size, err);
}

bool store_get_declined(struct store_txn *txn, struct arena *arena, struct declined_census census[static 2],
                        struct error *err)
{
    struct census_walk walk = {arena, census};
    census[0] = census[1] = (struct declined_census){0};
    return db_each(txn, DB_DECLINED, NULL, 0, census_one, &walk, err);
}

bool store_last_run(struct store_txn *txn, uint64_t *run, struct error *err)
{
    if (!store_next_run(txn, run, err))
        return false;
    (*run)--;
    return true;
}

/* ---- writing ---- */

bool store_put_capture(struct store_txn *txn, const struct capture_record *record, struct error *err)
{
    struct hash key;
    buffer_clear(&txn->scratch);
    if (!capture_key(record, &key) || !capture_write(&txn->scratch, record))
        return store_nomem(err);
    return value_put(txn, DB_CAPTURES, key.bytes, HASH_SIZE, txn->scratch.data, txn->scratch.size, NULL, NULL,
                     err);
}

bool store_drop_capture(struct store_txn *txn, const struct capture_record *record, struct error *err)
{
    struct hash key;
    return capture_key(record, &key) ? value_delete(txn, DB_CAPTURES, key.bytes, HASH_SIZE, err)
                                     : store_nomem(err);
}

/* Adds or removes the reference from an outcome's geometry to its resource. Where the decoder's record names
 * the same geometry the reference is that record's. */
static bool refer(struct store_txn *txn, const uint8_t *key_bytes, const struct hash *geometry, bool add,
                  struct error *err)
{
    const struct resource_key key = resource_key_read(key_bytes);
    struct resource_record record;
    bool found;
    if (hash_is_zero(geometry))
        return true;
    arena_reset(&txn->arena);
    if (!store_get_resource(txn, &key.container, key.index, &txn->arena, &record, &found, err))
        return false;
    if (found && hash_equal(&record.geometry, geometry))
        return true;
    return add ? set_add(txn, DB_USES, geometry, key_bytes, RESOURCE_KEY_SIZE, err)
               : set_remove(txn, DB_USES, geometry, key_bytes, RESOURCE_KEY_SIZE, err);
}

static bool drop_outcome(struct store_txn *txn, const uint8_t *key_bytes, struct error *err)
{
    const struct resource_key key = resource_key_read(key_bytes);
    struct resolved_record record;
    struct arena arena = {0};
    bool found;
    bool done = store_get_resolved(txn, &key, &arena, &record, &found, err) &&
                (!found || (refer(txn, key_bytes, &record.geometry, false, err) &&
                            value_delete(txn, DB_RESOLVED, key_bytes, RESOURCE_KEY_SIZE, err)));
    arena_free(&arena);
    return done;
}

bool store_drop_resolved(struct store_txn *txn, const struct resource_key *key, struct error *err)
{
    uint8_t bytes[RESOURCE_KEY_SIZE];
    resource_key_write(bytes, key);
    return drop_outcome(txn, bytes, err);
}

/* A value that is to be in a database. */
struct wanted {
    uint8_t key[RESOURCE_KEY_SIZE];
    size_t key_size, at, size; /* its payload in `bytes` of the list */
    struct hash geometry;      /* of outcomes */
    bool there;                /* with these bytes already */
};

struct wanted_list {
    enum store_db db;
    struct buffer rows; /* of struct wanted */
    struct buffer bytes;
    struct buffer stale; /* keys that are to go, each of RESOURCE_KEY_SIZE bytes */
    size_t key_size;
};

static void wanted_free(struct wanted_list *list)
{
    buffer_free(&list->rows);
    buffer_free(&list->bytes);
    buffer_free(&list->stale);
}

static int compare_wanted(const void *a, const void *b)
{
    return memcmp(((const struct wanted *)a)->key, ((const struct wanted *)b)->key, RESOURCE_KEY_SIZE);
}

static int compare_rows(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    int order = compare_wanted(a, b);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Sorts by key; of several under one key the first that was added stays. */
static size_t sort_wanted(struct wanted *rows, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_wanted(&rows[kept - 1], &rows[i]) != 0)
            rows[kept++] = rows[i];
    return kept;
}

/* Whether an existing value is wanted as it is; what is not wanted at all becomes stale. */
static bool compare_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct wanted_list *list = ctx;
    struct wanted search = {.key_size = key->mv_size};
    struct value value;
    if (key->mv_size != list->key_size)
        return true; /* no key of this database: `check` tells */
    memcpy(search.key, key->mv_data, key->mv_size);
    size_t count = list->rows.size / sizeof search;
    struct wanted *row =
        count ? bsearch(&search, list->rows.data, count, sizeof search, compare_wanted) : NULL;
    if (!row) {
        buffer_append(&list->stale, search.key, sizeof search.key);
        return !list->stale.failed || store_nomem(err);
    }
    struct error fault = {0}; /* a damaged value is written anew */
    row->there = value_verify(list->db, key, stored, &value, &fault) && value.size == row->size &&
                 memcmp(value.bytes, list->bytes.data + row->at, row->size) == 0;
    return true;
}

static bool put_wanted(struct store_txn *txn, const struct wanted_list *list, const struct wanted *row,
                       struct error *err)
{
    if (list->db == DB_RESOLVED &&
        (!drop_outcome(txn, row->key, err) || !refer(txn, row->key, &row->geometry, true, err)))
        return false;
    return value_put(txn, list->db, row->key, row->key_size, list->bytes.data + row->at, row->size, NULL,
                     NULL, err);
}

/* Makes the database hold exactly the list. */
static bool replace_all(struct store_txn *txn, struct wanted_list *list, uint64_t *changed, struct error *err)
{
    struct wanted *rows = (struct wanted *)list->rows.data;
    if (list->rows.failed || list->bytes.failed)
        return store_nomem(err);
    size_t count = sort_wanted(rows, list->rows.size / sizeof *rows);
    list->rows.size = count * sizeof *rows;
    if (!db_each(txn, list->db, NULL, 0, compare_one, list, err))
        return false;
    for (size_t at = 0; at < list->stale.size; at += RESOURCE_KEY_SIZE) {
        const uint8_t *key = list->stale.data + at;
        (*changed)++;
        if (list->db == DB_RESOLVED ? !drop_outcome(txn, key, err)
                                    : !value_delete(txn, list->db, key, list->key_size, err))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].there)
            continue;
        (*changed)++;
        if (!put_wanted(txn, list, &rows[i], err))
            return false;
    }
    return true;
}

static bool put_outcomes(struct store_txn *txn, const struct store_resolution *resolution, uint64_t *changed,
                         struct error *err)
{
    struct wanted_list list = {.db = DB_RESOLVED, .key_size = RESOURCE_KEY_SIZE};
    for (size_t i = 0; i < resolution->outcome_count; i++) {
        const struct resolved_record *record = &resolution->outcomes[i];
        struct wanted row = {
            .key_size = RESOURCE_KEY_SIZE, .at = list.bytes.size, .geometry = record->geometry};
        resource_key_write(row.key, &resolution->keys[i]);
        resolved_write(&list.bytes, record);
        row.size = list.bytes.size - row.at;
        buffer_append(&list.rows, &row, sizeof row);
    }
    bool done = replace_all(txn, &list, changed, err);
    wanted_free(&list);
    return done;
}

static bool put_findings(struct store_txn *txn, const struct store_resolution *resolution, uint64_t *changed,
                         struct error *err)
{
    struct wanted_list list = {.db = DB_FINDINGS, .key_size = HASH_SIZE};
    for (size_t i = 0; i < resolution->finding_count; i++) {
        struct wanted row = {.key_size = HASH_SIZE, .at = list.bytes.size};
        struct hash key;
        list.rows.failed |= !finding_key(&resolution->findings[i], &key);
        memcpy(row.key, key.bytes, HASH_SIZE);
        finding_write(&list.bytes, &resolution->findings[i]);
        row.size = list.bytes.size - row.at;
        buffer_append(&list.rows, &row, sizeof row);
    }
    bool done = replace_all(txn, &list, changed, err);
    wanted_free(&list);
    return done;
}

static bool put_census(struct store_txn *txn, const struct declined_census *census, uint64_t *changed,
                       struct error *err)
{
    uint8_t key[8];
    struct value value;
    bool found;
    census_key(census->run, key);
    buffer_clear(&txn->scratch);
    if (!declined_write(&txn->scratch, census))
        return store_nomem(err);
    if (!value_get(txn, DB_DECLINED, key, sizeof key, &value, &found, err))
        return false;
    if (found && value.size == txn->scratch.size && memcmp(value.bytes, txn->scratch.data, value.size) == 0)
        return true;
    (*changed)++;
    return value_put(txn, DB_DECLINED, key, sizeof key, txn->scratch.data, txn->scratch.size, NULL, NULL,
                     err);
}

bool store_put_resolution(struct store_txn *txn, const struct store_resolution *resolution, uint64_t *changed,
                          struct error *err)
{
    *changed = 0;
    return put_outcomes(txn, resolution, changed, err) && put_findings(txn, resolution, changed, err) &&
           put_census(txn, resolution->census, changed, err);
}
