/* thumbnail.c - see thumbnail.h
 *
 * A z-buffer at twice the size in each direction, one byte of light for a sample; four samples make a pixel.
 */
#include "reports/thumbnail.h"

#include <math.h>
#include <pthread.h>

#include "reports/export_internal.h"
#include "reports/png.h"

#define SAMPLES (2 * THUMBNAIL_SIZE) /* in a row */
#define MARGIN  14.0                 /* samples left free at each side */

/* The camera: turned by 35 degrees to the right of the front, 24 degrees up. */
static const double to_right[3] = {0.8192, 0.0, -0.5736};
static const double to_top[3] = {-0.2333, 0.9135, -0.3332};
static const double to_viewer[3] = {0.5240, 0.4067, 0.7483};

/* What is lit, and from where, in the camera's axes (x right, y up, z to the viewer). */
static const float key_light[3] = {-0.455f, 0.607f, 0.652f};

struct point {
    float x, y, z; /* samples from the left and from the top; z grows to the viewer */
};

struct picture {
    const struct export_view *view;
    const struct mesh_stream *normals; /* NULL: faces shade */
    struct point *points;              /* [mesh->vertex_count]; of those that are drawn */
    float *depth;                      /* [SAMPLES][SAMPLES] */
    uint8_t *light;                    /* [SAMPLES][SAMPLES]; 0: background */
};

static double along(const double axis[3], const double v[3])
{
    return axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2];
}

/* ---- projection ---------------------------------------------------------------------------------------- */

struct frame {
    double low[3], high[3]; /* in the camera's axes, before scaling */
};

static void look(const struct export_view *view, uint32_t vertex, double out[3])
{
    float position[3];
    export_position(view, vertex, position);
    const double v[3] = {position[0], position[1], position[2]};
    out[0] = along(to_right, v);
    out[1] = along(to_top, v);
    out[2] = along(to_viewer, v);
}

static void frame_add(struct frame *frame, const double v[3])
{
    for (int i = 0; i < 3; i++) {
        frame->low[i] = fmin(frame->low[i], v[i]);
        frame->high[i] = fmax(frame->high[i], v[i]);
    }
}

/* What is drawn fits the picture; stray vertices that no triangle names do not count. */
static struct frame frame_of(const struct export_view *view)
{
    const struct mesh *mesh = view->mesh;
    struct frame frame = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    double v[3];
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        for (unsigned c = 0; c < 3 && export_drawable(mesh, t); c++) {
            look(view, mesh->streams[0].corner[(size_t)t * 3 + c], v);
            frame_add(&frame, v);
        }
    for (uint32_t i = 0; !mesh->triangle_count && i < mesh->vertex_count; i++) {
        look(view, i, v);
        frame_add(&frame, v);
    }
    return frame;
}

/* Puts every vertex where it is seen. Coordinates of what is not drawn may lie anywhere. */
static void project(struct picture *picture)
{
    const struct mesh *mesh = picture->view->mesh;
    struct frame frame = frame_of(picture->view);
    double wide = frame.high[0] - frame.low[0], tall = frame.high[1] - frame.low[1];
    double extent = fmax(fmax(wide, tall), frame.high[2] - frame.low[2]) * 1e-9; /* of a line seen end on */
    extent = fmax(extent, fmax(wide, tall));
    double scale = extent > 0 ? (SAMPLES - 2 * MARGIN) / extent : 0;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double v[3];
        look(picture->view, i, v);
        picture->points[i] =
            (struct point){(float)(SAMPLES / 2.0 + (v[0] - (frame.low[0] + frame.high[0]) / 2) * scale),
                           (float)(SAMPLES / 2.0 - (v[1] - (frame.low[1] + frame.high[1]) / 2) * scale),
                           (float)((v[2] - frame.low[2]) * scale)};
    }
}

/* ---- light --------------------------------------------------------------------------------------------- */

/* 1..255 for a normal of length 1 in the camera's axes that faces the viewer: a key light, a brighter sky
 * than ground, and a little more at the rim, which parts a thing from what is behind it. */
static float light_of(const float n[3])
{
    float key = n[0] * key_light[0] + n[1] * key_light[1] + n[2] * key_light[2];
    float rim = 1 - n[2];
    float light = 0.17f + 0.22f * (0.5f + 0.5f * n[1]) + 0.60f * (key > 0 ? key : 0) + 0.10f * rim * rim;
    return 1 + 254 * (light < 1 ? light : 1);
}

/* The face's normal, turned to the viewer. False when it has no area on the screen that tells. */
static bool face_normal(const struct point p[static 3], float n[3])
{
    float ax = p[1].x - p[0].x, ay = p[0].y - p[1].y, az = p[1].z - p[0].z;
    float bx = p[2].x - p[0].x, by = p[0].y - p[2].y, bz = p[2].z - p[0].z;
    n[0] = ay * bz - az * by;
    n[1] = az * bx - ax * bz;
    n[2] = ax * by - ay * bx;
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0) || n[2] == 0)
        return false;
    float sign = n[2] < 0 ? -1 / length : 1 / length;
    for (int i = 0; i < 3; i++)
        n[i] *= sign;
    return true;
}

/* The stored normal of a corner, on the face's side; false when it has none. */
static bool corner_normal(const struct picture *picture, uint32_t triangle, unsigned corner,
                          const float face[3], float n[3])
{
    float stored[3];
    if (!picture->normals ||
        !export_normal(picture->view, picture->normals,
                       mesh_corner(picture->view->mesh, picture->normals, triangle, corner), stored))
        return false;
    const double v[3] = {stored[0], stored[1], stored[2]};
    n[0] = (float)along(to_right, v);
    n[1] = (float)along(to_top, v);
    n[2] = (float)along(to_viewer, v);
    float side = n[0] * face[0] + n[1] * face[1] + n[2] * face[2];
    for (int i = 0; i < 3 && side < 0; i++)
        n[i] = -n[i];
    return true;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

/* Value at a sample of what is linear over a triangle. */
struct plane {
    float at, per_x, per_y;
};

static struct plane plane_through(const struct point p[static 3], const float value[static 3], float area)
{
    float ax = p[1].x - p[0].x, ay = p[1].y - p[0].y, bx = p[2].x - p[0].x, by = p[2].y - p[0].y;
    float a = value[1] - value[0], b = value[2] - value[0];
    struct plane plane = {0, (a * by - b * ay) / area, (b * ax - a * bx) / area};
    plane.at = value[0] - plane.per_x * p[0].x - plane.per_y * p[0].y;
    return plane;
}

static int clamp_sample(float value)
{
    return value < 0 ? 0 : value > SAMPLES - 1 ? SAMPLES - 1 : (int)value;
}

/* The samples of row y that lie inside, by cutting the row with each side. */
static bool span_of_row(const struct point p[static 3], float y, float *from, float *to)
{
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 3; i++) {
        const struct point *a = &p[i], *b = &p[(i + 1) % 3];
        if ((a->y <= y) == (b->y <= y))
            continue;
        float x = a->x + (y - a->y) / (b->y - a->y) * (b->x - a->x);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    *from = low;
    *to = high;
    return low < high;
}

static float least(const float v[static 3])
{
    float low = v[0] < v[1] ? v[0] : v[1];
    return v[2] < low ? v[2] : low;
}

static float most(const float v[static 3])
{
    float high = v[0] > v[1] ? v[0] : v[1];
    return v[2] > high ? v[2] : high;
}

static float at_least_at_most(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

static void fill(struct picture *picture, const struct point p[static 3], const float light[static 3])
{
    float area = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (p[1].y - p[0].y);
    if (area == 0)
        return;
    const float depth[3] = {p[0].z, p[1].z, p[2].z};
    struct plane z = plane_through(p, depth, area), shade = plane_through(p, light, area);
    /* The plane of a sliver goes anywhere within half a sample: its corners bound it. */
    float low = least(light), high = most(light), near = least(depth), far = most(depth);
    const float down[3] = {p[0].y, p[1].y, p[2].y};
    int last = clamp_sample(most(down));
    for (int y = clamp_sample(least(down)); y <= last; y++) {
        float from, to, centre = (float)y + 0.5f;
        if (!span_of_row(p, centre, &from, &to))
            continue;
        int end = clamp_sample(to - 0.5f);
        for (int x = clamp_sample(from + 0.5f); x <= end; x++) {
            size_t at = (size_t)y * SAMPLES + (size_t)x;
            float sample = at_least_at_most(z.at + z.per_x * ((float)x + 0.5f) + z.per_y * centre, near, far);
            if (sample <= picture->depth[at])
                continue;
            float value = shade.at + shade.per_x * ((float)x + 0.5f) + shade.per_y * centre;
            picture->depth[at] = sample;
            picture->light[at] = (uint8_t)at_least_at_most(value, low, high);
        }
    }
}

static void draw_triangle(struct picture *picture, uint32_t triangle)
{
    const struct mesh *mesh = picture->view->mesh;
    struct point p[3];
    float face[3], normal[3], light[3];
    if (!export_drawable(mesh, triangle))
        return;
    for (unsigned c = 0; c < 3; c++)
        p[c] = picture->points[mesh->streams[0].corner[(size_t)triangle * 3 + c]];
    if (!face_normal(p, face))
        return;
    for (unsigned c = 0; c < 3; c++)
        light[c] = light_of(corner_normal(picture, triangle, c, face, normal) ? normal : face);
    fill(picture, p, light);
}

static void draw_point(struct picture *picture, uint32_t vertex)
{
    int x = clamp_sample(picture->points[vertex].x), y = clamp_sample(picture->points[vertex].y);
    for (int dy = 0; dy < 4; dy++)
        for (int dx = 0; dx < 4; dx++)
            picture->light[(size_t)clamp_sample((float)(y + dy)) * SAMPLES +
                           (size_t)clamp_sample((float)(x + dx))] = 150;
}

/* ---- pixels -------------------------------------------------------------------------------------------- */

/* Where the surface behind a sample's neighbour falls away, the sample is an edge: a thin dark line. */
static bool is_edge(const struct picture *picture, int x, int y)
{
    static const int step[2][2] = {{1, 0}, {0, 1}};
    const float *depth = &picture->depth[(size_t)y * SAMPLES + (size_t)x];
    for (int i = 0; i < 2; i++) {
        if (x + step[i][0] >= SAMPLES || y + step[i][1] >= SAMPLES)
            continue;
        float beyond = depth[step[i][1] * SAMPLES + step[i][0]];
        if (isfinite(beyond) && fabsf(*depth - beyond) > SAMPLES / 24.0f)
            return true;
    }
    return false;
}

/* Colours: 0 is the background; then 16 of each partial cover (1 to 3 of 4 samples), of which only outlines
 * are made; the rest are of full cover. */
enum { PARTIAL = 16, FULL_FIRST = 1 + 3 * PARTIAL, FULL = 256 - FULL_FIRST };

/* The number of a pixel of `covered` samples whose light sums up to `light`. */
static uint8_t colour_number(unsigned covered, float light)
{
    float share = covered ? light / (float)covered / 256 : 0; /* 0 to just below 1 */
    if (covered == 4)
        return (uint8_t)(FULL_FIRST + share * FULL);
    return covered ? (uint8_t)(1 + (covered - 1) * PARTIAL + (unsigned)(share * PARTIAL)) : 0;
}

/* Cool in the shade, almost white where it is bright. */
static void set_colour(uint8_t rgba[4], float share, unsigned covered)
{
    static const float dark[3] = {34, 42, 58}, bright[3] = {236, 239, 243};
    for (int i = 0; i < 3; i++)
        rgba[i] = (uint8_t)(dark[i] + (bright[i] - dark[i]) * share);
    rgba[3] = (uint8_t)(covered * 255 / 4);
}

static pthread_once_t palette_once = PTHREAD_ONCE_INIT;
static uint8_t palette[256][4];

static void make_palette(void)
{
    for (int i = 0; i < PARTIAL; i++)
        for (unsigned covered = 1; covered < 4; covered++)
            set_colour(palette[1 + (covered - 1) * PARTIAL + (unsigned)i], ((float)i + 0.5f) / PARTIAL,
                       covered);
    for (int i = 0; i < FULL; i++)
        set_colour(palette[FULL_FIRST + i], ((float)i + 0.5f) / FULL, 4);
}

const uint8_t (*thumbnail_palette(void))[4]
{
    pthread_once(&palette_once, make_palette);
    return palette;
}

static uint8_t resolve_pixel(const struct picture *picture, int px, int py)
{
    unsigned covered = 0;
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        int x = 2 * px + (i & 1), y = 2 * py + (i >> 1);
        float light = picture->light[(size_t)y * SAMPLES + (size_t)x];
        if (light == 0)
            continue;
        sum += is_edge(picture, x, y) ? light * 0.45f : light;
        covered++;
    }
    return colour_number(covered, sum);
}

static bool draw(struct picture *picture, struct arena *scratch)
{
    const struct mesh *mesh = picture->view->mesh;
    const size_t samples = (size_t)SAMPLES * SAMPLES;
    picture->points = arena_array_raw(scratch, mesh->vertex_count, sizeof *picture->points);
    picture->depth = arena_array_raw(scratch, samples, sizeof *picture->depth);
    picture->light = arena_array(scratch, samples, sizeof *picture->light);
    if (!picture->points || !picture->depth || !picture->light)
        return false;
    for (size_t i = 0; i < samples; i++)
        picture->depth[i] = -INFINITY;
    project(picture);
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        draw_triangle(picture, t);
    for (uint32_t i = 0; !mesh->triangle_count && i < mesh->vertex_count; i++)
        draw_point(picture, i);
    return true;
}

bool thumbnail_render(const struct mesh *mesh, enum format_id format, bool mirrored, struct arena *scratch,
                      uint8_t *pixels, struct error *err)
{
    const struct resource resource = {.format = format};
    const struct export_item item = {.resource = &resource, .mesh = mesh, .mirrored = mirrored};
    struct export_view view;
    arena_reset(scratch);
    if (!export_view_make(&item, true, scratch, &view, err))
        return false;
    struct picture picture = {.view = &view};
    int normals = export_stream(mesh, MESH_NORMAL, 3);
    picture.normals = normals >= 0 ? &mesh->streams[normals] : NULL;
    if (!draw(&picture, scratch))
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while drawing");
    for (int y = 0; y < THUMBNAIL_SIZE; y++)
        for (int x = 0; x < THUMBNAIL_SIZE; x++)
            pixels[(size_t)y * THUMBNAIL_SIZE + (size_t)x] = resolve_pixel(&picture, x, y);
    return true;
}

bool thumbnail_png(const struct mesh *mesh, enum format_id format, bool mirrored, struct arena *scratch,
                   struct buffer *out, struct error *err)
{
    uint8_t pixels[THUMBNAIL_SIZE * THUMBNAIL_SIZE];
    return thumbnail_render(mesh, format, mirrored, scratch, pixels, err) &&
           png_write_indexed(pixels, THUMBNAIL_SIZE, THUMBNAIL_SIZE, thumbnail_palette(), out, err);
}
