/* filter.c - see filter.h */
#include "cmd/filter.h"

#include "reports/filter.h"

bool filter_option(const struct command *command, struct view_filter *filter, int option,
                   const char *argument)
{
    struct error err = {0};
    bool known;
    if (filter_set(filter, command->options[option].name, argument, &known, &err))
        return true;
    usage_error(command, "--%s", err.msg);
    return false;
}

bool filter_check(const struct command *command, const struct view_filter *filter)
{
    struct error err = {0};
    if (filter_possible(filter, &err))
        return true;
    usage_error(command, "--%s", err.msg);
    return false;
}

bool filter_sort_option(const struct command *command, struct view_sort *sort, const char *argument)
{
    struct error err = {0};
    if (filter_sort(sort, argument, &err))
        return true;
    usage_error(command, "--%s", err.msg);
    return false;
}
