/* tx2d.h - TX2D texture headers of XPR2 containers: which bytes of the data section a texture owns.
 *
 * Pixels are not decoded here. What matters is their extent: geometry is never looked for inside pixels, and
 * the coverage map accounts for every byte. Layout and evidence: formats/tx2d.md.
 */
#ifndef ANCHORAGE_TX2D_H
#define ANCHORAGE_TX2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "format.h"
#include "reader.h"

/* Reads the fetch constant of the descriptor that `descriptor` spans (all of it is one texture header) and
 * fills every field of `texture` but index and name. Offsets are counted from the container's start:
 * addresses in the header are relative to `data_offset`. A header that cannot be read leaves `valid` false
 * with `error` set; one that contradicts itself, or whose extent is only assumed (cubes and stacks), is valid
 * and `contested`. Uses no memory; any thread. */
void tx2d_parse(struct reader *descriptor, uint64_t data_offset, struct texture *texture);

/* Marks as contested every texture that leaves data[data_offset, data_offset + data_size) and all that
 * overlap without being equal, and adds FLAG_BIT(FLAG_TEXTURE_OUT_OF_DATA) and FLAG_BIT(FLAG_TEXTURE_OVERLAP)
 * to *flags accordingly. `data_size` is the declared one: what a truncated file lacks contradicts no texture.
 * Takes n log n time. False when memory runs out. */
bool tx2d_contest(struct texture *textures, size_t count, uint64_t data_offset, uint64_t data_size,
                  struct arena *arena, uint32_t *flags);

#endif
