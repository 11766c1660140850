/* arena.h - memory that is freed all at once.
 *
 * A decoder's result and its temporaries live in one arena; nobody frees single objects. An arena belongs to
 * one thread at a time. Memory is zeroed, unless it is asked for raw, and aligned to 16 bytes.
 */
#ifndef ANCHORAGE_ARENA_H
#define ANCHORAGE_ARENA_H

#include <stddef.h>

struct arena_block;

/* All zero is a valid, empty arena. */
struct arena {
    struct arena_block *block; /* the newest; older ones hang behind it */
    struct arena_block *spare; /* large ones that a reset kept */
    size_t bytes;              /* of the blocks in use */
};

/* `size` zeroed bytes that live until arena_free or arena_reset; NULL when memory runs out. A size of 0 gives
 * a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size);

/* Room for `count` elements of `size` bytes, zeroed; NULL when the product overflows or memory runs out. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* The same, not zeroed: for large arrays that are filled at once. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/* A copy of `size` bytes with a NUL behind them; NULL when memory runs out. */
char *arena_copy(struct arena *arena, const void *bytes, size_t size);

/* Forgets every object; keeps the newest block for reuse, so that a loop over many small inputs costs no
 * malloc, and up to 16 MiB of large blocks, so that one over large inputs costs few page faults. */
void arena_reset(struct arena *arena);

/* Gives everything back. The arena is then empty and usable. NULL is legal. */
void arena_free(struct arena *arena);

#endif
