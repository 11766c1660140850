/* captures.h - what a running engine drew, from JSON lines into a store.
 *
 * A line is `{"resource": NAME, "row0_x": 1 or -1}` or `{"resource": NAME, "container": ADDRESS, "buffers":
 * [...]}`, the buffers as the JSON of a resource has them. `"row0_x": null` and `"buffers": null` withdraw
 * what is stored of that name (and container), so that another capture can take its place. Captures stay
 * until they are withdrawn; a second one that says the same changes nothing. What they decide, and what
 * contradicts them, is for the passes to say (pipeline/pass_capture.c, pass_twins.c).
 */
#ifndef ANCHORAGE_CAPTURES_H
#define ANCHORAGE_CAPTURES_H

#include "store/store.h"

#define CAPTURES_BYTES_MAX ((size_t)64 << 20) /* of the file */

/* One line as it was read. */
struct capture_line {
    struct capture_record record; /* order is 0 */
    bool withdraws;
};

struct capture_list {
    struct arena arena;
    struct capture_line *lines;
    size_t count;
};

/* Reads a whole file and checks every line. False with *err set, ERROR_USAGE with the line's number for one
 * that is none, ERROR_IO for a file that cannot be read. captures_free in any case. */
bool captures_read(const char *path, struct capture_list *list, struct error *err);
/* The same from memory. */
bool captures_parse(const char *text, size_t size, struct capture_list *list, struct error *err);
void captures_free(struct capture_list *list);

/* Applies the lines in order to the stored captures, in one transaction. *changed counts those added or
 * withdrawn. */
bool captures_store(struct store *store, const struct capture_list *list, uint64_t *changed,
                    struct error *err);

#endif
