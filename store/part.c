/* part.c - see part.h */
#include "store/part.h"

#include <stdlib.h>
#include <string.h>

#include "store/image_names.h"
#include "store/record_io.h"
#include "store/store_internal.h"

/* ---- the record ---------------------------------------------------------------------------------------- */

bool part_write(struct buffer *out, const struct part_record *part)
{
    write_u8(out, RECORD_VERSION);
    write_u32(out, part->shard);
    write_u32(out, part->expected);
    write_u64(out, part->rule);
    write_u64(out, part->bytes);
    write_u64(out, (uint64_t)part->mtime_ns);
    write_u64(out, part->first_failed);
    write_u64(out, part->readable);
    write_u8(out, part->place_reason);
    write_u64(out, part->place_failed);
    write_string(out, part->place_message ? part->place_message : "");
    return container_write(out, &part->archive);
}

bool part_read(const uint8_t *bytes, size_t size, struct arena *arena, struct part_record *part,
               struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "part", err);
    memset(part, 0, sizeof *part);
    read_version(&r);
    part->shard = reader_u32le(&r, "shard");
    part->expected = reader_u32le(&r, "parts");
    part->rule = read_u64(&r, "rule");
    part->bytes = read_u64(&r, "bytes");
    part->mtime_ns = (int64_t)read_u64(&r, "mtime");
    part->first_failed = read_u64(&r, "first failed member");
    part->readable = read_u64(&r, "readable members");
    part->place_reason = (enum container_reason)read_below(&r, CONTAINER_REASON_COUNT, "reason");
    part->place_failed = read_u64(&r, "member that fails by its place");
    part->place_message = read_text(&r, arena, "message");
    size_t left = reader_left(&r);
    const uint8_t *rest = reader_bytes(&r, left, "archive");
    return reader_ok(&r) && container_read(rest, left, arena, &part->archive, err);
}

bool store_put_part(struct store_txn *txn, const struct hash *path, const struct part_record *part,
                    struct error *err)
{
    uint8_t key[RESOURCE_KEY_SIZE];
    resource_key_write(key, &(struct resource_key){*path, part->shard});
    buffer_clear(&txn->scratch);
    if (!part_write(&txn->scratch, part))
        return store_nomem(err);
    return value_put(txn, DB_PARTS, key, sizeof key, txn->scratch.data, txn->scratch.size, NULL, NULL, err);
}

/* ---- joining ------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct census_row *x = a, *y = b;
    int order = strcmp(x->magic, y->magic);
    return order ? order : strcmp(x->ending, y->ending);
}

static bool join_census(const struct part_record *parts, size_t count, struct arena *arena,
                        struct container_record *archive)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += parts[i].archive.census_count;
    struct census_row *rows = arena_array(arena, room, sizeof *rows);
    if (!rows)
        return false;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < parts[i].archive.census_count; k++)
            rows[used++] = parts[i].archive.census[k];
    if (used)
        qsort(rows, used, sizeof *rows, compare_rows);
    archive->census = rows;
    archive->census_count = 0;
    for (size_t i = 0; i < used; i++) {
        struct census_row *last = archive->census_count ? &rows[archive->census_count - 1] : NULL;
        if (!last || compare_rows(last, &rows[i]) != 0) {
            rows[archive->census_count++] = rows[i];
            continue;
        }
        last->count += rows[i].count;
        last->bytes += rows[i].bytes;
    }
    return true;
}

/* Which part's fault a walk would have told: that of the earliest member, and without one what every part
 * says of the archive as a whole. Parts differ in it only when a member's fault ended the listing early; the
 * least words then decide, so that no order does. */
static const struct part_record *first_fault(const struct part_record *parts, size_t count)
{
    const struct part_record *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct part_record *part = &parts[i];
        if (part->archive.container.reason == CONTAINER_REASON_NONE)
            continue;
        if (!first || part->first_failed < first->first_failed ||
            (part->first_failed == first->first_failed &&
             strcmp(part->archive.container.error.msg, first->archive.container.error.msg) < 0))
            first = part;
    }
    return first;
}

/* The names of images of all parts. Unknown of one is unknown of all, as too many of one are. */
static bool join_images(const struct part_record *parts, size_t count, struct arena *arena,
                        struct container_record *archive)
{
    struct image_names names = {0};
    bool known = true, ok = true;
    for (size_t i = 0; i < count; i++) {
        const char *images = parts[i].archive.images;
        known &= images != NULL;
        if (images)
            image_names_add_all(&names, images);
    }
    const char *all = image_names_text(&names);
    archive->images = NULL;
    if (all && known)
        ok = (archive->images = arena_copy(arena, all, strlen(all))) != NULL;
    ok &= !names.text.failed;
    image_names_free(&names);
    return ok;
}

bool part_join(const struct part_record *parts, size_t count, struct arena *arena,
               struct container_record *archive)
{
    const struct part_record *fault = first_fault(parts, count);
    uint64_t readable = 0;
    *archive = fault ? fault->archive : parts[0].archive;
    for (size_t i = 0; i < count; i++) {
        const struct container_record *one = &parts[i].archive;
        readable += parts[i].readable;
        archive->container.flags |= one->container.flags;
        /* All list the same members, but one whose reader broke down may have stopped early. */
        if (archive->member_count < one->member_count)
            archive->member_count = one->member_count;
    }
    archive->container.status = !fault ? CONTAINER_READ : readable ? CONTAINER_DAMAGED : CONTAINER_SKIPPED;
    archive->container.flags &= ~FLAG_BIT(FLAG_PARTIAL);
    if (count < parts[0].expected)
        archive->container.flags |= FLAG_BIT(FLAG_PARTIAL);
    return join_census(parts, count, arena, archive) && join_images(parts, count, arena, archive);
}

/* ---- all parts of a store ------------------------------------------------------------------------------ */

struct joining {
    struct store_txn *txn;
    struct arena arena;
    struct buffer paths; /* of struct hash: archives that have parts, in order */
    void (*report)(const char *path, unsigned missing, void *ctx);
    void *ctx;
    uint64_t incomplete;
};

static bool note_path(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    struct joining *joining = ctx;
    struct buffer *paths = &joining->paths;
    (void)value;
    if (key->mv_size != RESOURCE_KEY_SIZE)
        return store_bad_record(DB_PARTS, key->mv_data, key->mv_size, err);
    if (!paths->size || memcmp(paths->data + paths->size - HASH_SIZE, key->mv_data, HASH_SIZE) != 0)
        buffer_append(paths, key->mv_data, HASH_SIZE);
    return !paths->failed || store_nomem(err);
}

struct parts {
    const struct hash *path;
    struct arena *arena;
    struct buffer list; /* of struct part_record */
};

static bool collect_part(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct parts *parts = ctx;
    struct part_record part;
    struct value value;
    if (memcmp(key->mv_data, parts->path->bytes, HASH_SIZE) != 0)
        return false;
    if (!value_verify(DB_PARTS, key, stored, &value, err))
        return false;
    if (!part_read(value.bytes, value.size, parts->arena, &part, err))
        return store_bad_record(DB_PARTS, key->mv_data, key->mv_size, err);
    buffer_append(&parts->list, &part, sizeof part);
    return !parts->list.failed || store_nomem(err);
}

/* Whether the parts are all those of one state of the file. Parts of another state, or of shards cut
 * otherwise, are put last; *fitting counts the others. */
static bool is_complete(struct part_record *parts, size_t count, const struct source_record *source,
                        size_t *fitting)
{
    size_t fits = 0;
    for (size_t i = 0; i < count; i++) {
        struct part_record part = parts[i];
        if (part.bytes != source->bytes || part.mtime_ns != source->mtime_ns ||
            (fits && part.rule != parts[0].rule))
            continue;
        parts[i] = parts[fits];
        parts[fits++] = part;
    }
    *fitting = fits;
    return fits && fits == parts[0].expected;
}

/* The earliest member that failed for where it lies, as a walk would have told it. */
static const struct part_record *first_misplaced(const struct part_record *parts, size_t count)
{
    const struct part_record *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct part_record *part = &parts[i];
        if (part->place_reason == CONTAINER_REASON_NONE)
            continue;
        if (!first || part->place_failed < first->place_failed ||
            (part->place_failed == first->place_failed &&
             strcmp(part->place_message, first->place_message) < 0))
            first = part;
    }
    return first;
}

/* The archive has no content then: its source says why. */
static bool put_misplaced(struct store_txn *txn, const struct source_record *source,
                          const struct part_record *misplaced, const struct part_record *parts, size_t count,
                          struct error *err)
{
    struct source_record failed = *source;
    uint64_t readable = 0;
    for (size_t i = 0; i < count; i++)
        readable += parts[i].readable;
    failed.kind = SOURCE_FAILED;
    memset(&failed.container, 0, sizeof failed.container);
    failed.status = readable ? CONTAINER_DAMAGED : CONTAINER_SKIPPED;
    failed.reason = misplaced->place_reason;
    failed.message = *misplaced->place_message ? misplaced->place_message : NULL;
    return store_put_source(txn, &failed, err);
}

static bool drop_parts(struct store_txn *txn, const struct hash *path, const struct part_record *parts,
                       size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t key[RESOURCE_KEY_SIZE];
        resource_key_write(key, &(struct resource_key){*path, parts[i].shard});
        if (!value_delete(txn, DB_PARTS, key, sizeof key, err))
            return false;
    }
    return true;
}

static bool join_archive(struct joining *joining, const struct hash *path, struct parts *parts,
                         struct error *err)
{
    struct source_record source;
    struct container_record archive;
    bool found;
    struct part_record *list = (struct part_record *)parts->list.data;
    size_t count = parts->list.size / sizeof *list, fitting;
    if (!store_get_source(joining->txn, path, &joining->arena, &source, &found, err))
        return false;
    if (!found || (source.kind != SOURCE_CONTAINER && source.kind != SOURCE_FAILED))
        return true; /* its own shard is among those to come */
    bool has_content = source.kind == SOURCE_CONTAINER;
    if (has_content &&
        !store_get_container(joining->txn, &source.container, &joining->arena, &archive, &found, err))
        return false;
    if (has_content && found && !(archive.container.flags & FLAG_BIT(FLAG_PARTIAL))) /* known as a whole */
        return drop_parts(joining->txn, path, list, count, err);
    bool complete = is_complete(list, count, &source, &fitting);
    if (!complete) {
        joining->incomplete++;
        unsigned missing = fitting ? list[0].expected - (unsigned)fitting : list[0].expected;
        if (joining->report)
            joining->report(source.path, missing, joining->ctx);
    }
    if (!fitting)
        return true;
    const struct part_record *misplaced = first_misplaced(list, fitting);
    if (misplaced && !put_misplaced(joining->txn, &source, misplaced, list, fitting, err))
        return false;
    if (!misplaced && !part_join(list, fitting, &joining->arena, &archive))
        return store_nomem(err);
    return (misplaced || !has_content ||
            store_put_container(joining->txn, &source.container, &archive, NULL, 0, err)) &&
           (!complete || drop_parts(joining->txn, path, list, count, err));
}

static bool join_all(struct store_txn *txn, void *ctx, struct error *err)
{
    struct joining *joining = ctx;
    joining->txn = txn;
    joining->incomplete = 0;
    buffer_clear(&joining->paths);
    bool done = db_each(txn, DB_PARTS, NULL, 0, note_path, joining, err);
    for (size_t at = 0; done && at < joining->paths.size; at += HASH_SIZE) {
        struct hash path = hash_read(joining->paths.data + at);
        struct parts parts = {.path = &path, .arena = &joining->arena};
        arena_reset(&joining->arena);
        done = db_each(txn, DB_PARTS, path.bytes, HASH_SIZE, collect_part, &parts, err) &&
               join_archive(joining, &path, &parts, err);
        buffer_free(&parts.list);
    }
    return done;
}

bool store_join_parts(struct store *store, void (*report)(const char *path, unsigned missing, void *ctx),
                      void *ctx, uint64_t *incomplete, struct error *err)
{
    struct joining joining = {.report = report, .ctx = ctx};
    bool done = store_update(store, join_all, &joining, err);
    *incomplete = joining.incomplete;
    arena_free(&joining.arena);
    buffer_free(&joining.paths);
    return done;
}
