/* fault.h - faults on request, for tests of what the program does about faults.
 *
 * Where ANCHORAGE_TEST_HOOKS is defined the environment variable ANCHORAGE_FAULT names them: entries
 * separated by blanks, each `PLACE:KIND:TEXT`. PLACE is decode or extract, and TEXT part of the item's or
 * step's name. KIND is one of segv, abort, stack, loop, exit, kill, memory; once, a crash that does not come
 * again when the item is tried alone, or by an extraction that was started again; slow, a tenth of a second;
 * or open, write, socket, exec, fork, signal, outlive, which try what the sandbox forbids and end the process
 * with status 90 when they succeed. Elsewhere, in release builds above all, none of this exists.
 */
#ifndef ANCHORAGE_FAULT_H
#define ANCHORAGE_FAULT_H

#include <stdbool.h>

enum fault_place { FAULT_DECODE, FAULT_EXTRACT };

#ifdef ANCHORAGE_TEST_HOOKS
void fault_here(enum fault_place place, const char *name);
/* Whether this thread's next item is tried again. */
void fault_note_alone(bool alone);
#else
static inline void fault_here(enum fault_place place, const char *name)
{
    (void)place, (void)name;
}
static inline void fault_note_alone(bool alone)
{
    (void)alone;
}
#endif

#endif
