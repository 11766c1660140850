/* supervise.h - keeps the workers alive, and decides what their deaths and standstills mean.
 *
 * A thread for the extraction and one for all decoders start workers (launch.h), wait for their ends, and
 * start others in their places: a decoder goes on behind the items that are done, the extraction behind the
 * slots that are filled. The item at which a decoder died is suspect and is tried once more, alone in a new
 * process, and with the other decoders standing still unless the fault handler's note says that the fault was
 * the process's own. When that brings it down again the item is `crashed`. What makes no progress for the
 * stall timeout is `timed-out` at once. A step of the extraction that stood still, or crashed twice, is not
 * taken again.
 */
#ifndef ANCHORAGE_SUPERVISE_H
#define ANCHORAGE_SUPERVISE_H

#include "pipeline/shared.h"

struct supervision;

struct supervise_options {
    const char *const *inputs; /* outlive the supervision */
    const bool *walked;        /* see extract_options */
    size_t input_count;
    bool total; /* shared->bytes_total is wanted */
    int shared_fd, known_fd;
    int spool_fd; /* of the extraction; -1: none */
    double stall_seconds;
};

/* Starts all workers. NULL with *err set when they cannot be; that one of them cannot shows later. */
struct supervision *supervise_start(struct shared *shared, const struct supervise_options *options,
                                    struct error *err);
/* Whether a worker cannot be kept going; then *err says why. */
bool supervise_failed(struct supervision *supervision, struct error *err);
/* How often a worker died or was killed for standing still. */
uint64_t supervise_deaths(const struct supervision *supervision);
/* Ends the workers, whatever they are at, and waits for that. NULL is legal. */
void supervise_end(struct supervision *supervision);

#endif
