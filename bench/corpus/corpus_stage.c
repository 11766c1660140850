/* corpus_stage.c - what recipes build with: meshes, blocks, resources and names of one container. See
 * corpus_internal.h. */
#include "bench/corpus/corpus_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- adding to a stage ---- */

static void *grow(struct stage *stage, void *array, unsigned count, unsigned *room, size_t size)
{
    if (count < *room)
        return array;
    unsigned wider = *room ? *room * 2 : 64;
    void *bigger = realloc(array, wider * size);
    if (!bigger) {
        stage->failed = true;
        return array;
    }
    *room = wider;
    return bigger;
}

/* In place of a triangle count: no other mesh may have this vertex count. */
#define ANY_TRIANGLES UINT32_MAX

bool stage_take_counts(struct stage *stage, const struct shape *shape, bool exclusive)
{
    uint64_t vertices = (uint64_t)shape->vertex_count << 32, signature = vertices | shape->triangle_count;
    for (unsigned i = 0; i < stage->signature_count; i++) {
        uint64_t taken = stage->signatures[i];
        if (taken == signature || taken == (vertices | ANY_TRIANGLES) ||
            (exclusive && taken >> 32 == vertices >> 32))
            return false;
    }
    stage->signatures = grow(stage, stage->signatures, stage->signature_count, &stage->signature_room,
                             sizeof *stage->signatures);
    if (!stage->failed)
        stage->signatures[stage->signature_count++] = exclusive ? vertices | ANY_TRIANGLES : signature;
    return true;
}

unsigned stage_add_block(struct stage *stage, const struct part *parts, unsigned count, bool sequence,
                         struct defects defects, unsigned cluster, struct rng *rng)
{
    stage->blocks = grow(stage, stage->blocks, stage->block_count, &stage->block_room, sizeof *stage->blocks);
    if (stage->failed)
        return 0;
    struct block *block = &stage->blocks[stage->block_count];
    unsigned phase = 4 * rng_below(rng, 4); /* drawn always: equal randomness must give equal bytes */
    if (stage->traits.alignment != 4 || stage->traits.weapon)
        phase = 0;
    if (!block_build(block, parts, count, sequence, phase, defects, rng)) {
        stage->failed = true;
        buffer_free(&block->bytes);
        return 0;
    }
    block->cluster = cluster;
    return stage->block_count++;
}

static bool is_tiny(const struct shape *shape)
{
    return shape->vertex_count <= 24;
}

static void layout_classes(struct resource_plan *resource, const struct layout *layout)
{
    bool *has = resource->has_class;
    static const struct {
        uint32_t stride;
        enum corpus_class id;
    } strides[] = {{12, CLASS_STRIDE_12}, {16, CLASS_STRIDE_16}, {20, CLASS_STRIDE_20},
                   {24, CLASS_STRIDE_24}, {28, CLASS_STRIDE_28}, {32, CLASS_STRIDE_32},
                   {44, CLASS_STRIDE_44}, {48, CLASS_STRIDE_48}};
    for (unsigned i = 0; i < sizeof strides / sizeof *strides; i++)
        if (strides[i].stride == layout->stride)
            has[strides[i].id] = true;
    has[CLASS_REORDERED] |= layout->reordered;
    has[CLASS_UNUSUAL_CODE] |= layout->unusual_code;
    has[CLASS_HIDDEN_NUMBER] |= layout->hidden_number;
    if (layout->normal < 0)
        has[CLASS_NO_NORMAL] = true;
    else if (layout_number(&layout->element[layout->normal]) == 57)
        has[CLASS_NORMAL_F32] = true;
    else if (layout_number(&layout->element[layout->normal]) != 32)
        has[CLASS_NORMAL_PACKED] = true;
}

/* Draw records: none, one, or a partition into up to four. */
static void declare_draws(struct declared *part, struct rng *rng)
{
    uint32_t triangles = part->index_count / 3, left = triangles;
    if (rng_chance(rng, 5))
        return;
    unsigned draws = triangles >= 16 && rng_chance(rng, 25) ? 2 + rng_below(rng, DRAWS_MAX - 1) : 1;
    for (unsigned i = 0; i < draws; i++) {
        uint32_t share = i + 1 == draws ? left : 1 + rng_below(rng, left / (draws - i));
        part->draw[i] = share * 3;
        left -= share;
    }
    part->draw_count = draws;
}

struct resource_plan *stage_add_resource(struct stage *stage, const struct part *parts, unsigned count,
                                         bool sequence, const char *name, unsigned cluster)
{
    stage->resources =
        grow(stage, stage->resources, stage->resource_count, &stage->resource_room, sizeof *stage->resources);
    struct resource_plan *resource =
        stage->failed ? &stage->nowhere : &stage->resources[stage->resource_count++];
    *resource = (struct resource_plan){.cluster = cluster, .part_count = count};
    snprintf(resource->name, sizeof resource->name, "%s", name);
    for (unsigned i = 0; i < count; i++) {
        struct declared *declared = &resource->part[i];
        declared->vertex_count = parts[i].shape.vertex_count;
        declared->index_count = parts[i].shape.triangle_count * 3;
        declared->layout = parts[i].layout;
        declare_draws(declared, stage->rng);
        resource->has_class[CLASS_DRAWS] |= declared->draw_count > 1;
        layout_classes(resource, &declared->layout);
    }
    resource->has_class[count == 1 ? CLASS_SINGLE : sequence ? CLASS_SEQUENCE : CLASS_GROUPED] = true;
    resource->has_class[parts[count - 1].shape.triangle_count % 2 ? CLASS_PAD_2 : CLASS_PAD_0] = true;
    resource->has_class[CLASS_TINY] |= count == 1 && is_tiny(&parts[0].shape);
    return resource;
}

void resource_add_placement(struct resource_plan *resource, unsigned block)
{
    if (resource->placement_count < PLACEMENTS_MAX)
        resource->placement[resource->placement_count++] = block;
}

void stage_store_size(struct stage *stage, struct resource_plan *resource, unsigned block_number)
{
    if (!stage->traits.sizes || stage->failed)
        return;
    const struct block *block = &stage->blocks[block_number];
    float largest = 0, square = 0;
    for (int i = 0; i < 3; i++) {
        float extent = block->high[i] - block->low[i];
        largest = extent > largest ? extent : largest;
        square += extent * extent;
    }
    float half_diagonal = __builtin_sqrtf(square) / 2;
    float value = stage->size_measure == 0 ? largest : stage->size_measure == 1 ? largest / 2 : half_diagonal;
    resource->size = value * rng_float(stage->rng, 0.998f, 1.012f);
}

void stage_new_name(struct stage *stage, char name[48], const char *tail)
{
    static const char *const heads[] = {"e", "_rou_e", "f", "_rou_f", "n", "eff_"};
    static const char *const tails[] = {"",        "_l",        "_m",         "_bdy_03",
                                        "_wep_01", "_eng_02_l", "_base_dead", "_brg_m"};
    snprintf(name, 48, "%s%04u%s", heads[rng_below(stage->rng, 6)], stage->world->names++,
             tail ? tail : tails[rng_below(stage->rng, 8)]);
}

unsigned stage_far_cluster(const struct stage *stage, unsigned cluster)
{
    unsigned wanted = (stage->rank[cluster] + stage->cluster_count / 2) % stage->cluster_count;
    for (unsigned i = 0; i < stage->cluster_count; i++)
        if (stage->rank[i] == wanted)
            return i;
    return cluster;
}

/* ---- fresh geometry ---- */

/* Log-uniform between 24 and the cap: doubling steps, then linear. */
static uint32_t some_triangles(struct rng *rng, uint32_t cap)
{
    unsigned steps = 0;
    while (UINT32_C(24) << (steps + 1) <= cap)
        steps++;
    uint32_t base = UINT32_C(24) << rng_below(rng, steps + 1), count = base + rng_below(rng, base);
    return count < cap ? count : cap;
}

struct shape wish_shape(struct world *world, struct rng *rng, const struct wish *wish)
{
    uint32_t cap = world->triangles_cap, triangles = wish->triangles;
    float size = rng_float(rng, 2, 60);
    if (!triangles)
        triangles = wish->tiny    ? 1 + rng_below(rng, 14)
                    : wish->large ? cap * (cap < 4000 ? 5 : 3) + rng_below(rng, cap * 3)
                                  : some_triangles(rng, cap);
    bool parametric = wish->split || wish->tiny || wish->large || wish->smooth || wish->triangles;
    if (world->models.count && !parametric && rng_chance(rng, 80)) {
        const struct shape *model = &world->models.shapes[rng_below(rng, (uint32_t)world->models.count)];
        struct shape shape = shape_copy(model);
        if (shape.corner && model->triangle_count <= cap * 2) {
            shape_pose(&shape, rng, size);
            shape_smooth_normals(&shape);
            return shape;
        }
        shape_free(&shape);
    }
    enum shape_family family = (enum shape_family)rng_below(rng, SHAPE_TINY);
    if (wish->tiny)
        family = rng_chance(rng, 50) ? SHAPE_TINY : SHAPE_TERRAIN;
    struct shape shape = shape_make(rng, family, wish->split, triangles, size);
    if (shape.corner && !wish->triangles && rng_chance(rng, 60)) {
        /* Cut open, by whole quads: real meshes seldom have the counts of a lattice. */
        uint32_t drop =
            2 * rng_below(rng, shape.triangle_count / 12 + 2) + (wish->split ? 0 : rng_below(rng, 2));
        if (drop < shape.triangle_count)
            shape_crop(&shape, shape.triangle_count - drop);
    }
    if (shape.corner && rng_chance(rng, 50))
        shape_shuffle(&shape, rng);
    return shape;
}

static struct shape changed(struct shape shape, enum change change, struct rng *rng)
{
    uint32_t extra = shape.vertex_count / 16 + 1;
    struct shape out = {0};
    switch (change) {
    case NOISY:
        shape_flip(&shape, rng, 5 + rng_below(rng, 40));
        return shape;
    case INVERTED:
        shape_flip(&shape, rng, 100);
        return shape;
    case UNREFERENCED:
        out = shape_with_unused(&shape, rng, extra, false);
        break;
    case SHORT_MAXIMUM:
        out = shape_with_unused(&shape, rng, extra, true);
        break;
    case DEGENERATE:
        out = shape_with_degenerate(&shape, rng, shape.triangle_count / 24 + 1);
        break;
    default:
        return shape;
    }
    shape_free(&shape);
    return out;
}

struct shape stage_fresh_shape(struct stage *stage, const struct wish *wish)
{
    struct wish now = *wish;
    for (unsigned attempt = 0;; attempt++) {
        struct shape shape = wish_shape(stage->world, stage->rng, &now);
        if (!shape.corner) {
            stage->failed = true;
            return shape;
        }
        shape = changed(shape, now.change, stage->rng);
        if (!shape.corner || stage_take_counts(stage, &shape, now.exclusive) || attempt > 200)
            return shape;
        if (attempt > 60)
            now.tiny = false; /* few tiny meshes differ in counts */
        if (attempt > 20 && now.triangles)
            now.triangles += 2; /* nor do those of one number of quads */
        shape_free(&shape);
    }
}
