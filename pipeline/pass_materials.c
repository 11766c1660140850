/* pass_materials.c - names that lead nowhere: textures of XBG7 descriptors, libraries and materials of BGF
 * models.
 *
 * An XBG7 descriptor's strings that end as texture channels do (formats/xbg7.md: _col, _spc, _gls, _lum) name
 * TX2D entries of their container. A BGF names `library:material`: the library is a BMF file by its stem,
 * case ignored, the material a name in it (formats/bgf.md). What is not found is a finding. Image files that
 * libraries name are pass_images.c's.
 */
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A name that leads nowhere, and who says it. */
struct missing {
    enum finding_kind kind;
    const char *subject; /* in the passes' memory */
    uint32_t container;  /* of a texture; UINT32_MAX otherwise */
    uint32_t resource;
};

struct missings {
    size_t count, room;
    struct missing *list;
};

static bool add(struct missings *out, struct arena *arena, const struct missing *missing)
{
    if (out->count == out->room) {
        size_t room = out->room ? 2 * out->room : 16;
        struct missing *list = arena_array(arena, room, sizeof *list);
        if (!list)
            return false;
        if (out->count)
            memcpy(list, out->list, out->count * sizeof *list);
        out->list = list;
        out->room = room;
    }
    out->list[out->count++] = *missing;
    return true;
}

/* ---- XBG7 ---------------------------------------------------------------------------------------------- */

static bool is_texture_name(const char *name)
{
    static const char *const channels[] = {"_col", "_spc", "_gls", "_lum"};
    size_t length = strlen(name);
    for (size_t i = 0; length > 4 && i < sizeof channels / sizeof *channels; i++)
        if (strcmp(name + length - 4, channels[i]) == 0)
            return true;
    return false;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A string was taken out of a descriptor up to a few bytes too early: its length is not known to be stored.
 */
#define STRING_SLACK 4u

static bool has_texture(const struct pass_container *container, const char *name)
{
    for (unsigned skip = 0; skip <= STRING_SLACK && name[skip] && container->texture_count; skip++) {
        const char *wanted = name + skip;
        if (bsearch(&wanted, container->textures, container->texture_count, sizeof wanted, compare_texts))
            return true;
    }
    return false;
}

static bool look_for_textures(const struct passes *passes, uint32_t number, struct missings *out,
                              struct arena *arena)
{
    const struct pass_resource *r = &passes->resources[number];
    const struct pass_container *container = &passes->containers[r->container];
    for (uint32_t i = 0; i < r->record->resource.node_count; i++) {
        const char *name = r->record->resource.nodes[i];
        if (!name || !is_texture_name(name) || has_texture(container, name))
            continue;
        if (!add(out, arena, &(struct missing){FINDING_MISSING_TEXTURE, name, r->container, number}))
            return false;
    }
    return true;
}

/* ---- BGF ----------------------------------------------------------------------------------------------- */

static int compare_libraries(const void *a, const void *b)
{
    const struct pass_library *x = a, *y = b;
    int order = strcasecmp(x->name, y->name);
    return order ? order : (x->resource > y->resource) - (x->resource < y->resource);
}

static bool collect_libraries(struct passes *passes, struct error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < passes->resource_count; i++)
        count += passes->resources[i].format == FORMAT_BMF;
    passes->libraries = arena_array(&passes->arena, count, sizeof *passes->libraries);
    if (!passes->libraries)
        return passes_out_of_memory(err);
    passes->library_count = 0;
    for (size_t i = 0; i < passes->resource_count; i++)
        if (passes->resources[i].format == FORMAT_BMF)
            passes->libraries[passes->library_count++] =
                (struct pass_library){passes->resources[i].name, (uint32_t)i};
    qsort(passes->libraries, passes->library_count, sizeof *passes->libraries, compare_libraries);
    return true;
}

/* The first of the libraries of that name, library_count when there is none. */
static size_t find_library(const struct passes *passes, const char *name)
{
    size_t low = 0, high = passes->library_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcasecmp(passes->libraries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < passes->library_count && strcasecmp(passes->libraries[low].name, name) == 0;
    return found ? low : passes->library_count;
}

/* Whether any library of that name has the material. */
static bool has_material(const struct passes *passes, size_t first, const char *library, const char *material)
{
    for (size_t i = first; i < passes->library_count && strcasecmp(passes->libraries[i].name, library) == 0;
         i++) {
        const struct pass_resource *r = &passes->resources[passes->libraries[i].resource];
        if (r->material_count &&
            bsearch(&material, r->materials, r->material_count, sizeof material, compare_texts))
            return true;
    }
    return false;
}

static bool look_for_materials(const struct passes *passes, uint32_t number, struct missings *out,
                               struct arena *arena)
{
    const struct pass_resource *r = &passes->resources[number];
    for (uint32_t i = 0; i < r->material_count; i++) {
        const char *colon = strchr(r->materials[i], ':');
        if (!colon || colon == r->materials[i])
            continue; /* no library is named */
        char *library = arena_copy(arena, r->materials[i], (size_t)(colon - r->materials[i]));
        if (!library)
            return false;
        for (char *p = library; *p; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        size_t first = find_library(passes, library);
        struct missing missing = {FINDING_MISSING_LIBRARY, library, UINT32_MAX, number};
        if (first < passes->library_count && has_material(passes, first, library, colon + 1))
            continue;
        if (first < passes->library_count) {
            missing.kind = FINDING_MISSING_MATERIAL;
            missing.subject = r->materials[i];
        }
        if (!add(out, arena, &missing))
            return false;
    }
    return true;
}

/* ---- the stage ----------------------------------------------------------------------------------------- */

static bool materials_units(struct passes *passes, size_t *count, struct error *err)
{
    *count = passes->container_count;
    buffer_clear(&passes->proposals);
    return collect_libraries(passes, err);
}

static bool materials_run(const struct passes *passes, size_t unit, int thread, void **result,
                          struct error *err)
{
    const struct pass_container *container = &passes->containers[unit];
    struct arena *arena = &passes->threads[thread].arena;
    struct missings *out = arena_alloc(arena, sizeof *out);
    bool ok = out != NULL;
    for (uint32_t i = container->first; ok && i < container->first + container->count; i++) {
        if (passes->resources[i].record)
            ok = look_for_textures(passes, i, out, arena);
        else if (passes->resources[i].format == FORMAT_BGF)
            ok = look_for_materials(passes, i, out, arena);
    }
    *result = ok && out->count ? out : NULL;
    return ok || passes_out_of_memory(err);
}

static bool materials_commit(struct passes *passes, size_t unit, void *result, struct error *err)
{
    const struct missings *missings = result;
    (void)unit;
    for (size_t i = 0; i < missings->count; i++) {
        struct missing missing = missings->list[i];
        missing.subject = arena_copy(&passes->arena, missing.subject, strlen(missing.subject));
        if (!missing.subject)
            return passes_out_of_memory(err);
        buffer_append(&passes->proposals, &missing, sizeof missing);
    }
    return !passes->proposals.failed || passes_out_of_memory(err);
}

static int compare_subjects(const struct missing *a, const struct missing *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->container != b->container)
        return a->container < b->container ? -1 : 1;
    return strcmp(a->subject, b->subject);
}

static int compare_missings(const void *left, const void *right)
{
    const struct missing *a = left, *b = right;
    int order = compare_subjects(a, b);
    return order ? order : (a->resource > b->resource) - (a->resource < b->resource);
}

static bool report(struct passes *passes, const struct missing *missing, const uint32_t *resources,
                   size_t count, struct error *err)
{
    static const char *const messages[FINDING_KIND_COUNT] = {
        [FINDING_MISSING_TEXTURE] = "a texture that the container's directory does not have",
        [FINDING_MISSING_LIBRARY] = "a material library that no BMF file of the store is",
        [FINDING_MISSING_MATERIAL] = "a material that is in no library of that name",
    };
    const struct hash *container =
        missing->container == UINT32_MAX ? NULL : &passes->containers[missing->container].hash;
    return passes_find(passes, missing->kind, container, missing->subject, resources, count, err,
                       "%s; named by %zu", messages[missing->kind], count);
}

/* One finding for each name, with everybody who says it. */
static bool materials_finish(struct passes *passes, struct error *err)
{
    struct missing *all = (struct missing *)passes->proposals.data;
    size_t count = passes->proposals.size / sizeof *all;
    uint32_t *resources = malloc((count + 1) * sizeof *resources);
    bool ok = resources || passes_out_of_memory(err);
    if (ok && count)
        qsort(all, count, sizeof *all, compare_missings);
    for (size_t i = 0, end; ok && i < count; i = end) {
        size_t named = 0;
        for (end = i; end < count && compare_subjects(&all[i], &all[end]) == 0; end++)
            if (named == 0 || resources[named - 1] != all[end].resource)
                resources[named++] = all[end].resource;
        ok = report(passes, &all[i], resources, named, err);
    }
    free(resources);
    return ok;
}

const struct stage pass_materials = {.name = "materials",
                                     .version = 1,
                                     .units = materials_units,
                                     .run = materials_run,
                                     .commit = materials_commit,
                                     .finish = materials_finish};
