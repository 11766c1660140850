/* decode.h - the decode stage: the bytes of one container to the records and geometries a store keeps.
 *
 * Pure apart from memory: the same bytes and name give the same result on any thread. Committing is somebody
 * else's (pipeline/ingest.c).
 */
#ifndef ANCHORAGE_DECODE_H
#define ANCHORAGE_DECODE_H

#include "formats/format.h"
#include "pipeline/known.h"
#include "store/store.h"

/* What one thread keeps between items. All zero is ready; decode_scratch_free gives its memory back. */
struct decode_scratch {
    struct buffer canonical, encoded;
};
void decode_scratch_free(struct decode_scratch *scratch);

/* What the store knows already, so that nothing is done twice: known.h. `set` NULL: nothing is known. */
struct decode_known {
    const struct known *set;
    uint64_t batch; /* of the item */
};

struct decoded_geometry {
    struct hash hash;
    const uint8_t *encoded; /* codec.h; NULL: the store has it */
    size_t size;
};

struct decoded {
    struct hash hash; /* of the container's bytes */
    bool known;       /* the store has this content by this decoder; the rest is empty */
    struct container_record record;
    struct resource_record *resources; /* [resource_count], geometry filled in */
    size_t resource_count;
    struct decoded_geometry *geometries; /* distinct within the container */
    size_t geometry_count;
    uint64_t canonical_bytes; /* of all resources together */
};

/* Hashes and, unless it is known, decodes in->data with the decoder of `format` (a format_id that has one).
 * Everything in *out lives in the arena and nothing of it in in->data, which may be freed afterwards. False
 * with *err set when memory runs out. */
bool decode_container(const struct input *in, enum format_id format, bool ambiguous_format,
                      const struct decode_known *known, struct decode_scratch *scratch, struct arena *arena,
                      struct decoded *out, struct error *err);

/* The decoder with that id, NULL for formats without one (archives). */
const struct format *decode_format(enum format_id id);

#endif
