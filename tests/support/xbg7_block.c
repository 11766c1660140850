/* xbg7_block.c - see xbg7_block.h */
#include "tests/support/xbg7_block.h"

#include <math.h>
#include <string.h>

#include "formats/reader.h"
#include "tests/support/xpr2_build.h"

uint16_t half_of(float value)
{
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000;
    int exponent = (int)(bits >> 23 & 255) - 112;
    if (exponent <= 0)
        return (uint16_t)sign;
    return (uint16_t)(sign + ((uint32_t)exponent << 10) + ((bits >> 12 & 0x7FF) + 1) / 2);
}

uint32_t sheet_vertices(const struct sheet *sheet)
{
    return sheet->columns * sheet->rows;
}

uint32_t sheet_indices(const struct sheet *sheet)
{
    return 6 * (sheet->columns - 1) * (sheet->rows - 1);
}

static void put_triangle(struct buffer *out, const struct sheet *sheet, uint32_t a, uint32_t b, uint32_t c)
{
    be16(out, (uint16_t)a);
    be16(out, (uint16_t)(sheet->mirrored ? c : b));
    be16(out, (uint16_t)(sheet->mirrored ? b : c));
}

size_t put_indices(struct buffer *out, const struct sheet *sheet)
{
    size_t at = out->size;
    for (uint32_t row = 0; row + 1 < sheet->rows; row++)
        for (uint32_t column = 0; column + 1 < sheet->columns; column++) {
            uint32_t v = row * sheet->columns + column;
            put_triangle(out, sheet, v, v + 1, v + sheet->columns);
            put_triangle(out, sheet, v + 1, v + sheet->columns + 1, v + sheet->columns);
        }
    while (out->size % 4)
        buffer_append(out, "\xCC", 1);
    return at;
}

size_t put_vertices(struct buffer *out, const struct sheet *sheet)
{
    size_t at = out->size;
    float step = sheet->size / (float)(sheet->columns - 1), k = 1.3f + 0.37f * (float)sheet->seed;
    for (uint32_t row = 0; row < sheet->rows; row++)
        for (uint32_t column = 0; column < sheet->columns; column++) {
            float x = step * (float)column - 1.25f, y = step * (float)row + 3.5f;
            float z = 0.3f * step * sinf(k * (float)column) * cosf(0.7f * k * (float)row) + 7.75f;
            float dx = 0.3f * k * cosf(k * (float)column) * cosf(0.7f * k * (float)row);
            float dy = -0.21f * k * sinf(k * (float)column) * sinf(0.7f * k * (float)row);
            float scale = 1.0f / sqrtf(dx * dx + dy * dy + 1);
            uint32_t vertex = row * sheet->columns + column;
            if (sheet->odd_every && vertex % sheet->odd_every == sheet->odd_every / 2)
                scale *= 0.5f;
            float side = sheet->mirrored ? -1.0f : 1.0f;
            bef32(out, side * x);
            bef32(out, y);
            bef32(out, z);
            if (sheet->no_normals)
                continue;
            be16(out, half_of(-dx * scale * side));
            be16(out, half_of(-dy * scale));
            be16(out, half_of(scale));
            be16(out, 0);
            be16(out, half_of(0.01f * (float)column));
            be16(out, half_of(0.01f * (float)row));
        }
    return at;
}

size_t put_block(struct buffer *out, const struct sheet *sheet)
{
    size_t at = put_indices(out, sheet);
    put_vertices(out, sheet);
    return at;
}

void put_noise(struct buffer *out, size_t size, unsigned seed)
{
    uint32_t state = 2463534242u + seed * 7919u;
    for (size_t i = 0; i < size; i += 4) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        be32(out, state | 0x80008000u);
    }
}

struct buffer sheet_descriptor(const struct sheet *const *sheets, size_t count, float size)
{
    static const uint32_t full[][3] = {{0, 0x2A23B9, 0}, {12, 0x1A2360, 3 << 16}, {20, 0x2C235F, 5 << 16}};
    struct buffer out = {0};
    buffer_append(&out, "node", 5);
    while (out.size % 4)
        buffer_append(&out, "", 1);
    bef32(&out, size);
    for (size_t i = 0; i < count; i++) {
        size_t m = xbg7_build_marker(&out, sheet_vertices(sheets[i]), sheet_indices(sheets[i]),
                                     sheets[i]->no_normals ? 1 : 3, full);
        be32_at(&out, m - 40, 0x7F000000); /* words that say nothing */
    }
    return out;
}
