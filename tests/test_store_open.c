/* test_store_open.c - growth, other processes, killed writers, and what is no store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

/* ---- growth ---- */

static void the_map_grows(void **state)
{
    static struct item large[40];
    static char paths[40][16];
    struct error err = {0};
    (void)state;
    struct store *store = store_open_map(fixture_path, STORE_CREATE, false, (size_t)256 << 10, &err);
    assert_non_null(store);
    for (size_t i = 0; i < 40; i++) {
        snprintf(paths[i], sizeof paths[i], "f%zu", i);
        large[i] = (struct item){paths[i], NULL, NULL, NULL, (unsigned)i, 1, 4 * 100000};
    }
    fixture_put(store, large, 20); /* 2 MB in one transaction: it is run several times */
    fixture_put(store, large + 20, 20);
    assert_int_equal(fixture_problems(store, true), 0);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_int_equal(fixture_live(txn), 40);
    /* While this process reads, the map may not move: said, not waited for, and nothing is lost. */
    struct item more = {"more", NULL, NULL, NULL, 99, 1, (size_t)4 * 40000000};
    assert_false(store_update(store, fixture_put_items, &(struct items){&more, 1}, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "address space"));
    assert_int_equal(fixture_live(txn), 40);
    store_end_read(txn);
    fixture_put(store, &more, 1);
    store_close(store);
}

/* ---- processes ---- */

/* Runs `child` in a process that tells of its progress through the pipe; gives its pid. */
static pid_t fork_child(void (*child)(int out), int *in)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        child(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    *in = ends[0];
    return pid;
}

static void await(int in)
{
    char byte;
    assert_int_equal(read(in, &byte, 1), 1);
}

static void hold_lock(int out)
{
    struct error err = {0};
    struct store *store = store_open(fixture_path, STORE_CREATE, false, &err);
    if (store && write(out, "x", 1) == 1)
        pause();
    _exit(1);
}

static void a_second_writer_is_told_who_writes(void **state)
{
    struct error err = {0};
    char pid_text[32];
    int in;
    (void)state;
    pid_t pid = fork_child(hold_lock, &in);
    await(in);
    assert_null(store_open(fixture_path, STORE_WRITE, false, &err));
    assert_int_equal(err.code, ERROR_STORE);
    snprintf(pid_text, sizeof pid_text, "pid %ld ", (long)pid);
    assert_non_null(strstr(err.msg, pid_text));
    struct store *reader = fixture_open(STORE_READ); /* a reader is not in the way */
    store_close(reader);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(in);
    store_close(fixture_open(STORE_WRITE)); /* the lock went with its holder */
}

static void a_waiting_writer_gets_the_lock(void **state)
{
    struct error err = {0};
    int in;
    (void)state;
    pid_t pid = fork_child(hold_lock, &in);
    await(in);
    if (fork() == 0) {
        usleep(100000);
        kill(pid, SIGKILL);
        _exit(0);
    }
    struct store *store = store_open(fixture_path, STORE_WRITE, true, &err);
    assert_non_null(store);
    store_close(store);
    waitpid(pid, NULL, 0);
    wait(NULL);
    close(in);
}

static void one_process_opens_a_store_once(void **state)
{
    struct error err = {0};
    char same[128];
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    snprintf(same, sizeof same, "%s/./", fixture_path);
    assert_null(store_open(same, STORE_READ, false, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "open in this process"));
    store_close(store);
    store_close(fixture_open(STORE_READ));
}

static void write_without_end(int out)
{
    struct error err = {0};
    struct store *store = store_open(fixture_path, STORE_CREATE, false, &err);
    for (unsigned i = 0; store; i++) {
        char name[32], inner[32];
        snprintf(name, sizeof name, "a.zip!f%u", i % 50);
        snprintf(inner, sizeof inner, "stem%u", i);
        struct item item = {name, "a.zip", inner, NULL, i, i, 4 * (i * 977 % 50000)};
        if (!store_update(store, fixture_put_items, &(struct items){&item, 1}, &err) ||
            write(out, "x", 1) != 1)
            break;
    }
    _exit(1);
}

static void a_killed_writer_leaves_whole_commits(void **state)
{
    int in;
    (void)state;
    for (int round = 0; round < 12; round++) {
        pid_t pid = fork_child(write_without_end, &in);
        for (int i = 0; i < 1 + round % 4; i++)
            await(in);
        usleep((useconds_t)(round * 731 % 3000)); /* into the next commit, more or less far */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(in);
        struct store *store = fixture_open(STORE_WRITE);
        assert_int_equal(fixture_problems(store, true), 0);
        store_close(store);
    }
}

/* A reader keeps the commit it began with while the same process, or another, goes on writing. */
static void a_reader_keeps_its_commit(void **state)
{
    struct store *store = fixture_open(STORE_CREATE);
    struct error err = {0};
    int in;
    (void)state;
    fixture_put(store, fixture_sample, 1);
    struct store_txn *txn = store_begin_read(store, &err);
    fixture_put(store, fixture_sample + 2, 2);
    assert_int_equal(fixture_live(txn), 1);
    struct store_txn *later = store_begin_read(store, &err);
    assert_int_equal(fixture_live(later), 3);
    store_end_read(txn);
    store_end_read(later);
    store_close(store);

    pid_t pid = fork_child(write_without_end, &in);
    await(in);
    store = fixture_open(STORE_READ);
    txn = store_begin_read(store, &err);
    size_t before = fixture_live(txn);
    for (int i = 0; i < 5; i++)
        await(in);
    assert_int_equal(fixture_live(txn), before);
    store_end_read(txn);
    assert_int_equal(fixture_problems(store, true), 0);
    store_close(store);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(in);
}

/* ---- what is no store ---- */

static void refused(const char *place, enum store_mode mode, const char *word)
{
    struct error err = {0};
    assert_null(store_open(place, mode, false, &err));
    assert_int_equal(err.code, ERROR_STORE);
    if (!strstr(err.msg, word) || !strstr(err.msg, place))
        fail_msg("'%s' names not '%s' or not '%s'", err.msg, place, word);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void what_is_no_store_is_named(void **state)
{
    char file[96];
    uint8_t noise[8192];
    (void)state;
    refused(fixture_path, STORE_READ, "does not exist");
    refused(fixture_path, STORE_WRITE, "does not exist");
    assert_int_equal(mkdir(fixture_path, 0777), 0);
    refused(fixture_path, STORE_READ, "without a store in it");
    snprintf(file, sizeof file, "%s/mine.txt", fixture_path);
    write_file(file, "x", 1);
    refused(file, STORE_READ, "is a file");
    refused(file, STORE_CREATE, "is a file");
    refused(fixture_path, STORE_CREATE, "holds other files");
    memset(noise, 0x5A, sizeof noise);
    snprintf(file, sizeof file, "%s/noise.mdb", fixture_directory);
    write_file(file, noise, sizeof noise);
    refused(file, STORE_READ, "no LMDB file");
    snprintf(file, sizeof file, "%s/none/store", fixture_directory);
    refused(file, STORE_CREATE, "cannot be made");
}

static void another_programs_database_is_left_alone(void **state)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    char letters[2] = {'k', 'v'};
    MDB_val key = {1, &letters[0]}, value = {1, &letters[1]};
    (void)state;
    assert_int_equal(mkdir(fixture_path, 0777), 0);
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, fixture_path, 0, 0666), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    refused(fixture_path, STORE_CREATE, "no store of this program");
    refused(fixture_path, STORE_READ, "no store of this program");
}

static bool put_next_schema(struct store_txn *txn, void *ctx, struct error *err)
{
    const uint8_t version[4] = {STORE_SCHEMA_VERSION + 1};
    (void)ctx;
    return value_put(txn, DB_META, "schema", 6, version, sizeof version, NULL, NULL, err);
}

static void another_schema_is_refused_with_both_numbers(void **state)
{
    struct error err = {0};
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    assert_true(store_update(store, put_next_schema, NULL, &err));
    store_close(store);
    refused(fixture_path, STORE_READ, "has schema 3, this program works with 2");
    refused(fixture_path, STORE_CREATE, "newer program");
}

static bool change_nothing(struct store_txn *txn, void *ctx, struct error *err)
{
    (void)txn, (void)ctx, (void)err;
    return true;
}

/* Bit 12 of the page size is all there is of 4096: without it LMDB divides by zero. */
static void a_head_with_a_wrong_bit_is_damage(void **state)
{
    struct error err = {0};
    char path[160];
    (void)state;
    struct store *store = fixture_open(STORE_CREATE);
    assert_true(store_update(store, change_nothing, NULL, &err));
    store_close(store);
    snprintf(path, sizeof path, "%s/data.mdb", fixture_path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    for (unsigned bit = 0; bit < 32; bit++) {
        const off_t at = 40 + bit / 8; /* of the first head: LMDB's "Page formats", mm_psize */
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        refused(fixture_path, STORE_READ, "is damaged");
        byte ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    store_close(fixture_open(STORE_READ));
}

static void a_reader_may_not_write(void **state)
{
    struct error err = {0};
    (void)state;
    store_close(fixture_open(STORE_CREATE));
    struct store *store = fixture_open(STORE_READ);
    assert_false(store_update(store, change_nothing, NULL, &err));
    assert_non_null(strstr(err.msg, "for reading only"));
    store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_map_grows),
        TEST(a_second_writer_is_told_who_writes),
        TEST(a_waiting_writer_gets_the_lock),
        TEST(one_process_opens_a_store_once),
        TEST(a_killed_writer_leaves_whole_commits),
        TEST(a_reader_keeps_its_commit),
        TEST(what_is_no_store_is_named),
        TEST(another_programs_database_is_left_alone),
        TEST(another_schema_is_refused_with_both_numbers),
        TEST(a_head_with_a_wrong_bit_is_damage),
        TEST(a_reader_may_not_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
