/* pass_unclaimed.c - stretches of a data section that look like vertices or indices and belong to nobody,
 * with the declined resources that they would fit: the next hypothesis to test.
 *
 * The coverage map is the decoder's, and knows the stretches to within a block of ANCHOR_BLOCK bytes; what
 * has been claimed since is taken out. A fit says that sizes agree, nothing more.
 */
#include "pipeline/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_scan.h"

/* A stretch begins and ends up to so much off, and a block at its edge may look otherwise. */
#define SLACK    ((uint64_t)3 * ANCHOR_BLOCK)
#define FITS_MAX 32u /* resources listed with one stretch */

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

/* Whether a block that is claimed now touches the run. */
static bool is_claimed(const struct passes *passes, const struct pass_container *container,
                       const struct coverage_run *run)
{
    for (uint32_t i = container->first; i < container->first + container->count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        if (r->record && pass_is_located(r) && r->now.chosen != RESOLVED_NONE && r->now.change_count &&
            pass_block_start(r, r->now.chosen) < run->end && pass_block_end(r, r->now.chosen) > run->start)
            return true;
    }
    return false;
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
    struct container_record record = {0};
    struct arena scratch = {0};
    if (container->format != FORMAT_XPR2)
        return true;
    struct stretches *out = arena_alloc(&own->arena, sizeof *out);
    bool ok = store_get_coverage(own->txn, &container->hash, &scratch, &record, err);
    uint32_t count = record.container.coverage_count;
    if (ok && (!out || !(out->list = arena_array(&own->arena, count, sizeof *out->list))))
        ok = passes_out_of_memory(err);
    for (uint32_t i = 0; ok && i < count; i++) {
        const struct coverage_run *run = &record.container.coverage[i];
        bool open = run->kind == COVERAGE_VERTEX_LIKE || run->kind == COVERAGE_INDEX_LIKE;
        if (!open || is_claimed(passes, container, run))
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
                                     .version = 1,
                                     .units = unclaimed_units,
                                     .run = unclaimed_run,
                                     .commit = unclaimed_commit};
