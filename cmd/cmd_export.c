/* cmd_export.c - `anchorage export`: geometry as files other programs open. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/limits.h"
#include "pipeline/json_whole.h"
#include "pipeline/lookup.h"
#include "reports/aside.h"
#include "reports/export.h"
#include "reports/geometry.h"
#include "reports/text.h"
#include "reports/view.h"

enum {
    OPT_FORMAT = FILTER_FORMAT,
    OPT_LIMITS = FILTER_OPTION_COUNT,
    OPT_STORE = OPT_LIMITS + LIMIT_OPTION_COUNT,
    OPT_OUTPUT,
    OPT_PHYSICAL
};

static const struct command command = {
    .name = "export",
    .usage = "[-s STORE] ADDRESS... -o FILE|DIR/",
    .purpose =
        "Writes resources as .glb, .obj or .ply: into one file, or one file each into a folder (a name that "
        "ends in\n"
        "'/'). Without -s the address is read straight from the file; with -s filters select resources, too.",
    .options =
        (const struct option_info[]){
            FILTER_OPTIONS(0),
            [OPT_FORMAT] = {"format", 0, "glb|obj|ply",
                            "what to write, for a folder or stdout (default: glb)"},
            LIMIT_OPTIONS(OPT_LIMITS),
            [OPT_STORE] = {"store", 's', "STORE", "take resources from this store"},
            [OPT_OUTPUT] = {"output", 'o', "FILE|DIR/", "where to write; '-' is stdout"},
            [OPT_PHYSICAL] = {"physical", 0, NULL,
                              "of mirrored twins the bytes at their own place, not what is drawn"},
            {0},
        },
};

struct job {
    const char *store_path, *output;
    bool format_given, folder, filtered, physical, limited;
    struct limit_settings limits; /* of what is read straight from a file */
    enum export_format format;
    struct view_filter filter;
    struct store_txn *txn;
    struct arena arena; /* what lives until the file is written */
    struct export_item *items;
    size_t count, room;
    uint64_t open;             /* ambiguous resources that nobody asked for */
    uint64_t written, without; /* resources exported; resources that have no triangles to export */
    struct error err;
};

/* ---- writing
 * ----------------------------------------------------------------------------------------------- */

static bool write_file(struct job *job, const char *path, const struct export_item *items, size_t count)
{
    struct aside aside;
    if (strcmp(path, "-") == 0)
        return export_write(job->format, items, count, stdout, &job->err);
    if (!aside_open(&aside, path, &job->err))
        return false;
    const bool whole = export_write(job->format, items, count, aside.out, &job->err);
    if (!whole)
        error_prefix(&job->err, "%s", path);
    return aside_close(&aside, whole, &job->err);
}

/* A file name made of a resource's: letters, digits, '-', '_' and '.', never hidden, never a path. The
 * container's hash and the index make it unique. */
static void file_name(const struct view_resource *view, enum export_format format, char out[static 128])
{
    char hash[HASH_HEX];
    size_t used = 0;
    hash_format(&view->container->hash, hash);
    for (const char *p = view->name; *p && used < 60; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     *p == '-' || *p == '_' || (*p == '.' && used);
        out[used++] = plain ? *p : '_';
    }
    snprintf(out + used, 128 - used, "%s%.8s-%u.%s", used ? "-" : "", hash, view->record->resource.index,
             export_word(format));
}

static bool write_alone(struct job *job, const struct view_resource *view, const struct export_item *item)
{
    char name[128];
    file_name(view, job->format, name);
    size_t room = strlen(job->output) + sizeof name + 2;
    char *path = malloc(room);
    if (!path)
        return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    snprintf(path, room, "%s%s%s", job->output, job->output[strlen(job->output) - 1] == '/' ? "" : "/", name);
    bool ok = write_file(job, path, item, 1);
    free(path);
    return ok;
}

/* Whether a resource is written as its twin's shared geometry. */
static bool draws_canonical(const struct job *job, const struct view_resource *view)
{
    return !job->physical && view->outcome && view->outcome->canonical.basis != CANONICAL_NONE;
}

/* Writes the resource now (a folder), or keeps it until the one file is written. Everything `view` and `mesh`
 * refer to lives in job->arena when there is no folder. */
static bool take(struct job *job, const struct view_resource *view, const struct mesh *mesh)
{
    struct export_item item = {
        .resource = &view->record->resource,
        .mesh = mesh,
        .name = view->name,
        .mirrored = draws_canonical(job, view) && view->outcome->canonical.mirrored,
        .extras = json_of_resource(view),
    };
    if (!json_is_whole(item.extras)) {
        json_decref((json_t *)item.extras);
        return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    }
    job->written++;
    if (job->folder) {
        bool ok = write_alone(job, view, &item);
        json_decref((json_t *)item.extras);
        return ok;
    }
    if (job->count == job->room) {
        size_t room = job->room ? job->room * 2 : 16;
        struct export_item *items = realloc(job->items, room * sizeof *items);
        if (!items) {
            json_decref((json_t *)item.extras);
            return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        }
        job->items = items;
        job->room = room;
    }
    job->items[job->count++] = item;
    return true;
}

/* A resource without geometry: said when it was asked for by name, counted when a filter met it. */
static void leave_out(struct job *job, const struct view_resource *view, bool named)
{
    const struct resource *resource = &view->record->resource;
    job->without++;
    if (!named)
        return;
    if (resource->status == RESOURCE_DECLINED)
        warning("%s has no geometry: declined, %s: %s", view->address, decline_reason_word(resource->reason),
                resource->error.msg);
    else
        warning("%s has no geometry: it is %s without triangles", view->address,
                resource->format == FORMAT_BMF ? "a material library" : "a model");
}

/* What may lie in the wrong place is written only when it is asked for: by its own address, with a warning,
 * or by
 * --status. */
static bool may_write(struct job *job, const struct view_resource *view, bool named)
{
    const struct resource *resource = &view->record->resource;
    if (resource->status != RESOURCE_AMBIGUOUS || job->filter.statuses >> RESOURCE_AMBIGUOUS & 1)
        return true;
    if (named)
        warning("%s is ambiguous: its best place of %u is written, which may be the wrong one", view->address,
                resource->candidate_count);
    job->open += !named;
    return named;
}

/* ---- from a store
 * ------------------------------------------------------------------------------------------ */

static bool export_key(struct job *job, const struct resource_key *key, bool named)
{
    struct view_resource *view = arena_alloc(&job->arena, sizeof *view);
    bool found = false;
    if (!view)
        return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (!view_resource(job->txn, key, &job->arena, view, &found, &job->err) || !found)
        return job->err.code == ERROR_NONE;
    if (hash_is_zero(&view->record->geometry)) {
        leave_out(job, view, named);
        return true;
    }
    if (!may_write(job, view, named))
        return true;
    const struct mesh *mesh = NULL;
    const struct hash *geometry =
        draws_canonical(job, view) ? &view->outcome->canonical.geometry : &view->record->geometry;
    bool ok = geometry_load(job->txn, geometry, &job->arena, &mesh, &job->err);
    if (ok && !mesh)
        ok = error_set(&job->err, ERROR_STORE, ERROR_NO_OFFSET,
                       "the geometry of %s is missing; run `anchorage check`", view->address);
    ok = ok && take(job, view, mesh);
    if (job->folder)
        arena_reset(&job->arena);
    return ok;
}

struct keys {
    struct resource_key *list;
    size_t count, room;
    bool failed;
};

static bool collect_key(const struct view_resource *view, void *ctx)
{
    struct keys *keys = ctx;
    if (keys->count == keys->room) {
        size_t room = keys->room ? keys->room * 2 : 256;
        struct resource_key *list = realloc(keys->list, room * sizeof *list);
        if (!list)
            return !(keys->failed = true);
        keys->list = list;
        keys->room = room;
    }
    keys->list[keys->count++] = (struct resource_key){view->container->hash, view->record->resource.index};
    return true;
}

static bool export_filtered(struct job *job)
{
    struct keys keys = {0};
    bool ok = view_resources(job->txn, &job->filter, collect_key, &keys, &job->err);
    if (keys.failed)
        ok = error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    for (size_t i = 0; ok && i < keys.count; i++)
        ok = export_key(job, &keys.list[i], false);
    free(keys.list);
    return ok;
}

/* A geometry that is nobody's outcome: an alternative of something ambiguous, asked for by its hash. */
static bool export_alternative(struct job *job, const struct hash *hash, const char *text)
{
    const struct mesh *mesh;
    if (!geometry_load(job->txn, hash, &job->arena, &mesh, &job->err))
        return false;
    struct view_resource *view = mesh ? geometry_as_resource(hash, mesh, text, &job->arena) : NULL;
    if (!view)
        return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    return take(job, view, mesh);
}

static bool export_named(struct job *job, const char *text)
{
    struct hash hash;
    size_t users = 0;
    if (hash_parse(text, &hash)) {
        struct resource_key *unused;
        bool found = false;
        if (!store_find_geometry(job->txn, &hash, &job->arena, &unused, &users, &job->err) ||
            !store_has_geometry(job->txn, &hash, &found, &job->err))
            return false;
        if (found && !users)
            return export_alternative(job, &hash, text);
    }
    struct arena arena = {0}; /* the keys must outlive what export_key resets */
    struct resource_key *keys;
    size_t count;
    bool ok = lookup_in_store(job->txn, text, &arena, &keys, &count, &job->err);
    for (size_t i = 0; ok && i < count; i++)
        ok = export_key(job, &keys[i], count == 1);
    arena_free(&arena);
    return ok;
}

/* ---- straight from a file
 * ---------------------------------------------------------------------------------- */

static bool export_from_file(struct job *job, const char *text, struct lookup_file *file)
{
    uint32_t *indices;
    size_t count;
    struct extract_options options;
    bool found = limit_extract_options(&job->limits, &options, &job->err) &&
                 lookup_in_file(text, &options, file, &job->err);
    spool_free(options.spool);
    if (!found || !lookup_resources(text, file, &job->arena, &indices, &count, &job->err))
        return false;
    struct view_container *container = arena_alloc(&job->arena, sizeof *container);
    if (!container)
        return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    *container = (struct view_container){.path = file->path,
                                         .hash = file->decoded.hash,
                                         .format = file->container.format,
                                         .bytes = file->item.size};
    for (size_t i = 0; i < count; i++) {
        const struct resource *resource = &file->container.resources[indices[i]];
        struct view_resource view = {.container = container,
                                     .name = resource->name ? resource->name : file->stem};
        char *address = arena_alloc(&job->arena, strlen(file->path) + 16);
        if (!address)
            return error_set(&job->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        sprintf(address, "%s#%u", file->path, resource->index);
        view.record = &file->decoded.resources[indices[i]];
        view.address = address;
        if (!resource->mesh)
            leave_out(job, &view, count == 1);
        else if (may_write(job, &view, count == 1) && !take(job, &view, resource->mesh))
            return false;
    }
    return true;
}

/* ---- the command
 * ------------------------------------------------------------------------------------------- */

static int parse_options(int argc, char **argv, struct job *job)
{
    const char *argument;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        switch (option) {
        case OPT_STORE:
            job->store_path = argument;
            break;
        case OPT_OUTPUT:
            job->output = argument;
            break;
        case OPT_PHYSICAL:
            job->physical = true;
            break;
        case OPT_FORMAT:
            if (!export_parse(argument, &job->format))
                return usage_error(&command, "--format takes glb, obj or ply, not '%s'", argument);
            job->format_given = true;
            break;
        case OPTIONS_HELP:
            return -1;
        case OPTIONS_BAD:
            return EXIT_USAGE;
        default:
            if (option >= OPT_LIMITS) {
                if (!limit_option(&command, &job->limits, option - OPT_LIMITS, argument))
                    return EXIT_USAGE;
                job->limited = true;
                break;
            }
            if (!filter_option(&command, &job->filter, option, argument))
                return EXIT_USAGE;
            job->filtered = true;
        }
    }
    if (!job->output || !*job->output)
        return usage_error(&command, "-o FILE or -o DIR/ is missing");
    if (optind == argc && !job->filtered)
        return usage_error(&command, "there is no ADDRESS and no filter");
    if (!filter_check(&command, &job->filter))
        return EXIT_USAGE;
    if (job->limited && job->store_path)
        return usage_error(&command, "limits are for what is read straight from a file, without -s");
    if (job->physical && !job->store_path)
        return usage_error(&command, "--physical: twins are known in a store only; -s STORE is missing");
    if (job->filtered && !job->store_path)
        return usage_error(&command, "filters select from a store; -s STORE is missing");
    return EXIT_DONE;
}

static int choose_output(struct job *job)
{
    struct stat stat_buffer;
    size_t length = strlen(job->output);
    bool exists = stat(job->output, &stat_buffer) == 0;
    job->folder = job->output[length - 1] == '/' || (exists && S_ISDIR(stat_buffer.st_mode));
    if (job->folder) {
        if (!exists && mkdir(job->output, 0777) != 0) {
            error_set_system(&job->err, ERROR_IO, errno, "cannot make the folder %s", job->output);
            return failure(&job->err);
        }
    } else if (!job->format_given && strcmp(job->output, "-") != 0 &&
               !export_parse(job->output, &job->format)) {
        return usage_error(&command, "'%s' ends in none of .glb, .obj, .ply; --format says which",
                           job->output);
    }
    return EXIT_DONE;
}

static bool run_job(struct job *job, struct store *store, char **addresses, size_t count,
                    struct lookup_file *files)
{
    job->txn = store ? store_begin_read(store, &job->err) : NULL;
    if (store && !job->txn)
        return false;
    if (job->filtered && !export_filtered(job))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(store ? export_named(job, addresses[i]) : export_from_file(job, addresses[i], &files[i])))
            return false;
    if (!job->written)
        return error_set(&job->err, ERROR_USAGE, ERROR_NO_OFFSET, "nothing to export: %s",
                         job->open ? "what was selected is ambiguous; name one, or give --status ambiguous"
                         : job->without ? "what was selected has no geometry"
                                        : "nothing matches");
    return job->folder || write_file(job, job->output, job->items, job->count);
}

int cmd_export(int argc, char **argv)
{
    struct job job = {.format = EXPORT_GLB, .limits = LIMIT_SETTINGS_DEFAULT};
    int status = parse_options(argc, argv, &job);
    if (status == EXIT_DONE)
        status = choose_output(&job);
    if (status != EXIT_DONE)
        return status < 0 ? EXIT_DONE : status;
    size_t count = (size_t)(argc - optind);
    struct lookup_file *files = calloc(count + 1, sizeof *files);
    struct store *store = job.store_path ? store_open(job.store_path, STORE_READ, false, &job.err) : NULL;
    bool ok = files && (store || !job.store_path) && run_job(&job, store, argv + optind, count, files);
    for (size_t i = 0; i < job.count; i++)
        json_decref((json_t *)job.items[i].extras);
    for (size_t i = 0; files && i < count; i++)
        lookup_free(&files[i]);
    free(files);
    free(job.items);
    arena_free(&job.arena);
    store_end_read(job.txn);
    store_close(store);
    if (!ok) {
        if (!job.err.code)
            error_set(&job.err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        failure(&job.err);
        return EXIT_FAILED;
    }
    if (job.open)
        warning("%llu ambiguous resource%s left out; name one, or give --status ambiguous",
                (unsigned long long)job.open, job.open == 1 ? " was" : "s were");
    if (strcmp(job.output, "-") != 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "%llu resource%s written to %s%s\n", (unsigned long long)job.written,
                job.written == 1 ? "" : "s", job.output, job.without ? "; some had no geometry" : "");
    return flush_output() ? EXIT_DONE : EXIT_FAILED;
}
