/* check.c - the whole store examined, digested, measured. See store.h. */
#include "store/part.h"
#include "store/store_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- check ---- */

struct check {
    struct store_txn *txn;
    enum store_db db; /* the one walked */
    void (*report)(const struct store_problem *problem, void *ctx);
    void *ctx;
    uint64_t problems;
    struct arena arena;
    struct buffer bytes; /* a geometry, decoded */
};

/* Reports what is wrong with a key of the database that is walked. */
static void problem(struct check *check, const MDB_val *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void problem(struct check *check, const MDB_val *key, const char *fmt, ...)
{
    struct store_problem found = {.database = store_db_name(check->db)};
    const uint8_t *bytes = key->mv_data;
    for (size_t i = 0; i < key->mv_size && 2 * i + 2 < sizeof found.key; i++)
        snprintf(found.key + 2 * i, 3, "%02x", bytes[i]);
    va_list args;
    va_start(args, fmt);
    vsnprintf(found.what, sizeof found.what, fmt, args);
    va_end(args);
    check->problems++;
    if (check->report)
        check->report(&found, check->ctx);
}

/* What `err` says is a problem of the key, unless it is one of this program: then the check cannot go on. */
static bool problem_of(struct check *check, const MDB_val *key, const struct error *fault, struct error *err)
{
    if (fault->code == ERROR_NOMEM)
        return store_nomem(err);
    problem(check, key, "%s", fault->msg);
    return true;
}

static bool key_is(const MDB_val *key, const struct hash *hash)
{
    return key->mv_size == HASH_SIZE && memcmp(key->mv_data, hash->bytes, HASH_SIZE) == 0;
}

/* Whether a set has a reference; that it has not is a problem of the key. False only for an error. */
static bool want_reference(struct check *check, const MDB_val *key, enum store_db set,
                           const struct hash *set_key, struct error *err)
{
    bool found;
    if (!set_has(check->txn, set, set_key, key->mv_data, key->mv_size, &found, err))
        return false;
    if (!found)
        problem(check, key, "is not found by %s", store_db_name(set));
    return true;
}

static bool check_source(struct check *check, const MDB_val *key, const struct value *value,
                         struct error *err)
{
    struct source_record record;
    struct error fault = {0};
    bool found = true;
    if (!source_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    struct hash path_hash = hash_text(record.path);
    if (!key_is(key, &path_hash)) {
        problem(check, key, "the key is not the hash of '%.120s'", record.path);
        return true;
    }
    if (!hash_is_zero(&record.parent) && !want_reference(check, key, DB_MEMBERS, &record.parent, err))
        return false;
    if (record.kind != SOURCE_CONTAINER)
        return true;
    if (record.stem) {
        struct hash stem = hash_text(record.stem);
        if (!want_reference(check, key, DB_STEMS, &stem, err))
            return false;
    }
    if (!want_reference(check, key, DB_PLACES, &record.container, err) ||
        !set_any(check->txn, DB_CONTAINERS, &record.container, &found, err))
        return false;
    if (!found)
        problem(check, key, "its content has no record");
    return true;
}

struct tally {
    const struct hash *container;
    uint32_t count, by_status[RESOURCE_STATUS_COUNT];
    struct arena arena;
};

static bool tally_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct tally *tally = ctx;
    struct resource_record record;
    struct value value;
    (void)err;
    if (key->mv_size != RESOURCE_KEY_SIZE || memcmp(key->mv_data, tally->container->bytes, HASH_SIZE) != 0)
        return false;
    tally->count++;
    arena_reset(&tally->arena);
    struct error fault = {0}; /* reported when the resources are walked */
    if (value_verify(DB_RESOURCES, key, stored, &value, &fault) &&
        resource_read(value.bytes, value.size, &tally->arena, &record, &fault))
        tally->by_status[record.resource.status]++;
    return true;
}

static bool check_container(struct check *check, const MDB_val *key, const struct value *value,
                            struct error *err)
{
    struct container_record record;
    struct error fault = {0};
    if (!container_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    if (key->mv_size != HASH_SIZE) {
        problem(check, key, "the key is no hash");
        return true;
    }
    struct hash hash = hash_read(key->mv_data);
    struct tally tally = {.container = &hash};
    bool done = db_each(check->txn, DB_RESOURCES, hash.bytes, HASH_SIZE, tally_one, &tally, err);
    arena_free(&tally.arena);
    if (done && tally.count != record.container.resource_count)
        problem(check, key, "counts %u resources and has %u", record.container.resource_count, tally.count);
    else if (done && memcmp(tally.by_status, record.by_status, sizeof tally.by_status) != 0)
        problem(check, key, "its counts by status are not those of its resources");
    return done;
}

/* A resource's geometry exists and has the length that the record says. */
static bool check_geometry_of(struct check *check, const MDB_val *key, const struct resource_record *record,
                              struct error *err)
{
    struct value value;
    struct error fault = {0};
    uint64_t raw_size;
    bool found;
    if (!value_get(check->txn, DB_GEOMETRY, record->geometry.bytes, HASH_SIZE, &value, &found, &fault))
        return problem_of(check, key, &fault, err);
    if (!found)
        problem(check, key, "its geometry is not there");
    else if (codec_raw_size(value.bytes, value.size, &raw_size) && raw_size != record->geometry_bytes)
        problem(check, key, "its geometry has %llu bytes, not %llu", (unsigned long long)raw_size,
                (unsigned long long)record->geometry_bytes);
    return want_reference(check, key, DB_USES, &record->geometry, err);
}

static bool check_resource(struct check *check, const MDB_val *key, const struct value *value,
                           struct error *err)
{
    struct resource_record record;
    struct error fault = {0};
    bool found;
    if (!resource_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    if (key->mv_size != RESOURCE_KEY_SIZE || resource_key_read(key->mv_data).index != record.resource.index) {
        problem(check, key, "the key is not that of resource %u", record.resource.index);
        return true;
    }
    struct hash container = hash_read(key->mv_data);
    if (!set_any(check->txn, DB_CONTAINERS, &container, &found, err))
        return false;
    if (!found)
        problem(check, key, "its container has no record");
    if (record.resource.name) {
        struct hash name = hash_text(record.resource.name);
        if (!want_reference(check, key, DB_NAMES, &name, err))
            return false;
    }
    return hash_is_zero(&record.geometry) || check_geometry_of(check, key, &record, err);
}

static bool check_geometry(struct check *check, const MDB_val *key, const struct value *value,
                           struct error *err)
{
    struct error fault = {0};
    buffer_clear(&check->bytes);
    if (!codec_decode(value->bytes, value->size, &check->bytes, &fault))
        return problem_of(check, key, &fault, err);
    struct hash hash = hash_bytes(check->bytes.data, check->bytes.size);
    if (!key_is(key, &hash))
        problem(check, key, "the key is not the hash of its %zu bytes", check->bytes.size);
    return true;
}

static bool check_candidates(struct check *check, const MDB_val *key, const struct value *value,
                             struct error *err)
{
    struct resource_record record;
    struct error fault = {0};
    bool found = false;
    if (key->mv_size != RESOURCE_KEY_SIZE) {
        problem(check, key, "the key is not that of a resource");
        return true;
    }
    struct resource_key of = resource_key_read(key->mv_data);
    if (!store_get_resource(check->txn, &of.container, of.index, &check->arena, &record, &found, &fault))
        return problem_of(check, key, &fault, err);
    if (!found) {
        problem(check, key, "their resource has no record");
        return true;
    }
    if (!candidates_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    for (uint32_t i = 0; i < record.resource.candidate_count; i++) {
        const struct hash *geometry = &record.candidate_hashes[i].geometry;
        if (!hash_is_zero(geometry) && !store_has_geometry(check->txn, geometry, &found, err))
            return false;
        if (!hash_is_zero(geometry) && !found)
            problem(check, key, "the geometry of candidate %u is not there", i);
    }
    return true;
}

static bool check_coverage(struct check *check, const MDB_val *key, const struct value *value,
                           struct error *err)
{
    struct container container = {0};
    struct error fault = {0};
    bool found = false;
    if (!coverage_read(value->bytes, value->size, &check->arena, &container, &fault))
        return problem_of(check, key, &fault, err);
    if (key->mv_size != HASH_SIZE) {
        problem(check, key, "the key is no hash");
        return true;
    }
    struct hash hash = hash_read(key->mv_data);
    if (!set_any(check->txn, DB_CONTAINERS, &hash, &found, err))
        return false;
    if (!found)
        problem(check, key, "its container has no record");
    return true;
}

static bool check_resolved(struct check *check, const MDB_val *key, const struct value *value,
                           struct error *err)
{
    struct resolved_record outcome;
    struct resource_record record;
    struct error fault = {0};
    bool found = false;
    if (!resolved_read(value->bytes, value->size, &check->arena, &outcome, &fault))
        return problem_of(check, key, &fault, err);
    if (key->mv_size != RESOURCE_KEY_SIZE) {
        problem(check, key, "the key is not that of a resource");
        return true;
    }
    struct resource_key of = resource_key_read(key->mv_data);
    if (!store_get_resource(check->txn, &of.container, of.index, &check->arena, &record, &found, &fault))
        return problem_of(check, key, &fault, err);
    if (!found || record.resource.status != outcome.was)
        problem(check, key, found ? "was made of another status" : "its resource has no record");
    if (hash_is_zero(&outcome.geometry))
        return true;
    if (!store_has_geometry(check->txn, &outcome.geometry, &found, err))
        return false;
    if (!found)
        problem(check, key, "its geometry is not there");
    return want_reference(check, key, DB_USES, &outcome.geometry, err);
}

static bool check_finding(struct check *check, const MDB_val *key, const struct value *value,
                          struct error *err)
{
    struct finding_record record;
    struct error fault = {0};
    if (!finding_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    struct hash hash;
    if (!finding_key(&record, &hash))
        return store_nomem(err);
    if (!key_is(key, &hash))
        problem(check, key, "the key is not that of finding '%.100s'", record.subject);
    return true;
}

static bool check_capture(struct check *check, const MDB_val *key, const struct value *value,
                          struct error *err)
{
    struct capture_record record;
    struct error fault = {0};
    if (!capture_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    struct hash hash;
    if (!capture_key(&record, &hash))
        return store_nomem(err);
    if (!key_is(key, &hash))
        problem(check, key, "the key is not that of the capture of '%.100s'", record.resource);
    return true;
}

static bool check_declined(struct check *check, const MDB_val *key, const struct value *value,
                           struct error *err)
{
    struct declined_census census;
    struct error fault = {0};
    return declined_read(value->bytes, value->size, &check->arena, &census, &fault) ||
           problem_of(check, key, &fault, err);
}

static bool check_run(struct check *check, const MDB_val *key, const struct value *value, struct error *err)
{
    struct run_record record;
    struct error fault = {0};
    if (!run_read(value->bytes, value->size, &check->arena, &record, &fault))
        return problem_of(check, key, &fault, err);
    uint64_t id = 0;
    for (size_t i = 0; i < key->mv_size; i++)
        id = id << 8 | ((const uint8_t *)key->mv_data)[i];
    if (key->mv_size != 8 || id != record.id)
        problem(check, key, "the key is not that of run %llu", (unsigned long long)record.id);
    return true;
}

static bool check_part(struct check *check, const MDB_val *key, const struct value *value, struct error *err)
{
    struct part_record part;
    struct error fault = {0};
    if (!part_read(value->bytes, value->size, &check->arena, &part, &fault))
        return problem_of(check, key, &fault, err);
    if (key->mv_size != RESOURCE_KEY_SIZE || resource_key_read(key->mv_data).index != part.shard)
        problem(check, key, "the key is not that of shard %u", part.shard);
    return true;
}

bool source_belongs(enum store_db db, const struct source_record *record, const struct hash *key)
{
    if (db == DB_MEMBERS)
        return hash_equal(&record->parent, key);
    if (record->kind != SOURCE_CONTAINER)
        return false;
    if (db == DB_PLACES)
        return hash_equal(&record->container, key);
    struct hash stem = hash_text(record->stem ? record->stem : "");
    return record->stem && hash_equal(&stem, key);
}

bool resource_belongs(enum store_db db, const struct resource_record *record, const struct hash *key)
{
    if (db == DB_USES)
        return hash_equal(&record->geometry, key);
    struct hash name = hash_text(record->resource.name ? record->resource.name : "");
    return record->resource.name && hash_equal(&name, key);
}

/* One reference of a set: what it names exists and leads back. */
static bool check_reference(struct check *check, const MDB_val *key, const MDB_val *value, struct error *err)
{
    bool to_resource = check->db == DB_NAMES || check->db == DB_USES, found = false, belongs = false, read;
    struct error fault = {0};
    if (key->mv_size != HASH_SIZE || value->mv_size != (to_resource ? RESOURCE_KEY_SIZE : HASH_SIZE)) {
        problem(check, key, "a reference of %zu bytes", value->mv_size);
        return true;
    }
    struct hash set = hash_read(key->mv_data);
    if (to_resource) {
        struct resource_record record;
        struct resource_key target = resource_key_read(value->mv_data);
        read = store_get_resource(check->txn, &target.container, target.index, &check->arena, &record, &found,
                                  &fault);
        belongs = read && found && resource_belongs(check->db, &record, &set);
        struct resolved_record outcome;
        if (read && found && !belongs) {
            read =
                store_apply_resolved(check->txn, &target.container, &check->arena, &record, &outcome, &fault);
            belongs = read && resource_belongs(check->db, &record, &set);
        }
    } else {
        struct source_record record;
        struct hash target = hash_read(value->mv_data);
        read = store_get_source(check->txn, &target, &check->arena, &record, &found, &fault);
        belongs = read && found && source_belongs(check->db, &record, &set);
    }
    if (!read)
        return problem_of(check, key, &fault, err);
    if (!belongs)
        problem(check, key, "names a %s that %s", to_resource ? "resource" : "source",
                found ? "does not belong to it" : "is not there");
    return true;
}

static bool check_meta(struct check *check, const MDB_val *key, const struct value *value, struct error *err)
{
    (void)check, (void)key, (void)value, (void)err; /* the schema was read when the store was opened */
    return true;
}

static bool check_one(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    static bool (*const checks[DB_COUNT])(struct check *, const MDB_val *, const struct value *,
                                          struct error *) = {
        [DB_META] = check_meta,
        [DB_SOURCES] = check_source,
        [DB_CONTAINERS] = check_container,
        [DB_RESOURCES] = check_resource,
        [DB_GEOMETRY] = check_geometry,
        [DB_RUNS] = check_run,
        [DB_CANDIDATES] = check_candidates,
        [DB_COVERAGE] = check_coverage,
        [DB_RESOLVED] = check_resolved,
        [DB_FINDINGS] = check_finding,
        [DB_CAPTURES] = check_capture,
        [DB_DECLINED] = check_declined,
        [DB_PARTS] = check_part,
    };
    struct check *check = ctx;
    struct value value;
    struct error fault = {0};
    arena_reset(&check->arena);
    if (store_db_is_set(check->db))
        return check_reference(check, key, stored, err);
    if (!value_verify(check->db, key, stored, &value, &fault))
        return problem_of(check, key, &fault, err);
    return checks[check->db](check, key, &value, err);
}

bool store_check(struct store *store, void (*report)(const struct store_problem *problem, void *ctx),
                 void *ctx, uint64_t *problems, struct error *err)
{
    struct check check = {.report = report, .ctx = ctx};
    check.txn = store_begin_read(store, err);
    bool done = check.txn != NULL;
    for (int db = 0; db < DB_COUNT && done; db++) {
        check.db = (enum store_db)db;
        done = db_each(check.txn, check.db, NULL, 0, check_one, &check, err);
    }
    store_end_read(check.txn);
    arena_free(&check.arena);
    buffer_free(&check.bytes);
    *problems = check.problems;
    return done;
}

/* ---- digest ---- */

struct digest {
    struct store_txn *txn;
    struct hash_stream *stream;
    struct buffer bytes;
    struct buffer left_out; /* hashes of contents whose outcome is the machine's, in their order */
    struct error err;
};

/* Outcomes that another machine, or another day, need not repeat. */
static bool is_of_the_machine(enum container_reason reason)
{
    return reason == CONTAINER_CRASHED || reason == CONTAINER_TIMED_OUT || reason == CONTAINER_QUARANTINED;
}

/* Adds what was written to digest->bytes, with its kind and length, so that no two contents give one stream.
 */
static bool digest_add(struct digest *digest, char kind, const void *key, size_t key_size)
{
    uint8_t length[8];
    if (digest->bytes.failed)
        return store_nomem(&digest->err);
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)digest->bytes.size >> (8 * i));
    hash_stream_add(digest->stream, &kind, 1);
    hash_stream_add(digest->stream, key, key_size);
    hash_stream_add(digest->stream, length, sizeof length);
    hash_stream_add(digest->stream, digest->bytes.data, digest->bytes.size);
    buffer_clear(&digest->bytes);
    return true;
}

static bool find_left_out(const struct hash *container, const struct container_head *head, void *ctx)
{
    struct digest *digest = ctx;
    if (is_of_the_machine(head->reason))
        buffer_append(&digest->left_out, container, sizeof *container);
    return !digest->left_out.failed || store_nomem(&digest->err);
}

static int hash_order(const void *a, const void *b)
{
    return memcmp(a, b, HASH_SIZE);
}

/* Whether a place has an outcome of the machine: its own, or its content's. */
static bool is_left_out(const struct digest *digest, const struct source_record *record)
{
    size_t count = digest->left_out.size / sizeof record->container;
    return is_of_the_machine(record->reason) ||
           (count &&
            bsearch(&record->container, digest->left_out.data, count, sizeof record->container, hash_order));
}

static bool digest_source(const struct hash *path_hash, const struct source_record *record, void *ctx)
{
    struct digest *digest = ctx;
    struct source_record logical = *record;
    if (is_left_out(digest, record))
        return true;
    logical.mtime_ns = 0;
    logical.run = 0;
    logical.version = 0;
    logical.is_input = false; /* how a file was reached is the command line's, not the content's */
    source_write(&digest->bytes, &logical);
    return digest_add(digest, 's', path_hash->bytes, HASH_SIZE);
}

static bool digest_candidates(struct digest *digest, const struct resource_key *key,
                              const struct resource_record *resource)
{
    struct resource_record record = *resource;
    struct arena arena = {0};
    bool ok = store_get_candidates(digest->txn, &key->container, &arena, &record, &digest->err);
    if (ok && record.resource.candidate_count) {
        candidates_write(&digest->bytes, &record);
        ok = digest_add(digest, 'a', &key->index, 0);
    }
    arena_free(&arena);
    return ok;
}

static bool digest_coverage(struct digest *digest, const struct hash *container,
                            const struct container_record *of)
{
    struct container_record record = *of;
    struct arena arena = {0};
    bool ok = store_get_coverage(digest->txn, container, &arena, &record, &digest->err);
    if (ok && record.container.coverage_count) {
        coverage_write(&digest->bytes, &record.container);
        ok = digest_add(digest, 'v', container->bytes, HASH_SIZE);
    }
    arena_free(&arena);
    return ok;
}

static bool digest_resolved(struct digest *digest, const struct resource_key *key, const uint8_t *key_bytes)
{
    struct resolved_record record;
    struct arena arena = {0};
    bool found;
    bool ok = store_get_resolved(digest->txn, key, &arena, &record, &found, &digest->err);
    if (ok && found) {
        resolved_write(&digest->bytes, &record);
        ok = digest_add(digest, 'o', key_bytes, RESOURCE_KEY_SIZE);
    }
    arena_free(&arena);
    return ok;
}

static bool digest_finding(const struct finding_record *record, void *ctx)
{
    struct digest *digest = ctx;
    struct hash key;
    if (!finding_key(record, &key))
        return store_nomem(&digest->err);
    finding_write(&digest->bytes, record);
    return digest_add(digest, 'f', key.bytes, HASH_SIZE);
}

/* In their order, which is the logical content; its numbers are history. */
static bool digest_captures(struct digest *digest)
{
    struct capture_record *captures;
    struct arena arena = {0};
    size_t count = 0;
    bool ok = store_get_captures(digest->txn, &arena, &captures, &count, &digest->err);
    for (size_t i = 0; ok && i < count; i++) {
        struct hash key;
        ok = capture_key(&captures[i], &key) || store_nomem(&digest->err);
        captures[i].order = i;
        capture_write(&digest->bytes, &captures[i]);
        ok = ok && digest_add(digest, 'p', key.bytes, HASH_SIZE);
    }
    arena_free(&arena);
    return ok;
}

static bool digest_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct digest *digest = ctx;
    uint8_t key_bytes[RESOURCE_KEY_SIZE];
    bool found = true;
    if (!hash_is_zero(&record->geometry) &&
        !store_has_geometry(digest->txn, &record->geometry, &found, &digest->err))
        return false;
    if (!found) {
        error_set(&digest->err, ERROR_STORE, ERROR_NO_OFFSET,
                  "a geometry is missing: `anchorage check` tells more");
        return false;
    }
    resource_key_write(key_bytes, key);
    resource_write(&digest->bytes, record);
    return digest_add(digest, 'r', key_bytes, sizeof key_bytes) && digest_candidates(digest, key, record) &&
           digest_resolved(digest, key, key_bytes);
}

static bool digest_container(const struct hash *container, const struct container_record *record, void *ctx)
{
    struct digest *digest = ctx;
    if (is_of_the_machine(record->container.reason))
        return true;
    container_write(&digest->bytes, record);
    if (!digest_add(digest, 'c', container->bytes, HASH_SIZE) || !digest_coverage(digest, container, record))
        return false;
    return store_each_resource_of(digest->txn, container, digest_resource, digest, &digest->err) &&
           digest->err.code == ERROR_NONE;
}

bool store_digest(struct store *store, struct hash *hash, struct error *err)
{
    struct digest digest = {.stream = hash_stream_new()};
    if (!digest.stream)
        return store_nomem(err);
    digest.txn = store_begin_read(store, err);
    bool done = digest.txn && store_each_content(digest.txn, find_left_out, &digest, err) &&
                store_each_source(digest.txn, digest_source, &digest, err) &&
                store_each_container(digest.txn, digest_container, &digest, err) &&
                store_each_finding(digest.txn, digest_finding, &digest, err) && digest_captures(&digest);
    if (digest.err.code != ERROR_NONE) {
        *err = digest.err;
        done = false;
    }
    store_end_read(digest.txn);
    buffer_free(&digest.bytes);
    buffer_free(&digest.left_out);
    if (done)
        *hash = hash_stream_finish(digest.stream);
    else
        hash_stream_free(digest.stream);
    return done;
}

/* ---- sizes ---- */

static bool stat_geometry(const MDB_val *key, const MDB_val *stored, void *ctx, struct error *err)
{
    struct store_stat *stat = ctx;
    uint64_t raw_size = 0;
    (void)key, (void)err;
    if (stored->mv_size < CHECKSUM_SIZE)
        return true;
    codec_raw_size((const uint8_t *)stored->mv_data + CHECKSUM_SIZE, stored->mv_size - CHECKSUM_SIZE,
                   &raw_size);
    stat->geometry_raw += raw_size;
    stat->geometry_encoded += stored->mv_size - CHECKSUM_SIZE;
    return true;
}

bool store_stat(struct store *store, struct store_stat *stat, struct error *err)
{
    const struct {
        enum store_db db;
        uint64_t *entries;
    } counts[] = {
        {DB_SOURCES, &stat->sources},     {DB_CONTAINERS, &stat->containers},
        {DB_RESOURCES, &stat->resources}, {DB_GEOMETRY, &stat->geometries},
        {DB_RUNS, &stat->runs},
    };
    MDB_envinfo info;
    MDB_stat pages;
    *stat = (struct store_stat){0};
    struct store_txn *txn = store_begin_read(store, err);
    if (!txn)
        return false;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int rc = mdb_stat(txn->txn, store->dbi[counts[i].db], &pages);
        if (rc != MDB_SUCCESS)
            store_fail(store, rc, store_db_name(counts[i].db), err);
        *counts[i].entries = pages.ms_entries;
    }
    mdb_env_info(store->env, &info);
    stat->file_bytes = (uint64_t)(info.me_last_pgno + 1) * pages.ms_psize;
    bool done = err->code == ERROR_NONE && db_each(txn, DB_GEOMETRY, NULL, 0, stat_geometry, stat, err);
    store_end_read(txn);
    return done;
}
