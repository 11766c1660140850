/* codec_packed.h - arrays of 32-bit words as their differences without zero bytes, for models too small to be
 * worth a compressor: one pass, no tables, no set-up. The layout is in store/README.md, "Encoded geometry".
 *
 * Each word becomes a code of 4 bits and those of its bytes that lie between its first and its last non-zero
 * one. Small differences lack upper bytes, and floats that were integers or shorter floats lack lower ones.
 * Pure; any thread.
 */
#ifndef ANCHORAGE_CODEC_PACKED_H
#define ANCHORAGE_CODEC_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that `words` words take at the most while they are written: 4 more than they can have in the end. */
size_t packed_bound(size_t words);

/* A stream of words on its way out. */
struct packer {
    uint8_t *codes, *out;
    size_t at; /* words so far */
};
/* `room` has packed_bound(words) bytes. */
struct packer packer_make(uint8_t *room, size_t words);
/* `count` entries of `stride` little-endian words, each as its difference to the same word of the entry
 * before it; the first entry's to 0. */
void packer_add(struct packer *packer, const uint8_t *in, size_t count, size_t stride);

/* The same on its way in. */
struct unpacker {
    const uint8_t *codes, *in, *end;
    size_t at;
};
/* False when the bytes are too few to hold the codes. */
bool unpacker_make(struct unpacker *unpacker, const uint8_t *bytes, size_t size, size_t words);
/* What packer_add was given; false when the bytes end before it, or a code is none. */
bool unpacker_take(struct unpacker *unpacker, uint8_t *out, size_t count, size_t stride);

#endif
