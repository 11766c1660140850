/* pack.c - see pack.h */
#include "tests/support/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static la_ssize_t append(struct archive *archive, void *ctx, const void *bytes, size_t size)
{
    (void)archive;
    buffer_append(ctx, bytes, size);
    return (la_ssize_t)size;
}

static void must(struct archive *archive, int result)
{
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
        fail_msg("libarchive: %s", archive_error_string(archive));
}

static void put_member(struct archive *archive, const struct pack_member *member)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_copy_pathname(entry, member->name);
    archive_entry_set_mtime(entry, 1000000000, 0);
    archive_entry_set_filetype(entry, member->type        ? member->type
                                      : member->directory ? AE_IFDIR
                                      : member->symlink   ? AE_IFLNK
                                                          : AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)member->size);
    if (member->symlink)
        archive_entry_copy_symlink(entry, member->symlink);
    if (member->hardlink)
        archive_entry_copy_hardlink(entry, member->hardlink);
    must(archive, archive_write_header(archive, entry));
    if (member->size)
        assert_int_equal(archive_write_data(archive, member->bytes, member->size), (la_ssize_t)member->size);
    must(archive, archive_write_finish_entry(archive));
    archive_entry_free(entry);
}

void pack(struct buffer *out, const char *format, const char *filter, const char *options,
          const char *password, const struct pack_member *members, size_t count)
{
    struct archive *archive = archive_write_new();
    must(archive, archive_write_set_format_by_name(archive, format));
    if (filter)
        must(archive, archive_write_add_filter_by_name(archive, filter));
    archive_write_set_bytes_in_last_block(archive, 1);
    if (options)
        must(archive, archive_write_set_options(archive, options));
    if (password)
        must(archive, archive_write_set_passphrase(archive, password));
    must(archive, archive_write_open(archive, out, NULL, append, NULL));
    for (size_t i = 0; i < count; i++)
        put_member(archive, &members[i]);
    must(archive, archive_write_close(archive));
    archive_write_free(archive);
    assert_false(out->failed);
}

void pack_lone(struct buffer *out, const char *filter, const void *bytes, size_t size)
{
    const struct pack_member member = {.name = "data", .bytes = bytes, .size = size};
    pack(out, "raw", filter, NULL, NULL, &member, 1);
}
