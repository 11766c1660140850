/* test_tree.c - the walk over LMDB's pages: it finds nothing in a sound store whatever was done to it, and
 * every wrong bit in what leads to values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/tree.h"
#include "tests/support/store_fixture.h"

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

/* The file of the fixture's store, in memory, with the head of its newest commit. */
static struct tree_file load(void)
{
    char path[160];
    struct stat status;
    struct tree_meta metas[2];
    snprintf(path, sizeof path, "%s/data.mdb", fixture_path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    uint8_t *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(bytes != MAP_FAILED);
    close(fd);
    assert_true(tree_read_meta(bytes, 512, 0, &metas[0]));
    assert_true(tree_read_meta(bytes + metas[0].page_size, 512, 1, &metas[1]));
    return (struct tree_file){bytes, (uint64_t)status.st_size, metas[metas[1].commit > metas[0].commit]};
}

static void unload(struct tree_file *file)
{
    munmap((void *)(uintptr_t)file->bytes, file->size);
}

static void verify_file(void)
{
    struct error err = {0};
    struct tree_file file = load();
    if (!tree_verify(&file, &err))
        fail_msg("commit %llu: %s", (unsigned long long)file.meta.commit, err.msg);
    unload(&file);
}

/* A commit of random puts and deletes: values of all sizes, sets that grow into trees of their own and
 * shrink. */
static bool churn(struct store_txn *txn, void *ctx, struct error *err)
{
    static uint8_t value[60000];
    (void)ctx;
    for (unsigned i = 0, changes = 1 + random_below(200); i < changes; i++) {
        unsigned number = random_below(400);
        struct hash key = hash_bytes(&number, sizeof number), set = {{(uint8_t)random_below(4)}};
        size_t size = random_below(4) ? random_below(300) : random_below(sizeof value);
        bool ok;
        switch (random_below(6)) {
        case 0:
        case 1:
            ok = value_put(txn, DB_GEOMETRY, key.bytes, HASH_SIZE, value, size, NULL, NULL, err);
            break;
        case 2:
            ok = value_delete(txn, DB_GEOMETRY, key.bytes, HASH_SIZE, err);
            break;
        case 3:
        case 4:
            ok = set_add(txn, DB_PLACES, &set, key.bytes, HASH_SIZE, err);
            break;
        default:
            ok = set_remove(txn, DB_PLACES, &set, key.bytes, HASH_SIZE, err);
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool empty_out(struct store_txn *txn, void *ctx, struct error *err)
{
    (void)ctx;
    for (unsigned number = 0; number < 400; number++) {
        struct hash key = hash_bytes(&number, sizeof number);
        if (!value_delete(txn, DB_GEOMETRY, key.bytes, HASH_SIZE, err))
            return false;
        for (uint8_t i = 0; i < 4; i++)
            if (!set_remove(txn, DB_PLACES, &(struct hash){{i}}, key.bytes, HASH_SIZE, err))
                return false;
    }
    return true;
}

static void nothing_is_found_in_a_sound_store(void **state)
{
    (void)state;
    random_state = 1;
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    struct store_txn *reader = NULL;
    for (unsigned commit = 0; commit < 400; commit++) {
        /* A reader now and then keeps old pages from being used again, which makes long lists of free ones.
         */
        if (commit % 20 == 5)
            reader = store_begin_read(store, &err);
        if (commit % 20 == 15) {
            store_end_read(reader);
            reader = NULL;
        }
        assert_true(store_update(store, commit % 50 == 49 ? empty_out : churn, NULL, &err));
        verify_file();
    }
    store_end_read(reader);
    store_close(store);
}

/* Opening verifies the commit that it sees, while another process makes the next ones. */
static void a_store_that_is_written_opens(void **state)
{
    int status;
    unsigned opened = 0;
    (void)state;
    random_state = 2;
    store_close(fixture_open(STORE_CREATE));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct error err = {0};
        struct store *store = store_open(fixture_path, STORE_WRITE, false, &err);
        bool ok = store != NULL;
        for (unsigned commit = 0; ok && commit < 150; commit++)
            ok = store_update(store, churn, NULL, &err);
        _exit(ok ? 0 : 1);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct error err = {0};
        struct store *store = store_open(fixture_path, STORE_READ, false, &err);
        if (!store)
            fail_msg("opening %u: %s", opened, err.msg);
        store_close(store);
        opened++;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && opened > 0);
}

/* ---- flips ---- */

/* Flips of heads, of page heads and of nodes in branches: the walk finds every one. */
static void every_flip_in_a_branch_page_is_found(void **state)
{
    (void)state;
    random_state = 3;
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    for (unsigned commit = 0; commit < 12; commit++)
        assert_true(store_update(store, churn, NULL, &err));
    store_close(store);
    struct tree_file file = load();
    uint8_t *bytes = (uint8_t *)(uintptr_t)file.bytes;
    uint64_t flips = 0, found = 0;
    for (uint64_t page = 2; page < file.meta.pages && (page + 1) * 4096 <= file.size; page++) {
        uint8_t *p = bytes + page * 4096;
        uint64_t number;
        memcpy(&number, p, 8);
        bool branch = number == page && p[10] == 1 && p[11] == 0;
        unsigned lower = p[12] | p[13] << 8;
        if (!branch || lower < 16 || lower > 4096)
            continue;
        /* A page of this shape that is free is no branch any more. */
        struct tree_walk walk = {0};
        assert_true(tree_walk_begin(&walk, &file));
        bool is_free = tree_walk_free(&walk) && tree_is_used(&walk, page);
        tree_walk_end(&walk);
        if (is_free)
            continue;
        for (unsigned bit = 0; bit < 8 * lower; bit++) {
            /* The pad of a page's head is nobody's. */
            if (bit / 8 == 8 || bit / 8 == 9)
                continue;
            struct error fault = {0};
            p[bit / 8] ^= (uint8_t)(1 << bit % 8);
            flips++;
            bool caught = !tree_verify(&file, &fault);
            found += caught;
            if (!caught)
                print_message("page %llu lower %u bit %u\n", (unsigned long long)page, lower, bit);
            p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    unload(&file);
    assert_true(flips > 300);
    assert_int_equal(found, flips);
}

struct placed {
    const uint8_t *bytes;
    size_t size;
};

/* Keys, and the references of sets, where they lie in the file. */
static void note_key(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                     bool subtree, void *ctx)
{
    const struct placed where = {key->bytes, key->size}, reference = {value, size};
    (void)subtree;
    buffer_append(ctx, &where, sizeof where);
    if (strcmp(database, store_db_name(DB_PLACES)) == 0)
        buffer_append(ctx, &reference, sizeof reference);
}

/* A row under a key with a wrong bit is one that nobody looks for: the order of keys shows it only now and
 * then. */
static void every_flip_in_a_key_is_found(void **state)
{
    (void)state;
    random_state = 4;
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    for (unsigned commit = 0; commit < 12; commit++)
        assert_true(store_update(store, churn, NULL, &err));
    MDB_stat stats[2];
    struct store_txn *txn = store_begin_read(store, &err);
    assert_int_equal(mdb_stat(txn->txn, store->dbi[DB_GEOMETRY], &stats[0]), 0);
    assert_int_equal(mdb_stat(txn->txn, store->dbi[DB_PLACES], &stats[1]), 0);
    store_end_read(txn);
    struct tree_file file = load();
    struct buffer keys = {0}, trees = {0};
    struct tree_walk walk = {.entry = note_key, .ctx = &trees};
    assert_true(tree_walk_begin(&walk, &file) && tree_walk_db(&walk, &file.meta.main, "main"));
    walk.ctx = &keys;
    for (size_t i = 0; i < trees.size / sizeof(struct placed); i++) {
        const struct placed *name = (const struct placed *)trees.data + i;
        const struct tree_db db = tree_read_db(name->bytes + name->size);
        const enum store_db own = store_db_of((const char *)name->bytes, name->size);
        if (own != DB_META) /* whose rows are looked up, so that a missing one shows */
            assert_true(tree_walk_db(&walk, &db, store_db_name(own)));
    }
    tree_walk_end(&walk);
    const size_t count = keys.size / sizeof(struct placed);
    assert_true(count >= stats[0].ms_entries + 2 * stats[1].ms_entries && stats[0].ms_entries > 50 &&
                stats[1].ms_entries > 50);
    for (size_t i = 0; i < count; i++) {
        const struct placed *where = (const struct placed *)keys.data + i;
        /* The lowest bits least often disturb the order. */
        uint8_t *byte = (uint8_t *)(uintptr_t)where->bytes + (i % 2 ? where->size - 1 : random_below(16));
        const uint8_t bit = (uint8_t)(1 << random_below(8));
        struct error fault = {0};
        *byte ^= bit;
        if (tree_verify(&file, &fault))
            fail_msg("a bit of key %zu is not noticed", i);
        *byte ^= bit;
    }
    assert_true(tree_verify(&file, &err));
    unload(&file);
    buffer_free(&keys);
    buffer_free(&trees);
    store_close(store);
}

/* ---- a store with one wrong bit ---- */

static void flip(int fd, uint64_t bit)
{
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, (off_t)(bit / 8)), 1);
    byte ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
}

static bool put_run(struct store_txn *txn, void *ctx, struct error *err)
{
    return store_put_run(txn, ctx, err);
}

/* What the program makes of the store: noticed (1), the same content (0), or other content unnoticed (-1). */
static int judge(const struct hash *digest)
{
    struct error err = {0};
    struct store *store = store_open(fixture_path, STORE_READ, false, &err);
    struct hash now;
    uint64_t problems = 0;
    if (!store)
        return 1;
    bool checked = store_check(store, NULL, NULL, &problems, &err) && store_digest(store, &now, &err);
    store_close(store);
    return !checked || problems ? 1 : hash_equal(&now, digest) ? 0 : -1;
}

static void a_wrong_bit_is_noticed_or_changes_nothing(void **state)
{
    struct error err = {0};
    char path[160];
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    fixture_put(store, fixture_sample, FIXTURE_SAMPLES);
    struct run_record run = {.id = 1, .version = "0", .arguments = "run"};
    assert_true(store_update(store, put_run, &run, &err));
    struct hash digest = fixture_digest(store);
    store_close(store);
    snprintf(path, sizeof path, "%s/data.mdb", fixture_path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    uint64_t bits = 8 * (uint64_t)lseek(fd, 0, SEEK_END), noticed = 0, flips = 0;
    /* `make check-hostile` flips every bit. */
    const char *given = getenv("ANCHORAGE_FLIP_STEP");
    const uint64_t step = given ? strtoul(given, NULL, 10) : 509;
    for (uint64_t bit = 5 % step; bit < bits; bit += step) {
        flip(fd, bit);
        int is = judge(&digest);
        if (is < 0)
            fail_msg("bit %llu of byte %llu is not noticed", (unsigned long long)bit % 8,
                     (unsigned long long)bit / 8);
        noticed += is > 0;
        flips++;
        flip(fd, bit);
    }
    close(fd);
    print_message("# %llu of %llu bits flipped, %llu of them noticed\n", (unsigned long long)flips,
                  (unsigned long long)bits, (unsigned long long)noticed);
    assert_true(noticed > 20);
    assert_int_equal(judge(&digest), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_found_in_a_sound_store, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_store_that_is_written_opens, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(every_flip_in_a_branch_page_is_found, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(every_flip_in_a_key_is_found, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_wrong_bit_is_noticed_or_changes_nothing, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
