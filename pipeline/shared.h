/* shared.h - the memory that the processes of a run share.
 *
 * The parent makes it, owns the store and commits; an extracting process fills slots with items, in the order
 * of the input; decoders, processes of one thread each, take slots, decode, and write logs (store.h) that the
 * parent commits. All of it lies in one sparse memfd of the parent, so it outlives every child: whatever a
 * child was doing when it died can be told from here, and a new one goes on from there.
 *
 * Nothing in it is a pointer. What one process waits for from another is a counter that is waited on as a
 * futex. Every change that must not be seen half done is one store: a slot's state, a share's `current`,
 * `produced`. Children read what is known already in a second memfd, which they cannot write (known.h).
 */
#ifndef ANCHORAGE_SHARED_H
#define ANCHORAGE_SHARED_H

#include <stdatomic.h>

#include "pipeline/extract.h"
#include "store/store.h"

#define SHARED_SLOTS   64
#define SHARED_THREADS 1024
#define SHARED_MESSAGE 200

/* ---- waiting ---- */

/* A counter that says "look again": whoever waits has read it before looking, and sleeps while it is
 * unchanged. Nobody is woken who does not sleep. */
struct signal_counter {
    _Atomic uint32_t count, sleepers;
};
/* Read before looking. */
static inline uint32_t signal_now(struct signal_counter *counter)
{
    return atomic_load(&counter->count);
}
void signal_raise(struct signal_counter *counter);
/* How long is slept without a look of one's own: a process may end, or lose the call that wakes (libseccomp
 * makes broken filters when it gets no memory), between a change and its announcement. */
#define SIGNAL_MS 1000
/* Sleeps until the counter is no longer `seen`, at most `milliseconds`, or for no reason. */
void signal_wait(struct signal_counter *counter, uint32_t seen, int milliseconds);

/* ---- slots: items on their way from the extraction to the decoding ---- */

/* A slot's state is its place in the order of all slots that were ever filled, and what is done with it. */
enum slot_tag { SLOT_FREE = 0, SLOT_READY = 1, SLOT_TAKEN = 2 /* + the number of the decoder that has it */ };
#define SLOT_TAG_BITS             12
#define SLOT_STATE(sequence, tag) ((uint64_t)(sequence) << SLOT_TAG_BITS | (uint64_t)(tag))
#define SLOT_TAG(state)           ((unsigned)((state) & ((1u << SLOT_TAG_BITS) - 1)))
#define SLOT_SEQUENCE(state)      ((state) >> SLOT_TAG_BITS)

struct slot {
    _Atomic uint64_t state;
    uint64_t batch;
    uint64_t used; /* bytes of its memory */
    uint32_t items;
    uint32_t order; /* of its first item in the batch */
};

/* Where the extraction is behind the last slot that it filled: what a new one needs to go on. */
struct extract_position {
    uint64_t file, items; /* plain files counted from 0, and what came out of this one so far */
    uint64_t batch, batch_bytes, batch_large; /* of its large items */
    uint64_t before_bytes;                    /* of the batch before it */
    uint32_t batch_items;
    bool batch_closed; /* the slot was the last of its batch */
    bool ended;        /* and of the input */
};

/* A step of the extraction that shall not be taken again, and why. */
#define SHARED_REFUSALS 16
struct refusal {
    uint64_t file, member;
    uint32_t step;   /* enum extract_step */
    uint32_t reason; /* enum container_reason */
    bool rest;       /* and no archive of the file is looked into any further */
    char message[SHARED_MESSAGE];
};

/* ---- shares: what one decoder makes of one batch ---- */

struct share_counts {
    uint64_t items, containers, resources, declined, known, unknown, failed, inputs_failed;
    uint64_t bytes_content, bytes_canonical;
    uint64_t by_status[RESOURCE_STATUS_COUNT];
};

struct share_state {
    uint64_t batch;
    uint64_t slot;  /* sequence + 1 of the slot whose items it counts; 0: none */
    uint32_t items; /* of that slot that are done: what they gave is up to the marks here */
    struct store_log_mark log;
    uint64_t tape; /* bytes */
    struct share_counts counts;
};

/* Two states, of which one counts: an item is done at the one store that changes `current`. */
struct share {
    struct share_state states[2];
    _Atomic uint32_t current;
};

/* ---- a decoder, a process of one thread, as the others see it ---- */

struct thread_state {
    _Atomic bool begun;      /* by the parent false, by the decoder true once it works */
    _Atomic uint64_t serial; /* odd while an item is being worked on; changes with each */
    _Atomic int32_t signal;  /* by the fault handler: what it died of */
    /* Set by the parent between two processes: the item at which the decoder stands is tried again, and when
     * `lone` no other decoder works meanwhile; or it is not tried again, for this reason. */
    bool suspect, lone;
    uint32_t verdict; /* enum container_reason; 0: none */
    char message[SHARED_MESSAGE];
    _Alignas(64) struct share shares[2]; /* by batch & 1 */
};

/* ---- the whole ---- */

struct shared {
    /* Set before the children start. */
    uint64_t size, slot_size, log_size, tape_size;
    uint64_t slots_at, logs_at, tapes_at, inputs_at; /* bytes from the start */
    uint32_t slot_count, threads;                    /* slots, decoders */
    int64_t parent;                                  /* pid */
    bool listening;                                  /* somebody wants events */
    bool sandbox;                                    /* wanted */
    uint64_t run;                                    /* of the store */
    uint64_t memory;                                 /* to stay under; 0: no matter */
    uint64_t batch_bytes, batch_large; /* a batch ends at so much content, or so much in large items */
    uint64_t batches_most;             /* content of two batches under way; the first one always may be */
    uint64_t in_flight_most;           /* content in slots; one item is always allowed */
    uint32_t version, version_limited; /* source_record.version */

    struct extract_limits limits;
    uint64_t input_count;
    uint64_t walked_at;                /* bytes from the start; 0: all inputs were named */
    uint32_t shard_index, shard_count; /* count 0: everything is taken */
    uint64_t split_bytes;
    char plan_path[4096]; /* "": by the rule */

    /* By the extraction. */
    _Atomic uint64_t produced;            /* slots filled */
    _Atomic uint64_t closed;              /* batches whose last slot was filled */
    uint64_t closed_at[2];                /* `produced` then, by batch & 1 */
    _Atomic bool ended;                   /* nothing will follow */
    struct extract_position positions[2]; /* behind slot n: [n & 1] */
    uint32_t queue[SHARED_SLOTS];         /* which slot is the n-th: [n % SHARED_SLOTS] */
    _Atomic uint64_t bytes_read, bytes_total;
    _Atomic uint64_t pulse; /* moves with every bit of progress */
    _Atomic bool waiting;   /* for room, which is no standstill */
    _Atomic uint64_t at_file, at_member;
    _Atomic uint32_t at_step;
    _Atomic int32_t extract_signal;
    _Atomic uint32_t extract_sandbox, decode_sandbox; /* what is in force: sandbox.h */
    _Atomic bool extract_begun;                       /* as thread_state.begun */
    /* By the parent between two extractions. */
    _Atomic uint32_t extract_deaths;
    uint32_t refusal_count;
    struct refusal refusals[SHARED_REFUSALS];

    /* By the decoding. */
    _Atomic uint64_t head;  /* the next slot to take */
    _Atomic uint32_t alone; /* 1 + the only decoder that may begin an item; 0: all may */
    _Atomic bool failed;    /* the extraction cannot go on, for no fault of an input: the spool's disk */
    uint32_t failure_code;  /* enum error_code */
    char failure[SHARED_MESSAGE];
    _Atomic bool damaged; /* something in here is not what it should be: the run cannot be trusted to go on */

    /* Processor time of what each has done, ns: added to by shared_spent. */
    _Atomic uint64_t extract_ns, decode_ns;

    /* By the parent. */
    _Atomic uint64_t committed; /* batches: logs of batch n are written when n - 2 are */
    _Atomic bool cancel;

    struct signal_counter filled;  /* `produced`, `ended`, `alone` */
    struct signal_counter freed;   /* a slot became free, or `committed` */
    struct signal_counter advance; /* for the parent: anything it may wait for */

    struct slot slots[SHARED_SLOTS];
    struct thread_state thread[]; /* [threads] */
};

/* Makes the memory for `threads` threads and containers of at most `member_bytes`, with the inputs' names in
 * it. It is address space, halved as far as `ulimit -v` asks for; pages come with use. *fd is a descriptor to
 * hand to children. NULL with *err set. */
struct shared *shared_make(int threads, uint64_t member_bytes, const char *const *inputs, const bool *walked,
                           size_t input_count, int *fd, struct error *err);
/* The same memory in a child. NULL when it cannot be mapped. */
struct shared *shared_attach(int fd);
void shared_free(struct shared *shared); /* NULL is legal */

static inline uint8_t *shared_slot(const struct shared *shared, unsigned slot)
{
    return (uint8_t *)(uintptr_t)shared + shared->slots_at + slot * shared->slot_size;
}
static inline uint8_t *shared_log(const struct shared *shared, uint64_t batch, unsigned thread)
{
    return (uint8_t *)(uintptr_t)shared + shared->logs_at +
           ((batch & 1) * shared->threads + thread) * shared->log_size;
}
static inline uint8_t *shared_tape(const struct shared *shared, uint64_t batch, unsigned thread)
{
    return (uint8_t *)(uintptr_t)shared + shared->tapes_at +
           ((batch & 1) * shared->threads + thread) * shared->tape_size;
}
/* The i-th input's name as it was given, into inputs[]; they live in the shared memory. */
void shared_inputs(const struct shared *shared, const char **inputs);
/* See extract_options.walked. */
static inline const bool *shared_walked(const struct shared *shared)
{
    return (const bool *)((uintptr_t)shared + shared->walked_at);
}

/* What counts of a share. */
static inline const struct share_state *share_now(const struct share *share)
{
    return &share->states[atomic_load(&share->current) & 1];
}

/* Adds this thread's processor time since the last call to a total; *since begins at 0. */
void shared_spent(_Atomic uint64_t *total, uint64_t *since);

/* Gives back the pages of [at + keep, at + used). `at` is page-aligned. */
void shared_trim(uint8_t *at, size_t keep, size_t used);

/* Where the extraction stands behind the last slot it filled; all zero at the start. */
struct extract_position shared_position(const struct shared *shared);
/* Content in slots that are not free, and how many these are. */
uint64_t shared_in_flight(const struct shared *shared, unsigned *slots);
/* Whether every slot before the n-th is done with. */
bool shared_done_before(const struct shared *shared, uint64_t sequence);

#endif
