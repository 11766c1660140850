/* geometry.h - stored geometry on its way to an exporter or a picture.
 */
#ifndef ANCHORAGE_GEOMETRY_H
#define ANCHORAGE_GEOMETRY_H

#include "reports/view.h"

/* Reads a geometry into the arena; *mesh is NULL when the store has none of that hash. False only for an
 * error. */
bool geometry_load(struct store_txn *txn, const struct hash *hash, struct arena *arena,
                   const struct mesh **mesh, struct error *err);
/* Describes a geometry that is no resource's outcome, an alternative of something ambiguous, as a resource of
 * its own called `name`, which is kept. NULL when memory runs out. */
struct view_resource *geometry_as_resource(const struct hash *hash, const struct mesh *mesh, const char *name,
                                           struct arena *arena);

#endif
