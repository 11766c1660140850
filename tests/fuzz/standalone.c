/* standalone.c - drives a fuzz harness without libFuzzer: each named file, and each file in a named folder.
 *
 *   fuzz_NAME [--changes N] FILE|DIR...     runs them; with N, also so many changed copies of each
 *   fuzz_NAME --seeds DIR                   writes the harness's own seeds
 *
 * A finding ends the program by a signal or a sanitizer's exit; the input is then named on stderr, and a
 * changed copy is kept in the file ./finding. Changes are the same on every run. The last line says how many
 * inputs were run.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/corpus/corpus.h"
#include "tests/fuzz/harness.h"

static struct {
    unsigned changes;
    unsigned long inputs;
    char path[4096];       /* of the input that is running */
    const uint8_t *change; /* the changed copy that is running, NULL: the file itself */
    size_t change_size;
} run;

/* What is running when the program dies: only calls that are safe in a signal handler, and in a sanitizer's.
 */
static void tell_input(void)
{
    static const char intro[] = "while running ", changed[] = ", changed: kept as ./finding\n";
    ssize_t ignored = write(STDERR_FILENO, intro, sizeof intro - 1);
    ignored = write(STDERR_FILENO, run.path, strlen(run.path));
    if (run.change) {
        FILE *file = fopen("finding", "wb");
        if (file) {
            fwrite(run.change, 1, run.change_size, file);
            fclose(file);
        }
    }
    ignored = run.change ? write(STDERR_FILENO, changed, sizeof changed - 1) : write(STDERR_FILENO, "\n", 1);
    (void)ignored;
}

static void on_signal(int number)
{
    tell_input();
    signal(number, SIG_DFL);
    raise(number);
}

/* Called by the sanitizers' runtime, where there is one, before it ends the program. */
void __asan_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run_bytes(const uint8_t *bytes, size_t size)
{
    LLVMFuzzerTestOneInput(bytes, size);
    run.inputs++;
}

/* One small change: a bit, an interesting byte, a run moved, or the end cut off. Returns the new size. */
static size_t change_bytes(struct rng *rng, uint8_t *bytes, size_t size)
{
    static const uint8_t interesting[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    if (size == 0)
        return 0;
    size_t at = rng_below(rng, (uint32_t)size), from = rng_below(rng, (uint32_t)size);
    size_t longest = size - (at > from ? at : from);
    switch (rng_below(rng, 8)) {
    case 0:
        return at;
    case 1:
        memmove(bytes + at, bytes + from, longest < 8 ? longest : 8);
        return size;
    case 2:
    case 3:
        bytes[at] = interesting[rng_below(rng, sizeof interesting)];
        return size;
    case 4:
        bytes[at] = (uint8_t)(bytes[at] + rng_below(rng, 33) - 16);
        return size;
    default:
        bytes[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        return size;
    }
}

/* Changes gather where a format keeps its numbers: half of them fall into the first 256 bytes. */
static void run_changed(const uint8_t *bytes, size_t size)
{
    struct rng rng = rng_make(size, 1);
    for (unsigned i = 0; i < run.changes; i++) {
        uint8_t *copy = exact_copy(bytes, size);
        size_t length = size;
        for (unsigned k = 1 + rng_below(&rng, 4); k; k--) {
            size_t reach = rng_chance(&rng, 50) && length > 256 ? 256 : length;
            size_t changed = change_bytes(&rng, copy, reach);
            length = changed < reach ? changed : length;
        }
        uint8_t *exact = exact_copy(copy, length);
        free(copy);
        run.change = exact;
        run.change_size = length;
        run_bytes(exact, length);
        run.change = NULL;
        free(exact);
    }
}

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0) {
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        return false;
    }
    size_t size = (size_t)status.st_size;
    uint8_t *bytes = malloc(size ? size : 1);
    bool read = bytes && fread(bytes, 1, size, file) == size;
    fclose(file);
    if (read) {
        snprintf(run.path, sizeof run.path, "%s", path);
        run_bytes(bytes, size);
        run_changed(bytes, size);
    } else {
        fprintf(stderr, "cannot read %s\n", path);
    }
    free(bytes);
    return read;
}

static bool run_path(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        return run_file(path);
    bool ok = true;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            ok = run_path(inner) && ok;
        free(entries[i]);
    }
    free(entries);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    LLVMFuzzerInitialize(&argc, &argv);
    if (__asan_set_death_callback)
        __asan_set_death_callback(tell_input);
    else
        signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal); /* of `timeout --signal=ALRM` */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--changes") == 0 && i + 1 < argc)
            run.changes = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            ok = run_path(argv[i]) && ok;
    }
    printf("%lu inputs\n", run.inputs);
    return ok && run.inputs ? 0 : 1;
}
