/* merging.c - see merging.h */
#include "cmd/merging.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/resolution.h"
#include "pipeline/captures.h"
#include "pipeline/clock.h"
#include "pipeline/earlier.h"
#include "pipeline/resolve.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/view.h"
#include "store/place.h"

struct work {
    const struct merging *merging;
    struct store **inputs; /* [input_count], each once */
    size_t input_count;
    struct place place;
    struct capture_list captures;
    struct merge_result merged;
    struct resolve_result resolved;
    struct view_summary summary;
    struct run_record run; /* of the job, once it is read */
    double seconds;
};

/* A sealed store may lie on a file system of another machine, and is read through a map: when that machine
 * does not answer, the kernel says so by this signal. Nothing is in its place yet. */
static void on_bus_error(int number)
{
    static const char text[] = "anchorage: a store that is merged could not be read (I/O error); try again\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_AGAIN);
}

/* Each input is a descriptor or two. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool is_open(const struct work *work, const char *path)
{
    for (size_t i = 0; i < work->input_count; i++)
        if (store_is_at(work->inputs[i], path))
            return true;
    return false;
}

static bool open_inputs(struct work *work, struct error *err)
{
    const struct merging *merging = work->merging;
    work->inputs = calloc(merging->input_count, sizeof *work->inputs);
    if (!work->inputs)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < merging->input_count; i++) {
        const char *path = merging->inputs[i];
        if (is_open(work, path))
            continue;
        /* The store that will be replaced is open already, and a process opens a store once. */
        bool replaced = work->place.old && store_is_at(work->place.old, path);
        struct store *store = replaced ? work->place.old : store_open(path, STORE_READ, false, err);
        if (!store)
            return false;
        work->inputs[work->input_count++] = store;
    }
    return true;
}

static void close_inputs(struct work *work)
{
    for (size_t i = 0; work->inputs && i < work->input_count; i++)
        if (work->inputs[i] != work->place.old)
            store_close(work->inputs[i]);
    free(work->inputs);
    work->inputs = NULL;
}

static void warn_incomplete(const char *path, unsigned missing, void *ctx)
{
    (void)ctx;
    warning("%s: %u of its shards %s missing; its record is partial", path, missing,
            missing == 1 ? "is" : "are");
}

static bool keep_job_run(const struct run_record *record, void *ctx)
{
    struct work *work = ctx;
    if (record->id != work->merging->options.job_run)
        return true;
    work->run = *record;
    work->run.version = ANCHORAGE_VERSION;
    work->run.arguments = work->merging->arguments;
    return false;
}

static bool put_job_run(struct store_txn *txn, void *ctx, struct error *err)
{
    struct work *work = ctx;
    if (!store_each_run(txn, keep_job_run, work, err))
        return false;
    work->run.id = work->merging->options.job_run; /* also when no shard had anything to do */
    work->run.finished_ns = clock_wall_ns();
    work->run.version = ANCHORAGE_VERSION;
    work->run.arguments = work->merging->arguments;
    memcpy(work->run.by_status, work->summary.resources_by_status, sizeof work->run.by_status);
    return store_put_run(txn, &work->run, err);
}

static bool summarise(struct work *work, struct error *err)
{
    struct store_txn *txn = store_begin_read(work->place.store, err);
    bool ok = txn && view_summarise(txn, &work->summary, err);
    store_end_read(txn);
    return ok;
}

static bool print(struct work *work, struct error *err)
{
    const struct merging *merging = work->merging;
    struct store *store = work->place.store;
    if (merging->json) {
        json_t *object = json_pack(
            "{s:s, s:f, s:I, s:I, s:I, s:o, s:o}", "store", merging->output, "seconds", work->seconds,
            "merged", (json_int_t)merging->input_count, "bytes", (json_int_t)work->merged.bytes, "partial",
            (json_int_t)work->merged.incomplete, "resolved", resolution_json(&work->resolved), "totals",
            json_of_summary(&work->summary));
        return json_print(object, stdout) || print_failed(err);
    }
    char count[28], bytes[16], took[16];
    text_count(merging->input_count, count);
    text_bytes(work->merged.bytes, bytes);
    text_duration(work->seconds, took);
    printf("Merged %s store%s, %s, in %s\n\n", count, merging->input_count == 1 ? "" : "s", bytes, took);
    if (work->resolved.changed && resolution_print(stdout, &work->resolved))
        putchar('\n');
    struct store_txn *txn = store_begin_read(store, err);
    bool ok = txn && summary_print(stdout, &work->summary, store, txn, merging->output, err);
    store_end_read(txn);
    return ok;
}

static bool merge_and_resolve(struct work *work, struct error *err)
{
    const struct merging *merging = work->merging;
    struct merge_options options = merging->options;
    const struct resolve_options resolving = {.threads = merging->threads};
    uint64_t captured = 0;
    double start = clock_seconds();
    options.incomplete = warn_incomplete;
    bool ok = place_begin(&work->place, merging->output, err) && open_inputs(work, err) &&
              store_merge(work->place.store, work->inputs, work->input_count, &options, &work->merged, err);
    work->seconds = clock_seconds() - start;
    close_inputs(work);
    ok = ok && (!options.job_run || earlier_forget(work->place.store, err));
    return ok && captures_store(work->place.store, &work->captures, &captured, err) &&
           resolve(work->place.store, &resolving, &work->resolved, err) &&
           resolution_warn(work->place.store, &work->resolved, err) && summarise(work, err) &&
           (!options.job_run || store_update(work->place.store, put_job_run, work, err)) &&
           (merging->quiet || print(work, err));
}

int merge_stores(const struct merging *merging)
{
    struct work work = {.merging = merging};
    struct error err = {0};
    allow_descriptors();
    signal(SIGBUS, on_bus_error);
    bool ok = (!merging->captures_path || captures_read(merging->captures_path, &work.captures, &err)) &&
              merge_and_resolve(&work, &err) &&
              place_commit(&work.place, !place_is_local(merging->output), &err);
    place_abandon(&work.place);
    captures_free(&work.captures);
    if (!ok)
        return failure(&err);
    if (!flush_output())
        return EXIT_FAILED;
    return work.resolved.findings[FINDING_CONTRADICTED] ? EXIT_FAILED : EXIT_DONE;
}
