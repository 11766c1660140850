/* walk.c - see walk.h */
#include "pipeline/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/address.h"
#include "pipeline/inputs.h"
#include "pipeline/ipfb.h"

static const char no_file[] = "neither a file nor a directory";

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
    const bool *walked;
    struct frame *frame; /* the innermost; NULL between inputs */
    int (*open)(void *ctx, int *why);
    void *ctx;
    int fd; /* by `open`, of the current input; else -1 */
};

struct walk *walk_new(const char *const *inputs, size_t count)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return NULL;
    walk->inputs = inputs;
    walk->count = count;
    walk->fd = -1;
    return walk;
}

void walk_open_inputs(struct walk *walk, int (*open)(void *ctx, int *why), void *ctx)
{
    walk->open = open;
    walk->ctx = ctx;
}

static void close_input(struct walk *walk)
{
    if (walk->fd >= 0)
        close(walk->fd);
    walk->fd = -1;
}

void walk_again(struct walk *walk, const bool *walked)
{
    walk->walked = walked;
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
    close_input(walk);
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
    int fd =
        entry->fd >= 0 ? fcntl(entry->fd, F_DUPFD_CLOEXEC, 0) : openat(entry->directory, entry->name, flags);
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
    *entry = (struct walk_entry){.directory = AT_FDCWD, .fd = -1};
    close_input(walk);
    if (walk->frame) {
        struct frame *frame = walk->frame;
        entry->directory = frame->fd;
        entry->name = frame->names[frame->next++];
        entry->path = join(frame->path, entry->name);
        return 1;
    }
    if (walk->next == walk->count)
        return 0;
    entry->is_input = !walk->walked || !walk->walked[walk->next];
    entry->name = walk->inputs[walk->next++];
    entry->path = address_of_input(entry->name);
    return 1;
}

static int64_t mtime_of(const struct stat *stat)
{
    return (int64_t)stat->st_mtim.tv_sec * 1000000000 + stat->st_mtim.tv_nsec;
}

/* What the entry is; false with *why, an errno or INPUTS_NO_FILE. An input may have been opened by somebody
 * else.
 */
static bool examine(struct walk *walk, struct walk_entry *entry, struct stat *stat, int *why)
{
    int flags = entry->is_input ? 0 : AT_SYMLINK_NOFOLLOW;
    if (walk->open && !walk->frame) {
        entry->fd = walk->fd = walk->open(walk->ctx, why);
        if (entry->fd < 0)
            return false;
    }
    int result =
        entry->fd >= 0 ? fstat(entry->fd, stat) : fstatat(entry->directory, entry->name, stat, flags);
    *why = errno;
    return result == 0;
}

int walk_next(struct walk *walk, struct walk_entry *entry)
{
    while (next_name(walk, entry)) {
        if (!entry->path)
            return -1;
        struct stat stat;
        int why;
        if (!examine(walk, entry, &stat, &why)) {
            if (why == ENOENT && walk->walked && !walk->frame && !entry->is_input) {
                free(entry->path);
                continue;
            }
            failure_set(&entry->failure, CONTAINER_UNREADABLE, "%s",
                        why == INPUTS_NO_FILE ? no_file : strerror(why));
            return 1;
        }
        if (S_ISREG(stat.st_mode)) {
            entry->size = (uint64_t)stat.st_size;
            entry->mtime_ns = mtime_of(&stat);
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
            failure_set(&entry->failure, CONTAINER_UNREADABLE, "%s", no_file);
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
    if (entry->fd >= 0) {
        int fd = fcntl(entry->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            failure_set(failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
        return fd;
    }
    return open_regular(entry->directory, entry->name, entry->is_input ? 0 : O_NOFOLLOW, failure);
}

int walk_open_path(const char *path, struct failure *failure)
{
    return open_regular(AT_FDCWD, path, 0, failure);
}

/* ---- packs --------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The name less its ending, with room for that of a part behind it: malloc'ed. */
static char *stem_of(const char *name, size_t *length)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    *length = dot && dot != base ? (size_t)(dot - name) : strlen(name);
    char *stem = malloc(*length + sizeof ".p00");
    if (stem)
        memcpy(stem, name, *length + 1);
    return stem;
}

/* The first of the sorted names that is not less. */
static size_t lower_bound(const struct frame *frame, const char *name)
{
    size_t low = 0, high = frame->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(frame->names[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t walk_parts(const struct walk *walk, const struct walk_entry *entry)
{
    static const char *const endings[] = {".p", ".P"};
    const struct frame *frame = entry->is_input ? NULL : walk->frame;
    size_t length;
    char *prefix = stem_of(entry->name, &length);
    uint32_t parts = 0;
    if (!frame || !prefix) {
        free(prefix);
        return UINT32_MAX >> (32 - IPFB_PARTS);
    }
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        strcpy(prefix + length, endings[k]);
        for (size_t i = lower_bound(frame, prefix);
             i < frame->count && strncmp(frame->names[i], prefix, length + 2) == 0; i++) {
            int number = ipfb_part_number(entry->name, frame->names[i]);
            parts |= number >= 0 ? UINT32_C(1) << number : 0;
        }
    }
    free(prefix);
    return parts;
}

/* The name of a part that is there, malloc'ed. */
static char *part_name(const struct walk_entry *entry, unsigned number, struct stat *stat)
{
    size_t length;
    char *name = stem_of(entry->name, &length);
    for (const char *letter = "pP"; name && *letter; letter++) {
        sprintf(name + length, ".%c%02u", *letter, number % 100);
        if (fstatat(entry->directory, name, stat, entry->is_input ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(stat->st_mode))
            return name;
    }
    free(name);
    return NULL;
}

bool walk_part(const struct walk_entry *entry, unsigned number, struct walk_entry *part)
{
    struct stat stat;
    char *name = part_name(entry, number, &stat);
    if (!name)
        return false;
    /* The folder's address is what stands before the index's own name. */
    char *escaped = address_escape(base_name(name), strlen(base_name(name)));
    const char *base = base_name(entry->path);
    size_t head = (size_t)(base - entry->path);
    *part = (struct walk_entry){.fd = -1, .size = (uint64_t)stat.st_size, .mtime_ns = mtime_of(&stat)};
    part->path = escaped ? malloc(head + strlen(escaped) + 1) : NULL;
    if (part->path) {
        memcpy(part->path, entry->path, head);
        strcpy(part->path + head, escaped);
    }
    free(escaped);
    free(name);
    return part->path;
}

int walk_open_part(const struct walk_entry *entry, unsigned number)
{
    struct stat stat;
    struct failure ignored = {.reason = CONTAINER_REASON_NONE};
    char *name = part_name(entry, number, &stat);
    int fd = name ? open_regular(entry->directory, name, entry->is_input ? 0 : O_NOFOLLOW, &ignored) : -1;
    free(name);
    return fd;
}
