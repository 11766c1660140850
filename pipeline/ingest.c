/* ingest.c - see ingest.h */
#include "pipeline/ingest.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/clock.h"
#include "pipeline/earlier.h"
#include "pipeline/shared.h"
#include "pipeline/spool.h"
#include "pipeline/supervise.h"
#include "pipeline/tape.h"
#include "pipeline/worker.h"

/* A batch is committed at once. Keys are hashes, so each batch touches nearly every page of the trees: one of
 * small items is as large as memory allows. The geometry of a large item has pages of its own, which are
 * written once whatever the batch; there batches are smaller, so that decoding and committing go on beside
 * each other. An item counts for its content and for what is kept of it in any case. */
#define BATCH_BYTES ((size_t)200 << 20)
#define BATCH_LARGE ((size_t)40 << 20)
/* Of two batches that are under way: the second waits for the first when they are more. */
#define BATCHES_MOST ((size_t)216 << 20)
/* Content in slots that are not done with; one item is always allowed. */
#define IN_FLIGHT_MOST ((size_t)256 << 20)
/* Pages of logs that are kept from batch to batch, of each. */
#define KEEP_LOG ((size_t)24 << 20)
/* How often progress is told while nothing is committed. */
#define PROGRESS_MS 100

/* An archive that ended in a batch. */
struct archive_end {
    struct hash path;
    uint64_t members;
};

/* An event that waits for its commit. Its strings are in a tape. */
struct note {
    uint32_t order;
    struct hash hash;
    struct ingest_event event;
};

struct ingest {
    struct store *store;
    const struct ingest_options *options;
    struct shared *shared;
    struct known *known;
    int shared_fd, known_fd;
    struct supervision *supervision;
    uint64_t batch;         /* the one to be committed next */
    struct store_log *logs; /* [threads], of that batch */
    struct buffer ends;     /* of struct archive_end, of that batch */
    struct buffer notes;    /* of struct note, when somebody listens */
    struct buffer keys;     /* of struct hash: what is known once it is committed */
    size_t keep;            /* bytes of logs whose pages are kept from batch to batch */
    bool verify;            /* a worker died: what others left is looked at more closely */
    struct ingest_progress progress;
};

/* A number that changes with everything that decides outcomes: a file read under another one is read again.
 */
static uint32_t outcome_version(const struct extract_limits *limits)
{
    static const struct extract_limits any;
    const struct extract_limits *l = limits ? limits : &any;
    uint64_t facts[8 + 2 * FORMAT_COUNT] = {EXTRACT_VERSION,   l->depth, l->member_bytes, l->members,
                                            l->expanded_bytes, l->ratio, l->spool_bytes,  l->seconds};
    size_t used = 8, count;
    const struct format *const *all = format_all(&count);
    for (size_t i = 0; i < count && used + 2 <= sizeof facts / sizeof *facts; i++) {
        facts[used++] = all[i]->id;
        facts[used++] = all[i]->version;
    }
    uint32_t version = (uint32_t)hash_checksum(NULL, 0, facts, used * sizeof *facts);
    return version ? version : 1; /* 0 is "never" in a source record */
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory during a run");
}

/* ---- what the store knows already ---------------------------------------------------------------------- */

static bool know_file(const struct hash *path_hash, const struct source_record *record, void *ctx)
{
    struct ingest *ingest = ctx;
    (void)path_hash;
    if (record->version == ingest->shared->version || record->version == ingest->shared->version_limited) {
        struct hash key = known_file(record->path, record->bytes, record->mtime_ns);
        known_add(ingest->known, &key, 0);
    }
    return true;
}

static bool know_content(const struct hash *container, const struct container_head *head, void *ctx)
{
    struct ingest *ingest = ctx;
    struct hash key = known_content(container, head->decoder_version);
    return known_add(ingest->known, &key, 0);
}

static bool know_geometry(const struct hash *geometry, void *ctx)
{
    struct ingest *ingest = ctx;
    return known_add(ingest->known, geometry, 0);
}

static bool fill_known(struct ingest *ingest, struct store *store, struct error *err)
{
    struct store_txn *txn = store_begin_read(store, err);
    bool ok = txn && (ingest->options->rehash || store_each_source(txn, know_file, ingest, err)) &&
              store_each_content(txn, know_content, ingest, err) &&
              store_each_geometry(txn, know_geometry, ingest, err);
    store_end_read(txn);
    return ok;
}

/* ---- collecting a batch -------------------------------------------------------------------------------- */

static void counts_add(struct ingest_progress *sum, const struct share_counts *counts)
{
    sum->items += counts->items;
    sum->containers += counts->containers;
    sum->resources += counts->resources;
    sum->declined += counts->declined;
    sum->known += counts->known;
    sum->unknown += counts->unknown;
    sum->failed += counts->failed;
    sum->inputs_failed += counts->inputs_failed;
    sum->bytes_content += counts->bytes_content;
    sum->bytes_canonical += counts->bytes_canonical;
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        sum->by_status[i] += counts->by_status[i];
}

static void collect_record(struct ingest *ingest, const struct tape_record *record)
{
    if (record->kind == TAPE_KEY) {
        buffer_append(&ingest->keys, &record->hash, sizeof record->hash);
    } else if (record->kind == TAPE_END) {
        const struct archive_end end = {record->hash, record->members};
        buffer_append(&ingest->ends, &end, sizeof end);
    } else {
        const struct note note = {record->order, record->hash, record->event};
        buffer_append(&ingest->notes, &note, sizeof note);
    }
}

static bool collect_tape(struct ingest *ingest, unsigned thread, uint64_t size, struct error *err)
{
    const uint8_t *at = shared_tape(ingest->shared, ingest->batch, thread);
    bool sound = size <= ingest->shared->tape_size;
    while (size && sound) {
        struct tape_record record;
        size_t whole = tape_read(at, (size_t)size, &record);
        sound = whole != 0;
        if (sound)
            collect_record(ingest, &record);
        at += whole;
        size -= whole;
    }
    return sound || error_set(err, ERROR_IO, ERROR_NO_OFFSET, "what was decoded was written over in memory");
}

/* What a thread made of the batch; NULL: nothing. */
static const struct share_state *share_of(const struct ingest *ingest, unsigned thread)
{
    const struct share_state *state = share_now(&ingest->shared->thread[thread].shares[ingest->batch & 1]);
    return state->batch == ingest->batch && state->slot ? state : NULL;
}

/* Brings together what all threads made of the batch that is to be committed. */
static bool collect_batch(struct ingest *ingest, struct share_counts *counts, struct error *err)
{
    buffer_clear(&ingest->ends);
    buffer_clear(&ingest->notes);
    buffer_clear(&ingest->keys);
    for (unsigned i = 0; i < ingest->shared->threads; i++) {
        const struct share_state *state = share_of(ingest, i);
        struct store_log *log = &ingest->logs[i];
        *log = (struct store_log){.memory = shared_log(ingest->shared, ingest->batch, i),
                                  .size = ingest->shared->log_size};
        counts[i] = (struct share_counts){0};
        if (!state)
            continue;
        log->mark = state->log;
        counts[i] = state->counts;
        if (!collect_tape(ingest, i, state->tape, err))
            return false;
    }
    return !(ingest->ends.failed || ingest->notes.failed || ingest->keys.failed) || out_of_memory(err);
}

/* ---- committing ---------------------------------------------------------------------------------------- */

/* Now that all members of the archives that end in the batch are in: what they held before and hold no longer
 * goes. */
static bool drop_unseen(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct ingest *ingest = ctx;
    const struct archive_end *end = (const struct archive_end *)ingest->ends.data;
    for (size_t i = 0; i < ingest->ends.size / sizeof *end; i++)
        if (!store_drop_unseen(txn, &end[i].path, ingest->options->run, end[i].members, err))
            return false;
    return true;
}

static int note_order(const void *a, const void *b)
{
    const struct note *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* Tells the events of a committed batch in the order of the input. */
static void tell_batch(const struct ingest *ingest)
{
    struct note *notes = (struct note *)ingest->notes.data;
    size_t count = ingest->notes.size / sizeof *notes;
    if (count)
        qsort(notes, count, sizeof *notes, note_order);
    for (size_t i = 0; i < count; i++) {
        notes[i].event.hash = hash_is_zero(&notes[i].hash) ? NULL : &notes[i].hash;
        ingest->options->event(&notes[i].event, ingest->options->ctx);
    }
}

/* Gives back what the batch took beyond what the next one will need. Behind the last batch nothing is kept:
 * the global passes follow. */
static void trim_batch(const struct ingest *ingest, bool last)
{
    const struct shared *shared = ingest->shared;
    size_t part[STORE_LOG_KINDS + 2], used[STORE_LOG_KINDS + 1],
        keep = last ? 0 : ingest->keep / shared->threads;
    store_log_parts(shared->log_size, part);
    for (unsigned i = 0; i < shared->threads; i++) {
        const struct share_state *state = share_of(ingest, i);
        if (!state)
            continue;
        store_log_used(&state->log, used);
        for (size_t p = 0; p < STORE_LOG_KINDS + 1; p++)
            shared_trim(shared_log(shared, ingest->batch, i) + part[p], keep, used[p]);
        shared_trim(shared_tape(shared, ingest->batch, i), keep, (size_t)state->tape);
    }
}

static bool commit_batch(struct ingest *ingest, bool last, struct error *err)
{
    struct shared *shared = ingest->shared;
    struct share_counts *counts = calloc(shared->threads, sizeof *counts);
    uint64_t items = 0;
    bool ok = counts ? collect_batch(ingest, counts, err) : out_of_memory(err);
    for (unsigned i = 0; ok && i < shared->threads; i++)
        items += counts[i].items;
    double started = clock_seconds();
    ok = ok && (!items || store_commit_logs(ingest->store, ingest->logs, shared->threads, ingest->verify,
                                            drop_unseen, ingest, err));
    ingest->progress.commit_ns += (uint64_t)((clock_seconds() - started) * 1e9);
    for (unsigned i = 0; ok && i < shared->threads; i++)
        counts_add(&ingest->progress, &counts[i]);
    free(counts);
    if (!ok)
        return false;
    const struct hash *keys = (const struct hash *)ingest->keys.data;
    for (size_t i = 0; i < ingest->keys.size / sizeof *keys && !last; i++)
        known_add(ingest->known, &keys[i], ingest->batch + 2);
    if (ingest->options->event)
        tell_batch(ingest);
    trim_batch(ingest, last);
    return true;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static void show_progress(struct ingest *ingest)
{
    const struct shared *shared = ingest->shared;
    ingest->progress.bytes_read = atomic_load(&shared->bytes_read);
    ingest->progress.bytes_total = atomic_load(&shared->bytes_total);
    ingest->progress.extract_ns = atomic_load(&shared->extract_ns);
    ingest->progress.decode_ns = atomic_load(&shared->decode_ns);
    ingest->progress.restarts = supervise_deaths(ingest->supervision);
    ingest->verify = ingest->progress.restarts != 0;
    if (ingest->options->progress)
        ingest->options->progress(&ingest->progress, ingest->options->ctx);
}

/* Whether every item of the batch is done with. */
static bool is_complete(const struct ingest *ingest)
{
    const struct shared *shared = ingest->shared;
    return atomic_load(&shared->closed) > ingest->batch &&
           shared_done_before(shared, shared->closed_at[ingest->batch & 1]);
}

/* Why the extraction gave up: memory, or the only disk that it writes to. */
static bool extraction_failed(const struct ingest *ingest, struct error *err)
{
    const struct shared *shared = ingest->shared;
    error_set(err, (enum error_code)shared->failure_code, ERROR_NO_OFFSET, "%.*s", SHARED_MESSAGE - 1,
              shared->failure);
    if (err->code == ERROR_DISK && ingest->options->spool)
        error_prefix(err, "in %s", spool_directory(ingest->options->spool));
    return false;
}

static bool wait_for_batch(struct ingest *ingest, struct error *err)
{
    struct shared *shared = ingest->shared;
    for (;;) {
        uint32_t seen = signal_now(&shared->advance);
        if (ingest->options->cancel && *ingest->options->cancel)
            atomic_store(&shared->cancel, true);
        if (is_complete(ingest))
            return true;
        if (supervise_failed(ingest->supervision, err))
            return false;
        if (atomic_load(&shared->damaged))
            return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "what was extracted was written over in memory");
        if (atomic_load(&shared->failed))
            return extraction_failed(ingest, err);
        signal_wait(&shared->advance, seen, PROGRESS_MS);
        show_progress(ingest);
    }
}

static bool run_batches(struct ingest *ingest, struct error *err)
{
    struct shared *shared = ingest->shared;
    bool last = false;
    while (!last) {
        if (!wait_for_batch(ingest, err))
            return false;
        /* The batch that ends the input is the last that was closed. */
        last = atomic_load(&shared->ended) && atomic_load(&shared->closed) == ingest->batch + 1;
        show_progress(ingest);
        if (!commit_batch(ingest, last, err))
            return false;
        show_progress(ingest);
        ingest->batch++;
        atomic_store(&shared->committed, ingest->batch);
        signal_raise(&shared->freed);
    }
    return true;
}

/* Tells the extraction what of the inputs is this shard's. */
static bool share_plan(const struct ingest *ingest, struct error *err)
{
    const struct ingest_options *options = ingest->options;
    struct shared *shared = ingest->shared;
    const char *plan = options->plan_path ? options->plan_path : "";
    if (!options->shard)
        return true;
    shared->shard_index = options->shard->index;
    shared->shard_count = options->shard->count;
    shared->split_bytes = options->shard->split_bytes;
    if (strlen(plan) >= sizeof shared->plan_path)
        return error_set(err, ERROR_IO, ERROR_NO_OFFSET, "the path of the plan is too long");
    strcpy(shared->plan_path, plan);
    return true;
}

/* Bounds what is on its way so that all processes together stay under so much memory. Of a batch there are
 * its logs, those of the next one, and the pages of its commit, which are many for small items: an item that
 * weighs two kilobytes changes about eight pages. Of an item in flight there are the extraction's bytes,
 * those in its slot, and twice as much in its decoding. Nothing here is an outcome. */
static void stay_under(struct ingest *ingest, uint64_t memory)
{
    struct shared *shared = ingest->shared;
    uint64_t batch = memory / 28, in_flight = memory / 12;
    if (batch < shared->batch_bytes)
        shared->batch_bytes = batch;
    if (2 * shared->batch_bytes < shared->batches_most)
        shared->batches_most = 2 * shared->batch_bytes;
    if (in_flight < shared->in_flight_most)
        shared->in_flight_most = in_flight;
    if (memory / 16 < ingest->keep)
        ingest->keep = memory / 16;
    shared->memory = memory;
    mallopt(M_TRIM_THRESHOLD, WORKER_TRIM(memory));
}

static bool setup_shared(struct ingest *ingest, struct error *err)
{
    const struct ingest_options *options = ingest->options;
    struct shared *shared = shared_make(options->threads, options->limits.member_bytes, options->inputs,
                                        options->walked, options->input_count, &ingest->shared_fd, err);
    if (!shared)
        return false;
    ingest->shared = shared;
    shared->parent = getpid();
    shared->listening = options->event != NULL;
    shared->sandbox = !options->no_sandbox;
    shared->run = options->run;
    shared->batch_bytes = options->batch_bytes ? options->batch_bytes : BATCH_BYTES;
    shared->batch_large = BATCH_LARGE;
    shared->batches_most = BATCHES_MOST;
    shared->in_flight_most = IN_FLIGHT_MOST;
    if (options->memory)
        stay_under(ingest, options->memory);
    shared->version = outcome_version(NULL);
    shared->version_limited = outcome_version(&options->limits);
    shared->limits = options->limits;
    return share_plan(ingest, err);
}

static bool setup(struct ingest *ingest, struct error *err)
{
    const struct ingest_options *options = ingest->options;
    if (!setup_shared(ingest, err))
        return false;
    ingest->logs = calloc((size_t)options->threads, sizeof *ingest->logs);
    ingest->known = known_make(&ingest->known_fd, err);
    if (!ingest->logs)
        return out_of_memory(err);
    if (!ingest->known || !earlier_review(ingest->store, err) || !fill_known(ingest, ingest->store, err) ||
        (options->seed && !fill_known(ingest, options->seed, err)))
        return false;
    const struct supervise_options supervise = {
        .inputs = options->inputs,
        .walked = options->walked,
        .input_count = options->input_count,
        .total = options->total,
        .shared_fd = ingest->shared_fd,
        .known_fd = ingest->known_fd,
        .spool_fd = options->spool ? spool_fd(options->spool) : -1,
        .stall_seconds = options->stall_seconds > 0 ? options->stall_seconds : INGEST_STALL_SECONDS,
    };
    ingest->supervision = supervise_start(ingest->shared, &supervise, err);
    return ingest->supervision != NULL;
}

static void teardown(struct ingest *ingest)
{
    supervise_end(ingest->supervision);
    if (ingest->shared) {
        ingest->progress.extract_sandbox = atomic_load(&ingest->shared->extract_sandbox);
        ingest->progress.decode_sandbox = atomic_load(&ingest->shared->decode_sandbox);
    }
    free(ingest->logs);
    buffer_free(&ingest->ends);
    buffer_free(&ingest->notes);
    buffer_free(&ingest->keys);
    known_free(ingest->known);
    shared_free(ingest->shared);
    if (ingest->shared_fd >= 0)
        close(ingest->shared_fd);
    if (ingest->known_fd >= 0)
        close(ingest->known_fd);
}

bool ingest(struct store *store, const struct ingest_options *options, struct ingest_progress *done,
            struct error *err)
{
    struct ingest ingest = {
        .store = store, .options = options, .shared_fd = -1, .known_fd = -1, .keep = KEEP_LOG};
    bool ok = setup(&ingest, err) && run_batches(&ingest, err);
    teardown(&ingest);
    *done = ingest.progress;
    return ok;
}
