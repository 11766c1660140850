/* test_extract_damage.c - archives that are encrypted, altered or cut: each failure with its reason, all else
 * read. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/extracting.h"

static void encrypted(void **state)
{
    (void)state;
    static const char *const ways[] = {"zip:encryption=traditional", "zip:encryption=aes256"};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct buffer out = {0};
        pack(&out, "zip", NULL, ways[i], "secret", three, COUNT(three));
        put_buffer("in.zip", &out);
        extracts("in.zip", "! in.zip!a/one.xpr encrypted\n"
                           "! in.zip!a/notes.txt encrypted\n"
                           "! in.zip!two.bgf encrypted\n"
                           "/ in.zip skipped encrypted 3\n");
        refuses("in.zip!two.bgf", "encrypted");
    }
}

/* Where a needle lies in a file that is kept in `bytes`. */
static size_t find(const struct buffer *bytes, const char *needle)
{
    uint8_t *at = memmem(bytes->data, bytes->size, needle, strlen(needle));
    assert_non_null(at);
    return (size_t)(at - bytes->data);
}

/* A byte of stored content is flipped: the format's own checksum must find it, the other members stand. */
static void flipped_content(void **state)
{
    (void)state;
    struct buffer out = {0};
    pack(&out, "zip", NULL, "zip:compression=store", NULL, three, COUNT(three));
    out.data[find(&out, "XPR2") + 10] ^= 1;
    put_buffer("in.zip", &out);
    extracts("in.zip", "! in.zip!a/one.xpr bad-crc\n"
                       "+ in.zip!two.bgf bgf 32\n"
                       "/ in.zip damaged bad-crc 3 [6a757374 .txt 1 9]\n");
    refuses("in.zip!a/one.xpr", "bad-crc");
    pack(&out, "7zip", NULL, "7zip:compression=store", NULL, three, 1);
    out.data[find(&out, "XPR2") + 10] ^= 1;
    put_buffer("in.7z", &out);
    extracts("in.7z", "! in.7z!a/one.xpr bad-crc\n/ in.7z skipped bad-crc 1\n");
}

/* Deflate data that makes no sense ends libarchive's handle; the members behind it are read nevertheless. */
static void broken_deflate(void **state)
{
    (void)state;
    struct buffer out = {0};
    uint8_t noise[4096];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * i >> 3);
    memcpy(noise, "XPR2", 4);
    const struct pack_member members[] = {{.name = "before.bgf", .bytes = BGF, .size = 32},
                                          {.name = "broken.xpr", .bytes = noise, .size = sizeof noise},
                                          {.name = "behind.bgf", .bytes = BGF, .size = 32},
                                          {.name = "before.bgf", .bytes = BGF, .size = 32}};
    pack(&out, "zip", NULL, "zip:compression=deflate", NULL, members, COUNT(members));
    memset(out.data + find(&out, "broken.xpr") + 60, 0xFF, 200);
    put_buffer("in.zip", &out);
    extracts("in.zip", "+ in.zip!before.bgf bgf 32\n"
                       "! in.zip!broken.xpr bad-crc\n"
                       "+ in.zip!behind.bgf bgf 32\n"
                       "+ in.zip!before.bgf~2 bgf 32\n"
                       "/ in.zip damaged bad-crc 4\n");
}

/* libarchive does not verify gzip's checksum; a flip that still inflates must not pass. */
static void flipped_gzip(void **state)
{
    (void)state;
    struct buffer out = {0};
    pack_lone(&out, "gzip", XPR, 28);
    out.data[out.size - 8] ^= 1; /* the CRC */
    put_buffer("a.xpr.gz", &out);
    extracts("a.xpr.gz", "! a.xpr.gz!a.xpr bad-crc\n/ a.xpr.gz skipped bad-crc 1\n");
    pack_lone(&out, "gzip", XPR, 28);
    out.data[out.size - 4] ^= 1; /* the length */
    put_buffer("a.xpr.gz", &out);
    extracts("a.xpr.gz", "! a.xpr.gz!a.xpr bad-crc\n/ a.xpr.gz skipped bad-crc 1\n");
    /* in a tar the checksum comes behind all members: they have been handed out, the archive is damaged */
    pack(&out, "ustar", "gzip", NULL, NULL, three, COUNT(three));
    out.data[out.size - 8] ^= 1;
    put_buffer("in.tgz", &out);
    extracts("in.tgz", "+ in.tgz!a/one.xpr xpr2 28\n"
                       "+ in.tgz!two.bgf bgf 32\n"
                       "/ in.tgz damaged bad-crc 3 [6a757374 .txt 1 9]\n");
}

static void truncated(void **state)
{
    (void)state;
    static const char *const cuts[] = {NULL, "gzip", "xz", "bzip2", "zstd"};
    uint8_t *noise = malloc(300000);
    uint32_t seed = 7;
    for (size_t i = 0; i < 300000; i++)
        noise[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    memcpy(noise, "XPR2", 4);
    const struct pack_member members[] = {{.name = "first.bgf", .bytes = BGF, .size = 32},
                                          {.name = "large.xpr", .bytes = noise, .size = 300000}};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        struct buffer out = {0};
        pack(&out, "ustar", cuts[i], NULL, NULL, members, COUNT(members));
        out.size -= 100000;
        put_buffer("in.tar", &out);
        char *got = transcript((const char *const[]){"in.tar"}, 1, &defaults);
        /* bzip2's one block is gone as a whole, and with it the sign that it was a tar */
        bool blocks = cuts[i] && strcmp(cuts[i], "bzip2") == 0;
        assert_string_equal(got, blocks ? "! in.tar!in truncated\n/ in.tar skipped truncated 1\n"
                                        : "+ in.tar!first.bgf bgf 32\n"
                                          "! in.tar!large.xpr truncated\n"
                                          "/ in.tar damaged truncated 2\n");
        free(got);
    }
    struct buffer out = {0};
    pack(&out, "zip", NULL, NULL, NULL, members,
         COUNT(members)); /* without its directory: read as a stream */
    out.size -= 100000;
    put_buffer("in.zip", &out);
    extracts("in.zip",
             "+ in.zip!first.bgf bgf 32\n! in.zip!large.xpr truncated\n/ in.zip damaged truncated 2\n");
    pack(&out, "7zip", NULL, NULL, NULL, members, COUNT(members)); /* its directory is at its end */
    out.size -= 100000;
    put_buffer("in.7z", &out);
    extracts("in.7z", "/ in.7z skipped truncated 0\n");
    free(noise);
}

/* Whether everything of a file went well although some member is not what was packed. */
static bool is_fooled(const char *path)
{
    struct error err = {0};
    struct extracted item;
    bool altered = false, complaint = false;
    struct extractor *extractor = extract_open(&path, 1, &defaults);
    assert_non_null(extractor);
    while (extract_next(extractor, &item, &err)) {
        if (item.kind == EXTRACT_BYTES)
            altered |= item.size != 28 || memcmp(item.data, XPR, 28) != 0;
        else if (item.kind == EXTRACT_FAILED || item.kind == EXTRACT_ARCHIVE)
            complaint |= item.reason != CONTAINER_REASON_NONE;
        extracted_free(&item);
    }
    extract_close(extractor);
    assert_int_equal(err.code, ERROR_NONE);
    return altered && !complaint;
}

/* Every length and every flipped byte of a small archive: no crash, no hang, and where the format has a
 * checksum of the content, no altered member without a complaint. */
static void any_damage(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool checked;
    } formats[] = {{"zip", true},    {"7zip", true},  {"xar", true},
                   {"ustar", false}, {"newc", false}, {"argnu", false}};
    for (size_t f = 0; f < COUNT(formats); f++) {
        struct buffer whole = {0};
        const struct pack_member member = {.name = "one.xpr", .bytes = XPR, .size = 28};
        pack(&whole, formats[f].name, NULL, NULL, NULL, &member, 1);
        size_t step = whole.size > 600 ? 7 : 1;
        for (size_t i = 1; i < whole.size; i += step) {
            put_file("cut", whole.data, i);
            assert_false(is_fooled("cut"));
            whole.data[i] ^= 0x81;
            put_file("flip", whole.data, whole.size);
            if (is_fooled("flip") && formats[f].checked)
                fail_msg("%s: fooled by byte %zu", formats[f].name, i);
            whole.data[i] ^= 0x81;
        }
        buffer_free(&whole);
    }
    /* gzip: everything that decides about the content is covered by its checksum */
    struct buffer whole = {0};
    pack_lone(&whole, "gzip", XPR, 28);
    for (size_t i = 10; i < whole.size; i++) {
        whole.data[i] ^= 0x10;
        put_file("x.xpr.gz", whole.data, whole.size);
        char *got = transcript((const char *const[]){"x.xpr.gz"}, 1, &defaults);
        assert_null(strstr(got, "+ "));
        free(got);
        whole.data[i] ^= 0x10;
    }
    buffer_free(&whole);
}

/* A damaged archive inside a sound one is that member's matter. */
static void damage_inside(void **state)
{
    (void)state;
    struct buffer inner = {0};
    pack(&inner, "zip", NULL, "zip:compression=store", NULL, three, COUNT(three));
    inner.data[find(&inner, "DIV-") + 10] ^= 1;
    wrap(&inner, "ustar", NULL, "in.zip");
    put_buffer("top.tar", &inner);
    extracts("top.tar", "+ top.tar!in.zip!a/one.xpr xpr2 28\n"
                        "! top.tar!in.zip!two.bgf bad-crc\n"
                        "/ top.tar!in.zip damaged bad-crc 3 [6a757374 .txt 1 9]\n"
                        "/ top.tar read 1\n");
}

int main(void)
{
    /* as the program does: member names must not depend on the environment */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(encrypted), TEST(flipped_content), TEST(broken_deflate), TEST(flipped_gzip),
        TEST(truncated), TEST(any_damage),      TEST(damage_inside),
    };
    return cmocka_run_group_tests_name("extract damage", tests, NULL, NULL);
}
