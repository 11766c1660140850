/* xpr2.h - the XPR2 container: its directory, its textures' extents, its XBG7 resources. Layout and evidence:
 * formats/xpr2.md.
 */
#ifndef ANCHORAGE_XPR2_H
#define ANCHORAGE_XPR2_H

#include "format.h"

/* Version 1 located no geometry; version 2 does. */
extern const struct format format_xpr2;

#endif
