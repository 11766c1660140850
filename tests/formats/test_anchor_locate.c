/* test_anchor_locate.c - geometry located in whole containers: each trap that made earlier decoders silently
 * wrong, and what must stay undecided. Offsets in `places` are in the data section. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "tests/support/xbg7_block.h"
#include "tests/support/xpr2_build.h"

struct fixture {
    struct arena arena;
    struct xpr2_build build;
    struct buffer data, bytes;
    struct buffer descriptors[64];
    struct container container;
};

static int start(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return 0;
}

static int finish(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    buffer_free(&f->data);
    buffer_free(&f->bytes);
    for (int i = 0; i < 64; i++)
        buffer_free(&f->descriptors[i]);
    free(f);
    return 0;
}

static void add_group(struct fixture *f, const struct sheet *const *sheets, size_t count, float size)
{
    struct buffer *descriptor = &f->descriptors[f->build.count];
    *descriptor = sheet_descriptor(sheets, count, size);
    xpr2_build_add(&f->build, "XBG7", "resource_name", descriptor);
}

static void add(struct fixture *f, const struct sheet *sheet)
{
    add_group(f, &sheet, 1, 0);
}

static const struct resource *decode(struct fixture *f)
{
    arena_reset(&f->arena);
    buffer_free(&f->bytes);
    f->build.data = f->data.data;
    f->build.data_size = (uint32_t)f->data.size;
    f->bytes = xpr2_build_finish(&f->build);
    f->container = xpr2_build_decode(&f->bytes, &f->arena);
    return f->container.resources;
}

static size_t noise(struct fixture *f, size_t size)
{
    put_noise(&f->data, size, (unsigned)f->data.size);
    return f->data.size;
}

static uint64_t place_of(const struct fixture *f, const struct resource *r)
{
    assert_true(r->buffer_count > 0);
    return r->buffers[0].index_offset - f->container.data_offset;
}

static void assert_at(const struct fixture *f, const struct resource *r, enum resource_status status,
                      size_t place)
{
    assert_int_equal(r->status, status);
    assert_int_equal(place_of(f, r), place);
    assert_int_equal(r->reason, DECLINE_NONE);
    assert_non_null(r->mesh);
    assert_true(mesh_is_sound(r->mesh));
}

static bool has_candidate(const struct fixture *f, const struct resource *r, size_t place)
{
    for (uint32_t i = 0; i < r->candidate_count; i++)
        if (r->candidates[i].buffers[0].index_offset - f->container.data_offset == place)
            return true;
    return false;
}

/* Every byte of the section once, in order. */
static void assert_covered(const struct fixture *f)
{
    const struct container *c = &f->container;
    uint64_t at = c->data_offset;
    for (uint32_t i = 0; i < c->coverage_count; i++) {
        assert_int_equal(c->coverage[i].start, at);
        assert_true(c->coverage[i].end > at);
        assert_true(i == 0 || c->coverage[i].kind != c->coverage[i - 1].kind);
        at = c->coverage[i].end;
    }
    assert_int_equal(at, c->data_offset + c->data_size);
}

static enum coverage_kind kind_at(const struct fixture *f, uint64_t place)
{
    const struct container *c = &f->container;
    for (uint32_t i = 0; i < c->coverage_count; i++)
        if (place + c->data_offset < c->coverage[i].end)
            return c->coverage[i].kind;
    return COVERAGE_KIND_COUNT;
}

/* ---- one block ---- */

static void test_proven(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 4000);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 4000);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_at(f, r, RESOURCE_PROVEN, place);
    assert_int_equal(r->buffers[0].index_count, 336);
    assert_int_equal(r->buffers[0].vertex_count, 72);
    assert_int_equal(r->buffers[0].stride, 24);
    assert_int_equal(r->buffers[0].vertex_offset, f->container.data_offset + place + 672);
    assert_int_equal(r->vertices, 72);
    assert_int_equal(r->triangles, 112);
    assert_true(r->score > 12 && r->margin > 6);
    /* The stored values, bit for bit. */
    for (uint32_t v = 0; v < 72; v++)
        for (int k = 0; k < 3; k++)
            assert_true(r->mesh->streams[0].data[3 * v + k] ==
                        load_f32be(f->data.data + place + 672 + 24 * v + 4 * k));
    assert_int_equal(r->mesh->streams[0].corner[5], 9);
    assert_non_null(mesh_stream(r->mesh, MESH_NORMAL, 0));
    assert_int_equal(mesh_stream(r->mesh, MESH_TEXCOORD, 0)->components, 2);
    assert_covered(f);
    assert_int_equal(kind_at(f, place), COVERAGE_INDEX);
    assert_int_equal(kind_at(f, place + 700), COVERAGE_VERTEX);
    assert_int_equal(kind_at(f, 1000), COVERAGE_OTHER);
}

static void test_pads(void **state)
{
    struct fixture *f = *state;
    /* 54 indices end at a multiple of 4; 6 x odd x odd ones do not. The first and the last bytes of the
     * section. */
    struct sheet even = {.columns = 4, .rows = 4, .size = 9},
                 odd = {.columns = 8, .rows = 8, .seed = 2, .size = 9};
    assert_int_equal(sheet_indices(&odd) * 2 % 4, 0);
    odd.columns = 2;
    odd.rows = 16; /* 90 indices: 180 bytes */
    size_t first = put_block(&f->data, &even);
    noise(f, 600);
    size_t last = put_block(&f->data, &odd);
    add(f, &odd);
    add(f, &even);
    const struct resource *r = decode(f);
    assert_int_equal(place_of(f, &r[0]), last);
    assert_int_equal(place_of(f, &r[1]), first);
}

static void test_without_normals(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 12, .rows = 11, .size = 30, .no_normals = true};
    noise(f, 4000);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 4000);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_at(f, r, RESOURCE_ASSIGNED, place); /* never proven: too little speaks for it */
    assert_null(mesh_stream(r->mesh, MESH_NORMAL, 0));
}

static void test_tiny_without_normals(void **state)
{
    struct fixture *f = *state;
    /* Eight vertices in 64 K places: that a list begins and vertices begin where it ends says more than the
     * few triangles do. A resource of other counts finds nothing. */
    struct sheet sheet = {.columns = 4, .rows = 2, .size = 3, .no_normals = true},
                 absent = {.columns = 5, .rows = 2, .size = 3, .no_normals = true};
    noise(f, 128 << 10);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 128 << 10);
    add(f, &sheet);
    add(f, &absent);
    const struct resource *r = decode(f);
    assert_at(f, &r[0], RESOURCE_ASSIGNED, place);
    assert_int_equal(r[1].status, RESOURCE_DECLINED);
}

static void test_ends_not_unit(void **state)
{
    struct fixture *f = *state;
    /* The slot in front holds a unit normal, the first and last do not: what a scan for run starts misses. */
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30}, orphan = {.columns = 3, .rows = 3, .size = 4};
    noise(f, 400);
    size_t place = put_block(&f->data, &sheet);
    memset(f->data.data + place + 672 + 12, 0x11, 8);
    memset(f->data.data + place + 672 + 71 * 24 + 12, 0x11, 8);
    put_vertices(&f->data, &orphan); /* abuts */
    noise(f, 400);
    add(f, &sheet);
    assert_at(f, decode(f), RESOURCE_ASSIGNED, place);
}

static void test_grouped(void **state)
{
    struct fixture *f = *state;
    struct sheet a = {.columns = 5, .rows = 4, .size = 8},
                 b = {.columns = 20, .rows = 11, .seed = 1, .size = 30},
                 c = {.columns = 6, .rows = 6, .seed = 2, .size = 5, .no_normals = true};
    const struct sheet *sheets[] = {&a, &b, &c};
    noise(f, 1000);
    size_t place = put_indices(&f->data, &a);
    put_indices(&f->data, &b);
    put_indices(&f->data, &c);
    size_t vertices = put_vertices(&f->data, &a);
    put_vertices(&f->data, &b);
    put_vertices(&f->data, &c);
    noise(f, 1000);
    add_group(f, sheets, 3, 0);
    const struct resource *r = decode(f);
    assert_true(r->status == RESOURCE_PROVEN || r->status == RESOURCE_ASSIGNED);
    assert_int_equal(place_of(f, r), place);
    assert_int_equal(r->buffer_count, 3);
    assert_int_equal(r->buffers[0].vertex_offset - f->container.data_offset, vertices);
    assert_int_equal(r->buffers[2].vertex_offset - f->container.data_offset, vertices + (20 + 220) * 24);
    assert_int_equal(r->mesh->part_count, 3);
    assert_int_equal(r->mesh->vertex_count, 276);
    assert_int_equal(r->mesh->parts[2].first_vertex, 240);
    /* The third buffer has no normals: its stream has none there. */
    assert_true(r->mesh->parts[1].streams != r->mesh->parts[2].streams);
}

static void test_sequence(void **state)
{
    struct fixture *f = *state;
    struct sheet a = {.columns = 5, .rows = 4, .size = 8},
                 b = {.columns = 20, .rows = 11, .seed = 1, .size = 30};
    const struct sheet *sheets[] = {&a, &b};
    size_t place = put_block(&f->data, &a);
    noise(f, ((f->data.size + 12 + 15) & ~(size_t)15) - f->data.size);
    size_t second = put_block(&f->data, &b);
    noise(f, 1000);
    add_group(f, sheets, 2, 0);
    const struct resource *r = decode(f);
    assert_true(r->status == RESOURCE_PROVEN || r->status == RESOURCE_ASSIGNED);
    assert_int_equal(place_of(f, r), place);
    assert_int_equal(r->buffers[1].index_offset - f->container.data_offset, second);
}

static void test_draws_are_parts(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    put_block(&f->data, &sheet);
    noise(f, 100);
    add(f, &sheet);
    xbg7_build_record(&f->descriptors[0], 72, 96);
    xbg7_build_record(&f->descriptors[0], 72, 240);
    f->build.entries[0].descriptor = f->descriptors[0].data;
    f->build.entries[0].size = (uint32_t)f->descriptors[0].size;
    const struct resource *r = decode(f);
    assert_int_equal(r->mesh->part_count, 2);
    assert_int_equal(r->mesh->parts[0].triangle_count, 32);
    assert_int_equal(r->mesh->parts[1].first_triangle, 32);
    assert_int_equal(r->mesh->parts[0].vertex_count, 27); /* two rows of quads */
    assert_int_equal(r->mesh->parts[1].first_vertex, 18);
}

/* ---- rivals ---- */

static void test_rivals(void **state)
{
    struct fixture *f = *state;
    struct sheet a = {.columns = 9, .rows = 8, .size = 30}, b = a;
    b.seed = 5;
    noise(f, 400);
    size_t first = put_block(&f->data, &a);
    noise(f, 400);
    size_t second = put_block(&f->data, &b);
    noise(f, 400);
    add(f, &a);
    add(f, &b);
    const struct resource *r = decode(f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r[i].status, RESOURCE_AMBIGUOUS);
        assert_int_equal(r[i].candidate_count, 2);
        assert_true(has_candidate(f, &r[i], first) && has_candidate(f, &r[i], second));
        assert_non_null(r[i].candidates[0].mesh);
        assert_true(r[i].margin < 1);
    }
    assert_int_equal(kind_at(f, second), COVERAGE_INDEX_LIKE); /* nobody's yet */
    assert_int_equal(kind_at(f, second + 1500), COVERAGE_VERTEX_LIKE);
}

static void test_imperfect_right_block(void **state)
{
    struct fixture *f = *state;
    /* One of the two has odd normals: that is no reason to take the other. */
    struct sheet right = {.columns = 12, .rows = 12, .size = 30, .odd_every = 5},
                 foreign = {12, 12, .seed = 3, .size = 30};
    noise(f, 400);
    put_block(&f->data, &foreign);
    noise(f, 400);
    size_t place = put_block(&f->data, &right);
    add(f, &right);
    const struct resource *r = decode(f);
    assert_int_equal(r->status, RESOURCE_AMBIGUOUS);
    assert_true(has_candidate(f, r, place));
}

static void test_stored_size_decides(void **state)
{
    struct fixture *f = *state;
    /* Eight sure placements show that the descriptor's float is the largest extent; two rivals differ in
     * size. */
    struct sheet sheets[10];
    size_t places[10];
    for (uint32_t i = 0; i < 10; i++) {
        sheets[i] = (struct sheet){.columns = 6 + i, .rows = 5, .seed = i, .size = 10.0f + 7.0f * (float)i};
        if (i == 9)
            sheets[i].columns = sheets[8].columns; /* equal counts, another size */
        noise(f, 300);
        places[i] = put_block(&f->data, &sheets[i]);
    }
    for (uint32_t i = 0; i < 10; i++) {
        const struct sheet *sheet = &sheets[i];
        add_group(f, &sheet, 1, sheets[i].size);
    }
    const struct resource *r = decode(f);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(r[i].status == RESOURCE_PROVEN || r[i].status == RESOURCE_ASSIGNED);
        assert_int_equal(place_of(f, &r[i]), places[i]);
        assert_int_equal(r[i].candidates[r[i].chosen].evidence.size_match, 1);
    }
    assert_int_equal(r[9].status, RESOURCE_ASSIGNED);
    assert_int_equal(r[9].candidate_count, 2);
}

static void test_shared_by_size(void **state)
{
    struct fixture *f = *state;
    /* As above, but the last one states its rival's size: both want one block, and the other, sound and of
     * their counts, is nobody's. Sharing is usual, and the other block is not of that size; but what is
     * shared is not proven. */
    struct sheet sheets[10];
    size_t places[10];
    for (uint32_t i = 0; i < 10; i++) {
        sheets[i] = (struct sheet){.columns = 6 + i, .rows = 5, .seed = i, .size = 10.0f + 7.0f * (float)i};
        if (i == 9)
            sheets[i].columns = sheets[8].columns;
        noise(f, 300);
        places[i] = put_block(&f->data, &sheets[i]);
    }
    for (uint32_t i = 0; i < 10; i++) {
        const struct sheet *sheet = &sheets[i];
        add_group(f, &sheet, 1, sheets[i == 9 ? 8 : i].size);
    }
    const struct resource *r = decode(f);
    for (int i = 8; i < 10; i++) {
        assert_int_equal(place_of(f, &r[i]), places[8]);
        assert_int_equal(r[i].status, RESOURCE_ASSIGNED);
        assert_true(has_candidate(f, &r[i], places[9]));
    }
}

static void test_size_that_is_not_stated(void **state)
{
    struct fixture *f = *state;
    /* Eight state their size, one has a zero in its place, one states another: only the last is a mismatch,
     * and as far off as that it is not claimed: a block of equal counts stands there in its own one's stead.
     */
    struct sheet sheets[10];
    size_t places[10];
    for (uint32_t i = 0; i < 10; i++) {
        sheets[i] = (struct sheet){.columns = 6 + i, .rows = 5, .seed = i, .size = 10.0f + 7.0f * (float)i};
        noise(f, 300);
        places[i] = put_block(&f->data, &sheets[i]);
    }
    for (uint32_t i = 0; i < 10; i++) {
        const struct sheet *sheet = &sheets[i];
        add_group(f, &sheet, 1, i == 8 ? 0 : i == 9 ? 1234 : sheets[i].size);
    }
    const struct resource *r = decode(f);
    static const int match[10] = {1, 1, 1, 1, 1, 1, 1, 1, 0, -2};
    for (uint32_t i = 0; i < 10; i++) {
        const struct anchor_evidence *e = &r[i].candidates[r[i].chosen].evidence;
        assert_int_equal(place_of(f, &r[i]), places[i]);
        assert_int_equal(e->size_match, match[i]);
        assert_true(match[i] > 0 ? e->size_odds > 3 : match[i] < 0 ? e->size_odds < -1 : e->size_odds == 0);
    }
    assert_int_equal(r[8].status, RESOURCE_PROVEN);
    assert_int_equal(r[9].status, RESOURCE_AMBIGUOUS);
    assert_true(r[9].margin > 1);
    assert_string_equal(r[9].error.msg, "it is far from the size that its descriptor stores");
}

static void test_equal_and_mirrored_blocks(void **state)
{
    struct fixture *f = *state;
    /* Which of two equal blocks, or of two reflections, is whose makes no difference. */
    struct sheet a = {.columns = 9, .rows = 8, .size = 30}, b = {.columns = 11, .rows = 8, .size = 30},
                 mirror = b;
    mirror.mirrored = true;
    noise(f, 400);
    put_block(&f->data, &a);
    noise(f, 400);
    put_block(&f->data, &a);
    noise(f, 400);
    size_t first = put_block(&f->data, &b);
    noise(f, 400);
    size_t second = put_block(&f->data, &mirror);
    add(f, &a);
    add(f, &b);
    add(f, &mirror);
    const struct resource *r = decode(f);
    assert_int_not_equal(r[0].status, RESOURCE_AMBIGUOUS);
    assert_int_equal(r[0].candidate_count, 2);
    assert_int_not_equal(r[1].status, RESOURCE_AMBIGUOUS);
    assert_int_not_equal(r[2].status, RESOURCE_AMBIGUOUS);
    assert_true(has_candidate(f, &r[1], first) && has_candidate(f, &r[1], second));
}

static void test_twins_have_two_blocks(void **state)
{
    struct fixture *f = *state;
    /* Thirty models in the order of the directory, and in their middle a pair whose second block lies far
     * behind the rest: the first one is nearer to both, and a reflection is the same answer. What counts on
     * in its name has the other block. */
    enum { MODELS = 30, FIRST = 14 };
    static char names[MODELS][16];
    struct sheet sheets[MODELS], twin = {.columns = 7, .rows = 9, .size = 30}, mirror = twin;
    size_t first = 0;
    mirror.mirrored = true;
    for (uint32_t i = 0; i < MODELS; i++) {
        const struct sheet *sheet = i == FIRST ? &twin : i == FIRST + 1 ? &mirror : &sheets[i];
        sheets[i] = (struct sheet){.columns = 10 + i, .rows = 5, .seed = i, .size = 12};
        f->descriptors[i] = sheet_descriptor(&sheet, 1, 0);
        snprintf(names[i], sizeof names[i],
                 i == FIRST       ? "bdy_01"
                 : i == FIRST + 1 ? "bdy_02"
                                  : "other%02u_a",
                 i);
        xpr2_build_add(&f->build, "XBG7", names[i], &f->descriptors[i]);
        if (i == FIRST + 1)
            continue;
        noise(f, 200);
        size_t place = put_block(&f->data, sheet);
        first = i == FIRST ? place : first;
    }
    noise(f, 4 << 20);
    put_block(&f->data, &twin); /* a copy is no reflection */
    noise(f, 200);
    size_t second = put_block(&f->data, &mirror);
    const struct resource *r = decode(f);
    assert_int_equal(place_of(f, &r[FIRST]), first);
    assert_int_equal(place_of(f, &r[FIRST + 1]), second);
    assert_int_equal(r[FIRST].candidates[0].answer, r[FIRST].candidates[1].answer);
    for (int i = FIRST; i < FIRST + 2; i++)
        assert_true(r[i].status == RESOURCE_ASSIGNED || r[i].status == RESOURCE_PROVEN);
}

static void test_shared_block(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 400);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 400);
    add(f, &sheet);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_int_equal(place_of(f, &r[0]), place);
    assert_int_equal(place_of(f, &r[1]), place);
    assert_covered(f);
}

static void test_part_of_a_group(void **state)
{
    struct fixture *f = *state;
    /* A small resource looks like a part of a grouped one, and has a block of its own. Only exclusivity
     * tells. */
    struct sheet a = {.columns = 5, .rows = 4, .size = 8},
                 b = {.columns = 20, .rows = 11, .seed = 1, .size = 30},
                 own = {.columns = 20, .rows = 11, .seed = 7, .size = 12};
    const struct sheet *sheets[] = {&a, &b};
    size_t group = put_indices(&f->data, &a);
    put_indices(&f->data, &b);
    put_vertices(&f->data, &a);
    put_vertices(&f->data, &b);
    noise(f, 500);
    size_t place = put_block(&f->data, &own);
    noise(f, 500);
    add(f, &own);
    add_group(f, sheets, 2, 0);
    const struct resource *r = decode(f);
    assert_int_equal(place_of(f, &r[0]), place);
    assert_int_equal(place_of(f, &r[1]), group);
    assert_int_not_equal(r[0].status, RESOURCE_AMBIGUOUS);
}

/* ---- a truncated file: what is missing cannot be excluded ---- */

static bool is_claimed(const struct resource *r)
{
    return r->status == RESOURCE_PROVEN || r->status == RESOURCE_ASSIGNED;
}

/* Decodes what is left without the last `missing` bytes. */
static const struct resource *decode_cut(struct fixture *f, size_t missing)
{
    decode(f);
    f->bytes.size -= missing;
    f->container = xpr2_build_decode(&f->bytes, &f->arena);
    assert_int_equal(f->container.reason, CONTAINER_TRUNCATED);
    return f->container.resources;
}

static void test_rival_cut_off(void **state)
{
    struct fixture *f = *state;
    /* The last resource's block is cut off; what is left of equal counts is another's, or nobody's. Where the
     * stored size agrees, a place is claimed all the same. */
    struct sheet sheets[10];
    for (uint32_t i = 0; i < 10; i++) {
        sheets[i] = (struct sheet){.columns = 6 + i, .rows = 5, .seed = i, .size = 10.0f + 7.0f * (float)i};
        if (i == 9)
            sheets[i].columns = sheets[8].columns;
        noise(f, 300);
        put_block(&f->data, &sheets[i]);
    }
    for (uint32_t i = 0; i < 10; i++) {
        const struct sheet *sheet = &sheets[i];
        add_group(f, &sheet, 1, sheets[i].size);
    }
    const struct resource *r = decode_cut(f, 30);
    for (uint32_t i = 0; i < 9; i++)
        assert_true(is_claimed(&r[i]));
    assert_false(is_claimed(&r[9]));
    assert_int_equal(r[9].candidate_count, 1);
}

/* Fifty resources in sight and five cut off, none of which states a size; `rivals` of the fifty have another
 * block of their counts. How many are claimed. */
static unsigned claimed_beside_rivals(struct fixture *f, uint32_t rivals)
{
    unsigned claimed = 0;
    size_t cut = 0;
    for (uint32_t i = 0; i < 55; i++) {
        struct sheet sheet = {.columns = 6 + i, .rows = 5, .seed = i, .size = 10.0f + 7.0f * (float)i};
        cut = i == 50 ? f->data.size : cut;
        noise(f, 300);
        put_block(&f->data, &sheet);
        add(f, &sheet);
        sheet.seed += 100;
        if (i < rivals)
            put_block(&f->data, &sheet);
    }
    const struct resource *r = decode_cut(f, f->data.size - cut);
    for (uint32_t i = 0; i < 50; i++)
        claimed += is_claimed(&r[i]);
    for (uint32_t i = 50; i < 55; i++)
        assert_int_equal(r[i].reason, DECLINE_TRUNCATED);
    return claimed;
}

static void test_stand_ins_are_improbable(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(claimed_beside_rivals(f, 0), 50);
}

static void test_stand_ins_are_common(void **state)
{
    struct fixture *f = *state;
    /* Ten of fifty could be taken for another: so could any whose own block was cut off. */
    assert_int_equal(claimed_beside_rivals(f, 10), 0);
}

static void test_sharing_in_a_truncated_file(void **state)
{
    struct fixture *f = *state;
    /* Of two resources with one block in sight, one may have had a block of its own in what is missing. */
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 400);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 4000);
    add(f, &sheet);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_true(is_claimed(&r[0]) && is_claimed(&r[1]));
    r = decode_cut(f, 2000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r[i].status, RESOURCE_AMBIGUOUS);
        assert_true(has_candidate(f, &r[i], place));
    }
}

static void test_truncated_single_model(void **state)
{
    struct fixture *f = *state;
    /* A file's only model lies at the start of the data section: there it is claimed. */
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    put_block(&f->data, &sheet);
    noise(f, 4000);
    add(f, &sheet);
    assert_at(f, decode_cut(f, 2000), RESOURCE_PROVEN, 0);
    buffer_clear(&f->data);
    noise(f, 400);
    put_block(&f->data, &sheet);
    noise(f, 4000);
    assert_int_equal(decode_cut(f, 2000)->status, RESOURCE_AMBIGUOUS);
}

/* ---- traps ---- */

static void test_shifted_through_padding(void **state)
{
    struct fixture *f = *state;
    /* Zeros in front: with them as the first two indices, and with the last two as a coordinate, four bytes
     * in front of the block is one of the same counts. */
    struct sheet sheet = {.columns = 12, .rows = 40, .size = 30, .no_normals = true};
    noise(f, 4000);
    for (int i = 0; i < 8; i++)
        be16(&f->data, 0);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 4000);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_at(f, r, RESOURCE_ASSIGNED, place);
    for (uint32_t i = 0; i < r->candidate_count; i++)
        assert_true(i == r->chosen || r->candidates[i].score < 0);
}

/* A list that leaves the last row of its vertices unused, and a resource that declares `vertices` of them. */
static size_t put_longer_run(struct fixture *f, const struct sheet *used, uint32_t vertices)
{
    static const uint32_t elements[][3] = {
        {0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};
    struct sheet whole = *used;
    whole.rows++;
    noise(f, 400);
    size_t place = put_indices(&f->data, used);
    put_vertices(&f->data, &whole);
    noise(f, 400);
    xbg7_build_marker(&f->descriptors[0], vertices, sheet_indices(used), 3, elements);
    xpr2_build_add(&f->build, "XBG7", "owner", &f->descriptors[0]);
    return place;
}

static void test_unused_vertices(void **state)
{
    struct fixture *f = *state;
    /* The last row is used by nothing: the run of normals says how many vertices there are. A resource that
     * is as large as what is used, and absent, finds perfect indices there, and a run that goes on. */
    struct sheet used = {.columns = 9, .rows = 15, .size = 30};
    size_t place = put_longer_run(f, &used, sheet_vertices(&used) + used.columns);
    add(f, &used);
    const struct resource *r = decode(f);
    assert_at(f, &r[0], RESOURCE_ASSIGNED, place);
    assert_int_equal(r[1].status, RESOURCE_DECLINED);
    assert_true(has_candidate(f, &r[1], place));
}

static void test_short_window_of_a_longer_run(void **state)
{
    struct fixture *f = *state;
    /* A list that reaches the first 135 of 144 vertices, nobody's. To an absent resource of 137 it is a
     * window that falls two short, and everything else about it is fine; but the normals go on. */
    struct sheet used = {.columns = 9, .rows = 15, .size = 30};
    size_t place = put_longer_run(f, &used, sheet_vertices(&used) + 2);
    const struct resource *r = decode(f);
    assert_at(f, &r[0], RESOURCE_AMBIGUOUS, place);
    assert_true(r[0].margin > 1);
    assert_string_equal(r[0].error.msg,
                        "its indices do not use all vertices, and the normals go on behind them");
}

/* Sides of boxes, the triangles from the first to the last or the other way round. */
static void put_boxes(struct buffer *out, uint32_t quads, bool backwards)
{
    for (uint32_t i = 0; i < quads; i++)
        for (int k = 0; k < 6; k++)
            be16(out, (uint16_t)(4 * (backwards ? quads - 1 - i : i) + (uint32_t) "\0\1\2\0\2\3"[k]));
    for (uint32_t i = 0; i < 4 * quads; i++) {
        bef32(out, (float)(50 * (int)(i / 4) + 42 * (int)(i % 2)));
        bef32(out, (float)(-900 + 50 * (int)(i % 4 / 2)));
        bef32(out, 2400.0f);
        be16(out, 0);
        be16(out, 0);
        be16(out, half_of(1.0f));
        be16(out, 0);
        be32(out, 0);
    }
}

static void test_box_attractor(void **state)
{
    struct fixture *f = *state;
    /* Boxes of 100 quads: any smaller count of whole quads would find its indices and only unit normals
     * there. Its own block is absent. */
    noise(f, 500);
    put_boxes(&f->data, 100, false);
    noise(f, 500);
    static const uint32_t elements[][3] = {
        {0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};
    for (uint32_t quads = 80; quads < 100; quads += 3) {
        xbg7_build_marker(&f->descriptors[f->build.count], 4 * quads, 6 * quads, 3, elements);
        xpr2_build_add(&f->build, "XBG7", "victim", &f->descriptors[f->build.count]);
    }
    const struct resource *r = decode(f);
    for (uint32_t i = 0; i < f->container.resource_count; i++)
        assert_true(r[i].status == RESOURCE_DECLINED || r[i].status == RESOURCE_AMBIGUOUS);
}

static void test_tails_of_longer_lists(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 44 }; /* more than are decided together exactly */
    /* Drawn from the last side to the first, each of these blocks holds a perfect place for every smaller
     * one: the end of its list, with its first vertices. The run of normals goes on to the longer one's end.
     */
    static const uint32_t elements[][3] = {
        {0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};
    size_t places[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t quads = 10 + 2 * i;
        places[i] = noise(f, 500);
        put_boxes(&f->data, quads, true);
        xbg7_build_marker(&f->descriptors[i], 4 * quads, 6 * quads, 3, elements);
        xpr2_build_add(&f->build, "XBG7", "boxes", &f->descriptors[i]);
    }
    noise(f, 500);
    const struct resource *r = decode(f);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_true(is_claimed(&r[i]));
        assert_int_equal(place_of(f, &r[i]), places[i]);
    }
}

static void test_walls(void **state)
{
    struct fixture *f = *state;
    /* The same block in a texture's pixels is no place; a texture that leaves the section is no wall. */
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    size_t copy = noise(f, 0x1000 + 128);
    put_block(&f->data, &sheet);
    noise(f, 0x3000 + 256 - f->data.size);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 0x5000 - f->data.size);
    struct buffer *texture = &f->descriptors[63];
    for (int i = 0; i < 7; i++)
        be32(texture, 0);
    be32(texture, 2 | 2u << 22 | 1u << 31); /* 64 x 64, 1 byte: a page at 0x1000 */
    be32(texture, 2 | 0x1000);
    be32(texture, 63 | 63 << 13);
    be32(texture, 0);
    be32(texture, 0);
    be32(texture, 1 << 9);
    add(f, &sheet);
    xpr2_build_add(&f->build, "TX2D", "texture", texture);
    const struct resource *r = decode(f);
    assert_int_equal(place_of(f, r), place);
    assert_false(has_candidate(f, r, copy));
    assert_int_equal(kind_at(f, copy), COVERAGE_TEXTURE);
    assert_covered(f);
    be32_at(texture, 36, 8191 | 8191u << 13); /* far past the section's end: contested */
    be32_at(texture, 28, 2 | 256u << 22 | 1u << 31);
    r = decode(f);
    assert_true(f->container.textures[0].contested);
    assert_true(has_candidate(f, r, copy));
    assert_covered(f);
}

/* ---- declined ---- */

static void test_out_of_range_index(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 4000);
    size_t place = put_block(&f->data, &sheet);
    noise(f, 4000);
    f->data.data[place + 100] = 0x7F; /* index 50 */
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_int_equal(r->status, RESOURCE_DECLINED);
    assert_int_equal(r->reason, DECLINE_OUT_OF_RANGE_INDEX);
    assert_int_equal(r->error.offset, f->container.data_offset + place + 100);
    assert_int_equal(r->vertices, 72);
}

static void test_absent(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 8000);
    add(f, &sheet);
    const struct resource *r = decode(f);
    assert_int_equal(r->reason, DECLINE_NO_CANDIDATE);
    assert_int_equal(r->candidate_count, 0);
    assert_covered(f);
}

static void test_cut_off(void **state)
{
    struct fixture *f = *state;
    struct sheet sheet = {.columns = 9, .rows = 8, .size = 30};
    noise(f, 4000);
    put_block(&f->data, &sheet);
    add(f, &sheet);
    decode(f);
    f->bytes.size -= 30; /* the last vertex */
    struct container c = xpr2_build_decode(&f->bytes, &f->arena);
    assert_int_equal(c.reason, CONTAINER_TRUNCATED);
    assert_int_equal(c.resources[0].status, RESOURCE_DECLINED);
    assert_int_equal(c.resources[0].reason, DECLINE_TRUNCATED);
}

/* ---- hostile data: nothing may be claimed, and it has to end ---- */

static void test_hostile(void **state)
{
    struct fixture *f = *state;
    enum { SIZE = 1 << 20 };
    struct sheet sheets[12];
    for (uint32_t i = 0; i < 12; i++) {
        sheets[i] = (struct sheet){.columns = 2 + i * i, .rows = 2 + i, .size = 3, .no_normals = i % 3 == 2};
        add(f, &sheets[i]);
    }
    static const char *const kinds[] = {"zeros", "unit normals", "small words", "run starts", "0xFF"};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        buffer_clear(&f->data);
        uint8_t *bytes = buffer_extend(&f->data, SIZE);
        memset(bytes, kind == 4 ? 0xFF : 0, SIZE);
        for (size_t i = 0; i < SIZE && kind < 4; i += 2) {
            uint16_t word = kind == 1   ? (i / 2 % 3 == 0 ? 0x3C00 : 0)
                            : kind == 2 ? (uint16_t)(i / 2 * 7 % 4)
                            : kind == 3 ? (i / 2 % 24 == 0 ? 0x3C00 : 0)
                                        : 0;
            bytes[i] = (uint8_t)(word >> 8);
            bytes[i + 1] = (uint8_t)word;
        }
        const struct resource *r = decode(f);
        for (uint32_t i = 0; i < f->container.resource_count; i++)
            assert_true(r[i].status == RESOURCE_DECLINED || r[i].status == RESOURCE_AMBIGUOUS);
        assert_covered(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_proven, start, finish),
        cmocka_unit_test_setup_teardown(test_pads, start, finish),
        cmocka_unit_test_setup_teardown(test_without_normals, start, finish),
        cmocka_unit_test_setup_teardown(test_tiny_without_normals, start, finish),
        cmocka_unit_test_setup_teardown(test_ends_not_unit, start, finish),
        cmocka_unit_test_setup_teardown(test_grouped, start, finish),
        cmocka_unit_test_setup_teardown(test_sequence, start, finish),
        cmocka_unit_test_setup_teardown(test_draws_are_parts, start, finish),
        cmocka_unit_test_setup_teardown(test_rivals, start, finish),
        cmocka_unit_test_setup_teardown(test_imperfect_right_block, start, finish),
        cmocka_unit_test_setup_teardown(test_stored_size_decides, start, finish),
        cmocka_unit_test_setup_teardown(test_shared_by_size, start, finish),
        cmocka_unit_test_setup_teardown(test_size_that_is_not_stated, start, finish),
        cmocka_unit_test_setup_teardown(test_equal_and_mirrored_blocks, start, finish),
        cmocka_unit_test_setup_teardown(test_twins_have_two_blocks, start, finish),
        cmocka_unit_test_setup_teardown(test_shared_block, start, finish),
        cmocka_unit_test_setup_teardown(test_part_of_a_group, start, finish),
        cmocka_unit_test_setup_teardown(test_rival_cut_off, start, finish),
        cmocka_unit_test_setup_teardown(test_stand_ins_are_improbable, start, finish),
        cmocka_unit_test_setup_teardown(test_stand_ins_are_common, start, finish),
        cmocka_unit_test_setup_teardown(test_sharing_in_a_truncated_file, start, finish),
        cmocka_unit_test_setup_teardown(test_truncated_single_model, start, finish),
        cmocka_unit_test_setup_teardown(test_shifted_through_padding, start, finish),
        cmocka_unit_test_setup_teardown(test_unused_vertices, start, finish),
        cmocka_unit_test_setup_teardown(test_short_window_of_a_longer_run, start, finish),
        cmocka_unit_test_setup_teardown(test_box_attractor, start, finish),
        cmocka_unit_test_setup_teardown(test_tails_of_longer_lists, start, finish),
        cmocka_unit_test_setup_teardown(test_walls, start, finish),
        cmocka_unit_test_setup_teardown(test_out_of_range_index, start, finish),
        cmocka_unit_test_setup_teardown(test_absent, start, finish),
        cmocka_unit_test_setup_teardown(test_cut_off, start, finish),
        cmocka_unit_test_setup_teardown(test_hostile, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
