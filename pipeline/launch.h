/* launch.h - starts workers (worker.h), by way of a template of them.
 *
 * The template is started with the first worker, and again whenever it is found gone. Once a worker is
 * started in the place of another, one more is forked ahead, which waits for its turn while the others work.
 * A launcher belongs to one thread, which must live as long as any worker of it: the kernel counts the thread
 * as their parent.
 */
#ifndef ANCHORAGE_LAUNCH_H
#define ANCHORAGE_LAUNCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch_options {
    const char *job;            /* "extract" or "decode" */
    int shared_fd, known_fd;    /* not closed here, nor are the following */
    int spool_fd;               /* -1: none */
    bool sandbox;               /* wanted */
    const char *const *inputs;  /* that the sandbox leaves open; they outlive the launcher */
    size_t input_count;         /* 0: none */
    bool takes_inputs;          /* each worker gets a socket for them */
    double patience;            /* seconds that a template may take to answer */
    const _Atomic bool *ending; /* when true nothing is waited for any longer */
};

struct launcher {
    struct launch_options options;
    pid_t template; /* 0: there is none */
    int socket;     /* to it */
    bool asked;     /* a worker was asked for; the answer was not taken yet */
    int next;       /* the life of that worker */
};

struct launched {
    pid_t pid;  /* a child of this process, to be waited for */
    int life;   /* a socket, readable at its end; to be closed */
    int inputs; /* the socket on which it takes inputs, to be closed; -1: none */
};

/* Starts a worker, number `number` of its kind, and one ahead if there is likely need of it. NULL, or why
 * there is none: a message that lives as long as the program. */
const char *launch(struct launcher *launcher, unsigned number, bool ahead, struct launched *worker);
/* Ends the template, and a worker that was started ahead. Others go on. */
void launcher_end(struct launcher *launcher);

#endif
