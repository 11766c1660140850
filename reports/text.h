/* text.h - words, numbers and tables for a terminal or a pipe.
 *
 * Names come from archives and are hostile: everything printed for people goes through text_visible.
 */
#ifndef ANCHORAGE_TEXT_H
#define ANCHORAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Copies `text` with control characters, bytes that are no UTF-8 and characters that reorder a line
 * (bidirectional marks) written as \xNN or \u{NNNN}; cut to fit `size` (at least 1), always terminated. */
void text_visible(const char *text, char *out, size_t size);

/* Decodes the character that begins at `s`, of at most `left` (at least 1) bytes: its length, 0 when it is no
 * UTF-8. */
size_t text_utf8(const unsigned char *s, size_t left, uint32_t *code);

/* "1.4 MB", "812 B": decimal units. */
void text_bytes(uint64_t bytes, char out[static 16]);
/* "12 345". */
void text_count(uint64_t count, char out[static 28]);
/* "1:02:03", "4:05", "0.8 s". */
void text_duration(double seconds, char out[static 16]);

/* Reads a whole decimal number within low..high; false otherwise. */
bool text_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* Whether output to the stream may be coloured: a terminal, NO_COLOR not set, TERM not "dumb". */
bool text_colour(FILE *out);

/* The display columns of UTF-8 text. */
size_t text_width(const char *text);

/* A table: aligned and coloured columns on a terminal, tab-separated values with a header line elsewhere.
 * Cells are copied. Aligning needs every row, so rows are kept until table_print, except in TSV, which
 * streams. */
struct table;
struct table_column {
    const char *title;
    bool right;   /* numbers */
    bool stretch; /* the column that gives way when a terminal is narrow */
};
/* NULL when memory runs out, which the functions below take for a table that prints nothing. */
struct table *table_new(FILE *out, const struct table_column *columns, size_t count);
/* One cell per column, in order; NULL prints as "-" on a terminal and as nothing in TSV. `colour` is an SGR
 * code such as 32, or 0, for the whole cell. */
void table_cell(struct table *table, const char *text, int colour);
void table_cellf(struct table *table, int colour, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Prints what is left and frees the table. */
void table_print(struct table *table);
/* False once memory ran out for a table: it has been printed without what there was no memory for. */
bool text_is_whole(void);

#endif
