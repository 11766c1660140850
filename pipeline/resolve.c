/* resolve.c - see resolve.h: the passes in their order, and what they made of it into the store. */
#include "pipeline/resolve.h"

#include <string.h>

#include "pipeline/declined.h"
#include "pipeline/passes.h"

/* A proof frees a block, which decides a neighbour, which is a proof to nobody: rounds are few. The bound is
 * for stores that somebody made up. */
#define ROUNDS_MAX 8u

/* Passes that change outcomes, until none does. Findings of all but the last round are forgotten. */
static bool decide(struct passes *passes, struct resolve_result *result, struct error *err)
{
    if (!stage_run(&pass_capture, passes, err))
        return false;
    size_t findings = passes->findings.size;
    uint64_t before;
    do {
        before = passes->changes;
        passes->findings.size = findings;
        if (!stage_run(&pass_proof, passes, err) || !stage_run(&pass_neighbour, passes, err))
            return false;
    } while (passes->changes != before && ++result->rounds < ROUNDS_MAX);
    return true;
}

/* Passes that add to what is decided. */
static bool describe(struct passes *passes, struct error *err)
{
    static const struct stage *const stages[] = {&pass_measure,   &pass_twins,  &pass_consistency,
                                                 &pass_materials, &pass_images, &pass_unclaimed};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (!stage_run(stages[i], passes, err))
            return false;
    return true;
}

/* ---- into the store ------------------------------------------------------------------------------------ */

static bool is_as_decoded(const struct pass_resource *r)
{
    return r->now.change_count == 0 && r->now.canonical.basis == CANONICAL_NONE; /* see resolved_is_set */
}

static struct resolved_record record_of(const struct pass_resource *r)
{
    const struct pass_outcome *now = &r->now;
    bool placed = now->chosen != RESOLVED_NONE;
    return (struct resolved_record){
        .status = now->status,
        .was = r->was,
        .reason = now->reason,
        .was_reason = r->was_reason,
        .chosen = now->chosen,
        .score = now->score,
        .margin = now->margin,
        .flags = now->flags,
        .bounds = hash_is_zero(&now->geometry) ? (struct bounds){0} : now->bounds,
        .geometry = now->geometry,
        .geometry_bytes = hash_is_zero(&now->geometry) ? 0 : now->geometry_bytes,
        .buffer_count = placed ? r->record->resource.marker_count : 0,
        .buffers = placed ? r->record->resource.candidates[now->chosen].buffers : NULL,
        .canonical = now->canonical,
        .change_count = now->change_count,
        .changes = now->changes,
    };
}

static void count_outcome(const struct pass_resource *r, struct resolve_result *result)
{
    result->twins += r->now.canonical.basis != CANONICAL_NONE && r->now.canonical.twin > r->key.index;
    if (r->now.status == r->was)
        return;
    result->proven += r->now.status == RESOURCE_PROVEN;
    result->assigned += r->now.status == RESOURCE_ASSIGNED;
    result->ambiguous += r->now.status == RESOURCE_AMBIGUOUS;
    result->declined += r->now.status == RESOURCE_DECLINED;
}

struct put {
    struct store_resolution resolution;
    uint64_t changed;
};

static bool put_resolution(struct store_txn *txn, void *ctx, struct error *err)
{
    struct put *put = ctx;
    return store_put_resolution(txn, &put->resolution, &put->changed, err);
}

static bool store_outcomes(struct passes *passes, struct resolve_result *result, struct error *err)
{
    struct declined_census census;
    struct resource_key *keys = arena_array(&passes->arena, passes->resource_count, sizeof *keys);
    struct resolved_record *outcomes = arena_array(&passes->arena, passes->resource_count, sizeof *outcomes);
    if (!keys || !outcomes)
        return passes_out_of_memory(err);
    if (!declined_census(passes, &census, err))
        return false;
    size_t count = 0;
    for (size_t i = 0; i < passes->resource_count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        count_outcome(r, result);
        if (is_as_decoded(r))
            continue;
        keys[count] = r->key;
        outcomes[count++] = record_of(r);
    }
    struct put put = {.resolution = {.keys = keys,
                                     .outcomes = outcomes,
                                     .outcome_count = count,
                                     .findings = (const struct finding_record *)passes->findings.data,
                                     .finding_count = passes->findings.size / sizeof(struct finding_record),
                                     .census = &census}};
    for (size_t i = 0; i < put.resolution.finding_count; i++)
        result->findings[put.resolution.findings[i].kind]++;
    passes_close(passes); /* a map that has readers cannot grow */
    bool ok = store_update(passes->store, put_resolution, &put, err);
    result->changed = put.changed;
    return ok;
}

bool resolve(struct store *store, const struct resolve_options *options, struct resolve_result *result,
             struct error *err)
{
    struct passes passes;
    *result = (struct resolve_result){0};
    bool ok = passes_load(&passes, store, options->threads, err) && decide(&passes, result, err) &&
              describe(&passes, err) && store_outcomes(&passes, result, err);
    passes_free(&passes);
    return ok;
}
