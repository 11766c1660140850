/* job.c - see job.h */
#include "cmd/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/json_whole.h"
#include "pipeline/plan.h"
#include "reports/aside.h"
#include "store/place.h"

#define JOB_VERSION 1
#define JOB_FILE    "job.json"

void job_free(struct job *job)
{
    for (size_t i = 0; job->inputs && i < job->input_count; i++)
        free(job->inputs[i]);
    free(job->inputs);
    free(job->directory);
    free(job->store);
    free(job->cwd);
    free(job->captures);
    free(job->program);
    free(job->arguments);
    *job = (struct job){0};
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

static bool fail(const char *what, const char *path, struct error *err)
{
    return error_set_system(err, ERROR_IO, errno, "%s %s", what, path);
}

static char *join(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

char *job_path(const struct job *job, const char *name)
{
    return join(job->directory, name);
}

bool job_exists(const char *directory)
{
    char *path = join(directory, JOB_FILE);
    bool exists = path && access(path, F_OK) == 0;
    free(path);
    return exists;
}

/* ---- job.json ------------------------------------------------------------------------------------------ */

static bool take_inputs(struct job *job, json_t *inputs)
{
    size_t i;
    json_t *value;
    job->inputs = calloc(json_array_size(inputs) + 1, sizeof *job->inputs);
    if (!job->inputs)
        return false;
    json_array_foreach(inputs, i, value)
    {
        if (!json_is_string(value))
            return false;
        job->inputs[i] = strdup(json_string_value(value));
        job->input_count = i + 1;
    }
    return true;
}

static bool take(struct job *job, json_t *object, const char *directory)
{
    const char *store, *cwd, *program, *arguments, *captures = NULL;
    json_int_t version, shards, split, run;
    json_t *inputs;
    int seed;
    if (json_unpack(object, "{s:I, s:s, s:s, s:o, s:I, s:I, s:I, s:b, s:s, s:s, s?s}", "job", &version,
                    "store", &store, "cwd", &cwd, "inputs", &inputs, "shards", &shards, "split", &split,
                    "run", &run, "seed", &seed, "program", &program, "arguments", &arguments, "captures",
                    &captures) != 0 ||
        version != JOB_VERSION || shards < 1 || shards > UINT32_MAX || run < 1 || split < 0)
        return false;
    job->directory = realpath(directory, NULL);
    job->store = strdup(store);
    job->cwd = strdup(cwd);
    job->captures = captures ? strdup(captures) : NULL;
    job->program = strdup(program);
    job->arguments = strdup(arguments);
    job->shards = (uint32_t)shards;
    job->split_bytes = (uint64_t)split;
    job->run = (uint64_t)run;
    job->seed = seed;
    return take_inputs(job, inputs) && job->directory && job->store && job->cwd && job->program &&
           job->arguments;
}

bool job_read(const char *directory, struct job *job, struct error *err)
{
    *job = (struct job){0};
    char *path = join(directory, JOB_FILE);
    json_error_t wrong;
    if (!path)
        return out_of_memory(err);
    if (access(path, R_OK) != 0) {
        fail("no job:", path, err);
        free(path);
        return false;
    }
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    bool ok = object && take(job, object, directory);
    if (!ok && json_lacked_memory())
        out_of_memory(err);
    else if (!ok)
        error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s is no job of this program", path);
    json_decref(object);
    free(path);
    return ok;
}

bool job_write_file(const struct job *job, const char *name, const char *text, mode_t mode, struct error *err)
{
    char *path = job_path(job, name), *aside;
    if (!path || asprintf(&aside, "%s.tmp-%ld", path, (long)getpid()) < 0) {
        free(path);
        return out_of_memory(err);
    }
    size_t size = strlen(text);
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool ok = fd >= 0 && write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    ok = (fd < 0 || close(fd) == 0) && ok && rename(aside, path) == 0;
    if (!ok) {
        fail("cannot write", path, err);
        unlink(aside);
    }
    free(aside);
    free(path);
    return ok;
}

bool job_save_plan(const struct plan *plan, const char *path, struct error *err)
{
    struct aside aside;
    if (!aside_open(&aside, path, err))
        return false;
    bool whole = plan_write(plan, aside.out, err);
    if (!whole)
        error_prefix(err, "%s", path);
    whole = whole && (fsync(fileno(aside.out)) == 0 ||
                      error_set_system(err, ERROR_IO, errno, "cannot write %s", path));
    return aside_close(&aside, whole, err);
}

bool job_write(const struct job *job, struct error *err)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < job->input_count; i++)
        json_array_append_new(inputs, json_string(job->inputs[i]));
    json_t *object =
        json_pack("{s:i, s:s, s:s, s:o, s:I, s:I, s:I, s:b, s:s, s:s}", "job", JOB_VERSION, "store",
                  job->store, "cwd", job->cwd, "inputs", inputs, "shards", (json_int_t)job->shards, "split",
                  (json_int_t)job->split_bytes, "run", (json_int_t)job->run, "seed", (int)job->seed,
                  "program", job->program, "arguments", job->arguments);
    if (object && job->captures)
        json_object_set_new(object, "captures", json_string(job->captures));
    if (!object)
        return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                         "paths of a job have to be UTF-8; name the folder above them");
    char *text = json_whole_text(object, JSON_INDENT(2));
    bool ok = text ? job_write_file(job, JOB_FILE, text, 0666, err) : out_of_memory(err);
    free(text);
    json_decref(object);
    return ok;
}

bool job_is_same(const struct job *a, const struct job *b)
{
    if (a->input_count != b->input_count || a->shards != b->shards || a->split_bytes != b->split_bytes ||
        a->run != b->run || strcmp(a->store, b->store) != 0 || strcmp(a->cwd, b->cwd) != 0 ||
        strcmp(a->program, b->program) != 0 ||
        strcmp(a->captures ? a->captures : "", b->captures ? b->captures : "") != 0)
        return false;
    for (size_t i = 0; i < a->input_count; i++)
        if (strcmp(a->inputs[i], b->inputs[i]) != 0)
            return false;
    return true;
}

/* ---- shards -------------------------------------------------------------------------------------------- */

/* The shard that a published file is of. */
static bool shard_of(const char *name, uint32_t *shard)
{
    unsigned number;
    int at = 0;
    struct hash hash;
    char hex[HASH_HEX];
    if (sscanf(name, "shard-%u.%32[0-9a-f].mdb%n", &number, hex, &at) != 2 || !at || name[at] ||
        !hash_parse(hex, &hash))
        return false;
    *shard = number;
    return true;
}

void job_free_shards(const struct job *job, char **files)
{
    for (uint32_t i = 0; files && i < job->shards; i++)
        free(files[i]);
    free(files);
}

char **job_find_shards(const struct job *job, uint32_t *missing, struct error *err)
{
    char **files = calloc(job->shards, sizeof *files);
    DIR *directory = files ? opendir(job->directory) : NULL;
    *missing = job->shards;
    if (!directory) {
        files ? fail("cannot list", job->directory, err) : out_of_memory(err);
        free(files);
        return NULL;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        uint32_t shard;
        if (!shard_of(entry->d_name, &shard) || shard >= job->shards)
            continue;
        char *path = job_path(job, entry->d_name);
        if (!files[shard] || (path && strcmp(path, files[shard]) < 0)) {
            *missing -= !files[shard];
            free(files[shard]);
            files[shard] = path;
        } else {
            free(path);
        }
    }
    closedir(directory);
    return files;
}

char *job_missing(const struct job *job, char *const *files)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (uint32_t i = 0; i < job->shards; i++) {
        uint32_t last = i;
        if (files[i])
            continue;
        while (last + 1 < job->shards && !files[last + 1])
            last++;
        fprintf(out, last > i ? "%s%u-%u" : "%s%u", ftell(out) ? "," : "", i, last);
        i = last;
    }
    fclose(out);
    return text;
}

static bool is_of_job(const char *name)
{
    static const char *const names[] = {JOB_FILE, "plan.jsonl", "map.sh", "reduce.sh", "jobs", "joblog"};
    uint32_t shard;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return shard_of(name, &shard) || strstr(name, ".tmp-");
}

void job_remove(const struct job *job)
{
    char *file = job_path(job, JOB_FILE); /* first: what is left without it is no job */
    if (file)
        unlink(file);
    free(file);
    DIR *directory = opendir(job->directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_of_job(entry->d_name))
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}
