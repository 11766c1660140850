/* known.c - see known.h */
#include "pipeline/known.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/reader.h"

#define KEY_SIZE    14
#define TABLE_LEAST ((uint64_t)1 << 12)
/* A page for the head, and room for tables of twice the size each up to 2^28 cells. */
#define HEAD_SIZE  4096
#define CELLS_MOST ((uint64_t)1 << 28)
#define FILE_SIZE  (HEAD_SIZE + 2 * CELLS_MOST * sizeof(struct cell))

struct cell {
    uint8_t key[KEY_SIZE];
    _Atomic uint16_t from; /* 1 + the first batch it holds for, which is written last; 0: free */
};

struct known {
    _Atomic uint64_t cells; /* of the current table, a power of two; it lies behind all smaller ones */
    uint64_t used;
};

/* Tables of 2^12, 2^13, ... cells follow each other, so the ones before have together what this one has, less
 * the least. */
static struct cell *table_of(const struct known *known, uint64_t cells)
{
    return (struct cell *)((uintptr_t)known + HEAD_SIZE) + (cells - TABLE_LEAST);
}

struct known *known_make(int *fd, struct error *err)
{
    int writable = memfd_create("anchorage-known", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct known *known = MAP_FAILED;
    if (writable >= 0 && ftruncate(writable, (off_t)FILE_SIZE) == 0)
        known = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, writable, 0);
    if (known == MAP_FAILED) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "no shared memory: %s", strerror(errno));
        if (writable >= 0)
            close(writable);
        return NULL;
    }
    madvise(known, FILE_SIZE, MADV_DONTDUMP);
    madvise(known, FILE_SIZE, MADV_DONTFORK);
    /* From here on nobody can map it for writing, or write to it, except through the map above (Linux 5.1).
     */
    fcntl(writable, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
    atomic_store(&known->cells, TABLE_LEAST);
    *fd = writable;
    return known;
}

const struct known *known_attach(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || (uint64_t)status.st_size != FILE_SIZE)
        return NULL;
    void *known = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return known == MAP_FAILED ? NULL : known;
}

void known_free(struct known *known)
{
    if (known)
        munmap(known, FILE_SIZE);
}

struct hash known_content(const struct hash *container, uint32_t decoder_version)
{
    struct hash key = *container;
    for (unsigned i = 0; i < 4; i++)
        key.bytes[KEY_SIZE - 4 + i] ^= (uint8_t)((decoder_version * UINT32_C(2654435761)) >> (8 * i));
    return key;
}

struct hash known_file(const char *path, uint64_t size, int64_t mtime_ns)
{
    struct {
        struct hash path;
        uint64_t size, mtime;
    } facts = {hash_bytes(path, strlen(path)), size, (uint64_t)mtime_ns};
    return hash_bytes(&facts, sizeof facts);
}

/* The cell of a key, or the free one where it belongs. The key's first bytes, being a hash, choose it. */
static struct cell *find(struct cell *table, uint64_t cells, const struct hash *key, uint32_t *from)
{
    uint64_t start = load_u32le(key->bytes) | (uint64_t)load_u32le(key->bytes + 4) << 32;
    for (uint64_t i = start & (cells - 1);; i = (i + 1) & (cells - 1)) {
        *from = atomic_load_explicit(&table[i].from, memory_order_acquire);
        if (!*from || memcmp(table[i].key, key->bytes, KEY_SIZE) == 0)
            return &table[i];
    }
}

static void put(struct cell *cell, const uint8_t *key, uint32_t from)
{
    memcpy(cell->key, key, KEY_SIZE);
    atomic_store_explicit(&cell->from, (uint16_t)from, memory_order_release);
}

/* Copies everything into a table of twice the size. */
static bool grow(struct known *known)
{
    uint64_t cells = atomic_load(&known->cells), wider = cells * 2;
    if (wider > CELLS_MOST)
        return false;
    struct cell *old = table_of(known, cells), *table = table_of(known, wider);
    for (uint64_t i = 0; i < cells; i++) {
        uint32_t from = atomic_load(&old[i].from), none;
        struct hash key;
        memcpy(key.bytes, old[i].key, KEY_SIZE);
        if (from)
            put(find(table, wider, &key, &none), old[i].key, from);
    }
    atomic_store(&known->cells, wider);
    return true;
}

bool known_add(struct known *known, const struct hash *key, uint64_t from)
{
    uint32_t have, holds = (uint32_t)(from < UINT16_MAX - 1 ? from + 1 : UINT16_MAX);
    if (known->used >= atomic_load(&known->cells) / 2 && !grow(known))
        return false;
    uint64_t cells = atomic_load(&known->cells);
    struct cell *cell = find(table_of(known, cells), cells, key, &have);
    if (!have) {
        put(cell, key->bytes, holds);
        known->used++;
    }
    return true;
}

bool known_has(const struct known *known, const struct hash *key, uint64_t batch)
{
    uint32_t from;
    if (!known)
        return false;
    uint64_t cells = atomic_load(&known->cells);
    find(table_of(known, cells), cells, key, &from);
    return from && from <= batch + 1;
}
