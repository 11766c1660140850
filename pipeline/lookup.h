/* lookup.h - from what a user typed to resources: in a store, or straight in a file.
 */
#ifndef ANCHORAGE_LOOKUP_H
#define ANCHORAGE_LOOKUP_H

#include "pipeline/decode.h"
#include "pipeline/extract.h"
#include "store/store.h"

/* The resources a text means in a store: `CONTAINER#INDEX`, `CONTAINER#NAME`, `CONTAINER` (all of it), a
 * name, or a geometry hash. A container is meant by any of its places. Sorted by container, then index; none
 * found is an error that says what was looked for. The keys live in the arena. */
bool lookup_in_store(struct store_txn *txn, const char *text, struct arena *arena, struct resource_key **keys,
                     size_t *count, struct error *err);

/* A container read without a store. All zero is empty; lookup_free gives it back. */
struct lookup_file {
    struct extracted item;
    struct arena arena;
    struct decoded decoded;     /* the records a store would keep of it */
    struct container container; /* decoded.record.container; its resources have their meshes */
    char *path;                 /* its address; owned by item */
    char *stem;                 /* the name of resources without a directory's */
};
/* Reads and decodes the container of an address (with or without #...). False with *err set when it is not
 * there, not readable, or no container this program decodes. */
bool lookup_in_file(const char *address, const struct extract_options *options, struct lookup_file *out,
                    struct error *err);
void lookup_free(struct lookup_file *file);

/* The resources of a container read from a file that `#...` of its address means (all when it has none):
 * indices into container.resources, in order, in the arena. None found is an error. */
bool lookup_resources(const char *address, const struct lookup_file *file, struct arena *arena,
                      uint32_t **indices, size_t *count, struct error *err);

#endif
