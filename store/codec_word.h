/* codec_word.h - what the codecs do with single words. */
#ifndef ANCHORAGE_CODEC_WORD_H
#define ANCHORAGE_CODEC_WORD_H

#include <stdint.h>

/* The sign goes to the lowest bit: small differences of either sign are small numbers. */
static inline uint32_t zigzag(uint32_t difference)
{
    return difference << 1 ^ (uint32_t)((int32_t)difference >> 31);
}

static inline uint32_t unzigzag(uint32_t value)
{
    return value >> 1 ^ (0u - (value & 1));
}

static inline void store_u32le(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    out[2] = (uint8_t)(value >> 16);
    out[3] = (uint8_t)(value >> 24);
}

#endif
