/* cmd_corpus.c - `anchorage corpus`: containers whose truth is known. */
#include <stdlib.h>
#include <string.h>

#include "bench/corpus/corpus.h"
#include "cmd/cmd.h"

enum { OPT_OUTPUT, OPT_SEED, OPT_SCALE, OPT_MODELS, OPT_IMAGES };

static const struct command command = {
    .name = "corpus",
    .usage = "-o DIR [--seed N] [--scale X] [--models DIR] [--images]",
    .purpose = "Writes a corpus of every format, as plain files and in archives, with truth.jsonl beside it: "
               "what a decoder\n"
               "must say of each resource. Equal seeds give equal bytes.",
    .options =
        (const struct option_info[]){
            [OPT_OUTPUT] = {"output", 'o', "DIR", "an empty folder, made when absent"},
            [OPT_SEED] = {"seed", 0, "N", "default: 1"},
            [OPT_SCALE] = {"scale", 0, "X", "1 is the studied disc, about 2 GB (default: 0.01)"},
            [OPT_MODELS] = {"models", 0, "DIR",
                            "take geometry from the OBJ files here, plain or in zip files"},
            [OPT_IMAGES] =
                {"images", 0, NULL,
                 "also an image of a game disc and a pack with its parts, with files of their own"},
            {0},
        },
};

int cmd_corpus(int argc, char **argv)
{
    struct corpus_options options = {.seed = 1, .scale = 0.01};
    const char *argument;
    char *end;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_OUTPUT:
            options.directory = argument;
            break;
        case OPT_SEED:
            if (!parse_number(argument, 0, UINT64_MAX, &options.seed))
                return usage_error(&command, "--seed takes a whole number, not '%s'", argument);
            break;
        case OPT_SCALE:
            options.scale = strtod(argument, &end);
            if (*end || !(options.scale > 0) || options.scale > 100)
                return usage_error(&command, "--scale takes a number above 0, at most 100, not '%s'",
                                   argument);
            break;
        case OPT_MODELS:
            options.models = argument;
            break;
        case OPT_IMAGES:
            options.images = true;
            break;
        default:
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
        }
    }
    if (!options.directory)
        return usage_error(&command, "-o DIR is missing");
    if (optind < argc)
        return usage_error(&command, "'%s' is one word too many", argv[optind]);
    struct error err = {0};
    return corpus_write(&options, &err) ? EXIT_DONE : failure(&err);
}
