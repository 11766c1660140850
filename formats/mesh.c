/* mesh.c - see mesh.h */
#include "mesh.h"

#include <math.h>
#include <string.h>

#include "reader.h"

#define MESH_MAGIC 0x48534D41u /* "AMSH" */

struct mesh *mesh_new(struct arena *arena, uint32_t vertices, uint32_t triangles, uint32_t parts)
{
    struct mesh *mesh = arena_alloc(arena, sizeof *mesh);
    if (!mesh)
        return NULL;
    mesh->vertex_count = vertices;
    mesh->triangle_count = triangles;
    mesh->part_count = parts;
    mesh->parts = arena_array(arena, parts, sizeof *mesh->parts);
    if (!mesh->parts || !mesh_add_stream(mesh, arena, MESH_POSITION, 0, 3, vertices, true))
        return NULL;
    return mesh;
}

struct mesh_stream *mesh_add_stream(struct mesh *mesh, struct arena *arena, enum mesh_usage usage,
                                    unsigned usage_index, unsigned components, uint32_t count, bool indexed)
{
    if (mesh->stream_count == MESH_STREAMS_MAX)
        return NULL;
    struct mesh_stream *stream = &mesh->streams[mesh->stream_count];
    stream->usage = (uint8_t)usage;
    stream->usage_index = (uint8_t)usage_index;
    stream->components = (uint8_t)components;
    stream->count = count;
    stream->data = arena_array(arena, (size_t)count * components, sizeof(float));
    stream->corner = indexed ? arena_array(arena, (size_t)mesh->triangle_count * 3, sizeof(uint32_t)) : NULL;
    if (!stream->data || (indexed && !stream->corner))
        return NULL;
    mesh->stream_count++;
    return stream;
}

const struct mesh_stream *mesh_stream(const struct mesh *mesh, enum mesh_usage usage, unsigned usage_index)
{
    for (uint32_t i = 0; i < mesh->stream_count; i++)
        if (mesh->streams[i].usage == usage && mesh->streams[i].usage_index == usage_index)
            return &mesh->streams[i];
    return NULL;
}

struct bounds mesh_bounds(const struct mesh *mesh)
{
    float min[3] = {INFINITY, INFINITY, INFINITY}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
    bool valid = false;
    const float *p = mesh->streams[0].data;
    for (uint32_t v = 0; v < mesh->vertex_count; v++, p += 3) {
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
            continue;
        valid = true;
        for (int axis = 0; axis < 3; axis++) { /* selections and no branches: most vertices change nothing */
            min[axis] = p[axis] < min[axis] ? p[axis] : min[axis];
            max[axis] = p[axis] > max[axis] ? p[axis] : max[axis];
        }
    }
    struct bounds box = {.valid = valid};
    for (int axis = 0; valid && axis < 3; axis++) {
        box.min[axis] = min[axis];
        box.max[axis] = max[axis];
    }
    return box;
}

bool mesh_has_non_finite(const struct mesh *mesh)
{
    /* An exponent of all ones; an integer test keeps the loop free of floating-point traps and vectorises. */
    const uint32_t exponent = 0x7F800000u;
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        const struct mesh_stream *stream = &mesh->streams[i];
        size_t values = (size_t)stream->count * stream->components;
        uint32_t found = 0;
        for (size_t k = 0; k < values; k++)
            found |= (bits_of_float(stream->data[k]) & exponent) == exponent;
        if (found)
            return true;
    }
    return false;
}

static bool corners_below(const uint32_t *corners, size_t count, uint32_t limit)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= corners[i] >= limit;
    return !bad;
}

static bool part_is_sound(const struct mesh *mesh, const struct mesh_part *part)
{
    if (part->first_triangle > mesh->triangle_count ||
        part->triangle_count > mesh->triangle_count - part->first_triangle ||
        part->first_vertex > mesh->vertex_count ||
        part->vertex_count > mesh->vertex_count - part->first_vertex)
        return false;
    const uint32_t *corner = mesh->streams[0].corner + (size_t)part->first_triangle * 3;
    uint32_t bad = 0;
    for (size_t i = 0; i < (size_t)part->triangle_count * 3; i++)
        bad |= corner[i] - part->first_vertex >= part->vertex_count;
    return !bad;
}

bool mesh_is_sound(const struct mesh *mesh)
{
    size_t corners = (size_t)mesh->triangle_count * 3;
    if (mesh->stream_count == 0 || mesh->stream_count > MESH_STREAMS_MAX)
        return false;
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        const struct mesh_stream *stream = &mesh->streams[i];
        if (stream->components < 1 || stream->components > 4)
            return false;
        if (stream->corner ? !corners_below(stream->corner, corners, stream->count)
                           : stream->count != mesh->vertex_count)
            return false;
    }
    const struct mesh_stream *position = &mesh->streams[0];
    if (position->usage != MESH_POSITION || position->components != 3 || !position->corner ||
        position->count != mesh->vertex_count)
        return false;
    for (uint32_t i = 0; i < mesh->part_count; i++)
        if (!part_is_sound(mesh, &mesh->parts[i]))
            return false;
    for (uint32_t i = 0; i < mesh->bone_count; i++)
        if (mesh->bones[i].parent < -1 || mesh->bones[i].parent >= (int32_t)i)
            return false;
    return true;
}

size_t mesh_canonical_size(const struct mesh *mesh)
{
    size_t corners = (size_t)mesh->triangle_count * 3 * sizeof(uint32_t);
    size_t size = MESH_CANONICAL_HEADER + (size_t)mesh->part_count * MESH_CANONICAL_PART +
                  (size_t)mesh->bone_count * MESH_CANONICAL_BONE;
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        const struct mesh_stream *stream = &mesh->streams[i];
        size += MESH_CANONICAL_STREAM + (size_t)stream->count * stream->components * sizeof(float);
        if (stream->corner)
            size += corners;
    }
    return size;
}

static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    out[2] = (uint8_t)(value >> 16);
    out[3] = (uint8_t)(value >> 24);
    return out + 4;
}

/* Words of 32 bits in little-endian order; on a little-endian machine that is a copy. */
static uint8_t *put_words(uint8_t *out, const void *words, size_t count)
{
    if (!count)
        return out;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(out, words, count * 4);
    return out + count * 4;
#else
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)words + i * 4, 4);
        out = put_u32(out, word);
    }
    return out;
#endif
}

static void get_words(void *words, const uint8_t *in, size_t count)
{
    if (!count)
        return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(words, in, count * 4);
#else
    for (size_t i = 0; i < count; i++) {
        uint32_t word = load_u32le(in + i * 4);
        memcpy((uint8_t *)words + i * 4, &word, 4);
    }
#endif
}

void mesh_write(const struct mesh *mesh, uint8_t *out)
{
    size_t corners = (size_t)mesh->triangle_count * 3;
    const uint32_t header[8] = {
        MESH_MAGIC,         MESH_CANONICAL_VERSION, mesh->vertex_count, mesh->triangle_count,
        mesh->stream_count, mesh->part_count,       mesh->bone_count,   0};
    out = put_words(out, header, 8);
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        const struct mesh_stream *stream = &mesh->streams[i];
        *out++ = stream->usage;
        *out++ = stream->usage_index;
        *out++ = stream->components;
        *out++ = stream->corner != NULL;
        out = put_u32(out, stream->count);
    }
    for (uint32_t i = 0; i < mesh->part_count; i++) {
        const struct mesh_part *part = &mesh->parts[i];
        const uint32_t words[5] = {part->first_triangle, part->triangle_count, part->first_vertex,
                                   part->vertex_count, part->streams};
        out = put_words(out, words, 5);
    }
    for (uint32_t i = 0; i < mesh->bone_count; i++) {
        out = put_u32(out, (uint32_t)mesh->bones[i].parent);
        out = put_words(out, mesh->bones[i].position, 3);
        out = put_words(out, mesh->bones[i].rotation, 4);
    }
    out = put_words(out, mesh->streams[0].corner, corners);
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        const struct mesh_stream *stream = &mesh->streams[i];
        out = put_words(out, stream->data, (size_t)stream->count * stream->components);
        if (i > 0 && stream->corner)
            out = put_words(out, stream->corner, corners);
    }
}

/* The header's counts, and whether exactly `size` bytes follow from them: known before anything is allocated.
 */
static bool canonical_counts(const uint8_t *bytes, size_t size, uint32_t counts[8], struct error *err)
{
    if (size < MESH_CANONICAL_HEADER)
        return error_set(err, ERROR_TRUNCATED, 0, "geometry: %zu bytes hold no header", size);
    get_words(counts, bytes, 8);
    if (counts[0] != MESH_MAGIC || counts[1] != MESH_CANONICAL_VERSION)
        return error_set(err, ERROR_MALFORMED, 0, "geometry: not a canonical serialisation of version %d",
                         MESH_CANONICAL_VERSION);
    if (counts[4] < 1 || counts[4] > MESH_STREAMS_MAX)
        return error_set(err, ERROR_RANGE, 16, "geometry: %u streams", counts[4]);
    if (counts[7]) /* one mesh has one serialisation: hashes are taken over it */
        return error_set(err, ERROR_MALFORMED, 28, "geometry: the last word of the header is %u", counts[7]);
    uint64_t corners = (uint64_t)counts[3] * 12;
    uint64_t need = MESH_CANONICAL_HEADER + (uint64_t)counts[5] * MESH_CANONICAL_PART +
                    (uint64_t)counts[6] * MESH_CANONICAL_BONE + (uint64_t)counts[4] * MESH_CANONICAL_STREAM;
    if (need > size)
        return error_set(err, ERROR_TRUNCATED, 0, "geometry: tables leave the value");
    const uint8_t *stream = bytes + MESH_CANONICAL_HEADER;
    for (uint32_t i = 0; i < counts[4]; i++, stream += MESH_CANONICAL_STREAM) {
        if (stream[3] > 1)
            return error_set(err, ERROR_MALFORMED, (uint64_t)(stream + 3 - bytes),
                             "geometry: stream %u: indexed is %u", i, stream[3]);
        need += (uint64_t)load_u32le(stream + 4) * stream[2] * 4 + (stream[3] ? corners : 0);
    }
    if (need != size)
        return error_set(err, ERROR_TRUNCATED, 0, "geometry: %zu bytes where its counts need %llu", size,
                         (unsigned long long)need);
    return true;
}

struct mesh *mesh_read(const uint8_t *bytes, size_t size, struct arena *arena, struct error *err)
{
    uint32_t counts[8];
    if (!canonical_counts(bytes, size, counts, err))
        return NULL;
    struct mesh *mesh = arena_alloc(arena, sizeof *mesh);
    size_t corners = (size_t)counts[3] * 3;
    if (!mesh)
        goto nomem;
    mesh->vertex_count = counts[2];
    mesh->triangle_count = counts[3];
    mesh->part_count = counts[5];
    mesh->bone_count = counts[6];
    mesh->parts = arena_array(arena, mesh->part_count, sizeof *mesh->parts);
    mesh->bones = arena_array(arena, mesh->bone_count, sizeof *mesh->bones);
    if (!mesh->parts || !mesh->bones)
        goto nomem;
    const uint8_t *in = bytes + MESH_CANONICAL_HEADER;
    for (uint32_t i = 0; i < counts[4]; i++, in += MESH_CANONICAL_STREAM)
        if (!mesh_add_stream(mesh, arena, in[0], in[1], in[2], load_u32le(in + 4), in[3] != 0))
            goto nomem;
    for (uint32_t i = 0; i < mesh->part_count; i++, in += MESH_CANONICAL_PART)
        mesh->parts[i] = (struct mesh_part){load_u32le(in), load_u32le(in + 4), load_u32le(in + 8),
                                            load_u32le(in + 12), load_u32le(in + 16)};
    for (uint32_t i = 0; i < mesh->bone_count; i++, in += MESH_CANONICAL_BONE) {
        mesh->bones[i].parent = (int32_t)load_u32le(in);
        get_words(mesh->bones[i].position, in + 4, 3);
        get_words(mesh->bones[i].rotation, in + 16, 4);
    }
    if (!mesh->streams[0].corner) {
        error_set(err, ERROR_MALFORMED, 0, "geometry: positions without corners");
        return NULL;
    }
    get_words(mesh->streams[0].corner, in, corners);
    in += corners * 4;
    for (uint32_t i = 0; i < mesh->stream_count; i++) {
        struct mesh_stream *stream = &mesh->streams[i];
        size_t values = (size_t)stream->count * stream->components;
        get_words(stream->data, in, values);
        in += values * 4;
        if (i > 0 && stream->corner) {
            get_words(stream->corner, in, corners);
            in += corners * 4;
        }
    }
    if (!mesh_is_sound(mesh)) {
        error_set(err, ERROR_MALFORMED, 0, "geometry: ranges or corners leave their streams");
        return NULL;
    }
    return mesh;
nomem:
    error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    return NULL;
}
