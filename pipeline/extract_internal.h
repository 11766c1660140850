/* extract_internal.h - what a walk through inputs (extract.c) and the way to one address (extract_address.c)
 * share: the stack of open archives, and how items are filled. */
#ifndef ANCHORAGE_EXTRACT_INTERNAL_H
#define ANCHORAGE_EXTRACT_INTERNAL_H

#include "pipeline/census.h"
#include "pipeline/extract.h"
#include "pipeline/ipfb.h"
#include "pipeline/signature.h"
#include "pipeline/unpack.h"
#include "pipeline/walk.h"

/* An archive that is open. */
struct level {
    struct level *outer;
    unsigned depth; /* archives around it */
    struct unpacker *unpacker;
    char *path, *base;
    bool is_input;
    bool again; /* the image around it once more */
    int64_t mtime_ns;
    bool in_parts, foreign;              /* see struct extracted */
    uint64_t first_failed, place_failed; /* places of the members that `failure` and `by_place` are about */
    uint64_t member_count, readable;     /* readable: members whose bytes were had, or could have been */
    struct failure failure;              /* of the first member that failed */
    struct failure by_place; /* of the first that failed for where it lies: then the archive has, too */
    struct census census;
};

struct extractor {
    struct extract_options options;
    struct walk *walk;
    struct level *level;
    bool by_address;            /* one member is wanted: no hashes */
    struct expansion expansion; /* of the input being read */
    uint8_t *head;              /* SIGNATURE_HEAD bytes of scratch */
    uint64_t done, total;
    uint64_t file, member; /* the current plain file, counted from 1, and members met in it */
};

/* What an item turned out to be. */
enum outcome {
    OUTCOME_FAULT = -1, /* no memory, or the spool's disc */
    OUTCOME_NONE = 0,   /* nothing to hand out; go on */
    OUTCOME_ITEM = 1,
};

/* What an archive is opened from. */
struct opening {
    struct feed *feed;
    struct signature signature;
    const char *path, *base;
    bool again;                     /* see struct member */
    struct feed *parts[IPFB_PARTS]; /* of a pack */
};

/* Opens an archive on top of the others; takes the feeds. OUTCOME_ITEM: it is open; OUTCOME_NONE: it is no
 * archive after all. */
enum outcome level_push(struct extractor *extractor, const struct opening *opening);
void level_pop(struct extractor *extractor);
/* The parts of the pack `opening` is about, which is the member `name` of the innermost archive. */
bool level_find_parts(struct extractor *extractor, const char *name, struct opening *opening);
/* The parts of a plain file. */
bool file_find_parts(const struct walk_entry *entry, struct opening *opening);

/* Closes the feeds of one that does not come to be. */
void close_feeds(const struct opening *opening);

/* Whether the innermost archive's members are too deep to be opened; *failure then says so. */
bool is_too_deep(const struct extractor *extractor, struct failure *failure);
/* What a file's bytes show; `head` are its first ones. */
struct signature look_at_file(struct feed *feed, const uint8_t *head, size_t size);
/* What a member's head shows, NONE when it is not worth opening. */
struct signature look_at_member(const struct extractor *extractor, const struct member *member);

/* The decoder for some bytes, which may be only a head; FORMAT_UNKNOWN when there is none. */
enum format_id probe(const uint8_t *data, size_t size, const char *name, bool *ambiguous);
enum outcome fail_item(struct extracted *item, const struct failure *failure);
/* Hands out bytes that are held whole. They are probed again: a head may have promised more. Takes `data`. */
enum outcome bytes_item(struct extracted *item, uint8_t *data, size_t size, const char *base);
/* Gives the item the member's address. False when memory runs out. */
bool address_member(const struct level *level, const struct member *member, struct extracted *item);
/* Reads a whole file and makes sure that it did not change meanwhile. The feed stays the caller's. */
enum outcome read_whole(struct extractor *extractor, struct feed *feed, const char *base,
                        struct extracted *item);

/* The last component of a path that is no address. */
const char *base_of(const char *path);
/* What OUTCOME_FAULT was about; always false. */
bool extract_fault(const struct extractor *extractor, struct error *err);

#endif
