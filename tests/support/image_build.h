/* image_build.h - images of game discs and packs for tests, written field by field so that any of them can be
 * made wrong. */
#ifndef ANCHORAGE_TEST_IMAGE_BUILD_H
#define ANCHORAGE_TEST_IMAGE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/buffer.h"

#define IMAGE_SECTOR 2048

/* A file, or a folder with its files in `in`. */
struct image_file {
    const char *name;
    size_t name_size; /* 0: as long as the string */
    const void *bytes;
    size_t size;
    const struct image_file *in; /* of a folder */
    size_t in_count;
    bool folder;
};

/* Appends a game partition with these files in its root to `out`, from sector 0 of the partition on. Tables
 * are balanced trees by name, or with `right_only` chains that go right. */
void image_xdvdfs(struct buffer *out, const struct image_file *files, size_t count, bool right_only);
/* Writes the partition to a file at `base`, with a hole in front of it. */
void image_put(const char *path, uint64_t base, const struct buffer *partition);

/* Where in the partition the entry of that name lies (the first one), for making it wrong: +0 left, +2 right,
 * +4 sector, +8 size, +12 attributes, +13 length, +14 name. Fails the test when there is none. */
uint8_t *image_entry(struct buffer *partition, const char *name);

/* One payload of a pack. */
struct pack_entry {
    uint32_t hash;
    unsigned part;
    const void *bytes;
    size_t size;
};
/* Appends the index of a pack to `index`, and its payloads to parts[entry.part]. */
void image_ipfb(struct buffer *index, struct buffer parts[16], const struct pack_entry *entries,
                size_t count);

#endif
