/* page_data.c - see page_data.h */
#include "reports/page_data.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/json_whole.h"
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

static void put_strings(struct buffer *out, const char *key, const char *const *strings, size_t count)
{
    json_text_key(out, key);
    json_text_open(out, '[');
    for (size_t i = 0; i < count; i++)
        json_text_string(out, strings[i]);
    json_text_close(out, ']');
}

/* "name": {"columns": [...], "rows": [ and, to close it, ]}. */
#define OPEN_TABLE(out, name, columns) open_table(out, name, columns, sizeof(columns) / sizeof *(columns))

static void open_table(struct buffer *out, const char *name, const char *const *columns, size_t count)
{
    json_text_key(out, name);
    json_text_open(out, '{');
    put_strings(out, "columns", columns, count);
    json_text_key(out, "rows");
    json_text_open(out, '[');
}

static void close_table(struct buffer *out)
{
    json_text_close(out, ']');
    json_text_close(out, '}');
}

/* ---- containers and resources -------------------------------------------------------------------------- */

static const char *const container_columns[] = {
    "path",     "also",      "hash",     "format",    "bytes",       "status",
    "reason",   "message",   "offset",   "flags",     "decoded",     "proven",
    "assigned", "ambiguous", "declined", "resources", "data_offset", "coverage"};

static const char *const resource_columns[] = {
    "index", "name",   "format", "status",   "reason",    "was",   "vertices", "triangles",
    "score", "margin", "bounds", "geometry", "canonical", "flags", "error",    "offset"};

/* What a thread looks with. */
struct walk {
    struct store_txn *txn;
    bool with_details;
    struct buffer *rows, *details; /* being written: of a stretch of the list of containers */
    struct coverage_claims claims;
    struct arena container, coverage;
    struct error err;
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
    struct buffer *out = walk->rows;
    const struct resource *resource = &view->record->resource;
    const struct resolved_record *outcome = view->outcome;
    bool changed = outcome && outcome->change_count;
    json_text_open(out, '[');
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
    return coverage_claim(&walk->claims, resource, outcome, &walk->err) && !out->failed;
}

/* [length, kind, length, kind, ...] from data_offset on, laid for what its resources have just claimed. */
static bool put_coverage(struct walk *walk, const struct view_container *view)
{
    struct buffer *out = walk->rows;
    if (view->format != FORMAT_XPR2 || !view->record) {
        json_text_null(out);
        json_text_null(out);
        return true;
    }
    struct container_record record = *view->record;
    const struct container *container = &record.container;
    arena_reset(&walk->coverage);
    if (!store_get_coverage(walk->txn, &view->hash, &walk->coverage, &record, &walk->err) ||
        !coverage_lay(&walk->claims, &record, &walk->coverage, &walk->err))
        return false;
    json_text_count(out, container->data_offset);
    json_text_open(out, '[');
    for (uint32_t i = 0; i < container->coverage_count; i++) {
        json_text_count(out, container->coverage[i].end - container->coverage[i].start);
        json_text_count(out, container->coverage[i].kind);
    }
    json_text_close(out, ']');
    return true;
}

static bool put_container(struct walk *walk, const struct view_container *view)
{
    const struct view_filter everything = {.candidates = walk->with_details};
    struct buffer *out = walk->rows;
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
    json_text_open(out, '[');
    coverage_claims_clear(&walk->claims);
    bool ok = view_resources_of(walk->txn, view, &everything, put_resource, walk, &walk->err);
    json_text_close(out, ']');
    ok = ok && put_coverage(walk, view);
    json_text_close(out, ']');
    return ok;
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
    char *text = object ? json_whole_text(object, JSON_PRINT) : NULL;
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
    put_strings(out, "resource_columns", resource_columns,
                sizeof resource_columns / sizeof *resource_columns);
    json_text_key(out, "runs");
    json_text_open(out, '[');
    bool ok = store_each_run(txn, put_run, out, err);
    json_text_close(out, ']');
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Containers of one task. The page is made in tasks that share nothing but the list: each thread has a
 * transaction, each task its buffers, which are joined in order. */
#define CHUNK        16
#define THREADS_MOST 4

struct making {
    const struct view_entry *list;
    size_t count, chunk_count;
    struct page_data *out; /* of both documents piece i + 1 is chunk i's; the last one is what follows them */
    int threads;
    struct walk walks[THREADS_MOST];
};

/* The tables beside containers, behind the end of that one. */
static bool make_rest(struct walk *walk, struct buffer *out)
{
    struct error *err = &walk->err;
    struct census census = {.out = out};
    close_table(out);
    OPEN_TABLE(out, "findings", finding_columns);
    bool ok = store_each_finding(walk->txn, put_finding, out, err);
    close_table(out);
    OPEN_TABLE(out, "declined", declined_columns);
    ok = ok && view_declined(walk->txn, &census.compared, put_declined, &census, err);
    close_table(out);
    OPEN_TABLE(out, "unknown", unknown_columns);
    ok = ok && put_unknown(walk->txn, out, err);
    close_table(out);
    return ok;
}

static bool make_chunk(struct walk *walk, const struct making *making, size_t chunk)
{
    size_t end = (chunk + 1) * CHUNK < making->count ? (chunk + 1) * CHUNK : making->count;
    bool ok = true;
    walk->rows = &making->out->page.pieces[chunk + 1];
    walk->details = walk->with_details ? &making->out->details.pieces[chunk + 1] : NULL;
    for (size_t i = chunk * CHUNK; ok && i < end; i++) {
        struct view_container view;
        bool found;
        arena_reset(&walk->container);
        ok = view_listed(walk->txn, &making->list[i], &walk->container, &view, &found, &walk->err) &&
             (!found || put_container(walk, &view)) && walk->err.code == ERROR_NONE;
    }
    return ok;
}

/* Task 0 is the longest and is begun first. Errors stay with the walk, which then does nothing more. */
static void make_task(size_t i, int thread, void *ctx)
{
    struct making *making = ctx;
    struct walk *walk = &making->walks[thread];
    if (walk->err.code != ERROR_NONE)
        return;
    if (i == 0)
        make_rest(walk, &making->out->page.pieces[making->chunk_count + 1]);
    else
        make_chunk(walk, making, i - 1);
}

/* Opens transactions for all threads, all of the commit that `txn` sees; how many there are. A writer that
 * commits in between leaves one. */
static int open_walks(struct making *making, struct store *store, struct store_txn *txn, struct error *err)
{
    int threads = par_default_threads() < THREADS_MOST ? par_default_threads() : THREADS_MOST;
    making->walks[0].txn = txn;
    for (int i = 1; i < threads; i++) {
        making->walks[i].txn = store_begin_read(store, err);
        if (!making->walks[i].txn)
            return 0;
        if (store_commit(making->walks[i].txn) != store_commit(txn))
            return 1;
    }
    return threads;
}

/* Each chunk but the first begins with the comma before it. */
static void part_chunks(struct page_text *text)
{
    for (size_t i = 2; i + 1 < text->count; i++)
        buffer_append(&text->pieces[i], ",", 1);
}

/* Commas in front of nothing, or behind it, become what JSON does not see. */
static void clear_commas(struct page_text *text)
{
    bool any = text->pieces[1].size > 0;
    for (size_t i = 2; i + 1 < text->count; i++) {
        struct buffer *piece = &text->pieces[i];
        if (piece->size == 1 || (piece->size && !any))
            piece->data[0] = ' ';
        any |= piece->size > 1;
    }
}

static void free_making(struct making *making)
{
    for (int i = 0; i < THREADS_MOST; i++) {
        coverage_claims_free(&making->walks[i].claims);
        arena_free(&making->walks[i].container);
        arena_free(&making->walks[i].coverage);
        if (i > 0)
            store_end_read(making->walks[i].txn);
    }
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while making the report");
}

static bool make_pieces(struct page_text *text, size_t chunks)
{
    text->pieces = calloc(chunks + 2, sizeof *text->pieces);
    text->count = text->pieces ? chunks + 2 : 0;
    return text->pieces;
}

static bool is_whole(const struct page_text *text)
{
    for (size_t i = 0; i < text->count; i++)
        if (text->pieces[i].failed)
            return false;
    return true;
}

static bool make_all(struct making *making, struct store *store, struct store_txn *txn, struct error *err)
{
    making->threads = open_walks(making, store, txn, err);
    if (!making->threads)
        return false;
    part_chunks(&making->out->page);
    part_chunks(&making->out->details);
    par_for(making->chunk_count + 1, making->threads, make_task, making);
    for (int i = 0; i < THREADS_MOST; i++)
        if (making->walks[i].err.code != ERROR_NONE) {
            *err = making->walks[i].err;
            return false;
        }
    if (!is_whole(&making->out->page) || !is_whole(&making->out->details))
        return out_of_memory(err);
    clear_commas(&making->out->page);
    if (making->out->details.count)
        clear_commas(&making->out->details);
    return true;
}

bool page_data_make(struct store *store, struct store_txn *txn, const char *program, const char *title,
                    bool details, struct page_data *out, struct error *err)
{
    struct arena list = {0};
    struct making making = {.out = out};
    *out = (struct page_data){0};
    for (int i = 0; i < THREADS_MOST; i++)
        making.walks[i].with_details = details;
    bool ok = view_list(txn, &list, &making.list, &making.count, err);
    making.chunk_count = (making.count + CHUNK - 1) / CHUNK;
    if (ok && (!make_pieces(&out->page, making.chunk_count) ||
               (details && !make_pieces(&out->details, making.chunk_count))))
        ok = out_of_memory(err);
    if (ok) {
        struct buffer *head = &out->page.pieces[0], *tail = &out->page.pieces[out->page.count - 1];
        json_text_open(head, '{');
        ok = put_head(txn, program, title, head, err);
        OPEN_TABLE(head, "containers", container_columns);
        ok = ok && make_all(&making, store, txn, err);
        json_text_close(tail, '}');
    }
    if (ok && details) {
        json_text_open(&out->details.pieces[0], '[');
        json_text_close(&out->details.pieces[out->details.count - 1], ']');
    }
    if (ok && (!is_whole(&out->page) || !is_whole(&out->details)))
        ok = out_of_memory(err);
    free_making(&making);
    arena_free(&list);
    return ok;
}

size_t page_text_size(const struct page_text *text)
{
    size_t size = 0;
    for (size_t i = 0; i < text->count; i++)
        size += text->pieces[i].size;
    return size;
}

void page_text_append(const struct page_text *text, struct buffer *out)
{
    for (size_t i = 0; i < text->count; i++)
        buffer_append(out, text->pieces[i].data, text->pieces[i].size);
}

static void free_text(struct page_text *text)
{
    for (size_t i = 0; i < text->count; i++)
        buffer_free(&text->pieces[i]);
    free(text->pieces);
    *text = (struct page_text){0};
}

void page_data_free(struct page_data *data)
{
    free_text(&data->page);
    free_text(&data->details);
}
