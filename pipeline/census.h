/* census.h - what an archive remembers of its members: the names it gave, and counts of what it did not
 * recognise.
 *
 * Both cost one hash and one comparison a member, however many there are. All zero is empty. Thread safety:
 * as the arguments.
 */
#ifndef ANCHORAGE_CENSUS_H
#define ANCHORAGE_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/arena.h"
#include "store/image_names.h"
#include "store/record.h"

#define CENSUS_MAGIC_SIZE  9
#define CENSUS_ENDING_SIZE 24

/* First 4 bytes as lower-case hex, fewer digits for shorter content. */
void census_magic(const uint8_t *bytes, size_t size, char magic[static CENSUS_MAGIC_SIZE]);
/* From the last dot of a base name, in lower case (ASCII); "" when there is none, when the only dot leads, or
 * when it is longer than 16 bytes or not plain printable ASCII. */
void census_ending(const char *name, char ending[static CENSUS_ENDING_SIZE]);

struct name_slot {
    const char *name; /* in the arena; NULL: free */
    uint64_t hash;
    uint32_t next; /* the number to try first when it is claimed again */
};

/* Names that are taken. */
struct name_set {
    struct name_slot *slots;
    size_t room, count; /* room: a power of two */
    struct arena arena;
};

/* The name itself when it is free, else name~2, name~3, ...: the first that is. It is then taken. Lives as
 * long as the set; NULL when memory runs out. */
const char *name_set_claim(struct name_set *set, const char *name);
bool name_set_has(const struct name_set *set, const char *name);
void name_set_free(struct name_set *set);

struct census_cell {
    char magic[CENSUS_MAGIC_SIZE], ending[CENSUS_ENDING_SIZE];
    uint64_t count, bytes;
};

/* Counts by magic and ending, and the names of images. */
struct census {
    struct census_cell *cells; /* count 0: free */
    size_t room, count;
    struct image_names images;
};

/* Counts one member; false when memory runs out. */
bool census_add(struct census *census, const uint8_t *head, size_t head_size, const char *name,
                uint64_t bytes);
/* The rows, sorted by magic, then ending, in one malloc'ed block that holds their strings too: *rows is freed
 * as a whole. False when memory runs out. */
bool census_rows(const struct census *census, struct census_row **rows, uint32_t *count);
/* The names of its images (store/image_names.h) in *text, from malloc; NULL when they are too many. False
 * when memory runs out. */
bool census_images(struct census *census, char **text);
void census_free(struct census *census);

#endif
