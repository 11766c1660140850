/* parallel.c - see parallel.h */
#include "parallel.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <sched.h>

void par_for(size_t count, int threads, void (*fn)(size_t i, int thread, void *ctx), void *ctx)
{
#ifdef _OPENMP /* builds for fuzzing engines have no OpenMP and one thread */
    if (threads > 1 && count > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < count; i++)
            fn(i, omp_get_thread_num(), ctx);
        return;
    }
#else
    (void)threads;
#endif
    for (size_t i = 0; i < count; i++)
        fn(i, 0, ctx);
}

int par_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}
