/* signature.h - does this look like an archive, and like which?
 *
 * libarchive is only asked about content that passes here, and only with the reader of that format. Its own
 * detection is made for files a person calls archives: a block of zeros is a tar to it, two bytes a cpio, any
 * text a list of files. In a corpus most members are no archives at all, so the evidence has to be in the
 * bytes. Pure.
 */
#ifndef ANCHORAGE_SIGNATURE_H
#define ANCHORAGE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A head of this many bytes shows every signature (ISO 9660 has its own at 0x8001, a game partition at the
 * start of its image at 0x10000). */
#define SIGNATURE_HEAD ((size_t)66 << 10)

/* A zip's end record, and the longest comment that may follow it. */
#define ZIP_END_MOST ((size_t)22 + 65535)

enum signature_kind {
    SIGNATURE_NONE,
    /* archives that are read with seeking or as a whole */
    SIGNATURE_ZIP,
    SIGNATURE_7ZIP,
    SIGNATURE_RAR,
    SIGNATURE_RAR5,
    SIGNATURE_CAB,
    SIGNATURE_LHA,
    SIGNATURE_XAR,
    SIGNATURE_ISO9660,
    SIGNATURE_XDVDFS,
    SIGNATURE_IPFB,
    SIGNATURE_SELF_EXTRACTING, /* a program or script, perhaps with an archive behind it */
    /* archives that are read front to back, and so make one boundary with a compression around them */
    SIGNATURE_TAR,
    SIGNATURE_CPIO,
    SIGNATURE_AR,
    SIGNATURE_WARC,
    /* compressed streams */
    SIGNATURE_GZIP,
    SIGNATURE_BZIP2,
    SIGNATURE_COMPRESS,
    SIGNATURE_XZ,
    SIGNATURE_LZMA,
    SIGNATURE_LZIP,
    SIGNATURE_LZ4,
    SIGNATURE_ZSTD,
    SIGNATURE_RPM, /* a header around a compressed cpio */
    SIGNATURE_UU,
};

struct signature {
    enum signature_kind kind;
    /* Few bits of evidence: content that then turns out unreadable from its start on was no archive. */
    bool weak;
};

/* What the first bytes of something show; `size` is less than SIGNATURE_HEAD only when that is the whole. */
struct signature signature_of(const uint8_t *head, size_t size);

static inline bool signature_is_streamed(enum signature_kind kind)
{
    return kind >= SIGNATURE_TAR && kind <= SIGNATURE_WARC;
}
static inline bool signature_is_compression(enum signature_kind kind)
{
    return kind >= SIGNATURE_GZIP;
}

#endif
