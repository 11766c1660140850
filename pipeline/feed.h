/* feed.h - the bytes of an archive, from a file, from memory or from the spool, hashed on their way to
 * whoever reads them.
 *
 * A feed hands out blocks without copying where it can. It hashes what is delivered front to back, and what
 * is skipped in that order; only what was jumped over is read a second time, at the end. A file is read with
 * pread and never mapped: one that shrinks meanwhile is an error message then, not a signal. A feed belongs
 * to one thread at a time, and so do all windows of one feed together.
 */
#ifndef ANCHORAGE_FEED_H
#define ANCHORAGE_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/format.h"
#include "pipeline/spool.h"
#include "store/key.h"

/* Why bytes could not be had. The first one wins. */
struct failure {
    enum container_reason reason; /* CONTAINER_REASON_NONE: nothing failed */
    /* It is about where something lies, not about what it is (too deep, past a limit of the whole input): the
     * same bytes elsewhere may be read, so no record of their content may hold it. */
    bool by_place;
    bool no_memory; /* nothing is wrong with the input: a fault of the job, never an outcome */
    char message[200];
};
void failure_set(struct failure *failure, enum container_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with by_place set. */
void failure_set_by_place(struct failure *failure, enum container_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with no_memory set. */
void failure_set_no_memory(struct failure *failure);
/* Takes over another's, unless one is set. */
void failure_take(struct failure *failure, const struct failure *other);

struct feed;

/* Takes the descriptor of a regular file (it is closed by feed_close, and here when memory runs out and NULL
 * is returned). `hashed`: whether feed_hash will be called. */
struct feed *feed_file(int fd, bool hashed);
/* Takes malloc'ed bytes, likewise; they are hashed in one go when the hash is asked for. */
struct feed *feed_memory(uint8_t *data, size_t size);
/* Bytes that stay the caller's. */
struct feed *feed_borrowed(const uint8_t *data, size_t size);
/* A part of another feed as a feed of its own; of->size bounds it. `of` must outlive it and keeps what it
 * owns. What a window reads in order `of` hashes, too. NULL when memory runs out. */
struct feed *feed_window(struct feed *of, uint64_t offset, uint64_t size, bool hashed);
/* Bytes [start, start + size) of the spool, whose hash is known; closing gives the room back, so feeds of one
 * spool are closed in the reverse order of their making. */
struct feed *feed_spooled(struct spool *spool, uint64_t start, uint64_t size, const struct hash *hash);
void feed_close(struct feed *feed); /* NULL is legal */

/* `*pulse` moves with every read of its file, and of windows that are made of it later: a sign of life for
 * whoever watches a long one. NULL: nobody does. */
void feed_watch(struct feed *feed, _Atomic uint64_t *pulse);

/* From now on nothing is hashed, and what is skipped is not read; feed_hash may not be called. */
void feed_forget_hash(struct feed *feed);

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
/* The same for a reader that goes front to back with gaps: what lies in between is hashed now, while the disc
 * is there. False when it cannot be read. */
bool feed_advance(struct feed *feed, uint64_t position);
/* What failed last in reading; reason NONE when nothing has. */
const struct failure *feed_failure(const struct feed *feed);

/* Copies up to `size` bytes from a place without moving; fewer only at the end, -1 when reading fails. */
ssize_t feed_peek(struct feed *feed, uint64_t position, uint8_t *out, size_t size);

/* Whether a file still has the size and mtime it had when its feed was made; false sets feed_failure. What
 * was read is then one state of the file, as far as anybody can tell. */
bool feed_is_unchanged(struct feed *feed);

/* The hash of all bytes; may be asked for again. False (feed_failure) when they cannot be read, or are known
 * to have changed meanwhile. */
bool feed_hash(struct feed *feed, struct hash *hash);

#endif
