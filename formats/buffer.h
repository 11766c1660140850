/* buffer.h - bytes that grow, for writers.
 *
 * All zero is an empty buffer. `failed` sticks when memory runs out, after which appending does nothing: a
 * writer appends freely and checks once at its end. A buffer belongs to one thread at a time.
 */
#ifndef ANCHORAGE_BUFFER_H
#define ANCHORAGE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

/* Makes room for `size` more bytes; false (and failed) when memory runs out. For the functions below. */
bool buffer_grow(struct buffer *buffer, size_t size);

/* Room for `size` more bytes at the end, counted as written and not initialised; NULL (and failed) when
 * memory runs out. The pointer is good until the next call. */
static inline uint8_t *buffer_extend(struct buffer *buffer, size_t size)
{
    if ((buffer->failed || size > buffer->room - buffer->size || !buffer->data) && !buffer_grow(buffer, size))
        return NULL;
    uint8_t *start = buffer->data + buffer->size;
    buffer->size += size;
    return start;
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *out = buffer_extend(buffer, size);
    if (out && size)
        memcpy(out, bytes, size);
}

/* Forgets the bytes and a failure, keeps the memory. */
void buffer_clear(struct buffer *buffer);
void buffer_free(struct buffer *buffer);

#endif
