/* scan_inputs.c - see scan_inputs.h. Layouts: formats/xbg7.md, formats/xpr2.md. */
#include "bench/scan_inputs.h"

#include <string.h>

#include "bench/corpus/corpus_internal.h"

bool scan_stage(uint64_t seed, unsigned number, unsigned resources, uint64_t texture_bytes,
                struct corpus_file *out)
{
    /* What the generator uses at disc scale. */
    struct world world = {.seed = seed, .triangles_cap = 5000, .pool = 32, .captures = json_array()};
    bool ok = world.captures && corpus_stage(&world, number, resources, texture_bytes, out);
    json_decref(world.captures);
    return ok;
}

/* ---- data sections ------------------------------------------------------------------------------------- */

enum { STRIDE = 24, NORMAL = 12, SPLIT_QUADS = 16 };
/* 0.577 as an f16: any three of them are a unit normal. */
#define UNIT_WORD  0x389E
#define ONE        0x3C00     /* 1.0 as an f16 */
#define ONE_SINGLE 0x3F800000 /* 1.0 as an f32 */

static void put_word(uint8_t *at, uint32_t word)
{
    at[0] = (uint8_t)(word >> 8);
    at[1] = (uint8_t)word;
}

static void fill_zeros(uint8_t *data, size_t size)
{
    memset(data, 0, size);
}

static void fill_unit_normals(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 2 <= size; at += 2)
        put_word(data + at, UNIT_WORD);
}

/* Windows of nearly every index count are in range and use nearly all vertices, wherever they start. */
static void fill_small_ramp(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 2 <= size; at += 2)
        put_word(data + at, (uint32_t)(at / 2 % 60));
}

static void fill_small_noise(uint8_t *data, size_t size)
{
    struct rng rng = rng_make(1, 1);
    for (size_t at = 0; at + 2 <= size; at += 2)
        put_word(data + at, rng_below(&rng, 256));
}

/* A vertex whose normal is (0, 0, z). */
static void put_vertex(uint8_t *at, uint32_t number, uint32_t z)
{
    memset(at, 0, STRIDE);
    for (int axis = 0; axis < 3; axis++)
        put_word(at + 4 * axis, (ONE_SINGLE >> 16) + (number * (3u + (unsigned)axis) & 0x7F));
    put_word(at + NORMAL + 4, z);
}

/* Unit and not, by turns: each second slot starts a run of one, for every stride that is a multiple of 24 or
 * not. */
static void fill_run_starts(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + STRIDE <= size; at += STRIDE)
        put_vertex(data + at, (uint32_t)(at / STRIDE), at / STRIDE % 2 ? ONE : 0);
}

/* The same split mesh over and over: every block is everyone's. */
static void fill_equal_blocks(uint8_t *data, size_t size)
{
    static const uint8_t corners[6] = {0, 1, 2, 2, 1, 3};
    enum { INDICES = SPLIT_QUADS * 6, VERTICES = SPLIT_QUADS * 4, BLOCK = INDICES * 2 + VERTICES * STRIDE };
    uint8_t block[BLOCK];
    for (unsigned i = 0; i < INDICES; i++)
        put_word(block + 2 * i, i / 6 * 4 + corners[i % 6]);
    for (unsigned v = 0; v < VERTICES; v++)
        put_vertex(block + INDICES * 2 + v * STRIDE, v, ONE);
    for (size_t at = 0; at < size; at += BLOCK)
        memcpy(data + at, block, size - at < BLOCK ? size - at : BLOCK);
}

/* ---- containers ---------------------------------------------------------------------------------------- */

struct hostile {
    const char *word;
    void (*fill)(uint8_t *data, size_t size);
    unsigned resources, markers; /* markers of each */
    bool equal;                  /* all resources declare the split mesh */
    unsigned textures;           /* each covers the whole data section */
    unsigned entries;            /* directory entries that share the first descriptor, beside the resources */
};

static const struct hostile hostiles[] = {
    {"zeros", fill_zeros, SCAN_HOSTILE_RESOURCES, 1, false, 0, 0},
    {"constant unit normals", fill_unit_normals, SCAN_HOSTILE_RESOURCES, 1, false, 0, 0},
    {"small indices, a ramp", fill_small_ramp, SCAN_HOSTILE_RESOURCES, 1, false, 0, 0},
    {"small indices, noise", fill_small_noise, SCAN_HOSTILE_RESOURCES, 1, false, 0, 0},
    {"every second slot a run start", fill_run_starts, SCAN_HOSTILE_RESOURCES, 1, false, 0, 0},
    {"equal blocks throughout", fill_equal_blocks, SCAN_HOSTILE_RESOURCES, 1, true, 0, 0},
    {"textures over everything", fill_small_ramp, SCAN_HOSTILE_RESOURCES, 1, false, 4096, 0},
    {"thousands of markers", fill_small_ramp, 4, 4000, false, 0, 0},
    {"thousands of markers, equal blocks", fill_equal_blocks, SCAN_HOSTILE_RESOURCES, 40, true, 0, 0},
    {"hundreds of thousands of entries", fill_small_ramp, 1, 1, false, 0, 400000},
};

unsigned scan_hostile_count(void)
{
    return sizeof hostiles / sizeof *hostiles;
}

const char *scan_hostile_word(unsigned number)
{
    return hostiles[number].word;
}

/* The words from the vertex fetch constant to the end of the declaration. */
static void put_marker(struct buffer *out, struct rng *rng, uint32_t vertices, uint32_t indices)
{
    static const uint32_t declaration[] = {0,  0x2A23B9, 0,       NORMAL,     0x1A2360,   3 << 16,
                                           20, 0x2C235F, 5 << 16, 0x00FF0000, 0xFFFFFFFF, 0};
    put_u32be(out, (uint32_t)rng_u64(rng));
    put_u32be(out, (uint32_t)rng_u64(rng) | 0x20000000);
    put_u32be(out, vertices);
    for (int i = 0; i < 7; i++)
        put_u32be(out, (uint32_t)rng_u64(rng) | 0x80000000);
    put_u32be(out, 2 * indices);
    put_u32be(out, indices);
    for (size_t i = 0; i < sizeof declaration / sizeof *declaration; i++)
        put_u32be(out, declaration[i]);
}

static void put_resource(struct buffer *out, struct rng *rng, const struct hostile *hostile, unsigned number)
{
    for (unsigned m = 0; m < hostile->markers; m++) {
        /* Counts of split meshes, from a few vertices to thousands. */
        unsigned quads = SPLIT_QUADS;
        if (!hostile->equal)
            quads = 2 + (number + m) % 8 + (UINT32_C(8) << (number + m) % 9);
        put_marker(out, rng, quads * 4, quads * 6);
    }
}

/* A tiled DXT5 texture of 4096 x 4096, which is 16 MiB, at the start of the data section. */
static void put_texture(struct buffer *out)
{
    const uint32_t words[13] = {[7] = UINT32_C(0x80000002) | (4096 / 32) << 22,
                                [8] = 20,
                                [9] = UINT32_C(4095) << 13 | 4095,
                                [12] = UINT32_C(1) << 9};
    for (int i = 0; i < 13; i++)
        put_u32be(out, words[i]);
}

static void put_entry(struct buffer *out, const char *tag, uint32_t descriptor, uint32_t size)
{
    buffer_append(out, tag, 4);
    put_u32be(out, descriptor);
    put_u32be(out, size);
    put_u32be(out, 4); /* name: inside the header, an empty string as good as any */
}

/* Directory and descriptors, then the data section. Offsets in the directory count from 0x0C. */
bool scan_hostile(unsigned number, struct buffer *out)
{
    const struct hostile *hostile = &hostiles[number];
    struct rng rng = rng_make(number, 2);
    struct buffer descriptors = {0}, texture = {0};
    put_texture(&texture);
    uint32_t count = hostile->resources + hostile->textures + hostile->entries, first = 0;
    uint32_t at = 4 + 16 * count;
    put_u32be(out, 0x58505232); /* XPR2 */
    put_u32be(out, 0);          /* the header's size, below */
    put_u32be(out, SCAN_HOSTILE_BYTES);
    put_u32be(out, count);
    for (unsigned i = 0; i < hostile->resources; i++) {
        size_t start = descriptors.size;
        put_resource(&descriptors, &rng, hostile, i);
        first = first ? first : (uint32_t)descriptors.size;
        put_entry(out, "XBG7", at + (uint32_t)start, (uint32_t)(descriptors.size - start));
    }
    for (unsigned i = 0; i < hostile->textures; i++)
        put_entry(out, "TX2D", at + (uint32_t)descriptors.size, (uint32_t)texture.size);
    for (unsigned i = 0; i < hostile->entries; i++)
        put_entry(out, "XBG7", at, first);
    buffer_append(out, descriptors.data, descriptors.size);
    buffer_append(out, texture.data, texture.size);
    bool ok = !out->failed && !descriptors.failed && !texture.failed;
    if (ok) {
        put_word(out->data + 4, (uint32_t)(out->size - 12) >> 16);
        put_word(out->data + 6, (uint32_t)(out->size - 12));
    }
    uint8_t *data = ok ? buffer_extend(out, SCAN_HOSTILE_BYTES) : NULL;
    if (data)
        hostile->fill(data, SCAN_HOSTILE_BYTES);
    buffer_free(&descriptors);
    buffer_free(&texture);
    return data != NULL;
}
