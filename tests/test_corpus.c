/* test_corpus.c - the corpus generator: repeatable, complete, and its truth agrees with an independent
 * reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/corpus/corpus.h"
#include "bench/corpus/corpus_classes.h"
#include "bench/corpus/corpus_internal.h"

#define SMALL 0.01

/* ---- folders and files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/anchorage-corpus-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char *roots[] = {folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (const FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info != FTS_D)
            remove(entry->fts_accpath);
    return walk ? fts_close(walk) : -1;
}

static const char *in_folder(const char *name)
{
    static char paths[4][4096];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_corpus(const char *name, uint64_t seed, const char *models)
{
    struct error err = {0};
    struct corpus_options options = {
        .directory = in_folder(name), .seed = seed, .scale = SMALL, .models = models};
    if (!corpus_write(&options, &err))
        fail_msg("%s", err.msg);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static uint64_t fnv(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Over the relative paths and the bytes of every file below. */
static uint64_t hash_tree(const char *root)
{
    char *roots[] = {(char *)root, NULL};
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    assert_non_null(walk);
    for (const FTSENT *entry; (entry = fts_read(walk));) {
        if (entry->fts_info != FTS_F)
            continue;
        size_t size;
        uint8_t *bytes = read_file(entry->fts_path, &size);
        hash = fnv(hash, entry->fts_path + strlen(root), strlen(entry->fts_path + strlen(root)));
        hash = fnv(hash, bytes, size);
        free(bytes);
    }
    fts_close(walk);
    return hash;
}

static json_t *read_lines(const char *path)
{
    json_t *lines = json_array();
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (;;) {
        json_error_t error;
        json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
        if (!line)
            break;
        json_array_append_new(lines, line);
    }
    fclose(file);
    assert_true(json_array_size(lines) > 0);
    return lines;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool has_class(const json_t *resource, const char *word)
{
    size_t i;
    json_t *class;
    json_array_foreach(json_object_get(resource, "classes"), i,
                       class) if (!strcmp(json_string_value(class), word)) return true;
    return false;
}

/* ---- shapes ---- */

static void check_shape(const struct shape *shape)
{
    unsigned agree = 0;
    for (uint32_t v = 0; v < shape->vertex_count; v++) {
        const float *n = shape->normal + (size_t)v * 3;
        assert_float_equal(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1.0f, 1e-4f);
    }
    for (uint32_t t = 0; t < shape->triangle_count; t++) {
        const float *p[3], *n[3];
        for (unsigned k = 0; k < 3; k++) {
            uint32_t corner = shape->corner[(size_t)t * 3 + k];
            assert_true(corner < shape->vertex_count);
            p[k] = shape->position + (size_t)corner * 3;
            n[k] = shape->normal + (size_t)corner * 3;
        }
        float u[3], v[3], dot = 0;
        for (int i = 0; i < 3; i++) {
            u[i] = p[1][i] - p[0][i];
            v[i] = p[2][i] - p[0][i];
        }
        for (int i = 0; i < 3; i++)
            dot += (u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3]) *
                   (n[0][i] + n[1][i] + n[2][i]);
        agree += dot > 0;
    }
    assert_true(agree >= shape->triangle_count * 0.98);
}

static void test_shapes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct rng rng = rng_make(3, i);
        uint32_t triangles = 1 + i * i / 8;
        struct shape shape = shape_random(&rng, triangles, 30);
        assert_non_null(shape.corner);
        check_shape(&shape);
        assert_true(triangles < 50 ||
                    (shape.triangle_count > triangles / 3 && shape.triangle_count < triangles * 2));
        shape_free(&shape);
    }
}

/* Positive and negative x change places; outward stays outward. */
static void test_mirror(void **state)
{
    (void)state;
    struct rng rng = rng_make(4, 0);
    struct shape shape = shape_make(&rng, SHAPE_SPHERE, false, 500, 10), mirror = shape_mirror(&shape);
    check_shape(&mirror);
    for (uint32_t v = 0; v < shape.vertex_count; v++)
        assert_true(mirror.position[(size_t)v * 3] == -shape.position[(size_t)v * 3]);
    shape_free(&shape);
    shape_free(&mirror);
}

/* ---- the folder as a whole ---- */

static void test_equal_seeds(void **state)
{
    (void)state;
    write_corpus("same1", 7, NULL);
    write_corpus("same2", 7, NULL);
    write_corpus("other", 8, NULL);
    uint64_t hash = hash_tree(in_folder("same1"));
    assert_true(hash == hash_tree(in_folder("same2")));
    assert_true(hash != hash_tree(in_folder("other")));
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const words[] = {
#define CLASS_WORD(id, word) word,
        CORPUS_CLASSES(CLASS_WORD)
#undef CLASS_WORD
    };
    write_corpus("classes", 1, NULL);
    json_t *lines = read_lines(in_folder("classes/truth.jsonl")), *line;
    size_t count[CLASS_COUNT] = {0}, resources = 0, i;
    json_array_foreach(lines, i, line)
    {
        if (strcmp(text(line, "format"), "xbg7") != 0)
            continue;
        resources++;
        for (unsigned k = 0; k < CLASS_COUNT; k++)
            count[k] += has_class(line, words[k]);
    }
    assert_true(resources >= 400);
    for (unsigned k = 0; k < CLASS_COUNT; k++)
        if (count[k] * 100 < resources)
            fail_msg("class %s: %zu of %zu", words[k], count[k], resources);
    json_decref(lines);
}

/* Every container's name in the truth, "archive!member" at any depth, is found. */
static bool member_exists(const char *archive_path, const void *bytes, size_t size, const char *member)
{
    const char *deeper = strchr(member, '!');
    size_t length = deeper ? (size_t)(deeper - member) : strlen(member);
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    bool found = false;
    archive_read_support_format_all(archive);
    archive_read_support_filter_all(archive);
    assert_int_equal(bytes ? archive_read_open_memory(archive, bytes, size)
                           : archive_read_open_filename(archive, archive_path, 1 << 16),
                     ARCHIVE_OK);
    while (!found && archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        found = strlen(name) == length && memcmp(name, member, length) == 0;
        if (found && deeper) {
            size_t inner_size = (size_t)archive_entry_size(entry);
            void *inner = malloc(inner_size);
            assert_int_equal(archive_read_data(archive, inner, inner_size), inner_size);
            found = member_exists(NULL, inner, inner_size, deeper + 1);
            free(inner);
        }
    }
    archive_read_free(archive);
    return found;
}

static void test_addresses(void **state)
{
    (void)state;
    json_t *lines = read_lines(in_folder("classes/truth.jsonl")), *line;
    unsigned plain = 0, archived = 0, nested = 0;
    char last[512] = "";
    size_t i;
    json_array_foreach(lines, i, line)
    {
        char address[512], path[1024];
        snprintf(address, sizeof address, "%s", text(line, "container"));
        if (strcmp(address, last) == 0)
            continue;
        snprintf(last, sizeof last, "%s", address);
        char *member = strchr(address, '!');
        if (member)
            *member++ = '\0';
        snprintf(path, sizeof path, "%s/classes/%s", folder, address);
        assert_int_equal(access(path, R_OK), 0);
        if (member && !member_exists(path, NULL, 0, member))
            fail_msg("%s has no %s", address, member);
        plain += !member;
        archived += member != NULL;
        nested += member && strchr(member, '!');
    }
    assert_true(plain > 20 && archived > 20 && nested > 5);
    json_decref(lines);
}

/* ---- an independent reading of the placements ---- */

static uint32_t u32(const uint8_t *bytes, size_t size, uint64_t at)
{
    assert_true(at + 4 <= size);
    return (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 | (uint32_t)bytes[at + 2] << 8 |
           bytes[at + 3];
}

static float f32(const uint8_t *bytes, size_t size, uint64_t at)
{
    union {
        uint32_t u;
        float f;
    } pun = {u32(bytes, size, at)};
    return pun.f;
}

static uint64_t align_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* A container, and the descriptor that is looked at. */
struct view {
    const uint8_t *bytes;
    size_t size;
    uint64_t data, start, end; /* data section; descriptor */
};

static struct view view_of(const uint8_t *bytes, size_t size, const json_t *resource)
{
    struct view view = {.bytes = bytes, .size = size};
    uint32_t base = has_class(resource, "legacy-base") ? 0x10 : 0x0C;
    uint64_t entry = 0x10 + 16 * (uint64_t)number(resource, "index");
    assert_memory_equal(bytes, "XPR2", 4);
    assert_memory_equal(bytes + entry, "XBG7", 4);
    view.data = u32(bytes, size, 4) + (base == 0x0C ? 12 : 0);
    view.start = base + u32(bytes, size, entry + 4);
    view.end = view.start + u32(bytes, size, entry + 8);
    uint64_t name = base + u32(bytes, size, entry + 12);
    assert_string_equal((const char *)bytes + name, text(resource, "name"));
    assert_int_equal(bytes[name - 1], 0);
    return view;
}

/* The offset of POSITION in the declaration of the marker with these counts; the vertex count stands before
 * it. */
static uint32_t position_offset(const struct view *view, json_int_t indices, json_int_t vertices)
{
    for (uint64_t m = view->start + 32; m + 12 <= view->end; m += 4) {
        if (u32(view->bytes, view->size, m) != 2 * indices ||
            u32(view->bytes, view->size, m + 4) != indices ||
            u32(view->bytes, view->size, m - 32) != vertices)
            continue;
        for (uint64_t at = m + 8; u32(view->bytes, view->size, at) != 0x00FF0000; at += 12)
            if (u32(view->bytes, view->size, at + 8) == 0)
                return u32(view->bytes, view->size, at);
    }
    fail_msg("no marker of %lld indices and %lld vertices", (long long)indices, (long long)vertices);
    return 0;
}

/* The rules of formats/xbg7.md section 4. */
static void check_places(const struct view *view, const json_t *buffers, bool sequence)
{
    uint64_t expect = (uint64_t)number(json_array_get(buffers, 0), "index_offset");
    size_t count = json_array_size(buffers), i;
    json_t *buffer;
    assert_int_equal((expect - view->data) % 4, 0);
    json_array_foreach(buffers, i, buffer)
    {
        if (sequence && i > 0)
            expect = view->data + align_up(expect - view->data + 12, 16);
        assert_int_equal(number(buffer, "index_offset"), expect);
        expect = align_up(expect + 2 * (uint64_t)number(buffer, "index_count") - view->data, 4) + view->data;
        if (!sequence)
            continue;
        assert_int_equal(number(buffer, "vertex_offset"), expect);
        expect += (uint64_t)(number(buffer, "vertex_count") * number(buffer, "stride"));
    }
    for (i = 0; !sequence && i < count; i++) {
        buffer = json_array_get(buffers, i);
        assert_int_equal(number(buffer, "vertex_offset"), expect);
        expect += (uint64_t)(number(buffer, "vertex_count") * number(buffer, "stride"));
    }
    assert_true(expect <= view->size);
}

static void check_placement(const struct view *view, const json_t *buffers, const json_t *bounds)
{
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    size_t i;
    json_t *buffer;
    json_array_foreach(buffers, i, buffer)
    {
        json_int_t indices = number(buffer, "index_count"), vertices = number(buffer, "vertex_count");
        uint64_t at = (uint64_t)number(buffer, "index_offset"), stride = (uint64_t)number(buffer, "stride");
        for (json_int_t k = 0; k < indices; k++, at += 2)
            assert_true((view->bytes[at] << 8 | view->bytes[at + 1]) < vertices);
        at = (uint64_t)number(buffer, "vertex_offset") + position_offset(view, indices, vertices);
        for (json_int_t v = 0; v < vertices; v++, at += stride) {
            for (unsigned k = 0; k < 3; k++) {
                float value = f32(view->bytes, view->size, at + 4 * k);
                low[k] = fminf(low[k], value);
                high[k] = fmaxf(high[k], value);
            }
        }
    }
    for (unsigned k = 0; k < 3; k++) {
        double least = (float)json_number_value(json_array_get(json_object_get(bounds, "min"), k));
        double most = (float)json_number_value(json_array_get(json_object_get(bounds, "max"), k));
        assert_true((float)least == low[k] && (float)most == high[k]);
    }
}

static void check_resource(const uint8_t *bytes, size_t size, const json_t *resource)
{
    json_t *placements = json_object_get(resource, "placements"), *placement;
    json_t *bounds = json_object_get(resource, "placement_bounds");
    size_t i;
    assert_int_equal(json_array_size(placements), json_array_size(bounds));
    assert_int_equal(json_array_size(placements) == 0, strcmp(text(resource, "status"), "declined") == 0);
    if (json_array_size(placements) == 0)
        return;
    struct view view = view_of(bytes, size, resource);
    json_array_foreach(placements, i, placement)
    {
        json_int_t vertices = 0, triangles = 0;
        size_t k;
        json_t *buffer;
        json_array_foreach(placement, k, buffer)
        {
            vertices += number(buffer, "vertex_count");
            triangles += number(buffer, "index_count") / 3;
        }
        assert_int_equal(vertices, number(resource, "vertices"));
        assert_int_equal(triangles, number(resource, "triangles"));
        check_places(&view, placement, has_class(resource, "sequence"));
        check_placement(&view, placement, json_array_get(bounds, i));
    }
    assert_true(json_equal(json_object_get(resource, "bounds"), json_array_get(bounds, 0)));
}

static void check_corpus(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/truth.jsonl", name);
    json_t *lines = read_lines(in_folder(path)), *line;
    unsigned checked = 0;
    size_t i, size = 0;
    uint8_t *bytes = NULL;
    char last[512] = "";
    json_array_foreach(lines, i, line)
    {
        const char *container = text(line, "container");
        if (strcmp(text(line, "format"), "xbg7") != 0 || strchr(container, '!'))
            continue;
        if (strcmp(container, last) != 0) {
            free(bytes);
            snprintf(last, sizeof last, "%s", container);
            snprintf(path, sizeof path, "%s/%s", name, container);
            bytes = read_file(in_folder(path), &size);
        }
        check_resource(bytes, size, line);
        checked++;
    }
    free(bytes);
    assert_true(checked > 200);
    json_decref(lines);
}

static void test_truth(void **state)
{
    (void)state;
    check_corpus("classes");
}

/* ---- what holds between resources ---- */

static bool same_counts(const json_t *a, const json_t *b)
{
    return number(a, "vertices") == number(b, "vertices") && number(a, "triangles") == number(b, "triangles");
}

/* What only another container decides is decided there: the same name, the same bounds, nothing needed. */
static void test_keys(void **state)
{
    (void)state;
    json_t *lines = read_lines(in_folder("classes/truth.jsonl")), *line, *other;
    size_t i, k;
    unsigned needing = 0;
    json_array_foreach(lines, i, line)
    {
        if (!has_class(line, "rival-container"))
            continue;
        bool found = false;
        json_array_foreach(lines, k, other)
        {
            found |= k != i && !json_object_get(other, "needs") &&
                     strcmp(text(line, "name"), text(other, "name")) == 0 &&
                     strcmp(text(line, "container"), text(other, "container")) != 0 &&
                     same_counts(line, other) &&
                     json_equal(json_object_get(line, "bounds"), json_object_get(other, "bounds"));
        }
        assert_true(found);
        needing++;
    }
    assert_true(needing > 0);
    json_decref(lines);
}

/* The canonical block of a captured pair lies on the side that the format page's rule names. */
static void test_twins(void **state)
{
    (void)state;
    json_t *lines = read_lines(in_folder("classes/truth.jsonl")), *line, *capture;
    json_t *captures = read_lines(in_folder("classes/captures.jsonl"));
    size_t i, k;
    unsigned twins = 0, confirmed = 0;
    json_array_foreach(lines, i, line)
    {
        json_t *canonical = json_object_get(line, "canonical");
        if (!canonical)
            continue;
        const char *name = text(line, "name");
        bool second = name[strlen(name) - 1] == '2';
        json_int_t sign = 1;
        json_array_foreach(captures, k, capture)
        {
            if (strncmp(text(capture, "resource"), name, strlen(name) - 1) == 0) {
                sign = number(capture, "row0_x");
                confirmed++;
                assert_string_equal(text(canonical, "basis"), "confirmed");
            }
        }
        json_t *bounds =
            json_array_get(json_object_get(line, "placement_bounds"), (size_t)number(canonical, "placement"));
        double x = (float)json_number_value(json_array_get(json_object_get(bounds, "min"), 0));
        assert_true(sign > 0 ? x < 0 : x > 0);
        assert_int_equal(json_is_true(json_object_get(canonical, "mirrored")), second == (sign > 0));
        twins++;
    }
    assert_true(twins >= 4 && twins % 2 == 0 && confirmed > 0);
    json_decref(captures);
    json_decref(lines);
}

/* ---- real models, refusals, bench inputs ---- */

static void test_models(void **state)
{
    (void)state;
    static const char obj[] =
        "# a wedge, with every form of corner\n"
        "v 0 0 0\nv 4 0 0\nv 4 2 0\nv 0 2 0\nv 0 0 3\nv 4 0 3\nvt 0 0\nvn 0 0 1\n"
        "f 1 4 3 2\nf 1/1 2/1 6/1 5/1\nf 1/1/1 5/1/1 4/1/1\nf -4//1 -1//1 -5//1\nf 4 5 6 3\n";
    mkdir(in_folder("obj"), 0777);
    FILE *file = fopen(in_folder("obj/wedge.obj"), "w");
    assert_non_null(file);
    fputs(obj, file);
    fclose(file);
    struct models models;
    struct error err = {0};
    assert_true(models_load(in_folder("obj"), &models, &err));
    assert_int_equal(models.count, 1);
    assert_int_equal(models.shapes[0].vertex_count, 6);
    assert_int_equal(models.shapes[0].triangle_count, 8);
    models_free(&models);
    write_corpus("models", 5, in_folder("obj"));
    check_corpus("models");
}

static void test_refusals(void **state)
{
    (void)state;
    struct error err = {0};
    struct corpus_options options = {.directory = folder, .seed = 1, .scale = SMALL};
    assert_false(corpus_write(&options, &err)); /* not empty: the other tests' folders are in it */
    assert_int_equal(err.code, ERROR_USAGE);
    error_clear(&err);
    options = (struct corpus_options){.directory = in_folder("refused"), .seed = 1};
    assert_false(corpus_write(&options, &err));
    assert_int_equal(err.code, ERROR_USAGE);
    error_clear(&err);
    mkdir(in_folder("nothing"), 0777);
    options = (struct corpus_options){
        .directory = in_folder("refused"), .seed = 1, .scale = SMALL, .models = in_folder("nothing")};
    assert_false(corpus_write(&options, &err)); /* no OBJ file there */
    assert_int_equal(err.code, ERROR_IO);
    assert_int_equal(access(in_folder("refused"), F_OK), -1);
}

/* Members of a tar, and whether any two in a row that share a length are the same bytes. */
static unsigned count_members(const char *path)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    unsigned count = 0;
    uint64_t *hashes = calloc(4096, sizeof *hashes);
    archive_read_support_format_tar(archive);
    assert_int_equal(archive_read_open_filename(archive, path, 1 << 16), ARCHIVE_OK);
    while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        size_t size = (size_t)archive_entry_size(entry);
        void *bytes = malloc(size + 1);
        assert_int_equal(archive_read_data(archive, bytes, size), size);
        assert_true(count < 4096);
        hashes[count] = fnv(1, bytes, size);
        for (unsigned i = 0; i < count; i++)
            assert_true(hashes[i] != hashes[count]);
        count++;
        free(bytes);
    }
    archive_read_free(archive);
    free(hashes);
    return count;
}

static void test_bench_inputs(void **state)
{
    (void)state;
    struct error err = {0};
    struct stat info;
    assert_true(corpus_small_meshbins(in_folder("small.tar"), 700, 1, &err));
    assert_int_equal(count_members(in_folder("small.tar")), 700);
    assert_true(corpus_uncompressed(in_folder("large.tar"), 60 << 20, 1, &err));
    assert_true(count_members(in_folder("large.tar")) > 100);
    assert_int_equal(stat(in_folder("large.tar"), &info), 0);
    assert_true(info.st_size >= 60 << 20 && info.st_size < 80 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_equal_seeds),  cmocka_unit_test(test_classes),
        cmocka_unit_test(test_addresses),    cmocka_unit_test(test_truth),
        cmocka_unit_test(test_keys),         cmocka_unit_test(test_twins),
        cmocka_unit_test(test_models),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bench_inputs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
