/* properties.h - what must hold of a decoded container, whatever the input was. */
#ifndef ANCHORAGE_FUZZ_PROPERTIES_H
#define ANCHORAGE_FUZZ_PROPERTIES_H

#include "formats/buffer.h"
#include "formats/format.h"

/* Decodes the bytes twice with that decoder and checks all that format.h promises: a result that is
 * consistent, sound, inside its container, in the arena and not in the input, of bounded memory, and the same
 * both times. */
void must_decode_well(const struct format *format, const char *name, const uint8_t *data, size_t size);

/* The checks of one result against the container's bytes. */
void must_be_container(const struct container *container, const uint8_t *data, size_t size);

/* Code, words and offset agree: all there, or none. */
void must_be_error(const struct error *err, bool expected, const char *what);

/* What one resource's buffers occupy, from the least offset to the greatest end. */
struct extent {
    uint64_t start, end;
};
struct extent extent_of(const struct buffer_place *places, uint32_t count);

#endif
