/* extract_archive.h - archives and compressed files that libarchive reads. */
#ifndef ANCHORAGE_EXTRACT_ARCHIVE_H
#define ANCHORAGE_EXTRACT_ARCHIVE_H

#include "pipeline/signature.h"
#include "pipeline/unpack.h"

/* Opens what `signature` was found in; takes the feed. A compressed file is an archive of one member, which
 * has its name from `base`, the file's own; it must outlive the unpacker. NULL with *nomem false when the
 * evidence was weak and there is no archive after all; an archive that is one but cannot be read opens, and
 * says so at its end. */
struct unpacker *unpack_archive(struct feed *feed, struct signature signature, const char *base,
                                const struct unpack_limits *limits, bool *nomem);

/* The record at the end of a zip's directory (APPNOTE.TXT 4.3.16), the last one there is, at most a comment's
 * length from the end. False when there is none. */
#define ZIP_END_SIZE 22
bool zip_end(struct feed *feed, uint8_t record[static ZIP_END_SIZE], uint64_t *at);

#endif
