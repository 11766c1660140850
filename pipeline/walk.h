/* walk.h - the plain files behind a list of inputs, in a fixed order.
 *
 * Inputs come in the order given; a directory's entries in byte order of their names, each directory where
 * its name stands. Symbolic links inside a directory are not followed, so there are no loops and nothing
 * outside it; an input that is a link itself is followed. FIFOs, sockets and devices are never opened: inside
 * a directory they do not count, as an input they are a failure. A walk belongs to one thread at a time.
 */
#ifndef ANCHORAGE_WALK_H
#define ANCHORAGE_WALK_H

#include "pipeline/feed.h"

struct walk;

struct walk_entry {
    char *path; /* its address (pipeline/address.h); the caller's to free */
    bool is_input;
    uint64_t size;
    int64_t mtime_ns;
    struct failure failure; /* set: a file, directory or input that cannot be had */
    int directory;          /* where walk_open_file opens it: a descriptor, or AT_FDCWD */
    const char *name;       /* and under which name; both good until the next walk_next */
    int fd;                 /* of an input that somebody else opened, good as long; else -1 */
};

/* The inputs must outlive the walk. NULL when memory runs out. */
struct walk *walk_new(const char *const *inputs, size_t count);
/* Opens the next input, in order, in place of the walk: a descriptor, which the walk takes, or -1 with *why
 * as inputs_receive has it. For a process that may open nothing but what lies beneath an input. */
void walk_open_inputs(struct walk *walk, int (*open)(void *ctx, int *why), void *ctx);
/* Inputs for which walked[i] is true are what an earlier walk found: they are no inputs of anybody, links are
 * not followed, and one that is gone is passed over. [count], must outlive the walk. */
void walk_again(struct walk *walk, const bool *walked);
/* 1 with *entry filled, 0 at the end, -1 when memory runs out. */
int walk_next(struct walk *walk, struct walk_entry *entry);
void walk_free(struct walk *walk); /* NULL is legal */

/* Opens the entry's file for reading, never anything but a regular file; -1 with *failure set. */
int walk_open_file(const struct walk_entry *entry, struct failure *failure);
/* The same for any path; links are followed. */
int walk_open_path(const char *path, struct failure *failure);

/* The parts of a pack (ipfb.h) that may lie beside the entry if that is its index: as bits, by their names
 * alone. Costs a search in the folder's names. */
uint32_t walk_parts(const struct walk *walk, const struct walk_entry *entry);
/* One of them: its path, which is the caller's, size and time. False when there is no such file. */
bool walk_part(const struct walk_entry *entry, unsigned number, struct walk_entry *part);
/* Opens it for reading; -1 when there is no such file. */
int walk_open_part(const struct walk_entry *entry, unsigned number);

#endif
