/* pack.h - archives for tests, made in memory by libarchive's writers. */
#ifndef ANCHORAGE_TEST_PACK_H
#define ANCHORAGE_TEST_PACK_H

#include "formats/buffer.h"

struct pack_member {
    const char *name;
    const void *bytes;
    size_t size;
    const char *hardlink, *symlink; /* in place of bytes */
    bool directory;
    unsigned type; /* AE_IFCHR and the like in place of a regular file's; 0: none of them */
};

/* Appends an archive of `format` ("zip", "pax", ...; libarchive's names) to `out`, through `filter` when that
 * is not NULL ("gzip", ...), with libarchive's `options` and, for zip's, a password, or NULL. Fails the test
 * when this libarchive cannot. Times are fixed, so that equal calls give equal bytes. */
void pack(struct buffer *out, const char *format, const char *filter, const char *options,
          const char *password, const struct pack_member *members, size_t count);

/* One file, compressed alone. */
void pack_lone(struct buffer *out, const char *filter, const void *bytes, size_t size);

#endif
