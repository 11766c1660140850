/* cmd_submit.c - `anchorage submit`: a run on many machines. See job.h for what they share.
 *
 * Two batch scripts do the work: an array whose tasks are the shards that are missing, and, when all of them
 * have ended however they did, the merge, which looks for itself whether the shards are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/job.h"
#include "pipeline/parallel.h"
#include "pipeline/plan.h"
#include "reports/text.h"

/* Other tries of a shard after exit status 75; then what is wrong is not passing. */
#define RETRIES 3

enum {
    OPT_STORE,
    OPT_SHARDS,
    OPT_WORK,
    OPT_PARTITION,
    OPT_TIME,
    OPT_THREADS,
    OPT_SPLIT,
    OPT_CAPTURES,
    OPT_ENGINE,
    OPT_JOBS,
    OPT_RETRIES,
    OPT_PROGRAM,
    OPT_FRESH,
    OPT_DRY_RUN,
    OPT_WAIT
};

static const struct command command = {
    .name = "submit",
    .usage = "-s STORE --shards N [options] INPUT...",
    .purpose = "Runs the inputs as N shards on the machines of a Slurm cluster, and merges the shards into "
               "the store when "
               "all are\n"
               "done. A store that is there is what the shards begin from. The same command again does what "
               "is missing.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store; on a shared file system one file, NAME.mdb"},
            [OPT_SHARDS] = {"shards", 0, "N", "how many shards"},
            [OPT_WORK] = {"work", 0, "DIR",
                          "where the machines meet, a shared directory (default: STORE.job)"},
            [OPT_PARTITION] = {"partition", 'p', "NAME", "Slurm's partition"},
            [OPT_TIME] = {"time", 't', "TIME", "Slurm's time limit of each shard"},
            [OPT_THREADS] = {"threads", 'j', "N", "threads of each shard (default: 1)"},
            [OPT_SPLIT] = {"split", 0, "BYTES", "share archives of at least that size (default: 64 MiB)"},
            [OPT_CAPTURES] = {"captures", 0, "FILE", "JSON lines: what a running engine drew; for the merge"},
            [OPT_ENGINE] = {"engine", 0, "NAME",
                            "slurm (default), or parallel: GNU parallel on this machine"},
            [OPT_JOBS] = {"jobs", 0, "N", "with --engine parallel: shards at a time (default: processors)"},
            [OPT_RETRIES] = {"retries", 0, "N",
                             "other tries after a passing fault, such as a full disk (default: 3)"},
            [OPT_PROGRAM] = {"program", 0, "FILE",
                             "this program as the machines find it (default: as it is here)"},
            [OPT_FRESH] = {"fresh", 0, NULL, "forget an unfinished job in DIR"},
            [OPT_DRY_RUN] = {"dry-run", 0, NULL, "print the batch scripts, do nothing"},
            [OPT_WAIT] = {"wait", 0, NULL, "wait for the end, and end with its status"},
            {0},
        },
};

struct submission {
    struct job job;
    const char *store_path, *work, *partition, *time_limit, *captures, *program_path;
    uint64_t threads, jobs, shards, split, retries;
    bool parallel, fresh, dry_run, wait;
    char *program; /* this program's file */
    char *missing; /* "0-2,5" */
    uint32_t missing_count;
};

static int parse_options(int argc, char **argv, struct submission *s)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            s->store_path = argument;
            break;
        case OPT_SHARDS:
            if (!parse_number(argument, 1, 100000, &s->shards))
                return usage_error(&command, "--shards takes a number from 1 to 100000, not '%s'", argument);
            break;
        case OPT_WORK:
            s->work = argument;
            break;
        case OPT_PARTITION:
            s->partition = argument;
            break;
        case OPT_TIME:
            s->time_limit = argument;
            break;
        case OPT_THREADS:
            if (!parse_number(argument, 1, 1024, &s->threads))
                return usage_error(&command, "-j takes a number from 1 to 1024, not '%s'", argument);
            break;
        case OPT_SPLIT:
            if (!parse_number(argument, 0, INT64_MAX, &s->split))
                return usage_error(&command, "--split takes a number of bytes, not '%s'", argument);
            break;
        case OPT_CAPTURES:
            s->captures = argument;
            break;
        case OPT_ENGINE:
            s->parallel = strcmp(argument, "parallel") == 0;
            if (!s->parallel && strcmp(argument, "slurm") != 0)
                return usage_error(&command, "--engine takes slurm or parallel, not '%s'", argument);
            break;
        case OPT_JOBS:
            if (!parse_number(argument, 1, 1024, &s->jobs))
                return usage_error(&command, "--jobs takes a number from 1 to 1024, not '%s'", argument);
            break;
        case OPT_RETRIES:
            if (!parse_number(argument, 0, 100, &s->retries))
                return usage_error(&command, "--retries takes a number from 0 to 100, not '%s'", argument);
            break;
        case OPT_PROGRAM:
            s->program_path = argument;
            break;
        case OPT_FRESH:
            s->fresh = true;
            break;
        case OPT_DRY_RUN:
            s->dry_run = true;
            break;
        case OPT_WAIT:
            s->wait = true;
            break;
        case OPTIONS_HELP:
            return -1;
        default:
            return EXIT_USAGE;
        }
    }
    if (!s->store_path)
        return usage_error(&command, "-s STORE is missing");
    if (!s->shards)
        return usage_error(&command, "--shards N is missing");
    if (s->parallel && (s->partition || s->time_limit))
        return usage_error(&command, "--partition and --time are Slurm's");
    if (!s->parallel && s->jobs)
        return usage_error(&command, "--jobs goes with --engine parallel");
    if (optind == argc)
        return usage_error(&command, "there is no INPUT");
    return EXIT_DONE;
}

/* ---- the job ------------------------------------------------------------------------------------------- */

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

static char *absolute(const char *cwd, const char *path)
{
    char *text;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (*path == '/')
        return strdup(path);
    return asprintf(&text, "%s/%s", cwd, path) < 0 ? NULL : text;
}

static char *join_words(int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("anchorage", out);
    for (int i = 0; i < argc; i++)
        fprintf(out, " %s", argv[i]);
    fclose(out);
    return text;
}

/* What is asked for, as a job. */
static bool describe(struct submission *s, int argc, char **argv, struct error *err)
{
    struct job *job = &s->job;
    char *cwd = realpath(".", NULL), *work = NULL;
    job->cwd = cwd;
    job->store = cwd ? absolute(cwd, s->store_path) : NULL;
    for (size_t n = job->store ? strlen(job->store) : 0; n > 1 && job->store[n - 1] == '/'; n--)
        job->store[n - 1] = '\0';
    if (s->work)
        work = cwd ? absolute(cwd, s->work) : NULL;
    else if (job->store && asprintf(&work, "%s.job", job->store) < 0)
        work = NULL;
    job->directory = work;
    job->captures = s->captures && cwd ? absolute(cwd, s->captures) : NULL;
    job->input_count = (size_t)(argc - optind);
    job->inputs = calloc(job->input_count, sizeof *job->inputs);
    for (size_t i = 0; job->inputs && i < job->input_count; i++)
        job->inputs[i] = strdup(argv[optind + (int)i]);
    job->shards = (uint32_t)s->shards;
    job->split_bytes = s->split;
    job->program = strdup(ANCHORAGE_VERSION);
    job->arguments = join_words(argc, argv);
    s->program = s->program_path ? strdup(s->program_path) : realpath("/proc/self/exe", NULL);
    return (job->cwd && job->store && job->directory && job->inputs && job->program && job->arguments &&
            s->program && (!s->captures || job->captures)) ||
           out_of_memory(err);
}

/* What the shards begin from. */
static bool look_at_store(struct job *job, struct error *err)
{
    struct stat status;
    job->run = 1;
    if (stat(job->store, &status) != 0)
        return errno == ENOENT || error_set_system(err, ERROR_STORE, errno, "store '%s'", job->store);
    uint64_t last = 0;
    struct store *store = store_open(job->store, STORE_READ, false, err);
    struct store_txn *txn = store ? store_begin_read(store, err) : NULL;
    bool ok = txn && store_last_run(txn, &last, err);
    store_end_read(txn);
    store_close(store);
    job->run = last + 1;
    job->seed = true;
    return ok;
}

static bool write_plan(const struct job *job, struct error *err)
{
    char *path = job_path(job, "plan.jsonl");
    struct plan *plan =
        plan_make((const char *const *)job->inputs, job->input_count, job->shards, job->split_bytes, err);
    bool ok = plan && path && job_save_plan(plan, path, err);
    plan_free(plan);
    free(path);
    return ok || (err->code == ERROR_NONE ? out_of_memory(err) : false);
}

static bool make_directories(const struct job *job, struct error *err)
{
    char *log = job_path(job, "log");
    bool ok = log && (mkdir(job->directory, 0777) == 0 || errno == EEXIST) &&
              (mkdir(log, 0777) == 0 || errno == EEXIST);
    free(log);
    return ok || error_set_system(err, ERROR_IO, errno, "cannot make %s", job->directory);
}

/* Goes on with the job that is in the directory, or begins a new one. */
static bool open_job(struct submission *s, struct error *err)
{
    struct job *job = &s->job, old;
    if (!look_at_store(job, err) || !make_directories(job, err))
        return false;
    if (job_exists(job->directory)) {
        bool ok = job_read(job->directory, &old, err);
        bool same = ok && job_is_same(&old, job);
        if (ok && !same && s->fresh)
            job_remove(&old);
        job_free(&old);
        if (!ok && !s->fresh)
            return false;
        if (same && !s->fresh) {
            fprintf(stderr, "anchorage: going on with the job in %s\n", job->directory);
            return true;
        }
        if (!s->fresh)
            return error_set(
                err, ERROR_USAGE, ERROR_NO_OFFSET,
                "%s holds an unfinished job of other inputs, shards or store; --fresh forgets it",
                job->directory);
        error_clear(err);
    }
    job_remove(job); /* shards that a killed clean-up left are nobody's */
    return write_plan(job, err) && job_write(job, err);
}

static bool find_missing(struct submission *s, struct error *err)
{
    char **files = job_find_shards(&s->job, &s->missing_count, err);
    free(s->missing);
    s->missing = files ? job_missing(&s->job, files) : NULL;
    job_free_shards(&s->job, files);
    return s->missing || out_of_memory(err);
}

/* ---- scripts ------------------------------------------------------------------------------------------- */

/* 'text' for the shell. */
static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

/* Slurm reads the options in a script word by word: a backslash guards a blank. */
static void print_option(FILE *out, const char *name, const char *value)
{
    fprintf(out, "#SBATCH --%s=", name);
    for (; *value; value++)
        fprintf(out, *value == ' ' ? "\\%c" : "%c", *value);
    fputc('\n', out);
}

static void print_head(FILE *out, const struct submission *s, const char *name, const char *log)
{
    char *path = NULL, number[24];
    fputs("#!/bin/sh\n", out);
    print_option(out, "job-name", name);
    print_option(out, "chdir", s->job.cwd);
    if (asprintf(&path, "%s/log/%s", s->job.directory, log) > 0)
        print_option(out, "output", path);
    free(path);
    fputs("#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --ntasks=1\n", out);
    snprintf(number, sizeof number, "%llu", (unsigned long long)s->threads);
    print_option(out, "cpus-per-task", number);
    if (s->partition)
        print_option(out, "partition", s->partition);
    if (s->time_limit)
        print_option(out, "time", s->time_limit);
}

/* Exit status 75 is another try, by Slurm's own setting where it is made, else by asking for it. */
static void print_again(FILE *out, const struct submission *s, const char *id)
{
    fprintf(out,
            "if [ $status -eq 75 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -ge %llu ]; then\n"
            "    echo \"anchorage: given up after %llu tries\" >&2\n"
            "    status=3\n"
            "fi\n"
            "if [ $status -eq 75 ]; then\n"
            "    scontrol show config | grep -Eq '^RequeueExit +=.*\\b75\\b' || scontrol requeue \"%s\"\n"
            "fi\n",
            (unsigned long long)s->retries, (unsigned long long)s->retries + 1, id);
}

static void print_map(FILE *out, const struct submission *s)
{
    print_head(out, s, "anchorage-map", "shard-%a.log");
    print_option(out, "array", s->missing);
    quote(out, s->program);
    fputs(" run --job ", out);
    quote(out, s->job.directory);
    fprintf(out, " --shard \"$SLURM_ARRAY_TASK_ID/%u\" -j %llu\nstatus=$?\n", s->job.shards,
            (unsigned long long)s->threads);
    print_again(out, s, "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}");
    fputs("exit $status\n", out);
}

static void print_reduce(FILE *out, const struct submission *s)
{
    print_head(out, s, "anchorage-reduce", "reduce.log");
    quote(out, s->program);
    fputs(" merge --job ", out);
    quote(out, s->job.directory);
    fprintf(out, " -j %llu\nstatus=$?\n", (unsigned long long)s->threads);
    print_again(out, s, "$SLURM_JOB_ID");
    fputs("[ $status -eq 75 ] && exit 75\necho $status >", out); /* for those who wait */
    quote(out, s->job.directory);
    fputs("/result.tmp-$$\nmv ", out);
    quote(out, s->job.directory);
    fputs("/result.tmp-$$ ", out);
    quote(out, s->job.directory);
    fputs("/result\nexit $status\n", out);
}

static bool write_script(const struct submission *s, const char *name,
                         void (*print)(FILE *, const struct submission *), struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return out_of_memory(err);
    print(out, s);
    fclose(out);
    bool ok = job_write_file(&s->job, name, text, 0777, err);
    free(text);
    return ok;
}

/* ---- commands ------------------------------------------------------------------------------------------ */

/* Runs a command, what it prints into text[size] (NULL: to where this program prints). Its exit status, or
 * -1. */
static int run_command(const char *const *argv, char *text, size_t size)
{
    int ends[2] = {-1, -1}, status;
    if (text && pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        if (text) {
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        fprintf(stderr, "anchorage: cannot start %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    if (text) {
        close(ends[1]);
        size_t used = 0;
        ssize_t n;
        while (child > 0 && used + 1 < size && (n = read(ends[0], text + used, size - 1 - used)) > 0)
            used += (size_t)n;
        text[used] = '\0';
        text[strcspn(text, "\n")] = '\0';
        close(ends[0]);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- GNU parallel -------------------------------------------------------------------------------------- */

/* GNU parallel is started again for what has failed. Shards that are there end at once, so each round may
 * name them all; --resume-failed leaves out those whose end is in the log. */
static int run_parallel(struct submission *s, struct error *err)
{
    char *log = job_path(&s->job, "joblog"), jobs[24], threads[24], last[24], shard[40];
    uint64_t at_a_time = s->jobs ? s->jobs : (uint64_t)par_default_threads();
    snprintf(jobs, sizeof jobs, "%llu", (unsigned long long)at_a_time);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)s->threads);
    snprintf(last, sizeof last, "%u", s->job.shards - 1);
    snprintf(shard, sizeof shard, "{}/%u", s->job.shards);
    char *list;
    if (!log ||
        asprintf(
            &list,
            "seq 0 %s | exec parallel --will-cite --joblog \"$0\" --resume-failed --jobs %s -- \"$1\" run "
            "--job \"$2\" --shard %s -j %s",
            last, jobs, shard, threads) < 0) {
        free(log);
        out_of_memory(err);
        return failure(err);
    }
    const char *const argv[] = {"sh", "-c", list, log, s->program, s->job.directory, NULL};
    int status = EXIT_DONE;
    for (uint64_t round = 0; s->missing_count && round <= s->retries && status != 127; round++) {
        status = run_command(argv, NULL, 0);
        if (!find_missing(s, err))
            break;
    }
    free(list);
    free(log);
    if (err->code)
        return failure(err);
    if (status == 127 && s->missing_count)
        return EXIT_FAILED;
    return job_reduce(s->job.directory, (int)at_a_time, false);
}

/* ---- Slurm --------------------------------------------------------------------------------------------- */

/* Job numbers of the last submission, "map reduce"; false when there are none. */
static bool read_jobs(const struct job *job, char map[static 24], char reduce[static 24])
{
    char *path = job_path(job, "jobs");
    FILE *in = path ? fopen(path, "re") : NULL;
    bool ok = in && fscanf(in, "%23s %23s", map, reduce) == 2;
    if (in)
        fclose(in);
    free(path);
    return ok;
}

/* Whether Slurm still has the job: 1, 0, or -1 when it cannot be asked. */
static int is_queued(const char *id)
{
    char text[256];
    char *quiet;
    if (asprintf(&quiet, "squeue -h -o %%T -j %s 2>&1 | head -1", id) < 0)
        return -1;
    const char *const argv[] = {"sh", "-c", quiet, NULL};
    int status = run_command(argv, text, sizeof text);
    free(quiet);
    if (status != 0 || strstr(text, "nable to contact") || strstr(text, "onnection refused") ||
        strstr(text, "error: slurm_load"))
        return strstr(text, "Invalid job id") ? 0 : -1;
    if (strstr(text, "nvalid job id") || !*text)
        return 0;
    return 1;
}

static bool submit_script(const struct submission *s, const char *name, const char *dependency,
                          char id[static 24], struct error *err)
{
    char *path = job_path(&s->job, name);
    const char *argv[] = {"sbatch", "--parsable", path, NULL, NULL};
    if (dependency) {
        argv[2] = dependency;
        argv[3] = path;
    }
    int status = path ? run_command(argv, id, 24) : -1;
    free(path);
    id[strcspn(id, ";")] = '\0'; /* "123;cluster" */
    if (status == 0 && *id)
        return true;
    return error_set(err, ERROR_IO, ERROR_NO_OFFSET,
                     "sbatch did not take %s (exit status %d); nothing is lost, submit again", name, status);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
}

/* A task that a node could not launch is held by Slurm until somebody releases it, and the merge would wait
 * with it. It gets another try; then it is taken out, so that the merge says what is missing. */
static void look_after_held(const struct submission *s, const char *map, uint64_t *releases)
{
    char text[256] = "", *list;
    const char *argv[] = {"sh", "-c", NULL, NULL};
    if (asprintf(
            &list,
            "squeue -h -r -t PD -j %s -o '%%i %%r' 2>/dev/null | grep -i held | cut -d' ' -f1 | tr '\\n' ' '",
            map) < 0)
        return;
    argv[2] = list;
    int status = run_command(argv, text, sizeof text);
    free(list);
    if (status != 0 || !*text)
        return;
    bool again = (*releases)++ < s->retries;
    fprintf(stderr, "anchorage: Slurm holds %s(a node could not launch it); %s\n", text,
            again ? "released for another try" : "given up");
    if (asprintf(&list, "%s %s >/dev/null 2>&1", again ? "scontrol release" : "scancel", text) < 0)
        return;
    argv[2] = list;
    run_command(argv, NULL, 0);
    free(list);
}

/* Waits for the result that the reduce job leaves. Slurm is asked only whether there will be one. */
static int wait_for(const struct submission *s, const char *map, const char *reduce)
{
    char *path = job_path(&s->job, "result");
    int gone = 0, status = -1;
    uint64_t releases = 0;
    for (unsigned turn = 0; path && status < 0 && gone < 3; turn++) {
        FILE *in = fopen(path, "re");
        if (in && fscanf(in, "%d", &status) != 1)
            status = EXIT_FAILED;
        if (in)
            fclose(in);
        else if (turn % 4 == 3)
            gone = is_queued(reduce) == 0 ? gone + 1 : 0;
        if (status < 0 && *map && turn % 8 == 7)
            look_after_held(s, map, &releases);
        if (status < 0)
            nap();
    }
    free(path);
    if (status < 0) {
        fprintf(
            stderr,
            "anchorage: Slurm has lost job %s, and there is no result; the same submit goes on from here\n",
            reduce);
        return EXIT_AGAIN;
    }
    fprintf(stderr, "anchorage: the job has ended with status %d; its words are in %s/log/reduce.log\n",
            status, s->job.directory);
    return status;
}

static int run_slurm(struct submission *s, struct error *err)
{
    char map[24] = "", reduce[24] = "", *dependency = NULL, *jobs = NULL,
         *result = job_path(&s->job, "result");
    if (read_jobs(&s->job, map, reduce) && is_queued(reduce) == 1) {
        error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                  "the job is still at work: squeue -j %s,%s shows it, scancel %s %s ends it", map, reduce,
                  map, reduce);
        free(result);
        failure(err);
        return EXIT_FAILED;
    }
    if (result)
        unlink(result);
    free(result);
    bool ok = write_script(s, "reduce.sh", print_reduce, err);
    if (ok && s->missing_count)
        ok = write_script(s, "map.sh", print_map, err) && submit_script(s, "map.sh", NULL, map, err);
    if (ok && s->missing_count && asprintf(&dependency, "--dependency=afterany:%s", map) < 0)
        ok = out_of_memory(err);
    ok = ok && submit_script(s, "reduce.sh", dependency, reduce, err);
    if (ok && asprintf(&jobs, "%s %s\n", *map ? map : "-", reduce) > 0)
        ok = job_write_file(&s->job, "jobs", jobs, 0666, err);
    free(jobs);
    free(dependency);
    if (!ok)
        return failure(err);
    if (s->missing_count)
        printf("map     job %s: %u of %u shards, array %s\n", map, s->missing_count, s->job.shards,
               s->missing);
    printf("reduce  job %s: the merge into %s\n", reduce, s->job.store);
    printf("watch   squeue -j %s%s%s; the words of each are in %s/log\n", s->missing_count ? map : "",
           s->missing_count ? "," : "", reduce, s->job.directory);
    printf("again   the same command does what is missing\n");
    fflush(stdout);
    return s->wait ? wait_for(s, map, reduce) : EXIT_DONE;
}

static int dry_run(struct submission *s, struct error *err)
{
    if (asprintf(&s->missing, s->job.shards > 1 ? "0-%u" : "%u", s->job.shards - 1) < 0) {
        s->missing = NULL;
        out_of_memory(err);
        return failure(err);
    }
    printf("# %s/map.sh\n", s->job.directory);
    print_map(stdout, s);
    printf("\n# %s/reduce.sh, after the other\n", s->job.directory);
    print_reduce(stdout, s);
    return EXIT_DONE;
}

int cmd_submit(int argc, char **argv)
{
    struct submission s = {.threads = 1, .retries = RETRIES, .split = SHARD_SPLIT_BYTES};
    struct error err = {0};
    int status = parse_options(argc, argv, &s);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    if (!describe(&s, argc, argv, &err))
        status = failure(&err);
    else if (s.dry_run)
        status = dry_run(&s, &err);
    else if (!open_job(&s, &err) || !find_missing(&s, &err))
        status = failure(&err);
    else
        status = s.parallel ? run_parallel(&s, &err) : run_slurm(&s, &err);
    job_free(&s.job);
    free(s.program);
    free(s.missing);
    return flush_output() ? status : EXIT_FAILED;
}
