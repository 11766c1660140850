/* declined.h - the census of what was declined. */
#ifndef ANCHORAGE_DECLINED_H
#define ANCHORAGE_DECLINED_H

#include "pipeline/passes.h"

/* Counts declined resources by reason, by the letters their names begin with, by container and by declared
 * vertices, under the number of the last stored run. Rows live in the passes' arena. */
bool declined_census(struct passes *passes, struct declined_census *census, struct error *err);

#endif
