/* ingest.c - see ingest.h */
#include "pipeline/ingest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/parallel.h"

/* A batch is one transaction: large enough that its fsync and the pages it touches all over the trees are
 * small beside the decoding, small enough that two of them stay near a hundred megabytes. An item counts for
 * its content and for what is kept of it in any case. */
#define BATCH_BYTES ((size_t)40 << 20)
#define ITEM_BYTES  ((size_t)1 << 10)
/* What a worker takes at once: enough that the lock is rare, few enough that it is all in its cache. */
#define HANDFUL_ITEMS 32
#define HANDFUL_BYTES ((size_t)128 << 10)
/* Content that all workers together may hold; one handful is always allowed. */
#define IN_FLIGHT_MOST ((size_t)256 << 20)

/* One item on its way from the extraction to the log. */
struct slot {
    struct extracted item;
    uint32_t order;   /* in its batch */
    uint32_t version; /* of a plain file: see source_record.version */
    uint64_t members; /* of EXTRACT_ARCHIVE: items that came out of it */
};

/* An archive that ended in a batch. */
struct archive_end {
    struct hash path;
    uint64_t members;
};

/* An event that waits for its commit. Its strings are in the share's memory. */
struct note {
    uint32_t order;
    struct hash hash;
    struct ingest_event event;
};

/* What one worker makes of a batch; kept until that is committed. */
struct share {
    struct store_log *log;
    struct buffer ends;  /* of struct archive_end */
    struct buffer notes; /* of struct note, when somebody listens */
    struct arena memory;
    struct ingest_progress counts;
};

struct batch {
    struct share *shares; /* [workers] */
    uint32_t items;
    size_t bytes;
    bool last; /* the input had no more */
};

struct worker {
    struct slot handful[HANDFUL_ITEMS];
    size_t count, bytes; /* taken */
    struct decode_scratch scratch;
    struct arena arena;    /* of the item being decoded */
    struct store_txn *txn; /* sees the commits before the step began */
    struct store_txn *seed_txn;
    struct error err; /* a fault of the job */
};

/* An archive that is open in the extraction, and how many items came out of it so far. */
struct open_archive {
    struct open_archive *outer;
    uint64_t members;
    char path[];
};

struct ingest {
    struct store *store;
    const struct ingest_options *options;
    struct worker *workers; /* [worker_count] */
    int worker_count;
    struct decode_seen *seen; /* NULL: the store had contents before */
    struct batch batches[2];
    struct batch *filling, *committing;
    const struct store_log **logs; /* [worker_count], of the batch being committed */
    struct ingest_progress progress;
    struct error commit_err;

    /* The input is read by one worker at a time; `input` guards all of this. */
    pthread_mutex_t input;
    pthread_cond_t drained; /* in_flight became less */
    size_t in_flight;       /* bytes of content that workers hold */
    bool stop;              /* a worker has failed */
    struct extractor *extractor;
    struct store_txn *lookup_txn; /* of `unchanged` */
    struct store_txn *lookup_seed_txn;
    uint32_t version, version_limited;
    bool limit_hit;            /* by a member of the plain file being extracted */
    struct open_archive *open; /* the innermost one that had an item */
    struct error extract_err;
};

/* A number that changes with everything that decides outcomes: a file read under another one is read again.
 */
static uint32_t outcome_version(const struct extract_limits *limits)
{
    static const struct extract_limits any;
    const struct extract_limits *l = limits ? limits : &any;
    uint64_t facts[7 + 2 * FORMAT_COUNT] = {EXTRACT_VERSION,   l->depth, l->member_bytes, l->members,
                                            l->expanded_bytes, l->ratio, l->spool_bytes};
    size_t used = 7, count;
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

/* ---- extraction: under the lock ------------------------------------------------------------------------ */

/* Whether a store vouches for a plain file. */
static bool is_vouched_for(const struct ingest *ingest, struct store_txn *txn, const char *path,
                           uint64_t size, int64_t mtime_ns)
{
    struct hash key = hash_bytes(path, strlen(path));
    struct source_record record;
    struct arena arena = {0};
    struct error err = {0};
    bool found = false;
    /* A record that cannot be read vouches for nothing; `check` will name it. */
    bool same = store_get_source(txn, &key, &arena, &record, &found, &err) && found && record.bytes == size &&
                record.mtime_ns == mtime_ns &&
                (record.version == ingest->version || record.version == ingest->version_limited);
    arena_free(&arena);
    return same;
}

/* Whether the file need not be opened. */
static bool is_unchanged(const char *path, uint64_t size, int64_t mtime_ns, void *ctx)
{
    const struct ingest *ingest = ctx;
    if (ingest->options->rehash)
        return false;
    return (ingest->lookup_txn && is_vouched_for(ingest, ingest->lookup_txn, path, size, mtime_ns)) ||
           (ingest->lookup_seed_txn && is_vouched_for(ingest, ingest->lookup_seed_txn, path, size, mtime_ns));
}

static enum extract_share share_of(const struct extract_piece *piece, void *ctx)
{
    const struct ingest *ingest = ctx;
    return shard_share(ingest->options->shard, piece);
}

static bool hits_limit(const struct extracted *item)
{
    return (item->kind == EXTRACT_FAILED || item->kind == EXTRACT_ARCHIVE) &&
           (item->reason == CONTAINER_OVER_LIMIT || item->reason == CONTAINER_TOO_DEEP);
}

/* The version to remember a plain file by; 0 when it has to be read again in any case. */
static uint32_t slot_version(struct ingest *ingest, const struct extracted *item)
{
    ingest->limit_hit |= hits_limit(item);
    if (item->parent_path)
        return 0;
    /* Whether another shard's members hit a limit is not known here. */
    bool limited = ingest->limit_hit || item->in_parts;
    ingest->limit_hit = false;
    if (item->kind == EXTRACT_FAILED && !limited)
        return 0;
    return limited ? ingest->version_limited : ingest->version;
}

/* Counts the items of each archive: `slot->members` when the item is an archive's end. False when memory runs
 * out. */
static bool count_member(struct ingest *ingest, struct slot *slot)
{
    const struct extracted *item = &slot->item;
    struct open_archive *open = ingest->open;
    if (item->kind == EXTRACT_ARCHIVE && open && strcmp(open->path, item->path) == 0) {
        slot->members = open->members;
        ingest->open = open->outer;
        free(open);
        open = ingest->open;
    }
    if (!item->parent_path)
        return true;
    if (!open || strcmp(open->path, item->parent_path) != 0) {
        size_t length = strlen(item->parent_path) + 1;
        open = calloc(1, sizeof *open + length);
        if (!open)
            return out_of_memory(&ingest->extract_err);
        memcpy(open->path, item->parent_path, length);
        open->outer = ingest->open;
        ingest->open = open;
    }
    open->members++;
    return true;
}

static bool cancelled(const struct ingest *ingest)
{
    return ingest->options->cancel && *ingest->options->cancel;
}

/* The next item of the batch into the handful; false when there is none, now or ever. */
static bool take_item(struct ingest *ingest, struct worker *worker)
{
    struct batch *batch = ingest->filling;
    size_t most = ingest->options->batch_bytes ? ingest->options->batch_bytes : BATCH_BYTES;
    struct slot *slot = &worker->handful[worker->count];
    if (batch->last || ingest->stop || batch->bytes >= most || batch->items == UINT32_MAX)
        return false;
    slot->members = 0;
    if (cancelled(ingest) || !extract_next(ingest->extractor, &slot->item, &ingest->extract_err)) {
        batch->last = true;
        return false;
    }
    worker->count++;
    slot->order = batch->items++;
    slot->version = slot_version(ingest, &slot->item);
    size_t bytes = slot->item.kind == EXTRACT_BYTES ? slot->item.size : 0;
    worker->bytes += bytes;
    batch->bytes += bytes + ITEM_BYTES;
    batch->last |= !count_member(ingest, slot);
    return true;
}

/* Gives the last handful back and takes the next. What one core has just read it decodes itself, so the bytes
 * are still in its cache. False when the batch is full or the input at its end. */
static bool take_handful(struct ingest *ingest, struct worker *worker)
{
    pthread_mutex_lock(&ingest->input);
    ingest->in_flight -= worker->bytes;
    worker->count = worker->bytes = 0;
    pthread_cond_broadcast(&ingest->drained);
    while (ingest->in_flight > IN_FLIGHT_MOST)
        pthread_cond_wait(&ingest->drained, &ingest->input);
    while (worker->count < HANDFUL_ITEMS && worker->bytes < HANDFUL_BYTES && take_item(ingest, worker))
        ;
    ingest->in_flight += worker->bytes;
    pthread_mutex_unlock(&ingest->input);
    return worker->count > 0;
}

static void stop_workers(struct ingest *ingest)
{
    pthread_mutex_lock(&ingest->input);
    ingest->stop = true;
    pthread_mutex_unlock(&ingest->input);
}

/* ---- from an item to the log --------------------------------------------------------------------------- */

static bool log_archive(const struct ingest *ingest, struct share *share, const struct slot *slot,
                        struct error *err)
{
    const struct extracted *item = &slot->item;
    struct container_record record = {
        .bytes = item->bytes,
        .decoder_version = EXTRACT_VERSION,
        .container = {.format = item->format,
                      .status = item->status,
                      .reason = item->reason,
                      .flags = item->flags,
                      .error = {.offset = ERROR_NO_OFFSET}},
        .member_count = item->member_count,
        .census_count = item->census_count,
        .census = item->census,
    };
    if (item->message[0])
        error_set(&record.container.error, ERROR_MALFORMED, ERROR_NO_OFFSET, "%s", item->message);
    const struct archive_end end = {hash_bytes(item->path, strlen(item->path)), slot->members};
    if (item->kind == EXTRACT_ARCHIVE)
        buffer_append(&share->ends, &end, sizeof end);
    if (share->ends.failed)
        return out_of_memory(err);
    if (item->in_parts) {
        struct part_record part = shard_part(ingest->options->shard, item, &record);
        if (!store_log_part(share->log, slot->order, &end.path, &part, err))
            return false;
        record.container.flags |= FLAG_BIT(FLAG_PARTIAL);
    }
    if (item->kind != EXTRACT_ARCHIVE || item->foreign)
        return true;
    return store_log_container(share->log, slot->order, &item->hash, &record, NULL, 0, err);
}

static bool log_decoded(struct share *share, uint32_t order, const struct decoded *decoded, struct error *err)
{
    for (size_t i = 0; i < decoded->geometry_count; i++) {
        const struct decoded_geometry *geometry = &decoded->geometries[i];
        if (geometry->encoded &&
            !store_log_geometry(share->log, order, &geometry->hash, geometry->encoded, geometry->size, err))
            return false;
    }
    return store_log_container(share->log, order, &decoded->hash, &decoded->record, decoded->resources,
                               decoded->resource_count, err);
}

static bool log_source(const struct ingest *ingest, struct share *share, const struct slot *slot,
                       const char *stem, struct error *err)
{
    const struct extracted *item = &slot->item;
    /* A content's status is its container's; only a place without content has one of its own. */
    bool failed = item->kind == EXTRACT_FAILED;
    struct source_record source = {
        .kind = item->kind == EXTRACT_UNKNOWN ? SOURCE_UNKNOWN
                : failed                      ? SOURCE_FAILED
                                              : SOURCE_CONTAINER,
        .path = item->path,
        .stem = stem,
        .container = item->hash,
        .format = item->format,
        .status = failed ? item->status : CONTAINER_READ,
        .reason = failed ? item->reason : CONTAINER_REASON_NONE,
        .message = failed && item->message[0] ? item->message : NULL,
        .is_input = item->is_input,
        .bytes = item->bytes,
        .mtime_ns = item->mtime_ns,
        .run = ingest->options->run,
        .version = slot->version,
        .magic = item->magic,
        .ending = item->ending,
    };
    if (item->parent_path)
        source.parent = hash_bytes(item->parent_path, strlen(item->parent_path));
    return store_log_source(share->log, slot->order, &source, err);
}

static void count_slot(struct ingest_progress *counts, const struct extracted *item,
                       const struct decoded *decoded)
{
    counts->items++;
    switch (item->kind) {
    case EXTRACT_BYTES:
        counts->containers++;
        counts->known += decoded->known;
        counts->bytes_content += item->bytes;
        counts->bytes_canonical += decoded->canonical_bytes;
        counts->resources += decoded->resource_count;
        counts->declined += decoded->record.by_status[RESOURCE_DECLINED];
        for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
            counts->by_status[i] += decoded->record.by_status[i];
        break;
    case EXTRACT_ARCHIVE:
        counts->containers += !item->foreign;
        for (uint32_t i = 0; i < item->census_count; i++)
            counts->unknown += item->census[i].count;
        break;
    case EXTRACT_UNKNOWN:
        counts->unknown++;
        break;
    case EXTRACT_FAILED:
        counts->failed++;
        counts->inputs_failed += item->is_input;
        break;
    case EXTRACT_UNCHANGED:
        counts->known++;
        break;
    }
}

static void counts_add(struct ingest_progress *sum, const struct ingest_progress *counts)
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

/* Takes down the event of an item, to be told when it is committed. */
static bool note_slot(struct share *share, const struct slot *slot, const struct decoded *decoded,
                      struct error *err)
{
    const struct extracted *item = &slot->item;
    const struct container *container = &decoded->record.container;
    bool bytes = item->kind == EXTRACT_BYTES;
    const char *message = bytes && container->error.code ? container->error.msg : item->message;
    const struct note note = {
        .order = slot->order,
        .hash = item->hash,
        .event = {.path = arena_copy(&share->memory, item->path, strlen(item->path)),
                  .kind = item->kind,
                  .format = item->format,
                  .status = bytes ? container->status : item->status,
                  .reason = bytes ? container->reason : item->reason,
                  .message = *message ? arena_copy(&share->memory, message, strlen(message)) : NULL,
                  .bytes = item->bytes,
                  .known = decoded->known || item->kind == EXTRACT_UNCHANGED,
                  .resources = (uint32_t)decoded->resource_count,
                  .declined = decoded->record.by_status[RESOURCE_DECLINED],
                  .ambiguous = decoded->record.by_status[RESOURCE_AMBIGUOUS]},
    };
    buffer_append(&share->notes, &note, sizeof note);
    return (note.event.path && (note.event.message || !*message) && !share->notes.failed) ||
           out_of_memory(err);
}

static bool decode_slot(struct ingest *ingest, struct worker *worker, struct slot *slot,
                        struct decoded *decoded, char **stem)
{
    struct extracted *item = &slot->item;
    const struct input in = {item->data, item->size, item->name};
    const struct decode_known known = {worker->txn, ingest->seen, worker->seed_txn};
    if (!decode_container(&in, item->format, item->ambiguous_format, &known, &worker->scratch, &worker->arena,
                          decoded, &worker->err))
        return false;
    item->hash = decoded->hash;
    if (item->format == FORMAT_XPR2) /* its resources have the directory's names */
        return true;
    *stem = address_stem(item->path);
    return *stem || out_of_memory(&worker->err);
}

static bool work_slot(struct ingest *ingest, struct worker *worker, struct share *share, struct slot *slot)
{
    struct extracted *item = &slot->item;
    struct error *err = &worker->err;
    struct decoded decoded = {.known = false};
    char *stem = NULL;
    bool ok = item->kind != EXTRACT_BYTES || decode_slot(ingest, worker, slot, &decoded, &stem);
    if (ok && item->kind == EXTRACT_BYTES && !decoded.known)
        ok = log_decoded(share, slot->order, &decoded, err);
    if (ok && (item->kind == EXTRACT_ARCHIVE || item->in_parts))
        ok = log_archive(ingest, share, slot, err);
    if (ok && item->kind != EXTRACT_UNCHANGED && !item->foreign)
        ok = log_source(ingest, share, slot, stem, err);
    if (ok && ingest->options->event && !item->foreign)
        ok = note_slot(share, slot, &decoded, err);
    count_slot(&share->counts, item, &decoded);
    free(stem);
    extracted_free(item);
    arena_reset(&worker->arena);
    return ok;
}

static void work(struct ingest *ingest, struct worker *worker, struct share *share)
{
    bool ok = true;
    while (take_handful(ingest, worker)) {
        for (size_t i = 0; i < worker->count; i++) {
            if (ok)
                ok = work_slot(ingest, worker, share, &worker->handful[i]);
            else
                extracted_free(&worker->handful[i].item);
        }
        if (!ok)
            stop_workers(ingest);
    }
}

/* ---- committing ---------------------------------------------------------------------------------------- */

static bool put_batch(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct ingest *ingest = ctx;
    if (!store_put_logs(txn, ingest->logs, (size_t)ingest->worker_count, err))
        return false;
    /* Now that all members of the archives that end here are in: what they held before and hold no longer
     * goes. */
    for (int i = 0; i < ingest->worker_count; i++) {
        const struct buffer *ends = &ingest->committing->shares[i].ends;
        const struct archive_end *end = (const struct archive_end *)ends->data;
        for (size_t k = 0; k < ends->size / sizeof *end; k++)
            if (!store_drop_unseen(txn, &end[k].path, ingest->options->run, end[k].members, err))
                return false;
    }
    return true;
}

static int note_order(const void *a, const void *b)
{
    const struct note *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* Tells the events of a committed batch in the order of the input. */
static bool tell_batch(const struct ingest *ingest, struct error *err)
{
    struct buffer all = {0};
    for (int i = 0; i < ingest->worker_count; i++) {
        const struct buffer *notes = &ingest->committing->shares[i].notes;
        buffer_append(&all, notes->data, notes->size);
    }
    struct note *notes = (struct note *)all.data;
    size_t count = all.size / sizeof *notes;
    bool ok = !all.failed || out_of_memory(err);
    if (ok && count)
        qsort(notes, count, sizeof *notes, note_order);
    for (size_t i = 0; ok && i < count; i++) {
        notes[i].event.hash = hash_is_zero(&notes[i].hash) ? NULL : &notes[i].hash;
        ingest->options->event(&notes[i].event, ingest->options->ctx);
    }
    buffer_free(&all);
    return ok;
}

static void commit_batch(struct ingest *ingest)
{
    struct batch *batch = ingest->committing;
    if (!batch->items)
        return;
    for (int i = 0; i < ingest->worker_count; i++)
        ingest->logs[i] = batch->shares[i].log;
    if (!store_update(ingest->store, put_batch, ingest, &ingest->commit_err))
        return;
    for (int i = 0; i < ingest->worker_count; i++)
        counts_add(&ingest->progress, &batch->shares[i].counts);
    if (ingest->options->event)
        tell_batch(ingest, &ingest->commit_err);
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

static void batch_clear(struct batch *batch, int workers, bool last)
{
    for (int i = 0; i < workers; i++) {
        struct share *share = &batch->shares[i];
        store_log_clear(share->log);
        if (last) { /* nothing more will come, and the last commit touches the most pages */
            store_log_free(share->log);
            share->log = NULL;
        }
        buffer_clear(&share->ends);
        buffer_clear(&share->notes);
        arena_reset(&share->memory);
        share->counts = (struct ingest_progress){0};
    }
    batch->items = 0;
    batch->bytes = 0;
}

static void step_task(size_t i, int thread, void *ctx)
{
    struct ingest *ingest = ctx;
    (void)thread;
    if (i == 0)
        commit_batch(ingest);
    else
        work(ingest, &ingest->workers[i - 1], &ingest->filling->shares[i - 1]);
}

static bool begin_reads(struct ingest *ingest, struct error *err)
{
    bool ok = (ingest->lookup_txn = store_begin_read(ingest->store, err)) != NULL;
    struct store *seed = ingest->options->seed;
    for (int i = 0; i < ingest->worker_count && ok; i++) {
        struct worker *worker = &ingest->workers[i];
        ok = (worker->txn = store_begin_read(ingest->store, err)) != NULL &&
             (!seed || (worker->seed_txn = store_begin_read(seed, err)) != NULL);
    }
    return ok && (!seed || (ingest->lookup_seed_txn = store_begin_read(seed, err)) != NULL);
}

static void end_reads(struct ingest *ingest)
{
    store_end_read(ingest->lookup_txn);
    store_end_read(ingest->lookup_seed_txn);
    ingest->lookup_txn = ingest->lookup_seed_txn = NULL;
    for (int i = 0; i < ingest->worker_count; i++) {
        store_end_read(ingest->workers[i].txn);
        store_end_read(ingest->workers[i].seed_txn);
        ingest->workers[i].txn = ingest->workers[i].seed_txn = NULL;
    }
}

/* The first fault of the job in this step. */
static bool step_failed(struct ingest *ingest, struct error *err)
{
    if (ingest->commit_err.code)
        *err = ingest->commit_err;
    for (int i = 0; !err->code && i < ingest->worker_count; i++)
        if (ingest->workers[i].err.code)
            *err = ingest->workers[i].err;
    if (!err->code && ingest->extract_err.code)
        *err = ingest->extract_err;
    return err->code != ERROR_NONE;
}

static bool step(struct ingest *ingest, struct error *err)
{
    /* One more thread than workers: the commit mostly waits for the disk. */
    int threads = ingest->worker_count > 1 ? ingest->worker_count + 1 : 1;
    bool ok = begin_reads(ingest, err);
    if (ok)
        par_for((size_t)ingest->worker_count + 1, threads, step_task, ingest);
    end_reads(ingest);
    if (!ok || step_failed(ingest, err))
        return false;
    extract_progress(ingest->extractor, &ingest->progress.bytes_read, &ingest->progress.bytes_total);
    if (ingest->options->progress)
        ingest->options->progress(&ingest->progress, ingest->options->ctx);
    struct batch *committed = ingest->committing;
    batch_clear(committed, ingest->worker_count, ingest->filling->last);
    committed->last = ingest->filling->last;
    ingest->committing = ingest->filling;
    ingest->filling = committed;
    return true;
}

/* In an empty store a content can be known only when this run has met it. */
static bool setup_seen(struct ingest *ingest, struct error *err)
{
    bool any = false;
    struct store_txn *txn = store_begin_read(ingest->store, err);
    bool ok = txn && store_has_contents(txn, &any, err);
    store_end_read(txn);
    if (ok && !any)
        ingest->seen = calloc(1, sizeof *ingest->seen);
    return ok; /* without the memory for it the store is asked */
}

static bool setup(struct ingest *ingest, struct error *err)
{
    const struct ingest_options *options = ingest->options;
    const struct extract_options extract = {.limits = options->limits,
                                            .spool = options->spool,
                                            .unchanged = is_unchanged,
                                            .share = options->shard ? share_of : NULL,
                                            .walked = options->walked,
                                            .ctx = ingest};
    size_t count = (size_t)options->threads;
    bool ok = true;
    ingest->worker_count = options->threads;
    ingest->workers = calloc(count, sizeof *ingest->workers);
    ingest->logs = calloc(count, sizeof *ingest->logs);
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &ingest->batches[i];
        batch->shares = calloc(count, sizeof *batch->shares);
        for (size_t k = 0; batch->shares && k < count; k++)
            ok &= (batch->shares[k].log = store_log_new()) != NULL;
        ok &= batch->shares != NULL;
    }
    ingest->extractor = extract_open(options->inputs, options->input_count, &extract);
    ingest->filling = &ingest->batches[0];
    ingest->committing = &ingest->batches[1];
    ingest->version = outcome_version(NULL);
    ingest->version_limited = outcome_version(&options->limits);
    if (!ok || !ingest->workers || !ingest->logs || !ingest->extractor)
        return out_of_memory(err);
    return setup_seen(ingest, err);
}

static void teardown(struct ingest *ingest)
{
    for (int i = 0; i < 2; i++) {
        struct batch *batch = &ingest->batches[i];
        for (int k = 0; batch->shares && k < ingest->worker_count; k++) {
            store_log_free(batch->shares[k].log);
            buffer_free(&batch->shares[k].ends);
            buffer_free(&batch->shares[k].notes);
            arena_free(&batch->shares[k].memory);
        }
        free(batch->shares);
    }
    for (int i = 0; ingest->workers && i < ingest->worker_count; i++) {
        decode_scratch_free(&ingest->workers[i].scratch);
        arena_free(&ingest->workers[i].arena);
    }
    while (ingest->open) {
        struct open_archive *outer = ingest->open->outer;
        free(ingest->open);
        ingest->open = outer;
    }
    free(ingest->workers);
    free(ingest->logs);
    free(ingest->seen);
    extract_close(ingest->extractor);
    pthread_cond_destroy(&ingest->drained);
    pthread_mutex_destroy(&ingest->input);
}

bool ingest(struct store *store, const struct ingest_options *options, struct ingest_progress *done,
            struct error *err)
{
    struct ingest ingest = {.store = store, .options = options};
    pthread_mutex_init(&ingest.input, NULL);
    pthread_cond_init(&ingest.drained, NULL);
    bool ok = setup(&ingest, err);
    while (ok) {
        ok = step(&ingest, err);
        if (ok && ingest.filling->last && !ingest.committing->items)
            break;
    }
    teardown(&ingest);
    *done = ingest.progress;
    return ok;
}
