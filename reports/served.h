/* served.h - a store that is read for days, while others write it, replace it or take it away.
 *
 * One read transaction a request: each sees the last commit when it began, and nothing newer. A store that
 * was replaced is opened again under its path; one that is gone is an error until it is back.
 */
#ifndef ANCHORAGE_SERVED_H
#define ANCHORAGE_SERVED_H

#include "reports/catalogue.h"

struct served;

/* Opens the store at `path`; NULL with *err set when that fails. Any thread may then begin views. */
struct served *served_open(const char *path, struct error *err);
/* No view may be open. NULL is legal. */
void served_close(struct served *served);

struct served_view {
    struct store *db;
    struct store_txn *txn;
    const struct catalogue *catalogue; /* of the commit that txn sees; NULL when none was wanted */
    struct served_store *store;
};
/* Begins a view for the calling thread. With `listed` it has the catalogue, which is built when the commit is
 * new: one thread does that, others that want it wait. False with *err set (ERROR_STORE, ERROR_NOMEM);
 * nothing to end then. */
bool served_begin(struct served *served, bool listed, struct served_view *view, struct error *err);
void served_end(struct served *served, struct served_view *view);

#endif
