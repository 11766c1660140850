/* cmd_prune.c - `anchorage prune`: a store without what is gone and what is old. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "pipeline/address.h"
#include "pipeline/parallel.h"
#include "pipeline/resolve.h"
#include "reports/text.h"
#include "reports/view.h"
#include "store/place.h"
#include "store/prune.h"

enum { OPT_KEEP_RUNS, OPT_ALL_GONE, OPT_THREADS, OPT_JSON };

static const struct command command = {
    .name = "prune",
    .usage = "STORE [--keep-runs N] [--json]",
    .purpose =
        "Drops inputs whose file is gone with all that was in them, contents without a place, geometry that\n"
        "nothing uses, and old runs; decides the rest anew, and writes the store without gaps. Relative "
        "paths\n"
        "of inputs are looked for from the current folder, as `run` found them.",
    .options =
        (const struct option_info[]){
            [OPT_KEEP_RUNS] = {"keep-runs", 0, "N", "keep the newest N runs (default: all)"},
            [OPT_ALL_GONE] = {"all-gone", 0, NULL, "go on when not one of the inputs is there"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads of resolve (default: all processors)"},
            [OPT_JSON] = {"json", 0, NULL, "print the summary as one JSON object"},
            {0},
        },
};

struct job {
    struct prune_options options;
    struct prune_result result;
    int threads;
    bool json, all_gone;
};

/* What cannot be looked at (a folder that may not be read) counts as there. */
static bool is_gone(const char *path, void *ctx)
{
    struct stat status;
    (void)ctx;
    char *file = address_unescape(path, strlen(path), NULL);
    if (!file)
        return false;
    bool gone = stat(*file ? file : ".", &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
    free(file);
    return gone;
}

static int parse_options(int argc, char **argv, struct job *job)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_KEEP_RUNS:
            if (!parse_number(argument, 1, UINT32_MAX, &job->options.keep_runs))
                return usage_error(&command, "--keep-runs takes a number from 1, not '%s'", argument);
            break;
        case OPT_ALL_GONE:
            job->all_gone = true;
            break;
        case OPT_THREADS:
            if (!parse_threads(&command, argument, &job->threads))
                return EXIT_USAGE;
            break;
        case OPT_JSON:
            job->json = true;
            break;
        default:
            return option == OPTIONS_HELP ? -1 : EXIT_USAGE;
        }
    }
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "STORE is missing" : "one STORE at a time");
    return EXIT_DONE;
}

static bool prune(struct job *job, const char *path, struct error *err)
{
    const struct resolve_options how = {.threads = job->threads};
    const struct prune_result *result = &job->result;
    struct resolve_result resolved;
    struct place place;
    bool ok = place_begin(&place, path, err);
    if (ok && !place.old)
        ok = error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "store '%s' does not exist", path);
    ok = ok && store_prune(place.old, place.store, &job->options, &job->result, err);
    if (ok && result->inputs && result->gone == result->inputs && !job->all_gone)
        ok = error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                       "not one of the %llu inputs is there, seen from this folder; nothing was dropped "
                       "(--all-gone drops everything)",
                       (unsigned long long)result->inputs);
    ok = ok && resolve(place.store, &how, &resolved, err) &&
         place_commit(&place, store_is_sealed(place.old), err);
    place_abandon(&place);
    return ok;
}

static void print_result(const struct prune_result *result)
{
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {
        {"inputs that are gone", result->gone},
        {"places inside them", result->members},
        {"contents without a place", result->contents},
        {"their resources", result->resources},
        {"geometries that nothing uses", result->geometries},
        {"old runs", result->runs},
    };
    char count[28], before[16], after[16];
    puts("Dropped");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_count(rows[i].count, count);
        printf("  %-30s %9s\n", rows[i].what, count);
    }
    text_bytes(result->bytes_before, before);
    text_bytes(result->bytes_after, after);
    printf("%s became %s\n", before, after);
}

static bool print_json(const struct prune_result *result)
{
    return json_print(
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "inputs", (json_int_t)result->inputs,
                  "gone", (json_int_t)result->gone, "members", (json_int_t)result->members, "contents",
                  (json_int_t)result->contents, "resources", (json_int_t)result->resources, "geometries",
                  (json_int_t)result->geometries, "runs", (json_int_t)result->runs, "bytes_before",
                  (json_int_t)result->bytes_before, "bytes_after", (json_int_t)result->bytes_after),
        stdout);
}

int cmd_prune(int argc, char **argv)
{
    struct job job = {.options = {.is_gone = is_gone, .keep_runs = UINT64_MAX},
                      .threads = par_default_threads()};
    struct error err = {0};
    int status = parse_options(argc, argv, &job);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    if (!prune(&job, argv[optind], &err))
        return failure(&err);
    bool printed = true;
    if (job.json)
        printed = print_json(&job.result);
    else
        print_result(&job.result);
    return flush_output() && printed ? EXIT_DONE : EXIT_FAILED;
}
