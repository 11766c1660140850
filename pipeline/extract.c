/* extract.c - see extract.h
 *
 * Files come from a walk (walk.h), members from a stack of unpackers (unpack.h), the innermost archive on
 * top. What something is decides its head: a container that a decoder knows (format_probe) is held whole and
 * handed out, never opened as an archive; else what has an archive's signature is opened, from its file or,
 * inside another archive, from memory, from the spool, or where it lies; all else is counted and not read
 * further.
 */
#include "pipeline/extract_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/extract_archive.h"
#include "pipeline/split.h"
#include "pipeline/xdvdfs.h"

/* Files looked at to know their total size in advance; a larger tree goes without a total. */
#define COUNT_MOST 100000
/* What any input may expand to, whatever the ratio: small files of zeros are no attack. */
#define EXPANSION_FREE (UINT64_C(64) << 20)

/* ---- items --------------------------------------------------------------------------------------------- */

void extracted_free_data(struct extracted *item)
{
    free(item->data);
    item->data = NULL;
}

void extracted_free(struct extracted *item)
{
    if (!item)
        return;
    extracted_free_data(item);
    free(item->path);
    free(item->parent_path);
    free(item->name);
    free(item->census); /* one block with its strings: see census_rows */
    free(item->images);
    memset(item, 0, sizeof *item);
}

enum outcome fail_item(struct extracted *item, const struct failure *failure)
{
    item->kind = EXTRACT_FAILED;
    item->status = CONTAINER_SKIPPED;
    item->reason = failure->reason;
    memcpy(item->message, failure->message, sizeof item->message);
    return OUTCOME_ITEM;
}

/* Whether the step may be taken. */
static bool may_enter(struct extractor *extractor, enum extract_step step, const char *name,
                      struct failure *failure)
{
    const struct extract_options *options = &extractor->options;
    return !options->enter || options->enter(step, extractor->file ? extractor->file - 1 : 0,
                                             extractor->member, name, failure, options->ctx);
}

enum format_id probe(const uint8_t *data, size_t size, const char *name, bool *ambiguous)
{
    const struct input in = {data, size, name};
    const struct format *format = format_probe(&in, ambiguous);
    return format ? format->id : FORMAT_UNKNOWN;
}

enum outcome bytes_item(struct extracted *item, uint8_t *data, size_t size, const char *base)
{
    item->kind = EXTRACT_BYTES;
    item->data = data;
    item->size = size;
    item->bytes = size;
    item->name = strdup(base);
    item->format = probe(data, size, base, &item->ambiguous_format);
    return item->name ? OUTCOME_ITEM : OUTCOME_FAULT;
}

/* ---- levels -------------------------------------------------------------------------------------------- */

const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void level_free(struct level *level)
{
    unpack_close(level->unpacker);
    census_free(&level->census);
    free(level->path);
    free(level->base);
    free(level);
}

void level_pop(struct extractor *extractor)
{
    struct level *level = extractor->level;
    extractor->level = level->outer;
    if (!level->outer)
        extractor->done += feed_size(level->unpacker->feed);
    level_free(level);
}

/* The limits of a plain file's archives begin anew. */
static void begin_input(struct extractor *extractor, const struct opening *opening)
{
    const struct extract_limits *limits = &extractor->options.limits;
    uint64_t size = feed_size(opening->feed), by_ratio;
    for (size_t i = 0; i < IPFB_PARTS; i++)
        size += opening->parts[i] ? feed_size(opening->parts[i]) : 0;
    if (!limits->ratio || __builtin_mul_overflow(size, limits->ratio, &by_ratio))
        by_ratio = UINT64_MAX;
    if (by_ratio < EXPANSION_FREE)
        by_ratio = EXPANSION_FREE;
    uint64_t absolute = limits->expanded_bytes ? limits->expanded_bytes : UINT64_MAX;
    extractor->expansion = (struct expansion){.pulse = extractor->options.pulse,
                                              .most = by_ratio < absolute ? by_ratio : absolute,
                                              .by_ratio = by_ratio < absolute,
                                              .value = by_ratio < absolute ? limits->ratio : absolute};
}

static uint64_t or_none(uint64_t limit)
{
    return limit ? limit : UINT64_MAX;
}

static bool is_iso9660(struct feed *feed)
{
    uint8_t bytes[5];
    return feed_peek(feed, 0x8001, bytes, sizeof bytes) == sizeof bytes && memcmp(bytes, "CD001", 5) == 0;
}

static struct unpacker *open_unpacker(struct extractor *extractor, const struct opening *opening,
                                      const char *base, bool *nomem)
{
    const struct extract_limits *limits = &extractor->options.limits;
    const struct unpack_limits unpack = {.hashed = !extractor->by_address,
                                         .member_bytes = or_none(limits->member_bytes),
                                         .members = or_none(limits->members),
                                         .spool = extractor->options.spool,
                                         .spool_bytes = or_none(limits->spool_bytes),
                                         .expansion = &extractor->expansion};
    enum signature_kind kind = opening->signature.kind;
    struct feed *feed = opening->feed;
    uint64_t start;
    *nomem = true;
    if (kind == SIGNATURE_IPFB) {
        struct feed *parts[IPFB_PARTS];
        memcpy(parts, opening->parts, sizeof parts);
        return unpack_ipfb(feed, parts, &unpack);
    }
    bool image = kind == SIGNATURE_XDVDFS || (kind == SIGNATURE_ISO9660 && !opening->again);
    if (image && xdvdfs_find(feed, &start))
        return unpack_xdvdfs(feed, start, is_iso9660(feed), &unpack);
    if (kind != SIGNATURE_XDVDFS)
        return unpack_archive(feed, opening->signature, base, &unpack, nomem);
    feed_close(feed);
    *nomem = false;
    return NULL;
}

void close_feeds(const struct opening *opening)
{
    for (size_t i = IPFB_PARTS; i-- > 0;)
        feed_close(opening->parts[i]);
    feed_close(opening->feed);
}

enum outcome level_push(struct extractor *extractor, const struct opening *opening)
{
    struct level *level = calloc(1, sizeof *level);
    bool nomem = true;
    if (!level || !(level->path = strdup(opening->path)) || !(level->base = strdup(opening->base))) {
        close_feeds(opening);
        goto fail;
    }
    if (!extractor->level)
        begin_input(extractor, opening);
    level->unpacker = open_unpacker(extractor, opening, level->base, &nomem);
    if (!level->unpacker)
        goto fail;
    level->again = opening->again;
    level->outer = extractor->level;
    level->depth = level->outer ? level->outer->depth + 1 : 0;
    level->first_failed = level->place_failed = UINT64_MAX;
    extractor->level = level;
    return OUTCOME_ITEM;
fail:
    if (level)
        level_free(level);
    return nomem ? OUTCOME_FAULT : OUTCOME_NONE;
}

bool level_find_parts(struct extractor *extractor, const char *name, struct opening *opening)
{
    if (opening->signature.kind != SIGNATURE_IPFB)
        return true;
    return unpack_parts(extractor->level->unpacker, name, opening->parts) != UNPACK_FAULT;
}

bool file_find_parts(const struct walk_entry *entry, struct opening *opening)
{
    for (unsigned i = 0; opening->signature.kind == SIGNATURE_IPFB && i < IPFB_PARTS; i++) {
        int fd = walk_open_part(entry, i);
        if (fd >= 0 && !(opening->parts[i] = feed_file(fd, true)))
            return false;
    }
    return true;
}

bool is_too_deep(const struct extractor *extractor, struct failure *failure)
{
    unsigned depth = extractor->level->depth, most = extractor->options.limits.depth;
    if (depth < most)
        return false;
    failure_set_by_place(failure, CONTAINER_TOO_DEEP, "inside %u archives; --max-depth is %u", depth + 1,
                         most);
    return true;
}

/* The hash an archive is kept under. The image that is read a second time has the bytes of the first, and
 * members of its own: it is kept under another one. */
static bool hash_level(struct level *level, struct hash *hash, struct failure *failure)
{
    static const char also[] = "iso9660";
    uint8_t bytes[sizeof also + HASH_SIZE];
    struct unpacker *unpacker = level->again ? level->outer->unpacker : level->unpacker;
    if (!unpack_hash(unpacker, hash, failure))
        return false;
    if (level->again) {
        memcpy(bytes, also, sizeof also);
        memcpy(bytes + sizeof also, hash->bytes, HASH_SIZE);
        *hash = hash_bytes(bytes, sizeof bytes);
    }
    return true;
}

/* The archive is at its end: what it was, and how much of it could be had. */
static enum outcome archive_item(struct extractor *extractor, struct extracted *item)
{
    struct level *level = extractor->level;
    struct unpacker *unpacker = level->unpacker;
    /* The first cause: trouble with the archive itself mostly follows from a member's. */
    struct failure failure = level->failure.reason ? level->failure : unpacker->failure;
    item->kind = EXTRACT_ARCHIVE;
    item->format = unpacker->kind->format;
    item->is_input = level->is_input;
    item->mtime_ns = level->mtime_ns;
    item->bytes = feed_size(unpacker->feed);
    item->member_count = level->member_count + unpacker->links;
    item->flags = unpacker->flags;
    item->in_parts = level->in_parts;
    item->foreign = level->foreign;
    item->first_failed = level->first_failed;
    item->place_failed = level->place_failed;
    item->readable = level->readable;
    item->path = strdup(level->path);
    item->parent_path = level->outer ? strdup(level->outer->path) : NULL;
    if (!item->path || (level->outer && !item->parent_path) ||
        !census_rows(&level->census, &item->census, &item->census_count) ||
        !census_images(&level->census, &item->images))
        return OUTCOME_FAULT;
    item->status = !failure.reason ? CONTAINER_READ : level->readable ? CONTAINER_DAMAGED : CONTAINER_SKIPPED;
    item->reason = failure.reason;
    memcpy(item->message, failure.message, sizeof item->message);
    /* Without all its bytes an archive has no hash, and no content to be recorded under; neither has one
     * whose outcome is that of its place. Its members stand. */
    struct failure whole = level->by_place;
    if (unpacker->failure.by_place)
        failure_take(&whole, &unpacker->failure);
    if (extractor->expansion.exceeded && !whole.reason)
        unpack_spend(unpacker, 1, &whole);
    item->place_reason = whole.reason;
    memcpy(item->place_message, whole.message, sizeof item->place_message);
    if (level->foreign)
        return OUTCOME_ITEM;
    if (whole.reason || !hash_level(level, &item->hash, &whole)) {
        fail_item(item, &whole);
        item->status = level->readable ? CONTAINER_DAMAGED : CONTAINER_SKIPPED;
        free(item->census);
        item->census = NULL;
        item->census_count = 0;
    }
    return OUTCOME_ITEM;
}

/* ---- members ------------------------------------------------------------------------------------------- */

bool address_member(const struct level *level, const struct member *member, struct extracted *item)
{
    size_t head = strlen(level->path), tail = strlen(member->name);
    item->path = malloc(head + 1 + tail + 1);
    item->parent_path = strdup(level->path);
    if (!item->path || !item->parent_path)
        return false;
    memcpy(item->path, level->path, head);
    item->path[head] = '!';
    memcpy(item->path + head + 1, member->name, tail + 1);
    item->bytes = member->size;
    return true;
}

static enum outcome failed_member(struct level *level, const struct member *member, struct extracted *item)
{
    if (!level->failure.reason)
        level->first_failed = level->member_count - 1;
    failure_take(&level->failure, &member->failure);
    if (member->failure.by_place && !level->by_place.reason)
        level->place_failed = level->member_count - 1;
    if (member->failure.by_place)
        failure_take(&level->by_place, &member->failure);
    if (!address_member(level, member, item))
        return OUTCOME_FAULT;
    return fail_item(item, &member->failure);
}

static enum outcome count_member(struct level *level, struct member *member, struct extracted *item)
{
    /* The head moves when the rest is read. */
    uint8_t magic[4];
    size_t magic_size = member->head_size < sizeof magic ? member->head_size : sizeof magic;
    memcpy(magic, member->head, magic_size);
    enum unpack_result result = unpack_measure(level->unpacker, member);
    if (result == UNPACK_FAILED)
        return failed_member(level, member, item);
    if (result != UNPACK_OK || !census_add(&level->census, magic, magic_size, member->base, member->size))
        return OUTCOME_FAULT;
    level->readable++;
    return OUTCOME_NONE;
}

/* A member that is an archive itself. */
static enum outcome nest_member(struct extractor *extractor, struct member *member,
                                struct signature signature, struct extracted *item)
{
    struct level *level = extractor->level;
    struct opening opening = {.signature = signature, .base = member->base, .again = member->again};
    uint8_t magic[4];
    size_t magic_size = member->head_size < sizeof magic ? member->head_size : sizeof magic;
    memcpy(magic, member->head, magic_size);
    enum unpack_result result = unpack_nest(level->unpacker, member, &opening.feed);
    if (result == UNPACK_FAILED) {
        item->format = signature.kind == SIGNATURE_XDVDFS ? FORMAT_XDVDFS : FORMAT_ARCHIVE;
        return failed_member(level, member, item);
    }
    if (result != UNPACK_OK || !level_find_parts(extractor, member->name, &opening) ||
        !address_member(level, member, item)) {
        close_feeds(&opening);
        return OUTCOME_FAULT;
    }
    uint64_t size = feed_size(opening.feed);
    opening.path = item->path;
    enum outcome opened = level_push(extractor, &opening);
    extracted_free(item);
    if (opened == OUTCOME_FAULT)
        return OUTCOME_FAULT;
    level->readable++;
    if (opened == OUTCOME_NONE && !census_add(&level->census, magic, magic_size, member->base, size))
        return OUTCOME_FAULT;
    return OUTCOME_NONE;
}

static enum outcome hold_member(struct level *level, struct member *member, struct extracted *item)
{
    uint8_t *data;
    size_t size;
    enum unpack_result result = unpack_hold(level->unpacker, member, &data, &size);
    if (result == UNPACK_FAILED)
        return failed_member(level, member, item);
    if (result != UNPACK_OK)
        return OUTCOME_FAULT;
    level->readable++;
    if (bytes_item(item, data, size, member->base) == OUTCOME_FAULT || !address_member(level, member, item))
        return OUTCOME_FAULT;
    item->bytes = size;
    if (item->format != FORMAT_UNKNOWN)
        return OUTCOME_ITEM;
    bool counted = census_add(&level->census, data, size, member->base, size);
    extracted_free(item);
    return counted ? OUTCOME_NONE : OUTCOME_FAULT;
}

/* An image whose video partition was wiped begins with zeros. */
static bool may_be_image(const struct member *member)
{
    if (!member->size_known || member->size <= XDVDFS_NEXT_BASE)
        return false;
    for (size_t i = 0; i < member->head_size; i++)
        if (member->head[i])
            return false;
    return true;
}

struct signature look_at_file(struct feed *feed, const uint8_t *head, size_t size)
{
    struct signature signature = signature_of(head, size);
    uint64_t start;
    if (!signature.kind && feed_size(feed) > XDVDFS_NEXT_BASE && xdvdfs_find(feed, &start))
        return (struct signature){SIGNATURE_XDVDFS, false};
    return signature;
}

struct signature look_at_member(const struct extractor *extractor, const struct member *member)
{
    static const struct signature none = {SIGNATURE_NONE, false};
    const struct extract_limits *limits = &extractor->options.limits;
    struct failure ignored = {.reason = CONTAINER_REASON_NONE};
    if (member->again)
        return (struct signature){SIGNATURE_ISO9660, false};
    struct signature signature = signature_of(member->head, member->head_size);
    if (!signature.kind && may_be_image(member))
        signature = (struct signature){SIGNATURE_XDVDFS, true};
    if (!signature.weak)
        return signature;
    /* Weak evidence is not worth what would only end at a limit. */
    uint64_t most = or_none(extractor->options.spool ? limits->spool_bytes : limits->member_bytes);
    bool fits = member->in_place || (member->size_known && member->size <= most);
    return fits && !is_too_deep(extractor, &ignored) ? signature : none;
}

static enum outcome take_member(struct extractor *extractor, struct member *member, struct extracted *item)
{
    struct level *level = extractor->level;
    enum unpack_result result = unpack_head(level->unpacker, member);
    if (result == UNPACK_FAILED)
        return failed_member(level, member, item);
    if (result != UNPACK_OK)
        return OUTCOME_FAULT;
    bool ambiguous;
    item->format = probe(member->head, member->head_size, member->base, &ambiguous);
    if (item->format != FORMAT_UNKNOWN)
        return hold_member(level, member, item);
    struct signature signature = look_at_member(extractor, member);
    if (!signature.kind)
        return count_member(level, member, item);
    if (!is_too_deep(extractor, &member->failure))
        return nest_member(extractor, member, signature, item);
    item->format = signature.kind == SIGNATURE_XDVDFS ? FORMAT_XDVDFS : FORMAT_ARCHIVE;
    return failed_member(level, member, item);
}

static enum extract_share share_of(const struct extractor *extractor, const struct extract_piece *piece)
{
    const struct extract_options *options = &extractor->options;
    return options->share ? options->share(piece, options->ctx) : SHARE_WHOLE;
}

static bool is_foreign(const struct extractor *extractor, const struct member *member)
{
    const struct level *level = extractor->level;
    const struct extract_piece piece = {.kind = PIECE_MEMBER,
                                        .path = level->path,
                                        .member = member->name,
                                        .ordinal = level->member_count - 1,
                                        .bytes = member->size};
    if (!level->in_parts)
        return false;
    /* The image once more has the hash of the image, which only the owner takes. */
    return member->again ? level->foreign : share_of(extractor, &piece) == SHARE_NONE;
}

/* The innermost archive's next member, or its end. */
static enum outcome step_archive(struct extractor *extractor, struct extracted *item)
{
    struct level *level = extractor->level;
    struct member member;
    struct failure refusal = {.reason = CONTAINER_REASON_NONE};
    bool entered = may_enter(extractor, EXTRACT_NEXT, level->path, &refusal);
    enum unpack_result result = entered ? unpack_next(level->unpacker, &member) : UNPACK_END;
    if (result == UNPACK_FAULT)
        return OUTCOME_FAULT;
    if (!entered)
        *(refusal.by_place ? &level->by_place : &level->failure) = refusal;
    if (result == UNPACK_END) {
        enum outcome outcome = archive_item(extractor, item);
        level_pop(extractor);
        return outcome;
    }
    level->member_count++;
    extractor->member++;
    if (is_foreign(extractor, &member))
        return OUTCOME_NONE;
    if (result == UNPACK_FAILED)
        return failed_member(level, &member, item);
    if (!may_enter(extractor, EXTRACT_MEMBER, member.name, &member.failure)) {
        level->failure = (struct failure){.reason = CONTAINER_REASON_NONE};
        return failed_member(level, &member, item);
    }
    return take_member(extractor, &member, item);
}

/* ---- plain files --------------------------------------------------------------------------------------- */

enum outcome read_whole(struct extractor *extractor, struct feed *feed, const char *base,
                        struct extracted *item)
{
    uint64_t size = feed_size(feed), limit = or_none(extractor->options.limits.member_bytes);
    struct failure failure = {.reason = CONTAINER_REASON_NONE};
    if (size > limit || size > SIZE_MAX - 1) {
        failure_set(&failure, CONTAINER_OVER_LIMIT, "%llu bytes; --max-member is %llu",
                    (unsigned long long)size, (unsigned long long)limit);
        return fail_item(item, &failure);
    }
    uint8_t *data = malloc(size ? (size_t)size : 1);
    if (!data)
        return OUTCOME_FAULT;
    if (feed_peek(feed, 0, data, (size_t)size) < 0 || !feed_is_unchanged(feed)) {
        free(data);
        return fail_item(item, feed_failure(feed));
    }
    return bytes_item(item, data, (size_t)size, base);
}

static enum outcome unknown_item(struct extracted *item, const uint8_t *head, size_t size, const char *base)
{
    item->kind = EXTRACT_UNKNOWN;
    item->format = FORMAT_UNKNOWN;
    census_magic(head, size, item->magic);
    census_ending(base, item->ending);
    return OUTCOME_ITEM;
}

/* Whether the archive's own record, or the file that is no archive after all, is somebody else's. */
static bool is_foreign_archive(const struct extractor *extractor, const struct extracted *item)
{
    const struct extract_piece piece = {
        .kind = PIECE_ARCHIVE, .path = item->path, .bytes = item->bytes, .is_input = item->is_input};
    return share_of(extractor, &piece) == SHARE_NONE;
}

/* Looks at an open file and hands it out, or opens it as an archive. `item` has its path, size and time. */
static enum outcome take_file(struct extractor *extractor, int fd, const struct walk_entry *entry,
                              enum extract_share share, struct extracted *item)
{
    const char *base = base_of(entry->name);
    struct opening opening = {.base = base};
    struct feed *feed = feed_file(fd, true);
    if (!feed)
        return OUTCOME_FAULT;
    feed_watch(feed, extractor->options.pulse);
    enum outcome outcome;
    bool ambiguous;
    ssize_t n = feed_peek(feed, 0, extractor->head, SIGNATURE_HEAD);
    size_t head_size = n > 0 ? (size_t)n : 0;
    item->bytes = feed_size(feed);
    item->format = n < 0 ? FORMAT_UNKNOWN : probe(extractor->head, head_size, base, &ambiguous);
    if (item->format == FORMAT_UNKNOWN)
        opening.signature = look_at_file(feed, extractor->head, head_size);
    bool in_parts = share == SHARE_MEMBERS && split_possible(feed, opening.signature);
    bool foreign = share == SHARE_MEMBERS && is_foreign_archive(extractor, item);
    if (foreign && !in_parts) {
        outcome = OUTCOME_NONE;
        goto out;
    }
    if (n < 0) {
        outcome = fail_item(item, feed_failure(feed));
        goto out;
    }
    if (item->format != FORMAT_UNKNOWN) {
        outcome = read_whole(extractor, feed, base, item);
        if (outcome == OUTCOME_ITEM && item->kind == EXTRACT_BYTES && item->format == FORMAT_UNKNOWN) {
            extracted_free_data(item);
            outcome = unknown_item(item, extractor->head, head_size, base);
        }
        goto out;
    }
    if (opening.signature.kind) {
        if (foreign)
            feed_forget_hash(feed);
        opening.feed = feed;
        opening.path = item->path;
        if (!file_find_parts(entry, &opening)) {
            close_feeds(&opening);
            return OUTCOME_FAULT;
        }
        outcome = level_push(extractor, &opening);
        feed = NULL; /* taken */
        if (outcome == OUTCOME_ITEM) {
            extractor->level->is_input = item->is_input;
            extractor->level->mtime_ns = item->mtime_ns;
            extractor->level->in_parts = in_parts;
            extractor->level->foreign = foreign;
            extracted_free(item);
            return OUTCOME_NONE;
        }
        if (outcome == OUTCOME_FAULT)
            return outcome;
    }
    outcome = foreign ? OUTCOME_NONE : unknown_item(item, extractor->head, head_size, base);
out:
    extractor->done += item->bytes;
    if (outcome == OUTCOME_NONE)
        extracted_free(item);
    feed_close(feed);
    return outcome;
}

/* Whether a file, and with a pack's index its parts, need not be read. */
static bool is_unchanged(const struct extractor *extractor, const struct walk_entry *entry)
{
    const struct extract_options *options = &extractor->options;
    if (!options->unchanged || !options->unchanged(entry->path, entry->size, entry->mtime_ns, options->ctx))
        return false;
    uint32_t parts = walk_parts(extractor->walk, entry);
    bool same = true;
    for (unsigned i = 0; same && parts >> i; i++) {
        struct walk_entry part;
        if (!(parts >> i & 1) || !walk_part(entry, i, &part))
            continue;
        same = options->unchanged(part.path, part.size, part.mtime_ns, options->ctx);
        free(part.path);
    }
    return same;
}

static enum outcome step_file(struct extractor *extractor, const struct walk_entry *entry,
                              struct extracted *item)
{
    struct failure failure = entry->failure;
    extractor->member = 0;
    item->path = entry->path;
    item->is_input = entry->is_input;
    item->bytes = entry->size;
    item->mtime_ns = entry->mtime_ns;
    const struct extract_piece piece = {
        .kind = PIECE_FILE, .path = item->path, .bytes = item->bytes, .is_input = item->is_input};
    enum extract_share share = share_of(extractor, &piece);
    if (failure.reason && share == SHARE_MEMBERS && is_foreign_archive(extractor, item))
        share = SHARE_NONE;
    if (share == SHARE_NONE || extractor->file <= extractor->options.first_file) {
        extractor->done += entry->size;
        extracted_free(item);
        return OUTCOME_NONE;
    }
    if (failure.reason)
        return fail_item(item, &failure);
    if (is_unchanged(extractor, entry)) {
        extractor->done += entry->size;
        if (share == SHARE_MEMBERS && is_foreign_archive(extractor, item)) {
            extracted_free(item);
            return OUTCOME_NONE;
        }
        item->kind = EXTRACT_UNCHANGED;
        return OUTCOME_ITEM;
    }
    int fd = may_enter(extractor, EXTRACT_OPEN, item->path, &failure) ? walk_open_file(entry, &failure) : -1;
    if (fd < 0) {
        extractor->done += entry->size;
        if (share != SHARE_MEMBERS || !is_foreign_archive(extractor, item))
            return fail_item(item, &failure);
        extracted_free(item);
        return OUTCOME_NONE;
    }
    return take_file(extractor, fd, entry, share, item);
}

/* ---- the iterator -------------------------------------------------------------------------------------- */

uint64_t extract_total(const char *const *inputs, size_t count, const bool *walked)
{
    struct walk *walk = walk_new(inputs, count);
    if (walk)
        walk_again(walk, walked);
    struct walk_entry entry;
    uint64_t total = 0;
    size_t seen = 0;
    int more = 0;
    while (walk && seen < COUNT_MOST && (more = walk_next(walk, &entry)) > 0) {
        total += entry.size;
        free(entry.path);
        seen++;
    }
    walk_free(walk);
    return more == 0 ? total : 0;
}

struct extractor *extract_open(const char *const *inputs, size_t count, const struct extract_options *options)
{
    struct extractor *extractor = calloc(1, sizeof *extractor);
    if (!extractor)
        return NULL;
    extractor->options = *options;
    extractor->walk = walk_new(inputs, count);
    extractor->head = malloc(SIGNATURE_HEAD);
    if (!extractor->walk || !extractor->head) {
        extract_close(extractor);
        return NULL;
    }
    walk_again(extractor->walk, options->walked);
    if (options->open_input)
        walk_open_inputs(extractor->walk, options->open_input, options->ctx);
    else
        extractor->total = extract_total(inputs, count, options->walked);
    return extractor;
}

void extract_close(struct extractor *extractor)
{
    if (!extractor)
        return;
    while (extractor->level)
        level_pop(extractor);
    walk_free(extractor->walk);
    free(extractor->head);
    free(extractor);
}

bool extract_next(struct extractor *extractor, struct extracted *item, struct error *err)
{
    enum outcome outcome = OUTCOME_NONE;
    memset(item, 0, sizeof *item);
    while (outcome == OUTCOME_NONE) {
        if (extractor->level) {
            outcome = step_archive(extractor, item);
            continue;
        }
        struct walk_entry entry;
        int more = walk_next(extractor->walk, &entry);
        if (more == 0)
            return false;
        extractor->file++;
        outcome = more < 0 ? OUTCOME_FAULT : step_file(extractor, &entry, item);
    }
    if (outcome == OUTCOME_ITEM) {
        item->file = extractor->file - 1;
        return true;
    }
    extracted_free(item);
    return extract_fault(extractor, err);
}

bool extract_fault(const struct extractor *extractor, struct error *err)
{
    const struct spool *spool = extractor->options.spool;
    if (!spool || !spool_error(spool)->code)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    *err = *spool_error(spool);
    return false;
}

void extract_progress(const struct extractor *extractor, uint64_t *done, uint64_t *total)
{
    const struct level *outermost = extractor->level;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    *done = extractor->done + (outermost ? feed_reached(outermost->unpacker->feed) : 0);
    *total = extractor->total;
}
