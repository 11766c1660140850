/* feed.h - the bytes of an archive, from a file or from memory, hashed on their way to whoever reads them.
 *
 * A feed hands out blocks without copying where it can. It hashes what is delivered front to back, and what
 * is skipped in that order; only what was jumped over is read a second time, at the end. A file is read with
 * pread and never mapped: one that shrinks meanwhile is an error message then, not a signal. A feed belongs
 * to one thread at a time.
 */
#ifndef ANCHORAGE_FEED_H
#define ANCHORAGE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/format.h"
#include "store/key.h"

/* Why bytes could not be had. The first one wins. */
struct failure {
    enum container_reason reason; /* CONTAINER_REASON_NONE: nothing failed */
    char message[200];
};
void failure_set(struct failure *failure, enum container_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct feed;

/* Takes the descriptor of a regular file (it is closed by feed_close, and here when memory runs out and NULL
 * is returned). `hashed`: whether feed_hash will be called. */
struct feed *feed_file(int fd, bool hashed);
/* Takes malloc'ed bytes, likewise; they are hashed in one go when the hash is asked for. */
struct feed *feed_memory(uint8_t *data, size_t size);
void feed_close(struct feed *feed); /* NULL is legal */

uint64_t feed_size(const struct feed *feed);
/* The furthest byte delivered or skipped so far. */
uint64_t feed_reached(const struct feed *feed);

/* The next block, good until the next call: its length, 0 at the end, -1 on failure (feed_failure). */
ssize_t feed_read(struct feed *feed, const uint8_t **block);
/* Moves on by at most `count` bytes; how many it was. -1 when the bytes in between, which are hashed, cannot
 * be read. */
int64_t feed_skip(struct feed *feed, int64_t count);
/* Goes to a place, at most to the end: where it then is. */
uint64_t feed_seek(struct feed *feed, uint64_t position);
/* What failed last in reading; reason NONE when nothing has. */
const struct failure *feed_failure(const struct feed *feed);

/* Copies up to `size` bytes from a place without moving; fewer only at the end, -1 when reading fails. */
ssize_t feed_peek(struct feed *feed, uint64_t position, uint8_t *out, size_t size);

/* Whether a file still has the size and mtime it had when its feed was made; false sets feed_failure. What
 * was read is then one state of the file, as far as anybody can tell. */
bool feed_is_unchanged(struct feed *feed);

/* The hash of all bytes. False (feed_failure) when they cannot be read, or are known to have changed
 * meanwhile. */
bool feed_hash(struct feed *feed, struct hash *hash);

#endif
