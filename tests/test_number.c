/* test_number.c - f32 values as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "reports/number.h"

static void numbers_are_short(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.1f, "0.1"},
                 {-42, "-42"},
                 {1e30f, "1e+30"},
                 {24.55f, "24.55"},
                 {0, "0"},
                 {-0.0f, "-0"},
                 {-0.5f, "-0.5"},
                 {16777215, "16777215"},
                 {123456792, "1.2345679e+08"},
                 {0.001f, "0.001"},
                 {1e-5f, "1e-05"},
                 {1.0f / 3, "0.33333334"},
                 {8388607.5f, "8388607.5"},
                 {FLT_MAX, "3.4028235e+38"},
                 {FLT_TRUE_MIN, "1e-45"},
                 {0x1p-96f, "1.2621775e-29"}, /* the nearest decimal of 8 digits does not read back */
                 {0x1p87f, "1.5474251e+26"},
                 {0x1p90f, "1.2379401e+27"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {-NAN, "nan"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[FLOAT_TEXT_SIZE];
        assert_int_equal(float_text(cases[i].value, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

/* Against the plain definition: the first of %.1g .. %.9g that reads back. */
static void numbers_read_back(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 300000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        float value = float_of_bits((uint32_t)(random >> 20));
        if (i % 3 == 1)
            value = (float)((int)(random >> 40) % 2000000) / 1000;
        if (i % 3 == 2)
            value = (float)((double)(random >> 11) / 9e15 * 3000 - 1500);
        if (!isfinite(value))
            continue;
        char text[FLOAT_TEXT_SIZE], plain[FLOAT_TEXT_SIZE];
        float_text(value, text);
        assert_int_equal(bits_of_float(strtof(text, NULL)), bits_of_float(value));
        if (fabsf(value) < 16777216 && truncf(value) == value)
            continue;
        int digits = 1;
        do
            snprintf(plain, sizeof plain, "%.*g", digits, (double)value);
        while (++digits <= 9 && strtof(plain, NULL) != value);
        assert_string_equal(text, plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(numbers_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
