/* signature.c - see signature.h */
#include "pipeline/signature.h"

#include <string.h>

/* Fixed bytes at a fixed place. Sources: APPNOTE.TXT 4.3 (zip), 7zFormat.txt, the RAR technotes,
 * [MS-CAB] 2.1, ECMA-119 8.1 (ISO 9660), ISO 28500 (WARC), ar(5), cpio(5), RFC 1952 (gzip), the .xz, lzip and
 * LZ4 frame formats, RFC 8878 (zstd), the RPM file format; docs/images.md (game partitions, packs). */
static const struct {
    uint32_t offset;
    uint8_t kind, size;
    bool weak;
    const char *bytes;
} magics[] = {
    {0x10000, SIGNATURE_XDVDFS, 20, false, "MICROSOFT*XBOX*MEDIA"},
    {0x8001, SIGNATURE_ISO9660, 5, false, "CD001"},
    {0, SIGNATURE_IPFB, 4, false, "IPFB"},
    {0, SIGNATURE_ZIP, 4, false, "PK\3\4"},
    {0, SIGNATURE_ZIP, 4, false, "PK\5\6"}, /* no members */
    {0, SIGNATURE_ZIP, 8, false, "PK00PK\3\4"},
    {0, SIGNATURE_ZIP, 8, false, "PK\7\10PK\3\4"}, /* the first of several volumes */
    {0, SIGNATURE_7ZIP, 6, false, "7z\xBC\xAF\x27\x1C"},
    {0, SIGNATURE_RAR, 7, false, "Rar!\x1A\7\0"},
    {0, SIGNATURE_RAR5, 8, false, "Rar!\x1A\7\1\0"},
    {0, SIGNATURE_CAB, 8, false, "MSCF\0\0\0\0"},
    {0, SIGNATURE_XAR, 6, false, "xar!\0\x1C"},
    {0, SIGNATURE_SELF_EXTRACTING, 2, true, "MZ"},
    {0, SIGNATURE_SELF_EXTRACTING, 4, true, "\177ELF"},
    {0, SIGNATURE_SELF_EXTRACTING, 2, true, "#!"},
    {0, SIGNATURE_CPIO, 6, false, "070701"},
    {0, SIGNATURE_CPIO, 6, false, "070702"},
    {0, SIGNATURE_CPIO, 6, false, "070707"},
    {0, SIGNATURE_AR, 8, false, "!<arch>\n"},
    {0, SIGNATURE_WARC, 7, false, "WARC/0."},
    {0, SIGNATURE_WARC, 7, false, "WARC/1."},
    {0, SIGNATURE_COMPRESS, 2, true, "\x1F\x9D"},
    {0, SIGNATURE_XZ, 6, false, "\3757zXZ\0"},
    {0, SIGNATURE_LZIP, 5, false, "LZIP\1"},
    {0, SIGNATURE_LZ4, 4, false, "\4\x22\x4D\x18"},
    {0, SIGNATURE_LZ4, 4, true, "\2\x21\x4C\x18"}, /* the legacy frame */
    {0, SIGNATURE_ZSTD, 4, false, "\x28\xB5\x2F\xFD"},
    {0, SIGNATURE_RPM, 4, false, "\xED\xAB\xEE\xDB"},
    {0, SIGNATURE_UU, 13, false, "begin-base64 "},
};

/* The header's own checksum: the sum of its 512 bytes with the field itself taken as blanks (pax, "ustar
 * Interchange Format"). Some old writers summed signed bytes. A block of zeros is no header. */
static bool is_tar(const uint8_t *p, size_t size)
{
    enum { FIELD = 148, FIELD_SIZE = 8, BLOCK = 512 };
    if (size < BLOCK)
        return false;
    size_t i = FIELD, end = FIELD + FIELD_SIZE;
    while (i < end && p[i] == ' ')
        i++;
    int32_t stored = 0, sum = 0, signed_sum = 0;
    size_t digits = i;
    for (; i < end && p[i] >= '0' && p[i] <= '7'; i++)
        stored = stored * 8 + (p[i] - '0');
    if (i == digits)
        return false;
    for (size_t k = 0; k < BLOCK; k++) {
        uint8_t byte = k >= FIELD && k < end ? ' ' : p[k];
        sum += byte;
        signed_sum += (int8_t)byte;
    }
    return stored == sum || stored == signed_sum;
}

/* The old binary cpio header: 13 words of 16 bits in either byte order, then the name and its NUL (cpio(5)).
 * Its magic is two bytes, so the name has to fit too. */
static bool is_binary_cpio(const uint8_t *p, size_t size)
{
    enum { HEADER = 26, NAME_SIZE = 20, NAME_LONGEST = 1024 };
    if (size < HEADER)
        return false;
    bool little = p[0] == 0xC7 && p[1] == 0x71, big = p[0] == 0x71 && p[1] == 0xC7;
    if (!little && !big)
        return false;
    size_t length = little ? (size_t)(p[NAME_SIZE] | p[NAME_SIZE + 1] << 8)
                           : (size_t)(p[NAME_SIZE] << 8 | p[NAME_SIZE + 1]);
    if (length < 2 || length > NAME_LONGEST || length > size - HEADER)
        return false;
    return memchr(p + HEADER, 0, length) == p + HEADER + length - 1;
}

/* "-lh5-" and its kin at offset 2, and a header level that exists at 20. */
static bool is_lha(const uint8_t *p, size_t size)
{
    return size > 21 && p[2] == '-' && p[3] == 'l' && (p[4] == 'h' || p[4] == 'z' || p[4] == 'p') &&
           p[6] == '-' && p[20] <= 3;
}

/* A level, and the magic of the first block or, in an empty one, of the end. */
static bool is_bzip2(const uint8_t *p, size_t size)
{
    return size >= 14 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9' &&
           (memcmp(p + 4, "1AY&SY", 6) == 0 || memcmp(p + 4, "\x17rE8P\x90", 6) == 0);
}

/* Magic, the only method there is, no reserved flag (RFC 1952, 2.3). */
static bool is_gzip(const uint8_t *p, size_t size)
{
    return size >= 18 && p[0] == 0x1F && p[1] == 0x8B && p[2] == 8 && (p[3] & 0xE0) == 0;
}

/* The header without a magic: the properties byte all writers use, a dictionary size of 2^n or 2^n + 2^(n-1),
 * and a length that is unknown or below 2^40. */
static bool is_lzma(const uint8_t *p, size_t size)
{
    if (size < 14 || p[0] != 0x5D || p[13] != 0)
        return false;
    uint32_t dictionary = (uint32_t)p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16 | (uint32_t)p[4] << 24;
    uint32_t low = dictionary & -dictionary;
    if (dictionary < 4096 || (dictionary != low && dictionary != 3 * low))
        return false;
    static const uint8_t unknown[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    return memcmp(p + 5, unknown, 8) == 0 || (p[10] | p[11] | p[12]) == 0;
}

/* "begin 644 name" as the first line. */
static bool is_uu(const uint8_t *p, size_t size)
{
    if (size < 12 || memcmp(p, "begin ", 6) != 0 || p[9] != ' ')
        return false;
    for (int i = 6; i < 9; i++)
        if (p[i] < '0' || p[i] > '7')
            return false;
    return true;
}

static enum signature_kind find_magic(const uint8_t *head, size_t size, bool weak)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (magics[i].weak == weak && size >= (size_t)magics[i].offset + magics[i].size &&
            memcmp(head + magics[i].offset, magics[i].bytes, magics[i].size) == 0)
            return magics[i].kind;
    return SIGNATURE_NONE;
}

struct signature signature_of(const uint8_t *head, size_t size)
{
    enum signature_kind kind = find_magic(head, size, false);
    if (!kind)
        kind = is_gzip(head, size)    ? SIGNATURE_GZIP
               : is_bzip2(head, size) ? SIGNATURE_BZIP2
               : is_tar(head, size)   ? SIGNATURE_TAR
                                      : SIGNATURE_NONE;
    if (kind)
        return (struct signature){kind, false};
    kind = find_magic(head, size, true);
    if (!kind)
        kind = is_lha(head, size)           ? SIGNATURE_LHA
               : is_lzma(head, size)        ? SIGNATURE_LZMA
               : is_binary_cpio(head, size) ? SIGNATURE_CPIO
               : is_uu(head, size)          ? SIGNATURE_UU
                                            : SIGNATURE_NONE;
    return (struct signature){kind, kind != SIGNATURE_NONE};
}
