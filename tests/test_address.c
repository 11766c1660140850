/* test_address.c - how places are written (docs/addresses.md). */
#include "pipeline/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is(char *got, const char *expected)
{
    assert_non_null(got);
    assert_string_equal(got, expected);
    free(got);
}

static void inputs(void **state)
{
    (void)state;
    is(address_of_input("a/b.zip"), "a/b.zip");
    is(address_of_input("./a"), "a");
    is(address_of_input("././a"), "a");
    is(address_of_input(".//a"), "a"); /* not the absolute path /a */
    is(address_of_input("a///"), "a");
    is(address_of_input("."), "");
    is(address_of_input("./"), "");
    is(address_of_input("./."), "");
    is(address_of_input(".."), "..");
    is(address_of_input("../a"), "../a");
    is(address_of_input(".hidden"), ".hidden");
    is(address_of_input("/"), "/");
    is(address_of_input("//"), "/");
    is(address_of_input("/a/"), "/a");
    is(address_of_input("100%!#.zip"), "100%25%21%23.zip");
}

static void member(const char *raw, const char *expected)
{
    is(address_of_member(raw, strlen(raw)), expected);
}

static void members(void **state)
{
    (void)state;
    member("a/b", "a/b");
    member("./a//b/", "a/b");
    member(".//./a", "a");
    member("/etc/passwd", "/etc/passwd");
    member("//etc", "/etc");
    member("../a", "../a"); /* kept as it is: nothing is ever written to disc */
    member("a/./b", "a/./b");
    member("./", "");
    member("a!b#c%d", "a%21b%23c%25d");
    member("a\\b", "a\\b");
    is(address_of_member("a\0b", 3), "a%00b");
}

static void escaping(void **state)
{
    (void)state;
    member("caf\xC3\xA9", "caf\xC3\xA9");
    member("caf\xE9", "caf%E9");         /* Latin-1 */
    member("caf\xE9.bgf", "caf%E9.bgf"); /* a lead byte without its trail */
    member("\xC3", "%C3");               /* cut at the end */
    member("\xE2\x82", "%E2%82");
    member("\xC0\xAF", "%C0%AF"); /* overlong '/' */
    member("\xE0\x80\xAF", "%E0%80%AF");
    member("\xF0\x80\x80\xAF", "%F0%80%80%AF");
    member("\xED\xA0\x80", "%ED%A0%80");        /* a surrogate */
    member("\xF4\x90\x80\x80", "%F4%90%80%80"); /* past U+10FFFF */
    member("\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF");
    member("\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80");
    member("\xFF\xFE", "%FF%FE");
}

static void unescaping(void **state)
{
    (void)state;
    size_t size;
    is(address_unescape("a%21b", 5, &size), "a!b");
    assert_int_equal(size, 3);
    is(address_unescape("%c3%A9", 6, NULL), "\xC3\xA9");
    is(address_unescape("100%", 4, NULL), "100%");
    is(address_unescape("%2", 2, NULL), "%2");
    is(address_unescape("%zz%4", 5, NULL), "%zz%4");
    is(address_unescape("%2521", 5, NULL), "%21"); /* once, not twice */
    char *bytes = address_unescape("a%00b", 5, &size);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    free(bytes);
}

/* Whatever the bytes, escaping loses nothing. */
static void round_trip(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        char raw[24], *text, *back;
        size_t length = 0, size;
        for (; length < sizeof raw; length++) {
            seed = seed * 1664525 + 1013904223;
            raw[length] = (char)(seed >> 24);
        }
        text = address_escape(raw, length);
        assert_null(strpbrk(text, "!#"));
        back = address_unescape(text, strlen(text), &size);
        assert_int_equal(size, length);
        assert_memory_equal(back, raw, length);
        free(text);
        free(back);
    }
}

static void parsed(const char *text, const char *container, const char *resource, bool by_index,
                   uint32_t index)
{
    struct address address;
    assert_true(address_parse(text, &address));
    assert_string_equal(address.container, container);
    if (resource)
        assert_string_equal(address.resource, resource);
    else
        assert_null(address.resource);
    assert_int_equal(address.by_index, by_index);
    assert_int_equal(address.index, index);
    address_free(&address);
}

static void parsing(void **state)
{
    (void)state;
    parsed("a.zip!b.xpr", "a.zip!b.xpr", NULL, false, 0);
    parsed("a.zip!b.xpr#12", "a.zip!b.xpr", "12", true, 12);
    parsed("b.xpr#e003", "b.xpr", "e003", false, 0);
    parsed("b.xpr#", "b.xpr", "", false, 0);
    parsed("b.xpr#007", "b.xpr", "007", true, 7);
    parsed("b.xpr#4294967295", "b.xpr", "4294967295", true, UINT32_MAX);
    parsed("b.xpr#99999999999999999999999", "b.xpr", "99999999999999999999999", true, UINT32_MAX);
    parsed("b%23c.xpr#%23", "b%23c.xpr", "%23", false, 0);
    parsed("#3", "", "3", true, 3);
}

static void stems(void **state)
{
    (void)state;
    is(address_stem("a.zip!b/CALPB.BGF"), "CALPB");
    is(address_stem("CALPB.BGF"), "CALPB");
    is(address_stem("dir.d/CALPB"), "CALPB");
    is(address_stem("a.zip!b.c.bgf"), "b.c");
    is(address_stem("a.zip!.bgf"), ".bgf");
    is(address_stem("a.zip!b.bgf~2"), "b");
    is(address_stem("a.zip!wow%21.bgf"), "wow!");
    is(address_stem("a.zip!caf%E9.bgf"), "caf%E9");
    is(address_stem("a.zip!"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs),     cmocka_unit_test(members),    cmocka_unit_test(escaping),
        cmocka_unit_test(unescaping), cmocka_unit_test(round_trip), cmocka_unit_test(parsing),
        cmocka_unit_test(stems),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
