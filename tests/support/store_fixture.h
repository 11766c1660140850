/* store_fixture.h - a store in a directory of its own for each test, and small items to fill it with.
 */
#ifndef ANCHORAGE_STORE_FIXTURE_H
#define ANCHORAGE_STORE_FIXTURE_H

#include "store/store_internal.h"

extern char fixture_directory[64]; /* made by setup, removed with all in it by teardown */
extern char fixture_path[96];      /* of the store, which setup does not make */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Opens the store at fixture_path; the test fails when that does. */
struct store *fixture_open(enum store_mode mode);

/* A path with a content of one resource. */
struct item {
    const char *path, *parent, *stem, *name; /* parent, stem, name: NULL for none */
    unsigned content;                        /* equal numbers are equal contents */
    uint64_t run;
    size_t padding; /* four times the bytes of geometry behind the first four; they do not compress */
};
struct items {
    const struct item *items;
    size_t count;
};
/* For store_update; ctx is a struct items. */
bool fixture_put_items(struct store_txn *txn, void *ctx, struct error *err);
/* Puts the items in one transaction; the test fails when that does. */
void fixture_put(struct store *store, const struct item *list, size_t count);

/* Four places of three contents, some inside an archive. */
#define FIXTURE_SAMPLES 4
extern const struct item fixture_sample[FIXTURE_SAMPLES];

struct hash fixture_content(unsigned content);
/* Bytes that stand for an item's geometry: a store keeps what it is given. */
struct buffer fixture_geometry(unsigned content, size_t padding);
struct hash fixture_geometry_hash(const struct item *item);

/* What store_check counts; with `print` each problem is printed. */
uint64_t fixture_problems(struct store *store, bool print);
struct hash fixture_digest(struct store *store);
/* The digest of the store at a path, which must be sound. */
struct hash fixture_digest_at(const char *path);
/* How many resources a walk meets. */
size_t fixture_live(struct store_txn *txn);

#endif
