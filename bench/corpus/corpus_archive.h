/* corpus_archive.h - where the generator puts files: a folder, or an archive in or beside it.
 *
 * Archives are the same bytes on every machine: members come in the order they are added, without times or
 * owners.
 */
#ifndef ANCHORAGE_CORPUS_ARCHIVE_H
#define ANCHORAGE_CORPUS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/buffer.h"
#include "formats/error.h"

enum sink_kind { SINK_FOLDER, SINK_ZIP, SINK_TAR, SINK_TAR_GZ, SINK_TAR_ZST, SINK_7Z };

struct sink;
/* Opens a folder (made when absent) or creates an archive file. With `memory`, which must outlive the sink,
 * the archive goes there and `path` is only for messages. NULL with *err set on failure. */
struct sink *sink_open(enum sink_kind kind, const char *path, struct buffer *memory, struct error *err);
/* Adds a file under a relative path; folders on the way are made. */
bool sink_add(struct sink *sink, const char *path, const void *bytes, size_t size, struct error *err);
/* Finishes what was written and frees the sink, also after an error. NULL is legal and fine. */
bool sink_close(struct sink *sink, struct error *err);

#endif
