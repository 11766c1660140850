/* page_data.h - everything the dashboard shows, as JSON (docs/report.md, "Page data").
 *
 * Two documents. The page has a row for each container, with the
 * rows of its resources in it, and for each finding: what is searched, sorted and
 * summed, all by the page itself. The details have an object for each resource, in the order of the page's
 * rows: evidence, alternatives, placements, history; the page asks for them when a resource is opened. A
 * server sends the page from the same function and one object at a time.
 *
 * The same store gives the same bytes. Thread safety: a walk belongs to the thread of its transaction.
 */
#ifndef ANCHORAGE_PAGE_DATA_H
#define ANCHORAGE_PAGE_DATA_H

#include "reports/view.h"

/* Of the layout of both documents; the page refuses another one. */
#define PAGE_DATA_VERSION 1

/* A document in pieces, to be read one behind the other: to join megabytes takes as long as to make many of
 * them. */
struct page_text {
    struct buffer *pieces; /* [count] */
    size_t count;
};
size_t page_text_size(const struct page_text *text);
/* Appends all of it. */
void page_text_append(const struct page_text *text, struct buffer *out);

struct page_data {
    struct page_text page;
    struct page_text details; /* empty unless asked for */
};

/* Makes the page of what `txn`, a read transaction of `store`, sees, on up to four threads; with `details`
 * both documents. `program`: the program's version; `title`: what the store is called. False with *err set
 * for faults of the store and ERROR_NOMEM; free it either way. */
bool page_data_make(struct store *store, struct store_txn *txn, const char *program, const char *title,
                    bool details, struct page_data *out, struct error *err);
void page_data_free(struct page_data *data);

/* Appends the details of one resource, which has its candidates (view_resource, or store_get_candidates). */
void page_detail(const struct view_resource *view, struct buffer *out);

#endif
