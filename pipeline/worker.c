/* worker.c - see worker.h */
#include "pipeline/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/passing.h"

/* Enough for the handler, which calls nothing. A stack that overflowed cannot be used for it. */
#define FAULT_STACK ((size_t)64 << 10)

static _Atomic int32_t *fault_note;

/* The default takes its course when the handler returns: the instruction faults again, abort() raises again.
 */
static void on_fault(int number)
{
    if (fault_note)
        atomic_store(fault_note, number);
    signal(number, SIG_DFL);
}

/* Handlers and their stack outlast forks. */
static bool watch_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static uint8_t room[FAULT_STACK];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    bool ok = sigaltstack(&stack, NULL) == 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        ok &= sigaction(faults[i], &action, NULL) == 0;
    return ok;
}

void worker_note_faults(_Atomic int32_t *note)
{
    fault_note = note;
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

/* ---- the template -------------------------------------------------------------------------------------- */

static const struct job {
    const char *name;
    bool (*prepare)(struct worker_kit *kit);
    int (*work)(const struct worker_kit *kit, unsigned number);
} jobs[] = {{"extract", worker_extract_prepare, worker_extract},
            {"decode", worker_decode_prepare, worker_decode}};

static const struct job *find_job(const char *name)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(name, jobs[i].name) == 0)
            return &jobs[i];
    return NULL;
}

/* Sees to it that the process does not outlive the run; false when the run is gone already. The kernel
 * forgets this at a fork. */
static bool live_with_parent(const struct shared *shared)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == shared->parent;
}

/* Nobody wants the memory images of processes that hostile bytes bring down by the thousand. A limit of one,
 * not none: only that keeps the kernel from piping one into a program, too (fs/coredump.c). */
static void leave_no_core(void)
{
    const struct rlimit one = {1, 1};
    setrlimit(RLIMIT_CORE, &one);
}

/* A fork whose child is the run's. libc has no word for it, and what its fork() does beside the call is about
 * threads, of which there is one. */
static pid_t fork_sibling(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Puts a descriptor where it belongs. */
static void move(int fd, int place)
{
    if (fd < 0)
        return;
    dup3(fd, place, O_CLOEXEC);
    close(fd);
}

/* The life of a worker. Until it is told to begin it has touched nothing, so it matters to nobody when it is
 * not. */
_Noreturn static void work(const struct job *job, const struct worker_kit *kit, int life)
{
    int number, fds[PASSING_MOST];
    close(WORKER_REQUESTS);
    move(life, WORKER_LIFE);
    if (!live_with_parent(kit->shared))
        _exit(WORKER_NO_START);
    if (passing_receive(WORKER_LIFE, &number, fds) != 0)
        _exit(0);
    move(fds[0], WORKER_INPUTS);
    /* Nothing is left to be written, and giving memory back piece by piece would only take time. */
    _exit((uint32_t)number < kit->shared->threads ? job->work(kit, (unsigned)number) : WORKER_NO_START);
}

static void serve(const struct job *job, const struct worker_kit *kit)
{
    int word, fds[PASSING_MOST];
    while (passing_receive(WORKER_REQUESTS, &word, fds) == 0) {
        pid_t pid = fork_sibling();
        if (pid == 0)
            work(job, kit, fds[0]);
        word = pid < 0 ? -errno : pid;
        for (int i = 0; i < PASSING_MOST; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        passing_send(WORKER_REQUESTS, word, NULL, 0);
    }
}

int worker_main(int argc, char **argv)
{
    (void)argc;
    const struct job *job = find_job(argv[2]);
    struct worker_kit kit = {.shared = shared_attach(WORKER_SHARED), .known = known_attach(WORKER_KNOWN)};
    if (!job || !kit.shared || !kit.known || !live_with_parent(kit.shared))
        return WORKER_NO_START;
    if (kit.shared->memory) {
        mallopt(M_TRIM_THRESHOLD, WORKER_TRIM(kit.shared->memory));
        mallopt(M_MMAP_THRESHOLD, WORKER_TRIM(kit.shared->memory));
    }
    if (kit.shared->sandbox)
        leave_no_core();
    if (!watch_faults() || !job->prepare(&kit))
        return WORKER_NO_START;
    /* What preparing has left in pieces is put together once, or each worker would do it, on copies of the
     * pages. */
    malloc_trim(0);
    serve(job, &kit);
    _exit(0);
}
