/* quarantine.h - what brought a worker down in an earlier run is not tried again.
 */
#ifndef ANCHORAGE_QUARANTINE_H
#define ANCHORAGE_QUARANTINE_H

#include "store/store.h"

/* Turns every crashed or timed-out outcome of earlier runs into a quarantined one, its message kept. As
 * records of a known content by a known decoder they are then skipped like any other, until the decoder's
 * version changes. False with *err set for faults of the store. */
bool quarantine(struct store *store, struct error *err);

#endif
