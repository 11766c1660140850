/* bench.h - the measurements of `anchorage bench`: each beside the machine's own limit, in one run.
 *
 * Every bench prints a table (or one JSON object with `json`), returns 0, or 3 with a message on stderr. None
 * of them judges: figures are compared by people, in bench/README.md.
 */
#ifndef ANCHORAGE_BENCH_H
#define ANCHORAGE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/error.h"

struct bench_options {
    bool json;
    unsigned runs;  /* timed runs of each side, interleaved; the median counts */
    uint64_t bytes; /* of the corpus of `bench decode` */
    uint64_t files; /* small files; 0: the bench's own number */
    int threads;
    const char *directory; /* for corpora and stores; made and emptied by the bench */
};

/* The whole run against reading and hashing the same bytes and writing the distinct geometry to a flat file.
 */
int bench_decode(const struct bench_options *options);
/* The whole run over compressed archives of four kinds, against libarchive's reading of them two at a time.
 * Of the options all but `files` count; `bytes` are those of each kind, unpacked. */
int bench_archives(const struct bench_options *options);
/* A run over small files in which every hundredth and every tenth crashes its decoder, against the same run
 * without crashes. Only a program with ANCHORAGE_TEST_HOOKS can do that (`make bench-crash`). Of the options
 * all but `bytes` count. */
int bench_crash(const struct bench_options *options);
/* The codecs: bytes per vertex, encode and decode GB/s. */
int bench_store(const struct bench_options *options);
/* The pass over data sections and all of location, against reading memory and the earlier decoders' method,
 * and on the worst data. Of the options `json` and `runs` count. */
int bench_scan(const struct bench_options *options);

/* What a server takes for searches, resources and geometry of 100 000 resources. Of the options `json` and
 * `directory` count. */
int bench_serve(const struct bench_options *options);
/* Page data against a scan over the store's resource values, and thumbnails a second, over a store of the
 * size of the studied disc. Of the options `json`, `runs`, `threads` and `directory` count. */
int bench_report(const struct bench_options *options);

/* What a run took: the program and all processes it started. */
struct bench_usage {
    double seconds;
    double processor;   /* seconds, user and system */
    uint64_t anonymous; /* peak of anonymous and shared memory as sampled every 5 ms, bytes; 0: not sampled */
};
/* `run` over an input, in a process of its own. Sampling memory slows it. False with *err set when it fails.
 */
bool bench_run_program(const char *store, const char *input, int threads, bool sample,
                       struct bench_usage *usage, struct error *err);
/* Removes a store and whatever a run left of one. */
void bench_remove_store(const char *store);

/* Says why a bench cannot go on; the program's exit status. */
int bench_failed(const struct error *err);

/* The median of values[0..count), which it sorts; count > 0. */
double bench_median(double *values, unsigned count);

#endif
