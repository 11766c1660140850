/* test_findings.c - what the global passes list without deciding it: names that differ, names that lead
 * nowhere, geometry that nobody has, the census of what was declined, priors. And the records that all this
 * is kept in.
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
#include "reports/coverage.h"
#include "reports/finding.h"
#include "reports/priors.h"
#include "tests/support/resolve_build.h"

#define P 0x10000
#define Q 0x20000
#define R 0x30000

/* ---- consistency --------------------------------------------------------------------------------------- */

static void names_are_classed(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    const struct build_container one = {
        .path = "one.xpr",
        .resources = {{"same", RESOURCE_PROVEN, .candidates = {{1, P}}},
                      {"other", RESOURCE_PROVEN, .candidates = {{2, Q}}},
                      {"variant", RESOURCE_PROVEN, .candidates = {{3, R}}},
                      {"open", RESOURCE_AMBIGUOUS, .candidates = {{4, R + 0x4000}, {5, R + 0x8000}}},
                      {"alone", RESOURCE_PROVEN, .candidates = {{6, R + 0xC000}}}}};
    const struct build_container two = {
        .path = "two.xpr",
        .resources = {{"same", RESOURCE_PROVEN, .candidates = {{1, Q}}},
                      {"other", RESOURCE_PROVEN, .candidates = {{7, P}}},
                      {"variant", RESOURCE_PROVEN, .extra_vertices = 4, .candidates = {{8, R}}},
                      {"open", RESOURCE_PROVEN, .candidates = {{9, R + 0x4000}}}}};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &one);
    build_put(store, &two);
    struct resolve_result result = build_resolve(store, 2);
    assert_int_equal(result.findings[FINDING_SAME], 1);
    assert_int_equal(result.findings[FINDING_INCONSISTENT], 1);
    assert_int_equal(result.findings[FINDING_VARIANT], 1);
    assert_int_equal(result.findings[FINDING_UNDECIDED], 1);
    assert_true(build_finding(store, FINDING_INCONSISTENT, "other (xbg7)", &finding, &arena));
    assert_int_equal(finding.side_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct hash want = build_geometry(
            memcmp(finding.sides[i].key.container.bytes, build_hash(&one).bytes, HASH_SIZE) == 0 ? 2 : 7);
        assert_memory_equal(finding.sides[i].geometry.bytes, want.bytes, HASH_SIZE);
        assert_true(finding.sides[i].bounds.valid);
    }
    assert_true(build_finding(store, FINDING_SAME, "same (xbg7)", &finding, &arena));
    assert_true(build_finding(store, FINDING_VARIANT, "variant (xbg7)", &finding, &arena));
    assert_true(build_finding(store, FINDING_UNDECIDED, "open (xbg7)", &finding, &arena));
    assert_int_equal(fixture_problems(store, true), 0);
    arena_free(&arena);
    store_close(store);
}

/* In one container the twins lie the other way round: they are drawn alike. */
static void twins_are_compared_as_drawn(void **state)
{
    const struct build_container one = {
        .path = "one.xpr",
        .resources = {{"t_01", RESOURCE_PROVEN, .candidates = {{1, P}}},
                      {"t_02", RESOURCE_PROVEN, .candidates = {{1 + BUILD_MIRRORED, Q}}}}};
    struct build_container two = one;
    (void)state;
    two.path = "two.xpr";
    two.resources[0].candidates[0].content = 1 + BUILD_MIRRORED;
    two.resources[1].candidates[0].content = 1;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &one);
    build_put(store, &two);
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.twins, 2);
    assert_int_equal(result.findings[FINDING_SAME], 2);
    assert_int_equal(result.findings[FINDING_INCONSISTENT], 0);
    store_close(store);
}

/* ---- names that lead nowhere --------------------------------------------------------------------------- */

static void textures_are_looked_for(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    const struct build_container container = {
        .path = "one.xpr",
        .texture = "hull_col",
        .resources = {
            {"a", RESOURCE_PROVEN, .node = "hull_col", .candidates = {{1, P}}},
            {"b", RESOURCE_PROVEN, .node = "Jhull_col", .candidates = {{2, Q}}}, /* a byte too early */
            {"c", RESOURCE_PROVEN, .node = "wing_spc", .candidates = {{3, R}}},
            {"d", RESOURCE_PROVEN, .node = "wing_spc", .candidates = {{4, R + 0x4000}}},
            {"e", RESOURCE_PROVEN, .node = "wing_root", .candidates = {{5, R + 0x8000}}}}};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &container);
    assert_int_equal(build_resolve(store, 1).findings[FINDING_MISSING_TEXTURE], 1);
    assert_true(build_finding(store, FINDING_MISSING_TEXTURE, "wing_spc", &finding, &arena));
    assert_int_equal(finding.side_count, 2);
    assert_int_equal(finding.sides[0].key.index, 2);
    assert_int_equal(finding.sides[1].key.index, 3);
    arena_free(&arena);
    store_close(store);
}

struct model {
    const char *path, *stem;
    enum format_id format;
    const char *material;
};

/* A BGF whose only part has the material, or a BMF that has it. */
static bool put_model(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct model *model = ctx;
    struct hash hash = hash_text(model->path);
    struct part_info part = {.material = model->material};
    struct material_info material = {.name = model->material};
    bool library = model->format == FORMAT_BMF;
    struct resource_record resource = {.part_count = !library};
    resource.resource = (struct resource){.format = model->format,
                                          .status = RESOURCE_DECODED,
                                          .part_count = !library,
                                          .parts = library ? NULL : &part,
                                          .material_count = library,
                                          .materials = &material};
    struct container_record record = {.bytes = 10, .decoder_version = 1};
    record.container.format = model->format;
    record.container.resource_count = record.by_status[RESOURCE_DECODED] = 1;
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = model->path,
                                   .stem = model->stem,
                                   .container = hash,
                                   .format = model->format,
                                   .bytes = 10,
                                   .run = 1};
    return store_put_container(txn, &hash, &record, &resource, 1, err) && store_put_source(txn, &source, err);
}

static void libraries_are_looked_for(void **state)
{
    static const struct model models[] = {
        {"m/HULLS.BMF", "HULLS", FORMAT_BMF, "steel_mtl"},
        {"m/one.BGF", "one", FORMAT_BGF, "hulls:steel_mtl"}, /* the library's case does not matter */
        {"m/two.BGF", "two", FORMAT_BGF, "hulls:Steel_mtl"}, /* the material's does */
        {"m/three.BGF", "three", FORMAT_BGF, "sails:linen"},
        {"m/four.BGF", "four", FORMAT_BGF, "no colon"},
    };
    struct arena arena = {0};
    struct finding_record finding;
    struct error err = {0};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        assert_true(store_update(store, put_model, (void *)(uintptr_t)&models[i], &err));
    struct resolve_result result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_MISSING_MATERIAL], 1);
    assert_int_equal(result.findings[FINDING_MISSING_LIBRARY], 1);
    assert_true(build_finding(store, FINDING_MISSING_MATERIAL, "hulls:Steel_mtl", &finding, &arena));
    assert_true(build_finding(store, FINDING_MISSING_LIBRARY, "sails", &finding, &arena));
    assert_int_equal(finding.side_count, 1);
    arena_free(&arena);
    store_close(store);
}

/* A library that names images; a file, an archive with a member, or one that could not be listed to its end.
 */
static bool put_library(struct store_txn *txn, void *ctx, struct error *err)
{
    static struct tagged_string strings[] = {{1, "hull.vtx"}, {1, "maps\\DECK.vtx"}, {1, "lib:Sail.tga"},
                                             {2, "no image"}, {2, "keel.txt"},       {1, "sail.VTX"}};
    struct material_info material = {.name = "steel", .string_count = 6, .strings = strings};
    struct resource_record resource = {
        .resource = {
            .format = FORMAT_BMF, .status = RESOURCE_DECODED, .material_count = 1, .materials = &material}};
    struct container_record record = {.bytes = 10, .decoder_version = 1};
    struct hash hash = hash_text("library");
    const struct source_record source = {.kind = SOURCE_CONTAINER,
                                         .path = "SHIP.BMF",
                                         .stem = "SHIP",
                                         .container = hash,
                                         .format = FORMAT_BMF,
                                         .run = 1};
    (void)ctx;
    record.container.format = FORMAT_BMF;
    record.container.resource_count = record.by_status[RESOURCE_DECODED] = 1;
    return store_put_container(txn, &hash, &record, &resource, 1, err) && store_put_source(txn, &source, err);
}

static bool put_image(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct source_record source = {
        .kind = SOURCE_UNKNOWN, .path = ctx, .run = 1, .magic = "00", .ending = ".png"};
    return store_put_source(txn, &source, err);
}

struct archive {
    const char *images;
    enum container_reason reason;
};

static bool put_archive(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct archive *archive = ctx;
    struct container_record record = {.bytes = 10, .decoder_version = 1, .images = archive->images};
    struct hash hash = hash_text("archive");
    const struct source_record source = {
        .kind = SOURCE_CONTAINER, .path = "a.zip", .container = hash, .format = FORMAT_ARCHIVE, .run = 1};
    record.container.format = FORMAT_ARCHIVE;
    record.container.status = archive->reason ? CONTAINER_DAMAGED : CONTAINER_READ;
    record.container.reason = archive->reason;
    return store_put_container(txn, &hash, &record, NULL, 0, err) && store_put_source(txn, &source, err);
}

static uint64_t missing_images(struct store *store)
{
    return build_resolve(store, 1).findings[FINDING_MISSING_IMAGE];
}

static void images_are_looked_for_by_stem(void **state)
{
    static struct archive archives[] = {
        {"deck.tga/hull.tga/", CONTAINER_REASON_NONE},
        {"deck.tga/", CONTAINER_BAD_CRC},   /* a member's fault: names are all there */
        {"deck.tga/", CONTAINER_TRUNCATED}, /* what is behind the end is not known */
        {NULL, CONTAINER_REASON_NONE}};     /* too many to keep */
    static const uint64_t missing[] = {1, 1, 0, 0};
    struct arena arena = {0};
    struct finding_record finding;
    struct error err = {0};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    assert_true(store_update(store, put_library, NULL, &err));
    assert_int_equal(missing_images(store), 3); /* two names are one stem; what ends in .txt is no image */
    assert_true(store_update(store, put_image, (void *)(uintptr_t) "pics/Hull.png", &err));
    assert_int_equal(missing_images(store), 2);
    assert_true(build_finding(store, FINDING_MISSING_IMAGE, "sail", &finding, &arena));
    assert_int_equal(finding.side_count, 1);
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        assert_true(store_update(store, put_archive, &archives[i], &err));
        assert_int_equal(missing_images(store), missing[i]);
    }
    arena_free(&arena);
    store_close(store);
}

/* ---- unclaimed ----------------------------------------------------------------------------------------- */

/* 40 vertices of 20 bytes are 800 bytes. */
static void unclaimed_stretches_are_listed_with_what_fits(void **state)
{
    struct arena arena = {0};
    struct finding_record finding;
    const struct build_container container = {
        .path = "one.xpr",
        .coverage = {{4096, 5000, COVERAGE_OTHER},
                     {5000, 5832, COVERAGE_VERTEX_LIKE},
                     {5832, 9000, COVERAGE_TEXTURE},
                     {9000, 20000, COVERAGE_VERTEX_LIKE}},
        .coverage_count = 4,
        .resources = {{"lost", RESOURCE_DECLINED}, {"longer", RESOURCE_DECLINED, .extra_vertices = 400}}};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &container);
    assert_int_equal(build_resolve(store, 1).findings[FINDING_UNCLAIMED], 2);
    assert_true(build_finding(store, FINDING_UNCLAIMED, "0x1388", &finding, &arena));
    assert_int_equal(finding.side_count, 1);
    assert_int_equal(finding.sides[0].key.index, 0);
    assert_true(build_finding(store, FINDING_UNCLAIMED, "0x2328", &finding, &arena));
    assert_int_equal(finding.side_count, 0);
    arena_free(&arena);
    store_close(store);
}

static bool has_run(const struct container *container, uint64_t start, uint64_t end, enum coverage_kind kind)
{
    for (uint32_t i = 0; i < container->coverage_count; i++)
        if (container->coverage[i].start == start && container->coverage[i].end == end)
            return container->coverage[i].kind == kind;
    return false;
}

/* Decided here for the block at 8192; proven elsewhere to be that at 16384, which was taken for indices, a
 * texture, and vertices. */
static void coverage_is_of_what_the_passes_claim(void **state)
{
    const struct build_container here = {
        .path = "here.xpr",
        .coverage = {{4096, 8192, COVERAGE_OTHER},
                     {8192, 8192 + 360, COVERAGE_INDEX},
                     {8192 + 360, 8192 + BUILD_BLOCK, COVERAGE_VERTEX},
                     {8192 + BUILD_BLOCK, 20000, COVERAGE_VERTEX_LIKE}},
        .coverage_count = 4,
        .resources = {{"hull", RESOURCE_ASSIGNED, .margin = 2, .candidates = {{1, 8192}, {2, 16384}}}}};
    const struct build_container there = {
        .path = "there.xpr", .resources = {{"hull", RESOURCE_PROVEN, .candidates = {{2, 4096}}}}};
    struct error err = {0};
    struct arena arena = {0};
    struct container_record record;
    struct hash hash = build_hash(&here);
    bool found;
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &here);
    build_put(store, &there);
    assert_int_equal(build_resolve(store, 1).findings[FINDING_UNCLAIMED], 3);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(store_get_container(txn, &hash, &arena, &record, &found, &err));
    assert_true(found && coverage_load(txn, &hash, &arena, &record, &err));
    const struct container *c = &record.container;
    assert_true(has_run(c, 8192, 8192 + 360, COVERAGE_INDEX_LIKE));
    assert_true(has_run(c, 8192 + 360, 16384, COVERAGE_VERTEX_LIKE)); /* with what lay behind it */
    assert_true(has_run(c, 16384, 16384 + 360, COVERAGE_INDEX));
    assert_true(has_run(c, 16384 + 360, 16384 + BUILD_BLOCK, COVERAGE_VERTEX));
    assert_true(has_run(c, 16384 + BUILD_BLOCK, 20000, COVERAGE_VERTEX_LIKE));
    assert_int_equal(c->coverage_count, 6);
    store_end_read(txn);
    arena_free(&arena);
    store_close(store);
}

/* ---- census -------------------------------------------------------------------------------------------- */

struct rows {
    struct view_declined list[32];
    char keys[32][64];
    size_t count;
};

static bool take_row(const struct view_declined *row, void *ctx)
{
    struct rows *rows = ctx;
    snprintf(rows->keys[rows->count], sizeof rows->keys[0], "%s", row->key);
    rows->list[rows->count] = *row;
    rows->list[rows->count].key = NULL; /* keys[] has it: the struct is copied */
    rows->count++;
    return rows->count < 32;
}

static struct rows rows_of(struct store *store, bool *compared)
{
    struct rows rows = {.count = 0};
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(view_declined(txn, compared, take_row, &rows, &err));
    store_end_read(txn);
    return rows;
}

static bool put_run(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct run_record record = {.id = *(uint64_t *)ctx};
    return store_put_run(txn, &record, err);
}

static const struct view_declined *row_of(const struct rows *rows, enum census_dimension dimension,
                                          const char *key)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->list[i].dimension == dimension && strcmp(rows->keys[i], key) == 0)
            return &rows->list[i];
    fail_msg("no row of %s", key);
    return NULL;
}

static void the_census_counts_and_compares(void **state)
{
    const struct build_container one = {.path = "one.xpr",
                                        .resources = {{"e001", RESOURCE_DECLINED},
                                                      {"e002", RESOURCE_DECLINED, .extra_vertices = 100},
                                                      {"eff1", RESOURCE_DECLINED},
                                                      {"f001", RESOURCE_PROVEN, .candidates = {{1, P}}}}};
    const struct build_container two = {.path = "two.xpr", .resources = {{"e003", RESOURCE_DECLINED}}};
    struct error err = {0};
    uint64_t run = 1;
    bool compared;
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    assert_true(store_update(store, put_run, &run, &err));
    build_put(store, &one);
    build_resolve(store, 1);
    struct rows rows = rows_of(store, &compared);
    assert_false(compared);
    assert_int_equal(row_of(&rows, CENSUS_REASON, "no-candidate")->count, 3);
    assert_int_equal(row_of(&rows, CENSUS_PREFIX, "e")->count, 2);
    assert_int_equal(row_of(&rows, CENSUS_PREFIX, "eff")->count, 1);
    assert_int_equal(row_of(&rows, CENSUS_CONTAINER, "one.xpr")->count, 3);
    assert_int_equal(row_of(&rows, CENSUS_VERTICES, "16-63")->count, 2);
    assert_int_equal(row_of(&rows, CENSUS_VERTICES, "64-255")->count, 1);
    run = 2;
    assert_true(store_update(store, put_run, &run, &err));
    build_put(store, &two);
    assert_true(build_resolve(store, 1).changed > 0);
    assert_int_equal(build_resolve(store, 1).changed, 0);
    rows = rows_of(store, &compared);
    assert_true(compared);
    assert_int_equal(row_of(&rows, CENSUS_REASON, "no-candidate")->count, 4);
    assert_int_equal(row_of(&rows, CENSUS_REASON, "no-candidate")->before, 3);
    assert_int_equal(row_of(&rows, CENSUS_CONTAINER, "two.xpr")->before, 0);
    assert_int_equal(row_of(&rows, CENSUS_PREFIX, "eff")->before, 1);
    store_close(store);
}

/* ---- models known by their files ----------------------------------------------------------------------- */

/* A MESHBIN at a place; its content is `content`. */
struct meshbin {
    const char *path, *stem, *content;
    uint32_t vertices;
    bool declined;
};

static bool put_meshbin(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct meshbin *model = ctx;
    struct hash hash = hash_text(model->content);
    enum resource_status status = model->declined ? RESOURCE_DECLINED : RESOURCE_DECODED;
    struct resource_record resource = {
        .resource = {.format = FORMAT_MESHBIN,
                     .status = status,
                     .reason = model->declined ? DECLINE_BAD_SKELETON : DECLINE_NONE,
                     .vertices = model->vertices}};
    struct container_record record = {.bytes = 10, .decoder_version = 1};
    record.container.format = FORMAT_MESHBIN;
    record.container.resource_count = record.by_status[status] = 1;
    const struct source_record source = {.kind = SOURCE_CONTAINER,
                                         .path = model->path,
                                         .stem = model->stem,
                                         .container = hash,
                                         .format = FORMAT_MESHBIN,
                                         .bytes = 10,
                                         .run = 1};
    return store_put_container(txn, &hash, &record, &resource, 1, err) && store_put_source(txn, &source, err);
}

static bool put_placement(struct store_txn *txn, void *ctx, struct error *err)
{
    struct buffer_place place = {.index_count = 3, .vertex_count = 3, .stride = 20};
    const struct capture_record capture = {.order = 1,
                                           .kind = CAPTURE_PLACE,
                                           .resource = "alone",
                                           .container = ctx,
                                           .buffer_count = 1,
                                           .buffers = &place};
    return store_put_capture(txn, &capture, err);
}

/* Models without a directory are known by their files' names, and most of them concern no pass. */
static void models_are_met_by_the_names_of_their_files(void **state)
{
    static const struct meshbin models[] = {
        {"a/crate.bin", "crate", "crate of a", 8, false},  {"b/crate.bin", "crate", "crate of b", 12, false},
        {"a/barrel.bin", "barrel", "barrel", 20, false},   {"b/barrel.bin", "barrel", "barrel", 20, false},
        {"a/alone.bin", "alone", "alone", 16, false},      {"a/bent.bin", "bent", "bent", 0, true},
        {"a/mast.bin", "mast", "one of two", 24, false},   {"z/yard.bin", "yard", "one of two", 24, false},
        {"b/yard.bin", "yard", "has that name", 28, false}};
    struct arena arena = {0};
    struct finding_record finding;
    struct error err = {0};
    bool compared;
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        assert_true(store_update(store, put_meshbin, (void *)(uintptr_t)&models[i], &err));
    struct resolve_result result = build_resolve(store, 2);
    assert_int_equal(result.findings[FINDING_VARIANT], 1);
    assert_int_equal(result.findings[FINDING_SAME], 0);
    assert_true(build_finding(store, FINDING_VARIANT, "crate (meshbin)", &finding, &arena));
    assert_int_equal(finding.side_count, 2);
    struct rows rows = rows_of(store, &compared);
    assert_int_equal(row_of(&rows, CENSUS_PREFIX, "bent")->count, 1);
    /* A placement in a model that nothing else concerns is told of that model. */
    assert_true(store_update(store, put_placement, (void *)(uintptr_t) "a/alone.bin", &err));
    result = build_resolve(store, 1);
    assert_int_equal(result.findings[FINDING_CONTRADICTED], 1);
    assert_int_equal(result.findings[FINDING_UNUSED_CAPTURE], 0);
    assert_int_equal(fixture_problems(store, true), 0);
    arena_free(&arena);
    store_close(store);
}

/* ---- priors -------------------------------------------------------------------------------------------- */

struct seen {
    struct priors list[4];
    size_t count;
};

static bool take_priors(const struct priors *priors, void *ctx)
{
    struct seen *seen = ctx;
    seen->list[seen->count++] = *priors;
    return seen->count < 4;
}

/* Blocks of 1160 bytes at 0, 1160 and 8000 behind the data section's start, in the directory's order; the
 * last one is shared. */
static void priors_are_measured(void **state)
{
    const struct build_container container = {
        .path = "one.xpr",
        .coverage = {{4096, 5256, COVERAGE_VERTEX},
                     {5256, 6416, COVERAGE_VERTEX},
                     {6416, 12096, COVERAGE_PADDING},
                     {12096, 13256, COVERAGE_VERTEX}},
        .coverage_count = 4,
        .resources = {{"a", RESOURCE_PROVEN, .candidates = {{1, 4096}}},
                      {"b", RESOURCE_ASSIGNED, .candidates = {{2, 4096 + BUILD_BLOCK}}},
                      {"c", RESOURCE_PROVEN, .candidates = {{3, 4096 + 8000}}},
                      {"d", RESOURCE_PROVEN, .candidates = {{3, 4096 + 8000}}},
                      {"e", RESOURCE_ASSIGNED, .margin = 2, .candidates = {{4, 40000}}}}};
    struct seen seen = {.count = 0};
    struct error err = {0};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &container);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(priors_each(txn, take_priors, &seen, &err));
    store_end_read(txn);
    assert_int_equal(seen.count, 2); /* the container, and all together */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(seen.list[i].blocks, 3);
        assert_int_equal(seen.list[i].residue[0], 2);
        assert_int_equal(seen.list[i].residue[8], 1); /* 1160 = 16 * 72 + 8 */
        assert_int_equal(seen.list[i].gaps, 2);
        assert_int_equal(seen.list[i].touching, 1);
        assert_int_equal(seen.list[i].gap_most, 8000 - 2 * BUILD_BLOCK);
        assert_int_equal(seen.list[i].preceded_by[COVERAGE_PADDING], 1);
        assert_int_equal(seen.list[i].preceded_by[COVERAGE_VERTEX], 1);
        assert_true(seen.list[i].order == 1.0);
        for (int w = 0; w < 4; w++)
            assert_int_equal(seen.list[i].before[w].blocks, w == 3 ? 3 : 2);
        assert_int_equal(seen.list[i].before[3].distinct, 2);
        assert_int_equal(seen.list[i].before[3].zero, 1);
        assert_int_equal(seen.list[i].before[3].most, 7);
        assert_int_equal(seen.list[i].before[3].most_count, 2);
    }
    store_close(store);
}

/* ---- records ------------------------------------------------------------------------------------------- */

/* Every shorter piece of a record, and a longer one, is refused with an error. */
#define ASSERT_EXACT(bytes, type, read)                                                                      \
    do {                                                                                                     \
        struct arena arena_ = {0};                                                                           \
        type record_;                                                                                        \
        for (size_t size_ = 0; size_ <= (bytes)->size; size_++) {                                            \
            struct error err_ = {0};                                                                         \
            uint8_t *copy_ =                                                                                 \
                malloc(size_ + 1); /* exactly as long, so that a sanitizer sees reads behind it */           \
            memcpy(copy_, (bytes)->data, size_);                                                             \
            assert_int_equal(read(copy_, size_, &arena_, &record_, &err_), size_ == (bytes)->size);          \
            assert_int_equal(err_.code != ERROR_NONE, size_ != (bytes)->size);                               \
            free(copy_);                                                                                     \
        }                                                                                                    \
        struct error err_ = {0};                                                                             \
        buffer_append((bytes), "", 1);                                                                       \
        assert_false(read((bytes)->data, (bytes)->size, &arena_, &record_, &err_));                          \
        arena_free(&arena_);                                                                                 \
    } while (0)

static void records_are_read_exactly(void **state)
{
    struct buffer bytes = {0};
    struct buffer_place place = {1, 2, 3, 4, 5};
    struct resolved_change change = {"proof",       1,        RESOURCE_AMBIGUOUS, RESOURCE_PROVEN, 0,
                                     RESOLVED_NONE, "because"};
    struct finding_side side = {.status = RESOURCE_PROVEN, .vertices = 7};
    struct declined_row row = {CENSUS_PREFIX, "e", 12};
    (void)state;
    assert_true(resolved_write(&bytes, &(struct resolved_record){.status = RESOURCE_PROVEN,
                                                                 .was = RESOURCE_AMBIGUOUS,
                                                                 .buffer_count = 1,
                                                                 .buffers = &place,
                                                                 .change_count = 1,
                                                                 .changes = &change}));
    ASSERT_EXACT(&bytes, struct resolved_record, resolved_read);
    buffer_clear(&bytes);
    assert_true(finding_write(
        &bytes, &(struct finding_record){
                    .kind = FINDING_SAME, .subject = "s", .message = "m", .side_count = 1, .sides = &side}));
    ASSERT_EXACT(&bytes, struct finding_record, finding_read);
    buffer_clear(&bytes);
    assert_true(capture_write(
        &bytes,
        &(struct capture_record){
            .kind = CAPTURE_PLACE, .resource = "r", .container = "c", .buffer_count = 1, .buffers = &place}));
    ASSERT_EXACT(&bytes, struct capture_record, capture_read);
    buffer_clear(&bytes);
    assert_true(declined_write(&bytes, &(struct declined_census){.run = 3, .count = 1, .rows = &row}));
    ASSERT_EXACT(&bytes, struct declined_census, declined_read);
    buffer_free(&bytes);
}

/* ---- lines of captures --------------------------------------------------------------------------------- */

static void bad_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"resource\":\"a\",\"row0_x\":1}\n\n{\"resource\":\"a\"}", "line 3"},
        {"[1]", "line 1: no JSON object"},
        {"{\"resource\":\"a\",\"row0_x\":2}", "must be 1, -1 or null"},
        {"{\"resource\":\"\",\"row0_x\":1}", "must be a name"},
        {"{\"resource\":7,\"row0_x\":1}", "must be a name"},
        {"{\"resource\":\"a\",\"row0_x\":1,\"row0_y\":1}", "is wanted"},
        {"{\"resource\":\"a\",\"row0_x\":1,\"container\":\"c\",\"buffers\":[]}", "are wanted"},
        {"{\"resource\":\"a\",\"container\":\"c\"}", "are wanted"},
        {"{\"resource\":\"a\",\"container\":\"c\",\"buffers\":[]}", "a list of buffers"},
        {"{\"resource\":\"a\",\"container\":\"c\",\"buffers\":[{\"index_offset\":-1}]}", "a buffer needs"},
        {"{\"resource\":\"a\",\"row0_x\":1", "line 1"},
        {"{\"resource\":\"a\",\"resource\":\"b\",\"row0_x\":1}", "line 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct capture_list list;
        struct error err = {0};
        assert_false(captures_parse(cases[i].text, strlen(cases[i].text), &list, &err));
        assert_int_equal(err.code, ERROR_USAGE);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.msg, cases[i].says);
        captures_free(&list);
    }
}

int main(void)
{
#define FINDINGS_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        FINDINGS_TEST(names_are_classed),
        FINDINGS_TEST(twins_are_compared_as_drawn),
        FINDINGS_TEST(models_are_met_by_the_names_of_their_files),
        FINDINGS_TEST(textures_are_looked_for),
        FINDINGS_TEST(libraries_are_looked_for),
        FINDINGS_TEST(images_are_looked_for_by_stem),
        FINDINGS_TEST(unclaimed_stretches_are_listed_with_what_fits),
        FINDINGS_TEST(coverage_is_of_what_the_passes_claim),
        FINDINGS_TEST(the_census_counts_and_compares),
        FINDINGS_TEST(priors_are_measured),
        cmocka_unit_test(records_are_read_exactly),
        cmocka_unit_test(bad_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
