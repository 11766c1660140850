/* test_glob.c - patterns mean what fnmatch says they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fnmatch.h>
#include <locale.h>
#include <string.h>

#include <cmocka.h>

#include "reports/glob.h"

static void must_agree(const char *pattern, const char *text)
{
    bool expected = fnmatch(pattern, text, 0) == 0;
    if (glob_matches(pattern, text) != expected)
        fail_msg("'%s' and '%s': fnmatch says %d", pattern, text, expected);
}

/* The text of a number in base `count`, digits from `alphabet`, with `length` of them. */
static void spell(unsigned number, const char *alphabet, unsigned count, unsigned length, char *out)
{
    for (unsigned i = 0; i < length; i++, number /= count)
        out[i] = alphabet[number % count];
    out[length] = '\0';
}

static void every_short_pattern_on_every_short_text(void **state)
{
    (void)state;
    for (unsigned length = 0, patterns = 1; length <= 5; length++, patterns *= 4)
        for (unsigned p = 0; p < patterns; p++)
            for (unsigned size = 0, texts = 1; size <= 5; size++, texts *= 2)
                for (unsigned t = 0; t < texts; t++) {
                    char pattern[8], text[8];
                    spell(p, "ab*?", 4, length, pattern);
                    spell(t, "ab", 2, size, text);
                    must_agree(pattern, text);
                }
}

static void what_is_not_plain(void **state)
{
    static const char *const patterns[] = {"[a-c]*", "\\*", "*\\?*", "?",        "??",  "*\xC3\xA9", "caf?",
                                           "*[!x]",  "[",   "[*",    "\\",       "*.x", ".*",        "a/*",
                                           "*",      "",    "\xFF?", "caf\xC3?", "*é*"};
    static const char *const texts[] = {"",   "*",     "a?b", "caf\xC3\xA9", "\xC3\xA9", "\xFF", "\xFF\xFE",
                                        ".x", "a/b.x", "abc", "[",           "\\",       "cafe"};
    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            must_agree(patterns[p], texts[t]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_pattern_on_every_short_text),
        cmocka_unit_test(what_is_not_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
