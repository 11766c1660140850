/* shard.c - see shard.h */
#include "pipeline/shard.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan.h"

bool shard_parse(const char *text, struct shard *shard)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    unsigned long index = strtoul(text, &end, 10);
    if (*end != '/' || !isdigit((unsigned char)end[1]))
        return false;
    unsigned long count = strtoul(end + 1, &end, 10);
    if (*end || count > UINT32_MAX || index >= count)
        return false;
    shard->index = (uint32_t)index;
    shard->count = (uint32_t)count;
    return true;
}

/* The hash of path or path!member, as far as the shard's number needs it. Hashed twice, so that the address
 * of a long path is not copied for each of its members. */
static bool is_mine(const struct shard *shard, const char *path, const char *member)
{
    struct hash hash = hash_bytes(path, strlen(path));
    uint64_t number = hash_checksum(hash.bytes, HASH_SIZE, member ? member : "", member ? strlen(member) : 0);
    return number % shard->count == shard->index;
}

enum extract_share shard_share(const struct shard *shard, const struct extract_piece *piece)
{
    if (shard->plan)
        return plan_share(shard->plan, shard->index, piece);
    if (piece->kind == PIECE_FILE && piece->bytes >= shard->split_bytes)
        return SHARE_MEMBERS;
    return is_mine(shard, piece->path, piece->member) ? SHARE_WHOLE : SHARE_NONE;
}

struct shard_deal shard_deal(const struct shard *shard, const char *path)
{
    /* Parts fit together when members were dealt out alike. */
    const uint64_t facts[] = {shard->count, shard->split_bytes, shard->plan ? plan_rule(shard->plan) : 0};
    return (struct shard_deal){
        .shard = shard->index,
        .expected = shard->plan ? plan_parts(shard->plan, path) : shard->count,
        .rule = hash_checksum(NULL, 0, facts, sizeof facts),
    };
}

struct part_record shard_part(const struct shard_deal *deal, const struct extracted *item,
                              const struct container_record *archive)
{
    return (struct part_record){
        .shard = deal->shard,
        .expected = deal->expected,
        .rule = deal->rule,
        .bytes = item->bytes,
        .mtime_ns = item->mtime_ns,
        .first_failed = item->first_failed,
        .readable = item->readable,
        .place_reason = item->place_reason,
        .place_failed = item->place_failed,
        .place_message = item->place_message,
        .archive = *archive,
    };
}
