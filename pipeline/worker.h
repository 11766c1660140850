/* worker.h - the two processes that do the dangerous work: reading archives, and decoding.
 *
 * Both are this program, started again by posix_spawn as `anchorage worker extract` and `anchorage worker
 * decode` (pipeline/supervise.c), which is no command for people. What they are given are descriptors and
 * shared memory (shared.h). They write nothing but that, end when it says so, and are killed with their
 * parent.
 */
#ifndef ANCHORAGE_WORKER_H
#define ANCHORAGE_WORKER_H

#include "pipeline/known.h"
#include "pipeline/shared.h"

#define WORKER_COMMAND "worker"

/* Descriptors of a worker. */
enum worker_fd {
    WORKER_SHARED = 3, /* shared.h */
    WORKER_KNOWN = 4,  /* known.h */
    WORKER_LIFE = 5,   /* held open while it lives, so that its end is seen at the other end */
    WORKER_INPUTS = 6, /* extraction: a socket on which the inputs arrive, see inputs.h */
    WORKER_RULES = 7,  /* a Landlock ruleset; may be missing */
    WORKER_SPOOL = 8,  /* extraction: an empty file to write to (spool.h); may be missing */
    WORKER_FD_END
};

/* Exit statuses beside 0, done. */
enum worker_status {
    WORKER_NO_START = 70, /* it could not begin: shared memory, sandbox */
    WORKER_NO_MEMORY = 71 /* memory ran out on the item at hand, as is noted where a signal would be */
};

/* Memory that malloc may keep, where there is a bound for all processes together. */
#define WORKER_TRIM(memory) ((int)((memory) / 32 < 256 << 20 ? (memory) / 32 : 256 << 20))

/* Noted in the place of a signal. */
#define WORKER_MEMORY 1000

/* Whether the program was started as a worker. */
bool worker_is_wanted(int argc, char **argv);
/* Works until there is nothing to do; the exit status. Every program that calls `ingest` begins its main with
 * `if (worker_is_wanted(argc, argv)) return worker_main(argc, argv);`, once LC_CTYPE is set. */
int worker_main(int argc, char **argv);

/* What one thread of a worker has for its fault handler, which notes the signal in *signal and lets it take
 * its course. Call it in each thread before anything dangerous; false when memory runs out. */
bool worker_watch_faults(_Atomic int32_t *signal);

/* Ends the process, and notes why. */
_Noreturn void worker_out_of_memory(void);

/* The two jobs; each returns the exit status. */
int worker_extract(struct shared *shared, const struct known *known);
int worker_decode(struct shared *shared, const struct known *known);

#endif
