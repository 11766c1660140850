/* shard.h - which part of the inputs is one shard's, when several share them.
 *
 * Every source (a plain file, an archive's own record, a member) is exactly one shard's. By the rule, the
 * hash of its address decides, so shards need not know of each other, and adding files moves no others. By a
 * plan (pipeline/plan.h), the plan says. Archives of at least `split_bytes` whose members can be passed over
 * unread (pipeline/split.h) are entered by several shards, each taking its members; all others go whole with
 * their file. Pure; any thread.
 */
#ifndef ANCHORAGE_SHARD_H
#define ANCHORAGE_SHARD_H

#include "pipeline/extract.h"
#include "store/part.h"

/* Entering an archive costs each shard a listing, and its owner a hash of all its bytes. */
#define SHARD_SPLIT_BYTES ((uint64_t)64 << 20)

struct plan;

struct shard {
    uint32_t index, count; /* K of N, from 0 */
    uint64_t split_bytes;
    const struct plan *plan; /* NULL: by the rule */
};

/* Reads "K/N" with K < N; false for anything else. */
bool shard_parse(const char *text, struct shard *shard);

/* For extract_options.share. */
enum extract_share shard_share(const struct shard *shard, const struct extract_piece *piece);

/* How an archive that is entered member by member is dealt out; as in struct part_record. */
struct shard_deal {
    uint32_t shard, expected;
    uint64_t rule;
};
struct shard_deal shard_deal(const struct shard *shard, const char *path);

/* What this shard has seen of such an archive, as the other shards' parts will be joined with it
 * (store/part.h). `archive` is its record as far as this shard knows it. */
struct part_record shard_part(const struct shard_deal *deal, const struct extracted *item,
                              const struct container_record *archive);

#endif
