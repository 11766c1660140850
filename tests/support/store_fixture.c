/* store_fixture.c - see store_fixture.h */
#include "tests/support/store_fixture.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a directory for each test ---- */

char fixture_directory[64], fixture_path[96];

int fixture_setup(void **state)
{
    (void)state;
    strcpy(fixture_directory, "/tmp/test-store-XXXXXX");
    if (!mkdtemp(fixture_directory))
        return -1;
    snprintf(fixture_path, sizeof fixture_path, "%s/store", fixture_directory);
    return 0;
}

static int remove_entry(const char *name, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(name);
}

int fixture_teardown(void **state)
{
    (void)state;
    return nftw(fixture_directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

struct store *fixture_open(enum store_mode mode)
{
    struct error err = {0};
    struct store *store = store_open(fixture_path, mode, false, &err);
    if (!store)
        fail_msg("%s", err.msg);
    return store;
}

/* ---- items: a path with a content of one resource ---- */

struct hash fixture_content(unsigned content)
{
    return hash_bytes(&content, sizeof content);
}

/* Bytes that stand for a geometry: a store keeps what it is given. */
struct buffer fixture_geometry(unsigned content, size_t padding)
{
    struct buffer bytes = {0};
    buffer_append(&bytes, &content, sizeof content);
    uint32_t word = content + 1;
    for (size_t i = 0; i < padding; i += 4) {
        word = word * 1664525u + 1013904223u;
        uint8_t top = (uint8_t)(word >> 24);
        buffer_append(&bytes, &top, 1);
    }
    return bytes;
}

struct hash fixture_geometry_hash(const struct item *item)
{
    struct buffer bytes = fixture_geometry(item->content, item->padding);
    struct hash hash = hash_bytes(bytes.data, bytes.size);
    buffer_free(&bytes);
    return hash;
}

static bool put_content(struct store_txn *txn, const struct item *item, enum codec codec, struct error *err)
{
    struct buffer bytes = fixture_geometry(item->content, item->padding), encoded = {0};
    struct hash container = fixture_content(item->content), geometry = hash_bytes(bytes.data, bytes.size);
    struct resource_record resource = {.geometry = geometry, .geometry_bytes = bytes.size};
    resource.resource.name = item->name;
    resource.resource.format = item->name ? FORMAT_XBG7 : FORMAT_BGF;
    resource.resource.status = RESOURCE_DECODED;
    struct container_record record = {.bytes = 10, .decoder_version = 2};
    record.container.format = item->name ? FORMAT_XPR2 : FORMAT_BGF;
    record.container.resource_count = record.by_status[RESOURCE_DECODED] = 1;
    bool done = codec_encode(codec, bytes.data, bytes.size, &encoded) &&
                store_put_geometry(txn, &geometry, encoded.data, encoded.size, err) &&
                store_put_container(txn, &container, &record, &resource, 1, err);
    buffer_free(&bytes);
    buffer_free(&encoded);
    return done;
}

static bool put_item(struct store_txn *txn, const struct item *item, struct error *err)
{
    struct source_record source = {.kind = SOURCE_CONTAINER,
                                   .path = item->path,
                                   .stem = item->stem,
                                   .container = fixture_content(item->content),
                                   .format = FORMAT_BGF,
                                   .bytes = 10,
                                   .run = item->run};
    if (item->parent)
        source.parent = hash_text(item->parent);
    return put_content(txn, item, CODEC_DEFAULT, err) && store_put_source(txn, &source, err);
}

bool fixture_put_items(struct store_txn *txn, void *ctx, struct error *err)
{
    const struct items *items = ctx;
    for (size_t i = 0; i < items->count; i++)
        if (!put_item(txn, &items->items[i], err))
            return false;
    return true;
}

void fixture_put(struct store *store, const struct item *list, size_t count)
{
    struct error err = {0};
    if (!store_update(store, fixture_put_items, &(struct items){list, count}, &err))
        fail_msg("%s", err.msg);
}

const struct item fixture_sample[FIXTURE_SAMPLES] = {
    {"a.zip!CAL.BGF", "a.zip", "CAL", NULL, 1, 1, 100},
    {"b/CAL.BGF", NULL, "CAL", NULL, 1, 1, 100}, /* the same content at another place */
    {"a.zip!in.7z!x.xpr", "a.zip!in.7z", NULL, "e003", 2, 1, 3000},
    {"a.zip!STAGE.BGF", "a.zip", "STAGE", NULL, 3, 1, 0},
};

static void print_problem(const struct store_problem *problem, void *ctx)
{
    if (ctx)
        print_message("%s %s: %s\n", problem->database, problem->key, problem->what);
}

uint64_t fixture_problems(struct store *store, bool print)
{
    struct error err = {0};
    uint64_t problems = 0;
    if (!store_check(store, print_problem, print ? store : NULL, &problems, &err))
        fail_msg("%s", err.msg);
    return problems;
}

struct hash fixture_digest(struct store *store)
{
    struct error err = {0};
    struct hash digest;
    if (!store_digest(store, &digest, &err))
        fail_msg("%s", err.msg);
    return digest;
}

struct hash fixture_digest_at(const char *path)
{
    struct error err = {0};
    struct store *store = store_open(path, STORE_READ, false, &err);
    assert_non_null(store);
    assert_int_equal(fixture_problems(store, true), 0);
    struct hash digest = fixture_digest(store);
    store_close(store);
    return digest;
}

static bool count_resource(const struct resource_key *key, const struct resource_record *record, void *ctx)
{
    (void)key, (void)record;
    ++*(size_t *)ctx;
    return true;
}

size_t fixture_live(struct store_txn *txn)
{
    struct error err = {0};
    size_t count = 0;
    assert_true(store_each_resource(txn, count_resource, &count, &err));
    return count;
}
