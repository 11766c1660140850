/* dashboard.h - the pages that are embedded in the program: the bundled sources of reports/dashboard/.
 *
 * `make` bundles the dashboard into one HTML page with scripts and styles inside it. Where its data belongs
 * the page has a mark; what stands before and behind it is given here. A page without data in it asks the
 * server it came from (reports/dashboard/source.js). The server's page of a resource is three files.
 * Constant; any thread.
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

enum dashboard_file { DASHBOARD_RESOURCE_HTML, DASHBOARD_RESOURCE_JS, DASHBOARD_RESOURCE_CSS };
/* The bytes of a file, of which there may be none where packages could not be had; their count goes to *size.
 */
const char *dashboard_file(enum dashboard_file file, size_t *size);

#endif
