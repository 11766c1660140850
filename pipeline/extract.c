/* extract.c - see extract.h
 *
 * Files come from a walk (walk.h), members from a stack of unpackers (extract_archive.h), the innermost
 * archive on top. What something is decides its head alone: a container that a decoder knows (format_probe)
 * is held whole and handed out, never opened as an archive; else what has an archive's signature is opened,
 * from its file or, inside another archive, from memory; all else is counted and not read further.
 */
#include "pipeline/extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/census.h"
#include "pipeline/extract_archive.h"
#include "pipeline/walk.h"

/* Files looked at to know their total size in advance; a larger tree goes without a total. */
#define COUNT_MOST 100000

/* An archive that is open. */
/* An end record, and the longest comment that may follow it. */
#define ZIP_TAIL (22 + 65535)

struct level {
    struct level *outer;
    unsigned depth; /* archives around it */
    struct unpacker *unpacker;
    char *path, *base;
    bool is_input;
    int64_t mtime_ns;
    uint64_t member_count, readable; /* readable: members whose bytes were had, or could have been */
    struct failure failure;          /* of the first member that failed */
    struct census census;
};

struct extractor {
    struct extract_options options;
    struct walk *walk;
    struct level *level;
    uint8_t *head; /* SIGNATURE_HEAD bytes of scratch */
    uint64_t done, total;
};

/* What an item turned out to be. */
enum outcome {
    OUTCOME_NOMEM = -1,
    OUTCOME_NONE = 0, /* nothing to hand out; go on */
    OUTCOME_ITEM = 1,
};

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
    memset(item, 0, sizeof *item);
}

static enum outcome fail_item(struct extracted *item, const struct failure *failure)
{
    item->kind = EXTRACT_FAILED;
    item->status = CONTAINER_SKIPPED;
    item->reason = failure->reason;
    memcpy(item->message, failure->message, sizeof item->message);
    return OUTCOME_ITEM;
}

/* The decoder for some bytes, which may be only a head; FORMAT_UNKNOWN when there is none. */
static enum format_id probe(const uint8_t *data, size_t size, const char *name, bool *ambiguous)
{
    const struct input in = {data, size, name};
    const struct format *format = format_probe(&in, ambiguous);
    return format ? format->id : FORMAT_UNKNOWN;
}

/* Hands out bytes that are held whole. They are probed again: a head may have promised more. Takes `data`. */
static enum outcome bytes_item(struct extracted *item, uint8_t *data, size_t size, const char *base)
{
    item->kind = EXTRACT_BYTES;
    item->data = data;
    item->size = size;
    item->bytes = size;
    item->name = strdup(base);
    item->format = probe(data, size, base, &item->ambiguous_format);
    return item->name ? OUTCOME_ITEM : OUTCOME_NOMEM;
}

/* ---- levels -------------------------------------------------------------------------------------------- */

/* The last component of a path that is no address. */
static const char *base_of(const char *path)
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

static void level_pop(struct extractor *extractor)
{
    struct level *level = extractor->level;
    extractor->level = level->outer;
    if (!level->outer)
        extractor->done += feed_size(unpack_feed(level->unpacker));
    level_free(level);
}

/* Opens an archive on top of the others; takes the feed. OUTCOME_ITEM: it is open; OUTCOME_NONE: it is no
 * archive after all. */
static enum outcome level_push(struct extractor *extractor, struct feed *feed, struct signature signature,
                               const char *path, const char *base)
{
    struct level *level = calloc(1, sizeof *level);
    bool nomem = true;
    if (!level || !(level->path = strdup(path)) || !(level->base = strdup(base))) {
        feed_close(feed);
        goto fail;
    }
    level->unpacker =
        unpack_open(feed, signature, level->base, extractor->options.limits.member_bytes, &nomem);
    if (!level->unpacker)
        goto fail;
    level->outer = extractor->level;
    level->depth = level->outer ? level->outer->depth + 1 : 0;
    extractor->level = level;
    return OUTCOME_ITEM;
fail:
    if (level)
        level_free(level);
    return nomem ? OUTCOME_NOMEM : OUTCOME_NONE;
}

static bool is_too_deep(const struct extractor *extractor)
{
    return extractor->level->depth >= extractor->options.limits.depth;
}

/* The archive is at its end: what it was, and how much of it could be had. */
static enum outcome archive_item(struct extractor *extractor, struct extracted *item)
{
    struct level *level = extractor->level;
    struct feed *feed = unpack_feed(level->unpacker);
    /* The first cause: trouble with the archive itself mostly follows from a member's. */
    const struct failure *failure = level->failure.reason ? &level->failure : unpack_failure(level->unpacker);
    item->kind = EXTRACT_ARCHIVE;
    item->format = FORMAT_ARCHIVE;
    item->is_input = level->is_input;
    item->mtime_ns = level->mtime_ns;
    item->bytes = feed_size(feed);
    item->member_count = level->member_count + unpack_links(level->unpacker);
    item->flags = unpack_flags(level->unpacker);
    item->path = strdup(level->path);
    item->parent_path = level->outer ? strdup(level->outer->path) : NULL;
    if (!item->path || (level->outer && !item->parent_path) ||
        !census_rows(&level->census, &item->census, &item->census_count))
        return OUTCOME_NOMEM;
    item->status = !failure->reason  ? CONTAINER_READ
                   : level->readable ? CONTAINER_DAMAGED
                                     : CONTAINER_SKIPPED;
    item->reason = failure->reason;
    memcpy(item->message, failure->message, sizeof item->message);
    /* Without all its bytes an archive has no hash, and no content to be recorded under. Its members stand.
     */
    if (!feed_hash(feed, &item->hash))
        fail_item(item, feed_failure(feed));
    return OUTCOME_ITEM;
}

/* ---- members ------------------------------------------------------------------------------------------- */

static bool address_member(const struct level *level, const struct member *member, struct extracted *item)
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
    failure_set(&level->failure, member->failure.reason, "%s", member->failure.message);
    if (!address_member(level, member, item))
        return OUTCOME_NOMEM;
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
        return OUTCOME_NOMEM;
    level->readable++;
    return OUTCOME_NONE;
}

/* A member that is an archive itself: opens it from memory. */
static enum outcome nest_member(struct extractor *extractor, struct member *member,
                                struct signature signature, struct extracted *item)
{
    struct level *level = extractor->level;
    uint8_t magic[4], *data;
    size_t magic_size = member->head_size < sizeof magic ? member->head_size : sizeof magic, size;
    memcpy(magic, member->head, magic_size);
    enum unpack_result result = unpack_hold(level->unpacker, member, &data, &size);
    if (result == UNPACK_FAILED) {
        item->format = FORMAT_ARCHIVE;
        return failed_member(level, member, item);
    }
    struct feed *feed = result == UNPACK_OK ? feed_memory(data, size) : NULL;
    if (!feed || !address_member(level, member, item)) {
        feed_close(feed);
        return OUTCOME_NOMEM;
    }
    enum outcome opened = level_push(extractor, feed, signature, item->path, member->base);
    extracted_free(item);
    if (opened == OUTCOME_NOMEM)
        return OUTCOME_NOMEM;
    level->readable++;
    if (opened == OUTCOME_NONE && !census_add(&level->census, magic, magic_size, member->base, size))
        return OUTCOME_NOMEM;
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
        return OUTCOME_NOMEM;
    level->readable++;
    if (bytes_item(item, data, size, member->base) == OUTCOME_NOMEM || !address_member(level, member, item))
        return OUTCOME_NOMEM;
    item->bytes = size;
    if (item->format != FORMAT_UNKNOWN)
        return OUTCOME_ITEM;
    bool counted = census_add(&level->census, data, size, member->base, size);
    extracted_free(item);
    return counted ? OUTCOME_NONE : OUTCOME_NOMEM;
}

/* Whether a member is worth holding although its evidence is weak: not when it is past the limit. */
static bool is_worth_opening(const struct extractor *extractor, const struct member *member,
                             struct signature signature)
{
    if (!signature.weak)
        return signature.kind != SIGNATURE_NONE;
    return !is_too_deep(extractor) && member->size_known &&
           member->size <= extractor->options.limits.member_bytes;
}

static enum outcome take_member(struct extractor *extractor, struct member *member, struct extracted *item)
{
    struct level *level = extractor->level;
    enum unpack_result result = unpack_head(level->unpacker, member);
    if (result == UNPACK_FAILED)
        return failed_member(level, member, item);
    if (result != UNPACK_OK)
        return OUTCOME_NOMEM;
    bool ambiguous;
    item->format = probe(member->head, member->head_size, member->base, &ambiguous);
    if (item->format != FORMAT_UNKNOWN)
        return hold_member(level, member, item);
    struct signature signature = signature_of(member->head, member->head_size);
    if (!is_worth_opening(extractor, member, signature))
        return count_member(level, member, item);
    if (!is_too_deep(extractor))
        return nest_member(extractor, member, signature, item);
    item->format = FORMAT_ARCHIVE;
    failure_set(&member->failure, CONTAINER_TOO_DEEP, "inside %u archives", level->depth + 1);
    return failed_member(level, member, item);
}

/* The innermost archive's next member, or its end. */
static enum outcome step_archive(struct extractor *extractor, struct extracted *item)
{
    struct level *level = extractor->level;
    struct member member;
    enum unpack_result result = unpack_next(level->unpacker, &member);
    if (result == UNPACK_NOMEM)
        return OUTCOME_NOMEM;
    if (result == UNPACK_END) {
        enum outcome outcome = archive_item(extractor, item);
        level_pop(extractor);
        return outcome;
    }
    level->member_count++;
    if (result == UNPACK_FAILED)
        return failed_member(level, &member, item);
    return take_member(extractor, &member, item);
}

/* ---- plain files --------------------------------------------------------------------------------------- */

/* Reads a whole file and makes sure that it did not change meanwhile. Takes nothing: the feed stays the
 * caller's. */
static enum outcome read_whole(struct extractor *extractor, struct feed *feed, const char *base,
                               struct extracted *item)
{
    uint64_t size = feed_size(feed), limit = extractor->options.limits.member_bytes;
    struct failure failure = {.reason = CONTAINER_REASON_NONE};
    if (size > limit || size > SIZE_MAX - 1) {
        failure_set(&failure, CONTAINER_OVER_LIMIT, "more than %llu bytes", (unsigned long long)limit);
        return fail_item(item, &failure);
    }
    uint8_t *data = malloc(size ? (size_t)size : 1);
    if (!data)
        return OUTCOME_NOMEM;
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

/* Looks at an open file and hands it out, or opens it as an archive. `item` has its path, size and time. */
static enum outcome take_file(struct extractor *extractor, int fd, const char *base, struct extracted *item)
{
    struct feed *feed = feed_file(fd, true);
    if (!feed)
        return OUTCOME_NOMEM;
    enum outcome outcome;
    bool ambiguous;
    ssize_t n = feed_peek(feed, 0, extractor->head, SIGNATURE_HEAD);
    size_t head_size = n > 0 ? (size_t)n : 0;
    item->bytes = feed_size(feed);
    if (n < 0) {
        outcome = fail_item(item, feed_failure(feed));
        goto out;
    }
    item->format = probe(extractor->head, head_size, base, &ambiguous);
    if (item->format != FORMAT_UNKNOWN) {
        outcome = read_whole(extractor, feed, base, item);
        if (outcome == OUTCOME_ITEM && item->kind == EXTRACT_BYTES && item->format == FORMAT_UNKNOWN) {
            extracted_free_data(item);
            outcome = unknown_item(item, extractor->head, head_size, base);
        }
        goto out;
    }
    struct signature signature = signature_of(extractor->head, head_size);
    if (signature.kind) {
        outcome = level_push(extractor, feed, signature, item->path, base);
        feed = NULL; /* taken */
        if (outcome == OUTCOME_ITEM) {
            extractor->level->is_input = item->is_input;
            extractor->level->mtime_ns = item->mtime_ns;
            extracted_free(item);
            return OUTCOME_NONE;
        }
        if (outcome == OUTCOME_NOMEM)
            return outcome;
    }
    outcome = unknown_item(item, extractor->head, head_size, base);
out:
    extractor->done += item->bytes;
    feed_close(feed);
    return outcome;
}

static enum outcome step_file(struct extractor *extractor, const struct walk_entry *entry,
                              struct extracted *item)
{
    const struct extract_options *options = &extractor->options;
    struct failure failure = entry->failure;
    item->path = entry->path;
    item->is_input = entry->is_input;
    item->bytes = entry->size;
    item->mtime_ns = entry->mtime_ns;
    if (failure.reason)
        return fail_item(item, &failure);
    if (options->unchanged && options->unchanged(item->path, entry->size, entry->mtime_ns, options->ctx)) {
        item->kind = EXTRACT_UNCHANGED;
        extractor->done += entry->size;
        return OUTCOME_ITEM;
    }
    int fd = walk_open_file(entry, &failure);
    if (fd < 0) {
        extractor->done += entry->size;
        return fail_item(item, &failure);
    }
    return take_file(extractor, fd, base_of(entry->name), item);
}

/* ---- the iterator -------------------------------------------------------------------------------------- */

/* How many bytes there are to read, 0 when the tree is so large that finding out takes its own while. */
static uint64_t count_total(const char *const *inputs, size_t count)
{
    struct walk *walk = walk_new(inputs, count);
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
    extractor->total = count_total(inputs, count);
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
        outcome = more < 0 ? OUTCOME_NOMEM : step_file(extractor, &entry, item);
    }
    if (outcome == OUTCOME_ITEM)
        return true;
    extracted_free(item);
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

void extract_progress(const struct extractor *extractor, uint64_t *done, uint64_t *total)
{
    const struct level *outermost = extractor->level;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    *done = extractor->done + (outermost ? feed_reached(unpack_feed(outermost->unpacker)) : 0);
    *total = extractor->total;
}

/* ---- one address --------------------------------------------------------------------------------------- */

static bool fail_address(struct error *err, enum error_code code, const char *address, const char *why)
{
    return error_set(err, code, ERROR_NO_OFFSET, "%s: %s", address, why);
}

/* Opens the file an address begins with: its first segment decoded, else literally. The name it was found
 * under goes to *name, malloc'ed. */
static int open_first(const char *address, char **name, struct failure *failure)
{
    size_t length = strcspn(address, "!");
    struct failure ignored = {.reason = CONTAINER_REASON_NONE};
    *name = length ? address_unescape(address, length, NULL) : NULL;
    int fd = *name ? walk_open_path(*name, failure) : -1;
    if (fd >= 0)
        return fd;
    char *literal = strndup(address, length);
    fd = literal ? walk_open_path(literal, &ignored) : -1;
    if (fd < 0) {
        failure_set(failure, CONTAINER_UNREADABLE, "no such file");
        free(literal);
        return -1;
    }
    free(*name);
    *name = literal;
    return fd;
}

/* What any bytes are, for an item that was asked for by its address: an archive is handed out like a
 * container. */
static void recognise(struct extracted *item)
{
    size_t head = item->size < SIGNATURE_HEAD ? item->size : SIGNATURE_HEAD;
    struct signature signature = signature_of(item->data, head);
    if (item->format == FORMAT_UNKNOWN && signature.kind && !signature.weak)
        item->format = FORMAT_ARCHIVE;
}

/* Whether a zip's end has a directory. Without one it is read as a stream, whose announced sizes lead from
 * member to member: there a member that is skipped and one that is read may be followed by different ones. */
static bool has_directory(struct feed *feed)
{
    static const char end_of_directory[] = {'P', 'K', 5, 6};
    uint64_t size = feed_size(feed), most = ZIP_TAIL;
    size_t tail = (size_t)(size < most ? size : most);
    uint8_t *bytes = malloc(tail + 1);
    ssize_t n = bytes ? feed_peek(feed, size - tail, bytes, tail) : -1;
    bool found = n > 0 && memmem(bytes, (size_t)n, end_of_directory, sizeof end_of_directory) != NULL;
    free(bytes);
    return found;
}

/* Reads as much of a member nobody asked for as a walk would, so that what follows is what a walk finds. */
static bool pass_by(struct extractor *extractor, struct member *member)
{
    struct unpacker *unpacker = extractor->level->unpacker;
    enum unpack_result result = unpack_head(unpacker, member);
    if (result != UNPACK_OK)
        return result != UNPACK_NOMEM;
    bool ambiguous;
    struct signature signature = signature_of(member->head, member->head_size);
    if (probe(member->head, member->head_size, member->base, &ambiguous) == FORMAT_UNKNOWN &&
        !is_worth_opening(extractor, member, signature))
        return unpack_measure(unpacker, member) != UNPACK_NOMEM;
    uint8_t *data = NULL;
    size_t size;
    result = unpack_hold(unpacker, member, &data, &size);
    free(data);
    return result != UNPACK_NOMEM;
}

/* Finds the member of that address in the innermost archive and holds it whole. */
static bool find_member(struct extractor *extractor, bool streamed, const char *segment, size_t length,
                        struct extracted *item, struct error *err)
{
    struct level *level = extractor->level;
    struct member member = {.name = NULL};
    size_t size;
    char *plain = address_unescape(segment, length, &size);
    char *wanted = plain ? address_escape(plain, size) : NULL; /* %c3 and a needless %41 are accepted */
    free(plain);
    if (!wanted)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    enum unpack_result result = unpack_next(level->unpacker, &member);
    while (result > UNPACK_END && strcmp(member.name, wanted) != 0) {
        bool passed = !streamed || result == UNPACK_FAILED || pass_by(extractor, &member);
        result = passed ? unpack_next(level->unpacker, &member) : UNPACK_NOMEM;
    }
    free(wanted);
    if (result == UNPACK_NOMEM)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (result == UNPACK_END) {
        const struct failure *failure = unpack_failure(level->unpacker);
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s: no member %.*s%s%s", level->path, (int)length,
                         segment, failure->reason ? "; " : "", failure->message);
    }
    uint8_t *data = NULL;
    if (result == UNPACK_OK)
        result = unpack_head(level->unpacker, &member);
    if (result == UNPACK_OK)
        result = unpack_hold(level->unpacker, &member, &data, &size);
    if (result == UNPACK_FAILED)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s!%s: %s: %s", level->path, member.name,
                         container_reason_word(member.failure.reason), member.failure.message);
    if (result != UNPACK_OK || bytes_item(item, data, size, member.base) == OUTCOME_NOMEM ||
        !address_member(level, &member, item))
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    item->bytes = size;
    return true;
}

/* Goes down from the file, which is `feed`, through the members that `rest` names ("!a.zip!b"). Takes the
 * feed. */
static bool descend(struct extractor *extractor, struct feed *feed, const char *base, const char *rest,
                    struct extracted *item, struct error *err)
{
    while (*rest) {
        ssize_t n = feed_peek(feed, 0, extractor->head, SIGNATURE_HEAD);
        struct signature signature = signature_of(extractor->head, n > 0 ? (size_t)n : 0);
        bool streamed = signature.kind == SIGNATURE_ZIP && !has_directory(feed);
        if (!signature.kind)
            feed_close(feed);
        enum outcome opened =
            signature.kind ? level_push(extractor, feed, signature, item->path, base) : OUTCOME_NONE;
        if (opened == OUTCOME_NOMEM)
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        if (opened == OUTCOME_NONE)
            return fail_address(err, ERROR_IO, item->path, "not an archive");
        extracted_free(item);
        size_t length = strcspn(rest + 1, "!");
        bool found = find_member(extractor, streamed, rest + 1, length, item, err);
        rest += 1 + length;
        level_pop(extractor);
        if (!found)
            return false;
        if (!*rest) {
            recognise(item);
            return true;
        }
        feed = feed_memory(item->data, item->size);
        item->data = NULL;
        base = item->name;
        if (!feed)
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    return true;
}

/* The file itself, or what is inside it. */
static bool resolve(struct extractor *extractor, const char *address, struct extracted *item,
                    struct error *err)
{
    struct failure failure = {.reason = CONTAINER_REASON_NONE};
    char *name = NULL;
    const char *rest = address + strcspn(address, "!");
    int fd = open_first(address, &name, &failure);
    if (fd < 0) {
        free(name);
        return fail_address(err, ERROR_IO, address, failure.message);
    }
    struct feed *feed = feed_file(fd, false);
    bool found = false;
    item->path = address_of_input(name);
    if (!feed || !item->path) {
        feed_close(feed);
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    } else if (*rest) {
        found = descend(extractor, feed, base_of(name), rest, item, err);
    } else {
        enum outcome outcome = read_whole(extractor, feed, base_of(name), item);
        feed_close(feed);
        found = outcome == OUTCOME_ITEM && item->kind == EXTRACT_BYTES;
        if (found)
            recognise(item);
        else if (outcome == OUTCOME_ITEM)
            fail_address(err, ERROR_IO, address, item->message);
        else
            error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    free(name);
    return found;
}

bool extract_address(const char *address, const struct extract_limits *limits, struct extracted *item,
                     struct error *err)
{
    const struct extract_options options = {.limits = *limits};
    struct extractor *extractor = extract_open(NULL, 0, &options);
    memset(item, 0, sizeof *item);
    if (!extractor)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    bool found = resolve(extractor, address, item, err);
    extract_close(extractor);
    if (!found)
        extracted_free(item);
    return found;
}
