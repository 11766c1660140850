/* diff.c - see diff.h
 *
 * Contents are paired by the paths that both stores have, then by their hash; their resources by entry and
 * name, then by name. What is left over on both sides is paired by name and geometry, wherever it lies.
 */
#include "reports/diff.h"

#include <stdlib.h>
#include <string.h>

const char *diff_class_word(enum diff_class class)
{
    static const char *const words[DIFF_CLASSES] = {"gained",    "lost",  "geometry",
                                                    "canonical", "moved", "outcome"};
    return (unsigned)class < DIFF_CLASSES ? words[class] : NULL;
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while comparing");
}

/* ---- what is in a store ---- */

struct item {
    struct diff_side side; /* its container is filled in by the pairing */
    const char *name;      /* shown */
    bool named;            /* by its directory; else by its file, which does not tell entries apart */
    bool taken;            /* paired with something, or reported */
};

struct content {
    struct hash hash;
    const char *path;    /* the least */
    size_t first, count; /* items */
    bool paired;
};

struct place {
    const char *path;
    uint32_t content;
};

struct side {
    struct arena *arena;
    struct buffer items, contents, places; /* of the structs above */
    bool failed;
};

static struct item *item_at(const struct side *side, size_t i)
{
    return (struct item *)side->items.data + i;
}

static struct content *content_at(const struct side *side, size_t i)
{
    return (struct content *)side->contents.data + i;
}

static struct hash hash_of_buffers(const struct resource *resource)
{
    struct hash none = {{0}};
    if (!resource->buffer_count)
        return none;
    uint64_t words[5];
    struct hash hash = none;
    for (uint32_t i = 0; i < resource->buffer_count; i++) {
        const struct buffer_place *b = &resource->buffers[i];
        uint8_t joined[HASH_SIZE + sizeof words];
        memcpy(words,
               (uint64_t[5]){b->index_offset, b->index_count, b->vertex_offset, b->vertex_count, b->stride},
               sizeof words);
        memcpy(joined, hash.bytes, HASH_SIZE);
        memcpy(joined + HASH_SIZE, words, sizeof words);
        hash = hash_bytes(joined, sizeof joined);
    }
    return hash;
}

static bool take_resource(const struct view_resource *view, void *ctx)
{
    struct side *side = ctx;
    const struct resource *resource = &view->record->resource;
    const struct resolved_canonical *canonical = view->outcome ? &view->outcome->canonical : NULL;
    struct item item = {
        .side = {.index = resource->index,
                 .format = resource->format,
                 .status = resource->status,
                 .reason = resource->status == RESOURCE_DECLINED ? resource->reason : DECLINE_NONE,
                 .vertices = resource->vertices,
                 .triangles = resource->triangles,
                 .bounds = resource->bounds,
                 .geometry = view->record->geometry,
                 .place = hash_of_buffers(resource)},
        .name = arena_copy(side->arena, view->name, strlen(view->name)),
        .named = resource->name != NULL,
    };
    if (canonical && canonical->basis) {
        item.side.canonical = canonical->geometry;
        item.side.mirrored = canonical->mirrored;
        item.side.basis = canonical->basis;
    }
    buffer_append(&side->items, &item, sizeof item);
    return !(side->failed = !item.name || side->items.failed);
}

static void take_place(struct side *side, const char *path, uint32_t content)
{
    struct place place = {arena_copy(side->arena, path, strlen(path)), content};
    side->failed |= !place.path;
    buffer_append(&side->places, &place, sizeof place);
    side->failed |= side->places.failed;
}

struct walk {
    struct side *side;
    struct store_txn *txn;
    struct error *err;
};

static bool take_container(const struct view_container *view, void *ctx)
{
    static const struct view_filter all;
    struct walk *walk = ctx;
    struct side *side = walk->side;
    uint32_t number = (uint32_t)(side->contents.size / sizeof(struct content));
    size_t first = side->items.size / sizeof(struct item),
           first_place = side->places.size / sizeof(struct place);
    if (!view->record || !view->record->container.resource_count)
        return true;
    take_place(side, view->path, number);
    for (size_t i = 0; i < view->also_count; i++)
        take_place(side, view->also[i], number);
    if (side->failed || !view_resources_of(walk->txn, view, &all, take_resource, side, walk->err))
        return false;
    struct content content = {.hash = view->hash,
                              .path = ((struct place *)side->places.data)[first_place].path,
                              .first = first,
                              .count = side->items.size / sizeof(struct item) - first};
    buffer_append(&side->contents, &content, sizeof content);
    return !(side->failed |= side->contents.failed);
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

static bool load(struct side *side, struct store_txn *txn, struct error *err)
{
    struct walk walk = {side, txn, err};
    if (!view_containers(txn, take_container, &walk, err) || err->code != ERROR_NONE)
        return false;
    if (side->failed)
        return out_of_memory(err);
    if (side->places.size)
        qsort(side->places.data, side->places.size / sizeof(struct place), sizeof(struct place),
              compare_places);
    return true;
}

static void unload(struct side *side)
{
    buffer_free(&side->items);
    buffer_free(&side->contents);
    buffer_free(&side->places);
}

/* ---- what changed of one resource ---- */

struct comparison {
    struct side before, after;
    struct buffer rows; /* of struct diff_row */
    struct diff *diff;
};

static bool is_sure(const struct diff_side *side)
{
    return side->container && (side->status == RESOURCE_DECODED || side->status == RESOURCE_PROVEN ||
                               side->status == RESOURCE_ASSIGNED);
}

/* DIFF_CLASSES: nothing. */
static enum diff_class classify(const struct diff_side *before, const struct diff_side *after)
{
    bool was = is_sure(before), is = is_sure(after);
    if (was != is)
        return is ? DIFF_GAINED : DIFF_LOST;
    if (was && !hash_equal(&before->geometry, &after->geometry))
        return DIFF_GEOMETRY;
    if (was && (!hash_equal(&before->canonical, &after->canonical) || before->mirrored != after->mirrored))
        return DIFF_CANONICAL;
    if (was && (strcmp(before->container, after->container) != 0 || before->index != after->index ||
                !hash_equal(&before->place, &after->place)))
        return DIFF_MOVED;
    bool same = before->container && after->container && before->status == after->status &&
                before->reason == after->reason && before->basis == after->basis &&
                hash_equal(&before->geometry, &after->geometry);
    return same ? DIFF_CLASSES : DIFF_OUTCOME;
}

/* Compares two items, one of which may be missing; each is at the path that they are compared at. */
static void compare(struct comparison *c, struct item *before, const char *before_path, struct item *after,
                    const char *after_path)
{
    struct diff_row row = {0};
    if (before) {
        row.name = before->name;
        row.before = before->side;
        row.before.container = before_path;
        before->taken = true;
    }
    if (after) {
        row.name = after->name;
        row.after = after->side;
        row.after.container = after_path;
        after->taken = true;
    }
    row.class = classify(&row.before, &row.after);
    if (row.class == DIFF_CLASSES)
        c->diff->same++;
    else
        buffer_append(&c->rows, &row, sizeof row);
}

/* ---- pairing ---- */

static bool same_entry(const struct item *a, const struct item *b)
{
    return a->side.index == b->side.index && a->named == b->named &&
           (!a->named || strcmp(a->name, b->name) == 0);
}

/* Items of one content are in the order of their index, so that equal entries are met by going along both. */
static void pair_entries(struct comparison *c, const struct content *a, const char *a_path,
                         const struct content *b, const char *b_path)
{
    size_t i = a->first, k = b->first;
    while (i < a->first + a->count && k < b->first + b->count) {
        struct item *x = item_at(&c->before, i), *y = item_at(&c->after, k);
        if (same_entry(x, y))
            compare(c, x, a_path, y, b_path);
        if (x->side.index <= y->side.index)
            i++;
        if (y->side.index <= x->side.index)
            k++;
    }
}

struct loose {
    struct item *item;
    const char *path;
};

static int compare_loose_names(const void *a, const void *b)
{
    const struct loose *x = a, *y = b;
    int order = strcmp(x->item->name, y->item->name);
    if (order == 0)
        order = strcmp(x->path, y->path);
    return order ? order
                 : (x->item->side.index > y->item->side.index) - (x->item->side.index < y->item->side.index);
}

static int compare_loose_meshes(const void *a, const void *b)
{
    const struct loose *x = a, *y = b;
    int order = strcmp(x->item->name, y->item->name);
    if (order == 0)
        order = memcmp(x->item->side.geometry.bytes, y->item->side.geometry.bytes, HASH_SIZE);
    return order ? order : compare_loose_names(a, b);
}

/* Walks two sorted lists and pairs what is alike by name, and by geometry when asked to, in their order. */
static void pair_loose(struct comparison *c, struct buffer *before, struct buffer *after, bool by_mesh)
{
    struct loose *x = (struct loose *)before->data, *y = (struct loose *)after->data;
    size_t n = before->size / sizeof *x, m = after->size / sizeof *y;
    int (*order)(const void *, const void *) = by_mesh ? compare_loose_meshes : compare_loose_names;
    if (!n || !m)
        return;
    qsort(x, n, sizeof *x, order);
    qsort(y, m, sizeof *y, order);
    for (size_t i = 0, k = 0; i < n && k < m;) {
        int sign = strcmp(x[i].item->name, y[k].item->name);
        if (sign == 0 && by_mesh)
            sign = memcmp(x[i].item->side.geometry.bytes, y[k].item->side.geometry.bytes, HASH_SIZE);
        if (sign == 0)
            compare(c, x[i].item, x[i].path, y[k].item, y[k].path);
        i += sign <= 0;
        k += sign >= 0;
    }
}

static void list_loose(const struct side *side, const struct content *content, const char *path,
                       bool meshes_only, struct buffer *list)
{
    for (size_t i = content->first; i < content->first + content->count; i++) {
        struct item *item = item_at(side, i);
        struct loose loose = {item, path};
        if (!item->taken && (!meshes_only || !hash_is_zero(&item->side.geometry)))
            buffer_append(list, &loose, sizeof loose);
    }
}

/* Entries that were renumbered keep their names. */
static bool pair_contents(struct comparison *c, struct content *a, const char *a_path, struct content *b,
                          const char *b_path)
{
    struct buffer before = {0}, after = {0};
    a->paired = b->paired = true;
    pair_entries(c, a, a_path, b, b_path);
    list_loose(&c->before, a, a_path, false, &before);
    list_loose(&c->after, b, b_path, false, &after);
    bool ok = !before.failed && !after.failed;
    if (ok)
        pair_loose(c, &before, &after, false);
    buffer_free(&before);
    buffer_free(&after);
    return ok;
}

/* Contents share a path when both stores have it. One that shares several with different ones is compared
 * with the first: its resources are one content's wherever they lie. */
static bool pair_paths(struct comparison *c)
{
    const struct place *x = (const struct place *)c->before.places.data;
    const struct place *y = (const struct place *)c->after.places.data;
    size_t n = c->before.places.size / sizeof *x, m = c->after.places.size / sizeof *y;
    for (size_t i = 0, k = 0; i < n && k < m;) {
        int sign = strcmp(x[i].path, y[k].path);
        if (sign == 0) {
            struct content *a = content_at(&c->before, x[i].content),
                           *b = content_at(&c->after, y[k].content);
            if ((!a->paired || !b->paired) && !pair_contents(c, a, x[i].path, b, y[k].path))
                return false;
        }
        i += sign <= 0;
        k += sign >= 0;
    }
    return true;
}

static int compare_contents(const void *a, const void *b)
{
    const struct content *const *x = a, *const *y = b;
    int order = memcmp((*x)->hash.bytes, (*y)->hash.bytes, HASH_SIZE);
    return order ? order : strcmp((*x)->path, (*y)->path);
}

static bool list_unpaired(const struct side *side, struct buffer *list)
{
    for (size_t i = 0; i < side->contents.size / sizeof(struct content); i++) {
        struct content *content = content_at(side, i);
        if (!content->paired)
            buffer_append(list, &content, sizeof content);
    }
    if (list->size)
        qsort(list->data, list->size / sizeof(struct content *), sizeof(struct content *), compare_contents);
    return !list->failed;
}

/* A file that was renamed is the same content. */
static bool pair_renamed(struct comparison *c)
{
    struct buffer before = {0}, after = {0};
    bool ok = list_unpaired(&c->before, &before) && list_unpaired(&c->after, &after);
    struct content **x = (struct content **)before.data, **y = (struct content **)after.data;
    size_t n = before.size / sizeof *x, m = after.size / sizeof *y;
    for (size_t i = 0, k = 0; ok && i < n && k < m;) {
        int sign = memcmp(x[i]->hash.bytes, y[k]->hash.bytes, HASH_SIZE);
        if (sign == 0)
            ok = pair_contents(c, x[i], x[i]->path, y[k], y[k]->path);
        i += sign <= 0;
        k += sign >= 0;
    }
    buffer_free(&before);
    buffer_free(&after);
    return ok;
}

static void list_left(const struct side *side, bool meshes_only, struct buffer *list)
{
    for (size_t i = 0; i < side->contents.size / sizeof(struct content); i++)
        list_loose(side, content_at(side, i), content_at(side, i)->path, meshes_only, list);
}

static bool pair_the_rest(struct comparison *c)
{
    struct buffer before = {0}, after = {0};
    list_left(&c->before, true, &before);
    list_left(&c->after, true, &after);
    bool ok = !before.failed && !after.failed;
    if (ok)
        pair_loose(c, &before, &after, true);
    buffer_clear(&before);
    buffer_clear(&after);
    list_left(&c->before, false, &before);
    list_left(&c->after, false, &after);
    ok = ok && !before.failed && !after.failed;
    const struct loose *lost = (const struct loose *)before.data, *gained = (const struct loose *)after.data;
    for (size_t i = 0; ok && i < before.size / sizeof *lost; i++)
        compare(c, lost[i].item, lost[i].path, NULL, NULL);
    for (size_t i = 0; ok && i < after.size / sizeof *gained; i++)
        compare(c, NULL, NULL, gained[i].item, gained[i].path);
    buffer_free(&before);
    buffer_free(&after);
    return ok;
}

/* ---- the result ---- */

static const struct diff_side *shown_side(const struct diff_row *row)
{
    return row->after.container ? &row->after : &row->before;
}

static int compare_rows(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    const struct diff_side *s = shown_side(x), *t = shown_side(y);
    int order = strcmp(s->container, t->container);
    if (order == 0)
        order = (s->index > t->index) - (s->index < t->index);
    return order ? order : (x->before.index > y->before.index) - (x->before.index < y->before.index);
}

static bool finish(struct comparison *c, struct error *err)
{
    struct diff *diff = c->diff;
    diff->count = c->rows.size / sizeof *diff->rows;
    diff->rows = arena_array_raw(&diff->arena, diff->count, sizeof *diff->rows);
    if (!diff->rows || c->rows.failed)
        return out_of_memory(err);
    if (diff->count) {
        memcpy(diff->rows, c->rows.data, c->rows.size);
        qsort(diff->rows, diff->count, sizeof *diff->rows, compare_rows);
    }
    for (size_t i = 0; i < diff->count; i++)
        diff->by_class[diff->rows[i].class]++;
    return true;
}

bool diff_stores(struct store_txn *before, struct store_txn *after, struct diff *diff, struct error *err)
{
    struct comparison c = {.before = {.arena = &diff->arena}, .after = {.arena = &diff->arena}, .diff = diff};
    bool ok = load(&c.before, before, err) && load(&c.after, after, err);
    if (ok && !(pair_paths(&c) && pair_renamed(&c) && pair_the_rest(&c)))
        ok = out_of_memory(err);
    ok = ok && finish(&c, err);
    unload(&c.before);
    unload(&c.after);
    buffer_free(&c.rows);
    return ok;
}

void diff_free(struct diff *diff)
{
    arena_free(&diff->arena);
}

/* ---- JSON ---- */

static json_t *json_of_hash_or_null(const struct hash *hash)
{
    char hex[HASH_HEX];
    if (hash_is_zero(hash))
        return json_null();
    hash_format(hash, hex);
    return json_string(hex);
}

static json_t *json_of_side(const struct diff_side *side)
{
    if (!side->container)
        return json_null();
    const char *reason = decline_reason_word(side->reason);
    json_t *canonical = json_null();
    if (side->basis)
        canonical = json_pack("{s:o, s:b, s:s}", "geometry", json_of_hash_or_null(&side->canonical),
                              "mirrored", side->mirrored, "basis", canonical_basis_word(side->basis));
    return json_pack("{s:o, s:I, s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "container",
                     json_of_bytes(side->container), "index", (json_int_t)side->index, "format",
                     format_word(side->format), "status", resource_status_word(side->status), "reason",
                     reason ? json_string(reason) : json_null(), "vertices", (json_int_t)side->vertices,
                     "triangles", (json_int_t)side->triangles, "bounds", json_of_bounds(&side->bounds),
                     "geometry", json_of_hash_or_null(&side->geometry), "canonical", canonical);
}

json_t *json_of_diff(const struct diff_row *row)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "change", diff_class_word(row->class), "name",
                     json_of_bytes(row->name), "before", json_of_side(&row->before), "after",
                     json_of_side(&row->after));
}
