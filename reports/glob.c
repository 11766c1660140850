/* glob.c - see glob.h */
#include "reports/glob.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* Without a way out of the loop, so that it is done many bytes at a time. */
static bool is_ascii(const char *text)
{
    size_t length = strlen(text);
    unsigned char all = 0;
    for (size_t i = 0; i < length; i++)
        all |= (unsigned char)text[i];
    return all < 0x80;
}

static bool is_plain(const char *pattern)
{
    return !strpbrk(pattern, "[\\") && is_ascii(pattern);
}

/* Only the last star may have to take more: whatever an earlier one took before it can stay. */
static bool matches_plain(const char *pattern, const char *text)
{
    const char *star = NULL, *taken = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
            continue;
        } else if (star) {
            pattern = star;
            text = ++taken;
        } else {
            return false;
        }
        if (!*star)
            return true;
        /* What follows the star begins somewhere from here on, or nowhere. */
        if (*star != '?' && *star != '*' && !(text = taken = strchr(taken, *star)))
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool glob_matches(const char *pattern, const char *text)
{
    return is_plain(pattern) && is_ascii(text) ? matches_plain(pattern, text)
                                               : fnmatch(pattern, text, 0) == 0;
}
