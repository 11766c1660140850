/* progress.c - see progress.h */
#include "cmd/progress.h"

#include <unistd.h>

#include "pipeline/clock.h"
#include "reports/text.h"

#define TERMINAL_INTERVAL 0.1
#define PLAIN_INTERVAL    10.0

struct progress_line progress_start(bool quiet)
{
    double now = clock_seconds();
    return (struct progress_line){
        .terminal = isatty(STDERR_FILENO), .quiet = quiet, .started = now, .drawn = now};
}

static void print_line(const struct progress_line *line, const struct ingest_progress *progress, double now)
{
    char containers[28], read[16], total[16], rate[16], left[16];
    double seconds = now - line->started;
    double speed = seconds > 0 ? (double)progress->bytes_read / seconds : 0;
    text_count(progress->containers, containers);
    text_bytes(progress->bytes_read, read);
    text_bytes((uint64_t)speed, rate);
    fprintf(stderr, "%s containers, %s", containers, read);
    if (progress->bytes_total) {
        text_bytes(progress->bytes_total, total);
        fprintf(stderr, " of %s", total);
    }
    fprintf(stderr, ", %s/s", rate);
    if (progress->bytes_total > progress->bytes_read && speed > 0) {
        text_duration((double)(progress->bytes_total - progress->bytes_read) / speed, left);
        fprintf(stderr, ", %s left", left);
    }
}

void progress_show(struct progress_line *line, const struct ingest_progress *progress)
{
    double now = clock_seconds();
    if (line->quiet || now - line->drawn < (line->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL))
        return;
    line->drawn = now;
    line->shown = true;
    if (line->terminal) {
        fputs("\r\033[K", stderr);
        print_line(line, progress, now);
        fflush(stderr);
    } else {
        fputs("anchorage: ", stderr);
        print_line(line, progress, now);
        fputc('\n', stderr);
    }
}

void progress_end(struct progress_line *line)
{
    if (line->terminal && line->shown)
        fputs("\r\033[K", stderr);
    line->shown = false;
}
