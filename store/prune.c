/* prune.c - see prune.h */
#include "store/prune.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/part.h"
#include "store/rebuild.h"

struct prune {
    struct rebuild rebuild;
    const struct prune_options *options;
    struct prune_result *result;
    struct arena arena;
    struct error *err;
};

/* The pages were verified when the store was opened. */
static bool read_all(struct prune *prune, struct error *err)
{
    struct rebuild *rebuild = &prune->rebuild;
    struct tree_meta heads[2];
    struct tree_walk walk = {0};
    uint64_t counted[DB_COUNT];
    if (rebuild_heads(rebuild, heads) != 2)
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "the store lost a head: run `anchorage repair`");
    rebuild->file.meta = heads[0];
    bool ok =
        (tree_walk_begin(&walk, &rebuild->file) && rebuild_read(rebuild, &walk, counted)) || store_nomem(err);
    if (ok && walk.stopped)
        ok = error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                       "the store's pages are damaged: run `anchorage repair`");
    tree_walk_end(&walk);
    rebuild_sort(rebuild);
    return ok;
}

/* ---- what stays ---- */

struct place_row {
    const char *path;
    struct rebuild_entry *entry;
    struct hash parent, container;
    enum source_kind kind;
};

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct place_row *)a)->path, ((const struct place_row *)b)->path);
}

static struct rebuild_entry *of_hash(struct prune *prune, enum store_db db, const struct hash *hash)
{
    return hash_is_zero(hash) ? NULL : rebuild_find(&prune->rebuild, db, hash->bytes, HASH_SIZE);
}

static bool bad_entry(struct prune *prune, enum store_db db, const struct rebuild_entry *entry)
{
    error_set(prune->err, ERROR_STORE, ERROR_NO_OFFSET, "cannot be read: run `anchorage repair`");
    return store_bad_record(db, entry->key, entry->key_size, prune->err);
}

/* A member's path begins with its archive's, so that archives come first. */
static void keep_place(struct prune *prune, const struct place_row *row)
{
    struct rebuild_entry *container = of_hash(prune, DB_CONTAINERS, &row->container);
    bool input = hash_is_zero(&row->parent);
    if (input) {
        prune->result->inputs++;
        row->entry->keep = !prune->options->is_gone(row->path, prune->options->ctx);
        prune->result->gone += !row->entry->keep;
    } else {
        const struct rebuild_entry *parent = of_hash(prune, DB_SOURCES, &row->parent);
        row->entry->keep = parent && parent->keep;
        prune->result->members += !row->entry->keep;
    }
    if (row->entry->keep && row->kind == SOURCE_CONTAINER && container)
        container->keep = true;
}

static bool keep_places(struct prune *prune)
{
    size_t count;
    struct rebuild_entry *list = rebuild_list(&prune->rebuild, DB_SOURCES, &count);
    struct place_row *rows = calloc(count + 1, sizeof *rows);
    bool ok = rows || store_nomem(prune->err);
    for (size_t i = 0; ok && i < count; i++) {
        struct source_record record;
        struct value value;
        struct error ignored = {0};
        ok = (rebuild_value(DB_SOURCES, &list[i], &value) &&
              source_read(value.bytes, value.size, &prune->arena, &record, &ignored)) ||
             bad_entry(prune, DB_SOURCES, &list[i]);
        if (ok)
            rows[i] = (struct place_row){record.path, &list[i], record.parent, record.container, record.kind};
    }
    if (ok && count)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; ok && i < count; i++)
        keep_place(prune, &rows[i]);
    free(rows);
    return ok;
}

/* Whether the content that a key begins with stays. */
static bool content_stays(struct prune *prune, const struct rebuild_entry *entry)
{
    const struct rebuild_entry *container =
        entry->key_size >= HASH_SIZE ? rebuild_find(&prune->rebuild, DB_CONTAINERS, entry->key, HASH_SIZE)
                                     : NULL;
    return container && container->keep;
}

static void keep_geometry(struct prune *prune, const struct hash *geometry)
{
    struct rebuild_entry *entry = of_hash(prune, DB_GEOMETRY, geometry);
    if (entry)
        entry->keep = true;
}

static bool read_resource(struct prune *prune, const struct rebuild_entry *entry,
                          struct resource_record *record)
{
    struct value value;
    struct error ignored = {0};
    return rebuild_value(DB_RESOURCES, entry, &value) &&
           resource_read(value.bytes, value.size, &prune->arena, record, &ignored);
}

static bool keep_of_resource(struct prune *prune, const struct rebuild_entry *entry)
{
    struct resource_record record;
    if (!read_resource(prune, entry, &record))
        return bad_entry(prune, DB_RESOURCES, entry);
    keep_geometry(prune, &record.geometry);
    return true;
}

/* Candidates have as many buffers as their resource has markers. */
static bool keep_of_candidates(struct prune *prune, const struct rebuild_entry *entry)
{
    const struct rebuild_entry *of = rebuild_find(&prune->rebuild, DB_RESOURCES, entry->key, entry->key_size);
    struct resource_record record;
    struct value value;
    struct error ignored = {0};
    if (!of || !read_resource(prune, of, &record) || !rebuild_value(DB_CANDIDATES, entry, &value) ||
        !candidates_read(value.bytes, value.size, &prune->arena, &record, &ignored))
        return bad_entry(prune, DB_CANDIDATES, entry);
    for (uint32_t i = 0; i < record.resource.candidate_count; i++)
        keep_geometry(prune, &record.candidate_hashes[i].geometry);
    return true;
}

static bool keep_of_outcome(struct prune *prune, const struct rebuild_entry *entry)
{
    struct resolved_record outcome;
    struct value value;
    struct error ignored = {0};
    if (!rebuild_value(DB_RESOLVED, entry, &value) ||
        !resolved_read(value.bytes, value.size, &prune->arena, &outcome, &ignored))
        return bad_entry(prune, DB_RESOLVED, entry);
    keep_geometry(prune, &outcome.geometry);
    keep_geometry(prune, &outcome.canonical.geometry);
    return true;
}

static bool keep_coverage(struct prune *prune, const struct rebuild_entry *entry)
{
    (void)prune, (void)entry; /* it names nothing */
    return true;
}

static bool keep_contents(struct prune *prune)
{
    static const struct {
        enum store_db db;
        bool (*keep_used)(struct prune *prune, const struct rebuild_entry *entry);
    } by_content[] = {{DB_RESOURCES, keep_of_resource},
                      {DB_CANDIDATES, keep_of_candidates},
                      {DB_COVERAGE, keep_coverage},
                      {DB_RESOLVED, keep_of_outcome}};
    for (size_t k = 0; k < sizeof by_content / sizeof *by_content; k++) {
        size_t count;
        struct rebuild_entry *list = rebuild_list(&prune->rebuild, by_content[k].db, &count);
        for (size_t i = 0; i < count; i++) {
            arena_reset(&prune->arena);
            list[i].keep = content_stays(prune, &list[i]);
            if (list[i].keep && !by_content[k].keep_used(prune, &list[i]))
                return false;
        }
    }
    return true;
}

/* Findings are left to resolve(), which makes them anew. */
static void keep_the_rest(struct prune *prune)
{
    static const enum store_db by_run[] = {DB_RUNS, DB_DECLINED};
    size_t count;
    for (size_t k = 0; k < sizeof by_run / sizeof *by_run; k++) {
        struct rebuild_entry *list = rebuild_list(&prune->rebuild, by_run[k], &count);
        for (size_t i = 0; i < count; i++)
            list[i].keep = count - i <= prune->options->keep_runs;
    }
    struct rebuild_entry *list = rebuild_list(&prune->rebuild, DB_CAPTURES, &count);
    for (size_t i = 0; i < count; i++)
        list[i].keep = true;
    list = rebuild_list(&prune->rebuild, DB_PARTS, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rebuild_entry *archive =
            rebuild_find(&prune->rebuild, DB_SOURCES, list[i].key, HASH_SIZE);
        list[i].keep = archive && archive->keep;
    }
}

static uint64_t count_dropped(const struct prune *prune, enum store_db db)
{
    size_t count;
    uint64_t dropped = 0;
    const struct rebuild_entry *list = rebuild_list(&prune->rebuild, db, &count);
    for (size_t i = 0; i < count; i++)
        dropped += !list[i].keep;
    return dropped;
}

bool store_prune(struct store *from, struct store *out, const struct prune_options *options,
                 struct prune_result *result, struct error *err)
{
    struct prune prune = {.options = options, .result = result, .err = err};
    struct stat status;
    *result = (struct prune_result){0};
    bool single = stat(from->path, &status) == 0 && S_ISREG(status.st_mode);
    bool ok = rebuild_open(&prune.rebuild, from->path, single, err) && read_all(&prune, err);
    prune.rebuild.last_run = UINT64_MAX;
    result->bytes_before = prune.rebuild.file.size;
    ok = ok && keep_places(&prune) && keep_contents(&prune);
    if (ok) {
        keep_the_rest(&prune);
        result->contents = count_dropped(&prune, DB_CONTAINERS);
        result->resources = count_dropped(&prune, DB_RESOURCES);
        result->geometries = count_dropped(&prune, DB_GEOMETRY);
        result->runs = count_dropped(&prune, DB_RUNS);
        ok = rebuild_write(&prune.rebuild, out, err);
    }
    struct store_stat stat_after;
    ok = ok && store_stat(out, &stat_after, err);
    if (ok)
        result->bytes_after = stat_after.file_bytes;
    rebuild_close(&prune.rebuild);
    arena_free(&prune.arena);
    return ok;
}
