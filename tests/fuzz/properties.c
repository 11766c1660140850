/* properties.c - see properties.h */
#include "tests/fuzz/properties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/anchor_locate.h"
#include "formats/reader.h"
#include "store/record.h"
#include "tests/fuzz/harness.h"

/* Arena bytes that a decoder may take for each byte of its input, and however small that is: the locator's
 * tables alone are 400 KiB. Far above what any input was seen to take, and far below what a count that is
 * believed before it is checked would. */
#define MEMORY_FACTOR 256
#define MEMORY_FREE   ((size_t)1 << 20)

void must_be_error(const struct error *err, bool expected, const char *what)
{
    MUST((err->code != ERROR_NONE) == expected, "%s: error code %d: %s", what, err->code, err->msg);
    MUST(err->code >= ERROR_NONE && err->code <= ERROR_USAGE, "%s: error code %d", what, err->code);
    size_t length = strnlen(err->msg, sizeof err->msg);
    MUST(length < sizeof err->msg, "%s: no NUL", what);
    if (!expected)
        return;
    MUST(!error_is_fatal(err), "%s: %s", what, err->msg);
    MUST(length && err->msg[length - 1] != '\n', "%s: '%s'", what, err->msg);
}

/* ---- parts, levels of detail --------------------------------------------------------------------------- */

static void must_have_parts(const struct resource *r)
{
    MUST(r->part_count == (r->parts && r->mesh ? r->mesh->part_count : 0), "%u infos", r->part_count);
    for (uint32_t i = 0; i < r->part_count; i++) {
        const struct part_info *part = &r->parts[i];
        MUST(part->object < r->object_count, "part %u in object %u of %u", i, part->object, r->object_count);
        MUST(part->lod < r->lod_count, "part %u in lod %u of %u", i, part->lod, r->lod_count);
    }
    for (uint32_t i = 0; i < r->lod_count; i++) {
        uint64_t triangles = 0;
        for (uint32_t p = 0; p < r->part_count; p++)
            triangles += r->parts[p].lod == i ? r->mesh->parts[p].triangle_count : 0;
        MUST(r->lods[i].object < r->object_count, "lod %u in object %u", i, r->lods[i].object);
        MUST(r->lods[i].triangles == triangles, "lod %u says %u of %llu triangles", i, r->lods[i].triangles,
             (unsigned long long)triangles);
    }
}

static void must_have_mesh(const struct resource *r)
{
    const struct mesh *mesh = r->mesh;
    MUST(mesh_is_sound(mesh), "resource %u", r->index);
    MUST(r->vertices == mesh->vertex_count && r->triangles == mesh->triangle_count,
         "resource %u says %u and %u", r->index, r->vertices, r->triangles);
    MUST(mesh_has_non_finite(mesh) == ((r->flags & FLAG_BIT(FLAG_NON_FINITE)) != 0), "flags %X", r->flags);
    for (int axis = 0; r->bounds.valid && axis < 3; axis++)
        MUST(isfinite(r->bounds.min[axis]) && r->bounds.min[axis] <= r->bounds.max[axis] &&
                 isfinite(r->bounds.max[axis]),
             "axis %d", axis);
    size_t size = mesh_canonical_size(mesh);
    uint8_t *written = malloc(size), *again = malloc(size);
    MUST(written && again, "out of memory");
    struct arena arena = {0};
    struct error err = {0};
    mesh_write(mesh, written);
    const struct mesh *back = mesh_read(written, size, &arena, &err);
    MUST(back, "a decoded mesh cannot be read back: %s", err.msg);
    MUST(mesh_canonical_size(back) == size, "%zu bytes", size);
    mesh_write(back, again);
    MUST(memcmp(written, again, size) == 0, "another serialisation");
    free(written);
    free(again);
    arena_free(&arena);
}

/* ---- located geometry ---------------------------------------------------------------------------------- */

struct extent extent_of(const struct buffer_place *places, uint32_t count)
{
    struct extent extent = {UINT64_MAX, 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct buffer_place *p = &places[i];
        uint64_t index_end = p->index_offset + 2 * (uint64_t)p->index_count;
        uint64_t vertex_end = p->vertex_offset + (uint64_t)p->vertex_count * p->stride;
        extent.start = p->index_offset < extent.start ? p->index_offset : extent.start;
        extent.start = p->vertex_offset < extent.start ? p->vertex_offset : extent.start;
        extent.end = index_end > extent.end ? index_end : extent.end;
        extent.end = vertex_end > extent.end ? vertex_end : extent.end;
    }
    return extent;
}

/* One buffer pair lies in the data section, is what its marker declares, and holds no index out of range. */
static void must_be_place(const struct container *c, const uint8_t *data, const struct xbg7_marker *marker,
                          const struct buffer_place *p)
{
    uint64_t end = c->data_offset + c->data_size;
    MUST(p->index_offset >= c->data_offset && p->index_offset <= end &&
             2 * (uint64_t)p->index_count <= end - p->index_offset,
         "indices at %llX", (unsigned long long)p->index_offset);
    MUST(p->vertex_offset >= c->data_offset && p->vertex_offset <= end &&
             (uint64_t)p->vertex_count * p->stride <= end - p->vertex_offset,
         "vertices at %llX", (unsigned long long)p->vertex_offset);
    MUST(p->index_count == marker->index_count && p->vertex_count == marker->vertex_count &&
             p->stride == marker->stride,
         "%u indices, %u vertices of %u bytes", p->index_count, p->vertex_count, p->stride);
    for (uint32_t i = 0; i < p->index_count; i++) {
        unsigned index = load_u16be(data + p->index_offset + 2 * (size_t)i);
        MUST(index < p->vertex_count, "index %u is %u of %u vertices", i, index, p->vertex_count);
    }
}

/* Stored positions arrive bit for bit. */
static void must_hold_positions(const struct resource *r, const struct buffer_place *places,
                                const struct mesh *mesh, const uint8_t *data)
{
    const float *position = mesh->streams[0].data;
    for (uint32_t m = 0; m < r->marker_count; m++) {
        const struct xbg7_marker *marker = &r->markers[m];
        uint32_t e = 0;
        while (e < marker->element_count && marker->elements[e].usage != MESH_POSITION)
            e++;
        MUST(e < marker->element_count, "marker %u has no position", m);
        for (uint32_t v = 0; v < places[m].vertex_count; v++, position += 3) {
            const uint8_t *stored =
                data + places[m].vertex_offset + (size_t)v * places[m].stride + marker->elements[e].offset;
            for (int axis = 0; axis < 3; axis++)
                MUST(bits_of_float(position[axis]) == load_u32be(stored + 4 * axis), "vertex %u", v);
        }
    }
}

static void must_avoid_walls(const struct container *c, const struct extent *extent)
{
    for (uint32_t i = 0; i < c->texture_count; i++) {
        const struct texture *t = &c->textures[i];
        if (!t->valid || t->contested)
            continue;
        MUST(!t->base_size || t->base_offset >= extent->end || t->base_offset + t->base_size <= extent->start,
             "a place of geometry lies in texture %u", t->index);
        MUST(!t->mip_size || t->mip_offset >= extent->end || t->mip_offset + t->mip_size <= extent->start,
             "a place of geometry lies in the mips of texture %u", t->index);
    }
}

static void must_have_candidates(const struct container *c, const struct resource *r, const uint8_t *data)
{
    MUST(r->candidate_count <= ANCHOR_CANDIDATES, "%u candidates", r->candidate_count);
    for (uint32_t i = 0; i < r->candidate_count; i++) {
        const struct candidate *candidate = &r->candidates[i];
        MUST(isfinite(candidate->score), "candidate %u", i);
        MUST(i == 0 || r->candidates[i - 1].score >= candidate->score, "candidate %u is out of order", i);
        for (uint32_t m = 0; m < r->marker_count; m++)
            must_be_place(c, data, &r->markers[m], &candidate->buffers[m]);
        struct extent extent = extent_of(candidate->buffers, r->marker_count);
        must_avoid_walls(c, &extent);
        MUST((candidate->mesh != NULL) == (r->status == RESOURCE_AMBIGUOUS), "candidate %u of a resource %s",
             i, resource_status_word(r->status));
        if (candidate->mesh) {
            MUST(mesh_is_sound(candidate->mesh), "candidate %u", i);
            must_hold_positions(r, candidate->buffers, candidate->mesh, data);
        }
    }
}

static void must_be_located(const struct container *c, const struct resource *r, const uint8_t *data)
{
    must_have_candidates(c, r, data);
    if (r->status == RESOURCE_DECLINED)
        return;
    MUST(r->status != RESOURCE_DECODED, "an XBG7 resource's place is never addressed");
    MUST(r->buffer_count == r->marker_count && r->marker_count, "%u buffers, %u markers", r->buffer_count,
         r->marker_count);
    MUST(r->chosen < r->candidate_count, "candidate %u of %u", r->chosen, r->candidate_count);
    MUST(memcmp(r->buffers, r->candidates[r->chosen].buffers, r->buffer_count * sizeof *r->buffers) == 0,
         "the chosen candidate is another place");
    MUST(isfinite(r->score) && isfinite(r->margin), "score %g, margin %g", r->score, r->margin);
    MUST(r->status == RESOURCE_AMBIGUOUS || r->margin >= ANCHOR_MARGIN, "%s by %g",
         resource_status_word(r->status), r->margin);
    must_hold_positions(r, r->buffers, r->mesh, data);
}

static bool is_sure(const struct resource *r)
{
    return r->format == FORMAT_XBG7 && (r->status == RESOURCE_PROVEN || r->status == RESOURCE_ASSIGNED);
}

/* Two resources share one whole block or nothing. */
static void must_not_overlap(const struct container *c)
{
    for (uint32_t i = 0; i < c->resource_count; i++) {
        if (!is_sure(&c->resources[i]))
            continue;
        struct extent a = extent_of(c->resources[i].buffers, c->resources[i].buffer_count);
        for (uint32_t k = i + 1; k < c->resource_count; k++) {
            if (!is_sure(&c->resources[k]))
                continue;
            struct extent b = extent_of(c->resources[k].buffers, c->resources[k].buffer_count);
            MUST(a.end <= b.start || b.end <= a.start || (a.start == b.start && a.end == b.end),
                 "resources %u and %u overlap", c->resources[i].index, c->resources[k].index);
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void must_be_resource(const struct container *c, const struct resource *r, const uint8_t *data)
{
    bool declined = r->status == RESOURCE_DECLINED;
    MUST((unsigned)r->status < RESOURCE_STATUS_COUNT && (unsigned)r->reason < DECLINE_REASON_COUNT, "%d, %d",
         r->status, r->reason);
    MUST(declined == (r->reason != DECLINE_NONE), "%s with reason %d", resource_status_word(r->status),
         r->reason);
    /* A legacy MESHBIN that several layouts fit is read as the first; its error names the others. */
    bool variants = r->format == FORMAT_MESHBIN && r->status == RESOURCE_AMBIGUOUS;
    MUST(variants == ((r->flags & FLAG_BIT(FLAG_AMBIGUOUS_VARIANT)) != 0), "%s, flags %X",
         resource_status_word(r->status), r->flags);
    /* A doubt is said of what is ambiguous, where there is one to be named. */
    bool doubted = r->status == RESOURCE_AMBIGUOUS && r->error.code != ERROR_NONE;
    must_be_error(&r->error, declined || variants || doubted, "resource");
    MUST(r->flags < FLAG_BIT(FLAG_COUNT), "flags %X", r->flags);
    /* A material library has no geometry, and a mesh may be without it when all of it was dropped. */
    MUST(!declined || !r->mesh, "a declined resource has a mesh");
    if (r->mesh)
        must_have_mesh(r);
    must_have_parts(r);
    if (r->format == FORMAT_XBG7)
        must_be_located(c, r, data);
    else
        MUST(declined || variants || r->status == RESOURCE_DECODED, "%s", resource_status_word(r->status));
    MUST(r->format == FORMAT_XBG7 || (!r->buffer_count && !r->candidate_count),
         "buffers of an addressed format");
}

static void must_have_coverage(const struct container *c)
{
    uint64_t at = c->data_offset;
    for (uint32_t i = 0; i < c->coverage_count; i++) {
        const struct coverage_run *covered = &c->coverage[i];
        MUST(covered->start == at && covered->end > at, "run %u begins at %llX", i,
             (unsigned long long)covered->start);
        MUST((unsigned)covered->kind < COVERAGE_KIND_COUNT, "kind %d", covered->kind);
        at = covered->end;
    }
    MUST(!c->coverage_count || at == c->data_offset + c->data_size, "ends at %llX", (unsigned long long)at);
}

void must_be_container(const struct container *c, const uint8_t *data, size_t size)
{
    MUST((unsigned)c->status <= CONTAINER_SKIPPED && (unsigned)c->reason < CONTAINER_REASON_COUNT, "%d, %d",
         c->status, c->reason);
    /* No word fits a chunk tree that does not close: damaged is then without a reason, and the error says it.
     */
    MUST(c->status != CONTAINER_READ || c->reason == CONTAINER_REASON_NONE, "read, with reason %d",
         c->reason);
    must_be_error(&c->error, c->status != CONTAINER_READ, "container");
    MUST(c->flags < FLAG_BIT(FLAG_COUNT), "flags %X", c->flags);
    MUST(c->data_offset <= size && c->data_size <= size - c->data_offset, "data section");
    for (uint32_t i = 0; i < c->texture_count; i++) {
        must_be_error(&c->textures[i].error, !c->textures[i].valid, "texture");
        MUST(i == 0 || c->textures[i - 1].index < c->textures[i].index, "texture %u", i);
    }
    for (uint32_t i = 0; i < c->tag_count_count; i++)
        MUST(memchr(c->tag_counts[i].tag, 0, sizeof c->tag_counts[i].tag) && c->tag_counts[i].count, "tag %u",
             i);
    for (uint32_t i = 0; i < c->resource_count; i++) {
        MUST(i == 0 || c->resources[i - 1].index < c->resources[i].index, "resource %u", i);
        must_be_resource(c, &c->resources[i], data);
    }
    must_not_overlap(c);
    must_have_coverage(c);
}

/* What a store would keep of the container, and with it every field of the result and every byte of its
 * strings. What is written is read back and written again, to the same bytes. */
static void put_records(const struct container *c, struct buffer *out)
{
    struct container_record record = {.container = *c}, record_back;
    struct arena arena = {0};
    struct error err = {0};
    struct buffer first = {0}, second = {0};
    container_write(&first, &record);
    MUST(container_read(first.data, first.size, &arena, &record_back, &err), "a container's record: %s",
         err.msg);
    container_write(&second, &record_back);
    for (uint32_t i = 0; i < c->resource_count; i++) {
        struct resource_record resource = {.resource = c->resources[i],
                                           .part_count = c->resources[i].part_count};
        struct resource_record back;
        size_t start = first.size;
        resource_write(&first, &resource);
        MUST(resource_read(first.data + start, first.size - start, &arena, &back, &err),
             "a resource's record: %s", err.msg);
        resource_write(&second, &back);
        const struct mesh *mesh = c->resources[i].mesh;
        uint8_t *room = mesh ? buffer_extend(out, mesh_canonical_size(mesh)) : NULL;
        if (room)
            mesh_write(mesh, room);
    }
    MUST(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
         "records are not the same when written again");
    buffer_append(out, first.data, first.size);
    MUST(!out->failed && !second.failed, "out of memory");
    buffer_free(&first);
    buffer_free(&second);
    arena_free(&arena);
}

static void decode_once(const struct format *format, const struct input *in, struct arena *arena,
                        struct buffer *records)
{
    struct container container;
    struct input copy = *in;
    uint8_t *bytes = exact_copy(in->data, in->size);
    copy.data = bytes;
    MUST(format_decode(format, &copy, arena, &container), "out of memory");
    free(bytes);
    must_be_container(&container, in->data, in->size);
    put_records(&container, records);
}

void must_decode_well(const struct format *format, const char *name, const uint8_t *data, size_t size)
{
    const struct input in = {.data = data, .size = size, .name = name};
    struct arena arena = {0};
    struct buffer first = {0}, second = {0};
    decode_once(format, &in, &arena, &first);
    MUST(arena.bytes <= MEMORY_FREE + size * MEMORY_FACTOR, "%zu bytes of memory for %zu of input",
         arena.bytes, size);
    arena_reset(&arena); /* its block is dirty now: memory is zeroed all the same */
    decode_once(format, &in, &arena, &second);
    MUST(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
         "%s: another result the second time", format_word(format->id));
    buffer_free(&first);
    buffer_free(&second);
    arena_free(&arena);
}
