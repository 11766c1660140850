/* split.h - can several shards share an archive, each reading its own members only?
 *
 * Only where passing a member over costs nothing and changes nothing about the members that follow: where a
 * directory or the headers alone say where each begins. Solid and compressed archives have to be unpacked
 * from their start in any case, so they stay whole. Pure but for the reads.
 */
#ifndef ANCHORAGE_SPLIT_H
#define ANCHORAGE_SPLIT_H

#include "pipeline/feed.h"
#include "pipeline/signature.h"

/* Whether an archive with that signature can be entered member by member: a plain tar, a disc image (game
 * partition or ISO 9660), and a zip that libarchive reads by its directory. */
bool split_possible(struct feed *feed, struct signature signature);

#endif
