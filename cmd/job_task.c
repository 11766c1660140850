/* job_task.c - what the machines of a job do: one shard each, and at the end the merge. See job.h.
 *
 * A shard's store is built on the machine's own disk: LMDB's maps and locks are not for network file systems.
 * Only the finished file goes to the shared directory, by plain writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/job.h"
#include "cmd/merging.h"
#include "store/place.h"

/* ---- one shard ----------------------------------------------------------------------------------------- */

struct task {
    struct job job;
    uint32_t shard;
    char *local; /* the store on this machine's disk */
};

static void remove_local(const char *path)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock"};
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < sizeof files / sizeof *files; i++)
        unlinkat(fd, files[i], 0);
    if (fd >= 0)
        close(fd);
    rmdir(path);
}

/* Removes what a task of this shard left here when it was killed. One that is still at work holds its lock.
 */
static void sweep(const char *prefix)
{
    char *pattern;
    glob_t found;
    if (asprintf(&pattern, "%s-*", prefix) < 0)
        return;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct error ignored = {0};
            struct store *store = store_open(found.gl_pathv[i], STORE_SCRATCH, false, &ignored);
            store_close(store);
            if (store)
                remove_local(found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(pattern);
}

static bool choose_local(struct task *task, struct error *err)
{
    char hash_text[HASH_HEX], *prefix = NULL;
    struct hash hash = hash_bytes(task->job.directory, strlen(task->job.directory));
    hash_format(&hash, hash_text);
    bool ok = asprintf(&prefix, "%s/anchorage-%.8s-%u", place_own_directory(), hash_text, task->shard) > 0;
    if (ok)
        sweep(prefix);
    ok = ok && asprintf(&task->local, "%s-%ld", prefix, (long)getpid()) > 0;
    free(prefix);
    return ok || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* `run` with what the job says, as somebody might have typed it. */
static int run_shard(const struct task *task, int threads)
{
    const struct job *job = &task->job;
    char shard[32], count[16], *plan = job_path(job, "plan.jsonl");
    snprintf(shard, sizeof shard, "%u/%u", task->shard, job->shards);
    snprintf(count, sizeof count, "%d", threads);
    const char *argv[] = {"run", "-q",     "-j", count,    "-s",       task->local, "--shard",
                          shard, "--plan", plan, "--seed", job->store, NULL};
    int argc = (int)(sizeof argv / sizeof *argv) - 1 - (job->seed ? 0 : 2);
    argv[argc] = NULL;
    optind = 0; /* getopt begins anew */
    FILE *out =
        freopen("/dev/null", "w", stdout); /* a shard's summary says little, and not all is in its store */
    int status = plan && out ? cmd_run(argc, (char **)(uintptr_t)argv) : EXIT_FAILED;
    free(plan);
    return status; // cppcheck-suppress resourceLeak ; stdout stays open
}

static bool is_done(const struct task *task, bool *done, struct error *err)
{
    uint32_t missing;
    char **files = job_find_shards(&task->job, &missing, err);
    *done = files && files[task->shard];
    job_free_shards(&task->job, files);
    return files;
}

static bool hash_file(int fd, struct hash *hash)
{
    static uint8_t block[1 << 20];
    struct hash_stream *stream = hash_stream_new();
    off_t at = 0;
    ssize_t n;
    while (stream && (n = pread(fd, block, sizeof block, at)) > 0) {
        hash_stream_add(stream, block, (size_t)n);
        at += n;
    }
    if (!stream)
        return false;
    *hash = hash_stream_finish(stream);
    return n == 0;
}

static bool publish_fails(const char *path, struct error *err)
{
    return error_set_system(err, ERROR_IO, errno, "cannot publish %s", path);
}

/* The store, compacted, into the shared directory under the name of its content. */
static bool copy_and_rename(const struct task *task, struct store *store, const char *aside,
                            struct error *err)
{
    struct hash hash;
    char hex[HASH_HEX], name[96];
    bool done;
    int fd = open(aside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return publish_fails(aside, err);
    bool ok =
        store_copy(store, fd, aside, err) &&
        ((hash_file(fd, &hash) && fchmod(fd, 0444) == 0 && fsync(fd) == 0) || publish_fails(aside, err));
    if (close(fd) != 0 && ok)
        ok = publish_fails(aside, err);
    if (!ok || !is_done(task, &done, err))
        return false;
    if (done) { /* by another machine meanwhile: its file serves as well */
        unlink(aside);
        return true;
    }
    hash_format(&hash, hex);
    snprintf(name, sizeof name, "shard-%u.%s.mdb", task->shard, hex);
    char *path = job_path(&task->job, name);
    ok = path && (rename(aside, path) == 0 || publish_fails(path, err));
    if (ok)
        place_sync_directory(path);
    free(path);
    return ok;
}

static bool publish(const struct task *task, struct error *err)
{
    char host[64] = "", name[160];
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "shard-%u.tmp-%s-%ld", task->shard, host, (long)getpid());
    char *aside = job_path(&task->job, name);
    struct store *store = aside ? store_open(task->local, STORE_READ, false, err) : NULL;
    bool ok = store && copy_and_rename(task, store, aside, err);
    store_close(store);
    if (!ok && aside)
        unlink(aside);
    free(aside);
    return ok;
}

static int do_task(struct task *task, uint32_t shards, int threads, struct error *err)
{
    bool done;
    if (task->shard >= task->job.shards || shards != task->job.shards)
        error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s has %u shards, not %u", task->job.directory,
                  task->job.shards, shards);
    else if (strcmp(task->job.program, ANCHORAGE_VERSION) != 0)
        error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                  "the job was submitted by version %s, this is " ANCHORAGE_VERSION, task->job.program);
    else if (chdir(task->job.cwd) != 0)
        error_set_system(err, ERROR_IO, errno, "cannot go to %s", task->job.cwd);
    if (err->code || !is_done(task, &done, err))
        return failure(err);
    if (done) {
        fprintf(stderr, "anchorage: shard %u is done already\n", task->shard);
        return EXIT_DONE;
    }
    if (!choose_local(task, err))
        return failure(err);
    int status = run_shard(task, threads);
    if (status == EXIT_DONE && !publish(task, err)) {
        status = failure(err);
        status = err->code == ERROR_DISK ? EXIT_AGAIN : status;
    }
    remove_local(task->local);
    if (status == EXIT_AGAIN)
        fprintf(stderr, "anchorage: shard %u was not done here; another try may do it (exit 75)\n",
                task->shard);
    return status;
}

int job_task(const char *directory, uint32_t shard, uint32_t shards, int threads)
{
    struct task task = {.shard = shard};
    struct error err = {0};
    int status = job_read(directory, &task.job, &err) ? do_task(&task, shards, threads, &err) : failure(&err);
    free(task.local);
    job_free(&task.job);
    return status;
}

/* ---- the merge ----------------------------------------------------------------------------------------- */

/* What the job's store has by now. */
struct standing {
    const struct job *job;
    uint64_t last; /* the number of its last run; 0: none */
    bool merged;   /* and that is this job's */
};

static bool is_this_job(const struct run_record *record, void *ctx)
{
    struct standing *standing = ctx;
    standing->merged =
        record->id == standing->job->run && strcmp(record->arguments, standing->job->arguments) == 0;
    return true; /* the last one decides */
}

static bool look_at_store(struct standing *standing, struct error *err)
{
    const char *path = standing->job->store;
    if (access(path, F_OK) != 0)
        return true;
    struct store *store = store_open(path, STORE_READ, false, err);
    struct store_txn *txn = store ? store_begin_read(store, err) : NULL;
    bool ok =
        txn && store_last_run(txn, &standing->last, err) && store_each_run(txn, is_this_job, standing, err);
    store_end_read(txn);
    store_close(store);
    return ok;
}

static bool check_shards(const struct job *job, char *const *files, uint32_t missing, struct error *err)
{
    if (!missing)
        return true;
    char *list = job_missing(job, files);
    error_set(err, ERROR_IO, ERROR_NO_OFFSET,
              "%u of %u shards %s missing: %.60s. Nothing was merged; the same submit does what is missing",
              missing, job->shards, missing == 1 ? "is" : "are", list ? list : "");
    free(list);
    return false;
}

static int merge_shards(const struct job *job, char *const *files, int threads, bool json)
{
    const char **inputs = calloc((size_t)job->shards + 1, sizeof *inputs);
    size_t count = 0;
    if (!inputs)
        return failure(&(struct error){.code = ERROR_NOMEM, .msg = "out of memory"});
    if (job->seed)
        inputs[count++] = job->store;
    for (uint32_t i = 0; i < job->shards; i++)
        inputs[count++] = files[i];
    const struct merging merging = {
        .output = job->store,
        .inputs = inputs,
        .input_count = count,
        .captures_path = job->captures,
        /* All shards are of one version; the store that they began from may be of an older one. */
        .options = {.prefer_newer = true, .job_run = job->run},
        .threads = threads,
        .json = json,
        .arguments = job->arguments,
    };
    int status = merge_stores(&merging);
    free(inputs);
    return status;
}

static int do_reduce(const struct job *job, int threads, bool json, struct error *err)
{
    struct standing before = {.job = job}, after = {.job = job};
    uint32_t missing;
    if (chdir(job->cwd) != 0) {
        error_set_system(err, ERROR_IO, errno, "cannot go to %s", job->cwd);
        return failure(err);
    }
    if (!look_at_store(&before, err))
        return failure(err);
    if (before.merged) { /* by an earlier try, which died before it could say so */
        fprintf(stderr, "anchorage: run %llu is in %s already\n", (unsigned long long)before.last,
                job->store);
        job_remove(job);
        return EXIT_DONE;
    }
    if (before.last != job->run - 1) {
        error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                  "%s has %llu runs by now, the shards began from %llu; submit again with --fresh",
                  job->store, (unsigned long long)before.last, (unsigned long long)job->run - 1);
        return failure(err);
    }
    char **files = job_find_shards(job, &missing, err);
    int status = EXIT_FAILED;
    if (!files || !check_shards(job, files, missing, err))
        failure(err);
    else
        status = merge_shards(job, files, threads, json);
    job_free_shards(job, files);
    /* A contradicted capture is exit status 3 of a merge that was done. */
    if (status == EXIT_DONE || (status == EXIT_FAILED && look_at_store(&after, err) && after.merged))
        job_remove(job);
    return status;
}

int job_reduce(const char *directory, int threads, bool json)
{
    struct job job;
    struct error err = {0};
    int status = job_read(directory, &job, &err) ? do_reduce(&job, threads, json, &err) : failure(&err);
    job_free(&job);
    return status;
}
