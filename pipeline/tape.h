/* tape.h - what a batch leaves beside its log, for the parent: keys of what is then known, archives that
 * ended, and events for whoever listens. Records lie one behind the other; a reader trusts none of them.
 *
 * Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_TAPE_H
#define ANCHORAGE_TAPE_H

#include "pipeline/ingest.h"

enum tape_kind { TAPE_KEY = 1, TAPE_END, TAPE_EVENT };

struct tape_record {
    enum tape_kind kind;
    struct hash hash;          /* KEY: known.h. END: of the archive's path. EVENT: of the content, or zero */
    uint64_t members;          /* END: items that came out of it */
    uint32_t order;            /* EVENT: in its batch */
    struct ingest_event event; /* EVENT; `hash` NULL. Strings lie in the tape */
};

/* Writes at `at`, where `room` bytes are left: how many it took, 0 when they are too few. */
size_t tape_write(uint8_t *at, size_t room, const struct tape_record *record);
/* Reads the record at `at`, of which `left` bytes are written: how many it takes, 0 when it is none. */
size_t tape_read(const uint8_t *at, size_t left, struct tape_record *record);

#endif
