/* chunk_build.c - see chunk_build.h */
#include "tests/support/chunk_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "formats/chunk.h"

/* ---- writing files by hand ----------------------------------------------------------------------------- */

void close_chunk(struct chunk_build *w)
{
    size_t start = w->open[--w->depth], size = w->out.size - start;
    unsigned width = w->width ? w->width : size > 0xFFFF ? 4 : size > 0xFF ? 2 : 1;
    assert_non_null(buffer_extend(&w->out, 2 + width));
    uint8_t *at = w->out.data + start;
    memmove(at + 2 + width, at, size);
    unsigned tagword = w->tag[w->depth] | (width / 2) << 14;
    memcpy(at, (uint8_t[]){(uint8_t)tagword, (uint8_t)(tagword >> 8)}, 2);
    for (unsigned i = 0; i < width; i++)
        at[2 + i] = (uint8_t)(size >> 8 * i);
}

void open_chunk(struct chunk_build *w, unsigned tag)
{
    w->tag[w->depth] = tag;
    w->open[w->depth++] = w->out.size;
}

void leaf_chunk(struct chunk_build *w, unsigned tag, const void *payload, size_t size)
{
    open_chunk(w, tag);
    buffer_append(&w->out, payload, size);
    close_chunk(w);
}

void text_chunk(struct chunk_build *w, unsigned tag, const char *string)
{
    leaf_chunk(w, tag, string, strlen(string) + 1);
}

struct chunk_build begin_model(unsigned width)
{
    struct chunk_build w = {.width = width};
    buffer_append(&w.out, "DIV-BIZ2", 8);
    open_chunk(&w, CHUNK_HEADER);
    leaf_chunk(&w, CHUNK_FILETYPE, "\0", 1);
    close_chunk(&w);
    return w;
}

void end_model(struct chunk_build *w)
{
    while (w->depth)
        close_chunk(w);
    leaf_chunk(w, CHUNK_BIZ_DONE, "", 0);
}

void vertex_chunk(struct chunk_build *w, unsigned tag, unsigned stride, unsigned count, float first)
{
    open_chunk(w, tag);
    for (unsigned i = 0; i < count * stride / 4; i++)
        put_f32le(&w->out, first + (float)i);
    close_chunk(w);
}

void face_chunk(struct chunk_build *w, unsigned tag, unsigned points, const int32_t *list, size_t count)
{
    open_chunk(w, tag);
    if (points)
        put_u8(&w->out, (uint8_t)points);
    for (size_t i = 0; i < count; i++)
        put_u32le(&w->out, (uint32_t)list[i]);
    close_chunk(w);
}

void open_pmesh(struct chunk_build *w)
{
    open_chunk(w, CHUNK_OBJECT);
    open_chunk(w, CHUNK_LOD);
    open_chunk(w, CHUNK_PATCH);
    open_chunk(w, CHUNK_PMESH);
}

struct chunk_build triangle_model(unsigned width)
{
    struct chunk_build w = begin_model(width);
    open_pmesh(&w);
    vertex_chunk(&w, CHUNK_XYZ_UV, 20, 3, 1.0f);
    conn(&w, 0, 1, 2);
    end_model(&w);
    return w;
}

void reference_chunk(struct chunk_build *w, unsigned tag, unsigned mattype, const char *name)
{
    open_chunk(w, tag);
    put_u8(&w->out, (uint8_t)mattype);
    buffer_append(&w->out, name, strlen(name) + 1);
    close_chunk(w);
}

void small_pmesh(struct chunk_build *w)
{
    open_chunk(w, CHUNK_PMESH);
    vertex_chunk(w, CHUNK_XYZ, 12, 3, 0.0f);
    conn(w, 0, 1, 2);
    close_chunk(w);
}

/* ---- reading them -------------------------------------------------------------------------------------- */

struct decoded decode_chunks(const struct buffer *file, size_t size, const char *name)
{
    struct decoded r = {0};
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file->data, size);
    const struct input in = {copy, size, name};
    bool ambiguous;
    const struct format *format = format_probe(&in, &ambiguous);
    assert_false(ambiguous);
    assert_true(format_decode(format, &in, &r.arena, &r.container));
    free(copy);
    if (format) {
        assert_int_equal(r.container.resource_count, 1);
        r.resource = &r.container.resources[0];
        assert_int_equal(r.resource->format, format->id);
        r.mesh = r.resource->mesh;
        if (r.mesh)
            assert_true(mesh_is_sound(r.mesh));
    }
    return r;
}

struct decoded decode_model(struct chunk_build *w)
{
    struct decoded r = decode_chunks(&w->out, w->out.size, "model.bgf");
    assert_int_equal(r.container.format, FORMAT_BGF);
    buffer_free(&w->out);
    return r;
}

void free_decoded(struct decoded *r)
{
    arena_free(&r->arena);
}

void assert_decoded(const struct decoded *r, uint32_t vertex_count, uint32_t triangle_count)
{
    assert_string_equal(r->resource->error.msg, "");
    assert_int_equal(r->container.status, CONTAINER_READ);
    assert_int_equal(r->resource->status, RESOURCE_DECODED);
    assert_int_equal(r->resource->reason, DECLINE_NONE);
    assert_int_equal(r->resource->vertices, vertex_count);
    assert_int_equal(r->resource->triangles, triangle_count);
}

void assert_does_not_close(struct chunk_build *w, uint64_t offset, enum container_reason reason,
                           enum error_code code)
{
    struct decoded r = decode_model(w);
    assert_int_equal(r.container.status, CONTAINER_DAMAGED);
    assert_int_equal(r.container.reason, reason);
    assert_int_equal(r.resource->status, RESOURCE_DECLINED);
    assert_int_equal(r.resource->reason, DECLINE_DOES_NOT_CLOSE);
    assert_int_equal(r.resource->error.code, code);
    assert_int_equal(r.resource->error.offset, offset);
    assert_int_equal(r.container.error.offset, offset);
    assert_null(r.mesh);
    free_decoded(&r);
}

/* ---- the generator's truth ----------------------------------------------------------------------------- */

static json_t *flags_json(uint32_t flags)
{
    json_t *words = json_array();
    for (int flag = 0; flag < FLAG_COUNT; flag++)
        if (flags & FLAG_BIT(flag))
            json_array_append_new(words, json_string(flag_word((enum flag)flag)));
    return words;
}

static void assert_bounds(const json_t *truth, const struct bounds *bounds)
{
    assert_int_equal(json_is_object(truth), bounds->valid);
    for (size_t axis = 0; axis < 3 && bounds->valid; axis++) {
        assert_true((float)json_number_value(json_array_get(json_object_get(truth, "min"), axis)) ==
                    bounds->min[axis]);
        assert_true((float)json_number_value(json_array_get(json_object_get(truth, "max"), axis)) ==
                    bounds->max[axis]);
    }
}

void assert_is_truth(const struct corpus_file *file)
{
    struct decoded r = decode_chunks(&file->bytes, file->bytes.size, strrchr(file->path, '/') + 1);
    const char *name, *status, *format;
    int index, vertex_count, triangle_count;
    json_t *reason, *flags, *bounds;
    assert_non_null(r.resource);
    assert_int_equal(json_unpack(json_array_get(file->truth, 0),
                                 "{s:i, s:s, s:s, s:s, s:o, s:i, s:i, s:o, s:o}", "index", &index, "name",
                                 &name, "format", &format, "status", &status, "reason", &reason, "vertices",
                                 &vertex_count, "triangles", &triangle_count, "flags", &flags, "bounds",
                                 &bounds),
                     0);
    assert_int_equal(index, 0);
    assert_memory_equal(strrchr(file->path, '/') + 1, name, strlen(name));
    assert_string_equal(format_word(r.resource->format), format);
    assert_string_equal(resource_status_word(r.resource->status), status);
    assert_int_equal(r.resource->reason != DECLINE_NONE, json_is_string(reason));
    if (json_is_string(reason))
        assert_string_equal(decline_reason_word(r.resource->reason), json_string_value(reason));
    assert_int_equal(r.resource->vertices, vertex_count);
    assert_int_equal(r.resource->triangles, triangle_count);
    assert_bounds(bounds, &r.resource->bounds);
    json_t *found = flags_json(r.resource->flags);
    assert_true(json_equal(found, flags));
    json_decref(found);
    free_decoded(&r);
}
