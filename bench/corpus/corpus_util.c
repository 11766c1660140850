/* corpus_util.c - the generator's randomness, byte writers and parametric shapes. See corpus.h. */
#include "bench/corpus/corpus.h"

#include <stdlib.h>

#include "reports/view.h"

struct rng rng_make(uint64_t seed, uint64_t stream)
{
    struct rng rng = {seed * UINT64_C(0x9E3779B97F4A7C15) ^ (stream + 1) * UINT64_C(0xD1B54A32D192ED03)};
    rng_u64(&rng);
    return rng;
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)((rng_u64(rng) >> 32) * bound >> 32);
}

float rng_float(struct rng *rng, float low, float high)
{
    float unit = (float)(rng_u64(rng) >> 40) * (1.0f / 16777216.0f);
    return low + (high - low) * unit;
}

bool rng_chance(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

void put_u8(struct buffer *out, uint8_t value)
{
    buffer_append(out, &value, 1);
}

void put_u16le(struct buffer *out, uint16_t value)
{
    buffer_append(out, (uint8_t[]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

void put_u32le(struct buffer *out, uint32_t value)
{
    put_u16le(out, (uint16_t)value);
    put_u16le(out, (uint16_t)(value >> 16));
}

void put_u16be(struct buffer *out, uint16_t value)
{
    buffer_append(out, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

void put_u32be(struct buffer *out, uint32_t value)
{
    put_u16be(out, (uint16_t)(value >> 16));
    put_u16be(out, (uint16_t)value);
}

static uint32_t float_bits(float value)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = value};
    return pun.u;
}

void put_f32le(struct buffer *out, float value)
{
    put_u32le(out, float_bits(value));
}

void put_f32be(struct buffer *out, float value)
{
    put_u32be(out, float_bits(value));
}

void corpus_file_free(struct corpus_file *file)
{
    buffer_free(&file->bytes);
    json_decref(file->truth);
    file->truth = NULL;
}

json_t *corpus_vector(const float v[static 3])
{
    return json_pack("[o,o,o]", json_of_f32(v[0]), json_of_f32(v[1]), json_of_f32(v[2]));
}
