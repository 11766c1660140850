/* store_read.c - typed reads. See store.h. */
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- one record ---- */

bool store_get_source(struct store_txn *txn, const struct hash *path_hash, struct arena *arena,
                      struct source_record *record, bool *found, struct error *err)
{
    struct value value;
    if (!value_get(txn, DB_SOURCES, path_hash->bytes, HASH_SIZE, &value, found, err))
        return false;
    return !*found || source_read(value.bytes, value.size, arena, record, err) ||
           store_bad_record(DB_SOURCES, path_hash->bytes, HASH_SIZE, err);
}

bool store_get_container(struct store_txn *txn, const struct hash *container, struct arena *arena,
                         struct container_record *record, bool *found, struct error *err)
{
    struct value value;
    if (!value_get(txn, DB_CONTAINERS, container->bytes, HASH_SIZE, &value, found, err))
        return false;
    return !*found || container_read(value.bytes, value.size, arena, record, err) ||
           store_bad_record(DB_CONTAINERS, container->bytes, HASH_SIZE, err);
}

bool store_get_resource(struct store_txn *txn, const struct hash *container, uint32_t index,
                        struct arena *arena, struct resource_record *record, bool *found, struct error *err)
{
    uint8_t key[RESOURCE_KEY_SIZE];
    struct value value;
    resource_key_write(key, &(struct resource_key){*container, index});
    if (!value_get(txn, DB_RESOURCES, key, sizeof key, &value, found, err))
        return false;
    return !*found || resource_read(value.bytes, value.size, arena, record, err) ||
           store_bad_record(DB_RESOURCES, key, sizeof key, err);
}

bool store_get_candidates(struct store_txn *txn, const struct hash *container, struct arena *arena,
                          struct resource_record *record, struct error *err)
{
    uint8_t key[RESOURCE_KEY_SIZE];
    struct value value;
    bool found;
    resource_key_write(key, &(struct resource_key){*container, record->resource.index});
    if (!value_get(txn, DB_CANDIDATES, key, sizeof key, &value, &found, err))
        return false;
    return !found || candidates_read(value.bytes, value.size, arena, record, err) ||
           store_bad_record(DB_CANDIDATES, key, sizeof key, err);
}

bool store_get_coverage(struct store_txn *txn, const struct hash *container, struct arena *arena,
                        struct container_record *record, struct error *err)
{
    struct value value;
    bool found;
    if (!value_get(txn, DB_COVERAGE, container->bytes, HASH_SIZE, &value, &found, err))
        return false;
    return !found || coverage_read(value.bytes, value.size, arena, &record->container, err) ||
           store_bad_record(DB_COVERAGE, container->bytes, HASH_SIZE, err);
}

bool store_geometry_pages(struct store_txn *txn, uint64_t *count, uint64_t *bytes, struct error *err)
{
    MDB_stat stat;
    int rc = mdb_stat(txn->txn, txn->store->dbi[DB_GEOMETRY], &stat);
    if (rc != MDB_SUCCESS)
        return store_fail(txn->store, rc, store_db_name(DB_GEOMETRY), err);
    *count = stat.ms_entries;
    *bytes = (uint64_t)(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
    return true;
}

bool store_has_geometry(struct store_txn *txn, const struct hash *geometry, bool *found, struct error *err)
{
    return set_any(txn, DB_GEOMETRY, geometry, found, err);
}

struct content_walk {
    bool (*content)(const struct hash *container, const struct container_head *head, void *ctx);
    bool (*geometry)(const struct hash *geometry, void *ctx);
    void *ctx;
};

static bool content_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct content_walk *walk = ctx;
    struct value value;
    struct error damaged = {0};
    struct container_head head;
    (void)err;
    /* What cannot be read is not known, and will be decoded again; `check` names it. */
    if (key->mv_size != HASH_SIZE || !value_verify(DB_CONTAINERS, key, stored, &value, &damaged) ||
        !container_read_head(value.bytes, value.size, &head, &damaged))
        return true;
    struct hash hash = hash_read(key->mv_data);
    return walk->content(&hash, &head, walk->ctx);
}

static bool geometry_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct content_walk *walk = ctx;
    (void)stored;
    (void)err;
    if (key->mv_size != HASH_SIZE)
        return true;
    struct hash hash = hash_read(key->mv_data);
    return walk->geometry(&hash, walk->ctx);
}

bool store_each_content(struct store_txn *txn,
                        bool (*each)(const struct hash *container, const struct container_head *head,
                                     void *ctx),
                        void *ctx, struct error *err)
{
    struct content_walk walk = {.content = each, .ctx = ctx};
    return db_each(txn, DB_CONTAINERS, NULL, 0, content_one, &walk, err);
}

bool store_each_geometry(struct store_txn *txn, bool (*each)(const struct hash *geometry, void *ctx),
                         void *ctx, struct error *err)
{
    struct content_walk walk = {.geometry = each, .ctx = ctx};
    return db_each(txn, DB_GEOMETRY, NULL, 0, geometry_one, &walk, err);
}

bool store_get_geometry(struct store_txn *txn, const struct hash *geometry, struct buffer *out, bool *found,
                        struct error *err)
{
    struct value value;
    size_t before = out->size;
    if (!value_get(txn, DB_GEOMETRY, geometry->bytes, HASH_SIZE, &value, found, err) || !*found)
        return err->code == ERROR_NONE;
    if (!codec_decode(value.bytes, value.size, out, err))
        return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
    struct hash is = hash_bytes(out->data + before, out->size - before);
    if (hash_equal(&is, geometry))
        return true;
    out->size = before;
    error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "its bytes have another hash");
    return store_bad_record(DB_GEOMETRY, geometry->bytes, HASH_SIZE, err);
}

/* ---- sets of references ----
 *
 * A reference has no checksum, so it is believed only when what it names exists and leads back to the set. */

static bool bad_reference(enum store_db db, const struct hash *key, bool found, const char *what,
                          struct error *err)
{
    error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "names a %s that %s", what,
              found ? "does not belong to it" : "is not there");
    return store_bad_record(db, key->bytes, HASH_SIZE, err);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool get_place(struct store_txn *txn, const struct hash *container, const struct hash *path_hash,
                      struct arena *arena, struct source_record *place, struct error *err)
{
    bool found;
    if (!store_get_source(txn, path_hash, arena, place, &found, err))
        return false;
    return (found && hash_equal(&place->container, container)) ||
           bad_reference(DB_PLACES, container, found, "source", err);
}

bool store_places(struct store_txn *txn, const struct hash *container, struct arena *arena,
                  const char ***paths, size_t *count, const char **stem, struct error *err)
{
    struct buffer hashes = {0};
    struct source_record place, least = {0};
    bool done = set_collect(txn, DB_PLACES, container, HASH_SIZE, &hashes, err);
    *count = hashes.size / HASH_SIZE;
    *paths = arena_array(arena, *count, sizeof **paths);
    if (!*paths)
        done = store_nomem(err);
    for (size_t i = 0; i < *count && done; i++) {
        struct hash path_hash = hash_read(hashes.data + i * HASH_SIZE);
        done = get_place(txn, container, &path_hash, arena, &place, err);
        if (done && (i == 0 || strcmp(place.path, least.path) < 0))
            least = place;
        (*paths)[i] = done ? place.path : NULL;
    }
    buffer_free(&hashes);
    if (done && *count)
        qsort(*paths, *count, sizeof **paths, compare_paths);
    if (stem)
        *stem = least.stem;
    return done;
}

/* Keys as they are stored: the big-endian index makes their order that of their bytes. */
static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, RESOURCE_KEY_SIZE);
}

/* Sorts the keys, drops those that occur again, and gives them in the arena. */
static bool finish_keys(struct buffer *list, struct arena *arena, struct resource_key **keys, size_t *count,
                        struct error *err)
{
    size_t met = list->size / RESOURCE_KEY_SIZE, kept = 0;
    *keys = arena_array(arena, met, sizeof **keys);
    if (!*keys)
        return store_nomem(err);
    if (met)
        qsort(list->data, met, RESOURCE_KEY_SIZE, compare_keys);
    for (size_t i = 0; i < met; i++) {
        const uint8_t *key = list->data + i * RESOURCE_KEY_SIZE;
        if (i == 0 || compare_keys(key - RESOURCE_KEY_SIZE, key) != 0)
            (*keys)[kept++] = resource_key_read(key);
    }
    *count = kept;
    return true;
}

static bool has_name(const struct resource_record *record, const void *wanted)
{
    return record->resource.name && strcmp(record->resource.name, wanted) == 0;
}

static bool has_geometry(const struct resource_record *record, const void *wanted)
{
    return hash_equal(&record->geometry, wanted);
}

/* Keeps those of the set's keys whose content is live. */
static bool keep_live(struct store_txn *txn, enum store_db db, const struct hash *set, struct buffer *list,
                      bool (*fits)(const struct resource_record *record, const void *wanted),
                      const void *wanted, struct error *err)
{
    size_t count = list->size / RESOURCE_KEY_SIZE;
    list->size = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = list->data + i * RESOURCE_KEY_SIZE;
        struct resource_key key = resource_key_read(bytes);
        struct resource_record record;
        struct resolved_record outcome;
        bool live, found;
        arena_reset(&txn->arena);
        if (!store_get_resource(txn, &key.container, key.index, &txn->arena, &record, &found, err) ||
            !set_any(txn, DB_PLACES, &key.container, &live, err))
            return false;
        bool fitted = found && fits(&record, wanted);
        if (found && !store_apply_resolved(txn, &key.container, &txn->arena, &record, &outcome, err))
            return false;
        bool fits_now = found && fits(&record, wanted);
        if (!fitted && !fits_now)
            return bad_reference(db, set, found, "resource", err);
        if (live && fits_now) {
            memmove(list->data + list->size, bytes, RESOURCE_KEY_SIZE);
            list->size += RESOURCE_KEY_SIZE;
        }
    }
    return true;
}

struct prefix_walk {
    const struct hash *container;
    bool (*each)(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err);
    void *ctx;
};

static bool prefix_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    const struct prefix_walk *walk = ctx;
    if (key->mv_size != RESOURCE_KEY_SIZE || memcmp(key->mv_data, walk->container->bytes, HASH_SIZE) != 0)
        return false;
    return walk->each(key, stored, walk->ctx, err);
}

/* The stored resources of one container. */
static bool each_stored_resource(struct store_txn *txn, const struct hash *container,
                                 bool (*each)(const MDB_val *key, const MDB_val *stored, void *ctx,
                                              struct error *err),
                                 void *ctx, struct error *err)
{
    struct prefix_walk walk = {container, each, ctx};
    return db_each(txn, DB_RESOURCES, container->bytes, HASH_SIZE, prefix_one, &walk, err);
}

struct nameless_walk {
    struct arena *arena;
    struct buffer *keys;
};

static bool append_nameless(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    const struct nameless_walk *walk = ctx;
    struct resource_record record;
    struct value value;
    arena_reset(walk->arena);
    if (!value_verify(DB_RESOURCES, key, stored, &value, err))
        return false;
    if (!resource_read(value.bytes, value.size, walk->arena, &record, err))
        return store_bad_record(DB_RESOURCES, key->mv_data, key->mv_size, err);
    if (!record.resource.name)
        buffer_append(walk->keys, key->mv_data, RESOURCE_KEY_SIZE);
    return !walk->keys->failed || store_nomem(err);
}

/* Appends the nameless resources of every content that lies somewhere under this stem. */
static bool find_stem(struct store_txn *txn, const char *stem, const struct hash *stem_hash,
                      struct buffer *keys, struct error *err)
{
    struct nameless_walk walk = {&txn->arena, keys};
    struct buffer hashes = {0};
    bool done = set_collect(txn, DB_STEMS, stem_hash, HASH_SIZE, &hashes, err);
    for (size_t i = 0; i < hashes.size / HASH_SIZE && done; i++) {
        struct hash path_hash = hash_read(hashes.data + i * HASH_SIZE);
        struct source_record record;
        bool found;
        arena_reset(&txn->arena);
        done = store_get_source(txn, &path_hash, &txn->arena, &record, &found, err);
        if (done && (!found || !record.stem || strcmp(record.stem, stem) != 0))
            done = bad_reference(DB_STEMS, stem_hash, found, "source", err);
        struct hash container = done ? record.container : (struct hash){{0}};
        done = done && each_stored_resource(txn, &container, append_nameless, &walk, err);
    }
    buffer_free(&hashes);
    return done;
}

bool store_find_name(struct store_txn *txn, const char *name, struct arena *arena, struct resource_key **keys,
                     size_t *count, struct error *err)
{
    struct hash key = hash_text(name);
    struct buffer list = {0};
    bool done = set_collect(txn, DB_NAMES, &key, RESOURCE_KEY_SIZE, &list, err) &&
                keep_live(txn, DB_NAMES, &key, &list, has_name, name, err) &&
                find_stem(txn, name, &key, &list, err) && finish_keys(&list, arena, keys, count, err);
    buffer_free(&list);
    return done;
}

bool store_find_geometry(struct store_txn *txn, const struct hash *geometry, struct arena *arena,
                         struct resource_key **keys, size_t *count, struct error *err)
{
    struct buffer list = {0};
    bool done = set_collect(txn, DB_USES, geometry, RESOURCE_KEY_SIZE, &list, err) &&
                keep_live(txn, DB_USES, geometry, &list, has_geometry, geometry, err) &&
                finish_keys(&list, arena, keys, count, err);
    buffer_free(&list);
    return done;
}

/* ---- walks ---- */

struct source_walk {
    struct arena arena;
    bool (*wanted)(const struct source_head *head, void *ctx); /* NULL: all are */
    bool (*each)(const struct hash *path_hash, const struct source_record *record, void *ctx);
    void *ctx;
};

static bool source_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct source_walk *walk = ctx;
    struct source_record record;
    struct source_head head;
    struct value value;
    if (!value_verify(DB_SOURCES, key, stored, &value, err))
        return false;
    if (walk->wanted && !source_read_head(value.bytes, value.size, &head, err))
        return store_bad_record(DB_SOURCES, key->mv_data, key->mv_size, err);
    if (walk->wanted && !walk->wanted(&head, walk->ctx))
        return true;
    arena_reset(&walk->arena);
    if (key->mv_size != HASH_SIZE || !source_read(value.bytes, value.size, &walk->arena, &record, err))
        return store_bad_record(DB_SOURCES, key->mv_data, key->mv_size, err);
    struct hash path_hash = hash_read(key->mv_data);
    return walk->each(&path_hash, &record, walk->ctx);
}

bool store_each_source_if(struct store_txn *txn, bool (*wanted)(const struct source_head *head, void *ctx),
                          bool (*each)(const struct hash *path_hash, const struct source_record *record,
                                       void *ctx),
                          void *ctx, struct error *err)
{
    struct source_walk walk = {.wanted = wanted, .each = each, .ctx = ctx};
    bool done = db_each(txn, DB_SOURCES, NULL, 0, source_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

bool store_each_source(struct store_txn *txn,
                       bool (*each)(const struct hash *path_hash, const struct source_record *record,
                                    void *ctx),
                       void *ctx, struct error *err)
{
    return store_each_source_if(txn, NULL, each, ctx, err);
}

struct live_walk {
    struct hash last;
    bool any;
    bool (*each)(const struct hash *container, void *ctx, struct error *err);
    void *ctx;
};

/* A place set is met value by value; its key counts once. */
static bool live_one(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    struct live_walk *walk = ctx;
    (void)value;
    if (key->mv_size != HASH_SIZE || (walk->any && memcmp(walk->last.bytes, key->mv_data, HASH_SIZE) == 0))
        return true;
    walk->any = true;
    walk->last = hash_read(key->mv_data);
    return walk->each(&walk->last, walk->ctx, err);
}

/* The contents that have a place, in the order of their hashes. */
static bool each_live(struct store_txn *txn,
                      bool (*each)(const struct hash *container, void *ctx, struct error *err), void *ctx,
                      struct error *err)
{
    struct live_walk walk = {.each = each, .ctx = ctx};
    return db_each(txn, DB_PLACES, NULL, 0, live_one, &walk, err);
}

struct container_walk {
    struct store_txn *txn;
    struct arena arena;
    bool (*each)(const struct hash *container, const struct container_record *record, void *ctx);
    void *ctx;
};

static bool container_one(const struct hash *container, void *ctx, struct error *err)
{
    struct container_walk *walk = ctx;
    struct container_record record;
    bool found;
    arena_reset(&walk->arena);
    if (!store_get_container(walk->txn, container, &walk->arena, &record, &found, err))
        return false;
    return !found || walk->each(container, &record, walk->ctx);
}

bool store_each_container(struct store_txn *txn,
                          bool (*each)(const struct hash *container, const struct container_record *record,
                                       void *ctx),
                          void *ctx, struct error *err)
{
    struct container_walk walk = {.txn = txn, .each = each, .ctx = ctx};
    bool done = each_live(txn, container_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

struct head_walk {
    struct store_txn *txn;
    bool (*each)(const struct hash *container, const struct container_head *head, void *ctx);
    void *ctx;
};

static bool head_one(const struct hash *container, void *ctx, struct error *err)
{
    struct head_walk *walk = ctx;
    struct container_head head;
    struct value value;
    bool found;
    if (!value_get(walk->txn, DB_CONTAINERS, container->bytes, HASH_SIZE, &value, &found, err))
        return false;
    if (!found)
        return true;
    if (!container_read_head(value.bytes, value.size, &head, err))
        return store_bad_record(DB_CONTAINERS, container->bytes, HASH_SIZE, err);
    return walk->each(container, &head, walk->ctx);
}

bool store_each_container_head(struct store_txn *txn,
                               bool (*each)(const struct hash *container, const struct container_head *head,
                                            void *ctx),
                               void *ctx, struct error *err)
{
    struct head_walk walk = {txn, each, ctx};
    return each_live(txn, head_one, &walk, err);
}

struct namesake_walk {
    struct store_txn *txn;
    struct hash stem;
    struct buffer paths; /* hashes of those that have it, so far */
    struct buffer contents;
    struct arena arena;
    bool stopped;
    bool (*each)(const struct hash *container, void *ctx);
    void *ctx;
};

/* Tells of the contents under the stem that was walked, if they are several. A single path, which most stems
 * have, is not followed. */
static bool tell_namesakes(struct namesake_walk *walk, struct error *err)
{
    size_t count = walk->paths.size / HASH_SIZE;
    struct source_record source;
    bool found, several = false;
    buffer_clear(&walk->contents);
    for (size_t i = 0; i < count && count > 1; i++) {
        struct hash path_hash = hash_read(walk->paths.data + i * HASH_SIZE);
        arena_reset(&walk->arena);
        if (!store_get_source(walk->txn, &path_hash, &walk->arena, &source, &found, err))
            return false;
        if (!found || !source_belongs(DB_STEMS, &source, &walk->stem))
            return bad_reference(DB_STEMS, &walk->stem, found, "source", err);
        buffer_append(&walk->contents, &source.container, sizeof source.container);
        if (walk->contents.failed)
            return store_nomem(err);
        several |= memcmp(walk->contents.data, source.container.bytes, HASH_SIZE) != 0;
    }
    const struct hash *contents = (const struct hash *)walk->contents.data;
    for (size_t i = 0; i < count && several && !walk->stopped; i++)
        walk->stopped = !walk->each(&contents[i], walk->ctx);
    return !walk->stopped;
}

static bool namesake_one(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    struct namesake_walk *walk = ctx;
    if (key->mv_size != HASH_SIZE || value->mv_size != HASH_SIZE)
        return true; /* `check` names it */
    if (memcmp(walk->stem.bytes, key->mv_data, HASH_SIZE) != 0) {
        if (!tell_namesakes(walk, err))
            return false;
        walk->stem = hash_read(key->mv_data);
        buffer_clear(&walk->paths);
    }
    buffer_append(&walk->paths, value->mv_data, HASH_SIZE);
    return !walk->paths.failed || store_nomem(err);
}

bool store_each_namesake(struct store_txn *txn, bool (*each)(const struct hash *container, void *ctx),
                         void *ctx, struct error *err)
{
    struct namesake_walk walk = {.txn = txn, .each = each, .ctx = ctx};
    bool done = db_each(txn, DB_STEMS, NULL, 0, namesake_one, &walk, err);
    if (done && !walk.stopped)
        done = tell_namesakes(&walk, err) || err->code == ERROR_NONE;
    buffer_free(&walk.paths);
    buffer_free(&walk.contents);
    arena_free(&walk.arena);
    return done;
}

struct resource_walk {
    struct store_txn *txn;
    struct arena arena;
    bool stopped;
    bool (*each)(const struct resource_key *key, const struct resource_record *record, void *ctx);
    void *ctx;
};

static bool resource_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct resource_walk *walk = ctx;
    struct resource_record record;
    struct value value;
    arena_reset(&walk->arena);
    if (!value_verify(DB_RESOURCES, key, stored, &value, err))
        return false;
    if (!resource_read(value.bytes, value.size, &walk->arena, &record, err))
        return store_bad_record(DB_RESOURCES, key->mv_data, key->mv_size, err);
    struct resource_key parsed = resource_key_read(key->mv_data);
    walk->stopped = !walk->each(&parsed, &record, walk->ctx);
    return !walk->stopped;
}

static bool resources_of_one(const struct hash *container, void *ctx, struct error *err)
{
    struct resource_walk *walk = ctx;
    return each_stored_resource(walk->txn, container, resource_one, walk, err) && !walk->stopped;
}

bool store_each_resource(struct store_txn *txn,
                         bool (*each)(const struct resource_key *key, const struct resource_record *record,
                                      void *ctx),
                         void *ctx, struct error *err)
{
    struct resource_walk walk = {.txn = txn, .each = each, .ctx = ctx};
    bool done = each_live(txn, resources_of_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

bool store_each_resource_of(struct store_txn *txn, const struct hash *container,
                            bool (*each)(const struct resource_key *key, const struct resource_record *record,
                                         void *ctx),
                            void *ctx, struct error *err)
{
    struct resource_walk walk = {.txn = txn, .each = each, .ctx = ctx};
    bool done = each_stored_resource(txn, container, resource_one, &walk, err);
    arena_free(&walk.arena);
    return done;
}

struct run_walk {
    bool (*each)(const struct run_record *record, void *ctx);
    void *ctx;
};

static bool run_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    const struct run_walk *walk = ctx;
    struct arena arena = {0};
    struct run_record record;
    struct value value;
    bool go_on = value_verify(DB_RUNS, key, stored, &value, err) &&
                 (run_read(value.bytes, value.size, &arena, &record, err) ||
                  store_bad_record(DB_RUNS, key->mv_data, key->mv_size, err)) &&
                 walk->each(&record, walk->ctx);
    arena_free(&arena);
    return go_on;
}

bool store_each_run(struct store_txn *txn, bool (*each)(const struct run_record *record, void *ctx),
                    void *ctx, struct error *err)
{
    struct run_walk walk = {each, ctx};
    return db_each(txn, DB_RUNS, NULL, 0, run_one, &walk, err);
}
