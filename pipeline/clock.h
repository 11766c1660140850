/* clock.h - how much time passed, and what time it is.
 */
#ifndef ANCHORAGE_CLOCK_H
#define ANCHORAGE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds since some moment of the machine's, which no setting of the date disturbs. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ns since 1970. */
static inline int64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
