/* figures.c - see figures.h */
#include "reports/figures.h"

#include <string.h>

struct walk {
    struct store_txn *txn;
    struct arena *arena;
    struct arena scratch;
    struct figures *figures;
    struct error *err;
};

static bool count_finding(const struct finding_record *record, void *ctx)
{
    struct walk *walk = ctx;
    walk->figures->findings[record->kind]++;
    return true;
}

static bool add_coverage(const struct hash *hash, const struct container_record *record, void *ctx)
{
    struct walk *walk = ctx;
    struct container_record whole = *record;
    if (record->container.format != FORMAT_XPR2)
        return true;
    arena_reset(&walk->scratch);
    if (!coverage_load(walk->txn, hash, &walk->scratch, &whole, walk->err))
        return false;
    struct coverage_sums sums = coverage_sum(whole.container.coverage, whole.container.coverage_count);
    for (int i = 0; i < COVERAGE_KIND_COUNT; i++)
        walk->figures->coverage.bytes[i] += sums.bytes[i];
    walk->figures->coverage.total += sums.total;
    return true;
}

/* A copy whose strings and lists live in the arena; false when memory runs out. */
static bool keep_run(struct arena *arena, const struct run_record *run, struct run_record *out)
{
    struct run_stage *stages = arena_array(arena, run->stage_count, sizeof *stages);
    struct run_condition *conditions = arena_array(arena, run->condition_count, sizeof *conditions);
    *out = *run;
    out->version = arena_copy(arena, run->version, strlen(run->version));
    out->arguments = arena_copy(arena, run->arguments, strlen(run->arguments));
    out->stages = stages;
    out->conditions = conditions;
    bool ok = stages && conditions && out->version && out->arguments;
    for (uint32_t i = 0; ok && i < run->stage_count; i++) {
        stages[i] = run->stages[i];
        ok = (stages[i].name = arena_copy(arena, stages[i].name, strlen(stages[i].name))) != NULL;
    }
    for (uint32_t i = 0; ok && i < run->condition_count; i++) {
        const struct run_condition *from = &run->conditions[i];
        conditions[i].name = arena_copy(arena, from->name, strlen(from->name));
        conditions[i].value = arena_copy(arena, from->value, strlen(from->value));
        ok = conditions[i].name && conditions[i].value;
    }
    return ok;
}

static bool take_run(const struct run_record *run, void *ctx)
{
    struct walk *walk = ctx;
    struct figures *figures = walk->figures;
    if (!run->finished_ns)
        return true;
    figures->before = figures->run;
    figures->has_before = figures->has_run;
    figures->has_run = true;
    return keep_run(walk->arena, run, &figures->run) ||
           error_set(walk->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading runs");
}

static bool count_unknown(struct walk *walk)
{
    struct census_row *rows = NULL;
    size_t count = 0;
    arena_reset(&walk->scratch);
    if (!view_unknown(walk->txn, &walk->scratch, &rows, &count, walk->err))
        return false;
    for (size_t i = 0; i < count; i++) {
        walk->figures->unknown_files += rows[i].count;
        walk->figures->unknown_bytes += rows[i].bytes;
    }
    return true;
}

bool figures_read(struct store *store, struct store_txn *txn, struct arena *arena, struct figures *figures,
                  struct error *err)
{
    struct walk walk = {.txn = txn, .arena = arena, .figures = figures, .err = err};
    memset(figures, 0, sizeof *figures);
    bool ok = view_summarise(txn, &figures->summary, err) && store_stat(store, &figures->stat, err) &&
              store_each_finding(txn, count_finding, &walk, err) &&
              store_each_container(txn, add_coverage, &walk, err) && err->code == ERROR_NONE &&
              store_each_run(txn, take_run, &walk, err) && err->code == ERROR_NONE && count_unknown(&walk);
    arena_free(&walk.scratch);
    return ok;
}
