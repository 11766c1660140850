/* job.h - the directory that the shards of one run share: what is to be done, and what is done.
 *
 * It lies where all machines of the job see it, network file systems included, and holds
 *
 *   job.json               what is done: inputs, shards, the run's number, the store; written once
 *   plan.jsonl             how it is cut (pipeline/plan.h)
 *   shard-K.HASH.mdb       what shard K has found: a sealed store, named by the hash of its bytes
 *   log/                   what the machines print
 *
 * A shard is done when its file is there. Files appear whole: they are written under another name, made
 * durable and renamed. When two machines do the same shard, whoever is later finds it done; should both
 * publish at once, either file serves. Nothing else is remembered, so any number of machines may die at any
 * time.
 */
#ifndef ANCHORAGE_CMD_JOB_H
#define ANCHORAGE_CMD_JOB_H

#include <jansson.h>

#include "cmd/cmd.h"

struct job {
    char *directory; /* absolute */
    char *store;     /* absolute; where the result goes, and, when `seed`, what the shards begin from */
    char *cwd;       /* which the inputs are relative to */
    char *captures;  /* absolute, or NULL */
    char **inputs;   /* as given: addresses begin with them */
    size_t input_count;
    uint32_t shards;
    uint64_t split_bytes;
    uint64_t run; /* the number that the run has in the store */
    bool seed;
    char *program;   /* its version: all shards are of one */
    char *arguments; /* the command line of submit */
};
void job_free(struct job *job);

/* DIR/name, malloc'ed. NULL when memory runs out. */
char *job_path(const struct job *job, const char *name);

bool job_exists(const char *directory);
/* Reads DIR/job.json. False with *err set; job_free in any case. */
bool job_read(const char *directory, struct job *job, struct error *err);
/* Writes it, whole or not at all. */
bool job_write(const struct job *job, struct error *err);
/* Whether both are about the same work. */
bool job_is_same(const struct job *a, const struct job *b);

/* The published file of every shard, NULL where there is none: files[shards], malloc'ed with all in it. Of
 * several of one shard the one whose name is least. *missing counts. NULL with *err set on failure. */
char **job_find_shards(const struct job *job, uint32_t *missing, struct error *err);
void job_free_shards(const struct job *job, char **files);
/* "0-2,5": the shards that files[] lacks, as Slurm writes them. NULL when memory runs out. */
char *job_missing(const struct job *job, char *const *files);

/* Forgets the job: removes what is in the directory but log/. */
void job_remove(const struct job *job);

/* Writes a small file whole or not at all, durably. */
bool job_write_file(const struct job *job, const char *name, const char *text, mode_t mode,
                    struct error *err);

/* Writes a plan as a file, whole or not at all, durably. */
struct plan;
bool job_save_plan(const struct plan *plan, const char *path, struct error *err);

/* ---- what machines do ---- */
/* Does one shard on this machine's own disk and publishes it; the exit status. */
int job_task(const char *directory, uint32_t shard, uint32_t shards, int threads);
/* Merges the shards into the job's store, if they are all there, and forgets the job; the exit status. */
int job_reduce(const char *directory, int threads, bool json);

#endif
