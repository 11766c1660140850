/* stage.h - one pass over everything a store holds, as the driver runs it (pipeline/resolve.c).
 *
 * A stage's work falls into units that do not depend on each other: a container, a name, a pair. `run` looks
 * at one unit and says what ought to change, in memory of its thread; it changes nothing, so units run in
 * parallel. `commit` makes the changes, unit by unit in order, on one thread. The outcome is therefore the
 * same at any number of threads.
 */
#ifndef ANCHORAGE_STAGE_H
#define ANCHORAGE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

struct passes;

struct stage {
    const char *name;
    uint32_t version; /* stands in the history of what it changed */
    /* How many units there are now. False when memory runs out. */
    bool (*units)(struct passes *passes, size_t *count, struct error *err);
    /* *result is NULL for nothing to do, else lives in passes->threads[thread].arena until the stage ends.
     * False only for a fault of the job. */
    bool (*run)(const struct passes *passes, size_t unit, int thread, void **result, struct error *err);
    /* Only called for results that are not NULL. */
    bool (*commit)(struct passes *passes, size_t unit, void *result, struct error *err);
    /* After the last commit, for what only all of them together tell; may be NULL. */
    bool (*finish)(struct passes *passes, struct error *err);
};

/* Runs a stage once. */
bool stage_run(const struct stage *stage, struct passes *passes, struct error *err);

#endif
