/* passes.h - what the global passes work on: the whole store in compact arrays, and the outcomes as they
 * stand.
 *
 * Loaded once from a read transaction. The decoder's records are never changed; each resource has an outcome
 * beside its record that begins as the decoder's word. Passes change outcomes through passes_change, which
 * keeps the history, and add findings. What the passes may claim, and why, is written in docs/passes.md.
 */
#ifndef ANCHORAGE_PASSES_H
#define ANCHORAGE_PASSES_H

#include "pipeline/stage.h"
#include "store/store.h"

/* Scores, as the locator uses them (formats/anchor_locate.c): a place is taken from the first on; a choice
 * that teaches others has the second as its margin. */
#define PASS_SCORE_LEAST 3.0
#define PASS_SURE_MARGIN 3.0
#define PASS_CHANGES_MAX 8u /* steps of a history that are kept */

struct pass_outcome {
    enum resource_status status;
    enum decline_reason reason;
    uint32_t chosen; /* candidate; RESOLVED_NONE */
    double score, margin;
    struct hash geometry; /* zero: none */
    /* Of that geometry; the decoder's until pass_measure. */
    uint64_t geometry_bytes;
    struct bounds bounds;
    uint32_t flags;
    bool captured; /* placed by a capture */
    bool taught;   /* placed by pass_proof */
    struct resolved_canonical canonical;
    uint32_t change_count;
    struct resolved_change *changes; /* [PASS_CHANGES_MAX], NULL before the first */
};

struct pass_resource {
    struct resource_key key;
    uint32_t container;
    const char *name; /* the directory's, or the stem of the least path; "" when it has none */
    enum format_id format;
    uint32_t vertices, triangles;
    /* XBG7: the whole record with its candidates; NULL for other formats, of which only the following is
     * kept. */
    const struct resource_record *record;
    struct hash form,
        look; /* of its markers: counts, strides and elements; those and the draws. Zero without markers */
    enum resource_status was;
    enum decline_reason was_reason;
    struct hash geometry;
    uint32_t material_count;
    const char **materials; /* BGF: distinct "library:material"; BMF: names of its materials */
    uint32_t image_count;
    const char **images; /* BMF: distinct names of image files, as it has them */
    bool alone;          /* as pass_proof sees it: its block is nobody else's */
    struct pass_outcome now;
};

struct pass_container {
    struct hash hash;
    enum format_id format;
    enum container_status status;
    enum container_reason reason;
    uint64_t data_offset, data_size;
    uint32_t first, count; /* its resources */
    uint32_t texture_count;
    const char **textures; /* names, "" for one without */
};

/* The sign a name was drawn with, as captured first. */
struct pass_sign {
    const struct capture_record *capture;
    bool used; /* by a pair of twins */
};

/* An image file that a BMF names. */
struct pass_image {
    const char *stem; /* lower case */
    uint32_t resource;
};

/* A BMF file. */
struct pass_library {
    const char *name; /* its stem */
    uint32_t resource;
};

struct pass_thread {
    struct arena arena;
    struct store_txn *txn; /* of the same commit as all others */
    struct buffer bytes;
};

struct passes {
    struct store *store;
    int thread_count;
    struct pass_thread *threads;
    struct arena arena; /* all that lives until the end */
    /* Those that a pass has something to say of: see passes_load.c. This array and the next are of malloc,
     * the rest of the arena. */
    struct pass_container *containers;
    struct pass_resource *resources; /* by container hash, then index */
    size_t container_count, resource_count;
    struct pass_image *images; /* that libraries name, by stem, then resource; made by pass_images */
    size_t image_count;
    struct buffer findings;         /* of struct finding_record */
    struct buffer proposals;        /* what the commits of a stage collect for its finish */
    struct pass_library *libraries; /* by name, case ignored; made by pass_materials */
    size_t library_count;
    const struct capture_record *captures; /* earlier ones first */
    size_t capture_count;
    struct pass_sign *signs; /* by name, each once; made by pass_capture */
    size_t sign_count;
    const struct pass_bytes *bytes; /* geometries by what they were decoded from, sorted */
    size_t bytes_count;
    uint64_t changes;          /* made so far: a fixed point is reached when a round adds none */
    const struct stage *stage; /* the one that runs */
    uint32_t *groups;          /* units of the stage that runs, where they are groups: passes_group */
    size_t *group_starts, group_count;
};

/* Reads the store. False with *err set. passes_free in any case. */
bool passes_load(struct passes *passes, struct store *store, int threads, struct error *err);
/* Ends the read transactions; what was loaded stays. */
void passes_close(struct passes *passes);
void passes_free(struct passes *passes);

/* ---- outcomes ---- */

static inline bool pass_is_located(const struct pass_resource *r)
{
    return r->now.status == RESOURCE_PROVEN || r->now.status == RESOURCE_ASSIGNED;
}
/* The block of a candidate in bytes from the container's start, half-open. */
uint64_t pass_block_start(const struct pass_resource *r, uint32_t candidate);
uint64_t pass_block_end(const struct pass_resource *r, uint32_t candidate);
/* Whether two blocks overlap; *same is set when they are one block. */
bool pass_blocks_overlap(const struct pass_resource *a, uint32_t a_candidate, const struct pass_resource *b,
                         uint32_t b_candidate, bool *same);
/* The stored geometry of a candidate: its own, or that of equal bytes that look alike. Zero when there is
 * none. */
struct hash pass_geometry_of(const struct passes *passes, const struct pass_resource *r, uint32_t candidate);
/* Whether two candidates hold the same bytes. */
bool pass_same_bytes(const struct candidate_hashes *a, const struct candidate_hashes *b);

/* Changes an outcome and notes why. `chosen` RESOLVED_NONE: none, and no geometry. False when memory runs
 * out. */
bool passes_change(struct passes *passes, struct pass_resource *r, enum resource_status status,
                   uint32_t chosen, double margin, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

/* ---- findings ---- */

/* Adds a finding about the given resources, in that order; nothing when there is one of that kind, container
 * and subject already. `container` NULL: about no single one. False when memory runs out. */
bool passes_find(struct passes *passes, enum finding_kind kind, const struct hash *container,
                 const char *subject, const uint32_t *resources, size_t count, struct error *err,
                 const char *fmt, ...) __attribute__((format(printf, 8, 9)));

/* ---- groups as units ---- */

/* Sorts the resources that `member` takes by `compare`, equal ones by index, and cuts them where it differs:
 * groups[k] for k from group_starts[i] below group_starts[i + 1] are one group. Ends with the stage. False
 * when memory runs out. */
bool passes_group(struct passes *passes,
                  bool (*member)(const struct passes *passes, const struct pass_resource *r),
                  int (*compare)(const struct pass_resource *a, const struct pass_resource *b),
                  struct error *err);

/* ---- the passes, in the order they run ---- */
extern const struct stage pass_capture;     /* placements from captures */
extern const struct stage pass_proof;       /* equal bytes under one name */
extern const struct stage pass_neighbour;   /* what is left, by exclusivity and neighbourhood */
extern const struct stage pass_measure;     /* bounds of the geometries that were changed to */
extern const struct stage pass_twins;       /* reflections in x */
extern const struct stage pass_consistency; /* one name in several containers */
extern const struct stage pass_materials;   /* names of textures, libraries and materials */
extern const struct stage pass_images;      /* image files that libraries name */
extern const struct stage pass_unclaimed;   /* geometry that nobody has */

bool passes_out_of_memory(struct error *err);

#endif
