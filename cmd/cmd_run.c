/* cmd_run.c - `anchorage run`: the main job. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/job.h"
#include "cmd/limits.h"
#include "cmd/progress.h"
#include "cmd/resolution.h"
#include "pipeline/address.h"
#include "pipeline/captures.h"
#include "pipeline/clock.h"
#include "pipeline/ingest.h"
#include "pipeline/parallel.h"
#include "pipeline/plan.h"
#include "pipeline/sandbox.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/view.h"

enum {
    OPT_STORE,
    OPT_THREADS,
    OPT_JSON,
    OPT_FAIL_ON,
    OPT_REHASH,
    OPT_WAIT_LOCK,
    OPT_LOG,
    OPT_QUIET,
    OPT_CAPTURES,
    OPT_SHARD,
    OPT_PLAN,
    OPT_SPLIT,
    OPT_SEED,
    OPT_JOB,
    OPT_REPORT,
    OPT_MEMORY,
    OPT_STALL,
    OPT_SECONDS,
    OPT_NO_SANDBOX,
    OPT_LIMITS
};

static const struct command command = {
    .name = "run",
    .usage = "-s STORE [options] INPUT...",
    .purpose =
        "Extracts every container from the inputs (files, directories, archives), decodes it and stores\n"
        "geometry, provenance and outcomes, then decides everything together (`resolve`). What the store "
        "knows\n"
        "already is not read or decoded again.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store, a directory; made when absent"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads (default: all processors)"},
            [OPT_JSON] = {"json", 0, NULL, "print the summary as one JSON object"},
            [OPT_FAIL_ON] = {"fail-on", 0, "LIST",
                             "exit 1 on declined, ambiguous, inconsistent, unreadable, crashed or "
                             "changed\n(comma-separated; changed: anything, since the run before)"},
            [OPT_REHASH] = {"rehash", 0, NULL, "read files again whose size and time are unchanged"},
            [OPT_WAIT_LOCK] = {"wait-lock", 0, NULL, "wait for another writer of the store"},
            [OPT_LOG] = {"log", 0, "FILE", "append one JSON line per item to FILE"},
            [OPT_QUIET] = {"quiet", 'q', NULL, "no progress on stderr"},
            [OPT_CAPTURES] = {"captures", 0, "FILE",
                              "JSON lines: what a running engine drew; kept until withdrawn"},
            [OPT_SHARD] = {"shard", 0, "K/N",
                           "take the Kth of N shards of the inputs, from 0; `merge` joins them"},
            [OPT_PLAN] = {"plan", 0, "PLAN", "with --shard: shards as `plan` has cut them; no INPUT then"},
            [OPT_SPLIT] = {"split", 0, "BYTES",
                           "with --shard: share archives of at least that size (default: 64 MiB)"},
            [OPT_JOB] = {"job", 0, "DIR", "with --shard: do a shard of what `submit` has put into DIR"},
            [OPT_SEED] = {"seed", 0, "STORE", "with --shard: leave out what that store knows already"},
            [OPT_REPORT] = {"report", 0, "DIR", "write a report of the store into DIR at the end (`report`)"},
            [OPT_MEMORY] =
                {"memory", 0, "SIZE",
                 "memory to stay under until the global passes, of all processes together (128M or more)"},
            [OPT_STALL] = {"stall-timeout", 0, "SECONDS",
                           "give up an item that makes no progress for so long (60)"},
            [OPT_SECONDS] = {"max-seconds", 0, "N",
                             "give up the rest of an input after so long; 0: never (3600)"},
            [OPT_NO_SANDBOX] = {"no-sandbox", 0, NULL, "for debugging: let the workers do what they like"},
            LIMIT_OPTIONS(OPT_LIMITS),
            {0},
        },
};

#define MEMORY_LEAST ((uint64_t)128 << 20)

enum {
    FAIL_DECLINED = 1,
    FAIL_AMBIGUOUS = 2,
    FAIL_INCONSISTENT = 4,
    FAIL_UNREADABLE = 8,
    FAIL_CRASHED = 16,
    FAIL_CHANGED = 32
};

struct run {
    const char *store_path;
    int threads;
    bool json, rehash, wait_lock, quiet, split;
    struct limit_settings limits;
    struct spool *spool;
    unsigned fail_on;
    struct hash before; /* with FAIL_CHANGED: the store's digest when the run began */
    bool changed;
    uint64_t memory, stall_seconds;
    bool no_sandbox;
    struct run_condition conditions[3 + LIMIT_CONDITIONS];
    struct limit_texts limit_texts;
    char memory_text[16], restarts_text[28];
    const char *log_path, *captures_path, *report_path, *plan_path, *seed_path, *job_directory;
    struct shard shard; /* count 0: all of it */
    struct plan *plan;
    struct plan_files files;
    struct store *seed;
    uint64_t seed_run; /* its last run */
    FILE *log;
    int log_failed; /* errno of the first line that it did not take */
    struct capture_list captures;
    struct resolve_result resolved;
    struct store *store;
    struct run_record record;
    struct run_stage stages[8]; /* of record */
    struct progress_line line;
    struct ingest_progress done;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    if (interrupted) { /* the second one does not wait for the batches in flight; the store survives it */
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupted = number;
}

static bool parse_fail_on(const char *list, unsigned *mask)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {{"declined", FAIL_DECLINED},         {"ambiguous", FAIL_AMBIGUOUS},
                 {"inconsistent", FAIL_INCONSISTENT}, {"unreadable", FAIL_UNREADABLE},
                 {"crashed", FAIL_CRASHED},           {"changed", FAIL_CHANGED}};
    const size_t count = sizeof words / sizeof *words;
    while (*list) {
        size_t length = strcspn(list, ","), i;
        for (i = 0; i < count; i++)
            if (strlen(words[i].word) == length && strncmp(words[i].word, list, length) == 0)
                break;
        if (i == count)
            return false;
        *mask |= words[i].bit;
        list += length + (list[length] == ',');
    }
    return *mask != 0;
}

static int check_shard_options(int argc, const struct run *run)
{
    bool sharded = run->shard.count != 0;
    if (run->job_directory &&
        (!sharded || run->store_path || run->plan_path || run->seed_path || optind < argc))
        return usage_error(&command, "--job goes with --shard and -j alone: the job has all else");
    if (run->job_directory)
        return EXIT_DONE;
    if (!run->store_path)
        return usage_error(&command, "-s STORE is missing");
    if (!sharded && (run->plan_path || run->seed_path || run->split))
        return usage_error(&command, "--plan, --split and --seed go with --shard");
    if (sharded && run->captures_path)
        return usage_error(&command, "captures are about all shards: give them to `merge`");
    if (run->plan_path && (optind < argc || run->split))
        return usage_error(&command, "the plan has the inputs, and how they are cut: no INPUT, no --split");
    if (!run->plan_path && optind == argc)
        return usage_error(&command, "there is no INPUT");
    return EXIT_DONE;
}

static int parse_options(int argc, char **argv, struct run *run)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            run->store_path = argument;
            break;
        case OPT_THREADS:
            if (!parse_threads(&command, argument, &run->threads))
                return EXIT_USAGE;
            break;
        case OPT_JSON:
            run->json = true;
            break;
        case OPT_FAIL_ON:
            if (!parse_fail_on(argument, &run->fail_on))
                return usage_error(&command,
                                   "--fail-on takes declined, ambiguous, inconsistent, unreadable, crashed, "
                                   "changed; not '%s'",
                                   argument);
            break;
        case OPT_REHASH:
            run->rehash = true;
            break;
        case OPT_WAIT_LOCK:
            run->wait_lock = true;
            break;
        case OPT_LOG:
            run->log_path = argument;
            break;
        case OPT_QUIET:
            run->quiet = true;
            break;
        case OPT_CAPTURES:
            run->captures_path = argument;
            break;
        case OPT_SHARD:
            if (!shard_parse(argument, &run->shard))
                return usage_error(&command, "--shard takes K/N with K below N, not '%s'", argument);
            break;
        case OPT_PLAN:
            run->plan_path = argument;
            break;
        case OPT_SPLIT:
            if (!parse_number(argument, 0, INT64_MAX, &run->shard.split_bytes))
                return usage_error(&command, "--split takes a number of bytes, not '%s'", argument);
            run->split = true;
            break;
        case OPT_JOB:
            run->job_directory = argument;
            break;
        case OPT_SEED:
            run->seed_path = argument;
            break;
        case OPT_MEMORY:
            if (!parse_size(argument, &run->memory) || run->memory < MEMORY_LEAST)
                return usage_error(&command, "--memory takes a size of at least 128M, not '%s'", argument);
            break;
        case OPT_STALL:
            if (!parse_number(argument, 1, 1000000, &run->stall_seconds))
                return usage_error(&command, "--stall-timeout takes seconds from 1 to 1000000, not '%s'",
                                   argument);
            break;
        case OPT_SECONDS:
            if (!parse_number(argument, 0, 1000000000, &run->limits.limits.seconds))
                return usage_error(&command, "--max-seconds takes a whole number, not '%s'", argument);
            break;
        case OPT_NO_SANDBOX:
            run->no_sandbox = true;
            break;
        case OPT_REPORT:
            run->report_path = argument;
            break;
        case OPTIONS_HELP:
            return -1;
        default:
            if (option < OPT_LIMITS || !limit_option(&command, &run->limits, option - OPT_LIMITS, argument))
                return EXIT_USAGE;
        }
    }
    return check_shard_options(argc, run);
}

/* ---- the log
 * ----------------------------------------------------------------------------------------------- */

static const char *kind_word(const struct ingest_event *event)
{
    switch (event->kind) {
    case EXTRACT_BYTES:
        return event->known ? "known" : "container";
    case EXTRACT_ARCHIVE:
        return "archive";
    case EXTRACT_UNKNOWN:
        return "unknown";
    case EXTRACT_FAILED:
        return "failed";
    case EXTRACT_UNCHANGED:
        return "unchanged";
    }
    return "?";
}

static json_t *now_json(void)
{
    char text[24];
    time_text(clock_wall_ns(), text);
    return json_string(text);
}

static void note_log_failed(struct run *run)
{
    if (!run->log_failed)
        run->log_failed = errno ? errno : EIO;
}

static void log_event(const struct ingest_event *event, void *ctx)
{
    struct run *run = ctx;
    char hash[HASH_HEX] = "";
    if (!run->log)
        return;
    if (event->hash)
        hash_format(event->hash, hash);
    const char *reason = container_reason_word(event->reason);
    json_t *line = json_pack(
        "{s:o, s:s, s:I, s:o, s:s, s:o, s:I}", "time", now_json(), "event", kind_word(event), "run",
        (json_int_t)run->record.id, "path", json_of_bytes(event->path), "format", format_word(event->format),
        "container_hash", event->hash ? json_string(hash) : json_null(), "bytes", (json_int_t)event->bytes);
    if (event->kind != EXTRACT_UNCHANGED && event->kind != EXTRACT_UNKNOWN && !event->known) {
        json_object_set_new(line, "status", json_string(container_status_word(event->status)));
        json_object_set_new(line, "reason", reason ? json_string(reason) : json_null());
        json_object_set_new(line, "message", event->message ? json_of_bytes(event->message) : json_null());
    }
    if (event->kind == EXTRACT_BYTES && !event->known) {
        json_object_set_new(line, "resources", json_integer(event->resources));
        json_object_set_new(line, "declined", json_integer(event->declined));
        json_object_set_new(line, "ambiguous", json_integer(event->ambiguous));
    }
    if (!json_print(line, run->log))
        note_log_failed(run);
}

static void on_progress(const struct ingest_progress *progress, void *ctx)
{
    struct run *run = ctx;
    progress_show(&run->line, progress);
    if (run->log && fflush(run->log) != 0)
        note_log_failed(run);
}

/* ---- the run record
 * ---------------------------------------------------------------------------------------- */

static char *join_arguments(int argc, char **argv)
{
    size_t room = sizeof "anchorage";
    for (int i = 0; i < argc; i++)
        room += strlen(argv[i]) + 1;
    char *text = malloc(room);
    if (!text)
        return NULL;
    char *end = stpcpy(text, "anchorage");
    for (int i = 0; i < argc; i++) {
        *end++ = ' ';
        end = stpcpy(end, argv[i]);
    }
    return text;
}

static bool put_first_record(struct store_txn *txn, void *ctx, struct error *err)
{
    struct run *run = ctx;
    if (!store_next_run(txn, &run->record.id, err))
        return false;
    if (run->record.id <= run->seed_run) /* the history goes on from there */
        run->record.id = run->seed_run + 1;
    return store_put_run(txn, &run->record, err);
}

static bool put_last_record(struct store_txn *txn, void *ctx, struct error *err)
{
    struct run *run = ctx;
    return store_put_run(txn, &run->record, err);
}

/* ---- the end
 * ----------------------------------------------------------------------------------------------- */

static int exit_status(const struct run *run, const struct view_summary *summary)
{
    if (interrupted)
        return EXIT_AGAIN;
    if (run->resolved.findings[FINDING_CONTRADICTED])
        return EXIT_FAILED;
    if (((run->fail_on & FAIL_DECLINED) && summary->resources_by_status[RESOURCE_DECLINED]) ||
        ((run->fail_on & FAIL_AMBIGUOUS) && summary->resources_by_status[RESOURCE_AMBIGUOUS]) ||
        ((run->fail_on & FAIL_INCONSISTENT) && run->resolved.findings[FINDING_INCONSISTENT]) ||
        ((run->fail_on & FAIL_CHANGED) && run->changed) ||
        ((run->fail_on & FAIL_CRASHED) && summary->failed_by_reason[CONTAINER_CRASHED] +
                                              summary->failed_by_reason[CONTAINER_TIMED_OUT] +
                                              summary->failed_by_reason[CONTAINER_QUARANTINED]) ||
        ((run->fail_on & FAIL_UNREADABLE) &&
         summary->containers_by_status[CONTAINER_DAMAGED] + summary->containers_by_status[CONTAINER_SKIPPED]))
        return EXIT_FINDINGS;
    return EXIT_DONE;
}

/* What all workers were closed in by. */
static const char *sandbox_in_force(const struct run *run)
{
    return sandbox_words(run->done.extract_sandbox & run->done.decode_sandbox);
}

/* What held during the run, for its record. */
static void note_conditions(struct run *run)
{
    struct run_condition *next = run->conditions;
    *next++ = (struct run_condition){"sandbox", sandbox_in_force(run)};
    next += limit_conditions(&run->limits.limits, &run->limit_texts, next);
    if (run->memory) {
        text_bytes(run->memory, run->memory_text);
        *next++ = (struct run_condition){"memory", run->memory_text};
    }
    if (run->done.restarts) {
        text_count(run->done.restarts, run->restarts_text);
        *next++ = (struct run_condition){"workers started again", run->restarts_text};
    }
    run->record.conditions = run->conditions;
    run->record.condition_count = (uint32_t)(next - run->conditions);
}

static void print_heading(const struct run *run)
{
    char containers[28], bytes[16], took[16], rate[16];
    double seconds = (double)(run->record.finished_ns - run->record.started_ns) / 1e9;
    text_count(run->done.containers, containers);
    text_bytes(run->done.bytes_read, bytes);
    text_duration(seconds, took);
    text_bytes(seconds > 0 ? (uint64_t)((double)run->done.bytes_read / seconds) : 0, rate);
    printf("Run %llu: %s containers in %s, %s/s, %s", (unsigned long long)run->record.id, containers, bytes,
           rate, took);
    if (run->done.known) {
        text_count(run->done.known, containers);
        printf("; %s known already", containers);
    }
    if (run->done.restarts) {
        text_count(run->done.restarts, containers);
        printf("; workers started again %s times", containers);
    }
    printf("\nSandbox: %s\n\n", sandbox_in_force(run));
}

static bool print_json(const struct run *run, const struct view_summary *summary)
{
    struct store_stat stat;
    struct error err = {0};
    if (!store_stat(run->store, &stat, &err))
        return false;
    json_t *object = json_of_run(&run->record);
    json_object_set_new(object, "store", json_of_bytes(run->store_path));
    json_object_set_new(object, "unknown", json_integer((json_int_t)run->done.unknown));
    json_object_set_new(object, "sandbox", json_string(sandbox_in_force(run)));
    json_object_set_new(object, "restarts", json_integer((json_int_t)run->done.restarts));
    json_object_set_new(object, "geometry",
                        json_pack("{s:I, s:I, s:I}", "distinct", (json_int_t)stat.geometries, "bytes",
                                  (json_int_t)stat.geometry_raw, "stored",
                                  (json_int_t)stat.geometry_encoded));
    json_object_set_new(object, "resolved", resolution_json(&run->resolved));
    json_object_set_new(object, "totals", json_of_summary(summary));
    return json_print(object, stdout);
}

/* The global passes, over what is stored now. Not after an interruption: the run that goes on from there does
 * it. */
static bool resolve_all(struct run *run, struct error *err)
{
    const struct resolve_options options = {.threads = run->threads};
    uint64_t captured = 0;
    return captures_store(run->store, &run->captures, &captured, err) &&
           resolve(run->store, &options, &run->resolved, err) &&
           resolution_warn(run->store, &run->resolved, err);
}

static void note_stage(struct run *run, const char *name, uint64_t ns, uint64_t items, uint64_t bytes)
{
    run->stages[run->record.stage_count++] = (struct run_stage){name, ns, items, bytes};
    run->record.stages = run->stages;
}

static uint64_t ns_since(double started)
{
    return (uint64_t)((clock_seconds() - started) * 1e9);
}

/* Ingestion, and its parts, which go on beside each other (docs/json.md). */
static void note_ingest(struct run *run, double started)
{
    const struct ingest_progress *done = &run->done;
    note_stage(run, "ingest", ns_since(started), done->items, done->bytes_read);
    note_stage(run, "ingest/extract", done->extract_ns, done->items, done->bytes_read);
    note_stage(run, "ingest/decode", done->decode_ns, done->containers, done->bytes_content);
    note_stage(run, "ingest/commit", done->commit_ns, done->items, done->bytes_canonical);
}

/* A shard runs on any of many machines: what is wrong with this one's disk need not be with another's. */
static int run_failed(const struct run *run, const struct error *err)
{
    int status = failure(err);
    return run->shard.count && err->code == ERROR_DISK ? EXIT_AGAIN : status;
}

/* After the run's record is in the store, so that the report tells of this run, too. */
static bool write_report(struct run *run, struct error *err)
{
    const struct report_options options = {.store_path = run->store_path,
                                           .directory = run->report_path,
                                           .program = ANCHORAGE_VERSION,
                                           .threads = run->threads,
                                           .thumbnails = true};
    struct report_result result;
    return report_write(run->store, &options, &result, err);
}

static int finish(struct run *run, struct error *err)
{
    struct view_summary summary;
    double started = clock_seconds();
    if (!interrupted && !run->shard.count && !resolve_all(run, err))
        return run_failed(run, err);
    struct hash after;
    if ((run->fail_on & FAIL_CHANGED) && !store_digest(run->store, &after, err))
        return run_failed(run, err);
    run->changed = (run->fail_on & FAIL_CHANGED) && !hash_equal(&after, &run->before);
    struct store_txn *txn = store_begin_read(run->store, err);
    if (!txn || !view_summarise(txn, &summary, err)) {
        store_end_read(txn);
        return run_failed(run, err);
    }
    uint64_t resources = 0;
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        resources += summary.resources_by_status[i];
    if (!run->shard.count)
        note_stage(run, "resolve", ns_since(started), resources, 0);
    run->record.finished_ns = interrupted ? 0 : clock_wall_ns();
    run->record.containers = run->done.containers;
    run->record.resources = run->done.resources;
    run->record.bytes_read = run->done.bytes_read;
    run->record.bytes_decoded = run->done.bytes_canonical;
    run->record.skipped_unchanged = run->done.known;
    memcpy(run->record.by_status, summary.resources_by_status, sizeof run->record.by_status);
    run->record.exit_status = exit_status(run, &summary);
    bool ok = store_update(run->store, put_last_record, run, err);
    if (ok && run->json) {
        ok = print_json(run, &summary) || print_failed(err);
    } else if (ok && !interrupted) {
        print_heading(run);
        if (run->resolved.changed && resolution_print(stdout, &run->resolved))
            putchar('\n');
        ok = summary_print(stdout, &summary, run->store, txn, run->store_path, err);
    }
    store_end_read(txn);
    ok = ok && (interrupted || !run->report_path || write_report(run, err));
    if (!ok)
        return run_failed(run, err);
    if (interrupted)
        fputs("anchorage: interrupted; what was decoded is stored, the same command goes on from here\n",
              stderr);
    return flush_output() ? run->record.exit_status : EXIT_FAILED;
}

/* Of a shard the plan and the seed; and what a run has to know of the latter. */
static bool open_shard(struct run *run, struct error *err)
{
    if (run->plan_path) {
        run->plan = plan_read(run->plan_path, err);
        if (!run->plan)
            return false;
        if (plan_shards(run->plan) != run->shard.count)
            return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s has %u shards, not %u", run->plan_path,
                             plan_shards(run->plan), run->shard.count);
        if (!plan_files(run->plan, run->shard.index, &run->files))
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        run->shard.plan = run->plan;
    }
    if (!run->seed_path)
        return true;
    run->seed = store_open(run->seed_path, STORE_READ, false, err);
    struct store_txn *txn = run->seed ? store_begin_read(run->seed, err) : NULL;
    bool ok = txn && store_last_run(txn, &run->seed_run, err);
    store_end_read(txn);
    return ok;
}

static void close_shard(struct run *run)
{
    store_close(run->seed);
    plan_free_files(&run->files);
    plan_free(run->plan);
}

/* Says of each input that could not be had why: a misspelt name among good ones would go unnoticed in a
 * table. */
static void name_failed(struct run *run, const char *const *inputs, size_t count)
{
    struct error err = {0};
    struct arena arena = {0};
    struct store_txn *txn = store_begin_read(run->store, &err);
    for (size_t i = 0; txn && i < count; i++) {
        char *path = address_of_input(inputs[i]);
        struct source_record source;
        bool found = false;
        if (path) {
            struct hash key = hash_bytes(path, strlen(path));
            if (store_get_source(txn, &key, &arena, &source, &found, &err) && found &&
                source.kind == SOURCE_FAILED)
                warning("%s: %s", path,
                        source.message ? source.message : container_reason_word(source.reason));
        }
        free(path);
        arena_reset(&arena);
    }
    store_end_read(txn);
    arena_free(&arena);
}

static int run_inputs(struct run *run, const char *const *inputs, size_t input_count)
{
    struct error err = {0};
    bool sharded = run->shard.count != 0;
    run->record.started_ns = clock_wall_ns();
    run->record.version = ANCHORAGE_VERSION;
    run->record.inputs = input_count;
    if (sharded && !open_shard(run, &err))
        return run_failed(run, &err);
    /* Made before anything is read: a run of hours should not find out at the first large archive. */
    run->spool = spool_new(run->limits.tmp);
    if (!run->spool)
        return failure(&(struct error){.code = ERROR_NOMEM, .msg = "out of memory"});
    if (!spool_ready(run->spool, &err))
        return run_failed(run, &err);
    /* A shard's store is made again after a power cut rather than waited for. */
    run->store = store_open(run->store_path, sharded ? STORE_SCRATCH : STORE_CREATE, run->wait_lock, &err);
    if (!run->store || ((run->fail_on & FAIL_CHANGED) && !store_digest(run->store, &run->before, &err)) ||
        !store_update(run->store, put_first_record, run, &err))
        return run_failed(run, &err);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    run->line = progress_start(run->quiet);
    const struct ingest_options options = {
        .inputs = run->plan ? (const char *const *)run->files.names : inputs,
        .input_count = run->plan ? run->files.count : input_count,
        .threads = run->threads,
        .run = run->record.id,
        .rehash = run->rehash,
        .limits = run->limits.limits,
        .spool = run->spool,
        .shard = sharded ? &run->shard : NULL,
        .plan_path = run->plan_path,
        .memory = run->memory,
        .stall_seconds = (double)run->stall_seconds,
        .no_sandbox = run->no_sandbox,
        .total = !run->quiet,
        .walked = run->files.walked,
        .seed = run->seed,
        .cancel = &interrupted,
        .event = run->log ? log_event : NULL,
        .progress = on_progress,
        .ctx = run,
    };
    double started = clock_seconds();
    bool ok = ingest(run->store, &options, &run->done, &err);
    progress_end(&run->line);
    note_conditions(run);
    note_ingest(run, started);
    if (!ok)
        return run_failed(run, &err);
    int status = finish(run, &err);
    if (status == EXIT_DONE && sharded && !store_sync(run->store, &err))
        return run_failed(run, &err);
    if (status != EXIT_FAILED && run->done.inputs_failed)
        name_failed(run, inputs, input_count);
    if (status != EXIT_FAILED && input_count && run->done.inputs_failed == input_count) {
        warning("none of the inputs could be read");
        return EXIT_FAILED;
    }
    return status;
}

/* The run itself is not lost with its log: the status says so only when there is nothing worse to say. */
static int close_log(struct run *run, int status)
{
    if (fclose(run->log) != 0)
        note_log_failed(run);
    if (!run->log_failed)
        return status;
    warning("the log %s is incomplete: %s; what was decoded is stored: make room before the next run",
            run->log_path, strerror(run->log_failed));
    return status == EXIT_DONE || status == EXIT_FINDINGS ? EXIT_FAILED : status;
}

int cmd_run(int argc, char **argv)
{
    struct run run = {.threads = par_default_threads(),
                      .limits = LIMIT_SETTINGS_DEFAULT,
                      .shard.split_bytes = SHARD_SPLIT_BYTES};
    int status = parse_options(argc, argv, &run);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    if (run.job_directory)
        return job_task(run.job_directory, run.shard.index, run.shard.count, run.threads);
    char *arguments = join_arguments(argc, argv);
    run.record.arguments = arguments ? arguments : "";
    struct error err = {0};
    if (run.captures_path && !captures_read(run.captures_path, &run.captures, &err)) {
        status = failure(&err);
    } else if (run.log_path && !(run.log = fopen(run.log_path, "ae"))) {
        error_set_system(&err, ERROR_IO, errno, "cannot write the log %s", run.log_path);
        status = failure(&err);
    } else {
        status = run_inputs(&run, (const char *const *)argv + optind, (size_t)(argc - optind));
    }
    if (run.log)
        status = close_log(&run, status);
    store_close(run.store);
    spool_free(run.spool);
    close_shard(&run);
    captures_free(&run.captures);
    free(arguments);
    return status;
}
