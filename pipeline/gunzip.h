/* gunzip.h - a gzip or zlib stream, with its checksums verified.
 *
 * libarchive 3.6 reads gzip and never looks at the CRC and length behind the data, so a damaged file that
 * still inflates would pass for a good one. zlib verifies both; this is the thinnest layer over it. A stream
 * may consist of several members (RFC 1952, 2.2); what follows the last one and is no member is ignored, as
 * gzip(1) does.
 */
#ifndef ANCHORAGE_GUNZIP_H
#define ANCHORAGE_GUNZIP_H

#include "pipeline/feed.h"

struct gunzip;

/* Reads from the feed's position on; the feed stays the caller's and must outlive it. NULL when memory runs
 * out. */
struct gunzip *gunzip_new(struct feed *feed);
/* The same for one zlib stream (RFC 1950) up to its end, whose checksum is verified too. */
struct gunzip *gunzip_new_zlib(struct feed *feed);
void gunzip_free(struct gunzip *gunzip); /* NULL is legal */

/* The next block of plain bytes, good until the next call: its length, 0 at the end, -1 when the stream is
 * damaged or ends early; *failure is then set. */
ssize_t gunzip_read(struct gunzip *gunzip, const uint8_t **block, struct failure *failure);
/* At the end of a zlib stream: the Adler-32 of what came out. */
uint32_t gunzip_checksum(const struct gunzip *gunzip);

#endif
