/* serve.h - an HTTP server in front of api.h. The one file that knows libmicrohttpd is serve.c.
 */
#ifndef ANCHORAGE_SERVE_H
#define ANCHORAGE_SERVE_H

#include "reports/api.h"

struct server;

#define SERVE_LISTEN_DEFAULT "127.0.0.1:8765"

/* Listens at "ADDRESS:PORT" (an address in digits, an IPv6 one in brackets, or "localhost"; port 0: any that
 * is free) and answers in threads of its own. The api must outlive it. NULL with *err set (ERROR_USAGE for an
 * address that is none, ERROR_IO, ERROR_NOMEM). */
struct server *serve_start(struct api *api, const char *listen, struct error *err);
/* "http://127.0.0.1:8765/", with the port that was bound. */
const char *serve_url(const struct server *server);
/* Whether only this machine can reach it. */
bool serve_is_local(const struct server *server);
/* Ends connections and waits for answers in the making. NULL is legal. */
void serve_stop(struct server *server);

#endif
