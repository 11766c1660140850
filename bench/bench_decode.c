/* bench_decode.c - `anchorage bench decode`: a whole run beside what the machine must do at the least.
 *
 * Large files: a run over one uncompressed tar, against reading that tar through libarchive and hashing every
 * member with XXH3-128, and writing the distinct geometry's canonical bytes to a flat file with one fsync.
 * Small files: a run over a tar of many small MESHBIN files, against listing and hashing the same tar.
 *
 * The sides take turns, so that a machine that slows down slows both; the median of each counts. The run is
 * the program itself in a process of its own, from its start to its exit, into a store that does not exist
 * yet.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/corpus/corpus.h"
#include "bench/memory.h"
#include "pipeline/clock.h"
#include "store/store.h"

#define RUNS_MOST  32
#define PATH_BYTES 4096
#define FILES      100000

int bench_failed(const struct error *err)
{
    fprintf(stderr, "anchorage bench: %s\n", err->msg);
    return 3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double bench_median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- the limit: reading, hashing, writing
 * ------------------------------------------------------------------ */

struct reading {
    uint64_t members, bytes;
    struct hash last; /* kept, so that hashing cannot be left out */
};

static bool read_and_hash(const char *path, struct reading *reading, struct error *err)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    memset(reading, 0, sizeof *reading);
    archive_read_support_format_tar(archive);
    bool ok = archive_read_open_filename(archive, path, 1 << 20) == ARCHIVE_OK;
    int status = ARCHIVE_EOF;
    while (ok && (status = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        struct hash_stream *stream = hash_stream_new();
        const void *block;
        size_t size;
        la_int64_t offset;
        while (stream && archive_read_data_block(archive, &block, &size, &offset) == ARCHIVE_OK) {
            hash_stream_add(stream, block, size);
            reading->bytes += size;
        }
        if (stream)
            reading->last = hash_stream_finish(stream);
        reading->members++;
    }
    if (!ok || status != ARCHIVE_EOF)
        error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot read %s: %s", path, archive_error_string(archive));
    archive_read_free(archive);
    return err->code == ERROR_NONE;
}

static bool write_flat(const char *path, const struct buffer *bytes, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t done = 0;
    while (fd >= 0 && done < bytes->size) {
        ssize_t n = write(fd, bytes->data + done, bytes->size - done);
        if (n < 0)
            break;
        done += (size_t)n;
    }
    bool ok = fd >= 0 && done == bytes->size && fsync(fd) == 0;
    if (!ok)
        error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    unlink(path);
    return ok;
}

/* ---- our side: the program in a process of its own
 * ---------------------------------------------------------- */

extern char **environ;

bool bench_run_program(const char *store, const char *input, int threads, bool sample,
                       struct bench_usage *usage, struct error *err)
{
    char self[PATH_BYTES], count[16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot find this program: %s", strerror(errno));
    self[length] = '\0';
    snprintf(count, sizeof count, "%d", threads);
    char *const argv[] = {self,         (char *)"run", (char *)"-q",  (char *)"-j", count,
                          (char *)"-s", (char *)store, (char *)input, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = 0;
    double start = clock_seconds();
    int failed = posix_spawn(&pid, self, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot start %s: %s", self, strerror(failed));
    memset(usage, 0, sizeof *usage);
    struct rusage rusage = {0};
    pid_t ended;
    while ((ended = wait4(pid, &status, sample ? WNOHANG : 0, &rusage)) == 0) {
        uint64_t now = memory_of_processes(pid);
        usage->anonymous = now > usage->anonymous ? now : usage->anonymous;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    usage->seconds = clock_seconds() - start;
    usage->processor = (double)(rusage.ru_utime.tv_sec + rusage.ru_stime.tv_sec) +
                       (double)(rusage.ru_utime.tv_usec + rusage.ru_stime.tv_usec) * 1e-6;
    if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the run over %s failed", input);
    return true;
}

void bench_remove_store(const char *store)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", store, files[i]);
        unlink(path);
    }
    rmdir(store);
}

/* ---- the distinct geometry of a store
 * ---------------------------------------------------------------------- */

struct collecting {
    struct store_txn *txn;
    struct buffer *bytes;
    struct hash *seen; /* open addressing; `room` is a power of two */
    size_t room, count;
    struct error *err;
};

/* Whether the hash is new; the table never fills past a half. */
static bool remember(struct collecting *c, const struct hash *hash)
{
    uint64_t start;
    memcpy(&start, hash->bytes, sizeof start);
    for (size_t i = start & (c->room - 1);; i = (i + 1) & (c->room - 1)) {
        if (hash_is_zero(&c->seen[i])) {
            c->seen[i] = *hash;
            c->count++;
            return true;
        }
        if (hash_equal(&c->seen[i], hash))
            return false;
    }
}

static bool collect_geometry(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct collecting *c = ctx;
    bool found;
    (void)key;
    if (hash_is_zero(&record->geometry) || c->count * 2 >= c->room || !remember(c, &record->geometry))
        return true;
    return store_get_geometry(c->txn, &record->geometry, c->bytes, &found, c->err);
}

static bool load_geometry(const char *path, struct buffer *bytes, struct error *err)
{
    struct store_stat stat;
    struct store *store = store_open(path, STORE_READ, false, err);
    struct collecting c = {.bytes = bytes, .room = 1024, .err = err};
    bool ok = store && store_stat(store, &stat, err);
    while (ok && c.room < stat.geometries * 4)
        c.room *= 2;
    c.seen = calloc(c.room, sizeof *c.seen);
    c.txn = ok ? store_begin_read(store, err) : NULL;
    ok = c.txn && c.seen && store_each_resource(c.txn, collect_geometry, &c, err) && err->code == ERROR_NONE;
    if (bytes->failed)
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory for the geometry");
    free(c.seen);
    store_end_read(c.txn);
    store_close(store);
    return ok;
}

/* ---- the two measurements
 * ---------------------------------------------------------------------------------- */

struct figures {
    uint64_t bytes, members, geometry, stored, anonymous;
    double read, write, run; /* medians, seconds */
};

static uint64_t file_bytes(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &info) == 0 ? (uint64_t)info.st_blocks * 512 : 0;
}

/* Interleaves the sides `runs` times over `tar`. Without `geometry` the limit is reading and hashing alone.
 */
static bool measure(const struct bench_options *options, const char *tar, bool with_geometry,
                    struct figures *out, struct error *err)
{
    char store[PATH_BYTES], flat[PATH_BYTES];
    double read[RUNS_MOST], write[RUNS_MOST], run[RUNS_MOST];
    struct reading reading;
    struct bench_usage usage;
    struct buffer geometry = {0};
    memset(out, 0, sizeof *out);
    snprintf(store, sizeof store, "%s/store", options->directory);
    snprintf(flat, sizeof flat, "%s/flat", options->directory);
    bench_remove_store(store);
    /* One round that does not count warms the cache and yields the geometry. */
    bool ok = bench_run_program(store, tar, options->threads, true, &usage, err) &&
              (!with_geometry || load_geometry(store, &geometry, err));
    out->stored = file_bytes(store, "data.mdb");
    out->geometry = geometry.size;
    for (unsigned i = 0; ok && i < options->runs; i++) {
        double t0 = clock_seconds();
        ok = read_and_hash(tar, &reading, err);
        double t1 = clock_seconds();
        ok = ok && (!with_geometry || write_flat(flat, &geometry, err));
        double t2 = clock_seconds();
        bench_remove_store(store);
        ok = ok && bench_run_program(store, tar, options->threads, true, &usage, err);
        read[i] = t1 - t0;
        write[i] = t2 - t1;
        run[i] = usage.seconds;
        out->anonymous = usage.anonymous > out->anonymous ? usage.anonymous : out->anonymous;
    }
    bench_remove_store(store);
    buffer_free(&geometry);
    if (!ok)
        return false;
    out->bytes = reading.bytes;
    out->members = reading.members;
    out->read = bench_median(read, options->runs);
    out->write = bench_median(write, options->runs);
    out->run = bench_median(run, options->runs);
    return true;
}

static json_t *json_of_figures(const struct figures *f)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "bytes", (json_int_t)f->bytes,
                     "members", (json_int_t)f->members, "geometry_bytes", (json_int_t)f->geometry,
                     "store_bytes", (json_int_t)f->stored, "anonymous_bytes", (json_int_t)f->anonymous,
                     "read_hash_seconds", f->read, "write_seconds", f->write, "run_seconds", f->run, "ratio",
                     f->run / (f->read + f->write));
}

static void print_figures(const char *title, const struct figures *f)
{
    printf("%s: %.0f MB in %llu members\n", title, (double)f->bytes / 1e6, (unsigned long long)f->members);
    printf("  read through libarchive and hash   %7.3f s  %6.2f GB/s\n", f->read,
           (double)f->bytes / f->read / 1e9);
    if (f->geometry)
        printf("  write %4.0f MB of geometry, fsync   %7.3f s  %6.2f GB/s\n", (double)f->geometry / 1e6,
               f->write, (double)f->geometry / f->write / 1e9);
    printf("  whole run                          %7.3f s  %6.2f GB/s\n", f->run,
           (double)f->bytes / f->run / 1e9);
    printf("  ratio                              %7.2f\n", f->run / (f->read + f->write));
    printf("  store %.0f MB, anonymous memory at most %.0f MB\n", (double)f->stored / 1e6,
           (double)f->anonymous / 1e6);
}

int bench_decode(const struct bench_options *options)
{
    struct error err = {0};
    struct figures large, small;
    char tar[PATH_BYTES], tar_small[PATH_BYTES];
    snprintf(tar, sizeof tar, "%s/large.tar", options->directory);
    snprintf(tar_small, sizeof tar_small, "%s/small.tar", options->directory);
    bool ok = options->runs >= 1 && options->runs <= RUNS_MOST &&
              (mkdir(options->directory, 0777) == 0 || errno == EEXIST ||
               error_set(&err, ERROR_IO, ERROR_NO_OFFSET, "cannot make %s: %s", options->directory,
                         strerror(errno)));
    ok = ok && corpus_uncompressed(tar, options->bytes, 1, &err) && measure(options, tar, true, &large, &err);
    ok = ok && corpus_small_meshbins(tar_small, options->files ? (unsigned)options->files : FILES, 1, &err) &&
         measure(options, tar_small, false, &small, &err);
    unlink(tar);
    unlink(tar_small);
    rmdir(options->directory);
    if (!ok) {
        fprintf(stderr, "anchorage bench: %s\n", err.code ? err.msg : "the number of runs is from 1 to 32");
        return 3;
    }
    if (options->json) {
        json_t *object =
            json_pack("{s:i, s:i, s:o, s:o}", "runs", (int)options->runs, "threads", options->threads,
                      "large", json_of_figures(&large), "small", json_of_figures(&small));
        json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
        putchar('\n');
        json_decref(object);
    } else {
        print_figures("large files", &large);
        print_figures("small files", &small);
    }
    return 0;
}
