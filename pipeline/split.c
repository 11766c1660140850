/* split.c - see split.h
 *
 * libarchive reads a zip by its directory when it finds an end record in the last 16 KB that it believes;
 * otherwise as a stream, where a member that is passed over and one that is read may be followed by different
 * ones. So the same end record is looked for here, and with the same doubts: one disc, equal counts, and a
 * directory that ends before its end record (archive_read_support_format_zip.c of libarchive 3.6, read_eocd).
 */
#include "pipeline/split.h"

#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"

#define ZIP_TAIL     ((size_t)16 << 10)
#define ZIP_END_SIZE 22

static bool is_end_record(const uint8_t *bytes, size_t size, uint64_t position)
{
    struct error err = {0};
    struct reader r = reader_make(bytes, size, position, "zip end record", &err);
    reader_skip(&r, 4);
    uint16_t disc = reader_u16le(&r, "disc"), directory_disc = reader_u16le(&r, "disc of the directory");
    uint16_t here = reader_u16le(&r, "entries here"), all = reader_u16le(&r, "entries");
    uint64_t directory = reader_u32le(&r, "directory size"), offset = reader_u32le(&r, "directory offset");
    return reader_ok(&r) && disc == 0 && directory_disc == 0 && here == all && offset + directory <= position;
}

/* Zip64 archives have an end record of their own before this one; they are left whole. */
static bool has_directory(struct feed *feed)
{
    static const uint8_t signature[] = {'P', 'K', 5, 6};
    uint64_t size = feed_size(feed);
    size_t tail = (size_t)(size < ZIP_TAIL ? size : ZIP_TAIL);
    uint8_t *bytes = malloc(tail + 1);
    ssize_t n = bytes ? feed_peek(feed, size - tail, bytes, tail) : -1;
    bool found = false;
    for (size_t at = n >= ZIP_END_SIZE ? (size_t)n - ZIP_END_SIZE + 1 : 0; at-- > 0;) {
        if (memcmp(bytes + at, signature, sizeof signature) != 0)
            continue;
        found = is_end_record(bytes + at, (size_t)n - at, size - tail + at);
        break;
    }
    free(bytes);
    return found;
}

bool split_possible(struct feed *feed, struct signature signature)
{
    if (signature.weak)
        return false;
    switch (signature.kind) {
    case SIGNATURE_ZIP:
        return has_directory(feed);
    case SIGNATURE_TAR:
    case SIGNATURE_ISO9660:
    case SIGNATURE_XDVDFS:
        return true;
    default:
        return false;
    }
}
