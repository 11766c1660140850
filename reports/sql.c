/* sql.c - a store as an SQLite database. See sql.h; the tables are in sql_schema.c.
 *
 * One walk in the order people see, one prepared statement a table, one transaction. Nothing in a name can
 * become SQL: every value is bound.
 */
#include "reports/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/aside.h"
#include "reports/coverage.h"
#include "reports/finding.h"
#include "reports/view.h"

/* A statement for each kind of row; the `?` are bound from the arguments of put(). */
enum row {
    ROW_META,
    ROW_CONTAINER,
    ROW_CONTAINER_FLAG,
    ROW_PLACE,
    ROW_TEXTURE,
    ROW_TAG,
    ROW_COVERAGE,
    ROW_UNKNOWN,
    ROW_GEOMETRY,
    ROW_RESOURCE,
    ROW_RESOURCE_FLAG,
    ROW_BUFFER,
    ROW_CANDIDATE,
    ROW_CANDIDATE_BUFFER,
    ROW_HISTORY,
    ROW_PART,
    ROW_OBJECT,
    ROW_LOD,
    ROW_MATERIAL,
    ROW_MATERIAL_STRING,
    ROW_NODE,
    ROW_MARKER,
    ROW_ELEMENT,
    ROW_DRAW,
    ROW_FINDING,
    ROW_FINDING_SIDE,
    ROW_CAPTURE,
    ROW_CAPTURE_BUFFER,
    ROW_RUN,
    ROW_DECLINED,
    ROW_COUNT
};

#define GEOMETRY_ID "(SELECT id FROM geometries WHERE hash = ?)"

static const char *const inserts[ROW_COUNT] = {
    [ROW_META] = "INSERT INTO meta VALUES(?,?)",
    [ROW_CONTAINER] = "INSERT INTO containers VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_CONTAINER_FLAG] = "INSERT INTO container_flags VALUES(?,?)",
    [ROW_PLACE] = "INSERT INTO places VALUES(?,?)",
    [ROW_TEXTURE] = "INSERT INTO textures VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_TAG] = "INSERT INTO tags VALUES(?,?,?)",
    [ROW_COVERAGE] = "INSERT INTO coverage VALUES(?,?,?,?)",
    [ROW_UNKNOWN] = "INSERT INTO unknown VALUES(?,?,?,?)",
    [ROW_GEOMETRY] = "INSERT INTO geometries(hash, bytes) VALUES(?,?) ON CONFLICT(hash)"
                     " DO UPDATE SET bytes = coalesce(bytes, excluded.bytes)",
    [ROW_RESOURCE] = "INSERT INTO resources VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?," GEOMETRY_ID
                     "," GEOMETRY_ID ",?,?,?,?,?,?,?)",
    [ROW_RESOURCE_FLAG] = "INSERT INTO resource_flags VALUES(?,?)",
    [ROW_BUFFER] = "INSERT INTO buffers VALUES(?,?,?,?,?,?,?)",
    [ROW_CANDIDATE] =
        "INSERT INTO candidates VALUES(?,?,?,?,?," GEOMETRY_ID ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_CANDIDATE_BUFFER] = "INSERT INTO candidate_buffers VALUES(?,?,?,?,?,?,?)",
    [ROW_HISTORY] = "INSERT INTO history VALUES(?,?,?,?,?,?,?,?,?)",
    [ROW_PART] = "INSERT INTO parts VALUES(?,?,?,?,?,?,?,?,?,?)",
    [ROW_OBJECT] = "INSERT INTO objects VALUES(?,?,?)",
    [ROW_LOD] = "INSERT INTO lods VALUES(?,?,?,?,?,?,?)",
    [ROW_MATERIAL] = "INSERT INTO materials VALUES(?,?,?,?,?)",
    [ROW_MATERIAL_STRING] = "INSERT INTO material_strings VALUES(?,?,?,?,?)",
    [ROW_NODE] = "INSERT INTO nodes VALUES(?,?,?)",
    [ROW_MARKER] = "INSERT INTO markers VALUES(?,?,?,?,?,?,?,?)",
    [ROW_ELEMENT] = "INSERT INTO elements VALUES(?,?,?,?,?,?,?,?)",
    [ROW_DRAW] = "INSERT INTO draws VALUES(?,?,?,?,?)",
    [ROW_FINDING] = "INSERT INTO findings VALUES(?,?,(SELECT id FROM containers WHERE hash = ?),?,?)",
    [ROW_FINDING_SIDE] = "INSERT INTO finding_sides VALUES(?,?,(SELECT id FROM resources WHERE container_id ="
                         " (SELECT id FROM containers WHERE hash = ?) AND idx = ?))",
    [ROW_CAPTURE] = "INSERT INTO captures VALUES(?,?,?,?,?)",
    [ROW_CAPTURE_BUFFER] = "INSERT INTO capture_buffers VALUES(?,?,?,?,?,?,?)",
    [ROW_RUN] = "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ROW_DECLINED] = "INSERT INTO declined_census VALUES(?,?,?,?)",
};

struct sql {
    sqlite3 *db;
    sqlite3_stmt *statements[ROW_COUNT];
    struct store_txn *txn;
    const char *path;                                      /* what the file will be called */
    sqlite3_int64 container, resource, candidate, finding; /* the last id given */
    bool compared;                                         /* there is a census of an earlier run */
    struct error *err;
};

static bool fail(struct sql *sql, const char *what)
{
    const int code = sqlite3_errcode(sql->db), number = sqlite3_system_errno(sql->db);
    /* SQLite forgets the number of a full disk, which it has a code of its own for, and now and then others.
     */
    if (code == SQLITE_FULL || code == SQLITE_IOERR)
        return error_set_system(sql->err, ERROR_IO,
                                code == SQLITE_FULL ? ENOSPC
                                : number            ? number
                                                    : EIO,
                                "cannot write %s", sql->path);
    return error_set(sql->err, code == SQLITE_NOMEM ? ERROR_NOMEM : ERROR_IO, ERROR_NO_OFFSET, "%s: %s: %s",
                     sql->path, what, sqlite3_errmsg(sql->db));
}

static bool out_of_memory(struct sql *sql)
{
    return error_set(sql->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while writing the database");
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (!text)
        return sqlite3_bind_null(statement, at);
    json_t *string = json_of_bytes(text); /* the same text as everywhere: UTF-8, the rest as %XX */
    if (!string)
        return SQLITE_NOMEM;
    int rc = sqlite3_bind_text(statement, at, json_string_value(string), (int)json_string_length(string),
                               SQLITE_TRANSIENT);
    json_decref(string);
    return rc;
}

static int bind_hash(sqlite3_stmt *statement, int at, const struct hash *hash)
{
    char hex[HASH_HEX];
    if (!hash || hash_is_zero(hash))
        return sqlite3_bind_null(statement, at);
    hash_format(hash, hex);
    return sqlite3_bind_text(statement, at, hex, HASH_HEX - 1, SQLITE_TRANSIENT);
}

/* Inserts one row. A letter for each value: i int64_t, u uint64_t, U uint64_t of which UINT64_MAX is NULL, b
 * int or bool, d double (NULL unless finite), t text of any bytes, w word of this program, h struct hash *, n
 * an int in whose place stands NULL. */
static bool put(struct sql *sql, enum row row, const char *types, ...)
{
    sqlite3_stmt *statement = sql->statements[row];
    int rc = SQLITE_OK, at = 0;
    va_list args;
    va_start(args, types);
    for (const char *type = types; *type && rc == SQLITE_OK; type++) {
        double number;
        uint64_t offset;
        at++;
        switch (*type) {
        case 'i':
            rc = sqlite3_bind_int64(statement, at, va_arg(args, int64_t));
            break;
        case 'u':
            rc = sqlite3_bind_int64(statement, at, (sqlite3_int64)va_arg(args, uint64_t));
            break;
        case 'U':
            offset = va_arg(args, uint64_t);
            rc = offset == UINT64_MAX ? sqlite3_bind_null(statement, at)
                                      : sqlite3_bind_int64(statement, at, (sqlite3_int64)offset);
            break;
        case 'b':
            rc = sqlite3_bind_int(statement, at, va_arg(args, int));
            break;
        case 'd':
            number = va_arg(args, double);
            rc = isfinite(number) ? sqlite3_bind_double(statement, at, number)
                                  : sqlite3_bind_null(statement, at);
            break;
        case 't':
            rc = bind_text(statement, at, va_arg(args, const char *));
            break;
        case 'w':
            rc = sqlite3_bind_text(statement, at, va_arg(args, const char *), -1, SQLITE_STATIC);
            break;
        case 'h':
            rc = bind_hash(statement, at, va_arg(args, const struct hash *));
            break;
        default:
            (void)va_arg(args, int);
            rc = sqlite3_bind_null(statement, at);
        }
    }
    va_end(args);
    if (rc == SQLITE_OK && at != sqlite3_bind_parameter_count(statement))
        return error_set(sql->err, ERROR_IO, ERROR_NO_OFFSET, "%d values for: %s", at, inserts[row]);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    return rc == SQLITE_DONE || fail(sql, "writing the database");
}

static bool put_flags(struct sql *sql, enum row row, int64_t id, uint32_t flags)
{
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags & FLAG_BIT(i) && !put(sql, row, "iw", id, flag_word((enum flag)i)))
            return false;
    return true;
}

static bool put_buffers(struct sql *sql, enum row row, int64_t id, const struct buffer_place *buffers,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!put(sql, row, "iuuuuuu", id, (uint64_t)i, buffers[i].index_offset,
                 (uint64_t)buffers[i].index_count, buffers[i].vertex_offset,
                 (uint64_t)buffers[i].vertex_count, (uint64_t)buffers[i].stride))
            return false;
    return true;
}

/* Before the row that names it; `bytes` 0: not known from here. */
static bool put_geometry(struct sql *sql, const struct hash *geometry, uint64_t bytes)
{
    return hash_is_zero(geometry) ||
           put(sql, ROW_GEOMETRY, "hU", geometry, bytes ? bytes : (uint64_t)UINT64_MAX);
}

/* ---- what a format says of a resource ---- */

static bool put_scene(struct sql *sql, const struct resource *resource)
{
    int64_t id = sql->resource;
    for (uint32_t i = 0; i < (resource->parts ? resource->part_count : 0); i++) {
        const struct part_info *part = &resource->parts[i];
        if (!put(sql, ROW_PART, "iutttuuubb", id, (uint64_t)i, part->material, part->back_material,
                 part->special, (uint64_t)part->object, (uint64_t)part->lod, (uint64_t)part->patch,
                 part->faceted, part->decal))
            return false;
    }
    for (uint32_t i = 0; i < resource->object_count; i++)
        if (!put(sql, ROW_OBJECT, "iut", id, (uint64_t)i, resource->objects[i].name))
            return false;
    for (uint32_t i = 0; i < resource->lod_count; i++) {
        const struct lod_info *lod = &resource->lods[i];
        if (!put(sql, ROW_LOD, "iuubddu", id, (uint64_t)i, (uint64_t)lod->object, lod->implicit,
                 lod->has_distance ? (double)lod->in : NAN, lod->has_distance ? (double)lod->out : NAN,
                 (uint64_t)lod->triangles))
            return false;
    }
    for (uint32_t i = 0; i < resource->node_count; i++)
        if (!put(sql, ROW_NODE, "iut", id, (uint64_t)i, resource->nodes[i]))
            return false;
    return true;
}

static bool put_materials(struct sql *sql, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->material_count; i++) {
        const struct material_info *material = &resource->materials[i];
        if (!put(sql, ROW_MATERIAL, "iutub", sql->resource, (uint64_t)i, material->name,
                 (uint64_t)material->tag, material->inferred))
            return false;
        for (uint32_t k = 0; k < material->string_count; k++)
            if (!put(sql, ROW_MATERIAL_STRING, "iuuut", sql->resource, (uint64_t)i, (uint64_t)k,
                     (uint64_t)material->strings[k].tag, material->strings[k].text))
                return false;
    }
    return true;
}

static bool put_marker(struct sql *sql, const struct xbg7_marker *marker, uint64_t number)
{
    int64_t id = sql->resource;
    if (!put(sql, ROW_MARKER, "iuuuuuuu", id, number, (uint64_t)marker->offset,
             (uint64_t)marker->vertex_count, (uint64_t)marker->index_count, (uint64_t)marker->stride,
             (uint64_t)marker->fetch0, (uint64_t)marker->fetch1))
        return false;
    for (uint32_t i = 0; i < marker->element_count; i++) {
        const struct vertex_element *element = &marker->elements[i];
        if (!put(sql, ROW_ELEMENT, "iuubbbub", id, number, (uint64_t)i, element->offset, element->usage,
                 element->usage_index, (uint64_t)element->format, element->size))
            return false;
    }
    for (uint32_t i = 0; i < marker->draw_count; i++)
        if (!put(sql, ROW_DRAW, "iuuuu", id, number, (uint64_t)i, (uint64_t)marker->draws[i].vertex_count,
                 (uint64_t)marker->draws[i].index_count))
            return false;
    return true;
}

/* ---- resources ---- */

static bool put_candidate(struct sql *sql, const struct resource_record *record, uint32_t number)
{
    const struct resource *resource = &record->resource;
    const struct candidate *candidate = &resource->candidates[number];
    const struct candidate_hashes *hashes = &record->candidate_hashes[number];
    const struct anchor_evidence *e = &candidate->evidence;
    bool located = resource->status == RESOURCE_PROVEN || resource->status == RESOURCE_ASSIGNED ||
                   resource->status == RESOURCE_AMBIGUOUS;
    sql->candidate++;
    return put_geometry(sql, &hashes->geometry, 0) &&
           put(sql, ROW_CANDIDATE, "iiubdhhhuuuuuuuubbbbbbdddd", (int64_t)sql->candidate,
               (int64_t)sql->resource, (uint64_t)number, located && number == resource->chosen,
               candidate->score, &hashes->geometry, &hashes->index_bytes, &hashes->vertex_bytes,
               (uint64_t)e->short_of_top, (uint64_t)e->unreferenced, (uint64_t)e->normals, (uint64_t)e->unit,
               (uint64_t)e->faces, (uint64_t)e->agreeing, (uint64_t)e->degenerate, (uint64_t)e->nonsense,
               e->run_start, e->run_end, e->index_start, e->stated, e->size_match, e->layout,
               (double)e->coherence, (double)e->radius, (double)e->size_odds, (double)e->locality) &&
           put_buffers(sql, ROW_CANDIDATE_BUFFER, sql->candidate, candidate->buffers, resource->marker_count);
}

static bool put_history(struct sql *sql, const struct resolved_record *outcome)
{
    for (uint32_t i = 0; outcome && i < outcome->change_count; i++) {
        const struct resolved_change *change = &outcome->changes[i];
        uint64_t from = change->from_chosen == RESOLVED_NONE ? UINT64_MAX : change->from_chosen;
        uint64_t to = change->to_chosen == RESOLVED_NONE ? UINT64_MAX : change->to_chosen;
        if (!put(sql, ROW_HISTORY, "iutuwwUUt", (int64_t)sql->resource, (uint64_t)i, change->pass,
                 (uint64_t)change->version, resource_status_word(change->from),
                 resource_status_word(change->to), from, to, change->why))
            return false;
    }
    return true;
}

static bool put_resource_row(struct sql *sql, const struct view_resource *view)
{
    const struct resource *resource = &view->record->resource;
    const struct bounds *box = &resource->bounds;
    const struct resolved_canonical *canonical =
        view->outcome && view->outcome->canonical.basis ? &view->outcome->canonical : NULL;
    bool changed = view->outcome && view->outcome->change_count;
    bool declined = resource->status == RESOURCE_DECLINED;
    double none = NAN;
    return put_geometry(sql, &view->record->geometry, view->record->geometry_bytes) &&
           (!canonical || put_geometry(sql, &canonical->geometry, 0)) &&
           put(sql, ROW_RESOURCE, "iiutwwwwdduuddddddhhUwUttUu", (int64_t)sql->resource,
               (int64_t)sql->container, (uint64_t)resource->index, view->name, format_word(resource->format),
               resource_status_word(resource->status),
               declined ? decline_reason_word(resource->reason) : NULL,
               resource_status_word(changed ? view->outcome->was : resource->status), resource->score,
               resource->margin, (uint64_t)resource->vertices, (uint64_t)resource->triangles,
               box->valid ? (double)box->min[0] : none, box->valid ? (double)box->min[1] : none,
               box->valid ? (double)box->min[2] : none, box->valid ? (double)box->max[0] : none,
               box->valid ? (double)box->max[1] : none, box->valid ? (double)box->max[2] : none,
               &view->record->geometry, canonical ? &canonical->geometry : NULL,
               canonical ? (uint64_t)canonical->mirrored : UINT64_MAX,
               canonical ? canonical_basis_word(canonical->basis) : NULL,
               canonical ? (uint64_t)canonical->twin : UINT64_MAX, resource->variant,
               resource->error.code ? resource->error.msg : NULL,
               resource->error.code ? resource->error.offset : ERROR_NO_OFFSET,
               (uint64_t)resource->candidates_dropped);
}

static bool put_resource(const struct view_resource *view, void *ctx)
{
    struct sql *sql = ctx;
    const struct resource *resource = &view->record->resource;
    sql->resource++;
    if (!put_resource_row(sql, view) || !put_flags(sql, ROW_RESOURCE_FLAG, sql->resource, resource->flags) ||
        !put_buffers(sql, ROW_BUFFER, sql->resource, resource->buffers, resource->buffer_count) ||
        !put_history(sql, view->outcome) || !put_scene(sql, resource) || !put_materials(sql, resource))
        return false;
    for (uint32_t i = 0; i < resource->marker_count; i++)
        if (!put_marker(sql, &resource->markers[i], i))
            return false;
    for (uint32_t i = 0; i < resource->candidate_count; i++)
        if (!put_candidate(sql, view->record, i))
            return false;
    return true;
}

/* ---- containers ---- */

static bool put_places(struct sql *sql, const struct view_container *view)
{
    if (!put(sql, ROW_PLACE, "ti", view->path, (int64_t)sql->container))
        return false;
    for (size_t i = 0; i < view->also_count; i++)
        if (!put(sql, ROW_PLACE, "ti", view->also[i], (int64_t)sql->container))
            return false;
    return true;
}

static bool put_contents(struct sql *sql, const struct container *container)
{
    int64_t id = sql->container;
    for (uint32_t i = 0; i < container->texture_count; i++) {
        const struct texture *t = &container->textures[i];
        if (!put(sql, ROW_TEXTURE, "iutbtuuuuubbuuuu", id, (uint64_t)t->index, t->name, t->valid,
                 t->error.code ? t->error.msg : NULL, (uint64_t)t->width, (uint64_t)t->height,
                 (uint64_t)t->depth, (uint64_t)t->format, (uint64_t)t->dimension, t->tiled, t->contested,
                 t->base_offset, t->base_size, t->mip_offset, t->mip_size))
            return false;
    }
    for (uint32_t i = 0; i < container->tag_count_count; i++)
        if (!put(sql, ROW_TAG, "itu", id, container->tag_counts[i].tag,
                 (uint64_t)container->tag_counts[i].count))
            return false;
    for (uint32_t i = 0; i < container->coverage_count; i++)
        if (!put(sql, ROW_COVERAGE, "iuuw", id, container->coverage[i].start, container->coverage[i].end,
                 coverage_kind_word(container->coverage[i].kind)))
            return false;
    return true;
}

static bool put_container(const struct view_container *view, void *ctx)
{
    static const struct view_filter everything = {.candidates = true};
    struct sql *sql = ctx;
    const struct container *container = view->record ? &view->record->container : NULL;
    bool placed = container && view->format == FORMAT_XPR2;
    sql->container++;
    if (!put(sql, ROW_CONTAINER, "ithwuwwtUUUU", (int64_t)sql->container, view->path, &view->hash,
             format_word(view->format), view->bytes, container_status_word(view->status),
             container_reason_word(view->reason), view->message, view->error_offset,
             placed ? container->data_offset : UINT64_MAX, placed ? container->data_size : UINT64_MAX,
             container && view->format == FORMAT_ARCHIVE ? view->record->member_count : UINT64_MAX) ||
        !put_flags(sql, ROW_CONTAINER_FLAG, sql->container, view->flags) || !put_places(sql, view))
        return false;
    if (!container)
        return true;
    struct arena arena = {0};
    struct container_record record = *view->record;
    bool ok = coverage_load(sql->txn, &view->hash, &arena, &record, sql->err) &&
              put_contents(sql, &record.container) &&
              view_resources_of(sql->txn, view, &everything, put_resource, sql, sql->err);
    arena_free(&arena);
    return ok;
}

/* ---- the rest of a store ---- */

static bool put_finding(const struct view_finding *view, void *ctx)
{
    struct sql *sql = ctx;
    const struct finding_record *record = view->record;
    sql->finding++;
    if (!put(sql, ROW_FINDING, "iwhtt", (int64_t)sql->finding, finding_kind_word(record->kind),
             &record->container, record->subject, record->message))
        return false;
    for (uint32_t i = 0; i < record->side_count; i++)
        if (!put(sql, ROW_FINDING_SIDE, "iuhu", (int64_t)sql->finding, (uint64_t)i,
                 &record->sides[i].key.container, (uint64_t)record->sides[i].key.index))
            return false;
    return true;
}

static bool put_captures(struct sql *sql)
{
    struct arena arena = {0};
    struct capture_record *captures;
    size_t count = 0;
    bool ok = store_get_captures(sql->txn, &arena, &captures, &count, sql->err);
    for (size_t i = 0; ok && i < count; i++) {
        const struct capture_record *capture = &captures[i];
        bool sign = capture->kind == CAPTURE_ROW0;
        ok = put(sql, ROW_CAPTURE, sign ? "iwtbt" : "iwtnt", (int64_t)i + 1, sign ? "row0_x" : "placement",
                 capture->resource, (int)capture->row0_x, capture->container) &&
             put_buffers(sql, ROW_CAPTURE_BUFFER, (int64_t)i + 1, capture->buffers, capture->buffer_count);
    }
    arena_free(&arena);
    return ok;
}

static bool put_run(const struct run_record *run, void *ctx)
{
    char started[24], finished[24];
    double seconds = run->finished_ns ? (double)(run->finished_ns - run->started_ns) / 1e9 : NAN;
    time_text(run->started_ns, started);
    time_text(run->finished_ns, finished);
    return put(ctx, ROW_RUN, "uttdttuuuuuuuuuuub", run->id, started, run->finished_ns ? finished : NULL,
               seconds, run->version, run->arguments, run->inputs, run->containers, run->resources,
               run->skipped_unchanged, run->bytes_read, run->bytes_decoded, run->by_status[RESOURCE_DECODED],
               run->by_status[RESOURCE_PROVEN], run->by_status[RESOURCE_ASSIGNED],
               run->by_status[RESOURCE_AMBIGUOUS], run->by_status[RESOURCE_DECLINED], run->exit_status);
}

static bool put_declined(const struct view_declined *row, void *ctx)
{
    struct sql *sql = ctx;
    return put(sql, ROW_DECLINED, "wtuU", census_dimension_word(row->dimension), row->key, row->count,
               sql->compared ? row->before : UINT64_MAX);
}

static bool put_unknown(struct sql *sql)
{
    struct arena arena = {0};
    struct census_row *rows;
    size_t count = 0;
    bool ok = view_unknown(sql->txn, &arena, &rows, &count, sql->err);
    for (size_t i = 0; ok && i < count; i++)
        ok = put(sql, ROW_UNKNOWN, "ttuu", rows[i].magic, rows[i].ending, rows[i].count, rows[i].bytes);
    arena_free(&arena);
    return ok;
}

static bool put_everything(struct sql *sql)
{
    return put(sql, ROW_META, "wi", "schema", (int64_t)SQL_SCHEMA_VERSION) &&
           put(sql, ROW_META, "wi", "store_schema", (int64_t)STORE_SCHEMA_VERSION) &&
           view_containers(sql->txn, put_container, sql, sql->err) && sql->err->code == ERROR_NONE &&
           view_findings(sql->txn, 0, put_finding, sql, sql->err) && put_captures(sql) &&
           store_each_run(sql->txn, put_run, sql, sql->err) &&
           view_declined(sql->txn, &sql->compared, put_declined, sql, sql->err) && put_unknown(sql) &&
           sql->err->code == ERROR_NONE;
}

/* ---- the file ---- */

/* What stands at the path may be replaced: nothing, or a database that nobody works on. A log of SQLite's
 * beside it would be played into the new file. */
static bool may_replace(const char *path, struct error *err)
{
    static const char *const logs[] = {"-wal", "-journal"};
    char head[16] = "", *beside = malloc(strlen(path) + 16);
    if (!beside)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof logs / sizeof *logs; i++) {
        sprintf(beside, "%s%s", path, logs[i]);
        if (access(beside, F_OK) == 0)
            ok = error_set(err, ERROR_IO, ERROR_NO_OFFSET,
                           "%s is there: another program works on the database, or left it so", beside);
    }
    free(beside);
    int fd = ok ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return ok && (errno == ENOENT || error_set_system(err, ERROR_IO, errno, "cannot read %s", path));
    ssize_t got = read(fd, head, sizeof head);
    close(fd);
    return got == 0 || (got == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0) ||
           error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s is no SQLite database and is not replaced", path);
}

static bool run_sql(struct sql *sql, const char *statements)
{
    return sqlite3_exec(sql->db, statements, NULL, NULL, NULL) == SQLITE_OK ||
           fail(sql, "making the database");
}

static bool prepare(struct sql *sql)
{
    for (int row = 0; row < ROW_COUNT; row++)
        if (sqlite3_prepare_v2(sql->db, inserts[row], -1, &sql->statements[row], NULL) != SQLITE_OK)
            return fail(sql, inserts[row]);
    return true;
}

/* The file is nobody's until it is renamed, so no journal is kept: it is whole or it is thrown away. */
static bool fill(struct sql *sql, const char *file)
{
    if (sqlite3_open_v2(file, &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return sql->db ? fail(sql, "opening it") : out_of_memory(sql);
    bool ok =
        run_sql(sql, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                     "PRAGMA cache_size = -65536; BEGIN;") &&
        run_sql(sql, sql_schema) && prepare(sql) && put_everything(sql);
    for (int row = 0; row < ROW_COUNT; row++)
        sqlite3_finalize(sql->statements[row]);
    return ok && run_sql(sql, sql_indexes) && run_sql(sql, "COMMIT;");
}

bool sql_write(struct store_txn *txn, const char *path, struct error *err)
{
    struct sql sql = {.txn = txn, .path = path, .err = err};
    struct aside aside;
    if (!may_replace(path, err) || !aside_open(&aside, path, err))
        return false;
    bool ok = fill(&sql, aside.temporary); /* an empty file is a new database */
    sqlite3_close(sql.db);
    return aside_close(&aside, ok, err);
}
