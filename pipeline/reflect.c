/* reflect.c - see reflect.h
 *
 * Exact reflections are found by sorting both sets and comparing. Otherwise the points of one set are put
 * into the cells of a grid, and each point of the other takes the first one within reach that is still free.
 */
#include "pipeline/reflect.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct point {
    float at[3];
};

/* Cells are four times as wide as the tolerance, so that a point's reach touches at most eight. */
#define CELL_WIDTH 4
/* Comparisons for each point, on average; made-up sets crowd one cell. */
#define EFFORT 64

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    for (int k = 0; k < 3; k++)
        if (a->at[k] != b->at[k])
            return a->at[k] < b->at[k] ? -1 : 1;
    return 0;
}

/* Copies the points, negative zeros as zeros. False when one is not finite. */
static bool copy_points(const float *from, size_t count, bool mirrored, struct point *out)
{
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            float value = from[3 * i + (size_t)k];
            out[i].at[k] = (k == 0 && mirrored ? -value : value) + 0.0f;
            finite &= isfinite(value) != 0;
        }
    return finite;
}

static float largest_extent(const struct point *points, size_t count)
{
    float largest = 0;
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            low = fminf(low, points[i].at[k]);
            high = fmaxf(high, points[i].at[k]);
        }
        largest = fmaxf(largest, high - low);
    }
    return largest;
}

/* ---- the grid ------------------------------------------------------------------------------------------ */

struct grid {
    const struct point *points;
    uint32_t *heads, *next; /* number of a point + 1; heads[mask + 1] by cell, next[count] */
    size_t mask;
    double width;
    float tolerance;
    uint64_t effort;
};

static size_t cell_of(const struct grid *grid, int64_t x, int64_t y, int64_t z)
{
    uint64_t hash = (uint64_t)x * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)y * UINT64_C(0xC2B2AE3D27D4EB4F) ^
                    (uint64_t)z * UINT64_C(0x165667B19E3779F9);
    return (size_t)(hash ^ hash >> 32) & grid->mask;
}

static int64_t line_of(const struct grid *grid, double value)
{
    return (int64_t)floor(value / grid->width); /* extents over widths are below 2^20 */
}

static void fill(struct grid *grid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float *at = grid->points[i].at;
        size_t cell = cell_of(grid, line_of(grid, (double)at[0]), line_of(grid, (double)at[1]),
                              line_of(grid, (double)at[2]));
        grid->next[i] = grid->heads[cell];
        grid->heads[cell] = (uint32_t)i + 1;
    }
}

static bool is_within(const struct point *a, const struct point *b, float tolerance)
{
    for (int k = 0; k < 3; k++)
        if (!(fabsf(a->at[k] - b->at[k]) <= tolerance))
            return false;
    return true;
}

/* Takes a point of the cell that is within reach out of the grid. */
static bool take_from(struct grid *grid, size_t cell, const struct point *point)
{
    for (uint32_t *link = &grid->heads[cell]; *link && grid->effort; link = &grid->next[*link - 1]) {
        grid->effort--;
        if (is_within(&grid->points[*link - 1], point, grid->tolerance)) {
            *link = grid->next[*link - 1];
            return true;
        }
    }
    return false;
}

static bool take(struct grid *grid, const struct point *point)
{
    int64_t low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = line_of(grid, (double)point->at[k] - (double)grid->tolerance);
        high[k] = line_of(grid, (double)point->at[k] + (double)grid->tolerance);
    }
    for (int64_t x = low[0]; x <= high[0]; x++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t z = low[2]; z <= high[2]; z++)
                if (take_from(grid, cell_of(grid, x, y, z), point))
                    return true;
    return false;
}

static enum reflect_answer match_nearly(const struct point *a, const struct point *b, size_t count,
                                        struct arena *arena)
{
    float extent = largest_extent(a, count);
    struct grid grid = {
        .points = a, .tolerance = extent * REFLECT_TOLERANCE, .effort = EFFORT * (uint64_t)count};
    size_t cells = 16;
    while (cells < 2 * count)
        cells *= 2;
    /* A set far from the origin has no such precision, and lines past 2^62 no number. */
    float reach = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            reach = fmaxf(reach, fmaxf(fabsf(a[i].at[k]), fabsf(b[i].at[k])));
    if (!(grid.tolerance > 0) || !isfinite(extent) || reach / grid.tolerance > 1e15f)
        return REFLECT_NO;
    grid.width = CELL_WIDTH * (double)grid.tolerance;
    grid.mask = cells - 1;
    grid.heads = arena_array(arena, cells, sizeof *grid.heads);
    grid.next = arena_array(arena, count, sizeof *grid.next);
    if (!grid.heads || !grid.next)
        return REFLECT_NOMEM;
    fill(&grid, count);
    for (size_t i = 0; i < count; i++)
        if (!take(&grid, &b[i]))
            return REFLECT_NO;
    return REFLECT_YES;
}

enum reflect_answer reflect_match(const float *a, const float *b, size_t count, bool mirrored,
                                  struct arena *arena)
{
    struct point *mine = arena_array(arena, count, sizeof *mine),
                 *theirs = arena_array(arena, count, sizeof *theirs);
    if (!mine || !theirs)
        return REFLECT_NOMEM;
    if (count == 0 || count >= UINT32_MAX || !copy_points(a, count, false, mine) ||
        !copy_points(b, count, mirrored, theirs))
        return REFLECT_NO;
    qsort(mine, count, sizeof *mine, compare_points);
    qsort(theirs, count, sizeof *theirs, compare_points);
    if (memcmp(mine, theirs, count * sizeof *mine) == 0)
        return REFLECT_YES;
    return match_nearly(mine, theirs, count, arena);
}
