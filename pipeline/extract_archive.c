/* extract_archive.c - see extract_archive.h */
#include "pipeline/extract_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/buffer.h"
#include "pipeline/address.h"
#include "pipeline/census.h"
#include "pipeline/gunzip.h"

/* The most that is allocated because of what a header announces; beyond it memory follows what arrives. */
#define TRUSTED_SIZE ((size_t)64 << 20)
/* How often an archive with a directory is opened again to get past a member that cannot be unpacked. Each
 * time costs a listing. */
#define REOPEN_MOST 16
/* Answers in a row that bring nothing, before a reader is taken to be stuck. */
#define IDLE_MOST 1000

struct unpacker {
    struct feed *feed;
    /* What the feed's bytes go through first: at most one of these. */
    struct gunzip *gunzip;
    struct archive *filter;
    struct failure stream_failure; /* of that stage */
    struct buffer peeked;          /* its first bytes, looked at before they are read */
    bool peek_read;
    /* The archive proper; NULL: a compressed file, which is its own only member. */
    struct archive *archive;
    struct archive_entry *entry;
    enum signature_kind kind;
    int first_result; /* of the first header, read at opening */
    bool first_pending, opened;
    uint64_t headers;   /* read so far: the place of the current entry */
    unsigned reopened;  /* times */
    bool ended, broken; /* broken: by a fatal error inside a member */

    char *lone_name;
    uint64_t lone_offset;
    char *base; /* of the current member */
    struct name_set names;
    uint64_t limit, links;
    uint32_t flags;
    struct failure failure;

    /* The current member: what has been copied so far, and a block that has not been yet. */
    struct buffer held;
    const uint8_t *block;
    size_t block_size;
    uint64_t block_offset;
};

/* ---- what went wrong ----------------------------------------------------------------------------------- */

static bool says(const char *message, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(message, *words))
            return true;
    return false;
}

/* libarchive tells kinds of damage apart in words only. `fallback` is for messages that say nothing
 * particular. */
static enum container_reason reason_of(const char *message, enum container_reason fallback)
{
    static const char *const truncated[] = {"truncated", "unexpected end",
                                            "premature", "end of file",
                                            "too small", "no progress is possible", /* liblzma */
                                            "(-5)",                                 /* zlib: out of input */
                                            NULL};
    static const char *const encrypted[] = {"encrypt", "passphrase", "password", "crypto", NULL};
    static const char *const checksum[] = {"crc", "checksum", "digest", "wrong size", "content hash", NULL};
    static const char *const header[] = {"header", NULL};
    static const char *const unsupported[] = {"unsupported", "not supported", "unknown", NULL};
    if (says(message, encrypted))
        return CONTAINER_ENCRYPTED;
    if (says(message, truncated))
        return CONTAINER_TRUNCATED;
    if (says(message, checksum))
        return says(message, header) ? CONTAINER_BAD_DIRECTORY : CONTAINER_BAD_CRC;
    if (says(message, unsupported))
        return CONTAINER_UNREADABLE;
    return fallback;
}

/* Takes down what an archive handle reports. Trouble further down, in the file or its compression, comes
 * first: what libarchive says then is only what followed. */
static void take_failure(const struct unpacker *u, struct archive *archive, enum container_reason fallback,
                         struct failure *failure)
{
    const struct failure *below = feed_failure(u->feed);
    if (!below->reason)
        below = &u->stream_failure;
    if (below->reason) {
        failure_set(failure, below->reason, "%s", below->message);
        return;
    }
    const char *message = archive_error_string(archive);
    if (message && *message)
        failure_set(failure, reason_of(message, fallback), "%s", message);
    else if (feed_reached(u->feed) == feed_size(u->feed))
        failure_set(failure, CONTAINER_TRUNCATED, "ends early");
    else
        failure_set(failure, fallback, "damaged");
}

/* ---- bytes in ------------------------------------------------------------------------------------------ */

static la_ssize_t read_feed(struct archive *archive, void *ctx, const void **block)
{
    struct feed *feed = ctx;
    const uint8_t *bytes = NULL;
    ssize_t n = feed_read(feed, &bytes);
    if (n < 0)
        archive_set_error(archive, EIO, "%s", feed_failure(feed)->message);
    *block = bytes;
    return n;
}

static la_int64_t skip_feed(struct archive *archive, void *ctx, la_int64_t count)
{
    struct feed *feed = ctx;
    int64_t n = feed_skip(feed, count);
    if (n < 0)
        archive_set_error(archive, EIO, "%s", feed_failure(feed)->message);
    return n < 0 ? ARCHIVE_FATAL : n;
}

static la_int64_t seek_feed(struct archive *archive, void *ctx, la_int64_t offset, int whence)
{
    (void)archive;
    struct feed *feed = ctx;
    int64_t base = whence == SEEK_END ? (int64_t)feed_size(feed) : 0, target;
    /* SEEK_CUR never comes: libarchive knows where it is. */
    if (whence == SEEK_CUR || __builtin_add_overflow(base, offset, &target) || target < 0)
        return ARCHIVE_FATAL;
    return (la_int64_t)feed_seek(feed, (uint64_t)target);
}

/* What comes out of the compression, without the peeked part: a block, 0 at the end, -1 with stream_failure
 * set. */
static ssize_t decompress(struct unpacker *u, const uint8_t **block)
{
    if (u->stream_failure.reason)
        return -1;
    if (u->gunzip)
        return gunzip_read(u->gunzip, block, &u->stream_failure);
    if (!u->filter)
        return 0;
    const void *bytes = NULL;
    size_t size = 0;
    la_int64_t offset = 0;
    int result = archive_read_data_block(u->filter, &bytes, &size, &offset);
    *block = bytes;
    if (result == ARCHIVE_EOF)
        return 0;
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        return (ssize_t)size;
    take_failure(u, u->filter, CONTAINER_BAD_CRC, &u->stream_failure);
    return -1;
}

static ssize_t read_stream(struct unpacker *u, const uint8_t **block)
{
    if (!u->peek_read) {
        u->peek_read = true;
        *block = u->peeked.data;
        if (u->peeked.size)
            return (ssize_t)u->peeked.size;
    }
    return decompress(u, block);
}

static la_ssize_t read_decompressed(struct archive *archive, void *ctx, const void **block)
{
    struct unpacker *u = ctx;
    const uint8_t *bytes = NULL;
    ssize_t n = read_stream(u, &bytes);
    if (n < 0)
        archive_set_error(archive, EIO, "%s", u->stream_failure.message);
    *block = bytes;
    return n;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Only filters that are built in. lzop, lrzip and grzip start programs in this libarchive and are left out,
 * and so would any other filter be whose setup is not a plain ARCHIVE_OK. */
static bool add_filters(struct archive *archive, enum signature_kind kind)
{
    static int (*const by_kind[])(struct archive *) = {
        [SIGNATURE_BZIP2] = archive_read_support_filter_bzip2,
        [SIGNATURE_COMPRESS] = archive_read_support_filter_compress,
        [SIGNATURE_XZ] = archive_read_support_filter_xz,
        [SIGNATURE_LZMA] = archive_read_support_filter_lzma,
        [SIGNATURE_LZIP] = archive_read_support_filter_lzip,
        [SIGNATURE_LZ4] = archive_read_support_filter_lz4,
        [SIGNATURE_ZSTD] = archive_read_support_filter_zstd,
        [SIGNATURE_UU] = archive_read_support_filter_uu,
    };
    if (kind != SIGNATURE_RPM)
        return by_kind[kind] && by_kind[kind](archive) == ARCHIVE_OK;
    /* The one case of two stages: the package header, then whatever its payload is compressed with. */
    return archive_read_support_filter_rpm(archive) == ARCHIVE_OK &&
           archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
           archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
           archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
           archive_read_support_filter_lzma(archive) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(archive) == ARCHIVE_OK;
}

static void add_formats(struct archive *archive, enum signature_kind kind)
{
    switch (kind) {
    case SIGNATURE_ZIP:
        archive_read_support_format_zip(archive);
        break;
    case SIGNATURE_7ZIP:
        archive_read_support_format_7zip(archive);
        break;
    case SIGNATURE_RAR:
        archive_read_support_format_rar(archive);
        break;
    case SIGNATURE_RAR5:
        archive_read_support_format_rar5(archive);
        break;
    case SIGNATURE_CAB:
        archive_read_support_format_cab(archive);
        break;
    case SIGNATURE_LHA:
        archive_read_support_format_lha(archive);
        break;
    case SIGNATURE_XAR:
        archive_read_support_format_xar(archive);
        break;
    case SIGNATURE_ISO9660:
        archive_read_support_format_iso9660(archive);
        break;
    case SIGNATURE_TAR:
        archive_read_support_format_tar(archive);
        break;
    case SIGNATURE_CPIO:
        archive_read_support_format_cpio(archive);
        break;
    case SIGNATURE_AR:
        archive_read_support_format_ar(archive);
        break;
    case SIGNATURE_WARC:
        archive_read_support_format_warc(archive);
        break;
    default: /* SIGNATURE_SELF_EXTRACTING: what may follow a program or script */
        archive_read_support_format_zip_seekable(archive);
        archive_read_support_format_7zip(archive);
        archive_read_support_format_rar(archive);
        archive_read_support_format_rar5(archive);
        archive_read_support_format_cab(archive);
        archive_read_support_format_lha(archive);
        break;
    }
}

static bool is_compressed(const struct unpacker *u)
{
    return u->gunzip || u->filter || u->lone_name;
}

/* Opens the archive and reads its first header, whose result is kept. False when memory runs out. */
static bool open_archive(struct unpacker *u)
{
    u->archive = archive_read_new();
    if (!u->archive)
        return false;
    add_formats(u->archive, u->kind);
    if (is_compressed(u)) {
        archive_read_set_read_callback(u->archive, read_decompressed);
        archive_read_set_callback_data(u->archive, u);
    } else {
        archive_read_set_read_callback(u->archive, read_feed);
        archive_read_set_skip_callback(u->archive, skip_feed);
        archive_read_set_seek_callback(u->archive, seek_feed);
        archive_read_set_callback_data(u->archive, u->feed);
    }
    u->first_result = archive_read_open1(u->archive);
    u->opened = u->first_result == ARCHIVE_OK || u->first_result == ARCHIVE_WARN;
    if (u->opened)
        u->first_result = archive_read_next_header(u->archive, &u->entry);
    u->first_pending = true;
    u->headers = 0;
    return true;
}

static bool open_filter(struct unpacker *u, enum signature_kind kind)
{
    u->filter = archive_read_new();
    if (!u->filter)
        return false;
    if (!add_filters(u->filter, kind)) {
        failure_set(&u->stream_failure, CONTAINER_UNREADABLE,
                    "this libarchive does not read its compression");
        return true;
    }
    archive_read_support_format_raw(u->filter);
    archive_read_support_format_empty(u->filter);
    archive_read_set_read_callback(u->filter, read_feed);
    archive_read_set_callback_data(u->filter, u->feed);
    struct archive_entry *entry;
    int result = archive_read_open1(u->filter);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        result = archive_read_next_header(u->filter, &entry);
    if (result < ARCHIVE_WARN)
        take_failure(u, u->filter, CONTAINER_BAD_DIRECTORY, &u->stream_failure);
    else if (archive_filter_code(u->filter, 0) == ARCHIVE_FILTER_NONE)
        failure_set(&u->stream_failure, CONTAINER_BAD_DIRECTORY, "not compressed after all");
    else if (result == ARCHIVE_EOF) {
        /* A compressed nothing: a stream that is at its end. */
        archive_read_free(u->filter);
        u->filter = NULL;
    }
    return true;
}

/* The file name less its last ending; a leading dot begins none. */
static char *name_without_ending(const char *base)
{
    const char *dot = strrchr(base, '.');
    return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

/* Opens a compressed file: as the archive it holds when that is read front to back anyway (a.tar.gz), else as
 * a file whose one member is what it holds. False when memory runs out. */
static bool open_stream(struct unpacker *u, const char *base)
{
    u->lone_name = name_without_ending(base);
    if (!u->lone_name)
        return false;
    if (u->kind == SIGNATURE_GZIP) {
        u->gunzip = gunzip_new(u->feed);
        if (!u->gunzip)
            return false;
    } else if (!open_filter(u, u->kind)) {
        return false;
    }
    const uint8_t *block = NULL;
    ssize_t n;
    while (u->peeked.size < SIGNATURE_HEAD && (n = decompress(u, &block)) > 0)
        buffer_append(&u->peeked, block, (size_t)n);
    if (u->peeked.failed)
        return false;
    struct signature inner = signature_of(u->peeked.data, u->peeked.size);
    if (!signature_is_streamed(inner.kind) || inner.weak)
        return true;
    u->kind = inner.kind;
    return open_archive(u);
}

/* Whether not one header or byte came out of it, for want of sense rather than for a disc error. */
static bool is_nothing(const struct unpacker *u)
{
    if (feed_failure(u->feed)->reason)
        return false;
    if (u->archive)
        return u->first_result != ARCHIVE_OK && u->first_result != ARCHIVE_WARN;
    return u->peeked.size == 0 && u->stream_failure.reason;
}

struct unpacker *unpack_open(struct feed *feed, struct signature signature, const char *base,
                             uint64_t member_limit, bool *nomem)
{
    struct unpacker *u = calloc(1, sizeof *u);
    *nomem = !u;
    if (!u) {
        feed_close(feed);
        return NULL;
    }
    u->feed = feed;
    u->kind = signature.kind;
    u->limit = member_limit;
    *nomem = signature_is_compression(signature.kind) ? !open_stream(u, base) : !open_archive(u);
    if (!*nomem && !(signature.weak && is_nothing(u)))
        return u;
    unpack_close(u);
    return NULL;
}

void unpack_close(struct unpacker *u)
{
    if (!u)
        return;
    archive_read_free(u->archive);
    archive_read_free(u->filter);
    gunzip_free(u->gunzip);
    feed_close(u->feed);
    name_set_free(&u->names);
    buffer_free(&u->peeked);
    buffer_free(&u->held);
    free(u->lone_name);
    free(u->base);
    free(u);
}

/* ---- members ------------------------------------------------------------------------------------------- */

static int next_header(struct unpacker *u)
{
    int result = u->first_result;
    if (!u->first_pending)
        result = archive_read_next_header(u->archive, &u->entry);
    u->first_pending = false;
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        u->headers++;
    return result;
}

/* Gets past a member whose data libarchive could not unpack, after which its handle is of no more use, by
 * opening the archive again and skipping that member unread. Only where a directory says where the next one
 * is. */
static bool reopen(struct unpacker *u, bool *nomem)
{
    uint64_t done = u->headers;
    if (signature_is_streamed(u->kind) || is_compressed(u) || u->reopened++ >= REOPEN_MOST)
        return false;
    archive_read_free(u->archive);
    u->archive = NULL;
    feed_seek(u->feed, 0);
    *nomem = !open_archive(u);
    if (*nomem)
        return false;
    while (u->headers < done) {
        int result = next_header(u);
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
            return false;
    }
    u->broken = false;
    return true;
}

/* A symbolic link that leads out of the archive: an absolute one, or one that climbs above its start. */
static bool leads_out(const char *name, const char *target)
{
    long depth = 0;
    if (*target == '/')
        return true;
    for (const char *p = name; *p; p++)
        depth += *p == '/';
    for (const char *p = target; *p; p += strcspn(p, "/"), p += *p == '/') {
        size_t length = strcspn(p, "/");
        if (length == 2 && p[0] == '.' && p[1] == '.')
            depth--;
        else if (length > 1 || (length == 1 && p[0] != '.'))
            depth++;
        if (depth < 0)
            return true;
    }
    return false;
}

/* Whether the current entry is a file with bytes of its own. Links and devices are looked at for the flag. */
static enum unpack_result is_content(struct unpacker *u, bool *content)
{
    const char *link = archive_entry_hardlink(u->entry), *symlink = archive_entry_symlink(u->entry);
    const char *name = archive_entry_pathname(u->entry);
    __LA_MODE_T type = archive_entry_filetype(u->entry);
    *content = false;
    /* A cpio puts the bytes with the last of several links: a link with a size is a file. */
    if (link && (!archive_entry_size_is_set(u->entry) || archive_entry_size(u->entry) <= 0)) {
        char *target = address_of_member(link, strlen(link));
        if (!target)
            return UNPACK_NOMEM;
        if (!name_set_has(&u->names, target))
            u->flags |= FLAG_BIT(FLAG_BAD_LINK);
        free(target);
        u->links++;
    } else if (type == AE_IFLNK) {
        if (!symlink || leads_out(name ? name : "", symlink))
            u->flags |= FLAG_BIT(FLAG_BAD_LINK);
    } else if (type == AE_IFREG || type == 0) {
        *content = true;
    } else if (type != AE_IFDIR) {
        u->flags |= FLAG_BIT(FLAG_BAD_LINK);
    }
    return UNPACK_OK;
}

/* Gives the member its address and its own file name. Without a name (none stored, or none that this locale
 * can write) it is unnamed-N, N counting all entries. */
static bool name_member(struct unpacker *u, struct member *member, const char *raw)
{
    char unnamed[32];
    char *address = raw ? address_of_member(raw, strlen(raw)) : strdup("");
    if (address && !*address) {
        free(address);
        snprintf(unnamed, sizeof unnamed, "unnamed-%llu", (unsigned long long)u->headers);
        raw = unnamed;
        address = strdup(unnamed);
    }
    const char *slash = raw ? strrchr(raw, '/') : NULL;
    free(u->base);
    u->base = raw ? strdup(slash ? slash + 1 : raw) : NULL;
    member->base = u->base;
    member->name = address ? name_set_claim(&u->names, address) : NULL;
    free(address);
    return member->base && member->name;
}

static enum unpack_result describe(struct unpacker *u, struct member *member)
{
    const char *name = archive_entry_pathname(u->entry);
    if (!name)
        name = archive_entry_pathname_utf8(u->entry);
    if (!name_member(u, member, name))
        return UNPACK_NOMEM;
    int64_t size = archive_entry_size_is_set(u->entry) ? archive_entry_size(u->entry) : -1;
    member->size_known = size >= 0;
    member->size = size >= 0 ? (uint64_t)size : 0;
    if (!archive_entry_is_data_encrypted(u->entry))
        return UNPACK_OK;
    failure_set(&member->failure, CONTAINER_ENCRYPTED, "encrypted");
    return UNPACK_FAILED;
}

/* The archive's last header has been read. Its compression is read on to the checksums at its end. */
static enum unpack_result finish(struct unpacker *u)
{
    const uint8_t *block = NULL;
    ssize_t n = 1;
    u->ended = true;
    while (n > 0)
        n = decompress(u, &block);
    if (n < 0)
        failure_set(&u->failure, u->stream_failure.reason, "%s", u->stream_failure.message);
    return UNPACK_END;
}

static enum unpack_result fail_archive(struct unpacker *u)
{
    u->ended = true;
    /* On a handle that did not open, libarchive 3.6 would ask a format one past the last. */
    if (u->opened && u->headers == 0 && archive_read_has_encrypted_entries(u->archive) > 0)
        failure_set(&u->failure, CONTAINER_ENCRYPTED, "its directory is encrypted");
    take_failure(u, u->archive, CONTAINER_BAD_DIRECTORY, &u->failure);
    return UNPACK_END;
}

enum unpack_result unpack_next(struct unpacker *u, struct member *member)
{
    bool nomem = false, content = false;
    *member = (struct member){.name = NULL};
    u->block = NULL;
    u->block_size = 0;
    buffer_clear(&u->held);
    if (u->ended)
        return UNPACK_END;
    if (!u->archive) {
        u->ended = true;
        u->headers = 1;
        return name_member(u, member, u->lone_name) ? UNPACK_OK : UNPACK_NOMEM;
    }
    if (u->broken && !reopen(u, &nomem)) {
        u->ended = true;
        return nomem ? UNPACK_NOMEM : UNPACK_END;
    }
    for (unsigned idle = 0; idle < IDLE_MOST;) {
        int result = next_header(u);
        if (result == ARCHIVE_EOF)
            return finish(u);
        if (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
            idle = 0;
            if (is_content(u, &content) == UNPACK_NOMEM)
                return UNPACK_NOMEM;
            if (content)
                return describe(u, member);
            continue;
        }
        if (result == ARCHIVE_FATAL)
            break;
        /* ARCHIVE_FAILED is about one entry; ARCHIVE_RETRY asks for another call. */
        if (result == ARCHIVE_FAILED)
            take_failure(u, u->archive, CONTAINER_BAD_DIRECTORY, &u->failure);
        idle++;
    }
    return fail_archive(u);
}

/* ---- a member's bytes ---------------------------------------------------------------------------------- */

/* The member's next block into u->block: UNPACK_END at its end, where block_offset is its length as far as
 * known. */
static enum unpack_result next_block(struct unpacker *u, struct member *member)
{
    u->block_size = 0;
    if (!u->archive) {
        ssize_t n = read_stream(u, &u->block);
        u->block_offset = u->lone_offset;
        if (n < 0) {
            failure_set(&member->failure, u->stream_failure.reason, "%s", u->stream_failure.message);
            return UNPACK_FAILED;
        }
        u->block_size = (size_t)n;
        u->lone_offset += (uint64_t)n;
        return n > 0 ? UNPACK_OK : UNPACK_END;
    }
    for (unsigned idle = 0; idle < IDLE_MOST; idle++) {
        const void *bytes = NULL;
        la_int64_t offset = 0;
        int result = archive_read_data_block(u->archive, &bytes, &u->block_size, &offset);
        u->block = bytes;
        u->block_offset = (uint64_t)offset;
        if (result == ARCHIVE_EOF)
            return UNPACK_END;
        /* Some readers only warn when a checksum does not fit the data. */
        const char *warning = result == ARCHIVE_WARN ? archive_error_string(u->archive) : NULL;
        bool bad = warning && reason_of(warning, CONTAINER_REASON_NONE) == CONTAINER_BAD_CRC;
        if (result == ARCHIVE_FATAL || result == ARCHIVE_FAILED || bad) {
            u->broken = result == ARCHIVE_FATAL;
            take_failure(u, u->archive, CONTAINER_BAD_CRC, &member->failure);
            return UNPACK_FAILED;
        }
        if (u->block_size > 0 && offset >= 0)
            return UNPACK_OK;
    }
    u->broken = true;
    failure_set(&member->failure, CONTAINER_UNREADABLE, "its reader does not get on");
    return UNPACK_FAILED;
}

/* Makes room for `need` bytes of the current member. The announced size is believed up to a bound; past that,
 * and for a size that is wrong or unknown, room doubles. */
static bool make_room(struct unpacker *u, const struct member *member, size_t need)
{
    struct buffer *held = &u->held;
    if (need <= held->room)
        return true;
    size_t room = held->room < SIZE_MAX / 2 ? held->room * 2 : need;
    if (member->size_known && member->size <= u->limit) {
        size_t believed = member->size < TRUSTED_SIZE ? (size_t)member->size : TRUSTED_SIZE;
        if (room < believed)
            room = believed;
        if (member->size >= need && room > member->size)
            room = (size_t)member->size;
    }
    room = room < need ? need : room;
    uint8_t *data = realloc(held->data, room);
    if (!data)
        return false;
    held->data = data;
    held->room = room;
    return true;
}

/* Moves the current block to its place behind what is held; a hole between them reads as zeros (sparse
 * files). */
static enum unpack_result keep_block(struct unpacker *u, struct member *member, uint64_t limit)
{
    uint64_t end;
    if (__builtin_add_overflow(u->block_offset, u->block_size, &end) || end > limit) {
        failure_set(&member->failure, CONTAINER_OVER_LIMIT, "more than %llu bytes",
                    (unsigned long long)limit);
        return UNPACK_FAILED;
    }
    if (u->block_offset < u->held.size) {
        failure_set(&member->failure, CONTAINER_BAD_DIRECTORY, "parts of it overlap");
        return UNPACK_FAILED;
    }
    if (!make_room(u, member, (size_t)end))
        return UNPACK_NOMEM;
    size_t hole = (size_t)u->block_offset - u->held.size;
    if (hole)
        memset(u->held.data + u->held.size, 0, hole);
    if (u->block_size)
        memcpy(u->held.data + u->block_offset, u->block, u->block_size);
    u->held.size = (size_t)end;
    u->block_size = 0;
    return UNPACK_OK;
}

enum unpack_result unpack_head(struct unpacker *u, struct member *member)
{
    static const uint8_t nothing[1];
    member->head = nothing;
    member->head_size = 0;
    while (u->held.size < SIGNATURE_HEAD) {
        enum unpack_result result = next_block(u, member);
        if (result == UNPACK_END)
            break;
        if (result != UNPACK_OK)
            return result;
        /* Most members come as one block: they are looked at where they lie, and copied only when somebody
         * wants them. */
        bool whole = member->size_known && u->block_size == member->size;
        if (u->held.size == 0 && u->block_offset == 0 && (whole || u->block_size >= SIGNATURE_HEAD)) {
            member->head = u->block;
            member->head_size = u->block_size;
            return UNPACK_OK;
        }
        /* A sparse file that begins with a long hole: its head is zeros, and the block stays for later. */
        if (u->block_offset >= SIGNATURE_HEAD) {
            if (!make_room(u, member, SIGNATURE_HEAD))
                return UNPACK_NOMEM;
            memset(u->held.data + u->held.size, 0, SIGNATURE_HEAD - u->held.size);
            u->held.size = SIGNATURE_HEAD;
            break;
        }
        /* The limit is for what is held whole. This is a head, and at most one block longer. */
        result = keep_block(u, member, UINT64_MAX);
        if (result != UNPACK_OK)
            return result;
    }
    if (u->held.size)
        member->head = u->held.data;
    member->head_size = u->held.size;
    return UNPACK_OK;
}

/* Hands the held bytes over. Small ones are copied so that the buffer serves the next member too. */
static bool give_away(struct unpacker *u, uint8_t **data, size_t *size)
{
    struct buffer *held = &u->held;
    *size = held->size;
    if (held->size && held->size >= held->room / 2) {
        *data = held->data;
        *held = (struct buffer){0};
        return true;
    }
    *data = malloc(held->size ? held->size : 1);
    if (*data && held->size)
        memcpy(*data, held->data, held->size);
    held->size = 0;
    if (held->room > TRUSTED_SIZE)
        buffer_free(held);
    return *data;
}

enum unpack_result unpack_hold(struct unpacker *u, struct member *member, uint8_t **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    uint64_t least = member->size_known ? member->size : u->held.size;
    if (least > u->limit) {
        failure_set(&member->failure, CONTAINER_OVER_LIMIT, "more than %llu bytes",
                    (unsigned long long)u->limit);
        return UNPACK_FAILED;
    }
    enum unpack_result result = u->block_size ? keep_block(u, member, u->limit) : UNPACK_OK;
    while (result == UNPACK_OK) {
        result = next_block(u, member);
        if (result == UNPACK_OK)
            result = keep_block(u, member, u->limit);
    }
    if (result != UNPACK_END)
        return result;
    /* A sparse file may end with a hole. */
    if (u->kind == SIGNATURE_TAR && u->archive && member->size_known && u->held.size < member->size) {
        u->block_offset = member->size;
        result = keep_block(u, member, u->limit);
        if (result != UNPACK_OK)
            return result;
    }
    if (member->size_known && u->held.size != member->size) {
        failure_set(&member->failure, CONTAINER_TRUNCATED, "%zu bytes of the %llu it announces", u->held.size,
                    (unsigned long long)member->size);
        return UNPACK_FAILED;
    }
    return give_away(u, data, size) ? UNPACK_OK : UNPACK_NOMEM;
}

enum unpack_result unpack_measure(struct unpacker *u, struct member *member)
{
    if (member->size_known)
        return UNPACK_OK;
    uint64_t size = u->held.size;
    enum unpack_result result = UNPACK_OK;
    if (u->block_size)
        size = u->block_offset + u->block_size;
    while ((result = next_block(u, member)) == UNPACK_OK)
        size = u->block_offset + u->block_size;
    member->size = size;
    return result == UNPACK_END ? UNPACK_OK : result;
}

/* ---- at the end ---------------------------------------------------------------------------------------- */

const struct failure *unpack_failure(const struct unpacker *u)
{
    return &u->failure;
}

uint32_t unpack_flags(const struct unpacker *u)
{
    return u->flags;
}

uint64_t unpack_links(const struct unpacker *u)
{
    return u->links;
}

struct feed *unpack_feed(const struct unpacker *u)
{
    return u->feed;
}
