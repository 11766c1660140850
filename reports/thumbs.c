/* thumbs.c - see thumbs.h */
#include "reports/thumbs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/parallel.h"
#include "reports/aside.h"
#include "reports/geometry.h"
#include "reports/thumbnail.h"
#include "reports/view.h"

/* ---- what there is to draw ----------------------------------------------------------------------------- */

struct subjects {
    struct thumbs_subject *list;
    size_t count, room;
    struct error *err;
};

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while drawing");
}

static bool add(struct subjects *subjects, const struct hash *geometry, enum format_id format)
{
    if (hash_is_zero(geometry))
        return true;
    if (subjects->count == subjects->room) {
        size_t room = subjects->room ? 2 * subjects->room : 1024;
        struct thumbs_subject *list = realloc(subjects->list, room * sizeof *list);
        if (!list)
            return out_of_memory(subjects->err);
        subjects->list = list;
        subjects->room = room;
    }
    subjects->list[subjects->count++] = (struct thumbs_subject){*geometry, format};
    return true;
}

static bool collect(const struct view_resource *view, void *ctx)
{
    struct subjects *subjects = ctx;
    const struct resource_record *record = view->record;
    bool ok = add(subjects, &record->geometry, record->resource.format);
    if (record->resource.status == RESOURCE_AMBIGUOUS)
        for (uint32_t i = 0; ok && i < record->resource.candidate_count; i++)
            ok = add(subjects, &record->candidate_hashes[i].geometry, record->resource.format);
    return ok;
}

static int by_geometry(const void *a, const void *b)
{
    const struct thumbs_subject *x = a, *y = b;
    int order = memcmp(x->geometry.bytes, y->geometry.bytes, HASH_SIZE);
    return order ? order : (int)x->format - (int)y->format;
}

static void join(struct subjects *subjects)
{
    size_t kept = 0;
    if (subjects->count)
        qsort(subjects->list, subjects->count, sizeof *subjects->list, by_geometry);
    for (size_t i = 0; i < subjects->count; i++)
        if (!kept || !hash_equal(&subjects->list[kept - 1].geometry, &subjects->list[i].geometry))
            subjects->list[kept++] = subjects->list[i];
    subjects->count = kept;
}

/* ---- the folder ---------------------------------------------------------------------------------------- */

#define RENDERER_FILE "renderer"

static void picture_path(const char *directory, const struct hash *geometry, char *path, size_t room)
{
    char hex[HASH_HEX];
    hash_format(geometry, hex);
    snprintf(path, room, "%s/%s.png", directory, hex);
}

/* Whether the pictures that are there are this renderer's. */
static bool is_current(const char *directory)
{
    char path[4096];
    int version = 0;
    snprintf(path, sizeof path, "%s/" RENDERER_FILE, directory);
    FILE *file = fopen(path, "re");
    bool current = file && fscanf(file, "%d", &version) == 1 && version == THUMBNAIL_VERSION;
    if (file)
        fclose(file);
    return current;
}

static bool mark_current(const char *directory, struct error *err)
{
    char path[4096], text[16];
    struct buffer bytes = {0};
    snprintf(path, sizeof path, "%s/" RENDERER_FILE, directory);
    buffer_append(&bytes, text, (size_t)snprintf(text, sizeof text, "%d\n", THUMBNAIL_VERSION));
    bool ok = aside_write(path, &bytes, err);
    buffer_free(&bytes);
    return ok;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, HASH_SIZE);
}

/* Takes what the folder has out of the list; how many that were. One look at the folder costs less than
 * asking for each file. */
static size_t drop_drawn(struct subjects *subjects, const char *directory)
{
    DIR *folder = opendir(directory);
    size_t kept = 0, count = subjects->count;
    bool *drawn = folder && count ? calloc(count, sizeof *drawn) : NULL;
    for (struct dirent *entry; drawn && (entry = readdir(folder));) {
        struct hash hash;
        char hex[HASH_HEX] = "";
        if (strlen(entry->d_name) != HASH_HEX - 1 + 4 || strcmp(entry->d_name + HASH_HEX - 1, ".png") != 0)
            continue;
        memcpy(hex, entry->d_name, HASH_HEX - 1);
        struct thumbs_subject *found =
            hash_parse(hex, &hash)
                ? bsearch(&hash, subjects->list, count, sizeof *subjects->list, compare_hashes)
                : NULL;
        if (found)
            drawn[found - subjects->list] = true;
    }
    for (size_t i = 0; i < count; i++)
        if (!drawn || !drawn[i])
            subjects->list[kept++] = subjects->list[i];
    free(drawn);
    if (folder)
        closedir(folder);
    subjects->count = kept;
    return count - kept;
}

/* Takes away the pictures of another renderer. */
static void remove_pictures(const char *directory)
{
    char path[4096];
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct hash hash;
        char hex[HASH_HEX] = "";
        memcpy(hex, entry->d_name, strnlen(entry->d_name, HASH_HEX - 1));
        if (!hash_parse(hex, &hash) || strcmp(entry->d_name + HASH_HEX - 1, ".png") != 0)
            continue;
        picture_path(directory, &hash, path, sizeof path);
        remove(path);
    }
    if (folder)
        closedir(folder);
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

struct painter {
    struct store_txn *txn;
    struct arena mesh, scratch;
    struct buffer png;
    uint64_t drawn, failed;
    struct error err; /* a fault of the job, which ends the work of this thread */
};

struct job {
    const struct thumbs_subject *subjects;
    const char *directory;
    struct painter *painters;
};

/* False for a fault of the job. What the store has and is no mesh is counted, not drawn. */
static bool paint(struct painter *painter, const struct thumbs_subject *subject, const char *directory)
{
    char path[4096];
    const struct mesh *mesh;
    struct error err = {0};
    buffer_clear(&painter->png);
    arena_reset(&painter->mesh);
    if (!geometry_load(painter->txn, &subject->geometry, &painter->mesh, &mesh, &err) &&
        error_is_fatal(&err)) {
        painter->err = err;
        return false;
    }
    if (!mesh || !mesh_is_sound(mesh)) {
        painter->failed++;
        return true;
    }
    picture_path(directory, &subject->geometry, path, sizeof path);
    if (!thumbnail_png(mesh, subject->format, false, &painter->scratch, &painter->png, &painter->err) ||
        !aside_write(path, &painter->png, &painter->err))
        return false;
    painter->drawn++;
    return true;
}

static void paint_one(size_t i, int thread, void *ctx)
{
    struct job *job = ctx;
    struct painter *painter = &job->painters[thread];
    if (painter->err.code == ERROR_NONE)
        paint(painter, &job->subjects[i], job->directory);
}

static bool paint_all(struct store *store, const struct subjects *subjects, const char *directory,
                      int threads, struct thumbs_result *result, struct error *err)
{
    struct job job = {subjects->list, directory, calloc((size_t)threads, sizeof *job.painters)};
    bool ok = job.painters || out_of_memory(err);
    for (int i = 0; ok && i < threads; i++)
        ok = (job.painters[i].txn = store_begin_read(store, err)) != NULL;
    if (ok)
        par_for(subjects->count, threads, paint_one, &job);
    for (int i = 0; job.painters && i < threads; i++) {
        struct painter *painter = &job.painters[i];
        if (ok && painter->err.code != ERROR_NONE) {
            *err = painter->err;
            ok = false;
        }
        result->drawn += painter->drawn;
        result->failed += painter->failed;
        store_end_read(painter->txn);
        arena_free(&painter->mesh);
        arena_free(&painter->scratch);
        buffer_free(&painter->png);
    }
    free(job.painters);
    return ok;
}

bool thumbs_draw(struct store *store, struct thumbs_subject *list, size_t count, const char *directory,
                 int threads, struct thumbs_result *result, struct error *err)
{
    struct subjects subjects = {.list = list, .count = count};
    *result = (struct thumbs_result){0};
    if (strlen(directory) > 4000)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the name of the folder is too long");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return error_set_system(err, ERROR_IO, errno, "cannot make %s", directory);
    bool current = is_current(directory);
    join(&subjects);
    if (current)
        result->kept = drop_drawn(&subjects, directory);
    else
        remove_pictures(directory);
    return paint_all(store, &subjects, directory, threads, result, err) &&
           (current || mark_current(directory, err));
}

bool thumbs_write(struct store *store, struct store_txn *txn, const char *directory, int threads,
                  struct thumbs_result *result, struct error *err)
{
    static const struct view_filter everything;
    struct subjects subjects = {.err = err};
    bool ok = view_resources(txn, &everything, collect, &subjects, err) && err->code == ERROR_NONE &&
              thumbs_draw(store, subjects.list, subjects.count, directory, threads, result, err);
    free(subjects.list);
    return ok;
}
