/* address.h - how a place is written: `disc.iso!hidden/Stage_S02.xpr#e003`.
 *
 * The rules are those of docs/addresses.md: an input path as given, `!` and a member path at every archive
 * boundary, `#` and an index or a name for a resource; `%`, `!`, `#` and bytes that are no UTF-8 as %XX.
 * Pure; strings returned are malloc'ed and the caller's; NULL when memory runs out.
 */
#ifndef ANCHORAGE_ADDRESS_H
#define ANCHORAGE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An input path: leading "./" (all of them) and trailing "/" removed, then escaped. "." gives "". */
char *address_of_input(const char *path);
/* A member path: leading "./" and repeated "/" removed, a trailing "/" removed, then escaped. */
char *address_of_member(const char *bytes, size_t size);
/* Escapes the bytes: %, !, # and what is no UTF-8 (overlong forms, surrogates included) become %XX, upper
 * case. */
char *address_escape(const char *bytes, size_t size);
/* Reads %XX back; other text stays. The result is NUL-terminated, its length goes to *size when not NULL. */
char *address_unescape(const char *text, size_t length, size_t *size);

/* Cuts an address at its unescaped '#'. container is what stands before it (malloc'ed); resource what stands
 * behind it, NULL without one (points into `address`). */
struct address {
    char *container;
    const char *resource; /* still escaped */
    bool by_index;        /* resource is digits only */
    uint32_t index;       /* then its value; a number past 32 bits is UINT32_MAX */
};
bool address_parse(const char *address, struct address *out);
void address_free(struct address *address);

/* The name a resource without a directory has: the last path component of an address less its last ending (a
 * leading dot is no ending), unescaped except for bytes that are no UTF-8, which stay %XX. */
char *address_stem(const char *path);

#endif
