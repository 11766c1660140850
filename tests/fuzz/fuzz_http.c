/* fuzz_http.c - requests as strangers write them, answered over a small store (reports/api.h), without
 * sockets.
 *
 * The input is lines: method, target, Host, If-None-Match; those that are missing are as a friendly client
 * has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "reports/api.h"
#include "reports/http.h"
#include "tests/fuzz/harness.h"
#include "tests/support/store_fixture.h"

static struct api *api;

static void close_store(void)
{
    api_close(api);
    fixture_teardown(NULL);
}

/* One store for all inputs: requests only read. */
static void open_store(void)
{
    static const struct item hostile = {
        "a%21.zip!<script>.xpr", NULL, NULL, "\xE2\x80\xAE\"'</script>\n%", 8, 1, 0};
    struct error err = {0};
    MUST(fixture_setup(NULL) == 0, "no directory");
    struct store *store = store_open(fixture_path, STORE_CREATE, false, &err);
    MUST(store &&
             store_update(store, fixture_put_items, &(struct items){fixture_sample, FIXTURE_SAMPLES}, &err) &&
             store_update(store, fixture_put_items, &(struct items){&hostile, 1}, &err),
         "%s", err.msg);
    store_close(store);
    MUST((api = api_open(&(struct api_options){fixture_path, "test", "farm"}, &err)), "%s", err.msg);
    atexit(close_store);
}

static void must_be_an_answer(const struct api_request *request, const struct api_response *response)
{
    bool known = false;
    static const unsigned statuses[] = {200, 300, 304, 400, 403, 404, 405, 413, 414};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        known |= response->status == statuses[i];
    MUST(known, "%u: %s", response->status, response->fault.msg);
    MUST(response->fault.code == ERROR_NONE, "%s", response->fault.msg);
    MUST((response->size != 0) == (response->status != 304), "%zu bytes of %u", response->size,
         response->status);
    MUST((response->type != NULL) == (response->size != 0), "a type without a body, or a body without one");
    MUST(!response->tag[0] == (response->status != 200 && response->status != 304), "%s of %u", response->tag,
         response->status);
    if (response->status == 200 || response->status == 304)
        MUST(strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0, "%s",
             request->method);
}

static void must_be_json(const struct api_response *response)
{
    json_t *json = json_loadb(response->body, response->size, 0, NULL);
    MUST(json, "%.*s", (int)response->size, (const char *)response->body);
    const json_t *status = json_object_get(json_object_get(json, "error"), "status");
    MUST((response->status == 200) == !status, "%.*s", (int)response->size, (const char *)response->body);
    MUST(!status || json_integer_value(status) == response->status, "%u", response->status);
    json_decref(json);
}

static void answer(const struct api_request *request)
{
    struct api_response response, again;
    api_answer(api, request, &response);
    must_be_an_answer(request, &response);
    if (response.type && strncmp(response.type, "application/json", 16) == 0)
        must_be_json(&response);
    if (response.status == 200) {
        /* The same commit has the same answer, and who holds it is not sent it again. */
        struct api_request repeated = *request;
        repeated.if_none_match = response.tag;
        api_answer(api, &repeated, &again);
        MUST(again.status == 304 && strcmp(again.tag, response.tag) == 0, "%u, %s", again.status, again.tag);
        api_response_free(&again);
    }
    api_response_free(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *lines[4] = {"GET", "/api", "localhost", NULL};
    char *text = malloc(size + 1), *at = text;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!api)
        open_store();
    for (size_t i = 0; i < 4 && at; i++) {
        char *line = strsep(&at, "\n");
        if (*line)
            lines[i] = line;
    }
    answer(&(struct api_request){lines[0], lines[1], lines[2], lines[3], size % 64 == 63});
    free(text);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const targets[] = {
        "/api",
        "/api/resources?q=cal+zip&name=*&container=*7z*&status=decoded,proven&reason=truncated",
        "/api/resources?format=bgf&min-triangles=0&max-triangles=9&bounds=0,0,0,1,1,1&sort=-name,triangles",
        "/api/resources?offset=1&limit=1000&sort=geometry",
        "/api/resource/a.zip!CAL.BGF%230",
        "/api/resource/a%2521.zip!%3Cscript%3E.xpr%23%E2%80%AE%22'%3C/script%3E%0A%25",
        "/api/resource/CAL",
        "/api/geometry/00000000000000000000000000000000.glb?resource=CAL",
        "/api/containers?q=stage&container=*&limit=0",
        "/api/coverage/a.zip!in.7z!x.xpr",
        "/api/findings?kind=same,unclaimed",
        "/api/runs?offset=4294967295",
        "/api/page",
        "/api/detail/a.zip!CAL.BGF%230",
        "/sheet.html",
        "/report.json",
        "/metrics",
        "/thumbs/00000000000000000000000000000000.png",
        "/resource/x",
        "/%zz?%00=&a&a",
        "http://localhost/api",
    };
    char seed[400], name[32];
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        int length = snprintf(seed, sizeof seed, "%s\n%s\n%s\n%s", i % 5 == 4 ? "HEAD" : "GET", targets[i],
                              i % 3 ? "[::1]:8765" : "farm:1", i % 2 ? "W/\"0\", *" : "");
        snprintf(name, sizeof name, "request-%02zu", i);
        put_seed(name, seed, (size_t)length);
    }
    put_seed("post", "POST\n/api\nevil.example", 22);
}
