/* coverage.c - see coverage.h */
#include "reports/coverage.h"

#include <stdlib.h>

#include "formats/anchor_coverage.h"
#include "reports/text.h"

/* How a kind is shown: a letter where there is no colour, a background where there is. */
static const struct {
    char letter;
    int background;
    const char *what;
} looks[COVERAGE_KIND_COUNT] = {
    [COVERAGE_OTHER] = {'.', 100, "other"},
    [COVERAGE_TEXTURE] = {'T', 44, "textures"},
    [COVERAGE_INDEX] = {'i', 42, "claimed indices"},
    [COVERAGE_VERTEX] = {'v', 102, "claimed vertices"},
    [COVERAGE_PADDING] = {'-', 47, "padding"},
    [COVERAGE_VERTEX_LIKE] = {'V', 101, "unclaimed, like vertices"},
    [COVERAGE_INDEX_LIKE] = {'I', 43, "unclaimed, like indices"},
};

/* ---- the placements of now ---- */

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading the store");
}

static bool is_located(enum resource_status status)
{
    return status == RESOURCE_PROVEN || status == RESOURCE_ASSIGNED;
}

bool coverage_claim(struct coverage_claims *claims, const struct resource *now,
                    const struct resolved_record *outcome, struct error *err)
{
    bool is = is_located(now->status);
    /* Which candidate the decoder chose stands with the candidates, which are not read for this: whatever the
     * passes touched is laid anew. */
    if (outcome && outcome->change_count)
        claims->changed |= is || is_located(outcome->was);
    if (is)
        buffer_append(&claims->places, now->buffers, now->buffer_count * sizeof *now->buffers);
    return !claims->places.failed || out_of_memory(err);
}

bool coverage_lay(struct coverage_claims *claims, struct container_record *record, struct arena *arena,
                  struct error *err)
{
    return !claims->changed || !record->container.coverage_count ||
           anchor_coverage_replace(&record->container, (const struct buffer_place *)claims->places.data,
                                   claims->places.size / sizeof(struct buffer_place), arena) ||
           out_of_memory(err);
}

void coverage_claims_clear(struct coverage_claims *claims)
{
    buffer_clear(&claims->places);
    claims->changed = false;
}

void coverage_claims_free(struct coverage_claims *claims)
{
    buffer_free(&claims->places);
    claims->changed = false;
}

struct claim_walk {
    struct store_txn *txn;
    struct arena arena;
    struct coverage_claims claims;
    struct error *err;
};

static bool collect_places(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct claim_walk *walk = ctx;
    struct resource_record now = *record;
    struct resolved_record outcome;
    arena_reset(&walk->arena);
    return store_apply_resolved(walk->txn, &key->container, &walk->arena, &now, &outcome, walk->err) &&
           coverage_claim(&walk->claims, &now.resource, &outcome, walk->err);
}

bool coverage_load(struct store_txn *txn, const struct hash *container, struct arena *arena,
                   struct container_record *record, struct error *err)
{
    struct claim_walk walk = {.txn = txn, .err = err};
    bool ok = store_get_coverage(txn, container, arena, record, err);
    if (!ok || !record->container.coverage_count)
        return ok;
    ok = store_each_resource_of(txn, container, collect_places, &walk, err) && err->code == ERROR_NONE &&
         coverage_lay(&walk.claims, record, arena, err);
    arena_free(&walk.arena);
    coverage_claims_free(&walk.claims);
    return ok;
}

/* ---- what it adds up to ---- */

struct coverage_sums coverage_sum(const struct coverage_run *runs, uint32_t count)
{
    struct coverage_sums sums = {0};
    for (uint32_t i = 0; i < count; i++) {
        sums.bytes[runs[i].kind] += runs[i].end - runs[i].start;
        sums.total += runs[i].end - runs[i].start;
    }
    return sums;
}

/* The kind that most bytes of [start, end) are; *next is where the search for the following cell may begin.
 */
static enum coverage_kind kind_of_cell(const struct coverage_run *runs, uint32_t count, uint32_t *next,
                                       uint64_t start, uint64_t end)
{
    uint64_t bytes[COVERAGE_KIND_COUNT] = {0};
    enum coverage_kind best = COVERAGE_OTHER;
    uint32_t i = *next;
    while (i < count && runs[i].end <= start)
        i++;
    *next = i;
    for (; i < count && runs[i].start < end; i++) {
        uint64_t from = runs[i].start > start ? runs[i].start : start,
                 to = runs[i].end < end ? runs[i].end : end;
        bytes[runs[i].kind] += to - from;
    }
    for (int kind = 0; kind < COVERAGE_KIND_COUNT; kind++)
        if (bytes[kind] > bytes[best])
            best = (enum coverage_kind)kind;
    return best;
}

void coverage_strip(FILE *out, const struct coverage_run *runs, uint32_t count, unsigned columns)
{
    if (!count || !columns)
        return;
    bool colour = text_colour(out);
    uint64_t first = runs[0].start, size = runs[count - 1].end - first;
    uint32_t next = 0;
    fputs("  ", out);
    for (unsigned c = 0; c < columns; c++) {
        uint64_t start = first + size / columns * c + size % columns * c / columns;
        uint64_t end = first + size / columns * (c + 1) + size % columns * (c + 1) / columns;
        enum coverage_kind kind = kind_of_cell(runs, count, &next, start, end > start ? end : start + 1);
        if (colour)
            fprintf(out, "\033[%dm \033[0m", looks[kind].background);
        else
            fputc(looks[kind].letter, out);
    }
    fputc('\n', out);
    struct coverage_sums sums = coverage_sum(runs, count);
    for (int kind = 1; kind <= COVERAGE_KIND_COUNT; kind++) { /* "other" last */
        int k = kind % COVERAGE_KIND_COUNT;
        char bytes[16];
        if (!sums.bytes[k])
            continue;
        text_bytes(sums.bytes[k], bytes);
        if (colour)
            fprintf(out, "  \033[%dm \033[0m", looks[k].background);
        else
            fprintf(out, "  %c", looks[k].letter);
        fprintf(out, " %-26s %8s  %5.1f %%\n", looks[k].what, bytes,
                100.0 * (double)sums.bytes[k] / (double)sums.total);
    }
}

json_t *coverage_sums_json(const struct coverage_sums *sums)
{
    json_t *object = json_object();
    for (int kind = 0; kind < COVERAGE_KIND_COUNT; kind++)
        json_object_set_new(object, coverage_kind_word((enum coverage_kind)kind),
                            json_integer((json_int_t)sums->bytes[kind]));
    return object;
}

json_t *coverage_runs_json(const struct coverage_run *runs, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("[I, I, s]", (json_int_t)runs[i].start, (json_int_t)runs[i].end,
                                              coverage_kind_word(runs[i].kind)));
    return list;
}

json_t *json_of_coverage(const struct view_container *view, const struct container *container)
{
    char hash[HASH_HEX];
    struct coverage_sums sums = coverage_sum(container->coverage, container->coverage_count);
    hash_format(&view->hash, hash);
    return json_pack("{s:o, s:s, s:I, s:I, s:o, s:o}", "container", json_of_bytes(view->path),
                     "container_hash", hash, "data_offset", (json_int_t)container->data_offset, "data_size",
                     (json_int_t)container->data_size, "bytes", coverage_sums_json(&sums), "runs",
                     coverage_runs_json(container->coverage, container->coverage_count));
}
