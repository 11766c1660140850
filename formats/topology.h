/* topology.h - do the stored normals agree with the faces? The research log's test for list against strip.
 *
 * Each triangle's cross product is compared with the sum of its corners' stored normals. Read with the right
 * topology at the right place nearly all agree, or nearly none where the winding is inverted; read wrongly
 * about half do, which is chance. Pure; any thread.
 */
#ifndef ANCHORAGE_TOPOLOGY_H
#define ANCHORAGE_TOPOLOGY_H

#include "mesh.h"

struct topology {
    uint32_t list_faces, strip_faces; /* that have an area and normals to compare with */
    double list, strip;               /* share of them whose sides agree, 0..1; 0 without faces */
};

/* Reads the corners as a triangle list, and as if each part were one strip (every other triangle turned).
 * Parts without normals count nothing. */
struct topology topology_of(const struct mesh *mesh);

#endif
