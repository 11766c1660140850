/* topology.c - see topology.h */
#include "topology.h"

struct tally {
    uint32_t faces, agreeing;
};

/* Counts one triangle; `turned` when its winding is the other way round. */
static void count_face(struct tally *tally, const struct mesh *mesh, const struct mesh_stream *normal,
                       const uint32_t corner[3], const uint32_t normal_corner[3], bool turned)
{
    const float *p[3];
    double sum[3] = {0}, dot = 0;
    for (int i = 0; i < 3; i++) {
        const float *n = normal->data + (size_t)normal_corner[i] * normal->components;
        p[i] = mesh->streams[0].data + (size_t)corner[i] * 3;
        for (int axis = 0; axis < 3; axis++)
            sum[axis] += (double)n[axis];
    }
    for (int axis = 0; axis < 3; axis++) {
        int a = (axis + 1) % 3, b = (axis + 2) % 3;
        double cross = ((double)p[1][a] - (double)p[0][a]) * ((double)p[2][b] - (double)p[0][b]) -
                       ((double)p[1][b] - (double)p[0][b]) * ((double)p[2][a] - (double)p[0][a]);
        dot += cross * sum[axis];
    }
    if (!(dot > 0) && !(dot < 0)) /* no area, no normal, or no number */
        return;
    tally->faces++;
    tally->agreeing += (dot > 0) != turned;
}

struct topology topology_of(const struct mesh *mesh)
{
    struct tally list = {0}, strip = {0};
    const struct mesh_stream *normal = mesh_stream(mesh, MESH_NORMAL, 0);
    if (!normal || normal->components < 3)
        return (struct topology){0};
    const uint32_t *corner = mesh->streams[0].corner, *normals = normal->corner ? normal->corner : corner;
    uint32_t bit = UINT32_C(1) << (normal - mesh->streams);
    for (uint32_t i = 0; i < mesh->part_count; i++) {
        const struct mesh_part *part = &mesh->parts[i];
        size_t first = (size_t)part->first_triangle * 3, count = (size_t)part->triangle_count * 3;
        for (size_t k = 0; (part->streams & bit) && k + 2 < count; k++) {
            const uint32_t *c = corner + first + k, *n = normals + first + k;
            if (k % 3 == 0)
                count_face(&list, mesh, normal, c, n, false);
            count_face(&strip, mesh, normal, c, n, k % 2 == 1);
        }
    }
    return (struct topology){
        .list_faces = list.faces,
        .strip_faces = strip.faces,
        .list = list.faces ? (double)list.agreeing / list.faces : 0,
        .strip = strip.faces ? (double)strip.agreeing / strip.faces : 0,
    };
}
