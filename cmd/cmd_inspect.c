/* cmd_inspect.c - `anchorage inspect`: one container, without a store. */
#include <string.h>

#include "cmd/limits.h"
#include "formats/topology.h"
#include "pipeline/address.h"
#include "pipeline/decode.h"
#include "pipeline/lookup.h"
#include "reports/coverage.h"
#include "reports/explain.h"
#include "reports/text.h"
#include "reports/view.h"

enum { OPT_JSON = LIMIT_OPTION_COUNT, OPT_VERIFY };

static const struct command command = {
    .name = "inspect",
    .usage = "ADDRESS [--verify] [--json] [options]",
    .purpose = "Looks into one container: its directory, textures, descriptors and what is decoded or "
               "declined of it.\n"
               "With #INDEX or #NAME behind the address, one resource in full.",
    .options =
        (const struct option_info[]){
            LIMIT_OPTIONS(0),
            [OPT_JSON] = {"json", 0, NULL,
                          "one JSON object: the container's, with \"textures\" and \"entries\""},
            [OPT_VERIFY] = {"verify", 0, NULL,
                            "face and stored normals compared, read as triangle list and as strip"},
            {0},
        },
};

/* The views a store would give, so that the JSON is the same. */
static bool describe(const struct lookup_file *file, const uint32_t *indices, size_t count,
                     struct arena *arena, struct view_container *container, struct view_resource *views)
{
    const struct container_record *record = &file->decoded.record;
    *container = (struct view_container){
        .path = file->path,
        .hash = file->decoded.hash,
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
    for (size_t i = 0; i < count; i++) {
        const struct resource_record *resource = &file->decoded.resources[indices[i]];
        size_t room = strlen(file->path) + 16;
        char *address = arena_alloc(arena, room);
        if (!address)
            return false;
        snprintf(address, room, "%s#%u", file->path, resource->resource.index);
        const char *name = resource->resource.name ? resource->resource.name : file->stem;
        views[i] = (struct view_resource){container, resource, name, address, NULL};
    }
    return true;
}

static json_t *json_of_texture(const struct texture *texture)
{
    return json_pack(
        "{s:I, s:o, s:b, s:o, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:I, s:I}", "index",
        (json_int_t)texture->index, "name", json_of_bytes(texture->name ? texture->name : ""), "valid",
        texture->valid, "error", texture->valid ? json_null() : json_of_bytes(texture->error.msg), "width",
        (json_int_t)texture->width, "height", (json_int_t)texture->height, "depth",
        (json_int_t)texture->depth, "format", (json_int_t)texture->format, "tiled", texture->tiled,
        "contested", texture->contested, "base_offset", (json_int_t)texture->base_offset, "base_size",
        (json_int_t)texture->base_size, "mip_offset", (json_int_t)texture->mip_offset, "mip_size",
        (json_int_t)texture->mip_size);
}

static json_t *json_of_topology(const struct mesh *mesh)
{
    struct topology topology = mesh ? topology_of(mesh) : (struct topology){0};
    if (!topology.list_faces)
        return json_null();
    return json_pack("{s:f, s:f, s:I}", "list", topology.list, "strip", topology.strip, "faces",
                     (json_int_t)topology.list_faces);
}

static bool print_json(const struct lookup_file *file, const struct view_container *container,
                       const struct view_resource *views, const uint32_t *indices, size_t count)
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
        json_t *details = json_of_details(&views[i].record->resource);
        json_object_set_new(details, "verify", json_of_topology(file->container.resources[indices[i]].mesh));
        json_object_set_new(entry, "details", details);
        json_array_append_new(entries, entry);
    }
    json_object_set_new(object, "data_offset", json_integer((json_int_t)file->container.data_offset));
    json_object_set_new(object, "data_size", json_integer((json_int_t)file->container.data_size));
    json_object_set_new(object, "other_tags", tags);
    if (file->container.coverage_count) {
        struct coverage_sums sums = coverage_sum(file->container.coverage, file->container.coverage_count);
        json_object_set_new(object, "coverage", coverage_sums_json(&sums));
        json_object_set_new(object, "coverage_runs",
                            coverage_runs_json(file->container.coverage, file->container.coverage_count));
    }
    json_object_set_new(object, "textures", textures);
    json_object_set_new(object, "entries", entries);
    return json_print(object, stdout);
}

/* The research log's test for each placement: a right one is near 1 (or 0, wound the other way) as list and
 * near a half as strip. */
static void print_verification(const struct lookup_file *file, const uint32_t *indices, size_t count)
{
    static const struct table_column columns[] = {{"entry", true, false},   {"name", false, true},
                                                  {"status", false, false}, {"list", true, false},
                                                  {"strip", true, false},   {"faces", true, false}};
    struct table *table = table_new(stdout, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < count; i++) {
        const struct resource *resource = &file->container.resources[indices[i]];
        struct topology topology = resource->mesh ? topology_of(resource->mesh) : (struct topology){0};
        table_cellf(table, 0, "%u", resource->index);
        table_cell(table, resource->name ? resource->name : file->stem, 0);
        table_cell(table, resource_status_word(resource->status), 0);
        if (topology.list_faces) {
            table_cellf(table, 0, "%.3f", topology.list);
            table_cellf(table, 0, "%.3f", topology.strip);
        } else {
            table_cell(table, NULL, 0);
            table_cell(table, NULL, 0);
        }
        table_cellf(table, 0, "%u", topology.list_faces);
    }
    if (table)
        table_print(table);
}

static int inspect(const char *text, const struct limit_settings *settings, bool json, bool verify)
{
    struct error err = {0};
    struct arena arena = {0};
    struct lookup_file file;
    uint32_t *indices = NULL;
    size_t count = 0;
    struct extract_options options;
    bool found =
        limit_extract_options(settings, &options, &err) && lookup_in_file(text, &options, &file, &err);
    spool_free(options.spool);
    if (!found)
        return failure(&err);
    struct address address = {0};
    bool one = address_parse(text, &address) && address.resource;
    bool ok = (!one && !file.container.resource_count) ||
              lookup_resources(text, &file, &arena, &indices, &count, &err);
    struct view_container container;
    struct view_resource *views = arena_array(&arena, count, sizeof *views);
    ok = ok && ((views && describe(&file, indices, count, &arena, &container, views)) ||
                error_set(&err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory"));
    if (ok && json) {
        ok = print_json(&file, &container, views, indices, count) || print_failed(&err);
    } else if (ok && verify) {
        print_verification(&file, indices, count);
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
    bool json = false, verify = false;
    struct limit_settings settings = LIMIT_SETTINGS_DEFAULT;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option == OPT_JSON)
            json = true;
        else if (option == OPT_VERIFY)
            verify = true;
        else if (option < 0 || !limit_option(&command, &settings, option, argument))
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (json && verify)
        return usage_error(
            &command, "--json and --verify exclude each other: \"verify\" stands in each entry's details");
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "there is no ADDRESS" : "one ADDRESS at a time");
    return inspect(argv[optind], &settings, json, verify);
}
