/* codec_packed.c - see codec_packed.h */
#include "store/codec_packed.h"

#include <string.h>

#include "formats/reader.h"
#include "store/codec_word.h"

/* A code is 4 x the place of the first non-zero byte + the place of the last one; a word of zero has first 3,
 * last 0. This is how many bytes follow from each code; BYTES_NONE: there is no such code. */
#define BYTES_NONE 5
/* clang-format off */
static const uint8_t bytes_of_code[16] = {
    1, 2, 3, 4, /* first 0 */
    BYTES_NONE, 1, 2, 3,
    BYTES_NONE, BYTES_NONE, 1, 2,
    0, BYTES_NONE, BYTES_NONE, 1, /* first 3, and zero */
};
/* clang-format on */

static size_t codes_size(size_t words)
{
    return words / 2 + words % 2;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

size_t packed_bound(size_t words)
{
    return codes_size(words) + 4 * words + 4;
}

struct packer packer_make(uint8_t *room, size_t words)
{
    return (struct packer){.codes = room, .out = room + codes_size(words)};
}

static inline uint32_t word_before(const uint8_t *in, size_t i, size_t stride)
{
    return i >= stride ? load_u32le(in + 4 * (i - stride)) : 0;
}

/* Packs word i and returns its code. Always writes 4 bytes and goes on behind those that count: there is
 * nothing to mispredict. */
static inline unsigned pack_word(const uint8_t *in, size_t i, size_t stride, uint8_t **out)
{
    uint32_t word = zigzag(load_u32le(in + 4 * i) - word_before(in, i, stride));
    unsigned first = (unsigned)__builtin_ctz(word | UINT32_C(1) << 31) / 8;
    unsigned last = (31 - (unsigned)__builtin_clz(word | 1)) / 8;
    store_u32le(*out, word >> (8 * first));
    *out += bytes_of_code[4 * first + last];
    return 4 * first + last;
}

void packer_add(struct packer *packer, const uint8_t *in, size_t count, size_t stride)
{
    uint8_t *out = packer->out, *codes = packer->codes + packer->at / 2;
    size_t words = count * stride, i = 0;
    if (packer->at % 2 && words)
        *codes++ |= (uint8_t)(pack_word(in, i++, stride, &out) << 4);
    for (; words - i >= 2; i += 2) {
        unsigned code = pack_word(in, i, stride, &out);
        *codes++ = (uint8_t)(code | pack_word(in, i + 1, stride, &out) << 4);
    }
    if (i < words)
        *codes = (uint8_t)pack_word(in, i, stride, &out);
    packer->out = out;
    packer->at += words;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

bool unpacker_make(struct unpacker *unpacker, const uint8_t *bytes, size_t size, size_t words)
{
    size_t codes = codes_size(words);
    if (codes > size)
        return false;
    *unpacker = (struct unpacker){.codes = bytes, .in = bytes + codes, .end = bytes + size};
    return true;
}

static bool unpack_word(struct unpacker *unpacker, uint32_t *word)
{
    unsigned code = unpacker->codes[unpacker->at / 2] >> (unpacker->at % 2 * 4) & 15;
    unsigned bytes = bytes_of_code[code];
    unpacker->at++;
    *word = 0;
    if (bytes == BYTES_NONE || bytes > (size_t)(unpacker->end - unpacker->in))
        return false;
    for (unsigned i = 0; i < bytes; i++)
        *word |= (uint32_t)*unpacker->in++ << (8 * (code / 4 + i));
    return true;
}

bool unpacker_take(struct unpacker *unpacker, uint8_t *out, size_t count, size_t stride)
{
    size_t words = count * stride;
    for (size_t i = 0; i < words; i++) {
        uint32_t word;
        if (!unpack_word(unpacker, &word))
            return false;
        store_u32le(out + 4 * i, word_before(out, i, stride) + unzigzag(word));
    }
    return true;
}
