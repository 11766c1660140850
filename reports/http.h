/* http.h - what a request says, before anything is done about it: its target, its host, its entity tags.
 *
 * Everything here comes from strangers. All functions are pure and may be called from any thread.
 */
#ifndef ANCHORAGE_HTTP_H
#define ANCHORAGE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/arena.h"
#include "formats/error.h"

#define HTTP_TARGET_MOST     8000 /* bytes of a request target; what is longer is answered with 414 */
#define HTTP_PARAMETERS_MOST 32

struct http_parameter {
    const char *name, *value;
};

/* A request target, taken apart first and percent-decoded then, once: an address that is itself full of %XX
 * arrives as it was. Strings are the arena's; they hold no NUL but their last byte. */
struct http_target {
    const char *path; /* begins with '/' */
    struct http_parameter parameters[HTTP_PARAMETERS_MOST];
    size_t parameter_count;
};

/* False with *err set (ERROR_MALFORMED, or ERROR_NOMEM) for a target that is no path, an escape that is none,
 * an escaped NUL, a parameter that occurs twice, or too many of them. In parameters '+' is a space. */
bool http_target_parse(const char *text, struct arena *arena, struct http_target *out, struct error *err);
/* The value of a parameter; NULL when it is not there. */
const char *http_parameter(const struct http_target *target, const char *name);

/* Whether a Host header may come from a page of this server: an address in digits, "localhost", or `name`
 * (which may be NULL), each with or without a port. A page of somebody else's whose name was made to point
 * here sends its own name ("DNS rebinding"); digits cannot be made to point anywhere. */
bool http_host_is_ours(const char *host, const char *name);

/* Whether an If-None-Match header names the entity tag (which comes with its quotes), or any by '*'. NULL:
 * no. */
bool http_tag_matches(const char *header, const char *tag);

#endif
