/* launch.c - see launch.h */
#include "pipeline/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/clock.h"
#include "pipeline/passing.h"
#include "pipeline/sandbox.h"
#include "pipeline/worker.h"

/* How often it is looked whether the answer is still waited for. */
#define TICK_MS 200
/* Tries to start one worker: a template may be found gone, or a worker, killed by something outside. */
#define TRIES_MOST 4

extern char **environ;

static const char no_start[] = "it could not begin";

/* ---- the template -------------------------------------------------------------------------------------- */

/* The descriptor at a number that is none of the template's own, so that none is overwritten before it has
 * been moved. */
static int away(int fd)
{
    return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, WORKER_FD_END) : -1;
}

/* The environment of a template, to be freed. What libraries look up lazily each worker would look up anew;
 * so it is all looked up at the start, which costs no more. NULL when memory runs out. */
static char **template_environment(void)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + 2, sizeof *variables);
    if (!variables)
        return NULL;
    memcpy(variables, environ, count * sizeof *variables);
    variables[count] = (char *)"LD_BIND_NOW=1";
    return variables;
}

static int spawn(const char *job, const int fds[static WORKER_FD_END], pid_t *pid)
{
    char *const argv[] = {(char *)"anchorage", (char *)WORKER_COMMAND, (char *)(uintptr_t)job, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t blocked;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    for (int fd = WORKER_SHARED; fd < WORKER_LIFE; fd++) {
        if (fds[fd] >= 0)
            posix_spawn_file_actions_adddup2(&actions, fds[fd], fd);
        else
            posix_spawn_file_actions_addclose(&actions, fd);
    }
    /* Taken, so that what arrives for a worker arrives at other numbers and can be moved here. */
    for (int fd = WORKER_LIFE; fd < WORKER_FD_END; fd++)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, fd);
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
    char **variables = template_environment();
    int failed =
        variables ? posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, variables) : ENOMEM;
    free(variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* An errno. */
static int start_template(struct launcher *launcher)
{
    const struct launch_options *options = &launcher->options;
    int sockets[2], fds[WORKER_FD_END], rules = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return errno;
    if (options->sandbox)
        rules = sandbox_rules(options->inputs, options->input_count);
    memset(fds, -1, sizeof fds);
    fds[WORKER_SHARED] = away(options->shared_fd);
    fds[WORKER_KNOWN] = away(options->known_fd);
    fds[WORKER_RULES] = away(rules);
    fds[WORKER_SPOOL] = away(options->spool_fd);
    fds[WORKER_REQUESTS] = away(sockets[1]);
    int failed = spawn(options->job, fds, &launcher->template);
    close_all(fds, WORKER_FD_END);
    close_all(&rules, 1);
    close(sockets[1]);
    launcher->socket = sockets[0];
    if (!failed)
        return 0;
    launcher->template = 0;
    close(sockets[0]);
    return failed;
}

/* Waits for a child that has ended, or soon will; its wait status. */
static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Forgets the worker that was asked for. It ends when its life does, before it has done anything. */
static void forget_next(struct launcher *launcher)
{
    if (launcher->asked)
        close(launcher->next);
    launcher->asked = false;
}

/* Collects a template that is gone or has to go; its wait status. */
static int end_template(struct launcher *launcher)
{
    forget_next(launcher);
    kill(launcher->template, SIGKILL);
    int status = wait_for(launcher->template);
    close(launcher->socket);
    launcher->template = 0;
    return status;
}

/* ---- a worker ------------------------------------------------------------------------------------------ */

/* Waits for the template's answer. False when it has had all its time: libseccomp, for one, may go round for
 * ever when it gets no memory. */
static bool wait_for_answer(const struct launcher *launcher)
{
    struct pollfd answer = {.fd = launcher->socket, .events = POLLIN};
    double until = clock_seconds() + launcher->options.patience;
    while (poll(&answer, 1, TICK_MS) <= 0)
        if (atomic_load(launcher->options.ending) || clock_seconds() > until)
            return false;
    return true;
}

enum answer { BORN, REFUSED, LATE, GONE };

/* Asks for a worker, which then waits at the other end of its life for a word. */
static enum answer ask(struct launcher *launcher, const char **why)
{
    int life[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, life) != 0) {
        *why = strerrordesc_np(errno);
        return REFUSED;
    }
    launcher->asked = passing_send(launcher->socket, 0, &life[1], 1);
    launcher->next = life[0];
    close(life[1]);
    if (!launcher->asked)
        close(life[0]);
    return launcher->asked ? BORN : GONE;
}

/* Takes the answer. */
static enum answer take(struct launcher *launcher, struct launched *worker, const char **why)
{
    int none[PASSING_MOST], word = 0;
    if (!wait_for_answer(launcher))
        return LATE;
    if (passing_receive(launcher->socket, &word, none) != 0)
        return GONE;
    if (word <= 0) {
        *why = strerrordesc_np(-word);
        forget_next(launcher);
        return REFUSED;
    }
    *worker = (struct launched){.pid = word, .life = launcher->next, .inputs = -1};
    launcher->asked = false;
    return BORN;
}

/* Tells the worker who it is, and begins. Where that does not arrive it was killed meanwhile. */
static enum answer send_off(const struct launcher *launcher, unsigned number, struct launched *worker,
                            const char **why)
{
    int inputs[2] = {-1, -1};
    bool has_inputs = launcher->options.takes_inputs;
    if (has_inputs && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, inputs) != 0)
        *why = strerrordesc_np(errno);
    bool sent = !*why && passing_send(worker->life, (int)number, &inputs[1], has_inputs);
    close_all(&inputs[1], 1);
    if (sent) {
        worker->inputs = inputs[0];
        return BORN;
    }
    close_all(&inputs[0], 1);
    close(worker->life);
    wait_for(worker->pid);
    return *why ? REFUSED : GONE;
}

/* One try; when *why stays NULL another may be made. */
static enum answer try_launch(struct launcher *launcher, unsigned number, struct launched *worker,
                              const char **why)
{
    enum answer answer = launcher->asked ? BORN : ask(launcher, why);
    if (answer == BORN)
        answer = take(launcher, worker, why);
    if (answer == BORN)
        return send_off(launcher, number, worker, why);
    if (answer == REFUSED)
        return answer;
    int status = end_template(launcher);
    if (answer == LATE || (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_NO_START))
        *why = no_start;
    return answer;
}

const char *launch(struct launcher *launcher, unsigned number, bool ahead, struct launched *worker)
{
    const char *why = NULL, *whatever;
    enum answer answer = GONE;
    for (int i = 0; i < TRIES_MOST && answer != BORN && !why; i++) {
        int failed = launcher->template ? 0 : start_template(launcher);
        if (failed)
            return strerrordesc_np(failed);
        answer = try_launch(launcher, number, worker, &why);
    }
    if (answer != BORN)
        return why ? why : no_start;
    if (ahead && !launcher->asked)
        ask(launcher, &whatever); /* when that fails, so will the next start, and say why */
    return NULL;
}

void launcher_end(struct launcher *launcher)
{
    struct launched next;
    const char *whatever;
    if (launcher->asked && take(launcher, &next, &whatever) == BORN) {
        close(next.life);
        wait_for(next.pid);
    }
    if (launcher->template)
        end_template(launcher);
}
