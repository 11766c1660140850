/* test_store.c - what the store keeps, finds and drops, and what damage it notices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

/* The version that a walk of contents gives of one; 0: it is not there. */
struct decoder_walk {
    const struct hash *wanted;
    uint32_t version;
};

static bool decoder_one(const struct hash *container, const struct container_head *head, void *ctx)
{
    struct decoder_walk *walk = ctx;
    assert_int_equal(head->reason, CONTAINER_REASON_NONE);
    if (hash_equal(container, walk->wanted))
        walk->version = head->decoder_version;
    return true;
}

static uint32_t decoder_of(struct store_txn *txn, const struct hash *container)
{
    struct decoder_walk walk = {.wanted = container};
    struct error err = {0};
    assert_true(store_each_content(txn, decoder_one, &walk, &err));
    return walk.version;
}

/* ---- what goes in comes out ---- */

static void finds_what_was_put(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct arena arena = {0};
    struct error err = {0};
    const char **paths;
    struct resource_key *keys;
    size_t count;
    bool found;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct store_txn *txn = store_begin_read(store, &err);
    struct hash one = fixture_content(1), two = fixture_content(2),
                geometry = fixture_geometry_hash(&fixture_sample[0]);
    assert_true(store_places(txn, &one, &arena, &paths, &count, NULL, &err));
    assert_int_equal(count, 2);
    assert_string_equal(paths[0], "a.zip!CAL.BGF");
    assert_string_equal(paths[1], "b/CAL.BGF");
    assert_true(store_find_name(txn, "CAL", &arena, &keys, &count, &err)); /* two places, one resource */
    assert_int_equal(count, 1);
    assert_true(hash_equal(&keys[0].container, &one) && keys[0].index == 0);
    assert_true(store_find_name(txn, "e003", &arena, &keys, &count, &err));
    assert_int_equal(count, 1);
    assert_true(
        store_find_name(txn, "x", &arena, &keys, &count, &err)); /* the directory names it otherwise */
    assert_int_equal(count, 0);
    assert_true(store_find_geometry(txn, &geometry, &arena, &keys, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(fixture_live(txn), 3);
    struct buffer want = fixture_geometry(1, 100), got = {0};
    assert_true(store_get_geometry(txn, &geometry, &got, &found, &err) && found);
    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.data, want.data, want.size);
    assert_int_equal(decoder_of(txn, &two), 2);
    assert_true(store_get_geometry(txn, &one, &got, &found, &err) && !found);
    store_end_read(txn);
    assert_int_equal(fixture_problems(store, true), 0);
    struct store_stat stat;
    assert_true(store_stat(store, &stat, &err));
    assert_int_equal(stat.sources, 4);
    assert_int_equal(stat.geometries, 3);
    assert_true(stat.geometry_raw == 4 + 25 + 4 + 750 + 4);
    store_close(store);
    buffer_free(&want);
    buffer_free(&got);
    arena_free(&arena);
}

static void single_file_store(void **state)
{
    (void)state;
    snprintf(fixture_path, sizeof fixture_path, "%s/one.mdb", fixture_directory);
    struct store *store = fixture_open(STORE_CREATE);
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct hash before = fixture_digest(store);
    store_close(store);
    store = fixture_open(STORE_READ);
    struct hash after = fixture_digest(store);
    assert_true(hash_equal(&before, &after));
    store_close(store);
}

static bool put_runs(struct store_txn *txn, void *ctx, struct error *err)
{
    uint64_t *ids = ctx;
    for (int i = 0; i < 2; i++) {
        if (!store_next_run(txn, &ids[i], err))
            return false;
        struct run_record run = {.id = ids[i], .version = "1", .arguments = "run"};
        if (!store_put_run(txn, &run, err))
            return false;
    }
    return true;
}

static bool sum_runs(const struct run_record *record, void *ctx)
{
    *(uint64_t *)ctx = *(uint64_t *)ctx * 10 + record->id;
    return true;
}

static void runs_are_numbered(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    uint64_t ids[2], order = 0;
    (void)state;
    assert_true(store_update(store, put_runs, ids, &err));
    assert_true(ids[0] == 1 && ids[1] == 2);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(store_each_run(txn, sum_runs, &order, &err));
    assert_int_equal(order, 12);
    store_end_read(txn);
    store_close(store);
}

/* ---- replacing and dropping ---- */

static void replacing_a_place_moves_its_references(void **state)
{
    static const struct item other = {"a.zip!CAL.BGF", "a.zip", "CAL", NULL, 7, 2, 50};
    struct store *store = fixture_open(STORE_CREATE);
    struct arena arena = {0};
    struct error err = {0};
    const char **paths;
    struct resource_key *keys;
    size_t count;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    fixture_put(store, &other, 1);
    assert_int_equal(fixture_problems(store, true), 0);
    struct store_txn *txn = store_begin_read(store, &err);
    struct hash one = fixture_content(1);
    assert_true(store_places(txn, &one, &arena, &paths, &count, NULL, &err));
    assert_int_equal(count, 1);
    assert_string_equal(paths[0], "b/CAL.BGF");
    assert_true(store_find_name(txn, "CAL", &arena, &keys, &count, &err));
    assert_int_equal(count, 2);
    store_end_read(txn);
    store_close(store);
    arena_free(&arena);
}

static bool put_two_then_none(struct store_txn *txn, void *ctx, struct error *err)
{
    struct hash container = fixture_content(2);
    struct container_record record = {.decoder_version = 3};
    (void)ctx;
    record.container.format = FORMAT_XPR2;
    return store_put_container(txn, &container, &record, NULL, 0, err);
}

static void replacing_a_container_drops_its_resources(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct arena arena = {0};
    struct error err = {0};
    struct resource_key *keys;
    size_t count;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    assert_true(store_update(store, put_two_then_none, NULL, &err));
    assert_int_equal(fixture_problems(store, true), 0);
    struct store_txn *txn = store_begin_read(store, &err);
    struct hash geometry = fixture_geometry_hash(&fixture_sample[2]);
    assert_true(store_find_name(txn, "e003", &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    assert_true(store_find_geometry(txn, &geometry, &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    store_end_read(txn);
    store_close(store);
    arena_free(&arena);
}

static bool put_same_index_twice(struct store_txn *txn, void *ctx, struct error *err)
{
    struct hash container = fixture_content(2);
    struct container_record record = {0};
    struct resource_record resources[2] = {0};
    (void)ctx;
    return store_put_container(txn, &container, &record, resources, 2, err);
}

static void two_resources_of_one_index_are_refused(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct hash before = fixture_digest(store);
    assert_false(store_update(store, put_same_index_twice, NULL, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "two resources of one index"));
    struct hash after = fixture_digest(store);
    assert_true(hash_equal(&before, &after)); /* nothing of it was committed */
    store_close(store);
}

static bool drop(struct store_txn *txn, void *ctx, struct error *err)
{
    struct hash parent = hash_text("a.zip");
    return store_drop_unseen(txn, &parent, *(uint64_t *)ctx, UINT64_MAX, err);
}

/* An archive changed: CAL.BGF was seen again, STAGE.BGF and the inner archive with its member are gone. */
static void unseen_members_are_dropped(void **state)
{
    static const struct item archive = {"a.zip!in.7z", "a.zip", NULL, NULL, 9, 1, 4};
    static const struct item again = {"a.zip!CAL.BGF", "a.zip", "CAL", NULL, 1, 2, 100};
    struct store *store = fixture_open(STORE_CREATE);
    struct arena arena = {0};
    struct error err = {0};
    const char **paths;
    struct resource_key *keys;
    size_t count;
    uint64_t run = 2;
    bool found;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    fixture_put(store, &archive, 1);
    fixture_put(store, &again, 1);
    assert_true(store_update(store, drop, &run, &err));
    assert_int_equal(fixture_problems(store, true), 0);
    struct store_txn *txn = store_begin_read(store, &err);
    struct hash one = fixture_content(1), two = fixture_content(2);
    struct source_record record;
    struct hash inner = hash_text("a.zip!in.7z!x.xpr"), plain = hash_text("b/CAL.BGF");
    assert_true(store_get_source(txn, &inner, &arena, &record, &found, &err) && !found);
    assert_true(store_get_source(txn, &plain, &arena, &record, &found, &err) && found);
    assert_true(store_places(txn, &one, &arena, &paths, &count, NULL, &err));
    assert_int_equal(count, 2);
    assert_true(store_find_name(txn, "STAGE", &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    assert_int_equal(fixture_live(txn), 1);
    /* The content is kept, so that it need not be decoded again should it come back. */
    assert_int_equal(decoder_of(txn, &two), 2);
    assert_true(store_find_name(txn, "e003", &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    store_end_read(txn);
    store_close(store);
    arena_free(&arena);
}

/* ---- geometry ---- */

struct geometry_put {
    struct hash key;
    struct buffer encoded;
};

static bool put_geometry(struct store_txn *txn, void *ctx, struct error *err)
{
    struct geometry_put *put_one = ctx;
    return store_put_geometry(txn, &put_one->key, put_one->encoded.data, put_one->encoded.size, err);
}

static void other_bytes_under_one_hash_are_an_error(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    struct geometry_put one = {.key = fixture_geometry_hash(&fixture_sample[2])};
    struct buffer bytes = fixture_geometry(2, 3000);
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    for (int codec = 0; codec < CODEC_COUNT; codec++) { /* the same bytes in any encoding are welcome */
        buffer_clear(&one.encoded);
        assert_true(codec_encode((enum codec)codec, bytes.data, bytes.size, &one.encoded));
        assert_true(store_update(store, put_geometry, &one, &err));
    }
    bytes.data[bytes.size - 1] ^= 1;
    buffer_clear(&one.encoded);
    codec_encode(CODEC_DEFAULT, bytes.data, bytes.size, &one.encoded);
    assert_false(store_update(store, put_geometry, &one, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "other bytes have the same hash"));
    store_close(store);
    buffer_free(&bytes);
    buffer_free(&one.encoded);
}

/* ---- digest ---- */

static void digest_is_of_the_content_alone(void **state)
{
    struct item turned[FIXTURE_SAMPLES], gone = {"old.bgf", NULL, "old", NULL, 30, 1, 9};
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    uint64_t ids[2];
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct hash first = fixture_digest(store);
    store_close(store);

    /* Another order, other runs, a history: a content that came and went, a place that was something else. */
    for (size_t i = 0; i < FIXTURE_SAMPLES; i++) {
        turned[i] = fixture_sample[FIXTURE_SAMPLES - 1 - i];
        turned[i].run = 5;
    }
    snprintf(fixture_path, sizeof fixture_path, "%s/other", fixture_directory);
    store = fixture_open(STORE_CREATE);
    gone.path = fixture_sample[1].path;
    fixture_put(store, &gone, 1);
    fixture_put(store, turned, FIXTURE_SAMPLES);
    assert_true(store_update(store, put_runs, ids, &err));
    struct hash second = fixture_digest(store);
    assert_true(hash_equal(&first, &second));

    gone.path = "new.bgf";
    fixture_put(store, &gone, 1);
    second = fixture_digest(store);
    assert_false(hash_equal(&first, &second));
    store_close(store);
}

/* ---- damage ---- */

/* Replaces what LMDB holds under a key, as no function of the store would. */
struct damage {
    enum store_db db;
    MDB_val key, value;
    bool remove_first; /* of a set: the old reference goes */
    MDB_val old;
};

static bool do_damage(struct store_txn *txn, void *ctx, struct error *err)
{
    struct damage *damage = ctx;
    MDB_dbi dbi = txn->store->dbi[damage->db];
    (void)err;
    if (damage->remove_first)
        assert_int_equal(mdb_del(txn->txn, dbi, &damage->key, &damage->old), 0);
    assert_int_equal(mdb_put(txn->txn, dbi, &damage->key, &damage->value, 0), 0);
    return true;
}

static struct buffer copy_of(const MDB_val *value)
{
    struct buffer copy = {0};
    buffer_append(&copy, value->mv_data, value->mv_size);
    return copy;
}

struct entries {
    struct buffer keys[64], values[64];
    enum store_db dbs[64];
    size_t count;
    enum store_db db;
};

static bool collect(const MDB_val *key, const MDB_val *value, void *ctx, struct error *err)
{
    struct entries *entries = ctx;
    (void)err;
    /* Of the keys only a new opening is told. */
    if (entries->db == DB_META && key->mv_size == strlen(KEY_SUMS))
        return true;
    assert_true(entries->count < 64);
    entries->keys[entries->count] = copy_of(key);
    entries->values[entries->count] = copy_of(value);
    entries->dbs[entries->count++] = entries->db;
    return true;
}

/* Everything the store returns of its content, or false for the first error. */
static bool read_all(struct store_txn *txn, struct buffer *all, struct error *err)
{
    struct arena arena = {0};
    bool done = true, found;
    for (size_t i = 0; i < FIXTURE_SAMPLES && done; i++) {
        struct hash path_hash = hash_text(fixture_sample[i].path),
                    container = fixture_content(fixture_sample[i].content);
        struct hash geometry = fixture_geometry_hash(&fixture_sample[i]);
        struct source_record source;
        struct container_record record;
        struct resource_record resource;
        struct resource_key *keys;
        const char **paths;
        size_t count;
        done = store_get_source(txn, &path_hash, &arena, &source, &found, err) &&
               source_write(all, &source) &&
               store_get_container(txn, &container, &arena, &record, &found, err) &&
               container_write(all, &record) &&
               store_get_resource(txn, &container, 0, &arena, &resource, &found, err) &&
               resource_write(all, &resource) && store_get_geometry(txn, &geometry, all, &found, err) &&
               store_places(txn, &container, &arena, &paths, &count, NULL, err);
        for (size_t k = 0; done && k < count; k++)
            buffer_append(all, paths[k], strlen(paths[k]));
        const char *name = fixture_sample[i].name ? fixture_sample[i].name : fixture_sample[i].stem;
        done = done && store_find_name(txn, name, &arena, &keys, &count, err);
        if (done)
            buffer_append(all, keys, count * sizeof *keys);
        done = done && store_find_geometry(txn, &geometry, &arena, &keys, &count, err);
        if (done)
            buffer_append(all, keys, count * sizeof *keys);
    }
    arena_free(&arena);
    return done;
}

static bool damage_and_look(struct store *store, struct damage *damage, const struct buffer *truth,
                            uint64_t *problems)
{
    struct buffer all = {0};
    struct error err = {0};
    if (!store_update(store, do_damage, damage, &err))
        fail_msg("%s", err.msg);
    *problems = fixture_problems(store, false);
    struct store_txn *txn = store_begin_read(store, &err);
    bool read = read_all(txn, &all, &err);
    /* An error, or the truth: of what is read nothing depends on the byte that was changed. */
    bool same = !read || (all.size == truth->size && memcmp(all.data, truth->data, all.size) == 0);
    assert_true(read || err.code == ERROR_STORE);
    store_end_read(txn);
    buffer_free(&all);
    return same;
}

static void every_changed_byte_is_found(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    static struct entries entries;
    struct buffer truth = {0};
    uint64_t problems;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(read_all(txn, &truth, &err));
    for (int db = DB_META; db < DB_COUNT; db++) {
        entries.db = (enum store_db)db;
        assert_true(db_each(txn, entries.db, NULL, 0, collect, &entries, &err));
    }
    store_end_read(txn);
    assert_true(entries.count > 20);
    /* A commit for each byte: without the wait for the disk, which no test of it depends on. */
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    for (size_t i = 0; i < entries.count; i++) {
        struct buffer *key = &entries.keys[i], *value = &entries.values[i];
        bool set = store_db_is_set(entries.dbs[i]);
        for (size_t at = 0; at < value->size; at++) {
            struct buffer changed = {0};
            buffer_append(&changed, value->data, value->size);
            changed.data[at] ^= 1u << (at % 8);
            struct damage damage = {entries.dbs[i],
                                    {key->size, key->data},
                                    {changed.size, changed.data},
                                    set,
                                    {value->size, value->data}};
            assert_true(damage_and_look(store, &damage, &truth, &problems));
            if (problems == 0)
                fail_msg("that byte %zu of a value in %s changed is not noticed", at,
                         store_db_name(entries.dbs[i]));
            struct damage repair = {entries.dbs[i],
                                    {key->size, key->data},
                                    {value->size, value->data},
                                    set,
                                    {changed.size, changed.data}};
            assert_true(damage_and_look(store, &repair, &truth, &problems));
            assert_int_equal(problems, 0);
            buffer_free(&changed);
        }
        buffer_free(key);
        buffer_free(value);
    }
    buffer_free(&truth);
    store_close(store);
}

/* A value that is sound but lies under another key. */
static void a_value_under_another_key_is_found(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    struct hash from = fixture_content(1), to = fixture_content(3);
    struct buffer truth = {0};
    uint64_t problems;
    (void)state;
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(read_all(txn, &truth, &err));
    MDB_val key = {HASH_SIZE, from.bytes}, value;
    assert_int_equal(mdb_get(txn->txn, store->dbi[DB_CONTAINERS], &key, &value), 0);
    struct buffer copy = copy_of(&value);
    store_end_read(txn);
    struct damage damage = {DB_CONTAINERS, {HASH_SIZE, to.bytes}, {copy.size, copy.data}, false, {0, NULL}};
    assert_true(damage_and_look(store, &damage, &truth, &problems));
    assert_int_equal(problems, 1);
    buffer_free(&copy);
    buffer_free(&truth);
    store_close(store);
}

static void a_cut_file_is_refused(void **state)
{
    char file[128];
    struct error err = {0};
    static const struct item large = {"large.bgf", NULL, "large", NULL, 1, 1, 4 * 4000000};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    fixture_put(store, &large, 1);
    store_close(store);
    snprintf(file, sizeof file, "%s/data.mdb", fixture_path);
    assert_int_equal(truncate(file, 2000000), 0);
    assert_null(store_open(fixture_path, STORE_READ, false, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "cut short"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_what_was_put),
        TEST(single_file_store),
        TEST(runs_are_numbered),
        TEST(replacing_a_place_moves_its_references),
        TEST(replacing_a_container_drops_its_resources),
        TEST(two_resources_of_one_index_are_refused),
        TEST(unseen_members_are_dropped),
        TEST(other_bytes_under_one_hash_are_an_error),
        TEST(digest_is_of_the_content_alone),
        TEST(every_changed_byte_is_found),
        TEST(a_value_under_another_key_is_found),
        TEST(a_cut_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
