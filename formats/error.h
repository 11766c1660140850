/* error.h - how a failure is described: what kind, where in the input, in which words.
 *
 * Functions that can fail return bool (or NULL) and fill a caller-owned struct error. The first error wins:
 * setting an error that is already set changes nothing, so the cause is never overwritten by what followed
 * from it. Callers put their context in front ("submesh 3: ..."). Nothing here allocates; all of it may be
 * used from any thread on errors of its own.
 */
#ifndef ANCHORAGE_ERROR_H
#define ANCHORAGE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* What went wrong. The first group is about one item of the input and is recorded with that item; the second
 * stops the whole job. */
enum error_code {
    ERROR_NONE = 0,
    /* about an item */
    ERROR_TRUNCATED,   /* the input ends before what it announces */
    ERROR_MALFORMED,   /* a field contradicts the layout */
    ERROR_RANGE,       /* a count, index or offset leaves what it refers to */
    ERROR_UNSUPPORTED, /* a version or variant that is known and not read */
    ERROR_LIMIT,       /* past a limit of this program */
    /* about the job */
    ERROR_NOMEM,
    ERROR_IO,
    ERROR_STORE,
    ERROR_USAGE,
    ERROR_DISK, /* a disk is full or fails: a passing fault of the machine */
};

#define ERROR_NO_OFFSET UINT64_MAX

struct error {
    enum error_code code;
    uint64_t offset; /* bytes from the start of the container, or ERROR_NO_OFFSET */
    char msg[232];   /* one line, no newline at its end; may hold bytes of the input as they are */
};

/* Describes a failure, unless one is described already. Always returns false, so `return error_set(...)`
 * reads as what it does. `offset` is in bytes from the start of the container, or ERROR_NO_OFFSET. */
bool error_set(struct error *err, enum error_code code, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a call of the system that failed with `number`, an errno, which is said behind the words: of
 * kind ERROR_DISK where by it a disk is full or fails, else `otherwise`. */
bool error_set_system(struct error *err, enum error_code otherwise, int number, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts context and ": " in front of the message of an error that is set; a long message is cut at its end. */
void error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Forgets the error. */
void error_clear(struct error *err);

/* Whether the error concerns the whole job (memory, I/O, store) rather than one item. */
bool error_is_fatal(const struct error *err);

#endif
