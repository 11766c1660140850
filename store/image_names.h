/* image_names.h - names of image files in one text: base names sorted by their bytes, each once, each ended
 * by a
 * '/', which no base name holds. So an archive remembers what pictures it has (struct container_record) at a
 * few bytes each, for the pass that looks for the images of material libraries. Thread safety: as the
 * arguments.
 */
#ifndef ANCHORAGE_IMAGE_NAMES_H
#define ANCHORAGE_IMAGE_NAMES_H

#include "formats/buffer.h"

/* Bytes of names that one archive keeps. Of more it keeps none: a list that may lack a name proves nothing.
 */
#define IMAGE_NAMES_MOST ((size_t)1 << 20)

/* Names being collected. All zero is none. */
struct image_names {
    struct buffer text; /* text.failed: memory ran out */
    bool lost;          /* there were more than are kept */
};

/* Whether files of that ending (".tga", lower case) may be what a material names. */
bool image_ending(const char *ending);

/* Adds a base name, or all of a text. At most a small multiple of IMAGE_NAMES_MOST is kept in memory. */
void image_names_add(struct image_names *names, const char *name);
void image_names_add_all(struct image_names *names, const char *text);
/* What was collected, until the next call of these functions; NULL when it was lost, or memory ran out. */
const char *image_names_text(struct image_names *names);
void image_names_free(struct image_names *names);

#endif
