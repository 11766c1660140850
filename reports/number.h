/* number.h - f32 values as text: the shortest decimal that reads back to the same f32.
 *
 * A library that prints f32 through double shows 0.1f as 0.10000000149011612; this does not. The text is a
 * legal JSON number. Thread safety: all functions may be called from any thread. LC_NUMERIC must be the C
 * locale's, which it is in a program that never sets it.
 */
#ifndef ANCHORAGE_NUMBER_H
#define ANCHORAGE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define FLOAT_TEXT_SIZE 32

/* Writes `value` with a NUL and returns the length without it: "0.1", "-42", "1e+30", "24.55", "-0". Whole
 * numbers below 2^24 in size are written out; else printf's exponent form serves below 1e-4 and from 2^24 up.
 * A value that is not finite has no JSON number: it is written as "nan", "inf" or "-inf", and a caller that
 * writes JSON puts null in its place. */
size_t float_text(float value, char text[FLOAT_TEXT_SIZE]);

/* Writes a whole number with at least so many digits, 20 at most and without a NUL, and returns the end. */
char *count_text(uint64_t value, unsigned at_least, char *text);

#endif
