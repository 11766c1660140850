/* corpus_image.c - see corpus_image.h */
#include "bench/corpus/corpus_image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ENTRY 14

static void set_u16(uint8_t *p, size_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void set_u32(uint8_t *p, size_t value)
{
    set_u16(p, value);
    set_u16(p + 2, value >> 16);
}

static void set_u32be(uint8_t *p, size_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

static size_t name_size(const struct image_file *file)
{
    return file->name_size ? file->name_size : strlen(file->name);
}

/* ---- game partitions ----------------------------------------------------------------------------------- */

static void fill(struct buffer *out, int filling, size_t count)
{
    uint8_t *at = buffer_extend(out, count);
    if (at)
        memset(at, filling, count);
}

/* Appends bytes at the next sector, filled up with `filling`; which sector that is. */
static size_t put_extent(struct buffer *out, const void *bytes, size_t size, int filling)
{
    size_t sector = out->size / IMAGE_SECTOR, rest = (IMAGE_SECTOR - size % IMAGE_SECTOR) % IMAGE_SECTOR;
    buffer_append(out, bytes, size);
    fill(out, filling, rest);
    return sector;
}

/* A table being laid out: the entries in the order of their names, and where each goes. */
struct layout {
    const struct image_file *files;
    const size_t *sectors, *sizes;
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
    set_u32(entry + 4, layout->sectors[middle]);
    set_u32(entry + 8, layout->sizes[middle]);
    entry[12] = file->folder ? 0x10 : 0x80;
    entry[13] = (uint8_t)name_size(file);
    memcpy(entry + ENTRY, file->name, name_size(file));
    set_u16(entry, put_tree(layout, first, middle, right_only));
    set_u16(entry + 2, put_tree(layout, middle + 1, last, right_only));
    return at / 4;
}

static size_t put_folder(struct buffer *out, const struct image_file *files, size_t count, bool right_only,
                         size_t *size);

/* The bytes of each file, and all that is in folders; the size of the folder's own table. */
static size_t put_files(struct buffer *out, const struct image_file *files, size_t count, bool right_only,
                        size_t *sectors, size_t *sizes)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        const struct image_file *file = &files[i];
        room += (ENTRY + name_size(file) + 3) / 4 * 4;
        sizes[i] = file->size;
        if (file->folder)
            sectors[i] = put_folder(out, file->in, file->in_count, right_only, &sizes[i]);
        else if (file->size)
            sectors[i] = put_extent(out, file->bytes, file->size, 0);
    }
    room = (room + IMAGE_SECTOR - 1) / IMAGE_SECTOR * IMAGE_SECTOR;
    return room ? room : IMAGE_SECTOR; /* an empty folder has a sector of filling */
}

/* The folder's files and then its table; its sector and size. */
static size_t put_folder(struct buffer *out, const struct image_file *files, size_t count, bool right_only,
                         size_t *size)
{
    size_t sector = 0;
    size_t *sectors = calloc(count + 1, sizeof *sectors), *sizes = calloc(count + 1, sizeof *sizes);
    struct layout layout = {.files = files, .sectors = sectors, .sizes = sizes};
    *size = sectors && sizes ? put_files(out, files, count, right_only, sectors, sizes) : 0;
    layout.table = *size ? malloc(*size) : NULL;
    if (layout.table) {
        memset(layout.table, 0xFF, *size);
        put_tree(&layout, 0, count, right_only);
        sector = put_extent(out, layout.table, *size, 0xFF);
    } else {
        out->failed = true;
    }
    free(layout.table);
    free(sectors);
    free(sizes);
    return sector;
}

void image_xdvdfs(struct buffer *out, const struct image_file *files, size_t count, bool right_only)
{
    const size_t descriptor = 0x10000;
    size_t root_size;
    fill(out, 0, descriptor + IMAGE_SECTOR);
    size_t root = put_folder(out, files, count, right_only, &root_size);
    if (out->failed)
        return;
    uint8_t *p = out->data + descriptor;
    memcpy(p, "MICROSOFT*XBOX*MEDIA", 20);
    set_u32(p + 0x14, root);
    set_u32(p + 0x18, root_size);
    memcpy(p + 0x7EC, "MICROSOFT*XBOX*MEDIA", 20);
}

/* ---- packs --------------------------------------------------------------------------------------------- */

/* Appends an entry's payload to its part; the size of it. */
static size_t put_payload(struct buffer *part, const struct pack_entry *entry)
{
    uLongf packed = compressBound(entry->size);
    uint8_t *payload = malloc(10 + packed);
    if (!payload || compress(payload + 10, &packed, entry->bytes, entry->size) != Z_OK) {
        part->failed = true;
        free(payload);
        return 0;
    }
    memcpy(payload, "Z1", 2);
    set_u32be(payload + 2, entry->size);
    set_u32be(payload + 6, adler32(adler32(0, NULL, 0), entry->bytes, (uInt)entry->size));
    put_extent(part, payload, 10 + packed, 0);
    free(payload);
    return 10 + packed;
}

void image_ipfb(struct buffer *index, struct buffer parts[IMAGE_PARTS], const struct pack_entry *entries,
                size_t count)
{
    uint8_t header[16] = "IPFB", row[12];
    set_u32be(header + 4, count);
    set_u32be(header + 8, 0x800);
    set_u32be(header + 12, 0x10000000);
    buffer_append(index, header, sizeof header);
    for (size_t i = 0; i < count; i++) {
        const struct pack_entry *entry = &entries[i];
        struct buffer *part = &parts[entry->part];
        set_u32be(row, entry->hash);
        set_u32be(row + 4, (size_t)entry->part << 28 | part->size);
        set_u32be(row + 8, put_payload(part, entry));
        buffer_append(index, row, sizeof row);
    }
    memset(row, 0, sizeof row);
    buffer_append(index, row, sizeof row);
}
