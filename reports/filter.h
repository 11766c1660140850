/* filter.h - the words that select resources, the same on a command line and in a request.
 */
#ifndef ANCHORAGE_FILTER_H
#define ANCHORAGE_FILTER_H

#include "reports/view.h"

/* Sets one condition: `name` without dashes ("name", "container", "status", "reason", "format",
 * "min-triangles", "max-triangles"), globs as fnmatch takes them, lists separated by commas. `value` is kept,
 * not copied. False with *err set (ERROR_USAGE, "min-triangles does not know 'x'") when the value makes no
 * sense. *known tells whether there is a condition of that name. */
bool filter_set(struct view_filter *filter, const char *name, const char *value, bool *known,
                struct error *err);

#endif
