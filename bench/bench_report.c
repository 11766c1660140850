/* bench_report.c - `anchorage bench report`: what the pages of a store cost beside reading it.
 *
 * The corpus has the size of the studied disc (6 294 XBG7 resources and a thousand files of other formats). A
 * store of it is scanned (every resource value read, its checksum verified, the record decoded) and made into
 * page data, in turns, so that a noisy machine disturbs both alike.
 */
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/corpus/corpus.h"
#include "pipeline/clock.h"
#include "reports/html.h"
#include "reports/page_data.h"
#include "reports/thumbs.h"

#define RUNS_MOST  32
#define PATH_BYTES 4096

struct measured {
    uint64_t resources, pictures, page_bytes, detail_bytes, html_bytes;
    double scan, page, both, html, pictures_took; /* medians, seconds */
    double scan_cpu, page_cpu; /* least seconds of processor: what a busy machine disturbs least */
};

static bool count_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    (void)key, (void)record;
    ++*(uint64_t *)ctx;
    return true;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void keep_least(double *least, double value)
{
    *least = *least == 0 || value < *least ? value : *least;
}

/* One round over everything but the pictures. */
static bool round_of(struct store *store, const char *html, unsigned i, double times[4][RUNS_MOST],
                     struct measured *out, struct error *err)
{
    struct page_data page = {0}, both = {0};
    struct stat info;
    struct store_txn *txn = store_begin_read(store, err);
    out->resources = 0;
    double t0 = clock_seconds(), c0 = cpu_now();
    bool ok = txn && store_each_resource(txn, count_resource, &out->resources, err);
    double t1 = clock_seconds(), c1 = cpu_now();
    ok = ok && page_data_make(store, txn, "bench", "bench", false, &page, err);
    double t2 = clock_seconds(), c2 = cpu_now();
    keep_least(&out->scan_cpu, c1 - c0);
    keep_least(&out->page_cpu, c2 - c1);
    ok = ok && page_data_make(store, txn, "bench", "bench", true, &both, err);
    double t3 = clock_seconds();
    ok = ok && html_write_dashboard(html, &both, err);
    double t4 = clock_seconds();
    const double took[4] = {t1 - t0, t2 - t1, t3 - t2, t4 - t3};
    for (int k = 0; k < 4; k++)
        times[k][i] = took[k];
    out->page_bytes = page_text_size(&page.page);
    out->detail_bytes = page_text_size(&both.details);
    out->html_bytes = ok && stat(html, &info) == 0 ? (uint64_t)info.st_size : 0;
    page_data_free(&page);
    page_data_free(&both);
    store_end_read(txn);
    return ok;
}

static bool draw(struct store *store, const char *thumbs, int threads, double *took, uint64_t *pictures,
                 struct error *err)
{
    struct thumbs_result result = {0};
    remove_folder(thumbs);
    struct store_txn *txn = store_begin_read(store, err);
    double start = clock_seconds();
    bool ok = txn && thumbs_write(store, txn, thumbs, threads, &result, err);
    *took = clock_seconds() - start;
    *pictures = result.drawn;
    store_end_read(txn);
    return ok;
}

static bool measure(const struct bench_options *options, const char *directory, struct measured *out,
                    struct error *err)
{
    char path[PATH_BYTES], corpus[PATH_BYTES];
    double times[4][RUNS_MOST], pictures[RUNS_MOST];
    struct bench_usage usage;
    snprintf(corpus, sizeof corpus, "%s/corpus", directory);
    snprintf(path, sizeof path, "%s/store", directory);
    const struct corpus_options wanted = {.directory = corpus, .seed = 1, .scale = 1};
    bool ok =
        corpus_write(&wanted, err) && bench_run_program(path, corpus, options->threads, true, &usage, err);
    remove_folder(corpus); /* 2 GB that nothing needs any more */
    struct store *store = ok ? store_open(path, STORE_READ, false, err) : NULL;
    ok = store != NULL;
    snprintf(path, sizeof path, "%s/index.html", directory);
    /* The first round warms the cache and does not count. */
    for (unsigned i = 0; ok && i <= options->runs; i++)
        ok = round_of(store, path, i ? i - 1 : 0, times, out, err);
    snprintf(path, sizeof path, "%s/thumbs", directory);
    unsigned drawings = options->runs < 3 ? options->runs : 3;
    for (unsigned i = 0; ok && i < drawings; i++)
        ok = draw(store, path, options->threads, &pictures[i], &out->pictures, err);
    store_close(store);
    if (!ok)
        return false;
    out->scan = bench_median(times[0], options->runs);
    out->page = bench_median(times[1], options->runs);
    out->both = bench_median(times[2], options->runs);
    out->html = bench_median(times[3], options->runs);
    out->pictures_took = bench_median(pictures, drawings);
    return true;
}

static void print_measured(const struct measured *m)
{
    printf("store of %llu resources\n", (unsigned long long)m->resources);
    printf("  scan of the resource values        %8.1f ms\n", m->scan * 1e3);
    printf("  page data                          %8.1f ms  %5.2f x the scan, %.1f MB\n", m->page * 1e3,
           m->page / m->scan, (double)m->page_bytes / 1e6);
    printf("  their processor time               %8.1f ms  and %.1f ms, %.2f x\n", m->scan_cpu * 1e3,
           m->page_cpu * 1e3, m->page_cpu / m->scan_cpu);
    printf("  page data with details             %8.1f ms  %5.2f x the scan, %.1f MB more\n", m->both * 1e3,
           m->both / m->scan, (double)m->detail_bytes / 1e6);
    printf("  index.html of both, compressed     %8.1f ms  %.1f MB\n", m->html * 1e3,
           (double)m->html_bytes / 1e6);
    printf("  %5llu thumbnails                   %8.1f ms  %.0f a second\n", (unsigned long long)m->pictures,
           m->pictures_took * 1e3, (double)m->pictures / m->pictures_took);
}

static void print_json(const struct bench_options *options, const struct measured *m)
{
    json_t *object = json_pack(
        "{s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f}", "runs",
        (int)options->runs, "threads", options->threads, "resources", (json_int_t)m->resources,
        "scan_seconds", m->scan, "page_seconds", m->page, "page_ratio", m->page / m->scan, "scan_cpu_seconds",
        m->scan_cpu, "page_cpu_seconds", m->page_cpu, "page_with_details_seconds", m->both, "html_seconds",
        m->html, "page_bytes", (json_int_t)m->page_bytes, "detail_bytes", (json_int_t)m->detail_bytes,
        "html_bytes", (json_int_t)m->html_bytes, "thumbnails", (json_int_t)m->pictures,
        "thumbnails_per_second", (double)m->pictures / m->pictures_took);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

int bench_report(const struct bench_options *options)
{
    char directory[PATH_BYTES];
    struct measured measured = {0};
    struct error err = {0};
    snprintf(directory, sizeof directory, "%s/report-XXXXXX", options->directory);
    bool ok = (options->runs >= 1 && options->runs <= RUNS_MOST) ||
              error_set(&err, ERROR_USAGE, ERROR_NO_OFFSET, "the number of runs is from 1 to %d", RUNS_MOST);
    ok = ok && ((mkdir(options->directory, 0777) == 0 || errno == EEXIST) && mkdtemp(directory)
                    ? true
                    : error_set(&err, ERROR_IO, ERROR_NO_OFFSET, "cannot make a folder in %s: %s",
                                options->directory, strerror(errno)));
    if (ok) {
        ok = measure(options, directory, &measured, &err);
        remove_folder(directory);
    }
    if (!ok)
        return bench_failed(&err);
    if (options->json)
        print_json(options, &measured);
    else
        print_measured(&measured);
    return 0;
}
