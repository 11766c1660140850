/* anchor_words.h - finding large words: the one question that searching for lists of indices asks of bytes.
 *
 * A stretch of small words is looked at from its end: the last large word in it tells how far to jump. Words
 * are numbered from 0. Pure; the caller knows that the range is there. Any thread.
 */
#ifndef ANCHORAGE_ANCHOR_WORDS_H
#define ANCHORAGE_ANCHOR_WORDS_H

#include "anchor_scan.h"

struct anchor_words {
    const uint8_t *bytes;
    bool big_endian; /* else as this machine has them */
    bool vectors;    /* the processor has AVX2 */
};

/* The words of the section, and the map's greatest words of its blocks. */
static inline struct anchor_words anchor_section_words(const struct anchor_map *map)
{
    return (struct anchor_words){map->data, true, map->path != ANCHOR_PORTABLE};
}
static inline struct anchor_words anchor_block_words(const struct anchor_map *map)
{
    return (struct anchor_words){(const uint8_t *)map->top, false, map->path != ANCHOR_PORTABLE};
}

/* The first word in [first, end) that is not below `limit`; `end` when all are. */
uint64_t anchor_first_large(struct anchor_words words, uint64_t first, uint64_t end, uint32_t limit);

/* What is behind the last word in [first, end) that is not below `limit`; `first` when all are. */
uint64_t anchor_behind_large(struct anchor_words words, uint64_t first, uint64_t end, uint32_t limit);

/* The greatest word in [first, end); 0 when there is none. */
uint16_t anchor_greatest(struct anchor_words words, uint64_t first, uint64_t end);

#endif
