/* buffer.c - see buffer.h */
#include "buffer.h"

#include <stdlib.h>

#define BUFFER_FIRST_ROOM ((size_t)256)

bool buffer_grow(struct buffer *buffer, size_t size)
{
    size_t need, room = buffer->room ? buffer->room : BUFFER_FIRST_ROOM;
    if (buffer->failed)
        return false;
    if (__builtin_add_overflow(buffer->size, size, &need)) {
        buffer->failed = true;
        return false;
    }
    while (room < need)
        room = room > SIZE_MAX / 2 ? need : room * 2;
    uint8_t *data = realloc(buffer->data, room);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->room = room;
    return true;
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
