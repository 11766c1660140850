/* fuzz_store.c - bytes from a store: records, encoded geometry, canonical meshes.
 *
 * Every reader gets every input. What one accepts is written again and must read back to the same; every
 * input is also taken for the canonical bytes that the codecs have to carry, whether they are a mesh or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/codec.h"
#include "store/record.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/seeds.h"

/* What a refused input leaves behind. */
static void must_say_why(const struct error *err)
{
    MUST(err->code != ERROR_NONE && !error_is_fatal(err) && err->msg[0], "code %d, '%s'", err->code,
         err->msg);
}

/* ---- records ------------------------------------------------------------------------------------------- */

/* Reads a record of one kind; writes it again when `out` is not NULL. */
typedef bool record_fn(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                       struct error *err);

static bool source_again(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                         struct error *err)
{
    struct source_record record;
    struct source_head head;
    if (!source_read(bytes, size, arena, &record, err))
        return false;
    MUST(source_read_head(bytes, size, &head, err) && head.kind == record.kind && head.run == record.run &&
             head.version == record.version,
         "version %u, %u in its head", record.version, head.version);
    return source_write(out, &record);
}

static bool container_again(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                            struct error *err)
{
    struct container_record record;
    struct container_head head;
    if (!container_read(bytes, size, arena, &record, err))
        return false;
    MUST(container_read_head(bytes, size, &head, err) && head.decoder_version == record.decoder_version &&
             head.reason == record.container.reason,
         "version %u, %u in its head", record.decoder_version, head.decoder_version);
    return container_write(out, &record);
}

static bool resource_again(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                           struct error *err)
{
    struct resource_record record;
    return resource_read(bytes, size, arena, &record, err) && resource_write(out, &record);
}

static bool run_again(const uint8_t *bytes, size_t size, struct arena *arena, struct buffer *out,
                      struct error *err)
{
    struct run_record record;
    return run_read(bytes, size, arena, &record, err) && run_write(out, &record);
}

/* What is accepted has one written form, and that form is kept. */
static void record_round_trip(record_fn *again, const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct buffer first = {0}, second = {0};
    struct error err = {0};
    if (again(data, size, &arena, &first, &err)) {
        MUST(again(first.data, first.size, &arena, &second, &err), "what was read cannot be read back: %s",
             err.msg);
        MUST(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
             "%zu bytes are written as %zu others the second time", first.size, second.size);
    } else {
        must_say_why(&err);
    }
    /* A count is checked before memory is taken for it: no record's memory is far from its size. */
    MUST(arena.bytes <= ((size_t)64 << 10) + size * 64, "%zu bytes of memory for %zu", arena.bytes, size);
    buffer_free(&first);
    buffer_free(&second);
    arena_free(&arena);
}

/* ---- geometry ------------------------------------------------------------------------------------------ */

static void mesh_round_trip(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct error err = {0};
    const struct mesh *mesh = mesh_read(data, size, &arena, &err);
    if (mesh) {
        MUST(mesh_is_sound(mesh), "%zu bytes", size);
        MUST(mesh_canonical_size(mesh) == size, "%zu bytes, then %zu", size, mesh_canonical_size(mesh));
        uint8_t *written = malloc(size);
        mesh_write(mesh, written);
        MUST(memcmp(written, data, size) == 0, "accepted, and written differently");
        free(written);
    } else {
        must_say_why(&err);
    }
    arena_free(&arena);
}

static void decode(const uint8_t *data, size_t size)
{
    struct buffer out = {0};
    struct error err = {0};
    uint64_t announced = 0;
    buffer_append(&out, "before", 6);
    bool known = codec_raw_size(data, size, &announced);
    if (codec_decode(data, size, &out, &err)) {
        MUST(known && out.size == 6 + announced, "%zu bytes, %llu announced", out.size - 6,
             (unsigned long long)announced);
        mesh_round_trip(out.data + 6, out.size - 6);
    } else {
        must_say_why(&err);
        MUST(out.size == 6, "a refused encoding left %zu bytes", out.size - 6);
    }
    MUST(memcmp(out.data, "before", 6) == 0, "bytes in front were changed");
    buffer_free(&out);
}

/* Every codec carries any bytes, the same way each time. */
static void encode_round_trip(const uint8_t *data, size_t size)
{
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        struct buffer first = {0}, second = {0}, back = {0};
        struct error err = {0};
        uint64_t announced;
        bool encoded = codec_encode((enum codec)codec, data, size, &first) &&
                       codec_encode((enum codec)codec, data, size, &second);
        MUST(encoded, "%s: out of memory", codec_word((enum codec)codec));
        MUST(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
             "%s: another encoding the second time", codec_word((enum codec)codec));
        MUST(codec_raw_size(first.data, first.size, &announced) && announced == size, "%s: %llu of %zu bytes",
             codec_word((enum codec)codec), (unsigned long long)announced, size);
        MUST(codec_decode(first.data, first.size, &back, &err), "%s: %s", codec_word((enum codec)codec),
             err.msg);
        MUST(back.size == size && (!size || memcmp(back.data, data, size) == 0), "%s: other bytes come back",
             codec_word((enum codec)codec));
        buffer_free(&first);
        buffer_free(&second);
        buffer_free(&back);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    record_round_trip(source_again, data, size);
    record_round_trip(container_again, data, size);
    record_round_trip(resource_again, data, size);
    record_round_trip(run_again, data, size);
    mesh_round_trip(data, size);
    decode(data, size);
    encode_round_trip(data, size);
    return 0;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

/* What a store holds of a file: its container, its resources, their geometry in every encoding. */
static void put_stored(const char *name, struct buffer *file)
{
    const struct input in = {file->data, file->size, name};
    struct arena arena = {0};
    struct container_record record = {.bytes = file->size};
    struct container *container = &record.container;
    struct buffer out = {0};
    bool ambiguous;
    char path[96];
    if (!format_decode(format_probe(&in, &ambiguous), &in, &arena, container) ||
        !container_write(&out, &record))
        exit(1);
    snprintf(path, sizeof path, "%s.container", name);
    put_seed_buffer(path, &out);
    for (uint32_t i = 0; i < container->resource_count && i < 2; i++) {
        struct resource *resource = &container->resources[i];
        struct resource_record stored = {.resource = *resource, .part_count = resource->part_count};
        struct buffer canonical = {0};
        resource_write(&out, &stored);
        snprintf(path, sizeof path, "%s.%u.resource", name, i);
        put_seed_buffer(path, &out);
        uint8_t *room =
            resource->mesh ? buffer_extend(&canonical, mesh_canonical_size(resource->mesh)) : NULL;
        if (!room)
            continue;
        mesh_write(resource->mesh, room);
        for (int codec = 0; codec < CODEC_COUNT; codec++) {
            codec_encode((enum codec)codec, canonical.data, canonical.size, &out);
            snprintf(path, sizeof path, "%s.%u.codec-%d", name, i, codec);
            put_seed_buffer(path, &out);
        }
        snprintf(path, sizeof path, "%s.%u.mesh", name, i);
        put_seed_buffer(path, &canonical);
    }
    arena_free(&arena);
}

void fuzz_seeds(void)
{
    static const struct source_record source = {.kind = SOURCE_CONTAINER,
                                                .path = "a.zip!b.bgf",
                                                .format = FORMAT_BGF,
                                                .status = CONTAINER_DAMAGED,
                                                .reason = CONTAINER_BAD_CRC,
                                                .message = "bad",
                                                .stem = "b",
                                                .magic = "",
                                                .ending = ""};
    static struct census_row rows[] = {{"00", ".txt", 1, 2}, {"", "", 3, 4}};
    static const struct container_record archive = {
        .container = {.format = FORMAT_ARCHIVE}, .member_count = 4, .census_count = 2, .census = rows};
    static const struct run_record run = {.id = 4, .version = "1.0", .arguments = "run -s x"};
    struct buffer out = {0};
    source_write(&out, &source);
    put_seed_buffer("source", &out);
    container_write(&out, &archive);
    put_seed_buffer("archive.container", &out);
    run_write(&out, &run);
    put_seed_buffer("run", &out);
    seed_models(put_stored);
    seed_xpr2(put_stored);
}
