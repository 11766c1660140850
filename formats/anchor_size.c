/* anchor_size.c - the stored size: which word of a descriptor it is, learned from a container's sure
 * placements. See anchor_context.h. */
#include "anchor_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "xbg7_mesh.h"

/* A word of the descriptor is named by what its offset counts from. */
enum origin { FROM_START, FROM_MARKER, FROM_END, ORIGINS };
#define REACH    512 /* words on either side of an origin that are looked at */
#define TEACHERS 96u /* sure placements that are asked at most */
#define TAUGHT   3u  /* placements that must agree, and the share of those asked */
#define SUPPORT  0.5
#define MANY     8u /* so many that agree need not be half of those asked, only of those that state a size */
#define SOME     0.25 /* but this share */
#define NEAR     0.02 /* relative: sizes that are what was measured */
/* Sizes that are about what was measured: many more fit by chance, so many more must agree. */
#define WIDE         0.12
#define TAUGHT_WIDE  12u
#define SUPPORT_WIDE 0.6  /* of those that state a size */
#define WIDER        1.15 /* how many more must agree than within NEAR */
#define ODDS_MAX     4.0
/* So often a size fits by chance: the sizes of blocks of equal counts are spread over two powers of ten. */
#define CHANCE_LEAST 0.01
#define CHANCE_SLOPE 0.45
/* A size that is far off, where most fit, is another model's. */
#define FAR         0.1
#define FAR_TIMES   2.5
#define FAR_SUPPORT 0.75

/* What a size may mean. The last two are measured only where none of the others is it. */
enum measure { AXIS, HALF_AXIS, DIAGONAL, HALF_DIAGONAL, RADIUS, CENTRE_RADIUS, MEAN_RADIUS, MEASURES };
#define READY CENTRE_RADIUS /* measures that the evidence has */

struct size_rule {
    enum origin origin;
    int32_t offset; /* in words */
    enum measure measure;
    bool wide;        /* sizes are about that, within WIDE; else within NEAR */
    double support;   /* share that fits, of what states a size there; 0: there is no such word */
    double tolerance; /* relative */
    float *constants; /* [constant_count], ascending: values that are no size, whoever has them */
    size_t constant_count;
};

/* The teachers: sure placements. */
struct lesson {
    const uint8_t *data; /* the data section */
    const struct anchor_subject *subjects;
    size_t count;
    uint32_t asked;
    uint32_t teachers[TEACHERS]; /* numbers of subjects */
    float measures[TEACHERS][MEASURES];
    uint16_t *near, *wide; /* votes by origin, offset and measure */
};
#define SLOTS ((size_t)ORIGINS * 2 * REACH * MEASURES)

static void measures_of(const struct anchor_evidence *e, float out[MEASURES])
{
    const float *x = e->extent;
    float axis = x[0] > x[1] ? x[0] : x[1];
    axis = axis > x[2] ? axis : x[2];
    float diagonal = sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    out[AXIS] = axis;
    out[HALF_AXIS] = axis / 2;
    out[DIAGONAL] = diagonal;
    out[HALF_DIAGONAL] = diagonal / 2;
    out[RADIUS] = e->radius;
    out[CENTRE_RADIUS] = out[MEAN_RADIUS] = 0;
}

/* Calls each position of a placement; those that make no sense are not left out: they make none of the
 * measures either, and such places are not claimed. */
static void each_position(const uint8_t *data, const struct anchor_form *form,
                          const struct candidate *candidate, void (*each)(const float p[3], void *ctx),
                          void *ctx)
{
    for (uint32_t m = 0; m < form->count; m++) {
        const struct buffer_place *place = &candidate->buffers[m];
        const uint8_t *at =
            data + place->vertex_offset + xbg7_find_element(&form->markers[m], MESH_POSITION)->offset;
        for (uint32_t v = 0; v < place->vertex_count; v++, at += place->stride) {
            const float p[3] = {load_f32be(at), load_f32be(at + 4), load_f32be(at + 8)};
            each(p, ctx);
        }
    }
}

struct middle {
    float low[3], high[3];
    double sum[3], count;
    float centre[3], mean[3], centre2, mean2; /* squares of the greatest distances */
};

static void add_position(const float p[3], void *ctx)
{
    struct middle *middle = ctx;
    for (int k = 0; k < 3; k++) {
        middle->low[k] = p[k] < middle->low[k] ? p[k] : middle->low[k];
        middle->high[k] = p[k] > middle->high[k] ? p[k] : middle->high[k];
        middle->sum[k] += (double)p[k];
    }
    middle->count++;
}

static float square_distance(const float p[3], const float from[3])
{
    float x = p[0] - from[0], y = p[1] - from[1], z = p[2] - from[2];
    return x * x + y * y + z * z;
}

static void add_distance(const float p[3], void *ctx)
{
    struct middle *middle = ctx;
    middle->centre2 = fmaxf(middle->centre2, square_distance(p, middle->centre));
    middle->mean2 = fmaxf(middle->mean2, square_distance(p, middle->mean));
}

/* The radii about the middle of the box and about the mean of the vertices. */
static void measure_radii(const uint8_t *data, const struct anchor_form *form,
                          const struct candidate *candidate, float out[MEASURES])
{
    struct middle middle = {.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    each_position(data, form, candidate, add_position, &middle);
    for (int k = 0; k < 3; k++) {
        middle.centre[k] = (middle.low[k] + middle.high[k]) / 2;
        middle.mean[k] = (float)(middle.sum[k] / middle.count);
    }
    each_position(data, form, candidate, add_distance, &middle);
    out[CENTRE_RADIUS] = sqrtf(middle.centre2);
    out[MEAN_RADIUS] = sqrtf(middle.mean2);
}

/* The float at that word of the subject's descriptor; 0 where there is none that could be a size. */
static float word_at(const struct anchor_subject *s, enum origin origin, int32_t offset)
{
    int64_t at = 4 * (int64_t)offset;
    if (origin == FROM_MARKER)
        at += s->form.markers[0].offset;
    if (origin == FROM_END)
        at += (int64_t)(s->descriptor_size & ~(size_t)3);
    if (at < 0 || (uint64_t)at + 4 > s->descriptor_size)
        return 0;
    float value = load_f32be(s->descriptor + at);
    return value > 1e-6f && value < 1e9f ? value : 0;
}

static double relative(float stored, float measured)
{
    return measured > 0 ? fabs((double)stored / (double)measured - 1) : INFINITY;
}

/* ---- learning ------------------------------------------------------------------------------------------ */

/* Votes of the sure placements for every word and each of the measures from..to-1 that fits. */
static void vote(struct lesson *lesson, enum measure from, enum measure to)
{
    for (uint32_t t = 0; t < lesson->asked; t++)
        for (enum origin origin = 0; origin < ORIGINS; origin++)
            for (int32_t offset = -REACH; offset < REACH; offset++) {
                float stored = word_at(&lesson->subjects[lesson->teachers[t]], origin, offset);
                size_t slot = ((size_t)origin * 2 * REACH + (size_t)(offset + REACH)) * MEASURES;
                for (enum measure m = from; stored > 0 && m < to; m++) {
                    double error = relative(stored, lesson->measures[t][m]);
                    lesson->near[slot + m] += error < NEAR;
                    lesson->wide[slot + m] += error < WIDE;
                }
            }
}

static size_t most_votes(const uint16_t *votes)
{
    size_t best = 0;
    for (size_t i = 1; i < SLOTS; i++)
        best = votes[i] > votes[best] ? i : best;
    return best;
}

static struct size_rule rule_of(size_t slot)
{
    return (struct size_rule){.origin = (enum origin)(slot / MEASURES / (2 * REACH)),
                              .offset = (int32_t)(slot / MEASURES % (2 * REACH)) - REACH,
                              .measure = (enum measure)(slot % MEASURES)};
}

/* A value at the rule's word, and whether the sure placement that has it fits. */
struct stated {
    float value;
    bool fits;
};

static int stated_order(const void *left, const void *right)
{
    const struct stated *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

static double within(const struct size_rule *rule)
{
    return rule->wide ? WIDE : NEAR;
}

/* What a sure placement measures. */
static float measured(const struct lesson *lesson, const struct anchor_subject *s, enum measure measure)
{
    float measures[MEASURES];
    measures_of(&s->candidates[s->item.chosen].evidence, measures);
    if (measure >= READY)
        measure_radii(lesson->data, &s->form, &s->candidates[s->item.chosen], measures);
    return measures[measure];
}

/* Values that several sure placements have and that fit few of them: what stands there when no size does. All
 * sure placements are asked, where teachers are some. False when memory runs out. */
static bool find_constants(const struct lesson *lesson, struct size_rule *rule, struct arena *arena)
{
    struct stated *list = arena_array(arena, lesson->count, sizeof *list);
    size_t count = 0;
    rule->constants = arena_array(arena, lesson->count, sizeof *rule->constants);
    if (!list || !rule->constants)
        return false;
    rule->constant_count = 0;
    for (size_t i = 0; i < lesson->count; i++) {
        const struct anchor_subject *s = &lesson->subjects[i];
        float value = s->sure ? word_at(s, rule->origin, rule->offset) : 0;
        if (value > 0)
            list[count++] =
                (struct stated){value, relative(value, measured(lesson, s, rule->measure)) < within(rule)};
    }
    qsort(list, count, sizeof *list, stated_order);
    for (size_t i = 0, end; i < count; i = end) {
        size_t fits = 0;
        for (end = i; end < count && stated_order(&list[i], &list[end]) == 0; end++)
            fits += list[end].fits;
        if (end - i - fits >= TAUGHT && end - i > 3 * fits)
            rule->constants[rule->constant_count++] = list[i].value;
    }
    return true;
}

static int double_order(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* How tightly the rule fits: half as much again as what nine of ten that it fits keep within. */
static double tolerance_of(const struct lesson *lesson, const struct size_rule *rule)
{
    double errors[TEACHERS] = {0};
    size_t used = 0;
    for (uint32_t t = 0; t < lesson->asked; t++) {
        double error = relative(word_at(&lesson->subjects[lesson->teachers[t]], rule->origin, rule->offset),
                                lesson->measures[t][rule->measure]);
        if (error < within(rule))
            errors[used++] = error;
    }
    qsort(errors, used, sizeof *errors, double_order);
    double tolerance = used ? 1.5 * errors[used * 9 / 10] + 1e-5 : within(rule);
    return fmin(tolerance, within(rule));
}

/* The size a subject states; 0: none. A word that is no size, zero most of all, states nothing: that a
 * resource is silent is no evidence against a place. */
static float stated_size(const struct size_rule *rule, const struct anchor_subject *s)
{
    float stored = word_at(s, rule->origin, rule->offset);
    for (size_t i = 0; i < rule->constant_count; i++)
        if (rule->constants[i] == stored)
            return 0;
    return stored;
}

/* The rule that most votes are for, with its support when it is one. False when memory runs out. */
static bool judge_votes(const struct lesson *lesson, bool wide, struct arena *arena, struct size_rule *rule,
                        uint32_t *agree)
{
    const uint16_t *votes = wide ? lesson->wide : lesson->near;
    size_t best = most_votes(votes);
    uint32_t states = 0;
    *rule = rule_of(best);
    rule->wide = wide;
    *agree = votes[best];
    if (*agree < (wide ? TAUGHT_WIDE : TAUGHT))
        return true;
    if (!find_constants(lesson, rule, arena))
        return false;
    for (uint32_t t = 0; t < lesson->asked; t++)
        states += stated_size(rule, &lesson->subjects[lesson->teachers[t]]) > 0;
    double asked = lesson->asked;
    bool most =
        (!wide && *agree >= SUPPORT * asked) ||
        (*agree >= MANY && *agree >= (wide ? SUPPORT_WIDE : SUPPORT) * states && *agree >= SOME * asked);
    /* Chance makes three of four agree, not three of three. */
    if (!most || (*agree == TAUGHT && *agree < states))
        return true;
    rule->support =
        fmin(1, *agree / (states + 1.0)); /* one more might have failed: three that agree are few */
    rule->tolerance = tolerance_of(lesson, rule);
    return true;
}

static bool judge_lesson(const struct lesson *lesson, struct arena *arena, struct size_rule *rule)
{
    struct size_rule wide;
    uint32_t near_agree, wide_agree;
    if (!judge_votes(lesson, false, arena, rule, &near_agree) ||
        !judge_votes(lesson, true, arena, &wide, &wide_agree))
        return false;
    if (wide.support > 0 && (rule->support <= 0 || wide_agree > WIDER * near_agree))
        *rule = wide;
    return true;
}

static bool learn_size(struct lesson *lesson, struct arena *arena, struct size_rule *rule)
{
    lesson->near = arena_array(arena, SLOTS, sizeof *lesson->near);
    lesson->wide = arena_array(arena, SLOTS, sizeof *lesson->wide);
    if (!lesson->near || !lesson->wide)
        return false;
    for (size_t i = 0; i < lesson->count && lesson->asked < TEACHERS; i++) {
        const struct anchor_subject *s = &lesson->subjects[i];
        if (!s->sure)
            continue;
        measures_of(&s->candidates[s->item.chosen].evidence, lesson->measures[lesson->asked]);
        lesson->teachers[lesson->asked++] = (uint32_t)i;
    }
    vote(lesson, 0, READY);
    if (!judge_lesson(lesson, arena, rule))
        return false;
    /* A measure much like the right one fits some, and widely more. */
    if (rule->support >= FAR_SUPPORT && rule->tolerance < NEAR)
        return true;
    for (uint32_t t = 0; t < lesson->asked; t++) {
        const struct anchor_subject *s = &lesson->subjects[lesson->teachers[t]];
        measure_radii(lesson->data, &s->form, &s->candidates[s->item.chosen], lesson->measures[t]);
    }
    vote(lesson, READY, MEASURES);
    return judge_lesson(lesson, arena, rule);
}

/* ---- judging ------------------------------------------------------------------------------------------- */

/* A right place fails as often as the sure ones do, a wrong one fits by chance. */
static void judge_size(const struct size_rule *rule, float stored, float measured, struct anchor_evidence *e)
{
    double error = relative(stored, measured);
    double chance = fmax(CHANCE_LEAST, CHANCE_SLOPE * rule->tolerance);
    bool match = error <= rule->tolerance;
    bool far = error > FAR && error > FAR_TIMES * rule->tolerance && rule->support >= FAR_SUPPORT;
    double odds = match ? log(rule->support / chance) : log(1.02 - rule->support);
    e->size_match = match ? 1 : far ? -2 : -1;
    e->size_odds = (float)fmax(fmin(odds, ODDS_MAX), -ODDS_MAX);
}

bool anchor_apply_sizes(const uint8_t *data, struct anchor_subject *subjects, size_t count,
                        struct arena *arena)
{
    struct lesson lesson = {.data = data, .subjects = subjects, .count = count};
    struct size_rule rule = {0};
    if (!learn_size(&lesson, arena, &rule))
        return false;
    for (size_t i = 0; i < count; i++) {
        float stored = rule.support > 0 ? stated_size(&rule, &subjects[i]) : 0, measures[MEASURES];
        for (uint32_t c = 0; c < subjects[i].count; c++) {
            struct candidate *candidate = &subjects[i].candidates[c];
            candidate->evidence.size_match = 0;
            candidate->evidence.size_odds = 0;
            if (stored <= 0)
                continue;
            measures_of(&candidate->evidence, measures);
            if (rule.measure >= READY)
                measure_radii(data, &subjects[i].form, candidate, measures);
            judge_size(&rule, stored, measures[rule.measure], &candidate->evidence);
        }
    }
    return true;
}
