/* prometheus.h - metrics.prom: figures in Prometheus' text format, for the textfile collector
 * (docs/report.md).
 */
#ifndef ANCHORAGE_PROMETHEUS_H
#define ANCHORAGE_PROMETHEUS_H

#include "reports/figures.h"

/* Appends all metrics, each with HELP and TYPE and a label `store`, so that files of several stores can lie
 * in one folder. `program`: the program's version. Memory running out is the buffer's `failed`. */
void prometheus_text(const struct figures *figures, const char *program, const char *store,
                     struct buffer *out);

#endif
