/* chunk.h - the chunk tree that BGF models and BMF material libraries are written in (formats/bgf.md).
 *
 * chunk_open checks a whole file and lays its tree out as one array in file order, so that decoders walk
 * memory instead of bytes and meet only chunks that close. Each of its two passes reads a byte at most once;
 * the first counts, so that nothing is allocated for a file that does not close. Pure; thread safety: as the
 * arguments.
 */
#ifndef ANCHORAGE_CHUNK_H
#define ANCHORAGE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

/* Tags whose number is known. Structure is 0x00xx, attributes are 0x20xx. */
enum chunk_tag {
    CHUNK_HEADER = 0x0003,
    CHUNK_BIZ_DONE = 0x0005,
    CHUNK_OBJECT = 0x0040,
    CHUNK_LOD = 0x0041,
    CHUNK_PATCH = 0x0042,
    CHUNK_PMESH = 0x0046,
    CHUNK_CONNECTION_LIST = 0x0047,
    CHUNK_SPHERE_LIST = 0x0048,
    CHUNK_SPHERE = 0x0049,
    CHUNK_PCONN_LIST = 0x004D,
    CHUNK_BOUND = 0x0070,
    CHUNK_BBOX = 0x0071,
    CHUNK_BSPHERE = 0x0072,
    CHUNK_XYZ = 0x0080,
    CHUNK_XYZ_N = 0x0081,
    CHUNK_XYZ_RGBA = 0x0082,
    CHUNK_XYZ_UV = 0x0088,
    CHUNK_XYZ_N_UV = 0x0089,
    CHUNK_XYZ_RGBA_UV = 0x008A,
    CHUNK_VERSION = 0x2002,
    CHUNK_DATE = 0x2003,
    CHUNK_TIME = 0x2004,
    CHUNK_SCALE = 0x2005,
    CHUNK_FILETYPE = 0x2007,
    CHUNK_NAME = 0x2008,
    CHUNK_UNIT = 0x2009,
    CHUNK_SV_F_MATERIAL = 0x2030,
    CHUNK_SV_B_MATERIAL = 0x2031,
    CHUNK_SV_DECAL = 0x2034,
    CHUNK_SV_FACETED = 0x2035,
    CHUNK_SV_VERTEX = 0x2036,
    CHUNK_SV_SPECIAL = 0x2037,
    CHUNK_LOD_DISTANCE = 0x2046,
    CHUNK_LOD_TRANSITION = 0x2048,
};

/* Bytes of the magic, after which the chunks begin. */
#define CHUNK_MAGIC_SIZE 8
/* Containers inside containers; the children of the 64th may be leaves only. */
#define CHUNK_DEPTH_MAX 64

enum chunk_kind {
    CHUNK_LEAF,
    CHUNK_CONTAINER,
    CHUNK_INFERRED, /* an unknown structural tag whose payload closes as chunks */
};

/* A chunk of a file that closes. */
struct chunk {
    uint32_t offset; /* of its tagword, from the start of the file */
    uint32_t size;   /* of its payload in bytes */
    uint32_t end;    /* index of the first chunk that is not inside it; its own index + 1 for a leaf */
    uint16_t tag;
    uint8_t header; /* bytes of tagword and length: 3, 4 or 6 */
    uint8_t kind;   /* enum chunk_kind */
};

struct chunk_file {
    const uint8_t *data; /* the whole file; the caller's */
    uint32_t count;
    struct chunk *chunks; /* in file order: a container stands directly before its children */
    bool inferred;        /* at least one is CHUNK_INFERRED */
};

/* What a vertex block's tag says of its vertices, in bytes and in floats from the start of a vertex; a
 * component that is absent has offset 0. `stride` 0: the tag is no vertex block. */
struct chunk_vertex {
    uint8_t stride;
    uint8_t normal, color, uv;
};
struct chunk_vertex chunk_vertex_layout(uint16_t tag);

/* Which of the two formats the file is: FORMAT_BGF, FORMAT_BMF, or FORMAT_UNKNOWN without one of the four
 * magics. A `DIV-BIZ2` file is what the FILETYPE in its HEADER says; where that is absent or another value, a
 * name ending in ".bmf" decides, and without one it is geometry. Reads no further than the HEADER. */
enum format_id chunk_format(const struct input *in);

/* Checks and lays out the file; its chunks go into the arena. False with *err set: ERROR_NOMEM, ERROR_LIMIT
 * without an offset for a file of 4 GiB or more, or what the first broken chunk is and where its tagword
 * stands. ERROR_TRUNCATED means that this chunk passes the end of the file. */
bool chunk_open(const struct input *in, struct arena *arena, struct chunk_file *file, struct error *err);

/* What both decoders begin with: makes `out` a container of one resource of the given format, opens the file,
 * counts its unknown tags. *closed tells whether the chunks can be walked; where they cannot, container and
 * resource say why. False only when memory runs out. */
bool chunk_decode(const struct input *in, enum format_id format, struct arena *arena, struct chunk_file *file,
                  struct container *out, bool *closed);

/* A chunk's payload, `size` bytes in place. */
static inline const uint8_t *chunk_payload(const struct chunk_file *file, const struct chunk *chunk)
{
    return file->data + chunk->offset + chunk->header;
}

/* Whether the page names this tag. */
bool chunk_tag_is_known(uint16_t tag);

/* The last direct child of `parent` with that tag, NULL when there is none: a repeated attribute replaces the
 * earlier one. */
const struct chunk *chunk_child(const struct chunk_file *file, const struct chunk *parent, uint16_t tag);

/* Strings, copied into the arena. Each goes to *text, NULL where the chunk holds none; an empty string is
 * none. False only when memory runs out. */

/* The payload up to its first NUL, or whole without one: the chunk's length bounds it as well. `chunk` may be
 * NULL and then holds none. */
bool chunk_text(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                const char **text);
/* A material reference, `u8 mattype` and such a string. What follows another mattype than 1 (named) is not
 * described, so there it is taken only when it is printable text with its NUL. `chunk` may be NULL. */
bool chunk_reference(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                     const char **text);
/* Of a leaf that nothing is known about, what is beyond doubt a string: at least two printable ASCII
 * characters, then NULs to the end; a byte 1 may stand before it, as before a material's name. */
bool chunk_printable(const struct chunk_file *file, const struct chunk *chunk, struct arena *arena,
                     const char **text);
/* Whether chunk_printable would find one. */
bool chunk_is_printable(const struct chunk_file *file, const struct chunk *chunk);

#endif
