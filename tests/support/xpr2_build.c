/* xpr2_build.c - see xpr2_build.h */
#include "tests/support/xpr2_build.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "formats/xpr2.h"

void be32(struct buffer *out, uint32_t value)
{
    buffer_append(
        out,
        (uint8_t[]){(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value},
        4);
}

void be16(struct buffer *out, uint16_t value)
{
    buffer_append(out, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

void bef32(struct buffer *out, float value)
{
    be32(out, bits_of_float(value));
}

void be32_at(struct buffer *out, size_t offset, uint32_t value)
{
    assert_true(offset + 4 <= out->size);
    for (int i = 0; i < 4; i++)
        out->data[offset + (size_t)i] = (uint8_t)(value >> (24 - 8 * i));
}

void xpr2_build_add(struct xpr2_build *build, const char *tag, const char *name,
                    const struct buffer *descriptor)
{
    assert_true(build->count < XPR2_BUILD_ENTRIES);
    struct xpr2_build_entry *entry = &build->entries[build->count++];
    memcpy(entry->tag, tag, 5);
    entry->name = name;
    entry->descriptor = descriptor->data;
    entry->size = (uint32_t)descriptor->size;
}

static void align4(struct buffer *out)
{
    while (out->size % 4)
        buffer_append(out, "", 1);
}

struct buffer xpr2_build_finish(const struct xpr2_build *build)
{
    struct buffer out = {0};
    uint32_t base = build->legacy ? 0x10 : 0x0C;
    buffer_append(&out, "XPR2", 4);
    be32(&out, 0);
    be32(&out, build->data_size);
    be32(&out, build->count);
    size_t entries = out.size;
    for (uint32_t i = 0; i < build->count; i++) {
        buffer_append(&out, build->entries[i].tag, 4);
        be32(&out, 0);
        be32(&out, build->entries[i].size);
        be32(&out, 0);
    }
    be32(&out, 0);
    for (uint32_t i = 0; i < build->count; i++) {
        be32_at(&out, entries + 16 * i + 12, (uint32_t)out.size - base);
        buffer_append(&out, build->entries[i].name, strlen(build->entries[i].name) + 1);
    }
    for (uint32_t i = 0; i < build->count; i++) {
        align4(&out);
        be32_at(&out, entries + 16 * i + 4, (uint32_t)out.size - base);
        buffer_append(&out, build->entries[i].descriptor, build->entries[i].size);
    }
    /* The data section begins at a multiple of 4096 past 12 bytes, as in real files. */
    uint32_t data_base = build->legacy ? 0 : 12;
    while ((out.size - data_base) % 4096)
        buffer_append(&out, "", 1);
    be32_at(&out, 4, (uint32_t)out.size - data_base);
    buffer_append(&out, build->data, build->data_size);
    assert_false(out.failed);
    return out;
}

size_t xbg7_build_marker(struct buffer *descriptor, uint32_t vertex_count, uint32_t index_count,
                         size_t elements, const uint32_t (*triples)[3])
{
    for (int i = 0; i < 6; i++)
        be32(descriptor, 0xFFFF0000u + (uint32_t)i);
    be32(descriptor, 0x00000003);
    be32(descriptor, 0x10000002);
    be32(descriptor, vertex_count);
    for (int i = 0; i < 7; i++)
        be32(descriptor, 0xABCD0000u + (uint32_t)i);
    size_t m = descriptor->size;
    be32(descriptor, 2 * index_count);
    be32(descriptor, index_count);
    for (size_t i = 0; i < elements; i++)
        for (int k = 0; k < 3; k++)
            be32(descriptor, triples[i][k]);
    be32(descriptor, 0x00FF0000);
    be32(descriptor, 0xFFFFFFFF);
    be32(descriptor, 0);
    return m;
}

void xbg7_build_record(struct buffer *descriptor, uint32_t vertex_count, uint32_t index_count)
{
    be32(descriptor, vertex_count);
    be32(descriptor, 0);
    be32(descriptor, index_count);
    be32(descriptor, 4);
}

struct container xpr2_build_decode(const struct buffer *bytes, struct arena *arena)
{
    struct container out;
    /* A copy of exactly the bytes, so that the sanitizers see a read of one too many. */
    uint8_t *copy = malloc(bytes->size);
    memcpy(copy, bytes->data, bytes->size);
    struct input in = {.data = copy, .size = bytes->size, .name = "test.xpr"};
    assert_int_equal(format_xpr2.probe(&in), 32);
    assert_true(format_decode(&format_xpr2, &in, arena, &out));
    free(copy);
    return out;
}
