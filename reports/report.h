/* report.h - a folder that shows what a store holds (docs/report.md).
 *
 *   index.html    the dashboard, with its data inside
 *   sheet.html    cast sheets: a picture of every resource, by container
 *   report.json   the same for programs
 *   metrics.prom  figures for Prometheus' textfile collector
 *   thumbs/       a picture of each geometry, named by its hash; kept from report to report
 *
 * Each file is written aside and renamed. But for the pictures, which are only added to, a report of the same
 * store has the same bytes.
 */
#ifndef ANCHORAGE_REPORT_H
#define ANCHORAGE_REPORT_H

#include "store/store.h"

struct report_options {
    const char *store_path; /* for titles and hints */
    const char *directory;  /* made when absent; the folder above it must be there */
    const char *program;    /* the program's version */
    int threads;
    bool thumbnails;
};

struct report_result {
    uint64_t drawn, kept; /* pictures; kept: the folder had them */
    uint64_t undrawable;  /* geometries that are no sound mesh */
    bool plain;           /* the program was built without its dashboard: index.html says so */
};

/* Writes all of it from one commit of the store. False with *err set (ERROR_IO, ERROR_STORE, ERROR_NOMEM). */
bool report_write(struct store *store, const struct report_options *options, struct report_result *result,
                  struct error *err);

#endif
