/* filter.c - see filter.h */
#include "reports/filter.h"

#include <math.h>
#include <stdlib.h>
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

/* Formats of resources only: no resource is an archive or an XPR2. */
static const char *format_name(int i)
{
    bool of_resources = i == FORMAT_XBG7 || i == FORMAT_BGF || i == FORMAT_BMF || i == FORMAT_MESHBIN;
    return of_resources ? format_word((enum format_id)i) : NULL;
}

static const char *sort_word(int i)
{
    return view_sort_word((enum view_sort_key)i);
}

static bool refuse(struct error *err, const char *name, const char *what)
{
    return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s %s", name, what);
}

/* The number of the word that `list` begins with, and its length; false with the words that would do. */
static bool find_word(const char *name, const char *list, const char *(*word)(int), int count, int *found,
                      size_t *length, struct error *err)
{
    char known[200] = "";
    size_t used = 0;
    *length = strcspn(list, ",");
    for (*found = 0; *found < count; ++*found) {
        const char *w = word(*found);
        if (w && strlen(w) == *length && strncmp(w, list, *length) == 0)
            return true;
        if (w && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", w);
    }
    return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s does not know '%.*s'; it knows %s", name,
                     *length < 40 ? (int)*length : 40, list, known);
}

/* Words separated by commas to a mask of their numbers. */
static bool parse_words(const char *name, const char *list, const char *(*word)(int), int count,
                        uint32_t *mask, struct error *err)
{
    do {
        size_t length;
        int number;
        if (!find_word(name, list, word, count, &number, &length, err))
            return false;
        *mask |= UINT32_C(1) << number;
        list += length + (list[length] == ',');
    } while (*list);
    return true;
}

/* Six numbers; one that is left out leaves its side open. */
static bool parse_box(const char *text, struct view_filter *filter)
{
    for (int i = 0; i < 6; i++) {
        double *side = i < 3 ? &filter->box_min[i] : &filter->box_max[i - 3];
        size_t length = strcspn(text, ",");
        char *end;
        *side = i < 3 ? -INFINITY : INFINITY;
        if (length) {
            *side = strtod(text, &end);
            if (end != text + length || !isfinite(*side))
                return false;
        }
        if (text[length] != (i < 5 ? ',' : '\0'))
            return false;
        text += length + 1;
    }
    filter->boxed = true;
    return true;
}

static bool parse_count(const char *name, const char *value, uint64_t least, uint64_t *count,
                        struct error *err)
{
    return text_number(value, least, UINT32_MAX, count) ||
           error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s takes a number from %llu, not '%.100s'", name,
                     (unsigned long long)least, value);
}

bool filter_set(struct view_filter *filter, const char *name, const char *value, bool *known,
                struct error *err)
{
    const struct {
        const char *name;
        bool set;
    } conditions[] = {
        {"name", filter->name},
        {"container", filter->container},
        {"status", filter->statuses},
        {"reason", filter->reasons},
        {"format", filter->formats},
        {"min-triangles", filter->min_triangles},
        {"max-triangles", filter->max_triangles},
        {"bounds", filter->boxed},
    };
    size_t count = sizeof conditions / sizeof *conditions, which = 0;
    while (which < count && strcmp(conditions[which].name, name) != 0)
        which++;
    *known = which < count;
    if (*known && conditions[which].set)
        return refuse(err, name, "was given before");
    switch (which) {
    case 0:
        filter->name = value;
        return true;
    case 1:
        filter->container = value;
        return true;
    case 2:
        return parse_words(name, value, status_word, RESOURCE_STATUS_COUNT, &filter->statuses, err);
    case 3:
        return parse_words(name, value, reason_word, DECLINE_REASON_COUNT, &filter->reasons, err);
    case 4:
        return parse_words(name, value, format_name, FORMAT_COUNT, &filter->formats, err);
    case 5:
        return parse_count(name, value, 0, &filter->min_triangles, err);
    case 6:
        return parse_count(name, value, 1, &filter->max_triangles, err);
    case 7:
        return parse_box(value, filter) || error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                                                     "%s takes x0,y0,z0,x1,y1,z1, not '%.100s'", name, value);
    default:
        return true;
    }
}

bool filter_knows(const char *name)
{
    struct view_filter none = {0};
    struct error err = {0};
    bool known;
    filter_set(&none, name, "", &known, &err);
    return known;
}

static const char *kind_word(int i)
{
    return finding_kind_word((enum finding_kind)i);
}

bool filter_kinds(const char *list, uint32_t *kinds, struct error *err)
{
    return parse_words("kind", list, kind_word, FINDING_KIND_COUNT, kinds, err);
}

bool filter_possible(const struct view_filter *filter, struct error *err)
{
    const uint32_t declined = UINT32_C(1) << RESOURCE_DECLINED;
    if (filter->max_triangles && filter->min_triangles > filter->max_triangles)
        return refuse(err, "min-triangles", "is more than max-triangles");
    if (filter->reasons && filter->statuses && !(filter->statuses & declined))
        return refuse(err, "reason", "selects what is declined, and status does not");
    if (filter->boxed && (filter->reasons || filter->statuses == declined))
        return refuse(err, "bounds", "are not known of what is declined");
    for (int axis = 0; axis < 3 && filter->boxed; axis++)
        if (filter->box_min[axis] > filter->box_max[axis])
            return refuse(err, "bounds", "have a least side beyond the greatest");
    return true;
}

bool filter_sort(struct view_sort *sort, const char *keys, struct error *err)
{
    uint32_t seen = 0;
    if (sort->count)
        return refuse(err, "sort", "takes several keys at once, separated by commas");
    do {
        bool descending = *keys == '-';
        size_t length;
        int key;
        keys += descending;
        if (!find_word("sort", keys, sort_word, VIEW_SORT_KEYS, &key, &length, err))
            return false;
        if (seen >> key & 1)
            return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "sort has '%s' twice", sort_word(key));
        seen |= UINT32_C(1) << key;
        sort->keys[sort->count].key = (enum view_sort_key)key;
        sort->keys[sort->count++].descending = descending;
        keys += length + (keys[length] == ',');
    } while (*keys);
    return true;
}
