/* known.h - what the store knows already, as a set that children can read and only the parent can write.
 *
 * Members are keys of 14 bytes: of a content with the decoder's version that made its record, of a geometry,
 * and of a plain file with its size and time, if the store vouches for its outcome. A key holds from a batch
 * on: what batch n committed counts for the batches behind n + 1, which begin only after that commit, so
 * whether something was known never depends on the speed of anything. Keys that the run began with hold from
 * the start.
 *
 * The set lies in a sparse memfd and grows by moving into a larger table behind the old one, which stays
 * readable. One thread writes; any number reads meanwhile.
 */
#ifndef ANCHORAGE_KNOWN_H
#define ANCHORAGE_KNOWN_H

#include "formats/error.h"
#include "store/key.h"

struct known;

/* An empty set; *fd is a descriptor to hand to children, by which nothing can be written. NULL with *err set.
 */
struct known *known_make(int *fd, struct error *err);
/* The same set in a child. NULL when it cannot be mapped. */
const struct known *known_attach(int fd);
void known_free(struct known *known); /* NULL is legal */

struct hash known_content(const struct hash *container, uint32_t decoder_version);
struct hash known_file(const char *path, uint64_t size, int64_t mtime_ns);

/* Adds a key that holds from batch `from` on; earlier, when it was there. False when memory runs out: what is
 * not known is only looked at again. */
bool known_add(struct known *known, const struct hash *key, uint64_t from);
/* Whether the key holds for an item of that batch. NULL: nothing is known. */
bool known_has(const struct known *known, const struct hash *key, uint64_t batch);

#endif
