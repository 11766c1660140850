/* pass_unclaimed.c - stretches of a data section that look like vertices or indices and belong to nobody,
 * with the declined resources that they would fit: the next hypothesis to test.
 *
 * The stored coverage map is the decoder's, and knows the stretches to within a block of ANCHOR_BLOCK bytes;
 * it is laid out again for what is claimed by now. A fit says that sizes agree, nothing more.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_coverage.h"

/* A stretch begins and ends up to so much off, and a block at its edge may look otherwise. */
#define SLACK ((uint64_t)3 * ANCHOR_BLOCK)
#define STRETCH_LEAST                                                                                        \
    ((uint64_t)4 * ANCHOR_BLOCK) /* shorter ones are no stretches (formats/anchor_coverage.h) */
#define FITS_MAX 32u             /* resources listed with one stretch */

static bool unclaimed_units(struct passes *passes, size_t *count, struct error *err)
{
    (void)err;
    *count = passes->container_count;
    return true;
}

struct stretch {
    struct coverage_run run;
    uint32_t fit_count, fits[FITS_MAX];
};

struct stretches {
    size_t count;
    struct stretch *list;
};

/* Lays the coverage map out for what is claimed now, if passes changed that. */
static bool claim_again(const struct passes *passes, const struct pass_container *container,
                        struct container *covered, struct arena *arena)
{
    struct buffer places = {0};
    bool changed = false;
    for (uint32_t i = container->first; i < container->first + container->count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        changed |= r->now.change_count != 0;
        if (r->record && pass_is_located(r) && r->now.chosen != RESOLVED_NONE)
            buffer_append(&places, r->record->resource.candidates[r->now.chosen].buffers,
                          r->record->resource.marker_count * sizeof(struct buffer_place));
    }
    bool ok = !places.failed &&
              (!changed || anchor_coverage_replace(covered, (const struct buffer_place *)places.data,
                                                   places.size / sizeof(struct buffer_place), arena));
    buffer_free(&places);
    return ok;
}

/* Bytes of all indices, or of all vertices, of a resource. */
static uint64_t pool_bytes(const struct resource *resource, bool vertices)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < resource->marker_count; i++) {
        const struct xbg7_marker *marker = &resource->markers[i];
        bytes += vertices ? (uint64_t)marker->vertex_count * marker->stride
                          : ((uint64_t)marker->index_count * 2 + 3) / 4 * 4;
    }
    return bytes;
}

static void find_fits(const struct passes *passes, const struct pass_container *container,
                      struct stretch *stretch)
{
    uint64_t length = stretch->run.end - stretch->run.start;
    for (uint32_t i = container->first; i < container->first + container->count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        if (!r->record || r->now.status != RESOURCE_DECLINED || !r->record->resource.marker_count)
            continue;
        uint64_t wanted = pool_bytes(&r->record->resource, stretch->run.kind == COVERAGE_VERTEX_LIKE);
        if (wanted + SLACK >= length && wanted <= length + SLACK && stretch->fit_count < FITS_MAX)
            stretch->fits[stretch->fit_count++] = i;
    }
}

static bool unclaimed_run(const struct passes *passes, size_t unit, int thread, void **result,
                          struct error *err)
{
    const struct pass_container *container = &passes->containers[unit];
    struct pass_thread *own = &passes->threads[thread];
    struct container_record record = {
        .container = {.data_offset = container->data_offset, .data_size = container->data_size}};
    struct arena scratch = {0};
    if (container->format != FORMAT_XPR2)
        return true;
    struct stretches *out = arena_alloc(&own->arena, sizeof *out);
    bool ok = store_get_coverage(own->txn, &container->hash, &scratch, &record, err);
    if (ok && !claim_again(passes, container, &record.container, &scratch))
        ok = passes_out_of_memory(err);
    uint32_t count = record.container.coverage_count;
    if (ok && (!out || !(out->list = arena_array(&own->arena, count, sizeof *out->list))))
        ok = passes_out_of_memory(err);
    for (uint32_t i = 0; ok && i < count; i++) {
        const struct coverage_run *run = &record.container.coverage[i];
        if (run->kind != COVERAGE_VERTEX_LIKE && run->kind != COVERAGE_INDEX_LIKE)
            continue;
        if (run->end - run->start < STRETCH_LEAST) /* what a claim has left of a longer one */
            continue;
        struct stretch *stretch = &out->list[out->count++];
        stretch->run = *run;
        find_fits(passes, container, stretch);
    }
    arena_free(&scratch);
    *result = ok && out->count ? out : NULL;
    return ok;
}

static bool unclaimed_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct pass_container *container = &passes->containers[unit];
    const struct stretches *stretches = result;
    for (size_t i = 0; i < stretches->count; i++) {
        const struct stretch *stretch = &stretches->list[i];
        char subject[32];
        snprintf(subject, sizeof subject, "0x%llX", (unsigned long long)stretch->run.start);
        if (!passes_find(passes, FINDING_UNCLAIMED, &container->hash, subject, stretch->fits,
                         stretch->fit_count, err, "%llu bytes, %s; %s",
                         (unsigned long long)(stretch->run.end - stretch->run.start),
                         coverage_kind_word(stretch->run.kind),
                         stretch->fit_count ? "what was declined and has such counts is listed"
                                            : "nothing that was declined has such counts"))
            return false;
    }
    return true;
}

const struct stage pass_unclaimed = {.name = "unclaimed",
                                     .version = 2,
                                     .units = unclaimed_units,
                                     .run = unclaimed_run,
                                     .commit = unclaimed_commit};
