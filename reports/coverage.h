/* coverage.h - what the bytes of a data section are: sums, a strip for a terminal, JSON.
 */
#ifndef ANCHORAGE_COVERAGE_H
#define ANCHORAGE_COVERAGE_H

#include <jansson.h>
#include <stdio.h>

#include "reports/view.h"

/* Adds the coverage map to a container's record, which was read before, with the placements as the passes
 * left them: in the store it is the decoder's. Nothing without one. False with *err set. */
bool coverage_load(struct store_txn *txn, const struct hash *container, struct arena *arena,
                   struct container_record *record, struct error *err);

/* The same for whoever walks the container's resources anyway: all zero; claim each with its outcome, then
 * lay the map of `record`, which has the decoder's (store_get_coverage). False when memory runs out. */
struct coverage_claims {
    struct buffer places; /* struct buffer_place of what is located now */
    bool changed;         /* the passes had a hand in some of them */
};
bool coverage_claim(struct coverage_claims *claims, const struct resource *now,
                    const struct resolved_record *outcome, struct error *err);
bool coverage_lay(struct coverage_claims *claims, struct container_record *record, struct arena *arena,
                  struct error *err);
/* Forgets the claims, keeps the memory; or gives it back. */
void coverage_claims_clear(struct coverage_claims *claims);
void coverage_claims_free(struct coverage_claims *claims);

struct coverage_sums {
    uint64_t bytes[COVERAGE_KIND_COUNT], total;
};
struct coverage_sums coverage_sum(const struct coverage_run *runs, uint32_t count);

/* One line of `columns` cells, each showing the kind that most of its bytes are, and under it a legend with
 * shares. Letters without colour, coloured blocks with. Nothing when there are no runs. */
void coverage_strip(FILE *out, const struct coverage_run *runs, uint32_t count, unsigned columns);

/* {"texture": bytes, ...} of every kind; [[start, end, kind], ...]. */
json_t *coverage_sums_json(const struct coverage_sums *sums);
json_t *coverage_runs_json(const struct coverage_run *runs, uint32_t count);
/* An XPR2 container's coverage as docs/json.md has it; `container` is the view's, with its coverage read. New
 * reference; NULL when memory runs out. */
json_t *json_of_coverage(const struct view_container *view, const struct container *container);

#endif
