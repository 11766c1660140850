/* filter.h - the words that select resources, the same on a command line and in a request.
 */
#ifndef ANCHORAGE_FILTER_H
#define ANCHORAGE_FILTER_H

#include "reports/view.h"

/* Sets one condition: `name` without dashes ("name", "container", "status", "reason", "format",
 * "min-triangles", "max-triangles", "bounds"), globs as fnmatch takes them, lists separated by commas, a box
 * as x0,y0,z0,x1,y1,z1 where a number left out leaves that side open. `value` is kept, not copied. False with
 * *err set (ERROR_USAGE, "min-triangles does not know 'x'") when the value makes no sense or the condition is
 * set already. *known tells whether there is a condition of that name. */
bool filter_set(struct view_filter *filter, const char *name, const char *value, bool *known,
                struct error *err);
/* Whether there is a condition of that name. */
bool filter_knows(const char *name);
/* Kinds of findings, separated by commas, to bits. False with *err set (ERROR_USAGE). */
bool filter_kinds(const char *list, uint32_t *kinds, struct error *err);
/* False with *err set (ERROR_USAGE, beginning with the name of a condition) when no resource can pass. */
bool filter_possible(const struct view_filter *filter, struct error *err);
/* Reads keys separated by commas, '-' in front of one for descending: "-triangles,name". False with *err set
 * (ERROR_USAGE, "sort does not know 'x'") for anything else. */
bool filter_sort(struct view_sort *sort, const char *keys, struct error *err);

#endif
