/* view_sort.c - resources in an order of the caller's. See view.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/view.h"

static const char *const words[VIEW_SORT_KEYS] = {
    [VIEW_BY_NAME] = "name",         [VIEW_BY_CONTAINER] = "container", [VIEW_BY_INDEX] = "index",
    [VIEW_BY_FORMAT] = "format",     [VIEW_BY_STATUS] = "status",       [VIEW_BY_REASON] = "reason",
    [VIEW_BY_VERTICES] = "vertices", [VIEW_BY_TRIANGLES] = "triangles", [VIEW_BY_SIZE] = "size",
    [VIEW_BY_SCORE] = "score",       [VIEW_BY_MARGIN] = "margin",       [VIEW_BY_GEOMETRY] = "geometry",
};

const char *view_sort_word(enum view_sort_key key)
{
    return (unsigned)key < VIEW_SORT_KEYS ? words[key] : NULL;
}

/* What one key compares: text, or a number where `text` is NULL. */
struct sort_value {
    const char *text;
    double number;
};

static double longest_edge(const struct bounds *bounds)
{
    double longest = -1;
    for (int axis = 0; axis < 3 && bounds->valid; axis++)
        longest = fmax(longest, (double)bounds->max[axis] - (double)bounds->min[axis]);
    return longest;
}

/* The text lives as long as the view; false for a number. */
static bool value_of(const struct view_resource *view, enum view_sort_key key, char hex[static HASH_HEX],
                     struct sort_value *value)
{
    const struct resource *resource = &view->record->resource;
    const char *word;
    switch (key) {
    case VIEW_BY_NAME:
        value->text = view->name;
        return true;
    case VIEW_BY_CONTAINER:
        value->text = view->container->path;
        return true;
    case VIEW_BY_FORMAT:
        value->text = format_word(resource->format);
        return true;
    case VIEW_BY_STATUS:
        value->text = resource_status_word(resource->status);
        return true;
    case VIEW_BY_REASON:
        word = decline_reason_word(resource->reason);
        value->text = word ? word : "";
        return true;
    case VIEW_BY_GEOMETRY:
        hash_format(&view->record->geometry, hex);
        value->text = hex;
        return true;
    case VIEW_BY_INDEX:
        value->number = resource->index;
        return false;
    case VIEW_BY_VERTICES:
        value->number = resource->vertices;
        return false;
    case VIEW_BY_TRIANGLES:
        value->number = resource->triangles;
        return false;
    case VIEW_BY_SIZE:
        value->number = longest_edge(&resource->bounds);
        return false;
    case VIEW_BY_SCORE:
        value->number = resource->score;
        return false;
    case VIEW_BY_MARGIN:
        value->number = resource->margin;
        return false;
    default:
        return false;
    }
}

bool view_order_add(struct view_order *order, const struct view_resource *view)
{
    const struct view_sort *sort = order->sort;
    if (order->count == order->room) {
        size_t room = order->room ? 2 * order->room : 1024;
        struct view_order_row *rows = realloc(order->rows, room * sizeof *rows);
        if (!rows)
            return false;
        order->rows = rows;
        order->room = room;
    }
    struct sort_value *values = arena_array(&order->arena, sort->count, sizeof *values);
    if (!values)
        return false;
    for (unsigned i = 0; i < sort->count; i++) {
        char hex[HASH_HEX];
        if (value_of(view, sort->keys[i].key, hex, &values[i]) &&
            !(values[i].text = arena_copy(&order->arena, values[i].text, strlen(values[i].text))))
            return false;
    }
    order->rows[order->count] = (struct view_order_row){
        values, {view->container->hash, view->record->resource.index}, (uint32_t)order->count};
    order->count++;
    return true;
}

static int compare_values(const struct sort_value *a, const struct sort_value *b)
{
    return a->text ? strcmp(a->text, b->text) : (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct view_sort *sort = ctx;
    const struct view_order_row *x = a, *y = b;
    for (unsigned i = 0; i < sort->count; i++) {
        int order = compare_values(&x->values[i], &y->values[i]);
        if (order)
            return sort->keys[i].descending ? -order : order;
    }
    return (x->met > y->met) - (x->met < y->met);
}

void view_order_sort(struct view_order *order)
{
    if (order->count)
        qsort_r(order->rows, order->count, sizeof *order->rows, compare_rows, (void *)(uintptr_t)order->sort);
}

void view_order_free(struct view_order *order)
{
    arena_free(&order->arena);
    free(order->rows);
}

struct sort_walk {
    struct view_order order;
    struct error *err;
};

static bool collect_row(const struct view_resource *view, void *ctx)
{
    struct sort_walk *walk = ctx;
    return view_order_add(&walk->order, view) ||
           error_set(walk->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while sorting");
}

bool view_sorted(struct store_txn *txn, const struct view_filter *filter, const struct view_sort *sort,
                 bool (*each)(const struct view_resource *resource, void *ctx), void *ctx, struct error *err)
{
    if (!sort->count)
        return view_resources(txn, filter, each, ctx, err);
    struct sort_walk walk = {.order = {.sort = sort}, .err = err};
    struct view_filter all = *filter;
    struct arena arena = {0};
    all.limit = 0;
    bool ok = view_resources(txn, &all, collect_row, &walk, err) && err->code == ERROR_NONE;
    view_order_sort(&walk.order);
    size_t shown = filter->limit && filter->limit < walk.order.count ? filter->limit : walk.order.count;
    for (size_t i = 0; ok && i < shown; i++) {
        struct view_resource view;
        bool found;
        arena_reset(&arena);
        ok = view_resource(txn, &walk.order.rows[i].key, &arena, &view, &found, err);
        if (ok && found && !each(&view, ctx))
            break;
    }
    arena_free(&arena);
    view_order_free(&walk.order);
    return ok;
}
