/* codec.h - lossless compression of a canonical mesh serialisation (formats/mesh.h).
 *
 * An encoded geometry is { u8 codec; u8 version; u16 0; u32 0; u64 raw_size; payload }, little-endian; the
 * payloads are described in store/README.md. Which codec writes is decided by the figures in bench/README.md;
 * all of them are read. Any thread: zstd's contexts and the scratch memory belong to the calling thread and
 * go with it.
 */
#ifndef ANCHORAGE_CODEC_H
#define ANCHORAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/buffer.h"
#include "formats/error.h"

/* Numbers are written into stores: append, never renumber. */
enum codec {
    CODEC_RAW = 0,
    CODEC_ZSTD = 1,
    CODEC_MESHOPT_ZSTD = 2, /* meshoptimizer's vertex codec and index sequence codec, then zstd */
    CODEC_PLANES_ZSTD = 3,  /* differences between neighbours, cut into byte planes, then zstd */
    CODEC_PACKED = 4,       /* the same differences, word by word without their zero bytes */
    CODEC_COUNT
};
#define CODEC_DEFAULT CODEC_PLANES_ZSTD /* settled by `anchorage bench store`: bench/README.md */
#define CODEC_LEVEL   (-1)              /* of zstd, likewise */
/* Below this many canonical bytes CODEC_PLANES_ZSTD gives way to CODEC_PACKED: zstd's fixed cost a call is
 * more than everything else that is done with a small model. */
#define CODEC_SMALL 4096

const char *codec_word(enum codec codec);

/* Appends the encoded form of canonical[0..size) to `out`; bytes that are no canonical serialisation are kept
 * as well. The same bytes give the same encoding. False when memory runs out (buffer.failed is set). */
bool codec_encode(enum codec codec, const uint8_t *canonical, size_t size, struct buffer *out);
/* The same at another level of zstd, for measuring. Every level decodes alike. */
bool codec_encode_level(enum codec codec, int level, const uint8_t *canonical, size_t size,
                        struct buffer *out);

/* Appends the canonical bytes to `out`. False with *err set for bytes that are no encoding (the size is
 * bounded by what the payload can expand to before anything is allocated; `out` is then as it was) or
 * ERROR_NOMEM. */
bool codec_decode(const uint8_t *encoded, size_t size, struct buffer *out, struct error *err);

/* The canonical size an encoding announces; false when it is no encoding. */
bool codec_raw_size(const uint8_t *encoded, size_t size, uint64_t *raw_size);

#endif
