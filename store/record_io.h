/* record_io.h - the words records are written in: numbers, strings, hashes, errors, lists. For the files of
 * store/ that define records, and nothing else.
 *
 * Writers append to a buffer, whose `failed` is looked at once at a record's end. Readers check every length
 * before memory is taken for it, and put strings and lists into the arena. The layout is in store/README.md,
 * "Records".
 */
#ifndef ANCHORAGE_RECORD_IO_H
#define ANCHORAGE_RECORD_IO_H

#include <string.h>

#include "formats/reader.h"
#include "store/record.h"

#define RECORD_VERSION 1
#define STRING_NULL    UINT32_MAX /* the length of a string that is not there */
/* The least bytes an element takes, so that a count is checked before memory is taken for it. */
#define STRING_LEAST 4
#define ERROR_LEAST  (1 + 8 + STRING_LEAST)
#define BUFFER_LEAST (2 * 8 + 3 * 4)

/* ---- writing ---- */

static inline void write_number(struct buffer *out, uint64_t value, unsigned bytes)
{
    uint8_t *room = buffer_extend(out, bytes);
    for (unsigned i = 0; room && i < bytes; i++)
        room[i] = (uint8_t)(value >> (8 * i));
}

static inline void write_u8(struct buffer *out, uint64_t value)
{
    write_number(out, value, 1);
}

static inline void write_u16(struct buffer *out, uint64_t value)
{
    write_number(out, value, 2);
}

static inline void write_u32(struct buffer *out, uint64_t value)
{
    write_number(out, value, 4);
}

static inline void write_u64(struct buffer *out, uint64_t value)
{
    write_number(out, value, 8);
}

static inline void write_f32(struct buffer *out, float value)
{
    write_u32(out, bits_of_float(value));
}

static inline void write_f64(struct buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_u64(out, bits);
}

static inline void write_string(struct buffer *out, const char *text)
{
    if (!text) {
        write_u32(out, STRING_NULL);
        return;
    }
    size_t length = strlen(text);
    write_u32(out, length);
    buffer_append(out, text, length);
}

static inline void write_hash(struct buffer *out, const struct hash *hash)
{
    buffer_append(out, hash->bytes, HASH_SIZE);
}

/* An error that is not set carries no offset and no words, whatever its memory holds. */
static inline void write_error(struct buffer *out, const struct error *error)
{
    bool set = error->code != ERROR_NONE;
    write_u8(out, error->code);
    write_u64(out, set ? error->offset : ERROR_NO_OFFSET);
    write_string(out, set ? error->msg : "");
}

/* ---- reading ---- */

static inline uint64_t read_u64(struct reader *r, const char *what)
{
    uint64_t low = reader_u32le(r, what);
    return low | (uint64_t)reader_u32le(r, what) << 32;
}

static inline double read_f64(struct reader *r, const char *what)
{
    uint64_t bits = read_u64(r, what);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A number below `limit`, as the enums and counts of a known size are. */
static inline unsigned read_below(struct reader *r, unsigned limit, const char *what)
{
    unsigned value = reader_u8(r, what);
    if (reader_ok(r) && value >= limit)
        reader_fail(r, ERROR_RANGE, "%s is %u of %u known", what, value, limit);
    return reader_ok(r) ? value : 0;
}

static inline bool read_bool(struct reader *r, const char *what)
{
    return read_below(r, 2, what) == 1;
}

/* A count of elements of at least `least` bytes each, which are proven to be able to follow. */
static inline uint32_t read_count(struct reader *r, size_t least, const char *what)
{
    uint32_t count = reader_u32le(r, what);
    if (reader_ok(r) && count > reader_left(r) / least)
        reader_fail(r, ERROR_TRUNCATED, "%u x %s, %zu bytes are left", count, what, reader_left(r));
    return reader_ok(r) ? count : 0;
}

static inline void *read_room(struct reader *r, struct arena *arena, size_t count, size_t size)
{
    void *room = count && reader_ok(r) ? arena_array(arena, count, size) : NULL;
    if (count && reader_ok(r) && !room)
        reader_fail(r, ERROR_NOMEM, "out of memory");
    return room;
}

static inline const char *read_string(struct reader *r, struct arena *arena, const char *what)
{
    uint32_t length = reader_u32le(r, what);
    if (!reader_ok(r) || length == STRING_NULL)
        return NULL;
    const uint8_t *bytes = reader_bytes(r, length, what);
    if (!bytes)
        return NULL;
    if (length && memchr(bytes, 0, length)) {
        reader_fail(r, ERROR_MALFORMED, "%s: a NUL inside", what);
        return NULL;
    }
    const char *text = arena_copy(arena, bytes, length);
    if (!text)
        reader_fail(r, ERROR_NOMEM, "out of memory");
    return text;
}

/* A string that is always there. */
static inline const char *read_text(struct reader *r, struct arena *arena, const char *what)
{
    const char *text = read_string(r, arena, what);
    if (reader_ok(r) && !text)
        reader_fail(r, ERROR_MALFORMED, "%s is missing", what);
    return text;
}

static inline struct hash read_hash(struct reader *r, const char *what)
{
    struct hash hash = {{0}};
    const uint8_t *bytes = reader_bytes(r, HASH_SIZE, what);
    if (bytes)
        memcpy(hash.bytes, bytes, HASH_SIZE);
    return hash;
}

static inline void read_error(struct reader *r, struct error *error)
{
    error->code = read_below(r, ERROR_USAGE + 1, "error code");
    error->offset = read_u64(r, "error offset");
    uint32_t length = reader_u32le(r, "error message");
    const uint8_t *text = reader_bytes(r, length, "error message");
    if (text && length >= sizeof error->msg)
        reader_fail(r, ERROR_RANGE, "an error message of %u bytes", length);
    else if (text)
        memcpy(error->msg, text, length);
}

static inline void read_version(struct reader *r)
{
    unsigned version = reader_u8(r, "version");
    if (reader_ok(r) && version != RECORD_VERSION)
        reader_fail(r, ERROR_UNSUPPORTED, "version %u, this program reads %d", version, RECORD_VERSION);
}

/* Every byte of a record has a meaning, so what is left over is no record. */
static inline bool read_end(struct reader *r)
{
    if (reader_ok(r) && reader_left(r))
        reader_fail(r, ERROR_MALFORMED, "%zu bytes behind its end", reader_left(r));
    return reader_ok(r);
}

static inline void write_buffers(struct buffer *out, const struct buffer_place *buffers, uint32_t count)
{
    write_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        write_u64(out, buffers[i].index_offset);
        write_u64(out, buffers[i].vertex_offset);
        write_u32(out, buffers[i].index_count);
        write_u32(out, buffers[i].vertex_count);
        write_u32(out, buffers[i].stride);
    }
}

static inline struct buffer_place *read_buffers(struct reader *r, struct arena *arena, uint32_t *count)
{
    *count = read_count(r, BUFFER_LEAST, "buffers");
    struct buffer_place *buffers = read_room(r, arena, *count, sizeof *buffers);
    for (uint32_t i = 0; i < *count && reader_ok(r); i++) {
        buffers[i].index_offset = read_u64(r, "index offset");
        buffers[i].vertex_offset = read_u64(r, "vertex offset");
        buffers[i].index_count = reader_u32le(r, "index count");
        buffers[i].vertex_count = reader_u32le(r, "vertex count");
        buffers[i].stride = reader_u32le(r, "stride");
    }
    return buffers;
}

#endif
