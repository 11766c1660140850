/* place.c - see place.h */
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_internal.h"

static bool is_file(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".mdb") == 0;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

void place_sync_directory(const char *path)
{
    char *directory = directory_of(path);
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}

bool place_is_local(const char *path)
{
    struct error ignored = {0};
    char *directory = directory_of(path);
    bool local = !directory || lock_check_filesystem(directory, &ignored);
    free(directory);
    return local;
}

static bool fail(const struct place *place, const char *what, struct error *err)
{
    return error_set_system(err, ERROR_STORE, errno, "store '%s' %s", place->path, what);
}

/* Removes a store's files; what else is in its directory stays, and the directory with it. */
static void remove_store(const char *path)
{
    static const char *const in_directory[] = {"/data.mdb", "/lock.mdb", "/writer.lock"};
    static const char *const beside_file[] = {"", "-lock", "-writer"};
    const char *const *names = is_file(path) ? beside_file : in_directory;
    char name[4096];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, names[i]);
        unlink(name);
    }
    rmdir(path);
}

static void remove_locks(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s-lock", path);
    unlink(name);
    snprintf(name, sizeof name, "%s-writer", path);
    unlink(name);
}

/* Opens what is at the place, so that nobody writes it meanwhile; a sealed one cannot be written anyway. */
static bool open_old(struct place *place, struct error *err)
{
    struct stat status;
    if (stat(place->path, &status) != 0)
        return errno == ENOENT || fail(place, "cannot be looked at", err);
    if (S_ISDIR(status.st_mode) && rmdir(place->path) == 0)
        return true;
    bool sealed = S_ISREG(status.st_mode) && !(status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH));
    place->old = store_open(place->path, sealed ? STORE_READ : STORE_WRITE, false, err);
    return place->old;
}

/* The names; the place itself is not looked at. */
static bool name_place(struct place *place, const char *path, struct error *err)
{
    *place = (struct place){.path = strdup(path)};
    for (size_t length = strlen(path); place->path && length > 1 && place->path[length - 1] == '/'; length--)
        place->path[length - 1] = '\0';
    int length = -1;
    if (place->path)
        length = is_file(place->path) ? asprintf(&place->aside, "%s.tmp-%ld.mdb", place->path, (long)getpid())
                                      : asprintf(&place->aside, "%s.tmp-%ld", place->path, (long)getpid());
    if (length < 0) {
        place->aside = NULL;
        return store_nomem(err);
    }
    return true;
}

static bool open_aside(struct place *place, struct error *err)
{
    remove_store(place->aside); /* of a process of the same number that was killed */
    place->store = store_open(place->aside, STORE_SCRATCH, false, err);
    return place->store;
}

const char *place_own_directory(void)
{
    static const char *const names[] = {"SLURM_TMPDIR", "TMPDIR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return "/tmp";
}

bool place_begin_elsewhere(struct place *place, const char *path, const char *directory, struct error *err)
{
    if (!name_place(place, path, err))
        return false;
    if (!is_file(place->path))
        return error_set(
            err, ERROR_STORE, ERROR_NO_OFFSET,
            "store '%s' is to be on a file system that other machines share; there it is one file, "
            "whose name ends in .mdb",
            place->path);
    free(place->aside);
    place->elsewhere = true;
    if (asprintf(&place->aside, "%s/anchorage-place-%ld.mdb", directory, (long)getpid()) < 0) {
        place->aside = NULL;
        return store_nomem(err);
    }
    return open_old(place, err) && open_aside(place, err);
}

bool place_begin(struct place *place, const char *path, struct error *err)
{
    if (!place_is_local(path))
        return place_begin_elsewhere(place, path, place_own_directory(), err);
    return name_place(place, path, err) && open_old(place, err) && open_aside(place, err);
}

bool place_begin_beside(struct place *place, const char *path, struct error *err)
{
    return name_place(place, path, err) && open_aside(place, err);
}

/* Swaps two directories, so that there is a store at the place at any time; where the file system cannot,
 * there is none for a moment. */
static bool swap(const struct place *place, struct error *err)
{
    if (renameat2(AT_FDCWD, place->aside, AT_FDCWD, place->path, RENAME_EXCHANGE) == 0) {
        remove_store(place->aside);
        return true;
    }
    char old[4096];
    snprintf(old, sizeof old, "%s.old-%ld", place->path, (long)getpid());
    if (rename(place->path, old) != 0)
        return fail(place, "cannot be replaced", err);
    if (rename(place->aside, place->path) != 0) {
        fail(place, "cannot be replaced", err);
        rename(old, place->path);
        return false;
    }
    remove_store(old);
    return true;
}

static bool put(const struct place *place, bool sealed, struct error *err)
{
    if (!is_file(place->path)) {
        if (place->old)
            return swap(place, err);
        return rename(place->aside, place->path) == 0 || fail(place, "cannot be put in its place", err);
    }
    remove_locks(place->aside);
    if (sealed && chmod(place->aside, 0444) != 0)
        return fail(place, "cannot be sealed", err);
    if (rename(place->aside, place->path) != 0)
        return fail(place, "cannot be put in its place", err);
    /* LMDB's lock file belongs to the data file that it was made for. */
    remove_locks(place->path);
    return true;
}

/* Writes the new store beside its place and renames it. */
static bool carry(struct place *place, struct error *err)
{
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.tmp-%ld", place->path, (long)getpid());
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(place, "cannot be written", err);
    bool ok = store_copy(place->store, fd, beside, err) &&
              ((fchmod(fd, 0444) == 0 && fsync(fd) == 0) || fail(place, "cannot be written", err));
    if (close(fd) != 0 && ok)
        ok = fail(place, "cannot be written", err);
    if (ok && rename(beside, place->path) != 0)
        ok = fail(place, "cannot be put in its place", err);
    if (!ok) {
        unlink(beside);
        return false;
    }
    remove_locks(place->path);
    store_close(place->store);
    place->store = NULL;
    remove_store(place->aside);
    return true;
}

bool place_commit(struct place *place, bool sealed, struct error *err)
{
    if (place->elsewhere) {
        if (!carry(place, err))
            return false;
        place_sync_directory(place->path);
        store_close(place->old);
        place->old = NULL;
        return true;
    }
    bool synced = store_sync(place->store, err);
    store_close(place->store);
    place->store = NULL;
    if (!synced || !put(place, sealed, err))
        return false;
    place_sync_directory(place->path);
    store_close(place->old);
    place->old = NULL;
    return true;
}

bool place_commit_keeping(struct place *place, const char *kept, struct error *err)
{
    bool synced = store_sync(place->store, err);
    store_close(place->store);
    place->store = NULL;
    if (!synced)
        return false;
    if (is_file(place->path))
        remove_locks(place->aside);
    /* Swapped, so that there is a store at the place at any time; where the file system cannot, for a moment
     * there is none. */
    if (renameat2(AT_FDCWD, place->aside, AT_FDCWD, place->path, RENAME_EXCHANGE) == 0) {
        if (rename(place->aside, kept) != 0)
            return fail(place, "is repaired, and what it was cannot be renamed", err);
    } else if (rename(place->path, kept) != 0 || rename(place->aside, place->path) != 0) {
        return fail(place, "cannot be replaced", err);
    }
    if (is_file(place->path)) /* LMDB's lock file belongs to the data file that it was made for */
        remove_locks(place->path);
    place_sync_directory(place->path);
    return true;
}

void place_abandon(struct place *place)
{
    if (place->store) {
        store_close(place->store);
        place->store = NULL;
    }
    if (place->aside)
        remove_store(place->aside);
    store_close(place->old);
    place->old = NULL;
    free(place->path);
    free(place->aside);
    place->path = place->aside = NULL;
}
