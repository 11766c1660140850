/* image_build.h - images of game discs for tests, to be made wrong in any field. Packs and whole images:
 * corpus_image.h. */
#ifndef ANCHORAGE_TEST_IMAGE_BUILD_H
#define ANCHORAGE_TEST_IMAGE_BUILD_H

#include "bench/corpus/corpus_image.h"

/* Writes the partition to a file at `base`, with a hole in front of it. */
void image_put(const char *path, uint64_t base, const struct buffer *partition);

/* Where in the partition the entry of that name lies (the first one), for making it wrong: +0 left, +2 right,
 * +4 sector, +8 size, +12 attributes, +13 length, +14 name. Fails the test when there is none. */
uint8_t *image_entry(struct buffer *partition, const char *name);

#endif
