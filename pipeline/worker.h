/* worker.h - the processes that do the dangerous work: reading archives, and decoding.
 *
 * They are this program, started again by posix_spawn as `anchorage worker extract` and `anchorage worker
 * decode` (pipeline/launch.c), which is no command for people. What is started is a template: it links the
 * libraries, loads what is loaded late, builds the sandbox, and then forks a worker whenever it is asked
 * for one. A start costs ten milliseconds, a fork a fraction of one: so does the next worker after a crash.
 *
 * The run itself is not forked. It has threads, whose locks a fork would copy in whatever state they are,
 * OpenMP's team, which is gone in the child, and an open LMDB environment, which must not be used across
 * a fork. A template has none of these, one thread, and no descriptor beside those below. It
 * reads nothing but its parent's requests.
 *
 * A worker is a child of the run, not of its template (CLONE_PARENT): the run learns of its end and how it
 * came, and the kernel kills it with the run, as it does the template. Workers write nothing but shared
 * memory (shared.h) and end when that says so.
 */
#ifndef ANCHORAGE_WORKER_H
#define ANCHORAGE_WORKER_H

#include "pipeline/known.h"
#include "pipeline/sandbox.h"
#include "pipeline/shard.h"
#include "pipeline/shared.h"

#define WORKER_COMMAND "worker"

/* Descriptors of a template, and of a worker. */
enum worker_fd {
    WORKER_SHARED = 3, /* shared.h */
    WORKER_KNOWN,      /* known.h */
    WORKER_RULES,      /* template: a Landlock ruleset; may be missing */
    WORKER_SPOOL,      /* extraction: an empty file to write to (spool.h); may be missing */
    WORKER_REQUESTS, /* template: a socket (passing.h). A message with the next descriptor asks for a worker;
                      * the answer is its process id, or an errno below 0 */
    WORKER_LIFE,     /* worker: a socket, held open while it lives, so that its end is seen at the other end.
                      * A message on it has the worker's number, and inputs, and lets it begin */
    WORKER_INPUTS,   /* extracting worker: a socket on which the inputs arrive, see inputs.h */
    WORKER_FD_END
};

/* Exit statuses beside 0, done. */
enum worker_status {
    WORKER_NO_START = 70, /* it, or its template, could not begin: shared memory, sandbox */
    WORKER_NO_MEMORY = 71 /* memory ran out on the item at hand, as is noted where a signal would be */
};

/* Memory that malloc may keep, where there is a bound for all processes together. */
#define WORKER_TRIM(memory) ((int)((memory) / 32 < 256 << 20 ? (memory) / 32 : 256 << 20))

/* Noted in the place of a signal. */
#define WORKER_MEMORY 1000

/* What a template makes ready, and its workers find. */
struct worker_kit {
    struct shared *shared;
    const struct known *known;
    struct sandbox_filter filter;
    const char **inputs; /* extraction: see shared_inputs */
    struct shard shard;  /* extraction; count 0: everything is taken */
};

/* Whether the program was started as a worker's template. */
bool worker_is_wanted(int argc, char **argv);
/* Forks workers until the parent is gone; the exit status. Every program that calls `ingest` begins its main
 * with `if (worker_is_wanted(argc, argv)) return worker_main(argc, argv);`, once LC_CTYPE is set. */
int worker_main(int argc, char **argv);

/* From here on a fault of this worker is noted in *signal before it takes its course. */
void worker_note_faults(_Atomic int32_t *signal);

/* Ends the process, and notes why. */
_Noreturn void worker_out_of_memory(void);

/* The two jobs: what is made ready once, in the template, where false ends it; and the work of each worker,
 * which returns the exit status. `number`: which of the decoders it is. */
bool worker_extract_prepare(struct worker_kit *kit);
int worker_extract(const struct worker_kit *kit, unsigned number);
bool worker_decode_prepare(struct worker_kit *kit);
int worker_decode(const struct worker_kit *kit, unsigned number);

#endif
