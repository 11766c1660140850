/* export.h - geometry for other people's programs: glTF 2.0 binary, Wavefront OBJ, Stanford PLY.
 *
 * What the exporters promise: positions are the stored f32 values bit for bit (OBJ: the shortest decimal that reads
 * back to them), except MESHBIN, whose axes are turned (x, -y, -z) as formats/meshbin.md says; every stored
 * vertex is written, referenced or not; triangle order and winding are kept; GLB passes the Khronos validator
 * without errors or warnings whatever the input (non-finite values are replaced by 0 and triangles that used them
 * left out). Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_EXPORT_H
#define ANCHORAGE_EXPORT_H

#include <jansson.h>
#include <stdio.h>

#include "formats/format.h"

enum export_format { EXPORT_GLB, EXPORT_OBJ, EXPORT_PLY, EXPORT_FORMAT_COUNT };

/* "glb", "obj", "ply". */
const char *export_word(enum export_format format);
/* By word, or by the ending of a file name. False when it is neither. */
bool export_parse(const char *word_or_name, enum export_format *format);

struct export_item {
    const struct resource *resource; /* parts, lods, objects, materials; its mesh pointer is not used */
    const struct mesh *mesh;
    const char *name;   /* shown by viewers; any bytes */
    bool mirrored;      /* negate x and reverse the winding */
    const json_t *extras; /* the resource's JSON (docs/json.md), put into glTF extras; may be NULL */
};

/* Writes all items into one file. False with *err set when writing fails or there is nothing to write. */
bool export_write(enum export_format format, const struct export_item *items, size_t count, FILE *out,
                  struct error *err);

#endif
