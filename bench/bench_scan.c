/* bench_scan.c - `anchorage bench scan`: the pass over a data section, and all of location, beside reading
 * memory and beside the earlier decoders' method.
 *
 * The yardstick is a loop that only adds up the same bytes, 64 at a time and with the scan's own prefetching.
 * All sides take turns on the same bytes, so that a machine that slows down slows them all; medians count,
 * ratios are medians of the ratios within a turn. Big buffers hold copies of one stage, many enough that none
 * is still in the cache when its turn comes. Location is decoding as the program does it, from the
 * container's bytes to meshes in memory, on one thread.
 */
#include "bench/bench.h"

#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/reference.h"
#include "bench/scan_inputs.h"
#include "formats/anchor_scan.h"
#include "formats/xbg7_mesh.h"
#include "formats/xpr2.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define RUNS_MOST       32u
#define STAGE_RESOURCES 380u
#define STAGE_TEXTURES  UINT64_C(57000000) /* with their geometry, stages of about 70 MB */
#define IN_CACHE_BYTES  ((size_t)1 << 20)  /* with its map it fits a second-level cache */
#define IN_CACHE_TIMES  64u                /* passes over it that one timing takes together */
#define CACHE_TIMES     4u                 /* the big buffer is this many times the last-level cache */
#define CACHE_UNKNOWN   ((size_t)64 << 20)
#define REFERENCE_RUNS  3u /* at most: one takes seconds */

/* The stages that both methods are judged on: the generator's numbers by what their containers know. */
static const struct {
    unsigned number;
    const char *word;
} stages[] = {
    {7, "locality, sizes, offsets"},
    {0, "sizes only"},
    {1, "locality only"},
    {2, "file order, sizes, offsets"},
};
enum { STAGES = sizeof stages / sizeof *stages };
/* Parts of a stage, for what grows with what. */
static const unsigned parts[] = {16, 4, 1};
enum { PARTS = sizeof parts / sizeof *parts };

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Seconds of processor time of this thread. */
static double thread_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef uint64_t reading(const uint8_t *data, size_t size);

static uint64_t read_portable(const uint8_t *data, size_t size)
{
    uint64_t sums[8] = {0}, word;
    for (size_t at = 0; at + 64 <= size; at += 64) {
        anchor_ask_ahead(data + at);
        for (int i = 0; i < 8; i++) {
            memcpy(&word, data + at + 8 * i, 8);
            sums[i] += word;
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static uint64_t read_avx2(const uint8_t *data, size_t size)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t at = 0; at + 64 <= size; at += 64) {
        anchor_ask_ahead(data + at);
        low = _mm256_add_epi64(low, _mm256_loadu_si256((const __m256i *)(data + at)));
        high = _mm256_add_epi64(high, _mm256_loadu_si256((const __m256i *)(data + at + 32)));
    }
    uint64_t sums[4];
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi64(low, high));
    return sums[0] + sums[1] + sums[2] + sums[3];
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const uint8_t *data, size_t size)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t at = 0; at + 64 <= size; at += 64) {
        anchor_ask_ahead(data + at);
        sum = _mm512_add_epi64(sum, _mm512_loadu_si512(data + at));
    }
    uint64_t sums[8];
    _mm512_storeu_si512(sums, sum);
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

static reading *best_reading(void)
{
    enum anchor_path best = anchor_best_path();
    return best == ANCHOR_AVX512 ? read_avx512 : best == ANCHOR_AVX2 ? read_avx2 : read_portable;
}

#else

static reading *best_reading(void)
{
    return read_portable;
}

#endif

/* Seconds that reading takes. The sum goes where no compiler can leave it out. */
static double time_reading(const uint8_t *data, size_t size, unsigned times)
{
    static volatile uint64_t sink;
    reading *read = best_reading();
    double start = thread_now();
    for (unsigned i = 0; i < times; i++)
        sink = read(data, size);
    (void)sink;
    return thread_now() - start;
}

/* ---- the machine --------------------------------------------------------------------------------------- */

struct machine {
    size_t cache; /* bytes of the last level */
    bool known;
    size_t wanted; /* of the big buffer */
};

static size_t round_down(size_t value, size_t unit)
{
    return value / unit * unit;
}

static struct machine look_at_machine(void)
{
    struct machine machine = {0};
    long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE), level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    long bytes = level3 > 0 ? level3 : level2;
    machine.known = bytes > 0;
    machine.cache = machine.known ? (size_t)bytes : CACHE_UNKNOWN;
    machine.wanted = machine.cache * CACHE_TIMES;
    size_t half = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
    if (machine.wanted > half)
        machine.wanted = round_down(half, 1 << 20);
    return machine;
}

/* A field of /proc/self/status that is in kB, as bytes; 0 when there is none. */
static uint64_t status_bytes(const char *field)
{
    char line[256];
    unsigned long long kilobytes = 0;
    size_t length = strlen(field);
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, field, length) == 0 && sscanf(line + length, ": %llu", &kilobytes) == 1)
            break;
    if (status)
        fclose(status);
    return (uint64_t)kilobytes * 1024;
}

/* Lets VmHWM, the peak of resident memory, start again from what is resident now. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    bool ok = file && fputs("5", file) >= 0;
    return file && fclose(file) == 0 && ok;
}

/* ---- figures ------------------------------------------------------------------------------------------- */

/* Seconds of each turn. */
struct turns {
    double seconds[RUNS_MOST];
    unsigned count;
};

static double median_of(const struct turns *turns)
{
    struct turns copy = *turns;
    return copy.count ? bench_median(copy.seconds, copy.count) : 0;
}

/* The median over turns of a / b. */
static double ratio_of(const struct turns *a, const struct turns *b)
{
    struct turns ratios = {.count = a->count < b->count ? a->count : b->count};
    for (unsigned i = 0; i < ratios.count; i++)
        ratios.seconds[i] = a->seconds[i] / b->seconds[i];
    return median_of(&ratios);
}

/* One side of a comparison: so many bytes a turn. */
struct side {
    size_t bytes;
    struct turns turns;
};

/* Bytes a second, in 1e9. */
static double rate(const struct side *side)
{
    return (double)side->bytes / median_of(&side->turns) / 1e9;
}

/* The median over turns of a's rate in b's. */
static double rate_ratio(const struct side *a, const struct side *b)
{
    return ratio_of(&b->turns, &a->turns) * (double)a->bytes / (double)b->bytes;
}

static void take_turn(struct turns *turns, double seconds)
{
    if (turns->count < RUNS_MOST)
        turns->seconds[turns->count++] = seconds;
}

/* The pass by each path beside reading, and the earlier method's scan for one stride. The slow ones are timed
 * on a part. */
struct pass_figures {
    struct side read, path[ANCHOR_PATH_COUNT], reference;
};

/* What a method made of the resources of one container. */
struct tally {
    unsigned correct, wrong, ambiguous, declined;
};

struct stage_figures {
    uint64_t bytes, resources;
    struct turns ours, reference;
    double literal; /* seconds of the earlier method by the letter of the log; 0: not measured */
    struct tally our_tally, reference_tally;
};

struct location_figures {
    uint64_t bytes, resources, walled;
    struct turns read, all, meshes;
};

struct part_figures {
    uint64_t bytes, resources, anonymous;
    struct turns seconds;
};

struct hostile_figures {
    uint64_t bytes;
    struct turns seconds;
};

struct figures {
    unsigned runs;
    struct machine machine;
    struct pass_figures in_cache, in_memory;
    struct location_figures location;
    struct stage_figures stage[STAGES];
    struct part_figures part[PARTS];
    struct hostile_figures normal, hostile[16];
};

/* ---- the pass ------------------------------------------------------------------------------------------ */

/* Seconds for so many passes over one section; below 0 when memory runs out. As a worker does, all use one
 * arena, which keeps the map's memory. */
static double time_pass(const uint8_t *data, size_t size, unsigned times, enum anchor_path path,
                        struct arena *arena)
{
    bool ok = true;
    double start = thread_now();
    for (unsigned i = 0; ok && i < times; i++) {
        struct anchor_map map;
        arena_reset(arena);
        ok = anchor_scan(data, size, NULL, 0, path, arena, &map);
    }
    return ok ? thread_now() - start : -1;
}

/* Seconds of the earlier method's scan for one stride; below 0 when memory runs out. */
static double time_reference_scan(const uint8_t *data, size_t size)
{
    struct reference_starts starts;
    double start = thread_now();
    bool ok = reference_scan(data, size, 24, REFERENCE_FAVOURED, &starts);
    double seconds = thread_now() - start;
    free(starts.list);
    return ok ? seconds : -1;
}

/* Times one side; false when memory ran out, which a time below 0 says. */
static bool take_side(struct side *side, size_t bytes, double seconds)
{
    side->bytes = bytes;
    take_turn(&side->turns, seconds);
    return seconds >= 0;
}

/* Sections one after the other, each gone over `times` times. */
struct sections {
    const uint8_t *data;
    size_t count, bytes;
    unsigned times;
};

/* One turn of the fast sides: each goes over all sections, at each step on another one than the others, so
 * that the sides share good and bad moments and no section's bytes. */
static bool turn_of_sides(const struct sections *in, struct arena *arena, struct pass_figures *out)
{
    enum { READ = ANCHOR_PATH_COUNT, SIDES };
    double sum[SIDES] = {0};
    unsigned best = anchor_best_path();
    for (size_t step = 0; step < in->count; step++) {
        for (unsigned side = ANCHOR_PORTABLE + 1; side < SIDES; side++) {
            const uint8_t *data = in->data + (step + side * in->count / SIDES) % in->count * in->bytes;
            double seconds = 0;
            if (side == READ)
                seconds = time_reading(data, in->bytes, in->times);
            else if (side <= best)
                seconds = time_pass(data, in->bytes, in->times, (enum anchor_path)side, arena);
            if (seconds < 0)
                return false;
            sum[side] += seconds;
        }
    }
    size_t bytes = in->count * in->bytes * in->times;
    for (unsigned side = ANCHOR_PORTABLE + 1; side <= best; side++)
        take_side(&out->path[side], bytes, sum[side]);
    return take_side(&out->read, bytes, sum[READ]);
}

static bool measure_pass(const struct sections *in, unsigned runs, struct pass_figures *out)
{
    const uint8_t *last = in->data + (in->count - 1) * in->bytes;
    struct arena arena = {0};
    bool ok = time_pass(in->data, in->bytes, in->times, anchor_best_path(), &arena) >= 0;
    for (unsigned run = 0; ok && run < runs; run++)
        ok = turn_of_sides(in, &arena, out) &&
             take_side(&out->path[ANCHOR_PORTABLE], in->bytes,
                       time_pass(in->data, in->bytes, 1, ANCHOR_PORTABLE, &arena)) &&
             take_side(&out->reference, in->bytes, time_reference_scan(last, in->bytes));
    arena_free(&arena);
    return ok;
}

/* ---- location ------------------------------------------------------------------------------------------ */

/* Decodes as the program does; seconds, below 0 when memory runs out. The result lives in `arena`. */
static double time_decoding(const uint8_t *bytes, size_t size, struct arena *arena, struct container *out)
{
    struct input in = {.data = bytes, .size = size, .name = "stage.xpr"};
    double start = thread_now();
    bool ok = format_decode(&format_xpr2, &in, arena, out);
    return ok ? thread_now() - start : -1;
}

/* Seconds to build the meshes of a decoded container once more. */
static double time_meshes(const uint8_t *bytes, size_t size, const struct container *container)
{
    struct arena arena = {0};
    bool ok = true;
    double start = thread_now();
    for (uint32_t i = 0; ok && i < container->resource_count; i++) {
        const struct resource *r = &container->resources[i];
        const struct mesh *mesh;
        if (r->buffer_count)
            ok = xbg7_mesh(bytes, size, r->markers, r->marker_count, r->buffers, &arena, &mesh);
    }
    double seconds = thread_now() - start;
    arena_free(&arena);
    return ok ? seconds : -1;
}

static uint64_t walled_bytes(const struct container *container)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < container->texture_count; i++) {
        const struct texture *texture = &container->textures[i];
        if (texture->valid && !texture->contested)
            sum += texture->base_size + texture->mip_size;
    }
    return sum;
}

/* Reads one copy of the stage, decodes the next one, and so on through the big buffer, all in one arena, as a
 * worker does. */
static bool measure_location(const struct sections *copies, size_t size, unsigned runs,
                             struct location_figures *out)
{
    struct arena arena = {0};
    size_t copy = 0;
    bool ok = true;
    out->bytes = size;
    for (unsigned run = 0; ok && run < runs; run++) {
        struct container container;
        take_turn(&out->read, time_reading(copies->data + copy * copies->bytes, size, 1));
        copy = (copy + 1) % copies->count;
        const uint8_t *bytes = copies->data + copy * copies->bytes;
        copy = (copy + 1) % copies->count;
        double all = time_decoding(bytes, size, &arena, &container);
        double meshes = all < 0 ? -1 : time_meshes(bytes, size, &container);
        ok = meshes >= 0;
        if (ok) {
            out->resources = container.resource_count;
            out->walled = walled_bytes(&container);
            take_turn(&out->all, all);
            take_turn(&out->meshes, meshes);
        }
        arena_reset(&arena);
    }
    arena_free(&arena);
    return ok;
}

/* Copies of the stage, each at a multiple of 64 bytes. */
static bool make_copies(const struct machine *machine, const struct buffer *stage, struct sections *out)
{
    out->times = 1;
    out->bytes = round_down(stage->size + 63, 64);
    out->count = machine->wanted / out->bytes + 1;
    uint8_t *data =
        mmap(NULL, out->count * out->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    out->data = data;
    for (size_t i = 0; data != MAP_FAILED && i < out->count; i++)
        memcpy(data + i * out->bytes, stage->data, stage->size);
    return data != MAP_FAILED;
}

static bool measure_memory(const struct corpus_file *stage, struct figures *f)
{
    const uint8_t *middle = stage->bytes.data + round_down(stage->bytes.size / 2, 64);
    struct sections small = {middle, 1, IN_CACHE_BYTES, IN_CACHE_TIMES}, copies;
    if (!measure_pass(&small, f->runs, &f->in_cache) || !make_copies(&f->machine, &stage->bytes, &copies))
        return false;
    bool ok = measure_pass(&copies, f->runs, &f->in_memory) &&
              measure_location(&copies, stage->bytes.size, f->runs, &f->location);
    munmap((void *)(uintptr_t)copies.data, copies.count * copies.bytes);
    return ok;
}

/* ---- beside the earlier method ------------------------------------------------------------------------- */

static bool is_place(const json_t *truth, const struct buffer_place *place)
{
    return json_integer_value(json_object_get(truth, "index_offset")) == (json_int_t)place->index_offset &&
           json_integer_value(json_object_get(truth, "vertex_offset")) == (json_int_t)place->vertex_offset;
}

/* Whether the truth accepts these buffers. */
static bool is_right(const json_t *truth, const struct buffer_place *buffers, uint32_t count)
{
    size_t i;
    const json_t *placement;
    json_array_foreach(json_object_get(truth, "placements"), i, placement)
    {
        bool right = json_array_size(placement) == count;
        for (uint32_t k = 0; right && k < count; k++)
            right = is_place(json_array_get(placement, k), &buffers[k]);
        if (right)
            return true;
    }
    return false;
}

/* A claim about what cannot be decided is wrong even where luck has it right. */
static void count_claim(struct tally *tally, const json_t *truth, const struct buffer_place *buffers,
                        uint32_t count)
{
    bool right = !json_is_true(json_object_get(truth, "undecidable")) && is_right(truth, buffers, count);
    tally->correct += right;
    tally->wrong += !right;
}

static void judge(const json_t *truth, const struct container *container,
                  const struct reference_answer *answers, struct stage_figures *out)
{
    for (uint32_t i = 0; i < container->resource_count; i++) {
        const struct resource *r = &container->resources[i];
        const json_t *line = json_array_get(truth, i);
        if (r->status == RESOURCE_PROVEN || r->status == RESOURCE_ASSIGNED)
            count_claim(&out->our_tally, line, r->buffers, r->buffer_count);
        else if (r->status == RESOURCE_AMBIGUOUS)
            out->our_tally.ambiguous++;
        else
            out->our_tally.declined++;
        if (answers[i].found)
            count_claim(&out->reference_tally, line, answers[i].buffers, r->marker_count);
        else
            out->reference_tally.declined++;
    }
}

/* Seconds of the earlier method on a container whose descriptors have been read; below 0 when memory runs
 * out. */
static double time_reference(const struct buffer *bytes, const struct container *c, enum reference_rule rule,
                             struct arena *arena, struct reference_answer *answers)
{
    double start = thread_now();
    bool ok = reference_locate(bytes->data + c->data_offset, c->data_size, c->data_offset, c->resources,
                               c->resource_count, rule, arena, answers);
    return ok ? thread_now() - start : -1;
}

/* One turn of both methods; the first one is judged. */
static bool turn_of_both(const struct corpus_file *stage, bool first, bool literal, struct stage_figures *out)
{
    struct arena arena = {0};
    struct container c;
    double ours = time_decoding(stage->bytes.data, stage->bytes.size, &arena, &c), theirs = -1;
    struct reference_answer *answers =
        ours < 0 ? NULL : arena_array(&arena, c.resource_count, sizeof *answers);
    if (answers)
        theirs = time_reference(&stage->bytes, &c, REFERENCE_FAVOURED, &arena, answers);
    bool ok = theirs >= 0;
    if (ok) {
        take_turn(&out->ours, ours);
        take_turn(&out->reference, theirs);
        out->resources = c.resource_count;
        if (first)
            judge(stage->truth, &c, answers, out);
        if (literal)
            out->literal = time_reference(&stage->bytes, &c, REFERENCE_LITERAL, &arena, answers);
    }
    arena_free(&arena);
    return ok && out->literal >= 0;
}

static bool measure_stage(const struct corpus_file *stage, unsigned runs, bool literal,
                          struct stage_figures *out)
{
    bool ok = true;
    out->bytes = stage->bytes.size;
    for (unsigned run = 0; ok && run < runs && run < REFERENCE_RUNS; run++)
        ok = turn_of_both(stage, run == 0, run == 0 && literal, out);
    return ok;
}

static bool measure_stages(struct figures *f)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < STAGES; i++) {
        struct corpus_file stage = {0};
        ok = scan_stage(1, stages[i].number, STAGE_RESOURCES, STAGE_TEXTURES, &stage) &&
             (i != 0 || measure_memory(&stage, f)) && measure_stage(&stage, f->runs, i == 0, &f->stage[i]);
        corpus_file_free(&stage);
    }
    return ok;
}

/* ---- what grows with what ------------------------------------------------------------------------------ */

/* Peak of resident memory while the container is decoded, above what was resident before; 0 where the kernel
 * does not tell. */
static bool measure_anonymous(const struct buffer *bytes, uint64_t *out)
{
    struct arena arena = {0};
    struct container container;
    *out = 0;
    malloc_trim(0);
    bool told = forget_peak();
    uint64_t before = status_bytes("VmRSS");
    bool ok = time_decoding(bytes->data, bytes->size, &arena, &container) >= 0;
    uint64_t peak = status_bytes("VmHWM");
    arena_free(&arena);
    if (told && peak > before)
        *out = peak - before;
    return ok;
}

/* Decodes the container once and keeps the time. */
static bool turn_of_decoding(const struct buffer *bytes, struct turns *turns)
{
    struct arena arena = {0};
    struct container container;
    double seconds = time_decoding(bytes->data, bytes->size, &arena, &container);
    arena_free(&arena);
    take_turn(turns, seconds);
    return seconds >= 0;
}

static bool measure_parts(struct figures *f)
{
    struct corpus_file stage[PARTS];
    memset(stage, 0, sizeof stage);
    bool ok = true;
    for (unsigned i = 0; ok && i < PARTS; i++) {
        struct part_figures *part = &f->part[i];
        ok = scan_stage(1, 7, STAGE_RESOURCES / parts[i], STAGE_TEXTURES / parts[i], &stage[i]) &&
             measure_anonymous(&stage[i].bytes, &part->anonymous);
        part->bytes = stage[i].bytes.size;
        part->resources = json_array_size(stage[i].truth);
    }
    for (unsigned run = 0; ok && run < f->runs; run++)
        for (unsigned i = 0; ok && i < PARTS; i++)
            ok = turn_of_decoding(&stage[i].bytes, &f->part[i].seconds);
    for (unsigned i = 0; i < PARTS; i++)
        corpus_file_free(&stage[i]);
    return ok;
}

/* ---- the worst ----------------------------------------------------------------------------------------- */

/* Each one beside a stage of the same size and as many resources, by turns. */
static bool measure_hostile(struct figures *f)
{
    struct corpus_file stage = {0};
    uint64_t textures = STAGE_TEXTURES * SCAN_HOSTILE_RESOURCES / STAGE_RESOURCES;
    bool ok = scan_stage(1, 7, SCAN_HOSTILE_RESOURCES, textures, &stage);
    f->normal.bytes = stage.bytes.size;
    for (unsigned i = 0; ok && i < scan_hostile_count(); i++) {
        struct buffer bytes = {0};
        ok = scan_hostile(i, &bytes);
        f->hostile[i].bytes = bytes.size;
        for (unsigned run = 0; ok && run < f->runs && run < REFERENCE_RUNS; run++)
            ok = turn_of_decoding(&stage.bytes, &f->normal.seconds) &&
                 turn_of_decoding(&bytes, &f->hostile[i].seconds);
        buffer_free(&bytes);
    }
    corpus_file_free(&stage);
    return ok;
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static double per_byte(const struct hostile_figures *h)
{
    return median_of(&h->seconds) / (double)h->bytes;
}

static void print_side(const char *word, const struct side *side, const struct side *read)
{
    printf("  %-28s %8.4f s  %7.2f GB/s  %5.2f of reading  (%.0f MB)\n", word, median_of(&side->turns),
           rate(side), rate_ratio(side, read), (double)side->bytes / 1e6);
}

static void print_pass(const char *title, const struct pass_figures *p)
{
    printf("%s\n", title);
    print_side("read, 64 bytes at a time", &p->read, &p->read);
    for (unsigned i = anchor_best_path() + 1; i-- > 0;) {
        char word[32];
        snprintf(word, sizeof word, "pass, %s", anchor_path_word((enum anchor_path)i));
        print_side(word, &p->path[i], &p->read);
    }
    print_side("earlier method, one stride", &p->reference, &p->read);
}

static void print_stages(const struct figures *f)
{
    printf("both methods, on stages of %u resources\n", STAGE_RESOURCES);
    printf("  %-28s %6s  %-8s %9s %8s %6s %6s %10s %9s\n", "what its containers know", "MB", "method",
           "seconds", "times", "right", "wrong", "ambiguous", "declined");
    for (unsigned i = 0; i < STAGES; i++) {
        const struct stage_figures *s = &f->stage[i];
        const struct tally *a = &s->our_tally, *b = &s->reference_tally;
        printf("  %-28s %6.1f  %-8s %9.4f %8s %6u %6u %10u %9u\n", stages[i].word, (double)s->bytes / 1e6,
               "ours", median_of(&s->ours), "", a->correct, a->wrong, a->ambiguous, a->declined);
        printf("  %-28s %6s  %-8s %9.4f %8.1f %6u %6u %10u %9u\n", "", "", "earlier",
               median_of(&s->reference), ratio_of(&s->reference, &s->ours), b->correct, b->wrong,
               b->ambiguous, b->declined);
    }
    printf("  by the letter of the log the earlier method takes %.2f s on the first\n", f->stage[0].literal);
}

static void print_text(const struct figures *f)
{
    const struct location_figures *l = &f->location;
    printf("last-level cache %.0f MB%s, big buffer %.0f MB, medians of %u turns, processor time\n",
           (double)f->machine.cache / 1e6, f->machine.known ? "" : " (assumed)",
           (double)f->in_memory.read.bytes / 1e6, f->runs);
    print_pass("in cache", &f->in_cache);
    print_pass("in memory", &f->in_memory);
    printf("location, one thread: a stage of %.1f MB, %llu resources, %.1f MB of textures\n",
           (double)l->bytes / 1e6, (unsigned long long)l->resources, (double)l->walled / 1e6);
    printf("  read it from memory         %8.4f s\n", median_of(&l->read));
    printf("  locate and build meshes     %8.4f s  %7.1f times reading\n", median_of(&l->all),
           ratio_of(&l->all, &l->read));
    printf("  of which meshes             %8.4f s\n", median_of(&l->meshes));
    print_stages(f);
    printf("parts of a stage\n");
    for (unsigned i = 0; i < PARTS; i++) {
        const struct part_figures *p = &f->part[i];
        double seconds = median_of(&p->seconds);
        printf("  1/%-2u %6.1f MB %4llu resources  %8.4f s  %6.3f ns a byte  %7.1f us a resource  memory "
               "%4.2f\n",
               parts[i], (double)p->bytes / 1e6, (unsigned long long)p->resources, seconds,
               seconds * 1e9 / (double)p->bytes, seconds * 1e6 / (double)p->resources,
               (double)p->anonymous / (double)p->bytes);
    }
    printf("worst cases, beside a stage of %.1f MB: %.3f ns a byte\n", (double)f->normal.bytes / 1e6,
           per_byte(&f->normal) * 1e9);
    for (unsigned i = 0; i < scan_hostile_count(); i++)
        printf("  %-36s %8.4f s  %7.3f ns a byte  %6.2f times\n", scan_hostile_word(i),
               median_of(&f->hostile[i].seconds), per_byte(&f->hostile[i]) * 1e9,
               per_byte(&f->hostile[i]) / per_byte(&f->normal));
}

static json_t *json_of_side(const struct side *side, const struct side *read)
{
    return json_pack("{s:I, s:f, s:f, s:f}", "bytes", (json_int_t)side->bytes, "seconds",
                     median_of(&side->turns), "gb_s", rate(side), "of_read", rate_ratio(side, read));
}

static json_t *json_of_pass(const struct pass_figures *p)
{
    json_t *object = json_object();
    json_object_set_new(object, "read", json_of_side(&p->read, &p->read));
    for (unsigned i = 0; i <= anchor_best_path(); i++)
        json_object_set_new(object, anchor_path_word((enum anchor_path)i),
                            json_of_side(&p->path[i], &p->read));
    json_object_set_new(object, "reference", json_of_side(&p->reference, &p->read));
    return object;
}

static json_t *json_of_tally(const struct turns *turns, const struct tally *t)
{
    return json_pack("{s:f, s:i, s:i, s:i, s:i}", "seconds", median_of(turns), "correct", (int)t->correct,
                     "wrong", (int)t->wrong, "ambiguous", (int)t->ambiguous, "declined", (int)t->declined);
}

static json_t *json_of_stages(const struct figures *f)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < STAGES; i++) {
        const struct stage_figures *s = &f->stage[i];
        json_array_append_new(array,
                              json_pack("{s:s, s:I, s:I, s:o, s:o, s:f}", "knows", stages[i].word, "bytes",
                                        (json_int_t)s->bytes, "resources", (json_int_t)s->resources, "ours",
                                        json_of_tally(&s->ours, &s->our_tally), "reference",
                                        json_of_tally(&s->reference, &s->reference_tally), "times_faster",
                                        ratio_of(&s->reference, &s->ours)));
    }
    return array;
}

static json_t *json_of_parts(const struct figures *f)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < PARTS; i++) {
        const struct part_figures *p = &f->part[i];
        json_array_append_new(array, json_pack("{s:i, s:I, s:I, s:f, s:I}", "part", (int)parts[i], "bytes",
                                               (json_int_t)p->bytes, "resources", (json_int_t)p->resources,
                                               "seconds", median_of(&p->seconds), "anonymous_bytes",
                                               (json_int_t)p->anonymous));
    }
    return array;
}

static json_t *json_of_hostile(const struct figures *f)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < scan_hostile_count(); i++) {
        const struct hostile_figures *h = &f->hostile[i];
        json_array_append_new(array, json_pack("{s:s, s:I, s:f, s:f}", "data", scan_hostile_word(i), "bytes",
                                               (json_int_t)h->bytes, "seconds", median_of(&h->seconds),
                                               "of_normal", per_byte(h) / per_byte(&f->normal)));
    }
    return array;
}

static void print_json(const struct figures *f)
{
    const struct location_figures *l = &f->location;
    json_t *location =
        json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "bytes", (json_int_t)l->bytes, "resources",
                  (json_int_t)l->resources, "texture_bytes", (json_int_t)l->walled, "read_seconds",
                  median_of(&l->read), "seconds", median_of(&l->all), "mesh_seconds", median_of(&l->meshes),
                  "of_read", ratio_of(&l->all, &l->read));
    json_t *normal = json_pack("{s:I, s:f}", "bytes", (json_int_t)f->normal.bytes, "seconds",
                               median_of(&f->normal.seconds));
    json_t *object = json_pack("{s:i, s:I, s:b, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o}", "runs",
                               (int)f->runs, "cache_bytes", (json_int_t)f->machine.cache, "cache_known",
                               (int)f->machine.known, "in_cache", json_of_pass(&f->in_cache), "in_memory",
                               json_of_pass(&f->in_memory), "location", location, "literal_reference_seconds",
                               f->stage[0].literal, "stages", json_of_stages(f), "parts", json_of_parts(f),
                               "normal", normal, "worst", json_of_hostile(f));
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

int bench_scan(const struct bench_options *options)
{
    if (options->runs < 1 || options->runs > RUNS_MOST) {
        fprintf(stderr, "anchorage bench: the number of runs is from 1 to %u\n", RUNS_MOST);
        return 3;
    }
    struct figures *f = calloc(1, sizeof *f);
    bool ok = f != NULL;
    if (ok) {
        f->runs = options->runs;
        f->machine = look_at_machine();
        ok = measure_stages(f) && measure_parts(f) && measure_hostile(f);
    }
    if (!ok)
        fprintf(stderr, "anchorage bench: out of memory\n");
    else if (options->json)
        print_json(f);
    else
        print_text(f);
    free(f);
    return ok ? 0 : 3;
}
