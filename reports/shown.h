/* shown.h - one resource with all that is known of it and around it: what `show` explains and a server gives
 * out.
 */
#ifndef ANCHORAGE_SHOWN_H
#define ANCHORAGE_SHOWN_H

#include "reports/view.h"

/* Addresses of other resources, by container hash, then index: `count` of `total`. */
struct shown_list {
    const char **addresses;
    size_t count, total;
};

struct shown {
    struct view_resource view;
    struct shown_list shares;    /* with the same geometry */
    struct shown_list same_name; /* of the same name */
};

/* Reads the resource under a key, which the store must hold, and at most `most` addresses of each list; all
 * memory is the arena's. */
bool shown_read(struct store_txn *txn, const struct resource_key *key, size_t most, struct arena *arena,
                struct shown *out, struct error *err);
/* `show --json` of docs/json.md. New reference; NULL when memory runs out. */
json_t *json_of_shown(const struct shown *shown);

#endif
