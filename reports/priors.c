/* priors.c - see priors.h */
#include "reports/priors.h"

#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "reports/coverage.h"

/* The block of a sure resource. */
struct placed {
    uint64_t start, end;
    uint32_t index;
    uint8_t lead[CANDIDATE_LEAD], lead_size;
};

struct walk {
    struct store_txn *txn;
    bool (*each)(const struct priors *priors, void *ctx);
    void *ctx;
    struct buffer blocks; /* of struct placed, of the container that is walked */
    struct buffer gaps;   /* uint64_t, of it */
    struct buffer all_gaps;
    struct buffer words[4], all_words[4]; /* uint32_t in front of its blocks, and of all */
    struct priors all;
    struct arena arena;
    bool stopped;
    struct error *err;
};

static bool out_of_memory(struct walk *walk)
{
    return error_set(walk->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading the store");
}

static bool is_sure(const struct resource *resource)
{
    return resource->buffer_count &&
           (resource->status == RESOURCE_PROVEN ||
            (resource->status == RESOURCE_ASSIGNED && resource->margin >= PRIORS_MARGIN));
}

static bool collect(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct walk *walk = ctx;
    struct resource_record whole = *record;
    struct resolved_record outcome;
    arena_reset(&walk->arena);
    if (!store_apply_resolved(walk->txn, &key->container, &walk->arena, &whole, &outcome, walk->err))
        return false;
    const struct resource *resource = &whole.resource;
    if (!is_sure(resource))
        return true;
    const struct buffer_place *last = &resource->buffers[resource->buffer_count - 1];
    struct placed placed = {resource->buffers[0].index_offset,
                            last->vertex_offset + (uint64_t)last->vertex_count * last->stride,
                            key->index,
                            {0},
                            0};
    uint32_t chosen = resource->chosen;
    if (!store_get_candidates(walk->txn, &key->container, &walk->arena, &whole, walk->err))
        return false;
    if (chosen < whole.resource.candidate_count) {
        memcpy(placed.lead, whole.resource.candidates[chosen].lead, CANDIDATE_LEAD);
        placed.lead_size = whole.resource.candidates[chosen].lead_size;
    }
    buffer_append(&walk->blocks, &placed, sizeof placed);
    return !walk->blocks.failed || out_of_memory(walk);
}

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int compare_gaps(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts by place; a block that several share counts once, for the first of them. */
static size_t distinct(struct placed *blocks, size_t count)
{
    size_t kept = 0;
    qsort(blocks, count, sizeof *blocks, compare_placed);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || blocks[kept - 1].start != blocks[i].start)
            blocks[kept++] = blocks[i];
    return kept;
}

/* The coverage run that holds a byte; NULL when none does. */
static const struct coverage_run *run_at(const struct container *container, uint64_t offset)
{
    uint32_t low = 0, high = container->coverage_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (container->coverage[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < container->coverage_count && container->coverage[low].start <= offset;
    return found ? &container->coverage[low] : NULL;
}

static bool has_texture(const struct container *container, uint64_t start, uint64_t end)
{
    const struct coverage_run *run = start < end ? run_at(container, start) : NULL;
    const struct coverage_run *stop = container->coverage + container->coverage_count;
    for (; run && run < stop && run->start < end; run++)
        if (run->kind == COVERAGE_TEXTURE)
            return true;
    return false;
}

static void count_blocks(struct walk *walk, const struct container *container, const struct placed *blocks,
                         size_t count, struct priors *out)
{
    out->blocks = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = blocks[i].start - container->data_offset;
        const struct coverage_run *before = offset ? run_at(container, blocks[i].start - 1) : NULL;
        out->residue[offset % 16]++;
        out->aligned_64 += offset % 64 == 0;
        if (before)
            out->preceded_by[before->kind]++;
        if (i == 0 || blocks[i].start < blocks[i - 1].end ||
            has_texture(container, blocks[i - 1].end, blocks[i].start))
            continue;
        uint64_t gap = blocks[i].start - blocks[i - 1].end;
        out->touching += gap == 0;
        buffer_append(&walk->gaps, &gap, sizeof gap);
        buffer_append(&walk->all_gaps, &gap, sizeof gap);
    }
}

static void measure_gaps(struct buffer *list, struct priors *out)
{
    uint64_t *gaps = (uint64_t *)list->data;
    out->gaps = (uint32_t)(list->size / sizeof *gaps);
    if (!out->gaps)
        return;
    qsort(gaps, out->gaps, sizeof *gaps, compare_gaps);
    out->gap_median = gaps[out->gaps / 2];
    out->gap_most = gaps[(uint64_t)out->gaps * 9 / 10];
}

/* ---- words in front of blocks ---- */

static void collect_words(struct walk *walk, const struct placed *blocks, size_t count)
{
    for (int w = 0; w < 4; w++)
        buffer_clear(&walk->words[w]);
    for (size_t i = 0; i < count; i++)
        for (int w = 0; w < 4; w++) {
            uint32_t word = load_u32be(blocks[i].lead + 4 * w);
            if (blocks[i].lead_size < CANDIDATE_LEAD - 4 * w)
                continue;
            buffer_append(&walk->words[w], &word, sizeof word);
            buffer_append(&walk->all_words[w], &word, sizeof word);
        }
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static struct prior_word measure_word(struct buffer *list)
{
    uint32_t *words = (uint32_t *)list->data;
    struct prior_word out = {.blocks = (uint32_t)(list->size / sizeof *words)};
    if (out.blocks)
        qsort(words, out.blocks, sizeof *words, compare_words);
    for (uint32_t i = 0, end; i < out.blocks; i = end) {
        for (end = i; end < out.blocks && words[end] == words[i];)
            end++;
        out.distinct++;
        out.zero += words[i] == 0 ? end - i : 0;
        if (end - i > out.most_count) {
            out.most = words[i];
            out.most_count = end - i;
        }
    }
    return out;
}

/* ---- order ---- */

struct ranked {
    uint32_t index, place;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Blocks are sorted by place, so a block's number is its rank there. */
static bool correlate(struct walk *walk, const struct placed *blocks, size_t count, struct priors *out)
{
    struct ranked *ranks = arena_array(&walk->arena, count, sizeof *ranks);
    double sum = 0, n = (double)count;
    if (!ranks)
        return out_of_memory(walk);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct ranked){blocks[i].index, (uint32_t)i};
    qsort(ranks, count, sizeof *ranks, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        double difference = (double)i - (double)ranks[i].place;
        sum += difference * difference;
    }
    if (count < 3)
        return true;
    out->pairs = (uint32_t)count;
    out->order = 1 - 6 * sum / (n * (n * n - 1));
    return true;
}

static void add_to_all(struct priors *all, const struct priors *one)
{
    double pairs = (double)all->pairs + one->pairs;
    all->blocks += one->blocks;
    for (int i = 0; i < 16; i++)
        all->residue[i] += one->residue[i];
    all->aligned_64 += one->aligned_64;
    all->touching += one->touching;
    for (int i = 0; i < COVERAGE_KIND_COUNT; i++)
        all->preceded_by[i] += one->preceded_by[i];
    if (pairs > 0)
        all->order = (all->order * all->pairs + one->order * one->pairs) / pairs;
    all->pairs += one->pairs;
}

static bool walk_container(const struct view_container *view, void *ctx)
{
    struct walk *walk = ctx;
    if (view->format != FORMAT_XPR2 || !view->record || walk->stopped)
        return !walk->stopped;
    buffer_clear(&walk->blocks);
    buffer_clear(&walk->gaps);
    if (!store_each_resource_of(walk->txn, &view->hash, collect, walk, walk->err) ||
        walk->err->code != ERROR_NONE)
        return false;
    struct placed *blocks = (struct placed *)walk->blocks.data;
    size_t count = walk->blocks.size / sizeof *blocks;
    if (!count)
        return true;
    count = distinct(blocks, count);
    struct container_record record = *view->record;
    struct priors priors = {.container = view->path};
    arena_reset(&walk->arena);
    if (!coverage_load(walk->txn, &view->hash, &walk->arena, &record, walk->err))
        return false;
    count_blocks(walk, &record.container, blocks, count, &priors);
    collect_words(walk, blocks, count);
    for (int w = 0; w < 4; w++) {
        if (walk->words[w].failed || walk->all_words[w].failed)
            return out_of_memory(walk);
        priors.before[w] = measure_word(&walk->words[w]);
    }
    if (walk->gaps.failed || walk->all_gaps.failed)
        return out_of_memory(walk);
    measure_gaps(&walk->gaps, &priors);
    if (!correlate(walk, blocks, count, &priors))
        return false;
    add_to_all(&walk->all, &priors);
    walk->stopped = !walk->each(&priors, walk->ctx);
    return !walk->stopped;
}

bool priors_each(struct store_txn *txn, bool (*each)(const struct priors *priors, void *ctx), void *ctx,
                 struct error *err)
{
    struct walk walk = {.txn = txn, .each = each, .ctx = ctx, .err = err};
    bool ok = view_containers(txn, walk_container, &walk, err) && err->code == ERROR_NONE;
    if (ok && !walk.stopped && walk.all.blocks) {
        measure_gaps(&walk.all_gaps, &walk.all);
        for (int w = 0; w < 4; w++)
            walk.all.before[w] = measure_word(&walk.all_words[w]);
        each(&walk.all, ctx);
    }
    buffer_free(&walk.blocks);
    buffer_free(&walk.gaps);
    buffer_free(&walk.all_gaps);
    for (int w = 0; w < 4; w++) {
        buffer_free(&walk.words[w]);
        buffer_free(&walk.all_words[w]);
    }
    arena_free(&walk.arena);
    return ok;
}

json_t *json_of_priors(const struct priors *priors)
{
    json_t *residues = json_array(), *preceded = json_object(), *before = json_array();
    for (int w = 0; w < 4; w++) {
        const struct prior_word *word = &priors->before[w];
        json_array_append_new(before,
                              json_pack("{s:i, s:I, s:I, s:I, s:I, s:I}", "at", 4 * w - CANDIDATE_LEAD,
                                        "blocks", (json_int_t)word->blocks, "zero", (json_int_t)word->zero,
                                        "distinct", (json_int_t)word->distinct, "commonest",
                                        (json_int_t)word->most, "count", (json_int_t)word->most_count));
    }
    for (int i = 0; i < 16; i++)
        json_array_append_new(residues, json_integer(priors->residue[i]));
    for (int i = 0; i < COVERAGE_KIND_COUNT; i++)
        json_object_set_new(preceded, coverage_kind_word((enum coverage_kind)i),
                            json_integer(priors->preceded_by[i]));
    return json_pack("{s:o, s:I, s:o, s:I, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:{s:I, s:o}}", "container",
                     priors->container ? json_of_bytes(priors->container) : json_null(), "blocks",
                     (json_int_t)priors->blocks, "residues_16", residues, "aligned_64",
                     (json_int_t)priors->aligned_64, "gaps", "count", (json_int_t)priors->gaps, "touching",
                     (json_int_t)priors->touching, "median", (json_int_t)priors->gap_median, "nine_of_ten",
                     (json_int_t)priors->gap_most, "preceded_by", preceded, "before", before, "order",
                     "blocks", (json_int_t)priors->pairs, "spearman",
                     priors->pairs ? json_real(priors->order) : json_null());
}
