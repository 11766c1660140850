/* memory.c - see memory.h */
#include "bench/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t anonymous_bytes(pid_t pid)
{
    char path[64], line[256];
    unsigned long long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %llu", &kilobytes) == 1)
            break;
    if (status)
        fclose(status);
    return kilobytes * 1024;
}

/* Of the children that one thread has started. */
static uint64_t children_bytes(const char *task)
{
    char path[300];
    long child;
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s/children", task);
    FILE *children = fopen(path, "re");
    while (children && fscanf(children, "%ld", &child) == 1)
        bytes += anonymous_bytes((pid_t)child);
    if (children)
        fclose(children);
    return bytes;
}

/* Of a descriptor, when it is a memfd. */
static uint64_t memfd_bytes(const char *link)
{
    static const char memfd[] = "/memfd:";
    char target[sizeof memfd];
    struct stat status;
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < (ssize_t)sizeof memfd - 1 || memcmp(target, memfd, sizeof memfd - 1) != 0 ||
        stat(link, &status) != 0)
        return 0;
    return (uint64_t)status.st_blocks * 512;
}

/* The sum of what `of` finds in each entry of a folder of /proc. */
static uint64_t sum(pid_t pid, const char *folder, uint64_t (*of)(const char *path))
{
    char path[32 + sizeof((struct dirent *)0)->d_name];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, folder);
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        snprintf(path, sizeof path, "/proc/%ld/%s/%s", (long)pid, folder, entry->d_name);
        if (entry->d_name[0] != '.')
            bytes += of(path);
    }
    if (entries)
        closedir(entries);
    return bytes;
}

uint64_t memory_of_processes(pid_t pid)
{
    return anonymous_bytes(pid) + sum(pid, "task", children_bytes) + sum(pid, "fd", memfd_bytes);
}
