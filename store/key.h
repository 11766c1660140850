/* key.h - content hashes: XXH3 of 128 bits in its canonical (big-endian) byte order.
 *
 * The one file that knows xxHash. All functions are pure and may be called from any thread.
 */
#ifndef ANCHORAGE_KEY_H
#define ANCHORAGE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_SIZE 16
#define HASH_HEX  (2 * HASH_SIZE + 1) /* characters of its hex form, with the NUL */

struct hash {
    uint8_t bytes[HASH_SIZE];
};

/* XXH3-128 of the bytes. */
struct hash hash_bytes(const void *bytes, size_t size);

/* The same over bytes that come in pieces. hash_stream_new returns NULL when memory runs out;
 * hash_stream_finish gives the hash and frees the stream; hash_stream_free drops one unfinished (NULL is
 * legal). */
struct hash_stream;
struct hash_stream *hash_stream_new(void);
void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t size);
struct hash hash_stream_finish(struct hash_stream *stream);
void hash_stream_free(struct hash_stream *stream);

/* XXH3-64 of two pieces one after the other: the checksum stored in front of every value, taken over its key
 * and its payload so that a value under the wrong key is found too. */
uint64_t hash_checksum(const void *key, size_t key_size, const void *payload, size_t payload_size);

/* 32 lower-case hex digits. */
void hash_format(const struct hash *hash, char text[static HASH_HEX]);
/* Reads exactly 32 hex digits; false when `text` is anything else. */
bool hash_parse(const char *text, struct hash *hash);

static inline bool hash_equal(const struct hash *a, const struct hash *b)
{
    return memcmp(a->bytes, b->bytes, HASH_SIZE) == 0;
}
static inline bool hash_is_zero(const struct hash *hash)
{
    static const struct hash zero;
    return hash_equal(hash, &zero);
}

#endif
