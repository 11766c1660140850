/* test_resolve.c - what the global passes decide: by proof, by what proof leaves over, and by captured
 * placements; and that they decide it again, and alike, whenever they are asked. Containers are made up place
 * by place (resolve_build.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/captures.h"
#include "tests/support/resolve_build.h"

#define P 0x10000 /* places, far enough from each other */
#define Q 0x20000
#define R 0x30000
#define S 0x40000

/* "key" is proven in one.xpr; two.xpr has the same bytes at Q and a rival at R. */
static const struct build_container teacher = {
    .path = "one.xpr", .resources = {{"key", RESOURCE_PROVEN, .candidates = {{1, P}}}}};
static const struct build_container learner = {
    .path = "two.xpr", .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{2, R}, {1, Q}}}}};

static struct store *store_of(const struct build_container *a, const struct build_container *b)
{
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, a);
    if (b)
        build_put(store, b);
    return store;
}

static void finish(struct store *store, struct arena *arena)
{
    assert_int_equal(fixture_problems(store, true), 0);
    store_close(store);
    arena_free(arena);
}

static void assert_hash(const struct hash *got, struct hash want)
{
    assert_memory_equal(got->bytes, want.bytes, HASH_SIZE);
}

/* Status and candidate of a resource after resolving. */
static void assert_outcome(struct store *store, const struct build_container *container, uint32_t index,
                           enum resource_status status, uint32_t chosen)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    struct resource_record record = build_outcome(store, container, index, &outcome, &arena);
    assert_int_equal(record.resource.status, status);
    if (status != RESOURCE_DECLINED)
        assert_int_equal(record.resource.chosen, chosen);
    arena_free(&arena);
}

/* ---- proof across containers --------------------------------------------------------------------------- */

static void equal_bytes_are_proven_elsewhere(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    (void)state;
    struct store *store = store_of(&teacher, &learner);
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.proven, 1);
    struct resource_record record = build_outcome(store, &learner, 0, &outcome, &arena);
    assert_int_equal(record.resource.status, RESOURCE_PROVEN);
    assert_int_equal(record.resource.chosen, 1);
    assert_int_equal(record.resource.buffers[0].index_offset, Q);
    assert_int_equal(record.resource.buffers[0].vertex_offset, Q + 6 * BUILD_TRIANGLES);
    assert_true(record.resource.margin == 30); /* the teacher's */
    assert_hash(&record.geometry, build_geometry(1));
    struct bounds bounds = build_bounds(1);
    assert_memory_equal(record.resource.bounds.min, bounds.min, sizeof bounds.min);
    assert_memory_equal(record.resource.bounds.max, bounds.max, sizeof bounds.max);
    assert_int_equal(outcome.was, RESOURCE_AMBIGUOUS);
    assert_int_equal(outcome.change_count, 1);
    assert_string_equal(outcome.changes[0].pass, "proof");
    assert_int_equal(outcome.changes[0].from, RESOURCE_AMBIGUOUS);
    assert_int_equal(outcome.changes[0].from_chosen, 0);
    assert_int_equal(outcome.changes[0].to_chosen, 1);
    assert_non_null(strstr(outcome.changes[0].why, "the same bytes"));
    finish(store, &arena);
}

/* A geometry that became the outcome is found by its hash, the rejected one is not any more. */
static void outcomes_are_found_by_geometry(void **state)
{
    struct arena arena = {0};
    struct error err = {0};
    struct resource_key *keys;
    struct hash right = build_geometry(1), wrong = build_geometry(2);
    size_t count;
    (void)state;
    struct store *store = store_of(&teacher, &learner);
    build_resolve(store, 1);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(store_find_geometry(txn, &right, &arena, &keys, &count, &err));
    assert_int_equal(count, 2);
    assert_true(store_find_geometry(txn, &wrong, &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    store_end_read(txn);
    finish(store, &arena);
}

static void resolving_again_changes_nothing(void **state)
{
    struct arena arena = {0};
    (void)state;
    struct store *store = store_of(&teacher, &learner);
    struct hash before = fixture_digest(store);
    assert_true(build_resolve(store, 1).changed > 0);
    struct hash first = fixture_digest(store);
    assert_memory_not_equal(first.bytes, before.bytes, HASH_SIZE);
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(build_resolve(store, threads).changed, 0);
        struct hash again = fixture_digest(store);
        assert_hash(&again, first);
    }
    finish(store, &arena);
}

/* The teacher's container is replaced by one in which nothing is proven: what was learned of it goes. */
static void what_was_learned_goes_with_the_teacher(void **state)
{
    struct build_container emptied = teacher;
    struct arena arena = {0};
    (void)state;
    emptied.resources[0] =
        (struct build_resource){.name = "key", .status = RESOURCE_PROVEN, .candidates = {{3, P}}};
    struct store *store = store_of(&teacher, &learner);
    build_resolve(store, 1);
    build_put(store, &emptied);
    build_resolve(store, 1);
    assert_outcome(store, &learner, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* An outcome is dropped with its resource, and its reference to the geometry with it. */
static bool drop(struct store_txn *txn, void *ctx, struct error *err)
{
    return store_drop_resolved(txn, ctx, err);
}

static void an_outcome_can_be_dropped(void **state)
{
    struct arena arena = {0};
    struct error err = {0};
    struct resource_key key = {build_hash(&learner), 0};
    (void)state;
    struct store *store = store_of(&teacher, &learner);
    build_resolve(store, 1);
    assert_true(store_update(store, drop, &key, &err));
    assert_outcome(store, &learner, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* Nothing is learned: `a` has what the teacher lacks. The learner stays as it is. */
static void nothing_is_learned(const struct build_container *from)
{
    struct arena arena = {0};
    struct store *store = store_of(from, &learner);
    build_resolve(store, 1);
    assert_outcome(store, &learner, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

static void a_shared_block_teaches_nothing(void **state)
{
    (void)state;
    nothing_is_learned(
        &(struct build_container){.path = "one.xpr",
                                  .resources = {{"key", RESOURCE_PROVEN, .candidates = {{1, P}}},
                                                {"other", RESOURCE_ASSIGNED, .candidates = {{1, P}}}}});
}

static void a_damaged_container_teaches_nothing(void **state)
{
    (void)state;
    nothing_is_learned(
        &(struct build_container){.path = "one.xpr",
                                  .status = CONTAINER_DAMAGED,
                                  .reason = CONTAINER_TRUNCATED,
                                  .resources = {{"key", RESOURCE_PROVEN, .candidates = {{1, P}}}}});
}

static void another_name_or_form_teaches_nothing(void **state)
{
    (void)state;
    nothing_is_learned(&(struct build_container){
        .path = "one.xpr",
        .resources = {{"lock", RESOURCE_PROVEN, .candidates = {{1, P}}},
                      {"key", RESOURCE_PROVEN, .extra_vertices = 4, .candidates = {{1, Q}}}}});
}

/* An assigned block teaches only without a rival, and by a wide margin; what is learned is no more than
 * assigned. */
static void an_assigned_block_teaches_what_it_is(void **state)
{
    struct arena arena = {0};
    struct build_container from = teacher;
    (void)state;
    from.resources[0].status = RESOURCE_ASSIGNED;
    struct store *store = store_of(&from, &learner);
    build_resolve(store, 1);
    assert_outcome(store, &learner, 0, RESOURCE_ASSIGNED, 1);
    finish(store, &arena);
}

/* One that is not sure, or has a rival, does not teach. But where both have the same bytes and no others in
 * common they agree, which is a reason of its own. */
static void an_unsure_block_may_agree(void **state)
{
    struct build_container from = teacher;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct resolved_record outcome;
        from.resources[0].status = i < 2 ? RESOURCE_ASSIGNED : RESOURCE_AMBIGUOUS;
        from.resources[0].margin = i == 0 ? 2 : 30;
        if (i == 1)
            from.resources[0].candidates[1] = (struct build_candidate){.content = 3, .at = Q, .score = 5};
        struct store *store = store_of(&from, &learner);
        build_resolve(store, 1);
        struct resource_record record = build_outcome(store, &learner, 0, &outcome, &arena);
        assert_int_equal(record.resource.status, RESOURCE_ASSIGNED);
        assert_int_equal(record.resource.chosen, 1);
        assert_true(record.resource.margin == 3);
        assert_non_null(strstr(outcome.changes[0].why, "no others"));
        finish(store, &arena);
        fixture_teardown(NULL);
        fixture_setup(NULL);
    }
}

/* Both have both places: nothing tells which is whose. Or one has the name twice, and no other container has
 * it. */
static void what_is_common_twice_is_no_agreement(void **state)
{
    struct build_container from = teacher;
    struct arena arena = {0};
    const struct build_container twice = {
        .path = "two.xpr",
        .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{2, R}, {1, Q}}},
                      {"key", RESOURCE_AMBIGUOUS, .candidates = {{1, Q}, {3, S}}}}};
    (void)state;
    from.resources[0] =
        (struct build_resource){.name = "key", .status = RESOURCE_AMBIGUOUS, .candidates = {{1, P}, {2, Q}}};
    nothing_is_learned(&from);
    fixture_teardown(NULL);
    fixture_setup(NULL);
    struct store *store = store_of(&twice, NULL);
    build_resolve(store, 1);
    assert_int_equal(build_findings(store, FINDING_CONTESTED_PROOF), 0);
    struct resolved_record outcome;
    build_outcome(store, &twice, 0, &outcome, &arena);
    if (outcome.change_count)
        assert_string_not_equal(outcome.changes[0].pass, "proof");
    finish(store, &arena);
}

/* Both of its places are proven for the name, each in another container. */
static void two_lessons_are_none(void **state)
{
    struct arena arena = {0};
    const struct build_container other = {.path = "three.xpr",
                                          .resources = {{"key", RESOURCE_PROVEN, .candidates = {{2, P}}}}};
    (void)state;
    struct store *store = store_of(&teacher, &learner);
    build_put(store, &other);
    build_resolve(store, 1);
    assert_outcome(store, &learner, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* Here the bytes are proven to be another resource's: whoever is right, nothing is claimed. */
static void a_contested_block_is_not_taken(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    const struct build_container contested = {
        .path = "two.xpr",
        .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{2, R}, {1, Q}}},
                      {"other", RESOURCE_PROVEN, .candidates = {{1, Q}}}}};
    (void)state;
    struct store *store = store_of(&teacher, &contested);
    build_resolve(store, 1);
    assert_int_not_equal(build_findings(store, FINDING_CONTESTED_PROOF), 0);
    assert_true(build_finding(store, FINDING_CONTESTED_PROOF, "key#0", &finding, &arena));
    assert_int_equal(finding.side_count, 2);
    /* What is left is R, since Q is proven to be another's. */
    assert_outcome(store, &contested, 0, RESOURCE_ASSIGNED, 0);
    finish(store, &arena);
}

/* What another container has under the name may be a variant. Here the stored size speaks: far from the place
 * that would be learned, or against it while the one at hand has it. A teacher that it speaks against teaches
 * nobody. */
static void a_size_stops_a_proof(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct build_container from = teacher, to = learner;
        from.resources[0].candidates[0].size_match = i == 2 ? -1 : 0;
        to.resources[0].candidates[0].size_match = i == 1 ? 1 : 0;
        to.resources[0].candidates[1].size_match = i == 0 ? -2 : i == 1 ? -1 : 0;
        struct store *store = store_of(&from, &to);
        build_resolve(store, 1);
        struct resolved_record outcome;
        struct resource_record record = build_outcome(store, &to, 0, &outcome, &arena);
        assert_int_not_equal(record.resource.status, RESOURCE_PROVEN);
        finish(store, &arena);
        fixture_teardown(NULL);
        fixture_setup(NULL);
    }
}

/* Two places whose measures are equal to the last bit and whose bytes are no reflections, as variants of one
 * model have: which of them is whose is a decision, and nothing tells. */
static void equal_measures_are_no_reflection(void **state)
{
    struct arena arena = {0};
    const struct build_container variants = {
        .path = "one.xpr",
        .resources = {
            {"a", RESOURCE_AMBIGUOUS, .candidates = {{1, P, .as_large = true}, {2, Q, .as_large = true}}},
            {"b", RESOURCE_AMBIGUOUS, .candidates = {{2, Q, .as_large = true}, {1, P, .as_large = true}}}}};
    (void)state;
    struct store *store = store_of(&variants, NULL);
    build_resolve(store, 1);
    assert_outcome(store, &variants, 0, RESOURCE_AMBIGUOUS, 0);
    assert_outcome(store, &variants, 1, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* Two learn of overlapping blocks: neither does. */
static void overlapping_lessons_are_none(void **state)
{
    struct arena arena = {0};
    const struct build_container from = {.path = "one.xpr",
                                         .resources = {{"a", RESOURCE_PROVEN, .candidates = {{1, P}}},
                                                       {"b", RESOURCE_PROVEN, .candidates = {{2, Q}}}}};
    const struct build_container to = {
        .path = "two.xpr",
        .resources = {{"a", RESOURCE_AMBIGUOUS, .candidates = {{3, R}, {1, P}}},
                      {"b", RESOURCE_AMBIGUOUS, .candidates = {{4, S}, {2, P + 100}}}}};
    (void)state;
    struct store *store = store_of(&from, &to);
    build_resolve(store, 1);
    assert_int_equal(build_findings(store, FINDING_CONTESTED_PROOF), 2);
    assert_outcome(store, &to, 0, RESOURCE_AMBIGUOUS, 0);
    assert_outcome(store, &to, 1, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* A declined resource gains the place; its geometry is that of equal bytes elsewhere. */
static void a_declined_one_gains_its_place(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    const struct build_container to = {
        .path = "two.xpr",
        .resources = {{"key", RESOURCE_DECLINED, .candidates = {{1, Q, .score = -5, .undecoded = true}}}}};
    (void)state;
    struct store *store = store_of(&teacher, &to);
    assert_int_equal(build_resolve(store, 1).proven, 1);
    struct resource_record record = build_outcome(store, &to, 0, &outcome, &arena);
    assert_int_equal(record.resource.status, RESOURCE_PROVEN);
    assert_int_equal(record.resource.reason, DECLINE_NONE);
    assert_int_equal(record.resource.buffer_count, 1);
    assert_hash(&record.geometry, build_geometry(1));
    finish(store, &arena);
}

/* ---- what proof leaves over ---------------------------------------------------------------------------- */

/* "key" is proven at Q by its bytes, so its rival for Q and R has R. */
static void a_rival_gets_what_is_left(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    const struct build_container to = {
        .path = "two.xpr",
        .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{2, R}, {1, Q}}},
                      {"rival", RESOURCE_AMBIGUOUS, .candidates = {{1, Q}, {2, R}}}}};
    (void)state;
    struct store *store = store_of(&teacher, &to);
    build_resolve(store, 1);
    assert_outcome(store, &to, 0, RESOURCE_PROVEN, 1);
    struct resource_record record = build_outcome(store, &to, 1, &outcome, &arena);
    assert_int_equal(record.resource.status, RESOURCE_ASSIGNED);
    assert_int_equal(record.resource.chosen, 1);
    assert_true(record.resource.margin >= 1);
    assert_string_equal(outcome.changes[0].pass, "neighbour");
    finish(store, &arena);
}

/* An assigned resource lies across a block that turns out to be proven for another one. */
static void a_contradicted_place_is_given_up(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    const struct build_container to = {
        .path = "two.xpr",
        .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{2, R}, {1, Q}}},
                      {"across", RESOURCE_ASSIGNED, .candidates = {{3, Q + 40}}},
                      {"elsewhere", RESOURCE_ASSIGNED, .candidates = {{4, S}}}}};
    (void)state;
    struct store *store = store_of(&teacher, &to);
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.declined, 1);
    struct resource_record record = build_outcome(store, &to, 1, &outcome, &arena);
    assert_int_equal(record.resource.status, RESOURCE_DECLINED);
    assert_int_equal(record.resource.reason, DECLINE_NO_CANDIDATE);
    assert_int_equal(record.resource.buffer_count, 0);
    assert_true(hash_is_zero(&record.geometry));
    assert_non_null(strstr(outcome.changes[0].why, "key"));
    assert_outcome(store, &to, 2, RESOURCE_ASSIGNED, 0);
    finish(store, &arena);
}

/* What the locator left open in spite of a margin it left open for a reason that is not stored. */
static void incomplete_candidates_decide_nothing(void **state)
{
    struct arena arena = {0};
    const struct build_container to = {
        .path = "two.xpr",
        .resources = {{"open", RESOURCE_AMBIGUOUS, .margin = 20, .candidates = {{3, Q}}},
                      {"short", RESOURCE_AMBIGUOUS, .candidates = {{4, S, .imperfect = true}}}}};
    (void)state;
    struct store *store = store_of(&to, NULL);
    build_resolve(store, 1);
    assert_outcome(store, &to, 0, RESOURCE_AMBIGUOUS, 0);
    assert_outcome(store, &to, 1, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* Neighbours of the directory lie together in two halves of the file. Each half has a resource with two equal
 * places, one among its neighbours and one in the other half. `scattered`: the sure ones lie anywhere. */
static struct build_container halves(bool scattered)
{
    static char names[24][8];
    struct build_container out = {.path = "halves.xpr"};
    uint32_t random = 7;
    for (unsigned i = 0; i < 24; i++) {
        bool second = i >= 12, open = i == 6 || i == 17;
        uint64_t place = 0x2000 * (uint64_t)(i % 12) + (second ? 0x4000000 : 0x10000);
        random = random * 1664525u + 1013904223u;
        if (scattered)
            place = 0x10000 + 0x4000 * (uint64_t)(random >> 20);
        snprintf(names[i], sizeof names[i], "n%02u", i);
        out.resources[i] = (struct build_resource){.name = names[i],
                                                   .status = open ? RESOURCE_AMBIGUOUS : RESOURCE_PROVEN,
                                                   .candidates = {{10 + i, place}}};
        if (open)
            out.resources[i].candidates[1] =
                (struct build_candidate){.content = 50 + i, .at = second ? 0x40000 : 0x4030000};
    }
    return out;
}

static void neighbours_decide_where_there_is_locality(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    const struct build_container container = halves(false);
    (void)state;
    struct store *store = store_of(&container, NULL);
    build_resolve(store, 1);
    assert_outcome(store, &container, 6, RESOURCE_ASSIGNED, 0);
    assert_outcome(store, &container, 17, RESOURCE_ASSIGNED, 0);
    build_outcome(store, &container, 6, &outcome, &arena);
    assert_non_null(strstr(outcome.changes[0].why, "neighbours"));
    finish(store, &arena);
}

static void neighbours_decide_nothing_where_there_is_none(void **state)
{
    struct arena arena = {0};
    const struct build_container container = halves(true);
    (void)state;
    struct store *store = store_of(&container, NULL);
    build_resolve(store, 1);
    assert_outcome(store, &container, 6, RESOURCE_AMBIGUOUS, 0);
    assert_outcome(store, &container, 17, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* ---- captured placements ------------------------------------------------------------------------------- */

static void capture(struct store *store, const char *text)
{
    struct capture_list list;
    struct error err = {0};
    uint64_t changed;
    if (!captures_parse(text, strlen(text), &list, &err) || !captures_store(store, &list, &changed, &err))
        fail_msg("%s", err.msg);
    captures_free(&list);
}

/* A line of a placement of "key" in two.xpr at a place, by the counts of the usual form. */
#define PLACED(offset, vertex_offset, count)                                                                 \
    "{\"resource\":\"key\",\"container\":\"two.xpr\",\"buffers\":[{\"index_offset\":" #offset                \
    ",\"index_count\":180,\"vertex_offset\":" #vertex_offset ",\"vertex_count\":" #count                     \
    ",\"stride\":20}]}\n"
#define PLACED_Q PLACED(131072, 131432, 40) /* Q */
#define PLACED_R PLACED(196608, 196968, 40) /* R */

static void a_captured_placement_is_proof(void **state)
{
    struct arena arena = {0};
    struct resolved_record outcome;
    (void)state;
    struct store *store = store_of(&learner, NULL);
    capture(store, PLACED_Q);
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
    struct resource_record record = build_outcome(store, &learner, 0, &outcome, &arena);
    assert_int_equal(record.resource.status, RESOURCE_PROVEN);
    assert_int_equal(record.resource.chosen, 1);
    assert_string_equal(outcome.changes[0].pass, "capture");
    /* And it teaches others. */
    const struct build_container third = {
        .path = "three.xpr", .resources = {{"key", RESOURCE_AMBIGUOUS, .candidates = {{5, P}, {1, S}}}}};
    build_put(store, &third);
    build_resolve(store, 1);
    assert_outcome(store, &third, 0, RESOURCE_PROVEN, 1);
    finish(store, &arena);
}

static void the_earlier_placement_stays(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    (void)state;
    struct store *store = store_of(&learner, NULL);
    capture(store, PLACED_Q);
    capture(store, PLACED_R);
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 1);
    assert_outcome(store, &learner, 0, RESOURCE_PROVEN, 1);
    assert_true(build_finding(store, FINDING_CONTRADICTED, "key", &finding, &arena));
    assert_non_null(strstr(finding.message, "0x30000"));
    /* Saying the same again is no contradiction, and no change. */
    capture(store, PLACED_Q);
    assert_int_equal(build_resolve(store, 1).changed, 0);
    /* Withdrawn, both are gone, and the other one can be said. */
    capture(store, "{\"resource\":\"key\",\"container\":\"two.xpr\",\"buffers\":null}\n" PLACED_R);
    result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
    assert_outcome(store, &learner, 0, RESOURCE_PROVEN, 0);
    finish(store, &arena);
}

/* The descriptor declares 40 vertices, the capture 44. */
static void a_placement_must_fit_its_resource(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    (void)state;
    struct store *store = store_of(&learner, NULL);
    capture(store, PLACED(131072, 131432, 44));
    assert_int_equal(build_resolve(store, 1).findings[FINDING_CONTRADICTED], 1);
    assert_true(build_finding(store, FINDING_CONTRADICTED, "key", &finding, &arena));
    assert_non_null(strstr(finding.message, "counts"));
    assert_outcome(store, &learner, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

/* A place that was no candidate: it cannot be followed from the store, but what was decided otherwise is open
 * again. */
static void a_proof_that_is_not_stored_is_a_finding(void **state)
{
    struct arena arena = {0};
    struct build_container assigned = learner;
    (void)state;
    assigned.resources[0].status = RESOURCE_ASSIGNED;
    struct store *store = store_of(&assigned, NULL);
    capture(store, PLACED(4096, 4456, 40));
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
    assert_int_equal(result.findings[FINDING_PROOF_NOT_STORED], 1);
    assert_outcome(store, &assigned, 0, RESOURCE_AMBIGUOUS, 0);
    finish(store, &arena);
}

static void a_capture_of_nothing_is_a_finding(void **state)
{
    struct arena arena = {0};
    (void)state;
    struct store *store = store_of(&teacher, NULL);
    capture(store, PLACED_Q "{\"resource\":\"nobody\",\"row0_x\":1}\n");
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_UNUSED_CAPTURE], 2);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 0);
    finish(store, &arena);
}

int main(void)
{
#define RESOLVE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        RESOLVE_TEST(equal_bytes_are_proven_elsewhere),
        RESOLVE_TEST(outcomes_are_found_by_geometry),
        RESOLVE_TEST(resolving_again_changes_nothing),
        RESOLVE_TEST(what_was_learned_goes_with_the_teacher),
        RESOLVE_TEST(an_outcome_can_be_dropped),
        RESOLVE_TEST(a_shared_block_teaches_nothing),
        RESOLVE_TEST(a_damaged_container_teaches_nothing),
        RESOLVE_TEST(another_name_or_form_teaches_nothing),
        RESOLVE_TEST(an_assigned_block_teaches_what_it_is),
        RESOLVE_TEST(an_unsure_block_may_agree),
        RESOLVE_TEST(what_is_common_twice_is_no_agreement),
        RESOLVE_TEST(two_lessons_are_none),
        RESOLVE_TEST(a_contested_block_is_not_taken),
        RESOLVE_TEST(a_size_stops_a_proof),
        RESOLVE_TEST(equal_measures_are_no_reflection),
        RESOLVE_TEST(overlapping_lessons_are_none),
        RESOLVE_TEST(a_declined_one_gains_its_place),
        RESOLVE_TEST(a_rival_gets_what_is_left),
        RESOLVE_TEST(a_contradicted_place_is_given_up),
        RESOLVE_TEST(incomplete_candidates_decide_nothing),
        RESOLVE_TEST(neighbours_decide_where_there_is_locality),
        RESOLVE_TEST(neighbours_decide_nothing_where_there_is_none),
        RESOLVE_TEST(a_captured_placement_is_proof),
        RESOLVE_TEST(the_earlier_placement_stays),
        RESOLVE_TEST(a_placement_must_fit_its_resource),
        RESOLVE_TEST(a_proof_that_is_not_stored_is_a_finding),
        RESOLVE_TEST(a_capture_of_nothing_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
