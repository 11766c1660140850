/* worker_extract.c - the extracting process: inputs in, slots out.
 *
 * It stops where the parent and the decoding are behind: at the batch after next, at the slots, and at the
 * bytes in them. A new process begins with the file at which the last one died, takes its steps again but for
 * those that are refused now, and hands out what has not been handed out yet.
 */
#include <fcntl.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/clock.h"
#include "pipeline/fault.h"
#include "pipeline/feed.h"
#include "pipeline/inputs.h"
#include "pipeline/parcel.h"
#include "pipeline/plan.h"
#include "pipeline/sandbox.h"
#include "pipeline/worker.h"

/* What a thread takes at once: enough that waking it is rare, few enough that it is all in its cache. */
#define HANDFUL_ITEMS 32
#define HANDFUL_BYTES ((size_t)128 << 10)
/* What an item weighs in its batch beside its content: what is kept of it in any case. */
#define ITEM_BYTES ((size_t)1 << 10)
/* From here on an item is large: what is made of it mostly gets pages of its own. */
#define LARGE_BYTES ((size_t)16 << 10)

/* An archive that is open in the extraction, and how many items came out of it so far. */
struct open_archive {
    struct open_archive *outer;
    uint64_t members;
    char path[];
};

struct extraction {
    struct shared *shared;
    const struct known *known;
    struct extractor *extractor;
    const struct shard *shard; /* count 0: everything is taken */
    struct extract_position at;
    uint64_t skip;             /* items of the first file that were handed out before */
    bool limit_hit;            /* by a member of the plain file being extracted */
    struct open_archive *open; /* the innermost one that had an item */
    double since, waited;      /* the current file's begin, and what of it was waiting; seconds */
    uint64_t spent;            /* see shared_spent */
    /* The slot being filled; -1: none. */
    int slot;
    uint64_t used;
    uint32_t items, order;
};

/* ---- what the extractor asks --------------------------------------------------------------------------- */

/* Whether the store vouches for a plain file, so that it need not be opened. */
static bool is_unchanged(const char *path, uint64_t size, int64_t mtime_ns, void *ctx)
{
    const struct extraction *extraction = ctx;
    struct hash key = known_file(path, size, mtime_ns);
    return known_has(extraction->known, &key, 0);
}

static enum extract_share share_of(const struct extract_piece *piece, void *ctx)
{
    const struct extraction *extraction = ctx;
    return shard_share(extraction->shard, piece);
}

static int open_input(void *ctx, int *why)
{
    (void)ctx;
    return inputs_receive(WORKER_INPUTS, why);
}

/* Whether the current file has had all the time that it may have; waiting for others does not count. */
static bool is_out_of_time(struct extraction *extraction, enum extract_step step)
{
    uint64_t most = extraction->shared->limits.seconds;
    if (step == EXTRACT_OPEN || extraction->skip) { /* what is done a second time costs nothing */
        extraction->since = clock_seconds();
        extraction->waited = 0;
    }
    return most && clock_seconds() - extraction->since - extraction->waited > (double)most;
}

static bool enter(enum extract_step step, uint64_t file, uint64_t member, const char *name,
                  struct failure *failure, void *ctx)
{
    struct extraction *extraction = ctx;
    struct shared *shared = extraction->shared;
    for (uint32_t i = 0; i < shared->refusal_count; i++) {
        const struct refusal *refusal = &shared->refusals[i];
        bool same = refusal->member == member && refusal->step == step;
        bool behind = refusal->rest && step == EXTRACT_NEXT && member >= refusal->member;
        if (refusal->file == file && (same || behind)) {
            failure_set(failure, (enum container_reason)refusal->reason, "%s", refusal->message);
            return false;
        }
    }
    if (is_out_of_time(extraction, step)) {
        failure_set_by_place(failure, CONTAINER_TIMED_OUT, "takes longer; --max-seconds is %llu",
                             (unsigned long long)shared->limits.seconds);
        return false;
    }
    atomic_store_explicit(&shared->at_file, file, memory_order_relaxed);
    atomic_store_explicit(&shared->at_member, member, memory_order_relaxed);
    atomic_store_explicit(&shared->at_step, step, memory_order_relaxed);
    atomic_fetch_add_explicit(&shared->pulse, 1, memory_order_relaxed);
    fault_here(FAULT_EXTRACT, name);
    return true;
}

/* ---- what goes with an item ---------------------------------------------------------------------------- */

static bool hits_limit(const struct extracted *item)
{
    return (item->kind == EXTRACT_FAILED || item->kind == EXTRACT_ARCHIVE) &&
           (item->reason == CONTAINER_OVER_LIMIT || item->reason == CONTAINER_TOO_DEEP ||
            item->reason == CONTAINER_TIMED_OUT);
}

/* Whether a failure is one that trying again on the same bytes will not mend. */
static bool stands(const struct extracted *item)
{
    return item->reason == CONTAINER_CRASHED || item->reason == CONTAINER_TIMED_OUT;
}

/* The version to remember a plain file by; 0 when it has to be read again in any case. */
static uint32_t version_of(struct extraction *extraction, const struct extracted *item)
{
    const struct shared *shared = extraction->shared;
    extraction->limit_hit |= hits_limit(item);
    if (item->parent_path)
        return 0;
    /* Whether another shard's members hit a limit is not known here. */
    bool limited = extraction->limit_hit || item->in_parts;
    extraction->limit_hit = false;
    if (item->kind == EXTRACT_FAILED && !limited && !stands(item))
        return 0;
    return limited ? shared->version_limited : shared->version;
}

/* Counts the items of each archive: how many, when the item is an archive's end. */
static uint64_t count_member(struct extraction *extraction, const struct extracted *item)
{
    uint64_t members = 0;
    struct open_archive *open = extraction->open;
    if (item->kind == EXTRACT_ARCHIVE && open && strcmp(open->path, item->path) == 0) {
        members = open->members;
        extraction->open = open->outer;
        free(open);
        open = extraction->open;
    }
    if (!item->parent_path)
        return members;
    if (!open || strcmp(open->path, item->parent_path) != 0) {
        size_t length = strlen(item->parent_path) + 1;
        open = calloc(1, sizeof *open + length);
        if (!open)
            worker_out_of_memory();
        memcpy(open->path, item->parent_path, length);
        open->outer = extraction->open;
        extraction->open = open;
    }
    open->members++;
    return members;
}

/* ---- slots --------------------------------------------------------------------------------------------- */

/* Waits for a change of `freed`, which is no standstill and not the input's time. */
static void wait_freed(struct extraction *extraction, uint32_t seen)
{
    double begin = clock_seconds();
    atomic_store(&extraction->shared->waiting, true);
    signal_wait(&extraction->shared->freed, seen, SIGNAL_MS);
    atomic_store(&extraction->shared->waiting, false);
    atomic_fetch_add(&extraction->shared->pulse, 1);
    extraction->waited += clock_seconds() - begin;
}

/* The lowest free slot: the one whose pages are most likely there, and warm. */
static int free_slot(const struct shared *shared)
{
    for (unsigned i = 0; i < shared->slot_count; i++)
        if (SLOT_TAG(atomic_load(&shared->slots[i].state)) == SLOT_FREE)
            return (int)i;
    return -1;
}

/* Whether the batch may go on: it is the one to be committed next, or the one behind that and both are not
 * too much. */
static bool may_go_on(const struct extraction *extraction)
{
    const struct shared *shared = extraction->shared;
    const struct extract_position *at = &extraction->at;
    uint64_t next = atomic_load(&shared->committed);
    return at->batch <= next ||
           (at->batch == next + 1 && at->before_bytes + at->batch_bytes < shared->batches_most);
}

static void take_slot(struct extraction *extraction)
{
    struct shared *shared = extraction->shared;
    for (;;) {
        uint32_t seen = signal_now(&shared->freed);
        extraction->slot = may_go_on(extraction) ? free_slot(shared) : -1;
        if (extraction->slot >= 0)
            break;
        wait_freed(extraction, seen);
    }
    extraction->used = 0;
    extraction->items = 0;
    extraction->order = extraction->at.batch_items;
}

/* Hands the slot over. What a new process would need to go on behind it is there before it counts. */
static void give_slot(struct extraction *extraction)
{
    struct shared *shared = extraction->shared;
    uint64_t sequence = atomic_load(&shared->produced);
    struct slot *slot = &shared->slots[extraction->slot];
    struct extract_position *at = &extraction->at;
    uint64_t done, total;
    slot->batch = at->batch;
    slot->used = extraction->used;
    slot->items = extraction->items;
    slot->order = extraction->order;
    shared->queue[sequence % SHARED_SLOTS] = (uint32_t)extraction->slot;
    shared->positions[sequence & 1] = *at;
    atomic_store(&slot->state, SLOT_STATE(sequence, SLOT_READY));
    atomic_store(&shared->produced, sequence + 1);
    extract_progress(extraction->extractor, &done, &total);
    atomic_store(&shared->bytes_read, done);
    shared_spent(&shared->extract_ns, &extraction->spent);
    extraction->slot = -1;
}

/* Tells the others of what the last slot was the last of. A new process does it again for its predecessor. */
static void announce(struct shared *shared, const struct extract_position *at)
{
    if (at->batch_closed) {
        shared->closed_at[at->batch & 1] = atomic_load(&shared->produced);
        atomic_store(&shared->closed, at->batch + 1);
    }
    if (at->ended)
        atomic_store(&shared->ended, true);
    signal_raise(&shared->filled);
    if (at->batch_closed)
        signal_raise(&shared->advance);
}

/* Behind a slot that was announced. */
static void begin_batch(struct extract_position *at)
{
    if (!at->batch_closed)
        return;
    at->batch++;
    at->before_bytes = at->batch_bytes;
    at->batch_bytes = at->batch_large = at->batch_items = 0;
    at->batch_closed = false;
}

static void hand_over(struct extraction *extraction)
{
    if (extraction->slot < 0)
        take_slot(extraction);
    give_slot(extraction);
    announce(extraction->shared, &extraction->at);
    begin_batch(&extraction->at);
}

/* Waits until so much content may be added to what is in flight; one item always may, when there is nothing
 * else. Small items are looked at once for a handful of them. */
static void wait_for_room(struct extraction *extraction, size_t size)
{
    struct shared *shared = extraction->shared;
    unsigned slots;
    if (extraction->items && extraction->used + size < HANDFUL_BYTES)
        return;
    if (extraction->items &&
        extraction->used + size + shared_in_flight(shared, &slots) > shared->in_flight_most)
        hand_over(extraction);
    for (;;) {
        uint32_t seen = signal_now(&shared->freed);
        uint64_t bytes = shared_in_flight(shared, &slots);
        if (!slots || bytes + extraction->used + size <= shared->in_flight_most)
            return;
        wait_freed(extraction, seen);
    }
}

static void add_item(struct extraction *extraction, struct parcel *parcel)
{
    struct shared *shared = extraction->shared;
    struct extract_position *at = &extraction->at;
    size_t content = parcel->item.kind == EXTRACT_BYTES ? parcel->item.size : 0;
    wait_for_room(extraction, content);
    if (extraction->slot < 0)
        take_slot(extraction);
    if (parcel_size(parcel) >
        shared->slot_size - extraction->used) /* an archive of millions of kinds of members */
        worker_out_of_memory();
    parcel_pack(parcel, shared_slot(shared, (unsigned)extraction->slot) + extraction->used);
    extraction->used += parcel_size(parcel);
    extraction->items++;
    if (at->file != parcel->item.file)
        at->items = 0;
    at->file = parcel->item.file;
    at->items++;
    at->batch_items++;
    at->batch_bytes += content + ITEM_BYTES;
    at->batch_large += content >= LARGE_BYTES ? content : 0;
    at->batch_closed = at->batch_bytes >= shared->batch_bytes || at->batch_large >= shared->batch_large ||
                       at->batch_items == UINT32_MAX;
    if (at->batch_closed || extraction->items == HANDFUL_ITEMS || extraction->used >= HANDFUL_BYTES)
        hand_over(extraction);
}

/* ---- the process --------------------------------------------------------------------------------------- */

/* Names of members are converted from these by modules that iconv loads when it first needs them, which the
 * sandbox does not allow: they are loaded before, and kept. */
static void load_converters(void)
{
    static const char *const charsets[] = {"UTF-16LE", "UTF-16BE", "CP437", "CP850",     "CP932",
                                           "CP936",    "CP949",    "CP950", "SHIFT_JIS", "ISO-8859-1",
                                           "CP1250",   "CP1251",   "CP1252"};
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++)
        if (iconv_open("UTF-8", charsets[i]) == (iconv_t)-1)
            continue; /* a system without it has none with or without a sandbox */
    tzset();
}

/* The shard to be taken, whose plan is a file that can be read now and not later. */
static bool load_shard(struct worker_kit *kit)
{
    const struct shared *shared = kit->shared;
    struct error err = {0};
    kit->shard = (struct shard){
        .index = shared->shard_index, .count = shared->shard_count, .split_bytes = shared->split_bytes};
    if (shared->plan_path[0])
        kit->shard.plan = plan_read(shared->plan_path, &err);
    return !shared->plan_path[0] || kit->shard.plan;
}

/* Goes on behind the last slot that counts; what the predecessor had in the making is free again. */
static void resume(struct extraction *extraction)
{
    struct shared *shared = extraction->shared;
    uint64_t produced = atomic_load(&shared->produced);
    for (unsigned i = 0; i < shared->slot_count; i++)
        if (atomic_load(&shared->slots[i].state) == SLOT_STATE(produced, SLOT_READY))
            atomic_store(&shared->slots[i].state, SLOT_STATE(produced, SLOT_FREE));
    extraction->at = shared_position(shared);
    extraction->skip = extraction->at.items;
    if (!produced)
        return;
    announce(shared, &extraction->at);
    begin_batch(&extraction->at);
}

/* What is nobody's fault ends the run. The parent ends this process. */
static _Noreturn void fail(struct shared *shared, const struct error *err)
{
    shared->failure_code = err->code;
    snprintf(shared->failure, sizeof shared->failure, "%s", err->msg);
    atomic_store(&shared->failed, true);
    signal_raise(&shared->advance);
    for (;;)
        pause();
}

static void run(struct extraction *extraction, uint64_t first_file)
{
    struct shared *shared = extraction->shared;
    struct parcel parcel;
    struct error err = {0};
    while (!atomic_load(&shared->cancel) && extract_next(extraction->extractor, &parcel.item, &err)) {
        parcel.version = version_of(extraction, &parcel.item);
        parcel.members = count_member(extraction, &parcel.item);
        parcel.deal = (struct shard_deal){0};
        if (parcel.item.in_parts)
            parcel.deal = shard_deal(extraction->shard, parcel.item.path);
        if (parcel.item.file == first_file && extraction->skip)
            extraction->skip--;
        else
            add_item(extraction, &parcel);
        extracted_free(&parcel.item);
    }
    if (err.code == ERROR_NOMEM)
        worker_out_of_memory();
    if (err.code)
        fail(shared, &err);
    extraction->at.batch_closed = extraction->at.ended = true;
    hand_over(extraction);
}

bool worker_extract_prepare(struct worker_kit *kit)
{
    struct shared *shared = kit->shared;
    kit->inputs = calloc(shared->input_count + 1, sizeof *kit->inputs);
    if (!kit->inputs || !load_shard(kit))
        return false;
    shared_inputs(shared, kit->inputs);
    load_converters();
    return sandbox_template(SANDBOX_EXTRACT, shared->sandbox, &kit->filter, &shared->extract_sandbox);
}

int worker_extract(const struct worker_kit *kit, unsigned number)
{
    (void)number;
    struct shared *shared = kit->shared;
    struct extraction extraction = {.shared = shared, .known = kit->known, .shard = &kit->shard, .slot = -1};
    worker_note_faults(&shared->extract_signal);
    if (!sandbox_worker(&kit->filter, &shared->extract_sandbox))
        return WORKER_NO_START;
    atomic_store(&shared->extract_begun, true);
    fault_note_alone(atomic_load(&shared->extract_deaths) > 0);
    resume(&extraction);
    if (extraction.at.ended)
        return 0;
    struct spool *spool = fcntl(WORKER_SPOOL, F_GETFD) >= 0 ? spool_of(WORKER_SPOOL) : NULL;
    const struct extract_options options = {.limits = shared->limits,
                                            .spool = spool,
                                            .enter = enter,
                                            .pulse = &shared->pulse,
                                            .first_file = extraction.at.file,
                                            .open_input = open_input,
                                            .unchanged = is_unchanged,
                                            .share = kit->shard.count ? share_of : NULL,
                                            .walked = shared->walked_at ? shared_walked(shared) : NULL,
                                            .ctx = &extraction};
    extraction.extractor = extract_open(kit->inputs, (size_t)shared->input_count, &options);
    if (!extraction.extractor)
        return WORKER_NO_MEMORY;
    run(&extraction, extraction.at.file);
    return 0;
}
