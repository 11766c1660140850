/* plan.h - the work of a run, listed with its sizes and dealt out to shards by bytes.
 *
 * Making a plan is a walk over the inputs that reads directories of archives and nothing else. The largest
 * pieces are dealt out first, each to the shard that has the least so far. A piece is a file, or a run of
 * members of an archive that can be shared. docs/cluster.md has the file's layout: JSON lines.
 */
#ifndef ANCHORAGE_PLAN_H
#define ANCHORAGE_PLAN_H

#include <stdio.h>

#include "pipeline/shard.h"

struct plan_piece {
    const char *path;
    uint64_t bytes;
    uint64_t first, last; /* members; of a whole file 0 and UINT64_MAX. The last piece of an archive ends with
                             UINT64_MAX, whatever it has by then */
    uint32_t shard;
    bool is_input, in_parts; /* in_parts: a run of members */
};

struct plan; /* not changed once it is made: any thread may ask */

/* Lists the inputs and deals them out. `limits` as in extraction. NULL with *err set when memory runs out. */
struct plan *plan_make(const char *const *inputs, size_t count, uint32_t shards, uint64_t split_bytes,
                       struct error *err);
/* Reads a plan that plan_write has written; NULL with *err set (ERROR_USAGE with the line, ERROR_IO). */
struct plan *plan_read(const char *path, struct error *err);
/* False with *err set when it cannot be written. */
bool plan_write(const struct plan *plan, FILE *out, struct error *err);
void plan_free(struct plan *plan); /* NULL is legal */

uint32_t plan_shards(const struct plan *plan);
uint64_t plan_bytes(const struct plan *plan, uint32_t shard);
/* Pieces in the order of paths and members. */
const struct plan_piece *plan_pieces(const struct plan *plan, size_t *count);
/* A number that two plans have in common only when they deal out alike. */
uint64_t plan_rule(const struct plan *plan);
/* How many shards enter that archive. */
uint32_t plan_parts(const struct plan *plan, const char *path);
/* Whose a piece is: see extract_options.share. What the plan does not know is nobody's. */
enum extract_share plan_share(const struct plan *plan, uint32_t shard, const struct extract_piece *piece);

/* The files that a shard has to open, as inputs of an extractor: their file names, malloc'ed with the list,
 * and which of them nobody named (extract_options.walked). False when memory runs out; plan_free_files in any
 * case. */
struct plan_files {
    char **names;
    bool *walked;
    size_t count;
};
bool plan_files(const struct plan *plan, uint32_t shard, struct plan_files *files);
void plan_free_files(struct plan_files *files);

#endif
