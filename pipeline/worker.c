/* worker.c - see worker.h */
#include "pipeline/worker.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Enough for the handler, which calls nothing. A stack that overflowed cannot be used for it. */
#define FAULT_STACK ((size_t)64 << 10)

static _Thread_local _Atomic int32_t *fault_note;

/* The default takes its course when the handler returns: the instruction faults again, abort() raises again.
 */
static void on_fault(int number)
{
    if (fault_note)
        atomic_store(fault_note, number);
    signal(number, SIG_DFL);
}

bool worker_watch_faults(_Atomic int32_t *note)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    void *room = mmap(NULL, FAULT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    const stack_t stack = {.ss_sp = room, .ss_size = FAULT_STACK};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    bool ok = sigaltstack(&stack, NULL) == 0;
    fault_note = note;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        ok &= sigaction(faults[i], &action, NULL) == 0;
    return ok;
}

void worker_out_of_memory(void)
{
    if (fault_note)
        atomic_store(fault_note, WORKER_MEMORY);
    _exit(WORKER_NO_MEMORY);
}

bool worker_is_wanted(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], WORKER_COMMAND) == 0;
}

int worker_main(int argc, char **argv)
{
    (void)argc;
    struct shared *shared = shared_attach(WORKER_SHARED);
    const struct known *known = known_attach(WORKER_KNOWN);
    if (!shared || !known)
        return WORKER_NO_START;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shared->parent) /* it died before that was asked for */
        return WORKER_NO_START;
    if (shared->memory) {
        mallopt(M_TRIM_THRESHOLD, WORKER_TRIM(shared->memory));
        mallopt(M_MMAP_THRESHOLD, WORKER_TRIM(shared->memory));
    }
    int status = strcmp(argv[2], "extract") == 0  ? worker_extract(shared, known)
                 : strcmp(argv[2], "decode") == 0 ? worker_decode(shared, known)
                                                  : WORKER_NO_START;
    /* Nothing is left to be written, and giving memory back piece by piece would only take time. */
    _exit(status);
}
