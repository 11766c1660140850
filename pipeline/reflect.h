/* reflect.h - whether two sets of points are each other's reflection in x. Pure. */
#ifndef ANCHORAGE_REFLECT_H
#define ANCHORAGE_REFLECT_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/arena.h"

/* Two positions are one when no coordinate differs by more than this share of the set's largest extent: some
 * hundred steps of f32, far below what a modeller moves a vertex by. */
#define REFLECT_TOLERANCE (1.0f / 65536)

enum reflect_answer {
    REFLECT_NO,
    REFLECT_YES,
    REFLECT_NOMEM,
};

/* Whether the points of `b`, with x negated when `mirrored`, can be paired one to one with those of `a`
 * within the tolerance. Both are [count][3] and in any order; points occur as often as they are stored.
 * Points that are not finite, and sets on which the search takes more than a bounded effort, are no match. n
 * log n. */
enum reflect_answer reflect_match(const float *a, const float *b, size_t count, bool mirrored,
                                  struct arena *arena);

#endif
