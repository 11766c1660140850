/* finding.h - what the global passes found, the census of what was declined, and how an outcome came about.
 */
#ifndef ANCHORAGE_FINDING_H
#define ANCHORAGE_FINDING_H

#include "reports/view.h"

/* A finding as it is listed: its places by path. */
struct view_finding {
    const struct finding_record *record;
    const char *container;        /* path of record->container, NULL when it is about no single one */
    const char *const *addresses; /* [record->side_count] CONTAINER#INDEX */
};
/* Walks findings by kind, subject and container path; `kinds`: bits, 0 for all. The callback returns false to
 * stop. */
bool view_findings(struct store_txn *txn, uint32_t kinds,
                   bool (*each)(const struct view_finding *finding, void *ctx), void *ctx, struct error *err);

/* A row of the newest census of declined resources, and what it was at the run before. */
struct view_declined {
    enum census_dimension dimension;
    const char *key; /* CENSUS_CONTAINER: its path, or its hash when the store does not have it any more */
    uint64_t count, before;
};
/* Walks by dimension, then count, descending, then key. *compared is set before the first call: false when
 * there is no census of an earlier run, and `before` says nothing. */
bool view_declined(struct store_txn *txn, bool *compared,
                   bool (*each)(const struct view_declined *row, void *ctx), void *ctx, struct error *err);

/* New references; NULL when memory runs out. */
json_t *json_of_finding(const struct view_finding *finding);
json_t *json_of_declined(const struct view_declined *row, bool compared);
json_t *json_of_history(const struct resolved_record *outcome);
/* A line for each step from the decoder's word to the outcome, and the twin; nothing for what is as decoded.
 */
void history_print(FILE *out, const struct resolved_record *outcome);

#endif
