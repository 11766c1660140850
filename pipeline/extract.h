/* extract.h - inputs in, the bytes of every member out, one after the other in a fixed order.
 *
 * An extractor walks its inputs: directories (entries in byte order of their names), plain files, archives of
 * every format and filter libarchive reads without starting a program, images of game discs and the packs on
 * them, archives inside archives, and lone compressed files. It is an iterator, so whoever drives it decides
 * how much is in flight. Nothing is ever written to disk but the spool. libarchive is known to
 * extract_archive.c alone. An extractor belongs to one thread at a time.
 *
 * Which links are followed, how members are named and what counts as damaged: docs/addresses.md; images:
 * docs/images.md. Member names need LC_CTYPE to be a UTF-8 locale.
 */
#ifndef ANCHORAGE_EXTRACT_H
#define ANCHORAGE_EXTRACT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "pipeline/spool.h"
#include "store/record.h"

/* Of the rules by which members are found and named; part of an archive's result. */
#define EXTRACT_VERSION 4

/* What an input may cost. One that is hit is an outcome, over-limit or too-deep, whose message names the
 * option of `run` and its value. 0: no limit, but of depth. Outcomes depend on nothing but the input and
 * these. */
struct extract_limits {
    unsigned depth;        /* archives around an archive that is still opened */
    uint64_t member_bytes; /* of a container, which is held whole; of archives in archives without a spool */
    uint64_t members;      /* entries of any kind in one archive */
    uint64_t expanded_bytes; /* that come out of the archives of one input, at all levels together */
    uint64_t ratio;          /* the same as a multiple of the input's size; never less than 64 MiB */
    uint64_t spool_bytes;    /* archives in archives that are on disk at a time */
    uint64_t seconds;        /* for one input; whoever sets `enter` holds it */
};
#define EXTRACT_LIMITS_DEFAULT                                                                               \
    (struct extract_limits)                                                                                  \
    {                                                                                                        \
        .depth = 8, .member_bytes = UINT64_C(4) << 30, .members = UINT64_C(4) << 20,                         \
        .expanded_bytes = UINT64_C(256) << 30, .ratio = 2000, .spool_bytes = UINT64_C(32) << 30,             \
        .seconds = 3600                                                                                      \
    }

enum extract_kind {
    EXTRACT_BYTES,     /* content to be recognised and decoded: `data` and `size` are its whole bytes */
    EXTRACT_ARCHIVE,   /* the end of an archive or image: its own outcome, after all its members */
    EXTRACT_UNKNOWN,   /* a plain file that is no known container */
    EXTRACT_FAILED,    /* something whose bytes could not be had */
    EXTRACT_UNCHANGED, /* a plain file the caller's `unchanged` vouched for; not read */
};

/* What may be one shard's work, when several share it (pipeline/shard.h): addresses, and sizes as far as
 * known. */
enum piece_kind {
    PIECE_FILE,    /* a plain file, before it is opened */
    PIECE_ARCHIVE, /* the record of one that SHARE_MEMBERS was answered to; all of it, if it cannot be shared
                    */
    PIECE_MEMBER,  /* of such an archive */
};
struct extract_piece {
    enum piece_kind kind;
    const char *path;   /* of the plain file */
    const char *member; /* PIECE_MEMBER: its name; its address is path!member */
    uint64_t ordinal;   /* PIECE_MEMBER: its place among the members, from 0 */
    uint64_t bytes;
    bool is_input;
};
enum extract_share {
    SHARE_NONE,  /* somebody else's */
    SHARE_WHOLE, /* mine, with all that is in it */
    /* Of a PIECE_FILE: to be entered member by member, if it is an archive whose members can be passed over
     * without reading them: a zip with a directory, a plain tar, a disc image. */
    SHARE_MEMBERS,
};

struct extracted {
    enum extract_kind kind;
    char *path;        /* its address (pipeline/address.h); owned */
    char *parent_path; /* of the archive it is in; NULL for a plain file. owned */
    char *name;    /* EXTRACT_BYTES: its own file name for decoders (struct input): unescaped, no ~2. owned */
    bool is_input; /* named by the caller itself */
    enum format_id
        format; /* as probed; FORMAT_ARCHIVE or FORMAT_XDVDFS also of one that failed; else unknown */
    bool ambiguous_format;
    uint8_t *data; /* EXTRACT_BYTES: owned, from malloc; never NULL, also when size is 0 */
    size_t size;
    uint64_t bytes;   /* the length of what it is, whether read or not */
    int64_t mtime_ns; /* of a plain file, else 0 */
    struct hash
        hash; /* EXTRACT_ARCHIVE: of the archive's bytes. EXTRACT_BYTES: zero, for the caller to compute */
    enum container_status
        status; /* EXTRACT_ARCHIVE; EXTRACT_FAILED: skipped, or damaged when members were had */
    enum container_reason reason;
    char message[200];
    uint32_t flags;
    char magic[9], ending[24]; /* EXTRACT_UNKNOWN; see struct census_row */
    /* EXTRACT_ARCHIVE */
    uint64_t member_count;     /* files and hard links met */
    uint64_t file;             /* which plain file of the walk it is, or came out of; counted from 0 */
    struct census_row *census; /* members no decoder knows; sorted; owned, one block with its strings */
    uint32_t census_count;
    char *images; /* names of members that look like images (store/image_names.h); owned; NULL: too many */
    /* Of an archive that was entered member by member: counts and outcome are those of the members that were
     * this shard's. `foreign`: the archive's own record is another shard's, and hash is zero. */
    bool in_parts, foreign;
    uint64_t readable;     /* members whose bytes were had */
    uint64_t first_failed; /* place of the member whose failure is told; UINT64_MAX: none's */
    /* What was met that is about where the archive lies and not about what it is (struct failure), and the
     * place of that member; reason NONE: nothing. */
    enum container_reason place_reason;
    uint64_t place_failed;
    char place_message[200];
};
/* Gives back what it owns. NULL is legal. */
void extracted_free(struct extracted *item);
/* Gives back only `data`; size and the rest stay. */
void extracted_free_data(struct extracted *item);

/* What the extraction is about to do: look at a plain file and open it, look for an archive's next member, or
 * read a member. A step is named by its file and by the members that were met in that file so far, at all
 * depths; on the same bytes the same steps come in the same order. */
enum extract_step { EXTRACT_OPEN, EXTRACT_NEXT, EXTRACT_MEMBER };

struct failure; /* feed.h */

struct extract_options {
    struct extract_limits limits;
    /* Asked before each step: false with *failure set when it shall not be taken. The file, member or rest of
     * the archive then has that failure, whatever else is wrong with it. NULL: all steps are taken. `name` is
     * for messages. */
    bool (*enter)(enum extract_step step, uint64_t file, uint64_t member, const char *name,
                  struct failure *failure, void *ctx);
    /* Moves with every block that is read or unpacked, also within a step that takes long. NULL: nobody
     * watches. */
    _Atomic uint64_t *pulse;
    uint64_t first_file; /* the first of the walk to be looked at, counted from 0 */
    /* Opens the next input: walk_open_inputs. Their total is then not counted. NULL: they are opened by name.
     */
    int (*open_input)(void *ctx, int *why);
    /* For archives in archives that are large; the caller's, and this extractor's alone while it lives. NULL:
     * they are held in memory. */
    struct spool *spool;
    /* Asked before a plain file is opened: true when its size and mtime are those of an earlier read, so that
     * it need not be read. NULL: never. */
    bool (*unchanged)(const char *path, uint64_t size, int64_t mtime_ns, void *ctx);
    /* Asked whose each piece is. NULL: all is this extractor's. */
    enum extract_share (*share)(const struct extract_piece *piece, void *ctx);
    /* [count of inputs]: inputs that an earlier walk found, so that nobody named them (is_input is false),
     * and that may be gone by now. NULL: none. */
    const bool *walked;
    void *ctx;
};

struct extractor;
/* `inputs` are paths as the user gave them; they must outlive the extractor. NULL when memory runs out. */
struct extractor *extract_open(const char *const *inputs, size_t count,
                               const struct extract_options *options);
/* The next item: true with *item filled (the caller frees it), false at the end or, with err->code set, when
 * memory or the spool's disc runs out. What is wrong with an input is an item, never an error. */
bool extract_next(struct extractor *extractor, struct extracted *item, struct error *err);
void extract_close(struct extractor *extractor); /* NULL is legal */

/* For a progress line: compressed bytes consumed of the plain files so far, and their total as far as it is
 * known (0: not counted yet). */
void extract_progress(const struct extractor *extractor, uint64_t *done, uint64_t *total);

/* How many bytes there are to read, 0 when the tree is so large that finding out takes its own while. Looks
 * at every file. */
uint64_t extract_total(const char *const *inputs, size_t count, const bool *walked);

/* Opens one address (`disc.zip!a/b.xpr`, without #...) directly, reading only the archives on the way, and of
 * an image only its folders: an item of kind EXTRACT_BYTES whatever it is, its format FORMAT_ARCHIVE or
 * FORMAT_XDVDFS for an archive or image and FORMAT_UNKNOWN for content that no decoder knows. False with *err
 * set when there is no such thing or it cannot be read. */
bool extract_address(const char *address, const struct extract_options *options, struct extracted *item,
                     struct error *err);

#endif
