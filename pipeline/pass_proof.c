/* pass_proof.c - a block proven for a name in one container is proven for it wherever the same bytes lie.
 *
 * Who teaches: a resource that is proven, or was assigned a perfect block that has no rival there, by a wide
 * margin; whose block is nobody else's; in a container that is not damaged but in its directory. Who learns:
 * a resource of the same name and form that is not as sure itself, with a candidate of the very bytes, and of
 * no other bytes that are taught for the name too. It becomes what its teacher is. A block that another
 * resource is proven to have is not taken from it; two that learn of overlapping blocks learn nothing. So a
 * wrong block spreads only where it lies in both containers under no other name, beside a resource of equal
 * counts that lost its own in one of them.
 *
 * Where nobody teaches, containers may still agree: bytes that are a perfect place for the name in two of
 * them, the only such bytes, are assigned, unless a resource of another name has them.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an assigned resource needs to teach: the margin from which the locator calls a block proven, and
 * enough triangles to be no accident. */
#define TEACHING_MARGIN    6.0
#define TEACHING_TRIANGLES 8u
#define TEACHING_VERTICES  12u
/* Resources of one name and form that may agree; what more have is no name, and comparing takes long. */
#define AGREEING_MAX 1024u

/* ---- who teaches --------------------------------------------------------------------------------------- */

struct claim {
    uint64_t start, end;
    uint32_t resource;
};

static int compare_claims(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->resource > y->resource) - (x->resource < y->resource);
}

/* Marks the located resources of a container whose blocks no other one's overlap. */
static void mark_alone(struct passes *passes, const struct pass_container *container, struct claim *claims)
{
    size_t count = 0;
    for (uint32_t i = 0; i < container->count; i++) {
        struct pass_resource *r = &passes->resources[container->first + i];
        r->alone = r->record && pass_is_located(r) && r->now.chosen != RESOLVED_NONE;
        if (r->alone)
            claims[count++] = (struct claim){pass_block_start(r, r->now.chosen),
                                             pass_block_end(r, r->now.chosen), container->first + i};
    }
    if (count)
        qsort(claims, count, sizeof *claims, compare_claims);
    size_t furthest = 0; /* the claim that reaches furthest of those before */
    for (size_t i = 1; i < count; i++) {
        if (claims[i].start < claims[furthest].end)
            passes->resources[claims[i].resource].alone = passes->resources[claims[furthest].resource].alone =
                false;
        if (claims[i].end > claims[furthest].end)
            furthest = i;
    }
}

/* Whether no other bytes of this container were a place worth having, and these are perfect. */
static bool is_without_rival(const struct pass_resource *r)
{
    const struct resource *resource = &r->record->resource;
    const struct anchor_evidence *e = &resource->candidates[r->now.chosen].evidence;
    for (uint32_t c = 0; c < resource->candidate_count; c++)
        if (resource->candidates[c].score > PASS_SCORE_LEAST &&
            !pass_same_bytes(&r->record->candidate_hashes[c], &r->record->candidate_hashes[r->now.chosen]))
            return false;
    return r->was == RESOURCE_ASSIGNED && !r->now.change_count && r->now.margin >= TEACHING_MARGIN &&
           !resource->candidates_dropped && !e->short_of_top && !e->unreferenced && !e->nonsense &&
           e->triangles >= TEACHING_TRIANGLES && e->normals == e->vertices && e->unit == e->normals &&
           e->run_start > 0 && e->run_end > 0;
}

/* Whether the container's bytes are as they were made. */
static bool is_sound(const struct passes *passes, const struct pass_resource *r)
{
    const struct pass_container *container = &passes->containers[r->container];
    return container->status == CONTAINER_READ || container->reason == CONTAINER_BAD_DIRECTORY;
}

/* How the stored size speaks of a place; 0 where nothing is chosen. */
static int size_match_of(const struct pass_resource *r, uint32_t candidate)
{
    return candidate == RESOLVED_NONE ? 0 : r->record->resource.candidates[candidate].evidence.size_match;
}

static bool may_teach(const struct passes *passes, const struct pass_resource *r)
{
    return pass_is_located(r) && size_match_of(r, r->now.chosen) >= 0 && r->alone && is_sound(passes, r) &&
           !(r->now.flags & FLAG_BIT(FLAG_NON_FINITE)) && !hash_is_zero(&r->now.geometry) &&
           (r->now.status == RESOURCE_PROVEN || is_without_rival(r));
}

static bool is_open(const struct pass_resource *r)
{
    return r->now.status == RESOURCE_AMBIGUOUS || r->now.status == RESOURCE_DECLINED;
}

/* Whether a resource may learn from that teacher: it must be less sure. */
static bool may_learn(const struct pass_resource *r, const struct pass_resource *teacher)
{
    return !r->now.captured &&
           (is_open(r) || (r->now.status == RESOURCE_ASSIGNED && teacher->now.status == RESOURCE_PROVEN));
}

/* ---- groups: one name, one form ------------------------------------------------------------------------ */

static bool is_member(const struct passes *passes, const struct pass_resource *r)
{
    (void)passes;
    return r->record && r->name[0] && r->record->resource.marker_count && r->record->resource.candidate_count;
}

static int compare_names(const struct pass_resource *a, const struct pass_resource *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : memcmp(a->form.bytes, b->form.bytes, HASH_SIZE);
}

static bool proof_units(struct passes *passes, size_t *count, struct error *err)
{
    struct claim *claims = malloc((passes->resource_count + 1) * sizeof *claims);
    if (!claims)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < passes->container_count; i++)
        mark_alone(passes, &passes->containers[i], claims);
    free(claims);
    buffer_clear(&passes->proposals);
    if (!passes_group(passes, is_member, compare_names, err))
        return false;
    *count = passes->group_count;
    return true;
}

/* ---- what is learned ----------------------------------------------------------------------------------- */

/* Bytes that are proven for the name, or that two containers agree on. */
struct lesson {
    struct candidate_hashes bytes;
    uint32_t teacher, candidate;
    bool proven;
};

struct proposal {
    uint32_t learner, candidate, teacher;
    bool agreed; /* nobody teaches: the teacher is in the same position in another container */
};

struct proposals {
    size_t count;
    struct proposal *list;
};

static int compare_lessons(const void *a, const void *b)
{
    const struct lesson *x = a, *y = b;
    int order = memcmp(x->bytes.index_bytes.bytes, y->bytes.index_bytes.bytes, HASH_SIZE);
    if (order == 0)
        order = memcmp(x->bytes.vertex_bytes.bytes, y->bytes.vertex_bytes.bytes, HASH_SIZE);
    return order;
}

/* Of those who teach the same, a proven one first. */
static int compare_lessons_by_teacher(const void *a, const void *b)
{
    const struct lesson *x = a, *y = b;
    int order = compare_lessons(a, b);
    if (order == 0)
        order = y->proven - x->proven;
    return order ? order : (x->teacher > y->teacher) - (x->teacher < y->teacher);
}

static size_t gather_lessons(const struct passes *passes, const uint32_t *members, size_t count,
                             struct lesson *lessons)
{
    size_t met = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pass_resource *r = &passes->resources[members[i]];
        if (may_teach(passes, r))
            lessons[met++] = (struct lesson){r->record->candidate_hashes[r->now.chosen], members[i],
                                             r->now.chosen, r->now.status == RESOURCE_PROVEN};
    }
    if (met)
        qsort(lessons, met, sizeof *lessons, compare_lessons_by_teacher);
    for (size_t i = 0; i < met; i++)
        if (kept == 0 || compare_lessons(&lessons[kept - 1], &lessons[i]) != 0)
            lessons[kept++] = lessons[i];
    return kept;
}

/* The candidate whose bytes are proven. Of several places with the same bytes the best: they are no different
 * answer. False when there is none, or places of different bytes are proven. */
static bool learn(const struct pass_resource *r, const struct lesson *lessons, size_t count,
                  struct proposal *out)
{
    const struct lesson *learned = NULL;
    for (uint32_t c = 0; c < r->record->resource.candidate_count; c++) {
        const struct lesson wanted = {.bytes = r->record->candidate_hashes[c]};
        const struct lesson *found = bsearch(&wanted, lessons, count, sizeof wanted, compare_lessons);
        /* What another resource of the name has may be a variant: here the size tells. */
        if (found &&
            (size_match_of(r, c) < -1 || (size_match_of(r, c) < 0 && size_match_of(r, r->now.chosen) > 0)))
            return false;
        if (found && learned && found != learned)
            return false;
        if (found && !learned) {
            learned = found;
            out->candidate = c;
            out->teacher = found->teacher;
        }
    }
    return learned != NULL;
}

/* ---- what two containers agree on ---------------------------------------------------------------------- */

/* A place worth having, without fault but perhaps for its normals. */
static bool is_perfect(const struct candidate *candidate)
{
    const struct anchor_evidence *e = &candidate->evidence;
    return candidate->score > PASS_SCORE_LEAST && !e->short_of_top && !e->unreferenced && !e->nonsense &&
           e->triangles >= TEACHING_TRIANGLES && e->vertices >= TEACHING_VERTICES &&
           2 * e->unit >= e->normals;
}

/* Whether a located resource of another name has a block that overlaps the place. */
static bool is_held(const struct passes *passes, const struct lesson *place)
{
    const struct pass_resource *r = &passes->resources[place->teacher];
    const struct pass_container *container = &passes->containers[r->container];
    for (uint32_t i = container->first; i < container->first + container->count; i++) {
        const struct pass_resource *other = &passes->resources[i];
        bool same;
        if (other->record && pass_is_located(other) && other->now.chosen != RESOLVED_NONE &&
            strcmp(other->name, r->name) != 0 &&
            pass_blocks_overlap(r, place->candidate, other, other->now.chosen, &same))
            return true;
    }
    return false;
}

/* The only bytes that are a perfect place for the name in several containers, as two lessons whose teachers
 * lie in different ones. Blocks that have strayed into a container do not stray into another under the same
 * name; two such contents, as twins and rivals of equal counts have, tell nothing, nor does one that somebody
 * else has in either. False when there are none.
 */
static bool agree(const struct passes *passes, struct lesson *list, size_t count, struct lesson out[static 2])
{
    size_t agreed = 0;
    bool held = false;
    if (count)
        qsort(list, count, sizeof *list, compare_lessons_by_teacher);
    for (size_t i = 0, end; i < count; i = end) {
        uint32_t first = passes->resources[list[i].teacher].container;
        size_t other = i;
        for (end = i; end < count && compare_lessons(&list[i], &list[end]) == 0; end++)
            if (passes->resources[list[end].teacher].container != first)
                other = end;
        if (other == i)
            continue;
        out[0] = list[i];
        out[1] = list[other];
        agreed++;
        for (size_t k = i; k < end && !held; k++)
            held = is_held(passes, &list[k]);
    }
    return agreed == 1 && !held;
}

/* The perfect places of all members; NULL when memory runs out. */
static struct lesson *list_perfect(const struct passes *passes, const uint32_t *members, size_t count,
                                   struct arena *arena, size_t *met)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += passes->resources[members[i]].record->resource.candidate_count;
    struct lesson *list = arena_array(arena, room, sizeof *list);
    *met = 0;
    for (size_t i = 0; list && i < count; i++) {
        const struct pass_resource *r = &passes->resources[members[i]];
        for (uint32_t c = 0; c < r->record->resource.candidate_count && is_sound(passes, r); c++)
            if (is_perfect(&r->record->resource.candidates[c]))
                list[(*met)++] = (struct lesson){r->record->candidate_hashes[c], members[i], c, false};
    }
    return list;
}

/* Proposes the agreed bytes to every member that is open and has them. */
static bool propose_agreed(const struct passes *passes, const uint32_t *members, size_t count,
                           struct arena *arena, struct proposals *out)
{
    size_t met;
    struct lesson *list = list_perfect(passes, members, count, arena, &met), agreed[2];
    if (!list)
        return false;
    if (!agree(passes, list, met, agreed))
        return true;
    for (size_t i = 0; i < count; i++) {
        const struct pass_resource *r = &passes->resources[members[i]];
        struct proposal proposal = {.learner = members[i], .agreed = true};
        if (!is_open(r) || r->now.captured || !learn(r, agreed, 1, &proposal))
            continue;
        if (passes->resources[proposal.teacher].container == r->container)
            proposal.teacher = agreed[1].teacher;
        out->list[out->count++] = proposal;
    }
    return true;
}

static bool proof_run(const struct passes *passes, size_t unit, int thread, void **result, struct error *err)
{
    const uint32_t *members = passes->groups + passes->group_starts[unit];
    size_t count = passes->group_starts[unit + 1] - passes->group_starts[unit];
    struct arena *arena = &passes->threads[thread].arena;
    if (count < 2)
        return true;
    struct lesson *lessons = arena_array(arena, count, sizeof *lessons);
    struct proposals *out = arena_alloc(arena, sizeof *out);
    if (!lessons || !out || !(out->list = arena_array(arena, count, sizeof *out->list)))
        return passes_out_of_memory(err);
    size_t lesson_count = gather_lessons(passes, members, count, lessons);
    for (size_t i = 0; i < count && lesson_count; i++) {
        const struct pass_resource *r = &passes->resources[members[i]];
        struct proposal proposal = {.learner = members[i]};
        if (learn(r, lessons, lesson_count, &proposal) && may_learn(r, &passes->resources[proposal.teacher]))
            out->list[out->count++] = proposal;
    }
    if (!lesson_count && count <= AGREEING_MAX && !propose_agreed(passes, members, count, arena, out))
        return passes_out_of_memory(err);
    *result = out->count ? out : NULL;
    return true;
}

static bool proof_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct proposals *proposals = result;
    (void)unit;
    buffer_append(&passes->proposals, proposals->list, proposals->count * sizeof *proposals->list);
    return !passes->proposals.failed || passes_out_of_memory(err);
}

/* ---- what contradicts it ------------------------------------------------------------------------------- */

/* Another resource that has, or is about to have, a block the proposal overlaps; NULL when none has. Equal
 * names may share one block. */
static const struct pass_resource *find_holder(const struct passes *passes, const uint32_t *proposed,
                                               const struct proposal *proposal)
{
    const struct pass_resource *r = &passes->resources[proposal->learner];
    const struct pass_container *container = &passes->containers[r->container];
    const struct proposal *all = (const struct proposal *)passes->proposals.data;
    for (uint32_t i = container->first; i < container->first + container->count; i++) {
        const struct pass_resource *other = &passes->resources[i];
        bool settled = proposal->agreed ? pass_is_located(other) : other->now.status == RESOURCE_PROVEN;
        bool same, held = settled && other->now.chosen != RESOLVED_NONE;
        uint32_t place = proposed[i] ? all[proposed[i] - 1].candidate : other->now.chosen;
        if (other == r || (!held && !proposed[i]) ||
            !pass_blocks_overlap(r, proposal->candidate, other, place, &same))
            continue;
        if (!same || strcmp(r->name, other->name) != 0)
            return other;
    }
    return NULL;
}

static bool decide(struct passes *passes, const struct proposal *proposal, const struct pass_resource *holder,
                   struct error *err)
{
    struct pass_resource *r = &passes->resources[proposal->learner];
    const struct pass_resource *teacher = &passes->resources[proposal->teacher];
    struct hash geometry = pass_geometry_of(passes, r, proposal->candidate);
    uint32_t sides[2] = {proposal->learner, proposal->teacher};
    char subject[128], hex[HASH_HEX];
    snprintf(subject, sizeof subject, "%.100s#%u", r->name, r->key.index);
    if (holder && proposal->agreed)
        return true; /* nothing was proven, so nothing is contested */
    if (holder)
        return passes_find(passes, FINDING_CONTESTED_PROOF, &r->key.container, subject, sides, 2, err,
                           "the bytes proven for this name elsewhere are those of %.100s here", holder->name);
    if (hash_is_zero(&geometry))
        return passes_find(
            passes, FINDING_PROOF_NOT_STORED, &r->key.container, subject, sides, 2, err,
            "its place is proven by equal bytes elsewhere, but was never decoded for its draws");
    hash_format(&teacher->key.container, hex);
    r->now.taught = true;
    if (proposal->agreed)
        return passes_change(passes, r, RESOURCE_ASSIGNED, proposal->candidate, PASS_SURE_MARGIN, err,
                             "the same bytes, and no others, fit this name in container %s, entry %u", hex,
                             teacher->key.index);
    return passes_change(passes, r, teacher->now.status, proposal->candidate, teacher->now.margin, err,
                         "the same bytes are %s for this name in container %s, entry %u",
                         resource_status_word(teacher->now.status), hex, teacher->key.index);
}

static bool proof_finish(struct passes *passes, struct error *err)
{
    const struct proposal *all = (const struct proposal *)passes->proposals.data;
    size_t count = passes->proposals.size / sizeof *all;
    uint32_t *proposed =
        calloc(passes->resource_count + 1, sizeof *proposed); /* number of the proposal + 1 */
    const struct pass_resource **holders = calloc(count + 1, sizeof *holders);
    bool ok = (proposed && holders) || passes_out_of_memory(err);
    for (size_t i = 0; ok && i < count; i++)
        proposed[all[i].learner] = (uint32_t)i + 1;
    for (size_t i = 0; ok && i < count; i++)
        holders[i] = find_holder(passes, proposed, &all[i]);
    for (size_t i = 0; ok && i < count; i++)
        ok = decide(passes, &all[i], holders[i], err);
    free(proposed);
    free(holders);
    return ok;
}

const struct stage pass_proof = {.name = "proof",
                                 .version = 2,
                                 .units = proof_units,
                                 .run = proof_run,
                                 .commit = proof_commit,
                                 .finish = proof_finish};
