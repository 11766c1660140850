/* resolve.h - the global passes: everything in a store decided together, without reading a container again.
 *
 * The decoder sees one container. The passes see all of them: equal bytes that are proven elsewhere,
 * reflections, names that occur twice, and what was captured from a running engine. They begin from the
 * decoder's records each time, so their outcome depends on what is stored and on nothing else: not on earlier
 * passes, on threads, or on the order of inputs. docs/passes.md describes each of them.
 */
#ifndef ANCHORAGE_RESOLVE_H
#define ANCHORAGE_RESOLVE_H

#include "store/store.h"

struct resolve_options {
    int threads;
};

struct resolve_result {
    uint64_t changed; /* values of the store that were written or removed; 0: all was as it is */
    uint64_t proven, assigned, ambiguous,
        declined;   /* resources that became that, from what the decoder said */
    uint64_t twins; /* pairs */
    uint64_t findings[FINDING_KIND_COUNT];
    unsigned rounds; /* until nothing changed */
};

/* Runs all passes over the store, which is open for writing, and commits what differs. Findings of kind
 * FINDING_CONTRADICTED are the contradicted captures. Memory is proportional to resources and candidates;
 * geometry is read one at a time. False with *err set for faults of the job: memory, store. */
bool resolve(struct store *store, const struct resolve_options *options, struct resolve_result *result,
             struct error *err);

#endif
