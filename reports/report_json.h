/* report_json.h - report.json: all of a report for programs (docs/report.md has its schema). */
#ifndef ANCHORAGE_REPORT_JSON_H
#define ANCHORAGE_REPORT_JSON_H

#include "reports/figures.h"

/* Of the schema: raised when a field changes its meaning or goes; more fields do not raise it. */
#define REPORT_JSON_VERSION 1

/* Writes the document, one element of each list a line. `program`: the program's version; `store`: what the
 * store is called. False with *err set for faults of the store, ERROR_IO and ERROR_NOMEM. */
bool report_json_write(struct store_txn *txn, const struct figures *figures, const char *program,
                       const char *store, FILE *out, struct error *err);

#endif
