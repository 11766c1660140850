/* xbg7_mesh.c - see xbg7_mesh.h */
#include "xbg7_mesh.h"

#include <string.h>

#include "anchor_scan.h"
#include "reader.h"
#include "xbg7.h"

/* ---- elements
 * ---------------------------------------------------------------------------------------------- */

static bool is_direction(unsigned usage)
{
    return usage == MESH_NORMAL || usage == MESH_TANGENT || usage == MESH_BINORMAL;
}

/* Floats that a format number of float type has; 0 for the others. */
static unsigned float_components(unsigned number)
{
    switch (number) {
    case XBG7_F32:
        return 1;
    case XBG7_F16X2:
    case XBG7_F32X2:
        return 2;
    case XBG7_F32X3:
        return 3;
    case XBG7_F16X4:
    case XBG7_F32X4:
        return 4;
    default:
        return 0;
    }
}

unsigned xbg7_components(uint32_t format, unsigned usage)
{
    unsigned number = format & 63, floats = float_components(number);
    bool packed = number == XBG7_2_10_10_10 || number == XBG7_10_11_11 || number == XBG7_11_11_10;
    if (usage == MESH_POSITION)
        return number == XBG7_F32X3 ? 3 : 0;
    if (is_direction(usage)) /* the fourth component is not known to mean anything */
        return floats >= 3 || packed || number == XBG7_16_16_16_16 || number == XBG7_8_8_8_8 ? 3 : 0;
    if (usage == MESH_COLOR)
        return number == XBG7_8_8_8_8 ? 4 : floats >= 3 ? floats : 0;
    if (usage == MESH_BLENDINDICES) /* whose components these are is not known */
        return 0;
    return floats;
}

static float signed_part(uint32_t word, unsigned shift, unsigned width)
{
    uint32_t value = word >> shift & ((1u << width) - 1), half = 1u << (width - 1);
    int32_t whole = (int32_t)(value ^ half) - (int32_t)half;
    float scaled = (float)whole / (float)(half - 1);
    return scaled < -1.0f ? -1.0f : scaled;
}

static void packed_element(unsigned number, uint32_t word, float out[3])
{
    static const uint8_t widths[3][3] = {{10, 10, 10}, {11, 11, 10}, {10, 11, 11}};
    const uint8_t *width = widths[number == XBG7_10_11_11 ? 1 : number == XBG7_11_11_10 ? 2 : 0];
    unsigned shift = 0;
    for (unsigned i = 0; i < 3; i++) {
        out[i] = signed_part(word, shift, width[i]);
        shift += width[i];
    }
}

void xbg7_element(uint32_t format, unsigned usage, const uint8_t *bytes, unsigned components, float *out)
{
    unsigned number = format & 63;
    float packed[3];
    if (number == XBG7_2_10_10_10 || number == XBG7_10_11_11 || number == XBG7_11_11_10)
        packed_element(number, load_u32be(bytes), packed);
    for (unsigned i = 0; i < components; i++) {
        switch (number) {
        case XBG7_F16X2:
        case XBG7_F16X4:
            out[i] = anchor_half(load_u16be(bytes + 2 * (size_t)i));
            break;
        case XBG7_16_16_16_16:
            out[i] = signed_part(load_u16be(bytes + 2 * (size_t)i), 0, 16);
            break;
        case XBG7_8_8_8_8:
            out[i] = is_direction(usage) ? signed_part(load_u32be(bytes), 8 * i, 8)
                                         : (float)(load_u32be(bytes) >> (8 * i) & 0xFF) / 255.0f;
            break;
        case XBG7_2_10_10_10:
        case XBG7_10_11_11:
        case XBG7_11_11_10:
            out[i] = packed[i];
            break;
        default:
            out[i] = load_f32be(bytes + 4 * (size_t)i);
        }
    }
}

const struct vertex_element *xbg7_find_element(const struct xbg7_marker *marker, unsigned usage)
{
    const struct vertex_element *found = NULL;
    for (uint32_t i = 0; i < marker->element_count; i++) {
        const struct vertex_element *element = &marker->elements[i];
        if (element->usage == usage && (!found || element->usage_index < found->usage_index))
            found = element;
    }
    return found;
}

/* ---- meshes
 * ------------------------------------------------------------------------------------------------ */

/* The stream that an element goes into, NULL when it goes into none. */
static struct mesh_stream *stream_of(struct mesh *mesh, const struct vertex_element *element)
{
    if (!xbg7_components(element->format, element->usage))
        return NULL;
    for (uint32_t i = 0; i < mesh->stream_count; i++)
        if (mesh->streams[i].usage == element->usage && mesh->streams[i].usage_index == element->usage_index)
            return &mesh->streams[i];
    return NULL;
}

/* Adds the streams of all declarations; of elements that occur in several, the fewest components. */
static bool add_streams(struct mesh *mesh, const struct xbg7_marker *markers, uint32_t count,
                        struct arena *arena)
{
    struct {
        uint8_t usage, usage_index, components;
    } wanted[MESH_STREAMS_MAX];
    uint32_t used = 0;
    for (uint32_t m = 0; m < count; m++) {
        const struct vertex_element *position = xbg7_find_element(&markers[m], MESH_POSITION);
        for (uint32_t e = 0; e < markers[m].element_count; e++) {
            const struct vertex_element *element = &markers[m].elements[e];
            unsigned components = xbg7_components(element->format, element->usage);
            if (!components || element == position)
                continue;
            uint32_t i = 0;
            while (i < used &&
                   (wanted[i].usage != element->usage || wanted[i].usage_index != element->usage_index))
                i++;
            if (i == used && used == MESH_STREAMS_MAX - 1)
                continue;
            if (i == used)
                wanted[used++].components = (uint8_t)components;
            wanted[i].usage = element->usage;
            wanted[i].usage_index = element->usage_index;
            if (components < wanted[i].components)
                wanted[i].components = (uint8_t)components;
        }
    }
    for (uint32_t i = 0; i < used; i++)
        if (!mesh_add_stream(mesh, arena, wanted[i].usage, wanted[i].usage_index, wanted[i].components,
                             mesh->vertex_count, false))
            return false;
    return true;
}

/* The compiler is told the number of components, so that it unrolls and keeps no count. */
#define INLINE __attribute__((always_inline)) static inline

INLINE void read_halves(const uint8_t *at, size_t stride, size_t count, unsigned components, float *out)
{
    for (size_t v = 0; v < count; v++, at += stride, out += components)
        for (unsigned i = 0; i < components; i++)
            out[i] = anchor_half(load_u16be(at + 2 * i));
}

INLINE void read_singles(const uint8_t *at, size_t stride, size_t count, unsigned components, float *out)
{
    for (size_t v = 0; v < count; v++, at += stride, out += components)
        for (unsigned i = 0; i < components; i++)
            out[i] = load_f32be(at + 4 * i);
}

/* What nearly all vertices are made of, each kind in a loop of its own; the rest value by value. */
static void read_vertices(struct mesh_stream *stream, const struct vertex_element *element,
                          const uint8_t *vertices, const struct buffer_place *place, uint32_t first)
{
    float *out = stream->data + (size_t)first * stream->components;
    const uint8_t *at = vertices + element->offset;
    size_t stride = place->stride, count = place->vertex_count;
    unsigned number = element->format & 63, components = stream->components;
    bool halves = number == XBG7_F16X2 || number == XBG7_F16X4;
    if (halves && components == 2)
        read_halves(at, stride, count, 2, out);
    else if (halves && components == 3)
        read_halves(at, stride, count, 3, out);
    else if (float_components(number) && !halves && components == 2)
        read_singles(at, stride, count, 2, out);
    else if (float_components(number) && !halves && components == 3)
        read_singles(at, stride, count, 3, out);
    else
        for (size_t v = 0; v < count; v++, at += stride, out += components)
            xbg7_element(element->format, element->usage, at, components, out);
}

/* Reads one buffer's vertices into their streams; returns which streams those are. */
static uint32_t read_streams(struct mesh *mesh, const struct xbg7_marker *marker, const uint8_t *vertices,
                             const struct buffer_place *place, uint32_t first)
{
    const struct vertex_element *position = xbg7_find_element(marker, MESH_POSITION);
    uint32_t filled = 1;
    read_vertices(&mesh->streams[0], position, vertices, place, first);
    for (uint32_t e = 0; e < marker->element_count; e++) {
        struct mesh_stream *stream = stream_of(mesh, &marker->elements[e]);
        uint32_t bit = stream ? UINT32_C(1) << (stream - mesh->streams) : 0;
        if (!stream || filled & bit)
            continue;
        read_vertices(stream, &marker->elements[e], vertices, place, first);
        filled |= bit;
    }
    return filled;
}

/* The vertices that the part's triangles name; all of the buffer's when it is the buffer's only part. */
static void set_part_range(const struct mesh *mesh, struct mesh_part *part, const struct buffer_place *place,
                           uint32_t first_vertex, bool only)
{
    part->first_vertex = first_vertex;
    part->vertex_count = place->vertex_count;
    if (only || !part->triangle_count)
        return;
    const uint32_t *corner = mesh->streams[0].corner + (size_t)part->first_triangle * 3;
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < (size_t)part->triangle_count * 3; i++) {
        low = corner[i] < low ? corner[i] : low;
        high = corner[i] > high ? corner[i] : high;
    }
    part->first_vertex = low;
    part->vertex_count = high - low + 1;
}

bool xbg7_mesh(const uint8_t *data, size_t size, const struct xbg7_marker *markers, uint32_t count,
               const struct buffer_place *places, struct arena *arena, const struct mesh **out)
{
    struct error err = {.offset = ERROR_NO_OFFSET};
    uint32_t vertices = 0, triangles = 0, parts = 0;
    for (uint32_t m = 0; m < count; m++) {
        vertices += markers[m].vertex_count;
        triangles += markers[m].index_count / 3;
        parts += markers[m].draw_count;
    }
    struct mesh *mesh = mesh_new(arena, vertices, triangles, parts);
    if (!mesh || !add_streams(mesh, markers, count, arena))
        return false;
    struct mesh_part *part = mesh->parts;
    uint32_t first_vertex = 0, first_triangle = 0;
    for (uint32_t m = 0; m < count; m++) {
        const struct buffer_place *place = &places[m];
        struct reader r = reader_make(data, size, 0, "buffers", &err);
        reader_seek(&r, place->index_offset);
        const uint8_t *indices = reader_array(&r, place->index_count, 2, "indices");
        reader_seek(&r, place->vertex_offset);
        const uint8_t *bytes = reader_array(&r, place->vertex_count, place->stride, "vertices");
        if (!indices || !bytes)
            return true; /* not a located place: no mesh */
        uint32_t *corner = mesh->streams[0].corner + (size_t)first_triangle * 3;
        for (uint32_t i = 0; i < place->index_count; i++)
            corner[i] = first_vertex + load_u16be(indices + 2 * (size_t)i);
        uint32_t filled = read_streams(mesh, &markers[m], bytes, place, first_vertex);
        for (uint32_t d = 0; d < markers[m].draw_count; d++, part++) {
            part->first_triangle = first_triangle;
            part->triangle_count = markers[m].draws[d].index_count / 3;
            part->streams = filled;
            set_part_range(mesh, part, place, first_vertex, markers[m].draw_count == 1);
            first_triangle += part->triangle_count;
        }
        first_vertex += place->vertex_count;
    }
    *out = mesh;
    return true;
}
