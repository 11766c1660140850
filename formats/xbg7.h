/* xbg7.h - XBG7 geometry descriptors: what they say about their buffers. Where the buffers lie no field says;
 * that is the business of anchor_locate.h. Layout, evidence and status of every field: formats/xbg7.md.
 */
#ifndef ANCHORAGE_XBG7_H
#define ANCHORAGE_XBG7_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "format.h"
#include "reader.h"

#define XBG7_ELEMENTS_MAX 16
#define XBG7_VERTICES_MIN 3u
#define XBG7_VERTICES_MAX 65535u

/* GPU vertex format numbers: the low six bits of a format code. */
enum xbg7_number {
    XBG7_8_8_8_8 = 6,
    XBG7_2_10_10_10 = 7,
    XBG7_10_11_11 = 16,
    XBG7_11_11_10 = 17,
    XBG7_16_16 = 25,
    XBG7_16_16_16_16 = 26,
    XBG7_F16X2 = 31,
    XBG7_F16X4 = 32,
    XBG7_INT = 33,
    XBG7_INT2 = 34,
    XBG7_INT4 = 35,
    XBG7_F32 = 36,
    XBG7_F32X2 = 37,
    XBG7_F32X4 = 38,
    XBG7_F32X3 = 57,
};

/* Bytes of an element of that format code, 0 when its number is not in the table of formats/xbg7.md. */
unsigned xbg7_format_size(uint32_t format);

/* Reads the whole of `descriptor`: fills markers, nodes, and the declared vertices and triangles of `out`, or
 * declines it (bad-descriptor, no-marker, no-declaration, unknown-element). `descriptor` is at its start,
 * without an error. Everything lives in `arena`. Time is linear in the descriptor, whatever it holds. False
 * only when memory runs out. */
bool xbg7_parse(struct reader *descriptor, struct arena *arena, struct resource *out);

#endif
