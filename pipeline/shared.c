/* shared.c - see shared.h */
#include "pipeline/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Beside a container a slot holds what is known of its item, and up to a handful of items before it. An
 * archive's census is what may be large. */
#define SLOT_SLACK ((uint64_t)1 << 30)
#define TAPE_SIZE  ((uint64_t)1 << 30)
#define PAGE       ((uint64_t)4096)
/* A larger member is not had, whatever the limit: it counts as running out of memory. */
#define MEMBER_MOST ((uint64_t)64 << 30)
/* Of 128 TiB that a process has. */
#define SIZE_MOST ((uint64_t)64 << 40)

/* ---- waiting ------------------------------------------------------------------------------------------- */

void signal_raise(struct signal_counter *counter)
{
    atomic_fetch_add(&counter->count, 1);
    if (atomic_load(&counter->sleepers))
        syscall(SYS_futex, &counter->count, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void signal_wait(struct signal_counter *counter, uint32_t seen, int milliseconds)
{
    const struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    atomic_fetch_add(&counter->sleepers, 1);
    if (atomic_load(&counter->count) == seen)
        syscall(SYS_futex, &counter->count, FUTEX_WAIT, seen, &limit, NULL, 0);
    atomic_fetch_sub(&counter->sleepers, 1);
}

/* ---- the memory ---------------------------------------------------------------------------------------- */

static uint64_t paged(uint64_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

/* Lays the parts out one behind the other. */
static void lay_out(struct shared *plan, unsigned slots, uint64_t log_factor, uint64_t member_bytes,
                    uint64_t names)
{
    plan->slot_count = slots;
    plan->slot_size = paged(member_bytes + SLOT_SLACK);
    plan->log_size = paged(log_factor * plan->slot_size);
    uint64_t fair = paged(SIZE_MOST / 4 / plan->threads);
    if (plan->log_size > fair)
        plan->log_size = fair;
    plan->tape_size = TAPE_SIZE;
    plan->inputs_at = paged(sizeof *plan + plan->threads * sizeof(struct thread_state));
    plan->slots_at = plan->inputs_at + paged(names);
    plan->logs_at = plan->slots_at + slots * plan->slot_size;
    plan->tapes_at = plan->logs_at + UINT64_C(2) * plan->threads * plan->log_size;
    plan->size = plan->tapes_at + UINT64_C(2) * plan->threads * plan->tape_size;
}

static void *map(int fd, uint64_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, size, MADV_DONTDUMP);
    return at;
}

static void put_inputs(struct shared *shared, const char *const *inputs, size_t count)
{
    char *at = (char *)shared + shared->inputs_at;
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, inputs[i]) + 1;
}

struct shared *shared_make(int threads, uint64_t member_bytes, const char *const *inputs, const bool *walked,
                           size_t input_count, int *fd, struct error *err)
{
    static const struct {
        unsigned slots, log_factor;
    } tries[] = {{SHARED_SLOTS, 4}, {16, 2}, {4, 1}};
    struct shared plan = {.threads = (uint32_t)threads}, *shared = NULL;
    uint64_t names = input_count;
    for (size_t i = 0; i < input_count; i++)
        names += strlen(inputs[i]) + 1;
    *fd = memfd_create("anchorage-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "no shared memory: %s", strerror(errno));
        return NULL;
    }
    if (!member_bytes || member_bytes > MEMBER_MOST)
        member_bytes = MEMBER_MOST;
    for (size_t i = 0; !shared && i < sizeof tries / sizeof *tries; i++) {
        lay_out(&plan, tries[i].slots, tries[i].log_factor, member_bytes, names);
        if (plan.size <= SIZE_MOST && ftruncate(*fd, (off_t)plan.size) == 0)
            shared = map(*fd, plan.size);
    }
    if (!shared) {
        /* EFBIG: by ulimit -f, which another machine need not have. */
        error_set(err, errno == EFBIG ? ERROR_DISK : ERROR_NOMEM, ERROR_NO_OFFSET,
                  "%llu GiB of address space cannot be had for %d threads and members of up to %llu bytes "
                  "(ulimit -v, "
                  "ulimit -f)",
                  (unsigned long long)(plan.size >> 30), threads, (unsigned long long)member_bytes);
        close(*fd);
        return NULL;
    }
    /* Nobody may cut it short: a look behind its end would kill whoever looks. */
    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    madvise(shared, plan.size, MADV_DONTFORK);
    *shared = plan;
    shared->input_count = input_count;
    put_inputs(shared, inputs, input_count);
    if (walked) {
        shared->walked_at = shared->slots_at - input_count;
        memcpy((uint8_t *)shared + shared->walked_at, walked, input_count * sizeof *walked);
    }
    return shared;
}

struct shared *shared_attach(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || (uint64_t)status.st_size < sizeof(struct shared))
        return NULL;
    return map(fd, (uint64_t)status.st_size);
}

void shared_free(struct shared *shared)
{
    if (shared)
        munmap(shared, shared->size);
}

void shared_inputs(const struct shared *shared, const char **inputs)
{
    const char *at = (const char *)shared + shared->inputs_at;
    for (size_t i = 0; i < shared->input_count; i++) {
        inputs[i] = at;
        at += strlen(at) + 1;
    }
}

void shared_trim(uint8_t *at, size_t keep, size_t used)
{
    keep = (size_t)paged(keep);
    used = (size_t)paged(used);
    if (used > keep)
        madvise(at + keep, used - keep, MADV_REMOVE);
}

/* ---- looking around ------------------------------------------------------------------------------------ */

struct extract_position shared_position(const struct shared *shared)
{
    uint64_t produced = atomic_load(&shared->produced);
    return produced ? shared->positions[(produced - 1) & 1] : (struct extract_position){0};
}

uint64_t shared_in_flight(const struct shared *shared, unsigned *slots)
{
    uint64_t bytes = 0;
    *slots = 0;
    for (unsigned i = 0; i < shared->slot_count; i++)
        if (SLOT_TAG(atomic_load(&shared->slots[i].state)) != SLOT_FREE) {
            bytes += shared->slots[i].used;
            ++*slots;
        }
    return bytes;
}

bool shared_done_before(const struct shared *shared, uint64_t sequence)
{
    for (unsigned i = 0; i < shared->slot_count; i++) {
        uint64_t state = atomic_load(&shared->slots[i].state);
        if (SLOT_TAG(state) != SLOT_FREE && SLOT_SEQUENCE(state) < sequence)
            return false;
    }
    return true;
}

void shared_spent(_Atomic uint64_t *total, uint64_t *since)
{
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return;
    uint64_t spent = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    atomic_fetch_add_explicit(total, spent - *since, memory_order_relaxed);
    *since = spent;
}
