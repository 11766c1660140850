/* extract_archive.h - one archive, member by member: libarchive behind a small, strict interface.
 *
 * An unpacker reads one archive, or one compressed file, which is an archive of one member. It gives members
 * their unique addresses, brings in as much of each as its caller asks for, and turns what libarchive says
 * into failures of one member or of the whole. Links, devices and directories never come out as members. An
 * unpacker belongs to one thread at a time. Names need LC_CTYPE to be a UTF-8 locale (main sets C.UTF-8).
 */
#ifndef ANCHORAGE_EXTRACT_ARCHIVE_H
#define ANCHORAGE_EXTRACT_ARCHIVE_H

#include "pipeline/signature.h"
#include "pipeline/feed.h"

struct unpacker;

struct member {
    const char *name; /* unique in the archive, in address form; lives as long as the unpacker */
    const char *base; /* its own file name, unescaped; until the next unpack_next */
    bool size_known;
    uint64_t size; /* as announced */
    struct failure failure;
    const uint8_t *head; /* by unpack_head; good until the next call */
    size_t head_size;    /* at least SIGNATURE_HEAD, unless it is the whole */
};

/* How a call about a member went. */
enum unpack_result {
    UNPACK_NOMEM = -1,
    UNPACK_END = 0, /* of unpack_next: no more members */
    UNPACK_OK = 1,
    UNPACK_FAILED = 2, /* member->failure says why */
};

/* Opens what `signature` was found in; takes the feed. `base` is the file's own name, from which the member
 * of a compressed file has its name; it must outlive the unpacker. NULL with *nomem false when the evidence
 * was weak and there is no archive after all; an archive that is one but cannot be read opens, and says so at
 * its end. */
struct unpacker *unpack_open(struct feed *feed, struct signature signature, const char *base,
                             uint64_t member_limit, bool *nomem);
void unpack_close(struct unpacker *unpacker); /* NULL is legal */

/* The next member. UNPACK_FAILED: there is one, with its name, and its bytes are out of reach. */
enum unpack_result unpack_next(struct unpacker *unpacker, struct member *member);
/* Reads the member's beginning into member->head. */
enum unpack_result unpack_head(struct unpacker *unpacker, struct member *member);
/* After unpack_head: the whole member as malloc'ed bytes, the caller's. Past the limit it fails with
 * over-limit. */
enum unpack_result unpack_hold(struct unpacker *unpacker, struct member *member, uint8_t **data,
                               size_t *size);
/* After unpack_head, of a member nobody wants: finds out its size, reading only when it is not announced. */
enum unpack_result unpack_measure(struct unpacker *unpacker, struct member *member);

/* At the end: what is wrong with the archive beyond its members (reason NONE: nothing), FLAG_BAD_LINK or 0,
 * and how many links to other members were met. */
const struct failure *unpack_failure(const struct unpacker *unpacker);
uint32_t unpack_flags(const struct unpacker *unpacker);
uint64_t unpack_links(const struct unpacker *unpacker);
struct feed *unpack_feed(const struct unpacker *unpacker);

#endif
