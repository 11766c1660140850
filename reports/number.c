/* number.c - see number.h */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 6 digits always survive decimal -> f32 -> decimal, so that a shorter text is what %.6g gives with its zeros
 * taken off; 9 digits always tell two f32 apart. Both hold for normal values only. */
#define DIGITS_LEAST 6
#define DIGITS_MOST  9

/* Every f32 below is whole or has a fraction; from here on all are whole, and not all whole numbers are f32.
 */
#define WHOLE_LIMIT 16777216.0f

static size_t whole_text(int32_t value, char *text)
{
    char digits[12];
    size_t count = 0, length = 0;
    uint32_t rest = value < 0 ? (uint32_t)-value : (uint32_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        text[length++] = '-';
    while (count)
        text[length++] = digits[--count];
    text[length] = '\0';
    return length;
}

/* Writes scaled / 10^decimals without trailing zeros. */
static size_t fixed_text(bool negative, uint64_t scaled, unsigned decimals, char *text)
{
    while (scaled % 10 == 0 && decimals) {
        scaled /= 10;
        decimals--;
    }
    char digits[24];
    unsigned count = 0;
    size_t length = 0;
    while (scaled || count <= decimals) {
        digits[count++] = (char)('0' + scaled % 10);
        scaled /= 10;
    }
    if (negative)
        text[length++] = '-';
    while (count > decimals)
        text[length++] = digits[--count];
    if (decimals)
        text[length++] = '.';
    while (count)
        text[length++] = digits[--count];
    text[length] = '\0';
    return length;
}

/* The shortest fixed-point text of a value in [1e-3, 2^24) with a fraction; 0 when this way cannot decide.
 * With at most 12 decimals value * 10^decimals has at most 24 + 28 significant bits, so that the product is
 * exact; rounding it to a whole number and dividing gives the double nearest to the decimal, and narrowing
 * that is what strtof does, unless the double lies exactly half-way between two f32: there the decimal itself
 * must decide. */
static size_t decimal_text(float value, char *text)
{
    static const double power[13] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    const uint64_t half_way = UINT64_C(1) << 28, below_f32 = (UINT64_C(1) << 29) - 1;
    double size = fabs((double)value);
    int whole_digits = -2; /* 0.00x */
    while (whole_digits < 8 && size >= (whole_digits < 0 ? 1.0 / power[-whole_digits] : power[whole_digits]))
        whole_digits++;
    for (int digits = DIGITS_LEAST; digits <= DIGITS_MOST; digits++) {
        int decimals = digits - whole_digits;
        if (decimals < 1)
            continue;
        if (decimals > 12)
            return 0;
        double scaled = nearbyint(size * power[decimals]);
        double back = scaled / power[decimals];
        uint64_t bits;
        memcpy(&bits, &back, sizeof bits);
        if ((bits & below_f32) == half_way)
            return 0;
        if ((float)back == fabsf(value))
            return fixed_text(signbit(value), (uint64_t)scaled, (unsigned)decimals, text);
    }
    return 0;
}

/* Prints with the given digits and says whether that reads back. Above a power of two f32 lie twice as far
 * apart as below it, so the nearest decimal below may fail where the next one above, which is farther, reads
 * back: 2^-96, 2^87 and 2^90 have a shorter text for it. */
static bool printed_text(float value, int digits, char *text)
{
    snprintf(text, FLOAT_TEXT_SIZE, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value)
        return true;
    int exponent;
    if (fabsf(frexpf(value, &exponent)) != 0.5f)
        return false;
    snprintf(text, FLOAT_TEXT_SIZE, "%.*g", digits, (double)value * (1 + 0x1p-25));
    return strtof(text, NULL) == value;
}

size_t float_text(float value, char text[FLOAT_TEXT_SIZE])
{
    if (!isfinite(value))
        return (size_t)snprintf(text, FLOAT_TEXT_SIZE, "%s",
                                isnan(value) ? "nan"
                                : value < 0  ? "-inf"
                                             : "inf");
    float size = fabsf(value);
    if (size < WHOLE_LIMIT && truncf(value) == value) {
        if (value == 0 && signbit(value))
            return (size_t)snprintf(text, FLOAT_TEXT_SIZE, "-0");
        return whole_text((int32_t)value, text);
    }
    if (size >= 1e-3f && size < WHOLE_LIMIT) {
        size_t length = decimal_text(value, text);
        if (length)
            return length;
    }
    /* Below the normal range values lie so far apart that one digit may do. */
    int digits = isnormal(value) ? DIGITS_LEAST : 1;
    while (!printed_text(value, digits, text) && digits < DIGITS_MOST)
        digits++;
    return strlen(text);
}

char *count_text(uint64_t value, unsigned at_least, char *text)
{
    char digits[20];
    unsigned first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value || (sizeof digits - first < at_least && first));
    while (first < sizeof digits)
        *text++ = digits[first++];
    return text;
}
