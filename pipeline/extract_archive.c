/* extract_archive.c - see extract_archive.h */
#include "pipeline/extract_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "pipeline/address.h"
#include "pipeline/gunzip.h"
#include "pipeline/ipfb.h"

/* How often an archive with a directory is opened again to get past a member that cannot be unpacked. Each
 * time costs a listing. */
#define REOPEN_MOST 16
/* How often an archive is read once more for its hard links: each time one link to each member gets its
 * bytes. */
#define LINKS_MOST 16
/* Answers in a row that bring nothing, before a reader is taken to be stuck. */
#define IDLE_MOST 1000

/* A hard link to a member that was met before. */
struct hard_link {
    char *name;   /* as the archive has it */
    char *target; /* in address form */
    bool taken;   /* it has had its bytes */
};

struct archive_unpacker {
    struct unpacker u;
    /* What the feed's bytes go through first: at most one of these. */
    struct gunzip *gunzip;
    struct archive *filter;
    struct failure stream_failure; /* of that stage */
    struct buffer peeked;          /* its first bytes, looked at before they are read */
    bool peek_read;
    /* The archive proper; NULL: a compressed file, which is its own only member. */
    struct archive *archive;
    struct archive_entry *entry;
    enum signature_kind kind, opened_as; /* opened_as: what was found in the file; kind: in its compression */
    int first_result;                    /* of the first header, read at opening */
    bool first_pending, opened;
    uint64_t headers;   /* read from this handle so far */
    unsigned reopened;  /* times */
    bool ended, broken; /* broken: by a fatal error inside a member */
    const char *file_name;
    char *lone_name;
    uint64_t lone_offset;
    struct buffer links; /* of struct hard_link; sorted by their targets once they are looked for */
    size_t links_left, links_before; /* not taken: now, and when the current reading began */
    unsigned links_round;            /* readings for them */
    bool is_second;                  /* a reading for links, which notes none itself */
    struct archive_unpacker
        *second; /* the reading that is going on; the current member's bytes come from it */
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

/* libarchive has a number for it, which some readers do not use, and others use for what they refuse
 * ("Rejecting malformed cpio archive: symlink contents exceed 1 megabyte"): its words are surer. "Frame
 * requires too much memory" is a refusal, too. */
static bool lacks_memory(struct archive *archive)
{
    static const char *const words[] = {"allocat", "no memory", "out of memory", NULL};
    const char *message = archive_error_string(archive);
    return message && *message ? says(message, words) : archive_errno(archive) == ENOMEM;
}

/* Takes down what an archive handle reports. Trouble further down, in the file or its compression, comes
 * first: what libarchive says then is only what followed. */
static void take_failure(const struct archive_unpacker *u, struct archive *archive,
                         enum container_reason fallback, struct failure *failure)
{
    const struct failure *below = feed_failure(u->u.feed);
    if (!below->reason)
        below = &u->stream_failure;
    if (below->reason) {
        failure_take(failure, below);
        return;
    }
    const char *message = archive_error_string(archive);
    if (lacks_memory(archive))
        failure_set_no_memory(failure);
    else if (message && *message)
        failure_set(failure, reason_of(message, fallback), "%s", message);
    else if (feed_reached(u->u.feed) == feed_size(u->u.feed))
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

/* What comes out of the compression: a block, 0 at the end, -1 with stream_failure set. */
static ssize_t unpack_more(struct archive_unpacker *u, const uint8_t **block)
{
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

/* The same counted, without the peeked part. */
static ssize_t decompress(struct archive_unpacker *u, const uint8_t **block)
{
    if (u->stream_failure.reason)
        return -1;
    ssize_t n = unpack_more(u, block);
    return n <= 0 || unpack_spend(&u->u, (uint64_t)n, &u->stream_failure) ? n : -1;
}

static ssize_t read_stream(struct archive_unpacker *u, const uint8_t **block)
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
    struct archive_unpacker *u = ctx;
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

/* False when memory runs out. */
static bool add_formats(struct archive *archive, enum signature_kind kind)
{
    typedef int add(struct archive *);
    static add *const by_kind[] = {
        [SIGNATURE_ZIP] = archive_read_support_format_zip,
        [SIGNATURE_7ZIP] = archive_read_support_format_7zip,
        [SIGNATURE_RAR] = archive_read_support_format_rar,
        [SIGNATURE_RAR5] = archive_read_support_format_rar5,
        [SIGNATURE_CAB] = archive_read_support_format_cab,
        [SIGNATURE_LHA] = archive_read_support_format_lha,
        [SIGNATURE_XAR] = archive_read_support_format_xar,
        [SIGNATURE_ISO9660] = archive_read_support_format_iso9660,
        [SIGNATURE_TAR] = archive_read_support_format_tar,
        [SIGNATURE_CPIO] = archive_read_support_format_cpio,
        [SIGNATURE_AR] = archive_read_support_format_ar,
        [SIGNATURE_WARC] = archive_read_support_format_warc,
    };
    /* SIGNATURE_SELF_EXTRACTING: what may follow a program or script. */
    static add *const hidden[] = {
        archive_read_support_format_zip_seekable, archive_read_support_format_7zip,
        archive_read_support_format_rar,          archive_read_support_format_rar5,
        archive_read_support_format_cab,          archive_read_support_format_lha,
    };
    if (kind < sizeof by_kind / sizeof *by_kind && by_kind[kind])
        return by_kind[kind](archive) >= ARCHIVE_WARN;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (hidden[i](archive) < ARCHIVE_WARN)
            return false;
    return true;
}

static bool is_compressed(const struct archive_unpacker *u)
{
    return u->gunzip || u->filter || u->lone_name;
}

/* Opens the archive and reads its first header, whose result is kept. False when memory runs out. */
static bool open_archive(struct archive_unpacker *u)
{
    u->archive = archive_read_new();
    if (!u->archive)
        return false;
    if (!add_formats(u->archive, u->kind))
        return false;
    if (is_compressed(u)) {
        archive_read_set_read_callback(u->archive, read_decompressed);
        archive_read_set_callback_data(u->archive, u);
    } else {
        archive_read_set_read_callback(u->archive, read_feed);
        archive_read_set_skip_callback(u->archive, skip_feed);
        archive_read_set_seek_callback(u->archive, seek_feed);
        archive_read_set_callback_data(u->archive, u->u.feed);
    }
    u->first_result = archive_read_open1(u->archive);
    u->opened = u->first_result == ARCHIVE_OK || u->first_result == ARCHIVE_WARN;
    if (u->opened)
        u->first_result = archive_read_next_header(u->archive, &u->entry);
    u->first_pending = true;
    u->headers = 0;
    return u->first_result == ARCHIVE_EOF || u->first_result >= ARCHIVE_WARN || !lacks_memory(u->archive);
}

static bool open_filter(struct archive_unpacker *u, enum signature_kind kind)
{
    u->filter = archive_read_new();
    if (!u->filter)
        return false;
    if (!add_filters(u->filter, kind)) {
        if (lacks_memory(u->filter))
            return false;
        failure_set(&u->stream_failure, CONTAINER_UNREADABLE,
                    "this libarchive does not read its compression");
        return true;
    }
    if (archive_read_support_format_raw(u->filter) != ARCHIVE_OK ||
        archive_read_support_format_empty(u->filter) != ARCHIVE_OK)
        return false;
    archive_read_set_read_callback(u->filter, read_feed);
    archive_read_set_callback_data(u->filter, u->u.feed);
    struct archive_entry *entry;
    int result = archive_read_open1(u->filter);
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        result = archive_read_next_header(u->filter, &entry);
    if (result < ARCHIVE_WARN && lacks_memory(u->filter))
        return false;
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
static bool open_stream(struct archive_unpacker *u, const char *base)
{
    u->lone_name = name_without_ending(base);
    if (!u->lone_name)
        return false;
    if (u->kind == SIGNATURE_GZIP) {
        u->gunzip = gunzip_new(u->u.feed);
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
static bool is_nothing(const struct archive_unpacker *u)
{
    if (feed_failure(u->u.feed)->reason)
        return false;
    if (u->archive)
        return u->first_result != ARCHIVE_OK && u->first_result != ARCHIVE_WARN;
    return u->peeked.size == 0 && u->stream_failure.reason;
}

static const struct unpack_kind archive_kind;

struct unpacker *unpack_archive(struct feed *feed, struct signature signature, const char *base,
                                const struct unpack_limits *limits, bool *nomem)
{
    struct archive_unpacker *u = calloc(1, sizeof *u);
    *nomem = !u;
    if (!u) {
        feed_close(feed);
        return NULL;
    }
    u->u.kind = &archive_kind;
    u->u.feed = feed;
    u->u.limits = *limits;
    u->kind = u->opened_as = signature.kind;
    u->file_name = base;
    *nomem = signature_is_compression(signature.kind) ? !open_stream(u, base) : !open_archive(u);
    if (!*nomem && !(signature.weak && is_nothing(u)))
        return &u->u;
    unpack_close(&u->u);
    return NULL;
}

static size_t link_count(const struct archive_unpacker *u)
{
    return u->links.size / sizeof(struct hard_link);
}

static struct hard_link *link_at(const struct archive_unpacker *u, size_t i)
{
    return (struct hard_link *)u->links.data + i;
}

static void close_archive(struct unpacker *unpacker)
{
    struct archive_unpacker *u = (struct archive_unpacker *)unpacker;
    archive_read_free(u->archive);
    archive_read_free(u->filter);
    gunzip_free(u->gunzip);
    buffer_free(&u->peeked);
    free(u->lone_name);
    for (size_t i = 0; i < link_count(u); i++) {
        free(link_at(u, i)->name);
        free(link_at(u, i)->target);
    }
    buffer_free(&u->links);
    if (u->second)
        unpack_close(&u->second->u);
}

/* ---- members ------------------------------------------------------------------------------------------- */

static int next_header(struct archive_unpacker *u)
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
static bool reopen(struct archive_unpacker *u, bool *nomem)
{
    uint64_t done = u->headers;
    if (signature_is_streamed(u->kind) || is_compressed(u) || u->reopened++ >= REOPEN_MOST)
        return false;
    archive_read_free(u->archive);
    u->archive = NULL;
    feed_seek(u->u.feed, 0);
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

/* Whether a name is that of more than one member, so that nobody knows which a link means: the one that was
 * there when it was made, or the one that replaced it. False also when memory runs out. */
static bool is_shared(const struct name_set *names, const char *name)
{
    char *second = NULL;
    bool shared = asprintf(&second, "%s~2", name) >= 0 && name_set_has(names, second);
    free(second);
    return shared;
}

/* Takes down a hard link whose bytes will be those of a member met before. One to anything else leads nowhere
 * for certain. In a cpio the first name of a file has no bytes, so that a link to it says little. */
static enum unpack_result note_link(struct archive_unpacker *u, const char *name, const char *link_target)
{
    struct hard_link link = {.name = strdup(name),
                             .target = address_of_member(link_target, strlen(link_target))};
    bool ok = link.name && link.target;
    bool met = ok && name_set_has(&u->u.names, link.target) && !is_shared(&u->u.names, link.target);
    if (met && u->kind != SIGNATURE_CPIO) {
        buffer_append(&u->links, &link, sizeof link);
        if (!u->links.failed)
            return UNPACK_OK;
        ok = false;
    }
    if (ok && !met)
        u->u.flags |= FLAG_BIT(FLAG_BAD_LINK);
    u->u.links++;
    free(link.name);
    free(link.target);
    return ok ? UNPACK_OK : UNPACK_FAULT;
}

/* Whether the current entry is a file with bytes of its own. Links and devices are looked at for the flag. */
static enum unpack_result is_content(struct archive_unpacker *u, bool *content)
{
    const char *link = archive_entry_hardlink(u->entry), *symlink = archive_entry_symlink(u->entry);
    const char *name = archive_entry_pathname(u->entry);
    __LA_MODE_T type = archive_entry_filetype(u->entry);
    *content = false;
    /* A cpio puts the bytes with the last of several links: a link with a size is a file. */
    if (link && (!archive_entry_size_is_set(u->entry) || archive_entry_size(u->entry) <= 0)) {
        if (!u->is_second && note_link(u, name ? name : "", link) == UNPACK_FAULT)
            return UNPACK_FAULT;
    } else if (type == AE_IFLNK) {
        if (!symlink || leads_out(name ? name : "", symlink))
            u->u.flags |= FLAG_BIT(FLAG_BAD_LINK);
    } else if (type == AE_IFREG || type == 0) {
        *content = true;
    } else if (type != AE_IFDIR) {
        u->u.flags |= FLAG_BIT(FLAG_BAD_LINK);
    }
    return UNPACK_OK;
}

/* What the header of the current entry says of the member's bytes. */
static enum unpack_result describe_bytes(const struct archive_unpacker *u, struct member *member)
{
    int64_t size = archive_entry_size_is_set(u->entry) ? archive_entry_size(u->entry) : -1;
    member->size_known = size >= 0;
    member->size = size >= 0 ? (uint64_t)size : 0;
    member->may_be_short = u->kind == SIGNATURE_TAR;
    member->solid = u->kind == SIGNATURE_7ZIP || u->kind == SIGNATURE_RAR || u->kind == SIGNATURE_RAR5 ||
                    u->kind == SIGNATURE_CAB;
    if (!archive_entry_is_data_encrypted(u->entry))
        return UNPACK_OK;
    failure_set(&member->failure, CONTAINER_ENCRYPTED, "encrypted");
    return UNPACK_FAILED;
}

static const char *entry_name(const struct archive_unpacker *u)
{
    const char *name = archive_entry_pathname(u->entry);
    return name ? name : archive_entry_pathname_utf8(u->entry);
}

static enum unpack_result describe(struct archive_unpacker *u, struct member *member)
{
    const char *name = entry_name(u);
    if (!unpack_name(&u->u, member, name, name ? strlen(name) : 0))
        return UNPACK_FAULT;
    return describe_bytes(u, member);
}

bool zip_end(struct feed *feed, uint8_t record[static ZIP_END_SIZE], uint64_t *at)
{
    size_t size = feed_size(feed) < ZIP_END_MOST ? (size_t)feed_size(feed) : ZIP_END_MOST;
    uint64_t start = feed_size(feed) - size;
    uint8_t *tail = malloc(size + 1);
    ssize_t n = tail ? feed_peek(feed, start, tail, size) : -1;
    bool found = false;
    for (size_t i = (size_t)(n < ZIP_END_SIZE ? 0 : n - ZIP_END_SIZE + 1); !found && i-- > 0;) {
        found = memcmp(tail + i, "PK\5\6", 4) == 0;
        if (found) {
            memcpy(record, tail + i, ZIP_END_SIZE);
            *at = start + i;
        }
    }
    free(tail);
    return found;
}

/* libarchive passes over directory entries of a zip that lead to one place. How many there ought to be is in
 * the record at its end, at 10: 16 bits, of which all set means that it is elsewhere. */
static void check_count(struct archive_unpacker *u)
{
    uint8_t record[ZIP_END_SIZE];
    uint64_t at;
    if (!zip_end(u->u.feed, record, &at))
        return;
    uint16_t count = load_u16le(record + 10);
    if (count != UINT16_MAX && count != (uint16_t)u->headers)
        failure_set(&u->u.failure, CONTAINER_BAD_DIRECTORY,
                    "a directory of %u entries, of which %llu are there", count,
                    (unsigned long long)u->headers);
}

/* The archive's last header has been read. Its compression is read on to the checksums at its end. */
static enum unpack_result finish(struct archive_unpacker *u)
{
    const uint8_t *block = NULL;
    ssize_t n = 1;
    u->ended = true;
    while (n > 0)
        n = decompress(u, &block);
    if (n < 0)
        failure_take(&u->u.failure, &u->stream_failure);
    if (u->kind == SIGNATURE_ZIP && !is_compressed(u))
        check_count(u);
    return UNPACK_END;
}

static enum unpack_result fail_archive(struct archive_unpacker *u)
{
    u->ended = true;
    /* On a handle that did not open, libarchive 3.6 would ask a format one past the last. */
    if (u->opened && u->headers == 0 && archive_read_has_encrypted_entries(u->archive) > 0)
        failure_set(&u->u.failure, CONTAINER_ENCRYPTED, "its directory is encrypted");
    take_failure(u, u->archive, CONTAINER_BAD_DIRECTORY, &u->u.failure);
    return UNPACK_END;
}

/* Whether an ISO 9660 reader has passed something by, because it lies in front of what was read: it only
 * warns. */
static bool is_passed_over(struct archive_unpacker *u, int result)
{
    const char *message = result == ARCHIVE_WARN ? archive_error_string(u->archive) : NULL;
    return message && strstr(message, "out-of-order");
}

/* The next header of a file with bytes of its own. */
static enum unpack_result next_entry(struct archive_unpacker *u, struct member *member)
{
    for (unsigned idle = 0; idle < IDLE_MOST;) {
        bool content = false;
        int result = next_header(u);
        if (result == ARCHIVE_EOF)
            return finish(u);
        if (result == ARCHIVE_OK || result == ARCHIVE_WARN) {
            idle = 0;
            if (!unpack_count(&u->u))
                break;
            if (is_passed_over(u, result)) {
                take_failure(u, u->archive, CONTAINER_BAD_DIRECTORY, &u->u.failure);
                continue;
            }
            if (is_content(u, &content) == UNPACK_FAULT)
                return UNPACK_FAULT;
            if (content)
                return describe(u, member);
            continue;
        }
        if (result == ARCHIVE_FATAL)
            break;
        /* ARCHIVE_FAILED is about one entry; ARCHIVE_RETRY asks for another call. */
        if (result == ARCHIVE_FAILED)
            take_failure(u, u->archive, CONTAINER_BAD_DIRECTORY, &u->u.failure);
        idle++;
    }
    return fail_archive(u);
}

static enum unpack_result next_in_order(struct archive_unpacker *u, struct member *member)
{
    bool nomem = false;
    if (!u->archive) {
        u->ended = true;
        u->u.entries = 1;
        return unpack_name(&u->u, member, u->lone_name, strlen(u->lone_name)) ? UNPACK_OK : UNPACK_FAULT;
    }
    if (u->broken && !reopen(u, &nomem)) {
        u->ended = true;
        return nomem ? UNPACK_FAULT : UNPACK_END;
    }
    return next_entry(u, member);
}

/* ---- hard links ----------------------------------------------------------------------------------------
 * The bytes of a member are gone when a link to it is met. Once the archive is at its end it is read once
 * more, and each member that a link leads to comes out again, as the link. What that brings counts for the
 * limits like everything else. */

static int by_target(const void *a, const void *b)
{
    const struct hard_link *x = a, *y = b;
    int order = strcmp(x->target, y->target);
    return order ? order : strcmp(x->name, y->name);
}

/* The first link to a target that has not had its bytes; NULL: none. */
static struct hard_link *find_link(const struct archive_unpacker *u, const char *target)
{
    size_t low = 0, high = link_count(u);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(link_at(u, middle)->target, target) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < link_count(u) && strcmp(link_at(u, low)->target, target) == 0; low++)
        if (!link_at(u, low)->taken)
            return link_at(u, low);
    return NULL;
}

/* Begins to read the archive again. */
static enum unpack_result open_second(struct archive_unpacker *u)
{
    struct unpack_limits limits = u->u.limits;
    bool nomem = true;
    u->links_round++;
    u->links_before = u->links_left;
    limits.hashed = false;
    struct feed *again = feed_window(u->u.feed, 0, feed_size(u->u.feed), false);
    struct unpacker *second =
        again ? unpack_archive(again, (struct signature){u->opened_as, false}, u->file_name, &limits, &nomem)
              : NULL;
    if (!second && nomem)
        return UNPACK_FAULT;
    u->second = (struct archive_unpacker *)second;
    if (second)
        u->second->is_second = true;
    return second ? UNPACK_OK : UNPACK_END;
}

/* Goes on to the next member that a link leads to, and names it as the link. UNPACK_END: there is none in
 * this reading any more. */
static enum unpack_result next_linked(struct archive_unpacker *u, struct member *member)
{
    struct archive_unpacker *second = u->second;
    int result;
    while ((result = next_header(second)) == ARCHIVE_OK || result == ARCHIVE_WARN) {
        const char *name = entry_name(second);
        bool content = false;
        char *address = name ? address_of_member(name, strlen(name)) : NULL;
        if ((name && !address) || is_content(second, &content) == UNPACK_FAULT)
            return UNPACK_FAULT;
        struct hard_link *link = address && content ? find_link(u, address) : NULL;
        free(address);
        if (!link)
            continue;
        link->taken = true;
        u->links_left--;
        if (!unpack_name(&u->u, member, link->name, strlen(link->name)))
            return UNPACK_FAULT;
        return describe_bytes(second, member);
    }
    if (result != ARCHIVE_EOF)
        take_failure(second, second->archive, CONTAINER_BAD_DIRECTORY, &u->u.failure);
    return UNPACK_END;
}

/* Links that get no bytes: they stay counted. */
static enum unpack_result leave_links(struct archive_unpacker *u)
{
    if (u->links_left && !u->u.failure.reason && u->links_round == LINKS_MOST)
        failure_set(&u->u.failure, CONTAINER_OVER_LIMIT, "more than %u hard links to one member", LINKS_MOST);
    u->u.links += u->links_left;
    u->links_left = 0;
    u->links_round = LINKS_MOST;
    return UNPACK_END;
}

static enum unpack_result next_link(struct archive_unpacker *u, struct member *member)
{
    if (!u->links_round && link_count(u)) {
        qsort(u->links.data, link_count(u), sizeof(struct hard_link), by_target);
        u->links_left = link_count(u);
    }
    while (u->links_left && !u->u.failure.reason) {
        if (!u->second && u->links_round == LINKS_MOST)
            break;
        enum unpack_result result = u->second ? UNPACK_OK : open_second(u);
        if (result == UNPACK_OK)
            result = next_linked(u, member);
        if (result != UNPACK_END)
            return result;
        if (u->second)
            unpack_close(&u->second->u);
        u->second = NULL;
        if (u->links_left == u->links_before)
            break;
    }
    return leave_links(u);
}

static enum unpack_result next_member(struct unpacker *unpacker, struct member *member)
{
    struct archive_unpacker *u = (struct archive_unpacker *)unpacker;
    enum unpack_result result = u->ended ? UNPACK_END : next_in_order(u, member);
    return result == UNPACK_END ? next_link(u, member) : result;
}

/* ---- a member's bytes ---------------------------------------------------------------------------------- */

static enum unpack_result lone_block(struct archive_unpacker *u, struct member *member)
{
    ssize_t n = read_stream(u, &u->u.block);
    u->u.block_offset = u->lone_offset;
    if (n < 0) {
        failure_take(&member->failure, &u->stream_failure);
        return UNPACK_FAILED;
    }
    u->u.block_size = (size_t)n;
    u->lone_offset += (uint64_t)n;
    return n > 0 ? UNPACK_OK : UNPACK_END;
}

static enum unpack_result next_block(struct unpacker *unpacker, struct member *member)
{
    struct archive_unpacker *u = (struct archive_unpacker *)unpacker;
    struct archive_unpacker *from = u->second ? u->second : u;
    if (!u->archive)
        return lone_block(u, member);
    for (unsigned idle = 0; idle < IDLE_MOST; idle++) {
        const void *bytes = NULL;
        la_int64_t offset = 0;
        int result = archive_read_data_block(from->archive, &bytes, &u->u.block_size, &offset);
        u->u.block = bytes;
        u->u.block_offset = (uint64_t)offset;
        if (result == ARCHIVE_EOF) {
            u->u.block_size = 0;
            return UNPACK_END;
        }
        /* Some readers only warn when a checksum does not fit the data. */
        const char *warning = result == ARCHIVE_WARN ? archive_error_string(from->archive) : NULL;
        bool bad = warning && reason_of(warning, CONTAINER_REASON_NONE) == CONTAINER_BAD_CRC;
        if (result == ARCHIVE_FATAL || result == ARCHIVE_FAILED || bad) {
            from->broken = result == ARCHIVE_FATAL;
            take_failure(from, from->archive, CONTAINER_BAD_CRC, &member->failure);
            return UNPACK_FAILED;
        }
        if (u->u.block_size == 0 || offset < 0)
            continue;
        /* What came through a compression of the whole has been counted there. */
        return is_compressed(from) || unpack_spend(&u->u, u->u.block_size, &member->failure) ? UNPACK_OK
                                                                                             : UNPACK_FAILED;
    }
    from->broken = true;
    failure_set(&member->failure, CONTAINER_UNREADABLE, "its reader does not get on");
    return UNPACK_FAILED;
}

/* ---- packs --------------------------------------------------------------------------------------------- */

/* Takes one member for a part of the pack `name`, when it is one that is not there yet. */
static enum unpack_result take_part(struct unpacker *unpacker, struct member *member, const char *name,
                                    struct feed **parts)
{
    int number = ipfb_part_number(name, member->name);
    if (number < 0 || parts[number])
        return UNPACK_OK;
    enum unpack_result result = unpack_head(unpacker, member);
    return result == UNPACK_OK ? unpack_nest(unpacker, member, &parts[number]) : result;
}

/* The parts lie anywhere in the archive, before the pack too: it is read once more from its start. A part
 * whose bytes cannot be had is one that is not there; its own failure is that of the member. */
static enum unpack_result find_parts(struct unpacker *unpacker, const char *name, struct feed **parts)
{
    struct archive_unpacker *u = (struct archive_unpacker *)unpacker;
    bool nomem = true;
    struct feed *again = feed_window(u->u.feed, 0, feed_size(u->u.feed), false);
    struct unpacker *other = again ? unpack_archive(again, (struct signature){u->opened_as, false},
                                                    u->file_name, &u->u.limits, &nomem)
                                   : NULL;
    if (!other)
        return nomem ? UNPACK_FAULT : UNPACK_OK;
    struct member member;
    enum unpack_result result;
    while ((result = unpack_next(other, &member)) > UNPACK_END)
        if (result == UNPACK_OK && take_part(other, &member, name, parts) == UNPACK_FAULT)
            break;
    unpack_close(other);
    return result == UNPACK_END ? UNPACK_OK : UNPACK_FAULT;
}

static const struct unpack_kind archive_kind = {
    .format = FORMAT_ARCHIVE,
    .next = next_member,
    .block = next_block,
    .parts = find_parts,
    .close = close_archive,
};
