/* repair.h - what is sound of a damaged store, as a new store.
 */
#ifndef ANCHORAGE_REPAIR_H
#define ANCHORAGE_REPAIR_H

#include "store/store.h"

struct repair_result {
    bool was_sound;                                    /* nothing was wrong and nothing was done */
    char kept_as[4096];                                /* where the damaged store is now */
    uint64_t damages;                                  /* pages that were met with something wrong */
    uint64_t sources, contents, resources, geometries; /* saved */
    uint64_t lost_contents;                            /* told to `report`; the next run decodes them again */
    uint64_t lost_captures; /* of which nothing can be made again: they have to be given again */
};

/* Examines the store at `path`; when anything is wrong, puts all that is sound into a new store in its place
 * and keeps the old one beside it as PATH.damaged (.damaged.2 when there is one). A content is saved whole or
 * not at all: its record, all its resources, their candidates and geometry. Every place of one that is not is
 * told to `report` (its path, or its hash when no place is known) and forgotten with the archives it is in,
 * so that the next run over the same inputs reads it again. Outcomes of the passes are saved where they still
 * fit. Takes the writer's lock. False with *err set when nothing can be had of the file, and then nothing was
 * changed. */
bool store_repair(const char *path, void (*report)(const char *place, void *ctx), void *ctx,
                  struct repair_result *result, struct error *err);

#endif
