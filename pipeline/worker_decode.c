/* worker_decode.c - a decoder: slots in, logs out.
 *
 * Each takes a slot, decodes its items while they are in its cache, and serialises records into its log of
 * the slot's batch. After each item one store makes what it gave count (share.current). A decoder that is
 * started in the place of one that died begins with the slot that this had, behind the items that count.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

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
/* How often one that wants to be alone looks whether it is. */
#define BUSY_MS 1

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
    uint64_t ready;         /* bytes of the log's rows whose pages are there: see make_ready */
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

/* Waits until no other decoder is at an item, and none may begin one, so that what the item at hand does is
 * nobody else's doing. */
static void become_alone(const struct decoder *d)
{
    struct shared *shared = d->shared;
    for (uint32_t other = 0; !atomic_compare_exchange_strong(&shared->alone, &other, d->number + 1);
         other = 0)
        signal_wait(&shared->filled, signal_now(&shared->filled), BUSY_MS);
    for (uint32_t i = 0; i < shared->threads; i++)
        while (i != d->number && atomic_load(&shared->thread[i].serial) & 1)
            nanosleep(&(struct timespec){.tv_nsec = BUSY_MS * 1000000L}, NULL);
}

/* From here on the decoder is seen to be at an item. Whoever wants to be alone looks at that after it has
 * said so, and is looked for here after it: one of the two sees the other, and waits. */
static void begin_item(const struct decoder *d)
{
    struct shared *shared = d->shared;
    if (d->state->suspect && d->state->lone)
        become_alone(d);
    for (;;) {
        uint32_t seen = signal_now(&shared->filled);
        atomic_fetch_add(&d->state->serial, 1);
        uint32_t alone = atomic_load(&shared->alone);
        if (!alone || alone == d->number + 1)
            return;
        atomic_fetch_add(&d->state->serial, 1);
        signal_wait(&shared->filled, seen, SIGNAL_MS);
    }
}

/* The item is done; one that was tried again has come to its end. */
static void end_item(const struct decoder *d)
{
    struct shared *shared = d->shared;
    uint32_t self = d->number + 1;
    atomic_fetch_add(&d->state->serial, 1);
    d->state->suspect = false;
    d->state->verdict = CONTAINER_REASON_NONE;
    if (atomic_compare_exchange_strong(&shared->alone, &self, 0))
        signal_raise(&shared->filled);
}

/* Gets pages for the rows that come next: many at once cost half of what each costs when it is first written
 * to. A kernel that cannot do that (before Linux 5.14) does the latter. */
#define READY_BYTES ((uint64_t)512 << 10)
static void make_ready(struct decoder *d)
{
    if (d->log.mark.rows + READY_BYTES / 2 <= d->ready)
        return;
    uint64_t from = d->ready > d->log.mark.rows ? d->ready : d->log.mark.rows & ~(READY_BYTES - 1);
    d->ready = from + READY_BYTES;
#ifdef MADV_POPULATE_WRITE
    madvise(d->log.memory + from, READY_BYTES, MADV_POPULATE_WRITE);
#endif
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
    if (d->batch != slot->batch)
        d->ready = 0;
    d->batch = slot->batch;
    d->now = *share_now(share);
    if (d->now.batch != slot->batch)
        d->now = (struct share_state){.batch = slot->batch};
    d->log.memory = shared_log(d->shared, slot->batch, d->number);
    d->log.size = d->shared->log_size;
    d->log.mark = d->now.log;
    make_ready(d);
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
            begin_item(d);
            d->now.items = i + 1;
            if (!work_item(d, slot->order + i, &parcel, &err))
                worker_out_of_memory();
            settle(d, share);
            end_item(d);
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

/* The slot that the decoder in whose place this one is had when it died. */
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

bool worker_decode_prepare(struct worker_kit *kit)
{
    struct shared *shared = kit->shared;
    return sandbox_template(SANDBOX_DECODE, shared->sandbox, &kit->filter, &shared->decode_sandbox);
}

int worker_decode(const struct worker_kit *kit, unsigned number)
{
    struct shared *shared = kit->shared;
    struct decoder d = {
        .shared = shared, .known = kit->known, .number = number, .state = &shared->thread[number]};
    unsigned index;
    uint64_t sequence;
    worker_note_faults(&d.state->signal);
    if (!sandbox_worker(&kit->filter, &shared->decode_sandbox))
        return WORKER_NO_START;
    atomic_store(&d.state->begun, true);
    if (find_own(&d, &index, &sequence))
        work_slot(&d, index, sequence);
    while (take(&d, &index, &sequence))
        work_slot(&d, index, sequence);
    return 0;
}
