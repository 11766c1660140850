/* merging.h - stores merged, resolved and put in their place: what `merge` and the reduce of a job share. */
#ifndef ANCHORAGE_CMD_MERGING_H
#define ANCHORAGE_CMD_MERGING_H

#include "cmd/cmd.h"
#include "store/merge.h"

struct merging {
    const char *output;
    const char *const *inputs; /* [input_count] */
    size_t input_count;
    const char *captures_path; /* NULL: none */
    struct merge_options options;
    int threads;
    bool json, quiet; /* quiet: no summary */
    /* Of a job: what its run's record says beside what the shards' records add up to. */
    const char *arguments;
};

/* Does all of it, messages included; the exit status. */
int merge_stores(const struct merging *merging);

#endif
