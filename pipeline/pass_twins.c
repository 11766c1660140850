/* pass_twins.c - pairs of resources whose geometries are each other's reflection in x.
 *
 * One of the two blocks is canonical: both resources are drawn from it, one of them mirrored
 * (formats/xbg7.md, "Twins"). Which one, a capture of either resource decides; without any it is the block
 * whose mean x is negative. Pairs are looked for among located resources of one container and form whose
 * bounds are reflections; then their vertices are compared as sets (reflect.h). Geometry that is its own
 * reflection has no twin. Where more than two resources have the two geometries, names tell which belong
 * together, or nothing does.
 */
#include "pipeline/passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/names.h"
#include "pipeline/reflect.h"

/* Geometries of equal lowest y that one is compared with; more do not occur but by design. */
#define RIVALS_MAX 64

struct pair {
    uint32_t resources[2]; /* by name, then index */
    double mean_x;         /* of the first one's geometry */
    bool unclear;          /* reflections, but no pair */
};

struct pairs {
    size_t count, room;
    struct pair *list;
};

static bool is_member(const struct passes *passes, const struct pass_resource *r)
{
    (void)passes;
    return r->record && pass_is_located(r) && r->now.bounds.valid && !hash_is_zero(&r->now.geometry);
}

/* One container, one form: counts and layout. */
static int compare_members(const struct pass_resource *a, const struct pass_resource *b)
{
    if (a->container != b->container)
        return a->container < b->container ? -1 : 1;
    return memcmp(a->form.bytes, b->form.bytes, HASH_SIZE);
}

static bool twins_units(struct passes *passes, size_t *count, struct error *err)
{
    if (!passes_group(passes, is_member, compare_members, err))
        return false;
    *count = passes->group_count;
    return true;
}

/* ---- which geometries are reflections ------------------------------------------------------------------ */

/* A geometry of a group, with the resources that have it. */
struct shape {
    const struct pass_resource *first;
    uint32_t count, *members; /* numbers of resources, ascending */
    bool paired;
};

struct twins {
    const struct passes *passes;
    struct pass_thread *thread;
    struct arena scratch; /* of one comparison */
    struct error *err;
};

static bool near_enough(float a, float b, float tolerance)
{
    return fabsf(a - b) <= tolerance;
}

static bool bounds_reflect(const struct bounds *a, const struct bounds *b)
{
    float extent = 0;
    for (int k = 0; k < 3; k++)
        extent = fmaxf(extent, a->max[k] - a->min[k]);
    float tolerance = extent * REFLECT_TOLERANCE;
    return near_enough(a->min[0], -b->max[0], tolerance) && near_enough(a->max[0], -b->min[0], tolerance) &&
           near_enough(a->min[1], b->min[1], tolerance) && near_enough(a->max[1], b->max[1], tolerance) &&
           near_enough(a->min[2], b->min[2], tolerance) && near_enough(a->max[2], b->max[2], tolerance);
}

static const struct mesh *read_mesh(struct twins *t, const struct hash *geometry)
{
    struct buffer *bytes = &t->thread->bytes;
    bool found;
    buffer_clear(bytes);
    if (!store_get_geometry(t->thread->txn, geometry, bytes, &found, t->err))
        return NULL;
    if (!found) {
        error_set(t->err, ERROR_STORE, ERROR_NO_OFFSET,
                  "a geometry is missing: `anchorage check` tells more");
        return NULL;
    }
    return mesh_read(bytes->data, bytes->size, &t->scratch, t->err);
}

/* The mean x of all vertices; 0 where it is too near 0 to tell sides. */
static double mean_x_of(const struct mesh *mesh, const struct bounds *bounds)
{
    double sum = 0, reach = fmax(fabs((double)bounds->min[0]), fabs((double)bounds->max[0]));
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        sum += (double)mesh->streams[0].data[3 * (size_t)v];
    double mean = sum / mesh->vertex_count;
    return fabs(mean) > reach * (double)REFLECT_TOLERANCE ? mean : 0;
}

/* Whether two geometries are reflections and not the same set. False only for an error. */
static bool compare_shapes(struct twins *t, const struct shape *a, const struct shape *b, bool *twins,
                           double *mean_x)
{
    *twins = false;
    arena_reset(&t->scratch);
    const struct mesh *mine = read_mesh(t, &a->first->now.geometry);
    const struct mesh *theirs = mine ? read_mesh(t, &b->first->now.geometry) : NULL;
    if (!theirs)
        return false;
    if (mine->vertex_count != theirs->vertex_count || !mine->vertex_count)
        return true;
    const float *p = mine->streams[0].data, *q = theirs->streams[0].data;
    enum reflect_answer reflected = reflect_match(p, q, mine->vertex_count, true, &t->scratch);
    enum reflect_answer equal =
        reflected == REFLECT_YES ? reflect_match(p, q, mine->vertex_count, false, &t->scratch) : REFLECT_NO;
    if (reflected == REFLECT_NOMEM || equal == REFLECT_NOMEM)
        return passes_out_of_memory(t->err);
    *twins = reflected == REFLECT_YES && equal == REFLECT_NO;
    *mean_x = mean_x_of(mine, &a->first->now.bounds);
    return true;
}

/* ---- which resources are pairs ------------------------------------------------------------------------- */

static int compare_names(const struct pass_resource *a, const struct pass_resource *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : (a->key.index > b->key.index) - (a->key.index < b->key.index);
}

static bool add_pair(struct twins *t, struct pairs *out, uint32_t a, uint32_t b, double mean_x_of_a,
                     bool unclear)
{
    bool swapped = compare_names(&t->passes->resources[a], &t->passes->resources[b]) > 0;
    if (out->count == out->room) {
        size_t room = out->room ? 2 * out->room : 8;
        struct pair *list = arena_array(&t->thread->arena, room, sizeof *list);
        if (!list)
            return passes_out_of_memory(t->err);
        if (out->count)
            memcpy(list, out->list, out->count * sizeof *list);
        out->list = list;
        out->room = room;
    }
    out->list[out->count++] =
        (struct pair){{swapped ? b : a, swapped ? a : b}, swapped ? -mean_x_of_a : mean_x_of_a, unclear};
    return true;
}

/* Pairs the resources of two reflected geometries: one of each, or those whose names count on. */
static bool pair_members(struct twins *t, const struct shape *a, const struct shape *b, double mean_x,
                         struct pairs *out)
{
    size_t before = out->count;
    if (a->count == 1 && b->count == 1)
        return add_pair(t, out, a->members[0], b->members[0], mean_x, false);
    for (uint32_t i = 0; i < a->count && i < RIVALS_MAX; i++)
        for (uint32_t k = 0; k < b->count && k < RIVALS_MAX; k++) {
            const struct pass_resource *x = &t->passes->resources[a->members[i]],
                                       *y = &t->passes->resources[b->members[k]];
            if ((names_count_on(x->name, y->name) || names_count_on(y->name, x->name)) &&
                !add_pair(t, out, a->members[i], b->members[k], mean_x, false))
                return false;
        }
    return out->count != before || add_pair(t, out, a->members[0], b->members[0], mean_x, true);
}

static int compare_shapes_by_y(const void *left, const void *right)
{
    const struct shape *a = left, *b = right;
    float x = a->first->now.bounds.min[1], y = b->first->now.bounds.min[1];
    if (x != y)
        return x < y ? -1 : 1;
    return (a->members[0] > b->members[0]) - (a->members[0] < b->members[0]);
}

struct by_geometry {
    struct hash geometry;
    uint32_t resource;
};

static int compare_by_geometry(const void *left, const void *right)
{
    const struct by_geometry *a = left, *b = right;
    int order = memcmp(a->geometry.bytes, b->geometry.bytes, HASH_SIZE);
    return order ? order : (a->resource > b->resource) - (a->resource < b->resource);
}

/* The distinct geometries of a group, by lowest y. */
static struct shape *make_shapes(const struct passes *passes, const uint32_t *numbers, size_t count,
                                 struct arena *arena, size_t *shape_count)
{
    struct by_geometry *list = arena_array(arena, count, sizeof *list);
    struct shape *shapes = arena_array(arena, count, sizeof *shapes);
    uint32_t *members = arena_array(arena, count, sizeof *members);
    size_t kept = 0;
    if (!list || !shapes || !members)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct by_geometry){passes->resources[numbers[i]].now.geometry, numbers[i]};
    qsort(list, count, sizeof *list, compare_by_geometry);
    for (size_t i = 0; i < count; i++) {
        members[i] = list[i].resource;
        if (i == 0 || !hash_equal(&list[i - 1].geometry, &list[i].geometry))
            shapes[kept++] = (struct shape){&passes->resources[list[i].resource], 0, &members[i], false};
        shapes[kept - 1].count++;
    }
    qsort(shapes, kept, sizeof *shapes, compare_shapes_by_y);
    *shape_count = kept;
    return shapes;
}

static bool find_pairs(struct twins *t, struct shape *shapes, size_t count, struct pairs *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct bounds *mine = &shapes[i].first->now.bounds;
        float tolerance = 2 * REFLECT_TOLERANCE *
                          (fabsf(mine->min[1]) + mine->max[1] - mine->min[1] + mine->max[0] - mine->min[0] +
                           mine->max[2] - mine->min[2]);
        for (size_t k = i + 1; k < count && k <= i + RIVALS_MAX; k++) {
            bool twins;
            double mean_x = 0;
            if (shapes[k].first->now.bounds.min[1] - mine->min[1] > tolerance)
                break;
            if (shapes[i].paired || shapes[k].paired || !bounds_reflect(mine, &shapes[k].first->now.bounds))
                continue;
            if (!compare_shapes(t, &shapes[i], &shapes[k], &twins, &mean_x))
                return false;
            if (!twins)
                continue;
            shapes[i].paired = shapes[k].paired = true;
            if (!pair_members(t, &shapes[i], &shapes[k], mean_x, out))
                return false;
        }
    }
    return true;
}

static bool twins_run(const struct passes *passes, size_t unit, int thread, void **result, struct error *err)
{
    const uint32_t *numbers = passes->groups + passes->group_starts[unit];
    size_t count = passes->group_starts[unit + 1] - passes->group_starts[unit], shape_count = 0;
    struct twins t = {.passes = passes, .thread = &passes->threads[thread], .err = err};
    if (count < 2)
        return true;
    struct pairs *out = arena_alloc(&t.thread->arena, sizeof *out);
    struct shape *shapes = make_shapes(passes, numbers, count, &t.thread->arena, &shape_count);
    bool ok = (out && shapes) || passes_out_of_memory(err);
    ok = ok && find_pairs(&t, shapes, shape_count, out);
    arena_free(&t.scratch);
    *result = ok && out->count ? out : NULL;
    return ok;
}

/* ---- which one is canonical ---------------------------------------------------------------------------- */

static int compare_sign_name(const void *name, const void *sign)
{
    return strcmp(name, ((const struct pass_sign *)sign)->capture->resource);
}

static struct pass_sign *sign_of(struct passes *passes, const char *name)
{
    return passes->sign_count
               ? bsearch(name, passes->signs, passes->sign_count, sizeof *passes->signs, compare_sign_name)
               : NULL;
}

/* The sign that the first of a pair is drawn with: 1 or -1; *confirmed when a capture says so. */
static bool drawn_sign(struct passes *passes, const struct pair *pair, int *sign, bool *confirmed,
                       struct error *err)
{
    const struct pass_resource *first = &passes->resources[pair->resources[0]],
                               *second = &passes->resources[pair->resources[1]];
    struct pass_sign *a = sign_of(passes, first->name), *b = sign_of(passes, second->name);
    *sign = 1;
    *confirmed = a || b;
    if (a)
        a->used = true;
    if (b)
        b->used = true;
    /* Both are drawn from one block, one of them mirrored, so their signs differ. */
    bool later_a = a && b && a->capture->order > b->capture->order;
    if (a && !later_a)
        *sign = a->capture->row0_x;
    else if (b)
        *sign = -b->capture->row0_x;
    if (!a || !b || a->capture->row0_x != b->capture->row0_x)
        return true;
    const struct capture_record *late = later_a ? a->capture : b->capture,
                                *early = later_a ? b->capture : a->capture;
    return passes_find(
        passes, FINDING_CONTRADICTED, &first->key.container, late->resource, pair->resources, 2, err,
        "row0_x %d captured of %.60s contradicts row0_x %d of its twin %.60s, captured earlier; that stays",
        late->row0_x, late->resource, early->row0_x, early->resource);
}

static bool canonicalise(struct passes *passes, const struct pair *pair, struct error *err)
{
    struct pass_resource *r[2] = {&passes->resources[pair->resources[0]],
                                  &passes->resources[pair->resources[1]]};
    int sign;
    bool confirmed;
    char subject[128];
    snprintf(subject, sizeof subject, "%.100s#%u", r[0]->name, r[0]->key.index);
    if (pair->unclear || pair->mean_x == 0 || r[0]->now.canonical.basis || r[1]->now.canonical.basis)
        return passes_find(
            passes, FINDING_UNCLEAR_TWINS, &r[0]->key.container, subject, pair->resources, 2, err, "%s",
            pair->mean_x == 0 ? "reflections of each other, neither of them on one side"
                              : "reflections of each other, shared by others, and no names that count on");
    if (!drawn_sign(passes, pair, &sign, &confirmed, err))
        return false;
    unsigned negative = pair->mean_x < 0 ? 0 : 1, canonical = sign > 0 ? negative : !negative;
    for (unsigned i = 0; i < 2; i++)
        r[i]->now.canonical = (struct resolved_canonical){
            .basis = confirmed ? CANONICAL_CONFIRMED : CANONICAL_ASSUMED,
            .geometry = r[canonical]->now.geometry,
            .mirrored = (i == 1) == (sign > 0),
            .twin = r[!i]->key.index,
        };
    return true;
}

static bool twins_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct pairs *pairs = result;
    (void)unit;
    for (size_t i = 0; i < pairs->count; i++)
        if (!canonicalise(passes, &pairs->list[i], err))
            return false;
    return true;
}

static bool twins_finish(struct passes *passes, struct error *err)
{
    for (size_t i = 0; i < passes->sign_count; i++) {
        const struct pass_sign *sign = &passes->signs[i];
        if (!sign->used && !passes_find(passes, FINDING_UNUSED_CAPTURE, NULL, sign->capture->resource, NULL,
                                        0, err, "row0_x %d is captured of %s, which has no twin in the store",
                                        sign->capture->row0_x, sign->capture->resource))
            return false;
    }
    return true;
}

const struct stage pass_twins = {.name = "twins",
                                 .version = 1,
                                 .units = twins_units,
                                 .run = twins_run,
                                 .commit = twins_commit,
                                 .finish = twins_finish};
