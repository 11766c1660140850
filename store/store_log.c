/* store_log.c - puts made ready outside a transaction: records as the bytes a commit only has to copy. See
 * store.h.
 *
 * A put is a row of changes: first the record itself, then what hangs on it (resources, references). Rows are
 * laid one after the other; an entry by key says where each is. Rows and entries of each kind have a part of
 * the log's memory each, as address space: only what is used of them takes pages.
 */
#include "store/part.h"
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

#define LOG_ALIGN _Alignof(struct change)
#define LOG_PAGE  ((size_t)4096)

_Static_assert((int)LOG_KINDS == STORE_LOG_KINDS, "store.h gives a log as many parts as there are kinds");

/* As it lies in the log. */
struct log_place {
    struct hash key; /* of the record */
    uint32_t order, count;
    uint64_t row; /* bytes from the first row */
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

void store_log_parts(size_t size, size_t part[static STORE_LOG_KINDS + 2])
{
    size_t entries = size / 8 & ~(LOG_PAGE - 1);
    part[0] = 0;
    part[STORE_LOG_KINDS + 1] = size & ~(LOG_PAGE - 1);
    for (size_t kind = STORE_LOG_KINDS; kind > 0; kind--)
        part[kind] = part[kind + 1] - entries;
}

void store_log_used(const struct store_log_mark *mark, size_t used[static STORE_LOG_KINDS + 1])
{
    used[0] = (size_t)mark->rows;
    for (size_t kind = 0; kind < STORE_LOG_KINDS; kind++)
        used[1 + kind] = (size_t)mark->entries[kind] * sizeof(struct log_place);
}

void store_log_free(struct store_log *log)
{
    if (log)
        buffer_free(&log->scratch);
}

/* Room for a row, aligned for its changes; NULL when the log is full. */
static uint8_t *log_room(struct store_log *log, size_t size)
{
    size_t part[STORE_LOG_KINDS + 2];
    store_log_parts(log->size, part);
    if (size > part[1] - (size_t)log->mark.rows)
        return NULL;
    return log->memory + log->mark.rows;
}

/* Takes in a row that was made in the room: only now does it belong to the log. */
static bool log_entry(struct store_log *log, enum log_kind kind, const struct hash *key, uint32_t order,
                      size_t size, size_t count)
{
    size_t part[STORE_LOG_KINDS + 2];
    store_log_parts(log->size, part);
    struct log_place *places = (struct log_place *)(log->memory + part[1 + kind]);
    if (log->mark.entries[kind] >= (part[2 + kind] - part[1 + kind]) / sizeof *places)
        return false;
    places[log->mark.entries[kind]++] = (struct log_place){*key, order, (uint32_t)count, log->mark.rows};
    log->mark.rows += size;
    return true;
}

/* Keeps the row that was made in the scratch. */
static bool log_row(struct store_log *log, enum log_kind kind, const struct hash *key, uint32_t order,
                    const struct row *row, struct error *err)
{
    uint8_t *room = row->bytes->failed ? NULL : log_room(log, row->bytes->size);
    if (!room)
        return store_nomem(err);
    memcpy(room, row->bytes->data, row->bytes->size);
    return log_entry(log, kind, key, order, row->bytes->size, row->count) || store_nomem(err);
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
    size_t stored = CHECKSUM_SIZE + size, whole = aligned(CHANGE_HEAD + stored);
    uint8_t *room = log_room(log, whole);
    if (!room)
        return store_nomem(err);
    struct change *change = (struct change *)room;
    change_head(change, DB_GEOMETRY, geometry->bytes, HASH_SIZE, stored);
    memcpy(change->bytes + CHECKSUM_SIZE, encoded, size);
    value_seal(change->bytes, stored, change->key, change->key_size);
    return log_entry(log, LOG_GEOMETRIES, geometry, order, whole, 1) || store_nomem(err);
}

/* ---- all logs in key order ----------------------------------------------------------------------------- */

static int entry_order(const void *a, const void *b)
{
    const struct log_entry *x = a, *y = b;
    int order = memcmp(x->key.bytes, y->key.bytes, HASH_SIZE);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static bool bad_log(struct error *err)
{
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "what was decoded was written over in memory");
}

/* Appends the entries of one log. */
static bool add_entries(const struct store_log *log, enum log_kind kind, struct buffer *list,
                        struct error *err)
{
    size_t part[STORE_LOG_KINDS + 2];
    store_log_parts(log->size, part);
    uint64_t count = log->mark.entries[kind];
    if (log->mark.rows > part[1] || count > (part[2 + kind] - part[1 + kind]) / sizeof(struct log_place))
        return bad_log(err);
    const struct log_place *place = (const struct log_place *)(log->memory + part[1 + kind]);
    struct log_entry *entry = (struct log_entry *)buffer_extend(list, (size_t)count * sizeof *entry);
    if (!entry)
        return store_nomem(err);
    for (; count > 0; count--, place++, entry++) {
        uint64_t row = place->row;
        if (row >= log->mark.rows || row % LOG_ALIGN)
            return bad_log(err);
        *entry = (struct log_entry){place->key, place->order, place->count,
                                    (const struct change *)(log->memory + row), log->memory + log->mark.rows};
    }
    return true;
}

bool log_sorted(const struct store_log *logs, size_t count, enum log_kind kind, struct buffer *list,
                struct error *err)
{
    buffer_clear(list);
    for (size_t i = 0; i < count; i++)
        if (logs[i].mark.entries[kind] && !add_entries(&logs[i], kind, list, err))
            return false;
    hash_sort(list->data, list->size / sizeof(struct log_entry), sizeof(struct log_entry), entry_order);
    return true;
}

/* What databases the changes of a row of each kind may go to, the first of them and the others. */
static bool is_expected(enum log_kind kind, bool first, unsigned db)
{
    static const uint32_t heads[LOG_KINDS] = {[LOG_GEOMETRIES] = 1u << DB_GEOMETRY,
                                              [LOG_CONTAINERS] = 1u << DB_CONTAINERS,
                                              [LOG_SOURCES] = 1u << DB_SOURCES,
                                              [LOG_PARTS] = 1u << DB_PARTS};
    static const uint32_t others[LOG_KINDS] = {
        [LOG_CONTAINERS] =
            1u << DB_COVERAGE | 1u << DB_RESOURCES | 1u << DB_CANDIDATES | 1u << DB_NAMES | 1u << DB_USES,
        [LOG_SOURCES] = 1u << DB_PLACES | 1u << DB_MEMBERS | 1u << DB_STEMS};
    return db < DB_COUNT && ((first ? heads : others)[kind] >> db & 1);
}

/* Keys and values of sets are of one size each; all else is a sealed value. */
static bool has_right_sizes(const struct change *change, bool verify)
{
    bool long_key = change->db == DB_RESOURCES || change->db == DB_CANDIDATES || change->db == DB_PARTS;
    if (change->key_size != (long_key ? RESOURCE_KEY_SIZE : HASH_SIZE))
        return false;
    if (store_db_is_set(change->db))
        return change->size ==
               (change->db == DB_NAMES || change->db == DB_USES ? RESOURCE_KEY_SIZE : HASH_SIZE);
    return change->size >= CHECKSUM_SIZE &&
           (!verify || value_is_sealed(change->bytes, change->size, change->key, change->key_size));
}

bool log_check_row(const struct log_entry *entry, enum log_kind kind, bool verify, size_t *size,
                   struct error *err)
{
    const struct change *change = entry->row;
    for (uint32_t i = 0; i < entry->count; i++) {
        size_t left = (size_t)(entry->end - (const uint8_t *)change);
        if ((const uint8_t *)change > entry->end || left < CHANGE_HEAD || change->size > left - CHANGE_HEAD ||
            !is_expected(kind, i == 0, change->db) || !has_right_sizes(change, verify))
            return bad_log(err);
        change = change_next(change);
    }
    *size = (size_t)((const uint8_t *)change - (const uint8_t *)entry->row);
    return (entry->count && memcmp(entry->row->key, entry->key.bytes, HASH_SIZE) == 0) || bad_log(err);
}
