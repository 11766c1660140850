/* cmd_inspect.c - `anchorage inspect`: one container, without a store. */
#include <string.h>

#include "cmd/cmd.h"
#include "pipeline/address.h"
#include "pipeline/decode.h"
#include "pipeline/lookup.h"
#include "reports/explain.h"
#include "reports/view.h"

enum { OPT_JSON };

static const struct command command = {
    .name = "inspect",
    .usage = "ADDRESS [--json]",
    .purpose = "Looks into one container: its directory, textures, descriptors and what is decoded or declined of it.\n"
               "With #INDEX or #NAME behind the address, one resource in full.",
    .options =
        (const struct option_info[]){
            [OPT_JSON] = {"json", 0, NULL, "one JSON object: the container's, with \"textures\" and \"entries\""},
            {0},
        },
};

/* Records as a store would keep them, so that the JSON is the same. */
static bool describe(const struct lookup_file *file, const uint32_t *indices, size_t count, struct arena *arena,
                     struct view_container *container, struct view_resource *views, struct error *err)
{
    struct container_record *record = arena_alloc(arena, sizeof *record);
    struct resource_record *resources = arena_array(arena, count, sizeof *resources);
    if (!record || !resources)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    record->bytes = file->item.size;
    record->container = file->container;
    for (uint32_t i = 0; i < file->container.resource_count; i++)
        record->by_status[file->container.resources[i].status]++;
    *container = (struct view_container){
        .path = file->path,
        .hash = hash_bytes(file->item.data, file->item.size),
        .format = file->container.format,
        .bytes = file->item.size,
        .status = file->container.status,
        .reason = file->container.reason,
        .message = file->container.error.code ? file->container.error.msg : NULL,
        .error_offset = file->container.error.offset,
        .flags = file->container.flags,
        .record = record,
    };
    memcpy(container->by_status, record->by_status, sizeof container->by_status);
    const char *stem = file->stem;
    for (size_t i = 0; i < count; i++) {
        const struct resource *resource = &file->container.resources[indices[i]];
        resources[i].resource = *resource;
        if (resource->mesh) {
            struct buffer canonical = {0};
            size_t size = mesh_canonical_size(resource->mesh);
            uint8_t *bytes = buffer_extend(&canonical, size);
            if (!bytes)
                return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
            mesh_write(resource->mesh, bytes);
            resources[i].geometry = hash_bytes(bytes, size);
            resources[i].geometry_bytes = size;
            buffer_free(&canonical);
        }
        size_t room = strlen(file->path) + 16;
        char *address = arena_alloc(arena, room);
        if (!address)
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        snprintf(address, room, "%s#%u", file->path, resource->index);
        views[i] = (struct view_resource){container, &resources[i], resource->name ? resource->name : stem, address};
    }
    return true;
}

static json_t *json_of_texture(const struct texture *texture)
{
    return json_pack("{s:I, s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:I, s:I}", "index",
                     (json_int_t)texture->index, "name", json_of_bytes(texture->name ? texture->name : ""), "valid",
                     texture->valid, "error", texture->valid ? json_null() : json_of_bytes(texture->error.msg),
                     "width", (json_int_t)texture->width, "height", (json_int_t)texture->height, "depth",
                     (json_int_t)texture->depth, "format", (json_int_t)texture->format, "tiled", texture->tiled,
                     "contested", texture->contested, "base_offset", (json_int_t)texture->base_offset, "base_size",
                     (json_int_t)texture->base_size, "mip_offset", (json_int_t)texture->mip_offset, "mip_size",
                     (json_int_t)texture->mip_size);
}

static bool print_json(const struct lookup_file *file, const struct view_container *container,
                       const struct view_resource *views, size_t count)
{
    json_t *object = json_of_container(container), *textures = json_array(), *entries = json_array(),
           *tags = json_object();
    for (uint32_t i = 0; i < file->container.texture_count; i++)
        json_array_append_new(textures, json_of_texture(&file->container.textures[i]));
    for (uint32_t i = 0; i < file->container.tag_count_count; i++)
        json_object_set_new(tags, file->container.tag_counts[i].tag,
                            json_integer((json_int_t)file->container.tag_counts[i].count));
    for (size_t i = 0; i < count; i++) {
        json_t *entry = json_of_resource(&views[i]);
        json_object_set_new(entry, "details", json_of_details(&views[i].record->resource));
        json_array_append_new(entries, entry);
    }
    json_object_set_new(object, "data_offset", json_integer((json_int_t)file->container.data_offset));
    json_object_set_new(object, "data_size", json_integer((json_int_t)file->container.data_size));
    json_object_set_new(object, "other_tags", tags);
    json_object_set_new(object, "textures", textures);
    json_object_set_new(object, "entries", entries);
    return json_print(object, stdout);
}

static int inspect(const char *text, bool json)
{
    struct error err = {0};
    struct arena arena = {0};
    struct lookup_file file;
    uint32_t *indices = NULL;
    size_t count = 0;
    if (!lookup_in_file(text, &file, &err))
        return failure(&err);
    struct address address = {0};
    bool one = address_parse(text, &address) && address.resource;
    bool ok = (!one && !file.container.resource_count) ||
              lookup_resources(text, &file, &arena, &indices, &count, &err);
    struct view_container container;
    struct view_resource *views = arena_array(&arena, count, sizeof *views);
    ok = ok && (views || error_set(&err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory")) &&
         describe(&file, indices, count, &arena, &container, views, &err);
    if (ok && json) {
        ok = print_json(&file, &container, views, count) ||
             error_set(&err, ERROR_IO, ERROR_NO_OFFSET, "cannot print the container");
    } else if (ok && one) {
        for (size_t i = 0; i < count; i++)
            explain_resource(stdout, &views[i].record->resource, views[i].name);
    } else if (ok) {
        explain_container(stdout, &file.container, file.item.size, file.path, file.stem);
    }
    address_free(&address);
    lookup_free(&file);
    arena_free(&arena);
    if (!ok)
        return failure(&err);
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}

int cmd_inspect(int argc, char **argv)
{
    const char *argument;
    bool json = false;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option != OPT_JSON)
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
        json = true;
    }
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "there is no ADDRESS" : "one ADDRESS at a time");
    return inspect(argv[optind], json);
}
