/* cmd_report.c - `anchorage report`: pages and figures of a store, for people and for their monitoring. */
#include "cmd/cmd.h"
#include "pipeline/parallel.h"
#include "reports/report.h"
#include "reports/text.h"

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

/* A line of what was written; the folder's name is shown as text. */
static void print_file(const char *directory, const char *name, const char *what)
{
    char visible[1024];
    text_visible(directory, visible, sizeof visible);
    printf("%s/%-14s %s\n", visible, name, what);
}

static void print_result(const struct report_options *options, const struct report_result *result)
{
    char drawn[28], kept[28], pictures[96];
    print_file(options->directory, "index.html", "the dashboard");
    print_file(options->directory, "sheet.html", "cast sheets");
    print_file(options->directory, "report.json", "the same for programs");
    print_file(options->directory, "metrics.prom", "for Prometheus' textfile collector");
    text_count(result->drawn, drawn);
    text_count(result->kept, kept);
    snprintf(pictures, sizeof pictures, "%s pictures drawn, %s kept", drawn, kept);
    if (options->thumbnails)
        print_file(options->directory, "thumbs/", pictures);
    if (result->undrawable)
        warning("%llu geometries are no sound mesh and have no picture",
                (unsigned long long)result->undrawable);
    if (result->plain)
        warning("this program was built without its dashboard; index.html says how to get it");
}

int cmd_report(int argc, char **argv)
{
    struct report_options options = {
        .program = ANCHORAGE_VERSION, .threads = par_default_threads(), .thumbnails = true};
    const char *argument;
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
            if (!parse_threads(&command, argument, &options.threads))
                return EXIT_USAGE;
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
    struct report_result result = {0};
    struct store *store = store_open(options.store_path, STORE_READ, false, &err);
    bool ok = store && report_write(store, &options, &result, &err);
    store_close(store);
    if (!ok)
        return failure(&err);
    print_result(&options, &result);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
