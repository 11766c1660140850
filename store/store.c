/* store.c - opening, transactions, growth. See store.h and store_internal.h; the layout is in
 * store/README.md. */
#include "store/store_internal.h"
#include "store/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_READERS  510 /* transactions of all processes together; a slot is 64 bytes of the lock file */
#define LOCK_FILE_SIZE (64 * (STORE_READERS + 2)) /* two slots' worth of head */

static const struct {
    const char *name;
    unsigned flags;
} databases[DB_COUNT] = {
    [DB_META] = {"meta", 0},
    [DB_SOURCES] = {"sources", 0},
    [DB_PLACES] = {"places", MDB_DUPSORT | MDB_DUPFIXED},
    [DB_MEMBERS] = {"members", MDB_DUPSORT | MDB_DUPFIXED},
    [DB_STEMS] = {"stems", MDB_DUPSORT | MDB_DUPFIXED},
    [DB_CONTAINERS] = {"containers", 0},
    [DB_RESOURCES] = {"resources", 0},
    [DB_NAMES] = {"names", MDB_DUPSORT | MDB_DUPFIXED},
    [DB_CANDIDATES] = {"candidates", 0},
    [DB_COVERAGE] = {"coverage", 0},
    [DB_RESOLVED] = {"resolved", 0},
    [DB_FINDINGS] = {"findings", 0},
    [DB_CAPTURES] = {"captures", 0},
    [DB_DECLINED] = {"declined", 0},
    [DB_GEOMETRY] = {"geometry", 0},
    [DB_USES] = {"uses", MDB_DUPSORT | MDB_DUPFIXED},
    [DB_RUNS] = {"runs", 0},
    [DB_PARTS] = {"parts", 0},
};
static const char schema_key[] = "schema";

const char *store_db_name(enum store_db db)
{
    return databases[db].name;
}

enum store_db store_db_of(const char *name, size_t size)
{
    enum store_db db = 0;
    while (db < DB_COUNT &&
           (strlen(databases[db].name) != size || memcmp(databases[db].name, name, size) != 0))
        db++;
    return db;
}

bool store_db_is_set(enum store_db db)
{
    return databases[db].flags & MDB_DUPSORT;
}

/* LMDB calls a write that ends early EIO, as if the disk failed: whether it is full, a quota is used up or
 * `ulimit -f` is reached shows the next byte. Nobody looks behind the end, and a writer is alone. */
static int cause_of(const struct store *store, int rc)
{
    struct stat status;
    int fd;
    if (rc != EIO || !store->writer || !store->env || mdb_env_get_fd(store->env, &fd) != MDB_SUCCESS ||
        fstat(fd, &status) != 0)
        return rc;
    const off_t behind = (status.st_size | 4095) + 1;
    if (pwrite(fd, "", 1, behind) < 0)
        return errno;
    return ftruncate(fd, status.st_size) == 0 ? rc : errno;
}

bool store_fail(const struct store *store, int rc, const char *what, struct error *err)
{
    if (rc > 0) /* of the system: LMDB's own are negative */
        return error_set_system(err, rc == ENOMEM ? ERROR_NOMEM : ERROR_STORE, cause_of(store, rc),
                                "store '%s': %s", store->path, what);
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "store '%s': %s: %s", store->path, what,
                     mdb_strerror(rc));
}

bool store_fail_write(struct store_txn *txn, int rc, const char *what, struct error *err)
{
    if (rc == MDB_MAP_FULL)
        txn->map_full = true;
    return store_fail(txn->store, rc, what, err);
}

bool store_nomem(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

static bool refuse(const struct store *store, struct error *err, const char *why)
{
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "store '%s' %s", store->path, why);
}

/* ---- which stores this process has open ----
 *
 * LMDB locks with fcntl, whose locks go when any descriptor of the file is closed: a second environment on
 * the same files would, when closed, leave the first without its locks. So a process opens a store once. */

static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct store *open_stores;

static bool register_store(struct store *store, struct error *err)
{
    pthread_mutex_lock(&open_mutex);
    const struct store *other = open_stores;
    while (other && (other->device != store->device || other->inode != store->inode))
        other = other->next;
    if (!other) {
        store->next = open_stores;
        open_stores = store;
        store->registered = true;
    }
    pthread_mutex_unlock(&open_mutex);
    if (!other)
        return true;
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                     "store '%s' is open in this process already (pid %ld)", store->path, (long)getpid());
}

static void unregister_store(struct store *store)
{
    if (!store->registered)
        return;
    pthread_mutex_lock(&open_mutex);
    struct store **link = &open_stores;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    pthread_mutex_unlock(&open_mutex);
}

/* ---- finding or making the files ---- */

static bool is_single_file(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".mdb") == 0;
}

/* Whether a directory has nothing in it but what an interrupted creation leaves. */
static bool is_fresh_directory(const char *path)
{
    DIR *directory = opendir(path);
    bool fresh = directory != NULL;
    for (struct dirent *entry; fresh && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        fresh = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lock.mdb") == 0 ||
                strcmp(name, "writer.lock") == 0;
    }
    if (directory)
        closedir(directory);
    return fresh;
}

/* Makes the directory, or the empty file, that LMDB then fills; the entry is made durable as commits are. */
static bool make_place(const struct store *store, bool single, struct error *err)
{
    int made = single ? open(store->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : mkdir(store->path, 0777);
    if (made < 0 && errno != EEXIST)
        return error_set_system(err, ERROR_STORE, errno, "store '%s' cannot be made", store->path);
    if (single)
        close(made);
    const char *slash = strrchr(store->path, '/');
    char *parent = !slash                 ? strdup(".")
                   : slash == store->path ? strdup("/")
                                          : strndup(store->path, (size_t)(slash - store->path));
    int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(parent);
    return true;
}

static const char interrupted[] =
    "is empty: its creation was interrupted, and the next `anchorage run` fills it";

static bool may_create(enum store_mode mode)
{
    return mode == STORE_CREATE || mode == STORE_SCRATCH;
}

/* Looks at what is at the path, makes it when asked to, and says in *single whether it is a file. */
static bool find_place(struct store *store, enum store_mode mode, bool *single, struct error *err)
{
    struct stat status;
    bool there = stat(store->path, &status) == 0;
    if (!there && errno != ENOENT)
        return error_set_system(err, ERROR_STORE, errno, "store '%s'", store->path);
    *single = is_single_file(store->path) && (!there || !S_ISDIR(status.st_mode));
    if (!there && !may_create(mode))
        return refuse(store, err, "does not exist; `anchorage run -s STORE INPUT...` makes one");
    if (!there && (!make_place(store, *single, err) || stat(store->path, &status) != 0))
        return err->code == ERROR_NONE ? refuse(store, err, "cannot be made") : false;
    store->device = status.st_dev;
    store->inode = status.st_ino;
    if (*single && !S_ISREG(status.st_mode))
        return refuse(store, err, "is no regular file");
    store->sealed = *single && !(status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH));
    if (store->sealed && store->writer)
        return refuse(store, err, "is sealed (nobody may write it); `anchorage merge -o NEW` makes a copy");
    if (*single)
        return true;
    if (!S_ISDIR(status.st_mode))
        return refuse(store, err, "is a file; a store is a directory, or a file whose name ends in .mdb");
    char data[4096];
    snprintf(data, sizeof data, "%s/data.mdb", store->path);
    if (access(data, F_OK) == 0)
        return true;
    if (errno != ENOENT)
        return error_set_system(err, ERROR_STORE, errno, "store '%s'", store->path);
    if (!may_create(mode))
        return refuse(store, err, "is a directory without a store in it (no data.mdb)");
    return is_fresh_directory(store->path) ||
           refuse(store, err, "is a directory that holds other files; name a new or an empty one");
}

static bool take_lock(struct store *store, bool single, bool wait, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", store->path, single ? "-writer" : "/writer.lock");
    store->lock_fd = lock_take(path, wait, err);
    return store->lock_fd >= 0;
}

/* ---- the environment ---- */

static int open_env(struct store *store, unsigned flags, size_t map)
{
    int rc = mdb_env_create(&store->env);
    if (rc != MDB_SUCCESS)
        return rc;
    mdb_env_set_maxdbs(store->env, DB_COUNT);
    mdb_env_set_maxreaders(store->env, STORE_READERS);
    mdb_env_set_mapsize(store->env, map);
    mdb_env_set_assert(store->env, guard_assertion);
    rc = mdb_env_open(store->env, store->path, flags, 0666);
    if (rc != MDB_SUCCESS) {
        mdb_env_close(store->env);
        store->env = NULL;
    }
    return rc;
}

/* A map that reaches past the end of its file kills the process on the first look there, so a file cut short
 * is found before. */
static bool check_length(struct store *store, struct error *err)
{
    MDB_envinfo info;
    MDB_stat pages;
    struct stat status;
    int fd;
    mdb_env_info(store->env, &info);
    mdb_env_stat(store->env, &pages);
    if (mdb_env_get_fd(store->env, &fd) != MDB_SUCCESS || fstat(fd, &status) != 0)
        return refuse(store, err, "cannot be examined");
    store->seen = status.st_size;
    uint64_t have = (uint64_t)status.st_size / pages.ms_psize;
    if (have + STORE_UNWRITTEN_PAGES > info.me_last_pgno)
        return true;
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                     "store '%s' is cut short: %lld bytes of %llu; an unfinished copy?", store->path,
                     (long long)status.st_size, (unsigned long long)(info.me_last_pgno + 1) * pages.ms_psize);
}

bool store_damaged(const struct store *store, const char *what, struct error *err)
{
    return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                     "store '%s' is damaged: %s; run `anchorage repair %s`", store->path, what, store->path);
}

/* LMDB writes both heads at once, before anything else, and a disk that fills up may take the first alone:
 * then the file is as good as empty, as one that was never written to is. A reader leaves it so. */
static bool begin_anew(struct store *store, const char *path, enum store_mode mode, struct error *err)
{
    if (!may_create(mode))
        return refuse(store, err, interrupted);
    return truncate(path, 0) == 0 || error_set_system(err, ERROR_STORE, errno, "store '%s'", store->path);
}

/* LMDB finds the second head by the page size that the first one gives, and believes it: it divides by one of
 * 0. What does not say to be LMDB's is left to LMDB to name. */
static bool check_heads(struct store *store, bool single, enum store_mode mode, struct error *err)
{
    char path[4096];
    uint8_t bytes[2][512];
    struct tree_meta first, second;
    struct stat status;
    snprintf(path, sizeof path, "%s%s", store->path, single ? "" : "/data.mdb");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    bool there = pread(fd, bytes[0], sizeof *bytes, 0) == sizeof *bytes;
    bool known = there && tree_read_meta(bytes[0], sizeof *bytes, 0, &first);
    bool same = known && pread(fd, bytes[1], sizeof *bytes, first.page_size) == sizeof *bytes &&
                tree_read_meta(bytes[1], sizeof *bytes, 1, &second) && second.page_size == first.page_size;
    close(fd);
    if (status.st_size == 0 || (known && first.commit == 0 && status.st_size < 2 * (off_t)first.page_size))
        return begin_anew(store, path, mode, err);
    if (!known)
        return !there || !tree_has_magic(bytes[0], sizeof *bytes) ||
               store_damaged(store, "one of its heads is none", err);
    return same || store_damaged(store, "its two heads differ", err);
}

/* LMDB maps its lock file and writes where that is still a hole, which on a full disk is a signal and no
 * error. So its room is taken before, once for all who open the store later. What hinders that otherwise is
 * left to LMDB to name. */
static bool reserve_lock_file(const struct store *store, bool single, struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", store->path, single ? "-lock" : "/lock.mdb");
    int fd = store->sealed ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return true;
    /* Where it has its room nothing is asked of a disk that may be full by now. */
    struct stat status;
    const bool whole = fstat(fd, &status) == 0 && status.st_size >= LOCK_FILE_SIZE &&
                       status.st_blocks >= LOCK_FILE_SIZE / 512;
    const int number = whole || fallocate(fd, 0, 0, LOCK_FILE_SIZE) == 0 ? 0 : errno;
    close(fd);
    return (number != ENOSPC && number != EDQUOT && number != EFBIG && number != EIO) ||
           error_set_system(err, ERROR_STORE, number, "lock '%s'", path);
}

static bool open_map(struct store *store, bool single, size_t map, unsigned extra, struct error *err)
{
    unsigned flags = MDB_NOTLS | (single ? MDB_NOSUBDIR : 0) | (store->writer ? 0 : MDB_RDONLY) | extra;
    int rc = open_env(store, flags, map);
    while (rc == ENOMEM && map > STORE_MAP_LEAST)
        rc = open_env(store, flags, map /= 2);
    if (rc == EACCES || rc == EPERM)
        return refuse(store, err,
                      store->writer ? "may not be written by this user"
                                    : "may not be read by this user: readers need the data file, and write "
                                      "permission to the lock file, by which the writer knows of them");
    if (rc == MDB_INVALID)
        return refuse(store, err, "is no LMDB file, or one that is damaged at its start");
    if (rc == MDB_VERSION_MISMATCH)
        return refuse(store, err, "is an LMDB file of another version of LMDB");
    if (rc != MDB_SUCCESS)
        return store_fail(store, rc, "cannot be opened", err);
    int dead;
    guard_install(store);
    if (store->writer)
        mdb_reader_check(store->env, &dead); /* readers that were killed pin old pages */
    return true;
}

/* ---- the pages, before LMDB walks them ---- */

static const char heads_differ[] = "its heads do not follow each other";

/* Reads the heads of the commit that a transaction sees. *again is set when the writer is about to write over
 * it.
 */
static bool read_heads(struct store *store, uint64_t commit, struct tree_file *file, bool *again,
                       struct error *err)
{
    struct tree_meta heads[2];
    MDB_stat stat;
    mdb_env_stat(store->env, &stat);
    for (unsigned i = 0; i < 2; i++)
        if (file->size < 2 * (uint64_t)stat.ms_psize ||
            !tree_read_meta(file->bytes + i * stat.ms_psize, stat.ms_psize, i, &heads[i]))
            return store_damaged(store, "one of its heads is none", err);
    const struct tree_meta own = heads[commit & 1], other = heads[~commit & 1];
    /* Commits go to the two heads in turn: the other one is of the commit before, or of the next one, which a
     * writer announces only once it is on the disk. Past that the writer has gone on since the transaction
     * began. */
    *again = own.commit > commit || (other.commit > commit + 1 && own.commit == commit);
    if (!*again && (own.commit != commit || (other.commit + 1 != commit && other.commit != commit + 1)))
        return store_damaged(store, heads_differ, err);
    file->meta = own;
    return true;
}

/* In a read transaction, which keeps the pages that it sees from being written over. */
static bool verify_commit(struct store *store, uint64_t commit, bool *again, struct error *err)
{
    struct stat status;
    int fd;
    *again = false;
    if (commit == 0)
        return true;
    if (mdb_env_get_fd(store->env, &fd) != MDB_SUCCESS || fstat(fd, &status) != 0)
        return refuse(store, err, "cannot be examined");
    void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_set_system(err, ERROR_STORE, errno, "store '%s' cannot be mapped", store->path);
    struct tree_file file = {.bytes = map, .size = (uint64_t)status.st_size};
    bool ok = read_heads(store, commit, &file, again, err);
    if (ok && !*again) {
        struct error damage = {0};
        const uint64_t pages = file.meta.pages;
        guard_enter(store);
        ok = tree_verify(&file, &damage);
        guard_leave();
        /* A head that was being written over when it was read says nothing of the store. */
        if (!ok && damage.code != ERROR_NOMEM && read_heads(store, commit, &file, again, err) &&
            (*again || file.meta.pages != pages))
            ok = *again = true;
        else if (!ok && damage.code == ERROR_NOMEM)
            store_nomem(err);
        else if (!ok)
            store_damaged(store, damage.msg, err);
    }
    munmap(map, (size_t)status.st_size);
    return ok;
}

/* LMDB would believe every page: what is wrong is found before it does. */
static bool verify_pages(struct store *store, struct error *err)
{
    bool ok = true, again = true;
    for (int attempt = 0; ok && again && attempt < 100; attempt++) {
        MDB_txn *txn;
        int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
        if (rc != MDB_SUCCESS)
            return store_fail(store, rc, "first transaction", err);
        ok = verify_commit(store, mdb_txn_id(txn), &again, err);
        mdb_txn_abort(txn);
        if (ok && again)
            sched_yield();
    }
    /* No writer is that fast: a head says to be of a commit that nobody made. */
    return ok && (!again || store_damaged(store, heads_differ, err));
}

static bool check_schema(struct store_txn *txn, struct error *err)
{
    struct value value;
    bool found;
    if (!value_get(txn, DB_META, schema_key, strlen(schema_key), &value, &found, err))
        return false;
    if (!found || value.size != 4)
        return refuse(txn->store, err, "is an LMDB database, but no store of this program");
    uint32_t version = load_u32le(value.bytes);
    if (version == STORE_SCHEMA_VERSION)
        return true;
    return error_set(
        err, ERROR_STORE, ERROR_NO_OFFSET, "store '%s' has schema %u, this program works with %d; %s",
        txn->store->path, version, STORE_SCHEMA_VERSION,
        version < STORE_SCHEMA_VERSION ? "fill a new store from the inputs" : "use a newer program");
}

static bool open_databases(struct store_txn *txn, bool create, struct error *err)
{
    struct store *store = txn->store;
    for (int db = 0; db < DB_COUNT; db++) {
        unsigned flags;
        /* A writer adds what a store of an earlier program misses, once it knows that it is a store. */
        bool may_add = create || (store->writer && db != DB_META);
        guard_enter(store);
        int rc = mdb_dbi_open(txn->txn, databases[db].name, may_add ? databases[db].flags | MDB_CREATE : 0,
                              &store->dbi[db]);
        guard_leave();
        if (rc == MDB_NOTFOUND && db != DB_META)
            return refuse(
                store, err,
                "was written by an earlier program; `anchorage resolve -s STORE` adds what it misses");
        if (db == DB_META && (rc == MDB_NOTFOUND || rc == MDB_INCOMPATIBLE))
            return refuse(store, err, "is an LMDB database, but no store of this program");
        if (rc == MDB_SUCCESS)
            rc = mdb_dbi_flags(txn->txn, store->dbi[db], &flags);
        if (rc == MDB_SUCCESS && flags != databases[db].flags)
            rc = MDB_INCOMPATIBLE;
        if (rc != MDB_SUCCESS)
            return store_fail_write(txn, rc, databases[db].name, err);
        if (db == DB_META && !create && !(check_schema(txn, err) && keys_load(txn, err)))
            return false;
    }
    if (!create)
        return true;
    const uint8_t version[4] = {STORE_SCHEMA_VERSION};
    return value_put(txn, DB_META, schema_key, strlen(schema_key), version, sizeof version, NULL, NULL,
                     err) &&
           keys_save(txn, err);
}

/* Opens the databases, and makes them in a store that has none: handles are good once their transaction is
 * committed. */
static bool prepare(struct store *store, enum store_mode mode, struct error *err)
{
    struct store_txn txn = {.store = store};
    MDB_dbi root;
    MDB_stat stat = {0};
    int rc = mdb_txn_begin(store->env, NULL, store->writer ? 0 : MDB_RDONLY, &txn.txn);
    if (rc != MDB_SUCCESS)
        return store_fail(store, rc, "first transaction", err);
    rc = mdb_dbi_open(txn.txn, NULL, 0, &root);
    if (rc == MDB_SUCCESS)
        rc = mdb_stat(txn.txn, root, &stat);
    bool create = rc == MDB_SUCCESS && stat.ms_entries == 0 && may_create(mode);
    if (rc != MDB_SUCCESS)
        store_fail(store, rc, "root", err);
    else if (stat.ms_entries == 0 && !may_create(mode))
        refuse(store, err, interrupted);
    if (err->code != ERROR_NONE || !open_databases(&txn, create, err)) {
        mdb_txn_abort(txn.txn);
        return false;
    }
    rc = mdb_txn_commit(txn.txn);
    return rc == MDB_SUCCESS || store_fail(store, rc, "first commit", err);
}

struct store *store_open(const char *path, enum store_mode mode, bool wait_lock, struct error *err)
{
    return store_open_map(path, mode, wait_lock, STORE_MAP_RESERVE, err);
}

struct store *store_open_map(const char *path, enum store_mode mode, bool wait_lock, size_t map,
                             struct error *err)
{
    struct store *store = calloc(1, sizeof *store);
    bool single;
    if (!store || !(store->path = strdup(path))) {
        free(store);
        store_nomem(err);
        return NULL;
    }
    /* A trailing slash is no part of the name: the parent is found by the last one. */
    for (size_t length = strlen(path); length > 1 && store->path[length - 1] == '/'; length--)
        store->path[length - 1] = '\0';
    store->lock_fd = -1;
    store->writer = mode != STORE_READ;
    unsigned extra = mode == STORE_SCRATCH ? MDB_NOSYNC : 0;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_mutex_init(&store->update, NULL);
    if (!find_place(store, mode, &single, err))
        goto fail;
    if (store->sealed)
        extra |= MDB_NOLOCK;
    if ((store->sealed || lock_check_filesystem(store->path, err)) && register_store(store, err) &&
        (!store->writer || take_lock(store, single, wait_lock, err)) &&
        check_heads(store, single, mode, err) && reserve_lock_file(store, single, err) &&
        open_map(store, single, map, extra, err) && check_length(store, err) && verify_pages(store, err) &&
        prepare(store, mode, err))
        return store;
fail:
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    guard_remove(store);
    if (store->env)
        mdb_env_close(store->env);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    unregister_store(store);
    pthread_mutex_destroy(&store->update);
    pthread_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
}

bool store_sync(struct store *store, struct error *err)
{
    int rc = mdb_env_sync(store->env, 1);
    return rc == MDB_SUCCESS || store_fail(store, rc, "sync", err);
}

bool store_copy(struct store *store, int fd, const char *name, struct error *err)
{
    int rc = mdb_env_copyfd2(store->env, fd, MDB_CP_COMPACT);
    if (rc > 0) /* of the system: LMDB's own are negative */
        return error_set_system(err, rc == ENOMEM ? ERROR_NOMEM : ERROR_STORE, rc,
                                "store '%s' cannot be copied to %s", store->path, name);
    return rc == MDB_SUCCESS || store_fail(store, rc, "copy", err);
}

bool store_is_sealed(const struct store *store)
{
    return store->sealed;
}

const char *store_path(const struct store *store)
{
    return store->path;
}

bool store_is_at(const struct store *store, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == store->device && status.st_ino == store->inode;
}

/* ---- transactions ---- */

/* Makes the map larger, or, with 0, as large as the file is by now. LMDB may move it, so no transaction of
 * this process may be open. The caller holds the mutex. */
static bool resize(struct store *store, size_t map, struct error *err)
{
    if (store->readers)
        return error_set(
            err, ERROR_STORE, ERROR_NO_OFFSET,
            "store '%s' has outgrown the address space it could have (ulimit -v), and cannot move while "
            "it is read by the same process",
            store->path);
    /* LMDB unmaps before it maps; that the larger map will be possible is tried before. */
    void *room = map ? mmap(NULL, map, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;
    if (room == MAP_FAILED)
        return error_set_system(err, ERROR_STORE, errno,
                                "store '%s' needs %zu MiB of address space (ulimit -v)", store->path,
                                map >> 20);
    if (room)
        munmap(room, map);
    int rc = mdb_env_set_mapsize(store->env, map);
    return rc == MDB_SUCCESS || store_fail(store, rc, "map size", err);
}

static bool grow(struct store *store, struct error *err)
{
    MDB_envinfo info;
    mdb_env_info(store->env, &info);
    pthread_mutex_lock(&store->mutex);
    bool grown = resize(store, info.me_mapsize * 2, err);
    pthread_mutex_unlock(&store->mutex);
    return grown;
}

/* The caller holds the mutex. */
static int begin_read(struct store *store, MDB_txn **txn, struct error *err)
{
    int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn), dead;
    if (rc == MDB_READERS_FULL && mdb_reader_check(store->env, &dead) == MDB_SUCCESS && dead)
        rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn);
    if (rc == MDB_MAP_RESIZED && resize(store, 0, err))
        rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn);
    return rc;
}

struct store_txn *store_begin_read(struct store *store, struct error *err)
{
    struct store_txn *txn = calloc(1, sizeof *txn);
    if (!txn) {
        store_nomem(err);
        return NULL;
    }
    txn->store = store;
    txn->reading = true;
    pthread_mutex_lock(&store->mutex);
    int rc = begin_read(store, &txn->txn, err);
    if (rc == MDB_SUCCESS)
        store->readers++;
    pthread_mutex_unlock(&store->mutex);
    if (rc == MDB_SUCCESS)
        return txn;
    store_fail(store, rc, "read transaction", err);
    free(txn);
    return NULL;
}

void store_end_read(struct store_txn *txn)
{
    if (!txn)
        return;
    struct store *store = txn->store;
    for (int db = 0; db < DB_COUNT; db++)
        if (txn->cursors[db]) /* LMDB leaves those of a read transaction to whoever opened them */
            mdb_cursor_close(txn->cursors[db]);
    pthread_mutex_lock(&store->mutex);
    mdb_txn_abort(txn->txn);
    store->readers--;
    pthread_mutex_unlock(&store->mutex);
    buffer_free(&txn->scratch);
    buffer_free(&txn->old_row);
    arena_free(&txn->arena);
    free(txn);
}

uint64_t store_commit(const struct store_txn *txn)
{
    return mdb_txn_id(txn->txn);
}

static void data_path(const struct store *store, char path[static 4096])
{
    unsigned flags = 0;
    mdb_env_get_flags(store->env, &flags);
    snprintf(path, 4096, "%s%s", store->path, flags & MDB_NOSUBDIR ? "" : "/data.mdb");
}

bool store_in_place(struct store *store, struct error *err)
{
    char path[4096];
    struct stat named, open_file;
    int fd;
    data_path(store, path);
    if (stat(path, &named) != 0)
        return error_set_system(err, ERROR_STORE, errno, "store '%s' is gone", store->path);
    if (mdb_env_get_fd(store->env, &fd) != MDB_SUCCESS || fstat(fd, &open_file) != 0)
        return refuse(store, err, "cannot be examined");
    if (named.st_dev != open_file.st_dev || named.st_ino != open_file.st_ino)
        return refuse(store, err, "was replaced by another one");
    pthread_mutex_lock(&store->mutex);
    bool whole = open_file.st_size >= store->seen;
    if (whole)
        store->seen = open_file.st_size;
    pthread_mutex_unlock(&store->mutex);
    return whole || refuse(store, err, "was cut short while it was open");
}

/* One attempt. False with txn->map_full set when the map was too small, or with *err set. */
static bool update_once(struct store_txn *txn,
                        bool (*change)(struct store_txn *txn, void *ctx, struct error *err), void *ctx,
                        struct error *err)
{
    txn->map_full = false;
    for (int db = 0; db < DB_COUNT; db++) {
        buffer_clear(&txn->pending[db]);
        txn->cursors[db] = NULL; /* LMDB closed those of an earlier attempt with its transaction */
    }
    int rc = mdb_txn_begin(txn->store->env, NULL, 0, &txn->txn);
    if (rc != MDB_SUCCESS)
        return store_fail(txn->store, rc, "write transaction", err);
    bool changed = keys_load(txn, err) && change(txn, ctx, err);
    for (int db = 0; db < DB_COUNT && changed; db++)
        changed = set_flush(txn, (enum store_db)db, err);
    changed = changed && (!txn->keys_changed || keys_save(txn, err));
    if (!changed || txn->map_full) {
        mdb_txn_abort(txn->txn);
        return false;
    }
    guard_enter(txn->store);
    rc = mdb_txn_commit(txn->txn);
    guard_leave();
    return rc == MDB_SUCCESS || store_fail_write(txn, rc, "commit", err);
}

bool store_update(struct store *store, bool (*change)(struct store_txn *txn, void *ctx, struct error *err),
                  void *ctx, struct error *err)
{
    if (!store->writer)
        return refuse(store, err, "is open for reading only");
    struct store_txn txn = {.store = store};
    pthread_mutex_lock(&store->update);
    bool done = update_once(&txn, change, ctx, err);
    while (!done && txn.map_full) {
        error_clear(err);
        if (!grow(store, err))
            break;
        done = update_once(&txn, change, ctx, err);
    }
    pthread_mutex_unlock(&store->update);
    for (int db = 0; db < DB_COUNT; db++)
        buffer_free(&txn.pending[db]);
    buffer_free(&txn.scratch);
    buffer_free(&txn.old_row);
    arena_free(&txn.arena);
    return done;
}
