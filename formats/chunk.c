/* chunk.c - see chunk.h. Layout: formats/bgf.md, section "Grammar". */
#include "chunk.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"

/* Tags have 13 bits (0x2FFF less the gap of bit 12), so a table by tag is small. */
#define TAG_MASK       0x2FFFu
#define TAG_SLOTS      0x2000u
#define TAG_SLOT(tag)  (((tag)&0x0FFFu) | ((tag) >> 1 & 0x1000u))
#define SLOT_TAG(slot) (((slot)&0x0FFFu) | ((slot)&0x1000u) << 1)

/* ---- tags ---------------------------------------------------------------------------------------------- */

static bool tag_is_container(uint16_t tag)
{
    switch (tag) {
    case CHUNK_HEADER:
    case CHUNK_OBJECT:
    case CHUNK_LOD:
    case CHUNK_PATCH:
    case CHUNK_PMESH:
    case CHUNK_SPHERE_LIST:
    case CHUNK_BOUND:
        return true;
    default:
        return false;
    }
}

bool chunk_tag_is_known(uint16_t tag)
{
    switch ((enum chunk_tag)tag) {
    case CHUNK_HEADER:
    case CHUNK_BIZ_DONE:
    case CHUNK_OBJECT:
    case CHUNK_LOD:
    case CHUNK_PATCH:
    case CHUNK_PMESH:
    case CHUNK_CONNECTION_LIST:
    case CHUNK_SPHERE_LIST:
    case CHUNK_SPHERE:
    case CHUNK_PCONN_LIST:
    case CHUNK_BOUND:
    case CHUNK_BBOX:
    case CHUNK_BSPHERE:
    case CHUNK_XYZ:
    case CHUNK_XYZ_N:
    case CHUNK_XYZ_RGBA:
    case CHUNK_XYZ_UV:
    case CHUNK_XYZ_N_UV:
    case CHUNK_XYZ_RGBA_UV:
    case CHUNK_VERSION:
    case CHUNK_DATE:
    case CHUNK_TIME:
    case CHUNK_SCALE:
    case CHUNK_FILETYPE:
    case CHUNK_NAME:
    case CHUNK_UNIT:
    case CHUNK_SV_F_MATERIAL:
    case CHUNK_SV_B_MATERIAL:
    case CHUNK_SV_DECAL:
    case CHUNK_SV_FACETED:
    case CHUNK_SV_VERTEX:
    case CHUNK_SV_SPECIAL:
    case CHUNK_LOD_DISTANCE:
    case CHUNK_LOD_TRANSITION:
        return true;
    }
    return false;
}

/* The namespaces of the layout. Tag 0 is in none: a payload of zeros would close as empty chunks of it, which
 * says nothing about its structure. */
static bool tag_has_namespace(uint16_t tag)
{
    return tag != 0 && (tag & 0x0F00u) == 0;
}

static bool tag_may_be_container(uint16_t tag)
{
    return (tag & 0xFF00u) == 0 && !chunk_tag_is_known(tag);
}

struct chunk_vertex chunk_vertex_layout(uint16_t tag)
{
    switch (tag) {
    case CHUNK_XYZ:
        return (struct chunk_vertex){.stride = 12};
    case CHUNK_XYZ_N:
        return (struct chunk_vertex){.stride = 24, .normal = 3};
    case CHUNK_XYZ_RGBA:
        return (struct chunk_vertex){.stride = 28, .color = 3};
    case CHUNK_XYZ_UV:
        return (struct chunk_vertex){.stride = 20, .uv = 3};
    case CHUNK_XYZ_N_UV:
        return (struct chunk_vertex){.stride = 32, .normal = 3, .uv = 6};
    case CHUNK_XYZ_RGBA_UV:
        return (struct chunk_vertex){.stride = 36, .color = 3, .uv = 7};
    default:
        return (struct chunk_vertex){.stride = 0};
    }
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

/* Goes over the file twice: to check and count, with no room, and to fill the chunks in. Both passes take the
 * same decisions because they read the same bytes. */
struct walk {
    struct chunk *chunks;
    uint32_t room; /* of chunks; an attempt that will be taken back may count past it */
    uint32_t count;
    bool inferred;
};

/* Says of the chunk what is wrong with it; its offset, not that of a field of it, is what is reported. */
#define broken(r, chunk, code, fmt, ...)                                                                     \
    error_set((r)->err, code, (chunk)->offset, "chunk 0x%04X: " fmt, (chunk)->tag, ##__VA_ARGS__)

/* Reads tagword and length and proves that the payload fits. Only at the top level is the parent's end that
 * of the file, so that only there a chunk is cut off; deeper it contradicts a parent that is whole. */
static bool read_header(struct reader *r, struct chunk *chunk, unsigned depth)
{
    static const uint8_t widths[] = {1, 2, 4, 0};
    enum error_code past_end = depth == 0 ? ERROR_TRUNCATED : ERROR_RANGE;
    const char *whole = depth == 0 ? "file" : "container";

    *chunk = (struct chunk){.offset = (uint32_t)reader_offset(r)};
    if (reader_left(r) < 2)
        return error_set(r->err, past_end, chunk->offset, "the %s ends inside a tagword", whole);
    uint16_t tagword = reader_u16le(r, "tagword");
    uint8_t width = widths[tagword >> 14];
    chunk->tag = tagword & TAG_MASK;
    if (width == 0)
        return broken(r, chunk, ERROR_MALFORMED, "the length has no width (tagword 0x%04X)", tagword);
    if (reader_left(r) < width)
        return broken(r, chunk, past_end, "the %s ends inside the length", whole);
    chunk->size = width == 1   ? reader_u8(r, "length")
                  : width == 2 ? reader_u16le(r, "length")
                               : reader_u32le(r, "length");
    chunk->header = (uint8_t)(2 + width);
    if (chunk->size > reader_left(r))
        return broken(r, chunk, past_end, "%u bytes of payload where the %s has %zu left", chunk->size, whole,
                      reader_left(r));
    return true;
}

/* A length that leaves a remainder contradicts the layout as much as one that leaves its parent. */
static bool check_payload(const struct reader *payload, const struct chunk *chunk)
{
    struct reader r = *payload;
    unsigned stride = chunk_vertex_layout(chunk->tag).stride;
    if (stride && chunk->size % stride)
        return broken(&r, chunk, ERROR_MALFORMED, "%u bytes are no whole number of %u-byte vertices",
                      chunk->size, stride);
    if (chunk->tag == CHUNK_CONNECTION_LIST && chunk->size % 12)
        return broken(&r, chunk, ERROR_MALFORMED, "%u bytes are no whole number of triangles", chunk->size);
    if (chunk->tag != CHUNK_PCONN_LIST)
        return true;
    if (chunk->size == 0)
        return broken(&r, chunk, ERROR_MALFORMED, "a face list without its points per face");
    unsigned points = reader_u8(&r, "points per face");
    if (points < 3)
        return broken(&r, chunk, ERROR_MALFORMED, "%u points per face", points);
    if ((chunk->size - 1) % (4 * points))
        return broken(&r, chunk, ERROR_MALFORMED, "%u bytes are no whole number of faces of %u points",
                      chunk->size - 1, points);
    return true;
}

static bool walk_children(struct walk *walk, struct reader *r, unsigned depth, bool strict);

/* Tries the payload of an unknown structural tag as chunks. What it added is taken back when it does not
 * close; the payload is not read again then, so that nested attempts cost no more than one walk over the
 * bytes. */
static bool walk_inferred(struct walk *walk, const struct reader *payload, unsigned depth)
{
    if (payload->size == 0 || depth > CHUNK_DEPTH_MAX)
        return false;
    struct walk before = *walk;
    struct error ignored = {0};
    struct reader attempt = *payload;
    attempt.err = &ignored;
    if (walk_children(walk, &attempt, depth, true)) {
        walk->inferred = true;
        return true;
    }
    *walk = before;
    return false;
}

/* Takes the next chunk of `r` with all that is inside it. `strict`: inside an inferred container, where a tag
 * outside the namespaces is evidence against it. */
static bool walk_chunk(struct walk *walk, struct reader *r, unsigned depth, bool strict)
{
    struct chunk chunk;
    if (!read_header(r, &chunk, depth))
        return false;
    if (strict && !tag_has_namespace(chunk.tag))
        return broken(r, &chunk, ERROR_MALFORMED, "outside the namespaces");
    struct reader payload = reader_sub(r, chunk.size, "payload");
    if (!check_payload(&payload, &chunk))
        return false;

    uint32_t self = walk->count++;
    if (tag_is_container(chunk.tag)) {
        chunk.kind = CHUNK_CONTAINER;
        if (depth == CHUNK_DEPTH_MAX)
            return broken(r, &chunk, ERROR_LIMIT, "more than %d containers inside each other",
                          CHUNK_DEPTH_MAX);
        if (!walk_children(walk, &payload, depth + 1, strict))
            return false;
    } else if (tag_may_be_container(chunk.tag) && walk_inferred(walk, &payload, depth + 1)) {
        chunk.kind = CHUNK_INFERRED;
    }
    chunk.end = walk->count;
    if (self < walk->room)
        walk->chunks[self] = chunk;
    return true;
}

static bool walk_children(struct walk *walk, struct reader *r, unsigned depth, bool strict)
{
    while (reader_left(r) > 0)
        if (!walk_chunk(walk, r, depth, strict))
            return false;
    return true;
}

/* A tagword without consuming it; TAG_MASK + 1 where there is none. */
static unsigned peek_tag(const struct reader *r)
{
    struct reader ahead = *r;
    return reader_left(r) >= 2 ? reader_u16le(&ahead, "tagword") & TAG_MASK : TAG_MASK + 1;
}

/* The top level: HEADER first, BIZ_DONE last, nothing behind it. */
static bool walk_file(struct walk *walk, const struct input *in, struct error *err)
{
    struct reader r = reader_make(in->data, in->size, 0, NULL, err);
    reader_skip(&r, CHUNK_MAGIC_SIZE);
    if (reader_left(&r) >= 2 && peek_tag(&r) != CHUNK_HEADER)
        return error_set(err, ERROR_MALFORMED, reader_offset(&r), "the first chunk is 0x%04X, not a HEADER",
                         peek_tag(&r));
    bool done = false;
    while (reader_left(&r) > 0) {
        if (done)
            return error_set(err, ERROR_MALFORMED, reader_offset(&r), "%zu bytes behind BIZ_DONE",
                             reader_left(&r));
        done = peek_tag(&r) == CHUNK_BIZ_DONE;
        if (!walk_chunk(walk, &r, 0, false))
            return false;
    }
    if (!done)
        return error_set(err, ERROR_TRUNCATED, reader_offset(&r), "the file ends without BIZ_DONE");
    return true;
}

bool chunk_open(const struct input *in, struct arena *arena, struct chunk_file *file, struct error *err)
{
    *file = (struct chunk_file){.data = in->data};
    if (in->size > UINT32_MAX)
        return error_set(err, ERROR_LIMIT, ERROR_NO_OFFSET, "a chunk file of %zu bytes", in->size);
    struct walk count = {.room = 0};
    if (!walk_file(&count, in, err))
        return false;
    struct walk fill = {.room = count.count, .chunks = arena_array(arena, count.count, sizeof(struct chunk))};
    if (!fill.chunks)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory for %u chunks", count.count);
    if (!walk_file(&fill, in, err))
        return false;
    file->chunks = fill.chunks;
    file->count = fill.count;
    file->inferred = fill.inferred;
    return true;
}

/* ---- recognising --------------------------------------------------------------------------------------- */

static bool magic_is(const struct input *in, const char *magic)
{
    return in->size >= CHUNK_MAGIC_SIZE && memcmp(in->data, magic, CHUNK_MAGIC_SIZE) == 0;
}

/* The value of the HEADER's FILETYPE leaf, or -1. The page gives its values and not its width, so any integer
 * width is read. A HEADER that is cut off is read as far as it goes: the file is declined later, under the
 * right name. */
static int64_t header_filetype(const struct input *in)
{
    struct error err = {0};
    struct reader r = reader_make(in->data, in->size, 0, NULL, &err);
    reader_skip(&r, CHUNK_MAGIC_SIZE);
    struct chunk chunk;
    if (!read_header(&r, &chunk, 0)) {
        if (err.code != ERROR_TRUNCATED || chunk.header == 0)
            return -1;
        error_clear(&err);
        chunk.size = (uint32_t)(reader_left(&r) < UINT32_MAX ? reader_left(&r) : UINT32_MAX);
    }
    if (chunk.tag != CHUNK_HEADER)
        return -1;
    struct reader header = reader_sub(&r, chunk.size, "HEADER");
    int64_t found = -1;
    while (reader_left(&header) > 0 && read_header(&header, &chunk, 1)) {
        const uint8_t *bytes = reader_bytes(&header, chunk.size, "payload");
        if (!bytes || chunk.tag != CHUNK_FILETYPE || (chunk.size != 1 && chunk.size != 2 && chunk.size != 4))
            continue;
        found = chunk.size == 1 ? bytes[0] : chunk.size == 2 ? load_u16le(bytes) : load_u32le(bytes);
    }
    return found;
}

enum format_id chunk_format(const struct input *in)
{
    if (magic_is(in, "DIV-BMF2") || magic_is(in, "DIV-VMF2"))
        return FORMAT_BMF;
    if (magic_is(in, "DIV-VIZ2"))
        return FORMAT_BGF;
    if (!magic_is(in, "DIV-BIZ2"))
        return FORMAT_UNKNOWN;
    switch (header_filetype(in)) {
    case 0:
        return FORMAT_BGF;
    case 1:
        return FORMAT_BMF;
    default:
        return name_has_ending(in->name, ".bmf") ? FORMAT_BMF : FORMAT_BGF;
    }
}

/* ---- what both decoders begin with --------------------------------------------------------------------- */

static bool count_unknown_tags(const struct chunk_file *file, struct arena *arena, struct container *out)
{
    uint32_t counts[TAG_SLOTS] = {0}, distinct = 0;
    for (uint32_t i = 0; i < file->count; i++)
        if (!chunk_tag_is_known(file->chunks[i].tag))
            distinct += counts[TAG_SLOT(file->chunks[i].tag)]++ == 0;
    out->tag_counts = arena_array(arena, distinct, sizeof *out->tag_counts);
    if (!out->tag_counts)
        return false;
    for (uint32_t slot = 0; slot < TAG_SLOTS; slot++) {
        if (counts[slot] == 0)
            continue;
        struct tag_count *entry = &out->tag_counts[out->tag_count_count++];
        snprintf(entry->tag, sizeof entry->tag, "0x%04X", SLOT_TAG(slot));
        entry->count = counts[slot];
    }
    return true;
}

static void decline(struct container *out, enum container_status status, enum container_reason reason,
                    enum decline_reason why, const struct error *err)
{
    out->status = status;
    out->reason = reason;
    out->error = *err;
    resource_decline(&out->resources[0], why, err);
}

bool chunk_decode(const struct input *in, enum format_id format, struct arena *arena, struct chunk_file *file,
                  struct container *out, bool *closed)
{
    *closed = false;
    struct resource *resource = arena_alloc(arena, sizeof *resource);
    if (!resource)
        return false;
    resource->format = format;
    error_clear(&resource->error);
    out->format = format;
    out->resources = resource;
    out->resource_count = 1;

    struct error err = {0};
    error_clear(&err);
    if (magic_is(in, "DIV-VIZ2") || magic_is(in, "DIV-VMF2")) {
        error_set(&err, ERROR_UNSUPPORTED, 0, "the ASCII variant %.8s", (const char *)in->data);
        decline(out, CONTAINER_SKIPPED, CONTAINER_ASCII_VARIANT, DECLINE_ASCII_VARIANT, &err);
        return true;
    }
    if (chunk_open(in, arena, file, &err)) {
        *closed = true;
        if (file->inferred)
            out->flags |= FLAG_BIT(FLAG_INFERRED_CONTAINER);
        resource->flags = out->flags;
        resource->status = RESOURCE_DECODED;
        return count_unknown_tags(file, arena, out);
    }
    if (error_is_fatal(&err))
        return false;
    if (err.offset == ERROR_NO_OFFSET)
        decline(out, CONTAINER_SKIPPED, CONTAINER_OVER_LIMIT, DECLINE_OVER_LIMIT, &err);
    else
        decline(out, CONTAINER_DAMAGED,
                err.code == ERROR_TRUNCATED ? CONTAINER_TRUNCATED : CONTAINER_REASON_NONE,
                DECLINE_DOES_NOT_CLOSE, &err);
    return true;
}

/* ---- children and strings ------------------------------------------------------------------------------ */

const struct chunk *chunk_child(const struct chunk_file *file, const struct chunk *parent, uint16_t tag)
{
    const struct chunk *found = NULL;
    for (uint32_t i = (uint32_t)(parent - file->chunks) + 1; i < parent->end; i = file->chunks[i].end)
        if (file->chunks[i].tag == tag)
            found = &file->chunks[i];
    return found;
}

/* Length of the text that is the whole of `bytes` but for NULs at its end; 0 when it is anything else. */
static size_t printable_length(const uint8_t *bytes, size_t size)
{
    size_t length = 0;
    while (length < size && bytes[length] >= 0x20 && bytes[length] < 0x7F)
        length++;
    if (length == size)
        return 0;
    for (size_t i = length; i < size; i++)
        if (bytes[i] != 0)
            return 0;
    return length;
}

static bool copy_text(struct arena *arena, const uint8_t *bytes, size_t length, const char **text)
{
    *text = length ? arena_copy(arena, bytes, length) : NULL;
    return *text || !length;
}

bool chunk_text(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                const char **text)
{
    if (!chunk)
        return copy_text(arena, NULL, 0, text);
    const uint8_t *bytes = chunk_payload(file, chunk);
    return copy_text(arena, bytes, strnlen((const char *)bytes, chunk->size), text);
}

bool chunk_reference(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                     const char **text)
{
    if (!chunk || chunk->size < 2)
        return copy_text(arena, NULL, 0, text);
    const uint8_t *bytes = chunk_payload(file, chunk);
    const uint8_t *name = bytes + 1;
    size_t size = chunk->size - 1;
    size_t length = bytes[0] == 1 ? strnlen((const char *)name, size) : printable_length(name, size);
    return copy_text(arena, name, length, text);
}

/* Where such a string begins in the payload and how long it is; 0 when there is none. */
static size_t find_printable(const struct chunk_file *file, const struct chunk *chunk, const uint8_t **start)
{
    const uint8_t *bytes = chunk_payload(file, chunk);
    size_t lead = chunk->size > 0 && bytes[0] == 1;
    *start = bytes + lead;
    size_t length = printable_length(*start, chunk->size - lead);
    return length >= 2 ? length : 0;
}

bool chunk_is_printable(const struct chunk_file *file, const struct chunk *chunk)
{
    const uint8_t *start;
    return find_printable(file, chunk, &start) > 0;
}

bool chunk_printable(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                     const char **text)
{
    const uint8_t *start;
    size_t length = find_printable(file, chunk, &start);
    return copy_text(arena, start, length, text);
}
