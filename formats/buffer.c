/* buffer.c - see buffer.h */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_FIRST_ROOM ((size_t)256)

uint8_t *buffer_extend(struct buffer *buffer, size_t size)
{
    static uint8_t nothing;
    if (buffer->failed)
        return NULL;
    if (size > buffer->room - buffer->size) {
        size_t need, room = buffer->room ? buffer->room : BUFFER_FIRST_ROOM;
        if (__builtin_add_overflow(buffer->size, size, &need)) {
            buffer->failed = true;
            return NULL;
        }
        while (room < need)
            room = room > SIZE_MAX / 2 ? need : room * 2;
        uint8_t *data = realloc(buffer->data, room);
        if (!data) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = data;
        buffer->room = room;
    }
    uint8_t *start = buffer->data ? buffer->data + buffer->size : &nothing;
    buffer->size += size;
    return start;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *out = buffer_extend(buffer, size);
    if (out && size)
        memcpy(out, bytes, size);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

void buffer_free(struct buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    *buffer = (struct buffer){0};
}
