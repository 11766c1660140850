/* test_report.c - what a report says of a store, and that no name in it is obeyed: page data, report.json,
 * metrics, sheets, pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/coverage.h"
#include "reports/html.h"
#include "reports/json_text.h"
#include "reports/page_data.h"
#include "reports/prometheus.h"
#include "reports/report.h"
#include "reports/report_json.h"
#include "reports/sheet.h"
#include "reports/thumbnail.h"
#include "reports/thumbs.h"
#include "tests/support/resolve_build.h"

/* Names as an attacker writes them: ends a script element, turns a line around, moves a cursor, is no UTF-8,
 * is a formula, ends a label. */
#define SCRIPT  "</script><script>alert(1)</script>"
#define TURNED  "a\xE2\x80\xAEgnp.exe"
#define CONTROL "bell\a\x1B[2J"
#define NO_UTF8 "half\xC3 \xFF"
#define FORMULA "=HYPERLINK(\"x\")"
#define LABEL   "quote\" slash\\ line\n"

#define PATH_ONE "a.zip!" SCRIPT "/one.xpr"
#define PATH_TWO "two\xE2\x80\xAE.xpr"

static const struct build_container one = {
    .path = PATH_ONE,
    .coverage = {{0x100, 0x200, COVERAGE_INDEX}, {0x200, 0x1000, COVERAGE_VERTEX_LIKE}},
    .coverage_count = 2,
    .resources = {{SCRIPT, RESOURCE_PROVEN, .candidates = {{1, 0x10000}}},
                  {TURNED, RESOURCE_AMBIGUOUS, .candidates = {{2, 0x20000}, {3, 0x30000}}},
                  {CONTROL, RESOURCE_ASSIGNED, .margin = 7, .node = NO_UTF8, .candidates = {{4, 0x40000}}},
                  {NO_UTF8, RESOURCE_DECLINED},
                  {FORMULA, RESOURCE_DECLINED},
                  {LABEL, RESOURCE_DECLINED}}};
static const struct build_container two = {
    .path = PATH_TWO,
    .resources = {{SCRIPT, RESOURCE_PROVEN, .candidates = {{5, 0x10000}}}, /* not what container one has */
                  {"left", RESOURCE_PROVEN, .candidates = {{6, 0x20000}}},
                  {"right", RESOURCE_PROVEN, .candidates = {{6 + BUILD_MIRRORED, 0x30000}}}}};
enum { RESOURCES = 9 };

static bool put_runs(struct store_txn *txn, void *ctx, struct error *err)
{
    static const struct run_stage stages[] = {{"ingest", 1500000000, 10, 1000}, {"resolve", 500000000, 9, 0}};
    static const struct run_condition conditions[] = {{"memory", "2 GB " SCRIPT}};
    struct run_record run = {.id = 1,
                             .started_ns = INT64_C(1764547200000000000),
                             .finished_ns = INT64_C(1764547202000000000),
                             .version = "0",
                             .arguments = "run " SCRIPT,
                             .by_status = {3, 0, 4, 1, 1}};
    (void)ctx;
    if (!store_put_run(txn, &run, err))
        return false;
    run.id = 2;
    run.by_status[RESOURCE_PROVEN] = 6;
    run.stage_count = 2;
    run.stages = stages;
    run.condition_count = 1;
    run.conditions = conditions;
    if (!store_put_run(txn, &run, err))
        return false;
    run.id = 3; /* goes on, or was killed: it is not what the figures are of */
    run.finished_ns = 0;
    return store_put_run(txn, &run, err);
}

static struct store *hostile_store(void)
{
    struct error err = {0};
    struct store *store = fixture_open(STORE_CREATE);
    build_put(store, &one);
    build_put(store, &two);
    assert_true(store_update(store, put_runs, NULL, &err));
    build_resolve(store, 2);
    return store;
}

static struct store_txn *begin(struct store *store)
{
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    assert_non_null(txn);
    return txn;
}

static bool holds(const void *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* What may stand nowhere in a text that people or browsers look at. */
static void is_harmless(const char *bytes, size_t size)
{
    assert_false(holds(bytes, size, "<script>alert"));
    assert_false(holds(bytes, size, "\xE2\x80\xAE"));
    assert_false(holds(bytes, size, "\a"));
    assert_false(holds(bytes, size, "\x1B"));
    assert_false(holds(bytes, size, "\xFF"));
}

/* ---- JSON as text -------------------------------------------------------------------------------------- */

static void text_is(struct buffer *out, const char *want)
{
    assert_int_equal(out->size, strlen(want));
    assert_memory_equal(out->data, want, out->size);
    buffer_free(out);
    *out = (struct buffer){0};
}

static void json_text_writes_json(void **state)
{
    struct buffer out = {0};
    const struct hash zero = {0}, some = {{0xAB, [15] = 1}};
    (void)state;
    json_text_open(&out, '{');
    json_text_key(&out, "a");
    json_text_open(&out, '[');
    json_text_count(&out, 0);
    json_text_count(&out, UINT64_MAX);
    json_text_null(&out);
    json_text_open(&out, '{');
    json_text_close(&out, '}');
    json_text_bool(&out, true);
    json_text_close(&out, ']');
    json_text_key(&out, "b");
    json_text_hash(&out, &zero);
    json_text_key(&out, "c");
    json_text_hash(&out, &some);
    json_text_close(&out, '}');
    text_is(&out, "{\"a\":[0,18446744073709551615,null,{},true],\"b\":null,"
                  "\"c\":\"ab000000000000000000000000000001\"}");
    json_text_string(&out, "<\"\\\n\x7F\xC3\xA9\xC3(");
    text_is(&out, "\"\\u003c\\u0022\\u005c\\u000a\\u007f\xC3\xA9%C3(\"");
    json_text_string(&out, "[:,{"); /* what ends like a bracket is a string all the same */
    json_text_string(&out, NULL);
    text_is(&out, "\"[:,{\",null");
}

static void json_text_rounds_odds(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},           {-0.001, "0"},      {1.005, "1"},
                 {-1.5, "-1.50"},    {2.05, "2.05"},     {1e14, "100000000000000"},
                 {1e15, "null"},     {INFINITY, "null"}, {NAN, "null"},
                 {-12.346, "-12.35"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out = {0};
        json_text_odds(&out, cases[i].value);
        text_is(&out, cases[i].text);
    }
    struct buffer out = {0};
    json_text_f32(&out, 0.1f);
    json_text_f32(&out, NAN);
    json_text_f32(&out, -0.0f);
    text_is(&out, "0.1,null,-0");
}

/* ---- page data ----------------------------------------------------------------------------------------- */

static json_t *parsed(const struct page_text *text)
{
    json_error_t error;
    struct buffer whole = {0};
    page_text_append(text, &whole);
    assert_int_equal(whole.size, page_text_size(text));
    json_t *value = json_loadb((const char *)whole.data, whole.size, 0, &error);
    if (!value)
        fail_msg("%s at %d", error.text, error.position);
    buffer_free(&whole);
    return value;
}

/* The cell of a row by its column's name. */
static json_t *cell(json_t *columns, json_t *row, const char *column)
{
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (strcmp(json_string_value(json_array_get(columns, i)), column) == 0)
            return json_array_get(row, i);
    fail_msg("no column %s", column);
    return NULL;
}

struct listed {
    json_t *resources; /* as `query --json` lists them */
};

static bool list(const struct view_resource *view, void *ctx)
{
    json_array_append_new(((struct listed *)ctx)->resources, json_of_resource(view));
    return true;
}

static struct page_data page_of(struct store *store, struct store_txn *txn)
{
    struct page_data data;
    struct error err = {0};
    if (!page_data_make(store, txn, "0.0", "store " SCRIPT, true, &data, &err))
        fail_msg("%s", err.msg);
    return data;
}

/* The page lays its maps from the resources it walks; they are what everybody else is shown. */
static void assert_coverage(struct store_txn *txn, json_t *hash, json_t *lengths)
{
    struct arena arena = {0};
    struct container_record record;
    struct error err = {0};
    struct hash key;
    bool found;
    assert_true(hash_parse(json_string_value(hash), &key));
    assert_true(store_get_container(txn, &key, &arena, &record, &found, &err) && found);
    assert_true(coverage_load(txn, &key, &arena, &record, &err));
    const struct container *container = &record.container;
    assert_int_equal(json_array_size(lengths), 2 * container->coverage_count);
    for (size_t i = 0; i < container->coverage_count; i++) {
        const struct coverage_run *run = &container->coverage[i];
        assert_int_equal(json_integer_value(json_array_get(lengths, 2 * i)), run->end - run->start);
        assert_int_equal(json_integer_value(json_array_get(lengths, 2 * i + 1)), run->kind);
    }
    arena_free(&arena);
}

static void the_page_says_what_query_says(void **state)
{
    static const char *const same[] = {"name",   "format",   "index",     "status",
                                       "reason", "vertices", "triangles", "geometry"};
    static const struct view_filter everything;
    struct error err = {0};
    struct listed listed = {json_array()};
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    struct page_data data = page_of(store, txn);
    json_t *page = parsed(&data.page), *table = json_object_get(page, "containers"), *container, *row;
    json_t *columns = json_object_get(page, "resource_columns"), *outer = json_object_get(table, "columns");
    size_t i, k, seen = 0;
    assert_true(view_resources(txn, &everything, list, &listed, &err));
    assert_int_equal(json_array_size(listed.resources), RESOURCES);
    json_array_foreach(json_object_get(table, "rows"), i, container)
    {
        json_array_foreach(cell(outer, container, "resources"), k, row)
        {
            json_t *want = json_array_get(listed.resources, seen++);
            for (size_t c = 0; c < sizeof same / sizeof *same; c++)
                assert_true(json_equal(cell(columns, row, same[c]), json_object_get(want, same[c])));
            assert_true(json_equal(cell(outer, container, "path"), json_object_get(want, "container")));
            assert_int_equal(json_is_null(cell(columns, row, "canonical")),
                             json_is_null(json_object_get(want, "canonical")));
        }
        assert_coverage(txn, cell(outer, container, "hash"), cell(outer, container, "coverage"));
    }
    assert_int_equal(seen, RESOURCES);
    assert_int_equal(json_integer_value(json_object_get(page, "version")), PAGE_DATA_VERSION);
    assert_int_equal(json_array_size(json_object_get(page, "runs")), 3);
    json_t *coverage = cell(outer, json_array_get(json_object_get(table, "rows"), 0), "coverage");
    assert_true(json_array_size(coverage) >= 4);
    json_decref(page);
    json_decref(listed.resources);
    page_data_free(&data);
    store_end_read(txn);
    store_close(store);
}

static void details_stand_beside_the_rows(void **state)
{
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    struct page_data data = page_of(store, txn);
    json_t *details = parsed(&data.details);
    assert_int_equal(json_array_size(details), RESOURCES);
    json_t *ambiguous = json_array_get(details, 1);
    json_t *candidates = json_object_get(ambiguous, "candidates");
    assert_int_equal(json_array_size(candidates), 2);
    assert_true(json_is_true(json_object_get(json_array_get(candidates, 0), "chosen")));
    assert_true(json_is_number(
        json_object_get(json_object_get(json_array_get(candidates, 1), "evidence"), "unreferenced")));
    json_t *declined = json_array_get(details, 3);
    assert_int_equal(json_array_size(json_object_get(declined, "buffers")), 0);
    json_decref(details);
    page_data_free(&data);
    store_end_read(txn);
    store_close(store);
}

/* Inside a script element only "<" could end it; control characters stand escaped. */
static void page_data_may_stand_in_a_page(void **state)
{
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    struct page_data data = page_of(store, txn);
    const struct page_text *documents[] = {&data.page, &data.details};
    for (int i = 0; i < 2; i++) {
        struct buffer text = {0};
        page_text_append(documents[i], &text);
        assert_null(memchr(text.data, '<', text.size));
        for (size_t k = 0; k < text.size; k++)
            assert_true(text.data[k] >= 0x20 && text.data[k] != 0x7F);
        buffer_free(&text);
    }
    page_data_free(&data);
    store_end_read(txn);
    store_close(store);
}

/* ---- HTML ---------------------------------------------------------------------------------------------- */

static void html_is_text(void **state)
{
    struct buffer out = {0};
    (void)state;
    html_text(&out, "<a href='x'>&\"\a\xFF\xE2\x80\xAE</a>");
    text_is(&out, "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\\x07\\xFF\\u{202E}&lt;/a&gt;");
    html_url(&out, "a b/%2F#\xFF~");
    text_is(&out, "a%20b%2F%252F%23%FF%7E");
}

static void the_sheet_obeys_no_name(void **state)
{
    struct buffer page = {0};
    struct error err = {0};
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    assert_true(sheet_page(txn, "store " SCRIPT, &page, &err));
    is_harmless((const char *)page.data, page.size);
    assert_false(holds(page.data, page.size, "<script"));
    assert_true(holds(page.data, page.size, "&lt;/script&gt;"));
    size_t figures = 0;
    for (size_t i = 0; i + 8 < page.size; i++)
        figures += memcmp(page.data + i, "<figure>", 8) == 0;
    assert_int_equal(figures, RESOURCES - 3);                     /* all but the declined */
    assert_true(holds(page.data, page.size, "<img class=\"m\"")); /* one of the twins */
    buffer_free(&page);
    store_end_read(txn);
    store_close(store);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static struct figures figures_of(struct store *store, struct store_txn *txn, struct arena *arena)
{
    struct figures figures;
    struct error err = {0};
    if (!figures_read(store, txn, arena, &figures, &err))
        fail_msg("%s", err.msg);
    return figures;
}

/* Each metric is announced once, before its samples, which are NAME{labels} NUMBER and nothing behind it. */
static void metrics_are_well_formed(void **state)
{
    struct arena arena = {0};
    struct buffer text = {0};
    char announced[128] = "";
    unsigned samples = 0;
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    struct figures figures = figures_of(store, txn, &arena);
    prometheus_text(&figures, "0.0", LABEL CONTROL TURNED NO_UTF8, &text);
    buffer_append(&text, "", 1);
    is_harmless((const char *)text.data, text.size);
    assert_true(holds(text.data, text.size, "store=\"quote\\\" slash\\\\ line\\\\x0Abell\\\\x07"));
    assert_true(holds(text.data, text.size, "anchorage_resources{store="));
    assert_true(holds(text.data, text.size, ",status=\"declined\"} 3\n"));
    assert_true(holds(text.data, text.size, ",stage=\"ingest\"} 1.500000\n"));
    for (char *line = strtok((char *)text.data, "\n"); line; line = strtok(NULL, "\n")) {
        char metric[128];
        if (sscanf(line, "# HELP %127s", metric) == 1) {
            assert_string_not_equal(metric, announced);
            strcpy(announced, metric);
        } else if (sscanf(line, "# TYPE %127s", metric) == 1) {
            assert_string_equal(metric, announced);
        } else {
            char *end, *space = strrchr(line, ' ');
            assert_memory_equal(line, announced, strlen(announced));
            assert_int_equal(line[strlen(announced)], '{');
            assert_non_null(space);
            assert_int_equal(space[-1], '}');
            strtod(space + 1, &end);
            assert_int_equal(*end, '\0');
            samples++;
        }
    }
    assert_true(samples > 60);
    buffer_free(&text);
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
}

static void report_json_has_its_schema(void **state)
{
    static const char *const lists[] = {"runs", "containers", "declined", "unknown", "findings", "resources"};
    struct arena arena = {0};
    struct error err = {0};
    json_error_t error;
    (void)state;
    struct store *store = hostile_store();
    struct store_txn *txn = begin(store);
    struct figures figures = figures_of(store, txn, &arena);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(report_json_write(txn, &figures, "0.0", "a store", file, &err));
    rewind(file);
    json_t *report = json_loadf(file, 0, &error);
    if (!report)
        fail_msg("%s at line %d", error.text, error.line);
    assert_string_equal(json_string_value(json_object_get(report, "schema")), "anchorage-report");
    assert_int_equal(json_integer_value(json_object_get(report, "version")), REPORT_JSON_VERSION);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_true(json_is_array(json_object_get(report, lists[i])));
    assert_int_equal(json_array_size(json_object_get(report, "resources")), RESOURCES);
    /* The newest run that ended, against the one before it. */
    json_t *run = json_object_get(report, "run");
    assert_int_equal(json_integer_value(json_object_get(run, "run")), 2);
    assert_int_equal(json_array_size(json_object_get(run, "stages")), 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(run, "conditions"), "memory")),
                        "2 GB " SCRIPT);
    json_t *change = json_object_get(report, "change");
    assert_int_equal(json_integer_value(json_object_get(change, "proven")), 2);
    assert_int_equal(json_integer_value(json_object_get(change, "declined")), 0);
    json_t *bytes = json_object_get(report, "coverage");
    assert_int_equal(json_integer_value(json_object_get(bytes, "vertex-like")), 0xE00);
    json_decref(report);
    fclose(file);
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
}

static void a_store_without_runs_has_figures(void **state)
{
    struct arena arena = {0};
    struct buffer text = {0};
    struct error err = {0};
    json_error_t error;
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    struct store_txn *txn = begin(store);
    struct figures figures = figures_of(store, txn, &arena);
    assert_false(figures.has_run || figures.has_before);
    prometheus_text(&figures, "0.0", "empty", &text);
    assert_false(holds(text.data, text.size, "anchorage_run"));
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(report_json_write(txn, &figures, "0.0", "empty", file, &err));
    rewind(file);
    json_t *report = json_loadf(file, 0, &error);
    assert_non_null(report);
    assert_true(json_is_null(json_object_get(report, "run")));
    json_decref(report);
    fclose(file);
    struct page_data data = page_of(store, txn);
    json_decref(parsed(&data.page));
    json_decref(parsed(&data.details));
    page_data_free(&data);
    buffer_free(&text);
    arena_free(&arena);
    store_end_read(txn);
    store_close(store);
}

/* ---- the folder ---------------------------------------------------------------------------------------- */

static char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/report/%s", fixture_directory, name);
    return path;
}

static struct buffer file_bytes(const char *name)
{
    struct buffer bytes = {0};
    char piece[4096];
    FILE *file = fopen(path_of(name), "rb");
    assert_non_null(file);
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) != 0;)
        buffer_append(&bytes, piece, got);
    fclose(file);
    return bytes;
}

static struct report_result write_report(struct store *store)
{
    static char directory[256];
    snprintf(directory, sizeof directory, "%s/report", fixture_directory);
    const struct report_options options = {.store_path = "s " SCRIPT,
                                           .directory = directory,
                                           .program = "0.0",
                                           .threads = 2,
                                           .thumbnails = true};
    struct report_result result;
    struct error err = {0};
    if (!report_write(store, &options, &result, &err))
        fail_msg("%s", err.msg);
    return result;
}

/* Seven geometries: of five resources, of twins two, and the other place of the ambiguous one. */
static void pictures_are_drawn_once(void **state)
{
    (void)state;
    struct store *store = hostile_store();
    struct report_result first = write_report(store);
    assert_int_equal(first.drawn, 7);
    assert_int_equal(first.kept + first.undrawable, 0);
    struct report_result again = write_report(store);
    assert_int_equal(again.drawn, 0);
    assert_int_equal(again.kept, 7);
    char name[64], hex[HASH_HEX];
    struct hash alternative = build_geometry(3);
    hash_format(&alternative, hex);
    snprintf(name, sizeof name, "thumbs/%s.png", hex);
    assert_int_equal(unlink(path_of(name)), 0);
    assert_int_equal(write_report(store).drawn, 1);
    /* Pictures of another renderer are drawn anew. */
    FILE *file = fopen(path_of("thumbs/renderer"), "w");
    assert_non_null(file);
    fprintf(file, "%d\n", THUMBNAIL_VERSION + 1);
    fclose(file);
    assert_int_equal(write_report(store).drawn, 7);
    store_close(store);
}

static void the_same_store_gives_the_same_report(void **state)
{
    static const char *const names[] = {"index.html", "sheet.html", "report.json", "metrics.prom"};
    struct buffer first[4];
    (void)state;
    struct store *store = hostile_store();
    write_report(store);
    for (int i = 0; i < 4; i++) {
        first[i] = file_bytes(names[i]);
        assert_int_equal(unlink(path_of(names[i])), 0);
    }
    write_report(store);
    for (int i = 0; i < 4; i++) {
        struct buffer again = file_bytes(names[i]);
        assert_int_equal(again.size, first[i].size);
        assert_memory_equal(again.data, first[i].data, again.size);
        if (i < 2)
            is_harmless((const char *)again.data, again.size);
        buffer_free(&again);
        buffer_free(&first[i]);
    }
    store_close(store);
}

static void a_folder_that_cannot_be_written_is_an_error(void **state)
{
    struct report_options options = {.store_path = "s", .program = "0.0", .threads = 1};
    struct report_result result;
    struct error err = {0};
    char path[256];
    (void)state;
    struct store *store = hostile_store();
    snprintf(path, sizeof path, "%s/not/there", fixture_directory);
    options.directory = path;
    assert_false(report_write(store, &options, &result, &err));
    assert_int_equal(err.code, ERROR_IO);
    /* A file stands where the folder should be. */
    error_clear(&err);
    snprintf(path, sizeof path, "%s/file", fixture_directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(report_write(store, &options, &result, &err));
    assert_int_equal(err.code, ERROR_IO);
    store_close(store);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_text_writes_json),
        cmocka_unit_test(json_text_rounds_odds),
        cmocka_unit_test(html_is_text),
        STORE_TEST(the_page_says_what_query_says),
        STORE_TEST(details_stand_beside_the_rows),
        STORE_TEST(page_data_may_stand_in_a_page),
        STORE_TEST(the_sheet_obeys_no_name),
        STORE_TEST(metrics_are_well_formed),
        STORE_TEST(report_json_has_its_schema),
        STORE_TEST(a_store_without_runs_has_figures),
        STORE_TEST(pictures_are_drawn_once),
        STORE_TEST(the_same_store_gives_the_same_report),
        STORE_TEST(a_folder_that_cannot_be_written_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
