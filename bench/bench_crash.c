/* bench_crash.c - `anchorage bench crash`: what it costs when hostile bytes bring decoders down.
 *
 * A tar of small MESHBIN files is run as it is, then so that the decoder crashes at each whose number ends in
 * 00, then at each that ends in 0 (pipeline/fault.h). The three take turns; medians count. What a crash
 * must not cost is looked at each time: all other files are decoded.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/corpus/corpus.h"
#include "store/store.h"

#define RUNS_MOST  32
#define PATH_BYTES 4096
#define FILES      10000
#define SIDES      3

static const struct {
    const char *fault; /* see fault.h */
    unsigned each;     /* which of the files crash; 0: none */
} sides[SIDES] = {{"", 0}, {"decode:segv:00.meshbin", 100}, {"decode:segv:0.meshbin", 10}};

struct outcomes {
    uint64_t decoded, crashed, others;
};

struct crash_figures {
    double seconds, processor; /* medians */
    struct outcomes outcomes;
};

#ifdef ANCHORAGE_TEST_HOOKS
static const bool has_faults = true;
#else
static const bool has_faults = false;
#endif

static bool count_outcome(const struct hash *container, const struct container_head *head, void *ctx)
{
    struct outcomes *outcomes = ctx;
    enum container_reason reason = head->reason;
    (void)container;
    outcomes->decoded += reason == CONTAINER_REASON_NONE;
    outcomes->crashed += reason == CONTAINER_CRASHED;
    outcomes->others += reason != CONTAINER_REASON_NONE && reason != CONTAINER_CRASHED;
    return true;
}

/* Whether exactly the files that crash are without a result. The tar itself is a content, too. */
static bool look_at_store(const char *path, uint64_t files, unsigned each, struct outcomes *outcomes,
                          struct error *err)
{
    uint64_t crashes = each ? (files + each - 1) / each : 0;
    struct store *store = store_open(path, STORE_READ, false, err);
    struct store_txn *txn = store ? store_begin_read(store, err) : NULL;
    memset(outcomes, 0, sizeof *outcomes);
    bool ok = txn && store_each_content(txn, count_outcome, outcomes, err);
    store_end_read(txn);
    store_close(store);
    outcomes->decoded -= outcomes->decoded > 0;
    if (ok && (outcomes->crashed != crashes || outcomes->decoded != files - crashes || outcomes->others))
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "%llu files were decoded and %llu crashed",
                         (unsigned long long)outcomes->decoded, (unsigned long long)outcomes->crashed);
    return ok;
}

static bool measure(const struct bench_options *options, const char *tar, uint64_t files,
                    struct crash_figures figures[SIDES], struct error *err)
{
    char store[PATH_BYTES];
    double seconds[SIDES][RUNS_MOST], processor[SIDES][RUNS_MOST];
    struct bench_usage usage;
    bool ok = true;
    snprintf(store, sizeof store, "%s/store", options->directory);
    /* The first round warms the cache and does not count. */
    for (unsigned i = 0; ok && i <= options->runs; i++)
        for (unsigned side = 0; ok && side < SIDES; side++) {
            unsigned at = i ? i - 1 : 0;
            bench_remove_store(store);
            setenv("ANCHORAGE_FAULT", sides[side].fault, 1);
            ok = bench_run_program(store, tar, options->threads, false, &usage, err) &&
                 look_at_store(store, files, sides[side].each, &figures[side].outcomes, err);
            seconds[side][at] = usage.seconds;
            processor[side][at] = usage.processor;
        }
    unsetenv("ANCHORAGE_FAULT");
    bench_remove_store(store);
    for (unsigned side = 0; ok && side < SIDES; side++) {
        figures[side].seconds = bench_median(seconds[side], options->runs);
        figures[side].processor = bench_median(processor[side], options->runs);
    }
    return ok;
}

static void print_json(const struct bench_options *options, const struct crash_figures figures[SIDES])
{
    json_t *rows = json_array();
    for (unsigned i = 0; i < SIDES; i++)
        json_array_append_new(rows, json_pack("{s:I, s:I, s:f, s:f}", "crashed",
                                              (json_int_t)figures[i].outcomes.crashed, "decoded",
                                              (json_int_t)figures[i].outcomes.decoded, "seconds",
                                              figures[i].seconds, "processor_seconds", figures[i].processor));
    json_t *object =
        json_pack("{s:i, s:i, s:o}", "runs", (int)options->runs, "threads", options->threads, "sides", rows);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static void print_table(const struct crash_figures figures[SIDES])
{
    printf("crashes   decoded    seconds   of the clean run   processor seconds\n");
    for (unsigned i = 0; i < SIDES; i++)
        printf("%7llu   %7llu   %8.3f   %16.2f   %17.3f\n", (unsigned long long)figures[i].outcomes.crashed,
               (unsigned long long)figures[i].outcomes.decoded, figures[i].seconds,
               figures[i].seconds / figures[0].seconds, figures[i].processor);
}

int bench_crash(const struct bench_options *options)
{
    struct error err = {0};
    struct crash_figures figures[SIDES];
    uint64_t files = options->files ? options->files : FILES;
    char tar[PATH_BYTES];
    if (!has_faults) {
        fprintf(stderr,
                "anchorage bench: this program has no faults to inject; `make bench-crash` builds one "
                "that has\n");
        return 3;
    }
    snprintf(tar, sizeof tar, "%s/small.tar", options->directory);
    bool ok =
        mkdir(options->directory, 0777) == 0 || errno == EEXIST ||
        error_set(&err, ERROR_IO, ERROR_NO_OFFSET, "cannot make %s: %s", options->directory, strerror(errno));
    ok = ok && corpus_small_meshbins(tar, (unsigned)files, 1, &err) &&
         measure(options, tar, files, figures, &err);
    unlink(tar);
    rmdir(options->directory);
    if (!ok)
        return bench_failed(&err);
    if (options->json)
        print_json(options, figures);
    else
        print_table(figures);
    return 0;
}
