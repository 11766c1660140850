/* summary.h - the page a run ends with. */
#ifndef ANCHORAGE_SUMMARY_H
#define ANCHORAGE_SUMMARY_H

#include "reports/view.h"

/* Prints what the store holds, for people: containers, resources by outcome, reasons, geometry, unknown
 * content, and where to look next. `store_path` is used in the commands it suggests. */
bool summary_print(FILE *out, const struct view_summary *summary, struct store *store, struct store_txn *txn,
                   const char *store_path, struct error *err);

#endif
