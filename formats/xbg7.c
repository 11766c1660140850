/* xbg7.c - XBG7 descriptors: buffer markers, vertex declarations, draw records, names. See xbg7.h; the layout
 * is stated in formats/xbg7.md.
 *
 * A descriptor is a graph of which only these parts are known; they are found by their content. Offsets from
 * the marker word m:
 *
 *   m-40 u32 vertex fetch word 0 (derived)      m    u32 index bytes = 2 x index count
 *   m-36 u32 vertex fetch word 1 (derived)      m+4  u32 index count, a multiple of 3
 *   m-32 u32 vertex count                       m+8  vertex elements, 12 bytes each, with an end mark
 *
 * A draw record is { u32 vertex count, u32 0, u32 index count, u32 1..64 }, anywhere.
 */
#include "xbg7.h"

#include <string.h>

#define ELEMENT_BYTES   12u
#define END_STREAM      0x00FFu
#define END_FORMAT      0xFFFFFFFFu
#define MARKER_BEFORE   32u /* bytes in front of the marker word that every marker has */
#define FETCH_BEFORE    40u
#define RECORD_BYTES    16u
#define RECORD_TAIL_MAX 64u
#define NAME_MIN        3u
#define NAME_MAX        255u
#define NAMES_MAX       1024u
/* Steps per descriptor word that sharing out draw records may take: passes over the records, and the search
 * among records that do not follow each other. Real descriptors need a small part of either. */
#define PASS_STEPS   32u
#define SEARCH_STEPS 8u

unsigned xbg7_format_size(uint32_t format)
{
    static const uint8_t sizes[64] = {
        [XBG7_8_8_8_8] = 4, [XBG7_2_10_10_10] = 4, [XBG7_10_11_11] = 4,    [XBG7_11_11_10] = 4,
        [XBG7_16_16] = 4,   [XBG7_F16X2] = 4,      [XBG7_16_16_16_16] = 8, [XBG7_F16X4] = 8,
        [XBG7_INT] = 4,     [XBG7_INT2] = 8,       [XBG7_INT4] = 16,       [XBG7_F32] = 4,
        [XBG7_F32X2] = 8,   [XBG7_F32X4] = 16,     [XBG7_F32X3] = 12,
    };
    return sizes[format & 63];
}

/* ---- vertex declarations
 * ----------------------------------------------------------------------------------- */

/* What a declaration turned out to be. */
enum verdict { NOT_A_DECLARATION, DECLARED, DECLARED_UNKNOWN };

struct declaration {
    uint32_t count, extent; /* extent: the end of the last element whose size is known */
    uint32_t bytes;         /* with its end mark */
    bool unknown;           /* an element whose number is outside the table */
    bool position;          /* f32 x 3 */
    struct vertex_element elements[XBG7_ELEMENTS_MAX];
};

/* Whether two elements claim a byte in common. One of unknown size has at least its first. */
static bool elements_overlap(const struct vertex_element *a, const struct vertex_element *b)
{
    unsigned a_end = a->offset + (a->size ? a->size : 1u), b_end = b->offset + (b->size ? b->size : 1u);
    return a->offset < b_end && b->offset < a_end;
}

static bool add_element(struct declaration *out, uint32_t word1, uint32_t format, uint32_t word3)
{
    if (out->count == XBG7_ELEMENTS_MAX || word1 >> 16 != 0 || (word3 & 0xFF) != 0)
        return false;
    struct vertex_element element = {.offset = (uint16_t)word1,
                                     .usage = (uint8_t)(word3 >> 16),
                                     .usage_index = (uint8_t)(word3 >> 8),
                                     .format = format,
                                     .size = (uint8_t)xbg7_format_size(format)};
    for (uint32_t i = 0; i < out->count; i++)
        if (elements_overlap(&element, &out->elements[i]))
            return false;
    out->elements[out->count++] = element;
    uint32_t end = element.offset + (element.size ? element.size : 1u);
    out->extent = end > out->extent ? end : out->extent;
    out->unknown |= element.size == 0;
    return true;
}

/* The declaration at the reader's position. One that never ends, names no POSITION, or whose elements overlap
 * or lie in another stream, is none: taking those for declarations makes other bytes markers. */
static enum verdict read_declaration(struct reader r, struct declaration *out)
{
    memset(out, 0, sizeof *out);
    const struct vertex_element *position = NULL;
    for (;;) {
        if (reader_left(&r) < ELEMENT_BYTES)
            return NOT_A_DECLARATION;
        uint32_t word1 = reader_u32be(&r, "element");
        uint32_t format = reader_u32be(&r, "element format");
        uint32_t word3 = reader_u32be(&r, "element usage");
        out->bytes += ELEMENT_BYTES;
        if (word1 >> 16 == END_STREAM || format == END_FORMAT)
            break;
        if (!add_element(out, word1, format, word3))
            return NOT_A_DECLARATION;
        const struct vertex_element *last = &out->elements[out->count - 1];
        if (last->usage == MESH_POSITION && (!position || last->usage_index < position->usage_index))
            position = last;
    }
    if (!position)
        return NOT_A_DECLARATION;
    out->position = (position->format & 63) == XBG7_F32X3;
    return out->unknown || !out->position ? DECLARED_UNKNOWN : DECLARED;
}

/* ---- markers
 * ----------------------------------------------------------------------------------------------- */

/* A descriptor being read. `near_miss` is the first place that looks like a marker in all but its
 * declaration. */
struct parse {
    struct reader *r;
    struct arena *arena;
    struct resource *out;
    uint32_t marker_room;
    bool missed;
    uint32_t near_miss;
    bool unknown; /* a marker was met whose layout is not known */
    struct error unknown_error;
};

static uint32_t word_at(const struct parse *p, size_t offset)
{
    struct reader ahead = *p->r;
    reader_seek(&ahead, offset);
    return reader_u32be(&ahead, "word");
}

/* The stride that fetch word 1 states, 0 when it states none that the declaration allows. */
static uint32_t fetch_stride(uint32_t fetch1, uint32_t vertex_count, uint32_t extent)
{
    uint32_t bytes = fetch1 & 0x0FFFFFFCu;
    if (fetch1 >> 28 != 1 || (fetch1 & 3) != 2 || bytes % vertex_count != 0)
        return 0;
    uint32_t stride = bytes / vertex_count;
    return stride >= extent ? stride : 0;
}

/* Memory for one more marker; doubles, so that thousands cost linear time. */
static struct xbg7_marker *new_marker(struct parse *p)
{
    struct resource *out = p->out;
    if (out->marker_count == p->marker_room) {
        uint32_t room = p->marker_room ? p->marker_room * 2 : 2;
        struct xbg7_marker *grown = arena_array(p->arena, room, sizeof *grown);
        if (!grown)
            return NULL;
        if (out->marker_count)
            memcpy(grown, out->markers, out->marker_count * sizeof *grown);
        out->markers = grown;
        p->marker_room = room;
    }
    return &out->markers[out->marker_count++];
}

static void note_unknown(struct parse *p, uint32_t m, const struct declaration *declaration)
{
    if (p->unknown)
        return;
    p->unknown = true;
    error_clear(&p->unknown_error);
    uint64_t at = p->r->base + m + 8;
    if (!declaration->position) {
        error_set(&p->unknown_error, ERROR_UNSUPPORTED, at, "POSITION is not f32 x 3");
        return;
    }
    for (uint32_t i = 0; i < declaration->count; i++)
        if (!declaration->elements[i].size)
            error_set(&p->unknown_error, ERROR_UNSUPPORTED, at + i * ELEMENT_BYTES,
                      "element of vertex format 0x%X: number %u is not known, and no stride is stated",
                      declaration->elements[i].format, declaration->elements[i].format & 63);
}

/* Keeps the marker at m. */
static bool add_marker(struct parse *p, uint32_t m, const struct declaration *declaration)
{
    struct xbg7_marker *marker = new_marker(p);
    if (!marker)
        return false;
    *marker = (struct xbg7_marker){.offset = m,
                                   .vertex_count = word_at(p, m - MARKER_BEFORE),
                                   .index_count = word_at(p, m + 4),
                                   .stride = declaration->extent,
                                   .element_count = declaration->count};
    if (m >= FETCH_BEFORE) {
        marker->fetch0 = word_at(p, m - FETCH_BEFORE);
        marker->fetch1 = word_at(p, m - FETCH_BEFORE + 4);
    }
    marker->elements = arena_array(p->arena, declaration->count, sizeof *marker->elements);
    if (!marker->elements)
        return false;
    memcpy(marker->elements, declaration->elements, declaration->count * sizeof *marker->elements);
    if (declaration->unknown)
        marker->stride = fetch_stride(marker->fetch1, marker->vertex_count, declaration->extent);
    if (!marker->stride || !declaration->position)
        note_unknown(p, m, declaration);
    return true;
}

/* Whether the words around m are a marker's, its declaration aside. */
static bool looks_like_marker(const uint8_t *bytes, size_t m)
{
    uint32_t index_bytes = load_u32be(bytes + m), index_count = load_u32be(bytes + m + 4);
    if (index_count < 3 || index_count % 3 != 0 || index_bytes != (uint64_t)index_count * 2)
        return false;
    uint32_t vertex_count = load_u32be(bytes + m - MARKER_BEFORE);
    return vertex_count >= XBG7_VERTICES_MIN && vertex_count <= XBG7_VERTICES_MAX;
}

/* Finds the markers. False when memory runs out. */
static bool scan_markers(struct parse *p)
{
    struct reader whole = *p->r;
    size_t size = reader_left(&whole);
    const uint8_t *bytes = reader_bytes(&whole, size, "descriptor");
    for (size_t m = MARKER_BEFORE; size >= 8 && m <= size - 8;) {
        if (!looks_like_marker(bytes, m)) {
            m += 4;
            continue;
        }
        struct declaration declaration;
        struct reader at = *p->r;
        reader_seek(&at, m + 8);
        if (read_declaration(at, &declaration) == NOT_A_DECLARATION) {
            if (!p->missed)
                p->near_miss = (uint32_t)m;
            p->missed = true;
            m += 4;
            continue;
        }
        if (!add_marker(p, (uint32_t)m, &declaration))
            return false;
        m += 8 + declaration.bytes;
    }
    return true;
}

/* ---- draw records
 * ------------------------------------------------------------------------------------------ */

struct records {
    uint32_t count;
    struct xbg7_draw *list;
    uint64_t pass_steps, search_steps; /* left */
};

static bool is_record(const uint8_t *at)
{
    uint32_t vertices = load_u32be(at), zero = load_u32be(at + 4), indices = load_u32be(at + 8);
    uint32_t tail = load_u32be(at + 12);
    return vertices >= XBG7_VERTICES_MIN && vertices <= XBG7_VERTICES_MAX && zero == 0 && indices >= 3 &&
           indices % 3 == 0 && tail >= 1 && tail <= RECORD_TAIL_MAX;
}

static bool scan_records(struct parse *p, struct records *records)
{
    struct reader whole = *p->r;
    size_t size = reader_left(&whole);
    const uint8_t *bytes = reader_bytes(&whole, size, "descriptor");
    uint32_t count = 0;
    for (size_t at = 0; size >= RECORD_BYTES && at <= size - RECORD_BYTES; at += 4)
        count += is_record(bytes + at);
    records->count = count;
    records->pass_steps = PASS_STEPS * (uint64_t)(size / 4);
    records->search_steps = SEARCH_STEPS * (uint64_t)(size / 4);
    records->list = arena_array(p->arena, count, sizeof *records->list);
    if (!records->list)
        return false;
    count = 0;
    for (size_t at = 0; count < records->count; at += 4)
        if (is_record(bytes + at))
            records->list[count++] = (struct xbg7_draw){load_u32be(bytes + at), load_u32be(bytes + at + 8)};
    return true;
}

/* A run of records that follow each other, starts at `from` or later, and makes up the marker's indices. A
 * window whose sum only grows and shrinks finds it in one pass; a record of more vertices than the buffer has
 * breaks it. */
static bool find_run(const struct records *records, const struct xbg7_marker *marker, uint32_t from,
                     uint32_t *first, uint32_t *count)
{
    uint64_t sum = 0;
    uint32_t start = from;
    for (uint32_t i = from; i < records->count; i++) {
        if (records->list[i].vertex_count > marker->vertex_count) {
            sum = 0;
            start = i + 1;
            continue;
        }
        sum += records->list[i].index_count;
        while (sum > marker->index_count)
            sum -= records->list[start++].index_count;
        if (sum == marker->index_count) {
            *first = start;
            *count = i + 1 - start;
            return true;
        }
    }
    return false;
}

/* The first record from `from` on whose counts are the whole buffer's. */
static bool find_whole(const struct records *records, const struct xbg7_marker *marker, uint32_t from,
                       uint32_t *found)
{
    for (uint32_t i = from; i < records->count; i++)
        if (records->list[i].vertex_count == marker->vertex_count &&
            records->list[i].index_count == marker->index_count) {
            *found = i;
            return true;
        }
    return false;
}

/* A depth-first choice of records with strangers between them, earliest first; `chosen` holds their numbers.
 * Bounded by records->search_steps, as the problem is a subset sum. */
static uint32_t find_subset(struct records *records, const struct xbg7_marker *marker, uint32_t from,
                            uint32_t *chosen)
{
    uint32_t depth = 0, next = from;
    uint64_t sum = 0;
    while (records->search_steps) {
        records->search_steps--;
        if (next == records->count) { /* dead end: drop the last choice and go on behind it */
            if (!depth)
                return 0;
            next = chosen[--depth];
            sum -= records->list[next++].index_count;
            continue;
        }
        const struct xbg7_draw *draw = &records->list[next];
        if (draw->vertex_count <= marker->vertex_count && sum + draw->index_count <= marker->index_count) {
            chosen[depth++] = next;
            sum += draw->index_count;
            if (sum == marker->index_count)
                return depth;
        }
        next++;
    }
    return 0;
}

static bool set_draws(struct parse *p, struct xbg7_marker *marker, const struct records *records,
                      const uint32_t *chosen, uint32_t count)
{
    marker->draw_count = count ? count : 1;
    marker->draws = arena_array(p->arena, marker->draw_count, sizeof *marker->draws);
    if (!marker->draws)
        return false;
    if (!count)
        marker->draws[0] = (struct xbg7_draw){marker->vertex_count, marker->index_count};
    for (uint32_t i = 0; i < count; i++)
        marker->draws[i] = records->list[chosen[i]];
    return true;
}

/* The records from `from` on that are the marker's draws, into `chosen`: one equal to the buffer's counts;
 * else a run that sums to them; else some with strangers between. Returns how many; 0 when nothing fits. */
static uint32_t choose_records(struct records *records, const struct xbg7_marker *marker, uint32_t from,
                               uint32_t *chosen)
{
    uint32_t left = records->count - from, first, count = 1;
    if (2 * (uint64_t)left > records->pass_steps)
        return 0; /* thousands of markers over thousands of records */
    records->pass_steps -= 2 * (uint64_t)left;
    if (!find_whole(records, marker, from, &first) && !find_run(records, marker, from, &first, &count))
        return find_subset(records, marker, from, chosen);
    for (uint32_t k = 0; k < count; k++)
        chosen[k] = first + k;
    return count;
}

/* Shares the records out among the markers, both in file order. A buffer that none fit is one draw. */
static bool share_records(struct parse *p)
{
    struct records records;
    if (!scan_records(p, &records))
        return false;
    uint32_t *chosen = arena_array(p->arena, records.count, sizeof *chosen);
    if (!chosen)
        return false;
    uint32_t from = 0;
    for (uint32_t i = 0; i < p->out->marker_count; i++) {
        struct xbg7_marker *marker = &p->out->markers[i];
        uint32_t count = choose_records(&records, marker, from, chosen);
        if (!set_draws(p, marker, &records, chosen, count))
            return false;
        if (count)
            from = chosen[count - 1] + 1;
    }
    return true;
}

/* ---- names
 * ------------------------------------------------------------------------------------------------- */

static const bool is_name_byte[256] = {
    ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['_'] = true, ['-'] = true,
    ['.'] = true,         [':'] = true,         ['/'] = true,         [' '] = true,
};

/* Whether bytes[0..length) is a word somebody may have typed: a letter first or behind an underscore. */
static bool is_name(const uint8_t *bytes, size_t length)
{
    if (length < NAME_MIN || length > NAME_MAX)
        return false;
    uint8_t first = bytes[0] == '_' ? bytes[1] : bytes[0];
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

/* Collects the strings that may be names of nodes and materials: a hint for people, nothing is decided by it.
 */
static bool scan_names(struct parse *p)
{
    struct reader whole = *p->r;
    size_t size = reader_left(&whole);
    const uint8_t *bytes = reader_bytes(&whole, size, "descriptor");
    struct {
        size_t at, length;
    } found[NAMES_MAX];
    uint32_t count = 0;
    for (size_t at = 0; at < size && count < NAMES_MAX; at++) {
        size_t end = at;
        while (end < size && is_name_byte[bytes[end]])
            end++;
        if (end < size && bytes[end] == 0 && is_name(bytes + at, end - at)) {
            found[count].at = at;
            found[count++].length = end - at;
        }
        at = end;
    }
    p->out->nodes = arena_array(p->arena, count, sizeof *p->out->nodes);
    for (uint32_t i = 0; p->out->nodes && i < count; i++) {
        p->out->nodes[i] = arena_copy(p->arena, bytes + found[i].at, found[i].length);
        if (!p->out->nodes[i])
            return false;
    }
    p->out->node_count = count;
    return p->out->nodes != NULL;
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------- */

/* The sums over all markers; false when they leave 32 bits. */
static bool count_declared(struct resource *out)
{
    uint64_t vertices = 0, triangles = 0;
    for (uint32_t i = 0; i < out->marker_count; i++) {
        vertices += out->markers[i].vertex_count;
        triangles += out->markers[i].index_count / 3;
    }
    if (vertices > UINT32_MAX || triangles > UINT32_MAX)
        return false;
    out->vertices = (uint32_t)vertices;
    out->triangles = (uint32_t)triangles;
    return true;
}

bool xbg7_parse(struct reader *descriptor, struct arena *arena, struct resource *out)
{
    struct parse p = {.r = descriptor, .arena = arena, .out = out};
    struct error err = {.offset = ERROR_NO_OFFSET};
    if (!scan_markers(&p) || !scan_names(&p))
        return false;
    if (!out->marker_count && p.missed) {
        error_set(&err, ERROR_MALFORMED, descriptor->base + p.near_miss,
                  "a pair of counts at +0x%X, but no vertex declaration behind it", p.near_miss);
        resource_decline(out, DECLINE_NO_DECLARATION, &err);
        return true;
    }
    if (!out->marker_count) {
        error_set(&err, ERROR_MALFORMED, descriptor->base, "no buffer marker in a descriptor of %zu bytes",
                  descriptor->size);
        resource_decline(out, DECLINE_NO_MARKER, &err);
        return true;
    }
    if (!share_records(&p))
        return false;
    if (!count_declared(out)) {
        error_set(&err, ERROR_RANGE, descriptor->base,
                  "%u markers declare more than 2^32 vertices or triangles", out->marker_count);
        resource_decline(out, DECLINE_BAD_DESCRIPTOR, &err);
        return true;
    }
    if (p.unknown)
        resource_decline(out, DECLINE_UNKNOWN_ELEMENT, &p.unknown_error);
    return true;
}
