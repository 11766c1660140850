/* png.h - pixels as a PNG file, by libpng, which is known to png.c only. Any thread. */
#ifndef ANCHORAGE_PNG_H
#define ANCHORAGE_PNG_H

#include "formats/buffer.h"
#include "formats/error.h"

/* Appends a PNG of one byte a pixel, each naming one of 256 colours (8-bit RGBA, straight alpha), rows from
 * the top, to `out`. The same pixels give the same bytes. False with *err set when memory runs out. */
bool png_write_indexed(const uint8_t *pixels, unsigned width, unsigned height, const uint8_t palette[256][4],
                       struct buffer *out, struct error *err);

#endif
