/* cmd_cat.c - `anchorage cat`: a container's raw bytes. */
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "pipeline/address.h"
#include "pipeline/extract.h"

static const struct command command = {
    .name = "cat",
    .usage = "ADDRESS",
    .purpose = "Writes the bytes at an address (`night.zip!old.7z!models/CALPB.BGF`) to stdout.",
    .options = (const struct option_info[]){{0}},
};

int cmd_cat(int argc, char **argv)
{
    const char *argument;
    int option = options_next(&command, argc, argv, &argument);
    if (option != OPTIONS_END)
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
    const struct extract_limits limits = EXTRACT_LIMITS_DEFAULT;
    struct extracted item = {0};
    struct error err = {0};
    bool ok = extract_address(address.container, &limits, &item, &err);
    if (ok)
        fwrite(item.data, 1, item.size, stdout);
    extracted_free(&item);
    address_free(&address);
    if (!ok)
        return failure(&err);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
