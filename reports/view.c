/* view.c - see view.h */
#include "reports/view.h"

#include <stdlib.h>
#include <string.h>

#include "reports/glob.h"
#include "reports/number.h"

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading the store");
}

/* ---- the list of containers -------------------------------------------------------------------------------
 */

struct entries {
    struct store_txn *txn;
    struct arena *arena;
    struct view_entry *list;
    size_t count, room;
    struct error *err;
    bool failed;
};

static bool entries_add(struct entries *entries, const char *path, const struct hash *hash, bool failed)
{
    if (entries->count == entries->room) {
        size_t room = entries->room ? entries->room * 2 : 256;
        struct view_entry *list = realloc(entries->list, room * sizeof *list);
        if (!list)
            return !(entries->failed = true);
        entries->list = list;
        entries->room = room;
    }
    const char *copy = arena_copy(entries->arena, path, strlen(path));
    if (!copy)
        return !(entries->failed = true);
    entries->list[entries->count++] = (struct view_entry){copy, *hash, failed};
    return true;
}

static bool is_listed(const struct source_record *source)
{
    return source->kind == SOURCE_CONTAINER || source->kind == SOURCE_FAILED ||
           (source->kind == SOURCE_UNKNOWN && source->is_input);
}

/* Every place makes an entry; places of one content are joined after sorting, when the least path is known.
 */
static bool collect_source(const struct hash *path_hash, const struct source_record *source, void *ctx)
{
    if (!is_listed(source))
        return true;
    bool failed = source->kind != SOURCE_CONTAINER;
    return entries_add(ctx, source->path, failed ? path_hash : &source->container, failed);
}

static int by_hash_then_path(const void *a, const void *b)
{
    const struct view_entry *x = a, *y = b;
    int order = memcmp(x->hash.bytes, y->hash.bytes, HASH_SIZE);
    return order ? order : strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct view_entry *)a)->path, ((const struct view_entry *)b)->path);
}

static bool entries_collect(struct entries *entries)
{
    if (!store_each_source(entries->txn, collect_source, entries, entries->err))
        return false;
    if (entries->failed)
        return out_of_memory(entries->err);
    if (!entries->count)
        return true;
    qsort(entries->list, entries->count, sizeof *entries->list, by_hash_then_path);
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++)
        if (kept == 0 || !hash_equal(&entries->list[kept - 1].hash, &entries->list[i].hash))
            entries->list[kept++] = entries->list[i];
    entries->count = kept;
    qsort(entries->list, entries->count, sizeof *entries->list, by_path);
    return true;
}

static bool view_of_failed(struct store_txn *txn, const struct view_entry *entry, struct arena *arena,
                           struct view_container *view, bool *found, struct error *err)
{
    struct source_record source;
    if (!store_get_source(txn, &entry->hash, arena, &source, found, err) || !*found)
        return err->code == ERROR_NONE;
    *view = (struct view_container){
        .path = source.path,
        .format = source.format,
        .bytes = source.bytes,
        .status = source.kind == SOURCE_UNKNOWN ? CONTAINER_READ : source.status,
        .reason = source.reason,
        .message = source.message,
        .error_offset = ERROR_NO_OFFSET,
    };
    return true;
}

static bool view_of_content(struct store_txn *txn, const struct hash *hash, struct arena *arena,
                            struct view_container *view, bool *found, struct error *err)
{
    struct container_record *record = arena_alloc(arena, sizeof *record);
    const char **paths = NULL, *stem = NULL;
    size_t count = 0;
    if (!record)
        return out_of_memory(err);
    if (!store_get_container(txn, hash, arena, record, found, err))
        return false;
    if (*found && !store_places(txn, hash, arena, &paths, &count, &stem, err))
        return false;
    *found = *found && count > 0;
    if (!*found)
        return true;
    *view = (struct view_container){
        .path = paths[0],
        .also = paths + 1,
        .also_count = count - 1,
        .stem = stem,
        .hash = *hash,
        .format = record->container.format,
        .bytes = record->bytes,
        .status = record->container.status,
        .reason = record->container.reason,
        .message = record->container.error.code ? record->container.error.msg : NULL,
        .error_offset = record->container.error.offset,
        .flags = record->container.flags,
        .record = record,
    };
    memcpy(view->by_status, record->by_status, sizeof view->by_status);
    return view->format != FORMAT_XPR2 || store_resolved_counts(txn, hash, view->by_status, err);
}

bool view_list(struct store_txn *txn, struct arena *arena, const struct view_entry **list, size_t *count,
               struct error *err)
{
    struct entries entries = {.txn = txn, .arena = arena, .err = err};
    struct view_entry *kept = NULL;
    bool ok = entries_collect(&entries);
    if (ok && !(kept = arena_array_raw(arena, entries.count, sizeof *kept)))
        ok = out_of_memory(err);
    if (ok && entries.count)
        memcpy(kept, entries.list, entries.count * sizeof *kept);
    *list = kept;
    *count = ok ? entries.count : 0;
    free(entries.list);
    return ok;
}

bool view_listed(struct store_txn *txn, const struct view_entry *entry, struct arena *arena,
                 struct view_container *out, bool *found, struct error *err)
{
    *found = false;
    return entry->failed ? view_of_failed(txn, entry, arena, out, found, err)
                         : view_of_content(txn, &entry->hash, arena, out, found, err);
}

bool view_containers(struct store_txn *txn, bool (*each)(const struct view_container *container, void *ctx),
                     void *ctx, struct error *err)
{
    struct arena paths = {0}, arena = {0};
    const struct view_entry *list;
    size_t count;
    bool ok = view_list(txn, &paths, &list, &count, err);
    for (size_t i = 0; ok && i < count; i++) {
        struct view_container view;
        bool found;
        arena_reset(&arena);
        ok = view_listed(txn, &list[i], &arena, &view, &found, err);
        if (ok && found && !each(&view, ctx))
            break;
    }
    arena_free(&arena);
    arena_free(&paths);
    return ok;
}

bool view_container(struct store_txn *txn, const char *path, struct arena *arena, struct view_container *out,
                    bool *found, struct error *err)
{
    struct source_record source;
    struct view_entry entry = {path, hash_bytes(path, strlen(path)), true};
    if (!store_get_source(txn, &entry.hash, arena, &source, found, err) || !*found)
        return err->code == ERROR_NONE;
    *found = is_listed(&source);
    if (!*found)
        return true;
    return source.kind == SOURCE_CONTAINER ? view_of_content(txn, &source.container, arena, out, found, err)
                                           : view_of_failed(txn, &entry, arena, out, found, err);
}

/* ---- resources
 * --------------------------------------------------------------------------------------------- */

struct resource_walk {
    struct store_txn *txn;
    const struct view_filter *filter;
    bool (*each)(const struct view_resource *resource, void *ctx);
    void *ctx;
    const struct view_container *container;
    struct resolved_entry *outcomes; /* of the container's resources, by index; in `outcome_arena` */
    size_t outcome_count, outcome_next;
    struct arena arena, outcome_arena;
    uint64_t passed;
    bool stopped;
    struct error *err;
};

static bool is_inside(const struct view_filter *filter, const struct bounds *bounds)
{
    for (int axis = 0; axis < 3; axis++)
        if (!(bounds->min[axis] >= filter->box_min[axis] && bounds->max[axis] <= filter->box_max[axis]))
            return false;
    return bounds->valid;
}

bool view_passes(const struct view_filter *filter, const struct resource *resource, const char *name)
{
    return (!filter->statuses || filter->statuses >> resource->status & 1) &&
           (!filter->reasons ||
            (resource->status == RESOURCE_DECLINED && filter->reasons >> resource->reason & 1)) &&
           (!filter->formats || filter->formats >> resource->format & 1) &&
           resource->triangles >= filter->min_triangles &&
           (!filter->max_triangles || resource->triangles <= filter->max_triangles) &&
           (!filter->boxed || is_inside(filter, &resource->bounds)) &&
           (!filter->name || glob_matches(filter->name, name));
}

static bool describe(const struct view_container *container, const struct resource_record *record,
                     struct arena *arena, struct view_resource *view)
{
    size_t length = strlen(container->path);
    char *address = arena_alloc(arena, length + 16);
    const char *name = record->resource.name ? record->resource.name : container->stem ? container->stem : "";
    if (!address)
        return false;
    memcpy(address, container->path, length);
    address[length] = '#';
    *count_text(record->resource.index, 1, address + length + 1) = '\0';
    *view = (struct view_resource){container, record, name, address, NULL};
    return true;
}

/* The outcome of a resource; resources come by index, as outcomes do. NULL: as the decoder said. */
static const struct resolved_record *next_outcome(struct resource_walk *walk, const struct resource *resource)
{
    while (walk->outcome_next < walk->outcome_count &&
           walk->outcomes[walk->outcome_next].index < resource->index)
        walk->outcome_next++;
    bool has = walk->outcome_next < walk->outcome_count &&
               walk->outcomes[walk->outcome_next].index == resource->index && resource->format == FORMAT_XBG7;
    return has ? &walk->outcomes[walk->outcome_next].outcome : NULL;
}

static bool walk_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct resource_walk *walk = ctx;
    struct resource_record whole = *record;
    static const struct resolved_record as_decoded; /* all zero */
    const struct resolved_record *outcome = next_outcome(walk, &record->resource);
    struct view_resource view;
    arena_reset(&walk->arena);
    if (outcome)
        resolved_apply(outcome, &whole);
    if (!describe(walk->container, &whole, &walk->arena, &view)) {
        out_of_memory(walk->err);
        return !(walk->stopped = true);
    }
    view.outcome = outcome ? outcome : &as_decoded;
    if (!view_passes(walk->filter, &whole.resource, view.name))
        return true;
    if ((walk->filter->candidates || whole.resource.status == RESOURCE_AMBIGUOUS) &&
        !store_get_candidates(walk->txn, &key->container, &walk->arena, &whole, walk->err))
        return !(walk->stopped = true);
    if (outcome) /* candidates came with the decoder's choice */
        resolved_apply(outcome, &whole);
    walk->passed++;
    walk->stopped = !walk->each(&view, walk->ctx) || walk->passed == walk->filter->limit;
    return !walk->stopped;
}

static bool walk_container(const struct view_container *container, void *ctx)
{
    struct resource_walk *walk = ctx;
    if (!container->record || !container->record->container.resource_count ||
        (walk->filter->container && !glob_matches(walk->filter->container, container->path)))
        return true;
    walk->container = container;
    walk->outcome_count = walk->outcome_next = 0;
    arena_reset(&walk->outcome_arena);
    if (container->format == FORMAT_XPR2 &&
        !store_resolved_of(walk->txn, &container->hash, &walk->outcome_arena, &walk->outcomes,
                           &walk->outcome_count, walk->err))
        return false;
    return store_each_resource_of(walk->txn, &container->hash, walk_resource, walk, walk->err) &&
           !walk->stopped && walk->err->code == ERROR_NONE;
}

bool view_resources_of(struct store_txn *txn, const struct view_container *container,
                       const struct view_filter *filter,
                       bool (*each)(const struct view_resource *resource, void *ctx), void *ctx,
                       struct error *err)
{
    struct resource_walk walk = {.txn = txn, .filter = filter, .each = each, .ctx = ctx, .err = err};
    walk_container(container, &walk);
    arena_free(&walk.arena);
    arena_free(&walk.outcome_arena);
    return err->code == ERROR_NONE;
}

bool view_resources(struct store_txn *txn, const struct view_filter *filter,
                    bool (*each)(const struct view_resource *resource, void *ctx), void *ctx,
                    struct error *err)
{
    struct resource_walk walk = {.txn = txn, .filter = filter, .each = each, .ctx = ctx, .err = err};
    bool ok = view_containers(txn, walk_container, &walk, err) && err->code == ERROR_NONE;
    arena_free(&walk.arena);
    arena_free(&walk.outcome_arena);
    return ok;
}

bool view_resource(struct store_txn *txn, const struct resource_key *key, struct arena *arena,
                   struct view_resource *out, bool *found, struct error *err)
{
    struct view_container *container = arena_alloc(arena, sizeof *container);
    struct resource_record *record = arena_alloc(arena, sizeof *record);
    struct resolved_record *outcome = arena_alloc(arena, sizeof *outcome);
    if (!container || !record || !outcome)
        return out_of_memory(err);
    if (!view_of_content(txn, &key->container, arena, container, found, err))
        return false;
    if (*found && !store_get_resource(txn, &key->container, key->index, arena, record, found, err))
        return false;
    if (*found && (!store_get_candidates(txn, &key->container, arena, record, err) ||
                   !store_apply_resolved(txn, &key->container, arena, record, outcome, err)))
        return false;
    if (*found && !describe(container, record, arena, out))
        return out_of_memory(err);
    out->outcome = outcome;
    return true;
}

/* ---- sums
 * -------------------------------------------------------------------------------------------------- */

struct unknown_walk {
    struct store_txn *txn;
    struct arena *arena;
    struct census_row *rows;
    size_t count, room;
    struct error *err;
};

static int by_kind(const void *a, const void *b)
{
    const struct census_row *x = a, *y = b;
    int order = strcmp(x->magic, y->magic);
    return order ? order : strcmp(x->ending, y->ending);
}

static int by_count(const void *a, const void *b)
{
    const struct census_row *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return by_kind(a, b);
}

/* Sorts by magic and ending and sums rows that are alike. */
static void unknown_join(struct unknown_walk *walk)
{
    size_t kept = 0;
    if (walk->count)
        qsort(walk->rows, walk->count, sizeof *walk->rows, by_kind);
    for (size_t i = 0; i < walk->count; i++) {
        if (kept && by_kind(&walk->rows[kept - 1], &walk->rows[i]) == 0) {
            walk->rows[kept - 1].count += walk->rows[i].count;
            walk->rows[kept - 1].bytes += walk->rows[i].bytes;
        } else {
            walk->rows[kept++] = walk->rows[i];
        }
    }
    walk->count = kept;
}

static bool unknown_add(struct unknown_walk *walk, const char *magic, const char *ending, uint64_t count,
                        uint64_t bytes)
{
    if (walk->count == walk->room) {
        /* Joining first keeps a hundred thousand loose files from being a hundred thousand rows. */
        unknown_join(walk);
        if (walk->count * 2 >= walk->room) {
            size_t room = walk->room ? walk->room * 2 : 1024;
            struct census_row *rows = realloc(walk->rows, room * sizeof *rows);
            if (!rows)
                return out_of_memory(walk->err);
            walk->rows = rows;
            walk->room = room;
        }
    }
    const char *kept_magic = arena_copy(walk->arena, magic, strlen(magic));
    const char *kept_ending = arena_copy(walk->arena, ending, strlen(ending));
    if (!kept_magic || !kept_ending)
        return out_of_memory(walk->err);
    walk->rows[walk->count++] = (struct census_row){kept_magic, kept_ending, count, bytes};
    return true;
}

static bool has_unknown(const struct source_head *head, void *ctx)
{
    (void)ctx;
    return head->kind == SOURCE_UNKNOWN ||
           (head->kind == SOURCE_CONTAINER &&
            (head->format == FORMAT_ARCHIVE || head->format == FORMAT_XDVDFS));
}

static bool unknown_source(const struct hash *path_hash, const struct source_record *source, void *ctx)
{
    struct unknown_walk *walk = ctx;
    (void)path_hash;
    if (source->kind == SOURCE_UNKNOWN)
        return unknown_add(walk, source->magic, source->ending, 1, source->bytes);
    struct arena arena = {0};
    struct container_record record;
    bool found = false;
    bool ok = store_get_container(walk->txn, &source->container, &arena, &record, &found, walk->err);
    for (uint32_t i = 0; ok && found && i < record.census_count; i++)
        ok = unknown_add(walk, record.census[i].magic, record.census[i].ending, record.census[i].count,
                         record.census[i].bytes);
    arena_free(&arena);
    return ok;
}

bool view_unknown(struct store_txn *txn, struct arena *arena, struct census_row **rows, size_t *count,
                  struct error *err)
{
    struct unknown_walk walk = {.txn = txn, .arena = arena, .err = err};
    bool ok = store_each_source_if(txn, has_unknown, unknown_source, &walk, err) && err->code == ERROR_NONE;
    if (ok) {
        unknown_join(&walk);
        if (walk.count)
            qsort(walk.rows, walk.count, sizeof *walk.rows, by_count);
        *rows = arena_array(arena, walk.count, sizeof **rows);
        ok = *rows || out_of_memory(err);
        if (ok && walk.count)
            memcpy(*rows, walk.rows, walk.count * sizeof **rows);
        *count = walk.count;
    }
    free(walk.rows);
    return ok;
}

struct summary_walk {
    struct store_txn *txn;
    struct view_summary *summary;
    struct arena arena;
    struct error *err;
};

static void sum_outcome(struct view_summary *summary, enum format_id format, enum container_status status,
                        enum container_reason reason)
{
    summary->containers_by_status[status]++;
    summary->containers_by_format[format]++;
    if (status != CONTAINER_READ)
        summary->failed_by_reason[reason]++;
}

static bool sum_declined(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    struct summary_walk *walk = ctx;
    struct resolved_record outcome;
    bool found;
    arena_reset(&walk->arena);
    if (!store_get_resolved(walk->txn, key, &walk->arena, &outcome, &found, walk->err))
        return false;
    if ((found ? outcome.status : record->resource.status) == RESOURCE_DECLINED)
        walk->summary->declined_by_reason[found ? outcome.reason : record->resource.reason]++;
    return true;
}

/* Statuses are counted in the container's own record; only where something was declined are the resources
 * read, for the reasons. */
static bool sum_container(const struct hash *hash, const struct container_head *head, void *ctx)
{
    struct summary_walk *walk = ctx;
    uint32_t by_status[RESOURCE_STATUS_COUNT];
    memcpy(by_status, head->by_status, sizeof by_status);
    sum_outcome(walk->summary, head->format, head->status, head->reason);
    if (head->format == FORMAT_XPR2 && !store_resolved_counts(walk->txn, hash, by_status, walk->err))
        return false;
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        walk->summary->resources_by_status[i] += by_status[i];
    return !by_status[RESOURCE_DECLINED] ||
           store_each_resource_of(walk->txn, hash, sum_declined, walk, walk->err);
}

/* The head tells all: no source is wanted whole. */
static bool sum_source(const struct source_head *head, void *ctx)
{
    struct summary_walk *walk = ctx;
    if (head->kind == SOURCE_FAILED)
        sum_outcome(walk->summary, head->format, head->status, head->reason);
    else if (head->kind == SOURCE_UNKNOWN && head->is_input)
        sum_outcome(walk->summary, head->format, CONTAINER_READ, CONTAINER_REASON_NONE);
    walk->summary->places += head->kind == SOURCE_CONTAINER || head->kind == SOURCE_FAILED;
    return false;
}

bool view_summarise(struct store_txn *txn, struct view_summary *summary, struct error *err)
{
    struct summary_walk walk = {.txn = txn, .summary = summary, .err = err};
    memset(summary, 0, sizeof *summary);
    bool ok = store_each_container_head(txn, sum_container, &walk, err) &&
              store_each_source_if(txn, sum_source, NULL, &walk, err) && err->code == ERROR_NONE;
    arena_free(&walk.arena);
    return ok;
}
