/* names.c - see names.h */
#include "names.h"

#include <stdlib.h>
#include <string.h>

bool names_count_on(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    unsigned long first = 0, second = 0;
    size_t x_end = x, y_end = y;
    while (x && a[x - 1] >= '0' && a[x - 1] <= '9')
        x--;
    while (y && b[y - 1] >= '0' && b[y - 1] <= '9')
        y--;
    if (x != y || memcmp(a, b, x) != 0 || x_end == x || y_end == y || x_end - x > 9 || y_end - y > 9)
        return false;
    first = strtoul(a + x, NULL, 10);
    second = strtoul(b + y, NULL, 10);
    return second == first + 1;
}
