/* merge.c - see merge.h */
#include "store/merge.h"

#include <stdlib.h>
#include <string.h>

#include "store/part.h"
#include "store/store_internal.h"

/* What a transaction may hold before it is committed; its pages are in memory until then. */
#define CHUNK_BYTES ((size_t)24 << 20)

/* One input's place in one database. */
struct lane {
    size_t input;
    MDB_cursor *cursor;
    MDB_val key, value;
    bool ended;
};

struct merge {
    struct store *out;
    struct store *const *inputs;
    struct store_txn **txns; /* [count], of the inputs */
    size_t count;
    const struct merge_options *options;
    uint64_t **runs;         /* [count]: pairs of old and new id, ended by 0; NULL where ids stay */
    struct lane *lanes;      /* [count], of the database that is walked */
    struct lane **heap;      /* [count]: those that have not ended, least key first */
    struct lane **group;     /* [count]: those that stand at the least key */
    struct lane *details[3]; /* [count] each: of what belongs to a container, see take_container */
    size_t heap_size;
    struct store_txn txn; /* of `out` */
    MDB_cursor *cursors[DB_COUNT];
    size_t pending; /* bytes since the last commit */
    struct buffer scratch;
    struct arena arena;       /* of the key at hand */
    struct arena keep;        /* of all of it: runs */
    struct buffer known_runs; /* of struct known_run */
    /* What makes references of the inputs doubtful. */
    bool sources_differ, containers_differ, resolved;
    struct hash required; /* the key that was asked for last by `require` */
    struct merge_result *result;
};

typedef bool merge_rule(struct merge *m, enum store_db db, size_t group, struct error *err);

/* ---- writing in key order ------------------------------------------------------------------------------ */

static bool begin(struct merge *m, struct error *err)
{
    memset(m->cursors, 0, sizeof m->cursors);
    memset(m->txn.cursors, 0, sizeof m->txn.cursors);
    m->pending = 0;
    int rc = mdb_txn_begin(m->out->env, NULL, 0, &m->txn.txn);
    return rc == MDB_SUCCESS ? keys_load(&m->txn, err) : store_fail(m->out, rc, "write transaction", err);
}

static bool commit(struct merge *m, struct error *err)
{
    if (!keys_save(&m->txn, err))
        return false;
    int rc = mdb_txn_commit(m->txn.txn); /* closes its cursors */
    m->txn.txn = NULL;
    return rc == MDB_SUCCESS || store_fail(m->out, rc, "commit", err);
}

/* Appends; keys of a database, and values of a set, come in their order. */
static bool append(struct merge *m, enum store_db db, const MDB_val *key, const MDB_val *value,
                   struct error *err)
{
    MDB_val k = *key, v = *value;
    if (m->pending >= CHUNK_BYTES && !(commit(m, err) && begin(m, err)))
        return false;
    int rc = MDB_SUCCESS;
    if (!m->cursors[db])
        rc = mdb_cursor_open(m->txn.txn, m->out->dbi[db], &m->cursors[db]);
    if (rc == MDB_SUCCESS)
        rc = mdb_cursor_put(m->cursors[db], &k, &v, store_db_is_set(db) ? MDB_APPENDDUP : MDB_APPEND);
    if (rc == MDB_SUCCESS)
        keys_add(&m->txn, db, key, value);
    m->pending += k.mv_size + v.mv_size;
    m->result->bytes += k.mv_size + v.mv_size;
    return rc == MDB_SUCCESS || store_fail(m->out, rc, store_db_name(db), err);
}

/* ---- walking side by side ------------------------------------------------------------------------------ */

static int compare_values(const MDB_val *a, const MDB_val *b)
{
    size_t least = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int order = memcmp(a->mv_data, b->mv_data, least);
    return order ? order : (a->mv_size > b->mv_size) - (a->mv_size < b->mv_size);
}

static int compare_lanes(const struct lane *a, const struct lane *b, bool set)
{
    int order = compare_values(&a->key, &b->key);
    return order || !set ? order : compare_values(&a->value, &b->value);
}

static bool move(struct merge *m, enum store_db db, struct lane *lane, MDB_cursor_op op, struct error *err)
{
    int rc = mdb_cursor_get(lane->cursor, &lane->key, &lane->value, op);
    lane->ended = rc == MDB_NOTFOUND;
    return rc == MDB_SUCCESS || lane->ended || store_fail(m->inputs[lane->input], rc, store_db_name(db), err);
}

static void sift_down(struct merge *m, size_t at, bool set)
{
    for (size_t child; (child = 2 * at + 1) < m->heap_size; at = child) {
        if (child + 1 < m->heap_size && compare_lanes(m->heap[child + 1], m->heap[child], set) < 0)
            child++;
        if (compare_lanes(m->heap[at], m->heap[child], set) <= 0)
            return;
        struct lane *lane = m->heap[at];
        m->heap[at] = m->heap[child];
        m->heap[child] = lane;
    }
}

static bool open_lanes(struct merge *m, enum store_db db, struct lane *lanes, struct error *err)
{
    for (size_t i = 0; i < m->count; i++) {
        lanes[i] = (struct lane){.input = i};
        int rc = mdb_cursor_open(m->txns[i]->txn, m->inputs[i]->dbi[db], &lanes[i].cursor);
        if (rc != MDB_SUCCESS)
            return store_fail(m->inputs[i], rc, store_db_name(db), err);
        if (!move(m, db, &lanes[i], MDB_FIRST, err))
            return false;
    }
    return true;
}

static void close_lanes(struct merge *m, struct lane *lanes)
{
    for (size_t i = 0; i < m->count; i++)
        if (lanes[i].cursor)
            mdb_cursor_close(lanes[i].cursor);
    memset(lanes, 0, m->count * sizeof *lanes);
}

/* Verifies what a lane stands at, and gives its payload. */
static bool verify(struct merge *m, enum store_db db, const struct lane *lane, struct value *payload,
                   struct error *err)
{
    if (value_verify(db, &lane->key, &lane->value, payload, err))
        return true;
    error_prefix(err, "store '%s'", m->inputs[lane->input]->path);
    return false;
}

static bool bad_record(struct merge *m, enum store_db db, const struct lane *lane, struct error *err)
{
    store_bad_record(db, lane->key.mv_data, lane->key.mv_size, err);
    error_prefix(err, "store '%s'", m->inputs[lane->input]->path);
    return false;
}

/* Takes the lanes that stand at the least key off the heap, into `group`. */
static size_t take_group(struct merge *m, bool set)
{
    size_t group = 0;
    do {
        m->group[group++] = m->heap[0];
        m->heap[0] = m->heap[--m->heap_size];
        sift_down(m, 0, set);
    } while (m->heap_size && compare_lanes(m->heap[0], m->group[0], set) == 0);
    return group;
}

static bool advance_group(struct merge *m, enum store_db db, size_t group, bool set, struct error *err)
{
    for (size_t i = 0; i < group; i++) {
        struct lane *lane = m->group[i];
        if (!move(m, db, lane, MDB_NEXT, err))
            return false;
        if (lane->ended)
            continue;
        size_t at = m->heap_size++;
        for (; at && compare_lanes(lane, m->heap[(at - 1) / 2], set) < 0; at = (at - 1) / 2)
            m->heap[at] = m->heap[(at - 1) / 2];
        m->heap[at] = lane;
    }
    return true;
}

/* Hands each key, with the lanes that have it in m->group, to the rule. */
static bool merge_db(struct merge *m, enum store_db db, merge_rule *rule, struct error *err)
{
    bool set = store_db_is_set(db);
    bool done = open_lanes(m, db, m->lanes, err);
    m->heap_size = 0;
    m->required = (struct hash){{0}};
    for (size_t i = 0; done && i < m->count; i++)
        if (!m->lanes[i].ended)
            m->heap[m->heap_size++] = &m->lanes[i];
    for (size_t at = m->heap_size / 2; at-- > 0;)
        sift_down(m, at, set);
    while (done && m->heap_size) {
        size_t group = take_group(m, set);
        done = rule(m, db, group, err) && advance_group(m, db, group, set, err);
    }
    close_lanes(m, m->lanes);
    return done;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

struct known_run {
    struct run_record record;
    size_t input;
    uint64_t id; /* as the input has it */
};

/* Collects; what is made of them needs all of them. */
static bool note_run(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    for (size_t i = 0; i < group; i++) {
        const struct lane *lane = m->group[i];
        struct known_run run = {.input = lane->input};
        struct value value;
        if (!verify(m, db, lane, &value, err))
            return false;
        if (!run_read(value.bytes, value.size, &m->keep, &run.record, err))
            return bad_record(m, db, lane, err);
        run.id = run.record.id;
        buffer_append(&m->known_runs, &run, sizeof run);
    }
    return !m->known_runs.failed || store_nomem(err);
}

/* By when they began, then by all they say but their ids. */
static int compare_runs(const void *a, const void *b)
{
    const struct run_record *x = &((const struct known_run *)a)->record,
                            *y = &((const struct known_run *)b)->record;
    if (x->started_ns != y->started_ns)
        return x->started_ns < y->started_ns ? -1 : 1;
    struct buffer left = {0}, right = {0};
    struct run_record one = *x, two = *y;
    one.id = two.id = 0;
    run_write(&left, &one);
    run_write(&right, &two);
    MDB_val l = {left.size, left.data}, r = {right.size, right.data};
    int order = left.failed || right.failed ? 0 : compare_values(&l, &r);
    buffer_free(&left);
    buffer_free(&right);
    return order;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = ((const struct known_run *)a)->id, y = ((const struct known_run *)b)->id;
    return x != y ? (x > y) - (x < y) : compare_runs(a, b);
}

/* Stages of one name take their time together; one that only some shards had stays out. */
static bool add_stages(struct merge *m, struct run_record *sum, const struct run_record *part)
{
    struct run_stage *stages = arena_array(&m->keep, sum->stage_count, sizeof *stages);
    if (!stages)
        return false;
    for (uint32_t i = 0; i < sum->stage_count; i++) {
        stages[i] = sum->stages[i];
        for (uint32_t k = 0; k < part->stage_count; k++) {
            const struct run_stage *stage = &part->stages[k];
            if (strcmp(stage->name, stages[i].name) != 0)
                continue;
            stages[i].ns += stage->ns;
            stages[i].items += stage->items;
            stages[i].bytes += stage->bytes;
        }
    }
    sum->stages = stages;
    return true;
}

static void add_run(struct run_record *sum, const struct run_record *part)
{
    if (part->started_ns < sum->started_ns)
        sum->started_ns = part->started_ns;
    bool ended = sum->finished_ns && part->finished_ns;
    if (part->finished_ns > sum->finished_ns)
        sum->finished_ns = part->finished_ns;
    sum->finished_ns = ended ? sum->finished_ns : 0;
    if (sum->inputs < part->inputs)
        sum->inputs = part->inputs;
    sum->containers += part->containers;
    sum->resources += part->resources;
    sum->bytes_read += part->bytes_read;
    sum->bytes_decoded += part->bytes_decoded;
    sum->skipped_unchanged += part->skipped_unchanged;
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        sum->by_status[i] += part->by_status[i];
    if (sum->exit_status < part->exit_status)
        sum->exit_status = part->exit_status;
}

static bool put_run(struct merge *m, const struct run_record *record, struct error *err)
{
    return store_put_run(&m->txn, record, err);
}

/* Ids stay; the records of the job's shards become one. */
static bool put_job_runs(struct merge *m, struct known_run *runs, size_t count, struct error *err)
{
    if (count)
        qsort(runs, count, sizeof *runs, compare_ids);
    for (size_t i = 0; i < count; i++) {
        struct run_record record = runs[i].record;
        for (; i + 1 < count && runs[i + 1].id == runs[i].id; i++)
            if (record.id == m->options->job_run) {
                add_run(&record, &runs[i + 1].record);
                if (!add_stages(m, &record, &runs[i + 1].record))
                    return store_nomem(err);
            }
        if (!put_run(m, &record, err))
            return false;
    }
    return true;
}

/* Numbers the runs anew, and takes down each input's new ids. */
static bool put_numbered_runs(struct merge *m, struct known_run *runs, size_t count, struct error *err)
{
    uint64_t id = 0;
    size_t *used = arena_array(&m->keep, m->count, sizeof *used);
    if (!used)
        return store_nomem(err);
    if (count)
        qsort(runs, count, sizeof *runs, compare_runs);
    for (size_t i = 0; i < m->count; i++) {
        m->runs[i] = arena_array(&m->keep, count + 1, 2 * sizeof **m->runs);
        if (!m->runs[i])
            return store_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_runs(&runs[i - 1], &runs[i]) != 0) {
            runs[i].record.id = ++id;
            if (!put_run(m, &runs[i].record, err))
                return false;
        }
        uint64_t *pair = m->runs[runs[i].input] + 2 * used[runs[i].input]++;
        pair[0] = runs[i].id;
        pair[1] = id;
    }
    return true;
}

static bool merge_runs(struct merge *m, struct error *err)
{
    if (!merge_db(m, DB_RUNS, note_run, err))
        return false;
    struct known_run *list = (struct known_run *)m->known_runs.data;
    size_t count = m->known_runs.size / sizeof *list;
    return m->options->job_run ? put_job_runs(m, list, count, err) : put_numbered_runs(m, list, count, err);
}

/* The new id of an input's run; of one whose record is gone (pruned), that of the last before it. */
static uint64_t new_run(const struct merge *m, size_t input, uint64_t run)
{
    const uint64_t *pair = m->runs[input];
    uint64_t best = 0, best_old = 0;
    if (!pair)
        return run;
    for (; pair[0]; pair += 2)
        if (pair[0] <= run && pair[0] >= best_old) {
            best_old = pair[0];
            best = pair[1];
        }
    return best;
}

/* ---- sources ------------------------------------------------------------------------------------------- */

/* A source as it would be written, and what decides between it and others. */
struct source_choice {
    struct source_record record;
    MDB_val bytes; /* payload, with the new run */
};

static int compare_sources(const struct source_choice *a, const struct source_choice *b)
{
    if (a->record.run != b->record.run)
        return a->record.run < b->record.run ? -1 : 1;
    if (a->record.mtime_ns != b->record.mtime_ns)
        return a->record.mtime_ns < b->record.mtime_ns ? -1 : 1;
    bool read_a = a->record.kind != SOURCE_FAILED, read_b = b->record.kind != SOURCE_FAILED;
    return read_a != read_b ? read_a - read_b : compare_values(&a->bytes, &b->bytes);
}

static bool same_reference(const struct source_record *a, const struct source_record *b)
{
    const char *left = a->stem ? a->stem : "", *right = b->stem ? b->stem : "";
    return a->kind == b->kind && hash_equal(&a->container, &b->container) && strcmp(left, right) == 0;
}

static bool read_choice(struct merge *m, const struct lane *lane, struct source_choice *choice,
                        struct error *err)
{
    struct value value;
    if (!verify(m, DB_SOURCES, lane, &value, err))
        return false;
    if (!source_read(value.bytes, value.size, &m->arena, &choice->record, err))
        return bad_record(m, DB_SOURCES, lane, err);
    choice->bytes = (MDB_val){value.size, (void *)(uintptr_t)value.bytes};
    uint64_t run = new_run(m, lane->input, choice->record.run);
    if (run == choice->record.run)
        return true;
    choice->record.run = run;
    buffer_clear(&m->scratch);
    if (!source_write(&m->scratch, &choice->record))
        return store_nomem(err);
    choice->bytes = (MDB_val){m->scratch.size, arena_copy(&m->arena, m->scratch.data, m->scratch.size)};
    return choice->bytes.mv_data || store_nomem(err);
}

static bool append_payload(struct merge *m, enum store_db db, const MDB_val *key, const MDB_val *payload,
                           struct error *err)
{
    buffer_clear(&m->scratch);
    uint8_t *room = buffer_extend(&m->scratch, CHECKSUM_SIZE + payload->mv_size);
    if (!room)
        return store_nomem(err);
    memcpy(room + CHECKSUM_SIZE, payload->mv_data, payload->mv_size);
    value_seal(room, m->scratch.size, key->mv_data, key->mv_size);
    return append(m, db, key, &(MDB_val){m->scratch.size, room}, err);
}

static bool take_source(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct source_choice best, other;
    struct value value;
    const MDB_val *key = &m->group[0]->key;
    arena_reset(&m->arena);
    if (group == 1 && !m->runs[m->group[0]->input]) /* as it is, unread */
        return verify(m, db, m->group[0], &value, err) && append(m, db, key, &m->group[0]->value, err);
    if (!read_choice(m, m->group[0], &best, err))
        return false;
    for (size_t i = 1; i < group; i++) {
        if (!read_choice(m, m->group[i], &other, err))
            return false;
        m->sources_differ |= !same_reference(&best.record, &other.record);
        if (compare_sources(&best, &other) < 0)
            best = other;
    }
    return append_payload(m, db, key, &best.bytes, err);
}

/* ---- containers, and what belongs to them ---------------------------------------------------------------
 */

static const enum store_db details[] = {DB_COVERAGE, DB_RESOURCES, DB_CANDIDATES};
#define DETAILS (sizeof details / sizeof *details)

static bool is_of_content(const struct container_record *record)
{
    enum container_reason reason = record->container.reason;
    return reason != CONTAINER_CRASHED && reason != CONTAINER_TIMED_OUT && reason != CONTAINER_QUARANTINED;
}

/* Which of two records of one content and one version stands; above 0: the first. */
static int compare_containers(const struct container_record *a, const struct value *a_bytes,
                              const struct container_record *b, const struct value *b_bytes)
{
    if (is_of_content(a) != is_of_content(b))
        return is_of_content(a) ? 1 : -1;
    bool part_a = a->container.flags & FLAG_BIT(FLAG_PARTIAL),
         part_b = b->container.flags & FLAG_BIT(FLAG_PARTIAL);
    if (part_a != part_b)
        return part_b ? 1 : -1;
    if (a->container.status != b->container.status)
        return a->container.status < b->container.status ? 1 : -1;
    MDB_val x = {a_bytes->size, (void *)(uintptr_t)a_bytes->bytes},
            y = {b_bytes->size, (void *)(uintptr_t)b_bytes->bytes};
    return -compare_values(&x, &y);
}

static bool refuse_versions(struct merge *m, const struct lane *a, uint32_t version_a, const struct lane *b,
                            uint32_t version_b, struct error *err)
{
    char hash[HASH_HEX];
    struct hash container = hash_read(a->key.mv_data);
    hash_format(&container, hash);
    return error_set(
        err, ERROR_STORE, ERROR_NO_OFFSET,
        "'%.60s' has container %.8s by decoder version %u, '%.60s' by version %u; decode it again, or "
        "say --prefer newer",
        m->inputs[a->input]->path, hash, version_a, m->inputs[b->input]->path, version_b);
}

/* The lane whose record stands. */
static bool choose_container(struct merge *m, size_t group, struct lane **chosen, struct error *err)
{
    struct value best_value, value;
    struct container_record best, record;
    *chosen = m->group[0];
    if (!verify(m, DB_CONTAINERS, m->group[0], &best_value, err))
        return false;
    arena_reset(&m->arena);
    bool read = false;
    for (size_t i = 1; i < group; i++) {
        struct lane *lane = m->group[i];
        if (!verify(m, DB_CONTAINERS, lane, &value, err))
            return false;
        if (value.size == best_value.size && memcmp(value.bytes, best_value.bytes, value.size) == 0)
            continue;
        if (!read && !container_read(best_value.bytes, best_value.size, &m->arena, &best, err))
            return bad_record(m, DB_CONTAINERS, *chosen, err);
        read = true;
        if (!container_read(value.bytes, value.size, &m->arena, &record, err))
            return bad_record(m, DB_CONTAINERS, lane, err);
        m->containers_differ = true;
        int order =
            (best.decoder_version > record.decoder_version) - (best.decoder_version < record.decoder_version);
        if (order && !m->options->prefer_newer)
            return refuse_versions(m, *chosen, best.decoder_version, lane, record.decoder_version, err);
        if (!order)
            order = compare_containers(&best, &best_value, &record, &value);
        if (order > 0)
            continue;
        *chosen = lane;
        best = record;
        best_value = value;
    }
    return true;
}

static bool has_prefix(const struct lane *lane, const struct hash *prefix)
{
    return lane->key.mv_size >= HASH_SIZE && memcmp(lane->key.mv_data, prefix->bytes, HASH_SIZE) == 0;
}

/* Copies what one input has of a container in one of the databases of details. */
static bool copy_details(struct merge *m, enum store_db db, struct lane *lane, const struct hash *container,
                         struct error *err)
{
    struct value value;
    /* Mostly the lane stands there already; what it stands before belongs to records that did not stand. */
    if (!lane->ended && memcmp(lane->key.mv_data, container->bytes, HASH_SIZE) < 0) {
        lane->key = (MDB_val){HASH_SIZE, (void *)(uintptr_t)container->bytes};
        if (!move(m, db, lane, MDB_SET_RANGE, err))
            return false;
    }
    while (!lane->ended && has_prefix(lane, container))
        if (!verify(m, db, lane, &value, err) || !append(m, db, &lane->key, &lane->value, err) ||
            !move(m, db, lane, MDB_NEXT, err))
            return false;
    return true;
}

static bool take_container(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct lane *chosen;
    if (!choose_container(m, group, &chosen, err) || !append(m, db, &chosen->key, &chosen->value, err))
        return false;
    struct hash container = hash_read(chosen->key.mv_data);
    for (size_t i = 0; i < DETAILS; i++)
        if (!copy_details(m, details[i], &m->details[i][chosen->input], &container, err))
            return false;
    return true;
}

static bool merge_containers(struct merge *m, struct error *err)
{
    bool done = true;
    for (size_t i = 0; done && i < DETAILS; i++)
        done = open_lanes(m, details[i], m->details[i], err);
    done = done && merge_db(m, DB_CONTAINERS, take_container, err);
    for (size_t i = 0; i < DETAILS; i++)
        close_lanes(m, m->details[i]);
    return done;
}

/* ---- geometry, captures, parts, census ------------------------------------------------------------------
 */

static bool take_geometry(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct lane *best = m->group[0];
    struct value value, other;
    if (!verify(m, db, best, &value, err))
        return false;
    for (size_t i = 1; i < group; i++) {
        struct lane *lane = m->group[i];
        bool same;
        if (!verify(m, db, lane, &other, err))
            return false;
        if (!same_geometry(&value, other.bytes, other.size, &same, err))
            return bad_record(m, db, lane, err);
        if (!same) {
            error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "other bytes have the same hash");
            return bad_record(m, db, lane, err);
        }
        if (other.size < value.size ||
            (other.size == value.size && memcmp(other.bytes, value.bytes, value.size) < 0)) {
            best = lane;
            value = other;
        }
    }
    return append(m, db, &best->key, &best->value, err);
}

static bool take_capture(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct lane *best = NULL;
    uint64_t order = 0;
    arena_reset(&m->arena);
    for (size_t i = 0; i < group; i++) {
        struct capture_record record;
        struct value value;
        if (!verify(m, db, m->group[i], &value, err))
            return false;
        if (!capture_read(value.bytes, value.size, &m->arena, &record, err))
            return bad_record(m, db, m->group[i], err);
        if (best && record.order >= order)
            continue;
        best = m->group[i];
        order = record.order;
    }
    return append(m, db, &best->key, &best->value, err);
}

static bool take_part(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct lane *best = NULL;
    int64_t mtime_ns = 0;
    arena_reset(&m->arena);
    for (size_t i = 0; i < group; i++) {
        struct lane *lane = m->group[i];
        struct part_record part;
        struct value value;
        if (!verify(m, db, lane, &value, err))
            return false;
        if (!part_read(value.bytes, value.size, &m->arena, &part, err))
            return bad_record(m, db, lane, err);
        if (best && (part.mtime_ns < mtime_ns ||
                     (part.mtime_ns == mtime_ns && compare_values(&lane->value, &best->value) <= 0)))
            continue;
        best = lane;
        mtime_ns = part.mtime_ns;
    }
    return append(m, db, &best->key, &best->value, err);
}

/* Of equal keys the greatest value: they differ only when somebody went on with copies of one store. */
static bool take_greatest(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    struct lane *best = m->group[0];
    struct value value;
    for (size_t i = 0; i < group; i++) {
        if (!verify(m, db, m->group[i], &value, err))
            return false;
        if (compare_values(&m->group[i]->value, &best->value) > 0)
            best = m->group[i];
    }
    return append(m, db, &best->key, &best->value, err);
}

/* ---- references ---------------------------------------------------------------------------------------- */

/* Whether a reference to a source, or to a resource, is one that the chosen record has. */
static bool is_wanted(struct merge *m, enum store_db db, const struct lane *lane, bool *wanted,
                      struct error *err)
{
    bool to_resource = db == DB_NAMES || db == DB_USES;
    struct hash set = hash_read(lane->key.mv_data);
    arena_reset(&m->arena);
    *wanted = true;
    if (to_resource ? !(m->containers_differ || (db == DB_USES && m->resolved)) : !m->sources_differ)
        return true;
    if (lane->value.mv_size != (to_resource ? RESOURCE_KEY_SIZE : HASH_SIZE))
        return bad_record(m, db, lane, err);
    if (to_resource) {
        struct resource_record record;
        struct resource_key key = resource_key_read(lane->value.mv_data);
        return store_get_resource(&m->txn, &key.container, key.index, &m->arena, &record, wanted, err) &&
               (!*wanted || (*wanted = resource_belongs(db, &record, &set), true));
    }
    struct source_record record;
    struct hash path = hash_read(lane->value.mv_data);
    return store_get_source(&m->txn, &path, &m->arena, &record, wanted, err) &&
           (!*wanted || (*wanted = source_belongs(db, &record, &set), true));
}

/* What is referred to has to be in one of the inputs: a shard that grew from an earlier store holds only what
 * that store has not. */
static bool require(struct merge *m, enum store_db db, const struct lane *lane, struct error *err)
{
    enum store_db target = db == DB_PLACES ? DB_CONTAINERS : DB_GEOMETRY;
    struct hash key = hash_read(lane->key.mv_data);
    MDB_val k = lane->key, value;
    if ((db != DB_PLACES && db != DB_USES) || hash_equal(&key, &m->required))
        return true;
    m->required = key;
    int rc = mdb_get(m->txn.txn, m->out->dbi[target], &k, &value);
    if (rc == MDB_SUCCESS)
        return true;
    if (rc != MDB_NOTFOUND)
        return store_fail(m->out, rc, store_db_name(target), err);
    char hash[HASH_HEX];
    hash_format(&key, hash);
    return error_set(
        err, ERROR_STORE, ERROR_NO_OFFSET,
        "'%.80s' refers to %s %s, which no input has: the store that its shards began from (--seed) "
        "is missing",
        m->inputs[lane->input]->path, target == DB_GEOMETRY ? "geometry" : "container", hash);
}

static bool take_reference(struct merge *m, enum store_db db, size_t group, struct error *err)
{
    const struct lane *lane = m->group[0];
    bool wanted;
    (void)group;
    if (lane->key.mv_size != HASH_SIZE)
        return bad_record(m, db, lane, err);
    if (!is_wanted(m, db, lane, &wanted, err))
        return false;
    return !wanted || (require(m, db, lane, err) && append(m, db, &lane->key, &lane->value, err));
}

/* ---- members that are gone ------------------------------------------------------------------------------
 */

static bool note_parent(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    struct buffer *parents = ctx;
    (void)value;
    if (!parents->size || memcmp(parents->data + parents->size - HASH_SIZE, key->mv_data, HASH_SIZE) != 0)
        buffer_append(parents, key->mv_data, HASH_SIZE);
    return !parents->failed || store_nomem(err);
}

/* Of every archive that the job has read, the members that it has not seen there. */
static bool drop_gone_members(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct merge *m = ctx;
    struct buffer parents = {0};
    struct arena arena = {0};
    bool done = db_each(txn, DB_MEMBERS, NULL, 0, note_parent, &parents, err);
    for (size_t at = 0; done && at < parents.size; at += HASH_SIZE) {
        struct hash parent = hash_read(parents.data + at);
        struct source_record source;
        bool found;
        arena_reset(&arena);
        done = store_get_source(txn, &parent, &arena, &source, &found, err) &&
               (!found || source.kind != SOURCE_CONTAINER || source.run != m->options->job_run ||
                store_drop_unseen(txn, &parent, source.run, UINT64_MAX, err));
    }
    buffer_free(&parents);
    arena_free(&arena);
    return done;
}

/* ---- all of it ------------------------------------------------------------------------------------------
 */

static bool merge_all(struct merge *m, struct error *err)
{
    /* Whoever adds a database says here how it is merged. */
    _Static_assert(DB_COUNT == 18, "a database that merge does not know");
    static const struct {
        enum store_db db;
        merge_rule *rule;
    } steps[] = {
        {DB_SOURCES, take_source},    {DB_GEOMETRY, take_geometry}, {DB_CAPTURES, take_capture},
        {DB_PARTS, take_part},        {DB_PLACES, take_reference},  {DB_MEMBERS, take_reference},
        {DB_STEMS, take_reference},   {DB_NAMES, take_reference},   {DB_USES, take_reference},
        {DB_DECLINED, take_greatest},
    };
    if (!merge_runs(m, err) || !merge_containers(m, err))
        return false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if ((steps[i].db != DB_DECLINED || m->options->job_run) &&
            !merge_db(m, steps[i].db, steps[i].rule, err))
            return false;
    return true;
}

static bool setup(struct merge *m, struct error *err)
{
    m->txns = calloc(m->count, sizeof *m->txns);
    m->runs = calloc(m->count, sizeof *m->runs);
    m->lanes = calloc(m->count, sizeof *m->lanes);
    m->heap = calloc(m->count, sizeof *m->heap);
    m->group = calloc(m->count, sizeof *m->group);
    bool ok = m->txns && m->runs && m->lanes && m->heap && m->group;
    for (size_t i = 0; i < DETAILS; i++)
        ok &= (m->details[i] = calloc(m->count, sizeof *m->details[i])) != NULL;
    if (!ok)
        return store_nomem(err);
    for (size_t i = 0; i < m->count; i++) {
        MDB_stat stat;
        m->txns[i] = store_begin_read(m->inputs[i], err);
        if (!m->txns[i])
            return false;
        int rc = mdb_stat(m->txns[i]->txn, m->inputs[i]->dbi[DB_RESOLVED], &stat);
        if (rc != MDB_SUCCESS)
            return store_fail(m->inputs[i], rc, "resolved", err);
        m->resolved |= stat.ms_entries != 0;
    }
    return true;
}

static void teardown(struct merge *m)
{
    if (m->txn.txn)
        mdb_txn_abort(m->txn.txn);
    for (size_t i = 0; m->txns && i < m->count; i++)
        store_end_read(m->txns[i]);
    for (size_t i = 0; i < DETAILS; i++)
        free(m->details[i]);
    free(m->txns);
    free(m->runs);
    free(m->lanes);
    free(m->heap);
    free(m->group);
    buffer_free(&m->scratch);
    buffer_free(&m->txn.scratch);
    arena_free(&m->txn.arena);
    arena_free(&m->arena);
    arena_free(&m->keep);
    buffer_free(&m->known_runs);
}

bool store_merge(struct store *out, struct store *const *inputs, size_t count,
                 const struct merge_options *options, struct merge_result *result, struct error *err)
{
    struct merge m = {.out = out,
                      .inputs = inputs,
                      .count = count,
                      .options = options,
                      .txn = {.store = out},
                      .result = result};
    *result = (struct merge_result){0};
    bool done = setup(&m, err) && begin(&m, err) && merge_all(&m, err) && commit(&m, err) &&
                (!options->job_run || store_update(out, drop_gone_members, &m, err)) &&
                store_join_parts(out, options->incomplete, options->ctx, &result->incomplete, err);
    teardown(&m);
    return done;
}
