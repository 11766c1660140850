/* spool.c - see spool.h */
#include "pipeline/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool {
    const char *dir;
    int fd; /* -1: not made yet */
    uint64_t used;
    struct error err;
};

struct spool *spool_new(const char *dir)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return NULL;
    const char *usual = getenv("TMPDIR");
    spool->dir = dir ? dir : usual && *usual ? usual : "/var/tmp";
    spool->fd = -1;
    return spool;
}

struct spool *spool_of(int fd)
{
    struct spool *spool = spool_new(NULL);
    if (spool)
        spool->fd = fd;
    else
        close(fd);
    return spool;
}

void spool_free(struct spool *spool)
{
    if (!spool)
        return;
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}

/* For file systems that have no O_TMPFILE. */
static int open_unlinked(const char *dir)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/anchorage-XXXXXX", dir);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool make_file(struct spool *spool)
{
    if (spool->fd >= 0)
        return true;
    spool->fd = open(spool->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spool->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
        spool->fd = open_unlinked(spool->dir);
    return spool->fd >= 0 ||
           error_set_system(&spool->err, ERROR_IO, errno, "cannot make a spool file in %s", spool->dir);
}

bool spool_ready(struct spool *spool, struct error *err)
{
    if (make_file(spool))
        return true;
    *err = spool->err;
    return false;
}

int spool_fd(const struct spool *spool)
{
    return spool->fd;
}

const char *spool_directory(const struct spool *spool)
{
    return spool->dir;
}

uint64_t spool_used(const struct spool *spool)
{
    return spool->used;
}

static bool fail(struct spool *spool)
{
    return error_set_system(&spool->err, ERROR_IO, errno, "the spool file (--tmp DIR moves it)");
}

bool spool_write(struct spool *spool, uint64_t offset, const void *bytes, size_t size)
{
    if (!make_file(spool))
        return false;
    const char *from = bytes;
    while (size) {
        ssize_t n = pwrite(spool->fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(spool);
        from += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool spool_keep(struct spool *spool, uint64_t end)
{
    if (!make_file(spool))
        return false;
    /* A gap at the end has not been written. */
    if (ftruncate(spool->fd, (off_t)end) != 0)
        return fail(spool);
    spool->used = end;
    return true;
}

void spool_release(struct spool *spool, uint64_t start)
{
    if (start < spool->used)
        spool->used = start;
    if (spool->fd >= 0 && ftruncate(spool->fd, (off_t)spool->used) != 0)
        fail(spool); /* told by the next call that needs the room */
}

const struct error *spool_error(const struct spool *spool)
{
    return &spool->err;
}
