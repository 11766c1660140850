/* error.c - see error.h */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void describe(struct error *err, enum error_code code, uint64_t offset, const char *fmt, va_list args)
{
    err->code = code;
    err->offset = offset;
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
}

bool error_set(struct error *err, enum error_code code, uint64_t offset, const char *fmt, ...)
{
    if (err->code != ERROR_NONE)
        return false;
    va_list args;
    va_start(args, fmt);
    describe(err, code, offset, fmt, args);
    va_end(args);
    return false;
}

/* EFBIG is of `ulimit -f`, ESTALE of a network's disk that went away. */
static bool is_of_disk(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG || number == EIO || number == ESTALE;
}

bool error_set_system(struct error *err, enum error_code otherwise, int number, const char *fmt, ...)
{
    if (err->code != ERROR_NONE)
        return false;
    va_list args;
    va_start(args, fmt);
    describe(err, is_of_disk(number) ? ERROR_DISK : otherwise, ERROR_NO_OFFSET, fmt, args);
    va_end(args);
    /* A message that was cut gives up its own end for the cause. */
    const char *cause = strerror(number);
    const size_t most = sizeof err->msg - strlen(cause) - sizeof ": ";
    size_t used = strlen(err->msg);
    used = used < most ? used : most;
    snprintf(err->msg + used, sizeof err->msg - used, ": %s", cause);
    return false;
}

void error_prefix(struct error *err, const char *fmt, ...)
{
    if (err->code == ERROR_NONE)
        return;
    char whole[sizeof err->msg];
    va_list args;
    va_start(args, fmt);
    int used = vsnprintf(whole, sizeof whole, fmt, args);
    va_end(args);
    if (used < 0 || (size_t)used >= sizeof whole)
        return;
    snprintf(whole + used, sizeof whole - (size_t)used, ": %s", err->msg);
    memcpy(err->msg, whole, sizeof whole);
}

void error_clear(struct error *err)
{
    err->code = ERROR_NONE;
    err->offset = ERROR_NO_OFFSET;
    err->msg[0] = '\0';
}

bool error_is_fatal(const struct error *err)
{
    return err->code >= ERROR_NOMEM;
}
