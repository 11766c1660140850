/* supervise.c - see supervise.h */
#include "pipeline/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/inputs.h"
#include "pipeline/sandbox.h"
#include "pipeline/worker.h"

/* How often it is looked whether anything moves. */
#define TICK_MS 200
/* Deaths in a row without an item or step done between them, after which it is no item's fault. */
#define DEATHS_MOST 8
/* Steps of the extraction of one file that are tried again after a death. */
#define TRIES_MOST 4

extern char **environ;

struct keeper {
    struct supervision *supervision;
    const char *job; /* "extract" or "decode" */
    pthread_t thread;
    bool started;
    pid_t pid;
    int life;        /* readable at its end */
    int socket;      /* of the extraction: where inputs go */
    pthread_t usher; /* sends them */
    unsigned deaths; /* in a row without progress */
    uint64_t mark;   /* of progress at the last death */
    uint64_t file;   /* of the extraction: where it died last, and how many deaths there were tried again */
    unsigned tries;
    struct timespec ticked;
    /* Seconds without progress: of the extraction, or of each decoding thread. */
    double *still;
    uint64_t *seen;
    int stalled; /* who was killed for it; -1: nobody */
    _Atomic bool *begun;
    double starting; /* seconds that it has taken to begin */
};

struct supervision {
    struct shared *shared;
    struct supervise_options options;
    struct keeper keepers[2];
    _Atomic bool ending;
    _Atomic uint64_t deaths;
    pthread_mutex_t mutex; /* guards `err` */
    struct error err;
};

enum { EXTRACTION, DECODING };

/* ---- starting ------------------------------------------------------------------------------------------ */

/* Reads what the worker's descriptors are, at numbers that are none of the worker's own, so that none is
 * overwritten before it has been moved. */
static int away(int fd)
{
    return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, WORKER_FD_END) : -1;
}

static int spawn(const struct keeper *keeper, const int fds[static WORKER_FD_END], pid_t *pid)
{
    char *const argv[] = {(char *)"anchorage", (char *)WORKER_COMMAND, (char *)(uintptr_t)keeper->job, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t blocked;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    for (int fd = WORKER_SHARED; fd < WORKER_FD_END; fd++) {
        if (fds[fd] >= 0)
            posix_spawn_file_actions_adddup2(&actions, fds[fd], fd);
        else
            posix_spawn_file_actions_addclose(&actions, fd);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, WORKER_FD_END);
    /* Ctrl-C is for the parent, which then stops in good order. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    int failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static void *send_inputs(void *ctx)
{
    const struct keeper *keeper = ctx;
    const struct supervise_options *options = &keeper->supervision->options;
    struct shared *shared = keeper->supervision->shared;
    inputs_send(keeper->socket, options->inputs, options->input_count, options->walked);
    if (!atomic_load(&shared->bytes_total))
        atomic_store(&shared->bytes_total,
                     extract_total(options->inputs, options->input_count, options->walked));
    return NULL;
}

/* Starts the worker; an errno. */
static int start(struct keeper *keeper)
{
    struct supervision *s = keeper->supervision;
    int pipes[2], sockets[2] = {-1, -1}, rules = -1;
    bool extraction = keeper == &s->keepers[EXTRACTION];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return errno;
    if (extraction && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return errno;
    if (s->shared->sandbox)
        rules = sandbox_rules(s->options.inputs, extraction ? s->options.input_count : 0);
    atomic_store(keeper->begun, false);
    int fds[WORKER_FD_END];
    memset(fds, -1, sizeof fds);
    fds[WORKER_SHARED] = away(s->options.shared_fd);
    fds[WORKER_KNOWN] = away(s->options.known_fd);
    fds[WORKER_LIFE] = away(pipes[1]);
    fds[WORKER_INPUTS] = away(sockets[1]);
    fds[WORKER_RULES] = away(rules);
    if (extraction && s->options.spool_fd >= 0 && ftruncate(s->options.spool_fd, 0) == 0)
        fds[WORKER_SPOOL] = away(s->options.spool_fd);
    int failed = spawn(keeper, fds, &keeper->pid);
    for (int fd = WORKER_SHARED; fd < WORKER_FD_END; fd++)
        if (fds[fd] >= 0)
            close(fds[fd]);
    close(pipes[1]);
    if (rules >= 0)
        close(rules);
    if (sockets[1] >= 0)
        close(sockets[1]);
    keeper->life = pipes[0];
    keeper->socket = sockets[0];
    if (failed == 0 && extraction)
        failed = pthread_create(&keeper->usher, NULL, send_inputs, keeper);
    return failed;
}

/* Collects the worker; its wait status. */
static int collect(struct keeper *keeper)
{
    int status = 0;
    while (waitpid(keeper->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(keeper->life);
    if (keeper->socket >= 0) {
        pthread_join(keeper->usher, NULL);
        close(keeper->socket);
    }
    return status;
}

/* ---- standstill ---------------------------------------------------------------------------------------- */

/* Seconds since the last tick, at most two ticks: of time in which this process itself stood still, stopped
 * by ^Z or with the machine, nobody else can be blamed. */
static double tick(struct keeper *keeper)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double passed =
        (double)(now.tv_sec - keeper->ticked.tv_sec) + (double)(now.tv_nsec - keeper->ticked.tv_nsec) * 1e-9;
    keeper->ticked = now;
    return passed < 2e-3 * TICK_MS ? passed : 2e-3 * TICK_MS;
}

/* Whether thing number i, which moves when `now` changes, has stood still for too long. */
static bool stands_still(struct keeper *keeper, size_t i, uint64_t now, bool busy, double passed)
{
    if (!busy || now != keeper->seen[i])
        keeper->still[i] = 0;
    else
        keeper->still[i] += passed;
    keeper->seen[i] = now;
    return keeper->still[i] >= keeper->supervision->options.stall_seconds;
}

/* Whether it has had all its time to begin: libseccomp, for one, may go round for ever when it gets no
 * memory. */
static bool never_begins(const struct keeper *keeper)
{
    return keeper->starting >= keeper->supervision->options.stall_seconds;
}

static void watch(struct keeper *keeper)
{
    struct shared *shared = keeper->supervision->shared;
    double passed = tick(keeper);
    if (!atomic_load(keeper->begun)) {
        keeper->starting += passed;
        if (never_begins(keeper))
            kill(keeper->pid, SIGKILL);
    } else if (keeper == &keeper->supervision->keepers[EXTRACTION]) {
        if (stands_still(keeper, 0, atomic_load(&shared->pulse), !atomic_load(&shared->waiting), passed))
            keeper->stalled = 0;
    } else {
        for (uint32_t i = 0; i < shared->threads && keeper->stalled < 0; i++) {
            uint64_t serial = atomic_load(&shared->thread[i].serial);
            if (stands_still(keeper, i, serial, serial & 1, passed))
                keeper->stalled = (int)i;
        }
    }
    if (keeper->stalled >= 0)
        kill(keeper->pid, SIGKILL);
}

/* Waits for the worker's end, and sees to it when it has to come. */
static void wait_for_end(struct keeper *keeper)
{
    struct pollfd life = {.fd = keeper->life, .events = POLLIN};
    size_t things = keeper->supervision->shared->threads;
    memset(keeper->still, 0, things * sizeof *keeper->still);
    keeper->stalled = -1;
    keeper->starting = 0;
    tick(keeper);
    while (poll(&life, 1, TICK_MS) <= 0) {
        if (atomic_load(&keeper->supervision->ending))
            kill(keeper->pid, SIGKILL);
        else if (keeper->stalled < 0)
            watch(keeper);
    }
}

/* ---- what an end means --------------------------------------------------------------------------------- */

/* In words, for a message: "SIGSEGV", "status 3", "out of memory". */
static void describe(int status, int noted, char text[static 48])
{
    int number = noted ? noted : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = number && number != WORKER_MEMORY ? sigabbrev_np(number) : NULL;
    if (number == WORKER_MEMORY)
        snprintf(text, 48, "out of memory");
    else if (number)
        snprintf(text, 48, "%s%s", name ? "SIG" : "signal ", name ? name : "");
    else
        snprintf(text, 48, "it ended with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void give_up(struct supervision *s, const char *job, const char *why)
{
    pthread_mutex_lock(&s->mutex);
    error_set(&s->err, ERROR_IO, ERROR_NO_OFFSET, "the process that %ss cannot be kept going: %s", job, why);
    pthread_mutex_unlock(&s->mutex);
    atomic_store(&s->ending, true);
    signal_raise(&s->shared->advance);
}

/* Whether the worker did anything since its last death; when not, so many times in a row, it is no item's
 * fault. */
static bool is_hopeless(struct keeper *keeper, uint64_t mark)
{
    keeper->deaths = mark == keeper->mark ? keeper->deaths + 1 : 1;
    keeper->mark = mark;
    return keeper->deaths >= DEATHS_MOST;
}

/* The step at hand is not taken again. A file with too many of them is left altogether. */
static void refuse_step(const struct keeper *keeper, const char *what)
{
    struct shared *shared = keeper->supervision->shared;
    uint64_t file = atomic_load(&shared->at_file);
    if (shared->refusal_count && shared->refusals[0].file != file)
        shared->refusal_count = 0;
    if (shared->refusal_count == SHARED_REFUSALS)
        return;
    struct refusal *refusal = &shared->refusals[shared->refusal_count];
    refusal->file = file;
    refusal->member = atomic_load(&shared->at_member);
    refusal->step = atomic_load(&shared->at_step);
    refusal->rest = shared->refusal_count + keeper->tries >= SHARED_REFUSALS - 1;
    refusal->reason = keeper->stalled >= 0 ? CONTAINER_TIMED_OUT : CONTAINER_CRASHED;
    if (keeper->stalled >= 0)
        snprintf(refusal->message, sizeof refusal->message, "no progress of its extraction for %g seconds",
                 keeper->supervision->options.stall_seconds);
    else
        snprintf(refusal->message, sizeof refusal->message, "its extraction crashed: %s", what);
    shared->refusal_count++;
}

/* Whether the step that brought the extraction down is taken once more: a death may be nobody's fault, and
 * memory may be there now. A file full of such steps does not get that for each. */
static bool may_try_again(struct keeper *keeper, uint64_t file)
{
    if (keeper->file != file)
        keeper->tries = 0;
    keeper->file = file;
    return keeper->stalled < 0 && keeper->deaths == 1 && keeper->tries < TRIES_MOST && ++keeper->tries;
}

static bool recover_extraction(struct keeper *keeper, int status)
{
    struct shared *shared = keeper->supervision->shared;
    char what[48];
    describe(status, atomic_exchange(&shared->extract_signal, 0), what);
    atomic_fetch_add(&shared->extract_deaths, 1);
    if (is_hopeless(keeper, atomic_load(&shared->at_file) << 20 ^ atomic_load(&shared->at_member) << 2 ^
                                atomic_load(&shared->at_step))) {
        give_up(keeper->supervision, keeper->job, what);
        return false;
    }
    if (!may_try_again(keeper, atomic_load(&shared->at_file)))
        refuse_step(keeper, what);
    atomic_store(&shared->waiting, false);
    return true;
}

/* Whether the thread was at an item when the process died. */
static bool was_working(struct shared *shared, uint32_t i)
{
    return atomic_load(&shared->thread[i].serial) & 1;
}

/* The item at which the thread stands is not tried again. */
static void condemn(struct thread_state *thread, enum container_reason reason, const char *message)
{
    thread->suspect = false;
    thread->verdict = reason;
    snprintf(thread->message, sizeof thread->message, "%s", message);
}

static void judge_thread(struct keeper *keeper, uint32_t i, int status, bool noted)
{
    struct shared *shared = keeper->supervision->shared;
    struct thread_state *thread = &shared->thread[i];
    char what[48], message[SHARED_MESSAGE];
    int number = atomic_load(&thread->signal);
    if (keeper->stalled == (int)i) {
        snprintf(message, sizeof message, "no progress for %g seconds",
                 keeper->supervision->options.stall_seconds);
        condemn(thread, CONTAINER_TIMED_OUT, message);
    } else if (keeper->stalled >= 0 || (noted && !number)) {
        return; /* another one's fault */
    } else if (thread->suspect && atomic_load(&shared->alone) == i + 1) {
        describe(status, number, what);
        snprintf(message, sizeof message, "its decoder crashed, twice: %s", what);
        condemn(thread, CONTAINER_CRASHED, message);
    } else {
        thread->suspect = true;
    }
}

static bool recover_decoding(struct keeper *keeper, int status)
{
    struct shared *shared = keeper->supervision->shared;
    bool noted = false;
    uint64_t mark = 0;
    uint32_t alone = 0;
    char what[48];
    for (uint32_t i = 0; i < shared->threads; i++) {
        noted |= was_working(shared, i) && atomic_load(&shared->thread[i].signal);
        mark += atomic_load(&shared->thread[i].serial) / 2;
    }
    for (uint32_t i = 0; i < shared->threads; i++)
        if (was_working(shared, i))
            judge_thread(keeper, i, status, noted);
    for (uint32_t i = shared->threads; i-- > 0;) {
        struct thread_state *thread = &shared->thread[i];
        thread->signal = 0;
        atomic_store(&thread->serial, atomic_load(&thread->serial) & ~UINT64_C(1));
        if (thread->suspect)
            alone = i + 1;
    }
    atomic_store(&shared->alone, alone);
    describe(status, 0, what);
    if (!is_hopeless(keeper, mark))
        return true;
    give_up(keeper->supervision, keeper->job, what);
    return false;
}

/* ---- the keeper ---------------------------------------------------------------------------------------- */

/* Whether there is anything left to do after an end in good order. */
static bool is_finished(const struct keeper *keeper)
{
    const struct shared *shared = keeper->supervision->shared;
    if (keeper == &keeper->supervision->keepers[EXTRACTION])
        return atomic_load(&shared->ended);
    return atomic_load(&shared->ended) && shared_done_before(shared, UINT64_MAX);
}

static void *keep(void *ctx)
{
    struct keeper *keeper = ctx;
    struct supervision *s = keeper->supervision;
    for (;;) {
        int failed = start(keeper);
        if (failed) {
            give_up(s, keeper->job, strerror(failed));
            return NULL;
        }
        wait_for_end(keeper);
        int status = collect(keeper);
        if (atomic_load(&s->ending) || (status == 0 && is_finished(keeper)))
            return NULL;
        if ((WIFEXITED(status) && WEXITSTATUS(status) == WORKER_NO_START) || never_begins(keeper)) {
            give_up(s, keeper->job, "it could not begin");
            return NULL;
        }
        atomic_fetch_add(&s->deaths, 1);
        if (!(keeper == &s->keepers[EXTRACTION] ? recover_extraction(keeper, status)
                                                : recover_decoding(keeper, status)))
            return NULL;
    }
}

static bool start_keeper(struct supervision *s, int which, const char *job)
{
    struct keeper *keeper = &s->keepers[which];
    keeper->supervision = s;
    keeper->job = job;
    keeper->begun = which == EXTRACTION ? &s->shared->extract_begun : &s->shared->decode_begun;
    keeper->still = calloc(s->shared->threads, sizeof *keeper->still);
    keeper->seen = calloc(s->shared->threads, sizeof *keeper->seen);
    keeper->started =
        keeper->still && keeper->seen && pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    return keeper->started;
}

struct supervision *supervise_start(struct shared *shared, const struct supervise_options *options,
                                    struct error *err)
{
    struct supervision *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        return NULL;
    }
    s->shared = shared;
    s->options = *options;
    pthread_mutex_init(&s->mutex, NULL);
    if (start_keeper(s, EXTRACTION, "extract") && start_keeper(s, DECODING, "decode"))
        return s;
    error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "cannot start a thread");
    supervise_end(s);
    return NULL;
}

bool supervise_failed(struct supervision *s, struct error *err)
{
    pthread_mutex_lock(&s->mutex);
    if (s->err.code)
        *err = s->err;
    pthread_mutex_unlock(&s->mutex);
    return err->code != ERROR_NONE;
}

uint64_t supervise_deaths(const struct supervision *s)
{
    return atomic_load(&s->deaths);
}

void supervise_end(struct supervision *s)
{
    if (!s)
        return;
    atomic_store(&s->ending, true);
    for (int i = 0; i < 2; i++) {
        struct keeper *keeper = &s->keepers[i];
        if (keeper->started)
            pthread_join(keeper->thread, NULL);
        free(keeper->still);
        free(keeper->seen);
    }
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
