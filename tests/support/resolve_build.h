/* resolve_build.h - containers of located resources, made up place by place, for tests of the global passes.
 *
 * A content is a mesh by number: equal numbers are equal bytes wherever they lie. A block of BUILD_VERTICES
 * vertices and BUILD_TRIANGLES triangles takes BUILD_BLOCK bytes. Candidates are perfect (anchor_is_exact)
 * unless told otherwise. In front of an odd content is the byte 7, of an even one zeros: 16 bytes, but 4 of a
 * block at 4096.
 */
#ifndef ANCHORAGE_RESOLVE_BUILD_H
#define ANCHORAGE_RESOLVE_BUILD_H

#include "pipeline/resolve.h"
#include "tests/support/store_fixture.h"

enum { BUILD_VERTICES = 40, BUILD_TRIANGLES = 60, BUILD_STRIDE = 20 };
#define BUILD_BLOCK (BUILD_TRIANGLES * 6 + BUILD_VERTICES * BUILD_STRIDE)
/* Added to a content's number: its reflection in x, with the vertices in another order. */
#define BUILD_MIRRORED 1000u
/* The content whose reflection it is itself. */
#define BUILD_SYMMETRIC 999u
/* Added to a mirrored content: one vertex is moved by a thousandth of the extent. */
#define BUILD_NEARLY 2000u

struct build_candidate {
    unsigned content; /* 0: no more candidates */
    uint64_t at;      /* of its block, from the container's start */
    double score;     /* 0: 38 */
    bool undecoded;   /* the store has no geometry of it, unless it is the chosen one */
    bool imperfect;   /* its greatest index is not the last vertex */
    int size_match;   /* see struct anchor_evidence */
    bool as_large;    /* as the other candidates, to the last bit of what was measured */
};

struct build_resource {
    const char *name; /* NULL: no more resources */
    enum resource_status status;
    double margin;                        /* 0: 30 of located ones, 0 of ambiguous ones */
    uint32_t extra_vertices;              /* declared and decoded beyond BUILD_VERTICES: another form */
    const char *node;                     /* a string of its descriptor, or NULL */
    struct build_candidate candidates[4]; /* the first is chosen */
};

struct build_container {
    const char *path;
    enum container_status status;
    enum container_reason reason;
    const char *texture; /* name of its only texture, or NULL */
    struct coverage_run coverage[4];
    uint32_t coverage_count;
    struct build_resource resources[24];
};

/* The hash of a container is that of its path. */
struct hash build_hash(const struct build_container *container);
/* Puts the container, its geometries and its place; the test fails when that does. */
void build_put(struct store *store, const struct build_container *container);
/* The geometry's hash of a content, decoded for a resource of the usual form. */
struct hash build_geometry(unsigned content);
struct bounds build_bounds(unsigned content);

/* Resolves; the test fails when that does. */
struct resolve_result build_resolve(struct store *store, int threads);
/* The outcome of a resource: what is stored of the passes, or what the decoder said. */
struct resource_record build_outcome(struct store *store, const struct build_container *container,
                                     uint32_t index, struct resolved_record *outcome, struct arena *arena);
/* Copies a finding of that kind and subject ("" matches any) into the arena; false when there is none. */
bool build_finding(struct store *store, enum finding_kind kind, const char *subject,
                   struct finding_record *out, struct arena *arena);
/* How many findings of a kind there are. */
unsigned build_findings(struct store *store, enum finding_kind kind);

#endif
