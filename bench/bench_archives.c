/* bench_archives.c - `anchorage bench archives`: a whole run over compressed archives, beside libarchive.
 *
 * A few archives of each of four kinds, all with the same members. The limit is libarchive's own reading of
 * every member of the same archives, two archives at a time in two processes, each as it gets there; nothing
 * is hashed, decoded or written. The sides take turns; medians count.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/corpus/corpus.h"
#include "bench/corpus/corpus_archive.h"
#include "pipeline/clock.h"

#define RUNS_MOST  32
#define PATH_BYTES 4096
#define ARCHIVES   4 /* of each kind */
#define READERS    2

static const struct {
    const char *name;
    enum sink_kind kind;
} kinds[] = {{"zip", SINK_ZIP}, {"tar.gz", SINK_TAR_GZ}, {"tar.zst", SINK_TAR_ZST}, {"7z", SINK_7Z}};
#define KINDS (sizeof kinds / sizeof *kinds)

struct archive_figures {
    uint64_t packed, unpacked;
    double read, run;                     /* medians, seconds */
    double read_processor, run_processor; /* the same of processor time */
};

static void archive_path(const struct bench_options *options, unsigned number, const char *ending,
                         char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/in/a%u.%s", options->directory, number, ending);
}

static uint64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* ---- the archives -------------------------------------------------------------------------------------- */

static struct archive *open_reader(const char *path)
{
    struct archive *archive = archive_read_new();
    archive_read_support_format_tar(archive);
    archive_read_support_format_zip(archive);
    archive_read_support_format_7zip(archive);
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    if (archive_read_open_filename(archive, path, 1 << 20) == ARCHIVE_OK)
        return archive;
    archive_read_free(archive);
    return NULL;
}

/* Copies one member of the tar. */
static bool copy_member(struct archive *tar, struct archive_entry *entry, struct sink *sink,
                        struct buffer *bytes, struct error *err)
{
    const void *block;
    size_t size;
    la_int64_t offset;
    buffer_clear(bytes);
    while (archive_read_data_block(tar, &block, &size, &offset) == ARCHIVE_OK)
        buffer_append(bytes, block, size);
    return sink_add(sink, archive_entry_pathname(entry), bytes->data, bytes->size, err);
}

/* Makes an archive of the tar's members. */
static bool pack(const char *from, enum sink_kind kind, const char *to, struct error *err)
{
    struct archive *tar = open_reader(from);
    struct sink *sink = tar ? sink_open(kind, to, NULL, err) : NULL;
    struct archive_entry *entry;
    struct buffer bytes = {0};
    bool ok = sink;
    while (ok && archive_read_next_header(tar, &entry) == ARCHIVE_OK)
        ok = copy_member(tar, entry, sink, &bytes, err);
    ok = sink_close(sink, err) && ok;
    archive_read_free(tar);
    buffer_free(&bytes);
    return ok || error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot make %s", to);
}

static bool make_archives(const struct bench_options *options, size_t kind, struct archive_figures *figures,
                          struct error *err)
{
    char tar[PATH_BYTES], path[PATH_BYTES];
    snprintf(tar, sizeof tar, "%s/plain.tar", options->directory);
    bool ok = true;
    for (unsigned i = 0; ok && i < ARCHIVES; i++) {
        archive_path(options, i, kinds[kind].name, path);
        ok = corpus_uncompressed(tar, options->bytes / ARCHIVES, 1 + i, err) &&
             pack(tar, kinds[kind].kind, path, err);
        figures->unpacked += file_size(tar);
        figures->packed += file_size(path);
    }
    unlink(tar);
    return ok;
}

static void remove_archives(const struct bench_options *options, size_t kind)
{
    char path[PATH_BYTES];
    for (unsigned i = 0; i < ARCHIVES; i++) {
        archive_path(options, i, kinds[kind].name, path);
        unlink(path);
    }
}

/* ---- the limit ----------------------------------------------------------------------------------------- */

static bool read_archive(const char *path)
{
    struct archive *archive = open_reader(path);
    struct archive_entry *entry;
    int status = ARCHIVE_FATAL;
    while (archive && (status = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        const void *block;
        size_t size;
        la_int64_t offset;
        while ((status = archive_read_data_block(archive, &block, &size, &offset)) == ARCHIVE_OK)
            ;
        if (status != ARCHIVE_EOF)
            break;
    }
    archive_read_free(archive);
    return status == ARCHIVE_EOF;
}

/* Reads archives in a process of its own until all are taken. */
static pid_t start_reader(const struct bench_options *options, size_t kind, _Atomic unsigned *next)
{
    char path[PATH_BYTES];
    pid_t pid = fork(); /* this program has no threads yet, and does nothing here but libarchive */
    if (pid)
        return pid;
    for (unsigned i; (i = atomic_fetch_add(next, 1)) < ARCHIVES;) {
        archive_path(options, i, kinds[kind].name, path);
        if (!read_archive(path))
            _exit(1);
    }
    _exit(0);
}

static double seconds_of(const struct rusage *rusage)
{
    return (double)(rusage->ru_utime.tv_sec + rusage->ru_stime.tv_sec) +
           (double)(rusage->ru_utime.tv_usec + rusage->ru_stime.tv_usec) * 1e-6;
}

static bool read_all(const struct bench_options *options, size_t kind, double *taken, double *processor,
                     struct error *err)
{
    _Atomic unsigned *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    pid_t readers[READERS];
    bool ok = true;
    *processor = 0;
    double start = clock_seconds();
    for (int i = 0; i < READERS; i++)
        readers[i] = start_reader(options, kind, next);
    for (int i = 0; i < READERS; i++) {
        int status = -1;
        struct rusage rusage = {0};
        ok = readers[i] > 0 && wait4(readers[i], &status, 0, &rusage) == readers[i] && status == 0 && ok;
        *processor += seconds_of(&rusage);
    }
    *taken = clock_seconds() - start;
    munmap(next, sizeof *next);
    return ok || error_set(err, ERROR_IO, ERROR_NO_OFFSET, "libarchive cannot read the archives");
}

/* ---- the measurement ----------------------------------------------------------------------------------- */

static bool measure(const struct bench_options *options, size_t kind, struct archive_figures *figures,
                    struct error *err)
{
    char store[PATH_BYTES], input[PATH_BYTES];
    double read[RUNS_MOST], run[RUNS_MOST], read_processor[RUNS_MOST], run_processor[RUNS_MOST];
    struct bench_usage usage;
    snprintf(store, sizeof store, "%s/store", options->directory);
    snprintf(input, sizeof input, "%s/in", options->directory);
    bool ok = make_archives(options, kind, figures, err);
    /* The first round warms the cache and does not count. */
    for (unsigned i = 0; ok && i <= options->runs; i++) {
        unsigned at = i ? i - 1 : 0;
        ok = read_all(options, kind, &read[at], &read_processor[at], err);
        bench_remove_store(store);
        ok = ok && bench_run_program(store, input, options->threads, false, &usage, err);
        run[at] = usage.seconds;
        run_processor[at] = usage.processor;
    }
    bench_remove_store(store);
    remove_archives(options, kind);
    if (!ok)
        return false;
    figures->read = bench_median(read, options->runs);
    figures->run = bench_median(run, options->runs);
    figures->read_processor = bench_median(read_processor, options->runs);
    figures->run_processor = bench_median(run_processor, options->runs);
    return true;
}

static void print_json(const struct bench_options *options, const struct archive_figures figures[KINDS])
{
    json_t *rows = json_array();
    for (size_t i = 0; i < KINDS; i++)
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "kind", kinds[i].name, "packed_bytes",
                            (json_int_t)figures[i].packed, "bytes", (json_int_t)figures[i].unpacked,
                            "read_seconds", figures[i].read, "run_seconds", figures[i].run,
                            "read_processor_seconds", figures[i].read_processor, "run_processor_seconds",
                            figures[i].run_processor, "ratio", figures[i].run / figures[i].read));
    json_t *object =
        json_pack("{s:i, s:i, s:o}", "runs", (int)options->runs, "threads", options->threads, "kinds", rows);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static void print_table(const struct archive_figures figures[KINDS])
{
    printf("%d archives of each kind; libarchive reads %d at a time; (processor time)\n", (int)ARCHIVES,
           (int)READERS);
    printf("            packed   unpacked         libarchive              whole run   ratio\n");
    for (size_t i = 0; i < KINDS; i++)
        printf("%-8s %6.0f MB  %6.0f MB  %8.3f (%.3f) s  %10.3f (%.3f) s  %6.2f\n", kinds[i].name,
               (double)figures[i].packed / 1e6, (double)figures[i].unpacked / 1e6, figures[i].read,
               figures[i].read_processor, figures[i].run, figures[i].run_processor,
               figures[i].run / figures[i].read);
}

int bench_archives(const struct bench_options *options)
{
    struct error err = {0};
    struct archive_figures figures[KINDS] = {{0}};
    char input[PATH_BYTES];
    snprintf(input, sizeof input, "%s/in", options->directory);
    bool ok = (mkdir(options->directory, 0777) == 0 || errno == EEXIST) &&
              (mkdir(input, 0777) == 0 || errno == EEXIST);
    if (!ok)
        error_set_system(&err, ERROR_IO, errno, "cannot make %s", input);
    for (size_t i = 0; ok && i < KINDS; i++)
        ok = measure(options, i, &figures[i], &err);
    rmdir(input);
    rmdir(options->directory);
    if (!ok)
        return bench_failed(&err);
    if (options->json)
        print_json(options, figures);
    else
        print_table(figures);
    return 0;
}
