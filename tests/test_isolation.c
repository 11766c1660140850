/* test_isolation.c - workers that die, stand still, or try what they may not. Whatever happens to one item is
 * that item's outcome alone: the others are decoded, the run ends well, and the store is what it would be
 * without it. */
#include <dirent.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/corpus/corpus.h"
#include "bench/memory.h"
#include "pipeline/ingest.h"
#include "pipeline/sandbox.h"
#include "pipeline/worker.h"
#include "tests/support/extracting.h"
#include "tests/support/store_fixture.h"

/* ---- runs ---------------------------------------------------------------------------------------------- */

#define EVENTS_MOST 512
struct told {
    char path[128], message[200];
    enum container_reason reason;
    enum container_status status;
};
struct listener {
    size_t count;
    struct told told[EVENTS_MOST];
};

static void on_event(const struct ingest_event *event, void *ctx)
{
    struct listener *listener = ctx;
    assert_true(listener->count < EVENTS_MOST);
    struct told *told = &listener->told[listener->count++];
    snprintf(told->path, sizeof told->path, "%s", event->path);
    snprintf(told->message, sizeof told->message, "%s", event->message ? event->message : "");
    told->reason = event->reason;
    told->status = event->status;
}

static const struct told *told_of(const struct listener *listener, const char *path)
{
    for (size_t i = 0; i < listener->count; i++)
        if (strcmp(listener->told[i].path, path) == 0)
            return &listener->told[i];
    fail_msg("no event of %s", path);
    return NULL;
}

static size_t count_reason(const struct listener *listener, enum container_reason reason)
{
    size_t count = 0;
    for (size_t i = 0; i < listener->count; i++)
        count += listener->told[i].reason == reason;
    return count;
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

/* One run over a folder with these faults; `change` may alter its options. */
static struct ingest_progress run_with(const char *store_path, const char *input, const char *faults,
                                       void (*change)(struct ingest_options *options),
                                       struct listener *listener)
{
    static struct listener nobody;
    uint64_t id = 0;
    struct ingest_progress done;
    struct error err = {0};
    struct store *store = store_open(store_path, STORE_CREATE, false, &err);
    assert_non_null(store);
    assert_true(store_update(store, put_run, &id, &err));
    if (!listener)
        listener = &nobody;
    listener->count = 0;
    struct ingest_options options = {
        .inputs = &input,
        .input_count = 1,
        .threads = 2,
        .run = id,
        .limits = EXTRACT_LIMITS_DEFAULT,
        .event = on_event,
        .ctx = listener,
    };
    if (change)
        change(&options);
    setenv("ANCHORAGE_FAULT", faults, 1);
    if (!ingest(store, &options, &done, &err))
        fail_msg("%s: %s", faults, err.msg);
    store_close(store);
    return done;
}

static struct ingest_progress run(const char *store_path, const char *input, const char *faults,
                                  struct listener *listener)
{
    return run_with(store_path, input, faults, NULL, listener);
}

/* Standing still shows after half a second. */
static void soon(struct ingest_options *options)
{
    options->stall_seconds = 0.5;
}

static void assert_same(struct hash a, struct hash b)
{
    assert_memory_equal(a.bytes, b.bytes, HASH_SIZE);
}

static void remove_store(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

/* ---- inputs -------------------------------------------------------------------------------------------- */

#define FILES  40
#define MODELS 60

/* FILES models as plain files in a folder of their own. `without`: one that is left out, or -1. */
static void put_files(const char *folder, int without)
{
    assert_int_equal(mkdir(folder, 0777), 0);
    for (int i = 0; i < FILES; i++) {
        struct rng rng = rng_make((uint64_t)i, 7);
        struct corpus_file file = {0};
        char name[64];
        assert_true(corpus_meshbin(&rng, (unsigned)i % corpus_meshbin_kinds(), 40, &file));
        snprintf(name, sizeof name, "%s/f%02d.meshbin", folder, i);
        if (i != without)
            put_file(name, file.bytes.data, file.bytes.size);
        corpus_file_free(&file);
    }
}

static void put_models(const char *path)
{
    struct error err = {0};
    assert_true(corpus_small_meshbins(path, MODELS, 1, &err));
}

/* Under the address that files have in the other folder as well. */
static void enter_folder(const char *folder)
{
    assert_int_equal(chdir(folder), 0);
}

/* ---- decoding ------------------------------------------------------------------------------------------ */

static const struct {
    const char *kind, *word; /* in the message */
} deaths[] = {{"segv", "SIGSEGV"},  {"abort", "SIGABRT"}, {"stack", "SIGSEGV"},
              {"exit", "status 0"}, {"kill", "SIGKILL"},  {"memory", "out of memory"}};

static void a_crash_of_a_decoder_costs_its_item(void **state)
{
    (void)state;
    char faults[64];
    static struct listener listener;
    put_files("without", 7);
    put_files("with", -1);
    enter_folder("without");
    run("../clean", ".", "", NULL);
    struct hash expected = fixture_digest_at("../clean");
    enter_folder("../with");
    for (size_t i = 0; i < COUNT(deaths); i++) {
        snprintf(faults, sizeof faults, "decode:%s:f07", deaths[i].kind);
        struct ingest_progress done = run("../s", ".", faults, &listener);
        const struct told *told = told_of(&listener, "f07.meshbin");
        assert_int_equal(told->reason, CONTAINER_CRASHED);
        assert_int_equal(told->status, CONTAINER_SKIPPED);
        if (!strstr(told->message, deaths[i].word) || !strstr(told->message, "twice"))
            fail_msg("%s: '%s'", deaths[i].kind, told->message);
        assert_int_equal(count_reason(&listener, CONTAINER_CRASHED), 1);
        assert_int_equal(listener.count, FILES);
        assert_int_equal(done.restarts, 2);
        assert_same(fixture_digest_at("../s"), expected);
        remove_store("../s");
    }
}

/* Tried once more, alone, before it is given up: what crashes only once has not crashed. */
static void a_suspect_is_tried_alone(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    run("clean", "in", "", NULL);
    struct ingest_progress done = run("s", "in", "decode:once:f07 decode:once:f19", &listener);
    assert_int_equal(count_reason(&listener, CONTAINER_CRASHED), 0);
    assert_true(done.restarts >= 1);
    assert_same(fixture_digest_at("s"), fixture_digest_at("clean"));
}

static void a_later_run_leaves_it_alone(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    run("s", "in", "decode:segv:f07", &listener);
    struct hash before = fixture_digest_at("s");
    struct ingest_progress done = run("s", "in", "decode:segv:f07", &listener);
    assert_int_equal(done.restarts, 0);
    assert_int_equal(done.known, FILES);
    assert_same(fixture_digest_at("s"), before);
    struct error err = {0};
    struct arena arena = {0};
    struct source_record source;
    struct container_record container;
    bool found;
    struct store *store = store_open("s", STORE_READ, false, &err);
    struct store_txn *txn = store_begin_read(store, &err);
    struct hash path = hash_bytes("in/f07.meshbin", strlen("in/f07.meshbin"));
    assert_true(store_get_source(txn, &path, &arena, &source, &found, &err) && found);
    assert_true(store_get_container(txn, &source.container, &arena, &container, &found, &err) && found);
    assert_int_equal(container.container.reason, CONTAINER_QUARANTINED);
    assert_non_null(strstr(container.container.error.msg, "SIGSEGV"));
    store_end_read(txn);
    store_close(store);
    arena_free(&arena);
    /* The same bytes under another name, and read again: still not tried. */
    assert_int_equal(rename("in/f07.meshbin", "in/other.meshbin"), 0);
    done = run("s", "in", "decode:segv:other", &listener);
    assert_int_equal(done.restarts, 0);
}

static void a_standstill_is_timed_out(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("without", 7);
    put_files("with", -1);
    enter_folder("without");
    run("../clean", ".", "", NULL);
    enter_folder("../with");
    struct ingest_progress done = run_with("../s", ".", "decode:loop:f07", soon, &listener);
    assert_int_equal(told_of(&listener, "f07.meshbin")->reason, CONTAINER_TIMED_OUT);
    assert_non_null(strstr(told_of(&listener, "f07.meshbin")->message, "0.5 seconds"));
    assert_int_equal(count_reason(&listener, CONTAINER_TIMED_OUT), 1);
    assert_int_equal(done.restarts, 1);
    assert_same(fixture_digest_at("../s"), fixture_digest_at("../clean"));
}

static void many_crashes_at_many_threads(void **state)
{
    (void)state;
    static struct listener listener;
    char faults[512] = "";
    for (int i = 0; i < FILES; i += 3)
        sprintf(faults + strlen(faults), "decode:%s:f%02d ", deaths[(size_t)i % COUNT(deaths)].kind, i);
    put_files("in", -1);
    struct ingest_progress done = run("s", "in", faults, &listener);
    assert_int_equal(count_reason(&listener, CONTAINER_CRASHED), (FILES + 2) / 3);
    assert_int_equal(listener.count, FILES);
    assert_int_equal(done.items, FILES);
    fixture_digest_at("s");
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void kill_children_of(const char *thread)
{
    char path[64];
    long child;
    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    FILE *children = fopen(path, "re");
    while (children && fscanf(children, "%ld", &child) == 1)
        kill((pid_t)child, SIGKILL);
    if (children)
        fclose(children);
}

static unsigned moments;

/* Templates as well as workers. */
static void kill_all_once(const struct ingest_progress *progress, void *ctx)
{
    (void)progress, (void)ctx;
    DIR *threads = ++moments == 3 ? opendir("/proc/self/task") : NULL;
    for (struct dirent *thread; threads && (thread = readdir(threads));)
        if (thread->d_name[0] != '.')
            kill_children_of(thread->d_name);
    if (threads)
        closedir(threads);
}

static void with_a_massacre(struct ingest_options *options)
{
    options->progress = kill_all_once;
}

/* Whoever kills every process of a run but the first, as the kernel may when memory is short, costs nothing
 * but time: templates are started again, too, and what was at hand is tried again. */
static void every_process_may_be_killed(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    run("clean", "in", "", NULL);
    moments = 0;
    struct ingest_progress done =
        run_with("s", "in", "decode:slow:f0 decode:slow:f1 extract:slow:f2", with_a_massacre, &listener);
    assert_true(moments >= 3);
    assert_true(done.restarts >= 2);
    assert_int_equal(listener.count, FILES);
    assert_int_equal(count_reason(&listener, CONTAINER_CRASHED), 0);
    assert_same(fixture_digest_at("s"), fixture_digest_at("clean"));
}

/* ---- extraction ---------------------------------------------------------------------------------------- */

static void a_crash_of_the_extraction_costs_a_member(void **state)
{
    (void)state;
    static struct listener listener;
    char faults[64];
    put_models("models.tar");
    for (size_t i = 0; i < COUNT(deaths); i++) {
        snprintf(faults, sizeof faults, "extract:%s:m00000042", deaths[i].kind);
        struct ingest_progress done = run("s", "models.tar", faults, &listener);
        const struct told *member = told_of(&listener, "models.tar!models/0000/m00000042.meshbin");
        assert_int_equal(member->reason, CONTAINER_CRASHED);
        if (!strstr(member->message, deaths[i].word))
            fail_msg("%s: '%s'", deaths[i].kind, member->message);
        assert_int_equal(told_of(&listener, "models.tar")->reason, CONTAINER_CRASHED);
        assert_int_equal(told_of(&listener, "models.tar")->status, CONTAINER_DAMAGED);
        assert_int_equal(listener.count, MODELS + 1); /* none missing, none twice */
        assert_int_equal(count_reason(&listener, CONTAINER_REASON_NONE), MODELS - 1);
        assert_int_equal(done.restarts, 2); /* it is tried once more */
        fixture_digest_at("s");
        done = run("s", "models.tar", faults, &listener);
        assert_int_equal(done.restarts, 0); /* the file is unchanged, and is not opened again */
        remove_store("s");
    }
}

static void a_standstill_of_the_extraction_costs_a_member(void **state)
{
    (void)state;
    static struct listener listener;
    put_models("models.tar");
    run_with("s", "models.tar", "extract:loop:m00000042", soon, &listener);
    assert_int_equal(told_of(&listener, "models.tar!models/0000/m00000042.meshbin")->reason,
                     CONTAINER_TIMED_OUT);
    assert_int_equal(count_reason(&listener, CONTAINER_REASON_NONE), MODELS - 1);
}

/* The file itself, before anything is known of it. */
static void a_crash_at_opening_costs_the_file(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    put_models("in/models.tar");
    struct ingest_progress done = run("s", "in", "extract:segv:f11 extract:abort:models.tar", &listener);
    assert_int_equal(told_of(&listener, "in/f11.meshbin")->reason, CONTAINER_CRASHED);
    assert_int_equal(told_of(&listener, "in/models.tar")->reason, CONTAINER_CRASHED);
    assert_int_equal(listener.count, FILES + 1);
    assert_int_equal(done.restarts, 4);
    fixture_digest_at("s");
}

/* What killed it was not there the second time: nothing is lost, and nothing is remembered against the file.
 */
static void a_passing_fault_of_the_extraction_costs_nothing(void **state)
{
    (void)state;
    static struct listener listener;
    put_models("models.tar");
    struct ingest_progress done = run("s", "models.tar", "extract:once:m00000042", &listener);
    assert_int_equal(done.restarts, 1);
    assert_int_equal(listener.count, MODELS + 1);
    assert_int_equal(count_reason(&listener, CONTAINER_REASON_NONE), MODELS + 1);
}

/* An archive with more of them than are worth another reading: its rest is left, its neighbours are not. */
static void too_many_crashes_end_the_archive(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    put_models("in/a.tar");
    struct ingest_progress done = run("s", "in", "extract:segv:m0000", &listener);
    assert_true(done.restarts <= SHARED_REFUSALS + 1);
    assert_int_equal(told_of(&listener, "in/a.tar")->reason, CONTAINER_CRASHED);
    for (int i = 0; i < FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "in/f%02d.meshbin", i);
        assert_true(told_of(&listener, name)->reason != CONTAINER_CRASHED);
    }
    fixture_digest_at("s");
}

static void both_sides_crash_in_small_batches_change(struct ingest_options *options)
{
    options->batch_bytes = 5000;
    options->threads = 3;
}

static void both_sides_crash_in_small_batches(void **state)
{
    (void)state;
    static struct listener one, other;
    static const char faults[] =
        "decode:segv:m00000011 extract:segv:m00000023 decode:exit:m00000030 decode:kill:f05 "
        "extract:abort:f09 extract:exit:m00000050";
    put_files("in", -1);
    put_models("in/models.tar");
    run("one", "in", faults, &one);
    run_with("other", "in", faults, both_sides_crash_in_small_batches_change, &other);
    assert_int_equal(one.count, FILES + MODELS + 1);
    assert_int_equal(other.count, one.count);
    for (size_t i = 0; i < one.count; i++) {
        assert_string_equal(one.told[i].path, other.told[i].path);
        assert_int_equal(one.told[i].reason, other.told[i].reason);
    }
    assert_int_equal(count_reason(&one, CONTAINER_CRASHED), 7); /* and the archive with two such members */
    assert_same(fixture_digest_at("one"), fixture_digest_at("other"));
}

/* ---- what a worker may do ------------------------------------------------------------------------------ */

static void open_to_all(struct ingest_options *options)
{
    options->no_sandbox = true;
}

static void the_sandbox_holds(void **state)
{
    (void)state;
    static struct listener listener;
    static const char attempts[] =
        "decode:open:f0 decode:write:f1 decode:socket:f2 decode:exec:f3 extract:open:f0 "
        "extract:write:f1 extract:socket:f2 extract:exec:f3 decode:fork:f0 decode:signal:f1 "
        "decode:outlive:f2 extract:fork:f0 extract:signal:f1 extract:outlive:f2";
    put_files("in", -1);
    struct ingest_progress done = run("s", "in", attempts, &listener);
    if (done.decode_sandbox != (SANDBOX_SECCOMP | SANDBOX_LANDLOCK))
        skip(); /* a kernel without one of them */
    assert_int_equal(done.extract_sandbox, SANDBOX_SECCOMP | SANDBOX_LANDLOCK);
    assert_int_equal(done.restarts, 0); /* one that succeeds ends its process */
    assert_int_equal(count_reason(&listener, CONTAINER_CRASHED), 0);
    /* That the attempts are real: without the sandbox they succeed. */
    done = run_with("open", "in",
                    "decode:open:f07 decode:fork:f11 decode:signal:f13 decode:outlive:f15 decode:socket:f21 "
                    "extract:exec:f30",
                    open_to_all, &listener);
    static const char *const escaped[] = {"in/f07.meshbin", "in/f11.meshbin", "in/f13.meshbin",
                                          "in/f15.meshbin", "in/f21.meshbin", "in/f30.meshbin"};
    assert_int_equal(done.decode_sandbox, 0);
    for (size_t i = 0; i < COUNT(escaped); i++)
        assert_int_equal(told_of(&listener, escaped[i])->reason, CONTAINER_CRASHED);
}

/* Names in character sets that iconv needs modules for are the same with the sandbox and without. */
static void names_do_not_depend_on_the_sandbox(void **state)
{
    (void)state;
    static struct listener closed, open;
    const struct pack_member members[] = {
        {.name = "caf\xc3\xa9/\xe6\xbc\xa2.bgf", .bytes = BGF, .size = sizeof BGF - 1},
        {.name = "b\xc3\xbc.xpr", .bytes = XPR, .size = sizeof XPR - 1}};
    static const char *const formats[] = {"zip", "7zip", "pax", "iso9660", "cpio", "xar"};
    char name[64];
    assert_int_equal(mkdir("in", 0777), 0);
    for (size_t i = 0; i < COUNT(formats); i++) {
        snprintf(name, sizeof name, "in/a.%s", formats[i]);
        put_archive(name, formats[i], NULL, members, COUNT(members));
    }
    run("closed", "in", "", &closed);
    run_with("open", "in", "", open_to_all, &open);
    assert_true(closed.count >= 3 * COUNT(formats));
    assert_int_equal(closed.count, open.count);
    for (size_t i = 0; i < closed.count; i++)
        assert_string_equal(closed.told[i].path, open.told[i].path);
    assert_same(fixture_digest_at("closed"), fixture_digest_at("open"));
}

/* Time that one input may take. */
static void a_moment(struct ingest_options *options)
{
    options->limits.seconds = 1;
    options->stall_seconds = 60;
}

static void an_input_has_its_time(void **state)
{
    (void)state;
    static struct listener listener;
    put_files("in", -1);
    put_models("in/models.tar");
    run_with("s", "in", "extract:slow:m0000", a_moment, &listener);
    const struct told *told = told_of(&listener, "in/models.tar");
    assert_int_equal(told->reason, CONTAINER_TIMED_OUT);
    assert_non_null(strstr(told->message, "--max-seconds"));
    assert_true(listener.count < FILES + MODELS);
    assert_int_equal(count_reason(&listener, CONTAINER_TIMED_OUT), 1);
    fixture_digest_at("s");
    /* With more time the file is read again. */
    struct ingest_progress done = run("s", "in", "", &listener);
    assert_int_equal(told_of(&listener, "in/models.tar")->reason, CONTAINER_REASON_NONE);
    assert_true(done.containers > MODELS);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static uint64_t most_bytes;

static void watch_memory(const struct ingest_progress *progress, void *ctx)
{
    (void)progress, (void)ctx;
    uint64_t now = memory_of_processes(getpid());
    most_bytes = now > most_bytes ? now : most_bytes;
}

#define BOUND ((uint64_t)128 << 20)

static void within_bound(struct ingest_options *options)
{
    options->memory = BOUND;
    options->progress = watch_memory;
    options->event = NULL;
}

/* More than would fit: 40 MB of small items, 60 MB of large ones. */
static void memory_stays_under_its_bound(void **state)
{
    (void)state;
    struct error err = {0};
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its own memory would count */
#endif
    assert_int_equal(mkdir("in", 0777), 0);
    assert_true(corpus_small_meshbins("in/small.tar", 20000, 1, &err));
    assert_true(corpus_uncompressed("in/large.tar", 60 << 20, 1, &err));
    most_bytes = 0;
    uint64_t before = memory_of_processes(getpid());
    run_with("bounded", "in", "", within_bound, NULL);
    assert_true(most_bytes > before);
    if (most_bytes >= BOUND)
        fail_msg("%llu bytes, of which %llu were there before", (unsigned long long)most_bytes,
                 (unsigned long long)before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_crash_of_a_decoder_costs_its_item, enter, leave),
        cmocka_unit_test_setup_teardown(a_suspect_is_tried_alone, enter, leave),
        cmocka_unit_test_setup_teardown(a_later_run_leaves_it_alone, enter, leave),
        cmocka_unit_test_setup_teardown(a_standstill_is_timed_out, enter, leave),
        cmocka_unit_test_setup_teardown(many_crashes_at_many_threads, enter, leave),
        cmocka_unit_test_setup_teardown(every_process_may_be_killed, enter, leave),
        cmocka_unit_test_setup_teardown(a_crash_of_the_extraction_costs_a_member, enter, leave),
        cmocka_unit_test_setup_teardown(a_passing_fault_of_the_extraction_costs_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(a_standstill_of_the_extraction_costs_a_member, enter, leave),
        cmocka_unit_test_setup_teardown(a_crash_at_opening_costs_the_file, enter, leave),
        cmocka_unit_test_setup_teardown(too_many_crashes_end_the_archive, enter, leave),
        cmocka_unit_test_setup_teardown(both_sides_crash_in_small_batches, enter, leave),
        cmocka_unit_test_setup_teardown(the_sandbox_holds, enter, leave),
        cmocka_unit_test_setup_teardown(names_do_not_depend_on_the_sandbox, enter, leave),
        cmocka_unit_test_setup_teardown(an_input_has_its_time, enter, leave),
        cmocka_unit_test_setup_teardown(memory_stays_under_its_bound, enter, leave),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    if (worker_is_wanted(argc, argv))
        return worker_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
