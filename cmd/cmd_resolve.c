/* cmd_resolve.c - `anchorage resolve`: the global passes over what is stored. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/resolution.h"
#include "pipeline/captures.h"
#include "pipeline/parallel.h"
#include "pipeline/resolve.h"
#include "reports/view.h"

enum { OPT_STORE, OPT_CAPTURES, OPT_THREADS, OPT_JSON, OPT_WAIT_LOCK };

static const struct command command = {
    .name = "resolve",
    .usage = "-s STORE [--captures FILE] [-j N] [--json]",
    .purpose = "Decides everything in a store together, without reading a container again: equal bytes "
               "proven elsewhere,\n"
               "neighbours, mirrored twins; and finds what does not fit. `run` does the same at its end. "
               "Exits 3 when\n"
               "captures contradict each other or their resource.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store"},
            [OPT_CAPTURES] = {"captures", 0, "FILE",
                              "JSON lines: what a running engine drew; kept until withdrawn"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads (default: all processors)"},
            [OPT_JSON] = {"json", 0, NULL, "print what was done as one JSON object"},
            [OPT_WAIT_LOCK] = {"wait-lock", 0, NULL, "wait for another writer of the store"},
            {0},
        },
};

struct job {
    const char *store_path, *captures_path;
    int threads;
    bool json, wait_lock;
};

static int parse_options(int argc, char **argv, struct job *job)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            job->store_path = argument;
            break;
        case OPT_CAPTURES:
            job->captures_path = argument;
            break;
        case OPT_THREADS:
            if (!parse_threads(&command, argument, &job->threads))
                return EXIT_USAGE;
            break;
        case OPT_JSON:
            job->json = true;
            break;
        case OPT_WAIT_LOCK:
            job->wait_lock = true;
            break;
        case OPTIONS_HELP:
            return -1;
        default:
            return EXIT_USAGE;
        }
    }
    if (!job->store_path)
        return usage_error(&command, "-s STORE is missing");
    if (optind < argc)
        return usage_error(&command, "'%s' is one word too many", argv[optind]);
    return EXIT_DONE;
}

int cmd_resolve(int argc, char **argv)
{
    struct job job = {.threads = par_default_threads()};
    struct capture_list captures = {0};
    struct resolve_result result;
    struct error err = {0};
    uint64_t captured = 0;
    int status = parse_options(argc, argv, &job);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    /* The file first: one that is no list of captures must not leave half of it in the store. */
    bool ok = !job.captures_path || captures_read(job.captures_path, &captures, &err);
    struct store *store = ok ? store_open(job.store_path, STORE_WRITE, job.wait_lock, &err) : NULL;
    const struct resolve_options options = {.threads = job.threads};
    ok =
        store && captures_store(store, &captures, &captured, &err) && resolve(store, &options, &result, &err);
    if (ok && job.json)
        ok = json_print(resolution_json(&result), stdout) || print_failed(&err);
    else if (ok)
        resolution_print(stdout, &result);
    ok = ok && resolution_warn(store, &result, &err);
    captures_free(&captures);
    store_close(store);
    if (!ok)
        return err.code == ERROR_USAGE ? usage_error(&command, "%s", err.msg) : failure(&err);
    if (!flush_output())
        return EXIT_FAILED;
    return result.findings[FINDING_CONTRADICTED] ? EXIT_FAILED : EXIT_DONE;
}
