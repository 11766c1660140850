/* anchor_index.c - see anchor_index.h */
#include "anchor_index.h"

#include <string.h>

#include "anchor_words.h"
#include "reader.h"

#define WORDS_PER_BLOCK  32u
#define PLACES_PER_BLOCK 16u
#define INDICES          65536u
#define LENGTH_CLASSES   2048u /* runs are sorted by length up to this */
/* Words that all searches together may visit, per word of the section, and for any section; one search gets a
 * part of what is left. Real files need a small part of one pass. */
#define STEPS_PER_WORD 4u
#define STEPS_FREE     ((uint64_t)16 << 20)
#define STEPS_SHARE    8u
/* Runs that are kept of a class: one for so many blocks of the section, and for any section. */
#define RUNS_PER_BLOCKS 8u
#define RUNS_FREE       4096u

/* ---- runs
 * -------------------------------------------------------------------------------------------------- */

/* Runs as they are found, in the order of the section. There are at most `most` of them: where there would be
 * more, the short ones are given up, and `kept_from` says from which length on they are all there. */
struct run_list {
    size_t count, room, most;
    struct anchor_run *runs;
    struct arena *arena;
    uint64_t shortest, kept_from;
    bool failed; /* memory ran out */
};

/* Doubles the length that is kept until half of the list is free. */
static void give_up_short_runs(struct run_list *list)
{
    size_t kept = list->count;
    while (kept > list->most / 2) {
        list->kept_from = list->kept_from ? list->kept_from * 2 : 8;
        kept = 0;
        for (size_t i = 0; i < list->count; i++)
            if (list->runs[i].length >= list->kept_from)
                list->runs[kept++] = list->runs[i];
        list->count = kept;
    }
}

/* The length from which on runs are kept. */
static uint64_t least_length(const struct run_list *list)
{
    uint64_t least = list->shortest > list->kept_from ? list->shortest : list->kept_from;
    return least ? least : 1;
}

static void add_run(struct run_list *list, uint64_t start, uint64_t end, uint16_t top)
{
    if (end - start < least_length(list) || list->failed)
        return;
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 1024;
        struct anchor_run *grown = arena_array(list->arena, room, sizeof *grown);
        list->failed = !grown;
        if (!grown)
            return;
        if (list->count)
            memcpy(grown, list->runs, list->count * sizeof *grown);
        list->runs = grown;
        list->room = room;
    }
    list->runs[list->count++] = (struct anchor_run){start, end - start, top};
    if (list->count == list->most)
        give_up_short_runs(list);
}

/* Runs below `bound` among blocks [first, end). */
static void runs_of_blocks(const struct anchor_map *map, uint64_t first, uint64_t end, uint32_t bound,
                           struct run_list *out)
{
    struct anchor_words tops = anchor_block_words(map);
    uint64_t shortest = (least_length(out) + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK;
    while (end - first >= shortest) {
        uint64_t large = anchor_behind_large(tops, first, first + shortest, bound);
        if (large > first) {
            first = large;
            continue;
        }
        uint64_t stop = anchor_first_large(tops, first + shortest, end, bound);
        add_run(out, first * WORDS_PER_BLOCK, stop * WORDS_PER_BLOCK, anchor_greatest(tops, first, stop));
        first = stop;
    }
}

/* Runs below `bound` among words [first, end). */
static void runs_of_words(struct anchor_words words, uint64_t first, uint64_t end, uint32_t bound,
                          struct run_list *out)
{
    uint64_t shortest = least_length(out);
    while (end - first >= shortest) {
        uint64_t large = anchor_behind_large(words, first, first + shortest, bound);
        if (large > first) {
            first = large;
            continue;
        }
        uint64_t stop = anchor_first_large(words, first + shortest, end, bound);
        add_run(out, first, stop, anchor_greatest(words, first, stop));
        first = stop;
    }
}

/* The first place from `place` on that holds two words below 256; behind the map when there is none. */
static uint64_t next_small(const struct anchor_map *map, uint64_t place)
{
    size_t b = (size_t)(place / PLACES_PER_BLOCK);
    unsigned bits = b < map->blocks ? map->small[b] & ~0u << place % PLACES_PER_BLOCK : 0;
    while (!bits && ++b < map->blocks)
        bits = map->small[b];
    return (uint64_t)b * PLACES_PER_BLOCK + (bits ? (unsigned)__builtin_ctz(bits) : 0);
}

/* The first place from `place` on that does not. */
static uint64_t next_not_small(const struct anchor_map *map, uint64_t place)
{
    size_t b = (size_t)(place / PLACES_PER_BLOCK);
    unsigned bits = ~(unsigned)map->small[b] & 0xFFFFu << place % PLACES_PER_BLOCK & 0xFFFF;
    while (!bits && ++b < map->blocks)
        bits = ~(unsigned)map->small[b] & 0xFFFF;
    return (uint64_t)b * PLACES_PER_BLOCK + (bits ? (unsigned)__builtin_ctz(bits) : 0);
}

/* Runs of 4-byte places that hold two words below 256, from the map. A window may end in half a place: the
 * word behind a run is taken in when it is below 256 too, which `small` does not say of a place whose other
 * word is large. */
static void runs_of_places(const struct anchor_map *map, struct run_list *out)
{
    uint64_t words = map->size / 2, places = (uint64_t)map->blocks * PLACES_PER_BLOCK;
    for (uint64_t place = next_small(map, 0), stop; place < places; place = next_small(map, stop)) {
        stop = next_not_small(map, place);
        if (2 * (stop - place) + 1 < least_length(out))
            continue;
        uint64_t end =
            2 * stop < words && load_u16be(map->data + 4 * stop) < ANCHOR_SMALL ? 2 * stop + 1 : 2 * stop;
        end = end < words ? end : words;
        add_run(out, 2 * place, end, anchor_greatest(anchor_section_words(map), 2 * place, end));
    }
}

/* Sorts by length, the longest first; those of LENGTH_CLASSES words and more in any order. */
static bool sort_runs(const struct run_list *list, struct arena *arena, struct anchor_class *out)
{
    uint32_t slots[LENGTH_CLASSES] = {0};
    out->count = list->count;
    out->runs = arena_array(arena, list->count, sizeof *out->runs);
    if (!out->runs)
        return false;
    for (size_t i = 0; i < list->count; i++)
        slots[list->runs[i].length < LENGTH_CLASSES ? list->runs[i].length : LENGTH_CLASSES - 1]++;
    uint32_t sum = 0;
    for (uint32_t i = LENGTH_CLASSES; i-- > 0;) {
        uint32_t count = slots[i];
        slots[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < list->count; i++) {
        uint64_t length = list->runs[i].length;
        out->runs[slots[length < LENGTH_CLASSES ? length : LENGTH_CLASSES - 1]++] = list->runs[i];
    }
    return true;
}

/* Whether so many indices can use enough of so many vertices at all. */
static bool can_cover(struct anchor_counts counts)
{
    return counts.index_count >= ANCHOR_COVERAGE_MIN * counts.vertex_count;
}

/* Words that a run of its class has when a window lies in it: all but those that share a block, or a place,
 * with larger words. */
static uint64_t words_needed(struct anchor_counts counts)
{
    if (counts.vertex_count <= ANCHOR_SMALL)
        return counts.index_count;
    uint64_t blocks = counts.index_count < 2 * WORDS_PER_BLOCK
                          ? 0
                          : (counts.index_count - WORDS_PER_BLOCK + 2) / WORDS_PER_BLOCK;
    return blocks * WORDS_PER_BLOCK;
}

/* The class of the least bound that such a buffer's words are all below. */
static struct anchor_class *class_of(struct anchor_index *index, uint32_t vertex_count)
{
    unsigned k = 0;
    while (k + 1 < index->class_count && index->classes[k + 1].bound >= vertex_count)
        k++;
    return &index->classes[k];
}

/* Bounds from 65536 down, 256 among them, where blocks give way to words. */
static void set_bounds(struct anchor_index *index)
{
    uint32_t bound = INDICES;
    while (index->class_count < ANCHOR_CLASSES && bound >= 3) {
        index->classes[index->class_count++] = (struct anchor_class){.bound = bound, .shortest = UINT64_MAX};
        uint32_t next = bound - bound / 5 - (bound < 5);
        bound = bound > ANCHOR_SMALL && next < ANCHOR_SMALL ? ANCHOR_SMALL : next;
    }
}

/* Makes the runs of one class from those of the one before it, all of whose words are below a greater bound.
 */
static void refine(const struct anchor_map *map, const struct run_list *from, uint32_t bound,
                   struct run_list *to)
{
    to->count = 0;
    to->kept_from = from->kept_from;
    for (size_t i = 0; i < from->count; i++) {
        uint64_t start = from->runs[i].start, end = start + from->runs[i].length;
        if (from->runs[i].top < bound)
            add_run(to, start, end, from->runs[i].top);
        else if (bound > ANCHOR_SMALL)
            runs_of_blocks(map, start / WORDS_PER_BLOCK, end / WORDS_PER_BLOCK, bound, to);
        else
            runs_of_words(anchor_section_words(map), start, end, bound, to);
    }
}

/* A finer class is made of runs that the coarser ones kept: what is kept must be long enough for all that
 * follow. */
static uint64_t shortest_from(const struct anchor_index *index, unsigned k, bool words)
{
    uint64_t shortest = UINT64_MAX;
    for (; k < index->class_count && (index->classes[k].bound <= ANCHOR_SMALL) == words; k++)
        if (index->classes[k].shortest < shortest)
            shortest = index->classes[k].shortest;
    return shortest;
}

/* Makes every class that some buffer needs: those of blocks one from the other, then those of words. */
static bool make_classes(struct anchor_index *index, struct arena *arena)
{
    struct run_list lists[2] = {{.arena = arena}, {.arena = arena}};
    int current = 0;
    bool words = false;
    lists[0].most = lists[1].most = index->map->blocks / RUNS_PER_BLOCKS + RUNS_FREE;
    for (unsigned k = 0; k < index->class_count; k++) {
        struct anchor_class *class = &index->classes[k];
        bool first = k == 0 || words != (class->bound <= ANCHOR_SMALL);
        words = class->bound <= ANCHOR_SMALL;
        struct run_list *from = &lists[current], *to = &lists[!current];
        to->shortest = shortest_from(index, k, words);
        if (first)
            to->count = to->kept_from = 0;
        if (to->shortest == UINT64_MAX)
            continue; /* none from here to the last class of this kind */
        if (!first)
            refine(index->map, from, class->bound, to);
        else if (words)
            runs_of_places(index->map, to);
        else
            runs_of_blocks(index->map, 0, index->map->blocks, class->bound, to);
        class->kept_from = to->kept_from;
        if (to->failed || (class->shortest != UINT64_MAX && !sort_runs(to, arena, class)))
            return false;
        current = !current;
    }
    return true;
}

bool anchor_index_open(struct anchor_index *index, const struct anchor_map *map,
                       const struct anchor_counts *wanted, size_t wanted_count, struct arena *arena)
{
    *index = (struct anchor_index){.map = map};
    index->steps = STEPS_PER_WORD * (uint64_t)map->blocks * WORDS_PER_BLOCK + STEPS_FREE;
    index->uses = arena_array(arena, INDICES, sizeof *index->uses);
    index->marks = arena_array(arena, INDICES, sizeof *index->marks);
    if (!index->uses || !index->marks)
        return false;
    set_bounds(index);
    for (size_t i = 0; i < wanted_count; i++) {
        struct anchor_class *class = class_of(index, wanted[i].vertex_count);
        uint64_t need = words_needed(wanted[i]);
        if (can_cover(wanted[i]) && need && need < class->shortest)
            class->shortest = need;
    }
    return make_classes(index, arena);
}

/* ---- windows
 * ----------------------------------------------------------------------------------------------- */

struct search {
    struct anchor_index *index;
    struct anchor_counts counts;
    struct anchor_words words;
    uint64_t word_count; /* of the section */
    uint64_t steps;      /* left for this search */
    uint32_t floor;      /* the least greatest word of a window that uses enough */
    const struct anchor_search *caller;
    bool ended;    /* the caller has had enough, or the steps ran out */
    bool given_up; /* runs that short were given up */
};

static uint32_t word_at(const struct search *s, uint64_t word)
{
    return load_u16be(s->words.bytes + 2 * word);
}

static uint64_t even_up(uint64_t word)
{
    return (word + 1) & ~UINT64_C(1);
}

static bool spend(struct search *s, uint64_t steps)
{
    if (steps > s->steps) {
        s->steps = 0;
        s->ended = true;
        return false;
    }
    s->steps -= steps;
    return true;
}

/* Windows worth counting that are counted one by one; where there are more, a window slides. */
#define SINGLE_MAX 6

static void report(struct search *s, uint64_t first, uint32_t distinct, bool exact)
{
    struct anchor_window window = {.offset = 2 * first, .distinct = distinct, .exact = exact};
    if (distinct > s->floor && !s->caller->report(s->caller->context, &window))
        s->ended = true;
}

static uint32_t count_in(struct search *s, uint64_t first)
{
    uint32_t distinct = 0;
    for (uint64_t w = first; w < first + s->counts.index_count; w++)
        distinct += s->index->uses[word_at(s, w)]++ == 0;
    return distinct;
}

/* The same for one window alone: marks wait for nothing, as counts do. */
static uint32_t count_once(struct search *s, uint64_t first)
{
    uint8_t *marks = s->index->marks;
    const uint8_t *words = s->words.bytes + 2 * first;
    uint32_t distinct = 0, limit = s->counts.vertex_count, size = s->counts.index_count;
    memset(marks, 0, limit);
    for (uint32_t i = 0; i < size; i++)
        marks[load_u16be(words + 2 * (size_t)i)] = 1;
    for (uint32_t v = 0; v < limit; v++)
        distinct += marks[v];
    return distinct;
}

static void count_out(struct search *s, uint64_t first)
{
    for (uint64_t w = first; w < first + s->counts.index_count; w++)
        s->index->uses[word_at(s, w)]--;
}

/* Slides a window from `first` on over words that end at `end`, keeping count of each index's uses. */
static void slide(struct search *s, uint64_t first, uint64_t end)
{
    uint32_t *uses = s->index->uses, size = s->counts.index_count;
    if (!spend(s, size))
        return;
    uint32_t distinct = count_in(s, first);
    uint64_t wanted = 0;
    for (uint64_t place = 0;; place++) {
        if (place % 64 == 0) {
            uint64_t left = (end - first - size) / 2 + 1;
            wanted = s->caller->filter(s->caller->context, 2 * first,
                                       left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX);
        }
        if (distinct > s->floor && wanted >> place % 64 & 1)
            report(s, first, distinct, uses[s->counts.vertex_count - 1] != 0);
        if (s->ended || first + 2 + size > end || !spend(s, 2))
            break;
        for (uint64_t w = first; w < first + 2; w++)
            distinct -= --uses[word_at(s, w)] == 0;
        for (uint64_t w = first + size; w < first + size + 2; w++)
            distinct += uses[word_at(s, w)]++ == 0;
        first += 2;
    }
    count_out(s, first);
}

/* Looks at every window in words [start, end), all below vertex_count. */
static void search_stretch(struct search *s, uint64_t start, uint64_t end)
{
    uint64_t single[SINGLE_MAX];
    uint32_t found = 0, size = s->counts.index_count;
    start = even_up(start);
    if (start + size > end)
        return;
    uint64_t places = (end - start - size) / 2 + 1;
    for (uint64_t place = 0; place < places && spend(s, 8); place += 64) {
        uint64_t asked = places - place < 64 ? (UINT64_C(1) << (places - place)) - 1 : UINT64_MAX;
        uint64_t wanted = asked & s->caller->filter(s->caller->context, 2 * start + 4 * place, asked);
        if (!spend(s, (uint64_t)__builtin_popcountll(wanted)))
            return;
        for (; wanted; wanted &= wanted - 1) {
            uint64_t first = start + 2 * (place + (uint64_t)__builtin_ctzll(wanted));
            if (found == SINGLE_MAX) {
                slide(s, single[0], end);
                return;
            }
            single[found++] = first;
        }
    }
    for (uint32_t i = 0; i < found && !s->ended && spend(s, size); i++) {
        uint32_t distinct = count_once(s, single[i]);
        report(s, single[i], distinct, s->index->marks[s->counts.vertex_count - 1]);
    }
}

/* Finds the stretches of words below vertex_count in [start, end) that hold a window. A window is tested from
 * its end: the first word too large that is met rules out every window in front of it. */
static void search_words(struct search *s, uint64_t start, uint64_t end)
{
    uint32_t limit = s->counts.vertex_count, size = s->counts.index_count;
    end = end < s->word_count ? end : s->word_count;
    for (uint64_t first = even_up(start); !s->ended && first + size <= end;) {
        uint64_t low = anchor_behind_large(s->words, first, first + size, limit);
        if (!spend(s, first + size - low + 1))
            return;
        if (low > first) {
            first = even_up(low);
            continue;
        }
        uint64_t high = anchor_first_large(s->words, first + size, end, limit);
        if (!spend(s, high - first))
            return;
        if (anchor_first_large(s->words, first, high, s->floor) < high)
            search_stretch(s, first, high);
        first = even_up(high);
    }
}

/* Looks at a stretch of whole blocks and the words around it that are small enough: fewer than a block at
 * each end, unless what follows are walls, where nothing begins. */
static void search_around(struct search *s, uint64_t start, uint64_t end)
{
    uint64_t from = start < WORDS_PER_BLOCK ? 0 : start - WORDS_PER_BLOCK, to = end + WORDS_PER_BLOCK;
    end = end < s->word_count ? end : s->word_count;
    to = to < s->word_count ? to : s->word_count;
    search_stretch(s, anchor_behind_large(s->words, from, start, s->counts.vertex_count),
                   anchor_first_large(s->words, end, to, s->counts.vertex_count));
}

/* Looks into one run of blocks for blocks below the exact bound, from the end of what a window needs, as
 * search_words does; a window may reach into the blocks at both ends. */
static void search_blocks(struct search *s, const struct anchor_run *run)
{
    struct anchor_words tops = anchor_block_words(s->index->map);
    uint32_t limit = s->counts.vertex_count;
    /* The blocks that a window shares at its ends add fewer than 64 indices. */
    uint32_t floor = s->floor < 2 * WORDS_PER_BLOCK ? 0 : s->floor - 2 * WORDS_PER_BLOCK;
    uint64_t need = words_needed(s->counts) / WORDS_PER_BLOCK;
    uint64_t end = (run->start + run->length) / WORDS_PER_BLOCK;
    for (uint64_t first = run->start / WORDS_PER_BLOCK; first + need <= end && !s->ended;) {
        uint64_t low = anchor_behind_large(tops, first, first + need, limit);
        if (!spend(s, first + need - low + 1))
            return;
        if (low > first) {
            first = low;
            continue;
        }
        uint64_t high = anchor_first_large(tops, first + need, end, limit);
        if (!spend(s, high - first))
            return;
        if (anchor_first_large(tops, first, high, floor) < high)
            search_around(s, first * WORDS_PER_BLOCK, high * WORDS_PER_BLOCK);
        first = high;
    }
}

bool anchor_index_find(struct anchor_index *index, struct anchor_counts counts,
                       const struct anchor_search *search)
{
    struct search s = {.index = index,
                       .counts = counts,
                       .words = anchor_section_words(index->map),
                       .word_count = index->map->size / 2};
    s.caller = search;
    uint64_t need = words_needed(counts);
    if (!can_cover(counts) || !need)
        return true;
    s.floor = (uint32_t)(ANCHOR_COVERAGE_MIN * counts.vertex_count + 0.999) - 1;
    uint64_t granted = index->steps / STEPS_SHARE;
    s.steps = granted;
    const struct anchor_class *class = class_of(index, counts.vertex_count);
    if (need < class->kept_from)
        s.given_up = true;
    for (size_t i = 0; i < class->count && !s.ended; i++) {
        const struct anchor_run *run = &class->runs[i];
        if (run->length < need && run->length < LENGTH_CLASSES - 1)
            break;
        if (run->length < need)
            continue;
        if (class->bound > ANCHOR_SMALL) {
            /* Most runs are other buffers' with fewer vertices: their greatest word tells without a look
             * inside. */
            if (run->top + 2 * WORDS_PER_BLOCK >= s.floor)
                search_blocks(&s, run);
        } else if (run->top >= s.floor) {
            search_words(&s, run->start, run->start + run->length);
        }
    }
    index->steps -= granted - s.steps;
    return !s.ended && !s.given_up;
}
