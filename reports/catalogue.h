/* catalogue.h - every container and resource of one commit in memory, for lists that have to be quick.
 *
 * A store's records are written to be found by their keys; a search over names and counters would read all of
 * them. The catalogue keeps of each what lists ask for, about 250 bytes a resource. It never changes once it
 * is built, and any number of threads may search it.
 */
#ifndef ANCHORAGE_CATALOGUE_H
#define ANCHORAGE_CATALOGUE_H

#include "reports/view.h"

struct catalogue;
struct page_text;

/* Reads all that the transaction sees. NULL with *err set (ERROR_STORE, ERROR_NOMEM). */
struct catalogue *catalogue_build(struct store_txn *txn, struct error *err);
/* One more holder; the last release frees it. NULL is legal. */
const struct catalogue *catalogue_retain(const struct catalogue *catalogue);
void catalogue_release(const struct catalogue *catalogue);
/* The commit it is of: store_commit of the transaction. */
uint64_t catalogue_commit(const struct catalogue *catalogue);

/* A window on what passes. */
struct catalogue_window {
    uint64_t offset, limit;
};

/* What passes `filter` and has every word of `words` (NULL: any) in its name or its address, or as the
 * beginning of its geometry's hash (six digits or more), whatever the case of ASCII letters: the keys of
 * those in the window, in the order of `sort`, in the arena, and how many there are in all. The filter's own
 * limit says nothing here. False with *err set when memory runs out. An order is made when it is first asked
 * for, and kept. */
bool catalogue_resources(const struct catalogue *catalogue, const struct view_filter *filter,
                         const char *words, const struct view_sort *sort, struct catalogue_window window,
                         struct arena *arena, const struct resource_key ***keys, size_t *count,
                         uint64_t *total, struct error *err);

/* Masks of 0 let everything pass. */
struct catalogue_containers {
    uint32_t statuses, reasons, formats; /* bit per enum container_status, container_reason, format_id */
    const char *glob;                    /* of the path; NULL: any */
};
/* The same of containers by path: the paths of those in the window. */
bool catalogue_containers(const struct catalogue *catalogue, const struct catalogue_containers *filter,
                          const char *words, struct catalogue_window window, struct arena *arena,
                          const char ***paths, size_t *count, uint64_t *total, struct error *err);

/* What the dashboard shows of the commit (page_data_make, without details), made when it is first asked for,
 * and kept; `txn` sees that commit of `store`. NULL with *err set when it cannot be made. */
const struct page_text *catalogue_page(const struct catalogue *catalogue, struct store *store,
                                       struct store_txn *txn, const char *program, const char *title,
                                       struct error *err);

#endif
