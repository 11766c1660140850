/* glob.c - see glob.h */
#include "reports/glob.h"

#include <fnmatch.h>
#include <stddef.h>

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

static bool is_plain(const char *pattern)
{
    for (const char *p = pattern; *p; p++)
        if (*p == '[' || *p == '\\')
            return false;
    return is_ascii(pattern);
}

bool glob_matches(const char *pattern, const char *text)
{
    if (!is_plain(pattern) || !is_ascii(text))
        return fnmatch(pattern, text, 0) == 0;
    /* Only the last star may have to take more: whatever an earlier one took before it can stay. */
    const char *star = NULL, *taken = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            taken = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
