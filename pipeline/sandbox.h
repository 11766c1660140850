/* sandbox.h - what the processes that read hostile bytes may do: next to nothing.
 *
 * Two layers, each where the kernel has it. Landlock: no file may be opened, except that the extraction may
 * read what lies beneath the inputs that are directories. seccomp: system calls for memory, for waiting on
 * one another and for reading descriptors; the extraction may also open for reading. Everything else fails
 * with EPERM: no network, no new files, no exec, no other process. libseccomp is known to sandbox.c alone.
 */
#ifndef ANCHORAGE_SANDBOX_H
#define ANCHORAGE_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sandbox_job { SANDBOX_EXTRACT, SANDBOX_DECODE };

/* What is in force, as bits. */
enum { SANDBOX_SECCOMP = 1, SANDBOX_LANDLOCK = 2 };

/* By the parent: a Landlock ruleset under which directories among `inputs` may be read, for the extraction;
 * and one under which nothing may, when there are none. -1 where the kernel has no Landlock. */
int sandbox_rules(const char *const *inputs, size_t count);

/* What a worker has to take upon itself beside what it has from its template: made ready by that. */
struct sandbox_filter {
    void *code; /* NULL: nothing is wanted, or had. As long there as the process */
    uint16_t count;
    uint16_t self; /* which of its instructions has the number of the process */
};

/* By a template (worker.h), before it forks: takes the ruleset at WORKER_RULES, if it is there, and the
 * filter of system calls, which has the template's own as well. Both hold for every process forked from it.
 * `wanted` false: it does nothing. Bits of what is in force are added to *force. False when a part that the
 * kernel has could not be put in force. */
bool sandbox_template(enum sandbox_job job, bool wanted, struct sandbox_filter *filter,
                      _Atomic uint32_t *force);

/* By a worker: gives up the calls that were the template's, and signals to others. False as above. */
bool sandbox_worker(const struct sandbox_filter *filter, _Atomic uint32_t *force);

/* "seccomp and landlock", "seccomp", ..., "off". */
const char *sandbox_words(uint32_t force);

#endif
