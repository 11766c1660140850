/* png.c - see png.h */
#include "reports/png.h"

#include <png.h>
#include <setjmp.h>

static void append(png_structp png, png_bytep bytes, png_size_t size)
{
    struct buffer *out = png_get_io_ptr(png);
    buffer_append(out, bytes, size);
    if (out->failed)
        png_error(png, "out of memory");
}

static void flush(png_structp png)
{
    (void)png;
}

/* Everything that may jump, so that no variable of its own lives across the jump. */
static bool encode(png_structp png, png_infop info, const uint8_t *pixels, unsigned width, unsigned height,
                   const uint8_t palette[256][4], struct buffer *out)
{
    png_color colours[256];
    png_byte alphas[256];
    for (int i = 0; i < 256; i++) {
        colours[i] = (png_color){palette[i][0], palette[i][1], palette[i][2]};
        alphas[i] = palette[i][3];
    }
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_write_fn(png, out, append, flush);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, colours, 256);
    png_set_tRNS(png, info, alphas, 256, NULL);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE); /* numbers of colours have no differences */
    png_set_compression_level(png, 4);
    png_write_info(png, info);
    for (unsigned y = 0; y < height; y++)
        png_write_row(png, pixels + (size_t)y * width);
    png_write_end(png, info);
    return true;
}

bool png_write_indexed(const uint8_t *pixels, unsigned width, unsigned height, const uint8_t palette[256][4],
                       struct buffer *out, struct error *err)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = info && encode(png, info, pixels, width, height, palette, out);
    png_destroy_write_struct(&png, &info);
    return ok || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing a picture");
}
