/* ipfb.h - packs of the studied disc: an index of hashes, and the bytes in parts beside it.
 *
 * `NAME.pak` (any ending) is the index, `NAME.p00` to `NAME.p15` are the parts. A part that is missing costs
 * what lies in it. Names are not stored: members are called by their hash. Layout and rules: docs/images.md.
 */
#ifndef ANCHORAGE_IPFB_H
#define ANCHORAGE_IPFB_H

#include "pipeline/unpack.h"

#define IPFB_PARTS 16

/* Which part of the pack `index` a path is, by their names alone (ASCII letters of either case are equal); -1
 * when it is none. */
int ipfb_part_number(const char *index, const char *path);

/* Opens a pack; takes the index's feed and those of the parts, NULL for one that is missing. NULL when memory
 * runs out. */
struct unpacker *unpack_ipfb(struct feed *feed, struct feed *parts[static IPFB_PARTS],
                             const struct unpack_limits *limits);

#endif
