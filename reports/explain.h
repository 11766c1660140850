/* explain.h - a resource or a container in words and numbers, for `show` and `inspect`. */
#ifndef ANCHORAGE_EXPLAIN_H
#define ANCHORAGE_EXPLAIN_H

#include <stdio.h>

#include "formats/format.h"

/* Everything that is known of one resource; `name` is shown for formats without a directory. */
void explain_resource(FILE *out, const struct resource *resource, const char *name);
/* A container: directory, textures, tags, damage; then one line a resource. */
void explain_container(FILE *out, const struct container *container, uint64_t bytes, const char *path,
                       const char *stem);
/* Why a located resource lies where it is said to lie: the evidence of every candidate in words, what tells
 * the chosen one from its rivals, and the margin. Nothing for resources without candidates. */
void explain_decision(FILE *out, const struct resource *resource);
/* The list-or-strip test of formats/topology.h in one line. */
void explain_topology(FILE *out, const struct mesh *mesh);
/* "12.5 x 3 x 40 from (-6, 0, -20) to (6.5, 3, 20)". */
void explain_bounds(FILE *out, const struct bounds *bounds);

#endif
