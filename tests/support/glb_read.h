/* glb_read.h - GLB files as tests read them: any flaw in the container fails the test. */
#ifndef ANCHORAGE_TEST_GLB_READ_H
#define ANCHORAGE_TEST_GLB_READ_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct glb {
    uint8_t *bytes; /* the file, malloc'ed */
    json_t *root;
    const uint8_t *bin; /* NULL: no such chunk */
    size_t bin_size;
};

/* Takes the file's bytes, which glb_close frees. */
struct glb glb_open(uint8_t *bytes, size_t size);
void glb_close(struct glb *glb);

/* The member along a path of keys and indices, "meshes", "0", "primitives" ...; NULL when there is none. */
json_t *glb_at(json_t *value, ...) __attribute__((sentinel));
#define GLB_AT(value, ...) glb_at(value, __VA_ARGS__, (const char *)NULL)

/* The first node of that name, NULL when there is none. */
json_t *glb_node(const struct glb *glb, const char *name);

struct glb_accessor {
    const uint8_t *data;
    size_t count;
    int type; /* component type */
    const json_t *json;
};

/* By its index as found in the JSON. */
struct glb_accessor glb_accessor(const struct glb *glb, const json_t *index);
/* Of a mesh's primitive, both by number. */
struct glb_accessor glb_attribute(const struct glb *glb, const char *mesh, const char *primitive,
                                  const char *name);
struct glb_accessor glb_indices(const struct glb *glb, const char *mesh, const char *primitive);
/* Number `i` of an accessor of indices, of one of floats. */
uint32_t glb_index(const struct glb_accessor *a, size_t i);
float glb_float(const struct glb_accessor *a, size_t i);

#endif
