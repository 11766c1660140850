/* test_serve.c - the server: what requests mean, what is answered, and who cannot disturb it.
 *
 * Answers are judged through api.h where no socket is needed; clients that no HTTP library would write are
 * raw sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "reports/api.h"
#include "reports/http.h"
#include "reports/serve.h"
#include "tests/support/store_fixture.h"

/* ---- http.h ---- */

static void a_target_is_decoded_once(void **state)
{
    struct arena arena = {0};
    struct error err = {0};
    struct http_target target;
    (void)state;
    assert_true(http_target_parse("/api/resource/a%2521b%23e%2B+%C3%A9?q=x+y%2B%26&limit=3&empty=&bare",
                                  &arena, &target, &err));
    assert_string_equal(target.path,
                        "/api/resource/a%21b#e++\xC3\xA9"); /* '+' is a space in parameters only */
    assert_int_equal(target.parameter_count, 4);
    assert_string_equal(http_parameter(&target, "q"), "x y+&");
    assert_string_equal(http_parameter(&target, "limit"), "3");
    assert_string_equal(http_parameter(&target, "empty"), "");
    assert_string_equal(http_parameter(&target, "bare"), "");
    assert_null(http_parameter(&target, "Q"));
    arena_free(&arena);
}

static void a_bad_target_is_refused(void **state)
{
    static const char *const targets[] = {
        "",           /* no path */
        "*",          /* of OPTIONS */
        "http://a/",  /* of proxies */
        "/%",         /* an escape that ends early */
        "/%2",        /* likewise */
        "/%g0",       /* no digit */
        "/%00",       /* a NUL would end the path early */
        "/?a=%",      /* in a value */
        "/?%zz=1",    /* in a name */
        "/?a=1&a=2",  /* which one counts? */
        "/?a=1&%61=2" /* the same once decoded */
    };
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct arena arena = {0};
        struct error err = {0};
        struct http_target target;
        assert_false(http_target_parse(targets[i], &arena, &target, &err));
        assert_int_equal(err.code, ERROR_MALFORMED);
        arena_free(&arena);
    }
}

static void a_foreign_host_is_refused(void **state)
{
    static const char *const ours[] = {"127.0.0.1",  "127.0.0.1:8765", "localhost", "LocalHost:1", "[::1]:80",
                                       "[fe80::12]", "10.1.2.3:65535", "farm.lan",  "FARM.LAN:80"};
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "evil.example:8765",
                                          "127.0.0.1.evil.example",
                                          "localhost.",
                                          "127.0.0.1:80:80",
                                          "[::1",
                                          "[evil]",
                                          "::1",
                                          "localhost:evil",
                                          "[::1]evil",
                                          "127.0.0.1@evil",
                                          "farm.lan.x",
                                          "localhost:80 evil"};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(http_host_is_ours(ours[i], "farm.lan"));
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_false(http_host_is_ours(foreign[i], "farm.lan"));
    assert_false(http_host_is_ours("farm.lan", NULL));
}

static void tags_match_as_in_the_standard(void **state)
{
    (void)state;
    assert_true(http_tag_matches("\"abc\"", "\"abc\""));
    assert_true(http_tag_matches("*", "\"abc\""));
    assert_true(http_tag_matches("W/\"abc\"", "\"abc\""));
    assert_true(http_tag_matches("\"x,y\" , \"abc\"", "\"abc\""));
    assert_false(http_tag_matches(NULL, "\"abc\""));
    assert_false(http_tag_matches("", "\"abc\""));
    assert_false(http_tag_matches("abc", "\"abc\""));
    assert_false(http_tag_matches("\"abcd\", \"ab", "\"abc\""));
}

/* ---- api.h ---- */

static struct api *open_api(void)
{
    struct error err = {0};
    struct api *api = api_open(&(struct api_options){fixture_path, "test", NULL}, &err);
    if (!api)
        fail_msg("%s", err.msg);
    return api;
}

static void fill(const struct item *items, size_t count)
{
    struct store *store = fixture_open(STORE_CREATE);
    fixture_put(store, items, count);
    store_close(store);
}

/* Asks for a target; the body as JSON (NULL when it is none), which the caller gives back. */
static json_t *ask(struct api *api, const char *target, unsigned *status)
{
    const struct api_request request = {.method = "GET", .target = target, .host = "127.0.0.1"};
    struct api_response response;
    api_answer(api, &request, &response);
    json_t *json = response.size ? json_loadb(response.body, response.size, 0, NULL) : NULL;
    *status = response.status;
    api_response_free(&response);
    return json;
}

/* The status of an answer, whose error object, where it is one, must say the same. */
static unsigned status_of(struct api *api, const char *target)
{
    unsigned status;
    json_t *json = ask(api, target, &status);
    const json_t *error = json_object_get(json, "error");
    if (status >= 400) {
        assert_int_equal(json_integer_value(json_object_get(error, "status")), status);
        assert_true(json_string_length(json_object_get(error, "message")) > 5);
    }
    json_decref(json);
    return status;
}

static json_int_t total_of(struct api *api, const char *target)
{
    unsigned status;
    json_t *json = ask(api, target, &status);
    assert_int_equal(status, 200);
    json_int_t total = json_integer_value(json_object_get(json, "total"));
    json_decref(json);
    return total;
}

static void lists_are_filtered_sorted_and_paged(void **state)
{
    unsigned status;
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    assert_int_equal(total_of(api, "/api/resources"), 3); /* two of the four places are one content */
    assert_int_equal(total_of(api, "/api/resources?q=CAL"), 1);
    assert_int_equal(total_of(api, "/api/resources?q=zip+ST"), 1); /* both words, in name or address */
    assert_int_equal(total_of(api, "/api/resources?q=%20"), 3);
    assert_int_equal(total_of(api, "/api/resources?q=x.xpr%230"), 1);
    assert_int_equal(total_of(api, "/api/resources?name=e*"), 1);
    assert_int_equal(total_of(api, "/api/resources?name=E*"), 0); /* globs mind the case */
    assert_int_equal(total_of(api, "/api/resources?container=*7z*"), 1);
    assert_int_equal(total_of(api, "/api/resources?status=declined,ambiguous"), 0);
    assert_int_equal(total_of(api, "/api/resources?format=bgf"), 2);
    assert_int_equal(total_of(api, "/api/containers"), 3);
    assert_int_equal(total_of(api, "/api/containers?q=stage"), 1);
    assert_int_equal(total_of(api, "/api/findings"), 0);
    assert_int_equal(total_of(api, "/api/runs"), 0);
    json_t *json = ask(api, "/api/resources?sort=-name&limit=1&offset=1", &status);
    const json_t *row = json_array_get(json_object_get(json, "resources"), 0);
    assert_int_equal(json_integer_value(json_object_get(json, "total")), 3);
    assert_int_equal(json_array_size(json_object_get(json, "resources")), 1);
    assert_string_equal(json_string_value(json_object_get(row, "name")), "STAGE"); /* e003, STAGE, CAL */
    json_decref(json);
    assert_int_equal(total_of(api, "/api/resources?offset=99&limit=0"), 3);
    api_close(api);
}

static void an_address_with_escapes_arrives_whole(void **state)
{
    static const struct item item = {"a%21.zip!b%23.xpr", NULL, NULL, "e%", 7, 1, 100};
    (void)state;
    fill(&item, 1);
    struct api *api = open_api();
    assert_int_equal(status_of(api, "/api/resource/a%2521.zip!b%2523.xpr%230"), 200);
    assert_int_equal(status_of(api, "/api/resource/a%2521.zip%21b%2523.xpr%23e%25"), 200);
    assert_int_equal(status_of(api, "/api/resource/a%2521.zip!b%2523.xpr%231"), 404);
    /* Decoded twice this would be found. */
    assert_int_equal(status_of(api, "/api/resource/a%252521.zip!b%2523.xpr%230"), 404);
    api_close(api);
}

static void pages_have_their_types(void **state)
{
    static const struct {
        const char *target, *type;
        bool self_contained;
    } cases[] = {
        {"/", "text/html", true},
        {"/index.html", "text/html", true},
        {"/sheet.html", "text/html", true},
        {"/resource/anything%20at%20all", "text/html", false}, /* its script looks it up */
        {"/api/page", "application/json", false},
        {"/api/detail/a.zip!CAL.BGF%230", "application/json", false},
        {"/report.json", "application/json", false},
        {"/metrics", "text/plain", false},
        {"/assets/resource.js", "text/javascript", false},
        {"/assets/resource.css", "text/css", false},
    };
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct api_request request = {.method = "GET", .target = cases[i].target, .host = "localhost"};
        struct api_response response;
        api_answer(api, &request, &response);
        if (response.status != 200 || strncmp(response.type, cases[i].type, strlen(cases[i].type)) != 0 ||
            response.self_contained != cases[i].self_contained)
            fail_msg("%s: %u, %s", cases[i].target, response.status, response.fault.msg);
        api_response_free(&response);
    }
    assert_int_equal(status_of(api, "/assets/../api"), 404);
    assert_int_equal(status_of(api, "/thumbs/00000000000000000000000000000000.png"), 404);
    assert_int_equal(status_of(api, "/api/detail/nobody"), 404);
    api_close(api);
}

static void bad_requests_are_told_apart(void **state)
{
    static const struct {
        const char *target;
        unsigned status;
    } cases[] = {
        {"/api", 200},
        {"/api/", 404},
        {"/api/nothing", 404},
        {"/api/resource/", 404},
        {"/api/resource/nobody", 404},
        {"/../../etc/passwd", 404},
        {"/api/geometry/../../../etc/passwd", 404},
        {"/api/geometry/00000000000000000000000000000000.glb", 404},
        {"/api/geometry/0123.glb", 404},
        {"/api/geometry/zz000000000000000000000000000000.glb", 404},
        {"/api/coverage/a.zip!CAL.BGF", 404}, /* no XPR2 */
        {"/api/resources?limit=-1", 400},
        {"/api/resources?limit=1001", 400},
        {"/api/resources?limit=", 400},
        {"/api/resources?offset=x", 400},
        {"/api/resources?sort=beauty", 400},
        {"/api/resources?sort=", 400},
        {"/api/resources?status=decoded,", 200}, /* as on the command line */
        {"/api/resources?status=good", 400},
        {"/api/resources?min-triangles=9&max-triangles=3", 400}, /* nothing can pass */
        {"/api/resources?statu=decoded", 400},                   /* misspelt: not ignored */
        {"/api/runs?q=x", 400},                                  /* known elsewhere */
        {"/api/findings?kind=none", 400},
        {"/api/resources?q=%ff", 200}, /* any bytes may be looked for */
        {"/api/resource/%ff%fe%3Cscript%3E", 404},
    };
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (status_of(api, cases[i].target) != cases[i].status)
            fail_msg("%s: %u, not %u", cases[i].target, status_of(api, cases[i].target), cases[i].status);
    char target[HTTP_TARGET_MOST + 8];
    memset(target, 'a', sizeof target);
    target[0] = '/';
    target[HTTP_TARGET_MOST + 1] = '\0';
    assert_int_equal(status_of(api, target), 414);
    target[HTTP_TARGET_MOST] = '\0';
    assert_int_equal(status_of(api, target), 404);
    api_close(api);
}

static unsigned status_with(struct api *api, const struct api_request *request)
{
    struct api_response response;
    api_answer(api, request, &response);
    unsigned status = response.status;
    api_response_free(&response);
    return status;
}

static void methods_hosts_and_bodies(void **state)
{
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    assert_int_equal(status_with(api, &(struct api_request){"HEAD", "/api", "localhost:1", NULL, false}),
                     200);
    assert_int_equal(status_with(api, &(struct api_request){"POST", "/api", "localhost", NULL, false}), 405);
    assert_int_equal(status_with(api, &(struct api_request){"get", "/api", "localhost", NULL, false}), 405);
    assert_int_equal(status_with(api, &(struct api_request){"GET", "/api", "localhost", NULL, true}), 413);
    assert_int_equal(status_with(api, &(struct api_request){"GET", "/api", "evil.example", NULL, false}),
                     403);
    assert_int_equal(status_with(api, &(struct api_request){"GET", "/api", NULL, NULL, false}), 403);
    api_close(api);
}

static void a_tag_is_of_the_content(void **state)
{
    static const struct item more = {"more.bgf", NULL, "more", NULL, 9, 2, 100};
    struct api_response first, second;
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    struct api_request request = {"GET", "/api/resources", "localhost", NULL, false};
    api_answer(api, &request, &first);
    request.if_none_match = first.tag;
    api_answer(api, &request, &second);
    assert_int_equal(second.status, 304);
    assert_int_equal(second.size, 0);
    assert_string_equal(second.tag, first.tag);
    api_response_free(&second);
    api_close(api); /* a process opens a store once: the writer's turn */
    fill(&more, 1);
    api = open_api();
    api_answer(api, &request, &second);
    assert_int_equal(second.status, 200);
    assert_string_not_equal(second.tag, first.tag);
    api_response_free(&first);
    api_response_free(&second);
    api_close(api);
}

/* ---- a store that suffers while it is served ---- */

static bool spoil_resource(struct store_txn *txn, void *ctx, struct error *err)
{
    struct resource_key key = {fixture_content(*(unsigned *)ctx), 0};
    uint8_t bytes[RESOURCE_KEY_SIZE];
    resource_key_write(bytes, &key);
    MDB_val k = {sizeof bytes, bytes}, old, fresh;
    if (mdb_get(txn->txn, txn->store->dbi[DB_RESOURCES], &k, &old) != MDB_SUCCESS)
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "nothing to spoil");
    uint8_t *copy = malloc(old.mv_size);
    memcpy(copy, old.mv_data, old.mv_size);
    copy[old.mv_size / 2] ^= 1;
    fresh = (MDB_val){old.mv_size, copy};
    mdb_put(txn->txn, txn->store->dbi[DB_RESOURCES], &k, &fresh, 0);
    free(copy);
    return true;
}

static void a_damaged_value_is_an_error_of_what_needs_it(void **state)
{
    unsigned content = 2;
    struct error err = {0};
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct store *store = fixture_open(STORE_WRITE);
    assert_true(store_update(store, spoil_resource, &content, &err));
    store_close(store);
    struct api *api = open_api();
    assert_int_equal(status_of(api, "/api/resource/a.zip!in.7z!x.xpr%230"), 500);
    assert_int_equal(status_of(api, "/api/resources"), 500); /* a list that leaves it out would be a lie */
    assert_int_equal(status_of(api, "/api/resource/a.zip!CAL.BGF%230"), 200);
    assert_int_equal(status_of(api, "/api/runs"), 200);
    api_close(api);
}

static void a_store_that_goes_and_comes(void **state)
{
    char away[128], data[128], command[512];
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    assert_int_equal(total_of(api, "/api/resources"), 3);
    snprintf(away, sizeof away, "%s.away", fixture_path);
    assert_int_equal(rename(fixture_path, away), 0);
    assert_int_equal(status_of(api, "/api/resources"), 500);
    assert_int_equal(status_of(api, "/api"), 500);
    fill(fixture_sample, 1); /* another store under the same path */
    assert_int_equal(total_of(api, "/api/resources"), 1);
    snprintf(command, sizeof command, "rm -r %s && mv %s %s", fixture_path, away, fixture_path);
    assert_int_equal(system(command), 0);
    assert_int_equal(total_of(api, "/api/resources"), 3);
    /* A file that is cut short is not looked into: that would be a SIGBUS. */
    snprintf(data, sizeof data, "%s/data.mdb", fixture_path);
    assert_int_equal(truncate(data, 4096), 0);
    assert_int_equal(status_of(api, "/api/resources"), 500);
    assert_int_equal(status_of(api, "/api/resource/a.zip!CAL.BGF%230"), 500);
    api_close(api);
}

/* ---- serve.h ---- */

static struct server *start(struct api *api, int *port)
{
    struct error err = {0};
    struct server *server = serve_start(api, "127.0.0.1:0", &err);
    if (!server)
        fail_msg("%s", err.msg);
    assert_int_equal(sscanf(serve_url(server), "http://127.0.0.1:%d/", port), 1);
    assert_true(serve_is_local(server));
    return server;
}

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct timeval patience = {20, 0};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Sends the bytes and half-closes; all that comes back, NUL-terminated and cut to fit. The length of it. */
static size_t exchange(int port, const char *bytes, size_t size, char *out, size_t room)
{
    int fd = dial(port);
    assert_true(fd >= 0);
    size_t used = 0;
    ssize_t got;
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break; /* it has heard enough */
        sent += (size_t)n;
    }
    shutdown(fd, SHUT_WR);
    while (used + 1 < room && (got = recv(fd, out + used, room - used - 1, 0)) > 0)
        used += (size_t)got;
    out[used] = '\0';
    close(fd);
    return used;
}

static void garbage_costs_only_its_connection(void **state)
{
    static char large[200000], answer[65536];
    static const char *const garbage[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /api\r\n\r\n",                                                   /* no version */
        "GET /api HTTP/9.9\r\nHost: localhost\r\n\r\n",                       /* another one */
        "GET /api HTTP/1.1\r\n\r\n",                                          /* no host */
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",                       /* TLS */
        "GET /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", /* less than nothing */
        "GET /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999999999999999\r\n\r\n",
        "GET /api HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
        "GET /api HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET http://localhost/api HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /api HTTP/1.1\r\nHo", /* half a request */
        "G",
    };
    int port;
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    struct server *server = start(api, &port);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        size_t got = exchange(port, garbage[i], strlen(garbage[i]), answer, sizeof answer);
        /* No answer at all, or one that is no success. */
        if (got && (strncmp(answer, "HTTP/1.", 7) != 0 || answer[9] == '2'))
            fail_msg("%s\n%s", garbage[i], answer);
    }
    memset(large, 'a', sizeof large);
    memcpy(large, "GET /", 5);
    exchange(port, large, sizeof large, answer, sizeof answer); /* a target without an end */
    assert_true(!*answer || strstr(answer, " 414 ") || strstr(answer, " 431 "));
    size_t head = (size_t)sprintf(large, "GET /api HTTP/1.1\r\nHost: localhost\r\nX: ");
    large[head] = 'a';
    exchange(port, large, sizeof large, answer, sizeof answer); /* a header without an end */
    assert_true(!*answer || strstr(answer, " 431 "));
    int held[100]; /* half a request each, and never the rest: others are answered meanwhile */
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        held[i] = dial(port);
        assert_true(held[i] >= 0 && send(held[i], "GET /api HTTP/1.1\r\nHo", 21, MSG_NOSIGNAL) == 21);
    }
    const char *good = "GET /api/resources?limit=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    exchange(port, good, strlen(good), answer, sizeof answer);
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(answer, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(answer, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(answer, "\"total\":3"));
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        close(held[i]);
    const char *post = "DELETE /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    exchange(port, post, strlen(post), answer, sizeof answer);
    assert_non_null(strstr(answer, " 405 "));
    assert_non_null(strstr(answer, "Allow: GET, HEAD"));
    const char *head_only = "HEAD /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    exchange(port, head_only, strlen(head_only), answer, sizeof answer);
    assert_non_null(strstr(answer, " 200 "));
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
    serve_stop(server);
    api_close(api);
}

#define CLIENTS  64
#define REQUESTS 12

static int many_port;
static atomic_int many_good;

/* One connection, kept: requests one after the other. */
static void *one_of_many(void *ctx)
{
    static const char *const targets[] = {"/api/resources?q=cal&sort=-triangles",
                                          "/api/resource/a.zip!CAL.BGF%230", "/api/containers",
                                          "/api/nothing"};
    char request[256], answer[16384];
    int fd = dial(many_port);
    for (int i = 0; fd >= 0 && i < REQUESTS; i++) {
        size_t which = ((size_t)(uintptr_t)ctx + (size_t)i) % 4, used = 0, body = 0, length = SIZE_MAX;
        int size =
            snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", targets[which]);
        if (send(fd, request, (size_t)size, MSG_NOSIGNAL) != size)
            break;
        while (used < sizeof answer - 1 && used < body + length) {
            ssize_t got = recv(fd, answer + used, sizeof answer - 1 - used, 0);
            if (got <= 0)
                break;
            used += (size_t)got;
            answer[used] = '\0';
            const char *end = strstr(answer, "\r\n\r\n"), *announced = strstr(answer, "Content-Length: ");
            if (end && announced) {
                body = (size_t)(end + 4 - answer);
                length = strtoul(announced + 16, NULL, 10);
            }
        }
        if (used == body + length && strncmp(answer, which == 3 ? "HTTP/1.1 404" : "HTTP/1.1 200", 12) == 0)
            atomic_fetch_add(&many_good, 1);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void many_clients_at_once(void **state)
{
    pthread_t threads[CLIENTS];
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    struct server *server = start(api, &many_port);
    atomic_store(&many_good, 0);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&many_good), CLIENTS * REQUESTS);
    serve_stop(server);
    api_close(api);
}

static void addresses_to_listen_at(void **state)
{
    static const char *const bad[] = {"",
                                      "8765",
                                      ":8765",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:x",
                                      "example.org:80",
                                      "[::1]",
                                      "::1:80:",
                                      "[127.0.0.1:80",
                                      "/tmp/socket"};
    struct error err = {0};
    int port;
    (void)state;
    fill(fixture_sample, FIXTURE_SAMPLES);
    struct api *api = open_api();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error_clear(&err);
        assert_null(serve_start(api, bad[i], &err));
        assert_int_equal(err.code, ERROR_USAGE);
    }
    struct server *server = start(api, &port);
    char taken[32];
    snprintf(taken, sizeof taken, "127.0.0.1:%d", port);
    error_clear(&err);
    assert_null(serve_start(api, taken, &err));
    assert_int_equal(err.code, ERROR_IO);
    assert_non_null(strstr(err.msg, taken));
    serve_stop(server);
    api_close(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_decoded_once),
        cmocka_unit_test(a_bad_target_is_refused),
        cmocka_unit_test(a_foreign_host_is_refused),
        cmocka_unit_test(tags_match_as_in_the_standard),
        cmocka_unit_test_setup_teardown(lists_are_filtered_sorted_and_paged, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(an_address_with_escapes_arrives_whole, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(pages_have_their_types, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(bad_requests_are_told_apart, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(methods_hosts_and_bodies, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_tag_is_of_the_content, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_value_is_an_error_of_what_needs_it, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_store_that_goes_and_comes, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(garbage_costs_only_its_connection, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(many_clients_at_once, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(addresses_to_listen_at, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
