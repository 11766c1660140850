/* bench_store.c - what the store costs: codecs by kind of mesh, and items a second, beside what the machine
 * can do.
 *
 * The meshes are generated, each kind for a property of the formats: a smooth grid, a noisy scan whose
 * triangles are out of order, coordinates of 1/128 (MESHBIN), normals and texture coordinates that were
 * 16-bit floats (XBG7).
 */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/mesh.h"
#include "pipeline/clock.h"
#include "store/store.h"

#define MESHES     48 /* of a kind */
#define SIDE_LEAST 24 /* vertices along a side of the grid that each mesh is */
#define SIDE_RANGE 100
#define DISK_BYTES ((size_t)256 << 20)
#define ITEMS      100000u
#define ITEM_BATCH 25000u /* items in a transaction, as the pipeline's batches of small files are */

enum kind { KIND_GRID, KIND_SCAN, KIND_INTEGER, KIND_HALF, KIND_COUNT };
static const char *const kind_words[KIND_COUNT] = {"grid", "scan", "integer", "half"};

/* ---- meshes ---- */

static double random_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0;
}

/* What a 16-bit float can hold of the value: the lower 13 bits of the f32 are zero. */
static float half_precision(double value)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = (float)value};
    pun.u &= 0xFFFFE000u;
    return pun.f;
}

struct wave {
    double along, across, noise;
};

static void make_vertex(enum kind kind, const struct wave *wave, double s, double t, uint64_t *seed,
                        float position[3], float normal[3], float uv[2])
{
    double point[3] = {10 * s, 10 * t, sin(6 * s * wave->along) * cos(6 * t * wave->across)};
    double slope_s = 0.6 * wave->along * cos(6 * s * wave->along) * cos(6 * t * wave->across);
    double slope_t = -0.6 * wave->across * sin(6 * s * wave->along) * sin(6 * t * wave->across);
    double length = sqrt(slope_s * slope_s + slope_t * slope_t + 1);
    double direction[3] = {-slope_s / length, -slope_t / length, 1 / length};
    for (int i = 0; i < 3; i++) {
        double value = point[i] + wave->noise * random_unit(seed);
        position[i] = (float)(kind == KIND_INTEGER ? round(value * 2048) / 128 : value);
        normal[i] = kind == KIND_HALF ? half_precision(direction[i]) : (float)direction[i];
    }
    uv[0] = kind == KIND_HALF ? half_precision(s) : (float)s;
    uv[1] = kind == KIND_HALF ? half_precision(t) : (float)t;
}

static void make_triangles(uint32_t side, uint32_t *corner)
{
    for (uint32_t y = 0; y + 1 < side; y++) {
        for (uint32_t x = 0; x + 1 < side; x++) {
            uint32_t v = y * side + x;
            const uint32_t pair[6] = {v, v + 1, v + side, v + side, v + 1, v + side + 1};
            memcpy(corner, pair, sizeof pair);
            corner += 6;
        }
    }
}

/* Swaps each triangle with one of the next 64: the order a scanner's mesher leaves. */
static void disorder(uint32_t *corner, uint32_t triangles, uint64_t *seed)
{
    for (uint32_t t = 0; t < triangles; t++) {
        uint32_t other = t + (uint32_t)(random_unit(seed) * 64), held[3];
        if (other >= triangles)
            continue;
        memcpy(held, corner + 3 * t, sizeof held);
        memcpy(corner + 3 * t, corner + 3 * other, sizeof held);
        memcpy(corner + 3 * other, held, sizeof held);
    }
}

static struct mesh *make_mesh(struct arena *arena, enum kind kind, uint32_t side, uint64_t *seed)
{
    uint32_t vertices = side * side, triangles = (side - 1) * (side - 1) * 2;
    struct wave wave = {1 + 5 * random_unit(seed), 1 + 5 * random_unit(seed), kind == KIND_SCAN ? 0.01 : 0};
    struct mesh *mesh = mesh_new(arena, vertices, triangles, 1);
    struct mesh_stream *normals =
        mesh ? mesh_add_stream(mesh, arena, MESH_NORMAL, 0, 3, vertices, false) : NULL;
    struct mesh_stream *uvs =
        normals ? mesh_add_stream(mesh, arena, MESH_TEXCOORD, 0, 2, vertices, false) : NULL;
    if (!uvs)
        return NULL;
    for (uint32_t v = 0; v < vertices; v++)
        make_vertex(kind, &wave, (v % side) / (side - 1.0), (double)(v / side) / (side - 1.0), seed,
                    mesh->streams[0].data + 3 * v, normals->data + 3 * v, uvs->data + 2 * v);
    make_triangles(side, mesh->streams[0].corner);
    if (kind == KIND_SCAN)
        disorder(mesh->streams[0].corner, triangles, seed);
    mesh->parts[0] = (struct mesh_part){0, triangles, 0, vertices, 7};
    return mesh;
}

struct sample {
    struct buffer canonical[MESHES];
    size_t bytes, vertices;
};

static bool sample_make(enum kind kind, struct sample *sample)
{
    uint64_t seed = 1;
    struct arena arena = {0};
    bool made = true;
    *sample = (struct sample){0};
    for (int i = 0; i < MESHES && made; i++) {
        uint32_t side = SIDE_LEAST + (uint32_t)(random_unit(&seed) * SIDE_RANGE);
        struct mesh *mesh = make_mesh(&arena, kind, side, &seed);
        size_t size = mesh ? mesh_canonical_size(mesh) : 0;
        uint8_t *room = mesh ? buffer_extend(&sample->canonical[i], size) : NULL;
        made = room != NULL;
        if (made)
            mesh_write(mesh, room);
        sample->bytes += size;
        sample->vertices += mesh ? mesh->vertex_count : 0;
        arena_reset(&arena);
    }
    arena_free(&arena);
    return made;
}

static void sample_free(struct sample *sample)
{
    for (int i = 0; i < MESHES; i++)
        buffer_free(&sample->canonical[i]);
}

/* ---- codecs ---- */

struct codec_figures {
    size_t encoded;
    double encode_seconds, decode_seconds;
};

/* One pass over the sample; false when a round trip fails. */
static bool codec_pass(enum codec codec, int level, const struct sample *sample, struct buffer *encoded,
                       struct buffer *decoded, struct codec_figures *figures, struct error *err)
{
    for (int i = 0; i < MESHES; i++) {
        const struct buffer *canonical = &sample->canonical[i];
        double start = clock_seconds();
        buffer_clear(encoded);
        if (!codec_encode_level(codec, level, canonical->data, canonical->size, encoded))
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        double between = clock_seconds();
        buffer_clear(decoded);
        if (!codec_decode(encoded->data, encoded->size, decoded, err))
            return false;
        figures->decode_seconds += clock_seconds() - between;
        figures->encode_seconds += between - start;
        figures->encoded += encoded->size;
        if (decoded->size != canonical->size || memcmp(decoded->data, canonical->data, canonical->size) != 0)
            return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "codec %s loses bytes", codec_word(codec));
    }
    return true;
}

/* The fastest of several runs: what disturbs one only ever makes it slower. */
static bool codec_measure(enum codec codec, int level, const struct sample *sample, unsigned runs,
                          struct codec_figures *best, struct error *err)
{
    struct buffer encoded = {0}, decoded = {0};
    bool done = true;
    for (unsigned i = 0; i < runs && done; i++) {
        struct codec_figures figures = {0};
        done = codec_pass(codec, level, sample, &encoded, &decoded, &figures, err);
        if (i == 0)
            *best = figures;
        best->encode_seconds = fmin(best->encode_seconds, figures.encode_seconds);
        best->decode_seconds = fmin(best->decode_seconds, figures.decode_seconds);
    }
    buffer_free(&encoded);
    buffer_free(&decoded);
    return done;
}

static bool bench_codecs(unsigned runs, json_t *rows, struct error *err)
{
    static const struct {
        enum codec codec;
        int level;
    } settings[] = {
        {CODEC_RAW, 0},          {CODEC_ZSTD, -5},         {CODEC_ZSTD, -1},         {CODEC_ZSTD, 1},
        {CODEC_ZSTD, 3},         {CODEC_MESHOPT_ZSTD, -5}, {CODEC_MESHOPT_ZSTD, -1}, {CODEC_MESHOPT_ZSTD, 1},
        {CODEC_MESHOPT_ZSTD, 3}, {CODEC_PLANES_ZSTD, -5},  {CODEC_PLANES_ZSTD, -1},  {CODEC_PLANES_ZSTD, 1},
        {CODEC_PLANES_ZSTD, 3},
    };
    bool done = true;
    for (int kind = 0; kind < KIND_COUNT && done; kind++) {
        struct sample sample;
        done = sample_make((enum kind)kind, &sample) ||
               error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        for (size_t i = 0; i < sizeof settings / sizeof *settings && done; i++) {
            struct codec_figures figures;
            done = codec_measure(settings[i].codec, settings[i].level, &sample, runs, &figures, err);
            if (done)
                json_array_append_new(
                    rows, json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f}", "mesh", kind_words[kind], "codec",
                                    codec_word(settings[i].codec), "level", settings[i].level,
                                    "bytes_per_vertex", (double)figures.encoded / (double)sample.vertices,
                                    "ratio", (double)sample.bytes / (double)figures.encoded, "encode_gb_s",
                                    (double)sample.bytes / figures.encode_seconds / 1e9, "decode_gb_s",
                                    (double)sample.bytes / figures.decode_seconds / 1e9));
        }
        sample_free(&sample);
    }
    return done;
}

/* ---- the machine ---- */

static bool disk_pass(const char *path, const uint8_t *bytes, double *took, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double start = clock_seconds();
    bool written = fd >= 0;
    for (size_t at = 0; at < DISK_BYTES && written; at += (size_t)8 << 20)
        written = write(fd, bytes + at, (size_t)8 << 20) == (ssize_t)8 << 20;
    written = written && fsync(fd) == 0;
    *took = clock_seconds() - start;
    if (!written)
        error_set(err, ERROR_IO, ERROR_NO_OFFSET, "'%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    unlink(path);
    return written;
}

static bool bench_machine(const char *directory, unsigned runs, json_t *machine, struct error *err)
{
    char path[4096];
    double disk = INFINITY, hash = INFINITY, took;
    uint8_t *bytes = malloc(DISK_BYTES);
    bool done = bytes != NULL || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    snprintf(path, sizeof path, "%s/raw", directory);
    for (size_t i = 0; i < DISK_BYTES && done; i += sizeof i)
        memcpy(bytes + i, &i, sizeof i);
    for (unsigned i = 0; i < runs && done; i++) {
        done = disk_pass(path, bytes, &took, err);
        disk = fmin(disk, took);
        double start = clock_seconds();
        struct hash value = hash_bytes(bytes, DISK_BYTES);
        bytes[0] = value.bytes[0]; /* so that the hash is used */
        hash = fmin(hash, clock_seconds() - start);
    }
    free(bytes);
    json_object_set_new(machine, "disk_write_fsync_gb_s", json_real((double)DISK_BYTES / disk / 1e9));
    json_object_set_new(machine, "hash_gb_s", json_real((double)DISK_BYTES / hash / 1e9));
    return done;
}

/* ---- items ---- */

struct batch {
    uint32_t first;
    uint64_t run;
    struct hash parent;
    struct buffer canonical; /* one small geometry; its last bytes are changed item by item */
    struct buffer encoded;   /* of this batch, before the clock starts: decoding threads do that */
    size_t ends[ITEM_BATCH]; /* of each geometry in `encoded` */
    struct hash geometry[ITEM_BATCH];
};

static bool encode_batch(struct batch *batch, struct error *err)
{
    buffer_clear(&batch->encoded);
    for (uint32_t i = 0; i < ITEM_BATCH; i++) {
        uint32_t item = batch->first + i;
        memcpy(batch->canonical.data + batch->canonical.size - sizeof item, &item, sizeof item);
        if (!codec_encode(CODEC_DEFAULT, batch->canonical.data, batch->canonical.size, &batch->encoded))
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        batch->ends[i] = batch->encoded.size;
        batch->geometry[i] = hash_bytes(batch->canonical.data, batch->canonical.size);
    }
    return true;
}

static bool put_item(struct store_txn *txn, const struct batch *batch, uint32_t i, struct error *err)
{
    char path[64], stem[32];
    snprintf(stem, sizeof stem, "MODEL%06u", batch->first + i);
    snprintf(path, sizeof path, "night.zip!models/%s.BGF", stem);
    size_t start = i ? batch->ends[i - 1] : 0;
    struct hash content = hash_bytes(path, strlen(path));
    struct resource_record resource = {.geometry = batch->geometry[i],
                                       .geometry_bytes = batch->canonical.size};
    resource.resource.format = FORMAT_BGF;
    resource.resource.status = RESOURCE_DECODED;
    struct container_record container = {.bytes = 1000, .decoder_version = 1};
    container.container.format = FORMAT_BGF;
    container.container.resource_count = container.by_status[RESOURCE_DECODED] = 1;
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = path,
                                   .stem = stem,
                                   .parent = batch->parent,
                                   .container = content,
                                   .format = FORMAT_BGF,
                                   .bytes = 1000,
                                   .run = batch->run};
    return store_put_geometry(txn, &resource.geometry, batch->encoded.data + start, batch->ends[i] - start,
                              err) &&
           store_put_container(txn, &content, &container, &resource, 1, err) &&
           store_put_source(txn, &source, err);
}

static bool put_batch(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct batch *batch = ctx;
    for (uint32_t i = 0; i < ITEM_BATCH; i++)
        if (!put_item(txn, batch, i, err))
            return false;
    return true;
}

static bool put_all(struct store *store, struct batch *batch, double *took, struct error *err)
{
    *took = 0;
    for (batch->first = 0; batch->first < ITEMS; batch->first += ITEM_BATCH) {
        if (!encode_batch(batch, err))
            return false;
        double start = clock_seconds();
        if (!store_update(store, put_batch, batch, err))
            return false;
        *took += clock_seconds() - start;
    }
    return true;
}

static bool check_all(struct store *store, double *took, struct error *err)
{
    uint64_t problems;
    double start = clock_seconds();
    if (!store_check(store, NULL, NULL, &problems, err))
        return false;
    *took = clock_seconds() - start;
    return !problems || error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "the filled store has %llu problems",
                                  (unsigned long long)problems);
}

static bool bench_items(const char *directory, json_t *items, struct error *err)
{
    char path[4096];
    uint64_t seed = 1;
    double first, again, check;
    struct store_stat stat;
    struct arena arena = {0};
    static struct batch batch; /* too large for a stack */
    batch = (struct batch){.run = 1, .parent = hash_bytes("night.zip", 9)};
    struct mesh *mesh = make_mesh(&arena, KIND_GRID, 5, &seed);
    size_t size = mesh ? mesh_canonical_size(mesh) : 0;
    uint8_t *room = mesh ? buffer_extend(&batch.canonical, size) : NULL;
    snprintf(path, sizeof path, "%s/store", directory);
    struct store *store = room ? store_open(path, STORE_CREATE, false, err) : NULL;
    if (room)
        mesh_write(mesh, room);
    else
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    bool done = store && put_all(store, &batch, &first, err) && (batch.run = 2) &&
                put_all(store, &batch, &again, err) && check_all(store, &check, err) &&
                store_stat(store, &stat, err);
    if (done)
        json_object_update_new(items, json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "items", ITEMS,
                                                "items_per_transaction", ITEM_BATCH, "items_per_s",
                                                ITEMS / first, "items_again_per_s", ITEMS / again,
                                                "checked_items_per_s", ITEMS / check, "file_bytes_per_item",
                                                (double)stat.file_bytes / ITEMS));
    store_close(store);
    buffer_free(&batch.canonical);
    buffer_free(&batch.encoded);
    arena_free(&arena);
    return done;
}

/* ---- the command ---- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void print_figures(const json_t *figures, FILE *out)
{
    size_t i;
    const json_t *row;
    const char *name;
    json_t *value;
    fprintf(out, "%-8s %-13s %5s %14s %6s %12s %12s\n", "mesh", "codec", "level", "bytes/vertex", "ratio",
            "encode GB/s", "decode GB/s");
    json_array_foreach(json_object_get(figures, "codecs"), i, row) fprintf(
        out, "%-8s %-13s %5lld %14.1f %6.2f %12.2f %12.2f\n", json_string_value(json_object_get(row, "mesh")),
        json_string_value(json_object_get(row, "codec")),
        (long long)json_integer_value(json_object_get(row, "level")),
        json_real_value(json_object_get(row, "bytes_per_vertex")),
        json_real_value(json_object_get(row, "ratio")), json_real_value(json_object_get(row, "encode_gb_s")),
        json_real_value(json_object_get(row, "decode_gb_s")));
    static const char *const groups[] = {"items", "machine"};
    for (size_t g = 0; g < 2; g++)
        json_object_foreach(json_object_get(figures, groups[g]), name, value)
            fprintf(out, "%-24s %.2f\n", name, json_number_value(value));
}

static bool measure(const struct bench_options *options, const char *directory, json_t *figures,
                    struct error *err)
{
    unsigned runs = options->runs ? options->runs : 3;
    return bench_codecs(runs, json_object_get(figures, "codecs"), err) &&
           bench_items(directory, json_object_get(figures, "items"), err) &&
           bench_machine(directory, runs, json_object_get(figures, "machine"), err);
}

int bench_store(const struct bench_options *options)
{
    const char *above = options->directory ? options->directory
                        : getenv("TMPDIR") ? getenv("TMPDIR")
                                           : "/tmp";
    char own[4096];
    struct error err = {0};
    snprintf(own, sizeof own, "%s/anchorage-bench-XXXXXX", above);
    if ((mkdir(above, 0777) != 0 && errno != EEXIST) || !mkdtemp(own)) {
        fprintf(stderr, "anchorage: '%s': %s\n", above, strerror(errno));
        return 3;
    }
    json_t *figures = json_pack("{s:[], s:{}, s:{}}", "codecs", "items", "machine");
    bool done = figures && measure(options, own, figures, &err);
    if (!done)
        fprintf(stderr, "anchorage: %s\n", figures ? err.msg : "out of memory");
    else if (options->json)
        done =
            json_dumpf(figures, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0 && putchar('\n') != EOF;
    else
        print_figures(figures, stdout);
    json_decref(figures);
    nftw(own, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return done ? 0 : 3;
}
