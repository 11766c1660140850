/* corpus_archive.c - see corpus_archive.h */
#include "bench/corpus/corpus_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sink {
    enum sink_kind kind;
    char path[4096];
    struct archive *archive; /* NULL: a folder */
    struct buffer *memory;
};

static bool archive_failed(const struct sink *sink, struct error *err)
{
    const char *why = archive_error_string(sink->archive);
    return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "%s: %s", sink->path, why ? why : "cannot be written");
}

static la_ssize_t append(struct archive *archive, void *ctx, const void *bytes, size_t size)
{
    struct buffer *memory = ctx;
    buffer_append(memory, bytes, size);
    if (!memory->failed)
        return (la_ssize_t)size;
    archive_set_error(archive, ENOMEM, "out of memory");
    return -1;
}

/* The fastest setting of each: a corpus exercises readers, not compressors. gzip's header has a time field.
 */
static int choose_format(struct archive *archive, enum sink_kind kind)
{
    int status;
    switch (kind) {
    case SINK_ZIP:
        status = archive_write_set_format_zip(archive);
        return status == ARCHIVE_OK ? archive_write_set_options(archive, "zip:compression-level=1") : status;
    case SINK_7Z:
        status = archive_write_set_format_7zip(archive);
        return status == ARCHIVE_OK
                   ? archive_write_set_options(archive, "7zip:compression=deflate,7zip:compression-level=1")
                   : status;
    case SINK_TAR_GZ:
        archive_write_set_format_pax_restricted(archive);
        status = archive_write_add_filter_gzip(archive);
        return status == ARCHIVE_OK
                   ? archive_write_set_options(archive, "gzip:compression-level=1,gzip:!timestamp")
                   : status;
    case SINK_TAR_ZST:
        archive_write_set_format_pax_restricted(archive);
        status = archive_write_add_filter_zstd(archive);
        return status == ARCHIVE_OK ? archive_write_set_options(archive, "zstd:compression-level=1") : status;
    default:
        return archive_write_set_format_pax_restricted(archive);
    }
}

static bool open_archive(struct sink *sink, struct error *err)
{
    sink->archive = archive_write_new();
    if (!sink->archive)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    if (choose_format(sink->archive, sink->kind) != ARCHIVE_OK)
        return archive_failed(sink, err);
    int status = sink->memory ? archive_write_open(sink->archive, sink->memory, NULL, append, NULL)
                              : archive_write_open_filename(sink->archive, sink->path);
    return status == ARCHIVE_OK || archive_failed(sink, err);
}

/* Makes every folder on the way to `path`. */
static bool make_folders(const char *path, struct error *err)
{
    char folder[8192];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return error_set_system(err, ERROR_IO, errno, "cannot make %s", folder);
        *slash = '/';
    }
    return true;
}

struct sink *sink_open(enum sink_kind kind, const char *path, struct buffer *memory, struct error *err)
{
    struct sink *sink = calloc(1, sizeof *sink);
    if (!sink) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        return NULL;
    }
    sink->kind = kind;
    sink->memory = memory;
    snprintf(sink->path, sizeof sink->path, "%s", path);
    bool ok = strlen(path) < sizeof sink->path ||
              error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the path is too long: %.100s", path);
    ok = ok && (memory || make_folders(path, err));
    if (ok && (kind == SINK_FOLDER || open_archive(sink, err)))
        return sink;
    sink_close(sink, err);
    return NULL;
}

static bool add_plain(struct sink *sink, const char *path, const void *bytes, size_t size, struct error *err)
{
    char whole[8192];
    snprintf(whole, sizeof whole, "%s/%s", sink->path, path);
    if (!make_folders(whole, err))
        return false;
    FILE *file = fopen(whole, "wbx");
    if (!file)
        return error_set_system(err, ERROR_IO, errno, "cannot write %s", whole);
    bool written = fwrite(bytes, 1, size, file) == size;
    written = fclose(file) == 0 && written;
    return written || error_set_system(err, ERROR_IO, errno, "cannot write %s", whole);
}

bool sink_add(struct sink *sink, const char *path, const void *bytes, size_t size, struct error *err)
{
    if (!sink->archive)
        return add_plain(sink, path, bytes, size, err);
    struct archive_entry *entry = archive_entry_new();
    if (!entry)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    archive_entry_set_pathname(entry, path);
    archive_entry_set_size(entry, (la_int64_t)size);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    /* The epoch: zip stores local time, but everything before 1980 as the same earliest moment. */
    archive_entry_set_mtime(entry, 0, 0);
    bool ok = archive_write_header(sink->archive, entry) == ARCHIVE_OK;
    for (size_t done = 0; ok && done < size;) {
        la_ssize_t step = archive_write_data(sink->archive, (const char *)bytes + done, size - done);
        ok = step > 0;
        done += ok ? (size_t)step : 0;
    }
    archive_entry_free(entry);
    return ok || archive_failed(sink, err);
}

bool sink_close(struct sink *sink, struct error *err)
{
    if (!sink)
        return true;
    bool ok = true;
    if (sink->archive) {
        if (err->code == ERROR_NONE && archive_write_close(sink->archive) != ARCHIVE_OK)
            ok = archive_failed(sink, err);
        archive_write_free(sink->archive);
    }
    free(sink);
    return ok;
}
