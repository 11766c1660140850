/* fuzz_xdvdfs.c - game partitions and packs: the input is what lies behind the volume descriptor of an image,
 * or a pack.
 *
 * An image is 64 KiB of nothing before anything of it counts, so the input is put there behind a root sector
 * and size that its first two bytes choose; a byte more chooses what it is. The image is read from memory,
 * twice: what is handed out must lie in it, once each, the same both times.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/ipfb.h"
#include "pipeline/signature.h"
#include "pipeline/xdvdfs.h"
#include "tests/fuzz/harness.h"
#include "tests/support/image_build.h"

#define DESCRIPTOR ((size_t)0x10000)
#define TABLES     (DESCRIPTOR + IMAGE_SECTOR)
/* Members of one input that are read; each reads up to the whole input. */
#define READ_MAX 256

static const struct unpack_limits limits = {.member_bytes = 1 << 20, .members = 20000};

/* An image whose root folder is where the input says. */
static uint8_t *make_image(const uint8_t *data, size_t size, size_t *image_size)
{
    uint8_t *image = calloc(1, TABLES + size);
    MUST(image, "out of memory");
    *image_size = TABLES + size;
    memcpy(image + DESCRIPTOR, "MICROSOFT*XBOX*MEDIA", 20);
    memcpy(image + DESCRIPTOR + 0x7EC, "MICROSOFT*XBOX*MEDIA", 20);
    image[DESCRIPTOR + 0x14] = (uint8_t)(TABLES / IMAGE_SECTOR + (size ? data[0] % 8 : 0));
    image[DESCRIPTOR + 0x19] = size > 1 ? data[1] : 8; /* times 256 */
    if (size > 2)
        memcpy(image + TABLES, data + 2, size - 2);
    return image;
}

static struct unpacker *open_image(const uint8_t *image, size_t size)
{
    uint64_t base;
    struct feed *feed = feed_memory(exact_copy(image, size), size);
    MUST(feed && xdvdfs_find(feed, &base) && base == 0, "not found");
    return unpack_xdvdfs(feed, base, false, &limits);
}

/* The first half is the index, the rest both parts. */
static struct unpacker *open_pack(const uint8_t *data, size_t size)
{
    size_t index = size < 2048 ? size / 2 : 1024;
    struct feed *parts[IPFB_PARTS] = {NULL};
    parts[0] = feed_memory(exact_copy(data + index, size - index), size - index);
    parts[1] = feed_memory(exact_copy(data + index, size - index), size - index);
    struct feed *feed = feed_memory(exact_copy(data, index), index);
    MUST(feed && parts[0] && parts[1], "out of memory");
    return unpack_ipfb(feed, parts, &limits);
}

static void must_read(struct unpacker *unpacker, struct member *member, const uint8_t *image, size_t size,
                      struct buffer *told)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    enum unpack_result result = unpack_head(unpacker, member);
    if (result == UNPACK_OK)
        result = unpack_hold(unpacker, member, &bytes, &length);
    MUST(result == UNPACK_OK ||
             (result == UNPACK_FAILED && member->failure.reason && member->failure.message[0]),
         "%s: %d", member->name, result);
    MUST(result != UNPACK_OK || length == member->size, "%s: %zu bytes", member->name, length);
    if (result == UNPACK_OK && member->in_place) {
        MUST(member->offset <= size && length <= size - member->offset, "%s is outside", member->name);
        MUST(!length || memcmp(bytes, image + member->offset, length) == 0, "%s has other bytes",
             member->name);
    }
    if (result == UNPACK_OK)
        buffer_append(told, bytes, length);
    free(bytes);
}

static void read_all(struct unpacker *unpacker, const uint8_t *image, size_t size, struct buffer *told)
{
    struct member member;
    enum unpack_result result;
    uint64_t last = 0;
    MUST(unpacker, "out of memory");
    for (unsigned i = 0; (result = unpack_next(unpacker, &member)) > UNPACK_END; i++) {
        MUST(member.name[0] && member.base, "no name");
        buffer_append(told, member.name, strlen(member.name) + 1);
        if (result == UNPACK_FAILED) {
            MUST(member.failure.reason && member.failure.message[0], "%s: no reason", member.name);
            continue;
        }
        MUST(!member.in_place || !member.size || member.offset >= last, "%s lies further in front",
             member.name);
        last = member.in_place && member.size ? member.offset : last;
        if (i < READ_MAX)
            must_read(unpacker, &member, image, size, told);
    }
    MUST(result == UNPACK_END && !told->failed, "%d", result);
    MUST((unpacker->failure.reason != 0) == (unpacker->failure.message[0] != 0), "a reason without words");
    buffer_append(told, unpacker->failure.message, strlen(unpacker->failure.message));
    unpack_close(unpacker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer told[2] = {{0}};
    size_t image_size;
    bool pack = size > 4 && memcmp(data, "IPFB", 4) == 0;
    uint8_t *image = make_image(data, size, &image_size);
    for (int i = 0; i < 2; i++)
        read_all(pack ? open_pack(data, size) : open_image(image, image_size), image, image_size, &told[i]);
    MUST(told[0].size == told[1].size && memcmp(told[0].data, told[1].data, told[0].size) == 0,
         "other members the second time");
    buffer_free(&told[0]);
    buffer_free(&told[1]);
    free(image);
    return 0;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

#define BYTES(text) .bytes = text, .size = sizeof text - 1

static const struct image_file inner[] = {{.name = "one.xpr", BYTES("XPR2 whatever")},
                                          {.name = "two%!.bgf", BYTES("DIV-BIZ2 whatever")},
                                          {.name = "notes.txt", BYTES("just text")}};
static const struct image_file files[] = {{.name = "a", .folder = true, .in = inner, .in_count = 3},
                                          {.name = "b", .folder = true},
                                          {.name = "empty.bgf"},
                                          {.name = "z.xpr", BYTES("XPR2 again")}};

static void put_image(const char *name, const struct image_file *root, size_t count, bool right_only)
{
    struct buffer image = {0}, seed = {0};
    image_xdvdfs(&image, root, count, right_only);
    uint8_t head[2] = {(uint8_t)(image.data[DESCRIPTOR + 0x14] - TABLES / IMAGE_SECTOR),
                       image.data[DESCRIPTOR + 0x19]};
    buffer_append(&seed, head, sizeof head);
    buffer_append(&seed, image.data + TABLES, image.size - TABLES);
    put_seed_buffer(name, &seed);
    buffer_free(&image);
}

void fuzz_seeds(void)
{
    static const struct pack_entry entries[] = {{.hash = 0xC0FFEE01, .part = 0, BYTES("XPR2 whatever")},
                                                {.hash = 2, .part = 0, BYTES("DIV-BIZ2 whatever")}};
    struct buffer index = {0}, parts[16] = {0};
    put_image("tree", files, sizeof files / sizeof *files, false);
    put_image("chain", files, sizeof files / sizeof *files, true);
    put_image("empty", NULL, 0, false);
    image_ipfb(&index, parts, entries, 2);
    memset(buffer_extend(&index, 1024 - index.size), 0, 1024 - index.size);
    buffer_append(&index, parts[0].data, parts[0].size);
    buffer_free(&parts[0]);
    put_seed_buffer("pack", &index);
}
