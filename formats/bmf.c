/* bmf.c - BMF material libraries: named containers and the strings in them.
 *
 * Layout and evidence: formats/bmf.md; the chunk grammar is that of formats/bgf.md. The numbers of MATERIAL,
 * TEXTURE and TEXTURE_MAP are not known, so a material is what can be told without them: a container with a
 * NAME.
 */
#include "chunk.h"

/* Owner of what lies in no named container. */
#define NOBODY UINT32_MAX

struct library {
    const struct chunk_file *file;
    struct arena *arena;
    struct resource *resource;
    bool counting; /* strings are counted, and their room not allocated yet */
};

/* The NAME that makes a container an entry of the library; NULL when it is none. The HEADER describes the
 * file: a name there is the library's own. */
static const struct chunk *material_name(const struct chunk_file *file, const struct chunk *chunk)
{
    if (chunk->kind == CHUNK_LEAF || chunk->tag == CHUNK_HEADER)
        return NULL;
    const struct chunk *name = chunk_child(file, chunk, CHUNK_NAME);
    return name && name->size > 0 && *chunk_payload(file, name) ? name : NULL;
}

/* Fills materials[] but for their strings. */
static bool collect_materials(struct library *library)
{
    const struct chunk_file *file = library->file;
    struct resource *resource = library->resource;
    uint32_t count = 0;
    for (uint32_t i = 0; i < file->count; i++)
        count += material_name(file, &file->chunks[i]) != NULL;
    resource->materials = arena_array(library->arena, count, sizeof *resource->materials);
    if (!resource->materials)
        return false;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct chunk *chunk = &file->chunks[i], *name = material_name(file, chunk);
        if (!name)
            continue;
        struct material_info *material = &resource->materials[resource->material_count++];
        material->tag = chunk->tag;
        material->inferred = chunk->kind == CHUNK_INFERRED;
        if (!chunk_text(file, name, library->arena, &material->name))
            return false;
    }
    return true;
}

static bool take_string(struct library *library, const struct chunk *leaf, struct material_info *material)
{
    if (leaf->tag == CHUNK_NAME || !chunk_is_printable(library->file, leaf))
        return true;
    uint32_t slot = material->string_count++;
    if (library->counting)
        return true;
    material->strings[slot].tag = leaf->tag;
    return chunk_printable(library->file, leaf, library->arena, &material->strings[slot].text);
}

/* Gives every string leaf of chunks[first..end) to the innermost named container around it. *next counts the
 * materials met, which collect_materials took up in the same order. */
static bool walk_strings(struct library *library, uint32_t first, uint32_t end, uint32_t owner,
                         uint32_t *next)
{
    const struct chunk *chunks = library->file->chunks;
    for (uint32_t i = first; i < end; i = chunks[i].end) {
        if (chunks[i].kind == CHUNK_LEAF) {
            if (owner != NOBODY && !take_string(library, &chunks[i], &library->resource->materials[owner]))
                return false;
            continue;
        }
        uint32_t inner = material_name(library->file, &chunks[i]) ? (*next)++ : owner;
        if (!walk_strings(library, i + 1, chunks[i].end, inner, next))
            return false;
    }
    return true;
}

/* A material's leaves may stand before and behind a material inside it, so its strings are no run in file
 * order: they are counted first, then each material fills a room of its own. */
static bool collect_strings(struct library *library)
{
    struct resource *resource = library->resource;
    uint32_t next = 0;
    library->counting = true;
    if (!walk_strings(library, 0, library->file->count, NOBODY, &next))
        return false;
    for (uint32_t i = 0; i < resource->material_count; i++) {
        struct material_info *material = &resource->materials[i];
        material->strings = arena_array(library->arena, material->string_count, sizeof *material->strings);
        if (!material->strings)
            return false;
        material->string_count = 0;
    }
    next = 0;
    library->counting = false;
    return walk_strings(library, 0, library->file->count, NOBODY, &next);
}

static bool bmf_decode(const struct input *in, struct arena *arena, struct container *out)
{
    struct chunk_file file;
    bool closed;
    if (!chunk_decode(in, FORMAT_BMF, arena, &file, out, &closed))
        return false;
    if (!closed)
        return true;
    struct library library = {.file = &file, .arena = arena, .resource = &out->resources[0]};
    return collect_materials(&library) && collect_strings(&library);
}

static unsigned bmf_probe(const struct input *in)
{
    return chunk_format(in) == FORMAT_BMF ? CHUNK_MAGIC_SIZE * 8 : 0;
}

const struct format format_bmf = {FORMAT_BMF, 1, bmf_probe, bmf_decode};
