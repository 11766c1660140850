/* thumbnail.h - a small picture of a mesh: a shaded software renderer.
 *
 * Orthographic, from above and a little to the right of the front, +Y up; the mesh fills the picture. Axes
 * are turned as the exporters turn them (export.h). Both sides of a triangle are lit, because the winding of
 * most formats is not known. Stored normals shade smoothly where there are some; faces do elsewhere. A mesh
 * without triangles is drawn as its points. The picture depends on the mesh and nothing else. Any thread.
 */
#ifndef ANCHORAGE_THUMBNAIL_H
#define ANCHORAGE_THUMBNAIL_H

#include "formats/buffer.h"
#include "formats/format.h"

#define THUMBNAIL_SIZE 192
/* Counts changes of what is drawn: pictures of another number are stale. */
#define THUMBNAIL_VERSION 1

/* Pixels are numbers of colours: a thumbnail is a grey model on nothing, and light and cover are all it has.
 */
const uint8_t (*thumbnail_palette(void))[4]; /* [256]: red, green, blue, straight alpha */

/* Renders a sound mesh (mesh_is_sound) of a resource of `format` into pixels[SIZE][SIZE], rows from the top.
 * `mirrored`: with x negated. `scratch` is reset and used for everything in between. False with *err set when
 * memory runs out. */
bool thumbnail_render(const struct mesh *mesh, enum format_id format, bool mirrored, struct arena *scratch,
                      uint8_t *pixels, struct error *err);
/* The same, appended to `out` as a PNG. */
bool thumbnail_png(const struct mesh *mesh, enum format_id format, bool mirrored, struct arena *scratch,
                   struct buffer *out, struct error *err);

#endif
