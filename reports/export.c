/* export.c - see export.h; and the ground the three writers stand on: file, names, views. */
#include "export_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "number.h"
#include "pipeline/json_whole.h"

/* MESHBIN stores texture coordinates in texels of a texture page of 256 x 256 (formats/meshbin.md). */
#define MESHBIN_TEXELS 256.0f

/* A comment line longer than this is cut: some readers of OBJ and PLY have line buffers of a fixed size. */
#define COMMENT_LENGTH 400

static const char *const words[EXPORT_FORMAT_COUNT] = {"glb", "obj", "ply"};

const char *export_word(enum export_format format)
{
    return (unsigned)format < EXPORT_FORMAT_COUNT ? words[format] : "unknown";
}

bool export_parse(const char *word_or_name, enum export_format *format)
{
    for (int i = 0; i < EXPORT_FORMAT_COUNT; i++) {
        const char ending[] = {'.', words[i][0], words[i][1], words[i][2], '\0'};
        if (strcmp(word_or_name, words[i]) == 0 || name_has_ending(word_or_name, ending)) {
            *format = (enum export_format)i;
            return true;
        }
    }
    return false;
}

bool export_write(enum export_format format, const struct export_item *items, size_t count, FILE *out,
                  struct error *err)
{
    if (count == 0)
        return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "export: nothing to write");
    switch (format) {
    case EXPORT_GLB:
        return export_write_glb(items, count, out, err);
    case EXPORT_OBJ:
        return export_write_obj(items, count, out, err);
    case EXPORT_PLY:
        return export_write_ply(items, count, out, err);
    case EXPORT_FORMAT_COUNT:
        break;
    }
    return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "export: unknown format");
}

/* ---- the file ----------------------------------------------------------------------------------------- */

void sink_start(struct export_sink *sink, FILE *out, struct error *err)
{
    sink->out = out;
    sink->err = err;
    sink->written = 0;
    sink->used = 0;
    sink->failed = false;
}

static void sink_fail(struct export_sink *sink)
{
    sink->failed = true;
    error_set_system(sink->err, ERROR_IO, errno, "export: cannot write");
}

static void sink_flush(struct export_sink *sink)
{
    if (!sink->failed && sink->used && fwrite(sink->pending, 1, sink->used, sink->out) != sink->used)
        sink_fail(sink);
    sink->used = 0;
}

void sink_bytes(struct export_sink *sink, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    sink->written += size;
    while (size) {
        if (sink->used == sizeof sink->pending)
            sink_flush(sink);
        size_t room = sizeof sink->pending - sink->used;
        size_t part = size < room ? size : room;
        memcpy(sink->pending + sink->used, from, part);
        sink->used += part;
        from += part;
        size -= part;
    }
}

void sink_text(struct export_sink *sink, const char *text)
{
    sink_bytes(sink, text, strlen(text));
}

void sink_u8(struct export_sink *sink, uint8_t value)
{
    sink_bytes(sink, &value, 1);
}

void sink_u16(struct export_sink *sink, uint16_t value)
{
    const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    sink_bytes(sink, bytes, sizeof bytes);
}

void sink_u32(struct export_sink *sink, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                              (uint8_t)(value >> 24)};
    sink_bytes(sink, bytes, sizeof bytes);
}

void sink_f32(struct export_sink *sink, float value)
{
    sink_u32(sink, bits_of_float(value));
}

void sink_number(struct export_sink *sink, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    sink_bytes(sink, digits + at, sizeof digits - at);
}

void sink_float(struct export_sink *sink, float value)
{
    char text[FLOAT_TEXT_SIZE];
    size_t length = float_text(value, text);
    sink_bytes(sink, text, length);
}

bool sink_finish(struct export_sink *sink)
{
    sink_flush(sink);
    if (!sink->failed && fflush(sink->out) != 0)
        sink_fail(sink);
    return !sink->failed;
}

/* ---- names -------------------------------------------------------------------------------------------- */

/* Bytes of the well-formed UTF-8 sequence at `s`, which ends in a NUL; 0 when there is none (RFC 3629: no
 * overlong forms, no surrogates, nothing past U+10FFFF). */
static size_t utf8_length(const uint8_t *s)
{
    uint8_t low = 0x80, high = 0xBF;
    size_t length;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        length = 2;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        length = 3;
        low = s[0] == 0xE0 ? 0xA0 : low;
        high = s[0] == 0xED ? 0x9F : high;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        length = 4;
        low = s[0] == 0xF0 ? 0x90 : low;
        high = s[0] == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xBF)
            return 0;
    return length;
}

/* Controls of ASCII and of Latin-1, and the two line separators. */
static bool is_control(const uint8_t *s, size_t length)
{
    if (length == 1)
        return s[0] < 0x20 || s[0] == 0x7F;
    if (length == 2)
        return s[0] == 0xC2 && s[1] < 0xA0;
    return length == 3 && s[0] == 0xE2 && s[1] == 0x80 && (s[2] == 0xA8 || s[2] == 0xA9);
}

void export_escape(struct buffer *out, const char *name, bool token)
{
    static const char hex[] = "0123456789ABCDEF";
    const uint8_t *s = (const uint8_t *)name;
    while (*s) {
        size_t length = utf8_length(s);
        bool plain = length && !is_control(s, length) && !(token && strchr(" #\\", *s));
        if (plain) {
            buffer_append(out, s, length);
            s += length;
            continue;
        }
        for (size_t end = length ? length : 1; end; end--, s++) {
            const char text[3] = {'%', hex[*s >> 4], hex[*s & 15]};
            buffer_append(out, text, sizeof text);
        }
    }
}

char *export_name(struct arena *arena, const char *name, bool token)
{
    struct buffer text = {0};
    export_escape(&text, name, token);
    char *copy = text.failed ? NULL : arena_copy(arena, text.data, text.size);
    buffer_free(&text);
    return copy;
}

const char *export_item_name(const struct export_item *item)
{
    if (item->name && item->name[0])
        return item->name;
    if (item->resource->name && item->resource->name[0])
        return item->resource->name;
    return "mesh";
}

void export_provenance(struct export_sink *sink, const struct export_item *item, const char *prefix,
                       struct arena *arena)
{
    const char *key;
    json_t *value;
    if (!item->extras)
        return;
    json_t *copy = json_deep_copy(item->extras); /* iterating needs one that is not const */
    bool whole = json_is_whole(copy);
    json_object_foreach(copy, key, value)
    {
        char *text = json_whole_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        const char *name = export_name(arena, key, false);
        whole &= text && name;
        if (text && name) {
            size_t name_length = strnlen(name, COMMENT_LENGTH), length = strnlen(text, COMMENT_LENGTH);
            sink_text(sink, prefix);
            sink_bytes(sink, name, name_length);
            sink_text(sink, ": ");
            sink_bytes(sink, text, length);
            sink_text(sink, text[length] ? " ...\n" : "\n");
        }
        free(text);
    }
    json_decref(copy);
    if (!whole && !sink->failed)
        sink->failed = !error_set(sink->err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
}

/* ---- views -------------------------------------------------------------------------------------------- */

static bool finite3(const float v[3])
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

bool export_drawable(const struct mesh *mesh, uint32_t triangle)
{
    const uint32_t *corner = mesh->streams[0].corner + (size_t)triangle * 3;
    const float *position = mesh->streams[0].data;
    return finite3(position + (size_t)corner[0] * 3) && finite3(position + (size_t)corner[1] * 3) &&
           finite3(position + (size_t)corner[2] * 3);
}

void export_position(const struct export_view *view, uint32_t vertex, float out[3])
{
    const float *stored = view->mesh->streams[0].data + (size_t)vertex * 3;
    for (int axis = 0; axis < 3; axis++)
        out[axis] = isfinite(stored[axis]) ? stored[axis] * view->sign[axis] : 0;
}

bool export_normal(const struct export_view *view, const struct mesh_stream *stream, uint32_t entry,
                   float out[3])
{
    /* In double neither the largest nor the smallest f32 overflows or vanishes when squared. */
    const float *stored = stream->data + (size_t)entry * stream->components;
    double x = stored[0], y = stored[view->turned_normals ? 2 : 1];
    double z = view->turned_normals ? -stored[1] : stored[2];
    double length = sqrt(x * x + y * y + z * z);
    bool usable = finite3(stored) && length > 0;
    out[0] = usable ? (float)(x / length) * view->sign[0] : 0;
    out[1] = usable ? (float)(y / length) * view->sign[1] : 0;
    out[2] = usable ? (float)(z / length) * view->sign[2] : 0;
    return usable;
}

void export_value(const struct export_view *view, const struct mesh_stream *stream, uint32_t entry,
                  float *out)
{
    const float *stored = stream->data + (size_t)entry * stream->components;
    for (unsigned i = 0; i < stream->components; i++) {
        float value = isfinite(stored[i]) ? stored[i] : 0;
        if (stream->usage == MESH_COLOR)
            value = value < 0 ? 0 : value > 1 ? 1 : value;
        else if (view->format == FORMAT_MESHBIN)
            value /= MESHBIN_TEXELS;
        out[i] = value;
    }
}

void export_corners(const struct export_view *view, const struct mesh_stream *stream, uint32_t triangle,
                    uint32_t out[3])
{
    out[0] = mesh_corner(view->mesh, stream, triangle, 0);
    out[1] = mesh_corner(view->mesh, stream, triangle, view->reverse ? 2 : 1);
    out[2] = mesh_corner(view->mesh, stream, triangle, view->reverse ? 1 : 2);
}

bool export_is_faceted(const struct export_view *view, const struct export_part *part)
{
    return view->format == FORMAT_BGF && part->info && part->info->faceted;
}

uint32_t *export_lod_numbers(const struct resource *resource, struct arena *arena)
{
    uint32_t objects = resource->object_count;
    uint32_t *numbers = arena_array(arena, resource->lod_count, sizeof *numbers);
    uint32_t *counts = arena_array(arena, (size_t)objects + 1, sizeof *counts);
    if (!numbers || !counts)
        return NULL;
    for (uint32_t i = 0; i < resource->lod_count; i++)
        numbers[i] = ++counts[resource->lods[i].object < objects ? resource->lods[i].object : objects];
    return numbers;
}

int export_stream(const struct mesh *mesh, enum mesh_usage usage, unsigned components)
{
    for (uint32_t i = 0; i < mesh->stream_count; i++)
        if (mesh->streams[i].usage == usage && mesh->streams[i].components >= components)
            return (int)i;
    return -1;
}

static int by_first_vertex(const void *left, const void *right)
{
    const struct export_part *a = left, *b = right;
    if (a->first_vertex != b->first_vertex)
        return a->first_vertex < b->first_vertex ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

/* Lists the parts that have something to draw; returns how many. */
static uint32_t list_parts(struct export_view *view)
{
    const struct mesh *mesh = view->mesh;
    const struct mesh_part whole = {0, mesh->triangle_count, 0, mesh->vertex_count, UINT32_MAX};
    uint32_t count = 0, all = mesh->part_count ? mesh->part_count : 1;
    for (uint32_t i = 0; i < all; i++) {
        const struct mesh_part *from = mesh->part_count ? &mesh->parts[i] : &whole;
        struct export_part *part = &view->parts[count];
        *part = (struct export_part){.part = i,
                                     .first_triangle = from->first_triangle,
                                     .triangle_count = from->triangle_count,
                                     .first_vertex = from->first_vertex,
                                     .vertex_count = from->vertex_count,
                                     .streams = from->streams};
        if (mesh->part_count && view->item->resource->parts)
            part->info = &view->item->resource->parts[i];
        for (uint32_t t = 0; t < part->triangle_count; t++)
            part->drawn += export_drawable(mesh, part->first_triangle + t);
        view->drawn += part->drawn;
        count += part->drawn > 0;
    }
    return count;
}

/* Cuts the sorted parts into spans; see struct export_span. */
static void list_spans(struct export_view *view, bool whole)
{
    uint32_t vertices = view->mesh->vertex_count, end = 0;
    if (vertices == 0)
        return;
    view->spans[0] = (struct export_span){.first_part = 0};
    view->span_count = 1;
    for (uint32_t i = 0; i < view->part_count; i++) {
        const struct export_part *part = &view->parts[i];
        if (i > 0 && part->first_vertex >= end && !whole)
            view->spans[view->span_count++] =
                (struct export_span){.first_vertex = part->first_vertex, .first_part = i};
        view->spans[view->span_count - 1].part_count++;
        if (part->first_vertex + part->vertex_count > end)
            end = part->first_vertex + part->vertex_count;
    }
    for (uint32_t i = 0; i < view->span_count; i++) {
        uint32_t next = i + 1 < view->span_count ? view->spans[i + 1].first_vertex : vertices;
        view->spans[i].vertex_count = next - view->spans[i].first_vertex;
    }
}

bool export_view_make(const struct export_item *item, bool whole, struct arena *arena,
                      struct export_view *view, struct error *err)
{
    const struct mesh *mesh = item->mesh;
    *view = (struct export_view){.item = item,
                                 .mesh = mesh,
                                 .format = item->resource->format,
                                 .sign = {1, 1, 1},
                                 .reverse = item->mirrored};
    if (view->format == FORMAT_MESHBIN)
        view->sign[1] = view->sign[2] = -1; /* half a turn about x: winding stays */
    if (item->mirrored)
        view->sign[0] = -1;
    size_t room = mesh->part_count ? mesh->part_count : 1;
    view->parts = arena_array(arena, room, sizeof *view->parts);
    view->spans = arena_array(arena, room, sizeof *view->spans);
    if (!view->parts || !view->spans)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "export: out of memory");
    view->part_count = list_parts(view);
    if (!whole) /* one span keeps the triangles in mesh order */
        qsort(view->parts, view->part_count, sizeof *view->parts, by_first_vertex);
    list_spans(view, whole);
    view->turned_normals = export_normals_are_turned(view);
    return true;
}
