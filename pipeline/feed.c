/* feed.c - see feed.h */
#include "pipeline/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One read of a file. Large enough for the disc's read-ahead, small enough that the block is still in the
 * cache when it is hashed, decompressed and copied. */
#define BLOCK_SIZE ((size_t)256 << 10)
/* What is asked of a file at once, so that a slow disc is seen to make progress. */
#define PIECE_SIZE ((size_t)8 << 20)

struct feed {
    int fd;             /* -1: memory */
    uint64_t base;      /* where in the file its first byte is */
    struct feed *outer; /* of a window */
    bool borrowed;      /* memory that is somebody else's */
    struct spool *spool;
    uint8_t *memory; /* the bytes; of a file, the block read last */
    uint64_t block_position;
    size_t block_size; /* of a file: what of `memory` is valid, and where that is from */
    uint64_t size, position, reached;
    struct stat stat;           /* of a file that may change under our hands: the whole of it, no window */
    struct hash_stream *stream; /* of a file; NULL: not hashed */
    uint64_t hashed;            /* how many bytes from the start the stream has seen */
    bool hash_known;
    struct hash hash;
    _Atomic uint64_t *pulse; /* NULL: nobody watches */
    struct failure failure;
};

static void set_failure(struct failure *failure, enum container_reason reason, bool by_place, const char *fmt,
                        va_list args)
{
    if (failure->reason)
        return;
    failure->reason = reason;
    failure->by_place = by_place;
    vsnprintf(failure->message, sizeof failure->message, fmt, args);
}

void failure_set(struct failure *failure, enum container_reason reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_failure(failure, reason, false, fmt, args);
    va_end(args);
}

void failure_set_by_place(struct failure *failure, enum container_reason reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_failure(failure, reason, true, fmt, args);
    va_end(args);
}

void failure_set_no_memory(struct failure *failure)
{
    if (failure->reason)
        return;
    failure_set(failure, CONTAINER_UNREADABLE, "out of memory");
    failure->no_memory = true;
}

void failure_take(struct failure *failure, const struct failure *other)
{
    if (!failure->reason)
        *failure = *other;
}

struct feed *feed_file(int fd, bool hashed)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed) {
        close(fd);
        return NULL;
    }
    feed->fd = fd;
    feed->stream = hashed ? hash_stream_new() : NULL;
    if (hashed && !feed->stream) {
        feed_close(feed);
        return NULL;
    }
    if (fstat(fd, &feed->stat) != 0)
        failure_set(&feed->failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
    feed->size = (uint64_t)feed->stat.st_size;
    return feed;
}

struct feed *feed_memory(uint8_t *data, size_t size)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed) {
        free(data);
        return NULL;
    }
    feed->fd = -1;
    feed->memory = data;
    feed->size = size;
    return feed;
}

struct feed *feed_borrowed(const uint8_t *data, size_t size)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return NULL;
    feed->fd = -1;
    feed->memory = (uint8_t *)(uintptr_t)data; /* never written to: it is not a file's block */
    feed->borrowed = true;
    feed->size = size;
    return feed;
}

struct feed *feed_window(struct feed *of, uint64_t offset, uint64_t size, bool hashed)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return NULL;
    if (offset > of->size)
        offset = of->size;
    feed->outer = of;
    feed->pulse = of->pulse;
    feed->fd = of->fd;
    feed->base = of->base + offset;
    feed->size = size < of->size - offset ? size : of->size - offset;
    if (of->fd < 0) {
        feed->memory = of->memory + offset;
        feed->borrowed = true;
        return feed;
    }
    feed->stream = hashed ? hash_stream_new() : NULL;
    if (!hashed || feed->stream)
        return feed;
    free(feed);
    return NULL;
}

struct feed *feed_spooled(struct spool *spool, uint64_t start, uint64_t size, const struct hash *hash)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed) {
        spool_release(spool, start);
        return NULL;
    }
    feed->fd = spool_fd(spool);
    feed->spool = spool;
    feed->base = start;
    feed->size = size;
    feed->hash = *hash;
    feed->hash_known = true;
    return feed;
}

void feed_watch(struct feed *feed, _Atomic uint64_t *pulse)
{
    feed->pulse = pulse;
}

void feed_forget_hash(struct feed *feed)
{
    hash_stream_free(feed->stream);
    feed->stream = NULL;
}

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    if (feed->spool)
        spool_release(feed->spool, feed->base);
    else if (feed->fd >= 0 && !feed->outer)
        close(feed->fd);
    if (!feed->borrowed)
        free(feed->memory);
    hash_stream_free(feed->stream);
    free(feed);
}

uint64_t feed_size(const struct feed *feed)
{
    return feed->size;
}

uint64_t feed_reached(const struct feed *feed)
{
    return feed->reached;
}

const struct failure *feed_failure(const struct feed *feed)
{
    return &feed->failure;
}

/* Reads until `size` bytes are there or the end is. */
static ssize_t read_at(struct feed *feed, uint64_t position, uint8_t *out, size_t size)
{
    size_t done = 0;
    if (position >= feed->size)
        return 0;
    if (size > feed->size - position)
        size = (size_t)(feed->size - position);
    while (done < size) {
        size_t want = size - done < PIECE_SIZE ? size - done : PIECE_SIZE;
        ssize_t n = pread(feed->fd, out + done, want, (off_t)(feed->base + position + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            failure_set(&feed->failure, CONTAINER_UNREADABLE, "%s", strerror(errno));
            return -1;
        }
        if (n == 0) {
            failure_set(&feed->failure, CONTAINER_UNREADABLE, "changed while being read");
            return -1;
        }
        done += (size_t)n;
        if (feed->pulse)
            atomic_fetch_add_explicit(feed->pulse, 1, memory_order_relaxed);
    }
    return (ssize_t)done;
}

/* The block is made when it is first needed: most plain files are only looked at. */
static bool have_block(struct feed *feed)
{
    if (feed->memory)
        return true;
    if (!feed->outer && !feed->spool)
        posix_fadvise(feed->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    feed->memory = malloc(BLOCK_SIZE);
    if (!feed->memory)
        failure_set_no_memory(&feed->failure);
    return feed->memory;
}

static void note_reached(struct feed *feed)
{
    if (feed->position > feed->reached)
        feed->reached = feed->position;
}

/* Feeds the stream, and those of the feeds around, what they have not seen of a block at `position`. */
static void hash_block(struct feed *feed, uint64_t position, const uint8_t *block, size_t size)
{
    for (; feed; position += feed->base - (feed->outer ? feed->outer->base : 0), feed = feed->outer) {
        if (!feed->stream || position > feed->hashed || position + size <= feed->hashed)
            continue;
        size_t seen = (size_t)(feed->hashed - position);
        hash_stream_add(feed->stream, block + seen, size - seen);
        feed->hashed = position + size;
    }
}

/* Reads a file's block at `position` into memory: what there is of it up to `most` bytes. */
static ssize_t read_block(struct feed *feed, uint64_t position, size_t most)
{
    feed->block_size = 0;
    if (!have_block(feed))
        return -1;
    ssize_t n = read_at(feed, position, feed->memory, most);
    if (n > 0) {
        feed->block_position = position;
        feed->block_size = (size_t)n;
        hash_block(feed, position, feed->memory, (size_t)n);
    }
    return n;
}

ssize_t feed_read(struct feed *feed, const uint8_t **block)
{
    if (feed->failure.reason)
        return -1;
    ssize_t n;
    if (feed->fd < 0) {
        *block = feed->memory + feed->position;
        n = (ssize_t)(feed->size - feed->position);
    } else if (feed->position - feed->block_position < feed->block_size) {
        /* Small members of an image lie in one block, one after the other. */
        size_t passed = (size_t)(feed->position - feed->block_position);
        *block = feed->memory + passed;
        n = (ssize_t)(feed->block_size - passed);
    } else {
        n = read_block(feed, feed->position, BLOCK_SIZE);
        *block = feed->memory;
    }
    if (n > 0)
        feed->position += (uint64_t)n;
    note_reached(feed);
    return n;
}

/* Reads on from what was hashed up to `end`, for the hash alone. */
static bool hash_up_to(struct feed *feed, uint64_t end)
{
    while (feed->hashed < end) {
        size_t want = end - feed->hashed < BLOCK_SIZE ? (size_t)(end - feed->hashed) : BLOCK_SIZE;
        if (read_block(feed, feed->hashed, want) <= 0)
            return false;
    }
    return true;
}

int64_t feed_skip(struct feed *feed, int64_t count)
{
    uint64_t left = feed->size - feed->position;
    if (count < 0)
        return 0;
    uint64_t step = (uint64_t)count < left ? (uint64_t)count : left;
    /* What is skipped in order has to be hashed at some time, and never is it nearer than now. */
    if (feed->stream && feed->position == feed->hashed && !hash_up_to(feed, feed->position + step))
        return -1;
    feed->position += step;
    note_reached(feed);
    return (int64_t)step;
}

uint64_t feed_seek(struct feed *feed, uint64_t position)
{
    feed->position = position < feed->size ? position : feed->size;
    return feed->position;
}

bool feed_advance(struct feed *feed, uint64_t position)
{
    uint64_t target = feed_seek(feed, position);
    note_reached(feed);
    return !feed->stream || hash_up_to(feed, target);
}

ssize_t feed_peek(struct feed *feed, uint64_t position, uint8_t *out, size_t size)
{
    if (feed->failure.reason)
        return -1;
    if (feed->fd >= 0)
        return read_at(feed, position, out, size);
    if (position >= feed->size)
        return 0;
    if (size > feed->size - position)
        size = (size_t)(feed->size - position);
    memcpy(out, feed->memory + position, size);
    return (ssize_t)size;
}

bool feed_is_unchanged(struct feed *feed)
{
    struct stat now;
    if (feed->fd < 0 || feed->outer || feed->spool)
        return true; /* the file around is asked about at its own end */
    if (fstat(feed->fd, &now) == 0 && now.st_size == feed->stat.st_size &&
        now.st_mtim.tv_sec == feed->stat.st_mtim.tv_sec && now.st_mtim.tv_nsec == feed->stat.st_mtim.tv_nsec)
        return true;
    failure_set(&feed->failure, CONTAINER_UNREADABLE, "changed while being read");
    return false;
}

bool feed_hash(struct feed *feed, struct hash *hash)
{
    if (!feed->hash_known && feed->fd < 0) {
        feed->hash = hash_bytes(feed->memory, (size_t)feed->size);
    } else if (!feed->hash_known) {
        if (feed->failure.reason || !feed->stream || !hash_up_to(feed, feed->size) ||
            !feed_is_unchanged(feed))
            return false;
        feed->hash = hash_stream_finish(feed->stream);
        feed->stream = NULL;
    }
    feed->hash_known = true;
    *hash = feed->hash;
    return true;
}
