/* quarantine.c - see quarantine.h */
#include "pipeline/quarantine.h"

struct culprits {
    struct buffer contents, sources; /* of struct hash */
};

static bool is_new(enum container_reason reason)
{
    return reason == CONTAINER_CRASHED || reason == CONTAINER_TIMED_OUT;
}

static bool find_content(const struct hash *container, uint32_t decoder_version, enum container_reason reason,
                         void *ctx)
{
    struct culprits *culprits = ctx;
    (void)decoder_version;
    if (is_new(reason))
        buffer_append(&culprits->contents, container, sizeof *container);
    return true;
}

static bool find_source(const struct hash *path_hash, const struct source_record *record, void *ctx)
{
    struct culprits *culprits = ctx;
    if (is_new(record->reason))
        buffer_append(&culprits->sources, path_hash, sizeof *path_hash);
    return true;
}

/* Only records without resources can be meant: a container that crashed has none, and an archive never has.
 */
static bool put_content(struct store_txn *txn, const struct hash *container, struct arena *arena,
                        struct error *err)
{
    struct container_record record;
    bool found;
    if (!store_get_container(txn, container, arena, &record, &found, err))
        return false;
    if (!found || record.container.resource_count)
        return true;
    record.container.reason = CONTAINER_QUARANTINED;
    return store_put_container(txn, container, &record, NULL, 0, err);
}

static bool put_source(struct store_txn *txn, const struct hash *path_hash, struct arena *arena,
                       struct error *err)
{
    struct source_record record;
    bool found;
    if (!store_get_source(txn, path_hash, arena, &record, &found, err))
        return false;
    record.reason = CONTAINER_QUARANTINED;
    return !found || store_put_source(txn, &record, err);
}

static bool put_all(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct culprits *culprits = ctx;
    const struct hash *contents = (const struct hash *)culprits->contents.data;
    const struct hash *sources = (const struct hash *)culprits->sources.data;
    struct arena arena = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < culprits->contents.size / sizeof *contents; i++) {
        ok = put_content(txn, &contents[i], &arena, err);
        arena_reset(&arena);
    }
    for (size_t i = 0; ok && i < culprits->sources.size / sizeof *sources; i++) {
        ok = put_source(txn, &sources[i], &arena, err);
        arena_reset(&arena);
    }
    arena_free(&arena);
    return ok;
}

bool quarantine(struct store *store, struct error *err)
{
    struct culprits culprits = {0};
    struct store_txn *txn = store_begin_read(store, err);
    bool ok = txn && store_each_content(txn, find_content, &culprits, err) &&
              store_each_source(txn, find_source, &culprits, err);
    store_end_read(txn);
    if (ok && (culprits.contents.failed || culprits.sources.failed))
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (ok && culprits.contents.size + culprits.sources.size)
        ok = store_update(store, put_all, &culprits, err);
    buffer_free(&culprits.contents);
    buffer_free(&culprits.sources);
    return ok;
}
