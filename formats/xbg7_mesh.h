/* xbg7_mesh.h - the mesh of an XBG7 resource whose buffers have been located, and the values of its elements.
 */
#ifndef ANCHORAGE_XBG7_MESH_H
#define ANCHORAGE_XBG7_MESH_H

#include "format.h"
#include "mesh.h"

/* How many floats an element of that format and usage is read as; 0: its meaning is not known and it is left
 * out. */
unsigned xbg7_components(uint32_t format, unsigned usage);

/* Reads the element at `bytes` (xbg7_format_size of them) into `components` floats, which are at most what
 * xbg7_components says. Integers are normalised: signed for directions, unsigned for colours and weights. */
void xbg7_element(uint32_t format, unsigned usage, const uint8_t *bytes, unsigned components, float *out);

/* The element of that usage with the least usage index, NULL when there is none. */
const struct vertex_element *xbg7_find_element(const struct xbg7_marker *marker, unsigned usage);

/* Builds the mesh of markers[0..count) whose buffers lie at places[0..count), which are inside data[0..size)
 * and hold no index out of range; offsets in `places` count from `data`. All buffers become one mesh:
 * vertices one buffer after the other, one part a draw, and one stream for each usage and index that any
 * buffer has. Returns false when memory runs out. */
bool xbg7_mesh(const uint8_t *data, size_t size, const struct xbg7_marker *markers, uint32_t count,
               const struct buffer_place *places, struct arena *arena, const struct mesh **out);

#endif
