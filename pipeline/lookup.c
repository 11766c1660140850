/* lookup.c - see lookup.h */
#include "pipeline/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* Whether the part of an address behind '#' means this resource. */
static bool means(const struct address *address, const char *wanted, uint32_t index, const char *name)
{
    if (!address->resource)
        return true;
    return address->by_index ? address->index == index : name && strcmp(name, wanted) == 0;
}

struct collect {
    const struct address *address;
    const char *wanted; /* the unescaped name behind '#' */
    const char *stem;   /* the name of resources without a directory's */
    struct arena *arena;
    struct resource_key *keys;
    size_t count, room;
    bool failed;
};

static bool collect_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct collect *collect = ctx;
    const char *name = record->resource.name ? record->resource.name : collect->stem;
    if (!means(collect->address, collect->wanted, key->index, name))
        return true;
    if (collect->count == collect->room) {
        size_t room = collect->room ? collect->room * 2 : 64;
        struct resource_key *keys = arena_array(collect->arena, room, sizeof *keys);
        if (!keys)
            return !(collect->failed = true);
        if (collect->count)
            memcpy(keys, collect->keys, collect->count * sizeof *keys);
        collect->keys = keys;
        collect->room = room;
    }
    collect->keys[collect->count++] = *key;
    return true;
}

/* The resource of an index, without a look at the others: a directory may have thousands. */
static bool resource_at(struct store_txn *txn, const struct hash *container, uint32_t index,
                        struct arena *arena, struct collect *collect, struct error *err)
{
    struct resource_record record;
    bool found = false;
    *collect = (struct collect){.arena = arena};
    if (!store_get_resource(txn, container, index, arena, &record, &found, err) || !found)
        return err->code == ERROR_NONE;
    if (!(collect->keys = arena_alloc(arena, sizeof *collect->keys)))
        return out_of_memory(err);
    collect->keys[collect->count++] = (struct resource_key){*container, index};
    return true;
}

/* The container at a path: *found tells whether the store knows one there. */
static bool resources_at(struct store_txn *txn, const struct address *address, const char *path,
                         struct arena *arena, struct collect *collect, bool *found, struct error *err)
{
    struct source_record source;
    struct hash key = hash_bytes(path, strlen(path));
    if (!store_get_source(txn, &key, arena, &source, found, err))
        return false;
    *found = *found && source.kind == SOURCE_CONTAINER;
    if (!*found)
        return true;
    if (address->by_index)
        return resource_at(txn, &source.container, address->index, arena, collect, err);
    size_t length = 0;
    char *wanted =
        address->resource ? address_unescape(address->resource, strlen(address->resource), &length) : NULL;
    *collect = (struct collect){
        .address = address, .wanted = wanted ? wanted : "", .stem = source.stem, .arena = arena};
    bool ok = store_each_resource_of(txn, &source.container, collect_resource, collect, err);
    free(wanted);
    return ok && (!collect->failed || out_of_memory(err));
}

static bool lookup_container(struct store_txn *txn, const struct address *address, struct arena *arena,
                             struct collect *collect, bool *found, struct error *err)
{
    /* First as an address; then as a path typed as it is, which the store wrote with escapes. */
    if (!resources_at(txn, address, address->container, arena, collect, found, err) || *found)
        return err->code == ERROR_NONE;
    char *escaped = address_of_input(address->container);
    if (!escaped)
        return out_of_memory(err);
    bool ok = resources_at(txn, address, escaped, arena, collect, found, err);
    free(escaped);
    return ok;
}

bool lookup_in_store(struct store_txn *txn, const char *text, struct arena *arena, struct resource_key **keys,
                     size_t *count, struct error *err)
{
    struct address address;
    struct hash hash;
    if (hash_parse(text, &hash)) {
        if (!store_find_geometry(txn, &hash, arena, keys, count, err))
            return false;
        if (*count)
            return true;
    }
    if (!address_parse(text, &address))
        return out_of_memory(err);
    struct collect collect = {0};
    bool found = false;
    bool ok = lookup_container(txn, &address, arena, &collect, &found, err);
    if (ok && found) {
        *keys = collect.keys;
        *count = collect.count;
        if (!*count)
            ok = error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s has no resource %s%s", address.container,
                           address.by_index ? "with index " : "",
                           address.resource ? address.resource : "at all (an archive, or nothing in it)");
    } else if (ok) {
        ok = store_find_name(txn, text, arena, keys, count, err);
        if (ok && !*count)
            ok = error_set(err, ERROR_USAGE, ERROR_NO_OFFSET,
                           "the store has no container, resource name or geometry '%s'", text);
    }
    address_free(&address);
    return ok;
}

bool lookup_in_file(const char *text, const struct extract_options *options, struct lookup_file *out,
                    struct error *err)
{
    struct address address;
    memset(out, 0, sizeof *out);
    if (!address_parse(text, &address))
        return out_of_memory(err);
    bool ok = extract_address(address.container, options, &out->item, err);
    if (ok) {
        const struct input in = {out->item.data, out->item.size, out->item.name};
        const struct decode_known known = {0};
        struct decode_scratch scratch = {0};
        bool ambiguous;
        const struct format *format = format_probe(&in, &ambiguous);
        if (!format)
            ok = error_set(err, ERROR_UNSUPPORTED, ERROR_NO_OFFSET, "%s is %s", address.container,
                           out->item.format == FORMAT_ARCHIVE || out->item.format == FORMAT_XDVDFS
                               ? "an archive; name a member behind '!'"
                               : "no container that is decoded here");
        else
            ok = decode_container(&in, format->id, ambiguous, &known, &scratch, &out->arena, &out->decoded,
                                  err);
        out->container = out->decoded.record.container;
        decode_scratch_free(&scratch);
    }
    out->path = out->item.path;
    out->stem = ok ? address_stem(out->path) : NULL;
    if (ok && !out->stem)
        ok = out_of_memory(err);
    address_free(&address);
    if (!ok)
        lookup_free(out);
    return ok;
}

void lookup_free(struct lookup_file *file)
{
    free(file->stem);
    extracted_free(&file->item);
    arena_free(&file->arena);
    memset(file, 0, sizeof *file);
}

bool lookup_resources(const char *text, const struct lookup_file *file, struct arena *arena,
                      uint32_t **indices, size_t *count, struct error *err)
{
    const struct container *container = &file->container;
    struct address address;
    size_t length;
    if (!address_parse(text, &address))
        return out_of_memory(err);
    char *wanted =
        address.resource ? address_unescape(address.resource, strlen(address.resource), &length) : NULL;
    *indices = arena_array(arena, container->resource_count, sizeof **indices);
    *count = 0;
    bool ok = *indices && (wanted || !address.resource);
    for (uint32_t i = 0; ok && i < container->resource_count; i++) {
        const struct resource *resource = &container->resources[i];
        if (means(&address, wanted ? wanted : "", resource->index,
                  resource->name ? resource->name : file->stem))
            (*indices)[(*count)++] = i;
    }
    if (!ok)
        out_of_memory(err);
    else if (!*count)
        ok =
            error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s has no geometry resource%s%s", address.container,
                      address.resource ? " " : "", address.resource ? address.resource : "");
    free(wanted);
    address_free(&address);
    return ok;
}
