/* declined.c - see declined.h */
#include "pipeline/declined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "e" of "e303_wep_01", "eff" of "eff012": the letters in front, at most eight. */
static void prefix_of(const char *name, char out[static 40])
{
    size_t length = 0;
    while (length < 8 &&
           ((name[length] >= 'a' && name[length] <= 'z') || (name[length] >= 'A' && name[length] <= 'Z')))
        length++;
    memcpy(out, name, length);
    out[length] = '\0';
}

/* "4096-16383": by powers of four, so that rows are few; "0" for what declares none. */
static void class_of(uint32_t vertices, char out[static 40])
{
    uint64_t low = 1;
    while (vertices / 4 >= low)
        low *= 4;
    if (vertices == 0)
        strcpy(out, "0");
    else
        snprintf(out, 40, "%llu-%llu", (unsigned long long)low, (unsigned long long)(4 * low - 1));
}

static int compare_rows(const void *a, const void *b)
{
    const struct declined_row *x = a, *y = b;
    if (x->dimension != y->dimension)
        return x->dimension < y->dimension ? -1 : 1;
    return strcmp(x->key, y->key);
}

static uint32_t join_rows(struct declined_row *rows, size_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare_rows(&rows[kept - 1], &rows[i]) == 0)
            rows[kept - 1].count += rows[i].count;
        else
            rows[kept++] = rows[i];
    }
    return kept;
}

static bool add_rows(struct passes *passes, const struct pass_resource *r, struct declined_row rows[static 4])
{
    char keys[CENSUS_DIMENSION_COUNT][40];
    snprintf(keys[CENSUS_REASON], 40, "%s", decline_reason_word(r->now.reason));
    prefix_of(r->name, keys[CENSUS_PREFIX]);
    hash_format(&r->key.container, keys[CENSUS_CONTAINER]);
    class_of(r->vertices, keys[CENSUS_VERTICES]);
    for (int i = 0; i < CENSUS_DIMENSION_COUNT; i++) {
        rows[i] = (struct declined_row){(enum census_dimension)i, NULL, 1};
        rows[i].key = arena_copy(&passes->arena, keys[i], strlen(keys[i]));
        if (!rows[i].key)
            return false;
    }
    return true;
}

bool declined_census(struct passes *passes, struct declined_census *census, struct error *err)
{
    size_t declined = 0, at = 0;
    for (size_t i = 0; i < passes->resource_count; i++)
        declined += passes->resources[i].now.status == RESOURCE_DECLINED;
    *census = (struct declined_census){0};
    census->rows = arena_array(&passes->arena, declined * CENSUS_DIMENSION_COUNT, sizeof *census->rows);
    if (!census->rows)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < passes->resource_count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        if (r->now.status != RESOURCE_DECLINED)
            continue;
        if (!add_rows(passes, r, census->rows + at))
            return passes_out_of_memory(err);
        at += CENSUS_DIMENSION_COUNT;
    }
    census->count = join_rows(census->rows, at);
    return store_last_run(passes->threads[0].txn, &census->run, err);
}
