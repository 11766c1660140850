/* test_store_log.c - puts made ready outside a transaction, and the order they are made in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- hash_sort ----------------------------------------------------------------------------------------- */

struct element {
    struct hash hash;
    uint32_t number;
};

static int element_order(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    int order = memcmp(x->hash.bytes, y->hash.bytes, HASH_SIZE);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* `spread`: how many different hashes; `shared`: leading bytes that all have in common. */
static void sorts(size_t count, unsigned spread, size_t shared)
{
    struct element *list = calloc(count + 1, sizeof *list), *expected = calloc(count + 1, sizeof *list);
    assert_non_null(list);
    assert_non_null(expected);
    for (size_t i = 0; i < count; i++) {
        list[i].hash = fixture_content((unsigned)(i * 2654435761u) % spread);
        memset(list[i].hash.bytes, 7, shared);
        list[i].number = (uint32_t)(count - i);
    }
    if (count)
        memcpy(expected, list, count * sizeof *list);
    qsort(expected, count, sizeof *expected, element_order);
    for (int again = 0; again < 2; again++) { /* the second time they are in order */
        hash_sort(list, count, sizeof *list, element_order);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(element_order(&list[i], &expected[i]), 0);
    }
    free(list);
    free(expected);
}

static void hashes_are_sorted(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 100, 5000, 70000};
    for (size_t i = 0; i < COUNT(counts); i++) {
        sorts(counts[i], 1u << 30, 0);
        sorts(counts[i], 10, 0);
    }
    sorts(5000, 1, 0);        /* one key, as of a set */
    sorts(5000, 1u << 30, 4); /* made-up hashes: all in one bucket */
    sorts(5000, 1u << 30, 16);
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

/* Address space of a log here: rows have five eighths of it. */
#define LOG_SIZE ((size_t)64 << 20)

struct logs {
    struct store_log log[2];
};

static bool nothing_more(struct store_txn *txn, void *ctx, struct error *err)
{
    (void)txn, (void)ctx, (void)err;
    return true;
}

static bool commit_logs(struct store *store, const struct logs *logs, struct error *err)
{
    return store_commit_logs(store, logs->log, 2, true, nothing_more, NULL, err);
}

static void commit(struct store *store, struct logs *logs)
{
    struct error err = {0};
    if (!commit_logs(store, logs, &err))
        fail_msg("%s", err.msg);
}

static void log_source(struct store_log *log, uint32_t order, const char *path, unsigned content,
                       uint64_t bytes)
{
    struct error err = {0};
    const struct source_record source = {.kind = SOURCE_CONTAINER,
                                         .path = path,
                                         .stem = "stem",
                                         .container = fixture_content(content),
                                         .format = FORMAT_BGF,
                                         .bytes = bytes,
                                         .run = 1};
    assert_true(store_log_source(log, order, &source, &err));
}

/* A content whose one resource has that name. */
static void log_content(struct store_log *log, uint32_t order, unsigned content, const char *name)
{
    struct error err = {0};
    struct hash key = fixture_content(content);
    const struct container_record record = {.bytes = order,
                                            .container = {.format = FORMAT_BGF, .resource_count = 1},
                                            .by_status = {[RESOURCE_DECLINED] = 1}};
    const struct resource_record resource = {.resource = {.format = FORMAT_BGF, .name = name}};
    assert_true(store_log_container(log, order, &key, &record, &resource, 1, &err));
}

static void setup_logs(struct logs *logs)
{
    for (int i = 0; i < 2; i++) {
        void *memory =
            mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_true(memory != MAP_FAILED);
        logs->log[i] = (struct store_log){.memory = memory, .size = LOG_SIZE};
    }
}

static void free_logs(struct logs *logs)
{
    for (int i = 0; i < 2; i++) {
        store_log_free(&logs->log[i]);
        munmap(logs->log[i].memory, LOG_SIZE);
    }
}

/* Of puts of one key the order counts, not the log: the first content, the last source. */
static void order_decides(void **state)
{
    (void)state;
    struct logs logs;
    struct error err = {0};
    struct arena arena = {0};
    struct container_record container;
    struct source_record source;
    struct resource_key *keys;
    size_t count;
    bool found;
    struct hash content = fixture_content(1), path = hash_text("a");
    setup_logs(&logs);
    log_content(&logs.log[0], 30, 1, "second");
    log_content(&logs.log[1], 20, 1, "first");
    log_source(&logs.log[1], 31, "a", 1, 31);
    log_source(&logs.log[0], 21, "a", 2, 21);
    log_content(&logs.log[0], 22, 2, "other");
    struct store *store = fixture_open(STORE_CREATE);
    commit(store, &logs);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(store_get_container(txn, &content, &arena, &container, &found, &err) && found);
    assert_int_equal(container.bytes, 20);
    assert_true(store_get_source(txn, &path, &arena, &source, &found, &err) && found);
    assert_int_equal(source.bytes, 31);
    assert_true(store_find_name(txn, "first", &arena, &keys, &count, &err));
    assert_int_equal(count, 1);
    assert_true(store_find_name(txn, "second", &arena, &keys, &count, &err));
    assert_int_equal(count, 0);
    store_end_read(txn);
    assert_int_equal(fixture_problems(store, true), 0);
    store_close(store);
    arena_free(&arena);
    free_logs(&logs);
}

/* A log that was cleared and filled again replaces what stands in the store, with its references. */
static void a_log_serves_again(void **state)
{
    (void)state;
    struct logs logs;
    setup_logs(&logs);
    struct store *store = fixture_open(STORE_CREATE);
    for (unsigned round = 0; round < 4; round++) {
        char path[32];
        for (unsigned i = 0; i < 3000; i++) {
            snprintf(path, sizeof path, "path %u", i);
            log_content(&logs.log[i % 2], i, i + round, round % 2 ? "odd" : "even");
            log_source(&logs.log[i / 2 % 2], i, path, i + round, 1);
        }
        assert_true(logs.log[0].mark.rows > 0);
        commit(store, &logs);
        assert_int_equal(fixture_problems(store, true), 0);
        for (int i = 0; i < 2; i++)
            logs.log[i].mark = (struct store_log_mark){0};
    }
    commit(store, &logs); /* nothing at all */
    store_close(store);
    free_logs(&logs);
    store_log_free(NULL);
}

/* A large geometry, and the same hash with other bytes. */
static void geometries(void **state)
{
    (void)state;
    struct logs logs;
    struct error err = {0};
    struct buffer bytes = fixture_geometry(1, 12 << 20), encoded = {0}, read = {0};
    struct hash hash = hash_bytes(bytes.data, bytes.size);
    bool found;
    setup_logs(&logs);
    assert_true(codec_encode(CODEC_RAW, bytes.data, bytes.size, &encoded));
    assert_true(encoded.size > (size_t)2 << 20);
    for (uint32_t i = 0; i < 2; i++) /* twice: it is compared */
        assert_true(store_log_geometry(&logs.log[i], i, &hash, encoded.data, encoded.size, &err));
    struct store *store = fixture_open(STORE_CREATE);
    commit(store, &logs);
    struct store_txn *txn = store_begin_read(store, &err);
    assert_true(store_get_geometry(txn, &hash, &read, &found, &err) && found);
    assert_int_equal(read.size, bytes.size);
    store_end_read(txn);
    encoded.data[encoded.size - 1] ^= 1;
    assert_true(store_log_geometry(&logs.log[0], 3, &hash, encoded.data, encoded.size, &err));
    assert_false(commit_logs(store, &logs, &err));
    assert_int_equal(err.code, ERROR_STORE);
    assert_non_null(strstr(err.msg, "other bytes have the same hash"));
    store_close(store);
    buffer_free(&bytes);
    buffer_free(&encoded);
    buffer_free(&read);
    free_logs(&logs);
}

/* Fills a log until it is full: then it says so, its mark stays, and what it has can be put. */
static void a_full_log_says_so(void **state)
{
    (void)state;
    struct logs logs;
    struct error err = {0};
    struct buffer bytes = fixture_geometry(1, 4 << 20);
    uint32_t taken = 0;
    setup_logs(&logs);
    struct hash hash = hash_bytes(bytes.data, bytes.size);
    while (store_log_geometry(&logs.log[0], taken, &hash, bytes.data, bytes.size, &err))
        taken++;
    assert_int_equal(err.code, ERROR_NOMEM);
    assert_true(taken >= 1 && logs.log[0].mark.entries[0] == taken);
    struct store *store = fixture_open(STORE_CREATE);
    commit(store, &logs);
    store_close(store);
    buffer_free(&bytes);
    free_logs(&logs);
}

/* The writer of a log is another process, which hostile bytes may have led astray: whatever is in its memory,
 * the worst is an error. Every byte of rows and entries is spoiled in turn, and every mark. */
static void a_spoiled_log_is_refused(void **state)
{
    (void)state;
    struct logs logs;
    struct error err = {0};
    size_t part[STORE_LOG_KINDS + 2], used[STORE_LOG_KINDS + 1], refused = 0;
    setup_logs(&logs);
    log_content(&logs.log[0], 1, 1, "name");
    log_source(&logs.log[0], 2, "path", 1, 7);
    struct store *store = fixture_open(STORE_CREATE);
    store_log_parts(LOG_SIZE, part);
    store_log_used(&logs.log[0].mark, used);
    for (int p = 0; p < STORE_LOG_KINDS + 1; p++)
        for (size_t i = 0; i < used[p]; i++) {
            uint8_t *byte = logs.log[0].memory + part[p] + i, was = *byte;
            *byte ^= 0x90;
            refused += !commit_logs(store, &logs, &err);
            error_clear(&err);
            *byte = was;
        }
    assert_true(refused * 2 > used[0]); /* the rest is padding, and what no checksum covers: references */
    for (uint64_t *mark = &logs.log[0].mark.rows; mark <= &logs.log[0].mark.entries[STORE_LOG_KINDS - 1];
         mark++) {
        uint64_t was = *mark;
        *mark = UINT64_MAX / 3;
        assert_false(commit_logs(store, &logs, &err));
        assert_int_equal(err.code, ERROR_STORE);
        error_clear(&err);
        *mark = was;
    }
    store_close(store);
    free_logs(&logs);
}

struct between {
    struct store *store;
    uint64_t first; /* the commit before */
    size_t commits; /* that there are when the last transaction ends */
    size_t live,
        known; /* contents that have a place, and all of them, as a reader beside it sees them then */
};

static bool count_content(const struct hash *container, const struct container_head *head, void *ctx)
{
    (void)container, (void)head;
    (*(size_t *)ctx)++;
    return true;
}

/* In the last transaction: what those before it have made readers see. */
static bool look_between(struct store_txn *txn, void *ctx, struct error *err)
{
    struct between *between = ctx;
    struct store_txn *reader = store_begin_read(between->store, err);
    (void)txn;
    assert_non_null(reader);
    between->commits = store_commit(reader) - between->first;
    between->known = 0;
    assert_true(store_each_content(reader, count_content, &between->known, err));
    between->live = fixture_live(reader);
    store_end_read(reader);
    return true;
}

/* Much is put in several transactions: geometry, then contents, then places, and never these without those.
 */
static void much_is_put_in_parts(void **state)
{
    enum { GEOMETRIES = 28, GEOMETRY = 2 << 20, CONTENTS = 1500 };
    (void)state;
    struct logs logs;
    struct error err = {0};
    uint8_t *bytes = calloc(1, GEOMETRY);
    char path[16];
    setup_logs(&logs);
    assert_non_null(bytes);
    for (unsigned i = 0; i < GEOMETRIES; i++) {
        struct hash key = fixture_content(10000 + i);
        bytes[0] = (uint8_t)i;
        assert_true(store_log_geometry(&logs.log[i & 1], i, &key, bytes, GEOMETRY, &err));
    }
    for (unsigned i = 0; i < CONTENTS; i++) {
        snprintf(path, sizeof path, "%u", i);
        log_content(&logs.log[i & 1], 2 * i, i, path);
        log_source(&logs.log[i & 1], 2 * i + 1, path, i, i);
    }
    struct store *store = fixture_open(STORE_CREATE);
    struct store_txn *txn = store_begin_read(store, &err);
    struct between between = {.store = store, .first = store_commit(txn)};
    store_end_read(txn);
    assert_true(store_commit_logs(store, logs.log, 2, true, look_between, &between, &err));
    assert_true(between.commits >= 1); /* 56 MB of geometry */
    assert_int_equal(between.known % CONTENTS, 0);
    assert_int_equal(between.live, 0); /* places are all in the last one */
    txn = store_begin_read(store, &err);
    assert_int_equal(fixture_live(txn), CONTENTS);
    store_end_read(txn);
    store_close(store);
    free(bytes);
    free_logs(&logs);
}

/* A file's place says that what is in it is stored: no other place may follow in a later transaction. */
static void places_are_put_at_once(void **state)
{
    enum { PLACES = 350, MESSAGE = 100 << 10 };
    (void)state;
    struct logs logs;
    struct error err = {0};
    char *message = malloc(MESSAGE + 1), path[16];
    setup_logs(&logs);
    assert_non_null(message);
    memset(message, 'x', MESSAGE);
    message[MESSAGE] = '\0';
    for (unsigned i = 0; i < PLACES; i++) {
        snprintf(path, sizeof path, "%u", i);
        const struct source_record source = {
            .kind = SOURCE_FAILED, .path = path, .message = message, .bytes = i, .run = 1};
        assert_true(store_log_source(&logs.log[i & 1], i, &source, &err));
    }
    struct store *store = fixture_open(STORE_CREATE);
    struct store_txn *txn = store_begin_read(store, &err);
    struct between between = {.store = store, .first = store_commit(txn)};
    store_end_read(txn);
    assert_true(store_commit_logs(store, logs.log, 2, true, look_between, &between, &err));
    assert_int_equal(between.commits, 0); /* though they are 36 MB */
    store_close(store);
    free(message);
    free_logs(&logs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_sorted),
        cmocka_unit_test_setup_teardown(order_decides, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_log_serves_again, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(geometries, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(much_is_put_in_parts, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(places_are_put_at_once, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_full_log_says_so, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_spoiled_log_is_refused, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
