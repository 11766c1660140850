/* error.c - see error.h */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *err, enum error_code code, uint64_t offset, const char *fmt, ...)
{
    if (err->code != ERROR_NONE)
        return false;
    err->code = code;
    err->offset = offset;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
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
