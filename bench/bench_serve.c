/* bench_serve.c - what a server takes for a search, a resource, a geometry, with 64 clients and with one,
 * over 100 000 resources.
 *
 * The store is made up: half of the resources in XPR2 containers of 380 with 40 textures each, as on the disc
 * that was studied, half in files of their own inside archives. Server and clients share this machine and
 * this process. "server" is what the answer says of itself (Server-Timing): from the headers to the finished
 * body. "client" is from sending to the last byte; with 64 clients on few processors it is mostly waiting for
 * one's turn, which the row "list of endpoints", the cheapest answer there is, shows.
 */
#include "bench/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/mesh.h"
#include "pipeline/clock.h"
#include "reports/serve.h"
#include "store/store.h"

#define RESOURCES    100000u
#define OF_CONTAINER 380u /* resources of an XPR2 */
#define TEXTURES     40u
#define STAGES       (RESOURCES / 2 / OF_CONTAINER)
#define GEOMETRIES   25000u /* so each belongs to four resources */
#define BATCH        10000u
#define CLIENTS      64
#define REQUESTS     1600 /* of each kind, by all clients together */
#define SIDE         24   /* vertices along a side of a mesh */

/* ---- the store ---- */

struct filling {
    uint32_t first;
    struct arena arena;
    struct mesh *mesh; /* one vertex of which is another for each geometry */
    struct buffer canonical;
};

static void name_of(uint32_t number, char name[static 32])
{
    static const char *const parts[] = {"wep", "bdy", "eng", "fin", "eff"};
    snprintf(name, 32, "%s%04u_%s_%02u", number < RESOURCES / 2 ? "e" : "MODEL", number % 5000,
             parts[number % 5], number / 5000);
}

static void write_geometry(struct filling *filling, uint32_t number)
{
    filling->mesh->streams[0].data[2] = (float)(number % GEOMETRIES);
    buffer_clear(&filling->canonical);
    uint8_t *room = buffer_extend(&filling->canonical, mesh_canonical_size(filling->mesh));
    if (room)
        mesh_write(filling->mesh, room);
}

/* What does not matter here is as small as a record may be. */
static void make_resource(uint32_t number, bool xbg7, struct filling *filling, char name[static 32],
                          struct resource_record *record)
{
    struct resource *resource = &record->resource;
    name_of(number, name);
    write_geometry(filling, number);
    *record =
        (struct resource_record){.geometry = hash_bytes(filling->canonical.data, filling->canonical.size),
                                 .geometry_bytes = filling->canonical.size};
    resource->format = xbg7 ? FORMAT_XBG7 : FORMAT_MESHBIN;
    resource->index = xbg7 ? number % OF_CONTAINER + TEXTURES : 0;
    resource->name = xbg7 ? name : NULL;
    resource->status = !xbg7 ? RESOURCE_DECODED : number % 20 ? RESOURCE_PROVEN : RESOURCE_ASSIGNED;
    resource->vertices = SIDE * SIDE;
    resource->triangles = 2 * (SIDE - 1) * (SIDE - 1) - number % 900;
    resource->bounds = (struct bounds){.valid = true, .max = {1, 2, (float)(number % 100)}};
}

static bool put_geometry(struct store_txn *txn, const struct filling *filling, const struct hash *hash,
                         struct error *err)
{
    struct buffer encoded = {0};
    bool ok = codec_encode(CODEC_DEFAULT, filling->canonical.data, filling->canonical.size, &encoded)
                  ? store_put_geometry(txn, hash, encoded.data, encoded.size, err)
                  : error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    buffer_free(&encoded);
    return ok;
}

static bool put_file(struct store_txn *txn, const char *path, const char *stem,
                     struct container_record *container, const struct resource_record *resources,
                     uint32_t count, struct error *err)
{
    struct hash content = hash_bytes(path, strlen(path));
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = path,
                                   .stem = stem,
                                   .container = content,
                                   .format = container->container.format,
                                   .bytes = 1000,
                                   .run = 1};
    container->bytes = 1000;
    container->decoder_version = 1;
    container->container.resource_count = count;
    for (uint32_t i = 0; i < count; i++)
        container->by_status[resources[i].resource.status]++;
    return store_put_container(txn, &content, container, resources, count, err) &&
           store_put_source(txn, &source, err);
}

static bool put_stage(struct store_txn *txn, struct filling *filling, uint32_t first, struct error *err)
{
    static struct resource_record records[OF_CONTAINER];
    static char names[OF_CONTAINER][32];
    static struct texture textures[TEXTURES];
    char path[64];
    struct container_record container = {
        .container = {.format = FORMAT_XPR2, .textures = textures, .texture_count = TEXTURES}};
    for (uint32_t i = 0; i < TEXTURES; i++)
        textures[i] = (struct texture){
            .index = i, .name = "e0123_wep_01_col", .valid = true, .width = 256, .height = 256};
    for (uint32_t i = 0; i < OF_CONTAINER; i++) {
        make_resource(first + i, true, filling, names[i], &records[i]);
        if (!put_geometry(txn, filling, &records[i].geometry, err))
            return false;
    }
    snprintf(path, sizeof path, "disc.iso!hidden/resource3d/Stage_S%02u.xpr", first / OF_CONTAINER);
    return put_file(txn, path, NULL, &container, records, OF_CONTAINER, err);
}

static bool put_model(struct store_txn *txn, struct filling *filling, uint32_t number, struct error *err)
{
    struct resource_record record;
    char name[32], path[96];
    struct container_record container = {.container = {.format = FORMAT_MESHBIN}};
    make_resource(number, false, filling, name, &record);
    snprintf(path, sizeof path, "night-%02u.zip!models/%s.meshbin", number / 4000, name);
    return put_geometry(txn, filling, &record.geometry, err) &&
           put_file(txn, path, name, &container, &record, 1, err);
}

static bool put_batch(struct store_txn *txn, void *ctx, struct error *err)
{
    struct filling *filling = ctx;
    const uint32_t in_stages = STAGES * OF_CONTAINER;
    bool ok = true;
    for (uint32_t i = filling->first, end = i + BATCH; ok && i < end && i < RESOURCES; i++) {
        if (i >= in_stages)
            ok = put_model(txn, filling, i, err);
        else if (i % OF_CONTAINER == 0)
            ok = put_stage(txn, filling, i, err);
    }
    return ok;
}

static struct mesh *make_mesh(struct arena *arena)
{
    struct mesh *mesh = mesh_new(arena, SIDE * SIDE, 2 * (SIDE - 1) * (SIDE - 1), 1);
    if (!mesh)
        return NULL;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        float *position = mesh->streams[0].data + (size_t)3 * i;
        position[0] = (float)(i % SIDE);
        position[1] = (float)(i / SIDE);
        position[2] = (float)(i % 7) * 0.125f;
    }
    uint32_t *corner = mesh->streams[0].corner;
    for (uint32_t i = 0; i < (SIDE - 1) * (SIDE - 1); i++) {
        uint32_t v = i / (SIDE - 1) * SIDE + i % (SIDE - 1);
        const uint32_t corners[6] = {v, v + 1, v + SIDE, v + 1, v + SIDE + 1, v + SIDE};
        memcpy(corner + (size_t)6 * i, corners, sizeof corners);
    }
    mesh->parts[0] = (struct mesh_part){0, mesh->triangle_count, 0, mesh->vertex_count, 1};
    return mesh;
}

static bool fill_store(const char *path, struct error *err)
{
    struct filling filling = {0};
    struct store *store = store_open(path, STORE_CREATE, false, err);
    filling.mesh = make_mesh(&filling.arena);
    bool ok = store && (filling.mesh || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory"));
    for (; ok && filling.first < RESOURCES; filling.first += BATCH)
        ok = store_update(store, put_batch, &filling, err);
    buffer_free(&filling.canonical);
    arena_free(&filling.arena);
    store_close(store);
    return ok;
}

/* ---- clients ---- */

/* How the target of a request is made. */
enum way { SAME, BY_INDEX, BY_NAME, BY_HASH };

static const struct kind {
    const char *name;
    enum way way;
    const char *target;
} kinds[] = {
    {"list of endpoints", SAME, "/api"},
    {"search: two words", SAME, "/api/resources?q=stage_s1+wep&limit=50"},
    {"search: a word that is everywhere", SAME, "/api/resources?q=e0&limit=50"},
    {"search: nothing found", SAME, "/api/resources?q=nowhere"},
    {"name=e*_wep_*", SAME, "/api/resources?name=e*_wep_*&limit=50"},
    {"container=*S12*, largest first", SAME, "/api/resources?container=*S12*&sort=-triangles&limit=50"},
    {"all by name, from 90 000 on", SAME, "/api/resources?sort=name&offset=90000&limit=50"},
    {"containers: a word", SAME, "/api/containers?q=night-17&limit=50"},
    {"resource by its index", BY_INDEX, "/api/resource/disc.iso!hidden%2Fresource3d%2FStage_S"},
    {"resource by its name", BY_NAME, "/api/resource/"},
    {"geometry as glTF", BY_HASH, "/api/geometry/"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static struct hash geometry_hashes[REQUESTS];

/* Another part of the store each time. */
static void write_target(const struct kind *kind, unsigned request, char *out, size_t room)
{
    uint32_t number = request * 7919 % (STAGES * OF_CONTAINER);
    char text[HASH_HEX];
    switch (kind->way) {
    case BY_INDEX:
        snprintf(out, room, "%s%02u.xpr%%23%u", kind->target, number / OF_CONTAINER,
                 number % OF_CONTAINER + TEXTURES);
        break;
    case BY_NAME:
        name_of(number, text);
        snprintf(out, room, "%s%s", kind->target, text);
        break;
    case BY_HASH:
        hash_format(&geometry_hashes[request], text);
        snprintf(out, room, "%s%s.glb", kind->target, text);
        break;
    default:
        snprintf(out, room, "%s", kind->target);
    }
}

struct client {
    const struct kind *kind;
    int port;
    unsigned first, count;        /* which requests are this client's */
    double *server, *cpu, *whole; /* [count] seconds */
    bool failed;
};

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* One request over a connection that stays; false unless the answer is a 200 that came whole. */
static bool ask(int fd, const char *target, double *server, double *cpu, char *answer, size_t room)
{
    char request[512];
    size_t used = 0, size = 0;
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target);
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        return false;
    while (!size || used < size) {
        ssize_t got = recv(fd, answer + used, room - 1 - used, 0);
        if (got <= 0)
            return false;
        used += (size_t)got;
        answer[used] = '\0';
        const char *end = size ? NULL : strstr(answer, "\r\n\r\n");
        const char *announced = end ? strstr(answer, "Content-Length: ") : NULL;
        if (announced)
            size = (size_t)(end + 4 - answer) + strtoul(announced + 16, NULL, 10);
        if (size >= room)
            return false;
    }
    const char *timing = strstr(answer, "Server-Timing: answer;dur="),
               *of = timing ? strstr(timing, "cpu;dur=") : NULL;
    *server = timing ? strtod(timing + 26, NULL) / 1e3 : 0;
    *cpu = of ? strtod(of + 8, NULL) / 1e3 : 0;
    return strncmp(answer, "HTTP/1.1 200", 12) == 0;
}

static void *run_client(void *ctx)
{
    struct client *client = ctx;
    const size_t room = 1 << 20;
    char target[256], *answer = malloc(room);
    int fd = answer ? dial(client->port) : -1;
    client->failed = fd < 0;
    for (unsigned i = 0; i < client->count && !client->failed; i++) {
        write_target(client->kind, client->first + i, target, sizeof target);
        double start = clock_seconds();
        client->failed = !ask(fd, target, &client->server[i], &client->cpu[i], answer, room);
        client->whole[i] = clock_seconds() - start;
    }
    if (fd >= 0)
        close(fd);
    free(answer);
    return NULL;
}

struct figures {
    double server_median, server_most, cpu_median, client_median,
        per_second; /* most: 99 of 100 are at most that */
};

static bool measure(const struct kind *kind, int port, unsigned clients, unsigned requests,
                    struct figures *out)
{
    static double server[REQUESTS], cpu[REQUESTS], whole[REQUESTS];
    struct client list[CLIENTS];
    pthread_t threads[CLIENTS];
    bool ok = true;
    double start = clock_seconds();
    for (unsigned i = 0; i < clients; i++) {
        unsigned first = i * requests / clients;
        list[i] =
            (struct client){kind,           port,        first,         (i + 1) * requests / clients - first,
                            server + first, cpu + first, whole + first, false};
        list[i].failed = pthread_create(&threads[i], NULL, run_client, &list[i]) != 0;
        if (list[i].failed)
            threads[i] = pthread_self();
    }
    for (unsigned i = 0; i < clients; i++) {
        if (!pthread_equal(threads[i], pthread_self()))
            pthread_join(threads[i], NULL);
        ok &= !list[i].failed;
    }
    out->per_second = requests / (clock_seconds() - start);
    out->server_median = bench_median(server, requests); /* which sorts */
    out->server_most = server[requests * 99 / 100];
    out->cpu_median = bench_median(cpu, requests);
    out->client_median = bench_median(whole, requests);
    return ok;
}

/* ---- the command ---- */

static json_t *row_of(const char *name, unsigned clients, const struct figures *f)
{
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f}", "kind", name, "clients", (int)clients,
                     "server_ms_median", f->server_median * 1e3, "server_ms_99", f->server_most * 1e3,
                     "server_cpu_ms_median", f->cpu_median * 1e3, "client_ms_median", f->client_median * 1e3,
                     "per_second", f->per_second);
}

static bool measure_all(int port, json_t *rows, struct error *err)
{
    static const unsigned clients[] = {1, CLIENTS};
    /* The catalogue and the orders are made by who asks first. */
    static const struct kind first[] = {{"first list after a commit", SAME, "/api/resources?limit=50"},
                                        {"first by name", SAME, "/api/resources?sort=name&limit=50"}};
    struct figures figures;
    for (size_t i = 0; i < 2; i++) {
        if (!measure(&first[i], port, 1, 1, &figures))
            return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s: no answer, or not 200", first[i].name);
        json_array_append_new(rows, row_of(first[i].name, 1, &figures));
    }
    for (size_t k = 0; k < KINDS; k++)
        for (size_t c = 0; c < 2; c++) {
            if (!measure(&kinds[k], port, clients[c], clients[c] == 1 ? 200 : REQUESTS, &figures))
                return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s: no answer, or not 200", kinds[k].name);
            json_array_append_new(rows, row_of(kinds[k].name, clients[c], &figures));
        }
    return true;
}

static void collect_hashes(void)
{
    struct filling filling = {0};
    if (!(filling.mesh = make_mesh(&filling.arena)))
        return;
    for (unsigned i = 0; i < REQUESTS; i++) {
        write_geometry(&filling, i * 7919);
        geometry_hashes[i] = hash_bytes(filling.canonical.data, filling.canonical.size);
    }
    buffer_free(&filling.canonical);
    arena_free(&filling.arena);
}

static void print_rows(const json_t *rows)
{
    size_t i;
    const json_t *row;
    printf("%-36s %8s %12s %10s %8s %12s %10s\n", "", "clients", "server ms", "99 of 100", "cpu ms",
           "client ms", "per s");
    json_array_foreach(rows, i, row)
    {
        printf("%-36s %8lld %12.3f %10.3f %8.3f %12.3f %10.0f\n",
               json_string_value(json_object_get(row, "kind")),
               (long long)json_integer_value(json_object_get(row, "clients")),
               json_real_value(json_object_get(row, "server_ms_median")),
               json_real_value(json_object_get(row, "server_ms_99")),
               json_real_value(json_object_get(row, "server_cpu_ms_median")),
               json_real_value(json_object_get(row, "client_ms_median")),
               json_real_value(json_object_get(row, "per_second")));
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

int bench_serve(const struct bench_options *options)
{
    char path[4096];
    int port = 0;
    struct error err = {0};
    snprintf(path, sizeof path, "%s/serve-XXXXXX", options->directory);
    if ((mkdir(options->directory, 0777) != 0 && errno != EEXIST) || !mkdtemp(path)) {
        fprintf(stderr, "anchorage: '%s': %s\n", options->directory, strerror(errno));
        return 3;
    }
    json_t *rows = json_array();
    collect_hashes();
    bool ok = fill_store(path, &err);
    struct api *api =
        ok ? api_open(&(struct api_options){.store_path = path, .program = "bench"}, &err) : NULL;
    struct server *server = api ? serve_start(api, "127.0.0.1:0", &err) : NULL;
    ok = server && sscanf(serve_url(server), "http://127.0.0.1:%d/", &port) == 1 &&
         measure_all(port, rows, &err);
    serve_stop(server);
    api_close(api);
    if (!ok)
        fprintf(stderr, "anchorage: %s\n", err.msg);
    else if (options->json)
        ok = json_dumpf(rows, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0 && putchar('\n') != EOF;
    else
        print_rows(rows);
    json_decref(rows);
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return ok ? 0 : 3;
}
