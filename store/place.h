/* place.h - a store written aside and then put in its place, whole or not at all.
 *
 * What is at the place, and is read there, stays untouched until the new store is complete and durable; then
 * it takes the other's name in one step. Readers that have the old one open go on reading it.
 */
#ifndef ANCHORAGE_PLACE_H
#define ANCHORAGE_PLACE_H

#include "store/store.h"

struct place {
    struct store *store; /* the new one, open for writing */
    struct store *old;   /* what is at the place now, locked against writers; NULL: nothing */
    char *path, *aside;
    bool elsewhere; /* `aside` is on another file system, from where the store is carried */
};

/* Opens a new store beside `path`. What is at `path` may be absent, an empty directory, or a store; anything
 * else is refused. On a file system that other machines write to no store may be written: there it is made in
 * this machine's own directory instead (place_begin_elsewhere). False with *err set; place_abandon in any
 * case. */
bool place_begin(struct place *place, const char *path, struct error *err);
/* The same with the new store in `directory`, from where it is carried over by plain writes and is sealed in
 * any case; `path` ends in .mdb. */
bool place_begin_elsewhere(struct place *place, const char *path, const char *directory, struct error *err);
/* This machine's own directory for what is being made: $SLURM_TMPDIR, else $TMPDIR, else /tmp. */
const char *place_own_directory(void);
/* Makes the new store durable, closes both, and puts the new one in the place. `sealed`: only for a path that
 * ends in .mdb; nobody may write it then. False with *err set, and the place is as it was. */
bool place_commit(struct place *place, bool sealed, struct error *err);
/* For a store that cannot be opened: opens a new store beside it without looking at what is there, which the
 * caller keeps others from writing. */
bool place_begin_beside(struct place *place, const char *path, struct error *err);
/* As place_commit, and what was there is called `kept` from then on. */
bool place_commit_keeping(struct place *place, const char *kept, struct error *err);
/* Closes and removes what is left. */
void place_abandon(struct place *place);

/* Whether a store may be written at that path, or only put there sealed: false on a file system that other
 * machines share. The directory above it has to exist. */
bool place_is_local(const char *path);

/* Waits until the entries of the directory that `path` is in are on the disk. */
void place_sync_directory(const char *path);

#endif
