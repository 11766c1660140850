/* passes_load.c - the store into the arrays of passes.h. */
#include "pipeline/passes.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/census.h"
#include "store/image_names.h"

/* A geometry, by the bytes it was decoded from and by what its markers say of them. */
struct pass_bytes {
    struct hash from, geometry;
};

struct load {
    struct passes *passes;
    struct store_txn *txn;
    struct buffer wanted;                /* see is_wanted; of struct hash, sorted */
    size_t next;                         /* of those: the first that the walk has not passed */
    struct buffer containers, resources; /* being collected */
    struct pass_container *container;    /* the one whose resources are read */
    const char *stem;
    struct error *err;
};

/* ---- what a resource looks like ------------------------------------------------------------------------ */

static void add_word(struct buffer *out, uint32_t word)
{
    buffer_append(out, &word, sizeof word);
}

/* Hashes of what decides how bytes are read: only compared within one run, so the machine's byte order will
 * do. */
static bool hash_markers(const struct resource *resource, struct hash *form, struct hash *look)
{
    struct buffer words = {0};
    for (uint32_t i = 0; i < resource->marker_count; i++) {
        const struct xbg7_marker *marker = &resource->markers[i];
        add_word(&words, marker->vertex_count);
        add_word(&words, marker->index_count);
        add_word(&words, marker->stride);
        add_word(&words, marker->element_count);
        for (uint32_t k = 0; k < marker->element_count; k++) {
            add_word(&words, marker->elements[k].offset);
            add_word(&words, (uint32_t)marker->elements[k].usage << 8 | marker->elements[k].usage_index);
            add_word(&words, marker->elements[k].format);
        }
    }
    *form = hash_bytes(words.data, words.size);
    for (uint32_t i = 0; i < resource->marker_count; i++) {
        add_word(&words, resource->markers[i].draw_count);
        for (uint32_t k = 0; k < resource->markers[i].draw_count; k++) {
            add_word(&words, resource->markers[i].draws[k].vertex_count);
            add_word(&words, resource->markers[i].draws[k].index_count);
        }
    }
    *look = hash_bytes(words.data, words.size);
    bool ok = !words.failed;
    buffer_free(&words);
    return ok;
}

/* ---- material names ------------------------------------------------------------------------------------ */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names and drops what occurs again. */
static uint32_t distinct(const char **names, uint32_t count)
{
    uint32_t kept = 0;
    if (count)
        qsort(names, count, sizeof *names, compare_texts);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    return kept;
}

/* Keeps the distinct names in memory that stays. */
static bool keep_names(struct load *load, const char **names, uint32_t count, const char ***kept,
                       uint32_t *kept_count)
{
    struct arena *arena = &load->passes->arena;
    *kept_count = distinct(names, count);
    *kept = arena_array(arena, *kept_count, sizeof **kept);
    bool ok = *kept != NULL;
    for (uint32_t i = 0; ok && i < *kept_count; i++)
        ok = ((*kept)[i] = arena_copy(arena, names[i], strlen(names[i]))) != NULL;
    return ok || passes_out_of_memory(load->err);
}

/* The strings of a library that name image files: which tag they have is not known (formats/bmf.md), what
 * they end in is. */
static bool take_images(struct load *load, const struct resource *resource, struct pass_resource *out)
{
    uint32_t room = 0, count = 0;
    char ending[CENSUS_ENDING_SIZE];
    for (uint32_t i = 0; i < resource->material_count; i++)
        room += resource->materials[i].string_count;
    const char **names = calloc((size_t)room + 1, sizeof *names);
    if (!names)
        return passes_out_of_memory(load->err);
    for (uint32_t i = 0; i < resource->material_count; i++)
        for (uint32_t k = 0; k < resource->materials[i].string_count; k++) {
            const char *text = resource->materials[i].strings[k].text;
            census_ending(text, ending);
            if (image_ending(ending))
                names[count++] = text;
        }
    bool ok = keep_names(load, names, count, &out->images, &out->image_count);
    free(names);
    return ok;
}

static bool take_materials(struct load *load, const struct resource_record *record, struct pass_resource *out)
{
    const struct resource *resource = &record->resource;
    uint32_t count = 0;
    const char **names = calloc((size_t)record->part_count * 2 + resource->material_count + 1, sizeof *names);
    if (!names)
        return passes_out_of_memory(load->err);
    for (uint32_t i = 0; i < record->part_count; i++) {
        if (resource->parts[i].material)
            names[count++] = resource->parts[i].material;
        if (resource->parts[i].back_material)
            names[count++] = resource->parts[i].back_material;
    }
    for (uint32_t i = 0; i < resource->material_count; i++)
        if (resource->materials[i].name)
            names[count++] = resource->materials[i].name;
    bool ok = keep_names(load, names, count, &out->materials, &out->material_count) &&
              take_images(load, resource, out);
    free(names);
    return ok;
}

/* ---- resources ----------------------------------------------------------------------------------------- */

/* Reads an XBG7 record again into memory that stays, with its candidates. */
static bool keep_record(struct load *load, const struct resource_key *key, struct pass_resource *out)
{
    struct arena *arena = &load->passes->arena;
    struct resource_record *record = arena_alloc(arena, sizeof *record);
    bool found;
    if (!record)
        return passes_out_of_memory(load->err);
    if (!store_get_resource(load->txn, &key->container, key->index, arena, record, &found, load->err) ||
        !store_get_candidates(load->txn, &key->container, arena, record, load->err))
        return false;
    out->record = record;
    return !record->resource.marker_count || hash_markers(&record->resource, &out->form, &out->look) ||
           passes_out_of_memory(load->err);
}

static struct pass_outcome first_outcome(const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    bool placed = resource->buffer_count != 0;
    return (struct pass_outcome){.status = resource->status,
                                 .reason = resource->reason,
                                 .chosen = placed ? resource->chosen : RESOLVED_NONE,
                                 .score = resource->score,
                                 .margin = resource->margin,
                                 .geometry = record->geometry,
                                 .geometry_bytes = record->geometry_bytes,
                                 .bounds = resource->bounds,
                                 .flags = resource->flags};
}

static bool load_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct load *load = ctx;
    const struct resource *resource = &record->resource;
    struct pass_resource out = {.key = *key,
                                .container =
                                    (uint32_t)(load->containers.size / sizeof(struct pass_container)),
                                .format = resource->format,
                                .vertices = resource->vertices,
                                .triangles = resource->triangles,
                                .was = resource->status,
                                .was_reason = resource->reason,
                                .geometry = record->geometry};
    const char *name = resource->name ? resource->name : load->stem ? load->stem : "";
    out.name = arena_copy(&load->passes->arena, name, strlen(name));
    if (!out.name)
        return passes_out_of_memory(load->err);
    if (resource->format == FORMAT_XBG7 ? !keep_record(load, key, &out) : !take_materials(load, record, &out))
        return false;
    if (out.record) {
        out.now = first_outcome(out.record);
        if (out.now.chosen != RESOLVED_NONE && out.now.chosen >= out.record->resource.candidate_count)
            out.now.chosen = RESOLVED_NONE; /* placed without candidates: nothing is decided about it here */
    } else {
        out.now = first_outcome(record);
    }
    buffer_append(&load->resources, &out, sizeof out);
    load->container->count++;
    return !load->resources.failed || passes_out_of_memory(load->err);
}

/* ---- containers ---------------------------------------------------------------------------------------- */

static bool take_textures(struct load *load, const struct container *container, struct pass_container *out)
{
    struct arena *arena = &load->passes->arena;
    out->texture_count = container->texture_count;
    out->textures = arena_array(arena, container->texture_count, sizeof *out->textures);
    bool ok = out->textures != NULL;
    for (uint32_t i = 0; ok && i < container->texture_count; i++) {
        const char *name = container->textures[i].name ? container->textures[i].name : "";
        ok = (out->textures[i] = arena_copy(arena, name, strlen(name))) != NULL;
    }
    if (ok && out->texture_count)
        qsort(out->textures, out->texture_count, sizeof *out->textures, compare_texts);
    return ok || passes_out_of_memory(load->err);
}

static bool load_container(struct load *load, const struct hash *hash, const struct container *container)
{
    struct arena arena = {0};
    const char **paths;
    size_t count;
    struct pass_container out = {.hash = *hash,
                                 .format = container->format,
                                 .status = container->status,
                                 .reason = container->reason,
                                 .data_offset = container->data_offset,
                                 .data_size = container->data_size,
                                 .first = (uint32_t)(load->resources.size / sizeof(struct pass_resource))};
    char *stem = NULL;
    bool ok = store_places(load->txn, hash, &arena, &paths, &count, NULL, load->err);
    if (ok && count && container->format != FORMAT_XPR2 && !(stem = address_stem(paths[0])))
        ok = passes_out_of_memory(load->err);
    arena_free(&arena);
    load->stem = stem;
    load->container = &out;
    ok = ok && take_textures(load, container, &out) &&
         store_each_resource_of(load->txn, hash, load_resource, load, load->err) &&
         load->err->code == ERROR_NONE;
    load->stem = NULL;
    load->container = NULL;
    free(stem);
    buffer_append(&load->containers, &out, sizeof out);
    return ok && (!load->containers.failed || passes_out_of_memory(load->err));
}

/* ---- which containers ---------------------------------------------------------------------------------- */

/* A MESHBIN is one model without names inside, decoded by itself. What the passes say of it is that another
 * content has its name, that it was declined, or that a capture means it: a hundred thousand of which none
 * holds are left where they are. */
static bool is_wanted(struct load *load, const struct hash *hash, const struct container_head *head)
{
    const struct hash *wanted = (const struct hash *)load->wanted.data;
    size_t count = load->wanted.size / sizeof *wanted;
    while (load->next < count && memcmp(wanted[load->next].bytes, hash->bytes, HASH_SIZE) < 0)
        load->next++;
    return head->resource_count && (head->format != FORMAT_MESHBIN || head->by_status[RESOURCE_DECLINED] ||
                                    (load->next < count && hash_equal(&wanted[load->next], hash)));
}

static bool load_wanted(const struct hash *hash, const struct container_head *head, void *ctx)
{
    struct load *load = ctx;
    struct arena arena = {0};
    struct container_record record;
    bool found;
    if (!is_wanted(load, hash, head))
        return true;
    bool ok = store_get_container(load->txn, hash, &arena, &record, &found, load->err) &&
              (!found || load_container(load, hash, &record.container));
    arena_free(&arena);
    return ok;
}

static bool want(const struct hash *container, void *ctx)
{
    struct load *load = ctx;
    buffer_append(&load->wanted, container, sizeof *container);
    return !load->wanted.failed || passes_out_of_memory(load->err);
}

/* Whatever lies where a capture says: what is wrong with it is told of that content. */
static bool want_captured(struct load *load)
{
    const struct passes *passes = load->passes;
    struct arena arena = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < passes->capture_count; i++) {
        const struct capture_record *capture = &passes->captures[i];
        struct source_record source;
        bool found;
        if (capture->kind != CAPTURE_PLACE)
            continue;
        struct hash path = hash_bytes(capture->container, strlen(capture->container));
        ok = store_get_source(load->txn, &path, &arena, &source, &found, load->err) &&
             (!found || want(&source.container, load));
        arena_reset(&arena);
    }
    arena_free(&arena);
    return ok;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, HASH_SIZE);
}

static bool load_containers(struct load *load)
{
    bool ok = store_each_namesake(load->txn, want, load, load->err) && load->err->code == ERROR_NONE &&
              want_captured(load);
    if (ok && load->wanted.size)
        qsort(load->wanted.data, load->wanted.size / HASH_SIZE, HASH_SIZE, compare_hashes);
    return ok && store_each_container_head(load->txn, load_wanted, load, load->err) &&
           load->err->code == ERROR_NONE;
}

/* ---- geometries by bytes ------------------------------------------------------------------------------- */

static struct hash bytes_key(const struct pass_resource *r, uint32_t candidate)
{
    const struct candidate_hashes *hashes = &r->record->candidate_hashes[candidate];
    const struct hash words[3] = {hashes->index_bytes, hashes->vertex_bytes, r->look};
    return hash_bytes(words, sizeof words);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct pass_bytes *x = a, *y = b;
    return memcmp(x->from.bytes, y->from.bytes, HASH_SIZE);
}

/* What the decoder stored of a candidate. */
static struct hash own_geometry(const struct pass_resource *r, uint32_t candidate)
{
    struct hash geometry = r->record->candidate_hashes[candidate].geometry;
    bool chosen = r->record->resource.buffer_count && r->record->resource.chosen == candidate;
    return hash_is_zero(&geometry) && chosen ? r->geometry : geometry;
}

static bool index_bytes(struct passes *passes, struct error *err)
{
    struct buffer list = {0};
    for (size_t i = 0; i < passes->resource_count; i++) {
        const struct pass_resource *r = &passes->resources[i];
        uint32_t count = r->record ? r->record->resource.candidate_count : 0;
        for (uint32_t c = 0; c < count; c++) {
            struct pass_bytes entry = {.geometry = own_geometry(r, c)};
            if (hash_is_zero(&entry.geometry))
                continue;
            entry.from = bytes_key(r, c);
            buffer_append(&list, &entry, sizeof entry);
        }
    }
    struct pass_bytes *bytes = arena_array(&passes->arena, 1, list.size + 1);
    bool ok = bytes && !list.failed;
    if (ok) {
        passes->bytes_count = list.size / sizeof *bytes;
        passes->bytes = bytes;
        if (list.size)
            memcpy(bytes, list.data, list.size);
        qsort(bytes, passes->bytes_count, sizeof *bytes, compare_bytes);
    }
    buffer_free(&list);
    return ok || passes_out_of_memory(err);
}

struct hash pass_geometry_of(const struct passes *passes, const struct pass_resource *r, uint32_t candidate)
{
    struct hash own = own_geometry(r, candidate);
    if (!hash_is_zero(&own) || !passes->bytes_count)
        return own;
    const struct pass_bytes wanted = {.from = bytes_key(r, candidate)};
    const struct pass_bytes *found =
        bsearch(&wanted, passes->bytes, passes->bytes_count, sizeof wanted, compare_bytes);
    return found ? found->geometry : own;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

bool passes_load(struct passes *passes, struct store *store, int threads, struct error *err)
{
    *passes = (struct passes){.store = store, .thread_count = threads > 0 ? threads : 1};
    passes->threads = calloc((size_t)passes->thread_count, sizeof *passes->threads);
    if (!passes->threads)
        return passes_out_of_memory(err);
    for (int i = 0; i < passes->thread_count; i++)
        if (!(passes->threads[i].txn = store_begin_read(store, err)))
            return false;
    struct load load = {.passes = passes, .txn = passes->threads[0].txn, .err = err};
    struct capture_record *captures = NULL;
    bool ok = store_get_captures(load.txn, &passes->arena, &captures, &passes->capture_count, err);
    passes->captures = captures;
    ok = ok && load_containers(&load);
    buffer_free(&load.wanted);
    passes->container_count = load.containers.size / sizeof *passes->containers;
    passes->resource_count = load.resources.size / sizeof *passes->resources;
    passes->containers = (struct pass_container *)load.containers.data;
    passes->resources = (struct pass_resource *)load.resources.data;
    return ok && index_bytes(passes, err);
}

void passes_close(struct passes *passes)
{
    for (int i = 0; passes->threads && i < passes->thread_count; i++) {
        store_end_read(passes->threads[i].txn);
        passes->threads[i].txn = NULL;
    }
}

void passes_free(struct passes *passes)
{
    passes_close(passes);
    for (int i = 0; passes->threads && i < passes->thread_count; i++) {
        arena_free(&passes->threads[i].arena);
        buffer_free(&passes->threads[i].bytes);
    }
    free(passes->threads);
    free(passes->containers);
    free(passes->resources);
    free(passes->groups);
    free(passes->group_starts);
    buffer_free(&passes->findings);
    buffer_free(&passes->proposals);
    arena_free(&passes->arena);
    *passes = (struct passes){0};
}
