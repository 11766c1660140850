/* reader.h - the only way a format reads bytes it was given.
 *
 * A reader is a bounded view of a container with a position and a sticky error: the first read that does not
 * fit sets the error, and every read after it returns zero without moving. So a header is read top to bottom
 * and checked once, before any loop or allocation that is sized by what was read. A sub-range is another
 * reader, which cannot leave its parent. Only reader.c touches position and size; its checks subtract, so
 * they cannot overflow. A reader belongs to one thread; the bytes stay the caller's.
 */
#ifndef ANCHORAGE_READER_H
#define ANCHORAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct reader {
    const uint8_t *data;
    size_t size, pos;
    uint64_t base;       /* where data[0] lies in the container; offsets in errors are absolute */
    const char *context; /* what is being read, for messages: "header", "submesh 3"; may be NULL */
    struct error *err;   /* never NULL; shared by sub-readers, so the first failure anywhere sticks */
};

/* A reader over data[0..size), whose offsets count from `base`. `err` must outlive it. */
struct reader reader_make(const void *data, size_t size, uint64_t base, const char *context,
                          struct error *err);

/* Whether nothing has failed yet. */
bool reader_ok(const struct reader *r);
/* Bytes left before the end of this reader. */
size_t reader_left(const struct reader *r);
/* The absolute offset of the next byte. */
uint64_t reader_offset(const struct reader *r);
/* Moves to `pos` bytes from this reader's own start; past its end is an error. */
void reader_seek(struct reader *r, size_t pos);
void reader_skip(struct reader *r, size_t count);

/* The next value, in the named byte order; 0 after a failure. `what` names the field in the message. */
uint8_t reader_u8(struct reader *r, const char *what);
int8_t reader_i8(struct reader *r, const char *what);
uint16_t reader_u16le(struct reader *r, const char *what);
uint32_t reader_u32le(struct reader *r, const char *what);
int16_t reader_i16le(struct reader *r, const char *what);
int32_t reader_i32le(struct reader *r, const char *what);
float reader_f32le(struct reader *r, const char *what);
uint16_t reader_u16be(struct reader *r, const char *what);
uint32_t reader_u32be(struct reader *r, const char *what);
float reader_f32be(struct reader *r, const char *what);

/* The next `count` bytes in place, NULL after a failure. */
const uint8_t *reader_bytes(struct reader *r, size_t count, const char *what);
/* `count` elements of `stride` bytes in place; NULL when the product overflows or does not fit. */
const uint8_t *reader_array(struct reader *r, size_t count, size_t stride, const char *what);
/* A reader over the next `count` bytes, which are skipped here. After a failure it is empty. */
struct reader reader_sub(struct reader *r, size_t count, const char *context);
/* The NUL-terminated string at the position, at most `limit` bytes with its NUL, NULL when it does not end.
 * Its length goes to *length when that is not NULL. */
const char *reader_string(struct reader *r, size_t limit, size_t *length, const char *what);

/* Sets the error at the current position, in the context of this reader; always false. */
bool reader_fail(struct reader *r, enum error_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Unchecked loads for loops whose bounds were proven with reader_array. */
static inline uint16_t load_u16le(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint16_t load_u16be(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t load_u32le(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint32_t load_u32be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
static inline float float_of_bits(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } pun = {.u = bits};
    return pun.f;
}
static inline uint32_t bits_of_float(float value)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = value};
    return pun.u;
}
static inline float load_f32le(const uint8_t *p)
{
    return float_of_bits(load_u32le(p));
}
static inline float load_f32be(const uint8_t *p)
{
    return float_of_bits(load_u32be(p));
}

#endif
