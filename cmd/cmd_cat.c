/* cmd_cat.c - `anchorage cat`: a container's raw bytes. */
#include <string.h>
#include <unistd.h>

#include "cmd/limits.h"
#include "pipeline/address.h"

static const struct command command = {
    .name = "cat",
    .usage = "[options] ADDRESS",
    .purpose = "Writes the bytes at an address (`night.zip!old.7z!models/CALPB.BGF`) to stdout.",
    .options = (const struct option_info[]){LIMIT_OPTIONS(0), {0}},
};

int cmd_cat(int argc, char **argv)
{
    const char *argument;
    struct limit_settings settings = LIMIT_SETTINGS_DEFAULT;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END)
        if (option < 0 || !limit_option(&command, &settings, option, argument))
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "there is no ADDRESS" : "one ADDRESS at a time");
    struct address address;
    if (!address_parse(argv[optind], &address))
        return failure(&(struct error){.code = ERROR_NOMEM, .msg = "out of memory"});
    if (address.resource) {
        address_free(&address);
        return usage_error(&command, "'%s' names a resource; cat writes whole containers", argv[optind]);
    }
    if (isatty(STDOUT_FILENO)) {
        address_free(&address);
        return usage_error(&command, "the bytes are binary; redirect them to a file or a pipe");
    }
    struct extract_options options;
    struct extracted item = {0};
    struct error err = {0};
    bool ok = limit_extract_options(&settings, &options, &err) &&
              extract_address(address.container, &options, &item, &err);
    if (ok)
        fwrite(item.data, 1, item.size, stdout);
    extracted_free(&item);
    spool_free(options.spool);
    address_free(&address);
    if (!ok)
        return failure(&err);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
