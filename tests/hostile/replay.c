/* replay.c - what a power cut could leave of a data file, from a trace of its writes (faults.c).
 *
 *   replay TRACE OUT SEED CUT
 *
 * Takes the first CUT records of the trace. Writes before the last sync among them are on the disk; of those
 * since, each page-sized piece has arrived or not, as a generator with that seed says, in no order. Writes
 * the resulting file to OUT and prints the number of records in the whole trace; with CUT 0 it prints only
 * that.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((uint64_t)4096) /* what a disk may write without the rest */

struct trace_head {
    uint32_t what, sync;
    uint64_t offset, length;
};

struct image {
    uint8_t *bytes;
    uint64_t size, room;
};

static void grow(struct image *image, uint64_t size)
{
    if (size > image->room) {
        uint64_t room = size + size / 2;
        image->bytes = realloc(image->bytes, room);
        if (!image->bytes)
            exit(3);
        memset(image->bytes + image->room, 0, room - image->room);
        image->room = room;
    }
    if (size > image->size)
        image->size = size;
}

static void put(struct image *image, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    grow(image, offset + length);
    memcpy(image->bytes + offset, bytes, length);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void apply(struct image *image, const struct trace_head *head, const uint8_t *bytes)
{
    if (head->what == 1)
        put(image, head->offset, bytes, head->length);
    else if (head->what == 2 && head->length < image->size)
        image->size = head->length;
    else if (head->what == 2)
        grow(image, head->length);
}

/* The pieces of a write that arrived before the power went. */
static void apply_some(struct image *image, const struct trace_head *head, const uint8_t *bytes,
                       uint64_t *state)
{
    if (head->what == 2 && next_random(state) & 1)
        apply(image, head, bytes);
    if (head->what != 1)
        return;
    for (uint64_t at = 0; at < head->length;) {
        uint64_t length = PIECE - (head->offset + at) % PIECE;
        if (length > head->length - at)
            length = head->length - at;
        if (next_random(state) & 1)
            put(image, head->offset + at, bytes + at, length);
        at += length;
    }
}

static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    bool ok = bytes && fread(bytes, 1, *size, file) == *size;
    fclose(file);
    return ok ? bytes : NULL;
}

int main(int argc, char **argv)
{
    size_t size;
    uint8_t *trace = argc == 5 ? read_all(argv[1], &size) : NULL;
    if (!trace)
        return 2;
    uint64_t state = strtoull(argv[3], NULL, 10) * 2654435761u + 88172645463325252u;
    size_t cut = strtoull(argv[4], NULL, 10), records = 0, synced = 0;
    for (size_t at = 0; at + sizeof(struct trace_head) <= size; records++) {
        struct trace_head head;
        memcpy(&head, trace + at, sizeof head);
        at += sizeof head + (head.what == 1 ? head.length : 0);
        if (records < cut && (head.what == 3 || head.sync))
            synced = records + 1;
    }
    printf("%zu\n", records);
    struct image image = {0};
    size_t at = 0;
    for (size_t i = 0; i < cut && i < records; i++) {
        struct trace_head head;
        memcpy(&head, trace + at, sizeof head);
        at += sizeof head;
        if (i < synced)
            apply(&image, &head, trace + at);
        else
            apply_some(&image, &head, trace + at, &state);
        at += head.what == 1 ? head.length : 0;
    }
    FILE *out = cut ? fopen(argv[2], "wb") : NULL;
    if (cut && (!out || fwrite(image.bytes, 1, image.size, out) != image.size || fclose(out) != 0))
        return 3;
    free(image.bytes);
    free(trace);
    return 0;
}
