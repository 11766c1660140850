/* census.c - see census.h */
#include "pipeline/census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM     ((size_t)64)
#define ENDING_LONGEST ((size_t)16)

void census_magic(const uint8_t *bytes, size_t size, char magic[static CENSUS_MAGIC_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    size_t shown = size < 4 ? size : 4;
    for (size_t i = 0; i < shown; i++) {
        magic[2 * i] = digits[bytes[i] >> 4];
        magic[2 * i + 1] = digits[bytes[i] & 15];
    }
    magic[2 * shown] = '\0';
}

void census_ending(const char *name, char ending[static CENSUS_ENDING_SIZE])
{
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? strlen(dot) : 0;
    ending[0] = '\0';
    if (length > ENDING_LONGEST)
        return;
    for (size_t i = 0; i < length; i++) {
        char c = dot[i];
        if (c <= ' ' || c > '~') {
            ending[0] = '\0';
            return;
        }
        ending[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    ending[length] = '\0';
}

static uint64_t hash_of(const void *bytes, size_t size)
{
    return hash_checksum(NULL, 0, bytes, size);
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* The slot of a name, or the free one where it belongs. The table always has free slots. */
static struct name_slot *name_find(const struct name_set *set, const char *name, uint64_t hash)
{
    size_t i = hash & (set->room - 1);
    while (set->slots[i].name && (set->slots[i].hash != hash || strcmp(set->slots[i].name, name) != 0))
        i = (i + 1) & (set->room - 1);
    return &set->slots[i];
}

static bool name_set_grow(struct name_set *set)
{
    if (set->count < set->room / 2)
        return true;
    struct name_set old = *set;
    set->room = old.room ? old.room * 2 : FIRST_ROOM;
    set->slots = calloc(set->room, sizeof *set->slots);
    if (!set->slots) {
        *set = old;
        return false;
    }
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].name)
            *name_find(set, old.slots[i].name, old.slots[i].hash) = old.slots[i];
    free(old.slots);
    return true;
}

static const char *name_put(struct name_set *set, struct name_slot *slot, const char *name, uint64_t hash)
{
    const char *copy = arena_copy(&set->arena, name, strlen(name));
    if (!copy)
        return NULL;
    *slot = (struct name_slot){.name = copy, .hash = hash, .next = 2};
    set->count++;
    return copy;
}

const char *name_set_claim(struct name_set *set, const char *name)
{
    size_t length = strlen(name);
    uint64_t hash = hash_of(name, length);
    if (!name_set_grow(set))
        return NULL;
    struct name_slot *slot = name_find(set, name, hash);
    if (!slot->name)
        return name_put(set, slot, name, hash);
    char *numbered = malloc(length + 16);
    if (!numbered)
        return NULL;
    /* The number is kept with the name, so that n members of one name take n steps, not n squared. */
    const char *claimed = NULL;
    struct name_slot *free_slot;
    uint64_t numbered_hash;
    do {
        int tail = snprintf(numbered + length, 16, "~%u", slot->next++);
        memcpy(numbered, name, length);
        numbered_hash = hash_of(numbered, length + (size_t)tail);
        free_slot = name_find(set, numbered, numbered_hash);
    } while (free_slot->name);
    claimed = name_put(set, free_slot, numbered, numbered_hash);
    free(numbered);
    return claimed;
}

bool name_set_has(const struct name_set *set, const char *name)
{
    return set->room && name_find(set, name, hash_of(name, strlen(name)))->name;
}

void name_set_free(struct name_set *set)
{
    free(set->slots);
    arena_free(&set->arena);
    *set = (struct name_set){0};
}

/* ---- counts -------------------------------------------------------------------------------------------- */

static struct census_cell *census_find(const struct census *census, const struct census_cell *key)
{
    uint64_t hash = hash_checksum(key->magic, strlen(key->magic), key->ending, strlen(key->ending));
    size_t i = hash & (census->room - 1);
    while (census->cells[i].count && (strcmp(census->cells[i].magic, key->magic) != 0 ||
                                      strcmp(census->cells[i].ending, key->ending) != 0))
        i = (i + 1) & (census->room - 1);
    return &census->cells[i];
}

static bool census_grow(struct census *census)
{
    if (census->count < census->room / 2)
        return true;
    struct census old = *census;
    census->room = old.room ? old.room * 2 : FIRST_ROOM;
    census->cells = calloc(census->room, sizeof *census->cells);
    if (!census->cells) {
        *census = old;
        return false;
    }
    for (size_t i = 0; i < old.room; i++)
        if (old.cells[i].count)
            *census_find(census, &old.cells[i]) = old.cells[i];
    free(old.cells);
    return true;
}

bool census_add(struct census *census, const uint8_t *head, size_t head_size, const char *name,
                uint64_t bytes)
{
    struct census_cell key = {.count = 0};
    census_magic(head, head_size, key.magic);
    census_ending(name, key.ending);
    if (image_ending(key.ending))
        image_names_add(&census->images, name);
    if (!census_grow(census) || census->images.text.failed)
        return false;
    struct census_cell *cell = census_find(census, &key);
    if (!cell->count) {
        *cell = key;
        census->count++;
    }
    cell->count++;
    cell->bytes += bytes;
    return true;
}

static int row_order(const void *a, const void *b)
{
    const struct census_row *x = a, *y = b;
    int order = strcmp(x->magic, y->magic);
    return order ? order : strcmp(x->ending, y->ending);
}

bool census_rows(const struct census *census, struct census_row **rows, uint32_t *count)
{
    const size_t strings = CENSUS_MAGIC_SIZE + CENSUS_ENDING_SIZE;
    *rows = NULL;
    *count = 0;
    if (!census->count)
        return true;
    struct census_row *row = malloc(census->count * (sizeof *row + strings));
    if (!row)
        return false;
    *rows = row;
    char *text = (char *)(row + census->count);
    for (size_t i = 0; i < census->room; i++) {
        const struct census_cell *cell = &census->cells[i];
        if (!cell->count)
            continue;
        char *magic = text, *ending = text + CENSUS_MAGIC_SIZE;
        memcpy(magic, cell->magic, CENSUS_MAGIC_SIZE);
        memcpy(ending, cell->ending, CENSUS_ENDING_SIZE);
        *row++ = (struct census_row){magic, ending, cell->count, cell->bytes};
        text += strings;
    }
    *count = (uint32_t)census->count;
    qsort(*rows, *count, sizeof **rows, row_order);
    return true;
}

bool census_images(struct census *census, char **text)
{
    const char *images = image_names_text(&census->images);
    *text = images ? strdup(images) : NULL;
    return images ? *text != NULL : census->images.lost;
}

void census_free(struct census *census)
{
    image_names_free(&census->images);
    free(census->cells);
    *census = (struct census){0};
}
