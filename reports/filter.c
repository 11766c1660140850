/* filter.c - see filter.h */
#include "reports/filter.h"

#include <string.h>

#include "reports/text.h"

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

bool filter_set(struct view_filter *filter, const char *name, const char *value, bool *known,
                struct error *err)
{
    bool ok = true;
    *known = true;
    if (strcmp(name, "name") == 0)
        filter->name = value;
    else if (strcmp(name, "container") == 0)
        filter->container = value;
    else if (strcmp(name, "status") == 0)
        ok = parse_words(value, status_word, RESOURCE_STATUS_COUNT, &filter->statuses);
    else if (strcmp(name, "reason") == 0)
        ok = parse_words(value, reason_word, DECLINE_REASON_COUNT, &filter->reasons);
    else if (strcmp(name, "format") == 0)
        ok = parse_words(value, format_name, FORMAT_COUNT, &filter->formats);
    else if (strcmp(name, "min-triangles") == 0)
        ok = text_number(value, 0, UINT32_MAX, &filter->min_triangles);
    else if (strcmp(name, "max-triangles") == 0)
        ok = text_number(value, 1, UINT32_MAX, &filter->max_triangles);
    else
        *known = false;
    return ok || error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s does not know '%.100s'", name, value);
}
