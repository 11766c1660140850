/* earlier.h - what earlier runs said that a new one must not leave as it stands.
 */
#ifndef ANCHORAGE_EARLIER_H
#define ANCHORAGE_EARLIER_H

#include "store/store.h"

/* Turns every crashed or timed-out outcome of earlier runs into a quarantined one, its message kept: what
 * brought a worker down is not tried again. As records of a known content by a known decoder they are then
 * skipped like any other, until the decoder's version changes. Then earlier_forget. False with *err set for
 * faults of the store. */
bool earlier_review(struct store *store, struct error *err);

/* Forgets plain files that could not be read where there is a directory now that can be: a disk that was not
 * mounted that night. Directories have no records, so nothing else would replace it; relative paths are
 * looked for from the current folder. A merge of a night's shards does it for the store that they began from.
 * Errors as above. */
bool earlier_forget(struct store *store, struct error *err);

#endif
