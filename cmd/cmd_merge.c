/* cmd_merge.c - `anchorage merge`: several stores into one. */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/job.h"
#include "cmd/merging.h"
#include "pipeline/parallel.h"

enum { OPT_OUTPUT, OPT_PREFER, OPT_CAPTURES, OPT_THREADS, OPT_JSON, OPT_JOB };

static const struct command command = {
    .name = "merge",
    .usage = "-o STORE [options] STORE...",
    .purpose = "Merges stores into one, whatever their order, and decides everything in it together "
               "(`resolve`). The "
               "result\n"
               "is what one run over all inputs would have made. It is written aside and then takes its "
               "place at once; "
               "a store\n"
               "that was there may be among those that are merged.",
    .options =
        (const struct option_info[]){
            [OPT_OUTPUT] = {"output", 'o', "STORE", "the merged store; a store that is there is replaced"},
            [OPT_PREFER] = {"prefer", 0, "newer",
                            "of results by different decoder versions take the newer; default: refuse"},
            [OPT_CAPTURES] = {"captures", 0, "FILE",
                              "JSON lines: what a running engine drew; kept until withdrawn"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads of resolve (default: all processors)"},
            [OPT_JSON] = {"json", 0, NULL, "print the summary as one JSON object"},
            [OPT_JOB] = {"job", 0, "DIR",
                         "merge the shards of a job into its store, if all are there; no STORE, no -o then"},
            {0},
        },
};

static int parse_options(int argc, char **argv, struct merging *merging, const char **job)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_OUTPUT:
            merging->output = argument;
            break;
        case OPT_PREFER:
            if (strcmp(argument, "newer") != 0)
                return usage_error(&command, "--prefer takes newer, not '%s'", argument);
            merging->options.prefer_newer = true;
            break;
        case OPT_CAPTURES:
            merging->captures_path = argument;
            break;
        case OPT_THREADS:
            if (!parse_threads(&command, argument, &merging->threads))
                return EXIT_USAGE;
            break;
        case OPT_JSON:
            merging->json = true;
            break;
        case OPT_JOB:
            *job = argument;
            break;
        case OPTIONS_HELP:
            return -1;
        default:
            return EXIT_USAGE;
        }
    }
    if (*job && (merging->output || merging->captures_path || merging->options.prefer_newer || optind < argc))
        return usage_error(&command, "--job goes with -j and --json alone: the job has all else");
    if (*job)
        return EXIT_DONE;
    if (!merging->output)
        return usage_error(&command, "-o STORE is missing");
    if (optind == argc)
        return usage_error(&command, "there is no STORE to merge");
    return EXIT_DONE;
}

int cmd_merge(int argc, char **argv)
{
    struct merging merging = {.threads = par_default_threads()};
    const char *job = NULL;
    int status = parse_options(argc, argv, &merging, &job);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    if (job)
        return job_reduce(job, merging.threads, merging.json);
    merging.inputs = (const char *const *)argv + optind;
    merging.input_count = (size_t)(argc - optind);
    return merge_stores(&merging);
}
