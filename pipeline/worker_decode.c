/* worker_decode.c - the decoding process: slots in, logs out.
 *
 * Each thread takes a slot, decodes its items while they are in its cache, and serialises records into its
 * log of the slot's batch. After each item one store makes what it gave count (share.current). A thread of a
 * new process begins with the slot that the thread of its number had when the last process died, behind the
 * items that count.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/address.h"
#include "pipeline/decode.h"
#include "pipeline/fault.h"
#include "pipeline/parcel.h"
#include "pipeline/sandbox.h"
#include "pipeline/tape.h"
#include "pipeline/worker.h"

/* Pages that a slot keeps for its next items: the first few are the busy ones. */
#define KEEP_BUSY  ((size_t)8 << 20)
#define KEEP_OTHER ((size_t)256 << 10)
#define BUSY_SLOTS 4

struct decoder {
    struct shared *shared;
    const struct known *known;
    unsigned number;
    struct thread_state *state;
    struct decode_scratch scratch;
    struct arena arena; /* of the item */
    struct store_log log;
    struct share_state now; /* what will count when the item is done */
    uint64_t batch, spent;  /* spent: see shared_spent */
    pthread_t thread;
    pthread_barrier_t *start; /* the sandbox is closed */
};

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* ---- from an item to the log --------------------------------------------------------------------------- */

static bool put_tape(struct decoder *d, const struct tape_record *record, struct error *err)
{
    uint8_t *tape = shared_tape(d->shared, d->batch, d->number);
    size_t size = tape_write(tape + d->now.tape, d->shared->tape_size - d->now.tape, record);
    d->now.tape += size;
    return size || out_of_memory(err);
}

static bool put_key(struct decoder *d, struct hash key, struct error *err)
{
    return put_tape(d, &(struct tape_record){.kind = TAPE_KEY, .hash = key}, err);
}

static bool log_archive(struct decoder *d, uint32_t order, const struct parcel *parcel, struct error *err)
{
    const struct extracted *item = &parcel->item;
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
        .images = item->images,
    };
    if (item->message[0])
        error_set(&record.container.error, ERROR_MALFORMED, ERROR_NO_OFFSET, "%s", item->message);
    const struct tape_record end = {
        .kind = TAPE_END, .hash = hash_bytes(item->path, strlen(item->path)), .members = parcel->members};
    if (item->kind == EXTRACT_ARCHIVE && !put_tape(d, &end, err))
        return false;
    if (item->in_parts) {
        struct part_record part = shard_part(&parcel->deal, item, &record);
        if (!store_log_part(&d->log, order, &end.hash, &part, err))
            return false;
        record.container.flags |= FLAG_BIT(FLAG_PARTIAL);
    }
    return item->kind != EXTRACT_ARCHIVE || item->foreign ||
           store_log_container(&d->log, order, &item->hash, &record, NULL, 0, err);
}

static bool log_decoded(struct decoder *d, uint32_t order, const struct decoded *decoded, struct error *err)
{
    for (size_t i = 0; i < decoded->geometry_count; i++) {
        const struct decoded_geometry *geometry = &decoded->geometries[i];
        if (geometry->encoded &&
            (!store_log_geometry(&d->log, order, &geometry->hash, geometry->encoded, geometry->size, err) ||
             !put_key(d, geometry->hash, err)))
            return false;
    }
    return store_log_container(&d->log, order, &decoded->hash, &decoded->record, decoded->resources,
                               decoded->resource_count, err) &&
           put_key(d, known_content(&decoded->hash, decoded->record.decoder_version), err);
}

static bool log_source(struct decoder *d, uint32_t order, const struct parcel *parcel, const char *stem,
                       struct error *err)
{
    const struct extracted *item = &parcel->item;
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
        .run = d->shared->run,
        .version = parcel->version,
        .magic = item->magic,
        .ending = item->ending,
    };
    if (item->parent_path)
        source.parent = hash_bytes(item->parent_path, strlen(item->parent_path));
    return store_log_source(&d->log, order, &source, err);
}

static void count_item(struct share_counts *counts, const struct extracted *item,
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

/* Takes down the event of an item, to be told when it is committed. */
static bool note_event(struct decoder *d, uint32_t order, const struct extracted *item,
                       const struct decoded *decoded, struct error *err)
{
    const struct container *container = &decoded->record.container;
    bool bytes = item->kind == EXTRACT_BYTES;
    const char *message = bytes && container->error.code ? container->error.msg : item->message;
    const struct tape_record note = {
        .kind = TAPE_EVENT,
        .hash = item->hash,
        .order = order,
        .event = {.path = item->path,
                  .kind = item->kind,
                  .format = item->format,
                  .status = bytes ? container->status : item->status,
                  .reason = bytes ? container->reason : item->reason,
                  .message = *message ? message : NULL,
                  .bytes = item->bytes,
                  .known = decoded->known || item->kind == EXTRACT_UNCHANGED,
                  .resources = (uint32_t)decoded->resource_count,
                  .declined = decoded->record.by_status[RESOURCE_DECLINED],
                  .ambiguous = decoded->record.by_status[RESOURCE_AMBIGUOUS]},
    };
    return put_tape(d, &note, err);
}

/* An item that brought a process down: its content is known, and that nothing is known of it. */
static void judge(const struct decoder *d, const struct extracted *item, struct decoded *decoded)
{
    const struct format *format = decode_format(item->format);
    struct container *container = &decoded->record.container;
    decoded->hash = hash_bytes(item->data, item->size);
    decoded->record.bytes = item->size;
    decoded->record.decoder_version = format ? format->version : 0;
    container->format = item->format;
    container->status = CONTAINER_SKIPPED;
    container->reason = (enum container_reason)d->state->verdict;
    container->error.offset = ERROR_NO_OFFSET;
    error_set(&container->error, ERROR_LIMIT, ERROR_NO_OFFSET, "%s", d->state->message);
}

static bool decode_bytes(struct decoder *d, struct extracted *item, struct decoded *decoded, char **stem,
                         struct error *err)
{
    const struct input in = {item->data, item->size, item->name};
    const struct decode_known known = {d->known, d->batch};
    if (d->state->verdict) {
        judge(d, item, decoded);
    } else {
        fault_note_alone(d->state->suspect);
        if (!decode_container(&in, item->format, item->ambiguous_format, &known, &d->scratch, &d->arena,
                              decoded, err))
            return false;
    }
    item->hash = decoded->hash;
    if (item->format == FORMAT_XPR2) /* its resources have the directory's names */
        return true;
    *stem = address_stem(item->path);
    return *stem || out_of_memory(err);
}

static bool work_item(struct decoder *d, uint32_t order, struct parcel *parcel, struct error *err)
{
    struct extracted *item = &parcel->item;
    struct decoded decoded = {.known = false};
    char *stem = NULL;
    bool ok = item->kind != EXTRACT_BYTES || decode_bytes(d, item, &decoded, &stem, err);
    if (ok && item->kind == EXTRACT_BYTES && !decoded.known)
        ok = log_decoded(d, order, &decoded, err);
    if (ok && (item->kind == EXTRACT_ARCHIVE || item->in_parts))
        ok = log_archive(d, order, parcel, err);
    if (ok && item->kind != EXTRACT_UNCHANGED && !item->foreign)
        ok = log_source(d, order, parcel, stem, err);
    if (ok && d->shared->listening && !item->foreign)
        ok = note_event(d, order, item, &decoded, err);
    count_item(&d->now.counts, item, &decoded);
    free(stem);
    return ok;
}

/* ---- slots --------------------------------------------------------------------------------------------- */

/* While an item is tried alone the other threads stand still. */
static void wait_for_turn(const struct decoder *d)
{
    struct shared *shared = d->shared;
    for (;;) {
        uint32_t seen = signal_now(&shared->filled), alone = atomic_load(&shared->alone);
        if (!alone || alone == d->number + 1)
            return;
        signal_wait(&shared->filled, seen, SIGNAL_MS);
    }
}

/* The item at which this thread stands has come to its end: whoever is to be tried next may go on. */
static void pass_on(const struct decoder *d)
{
    struct shared *shared = d->shared;
    uint32_t next = 0;
    d->state->suspect = false;
    d->state->verdict = CONTAINER_REASON_NONE;
    for (uint32_t i = 0; !next && i < shared->threads; i++)
        if (shared->thread[i].suspect)
            next = i + 1;
    if (atomic_exchange(&shared->alone, next) != next)
        signal_raise(&shared->filled);
}

/* Makes what is in d->now count. */
static void settle(struct decoder *d, struct share *share)
{
    uint32_t next = atomic_load(&share->current) + 1;
    d->now.log = d->log.mark;
    share->states[next & 1] = d->now;
    atomic_store(&share->current, next);
}

/* Goes on with the thread's share of the slot's batch, or begins it. */
static struct share *open_share(struct decoder *d, const struct slot *slot)
{
    struct share *share = &d->state->shares[slot->batch & 1];
    d->batch = slot->batch;
    d->now = *share_now(share);
    if (d->now.batch != slot->batch)
        d->now = (struct share_state){.batch = slot->batch};
    d->log.memory = shared_log(d->shared, slot->batch, d->number);
    d->log.size = d->shared->log_size;
    d->log.mark = d->now.log;
    return share;
}

/* Something in a slot is not what the extraction writes: it may have been taken over by what it reads. */
static void report_damage(struct shared *shared)
{
    atomic_store(&shared->damaged, true);
    signal_raise(&shared->advance);
    for (;;)
        signal_wait(&shared->filled, signal_now(&shared->filled), SIGNAL_MS);
}

static void work_slot(struct decoder *d, unsigned index, uint64_t sequence)
{
    struct slot *slot = &d->shared->slots[index];
    struct share *share = open_share(d, slot);
    const uint8_t *at = shared_slot(d->shared, index);
    size_t left = slot->used < d->shared->slot_size ? (size_t)slot->used : (size_t)d->shared->slot_size;
    uint32_t done = d->now.slot == sequence + 1 ? d->now.items : 0;
    d->now.slot = sequence + 1;
    for (uint32_t i = 0; i < slot->items; i++) {
        struct parcel parcel;
        struct error err = {0};
        size_t size = parcel_unpack(at, left, &d->arena, &parcel);
        if (!size)
            report_damage(d->shared);
        at += size;
        left -= size;
        if (i >= done) {
            wait_for_turn(d);
            atomic_fetch_add(&d->state->serial, 1);
            d->now.items = i + 1;
            if (!work_item(d, slot->order + i, &parcel, &err))
                worker_out_of_memory();
            settle(d, share);
            atomic_fetch_add(&d->state->serial, 1);
            if (d->state->suspect || d->state->verdict)
                pass_on(d);
        }
        arena_reset(&d->arena);
    }
    shared_trim(shared_slot(d->shared, index), index < BUSY_SLOTS ? KEEP_BUSY : KEEP_OTHER,
                (size_t)slot->used);
    shared_spent(&d->shared->decode_ns, &d->spent);
    atomic_store(&slot->state, SLOT_STATE(sequence, SLOT_FREE));
    signal_raise(&d->shared->freed);
    signal_raise(&d->shared->advance);
}

/* The slot that the thread of this number had when the last process died. */
static bool find_own(const struct decoder *d, unsigned *index, uint64_t *sequence)
{
    for (unsigned i = 0; i < d->shared->slot_count; i++) {
        uint64_t state = atomic_load(&d->shared->slots[i].state);
        if (SLOT_TAG(state) == SLOT_TAKEN + d->number) {
            *index = i;
            *sequence = SLOT_SEQUENCE(state);
            return true;
        }
    }
    return false;
}

/* The next slot in the order of the input; false when there will be none. */
static bool take(const struct decoder *d, unsigned *index, uint64_t *sequence)
{
    struct shared *shared = d->shared;
    for (;;) {
        uint32_t seen = signal_now(&shared->filled);
        bool ended = atomic_load(&shared->ended);
        uint64_t head = atomic_load(&shared->head);
        if (head < atomic_load(&shared->produced)) {
            unsigned slot = shared->queue[head % SHARED_SLOTS] % SHARED_SLOTS;
            uint64_t ready = SLOT_STATE(head, SLOT_READY);
            *index = slot;
            *sequence = head;
            bool taken = atomic_compare_exchange_strong(&shared->slots[slot].state, &ready,
                                                        SLOT_STATE(head, SLOT_TAKEN + d->number));
            atomic_compare_exchange_strong(&shared->head, &head, *sequence + 1);
            if (taken)
                return true;
        } else if (ended) {
            return false;
        } else {
            signal_wait(&shared->filled, seen, SIGNAL_MS);
        }
    }
}

static void *decode_slots(void *ctx)
{
    struct decoder *d = ctx;
    unsigned index;
    uint64_t sequence;
    if (!worker_watch_faults(&d->state->signal))
        _exit(WORKER_NO_START);
    pthread_barrier_wait(d->start);
    if (find_own(d, &index, &sequence)) {
        wait_for_turn(d);
        work_slot(d, index, sequence);
    }
    while (take(d, &index, &sequence))
        work_slot(d, index, sequence);
    return NULL;
}

int worker_decode(struct shared *shared, const struct known *known)
{
    struct decoder *decoders = calloc(shared->threads, sizeof *decoders);
    pthread_barrier_t start;
    if (!decoders || pthread_barrier_init(&start, NULL, shared->threads + 1) != 0)
        return WORKER_NO_START;
    if (!sandbox_files(SANDBOX_DECODE, shared->sandbox, &shared->decode_sandbox))
        return WORKER_NO_START; // cppcheck-suppress memleak ; the process ends
    for (unsigned i = 0; i < shared->threads; i++) {
        decoders[i] = (struct decoder){
            .shared = shared, .known = known, .number = i, .state = &shared->thread[i], .start = &start};
        if (pthread_create(&decoders[i].thread, NULL, decode_slots, &decoders[i]) != 0)
            return WORKER_NO_START;
    }
    if (!sandbox_calls(SANDBOX_DECODE, shared->sandbox, &shared->decode_sandbox))
        return WORKER_NO_START;
    atomic_store(&shared->decode_begun, true);
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < shared->threads; i++)
        pthread_join(decoders[i].thread, NULL);
    return 0;
}
