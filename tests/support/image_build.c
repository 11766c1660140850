/* image_build.c - see image_build.h */
#include "tests/support/image_build.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define ENTRY 14

static void put_u16(uint8_t *p, size_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *p, size_t value)
{
    put_u16(p, value);
    put_u16(p + 2, value >> 16);
}

static void put_u32be(uint8_t *p, size_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static size_t name_size(const struct image_file *file)
{
    return file->name_size ? file->name_size : strlen(file->name);
}

/* ---- game partitions ----------------------------------------------------------------------------------- */

/* Appends bytes at the next sector, filled up with `filling`; which sector that is. */
static size_t put_extent(struct buffer *out, const void *bytes, size_t size, int filling)
{
    size_t sector = out->size / IMAGE_SECTOR, rest = (IMAGE_SECTOR - size % IMAGE_SECTOR) % IMAGE_SECTOR;
    buffer_append(out, bytes, size);
    memset(buffer_extend(out, rest), filling, rest);
    return sector;
}

/* A table being laid out: the entries in the order of their names, and where each goes. */
struct layout {
    const struct image_file *files;
    const size_t *sectors, *sizes;
    size_t *offsets;
    uint8_t *table;
    size_t size;
};

/* Lays out files[first, last) below one branch; where its entry is, in 4 bytes. */
static size_t put_tree(struct layout *layout, size_t first, size_t last, bool right_only)
{
    if (first == last)
        return 0;
    size_t middle = right_only ? first : first + (last - first) / 2;
    const struct image_file *file = &layout->files[middle];
    size_t at = layout->size;
    uint8_t *entry = layout->table + at;
    layout->size += (ENTRY + name_size(file) + 3) / 4 * 4;
    put_u32(entry + 4, layout->sectors[middle]);
    put_u32(entry + 8, layout->sizes[middle]);
    entry[12] = file->folder ? 0x10 : 0x80;
    entry[13] = (uint8_t)name_size(file);
    memcpy(entry + ENTRY, file->name, name_size(file));
    put_u16(entry, put_tree(layout, first, middle, right_only));
    put_u16(entry + 2, put_tree(layout, middle + 1, last, right_only));
    return at / 4;
}

/* The folder's files and then its table; its sector and size. */
static size_t put_folder(struct buffer *out, const struct image_file *files, size_t count, bool right_only,
                         size_t *size)
{
    size_t *sectors = calloc(count + 1, sizeof *sectors), *sizes = calloc(count + 1, sizeof *sizes), room = 0;
    for (size_t i = 0; i < count; i++) {
        const struct image_file *file = &files[i];
        room += (ENTRY + name_size(file) + 3) / 4 * 4;
        sizes[i] = file->size;
        if (file->folder)
            sectors[i] = put_folder(out, file->in, file->in_count, right_only, &sizes[i]);
        else if (file->size)
            sectors[i] = put_extent(out, file->bytes, file->size, 0);
    }
    *size = (room + IMAGE_SECTOR - 1) / IMAGE_SECTOR * IMAGE_SECTOR;
    *size = *size ? *size : IMAGE_SECTOR; /* an empty folder has a sector of filling */
    struct layout layout = {.files = files, .sectors = sectors, .sizes = sizes, .table = malloc(*size)};
    memset(layout.table, 0xFF, *size);
    put_tree(&layout, 0, count, right_only);
    size_t sector = put_extent(out, layout.table, *size, 0xFF);
    free(layout.table);
    free(sectors);
    free(sizes);
    return sector;
}

void image_xdvdfs(struct buffer *out, const struct image_file *files, size_t count, bool right_only)
{
    const size_t descriptor = 0x10000;
    size_t root_size;
    assert_int_equal(out->size, 0);
    memset(buffer_extend(out, descriptor + IMAGE_SECTOR), 0, descriptor + IMAGE_SECTOR);
    size_t root = put_folder(out, files, count, right_only, &root_size);
    uint8_t *p = out->data + descriptor;
    memcpy(p, "MICROSOFT*XBOX*MEDIA", 20);
    put_u32(p + 0x14, root);
    put_u32(p + 0x18, root_size);
    memcpy(p + 0x7EC, "MICROSOFT*XBOX*MEDIA", 20);
    assert_false(out->failed);
}

void image_put(const char *path, uint64_t base, const struct buffer *partition)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, partition->data, partition->size, (off_t)base), (ssize_t)partition->size);
    close(fd);
}

uint8_t *image_entry(struct buffer *partition, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0x10800; i + ENTRY + length <= partition->size; i += 4) {
        uint8_t *entry = partition->data + i;
        if (entry[13] == length && memcmp(entry + ENTRY, name, length) == 0)
            return entry;
    }
    fail_msg("no entry '%s'", name);
    return NULL;
}

/* ---- packs --------------------------------------------------------------------------------------------- */

void image_ipfb(struct buffer *index, struct buffer parts[16], const struct pack_entry *entries, size_t count)
{
    uint8_t header[16] = "IPFB", row[12] = {0};
    put_u32be(header + 4, count);
    put_u32be(header + 8, 0x800);
    put_u32be(header + 12, 0x10000000);
    buffer_append(index, header, sizeof header);
    for (size_t i = 0; i < count; i++) {
        const struct pack_entry *entry = &entries[i];
        struct buffer *part = &parts[entry->part];
        uLongf packed = compressBound(entry->size);
        uint8_t *payload = malloc(10 + packed);
        assert_int_equal(compress(payload + 10, &packed, entry->bytes, entry->size), Z_OK);
        memcpy(payload, "Z1", 2);
        put_u32be(payload + 2, entry->size);
        put_u32be(payload + 6, adler32(adler32(0, NULL, 0), entry->bytes, (uInt)entry->size));
        put_u32be(row, entry->hash);
        put_u32be(row + 4, (size_t)entry->part << 28 | part->size);
        put_u32be(row + 8, 10 + packed);
        buffer_append(index, row, sizeof row);
        put_extent(part, payload, 10 + packed, 0);
        free(payload);
    }
    memset(row, 0, sizeof row);
    buffer_append(index, row, sizeof row);
    assert_false(index->failed);
}
