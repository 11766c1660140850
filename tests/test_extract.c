/* test_extract.c - inputs in, items out. Each test builds archives in a directory of its own, and compares a
 * transcript of what the extractor says of them (support/extracting.h). */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/extracting.h"

/* ---- formats and filters ------------------------------------------------------------------------------- */

static void every_format(void **state)
{
    (void)state;
    static const char *const formats[] = {"ustar", "pax", "gnutar", "v7tar", "odc", "newc",
                                          "bin",   "pwb", "zip",    "7zip",  "xar"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        print_message("%s\n", formats[i]);
        put_archive("in.dat", formats[i], NULL, three, COUNT(three));
        extracts("in.dat", "+ in.dat!a/one.xpr xpr2 28\n"
                           "+ in.dat!two.bgf bgf 32\n"
                           "/ in.dat read 3 [6a757374 .txt 1 9]\n");
        opens_text("in.dat!a/one.xpr", XPR);
        opens_text("in.dat!two.bgf", BGF);
        opens_text("in.dat!a/notes.txt", "just text");
        refuses("in.dat!a/on.xpr", "no member");
    }
}

/* ar has no directories; a WARC's names are made from addresses; ISO 9660 comes in the order of its extents.
 */
static void other_formats(void **state)
{
    (void)state;
    const struct pack_member flat[] = {{.name = "one.xpr", .bytes = XPR, .size = sizeof XPR - 1},
                                       {.name = "notes.txt", .bytes = "just text", .size = 9}};
    static const char *const formats[] = {"arbsd", "argnu", "warc"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        print_message("%s\n", formats[i]);
        put_archive("in.dat", formats[i], NULL, flat, COUNT(flat));
        extracts("in.dat", "+ in.dat!one.xpr xpr2 28\n/ in.dat read 2 [6a757374 .txt 1 9]\n");
    }
    put_archive("disc.iso", "iso9660", NULL, three, COUNT(three));
    extracts("disc.iso", "+ disc.iso!a/one.xpr xpr2 28\n"
                         "+ disc.iso!two.bgf bgf 32\n"
                         "/ disc.iso read 3 [6a757374 .txt 1 9]\n");
    opens_text("disc.iso!a/one.xpr", XPR);
}

/* Formats that libarchive only reads, written by hand with the content stored. */

/* LHA, header level 0: size, sum, method, lengths, time, attribute, level, name, CRC-16 (the LHA header
 * notes). */
static void lha(void **state)
{
    (void)state;
    uint8_t file[22 + 7 + 2 + 28] = {29, 0, '-', 'l', 'h', '0', '-', 28, 0,    0, 0,
                                     28, 0, 0,   0,   0,   0,   0,   0,  0x20, 0, 7};
    memcpy(file + 22, "one.xpr", 7);
    memcpy(file + 31, XPR, 28);
    uint16_t crc = 0;
    for (size_t i = 0; i < 28; i++) {
        crc ^= file[31 + i];
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xA001 : 0));
    }
    file[29] = (uint8_t)crc;
    file[30] = (uint8_t)(crc >> 8);
    for (size_t i = 2; i < 31; i++)
        file[1] = (uint8_t)(file[1] + file[i]);
    struct buffer out = {0};
    buffer_append(&out, file, sizeof file);
    buffer_append(&out, "", 1); /* the end: a header of size 0 */
    put_buffer("in.lzh", &out);
    extracts("in.lzh", "+ in.lzh!one.xpr xpr2 28\n/ in.lzh read 1\n");
    file[40] ^= 1; /* libarchive only warns of the CRC that fails now */
    put_file("in.lzh", file, sizeof file);
    extracts("in.lzh", "! in.lzh!one.xpr bad-crc\n/ in.lzh skipped bad-crc 1\n");
}

/* A cabinet of one folder and one file, one block without checksum ([MS-CAB] 2.1 to 2.4). */
static void cabinet(void **state)
{
    (void)state;
    uint8_t file[36 + 8 + 16 + 8 + 8 + 28] = "MSCF";
    file[8] = sizeof file;
    file[16] = 44; /* the first file entry */
    file[24] = 3;  /* version 1.3 */
    file[25] = 1;
    file[26] = file[28] = 1; /* one folder, one file */
    file[36] = 68;           /* folder: its data; one block, stored */
    file[40] = 1;
    file[44] = 28; /* file: its length, then offset, folder, date, time, attributes */
    file[54] = 0x21;
    file[58] = 0x20;
    memcpy(file + 60, "one.xpr", 8);
    file[72] = file[74] = 28; /* block: no checksum, packed and plain length */
    memcpy(file + 76, XPR, 28);
    put_file("in.cab", file, sizeof file);
    extracts("in.cab", "+ in.cab!one.xpr xpr2 28\n/ in.cab read 1\n");
}

/* A package is a lead, headers and a compressed cpio: one boundary. */
static void package(void **state)
{
    (void)state;
    uint8_t lead[96 + 16 + 16] = {0xED, 0xAB, 0xEE, 0xDB, 3};
    memcpy(lead + 96, "\x8E\xAD\xE8\1\0\0\0\0\0\0\0\1\0\0\0\0", 16);
    struct buffer out = {0};
    buffer_append(&out, lead, sizeof lead);
    pack(&out, "newc", "gzip", NULL, NULL, three, COUNT(three));
    put_buffer("in.rpm", &out);
    extracts("in.rpm", "+ in.rpm!a/one.xpr xpr2 28\n"
                       "+ in.rpm!two.bgf bgf 32\n"
                       "/ in.rpm read 3 [6a757374 .txt 1 9]\n");
}

static const char *const filters[] = {"gzip", "bzip2", "xz",       "lzma",     "lzip",
                                      "zstd", "lz4",   "compress", "uuencode", "b64encode"};

static void every_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(filters); i++) {
        print_message("%s\n", filters[i]);
        put_archive("in.tar.z", "ustar", filters[i], three, COUNT(three));
        extracts("in.tar.z", "+ in.tar.z!a/one.xpr xpr2 28\n"
                             "+ in.tar.z!two.bgf bgf 32\n"
                             "/ in.tar.z read 3 [6a757374 .txt 1 9]\n");
        opens_text("in.tar.z!a/notes.txt", "just text");
        put_archive("in.cpio.z", "newc", filters[i], three, COUNT(three));
        extracts("in.cpio.z", "+ in.cpio.z!a/one.xpr xpr2 28\n"
                              "+ in.cpio.z!two.bgf bgf 32\n"
                              "/ in.cpio.z read 3 [6a757374 .txt 1 9]\n");
    }
}

static void lone_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(filters); i++) {
        print_message("%s\n", filters[i]);
        put_lone("model.bgf.z", filters[i], BGF, sizeof BGF - 1);
        extracts("model.bgf.z", "+ model.bgf.z!model.bgf bgf 32\n/ model.bgf.z read 1\n");
        opens_text("model.bgf.z!model.bgf", BGF);
        put_lone("notes.txt.z", filters[i], "just text", 9);
        extracts("notes.txt.z", "/ notes.txt.z read 1 [6a757374 .txt 1 9]\n");
    }
    /* a name without a second ending, without any, and with a leading dot only */
    put_lone("model.gz", "gzip", BGF, sizeof BGF - 1);
    extracts("model.gz", "+ model.gz!model bgf 32\n/ model.gz read 1\n");
    put_lone("model", "gzip", BGF, sizeof BGF - 1);
    extracts("model", "+ model!model bgf 32\n/ model read 1\n");
    put_lone(".gz", "gzip", BGF, sizeof BGF - 1);
    extracts(".gz", "+ .gz!.gz bgf 32\n/ .gz read 1\n");
    /* nothing, compressed */
    put_lone("empty.gz", "gzip", "", 0);
    extracts("empty.gz", "/ empty.gz read 1 [  1 0]\n");
    put_lone("empty.xz", "xz", "", 0);
    extracts("empty.xz", "/ empty.xz read 1 [  1 0]\n");
}

/* An archive with a directory of its own inside a compression is a file in a compressed file: two boundaries.
 */
static void compressed_zip(void **state)
{
    (void)state;
    put_archive("a.zip.gz", "zip", "gzip", three, COUNT(three));
    extracts("a.zip.gz", "+ a.zip.gz!a.zip!a/one.xpr xpr2 28\n"
                         "+ a.zip.gz!a.zip!two.bgf bgf 32\n"
                         "/ a.zip.gz!a.zip read 3 [6a757374 .txt 1 9]\n"
                         "/ a.zip.gz read 1\n");
    opens_text("a.zip.gz!a.zip!two.bgf", BGF);
}

/* RFC 1952, 2.2: members of a gzip file follow each other; what is no member is padding. */
static void gzip_members(void **state)
{
    (void)state;
    struct buffer out = {0};
    pack_lone(&out, "gzip", "DIV-", 4);
    pack_lone(&out, "gzip", "BIZ2 in two parts", 17);
    buffer_append(&out, "\0\0\0\0", 4);
    put_buffer("a.bgf.gz", &out);
    extracts("a.bgf.gz", "+ a.bgf.gz!a.bgf bgf 21\n/ a.bgf.gz read 1\n");
    opens_text("a.bgf.gz!a.bgf", "DIV-BIZ2 in two parts");
}

/* Sizes around the blocks and the head that is looked at first, with every way a reader delivers them. */
static void large_members(void **state)
{
    (void)state;
    static const size_t sizes[] = {65535, 65536, 65537, 262144, 1000003};
    static const char *const formats[] = {"ustar", "newc", "zip", "7zip", "iso9660"};
    static const char *const kinds[] = {NULL, "gzip", "xz"};
    uint8_t *bytes = malloc(sizes[4]);
    for (size_t i = 0; i < sizes[4]; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 24);
    memcpy(bytes, "XPR2", 4);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const struct pack_member member = {.name = "m.xpr", .bytes = bytes, .size = sizes[i]};
        for (size_t k = 0; k < COUNT(formats); k++) {
            put_archive("in.dat", formats[k], NULL, &member, 1);
            opens("in.dat!m.xpr", bytes, sizes[i]);
        }
        for (size_t k = 0; k < COUNT(kinds); k++) {
            put_archive("in.dat", "ustar", kinds[k], &member, 1);
            opens("in.dat!m.xpr", bytes, sizes[i]);
        }
        put_lone("m.xpr.gz", "gzip", bytes, sizes[i]);
        opens("m.xpr.gz!m.xpr", bytes, sizes[i]);
    }
    free(bytes);
}

/* ---- nesting ------------------------------------------------------------------------------------------- */

static void nested(void **state)
{
    (void)state;
    struct buffer out = {0};
    pack(&out, "iso9660", NULL, NULL, NULL, three, COUNT(three));
    wrap(&out, "7zip", NULL, "discs/d.iso");
    wrap(&out, "pax", "zstd", "old.7z");
    wrap(&out, "zip", NULL, "x/b.tar.zst");
    put_buffer("night.zip", &out);
    extracts("night.zip", "+ night.zip!x/b.tar.zst!old.7z!discs/d.iso!a/one.xpr xpr2 28\n"
                          "+ night.zip!x/b.tar.zst!old.7z!discs/d.iso!two.bgf bgf 32\n"
                          "/ night.zip!x/b.tar.zst!old.7z!discs/d.iso read 3 [6a757374 .txt 1 9]\n"
                          "/ night.zip!x/b.tar.zst!old.7z read 1\n"
                          "/ night.zip!x/b.tar.zst read 1\n"
                          "/ night.zip read 1\n");
    opens_text("night.zip!x/b.tar.zst!old.7z!discs/d.iso!a/one.xpr", XPR);
    refuses("night.zip!x/b.tar.zst!old.7z!discs/d.iso!a/one.xpr!more", "not an archive");
    refuses("night.zip!x/b.tar.zst!older.7z!a", "no member");
    /* the archive inside is what its address names too */
    struct extracted item;
    struct error err = {0};
    assert_true(extract_address("night.zip!x/b.tar.zst", &defaults, &item, &err));
    assert_int_equal(item.format, FORMAT_ARCHIVE);
    assert_string_equal(item.path, "night.zip!x/b.tar.zst");
    assert_string_equal(item.parent_path, "night.zip");
    extracted_free(&item);
}

static void too_deep(void **state)
{
    (void)state;
    struct extract_options shallow = defaults;
    struct buffer out = {0};
    pack(&out, "zip", NULL, NULL, NULL, three, 1);
    wrap(&out, "zip", NULL, "b.zip");
    wrap(&out, "zip", NULL, "a.zip");
    put_buffer("top.zip", &out);
    shallow.limits.depth = 1;
    extracts_with("top.zip", &shallow,
                  "! top.zip!a.zip!b.zip too-deep\n"
                  "! top.zip!a.zip too-deep\n" /* elsewhere it could be read: no outcome of its content */
                  "/ top.zip read 1\n");
    shallow.limits.depth = 2;
    extracts_with("top.zip", &shallow,
                  "+ top.zip!a.zip!b.zip!a/one.xpr xpr2 28\n"
                  "/ top.zip!a.zip!b.zip read 1\n"
                  "/ top.zip!a.zip read 1\n"
                  "/ top.zip read 1\n");
}

static void over_limit(void **state)
{
    (void)state;
    struct extract_options small = defaults;
    const struct pack_member members[] = {
        {.name = "fits.xpr", .bytes = XPR, .size = 28},
        {.name = "large.bgf", .bytes = BGF " and more", .size = sizeof BGF - 1 + 9},
        {.name = "large.txt", .bytes = "thirty characters of plain text", .size = 31},
        {.name = "last.xpr", .bytes = XPR, .size = 28},
    };
    small.limits.member_bytes = 28;
    put_archive("in.tar", "ustar", NULL, members, COUNT(members));
    /* what nobody wants is only counted, however large */
    const char *expected = "+ in.tar!fits.xpr xpr2 28\n"
                           "! in.tar!large.bgf over-limit\n"
                           "+ in.tar!last.xpr xpr2 28\n"
                           "/ in.tar damaged over-limit 4 [74686972 .txt 1 31]\n";
    extracts_with("in.tar", &small, expected);
    put_archive("in.tar", "zip", NULL, members, COUNT(members));
    extracts_with("in.tar", &small, expected);
    put_lone("large.bgf.gz", "gzip", members[1].bytes, members[1].size); /* its size is announced nowhere */
    extracts_with("large.bgf.gz", &small,
                  "! large.bgf.gz!large.bgf over-limit\n"
                  "/ large.bgf.gz skipped over-limit 1\n");
    put_text("large.bgf", BGF);
    extracts_with("large.bgf", &small, "! large.bgf over-limit\n");
}

/* ---- names --------------------------------------------------------------------------------------------- */

static void names_that_repeat(void **state)
{
    (void)state;
    static const char *const names[] = {"a.xpr",   "a.xpr", "a.xpr~2", "./a.xpr", "b//c.xpr",
                                        "b/c.xpr", "d~2",   "d",       "d"};
    struct pack_member members[COUNT(names)];
    char text[COUNT(names)][8];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(text[i], sizeof text[i], "XPR2 %zu", i);
        members[i] = (struct pack_member){.name = names[i], .bytes = text[i], .size = 6};
    }
    put_archive("in.tar", "ustar", NULL, members, COUNT(members));
    extracts("in.tar", "+ in.tar!a.xpr xpr2 6\n"
                       "+ in.tar!a.xpr~2 xpr2 6\n"
                       "+ in.tar!a.xpr~2~2 xpr2 6\n"
                       "+ in.tar!a.xpr~3 xpr2 6\n"
                       "+ in.tar!b/c.xpr xpr2 6\n"
                       "+ in.tar!b/c.xpr~2 xpr2 6\n"
                       "+ in.tar!d~2 xpr2 6\n"
                       "+ in.tar!d xpr2 6\n"
                       "+ in.tar!d~3 xpr2 6\n"
                       "/ in.tar read 9\n");
    opens_text("in.tar!a.xpr", "XPR2 0");
    opens_text("in.tar!a.xpr~2", "XPR2 1");
    opens_text("in.tar!a.xpr~2~2", "XPR2 2");
    opens_text("in.tar!a.xpr~3", "XPR2 3");
    opens_text("in.tar!d~3", "XPR2 8");
}

/* The address holds the member's bytes, whatever the format makes of names that are no UTF-8; the decoder is
 * given the name without what the address adds. */
static void names_of_bytes(void **state)
{
    (void)state;
    static const char *const formats[] = {"ustar", "gnutar", "pax", "newc", "odc"};
    const struct pack_member members[] = {
        {.name = "caf\xE9/m\xFC.xpr", .bytes = XPR, .size = 28},
        {.name = "caf\xC3\xA9/50%!#.xpr", .bytes = XPR, .size = 28},
        {.name = "/abs/x.xpr", .bytes = XPR, .size = 28},
        {.name = "../up/../x.xpr", .bytes = XPR, .size = 28},
    };
    for (size_t i = 0; i < COUNT(formats); i++) {
        print_message("%s\n", formats[i]);
        put_archive("in.dat", formats[i], NULL, members, COUNT(members));
        extracts("in.dat", "+ in.dat!caf%E9/m%FC.xpr xpr2 28\n"
                           "+ in.dat!caf\xC3\xA9/50%25%21%23.xpr xpr2 28\n"
                           "+ in.dat!/abs/x.xpr xpr2 28\n"
                           "+ in.dat!../up/../x.xpr xpr2 28\n"
                           "/ in.dat read 4\n");
        opens_text("in.dat!caf%E9/m%fc.xpr", XPR);
        opens_text("in.dat!caf\xC3\xA9/50%25%21%23.xpr", XPR);
    }
    struct buffer out = {0};
    pack(&out, "zip", NULL, NULL, NULL, members, COUNT(members));
    put_buffer("in.dat", &out);
    /* said to be UTF-8, and not: libarchive drops the name */
    extracts("in.dat", "+ in.dat!unnamed-1 xpr2 28\n"
                       "+ in.dat!caf\xC3\xA9/50%25%21%23.xpr xpr2 28\n"
                       "+ in.dat!/abs/x.xpr xpr2 28\n"
                       "+ in.dat!../up/../x.xpr xpr2 28\n"
                       "/ in.dat read 4\n");
    pack(&out, "zip", NULL, NULL, NULL, members, 1);
    uint8_t *local = memmem(out.data, out.size, "PK\3\4", 4),
            *central = memmem(out.data, out.size, "PK\1\2", 4);
    local[7] &= 0xF7; /* not said to be UTF-8 (APPNOTE.TXT 4.4.4, bit 11) */
    central[9] &= 0xF7;
    put_buffer("in.dat", &out);
    extracts("in.dat", "+ in.dat!caf%E9/m%FC.xpr xpr2 28\n/ in.dat read 1\n");
    struct extracted item;
    struct error err = {0};
    assert_true(extract_address("in.dat!caf%E9/m%FC.xpr", &defaults, &item, &err));
    assert_string_equal(item.name, "m\xFC.xpr");
    extracted_free(&item);
}

static void wide_names(void **state)
{
    (void)state;
    static const char *const formats[] = {"7zip", "iso9660", "xar"};
    const struct pack_member member = {.name = "\xE6\xA8\xA1\xE5\x9E\x8B.xpr", .bytes = XPR, .size = 28};
    for (size_t i = 0; i < COUNT(formats); i++) {
        put_archive("in.dat", formats[i], NULL, &member, 1);
        extracts("in.dat", "+ in.dat!\xE6\xA8\xA1\xE5\x9E\x8B.xpr xpr2 28\n/ in.dat read 1\n");
    }
}

static void escaped_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir("50%", 0755), 0);
    put_archive("50%/wow!.zip", "zip", NULL, three, 1);
    extracts("50%/wow!.zip", "+ 50%25/wow%21.zip!a/one.xpr xpr2 28\n/ 50%25/wow%21.zip read 1\n");
    opens_text("50%25/wow%21.zip!a/one.xpr", XPR);
    /* a file whose name looks escaped is found when there is none under the decoded name */
    put_archive("x%21.zip", "zip", NULL, three, 1);
    opens_text("x%21.zip!a/one.xpr", XPR);
    opens_text("x%2521.zip!a/one.xpr", XPR);
    put_text("\xFF.bgf", BGF);
    extracts("./\xFF.bgf", "+ %FF.bgf bgf 32\n");
    opens_text("%FF.bgf", BGF);
    refuses("nothing.zip!a", "nothing.zip");
    refuses("", "");
    refuses("!a", "");
}

static void links(void **state)
{
    (void)state;
    struct pack_member members[] = {
        {.name = "dir/", .directory = true},
        {.name = "dir/one.xpr", .bytes = XPR, .size = 28},
        {.name = "dir/hard.xpr", .hardlink = "dir/one.xpr"},
        {.name = "dir/soft.xpr", .symlink = "../dir/one.xpr"},
    };
    put_archive("in.tar", "pax", NULL, members, COUNT(members));
    static const char both[] = "+ in.tar!dir/one.xpr xpr2 28\n+ in.tar!dir/hard.xpr xpr2 28\n";
    char expected[160];
    snprintf(expected, sizeof expected, "%s/ in.tar read 2\n", both);
    extracts("in.tar", expected);
    snprintf(expected, sizeof expected, "%s/ in.tar read 2 bad-link\n", both);
    members[3].symlink = "../../etc/passwd"; /* climbs out */
    put_archive("in.tar", "pax", NULL, members, COUNT(members));
    extracts("in.tar", expected);
    members[3].symlink = "/etc/passwd";
    put_archive("in.tar", "pax", NULL, members, COUNT(members));
    extracts("in.tar", expected);
}

static void hard_links(void **state)
{
    (void)state;
    struct pack_member members[] = {
        {.name = "a.xpr", .bytes = XPR, .size = 28}, {.name = "b.bgf", .bytes = BGF, .size = sizeof BGF - 1},
        {.name = "x%/c.xpr", .hardlink = "./a.xpr"}, {.name = "d.bgf", .hardlink = "b.bgf"},
        {.name = "e.xpr", .hardlink = "a.xpr"},      {.name = "f.bgf", .bytes = BGF, .size = sizeof BGF - 1},
    };
    /* One link to each in every reading, by their names. */
    static const char whole[] = "+ in.tar!a.xpr xpr2 28\n+ in.tar!b.bgf bgf 32\n+ in.tar!f.bgf bgf 32\n"
                                "+ in.tar!e.xpr xpr2 28\n+ in.tar!d.bgf bgf 32\n+ in.tar!x%25/c.xpr xpr2 28\n"
                                "/ in.tar read 6\n";
    static const char *const wrapped[] = {NULL, "gzip", "zstd"};
    for (size_t i = 0; i < COUNT(wrapped); i++) {
        put_archive("in.tar", "pax", wrapped[i], members, COUNT(members));
        extracts("in.tar", whole);
        opens_text("in.tar!x%25/c.xpr", XPR);
        opens_text("in.tar!e.xpr", XPR);
    }
    /* To a later member, to one that is not there, to itself, to a link, and to one name of two. */
    static const char *const nowhere[] = {"f.bgf", "none", "d.bgf", "x%/c.xpr"};
    for (size_t i = 0; i < COUNT(nowhere); i++) {
        members[3].hardlink = nowhere[i];
        put_archive("in.tar", "pax", NULL, members, COUNT(members));
        extracts("in.tar", "+ in.tar!a.xpr xpr2 28\n+ in.tar!b.bgf bgf 32\n+ in.tar!f.bgf bgf 32\n"
                           "+ in.tar!e.xpr xpr2 28\n+ in.tar!x%25/c.xpr xpr2 28\n/ in.tar read 6 bad-link\n");
        refuses("in.tar!d.bgf", "d.bgf");
    }
    members[1].name = "a.xpr";
    members[3].hardlink = "a.xpr";
    put_archive("in.tar", "pax", NULL, members, 4);
    extracts("in.tar", "+ in.tar!a.xpr xpr2 28\n+ in.tar!a.xpr~2 bgf 32\n/ in.tar read 4 bad-link\n");
}

/* A file of many names is had by 16 of them, and the archive says that there were more. */
static void many_hard_links(void **state)
{
    (void)state;
    struct pack_member members[19] = {{.name = "a.xpr", .bytes = XPR, .size = 28}};
    char names[18][8], expected[1024] = "+ in.tar!a.xpr xpr2 28\n";
    for (size_t i = 0; i < 18; i++) {
        snprintf(names[i], sizeof names[i], "l%02zu.xpr", i);
        members[i + 1] = (struct pack_member){.name = names[i], .hardlink = "a.xpr"};
        if (i < 16)
            sprintf(expected + strlen(expected), "+ in.tar!l%02zu.xpr xpr2 28\n", i);
    }
    put_archive("in.tar", "pax", NULL, members, 17);
    char whole[1100];
    snprintf(whole, sizeof whole, "%s/ in.tar read 17\n", expected);
    extracts("in.tar", whole);
    put_archive("in.tar", "pax", NULL, members, 19);
    snprintf(whole, sizeof whole, "%s/ in.tar damaged over-limit 19\n", expected);
    extracts("in.tar", whole);
}

static void empty_members(void **state)
{
    (void)state;
    static const char *const formats[] = {"ustar", "newc", "zip", "7zip"};
    const struct pack_member members[] = {{.name = "a.xpr", .bytes = "", .size = 0},
                                          {.name = "b.xpr", .bytes = XPR, .size = 28},
                                          {.name = "c", .bytes = "", .size = 0}};
    for (size_t i = 0; i < COUNT(formats); i++) {
        put_archive("in.dat", formats[i], NULL, members, COUNT(members));
        extracts("in.dat", "+ in.dat!b.xpr xpr2 28\n/ in.dat read 3 [  1 0] [ .xpr 1 0]\n");
        opens_text("in.dat!a.xpr", "");
    }
    put_archive("none.zip", "zip", NULL, NULL, 0);
    extracts("none.zip", "/ none.zip read 0\n");
}

/* ---- what is no archive -------------------------------------------------------------------------------- */

static void unknown_files(void **state)
{
    (void)state;
    uint8_t zeros[4096] = {0};
    put_file("zeros.bin", zeros, sizeof zeros); /* to libarchive, a tar without members */
    extracts("zeros.bin", "? zeros.bin [00000000 .bin 4096]\n");
    put_text("list.txt", "./a type=file size=1\n./b type=dir\n"); /* to libarchive, an mtree */
    extracts("list.txt", "? list.txt [2e2f6120 .txt 34]\n");
    put_text("mtree", "#mtree\n./a type=file\n");
    extracts("mtree", "? mtree [236d7472  21]\n");
    put_text("text.TXT",
             "begin with what you know\nbegin 644 x\n#0V%T\n`\nend\n"); /* uuencoded, further down */
    extracts("text.TXT", "? text.TXT [62656769 .txt 49]\n");
    put_file("old.cpio", "\xC7\x71 two bytes of magic and no header behind it", 46);
    extracts("old.cpio", "? old.cpio [c7712074 .cpio 46]\n");
    put_file("a.Z", "\x1F\x9D\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    extracts("a.Z", "? a.Z [1f9dffff .z 8]\n");
    put_file("a.lzma", "\x5D\0\0\x80\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
             22);
    extracts("a.lzma", "? a.lzma [5d000080 .lzma 22]\n");
    put_text("program", "#!/bin/sh\necho PK MSCF -lh5- Rar! 7z\n");
    extracts("program", "? program [23212f62  37]\n");
    put_file("setup.exe", "MZ\x90\0\3\0\0\0 and a string: MSCF\0\0\0\0", 31);
    extracts("setup.exe", "? setup.exe [4d5a9000 .exe 31]\n");
    put_text("short", "ab");
    extracts("short", "? short [6162  2]\n");
    put_text("empty.xpr", "");
    extracts("empty.xpr", "? empty.xpr [ .xpr 0]\n");
    put_text("name.an-ending-past-16", "x");
    extracts("name.an-ending-past-16", "? name.an-ending-past-16 [78  1]\n");
    put_text(".hidden", "x");
    extracts(".hidden", "? .hidden [78  1]\n");
}

/* The same things inside an archive are counted, and sorted. */
static void unknown_members(void **state)
{
    (void)state;
    uint8_t zeros[1024] = {0};
    const struct pack_member members[] = {
        {.name = "b.txt", .bytes = "same", .size = 4},
        {.name = "zero", .bytes = zeros, .size = sizeof zeros},
        {.name = "a.txt", .bytes = "same", .size = 4},
        {.name = "a.BIN", .bytes = "same", .size = 4},
        {.name = "run.sh", .bytes = "#!/bin/sh", .size = 9},
        {.name = "m", .bytes = "#mtree\n./a", .size = 10},
        {.name = "d.d/nodot", .bytes = "x", .size = 1},
    };
    put_archive("in.zip", "zip", NULL, members, COUNT(members));
    extracts("in.zip",
             "/ in.zip read 7 [00000000  1 1024] [23212f62 .sh 1 9] [236d7472  1 10] [73616d65 .bin 1 4]"
             " [73616d65 .txt 2 8] [78  1 1]\n");
}

/* A container that a decoder knows is never opened as an archive as well. */
static void containers_first(void **state)
{
    (void)state;
    struct buffer out = {0};
    buffer_append(&out, "XPR2", 4);
    pack(&out, "zip", NULL, NULL, NULL, three, COUNT(three));
    size_t size = out.size;
    char expected[64];
    put_buffer("both.xpr", &out);
    snprintf(expected, sizeof expected, "+ both.xpr xpr2 %zu\n", size);
    extracts("both.xpr", expected);
    put_text("m.meshbin", MESH);
    extracts("m.meshbin", "+ m.meshbin meshbin 32\n");
}

/* ZIP behind a program: what a self-extracting archive is. */
static void self_extracting(void **state)
{
    (void)state;
    struct buffer out = {0};
    buffer_append(&out, "MZ program\0\0\0\0\0\0", 16);
    pack(&out, "zip", NULL, NULL, NULL, three, COUNT(three));
    put_buffer("setup.exe", &out);
    extracts("setup.exe", "+ setup.exe!a/one.xpr xpr2 28\n"
                          "+ setup.exe!two.bgf bgf 32\n"
                          "/ setup.exe read 3 [6a757374 .txt 1 9]\n");
}

/* ---- directories --------------------------------------------------------------------------------------- */

static void make_tree(void)
{
    static const char *const directories[] = {"t", "t/a", "t/B", "t/a.d", "t/empty"};
    for (size_t i = 0; i < COUNT(directories); i++)
        assert_int_equal(mkdir(directories[i], 0755), 0);
    put_text("t/a/x.xpr", XPR);
    put_text("t/a.d/y.xpr", XPR);
    put_text("t/B/z.bgf", BGF);
    put_text("t/a-b", "text");
    put_text("t/caf\xE9.xpr", XPR);
    assert_int_equal(symlink("a/x.xpr", "t/link.xpr"), 0);
    assert_int_equal(symlink("..", "t/loop"), 0);
    assert_int_equal(mkfifo("t/fifo", 0644), 0);
}

static const char tree[] = "+ t/B/z.bgf bgf 32\n"
                           "+ t/a/x.xpr xpr2 28\n"
                           "? t/a-b [74657874  4]\n"
                           "+ t/a.d/y.xpr xpr2 28\n"
                           "+ t/caf%E9.xpr xpr2 28\n";

static void directories(void **state)
{
    (void)state;
    make_tree();
    extracts("t", tree);
    extracts("./t//", tree);
    assert_int_equal(symlink("t", "linked"), 0); /* an input that is a link is followed */
    extracts("linked/B", "+ linked/B/z.bgf bgf 32\n");
    extracts("linked", "+ linked/B/z.bgf bgf 32\n"
                       "+ linked/a/x.xpr xpr2 28\n"
                       "? linked/a-b [74657874  4]\n"
                       "+ linked/a.d/y.xpr xpr2 28\n"
                       "+ linked/caf%E9.xpr xpr2 28\n");
    assert_int_equal(chdir("t/a"), 0);
    extracts(".", "+ x.xpr xpr2 28\n");
    assert_int_equal(chdir("../.."), 0);
    extracts("t/link.xpr", "+ t/link.xpr xpr2 28\n");
    extracts("t/empty", "");
    extracts("t/fifo", "! t/fifo unreadable\n");
    extracts("t/nothing", "! t/nothing unreadable\n");
    char *got = transcript((const char *const[]){"t/a.d", "t/B"}, 2, &defaults); /* inputs keep their order */
    assert_string_equal(got, "+ t/a.d/y.xpr xpr2 28\n+ t/B/z.bgf bgf 32\n");
    free(got);
}

static void inputs_are_marked(void **state)
{
    (void)state;
    make_tree();
    static const char *const inputs[] = {"t/a/x.xpr", "t/a"};
    struct extractor *extractor = extract_open(inputs, 2, &defaults);
    struct extracted item;
    struct error err = {0};
    assert_true(extract_next(extractor, &item, &err));
    assert_true(item.is_input && item.mtime_ns > 0 && !item.parent_path);
    assert_string_equal(item.name, "x.xpr");
    extracted_free(&item);
    assert_true(extract_next(extractor, &item, &err));
    assert_false(item.is_input);
    extracted_free(&item);
    assert_false(extract_next(extractor, &item, &err));
    extract_close(extractor); /* and closing before the end is legal */
    extractor = extract_open(inputs, 2, &defaults);
    extract_close(extractor);
}

static void unreadable(void **state)
{
    (void)state;
    make_tree();
    assert_int_equal(chmod("t/a/x.xpr", 0), 0);
    assert_int_equal(chmod("t/B", 0), 0);
    assert_int_equal(chmod(".", 0755), 0);
    bool root = geteuid() == 0; /* to whom nothing is unreadable */
    if (root && seteuid(65534) != 0) {
        print_message("skipped: root cannot become another user here\n");
        skip();
    }
    extracts("t", "! t/B unreadable\n"
                  "! t/a/x.xpr unreadable\n"
                  "? t/a-b [74657874  4]\n"
                  "+ t/a.d/y.xpr xpr2 28\n"
                  "+ t/caf%E9.xpr xpr2 28\n");
    refuses("t/a/x.xpr", "ermission");
    if (root)
        assert_int_equal(seteuid(0), 0);
    prctl(PR_SET_DUMPABLE, 1); /* lost with the user; the leak checker needs it */
}

static bool vouch(const char *path, uint64_t size, int64_t mtime_ns, void *ctx)
{
    assert_true(mtime_ns > 0);
    return strcmp(path, ctx) == 0 && size == 28;
}

static void unchanged(void **state)
{
    (void)state;
    make_tree();
    struct extract_options options = defaults;
    options.unchanged = vouch;
    options.ctx = (void *)"t/a/x.xpr";
    extracts_with("t", &options,
                  "+ t/B/z.bgf bgf 32\n"
                  "= t/a/x.xpr\n"
                  "? t/a-b [74657874  4]\n"
                  "+ t/a.d/y.xpr xpr2 28\n"
                  "+ t/caf%E9.xpr xpr2 28\n");
}

int main(void)
{
    /* as the program does: member names must not depend on the environment */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(every_format),
        TEST(other_formats),
        TEST(lha),
        TEST(cabinet),
        TEST(package),
        TEST(every_filter),
        TEST(lone_files),
        TEST(compressed_zip),
        TEST(gzip_members),
        TEST(large_members),
        TEST(nested),
        TEST(too_deep),
        TEST(over_limit),
        TEST(names_that_repeat),
        TEST(names_of_bytes),
        TEST(wide_names),
        TEST(escaped_files),
        TEST(links),
        TEST(hard_links),
        TEST(many_hard_links),
        TEST(empty_members),
        TEST(unknown_files),
        TEST(unknown_members),
        TEST(containers_first),
        TEST(self_extracting),
        TEST(directories),
        TEST(inputs_are_marked),
        TEST(unreadable),
        TEST(unchanged),
    };
    return cmocka_run_group_tests_name("extract", tests, NULL, NULL);
}
