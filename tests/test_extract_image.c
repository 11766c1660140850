/* test_extract_image.c - images of game discs and packs, sound and damaged, plain and inside archives. */
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/extracting.h"
#include "tests/support/image_build.h"

#define BYTES(text) .bytes = text, .size = sizeof text - 1

static const struct image_file stage[] = {{.name = "Stage_S02.xpr", BYTES(XPR)},
                                          {.name = "notes.txt", BYTES("just text")}};
static const struct image_file tree[] = {
    {.name = "empty", .folder = true},
    {.name = "hidden", .folder = true, .in = stage, .in_count = COUNT(stage)},
    {.name = "nothing.bgf"},
    {.name = "two.bgf", BYTES(BGF)},
};

static const char expected[] = "+ disc.iso!hidden/Stage_S02.xpr xpr2 28\n"
                               "+ disc.iso!two.bgf bgf 32\n"
                               "/ disc.iso xdvdfs read 4 [ .bgf 1 0] [6a757374 .txt 1 9]\n";

/* ---- game partitions ----------------------------------------------------------------------------------- */

static void every_base(void **state)
{
    (void)state;
    static const uint64_t bases[] = {0, 0x18300000, 0x0FD90000, 0x02080000};
    for (int chain = 0; chain < 2; chain++) {
        struct buffer partition = {0};
        image_xdvdfs(&partition, tree, COUNT(tree), chain);
        for (size_t i = 0; i < COUNT(bases); i++) {
            print_message("base 0x%llx\n", (unsigned long long)bases[i]);
            image_put("disc.iso", bases[i], &partition);
            /* the file's own hash is checked on the way: 400 MB of hole are enough once */
            if (chain == 0 || bases[i] == 0)
                extracts("disc.iso", expected);
            opens_text("disc.iso!hidden/Stage_S02.xpr", XPR);
            opens_text("disc.iso!two.bgf", BGF);
            opens_text("disc.iso!nothing.bgf", "");
            refuses("disc.iso!hidden", "no member");
            refuses("disc.iso!two.bgf!more", "not an archive");
        }
        buffer_free(&partition);
    }
}

/* What this process has read so far, as the kernel counts it; 0 where it does not. */
static unsigned long long bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (file && fscanf(file, "rchar: %llu", &bytes) != 1)
        bytes = 0;
    if (file)
        fclose(file);
    return bytes;
}

/* By address only the tables and the member are read, also of an archive that lies in the image. */
static void direct_access(void **state)
{
    (void)state;
    struct buffer tar = {0}, partition = {0};
    size_t size = 8 << 20;
    uint8_t *noise = calloc(1, size);
    const struct pack_member members[] = {{.name = "large", .bytes = noise, .size = size},
                                          {.name = "a.bgf", BYTES(BGF)}};
    pack(&tar, "ustar", NULL, NULL, NULL, members, COUNT(members));
    const struct image_file files[] = {{.name = "large", .bytes = noise, .size = size},
                                       {.name = "models.tar", .bytes = tar.data, .size = tar.size},
                                       {.name = "z.bgf", BYTES(BGF)}};
    image_xdvdfs(&partition, files, COUNT(files), false);
    image_put("disc.iso", 0x18300000, &partition);
    unsigned long long before = bytes_read();
    opens_text("disc.iso!z.bgf", BGF);
    opens_text("disc.iso!models.tar!a.bgf", BGF);
    assert_true(bytes_read() - before < 4 << 20);
    free(noise);
    buffer_free(&tar);
    buffer_free(&partition);
}

static void the_image_itself(void **state)
{
    (void)state;
    struct buffer partition = {0};
    struct extracted item;
    struct error err = {0};
    image_xdvdfs(&partition, tree, COUNT(tree), false);
    image_put("disc.iso", 0, &partition);
    assert_true(extract_address("disc.iso", &defaults, &item, &err));
    assert_int_equal(item.format, FORMAT_XDVDFS);
    assert_int_equal(item.size, partition.size);
    extracted_free(&item);
    buffer_free(&partition);
}

/* An empty root, of filling or of nothing. */
static void empty_image(void **state)
{
    (void)state;
    struct buffer partition = {0};
    image_xdvdfs(&partition, NULL, 0, false);
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "/ disc.iso xdvdfs read 0\n");
    memset(partition.data + 0x10000 + 0x18, 0, 4);
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "/ disc.iso xdvdfs read 0\n");
    buffer_free(&partition);
}

/* A full dump: ISO 9660 in front, the game behind. */
static void both_file_systems(void **state)
{
    (void)state;
    const struct pack_member video = {.name = "video/menu.bgf", BYTES(BGF)};
    struct buffer partition = {0}, iso = {0};
    image_xdvdfs(&partition, tree, COUNT(tree), false);
    image_put("disc.iso", 0x02080000, &partition);
    pack(&iso, "iso9660", NULL, NULL, NULL, &video, 1);
    int fd = open("disc.iso", O_WRONLY);
    assert_int_equal(pwrite(fd, iso.data, iso.size, 0), (ssize_t)iso.size);
    close(fd);
    extracts("disc.iso", "+ disc.iso!hidden/Stage_S02.xpr xpr2 28\n"
                         "+ disc.iso!two.bgf bgf 32\n"
                         "+ disc.iso!iso9660!video/menu.bgf bgf 32\n"
                         "/ disc.iso!iso9660 read 1\n"
                         "/ disc.iso xdvdfs read 5 [ .bgf 1 0] [6a757374 .txt 1 9]\n");
    opens_text("disc.iso!iso9660!video/menu.bgf", BGF);
    opens_text("disc.iso!two.bgf", BGF);
    buffer_free(&partition);
    buffer_free(&iso);
}

/* Archives on a disc are read where they lie. */
static void archives_on_a_disc(void **state)
{
    (void)state;
    struct buffer zip = {0}, partition = {0};
    pack(&zip, "zip", NULL, NULL, NULL, three, COUNT(three));
    const struct image_file files[] = {{.name = "models.zip", .bytes = zip.data, .size = zip.size},
                                       {.name = "z.bgf", BYTES(BGF)}};
    image_xdvdfs(&partition, files, COUNT(files), false);
    image_put("disc.iso", 0x02080000, &partition);
    extracts("disc.iso", "+ disc.iso!models.zip!a/one.xpr xpr2 28\n"
                         "+ disc.iso!models.zip!two.bgf bgf 32\n"
                         "/ disc.iso!models.zip read 3 [6a757374 .txt 1 9]\n"
                         "+ disc.iso!z.bgf bgf 32\n"
                         "/ disc.iso xdvdfs read 2\n");
    opens_text("disc.iso!models.zip!two.bgf", BGF);
    buffer_free(&zip);
    buffer_free(&partition);
}

/* Names are bytes; those that would be other paths are damage, which costs the file. */
static void names(void **state)
{
    (void)state;
    const struct image_file files[] = {
        {.name = "\xE9t\xE9.xpr", BYTES(XPR)}, {.name = "50%!#.bgf", BYTES(BGF)},
        {.name = "a/b.bgf", BYTES(BGF)},       {.name = "n\0l.bgf", .name_size = 7, BYTES(BGF)},
        {.name = "two.bgf", BYTES(BGF)},       {.name = "two.bgf", BYTES(BGF "!")}};
    struct buffer partition = {0};
    image_xdvdfs(&partition, files, COUNT(files), true);
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "+ disc.iso!%E9t%E9.xpr xpr2 28\n"
                         "+ disc.iso!50%25%21%23.bgf bgf 32\n"
                         "+ disc.iso!two.bgf bgf 32\n"
                         "+ disc.iso!two.bgf~2 bgf 33\n"
                         "/ disc.iso xdvdfs damaged bad-directory 4\n");
    opens_text("disc.iso!%E9t%E9.xpr", XPR);
    refuses("disc.iso!a/b.bgf", "a name with a slash");
    buffer_free(&partition);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

/* Four files in a chain to the right, one of whose fields is then made wrong. */
static const struct image_file four[] = {{.name = "a.bgf", BYTES(BGF)},
                                         {.name = "b.xpr", BYTES(XPR)},
                                         {.name = "c.bgf", BYTES(BGF)},
                                         {.name = "d.xpr", BYTES(XPR)}};

static void damaged_with(const char *name, size_t at, size_t size, uint32_t value, const char *transcript)
{
    struct buffer partition = {0};
    image_xdvdfs(&partition, four, COUNT(four), true);
    uint8_t *entry = image_entry(&partition, name);
    for (size_t i = 0; i < size; i++)
        entry[at + i] = (uint8_t)(value >> 8 * i);
    print_message("%s +%zu = 0x%x\n", name, at, value);
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", transcript);
    buffer_free(&partition);
}

static void damaged_entries(void **state)
{
    (void)state;
    /* a branch back to the first entry, which is where the chain began: what hangs behind it is lost */
    damaged_with("b.xpr", 2, 2, 5,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n"
                 "/ disc.iso xdvdfs damaged bad-directory 2\n");
    /* into the middle of another entry, beyond the table, into its filling */
    damaged_with("a.bgf", 0, 2, 6,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n+ disc.iso!c.bgf bgf 32\n"
                 "+ disc.iso!d.xpr xpr2 28\n/ disc.iso xdvdfs damaged bad-directory 4\n");
    damaged_with("c.bgf", 0, 2, 0x7FFF,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n+ disc.iso!c.bgf bgf 32\n"
                 "+ disc.iso!d.xpr xpr2 28\n/ disc.iso xdvdfs damaged bad-directory 4\n");
    damaged_with("c.bgf", 0, 2, 0x100,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n+ disc.iso!c.bgf bgf 32\n"
                 "+ disc.iso!d.xpr xpr2 28\n/ disc.iso xdvdfs damaged bad-directory 4\n");
    /* outside the image: a cut dump, or a wrong sector */
    damaged_with("b.xpr", 4, 4, 0x7FFFFFFF,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!c.bgf bgf 32\n+ disc.iso!d.xpr xpr2 28\n"
                 "! disc.iso!b.xpr truncated\n/ disc.iso xdvdfs damaged truncated 4\n");
    damaged_with("b.xpr", 8, 4, 0xFFFFFFF0,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!c.bgf bgf 32\n+ disc.iso!d.xpr xpr2 28\n"
                 "! disc.iso!b.xpr truncated\n/ disc.iso xdvdfs damaged truncated 4\n");
    /* a size that takes in the next file: that one stands */
    damaged_with("b.xpr", 8, 4, 2049,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!c.bgf bgf 32\n+ disc.iso!d.xpr xpr2 28\n"
                 "! disc.iso!b.xpr bad-directory\n/ disc.iso xdvdfs damaged bad-directory 4\n");
    /* an entry without a name */
    damaged_with("d.xpr", 13, 1, 0,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n"
                 "+ disc.iso!c.bgf bgf 32\n/ disc.iso xdvdfs damaged bad-directory 3\n");
    /* a file that is said to be a folder: its bytes are no table */
    damaged_with("b.xpr", 12, 1, 0x10,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!c.bgf bgf 32\n+ disc.iso!d.xpr xpr2 28\n"
                 "/ disc.iso xdvdfs damaged bad-directory 3\n");
    /* two names of one extent are one content */
    damaged_with("d.xpr", 4, 4, 34,
                 "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n"
                 "+ disc.iso!d.xpr xpr2 28\n+ disc.iso!c.bgf bgf 32\n"
                 "/ disc.iso xdvdfs read 4\n");
}

/* A folder whose table is the one around it: read once. */
static void folder_loop(void **state)
{
    (void)state;
    struct buffer partition = {0};
    image_xdvdfs(&partition, tree, COUNT(tree), false);
    memcpy(image_entry(&partition, "hidden") + 4, partition.data + 0x10014, 8);
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "+ disc.iso!two.bgf bgf 32\n"
                         "! disc.iso!hidden bad-directory\n"
                         "/ disc.iso xdvdfs damaged bad-directory 3 [ .bgf 1 0]\n");
    buffer_free(&partition);
}

static void damaged_volume(void **state)
{
    (void)state;
    struct buffer partition = {0};
    image_xdvdfs(&partition, four, COUNT(four), false);
    size_t size = partition.size;
    /* the second magic is gone: all is read, and said not to be whole */
    partition.data[0x10000 + 0x7EC] ^= 1;
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "+ disc.iso!a.bgf bgf 32\n+ disc.iso!b.xpr xpr2 28\n+ disc.iso!c.bgf bgf 32\n"
                         "+ disc.iso!d.xpr xpr2 28\n/ disc.iso xdvdfs damaged bad-directory 4\n");
    partition.data[0x10000 + 0x7EC] ^= 1;
    /* cut: the root's table was written last here, so nothing is known of the rest */
    partition.size = size - IMAGE_SECTOR;
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "/ disc.iso xdvdfs skipped truncated 0\n");
    partition.size = 0x10000 + 24; /* inside the descriptor */
    image_put("disc.iso", 0, &partition);
    extracts("disc.iso", "/ disc.iso xdvdfs skipped bad-directory 0\n");
    buffer_free(&partition);
}

/* Every prefix of an image, and every byte of its tables changed, ends in outcomes and never in a crash. */
static void any_damage(void **state)
{
    (void)state;
    struct buffer partition = {0};
    image_xdvdfs(&partition, tree, COUNT(tree), false);
    size_t whole = partition.size;
    for (size_t at = 0x10000; at < whole; at += at % IMAGE_SECTOR < 96 ? 1 : 96) {
        uint8_t kept = partition.data[at];
        partition.data[at] ^= 0x55;
        image_put("disc.iso", 0, &partition);
        free(transcript((const char *const[]){"disc.iso"}, 1, &defaults));
        partition.data[at] = kept;
    }
    for (partition.size = 0x10000; partition.size < whole; partition.size += 512) {
        image_put("disc.iso", 0, &partition);
        free(transcript((const char *const[]){"disc.iso"}, 1, &defaults));
    }
    buffer_free(&partition);
}

/* ---- packs --------------------------------------------------------------------------------------------- */

static const struct pack_entry entries[] = {
    {.hash = 0xC0FFEE01, .part = 0, BYTES(XPR)},
    {.hash = 0x00000002, .part = 1, BYTES("just text")},
    {.hash = 0x0A0B0C0D, .part = 1, BYTES(BGF)},
    {.hash = 0x0A0B0C0D, .part = 15, BYTES(MESH)},
};

static const char pack_expected[] = "+ data.pak!c0ffee01 xpr2 28\n"
                                    "+ data.pak!0a0b0c0d bgf 32\n"
                                    "+ data.pak!0a0b0c0d~2 meshbin 32\n"
                                    "/ data.pak read 4 [6a757374  1 9]\n";

/* Puts the pack's files with these parts only: bits. */
static void put_pack(uint32_t parts_kept, const char *letter)
{
    struct buffer index = {0}, parts[16] = {0};
    char name[16];
    image_ipfb(&index, parts, entries, COUNT(entries));
    put_buffer("data.pak", &index);
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name, sizeof name, "data.%s%02u", letter, i);
        if (parts[i].size && parts_kept >> i & 1)
            put_buffer(name, &parts[i]);
        else
            buffer_free(&parts[i]);
    }
}

static void packs(void **state)
{
    (void)state;
    put_pack(0xFFFF, "p");
    extracts("data.pak", pack_expected);
    opens_text("data.pak!c0ffee01", XPR);
    opens_text("data.pak!0a0b0c0d", BGF);
    opens_text("data.pak!0a0b0c0d~2", MESH);
    opens_text("data.pak!00000002", "just text");
    refuses("data.pak!C0FFEE01", "no member");
    /* in a folder the parts are files of their own, too */
    char *got = transcript((const char *const[]){"."}, 1, &defaults);
    const char *end = strstr(got, pack_expected);
    assert_true(end && strcmp(end, pack_expected) == 0 && strncmp(got, "? data.p00 [", 12) == 0);
    free(got);
}

/* What lies in a part that is missing cannot be had, the rest can. */
static void missing_parts(void **state)
{
    (void)state;
    put_pack(1 << 0 | 1 << 15, "P");
    extracts("data.pak", "+ data.pak!c0ffee01 xpr2 28\n"
                         "! data.pak!00000002 unreadable\n"
                         "! data.pak!0a0b0c0d unreadable\n"
                         "+ data.pak!0a0b0c0d~2 meshbin 32\n"
                         "/ data.pak damaged unreadable 4\n");
    refuses("data.pak!0a0b0c0d", ".p01 is missing");
}

/* In a zip the parts may stand in front of the index; on a disc they are files beside it, in whatever case.
 */
static void packs_inside(void **state)
{
    (void)state;
    struct buffer index = {0}, parts[16] = {0}, image = {0};
    image_ipfb(&index, parts, entries, COUNT(entries));
    const struct pack_member members[] = {
        {.name = "x/data.p01", .bytes = parts[1].data, .size = parts[1].size},
        {.name = "data.p00", .bytes = parts[1].data, .size = parts[1].size}, /* another folder's */
        {.name = "x/data.pak", .bytes = index.data, .size = index.size},
        {.name = "x/data.p15", .bytes = parts[15].data, .size = parts[15].size},
        {.name = "x/data.p00", .bytes = parts[0].data, .size = parts[0].size},
    };
    static const char *const formats[] = {"zip", "ustar", "7zip"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        print_message("%s\n", formats[i]);
        put_archive("in.dat", formats[i], i == 1 ? "gzip" : NULL, members, COUNT(members));
        char *got = transcript((const char *const[]){"in.dat"}, 1, &defaults);
        assert_non_null(strstr(got, "+ in.dat!x/data.pak!c0ffee01 xpr2 28\n"
                                    "+ in.dat!x/data.pak!0a0b0c0d bgf 32\n"
                                    "+ in.dat!x/data.pak!0a0b0c0d~2 meshbin 32\n"
                                    "/ in.dat!x/data.pak read 4 [6a757374  1 9]\n"
                                    "/ in.dat read 5"));
        free(got);
        opens_text("in.dat!x/data.pak!0a0b0c0d", BGF);
    }
    const struct image_file dat[] = {{.name = "DATA.P00", .bytes = parts[0].data, .size = parts[0].size},
                                     {.name = "DATA.P01", .bytes = parts[1].data, .size = parts[1].size},
                                     {.name = "DATA.P15", .bytes = parts[15].data, .size = parts[15].size},
                                     {.name = "data.pak", .bytes = index.data, .size = index.size}};
    const struct image_file root = {.name = "dat", .folder = true, .in = dat, .in_count = COUNT(dat)};
    image_xdvdfs(&image, &root, 1, false);
    image_put("disc.iso", 0, &image);
    char *got = transcript((const char *const[]){"disc.iso"}, 1, &defaults);
    assert_non_null(strstr(got, "+ disc.iso!dat/data.pak!0a0b0c0d~2 meshbin 32\n"
                                "/ disc.iso!dat/data.pak read 4 [6a757374  1 9]\n"));
    free(got);
    opens_text("disc.iso!dat/data.pak!0a0b0c0d~2", MESH);
    buffer_free(&index);
    buffer_free(&image);
    for (size_t i = 0; i < 16; i++)
        buffer_free(&parts[i]);
}

/* One byte changed in the index or the first part, and what that costs. */
static void damaged_pack(const char *file, size_t at, uint8_t value, const char *transcript)
{
    uint8_t bytes[4096];
    put_pack(0xFFFF, "p");
    FILE *in = fopen(file, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    assert_true(at < size);
    bytes[at] = value;
    put_file(file, bytes, size);
    print_message("%s +%zu = 0x%x\n", file, at, value);
    extracts("data.pak", transcript);
}

#define OTHERS                                                                                               \
    "+ data.pak!0a0b0c0d bgf 32\n"                                                                           \
    "+ data.pak!0a0b0c0d~2 meshbin 32\n"

static void damaged_packs(void **state)
{
    (void)state;
    /* the Adler-32 of the payload, then a bit of the stream, its magic, the length it announces */
    damaged_pack("data.p00", 6, 0,
                 "! data.pak!c0ffee01 bad-crc\n" OTHERS "/ data.pak damaged bad-crc 4 [6a757374  1 9]\n");
    damaged_pack("data.p00", 20, 0xFF,
                 "! data.pak!c0ffee01 bad-crc\n" OTHERS "/ data.pak damaged bad-crc 4 [6a757374  1 9]\n");
    damaged_pack("data.p00", 1, '2',
                 "! data.pak!c0ffee01 unreadable\n" OTHERS
                 "/ data.pak damaged unreadable 4 [6a757374  1 9]\n");
    damaged_pack("data.p00", 5, 27,
                 "! data.pak!c0ffee01 bad-directory\n" OTHERS
                 "/ data.pak damaged bad-directory 4 [6a757374  1 9]\n");
    damaged_pack("data.p00", 5, 29,
                 "! data.pak!c0ffee01 truncated\n" OTHERS "/ data.pak damaged truncated 4 [6a757374  1 9]\n");
    /* a length no deflate stream of this size can have */
    damaged_pack("data.p00", 2, 0xFF,
                 "! data.pak!c0ffee01 bad-directory\n" OTHERS
                 "/ data.pak damaged bad-directory 4 [6a757374  1 9]\n");
    /* the first entry's size, its hash being that of the end, a count too many, another word of the header */
    damaged_pack("data.pak", 16 + 9, 1,
                 "! data.pak!c0ffee01 truncated\n" OTHERS "/ data.pak damaged truncated 4 [6a757374  1 9]\n");
    damaged_pack("data.pak", 7, 200,
                 "+ data.pak!c0ffee01 xpr2 28\n" OTHERS
                 "/ data.pak read 4 [6a757374  1 9]\n"); /* a zero hash ends it */
    damaged_pack("data.pak", 12, 0, "/ data.pak skipped bad-directory 0\n");
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(every_base),        TEST(the_image_itself),   TEST(direct_access), TEST(empty_image),
        TEST(both_file_systems), TEST(archives_on_a_disc), TEST(names),         TEST(damaged_entries),
        TEST(folder_loop),       TEST(damaged_volume),     TEST(any_damage),    TEST(packs),
        TEST(missing_parts),     TEST(packs_inside),       TEST(damaged_packs),
    };
    return cmocka_run_group_tests_name("extract image", tests, NULL, NULL);
}
