/* glb_read.c - see glb_read.h */
#include "glb_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"

struct glb glb_open(uint8_t *bytes, size_t size)
{
    struct glb glb = {.bytes = bytes};
    const uint8_t *p = bytes;
    assert_true(size >= 20);
    assert_memory_equal(p, "glTF", 4);
    assert_int_equal(load_u32le(p + 4), 2);
    assert_int_equal(load_u32le(p + 8), size);
    uint32_t json_size = load_u32le(p + 12);
    assert_int_equal(json_size % 4, 0);
    assert_memory_equal(p + 16, "JSON", 4);
    glb.root = json_loadb((const char *)p + 20, json_size, 0, NULL);
    assert_non_null(glb.root);
    if (size > 20 + json_size) {
        const uint8_t *chunk = p + 20 + json_size;
        glb.bin_size = load_u32le(chunk);
        assert_memory_equal(chunk + 4, "BIN\0", 4);
        assert_int_equal(size, 28 + json_size + glb.bin_size);
        glb.bin = chunk + 8;
    }
    return glb;
}

void glb_close(struct glb *glb)
{
    json_decref(glb->root);
    free(glb->bytes);
}

json_t *glb_at(json_t *value, ...)
{
    va_list args;
    va_start(args, value);
    for (const char *step; (step = va_arg(args, const char *));)
        value =
            json_is_array(value) ? json_array_get(value, (size_t)atoi(step)) : json_object_get(value, step);
    va_end(args);
    return value;
}
struct glb_accessor glb_accessor(const struct glb *glb, const json_t *index)
{
    assert_true(json_is_integer(index));
    json_t *json = json_array_get(json_object_get(glb->root, "accessors"), (size_t)json_integer_value(index));
    assert_non_null(json);
    json_t *view = json_array_get(json_object_get(glb->root, "bufferViews"),
                                  (size_t)json_integer_value(json_object_get(json, "bufferView")));
    size_t offset = (size_t)json_integer_value(json_object_get(view, "byteOffset"));
    size_t size = (size_t)json_integer_value(json_object_get(view, "byteLength"));
    assert_true(offset % 4 == 0 && offset <= glb->bin_size && size <= glb->bin_size - offset);
    return (struct glb_accessor){.data = glb->bin + offset,
                                 .count = (size_t)json_integer_value(json_object_get(json, "count")),
                                 .type = (int)json_integer_value(json_object_get(json, "componentType")),
                                 .json = json};
}

struct glb_accessor glb_attribute(const struct glb *glb, const char *mesh, const char *primitive,
                                  const char *name)
{
    return glb_accessor(glb, GLB_AT(glb->root, "meshes", mesh, "primitives", primitive, "attributes", name));
}

struct glb_accessor glb_indices(const struct glb *glb, const char *mesh, const char *primitive)
{
    return glb_accessor(glb, GLB_AT(glb->root, "meshes", mesh, "primitives", primitive, "indices"));
}

uint32_t glb_index(const struct glb_accessor *a, size_t i)
{
    return a->type == 5123 ? load_u16le(a->data + i * 2) : load_u32le(a->data + i * 4);
}

float glb_float(const struct glb_accessor *a, size_t i)
{
    return load_f32le(a->data + i * 4);
}

json_t *glb_node(const struct glb *glb, const char *name)
{
    const json_t *nodes = json_object_get(glb->root, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        json_t *node = json_array_get(nodes, i);
        if (strcmp(json_string_value(json_object_get(node, "name")), name) == 0)
            return node;
    }
    return NULL;
}
