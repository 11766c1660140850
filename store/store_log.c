/* store_log.c - puts made ready outside a transaction: records as the bytes a commit only has to copy. See
 * store.h.
 *
 * A put is a row of changes: first the record itself, then what hangs on it (resources, references). Rows are
 * laid one after the other into blocks that never move; an entry by key points to each.
 */
#include "store/part.h"
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks of whole huge pages: rows are read again in the order of their keys, which is none in here, and with
 * small pages every one of them would cost a walk through the page tables as well. */
#define LOG_BLOCK_SIZE ((size_t)2 << 20)
#define LOG_ALIGN      _Alignof(struct change)

struct log_block {
    struct log_block *next;
    size_t used, size; /* of bytes */
    _Alignas(16) uint8_t bytes[];
};

#define LOG_ROOM (LOG_BLOCK_SIZE - sizeof(struct log_block))

struct store_log {
    struct log_block *first, *current; /* blocks behind the current one are kept from an earlier use */
    struct buffer entries[LOG_KINDS];  /* of struct log_entry */
    struct buffer scratch;             /* a row being made */
    size_t bytes;
};

/* ---- rows of changes ----------------------------------------------------------------------------------- */

static size_t aligned(size_t size)
{
    return (size + LOG_ALIGN - 1) & ~(LOG_ALIGN - 1);
}

const struct change *change_next(const struct change *change)
{
    return (const struct change *)((const uint8_t *)change + aligned(CHANGE_HEAD + change->size));
}

static void change_head(struct change *change, enum store_db db, const void *key, size_t key_size,
                        size_t size)
{
    change->size = size;
    change->db = (uint8_t)db;
    change->key_size = (uint8_t)key_size;
    memcpy(change->key, key, key_size);
}

/* Begins a value; its payload is appended by the caller. The change's place, for row_end_value. */
static size_t row_begin_value(struct row *row, enum store_db db, const void *key, size_t key_size)
{
    size_t start = row->bytes->size;
    uint8_t *room = buffer_extend(row->bytes, CHANGE_HEAD + CHECKSUM_SIZE);
    if (room)
        change_head((struct change *)room, db, key, key_size, 0);
    return start;
}

static void row_end_value(struct row *row, size_t start)
{
    struct buffer *bytes = row->bytes;
    if (bytes->failed)
        return;
    struct change *change = (struct change *)(bytes->data + start);
    change->size = bytes->size - start - CHANGE_HEAD;
    value_seal(change->bytes, change->size, change->key, change->key_size);
    buffer_extend(bytes, aligned(bytes->size) - bytes->size);
    row->count++;
}

static void row_reference(struct row *row, enum store_db db, const struct hash *key, const void *value,
                          size_t size)
{
    uint8_t *room = buffer_extend(row->bytes, aligned(CHANGE_HEAD + size));
    if (!room)
        return;
    struct change *change = (struct change *)room;
    change_head(change, db, key->bytes, HASH_SIZE, size);
    memcpy(change->bytes, value, size);
    row->count++;
}

bool row_source(struct row *row, const struct hash *path, const struct source_record *record)
{
    size_t start = row_begin_value(row, DB_SOURCES, path->bytes, HASH_SIZE);
    source_write(row->bytes, record);
    row_end_value(row, start);
    bool is_content = record->kind == SOURCE_CONTAINER;
    if (is_content)
        row_reference(row, DB_PLACES, &record->container, path->bytes, HASH_SIZE);
    if (!hash_is_zero(&record->parent))
        row_reference(row, DB_MEMBERS, &record->parent, path->bytes, HASH_SIZE);
    if (is_content && record->stem) {
        struct hash stem = hash_text(record->stem);
        row_reference(row, DB_STEMS, &stem, path->bytes, HASH_SIZE);
    }
    return !row->bytes->failed;
}

static void row_resource(struct row *row, const struct hash *container, const struct resource_record *record)
{
    uint8_t key[RESOURCE_KEY_SIZE];
    resource_key_write(key, &(struct resource_key){*container, record->resource.index});
    size_t start = row_begin_value(row, DB_RESOURCES, key, sizeof key);
    resource_write(row->bytes, record);
    row_end_value(row, start);
    if (record->resource.candidate_count) {
        start = row_begin_value(row, DB_CANDIDATES, key, sizeof key);
        candidates_write(row->bytes, record);
        row_end_value(row, start);
    }
    if (record->resource.name) {
        struct hash name = hash_text(record->resource.name);
        row_reference(row, DB_NAMES, &name, key, sizeof key);
    }
    if (!hash_is_zero(&record->geometry))
        row_reference(row, DB_USES, &record->geometry, key, sizeof key);
}

bool row_container(struct row *row, const struct hash *container, const struct container_record *record,
                   const struct resource_record *resources, size_t resource_count)
{
    size_t start = row_begin_value(row, DB_CONTAINERS, container->bytes, HASH_SIZE);
    container_write(row->bytes, record);
    row_end_value(row, start);
    if (record->container.coverage_count) {
        start = row_begin_value(row, DB_COVERAGE, container->bytes, HASH_SIZE);
        coverage_write(row->bytes, &record->container);
        row_end_value(row, start);
    }
    for (size_t i = 0; i < resource_count; i++)
        row_resource(row, container, &resources[i]);
    return !row->bytes->failed;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

static struct log_block *block_new(size_t size)
{
    size_t whole = LOG_BLOCK_SIZE;
    if (size > SIZE_MAX / 2)
        return NULL;
    if (size > LOG_ROOM)
        whole = (sizeof(struct log_block) + size + LOG_BLOCK_SIZE - 1) / LOG_BLOCK_SIZE * LOG_BLOCK_SIZE;
    struct log_block *block = aligned_alloc(LOG_BLOCK_SIZE, whole);
    if (!block)
        return NULL;
    madvise(block, whole, MADV_HUGEPAGE); /* a wish: without them it is only slower */
    *block = (struct log_block){.size = whole - sizeof *block};
    return block;
}

/* The pages go back at once, whatever malloc keeps: a log is let go when memory is wanted elsewhere. */
static void block_free(struct log_block *block)
{
    madvise(block, sizeof *block + block->size, MADV_DONTNEED);
    free(block);
}

struct store_log *store_log_new(void)
{
    return calloc(1, sizeof(struct store_log));
}

void store_log_free(struct store_log *log)
{
    if (!log)
        return;
    while (log->first) {
        struct log_block *next = log->first->next;
        block_free(log->first);
        log->first = next;
    }
    for (int kind = 0; kind < LOG_KINDS; kind++)
        buffer_free(&log->entries[kind]);
    buffer_free(&log->scratch);
    free(log);
}

void store_log_clear(struct store_log *log)
{
    if (!log)
        return;
    struct log_block **link = &log->first;
    /* Blocks of the usual size serve again; one made for a large value is given back. */
    while (*link) {
        struct log_block *block = *link;
        block->used = 0;
        if (block->size == LOG_ROOM) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        block_free(block);
    }
    log->current = log->first;
    for (int kind = 0; kind < LOG_KINDS; kind++)
        buffer_clear(&log->entries[kind]);
    log->bytes = 0;
}

size_t store_log_bytes(const struct store_log *log)
{
    return log->bytes;
}

/* Room for a row, aligned for its changes; NULL when memory runs out. */
static uint8_t *log_room(struct store_log *log, size_t size)
{
    struct log_block *block = log->current;
    while (block && size > block->size - block->used)
        block = block->next;
    if (!block) {
        block = block_new(size);
        if (!block)
            return NULL;
        if (log->current) {
            block->next = log->current->next;
            log->current->next = block;
        } else {
            log->first = block;
        }
    }
    /* A large row's own block is full at once, so the one before it goes on being filled. */
    if (block->size == LOG_ROOM || !log->current)
        log->current = block;
    uint8_t *room = block->bytes + block->used;
    block->used += size;
    log->bytes += size;
    return room;
}

static bool log_entry(struct store_log *log, enum log_kind kind, const struct hash *key, uint32_t order,
                      const uint8_t *row, size_t count)
{
    struct log_entry entry = {*key, order, (uint32_t)count, (const struct change *)row};
    buffer_append(&log->entries[kind], &entry, sizeof entry);
    return !log->entries[kind].failed;
}

/* Keeps the row that was made in the scratch. */
static bool log_row(struct store_log *log, enum log_kind kind, const struct hash *key, uint32_t order,
                    const struct row *row, struct error *err)
{
    uint8_t *room = row->bytes->failed ? NULL : log_room(log, row->bytes->size);
    if (!room)
        return store_nomem(err);
    memcpy(room, row->bytes->data, row->bytes->size);
    return log_entry(log, kind, key, order, room, row->count) || store_nomem(err);
}

bool store_log_source(struct store_log *log, uint32_t order, const struct source_record *record,
                      struct error *err)
{
    struct hash path = hash_text(record->path);
    struct row row = {.bytes = &log->scratch};
    buffer_clear(&log->scratch);
    row_source(&row, &path, record);
    return log_row(log, LOG_SOURCES, &path, order, &row, err);
}

bool store_log_container(struct store_log *log, uint32_t order, const struct hash *container,
                         const struct container_record *record, const struct resource_record *resources,
                         size_t resource_count, struct error *err)
{
    struct row row = {.bytes = &log->scratch};
    buffer_clear(&log->scratch);
    row_container(&row, container, record, resources, resource_count);
    return log_row(log, LOG_CONTAINERS, container, order, &row, err);
}

bool store_log_part(struct store_log *log, uint32_t order, const struct hash *path,
                    const struct part_record *part, struct error *err)
{
    struct row row = {.bytes = &log->scratch};
    uint8_t key[RESOURCE_KEY_SIZE];
    buffer_clear(&log->scratch);
    resource_key_write(key, &(struct resource_key){*path, part->shard});
    size_t start = row_begin_value(&row, DB_PARTS, key, sizeof key);
    part_write(row.bytes, part);
    row_end_value(&row, start);
    return log_row(log, LOG_PARTS, path, order, &row, err);
}

bool store_log_geometry(struct store_log *log, uint32_t order, const struct hash *geometry,
                        const uint8_t *encoded, size_t size, struct error *err)
{
    if (size > SIZE_MAX / 2)
        return store_nomem(err);
    size_t stored = CHECKSUM_SIZE + size;
    uint8_t *room = log_room(log, aligned(CHANGE_HEAD + stored));
    if (!room)
        return store_nomem(err);
    struct change *change = (struct change *)room;
    change_head(change, DB_GEOMETRY, geometry->bytes, HASH_SIZE, stored);
    memcpy(change->bytes + CHECKSUM_SIZE, encoded, size);
    value_seal(change->bytes, stored, change->key, change->key_size);
    return log_entry(log, LOG_GEOMETRIES, geometry, order, room, 1) || store_nomem(err);
}

/* ---- all logs in key order ----------------------------------------------------------------------------- */

static int entry_order(const void *a, const void *b)
{
    const struct log_entry *x = a, *y = b;
    int order = memcmp(x->key.bytes, y->key.bytes, HASH_SIZE);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

bool log_sorted(const struct store_log *const *logs, size_t count, enum log_kind kind, struct buffer *list,
                struct error *err)
{
    buffer_clear(list);
    for (size_t i = 0; i < count; i++)
        buffer_append(list, logs[i]->entries[kind].data, logs[i]->entries[kind].size);
    if (list->failed)
        return store_nomem(err);
    hash_sort(list->data, list->size / sizeof(struct log_entry), sizeof(struct log_entry), entry_order);
    return true;
}
