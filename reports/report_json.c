/* report_json.c - see report_json.h
 *
 * Lists are written as they are walked: a disc's resources as one tree of JSON would be hundreds of
 * megabytes.
 */
#include "reports/report_json.h"

#include <stdlib.h>

#include "pipeline/json_whole.h"

struct writer {
    FILE *out;
    struct store_txn *txn;
    bool first;    /* nothing was written of the list that is open */
    bool compared; /* the census has one of the run before */
    bool failed;
    struct error *err;
};

/* The next element; takes the reference. */
static bool put(struct writer *w, json_t *value)
{
    fputs(w->first ? "\n " : ",\n ", w->out);
    w->first = false;
    w->failed |= !json_whole_write(value, w->out, JSON_PRINT | JSON_ENCODE_ANY);
    json_decref(value);
    return !w->failed;
}

static void open_list(struct writer *w, const char *key)
{
    fprintf(w->out, ",\n\"%s\": [", key);
    w->first = true;
}

static void close_list(struct writer *w)
{
    fputs(w->first ? "]" : "\n]", w->out);
}

static bool put_run(const struct run_record *run, void *ctx)
{
    return put(ctx, json_of_run(run));
}

static bool put_container(const struct view_container *view, void *ctx)
{
    struct writer *w = ctx;
    json_t *object = json_of_container(view);
    if (view->format == FORMAT_XPR2 && view->record) {
        struct arena arena = {0};
        struct container_record record = *view->record;
        bool ok = coverage_load(w->txn, &view->hash, &arena, &record, w->err);
        struct coverage_sums sums = coverage_sum(record.container.coverage, record.container.coverage_count);
        arena_free(&arena);
        if (!ok) {
            json_decref(object);
            return false;
        }
        json_object_set_new(object, "coverage", coverage_sums_json(&sums));
    }
    return put(w, object);
}

static bool put_finding(const struct view_finding *finding, void *ctx)
{
    return put(ctx, json_of_finding(finding));
}

static bool put_declined(const struct view_declined *row, void *ctx)
{
    struct writer *w = ctx;
    return put(w, json_of_declined(row, w->compared));
}

static bool put_unknown(struct writer *w)
{
    struct arena arena = {0};
    struct census_row *rows = NULL;
    size_t count = 0;
    bool ok = view_unknown(w->txn, &arena, &rows, &count, w->err);
    for (size_t i = 0; ok && i < count && put(w, json_of_unknown(&rows[i])); i++)
        ;
    arena_free(&arena);
    return ok;
}

static bool put_resource(const struct view_resource *resource, void *ctx)
{
    return put(ctx, json_of_resource(resource));
}

/* {"proven": 12, ...}: the newest run against the one before; null without one. */
static json_t *changes_of(const struct figures *figures)
{
    if (!figures->has_before)
        return json_null();
    json_t *object = json_object();
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        json_object_set_new(
            object, resource_status_word((enum resource_status)i),
            json_integer((json_int_t)figures->run.by_status[i] - (json_int_t)figures->before.by_status[i]));
    return object;
}

static json_t *findings_of(const struct figures *figures)
{
    json_t *object = json_object();
    for (int i = 1; i < FINDING_KIND_COUNT; i++)
        if (figures->findings[i])
            json_object_set_new(object, finding_kind_word((enum finding_kind)i),
                                json_integer((json_int_t)figures->findings[i]));
    return object;
}

/* The head: sums. Written as one object whose closing brace is left to the end of the document. */
static bool put_head(struct writer *w, const struct figures *figures, const char *program, const char *store)
{
    json_t *head = json_pack(
        "{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I}, s:o, s:o, s:{s:I, s:I}}", "schema",
        "anchorage-report", "version", REPORT_JSON_VERSION, "program", program, "store", json_of_bytes(store),
        "run", figures->has_run ? json_of_run(&figures->run) : json_null(), "change", changes_of(figures),
        "totals", json_of_summary(&figures->summary), "geometry", "distinct",
        (json_int_t)figures->stat.geometries, "bytes", (json_int_t)figures->stat.geometry_raw, "stored",
        (json_int_t)figures->stat.geometry_encoded, "coverage", coverage_sums_json(&figures->coverage),
        "finding_counts", findings_of(figures), "unknown_total", "files", (json_int_t)figures->unknown_files,
        "bytes", (json_int_t)figures->unknown_bytes);
    char *text = head ? json_whole_text(head, JSON_PRINT) : NULL;
    json_decref(head);
    if (text)
        fprintf(w->out, "%.*s", (int)strlen(text) - 1, text);
    w->failed |= !text;
    free(text);
    return !w->failed;
}

static bool put_lists(struct writer *w)
{
    static const struct view_filter everything;
    struct error *err = w->err;
    open_list(w, "runs");
    bool ok = store_each_run(w->txn, put_run, w, err);
    close_list(w);
    open_list(w, "containers");
    ok = ok && view_containers(w->txn, put_container, w, err);
    close_list(w);
    open_list(w, "declined");
    ok = ok && view_declined(w->txn, &w->compared, put_declined, w, err);
    close_list(w);
    open_list(w, "unknown");
    ok = ok && put_unknown(w);
    close_list(w);
    open_list(w, "findings");
    ok = ok && view_findings(w->txn, 0, put_finding, w, err);
    close_list(w);
    open_list(w, "resources");
    ok = ok && view_resources(w->txn, &everything, put_resource, w, err);
    close_list(w);
    return ok && err->code == ERROR_NONE;
}

bool report_json_write(struct store_txn *txn, const struct figures *figures, const char *program,
                       const char *store, FILE *out, struct error *err)
{
    struct writer w = {.out = out, .txn = txn, .err = err};
    bool ok = put_head(&w, figures, program, store) && put_lists(&w);
    fputs("\n}\n", out);
    if (ferror(out))
        return true; /* aside_close says why */
    if (err->code == ERROR_NONE && w.failed)
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing report.json");
    return ok;
}
