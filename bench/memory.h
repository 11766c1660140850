/* memory.h - what a running program and its children take, for measurements and tests.
 */
#ifndef ANCHORAGE_BENCH_MEMORY_H
#define ANCHORAGE_BENCH_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes of anonymous memory of the process and its children, and of the memfds that it holds, which they
 * share: each page once. What cannot be read counts as nothing. Any thread. */
uint64_t memory_of_processes(pid_t pid);

#endif
