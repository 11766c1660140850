/* arena.c - see arena.h */
#include "arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large enough that a small model takes one malloc, small enough that thousands of arenas may wait in a
 * queue. */
#define ARENA_BLOCK_SIZE ((size_t)16 << 10)
/* A block kept by arena_reset is cleared when used again; past this size giving it back is cheaper. */
#define ARENA_KEEP_SIZE ((size_t)1 << 20)
#define ARENA_ALIGN     ((size_t)16)
/* Once an arena has taken so much, or for an object of this size, blocks are mapped by themselves, as huge
 * pages: a large mesh is written once, and 512 page faults for 2 MiB take longer than filling them. */
#define ARENA_LARGE ((size_t)1 << 20)
#define ARENA_HUGE  ((size_t)2 << 20)
/* So much of them is kept for the next input: the map of a section of 150 MB (anchor_scan.h). Getting its
 * memory from the kernel takes a sixth of the pass. */
#define ARENA_SPARE ((size_t)16 << 20)

struct arena_block {
    struct arena_block *older;
    size_t used, size;
    size_t mapped; /* bytes of the mapping; 0: from malloc */
    bool dirty;    /* its bytes need not be zero: begun by a raw array, or reused after a reset */
    _Alignas(16) unsigned char bytes[];
};

/* Zeroed memory for a block of at least that room, at a huge page's boundary; NULL when there is none. */
static struct arena_block *arena_map(size_t room)
{
    size_t size = (sizeof(struct arena_block) + room + ARENA_HUGE - 1) & ~(ARENA_HUGE - 1);
    if (size < room || size > SIZE_MAX - ARENA_HUGE)
        return NULL;
    char *start = mmap(NULL, size + ARENA_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start & (ARENA_HUGE - 1);
    if (before)
        munmap(start, before);
    munmap(start + before + size, ARENA_HUGE - before);
    struct arena_block *block = (void *)(start + before);
    madvise(block, size, MADV_HUGEPAGE); /* a wish: without them it is only slower */
    *block = (struct arena_block){.size = size - sizeof *block, .mapped = size};
    return block;
}

/* Takes the smallest spare block that has the room; NULL when none has. */
static struct arena_block *arena_reuse(struct arena *arena, size_t room)
{
    struct arena_block **best = NULL;
    for (struct arena_block **at = &arena->spare; *at; at = &(*at)->older)
        if ((*at)->size >= room && (!best || (*at)->size < (*best)->size))
            best = at;
    if (!best)
        return NULL;
    struct arena_block *block = *best;
    *best = block->older;
    block->used = 0;
    block->dirty = true;
    return block;
}

static struct arena_block *arena_grow(struct arena *arena, size_t size, bool cleared)
{
    size_t room = size > ARENA_BLOCK_SIZE ? size : ARENA_BLOCK_SIZE;
    if (room > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block;
    if (room >= ARENA_LARGE || arena->bytes >= ARENA_LARGE) {
        block = arena_reuse(arena, room);
        block = block ? block : arena_map(room);
    } else {
        block = cleared ? calloc(1, sizeof *block + room) : malloc(sizeof *block + room);
        if (block)
            *block = (struct arena_block){.size = room, .dirty = !cleared};
    }
    if (!block)
        return NULL;
    block->older = arena->block;
    arena->block = block;
    arena->bytes += sizeof *block + block->size;
    return block;
}

static void *arena_take(struct arena *arena, size_t size, bool cleared)
{
    if (size > SIZE_MAX - ARENA_ALIGN)
        return NULL;
    size = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    struct arena_block *block = arena->block;
    if (!block || size > block->size - block->used) {
        block = arena_grow(arena, size, cleared);
        if (!block)
            return NULL;
    }
    void *object = block->bytes + block->used;
    block->used += size;
    if (block->dirty && cleared)
        memset(object, 0, size);
    return object;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return arena_take(arena, size, true);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return arena_alloc(arena, bytes);
}

void *arena_array_raw(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return arena_take(arena, bytes, false);
}

char *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;
    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

static void arena_drop(struct arena_block *block)
{
    if (block->mapped)
        munmap(block, block->mapped);
    else
        free(block);
}

static void arena_drop_all(struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;
        arena_drop(block);
        block = older;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_block *newest = arena->block;
    size_t spare = 0;
    for (struct arena_block *block = arena->spare; block; block = block->older)
        spare += block->mapped;
    arena->block = NULL;
    arena->bytes = 0;
    for (struct arena_block *block = newest, *older; block; block = older) {
        older = block->older;
        if (block->mapped && block->mapped <= ARENA_SPARE - spare) {
            spare += block->mapped;
            block->older = arena->spare;
            arena->spare = block;
        } else if (block == newest && !block->mapped && block->size <= ARENA_KEEP_SIZE) {
            block->older = NULL;
            block->used = 0;
            block->dirty = true;
            arena->block = block;
            arena->bytes = sizeof *block + block->size;
        } else {
            arena_drop(block);
        }
    }
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    arena_drop_all(arena->block);
    arena_drop_all(arena->spare);
    *arena = (struct arena){0};
}
