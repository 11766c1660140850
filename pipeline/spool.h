/* spool.h - room on disc for archives inside archives that are too large for memory.
 *
 * One anonymous file, used as a stack: an archive lies behind those around it, and its room is given back
 * when it is done with. Nothing has a name in the file system, so nothing is left behind however the program
 * ends. A spool belongs to one thread at a time.
 */
#ifndef ANCHORAGE_SPOOL_H
#define ANCHORAGE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

struct spool;

/* A spool in `dir`; NULL: where large temporary files go, $TMPDIR or else /var/tmp. The file is made when it
 * is first written to, or by spool_ready. NULL when memory runs out. */
struct spool *spool_new(const char *dir);
/* The same over an empty file that is open already, for a process that may not make any. Takes `fd`. */
struct spool *spool_of(int fd);
void spool_free(struct spool *spool); /* NULL is legal */

/* Makes the file now. False with *err set when that fails. */
bool spool_ready(struct spool *spool, struct error *err);
int spool_fd(const struct spool *spool); /* -1: not made yet */
/* Where it lies, for messages. */
const char *spool_directory(const struct spool *spool);

/* Bytes in use: where the next write belongs. */
uint64_t spool_used(const struct spool *spool);
/* Puts bytes at `offset`, which is not below what is in use and may leave a gap, which reads as zeros. False
 * when the disc does not take them: spool_error. */
bool spool_write(struct spool *spool, uint64_t offset, const void *bytes, size_t size);
/* Takes what was written up to `end` into use. */
bool spool_keep(struct spool *spool, uint64_t end);
/* Gives back all from `start` on, written or in use. */
void spool_release(struct spool *spool, uint64_t start);

/* The fault that a call returned false for: the disc's, not the input's. */
const struct error *spool_error(const struct spool *spool);

#endif
