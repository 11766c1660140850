/* test_extract_kinds.c - what archives are made of by mistake or by malice: an outcome each, and neighbours
 * unharmed. Limits are tested here, too: each with what it says, and that a neighbour does not feel it. */
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <archive_entry.h>
#include <cmocka.h>

#include "tests/support/extracting.h"
#include "tests/support/image_build.h"

#define BYTES(text) .bytes = text, .size = sizeof text - 1

/* A sound file that every test puts behind what it tests. */
#define NEIGHBOUR "z.xpr"
static const char neighbour[] = "+ z.xpr xpr2 28\n";

/* The transcript of `input` and its neighbour. */
static void show(const char *input, const struct extract_options *options, const char *expected)
{
    char whole[4096];
    put_text(NEIGHBOUR, XPR);
    snprintf(whole, sizeof whole, "%s%s", expected, neighbour);
    char *got = transcript((const char *const[]){input, NEIGHBOUR}, 2, options);
    assert_string_equal(got, whole);
    free(got);
}

/* The message of the first failed item at that path. */
static void says(const char *input, const char *path, const struct extract_options *options,
                 const char *words)
{
    struct extracted item;
    struct error err = {0};
    struct extractor *extractor = extract_open(&input, 1, options);
    bool found = false;
    while (extract_next(extractor, &item, &err)) {
        if (item.reason && strcmp(item.path, path) == 0) {
            if (!strstr(item.message, words))
                fail_msg("%s: '%s' does not say '%s'", path, item.message, words);
            found = true;
        }
        extracted_free(&item);
    }
    extract_close(extractor);
    assert_true(found);
}

/* ---- names and types ----------------------------------------------------------------------------------- */

static void traversal(void **state)
{
    (void)state;
    static const char *const formats[] = {"ustar", "newc", "zip"};
    const struct pack_member members[] = {{.name = "../../etc/passwd.bgf", BYTES(BGF)},
                                          {.name = "/etc/shadow.bgf", BYTES(BGF)},
                                          {.name = "a/../../b.bgf", BYTES(BGF)},
                                          {.name = "..", BYTES(BGF)}};
    for (size_t i = 0; i < COUNT(formats); i++) {
        put_archive("in.dat", formats[i], NULL, members, COUNT(members));
        show("in.dat", &defaults,
             "+ in.dat!../../etc/passwd.bgf bgf 32\n+ in.dat!/etc/shadow.bgf bgf 32\n"
             "+ in.dat!a/../../b.bgf bgf 32\n+ in.dat!.. bgf 32\n"
             "/ in.dat read 4\n");
        opens_text("in.dat!../../etc/passwd.bgf", BGF);
    }
    assert_int_equal(access("../etc", F_OK), -1); /* nothing was written anywhere */
}

static void devices(void **state)
{
    (void)state;
    const struct pack_member members[] = {{.name = "console", .type = AE_IFCHR},
                                          {.name = "sda", .type = AE_IFBLK},
                                          {.name = "pipe", .type = AE_IFIFO},
                                          {.name = "self", .symlink = "self"},
                                          {.name = "a.bgf", BYTES(BGF)}};
    put_archive("in.tar", "pax", NULL, members, COUNT(members));
    show("in.tar", &defaults, "+ in.tar!a.bgf bgf 32\n/ in.tar read 1 bad-link\n");
}

static void odd_names(void **state)
{
    (void)state;
    static char name[60001];
    char expected[200 + sizeof name];
    memset(name, 'n', sizeof name - 1);
    const struct pack_member members[] = {{.name = " ", BYTES(BGF)},
                                          {.name = "new\nline\t\x1B[31m", BYTES(BGF)},
                                          {.name = "./.", BYTES(BGF)},
                                          {.name = "a", BYTES(BGF)},
                                          {.name = "a", BYTES(XPR)}};
    put_archive("in.tar", "pax", NULL, members, COUNT(members));
    show("in.tar", &defaults,
         "+ in.tar!  bgf 32\n+ in.tar!new\nline\t\x1B[31m bgf 32\n+ in.tar!. bgf 32\n"
         "+ in.tar!a bgf 32\n+ in.tar!a~2 xpr2 28\n/ in.tar read 5\n");
    const struct pack_member members_long[] = {{.name = name, BYTES(BGF)}, {.name = "b.bgf", BYTES(BGF)}};
    put_archive("in.tar", "pax", NULL, members_long, COUNT(members_long));
    snprintf(expected, sizeof expected, "in.tar!%s", name);
    opens_text(expected, BGF);
    opens_text("in.tar!b.bgf", BGF);
}

/* ---- loops and repetition ------------------------------------------------------------------------------ */

/* The directory record of a name in an ISO 9660 image (ECMA-119 9.1): extent at +2 and +6, size at +10 and
 * +14. */
static uint8_t *iso_record(struct buffer *iso, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0x9000; i + 33 + length < iso->size; i++)
        if (iso->data[i + 32] == length && memcmp(iso->data + i + 33, name, length) == 0 &&
            iso->data[i] >= 33)
            return iso->data + i;
    fail_msg("no record '%s'", name);
    return NULL;
}

static void set_extent(uint8_t *record, uint32_t sector, uint32_t size)
{
    for (int i = 0; i < 4; i++) {
        record[2 + i] = (uint8_t)(sector >> 8 * i);
        record[9 - i] = (uint8_t)(sector >> 8 * i);
        record[10 + i] = (uint8_t)(size >> 8 * i);
        record[17 - i] = (uint8_t)(size >> 8 * i);
    }
}

static const struct pack_member looped[] = {
    {.name = "DIR", .directory = true}, {.name = "DIR/ONE.BGF", BYTES(BGF)}, {.name = "TWO.BGF", BYTES(BGF)}};

/* A folder whose extent is that of the root. */
static void iso_folder_loop(void **state)
{
    (void)state;
    struct buffer iso = {0};
    pack(&iso, "iso9660", NULL, "!rockridge,!joliet", NULL, looped, COUNT(looped));
    uint32_t root;
    memcpy(&root, iso.data + 0x8000 + 156 + 2, sizeof root);
    set_extent(iso_record(&iso, "DIR"), root, 2048);
    put_buffer("loop.iso", &iso);
    show("loop.iso", &defaults, "/ loop.iso skipped bad-directory 0\n");
    says("loop.iso", "loop.iso", &defaults, "loop");
}

/* A file that is the whole image: it contains itself, and depth ends it. */
static void quine(void **state)
{
    (void)state;
    struct buffer iso = {0};
    pack(&iso, "iso9660", NULL, "!rockridge,!joliet", NULL, looped, COUNT(looped));
    set_extent(iso_record(&iso, "TWO.BGF;1"), 0, (uint32_t)iso.size);
    put_buffer("quine.iso", &iso);
    char *got = transcript((const char *const[]){"quine.iso"}, 1, &defaults);
    /* eight times itself, and the folder in it that its reader passes over each time */
    static const char self[] = "quine.iso"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF"
                               "!TWO.BGF";
    char first[256], last[] = "/ quine.iso damaged bad-directory 1\n";
    snprintf(first, sizeof first, "! %s!TWO.BGF too-deep\n! %s too-deep\n", self, self);
    assert_true(strncmp(got, first, strlen(first)) == 0);
    assert_string_equal(got + strlen(got) - strlen(last), last);
    free(got);
    put_text(NEIGHBOUR, XPR);
    extracts(NEIGHBOUR, neighbour);
}

/* Archives of sixteen archives, five deep: the whole is worth a million times its bottom. */
static void nested_bomb(void **state)
{
    (void)state;
    uint8_t *zeros = calloc(1, 1 << 20);
    struct buffer out = {0};
    memcpy(zeros, "XPR2", 4);
    const struct pack_member bottom = {.name = "0.xpr", .bytes = zeros, .size = 1 << 20};
    pack(&out, "zip", NULL, NULL, NULL, &bottom, 1);
    for (int depth = 0; depth < 5; depth++) {
        struct pack_member members[16];
        char names[16][8];
        struct buffer outer = {0};
        for (size_t i = 0; i < 16; i++) {
            snprintf(names[i], sizeof names[i], "%zu.zip", i);
            members[i] = (struct pack_member){.name = names[i], .bytes = out.data, .size = out.size};
        }
        pack(&outer, "zip", NULL, NULL, NULL, members, 16);
        buffer_free(&out);
        out = outer;
    }
    put_buffer("bomb.zip", &out);
    struct extract_options options = defaults;
    options.limits.expanded_bytes = 8 << 20;
    char *got = transcript((const char *const[]){"bomb.zip"}, 1, &options);
    const char *last = "! bomb.zip damaged over-limit\n";
    assert_true(strlen(got) > strlen(last));
    assert_string_equal(got + strlen(got) - strlen(last), last);
    free(got);
    says("bomb.zip", "bomb.zip", &options, "8388608 bytes; --max-expanded is 8388608");
    /* with its ratio alone it ends as well */
    says("bomb.zip", "bomb.zip", &defaults, "--max-ratio is 2000");
    put_text(NEIGHBOUR, XPR);
    extracts(NEIGHBOUR, neighbour);
    free(zeros);
}

/* 70 MB of zeros in a hundred bytes or so. */
static void high_ratio(void **state)
{
    (void)state;
    size_t size = 70 << 20;
    uint8_t *zeros = calloc(1, size);
    memcpy(zeros, "XPR2", 4);
    const struct pack_member members[] = {{.name = "first.bgf", BYTES(BGF)},
                                          {.name = "zeros.xpr", .bytes = zeros, .size = size},
                                          {.name = "last.bgf", BYTES(BGF)}};
    put_archive("in.tar.bz2", "ustar", "bzip2", members, COUNT(members));
    put_lone("zeros.xpr.bz2", "bzip2", zeros, size);
    free(zeros);
    show("in.tar.bz2", &defaults,
         "+ in.tar.bz2!first.bgf bgf 32\n! in.tar.bz2!zeros.xpr over-limit\n"
         "! in.tar.bz2 damaged over-limit\n");
    says("in.tar.bz2", "in.tar.bz2!zeros.xpr", &defaults, "67108864 bytes; --max-ratio is 2000");
    show("zeros.xpr.bz2", &defaults, "! zeros.xpr.bz2!zeros.xpr over-limit\n! zeros.xpr.bz2 over-limit\n");
    /* what was asked for in so many words */
    struct extract_options options = defaults;
    options.limits.ratio = 0;
    show("in.tar.bz2", &options,
         "+ in.tar.bz2!first.bgf bgf 32\n+ in.tar.bz2!zeros.xpr xpr2 73400320\n"
         "+ in.tar.bz2!last.bgf bgf 32\n/ in.tar.bz2 read 3\n");
}

static void many_members(void **state)
{
    (void)state;
    size_t count = 1000000;
#ifdef __SANITIZE_ADDRESS__
    count = 50000;
#endif
    if (getenv("ANCHORAGE_QUICK") && *getenv("ANCHORAGE_QUICK"))
        count = 20000;
    struct pack_member *members = calloc(count, sizeof *members);
    char(*names)[8] = malloc(count * sizeof *names), expected[128];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%zx", i);
        members[i] = (struct pack_member){.name = names[i], .bytes = ""};
    }
    put_archive("in.tar.zst", "ustar", "zstd", members, count / 10);
    put_archive("in.zip", "zip", NULL, members, count);
    free(members);
    free(names);
    snprintf(expected, sizeof expected, "/ in.tar.zst read %zu [  %zu 0]\n", count / 10, count / 10);
    show("in.tar.zst", &defaults, expected);
    snprintf(expected, sizeof expected, "/ in.zip read %zu [  %zu 0]\n", count, count);
    show("in.zip", &defaults, expected);
    struct extract_options options = defaults;
    options.limits.members = 1000;
    show("in.zip", &options, "/ in.zip damaged over-limit 1000 [  1000 0]\n");
    says("in.zip", "in.zip", &options, "--max-members is 1000");
}

/* ---- zip ----------------------------------------------------------------------------------------------- */

static void put_u32le(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

/* The n-th record that begins with these four bytes. */
static uint8_t *record(struct buffer *zip, const char *magic, int n)
{
    uint8_t *p = zip->data;
    do
        p = memmem(p + 1, zip->size - (size_t)(p + 1 - zip->data), magic, 4);
    while (p && n-- > 0);
    assert_non_null(p);
    return p;
}

static const struct pack_member two[] = {{.name = "a.bgf", BYTES(BGF)}, {.name = "b.xpr", BYTES(XPR)}};

/* All directory entries lead to one local header (APPNOTE.TXT 4.3.12, at 42): what is behind it is told
 * twice. */
static void overlapping_zip(void **state)
{
    (void)state;
    struct buffer zip = {0};
    pack(&zip, "zip", NULL, "zip:compression=store", NULL, two, COUNT(two));
    put_u32le(record(&zip, "PK\1\2", 1) + 42, 0);
    put_buffer("in.zip", &zip);
    char *got = transcript((const char *const[]){"in.zip"}, 1, &defaults);
    assert_string_equal(got, "+ in.zip!a.bgf bgf 32\n/ in.zip damaged bad-directory 1\n");
    free(got);
    says("in.zip", "in.zip", &defaults, "2 entries, of which 1");
}

/* Sizes that the directory, the local header, or both announce wrongly, either way. */
static void lying_sizes(void **state)
{
    (void)state;
    static const int changes[] = {-5, 5, 100000};
    for (size_t i = 0; i < COUNT(changes); i++) {
        for (int which = 1; which < 4; which++) {
            struct buffer zip = {0};
            pack(&zip, "zip", NULL, "zip:compression=deflate", NULL, two, COUNT(two));
            uint32_t size = (uint32_t)((int)two[0].size + changes[i]);
            if (which & 1)
                put_u32le(record(&zip, "PK\1\2", 0) + 24, size);
            if (which & 2)
                put_u32le(zip.data + 22, size);
            put_buffer("in.zip", &zip);
            print_message("%+d in %d\n", changes[i], which);
            char *got = transcript((const char *const[]){"in.zip"}, 1, &defaults);
            /* libarchive believes the local header; what it says and what is there are compared */
            assert_string_equal(got, which == 1
                                         ? "+ in.zip!a.bgf bgf 32\n+ in.zip!b.xpr xpr2 28\n/ in.zip read 2\n"
                                         : "! in.zip!a.bgf bad-crc\n+ in.zip!b.xpr xpr2 28\n"
                                           "/ in.zip damaged bad-crc 2\n");
            free(got);
        }
    }
}

/* The last volume of a zip in several: the directory is there, most of what it leads to is not. */
static void missing_volumes(void **state)
{
    (void)state;
    struct buffer zip = {0}, seven = {0};
    uint8_t noise[20000];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    memcpy(noise, "XPR2", 4);
    const struct pack_member members[] = {{.name = "a.xpr", .bytes = noise, .size = sizeof noise},
                                          {.name = "b.xpr", .bytes = noise, .size = sizeof noise}};
    pack(&zip, "zip", NULL, "zip:compression=store", NULL, members, COUNT(members));
    put_file("in.zip", zip.data + 10000, zip.size - 10000);
    put_file("in.z01", zip.data, 10000);
    char *got = transcript((const char *const[]){"in.z01", "in.zip"}, 2, &defaults);
    assert_string_equal(got, "! in.z01!a.xpr truncated\n/ in.z01 skipped truncated 1\n"
                             "? in.zip [8295d2c4 .zip 30322]\n");
    free(got);
    pack(&seven, "7zip", NULL, "7zip:compression=store", NULL, members, COUNT(members));
    put_file("in.7z.001", seven.data, 10000);
    put_file("in.7z.002", seven.data + 10000, seven.size - 10000);
    got = transcript((const char *const[]){"in.7z.001", "in.7z.002"}, 2, &defaults);
    assert_string_equal(got, "/ in.7z.001 skipped truncated 0\n? in.7z.002 [a06c5e94 .002 30139]\n");
    free(got);
    buffer_free(&zip);
    buffer_free(&seven);
}

/* ---- 7z ------------------------------------------------------------------------------------------------ */

/* One file, said to be behind AES-256 (7zFormat.txt; method 06F10701). The header is not encrypted. */
static void encrypted_7z(void **state)
{
    (void)state;
    static const uint8_t header[] = {
        1,                           /* header */
        4,   6,  0,  1,  9, 32,   0, /* streams: pack info: at 0, one, of 32 bytes */
        7,   11, 1,  0,  1, 0x24, 6, 0xF1, 7, 1,   2, 0xD3, 0x00, /* one folder: one coder with properties */
        12,  28, 0,                                               /* unpacked: 28 bytes */
        8,   0,  0,                                               /* one file in it */
        5,   1,  17, 13, 0, 'a',  0, '.',  0, 'x', 0, 'p',  0,
        'r', 0,  0,  0,  0, 0, /* one file and its name */
    };
    uint8_t file[32 + 32 + sizeof header] = {'7', 'z', 0xBC, 0xAF, 0x27, 0x1C, 0, 4};
    file[12] = 32;
    file[20] = sizeof header;
    put_u32le(file + 28, (uint32_t)crc32(0, header, sizeof header));
    put_u32le(file + 8, (uint32_t)crc32(0, file + 12, 20));
    memcpy(file + 64, header, sizeof header);
    put_file("in.7z", file, sizeof file);
    show("in.7z", &defaults, "! in.7z!a.xpr encrypted\n/ in.7z skipped encrypted 1\n");
}

/* ---- while it is read ---------------------------------------------------------------------------------- */

static void growing_archive(void **state)
{
    (void)state;
    struct extracted item;
    struct error err = {0};
    put_archive("in.tar", "ustar", NULL, two, COUNT(two));
    put_text(NEIGHBOUR, XPR);
    struct extractor *extractor = extract_open((const char *const[]){"in.tar", NEIGHBOUR}, 2, &defaults);
    assert_true(extract_next(extractor, &item, &err)); /* a member, which stands */
    assert_int_equal(item.kind, EXTRACT_BYTES);
    extracted_free(&item);
    FILE *more = fopen("in.tar", "ab");
    fputs("more", more);
    fclose(more);
    assert_true(extract_next(extractor, &item, &err));
    assert_string_equal(item.path, "in.tar!b.xpr");
    extracted_free(&item);
    assert_true(extract_next(extractor, &item, &err)); /* nobody knows of which archive they were */
    assert_int_equal(item.kind, EXTRACT_FAILED);
    assert_int_equal(item.reason, CONTAINER_UNREADABLE);
    assert_int_equal(item.status, CONTAINER_DAMAGED);
    assert_string_equal(item.message, "changed while being read");
    extracted_free(&item);
    assert_true(extract_next(extractor, &item, &err));
    assert_string_equal(item.path, NEIGHBOUR);
    extracted_free(&item);
    assert_false(extract_next(extractor, &item, &err));
    extract_close(extractor);
}

/* An image in an archive whose video partition was wiped: nothing of its head says what it is. */
static void wiped_image(void **state)
{
    (void)state;
    const struct image_file files[] = {{.name = "a.bgf", BYTES(BGF)}};
    struct buffer partition = {0}, image = {0};
    image_xdvdfs(&partition, files, COUNT(files), false);
    memset(buffer_extend(&image, 0x02080000), 0, 0x02080000);
    buffer_append(&image, partition.data, partition.size);
    wrap(&image, "zip", NULL, "disc.iso");
    put_buffer("in.zip", &image);
    buffer_free(&partition);
    show("in.zip", &defaults,
         "+ in.zip!disc.iso!a.bgf bgf 32\n/ in.zip!disc.iso xdvdfs read 1\n/ in.zip read 1\n");
    opens_text("in.zip!disc.iso!a.bgf", BGF);
    memset(buffer_extend(&image, 0x03000000), 0, 0x03000000); /* zeros to the end are no image */
    wrap(&image, "zip", NULL, "zeros.bin");
    put_buffer("in.zip", &image);
    show("in.zip", &defaults, "/ in.zip read 1 [00000000 .bin 1 50331648]\n");
}

/* A folder that is taken away during the walk, as when its disc is pulled. */
static void vanished_folder(void **state)
{
    (void)state;
    struct extracted item;
    struct error err = {0};
    assert_int_equal(mkdir("t", 0755) | mkdir("t/a", 0755) | mkdir("t/b", 0755), 0);
    put_text("t/a/1.xpr", XPR);
    put_text("t/a/2.xpr", XPR);
    put_text("t/b/3.xpr", XPR);
    put_text(NEIGHBOUR, XPR);
    struct extractor *extractor = extract_open((const char *const[]){"t", NEIGHBOUR}, 2, &defaults);
    assert_true(extract_next(extractor, &item, &err));
    assert_string_equal(item.path, "t/a/1.xpr");
    extracted_free(&item);
    assert_int_equal(system("rm -r t"), 0);
    static const char *const gone[] = {"t/a/2.xpr", "t/b"};
    for (size_t i = 0; i < COUNT(gone); i++) {
        assert_true(extract_next(extractor, &item, &err));
        assert_string_equal(item.path, gone[i]);
        assert_int_equal(item.reason, CONTAINER_UNREADABLE);
        extracted_free(&item);
    }
    assert_true(extract_next(extractor, &item, &err));
    assert_string_equal(item.path, NEIGHBOUR);
    extracted_free(&item);
    extract_close(extractor);
}

/* What is no file is never opened: a reader of the FIFO would wait, a device might do anything. */
static void special_files(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "t/socket.xpr"};
    assert_int_equal(mkdir("t", 0755), 0);
    put_text("t/a.xpr", XPR);
    assert_int_equal(mkfifo("t/fifo.xpr", 0644), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    bool device = mknod("t/zero.xpr", S_IFCHR | 0644, makedev(1, 5)) == 0; /* root may */
    show("t", &defaults, "+ t/a.xpr xpr2 28\n");
    show("t/fifo.xpr", &defaults, "! t/fifo.xpr unreadable\n");
    show("t/socket.xpr", &defaults, "! t/socket.xpr unreadable\n");
    show("/dev/zero", &defaults, "! /dev/zero unreadable\n");
    if (device)
        show("t/zero.xpr", &defaults, "! t/zero.xpr unreadable\n");
    close(fd);
}

/* ---- the spool ----------------------------------------------------------------------------------------- */

/* An image of 70 MB in a zip in a tar: it goes through the spool, and gives its room back. */
static void spooled_image(void **state)
{
    (void)state;
    const struct image_file files[] = {{.name = "a.bgf", BYTES(BGF)}, {.name = "b.xpr", BYTES(XPR)}};
    struct buffer partition = {0}, image = {0};
    image_xdvdfs(&partition, files, COUNT(files), false);
    memset(buffer_extend(&image, 70 << 20), 0, 70 << 20);
    memcpy(image.data, partition.data, partition.size);
    struct hash hash = hash_bytes(image.data, image.size);
    wrap(&image, "zip", NULL, "disc.iso");
    const struct pack_member members[] = {{.name = "disc.zip", .bytes = image.data, .size = image.size},
                                          {.name = "again.zip", .bytes = image.data, .size = image.size},
                                          {.name = "last.bgf", BYTES(BGF)}};
    put_archive("in.tar", "ustar", NULL, members, COUNT(members));
    buffer_free(&image);
    buffer_free(&partition);
    struct extract_options options = defaults;
    options.spool = spool_new(".");
    options.limits.spool_bytes = 100 << 20;
    show("in.tar", &options,
         "+ in.tar!disc.zip!disc.iso!a.bgf bgf 32\n+ in.tar!disc.zip!disc.iso!b.xpr xpr2 28\n"
         "/ in.tar!disc.zip!disc.iso xdvdfs read 2\n/ in.tar!disc.zip read 1\n"
         "+ in.tar!again.zip!disc.iso!a.bgf bgf 32\n+ in.tar!again.zip!disc.iso!b.xpr xpr2 28\n"
         "/ in.tar!again.zip!disc.iso xdvdfs read 2\n/ in.tar!again.zip read 1\n"
         "+ in.tar!last.bgf bgf 32\n/ in.tar read 3\n");
    assert_int_equal(spool_used(options.spool), 0);
    struct stat stat_buffer;
    assert_int_equal(fstat(spool_fd(options.spool), &stat_buffer), 0);
    assert_int_equal(stat_buffer.st_size, 0);
    /* from memory the same, under the same hash */
    struct extracted item;
    struct error err = {0};
    for (int spooled = 0; spooled < 2; spooled++) {
        struct extract_options either = options;
        either.spool = spooled ? options.spool : NULL;
        struct extractor *extractor = extract_open((const char *const[]){"in.tar"}, 1, &either);
        bool found = false;
        while (extract_next(extractor, &item, &err)) {
            if (item.format == FORMAT_XDVDFS)
                found = hash_equal(&item.hash, &hash);
            extracted_free(&item);
        }
        extract_close(extractor);
        assert_true(found);
    }
    /* no room for it: an outcome of where it lies, not of the zip's content */
    options.limits.spool_bytes = 69 << 20;
    show("in.tar", &options,
         "! in.tar!disc.zip!disc.iso over-limit\n! in.tar!disc.zip over-limit\n"
         "! in.tar!again.zip!disc.iso over-limit\n! in.tar!again.zip over-limit\n"
         "+ in.tar!last.bgf bgf 32\n/ in.tar read 3\n");
    says("in.tar", "in.tar!disc.zip!disc.iso", &options, "--spool is 72351744");
    spool_free(options.spool);
    /* a disc that takes nothing is no outcome but the end of the job */
    options.spool = spool_new("missing");
    options.limits.spool_bytes = 100 << 20;
    struct extractor *extractor = extract_open((const char *const[]){"in.tar"}, 1, &options);
    assert_false(extract_next(extractor, &item, &err));
    assert_int_equal(err.code, ERROR_IO);
    assert_non_null(strstr(err.msg, "spool file in missing"));
    extract_close(extractor);
    spool_free(options.spool);
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(traversal),       TEST(devices),         TEST(odd_names),       TEST(iso_folder_loop),
        TEST(quine),           TEST(nested_bomb),     TEST(high_ratio),      TEST(many_members),
        TEST(overlapping_zip), TEST(lying_sizes),     TEST(missing_volumes), TEST(encrypted_7z),
        TEST(wiped_image),     TEST(growing_archive), TEST(vanished_folder), TEST(special_files),
        TEST(spooled_image),
    };
    return cmocka_run_group_tests_name("extract kinds", tests, NULL, NULL);
}
