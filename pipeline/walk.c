/* walk.c - see walk.h */
#include "pipeline/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/address.h"

/* A directory being walked. */
struct frame {
    struct frame *outer;
    int fd;
    char *path; /* its address */
    char **names;
    size_t count, next;
};

struct walk {
    const char *const *inputs;
    size_t count, next;
    struct frame *frame; /* the innermost; NULL between inputs */
};

struct walk *walk_new(const char *const *inputs, size_t count)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return NULL;
    walk->inputs = inputs;
    walk->count = count;
    return walk;
}

static void frame_pop(struct walk *walk)
{
    struct frame *frame = walk->frame;
    walk->frame = frame->outer;
    for (size_t i = 0; i < frame->count; i++)
        free(frame->names[i]);
    free(frame->names);
    free(frame->path);
    close(frame->fd);
    free(frame);
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    while (walk->frame)
        frame_pop(walk);
    free(walk);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct frame *frame, size_t *room, const char *name)
{
    if (frame->count == *room) {
        size_t wider = *room ? *room * 2 : 64;
        char **names = realloc(frame->names, wider * sizeof *names);
        if (!names)
            return false;
        frame->names = names;
        *room = wider;
    }
    frame->names[frame->count] = strdup(name);
    return frame->names[frame->count++] != NULL;
}

/* Reads the names of an open directory. `fd` stays open for openat. 0, an errno, or -1: out of memory. */
static int read_names(struct frame *frame)
{
    int copy = fcntl(frame->fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir) {
        int why = errno;
        if (copy >= 0)
            close(copy);
        return why;
    }
    int result = 0;
    size_t room = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry) {
            result = errno;
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!add_name(frame, &room, entry->d_name)) {
            frame->count -= frame->count && !frame->names[frame->count - 1];
            result = -1;
            break;
        }
    }
    closedir(dir);
    if (frame->count)
        qsort(frame->names, frame->count, sizeof *frame->names, by_bytes);
    return result;
}

/* Descends into the entry's directory. 1: done, 0: entry->failure is set (and what names could be read are
 * walked next), -1: out of memory. */
static int frame_push(struct walk *walk, struct walk_entry *entry)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (entry->is_input ? 0 : O_NOFOLLOW);
    int fd = openat(entry->directory, entry->name, flags);
    if (fd < 0) {
        failure_set(&entry->failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
        return 0;
    }
    struct frame *frame = calloc(1, sizeof *frame);
    if (!frame) {
        close(fd);
        return -1;
    }
    *frame = (struct frame){.outer = walk->frame, .fd = fd, .path = strdup(entry->path)};
    walk->frame = frame;
    int result = frame->path ? read_names(frame) : -1;
    if (result > 0)
        failure_set(&entry->failure, CONTAINER_UNREADABLE, "%s", strerror(result));
    return result < 0 ? -1 : result == 0;
}

/* "directory" and "name" as one address; the address of the current directory is "". */
static char *join(const char *directory, const char *name)
{
    char *escaped = address_escape(name, strlen(name));
    if (!escaped || !*directory)
        return escaped;
    size_t head = strlen(directory), tail = strlen(escaped);
    bool slash = directory[head - 1] != '/';
    char *path = malloc(head + slash + tail + 1);
    if (path) {
        memcpy(path, directory, head);
        if (slash)
            path[head] = '/';
        memcpy(path + head + slash, escaped, tail + 1);
    }
    free(escaped);
    return path;
}

/* The next thing by name, whatever it is. 1, or 0 at the end of everything. */
static int next_name(struct walk *walk, struct walk_entry *entry)
{
    while (walk->frame && walk->frame->next == walk->frame->count)
        frame_pop(walk);
    *entry = (struct walk_entry){.directory = AT_FDCWD};
    if (walk->frame) {
        struct frame *frame = walk->frame;
        entry->directory = frame->fd;
        entry->name = frame->names[frame->next++];
        entry->path = join(frame->path, entry->name);
        return 1;
    }
    if (walk->next == walk->count)
        return 0;
    entry->is_input = true;
    entry->name = walk->inputs[walk->next++];
    entry->path = address_of_input(entry->name);
    return 1;
}

int walk_next(struct walk *walk, struct walk_entry *entry)
{
    while (next_name(walk, entry)) {
        if (!entry->path)
            return -1;
        struct stat stat;
        if (fstatat(entry->directory, entry->name, &stat, entry->is_input ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
            failure_set(&entry->failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
            return 1;
        }
        if (S_ISREG(stat.st_mode)) {
            entry->size = (uint64_t)stat.st_size;
            entry->mtime_ns = (int64_t)stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec;
            return 1;
        }
        if (S_ISDIR(stat.st_mode)) {
            int pushed = frame_push(walk, entry);
            if (pushed == 0)
                return 1;
            if (pushed < 0) {
                free(entry->path);
                return -1;
            }
        } else if (entry->is_input) {
            failure_set(&entry->failure, CONTAINER_UNREADABLE, "neither a file nor a directory");
            return 1;
        }
        free(entry->path);
    }
    return 0;
}

/* O_NONBLOCK: if the file was replaced by a FIFO since it was looked at, opening it must not wait. */
static int open_regular(int directory, const char *name, int flags, struct failure *failure)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) != 0) {
        failure_set(failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
    } else if (!S_ISREG(stat.st_mode)) {
        failure_set(failure, CONTAINER_UNREADABLE, "not a regular file");
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

int walk_open_file(const struct walk_entry *entry, struct failure *failure)
{
    return open_regular(entry->directory, entry->name, entry->is_input ? 0 : O_NOFOLLOW, failure);
}

int walk_open_path(const char *path, struct failure *failure)
{
    return open_regular(AT_FDCWD, path, 0, failure);
}
