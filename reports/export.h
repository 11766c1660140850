/* export.h - geometry for other people's programs: glTF 2.0 binary, Wavefront OBJ, Stanford PLY.
 *
 * What the exporters promise (docs/export.md says more): positions are the stored f32 values bit for bit
 * (OBJ: the shortest decimal that reads back to them), except MESHBIN, whose axes are turned (x, -y, -z) as
 * formats/meshbin.md says; every stored vertex is written, referenced or not, and GLB and PLY put copies that
 * separate normals or texture coordinates need behind them; triangle order and winding are kept; GLB passes
 * the Khronos validator without errors or warnings whatever the input. In every format values that are not
 * finite are replaced by 0, and triangles with such a position left out. Memory beside the items: about one
 * mesh, and of GLB the JSON. Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_EXPORT_H
#define ANCHORAGE_EXPORT_H

#include <jansson.h>
#include <stdio.h>

#include "formats/format.h"

/* Counts changes of what is written for the same item, so that a copy kept by somebody can be told to be old.
 */
#define EXPORT_VERSION 1

enum export_format { EXPORT_GLB, EXPORT_OBJ, EXPORT_PLY, EXPORT_FORMAT_COUNT };

/* "glb", "obj", "ply". */
const char *export_word(enum export_format format);
/* By word, or by the ending of a file name. False when it is neither. */
bool export_parse(const char *word_or_name, enum export_format *format);

struct export_item {
    const struct resource *resource; /* parts, lods, objects, materials; its mesh pointer is not used */
    const struct mesh *mesh;
    const char *name;     /* shown by viewers; any bytes */
    bool mirrored;        /* negate x and reverse the winding */
    const json_t *extras; /* the resource's JSON (docs/json.md), put into glTF extras; may be NULL */
};

/* Writes all items into one file at `out`'s position, in order. Items must be sound (mesh_is_sound), with
 * `resource` and `mesh` never NULL and, where the resource has parts, one for each part of the mesh. False
 * with *err set: ERROR_USAGE when count is 0, ERROR_LIMIT when the result does not fit the format (4 GiB of
 * GLB, 2^31 vertices of PLY), ERROR_IO, ERROR_NOMEM. A failed file is incomplete. */
bool export_write(enum export_format format, const struct export_item *items, size_t count, FILE *out,
                  struct error *err);

#endif
