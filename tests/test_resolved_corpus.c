/* test_resolved_corpus.c - generated corpora through the whole program: extracted, decoded, resolved with the
 * captures that come with them, and compared with their truth. Nothing wrong is claimed; what another
 * container or the neighbourhood tells is decided; what nothing tells is open, with the right place among the
 * alternatives; twins are as captures say.
 *
 * ANCHORAGE_SCALE (0.05; 1 is the studied disc) and ANCHORAGE_SEEDS ("1 2 3") choose the corpora;
 * ANCHORAGE_SHOW=1 prints a table by class and every resource that is not right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/corpus/corpus.h"
#include "pipeline/captures.h"
#include "pipeline/ingest.h"
#include "pipeline/worker.h"
#include "pipeline/resolve.h"
#include "reports/view.h"
#include "tests/support/store_fixture.h"

/* Of what can be decided: on corpora of the disc's size, and on small ones, where one more or less is much
 * and where a container teaches little. */
#define RIGHT_MIN       0.998
#define RIGHT_MIN_SMALL 0.97

enum answer { RIGHT, WRONG, OPEN_WITH_RIGHT, OPEN_WITHOUT, DECLINED_PRESENT, DECLINED_ABSENT, ANSWERS };
static const char *const answer_words[ANSWERS] = {
    "right", "wrong", "open", "open, right one missing", "declined", "declined, absent"};

struct judge {
    json_t *truth;   /* by "address#index" */
    json_t *classes; /* by class: an array of counts by answer */
    size_t prefix;   /* of addresses: the corpus folder */
    unsigned decidable[ANSWERS], undecidable[ANSWERS];
    unsigned needing, needing_right; /* another container, or the neighbourhood */
    unsigned twins, twins_right;
    bool show;
};

/* ---- truth --------------------------------------------------------------------------------------------- */

static json_t *load_truth(const char *directory)
{
    char path[256];
    json_t *truth = json_object();
    snprintf(path, sizeof path, "%s/truth.jsonl", directory);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL));) {
        char key[600];
        snprintf(key, sizeof key, "%s#%d", json_string_value(json_object_get(line, "container")),
                 (int)json_integer_value(json_object_get(line, "index")));
        if (strcmp(json_string_value(json_object_get(line, "format")), "xbg7") == 0)
            json_object_set(truth, key, line);
        json_decref(line);
    }
    fclose(file);
    return truth;
}

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool is_place(const json_t *placement, const struct buffer_place *buffers, uint32_t count)
{
    if (json_array_size(placement) != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const json_t *buffer = json_array_get(placement, i);
        if (number(buffer, "index_offset") != buffers[i].index_offset ||
            number(buffer, "vertex_offset") != buffers[i].vertex_offset)
            return false;
    }
    return true;
}

/* The number of the acceptable placement that the buffers are, -1: none. */
static int placement_of(const json_t *truth, const struct buffer_place *buffers, uint32_t count)
{
    const json_t *placements = json_object_get(truth, "placements");
    for (size_t i = 0; i < json_array_size(placements); i++)
        if (is_place(json_array_get(placements, i), buffers, count))
            return (int)i;
    return -1;
}

/* ---- judging ------------------------------------------------------------------------------------------- */

static enum answer answer_of(const json_t *truth, const struct resource *resource)
{
    bool present = json_array_size(json_object_get(truth, "placements")) != 0;
    if (resource->status == RESOURCE_DECLINED)
        return present ? DECLINED_PRESENT : DECLINED_ABSENT;
    if (resource->status != RESOURCE_AMBIGUOUS)
        return placement_of(truth, resource->buffers, resource->buffer_count) >= 0 ? RIGHT : WRONG;
    for (uint32_t i = 0; i < resource->candidate_count; i++)
        if (placement_of(truth, resource->candidates[i].buffers, resource->marker_count) >= 0)
            return OPEN_WITH_RIGHT;
    return OPEN_WITHOUT;
}

static void count_classes(struct judge *judge, const json_t *truth, enum answer answer)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(truth, "classes"), i, name)
    {
        json_t *row = json_object_get(judge->classes, json_string_value(name));
        if (!row) {
            row = json_array();
            for (int k = 0; k < ANSWERS; k++)
                json_array_append_new(row, json_integer(0));
            json_object_set_new(judge->classes, json_string_value(name), row);
        }
        json_t *cell = json_array_get(row, answer);
        json_integer_set(cell, json_integer_value(cell) + 1);
    }
}

/* Twins that were located: mirrored and basis as the truth has them, drawn from the right block. */
static void judge_twin(struct judge *judge, const json_t *truth, const struct view_resource *view)
{
    const json_t *want = json_object_get(truth, "canonical");
    const struct resolved_canonical *got = &view->outcome->canonical;
    const struct resource *resource = &view->record->resource;
    if (!want) {
        assert_int_equal(got->basis, CANONICAL_NONE);
        return;
    }
    judge->twins++;
    int own = placement_of(truth, resource->buffers, resource->buffer_count);
    bool own_is_canonical = own == (int)number(want, "placement");
    bool drawn_from_own = hash_equal(&got->geometry, &view->record->geometry);
    const char *basis = canonical_basis_word(got->basis);
    bool right = basis && strcmp(basis, json_string_value(json_object_get(want, "basis"))) == 0 &&
                 got->mirrored == json_is_true(json_object_get(want, "mirrored")) &&
                 own_is_canonical == drawn_from_own;
    judge->twins_right += right;
    if (!right && judge->show)
        print_message("%s %s: canonical is not as the truth has it\n", view->address, view->name);
}

static bool judge_one(const struct view_resource *view, void *ctx)
{
    struct judge *judge = ctx;
    char key[600];
    snprintf(key, sizeof key, "%s", view->address + judge->prefix);
    const json_t *truth = json_object_get(judge->truth, key);
    assert_non_null(truth);
    enum answer answer = answer_of(truth, &view->record->resource);
    bool undecidable = json_is_true(json_object_get(truth, "undecidable"));
    bool absent = json_array_size(json_object_get(truth, "placements")) == 0;
    if (absent && answer != DECLINED_ABSENT)
        answer = WRONG; /* decoded, or called open, though there is nothing */
    (undecidable ? judge->undecidable : judge->decidable)[answer]++;
    count_classes(judge, truth, answer);
    if (json_object_get(truth, "needs")) {
        judge->needing++;
        judge->needing_right += answer == RIGHT;
    }
    if (view->record->resource.status == RESOURCE_PROVEN ||
        view->record->resource.status == RESOURCE_ASSIGNED)
        judge_twin(judge, truth, view);
    bool good = answer == RIGHT || answer == DECLINED_ABSENT || (undecidable && answer == OPEN_WITH_RIGHT);
    if (judge->show && !good)
        print_message("%s %s: %s\n", view->address, view->name, answer_words[answer]);
    return true;
}

static void print_classes(const struct judge *judge)
{
    const char *name;
    json_t *row;
    if (!judge->show)
        return;
    json_object_foreach(judge->classes, name, row)
    {
        char line[200];
        int used = snprintf(line, sizeof line, "%-24s", name);
        for (size_t k = 0; k < ANSWERS; k++)
            used += snprintf(line + used, sizeof line - (size_t)used, " %6d",
                             (int)json_integer_value(json_array_get(row, k)));
        print_message("%s\n", line);
    }
}

/* ---- the program --------------------------------------------------------------------------------------- */

static void make_corpus(const char *directory, uint64_t seed, double scale)
{
    const struct corpus_options options = {.directory = directory, .seed = seed, .scale = scale};
    struct error err = {0};
    if (!corpus_write(&options, &err))
        fail_msg("%s", err.msg);
}

static void fill_store(struct store *store, const char *directory)
{
    const char *const inputs[] = {directory};
    const struct ingest_options options = {
        .inputs = inputs, .input_count = 1, .threads = 2, .run = 1, .limits = EXTRACT_LIMITS_DEFAULT};
    struct ingest_progress done;
    struct error err = {0};
    if (!ingest(store, &options, &done, &err))
        fail_msg("%s", err.msg);
}

static struct resolve_result resolve_all(struct store *store, const char *directory, int threads)
{
    char path[256];
    struct capture_list captures;
    struct resolve_result result;
    struct error err = {0};
    uint64_t changed;
    const struct resolve_options options = {.threads = threads};
    snprintf(path, sizeof path, "%s/captures.jsonl", directory);
    if (!captures_read(path, &captures, &err) || !captures_store(store, &captures, &changed, &err) ||
        !resolve(store, &options, &result, &err))
        fail_msg("%s", err.msg);
    captures_free(&captures);
    return result;
}

static void judge_corpus(uint64_t seed, double scale)
{
    char directory[128];
    struct error err = {0};
    snprintf(directory, sizeof directory, "%s/corpus", fixture_directory);
    make_corpus(directory, seed, scale);
    struct store *store = fixture_open(STORE_CREATE);
    fill_store(store, directory);
    struct resolve_result result = resolve_all(store, directory, 1);
    struct hash digest = fixture_digest(store);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
    assert_int_equal(resolve_all(store, directory, 3).changed, 0);
    struct hash again = fixture_digest(store);
    assert_memory_equal(again.bytes, digest.bytes, HASH_SIZE);
    assert_int_equal(fixture_problems(store, true), 0);

    struct judge judge = {.truth = load_truth(directory),
                          .classes = json_object(),
                          .prefix = strlen(directory) + 1,
                          .show = getenv("ANCHORAGE_SHOW") != NULL};
    const struct view_filter filter = {.formats = UINT32_C(1) << FORMAT_XBG7};
    struct store_txn *txn = store_begin_read(store, &err);
    if (!txn || !view_resources(txn, &filter, judge_one, &judge, &err))
        fail_msg("%s", err.msg);
    store_end_read(txn);
    store_close(store);

    const unsigned *got = judge.decidable;
    unsigned present =
        got[RIGHT] + got[WRONG] + got[OPEN_WITH_RIGHT] + got[OPEN_WITHOUT] + got[DECLINED_PRESENT];
    print_message("seed %llu: of %u decidable %u right, %u wrong, %u open, %u declined; of %u that need more "
                  "%u right; of "
                  "%u undecidable %u open; of %u twins %u right\n",
                  (unsigned long long)seed, present, got[RIGHT], got[WRONG],
                  got[OPEN_WITH_RIGHT] + got[OPEN_WITHOUT], got[DECLINED_PRESENT], judge.needing,
                  judge.needing_right,
                  judge.undecidable[OPEN_WITH_RIGHT] + judge.undecidable[RIGHT] + judge.undecidable[WRONG],
                  judge.undecidable[OPEN_WITH_RIGHT], judge.twins, judge.twins_right);
    print_classes(&judge);
    assert_int_equal(got[WRONG] + judge.undecidable[WRONG] + judge.undecidable[RIGHT], 0);
    assert_int_equal(got[OPEN_WITHOUT] + judge.undecidable[OPEN_WITHOUT], 0);
    assert_true(got[RIGHT] >= (scale < 1 ? RIGHT_MIN_SMALL : RIGHT_MIN) * present);
    assert_true(judge.twins > 0);
    assert_int_equal(judge.twins_right, judge.twins);
    assert_true(judge.needing_right >=
                0.9 * judge.needing); /* the neighbourhoods of small corpora teach little */
    json_decref(judge.truth);
    json_decref(judge.classes);
}

static void resolved_corpora_are_as_the_truth_says(void **state)
{
    const char *scale_text = getenv("ANCHORAGE_SCALE"), *seeds = getenv("ANCHORAGE_SEEDS");
    double scale = scale_text ? strtod(scale_text, NULL) : 0.05;
    char *end = (char *)(uintptr_t)(seeds ? seeds : "1 2 3");
    for (const char *at = end; *at; at = end) {
        uint64_t seed = strtoull(at, &end, 10);
        if (end == at)
            break;
        judge_corpus(seed, scale);
        fixture_teardown(state);
        fixture_setup(state);
    }
}

int main(int argc, char **argv)
{
    if (worker_is_wanted(argc, argv))
        return worker_main(argc, argv);

    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(resolved_corpora_are_as_the_truth_says,
                                                                       fixture_setup, fixture_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
