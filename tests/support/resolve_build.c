/* resolve_build.c - see resolve_build.h */
#include "tests/support/resolve_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- meshes -------------------------------------------------------------------------------------------- */

static uint32_t next_word(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Points of a content on the positive side of x, so that sides can be told. */
static void fill_points(unsigned content, uint32_t count, float *out)
{
    uint32_t state = content * 7919u + 1;
    for (uint32_t i = 0; i < count * 3; i++)
        out[i] = (float)(next_word(&state) % 100000) / 1000.0f + (i % 3 == 0 ? 1 : -50);
    if (content == BUILD_SYMMETRIC)
        for (uint32_t v = 0; v + 1 < count; v += 2) {
            memcpy(out + 3 * (v + 1), out + 3 * v, 12);
            out[3 * (v + 1)] = -out[3 * v];
        }
}

static void reverse(float *points, uint32_t count)
{
    for (uint32_t a = 0, b = count - 1; a < b; a++, b--)
        for (int k = 0; k < 3; k++) {
            float was = points[3 * a + (uint32_t)k];
            points[3 * a + (uint32_t)k] = points[3 * b + (uint32_t)k];
            points[3 * b + (uint32_t)k] = was;
        }
}

static struct mesh *make_mesh(unsigned content, uint32_t count, struct arena *arena)
{
    struct mesh *mesh = mesh_new(arena, count, BUILD_TRIANGLES, 1);
    bool nearly = content >= BUILD_NEARLY;
    content -= nearly ? BUILD_NEARLY : 0;
    bool mirrored = content >= BUILD_MIRRORED;
    float *points = mesh->streams[0].data;
    fill_points(content - (mirrored ? BUILD_MIRRORED : 0), count, points);
    if (mirrored) {
        for (uint32_t v = 0; v < count; v++)
            points[3 * v] = -points[3 * v];
        reverse(points, count);
    }
    if (nearly)
        points[3 * (count / 2)] += 0.1f;
    for (uint32_t i = 0; i < 3 * BUILD_TRIANGLES; i++)
        mesh->streams[0].corner[i] = (i * 7 + i / 3) % count;
    mesh->parts[0] = (struct mesh_part){0, BUILD_TRIANGLES, 0, count, 1};
    return mesh;
}

static struct buffer canonical_of(unsigned content, uint32_t count)
{
    struct arena arena = {0};
    struct buffer out = {0};
    const struct mesh *mesh = make_mesh(content, count, &arena);
    mesh_write(mesh, buffer_extend(&out, mesh_canonical_size(mesh)));
    arena_free(&arena);
    return out;
}

static struct hash geometry_of(unsigned content, uint32_t count)
{
    struct buffer bytes = canonical_of(content, count);
    struct hash hash = hash_bytes(bytes.data, bytes.size);
    buffer_free(&bytes);
    return hash;
}

struct hash build_geometry(unsigned content)
{
    return geometry_of(content, BUILD_VERTICES);
}

static struct bounds bounds_of(unsigned content, uint32_t count)
{
    struct arena arena = {0};
    struct bounds bounds = mesh_bounds(make_mesh(content, count, &arena));
    arena_free(&arena);
    return bounds;
}

struct bounds build_bounds(unsigned content)
{
    return bounds_of(content, BUILD_VERTICES);
}

/* ---- containers ---------------------------------------------------------------------------------------- */

struct hash build_hash(const struct build_container *container)
{
    return hash_text(container->path);
}

static struct vertex_element elements[2] = {{0, MESH_POSITION, 0, 0x2A23B9, 12},
                                            {12, MESH_NORMAL, 0, 0x1A2360, 8}};

static void make_marker(const struct build_resource *from, struct arena *arena, struct xbg7_marker *out)
{
    *out = (struct xbg7_marker){.vertex_count = BUILD_VERTICES + from->extra_vertices,
                                .index_count = 3 * BUILD_TRIANGLES,
                                .stride = BUILD_STRIDE,
                                .element_count = 2,
                                .elements = elements,
                                .draw_count = 1};
    out->draws = arena_alloc(arena, sizeof *out->draws);
    *out->draws = (struct xbg7_draw){out->vertex_count, out->index_count};
}

static void make_candidate(const struct build_candidate *from, const struct xbg7_marker *marker,
                           struct arena *arena, struct candidate *out, struct candidate_hashes *hashes)
{
    out->lead_size = from->at > 4096 ? CANDIDATE_LEAD : 4;
    out->lead[CANDIDATE_LEAD - 1] = from->content % 2 ? 7 : 0;
    const struct bounds bounds = bounds_of(from->content, marker->vertex_count);
    out->score = from->score != 0 ? from->score : 38;
    out->buffers = arena_alloc(arena, sizeof *out->buffers);
    *out->buffers = (struct buffer_place){from->at, from->at + 6 * BUILD_TRIANGLES, marker->index_count,
                                          marker->vertex_count, marker->stride};
    out->evidence = (struct anchor_evidence){.vertices = marker->vertex_count,
                                             .triangles = BUILD_TRIANGLES,
                                             .short_of_top = from->imperfect,
                                             .normals = marker->vertex_count,
                                             .unit = marker->vertex_count,
                                             .run_start = 1,
                                             .run_end = 1,
                                             .index_start = 1,
                                             .size_match = (int8_t)from->size_match,
                                             .radius = (float)(from->content % BUILD_MIRRORED)};
    for (int k = 0; k < 3; k++)
        out->evidence.extent[k] = bounds.max[k] - bounds.min[k];
    if (from->as_large) {
        out->evidence.radius = 7;
        out->evidence.extent[0] = out->evidence.extent[1] = out->evidence.extent[2] = 5;
    }
    char name[32];
    snprintf(name, sizeof name, "indices %u", from->content);
    hashes->index_bytes = hash_text(name);
    snprintf(name, sizeof name, "vertices %u", from->content);
    hashes->vertex_bytes = hash_text(name);
}

static bool put_mesh(struct store_txn *txn, unsigned content, uint32_t count, struct hash *hash,
                     uint64_t *size, struct error *err)
{
    struct buffer bytes = canonical_of(content, count), encoded = {0};
    *hash = hash_bytes(bytes.data, bytes.size);
    *size = bytes.size;
    bool ok = codec_encode(CODEC_RAW, bytes.data, bytes.size, &encoded) &&
              store_put_geometry(txn, hash, encoded.data, encoded.size, err);
    buffer_free(&bytes);
    buffer_free(&encoded);
    return ok;
}

static bool make_resource(struct store_txn *txn, const struct build_resource *from, uint32_t index,
                          struct arena *arena, struct resource_record *out, struct error *err)
{
    struct resource *resource = &out->resource;
    uint32_t count = 0;
    uint64_t size;
    while (count < 4 && from->candidates[count].content)
        count++;
    bool located = from->status == RESOURCE_PROVEN || from->status == RESOURCE_ASSIGNED;
    bool ambiguous = from->status == RESOURCE_AMBIGUOUS;
    *resource =
        (struct resource){.format = FORMAT_XBG7,
                          .index = index,
                          .name = from->name,
                          .status = from->status,
                          .reason = from->status == RESOURCE_DECLINED ? DECLINE_NO_CANDIDATE : DECLINE_NONE,
                          .margin = from->margin != 0 ? from->margin
                                    : located         ? 30
                                                      : 0,
                          .triangles = BUILD_TRIANGLES,
                          .marker_count = 1,
                          .candidate_count = count};
    resource->vertices = BUILD_VERTICES + from->extra_vertices;
    resource->markers = arena_alloc(arena, sizeof *resource->markers);
    resource->candidates = arena_array(arena, 4, sizeof *resource->candidates);
    out->candidate_hashes = arena_array(arena, 4, sizeof *out->candidate_hashes);
    make_marker(from, arena, resource->markers);
    if (from->node) {
        resource->nodes = arena_alloc(arena, sizeof *resource->nodes);
        resource->nodes[0] = from->node;
        resource->node_count = 1;
    }
    for (uint32_t c = 0; c < count; c++) {
        const struct build_candidate *candidate = &from->candidates[c];
        make_candidate(candidate, resource->markers, arena, &resource->candidates[c],
                       &out->candidate_hashes[c]);
        if (ambiguous && !candidate->undecoded &&
            !put_mesh(txn, candidate->content, resource->vertices, &out->candidate_hashes[c].geometry, &size,
                      err))
            return false;
    }
    if (!count || (!located && !ambiguous))
        return true;
    resource->score = resource->candidates[0].score;
    resource->buffers = resource->candidates[0].buffers;
    resource->buffer_count = 1;
    resource->bounds = bounds_of(from->candidates[0].content, resource->vertices);
    return put_mesh(txn, from->candidates[0].content, resource->vertices, &out->geometry,
                    &out->geometry_bytes, err);
}

static bool put_container(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct build_container *container = ctx;
    struct hash hash = build_hash(container);
    struct arena arena = {0};
    struct resource_record resources[24] = {0};
    struct container_record record = {.bytes = 1 << 20, .decoder_version = 1};
    struct texture texture = {.name = container->texture, .valid = true};
    bool ok = true;
    record.container = (struct container){.format = FORMAT_XPR2,
                                          .status = container->status,
                                          .reason = container->reason,
                                          .data_offset = 4096,
                                          .data_size = 1 << 20,
                                          .texture_count = container->texture != NULL,
                                          .textures = &texture,
                                          .coverage_count = container->coverage_count};
    record.container.coverage = (struct coverage_run *)(uintptr_t)container->coverage;
    uint32_t count = 0;
    for (; ok && count < 24 && container->resources[count].name; count++) {
        ok = make_resource(txn, &container->resources[count], count, &arena, &resources[count], err);
        record.by_status[resources[count].resource.status]++;
    }
    record.container.resource_count = count;
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = container->path,
                                   .container = hash,
                                   .format = FORMAT_XPR2,
                                   .bytes = 1 << 20,
                                   .run = 1};
    ok = ok && store_put_container(txn, &hash, &record, resources, count, err) &&
         store_put_source(txn, &source, err);
    arena_free(&arena);
    return ok;
}

void build_put(struct store *store, const struct build_container *container)
{
    struct error err = {0};
    if (!store_update(store, put_container, (void *)(uintptr_t)container, &err))
        fail_msg("%s", err.msg);
}

/* ---- what became of it --------------------------------------------------------------------------------- */

struct resolve_result build_resolve(struct store *store, int threads)
{
    const struct resolve_options options = {.threads = threads};
    struct resolve_result result;
    struct error err = {0};
    if (!resolve(store, &options, &result, &err))
        fail_msg("%s", err.msg);
    return result;
}

struct resource_record build_outcome(struct store *store, const struct build_container *container,
                                     uint32_t index, struct resolved_record *outcome, struct arena *arena)
{
    struct error err = {0};
    struct resource_record record;
    struct hash hash = build_hash(container);
    bool found = false;
    struct store_txn *txn = store_begin_read(store, &err);
    if (!txn || !store_get_resource(txn, &hash, index, arena, &record, &found, &err) || !found ||
        !store_get_candidates(txn, &hash, arena, &record, &err) ||
        !store_apply_resolved(txn, &hash, arena, &record, outcome, &err))
        fail_msg("%s", err.msg);
    store_end_read(txn);
    return record;
}

struct search {
    enum finding_kind kind;
    const char *subject;
    struct finding_record *out;
    struct arena *arena;
    unsigned met;
};

static bool look_at(const struct finding_record *record, void *ctx)
{
    struct search *search = ctx;
    if (record->kind != search->kind)
        return true;
    if (search->out && search->subject[0] && strcmp(search->subject, record->subject) != 0)
        return true;
    if (search->out && !search->met) {
        *search->out = *record;
        search->out->subject = arena_copy(search->arena, record->subject, strlen(record->subject));
        search->out->message = arena_copy(search->arena, record->message, strlen(record->message));
        search->out->sides = arena_array(search->arena, record->side_count, sizeof *record->sides);
        if (record->side_count)
            memcpy(search->out->sides, record->sides, record->side_count * sizeof *record->sides);
    }
    search->met++;
    return true;
}

static unsigned search_all(struct store *store, struct search *search)
{
    struct error err = {0};
    struct store_txn *txn = store_begin_read(store, &err);
    if (!txn || !store_each_finding(txn, look_at, search, &err))
        fail_msg("%s", err.msg);
    store_end_read(txn);
    return search->met;
}

bool build_finding(struct store *store, enum finding_kind kind, const char *subject,
                   struct finding_record *out, struct arena *arena)
{
    struct search search = {kind, subject, out, arena, 0};
    return search_all(store, &search) != 0;
}

unsigned build_findings(struct store *store, enum finding_kind kind)
{
    struct search search = {.kind = kind};
    return search_all(store, &search);
}
