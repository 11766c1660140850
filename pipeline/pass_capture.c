/* pass_capture.c - placements that were captured from a running engine: they are proof.
 *
 * A capture that excludes an earlier one, or does not fit its resource, is a contradiction: the earlier one
 * stays. One whose place is not among the stored candidates cannot be followed from the store alone; then
 * what was decided by other means is not called decided any more.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool capture_units(struct passes *passes, size_t *count, struct error *err)
{
    (void)passes, (void)err;
    *count = 1;
    return true;
}

/* Captures are few, and each depends on those before it: all is done by the commit. */
static bool capture_run(const struct passes *passes, size_t unit, int thread, void **result,
                        struct error *err)
{
    (void)unit, (void)err;
    *result = &passes->threads[thread];
    return true;
}

/* ---- which resource is meant --------------------------------------------------------------------------- */

static int compare_containers(const void *a, const void *b)
{
    const struct pass_container *x = a, *y = b;
    return memcmp(x->hash.bytes, y->hash.bytes, HASH_SIZE);
}

/* The one resource of that name in the container of that address; NULL when there is none, or several. */
static bool find_meant(struct passes *passes, const struct capture_record *capture,
                       struct pass_resource **meant, struct error *err)
{
    struct hash path = hash_bytes(capture->container, strlen(capture->container));
    struct source_record source;
    struct arena arena = {0};
    bool found;
    *meant = NULL;
    bool ok = store_get_source(passes->threads[0].txn, &path, &arena, &source, &found, err);
    const struct pass_container wanted = {.hash = source.container};
    const struct pass_container *container =
        ok && found && passes->container_count
            ? bsearch(&wanted, passes->containers, passes->container_count, sizeof wanted, compare_containers)
            : NULL;
    arena_free(&arena);
    unsigned met = 0;
    for (uint32_t i = 0; container && i < container->count; i++) {
        struct pass_resource *r = &passes->resources[container->first + i];
        if (strcmp(r->name, capture->resource) == 0 && met++ == 0)
            *meant = r;
    }
    if (met != 1)
        *meant = NULL;
    return ok;
}

static bool fits_counts(const struct pass_resource *r, const struct capture_record *capture)
{
    const struct resource *resource = r->record ? &r->record->resource : NULL;
    if (!resource || !resource->marker_count || resource->marker_count != capture->buffer_count)
        return false;
    for (uint32_t i = 0; i < resource->marker_count; i++)
        if (resource->markers[i].index_count != capture->buffers[i].index_count ||
            resource->markers[i].vertex_count != capture->buffers[i].vertex_count ||
            resource->markers[i].stride != capture->buffers[i].stride)
            return false;
    return true;
}

/* The candidate that lies where the capture says; RESOLVED_NONE when there is none. */
static uint32_t find_candidate(const struct pass_resource *r, const struct capture_record *capture)
{
    const struct resource *resource = &r->record->resource;
    for (uint32_t c = 0; c < resource->candidate_count; c++) {
        bool same = true;
        for (uint32_t i = 0; i < resource->marker_count; i++)
            same &= resource->candidates[c].buffers[i].index_offset == capture->buffers[i].index_offset &&
                    resource->candidates[c].buffers[i].vertex_offset == capture->buffers[i].vertex_offset;
        if (same)
            return c;
    }
    return RESOLVED_NONE;
}

/* Another captured resource whose block overlaps without being the same; NULL when there is none. */
static const struct pass_resource *find_overlapped(const struct passes *passes, const struct pass_resource *r,
                                                   uint32_t c)
{
    const struct pass_container *container = &passes->containers[r->container];
    bool same;
    for (uint32_t i = 0; i < container->count; i++) {
        const struct pass_resource *other = &passes->resources[container->first + i];
        if (other != r && other->now.captured && other->now.chosen != RESOLVED_NONE &&
            pass_is_located(other) && pass_blocks_overlap(r, c, other, other->now.chosen, &same) && !same)
            return other;
    }
    return NULL;
}

/* ---- placements ---------------------------------------------------------------------------------------- */

static bool contradict(struct passes *passes, const struct pass_resource *r,
                       const struct capture_record *capture, const char *with, struct error *err)
{
    uint32_t number = (uint32_t)(r - passes->resources);
    return passes_find(passes, FINDING_CONTRADICTED, &r->key.container, capture->resource, &number, 1, err,
                       "the captured placement of %s in %s, indices at 0x%llX, contradicts %s; that stays",
                       capture->resource, capture->container,
                       (unsigned long long)(capture->buffer_count ? capture->buffers[0].index_offset : 0),
                       with);
}

static bool apply_placement(struct passes *passes, struct pass_resource *r,
                            const struct capture_record *capture, struct error *err)
{
    uint32_t c = find_candidate(r, capture), number = (uint32_t)(r - passes->resources);
    struct hash geometry = c == RESOLVED_NONE ? (struct hash){{0}} : pass_geometry_of(passes, r, c);
    if (r->now.captured)
        return r->now.chosen == c ||
               contradict(passes, r, capture, "an earlier capture of the same resource", err);
    if (hash_is_zero(&geometry)) {
        r->now.captured = true;
        return passes_find(passes, FINDING_PROOF_NOT_STORED, &r->key.container, capture->resource, &number, 1,
                           err, "a capture places %s at 0x%llX, of which the store has no geometry",
                           capture->resource, (unsigned long long)capture->buffers[0].index_offset) &&
               (!pass_is_located(r) ||
                passes_change(passes, r, RESOURCE_AMBIGUOUS, r->now.chosen, 0, err,
                              "a capture places it elsewhere, where nothing is stored"));
    }
    const struct pass_resource *other = find_overlapped(passes, r, c);
    if (other) {
        char with[160];
        snprintf(with, sizeof with, "the earlier one of %.100s, which it overlaps", other->name);
        return contradict(passes, r, capture, with, err);
    }
    bool settled = r->now.status == RESOURCE_PROVEN && r->now.chosen == c;
    r->now.captured = true;
    return settled || passes_change(passes, r, RESOURCE_PROVEN, c, r->record->resource.candidates[c].score,
                                    err, "a capture places it there");
}

static bool place(struct passes *passes, const struct capture_record *capture, struct error *err)
{
    struct pass_resource *r;
    if (!find_meant(passes, capture, &r, err))
        return false;
    if (!r)
        return passes_find(passes, FINDING_UNUSED_CAPTURE, NULL, capture->resource, NULL, 0, err,
                           "a placement is captured of %s in %s, which the store does not have once",
                           capture->resource, capture->container);
    return fits_counts(r, capture) ? apply_placement(passes, r, capture, err)
                                   : contradict(passes, r, capture, "the counts of its descriptor", err);
}

/* ---- signs --------------------------------------------------------------------------------------------- */

static int compare_signs(const void *a, const void *b)
{
    const struct capture_record *x = *(const struct capture_record *const *)a,
                                *y = *(const struct capture_record *const *)b;
    int order = strcmp(x->resource, y->resource);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Of two signs for one name the earlier one stays. */
static bool collect_signs(struct passes *passes, struct error *err)
{
    const struct capture_record **signs = arena_array(&passes->arena, passes->capture_count, sizeof *signs);
    size_t count = 0;
    passes->signs = arena_array(&passes->arena, passes->capture_count, sizeof *passes->signs);
    if (!signs || !passes->signs)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < passes->capture_count; i++)
        if (passes->captures[i].kind == CAPTURE_ROW0)
            signs[count++] = &passes->captures[i];
    if (count)
        qsort(signs, count, sizeof *signs, compare_signs);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (strcmp(signs[i]->resource, signs[first]->resource) != 0)
            first = i;
        if (first == i)
            passes->signs[passes->sign_count++].capture = signs[i];
        if (signs[i]->row0_x != signs[first]->row0_x &&
            !passes_find(passes, FINDING_CONTRADICTED, NULL, signs[i]->resource, NULL, 0, err,
                         "row0_x %d captured of %s contradicts row0_x %d, captured of it earlier; that stays",
                         signs[i]->row0_x, signs[i]->resource, signs[first]->row0_x))
            return false;
    }
    return true;
}

static bool capture_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    (void)unit, (void)result;
    for (size_t i = 0; i < passes->capture_count; i++)
        if (passes->captures[i].kind == CAPTURE_PLACE && !place(passes, &passes->captures[i], err))
            return false;
    return collect_signs(passes, err);
}

const struct stage pass_capture = {
    .name = "capture", .version = 1, .units = capture_units, .run = capture_run, .commit = capture_commit};
