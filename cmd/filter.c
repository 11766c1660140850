/* filter.c - see filter.h */
#include "cmd/filter.h"

#include <string.h>

static const char *status_word(int i)
{
    return resource_status_word((enum resource_status)i);
}

static const char *reason_word(int i)
{
    return decline_reason_word((enum decline_reason)i);
}

static const char *format_name(int i)
{
    return format_word((enum format_id)i);
}

/* Words separated by commas to a mask of their numbers. */
static bool parse_words(const char *list, const char *(*word)(int), int count, uint32_t *mask)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        int i;
        for (i = 0; i < count; i++)
            if (word(i) && strlen(word(i)) == length && strncmp(word(i), list, length) == 0)
                break;
        if (i == count)
            return false;
        *mask |= UINT32_C(1) << i;
        list += length + (list[length] == ',');
    }
    return *mask != 0;
}

bool filter_option(const struct command *command, struct view_filter *filter, int option,
                   const char *argument)
{
    bool ok = true;
    switch (option) {
    case FILTER_NAME:
        filter->name = argument;
        break;
    case FILTER_CONTAINER:
        filter->container = argument;
        break;
    case FILTER_STATUS:
        ok = parse_words(argument, status_word, RESOURCE_STATUS_COUNT, &filter->statuses);
        break;
    case FILTER_REASON:
        ok = parse_words(argument, reason_word, DECLINE_REASON_COUNT, &filter->reasons);
        break;
    case FILTER_FORMAT:
        ok = parse_words(argument, format_name, FORMAT_COUNT, &filter->formats);
        break;
    case FILTER_MIN:
        ok = parse_number(argument, 0, UINT32_MAX, &filter->min_triangles);
        break;
    case FILTER_MAX:
        ok = parse_number(argument, 1, UINT32_MAX, &filter->max_triangles);
        break;
    default:
        ok = false;
    }
    if (!ok)
        usage_error(command, "--%s does not know '%s'", command->options[option].name, argument);
    return ok;
}
