/* page_data.c - see page_data.h */
#include "reports/page_data.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/parallel.h"
#include "reports/coverage.h"
#include "reports/finding.h"
#include "reports/json_text.h"

/* ---- pieces -------------------------------------------------------------------------------------------- */

static void put_flags(struct buffer *out, uint32_t flags)
{
    json_text_open(out, '[');
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags & FLAG_BIT(i))
            json_text_string(out, flag_word((enum flag)i));
    json_text_close(out, ']');
}

/* [min x, y, z, max x, y, z], or null. */
static void put_bounds(struct buffer *out, const struct bounds *bounds)
{
    if (!bounds->valid) {
        json_text_null(out);
        return;
    }
    json_text_open(out, '[');
    for (int i = 0; i < 6; i++)
        json_text_f32(out, i < 3 ? bounds->min[i] : bounds->max[i - 3]);
    json_text_close(out, ']');
}

static void put_offset(struct buffer *out, uint64_t offset)
{
    if (offset == ERROR_NO_OFFSET)
        json_text_null(out);
    else
        json_text_count(out, offset);
}

/* "name": {"columns": [...], "rows": [ and, to close it, ]}. */
#define OPEN_TABLE(out, name, columns) open_table(out, name, columns, sizeof(columns) / sizeof *(columns))
static void open_table(struct buffer *out, const char *name, const char *const *columns, size_t count)
{
    json_text_key(out, name);
    json_text_open(out, '{');
    json_text_key(out, "columns");
    json_text_open(out, '[');
    for (size_t i = 0; i < count; i++)
        json_text_string(out, columns[i]);
    json_text_close(out, ']');
    json_text_key(out, "rows");
    json_text_open(out, '[');
}

static void close_table(struct buffer *out)
{
    json_text_close(out, ']');
    json_text_close(out, '}');
}

/* ---- containers and resources -------------------------------------------------------------------------- */

static const char *const container_columns[] = {"path",    "also",   "hash",     "format",    "bytes",
                                                "status",  "reason", "message",  "offset",    "flags",
                                                "decoded", "proven", "assigned", "ambiguous", "declined"};

static const char *const resource_columns[] = {
    "container", "index",  "name",   "format",   "status",    "reason", "was",   "vertices", "triangles",
    "score",     "margin", "bounds", "geometry", "canonical", "flags",  "error", "offset"};

struct walk {
    struct store_txn *txn;
    struct buffer *out;                 /* the page, where rows of resources go straight into their table */
    struct buffer containers, *details; /* rows */
    bool with_details;
    uint64_t container; /* number of the row of the container whose resources are walked */
    struct error *err;
};

static void put_canonical(struct buffer *out, const struct resolved_record *outcome)
{
    if (!outcome || outcome->canonical.basis == CANONICAL_NONE) {
        json_text_null(out);
        return;
    }
    json_text_open(out, '[');
    json_text_hash(out, &outcome->canonical.geometry);
    json_text_bool(out, outcome->canonical.mirrored);
    json_text_string(out, canonical_basis_word(outcome->canonical.basis));
    json_text_count(out, outcome->canonical.twin);
    json_text_close(out, ']');
}

static bool put_resource(const struct view_resource *view, void *ctx)
{
    struct walk *walk = ctx;
    struct buffer *out = walk->out;
    const struct resource *resource = &view->record->resource;
    const struct resolved_record *outcome = view->outcome;
    bool changed = outcome && outcome->change_count;
    json_text_open(out, '[');
    json_text_count(out, walk->container);
    json_text_count(out, resource->index);
    json_text_string(out, view->name);
    json_text_string(out, format_word(resource->format));
    json_text_string(out, resource_status_word(resource->status));
    json_text_string(out,
                     resource->status == RESOURCE_DECLINED ? decline_reason_word(resource->reason) : NULL);
    json_text_string(out, changed ? resource_status_word(outcome->was) : NULL);
    json_text_count(out, resource->vertices);
    json_text_count(out, resource->triangles);
    json_text_odds(out, resource->score);
    json_text_odds(out, resource->margin);
    put_bounds(out, &resource->bounds);
    json_text_hash(out, &view->record->geometry);
    put_canonical(out, outcome);
    put_flags(out, resource->flags);
    json_text_string(out, resource->error.code ? resource->error.msg : NULL);
    put_offset(out, resource->error.code ? resource->error.offset : ERROR_NO_OFFSET);
    json_text_close(out, ']');
    if (walk->with_details)
        page_detail(view, walk->details);
    return !out->failed;
}

static bool put_container(const struct view_container *view, void *ctx)
{
    struct walk *walk = ctx;
    const struct view_filter everything = {.candidates = walk->with_details};
    struct buffer *out = &walk->containers;
    json_text_open(out, '[');
    json_text_string(out, view->path);
    json_text_open(out, '[');
    for (size_t i = 0; i < view->also_count; i++)
        json_text_string(out, view->also[i]);
    json_text_close(out, ']');
    json_text_hash(out, &view->hash);
    json_text_string(out, format_word(view->format));
    json_text_count(out, view->bytes);
    json_text_string(out, container_status_word(view->status));
    json_text_string(out, container_reason_word(view->reason));
    json_text_string(out, view->message);
    put_offset(out, view->message ? view->error_offset : ERROR_NO_OFFSET);
    put_flags(out, view->flags);
    json_text_count(out, view->by_status[RESOURCE_DECODED]);
    json_text_count(out, view->by_status[RESOURCE_PROVEN]);
    json_text_count(out, view->by_status[RESOURCE_ASSIGNED]);
    json_text_count(out, view->by_status[RESOURCE_AMBIGUOUS]);
    json_text_count(out, view->by_status[RESOURCE_DECLINED]);
    json_text_close(out, ']');
    if (!view_resources_of(walk->txn, view, &everything, put_resource, walk, walk->err))
        return false;
    walk->container++;
    return !out->failed;
}

/* ---- details ------------------------------------------------------------------------------------------- */

static void put_places(struct buffer *out, const struct buffer_place *places, uint32_t count)
{
    json_text_key(out, "buffers");
    json_text_open(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        json_text_open(out, '{');
        json_text_key(out, "index_offset");
        json_text_count(out, places[i].index_offset);
        json_text_key(out, "index_count");
        json_text_count(out, places[i].index_count);
        json_text_key(out, "vertex_offset");
        json_text_count(out, places[i].vertex_offset);
        json_text_key(out, "vertex_count");
        json_text_count(out, places[i].vertex_count);
        json_text_key(out, "stride");
        json_text_count(out, places[i].stride);
        json_text_close(out, '}');
    }
    json_text_close(out, ']');
}

static void put_count(struct buffer *out, const char *key, uint64_t value)
{
    json_text_key(out, key);
    json_text_count(out, value);
}

static void put_sign(struct buffer *out, const char *key, int value)
{
    json_text_key(out, key);
    json_text_odds(out, value);
}

static void put_evidence(struct buffer *out, const struct anchor_evidence *e)
{
    json_text_key(out, "evidence");
    json_text_open(out, '{');
    put_count(out, "vertices", e->vertices);
    put_count(out, "triangles", e->triangles);
    put_count(out, "short_of_top", e->short_of_top);
    put_count(out, "unreferenced", e->unreferenced);
    put_count(out, "normals", e->normals);
    put_count(out, "unit", e->unit);
    put_count(out, "faces", e->faces);
    put_count(out, "agreeing", e->agreeing);
    put_count(out, "degenerate", e->degenerate);
    put_count(out, "nonsense", e->nonsense);
    put_sign(out, "run_start", e->run_start);
    put_sign(out, "run_end", e->run_end);
    put_sign(out, "index_start", e->index_start);
    put_sign(out, "stated", e->stated);
    put_sign(out, "size_match", e->size_match);
    put_count(out, "layout", e->layout);
    json_text_key(out, "coherence");
    json_text_f32(out, e->coherence);
    json_text_key(out, "extent");
    json_text_open(out, '[');
    for (int i = 0; i < 3; i++)
        json_text_f32(out, e->extent[i]);
    json_text_close(out, ']');
    json_text_key(out, "radius");
    json_text_f32(out, e->radius);
    json_text_key(out, "size_odds");
    json_text_odds(out, (double)e->size_odds);
    json_text_key(out, "locality");
    json_text_odds(out, (double)e->locality);
    json_text_close(out, '}');
}

static void put_candidates(struct buffer *out, const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    json_text_key(out, "candidates");
    json_text_open(out, '[');
    for (uint32_t i = 0; i < resource->candidate_count; i++) {
        const struct candidate *candidate = &resource->candidates[i];
        json_text_open(out, '{');
        json_text_key(out, "chosen");
        json_text_bool(out, i == resource->chosen && resource->status != RESOURCE_DECLINED);
        json_text_key(out, "score");
        json_text_odds(out, candidate->score);
        json_text_key(out, "geometry");
        json_text_hash(out, &record->candidate_hashes[i].geometry);
        put_places(out, candidate->buffers, resource->marker_count);
        put_evidence(out, &candidate->evidence);
        json_text_close(out, '}');
    }
    json_text_close(out, ']');
    put_count(out, "candidates_dropped", resource->candidates_dropped);
}

static void put_history(struct buffer *out, const struct resolved_record *outcome)
{
    json_text_key(out, "history");
    json_text_open(out, '[');
    for (uint32_t i = 0; outcome && i < outcome->change_count; i++) {
        const struct resolved_change *change = &outcome->changes[i];
        json_text_open(out, '{');
        json_text_key(out, "pass");
        json_text_string(out, change->pass);
        put_count(out, "version", change->version);
        json_text_key(out, "from");
        json_text_string(out, resource_status_word(change->from));
        json_text_key(out, "to");
        json_text_string(out, resource_status_word(change->to));
        json_text_key(out, "why");
        json_text_string(out, change->why);
        json_text_close(out, '}');
    }
    json_text_close(out, ']');
}

static void put_strings(struct buffer *out, const char *key, const char *const *strings, uint32_t count)
{
    json_text_key(out, key);
    json_text_open(out, '[');
    for (uint32_t i = 0; i < count; i++)
        json_text_string(out, strings[i]);
    json_text_close(out, ']');
}

/* Material names: of a BMF the library's entries, of a BGF what its parts name, each once in a row. */
static void put_materials(struct buffer *out, const struct resource *resource, uint32_t part_count)
{
    const char *last = NULL;
    json_text_key(out, "materials");
    json_text_open(out, '[');
    for (uint32_t i = 0; i < resource->material_count; i++)
        json_text_string(out, resource->materials[i].name);
    for (uint32_t i = 0; i < part_count; i++) {
        const char *name = resource->parts[i].material;
        if (name && (!last || strcmp(last, name) != 0))
            json_text_string(out, name);
        last = name;
    }
    json_text_close(out, ']');
}

void page_detail(const struct view_resource *view, struct buffer *out)
{
    const struct resource *resource = &view->record->resource;
    json_text_open(out, '{');
    json_text_key(out, "variant");
    json_text_string(out, resource->variant);
    put_places(out, resource->buffers, resource->buffer_count);
    put_candidates(out, view->record);
    put_history(out, view->outcome);
    put_count(out, "parts", view->record->part_count);
    put_count(out, "lods", resource->lod_count);
    put_materials(out, resource, resource->parts ? view->record->part_count : 0);
    put_strings(out, "nodes", resource->nodes, resource->node_count);
    json_text_key(out, "objects");
    json_text_open(out, '[');
    for (uint32_t i = 0; i < resource->object_count; i++)
        json_text_string(out, resource->objects[i].name);
    json_text_close(out, ']');
    json_text_close(out, '}');
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static const char *const finding_columns[] = {"kind", "container", "subject", "message", "sides"};

/* Findings come in the order of their keys and name containers by hash: sorting and addresses are the page's
 * work, which has both already. */
static bool put_finding(const struct finding_record *record, void *ctx)
{
    struct buffer *out = ctx;
    json_text_open(out, '[');
    json_text_string(out, finding_kind_word(record->kind));
    json_text_hash(out, &record->container);
    json_text_string(out, record->subject);
    json_text_string(out, record->message);
    json_text_open(out, '[');
    for (uint32_t i = 0; i < record->side_count; i++) {
        json_text_hash(out, &record->sides[i].key.container);
        json_text_count(out, record->sides[i].key.index);
    }
    json_text_close(out, ']');
    json_text_close(out, ']');
    return !out->failed;
}

static const char *const coverage_columns[] = {"container", "data_offset", "runs"};

struct coverage_walk {
    struct store_txn *txn;
    struct buffer *out;
    struct arena arena;
    struct error *err;
};

/* [length, kind, length, kind, ...] from data_offset on. */
static bool put_coverage(const struct hash *hash, const struct container_record *record, void *ctx)
{
    struct coverage_walk *walk = ctx;
    struct container_record whole = *record;
    const struct container *container = &whole.container;
    if (container->format != FORMAT_XPR2)
        return true;
    arena_reset(&walk->arena);
    if (!coverage_load(walk->txn, hash, &walk->arena, &whole, walk->err))
        return false;
    json_text_open(walk->out, '[');
    json_text_hash(walk->out, hash);
    json_text_count(walk->out, container->data_offset);
    json_text_open(walk->out, '[');
    for (uint32_t i = 0; i < container->coverage_count; i++) {
        json_text_count(walk->out, container->coverage[i].end - container->coverage[i].start);
        json_text_count(walk->out, container->coverage[i].kind);
    }
    json_text_close(walk->out, ']');
    json_text_close(walk->out, ']');
    return !walk->out->failed;
}

static const char *const declined_columns[] = {"by", "key", "count", "before"};

struct census {
    struct buffer *out;
    bool compared;
};

static bool put_declined(const struct view_declined *row, void *ctx)
{
    struct census *census = ctx;
    json_text_open(census->out, '[');
    json_text_string(census->out, census_dimension_word(row->dimension));
    json_text_string(census->out, row->key);
    json_text_count(census->out, row->count);
    if (census->compared)
        json_text_count(census->out, row->before);
    else
        json_text_null(census->out);
    json_text_close(census->out, ']');
    return !census->out->failed;
}

static const char *const unknown_columns[] = {"magic", "ending", "count", "bytes"};

static bool put_unknown(struct store_txn *txn, struct buffer *out, struct error *err)
{
    struct arena arena = {0};
    struct census_row *rows = NULL;
    size_t count = 0;
    bool ok = view_unknown(txn, &arena, &rows, &count, err);
    for (size_t i = 0; ok && i < count; i++) {
        json_text_open(out, '[');
        json_text_string(out, rows[i].magic);
        json_text_string(out, rows[i].ending);
        json_text_count(out, rows[i].count);
        json_text_count(out, rows[i].bytes);
        json_text_close(out, ']');
    }
    arena_free(&arena);
    return ok;
}

static bool put_run(const struct run_record *run, void *ctx)
{
    struct buffer *out = ctx;
    json_t *object = json_of_run(run);
    char *text = object ? json_dumps(object, JSON_PRINT) : NULL;
    if (text)
        json_text_document(out, text);
    out->failed |= !text;
    free(text);
    json_decref(object);
    return !out->failed;
}

static bool put_head(struct store_txn *txn, const char *program, const char *title, struct buffer *out,
                     struct error *err)
{
    uint64_t count, bytes;
    if (!store_geometry_pages(txn, &count, &bytes, err))
        return false;
    put_count(out, "version", PAGE_DATA_VERSION);
    json_text_key(out, "program");
    json_text_string(out, program);
    json_text_key(out, "store");
    json_text_string(out, title);
    json_text_key(out, "geometry");
    json_text_open(out, '{');
    put_count(out, "distinct", count);
    put_count(out, "stored", bytes);
    json_text_close(out, '}');
    json_text_key(out, "coverage_kinds");
    json_text_open(out, '[');
    for (int i = 0; i < COVERAGE_KIND_COUNT; i++)
        json_text_string(out, coverage_kind_word((enum coverage_kind)i));
    json_text_close(out, ']');
    json_text_key(out, "runs");
    json_text_open(out, '[');
    bool ok = store_each_run(txn, put_run, out, err);
    json_text_close(out, ']');
    return ok;
}

/* ---- both halves --------------------------------------------------------------------------------------- */

/* The page is made on two threads, which share nothing: each has a transaction and a buffer. The first one's
 * is the page itself, so that only the smaller half is copied. */
struct half {
    bool (*make)(struct half *half);
    struct store_txn *txn;
    struct buffer *out, *details;
    bool with_details;
    struct error err;
    bool ok;
};

static bool make_resources(struct half *half)
{
    struct buffer *out = half->out;
    struct walk walk = {.txn = half->txn,
                        .out = out,
                        .details = half->details,
                        .with_details = half->with_details,
                        .err = &half->err};
    OPEN_TABLE(out, "resources", resource_columns);
    bool ok = view_containers(walk.txn, put_container, &walk, &half->err) && half->err.code == ERROR_NONE;
    close_table(out);
    OPEN_TABLE(out, "containers", container_columns);
    buffer_append(out, walk.containers.data, walk.containers.size);
    close_table(out);
    out->failed |= walk.containers.failed;
    buffer_free(&walk.containers);
    return ok;
}

static bool make_rest(struct half *half)
{
    struct buffer *out = half->out;
    struct error *err = &half->err;
    struct census census = {.out = out};
    struct coverage_walk coverage = {.txn = half->txn, .out = out, .err = err};
    OPEN_TABLE(out, "coverage", coverage_columns);
    bool ok = store_each_container(half->txn, put_coverage, &coverage, err) && err->code == ERROR_NONE;
    arena_free(&coverage.arena);
    close_table(out);
    OPEN_TABLE(out, "findings", finding_columns);
    ok = ok && store_each_finding(half->txn, put_finding, out, err);
    close_table(out);
    OPEN_TABLE(out, "declined", declined_columns);
    ok = ok && view_declined(half->txn, &census.compared, put_declined, &census, err);
    close_table(out);
    OPEN_TABLE(out, "unknown", unknown_columns);
    ok = ok && put_unknown(half->txn, out, err);
    close_table(out);
    return ok;
}

static void make_half(size_t i, int thread, void *ctx)
{
    struct half *half = (struct half *)ctx + i;
    (void)thread;
    half->ok = half->make(half);
}

bool page_data_make(struct store *store, struct store_txn *txn, const char *program, const char *title,
                    bool details, struct page_data *out, struct error *err)
{
    struct buffer rest = {0};
    *out = (struct page_data){0};
    struct store_txn *second = store_begin_read(store, err);
    if (!second)
        return false;
    /* A writer may have committed in between; then both halves see what the caller's transaction sees, in
     * turn. */
    bool same = store_commit(second) == store_commit(txn);
    struct half halves[2] = {{.make = make_resources,
                              .txn = txn,
                              .out = &out->page,
                              .details = &out->details,
                              .with_details = details},
                             {.make = make_rest, .txn = same ? second : txn, .out = &rest}};
    json_text_open(&out->page, '{');
    if (details)
        json_text_open(&out->details, '[');
    bool ok = put_head(txn, program, title, &out->page, err);
    if (ok)
        par_for(2, same ? 2 : 1, make_half, halves);
    for (int i = 0; ok && i < 2; i++)
        if (!halves[i].ok) {
            *err = halves[i].err;
            ok = false;
        }
    json_text_raw(&out->page, (const char *)rest.data, rest.size);
    json_text_close(&out->page, '}');
    if (details)
        json_text_close(&out->details, ']');
    if (ok && (rest.failed || out->page.failed || out->details.failed))
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while making the report");
    buffer_free(&rest);
    store_end_read(second);
    return ok;
}

void page_data_free(struct page_data *data)
{
    buffer_free(&data->page);
    buffer_free(&data->details);
}
