/* image_names.c - see image_names.h */
#include "store/image_names.h"

#include <stdlib.h>
#include <string.h>

bool image_ending(const char *ending)
{
    /* The first three are those of the studied engine's own loaders (formats/bmf.md). */
    static const char *const endings[] = {".vtx", ".sgi", ".tga", ".bmp",  ".bw",  ".dds",
                                          ".gif", ".iff", ".int", ".jpeg", ".jpg", ".pcx",
                                          ".png", ".ppm", ".rgb", ".rgba", ".tif", ".tiff"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names and drops those that occur again. */
static void settle(struct image_names *names)
{
    struct buffer *text = &names->text, sorted = {0};
    size_t count = 0, at = 0;
    for (size_t i = 0; i < text->size; i++)
        count += text->data[i] == '/';
    const char **list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0, start = 0; list && i < text->size; i++)
        if (text->data[i] == '/') {
            text->data[i] = '\0';
            list[at++] = (const char *)text->data + start;
            start = i + 1;
        }
    if (list && count)
        qsort(list, count, sizeof *list, compare_names);
    for (size_t i = 0; list && i < count; i++)
        if (i == 0 || strcmp(list[i - 1], list[i]) != 0) {
            buffer_append(&sorted, list[i], strlen(list[i]));
            buffer_append(&sorted, "/", 1);
        }
    sorted.failed |= !list;
    free(list);
    buffer_free(text);
    *text = sorted;
    names->lost |= text->size > IMAGE_NAMES_MOST;
}

static void settle_many(struct image_names *names)
{
    if (names->text.size > 4 * IMAGE_NAMES_MOST)
        settle(names);
}

void image_names_add(struct image_names *names, const char *name)
{
    if (names->lost)
        return;
    buffer_append(&names->text, name, strlen(name));
    buffer_append(&names->text, "/", 1);
    settle_many(names);
}

void image_names_add_all(struct image_names *names, const char *text)
{
    if (names->lost)
        return;
    buffer_append(&names->text, text, strlen(text));
    settle_many(names);
}

const char *image_names_text(struct image_names *names)
{
    if (!names->lost)
        settle(names);
    if (names->lost)
        return NULL;
    buffer_append(&names->text, "", 1);
    names->text.size -= !names->text.failed;
    return names->text.failed ? NULL : (const char *)names->text.data;
}

void image_names_free(struct image_names *names)
{
    buffer_free(&names->text);
    *names = (struct image_names){0};
}
