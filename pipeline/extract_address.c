/* extract_address.c - one address, without a walk: the archives on its way are opened, what lies beside it is
 * not read. See extract.h. */
#include "pipeline/extract_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "pipeline/address.h"
#include "pipeline/extract_archive.h"
#include "pipeline/xdvdfs.h"

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
 * container. False when memory runs out. */
static bool recognise(bool again, struct extracted *item)
{
    if (item->format != FORMAT_UNKNOWN)
        return true;
    uint64_t start;
    size_t head = item->size < SIGNATURE_HEAD ? item->size : SIGNATURE_HEAD;
    struct signature signature = signature_of(item->data, head);
    struct feed *feed = feed_borrowed(item->data, item->size);
    if (!feed)
        return false;
    if (!again && xdvdfs_find(feed, &start))
        item->format = FORMAT_XDVDFS;
    else if (signature.kind && !signature.weak)
        item->format = FORMAT_ARCHIVE;
    feed_close(feed);
    return true;
}

/* Whether a large zip's end (APPNOTE.TXT 4.3.15, a locator of 20 bytes before the record) leads to its
 * directory. */
static bool leads_to_directory(struct feed *feed, uint64_t record)
{
    enum { LOCATOR = 20, OFFSET = 8 };
    uint8_t locator[LOCATOR], magic[4];
    if (record < LOCATOR || feed_peek(feed, record - LOCATOR, locator, LOCATOR) != LOCATOR ||
        memcmp(locator, "PK\6\7", 4) != 0)
        return false;
    uint64_t at = load_u32le(locator + OFFSET) | (uint64_t)load_u32le(locator + OFFSET + 4) << 32;
    return at < record && feed_peek(feed, at, magic, sizeof magic) == (ssize_t)sizeof magic &&
           memcmp(magic, "PK\6\6", 4) == 0;
}

/* Whether libarchive goes by a zip's directory. Without one that it believes (it wants the record whole
 * within so much of the end, one disc, and the directory in front of it) the zip is read as a stream, whose
 * announced sizes lead from member to member: there a member that is skipped and one that is read may be
 * followed by different ones. To say no where it does only costs time. */
static bool has_directory(struct feed *feed)
{
    enum { LOOKED_AT = 16384 };
    uint8_t record[ZIP_END_SIZE];
    uint64_t at;
    if (!zip_end(feed, record, &at) || feed_size(feed) - at > LOOKED_AT)
        return false;
    bool one_disc = load_u32le(record + 4) == 0 && load_u16le(record + 8) == load_u16le(record + 10);
    uint64_t size = load_u32le(record + 12), offset = load_u32le(record + 16);
    return one_disc && (offset + size <= at || leads_to_directory(feed, at));
}

/* Reads as much of a member nobody asked for as a walk would, so that what follows is what a walk finds. */
static bool pass_by(struct extractor *extractor, struct member *member)
{
    struct unpacker *unpacker = extractor->level->unpacker;
    enum unpack_result result = unpack_head(unpacker, member);
    if (result != UNPACK_OK)
        return result != UNPACK_FAULT;
    bool ambiguous;
    if (probe(member->head, member->head_size, member->base, &ambiguous) != FORMAT_UNKNOWN) {
        uint8_t *data = NULL;
        size_t size;
        result = unpack_hold(unpacker, member, &data, &size);
        free(data);
    } else if (look_at_member(extractor, member).kind) {
        struct feed *feed = NULL;
        result = unpack_nest(unpacker, member, &feed);
        feed_close(feed);
    } else {
        result = unpack_measure(unpacker, member);
    }
    return result != UNPACK_FAULT;
}

static bool fail_member(const struct extractor *extractor, const struct member *member,
                        enum unpack_result result, struct error *err)
{
    if (result == UNPACK_FAULT)
        return extract_fault(extractor, err);
    return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s!%s: %s: %s", extractor->level->path, member->name,
                     container_reason_word(member->failure.reason), member->failure.message);
}

/* Goes on to the member of that address in the innermost archive, and reads its head. */
static bool find_member(struct extractor *extractor, bool streamed, const char *segment, size_t length,
                        struct member *member, struct error *err)
{
    struct level *level = extractor->level;
    size_t size;
    char *plain = address_unescape(segment, length, &size);
    char *wanted = plain ? address_escape(plain, size) : NULL; /* %c3 and a needless %41 are accepted */
    free(plain);
    if (!wanted)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    enum unpack_result result = unpack_next(level->unpacker, member);
    while (result > UNPACK_END && strcmp(member->name, wanted) != 0) {
        bool passed = !streamed || result == UNPACK_FAILED || pass_by(extractor, member);
        result = passed ? unpack_next(level->unpacker, member) : UNPACK_FAULT;
    }
    free(wanted);
    if (result == UNPACK_END) {
        const struct failure *failure = &level->unpacker->failure;
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s: no member %.*s%s%s", level->path, (int)length,
                         segment, failure->reason ? "; " : "", failure->message);
    }
    if (result == UNPACK_OK)
        result = unpack_head(level->unpacker, member);
    return result == UNPACK_OK || fail_member(extractor, member, result, err);
}

/* The member that was asked for, whole. */
static bool hand_out(struct extractor *extractor, struct member *member, struct extracted *item,
                     struct error *err)
{
    struct level *level = extractor->level;
    uint8_t *data = NULL;
    size_t size;
    bool again = member->again;
    enum unpack_result result = unpack_hold(level->unpacker, member, &data, &size);
    if (result != UNPACK_OK)
        return fail_member(extractor, member, result, err);
    if (bytes_item(item, data, size, member->base) == OUTCOME_FAULT || !address_member(level, member, item))
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    item->bytes = size;
    return recognise(again, item) || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* The opening of a member that is on the way to another one. */
static bool open_member(struct extractor *extractor, struct member *member, struct opening *opening,
                        struct error *err)
{
    opening->signature = look_at_member(extractor, member);
    opening->base = member->base;
    opening->again = member->again;
    if (is_too_deep(extractor, &member->failure))
        return fail_member(extractor, member, UNPACK_FAILED, err);
    enum unpack_result result = unpack_nest(extractor->level->unpacker, member, &opening->feed);
    if (result != UNPACK_OK)
        return fail_member(extractor, member, result, err);
    return level_find_parts(extractor, member->name, opening) || extract_fault(extractor, err);
}

/* Opens what `item` is about. Takes the feeds. */
static bool enter(struct extractor *extractor, struct opening *opening, struct extracted *item,
                  struct error *err)
{
    opening->path = item->path;
    enum outcome opened = OUTCOME_NONE;
    if (opening->signature.kind)
        opened = level_push(extractor, opening);
    else
        feed_close(opening->feed);
    if (opened == OUTCOME_FAULT)
        return extract_fault(extractor, err);
    if (opened == OUTCOME_NONE)
        return fail_address(err, ERROR_IO, item->path, "not an archive");
    extracted_free(item);
    return true;
}

/* Goes down through the members that `rest` names ("!a.zip!b") from what is opened first. Takes the feeds. */
static bool descend(struct extractor *extractor, struct opening opening, const char *rest,
                    struct extracted *item, struct error *err)
{
    for (;;) {
        bool streamed = opening.signature.kind == SIGNATURE_ZIP && !has_directory(opening.feed);
        if (!enter(extractor, &opening, item, err))
            return false;
        struct member member;
        size_t length = strcspn(rest + 1, "!");
        if (!find_member(extractor, streamed, rest + 1, length, &member, err))
            return false;
        rest += 1 + length;
        if (!*rest)
            return hand_out(extractor, &member, item, err);
        opening = (struct opening){.feed = NULL};
        if (!address_member(extractor->level, &member, item))
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        if (!open_member(extractor, &member, &opening, err)) {
            close_feeds(&opening);
            return false;
        }
    }
}

/* A plain file, whole. */
static bool hand_out_file(struct extractor *extractor, struct feed *feed, const char *base,
                          const char *address, struct extracted *item, struct error *err)
{
    enum outcome outcome = read_whole(extractor, feed, base, item);
    if (outcome == OUTCOME_ITEM && item->kind != EXTRACT_BYTES)
        return fail_address(err, ERROR_IO, address, item->message);
    return (outcome == OUTCOME_ITEM && recognise(false, item)) ||
           error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* The file itself, or what is inside it. */
static bool resolve(struct extractor *extractor, const char *address, char **name, struct extracted *item,
                    struct error *err)
{
    struct failure failure = {.reason = CONTAINER_REASON_NONE};
    const char *rest = address + strcspn(address, "!");
    int fd = open_first(address, name, &failure);
    if (fd < 0)
        return fail_address(err, ERROR_IO, address, failure.message);
    struct opening opening = {.feed = feed_file(fd, false), .base = base_of(*name)};
    const struct walk_entry entry = {.directory = AT_FDCWD, .name = *name, .is_input = true};
    item->path = address_of_input(*name);
    if (!opening.feed || !item->path) {
        feed_close(opening.feed);
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    if (!*rest) {
        bool found = hand_out_file(extractor, opening.feed, opening.base, address, item, err);
        feed_close(opening.feed);
        return found;
    }
    ssize_t n = feed_peek(opening.feed, 0, extractor->head, SIGNATURE_HEAD);
    opening.signature = look_at_file(opening.feed, extractor->head, n > 0 ? (size_t)n : 0);
    if (!file_find_parts(&entry, &opening)) {
        close_feeds(&opening);
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    return descend(extractor, opening, rest, item, err);
}

bool extract_address(const char *address, const struct extract_options *options, struct extracted *item,
                     struct error *err)
{
    struct extractor *extractor = extract_open(NULL, 0, options);
    memset(item, 0, sizeof *item);
    if (!extractor)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    extractor->by_address = true;
    char *name = NULL;
    bool found = resolve(extractor, address, &name, item, err);
    extract_close(extractor);
    free(name);
    if (!found)
        extracted_free(item);
    return found;
}
