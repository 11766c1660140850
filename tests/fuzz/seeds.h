/* seeds.h - small files of every format, from the program's own generator, as seeds of several harnesses. */
#ifndef ANCHORAGE_FUZZ_SEEDS_H
#define ANCHORAGE_FUZZ_SEEDS_H

#include "formats/buffer.h"

/* Calls `each` with every kind of MESHBIN, BGF and BMF the generator makes, sound and malformed; `name` has
 * the format's ending and occurs once. The callback may keep the bytes by emptying the buffer. */
void seed_models(void (*each)(const char *name, struct buffer *bytes));
/* The same with a few XPR2 containers. */
void seed_xpr2(void (*each)(const char *name, struct buffer *bytes));

#endif
