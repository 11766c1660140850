/* api.h - what a server answers: a request in, a response out. docs/serve.md has the addresses and the JSON.
 *
 * Nothing here knows sockets, and no path of a request reaches the file system: paths name what the store
 * holds, or files that are part of the program. Whatever the request, an answer comes back; what goes wrong
 * is one, too.
 */
#ifndef ANCHORAGE_API_H
#define ANCHORAGE_API_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/error.h"
#include "store/key.h"

struct api;

struct api_options {
    const char *store_path;
    const char *program; /* the program's version */
    const char
        *host; /* a name, beside digits and "localhost", under which clients may call (http.h); NULL: none */
};

/* NULL with *err set when the store cannot be opened. */
struct api *api_open(const struct api_options *options, struct error *err);
void api_close(struct api *api); /* NULL is legal; no answer may be in the making */

struct api_request {
    const char *method;               /* "GET" */
    const char *target;               /* path and query as they came, percent-encoded */
    const char *host, *if_none_match; /* headers; NULL: not there */
    bool has_body;
};

struct api_response {
    unsigned status;
    const char *type;       /* of the body, for Content-Type; NULL without one */
    char tag[HASH_HEX + 2]; /* entity tag with its quotes; empty: none */
    bool self_contained;    /* an HTML page with script and style inside, which its policy must allow */
    const void *body;
    size_t size;
    void *owned;        /* what api_response_free frees: the body, or NULL */
    struct error fault; /* of a 500: what went wrong, for who runs the server */
};

/* Answers; any thread. The response is to be freed by api_response_free. A HEAD is answered with the body of
 * the GET, which is then not sent. */
void api_answer(struct api *api, const struct api_request *request, struct api_response *response);
void api_response_free(struct api_response *response);

#endif
