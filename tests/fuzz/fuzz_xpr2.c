/* fuzz_xpr2.c - XPR2 containers, and what the locator finds in them.
 *
 * An input that begins with the magic is a container. Any other is a recipe: a few bytes say what a directory
 * declares and what lies in the data section, so that a small change of the input is a large one of the
 * situation. A container of real size would leave a mutator next to nothing to hit.
 *
 *   recipe      u8 flags: 1 legacy base, 2 the last 64 bytes are cut off; u8 count; resources; items
 *   resource    u8 kind; 0 modulo 8: a texture, 3 x u8; else u8 count; markers
 *   marker      u8 vertices - 3, u8 triangles - 1, u8 layout
 *   item        u8 what, u8 a, u8 b, to the end of the input: see put_item
 */
#include <stdlib.h>
#include <string.h>

#include "bench/corpus/corpus.h"
#include "formats/anchor_scan.h"
#include "formats/xpr2.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/xpr2_build.h"

#define RESOURCES_MAX 16u
#define SECTION_MAX   ((size_t)96 << 10)

/* ---- recipes ------------------------------------------------------------------------------------------- */

struct script {
    const uint8_t *bytes;
    size_t size, pos;
};

static unsigned next(struct script *s)
{
    return s->pos < s->size ? s->bytes[s->pos++] : 0;
}

/* Usages 0 and 3 are POSITION and NORMAL; formats are whole codes as files have them, their low six bits the
 * number. */
#define F32X3 0x2A23B9u
#define F16X4 0x1A2360u
#define F16X2 0x2C235Fu
static const struct {
    uint32_t stride;
    size_t count;
    uint32_t triples[4][3];
} layouts[] = {
    {12, 1, {{0, F32X3, 0}}},
    {20, 2, {{0, F32X3, 0}, {12, F16X4, 0x00030000}}},
    {24, 3, {{0, F32X3, 0}, {12, F16X4, 0x00030000}, {20, F16X2, 0x00050000}}},
    {24, 2, {{0, F32X3, 0}, {12, F32X3, 0x00030000}}},
    {28, 3, {{0, F16X4, 0x00030000}, {8, F32X3, 0}, {20, 0x2A2187, 0x000A0000}}},
    {32, 4, {{0, F32X3, 0}, {12, F16X4, 0x00030000}, {20, F16X2, 0x00050000}, {24, 0x3F, 0x00060000}}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void put_marker(struct script *s, struct buffer *descriptor)
{
    unsigned vertices = 3 + next(s), triangles = 1 + next(s), choice = next(s);
    xbg7_build_marker(descriptor, vertices, 3 * triangles, layouts[choice % LAYOUTS].count,
                      layouts[choice % LAYOUTS].triples);
    if (choice & 0x80) /* one draw for half of it each */
        for (int i = 0; i < 2; i++)
            xbg7_build_record(descriptor, vertices, 3 * triangles / 2);
}

/* A texture header of thirteen words (formats/tx2d.md): tiled DXT1 whose address, width and height the script
 * chooses. */
static void put_texture(struct script *s, struct buffer *descriptor)
{
    unsigned address = next(s), width = next(s), height = next(s);
    for (int i = 0; i < 7; i++)
        put_u32be(descriptor, 0);
    put_u32be(descriptor, 2u | (width / 32 + 1) << 22 | 1u << 31);
    put_u32be(descriptor, 18u | address << 12);
    put_u32be(descriptor, width | height << 13);
    put_u32be(descriptor, 0);
    put_u32be(descriptor, 0);
    put_u32be(descriptor, 1u << 9);
}

/* A strip that names every vertex, the first triangles again when there are too many. */
static void put_indices(struct buffer *out, unsigned vertices, unsigned triangles)
{
    for (unsigned t = 0; t < triangles; t++)
        for (unsigned corner = 0; corner < 3; corner++)
            put_u16be(out, (uint16_t)((t + corner) % vertices));
    while (out->size % 4)
        put_u8(out, 0);
}

/* Vertices on a helix with unit normals, as every layout above stores them: f32 and f16 alike. */
static void put_vertices(struct buffer *out, unsigned vertices, unsigned layout, unsigned turn)
{
    static const uint16_t half[8][3] = {{0x3C00, 0, 0},           {0, 0x3C00, 0},      {0, 0, 0x3C00},
                                        {0xBC00, 0, 0},           {0x39A8, 0x39A8, 0}, {0, 0xB9A8, 0x39A8},
                                        {0x389E, 0x389E, 0x389E}, {0, 0, 0xBC00}};
    for (unsigned v = 0; v < vertices; v++) {
        size_t start = out->size;
        for (size_t e = 0; e < layouts[layout].count; e++) {
            const uint32_t *triple = layouts[layout].triples[e];
            for (int axis = 0; axis < 3 && triple[1] == F32X3; axis++)
                put_f32be(out, triple[2] ? (float)(axis == (int)(v % 3))
                                         : (float)((v * 7 + turn) % 32 + 3 * (unsigned)axis));
            for (int axis = 0; axis < 3 && triple[1] == F16X4; axis++)
                put_u16be(out, half[(v + turn) % 8][axis]);
            if (triple[1] == F16X4)
                put_u16be(out, 0);
        }
        while (out->size - start < layouts[layout].stride)
            put_u8(out, 0x42);
    }
}

/* One item of the data section. `a` and `b` are counts unless said otherwise. */
static void put_item(struct script *s, struct buffer *out)
{
    unsigned what = next(s), a = next(s), b = next(s), layout = what / 8 % LAYOUTS;
    switch (what % 8) {
    case 0: /* a whole block as a layout of one buffer */
    case 1:
        put_indices(out, 3 + a, 1 + b);
        put_vertices(out, 3 + a, layout, b);
        break;
    case 2: /* the halves alone */
        put_indices(out, 3 + a, 1 + b);
        break;
    case 3:
        put_vertices(out, 3 + a, layout, b);
        break;
    case 4: /* bytes of one value */
        memset(buffer_extend(out, a + 1), (int)b, a + 1);
        break;
    case 5: /* a copy of what lies 16 a bytes back */
        for (unsigned i = 0; i < 4 * (b + 1) && out->size >= 16 * (a + 1u); i++)
            put_u8(out, out->data[out->size - 16 * (a + 1)]);
        break;
    case 6: /* one byte overwritten, 16 a bytes back */
        if (out->size > 16 * (size_t)a)
            out->data[out->size - 1 - 16 * (size_t)a] = (uint8_t)b;
        break;
    default: /* to a multiple of 4096 or of 16 */
        while (out->size % (a & 1 ? 4096 : 16))
            put_u8(out, (uint8_t)b);
    }
}

static struct buffer build(struct script *s)
{
    static const char *const names[4] = {"e000", "e001", "a name", ""};
    struct xpr2_build *plan = calloc(1, sizeof *plan);
    struct buffer descriptors[RESOURCES_MAX] = {{0}}, section = {0};
    unsigned flags = next(s), count = next(s) % RESOURCES_MAX;
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = next(s);
        if (kind % 8 == 0) {
            put_texture(s, &descriptors[i]);
        } else {
            put_u32be(&descriptors[i], kind);
            for (unsigned m = 1 + next(s) % 4; m; m--)
                put_marker(s, &descriptors[i]);
        }
        xpr2_build_add(plan, kind % 8 == 0 ? "TX2D" : "XBG7", names[i % 4], &descriptors[i]);
    }
    while (s->pos < s->size && section.size < SECTION_MAX)
        put_item(s, &section);
    plan->data = section.data;
    plan->data_size = (uint32_t)section.size;
    plan->legacy = flags & 1;
    struct buffer out = xpr2_build_finish(plan);
    if (flags & 2)
        out.size -= 64;
    for (unsigned i = 0; i < count; i++)
        buffer_free(&descriptors[i]);
    buffer_free(&section);
    free(plan);
    return out;
}

/* ---- properties ---------------------------------------------------------------------------------------- */

/* The vector paths of the scan give what the portable one gives. */
static void must_scan_alike(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct anchor_map expected, map;
    const struct anchor_range wall = {size / 3, size / 2};
    size_t walls = size % 2 && wall.start < wall.end;
    MUST(anchor_scan(data, size, &wall, walls, ANCHOR_PORTABLE, &arena, &expected), "out of memory");
    for (int path = ANCHOR_PORTABLE + 1; path <= (int)anchor_best_path(); path++) {
        MUST(anchor_scan(data, size, &wall, walls, (enum anchor_path)path, &arena, &map), "out of memory");
        MUST(map.blocks == expected.blocks, "%zu blocks", map.blocks);
        for (size_t b = 0; b < map.blocks; b++)
            MUST(map.unit[b] == expected.unit[b] && map.small[b] == expected.small[b] &&
                     map.top[b] == expected.top[b],
                 "%s, block %zu", anchor_path_word((enum anchor_path)path), b);
    }
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must_scan_alike(data, size);
    if (size >= 4 && memcmp(data, "XPR2", 4) == 0) {
        must_decode_well(&format_xpr2, "x.xpr", data, size);
        return 0;
    }
    struct script script = {data, size, 0};
    struct buffer built = build(&script);
    must_decode_well(&format_xpr2, "x.xpr", built.data, built.size);
    buffer_free(&built);
    return 0;
}

void fuzz_seeds(void)
{
    /* vertices - 3, triangles - 1 and layout of a marker are a, b and what / 8 of the block that fits it */
    static const uint8_t single[] = {0, 1, 1, 0, 20, 25, 1, 8, 20, 25};
    static const uint8_t rivals[] = {1,  2, 1, 0, 9,  9, 2,  1, 0, 9, 9, 2,
                                     16, 9, 9, 4, 40, 0, 16, 9, 9, 6, 1, 7};
    static const uint8_t grouped[] = {0,  1,  1, 1,  20, 25, 1,  30, 35, 1,  2,
                                      20, 25, 2, 30, 35, 11, 20, 0,  11, 30, 0};
    /* 8 KiB of a texture, filled in two steps, and a block behind it */
    static const uint8_t walls[] = {0,   2, 8, 0,   31, 31, 1,   0, 40, 50,  0x81, 4,  0,
                                    255, 7, 1, 255, 4,  0,  255, 7, 1,  255, 8,    40, 50};
    static const uint8_t cut[] = {2, 1, 1, 0, 60, 70, 2, 16, 60, 70};
    put_seed("recipe-single", single, sizeof single);
    put_seed("recipe-rivals", rivals, sizeof rivals);
    put_seed("recipe-grouped", grouped, sizeof grouped);
    put_seed("recipe-walls", walls, sizeof walls);
    put_seed("recipe-cut", cut, sizeof cut);
    seed_xpr2(put_seed_buffer);
}
