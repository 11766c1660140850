/* bench.h - the measurements of `anchorage bench`: each beside the machine's own limit, in one run.
 *
 * Every bench prints a table (or one JSON object with `json`), returns 0, or 3 with a message on stderr. None
 * of them judges: figures are compared by people, in bench/README.md.
 */
#ifndef ANCHORAGE_BENCH_H
#define ANCHORAGE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

struct bench_options {
    bool json;
    unsigned runs;  /* timed runs of each side, interleaved; the median counts */
    uint64_t bytes; /* of the corpus of `bench decode` */
    uint64_t files; /* of the tar of small files */
    int threads;
    const char *directory; /* for corpora and stores; made and emptied by the bench */
};

/* The whole run against reading and hashing the same bytes and writing the distinct geometry to a flat file.
 */
int bench_decode(const struct bench_options *options);
/* The codecs: bytes per vertex, encode and decode GB/s. */
int bench_store(const struct bench_options *options);
/* The pass over data sections and all of location, against reading memory and the earlier decoders' method,
 * and on the worst data. Of the options `json` and `runs` count. */
int bench_scan(const struct bench_options *options);

/* What a server takes for searches, resources and geometry of 100 000 resources. Of the options `json` and
 * `directory` count. */
int bench_serve(const struct bench_options *options);

/* Seconds of the monotonic clock. */
double bench_now(void);
/* The median of values[0..count), which it sorts; count > 0. */
double bench_median(double *values, unsigned count);

#endif
