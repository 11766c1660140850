/* aside.h - files that appear whole: written under another name in the same folder, then renamed.
 *
 * Whoever reads the name sees the old file or the new one, never half of either, and a job that is killed
 * leaves the old one. Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_ASIDE_H
#define ANCHORAGE_ASIDE_H

#include <stdio.h>

#include "formats/buffer.h"
#include "formats/error.h"

struct aside {
    FILE *out;
    char *path, *temporary;
};

/* Opens a file that is to become `path`. False with *err set (ERROR_IO, ERROR_NOMEM); nothing to close then.
 */
bool aside_open(struct aside *aside, const char *path, struct error *err);
/* Closes it and, with `whole`, puts it in its place; without, or when that fails, it is removed. Returns
 * whether the file is in its place; *err is set when `whole` was wanted and failed, also because an earlier
 * write to `out` did. */
bool aside_close(struct aside *aside, bool whole, struct error *err);
/* The bytes of a buffer as a file; ERROR_NOMEM when it lacks some. */
bool aside_write(const char *path, const struct buffer *bytes, struct error *err);

#endif
