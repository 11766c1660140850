/* api.c - see api.h. The table of what there is, and what every answer goes through. */
#include "pipeline/json_whole.h"
#include "reports/api_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/lookup.h"
#include "reports/filter.h"

enum endpoint_needs {
    LISTED = 1,  /* the catalogue */
    FILTERS = 2, /* takes what filter_set takes, too */
};

struct endpoint {
    const char *path; /* with a '/' at its end something follows, but for "/" itself */
    bool (*answer)(struct call *call);
    unsigned needs;         /* enum endpoint_needs */
    const char *parameters; /* separated by spaces */
    const char *purpose;
};

/* ---- answering ---- */

bool call_nomem(struct call *call)
{
    return error_set(&call->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

void call_take(struct call *call, unsigned status, const char *type, void *body, size_t size)
{
    call->response->status = status;
    call->response->type = type;
    call->response->owned = body;
    call->response->body = body;
    call->response->size = size;
}

bool call_json(struct call *call, unsigned status, json_t *value)
{
    char *text = value ? json_whole_text(value, JSON_PRINT) : NULL;
    json_decref(value);
    if (!text)
        return call_nomem(call);
    call_take(call, status, "application/json; charset=utf-8", text, strlen(text));
    return true;
}

void call_give(struct call *call, const char *type, const void *body, size_t size)
{
    call_take(call, 200, type, NULL, size);
    call->response->body = body;
}

bool call_buffer(struct call *call, const char *type, struct buffer *bytes)
{
    if (bytes->failed || !bytes->data) {
        buffer_free(bytes);
        return call_nomem(call);
    }
    call_take(call, 200, type, bytes->data, bytes->size);
    *bytes = (struct buffer){0};
    return true;
}

bool call_refuse(struct call *call, unsigned status, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return call_json(
        call, status,
        json_pack("{s:{s:i, s:o}}", "error", "status", (int)status, "message", json_of_bytes(message)));
}

bool call_refuse_as(struct call *call, unsigned status)
{
    struct error why = call->err;
    error_clear(&call->err);
    call_refuse(call, status, "%s", why.msg);
    return false;
}

bool call_unchanged(struct call *call, const struct hash *content)
{
    char hex[HASH_HEX];
    hash_format(content, hex);
    snprintf(call->response->tag, sizeof call->response->tag, "\"%s\"", hex);
    if (!http_tag_matches(call->request->if_none_match, call->response->tag))
        return false;
    free(call->response->owned);
    call_take(call, 304, NULL, NULL, 0);
    return true;
}

/* ---- what a path names ---- */

bool call_look_up(struct call *call, const char *address, struct resource_key **keys, size_t *count)
{
    if (lookup_in_store(call->view.txn, address, &call->arena, keys, count, &call->err))
        return true;
    return call->err.code == ERROR_USAGE && call_refuse_as(call, 404);
}

bool call_geometry(struct call *call, const char *ending, struct hash *geometry)
{
    char hex[HASH_HEX];
    bool found = false;
    if (strlen(call->rest) != HASH_HEX - 1 + strlen(ending) ||
        strcmp(call->rest + HASH_HEX - 1, ending) != 0) {
        call_refuse(call, 404, "a geometry is its hash and '%s'", ending);
        return false;
    }
    memcpy(hex, call->rest, HASH_HEX - 1);
    hex[HASH_HEX - 1] = '\0';
    if (!hash_parse(hex, geometry)) {
        call_refuse(call, 404, "'%s' is no hash of 32 hexadecimal digits", hex);
        return false;
    }
    if (!store_has_geometry(call->view.txn, geometry, &found, &call->err))
        return false;
    if (!found)
        call_refuse(call, 404, "the store has no geometry %s", hex);
    return found;
}

/* ---- the table ---- */

static bool list_endpoints(struct call *call);

static const struct endpoint endpoints[] = {
    {"/api", list_endpoints, 0, "", "this list"},
    {"/api/resources", answer_resources, LISTED | FILTERS, "q sort offset limit",
     "resources that pass a filter"},
    {"/api/resource/", answer_resource, 0, "", "one resource, by its address or a name of its own"},
    {"/api/geometry/", answer_geometry, 0, "resource",
     "HASH.glb: a geometry as glTF, as a resource draws it"},
    {"/api/containers", answer_containers, LISTED, "q container offset limit", "containers by path"},
    {"/api/coverage/", answer_coverage, 0, "", "what the bytes of an XPR2 container are"},
    {"/api/findings", answer_findings, 0, "kind offset limit", "what does not fit together"},
    {"/api/runs", answer_runs, 0, "offset limit", "the runs that wrote the store"},
    {"/api/page", page_rows, LISTED, "", "what the dashboard shows"},
    {"/api/detail/", page_details, 0, "", "what the dashboard shows of one resource"},
    {"/", page_dashboard, 0, "", "the dashboard"},
    {"/index.html", page_dashboard, 0, "", "the same, as the sheets link to it"},
    {"/sheet.html", page_sheet, 0, "", "cast sheets: a picture of every resource, by container"},
    {"/report.json", page_report, 0, "", "all of a report, for programs"},
    {"/metrics", page_metrics, 0, "", "figures for Prometheus"},
    {"/resource/", page_resource, 0, "", "one resource, for people"},
    {"/thumbs/", page_thumb, 0, "", "HASH.png: a picture of a geometry"},
    {"/assets/resource.js", page_script, 0, "", "of the page of a resource"},
    {"/assets/resource.css", page_style, 0, "", "of the page of a resource"},
};
#define ENDPOINTS (sizeof endpoints / sizeof *endpoints)

static bool list_endpoints(struct call *call)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ENDPOINTS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "path", endpoints[i].path, "parameters",
                                              endpoints[i].parameters, "purpose", endpoints[i].purpose));
    return call_json(call, 200, json_pack("{s:o}", "endpoints", list));
}

static const struct endpoint *find_endpoint(struct call *call)
{
    const char *path = call->target.path;
    for (size_t i = 0; i < ENDPOINTS; i++) {
        size_t length = strlen(endpoints[i].path);
        bool open = length > 1 && endpoints[i].path[length - 1] == '/';
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
        if (in_list(endpoint->parameters, name) || (endpoint->needs & FILTERS && filter_knows(name)))
            continue;
        call_refuse(call, 400, "there is no parameter '%.60s' here", name);
        return false;
    }
    return true;
}

static bool answer(struct api *api, struct call *call)
{
    const struct api_request *request = call->request;
    if (!request->host || !http_host_is_ours(request->host, api->host))
        return call_refuse(
            call, 403,
            "this server is not called '%.100s'; use its address in digits, or start it with --host",
            request->host ? request->host : "");
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        return call_refuse(call, 405, "only GET and HEAD are served");
    if (request->has_body)
        return call_refuse(call, 413, "a request has no body here");
    if (strlen(request->target) > HTTP_TARGET_MOST)
        return call_refuse(call, 414, "a request target has at most %d bytes", HTTP_TARGET_MOST);
    if (!http_target_parse(request->target, &call->arena, &call->target, &call->err)) {
        return call->err.code != ERROR_NOMEM && !call_refuse_as(call, 400);
    }
    const struct endpoint *endpoint = find_endpoint(call);
    if (!endpoint)
        return call_refuse(call, 404, "there is nothing at '%.200s'; /api lists what there is",
                           call->target.path);
    if (!parameters_known(call, endpoint))
        return call->err.code == ERROR_NONE;
    return served_begin(api->served, endpoint->needs & LISTED, &call->view, &call->err) &&
           endpoint->answer(call);
}

void api_answer(struct api *api, const struct api_request *request, struct api_response *response)
{
    static const char last_resort[] = "{\"error\":{\"status\":500,\"message\":\"out of memory\"}}";
    struct call call = {.api = api, .request = request, .response = response};
    *response = (struct api_response){0};
    if (!answer(api, &call) || !response->status) {
        response->fault = call.err;
        response->tag[0] = '\0';
        response->self_contained = false;
        error_clear(&call.err);
        if (!call_refuse(&call, 500, "%s", response->fault.msg)) {
            call_take(&call, 500, "application/json; charset=utf-8", NULL, 0);
            response->body = last_resort;
            response->size = sizeof last_resort - 1;
        }
    } else if (response->status == 200 && !response->tag[0]) {
        struct hash content = hash_bytes(response->body, response->size);
        call_unchanged(&call, &content);
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

struct api *api_open(const struct api_options *options, struct error *err)
{
    struct api *api = calloc(1, sizeof *api);
    if (!api || !(api->path = strdup(options->store_path)) || !(api->program = strdup(options->program)) ||
        (options->host && !(api->host = strdup(options->host))))
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    else if ((api->served = served_open(options->store_path, err)))
        return api;
    api_close(api);
    return NULL;
}

void api_close(struct api *api)
{
    if (!api)
        return;
    served_close(api->served);
    free(api->path);
    free(api->program);
    free(api->host);
    free(api);
}
