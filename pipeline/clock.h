/* clock.h - how much time passed, which no setting of the date disturbs.
 */
#ifndef ANCHORAGE_CLOCK_H
#define ANCHORAGE_CLOCK_H

#include <time.h>

/* Seconds since some moment of the machine's. */
static inline double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
