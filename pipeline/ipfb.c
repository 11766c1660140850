/* ipfb.c - see ipfb.h
 *
 * Big-endian. The index: 'IPFB', u32 count, u32 0x800, u32 0x10000000; from 0x10 on entries of u32 hash, u32
 * offset, u32 size, of which one with hash 0 is the end. The top 4 bits of an offset are the number of the
 * part, the others the place in it. There lies 'Z1', u32 length, u32 Adler-32 of the plain bytes, and a zlib
 * stream.
 */
#include "pipeline/ipfb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/reader.h"
#include "pipeline/gunzip.h"

#define HEADER_SIZE  16
#define ENTRY_SIZE   12
#define PAYLOAD_HEAD 10
/* What deflate can make of a byte, and some for the stream's own frame. */
#define DEFLATE_MOST 1032

struct entry {
    uint32_t hash, offset, size;
    uint32_t order; /* in the index, for a fixed order among equals */
};

struct pack {
    struct unpacker u;
    struct feed *parts[IPFB_PARTS];
    struct entry *entries;
    size_t count, next;
    /* the current member */
    struct feed *window;
    struct gunzip *gunzip;
    uint32_t checksum;
};

int ipfb_part_number(const char *index, const char *path)
{
    const char *slash = strrchr(index, '/'), *dot = strrchr(index, '.');
    size_t stem = dot && (!slash || dot > slash + 1) && dot != index ? (size_t)(dot - index) : strlen(index);
    size_t length = strlen(path);
    if (length != stem + 4 || strncasecmp(path, index, stem) != 0)
        return -1;
    const char *ending = path + stem;
    if (ending[0] != '.' || (ending[1] != 'p' && ending[1] != 'P') || ending[2] < '0' || ending[2] > '1' ||
        ending[3] < '0' || ending[3] > '9')
        return -1;
    int number = (ending[2] - '0') * 10 + ending[3] - '0';
    return number < IPFB_PARTS ? number : -1;
}

/* ---- the index ----------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool add_entry(struct pack *pack, size_t *room, const struct entry *entry)
{
    if (pack->count == *room) {
        size_t wider = *room ? *room * 2 : 256;
        struct entry *entries = realloc(pack->entries, wider * sizeof *entries);
        if (!entries)
            return false;
        pack->entries = entries;
        *room = wider;
    }
    pack->entries[pack->count++] = *entry;
    return true;
}

/* The entries up to the one that ends them. False when memory runs out. */
static bool read_entries(struct pack *pack, uint32_t count)
{
    uint8_t block[ENTRY_SIZE * 1024];
    struct feed *feed = pack->u.feed;
    size_t room = 0;
    for (uint64_t at = HEADER_SIZE; pack->count < count;) {
        ssize_t n = feed_peek(feed, at, block, sizeof block);
        struct error err = {0};
        struct reader r = reader_make(block, n > 0 ? (size_t)n : 0, at, "index", &err);
        if (n < 0)
            failure_take(&pack->u.failure, feed_failure(feed));
        do {
            struct entry entry = {.hash = reader_u32be(&r, "hash"), .order = (uint32_t)pack->count};
            entry.offset = reader_u32be(&r, "offset");
            entry.size = reader_u32be(&r, "size");
            if (!reader_ok(&r)) {
                failure_set(&pack->u.failure, CONTAINER_TRUNCATED, "the index ends at entry %zu of %u",
                            pack->count, count);
                return true;
            }
            if (!entry.hash || !unpack_count(&pack->u))
                return true;
            if (!add_entry(pack, &room, &entry))
                return false;
        } while (pack->count < count && reader_left(&r));
        at += (size_t)n;
    }
    return true;
}

static bool read_index(struct pack *pack)
{
    uint8_t header[HEADER_SIZE];
    struct error err = {0};
    ssize_t n = feed_peek(pack->u.feed, 0, header, sizeof header);
    struct reader r = reader_make(header, n > 0 ? (size_t)n : 0, 0, "header", &err);
    reader_skip(&r, 4);
    uint32_t count = reader_u32be(&r, "count"), align = reader_u32be(&r, "alignment"),
             part_size = reader_u32be(&r, "size of parts");
    if (!reader_ok(&r)) {
        failure_set(&pack->u.failure, CONTAINER_TRUNCATED, "%s", err.msg);
        return true;
    }
    if (align != 0x800 || part_size != 0x10000000) {
        failure_set(&pack->u.failure, CONTAINER_BAD_DIRECTORY,
                    "words 0x%x and 0x%x, not 0x800 and 0x10000000", align, part_size);
        return true;
    }
    if (!read_entries(pack, count))
        return false;
    if (pack->count)
        qsort(pack->entries, pack->count, sizeof *pack->entries, by_place);
    return true;
}

/* ---- members ------------------------------------------------------------------------------------------- */

/* Finds the payload and what it says of itself. */
static bool open_payload(struct pack *pack, const struct entry *entry, struct member *member)
{
    uint8_t head[PAYLOAD_HEAD];
    unsigned number = entry->offset >> 28;
    uint64_t offset = entry->offset & 0x0FFFFFFF;
    struct failure *failure = &member->failure;
    struct feed *part = pack->parts[number];
    struct error err = {0};
    if (!part) {
        failure_set(failure, CONTAINER_UNREADABLE, "the part .p%02u is missing", number);
        return false;
    }
    if (offset > feed_size(part) || entry->size > feed_size(part) - offset) {
        failure_set(failure, CONTAINER_TRUNCATED, "%u bytes from 0x%llx on; .p%02u has %llu", entry->size,
                    (unsigned long long)offset, number, (unsigned long long)feed_size(part));
        return false;
    }
    size_t want = entry->size < sizeof head ? entry->size : sizeof head;
    ssize_t n = feed_peek(part, offset, head, want);
    struct reader r = reader_make(head, n > 0 ? (size_t)n : 0, offset, "payload", &err);
    const uint8_t *magic = reader_bytes(&r, 2, "magic");
    member->size = reader_u32be(&r, "length");
    pack->checksum = reader_u32be(&r, "checksum");
    if (n < 0)
        failure_take(failure, feed_failure(part));
    else if (!reader_ok(&r))
        failure_set(failure, CONTAINER_TRUNCATED, "%s", err.msg);
    else if (memcmp(magic, "Z1", 2) != 0)
        failure_set(failure, CONTAINER_UNREADABLE, "packed in another way: %02x %02x, not 'Z1'", magic[0],
                    magic[1]);
    else if (member->size / DEFLATE_MOST > entry->size)
        failure_set(failure, CONTAINER_BAD_DIRECTORY, "%llu bytes out of %u",
                    (unsigned long long)member->size, entry->size);
    member->size_known = !failure->reason;
    return member->size_known;
}

static void close_payload(struct pack *pack)
{
    gunzip_free(pack->gunzip);
    feed_close(pack->window);
    pack->gunzip = NULL;
    pack->window = NULL;
}

static enum unpack_result next_member(struct unpacker *u, struct member *member)
{
    struct pack *pack = (struct pack *)u;
    char name[16];
    close_payload(pack);
    if (pack->next == pack->count)
        return UNPACK_END;
    const struct entry *entry = &pack->entries[pack->next++];
    int length = snprintf(name, sizeof name, "%08x", entry->hash);
    if (!unpack_name(u, member, name, (size_t)length))
        return UNPACK_FAULT;
    if (!open_payload(pack, entry, member))
        return UNPACK_FAILED;
    uint64_t start = (entry->offset & 0x0FFFFFFF) + PAYLOAD_HEAD;
    struct feed *part = pack->parts[entry->offset >> 28];
    pack->window = feed_window(part, start, entry->size - PAYLOAD_HEAD, false);
    pack->gunzip = pack->window ? gunzip_new_zlib(pack->window) : NULL;
    return pack->gunzip ? UNPACK_OK : UNPACK_FAULT;
}

static enum unpack_result next_block(struct unpacker *u, struct member *member)
{
    struct pack *pack = (struct pack *)u;
    ssize_t n = gunzip_read(pack->gunzip, &u->block, &member->failure);
    if (n < 0)
        return UNPACK_FAILED;
    u->block_size = (size_t)n;
    u->block_offset = u->delivered;
    if (u->block_size > member->size - u->delivered) {
        failure_set(&member->failure, CONTAINER_BAD_DIRECTORY, "unpacks to more than its %llu bytes",
                    (unsigned long long)member->size);
        return UNPACK_FAILED;
    }
    if (n > 0)
        return unpack_spend(u, u->block_size, &member->failure) ? UNPACK_OK : UNPACK_FAILED;
    if (u->delivered == member->size && gunzip_checksum(pack->gunzip) != pack->checksum) {
        failure_set(&member->failure, CONTAINER_BAD_CRC, "Adler-32 %08x, not %08x",
                    gunzip_checksum(pack->gunzip), pack->checksum);
        return UNPACK_FAILED;
    }
    return UNPACK_END;
}

/* Equal indices with other parts are other contents: the hash is that of all hashes. */
static bool hash_pack(struct unpacker *u, struct hash *hash, struct failure *failure)
{
    struct pack *pack = (struct pack *)u;
    struct hash hashes[1 + IPFB_PARTS] = {0};
    if (!feed_hash(u->feed, &hashes[0])) {
        failure_take(failure, feed_failure(u->feed));
        return false;
    }
    for (size_t i = 0; i < IPFB_PARTS; i++)
        if (pack->parts[i] && !feed_hash(pack->parts[i], &hashes[1 + i])) {
            failure_take(failure, feed_failure(pack->parts[i]));
            return false;
        }
    *hash = hash_bytes(hashes, sizeof hashes);
    return true;
}

static void close_pack(struct unpacker *u)
{
    struct pack *pack = (struct pack *)u;
    close_payload(pack);
    for (size_t i = IPFB_PARTS; i-- > 0;)
        feed_close(pack->parts[i]);
    free(pack->entries);
}

static const struct unpack_kind ipfb_kind = {
    .format = FORMAT_ARCHIVE,
    .next = next_member,
    .block = next_block,
    .hash = hash_pack,
    .close = close_pack,
};

struct unpacker *unpack_ipfb(struct feed *feed, struct feed *parts[static IPFB_PARTS],
                             const struct unpack_limits *limits)
{
    struct pack *pack = calloc(1, sizeof *pack);
    if (!pack) {
        for (size_t i = IPFB_PARTS; i-- > 0;)
            feed_close(parts[i]);
        feed_close(feed);
        return NULL;
    }
    pack->u.kind = &ipfb_kind;
    pack->u.feed = feed;
    pack->u.limits = *limits;
    memcpy(pack->parts, parts, sizeof pack->parts);
    if (read_index(pack))
        return &pack->u;
    unpack_close(&pack->u);
    return NULL;
}
