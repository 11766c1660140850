/* cmd_plan.c - `anchorage plan`: the work of a run, cut into shards of about the same bytes. */
#include <string.h>

#include "cmd/job.h"
#include "pipeline/plan.h"
#include "reports/text.h"

enum { OPT_OUTPUT, OPT_SHARDS, OPT_SPLIT };

static const struct command command = {
    .name = "plan",
    .usage = "-o PLAN --shards N [--split BYTES] INPUT...",
    .purpose =
        "Lists the work in the inputs with its sizes and deals it out to N shards by bytes, the largest "
        "first. "
        "Archives\n"
        "whose members can be passed over unread (zip, plain tar, disc images) are shared by several shards; "
        "solid and\n"
        "compressed ones stay whole. `run --plan PLAN --shard K/N` does one of them.",
    .options =
        (const struct option_info[]){
            [OPT_OUTPUT] = {"output", 'o', "PLAN", "JSON lines, docs/cluster.md; - is stdout"},
            [OPT_SHARDS] = {"shards", 0, "N", "how many"},
            [OPT_SPLIT] = {"split", 0, "BYTES", "share archives of at least that size (default: 64 MiB)"},
            {0},
        },
};

struct planning {
    const char *output;
    uint64_t shards, split;
};

static int parse_options(int argc, char **argv, struct planning *planning)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_OUTPUT:
            planning->output = argument;
            break;
        case OPT_SHARDS:
            if (!parse_number(argument, 1, 1000000, &planning->shards))
                return usage_error(&command, "--shards takes a number from 1 to 1000000, not '%s'", argument);
            break;
        case OPT_SPLIT:
            if (!parse_number(argument, 0, INT64_MAX, &planning->split))
                return usage_error(&command, "--split takes a number of bytes, not '%s'", argument);
            break;
        case OPTIONS_HELP:
            return -1;
        default:
            return EXIT_USAGE;
        }
    }
    if (!planning->output)
        return usage_error(&command, "-o PLAN is missing");
    if (!planning->shards)
        return usage_error(&command, "--shards N is missing");
    if (optind == argc)
        return usage_error(&command, "there is no INPUT");
    return EXIT_DONE;
}

/* On stderr: stdout may be the plan. */
static void tell(const struct plan *plan)
{
    char count[28], total[16], least[16], most[16];
    uint64_t sum = 0, low = UINT64_MAX, high = 0;
    size_t pieces;
    plan_pieces(plan, &pieces);
    for (uint32_t i = 0; i < plan_shards(plan); i++) {
        uint64_t bytes = plan_bytes(plan, i);
        sum += bytes;
        low = bytes < low ? bytes : low;
        high = bytes > high ? bytes : high;
    }
    text_count(pieces, count);
    text_bytes(sum, total);
    text_bytes(low, least);
    text_bytes(high, most);
    fprintf(stderr, "anchorage: %s pieces of work, %s, in %u shards of %s to %s\n", count, total,
            plan_shards(plan), least, most);
}

int cmd_plan(int argc, char **argv)
{
    struct planning planning = {.split = SHARD_SPLIT_BYTES};
    int status = parse_options(argc, argv, &planning);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    struct error err = {0};
    bool to_stdout = strcmp(planning.output, "-") == 0;
    struct plan *plan = plan_make((const char *const *)argv + optind, (size_t)(argc - optind),
                                  (uint32_t)planning.shards, planning.split, &err);
    bool ok =
        plan && (to_stdout ? plan_write(plan, stdout, &err) : job_save_plan(plan, planning.output, &err));
    if (ok)
        tell(plan);
    plan_free(plan);
    if (!ok)
        return failure(&err);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
