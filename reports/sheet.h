/* sheet.h - sheet.html: cast sheets, a picture of every resource by container, as plain HTML without a
 * script.
 */
#ifndef ANCHORAGE_SHEET_H
#define ANCHORAGE_SHEET_H

#include "formats/buffer.h"
#include "reports/view.h"

/* Appends the page. Pictures are looked for in thumbs/ beside it, resources link into index.html, and a
 * container's sheet is #HASH. False with *err set for faults of the store and ERROR_NOMEM. */
bool sheet_page(struct store_txn *txn, const char *title, struct buffer *out, struct error *err);

#endif
