/* corpus_bench.c - big inputs for benches, at the speed of writing. See corpus.h.
 *
 * The tar is written by hand: a ustar header is 512 bytes of text (POSIX.1-1988), and nothing here needs
 * more.
 */
#include "bench/corpus/corpus_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chunk.h"

/* ---- ustar ---- */

enum { TAR_BLOCK = 512, WRITE_UNIT = 1 << 20 };

struct tar {
    FILE *file;
    const char *path;
    uint64_t bytes;
};

static bool tar_open(struct tar *tar, const char *path, struct error *err)
{
    *tar = (struct tar){.file = fopen(path, "wb"), .path = path};
    if (!tar->file)
        return error_set_system(err, ERROR_IO, errno, "cannot write %s", path);
    setvbuf(tar->file, NULL, _IOFBF, WRITE_UNIT);
    return true;
}

static bool tar_put(struct tar *tar, const void *bytes, size_t size)
{
    tar->bytes += size;
    return fwrite(bytes, 1, size, tar->file) == size;
}

/* A member's header: name, mode, owner, size and time in octal, a checksum over it all with its own field
 * blank. */
static void tar_header(uint8_t header[TAR_BLOCK], const char *name, size_t size)
{
    char *text = (char *)header;
    memset(header, 0, TAR_BLOCK);
    snprintf(text, 100, "%s", name);
    memcpy(text + 100, "0000644", 8);
    memcpy(text + 108, "0000000", 8);
    memcpy(text + 116, "0000000", 8);
    snprintf(text + 124, 12, "%011llo", (unsigned long long)size);
    memcpy(text + 136, "00000000000", 12);
    memset(text + 148, ' ', 8);
    text[156] = '0';
    memcpy(text + 257, "ustar", 6);
    memcpy(text + 263, "00", 2);
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += header[i];
    snprintf(text + 148, 8, "%06o", sum);
}

static bool tar_add(struct tar *tar, const char *name, const void *bytes, size_t size, struct error *err)
{
    static const uint8_t zero[TAR_BLOCK];
    uint8_t header[TAR_BLOCK];
    tar_header(header, name, size);
    bool ok = tar_put(tar, header, TAR_BLOCK) && tar_put(tar, bytes, size) &&
              tar_put(tar, zero, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
    return ok || error_set_system(err, ERROR_IO, errno, "cannot write %s", tar->path);
}

static bool tar_close(struct tar *tar, bool ok, struct error *err)
{
    static const uint8_t end[2 * TAR_BLOCK];
    ok = ok && tar_put(tar, end, sizeof end);
    if (fclose(tar->file) != 0)
        ok = false;
    return ok || error_set_system(err, ERROR_IO, errno, "cannot write %s", tar->path);
}

/* ---- the pool ---- */

/* Places in a file where the low 16 bits of a coordinate may be changed without harm. */
enum { PATCHES_MOST = 64 };
struct pooled {
    struct corpus_file file;
    const char *ending;
    unsigned patch_count;
    size_t patch[PATCHES_MOST];
};

struct pool {
    struct pooled *models;
    unsigned count;
    unsigned share; /* of the corpus, by bytes; percent */
    uint64_t bytes; /* written so far */
    uint32_t uses;
};

static void pool_free(struct pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++)
        corpus_file_free(&pool->models[i].file);
    free(pool->models);
}

static bool is_decoded(const struct corpus_file *file)
{
    const char *status = json_string_value(json_object_get(json_array_get(file->truth, 0), "status"));
    return status && strcmp(status, "decoded") == 0;
}

/* The first vertex behind the header, little-endian i32 (formats/meshbin.md); files without a magic have
 * none. */
static void patch_meshbin(struct pooled *model)
{
    const struct buffer *bytes = &model->file.bytes;
    size_t header = 7 + 1 + 1 + 5 * 4;
    if (bytes->size < 64 || memcmp(bytes->data, "MESHBIN", 7) != 0)
        return;
    model->patch[model->patch_count++] = header + (bytes->data[7] >= 2 ? 2 : 0);
}

/* The first vertex of each vertex block, little-endian f32 (formats/bgf.md). */
static void patch_bgf(struct pooled *model)
{
    struct arena arena = {0};
    struct chunk_file chunks;
    struct error err = {0};
    struct input in = {model->file.bytes.data, model->file.bytes.size, "model.bgf"};
    bool open = chunk_open(&in, &arena, &chunks, &err);
    for (uint32_t i = 0; open && i < chunks.count && model->patch_count < PATCHES_MOST; i++)
        if (chunk_vertex_layout(chunks.chunks[i].tag).stride && chunks.chunks[i].size >= 12)
            model->patch[model->patch_count++] = chunks.chunks[i].offset + chunks.chunks[i].header;
    arena_free(&arena);
}

static float read_f32be(const uint8_t *at)
{
    union {
        uint32_t u;
        float f;
    } pun = {(uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]};
    return pun.f;
}

/* Whether the three floats at `at` lie in the bounds: then the vertex begins with its position. */
static bool is_position(const uint8_t *at, const json_t *bounds)
{
    for (size_t i = 0; i < 3; i++) {
        float value = read_f32be(at + 4 * i);
        float low = (float)json_number_value(json_array_get(json_object_get(bounds, "min"), i));
        float high = (float)json_number_value(json_array_get(json_object_get(bounds, "max"), i));
        if (!(value >= low && value <= high))
            return false;
    }
    return true;
}

/* The first vertex of each resource, big-endian f32: the low half of x is two bytes in. */
static void patch_xpr2(struct pooled *model)
{
    const struct buffer *bytes = &model->file.bytes;
    size_t i;
    json_t *resource;
    json_array_foreach(model->file.truth, i, resource)
    {
        json_t *buffers = json_array_get(json_object_get(resource, "placements"), 0);
        json_t *at = json_object_get(json_array_get(buffers, 0), "vertex_offset");
        size_t offset = (size_t)json_integer_value(at);
        if (at && model->patch_count < PATCHES_MOST && offset + 12 <= bytes->size &&
            is_position(bytes->data + offset, json_object_get(resource, "bounds")))
            model->patch[model->patch_count++] = offset + 2;
    }
}

/* Keeps a model that can be varied, and frees any other. `models` has room for one more. */
static void pool_add(struct pool *pool, struct pooled *model)
{
    if (model->patch_count == 0) {
        corpus_file_free(&model->file);
        return;
    }
    pool->models[pool->count++] = *model;
}

/* From `least` triangles up to 2^`octaves` times as many, all magnitudes alike. */
static uint32_t random_size(struct rng *rng, uint32_t least, unsigned octaves)
{
    uint32_t size = least << rng_below(rng, octaves);
    return size + rng_below(rng, size);
}

/* Sound MESHBIN files of every version. */
static bool pool_meshbins(struct pool *pool, unsigned wanted, uint32_t least, unsigned octaves,
                          struct rng *rng)
{
    pool->models = calloc(wanted, sizeof *pool->models);
    for (unsigned i = 0; pool->models && pool->count < wanted && i < wanted * 8; i++) {
        struct pooled model = {.ending = "meshbin"};
        if (!corpus_meshbin(rng, i % corpus_meshbin_kinds(), random_size(rng, least, octaves), &model.file))
            return false;
        if (is_decoded(&model.file))
            patch_meshbin(&model);
        pool_add(pool, &model);
    }
    return pool->count > 0;
}

static bool pool_bgfs(struct pool *pool, unsigned wanted, uint32_t least, unsigned octaves, struct rng *rng)
{
    pool->models = calloc(wanted, sizeof *pool->models);
    for (unsigned i = 0; pool->models && pool->count < wanted && i < wanted * 8; i++) {
        struct pooled model = {.ending = "bgf"};
        if (!corpus_bgf(rng, i % corpus_bgf_kinds(), random_size(rng, least, octaves), &model.file))
            return false;
        if (is_decoded(&model.file))
            patch_bgf(&model);
        pool_add(pool, &model);
    }
    return pool->count > 0;
}

/* Containers of a few resources and mostly textures. */
static bool pool_stages(struct pool *pool, unsigned wanted, uint64_t seed)
{
    enum { RESOURCES = 3, TEXTURE_BYTES = 4 << 20, TRIANGLES = 1500 };
    struct world world = {.seed = seed, .triangles_cap = TRIANGLES, .pool = 2, .captures = json_array()};
    bool ok = true;
    pool->models = calloc(wanted, sizeof *pool->models);
    for (unsigned i = 0; ok && pool->models && pool->count < wanted && i < wanted * 8; i++) {
        struct pooled model = {.ending = "xpr"};
        ok = corpus_stage(&world, i, RESOURCES, TEXTURE_BYTES, &model.file);
        if (ok) {
            patch_xpr2(&model);
            pool_add(pool, &model);
        }
    }
    json_decref(world.captures);
    return ok && pool->count > 0;
}

/* Uses a model for the `number`th time: its coordinates get other low bits. */
static void vary(struct pooled *model, uint32_t number)
{
    for (unsigned i = 0; i < model->patch_count; i++) {
        uint8_t *at = model->file.bytes.data + model->patch[i];
        at[0] = (uint8_t)number;
        at[1] = (uint8_t)(number >> 8);
    }
}

/* Writes the pool's next model in a form it has not had. */
static bool add_use(struct tar *tar, struct pool *pool, unsigned number, struct error *err)
{
    char name[100];
    struct pooled *model = &pool->models[pool->uses % pool->count];
    snprintf(name, sizeof name, "models/%04u/m%08u.%s", number / 1000 % 10000, number, model->ending);
    vary(model, pool->uses++ / pool->count);
    pool->bytes += model->file.bytes.size;
    return tar_add(tar, name, model->file.bytes.data, model->file.bytes.size, err);
}

/* The pool that is furthest behind its share. */
static struct pool *next_pool(struct pool *pools, size_t count)
{
    struct pool *next = &pools[0];
    for (size_t i = 1; i < count; i++)
        if (pools[i].bytes * next->share < next->bytes * pools[i].share)
            next = &pools[i];
    return next;
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* ---- what benches ask for ---- */

bool corpus_uncompressed(const char *path, uint64_t bytes, uint64_t seed, struct error *err)
{
    enum { MESHBINS, BGFS, STAGES, POOLS };
    struct pool pools[POOLS] = {[MESHBINS] = {.share = 45}, [BGFS] = {.share = 45}, [STAGES] = {.share = 10}};
    struct rng rng = rng_make(seed, 4 << 24);
    struct tar tar = {0};
    bool ok = (pool_meshbins(&pools[MESHBINS], 64, 100, 8, &rng) &&
               pool_bgfs(&pools[BGFS], 64, 100, 9, &rng) && pool_stages(&pools[STAGES], 4, seed)) ||
              out_of_memory(err);
    ok = ok && tar_open(&tar, path, err);
    for (unsigned number = 0; ok && tar.bytes < bytes; number++)
        ok = add_use(&tar, next_pool(pools, POOLS), number, err);
    if (tar.file)
        ok = tar_close(&tar, ok, err);
    for (int i = 0; i < POOLS; i++)
        pool_free(&pools[i]);
    return ok;
}

bool corpus_small_meshbins(const char *path, unsigned count, uint64_t seed, struct error *err)
{
    struct rng rng = rng_make(seed, 5 << 24);
    struct pool pool = {.share = 100};
    struct tar tar = {0};
    bool ok = pool_meshbins(&pool, 256, 12, 1, &rng) || out_of_memory(err);
    ok = ok && tar_open(&tar, path, err);
    for (unsigned number = 0; ok && number < count; number++)
        ok = add_use(&tar, &pool, number, err);
    if (tar.file)
        ok = tar_close(&tar, ok, err);
    pool_free(&pool);
    return ok;
}
