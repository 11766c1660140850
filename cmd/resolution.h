/* resolution.h - what the global passes did, told by `resolve` and `run`. */
#ifndef ANCHORAGE_CMD_RESOLUTION_H
#define ANCHORAGE_CMD_RESOLUTION_H

#include <jansson.h>
#include <stdio.h>

#include "pipeline/resolve.h"

/* A few lines: what was decided, and how many findings there are of each kind. Whether there were any. */
bool resolution_print(FILE *out, const struct resolve_result *result);
/* The same as an object. NULL when memory runs out. */
json_t *resolution_json(const struct resolve_result *result);
/* Warns of every contradicted capture in a line that names both. False with *err set only for an error of the
 * store. */
bool resolution_warn(struct store *store, const struct resolve_result *result, struct error *err);

#endif
