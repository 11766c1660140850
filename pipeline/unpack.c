/* unpack.c - see unpack.h */
#include "pipeline/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/signature.h"

/* The most that is allocated because of what a header announces; beyond it memory follows what arrives. */
#define TRUSTED_SIZE UNPACK_IN_MEMORY

void unpack_close(struct unpacker *u)
{
    if (!u)
        return;
    u->kind->close(u);
    feed_close(u->feed);
    name_set_free(&u->names);
    buffer_free(&u->held);
    free(u->base);
    free(u);
}

/* ---- for the kinds ------------------------------------------------------------------------------------- */

/* The last component, with a NUL behind it. Bytes behind a NUL of its own are in the address only. */
static char *base_of(const char *name, size_t size)
{
    const char *slash = memrchr(name, '/', size);
    const char *start = slash ? slash + 1 : name;
    return strndup(start, size - (size_t)(start - name));
}

bool unpack_name(struct unpacker *u, struct member *member, const char *name, size_t size)
{
    char unnamed[32];
    char *address = address_of_member(name ? name : "", name ? size : 0);
    if (address && !*address) {
        free(address);
        size = (size_t)snprintf(unnamed, sizeof unnamed, "unnamed-%llu", (unsigned long long)u->entries);
        name = unnamed;
        address = strdup(unnamed);
    }
    free(u->base);
    u->base = name ? base_of(name, size) : NULL;
    member->base = u->base;
    member->name = address ? name_set_claim(&u->names, address) : NULL;
    free(address);
    return member->base && member->name;
}

bool unpack_count(struct unpacker *u)
{
    if (u->entries == u->limits.members) {
        failure_set(&u->failure, CONTAINER_OVER_LIMIT, "more than %llu entries; --max-members is %llu",
                    (unsigned long long)u->limits.members, (unsigned long long)u->limits.members);
        return false;
    }
    if (u->names.arena.bytes > UNPACK_NAMES_MOST) {
        failure_set(&u->failure, CONTAINER_OVER_LIMIT, "names of more than %zu bytes", UNPACK_NAMES_MOST);
        return false;
    }
    u->entries++;
    return true;
}

bool unpack_spend(struct unpacker *u, uint64_t bytes, struct failure *failure)
{
    struct expansion *expansion = u->limits.expansion;
    if (!expansion)
        return true;
    if (expansion->pulse)
        atomic_fetch_add_explicit(expansion->pulse, 1, memory_order_relaxed);
    uint64_t left = expansion->most - expansion->used;
    if (bytes <= left) {
        expansion->used += bytes;
        return true;
    }
    expansion->used = expansion->most;
    expansion->exceeded = true;
    failure_set_by_place(failure, CONTAINER_OVER_LIMIT,
                         "the input unpacks to more than %llu bytes; --max-%s is %llu",
                         (unsigned long long)expansion->most, expansion->by_ratio ? "ratio" : "expanded",
                         (unsigned long long)expansion->value);
    return false;
}

/* ---- a member's bytes ---------------------------------------------------------------------------------- */

enum unpack_result unpack_next(struct unpacker *u, struct member *member)
{
    *member = (struct member){.name = NULL};
    u->block = NULL;
    u->block_size = 0;
    u->delivered = 0;
    buffer_clear(&u->held);
    if (u->limits.expansion && u->limits.expansion->exceeded)
        return UNPACK_END;
    enum unpack_result result = u->kind->next(u, member);
    return u->failure.no_memory || member->failure.no_memory ? UNPACK_FAULT : result;
}

static enum unpack_result next_block(struct unpacker *u, struct member *member)
{
    u->block_size = 0;
    enum unpack_result result = u->kind->block(u, member);
    if (member->failure.no_memory)
        return UNPACK_FAULT;
    if (result == UNPACK_OK)
        u->delivered += u->block_size;
    return result;
}

static enum unpack_result over_limit(const struct unpacker *u, struct member *member)
{
    failure_set(&member->failure, CONTAINER_OVER_LIMIT, "more than %llu bytes; --max-member is %llu",
                (unsigned long long)u->limits.member_bytes, (unsigned long long)u->limits.member_bytes);
    return UNPACK_FAILED;
}

/* Makes room for `need` bytes of the current member. The announced size is believed up to a bound; past that,
 * and for a size that is wrong or unknown, room doubles. */
static bool make_room(struct unpacker *u, const struct member *member, size_t need)
{
    struct buffer *held = &u->held;
    if (need <= held->room)
        return true;
    size_t room = held->room < SIZE_MAX / 2 ? held->room * 2 : need;
    if (member->size_known && member->size <= u->limits.member_bytes) {
        size_t believed = member->size < TRUSTED_SIZE ? (size_t)member->size : TRUSTED_SIZE;
        if (room < believed)
            room = believed;
        if (member->size >= need && room > member->size)
            room = (size_t)member->size;
    }
    room = room < need ? need : room;
    uint8_t *data = realloc(held->data, room);
    if (!data)
        return false;
    held->data = data;
    held->room = room;
    return true;
}

/* Where the current block ends, which has to lie behind what came before. 0 with the failure set otherwise.
 */
static uint64_t block_end(const struct unpacker *u, struct member *member, uint64_t before)
{
    uint64_t end;
    if (__builtin_add_overflow(u->block_offset, u->block_size, &end) || end > INT64_MAX) {
        failure_set(&member->failure, CONTAINER_BAD_DIRECTORY, "a part of it lies past any end");
        return 0;
    }
    if (u->block_offset < before) {
        failure_set(&member->failure, CONTAINER_BAD_DIRECTORY, "parts of it overlap");
        return 0;
    }
    return end;
}

/* Moves the current block to its place behind what is held; a hole between them reads as zeros (sparse
 * files). */
static enum unpack_result keep_block(struct unpacker *u, struct member *member, uint64_t limit)
{
    uint64_t end = block_end(u, member, u->held.size);
    if (!end)
        return UNPACK_FAILED;
    if (end > limit)
        return over_limit(u, member);
    if (!make_room(u, member, (size_t)end))
        return UNPACK_FAULT;
    size_t hole = (size_t)u->block_offset - u->held.size;
    if (hole)
        memset(u->held.data + u->held.size, 0, hole);
    if (u->block_size)
        memcpy(u->held.data + u->block_offset, u->block, u->block_size);
    u->held.size = (size_t)end;
    u->block_size = 0;
    return UNPACK_OK;
}

enum unpack_result unpack_head(struct unpacker *u, struct member *member)
{
    static const uint8_t nothing[1];
    member->head = nothing;
    member->head_size = 0;
    while (u->held.size < SIGNATURE_HEAD) {
        enum unpack_result result = next_block(u, member);
        if (result == UNPACK_END)
            break;
        if (result != UNPACK_OK)
            return result;
        /* Most members come as one block: they are looked at where they lie, and copied only when somebody
         * wants them. */
        bool whole = member->size_known && u->block_size == member->size;
        if (u->held.size == 0 && u->block_offset == 0 && (whole || u->block_size >= SIGNATURE_HEAD)) {
            member->head = u->block;
            member->head_size = u->block_size;
            return UNPACK_OK;
        }
        /* A sparse file that begins with a long hole: its head is zeros, and the block stays for later. */
        if (u->block_offset >= SIGNATURE_HEAD) {
            if (!make_room(u, member, SIGNATURE_HEAD))
                return UNPACK_FAULT;
            memset(u->held.data + u->held.size, 0, SIGNATURE_HEAD - u->held.size);
            u->held.size = SIGNATURE_HEAD;
            break;
        }
        /* The limit is for what is held whole. This is a head, and at most one block longer. */
        result = keep_block(u, member, UINT64_MAX);
        if (result != UNPACK_OK)
            return result;
    }
    if (u->held.size)
        member->head = u->held.data;
    member->head_size = u->held.size;
    return UNPACK_OK;
}

/* Whether what came is what was announced. */
static bool is_complete(struct member *member, uint64_t size)
{
    if (!member->size_known || size == member->size)
        return true;
    failure_set(&member->failure, CONTAINER_TRUNCATED, "%llu bytes of the %llu it announces",
                (unsigned long long)size, (unsigned long long)member->size);
    return false;
}

/* Hands the held bytes over. Small ones are copied so that the buffer serves the next member too. */
static bool give_away(struct unpacker *u, uint8_t **data, size_t *size)
{
    struct buffer *held = &u->held;
    *size = held->size;
    if (held->size && held->size >= held->room / 2) {
        *data = held->data;
        *held = (struct buffer){0};
        return true;
    }
    *data = malloc(held->size ? held->size : 1);
    if (*data && held->size)
        memcpy(*data, held->data, held->size);
    held->size = 0;
    if (held->room > TRUSTED_SIZE)
        buffer_free(held);
    return *data;
}

/* Collects the member's blocks until its end, or until more than `most` bytes would be held: *spilled, with
 * the block that is too much not yet kept. */
static enum unpack_result collect(struct unpacker *u, struct member *member, uint64_t most, bool *spilled)
{
    enum unpack_result result = u->block_size ? UNPACK_OK : next_block(u, member);
    *spilled = false;
    for (; result == UNPACK_OK; result = next_block(u, member)) {
        uint64_t end = block_end(u, member, u->held.size);
        if (!end)
            return UNPACK_FAILED;
        if (end > most) {
            *spilled = true;
            return UNPACK_OK;
        }
        result = keep_block(u, member, most);
        if (result != UNPACK_OK)
            return result;
    }
    if (result != UNPACK_END)
        return result;
    /* A hole at the end comes as a block of nothing behind it. */
    if (member->may_be_short && member->size_known && u->held.size < member->size) {
        u->block_offset = member->size;
        u->block_size = 0;
        *spilled = member->size > most;
        return *spilled ? UNPACK_OK : keep_block(u, member, most);
    }
    return UNPACK_OK;
}

enum unpack_result unpack_hold(struct unpacker *u, struct member *member, uint8_t **data, size_t *size)
{
    bool spilled = false;
    *data = NULL;
    *size = 0;
    uint64_t least = member->size_known ? member->size : u->held.size;
    if (least > u->limits.member_bytes)
        return over_limit(u, member);
    enum unpack_result result = collect(u, member, u->limits.member_bytes, &spilled);
    if (result != UNPACK_OK)
        return result;
    if (spilled)
        return over_limit(u, member);
    if (!is_complete(member, u->held.size))
        return UNPACK_FAILED;
    return give_away(u, data, size) ? UNPACK_OK : UNPACK_FAULT;
}

/* ---- archives in the archive --------------------------------------------------------------------------- */

/* A member on its way into the spool. */
struct spilling {
    uint64_t start, size;
    struct hash_stream *hash;
};

static enum unpack_result no_room(const struct unpacker *u, struct member *member)
{
    failure_set_by_place(&member->failure, CONTAINER_OVER_LIMIT,
                         "archives in archives of more than %llu bytes at a time; --spool is %llu",
                         (unsigned long long)u->limits.spool_bytes,
                         (unsigned long long)u->limits.spool_bytes);
    return UNPACK_FAILED;
}

static bool has_room(const struct unpacker *u, uint64_t size)
{
    uint64_t used = spool_used(u->limits.spool);
    return used <= u->limits.spool_bytes && size <= u->limits.spool_bytes - used;
}

static void hash_zeros(struct hash_stream *hash, uint64_t count)
{
    static const uint8_t zeros[4096];
    for (; count; count -= count < sizeof zeros ? count : sizeof zeros)
        hash_stream_add(hash, zeros, count < sizeof zeros ? (size_t)count : sizeof zeros);
}

static enum unpack_result spill(struct unpacker *u, struct spilling *to, uint64_t offset,
                                const uint8_t *bytes, size_t size, struct member *member)
{
    if (offset > UINT64_MAX - size || !has_room(u, offset + size))
        return no_room(u, member);
    hash_zeros(to->hash, offset - to->size);
    hash_stream_add(to->hash, bytes, size);
    to->size = offset + size;
    return spool_write(u->limits.spool, to->start + offset, bytes, size) ? UNPACK_OK : UNPACK_FAULT;
}

/* All of the member into the spool: first what is held, then the block that did not fit, then the rest. */
static enum unpack_result spill_all(struct unpacker *u, struct spilling *to, struct member *member)
{
    enum unpack_result result = spill(u, to, 0, u->held.data, u->held.size, member);
    buffer_free(&u->held);
    while (result == UNPACK_OK) {
        if (!block_end(u, member, to->size))
            return UNPACK_FAILED;
        result = spill(u, to, u->block_offset, u->block, u->block_size, member);
        if (result == UNPACK_OK)
            result = next_block(u, member);
    }
    if (result != UNPACK_END)
        return result;
    if (member->may_be_short && member->size_known && to->size < member->size) {
        result = spill(u, to, member->size, NULL, 0, member);
        if (result != UNPACK_OK)
            return result;
    }
    if (!is_complete(member, to->size))
        return UNPACK_FAILED;
    return spool_keep(u->limits.spool, to->start + to->size) ? UNPACK_OK : UNPACK_FAULT;
}

static enum unpack_result nest_in_spool(struct unpacker *u, struct member *member, struct feed **feed)
{
    struct spilling to = {.start = spool_used(u->limits.spool), .hash = hash_stream_new()};
    if (!to.hash)
        return UNPACK_FAULT;
    enum unpack_result result = spill_all(u, &to, member);
    if (result != UNPACK_OK) {
        spool_release(u->limits.spool, to.start);
        hash_stream_free(to.hash);
        return result;
    }
    struct hash hash = hash_stream_finish(to.hash);
    *feed = feed_spooled(u->limits.spool, to.start, to.size, &hash);
    if (!*feed)
        return UNPACK_FAULT;
    if (u->limits.expansion)
        feed_watch(*feed, u->limits.expansion->pulse);
    return UNPACK_OK;
}

enum unpack_result unpack_nest(struct unpacker *u, struct member *member, struct feed **feed)
{
    uint8_t *data;
    size_t size;
    bool spilled = false;
    *feed = NULL;
    if (member->in_place) {
        *feed = feed_window(u->feed, member->offset, member->size, u->limits.hashed && !member->again);
        return *feed ? UNPACK_OK : UNPACK_FAULT;
    }
    if (!u->limits.spool) {
        enum unpack_result result = unpack_hold(u, member, &data, &size);
        *feed = result == UNPACK_OK ? feed_memory(data, size) : NULL;
        return result == UNPACK_OK && !*feed ? UNPACK_FAULT : result;
    }
    if (member->size_known && member->size > UNPACK_IN_MEMORY && !has_room(u, member->size))
        return no_room(u, member);
    enum unpack_result result = collect(u, member, UNPACK_IN_MEMORY, &spilled);
    if (result != UNPACK_OK)
        return result;
    if (spilled)
        return nest_in_spool(u, member, feed);
    if (!is_complete(member, u->held.size))
        return UNPACK_FAILED;
    if (give_away(u, &data, &size))
        *feed = feed_memory(data, size);
    return *feed ? UNPACK_OK : UNPACK_FAULT;
}

enum unpack_result unpack_measure(struct unpacker *u, struct member *member)
{
    if (member->size_known) {
        uint64_t rest = member->size > u->delivered ? member->size - u->delivered : 0;
        return !member->solid || unpack_spend(u, rest, &member->failure) ? UNPACK_OK : UNPACK_FAILED;
    }
    uint64_t size = u->held.size;
    enum unpack_result result = UNPACK_OK;
    if (u->block_size)
        size = u->block_offset + u->block_size;
    while ((result = next_block(u, member)) == UNPACK_OK)
        size = u->block_offset + u->block_size;
    member->size = size;
    return result == UNPACK_END ? UNPACK_OK : result;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

enum unpack_result unpack_parts(struct unpacker *u, const char *name, struct feed **parts)
{
    return u->kind->parts ? u->kind->parts(u, name, parts) : UNPACK_OK;
}

bool unpack_hash(struct unpacker *u, struct hash *hash, struct failure *failure)
{
    if (u->kind->hash)
        return u->kind->hash(u, hash, failure);
    if (feed_hash(u->feed, hash))
        return true;
    failure_take(failure, feed_failure(u->feed));
    return false;
}
