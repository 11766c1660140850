/* codec_planes.h - arrays of 32-bit words turned into byte planes of differences, and back.
 *
 * Neighbouring vertices differ little, so of each component the difference to the entry before is taken, as
 * an integer with its sign in the lowest bit, and the four bytes of the results are kept in four planes: the
 * upper planes are then nearly all zero, which zstd finds fast. Sizes do not change, nothing is lost (a
 * difference of the bit patterns is exact). Pure; any thread.
 */
#ifndef ANCHORAGE_CODEC_PLANES_H
#define ANCHORAGE_CODEC_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* `count` entries of `stride` little-endian words each; `out` has 4 * count * stride bytes and is not `in`.
 */
void planes_split(const uint8_t *in, size_t count, size_t stride, uint8_t *out);
void planes_join(const uint8_t *in, size_t count, size_t stride, uint8_t *out);

#endif
