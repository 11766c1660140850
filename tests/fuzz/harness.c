/* harness.c - see harness.h */
#include "tests/fuzz/harness.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *seed_directory;

void must_fail(const char *file, int line, const char *property, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "%s:%d: does not hold: %s: ", file, line, property);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

uint8_t *exact_copy(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        exit(1);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

static void seed_failed(const char *path)
{
    fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
    exit(1);
}

void put_seed(const char *name, const void *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", seed_directory, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        seed_failed(path);
}

void put_seed_buffer(const char *name, struct buffer *bytes)
{
    if (bytes->failed)
        exit(1);
    put_seed(name, bytes->data, bytes->size);
    buffer_free(bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* Names of archive members are converted by the C library. */
    setlocale(LC_CTYPE, "C.UTF-8");
    if (*argc != 3 || strcmp((*argv)[1], "--seeds") != 0)
        return 0;
    seed_directory = (*argv)[2];
    if (mkdir(seed_directory, 0777) != 0 && errno != EEXIST)
        seed_failed(seed_directory);
    fuzz_seeds();
    exit(0);
}
