/* xdvdfs.h - the file system of Xbox and Xbox 360 game discs, read straight from an image.
 *
 * An image holds one game partition at one of four places, often behind an ISO 9660 one of video. Its tables
 * are binary trees of entries, read here without recursion and without trust: an entry that is damaged costs
 * what it names and what hangs below it, nothing else. Layout and rules: docs/images.md.
 */
#ifndef ANCHORAGE_XDVDFS_H
#define ANCHORAGE_XDVDFS_H

#include "pipeline/unpack.h"

/* An image with a partition anywhere but at its start is larger than this. */
#define XDVDFS_NEXT_BASE UINT64_C(0x02080000)

/* Whether the feed is an image with a game partition, and where in it that begins. */
bool xdvdfs_find(struct feed *feed, uint64_t *base);

/* Opens the partition at `base`; takes the feed. Members come in the order they lie in. With `iso9660` the
 * last one is the image itself, to be read as ISO 9660. NULL when memory runs out. */
struct unpacker *unpack_xdvdfs(struct feed *feed, uint64_t base, bool iso9660,
                               const struct unpack_limits *limits);

#endif
