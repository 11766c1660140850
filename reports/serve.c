/* serve.c - see serve.h */
#include "reports/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/parallel.h"
#include "reports/text.h"

#define CONNECTIONS_MOST   256
#define CONNECTION_SECONDS 15                /* without a byte either way */
#define REQUEST_BYTES      (16 << 10)        /* of a request's first line and headers; beyond: 414, 431 */
#define THREADS_LEAST      4                 /* so that a long answer does not keep short ones waiting */
#define BODIES_MOST        ((size_t)1 << 30) /* bytes of all answers being sent; beyond: 503 */

struct server {
    struct api *api;
    struct MHD_Daemon *daemon;
    char url[80];
    bool local;
    atomic_size_t bodies;                            /* bytes being sent */
    char last_fault[sizeof((struct error *)0)->msg]; /* told last; guarded by stderr's lock */
};

/* ---- one exchange ---- */

/* The bytes of an answer, until the last of them is sent. */
struct body {
    struct server *server;
    struct api_response response;
};

static void free_body(void *ctx)
{
    struct body *body = ctx;
    atomic_fetch_sub(&body->server->bodies, body->response.size);
    api_response_free(&body->response);
    free(body);
}

/* A request from its first line on. */
struct exchange {
    bool headers_seen;
    char target[];
};

static void *begin_exchange(void *ctx, const char *target, struct MHD_Connection *connection)
{
    (void)ctx, (void)connection;
    struct exchange *exchange = malloc(sizeof *exchange + strlen(target) + 1);
    if (exchange) {
        exchange->headers_seen = false;
        strcpy(exchange->target, target);
    }
    return exchange;
}

static void end_exchange(void *ctx, struct MHD_Connection *connection, void **exchange,
                         enum MHD_RequestTerminationCode code)
{
    (void)ctx, (void)connection, (void)code;
    free(*exchange);
    *exchange = NULL;
}

/* The library would decode what api.h takes as it came. */
static size_t leave_escapes(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx, (void)connection;
    return strlen(text);
}

/* Who runs the server sees what clients were told, once as long as it stays the same. */
static void tell_fault(struct server *server, const struct error *fault)
{
    char safe[4 * sizeof fault->msg];
    flockfile(stderr);
    if (strcmp(server->last_fault, fault->msg) != 0) {
        memcpy(server->last_fault, fault->msg, sizeof server->last_fault);
        text_visible(fault->msg, safe, sizeof safe);
        fprintf(stderr, "anchorage: warning: %s\n", safe);
    }
    funlockfile(stderr);
}

/* How long an answer took: on the clock, and of this thread's processor time, which others on the machine
 * change less. */
struct took {
    double seconds, processor;
};

static void add_headers(struct MHD_Response *out, const struct api_response *response, struct took took)
{
    /* Pages load nothing from elsewhere and are framed nowhere; what a name from an archive contains is never
     * run. */
    static const char policy[] =
        "default-src 'none'; script-src 'self'%s; style-src 'self'%s; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-cache"}, /* kept, and asked for again with its tag */
    };
    char timing[64], allowed[sizeof policy + 40];
    /* The dashboard names the one script that may run in it by its hash; both policies hold. */
    const char *inside = response->self_contained ? " 'unsafe-inline'" : "";
    snprintf(allowed, sizeof allowed, policy, inside, inside);
    MHD_add_response_header(out, "Content-Security-Policy", allowed);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        MHD_add_response_header(out, always[i][0], always[i][1]);
    snprintf(timing, sizeof timing, "answer;dur=%.3f, cpu;dur=%.3f", took.seconds * 1e3,
             took.processor * 1e3);
    MHD_add_response_header(out, "Server-Timing", timing);
    if (response->type)
        MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, response->type);
    if (response->tag[0])
        MHD_add_response_header(out, MHD_HTTP_HEADER_ETAG, response->tag);
    if (response->status == 405)
        MHD_add_response_header(out, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (response->status == 503)
        MHD_add_response_header(out, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

static enum MHD_Result send_body(struct MHD_Connection *connection, struct body *body, struct took took)
{
    unsigned status = body->response.status;
    struct MHD_Response *out = MHD_create_response_from_buffer_with_free_callback_cls(
        body->response.size, (void *)(uintptr_t)body->response.body, free_body, body);
    if (!out) {
        free_body(body);
        return MHD_NO;
    }
    add_headers(out, &body->response, took);
    enum MHD_Result result = MHD_queue_response(connection, status, out);
    MHD_destroy_response(out);
    return result;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool announces_body(struct MHD_Connection *connection)
{
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length && strspn(length, "0") != strlen(length)) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Called when the headers are there, and again when the request is complete. An answer to the first call ends
 * the connection, so it is given only where a body would follow, which is then never read. */
static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    static const char busy[] =
        "{\"error\":{\"status\":503,\"message\":\"too much is being sent; try again\"}}";
    struct server *server = ctx;
    struct exchange *exchange = *state;
    bool has_body = announces_body(connection);
    (void)url, (void)version, (void)upload, (void)upload_size;
    if (exchange && !exchange->headers_seen && !has_body) {
        exchange->headers_seen = true;
        return MHD_YES;
    }
    struct body *body = exchange ? calloc(1, sizeof *body) : NULL;
    if (!body)
        return MHD_NO;
    const struct api_request request = {
        .method = method,
        .target = exchange->target,
        .host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
        .if_none_match =
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH),
        .has_body = has_body,
    };
    const struct took start = {seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_THREAD_CPUTIME_ID)};
    body->server = server;
    api_answer(server->api, &request, &body->response);
    if (body->response.fault.code != ERROR_NONE)
        tell_fault(server, &body->response.fault);
    if (atomic_fetch_add(&server->bodies, body->response.size) + body->response.size > BODIES_MOST) {
        atomic_fetch_sub(&server->bodies, body->response.size);
        api_response_free(&body->response);
        body->response = (struct api_response){
            .status = 503, .type = "application/json; charset=utf-8", .body = busy, .size = sizeof busy - 1};
        atomic_fetch_add(&server->bodies, body->response.size);
    }
    return send_body(connection, body,
                     (struct took){seconds_of(CLOCK_MONOTONIC) - start.seconds,
                                   seconds_of(CLOCK_THREAD_CPUTIME_ID) - start.processor});
}

/* ---- listening ---- */

/* "ADDRESS:PORT" to a socket address. */
static bool parse_listen(const char *text, struct sockaddr_storage *address, socklen_t *length,
                         struct error *err)
{
    char host[64];
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    uint64_t port;
    const char *colon = strrchr(text, ':');
    bool bracket = text[0] == '[';
    size_t size = colon ? (size_t)(colon - text) : 0;
    bool ok = size > (bracket ? 2u : 0u) && size < sizeof host && (!bracket || colon[-1] == ']') &&
              text_number(colon + 1, 0, 65535, &port);
    if (ok) {
        snprintf(host, sizeof host, "%.*s", (int)size - 2 * bracket, text + bracket);
        ok = getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, colon + 1, &hints, &found) == 0;
    }
    if (!ok)
        return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                         "'%.100s' is no ADDRESS:PORT such as 127.0.0.1:8765 or [::1]:8765", text);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* Sets the url and whether it is local from the address that the socket got. */
static bool name_server(struct server *server, int fd)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    char host[INET6_ADDRSTRLEN], port[8];
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0 ||
        getnameinfo((struct sockaddr *)&bound, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    bool six = bound.ss_family == AF_INET6;
    snprintf(server->url, sizeof server->url, "http://%s%s%s:%s/", six ? "[" : "", host, six ? "]" : "",
             port);
    server->local = six ? IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&bound)->sin6_addr)
                        : ntohl(((struct sockaddr_in *)&bound)->sin_addr.s_addr) >> 24 == 127;
    return true;
}

static int open_socket(struct server *server, const char *listen_at, struct error *err)
{
    struct sockaddr_storage address;
    socklen_t length = 0;
    const int on = 1;
    if (!parse_listen(listen_at, &address, &length, err))
        return -1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0 &&
        name_server(server, fd))
        return fd;
    error_set_system(err, ERROR_IO, errno, "cannot listen at %s", listen_at);
    if (fd >= 0)
        close(fd);
    return -1;
}

struct server *serve_start(struct api *api, const char *listen_at, struct error *err)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        return NULL;
    }
    server->api = api;
    int fd = open_socket(server, listen_at, err);
    int threads = par_default_threads();
    if (fd >= 0)
        server->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | (server->url[7] == '[' ? MHD_USE_IPv6 : 0), 0,
            NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
            (unsigned)(threads > THREADS_LEAST ? threads : THREADS_LEAST), MHD_OPTION_CONNECTION_LIMIT,
            (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_SECONDS,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
            begin_exchange, NULL, MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL,
            MHD_OPTION_NOTIFY_COMPLETED, end_exchange, NULL, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (server->daemon)
        return server;
    if (fd >= 0) {
        error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot serve at %s", listen_at);
        close(fd);
    }
    free(server);
    return NULL;
}

const char *serve_url(const struct server *server)
{
    return server->url;
}

bool serve_is_local(const struct server *server)
{
    return server->local;
}

void serve_stop(struct server *server)
{
    if (!server)
        return;
    MHD_stop_daemon(server->daemon);
    free(server);
}
