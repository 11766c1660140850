/* codec_planes.c - see codec_planes.h */
#include "store/codec_planes.h"

#include <string.h>

#include "formats/reader.h"
#include "store/codec_word.h"

/* Entries handled at once: few, so that short arrays waste little, and always as many, so that the loops over
 * them have a constant length and become vector code. */
#define PLANES_BLOCK 32

static inline size_t block_size(size_t left)
{
    return left < PLANES_BLOCK ? left : PLANES_BLOCK;
}

/* One component of `count` entries: in[i * stride] to planes of `plane` bytes. */
static void split_component(const uint8_t *in, size_t count, size_t stride, uint8_t *out, size_t plane)
{
    uint32_t before = 0, block[PLANES_BLOCK] = {0};
    uint8_t bytes[4][PLANES_BLOCK];
    for (size_t done = 0; done < count; done += PLANES_BLOCK, out += PLANES_BLOCK) {
        size_t n = block_size(count - done);
        for (size_t i = 0; i < n; i++, in += stride * 4) {
            uint32_t word = load_u32le(in);
            block[i] = word - before;
            before = word;
        }
        for (size_t i = 0; i < PLANES_BLOCK; i++)
            block[i] = zigzag(block[i]);
        for (unsigned b = 0; b < 4; b++) {
            for (size_t i = 0; i < PLANES_BLOCK; i++)
                bytes[b][i] = (uint8_t)(block[i] >> (8 * b));
            if (n == PLANES_BLOCK)
                memcpy(out + b * plane, bytes[b], PLANES_BLOCK);
            else
                memcpy(out + b * plane, bytes[b], n);
        }
    }
}

static void join_component(const uint8_t *in, size_t plane, size_t count, size_t stride, uint8_t *out)
{
    uint32_t before = 0, block[PLANES_BLOCK];
    uint8_t bytes[4][PLANES_BLOCK] = {{0}};
    for (size_t done = 0; done < count; done += PLANES_BLOCK, in += PLANES_BLOCK) {
        size_t n = block_size(count - done);
        for (unsigned b = 0; b < 4; b++) {
            if (n == PLANES_BLOCK)
                memcpy(bytes[b], in + b * plane, PLANES_BLOCK);
            else
                memcpy(bytes[b], in + b * plane, n);
        }
        for (size_t i = 0; i < PLANES_BLOCK; i++)
            block[i] = unzigzag((uint32_t)bytes[0][i] | (uint32_t)bytes[1][i] << 8 |
                                (uint32_t)bytes[2][i] << 16 | (uint32_t)bytes[3][i] << 24);
        for (size_t i = 0; i < n; i++, out += stride * 4) {
            before += block[i];
            store_u32le(out, before);
        }
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
