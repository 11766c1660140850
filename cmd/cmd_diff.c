/* cmd_diff.c - `anchorage diff`: what changed from one store to another. */
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "pipeline/parallel.h"
#include "reports/diff.h"
#include "reports/text.h"

enum { OPT_JSON, OPT_OUTPUT, OPT_FAIL_ON, OPT_THREADS };

static const struct command command = {
    .name = "diff",
    .usage = "BEFORE AFTER [--json] [-o DIR]",
    .purpose =
        "Compares two stores resource by resource: a table on a terminal, tab-separated values in a pipe,\n"
        "JSON lines with --json, a page with pictures in DIR. Counts go to stderr (docs/diff.md).",
    .options =
        (const struct option_info[]){
            [OPT_JSON] = {"json", 0, NULL, "JSON lines"},
            [OPT_OUTPUT] = {"output", 'o', "DIR", "write index.html there, before and after side by side"},
            [OPT_FAIL_ON] = {"fail-on", 0, "changed", "exit 1 when anything changed"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads that draw (default: all processors)"},
            {0},
        },
};

struct job {
    bool json, fail_on_changed;
    const char *output;
    const char *paths[2];
    int threads;
    struct store *stores[2];
    struct store_txn *txns[2];
    struct diff diff;
    struct error err;
};

static const struct table_column columns[] = {
    {"change", false, false},   {"name", false, false}, {"before", false, false}, {"after", false, false},
    {"triangles", true, false}, {"after", true, false}, {"address", false, true}};

static void cell_of_status(struct table *table, const struct diff_side *side)
{
    const char *reason = side->container ? decline_reason_word(side->reason) : NULL;
    if (!side->container)
        table_cell(table, NULL, 0);
    else
        table_cellf(table, 0, "%s%s%s", resource_status_word(side->status), reason ? " " : "",
                    reason ? reason : "");
}

static void cell_of_triangles(struct table *table, const struct diff_side *side)
{
    if (side->container)
        table_cellf(table, 0, "%u", side->triangles);
    else
        table_cell(table, NULL, 0);
}

static void print_table(const struct diff *diff)
{
    static const int colours[DIFF_CLASSES] = {32, 31, 33, 33, 0, 35};
    struct table *table = diff->count ? table_new(stdout, columns, sizeof columns / sizeof *columns) : NULL;
    for (size_t i = 0; table && i < diff->count && !ferror(stdout); i++) {
        const struct diff_row *row = &diff->rows[i];
        const struct diff_side *side = row->after.container ? &row->after : &row->before;
        table_cell(table, diff_class_word(row->class), colours[row->class]);
        table_cell(table, row->name, 0);
        cell_of_status(table, &row->before);
        cell_of_status(table, &row->after);
        cell_of_triangles(table, &row->before);
        cell_of_triangles(table, &row->after);
        table_cellf(table, 0, "%.400s#%u", side->container, side->index);
    }
    if (table)
        table_print(table);
}

static bool print_json(const struct diff *diff)
{
    bool ok = true;
    for (size_t i = 0; ok && i < diff->count; i++)
        ok = json_print(json_of_diff(&diff->rows[i]), stdout);
    return ok;
}

static void print_counts(const struct diff *diff)
{
    char count[28];
    for (int i = 0; i < DIFF_CLASSES; i++) {
        text_count(diff->by_class[i], count);
        fprintf(stderr, "%s%s %s", i ? ", " : "", diff_class_word((enum diff_class)i), count);
    }
    text_count(diff->same, count);
    fprintf(stderr, "; the same: %s\n", count);
}

static bool same_digest(struct job *job)
{
    struct hash digests[2];
    for (int i = 0; i < 2; i++)
        if (!store_digest(job->stores[i], &digests[i], &job->err))
            return false;
    return hash_equal(&digests[0], &digests[1]);
}

/* Stores of one digest say the same of everything, so nothing has to be compared; a page is made all the
 * same. */
static bool run(struct job *job)
{
    bool same = same_digest(job);
    if (job->err.code != ERROR_NONE)
        return false;
    if (!same && !diff_stores(job->txns[0], job->txns[1], &job->diff, &job->err))
        return false;
    if (job->output &&
        !diff_write_page(&job->diff, job->stores, job->paths, job->output, job->threads, &job->err))
        return false;
    if (job->json && !print_json(&job->diff) && !print_failed(&job->err))
        return false;
    if (!job->json)
        print_table(&job->diff);
    if (same)
        fputs("the same: both stores have one digest\n", stderr);
    else
        print_counts(&job->diff);
    if (!same && !job->diff.count)
        fputs("what differs is no resource: findings, coverage, containers without resources, captures\n",
              stderr);
    job->fail_on_changed = job->fail_on_changed && !same;
    return true;
}

static int parse_options(int argc, char **argv, struct job *job)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_JSON:
            job->json = true;
            break;
        case OPT_OUTPUT:
            job->output = argument;
            break;
        case OPT_FAIL_ON:
            if (strcmp(argument, "changed") != 0)
                return usage_error(&command, "--fail-on takes changed, not '%s'", argument);
            job->fail_on_changed = true;
            break;
        case OPT_THREADS:
            if (!parse_threads(&command, argument, &job->threads))
                return EXIT_USAGE;
            break;
        default:
            return option == OPTIONS_HELP ? -1 : EXIT_USAGE;
        }
    }
    if (argc - optind != 2)
        return usage_error(&command, "two stores are compared, BEFORE and AFTER; %d given", argc - optind);
    job->paths[0] = argv[optind];
    job->paths[1] = argv[optind + 1];
    struct stat a, b;
    if (stat(job->paths[0], &a) == 0 && stat(job->paths[1], &b) == 0 && a.st_dev == b.st_dev &&
        a.st_ino == b.st_ino)
        return usage_error(&command, "BEFORE and AFTER are one store");
    return EXIT_DONE;
}

int cmd_diff(int argc, char **argv)
{
    struct job job = {.threads = par_default_threads()};
    int status = parse_options(argc, argv, &job);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    bool ok = true;
    for (int i = 0; ok && i < 2; i++) {
        job.stores[i] = store_open(job.paths[i], STORE_READ, false, &job.err);
        ok = job.stores[i] && (job.txns[i] = store_begin_read(job.stores[i], &job.err));
    }
    ok = ok && run(&job);
    for (int i = 0; i < 2; i++) {
        store_end_read(job.txns[i]);
        store_close(job.stores[i]);
    }
    diff_free(&job.diff);
    if (!ok)
        return failure(&job.err);
    if (!flush_output())
        return EXIT_FAILED;
    return job.fail_on_changed ? EXIT_FINDINGS : EXIT_DONE;
}
