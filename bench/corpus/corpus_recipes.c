/* corpus_recipes.c - the situations a resource can be in; each recipe adds what one of them needs to a stage.
 *
 * Sources: formats/xbg7.md sections 4 and 5, and the failures the research log tells of. A recipe that brings
 * two equal-count blocks together says what tells them apart; counts are otherwise unique in a container, so
 * that nothing is undecidable by accident.
 */
#include "bench/corpus/corpus_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct defects sound = {false, false, 0};

/* Other geometry of equal counts, `factor` times as large. */
static struct shape rival_of(struct stage *stage, const struct shape *shape, float factor)
{
    float low[3], high[3], extent = 0;
    shape_bounds(shape, low, high);
    for (int i = 0; i < 3; i++)
        extent = high[i] - low[i] > extent ? high[i] - low[i] : extent;
    return shape_rival(shape, stage->rng, extent * factor);
}

/* ---- single resources ---- */

/* A recipe that makes one resource out of wishes. */
struct simple {
    struct wish wish;
    enum layout_wish layout;
    struct defects defects;
    unsigned parts_least, parts_most; /* 0: one */
    bool sequence, decoys, orphans, absent, contested;
    enum lie lie;
    enum corpus_class tag; /* CLASS_STAGE: none */
};

static struct layout layout_for(struct stage *stage, enum layout_wish wish)
{
    return layout_random(stage->rng, wish);
}

static void free_parts(struct part *parts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        shape_free(&parts[i].shape);
}

static unsigned fresh_parts(struct stage *stage, const struct simple *simple, struct part parts[PARTS_MAX])
{
    unsigned count =
        simple->parts_most
            ? simple->parts_least + rng_below(stage->rng, simple->parts_most - simple->parts_least + 1)
            : 1;
    struct layout layout = layout_for(stage, simple->layout);
    for (unsigned i = 0; i < count; i++) {
        parts[i].shape = stage_fresh_shape(stage, &simple->wish);
        parts[i].layout =
            count > 1 && rng_chance(stage->rng, 10) ? layout_for(stage, LAYOUT_HALF_NORMAL) : layout;
    }
    return count;
}

static void apply_lie(struct resource_plan *resource, enum lie lie)
{
    resource->lie = lie;
    if (lie == LIE_NONE)
        return;
    resource->declined = true;
    resource->placement_count = 0;
    if (lie == LIE_OFFSET || lie == LIE_SIZE || lie == LIE_NAME)
        resource->reason = "bad-directory";
    else if (lie == LIE_NO_MARKER)
        resource->reason = "no-marker";
    else if (lie == LIE_ELEMENT)
        resource->reason = "unknown-element";
}

static void need_contested_texture(struct stage *stage)
{
    for (unsigned i = 0; i < stage->texture_count; i++)
        if (stage->textures[i].contested)
            return;
    unsigned number = stage_add_texture(stage, 16 << 20);
    if (!stage->failed)
        stage->textures[number].contested = true;
}

static void recipe_simple(struct stage *stage, const struct simple *simple)
{
    struct part parts[PARTS_MAX] = {0};
    unsigned count = fresh_parts(stage, simple, parts), block = 0;
    char name[48];
    stage_new_name(stage, name, NULL);
    if (!simple->absent && !stage->failed) {
        block = stage_add_block(stage, parts, count, simple->sequence, simple->defects, stage->cluster,
                                stage->rng);
        if (simple->orphans && !stage->failed && parts[count - 1].layout.normal >= 0 &&
            !block_add_orphans(&stage->blocks[block], &parts[count - 1].layout, 8 + rng_below(stage->rng, 60),
                               stage->rng))
            stage->failed = true;
    }
    if (stage->failed) {
        free_parts(parts, count);
        return;
    }
    struct resource_plan *resource =
        stage_add_resource(stage, parts, count, simple->sequence, name, stage->cluster);
    if (!simple->absent) {
        resource_add_placement(resource, block);
        if (rng_chance(stage->rng, 85))
            stage_store_size(stage, resource, block);
    }
    resource->declined = simple->absent;
    resource->decoys = simple->decoys;
    resource->has_class[CLASS_SPLIT] |= simple->wish.split;
    if (simple->tag != CLASS_STAGE && simple->tag != CLASS_TINY)
        resource->has_class[simple->tag] = true;
    apply_lie(resource, simple->lie);
    if (simple->contested) {
        stage->blocks[block].contested = true;
        need_contested_texture(stage);
    }
    free_parts(parts, count);
}

void recipe_weapon(struct stage *stage)
{
    static const struct simple kinds[] = {
        {.tag = CLASS_WEAPON},
        {.parts_least = 2, .parts_most = 5, .layout = LAYOUT_HALF_NORMAL, .tag = CLASS_WEAPON},
        {.parts_least = 2,
         .parts_most = 4,
         .layout = LAYOUT_HALF_NORMAL,
         .sequence = true,
         .tag = CLASS_WEAPON}};
    unsigned pick = rng_below(stage->rng, 10);
    recipe_simple(stage, &kinds[pick < 6 ? 0 : pick < 8 ? 1 : 2]);
}

/* The index buffer's end is chosen so that the slot before the first vertex has a "normal" of unit length: a
 * scan for the start of a run does not see one. */
static void recipe_preceding_unit(struct stage *stage, const struct simple *simple)
{
    bool half = stage->world->triangles_cap >= 4000 && rng_chance(stage->rng, 40);
    struct layout layout = layout_for(stage, half ? LAYOUT_HALF_NORMAL : LAYOUT_PACKED_NORMAL);
    const struct layout_element *normal = &layout.element[layout.normal];
    /* Index words that read as a unit normal: 0x3C00, small, small as halves; 0, largest as a packed word. */
    uint32_t wanted[3] = {half ? 0x3C00 : 0, half ? 3 : layout_number(normal) == 16 ? 1023 : 511, 5};
    unsigned words = half ? 3 : 2;
    struct wish wish = {.smooth = true, .triangles = half ? 33000 : 2700 + rng_below(stage->rng, 600)};
    for (unsigned attempt = 0; attempt < 50 && !stage->failed; attempt++) {
        struct part part = {wish_shape(stage->world, stage->rng, &wish), layout};
        struct shape *shape = &part.shape;
        if (!shape->corner) {
            stage->failed = true;
            return;
        }
        shape_shuffle(shape, stage->rng);
        shape_crop(shape, shape->triangle_count - rng_below(stage->rng, 40));
        uint32_t indices = shape->triangle_count * 3, end = (indices * 2 + 3) & ~UINT32_C(3);
        uint32_t at = (end - layout.stride + normal->offset) / 2;
        const uint32_t *corner = shape->corner + at;
        bool fits = at + words <= indices && shape->vertex_count > (half ? 0x3C00u : 1023u) &&
                    corner[0] != corner[1] &&
                    (words < 3 || (corner[2] != corner[0] && corner[2] != corner[1]));
        if (!fits || !stage_take_counts(stage, shape, false)) {
            shape_free(shape);
            continue;
        }
        for (unsigned i = 0; i < words; i++)
            shape_swap_vertices(shape, corner[i], wanted[i]);
        char name[48];
        stage_new_name(stage, name, NULL);
        unsigned block = stage_add_block(stage, &part, 1, false, sound, stage->cluster, stage->rng);
        struct resource_plan *resource = stage_add_resource(stage, &part, 1, false, name, stage->cluster);
        resource_add_placement(resource, block);
        stage_store_size(stage, resource, block);
        resource->has_class[simple->tag] = true;
        shape_free(shape);
        return;
    }
}

/* ---- equal counts ---- */

static const struct wish plain = {0}, sole = {.exclusive = true};

/* A mesh and a rival of equal counts, other geometry and another size. */
static bool make_rivals(struct stage *stage, struct part pair[2], enum layout_wish layout)
{
    pair[0] = (struct part){stage_fresh_shape(stage, &sole), layout_for(stage, layout)};
    if (stage->failed)
        return false;
    pair[1] =
        (struct part){rival_of(stage, &pair[0].shape, rng_float(stage->rng, 1.7f, 3.0f)), pair[0].layout};
    if (!pair[1].shape.corner)
        stage->failed = true;
    if (!stage->failed && rng_chance(stage->rng, 50)) {
        struct part was = pair[0];
        pair[0] = pair[1];
        pair[1] = was;
    }
    if (stage->failed)
        free_parts(pair, 2);
    return !stage->failed;
}

/* A resource with a sole placement, that of the block. */
static struct resource_plan *add_owner(struct stage *stage, const struct part *part, unsigned block,
                                       unsigned cluster, enum corpus_class tag)
{
    char name[48];
    stage_new_name(stage, name, NULL);
    struct resource_plan *resource = stage_add_resource(stage, part, 1, false, name, cluster);
    resource_add_placement(resource, block);
    resource->has_class[tag] = true;
    return resource;
}

/* A block that lies beside the one before it, so that no neighbourhood tells the two apart. */
static unsigned add_block_beside(struct stage *stage, const struct part *part, struct defects defects,
                                 unsigned cluster)
{
    unsigned block = stage_add_block(stage, part, 1, false, defects, cluster, stage->rng);
    if (!stage->failed)
        stage->blocks[block].follows = true;
    return block;
}

/* Both blocks of a pair, side by side in an order that tells nothing, not even where file order is descriptor
 * order. */
static void add_pair(struct stage *stage, const struct part pair[2], struct defects first_defects,
                     unsigned block[2])
{
    unsigned first = rng_below(stage->rng, 2), second = first ^ 1;
    struct defects defects[2] = {first_defects, sound};
    block[first] = stage_add_block(stage, &pair[first], 1, false, defects[first], stage->cluster, stage->rng);
    block[second] = add_block_beside(stage, &pair[second], defects[second], stage->cluster);
}

/* Two resources with a block each. They are told apart by their stored sizes, or not. */
static void recipe_rivals(struct stage *stage, const struct simple *simple)
{
    struct part pair[2];
    unsigned block[2];
    if (!make_rivals(stage, pair, LAYOUT_HALF_NORMAL))
        return;
    add_pair(stage, pair, sound, block);
    for (unsigned i = 0; i < 2 && !stage->failed; i++) {
        struct resource_plan *resource = add_owner(stage, &pair[i], block[i], stage->cluster, simple->tag);
        if (simple->tag == CLASS_RIVAL_SIZE)
            stage_store_size(stage, resource, block[i]);
        resource->undecidable = simple->tag == CLASS_RIVAL_UNDECIDABLE;
    }
    free_parts(pair, 2);
}

/* One resource, its block, and a stale block of equal counts that belongs to nothing. */
static void recipe_stale(struct stage *stage, const struct simple *simple)
{
    struct part pair[2];
    unsigned block[2];
    if (!make_rivals(stage, pair, LAYOUT_HALF_NORMAL))
        return;
    add_pair(stage, pair, simple->defects, block);
    struct resource_plan *resource = add_owner(stage, &pair[0], block[0], stage->cluster, simple->tag);
    if (simple->tag == CLASS_STALE_SIZE)
        stage_store_size(stage, resource, block[0]);
    resource->undecidable = simple->tag == CLASS_STALE_UNDECIDABLE || simple->tag == CLASS_IMPERFECT_RIGHT;
    if (simple->tag == CLASS_TEXTURE_DECOY && !stage->failed) {
        unsigned texture = stage_add_texture(stage, (uint32_t)stage->blocks[block[1]].bytes.size + 4096);
        if (!stage->failed) {
            stage->textures[texture].decoy = (int)block[1];
            stage->blocks[block[1]].in_texture = true;
        }
    }
    free_parts(pair, 2);
}

/* ---- equal counts, told apart by the neighbourhood ---- */

/* Two resources that nothing is the matter with: a neighbourhood is two on each side. */
static void add_ordinary(struct stage *stage, unsigned cluster)
{
    unsigned was = stage->cluster;
    stage->cluster = cluster;
    for (unsigned i = 0; i < 2; i++)
        recipe_simple(stage, &(struct simple){.layout = LAYOUT_HALF_NORMAL, .tag = CLASS_STAGE});
    stage->cluster = was;
}

/* One side of two clusters that lie half the file apart: between ordinary resources one whose rival is a
 * resource of the other cluster, and one whose rival is a stale block there. */
static void add_neighbourhood(struct stage *stage, const struct part *mine, const struct part stale[2],
                              unsigned cluster, unsigned other)
{
    add_ordinary(stage, cluster);
    unsigned own = add_block_beside(stage, mine, sound, cluster);
    add_owner(stage, mine, own, cluster, CLASS_RIVAL_NEIGHBOURHOOD)->needs = "neighbourhood";
    own = add_block_beside(stage, &stale[0], sound, cluster);
    add_owner(stage, &stale[0], own, cluster, CLASS_STALE_NEIGHBOURHOOD)->needs = "neighbourhood";
    add_ordinary(stage, cluster);
    stage_add_block(stage, &stale[1], 1, false, sound, other, stage->rng);
}

static void recipe_neighbourhoods(struct stage *stage, const struct simple *simple)
{
    struct part rivals[2], stale[2];
    unsigned cluster[2] = {stage->cluster, stage_far_cluster(stage, stage->cluster)};
    (void)simple;
    if (!make_rivals(stage, rivals, LAYOUT_HALF_NORMAL))
        return;
    for (unsigned i = 0; i < 2 && make_rivals(stage, stale, LAYOUT_HALF_NORMAL); i++) {
        add_neighbourhood(stage, &rivals[i], stale, cluster[i], cluster[i ^ 1]);
        free_parts(stale, 2);
    }
    free_parts(rivals, 2);
}

/* ---- the box attractor ---- */

/* Axis-aligned boxes with round coordinates, every face with vertices of its own. The faces are drawn from
 * the last to the first, so the end of the index buffer uses low vertices only: with the vertices behind it,
 * it is an exact block of any smaller number of faces. */
static struct shape boxes(struct rng *rng, unsigned count)
{
    struct shape all = shape_room(count * 24, count * 12);
    for (unsigned box = 0; all.corner && box < count; box++) {
        float centre[3], half[3];
        for (int i = 0; i < 3; i++) {
            centre[i] = 50 * ((float)rng_below(rng, 80) - 40);
            half[i] = 50 * (float)(1 + rng_below(rng, 12));
        }
        for (unsigned v = 0; v < 24; v++) {
            unsigned face = v / 4, axis = face / 2, corner = v % 4;
            float sign = face % 2 ? -1 : 1, across[3];
            float s = corner == 1 || corner == 2 ? 1 : -1, t = corner >= 2 ? 1 : -1;
            across[axis] = sign;
            across[(axis + 1) % 3] = sign > 0 ? s : t;
            across[(axis + 2) % 3] = sign > 0 ? t : s;
            size_t at = (size_t)(box * 24 + v);
            for (size_t i = 0; i < 3; i++) {
                all.position[at * 3 + i] = centre[i] + across[i] * half[i];
                all.normal[at * 3 + i] = i == axis ? sign : 0;
            }
            all.uv[at * 2] = (s + 1) / 2;
            all.uv[at * 2 + 1] = (t + 1) / 2;
        }
    }
    for (unsigned face = 0; all.corner && face < count * 6; face++) {
        static const uint8_t quad[6] = {0, 1, 2, 0, 2, 3};
        for (unsigned k = 0; k < 6; k++)
            all.corner[(size_t)(count * 6 - 1 - face) * 6 + k] = face * 4 + quad[k];
    }
    return all;
}

static void recipe_attractor(struct stage *stage, const struct simple *simple)
{
    struct part attractor = {{0}, layout_for(stage, LAYOUT_HALF_NORMAL)};
    unsigned count = 0;
    do {
        shape_free(&attractor.shape);
        attractor.shape = boxes(stage->rng, 24 + rng_below(stage->rng, 30));
        if (!attractor.shape.corner)
            stage->failed = true;
    } while (!stage->failed && !stage_take_counts(stage, &attractor.shape, false) && ++count < 20);
    if (stage->failed)
        return;
    char name[48];
    stage_new_name(stage, name, NULL);
    unsigned block = stage_add_block(stage, &attractor, 1, false, sound, stage->cluster, stage->rng);
    struct resource_plan *owner = stage_add_resource(stage, &attractor, 1, false, name, stage->cluster);
    resource_add_placement(owner, block);
    stage_store_size(stage, owner, block);
    owner->has_class[simple->tag] = owner->has_class[CLASS_SPLIT] = true;
    for (unsigned i = 0; i < 2 && !stage->failed; i++) {
        struct wish wish = {.split = true, .triangles = 24 + 2 * rng_below(stage->rng, 100)};
        struct part victim = {stage_fresh_shape(stage, &wish), attractor.layout};
        if (stage->failed)
            break;
        struct defects defects = {.first_normal = rng_chance(stage->rng, 50)};
        unsigned own = stage_add_block(stage, &victim, 1, false, defects, stage->cluster, stage->rng);
        stage_new_name(stage, name, NULL);
        struct resource_plan *resource = stage_add_resource(stage, &victim, 1, false, name, stage->cluster);
        resource_add_placement(resource, own);
        stage_store_size(stage, resource, own);
        resource->has_class[CLASS_ATTRACTOR_VICTIM] = resource->has_class[CLASS_SPLIT] = true;
        shape_free(&victim.shape);
    }
    shape_free(&attractor.shape);
}

/* ---- neighbours that match a part of each other ---- */

/* The last index buffer of a group lies before the first vertices of the pool: a small resource with the
 * counts of the last part finds an exact window there. */
static void recipe_group_part(struct stage *stage, const struct simple *simple)
{
    struct part parts[3] = {0}, small = {0};
    struct layout layout = layout_for(stage, LAYOUT_HALF_NORMAL);
    uint32_t triangles[3] = {400 + rng_below(stage->rng, 400), 60 + rng_below(stage->rng, 60),
                             30 + rng_below(stage->rng, 60)};
    unsigned count = 2 + rng_below(stage->rng, 2), block, own;
    for (unsigned i = 0; i < count; i++) {
        struct wish wish = {.triangles = i + 1 == count ? triangles[2] : triangles[i]};
        parts[i] = (struct part){stage_fresh_shape(stage, &wish), layout};
    }
    if (!stage->failed)
        small = (struct part){rival_of(stage, &parts[count - 1].shape, rng_float(stage->rng, 1.5f, 2.5f)),
                              layout};
    if (!stage->failed && small.shape.corner) {
        char name[48];
        block = stage_add_block(stage, parts, count, false, sound, stage->cluster, stage->rng);
        own = stage_add_block(stage, &small, 1, false, sound, stage->cluster, stage->rng);
        stage_new_name(stage, name, NULL);
        struct resource_plan *group = stage_add_resource(stage, parts, count, false, name, stage->cluster);
        resource_add_placement(group, block);
        stage_store_size(stage, group, block);
        stage_new_name(stage, name, NULL);
        struct resource_plan *resource = stage_add_resource(stage, &small, 1, false, name, stage->cluster);
        resource_add_placement(resource, own);
        stage_store_size(stage, resource, own);
        resource->has_class[simple->tag] = true;
    }
    free_parts(parts, count);
    shape_free(&small.shape);
}

/* Moves a triangle to the end whose vertices are all used elsewhere too, and drops it. */
static bool drop_spare_triangle(struct shape *shape)
{
    uint32_t *uses = calloc(shape->vertex_count + 1, sizeof *uses);
    bool found = false;
    for (size_t i = 0; uses && i < (size_t)shape->triangle_count * 3; i++)
        uses[shape->corner[i]]++;
    for (uint32_t t = shape->triangle_count; uses && !found && t-- > 0;) {
        uint32_t *corner = shape->corner + (size_t)t * 3;
        found = uses[corner[0]] > 1 && uses[corner[1]] > 1 && uses[corner[2]] > 1;
        if (found)
            memmove(corner, corner + 3, (size_t)(shape->triangle_count - t - 1) * 3 * sizeof *corner);
    }
    shape->triangle_count -= found;
    free(uses);
    return found;
}

/* A neighbour with one triangle less and the same vertex count: shifted by four bytes it matches through the
 * pad. */
static void recipe_one_smaller(struct stage *stage, const struct simple *simple)
{
    struct wish wish = {.smooth = true};
    struct part pair[2] = {0};
    struct layout layout = layout_for(stage, LAYOUT_HALF_NORMAL);
    for (unsigned attempt = 0; attempt < 50 && !stage->failed; attempt++) {
        free_parts(pair, 2);
        pair[0] = (struct part){stage_fresh_shape(stage, &wish), layout};
        if (stage->failed || pair[0].shape.triangle_count % 2)
            continue;
        pair[1] = (struct part){rival_of(stage, &pair[0].shape, rng_float(stage->rng, 1.3f, 2.5f)), layout};
        if (!pair[1].shape.corner)
            stage->failed = true;
        if (stage->failed || !drop_spare_triangle(&pair[1].shape) ||
            !stage_take_counts(stage, &pair[1].shape, false))
            continue;
        for (unsigned i = 0; i < 2; i++) {
            char name[48];
            stage_new_name(stage, name, NULL);
            unsigned block = stage_add_block(stage, &pair[i], 1, false, sound, stage->cluster, stage->rng);
            struct resource_plan *resource =
                stage_add_resource(stage, &pair[i], 1, false, name, stage->cluster);
            resource_add_placement(resource, block);
            stage_store_size(stage, resource, block);
            resource->has_class[simple->tag] = true;
        }
        break;
    }
    free_parts(pair, 2);
}

/* ---- one geometry, several owners or places ---- */

static void recipe_shared_block(struct stage *stage, const struct simple *simple)
{
    struct part part = {stage_fresh_shape(stage, &plain), layout_for(stage, LAYOUT_ANY)};
    unsigned owners = 2 + rng_below(stage->rng, 2);
    if (stage->failed)
        return;
    unsigned block = stage_add_block(stage, &part, 1, false, sound, stage->cluster, stage->rng);
    for (unsigned i = 0; i < owners && !stage->failed; i++) {
        char name[48];
        stage_new_name(stage, name, NULL);
        struct resource_plan *resource = stage_add_resource(stage, &part, 1, false, name, stage->cluster);
        resource_add_placement(resource, block);
        stage_store_size(stage, resource, block);
        resource->has_class[simple->tag] = true;
    }
    shape_free(&part.shape);
}

/* The same bytes twice, for one resource or for two: every copy is right. */
static void recipe_duplicate(struct stage *stage, const struct simple *simple)
{
    struct part part = {stage_fresh_shape(stage, &sole), layout_for(stage, LAYOUT_ANY)};
    if (stage->failed)
        return;
    struct rng again = *stage->rng, twice = again; /* equal randomness, equal bytes */
    unsigned far = stage->traits.locality == LOCALITY_CLUSTERS ? stage_far_cluster(stage, stage->cluster)
                                                               : stage->cluster;
    unsigned first = stage_add_block(stage, &part, 1, false, sound, stage->cluster, &again);
    unsigned second = stage_add_block(stage, &part, 1, false, sound, far, &twice);
    rng_u64(stage->rng);
    for (unsigned i = 0, owners = 1 + rng_below(stage->rng, 2); i < owners && !stage->failed; i++) {
        char name[48];
        stage_new_name(stage, name, NULL);
        struct resource_plan *resource = stage_add_resource(stage, &part, 1, false, name, stage->cluster);
        resource_add_placement(resource, i ? second : first);
        resource_add_placement(resource, i ? first : second);
        stage_store_size(stage, resource, first);
        resource->has_class[simple->tag] = true;
    }
    shape_free(&part.shape);
}

static float mean_x(const struct shape *shape)
{
    double sum = 0;
    for (uint32_t v = 0; v < shape->vertex_count; v++)
        sum += (double)shape->position[(size_t)v * 3];
    return (float)(sum / shape->vertex_count);
}

/* Half of the pairs were captured from a running engine, with either sign of the matrix's first row. */
static void twin_truth(struct stage *stage, unsigned first_resource, const unsigned block[2],
                       unsigned negative)
{
    bool confirmed = rng_chance(stage->rng, 50);
    int row0_x = confirmed && rng_chance(stage->rng, 50) ? -1 : 1;
    unsigned canonical = block[row0_x > 0 ? negative : !negative];
    for (unsigned i = 0; i < 2; i++) {
        struct resource_plan *resource = &stage->resources[first_resource + i];
        resource->is_twin = true;
        resource->confirmed = confirmed;
        resource->mirrored = (i == 1) == (row0_x > 0);
        resource->canonical = resource->placement[0] == canonical ? 0 : 1;
    }
    if (confirmed)
        json_array_append_new(
            stage->world->captures,
            json_pack("{s:s,s:i}", "resource", stage->resources[first_resource].name, "row0_x", row0_x));
}

/* e106_bdy_01 and e106_bdy_02: two blocks of equal counts, reflections in x of each other. */
static void recipe_twins(struct stage *stage, const struct simple *simple)
{
    struct part pair[2] = {{stage_fresh_shape(stage, &sole), layout_for(stage, LAYOUT_HALF_NORMAL)}};
    if (stage->failed)
        return;
    float low[3], high[3];
    shape_bounds(&pair[0].shape, low, high);
    for (uint32_t v = 0; v < pair[0].shape.vertex_count; v++)
        pair[0].shape.position[(size_t)v * 3] += 1 - low[0]; /* wholly on the positive side */
    pair[1] = (struct part){shape_mirror(&pair[0].shape), pair[0].layout};
    if (!pair[1].shape.corner) {
        stage->failed = true;
        shape_free(&pair[0].shape);
        return;
    }
    unsigned order = rng_below(stage->rng, 2), block[2];
    for (unsigned k = 0; k < 2; k++)
        block[k ^ order] =
            stage_add_block(stage, &pair[k ^ order], 1, false, sound, stage->cluster, stage->rng);
    unsigned first = stage->resource_count, number = stage->world->names++, owner = rng_below(stage->rng, 2);
    for (unsigned i = 0; i < 2 && !stage->failed; i++) {
        char name[48];
        snprintf(name, sizeof name, "e%04u_bdy_0%u", number, i + 1);
        struct resource_plan *resource = stage_add_resource(stage, &pair[i], 1, false, name, stage->cluster);
        resource_add_placement(resource, block[i ^ owner]);
        resource_add_placement(resource, block[i ^ owner ^ 1]);
        stage_store_size(stage, resource, block[0]);
        resource->has_class[simple->tag] = true;
    }
    if (!stage->failed)
        twin_truth(stage, first, block, mean_x(&pair[0].shape) < 0 ? 0 : 1);
    free_parts(pair, 2);
}

/* ---- one name, several containers ---- */

enum { ASSET_STREAM = 1 << 20, VARIANT_STREAM = 2 << 20, KEY_STREAM = 3 << 20 };

/* The mesh of a shared name, the same in every container. `rng` is left where the block's randomness begins,
 * so that equal names get equal bytes. */
static bool shared_part(struct stage *stage, unsigned stream, struct rng *rng, struct part *part)
{
    *rng = rng_make(stage->world->seed, stream);
    uint32_t triangles = 150 + rng_below(rng, stage->world->triangles_cap);
    part->shape = wish_shape(stage->world, rng, &(struct wish){.smooth = true, .triangles = triangles});
    part->layout = layout_random(rng, LAYOUT_HALF_NORMAL);
    if (!part->shape.corner)
        stage->failed = true;
    if (!stage->failed) {
        /* Counts that hardly any other mesh has: the name must fit into many containers. */
        shape_crop(&part->shape, part->shape.triangle_count - rng_below(rng, part->shape.triangle_count / 4));
        if (stage_take_counts(stage, &part->shape, stream >= KEY_STREAM))
            return true;
    }
    shape_free(&part->shape);
    return false;
}

static struct resource_plan *add_shared(struct stage *stage, const struct part *part, const char *name,
                                        struct rng *rng, enum corpus_class tag)
{
    unsigned block = stage_add_block(stage, part, 1, false, sound, stage->cluster, rng);
    struct resource_plan *resource = stage_add_resource(stage, part, 1, false, name, stage->cluster);
    resource_add_placement(resource, block);
    resource->has_class[tag] = true;
    return resource;
}

/* Names that several containers have: with equal bytes, or each with bytes of its own at equal counts. A name
 * whose counts the container has already is passed over. */
static void recipe_shared_name(struct stage *stage, const struct simple *simple)
{
    bool equal = simple->tag == CLASS_NAME_EQUAL;
    unsigned *uses = equal ? &stage->world->shared_uses : &stage->world->variant_uses;
    for (unsigned attempt = 0; attempt < stage->world->pool && !stage->failed; attempt++) {
        unsigned number = (*uses)++ % stage->world->pool;
        struct rng rng;
        struct part part;
        if (!shared_part(stage, (equal ? ASSET_STREAM : VARIANT_STREAM) + number, &rng, &part))
            continue;
        if (!equal) {
            struct shape own = rival_of(stage, &part.shape, rng_float(stage->rng, 0.4f, 2.5f));
            shape_free(&part.shape);
            part.shape = own;
            rng = *stage->rng;
        }
        char name[48];
        snprintf(name, sizeof name, "%s%03u_wep_01", equal ? "s" : "v", number);
        struct resource_plan *resource = add_shared(stage, &part, name, &rng, simple->tag);
        stage_store_size(stage, resource, resource->placement[0]);
        shape_free(&part.shape);
        return;
    }
}

enum { KEYS_OPEN = 60 }; /* fewer than key_container remembers */

/* A sole block whose name another container will need. */
static void recipe_key(struct stage *stage, const struct simple *simple)
{
    struct world *world = stage->world;
    struct rng rng;
    struct part part;
    char name[48];
    if (world->keys_made - world->keys_used >= KEYS_OPEN ||
        !shared_part(stage, KEY_STREAM + world->keys_made, &rng, &part)) {
        recipe_simple(stage, &(struct simple){.tag = CLASS_STAGE});
        return;
    }
    snprintf(name, sizeof name, "k%03u_base", world->keys_made);
    add_shared(stage, &part, name, &rng, simple->tag);
    world->key_container[world->keys_made++ % 64] = world->container;
    shape_free(&part.shape);
}

static bool has_key(const struct world *world)
{
    return world->keys_used < world->keys_made &&
           world->key_container[world->keys_used % 64] != world->container;
}

/* The right block and a stale one that nothing in this container tells apart: only the key's container does.
 */
static void recipe_rival_container(struct stage *stage, const struct simple *simple)
{
    struct rng rng;
    struct part part;
    unsigned number = stage->world->keys_used++;
    if (!shared_part(stage, KEY_STREAM + number, &rng, &part))
        return;
    struct part stale = {rival_of(stage, &part.shape, rng_float(stage->rng, 1.5f, 2.5f)), part.layout};
    if (!stale.shape.corner) {
        stage->failed = true;
    } else {
        bool before = rng_chance(stage->rng, 50);
        char name[48];
        snprintf(name, sizeof name, "k%03u_base", number);
        if (before)
            stage_add_block(stage, &stale, 1, false, sound, stage->cluster, stage->rng);
        struct resource_plan *resource = add_shared(stage, &part, name, &rng, simple->tag);
        resource->needs = "container";
        if (before && !stage->failed)
            stage->blocks[resource->placement[0]].follows = true;
        if (!before)
            add_block_beside(stage, &stale, sound, stage->cluster);
    }
    shape_free(&part.shape);
    shape_free(&stale.shape);
}

/* ---- dealing ---- */

enum { MOST_AT_ONCE = 12 }; /* resources one recipe makes */
enum { NEED_SIZES = 1, NEED_LOCALITY = 2, NEED_KEY = 4, NEED_WHOLE = 8 };

struct recipe {
    unsigned share; /* of a corpus, in thousandths of the resources of stages */
    unsigned needs;
    void (*make)(struct stage *stage, const struct simple *simple);
    struct simple simple;
};

/* clang-format off */
static const struct recipe recipes[] = {
    {80, 0, recipe_simple, {.tag = CLASS_STAGE}},
    {16, 0, recipe_simple, {.wish.split = true, .layout = LAYOUT_HALF_NORMAL, .tag = CLASS_SPLIT}},
    {18, 0, recipe_simple, {.wish.tiny = true, .layout = LAYOUT_HALF_NORMAL, .tag = CLASS_TINY}},
    {16, 0, recipe_simple, {.layout = LAYOUT_NO_NORMAL, .tag = CLASS_NO_NORMAL}},
    {16, 0, recipe_simple, {.layout = LAYOUT_FLOAT_NORMAL, .tag = CLASS_NORMAL_F32}},
    {15, 0, recipe_simple, {.wish.large = true, .tag = CLASS_LARGE}},
    {26, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .parts_least = 2, .parts_most = 6, .tag = CLASS_GROUPED}},
    {18, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .parts_least = 2, .parts_most = 4, .sequence = true,
      .tag = CLASS_SEQUENCE}},
    {16, 0, recipe_simple, {.layout = LAYOUT_HIDDEN_NUMBER, .tag = CLASS_HIDDEN_NUMBER}},
    {16, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .defects.first_normal = true, .tag = CLASS_FIRST_NORMAL}},
    {16, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .defects.last_normal = true, .tag = CLASS_LAST_NORMAL}},
    {16, 0, recipe_simple, {.layout = LAYOUT_HALF_NORMAL, .orphans = true, .tag = CLASS_ABUTTING}},
    {16, 0, recipe_simple, {.layout = LAYOUT_HALF_NORMAL, .wish.change = NOISY, .tag = CLASS_NOISY_WINDING}},
    {16, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .wish.change = INVERTED, .tag = CLASS_INVERTED_WINDING}},
    {16, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .wish.change = UNREFERENCED, .tag = CLASS_UNREFERENCED}},
    {16, 0, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .wish.change = SHORT_MAXIMUM, .tag = CLASS_SHORT_MAXIMUM}},
    {16, 0, recipe_simple, {.wish.change = DEGENERATE, .tag = CLASS_DEGENERATE}},
    {16, 0, recipe_simple, {.decoys = true, .tag = CLASS_DECOY_MARKER}},
    {16, NEED_WHOLE, recipe_simple,
     {.layout = LAYOUT_HALF_NORMAL, .contested = true, .tag = CLASS_CONTESTED}},
    {16, 0, recipe_simple,
     {.absent = true, .wish.exclusive = true, .layout = LAYOUT_HALF_NORMAL, .tag = CLASS_ABSENT}},
    {6, 0, recipe_simple, {.lie = LIE_OFFSET, .wish.exclusive = true, .tag = CLASS_LYING_ENTRY}},
    {6, 0, recipe_simple, {.lie = LIE_SIZE, .wish.exclusive = true, .tag = CLASS_LYING_ENTRY}},
    {4, 0, recipe_simple, {.lie = LIE_NAME, .wish.exclusive = true, .tag = CLASS_LYING_ENTRY}},
    {16, 0, recipe_simple, {.lie = LIE_NO_MARKER, .wish.exclusive = true, .tag = CLASS_NO_MARKER}},
    {8, 0, recipe_simple, {.lie = LIE_OVERLAP, .wish.exclusive = true, .tag = CLASS_NO_DECLARATION}},
    {8, 0, recipe_simple, {.lie = LIE_NO_POSITION, .wish.exclusive = true, .tag = CLASS_NO_DECLARATION}},
    {16, 0, recipe_simple,
     {.lie = LIE_ELEMENT, .wish.exclusive = true, .layout = LAYOUT_HALF_NORMAL,
      .tag = CLASS_UNKNOWN_ELEMENT}},
    {16, 0, recipe_preceding_unit, {.tag = CLASS_PRECEDING_UNIT}},
    {30, NEED_SIZES | NEED_WHOLE, recipe_rivals, {.tag = CLASS_RIVAL_SIZE}},
    {96, NEED_LOCALITY | NEED_WHOLE, recipe_neighbourhoods, {.tag = CLASS_RIVAL_NEIGHBOURHOOD}},
    {30, NEED_WHOLE, recipe_rivals, {.tag = CLASS_RIVAL_UNDECIDABLE}},
    {16, NEED_SIZES | NEED_WHOLE, recipe_stale, {.tag = CLASS_STALE_SIZE}},
    {16, NEED_WHOLE, recipe_stale, {.tag = CLASS_STALE_UNDECIDABLE}},
    {16, NEED_WHOLE, recipe_stale, {.tag = CLASS_IMPERFECT_RIGHT, .defects.imperfect_percent = 30}},
    {16, NEED_WHOLE, recipe_stale, {.tag = CLASS_TEXTURE_DECOY}},
    {48, NEED_WHOLE, recipe_attractor, {.tag = CLASS_ATTRACTOR}},
    {32, NEED_WHOLE, recipe_group_part, {.tag = CLASS_GROUP_PART}},
    {32, NEED_WHOLE, recipe_one_smaller, {.tag = CLASS_ONE_SMALLER}},
    {32, NEED_WHOLE, recipe_twins, {.tag = CLASS_TWIN}},
    {50, NEED_WHOLE, recipe_shared_block, {.tag = CLASS_SHARED_BLOCK}},
    {24, NEED_WHOLE, recipe_duplicate, {.tag = CLASS_DUPLICATE}},
    {20, NEED_WHOLE, recipe_shared_name, {.tag = CLASS_NAME_EQUAL}},
    {20, NEED_WHOLE, recipe_shared_name, {.tag = CLASS_NAME_OTHER}},
    {32, NEED_WHOLE, recipe_key, {.tag = CLASS_NAME_EQUAL}},
    {26, NEED_WHOLE | NEED_KEY, recipe_rival_container, {.tag = CLASS_RIVAL_CONTAINER}},
};
/* clang-format on */
enum { RECIPES = sizeof recipes / sizeof *recipes };
_Static_assert(RECIPES <= RECIPES_MAX, "struct world counts by recipe");

static bool allowed(const struct stage *stage, const struct recipe *recipe, unsigned made_here,
                    unsigned count)
{
    if (recipe->needs & NEED_SIZES && !stage->traits.sizes)
        return false;
    if (recipe->needs & NEED_LOCALITY &&
        (stage->traits.locality == LOCALITY_NONE || stage->cluster_count < 4))
        return false;
    if (recipe->needs & NEED_KEY && !has_key(stage->world))
        return false;
    if (recipe->needs & NEED_WHOLE && stage->traits.truncated)
        return false;
    /* So that the count is met exactly. */
    if (count - stage->resource_count < MOST_AT_ONCE && recipe->make != recipe_simple)
        return false;
    /* What other containers could not have does not crowd this one. */
    return made_here <= count * recipe->share * 4 / 1000;
}

/* The recipe that is furthest behind its share among those the container can have. */
static unsigned choose(const struct stage *stage, const unsigned *made_here, unsigned count)
{
    unsigned best = 0, start = rng_below(stage->rng, RECIPES);
    double least = 1e30;
    for (unsigned k = 0; k < RECIPES; k++) {
        unsigned i = (start + k) % RECIPES;
        double behind = (double)stage->world->dealt[i] / recipes[i].share;
        if (recipes[i].needs & (NEED_SIZES | NEED_LOCALITY | NEED_KEY))
            behind *= 0.5; /* the next container may not be able to */
        if (behind < least && allowed(stage, &recipes[i], made_here[i], count)) {
            least = behind;
            best = i;
        }
    }
    return best;
}

void recipes_deal(struct stage *stage, unsigned count)
{
    unsigned made_here[RECIPES_MAX] = {0}, last = UINT32_MAX;
    while (stage->resource_count < count && !stage->failed) {
        unsigned before = stage->resource_count, i = choose(stage, made_here, count);
        stage->cluster = stage->resource_count * stage->cluster_count / count;
        recipes[i].make(stage, &recipes[i].simple);
        unsigned made = stage->resource_count - before;
        if (made == 0 && last == before && !stage->failed) { /* it could not; an ordinary one instead */
            recipe_simple(stage, &recipes[0].simple);
            made = stage->resource_count - before;
        }
        last = before;
        made_here[i] += made;
        stage->world->dealt[i] += made ? made : 1;
    }
}
