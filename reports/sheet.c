/* sheet.c - see sheet.h */
#include "reports/sheet.h"

#include "reports/html.h"
#include "reports/text.h"

static const char style[] =
    ":root{color-scheme:light dark;--ground:light-dark(#f4f6f8,#10151a);--ink:light-dark(#17212b,#e4eaf0);"
    "--muted:light-dark(#5b6875,#93a1af);--well:light-dark(#e3e8ee,#222b34);--line:light-dark(#dfe4ea,#"
    "29333d);"
    "--accent:light-dark(#1d6a96,#74b8de)}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1500px;padding:28px 24px "
    "80px;background:var(--ground);"
    "color:var(--ink);font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums}"
    "h1{font-size:25px;font-weight:650;letter-spacing:-.02em;margin:0}p{margin:4px 0;color:var(--muted)}"
    "a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}"
    "section{margin-top:34px;border-top:1px solid var(--line);padding-top:14px;content-visibility:auto;"
    "contain-intrinsic-size:auto 700px}"
    "h2{margin:0;font:600 14px/1.4 ui-monospace,'DejaVu Sans Mono',Consolas,monospace;overflow-wrap:anywhere;"
    "unicode-bidi:isolate}"
    ".cast{display:grid;grid-template-columns:repeat(auto-fill,minmax(124px,1fr));gap:16px "
    "12px;margin-top:14px}"
    "figure{margin:0;min-width:0}figure "
    "img{display:block;width:100%;height:auto;aspect-ratio:1;border-radius:10px;"
    "background:var(--well)}.m{transform:scaleX(-1)}"
    "figcaption{padding-top:5px;line-height:1.3;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;"
    "unicode-bidi:isolate}figcaption small{display:block;color:var(--muted);font-size:12px}"
    "details{margin-top:14px;color:var(--muted)}summary{cursor:pointer}li{unicode-bidi:isolate}"
    "@media(max-width:500px){body{padding:18px 14px 60px}.cast{grid-template-columns:repeat(3,1fr);gap:12px "
    "8px}}";

struct sheet {
    struct buffer *out;
    struct buffer rest; /* items of what has no picture, of one container */
    struct store_txn *txn;
    uint64_t pictures, others;
    struct error *err;
};

static void put_count(struct buffer *out, uint64_t count)
{
    char text[28];
    text_count(count, text);
    html_raw(out, text);
}

static void put_link(struct buffer *out, const struct view_resource *view)
{
    html_raw(out, "<a href=\"index.html#resources?address=");
    html_url(out, view->address);
    html_raw(out, "\">");
}

static void put_picture(struct buffer *out, const struct view_resource *view, const struct hash *geometry,
                        bool mirrored)
{
    char hex[HASH_HEX];
    hash_format(geometry, hex);
    html_raw(out, "<figure>");
    put_link(out, view);
    html_raw(out, mirrored ? "<img class=\"m\"" : "<img");
    html_raw(out, " loading=\"lazy\" width=\"192\" height=\"192\" alt=\"\" src=\"thumbs/");
    html_raw(out, hex);
    html_raw(out, ".png\"></a><figcaption>");
    html_text(out, view->name);
    html_raw(out, "<small>");
    html_raw(out, resource_status_word(view->record->resource.status));
    html_raw(out, ", ");
    put_count(out, view->record->resource.triangles);
    html_raw(out, "</small></figcaption></figure>\n");
}

static bool put_resource(const struct view_resource *view, void *ctx)
{
    struct sheet *sheet = ctx;
    const struct resource *resource = &view->record->resource;
    bool twin = view->outcome && view->outcome->canonical.basis != CANONICAL_NONE;
    const struct hash *geometry = twin ? &view->outcome->canonical.geometry : &view->record->geometry;
    if (!hash_is_zero(geometry)) {
        put_picture(sheet->out, view, geometry, twin && view->outcome->canonical.mirrored);
        sheet->pictures++;
        return !sheet->out->failed;
    }
    html_raw(&sheet->rest, "<li>");
    put_link(&sheet->rest, view);
    html_text(&sheet->rest, *view->name ? view->name : view->address);
    html_raw(&sheet->rest, "</a> ");
    html_raw(&sheet->rest, resource_status_word(resource->status));
    if (resource->status == RESOURCE_DECLINED) {
        html_raw(&sheet->rest, ", ");
        html_raw(&sheet->rest, decline_reason_word(resource->reason));
    }
    html_raw(&sheet->rest, "</li>\n");
    sheet->others++;
    return !sheet->out->failed;
}

static bool put_container(const struct view_container *view, void *ctx)
{
    static const struct view_filter everything;
    struct sheet *sheet = ctx;
    struct buffer *out = sheet->out;
    char hex[HASH_HEX];
    if (!view->record || !view->record->container.resource_count)
        return true;
    hash_format(&view->hash, hex);
    html_raw(out, "<section id=\"");
    html_raw(out, hex);
    html_raw(out, "\">\n<h2>");
    html_text(out, view->path);
    html_raw(out, "</h2>\n<div class=\"cast\">\n");
    buffer_clear(&sheet->rest);
    sheet->pictures = sheet->others = 0;
    if (!view_resources_of(sheet->txn, view, &everything, put_resource, sheet, sheet->err))
        return false;
    html_raw(out, "</div>\n");
    if (sheet->others) {
        html_raw(out, "<details><summary>");
        put_count(out, sheet->others);
        html_raw(out, " without a picture</summary><ul>\n");
        out->failed |= sheet->rest.failed; /* the next container clears it */
        buffer_append(out, sheet->rest.data, sheet->rest.size);
        html_raw(out, "</ul></details>\n");
    }
    html_raw(out, "</section>\n");
    return !out->failed;
}

bool sheet_page(struct store_txn *txn, const char *title, struct buffer *out, struct error *err)
{
    struct sheet sheet = {.out = out, .txn = txn, .err = err};
    html_raw(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Cast sheets: ");
    html_text(out, title);
    html_raw(out, "</title>\n<style>");
    html_raw(out, style);
    html_raw(out, "</style>\n</head>\n<body>\n<h1>Cast sheets</h1>\n<p>");
    html_text(out, title);
    html_raw(out, " · <a href=\"index.html\">the report</a></p>\n");
    bool ok = view_containers(txn, put_container, &sheet, err) && err->code == ERROR_NONE;
    html_raw(out, "</body>\n</html>\n");
    if (ok && (out->failed || sheet.rest.failed))
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while making the sheets");
    buffer_free(&sheet.rest);
    return ok;
}
