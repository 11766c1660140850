/* reference.h - the earlier decoders' way of finding geometry, as the research log tells it, to compare with.
 *
 * One scan of the whole data section for each vertex stride gives the places where a run of unit normals
 * starts: unit here, not in the previous slot of that stride. Each resource walks the places of its stride in
 * file order and takes the first whose block validates. Several markers share grouped pools and hang on the
 * first vertex buffer. Textures are not looked at, nor what other resources took; resources whose normals are
 * not f16 are passed over.
 *
 * Where the log is silent the choice here favours the method: the one padding that alignment leaves is tried
 * instead of all four; a group that does not validate is declined instead of giving its first part alone; the
 * scan looks the squares of its words up in a table. By the letter of the log each normal of a mesh of
 * another stride starts a run too, and most of the time goes into walking those. REFERENCE_FAVOURED asks for
 * two slots of a run instead, which no right place fails. Source: the log behind formats/xbg7.md.
 */
#ifndef ANCHORAGE_REFERENCE_H
#define ANCHORAGE_REFERENCE_H

#include "formats/format.h"

enum reference_rule {
    REFERENCE_LITERAL,  /* a start is unit, and the slot before it is not */
    REFERENCE_FAVOURED, /* and the slot behind it is */
};

/* Places in file order, in bytes from the start of the data section, of the normals that begin a run. */
struct reference_starts {
    uint32_t *list;
    size_t count;
};

/* What the method says of one resource. */
struct reference_answer {
    bool found;
    struct buffer_place *buffers; /* [marker_count], offsets from the container's start; NULL unless found */
};

/* The scan for one stride in bytes, a multiple of 4 above 0, over data[0..size), at most 4 GiB. starts->list
 * is malloc'ed. False when memory runs out. Any thread. */
bool reference_scan(const uint8_t *data, size_t size, uint32_t stride, enum reference_rule rule,
                    struct reference_starts *starts);

/* The whole method over resources whose descriptors have been read. data[0..size) is the data section,
 * `offset` is where it begins in the container. answers[count] is filled, its buffers are in `arena`. False
 * when memory runs out. Any thread. */
bool reference_locate(const uint8_t *data, size_t size, uint64_t offset, const struct resource *resources,
                      size_t count, enum reference_rule rule, struct arena *arena,
                      struct reference_answer *answers);

#endif
