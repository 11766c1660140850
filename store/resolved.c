/* resolved.c - see resolved.h; the layouts are in store/README.md, "Records". */
#include "store/resolved.h"

#include <string.h>

#include "store/record_io.h"

#define CHANGE_LEAST (STRING_LEAST + 4 + 2 + 2 * 4 + STRING_LEAST)
#define SIDE_SIZE    (HASH_SIZE + 4 + 1 + 2 * 4 + 1 + 6 * 4 + HASH_SIZE)
#define ROW_LEAST    (1 + STRING_LEAST + 8)

static void write_bounds(struct buffer *out, const struct bounds *bounds)
{
    write_u8(out, bounds->valid);
    for (unsigned i = 0; i < 6; i++)
        write_f32(out, i < 3 ? bounds->min[i] : bounds->max[i - 3]);
}

static void read_bounds(struct reader *r, struct bounds *bounds)
{
    bounds->valid = read_bool(r, "bounds");
    for (unsigned i = 0; i < 6; i++)
        *(i < 3 ? &bounds->min[i] : &bounds->max[i - 3]) = reader_f32le(r, "bounds");
}

/* ---- outcomes ---- */

const char *canonical_basis_word(enum canonical_basis basis)
{
    static const char *const words[CANONICAL_BASIS_COUNT] = {NULL, "assumed", "confirmed"};
    return (unsigned)basis < CANONICAL_BASIS_COUNT ? words[basis] : NULL;
}

bool resolved_write(struct buffer *out, const struct resolved_record *record)
{
    write_u8(out, RECORD_VERSION);
    write_u8(out, record->status);
    write_u8(out, record->was);
    write_u8(out, record->reason);
    write_u8(out, record->was_reason);
    write_u32(out, record->chosen);
    write_f64(out, record->score);
    write_f64(out, record->margin);
    write_u32(out, record->flags);
    write_bounds(out, &record->bounds);
    write_hash(out, &record->geometry);
    write_u64(out, record->geometry_bytes);
    write_buffers(out, record->buffers, record->buffer_count);
    write_u8(out, record->canonical.basis);
    write_hash(out, &record->canonical.geometry);
    write_u8(out, record->canonical.mirrored);
    write_u32(out, record->canonical.twin);
    write_u32(out, record->change_count);
    for (uint32_t i = 0; i < record->change_count; i++) {
        const struct resolved_change *change = &record->changes[i];
        write_string(out, change->pass);
        write_u32(out, change->version);
        write_u8(out, change->from);
        write_u8(out, change->to);
        write_u32(out, change->from_chosen);
        write_u32(out, change->to_chosen);
        write_string(out, change->why);
    }
    return !out->failed;
}

static void read_changes(struct reader *r, struct arena *arena, struct resolved_record *record)
{
    uint32_t count = read_count(r, CHANGE_LEAST, "changes");
    struct resolved_change *changes = read_room(r, arena, count, sizeof *changes);
    for (uint32_t i = 0; i < count && reader_ok(r); i++) {
        changes[i].pass = read_text(r, arena, "pass");
        changes[i].version = reader_u32le(r, "version of a pass");
        changes[i].from = read_below(r, RESOURCE_STATUS_COUNT, "status before");
        changes[i].to = read_below(r, RESOURCE_STATUS_COUNT, "status after");
        changes[i].from_chosen = reader_u32le(r, "candidate before");
        changes[i].to_chosen = reader_u32le(r, "candidate after");
        changes[i].why = read_text(r, arena, "reason of a change");
    }
    record->changes = changes;
    record->change_count = count;
}

bool resolved_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resolved_record *record,
                   struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "resolved record", err);
    *record = (struct resolved_record){0};
    read_version(&r);
    record->status = read_below(&r, RESOURCE_STATUS_COUNT, "status");
    record->was = read_below(&r, RESOURCE_STATUS_COUNT, "the decoder's status");
    record->reason = read_below(&r, DECLINE_REASON_COUNT, "reason");
    record->was_reason = read_below(&r, DECLINE_REASON_COUNT, "the decoder's reason");
    record->chosen = reader_u32le(&r, "chosen candidate");
    record->score = read_f64(&r, "score");
    record->margin = read_f64(&r, "margin");
    record->flags = reader_u32le(&r, "flags");
    read_bounds(&r, &record->bounds);
    record->geometry = read_hash(&r, "geometry");
    record->geometry_bytes = read_u64(&r, "geometry bytes");
    record->buffers = read_buffers(&r, arena, &record->buffer_count);
    record->canonical.basis = read_below(&r, CANONICAL_BASIS_COUNT, "basis");
    record->canonical.geometry = read_hash(&r, "canonical geometry");
    record->canonical.mirrored = read_bool(&r, "mirrored");
    record->canonical.twin = reader_u32le(&r, "twin");
    read_changes(&r, arena, record);
    return read_end(&r);
}

void resolved_apply(const struct resolved_record *outcome, struct resource_record *record)
{
    struct resource *resource = &record->resource;
    if (outcome->status != resource->status) /* what it says is of the decoder's outcome */
        error_clear(&resource->error);
    resource->status = outcome->status;
    resource->reason = outcome->reason;
    resource->score = outcome->score;
    resource->margin = outcome->margin;
    resource->flags = outcome->flags;
    resource->bounds = outcome->bounds;
    resource->buffers = outcome->buffers;
    resource->buffer_count = outcome->buffer_count;
    if (outcome->chosen != RESOLVED_NONE)
        resource->chosen = outcome->chosen;
    record->geometry = outcome->geometry;
    record->geometry_bytes = outcome->geometry_bytes;
}

/* ---- findings ---- */

const char *finding_kind_word(enum finding_kind kind)
{
    static const char *const words[FINDING_KIND_COUNT] = {
        [FINDING_SAME] = "same",
        [FINDING_VARIANT] = "variant",
        [FINDING_INCONSISTENT] = "inconsistent",
        [FINDING_UNDECIDED] = "undecided",
        [FINDING_UNCLAIMED] = "unclaimed",
        [FINDING_MISSING_TEXTURE] = "missing-texture",
        [FINDING_MISSING_LIBRARY] = "missing-library",
        [FINDING_MISSING_MATERIAL] = "missing-material",
        [FINDING_CONTRADICTED] = "contradicted",
        [FINDING_UNUSED_CAPTURE] = "unused-capture",
        [FINDING_PROOF_NOT_STORED] = "proof-not-stored",
        [FINDING_CONTESTED_PROOF] = "contested-proof",
        [FINDING_UNCLEAR_TWINS] = "unclear-twins",
        [FINDING_MISSING_IMAGE] = "missing-image",
    };
    return (unsigned)kind < FINDING_KIND_COUNT ? words[kind] : NULL;
}

/* Hashes what a key is made of, and frees it. */
static bool hash_said(struct buffer *said, struct hash *key)
{
    const bool whole = !said->failed;
    *key = hash_bytes(said->data, said->size);
    buffer_free(said);
    return whole;
}

bool finding_key(const struct finding_record *record, struct hash *key)
{
    struct buffer name = {0};
    write_u8(&name, record->kind);
    write_hash(&name, &record->container);
    write_string(&name, record->subject);
    return hash_said(&name, key);
}

bool finding_write(struct buffer *out, const struct finding_record *record)
{
    write_u8(out, RECORD_VERSION);
    write_u8(out, record->kind);
    write_hash(out, &record->container);
    write_string(out, record->subject);
    write_string(out, record->message);
    write_u32(out, record->side_count);
    for (uint32_t i = 0; i < record->side_count; i++) {
        const struct finding_side *side = &record->sides[i];
        write_hash(out, &side->key.container);
        write_u32(out, side->key.index);
        write_u8(out, side->status);
        write_u32(out, side->vertices);
        write_u32(out, side->triangles);
        write_bounds(out, &side->bounds);
        write_hash(out, &side->geometry);
    }
    return !out->failed;
}

bool finding_read(const uint8_t *bytes, size_t size, struct arena *arena, struct finding_record *record,
                  struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "finding record", err);
    *record = (struct finding_record){0};
    read_version(&r);
    record->kind = read_below(&r, FINDING_KIND_COUNT, "kind");
    if (reader_ok(&r) && !finding_kind_word(record->kind))
        reader_fail(&r, ERROR_RANGE, "kind 0");
    record->container = read_hash(&r, "container");
    record->subject = read_text(&r, arena, "subject");
    record->message = read_text(&r, arena, "message");
    uint32_t count = read_count(&r, SIDE_SIZE, "sides");
    record->sides = read_room(&r, arena, count, sizeof *record->sides);
    for (uint32_t i = 0; i < count && reader_ok(&r); i++) {
        struct finding_side *side = &record->sides[i];
        side->key.container = read_hash(&r, "container of a side");
        side->key.index = reader_u32le(&r, "index of a side");
        side->status = read_below(&r, RESOURCE_STATUS_COUNT, "status of a side");
        side->vertices = reader_u32le(&r, "vertices");
        side->triangles = reader_u32le(&r, "triangles");
        read_bounds(&r, &side->bounds);
        side->geometry = read_hash(&r, "geometry");
    }
    record->side_count = count;
    return read_end(&r);
}

/* ---- captures ---- */

/* All but the order it came in. */
static void write_capture(struct buffer *out, const struct capture_record *record)
{
    write_u8(out, record->kind);
    write_string(out, record->resource);
    write_u8(out, (uint8_t)record->row0_x);
    write_string(out, record->container);
    write_buffers(out, record->buffers, record->buffer_count);
}

bool capture_key(const struct capture_record *record, struct hash *key)
{
    struct buffer said = {0};
    write_capture(&said, record);
    return hash_said(&said, key);
}

bool capture_write(struct buffer *out, const struct capture_record *record)
{
    write_u8(out, RECORD_VERSION);
    write_u64(out, record->order);
    write_capture(out, record);
    return !out->failed;
}

bool capture_read(const uint8_t *bytes, size_t size, struct arena *arena, struct capture_record *record,
                  struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "capture record", err);
    *record = (struct capture_record){0};
    read_version(&r);
    record->order = read_u64(&r, "order");
    record->kind = read_below(&r, CAPTURE_KIND_COUNT, "kind");
    record->resource = read_text(&r, arena, "resource");
    record->row0_x = reader_i8(&r, "row0_x");
    record->container = read_string(&r, arena, "container");
    record->buffers = read_buffers(&r, arena, &record->buffer_count);
    bool place = record->kind == CAPTURE_PLACE;
    if (reader_ok(&r) && (record->kind < CAPTURE_ROW0 || place != (record->container != NULL) ||
                          (place ? record->row0_x != 0 : record->row0_x != 1 && record->row0_x != -1)))
        reader_fail(&r, ERROR_RANGE, "neither a sign nor a placement");
    return read_end(&r);
}

/* ---- census ---- */

const char *census_dimension_word(enum census_dimension dimension)
{
    static const char *const words[CENSUS_DIMENSION_COUNT] = {"reason", "prefix", "container", "vertices"};
    return (unsigned)dimension < CENSUS_DIMENSION_COUNT ? words[dimension] : NULL;
}

bool declined_write(struct buffer *out, const struct declined_census *census)
{
    write_u8(out, RECORD_VERSION);
    write_u64(out, census->run);
    write_u32(out, census->count);
    for (uint32_t i = 0; i < census->count; i++) {
        write_u8(out, census->rows[i].dimension);
        write_string(out, census->rows[i].key);
        write_u64(out, census->rows[i].count);
    }
    return !out->failed;
}

bool declined_read(const uint8_t *bytes, size_t size, struct arena *arena, struct declined_census *census,
                   struct error *err)
{
    struct reader r = reader_make(bytes, size, 0, "census record", err);
    *census = (struct declined_census){0};
    read_version(&r);
    census->run = read_u64(&r, "run");
    uint32_t count = read_count(&r, ROW_LEAST, "census rows");
    census->rows = read_room(&r, arena, count, sizeof *census->rows);
    for (uint32_t i = 0; i < count && reader_ok(&r); i++) {
        census->rows[i].dimension = read_below(&r, CENSUS_DIMENSION_COUNT, "dimension");
        census->rows[i].key = read_text(&r, arena, "key");
        census->rows[i].count = read_u64(&r, "count");
    }
    census->count = count;
    return read_end(&r);
}
