/* ingest.c - see ingest.h */
#include "pipeline/ingest.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/parallel.h"

/* Large enough that a commit's fsync is small beside the decoding, small enough that three batches and their meshes
 * stay near a hundred megabytes. */
#define BATCH_BYTES ((size_t)24 << 20)
#define BATCH_ITEMS 32768

/* One item on its way through. */
struct slot {
    struct extracted item;
    struct decoded decoded; /* of EXTRACT_BYTES */
    char *stem;             /* of EXTRACT_BYTES: see source_record.stem; owned */
    uint32_t version;       /* of a plain file: see source_record.version */
    uint64_t members;       /* of EXTRACT_ARCHIVE: items that came out of it */
    struct error err;       /* a fault of the job */
};

struct batch {
    struct slot *slots;
    size_t count;
    struct arena *arenas; /* [threads]: what the decoders made; kept until the batch is committed */
    bool last;            /* the extractor had no more */
};

struct thread_state {
    struct decode_scratch scratch;
    struct store_txn *txn; /* sees the commits up to the batch before the last; renewed for each step */
};

/* Something to put, by the key it will have. A batch's puts are made in key order, so that neighbours in a tree
 * are written together: with random keys the descents' cache misses are most of a commit. */
struct put {
    struct hash key;
    uint32_t slot, geometry; /* geometry: which of the slot's, for geometries */
};

struct puts {
    struct put *list;
    size_t count;
};

/* What the batch being committed puts into each tree; the lists share one allocation, sized before they are filled. */
struct plan {
    struct puts geometries, containers, sources;
    struct put *memory;
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
    int threads; /* the option's, and one more for the commit, which mostly waits for the disk */
    struct extractor *extractor;
    struct thread_state *states; /* [threads] */
    struct store_txn *lookup_txn; /* of the extraction's `unchanged` */
    uint32_t version, version_limited;
    bool limit_hit;        /* by a member of the plain file being extracted */
    struct open_archive *open; /* the innermost one that had an item */
    struct plan plan;
    struct batch batches[3];
    struct batch *extracting, *decoding, *committing;
    struct ingest_progress progress;
    struct error extract_err, commit_err;
};

/* A number that changes with everything that decides outcomes: a file read under another one is read again. */
static uint32_t outcome_version(const struct extract_limits *limits)
{
    uint64_t facts[3 + 2 * FORMAT_COUNT] = {EXTRACT_VERSION, limits ? limits->depth : 0,
                                            limits ? limits->member_bytes : 0};
    size_t used = 3, count;
    const struct format *const *all = format_all(&count);
    for (size_t i = 0; i < count && used + 2 <= sizeof facts / sizeof *facts; i++) {
        facts[used++] = all[i]->id;
        facts[used++] = all[i]->version;
    }
    uint32_t version = (uint32_t)hash_checksum(NULL, 0, facts, used * sizeof *facts);
    return version ? version : 1; /* 0 is "never" in a source record */
}

/* ---- extraction -------------------------------------------------------------------------------------------- */

/* Whether the store vouches for a plain file, so that it need not be opened. */
static bool is_unchanged(const char *path, uint64_t size, int64_t mtime_ns, void *ctx)
{
    struct ingest *ingest = ctx;
    if (ingest->options->rehash || !ingest->lookup_txn)
        return false;
    struct hash key = hash_bytes(path, strlen(path));
    struct source_record record;
    struct arena arena = {0};
    struct error err = {0};
    bool found = false;
    /* A record that cannot be read vouches for nothing; `check` will name it. */
    bool same = store_get_source(ingest->lookup_txn, &key, &arena, &record, &found, &err) && found &&
                record.bytes == size && record.mtime_ns == mtime_ns &&
                (record.version == ingest->version || record.version == ingest->version_limited);
    arena_free(&arena);
    return same;
}

static bool hits_limit(const struct extracted *item)
{
    return item->kind == EXTRACT_FAILED &&
           (item->reason == CONTAINER_OVER_LIMIT || item->reason == CONTAINER_TOO_DEEP);
}

/* The version to remember a plain file by; 0 when it has to be read again in any case. */
static uint32_t slot_version(struct ingest *ingest, const struct extracted *item)
{
    ingest->limit_hit |= hits_limit(item);
    if (item->parent_path)
        return 0;
    bool limited = ingest->limit_hit;
    ingest->limit_hit = false;
    if (item->kind == EXTRACT_FAILED && !limited)
        return 0;
    return limited ? ingest->version_limited : ingest->version;
}

/* Counts the items of each archive: `slot->members` when the item is an archive's end. False when memory runs out. */
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
            return error_set(&ingest->extract_err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while extracting");
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

static void extract_batch(struct ingest *ingest)
{
    struct batch *batch = ingest->extracting;
    size_t most = ingest->options->batch_bytes ? ingest->options->batch_bytes : BATCH_BYTES, bytes = 0;
    batch->count = 0;
    batch->last = ingest->decoding->last;
    if (batch->last)
        return;
    while (batch->count < BATCH_ITEMS && bytes < most) {
        struct slot *slot = &batch->slots[batch->count];
        memset(slot, 0, sizeof *slot);
        if (cancelled(ingest) || !extract_next(ingest->extractor, &slot->item, &ingest->extract_err)) {
            batch->last = true;
            return;
        }
        slot->version = slot_version(ingest, &slot->item);
        if (!count_member(ingest, slot))
            return;
        bytes += slot->item.kind == EXTRACT_BYTES ? slot->item.size : 0;
        batch->count++;
    }
}

/* ---- decoding ---------------------------------------------------------------------------------------------- */

static void decode_slot(struct ingest *ingest, struct slot *slot, int thread)
{
    struct extracted *item = &slot->item;
    if (item->kind != EXTRACT_BYTES)
        return;
    struct thread_state *state = &ingest->states[thread];
    if (!state->txn && !(state->txn = store_begin_read(ingest->store, &slot->err)))
        return;
    const struct input in = {item->data, item->size, item->name};
    const struct decode_known known = {state->txn};
    decode_container(&in, item->format, item->ambiguous_format, &known, &state->scratch,
                     &ingest->decoding->arenas[thread], &slot->decoded, &slot->err);
    item->hash = slot->decoded.hash;
    extracted_free_data(item); /* three batches of bytes would be as much again as their meshes */
    if (item->format == FORMAT_XPR2) /* its resources have the directory's names */
        return;
    slot->stem = address_stem(item->path);
    if (!slot->stem)
        error_set(&slot->err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* ---- committing -------------------------------------------------------------------------------------------- */

static int put_order(const void *a, const void *b)
{
    const struct put *x = a, *y = b;
    uint64_t first, second; /* the beginning of a hash decides nearly always, as one big-endian number */
    memcpy(&first, x->key.bytes, sizeof first);
    memcpy(&second, y->key.bytes, sizeof second);
    if (first != second)
        return be64toh(first) < be64toh(second) ? -1 : 1;
    int order = memcmp(x->key.bytes, y->key.bytes, HASH_SIZE);
    if (order)
        return order;
    return x->slot != y->slot ? (x->slot < y->slot ? -1 : 1) : (x->geometry > y->geometry) - (x->geometry < y->geometry);
}

static void puts_add(struct puts *puts, const struct hash *key, size_t slot, size_t geometry)
{
    puts->list[puts->count++] = (struct put){*key, (uint32_t)slot, (uint32_t)geometry};
}

static bool is_new_content(const struct slot *slot)
{
    return slot->item.kind == EXTRACT_BYTES && !slot->decoded.known;
}

static bool plan_make(struct plan *plan, const struct batch *batch)
{
    size_t geometries = 0;
    for (size_t i = 0; i < batch->count; i++)
        geometries += batch->slots[i].decoded.geometry_count;
    plan->memory = calloc(geometries + 2 * batch->count + 1, sizeof *plan->memory);
    if (!plan->memory)
        return false;
    plan->geometries.list = plan->memory;
    plan->containers.list = plan->memory + geometries;
    plan->sources.list = plan->containers.list + batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        const struct slot *slot = &batch->slots[i];
        const struct extracted *item = &slot->item;
        for (size_t k = 0; is_new_content(slot) && k < slot->decoded.geometry_count; k++)
            if (slot->decoded.geometries[k].encoded)
                puts_add(&plan->geometries, &slot->decoded.geometries[k].hash, i, k);
        if (is_new_content(slot) || item->kind == EXTRACT_ARCHIVE)
            puts_add(&plan->containers, &item->hash, i, 0);
        if (item->kind != EXTRACT_UNCHANGED) {
            struct hash path = hash_bytes(item->path, strlen(item->path));
            puts_add(&plan->sources, &path, i, 0);
        }
    }
    qsort(plan->geometries.list, plan->geometries.count, sizeof(struct put), put_order);
    qsort(plan->containers.list, plan->containers.count, sizeof(struct put), put_order);
    qsort(plan->sources.list, plan->sources.count, sizeof(struct put), put_order);
    return true;
}

static bool put_archive(struct store_txn *txn, const struct extracted *item, struct error *err)
{
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
    return store_put_container(txn, &item->hash, &record, NULL, 0, err);
}

static bool put_container(struct store_txn *txn, const struct slot *slot, struct error *err)
{
    const struct decoded *decoded = &slot->decoded;
    if (slot->item.kind == EXTRACT_ARCHIVE)
        return put_archive(txn, &slot->item, err);
    return store_put_container(txn, &decoded->hash, &decoded->record, decoded->resources, decoded->resource_count,
                               err);
}

static bool put_source(struct store_txn *txn, const struct ingest *ingest, const struct slot *slot,
                       struct error *err)
{
    const struct extracted *item = &slot->item;
    /* A content's status is its container's; only a place without content has one of its own. */
    bool failed = item->kind == EXTRACT_FAILED;
    struct source_record source = {
        .kind = item->kind == EXTRACT_UNKNOWN ? SOURCE_UNKNOWN : failed ? SOURCE_FAILED : SOURCE_CONTAINER,
        .path = item->path,
        .stem = slot->stem,
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
    return store_put_source(txn, &source, err);
}

/* Key order is no order for the slots: their lines are asked for while the puts before them are made. */
#define PREFETCH_AHEAD 4
static void prefetch_slot(const struct slot *slots, const struct puts *puts, size_t i)
{
    if (i >= puts->count)
        return;
    const char *slot = (const char *)&slots[puts->list[i].slot];
    for (size_t line = 0; line < sizeof(struct slot); line += 64)
        __builtin_prefetch(slot + line);
}

static bool put_batch(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct ingest *ingest = ctx;
    const struct plan *plan = &ingest->plan;
    const struct slot *slots = ingest->committing->slots;
    for (size_t i = 0; i < plan->geometries.count; i++) {
        const struct put *put = &plan->geometries.list[i];
        const struct decoded_geometry *geometry = &slots[put->slot].decoded.geometries[put->geometry];
        if (!store_put_geometry(txn, &geometry->hash, geometry->encoded, geometry->size, err))
            return false;
    }
    for (size_t i = 0; i < plan->containers.count; i++) {
        prefetch_slot(slots, &plan->containers, i + PREFETCH_AHEAD);
        if (!put_container(txn, &slots[plan->containers.list[i].slot], err))
            return false;
    }
    for (size_t i = 0; i < plan->sources.count; i++) {
        prefetch_slot(slots, &plan->sources, i + PREFETCH_AHEAD);
        if (!put_source(txn, ingest, &slots[plan->sources.list[i].slot], err))
            return false;
    }
    /* Now that all members of the archives that end here are in: what they held before and hold no longer goes. */
    for (size_t i = 0; i < ingest->committing->count; i++) {
        const struct extracted *item = &slots[i].item;
        struct hash path;
        if (item->kind != EXTRACT_ARCHIVE)
            continue;
        path = hash_bytes(item->path, strlen(item->path));
        if (!store_drop_unseen(txn, &path, ingest->options->run, slots[i].members, err))
            return false;
    }
    return true;
}

static void count_slot(struct ingest *ingest, const struct slot *slot)
{
    struct ingest_progress *progress = &ingest->progress;
    const struct extracted *item = &slot->item;
    const struct decoded *decoded = &slot->decoded;
    progress->items++;
    switch (item->kind) {
    case EXTRACT_BYTES:
        progress->containers++;
        progress->known += decoded->known;
        progress->bytes_content += item->bytes;
        progress->bytes_canonical += decoded->canonical_bytes;
        progress->resources += decoded->resource_count;
        progress->declined += decoded->record.by_status[RESOURCE_DECLINED];
        for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
            progress->by_status[i] += decoded->record.by_status[i];
        break;
    case EXTRACT_ARCHIVE:
        progress->containers++;
        for (uint32_t i = 0; i < item->census_count; i++)
            progress->unknown += item->census[i].count;
        break;
    case EXTRACT_UNKNOWN:
        progress->unknown++;
        break;
    case EXTRACT_FAILED:
        progress->failed++;
        progress->inputs_failed += item->is_input;
        break;
    case EXTRACT_UNCHANGED:
        progress->known++;
        break;
    }
}

static void tell_slot(const struct ingest *ingest, const struct slot *slot)
{
    const struct extracted *item = &slot->item;
    const struct decoded *decoded = &slot->decoded;
    const struct container *container = &decoded->record.container;
    bool bytes = item->kind == EXTRACT_BYTES;
    struct ingest_event event = {
        .path = item->path,
        .kind = item->kind,
        .format = item->format,
        .hash = hash_is_zero(&item->hash) ? NULL : &item->hash,
        .status = bytes ? container->status : item->status,
        .reason = bytes ? container->reason : item->reason,
        .message = bytes && container->error.code ? container->error.msg : item->message[0] ? item->message : NULL,
        .bytes = item->bytes,
        .known = decoded->known || item->kind == EXTRACT_UNCHANGED,
        .resources = (uint32_t)decoded->resource_count,
        .declined = decoded->record.by_status[RESOURCE_DECLINED],
        .ambiguous = decoded->record.by_status[RESOURCE_AMBIGUOUS],
    };
    ingest->options->event(&event, ingest->options->ctx);
}

static void commit_batch(struct ingest *ingest)
{
    struct batch *batch = ingest->committing;
    if (!batch->count)
        return;
    if (!plan_make(&ingest->plan, batch))
        error_set(&ingest->commit_err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while committing");
    bool ok = !ingest->commit_err.code && store_update(ingest->store, put_batch, ingest, &ingest->commit_err);
    free(ingest->plan.memory);
    ingest->plan = (struct plan){0};
    if (!ok)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        count_slot(ingest, &batch->slots[i]);
        if (ingest->options->event)
            tell_slot(ingest, &batch->slots[i]);
    }
}

/* ---- the steps --------------------------------------------------------------------------------------------- */

static void batch_clear(struct batch *batch, int threads)
{
    batch->last = false;
    for (size_t i = 0; i < batch->count; i++) {
        extracted_free(&batch->slots[i].item);
        free(batch->slots[i].stem);
    }
    batch->count = 0;
    for (int i = 0; batch->arenas && i < threads; i++)
        arena_free(&batch->arenas[i]);
}

static void step_task(size_t i, int thread, void *ctx)
{
    struct ingest *ingest = ctx;
    if (i == 0)
        commit_batch(ingest);
    else if (i == 1)
        extract_batch(ingest);
    else
        decode_slot(ingest, &ingest->decoding->slots[i - 2], thread);
}

/* The first fault of the job in this step, in the order of the input. */
static bool step_failed(struct ingest *ingest, struct error *err)
{
    if (ingest->commit_err.code)
        *err = ingest->commit_err;
    for (size_t i = 0; !err->code && i < ingest->decoding->count; i++)
        if (ingest->decoding->slots[i].err.code)
            *err = ingest->decoding->slots[i].err;
    if (!err->code && ingest->extract_err.code)
        *err = ingest->extract_err;
    return err->code != ERROR_NONE;
}

static bool step(struct ingest *ingest, struct error *err)
{
    int threads = ingest->threads;
    ingest->lookup_txn = store_begin_read(ingest->store, err);
    if (!ingest->lookup_txn)
        return false;
    par_for(ingest->decoding->count + 2, threads, step_task, ingest);
    store_end_read(ingest->lookup_txn);
    ingest->lookup_txn = NULL;
    for (int i = 0; i < threads; i++) {
        store_end_read(ingest->states[i].txn);
        ingest->states[i].txn = NULL;
    }
    if (step_failed(ingest, err))
        return false;
    extract_progress(ingest->extractor, &ingest->progress.bytes_read, &ingest->progress.bytes_total);
    if (ingest->options->progress)
        ingest->options->progress(&ingest->progress, ingest->options->ctx);
    batch_clear(ingest->committing, threads);
    struct batch *free_batch = ingest->committing;
    ingest->committing = ingest->decoding;
    ingest->decoding = ingest->extracting;
    ingest->extracting = free_batch;
    return true;
}

static bool ingest_setup(struct ingest *ingest)
{
    const struct ingest_options *options = ingest->options;
    const struct extract_options extract = {.limits = options->limits, .unchanged = is_unchanged, .ctx = ingest};
    bool ok = true;
    ingest->threads = options->threads > 1 ? options->threads + 1 : 1;
    for (int i = 0; i < 3; i++) {
        ingest->batches[i].slots = calloc(BATCH_ITEMS, sizeof(struct slot));
        ingest->batches[i].arenas = calloc((size_t)ingest->threads, sizeof(struct arena));
        ok &= ingest->batches[i].slots && ingest->batches[i].arenas;
    }
    ingest->states = calloc((size_t)ingest->threads, sizeof *ingest->states);
    ingest->extractor = extract_open(options->inputs, options->input_count, &extract);
    ingest->extracting = &ingest->batches[0];
    ingest->decoding = &ingest->batches[1];
    ingest->committing = &ingest->batches[2];
    ingest->version = outcome_version(NULL);
    ingest->version_limited = outcome_version(&options->limits);
    return ok && ingest->states && ingest->extractor;
}

bool ingest(struct store *store, const struct ingest_options *options, struct ingest_progress *done,
            struct error *err)
{
    struct ingest ingest = {.store = store, .options = options};
    bool ok = ingest_setup(&ingest) ||
              error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while starting a run");
    while (ok) {
        ok = step(&ingest, err);
        if (ok && ingest.decoding->last && !ingest.decoding->count && !ingest.committing->count)
            break;
    }
    for (int i = 0; i < 3; i++) {
        batch_clear(&ingest.batches[i], ingest.threads);
        free(ingest.batches[i].slots);
        free(ingest.batches[i].arenas);
    }
    for (int i = 0; ingest.states && i < ingest.threads; i++)
        decode_scratch_free(&ingest.states[i].scratch);
    while (ingest.open) {
        struct open_archive *outer = ingest.open->outer;
        free(ingest.open);
        ingest.open = outer;
    }
    free(ingest.states);
    extract_close(ingest.extractor);
    *done = ingest.progress;
    return ok;
}
