/* test_bmf.c - material libraries: which file is one, its materials and strings, and what models refer to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bench/corpus/corpus.h"
#include "formats/chunk.h"
#include "tests/support/chunk_build.h"

/* Numbers that the page does not name, in place of those of MATERIAL, TEXTURE and TEXTURE_MAP. */
#define MATERIAL    0x0050
#define TEXTURE     0x0052
#define TEXTURE_MAP 0x2060

/* Magic and a HEADER whose FILETYPE has these bytes; none at all when size is 0. */
static struct chunk_build begin_file(const char *magic, const void *filetype, size_t size)
{
    struct chunk_build w = {0};
    buffer_append(&w.out, magic, 8);
    open_chunk(&w, CHUNK_HEADER);
    leaf_chunk(&w, CHUNK_VERSION, "\2\x08", 2);
    if (size)
        leaf_chunk(&w, CHUNK_FILETYPE, filetype, size);
    close_chunk(&w);
    return w;
}

static struct decoded decode_library(struct chunk_build *w)
{
    end_model(w);
    struct decoded r = decode_chunks(&w->out, w->out.size, "LIB.BMF");
    assert_int_equal(r.container.format, FORMAT_BMF);
    buffer_free(&w->out);
    return r;
}

/* ---- which file is one --------------------------------------------------------------------------------- */

static void assert_format(const char *magic, const void *filetype, size_t size, const char *name,
                          enum format_id format)
{
    struct chunk_build w = begin_file(magic, filetype, size);
    end_model(&w);
    struct decoded r = decode_chunks(&w.out, w.out.size, name);
    assert_int_equal(r.container.format, format);
    free_decoded(&r);
    buffer_free(&w.out);
}

static void test_recognition(void **state)
{
    (void)state;
    assert_format("DIV-BIZ2", "\1", 1, "a.bgf", FORMAT_BMF);
    assert_format("DIV-BIZ2", "\1\0", 2, "a.bgf", FORMAT_BMF);
    assert_format("DIV-BIZ2", "\1\0\0\0", 4, "a.bgf", FORMAT_BMF);
    assert_format("DIV-BIZ2", "\0", 1, "a.bmf", FORMAT_BGF);
    assert_format("DIV-BMF2", "\0", 1, "a.bgf", FORMAT_BMF);
    assert_format("DIV-BMF2", NULL, 0, "a.bgf", FORMAT_BMF);
    assert_format("DIV-BIZ2", NULL, 0, "a.bgf", FORMAT_BGF);
    assert_format("DIV-BIZ2", NULL, 0, "", FORMAT_BGF);
    assert_format("DIV-BIZ2", NULL, 0, "A.BmF", FORMAT_BMF);
    assert_format("DIV-BIZ2", "\2", 1, "a.bmf", FORMAT_BMF); /* neither value: the name decides */
    assert_format("DIV-BIZ2", "\2", 1, "a.bgf", FORMAT_BGF);
    assert_format("DIV-BIZ2", "\1\0\0", 3, "a.bgf", FORMAT_BGF); /* three bytes are no integer */
    assert_format("DIV-BIZ3", "\1", 1, "a.bmf", FORMAT_UNKNOWN);
}

/* A HEADER that is cut off still tells the kind when the cut is behind its FILETYPE. */
static void test_recognition_of_cut_files(void **state)
{
    (void)state;
    struct chunk_build w = begin_file("DIV-BIZ2", "\1", 1);
    size_t header = w.out.size;
    w.out.data[10] = 200; /* the HEADER's length, far past the end */
    struct decoded r = decode_chunks(&w.out, header, "a.bgf");
    assert_int_equal(r.container.format, FORMAT_BMF);
    assert_int_equal(r.container.reason, CONTAINER_TRUNCATED);
    assert_int_equal(r.resource->error.offset, 8);
    free_decoded(&r);
    r = decode_chunks(&w.out, header - 1, "a.bgf");
    assert_int_equal(r.container.format, FORMAT_BGF);
    free_decoded(&r);
    buffer_free(&w.out);
}

static void test_ascii_variant(void **state)
{
    (void)state;
    struct buffer file = {0};
    buffer_append(&file, "DIV-VMF2", 8);
    struct decoded r = decode_chunks(&file, file.size, "a.bmf");
    assert_int_equal(r.container.format, FORMAT_BMF);
    assert_int_equal(r.container.status, CONTAINER_SKIPPED);
    assert_int_equal(r.container.reason, CONTAINER_ASCII_VARIANT);
    assert_int_equal(r.resource->status, RESOURCE_DECLINED);
    assert_int_equal(r.resource->reason, DECLINE_ASCII_VARIANT);
    assert_int_equal(r.resource->error.offset, 0);
    free_decoded(&r);
    buffer_free(&file);
}

/* ---- materials ----------------------------------------------------------------------------------------- */

static void assert_string(const struct material_info *material, uint32_t index, uint32_t tag,
                          const char *string)
{
    assert_true(index < material->string_count);
    assert_int_equal(material->strings[index].tag, tag);
    assert_string_equal(material->strings[index].text, string);
}

/* Named containers, known or inferred, are materials; a string belongs to the innermost one around it, also
 * when leaves of the outer one stand on both sides. */
static void test_materials_and_strings(void **state)
{
    (void)state;
    struct chunk_build w = begin_file("DIV-BMF2", NULL, 0);
    open_chunk(&w, MATERIAL);
    text_chunk(&w, CHUNK_NAME, "hull_mtl");
    text_chunk(&w, 0x2070, "before.tga");
    open_chunk(&w, TEXTURE);
    text_chunk(&w, CHUNK_NAME, "hull_tex");
    text_chunk(&w, TEXTURE_MAP, "hull.vtx");
    close_chunk(&w);
    open_chunk(&w, TEXTURE); /* nameless: its string is the material's */
    reference_chunk(&w, TEXTURE_MAP, 1, "lib:other.vtx");
    close_chunk(&w);
    text_chunk(&w, 0x2071, "behind");
    close_chunk(&w);
    open_chunk(&w, CHUNK_PATCH);
    text_chunk(&w, CHUNK_NAME, "known_mtl");
    close_chunk(&w);
    text_chunk(&w, TEXTURE_MAP, "nobody's");
    struct decoded r = decode_library(&w);
    assert_decoded(&r, 0, 0);
    assert_null(r.mesh);
    assert_int_equal(r.resource->flags, FLAG_BIT(FLAG_INFERRED_CONTAINER));
    const struct material_info *m = r.resource->materials;
    assert_int_equal(r.resource->material_count, 3);
    assert_string_equal(m[0].name, "hull_mtl");
    assert_int_equal(m[0].tag, MATERIAL);
    assert_true(m[0].inferred);
    assert_int_equal(m[0].string_count, 3);
    assert_string(&m[0], 0, 0x2070, "before.tga");
    assert_string(&m[0], 1, TEXTURE_MAP, "lib:other.vtx");
    assert_string(&m[0], 2, 0x2071, "behind");
    assert_string_equal(m[1].name, "hull_tex");
    assert_int_equal(m[1].string_count, 1);
    assert_string(&m[1], 0, TEXTURE_MAP, "hull.vtx");
    assert_string_equal(m[2].name, "known_mtl");
    assert_int_equal(m[2].tag, CHUNK_PATCH);
    assert_false(m[2].inferred);
    assert_int_equal(m[2].string_count, 0);
    free_decoded(&r);
}

/* What a leaf of unknown meaning has to be for its bytes to count as a string. */
static void test_what_is_a_string(void **state)
{
    (void)state;
    static const struct {
        const char *payload;
        size_t size;
        const char *string;
    } leaves[] = {
        {"ab", 3, "ab"},
        {"ab\0\0", 5, "ab"},       /* padded with NULs */
        {"\1lib:x", 7, "lib:x"},   /* mattype first */
        {"a", 2, NULL},            /* may be the number 97 */
        {"abcd", 4, NULL},         /* may be a float: no NUL */
        {"ab\0cd", 6, NULL},       /* text behind the NUL */
        {"\0\0\x80\x3F", 4, NULL}, /* 1.0 */
        {"caf\xE9", 5, NULL},      /* no ASCII */
        {"\2lib:x", 7, NULL},
        {"\1", 1, NULL},
        {"", 0, NULL},
    };
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct chunk_build w = begin_file("DIV-BMF2", NULL, 0);
        open_chunk(&w, CHUNK_PATCH);
        text_chunk(&w, CHUNK_NAME, "m");
        leaf_chunk(&w, TEXTURE_MAP, leaves[i].payload, leaves[i].size);
        struct decoded r = decode_library(&w);
        assert_int_equal(r.resource->material_count, 1);
        assert_int_equal(r.resource->materials[0].string_count, leaves[i].string != NULL);
        if (leaves[i].string)
            assert_string(&r.resource->materials[0], 0, TEXTURE_MAP, leaves[i].string);
        free_decoded(&r);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct chunk_build w = {0};
    buffer_append(&w.out, "DIV-BMF2", 8);
    open_chunk(&w, CHUNK_HEADER);
    text_chunk(&w, CHUNK_NAME, "the library's own"); /* no material */
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    leaf_chunk(&w, CHUNK_NAME, "unended", 7); /* no NUL: the chunk bounds it */
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    leaf_chunk(&w, CHUNK_NAME, "\0", 1); /* empty: no name */
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    leaf_chunk(&w, CHUNK_NAME, "first", 6);
    leaf_chunk(&w, CHUNK_NAME, "last", 5); /* a repeated attribute replaces */
    close_chunk(&w);
    open_chunk(&w, MATERIAL);
    leaf_chunk(&w, TEXTURE_MAP, "nameless", 9);
    struct decoded r = decode_library(&w);
    assert_int_equal(r.resource->material_count, 2);
    assert_string_equal(r.resource->materials[0].name, "unended");
    assert_string_equal(r.resource->materials[1].name, "last");
    free_decoded(&r);
}

/* ---- malformed ----------------------------------------------------------------------------------------- */

/* Every length below the whole is declined, at HEADER, the material or BIZ_DONE. */
static void test_every_truncation(void **state)
{
    (void)state;
    struct chunk_build w = begin_file("DIV-BMF2", "\1", 1);
    size_t material = w.out.size;
    open_chunk(&w, MATERIAL);
    text_chunk(&w, CHUNK_NAME, "hull_mtl");
    end_model(&w);
    size_t done = w.out.size - 3;
    for (size_t size = 8; size < w.out.size; size++) {
        struct decoded r = decode_chunks(&w.out, size, "LIB.BMF");
        assert_int_equal(r.container.format, FORMAT_BMF);
        assert_int_equal(r.container.status, CONTAINER_DAMAGED);
        assert_int_equal(r.container.reason, CONTAINER_TRUNCATED);
        assert_int_equal(r.resource->reason, DECLINE_DOES_NOT_CLOSE);
        assert_int_equal(r.resource->error.offset, size < material ? 8 : size < done ? material : done);
        assert_int_equal(r.resource->material_count, 0);
        free_decoded(&r);
    }
    buffer_free(&w.out);
}

/* ---- the generator ------------------------------------------------------------------------------------- */

static void test_corpus(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < corpus_bmf_kinds(); kind++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct rng rng = rng_make(seed, kind), again = rng;
            struct corpus_file file, same;
            assert_true(corpus_bmf(&rng, kind, &file));
            assert_is_truth(&file);
            assert_true(corpus_bmf(&again, kind, &same));
            assert_string_equal(file.path, same.path);
            assert_int_equal(file.bytes.size, same.bytes.size);
            assert_memory_equal(file.bytes.data, same.bytes.data, file.bytes.size);
            corpus_file_free(&file);
            corpus_file_free(&same);
        }
    }
}

/* The sound libraries, by number. */
static unsigned decode_libraries(struct decoded *libraries, unsigned room)
{
    unsigned count = 0;
    for (unsigned kind = 0; kind < corpus_bmf_kinds() && count < room; kind++) {
        struct rng rng = rng_make(1, kind);
        struct corpus_file file;
        assert_true(corpus_bmf(&rng, kind, &file));
        libraries[count] = decode_chunks(&file.bytes, file.bytes.size, strrchr(file.path, '/') + 1);
        if (libraries[count].resource->status == RESOURCE_DECODED)
            count++;
        else
            free_decoded(&libraries[count]);
        corpus_file_free(&file);
    }
    return count;
}

static bool resolves(const struct decoded *libraries, unsigned count, const char *reference)
{
    unsigned library;
    char name[64];
    if (sscanf(reference, "lib%u:%63s", &library, name) != 2 || library >= count)
        return false;
    const struct resource *resource = libraries[library].resource;
    for (uint32_t i = 0; i < resource->material_count; i++)
        if (strcasecmp(resource->materials[i].name, name) == 0)
            return true;
    return false;
}

static bool is_listed(const json_t *list, const char *reference)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (strcmp(json_string_value(item), reference) == 0)
            return true;
    }
    return false;
}

/* Every material of a generated model is in a generated library, but for those its truth lists. */
static void test_models_refer_to_libraries(void **state)
{
    (void)state;
    struct decoded libraries[16];
    unsigned count = decode_libraries(libraries, 16), resolved = 0, listed = 0;
    assert_int_equal(count, 4);
    for (unsigned kind = 0; kind < corpus_bgf_kinds(); kind++) {
        struct rng rng = rng_make(2, kind);
        struct corpus_file file;
        assert_true(corpus_bgf(&rng, kind, 40, &file));
        struct decoded r = decode_chunks(&file.bytes, file.bytes.size, "model.bgf");
        const json_t *unresolved = json_object_get(json_array_get(file.truth, 0), "unresolved");
        for (uint32_t i = 0; r.mesh && i < r.mesh->part_count; i++) {
            const char *material = r.resource->parts[i].material;
            assert_non_null(material);
            bool found = resolves(libraries, count, material);
            assert_int_equal(found, !is_listed(unresolved, material));
            resolved += found;
            listed += !found;
        }
        free_decoded(&r);
        corpus_file_free(&file);
    }
    assert_true(resolved > 20 && listed > 0);
    for (unsigned i = 0; i < count; i++)
        free_decoded(&libraries[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognition),
        cmocka_unit_test(test_recognition_of_cut_files),
        cmocka_unit_test(test_ascii_variant),
        cmocka_unit_test(test_materials_and_strings),
        cmocka_unit_test(test_what_is_a_string),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_models_refer_to_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
