/* test_guard.c - a fault over a store's pages is a message and status 3; any other fault is none of the
 * store's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

/* What a child of the test writes to stderr, and how it ends. */
static int run_child(void (*child)(struct store *store), char *said, size_t room)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL); /* cmocka's own */
        child(fixture_open(STORE_CREATE));
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while (used + 1 < room && (got = read(ends[0], said + used, room - used - 1)) > 0)
        used += (size_t)got;
    said[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void fault_inside(struct store *store)
{
    guard_enter(store);
    raise(SIGSEGV);
}

static void abort_inside(struct store *store)
{
    guard_enter(store);
    abort();
}

/* A page of the file that goes away under its mapping, as when a disk no longer gives it. */
static void touch_what_is_cut(struct store *store)
{
    int fd;
    assert_int_equal(mdb_env_get_fd(store->env, &fd), 0);
    volatile const char *map = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0);
    (void)map[(1 << 20) - 1];
}

static void fault_elsewhere(struct store *store)
{
    (void)store;
    volatile char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *nowhere = 1;
}

static void assertion(struct store *store)
{
    guard_assertion(store->env, "expression");
}

static void a_fault_in_a_store_is_said(void **state)
{
    static void (*const children[])(struct store *) = {fault_inside, abort_inside, touch_what_is_cut,
                                                       assertion};
    char said[4096];
    (void)state;
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        int status = run_child(children[i], said, sizeof said);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        assert_non_null(strstr(said, "is damaged"));
        assert_non_null(strstr(said, "anchorage repair "));
        assert_non_null(strstr(said, fixture_path));
    }
}

static void other_faults_stay_what_they_are(void **state)
{
    char said[4096];
    (void)state;
    int status = run_child(fault_elsewhere, said, sizeof said);
    /* A sanitizer tells of it and exits with its own status. */
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
    assert_null(strstr(said, "anchorage repair"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fault_in_a_store_is_said, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(other_faults_stay_what_they_are, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
