/* aside.c - see aside.h */
#include "reports/aside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cannot_write(const char *path, struct error *err)
{
    return error_set_system(err, ERROR_IO, errno, "cannot write %s", path);
}

static void forget(struct aside *aside)
{
    free(aside->path);
    free(aside->temporary);
    *aside = (struct aside){0};
}

bool aside_open(struct aside *aside, const char *path, struct error *err)
{
    size_t room = strlen(path) + 32;
    *aside = (struct aside){.path = strdup(path), .temporary = malloc(room)};
    bool ok = aside->path && aside->temporary;
    if (!ok) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    } else {
        snprintf(aside->temporary, room, "%s.part-%ld", path, (long)getpid());
        aside->out = fopen(aside->temporary, "wbe");
        ok = aside->out || cannot_write(path, err);
    }
    if (!ok)
        forget(aside);
    return ok;
}

/* Why an earlier write failed: the file is thrown away, and one more byte fails for the same reason. */
static int why_failed(FILE *out)
{
    errno = 0;
    return fputc(0, out) == EOF || fflush(out) != 0 ? errno : EIO;
}

bool aside_close(struct aside *aside, bool whole, struct error *err)
{
    const int failed = ferror(aside->out) ? why_failed(aside->out) : 0;
    bool ok = fclose(aside->out) == 0;
    errno = failed ? failed : errno;
    ok = ok && !failed && whole && rename(aside->temporary, aside->path) == 0;
    if (!ok && whole)
        cannot_write(aside->path, err);
    if (!ok)
        unlink(aside->temporary);
    forget(aside);
    return ok;
}

bool aside_write(const char *path, const struct buffer *bytes, struct error *err)
{
    struct aside aside;
    if (bytes->failed)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing %s", path);
    if (!aside_open(&aside, path, err))
        return false;
    if (bytes->size)
        fwrite(bytes->data, 1, bytes->size, aside.out); /* what it does not take aside_close notices */
    return aside_close(&aside, true, err);
}
