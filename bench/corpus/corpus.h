/* corpus.h - generated containers whose truth is known, shared by `anchorage corpus`, tests and bench.
 *
 * Equal seeds give equal bytes on every machine: only integer arithmetic and single IEEE operations decide
 * what is written, never libm, time or addresses. Each maker fills a corpus_file: the bytes of one container
 * and what a decoder must say of it. Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_CORPUS_H
#define ANCHORAGE_CORPUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/error.h"
#include "store/record.h"

/* A small counter-free generator (splitmix64). */
struct rng {
    uint64_t state;
};
struct rng rng_make(uint64_t seed, uint64_t stream); /* independent streams of one seed */
uint64_t rng_u64(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t bound); /* 0..bound-1; bound > 0 */
float rng_float(struct rng *rng, float low, float high);
bool rng_chance(struct rng *rng, unsigned percent);

/* Appending numbers to a struct buffer in either byte order. */
void put_u8(struct buffer *out, uint8_t value);
void put_u16le(struct buffer *out, uint16_t value);
void put_u32le(struct buffer *out, uint32_t value);
void put_f32le(struct buffer *out, float value);
void put_u16be(struct buffer *out, uint16_t value);
void put_u32be(struct buffer *out, uint32_t value);
void put_f32be(struct buffer *out, float value);

/* [x, y, z], each in the shortest decimal that reads back to the same f32, as the program prints them. */
json_t *corpus_vector(const float v[static 3]);

struct corpus_file {
    char path[256]; /* relative, '/'-separated */
    struct buffer bytes;
    /* Array of objects, one a resource, the fields of interface.md's resource JSON that the maker can know
     * (index, name, format, status, reason, vertices, triangles, bounds, flags) and "classes": [words]; for
     * located geometry also "placements": [[buffers]], the acceptable ones, and "undecidable": bool. */
    json_t *truth;
};
void corpus_file_free(struct corpus_file *file);

/* What the parametric shapes give: triangles over a vertex list, always with outward winding and unit
 * normals. */
struct shape {
    uint32_t vertex_count, triangle_count;
    float *position, *normal, *uv; /* 3, 3, 2 floats a vertex; malloc'ed */
    uint32_t *corner;              /* 3 a triangle */
};
/* A random closed or open surface of about `triangles` triangles and roughly `size` units. */
struct shape shape_random(struct rng *rng, uint32_t triangles, float size);
void shape_free(struct shape *shape);

/* Kinds a maker offers: sound ones first, then malformed ones (each names its class in the truth). */
unsigned corpus_meshbin_kinds(void);
bool corpus_meshbin(struct rng *rng, unsigned kind, uint32_t triangles, struct corpus_file *out);
unsigned corpus_bgf_kinds(void);
bool corpus_bgf(struct rng *rng, unsigned kind, uint32_t triangles, struct corpus_file *out);
unsigned corpus_bmf_kinds(void);
bool corpus_bmf(struct rng *rng, unsigned kind, struct corpus_file *out);

/* Writes a whole corpus: every kind of every format as plain files and inside archives (zip, tar.gz, 7z,
 * nested), and truth.jsonl beside them, one line a resource, "container" being its address relative to the
 * corpus folder. At scale 1 it has the size of the studied disc (166 XPR2 containers, 6 294 resources, about
 * 2 GB) beside a thousand files of the other formats; smaller scales have proportionally fewer containers but
 * always each class. */
struct corpus_options {
    const char *directory; /* made when absent; must be empty */
    uint64_t seed;
    double scale;
    const char
        *models; /* folder with OBJ files, plain or in zips, used as geometry; NULL: parametric shapes */
    bool images; /* also an image of a game disc and a pack, with files of their own; the others are the same
                  */
};
bool corpus_write(const struct corpus_options *options, struct error *err);

/* For benches, at the speed of writing: a pool of distinct models is generated and each use of one differs in
 * coordinates, so that contents and geometry are distinct. An uncompressed ustar of about `bytes` bytes of
 * sound files; by bytes 45 % MESHBIN and 45 % BGF of a hundred to tens of thousands of triangles, all
 * magnitudes alike (KBs to MBs), and 10 % XPR2 of textures and three resources: a run over formats that say
 * where their geometry is. */
bool corpus_uncompressed(const char *path, uint64_t bytes, uint64_t seed, struct error *err);
/* An uncompressed ustar of `count` small sound MESHBIN files. */
bool corpus_small_meshbins(const char *path, unsigned count, uint64_t seed, struct error *err);

#endif
