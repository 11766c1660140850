/* pass_images.c - image files that material libraries name, and whether the corpus has them.
 *
 * A BMF names the files of its textures (formats/bmf.md); the engine's loaders take several formats, so a
 * name is looked for by its stem, case and folder ignored, among the files no decoder knows that end as
 * images do: those that lie in a folder are sources of the store, those in an archive are listed with it
 * (store/image_names.h). Where an archive has too many to list, or could not be listed to its end, nothing
 * can be said to be missing.
 */
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/census.h"
#include "store/image_names.h"

static int compare_images(const void *a, const void *b)
{
    const struct pass_image *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);
    return order ? order : (x->resource > y->resource) - (x->resource < y->resource);
}

/* "wood01" of "LIB:maps\\Wood01.VTX", into out[length + 1]. */
static void stem_of(const char *name, size_t length, char *out)
{
    size_t start = 0, end = length;
    for (size_t i = 0; i < length; i++)
        if (name[i] == '/' || name[i] == '\\' || name[i] == ':')
            start = i + 1;
    for (size_t i = length; i > start + 1; i--)
        if (name[i - 1] == '.') {
            end = i - 1;
            break;
        }
    for (size_t i = start; i < end; i++)
        *out++ = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 'a' - 'A') : name[i];
    *out = '\0';
}

/* ---- what is named ------------------------------------------------------------------------------------- */

static bool collect_named(struct passes *passes, struct error *err)
{
    size_t room = 0;
    for (size_t i = 0; i < passes->resource_count; i++)
        room += passes->resources[i].image_count;
    passes->images = arena_array(&passes->arena, room, sizeof *passes->images);
    passes->image_count = 0;
    if (!passes->images)
        return passes_out_of_memory(err);
    for (size_t i = 0; i < passes->resource_count; i++)
        for (uint32_t k = 0; k < passes->resources[i].image_count; k++) {
            const char *name = passes->resources[i].images[k];
            char *stem = arena_alloc(&passes->arena, strlen(name) + 1);
            if (!stem)
                return passes_out_of_memory(err);
            stem_of(name, strlen(name), stem);
            passes->images[passes->image_count++] = (struct pass_image){stem, (uint32_t)i};
        }
    if (room)
        qsort(passes->images, room, sizeof *passes->images, compare_images);
    return true;
}

/* ---- what there is ------------------------------------------------------------------------------------- */

struct search {
    struct passes *passes;
    struct buffer stem;
    struct arena arena; /* for the archive that is searched */
    struct error *err;
    bool *found;  /* of the first image with each stem */
    bool unknown; /* an archive does not say what images it has */
};

static void find(struct search *search, const char *name, size_t length)
{
    const struct passes *passes = search->passes;
    buffer_clear(&search->stem);
    char *stem = (char *)buffer_extend(&search->stem, length + 1);
    if (!stem)
        return;
    stem_of(name, length, stem);
    size_t low = 0, high = passes->image_count; /* the first that is not less */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(passes->images[middle].stem, stem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < passes->image_count && strcmp(passes->images[low].stem, stem) == 0)
        search->found[low] = true;
}

/* Whether a list of an archive's members may lack some: it was cut short, or shards are missing. What is
 * wrong with one member's bytes leaves its name known. */
static bool lacks_members(const struct container *archive)
{
    bool own = archive->reason == CONTAINER_BAD_CRC || archive->reason == CONTAINER_ENCRYPTED;
    return (archive->reason != CONTAINER_REASON_NONE && !own) || archive->flags & FLAG_BIT(FLAG_PARTIAL);
}

static bool search_archive(const struct hash *hash, const struct container_head *head, void *ctx)
{
    struct search *search = ctx;
    struct container_record record;
    bool found;
    if (head->format != FORMAT_ARCHIVE && head->format != FORMAT_XDVDFS)
        return true;
    arena_reset(&search->arena);
    if (!store_get_container(search->passes->threads[0].txn, hash, &search->arena, &record, &found,
                             search->err))
        return false;
    const char *name = found ? record.images : NULL, *end;
    search->unknown |= !name || lacks_members(&record.container);
    for (; name && (end = strchr(name, '/')); name = end + 1)
        find(search, name, (size_t)(end - name));
    return !search->unknown && !search->stem.failed;
}

static bool may_be_image(const struct source_head *head, void *ctx)
{
    (void)ctx;
    return head->kind == SOURCE_UNKNOWN || head->kind == SOURCE_FAILED;
}

static bool search_file(const struct hash *hash, const struct source_record *source, void *ctx)
{
    struct search *search = ctx;
    char ending[CENSUS_ENDING_SIZE];
    (void)hash;
    census_ending(source->path, ending);
    if (image_ending(ending))
        find(search, source->path, strlen(source->path));
    return !search->stem.failed;
}

/* Keeps of the images those that are nowhere. */
static bool drop_found(struct search *search, struct error *err)
{
    struct passes *passes = search->passes;
    struct store_txn *txn = passes->threads[0].txn;
    bool ok = store_each_container_head(txn, search_archive, search, err) && err->code == ERROR_NONE;
    if (ok && !search->unknown)
        ok = store_each_source_if(txn, may_be_image, search_file, search, err);
    size_t kept = 0;
    for (size_t i = 0, first = 0; i < passes->image_count; i++) {
        if (strcmp(passes->images[first].stem, passes->images[i].stem) != 0)
            first = i;
        search->found[i] = search->found[first];
        if (!search->found[i] && !search->unknown)
            passes->images[kept++] = passes->images[i];
    }
    passes->image_count = kept;
    return ok && (!search->stem.failed || passes_out_of_memory(err));
}

/* ---- the stage ----------------------------------------------------------------------------------------- */

static bool images_units(struct passes *passes, size_t *count, struct error *err)
{
    struct search search = {.passes = passes, .err = err};
    bool ok = collect_named(passes, err);
    if (ok && passes->image_count) {
        search.found = arena_array(&passes->arena, passes->image_count, sizeof *search.found);
        ok = search.found ? drop_found(&search, err) : passes_out_of_memory(err);
    }
    buffer_free(&search.stem);
    arena_free(&search.arena);
    *count = ok ? passes->image_count : 0;
    return ok;
}

/* The first library that names a missing image speaks for all. */
static bool images_run(const struct passes *passes, size_t unit, int thread, void **result, struct error *err)
{
    (void)thread;
    (void)err;
    if (unit == 0 || strcmp(passes->images[unit - 1].stem, passes->images[unit].stem) != 0)
        *result = &passes->images[unit];
    return true;
}

static bool images_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct pass_image *image = result;
    size_t end = unit, count = 0;
    while (end < passes->image_count && strcmp(passes->images[end].stem, image->stem) == 0)
        end++;
    uint32_t *resources = arena_array(&passes->arena, end - unit, sizeof *resources);
    if (!resources)
        return passes_out_of_memory(err);
    for (size_t i = unit; i < end; i++)
        if (count == 0 || resources[count - 1] != passes->images[i].resource)
            resources[count++] = passes->images[i].resource;
    return passes_find(passes, FINDING_MISSING_IMAGE, NULL, image->stem, resources, count, err,
                       "an image that no input is or has, by this name and any ending; named by %zu", count);
}

const struct stage pass_images = {
    .name = "images", .version = 1, .units = images_units, .run = images_run, .commit = images_commit};
