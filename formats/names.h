/* names.h - what the names of two resources say of each other.
 */
#ifndef ANCHORAGE_NAMES_H
#define ANCHORAGE_NAMES_H

#include <stdbool.h>

/* Whether b follows a in counting: names that are equal but for the number at their end, which is one
 * greater. Twins are named so (formats/xbg7.md, "Twins": bdy_01, bdy_02). */
bool names_count_on(const char *a, const char *b);

#endif
