/* fuzz_extract.c - archives, and archives in archives, through the extractor and back through addresses.
 *
 * The input is a file in memory, which the extractor opens by its name in /proc. Limits are small, so that
 * what unpacks to gigabytes is an outcome and not an evening.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/extract.h"
#include "store/key.h"
#include "tests/fuzz/harness.h"
#include "tests/support/pack.h"

/* Items of one input that are looked at; archives with more are stopped there. */
#define ITEMS_MAX 512
/* Addresses that are opened again: each reads its archive anew. */
#define REOPENED_MAX 4

static const struct extract_options bounds = {
    .limits = {.depth = 3, .member_bytes = 256 << 10, .members = 4096}};

static struct {
    struct extracted items[ITEMS_MAX];
    size_t count;
    bool complete;
} walk;

/* ---- one item ------------------------------------------------------------------------------------------ */

static void must_be_archive(const struct extracted *item, const uint8_t *data, size_t size)
{
    uint64_t known = 0;
    MUST(item->format == FORMAT_ARCHIVE, "%s", item->path);
    MUST((item->status == CONTAINER_READ) == (item->reason == CONTAINER_REASON_NONE), "%s: %s", item->path,
         container_status_word(item->status));
    MUST((item->reason == CONTAINER_REASON_NONE) == (item->message[0] == '\0'), "%s: '%s'", item->path,
         item->message);
    for (uint32_t i = 0; i < item->census_count; i++) {
        const struct census_row *row = &item->census[i];
        known += row->count;
        MUST(row->count && strlen(row->magic) <= 8 && strlen(row->ending) < 24, "census row %u", i);
        int order = i ? strcmp(row[-1].magic, row->magic) : -1;
        MUST(order < 0 || (order == 0 && strcmp(row[-1].ending, row->ending) < 0),
             "census row %u is out of order", i);
    }
    MUST(known <= item->member_count, "%llu unknown of %llu members", (unsigned long long)known,
         (unsigned long long)item->member_count);
    if (item->parent_path || item->status == CONTAINER_SKIPPED)
        return;
    struct hash hash = hash_bytes(data, size);
    MUST(item->bytes == size && hash_equal(&hash, &item->hash),
         "the archive's hash is not that of its bytes");
}

static void must_be_item(const struct extracted *item, const uint8_t *data, size_t size)
{
    MUST(item->path && item->message[sizeof item->message - 1] == '\0', "no path");
    if (item->parent_path) {
        size_t length = strlen(item->parent_path);
        MUST(strncmp(item->path, item->parent_path, length) == 0 && item->path[length] == '!' &&
                 !item->is_input,
             "%s is not in %s", item->path, item->parent_path);
        MUST(!strpbrk(item->path + length + 1, "!#"), "%s", item->path);
    } else {
        MUST(item->is_input, "%s", item->path);
    }
    switch (item->kind) {
    case EXTRACT_BYTES:
        MUST(item->data && item->name && item->size == item->bytes, "%s", item->path);
        MUST(item->size <= bounds.limits.member_bytes, "%s: %zu bytes", item->path, item->size);
        MUST(item->format != FORMAT_UNKNOWN && item->format != FORMAT_ARCHIVE, "%s", item->path);
        break;
    case EXTRACT_FAILED:
        MUST(item->status != CONTAINER_READ && item->reason && item->message[0], "%s: %s, '%s'", item->path,
             container_status_word(item->status), item->message);
        break;
    case EXTRACT_ARCHIVE:
        must_be_archive(item, data, size);
        break;
    case EXTRACT_UNKNOWN:
        MUST(!item->parent_path && strlen(item->magic) <= 8, "%s", item->path);
        break;
    case EXTRACT_UNCHANGED:
        MUST(false, "%s: nobody vouched for it", item->path);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void must_progress(const struct extractor *extractor, uint64_t *last, bool at_end)
{
    uint64_t done, total;
    extract_progress(extractor, &done, &total);
    MUST(done >= *last && (!total || done <= total), "%llu bytes, then %llu of %llu",
         (unsigned long long)*last, (unsigned long long)done, (unsigned long long)total);
    MUST(!at_end || done == total, "%llu of %llu bytes at the end", (unsigned long long)done,
         (unsigned long long)total);
    *last = done;
}

static void walk_all(const char *path, const uint8_t *data, size_t size)
{
    struct extractor *extractor = extract_open(&path, 1, &bounds);
    struct error err = {0};
    uint64_t done = 0;
    MUST(extractor, "out of memory");
    walk.count = 0;
    walk.complete = false;
    while (walk.count < ITEMS_MAX) {
        struct extracted *item = &walk.items[walk.count];
        walk.complete = !extract_next(extractor, item, &err);
        must_progress(extractor, &done, walk.complete);
        if (walk.complete)
            break;
        must_be_item(item, data, size);
        walk.count++;
    }
    MUST(err.code == ERROR_NONE, "%s", err.msg);
    extract_close(extractor);
}

static void walk_free_items(void)
{
    for (size_t i = 0; i < walk.count; i++)
        extracted_free(&walk.items[i]);
}

static int path_order(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* An address names one thing, and every archive counts at least what it gave. */
static void must_be_consistent(void)
{
    static const char *paths[ITEMS_MAX];
    for (size_t i = 0; i < walk.count; i++)
        paths[i] = walk.items[i].path;
    qsort(paths, walk.count, sizeof *paths, path_order);
    for (size_t i = 1; i < walk.count; i++)
        MUST(strcmp(paths[i - 1], paths[i]) != 0, "%s occurs twice", paths[i]);
    for (size_t i = 0; walk.complete && i < walk.count; i++) {
        uint64_t members = 0;
        if (walk.items[i].kind != EXTRACT_ARCHIVE)
            continue;
        for (size_t k = 0; k < i; k++)
            members +=
                walk.items[k].parent_path && strcmp(walk.items[k].parent_path, walk.items[i].path) == 0;
        MUST(members <= walk.items[i].member_count, "%s: %llu items, %llu members", walk.items[i].path,
             (unsigned long long)members, (unsigned long long)walk.items[i].member_count);
    }
}

/* A line an item, for comparing. */
static void transcribe(struct buffer *out)
{
    for (size_t i = 0; i < walk.count; i++) {
        const struct extracted *item = &walk.items[i];
        char line[256];
        int n = snprintf(line, sizeof line, " %d %d %d %d %llu %llu %X %u ", item->kind, item->format,
                         item->status, item->reason, (unsigned long long)item->bytes,
                         (unsigned long long)item->member_count, item->flags, item->census_count);
        buffer_append(out, item->path, strlen(item->path));
        buffer_append(out, line, (size_t)n);
        buffer_append(out, item->message, strlen(item->message) + 1);
        if (item->data)
            buffer_append(out, item->data, item->size);
    }
    MUST(!out->failed, "out of memory");
}

/* The address of what was found gives the same bytes again, or is refused: in an archive that was tampered
 * with libarchive may find a member by one way and not by another. It never gives something else. */
static void must_open_again(void)
{
    unsigned opened = 0;
    for (size_t i = 0; i < walk.count && opened < REOPENED_MAX; i++) {
        const struct extracted *item = &walk.items[i];
        struct extracted again;
        struct error err = {0};
        if (item->kind != EXTRACT_BYTES)
            continue;
        opened++;
        if (!extract_address(item->path, &bounds, &again, &err)) {
            MUST(err.code == ERROR_IO && err.msg[0], "%s: %s", item->path, err.msg);
            continue;
        }
        MUST(again.kind == EXTRACT_BYTES && strcmp(again.path, item->path) == 0, "%s: %s", item->path,
             again.path);
        bool same = again.size == item->size && memcmp(again.data, item->data, item->size) == 0 &&
                    again.format == item->format && strcmp(again.name, item->name) == 0;
        MUST(same, "%s gives something else when opened by its address", item->path);
        extracted_free(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("input", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct buffer first = {0}, second = {0};
    walk_all(path, data, size);
    must_be_consistent();
    must_open_again();
    transcribe(&first);
    walk_free_items();
    walk_all(path, data, size);
    transcribe(&second);
    walk_free_items();
    MUST(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
         "other items the second time");
    buffer_free(&first);
    buffer_free(&second);
    close(fd);
    return 0;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

static const struct pack_member members[] = {
    {.name = "a/one.xpr", .bytes = "XPR2 whatever", .size = 13},
    {.name = "a/notes.txt", .bytes = "just text", .size = 9},
    {.name = "a/one.xpr", .bytes = "XPR2 the second", .size = 15},
    {.name = "two%!#.bgf", .bytes = "DIV-BIZ2 whatever", .size = 17},
    {.name = "empty", .bytes = "", .size = 0},
};
#define MEMBERS (sizeof members / sizeof *members)

static void put_packed(const char *name, const char *format, const char *filter, const char *options,
                       size_t count)
{
    struct buffer out = {0}, outer = {0};
    char nested[64];
    pack(&out, format, filter, options, NULL, members, count);
    const struct pack_member inner = {.name = "in/ner", .bytes = out.data, .size = out.size};
    pack(&outer, "ustar", NULL, NULL, NULL, &inner, 1);
    snprintf(nested, sizeof nested, "%s.nested", name);
    put_seed_buffer(nested, &outer);
    put_seed_buffer(name, &out);
}

void fuzz_seeds(void)
{
    static const char *const filters[] = {"gzip", "bzip2", "xz",       "lzma",     "lzip",
                                          "zstd", "lz4",   "compress", "uuencode", "b64encode"};
    char name[32];
    put_packed("deflated.zip", "zip", NULL, "zip:compression=deflate", MEMBERS);
    put_packed("stored.zip", "zip", NULL, "zip:compression=store", MEMBERS);
    put_packed("lzma.7z", "7zip", NULL, "7zip:compression=lzma1", MEMBERS);
    put_packed("stored.7z", "7zip", NULL, "7zip:compression=store", MEMBERS);
    put_packed("plain.tar", "ustar", NULL, NULL, MEMBERS);
    put_packed("pax.tar", "pax", NULL, NULL, MEMBERS);
    put_packed("gnu.tar", "gnutar", NULL, NULL, MEMBERS);
    put_packed("new.cpio", "newc", NULL, NULL, MEMBERS);
    put_packed("old.cpio", "odc", NULL, NULL, MEMBERS);
    put_packed("bsd.ar", "arbsd", NULL, NULL, 1);
    put_packed("any.warc", "warc", NULL, NULL, MEMBERS);
    put_packed("any.xar", "xar", NULL, NULL, MEMBERS);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        struct buffer lone = {0};
        pack_lone(&lone, filters[i], members[0].bytes, members[0].size);
        snprintf(name, sizeof name, "lone.%s", filters[i]);
        put_seed_buffer(name, &lone);
        snprintf(name, sizeof name, "tar.%s", filters[i]);
        put_packed(name, "ustar", filters[i], NULL, MEMBERS);
    }
    put_seed("container", "XPR2 alone", 10);
    put_seed("text", "neither", 7);
}
