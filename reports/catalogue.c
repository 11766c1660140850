/* catalogue.c - see catalogue.h */
#include "reports/catalogue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "reports/glob.h"
#include "reports/page_data.h"

#define WORDS_MOST  8
#define HASH_WORD   6  /* hexadecimal digits that are taken for the beginning of a hash */
#define ORDERS_MOST 24 /* kept; every key alone, both ways */

struct container_row {
    const char *path, *text; /* text: the path in lower case */
    uint8_t status, reason, format;
};

struct resource_row {
    struct resource_key key;
    uint32_t container; /* into containers */
    uint32_t vertices, triangles;
    uint8_t status, reason, format;
    struct bounds bounds;
    double score, margin;
    struct hash geometry;
    const char *name;
};

/* What a search looks at first, apart from the rest so that it is little to go through. */
struct searched {
    const char *name;   /* in lower case */
    uint32_t container; /* into containers */
};

struct order {
    struct view_sort sort;
    uint32_t *rows; /* [resource_count] */
};

struct catalogue {
    atomic_uint holders;
    uint64_t commit;
    struct arena strings;
    struct container_row *containers;
    struct resource_row *resources;
    struct searched *searched; /* [resource_count] */
    size_t container_count, container_room, resource_count, resource_room, searched_count, searched_room;
    pthread_mutex_t mutex; /* guards the orders and the page, which are made later than the rest */
    struct order orders[ORDERS_MOST];
    unsigned order_count;
    struct page_data page;
};

static struct catalogue *mutable(const struct catalogue *catalogue)
{
    return (struct catalogue *)(uintptr_t)catalogue;
}

uint64_t catalogue_commit(const struct catalogue *catalogue)
{
    return catalogue->commit;
}

const struct catalogue *catalogue_retain(const struct catalogue *catalogue)
{
    atomic_fetch_add(&mutable(catalogue)->holders, 1);
    return catalogue;
}

void catalogue_release(const struct catalogue *catalogue)
{
    struct catalogue *own = mutable(catalogue);
    if (!own || atomic_fetch_sub(&own->holders, 1) > 1)
        return;
    for (unsigned i = 0; i < own->order_count; i++)
        free(own->orders[i].rows);
    page_data_free(&own->page);
    pthread_mutex_destroy(&own->mutex);
    arena_free(&own->strings);
    free(own->containers);
    free(own->resources);
    free(own->searched);
    free(own);
}

/* ---- building ---- */

struct build {
    struct catalogue *catalogue;
    struct store_txn *txn;
    const struct view_filter *all;
    struct error *err;
};

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while listing the store");
}

/* A row more at the end of a list; NULL when memory runs out. */
static void *add_row(void **list, size_t *count, size_t *room, size_t size)
{
    if (*count == *room) {
        size_t more = *room ? *room * 2 : 1024;
        void *grown = realloc(*list, more * size);
        if (!grown)
            return NULL;
        *list = grown;
        *room = more;
    }
    return (char *)*list + size * (*count)++;
}

static void fold(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text += 'a' - 'A';
}

static const char *folded(struct arena *arena, const char *text)
{
    char *copy = arena_copy(arena, text, strlen(text));
    if (copy)
        fold(copy);
    return copy;
}

static bool add_resource(const struct view_resource *view, void *ctx)
{
    struct build *build = ctx;
    struct catalogue *catalogue = build->catalogue;
    const struct resource *resource = &view->record->resource;
    struct resource_row *row = add_row((void **)&catalogue->resources, &catalogue->resource_count,
                                       &catalogue->resource_room, sizeof *row);
    if (!row)
        return out_of_memory(build->err);
    *row = (struct resource_row){
        .key = {view->container->hash, resource->index},
        .container = (uint32_t)(catalogue->container_count - 1),
        .vertices = resource->vertices,
        .triangles = resource->triangles,
        .status = (uint8_t)resource->status,
        .reason = (uint8_t)resource->reason,
        .format = (uint8_t)resource->format,
        .bounds = resource->bounds,
        .score = resource->score,
        .margin = resource->margin,
        .geometry = view->record->geometry,
        .name = arena_copy(&catalogue->strings, view->name, strlen(view->name)),
    };
    struct searched *searched = add_row((void **)&catalogue->searched, &catalogue->searched_count,
                                        &catalogue->searched_room, sizeof *searched);
    if (!searched || !row->name || !(searched->name = folded(&catalogue->strings, row->name)))
        return out_of_memory(build->err);
    searched->container = row->container;
    return true;
}

static bool add_container(const struct view_container *view, void *ctx)
{
    struct build *build = ctx;
    struct catalogue *catalogue = build->catalogue;
    struct container_row *row = add_row((void **)&catalogue->containers, &catalogue->container_count,
                                        &catalogue->container_room, sizeof *row);
    const char *text = folded(&catalogue->strings, view->path);
    const char *path = arena_copy(&catalogue->strings, view->path, strlen(view->path));
    if (!row || !text || !path)
        return out_of_memory(build->err);
    *row = (struct container_row){path, text, (uint8_t)view->status, (uint8_t)view->reason,
                                  (uint8_t)view->format};
    return view_resources_of(build->txn, view, build->all, add_resource, build, build->err);
}

struct catalogue *catalogue_build(struct store_txn *txn, struct error *err)
{
    static const struct view_filter all = {0};
    struct catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (!catalogue) {
        out_of_memory(err);
        return NULL;
    }
    catalogue->commit = store_commit(txn);
    atomic_init(&catalogue->holders, 1);
    pthread_mutex_init(&catalogue->mutex, NULL);
    struct build build = {catalogue, txn, &all, err};
    if (view_containers(txn, add_container, &build, err) && err->code == ERROR_NONE)
        return catalogue;
    catalogue_release(catalogue);
    return NULL;
}

/* ---- words ---- */

struct words {
    const char *word[WORDS_MOST]; /* in lower case */
    const char *mark[WORDS_MOST]; /* its '#', or NULL: it may be a part of an address across that */
    bool of_a_hash[WORDS_MOST];   /* it may be the beginning of a geometry's hash */
    size_t count;
};

/* What is beyond the last word that fits belongs to it: a search for more finds less, never more. */
static bool words_split(const char *text, struct arena *arena, struct words *words, struct error *err)
{
    *words = (struct words){0};
    char *at = arena_copy(arena, text ? text : "", text ? strlen(text) : 0);
    if (!at)
        return out_of_memory(err);
    fold(at);
    for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
        char *word = at;
        at += words->count + 1 < WORDS_MOST ? strcspn(at, " ") : strlen(at);
        if (*at)
            *at++ = '\0';
        words->mark[words->count] = strchr(word, '#');
        words->of_a_hash[words->count] =
            strspn(word, "0123456789abcdef") >= HASH_WORD && !word[strspn(word, "0123456789abcdef")];
        words->word[words->count++] = word;
    }
    return true;
}

/* Which of the words a text has, a bit each. */
static unsigned words_in(const char *text, const struct words *words)
{
    unsigned found = 0;
    for (size_t i = 0; i < words->count; i++)
        found |= (unsigned)(strstr(text, words->word[i]) != NULL) << i;
    return found;
}

/* A word that neither the name nor the container's path has may still be a part of the address across '#', or
 * of the geometry's hash. */
static bool found_elsewhere(const struct catalogue *catalogue, size_t number, const struct words *words,
                            size_t which)
{
    if (!words->mark[which] && !words->of_a_hash[which])
        return false;
    const struct resource_row *row = &catalogue->resources[number];
    const char *word = words->word[which], *mark = words->mark[which];
    char text[HASH_HEX];
    if (mark) {
        const char *path = catalogue->containers[row->container].text;
        size_t before = (size_t)(mark - word), length = strlen(path);
        snprintf(text, sizeof text, "%u", row->key.index);
        return before <= length && memcmp(path + length - before, word, before) == 0 &&
               (strncmp(text, mark + 1, strlen(mark + 1)) == 0 ||
                strncmp(catalogue->searched[number].name, mark + 1, strlen(mark + 1)) == 0);
    }
    if (hash_is_zero(&row->geometry))
        return false;
    hash_format(&row->geometry, text);
    return strncmp(text, word, strlen(word)) == 0;
}

/* `in_path`: the words that each container's path has. */
static bool has_words(const struct catalogue *catalogue, size_t number, const struct words *words,
                      const uint8_t *in_path)
{
    const struct searched *searched = &catalogue->searched[number];
    for (size_t i = 0; i < words->count; i++)
        if (!(in_path[searched->container] >> i & 1) && !strstr(searched->name, words->word[i]) &&
            !found_elsewhere(catalogue, number, words, i))
            return false;
    return true;
}

/* ---- orders ---- */

/* A row in the shape in which filters and orders look at resources; all zero at first. */
struct row_view {
    struct view_resource view;
    struct view_container container;
    struct resource_record record;
};

static void show_row(const struct catalogue *catalogue, const struct resource_row *row, struct row_view *out)
{
    struct resource *resource = &out->record.resource;
    out->container.path = catalogue->containers[row->container].path;
    out->container.hash = row->key.container;
    resource->index = row->key.index;
    resource->status = (enum resource_status)row->status;
    resource->reason = (enum decline_reason)row->reason;
    resource->format = (enum format_id)row->format;
    resource->vertices = row->vertices;
    resource->triangles = row->triangles;
    resource->bounds = row->bounds;
    resource->score = row->score;
    resource->margin = row->margin;
    out->record.geometry = row->geometry;
    out->view =
        (struct view_resource){.container = &out->container, .record = &out->record, .name = row->name};
}

static bool make_order(const struct catalogue *catalogue, const struct view_sort *sort,
                       struct row_view *scratch, uint32_t *rows)
{
    struct view_order order = {.sort = sort};
    bool ok = true;
    for (size_t i = 0; ok && i < catalogue->resource_count; i++) {
        show_row(catalogue, &catalogue->resources[i], scratch);
        ok = view_order_add(&order, &scratch->view);
    }
    if (ok)
        view_order_sort(&order);
    for (size_t i = 0; ok && i < order.count; i++)
        rows[i] = order.rows[i].met;
    view_order_free(&order);
    return ok;
}

static bool same_sort(const struct view_sort *a, const struct view_sort *b)
{
    bool same = a->count == b->count;
    for (unsigned i = 0; same && i < a->count; i++)
        same = a->keys[i].key == b->keys[i].key && a->keys[i].descending == b->keys[i].descending;
    return same;
}

/* The rows in an order: kept ones, or made now and kept while there is room, else in the arena. NULL when
 * memory runs out. Threads that want one at the same time wait: most often it is the same. */
static const uint32_t *find_order(const struct catalogue *catalogue, const struct view_sort *sort,
                                  struct arena *arena, struct row_view *scratch)
{
    struct catalogue *own = mutable(catalogue);
    const uint32_t *found = NULL;
    pthread_mutex_lock(&own->mutex);
    for (unsigned i = 0; !found && i < own->order_count; i++)
        if (same_sort(&own->orders[i].sort, sort))
            found = own->orders[i].rows;
    bool keep = own->order_count < ORDERS_MOST;
    size_t count = catalogue->resource_count;
    uint32_t *rows = found  ? NULL
                     : keep ? malloc((count + 1) * sizeof *rows)
                            : arena_array_raw(arena, count + 1, sizeof *rows);
    if (rows && make_order(catalogue, sort, scratch, rows)) {
        found = rows;
        if (keep)
            own->orders[own->order_count++] = (struct order){*sort, rows};
    } else if (keep) {
        free(rows);
    }
    pthread_mutex_unlock(&own->mutex);
    return found;
}

/* ---- lists ---- */

/* Which rows are shown: counted as they pass. */
struct window_count {
    struct catalogue_window window;
    uint64_t total;
    size_t shown;
};

static bool in_window(struct window_count *count)
{
    bool shown = count->total >= count->window.offset && count->shown < count->window.limit;
    count->total++;
    count->shown += shown;
    return shown;
}

static size_t window_room(struct catalogue_window window, size_t rows)
{
    return window.limit < rows ? (size_t)window.limit : rows;
}

bool catalogue_resources(const struct catalogue *catalogue, const struct view_filter *filter,
                         const char *text, const struct view_sort *sort, struct catalogue_window window,
                         struct arena *arena, const struct resource_key ***keys, size_t *count,
                         uint64_t *total, struct error *err)
{
    struct words words;
    struct window_count counter = {.window = window};
    size_t rows = catalogue->resource_count;
    const struct resource_key **list = arena_array(arena, window_room(window, rows), sizeof *list);
    bool *within = arena_array(arena, catalogue->container_count, sizeof *within);
    uint8_t *in_path = arena_array(arena, catalogue->container_count, sizeof *in_path);
    struct row_view *scratch = arena_alloc(arena, sizeof *scratch);
    const uint32_t *order = scratch && sort->count ? find_order(catalogue, sort, arena, scratch) : NULL;
    if (!list || !within || !in_path || !scratch || (sort->count && !order))
        return out_of_memory(err);
    if (!words_split(text, arena, &words, err))
        return false;
    for (size_t i = 0; i < catalogue->container_count; i++) {
        const struct container_row *row = &catalogue->containers[i];
        within[i] = !filter->container || glob_matches(filter->container, row->path);
        in_path[i] = within[i] ? (uint8_t)words_in(row->text, &words) : 0;
    }
    for (size_t i = 0; i < rows; i++) {
        size_t number = order ? order[i] : i;
        if (!within[catalogue->searched[number].container] || !has_words(catalogue, number, &words, in_path))
            continue;
        const struct resource_row *row = &catalogue->resources[number];
        show_row(catalogue, row, scratch);
        if (view_passes(filter, &scratch->record.resource, row->name) && in_window(&counter))
            list[counter.shown - 1] = &row->key;
    }
    *keys = list;
    *count = counter.shown;
    *total = counter.total;
    return true;
}

static bool container_passes(const struct container_row *row, const struct catalogue_containers *filter)
{
    return (!filter->statuses || filter->statuses >> row->status & 1) &&
           (!filter->reasons || filter->reasons >> row->reason & 1) &&
           (!filter->formats || filter->formats >> row->format & 1) &&
           (!filter->glob || glob_matches(filter->glob, row->path));
}

bool catalogue_containers(const struct catalogue *catalogue, const struct catalogue_containers *filter,
                          const char *text, struct catalogue_window window, struct arena *arena,
                          const char ***paths, size_t *count, uint64_t *total, struct error *err)
{
    struct words words;
    struct window_count counter = {.window = window};
    const char **list = arena_array(arena, window_room(window, catalogue->container_count), sizeof *list);
    if (!list)
        return out_of_memory(err);
    if (!words_split(text, arena, &words, err))
        return false;
    for (size_t i = 0; i < catalogue->container_count; i++) {
        const struct container_row *row = &catalogue->containers[i];
        if (words_in(row->text, &words) + 1 == 1u << words.count && container_passes(row, filter) &&
            in_window(&counter))
            list[counter.shown - 1] = row->path;
    }
    *paths = list;
    *count = counter.shown;
    *total = counter.total;
    return true;
}

const struct page_text *catalogue_page(const struct catalogue *catalogue, struct store *store,
                                       struct store_txn *txn, const char *program, const char *title,
                                       struct error *err)
{
    struct catalogue *own = mutable(catalogue);
    pthread_mutex_lock(&own->mutex);
    bool made = own->page.page.count || page_data_make(store, txn, program, title, false, &own->page, err);
    if (!made)
        page_data_free(&own->page);
    pthread_mutex_unlock(&own->mutex);
    return made ? &own->page.page : NULL;
}
