/* diff_page.c - a diff to be looked at: before and after side by side. See diff.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/aside.h"
#include "reports/diff.h"
#include "reports/html.h"
#include "reports/text.h"
#include "reports/thumbs.h"

/* No script: the page is as good from disk, from a CI's artefacts and under a strict policy. Cards out of
 * sight are neither laid out nor loaded. */
static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    "<title>Store diff</title><style>"
    ":root{color-scheme:light dark;--line:#8884;--soft:#888;--good:#187a3c;--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--good:#6fd08c;--bad:#ff8a80}}"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:78rem;margin:0 auto;padding:1rem}"
    "h1{font-size:1.3rem}h2{font-size:1.1rem;margin:2rem 0 .2rem}h2 "
    "small,p.what{color:var(--soft);font-weight:400}"
    "p.what{margin:0 0 .8rem}nav{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(23rem,100%),1fr));gap:.8rem}"
    "article{border:1px solid var(--line);border-radius:8px;padding:.7rem;content-visibility:auto;"
    "contain-intrinsic-size:auto 17rem;overflow-wrap:anywhere}article h3{font-size:1rem;margin:0}"
    "article p{margin:0 0 .5rem;color:var(--soft);font-size:.85rem}"
    ".pair{display:grid;grid-template-columns:1fr 1fr;gap:.6rem}figure{margin:0}"
    "figure .none,figure "
    "img{width:100%;height:auto;aspect-ratio:1;border-radius:6px;background:#8881;display:grid;"
    "place-items:center;color:var(--soft)}figcaption{font-size:.8rem;margin-top:.3rem}"
    "figcaption b{font-weight:600}.gained{color:var(--good)}.lost{color:var(--bad)}code{font-size:.75rem}"
    "</style>";

static const struct {
    const char *title, *what;
} sections[DIFF_CLASSES] = {
    [DIFF_GAINED] = {"Gained", "a sure mesh where there was none"},
    [DIFF_LOST] = {"Lost", "no sure mesh where there was one"},
    [DIFF_GEOMETRY] = {"Other geometry", "sure in both, of other bytes"},
    [DIFF_CANONICAL] = {"Other canonical", "the same bytes, drawn from another block or mirrored otherwise"},
    [DIFF_MOVED] = {"Moved", "the same mesh in another container, entry or place"},
    [DIFF_OUTCOME] = {"Other outcome",
                      "another status, reason or best guess; a sure mesh neither gained nor lost"},
};

static void format(struct buffer *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void format(struct buffer *out, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    html_raw(out, text);
}

/* What is drawn: of a twin the block it is drawn from. */
static const struct hash *picture_of(const struct diff_side *side)
{
    return hash_is_zero(&side->canonical) ? &side->geometry : &side->canonical;
}

static void write_picture(struct buffer *out, const struct diff_side *side)
{
    char hex[HASH_HEX];
    if (!side->container || hash_is_zero(&side->geometry)) {
        format(out, "<div class=none>%s</div>", side->container ? "no mesh" : "not there");
        return;
    }
    hash_format(picture_of(side), hex);
    format(out, "<img src=\"thumbs/%s.png\" alt=\"\" loading=lazy width=192 height=192>", hex);
}

static void write_side(struct buffer *out, const struct diff_side *side, const char *when)
{
    html_raw(out, "<figure>");
    write_picture(out, side);
    format(out, "<figcaption><b>%s</b>", when);
    if (side->container) {
        const char *reason = decline_reason_word(side->reason);
        char hex[HASH_HEX];
        hash_format(&side->geometry, hex);
        format(out, " %s%s%s, %u triangles<br>", resource_status_word(side->status), reason ? ": " : "",
               reason ? reason : "", side->triangles);
        html_text(out, side->container);
        format(out, "#%u", side->index);
        if (side->basis)
            format(out, "<br>%s, %s", side->mirrored ? "drawn mirrored" : "drawn as it is",
                   canonical_basis_word(side->basis));
        if (!hash_is_zero(&side->geometry))
            format(out, "<br><code>%s</code>", hex);
    }
    html_raw(out, "</figcaption></figure>");
}

static void write_row(struct buffer *out, const struct diff_row *row)
{
    const struct diff_side *side = row->after.container ? &row->after : &row->before;
    html_raw(out, "<article><h3>");
    html_text(out, row->name);
    format(out, "</h3><p>%s</p><div class=pair>", format_word(side->format));
    write_side(out, &row->before, "before");
    write_side(out, &row->after, "after");
    html_raw(out, "</div></article>\n");
}

static void write_overview(struct buffer *out, const struct diff *diff, const char *const paths[static 2])
{
    char count[28];
    html_raw(out, head);
    html_raw(out, "<h1>");
    html_text(out, paths[0]);
    html_raw(out, " &rarr; ");
    html_text(out, paths[1]);
    text_count(diff->same, count);
    format(out, "</h1><p>%s resources are the same.</p><nav>", count);
    for (int i = 0; i < DIFF_CLASSES; i++) {
        text_count(diff->by_class[i], count);
        format(out, diff->by_class[i] ? "<a href=\"#%s\">%s %s</a>" : "<span id=\"%s\">%s %s</span>",
               diff_class_word((enum diff_class)i), sections[i].title, count);
    }
    html_raw(out, "</nav>\n");
}

static void write_page(struct buffer *out, const struct diff *diff, const char *const paths[static 2])
{
    write_overview(out, diff, paths);
    for (size_t i = 0; i < diff->count; i++) {
        enum diff_class class = diff->rows[i].class;
        char count[28];
        text_count(diff->by_class[class], count);
        if (i == 0 || diff->rows[i - 1].class != class)
            format(out,
                   "%s<h2 id=\"%s\" class=\"%s\">%s <small>%s</small></h2><p class=what>%s</p><div "
                   "class=cards>\n",
                   i ? "</div>" : "", diff_class_word(class), diff_class_word(class), sections[class].title,
                   count, sections[class].what);
        write_row(out, &diff->rows[i]);
    }
    html_raw(out, diff->count ? "</div></html>\n" : "<p>Nothing changed.</p></html>\n");
}

/* Pictures of one store's sides. */
static bool draw(const struct diff *diff, struct store *store, bool after, const char *directory, int threads,
                 struct error *err)
{
    struct thumbs_subject *subjects = calloc(diff->count + 1, sizeof *subjects);
    struct thumbs_result result;
    size_t count = 0;
    if (!subjects)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while drawing");
    for (size_t i = 0; i < diff->count; i++) {
        const struct diff_side *side = after ? &diff->rows[i].after : &diff->rows[i].before;
        if (side->container && !hash_is_zero(&side->geometry))
            subjects[count++] = (struct thumbs_subject){*picture_of(side), side->format};
    }
    bool ok = thumbs_draw(store, subjects, count, directory, threads, &result, err);
    free(subjects);
    return ok;
}

bool diff_write_page(const struct diff *diff, struct store *const stores[static 2],
                     const char *const paths[static 2], const char *directory, int threads, struct error *err)
{
    char path[4096];
    struct buffer page = {0};
    if (strlen(directory) > 4000)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the name of the folder is too long");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return error_set_system(err, ERROR_IO, errno, "cannot make %s", directory);
    snprintf(path, sizeof path, "%s/thumbs", directory);
    bool ok =
        draw(diff, stores[0], false, path, threads, err) && draw(diff, stores[1], true, path, threads, err);
    write_page(&page, diff, paths);
    snprintf(path, sizeof path, "%s/index.html", directory);
    if (ok && page.failed)
        ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing the page");
    ok = ok && aside_write(path, &page, err);
    buffer_free(&page);
    return ok;
}
