/* resolved.h - records of the global passes: outcomes, findings, captures, census.
 *
 * What a decoder said of a resource stays as it is in its resource record. What the passes over the whole
 * store made of it is a record beside it, so that they can be run again from the decoder's word at any time,
 * and both can be shown. Layouts: store/README.md, "Records". Reading and writing as in record.h.
 */
#ifndef ANCHORAGE_RESOLVED_H
#define ANCHORAGE_RESOLVED_H

#include "store/record.h"

/* One step from the decoder's word to the outcome. */
struct resolved_change {
    const char *pass; /* "proof" */
    uint32_t version; /* of the pass */
    enum resource_status from, to;
    uint32_t from_chosen, to_chosen; /* numbers of candidates; RESOLVED_NONE: none */
    const char *why;                 /* one line */
};
#define RESOLVED_NONE UINT32_MAX

/* Numbers are written into stores. */
enum canonical_basis {
    CANONICAL_NONE = 0,
    CANONICAL_ASSUMED = 1,   /* the rule of formats/xbg7.md, "Twins" */
    CANONICAL_CONFIRMED = 2, /* a capture said so */
    CANONICAL_BASIS_COUNT
};

/* A twin's shared geometry: the block that both of a pair are drawn from. */
struct resolved_canonical {
    enum canonical_basis basis; /* CANONICAL_NONE: no twin, the rest is zero */
    struct hash geometry;
    bool mirrored; /* drawn with x negated */
    uint32_t twin; /* index of the other one in the same container */
};

/* The outcome of one resource, where it is not simply what the decoder said. */
struct resolved_record {
    enum resource_status status, was; /* was: the decoder's */
    enum decline_reason reason, was_reason;
    uint32_t chosen; /* candidate; RESOLVED_NONE: none */
    double score, margin;
    uint32_t flags;
    struct bounds bounds;
    struct hash geometry; /* zero: none */
    uint64_t geometry_bytes;
    uint32_t buffer_count;
    struct buffer_place *buffers;
    struct resolved_canonical canonical;
    uint32_t change_count; /* 0 when only `canonical` was added */
    struct resolved_change *changes;
};

/* Whether the record says anything: one that is all zero stands for "as the decoder said". */
static inline bool resolved_is_set(const struct resolved_record *record)
{
    return record->change_count || record->canonical.basis != CANONICAL_NONE;
}

bool resolved_write(struct buffer *out, const struct resolved_record *record);
bool resolved_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resolved_record *record,
                   struct error *err);
/* Puts the outcome in the place of what the decoder said: status, reason, error, scores, placement, geometry,
 * bounds, flags. Strings and lists of `outcome` are shared, not copied. */
void resolved_apply(const struct resolved_record *outcome, struct resource_record *record);
/* "assumed", "confirmed"; NULL for CANONICAL_NONE. */
const char *canonical_basis_word(enum canonical_basis basis);

/* ---- findings ---- */

/* Numbers are written into stores: append. */
enum finding_kind {
    FINDING_SAME = 1,         /* a name in several containers, everywhere the same geometry */
    FINDING_VARIANT,          /* other geometry, all of other counts */
    FINDING_INCONSISTENT,     /* other geometry at equal counts */
    FINDING_UNDECIDED,        /* a name in several containers, located in one of them at most */
    FINDING_UNCLAIMED,        /* a stretch of geometry-like bytes that no resource has */
    FINDING_MISSING_TEXTURE,  /* an XBG7 resource names a texture its container does not have */
    FINDING_MISSING_LIBRARY,  /* a BGF names a library that the store does not have */
    FINDING_MISSING_MATERIAL, /* a BGF names a material that its library does not have */
    FINDING_CONTRADICTED,     /* two captures exclude each other, or one does not fit its resource */
    FINDING_UNUSED_CAPTURE,   /* a capture that decides nothing here */
    FINDING_PROOF_NOT_STORED, /* a proof whose place is not among the stored candidates, or has no stored
                                 geometry */
    FINDING_CONTESTED_PROOF,  /* a block proven for a name is another resource's here */
    FINDING_UNCLEAR_TWINS,    /* reflections of each other that make no clear pair */
    FINDING_MISSING_IMAGE,    /* a BMF names an image file that no input is or has */
    FINDING_KIND_COUNT
};

/* One resource that a finding is about. */
struct finding_side {
    struct resource_key key;
    enum resource_status status;
    uint32_t vertices, triangles;
    struct bounds bounds;
    struct hash geometry; /* zero: none */
};

/* Kind, container and subject together name a finding: there are no two of the same. */
struct finding_record {
    enum finding_kind kind;
    struct hash container; /* zero: about no single one */
    const char *subject;   /* a name, a place: "0x1F400" */
    const char *message;   /* one line */
    uint32_t side_count;
    struct finding_side *sides;
};

bool finding_write(struct buffer *out, const struct finding_record *record);
bool finding_read(const uint8_t *bytes, size_t size, struct arena *arena, struct finding_record *record,
                  struct error *err);
/* The key a finding is kept under; false when memory runs out. */
bool finding_key(const struct finding_record *record, struct hash *key);
/* "same", "missing-texture" ...; NULL for a number that is none. */
const char *finding_kind_word(enum finding_kind kind);

/* ---- captures ---- */

enum capture_kind {
    CAPTURE_ROW0 = 1,  /* the sign of the matrix's first row that a name was drawn with */
    CAPTURE_PLACE = 2, /* where a resource's buffers lie */
    CAPTURE_KIND_COUNT
};

struct capture_record {
    enum capture_kind kind;
    uint64_t order; /* of two that exclude each other the lower one counts */
    const char *resource;
    int8_t row0_x;         /* CAPTURE_ROW0: 1 or -1 */
    const char *container; /* CAPTURE_PLACE: its address; NULL otherwise */
    uint32_t buffer_count;
    struct buffer_place *buffers;
};

bool capture_write(struct buffer *out, const struct capture_record *record);
bool capture_read(const uint8_t *bytes, size_t size, struct arena *arena, struct capture_record *record,
                  struct error *err);
/* The key a capture is kept under: what it says, not when it came. False when memory runs out. */
bool capture_key(const struct capture_record *record, struct hash *key);

/* ---- census of what was declined ---- */

enum census_dimension {
    CENSUS_REASON = 0,
    CENSUS_PREFIX = 1,    /* letters that a name begins with */
    CENSUS_CONTAINER = 2, /* its hash in hex */
    CENSUS_VERTICES = 3,  /* declared vertices, by powers of four */
    CENSUS_DIMENSION_COUNT
};

struct declined_row {
    enum census_dimension dimension;
    const char *key;
    uint64_t count;
};

struct declined_census {
    uint64_t run; /* the last run that was in the store */
    uint32_t count;
    struct declined_row *rows; /* by dimension, then key */
};

bool declined_write(struct buffer *out, const struct declined_census *census);
bool declined_read(const uint8_t *bytes, size_t size, struct arena *arena, struct declined_census *census,
                   struct error *err);
/* "reason", "prefix", "container", "vertices". */
const char *census_dimension_word(enum census_dimension dimension);

#endif
