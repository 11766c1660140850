/* cmd_report.c - `anchorage report`: pages and figures of a store, for people and for their monitoring. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "pipeline/parallel.h"
#include "reports/report.h"

enum { OPT_STORE, OPT_OUTPUT, OPT_THREADS, OPT_NO_THUMBNAILS };

static const struct command command = {
    .name = "report",
    .usage = "-s STORE -o DIR",
    .purpose =
        "Writes what a store holds into a folder: index.html (the dashboard; opens from disk),\n"
        "sheet.html (cast sheets), report.json, metrics.prom, and a picture of each geometry in thumbs/.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store"},
            [OPT_OUTPUT] = {"output", 'o', "DIR", "the folder; made when absent"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads (default: all processors)"},
            [OPT_NO_THUMBNAILS] = {"no-thumbnails", 0, NULL, "draw no pictures"},
            {0},
        },
};

int cmd_report(int argc, char **argv)
{
    struct report_options options = {
        .program = ANCHORAGE_VERSION, .threads = par_default_threads(), .thumbnails = true};
    const char *argument;
    uint64_t number;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            options.store_path = argument;
            break;
        case OPT_OUTPUT:
            options.directory = argument;
            break;
        case OPT_THREADS:
            if (!parse_number(argument, 1, 1024, &number))
                return usage_error(&command, "-j takes a number from 1 to 1024, not '%s'", argument);
            options.threads = (int)number;
            break;
        case OPT_NO_THUMBNAILS:
            options.thumbnails = false;
            break;
        case OPTIONS_HELP:
            return EXIT_DONE;
        default:
            return EXIT_USAGE;
        }
    }
    if (!options.store_path || !options.directory)
        return usage_error(&command, "%s is missing", options.store_path ? "-o DIR" : "-s STORE");
    if (optind != argc)
        return usage_error(&command, "'%s' is too much", argv[optind]);
    struct error err = {0};
    struct report_result result;
    struct store *store = store_open(options.store_path, STORE_READ, false, &err);
    bool ok = store && report_write(store, &options, &result, &err);
    store_close(store);
    if (!ok)
        return failure(&err);
    printf("%s/index.html\n", options.directory);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
