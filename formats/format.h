/* format.h - what a decoder makes of one container, and how decoders are found.
 *
 * A decoder is pure: bytes in, a struct container out, everything in the caller's arena; no I/O, no threads,
 * no globals. It never fails because of its input: what is wrong is recorded with the item it is wrong
 * with (status, reason, error), and the rest is decoded. Only memory running out makes it return false.
 */
#ifndef ANCHORAGE_FORMAT_H
#define ANCHORAGE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "mesh.h"

/* Numbers of these enums are written into stores: append, never renumber. */
enum format_id {
    FORMAT_UNKNOWN = 0,
    FORMAT_ARCHIVE = 1, /* read by pipeline/extract.c, not by a decoder */
    FORMAT_XDVDFS = 2,
    FORMAT_XPR2 = 3,
    FORMAT_BGF = 4,
    FORMAT_BMF = 5,
    FORMAT_MESHBIN = 6,
    FORMAT_XBG7 = 7, /* of resources: geometry inside an XPR2 container */
    FORMAT_COUNT
};

enum container_status { CONTAINER_READ = 0, CONTAINER_DAMAGED = 1, CONTAINER_SKIPPED = 2 };

enum container_reason {
    CONTAINER_REASON_NONE = 0,
    CONTAINER_ENCRYPTED,
    CONTAINER_TRUNCATED,
    CONTAINER_BAD_CRC,
    CONTAINER_BAD_DIRECTORY,
    CONTAINER_OVER_LIMIT,
    CONTAINER_TOO_DEEP,
    CONTAINER_UNREADABLE,
    CONTAINER_CRASHED,
    CONTAINER_TIMED_OUT,
    CONTAINER_QUARANTINED,
    CONTAINER_ASCII_VARIANT,
    CONTAINER_REASON_COUNT
};

enum resource_status {
    RESOURCE_DECLINED = 0,
    RESOURCE_DECODED = 1,  /* its place is addressed by the format */
    RESOURCE_PROVEN = 2,   /* located: content proof, or a unique candidate with exact evidence */
    RESOURCE_ASSIGNED = 3, /* located: the best of several, with its margin */
    RESOURCE_AMBIGUOUS = 4,
    RESOURCE_STATUS_COUNT
};

/* In the order of precedence: the first that applies is the reason. */
enum decline_reason {
    DECLINE_NONE = 0,
    DECLINE_TRUNCATED,
    DECLINE_BAD_DIRECTORY,
    DECLINE_BAD_DESCRIPTOR,
    DECLINE_NO_MARKER,
    DECLINE_NO_DECLARATION,
    DECLINE_UNKNOWN_ELEMENT,
    DECLINE_NO_CANDIDATE,
    DECLINE_TOO_WEAK,
    DECLINE_OUT_OF_RANGE_INDEX,
    DECLINE_DOES_NOT_CLOSE,
    DECLINE_ASCII_VARIANT,
    DECLINE_UNKNOWN_VERSION,
    DECLINE_BAD_SKELETON,
    DECLINE_OVER_LIMIT,
    DECLINE_REASON_COUNT
};

/* Facts worth telling that change no status; one bit each, of a container or of a resource. */
enum flag {
    FLAG_NON_FINITE,          /* "non-finite": a NaN or infinity among the stored values */
    FLAG_EFFECT,              /* "effect": a BGF of spheres or points only */
    FLAG_BAD_PMESH,           /* "bad-pmesh": a PMESH was dropped, an index leaves its vertex block */
    FLAG_INFERRED_CONTAINER,  /* "inferred-container": an unknown structural tag walked as a container */
    FLAG_OVER_ENGINE_LIMIT,   /* "over-engine-limit": more faces or bones than the console loads */
    FLAG_TRAILING_BYTES,      /* "trailing-bytes": more bytes than the counts need */
    FLAG_LEGACY,              /* "legacy": a MESHBIN older than its magic */
    FLAG_AMBIGUOUS_VARIANT,   /* "ambiguous-variant": more than one layout closes */
    FLAG_EARLY_FORM,          /* "early-form": a versioned MESHBIN in the version's first layout */
    FLAG_LEGACY_BASE,         /* "legacy-base": an XPR2 whose offsets count from 0x10 */
    FLAG_TEXTURE_OUT_OF_DATA, /* "texture-out-of-data": a texture leaves the data section */
    FLAG_TEXTURE_OVERLAP,     /* "texture-overlap": two textures overlap without being equal */
    FLAG_AMBIGUOUS_FORMAT,    /* "ambiguous-format": two formats recognise it equally */
    FLAG_ROUNDED,             /* "rounded": an integer coordinate has no exact f32 */
    FLAG_BAD_LINK,            /* "bad-link": an archive member with a link or device in place of bytes */
    FLAG_PARTIAL,             /* "partial": an archive of which some shards have not been merged */
    FLAG_COUNT
};
#define FLAG_BIT(flag) (UINT32_C(1) << (flag))

/* The words the program's JSON uses; NULL for ..._NONE. */
const char *format_word(enum format_id id);
const char *container_status_word(enum container_status status);
const char *container_reason_word(enum container_reason reason);
const char *resource_status_word(enum resource_status status);
const char *decline_reason_word(enum decline_reason reason);
const char *flag_word(enum flag flag);

/* One index and vertex buffer pair in a container; offsets in bytes from the container's start. */
struct buffer_place {
    uint64_t index_offset, vertex_offset;
    uint32_t index_count, vertex_count, stride;
};

/* What a part of the mesh is called and belongs to. Strings are the file's bytes, NULL where the format says
 * nothing. */
struct part_info {
    const char *material;      /* BGF: "library:material" of SV_F_MATERIAL; the front face */
    const char *back_material; /* BGF: SV_B_MATERIAL */
    const char *special;       /* BGF: SV_SPECIAL verbatim */
    uint32_t object, lod;      /* into resource.objects and resource.lods */
    uint32_t patch;            /* counts the patches of the whole resource: parts of one patch share it */
    bool faceted, decal;
};

struct object_info {
    const char *name; /* NULL when it has none */
};

struct lod_info {
    uint32_t object;
    bool implicit; /* the OBJECT has patches outside any LOD, or no LOD chunk at all */
    bool has_distance;
    float in, out;
    uint32_t triangles; /* sum over its parts */
};

/* A string leaf of a BMF material, by the tag it was found under. */
struct tagged_string {
    uint32_t tag;
    const char *text;
};

/* A named entry of a BMF library. */
struct material_info {
    const char *name;
    uint32_t tag; /* of the container it is */
    bool inferred;
    uint32_t string_count;
    struct tagged_string *strings;
};

/* One element of a vertex declaration. */
struct vertex_element {
    uint16_t offset; /* bytes from the start of the vertex */
    uint8_t usage, usage_index;
    uint32_t format; /* the whole code */
    uint8_t size;    /* bytes; 0: a number outside the table, skipped */
};

/* What an XBG7 descriptor says of one buffer pair (formats/xbg7.md, "Buffer marker"). */
struct xbg7_marker {
    uint32_t offset; /* of the marker word in the descriptor */
    uint32_t vertex_count, index_count;
    uint32_t fetch0, fetch1; /* words m-40 and m-36, 0 where the descriptor does not reach */
    uint32_t stride;
    uint32_t element_count;
    struct vertex_element *elements;
    uint32_t draw_count; /* at least 1: a buffer without fitting records is one draw */
    struct xbg7_draw {
        uint32_t vertex_count, index_count;
    } * draws;
};

/* What was measured of a place where a resource's geometry may lie (formats/anchor.md gives the weights).
 * Counts are sums over its buffers. */
struct anchor_evidence {
    uint32_t vertices, triangles;
    uint32_t short_of_top;    /* buffers whose greatest index is not vertex_count - 1 */
    uint32_t unreferenced;    /* vertices that no index names */
    uint32_t normals, unit;   /* vertices that have a normal; those of length about 1 */
    uint32_t faces, agreeing; /* triangles sampled; those whose side the stored normals are on */
    uint32_t degenerate;      /* triangles that name a vertex twice */
    uint32_t nonsense;        /* positions that no modeller stores: denormal, not finite, astronomic */
    int8_t run_start,
        run_end; /* 1: the run of unit normals begins (ends) with the buffer; -1: it goes on; 0: no normals */
    int8_t index_start; /* -1: small words in front of the indices, as of a longer list; 1: none */
    int8_t stated;      /* 1: the descriptor's words give this layout; 0: they say nothing */
    int8_t
        size_match; /* 1: the stored size is this one's; -1: it is not; -2: it is far from it; 0: not known */
    uint8_t layout; /* enum anchor_layout */
    float coherence;         /* length of a triangle's edge over the distance of two random vertices */
    float extent[3], radius; /* of all positions; radius: the greatest distance from the origin */
    float size_odds;         /* natural-log odds of that, by how often the container's sizes fit */
    float locality;          /* natural-log odds from where the descriptor's neighbours lie */
};

/* One place where a resource's geometry may lie. */
#define CANDIDATE_LEAD 16
struct candidate {
    /* The last bytes in front of the block, as far as the data section has them: lead[CANDIDATE_LEAD -
     * lead_size] on. */
    uint8_t lead[CANDIDATE_LEAD], lead_size;
    /* Candidates of one number hold one answer: equal bytes, or positions reflected in x; 0: not known. */
    uint8_t answer;
    struct buffer_place *buffers; /* [resource.marker_count] */
    double score;                 /* natural-log odds against chance */
    struct anchor_evidence evidence;
    const struct mesh *mesh; /* of ambiguous resources; NULL otherwise */
};

/* What the bytes of an XPR2 data section are. Numbers are written into stores. */
enum coverage_kind {
    COVERAGE_OTHER = 0,
    COVERAGE_TEXTURE = 1,
    COVERAGE_INDEX = 2,  /* claimed by a proven or assigned resource */
    COVERAGE_VERTEX = 3, /* likewise */
    COVERAGE_PADDING = 4,
    COVERAGE_VERTEX_LIKE = 5, /* unclaimed, and a run of unit normals */
    COVERAGE_INDEX_LIKE = 6,  /* unclaimed, and small words */
    COVERAGE_KIND_COUNT
};

/* "texture", "vertex-like" ... */
const char *coverage_kind_word(enum coverage_kind kind);

struct coverage_run {
    uint64_t start, end; /* bytes from the container's start, half-open */
    enum coverage_kind kind;
};

/* One geometry resource. */
struct resource {
    enum format_id format;
    uint32_t index;   /* position in the container's directory, textures counted; 0 without a directory */
    const char *name; /* the directory's; NULL: the format has none, the member's file name serves */
    enum resource_status status;
    enum decline_reason reason;
    struct error error; /* why it was declined and where; of an ambiguous one why or what else it may be; else
                           ERROR_NONE */
    double score, margin;         /* natural-log odds; 0 for addressed formats */
    uint32_t flags;               /* FLAG_BIT(...) */
    uint32_t vertices, triangles; /* decoded; of a declined resource what it declares, or 0 */
    struct bounds bounds;
    const char *variant; /* which layout of several, or NULL: a word such as "legacy-a" */

    const struct mesh *mesh; /* NULL when there is none */
    struct part_info *parts; /* [part_count]; NULL when nothing is said of the mesh's parts */
    uint32_t part_count;     /* mesh->part_count when there are infos, else 0; set by format_decode */
    uint32_t object_count, lod_count, material_count, marker_count, buffer_count, node_count;
    struct object_info *objects;
    struct lod_info *lods;
    struct material_info *materials; /* BMF: the library's entries */
    const char **nodes;              /* XBG7: strings of the descriptor that may be node or material names */
    struct xbg7_marker *markers;
    struct buffer_place *buffers; /* where it was located; empty for addressed formats */
    /* XBG7: where it may lie, best score first, then least offset; the chosen one among them. Declined
     * resources may have some too. */
    uint32_t candidate_count, candidates_dropped, chosen;
    struct candidate *candidates;
};

/* A texture of an XPR2 directory (formats/xpr2.md). Offsets in bytes from the container's start. */
struct texture {
    uint32_t index; /* in the directory */
    const char *name;
    bool valid; /* false: the descriptor could not be read; `error` says why */
    struct error error;
    uint32_t width, height, depth, format, dimension;
    bool tiled, contested; /* contested: contradicts itself or another texture; no wall */
    uint64_t base_offset, base_size, mip_offset, mip_size; /* sizes 0: absent */
};

/* How often an unknown or skipped tag was met. */
struct tag_count {
    char tag[8]; /* "TXCM", "0x2099"; NUL-terminated */
    uint32_t count;
};

struct container {
    enum format_id format;
    enum container_status status;
    enum container_reason reason;
    struct error error; /* what is damaged, where */
    uint32_t flags;
    uint64_t data_offset, data_size; /* XPR2: the data section, clipped to the file; else 0, 0 */
    uint32_t resource_count, texture_count, tag_count_count;
    struct resource *resources; /* in directory order */
    struct texture *textures;
    struct tag_count *tag_counts; /* sorted by tag */
    uint32_t coverage_count;
    struct coverage_run *coverage; /* XPR2: the data section, every byte once, in order */
};

/* What a decoder is given: the container's bytes, and the member's own file name for the few rules that need
 * it (never NULL). */
struct input {
    const uint8_t *data;
    size_t size;
    const char *name;
};

struct format {
    enum format_id id;
    uint32_t version; /* of the decoder: results of another one are stale */
    /* Evidence in bits that the bytes are this format: a magic of 4 bytes is 32. 0: they are not. Consumes
     * and keeps nothing. */
    unsigned (*probe)(const struct input *in);
    /* Fills *out, which is zeroed. False only when memory runs out. */
    bool (*decode)(const struct input *in, struct arena *arena, struct container *out);
};

/* The decoder that recognises the input best, NULL when none does. When another one recognises it equally
 * well *ambiguous is set and the first in the registry is returned. */
const struct format *format_probe(const struct input *in, bool *ambiguous);

/* Decodes with the given decoder, or declares `out` unknown when `format` is NULL; *out need not be
 * initialised. Counts, bounds and the non-finite flag of resources that have a mesh are filled in here, once
 * for all formats. False only when memory runs out. */
bool format_decode(const struct format *format, const struct input *in, struct arena *arena,
                   struct container *out);

/* The decoders in registry order, and how many there are. */
const struct format *const *format_all(size_t *count);

/* Whether the file name ends in `ending` (with its dot), case ignored. */
bool name_has_ending(const char *name, const char *ending);

/* Marks a resource declined; false so that it can be returned. The error is what `err` holds. */
bool resource_decline(struct resource *resource, enum decline_reason reason, const struct error *err);

#endif
