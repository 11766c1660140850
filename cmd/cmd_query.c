/* cmd_query.c - `anchorage query`: lists of what a store holds. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "reports/coverage.h"
#include "reports/filter.h"
#include "reports/finding.h"
#include "reports/priors.h"
#include "reports/sql.h"
#include "reports/text.h"
#include "reports/view.h"

enum {
    OPT_STORE = FILTER_OPTION_COUNT,
    OPT_JSON,
    OPT_CONTAINERS,
    OPT_COVERAGE,
    OPT_FINDINGS,
    OPT_KIND,
    OPT_DECLINED,
    OPT_PRIORS,
    OPT_UNKNOWN,
    OPT_RUNS,
    OPT_SQL,
    OPT_SORT,
    OPT_LIMIT,
};

static const struct command command = {
    .name = "query",
    .usage = "-s STORE [filters | --containers | --findings | ... | --sql FILE] [--json]",
    .purpose = "Lists resources, or what one of the options below names: a table on a terminal, "
               "tab-separated values in a\n"
               "pipe, one JSON object a line with --json.",
    .options =
        (const struct option_info[]){
            FILTER_OPTIONS(0),
            [FILTER_FORMAT] = FILTER_FORMAT_OPTION,
            [OPT_STORE] = {"store", 's', "STORE", "the store"},
            [OPT_JSON] = {"json", 0, NULL, "JSON lines"},
            [OPT_CONTAINERS] = {"containers", 0, NULL, "list containers: inputs, archives, members"},
            [OPT_COVERAGE] = {"coverage", 0, NULL, "what the bytes of XPR2 data sections are, by container"},
            [OPT_FINDINGS] = {"findings", 0, NULL, "what does not fit together, as `resolve` found it"},
            [OPT_KIND] = {"kind", 0, "LIST",
                          "only findings of these kinds: same, variant, inconsistent, unclaimed ..."},
            [OPT_DECLINED] = {"declined", 0, NULL,
                              "count what was declined, and the change since the run before"},
            [OPT_PRIORS] = {"priors", 0, NULL, "statistics of sure placements: alignment, gaps, order"},
            [OPT_UNKNOWN] = {"unknown", 0, NULL,
                             "count members that are no known container, by magic and ending"},
            [OPT_RUNS] = {"runs", 0, NULL, "list the runs that wrote this store"},
            [OPT_SQL] = {"sql", 0, "FILE", "write everything into an SQLite database (docs/sql.md)"},
            [OPT_SORT] =
                {"sort", 0, "KEYS",
                 "name, container, index, format, status, reason, vertices, triangles, size, score,\n"
                 "margin, geometry; several with commas, '-' in front of one: descending"},
            [OPT_LIMIT] = {"limit", 0, "N", "at most N rows"},
            {0},
        },
};

struct query {
    const char *store_path, *sql_path;
    bool json;
    int what;       /* OPT_CONTAINERS, OPT_FINDINGS ..., or 0: resources */
    uint32_t kinds; /* of findings: bits, 0: all */
    struct view_filter filter;
    struct view_sort sort;
    bool compared; /* there is a census of an earlier run */
    bool filtered; /* a filter that only means resources was given */
    struct store_txn *txn;
    struct error *err;
    struct table *table;
    uint64_t rows;
    int failed; /* errno of a print that did */
};

static int status_colour(enum resource_status status)
{
    return status == RESOURCE_DECLINED ? 33 : status == RESOURCE_AMBIGUOUS ? 35 : 32;
}

static void print_object(struct query *query, json_t *object)
{
    if (!json_print(object, stdout))
        query->failed = errno ? errno : EIO;
}

static bool more(struct query *query)
{
    query->rows++;
    return !query->failed && !ferror(stdout);
}

/* ---- resources
 * --------------------------------------------------------------------------------------------- */

static const struct table_column resource_columns[] = {
    {"name", false, false},   {"format", false, false},   {"status", false, false},
    {"reason", false, false}, {"vertices", true, false},  {"triangles", true, false},
    {"size", false, false},   {"geometry", false, false}, {"address", false, true},
};

static bool print_resource(const struct view_resource *view, void *ctx)
{
    struct query *query = ctx;
    const struct resource *resource = &view->record->resource;
    if (query->json) {
        print_object(query, json_of_resource(view));
        return more(query);
    }
    struct table *table = query->table;
    char hash[HASH_HEX];
    hash_format(&view->record->geometry, hash);
    table_cell(table, view->name, 0);
    table_cell(table, format_word(resource->format), 0);
    table_cell(table, resource_status_word(resource->status), status_colour(resource->status));
    table_cell(table, decline_reason_word(resource->reason), 0);
    table_cellf(table, 0, "%u", resource->vertices);
    table_cellf(table, 0, "%u", resource->triangles);
    const struct bounds *b = &resource->bounds;
    if (b->valid)
        table_cellf(table, 0, "%.4g x %.4g x %.4g", (double)b->max[0] - (double)b->min[0],
                    (double)b->max[1] - (double)b->min[1], (double)b->max[2] - (double)b->min[2]);
    else
        table_cell(table, NULL, 0);
    if (hash_is_zero(&view->record->geometry))
        table_cell(table, NULL, 0);
    else
        table_cellf(table, 2, "%s", hash);
    table_cell(table, view->address, 0);
    return more(query);
}

static bool query_resources(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table =
            table_new(stdout, resource_columns, sizeof resource_columns / sizeof *resource_columns);
    return view_sorted(txn, &query->filter, &query->sort, print_resource, query, err);
}

/* ---- containers
 * -------------------------------------------------------------------------------------------- */

static const struct table_column container_columns[] = {
    {"format", false, false},   {"status", false, false},   {"reason", false, false},
    {"bytes", true, false},     {"resources", true, false}, {"decoded", true, false},
    {"ambiguous", true, false}, {"declined", true, false},  {"places", true, false},
    {"container", false, true},
};

static bool print_container(const struct view_container *view, void *ctx)
{
    struct query *query = ctx;
    if (query->json) {
        print_object(query, json_of_container(view));
    } else {
        struct table *table = query->table;
        const uint32_t *by = view->by_status;
        uint32_t located = by[RESOURCE_DECODED] + by[RESOURCE_PROVEN] + by[RESOURCE_ASSIGNED];
        table_cell(table, format_word(view->format), 0);
        table_cell(table, container_status_word(view->status), view->status == CONTAINER_READ ? 32 : 33);
        table_cell(table, container_reason_word(view->reason), 0);
        table_cellf(table, 0, "%llu", (unsigned long long)view->bytes);
        table_cellf(table, 0, "%u", located + by[RESOURCE_AMBIGUOUS] + by[RESOURCE_DECLINED]);
        table_cellf(table, 0, "%u", located);
        table_cellf(table, 0, "%u", by[RESOURCE_AMBIGUOUS]);
        table_cellf(table, 0, "%u", by[RESOURCE_DECLINED]);
        table_cellf(table, 0, "%zu", view->also_count + 1);
        table_cell(table, view->path, 0);
    }
    return more(query) && query->rows != query->filter.limit;
}

static bool query_containers(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table =
            table_new(stdout, container_columns, sizeof container_columns / sizeof *container_columns);
    return view_containers(txn, print_container, query, err);
}

/* ---- coverage
 * ---------------------------------------------------------------------------------------------- */

static const struct table_column coverage_columns[] = {
    {"bytes", true, false},      {"texture", true, false}, {"index", true, false},
    {"vertex", true, false},     {"padding", true, false}, {"vertex-like", true, false},
    {"index-like", true, false}, {"other", true, false},   {"container", false, true},
};

static bool print_coverage(const struct view_container *view, void *ctx)
{
    static const enum coverage_kind order[] = {COVERAGE_TEXTURE, COVERAGE_INDEX,       COVERAGE_VERTEX,
                                               COVERAGE_PADDING, COVERAGE_VERTEX_LIKE, COVERAGE_INDEX_LIKE,
                                               COVERAGE_OTHER};
    struct query *query = ctx;
    if (view->format != FORMAT_XPR2 || !view->record)
        return true;
    struct arena arena = {0};
    struct container_record record = *view->record;
    bool ok = coverage_load(query->txn, &view->hash, &arena, &record, query->err);
    const struct container *container = &record.container;
    struct coverage_sums sums = coverage_sum(container->coverage, container->coverage_count);
    if (ok && query->json) {
        print_object(query, json_of_coverage(view, container));
    } else if (ok) {
        table_cellf(query->table, 0, "%llu", (unsigned long long)sums.total);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            table_cellf(query->table, order[i] == COVERAGE_VERTEX_LIKE && sums.bytes[order[i]] ? 33 : 0,
                        "%llu", (unsigned long long)sums.bytes[order[i]]);
        table_cell(query->table, view->path, 0);
    }
    arena_free(&arena);
    return ok && more(query) && query->rows != query->filter.limit;
}

static bool query_coverage(struct query *query, struct store_txn *txn, struct error *err)
{
    query->txn = txn;
    query->err = err;
    if (!query->json)
        query->table =
            table_new(stdout, coverage_columns, sizeof coverage_columns / sizeof *coverage_columns);
    return view_containers(txn, print_coverage, query, err) && err->code == ERROR_NONE;
}

/* ---- findings, the declined, priors
 * ------------------------------------------------------------------------- */

static const struct table_column finding_columns[] = {{"kind", false, false},
                                                      {"subject", false, false},
                                                      {"sides", true, false},
                                                      {"message", false, false},
                                                      {"container or first side", false, true}};

static bool print_finding(const struct view_finding *view, void *ctx)
{
    struct query *query = ctx;
    const struct finding_record *record = view->record;
    if (query->json) {
        print_object(query, json_of_finding(view));
    } else {
        bool quiet = record->kind == FINDING_SAME || record->kind == FINDING_VARIANT;
        table_cell(query->table, finding_kind_word(record->kind), quiet ? 32 : 33);
        table_cell(query->table, record->subject, 0);
        table_cellf(query->table, 0, "%u", record->side_count);
        table_cell(query->table, record->message, 0);
        table_cell(query->table,
                   view->container      ? view->container
                   : record->side_count ? view->addresses[0]
                                        : NULL,
                   0);
    }
    return more(query) && query->rows != query->filter.limit;
}

static bool query_findings(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table = table_new(stdout, finding_columns, sizeof finding_columns / sizeof *finding_columns);
    return view_findings(txn, query->kinds, print_finding, query, err);
}

static const struct table_column declined_columns[] = {
    {"by", false, false}, {"count", true, false}, {"change", true, false}, {"key", false, true}};

static bool print_declined(const struct view_declined *row, void *ctx)
{
    struct query *query = ctx;
    json_int_t change = (json_int_t)row->count - (json_int_t)row->before;
    if (query->json) {
        print_object(query, json_of_declined(row, query->compared));
    } else {
        table_cell(query->table, census_dimension_word(row->dimension), 0);
        table_cellf(query->table, 0, "%llu", (unsigned long long)row->count);
        if (query->compared)
            table_cellf(query->table, change ? 33 : 0, "%+lld", (long long)change);
        else
            table_cell(query->table, NULL, 0);
        table_cell(query->table, row->key, 0);
    }
    return more(query) && query->rows != query->filter.limit;
}

static bool query_declined(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table =
            table_new(stdout, declined_columns, sizeof declined_columns / sizeof *declined_columns);
    return view_declined(txn, &query->compared, print_declined, query, err);
}

static const struct table_column prior_columns[] = {
    {"blocks", true, false},     {"mod 16: 0", true, false}, {"4", true, false},
    {"8", true, false},          {"12", true, false},        {"mod 64: 0", true, false},
    {"gap median", true, false}, {"gap 90 %", true, false},  {"touching", true, false},
    {"in order", true, false},   {"container", false, true}};

static bool print_priors(const struct priors *priors, void *ctx)
{
    struct query *query = ctx;
    if (query->json) {
        print_object(query, json_of_priors(priors));
    } else {
        table_cellf(query->table, 0, "%u", priors->blocks);
        for (int i = 0; i < 4; i++)
            table_cellf(query->table, 0, "%u", priors->residue[4 * i]);
        table_cellf(query->table, 0, "%u", priors->aligned_64);
        table_cellf(query->table, 0, "%llu", (unsigned long long)priors->gap_median);
        table_cellf(query->table, 0, "%llu", (unsigned long long)priors->gap_most);
        table_cellf(query->table, 0, "%u", priors->touching);
        if (priors->pairs)
            table_cellf(query->table, 0, "%.3f", priors->order);
        else
            table_cell(query->table, NULL, 0);
        table_cell(query->table, priors->container ? priors->container : "(all)", 0);
    }
    return more(query) && query->rows != query->filter.limit;
}

static bool query_priors(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table = table_new(stdout, prior_columns, sizeof prior_columns / sizeof *prior_columns);
    return priors_each(txn, print_priors, query, err);
}

/* ---- unknown content and runs
 * ------------------------------------------------------------------------------ */

static const struct table_column unknown_columns[] = {{"count", true, false},
                                                      {"bytes", true, false},
                                                      {"magic", false, false},
                                                      {"text", false, false},
                                                      {"ending", false, false}};

/* The magic's bytes as characters where they are printable: "58505232" is easier to know as XPR2. */
static void magic_text(const char *hex, char out[static 8])
{
    size_t used = 0;
    for (; hex[0] && hex[1] && used < 4; hex += 2) {
        unsigned byte = 0;
        sscanf(hex, "%2x", &byte);
        out[used++] = byte >= 0x20 && byte < 0x7F ? (char)byte : '.';
    }
    out[used] = '\0';
}

static bool query_unknown(struct query *query, struct store_txn *txn, struct error *err)
{
    struct arena arena = {0};
    struct census_row *rows;
    size_t count = 0;
    bool ok = view_unknown(txn, &arena, &rows, &count, err);
    if (ok && !query->json)
        query->table = table_new(stdout, unknown_columns, sizeof unknown_columns / sizeof *unknown_columns);
    for (size_t i = 0; ok && i < count && !query->failed && (!query->filter.limit || i < query->filter.limit);
         i++) {
        char text[8];
        magic_text(rows[i].magic, text);
        if (query->json) {
            print_object(query, json_of_unknown(&rows[i]));
            continue;
        }
        table_cellf(query->table, 0, "%llu", (unsigned long long)rows[i].count);
        table_cellf(query->table, 0, "%llu", (unsigned long long)rows[i].bytes);
        table_cell(query->table, rows[i].magic, 0);
        table_cell(query->table, text, 0);
        table_cell(query->table, rows[i].ending, 0);
    }
    arena_free(&arena);
    return ok;
}

static const struct table_column run_columns[] = {
    {"run", true, false},        {"started", false, false},  {"seconds", true, false},
    {"containers", true, false}, {"resources", true, false}, {"known", true, false},
    {"decoded", true, false},    {"ambiguous", true, false}, {"declined", true, false},
    {"exit", true, false},       {"arguments", false, true},
};

static bool print_run(const struct run_record *run, void *ctx)
{
    struct query *query = ctx;
    if (query->json) {
        print_object(query, json_of_run(run));
        return more(query) && query->rows != query->filter.limit;
    }
    struct table *table = query->table;
    char started[24];
    time_text(run->started_ns, started);
    table_cellf(table, 0, "%llu", (unsigned long long)run->id);
    table_cell(table, started, 0);
    if (run->finished_ns)
        table_cellf(table, 0, "%.1f", (double)(run->finished_ns - run->started_ns) / 1e9);
    else
        table_cell(table, "unfinished", 33);
    table_cellf(table, 0, "%llu", (unsigned long long)run->containers);
    table_cellf(table, 0, "%llu", (unsigned long long)run->resources);
    table_cellf(table, 0, "%llu", (unsigned long long)run->skipped_unchanged);
    table_cellf(table, 0, "%llu",
                (unsigned long long)(run->by_status[RESOURCE_DECODED] + run->by_status[RESOURCE_PROVEN] +
                                     run->by_status[RESOURCE_ASSIGNED]));
    table_cellf(table, 0, "%llu", (unsigned long long)run->by_status[RESOURCE_AMBIGUOUS]);
    table_cellf(table, 0, "%llu", (unsigned long long)run->by_status[RESOURCE_DECLINED]);
    table_cellf(table, 0, "%d", run->exit_status);
    table_cell(table, run->arguments, 0);
    return more(query) && query->rows != query->filter.limit;
}

static bool query_runs(struct query *query, struct store_txn *txn, struct error *err)
{
    if (!query->json)
        query->table = table_new(stdout, run_columns, sizeof run_columns / sizeof *run_columns);
    return store_each_run(txn, print_run, query, err);
}

/* ---- the command
 * ------------------------------------------------------------------------------------------- */

static int parse_options(int argc, char **argv, struct query *query)
{
    const char *argument;
    struct error err = {0};
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            query->store_path = argument;
            break;
        case OPT_JSON:
            query->json = true;
            break;
        case OPT_CONTAINERS:
        case OPT_COVERAGE:
        case OPT_FINDINGS:
        case OPT_DECLINED:
        case OPT_PRIORS:
        case OPT_UNKNOWN:
        case OPT_RUNS:
            if (query->what && query->what != option)
                return usage_error(&command, "--%s and --%s exclude each other",
                                   command.options[query->what].name, command.options[option].name);
            query->what = option;
            break;
        case OPT_KIND:
            if (!filter_kinds(argument, &query->kinds, &err))
                return usage_error(&command, "--%s", err.msg);
            break;
        case OPT_SQL:
            query->sql_path = argument;
            break;
        case OPT_SORT:
            if (!filter_sort_option(&command, &query->sort, argument))
                return EXIT_USAGE;
            break;
        case OPT_LIMIT:
            if (!parse_number(argument, 1, UINT32_MAX, &query->filter.limit))
                return usage_error(&command, "--limit takes a number from 1, not '%s'", argument);
            break;
        case OPTIONS_HELP:
            return -1;
        case OPTIONS_BAD:
            return EXIT_USAGE;
        default:
            if (!filter_option(&command, &query->filter, option, argument))
                return EXIT_USAGE;
            query->filtered = true;
        }
    }
    if (!query->store_path)
        return usage_error(&command, "-s STORE is missing");
    if (optind < argc)
        return usage_error(&command, "'%s' is one word too many; filters are options", argv[optind]);
    if (query->kinds && query->what != OPT_FINDINGS)
        return usage_error(&command, "--kind selects what --findings lists");
    if (!filter_check(&command, &query->filter))
        return EXIT_USAGE;
    if (query->sql_path &&
        (query->what || query->filtered || query->sort.count || query->json || query->filter.limit))
        return usage_error(&command, "--sql writes everything; select and sort in the database");
    if (query->what && query->sort.count)
        return usage_error(&command, "--sort is for resources; what --%s lists has its own order",
                           command.options[query->what].name);
    if (query->what && query->filtered)
        return usage_error(&command, "filters select resources, not what --%s lists",
                           command.options[query->what].name);
    return EXIT_DONE;
}

int cmd_query(int argc, char **argv)
{
    struct query query = {0};
    struct error err = {0};
    int status = parse_options(argc, argv, &query);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    struct store *store = store_open(query.store_path, STORE_READ, false, &err);
    struct store_txn *txn = store ? store_begin_read(store, &err) : NULL;
    bool ok = txn != NULL;
    if (ok)
        ok = query.sql_path                 ? sql_write(txn, query.sql_path, &err)
             : query.what == OPT_CONTAINERS ? query_containers(&query, txn, &err)
             : query.what == OPT_COVERAGE   ? query_coverage(&query, txn, &err)
             : query.what == OPT_FINDINGS   ? query_findings(&query, txn, &err)
             : query.what == OPT_DECLINED   ? query_declined(&query, txn, &err)
             : query.what == OPT_PRIORS     ? query_priors(&query, txn, &err)
             : query.what == OPT_UNKNOWN    ? query_unknown(&query, txn, &err)
             : query.what == OPT_RUNS       ? query_runs(&query, txn, &err)
                                            : query_resources(&query, txn, &err);
    if (query.table)
        table_print(query.table);
    store_end_read(txn);
    store_close(store);
    if (ok && query.failed) {
        errno = query.failed;
        ok = print_failed(&err);
    }
    if (!ok)
        return failure(&err);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
