/* fuzz_export.c - the three exporters on whatever a decoder or a store may hand them.
 *
 * The last byte of an input chooses options; the rest is a canonical serialisation or a file of any format. A
 * mesh from a serialisation gets a resource whose names are bytes of the input and whose numbers of objects
 * and levels lead nowhere: stores are checked, but not for that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "reports/export.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/seeds.h"

enum option {
    OPTION_MIRRORED = 1,
    OPTION_TWICE = 2,
    OPTION_PARTS = 4,
    OPTION_EXTRAS = 8,
    OPTION_FORMAT = 16
};

/* ---- what was written ---------------------------------------------------------------------------------- */

static void must_fit(uint64_t offset, uint64_t size, uint64_t whole, const char *what)
{
    MUST(offset <= whole && size <= whole - offset, "%s: %llu bytes at %llu of %llu", what,
         (unsigned long long)size, (unsigned long long)offset, (unsigned long long)whole);
}

static uint64_t whole_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    MUST(!value || json_integer_value(value) >= 0, "%s", key);
    return (uint64_t)json_integer_value(value);
}

/* Every accessor lies in a view, every view in the binary chunk. */
static void must_be_accessors(const json_t *root, uint64_t bin_size)
{
    static const struct {
        const char *type;
        unsigned count;
    } types[] = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT4", 16}};
    const json_t *views = json_object_get(root, "bufferViews"),
                 *accessors = json_object_get(root, "accessors");
    for (size_t i = 0; i < json_array_size(views); i++) {
        const json_t *view = json_array_get(views, i);
        must_fit(whole_number(view, "byteOffset"), whole_number(view, "byteLength"), bin_size, "view");
    }
    for (size_t i = 0; i < json_array_size(accessors); i++) {
        const json_t *accessor = json_array_get(accessors, i);
        const char *type = json_string_value(json_object_get(accessor, "type"));
        const json_t *view = json_array_get(views, (size_t)whole_number(accessor, "bufferView"));
        uint64_t component = whole_number(accessor, "componentType"), size = 0;
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            size = type && strcmp(type, types[t].type) == 0 ? types[t].count : size;
        size *= component == 5126 || component == 5125 ? 4 : component == 5123 ? 2 : 1;
        uint64_t stride = whole_number(view, "byteStride"), count = whole_number(accessor, "count");
        MUST(view && size && count, "accessor %zu", i);
        must_fit(whole_number(accessor, "byteOffset"), (count - 1) * (stride ? stride : size) + size,
                 whole_number(view, "byteLength"), "accessor");
    }
}

static void must_be_glb(const uint8_t *bytes, size_t size)
{
    MUST(size >= 20 && load_u32le(bytes) == 0x46546C67 && load_u32le(bytes + 4) == 2, "header");
    MUST(load_u32le(bytes + 8) == size, "%u of %zu bytes", load_u32le(bytes + 8), size);
    uint32_t json_size = load_u32le(bytes + 12);
    MUST(load_u32le(bytes + 16) == 0x4E4F534A && json_size % 4 == 0, "JSON chunk");
    must_fit(20, json_size, size, "JSON chunk");
    json_error_t error;
    json_t *root = json_loadb((const char *)bytes + 20, json_size, JSON_REJECT_DUPLICATES, &error);
    MUST(root, "JSON: %s", error.text);
    size_t at = 20 + (size_t)json_size;
    uint32_t bin_size = 0;
    if (at < size) {
        must_fit(at, 8, size, "binary chunk");
        bin_size = load_u32le(bytes + at);
        MUST(load_u32le(bytes + at + 4) == 0x004E4942 && bin_size % 4 == 0, "binary chunk");
        MUST(at + 8 + bin_size == size, "%u bytes of binary chunk", bin_size);
    }
    must_be_accessors(root, bin_size);
    json_decref(root);
}

/* Elements counted as they are met: an index names one that was written before it. */
static void must_be_face(const char *line, const unsigned long counts[3])
{
    for (const char *p = strchr(line, ' '); p && *p == ' ';) {
        for (int kind = 0; kind < 3; kind++) {
            char *end;
            if (kind && *p != '/')
                break;
            p++;
            unsigned long index = strtoul(p, &end, 10);
            MUST((end == p && kind == 1) || (index >= 1 && index <= counts[kind]), "face '%s', %lu elements",
                 line, counts[kind]);
            p = end;
        }
    }
}

static void must_be_obj(char *text, size_t size)
{
    unsigned long counts[3] = {0}; /* v, vt, vn */
    MUST(strlen(text) == size, "a NUL at %zu of %zu", strlen(text), size);
    MUST(size && text[size - 1] == '\n', "no end of line");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        counts[0] += strncmp(line, "v ", 2) == 0;
        counts[1] += strncmp(line, "vt ", 3) == 0;
        counts[2] += strncmp(line, "vn ", 3) == 0;
        if (line[0] == 'v')
            MUST(!strstr(line, "nan") && !strstr(line, "inf"), "'%s'", line);
        if (strncmp(line, "f ", 2) == 0)
            must_be_face(line, counts);
    }
}

/* The header's counts and properties give the size of what follows to the byte. */
static void must_be_ply(const char *text, size_t size)
{
    static const char end_mark[] = "end_header\n";
    const char *end = memmem(text, size, end_mark, sizeof end_mark - 1);
    MUST(end && strncmp(text, "ply\n", 4) == 0, "header");
    const uint8_t *body = (const uint8_t *)end + sizeof end_mark - 1;
    size_t left = size - (size_t)(body - (const uint8_t *)text), stride = 0;
    unsigned long vertices = 0, faces = 0;
    for (const char *line = text; line < end; line = strchr(line, '\n') + 1) {
        sscanf(line, "element vertex %lu", &vertices);
        sscanf(line, "element face %lu", &faces);
        stride += strncmp(line, "property float ", 15) == 0 ? 4 : strncmp(line, "property uchar ", 15) == 0;
    }
    MUST(left == vertices * stride + faces * 13, "%zu bytes of %lu vertices of %zu and %lu faces", left,
         vertices, stride, faces);
    const uint8_t *face = body + vertices * stride;
    for (unsigned long i = 0; i < faces; i++, face += 13)
        for (int corner = 0; corner < 3; corner++)
            MUST(face[0] == 3 && load_u32le(face + 1 + 4 * corner) < vertices, "face %lu", i);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static char *write_once(enum export_format format, const struct export_item *items, size_t count,
                        size_t *size)
{
    char *bytes = NULL;
    struct error err = {0};
    FILE *out = open_memstream(&bytes, size);
    MUST(out, "out of memory");
    MUST(export_write(format, items, count, out, &err), "%s: %s", export_word(format), err.msg);
    fclose(out);
    return bytes;
}

static void export_all(const struct export_item *items, size_t count)
{
    for (int format = 0; format < EXPORT_FORMAT_COUNT; format++) {
        size_t size, size_again;
        char *bytes = write_once((enum export_format)format, items, count, &size);
        char *again = write_once((enum export_format)format, items, count, &size_again);
        MUST(size == size_again && memcmp(bytes, again, size) == 0, "%s: another file the second time",
             export_word((enum export_format)format));
        if (format == EXPORT_GLB)
            must_be_glb((const uint8_t *)bytes, size);
        else if (format == EXPORT_OBJ)
            must_be_obj(bytes, size);
        else
            must_be_ply(bytes, size);
        free(bytes);
        free(again);
    }
}

static void export_resource(const struct resource *resource, const struct mesh *mesh, const char *name,
                            unsigned options)
{
    json_t *extras =
        options & OPTION_EXTRAS ? json_pack("{s:s, s:[i, n]}", "container", "a\nb", "list", 1) : NULL;
    const struct export_item item = {resource, mesh, name, (options & OPTION_MIRRORED) != 0, extras};
    const struct export_item items[2] = {item, item};
    export_all(items, options & OPTION_TWICE ? 2 : 1);
    json_decref(extras);
}

/* A resource made up around a mesh. */
static void export_mesh(const struct mesh *mesh, const uint8_t *data, size_t size, unsigned options,
                        struct arena *arena)
{
    static const enum format_id ids[] = {FORMAT_XBG7, FORMAT_BGF, FORMAT_MESHBIN};
    struct resource resource = {.format = ids[options / OPTION_FORMAT % 3], .status = RESOURCE_DECODED};
    const char *name = arena_copy(arena, data + size / 2, size - size / 2 < 40 ? size - size / 2 : 40);
    struct object_info object = {name};
    struct lod_info lods[2] = {{.object = 0, .has_distance = true, .in = INFINITY}, {.object = 7}};
    resource.parts =
        options & OPTION_PARTS ? arena_array(arena, mesh->part_count, sizeof *resource.parts) : NULL;
    resource.part_count = resource.parts ? mesh->part_count : 0;
    if (resource.parts) {
        resource.objects = &object;
        resource.lods = lods;
        resource.object_count = 1;
        resource.lod_count = 2;
    }
    for (uint32_t i = 0; i < resource.part_count; i++)
        resource.parts[i] = (struct part_info){.material = i % 2 ? name : NULL,
                                               .special = name,
                                               .object = i % 3,
                                               .lod = i % 4,
                                               .patch = i,
                                               .faceted = i % 2,
                                               .decal = i % 5 == 0};
    export_resource(&resource, mesh, name, options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    unsigned options = data[--size];
    struct arena arena = {0};
    struct error err = {0};
    const struct mesh *mesh = mesh_read(data, size, &arena, &err);
    if (mesh) {
        export_mesh(mesh, data, size, options, &arena);
    } else {
        const struct input in = {data, size, "x.meshbin"};
        struct container container;
        bool ambiguous;
        MUST(format_decode(format_probe(&in, &ambiguous), &in, &arena, &container), "out of memory");
        for (uint32_t i = 0; i < container.resource_count; i++)
            if (container.resources[i].mesh)
                export_resource(&container.resources[i], container.resources[i].mesh,
                                container.resources[i].name, options);
    }
    arena_free(&arena);
    return 0;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

/* The file as it is, and the mesh in it as a store has it. */
static void put_both(const char *name, struct buffer *file)
{
    const struct input in = {file->data, file->size, name};
    struct arena arena = {0};
    struct container container;
    bool ambiguous;
    char path[96];
    unsigned char options = (unsigned char)file->size;
    if (format_decode(format_probe(&in, &ambiguous), &in, &arena, &container) && container.resource_count &&
        container.resources[0].mesh) {
        struct buffer canonical = {0};
        uint8_t *room = buffer_extend(&canonical, mesh_canonical_size(container.resources[0].mesh));
        if (room)
            mesh_write(container.resources[0].mesh, room);
        buffer_append(&canonical, &options, 1);
        snprintf(path, sizeof path, "%s.mesh", name);
        put_seed_buffer(path, &canonical);
    }
    buffer_append(file, &options, 1);
    put_seed_buffer(name, file);
    arena_free(&arena);
}

void fuzz_seeds(void)
{
    seed_models(put_both);
    seed_xpr2(put_both);
}
