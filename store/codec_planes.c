/* codec_planes.c - see codec_planes.h */
#include "store/codec_planes.h"

#include "formats/reader.h"

/* Entries handled at once: their differences stay in the first-level cache, and loops of a constant length
 * are turned into vector code without a tail. */
#define PLANES_BLOCK 256

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

/* One component of `count` entries: in[i * stride] to planes of `plane` bytes. */
static void split_component(const uint8_t *in, size_t count, size_t stride, uint8_t *out, size_t plane)
{
    uint32_t before = 0, block[PLANES_BLOCK];
    size_t done = 0;
    for (; count - done >= PLANES_BLOCK; done += PLANES_BLOCK, in += PLANES_BLOCK * stride * 4) {
        for (size_t i = 0; i < PLANES_BLOCK; i++) {
            uint32_t word = load_u32le(in + i * stride * 4);
            block[i] = zigzag(word - before);
            before = word;
        }
        for (unsigned b = 0; b < 4; b++) {
            uint8_t *to = out + b * plane + done;
            for (size_t i = 0; i < PLANES_BLOCK; i++)
                to[i] = (uint8_t)(block[i] >> (8 * b));
        }
    }
    for (; done < count; done++, in += stride * 4) {
        uint32_t word = load_u32le(in), value = zigzag(word - before);
        before = word;
        for (unsigned b = 0; b < 4; b++)
            out[b * plane + done] = (uint8_t)(value >> (8 * b));
    }
}

static void join_component(const uint8_t *in, size_t plane, size_t count, size_t stride, uint8_t *out)
{
    uint32_t before = 0, block[PLANES_BLOCK];
    size_t done = 0;
    for (; count - done >= PLANES_BLOCK; done += PLANES_BLOCK) {
        const uint8_t *from = in + done;
        for (size_t i = 0; i < PLANES_BLOCK; i++)
            block[i] = (uint32_t)from[i] | (uint32_t)from[plane + i] << 8 |
                       (uint32_t)from[2 * plane + i] << 16 | (uint32_t)from[3 * plane + i] << 24;
        for (size_t i = 0; i < PLANES_BLOCK; i++, out += stride * 4) {
            before += unzigzag(block[i]);
            store_u32le(out, before);
        }
    }
    for (; done < count; done++, out += stride * 4) {
        const uint8_t *from = in + done;
        before += unzigzag((uint32_t)from[0] | (uint32_t)from[plane] << 8 | (uint32_t)from[2 * plane] << 16 |
                           (uint32_t)from[3 * plane] << 24);
        store_u32le(out, before);
    }
}

void planes_split(const uint8_t *in, size_t count, size_t stride, uint8_t *out)
{
    for (size_t c = 0; c < stride; c++)
        split_component(in + c * 4, count, stride, out + c * 4 * count, count);
}

void planes_join(const uint8_t *in, size_t count, size_t stride, uint8_t *out)
{
    for (size_t c = 0; c < stride; c++)
        join_component(in + c * 4 * count, count, count, stride, out + c * 4);
}
