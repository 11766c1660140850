/* fuzz_names.c - names from strangers in what is written of a store: HTML, page data, Prometheus, SQLite.
 *
 * The input is a byte of options, then names, each ending with a NUL (the last by the end). They become
 * paths, directory names, messages, materials, textures, stages of a run and the store's own title. All of it
 * is put in one transaction that is never committed, and read within it, so that an input costs no disk.
 * Option 1 writes the database as well, which does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <sqlite3.h>

#include "pipeline/address.h"
#include "reports/html.h"
#include "reports/page_data.h"
#include "reports/prometheus.h"
#include "reports/sheet.h"
#include "reports/sql.h"
#include "reports/text.h"
#include "tests/fuzz/harness.h"
#include "tests/support/store_fixture.h"

#define NAMES 6u

static struct store *store;
static char database[128];

static void close_store(void)
{
    store_close(store);
    fixture_teardown(NULL);
}

static void open_store(void)
{
    struct error err = {0};
    MUST(fixture_setup(NULL) == 0, "no directory");
    store = store_open(fixture_path, STORE_CREATE, false, &err);
    MUST(store, "%s", err.msg);
    snprintf(database, sizeof database, "%s/names.db", fixture_directory);
    atexit(close_store);
}

/* ---- one string ---------------------------------------------------------------------------------------- */

static char *visible_of(const char *text)
{
    size_t room = strlen(text) * 10 + 1;
    char *visible = malloc(room);
    text_visible(text, visible, room);
    return visible;
}

/* The character that an entity stands for; 0 when it is none of the five. */
static char entity_at(const char *text, size_t *length)
{
    static const struct {
        const char *entity;
        char is;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        *length = strlen(entities[i].entity);
        if (strncmp(text, entities[i].entity, *length) == 0)
            return entities[i].is;
    }
    return 0;
}

/* As a browser reads it, the text is what a terminal would show. */
static void html_text_comes_back(const char *name)
{
    struct buffer out = {0};
    html_text(&out, name);
    buffer_append(&out, "", 1);
    char *visible = visible_of(name);
    const char *want = visible;
    for (const char *at = (const char *)out.data; *at; want++) {
        size_t length = 1;
        char is = *at == '&' ? entity_at(at, &length) : *at;
        MUST(is && is == *want && !strchr("<>\"'", *at), "'%s' of '%s'", (const char *)out.data, visible);
        at += length;
    }
    MUST(!*want, "'%s' of '%s'", (const char *)out.data, visible);
    free(visible);
    buffer_free(&out);
}

/* Nothing in a part of a URL ends it, and its bytes come back. */
static void url_comes_back(const char *name)
{
    struct buffer out = {0};
    html_url(&out, name);
    buffer_append(&out, "", 1);
    size_t size;
    char *back = address_unescape((const char *)out.data, out.size - 1, &size);
    MUST(size == strlen(name) && memcmp(back, name, size) == 0, "'%s'", (const char *)out.data);
    MUST(!strpbrk((const char *)out.data, "&#?/:\"'<> \\"), "'%s'", (const char *)out.data);
    free(back);
    buffer_free(&out);
}

/* ---- Prometheus ---------------------------------------------------------------------------------------- */

static const char *skip_word(const char *at)
{
    return at + strspn(at, "abcdefghijklmnopqrstuvwxyz_");
}

/* Reads `label="value"` and returns what follows it; the value is the visible form of `name`, or, for a label
 * that is not the store's, of any. */
static const char *read_label(const char *at, const char *visible)
{
    bool of_store = strncmp(at, "store=", 6) == 0;
    const char *value = skip_word(at);
    MUST(value > at && strncmp(value, "=\"", 2) == 0, "%.60s", at);
    for (value += 2; *value != '"'; value++) {
        MUST(*value && *value != '\n', "a label ends with its line");
        if (*value == '\\') {
            value++;
            MUST(*value == '\\' || *value == '"', "escape \\%c", *value);
        }
        MUST(!of_store || *value == *visible, "the store's label is not '%s'", visible);
        visible += of_store;
    }
    MUST(!of_store || !*visible, "the store's label is cut before '%s'", visible);
    return value + 1;
}

static const char *read_sample(const char *line, const char *visible)
{
    const char *at = skip_word(line);
    char *end;
    MUST(at > line && *at == '{', "%.60s", line);
    do
        at = read_label(at + 1, visible);
    while (*at == ',');
    MUST(strncmp(at, "} ", 2) == 0, "%.60s", line);
    strtod(at + 2, &end);
    MUST(end > at + 2 && *end == '\n', "%.60s", line);
    return end + 1;
}

static void metrics_are_lines(struct store_txn *txn, const char *name)
{
    struct error err = {0};
    struct arena arena = {0};
    struct figures figures;
    struct buffer out = {0};
    MUST(figures_read(store, txn, &arena, &figures, &err), "%s", err.msg);
    prometheus_text(&figures, name, name, &out);
    buffer_append(&out, "", 1);
    char *visible = visible_of(name);
    for (const char *line = (const char *)out.data; *line;)
        line = *line == '#' ? strchr(line, '\n') + 1 : read_sample(line, visible);
    MUST(figures.has_run && strlen((const char *)out.data) == out.size - 1, "cut short");
    free(visible);
    buffer_free(&out);
    arena_free(&arena);
}

/* ---- HTML ---------------------------------------------------------------------------------------------- */

/* What sheet.html is made of; nothing that runs. */
static bool is_known_tag(const char *tag, size_t length)
{
    static const char *const known[] = {"!doctype", "html",   "head",      "meta", "title",   "style",
                                        "body",     "h1",     "p",         "a",    "section", "h2",
                                        "div",      "figure", "img",       "ul",   "li",      "details",
                                        "summary",  "small",  "figcaption"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && memcmp(known[i], tag, length) == 0)
            return true;
    return false;
}

/* Attributes up to the '>', which is returned: known ones, quoted, and no address but of this folder. */
static const char *read_attributes(const char *at)
{
    static const char *const known[] = {"lang",  "charset", "name", "content", "href", "class", "loading",
                                        "width", "height",  "alt",  "src",     "id",   "html"};
    while (*at == ' ') {
        const char *start = ++at;
        at += strspn(at, "abcdefghijklmnopqrstuvwxyz");
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |=
                strlen(known[i]) == (size_t)(at - start) && strncmp(known[i], start, strlen(known[i])) == 0;
        MUST(found, "attribute '%.40s'", start);
        if (*at != '=')
            continue;
        MUST(at[1] == '"', "attribute '%.40s'", start);
        MUST(strncmp(start, "href", 4) != 0 || strncmp(at, "=\"index.html", 12) == 0, "'%.60s'", start);
        MUST(strncmp(start, "src", 3) != 0 || strncmp(at, "=\"thumbs/", 9) == 0, "'%.60s'", start);
        at = strchr(at + 2, '"');
        MUST(at, "an attribute does not end");
        at++;
    }
    return at;
}

static void markup_is_ours(const char *page)
{
    unsigned depth = 0;
    const char *start = page;
    for (const char *at = strchr(page, '<'); at; at = strchr(at, '<')) {
        bool closes = at[1] == '/';
        const char *tag = at + 1 + closes;
        size_t length = strcspn(tag, " >");
        MUST(is_known_tag(tag, length), "at %zu: '%.40s'", (size_t)(at - start), at);
        at = read_attributes(tag + length);
        MUST(*at == '>', "at %zu: '%.40s'", (size_t)(at - start), at);
        bool alone = *tag == '!' || strncmp(tag, "meta", 4) == 0 || strncmp(tag, "img", 3) == 0;
        MUST(depth || !closes, "more is closed than opened");
        depth += alone ? 0 : closes ? -1u : 1;
    }
    MUST(depth == 0, "%u elements are left open", depth);
}

static void sheets_are_markup(struct store_txn *txn, const char *name)
{
    struct error err = {0};
    struct buffer out = {0};
    MUST(sheet_page(txn, name, &out, &err), "%s", err.msg);
    buffer_append(&out, "", 1);
    MUST(strlen((const char *)out.data) == out.size - 1, "cut short by a NUL");
    markup_is_ours((const char *)out.data);
    buffer_free(&out);
}

static void page_is_json(struct store_txn *txn, const char *name)
{
    struct error err = {0};
    struct page_data data = {0};
    MUST(page_data_make(store, txn, name, name, true, &data, &err), "%s", err.msg);
    const struct page_text *documents[] = {&data.page, &data.details};
    for (int i = 0; i < 2; i++) {
        struct buffer text = {0};
        page_text_append(documents[i], &text);
        json_t *json = json_loadb((const char *)text.data, text.size, 0, NULL);
        MUST(json, "%.*s", (int)text.size, (const char *)text.data);
        json_decref(json);
        buffer_free(&text);
    }
    page_data_free(&data);
}

/* ---- SQLite -------------------------------------------------------------------------------------------- */

/* A column of text, in the order of `query`; NULL behind the last row. */
static char **column_of(sqlite3 *db, const char *query)
{
    char **values = calloc(NAMES + 2, sizeof *values);
    sqlite3_stmt *statement;
    MUST(sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    for (size_t i = 0; sqlite3_step(statement) == SQLITE_ROW; i++) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        MUST(i <= NAMES && text, "%s: row %zu", query, i);
        values[i] = strdup(text);
    }
    sqlite3_finalize(statement);
    return values;
}

static void free_column(char **values)
{
    for (size_t i = 0; values[i]; i++)
        free(values[i]);
    free(values);
}

static void must_be_one(sqlite3 *db, const char *query, const char *expected)
{
    char **values = column_of(db, query);
    MUST(values[0] && !values[1] && strcmp(values[0], expected) == 0, "%s: '%s' is not '%s'", query,
         values[0] ? values[0] : "", expected);
    free_column(values);
}

/* Every name is a value, whatever it says: the schema is as it was, and the names are those that were put. */
static void rows_are_names(struct store_txn *txn, char *const *names, unsigned count)
{
    struct error err = {0};
    sqlite3 *db;
    MUST(sql_write(txn, database, &err), "%s", err.msg);
    MUST(sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK, "no database");
    must_be_one(db, "PRAGMA integrity_check", "ok");
    static char schema[32];
    char **tables = column_of(db, "SELECT count(*) || '' FROM sqlite_master");
    if (!*schema)
        snprintf(schema, sizeof schema, "%s", tables[0]);
    MUST(strcmp(schema, tables[0]) == 0, "%s tables and views, %s before", tables[0], schema);
    free_column(tables);
    char **found = column_of(db, "SELECT r.name FROM resources r JOIN containers c ON c.id = r.container_id"
                                 " ORDER BY c.path");
    for (unsigned i = 0; i < count; i++) {
        json_t *text = json_of_bytes(names[i]);
        MUST(found[i] && strcmp(found[i], json_string_value(text)) == 0, "name %u is '%s', put as '%s'", i,
             found[i] ? found[i] : "", json_string_value(text));
        json_decref(text);
    }
    MUST(!found[count], "more names than were put");
    free_column(found);
    sqlite3_close(db);
}

/* ---- the store ----------------------------------------------------------------------------------------- */

struct names {
    char *name[NAMES];
    unsigned count;
    bool database;
};

/* A container at "0/NAME", "1/NAME" ... with one resource of that name; every second has no geometry. */
static bool put_name(struct store_txn *txn, unsigned i, const char *name, struct error *err)
{
    char *member = address_of_member(name, strlen(name)), *path = malloc(strlen(member) + 8);
    sprintf(path, "%u/%s", i, member);
    struct hash hash = fixture_content(i), geometry = fixture_content(i + 100);
    struct object_info object = {.name = name};
    struct texture texture = {.index = 1, .name = name, .valid = true};
    const char *node = name;
    struct resource_record resource = {.resource = {.name = name,
                                                    .format = FORMAT_XBG7,
                                                    .status = RESOURCE_DECODED,
                                                    .node_count = 1,
                                                    .nodes = &node,
                                                    .object_count = 1,
                                                    .objects = &object}};
    struct container_record record = {
        .bytes = 10,
        .container = {.format = FORMAT_XPR2, .resource_count = 1, .texture_count = 1, .textures = &texture}};
    if (i % 2) {
        resource.resource.status = RESOURCE_DECLINED;
        resource.resource.reason = DECLINE_NO_MARKER;
        error_set(&resource.resource.error, ERROR_MALFORMED, i, "%s", name);
        record.container.status = CONTAINER_DAMAGED;
        record.container.error = resource.resource.error;
    } else {
        resource.geometry = geometry;
    }
    record.by_status[resource.resource.status] = 1;
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = path,
                                   .container = hash,
                                   .format = FORMAT_XPR2,
                                   .status = record.container.status,
                                   .message = record.container.error.msg,
                                   .bytes = 10};
    bool ok =
        store_put_container(txn, &hash, &record, &resource, 1, err) && store_put_source(txn, &source, err);
    free(member);
    free(path);
    return ok;
}

static bool put_run(struct store_txn *txn, const char *name, struct error *err)
{
    struct run_stage stage = {.name = name, .ns = 1};
    struct run_record run = {.id = 1,
                             .started_ns = 1,
                             .finished_ns = 2,
                             .version = name,
                             .arguments = name,
                             .stage_count = 1,
                             .stages = &stage};
    return store_put_run(txn, &run, err);
}

/* Puts, reads, and lets go: false ends the transaction without a commit. */
static bool write_all(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct names *names = ctx;
    for (unsigned i = 0; i < names->count; i++)
        MUST(put_name(txn, i, names->name[i], err), "%s", err->msg);
    MUST(put_run(txn, names->name[0], err), "%s", err->msg);
    metrics_are_lines(txn, names->name[0]);
    sheets_are_markup(txn, names->name[0]);
    page_is_json(txn, names->name[0]);
    if (names->database)
        rows_are_names(txn, names->name, names->count);
    return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "not kept");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct names names = {.database = size && data[0] & 1};
    struct error err = {0};
    if (!store)
        open_store();
    for (size_t at = size != 0; names.count < NAMES && (at < size || !names.count);) {
        char *name = strndup((const char *)data + at, size - at);
        html_text_comes_back(name);
        url_comes_back(name);
        at += strlen(name) + 1;
        names.name[names.count++] = name;
    }
    MUST(!store_update(store, write_all, &names, &err) && err.code == ERROR_USAGE, "%s", err.msg);
    for (unsigned i = 0; i < names.count; i++)
        free(names.name[i]);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const names[] = {
        "",
        "e003",
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title></style></script><!--",
        "&lt;&#60;&amp;amp;",
        "=cmd|' /C calc'!A0",
        "+1-1@SUM(A1)\t\r\n,\"",
        "'); DROP TABLE resources; --",
        "x' UNION SELECT * FROM sqlite_master --",
        "a\"} 1\nanchorage_containers{status=\"read\"} 999",
        "back\\slash\\\"",
        "# HELP anchorage_info",
        "\xff\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80",
        "caf\xc3\xa9 \xe2\x80\xae \xc2\x9b \x1b[31m \xef\xbb\xbf",
        "../../etc/passwd",
        "javascript:alert(1)",
        "%3Cscript%3E%00%",
        "\xe2\x80\xa8\xe2\x80\xa9\x7f\x01",
    };
    char file[32];
    struct buffer one = {0}, several = {0};
    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (i % NAMES == 0)
            buffer_append(&several, &(uint8_t){i / NAMES}, 1);
        buffer_append(&one, &i, 1);
        buffer_append(&one, names[i], strlen(names[i]));
        buffer_append(&several, names[i], strlen(names[i]) + 1);
        snprintf(file, sizeof file, "name-%02u", i);
        put_seed_buffer(file, &one);
        if (i % NAMES < NAMES - 1)
            continue;
        snprintf(file, sizeof file, "names-%02u", i);
        put_seed_buffer(file, &several);
    }
    buffer_free(&several);
}
