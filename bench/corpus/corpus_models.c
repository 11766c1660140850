/* corpus_models.c - real models as geometry: OBJ files, plain or in zip files. See corpus_internal.h.
 *
 * Only `v` and `f` lines are used; faces are cut into fans, normals come from the triangles. Everything is
 * read in byte order of the paths, so that equal folders give equal corpora.
 */
#include "bench/corpus/corpus_internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"

enum { MODELS_MOST = 256, TRIANGLES_LEAST = 4, TRIANGLES_MOST = 20000, VERTICES_MOST = 60000 };
/* An OBJ file of more bytes has too many triangles anyway. */
enum { FILE_MOST = 8 << 20 };

void models_free(struct models *models)
{
    for (size_t i = 0; i < models->count; i++)
        shape_free(&models->shapes[i]);
    free(models->shapes);
    *models = (struct models){0};
}

/* ---- OBJ ---- */

struct obj {
    struct buffer position, corner; /* float[3], uint32_t[3] */
    bool bad;
};

static uint32_t obj_vertices(const struct obj *obj)
{
    return (uint32_t)(obj->position.size / (3 * sizeof(float)));
}

static void read_vertex(struct obj *obj, const char *line)
{
    float v[3];
    for (int i = 0; i < 3; i++) {
        char *end;
        v[i] = strtof(line, &end);
        obj->bad |= end == line || !isfinite(v[i]) || fabsf(v[i]) > 1e6f;
        line = end;
    }
    buffer_append(&obj->position, v, sizeof v);
}

/* Corners are "7", "7/1", "7/1/3" or "7//3"; negative numbers count back from the last vertex. */
static void read_face(struct obj *obj, const char *line)
{
    uint32_t fan[3] = {0};
    for (unsigned count = 0;; count++) {
        char *end;
        long number = strtol(line, &end, 10);
        if (end == line)
            return;
        long vertices = (long)obj_vertices(obj);
        number = number < 0 ? vertices + number : number - 1;
        if (number < 0 || number >= vertices) {
            obj->bad = true;
            return;
        }
        fan[count < 2 ? count : 2] = (uint32_t)number;
        if (count >= 2) {
            buffer_append(&obj->corner, fan, sizeof fan);
            fan[1] = fan[2];
        }
        line = end + strcspn(end, " \t");
    }
}

static void read_lines(struct obj *obj, char *text)
{
    char *save = NULL;
    for (char *line = strtok_r(text, "\r\n", &save); line && !obj->bad;
         line = strtok_r(NULL, "\r\n", &save)) {
        if (line[0] == 'v' && (line[1] == ' ' || line[1] == '\t'))
            read_vertex(obj, line + 2);
        else if (line[0] == 'f' && (line[1] == ' ' || line[1] == '\t'))
            read_face(obj, line + 2);
        obj->bad |= obj->position.failed || obj->corner.failed;
    }
}

static bool has_extent(const struct shape *shape)
{
    float low[3], high[3];
    shape_bounds(shape, low, high);
    return high[0] - low[0] > 1e-4f || high[1] - low[1] > 1e-4f || high[2] - low[2] > 1e-4f;
}

/* Keeps the model unless it is of no use. False only when memory runs out. */
static bool keep(struct models *models, const struct obj *obj)
{
    uint32_t vertices = obj_vertices(obj), triangles = (uint32_t)(obj->corner.size / (3 * sizeof(uint32_t)));
    if (obj->bad || triangles < TRIANGLES_LEAST || triangles > TRIANGLES_MOST || vertices > VERTICES_MOST)
        return true;
    struct shape shape = shape_room(vertices, triangles);
    if (!shape.corner)
        return false;
    memcpy(shape.position, obj->position.data, (size_t)vertices * 3 * sizeof(float));
    memcpy(shape.corner, obj->corner.data, (size_t)triangles * 3 * sizeof(uint32_t));
    memset(shape.normal, 0, (size_t)vertices * 3 * sizeof(float));
    memset(shape.uv, 0, (size_t)vertices * 2 * sizeof(float));
    shape_drop_unused(&shape);
    if (!has_extent(&shape)) {
        shape_free(&shape);
        return true;
    }
    models->shapes[models->count++] = shape;
    return true;
}

static bool read_obj(struct models *models, char *text)
{
    struct obj obj = {0};
    read_lines(&obj, text);
    bool ok = models->count == MODELS_MOST || keep(models, &obj);
    buffer_free(&obj.position);
    buffer_free(&obj.corner);
    return ok;
}

/* ---- files ---- */

/* Reads every OBJ file of an archive; a lone OBJ file is a "raw" archive of one nameless member. */
static bool read_members(struct models *models, struct archive *archive, bool raw, struct error *err)
{
    struct archive_entry *entry;
    bool ok = true;
    while (ok && models->count < MODELS_MOST && archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        if (!raw && (!name || !name_has_ending(name, ".obj")))
            continue;
        char *text = malloc(FILE_MOST + 1);
        if (!text)
            return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        size_t size = 0;
        la_ssize_t step;
        while (size < FILE_MOST && (step = archive_read_data(archive, text + size, FILE_MOST - size)) > 0)
            size += (size_t)step;
        text[size] = '\0';
        if (size < FILE_MOST && !read_obj(models, text))
            ok = error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        free(text);
    }
    return ok;
}

/* Zip files are known by their magic: libraries of models have endings of their own. */
static bool is_zip(const char *path)
{
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof magic && memcmp(magic, "PK\3\4", 4) == 0;
}

static bool read_file(struct models *models, const char *path, struct error *err)
{
    bool raw = name_has_ending(path, ".obj");
    if (!raw && !is_zip(path))
        return true;
    struct archive *archive = archive_read_new();
    if (!archive)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (raw)
        archive_read_support_format_raw(archive);
    else
        archive_read_support_format_zip(archive);
    bool ok = archive_read_open_filename(archive, path, 1 << 16) == ARCHIVE_OK
                  ? read_members(models, archive, raw, err)
                  : error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot read %s: %s", path,
                              archive_error_string(archive));
    archive_read_free(archive);
    return ok;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

bool models_load(const char *directory, struct models *models, struct error *err)
{
    char *roots[] = {(char *)directory, NULL};
    *models = (struct models){.shapes = calloc(MODELS_MOST, sizeof *models->shapes)};
    FTS *walk = models->shapes ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    bool ok = walk || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    for (const FTSENT *entry; ok && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_F && models->count < MODELS_MOST)
            ok = read_file(models, entry->fts_path, err);
        else if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS)
            ok = error_set(err, ERROR_IO, ERROR_NO_OFFSET, "cannot read %s: %s", entry->fts_path,
                           strerror(entry->fts_errno));
    }
    if (walk)
        fts_close(walk);
    if (ok && models->count == 0)
        ok = error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s has no OBJ file of use, plain or in a zip file",
                       directory);
    if (!ok)
        models_free(models);
    return ok;
}
