/* progress.h - how far a run is, on stderr: a line that is redrawn on a terminal, a plain line now and then
 * elsewhere. */
#ifndef ANCHORAGE_CMD_PROGRESS_H
#define ANCHORAGE_CMD_PROGRESS_H

#include "pipeline/ingest.h"

struct progress_line {
    bool terminal, quiet;
    double started, drawn; /* seconds of the monotonic clock */
    bool shown;
};

struct progress_line progress_start(bool quiet);
void progress_show(struct progress_line *line, const struct ingest_progress *progress);
/* Wipes the line, so that what is printed next begins on a clean one. */
void progress_end(struct progress_line *line);

#endif
