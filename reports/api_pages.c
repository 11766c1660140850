/* api_pages.c - the pages people see, and what the dashboard asks for (page_data.h,
 * reports/dashboard/source.js). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/api_internal.h"
#include "reports/dashboard.h"
#include "reports/figures.h"
#include "reports/geometry.h"
#include "reports/page_data.h"
#include "reports/prometheus.h"
#include "reports/report_json.h"
#include "reports/sheet.h"
#include "reports/thumbnail.h"

#define HTML "text/html; charset=utf-8"

/* The dashboard without data in it: it then asks /api/page. */
bool page_dashboard(struct call *call)
{
    const struct dashboard page = dashboard_page();
    struct buffer bytes = {0};
    buffer_append(&bytes, page.head, page.head_size);
    buffer_append(&bytes, page.tail, page.tail_size);
    call->response->self_contained = true;
    return call_buffer(call, HTML, &bytes);
}

static bool give_file(struct call *call, enum dashboard_file file, const char *type)
{
    size_t size;
    const char *bytes = dashboard_file(file, &size);
    call_give(call, type, bytes, size);
    return true;
}

/* One page for all resources: its script reads the address from the path, and asks for it. */
bool page_resource(struct call *call)
{
    return give_file(call, DASHBOARD_RESOURCE_HTML, HTML);
}

bool page_script(struct call *call)
{
    return give_file(call, DASHBOARD_RESOURCE_JS, "text/javascript; charset=utf-8");
}

bool page_style(struct call *call)
{
    return give_file(call, DASHBOARD_RESOURCE_CSS, "text/css; charset=utf-8");
}

bool page_rows(struct call *call)
{
    const struct page_text *page = catalogue_page(call->view.catalogue, call->view.db, call->view.txn,
                                                  call->api->program, call->api->path, &call->err);
    struct buffer copy = {0};
    if (!page)
        return false;
    page_text_append(page, &copy);
    return call_buffer(call, "application/json; charset=utf-8", &copy);
}

bool page_details(struct call *call)
{
    struct resource_key *keys;
    size_t count;
    struct view_resource view;
    bool found;
    struct buffer bytes = {0};
    if (!call_look_up(call, call->rest, &keys, &count))
        return call->err.code == ERROR_NONE;
    if (count > 1)
        return call_refuse(call, 400, "several resources answer to '%.200s'", call->rest);
    if (!view_resource(call->view.txn, &keys[0], &call->arena, &view, &found, &call->err))
        return false;
    if (!found)
        return call_refuse(call, 404, "'%.200s' is gone", call->rest);
    page_detail(&view, &bytes);
    return call_buffer(call, "application/json; charset=utf-8", &bytes);
}

/* The format of a geometry, which says how its axes are turned: that of the first resource that has it. */
static bool format_of(struct call *call, const struct hash *geometry, enum format_id *format)
{
    struct resource_key *keys;
    struct resource_record record;
    size_t count;
    bool found = false;
    *format = FORMAT_XBG7; /* of an alternative, which is nobody's */
    if (!store_find_geometry(call->view.txn, geometry, &call->arena, &keys, &count, &call->err))
        return false;
    if (count && !store_get_resource(call->view.txn, &keys[0].container, keys[0].index, &call->arena, &record,
                                     &found, &call->err))
        return false;
    if (found)
        *format = record.resource.format;
    return true;
}

bool page_thumb(struct call *call)
{
    struct hash geometry;
    enum format_id format;
    const struct mesh *mesh;
    struct arena scratch = {0};
    struct buffer png = {0};
    if (!call_geometry(call, ".png", &geometry))
        return call->err.code == ERROR_NONE;
    if (!format_of(call, &geometry, &format))
        return false;
    /* A picture follows from these, so that one that is known needs no drawing. */
    struct {
        struct hash geometry;
        uint8_t version, format;
    } made_of = {geometry, THUMBNAIL_VERSION, (uint8_t)format};
    struct hash tag = hash_bytes(&made_of, HASH_SIZE + 2);
    if (call_unchanged(call, &tag))
        return true;
    bool ok = geometry_load(call->view.txn, &geometry, &call->arena, &mesh, &call->err) &&
              (mesh || error_set(&call->err, ERROR_STORE, ERROR_NO_OFFSET, "a geometry is gone")) &&
              thumbnail_png(mesh, format, false, &scratch, &png, &call->err);
    arena_free(&scratch);
    if (!ok) {
        buffer_free(&png);
        return false;
    }
    return call_buffer(call, "image/png", &png);
}

/* ---- what a report has beside the dashboard ---- */

bool page_sheet(struct call *call)
{
    struct buffer page = {0};
    call->response->self_contained = true;
    if (sheet_page(call->view.txn, call->api->path, &page, &call->err))
        return call_buffer(call, HTML, &page);
    buffer_free(&page);
    return false;
}

bool page_metrics(struct call *call)
{
    struct figures figures;
    struct buffer text = {0};
    if (!figures_read(call->view.db, call->view.txn, &call->arena, &figures, &call->err))
        return false;
    prometheus_text(&figures, call->api->program, call->api->path, &text);
    return call_buffer(call, "text/plain; version=0.0.4; charset=utf-8", &text);
}

bool page_report(struct call *call)
{
    struct figures figures;
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return call_nomem(call);
    bool ok =
        figures_read(call->view.db, call->view.txn, &call->arena, &figures, &call->err) &&
        report_json_write(call->view.txn, &figures, call->api->program, call->api->path, out, &call->err);
    if (fclose(out) != 0 && ok)
        ok = call_nomem(call);
    if (ok)
        call_take(call, 200, "application/json; charset=utf-8", bytes, size);
    else
        free(bytes);
    return ok;
}
