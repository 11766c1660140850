/* corpus_image.h - images of game discs and packs, written field by field (docs/images.md).
 *
 * Equal arguments give equal bytes. Of a buffer that ran out of memory nobody can tell what is in it: look at
 * its `failed` afterwards.
 */
#ifndef ANCHORAGE_CORPUS_IMAGE_H
#define ANCHORAGE_CORPUS_IMAGE_H

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
/* One payload of a pack. */
struct pack_entry {
    uint32_t hash;
    unsigned part;
    const void *bytes;
    size_t size;
};
#define IMAGE_PARTS 16
/* Appends the index of a pack to `index`, and its payloads to parts[entry.part]. */
void image_ipfb(struct buffer *index, struct buffer parts[IMAGE_PARTS], const struct pack_entry *entries,
                size_t count);

#endif
