/* key.c - see key.h. The one file that includes xxHash. */
#include "store/key.h"

#define XXH_STATIC_LINKING_ONLY /* for the size of a state, so that one can live on the stack */
/* Debian builds the plain entry points of libxxhash for SSE2; the dispatching ones choose AVX2 or AVX-512 at
 * run time and give the same values. The header renames XXH3_* to them and exists on x86 only. */
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/* Keys and payloads up to this are joined on the stack: setting up a streaming state costs more than the
 * copy. */
#define CHECKSUM_JOIN_SIZE 1024

static struct hash hash_of(XXH128_hash_t value)
{
    XXH128_canonical_t canonical;
    struct hash hash;
    XXH128_canonicalFromHash(&canonical, value);
    memcpy(hash.bytes, canonical.digest, HASH_SIZE);
    return hash;
}

struct hash hash_bytes(const void *bytes, size_t size)
{
    return hash_of(XXH3_128bits(bytes, size));
}

/* The state is aligned to 64 bytes by XXH3_createState, hence a pointer and not a member. */
struct hash_stream {
    XXH3_state_t state;
};

struct hash_stream *hash_stream_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (struct hash_stream *)state;
}

void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t size)
{
    if (size)
        XXH3_128bits_update(&stream->state, bytes, size);
}

struct hash hash_stream_finish(struct hash_stream *stream)
{
    struct hash hash = hash_of(XXH3_128bits_digest(&stream->state));
    hash_stream_free(stream);
    return hash;
}

void hash_stream_free(struct hash_stream *stream)
{
    if (stream)
        XXH3_freeState(&stream->state);
}

uint64_t hash_checksum(const void *key, size_t key_size, const void *payload, size_t payload_size)
{
    if (key_size <= CHECKSUM_JOIN_SIZE && payload_size <= CHECKSUM_JOIN_SIZE - key_size) {
        uint8_t joined[CHECKSUM_JOIN_SIZE];
        if (key_size)
            memcpy(joined, key, key_size);
        if (payload_size)
            memcpy(joined + key_size, payload, payload_size);
        return XXH3_64bits(joined, key_size + payload_size);
    }
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    if (key_size)
        XXH3_64bits_update(&state, key, key_size);
    if (payload_size)
        XXH3_64bits_update(&state, payload, payload_size);
    return XXH3_64bits_digest(&state);
}

void hash_format(const struct hash *hash, char text[static HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_SIZE; i++) {
        text[2 * i] = digits[hash->bytes[i] >> 4];
        text[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    text[2 * HASH_SIZE] = '\0';
}

/* The value of a hex digit of either case, -1 for anything else. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hash_parse(const char *text, struct hash *hash)
{
    struct hash parsed;
    for (size_t i = 0; i < HASH_SIZE; i++) {
        int high = hex_value(text[2 * i]);
        int low = high < 0 ? -1 : hex_value(text[2 * i + 1]);
        if (low < 0)
            return false;
        parsed.bytes[i] = (uint8_t)(high << 4 | low);
    }
    if (text[2 * HASH_SIZE] != '\0')
        return false;
    *hash = parsed;
    return true;
}
