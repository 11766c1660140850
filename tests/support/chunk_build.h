/* chunk_build.h - writes small chunk files for the tests of BGF and BMF, and decodes them with the usual
 * checks.
 *
 * Functions of a test, so what fails ends the test through cmocka. Files grow in memory: decode_model gives
 * it back.
 */
#ifndef ANCHORAGE_TESTS_CHUNK_BUILD_H
#define ANCHORAGE_TESTS_CHUNK_BUILD_H

#include <stdint.h>

#include "bench/corpus/corpus.h"
#include "formats/buffer.h"
#include "formats/format.h"

/* A file under way. Lengths take `width` bytes, or the fewest that hold them when it is 0. */
struct chunk_build {
    struct buffer out;
    size_t open[80];
    unsigned tag[80], depth, width;
};

/* A container; its length is known, and put in front of its payload, when it is closed. */
void open_chunk(struct chunk_build *w, unsigned tag);
void close_chunk(struct chunk_build *w);
void leaf_chunk(struct chunk_build *w, unsigned tag, const void *payload, size_t size);
/* A string with its NUL; with a byte of mattype before it. */
void text_chunk(struct chunk_build *w, unsigned tag, const char *string);
void reference_chunk(struct chunk_build *w, unsigned tag, unsigned mattype, const char *name);
/* `count` vertices whose floats count up from `first`: position 0 is first, the next float first + 1 ... */
void vertex_chunk(struct chunk_build *w, unsigned tag, unsigned stride, unsigned count, float first);
/* A face list, with the byte of points per face unless `points` is 0. */
void face_chunk(struct chunk_build *w, unsigned tag, unsigned points, const int32_t *list, size_t count);
#define conn(w, ...)                                                                                         \
    face_chunk(w, CHUNK_CONNECTION_LIST, 0, (const int32_t[]){__VA_ARGS__},                                  \
               sizeof((int32_t[]){__VA_ARGS__}) / 4)
#define pconn(w, points, ...)                                                                                \
    face_chunk(w, CHUNK_PCONN_LIST, points, (const int32_t[]){__VA_ARGS__},                                  \
               sizeof((int32_t[]){__VA_ARGS__}) / 4)

/* Bytes of magic and of the HEADER that begin_model writes with the shortest lengths: where the next chunk
 * begins. */
#define MODEL_START (8 + 7)

/* Magic and HEADER of a geometry file; closes what is open, BIZ_DONE behind it. */
struct chunk_build begin_model(unsigned width);
void end_model(struct chunk_build *w);
/* OBJECT > LOD > PATCH > PMESH, left open. */
void open_pmesh(struct chunk_build *w);
/* A PMESH of three vertices and a triangle. */
void small_pmesh(struct chunk_build *w);
/* A whole model of one triangle. */
struct chunk_build triangle_model(unsigned width);

struct decoded {
    struct arena arena;
    struct container container;
    const struct resource *resource; /* NULL when no format recognises the file */
    const struct mesh *mesh;
};
/* Probes and decodes the first `size` bytes from a copy of that size, so that the sanitizer sees a read past
 * the end and a string that was left in the input. */
struct decoded decode_chunks(const struct buffer *file, size_t size, const char *name);
/* Decodes what must be recognised as BGF, and frees the file. */
struct decoded decode_model(struct chunk_build *w);
void free_decoded(struct decoded *r);

void assert_decoded(const struct decoded *r, uint32_t vertex_count, uint32_t triangle_count);
/* Decodes and frees a file that is declined because of its tree: damaged, nothing of it decoded. */
void assert_does_not_close(struct chunk_build *w, uint64_t offset, enum container_reason reason,
                           enum error_code code);
/* Decodes a generated file and compares it with its truth. */
void assert_is_truth(const struct corpus_file *file);

#endif
