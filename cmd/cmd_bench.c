/* cmd_bench.c - `anchorage bench`: measurements, see bench/README.md. */
#include <string.h>

#include "bench/bench.h"
#include "cmd/cmd.h"
#include "pipeline/parallel.h"

enum { OPT_JSON, OPT_RUNS, OPT_MB, OPT_FILES, OPT_THREADS, OPT_DIRECTORY };

static const struct {
    const char *name;
    int (*run)(const struct bench_options *options);
} benches[] = {
    {"scan", bench_scan},   {"decode", bench_decode}, {"archives", bench_archives}, {"store", bench_store},
    {"serve", bench_serve}, {"report", bench_report}, {"crash", bench_crash},
};
#define BENCHES "scan, decode, archives, store, serve, report, crash"

static const struct command command = {
    .name = "bench",
    .usage = "scan|decode|archives|store|serve|report|crash [--json]",
    .purpose = "Measures beside the machine's own limit, in the same run: `scan` the anchor scan and all of\n"
               "location, `decode` a whole run over an uncompressed corpus and over many small files,\n"
               "`archives` one over zip, tar.gz, tar.zst and 7z beside libarchive alone, "
               "`store` the codecs, `serve` answers over 100 000 resources, `report` pages and\n"
               "pictures of a disc's resources, `crash` a run whose decoders crash (of builds for tests).",
    .options =
        (const struct option_info[]){
            [OPT_JSON] = {"json", 0, NULL, "one JSON object"},
            [OPT_RUNS] = {"runs", 0, "N", "timed runs of each side (default: 5)"},
            [OPT_MB] = {"megabytes", 0, "N",
                        "size of the corpus of `decode`, of each of `archives` (default: 512)"},
            [OPT_FILES] = {"files", 0, "N", "small files of `decode` (default: 100000) and `crash` (10000)"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads (default: all processors)"},
            [OPT_DIRECTORY] = {"directory", 'd', "DIR", "where corpora and stores go (default: build/bench)"},
            {0},
        },
};

int cmd_bench(int argc, char **argv)
{
    struct bench_options options = {.runs = 5,
                                    .bytes = UINT64_C(512) << 20,
                                    .threads = par_default_threads(),
                                    .directory = "build/bench"};
    const char *argument;
    uint64_t number = 0;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option == OPTIONS_HELP || option == OPTIONS_BAD)
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
        if (option == OPT_JSON) {
            options.json = true;
        } else if (option == OPT_DIRECTORY) {
            options.directory = argument;
        } else if (!parse_number(argument, 1,
                                 option == OPT_RUNS      ? 32
                                 : option == OPT_THREADS ? 1024
                                                         : 10000000,
                                 &number)) {
            return usage_error(&command, "--%s does not take '%s'", command.options[option].name, argument);
        } else if (option == OPT_RUNS) {
            options.runs = (unsigned)number;
        } else if (option == OPT_MB) {
            options.bytes = number << 20;
        } else if (option == OPT_FILES) {
            options.files = number;
        } else {
            options.threads = (int)number;
        }
    }
    if (argc - optind != 1)
        return usage_error(&command, "name one bench: %s", BENCHES);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        if (strcmp(argv[optind], benches[i].name) == 0) {
            int status = benches[i].run(&options);
            return flush_output() ? status : EXIT_FAILED;
        }
    return usage_error(&command, "there is no bench '%s'; there are %s", argv[optind], BENCHES);
}
