/* corpus_internal.h - what the files of the generator share; not for its users.
 *
 * An XPR2 container is planned as a `struct stage`: recipes (corpus_recipes.c) add resources and the blocks
 * they own to it, corpus_descriptor.c writes what the directory says of a resource, and corpus_xpr2.c lays
 * everything out and writes bytes and truth. A `struct world` is what outlives a container. Functions that
 * return false have run out of memory; nothing else can fail.
 */
#ifndef ANCHORAGE_CORPUS_INTERNAL_H
#define ANCHORAGE_CORPUS_INTERNAL_H

#include "bench/corpus/corpus.h"
#include "bench/corpus/corpus_classes.h"

/* ---- shapes (corpus_shape.c) ---- */

/* Vertex and triangle counts follow from family, triangles and split alone. */
enum shape_family {
    SHAPE_SPHERE,
    SHAPE_BOX,
    SHAPE_TUBE,
    SHAPE_TERRAIN,
    SHAPE_TORUS,
    SHAPE_TINY,
    SHAPE_FAMILIES
};
/* `split`: every pair of adjacent triangles gets four vertices of its own, with the flat normal. An empty
 * shape (corner is NULL) when memory runs out. */
struct shape shape_make(struct rng *rng, enum shape_family family, bool split, uint32_t triangles,
                        float size);
/* Room for so many vertices and triangles, not initialised; empty when memory runs out. */
struct shape shape_room(uint32_t vertices, uint32_t triangles);
/* Area-weighted normals of unit length from the triangles. */
void shape_smooth_normals(struct shape *shape);
/* Turns the shape by a random rotation, scales its largest extent to `size` and moves it off the origin.
 * Normals are not turned: recompute them. */
void shape_pose(struct shape *shape, struct rng *rng, float size);

/* ---- changes to shapes (corpus_mesh.c) ---- */

struct shape shape_copy(const struct shape *shape);
/* Other geometry with the same counts and another order of triangles and vertices. */
struct shape shape_rival(const struct shape *shape, struct rng *rng, float size);
/* Triangles in a locally random order, vertices numbered as they are first used. */
void shape_shuffle(struct shape *shape, struct rng *rng);
/* Reflected in x: positions and normals negated there, winding reversed. */
struct shape shape_mirror(const struct shape *shape);
/* Swaps two vertices, in the streams and in the triangles. */
void shape_swap_vertices(struct shape *shape, uint32_t a, uint32_t b);
/* Drops triangles from the end until `triangles` are left, and the vertices that nothing uses any more. */
void shape_crop(struct shape *shape, uint32_t triangles);
/* Numbers vertices by first use and drops those that no triangle uses. */
void shape_drop_unused(struct shape *shape);
/* With `extra` triangles without area mixed in. */
struct shape shape_with_degenerate(const struct shape *shape, struct rng *rng, uint32_t extra);
/* Reverses the winding of about so many percent of the triangles; the normals stay. */
void shape_flip(struct shape *shape, struct rng *rng, unsigned percent);
/* With `extra` vertices that no triangle uses, copies of existing ones moved a little. At the end of the
 * list, or mixed in so that the last vertex stays referenced. */
struct shape shape_with_unused(const struct shape *shape, struct rng *rng, uint32_t extra, bool at_end);
void shape_bounds(const struct shape *shape, float low[3], float high[3]);

/* ---- vertex layouts and blocks (corpus_mesh.c) ---- */

#define LAYOUT_ELEMENTS_MAX 8
#define PARTS_MAX           8
#define DRAWS_MAX           4

/* Usage numbers are those of enum mesh_usage; `format` is the whole code. */
struct layout_element {
    uint16_t offset;
    uint8_t size, usage, usage_index;
    uint32_t format;
};
struct layout {
    unsigned count;
    struct layout_element element[LAYOUT_ELEMENTS_MAX];
    uint32_t stride;
    int normal;                                  /* element that is the normal, -1: none */
    bool reordered, unusual_code, hidden_number; /* hidden_number: one element's size is in no table */
};
enum layout_wish {
    LAYOUT_ANY,
    LAYOUT_NO_NORMAL,
    LAYOUT_HALF_NORMAL,
    LAYOUT_FLOAT_NORMAL,
    LAYOUT_PACKED_NORMAL,
    LAYOUT_HIDDEN_NUMBER,
};
/* A random declaration that fulfils the wish. */
struct layout layout_random(struct rng *rng, enum layout_wish wish);
unsigned layout_number(const struct layout_element *element); /* GPU vertex format number */

/* Faults of stored normals. */
struct defects {
    bool first_normal, last_normal; /* not of unit length */
    unsigned imperfect_percent;     /* of all the others */
};

/* One index and vertex buffer pair before it is stored. */
struct part {
    struct shape shape;
    struct layout layout;
};
/* Where it lies in its block. */
struct span {
    uint32_t index_offset, index_count, vertex_offset, vertex_count, stride;
};
/* The stored geometry of a resource. */
struct block {
    struct buffer bytes;
    unsigned part_count, phase, cluster; /* phase: the start is this modulo 16, if aligned_phase */
    bool phased, contested;              /* contested: lies in a texture that contradicts itself */
    bool follows;                        /* lies beside the block before it in the stage's list */
    bool in_texture;                     /* has no place of its own: is copied into a texture's pixels */
    struct span span[PARTS_MAX];
    float low[3], high[3]; /* bounds of all vertices of all parts */
    uint64_t key;          /* its turn in the file, while it is laid out */
    uint64_t place;        /* offset in the data section, once laid out */
};
/* Stores parts as grouped pools, or as a sequence whose start will be `phase` modulo 16. */
bool block_build(struct block *block, const struct part *parts, unsigned count, bool sequence, unsigned phase,
                 struct defects defects, struct rng *rng);
/* Appends `count` vertices that belong to nothing, with unit normals: an orphan run that abuts the block. */
bool block_add_orphans(struct block *block, const struct layout *layout, uint32_t count, struct rng *rng);

/* ---- resources ---- */

enum corpus_class {
#define CLASS_ID(id, word) id,
    CORPUS_CLASSES(CLASS_ID)
#undef CLASS_ID
        CLASS_COUNT
};

enum lie {
    LIE_NONE,
    LIE_OFFSET,      /* the descriptor's offset leaves the file */
    LIE_SIZE,        /* its size does */
    LIE_NAME,        /* the name's offset does */
    LIE_NO_MARKER,   /* a descriptor without a marker */
    LIE_OVERLAP,     /* the only marker's elements overlap: no declaration */
    LIE_NO_POSITION, /* the only marker's declaration has no POSITION */
    LIE_ELEMENT,     /* an element outside the table, and nothing that tells the stride */
};

/* What a descriptor declares of one buffer pair. */
struct declared {
    uint32_t vertex_count, index_count;
    struct layout layout;
    unsigned draw_count;      /* 0: the descriptor has no record */
    uint32_t draw[DRAWS_MAX]; /* index counts */
};

#define PLACEMENTS_MAX 4
struct resource_plan {
    char name[48];
    unsigned cluster, part_count, placement_count;
    struct declared part[PARTS_MAX];
    unsigned placement[PLACEMENTS_MAX]; /* blocks, its own first */
    float size;                         /* the stored bounding value; 0: none */
    bool undecidable, declined;
    const char *reason, *needs; /* or NULL */
    enum lie lie;
    bool decoys;
    bool has_class[CLASS_COUNT];
    /* Twins: the placement that is canonical and whether this resource is its reflection. */
    bool is_twin, mirrored, confirmed;
    unsigned canonical;
};

struct texture_plan {
    unsigned log2_width, log2_height, format;
    bool mips;
    uint32_t base_bytes, mip_bytes;
    uint64_t place; /* offset in the data section, once laid out */
    int decoy;      /* block that is copied into its pixels, -1: none */
    bool contested; /* its extent leaves the data section */
};

enum locality { LOCALITY_NONE, LOCALITY_CLUSTERS, LOCALITY_ORDERED };

struct traits {
    enum locality locality;
    bool sizes, derived, legacy_base, truncated, weapon, elsewhere; /* elsewhere: no block at the start */
    unsigned alignment;                                             /* of blocks: 4, 16 or 32 */
};

#define CLUSTERS_MAX 24
struct stage {
    struct world *world;
    struct rng *rng;
    struct traits traits;
    struct resource_plan *resources;
    struct block *blocks;
    struct texture_plan *textures;
    uint64_t *signatures; /* counts in use, so that equal ones are only made on purpose */
    unsigned resource_count, resource_room, block_count, block_room, texture_count, texture_room;
    unsigned signature_count, signature_room;
    unsigned cluster, cluster_count, rank[CLUSTERS_MAX]; /* rank: place of a cluster in file order */
    unsigned size_word, size_measure; /* where and what the stored size is in this container */
    bool size_before_marker;
    bool failed;                  /* memory ran out */
    struct resource_plan nowhere; /* what is written to after that */
};

/* ---- real models (corpus_models.c) ---- */

struct models {
    struct shape *shapes;
    size_t count;
};
/* Reads OBJ files below `directory`, plain or in zip files, in byte order of their paths; keeps at most 256
 * that have 4..20000 triangles and at most 60000 vertices. False with *err set when there is none. */
bool models_load(const char *directory, struct models *models, struct error *err);
void models_free(struct models *models);

/* ---- what outlives a container ---- */

#define RECIPES_MAX 64
struct world {
    uint64_t seed;
    struct models models;
    uint32_t triangles_cap;      /* of an ordinary mesh */
    unsigned container, names;   /* running numbers */
    unsigned dealt[RECIPES_MAX]; /* resources each recipe has made */
    unsigned pool;               /* how many names are shared between containers, of each sort */
    unsigned shared_uses, variant_uses, keys_made, keys_used;
    unsigned key_container[64]; /* which container holds the key of that number, modulo 64 */
    json_t *captures;           /* array of capture objects */
};

/* ---- building a stage (corpus_stage.c) ---- */

enum change { AS_IS, NOISY, INVERTED, UNREFERENCED, SHORT_MAXIMUM, DEGENERATE };

/* What a mesh should be like. */
struct wish {
    bool split, tiny, large, smooth; /* smooth: every vertex in several triangles */
    bool exclusive;                  /* see stage_take_counts */
    enum change change;
    uint32_t triangles; /* 0: random */
};

/* A mesh as wished, parametric or one of the real models, its `change` not yet applied. */
struct shape wish_shape(struct world *world, struct rng *rng, const struct wish *wish);
/* A mesh as wished whose counts no other one in the container has. */
struct shape stage_fresh_shape(struct stage *stage, const struct wish *wish);
/* Whether no other mesh of the container has these counts; then they are taken. With `exclusive` none has its
 * vertex count: the end of the index buffer of a block that nobody owns, or of which there are two, is an
 * exact block for any mesh of equal vertex count and fewer triangles. */
bool stage_take_counts(struct stage *stage, const struct shape *shape, bool exclusive);
/* Stores parts as a block of the given cluster; its number. */
unsigned stage_add_block(struct stage *stage, const struct part *parts, unsigned count, bool sequence,
                         struct defects defects, unsigned cluster, struct rng *rng);
/* A resource that declares these parts, without a placement yet. The pointer is good until the next one. */
struct resource_plan *stage_add_resource(struct stage *stage, const struct part *parts, unsigned count,
                                         bool sequence, const char *name, unsigned cluster);
void resource_add_placement(struct resource_plan *resource, unsigned block);
/* Stores the model's size with the resource, in the container's own measure and rounded as a modeller would;
 * nothing where the container has no sizes. */
void stage_store_size(struct stage *stage, struct resource_plan *resource, unsigned block);
/* A name that occurs once in the corpus; `tail` ends it, NULL: a random one. */
void stage_new_name(struct stage *stage, char name[48], const char *tail);
/* The cluster that lies half the file away from this one. */
unsigned stage_far_cluster(const struct stage *stage, unsigned cluster);

/* ---- stages ---- */

/* Adds resources by recipe until there are `count`, each recipe in its share (corpus_recipes.c). */
void recipes_deal(struct stage *stage, unsigned count);
/* One resource as single-model files have it (corpus_recipes.c). */
void recipe_weapon(struct stage *stage);
/* Appends the descriptor of a resource (corpus_descriptor.c). */
void descriptor_write(struct stage *stage, const struct resource_plan *resource, struct buffer *out);
/* Appends the 52-byte descriptor of a texture (corpus_descriptor.c). */
void descriptor_write_texture(struct stage *stage, const struct texture_plan *texture, struct buffer *out);
/* Adds a texture of random kind and about `bytes` bytes; returns its number. */
unsigned stage_add_texture(struct stage *stage, uint32_t bytes);
/* Lays the stage out, writes the container and its truth (corpus_xpr2.c). */
bool stage_write(struct stage *stage, struct corpus_file *out);
void stage_free(struct stage *stage);

/* A whole container: a single model, or a stage of `count` resources with about `texture_bytes` of textures
 * (corpus_xbg7.c). out->path is not set. */
bool corpus_weapon(struct world *world, unsigned number, uint64_t texture_bytes, struct corpus_file *out);
bool corpus_stage(struct world *world, unsigned number, unsigned count, uint64_t texture_bytes,
                  struct corpus_file *out);

#endif
