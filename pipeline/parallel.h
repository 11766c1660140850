/* parallel.h - the only loop that runs in parallel.
 */
#ifndef ANCHORAGE_PARALLEL_H
#define ANCHORAGE_PARALLEL_H

#include <stddef.h>

/* Calls fn(i, thread, ctx) for every i in 0..count-1 on at most `threads` threads; `thread` is 0..threads-1,
 * for scratch memory by thread. Iterations are handed out in order, one at a time. What fn(i) writes belongs
 * in slot i of the caller's array: then the result does not depend on the number of threads. Returns when all
 * are done. */
void par_for(size_t count, int threads, void (*fn)(size_t i, int thread, void *ctx), void *ctx);

/* Processors this process may run on, at least 1. */
int par_default_threads(void);

#endif
