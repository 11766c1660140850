/* api_json.c - the store as JSON and glTF: lists, one resource, coverage, geometry. Shapes: docs/serve.md,
 * docs/json.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/json_whole.h"
#include "reports/api_internal.h"
#include "reports/coverage.h"
#include "reports/export.h"
#include "reports/filter.h"
#include "reports/finding.h"
#include "reports/geometry.h"
#include "reports/shown.h"
#include "reports/text.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MOST    1000
#define SHOWN_MOST    200 /* addresses of a resource's neighbours; more are counted */

/* ---- parameters ---- */

static bool number_parameter(struct call *call, const char *name, uint64_t low, uint64_t high,
                             uint64_t *value)
{
    const char *text = http_parameter(&call->target, name);
    if (!text || text_number(text, low, high, value))
        return true;
    call_refuse(call, 400, "%s takes a number from %llu to %llu, not '%.60s'", name, (unsigned long long)low,
                (unsigned long long)high, text);
    return false;
}

static bool window_parameters(struct call *call, struct catalogue_window *window)
{
    *window = (struct catalogue_window){.limit = LIMIT_DEFAULT};
    return number_parameter(call, "offset", 0, UINT32_MAX, &window->offset) &&
           number_parameter(call, "limit", 0, LIMIT_MOST, &window->limit);
}

static bool filter_parameters(struct call *call, struct view_filter *filter, struct view_sort *sort)
{
    const char *keys = http_parameter(&call->target, "sort");
    *filter = (struct view_filter){0};
    *sort = (struct view_sort){0};
    if (keys && !filter_sort(sort, keys, &call->err))
        return call_refuse_as(call, 400);
    for (size_t i = 0; i < call->target.parameter_count; i++) {
        bool known;
        if (!filter_set(filter, call->target.parameters[i].name, call->target.parameters[i].value, &known,
                        &call->err))
            return call_refuse_as(call, 400);
    }
    return filter_possible(filter, &call->err) || call_refuse_as(call, 400);
}

/* ---- lists ---- */

/* A page of a list: {"total", "offset", "limit", NAME: [...]}. Takes the reference. */
static bool answer_page(struct call *call, const char *name, json_t *rows, struct catalogue_window window,
                        uint64_t total)
{
    return call_json(call, 200,
                     json_pack("{s:I, s:I, s:I, s:o}", "total", (json_int_t)total, "offset",
                               (json_int_t)window.offset, "limit", (json_int_t)window.limit, name, rows));
}

/* A resource of a list: the documented object, and where it is. */
static json_t *resource_row(const struct view_resource *view)
{
    json_t *row = json_of_resource(view);
    if (row)
        json_object_set_new(row, "address", json_of_bytes(view->address));
    return row;
}

bool answer_resources(struct call *call)
{
    struct view_filter filter;
    struct view_sort sort;
    struct catalogue_window window;
    const struct resource_key **keys;
    size_t count;
    uint64_t total;
    if (!filter_parameters(call, &filter, &sort) || !window_parameters(call, &window))
        return true;
    if (!catalogue_resources(call->view.catalogue, &filter, http_parameter(&call->target, "q"), &sort, window,
                             &call->arena, &keys, &count, &total, &call->err))
        return false;
    json_t *rows = json_array();
    struct arena arena = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        struct view_resource view;
        bool found;
        arena_reset(&arena);
        ok = view_resource(call->view.txn, keys[i], &arena, &view, &found, &call->err);
        if (ok && found)
            ok = json_array_append_new(rows, resource_row(&view)) == 0 || call_nomem(call);
    }
    arena_free(&arena);
    if (ok)
        return answer_page(call, "resources", rows, window, total);
    json_decref(rows);
    return false;
}

bool answer_containers(struct call *call)
{
    struct catalogue_containers filter = {.glob = http_parameter(&call->target, "container")};
    struct catalogue_window window;
    const char **paths;
    size_t count;
    uint64_t total;
    if (!window_parameters(call, &window))
        return true;
    if (!catalogue_containers(call->view.catalogue, &filter, http_parameter(&call->target, "q"), window,
                              &call->arena, &paths, &count, &total, &call->err))
        return false;
    json_t *rows = json_array();
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        struct view_container view;
        bool found;
        ok = view_container(call->view.txn, paths[i], &call->arena, &view, &found, &call->err);
        if (ok && found)
            ok = json_array_append_new(rows, json_of_container(&view)) == 0 || call_nomem(call);
    }
    if (ok)
        return answer_page(call, "containers", rows, window, total);
    json_decref(rows);
    return false;
}

/* Rows of a walk over all, of which a window is shown. */
struct walk {
    json_t *rows;
    struct catalogue_window window;
    uint64_t met;
    bool failed;
};

static bool wanted(struct walk *walk)
{
    uint64_t at = walk->met++;
    return at >= walk->window.offset && at - walk->window.offset < walk->window.limit;
}

static bool keep(struct walk *walk, json_t *row)
{
    walk->failed = json_array_append_new(walk->rows, row) != 0;
    return !walk->failed;
}

static bool answer_walk(struct call *call, const char *name, struct walk *walk, bool ok)
{
    if (ok && !walk->failed)
        return answer_page(call, name, walk->rows, walk->window, walk->met);
    json_decref(walk->rows);
    return ok ? call_nomem(call) : false;
}

static bool keep_finding(const struct view_finding *finding, void *ctx)
{
    return !wanted(ctx) || keep(ctx, json_of_finding(finding));
}

bool answer_findings(struct call *call)
{
    struct walk walk = {0};
    uint32_t kinds = 0;
    const char *list = http_parameter(&call->target, "kind");
    if (!window_parameters(call, &walk.window))
        return true;
    if (list && !filter_kinds(list, &kinds, &call->err))
        return !call_refuse_as(call, 400);
    walk.rows = json_array();
    return answer_walk(call, "findings", &walk,
                       view_findings(call->view.txn, kinds, keep_finding, &walk, &call->err));
}

static bool keep_run(const struct run_record *run, void *ctx)
{
    return !wanted(ctx) || keep(ctx, json_of_run(run));
}

bool answer_runs(struct call *call)
{
    struct walk walk = {0};
    if (!window_parameters(call, &walk.window))
        return true;
    walk.rows = json_array();
    return answer_walk(call, "runs", &walk, store_each_run(call->view.txn, keep_run, &walk, &call->err));
}

/* ---- one thing ---- */

/* Several resources answer to a name: their addresses, so that a client can choose. */
static bool answer_choices(struct call *call, const struct resource_key *keys, size_t count)
{
    json_t *choices = json_array();
    bool ok = true;
    for (size_t i = 0; ok && i < count && i < SHOWN_MOST; i++) {
        struct view_resource view;
        bool found;
        ok = view_resource(call->view.txn, &keys[i], &call->arena, &view, &found, &call->err);
        if (ok && found)
            json_array_append_new(choices, json_of_bytes(view.address));
    }
    if (ok)
        return call_json(call, 300,
                         json_pack("{s:{s:i, s:s}, s:I, s:o}", "error", "status", 300, "message",
                                   "several resources answer to this; choose one", "total", (json_int_t)count,
                                   "choices", choices));
    json_decref(choices);
    return false;
}

bool answer_resource(struct call *call)
{
    struct resource_key *keys;
    size_t count;
    struct shown shown;
    if (!call_look_up(call, call->rest, &keys, &count))
        return call->err.code == ERROR_NONE;
    if (count > 1)
        return answer_choices(call, keys, count);
    if (!shown_read(call->view.txn, &keys[0], SHOWN_MOST, &call->arena, &shown, &call->err))
        return false;
    json_t *object = json_of_shown(&shown);
    if (object) {
        json_object_set_new(object, "shares_total", json_integer((json_int_t)shown.shares.total));
        json_object_set_new(object, "same_name_total", json_integer((json_int_t)shown.same_name.total));
        json_object_set_new(object, "address", json_of_bytes(shown.view.address));
    }
    return call_json(call, 200, object);
}

bool answer_coverage(struct call *call)
{
    struct view_container view;
    bool found;
    if (!view_container(call->view.txn, call->rest, &call->arena, &view, &found, &call->err))
        return false;
    if (!found)
        return call_refuse(call, 404, "the store has no container '%.200s'", call->rest);
    if (view.format != FORMAT_XPR2 || !view.record)
        return call_refuse(call, 404, "'%.200s' is no XPR2 container; only those have a coverage map",
                           call->rest);
    struct container_record record = *view.record;
    return coverage_load(call->view.txn, &view.hash, &call->arena, &record, &call->err) &&
           call_json(call, 200, json_of_coverage(&view, &record.container));
}

/* ---- geometry ---- */

/* What is said of a geometry in a file: the resource that is named, or the first that has it. */
struct described {
    const struct view_resource *view; /* NULL: an alternative, nobody's outcome */
    bool mirrored;
    bool alternative; /* of what `view` chose: what is said of its outcome would be wrong */
};

static bool has_candidate(const struct resource_record *record, const struct hash *geometry)
{
    for (uint32_t i = 0; i < record->resource.candidate_count; i++)
        if (hash_equal(&record->candidate_hashes[i].geometry, geometry))
            return true;
    return false;
}

/* False when the call is at its end. */
static bool describe(struct call *call, const struct hash *geometry, struct described *out)
{
    const char *address = http_parameter(&call->target, "resource");
    struct resource_key *keys;
    size_t count = 0;
    bool found = false;
    struct view_resource *view = arena_alloc(&call->arena, sizeof *view);
    *out = (struct described){0};
    if (!view)
        return call_nomem(call);
    if (address ? !call_look_up(call, address, &keys, &count)
                : !store_find_geometry(call->view.txn, geometry, &call->arena, &keys, &count, &call->err))
        return false;
    if (address && count > 1) {
        call_refuse(call, 400, "several resources answer to '%.200s'; name one", address);
        return false;
    }
    if (count && !view_resource(call->view.txn, &keys[0], &call->arena, view, &found, &call->err))
        return false;
    if (!found)
        return true;
    const struct resolved_canonical *canonical = &view->outcome->canonical;
    bool shared = canonical->basis != CANONICAL_NONE && hash_equal(&canonical->geometry, geometry);
    out->view = view;
    out->mirrored = address && shared && canonical->mirrored;
    out->alternative = !shared && !hash_equal(&view->record->geometry, geometry);
    if (!out->alternative || has_candidate(view->record, geometry))
        return true;
    call_refuse(call, 400, "'%.200s' has another geometry", address);
    return false;
}

/* The tag of a file that is not written yet: a hash of all that goes into it. */
static bool tag_of_file(struct call *call, const struct hash *geometry, const struct described *of,
                        const json_t *extras)
{
    char *said = extras ? json_whole_text(extras, JSON_PRINT) : strdup("");
    json_t *details = of->view ? json_of_details(&of->view->record->resource) : NULL;
    char *detailed = details ? json_whole_text(details, JSON_PRINT) : strdup("");
    struct hash_stream *stream = said && detailed ? hash_stream_new() : NULL;
    json_decref(details);
    if (stream) {
        const char head[] = {EXPORT_VERSION, of->mirrored};
        hash_stream_add(stream, head, sizeof head);
        hash_stream_add(stream, geometry->bytes, HASH_SIZE);
        hash_stream_add(stream, said, strlen(said));
        hash_stream_add(stream, detailed, strlen(detailed));
    }
    free(said);
    free(detailed);
    if (!stream)
        return call_nomem(call);
    struct hash tag = hash_stream_finish(stream);
    call_unchanged(call, &tag);
    return true;
}

static bool write_glb(struct call *call, const struct export_item *item)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return call_nomem(call);
    bool ok = export_write(EXPORT_GLB, item, 1, out, &call->err);
    if (fclose(out) != 0 && ok)
        ok = call_nomem(call);
    if (ok)
        call_take(call, 200, "model/gltf-binary", bytes, size);
    else
        free(bytes);
    return ok;
}

bool answer_geometry(struct call *call)
{
    struct hash hash;
    char hex[HASH_HEX];
    struct described of;
    const struct mesh *mesh;
    if (!call_geometry(call, ".glb", &hash) || !describe(call, &hash, &of))
        return call->err.code == ERROR_NONE;
    hash_format(&hash, hex);
    json_t *extras = of.view && !of.alternative ? json_of_resource(of.view) : NULL;
    bool ok = tag_of_file(call, &hash, &of, extras);
    if (ok && call->response->status != 304) {
        ok = geometry_load(call->view.txn, &hash, &call->arena, &mesh, &call->err);
        const struct view_resource *view = of.view      ? of.view
                                           : ok && mesh ? geometry_as_resource(&hash, mesh, hex, &call->arena)
                                                        : NULL;
        ok = ok && ((mesh && view) || call_nomem(call)) &&
             write_glb(call, &(struct export_item){.resource = &view->record->resource,
                                                   .mesh = mesh,
                                                   .name = view->name,
                                                   .mirrored = of.mirrored,
                                                   .extras = extras});
    }
    json_decref(extras);
    return ok;
}
