/* fault.c - see fault.h */
#include "pipeline/fault.h"

#ifdef ANCHORAGE_TEST_HOOKS

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/worker.h"

#define ESCAPED 90

static volatile int kept;
static _Thread_local bool alone;
static volatile int *volatile nowhere;

/* Deeper and deeper, through frames that no optimiser may fold. */
__attribute__((noinline)) static int overflow(int depth)
{
    volatile char frame[4096];
    frame[depth % (int)sizeof frame] = (char)depth;
    return depth < INT_MAX ? overflow(depth + 1) + frame[0] : 0;
}

static void escape_if(bool succeeded)
{
    if (succeeded)
        _exit(ESCAPED);
}

static bool can_exec(void)
{
    char *const argv[] = {(char *)"true", NULL};
    pid_t pid;
    return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL) == 0;
}

/* As the template does it, too. */
static bool can_fork(void)
{
    pid_t child = fork(), sibling = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0 || sibling == 0)
        _exit(0);
    return child > 0 || sibling > 0;
}

__attribute__((no_sanitize("undefined", "address"))) static void happen(const char *kind)
{
    if (strcmp(kind, "segv") == 0 || strcmp(kind, "once") == 0)
        *nowhere = 1;
    else if (strcmp(kind, "abort") == 0)
        abort();
    else if (strcmp(kind, "stack") == 0)
        overflow(0);
    else if (strcmp(kind, "loop") == 0)
        for (;;)
            kept++;
    else if (strcmp(kind, "exit") == 0)
        _exit(0);
    else if (strcmp(kind, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(kind, "slow") == 0)
        usleep(100000);
    else if (strcmp(kind, "memory") == 0)
        worker_out_of_memory();
    else if (strcmp(kind, "open") == 0)
        escape_if(open("/etc/passwd", O_RDONLY) >= 0);
    else if (strcmp(kind, "write") == 0)
        escape_if(open("/tmp/anchorage-escaped", O_WRONLY | O_CREAT, 0600) >= 0);
    else if (strcmp(kind, "socket") == 0)
        escape_if(socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    else if (strcmp(kind, "exec") == 0)
        escape_if(can_exec());
    else if (strcmp(kind, "fork") == 0)
        escape_if(can_fork());
    else if (strcmp(kind, "signal") == 0)
        escape_if(kill(getppid(), 0) == 0 || syscall(SYS_tgkill, getppid(), getppid(), 0) == 0);
    else if (strcmp(kind, "outlive") == 0)
        escape_if(prctl(PR_SET_PDEATHSIG, 0) == 0);
}

void fault_note_alone(bool is_alone)
{
    alone = is_alone;
}

void fault_here(enum fault_place place, const char *name)
{
    static const char *const places[] = {"decode", "extract"};
    const char *at = getenv("ANCHORAGE_FAULT");
    while (at && *at) {
        char entry[256] = "", *kind, *text;
        size_t length = strcspn(at, " ");
        if (length < sizeof entry)
            memcpy(entry, at, length);
        at += length + (at[length] == ' ');
        kind = strchr(entry, ':');
        text = kind ? strchr(kind + 1, ':') : NULL;
        if (!text)
            continue;
        *kind++ = '\0';
        *text++ = '\0';
        if (strcmp(entry, places[place]) == 0 && strstr(name, text) && (strcmp(kind, "once") != 0 || !alone))
            happen(kind);
    }
}

#else

/* ISO C wants something in every file. */
typedef int fault_nothing;

#endif
