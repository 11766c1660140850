/* test_located.c - what the locator answers over whole generated corpora, one container at a time: never a
 * wrong place claimed, nothing claimed that cannot be decided, the right place always among the candidates,
 * and nearly everything that one container can decide decided.
 *
 * ANCHORAGE_SCALE (1: the studied disc) and ANCHORAGE_SEEDS ("1 2 3") choose the corpora; ANCHORAGE_SHOW=1
 * prints every resource that is not right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/corpus/corpus_internal.h"
#include "formats/xpr2.h"

/* The studied disc. Below SMALL_SCALE textures, which are only bulk, shrink faster than the rest. */
enum { DISC_STAGES = 22, DISC_OTHERS = 144, DISC_RESOURCES = 6294, PACK_RESOURCES = 8 };
#define DISC_TEXTURES 1.8e9
#define SMALL_SCALE   0.05
/* Of what one container decides. */
#define RIGHT_MIN 0.96

static const char *const class_words[] = {
#define CLASS_WORD(id, word) word,
    CORPUS_CLASSES(CLASS_WORD)
#undef CLASS_WORD
};

/* What the truth says can be said of a resource. */
enum kind { DECIDABLE, NEEDS_CONTAINER, UNDECIDABLE, ABSENT, KINDS };
static const char *const kind_words[KINDS] = {"decidable", "needs another container", "undecidable",
                                              "absent"};

/* What was said. */
enum answer { RIGHT, WRONG, OPEN, DECLINED, ANSWERS };

struct tally {
    unsigned count[KINDS][ANSWERS];
    unsigned lost[KINDS];                       /* the right place is not among the candidates */
    unsigned class_count[CLASS_COUNT][ANSWERS]; /* of what is decidable */
    bool show;
};

/* ---- one resource ---- */

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool is_place(const json_t *buffers, const struct buffer_place *places, uint32_t count)
{
    if (json_array_size(buffers) != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const json_t *want = json_array_get(buffers, i);
        if (number(want, "index_offset") != places[i].index_offset ||
            number(want, "vertex_offset") != places[i].vertex_offset ||
            number(want, "index_count") != places[i].index_count ||
            number(want, "vertex_count") != places[i].vertex_count ||
            number(want, "stride") != places[i].stride)
            return false;
    }
    return true;
}

/* Whether a place is among the acceptable ones. */
static bool is_right(const json_t *truth, const struct buffer_place *places, uint32_t count)
{
    const json_t *placements = json_object_get(truth, "placements");
    for (size_t i = 0; i < json_array_size(placements); i++)
        if (is_place(json_array_get(placements, i), places, count))
            return true;
    return false;
}

static bool has_right_candidate(const json_t *truth, const struct resource *r)
{
    for (uint32_t i = 0; i < r->candidate_count; i++)
        if (is_right(truth, r->candidates[i].buffers, r->marker_count))
            return true;
    return false;
}

static enum kind kind_of(const json_t *truth)
{
    if (json_array_size(json_object_get(truth, "placements")) == 0)
        return ABSENT;
    if (json_is_true(json_object_get(truth, "undecidable")))
        return UNDECIDABLE;
    const json_t *needs = json_object_get(truth, "needs");
    for (size_t i = 0; i < json_array_size(needs); i++)
        if (strcmp(json_string_value(json_array_get(needs, i)), "container") == 0)
            return NEEDS_CONTAINER;
    return DECIDABLE;
}

static enum answer answer_of(const json_t *truth, const struct resource *r)
{
    if (r->status == RESOURCE_DECLINED)
        return DECLINED;
    if (r->status == RESOURCE_AMBIGUOUS)
        return OPEN;
    return is_right(truth, r->buffers, r->buffer_count) ? RIGHT : WRONG;
}

static void show_place(const char *label, const json_t *truth, const struct resource *r,
                       const struct candidate *c)
{
    const struct anchor_evidence *e = &c->evidence;
    print_message(
        "  %s %s %llu score %.1f short %u unused %u unit %u/%u side %u/%u degenerate %u nonsense %u "
        "run %d %d front %d size %d near %.2f coherence %.2f\n",
        label, is_right(truth, c->buffers, r->marker_count) ? "RIGHT" : "other",
        (unsigned long long)c->buffers[0].index_offset, c->score, e->short_of_top, e->unreferenced, e->unit,
        e->normals, e->agreeing, e->faces, e->degenerate, e->nonsense, e->run_start, e->run_end,
        e->index_start, e->size_match, (double)e->locality, (double)e->coherence);
}

static void show(const json_t *truth, const struct resource *r, enum kind kind, const char *path)
{
    char *classes = json_dumps(json_object_get(truth, "classes"), JSON_COMPACT);
    const char *reason = decline_reason_word(r->reason);
    print_message("%s#%u %s, %s %s margin %.2f, %u vertices, %u triangles %s\n", path, r->index,
                  kind_words[kind], resource_status_word(r->status), reason ? reason : "", r->margin,
                  r->vertices, r->triangles, classes);
    free(classes);
    for (uint32_t i = 0; i < r->candidate_count; i++)
        show_place(i == r->chosen && r->buffer_count ? "*" : " ", truth, r, &r->candidates[i]);
}

static void judge(struct tally *tally, const json_t *truth, const struct resource *r, const char *path)
{
    enum kind kind = kind_of(truth);
    enum answer answer = answer_of(truth, r);
    bool lost = kind != ABSENT && !has_right_candidate(truth, r);
    tally->count[kind][answer]++;
    tally->lost[kind] += lost;
    const json_t *classes = json_object_get(truth, "classes");
    for (size_t i = 0; kind == DECIDABLE && i < json_array_size(classes); i++)
        for (unsigned k = 0; k < CLASS_COUNT; k++)
            if (strcmp(class_words[k], json_string_value(json_array_get(classes, i))) == 0)
                tally->class_count[k][answer]++;
    bool claimed = answer == RIGHT || answer == WRONG;
    if (tally->show && (lost || (kind == DECIDABLE ? answer != RIGHT : claimed)))
        show(truth, r, kind, path);
}

/* ---- corpora ---- */

/* Locates what one container has, and drops it. */
static void judge_container(struct tally *tally, bool made, struct corpus_file *file)
{
    struct arena arena = {0};
    struct container out;
    struct input in = {file->bytes.data, file->bytes.size, "corpus.xpr"};
    assert_true(made);
    assert_true(format_decode(&format_xpr2, &in, &arena, &out));
    assert_int_equal(out.resource_count, json_array_size(file->truth));
    for (uint32_t i = 0; i < out.resource_count; i++) {
        const json_t *truth = json_array_get(file->truth, i);
        assert_int_equal(number(truth, "index"), out.resources[i].index);
        judge(tally, truth, &out.resources[i], file->path);
    }
    arena_free(&arena);
    corpus_file_free(file);
}

static unsigned scaled(unsigned whole, double scale, unsigned least)
{
    unsigned value = (unsigned)(whole * scale + 0.5);
    return value > least ? value : least;
}

/* Single models, small packs and stages in the disc's proportions, but always enough for each class. */
static void judge_corpus(struct tally *tally, uint64_t seed, double scale)
{
    struct world world = {.seed = seed, .captures = json_array()};
    unsigned others = scaled(DISC_OTHERS, scale, 8), stages = scaled(DISC_STAGES, scale, 8);
    unsigned packs = others / 3, resources = scaled(DISC_RESOURCES, scale, 480);
    unsigned in_stages = resources - (others - packs) - packs * PACK_RESOURCES;
    uint64_t textures =
        (uint64_t)(DISC_TEXTURES / 2 * scale * (scale < SMALL_SCALE ? scale / SMALL_SCALE : 1));
    struct rng rng = rng_make(seed, 77);
    world.triangles_cap = scale < SMALL_SCALE ? 1000 : 5000;
    world.pool = (in_stages + packs * PACK_RESOURCES) / 160 + 1;
    for (unsigned i = 0; i < others; i++) {
        struct corpus_file file = {0};
        snprintf(file.path, sizeof file.path, "seed %u, %s %u", (unsigned)seed, i % 3 == 2 ? "pack" : "model",
                 i);
        bool made = i % 3 == 2 ? corpus_stage(&world, 1000 + i / 3, PACK_RESOURCES, textures / others, &file)
                               : corpus_weapon(&world, i, textures / others, &file);
        judge_container(tally, made, &file);
    }
    for (unsigned i = 0, left = in_stages; i < stages; i++) {
        struct corpus_file file = {0};
        unsigned mean = left / (stages - i);
        unsigned count = i + 1 == stages ? left : mean / 2 + rng_below(&rng, mean + 1);
        count = count < left ? count : left;
        left -= count;
        snprintf(file.path, sizeof file.path, "seed %u, stage %u", (unsigned)seed, i);
        judge_container(tally, corpus_stage(&world, i, count, textures / stages, &file), &file);
    }
    json_decref(world.captures);
}

/* ---- the verdict ---- */

static void print_tally(const struct tally *tally)
{
    static const char heads[] = "right   wrong    open declined";
    print_message("%-28s %s    lost\n", "", heads);
    for (unsigned k = 0; k < KINDS; k++) {
        const unsigned *n = tally->count[k];
        print_message("%-28s %5u %7u %7u %8u %7u\n", kind_words[k], n[RIGHT], n[WRONG], n[OPEN], n[DECLINED],
                      tally->lost[k]);
    }
    print_message("%-28s %s\n", "decidable, by class:", heads);
    for (unsigned k = 0; k < CLASS_COUNT; k++) {
        const unsigned *n = tally->class_count[k];
        print_message("%-28s %5u %7u %7u %8u\n", class_words[k], n[RIGHT], n[WRONG], n[OPEN], n[DECLINED]);
    }
}

static bool is_good(const struct tally *tally)
{
    const unsigned *n = tally->count[DECIDABLE];
    unsigned wrong = 0, decidable = n[RIGHT] + n[WRONG] + n[OPEN] + n[DECLINED];
    for (unsigned k = 0; k < KINDS; k++)
        wrong += tally->count[k][WRONG];
    return wrong == 0 && tally->count[UNDECIDABLE][RIGHT] == 0 && tally->count[NEEDS_CONTAINER][RIGHT] == 0 &&
           tally->lost[DECIDABLE] == 0 && n[RIGHT] >= RIGHT_MIN * decidable;
}

static void test_located(void **state)
{
    (void)state;
    const char *scale_text = getenv("ANCHORAGE_SCALE"), *seeds = getenv("ANCHORAGE_SEEDS");
    double scale = scale_text && *scale_text ? strtod(scale_text, NULL) : 0.03;
    struct tally tally = {.show = getenv("ANCHORAGE_SHOW") != NULL};
    char *end;
    assert_true(scale > 0 && scale <= 16);
    for (seeds = seeds && *seeds ? seeds : "1 2 3"; *seeds; seeds = end) {
        uint64_t seed = strtoull(seeds, &end, 10);
        assert_true(end != seeds);
        judge_corpus(&tally, seed, scale);
    }
    if (tally.show || !is_good(&tally))
        print_tally(&tally);
    assert_true(is_good(&tally));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_located)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
