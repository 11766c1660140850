/* json_whole.h - JSON documents that have all that was put into them, or are none.
 *
 * jansson's setters take the NULL that a constructor gives when memory runs out, and leave the member away
 * without a word. So an allocation of jansson's that fails is remembered for its thread, and the next
 * document that the thread writes fails. Thread safety: documents of one thread are its own;
 * json_watch_memory before any.
 */
#ifndef ANCHORAGE_JSON_WHOLE_H
#define ANCHORAGE_JSON_WHOLE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Has jansson's allocations watched from now on; once, before jansson is used. */
void json_watch_memory(void);
/* Whether an allocation of jansson's has failed in this thread, which is forgotten then: what could not be
 * read is not known to be malformed. */
bool json_lacked_memory(void);
/* Whether a document is there and whole, for one that is written by other means. What was missing is
 * forgotten then; errno says so. */
bool json_is_whole(const json_t *value);
/* Writes a document with jansson's flags. False with errno set when it is NULL, is not whole, or `out` does
 * not take it. */
bool json_whole_write(const json_t *value, FILE *out, size_t flags);
/* The same as text, malloc'ed; NULL when memory runs out, or ran out before. */
char *json_whole_text(const json_t *value, size_t flags);

#endif
