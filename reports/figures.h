/* figures.h - the sums that report.json and metrics.prom tell, read from a store once. */
#ifndef ANCHORAGE_FIGURES_H
#define ANCHORAGE_FIGURES_H

#include "reports/coverage.h"
#include "reports/finding.h"

struct figures {
    struct view_summary summary;
    struct store_stat stat;
    struct coverage_sums coverage;         /* of all data sections */
    uint64_t findings[FINDING_KIND_COUNT]; /* by enum finding_kind */
    uint64_t unknown_files, unknown_bytes;
    bool has_run, has_before;
    struct run_record run,
        before; /* the newest run that ended, and the one before it; strings in the arena */
};

/* Reads all of it from `txn`, a read transaction of `store`. False only for an error. */
bool figures_read(struct store *store, struct store_txn *txn, struct arena *arena, struct figures *figures,
                  struct error *err);

#endif
