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

struct feed {
    int fd;          /* -1: memory */
    uint8_t *memory; /* the bytes; of a file, the block read last */
    uint64_t size, position, reached;
    struct stat stat;
    struct hash_stream *stream; /* of a file; NULL: not hashed */
    uint64_t hashed;            /* how many bytes from the start the stream has seen */
    struct failure failure;
};

void failure_set(struct failure *failure, enum container_reason reason, const char *fmt, ...)
{
    if (failure->reason)
        return;
    failure->reason = reason;
    va_list args;
    va_start(args, fmt);
    vsnprintf(failure->message, sizeof failure->message, fmt, args);
    va_end(args);
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

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    if (feed->fd >= 0)
        close(feed->fd);
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
        ssize_t n = pread(feed->fd, out + done, size - done, (off_t)(position + done));
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
    }
    return (ssize_t)done;
}

/* The block is made when it is first needed: most plain files are only looked at. */
static bool have_block(struct feed *feed)
{
    if (feed->memory)
        return true;
    posix_fadvise(feed->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    feed->memory = malloc(BLOCK_SIZE);
    if (!feed->memory)
        failure_set(&feed->failure, CONTAINER_UNREADABLE, "out of memory");
    return feed->memory;
}

static void note_reached(struct feed *feed)
{
    if (feed->position > feed->reached)
        feed->reached = feed->position;
}

/* Feeds the stream what it has not seen of a block that lies at `position`. */
static void hash_block(struct feed *feed, uint64_t position, const uint8_t *block, size_t size)
{
    if (!feed->stream || position > feed->hashed || position + size <= feed->hashed)
        return;
    size_t seen = (size_t)(feed->hashed - position);
    hash_stream_add(feed->stream, block + seen, size - seen);
    feed->hashed = position + size;
}

ssize_t feed_read(struct feed *feed, const uint8_t **block)
{
    if (feed->failure.reason || !have_block(feed))
        return -1;
    ssize_t n;
    if (feed->fd < 0) {
        *block = feed->memory + feed->position;
        n = (ssize_t)(feed->size - feed->position);
    } else {
        *block = feed->memory;
        n = read_at(feed, feed->position, feed->memory, BLOCK_SIZE);
        if (n > 0)
            hash_block(feed, feed->position, feed->memory, (size_t)n);
    }
    if (n > 0)
        feed->position += (uint64_t)n;
    note_reached(feed);
    return n;
}

/* Reads on from what was hashed up to `end`, for the hash alone. */
static bool hash_up_to(struct feed *feed, uint64_t end)
{
    if (feed->hashed < end && !have_block(feed))
        return false;
    while (feed->hashed < end) {
        size_t want = end - feed->hashed < BLOCK_SIZE ? (size_t)(end - feed->hashed) : BLOCK_SIZE;
        ssize_t n = read_at(feed, feed->hashed, feed->memory, want);
        if (n <= 0)
            return false;
        hash_block(feed, feed->hashed, feed->memory, (size_t)n);
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
    if (feed->fd < 0)
        return true;
    if (fstat(feed->fd, &now) == 0 && now.st_size == feed->stat.st_size &&
        now.st_mtim.tv_sec == feed->stat.st_mtim.tv_sec && now.st_mtim.tv_nsec == feed->stat.st_mtim.tv_nsec)
        return true;
    failure_set(&feed->failure, CONTAINER_UNREADABLE, "changed while being read");
    return false;
}

bool feed_hash(struct feed *feed, struct hash *hash)
{
    if (feed->fd < 0) {
        *hash = hash_bytes(feed->memory, (size_t)feed->size);
        return true;
    }
    if (feed->failure.reason || !feed->stream || !hash_up_to(feed, feed->size))
        return false;
    if (!feed_is_unchanged(feed))
        return false;
    *hash = hash_stream_finish(feed->stream);
    feed->stream = NULL;
    return true;
}
