/* xpr2_build.h - writes small XPR2 containers and XBG7 descriptors for tests, sound or broken in one place.
 */
#ifndef ANCHORAGE_TESTS_XPR2_BUILD_H
#define ANCHORAGE_TESTS_XPR2_BUILD_H

#include "formats/buffer.h"
#include "formats/format.h"

#define XPR2_BUILD_ENTRIES 512

struct xpr2_build {
    uint32_t count;
    struct xpr2_build_entry {
        char tag[5];
        const char *name;
        const uint8_t *descriptor; /* caller's */
        uint32_t size;
    } entries[XPR2_BUILD_ENTRIES];
    const uint8_t *data; /* the data section; caller's */
    uint32_t data_size;
    bool legacy; /* offsets count from 0x10, data from header_size */
};

void xpr2_build_add(struct xpr2_build *build, const char *tag, const char *name,
                    const struct buffer *descriptor);
/* The container: directory, names each behind a NUL, descriptors 4-aligned, data section. */
struct buffer xpr2_build_finish(const struct xpr2_build *build);

void be32(struct buffer *out, uint32_t value);
void be16(struct buffer *out, uint16_t value);
void bef32(struct buffer *out, float value);
void be32_at(struct buffer *out, size_t offset, uint32_t value);

/* Appends a marker: fetch words, vertex count, unknown words, counts, `elements` triples {offset, format,
 * usage} and the end mark. Returns the offset of its marker word. */
size_t xbg7_build_marker(struct buffer *descriptor, uint32_t vertex_count, uint32_t index_count,
                         size_t elements, const uint32_t (*triples)[3]);
void xbg7_build_record(struct buffer *descriptor, uint32_t vertex_count, uint32_t index_count);

/* Decodes with format_xpr2 as the program does. The result lives in `arena`. */
struct container xpr2_build_decode(const struct buffer *bytes, struct arena *arena);

#endif
