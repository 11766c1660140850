/* cmd_repair.c - `anchorage repair`: what is sound of a damaged store. */
#include "cmd/cmd.h"
#include "reports/text.h"
#include "store/repair.h"

static const struct command command = {
    .name = "repair",
    .usage = "STORE",
    .purpose =
        "Puts all that is sound of a damaged store into a new one in its place, names what the next run has "
        "to\n"
        "decode again, and keeps the damaged one beside it as STORE.damaged. A sound store is left as it is.",
    .options = (const struct option_info[]){{0}},
};

static void print_place(const char *place, void *ctx)
{
    char text[4096];
    (void)ctx;
    text_visible(place, text, sizeof text);
    printf("to be decoded again: %s\n", text);
}

static void print_result(const struct repair_result *result)
{
    char sources[28], contents[28], resources[28], geometries[28], lost[28];
    text_count(result->sources, sources);
    text_count(result->contents, contents);
    text_count(result->resources, resources);
    text_count(result->geometries, geometries);
    text_count(result->lost_contents, lost);
    printf("saved: %s sources, %s containers, %s resources, %s geometries; to be decoded again: %s\n",
           sources, contents, resources, geometries, lost);
    if (result->lost_captures)
        printf("%llu captures are lost: give them again (--captures)\n",
               (unsigned long long)result->lost_captures);
    printf("The damaged store is %s now. Run the same inputs again: what is missing is decoded anew.\n",
           result->kept_as);
}

int cmd_repair(int argc, char **argv)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END)
        return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "STORE is missing" : "one STORE at a time");
    struct repair_result result;
    struct error err = {0};
    if (!store_repair(argv[optind], print_place, NULL, &result, &err))
        return failure(&err);
    if (result.was_sound)
        puts("sound: nothing to repair");
    else
        print_result(&result);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
