/* html.h - HTML text, and index.html: the dashboard with its data inside. */
#ifndef ANCHORAGE_HTML_H
#define ANCHORAGE_HTML_H

#include "reports/page_data.h"

/* Appends text with the characters that mean something in HTML (in an attribute too) as entities, and what
 * text_visible would not show as it is, in its words. */
void html_text(struct buffer *out, const char *text);
/* Appends text as a part of a URL: all but letters, digits, '-', '_' and '.' as %XX. */
void html_url(struct buffer *out, const char *text);
/* Appends HTML as it is. */
void html_raw(struct buffer *out, const char *html);

/* Writes the dashboard with both documents in it, compressed. The file needs nothing but itself; pictures are
 * looked for in the folder thumbs beside it. False with *err set (ERROR_IO, ERROR_NOMEM). */
bool html_write_dashboard(const char *path, const struct page_data *data, struct error *err);

#endif
