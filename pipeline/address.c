/* address.c - see address.h; the rules are in docs/addresses.md */
#include "pipeline/address.h"

#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at p, 0 when there is none. Shortest forms only, no surrogates, up to U+10FFFF
 * (RFC 3629, section 4). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t length;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF) {
        length = 2;
    } else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        length = 3;
        low = p[0] == 0xE0 ? 0xA0 : low;
        high = p[0] == 0xED ? 0x9F : high;
    } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        length = 4;
        low = p[0] == 0xF0 ? 0x90 : low;
        high = p[0] == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }
    if (length > left || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

static char *put_escaped(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    *out++ = '%';
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
    return out;
}

/* Letters, digits and what separates them in paths: never escaped, whatever is special. */
static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '-' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Copies the bytes, with those among `special` and those that are no UTF-8 as %XX. A NUL inside has to be
 * escaped in any case: the result is a C string. */
static char *escape(const char *bytes, size_t size, const char *special)
{
    char *text = size < SIZE_MAX / 3 ? malloc(size * 3 + 1) : NULL;
    if (!text)
        return NULL;
    const unsigned char *p = (const unsigned char *)bytes;
    size_t plain = 0; /* at the start, often all: bytes that are copied as they are */
    while (plain < size && is_plain(p[plain]))
        plain++;
    memcpy(text, bytes, plain);
    char *out = text + plain;
    for (size_t i = plain; i < size;) {
        size_t length = utf8_length(p + i, size - i);
        if (length == 0 || p[i] == '\0' || strchr(special, p[i])) {
            out = put_escaped(out, p[i++]);
            continue;
        }
        memcpy(out, p + i, length);
        out += length;
        i += length;
    }
    *out = '\0';
    return text;
}

char *address_escape(const char *bytes, size_t size)
{
    return escape(bytes, size, "%!#");
}

char *address_of_input(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path++;
        /* ".//x" is x, not the absolute /x */
        while (*path == '/')
            path++;
    }
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (size == 1 && path[0] == '.')
        size = 0;
    return address_escape(path, size);
}

char *address_of_member(const char *bytes, size_t size)
{
    char *plain = malloc(size + 1);
    if (!plain)
        return NULL;
    size_t length = 0;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != '/' || i == 0 || bytes[i - 1] != '/')
            plain[length++] = bytes[i];
    const char *start = plain;
    while (length >= 2 && start[0] == '.' && start[1] == '/') {
        start += 2;
        length -= 2;
    }
    while (length > 1 && start[length - 1] == '/')
        length--;
    char *address = address_escape(start, length);
    free(plain);
    return address;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *address_unescape(const char *text, size_t length, size_t *size)
{
    char *bytes = malloc(length + 1);
    if (!bytes)
        return NULL;
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        bool escaped =
            text[i] == '%' && length - i > 2 && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
        if (!escaped) {
            bytes[out++] = text[i];
            continue;
        }
        bytes[out++] = (char)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
        i += 2;
    }
    bytes[out] = '\0';
    if (size)
        *size = out;
    return bytes;
}

bool address_parse(const char *address, struct address *out)
{
    *out = (struct address){0};
    const char *mark = strchr(address, '#');
    size_t length = mark ? (size_t)(mark - address) : strlen(address);
    out->container = strndup(address, length);
    if (!out->container)
        return false;
    if (!mark)
        return true;
    out->resource = mark + 1;
    size_t digits = strspn(out->resource, "0123456789");
    out->by_index = digits > 0 && out->resource[digits] == '\0';
    if (!out->by_index)
        return true;
    uint64_t index = 0;
    for (const char *p = out->resource; *p && index <= UINT32_MAX; p++)
        index = index * 10 + (uint64_t)(*p - '0');
    out->index = index > UINT32_MAX ? UINT32_MAX : (uint32_t)index;
    return true;
}

void address_free(struct address *address)
{
    if (!address)
        return;
    free(address->container);
    *address = (struct address){0};
}

char *address_stem(const char *path)
{
    const char *base = path;
    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '!')
            base = p + 1;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base), size;
    char *bytes = address_unescape(base, length, &size);
    char *stem = bytes ? escape(bytes, size, "") : NULL;
    free(bytes);
    return stem;
}
