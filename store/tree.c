/* tree.c - see tree.h */
#include "store/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_internal.h"

/* ---- layout ---- */

#define PAGE_HEAD 16 /* u64 number, u16 pad, u16 flags, u16 lower, u16 upper; of overflow pages u32 count */
#define NODE_HEAD 8  /* u16 low, u16 high, u16 flags, u16 key size */
#define META_SIZE (PAGE_HEAD + 24 + 2 * TREE_DB_SIZE + 16)

enum {
    PAGE_BRANCH = 0x01,
    PAGE_LEAF = 0x02,
    PAGE_OVERFLOW = 0x04,
    PAGE_META = 0x08,
    PAGE_DIRTY = 0x10, /* left behind in sets that lie within a node */
    PAGE_FIXED = 0x20,
    PAGE_SUB = 0x40
};
enum { NODE_LARGE = 0x01, NODE_SUBTREE = 0x02, NODE_SET = 0x04 };

#define META_MAGIC   0xBEEFC0DEu
#define META_VERSION 1u
/* LMDB's own limit of depth (CURSOR_STACK). */
#define DEPTH_MOST 32

static uint16_t get16(const uint8_t *p)
{
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t get64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

struct tree_db tree_read_db(const uint8_t *p)
{
    return (struct tree_db){
        .value_size = get32(p),
        .flags = get16(p + 4),
        .depth = get16(p + 6),
        .branch_pages = get64(p + 8),
        .leaf_pages = get64(p + 16),
        .overflow_pages = get64(p + 24),
        .entries = get64(p + 32),
        .root = get64(p + 40),
    };
}

bool tree_read_meta(const uint8_t *page, size_t size, unsigned number, struct tree_meta *meta)
{
    const uint8_t *p = page + PAGE_HEAD;
    if (size < META_SIZE || get64(page) != number || get16(page + 10) != PAGE_META ||
        get32(p) != META_MAGIC || get32(p + 4) != META_VERSION)
        return false;
    meta->free = tree_read_db(p + 24);
    meta->main = tree_read_db(p + 24 + TREE_DB_SIZE);
    meta->page_size = meta->free.value_size; /* LMDB keeps it there */
    meta->pages = get64(p + 24 + 2 * TREE_DB_SIZE) + 1;
    meta->commit = get64(p + 32 + 2 * TREE_DB_SIZE);
    return meta->page_size >= 512 && meta->page_size <= 65536 && !(meta->page_size & (meta->page_size - 1));
}

bool tree_has_magic(const uint8_t *page, size_t size)
{
    return size >= META_SIZE && get32(page + PAGE_HEAD) == META_MAGIC;
}

/* ---- which pages are taken ---- */

bool tree_walk_begin(struct tree_walk *walk, const struct tree_file *file)
{
    /* Pages that one commit took and gave back at the end of a file are never written: store.c allows for a
     * few. */
    uint64_t most = file->size / file->meta.page_size + STORE_UNWRITTEN_PAGES;
    walk->file = file;
    if (file->meta.pages < 2 || file->meta.pages > most)
        return false;
    walk->used = calloc(file->meta.pages / 64 + 1, sizeof *walk->used);
    if (walk->used)
        walk->used[0] = 3;
    return walk->used;
}

void tree_walk_end(struct tree_walk *walk)
{
    free(walk->used);
    walk->used = NULL;
}

bool tree_is_used(const struct tree_walk *walk, uint64_t page)
{
    return page >= walk->file->meta.pages || walk->used[page / 64] >> (page % 64) & 1;
}

/* False when any of them is taken already, or outside the file. */
static bool take_pages(struct tree_walk *walk, uint64_t page, uint64_t count)
{
    if (page >= walk->file->meta.pages || count > walk->file->meta.pages - page)
        return false;
    for (uint64_t i = page; i < page + count; i++) {
        if (walk->used[i / 64] >> (i % 64) & 1)
            return false;
        walk->used[i / 64] |= UINT64_C(1) << (i % 64);
    }
    return true;
}

/* ---- damage ---- */

static bool broken(struct tree_walk *walk, uint64_t page, const char *what, struct tree_key from,
                   struct tree_key to)
{
    const struct tree_damage damage = {walk->database, page, what, from, to};
    if (!walk->stopped && (!walk->damage || !walk->damage(&damage, walk->ctx)))
        walk->stopped = true;
    return false;
}

/* ---- pages ---- */

static int compare_keys(const struct tree_db *db, struct tree_key a, struct tree_key b)
{
    if (db->flags & MDB_INTEGERKEY && a.size == 8 && b.size == 8) {
        uint64_t x = get64(a.bytes), y = get64(b.bytes);
        return (x > y) - (x < y);
    }
    size_t least = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.bytes, b.bytes, least);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

struct page {
    const uint8_t *bytes;
    uint64_t number;
    unsigned count; /* of nodes, or of fixed values */
};

static const uint8_t *page_at(const struct tree_walk *walk, uint64_t number)
{
    const struct tree_file *file = walk->file;
    return number < file->size / file->meta.page_size ? file->bytes + number * file->meta.page_size : NULL;
}

/* The head of a page of a tree: its own number, the kind it has to be, and room that adds up. */
static const char *read_page(const struct tree_walk *walk, uint64_t number, unsigned kind, struct page *page)
{
    const uint8_t *bytes = page_at(walk, number);
    if (!bytes)
        return "lies behind the end of the file";
    unsigned lower = get16(bytes + 12), upper = get16(bytes + 14);
    if (get64(bytes) != number)
        return "has another number";
    if (get16(bytes + 10) != kind)
        return "is of another kind";
    if (lower < PAGE_HEAD || lower > upper || upper > walk->file->meta.page_size || lower % 2)
        return "has impossible room";
    *page = (struct page){bytes, number, (lower - PAGE_HEAD) / 2};
    return NULL;
}

struct node {
    const uint8_t *bytes;
    struct tree_key key;
    unsigned flags;
    const uint8_t *data;
    size_t size;    /* of the value, wherever it is */
    uint64_t child; /* of branches */
    size_t room;    /* that it takes in its page */
};

/* One node, within its page. */
static bool read_node(const struct tree_walk *walk, const struct page *page, unsigned i, bool branch,
                      struct node *node)
{
    uint32_t page_size = walk->file->meta.page_size;
    unsigned at = get16(page->bytes + PAGE_HEAD + 2 * i), upper = get16(page->bytes + 14);
    if (at < upper || at % 2 || at > page_size - NODE_HEAD)
        return false;
    const uint8_t *n = page->bytes + at;
    size_t room = page_size - at - NODE_HEAD, key_size = get16(n + 6);
    if (key_size > room)
        return false;
    *node = (struct node){.bytes = n, .key = {n + NODE_HEAD, key_size}, .flags = get16(n + 4)};
    if (branch) {
        node->room = (NODE_HEAD + key_size + 1) & ~(size_t)1;
        node->child = get16(n) | (uint64_t)get16(n + 2) << 16 | (uint64_t)node->flags << 32;
        return true;
    }
    node->data = n + NODE_HEAD + key_size;
    node->size = get16(n) | (size_t)get16(n + 2) << 16;
    size_t here = node->flags & NODE_LARGE ? 8 : node->size;
    node->room = (NODE_HEAD + key_size + here + 1) & ~(size_t)1;
    return here <= room - key_size;
}

/* Nodes fill their page from its upper bound to its end: LMDB puts the next one below. */
static bool is_packed(const struct tree_walk *walk, const struct page *page, size_t room)
{
    return get16(page->bytes + 14) + room == walk->file->meta.page_size;
}

/* Whether from <= key < to and, after the first, key is greater than the one before. */
static bool in_place(const struct tree_db *db, struct tree_key key, struct tree_key before,
                     struct tree_key from, struct tree_key to)
{
    return (!before.bytes || compare_keys(db, before, key) < 0) &&
           (!from.bytes || compare_keys(db, from, key) <= 0) && (!to.bytes || compare_keys(db, key, to) < 0);
}

static bool walk_page(struct tree_walk *walk, const struct tree_db *db, uint64_t number, unsigned level,
                      struct tree_key from, struct tree_key to, const struct tree_key *set);

static void tell(struct tree_walk *walk, const struct tree_key *key, const uint8_t *value, size_t size,
                 bool subtree)
{
    walk->entries++;
    if (walk->entry)
        walk->entry(walk->database, key, value, size, subtree, walk->ctx);
}

/* Values of a fixed size, ascending: of a page, or of a set that lies within its node. */
static bool walk_fixed(struct tree_walk *walk, const struct tree_db *db, uint64_t page, const uint8_t *values,
                       unsigned count, struct tree_key from, struct tree_key to, const struct tree_key *set)
{
    struct tree_key before = {0};
    for (unsigned i = 0; i < count; i++) {
        struct tree_key value = {values + (size_t)i * db->value_size, db->value_size};
        if (!in_place(db, value, before, from, to))
            return broken(walk, page, "has values out of order", *set, (struct tree_key){0});
        tell(walk, set, value.bytes, value.size, false);
        before = value;
    }
    return true;
}

/* The values of one key of a set: a small page inside the node, or a tree of its own. */
static bool walk_set(struct tree_walk *walk, uint64_t page, const struct node *node)
{
    const struct tree_key none = {0};
    if (node->flags & NODE_SUBTREE) {
        if (node->size != TREE_DB_SIZE)
            return broken(walk, page, "has a set of another size", node->key, none);
        struct tree_db sub = tree_read_db(node->data);
        struct tree_walk counts = *walk;
        walk->branch_pages = walk->leaf_pages = walk->overflow_pages = walk->entries = 0;
        bool ok = sub.depth >= 1 && sub.depth <= DEPTH_MOST && sub.value_size >= 1 && sub.root != TREE_EMPTY;
        if (!ok)
            broken(walk, page, "has a set that cannot be", node->key, none);
        walk->depth = sub.depth;
        ok = ok && walk_page(walk, &sub, sub.root, 1, none, none, &node->key);
        if (ok && (walk->branch_pages != sub.branch_pages || walk->leaf_pages != sub.leaf_pages ||
                   sub.overflow_pages || walk->entries != sub.entries))
            ok = broken(walk, page, "has a set whose counts do not fit", node->key, none);
        walk->branch_pages = counts.branch_pages;
        walk->leaf_pages = counts.leaf_pages;
        walk->overflow_pages = counts.overflow_pages;
        walk->entries += counts.entries;
        walk->depth = counts.depth;
        return ok;
    }
    if (node->size < PAGE_HEAD)
        return broken(walk, page, "has a set of another size", node->key, none);
    struct tree_db sub = {.value_size = get16(node->data + 8)};
    unsigned lower = get16(node->data + 12), upper = get16(node->data + 14), count = (lower - PAGE_HEAD) / 2;
    if ((get16(node->data + 10) & ~PAGE_DIRTY) != (PAGE_LEAF | PAGE_FIXED | PAGE_SUB) ||
        lower < PAGE_HEAD + 2 || lower % 2 || lower > upper || upper > node->size || !sub.value_size ||
        count > (node->size - PAGE_HEAD) / sub.value_size)
        return broken(walk, page, "has a set that cannot be", node->key, none);
    return walk_fixed(walk, &sub, page, node->data + PAGE_HEAD, count, none, none, &node->key);
}

/* A value of its own pages, which may be more than it needs: a commit that puts a key twice keeps them. NULL
 * with what is wrong. */
static const uint8_t *large_value(struct tree_walk *walk, const struct node *node, const char **what)
{
    uint64_t number = get64(node->data);
    uint64_t needed = (PAGE_HEAD - 1 + (uint64_t)node->size) / walk->file->meta.page_size + 1;
    const uint8_t *bytes = page_at(walk, number);
    uint32_t count = bytes ? get32(bytes + 12) : 0;
    *what = "has a value whose first page is another's";
    if (!bytes || get64(bytes) != number || get16(bytes + 10) != PAGE_OVERFLOW || count < needed)
        return NULL;
    *what = "has a value whose pages are not its own";
    if (!take_pages(walk, number, count) || !page_at(walk, number + needed - 1))
        return NULL;
    walk->overflow_pages += count;
    return bytes + PAGE_HEAD;
}

static bool walk_node(struct tree_walk *walk, const struct tree_db *db, uint64_t page,
                      const struct node *node)
{
    const struct tree_key none = {0};
    bool of_set = db->flags & MDB_DUPSORT;
    bool legal = !node->flags || (of_set ? node->flags == NODE_SET || node->flags == (NODE_SET | NODE_SUBTREE)
                                         : node->flags == NODE_LARGE ||
                                               (node->flags == NODE_SUBTREE && node->size == TREE_DB_SIZE));
    if (!legal)
        return broken(walk, page, "has an entry that cannot be", node->key, none);
    if (node->flags & NODE_SET)
        return walk_set(walk, page, node);
    const uint8_t *value = node->data;
    const char *what;
    if (node->flags & NODE_LARGE && !(value = large_value(walk, node, &what)))
        return broken(walk, page, what, node->key, none);
    tell(walk, &node->key, value, node->size, node->flags & NODE_SUBTREE);
    return true;
}

static bool walk_leaf(struct tree_walk *walk, const struct tree_db *db, const struct page *page,
                      struct tree_key from, struct tree_key to)
{
    struct tree_key before = {0};
    bool sound = true;
    size_t room = 0;
    for (unsigned i = 0; i < page->count && !walk->stopped; i++) {
        struct node node;
        /* What was lost lies behind the last key that is sound. */
        if (!read_node(walk, page, i, false, &node) || !in_place(db, node.key, before, from, to)) {
            sound = broken(walk, page->number, "has an entry out of place", before.bytes ? before : from, to);
            continue;
        }
        sound = walk_node(walk, db, page->number, &node) && sound;
        before = node.key;
        room += node.room;
    }
    /* Nothing is missing, but what LMDB puts next would lie wrong: a range without keys. */
    const struct tree_key nothing = {page->bytes, 0};
    if (sound && !is_packed(walk, page, room))
        sound = broken(walk, page->number, "has unused room inside", nothing, nothing);
    return sound;
}

static bool walk_branch(struct tree_walk *walk, const struct tree_db *db, const struct page *page,
                        unsigned level, struct tree_key from, struct tree_key to, const struct tree_key *set)
{
    struct tree_key low = from;
    bool sound = true;
    size_t room = 0;
    for (unsigned i = 0; i < page->count && !walk->stopped; i++) {
        struct node node, next;
        struct tree_key high = to;
        if (!read_node(walk, page, i, true, &node))
            return broken(walk, page->number, "has a child out of place", set ? *set : low, to);
        if (i + 1 < page->count) {
            if (!read_node(walk, page, i + 1, true, &next) ||
                !in_place(db, next.key, i ? low : (struct tree_key){0}, from, to))
                return broken(walk, page->number, "has separators out of order", set ? *set : low, to);
            high = next.key;
        }
        sound = walk_page(walk, db, node.child, level + 1, low, high, set) && sound;
        low = high;
        room += node.room;
    }
    /* Nothing is missing, but what LMDB puts next would lie wrong: a range without keys. */
    const struct tree_key nothing = {page->bytes, 0};
    if (sound && !is_packed(walk, page, room))
        sound = broken(walk, page->number, "has unused room inside", nothing, nothing);
    return sound;
}

/* A page and all below it, whose keys (the values, of a set) are in from <= k < to. */
static bool walk_page(struct tree_walk *walk, const struct tree_db *db, uint64_t number, unsigned level,
                      struct tree_key from, struct tree_key to, const struct tree_key *set)
{
    bool leaf = level == walk->depth;
    unsigned kind = !leaf ? PAGE_BRANCH : set ? PAGE_LEAF | PAGE_FIXED : PAGE_LEAF;
    struct page page;
    const struct tree_key none = {0};
    if (!take_pages(walk, number, 1))
        return broken(walk, number, "is in two places, or in none", set ? *set : from, set ? none : to);
    const char *what = read_page(walk, number, kind, &page);
    if (!what && !page.count)
        what = "is empty";
    if (!what && set && leaf &&
        (get16(page.bytes + 8) != db->value_size ||
         get16(page.bytes + 14) + (size_t)page.count * db->value_size !=
             walk->file->meta.page_size + 2 * (size_t)page.count ||
         page.count > (walk->file->meta.page_size - PAGE_HEAD) / db->value_size))
        what = "has values of another size";
    if (what)
        return broken(walk, number, what, set ? *set : from, set ? none : to);
    *(leaf ? &walk->leaf_pages : &walk->branch_pages) += 1;
    if (!leaf)
        return walk_branch(walk, db, &page, level, from, to, set);
    return set ? walk_fixed(walk, db, number, page.bytes + PAGE_HEAD, page.count, from, to, set)
               : walk_leaf(walk, db, &page, from, to);
}

/* ---- trees ---- */

bool tree_walk_db(struct tree_walk *walk, const struct tree_db *db, const char *name)
{
    const struct tree_key none = {0};
    walk->database = name;
    walk->branch_pages = walk->leaf_pages = walk->overflow_pages = walk->entries = 0;
    walk->depth = db->depth;
    if (db->root == TREE_EMPTY)
        return !(db->depth || db->branch_pages || db->leaf_pages || db->overflow_pages || db->entries) ||
               broken(walk, 0, "is empty and counts something", none, none);
    if (!db->depth || db->depth > DEPTH_MOST)
        return broken(walk, db->root, "has an impossible depth", none, none);
    bool sound = walk_page(walk, db, db->root, 1, none, none, NULL);
    if (sound && (walk->branch_pages != db->branch_pages || walk->leaf_pages != db->leaf_pages ||
                  walk->overflow_pages != db->overflow_pages || walk->entries != db->entries))
        sound = broken(walk, db->root, "has other counts than are written down", none, none);
    return sound && !walk->stopped;
}

struct free_list {
    struct tree_walk *walk;
    bool sound;
    uint64_t newest; /* commit that a list is of */
};

/* A commit's list: a count, then numbers of pages, descending. Lists may be longer than their count. */
static void take_free(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                      bool subtree, void *ctx)
{
    struct free_list *list = ctx;
    uint64_t count = size >= 8 ? get64(value) : UINT64_MAX;
    (void)database, (void)subtree;
    list->sound = list->sound && key->size == 8 && size % 8 == 0 && count <= size / 8 - 1;
    if (list->sound)
        list->newest = get64(key->bytes);
    for (uint64_t i = 1; list->sound && i <= count; i++)
        list->sound = take_pages(list->walk, get64(value + 8 * i), 1);
}

bool tree_walk_free(struct tree_walk *walk)
{
    struct tree_walk own = *walk;
    struct free_list list = {walk, true, 0};
    own.entry = take_free;
    own.ctx = &list;
    own.damage = NULL; /* told below, once */
    /* LMDB keeps the page size where other trees have the size of their values. */
    struct tree_db db = walk->file->meta.free;
    db.value_size = 0;
    /* Every commit but the first replaces pages, and lists those: a head that says to be of a later commit
     * than its list is an old one. */
    uint64_t commit = walk->file->meta.commit;
    if (tree_walk_db(&own, &db, "free") && list.sound && (commit < 2 || list.newest == commit))
        return true;
    walk->database = "free";
    return broken(walk, db.root, "is no list of free pages", (struct tree_key){0}, (struct tree_key){0});
}

/* ---- the whole file ---- */

#define SUBTREES_MOST 64
struct verify {
    struct error *err;
    struct tree_db trees[SUBTREES_MOST];
    char names[SUBTREES_MOST][32];
    size_t count;
    bool foreign, wrong;
    uint64_t sum;                              /* of the keys of the tree that is walked */
    bool told;                                 /* what the sums have to be */
    uint64_t sums[DB_COUNT], wanted[DB_COUNT]; /* of this program's trees */
};

/* Flags decide how LMDB compares keys: with one of them wrong it misses rows without a word. */
static bool has_own_flags(const struct tree_key *key, const struct tree_db *db)
{
    enum store_db own = store_db_of((const char *)key->bytes, key->size);
    return own == DB_COUNT || db->flags == (store_db_is_set(own) ? MDB_DUPSORT | MDB_DUPFIXED : 0);
}

/* Trees of other kinds than this program makes are another program's: they are left to LMDB. */
static void note_tree(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                      bool subtree, void *ctx)
{
    struct verify *verify = ctx;
    (void)database, (void)size;
    struct tree_db db = subtree ? tree_read_db(value) : (struct tree_db){0};
    if (!subtree)
        return;
    verify->wrong |= !has_own_flags(key, &db);
    if (verify->count == SUBTREES_MOST || key->size >= sizeof *verify->names ||
        db.flags & ~(unsigned)(MDB_DUPSORT | MDB_DUPFIXED)) {
        verify->foreign = true;
        return;
    }
    memcpy(verify->names[verify->count], key->bytes, key->size);
    verify->trees[verify->count++] = db;
}

static void sum_value(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                      bool subtree, void *ctx)
{
    struct verify *verify = ctx;
    (void)database, (void)value, (void)size, (void)subtree;
    verify->sum += key_sum(key->bytes, key->size, NULL, 0);
}

static void sum_reference(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                          bool subtree, void *ctx)
{
    struct verify *verify = ctx;
    (void)database, (void)subtree;
    verify->sum += key_sum(key->bytes, key->size, value, size);
}

/* What the sums have to be. The row may be damaged itself: opening it says so. */
static void read_wanted(const char *database, const struct tree_key *key, const uint8_t *value, size_t size,
                        bool subtree, void *ctx)
{
    struct verify *verify = ctx;
    (void)database, (void)subtree;
    if (key->size == strlen(KEY_SUMS) && memcmp(key->bytes, KEY_SUMS, key->size) == 0 &&
        size >= CHECKSUM_SIZE && value_is_sealed(value, size, key->bytes, key->size))
        verify->told =
            keys_read(&(struct value){value + CHECKSUM_SIZE, size - CHECKSUM_SIZE}, verify->wanted);
}

/* Walks a tree, and sums the keys of one of this program's. */
static bool verify_tree(struct tree_walk *walk, struct verify *verify, size_t i)
{
    const enum store_db db = store_db_of(verify->names[i], strlen(verify->names[i]));
    verify->sum = 0;
    walk->entry = db == DB_COUNT        ? NULL
                  : db == DB_META       ? read_wanted
                  : store_db_is_set(db) ? sum_reference
                                        : sum_value;
    bool ok = tree_walk_db(walk, &verify->trees[i], verify->names[i]);
    walk->entry = NULL;
    if (db < DB_COUNT)
        verify->sums[db] = verify->sum;
    return ok;
}

/* A store's keys are those that were written. */
static bool has_its_keys(const struct verify *verify, struct error *err)
{
    for (int db = 0; verify->told && db < DB_COUNT; db++)
        if (verify->sums[db] != verify->wanted[db])
            return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                             "%s: its keys are not those that were written",
                             store_db_name((enum store_db)db));
    return true;
}

static bool note_damage(const struct tree_damage *damage, void *ctx)
{
    struct verify *verify = ctx;
    return error_set(verify->err, ERROR_STORE, ERROR_NO_OFFSET, "page %llu of %.40s %s",
                     (unsigned long long)damage->page, damage->database, damage->what);
}

static bool nothing_left(const struct tree_walk *walk, struct error *err)
{
    uint64_t pages = walk->file->meta.pages, page = 0;
    while (page < pages && tree_is_used(walk, page))
        page++;
    return page == pages || error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                                      "page %llu is in no tree and not free", (unsigned long long)page);
}

bool tree_verify(const struct tree_file *file, struct error *err)
{
    struct verify *verify = calloc(1, sizeof *verify);
    struct tree_walk walk = {.damage = note_damage, .ctx = verify};
    bool ok = verify && tree_walk_begin(&walk, file);
    if (!ok)
        error_set(err, verify ? ERROR_STORE : ERROR_NOMEM, ERROR_NO_OFFSET, "its head counts %llu pages",
                  (unsigned long long)file->meta.pages);
    else
        verify->err = err;
    walk.entry = note_tree;
    ok = ok && tree_walk_db(&walk, &file->meta.main, "main");
    walk.entry = NULL;
    if (ok && verify->wrong)
        ok = error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "main: a tree's flags are not its own");
    for (size_t i = 0; ok && i < verify->count; i++)
        ok = verify_tree(&walk, verify, i);
    ok = ok && has_its_keys(verify, err) && tree_walk_free(&walk) &&
         (verify->foreign || nothing_left(&walk, err));
    tree_walk_end(&walk);
    free(verify);
    return ok;
}

void tree_scan_leaf(struct tree_walk *walk, uint64_t number)
{
    struct page page;
    if (read_page(walk, number, PAGE_LEAF, &page) || !take_pages(walk, number, 1))
        return;
    for (unsigned i = 0; i < page.count; i++) {
        struct node node;
        const char *what;
        if (!read_node(walk, &page, i, false, &node) || node.flags & ~(unsigned)NODE_LARGE)
            continue;
        const uint8_t *value = node.flags & NODE_LARGE ? large_value(walk, &node, &what) : node.data;
        if (value)
            tell(walk, &node.key, value, node.size, false);
    }
}
