/* api.c - see api.h. One function an address; the table of them is at the end. */
#include "reports/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/lookup.h"
#include "reports/coverage.h"
#include "reports/export.h"
#include "reports/filter.h"
#include "reports/finding.h"
#include "reports/geometry.h"
#include "reports/http.h"
#include "reports/served.h"
#include "reports/shown.h"
#include "reports/text.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MOST    1000
#define SHOWN_MOST    200 /* addresses of a resource's neighbours; more are counted */

struct api {
    struct served *served;
    char *host;
};

/* A request on its way to a response. */
struct call {
    const struct api_request *request;
    struct http_target target;
    const char *rest; /* what the path has behind the endpoint's */
    struct served_view view;
    struct arena arena;
    struct api_response *response;
    struct error err; /* set while response->status is 0: the store's fault, or memory's */
};

struct endpoint {
    const char *path; /* with a '/' at its end: more follows */
    bool (*answer)(struct call *call);
    bool listed;            /* needs the catalogue */
    bool filters;           /* takes what filter_set takes, too */
    const char *parameters; /* separated by spaces */
    const char *purpose;
};

/* ---- answering ---- */

static bool out_of_memory(struct call *call)
{
    return error_set(&call->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

static void take_body(struct call *call, unsigned status, const char *type, void *body, size_t size)
{
    call->response->status = status;
    call->response->type = type;
    call->response->owned = body;
    call->response->body = body;
    call->response->size = size;
}

/* Takes the reference. NULL is memory that ran out. */
static bool answer_json(struct call *call, unsigned status, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_PRINT) : NULL;
    json_decref(value);
    if (!text)
        return out_of_memory(call);
    take_body(call, status, "application/json; charset=utf-8", text, strlen(text));
    return true;
}

/* What is wrong with the request. */
static bool refuse(struct call *call, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(struct call *call, unsigned status, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return answer_json(
        call, status,
        json_pack("{s:{s:i, s:o}}", "error", "status", (int)status, "message", json_of_bytes(message)));
}

/* The same with what call->err says, which is the request's fault then. Always false: the call is at its end.
 */
static bool refuse_as(struct call *call, unsigned status)
{
    struct error why = call->err;
    error_clear(&call->err);
    refuse(call, status, "%s", why.msg);
    return false;
}

/* Sets the tag and, when the client has that already, leaves the body out. True when it did. */
static bool unchanged(struct call *call, const struct hash *content)
{
    char hex[HASH_HEX];
    hash_format(content, hex);
    snprintf(call->response->tag, sizeof call->response->tag, "\"%s\"", hex);
    if (!http_tag_matches(call->request->if_none_match, call->response->tag))
        return false;
    free(call->response->owned);
    take_body(call, 304, NULL, NULL, 0);
    return true;
}

/* ---- parameters ---- */

static bool number_parameter(struct call *call, const char *name, uint64_t low, uint64_t high,
                             uint64_t *value)
{
    const char *text = http_parameter(&call->target, name);
    if (!text || text_number(text, low, high, value))
        return true;
    refuse(call, 400, "%s takes a number from %llu to %llu, not '%.60s'", name, (unsigned long long)low,
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
        return refuse_as(call, 400);
    for (size_t i = 0; i < call->target.parameter_count; i++) {
        bool known;
        if (!filter_set(filter, call->target.parameters[i].name, call->target.parameters[i].value, &known,
                        &call->err))
            return refuse_as(call, 400);
    }
    return filter_possible(filter, &call->err) || refuse_as(call, 400);
}

/* ---- lists ---- */

/* A page of a list: {"total", "offset", "limit", NAME: [...]}. Takes the reference. */
static bool answer_page(struct call *call, const char *name, json_t *rows, struct catalogue_window window,
                        uint64_t total)
{
    return answer_json(call, 200,
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

static bool list_resources(struct call *call)
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
            ok = json_array_append_new(rows, resource_row(&view)) == 0 || out_of_memory(call);
    }
    arena_free(&arena);
    if (ok)
        return answer_page(call, "resources", rows, window, total);
    json_decref(rows);
    return false;
}

static bool list_containers(struct call *call)
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
            ok = json_array_append_new(rows, json_of_container(&view)) == 0 || out_of_memory(call);
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
    return ok ? out_of_memory(call) : false;
}

static bool keep_finding(const struct view_finding *finding, void *ctx)
{
    return !wanted(ctx) || keep(ctx, json_of_finding(finding));
}

static bool list_findings(struct call *call)
{
    struct walk walk = {0};
    uint32_t kinds = 0;
    const char *list = http_parameter(&call->target, "kind");
    if (!window_parameters(call, &walk.window))
        return true;
    if (list && !filter_kinds(list, &kinds, &call->err))
        return !refuse_as(call, 400);
    walk.rows = json_array();
    return answer_walk(call, "findings", &walk,
                       view_findings(call->view.txn, kinds, keep_finding, &walk, &call->err));
}

static bool keep_run(const struct run_record *run, void *ctx)
{
    return !wanted(ctx) || keep(ctx, json_of_run(run));
}

static bool list_runs(struct call *call)
{
    struct walk walk = {0};
    if (!window_parameters(call, &walk.window))
        return true;
    walk.rows = json_array();
    return answer_walk(call, "runs", &walk, store_each_run(call->view.txn, keep_run, &walk, &call->err));
}

/* ---- one thing ---- */

/* The keys an address means. False when the call is at its end: answered, or call->err set. */
static bool look_up(struct call *call, const char *address, struct resource_key **keys, size_t *count)
{
    if (lookup_in_store(call->view.txn, address, &call->arena, keys, count, &call->err))
        return true;
    return call->err.code == ERROR_USAGE && refuse_as(call, 404);
}

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
        return answer_json(call, 300,
                           json_pack("{s:{s:i, s:s}, s:I, s:o}", "error", "status", 300, "message",
                                     "several resources answer to this; choose one", "total",
                                     (json_int_t)count, "choices", choices));
    json_decref(choices);
    return false;
}

static bool show_resource(struct call *call)
{
    struct resource_key *keys;
    size_t count;
    struct shown shown;
    if (!look_up(call, call->rest, &keys, &count))
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
    return answer_json(call, 200, object);
}

static bool show_coverage(struct call *call)
{
    struct view_container view;
    bool found;
    if (!view_container(call->view.txn, call->rest, &call->arena, &view, &found, &call->err))
        return false;
    if (!found)
        return refuse(call, 404, "the store has no container '%.200s'", call->rest);
    if (view.format != FORMAT_XPR2 || !view.record)
        return refuse(call, 404, "'%.200s' is no XPR2 container; only those have a coverage map", call->rest);
    struct container_record record = *view.record;
    return coverage_load(call->view.txn, &view.hash, &call->arena, &record, &call->err) &&
           answer_json(call, 200, json_of_coverage(&view, &record.container));
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
        return out_of_memory(call);
    if (address ? !look_up(call, address, &keys, &count)
                : !store_find_geometry(call->view.txn, geometry, &call->arena, &keys, &count, &call->err))
        return false;
    if (address && count > 1) {
        refuse(call, 400, "several resources answer to '%.200s'; name one", address);
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
    refuse(call, 400, "'%.200s' has another geometry", address);
    return false;
}

/* The tag of a file that is not written yet: a hash of all that goes into it. */
static bool tag_of_file(struct call *call, const struct hash *geometry, const struct described *of,
                        const json_t *extras)
{
    char *said = extras ? json_dumps(extras, JSON_PRINT) : strdup("");
    json_t *details = of->view ? json_of_details(&of->view->record->resource) : NULL;
    char *detailed = details ? json_dumps(details, JSON_PRINT) : strdup("");
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
        return out_of_memory(call);
    struct hash tag = hash_stream_finish(stream);
    unchanged(call, &tag);
    return true;
}

static bool write_glb(struct call *call, const struct export_item *item)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return out_of_memory(call);
    bool ok = export_write(EXPORT_GLB, item, 1, out, &call->err);
    if (fclose(out) != 0 && ok)
        ok = out_of_memory(call);
    if (ok)
        take_body(call, 200, "model/gltf-binary", bytes, size);
    else
        free(bytes);
    return ok;
}

static bool send_geometry(struct call *call)
{
    struct hash hash;
    char hex[HASH_HEX];
    struct described of;
    const struct mesh *mesh;
    bool found;
    if (strlen(call->rest) != HASH_HEX - 1 + strlen(".glb") || strcmp(call->rest + HASH_HEX - 1, ".glb") != 0)
        return refuse(call, 404, "a geometry is HASH.glb");
    memcpy(hex, call->rest, HASH_HEX - 1);
    hex[HASH_HEX - 1] = '\0';
    if (!hash_parse(hex, &hash))
        return refuse(call, 404, "'%s' is no hash of 32 hexadecimal digits", hex);
    if (!store_has_geometry(call->view.txn, &hash, &found, &call->err))
        return false;
    if (!found)
        return refuse(call, 404, "the store has no geometry %s", hex);
    if (!describe(call, &hash, &of))
        return call->err.code == ERROR_NONE;
    json_t *extras = of.view && !of.alternative ? json_of_resource(of.view) : NULL;
    bool ok = tag_of_file(call, &hash, &of, extras);
    if (ok && call->response->status != 304) {
        ok = geometry_load(call->view.txn, &hash, &call->arena, &mesh, &call->err);
        const struct view_resource *view = of.view      ? of.view
                                           : ok && mesh ? geometry_as_resource(&hash, mesh, hex, &call->arena)
                                                        : NULL;
        ok = ok && ((mesh && view) || out_of_memory(call)) &&
             write_glb(call, &(struct export_item){.resource = &view->record->resource,
                                                   .mesh = mesh,
                                                   .name = view->name,
                                                   .mirrored = of.mirrored,
                                                   .extras = extras});
    }
    json_decref(extras);
    return ok;
}

/* ---- the table ---- */

static bool list_endpoints(struct call *call);

static const struct endpoint endpoints[] = {
    {"/api", list_endpoints, false, false, "", "this list"},
    {"/api/resources", list_resources, true, true, "q sort offset limit", "resources that pass a filter"},
    {"/api/resource/", show_resource, false, false, "", "one resource, by its address or a name of its own"},
    {"/api/geometry/", send_geometry, false, false, "resource",
     "HASH.glb: a geometry as glTF, as a resource draws it"},
    {"/api/containers", list_containers, true, false, "q container offset limit", "containers by path"},
    {"/api/coverage/", show_coverage, false, false, "", "what the bytes of an XPR2 container are"},
    {"/api/findings", list_findings, false, false, "kind offset limit", "what does not fit together"},
    {"/api/runs", list_runs, false, false, "offset limit", "the runs that wrote the store"},
};
#define ENDPOINTS (sizeof endpoints / sizeof *endpoints)

static bool list_endpoints(struct call *call)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ENDPOINTS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "path", endpoints[i].path, "parameters",
                                              endpoints[i].parameters, "purpose", endpoints[i].purpose));
    return answer_json(call, 200, json_pack("{s:o}", "endpoints", list));
}

static const struct endpoint *find_endpoint(struct call *call)
{
    const char *path = call->target.path;
    for (size_t i = 0; i < ENDPOINTS; i++) {
        size_t length = strlen(endpoints[i].path);
        bool open = endpoints[i].path[length - 1] == '/';
        if (open ? strncmp(path, endpoints[i].path, length) == 0 && path[length]
                 : strcmp(path, endpoints[i].path) == 0) {
            call->rest = path + length;
            return &endpoints[i];
        }
    }
    return NULL;
}

static bool in_list(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; *list; list += strspn(list, " ")) {
        size_t next = strcspn(list, " ");
        if (next == length && strncmp(list, word, length) == 0)
            return true;
        list += next;
    }
    return false;
}

/* Every parameter is one that the endpoint knows: a condition that was misspelt must not look like one that
 * all pass. */
static bool parameters_known(struct call *call, const struct endpoint *endpoint)
{
    for (size_t i = 0; i < call->target.parameter_count; i++) {
        const char *name = call->target.parameters[i].name;
        if (in_list(endpoint->parameters, name) || (endpoint->filters && filter_knows(name)))
            continue;
        refuse(call, 400, "there is no parameter '%.60s' here", name);
        return false;
    }
    return true;
}

static bool answer(struct api *api, struct call *call)
{
    const struct api_request *request = call->request;
    if (!request->host || !http_host_is_ours(request->host, api->host))
        return refuse(
            call, 403,
            "this server is not called '%.100s'; use its address in digits, or start it with --host",
            request->host ? request->host : "");
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        return refuse(call, 405, "only GET and HEAD are served");
    if (request->has_body)
        return refuse(call, 413, "a request has no body here");
    if (strlen(request->target) > HTTP_TARGET_MOST)
        return refuse(call, 414, "a request target has at most %d bytes", HTTP_TARGET_MOST);
    if (!http_target_parse(request->target, &call->arena, &call->target, &call->err)) {
        return call->err.code != ERROR_NOMEM && !refuse_as(call, 400);
    }
    const struct endpoint *endpoint = find_endpoint(call);
    if (!endpoint)
        return refuse(call, 404, "there is nothing at '%.200s'; /api lists what there is", call->target.path);
    if (!parameters_known(call, endpoint))
        return call->err.code == ERROR_NONE;
    return served_begin(api->served, endpoint->listed, &call->view, &call->err) && endpoint->answer(call);
}

void api_answer(struct api *api, const struct api_request *request, struct api_response *response)
{
    static const char last_resort[] = "{\"error\":{\"status\":500,\"message\":\"out of memory\"}}";
    struct call call = {.request = request, .response = response};
    *response = (struct api_response){0};
    if (!answer(api, &call) || !response->status) {
        response->fault = call.err;
        response->tag[0] = '\0';
        error_clear(&call.err);
        if (!refuse(&call, 500, "%s", response->fault.msg)) {
            take_body(&call, 500, "application/json; charset=utf-8", NULL, 0);
            response->body = last_resort;
            response->size = sizeof last_resort - 1;
        }
    } else if (response->status == 200 && !response->tag[0]) {
        struct hash content = hash_bytes(response->body, response->size);
        unchanged(&call, &content);
    }
    served_end(api->served, &call.view);
    arena_free(&call.arena);
}

void api_response_free(struct api_response *response)
{
    free(response->owned);
    response->owned = NULL;
    response->body = NULL;
}

struct api *api_open(const char *path, const char *host, struct error *err)
{
    struct api *api = calloc(1, sizeof *api);
    if (!api || (host && !(api->host = strdup(host))))
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    else if ((api->served = served_open(path, err)))
        return api;
    api_close(api);
    return NULL;
}

void api_close(struct api *api)
{
    if (!api)
        return;
    served_close(api->served);
    free(api->host);
    free(api);
}
