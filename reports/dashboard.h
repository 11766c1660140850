/* dashboard.h - the bundled dashboard (reports/dashboard/) that is embedded in the program.
 *
 * `make` bundles the sources into one HTML page with scripts and styles inside it. Where its data belongs the
 * page has a mark; what stands before and behind it is given here. A page without data in it asks the server
 * it came from (reports/dashboard/source.js). Constant; any thread.
 */
#ifndef ANCHORAGE_DASHBOARD_H
#define ANCHORAGE_DASHBOARD_H

#include <stddef.h>

/* tail_size 0: a plain page that stands for a bundle that could not be made. */
struct dashboard {
    const char *head, *tail;
    size_t head_size, tail_size;
};

struct dashboard dashboard_page(void);

#endif
