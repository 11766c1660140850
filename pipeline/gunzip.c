/* gunzip.c - see gunzip.h */
#include "pipeline/gunzip.h"

#include <stdlib.h>
#include <zlib.h>

#define OUT_SIZE ((size_t)128 << 10)
/* zlib counts in unsigned int: more of a block than this is given to it in turns. */
#define IN_MOST ((size_t)1 << 30)

struct gunzip {
    struct feed *feed;
    z_stream z;
    const uint8_t *block; /* what the feed delivered and zlib has not been given yet */
    size_t left;
    bool lone;    /* one zlib stream and nothing behind it */
    bool between; /* at the end of a member */
    bool finished;
    struct failure failure;
    uint8_t out[OUT_SIZE];
};

static struct gunzip *new (struct feed *feed, int window_bits, bool lone)
{
    struct gunzip *gunzip = calloc(1, sizeof *gunzip);
    if (!gunzip || inflateInit2(&gunzip->z, window_bits) != Z_OK) {
        free(gunzip);
        return NULL;
    }
    gunzip->feed = feed;
    gunzip->lone = lone;
    return gunzip;
}

struct gunzip *gunzip_new(struct feed *feed)
{
    /* 15 bits of window, and 16 for "gzip header and trailer, verified" */
    return new (feed, 15 + 16, false);
}

struct gunzip *gunzip_new_zlib(struct feed *feed)
{
    return new (feed, 15, true);
}

uint32_t gunzip_checksum(const struct gunzip *gunzip)
{
    return (uint32_t)gunzip->z.adler;
}

void gunzip_free(struct gunzip *gunzip)
{
    if (!gunzip)
        return;
    inflateEnd(&gunzip->z);
    free(gunzip);
}

/* Gives zlib its next input: 1, 0 at the end of the feed, -1 when that fails. */
static int refill(struct gunzip *gunzip)
{
    if (gunzip->z.avail_in)
        return 1;
    if (!gunzip->left) {
        ssize_t n = feed_read(gunzip->feed, &gunzip->block);
        if (n <= 0)
            return (int)n;
        gunzip->left = (size_t)n;
    }
    size_t part = gunzip->left < IN_MOST ? gunzip->left : IN_MOST;
    gunzip->z.next_in = (Bytef *)(uintptr_t)gunzip->block;
    gunzip->z.avail_in = (uInt)part;
    gunzip->block += part;
    gunzip->left -= part;
    return 1;
}

static ssize_t fail(struct gunzip *gunzip, enum container_reason reason, const char *message)
{
    failure_set(&gunzip->failure, reason, "%s: %s", gunzip->lone ? "zlib" : "gzip", message);
    return -1;
}

/* One call of inflate: 1 when there may be more, 0 at the end, -1 on failure. */
static ssize_t step(struct gunzip *gunzip)
{
    if (gunzip->lone && gunzip->between)
        return 0;
    int fed = refill(gunzip);
    if (fed < 0) {
        gunzip->failure = *feed_failure(gunzip->feed);
        return -1;
    }
    if (fed == 0)
        return gunzip->between ? 0 : fail(gunzip, CONTAINER_TRUNCATED, "ends inside its data");
    if (gunzip->between) {
        /* 0x1F begins another member; anything else is padding. */
        if (*gunzip->z.next_in != 0x1F)
            return 0;
        gunzip->between = false;
        inflateReset(&gunzip->z);
    }
    switch (inflate(&gunzip->z, Z_NO_FLUSH)) {
    case Z_OK:
    case Z_BUF_ERROR: /* no room or no input: the next turn provides it */
        return 1;
    case Z_STREAM_END:
        gunzip->between = true;
        return 1;
    case Z_MEM_ERROR:
        failure_set_no_memory(&gunzip->failure);
        return -1;
    default:
        return fail(gunzip, CONTAINER_BAD_CRC, gunzip->z.msg ? gunzip->z.msg : "damaged data");
    }
}

ssize_t gunzip_read(struct gunzip *gunzip, const uint8_t **block, struct failure *failure)
{
    gunzip->z.next_out = gunzip->out;
    gunzip->z.avail_out = OUT_SIZE;
    ssize_t state = gunzip->failure.reason ? -1 : 1;
    while (state > 0 && !gunzip->finished && gunzip->z.avail_out > 0) {
        state = step(gunzip);
        gunzip->finished = state == 0;
    }
    size_t size = OUT_SIZE - gunzip->z.avail_out;
    *block = gunzip->out;
    /* What came before the damage is delivered first; the failure sticks and comes with the next call. */
    if (size > 0 || state >= 0)
        return (ssize_t)size;
    failure_take(failure, &gunzip->failure);
    return -1;
}
