/* report.c - see report.h */
#include "reports/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/aside.h"
#include "reports/dashboard.h"
#include "reports/figures.h"
#include "reports/html.h"
#include "reports/page_data.h"
#include "reports/prometheus.h"
#include "reports/report_json.h"
#include "reports/sheet.h"
#include "reports/thumbs.h"

struct job {
    struct store *store;
    struct store_txn *txn;
    const struct report_options *options;
    struct report_result *result;
    struct error *err;
};

static void path_in(const struct job *job, const char *name, char path[static 4096])
{
    snprintf(path, 4096, "%s/%s", job->options->directory, name);
}

static bool write_thumbs(struct job *job)
{
    char path[4096];
    struct thumbs_result drawn;
    path_in(job, "thumbs", path);
    if (!job->options->thumbnails)
        return true;
    bool ok = thumbs_write(job->store, job->txn, path, job->options->threads, &drawn, job->err);
    job->result->drawn = drawn.drawn;
    job->result->kept = drawn.kept;
    job->result->undrawable = drawn.failed;
    return ok;
}

static bool write_dashboard(struct job *job)
{
    char path[4096];
    struct page_data data;
    path_in(job, "index.html", path);
    bool ok = page_data_make(job->store, job->txn, job->options->program, job->options->store_path, true,
                             &data, job->err) &&
              html_write_dashboard(path, &data, job->err);
    page_data_free(&data);
    return ok;
}

static bool write_sheet(struct job *job)
{
    char path[4096];
    struct buffer page = {0};
    path_in(job, "sheet.html", path);
    bool ok =
        sheet_page(job->txn, job->options->store_path, &page, job->err) && aside_write(path, &page, job->err);
    buffer_free(&page);
    return ok;
}

static bool write_json(struct job *job, const struct figures *figures)
{
    char path[4096];
    struct aside aside;
    path_in(job, "report.json", path);
    return aside_open(&aside, path, job->err) &&
           aside_close(&aside,
                       report_json_write(job->txn, figures, job->options->program, job->options->store_path,
                                         aside.out, job->err),
                       job->err);
}

static bool write_metrics(struct job *job, const struct figures *figures)
{
    char path[4096];
    struct buffer text = {0};
    path_in(job, "metrics.prom", path);
    prometheus_text(figures, job->options->program, job->options->store_path, &text);
    bool ok = text.failed
                  ? error_set(job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing %s", path)
                  : aside_write(path, &text, job->err);
    buffer_free(&text);
    return ok;
}

static bool write_figures(struct job *job)
{
    struct arena arena = {0};
    struct figures figures;
    bool ok = figures_read(job->store, job->txn, &arena, &figures, job->err) && write_json(job, &figures) &&
              write_metrics(job, &figures);
    arena_free(&arena);
    return ok;
}

bool report_write(struct store *store, const struct report_options *options, struct report_result *result,
                  struct error *err)
{
    struct job job = {store, NULL, options, result, err};
    *result = (struct report_result){.plain = dashboard_page().tail_size == 0};
    if (strlen(options->directory) > 3900)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the name of the folder is too long");
    if (mkdir(options->directory, 0777) != 0 && errno != EEXIST)
        return error_set_system(err, ERROR_IO, errno, "cannot make %s", options->directory);
    job.txn = store_begin_read(store, err);
    bool ok =
        job.txn && write_thumbs(&job) && write_sheet(&job) && write_figures(&job) && write_dashboard(&job);
    store_end_read(job.txn);
    return ok;
}
