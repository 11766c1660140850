/* passes.c - see passes.h: outcomes, findings, groups, and how a stage is run. */
#include "pipeline/passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/parallel.h"

bool passes_out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while resolving");
}

/* ---- stages -------------------------------------------------------------------------------------------- */

struct stage_job {
    const struct stage *stage;
    const struct passes *passes;
    void **results;
    struct error *errors; /* by thread */
};

static void run_unit(size_t unit, int thread, void *ctx)
{
    struct stage_job *job = ctx;
    if (job->errors[thread].code == ERROR_NONE)
        job->stage->run(job->passes, unit, thread, &job->results[unit], &job->errors[thread]);
}

bool stage_run(const struct stage *stage, struct passes *passes, struct error *err)
{
    size_t count = 0;
    passes->stage = stage;
    if (!stage->units(passes, &count, err))
        return false;
    struct stage_job job = {.stage = stage, .passes = passes};
    job.results = calloc(count + 1, sizeof *job.results);
    job.errors = calloc((size_t)passes->thread_count, sizeof *job.errors);
    bool ok = (job.results && job.errors) || passes_out_of_memory(err);
    if (ok)
        par_for(count, passes->thread_count, run_unit, &job);
    for (int i = 0; ok && i < passes->thread_count; i++)
        if (job.errors[i].code != ERROR_NONE) {
            *err = job.errors[i];
            ok = false;
        }
    for (size_t i = 0; ok && i < count; i++)
        ok = !job.results[i] || stage->commit(passes, i, job.results[i], err);
    if (ok && stage->finish)
        ok = stage->finish(passes, err);
    for (int i = 0; i < passes->thread_count; i++)
        arena_reset(&passes->threads[i].arena);
    free(job.results);
    free(job.errors);
    free(passes->groups);
    free(passes->group_starts);
    passes->groups = NULL;
    passes->group_starts = NULL;
    passes->group_count = 0;
    return ok;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

struct group_order {
    const struct pass_resource *resources;
    int (*compare)(const struct pass_resource *a, const struct pass_resource *b);
};

static int compare_members(const void *left, const void *right, void *ctx)
{
    const struct group_order *order = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int sign = order->compare(&order->resources[a], &order->resources[b]);
    return sign ? sign : (a > b) - (a < b);
}

bool passes_group(struct passes *passes,
                  bool (*member)(const struct passes *passes, const struct pass_resource *r),
                  int (*compare)(const struct pass_resource *a, const struct pass_resource *b),
                  struct error *err)
{
    struct group_order order = {passes->resources, compare};
    uint32_t *list = malloc((passes->resource_count + 1) * sizeof *list);
    size_t *starts = malloc((passes->resource_count + 1) * sizeof *starts), count = 0, groups = 0;
    passes->groups = list;
    passes->group_starts = starts;
    if (!list || !starts)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < passes->resource_count; i++)
        if (member(passes, &passes->resources[i]))
            list[count++] = (uint32_t)i;
    if (count)
        qsort_r(list, count, sizeof *list, compare_members, &order);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare(&passes->resources[list[i - 1]], &passes->resources[list[i]]) != 0)
            starts[groups++] = i;
    starts[groups] = count;
    passes->group_count = groups;
    return true;
}

/* ---- outcomes ------------------------------------------------------------------------------------------ */

uint64_t pass_block_start(const struct pass_resource *r, uint32_t candidate)
{
    return r->record->resource.candidates[candidate].buffers[0].index_offset;
}

uint64_t pass_block_end(const struct pass_resource *r, uint32_t candidate)
{
    const struct resource *resource = &r->record->resource;
    const struct buffer_place *last = &resource->candidates[candidate].buffers[resource->marker_count - 1];
    return last->vertex_offset + (uint64_t)last->vertex_count * last->stride;
}

bool pass_blocks_overlap(const struct pass_resource *a, uint32_t a_candidate, const struct pass_resource *b,
                         uint32_t b_candidate, bool *same)
{
    uint64_t start = pass_block_start(a, a_candidate), end = pass_block_end(a, a_candidate);
    uint64_t other = pass_block_start(b, b_candidate), other_end = pass_block_end(b, b_candidate);
    *same = start == other && end == other_end;
    return start < other_end && other < end;
}

bool pass_same_bytes(const struct candidate_hashes *a, const struct candidate_hashes *b)
{
    return hash_equal(&a->index_bytes, &b->index_bytes) && hash_equal(&a->vertex_bytes, &b->vertex_bytes);
}

static bool keep_change(struct passes *passes, struct pass_resource *r, const struct resolved_change *change,
                        const char *why, struct error *err)
{
    struct pass_outcome *now = &r->now;
    if (!now->changes &&
        !(now->changes = arena_array(&passes->arena, PASS_CHANGES_MAX, sizeof *now->changes)))
        return passes_out_of_memory(err);
    /* A history that is too long keeps its beginning and its end. */
    if (now->change_count == PASS_CHANGES_MAX) {
        memmove(&now->changes[1], &now->changes[2], (PASS_CHANGES_MAX - 2) * sizeof *now->changes);
        now->change_count--;
    }
    struct resolved_change *slot = &now->changes[now->change_count++];
    *slot = *change;
    slot->why = arena_copy(&passes->arena, why, strlen(why));
    return slot->why || passes_out_of_memory(err);
}

bool passes_change(struct passes *passes, struct pass_resource *r, enum resource_status status,
                   uint32_t chosen, double margin, struct error *err, const char *fmt, ...)
{
    struct pass_outcome *now = &r->now;
    char why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    const struct resolved_change change = {
        passes->stage->name, passes->stage->version, now->status, status, now->chosen, chosen, NULL};
    if (!keep_change(passes, r, &change, why, err))
        return false;
    bool placed = chosen != RESOLVED_NONE;
    now->status = status;
    now->reason = status == RESOURCE_DECLINED ? DECLINE_NO_CANDIDATE : DECLINE_NONE;
    now->chosen = chosen;
    now->score = placed ? r->record->resource.candidates[chosen].score : 0;
    now->margin = placed ? margin : 0;
    now->geometry = placed ? pass_geometry_of(passes, r, chosen) : (struct hash){{0}};
    passes->changes++;
    return true;
}

/* ---- findings ------------------------------------------------------------------------------------------ */

bool passes_find(struct passes *passes, enum finding_kind kind, const struct hash *container,
                 const char *subject, const uint32_t *resources, size_t count, struct error *err,
                 const char *fmt, ...)
{
    char message[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct finding_record finding = {.kind = kind, .side_count = (uint32_t)count};
    if (container)
        finding.container = *container;
    finding.subject = arena_copy(&passes->arena, subject, strlen(subject));
    finding.message = arena_copy(&passes->arena, message, strlen(message));
    finding.sides = arena_array(&passes->arena, count, sizeof *finding.sides);
    if (!finding.subject || !finding.message || !finding.sides)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct pass_resource *r = &passes->resources[resources[i]];
        finding.sides[i] = (struct finding_side){.key = r->key,
                                                 .status = r->now.status,
                                                 .vertices = r->vertices,
                                                 .triangles = r->triangles,
                                                 .bounds = r->now.bounds,
                                                 .geometry = r->now.geometry};
    }
    buffer_append(&passes->findings, &finding, sizeof finding);
    return !passes->findings.failed || passes_out_of_memory(err);
}
