/* json_whole.c - see json_whole.h */
#include "pipeline/json_whole.h"

#include <errno.h>
#include <stdlib.h>

static _Thread_local bool starved;

static void *take(size_t size)
{
    void *memory = malloc(size);
    starved |= !memory;
    return memory;
}

void json_watch_memory(void)
{
    json_set_alloc_funcs(take, free);
}

bool json_lacked_memory(void)
{
    const bool lacked = starved;
    starved = false;
    return lacked;
}

bool json_is_whole(const json_t *value)
{
    const bool whole = !json_lacked_memory() && value;
    if (!whole)
        errno = ENOMEM;
    return whole;
}

bool json_whole_write(const json_t *value, FILE *out, size_t flags)
{
    return json_is_whole(value) && json_dumpf(value, out, flags) == 0;
}

char *json_whole_text(const json_t *value, size_t flags)
{
    return json_is_whole(value) ? json_dumps(value, flags) : NULL;
}
