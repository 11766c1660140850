/* unpack.h - one archive or disc image, member by member, whatever reads it.
 *
 * An unpacker gives members their unique addresses and brings in as much of each as its caller asks for: its
 * head, the whole of it, or its bytes as a feed, when it is an archive itself. What is wrong is a failure of
 * one member or of the whole. Links, devices and directories never come out as members. How bytes are found
 * is up to its kind: libarchive (extract_archive.c), a game partition (xdvdfs.c), a pack (ipfb.c); names,
 * limits and what is held are the same for all and live in unpack.c. An unpacker belongs to one thread at a
 * time.
 */
#ifndef ANCHORAGE_UNPACK_H
#define ANCHORAGE_UNPACK_H

#include "formats/buffer.h"
#include "pipeline/census.h"
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

    bool in_place;     /* its bytes lie in the archive's feed as they are, from `offset` on */
    uint64_t offset;   /* of in_place */
    bool again;        /* it is the whole image once more, to be read as what else it is: ISO 9660 */
    bool may_be_short; /* bytes that do not come are zeros: a sparse file may end with a hole */
    bool solid;        /* passing it by unpacks it all the same */
};

/* How a call about a member went. */
enum unpack_result {
    UNPACK_FAULT = -1, /* no memory, or the spool's disc (spool_error) */
    UNPACK_END = 0,    /* of unpack_next: no more members */
    UNPACK_OK = 1,
    UNPACK_FAILED = 2, /* member->failure says why */
};

/* What one input may become: bytes that came out of its archives, at all levels together. */
struct expansion {
    _Atomic uint64_t *pulse; /* moves with every block; NULL: nobody watches */
    uint64_t used, most;
    bool exceeded;
    bool by_ratio; /* what `most` comes from, and the limit's own value: for messages */
    uint64_t value;
};

struct unpack_limits {
    bool hashed;           /* whether hashes will be asked for: without, what is skipped need not be read */
    uint64_t member_bytes; /* of a member that is held whole */
    uint64_t members;      /* entries of any kind in one archive */
    struct spool
        *spool; /* NULL: archives in the archive are held in memory and are as large as a member may be */
    uint64_t spool_bytes; /* in use at a time */
    struct expansion *expansion;
};

/* For an archive in the archive that is larger the spool is used. */
#define UNPACK_IN_MEMORY ((size_t)64 << 20)
/* Bytes of names that are kept of one archive. */
#define UNPACK_NAMES_MOST ((size_t)1 << 30)

void unpack_close(struct unpacker *unpacker); /* NULL is legal */

/* The next member. UNPACK_FAILED: there is one, with its name, and its bytes are out of reach. */
enum unpack_result unpack_next(struct unpacker *unpacker, struct member *member);
/* Reads the member's beginning into member->head. */
enum unpack_result unpack_head(struct unpacker *unpacker, struct member *member);
/* After unpack_head: the whole member as malloc'ed bytes, the caller's. Past the limit it fails with
 * over-limit. */
enum unpack_result unpack_hold(struct unpacker *unpacker, struct member *member, uint8_t **data,
                               size_t *size);
/* After unpack_head: the whole member as a feed, the caller's, which is closed before the unpacker is asked
 * for anything else. */
enum unpack_result unpack_nest(struct unpacker *unpacker, struct member *member, struct feed **feed);
/* After unpack_head, of a member nobody wants: finds out its size, reading only when it is not announced. */
enum unpack_result unpack_measure(struct unpacker *unpacker, struct member *member);
/* The parts of a pack beside its index (ipfb.h), which is the member `name`: into parts[IPFB_PARTS], NULL
 * where there is none; all NULL before. They are the caller's also when the result is UNPACK_FAULT, and
 * closed before the unpacker. */
enum unpack_result unpack_parts(struct unpacker *unpacker, const char *name, struct feed **parts);
/* The hash of the archive. False with *failure set when it cannot be had. */
bool unpack_hash(struct unpacker *unpacker, struct hash *hash, struct failure *failure);

/* ---- for the kinds ----
 * A kind's own struct begins with a struct unpacker, made all zero but for what is said to be set at opening.
 */

struct unpack_kind {
    enum format_id format; /* of the archive's item */
    /* The next member into *member, which is all zero: named by unpack_name. */
    enum unpack_result (*next)(struct unpacker *unpacker, struct member *member);
    /* The member's next bytes into block, block_size and block_offset. UNPACK_END at its end. */
    enum unpack_result (*block)(struct unpacker *unpacker, struct member *member);
    /* See unpack_parts. NULL: there never are any. */
    enum unpack_result (*parts)(struct unpacker *unpacker, const char *name, struct feed **parts);
    /* The hash of the whole when it is more than the feed's; false with *failure set when it cannot be had.
     * NULL: the feed's. */
    bool (*hash)(struct unpacker *unpacker, struct hash *hash, struct failure *failure);
    /* Gives back what is its own, without the unpacker itself. */
    void (*close)(struct unpacker *unpacker);
};

struct unpacker {
    const struct unpack_kind *kind; /* set at opening */
    struct feed *feed;              /* set at opening; owned */
    struct unpack_limits limits;    /* set at opening */
    /* At the end: what is wrong with the archive beyond its members (reason NONE: nothing), FLAG_BAD_LINK or
     * 0, and how many links to other members were met. */
    struct failure failure;
    uint32_t flags;
    uint64_t links;
    uint64_t entries; /* of any kind, met so far */

    struct name_set names;
    char *base; /* of the current member */
    /* The current member: what has been copied so far, and a block that has not been yet. */
    struct buffer held;
    const uint8_t *block;
    size_t block_size;
    uint64_t block_offset;
    uint64_t delivered;
};

/* Gives the member its address and its own file name. `name` may hold any bytes; NULL or nothing: it is
 * unnamed-N, N counting entries. False when memory runs out. */
bool unpack_name(struct unpacker *unpacker, struct member *member, const char *name, size_t size);
/* Counts an entry of any kind. False, with the archive's failure set, when there may be no more. */
bool unpack_count(struct unpacker *unpacker);
/* Counts bytes that came out. False with *failure set when they are too many for the input. */
bool unpack_spend(struct unpacker *unpacker, uint64_t bytes, struct failure *failure);

#endif
