/* anchor_locate.c - see anchor_locate.h */
#include "anchor_locate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anchor_assign.h"
#include "anchor_context.h"
#include "anchor_evidence.h"
#include "anchor_gather.h"
#include "names.h"
#include "xbg7_mesh.h"

#define ROUNDS 4
/* A placement teaches others from this margin on. */
#define SURE_MARGIN 3.0
/* Scores: below the first a place is too weak to be taken, from the second on it may be called proven. */
#define SCORE_MIN     3.0
#define SCORE_PROVEN  12.0
#define MARGIN_PROVEN 6.0
/* What a run of normals that ends exactly where a longer block does counts against the shorter one: a chance
 * of a few in 10^13, as the end of a run is one place in millions and the lists begin at the same word. */
#define OUTGROWN 30.0
/* Longer runs that begin with the same vertices and are compared: more than a few are made up. */
#define RUNS_COMPARED 64u
/* Where only locality tells, the chosen place must be as near as this, and its rivals as far: strays exist.
 */
#define LOCALITY_NEAR  1.0
#define LOCALITY_FAR   (-2.2)
#define LOCALITY_APART 4.5
/* In a truncated file a place is claimed from these odds on that it is its own: about one in ninety against.
 */
#define OWN_ODDS_MIN 4.5

/* Resources of one block whose names are compared: more have no twins. */
#define TWINS_COMPARED 16u
/* A window that leaves more of the vertices unused is none that a list of theirs would be found by. */
#define UNUSED_MOST 0.2

struct locate {
    const struct anchor_input *in;
    const struct anchor_map *map;
    struct arena *arena;
    struct anchor_subject *subjects;
    size_t count, total; /* of subjects; of the container's resources */
    struct anchor_found *found;
    size_t found_count;
    double places;             /* 4-byte places of the section where a block may begin: outside the walls */
    double free_places;        /* those that no sure placement covers */
    struct anchor_range *sure; /* the sure placements' blocks, sorted, each once */
    size_t sure_count;
    /* Natural log: that a block which is there is its resource's, see own_odds; of forms that several
     * resources have, and that one has. */
    double own_odds[2];
};

/* ---- forms
 * ------------------------------------------------------------------------------------------------- */

/* Subjects in an order that puts equal forms together. */
struct form_key {
    uint32_t vertices, triangles, markers, subject;
};

static int key_order(const void *left, const void *right)
{
    const struct form_key *a = left, *b = right;
    if (a->vertices != b->vertices)
        return a->vertices < b->vertices ? -1 : 1;
    if (a->triangles != b->triangles)
        return a->triangles < b->triangles ? -1 : 1;
    if (a->markers != b->markers)
        return a->markers < b->markers ? -1 : 1;
    return a->subject < b->subject ? -1 : a->subject > b->subject;
}

/* Puts subjects of equal form into one group. Among forms of equal counts only the newest few are compared:
 * more do not occur, and a form that is searched for twice costs time only. */
static bool group_forms(struct locate *l)
{
    struct form_key *keys = arena_array(l->arena, l->count, sizeof *keys);
    l->found = arena_array(l->arena, l->count, sizeof *l->found);
    if (!keys || !l->found)
        return false;
    for (uint32_t i = 0; i < l->count; i++)
        keys[i] = (struct form_key){l->subjects[i].resource->vertices, l->subjects[i].resource->triangles,
                                    l->subjects[i].form.count, i};
    qsort(keys, l->count, sizeof *keys, key_order);
    for (size_t i = 0; i < l->count; i++) {
        struct anchor_subject *subject = &l->subjects[keys[i].subject];
        size_t from = l->found_count > 8 ? l->found_count - 8 : 0, g = l->found_count;
        while (g > from && !anchor_form_equal(&l->found[g - 1].form, &subject->form))
            g--;
        if (g == from) {
            l->found[l->found_count].form = subject->form;
            g = ++l->found_count;
        }
        subject->group = (uint32_t)(g - 1);
        l->found[g - 1].resources++;
    }
    return true;
}

/* ---- candidates
 * -------------------------------------------------------------------------------------------- */

/* Mixes a word into a hash; equal geometry in one container is all it has to tell. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(const uint8_t *bytes, uint64_t size, uint64_t hash)
{
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    uint64_t word = size;
    memcpy(&word, bytes, size);
    return mix(hash, word);
}

/* What a place's geometry is: its bytes, and its positions whatever their order, as they are and reflected in
 * x. */
struct content {
    uint64_t bytes, positions, mirrored;
    bool known;
};

static struct content content_of(const struct locate *l, const struct anchor_form *form,
                                 const struct candidate *candidate)
{
    struct content content = {.known = true};
    for (uint32_t m = 0; m < form->count; m++) {
        const struct buffer_place *place = &candidate->buffers[m];
        const uint8_t *vertices = l->in->data + place->vertex_offset;
        content.bytes =
            hash_bytes(l->in->data + place->index_offset, 2 * (uint64_t)place->index_count, content.bytes);
        content.bytes = hash_bytes(vertices, (uint64_t)place->vertex_count * place->stride, content.bytes);
        size_t position = xbg7_find_element(&form->markers[m], MESH_POSITION)->offset;
        for (uint32_t v = 0; v < place->vertex_count; v++) {
            uint8_t p[12];
            memcpy(p, vertices + (size_t)v * place->stride + position, 12);
            bool zero = !(p[0] & 0x7F) && !p[1] && !p[2] && !p[3];
            if (zero) /* both zeros are one x */
                p[0] = 0;
            content.positions += hash_bytes(p, 12, m);
            p[0] ^= zero ? 0 : 0x80;
            content.mirrored += hash_bytes(p, 12, m);
        }
    }
    return content;
}

/* Whether two places may hold equal or reflected geometry, by their extents: most do not, and need not be
 * read again. Of positions that make no sense extents say nothing. */
static bool may_be_same(const struct anchor_evidence *a, const struct anchor_evidence *b)
{
    bool equal = a->radius == b->radius;
    for (int k = 0; k < 3; k++)
        equal &= a->extent[k] == b->extent[k];
    return equal || a->nonsense || b->nonsense;
}

/* Numbers the contents of a subject's places: equal bytes, or a reflection in x, are no different answer.
 * Which of two reflected blocks is whose cannot be decided and need not be. */
static void number_contents(const struct locate *l, struct anchor_subject *subject)
{
    struct content contents[ANCHOR_CANDIDATES] = {0};
    struct anchor_choice *choices = subject->item.choices;
    for (uint32_t i = 0; i < subject->count; i++) {
        choices[i].content = i;
        for (uint32_t k = 0; k < i && choices[i].score > 0 && choices[i].content == i; k++) {
            if (choices[k].score <= 0 ||
                !may_be_same(&subject->candidates[k].evidence, &subject->candidates[i].evidence))
                continue;
            if (!contents[k].known)
                contents[k] = content_of(l, &subject->form, &subject->candidates[k]);
            if (!contents[i].known)
                contents[i] = content_of(l, &subject->form, &subject->candidates[i]);
            if (contents[k].bytes == contents[i].bytes || contents[k].positions == contents[i].mirrored)
                choices[i].content = choices[k].content;
        }
        subject->candidates[i].answer = (uint8_t)(choices[i].content + 1);
    }
}

/* Whether a sure placement covers a part of a place, or a part of one the place; sharing the whole is no such
 * thing. Sure placements do not overlap each other. */
static bool is_covered(const struct locate *l, const struct anchor_choice *choice)
{
    size_t low = 0, high = l->sure_count;
    while (low < high) { /* the first that ends behind the block's start */
        size_t middle = low + (high - low) / 2;
        if (l->sure[middle].end <= choice->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->sure_count && l->sure[low].start < choice->end &&
           (l->sure[low].start != choice->start || l->sure[low].end != choice->end);
}

static void set_choices(const struct locate *l, struct anchor_subject *subject, bool locality)
{
    for (uint32_t i = 0; i < subject->count; i++) {
        struct candidate *candidate = &subject->candidates[i];
        bool covered = !subject->sure && is_covered(l, &subject->item.choices[i]);
        candidate->score = anchor_score(&candidate->evidence, covered ? l->places : l->free_places,
                                        covered || subject->outgrown[i]) -
                           (subject->outgrown[i] ? OUTGROWN : 0);
        double without = locality ? 0 : (double)candidate->evidence.locality;
        subject->item.choices[i].score = candidate->score - without - SCORE_MIN;
        subject->item.choices[i].quality = anchor_quality(&candidate->evidence);
        subject->item.choices[i].sound = anchor_makes_sense(&candidate->evidence) && !subject->outgrown[i];
    }
}

/* Gives a subject its own copies of what was found for its form. */
static bool take_candidates(struct locate *l, struct anchor_subject *subject)
{
    const struct anchor_found *found = &l->found[subject->group];
    subject->count = subject->item.count = found->count;
    subject->candidates = arena_array(l->arena, found->count, sizeof *subject->candidates);
    subject->item.choices = arena_array(l->arena, found->count, sizeof *subject->item.choices);
    subject->outgrown = arena_array(l->arena, found->count, sizeof *subject->outgrown);
    if (!subject->candidates || !subject->item.choices || !subject->outgrown)
        return false;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct anchor_spot *spot = &found->spots[i];
        struct candidate *candidate = &subject->candidates[i];
        candidate->evidence = spot->evidence;
        candidate->buffers = arena_array(l->arena, subject->form.count, sizeof *candidate->buffers);
        if (!candidate->buffers)
            return false;
        anchor_place(&subject->form, spot->layout, spot->start, l->in->size, candidate->buffers);
        candidate->lead_size = (uint8_t)(spot->start < CANDIDATE_LEAD ? spot->start : CANDIDATE_LEAD);
        memcpy(candidate->lead + CANDIDATE_LEAD - candidate->lead_size,
               l->in->data + spot->start - candidate->lead_size, candidate->lead_size);
        subject->item.choices[i].start = spot->start;
        subject->item.choices[i].end = spot->end;
    }
    set_choices(l, subject, true);
    number_contents(l, subject);
    return true;
}

/* A block, and whose it may be. */
struct owner {
    uint64_t start, end;
    struct anchor_subject *subject;
};

static int owner_order(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* A place whose run of normals ends where it does. */
struct run {
    uint64_t vertices, end; /* of the run */
    uint64_t start;         /* of the indices */
};

static int run_order(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    if (a->vertices != b->vertices)
        return a->vertices < b->vertices ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Whether one of the sorted runs begins with the vertices at that place, ends behind `end`, and has indices
 * that take in those from `start` on. */
static bool is_part_of(const struct run *runs, size_t count, uint64_t vertices, uint64_t start, uint64_t end)
{
    size_t low = 0, high = count; /* to the first that begins behind, or there and ends behind */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = runs[middle].vertices < vertices ||
                      (runs[middle].vertices == vertices && runs[middle].end <= end);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    for (size_t looks = 0; low < count && runs[low].vertices == vertices && looks < RUNS_COMPARED; looks++)
        if (runs[low++].start <= start)
            return true;
    return false;
}

/* Marks candidates whose run of normals goes on to the end of another resource's candidate that begins with
 * them and has their indices: the run's length is that one's vertex count. A list that leaves its last
 * vertices unused, or whose last triangles use the first vertices only, makes a shorter count look exact. */
static bool mark_outgrown(struct locate *l)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < l->count; i++)
        count += l->subjects[i].count;
    struct run *whole = arena_array(l->arena, count, sizeof *whole);
    if (!whole)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const struct anchor_subject *s = &l->subjects[i];
        for (uint32_t k = 0; k < s->count; k++)
            if (s->candidates[k].evidence.run_end > 0)
                whole[kept++] = (struct run){s->candidates[k].buffers[0].vertex_offset,
                                             s->item.choices[k].end, s->item.choices[k].start};
    }
    qsort(whole, kept, sizeof *whole, run_order);
    for (size_t i = 0; i < l->count; i++) {
        const struct anchor_subject *s = &l->subjects[i];
        for (uint32_t k = 0; k < s->count; k++)
            if (s->candidates[k].evidence.run_end < 0)
                s->outgrown[k] = is_part_of(whole, kept, s->candidates[k].buffers[0].vertex_offset,
                                            s->item.choices[k].start, s->item.choices[k].end);
    }
    return true;
}

static bool gather(struct locate *l)
{
    struct anchor_gather state;
    if (!anchor_gather_open(&state, l->in, l->map, l->found, l->found_count, l->arena))
        return false;
    for (size_t i = 0; i < l->found_count; i++)
        if (!anchor_gather_find(&state, &l->found[i], l->arena))
            return false;
    for (size_t i = 0; i < l->count; i++)
        if (!take_candidates(l, &l->subjects[i]))
            return false;
    return mark_outgrown(l);
}

/* ---- decision
 * ---------------------------------------------------------------------------------------------- */

static bool assign(struct locate *l)
{
    struct anchor_item *items = arena_array(l->arena, l->count, sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < l->count; i++)
        items[i] = l->subjects[i].item;
    if (!anchor_assign(items, l->count, l->arena))
        return false;
    for (size_t i = 0; i < l->count; i++)
        l->subjects[i].item = items[i];
    return true;
}

/* Marks what may teach; whether that changed. */
static bool mark_sure(struct locate *l)
{
    bool changed = false;
    for (size_t i = 0; i < l->count; i++) {
        struct anchor_subject *s = &l->subjects[i];
        bool sure = s->item.chosen >= 0 && s->item.exact && s->item.margin >= SURE_MARGIN &&
                    !l->found[s->group].exhausted && !s->candidates[s->item.chosen].evidence.short_of_top;
        changed |= sure != s->sure;
        s->sure = sure;
    }
    return changed;
}

static int range_order(const void *left, const void *right)
{
    const struct anchor_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Notes what the sure placements cover: chance has only the rest to put something there. */
static void note_sure(struct locate *l)
{
    size_t count = 0, kept = 0;
    double covered = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct anchor_subject *s = &l->subjects[i];
        if (s->sure)
            l->sure[count++] = (struct anchor_range){s->item.choices[s->item.chosen].start,
                                                     s->item.choices[s->item.chosen].end};
    }
    qsort(l->sure, count, sizeof *l->sure, range_order);
    for (size_t i = 0; i < count; i++) {
        if (kept && range_order(&l->sure[kept - 1], &l->sure[i]) == 0)
            continue;
        covered += (double)(l->sure[i].end - l->sure[i].start) / 4;
        l->sure[kept++] = l->sure[i];
    }
    l->sure_count = kept;
    l->free_places = covered < l->places ? l->places - covered : 0;
}

static bool assign_with(struct locate *l, bool locality)
{
    for (size_t i = 0; i < l->count; i++)
        set_choices(l, &l->subjects[i], locality);
    return assign(l);
}

/* Marks what locality alone decides: without it the choice would be another, or not clear. */
static bool mark_only_near(struct locate *l)
{
    if (!assign_with(l, false))
        return false;
    int32_t *plain = arena_array(l->arena, l->count, sizeof *plain);
    if (!plain)
        return false;
    for (size_t i = 0; i < l->count; i++)
        plain[i] = l->subjects[i].item.margin >= ANCHOR_MARGIN ? l->subjects[i].item.chosen : -1;
    if (!assign_with(l, true))
        return false;
    for (size_t i = 0; i < l->count; i++)
        l->subjects[i].only_near = plain[i] != l->subjects[i].item.chosen;
    return true;
}

/* Whether the subject has another sound place: real geometry of equal counts. */
static bool has_rival(const struct anchor_subject *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->item.choices[i].content != s->item.choices[s->item.chosen].content &&
            s->item.choices[i].score > 0 && anchor_is_sound(&s->candidates[i].evidence))
            return true;
    return false;
}

/* Whether no other resource of the container has the subject's form. */
static bool is_single(const struct locate *l, const struct anchor_subject *s)
{
    return l->found[s->group].resources == 1;
}

/* The odds that a placed resource's block is its own and not one of equal counts that stands in for it: by
 * how many resources find nothing in this container, and how many find real geometry of their counts besides
 * their own, which are mostly those whose counts another resource has, too. All shares are counted as if half
 * a resource more had been seen: that none was among few means little. */
static void set_own_odds(struct locate *l)
{
    uint32_t placed = 0, sound[2] = {0}, rivals[2] = {0};
    for (size_t i = 0; i < l->count; i++) {
        const struct anchor_subject *s = &l->subjects[i];
        bool is_sound = s->item.chosen >= 0 && anchor_is_sound(&s->candidates[s->item.chosen].evidence);
        bool single = is_single(l, s);
        placed += s->item.chosen >= 0;
        sound[single] += is_sound;
        rivals[single] += is_sound && has_rival(s);
    }
    double missing = ((double)(l->count - placed) + 0.5) / ((double)l->count + 1);
    for (int single = 0; single < 2; single++) {
        double rival = (rivals[single] + 0.5) / (sound[single] + 1.0);
        l->own_odds[single] = log((1 - missing) / (missing * rival));
    }
}

/* Whether real geometry of the subject's counts, sound and nobody's, is left over where it shares a block:
 * that may be its own, and the stored size that speaks against it a number that means something else; unless
 * the shared block has that size and this one has not. `owners` are sorted. */
static bool leaves_its_own(const struct anchor_subject *s, const struct owner *owners, size_t count)
{
    const int mine = s->candidates[s->item.chosen].evidence.size_match;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct anchor_choice *other = &s->item.choices[i];
        struct owner key = {other->start, other->end, NULL};
        if (other->content != s->item.choices[s->item.chosen].content && other->score > 0 &&
            (anchor_is_sound(&s->candidates[i].evidence) ||
             anchor_is_whole_run(&s->candidates[i].evidence)) &&
            !(mine > 0 && s->candidates[i].evidence.size_match < 0) &&
            !bsearch(&key, owners, count, sizeof *owners, owner_order))
            return true;
    }
    return false;
}

/* The blocks that were chosen, and for whom, sorted. */
static struct owner *list_owners(const struct locate *l, size_t *count)
{
    struct owner *owners = arena_array(l->arena, l->count, sizeof *owners);
    *count = 0;
    for (size_t i = 0; owners && i < l->count; i++) {
        struct anchor_subject *s = &l->subjects[i];
        if (s->item.chosen < 0)
            continue;
        const struct anchor_choice *chosen = &s->item.choices[s->item.chosen];
        owners[(*count)++] = (struct owner){chosen->start, chosen->end, s};
    }
    if (*count)
        qsort(owners, *count, sizeof *owners, owner_order);
    return owners;
}

/* Moves the second of two twins from the first one's block to its reflection. That one may be another's as
 * well: models are drawn under several names. */
static void move_twin(const struct locate *l, struct anchor_subject *s)
{
    const struct anchor_choice *chosen = &s->item.choices[s->item.chosen];
    const uint64_t bytes = content_of(l, &s->form, &s->candidates[s->item.chosen]).bytes;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct anchor_choice *other = &s->item.choices[i];
        /* Of one content are copies as well, which are no reflection. */
        if (other->content == chosen->content && other->start != chosen->start && other->score > 0 &&
            anchor_is_sound(&s->candidates[i].evidence) &&
            content_of(l, &s->form, &s->candidates[i]).bytes != bytes) {
            s->item.chosen = (int32_t)i;
            return;
        }
    }
}

/* Twins are one answer to the decision, which may give both one block when that is nearer to both. They have
 * two: where names count on, the reflection is the second one's. */
static bool part_twins(struct locate *l)
{
    size_t count;
    const struct owner *owners = list_owners(l, &count);
    if (!owners)
        return false;
    for (size_t i = 0, end; i < count; i = end)
        for (end = i + 1; end < count && owner_order(&owners[i], &owners[end]) == 0; end++)
            for (size_t k = i; k < end && end - i <= TWINS_COMPARED; k++) {
                struct anchor_subject *a = owners[k].subject, *b = owners[end].subject;
                if (names_count_on(a->resource->name, b->resource->name))
                    move_twin(l, b);
                else if (names_count_on(b->resource->name, a->resource->name))
                    move_twin(l, a);
            }
    return true;
}

/* Marks what several resources have. */
static bool mark_shared(struct locate *l)
{
    size_t count;
    const struct owner *owners = list_owners(l, &count);
    if (!owners)
        return false;
    for (size_t i = 0, end; i < count; i = end) {
        bool by_size = false;
        for (end = i; end < count && owner_order(&owners[i], &owners[end]) == 0; end++) {
            const struct anchor_subject *s = owners[end].subject;
            by_size |= s->candidates[s->item.chosen].evidence.size_match > 0;
        }
        for (size_t k = i; k < end; k++) {
            owners[k].subject->shared = end - i > 1;
            owners[k].subject->leaves_own = end - i > 1 && leaves_its_own(owners[k].subject, owners, count);
            owners[k].subject->shared_by_size = end - i > 1 && by_size;
        }
    }
    return true;
}

/* Marks what does not teach where neighbours lie. In a truncated file a block that only looks right may stand
 * in for one that was cut off, and so may those of its neighbours: there the stored size must agree. */
static void mark_stand_ins(struct locate *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct anchor_subject *s = &l->subjects[i];
        s->stand_in = s->sure && l->in->truncated && s->candidates[s->item.chosen].evidence.size_match <= 0;
    }
}

/* Assigns, learns from what is sure, and assigns again, until what is sure stays the same. */
static bool decide(struct locate *l)
{
    if (!assign_with(l, true))
        return false;
    for (int round = 0; round < ROUNDS && mark_sure(l); round++) {
        note_sure(l);
        if (!anchor_apply_sizes(l->in->data, l->subjects, l->count, l->arena))
            return false;
        mark_stand_ins(l);
        if (!anchor_apply_locality(l->subjects, l->count, l->arena) || !assign_with(l, true))
            return false;
    }
    set_own_odds(l);
    return mark_only_near(l) && part_twins(l) && mark_shared(l);
}

/* ---- outcomes
 * ---------------------------------------------------------------------------------------------- */

static void decline(struct anchor_subject *s, enum decline_reason reason, struct error *err)
{
    uint32_t vertices = s->resource->vertices, triangles = s->resource->triangles;
    resource_decline(s->resource, reason, err);
    s->resource->vertices = vertices;
    s->resource->triangles = triangles;
}

/* Declines a subject that has no place, with the first reason that applies. */
static void decline_unplaced(const struct locate *l, struct anchor_subject *s)
{
    const struct anchor_found *found = &l->found[s->group];
    const struct xbg7_marker *pivot = &s->form.markers[s->form.pivot];
    struct error err = {.offset = ERROR_NO_OFFSET};
    if (found->exhausted) {
        error_set(&err, ERROR_LIMIT, ERROR_NO_OFFSET,
                  "so many places look like its indices that not all were measured");
        decline(s, DECLINE_OVER_LIMIT, &err);
    } else if (l->in->truncated && !s->count) {
        error_set(&err, ERROR_TRUNCATED, l->in->offset + l->in->size,
                  "its %u indices and %u vertices are not in the part of the data section that is there",
                  pivot->index_count, pivot->vertex_count);
        decline(s, DECLINE_TRUNCATED, &err);
    } else if (!s->count && found->out_of_range) {
        error_set(&err, ERROR_RANGE, l->in->offset + found->bad,
                  "%u unit normals with %u indices in front of them, one of which is out of range",
                  pivot->vertex_count, pivot->index_count);
        decline(s, DECLINE_OUT_OF_RANGE_INDEX, &err);
    } else if (!s->count) {
        error_set(&err, ERROR_MALFORMED, ERROR_NO_OFFSET, "no %u indices that use %u vertices were found",
                  pivot->index_count, pivot->vertex_count);
        decline(s, DECLINE_NO_CANDIDATE, &err);
    } else if (s->item.choices[0].score > 0) {
        error_set(&err, ERROR_MALFORMED, l->in->offset + s->candidates[0].buffers[0].index_offset,
                  "its best place, of score %.1f, belongs to another resource", s->candidates[0].score);
        decline(s, DECLINE_NO_CANDIDATE, &err);
    } else {
        error_set(&err, ERROR_MALFORMED, l->in->offset + s->candidates[0].buffers[0].index_offset,
                  "its best place has a score of %.1f, %.1f are needed", s->candidates[0].score, SCORE_MIN);
        decline(s, DECLINE_TOO_WEAK, &err);
    }
}

/* Whether locality alone puts the chosen place ahead of another one, and not by a clear case. */
static bool only_nearer(const struct anchor_subject *s)
{
    const struct candidate *chosen = &s->candidates[s->item.chosen];
    double mine = chosen->score - (double)chosen->evidence.locality;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct candidate *other = &s->candidates[i];
        if (s->item.choices[i].content == s->item.choices[s->item.chosen].content ||
            mine - (other->score - (double)other->evidence.locality) >= ANCHOR_MARGIN)
            continue;
        double near = (double)chosen->evidence.locality, far = (double)other->evidence.locality;
        if (near < LOCALITY_NEAR || (far > LOCALITY_FAR && near - far < LOCALITY_APART))
            return true;
    }
    return false;
}

/* Whether this is the container's only model, at the start of the data section, where such files have it. */
static bool is_lone_model(const struct locate *l, const struct anchor_subject *s)
{
    return l->total == 1 && s->item.choices[s->item.chosen].start == 0;
}

/* Whether a truncated file may have lost the resource's own block, and the chosen one stand in for it: unless
 * its neighbours lie there, or such a thing is improbable, with what size and neighbourhood speak against the
 * place counted in. One that shares a block is its owner, or has lost its own. */
static bool may_be_cut_off(const struct locate *l, const struct anchor_subject *s)
{
    const struct anchor_evidence *e = &s->candidates[s->item.chosen].evidence;
    double odds = l->own_odds[is_single(l, s)] + fmin(0, (double)e->size_odds) + fmin(0, (double)e->locality);
    if (!l->in->truncated || is_lone_model(l, s))
        return false;
    return s->shared || ((double)e->locality < LOCALITY_NEAR && odds < OWN_ODDS_MIN);
}

/* What of context makes the chosen place doubtful, as good as it looks; NULL: nothing. A block that was cut
 * off, or that is absent, leaves another one of equal counts as the only place, and the margin shows nothing
 * of it. */
static const char *doubt_of_context(const struct locate *l, const struct anchor_subject *s)
{
    const struct anchor_evidence *e = &s->candidates[s->item.chosen].evidence;
    if (s->leaves_own)
        return "another resource has this block, and one of equal counts is nobody's";
    if (e->size_match > 0)
        return NULL;
    if (s->outgrown[s->item.chosen])
        return "a longer block of another resource ends where this one does";
    if (s->shared_by_size)
        return "another resource, whose stored size it has, lies here too";
    if (may_be_cut_off(l, s))
        return "the file is truncated: its own block may be in what is missing";
    if (e->size_match < -1)
        return "it is far from the size that its descriptor stores";
    if (e->size_match < 0 && (double)e->locality <= LOCALITY_FAR)
        return "neither the stored size nor the neighbours' places speak for it";
    return NULL;
}

/* Why the chosen place is not claimed in spite of its margin; NULL: it is. */
static const char *doubt_of(const struct locate *l, const struct anchor_subject *s)
{
    const struct anchor_evidence *e = &s->candidates[s->item.chosen].evidence;
    bool imperfect = e->short_of_top || e->unreferenced;
    if (imperfect && e->run_end < 0)
        return "its indices do not use all vertices, and the normals go on behind them";
    if (e->nonsense && 2 * e->unit < e->normals)
        return "positions and most of its normals make no sense";
    if (e->unreferenced > UNUSED_MOST * e->vertices)
        return "its indices use too few of the vertices";
    if (l->found[s->group].exhausted || (l->found[s->group].skipped && imperfect))
        return "so many places look like its indices that not all were measured";
    const char *doubt = doubt_of_context(l, s);
    if (doubt)
        return doubt;
    if (s->only_near && only_nearer(s))
        return "only its neighbours' places put this one ahead of another, and not clearly";
    if (imperfect && !anchor_is_whole_run(e) && e->size_match < 0)
        return "its indices do not use all vertices, and it is not of the stored size";
    return NULL;
}

/* What may be claimed of the chosen place. */
static enum resource_status status_of(const struct anchor_subject *s, const char *doubt)
{
    const struct anchor_evidence *e = &s->candidates[s->item.chosen].evidence;
    double margin = s->item.margin;
    if (margin < ANCHOR_MARGIN || doubt)
        return RESOURCE_AMBIGUOUS;
    /* A block that is somebody else's, too, may be only that: what shares it is the best of what is there, no
     * more. */
    bool sole = !s->shared;
    for (uint32_t i = 0; i < s->count; i++)
        sole &= s->item.choices[i].content == s->item.choices[s->item.chosen].content ||
                s->item.choices[i].score <= 0;
    if (sole && s->item.exact && margin >= MARGIN_PROVEN &&
        s->candidates[s->item.chosen].score >= SCORE_PROVEN && anchor_is_exact(e))
        return RESOURCE_PROVEN;
    return RESOURCE_ASSIGNED;
}

static bool build_mesh(const struct locate *l, const struct anchor_subject *s,
                       const struct candidate *candidate, const struct mesh **out)
{
    return xbg7_mesh(l->in->data, l->in->size, s->form.markers, s->form.count, candidate->buffers, l->arena,
                     out);
}

static int candidate_order(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    uint64_t x = a->buffers[0].index_offset, y = b->buffers[0].index_offset;
    return x < y ? -1 : x > y;
}

/* Sorts the candidates as they are kept, follows the chosen one, and counts offsets from the container's
 * start. */
static void hand_over(const struct locate *l, struct anchor_subject *s)
{
    struct resource *resource = s->resource;
    const struct buffer_place *chosen = s->item.chosen >= 0 ? s->candidates[s->item.chosen].buffers : NULL;
    qsort(s->candidates, s->count, sizeof *s->candidates, candidate_order);
    resource->candidate_count = s->count;
    resource->candidates = s->candidates;
    resource->candidates_dropped = l->found[s->group].dropped;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->candidates[i].buffers == chosen)
            resource->chosen = i;
        for (uint32_t m = 0; m < s->form.count; m++) {
            s->candidates[i].buffers[m].index_offset += l->in->offset;
            s->candidates[i].buffers[m].vertex_offset += l->in->offset;
        }
    }
    if (!chosen)
        return;
    resource->buffers = s->candidates[resource->chosen].buffers;
    resource->buffer_count = s->form.count;
    resource->score = s->candidates[resource->chosen].score;
    resource->margin = isfinite(s->item.margin) ? s->item.margin : resource->score;
}

static bool conclude(const struct locate *l, struct anchor_subject *s)
{
    struct resource *resource = s->resource;
    if (s->item.chosen < 0) {
        decline_unplaced(l, s);
        hand_over(l, s);
        return true;
    }
    const char *doubt = doubt_of(l, s);
    resource->status = status_of(s, doubt);
    if (doubt && s->item.margin >= ANCHOR_MARGIN)
        error_set(&resource->error, ERROR_UNSUPPORTED, ERROR_NO_OFFSET, "%s", doubt);
    if (!build_mesh(l, s, &s->candidates[s->item.chosen], &resource->mesh))
        return false;
    for (uint32_t i = 0; i < s->count && resource->status == RESOURCE_AMBIGUOUS; i++)
        if (!build_mesh(l, s, &s->candidates[i], &s->candidates[i].mesh))
            return false;
    hand_over(l, s);
    return true;
}

/* ---- all
 * --------------------------------------------------------------------------------------------------- */

static double open_places(const struct anchor_input *in)
{
    uint64_t open = in->size;
    for (size_t i = 0; i < in->wall_count && in->walls[i].start < in->size; i++)
        open -= (in->walls[i].end < in->size ? in->walls[i].end : in->size) - in->walls[i].start;
    return (double)(open / 4);
}

bool anchor_locate(const struct anchor_input *in, const struct anchor_map *map, struct resource *resources,
                   const struct anchor_descriptor *descriptors, size_t count, struct arena *arena)
{
    struct locate l = {.in = in, .map = map, .arena = arena, .places = open_places(in), .total = count};
    l.free_places = l.places;
    l.subjects = arena_array(arena, count, sizeof *l.subjects);
    l.sure = arena_array(arena, count, sizeof *l.sure);
    if (!l.subjects || !l.sure)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (resources[i].reason != DECLINE_NONE || !descriptors[i].bytes)
            continue;
        struct anchor_subject *s = &l.subjects[l.count++];
        s->resource = &resources[i];
        s->descriptor = descriptors[i].bytes;
        s->descriptor_size = descriptors[i].size;
        s->form = anchor_form_make(resources[i].markers, resources[i].marker_count);
    }
    if (!l.count)
        return true;
    if (!group_forms(&l) || !gather(&l) || !decide(&l))
        return false;
    for (size_t i = 0; i < l.count; i++)
        if (!conclude(&l, &l.subjects[i]))
            return false;
    return true;
}
