/* codec.c - see codec.h; the payloads are in store/README.md, "Encoded geometry". */
#include "store/codec.h"

#include <meshoptimizer.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "formats/mesh.h"
#include "formats/reader.h"
#include "store/codec_packed.h"
#include "store/codec_planes.h"

#define CODEC_HEADER  16
#define CODEC_VERSION 1
/* The most that each step can expand. A zstd block of 4 bytes gives 128 KiB of one repeated byte;
 * meshoptimizer spends at least 2 bits on 16 bytes of a vertex block and 1 byte on an index. */
#define ZSTD_MOST    UINT64_C(32768)
#define MESHOPT_MOST UINT64_C(64)
/* A code of 4 bits for a word of zero. */
#define PACKED_MOST UINT64_C(8)
/* Scratch memory a thread keeps for its next call; larger pieces are given back. */
#define SCRATCH_KEEP ((size_t)8 << 20)

const char *codec_word(enum codec codec)
{
    static const char *const words[CODEC_COUNT] = {"raw", "zstd", "meshopt+zstd", "planes+zstd", "packed"};
    return (unsigned)codec < CODEC_COUNT ? words[codec] : "unknown";
}

/* ---- what a thread keeps: making a zstd context costs more than compressing a small model ---- */

struct scratch {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct buffer bytes;
};

static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static pthread_key_t scratch_key;
static bool scratch_usable;

static void scratch_free(void *kept)
{
    struct scratch *scratch = kept;
    ZSTD_freeCCtx(scratch->compress);
    ZSTD_freeDCtx(scratch->decompress);
    buffer_free(&scratch->bytes);
    free(scratch);
}

static void scratch_prepare(void)
{
    scratch_usable = pthread_key_create(&scratch_key, scratch_free) == 0;
}

/* The calling thread's scratch with its bytes cleared, NULL when memory runs out. */
static struct scratch *scratch_get(void)
{
    pthread_once(&scratch_once, scratch_prepare);
    if (!scratch_usable)
        return NULL;
    struct scratch *scratch = pthread_getspecific(scratch_key);
    if (!scratch) {
        scratch = calloc(1, sizeof *scratch);
        if (!scratch)
            return NULL;
        scratch->compress = ZSTD_createCCtx();
        scratch->decompress = ZSTD_createDCtx();
        if (!scratch->compress || !scratch->decompress || pthread_setspecific(scratch_key, scratch) != 0) {
            scratch_free(scratch);
            return NULL;
        }
    }
    buffer_clear(&scratch->bytes);
    return scratch;
}

static void scratch_done(struct scratch *scratch)
{
    if (scratch->bytes.room > SCRATCH_KEEP)
        buffer_free(&scratch->bytes);
}

/* ---- the arrays of a canonical serialisation ---- */

struct array {
    size_t offset, count;
    unsigned words; /* of 32 bits in an entry; 3 for corners */
    bool corners;
};

struct layout {
    size_t head; /* bytes before the first array: header and tables */
    size_t size; /* of the whole */
    unsigned count;
    struct array arrays[2 * MESH_STREAMS_MAX];
};

static bool layout_add(struct layout *layout, uint64_t count, unsigned words, bool corners)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, (uint64_t)words * 4, &bytes) || bytes > SIZE_MAX - layout->size)
        return false;
    layout->arrays[layout->count++] =
        (struct array){.offset = layout->size, .count = (size_t)count, .words = words, .corners = corners};
    layout->size += (size_t)bytes;
    return true;
}

/* Bytes of header and tables, by the counts in the header. */
static uint64_t layout_head(const uint8_t *header)
{
    return MESH_CANONICAL_HEADER + (uint64_t)load_u32le(header + 16) * MESH_CANONICAL_STREAM +
           (uint64_t)load_u32le(header + 20) * MESH_CANONICAL_PART +
           (uint64_t)load_u32le(header + 24) * MESH_CANONICAL_BONE;
}

/* Finds the arrays from the header and tables, of which bytes[0..size) need hold no more. False when they are
 * not those of a canonical serialisation. */
static bool layout_read(const uint8_t *bytes, size_t size, struct layout *layout)
{
    *layout = (struct layout){0};
    if (size < MESH_CANONICAL_HEADER || memcmp(bytes, "AMSH", 4) != 0 ||
        load_u32le(bytes + 4) != MESH_CANONICAL_VERSION)
        return false;
    uint32_t triangles = load_u32le(bytes + 12);
    uint32_t streams = load_u32le(bytes + 16);
    uint64_t head = layout_head(bytes);
    if (streams < 1 || streams > MESH_STREAMS_MAX || head > size)
        return false;
    layout->head = layout->size = (size_t)head;
    if (!layout_add(layout, triangles, 3, true))
        return false;
    const uint8_t *stream = bytes + MESH_CANONICAL_HEADER;
    for (uint32_t i = 0; i < streams; i++, stream += MESH_CANONICAL_STREAM) {
        if (stream[2] < 1 || stream[2] > 4 || !layout_add(layout, load_u32le(stream + 4), stream[2], false))
            return false;
        if (i > 0 && stream[3] && !layout_add(layout, triangles, 3, true))
            return false;
    }
    return true;
}

/* ---- zstd ---- */

/* Appends one frame that holds `bytes`. */
static bool zstd_append(struct scratch *scratch, int level, const uint8_t *bytes, size_t size,
                        struct buffer *out)
{
    size_t before = out->size, bound = ZSTD_compressBound(size);
    uint8_t *room = buffer_extend(out, bound);
    if (!room)
        return false;
    size_t used = ZSTD_compressCCtx(scratch->compress, room, bound, bytes, size, level);
    if (ZSTD_isError(used)) {
        out->size = before;
        out->failed = true;
        return false;
    }
    out->size = before + used;
    return true;
}

static bool nomem(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* Appends the content of the one frame that `bytes` are. `least` and `most` bound the content's size. */
static bool zstd_expand(struct scratch *scratch, const uint8_t *bytes, size_t size, uint64_t least,
                        uint64_t most, struct buffer *out, struct error *err)
{
    unsigned long long content = ZSTD_getFrameContentSize(bytes, size);
    if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN)
        return error_set(err, ERROR_MALFORMED, CODEC_HEADER,
                         "encoded geometry: not a zstd frame with its size");
    if (content < least || content > most || content / ZSTD_MOST > size)
        return error_set(err, ERROR_RANGE, CODEC_HEADER,
                         "encoded geometry: a frame of %zu bytes announces %llu", size, content);
    size_t before = out->size;
    uint8_t *room = buffer_extend(out, (size_t)content);
    if (!room)
        return nomem(err);
    size_t got = ZSTD_decompressDCtx(scratch->decompress, room, (size_t)content, bytes, size);
    if (ZSTD_isError(got) || got != content) {
        out->size = before;
        return error_set(err, ERROR_MALFORMED, CODEC_HEADER, "encoded geometry: zstd: %s",
                         ZSTD_isError(got) ? ZSTD_getErrorName(got) : "fewer bytes than announced");
    }
    return true;
}

/* ---- byte planes ---- */

static void planes_apply(const struct layout *layout, const uint8_t *in, uint8_t *out,
                         void (*turn)(const uint8_t *in, size_t count, size_t stride, uint8_t *out))
{
    memcpy(out, in, layout->head);
    for (unsigned i = 0; i < layout->count; i++) {
        const struct array *array = &layout->arrays[i];
        turn(in + array->offset, array->count, array->words, out + array->offset);
    }
}

static bool planes_encode(struct scratch *scratch, int level, const struct layout *layout,
                          const uint8_t *canonical, struct buffer *out)
{
    uint8_t *planes = buffer_extend(&scratch->bytes, layout->size);
    if (!planes) {
        out->failed = true;
        return false;
    }
    planes_apply(layout, canonical, planes, planes_split);
    return zstd_append(scratch, level, planes, layout->size, out);
}

static bool planes_decode(struct scratch *scratch, const uint8_t *payload, size_t size, size_t raw_size,
                          struct buffer *out, struct error *err)
{
    struct layout layout;
    if (!zstd_expand(scratch, payload, size, raw_size, raw_size, &scratch->bytes, err))
        return false;
    if (!layout_read(scratch->bytes.data, scratch->bytes.size, &layout) || layout.size != raw_size)
        return error_set(err, ERROR_MALFORMED, 0,
                         "encoded geometry: planes of something that is no geometry");
    uint8_t *room = buffer_extend(out, raw_size);
    if (!room)
        return nomem(err);
    planes_apply(&layout, scratch->bytes.data, room, planes_join);
    return true;
}

/* ---- packed words: the head is one entry, then come the arrays ---- */

static bool packed_encode(const struct layout *layout, const uint8_t *canonical, struct buffer *out)
{
    size_t before = out->size, words = layout->size / 4;
    uint8_t *room = buffer_extend(out, packed_bound(words));
    if (!room)
        return false;
    struct packer packer = packer_make(room, words);
    packer_add(&packer, canonical, 1, layout->head / 4);
    for (unsigned i = 0; i < layout->count; i++)
        packer_add(&packer, canonical + layout->arrays[i].offset, layout->arrays[i].count,
                   layout->arrays[i].words);
    out->size = before + (size_t)(packer.out - room);
    return true;
}

/* The head's fixed part is read first: it says how long the tables behind it are. */
static bool packed_read(const uint8_t *payload, size_t size, uint8_t *room, size_t raw_size)
{
    struct unpacker unpacker;
    struct layout layout;
    size_t fixed = MESH_CANONICAL_HEADER;
    if (raw_size % 4 || raw_size < fixed || !unpacker_make(&unpacker, payload, size, raw_size / 4) ||
        !unpacker_take(&unpacker, room, 1, fixed / 4))
        return false;
    uint64_t head = layout_head(room);
    if (head > raw_size || !unpacker_take(&unpacker, room + fixed, 1, ((size_t)head - fixed) / 4) ||
        !layout_read(room, raw_size, &layout) || layout.size != raw_size)
        return false;
    for (unsigned i = 0; i < layout.count; i++) {
        const struct array *array = &layout.arrays[i];
        if (!unpacker_take(&unpacker, room + array->offset, array->count, array->words))
            return false;
    }
    return unpacker.in == unpacker.end;
}

static bool packed_decode(const uint8_t *payload, size_t size, size_t raw_size, struct buffer *out,
                          struct error *err)
{
    size_t before = out->size;
    uint8_t *room = buffer_extend(out, raw_size);
    if (!room)
        return nomem(err);
    if (packed_read(payload, size, room, raw_size))
        return true;
    out->size = before;
    return error_set(err, ERROR_MALFORMED, CODEC_HEADER,
                     "encoded geometry: %zu bytes are no packing of a geometry of %zu", size, raw_size);
}

/* ---- meshoptimizer: the head, then of each array u32 length and its code ---- */

static void length_write(uint8_t *out, size_t length)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(length >> (8 * i));
}

/* The sequence code doubles a difference twice within 32 bits, so from 2^30 on it would lose the upper ones.
 */
static bool meshopt_fits(const struct layout *layout, const uint8_t *canonical)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < layout->count; i++) {
        const struct array *array = &layout->arrays[i];
        for (size_t k = 0; array->corners && k < array->count * 3; k++)
            all |= load_u32le(canonical + array->offset + k * 4);
    }
    return all < UINT32_C(1) << 30;
}

/* meshoptimizer's sequence code keeps the order of triangles and corners, which its triangle code does not.
 */
static size_t meshopt_encode_array(const struct array *array, const void *words, uint8_t *out, size_t room)
{
    if (array->corners)
        return meshopt_encodeIndexSequence(out, room, words, array->count * 3);
    return meshopt_encodeVertexBuffer(out, room, words, array->count, array->words * 4);
}

/* Appends every array's code to scratch->bytes. False when memory runs out; *fits becomes false when an array
 * is past what a length field holds. */
static bool meshopt_append(struct scratch *scratch, const struct layout *layout, const uint8_t *canonical,
                           bool *fits)
{
    buffer_append(&scratch->bytes, canonical, layout->head);
    for (unsigned i = 0; i < layout->count && !scratch->bytes.failed; i++) {
        const struct array *array = &layout->arrays[i];
        size_t bound = array->corners ? meshopt_encodeIndexSequenceBound(array->count * 3, UINT32_MAX)
                                      : meshopt_encodeVertexBufferBound(array->count, array->words * 4);
        if (bound > UINT32_MAX) {
            *fits = false;
            return true;
        }
        uint8_t *room = buffer_extend(&scratch->bytes, 4 + bound);
        if (!room)
            break;
        size_t used =
            array->count ? meshopt_encode_array(array, canonical + array->offset, room + 4, bound) : 0;
        length_write(room, used);
        scratch->bytes.size -= bound - used;
    }
    return !scratch->bytes.failed;
}

static bool meshopt_encode(struct scratch *scratch, int level, const struct layout *layout,
                           const uint8_t *canonical, struct buffer *out, bool *fits)
{
    *fits = meshopt_fits(layout, canonical);
    if (!*fits)
        return true;
    if (!meshopt_append(scratch, layout, canonical, fits)) {
        out->failed = true;
        return false;
    }
    return !*fits || zstd_append(scratch, level, scratch->bytes.data, scratch->bytes.size, out);
}

/* meshoptimizer's decoders are made for untrusted bytes: what they give may be wrong, never out of bounds. */
static bool meshopt_decode_array(const struct array *array, struct reader *r, uint8_t *out)
{
    size_t size = reader_u32le(r, "length of an array");
    const uint8_t *code = reader_bytes(r, size, "array");
    if (!code || array->count == 0)
        return code && size == 0;
    if (array->corners)
        return meshopt_decodeIndexSequence(out, array->count * 3, 4, code, size) == 0;
    return meshopt_decodeVertexBuffer(out, array->count, array->words * 4, code, size) == 0;
}

static bool meshopt_decode(struct scratch *scratch, const uint8_t *payload, size_t size, size_t raw_size,
                           struct buffer *out, struct error *err)
{
    uint64_t most = (uint64_t)raw_size * 2 + 4096; /* codes of incompressible arrays are a little larger */
    struct layout layout;
    if (!zstd_expand(scratch, payload, size, raw_size / MESHOPT_MOST, most, &scratch->bytes, err))
        return false;
    const struct buffer *code = &scratch->bytes;
    if (!layout_read(code->data, code->size, &layout) || layout.size != raw_size)
        return error_set(err, ERROR_MALFORMED, 0, "encoded geometry: codes of something that is no geometry");
    size_t before = out->size;
    uint8_t *room = buffer_extend(out, raw_size);
    if (!room)
        return nomem(err);
    memcpy(room, code->data, layout.head);
    struct reader r = reader_make(code->data, code->size, 0, "encoded geometry", err);
    reader_skip(&r, layout.head);
    for (unsigned i = 0; i < layout.count; i++) {
        if (!meshopt_decode_array(&layout.arrays[i], &r, room + layout.arrays[i].offset)) {
            out->size = before;
            return reader_fail(&r, ERROR_MALFORMED, "array %u is no code of meshoptimizer", i);
        }
    }
    if (reader_left(&r)) {
        out->size = before;
        return reader_fail(&r, ERROR_MALFORMED, "%zu bytes behind the last array", reader_left(&r));
    }
    return true;
}

/* ---- any codec ---- */

static void header_write(uint8_t *out, enum codec codec, uint64_t raw_size)
{
    memset(out, 0, CODEC_HEADER);
    out[0] = (uint8_t)codec;
    out[1] = CODEC_VERSION;
    length_write(out + 8, raw_size & UINT32_MAX);
    length_write(out + 12, (size_t)(raw_size >> 32));
}

/* Appends the payload; `codec` becomes the one that wrote it: what is no canonical serialisation has no
 * arrays to treat, and is left to zstd alone. */
static bool payload_encode(enum codec *codec, int level, const uint8_t *canonical, size_t size,
                           struct buffer *out)
{
    struct scratch *scratch = scratch_get();
    struct layout layout;
    bool done = false, fits = layout_read(canonical, size, &layout) && layout.size == size;
    if (!scratch) {
        out->failed = true;
        return false;
    }
    if (*codec == CODEC_PLANES_ZSTD && size < CODEC_SMALL)
        *codec = CODEC_PACKED;
    if (*codec == CODEC_PLANES_ZSTD && fits)
        done = planes_encode(scratch, level, &layout, canonical, out);
    else if (*codec == CODEC_PACKED && fits)
        done = packed_encode(&layout, canonical, out);
    else if (*codec == CODEC_MESHOPT_ZSTD && fits)
        done = meshopt_encode(scratch, level, &layout, canonical, out, &fits);
    if (*codec == CODEC_ZSTD || (!fits && !out->failed)) {
        *codec = CODEC_ZSTD;
        done = zstd_append(scratch, level, canonical, size, out);
    }
    scratch_done(scratch);
    return done;
}

bool codec_encode_level(enum codec codec, int level, const uint8_t *canonical, size_t size,
                        struct buffer *out)
{
    size_t start = out->size;
    if (!buffer_extend(out, CODEC_HEADER))
        return false;
    if (codec != CODEC_RAW && !payload_encode(&codec, level, canonical, size, out))
        return false;
    /* What does not shrink is kept as it is: reading it costs nothing then. */
    if (codec == CODEC_RAW || out->size - start - CODEC_HEADER >= size) {
        codec = CODEC_RAW;
        out->size = start + CODEC_HEADER;
        buffer_append(out, canonical, size);
        if (out->failed)
            return false;
    }
    header_write(out->data + start, codec, size);
    return true;
}

bool codec_encode(enum codec codec, const uint8_t *canonical, size_t size, struct buffer *out)
{
    return codec_encode_level(codec, CODEC_LEVEL, canonical, size, out);
}

bool codec_raw_size(const uint8_t *encoded, size_t size, uint64_t *raw_size)
{
    static const uint8_t zero[6];
    if (size < CODEC_HEADER || encoded[0] >= CODEC_COUNT || encoded[1] != CODEC_VERSION ||
        memcmp(encoded + 2, zero, sizeof zero) != 0)
        return false;
    *raw_size = load_u32le(encoded + 8) | (uint64_t)load_u32le(encoded + 12) << 32;
    return true;
}

static bool payload_decode(enum codec codec, const uint8_t *payload, size_t size, size_t raw_size,
                           struct buffer *out, struct error *err)
{
    struct scratch *scratch = scratch_get();
    bool done = false;
    if (!scratch)
        return nomem(err);
    if (codec == CODEC_ZSTD)
        done = zstd_expand(scratch, payload, size, raw_size, raw_size, out, err);
    else if (codec == CODEC_PACKED)
        done = packed_decode(payload, size, raw_size, out, err);
    else if (codec == CODEC_MESHOPT_ZSTD)
        done = meshopt_decode(scratch, payload, size, raw_size, out, err);
    else
        done = planes_decode(scratch, payload, size, raw_size, out, err);
    scratch_done(scratch);
    return done;
}

bool codec_decode(const uint8_t *encoded, size_t size, struct buffer *out, struct error *err)
{
    uint64_t raw_size;
    if (!codec_raw_size(encoded, size, &raw_size))
        return error_set(err, ERROR_MALFORMED, 0, "encoded geometry: no header this program knows");
    const uint8_t *payload = encoded + CODEC_HEADER;
    size -= CODEC_HEADER;
    enum codec codec = encoded[0];
    static const uint64_t mosts[CODEC_COUNT] = {
        [CODEC_RAW] = 1,
        [CODEC_ZSTD] = ZSTD_MOST,
        [CODEC_MESHOPT_ZSTD] = ZSTD_MOST * MESHOPT_MOST,
        [CODEC_PLANES_ZSTD] = ZSTD_MOST,
        [CODEC_PACKED] = PACKED_MOST,
    };
    uint64_t most = mosts[codec];
    if (raw_size / most > size || raw_size > SIZE_MAX || (codec == CODEC_RAW && raw_size != size))
        return error_set(err, ERROR_RANGE, 8, "encoded geometry: %zu bytes cannot hold %llu", size,
                         (unsigned long long)raw_size);
    if (codec != CODEC_RAW)
        return payload_decode(codec, payload, size, (size_t)raw_size, out, err);
    buffer_append(out, payload, size);
    return out->failed ? nomem(err) : true;
}
