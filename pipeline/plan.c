/* plan.c - see plan.h */
#include "pipeline/plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/json_whole.h"

#define PLAN_VERSION 1

/* An archive is cut into about this many pieces a shard, were it all there is: fine enough to balance, coarse
 * enough that few shards list the same archive. */
#define PIECES_A_SHARD 4

struct plan {
    struct arena arena;
    struct buffer list; /* of struct plan_piece, by path and first member */
    uint32_t shards;
    uint64_t split_bytes, rule;
    uint64_t *bytes; /* [shards] */
};

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while planning");
}

const struct plan_piece *plan_pieces(const struct plan *plan, size_t *count)
{
    *count = plan->list.size / sizeof(struct plan_piece);
    return (const struct plan_piece *)plan->list.data;
}

uint32_t plan_shards(const struct plan *plan)
{
    return plan->shards;
}

uint64_t plan_bytes(const struct plan *plan, uint32_t shard)
{
    return plan->bytes[shard];
}

uint64_t plan_rule(const struct plan *plan)
{
    return plan->rule;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    arena_free(&plan->arena);
    buffer_free(&plan->list);
    free(plan->bytes);
    free(plan);
}

/* ---- listing ------------------------------------------------------------------------------------------- */

struct listing {
    struct plan *plan;
    struct plan_piece
        file; /* a large one, of which it is not known yet whether it can be shared; path NULL: none */
    struct buffer members; /* of uint64_t: sizes of its members so far */
    bool failed;
};

static void add_piece(struct listing *listing, const struct plan_piece *piece)
{
    buffer_append(&listing->plan->list, piece, sizeof *piece);
    listing->failed |= listing->plan->list.failed;
}

/* The large file can not be shared. */
static void end_whole(struct listing *listing)
{
    if (listing->file.path)
        add_piece(listing, &listing->file);
    listing->file.path = NULL;
    buffer_clear(&listing->members);
}

/* The large file is an archive that can be shared: cuts it into runs of members of about the same bytes. */
static void end_members(struct listing *listing)
{
    const uint64_t *sizes = (const uint64_t *)listing->members.data;
    size_t count = listing->members.size / sizeof *sizes;
    struct plan_piece piece = listing->file;
    double sum = 0, taken = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sizes[i];
    /* A member's size is what it unpacks to; what is read is its share of the archive. */
    double scale = sum > 0 ? (double)listing->file.bytes / sum : 0;
    double most = (double)listing->file.bytes / listing->plan->shards / PIECES_A_SHARD;
    for (size_t i = 0; i + 1 < count; i++) {
        taken += (double)sizes[i] * scale;
        if (taken < most)
            continue;
        piece.in_parts = true;
        piece.last = i;
        piece.bytes = (uint64_t)taken;
        add_piece(listing, &piece);
        piece.first = i + 1;
        taken = 0;
    }
    if (count)
        taken += (double)sizes[count - 1] * scale;
    piece.last = UINT64_MAX;
    piece.bytes = piece.in_parts ? (uint64_t)taken : listing->file.bytes;
    add_piece(listing, &piece);
    listing->file.path = NULL;
    buffer_clear(&listing->members);
}

/* Takes nothing, but notes. */
static enum extract_share note_piece(const struct extract_piece *piece, void *ctx)
{
    struct listing *listing = ctx;
    struct plan *plan = listing->plan;
    if (piece->kind == PIECE_MEMBER) {
        buffer_append(&listing->members, &piece->bytes, sizeof piece->bytes);
        listing->failed |= listing->members.failed;
    }
    if (piece->kind != PIECE_FILE)
        return SHARE_NONE;
    end_whole(listing);
    const struct plan_piece file = {.path = arena_copy(&plan->arena, piece->path, strlen(piece->path)),
                                    .bytes = piece->bytes,
                                    .last = UINT64_MAX,
                                    .is_input = piece->is_input};
    listing->failed |= !file.path;
    if (!file.path)
        return SHARE_NONE;
    if (piece->bytes >= plan->split_bytes && plan->shards > 1) {
        listing->file = file;
        return SHARE_MEMBERS;
    }
    add_piece(listing, &file);
    return SHARE_NONE;
}

static bool list_inputs(struct plan *plan, const char *const *inputs, size_t count, struct error *err)
{
    struct listing listing = {.plan = plan};
    const struct extract_options options = {
        .limits = EXTRACT_LIMITS_DEFAULT, .share = note_piece, .ctx = &listing};
    struct extractor *extractor = extract_open(inputs, count, &options);
    struct extracted item;
    bool ok = extractor || out_of_memory(err);
    while (ok && !listing.failed && extract_next(extractor, &item, err)) {
        if (item.kind == EXTRACT_ARCHIVE && item.in_parts)
            end_members(&listing);
        extracted_free(&item);
    }
    end_whole(&listing);
    extract_close(extractor);
    buffer_free(&listing.members);
    return ok && err->code == ERROR_NONE && (!listing.failed || out_of_memory(err));
}

/* ---- dealing out --------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct plan_piece *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int largest_first(const void *a, const void *b)
{
    const struct plan_piece *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : by_place(a, b);
}

/* A file that was reached twice (as an input, and in a directory that is one) is one piece of work. */
static void drop_doubles(struct plan *plan)
{
    struct plan_piece *list = (struct plan_piece *)plan->list.data;
    size_t count = plan->list.size / sizeof *list, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && by_place(&list[kept - 1], &list[i]) == 0)
            list[kept - 1].is_input |= list[i].is_input;
        else
            list[kept++] = list[i];
    }
    plan->list.size = kept * sizeof *list;
}

struct load {
    uint64_t bytes, pieces;
    uint32_t shard;
};

static bool is_less(const struct load *a, const struct load *b)
{
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes;
    return a->pieces != b->pieces ? a->pieces < b->pieces : a->shard < b->shard;
}

static void sift_down(struct load *heap, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_less(&heap[child + 1], &heap[child]))
            child++;
        if (!is_less(&heap[child], &heap[at]))
            return;
        struct load load = heap[at];
        heap[at] = heap[child];
        heap[child] = load;
    }
}

static bool deal_out(struct plan *plan, struct error *err)
{
    struct plan_piece *list = (struct plan_piece *)plan->list.data;
    size_t count = plan->list.size / sizeof *list;
    struct load *heap = calloc(plan->shards, sizeof *heap);
    if (!heap)
        return out_of_memory(err);
    for (uint32_t i = 0; i < plan->shards; i++)
        heap[i].shard = i;
    if (count)
        qsort(list, count, sizeof *list, largest_first);
    for (size_t i = 0; i < count; i++) {
        list[i].shard = heap[0].shard;
        heap[0].bytes += list[i].bytes;
        heap[0].pieces++;
        sift_down(heap, plan->shards);
    }
    free(heap);
    return true;
}

/* Puts the pieces in order and counts what follows from them. */
static bool finish(struct plan *plan, struct error *err)
{
    struct hash_stream *stream = hash_stream_new();
    struct plan_piece *list = (struct plan_piece *)plan->list.data;
    size_t count = plan->list.size / sizeof *list;
    plan->bytes = calloc(plan->shards, sizeof *plan->bytes);
    if (!stream || !plan->bytes) {
        hash_stream_free(stream);
        return out_of_memory(err);
    }
    if (count)
        qsort(list, count, sizeof *list, by_place);
    for (size_t i = 0; i < count; i++) {
        const uint64_t facts[] = {list[i].first, list[i].last, list[i].shard};
        hash_stream_add(stream, list[i].path, strlen(list[i].path) + 1);
        hash_stream_add(stream, facts, sizeof facts);
        plan->bytes[list[i].shard] += list[i].bytes;
    }
    struct hash hash = hash_stream_finish(stream);
    memcpy(&plan->rule, hash.bytes, sizeof plan->rule);
    return true;
}

struct plan *plan_make(const char *const *inputs, size_t count, uint32_t shards, uint64_t split_bytes,
                       struct error *err)
{
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        out_of_memory(err);
        return NULL;
    }
    plan->shards = shards;
    plan->split_bytes = split_bytes;
    bool ok = list_inputs(plan, inputs, count, err);
    if (ok && plan->list.size)
        qsort(plan->list.data, plan->list.size / sizeof(struct plan_piece), sizeof(struct plan_piece),
              by_place);
    if (ok)
        drop_doubles(plan);
    if (ok && deal_out(plan, err) && finish(plan, err))
        return plan;
    plan_free(plan);
    return NULL;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

/* The pieces of a path; NULL when the plan does not know it. */
static const struct plan_piece *pieces_of(const struct plan *plan, const char *path, size_t *count)
{
    size_t all, low = 0;
    const struct plan_piece *list = plan_pieces(plan, &all);
    for (size_t high = all; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < all && strcmp(list[low + *count].path, path) == 0)
        ++*count;
    return *count ? &list[low] : NULL;
}

static bool is_met(const struct plan_piece *pieces, size_t count, uint32_t shard)
{
    for (size_t i = 0; i < count; i++)
        if (pieces[i].shard == shard)
            return true;
    return false;
}

uint32_t plan_parts(const struct plan *plan, const char *path)
{
    size_t count;
    uint32_t parts = 0;
    const struct plan_piece *pieces = pieces_of(plan, path, &count);
    for (size_t i = 0; i < count; i++)
        parts += !is_met(pieces, i, pieces[i].shard);
    return parts;
}

static uint32_t shard_of_member(const struct plan_piece *pieces, size_t count, uint64_t ordinal)
{
    size_t low = 0;
    for (size_t high = count; high - low > 1;) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].first <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return pieces[low].shard;
}

enum extract_share plan_share(const struct plan *plan, uint32_t shard, const struct extract_piece *piece)
{
    size_t count;
    const struct plan_piece *pieces = pieces_of(plan, piece->path, &count);
    bool mine = false;
    if (!pieces)
        return SHARE_NONE;
    switch (piece->kind) {
    case PIECE_FILE:
        mine = is_met(pieces, count, shard);
        if (mine && plan_parts(plan, piece->path) > 1)
            return SHARE_MEMBERS;
        break;
    case PIECE_ARCHIVE:
        mine = pieces[0].shard == shard;
        break;
    case PIECE_MEMBER:
        mine = shard_of_member(pieces, count, piece->ordinal) == shard;
        break;
    }
    return mine ? SHARE_WHOLE : SHARE_NONE;
}

bool plan_files(const struct plan *plan, uint32_t shard, struct plan_files *files)
{
    size_t count;
    const struct plan_piece *list = plan_pieces(plan, &count);
    const char *last = NULL;
    *files = (struct plan_files){calloc(count + 1, sizeof *files->names),
                                 calloc(count + 1, sizeof *files->walked), 0};
    if (!files->names || !files->walked)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (list[i].shard != shard || (last && strcmp(last, list[i].path) == 0))
            continue;
        last = list[i].path;
        char *name = address_unescape(last, strlen(last), NULL);
        if (!name)
            return false;
        files->walked[files->count] = !list[i].is_input;
        files->names[files->count++] = name;
    }
    return true;
}

void plan_free_files(struct plan_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->names[i]);
    free(files->names);
    free(files->walked);
    *files = (struct plan_files){0};
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static bool print_line(json_t *line, FILE *out)
{
    bool ok = json_whole_write(line, out, JSON_COMPACT) && fputc('\n', out) != EOF;
    json_decref(line);
    return ok;
}

static json_t *piece_json(const struct plan_piece *piece)
{
    json_t *line = json_pack("{s:I, s:s, s:I}", "shard", (json_int_t)piece->shard, "path", piece->path,
                             "bytes", (json_int_t)piece->bytes);
    if (piece->is_input)
        json_object_set_new(line, "input", json_true());
    if (piece->in_parts)
        json_object_set_new(line, "first", json_integer((json_int_t)piece->first));
    if (piece->in_parts && piece->last != UINT64_MAX)
        json_object_set_new(line, "last", json_integer((json_int_t)piece->last));
    return line;
}

bool plan_write(const struct plan *plan, FILE *out, struct error *err)
{
    size_t count;
    const struct plan_piece *list = plan_pieces(plan, &count);
    bool ok =
        print_line(json_pack("{s:i, s:I, s:I, s:I}", "plan", PLAN_VERSION, "shards", (json_int_t)plan->shards,
                             "split", (json_int_t)plan->split_bytes, "pieces", (json_int_t)count),
                   out);
    for (size_t i = 0; ok && i < count; i++)
        ok = print_line(piece_json(&list[i]), out);
    ok = ok && fflush(out) == 0;
    return ok || error_set_system(err, ERROR_IO, errno, "the plan cannot be written");
}

static bool bad_line(const char *path, size_t line, const char *why, struct error *err)
{
    return error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s: line %zu: %s", path, line, why);
}

static bool take_head(struct plan *plan, json_t *object, json_int_t *pieces)
{
    json_int_t version = 0, shards = 0, split = 0;
    if (json_unpack(object, "{s:I, s:I, s:I, s:I !}", "plan", &version, "shards", &shards, "split", &split,
                    "pieces", pieces) != 0)
        return false;
    plan->shards = (uint32_t)shards;
    plan->split_bytes = (uint64_t)split;
    return version == PLAN_VERSION && shards > 0 && shards <= UINT32_MAX && split >= 0 && *pieces >= 0;
}

static const char no_memory[] = "out of memory";

/* NULL, or what is wrong with the line. */
static const char *take_piece(struct plan *plan, json_t *object)
{
    json_int_t shard, bytes, first = 0, last = -1;
    const char *path;
    int input = 0;
    if (json_unpack(object, "{s:I, s:s, s:I, s?b, s?I, s?I !}", "shard", &shard, "path", &path, "bytes",
                    &bytes, "input", &input, "first", &first, "last", &last) != 0)
        return "not a piece of a plan";
    if (shard < 0 || shard >= (json_int_t)plan->shards || bytes < 0 || first < 0 ||
        (last >= 0 && last < first))
        return "a number is out of range";
    const struct plan_piece piece = {.path = arena_copy(&plan->arena, path, strlen(path)),
                                     .bytes = (uint64_t)bytes,
                                     .first = (uint64_t)first,
                                     .last = last < 0 ? UINT64_MAX : (uint64_t)last,
                                     .shard = (uint32_t)shard,
                                     .is_input = input,
                                     .in_parts = json_object_get(object, "first") != NULL};
    buffer_append(&plan->list, &piece, sizeof piece);
    return piece.path && !plan->list.failed ? NULL : no_memory;
}

static bool read_lines(struct plan *plan, const char *path, FILE *in, struct error *err)
{
    char *text = NULL;
    size_t room = 0, line = 0;
    json_int_t pieces = 0;
    bool ok = true;
    while (ok && getline(&text, &room, in) > 0) {
        json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        const char *wrong = NULL;
        if (line++ == 0)
            wrong =
                object && take_head(plan, object, &pieces) ? NULL : "not the head of a plan of this version";
        else
            wrong = object ? take_piece(plan, object) : "no JSON object";
        /* What there was no memory for only looks malformed. */
        ok = !wrong || (wrong == no_memory || json_lacked_memory() ? out_of_memory(err)
                                                                   : bad_line(path, line, wrong, err));
        json_decref(object);
    }
    free(text);
    if (ok && !feof(in)) /* of the disk, or of memory for a line */
        return error_set_system(err, ERROR_IO, errno, "%s", path);
    /* A plan that was cut short would leave files out. */
    if (ok && (line == 0 || (json_int_t)(plan->list.size / sizeof(struct plan_piece)) != pieces))
        return bad_line(path, line, "the plan is not complete", err);
    return ok;
}

struct plan *plan_read(const char *path, struct error *err)
{
    FILE *in = fopen(path, "re");
    struct plan *plan = calloc(1, sizeof *plan);
    bool ok = false;
    if (!in)
        error_set_system(err, ERROR_IO, errno, "%s", path);
    else if (!plan)
        out_of_memory(err);
    else
        ok = read_lines(plan, path, in, err) && finish(plan, err);
    if (in)
        fclose(in);
    if (ok)
        return plan;
    plan_free(plan);
    return NULL;
}
