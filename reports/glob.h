/* glob.h - shell patterns over whole texts: what fnmatch says, without its price where it can be had for
 * less.
 */
#ifndef ANCHORAGE_GLOB_H
#define ANCHORAGE_GLOB_H

#include <stdbool.h>

/* Whether the pattern matches all of the text, as fnmatch(pattern, text, 0) has it. In a locale of several
 * bytes fnmatch turns both into wide characters first; ASCII and patterns of '*' and '?' alone, nearly all
 * there are, are matched as they stand. Pure; any thread. */
bool glob_matches(const char *pattern, const char *text);

#endif
