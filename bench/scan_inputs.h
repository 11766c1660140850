/* scan_inputs.h - the containers that bench_scan.c measures on: generated stages, and data made to take long.
 */
#ifndef ANCHORAGE_SCAN_INPUTS_H
#define ANCHORAGE_SCAN_INPUTS_H

#include "bench/corpus/corpus.h"
#include "formats/buffer.h"

/* Stage `number` of the corpus of that seed, as `anchorage corpus` makes them (its number decides locality,
 * alignment and what the descriptors tell), with so many resources and about so many bytes of textures. False
 * when memory runs out. */
bool scan_stage(uint64_t seed, unsigned number, unsigned resources, uint64_t texture_bytes,
                struct corpus_file *out);

/* Containers that are the worst for one step or another, all of about SCAN_HOSTILE_BYTES. */
#define SCAN_HOSTILE_BYTES     ((size_t)16 << 20)
#define SCAN_HOSTILE_RESOURCES 96u /* of most of them; a stage to compare with should have as many */

unsigned scan_hostile_count(void);
/* What the container of that number is, in a few words; a constant string. */
const char *scan_hostile_word(unsigned number);
/* Fills *out, which is empty. False when memory runs out. */
bool scan_hostile(unsigned number, struct buffer *out);

#endif
