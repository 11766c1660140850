/* api_internal.h - what the files of the API share: a request on its way to a response. Nothing else includes
 * it. */
#ifndef ANCHORAGE_API_INTERNAL_H
#define ANCHORAGE_API_INTERNAL_H

#include "reports/api.h"
#include "reports/http.h"
#include "reports/served.h"

struct api {
    struct served *served;
    char *path, *host, *program;
};

struct call {
    const struct api *api;
    const struct api_request *request;
    struct http_target target;
    const char *rest; /* what the path has behind the endpoint's */
    struct served_view view;
    struct arena arena;
    struct api_response *response;
    struct error err; /* set while response->status is 0: the store's fault, or memory's */
};

/* An endpoint answers by setting the response. False with call->err set when it cannot: that becomes a 500.
 */

/* Takes the body, malloc'ed. */
void call_take(struct call *call, unsigned status, const char *type, void *body, size_t size);
/* A body that is part of the program. */
void call_give(struct call *call, const char *type, const void *body, size_t size);
/* Takes the reference; NULL is memory that ran out. */
bool call_json(struct call *call, unsigned status, json_t *value);
/* Takes the bytes of a buffer as a 200, and leaves it empty. */
bool call_buffer(struct call *call, const char *type, struct buffer *bytes);
/* {"error": {"status", "message"}}: the request's fault. */
bool call_refuse(struct call *call, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with what call->err says. Always false: the call is at its end. */
bool call_refuse_as(struct call *call, unsigned status);
/* Sets the tag and, when the client has that content already, answers that. True when it did. */
bool call_unchanged(struct call *call, const struct hash *content);
/* ERROR_NOMEM. Always false. */
bool call_nomem(struct call *call);
/* The keys an address means. False when the call is at its end: answered, or call->err set. */
bool call_look_up(struct call *call, const char *address, struct resource_key **keys, size_t *count);
/* The hash that a path ends with, HASH and `ending`, of a geometry that the store has. False when the call is
 * at its end. */
bool call_geometry(struct call *call, const char *ending, struct hash *geometry);

/* ---- api_json.c ---- */
bool answer_resources(struct call *call);
bool answer_resource(struct call *call);
bool answer_geometry(struct call *call);
bool answer_containers(struct call *call);
bool answer_coverage(struct call *call);
bool answer_findings(struct call *call);
bool answer_runs(struct call *call);

/* ---- api_pages.c ---- */
bool page_dashboard(struct call *call);
bool page_resource(struct call *call);
bool page_script(struct call *call);
bool page_style(struct call *call);
bool page_rows(struct call *call);
bool page_details(struct call *call);
bool page_thumb(struct call *call);
bool page_sheet(struct call *call);
bool page_metrics(struct call *call);
bool page_report(struct call *call);

#endif
