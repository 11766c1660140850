/* parcel.h - items as they lie in a slot, one behind the other, on their way from one process to another.
 *
 * Whoever unpacks trusts nothing: the other process has read hostile archives. Thread safety: as the
 * arguments.
 */
#ifndef ANCHORAGE_PARCEL_H
#define ANCHORAGE_PARCEL_H

#include "formats/arena.h"
#include "pipeline/shard.h"

/* An item with what the extraction knows beyond it. */
struct parcel {
    struct extracted item;
    uint32_t version;       /* of a plain file: source_record.version */
    uint64_t members;       /* of EXTRACT_ARCHIVE: items that came out of it */
    struct shard_deal deal; /* of an item that is in_parts */
};

/* The bytes a parcel takes, a multiple of 16. */
size_t parcel_size(const struct parcel *parcel);
/* Writes them to `at`, which is aligned to 16. */
void parcel_pack(const struct parcel *parcel, uint8_t *at);
/* Reads the parcel that begins at `at`, with `left` bytes to the end of the slot. What it points to lies in
 * the slot, only its census in the arena; nothing of it may be freed. The parcel's size; 0 when it is none,
 * or memory runs out. */
size_t parcel_unpack(const uint8_t *at, size_t left, struct arena *arena, struct parcel *parcel);

#endif
