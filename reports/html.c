/* html.c - see html.h */
#include "reports/html.h"

#include <stdlib.h>
#include <zlib.h>

#include "reports/aside.h"
#include "reports/dashboard.h"
#include "reports/text.h"

void html_raw(struct buffer *out, const char *html)
{
    buffer_append(out, html, strlen(html));
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(struct buffer *out, const char *text)
{
    size_t room = strlen(text) * 8 + 1; /* "\u{200B}" is the longest word for a character: 8 for 3 bytes */
    char *visible = malloc(room);
    if (!visible) {
        out->failed = true;
        return;
    }
    text_visible(text, visible, room);
    for (const char *at = visible; *at;) {
        size_t plain = strcspn(at, "&<>\"'");
        buffer_append(out, at, plain);
        at += plain;
        if (*at)
            html_raw(out, entity(*at++));
    }
    free(visible);
}

void html_url(struct buffer *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    static const char digits[] = "0123456789ABCDEF";
    while (*text) {
        size_t run = strspn(text, plain);
        buffer_append(out, text, run);
        text += run;
        if (*text) {
            unsigned char byte = (unsigned char)*text++;
            const char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
            buffer_append(out, escape, sizeof escape);
        }
    }
}

/* ---- index.html ---------------------------------------------------------------------------------------- */

/* gzip: what browsers decompress by themselves (DecompressionStream). The header has no time and no name, so
 * the same data gives the same bytes. */
static bool compress_gzip(const struct page_text *in, struct buffer *out)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, 5, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    uint8_t piece[1 << 16];
    int state = Z_OK;
    for (size_t next = 0; state == Z_OK && !out->failed;) {
        if (!stream.avail_in && next < in->count) {
            stream.next_in = in->pieces[next].data;
            stream.avail_in = (uInt)in->pieces[next++].size; /* a table of a store: far below 4 GiB */
        }
        stream.next_out = piece;
        stream.avail_out = sizeof piece;
        state = deflate(&stream, next == in->count ? Z_FINISH : Z_NO_FLUSH);
        buffer_append(out, piece, sizeof piece - stream.avail_out);
        if (state == Z_BUF_ERROR) /* wants more input */
            state = Z_OK;
    }
    deflateEnd(&stream);
    return state == Z_STREAM_END && !out->failed;
}

static void append_base64(struct buffer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *to = buffer_extend(out, (size + 2) / 3 * 4);
    for (size_t i = 0; to && i < size; i += 3, to += 4) {
        size_t left = size - i;
        uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        to[0] = (uint8_t)digits[word >> 18];
        to[1] = (uint8_t)digits[word >> 12 & 63];
        to[2] = left > 1 ? (uint8_t)digits[word >> 6 & 63] : '=';
        to[3] = left > 2 ? (uint8_t)digits[word & 63] : '=';
    }
}

/* A script element that is no script: browsers keep its text and do not run it. */
static void append_document(struct buffer *out, const char *id, const struct page_text *json)
{
    struct buffer packed = {0};
    out->failed |= !compress_gzip(json, &packed);
    html_raw(out, "<script type=\"application/gzip\" id=\"");
    html_raw(out, id);
    html_raw(out, "\">");
    append_base64(out, packed.data, packed.size);
    html_raw(out, "</script>\n");
    buffer_free(&packed);
}

bool html_write_dashboard(const char *path, const struct page_data *data, struct error *err)
{
    struct dashboard page = dashboard_page();
    struct buffer out = {0};
    buffer_append(&out, page.head, page.head_size);
    if (page.tail_size) {
        append_document(&out, "page-data", &data->page);
        append_document(&out, "detail-data", &data->details);
    }
    buffer_append(&out, page.tail, page.tail_size);
    bool ok = out.failed
                  ? error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing %s", path)
                  : aside_write(path, &out, err);
    buffer_free(&out);
    return ok;
}
