/* race.c - two threads of OpenMP that count in one variable without a lock: what ThreadSanitizer has to
 * report, or its silence about the program says nothing. */
#include <stdio.h>

int main(void)
{
    int count = 0;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++)
        count++;
    printf("%d\n", count);
    return 0;
}
