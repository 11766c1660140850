/* extracting.c - see extracting.h */
#include "tests/support/extracting.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const struct pack_member three[3] = {
    {.name = "a/one.xpr", .bytes = XPR, .size = sizeof XPR - 1},
    {.name = "a/notes.txt", .bytes = "just text", .size = 9},
    {.name = "two.bgf", .bytes = BGF, .size = sizeof BGF - 1},
};

/* ---- a directory to work in ---------------------------------------------------------------------------- */

static char home[4096], work[] = "/tmp/extract-XXXXXX";

int enter(void **state)
{
    (void)state;
    strcpy(work + strlen(work) - 6, "XXXXXX");
    return !getcwd(home, sizeof home) || !mkdtemp(work) || chdir(work) != 0;
}

int leave(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "chmod -R u+rwX %s && rm -rf %s", work, work);
    return chdir(home) != 0 || system(command) != 0;
}

void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

void put_buffer(const char *path, struct buffer *buffer)
{
    put_file(path, buffer->data, buffer->size);
    buffer_free(buffer);
}

void put_archive(const char *path, const char *format, const char *filter, const struct pack_member *members,
                 size_t count)
{
    struct buffer out = {0};
    pack(&out, format, filter, NULL, NULL, members, count);
    put_buffer(path, &out);
}

void put_lone(const char *path, const char *filter, const void *bytes, size_t size)
{
    struct buffer out = {0};
    pack_lone(&out, filter, bytes, size);
    put_buffer(path, &out);
}

void wrap(struct buffer *inner, const char *format, const char *filter, const char *name)
{
    struct buffer outer = {0};
    const struct pack_member member = {.name = name, .bytes = inner->data, .size = inner->size};
    pack(&outer, format, filter, NULL, NULL, &member, 1);
    buffer_free(inner);
    *inner = outer;
}

/* ---- transcripts --------------------------------------------------------------------------------------- */

static void tell(struct buffer *out, const struct extracted *item)
{
    char line[1024];
    const char *reason = container_reason_word(item->reason);
    int n = 0;
    switch (item->kind) {
    case EXTRACT_BYTES:
        assert_non_null(item->data);
        assert_non_null(item->name);
        assert_int_equal(item->size, item->bytes);
        n = snprintf(line, sizeof line, "+ %s %s %zu\n", item->path, format_word(item->format), item->size);
        break;
    case EXTRACT_UNKNOWN:
        n = snprintf(line, sizeof line, "? %s [%s %s %llu]\n", item->path, item->magic, item->ending,
                     (unsigned long long)item->bytes);
        break;
    case EXTRACT_FAILED:
        assert_int_not_equal(item->status, CONTAINER_READ);
        assert_non_null(reason);
        assert_true(item->message[0] != '\0');
        n = snprintf(line, sizeof line, "! %s %s%s\n", item->path,
                     item->status == CONTAINER_DAMAGED ? "damaged " : "", reason);
        break;
    case EXTRACT_UNCHANGED:
        n = snprintf(line, sizeof line, "= %s\n", item->path);
        break;
    case EXTRACT_ARCHIVE:
        assert_true(item->format == FORMAT_ARCHIVE || item->format == FORMAT_XDVDFS);
        n = snprintf(line, sizeof line, "/ %s %s%s%s%s %llu", item->path,
                     item->format == FORMAT_XDVDFS ? "xdvdfs " : "", container_status_word(item->status),
                     reason ? " " : "", reason ? reason : "", (unsigned long long)item->member_count);
        break;
    }
    buffer_append(out, line, (size_t)n);
    for (uint32_t i = 0; i < item->census_count; i++) {
        const struct census_row *row = &item->census[i];
        n = snprintf(line, sizeof line, " [%s %s %llu %llu]", row->magic, row->ending,
                     (unsigned long long)row->count, (unsigned long long)row->bytes);
        buffer_append(out, line, (size_t)n);
    }
    if (item->flags & FLAG_BIT(FLAG_BAD_LINK))
        buffer_append(out, " bad-link", 9);
    if (item->kind == EXTRACT_ARCHIVE)
        buffer_append(out, "\n", 1);
}

/* An archive's hash is that of its bytes, however libarchive jumped about in them. */
static void check_hash(const struct extracted *item)
{
    size_t length = strlen(item->path);
    bool pack =
        length > 4 && strcmp(item->path + length - 4, ".pak") == 0; /* its hash is that of its parts, too */
    if (item->kind != EXTRACT_ARCHIVE || item->parent_path || pack)
        return;
    struct stat stat_buffer;
    int fd = open(item->path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &stat_buffer) == 0);
    uint8_t *bytes = malloc((size_t)stat_buffer.st_size);
    assert_int_equal(read(fd, bytes, (size_t)stat_buffer.st_size), stat_buffer.st_size);
    struct hash hash = hash_bytes(bytes, (size_t)stat_buffer.st_size);
    assert_true(hash_equal(&hash, &item->hash));
    assert_int_equal(item->bytes, stat_buffer.st_size);
    assert_true(item->mtime_ns != 0);
    free(bytes);
    close(fd);
}

char *transcript(const char *const *inputs, size_t count, const struct extract_options *options)
{
    struct buffer out = {0};
    struct error err = {0};
    struct extracted item;
    struct extractor *extractor = extract_open(inputs, count, options);
    assert_non_null(extractor);
    while (extract_next(extractor, &item, &err)) {
        tell(&out, &item);
        if (!strchr(item.path, '%'))
            check_hash(&item);
        extracted_free(&item);
    }
    assert_int_equal(err.code, ERROR_NONE);
    uint64_t done, total;
    extract_progress(extractor, &done, &total);
    assert_int_equal(done, total);
    extract_close(extractor);
    buffer_append(&out, "", 1);
    return (char *)out.data;
}

const struct extract_options defaults = {
    .limits = EXTRACT_LIMITS_DEFAULT,
};

void extracts_with(const char *input, const struct extract_options *options, const char *expected)
{
    char *got = transcript(&input, 1, options);
    assert_string_equal(got, expected);
    free(got);
}

void extracts(const char *input, const char *expected)
{
    extracts_with(input, &defaults, expected);
}

/* An address gives these bytes. */
void opens(const char *address, const void *bytes, size_t size)
{
    struct extracted item;
    struct error err = {0};
    if (!extract_address(address, &defaults, &item, &err))
        fail_msg("%s: %s", address, err.msg);
    assert_int_equal(item.kind, EXTRACT_BYTES);
    assert_int_equal(item.size, size);
    assert_memory_equal(item.data, bytes, size);
    extracted_free(&item);
}

void opens_text(const char *address, const char *text)
{
    opens(address, text, strlen(text));
}

void refuses(const char *address, const char *word)
{
    struct extracted item;
    struct error err = {0};
    assert_false(extract_address(address, &defaults, &item, &err));
    assert_int_equal(err.code, ERROR_IO);
    if (!strstr(err.msg, word))
        fail_msg("'%s' does not mention '%s'", err.msg, word);
}
