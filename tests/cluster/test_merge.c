/* Merging stores: the outcome depends on the set of inputs alone, and what cannot be merged is refused by
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/merge.h"
#include "store/part.h"
#include "store/place.h"
#include "tests/support/store_fixture.h"

#define STORES 4

static char paths[STORES + 4][128];

static const char *path_of(size_t number)
{
    snprintf(paths[number], sizeof paths[number], "%s/s%zu", fixture_directory, number);
    return paths[number];
}

static struct store *open_number(size_t number, enum store_mode mode)
{
    struct error err = {0};
    struct store *store = store_open(path_of(number), mode, false, &err);
    if (!store)
        fail_msg("%s", err.msg);
    return store;
}

/* Runs one change in store `number`, made when absent. */
static void change(size_t number, bool (*what)(struct store_txn *, void *, struct error *), void *ctx)
{
    struct store *store = open_number(number, STORE_CREATE);
    struct error err = {0};
    if (!store_update(store, what, ctx, &err))
        fail_msg("%s", err.msg);
    store_close(store);
}

static void put_run_items(size_t number, const struct item *items, size_t count)
{
    struct items list = {items, count};
    change(number, fixture_put_items, &list);
}

static bool put_record(struct store_txn *txn, void *ctx, struct error *err)
{
    return store_put_run(txn, ctx, err);
}

static void put_run(size_t number, uint64_t id, int64_t started, uint64_t containers)
{
    struct run_record run = {.id = id,
                             .started_ns = started,
                             .finished_ns = started + 10,
                             .version = "1",
                             .arguments = "anchorage run",
                             .containers = containers};
    change(number, put_record, &run);
}

/* A process opens a store once: one that is named again is opened as a copy. */
static struct store *open_input(const char *from, size_t at)
{
    char copy[160], command[512];
    struct error err = {0};
    size_t number = (size_t)(from[at] - '0');
    if (!memchr(from, from[at], at))
        return open_number(number, STORE_READ);
    snprintf(copy, sizeof copy, "%s-copy%zu", path_of(number), at);
    snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s", copy, path_of(number), copy);
    assert_int_equal(system(command), 0);
    struct store *store = store_open(copy, STORE_READ, false, &err);
    if (!store)
        fail_msg("%s", err.msg);
    return store;
}

/* Merges the stores named by digits into store `to`; false with *err set. */
static bool try_merge(size_t to, const char *from, const struct merge_options *options,
                      struct merge_result *result, struct error *err)
{
    struct store *inputs[8];
    struct place place;
    size_t count = strlen(from);
    for (size_t i = 0; i < count; i++)
        inputs[i] = open_input(from, i);
    bool ok = place_begin(&place, path_of(to), err) &&
              store_merge(place.store, inputs, count, options, result, err);
    for (size_t i = 0; i < count; i++)
        store_close(inputs[i]);
    ok = ok && place_commit(&place, false, err);
    place_abandon(&place);
    return ok;
}

static void merge(size_t to, const char *from)
{
    struct merge_options options = {.prefer_newer = false};
    struct merge_result result;
    struct error err = {0};
    if (!try_merge(to, from, &options, &result, &err))
        fail_msg("%s: %s", from, err.msg);
}

/* Expects a refusal, and each word in its message. */
static void refused(const char *from, const char *word, const char *second)
{
    struct merge_options options = {.prefer_newer = false};
    struct merge_result result;
    struct error err = {0};
    struct stat status;
    assert_false(try_merge(6, from, &options, &result, &err));
    if (!strstr(err.msg, word) || !strstr(err.msg, second))
        fail_msg("'%s' has no '%s' or '%s'", err.msg, word, second);
    assert_int_equal(stat(path_of(6), &status), -1); /* nothing is left of it */
}

/* The digest of a store that has to be sound. */
static struct hash digest_of(size_t number)
{
    struct store *store = open_number(number, STORE_READ);
    assert_int_equal(fixture_problems(store, true), 0);
    struct hash digest = fixture_digest(store);
    store_close(store);
    return digest;
}

static void equal_digests(size_t a, size_t b)
{
    struct hash x = digest_of(a), y = digest_of(b);
    assert_memory_equal(x.bytes, y.bytes, HASH_SIZE);
}

static const struct item shard_items[STORES][2] = {
    {{"a.zip!CAL.BGF", "a.zip", "CAL", NULL, 1, 1, 100}, {"b/CAL.BGF", NULL, "CAL", NULL, 1, 1, 100}},
    {{"a.zip!in.7z!x.xpr", "a.zip!in.7z", NULL, "e003", 2, 1, 3000},
     {"c/CAL.BGF", NULL, "CAL", NULL, 1, 1, 100}},
    {{"a.zip!STAGE.BGF", "a.zip", "STAGE", NULL, 3, 1, 0}, {"d/y.xpr", NULL, NULL, "e003", 4, 1, 5000}},
    {{"e/z.xpr", NULL, NULL, "e004", 5, 1, 20}, {"f/z.xpr", NULL, NULL, "e004", 5, 1, 20}},
};

static void fill_stores(void)
{
    for (size_t i = 0; i < STORES; i++) {
        put_run_items(i, shard_items[i], 2);
        put_run(i, 1, 1000 * (int64_t)i, i);
    }
}

static void test_order_and_grouping(void **state)
{
    (void)state;
    fill_stores();
    put_run_items(5, shard_items[0], STORES * 2); /* one store that met everything */
    for (const char *const *order = (const char *const[]){"0123", "3210", "2031", "00112233", NULL}; *order;
         order++) {
        merge(4, *order);
        equal_digests(4, 5);
    }
    /* Nested, and with a part twice. */
    merge(4, "01");
    merge(6, "23");
    merge(7, "461");
    equal_digests(7, 5);
}

static void test_files_are_equal(void **state)
{
    (void)state;
    char command[512];
    fill_stores();
    merge(4, "0123");
    merge(5, "3102");
    snprintf(command, sizeof command, "cmp %s/s4/data.mdb %s/s5/data.mdb", fixture_directory,
             fixture_directory);
    assert_int_equal(system(command), 0);
}

static bool put_version(struct store_txn *txn, void *ctx, struct error *err)
{
    const unsigned *version = ctx;
    struct hash container = fixture_content(9);
    struct resource_record resource = {.resource = {.name = *version == 3 ? "old" : "new",
                                                    .format = FORMAT_XBG7,
                                                    .status = RESOURCE_DECLINED,
                                                    .reason = DECLINE_NO_MARKER}};
    struct container_record record = {.bytes = 10, .decoder_version = *version};
    record.container.format = FORMAT_XPR2;
    record.container.resource_count = record.by_status[RESOURCE_DECLINED] = 1;
    struct source_record source = {
        .kind = SOURCE_CONTAINER, .path = "v.xpr", .container = container, .format = FORMAT_XPR2, .run = 1};
    return store_put_container(txn, &container, &record, &resource, 1, err) &&
           store_put_source(txn, &source, err);
}

static void test_versions(void **state)
{
    (void)state;
    unsigned three = 3, four = 4;
    change(0, put_version, &three);
    change(1, put_version, &four);
    refused("01", "s0", "s1");
    refused("10", "version 3", "version 4");
    for (const char *const *order = (const char *const[]){"01", "10", NULL}; *order; order++) {
        struct merge_options options = {.prefer_newer = true};
        struct merge_result result;
        struct error err = {0};
        assert_true(try_merge(4, *order, &options, &result, &err));
        equal_digests(4, 1); /* resources and names of the old version are gone */
    }
}

static bool put_source(struct store_txn *txn, void *ctx, struct error *err)
{
    return store_put_source(txn, ctx, err);
}

/* A file that changed between the shards: the state of the later time, whichever store comes first. */
static void test_changed_file(void **state)
{
    (void)state;
    const struct item contents[] = {{"x", NULL, "x", NULL, 1, 1, 0}, {"y", NULL, "y", NULL, 2, 1, 0}};
    for (size_t i = 0; i < 2; i++) {
        struct source_record source = {.kind = SOURCE_CONTAINER,
                                       .path = "f.bgf",
                                       .stem = i ? "f" : "g",
                                       .container = fixture_content((unsigned)i + 1),
                                       .format = FORMAT_BGF,
                                       .mtime_ns = 100 + (int64_t)i,
                                       .run = 1};
        put_run_items(i, contents, 2);
        put_run(i, 1, 50, 0);
        change(i, put_source, &source);
    }
    merge(4, "01");
    merge(5, "10");
    equal_digests(4, 5);
    equal_digests(4, 1);
}

static struct source_record source_of(size_t number, const char *path)
{
    struct store *store = open_number(number, STORE_READ);
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    struct arena arena = {0};
    struct source_record record;
    struct hash key = hash_text(path);
    bool found;
    assert_true(store_get_source(txn, &key, &arena, &record, &found, &err) && found);
    record.path = record.stem = record.message = record.magic = record.ending = NULL;
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
    return record;
}

static bool count_runs(const struct run_record *record, void *ctx)
{
    uint64_t *ids = ctx;
    ids[0]++;
    ids[record->id] = record->containers;
    return true;
}

static void runs_of(size_t number, uint64_t ids[static 10])
{
    struct store *store = open_number(number, STORE_READ);
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    memset(ids, 0, 10 * sizeof *ids);
    assert_true(store_each_run(txn, count_runs, ids, &err));
    store_end_read(txn);
    store_close(store);
}

static void test_runs(void **state)
{
    (void)state;
    uint64_t ids[10];
    put_run_items(0, shard_items[0], 2);
    put_run_items(1, shard_items[1], 2);
    put_run(0, 1, 2000, 10); /* began second */
    put_run(1, 1, 1000, 20);
    merge(4, "01");
    runs_of(4, ids);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 20);
    assert_int_equal(ids[2], 10);
    assert_int_equal(source_of(4, "b/CAL.BGF").run, 2); /* follows its run */
    assert_int_equal(source_of(4, "c/CAL.BGF").run, 1);
    merge(5, "4140"); /* no run twice */
    runs_of(5, ids);
    assert_int_equal(ids[0], 2);
}

/* Shards of one job: their runs become one, and what was there before them keeps its numbers. */
static void test_job_runs(void **state)
{
    (void)state;
    uint64_t ids[10];
    struct merge_options options = {.job_run = 3};
    struct merge_result result;
    struct error err = {0};
    put_run_items(0, shard_items[0], 2);
    put_run(0, 1, 5000, 7);
    put_run(0, 2, 100, 8); /* clocks err: the numbers count */
    for (size_t i = 1; i < 3; i++) {
        put_run_items(i, shard_items[i], 2);
        put_run(i, 3, 300, 10 * i);
    }
    assert_true(try_merge(4, "012", &options, &result, &err));
    runs_of(4, ids);
    assert_int_equal(ids[0], 3);
    assert_int_equal(ids[1], 7);
    assert_int_equal(ids[2], 8);
    assert_int_equal(ids[3], 30);
}

static bool put_content_gone(struct store_txn *txn, void *ctx, struct error *err)
{
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = "a.zip",
                                   .container = fixture_content(1),
                                   .format = FORMAT_ARCHIVE,
                                   .run = 2};
    (void)ctx;
    return store_put_source(txn, &source, err);
}

/* A shard that grew from an earlier store has not what that has: the two belong together. */
static void test_missing_seed(void **state)
{
    (void)state;
    put_run_items(0, shard_items[0], 2);
    put_run_items(1, shard_items[3], 2);
    change(1, put_content_gone, NULL);
    refused("1", "--seed", "s1");
    merge(4, "10");
    digest_of(4);
}

/* Members that an archive no longer has go when the job has read it again. */
static void test_gone_members(void **state)
{
    (void)state;
    struct merge_options options = {.job_run = 2};
    struct merge_result result;
    struct error err = {0};
    put_run_items(0, shard_items[0], 2); /* a.zip!CAL.BGF, run 1 */
    put_run(0, 1, 10, 0);
    const struct item again = {"a.zip!NEW.BGF", "a.zip", "NEW", NULL, 6, 2, 0};
    put_run_items(1, &again, 1);
    change(1, put_content_gone, NULL);
    put_run(1, 2, 20, 0);
    assert_true(try_merge(4, "01", &options, &result, &err));
    digest_of(4);
    struct store *store = open_number(4, STORE_READ);
    struct store_txn *txn = store_begin_read(store, &err);
    struct arena arena = {0};
    struct source_record record;
    struct hash gone = hash_text("a.zip!CAL.BGF"), stays = hash_text("a.zip!NEW.BGF");
    bool found;
    assert_true(store_get_source(txn, &gone, &arena, &record, &found, &err));
    assert_false(found);
    assert_true(store_get_source(txn, &stays, &arena, &record, &found, &err));
    assert_true(found);
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
}

static bool put_capture(struct store_txn *txn, void *ctx, struct error *err)
{
    return store_put_capture(txn, ctx, err);
}

static void test_captures(void **state)
{
    (void)state;
    struct capture_record one = {.kind = CAPTURE_ROW0, .order = 5, .resource = "e003", .row0_x = 1};
    struct capture_record other = {.kind = CAPTURE_ROW0, .order = 5, .resource = "e003", .row0_x = -1};
    change(0, put_capture, &one);
    change(1, put_capture, &other);
    one.order = 2;
    change(2, put_capture, &one);
    merge(4, "01"); /* equal orders: their keys decide */
    merge(5, "10");
    equal_digests(4, 5);
    merge(4, "012");
    merge(5, "210");
    equal_digests(4, 5);
    struct store *store = open_number(4, STORE_READ);
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    struct arena arena = {0};
    struct capture_record *captures;
    size_t count;
    assert_true(store_get_captures(txn, &arena, &captures, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(captures[0].order, 2);
    assert_int_equal(captures[0].row0_x, 1);
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
}

/* ---- archives in parts ---- */

struct part_put {
    struct part_record part;
    bool owner;
};

static bool put_part(struct store_txn *txn, void *ctx, struct error *err)
{
    struct part_put *put = ctx;
    struct hash path = hash_text("big.zip"), content = fixture_content(7);
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = "big.zip",
                                   .container = content,
                                   .format = FORMAT_ARCHIVE,
                                   .bytes = put->part.bytes,
                                   .mtime_ns = put->part.mtime_ns,
                                   .run = 1};
    struct container_record record = put->part.archive;
    record.container.flags |= FLAG_BIT(FLAG_PARTIAL);
    return store_put_part(txn, &path, &put->part, err) &&
           (!put->owner || (store_put_container(txn, &content, &record, NULL, 0, err) &&
                            store_put_source(txn, &source, err)));
}

/* Three shards of one archive; the second has a fault at member 4, the third one at member 2. */
static void fill_parts(void)
{
    static struct census_row rows[3][2] = {{{"00", ".a", 1, 10}, {"01", "", 2, 20}},
                                           {{"00", ".a", 4, 40}, {"02", "", 1, 5}},
                                           {{"01", "", 1, 1}, {"03", "", 1, 1}}};
    for (uint32_t i = 0; i < 3; i++) {
        struct part_put put = {.part = {.shard = i,
                                        .expected = 3,
                                        .rule = 77,
                                        .bytes = 1000,
                                        .mtime_ns = 5,
                                        .first_failed = PART_NO_FAILURE,
                                        .readable = 3},
                               .owner = i == 1};
        struct container_record *archive = &put.part.archive;
        *archive = (struct container_record){.bytes = 1000,
                                             .decoder_version = 1,
                                             .member_count = 20,
                                             .census_count = 2,
                                             .census = rows[i],
                                             .images = i == 1 ? "a.tga/c.tga/" : "b.tga/c.tga/"};
        archive->container.format = FORMAT_ARCHIVE;
        if (i) {
            put.part.first_failed = i == 1 ? 4 : 2;
            archive->container.status = CONTAINER_DAMAGED;
            archive->container.reason = CONTAINER_BAD_CRC;
            error_set(&archive->container.error, ERROR_MALFORMED, ERROR_NO_OFFSET, "member %u",
                      i == 1 ? 4 : 2);
        }
        change(i, put_part, &put);
    }
}

static struct container_record archive_of(size_t number, struct arena *arena)
{
    struct store *store = open_number(number, STORE_READ);
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    struct container_record record;
    struct hash content = fixture_content(7);
    bool found;
    assert_true(store_get_container(txn, &content, arena, &record, &found, &err) && found);
    store_end_read(txn);
    store_close(store);
    return record;
}

static void test_parts(void **state)
{
    (void)state;
    struct arena arena = {0};
    fill_parts();
    for (const char *const *order = (const char *const[]){"012", "201", "112020", NULL}; *order; order++) {
        merge(4, *order);
        struct container_record record = archive_of(4, &arena);
        assert_int_equal(record.container.flags, 0);
        assert_int_equal(record.container.status, CONTAINER_DAMAGED);
        assert_string_equal(record.container.error.msg, "member 2"); /* the earliest */
        assert_int_equal(record.member_count, 20);
        assert_int_equal(record.census_count, 4);
        assert_string_equal(record.census[0].magic, "00");
        assert_int_equal(record.census[0].count, 5);
        assert_int_equal(record.census[1].bytes, 21);
        assert_string_equal(record.images, "a.tga/b.tga/c.tga/");
        struct store *store = open_number(4, STORE_READ);
        MDB_stat stat;
        struct error err = {0};
        struct store_txn *txn = store_begin_read(store, &err);
        assert_int_equal(mdb_stat(txn->txn, store->dbi[DB_PARTS], &stat), 0);
        assert_int_equal(stat.ms_entries, 0); /* they are joined */
        store_end_read(txn);
        store_close(store);
    }
    merge(4, "02"); /* without the shard that has the archive itself */
    merge(5, "41");
    merge(6, "120");
    equal_digests(5, 6);
    arena_free(&arena);
}

static unsigned told;
static void tell(const char *path, unsigned missing, void *ctx)
{
    (void)ctx;
    assert_string_equal(path, "big.zip");
    told += missing;
}

static void test_missing_part(void **state)
{
    (void)state;
    struct merge_options options = {.incomplete = tell};
    struct merge_result result;
    struct error err = {0};
    struct arena arena = {0};
    fill_parts();
    told = 0;
    assert_true(try_merge(4, "10", &options, &result, &err));
    assert_int_equal(result.incomplete, 1);
    assert_int_equal(told, 1);
    struct container_record record = archive_of(4, &arena);
    assert_int_equal(record.container.flags, FLAG_BIT(FLAG_PARTIAL));
    merge(5, "42"); /* the rest comes later */
    record = archive_of(5, &arena);
    assert_int_equal(record.container.flags, 0);
    assert_int_equal(record.census_count, 4);
    arena_free(&arena);
}

/* ---- places ---- */

static void test_place_of_no_store(void **state)
{
    (void)state;
    struct place place;
    struct error err = {0};
    char file[200];
    put_run_items(0, shard_items[0], 2);
    assert_int_equal(mkdir(path_of(1), 0777), 0);
    snprintf(file, sizeof file, "%s/precious.txt", path_of(1));
    fclose(fopen(file, "w"));
    assert_false(place_begin(&place, path_of(1), &err));
    place_abandon(&place);
    assert_int_equal(access(file, F_OK), 0);
    assert_non_null(strstr(err.msg, "without a store in it"));
}

static void test_replaced_while_read(void **state)
{
    (void)state;
    struct error err = {0};
    put_run_items(0, shard_items[0], 2);
    put_run_items(1, shard_items[3], 2);
    /* Another process reads what will be replaced. */
    int ready[2], go[2];
    char byte = 0;
    assert_int_equal(pipe(ready) + pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *store = store_open(path_of(0), STORE_READ, false, &err);
        struct store_txn *txn = store ? store_begin_read(store, &err) : NULL;
        bool ok = txn && write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1;
        _exit(ok && fixture_live(txn) == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    merge(0, "1");
    equal_digests(0, 1);
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_sealed(void **state)
{
    (void)state;
    struct error err = {0};
    char path[160], lock[200];
    struct place place;
    struct merge_result result;
    struct merge_options options = {.prefer_newer = false};
    struct stat status;
    put_run_items(0, shard_items[0], 2);
    snprintf(path, sizeof path, "%s/sealed.mdb", fixture_directory);
    struct store *input = open_number(0, STORE_READ);
    assert_true(place_begin(&place, path, &err) &&
                store_merge(place.store, &input, 1, &options, &result, &err) &&
                place_commit(&place, true, &err));
    place_abandon(&place);
    store_close(input);
    struct store *store = store_open(path, STORE_READ, false, &err);
    assert_non_null(store);
    assert_true(store_is_sealed(store));
    assert_int_equal(fixture_problems(store, true), 0);
    store_close(store);
    snprintf(lock, sizeof lock, "%s-lock", path);
    assert_int_equal(stat(lock, &status), -1); /* reading it writes nothing */
    assert_null(store_open(path, STORE_WRITE, false, &err));
    assert_non_null(strstr(err.msg, "sealed"));
}

/* Onto a file system that other machines share: made elsewhere, carried over, and over an earlier one. */
static void test_elsewhere(void **state)
{
    (void)state;
    struct error err = {0};
    char path[160], directory[160];
    struct merge_result result;
    struct merge_options options = {.prefer_newer = false};
    snprintf(path, sizeof path, "%s/shared.mdb", fixture_directory);
    snprintf(directory, sizeof directory, "%s/own", fixture_directory);
    assert_int_equal(mkdir(directory, 0777), 0);
    for (size_t i = 0; i < 2; i++) {
        struct place place;
        put_run_items(i, shard_items[i], 2);
        struct store *input = open_number(i, STORE_READ);
        assert_true(place_begin_elsewhere(&place, path, directory, &err) &&
                    store_merge(place.store, &input, 1, &options, &result, &err) &&
                    place_commit(&place, false, &err));
        place_abandon(&place);
        struct hash expected = fixture_digest(input);
        store_close(input);
        struct store *store = store_open(path, STORE_READ, false, &err);
        assert_non_null(store);
        assert_true(store_is_sealed(store));
        struct hash digest = fixture_digest(store);
        store_close(store);
        assert_memory_equal(digest.bytes, expected.bytes, HASH_SIZE);
    }
    assert_int_equal(rmdir(directory), 0); /* nothing is left there */
    struct place place;
    assert_false(place_begin_elsewhere(&place, path_of(5), fixture_directory, &err));
    assert_non_null(strstr(err.msg, ".mdb"));
    place_abandon(&place);
}

/* A flipped bit in a record: the merge stops and names the store. */
static bool damage_source(struct store_txn *txn, void *ctx, struct error *err)
{
    struct hash key = hash_text("e/z.xpr");
    MDB_val k = {HASH_SIZE, key.bytes}, v;
    uint8_t copy[512];
    (void)ctx, (void)err;
    assert_int_equal(mdb_get(txn->txn, txn->store->dbi[DB_SOURCES], &k, &v), 0);
    memcpy(copy, v.mv_data, v.mv_size);
    copy[v.mv_size / 2] ^= 1;
    v.mv_data = copy;
    assert_int_equal(mdb_put(txn->txn, txn->store->dbi[DB_SOURCES], &k, &v, 0), 0);
    return true;
}

static void test_damaged_input(void **state)
{
    (void)state;
    put_run_items(0, shard_items[0], 2);
    put_run_items(1, shard_items[3], 2);
    change(1, damage_source, NULL);
    refused("01", "s1", "checksum");
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_order_and_grouping),
        STORE_TEST(test_files_are_equal),
        STORE_TEST(test_versions),
        STORE_TEST(test_changed_file),
        STORE_TEST(test_runs),
        STORE_TEST(test_job_runs),
        STORE_TEST(test_missing_seed),
        STORE_TEST(test_gone_members),
        STORE_TEST(test_captures),
        STORE_TEST(test_parts),
        STORE_TEST(test_missing_part),
        STORE_TEST(test_place_of_no_store),
        STORE_TEST(test_replaced_while_read),
        STORE_TEST(test_sealed),
        STORE_TEST(test_elsewhere),
        STORE_TEST(test_damaged_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
