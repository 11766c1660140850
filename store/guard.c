/* guard.c - what a fault inside LMDB becomes: a message and status 3. See store_internal.h. */
#include "store/store_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define GUARD_STATUS 3 /* EXIT_FAILED of cmd/cmd.h */
#define GUARD_STORES                                                                                         \
    8 /* that a process has open at a time and the handler knows of; more are not known to it */

/* What the handler needs is made ready, since it may call next to nothing. A slot is free while `length` is
 * 0. */
static struct slot {
    const struct store *store;
    dev_t device;
    ino_t inode;
    size_t length;
    char message[1024];
} slots[GUARD_STORES];
static pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
#define SIGNALS (sizeof signals / sizeof *signals)
static struct sigaction before[SIGNALS];
static pthread_once_t handlers = PTHREAD_ONCE_INIT;

/* The stack of the first thread only: what faults here is no overflow, and the others have room. */
static char stack[64 << 10];

static _Thread_local const struct store *volatile inside;

static void say(const struct slot *slot)
{
    ssize_t written = write(STDERR_FILENO, slot->message, slot->length);
    (void)written;
}

/* Reads one hexadecimal number; *at is behind it. */
static uint64_t read_hex(const char **at)
{
    uint64_t value = 0;
    for (;; ++*at) {
        int digit = **at >= '0' && **at <= '9'   ? **at - '0'
                    : **at >= 'a' && **at <= 'f' ? **at - 'a' + 10
                                                 : -1;
        if (digit < 0)
            return value;
        value = value << 4 | (unsigned)digit;
    }
}

/* One line of /proc/self/maps: start-end perms offset major:minor inode path. */
static const struct slot *slot_of_mapping(const char *line, uintptr_t address)
{
    uint64_t start = read_hex(&line);
    line++;
    uint64_t end = read_hex(&line), inode = 0;
    if (address < start || address >= end)
        return NULL;
    for (int spaces = 0; spaces < 2; line++)
        spaces += *line == ' ';
    read_hex(&line);
    line++;
    unsigned major_id = (unsigned)read_hex(&line);
    line++;
    unsigned minor_id = (unsigned)read_hex(&line);
    for (line++; *line >= '0' && *line <= '9'; line++)
        inode = inode * 10 + (unsigned)(*line - '0');
    for (size_t i = 0; i < GUARD_STORES; i++)
        if (slots[i].length && slots[i].inode == inode && slots[i].device == makedev(major_id, minor_id))
            return &slots[i];
    return NULL;
}

/* The store in whose file the address is mapped, if it is. Only calls that a signal handler may make. */
static const struct slot *slot_at(uintptr_t address)
{
    char line[512]; /* longer ones are cut: what is needed stands at their start */
    size_t used = 0;
    const struct slot *found = NULL;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char c;
    while (fd >= 0 && !found && read(fd, &c, 1) == 1) {
        if (c != '\n') {
            line[used] = c;
            used += used + 1 < sizeof line;
            continue;
        }
        line[used] = '\0';
        if (used > 40)
            found = slot_of_mapping(line, address);
        used = 0;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static const struct slot *slot_of(const struct store *store)
{
    for (size_t i = 0; store && i < GUARD_STORES; i++)
        if (slots[i].length && slots[i].store == store)
            return &slots[i];
    return NULL;
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    const struct slot *slot = slot_of(inside);
    if (!slot && (number == SIGBUS || number == SIGSEGV))
        slot = slot_at((uintptr_t)info->si_addr);
    if (slot) {
        say(slot);
        _exit(GUARD_STATUS);
    }
    /* Not ours: returning repeats the fault, which whoever was there before then gets. */
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            sigaction(number, &before[i], NULL);
    if (number == SIGABRT || info->si_code <= 0) /* was sent, so nothing repeats it */
        raise(number);
}

static void install_handlers(void)
{
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    stack_t there;
    if (sigaltstack(NULL, &there) == 0 && there.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
}

void guard_install(struct store *store)
{
    struct stat status;
    int fd;
    pthread_once(&handlers, install_handlers);
    if (mdb_env_get_fd(store->env, &fd) != MDB_SUCCESS || fstat(fd, &status) != 0)
        return;
    pthread_mutex_lock(&slots_mutex);
    for (size_t i = 0; i < GUARD_STORES; i++) {
        if (slots[i].length)
            continue;
        slots[i].store = store;
        slots[i].device = status.st_dev;
        slots[i].inode = status.st_ino;
        int length =
            snprintf(slots[i].message, sizeof slots[i].message,
                     "anchorage: store '%.400s' is damaged: reading it faulted; run `anchorage repair "
                     "%.400s`\n",
                     store->path, store->path);
        slots[i].length =
            (size_t)length < sizeof slots[i].message ? (size_t)length : sizeof slots[i].message - 1;
        break;
    }
    pthread_mutex_unlock(&slots_mutex);
    mdb_env_set_userctx(store->env, store);
}

void guard_remove(const struct store *store)
{
    pthread_mutex_lock(&slots_mutex);
    for (size_t i = 0; i < GUARD_STORES; i++)
        if (slots[i].length && slots[i].store == store)
            slots[i].length = 0;
    pthread_mutex_unlock(&slots_mutex);
}

void guard_enter(const struct store *store)
{
    inside = store;
}

void guard_leave(void)
{
    inside = NULL;
}

void guard_assertion(MDB_env *env, const char *message)
{
    const struct slot *slot = slot_of(mdb_env_get_userctx(env));
    fprintf(stderr, "anchorage: LMDB: %s\n", message);
    if (slot)
        say(slot);
    _exit(GUARD_STATUS);
}
