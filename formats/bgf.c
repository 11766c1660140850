/* bgf.c - BGF models: OBJECT -> LOD -> PATCH -> PMESH in the chunk tree of formats/chunk.h.
 *
 * Layout and evidence: formats/bgf.md. A file is walked three times in memory: chunk_open has proved that it
 * closes; bgf_walk collects what there is (objects, LODs, patches with their strings, PMESHes whose indices
 * hold); bgf_build copies the sound PMESHes into one mesh whose size is known by then.
 */
#include "chunk.h"

#include <string.h>

#include "reader.h"

/* A PMESH that has a vertex holds a head of 3 bytes and 12 of payload; smaller ones give no part. */
#define PMESH_SIZE_MIN 15

/* Marks an object that has no implicit LOD, and a place outside any object or LOD. */
#define NONE UINT32_MAX

/* Where the walk stands in the hierarchy; passed down by value, so that leaving a container restores it. */
struct place {
    uint32_t object, lod; /* NONE outside */
    bool in_patch;
    struct part_info patch; /* strings and switches of the innermost PATCH */
};

/* A PMESH that contributes to the mesh. */
struct pmesh {
    uint32_t chunk;    /* index of the PMESH itself */
    uint32_t vertices; /* index of its vertex block */
    uint32_t vertex_count, triangle_count;
    struct part_info info;
};

struct model {
    const struct chunk_file *file;
    struct arena *arena;
    struct resource *resource;
    uint32_t *implicit_lod; /* [object_count]: the LOD of patches outside any, or NONE */
    struct pmesh *pmeshes;  /* sound and not empty, in file order */
    uint32_t pmesh_count, patch_count;
    uint32_t sound_face_lists; /* PMESHes with faces: those that hold, */
    uint32_t bad_face_lists;   /* and those that do not */
    struct error first_bad;    /* what is wrong with the first of those */
    bool effect;               /* spheres, or what may be points, inside an OBJECT */
};

/* ---- one PMESH ----------------------------------------------------------------------------------------- */

/* The indices of a face list and how they make triangles. */
struct faces {
    uint32_t points;      /* per face; at least 3 */
    uint32_t index_count; /* a multiple of points */
    const uint8_t *index; /* i32 each */
};

/* False when the chunk is no face list. chunk_open has checked points and remainder. */
static bool faces_of(const struct chunk_file *file, const struct chunk *chunk, struct faces *faces)
{
    const uint8_t *payload = chunk_payload(file, chunk);
    switch (chunk->tag) {
    case CHUNK_CONNECTION_LIST:
        *faces = (struct faces){.points = 3, .index_count = chunk->size / 4, .index = payload};
        return true;
    case CHUNK_PCONN_LIST:
        *faces = (struct faces){payload[0], (chunk->size - 1) / 4, payload + 1};
        return true;
    default:
        return false;
    }
}

static uint32_t faces_triangles(const struct faces *faces)
{
    return faces->index_count / faces->points * (faces->points - 2);
}

/* The first index that leaves a block of `vertex_count` vertices, or index_count. An i32 below zero is, as
 * u32, above every count. */
static uint32_t faces_first_bad(const struct faces *faces, uint32_t vertex_count)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < faces->index_count; i++)
        bad |= load_u32le(faces->index + (size_t)i * 4) >= vertex_count;
    uint32_t first = bad ? 0 : faces->index_count;
    while (first < faces->index_count && load_u32le(faces->index + (size_t)first * 4) < vertex_count)
        first++;
    return first;
}

/* Finds the vertex block among the children. With several of them nothing says which one the faces mean: then
 * the second is an error. Without any, `vertex_count` is 0 and no index holds. */
static bool pmesh_vertices(const struct model *model, struct pmesh *pmesh, struct error *err)
{
    const struct chunk *chunks = model->file->chunks;
    pmesh->vertices = NONE;
    for (uint32_t i = pmesh->chunk + 1; i < chunks[pmesh->chunk].end; i = chunks[i].end) {
        unsigned stride = chunk_vertex_layout(chunks[i].tag).stride;
        if (!stride)
            continue;
        if (pmesh->vertices != NONE)
            return error_set(err, ERROR_RANGE, chunks[i].offset,
                             "PMESH at 0x%X: a second vertex block, its faces may mean either",
                             chunks[pmesh->chunk].offset);
        pmesh->vertices = i;
        pmesh->vertex_count = chunks[i].size / stride;
    }
    return true;
}

/* Checks every index of every list and sums the triangles. */
static bool pmesh_faces(const struct model *model, struct pmesh *pmesh, struct error *err)
{
    const struct chunk *chunks = model->file->chunks;
    for (uint32_t i = pmesh->chunk + 1; i < chunks[pmesh->chunk].end; i = chunks[i].end) {
        struct faces faces;
        if (!faces_of(model->file, &chunks[i], &faces))
            continue;
        uint32_t bad = faces_first_bad(&faces, pmesh->vertex_count);
        if (bad < faces.index_count) {
            const uint8_t *at = faces.index + (size_t)bad * 4;
            return error_set(err, ERROR_RANGE, (uint64_t)(at - model->file->data),
                             "PMESH at 0x%X: index %d of a block of %u vertices", chunks[pmesh->chunk].offset,
                             (int32_t)load_u32le(at), pmesh->vertex_count);
        }
        pmesh->triangle_count += faces_triangles(&faces);
    }
    return true;
}

static bool pmesh_has_faces(const struct model *model, uint32_t pmesh)
{
    const struct chunk *chunks = model->file->chunks;
    for (uint32_t i = pmesh + 1; i < chunks[pmesh].end; i = chunks[i].end) {
        struct faces faces;
        if (faces_of(model->file, &chunks[i], &faces) && faces.index_count)
            return true;
    }
    return false;
}

/* Takes a PMESH up, or drops it whole when a face of it does not hold. One without vertices and faces gives
 * no part: it says nothing. */
static void collect_pmesh(struct model *model, uint32_t index, const struct place *place)
{
    struct pmesh pmesh = {.chunk = index, .info = place->patch};
    struct error err = {0};
    bool has_faces = pmesh_has_faces(model, index);
    if (!pmesh_vertices(model, &pmesh, &err) || !pmesh_faces(model, &pmesh, &err)) {
        model->resource->flags |= FLAG_BIT(FLAG_BAD_PMESH);
        model->bad_face_lists += has_faces;
        if (has_faces)
            error_set(&model->first_bad, err.code, err.offset, "%s", err.msg);
        return;
    }
    model->sound_face_lists += has_faces;
    if (pmesh.vertex_count == 0)
        return;
    pmesh.info.object = place->object;
    pmesh.info.lod = place->lod;
    if (!place->in_patch)
        pmesh.info.patch = model->patch_count++;
    model->pmeshes[model->pmesh_count++] = pmesh;
}

/* ---- the hierarchy ------------------------------------------------------------------------------------- */

static uint32_t add_object(struct model *model)
{
    model->implicit_lod[model->resource->object_count] = NONE;
    return model->resource->object_count++;
}

static uint32_t add_lod(struct model *model, uint32_t object, bool implicit)
{
    struct lod_info *lod = &model->resource->lods[model->resource->lod_count];
    lod->object = object;
    lod->implicit = implicit;
    return model->resource->lod_count++;
}

/* Gives geometry a home where the file has none: patches directly under an OBJECT share that object's
 * implicit LOD, and what stands outside any OBJECT makes one nameless object each time. */
static void place_ensure(struct model *model, struct place *place)
{
    if (place->object == NONE)
        place->object = add_object(model);
    if (place->lod != NONE)
        return;
    if (model->implicit_lod[place->object] == NONE)
        model->implicit_lod[place->object] = add_lod(model, place->object, true);
    place->lod = model->implicit_lod[place->object];
}

static bool enter_object(struct model *model, const struct chunk *chunk, struct place *place)
{
    *place = (struct place){.object = add_object(model), .lod = NONE};
    return chunk_text(model->file, chunk_child(model->file, chunk, CHUNK_NAME), model->arena,
                      &model->resource->objects[place->object].name);
}

static void enter_lod(struct model *model, const struct chunk *chunk, struct place *place)
{
    if (place->object == NONE)
        place->object = add_object(model);
    place->lod = add_lod(model, place->object, false);
    place->in_patch = false;
    memset(&place->patch, 0, sizeof place->patch);

    struct lod_info *lod = &model->resource->lods[place->lod];
    const struct chunk *distance = chunk_child(model->file, chunk, CHUNK_LOD_DISTANCE);
    if (!distance || distance->size != 8)
        return;
    lod->has_distance = true;
    lod->in = load_f32le(chunk_payload(model->file, distance));
    lod->out = load_f32le(chunk_payload(model->file, distance) + 4);
}

/* The switches have no described payload: that they are there is what they say. */
static bool enter_patch(struct model *model, const struct chunk *chunk, struct place *place)
{
    const struct chunk_file *file = model->file;
    place_ensure(model, place);
    place->in_patch = true;
    place->patch = (struct part_info){
        .patch = model->patch_count++,
        .faceted = chunk_child(file, chunk, CHUNK_SV_FACETED) != NULL,
        .decal = chunk_child(file, chunk, CHUNK_SV_DECAL) != NULL,
    };
    struct part_info *info = &place->patch;
    return chunk_reference(file, chunk_child(file, chunk, CHUNK_SV_F_MATERIAL), model->arena,
                           &info->material) &&
           chunk_reference(file, chunk_child(file, chunk, CHUNK_SV_B_MATERIAL), model->arena,
                           &info->back_material) &&
           chunk_text(file, chunk_child(file, chunk, CHUNK_SV_SPECIAL), model->arena, &info->special);
}

/* The number of POINT_LIST is not known: any unknown structural tag inside an OBJECT may be one. */
static bool may_be_effect(const struct chunk *chunk)
{
    return chunk->tag == CHUNK_SPHERE_LIST || chunk->tag == CHUNK_SPHERE ||
           ((chunk->tag & 0xFF00u) == 0 && !chunk_tag_is_known(chunk->tag));
}

/* Walks chunks[first..end) and everything below. Nesting that the page does not describe (a PATCH in a PATCH,
 * an inferred container anywhere) is walked through: geometry belongs to the innermost container of each
 * level. False when memory runs out. */
static bool bgf_walk(struct model *model, uint32_t first, uint32_t end, const struct place *outer)
{
    const struct chunk *chunks = model->file->chunks;
    for (uint32_t i = first; i < end; i = chunks[i].end) {
        struct place place = *outer;
        bool ok = true;
        if (place.object != NONE && may_be_effect(&chunks[i]))
            model->effect = true;
        switch (chunks[i].tag) {
        case CHUNK_OBJECT:
            ok = enter_object(model, &chunks[i], &place);
            break;
        case CHUNK_LOD:
            enter_lod(model, &chunks[i], &place);
            break;
        case CHUNK_PATCH:
            ok = enter_patch(model, &chunks[i], &place);
            break;
        case CHUNK_PMESH:
            place_ensure(model, &place);
            collect_pmesh(model, i, &place);
            break;
        }
        uint32_t lods = model->resource->lod_count;
        if (!ok || !bgf_walk(model, i + 1, chunks[i].end, &place))
            return false;
        /* An OBJECT without any LOD, patch or PMESH still is one level of detail. */
        if (chunks[i].tag == CHUNK_OBJECT && model->resource->lod_count == lods)
            add_lod(model, place.object, true);
    }
    return true;
}

/* Allocates for as many objects, LODs and PMESHes as there can be: a PATCH or PMESH outside any OBJECT makes
 * an object, and each object at most one implicit LOD. */
static bool model_reserve(struct model *model)
{
    size_t objects = 0, lods = 0, strays = 0, pmeshes = 0, outside = 0;
    for (uint32_t i = 0; i < model->file->count; i++) {
        const struct chunk *chunk = &model->file->chunks[i];
        if (chunk->tag == CHUNK_OBJECT && chunk->end > outside)
            outside = chunk->end;
        bool stray = i >= outside;
        objects += chunk->tag == CHUNK_OBJECT;
        lods += chunk->tag == CHUNK_LOD;
        pmeshes += chunk->tag == CHUNK_PMESH && chunk->size >= PMESH_SIZE_MIN;
        if (chunk->tag == CHUNK_LOD || chunk->tag == CHUNK_PATCH || chunk->tag == CHUNK_PMESH)
            strays += stray;
    }
    objects += strays;
    lods += objects;
    model->resource->objects = arena_array(model->arena, objects, sizeof *model->resource->objects);
    model->resource->lods = arena_array(model->arena, lods, sizeof *model->resource->lods);
    model->implicit_lod = arena_array(model->arena, objects, sizeof *model->implicit_lod);
    model->pmeshes = arena_array(model->arena, pmeshes, sizeof *model->pmeshes);
    return model->resource->objects && model->resource->lods && model->implicit_lod && model->pmeshes;
}

/* ---- the mesh ------------------------------------------------------------------------------------------ */

/* The streams beside POSITION; index + 1 in the mesh, 0 while no PMESH has it. */
struct stream_slots {
    unsigned normal, uv, color;
};

static bool add_stream(struct model *model, struct mesh *mesh, enum mesh_usage usage, unsigned components,
                       bool wanted, unsigned *slot)
{
    if (!wanted)
        return true;
    *slot = mesh->stream_count + 1;
    return mesh_add_stream(mesh, model->arena, usage, 0, components, mesh->vertex_count, false) != NULL;
}

static bool add_streams(struct model *model, struct mesh *mesh, struct stream_slots *slots)
{
    bool normal = false, uv = false, color = false;
    for (uint32_t i = 0; i < model->pmesh_count; i++) {
        struct chunk_vertex layout = chunk_vertex_layout(model->file->chunks[model->pmeshes[i].vertices].tag);
        normal |= layout.normal != 0;
        uv |= layout.uv != 0;
        color |= layout.color != 0;
    }
    return add_stream(model, mesh, MESH_NORMAL, 3, normal, &slots->normal) &&
           add_stream(model, mesh, MESH_TEXCOORD, 2, uv, &slots->uv) &&
           add_stream(model, mesh, MESH_COLOR, 4, color, &slots->color);
}

/* Copies one field of an interleaved block; `field` is in floats from the start of a vertex. */
static void copy_field(struct mesh_stream *stream, const struct mesh_part *part, const uint8_t *block,
                       unsigned stride, unsigned field)
{
    unsigned components = stream->components;
    float *out = stream->data + (size_t)part->first_vertex * components;
    const uint8_t *in = block + (size_t)field * 4;
    for (uint32_t v = 0; v < part->vertex_count; v++, in += stride, out += components)
        for (unsigned c = 0; c < components; c++)
            out[c] = load_f32le(in + (size_t)c * 4);
}

static void copy_vertices(const struct model *model, const struct pmesh *pmesh, struct mesh *mesh,
                          struct mesh_part *part, const struct stream_slots *slots)
{
    const struct chunk *chunk = &model->file->chunks[pmesh->vertices];
    const uint8_t *block = chunk_payload(model->file, chunk);
    struct chunk_vertex layout = chunk_vertex_layout(chunk->tag);
    const struct {
        unsigned field, slot;
    } fields[] = {{layout.normal, slots->normal}, {layout.uv, slots->uv}, {layout.color, slots->color}};

    copy_field(&mesh->streams[0], part, block, layout.stride, 0);
    part->streams = 1;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!fields[i].field)
            continue;
        copy_field(&mesh->streams[fields[i].slot - 1], part, block, layout.stride, fields[i].field);
        part->streams |= 1u << (fields[i].slot - 1);
    }
}

/* Fans every face out: [a b c d] gives [a b c] [a c d]. */
static uint32_t *copy_faces(uint32_t *corner, const struct faces *faces, uint32_t first_vertex)
{
    const uint8_t *face = faces->index;
    for (uint32_t left = faces->index_count; left; left -= faces->points, face += (size_t)faces->points * 4) {
        for (uint32_t point = 2; point < faces->points; point++) {
            *corner++ = first_vertex + load_u32le(face);
            *corner++ = first_vertex + load_u32le(face + (size_t)(point - 1) * 4);
            *corner++ = first_vertex + load_u32le(face + (size_t)point * 4);
        }
    }
    return corner;
}

static void copy_pmesh(const struct model *model, const struct pmesh *pmesh, struct mesh *mesh,
                       struct mesh_part *part, const struct stream_slots *slots)
{
    const struct chunk *chunks = model->file->chunks;
    uint32_t *corner = mesh->streams[0].corner + (size_t)part->first_triangle * 3;
    copy_vertices(model, pmesh, mesh, part, slots);
    for (uint32_t i = pmesh->chunk + 1; i < chunks[pmesh->chunk].end; i = chunks[i].end) {
        struct faces faces;
        if (faces_of(model->file, &chunks[i], &faces))
            corner = copy_faces(corner, &faces, part->first_vertex);
    }
}

/* One mesh of all sound PMESHes. Counts cannot overflow: a file is below 4 GiB, a vertex takes at least 12
 * bytes of it and a triangle more than 4. */
static bool bgf_build(struct model *model)
{
    struct resource *resource = model->resource;
    uint32_t vertices = 0, triangles = 0;
    for (uint32_t i = 0; i < model->pmesh_count; i++) {
        vertices += model->pmeshes[i].vertex_count;
        triangles += model->pmeshes[i].triangle_count;
    }
    if (vertices == 0)
        return true;
    struct mesh *mesh = mesh_new(model->arena, vertices, triangles, model->pmesh_count);
    struct stream_slots slots = {0};
    resource->parts = arena_array(model->arena, model->pmesh_count, sizeof *resource->parts);
    if (!mesh || !resource->parts || !add_streams(model, mesh, &slots))
        return false;

    uint32_t vertex = 0, triangle = 0;
    for (uint32_t i = 0; i < model->pmesh_count; i++) {
        const struct pmesh *pmesh = &model->pmeshes[i];
        mesh->parts[i] = (struct mesh_part){.first_triangle = triangle,
                                            .triangle_count = pmesh->triangle_count,
                                            .first_vertex = vertex,
                                            .vertex_count = pmesh->vertex_count};
        copy_pmesh(model, pmesh, mesh, &mesh->parts[i], &slots);
        resource->parts[i] = pmesh->info;
        resource->lods[pmesh->info.lod].triangles += pmesh->triangle_count;
        vertex += pmesh->vertex_count;
        triangle += pmesh->triangle_count;
    }
    resource->mesh = mesh;
    return true;
}

static bool bgf_decode(const struct input *in, struct arena *arena, struct container *out)
{
    struct chunk_file file;
    bool closed;
    if (!chunk_decode(in, FORMAT_BGF, arena, &file, out, &closed))
        return false;
    if (!closed)
        return true;
    struct model model = {.file = &file, .arena = arena, .resource = &out->resources[0]};
    const struct place outside = {.object = NONE, .lod = NONE};
    if (!model_reserve(&model) || !bgf_walk(&model, 0, file.count, &outside))
        return false;
    if (model.bad_face_lists && !model.sound_face_lists) {
        resource_decline(model.resource, DECLINE_OUT_OF_RANGE_INDEX, &model.first_bad);
        return true;
    }
    if (!model.sound_face_lists && model.effect)
        model.resource->flags |= FLAG_BIT(FLAG_EFFECT);
    return bgf_build(&model);
}

static unsigned bgf_probe(const struct input *in)
{
    return chunk_format(in) == FORMAT_BGF ? CHUNK_MAGIC_SIZE * 8 : 0;
}

const struct format format_bgf = {FORMAT_BGF, 1, bgf_probe, bgf_decode};
