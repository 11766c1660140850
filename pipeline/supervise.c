/* supervise.c - see supervise.h */
#include "pipeline/supervise.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/clock.h"
#include "pipeline/inputs.h"
#include "pipeline/launch.h"
#include "pipeline/worker.h"

/* How often it is looked whether anything moves. */
#define TICK_MS 200
/* Open files of a run beside one for each decoder, generously. */
#define FILES_BESIDE 64
/* Deaths in a row without an item or step done between them, after which it is no item's fault. */
#define DEATHS_MOST 8
/* Steps of the extraction of one file that are tried again after a death. */
#define TRIES_MOST 4

/* A worker's place, which one worker after the other takes. */
struct post {
    struct keeper *keeper;
    unsigned number; /* of the decoder */
    bool manned;     /* `worker` is there */
    struct launched worker;
    pthread_t usher; /* sends it inputs, when it takes any */
    _Atomic bool *begun;
    unsigned deaths; /* in a row without progress */
    uint64_t mark;   /* of progress at the last death */
    uint64_t seen;   /* of progress, last */
    double still;    /* seconds without any */
    double starting; /* seconds that it has taken to begin */
    bool stalled;    /* it was killed for that */
};

/* A thread that keeps all workers of a kind. */
struct keeper {
    struct supervision *supervision;
    struct launcher launcher;
    struct post *posts;
    struct pollfd *lives; /* [post_count]: of each post's worker */
    uint32_t post_count;
    pthread_t thread;
    bool started;
    double ticked; /* clock_seconds */
    uint64_t file; /* of the extraction: where it died last, and how many deaths there were tried again */
    unsigned tries;
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

static bool is_extraction(const struct keeper *keeper)
{
    return keeper == &keeper->supervision->keepers[EXTRACTION];
}

/* ---- starting ------------------------------------------------------------------------------------------ */

static void *send_inputs(void *ctx)
{
    const struct post *post = ctx;
    const struct supervise_options *options = &post->keeper->supervision->options;
    struct shared *shared = post->keeper->supervision->shared;
    inputs_send(post->worker.inputs, options->inputs, options->input_count, options->walked);
    if (options->total && !atomic_load(&shared->bytes_total))
        atomic_store(&shared->bytes_total,
                     extract_total(options->inputs, options->input_count, options->walked));
    return NULL;
}

/* Starts a worker; NULL, or why there is none. Where workers die, more will. */
static const char *start(struct post *post)
{
    struct keeper *keeper = post->keeper;
    int spool = keeper->launcher.options.spool_fd;
    if (spool >= 0 && ftruncate(spool, 0) != 0) /* what the last one left there */
        return strerrordesc_np(errno);
    atomic_store(post->begun, false);
    post->still = post->starting = 0;
    post->stalled = false;
    const char *why = launch(&keeper->launcher, post->number, post->deaths > 0, &post->worker);
    post->manned = !why;
    keeper->lives[post->number] = (struct pollfd){.fd = why ? -1 : post->worker.life, .events = POLLIN};
    if (why || post->worker.inputs < 0)
        return why;
    int failed = pthread_create(&post->usher, NULL, send_inputs, post);
    if (!failed)
        return NULL;
    close(post->worker.inputs);
    post->worker.inputs = -1;
    return strerrordesc_np(failed);
}

/* Collects the worker; its wait status. */
static int collect(struct post *post)
{
    int status = 0;
    while (waitpid(post->worker.pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(post->worker.life);
    if (post->worker.inputs >= 0) {
        pthread_join(post->usher, NULL);
        close(post->worker.inputs);
    }
    post->manned = false;
    post->keeper->lives[post->number].fd = -1;
    return status;
}

/* ---- standstill ---------------------------------------------------------------------------------------- */

/* Whether it is time to look again, however often workers end. */
static bool is_tick(const struct keeper *keeper)
{
    return clock_seconds() - keeper->ticked >= 1e-3 * TICK_MS;
}

/* Seconds since the last tick, at most two ticks: of time in which this process itself stood still, stopped
 * by ^Z or with the machine, nobody else can be blamed. */
static double tick(struct keeper *keeper)
{
    double now = clock_seconds(), passed = now - keeper->ticked;
    keeper->ticked = now;
    return passed < 2e-3 * TICK_MS ? passed : 2e-3 * TICK_MS;
}

/* A number that changes with progress, and whether there is anything to make progress with. */
static uint64_t progress(const struct post *post, bool *busy)
{
    struct shared *shared = post->keeper->supervision->shared;
    if (is_extraction(post->keeper)) {
        *busy = !atomic_load(&shared->waiting);
        return atomic_load(&shared->pulse);
    }
    uint64_t serial = atomic_load(&shared->thread[post->number].serial);
    *busy = serial & 1;
    return serial;
}

/* Whether it has had all its time to begin. */
static bool never_begins(const struct post *post)
{
    return post->starting >= post->keeper->supervision->options.stall_seconds;
}

static void watch(struct post *post, double passed)
{
    bool busy;
    uint64_t now = progress(post, &busy);
    if (!atomic_load(post->begun)) {
        post->starting += passed;
    } else {
        post->still = busy && now == post->seen ? post->still + passed : 0;
        post->seen = now;
        post->stalled = post->still >= post->keeper->supervision->options.stall_seconds;
    }
    if (post->stalled || never_begins(post))
        kill(post->worker.pid, SIGKILL);
}

/* Waits for a worker's end, or for a moment; and sees to the end of those for which it has to come. */
static void watch_all(struct keeper *keeper)
{
    bool ending = atomic_load(&keeper->supervision->ending);
    if (!ending && poll(keeper->lives, keeper->post_count, TICK_MS) > 0 && !is_tick(keeper))
        return;
    double passed = tick(keeper);
    for (uint32_t i = 0; i < keeper->post_count; i++) {
        struct post *post = &keeper->posts[i];
        if (post->manned && ending)
            kill(post->worker.pid, SIGKILL);
        else if (post->manned && !post->stalled)
            watch(post, passed);
    }
    if (ending)
        poll(keeper->lives, keeper->post_count, TICK_MS);
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

static void give_up(struct keeper *keeper, const char *why)
{
    struct supervision *s = keeper->supervision;
    pthread_mutex_lock(&s->mutex);
    error_set(&s->err, ERROR_IO, ERROR_NO_OFFSET, "the process that %ss cannot be kept going: %s",
              keeper->launcher.options.job, why);
    pthread_mutex_unlock(&s->mutex);
    atomic_store(&s->ending, true);
    signal_raise(&s->shared->advance);
}

/* Whether the worker did anything since the last death at its post; when not, so many times in a row, it is
 * no item's fault. */
static bool is_hopeless(struct post *post, uint64_t mark)
{
    post->deaths = mark == post->mark ? post->deaths + 1 : 1;
    post->mark = mark;
    return post->deaths >= DEATHS_MOST;
}

/* The step at hand is not taken again. A file with too many of them is left altogether. */
static void refuse_step(const struct post *post, const char *what)
{
    const struct keeper *keeper = post->keeper;
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
    refusal->reason = post->stalled ? CONTAINER_TIMED_OUT : CONTAINER_CRASHED;
    if (post->stalled)
        snprintf(refusal->message, sizeof refusal->message, "no progress of its extraction for %g seconds",
                 keeper->supervision->options.stall_seconds);
    else
        snprintf(refusal->message, sizeof refusal->message, "its extraction crashed: %s", what);
    shared->refusal_count++;
}

/* Whether the step that brought the extraction down is taken once more: a death may be nobody's fault, and
 * memory may be there now. A file full of such steps does not get that for each. */
static bool may_try_again(const struct post *post, uint64_t file)
{
    struct keeper *keeper = post->keeper;
    if (keeper->file != file)
        keeper->tries = 0;
    keeper->file = file;
    return !post->stalled && post->deaths == 1 && keeper->tries < TRIES_MOST && ++keeper->tries;
}

static void judge_extraction(const struct post *post, const char *what)
{
    struct shared *shared = post->keeper->supervision->shared;
    atomic_fetch_add(&shared->extract_deaths, 1);
    if (!may_try_again(post, atomic_load(&shared->at_file)))
        refuse_step(post, what);
    atomic_store(&shared->waiting, false);
}

/* The item at which the decoder stands is not tried again. */
static void condemn(struct thread_state *thread, enum container_reason reason, const char *message)
{
    thread->suspect = false;
    thread->verdict = reason;
    snprintf(thread->message, sizeof thread->message, "%s", message);
}

/* A fault that was noted can only have come from the decoder itself, so a new one is alone enough to try
 * the item again. One that was ended from outside, or got no memory, may have been the others' victim. */
static void judge_decoding(const struct post *post, int noted, const char *what)
{
    struct shared *shared = post->keeper->supervision->shared;
    struct thread_state *thread = &shared->thread[post->number];
    uint32_t self = post->number + 1;
    char message[SHARED_MESSAGE];
    uint64_t serial = atomic_load(&thread->serial);
    bool was_working = serial & 1;
    if (was_working && post->stalled) {
        snprintf(message, sizeof message, "no progress for %g seconds",
                 post->keeper->supervision->options.stall_seconds);
        condemn(thread, CONTAINER_TIMED_OUT, message);
    } else if (was_working && thread->suspect) {
        snprintf(message, sizeof message, "its decoder crashed, twice: %s", what);
        condemn(thread, CONTAINER_CRASHED, message);
    } else if (was_working) {
        thread->suspect = true;
        thread->lone = !noted || noted == WORKER_MEMORY;
    }
    atomic_store(&thread->serial, serial & ~UINT64_C(1));
    if (atomic_compare_exchange_strong(&shared->alone, &self, 0))
        signal_raise(&shared->filled);
}

/* What the worker may have done since the last death at its post, as a number. */
static uint64_t mark_of(const struct post *post)
{
    const struct shared *shared = post->keeper->supervision->shared;
    if (!is_extraction(post->keeper))
        return atomic_load(&shared->thread[post->number].serial) / 2;
    return atomic_load(&shared->at_file) << 20 ^ atomic_load(&shared->at_member) << 2 ^
           atomic_load(&shared->at_step);
}

/* Finds out whose fault a death was. False when nobody's. */
static bool judge(struct post *post, int status)
{
    struct shared *shared = post->keeper->supervision->shared;
    _Atomic int32_t *note =
        is_extraction(post->keeper) ? &shared->extract_signal : &shared->thread[post->number].signal;
    int noted = atomic_exchange(note, 0);
    char what[48];
    describe(status, noted, what);
    atomic_fetch_add(&post->keeper->supervision->deaths, 1);
    if (is_hopeless(post, mark_of(post))) {
        give_up(post->keeper, what);
        return false;
    }
    if (is_extraction(post->keeper))
        judge_extraction(post, what);
    else
        judge_decoding(post, noted, what);
    return true;
}

/* ---- the keeper ---------------------------------------------------------------------------------------- */

static bool has_slot(const struct shared *shared, unsigned number)
{
    for (unsigned i = 0; i < shared->slot_count; i++)
        if (SLOT_TAG(atomic_load(&shared->slots[i].state)) == SLOT_TAKEN + number)
            return true;
    return false;
}

/* Whether there is anything left to do at the post after an end in good order. */
static bool is_finished(const struct post *post)
{
    const struct shared *shared = post->keeper->supervision->shared;
    if (!atomic_load(&shared->ended) || is_extraction(post->keeper))
        return atomic_load(&shared->ended);
    return atomic_load(&shared->head) >= atomic_load(&shared->produced) && !has_slot(shared, post->number);
}

static void man(struct post *post)
{
    const char *why = start(post);
    if (why)
        give_up(post->keeper, why);
}

/* Sees what the end of the post's worker means. */
static void relieve(struct post *post)
{
    int status = collect(post);
    if (atomic_load(&post->keeper->supervision->ending) || (status == 0 && is_finished(post)))
        return;
    if ((WIFEXITED(status) && WEXITSTATUS(status) == WORKER_NO_START) || never_begins(post))
        give_up(post->keeper, "it could not begin");
    else if (judge(post, status))
        man(post);
}

static bool is_manned(const struct keeper *keeper)
{
    for (uint32_t i = 0; i < keeper->post_count; i++)
        if (keeper->posts[i].manned)
            return true;
    return false;
}

/* Keeps workers at all posts until there is nothing left to do. */
static void *keep(void *ctx)
{
    struct keeper *keeper = ctx;
    const _Atomic bool *ending = &keeper->supervision->ending;
    for (uint32_t i = 0; i < keeper->post_count && !atomic_load(ending); i++)
        man(&keeper->posts[i]);
    tick(keeper);
    while (is_manned(keeper)) {
        watch_all(keeper);
        for (uint32_t i = 0; i < keeper->post_count; i++)
            if (keeper->lives[i].revents)
                relieve(&keeper->posts[i]);
    }
    launcher_end(&keeper->launcher);
    return NULL;
}

static void set_up_post(struct keeper *keeper, uint32_t i)
{
    struct shared *shared = keeper->supervision->shared;
    keeper->lives[i].fd = -1;
    keeper->posts[i] =
        (struct post){.keeper = keeper,
                      .number = i,
                      .begun = is_extraction(keeper) ? &shared->extract_begun : &shared->thread[i].begun};
}

static bool start_keeper(struct supervision *s, int which, const char *job)
{
    struct keeper *keeper = &s->keepers[which];
    bool extraction = which == EXTRACTION;
    keeper->supervision = s;
    keeper->launcher.options = (struct launch_options){
        .job = job,
        .shared_fd = s->options.shared_fd,
        .known_fd = s->options.known_fd,
        .spool_fd = extraction ? s->options.spool_fd : -1,
        .sandbox = s->shared->sandbox,
        .inputs = s->options.inputs,
        .input_count = extraction ? s->options.input_count : 0,
        .takes_inputs = extraction,
        .patience = s->options.stall_seconds,
        .ending = &s->ending,
    };
    keeper->post_count = extraction ? 1 : s->shared->threads;
    keeper->posts = calloc(keeper->post_count, sizeof *keeper->posts);
    keeper->lives = calloc(keeper->post_count, sizeof *keeper->lives);
    if (!keeper->posts || !keeper->lives)
        return false;
    for (uint32_t i = 0; i < keeper->post_count; i++)
        set_up_post(keeper, i);
    keeper->started = pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    return keeper->started;
}

/* Sees to it that there may be a descriptor for each decoder's life, and for what else a run opens. */
static bool allow_lives(const struct shared *shared, struct error *err)
{
    struct rlimit files;
    rlim_t need = (rlim_t)shared->threads + FILES_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= need)
        return true;
    rlim_t most = files.rlim_max;
    files.rlim_cur = need < most ? need : most;
    return (most >= need && setrlimit(RLIMIT_NOFILE, &files) == 0) ||
           error_set(err, ERROR_IO, ERROR_NO_OFFSET,
                     "%u decoders need %llu open files; ulimit -n allows %llu", shared->threads,
                     (unsigned long long)need, (unsigned long long)most);
}

struct supervision *supervise_start(struct shared *shared, const struct supervise_options *options,
                                    struct error *err)
{
    if (!allow_lives(shared, err))
        return NULL;
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
        free(keeper->posts);
        free(keeper->lives);
    }
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
