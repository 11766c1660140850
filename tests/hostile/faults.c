/* faults.c - a library for LD_PRELOAD that makes the n-th call of a kind fail, or records what is written.
 *
 *   ANCHORAGE_FAULT=KIND:N        the N-th call (from 1) of that kind fails, in whichever process it happens
 *   ANCHORAGE_FAULT_COUNTER=FILE  8 bytes that all processes of the program count in; must exist
 *   ANCHORAGE_FAULT_FILESYSTEM=N:START  paths that start so are on a file system of type N of statfs(2)
 *   ANCHORAGE_FAULT_WHERE=1       prints the calls that lead to the one that fails
 *   ANCHORAGE_TRACE=FILE          appends each change of a file named data.mdb (see struct trace_head)
 *
 * KIND is malloc, mmap, write, sync, rename, open, commit, mapfull or quota: writes, of which all from the
 * N-th on fail as on a disk whose owner has used up his quota, the N-th after half of its bytes. With N = 0
 * nothing fails, and the counter tells how many calls there were. Calls of libgomp's are not counted: it ends
 * the process when it gets no memory, and nobody can ask it not to. Neither are those that the loader and
 * libc make inside themselves, which do not come by here; a stream of stdio fails at the call that fills it.
 *
 * Only tests use this; it is not part of the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <lmdb.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum kind { NONE, MALLOC, MMAP, WRITE, SYNC, RENAME, OPEN, COMMIT, MAPFULL, QUOTA };
static const char *const kind_words[] = {"",       "malloc", "mmap",   "write",   "sync",
                                         "rename", "open",   "commit", "mapfull", "quota"};

static enum kind chosen;
static uint64_t chosen_call;
static uint64_t *counter;
static uintptr_t exempt_start, exempt_end; /* libgomp's code */
static int trace_fd = -1;

static int find_exempt(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libgomp"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            exempt_start = info->dlpi_addr + segment->p_vaddr;
            exempt_end = exempt_start + segment->p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void setup(void)
{
    const char *trace = getenv("ANCHORAGE_TRACE");
    if (trace)
        trace_fd = open(trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const char *fault = getenv("ANCHORAGE_FAULT"), *file = getenv("ANCHORAGE_FAULT_COUNTER");
    const char *colon = fault ? strchr(fault, ':') : NULL;
    if (!colon || !file)
        return;
    dl_iterate_phdr(find_exempt, NULL);
    int fd = open(file, O_RDWR | O_CLOEXEC);
    void *shared = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED)
        abort(); /* a test that injects nothing must not pass */
    chosen_call = strtoull(colon + 1, NULL, 10);
    for (size_t i = 1; i < sizeof kind_words / sizeof *kind_words; i++)
        if (strncmp(fault, kind_words[i], (size_t)(colon - fault)) == 0 && !kind_words[i][colon - fault])
            chosen = (enum kind)i;
    if (chosen == NONE)
        abort();
    counter = shared;
}

/* Addresses for addr2line. */
static void tell_where(void)
{
    void *frames[24];
    chosen = NONE; /* what backtrace allocates is not counted */
    backtrace_symbols_fd(frames, backtrace(frames, 24), STDERR_FILENO);
}

/* Whether this call is the one. */
static bool fails(enum kind kind, const void *caller)
{
    if (!counter || kind != chosen || ((uintptr_t)caller >= exempt_start && (uintptr_t)caller < exempt_end))
        return false;
    const bool is_it = __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED) == chosen_call;
    if (is_it && getenv("ANCHORAGE_FAULT_WHERE"))
        tell_where();
    return is_it;
}
#define FAILS(kind) fails(kind, __builtin_return_address(0))

static bool refuse(int code)
{
    errno = code;
    return true;
}

/* How many of the bytes a write takes: all, half of them, or none with errno set. */
static ssize_t granted(size_t size, const void *caller)
{
    if (chosen != QUOTA)
        return fails(WRITE, caller) && refuse(ENOSPC) ? -1 : (ssize_t)size;
    uint64_t call = __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
    if (!chosen_call || call < chosen_call)
        return (ssize_t)size;
    errno = EDQUOT;
    return call == chosen_call && size > 1 ? (ssize_t)(size / 2) : -1;
}
#define GRANTED(size) granted(size, __builtin_return_address(0))

#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (!real)                                                                                               \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* ---- memory ----------------------------------------------------------------------------------------------
 */

void *malloc(size_t size)
{
    return FAILS(MALLOC) && refuse(ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS(MALLOC) && refuse(ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return FAILS(MALLOC) && refuse(ENOMEM) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = FAILS(MALLOC) ? NULL : __libc_memalign(alignment, size);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS(MALLOC) && refuse(ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MMAP) && refuse(ENOMEM))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, length, protection, flags, fd, offset);
}

/* ---- files ------------------------------------------------------------------------------------------------
 */

/* A record of the trace, followed by `length` bytes when it is a write. tests/hostile/replay.c reads it. */
struct trace_head {
    uint32_t what; /* 1 write, 2 truncate, 3 everything before is on the disk */
    uint32_t sync; /* 1: a write that is on the disk when it returns (O_DSYNC) */
    uint64_t offset, length;
};

static bool traced(int fd)
{
    char link[64], path[4096];
    if (trace_fd < 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 9 && memcmp(path + length - 9, "/data.mdb", 9) == 0;
}

static void trace(int fd, uint32_t what, uint64_t offset, const struct iovec *parts, int count)
{
    if (!traced(fd))
        return;
    struct trace_head head = {.what = what, .offset = offset};
    head.sync = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    struct iovec all[65] = {{&head, sizeof head}};
    for (int i = 0; i < count && i < 64; i++) {
        all[i + 1] = parts[i];
        head.length += parts[i].iov_len;
    }
    if (what == 2)
        head.length = offset;
    if (syscall(SYS_writev, trace_fd, all, count < 64 ? count + 1 : 65) < 0)
        abort();
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    const ssize_t most = GRANTED(size);
    if (most < 0)
        return -1;
    off_t offset = trace_fd >= 0 ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = syscall(SYS_write, fd, bytes, (size_t)most);
    if (done > 0)
        trace(fd, 1, (uint64_t)offset, &(struct iovec){(void *)bytes, (size_t)done}, 1);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    const ssize_t most = GRANTED(size);
    if (most < 0)
        return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, (size_t)most, offset);
    if (done > 0)
        trace(fd, 1, (uint64_t)offset, &(struct iovec){(void *)bytes, (size_t)done}, 1);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
    return pwrite(fd, bytes, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    const ssize_t most = GRANTED((size_t)count);
    if (most < 0)
        return -1;
    count = (int)most; /* parts, not bytes: as good a place to end as any */
    ssize_t done = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    if (done > 0)
        trace(fd, 1, (uint64_t)offset, parts, count);
    return done;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset)
{
    return pwritev(fd, parts, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    const ssize_t most = GRANTED((size_t)count);
    if (most < 0)
        return -1;
    count = (int)most;
    off_t offset = trace_fd >= 0 ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    if (done > 0)
        trace(fd, 1, (uint64_t)offset, parts, count);
    return done;
}

int ftruncate(int fd, off_t length)
{
    if (GRANTED(1) < 0)
        return -1;
    int code = (int)syscall(SYS_ftruncate, fd, length);
    if (code == 0)
        trace(fd, 2, (uint64_t)length, NULL, 0);
    return code;
}

int ftruncate64(int fd, off_t length)
{
    return ftruncate(fd, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    return GRANTED(1) < 0 ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off_t offset, off_t length)
{
    return fallocate(fd, mode, offset, length);
}

/* What stdio itself notes when its write fails (_IO_ERR_SEEN of glibc). */
static bool spoil(FILE *stream, const void *caller)
{
    if (stream == stderr || granted(1, caller) >= 0)
        return false;
    stream->_flags |= 0x20;
    return true;
}
#define SPOIL(stream) spoil(stream, __builtin_return_address(0))

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
    REAL(fwrite);
    return SPOIL(stream) ? 0 : real(bytes, size, count, stream);
}

int fputs(const char *text, FILE *stream)
{
    REAL(fputs);
    return SPOIL(stream) ? EOF : real(text, stream);
}

int fputc(int byte, FILE *stream)
{
    REAL(fputc);
    return SPOIL(stream) ? EOF : real(byte, stream);
}

int fflush(FILE *stream)
{
    REAL(fflush);
    return stream && SPOIL(stream) ? EOF : real(stream);
}

int fclose(FILE *stream)
{
    REAL(fclose);
    const bool spoilt = SPOIL(stream);
    const int code = real(stream);
    return spoilt && refuse(chosen == QUOTA ? EDQUOT : ENOSPC) ? EOF : code;
}

int fsync(int fd)
{
    if (FAILS(SYNC) && refuse(EIO))
        return -1;
    int code = (int)syscall(SYS_fsync, fd);
    if (code == 0)
        trace(fd, 3, 0, NULL, 0);
    return code;
}

int fdatasync(int fd)
{
    if (FAILS(SYNC) && refuse(EIO))
        return -1;
    int code = (int)syscall(SYS_fdatasync, fd);
    if (code == 0)
        trace(fd, 3, 0, NULL, 0);
    return code;
}

int rename(const char *from, const char *to)
{
    if (FAILS(RENAME) && refuse(EACCES))
        return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* The mode of an open call, when there is one. */
#define OPEN_MODE(flags, mode)                                                                               \
    do {                                                                                                     \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        (mode) = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;                            \
        va_end(arguments);                                                                                   \
    } while (0)

static int open_at(int folder, const char *path, int flags, mode_t mode, const void *caller)
{
    if (fails(OPEN, caller) && refuse(EMFILE))
        return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    mode_t mode;
    OPEN_MODE(flags, mode);
    return open_at(AT_FDCWD, path, flags, mode, __builtin_return_address(0));
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;
    OPEN_MODE(flags, mode);
    return open_at(AT_FDCWD, path, flags, mode, __builtin_return_address(0));
}

int openat(int folder, const char *path, int flags, ...)
{
    mode_t mode;
    OPEN_MODE(flags, mode);
    return open_at(folder, path, flags, mode, __builtin_return_address(0));
}

int openat64(int folder, const char *path, int flags, ...)
{
    mode_t mode;
    OPEN_MODE(flags, mode);
    return open_at(folder, path, flags, mode, __builtin_return_address(0));
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return FAILS(OPEN) && refuse(EMFILE) ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    REAL(fopen);
    return FAILS(OPEN) && refuse(EMFILE) ? NULL : real(path, mode);
}

int mkostemp(char *path, int flags)
{
    REAL(mkostemp);
    return FAILS(OPEN) && refuse(EMFILE) ? -1 : real(path, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    return FAILS(OPEN) && refuse(EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    if (FAILS(RENAME) && refuse(EACCES))
        return -1;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int statfs(const char *path, struct statfs *out)
{
    const char *type = getenv("ANCHORAGE_FAULT_FILESYSTEM");
    int code = (int)syscall(SYS_statfs, path, out);
    char *start;
    unsigned long number = type ? strtoul(type, &start, 0) : 0;
    if (code == 0 && type && *start == ':' && strncmp(path, start + 1, strlen(start + 1)) == 0)
        out->f_type = (__typeof__(out->f_type))number;
    return code;
}

int statfs64(const char *path, struct statfs64 *out)
{
    return statfs(path, (struct statfs *)out);
}

/* ---- LMDB -------------------------------------------------------------------------------------------------
 */

int mdb_txn_commit(MDB_txn *txn)
{
    REAL(mdb_txn_commit);
    if (!FAILS(COMMIT))
        return real(txn);
    mdb_txn_abort(txn); /* a commit that fails has ended its transaction */
    return EIO;
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    REAL(mdb_put);
    return FAILS(MAPFULL) ? MDB_MAP_FULL : real(txn, dbi, key, value, flags);
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
    REAL(mdb_cursor_put);
    return FAILS(MAPFULL) ? MDB_MAP_FULL : real(cursor, key, value, flags);
}
