/* json_text.h - JSON written straight into a buffer, for pages of ten thousand rows.
 *
 * jansson builds a tree of nodes for each document, which is what the documented objects (view.h) are made
 * with; a page's rows cost less than that tree. Strings obey the same rule as json_of_bytes (bytes that are
 * no UTF-8 become %XX), and '<' is written as \u003c, so that the text may stand inside an HTML script
 * element. Nothing fails: memory running out is the buffer's `failed`. Thread safety: as the buffer.
 */
#ifndef ANCHORAGE_JSON_TEXT_H
#define ANCHORAGE_JSON_TEXT_H

#include "formats/buffer.h"
#include "store/key.h"

/* Commas are written by looking at what stands before, so a writer has no state but its buffer. */
void json_text_open(struct buffer *out, char bracket);   /* '{' or '[' */
void json_text_close(struct buffer *out, char bracket);  /* '}' or ']' */
void json_text_key(struct buffer *out, const char *key); /* plain ASCII */
void json_text_null(struct buffer *out);
void json_text_bool(struct buffer *out, bool value);
void json_text_count(struct buffer *out, uint64_t value);
/* A f32 in its shortest decimal; null when it is not finite. */
void json_text_f32(struct buffer *out, float value);
/* Rounded to hundredths, for odds; null when it is not finite or beyond 10^15. */
void json_text_odds(struct buffer *out, double value);
void json_text_string(struct buffer *out, const char *text); /* NULL: null */
/* 32 hex digits; null when it is zero. */
void json_text_hash(struct buffer *out, const struct hash *hash);
/* A whole document that another writer made; its '<' are escaped on the way. */
void json_text_document(struct buffer *out, const char *json);
/* What is JSON already, with its strings escaped as they are here. */
void json_text_raw(struct buffer *out, const char *json, size_t size);

#endif
