/* earlier.c - see earlier.h */
#include "pipeline/earlier.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"

struct review {
    struct buffer contents, sources; /* that brought a worker down; of struct hash */
    struct buffer reopened;          /* paths that are directories now; of struct hash */
    bool forget_only;
};

static bool is_new(enum container_reason reason)
{
    return reason == CONTAINER_CRASHED || reason == CONTAINER_TIMED_OUT;
}

static bool find_content(const struct hash *container, const struct container_head *head, void *ctx)
{
    struct review *review = ctx;
    if (is_new(head->reason))
        buffer_append(&review->contents, container, sizeof *container);
    return true;
}

static bool is_directory(const char *address)
{
    char *path = address_unescape(address, strlen(address), NULL);
    DIR *directory = path ? opendir(path) : NULL;
    if (directory)
        closedir(directory);
    free(path);
    return directory;
}

static bool is_top_failure(enum source_kind kind, const struct hash *parent)
{
    return kind == SOURCE_FAILED && hash_is_zero(parent);
}

static bool may_be_meant(const struct source_head *head, void *ctx)
{
    (void)ctx;
    return is_top_failure(head->kind, &head->parent) || is_new(head->reason);
}

static bool find_source(const struct hash *path_hash, const struct source_record *record, void *ctx)
{
    struct review *review = ctx;
    if (is_top_failure(record->kind, &record->parent) && is_directory(record->path))
        buffer_append(&review->reopened, path_hash, sizeof *path_hash);
    else if (!review->forget_only && is_new(record->reason))
        buffer_append(&review->sources, path_hash, sizeof *path_hash);
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
    const struct review *review = ctx;
    const struct hash *contents = (const struct hash *)review->contents.data;
    const struct hash *sources = (const struct hash *)review->sources.data;
    struct arena arena = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < review->contents.size / sizeof *contents; i++) {
        ok = put_content(txn, &contents[i], &arena, err);
        arena_reset(&arena);
    }
    for (size_t i = 0; ok && i < review->sources.size / sizeof *sources; i++) {
        ok = put_source(txn, &sources[i], &arena, err);
        arena_reset(&arena);
    }
    arena_free(&arena);
    const struct hash *reopened = (const struct hash *)review->reopened.data;
    for (size_t i = 0; ok && i < review->reopened.size / sizeof *reopened; i++)
        ok = store_drop_source(txn, &reopened[i], err);
    return ok;
}

static bool review_all(struct store *store, bool forget_only, struct error *err)
{
    struct review review = {.forget_only = forget_only};
    struct store_txn *txn = store_begin_read(store, err);
    bool ok = txn && (forget_only || store_each_content(txn, find_content, &review, err)) &&
              store_each_source_if(txn, may_be_meant, find_source, &review, err);
    store_end_read(txn);
    if (ok && (review.contents.failed || review.sources.failed || review.reopened.failed))
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (ok && review.contents.size + review.sources.size + review.reopened.size)
        ok = store_update(store, put_all, &review, err);
    buffer_free(&review.contents);
    buffer_free(&review.sources);
    buffer_free(&review.reopened);
    return ok;
}

bool earlier_review(struct store *store, struct error *err)
{
    return review_all(store, false, err);
}

bool earlier_forget(struct store *store, struct error *err)
{
    return review_all(store, true, err);
}
