/* xbg7_block.h - writes small XBG7 blocks for tests: real surfaces, so that what looks for geometry finds
 * some. */
#ifndef ANCHORAGE_TESTS_XBG7_BLOCK_H
#define ANCHORAGE_TESTS_XBG7_BLOCK_H

#include "formats/buffer.h"

/* A wavy sheet of columns x rows vertices: 6 (columns - 1) (rows - 1) indices. */
struct sheet {
    uint32_t columns, rows;
    unsigned seed;      /* another surface of the same counts */
    float size;         /* along x */
    bool mirrored;      /* reflected in x, winding too */
    bool no_normals;    /* position only, stride 12; else position, f16 normal, f16 uv: stride 24 */
    unsigned odd_every; /* every so many normals is of length 0.5; 0: none */
};

uint32_t sheet_vertices(const struct sheet *sheet);
uint32_t sheet_indices(const struct sheet *sheet);

/* Appends the sheet's indices, and pads to 4. Returns their offset in `out`. */
size_t put_indices(struct buffer *out, const struct sheet *sheet);
/* Appends its vertices. Returns their offset. */
size_t put_vertices(struct buffer *out, const struct sheet *sheet);
/* Both. Returns the offset of the block. */
size_t put_block(struct buffer *out, const struct sheet *sheet);

/* Bytes that look like nothing, from a generator of their own. */
void put_noise(struct buffer *out, size_t size, unsigned seed);

/* A descriptor with one marker for each sheet; `size` is stored at its start, behind a name. */
struct buffer sheet_descriptor(const struct sheet *const *sheets, size_t count, float size);

uint16_t half_of(float value);

#endif
