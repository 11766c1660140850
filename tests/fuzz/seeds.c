/* seeds.c - see seeds.h */
#include "tests/fuzz/seeds.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/corpus/corpus_internal.h"

/* Small enough that a mutation hits something that matters. */
#define TRIANGLES 12

static void hand_out(bool made, const char *name, struct corpus_file *file,
                     void (*each)(const char *name, struct buffer *bytes))
{
    if (!made) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    each(name, &file->bytes);
    corpus_file_free(file);
}

void seed_models(void (*each)(const char *name, struct buffer *bytes))
{
    struct rng rng = rng_make(1, 0);
    char name[64];
    for (unsigned kind = 0; kind < corpus_meshbin_kinds(); kind++) {
        struct corpus_file file = {0};
        snprintf(name, sizeof name, "kind-%02u.meshbin", kind);
        hand_out(corpus_meshbin(&rng, kind, TRIANGLES, &file), name, &file, each);
    }
    for (unsigned kind = 0; kind < corpus_bgf_kinds(); kind++) {
        struct corpus_file file = {0};
        snprintf(name, sizeof name, "kind-%02u.bgf", kind);
        hand_out(corpus_bgf(&rng, kind, TRIANGLES, &file), name, &file, each);
    }
    for (unsigned kind = 0; kind < corpus_bmf_kinds(); kind++) {
        struct corpus_file file = {0};
        snprintf(name, sizeof name, "kind-%02u.bmf", kind);
        hand_out(corpus_bmf(&rng, kind, &file), name, &file, each);
    }
}

void seed_xpr2(void (*each)(const char *name, struct buffer *bytes))
{
    struct world world = {.seed = 1, .triangles_cap = 40, .pool = 2, .captures = json_array()};
    char name[64];
    for (unsigned i = 0; i < 8; i++) {
        struct corpus_file file = {0};
        snprintf(name, sizeof name, "single-%u.xpr", i);
        hand_out(corpus_weapon(&world, i, 0, &file), name, &file, each);
    }
    for (unsigned i = 0; i < 4; i++) {
        struct corpus_file file = {0};
        snprintf(name, sizeof name, "stage-%u.xpr", i);
        hand_out(corpus_stage(&world, i, 6, i % 2 ? 8192 : 0, &file), name, &file, each);
    }
    json_decref(world.captures);
}
