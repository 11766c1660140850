/* diff.h - what changed from one store to another, resource by resource. docs/diff.md defines the classes.
 */
#ifndef ANCHORAGE_DIFF_H
#define ANCHORAGE_DIFF_H

#include "reports/view.h"

enum diff_class {
    DIFF_GAINED,    /* has a sure mesh now, and had none */
    DIFF_LOST,      /* had one, and has none */
    DIFF_GEOMETRY,  /* sure in both, of other bytes */
    DIFF_CANONICAL, /* the same bytes, drawn from another block or mirrored otherwise */
    DIFF_MOVED,     /* the same, at another place: container, entry, buffers */
    DIFF_OUTCOME,   /* another status, reason or best guess; a sure mesh neither gained nor lost */
    DIFF_CLASSES
};
/* "gained", "lost", "geometry", "canonical", "moved", "outcome". */
const char *diff_class_word(enum diff_class class);

/* A resource in one of the stores. */
struct diff_side {
    const char *container; /* path of the place that is compared; NULL: the store has no such resource */
    uint32_t index;
    enum format_id format;
    enum resource_status status;
    enum decline_reason reason;
    uint32_t vertices, triangles;
    struct bounds bounds;
    struct hash geometry;  /* zero: none */
    struct hash canonical; /* what it is drawn from when it is a twin, else zero */
    bool mirrored;
    enum canonical_basis basis;
    struct hash place; /* of the buffers where it lies; zero: addressed, or nowhere */
};

struct diff_row {
    enum diff_class class;
    const char *name;
    struct diff_side before, after; /* at least one of them is there */
};

struct diff {
    struct arena arena;    /* of all below */
    struct diff_row *rows; /* by class, then container path (after, else before), index */
    size_t count;
    uint64_t by_class[DIFF_CLASSES], same; /* same: resources of which nothing changed */
};

/* Compares; all zero before, diff_free in any case. Resources of both stores are held in memory, some 200
 * bytes each. False with *err set. */
bool diff_stores(struct store_txn *before, struct store_txn *after, struct diff *diff, struct error *err);
void diff_free(struct diff *diff);

/* docs/diff.md; NULL when memory runs out. */
json_t *json_of_diff(const struct diff_row *row);

/* index.html, and pictures of what it shows in thumbs/, in a directory that is made when absent. `paths` are
 * the stores as the reader knows them. False with *err set. */
bool diff_write_page(const struct diff *diff, struct store *const stores[static 2],
                     const char *const paths[static 2], const char *directory, int threads,
                     struct error *err);

#endif
