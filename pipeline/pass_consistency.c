/* pass_consistency.c - every name that occurs in two containers or more: is it the same thing there?
 *
 * The same bytes everywhere: `same`. Other bytes at equal counts: `inconsistent`, which is either a variant
 * that somebody made with care or a mistake of this program. Other bytes, all of other counts: `variant`.
 * Located in one container at most: `undecided`. Located geometry is compared by its index and vertex bytes,
 * since draws may cut the same bytes differently; addressed geometry by its hash; twins by what they are
 * drawn from. All sides are listed, decided or not.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_member(const struct passes *passes, const struct pass_resource *r)
{
    (void)passes;
    return r->name[0] && r->format != FORMAT_BMF; /* libraries have no geometry to compare */
}

static int compare_members(const struct pass_resource *a, const struct pass_resource *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : (a->format > b->format) - (a->format < b->format);
}

static bool consistency_units(struct passes *passes, size_t *count, struct error *err)
{
    if (!passes_group(passes, is_member, compare_members, err))
        return false;
    *count = passes->group_count;
    return true;
}

struct verdict {
    enum finding_kind kind;
    uint32_t contents, containers;
};

/* What a located resource is drawn as. */
struct drawn {
    uint32_t vertices, triangles;
    struct hash content;
    bool mirrored;
};

static struct hash content_of(const struct pass_resource *r)
{
    if (!r->record || r->now.chosen == RESOLVED_NONE)
        return r->now.geometry;
    const struct candidate_hashes *hashes = &r->record->candidate_hashes[r->now.chosen];
    const struct hash words[2] = {hashes->index_bytes, hashes->vertex_bytes};
    return hash_bytes(words, sizeof words);
}

static const struct pass_resource *twin_of(const struct passes *passes, const struct pass_resource *r)
{
    const struct pass_container *container = &passes->containers[r->container];
    for (uint32_t i = container->first; i < container->first + container->count; i++)
        if (passes->resources[i].key.index == r->now.canonical.twin)
            return &passes->resources[i];
    return r;
}

static struct drawn drawn_of(const struct passes *passes, const struct pass_resource *r)
{
    bool twin = r->now.canonical.basis != CANONICAL_NONE;
    bool own = !twin || hash_equal(&r->now.canonical.geometry, &r->now.geometry);
    return (struct drawn){r->vertices, r->triangles, content_of(own ? r : twin_of(passes, r)),
                          twin && r->now.canonical.mirrored};
}

static int compare_counts(const struct drawn *a, const struct drawn *b)
{
    if (a->vertices != b->vertices)
        return a->vertices < b->vertices ? -1 : 1;
    return (a->triangles > b->triangles) - (a->triangles < b->triangles);
}

static int compare_drawn(const void *left, const void *right)
{
    const struct drawn *a = left, *b = right;
    int order = compare_counts(a, b);
    if (order == 0)
        order = memcmp(a->content.bytes, b->content.bytes, HASH_SIZE);
    return order ? order : a->mirrored - b->mirrored;
}

static bool is_decided(const struct pass_resource *r)
{
    return pass_is_located(r) || r->now.status == RESOURCE_DECODED;
}

static bool consistency_run(const struct passes *passes, size_t unit, int thread, void **result,
                            struct error *err)
{
    const uint32_t *members = passes->groups + passes->group_starts[unit];
    size_t count = passes->group_starts[unit + 1] - passes->group_starts[unit], met = 0;
    const struct pass_resource *all = passes->resources;
    /* Members are in the order of resources, so in that of containers. */
    if (count < 2 || all[members[0]].container == all[members[count - 1]].container)
        return true;
    struct verdict *out = arena_alloc(&passes->threads[thread].arena, sizeof *out);
    struct drawn *drawn = arena_array(&passes->threads[thread].arena, count, sizeof *drawn);
    if (!out || !drawn)
        return passes_out_of_memory(err);
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct pass_resource *r = &all[members[i]];
        if (!is_decided(r))
            continue;
        out->containers += r->container != last;
        last = r->container;
        drawn[met++] = drawn_of(passes, r);
    }
    if (met)
        qsort(drawn, met, sizeof *drawn, compare_drawn);
    bool equal_counts = false, other = false;
    for (size_t i = 0; i < met; i++) {
        bool differs = i == 0 || compare_drawn(&drawn[i - 1], &drawn[i]) != 0;
        out->contents += differs;
        other |= i && differs;
        equal_counts |= i && differs && compare_counts(&drawn[i - 1], &drawn[i]) == 0;
    }
    out->kind = out->containers < 2 ? FINDING_UNDECIDED
                : equal_counts      ? FINDING_INCONSISTENT
                : other             ? FINDING_VARIANT
                                    : FINDING_SAME;
    *result = out;
    return true;
}

static bool consistency_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const uint32_t *members = passes->groups + passes->group_starts[unit];
    size_t count = passes->group_starts[unit + 1] - passes->group_starts[unit];
    const struct verdict *verdict = result;
    const struct pass_resource *first = &passes->resources[members[0]];
    char subject[512]; /* a name of two formats is two findings */
    snprintf(subject, sizeof subject, "%.450s (%s)", first->name, format_word(first->format));
    return passes_find(passes, verdict->kind, NULL, subject, members, count, err,
                       "%zu resources, decided in %u containers: %u different contents", count,
                       verdict->containers, verdict->contents);
}

const struct stage pass_consistency = {.name = "consistency",
                                       .version = 1,
                                       .units = consistency_units,
                                       .run = consistency_run,
                                       .commit = consistency_commit};
