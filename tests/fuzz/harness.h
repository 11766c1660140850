/* harness.h - what every fuzz harness is made of: an entry point, seeds, and a way to say that a property
 * fails.
 *
 * A harness is one file fuzz_NAME.c with LLVMFuzzerTestOneInput and fuzz_seeds. libFuzzer drives it in builds
 * of config=fuzz; in all others standalone.c does, so that no harness can rot and every seed is a test.
 * Harnesses run in one thread.
 */
#ifndef ANCHORAGE_FUZZ_HARNESS_H
#define ANCHORAGE_FUZZ_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/buffer.h"

/* Runs one input and returns 0. What must hold is checked with MUST, which ends the program. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Hands a small corpus to put_seed, the same on every call. */
void fuzz_seeds(void);

/* Called once before anything else, by libFuzzer or by standalone.c. Sets the locale as the program does;
 * with
 * `--seeds DIR` writes the seeds there and ends the program. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A seed, written as DIR/NAME; `name` is a file name. */
void put_seed(const char *name, const void *bytes, size_t size);
/* The same, and frees the buffer. */
void put_seed_buffer(const char *name, struct buffer *bytes);

/* A property: what is wrong, printf-like, when it does not hold. Shown with its place, then the program
 * aborts, which both drivers report as a finding. */
#define MUST(holds, ...)                                                                                     \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            must_fail(__FILE__, __LINE__, #holds, __VA_ARGS__);                                              \
    } while (0)
void must_fail(const char *file, int line, const char *property, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), noreturn, cold));

/* An exact copy on the heap, so that a sanitizer sees a read past its end. Never NULL; the caller frees it.
 */
uint8_t *exact_copy(const void *bytes, size_t size);

#endif
