/* fuzz_tree.c - the pages of a store's file with any bytes of them changed: the walk, the index that repair
 * and prune read, and repair itself.
 *
 * The input is a byte of options, then changes to the file of a small store: page (u8), offset in it (u16,
 * little-endian), how many bytes (u8, up to 16), those bytes. A change past the end cuts the file there.
 * Options: bit 0 chooses the store, bit 1 has it repaired on disk as well, which is slow.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/reader.h"
#include "store/rebuild.h"
#include "store/repair.h"
#include "tests/fuzz/harness.h"
#include "tests/support/store_fixture.h"

#define PAGE 4096u

static struct image {
    uint8_t *bytes;
    size_t size;
} images[2];

/* ---- sound files ----------------------------------------------------------------------------------------
 */

static void read_file(const char *path, struct image *image)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    MUST(fd >= 0 && fstat(fd, &status) == 0, "%s", path);
    image->size = (size_t)status.st_size;
    image->bytes = malloc(image->size);
    MUST(read(fd, image->bytes, image->size) == (ssize_t)image->size, "%s", path);
    close(fd);
}

/* Many small places and a few geometries too large for a page, then some of them again: trees of two levels,
 * sets, overflow pages, free pages. */
static void make_image(struct image *image, unsigned items)
{
    struct error err = {0};
    char paths[64][32], file[128];
    struct item list[64];
    MUST(fixture_setup(NULL) == 0, "no directory");
    struct store *store = store_open(fixture_path, STORE_CREATE, false, &err);
    MUST(store, "%s", err.msg);
    for (unsigned run = 1; run <= 2; run++) {
        for (unsigned i = 0; i < items; i++) {
            snprintf(paths[i], sizeof paths[i], "a.zip!models/%02u.BGF", i);
            list[i] = (struct item){.path = paths[i],
                                    .parent = "a.zip",
                                    .stem = paths[i] + 13,
                                    .content = i * run,
                                    .run = run,
                                    .padding = i % 8 ? 20 : 6000};
        }
        MUST(store_update(store, fixture_put_items, &(struct items){list, items}, &err), "%s", err.msg);
    }
    store_close(store);
    snprintf(file, sizeof file, "%s/data.mdb", fixture_path);
    read_file(file, image);
    fixture_teardown(NULL);
    /* Otherwise nothing below would be reached. */
    struct tree_meta head;
    MUST(image->size >= 8 * PAGE && tree_read_meta(image->bytes + PAGE, PAGE, 1, &head) &&
             head.page_size == PAGE && head.main.entries > 4,
         "%s is no store of several trees", file);
}

static void free_images(void)
{
    for (size_t i = 0; i < 2; i++)
        free(images[i].bytes);
}

/* The input's changes on an exact copy of its image. */
static struct image changed_image(const uint8_t *data, size_t size)
{
    const struct image *from = &images[data[0] & 1];
    size_t end = from->size;
    uint8_t *copy = exact_copy(from->bytes, from->size);
    for (size_t at = 1; at + 4 <= size;) {
        size_t offset = (size_t)data[at] * PAGE + load_u16le(data + at + 1) % PAGE, count = data[at + 3] % 17;
        at += 4;
        count = count < size - at ? count : size - at;
        if (offset + count > end)
            end = offset < end ? offset : end;
        else
            memcpy(copy + offset, data + at, count);
        at += count;
    }
    struct image image = {exact_copy(copy, end), end};
    free(copy);
    return image;
}

/* ---- what must hold of any file ------------------------------------------------------------------------ */

struct met {
    uint64_t damages, entries, sum;
};

/* Keys and values lie in the file: reading them is the check. Keys of stray pages may be longer than LMDB
 * takes; who keeps them looks. */
static void touch_entry(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                        bool subtree, void *ctx)
{
    struct met *met = ctx;
    MUST(database && key->bytes && key->size && key->size < PAGE, "a key of %zu bytes", key->size);
    MUST(!subtree || size == TREE_DB_SIZE, "a tree of %zu bytes", size);
    for (size_t i = 0; i < key->size; i++)
        met->sum += key->bytes[i];
    for (size_t i = 0; i < size; i++)
        met->sum += value[i];
    met->entries++;
}

static bool note_damage(const struct tree_damage *damage, void *ctx)
{
    struct met *met = ctx;
    MUST(damage->database && damage->what && *damage->what, "damage without a word");
    for (size_t i = 0; damage->from.bytes && i < damage->from.size; i++)
        met->sum += damage->from.bytes[i];
    for (size_t i = 0; damage->to.bytes && i < damage->to.size; i++)
        met->sum += damage->to.bytes[i];
    met->damages++;
    return true;
}

/* The list is in order, holds every entry that a lookup finds, and nothing twice. */
static void must_be_sorted(const struct rebuild *rebuild, enum store_db db)
{
    size_t count;
    const struct rebuild_entry *list = rebuild_list(rebuild, db, &count);
    for (size_t i = 0; i < count; i++) {
        struct value value;
        if (!store_db_is_set(db)) {
            MUST(rebuild_find(rebuild, db, list[i].key, list[i].key_size) == &list[i], "entry %zu of %s", i,
                 store_db_name(db));
            (void)rebuild_value(db, &list[i], &value);
        }
    }
}

/* All that repair reads, by the newest head, whatever is wrong. True when nothing is. */
static bool read_all(const struct image *image, struct met *met, struct tree_meta *head)
{
    struct rebuild rebuild = {.lock_fd = -1, .file = {.bytes = image->bytes, .size = image->size}};
    struct tree_meta heads[2];
    uint64_t counted[DB_COUNT];
    bool whole = false;
    if (image->size >= 1024 && rebuild_heads(&rebuild, heads)) {
        struct tree_walk walk = {.damage = note_damage, .ctx = met, .file = &rebuild.file};
        rebuild.file.meta = *head = heads[0];
        if (tree_walk_begin(&walk, &rebuild.file)) {
            MUST(rebuild_read(&rebuild, &walk, counted), "out of memory");
            whole = tree_walk_free(&walk) && !met->damages;
            walk.entry = touch_entry;
            for (uint64_t page = 2; page < heads[0].pages; page++)
                if (!tree_is_used(&walk, page))
                    tree_scan_leaf(&walk, page);
            rebuild_sort(&rebuild);
            for (int db = 0; db < DB_COUNT; db++)
                must_be_sorted(&rebuild, (enum store_db)db);
        }
        tree_walk_end(&walk);
    }
    rebuild.file.bytes = NULL; /* not mapped */
    rebuild_close(&rebuild);
    return whole;
}

static void walk_twice(const struct image *image)
{
    struct met first = {0}, second = {0};
    struct tree_meta head = {0};
    struct error err = {0};
    bool whole = read_all(image, &first, &head);
    MUST(read_all(image, &second, &head) == whole && memcmp(&first, &second, sizeof first) == 0,
         "another result the second time");
    if (!head.page_size)
        return;
    struct tree_file file = {image->bytes, image->size, head};
    if (tree_verify(&file, &err)) {
        MUST(whole, "verified, and %llu damages are met", (unsigned long long)first.damages);
    } else {
        MUST(err.code == ERROR_STORE || err.code == ERROR_NOMEM, "code %d: %s", err.code, err.msg);
        MUST(err.msg[0], "refused without a word");
    }
}

/* ---- repair -------------------------------------------------------------------------------------------- */

static void count_place(const char *place, void *ctx)
{
    MUST(place && *place, "a place without a name");
    ++*(unsigned *)ctx;
}

static void count_problem(const struct store_problem *problem, void *ctx)
{
    (void)ctx;
    fprintf(stderr, "%s %s: %s\n", problem->database, problem->key, problem->what);
}

static void put_file(const struct image *image)
{
    char path[128];
    MUST(fixture_setup(NULL) == 0 && mkdir(fixture_path, 0700) == 0, "no directory");
    snprintf(path, sizeof path, "%s/data.mdb", fixture_path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    MUST(fd >= 0 && write(fd, image->bytes, image->size) == (ssize_t)image->size, "%s", path);
    close(fd);
}

/* What repair leaves is a sound store, or the file as it was. */
static void repair_on_disk(const struct image *image)
{
    static struct repair_result result;
    struct error err = {0};
    uint64_t problems = 0;
    unsigned lost = 0;
    put_file(image);
    bool repaired = store_repair(fixture_path, count_place, &lost, &result, &err);
    if (repaired) {
        struct store *store = store_open(fixture_path, STORE_READ, false, &err);
        MUST(store, "repaired, and does not open: %s", err.msg);
        MUST(store_check(store, count_problem, NULL, &problems, &err), "%s", err.msg);
        MUST(!problems, "repaired, and %llu problems are left", (unsigned long long)problems);
        MUST(!result.was_sound || !lost, "%u places are lost of a sound store", lost);
        store_close(store);
    } else {
        char path[128];
        struct image after;
        MUST(err.code != ERROR_NONE && err.msg[0], "refused without a word");
        snprintf(path, sizeof path, "%s/data.mdb", fixture_path);
        read_file(path, &after);
        MUST(after.size == image->size && memcmp(after.bytes, image->bytes, after.size) == 0,
             "refused, and changed: %s", err.msg);
        free(after.bytes);
    }
    fixture_teardown(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!images[0].bytes) {
        make_image(&images[0], 4);
        make_image(&images[1], 64);
        atexit(free_images);
    }
    if (!size)
        return 0;
    struct image image = changed_image(data, size);
    walk_twice(&image);
    if (data[0] & 2)
        repair_on_disk(&image);
    free(image.bytes);
    return 0;
}

/* ---- seeds --------------------------------------------------------------------------------------------- */

/* Where pages keep what leads on: their number, kind, bounds and first pointers; in heads the trees. */
void fuzz_seeds(void)
{
    static const uint16_t places[] = {0, 8, 10, 12, 14, 16, 18, 24, 40, 64, 88, 112, 136, 4000, 4064};
    char name[32];
    for (uint8_t options = 0; options < 4; options++) {
        snprintf(name, sizeof name, "sound-%u", options);
        put_seed(name, &options, 1);
        for (uint8_t page = 0; page < 24; page++) {
            /* Of the repaired ones some: they take the disk. */
            if (options & 2 && page % 6 != 1)
                continue;
            uint16_t at = places[(page * 5u + options) % (sizeof places / sizeof *places)];
            uint8_t seed[] = {options, page, (uint8_t)at, (uint8_t)(at >> 8), 2, (uint8_t)(page * 37), 0};
            snprintf(name, sizeof name, "page-%u-%02u", options, page);
            put_seed(name, seed, sizeof seed);
        }
        const uint8_t cut[] = {options, 7, 0x10, 2, 4}; /* the file ends in page 7 */
        snprintf(name, sizeof name, "cut-%u", options);
        put_seed(name, cut, sizeof cut);
    }
}
