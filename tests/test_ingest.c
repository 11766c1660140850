/* test_ingest.c - whole runs into a store. What a store holds afterwards may depend on the inputs alone: not
 * on the threads, the size of batches, interruptions, or what an earlier run left. Digests are compared. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/corpus/corpus.h"
#include "pipeline/ingest.h"
#include "pipeline/worker.h"
#include "tests/support/extracting.h"
#include "tests/support/store_fixture.h"

/* ---- runs ---------------------------------------------------------------------------------------------- */

#define EVENTS_MOST 1024
struct listener {
    size_t count;
    char *paths[EVENTS_MOST]; /* in the order they were told */
    bool known[EVENTS_MOST];
    enum container_status status[EVENTS_MOST];
    enum container_reason reason[EVENTS_MOST];
    size_t cancel_after; /* events; 0: never */
    volatile sig_atomic_t cancel;
};

static void on_event(const struct ingest_event *event, void *ctx)
{
    struct listener *listener = ctx;
    assert_true(listener->count < EVENTS_MOST);
    listener->paths[listener->count] = strdup(event->path);
    listener->known[listener->count] = event->known;
    listener->status[listener->count] = event->status;
    listener->reason[listener->count] = event->reason;
    listener->count++;
    if (listener->cancel_after && listener->count >= listener->cancel_after)
        listener->cancel = 1;
}

static void listener_free(struct listener *listener)
{
    for (size_t i = 0; i < listener->count; i++)
        free(listener->paths[i]);
    *listener = (struct listener){0};
}

static size_t event_of(const struct listener *listener, const char *path)
{
    for (size_t i = 0; i < listener->count; i++)
        if (strcmp(listener->paths[i], path) == 0)
            return i;
    fail_msg("no event of %s", path);
    return 0;
}

static bool put_run(struct store_txn *txn, void *ctx, struct error *err)
{
    uint64_t *id = ctx;
    struct run_record run = {.version = "test", .arguments = ""};
    if (!store_next_run(txn, &run.id, err))
        return false;
    *id = run.id;
    return store_put_run(txn, &run, err);
}

/* One run over a folder or file; false with *err as ingest has it. `listener` may be NULL. */
static bool try_run(const char *store_path, const char *input, int threads, size_t batch,
                    struct listener *listener, struct ingest_progress *done, struct error *err)
{
    uint64_t id = 0;
    struct error ignored = {0};
    struct store *store = store_open(store_path, STORE_CREATE, false, &ignored);
    assert_non_null(store);
    assert_true(store_update(store, put_run, &id, &ignored));
    const struct ingest_options options = {
        .inputs = &input,
        .input_count = 1,
        .threads = threads,
        .run = id,
        .batch_bytes = batch,
        .limits = EXTRACT_LIMITS_DEFAULT,
        .cancel = listener ? &listener->cancel : NULL,
        .event = listener ? on_event : NULL,
        .ctx = listener,
    };
    bool ok = ingest(store, &options, done, err);
    store_close(store);
    return ok;
}

static struct ingest_progress run(const char *store_path, const char *input, int threads, size_t batch,
                                  struct listener *listener)
{
    struct ingest_progress done;
    struct error err = {0};
    if (!try_run(store_path, input, threads, batch, listener, &done, &err))
        fail_msg("%s", err.msg);
    return done;
}

static void assert_same(struct hash a, struct hash b)
{
    assert_memory_equal(a.bytes, b.bytes, HASH_SIZE);
}

static void assert_differ(struct hash a, struct hash b)
{
    assert_memory_not_equal(a.bytes, b.bytes, HASH_SIZE);
}

static void remove_store(const char *path)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};
    char name[128];
    for (size_t i = 0; i < COUNT(files); i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i]);
        unlink(name);
    }
    rmdir(path);
}

/* ---- inputs -------------------------------------------------------------------------------------------- */

#define MODELS 90

static struct buffer read_file(const char *path)
{
    struct buffer bytes = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        buffer_append(&bytes, block, n);
    fclose(file);
    return bytes;
}

static void put_models(const char *path, unsigned count, uint64_t seed)
{
    struct error err = {0};
    assert_true(corpus_small_meshbins(path, count, seed, &err));
}

/* A folder of what a run meets: an archive of models, the same archive again under another name, one inside a
 * zip, one that is cut off in the middle of a member, models as plain files (one of them twice), and files
 * that are nothing. */
static void put_inputs(void)
{
    assert_int_equal(mkdir("in", 0777), 0);
    put_models("in/models.tar", MODELS, 1);
    struct buffer tar = read_file("in/models.tar");
    put_file("in/models-again.tar", tar.data, tar.size);
    size_t cut = tar.size / 2; /* 20 bytes into the first member behind the middle */
    while (memcmp(tar.data + cut, "MESHBIN", 7) != 0)
        cut++;
    put_file("in/cut.tar", tar.data, cut + 20);
    const struct pack_member members[] = {{.name = "inner.tar", .bytes = tar.data, .size = tar.size},
                                          {.name = "notes.txt", .bytes = "just text", .size = 9},
                                          {.name = "cut.xpr", .bytes = "XPR2", .size = 4}};
    put_archive("in/outer.zip", "zip", NULL, members, COUNT(members));
    struct rng rng = rng_make(7, 7);
    for (unsigned kind = 0; kind < corpus_meshbin_kinds(); kind++) {
        struct corpus_file file = {0};
        char name[64];
        assert_true(corpus_meshbin(&rng, kind, 40, &file));
        snprintf(name, sizeof name, "in/kind%02u.meshbin", kind);
        put_file(name, file.bytes.data, file.bytes.size);
        if (kind == 0)
            put_file("in/twin.meshbin", file.bytes.data, file.bytes.size);
        corpus_file_free(&file);
    }
    put_text("in/readme.txt", "not a container");
    put_file("in/empty", "", 0);
    buffer_free(&tar);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void batches_and_threads_do_not_matter(void **state)
{
    (void)state;
    static const size_t batches[] = {1, 5000, 0};
    put_inputs();
    struct ingest_progress first = run("first", "in", 1, 0, NULL);
    struct hash expected = fixture_digest_at("first");
    assert_true(first.resources > 3 * MODELS);
    assert_int_equal(first.failed, 1);  /* the member that is cut off */
    assert_int_equal(first.unknown, 3); /* notes.txt, readme.txt, empty */
    for (size_t b = 0; b < COUNT(batches); b++)
        for (int threads = 1; threads <= 4; threads++) {
            struct ingest_progress done = run("other", "in", threads, batches[b], NULL);
            assert_same(fixture_digest_at("other"), expected);
            assert_int_equal(done.items, first.items);
            assert_int_equal(done.containers, first.containers);
            assert_int_equal(done.bytes_content, first.bytes_content);
            assert_int_equal(done.unknown, first.unknown);
            assert_int_equal(done.failed, first.failed);
            remove_store("other");
        }
}

static void events_are_in_input_order(void **state)
{
    (void)state;
    struct listener one = {0}, four = {0};
    put_inputs();
    run("one", "in", 1, 0, &one);
    run("four", "in", 4, 5000, &four);
    assert_int_equal(one.count, four.count);
    for (size_t i = 0; i < one.count; i++) {
        assert_string_equal(one.paths[i], four.paths[i]);
        assert_int_equal(one.status[i], four.status[i]);
    }
    assert_true(event_of(&one, "in/outer.zip!inner.tar") < event_of(&one, "in/outer.zip"));
    listener_free(&one);
    listener_free(&four);
}

/* Contents that earlier batches have committed are not decoded again. In one batch they are, and stored once.
 */
static void contents_are_known_within_a_run(void **state)
{
    (void)state;
    struct listener listener = {0};
    put_inputs();
    run("store", "in", 2, 5000, &listener);
    assert_true(listener.known[event_of(&listener, "in/models.tar!models/0000/m00000089.meshbin")]);
    assert_false(listener.known[event_of(&listener, "in/models-again.tar!models/0000/m00000089.meshbin")]);
    listener_free(&listener);
}

static void a_cancelled_run_is_continued(void **state)
{
    (void)state;
    put_inputs();
    run("whole", "in", 2, 5000, NULL);
    struct hash expected = fixture_digest_at("whole");
    for (size_t after = 1; after < 400; after = after * 2 + 3) {
        struct listener listener = {.cancel_after = after};
        struct ingest_progress cut = run("store", "in", 3, 5000, &listener);
        listener_free(&listener);
        fixture_digest_at("store"); /* sound at any moment */
        struct ingest_progress rest = run("store", "in", 2, 5000, NULL);
        assert_same(fixture_digest_at("store"), expected);
        assert_true(cut.items >= after && rest.known > 0);
        remove_store("store");
    }
}

static void a_run_that_is_cancelled_at_once_stores_nothing(void **state)
{
    (void)state;
    struct listener listener = {.cancel = 1};
    put_inputs();
    assert_int_equal(run("store", "in", 2, 0, &listener).items, 0);
    assert_int_equal(listener.count, 0);
}

static void unchanged_files_are_not_read_again(void **state)
{
    (void)state;
    struct listener listener = {0};
    put_inputs();
    run("store", "in", 2, 0, NULL);
    struct hash before = fixture_digest_at("store");
    struct ingest_progress again = run("store", "in", 2, 0, &listener);
    assert_same(fixture_digest_at("store"), before);
    assert_int_equal(again.known, again.items);
    assert_int_equal(again.bytes_content, 0);
    for (size_t i = 0; i < listener.count; i++)
        assert_true(listener.known[i]);
    listener_free(&listener);
}

/* A changed archive: what it held before goes, what it holds in common stays, and the store is as a new one.
 */
static void a_changed_archive_replaces_its_members(void **state)
{
    (void)state;
    put_inputs();
    run("store", "in", 2, 0, NULL);
    struct hash before = fixture_digest_at("store");
    put_models("in/models.tar", MODELS / 2, 2);
    struct ingest_progress done = run("store", "in", 2, 700, NULL);
    struct hash after = fixture_digest_at("store");
    assert_differ(after, before);
    assert_true(done.resources >= MODELS / 2);
    run("fresh", "in", 2, 0, NULL);
    assert_same(fixture_digest_at("fresh"), after);
    put_models("in/models.tar", MODELS, 1); /* back again: known contents under new places */
    run("store", "in", 2, 0, NULL);
    assert_same(fixture_digest_at("store"), before);
}

static void damage_is_an_outcome(void **state)
{
    (void)state;
    struct listener listener = {0};
    put_inputs();
    run("store", "in", 2, 0, &listener);
    size_t cut = event_of(&listener, "in/cut.tar"); /* cut off inside a member; those before it are there */
    assert_int_equal(listener.status[cut], CONTAINER_DAMAGED);
    assert_int_equal(listener.reason[cut], CONTAINER_TRUNCATED);
    event_of(&listener, "in/cut.tar!models/0000/m00000001.meshbin");
    size_t xpr = event_of(&listener, "in/outer.zip!cut.xpr"); /* a magic and nothing behind it */
    assert_int_equal(listener.status[xpr], CONTAINER_DAMAGED);
    listener_free(&listener);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_and_threads_do_not_matter, enter, leave),
        cmocka_unit_test_setup_teardown(events_are_in_input_order, enter, leave),
        cmocka_unit_test_setup_teardown(contents_are_known_within_a_run, enter, leave),
        cmocka_unit_test_setup_teardown(a_cancelled_run_is_continued, enter, leave),
        cmocka_unit_test_setup_teardown(a_run_that_is_cancelled_at_once_stores_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(unchanged_files_are_not_read_again, enter, leave),
        cmocka_unit_test_setup_teardown(a_changed_archive_replaces_its_members, enter, leave),
        cmocka_unit_test_setup_teardown(damage_is_an_outcome, enter, leave),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    if (worker_is_wanted(argc, argv))
        return worker_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
