/* reader.c - see reader.h */
#include "reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader reader_make(const void *data, size_t size, uint64_t base, const char *context,
                          struct error *err)
{
    return (struct reader){.data = data, .size = size, .base = base, .context = context, .err = err};
}

bool reader_ok(const struct reader *r)
{
    return r->err->code == ERROR_NONE;
}

size_t reader_left(const struct reader *r)
{
    return reader_ok(r) ? r->size - r->pos : 0;
}

uint64_t reader_offset(const struct reader *r)
{
    return r->base + r->pos;
}

bool reader_fail(struct reader *r, enum error_code code, const char *fmt, ...)
{
    if (!reader_ok(r))
        return false;
    char text[sizeof r->err->msg];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    error_set(r->err, code, reader_offset(r), "%s", text);
    if (r->context)
        error_prefix(r->err, "%s", r->context);
    return false;
}

/* Proves that `count` more bytes exist, or fails naming what was wanted. */
static bool reader_need(struct reader *r, size_t count, const char *what)
{
    if (!reader_ok(r))
        return false;
    if (count <= r->size - r->pos)
        return true;
    return reader_fail(r, ERROR_TRUNCATED, "%s needs %zu bytes, %zu are left", what, count, r->size - r->pos);
}

void reader_seek(struct reader *r, size_t pos)
{
    if (!reader_ok(r))
        return;
    if (pos > r->size) {
        reader_fail(r, ERROR_RANGE, "offset %zu leaves its %zu bytes", pos, r->size);
        return;
    }
    r->pos = pos;
}

void reader_skip(struct reader *r, size_t count)
{
    if (reader_need(r, count, "skip"))
        r->pos += count;
}

const uint8_t *reader_bytes(struct reader *r, size_t count, const char *what)
{
    if (!reader_need(r, count, what))
        return NULL;
    const uint8_t *bytes = r->data + r->pos;
    r->pos += count;
    return bytes;
}

const uint8_t *reader_array(struct reader *r, size_t count, size_t stride, const char *what)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, stride, &bytes)) {
        reader_fail(r, ERROR_TRUNCATED, "%s: %zu x %zu bytes are more than any file holds", what, count,
                    stride);
        return NULL;
    }
    return reader_bytes(r, bytes, what);
}

struct reader reader_sub(struct reader *r, size_t count, const char *context)
{
    uint64_t base = reader_offset(r);
    const uint8_t *bytes = reader_bytes(r, count, context ? context : "part");
    return reader_make(bytes, bytes ? count : 0, base, context, r->err);
}

const char *reader_string(struct reader *r, size_t limit, size_t *length, const char *what)
{
    if (!reader_ok(r))
        return NULL;
    size_t left = r->size - r->pos;
    size_t most = limit < left ? limit : left;
    const uint8_t *start = r->data + r->pos;
    const uint8_t *end = most ? memchr(start, 0, most) : NULL;
    if (!end) {
        reader_fail(r, ERROR_TRUNCATED, "%s: no end of string within %zu bytes", what, most);
        return NULL;
    }
    if (length)
        *length = (size_t)(end - start);
    r->pos += (size_t)(end - start) + 1;
    return (const char *)start;
}

uint8_t reader_u8(struct reader *r, const char *what)
{
    const uint8_t *p = reader_bytes(r, 1, what);
    return p ? p[0] : 0;
}

int8_t reader_i8(struct reader *r, const char *what)
{
    return (int8_t)reader_u8(r, what);
}

uint16_t reader_u16le(struct reader *r, const char *what)
{
    const uint8_t *p = reader_bytes(r, 2, what);
    return p ? load_u16le(p) : 0;
}

uint32_t reader_u32le(struct reader *r, const char *what)
{
    const uint8_t *p = reader_bytes(r, 4, what);
    return p ? load_u32le(p) : 0;
}

int16_t reader_i16le(struct reader *r, const char *what)
{
    return (int16_t)reader_u16le(r, what);
}

int32_t reader_i32le(struct reader *r, const char *what)
{
    return (int32_t)reader_u32le(r, what);
}

float reader_f32le(struct reader *r, const char *what)
{
    return float_of_bits(reader_u32le(r, what));
}

uint16_t reader_u16be(struct reader *r, const char *what)
{
    const uint8_t *p = reader_bytes(r, 2, what);
    return p ? load_u16be(p) : 0;
}

uint32_t reader_u32be(struct reader *r, const char *what)
{
    const uint8_t *p = reader_bytes(r, 4, what);
    return p ? load_u32be(p) : 0;
}

float reader_f32be(struct reader *r, const char *what)
{
    return float_of_bits(reader_u32be(r, what));
}
