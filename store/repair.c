/* repair.c - see repair.h
 *
 * Trees are walked as far as they go; where one page is damaged, the pages below it that no tree leads to any
 * more are told from old ones by the list of free pages, and what lies on them by what it says of itself.
 * What is then kept is decided by content, from records alone, so that the new store holds nothing that is in
 * part.
 */
#include "store/repair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/part.h"
#include "store/place.h"
#include "store/rebuild.h"

/* Candidates k with from <= k < to may be missing. */
struct lost_range {
    struct tree_key from, to;
};

struct repair {
    struct rebuild rebuild;
    struct repair_result *result;
    void (*report)(const char *place, void *ctx);
    void *ctx;
    uint64_t counted[DB_COUNT]; /* entries that the trees say to have */
    bool complete[DB_COUNT];    /* as many were found */
    struct buffer lost;         /* of struct lost_range */
    bool forget_archives;       /* which of them lost members cannot be told */
    struct arena arena, record; /* of what lives long; of the record at hand */
    struct buffer bytes;        /* a geometry, decoded */
    bool starved;               /* memory ran out for a record, which looked damaged then */
    struct error *err;
};

/* ---- reading ---- */

static bool note_damage(const struct tree_damage *damage, void *ctx)
{
    struct repair *repair = ctx;
    repair->result->damages++;
    if (strcmp(damage->database, store_db_name(DB_CANDIDATES)) == 0 ||
        strcmp(damage->database, "main") == 0) {
        struct lost_range range = {damage->from, damage->to};
        bool all = strcmp(damage->database, "main") == 0;
        if (all)
            range = (struct lost_range){0};
        buffer_append(&repair->lost, &range, sizeof range);
    }
    return true;
}

static bool is_hash_of(const struct tree_key *key, struct hash hash)
{
    return key->size == HASH_SIZE && memcmp(key->bytes, hash.bytes, HASH_SIZE) == 0;
}

static bool of_key(bool known, const struct tree_key *key, const struct hash *own, struct error *err)
{
    return known ? is_hash_of(key, *own) : store_nomem(err);
}

static uint64_t number_of(const struct tree_key *key)
{
    uint64_t number = 0;
    for (size_t i = 0; i < key->size; i++)
        number = number << 8 | key->bytes[i];
    return number;
}

static bool is_geometry(struct repair *repair, const struct tree_key *key, const struct value *value,
                        struct error *err)
{
    buffer_clear(&repair->bytes);
    return codec_decode(value->bytes, value->size, &repair->bytes, err) &&
           is_hash_of(key, hash_bytes(repair->bytes.data, repair->bytes.size));
}

/* Whether a record could be read; when it was memory that it lacked it only looks damaged. */
static bool was_read(struct repair *repair, bool read, const struct error *err)
{
    repair->starved |= err->code == ERROR_NOMEM;
    return read;
}

/* Whether a value is one of that database under that key. Candidates are read with their resource only. */
static bool reads_as(struct repair *repair, enum store_db db, const struct tree_key *key,
                     const struct value *value, struct error *err)
{
    union {
        struct source_record source;
        struct container_record container;
        struct resource_record resource;
        struct resolved_record outcome;
        struct finding_record finding;
        struct capture_record capture;
        struct declined_census census;
        struct run_record run;
        struct part_record part;
    } r;
    struct container coverage = {0};
    struct hash own;
    struct arena *arena = &repair->record;
    const uint8_t *bytes = value->bytes;
    size_t size = value->size;
    arena_reset(arena);
    switch (db) {
    case DB_SOURCES:
        return source_read(bytes, size, arena, &r.source, err) && is_hash_of(key, hash_text(r.source.path));
    case DB_CONTAINERS:
        return key->size == HASH_SIZE && container_read(bytes, size, arena, &r.container, err);
    case DB_COVERAGE:
        return key->size == HASH_SIZE && coverage_read(bytes, size, arena, &coverage, err);
    case DB_RESOURCES:
        return key->size == RESOURCE_KEY_SIZE && resource_read(bytes, size, arena, &r.resource, err) &&
               resource_key_read(key->bytes).index == r.resource.resource.index;
    case DB_PARTS:
        return key->size == RESOURCE_KEY_SIZE && part_read(bytes, size, arena, &r.part, err) &&
               resource_key_read(key->bytes).index == r.part.shard;
    case DB_RESOLVED:
        return key->size == RESOURCE_KEY_SIZE && resolved_read(bytes, size, arena, &r.outcome, err);
    case DB_FINDINGS:
        return finding_read(bytes, size, arena, &r.finding, err) &&
               of_key(finding_key(&r.finding, &own), key, &own, err);
    case DB_CAPTURES:
        return capture_read(bytes, size, arena, &r.capture, err) &&
               of_key(capture_key(&r.capture, &own), key, &own, err);
    case DB_DECLINED:
        return key->size == 8 && declined_read(bytes, size, arena, &r.census, err);
    case DB_RUNS:
        return key->size == 8 && run_read(bytes, size, arena, &r.run, err) && number_of(key) == r.run.id;
    case DB_GEOMETRY:
        return is_geometry(repair, key, value, err);
    case DB_CANDIDATES:
        return key->size == RESOURCE_KEY_SIZE;
    default:
        return false;
    }
}

static bool fits(struct repair *repair, enum store_db db, const struct tree_key *key,
                 const struct value *value)
{
    struct error err = {0};
    return was_read(repair, reads_as(repair, db, key, value, &err), &err);
}

/* An entry on a page that no tree leads to: the first database that it fits. Candidates fit last, being told
 * by their key alone until their resource is known. */
static void take_stray(const char *database, const struct tree_key *key, const uint8_t *stored, size_t size,
                       bool subtree, void *ctx)
{
    static const enum store_db order[] = {DB_SOURCES,    DB_GEOMETRY,  DB_FINDINGS, DB_CAPTURES,
                                          DB_RUNS,       DB_RESOURCES, DB_PARTS,    DB_RESOLVED,
                                          DB_CONTAINERS, DB_COVERAGE,  DB_DECLINED, DB_CANDIDATES};
    struct repair *repair = ctx;
    const struct rebuild_entry entry = {key->bytes, stored, (uint32_t)size, (uint8_t)key->size, true, false};
    struct value value;
    (void)database, (void)subtree;
    if (key->size > RESOURCE_KEY_SIZE || size > UINT32_MAX || !rebuild_value(DB_META, &entry, &value))
        return;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (fits(repair, order[i], key, &value)) {
            rebuild_add(&repair->rebuild, order[i], key, stored, size, true);
            return;
        }
}

/* Reads by one head. */
static bool read_by(struct repair *repair, const struct tree_meta *head)
{
    struct rebuild *rebuild = &repair->rebuild;
    struct tree_walk walk = {.damage = note_damage, .ctx = repair};
    rebuild->file.meta = *head;
    if (!tree_walk_begin(&walk, &rebuild->file))
        return false;
    bool ok = rebuild_read(rebuild, &walk, repair->counted);
    /* Without the list of free pages old pages cannot be told from lost ones. */
    if (ok && tree_walk_free(&walk)) {
        walk.entry = take_stray;
        for (uint64_t page = 2; page < head->pages; page++)
            if (!tree_is_used(&walk, page))
                tree_scan_leaf(&walk, page);
    }
    tree_walk_end(&walk);
    rebuild_sort(rebuild);
    return ok;
}

/* The newest head whose pages are sound; without such a one the newest. */
static bool choose_head(struct repair *repair, struct tree_meta *head)
{
    struct tree_meta heads[2];
    unsigned count = rebuild_heads(&repair->rebuild, heads);
    for (unsigned i = 0; i < count; i++) {
        struct error ignored = {0};
        struct tree_file file = repair->rebuild.file;
        file.meta = *head = heads[i];
        if (tree_verify(&file, &ignored))
            return true;
    }
    if (count)
        *head = heads[0];
    return count;
}

static bool read_all(struct repair *repair)
{
    struct tree_meta head;
    const uint8_t version[] = {STORE_SCHEMA_VERSION, 0, 0, 0};
    struct value value;
    if (!choose_head(repair, &head) || !read_by(repair, &head))
        return error_set(repair->err, ERROR_STORE, ERROR_NO_OFFSET,
                         "nothing can be had of it: its heads are lost. Run the inputs into a new store");
    const struct rebuild_entry *schema = rebuild_find(&repair->rebuild, DB_META, "schema", strlen("schema"));
    if (schema && rebuild_value(DB_META, schema, &value) &&
        (value.size != sizeof version || memcmp(value.bytes, version, sizeof version) != 0))
        return error_set(repair->err, ERROR_STORE, ERROR_NO_OFFSET,
                         "it is of another schema: it is left as it is");
    return true;
}

/* ---- what is sound by itself ---- */

/* Marks entries that can be read, and counts whether any are missing. */
static void mark_sound(struct repair *repair)
{
    for (int i = 0; i < DB_COUNT; i++) {
        enum store_db db = (enum store_db)i;
        size_t count, sound = 0;
        struct rebuild_entry *list = rebuild_list(&repair->rebuild, db, &count);
        for (size_t k = 0; k < count; k++) {
            struct tree_key key = {list[k].key, list[k].key_size};
            struct value value;
            bool is_sound = store_db_is_set(db) ||
                            (rebuild_value(db, &list[k], &value) && fits(repair, db, &key, &value));
            list[k].keep = is_sound;
            sound += is_sound;
            if (!is_sound && db == DB_CANDIDATES) {
                /* The key may be what is wrong: then it is one between those beside it. */
                struct lost_range range = {
                    k ? (struct tree_key){list[k - 1].key, list[k - 1].key_size} : (struct tree_key){0},
                    k + 1 < count ? (struct tree_key){list[k + 1].key, list[k + 1].key_size}
                                  : (struct tree_key){0}};
                buffer_append(&repair->lost, &range, sizeof range);
            }
        }
        /* An empty tree counts 0; one that was not found counts nothing. */
        repair->complete[db] = repair->counted[db] == sound;
    }
    if (repair->complete[DB_CANDIDATES])
        buffer_clear(&repair->lost);
}

static struct rebuild_entry *sound_entry(const struct repair *repair, enum store_db db, const void *key,
                                         size_t size)
{
    struct rebuild_entry *entry = rebuild_find(&repair->rebuild, db, key, size);
    return entry && entry->keep ? entry : NULL;
}

static bool has_geometry(const struct repair *repair, const struct hash *geometry)
{
    return hash_is_zero(geometry) || sound_entry(repair, DB_GEOMETRY, geometry->bytes, HASH_SIZE);
}

/* ---- contents: whole or not at all ---- */

static int compare_bytes(struct tree_key a, const uint8_t *b, size_t size)
{
    int order = memcmp(a.bytes, b, a.size < size ? a.size : size);
    return order ? order : (a.size > size) - (a.size < size);
}

static bool may_have_lost_candidates(const struct repair *repair, const struct rebuild_entry *resource)
{
    const struct lost_range *lost = (const struct lost_range *)repair->lost.data;
    if (repair->complete[DB_CANDIDATES])
        return false;
    for (size_t i = 0; i < repair->lost.size / sizeof *lost; i++)
        if ((!lost[i].from.bytes || compare_bytes(lost[i].from, resource->key, resource->key_size) <= 0) &&
            (!lost[i].to.bytes || compare_bytes(lost[i].to, resource->key, resource->key_size) > 0))
            return true;
    return repair->counted[DB_CANDIDATES] == UINT64_MAX || repair->lost.size == 0;
}

static bool is_located(enum resource_status status)
{
    return status == RESOURCE_PROVEN || status == RESOURCE_ASSIGNED || status == RESOURCE_AMBIGUOUS;
}

/* Its candidates, if it has some, can be read and name geometry that is there. */
static bool candidates_are_whole(struct repair *repair, const struct rebuild_entry *entry,
                                 struct resource_record *record)
{
    const struct rebuild_entry *candidates =
        rebuild_find(&repair->rebuild, DB_CANDIDATES, entry->key, entry->key_size);
    struct value value;
    struct error err = {0};
    if (record->resource.format != FORMAT_XBG7)
        return true;
    if (!candidates)
        return !is_located(record->resource.status) && !may_have_lost_candidates(repair, entry);
    if (!rebuild_value(DB_CANDIDATES, candidates, &value) ||
        !was_read(repair, candidates_read(value.bytes, value.size, &repair->record, record, &err), &err))
        return false;
    for (uint32_t i = 0; i < record->resource.candidate_count; i++)
        if (!has_geometry(repair, &record->candidate_hashes[i].geometry))
            return false;
    return true;
}

static bool resource_is_whole(struct repair *repair, const struct rebuild_entry *entry,
                              enum resource_status *status)
{
    struct resource_record record;
    struct value value, geometry;
    struct error err = {0};
    uint64_t raw_size;
    arena_reset(&repair->record);
    if (!entry->keep || !rebuild_value(DB_RESOURCES, entry, &value) ||
        !was_read(repair, resource_read(value.bytes, value.size, &repair->record, &record, &err), &err))
        return false;
    *status = record.resource.status;
    if (!hash_is_zero(&record.geometry)) {
        const struct rebuild_entry *mesh = sound_entry(repair, DB_GEOMETRY, record.geometry.bytes, HASH_SIZE);
        if (!mesh || !rebuild_value(DB_GEOMETRY, mesh, &geometry) ||
            !codec_raw_size(geometry.bytes, geometry.size, &raw_size) || raw_size != record.geometry_bytes)
            return false;
    }
    return candidates_are_whole(repair, entry, &record);
}

/* The entries of a database whose keys begin with a content's hash. */
static struct rebuild_entry *of_content(const struct repair *repair, enum store_db db, const uint8_t *hash,
                                        size_t *count)
{
    size_t all;
    const struct rebuild_entry *list = rebuild_list(&repair->rebuild, db, &all);
    struct rebuild_entry *first = rebuild_from(&repair->rebuild, db, hash, HASH_SIZE), *end = first;
    while (end && end < list + all && end->key_size >= HASH_SIZE && memcmp(end->key, hash, HASH_SIZE) == 0)
        end++;
    *count = first ? (size_t)(end - first) : 0;
    return first;
}

static bool content_is_whole(struct repair *repair, const struct rebuild_entry *entry)
{
    struct container_record record;
    struct value value;
    struct error err = {0};
    size_t count;
    uint32_t by_status[RESOURCE_STATUS_COUNT] = {0};
    arena_reset(&repair->arena);
    if (!entry->keep || !rebuild_value(DB_CONTAINERS, entry, &value) ||
        !was_read(repair, container_read(value.bytes, value.size, &repair->arena, &record, &err), &err))
        return false;
    const struct rebuild_entry *resources = of_content(repair, DB_RESOURCES, entry->key, &count);
    for (size_t i = 0; i < count; i++) {
        enum resource_status status;
        if (!resource_is_whole(repair, &resources[i], &status))
            return false;
        by_status[status]++;
    }
    const struct rebuild_entry *coverage = rebuild_find(&repair->rebuild, DB_COVERAGE, entry->key, HASH_SIZE);
    bool covered =
        coverage ? coverage->keep : repair->complete[DB_COVERAGE] || record.container.format != FORMAT_XPR2;
    return covered && count == record.container.resource_count &&
           memcmp(by_status, record.by_status, sizeof by_status) == 0;
}

static void keep_contents(struct repair *repair)
{
    static const enum store_db parts[] = {DB_RESOURCES, DB_CANDIDATES, DB_COVERAGE};
    size_t count, n;
    struct rebuild_entry *list = rebuild_list(&repair->rebuild, DB_CONTAINERS, &count);
    for (size_t i = 0; i < count; i++)
        list[i].keep = content_is_whole(repair, &list[i]);
    /* What belongs to no content that is kept goes, too. */
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        struct rebuild_entry *own = rebuild_list(&repair->rebuild, parts[k], &n);
        for (size_t i = 0; i < n; i++)
            own[i].keep = own[i].key_size >= HASH_SIZE &&
                          sound_entry(repair, DB_CONTAINERS, own[i].key, HASH_SIZE) != NULL;
    }
}

/* ---- places ---- */

static bool read_source(struct repair *repair, const struct rebuild_entry *entry, struct arena *arena,
                        struct source_record *record)
{
    struct value value;
    struct error err = {0};
    return rebuild_value(DB_SOURCES, entry, &value) &&
           was_read(repair, source_read(value.bytes, value.size, arena, record, &err), &err);
}

/* Forgets an archive and those it is in, down to the file, so that the file is read again. */
static void forget_chain(struct repair *repair, struct hash place)
{
    while (!hash_is_zero(&place)) {
        struct rebuild_entry *entry = rebuild_find(&repair->rebuild, DB_SOURCES, place.bytes, HASH_SIZE);
        struct source_record record;
        arena_reset(&repair->record);
        if (!entry || !read_source(repair, entry, &repair->record, &record)) {
            repair->forget_archives = true; /* what it is in is not known */
            return;
        }
        entry->keep = false;
        place = record.parent;
    }
}

/* Places of contents that are not kept. */
static void forget_places(struct repair *repair)
{
    size_t count;
    struct rebuild_entry *list = rebuild_list(&repair->rebuild, DB_SOURCES, &count);
    for (size_t i = 0; i < count; i++) {
        struct source_record record;
        arena_reset(&repair->arena);
        if (!read_source(repair, &list[i], &repair->arena, &record) || record.kind != SOURCE_CONTAINER ||
            sound_entry(repair, DB_CONTAINERS, record.container.bytes, HASH_SIZE))
            continue;
        list[i].keep = false;
        repair->result->lost_contents++;
        if (repair->report)
            repair->report(record.path, repair->ctx);
        forget_chain(repair, record.parent);
    }
}

/* Places that an archive is said to have and that cannot be read. A file's own place, when it is lost, is
 * missed by nobody: the file is read again. */
static void forget_parents_of_lost(struct repair *repair)
{
    size_t count;
    const struct rebuild_entry *members = rebuild_list(&repair->rebuild, DB_MEMBERS, &count);
    for (size_t i = 0; i < count; i++) {
        struct value value;
        if (members[i].size != HASH_SIZE || members[i].key_size != HASH_SIZE)
            continue;
        const struct rebuild_entry *member =
            rebuild_find(&repair->rebuild, DB_SOURCES, members[i].stored, HASH_SIZE);
        if (!member || !rebuild_value(DB_SOURCES, member, &value))
            forget_chain(repair, hash_read(members[i].key));
    }
}

/* When neither the places nor the lists of members are whole, any archive may have lost some. */
static void forget_archives(struct repair *repair)
{
    size_t count;
    struct rebuild_entry *list = rebuild_list(&repair->rebuild, DB_SOURCES, &count);
    if (!repair->complete[DB_SOURCES] && !repair->complete[DB_MEMBERS])
        repair->forget_archives = true;
    for (size_t i = 0; repair->forget_archives && i < count; i++) {
        struct source_record record;
        arena_reset(&repair->arena);
        if (list[i].keep && read_source(repair, &list[i], &repair->arena, &record) &&
            (record.format == FORMAT_ARCHIVE || record.format == FORMAT_XDVDFS))
            list[i].keep = false;
    }
}

/* ---- what the passes and people said ---- */

static bool outcome_fits(struct repair *repair, const struct rebuild_entry *entry)
{
    const struct rebuild_entry *resource = sound_entry(repair, DB_RESOURCES, entry->key, entry->key_size);
    struct resource_record record;
    struct resolved_record outcome;
    struct value value;
    struct error err = {0};
    arena_reset(&repair->record);
    return entry->keep && resource && rebuild_value(DB_RESOURCES, resource, &value) &&
           was_read(repair, resource_read(value.bytes, value.size, &repair->record, &record, &err), &err) &&
           rebuild_value(DB_RESOLVED, entry, &value) &&
           was_read(repair, resolved_read(value.bytes, value.size, &repair->record, &outcome, &err), &err) &&
           outcome.was == record.resource.status && has_geometry(repair, &outcome.geometry) &&
           has_geometry(repair, &outcome.canonical.geometry);
}

static bool finding_fits(struct repair *repair, const struct rebuild_entry *entry)
{
    struct finding_record finding;
    struct value value;
    struct error err = {0};
    arena_reset(&repair->record);
    if (!entry->keep || !rebuild_value(DB_FINDINGS, entry, &value) ||
        !was_read(repair, finding_read(value.bytes, value.size, &repair->record, &finding, &err), &err))
        return false;
    bool fits = hash_is_zero(&finding.container) ||
                sound_entry(repair, DB_CONTAINERS, finding.container.bytes, HASH_SIZE);
    for (uint32_t i = 0; fits && i < finding.side_count; i++)
        fits = sound_entry(repair, DB_CONTAINERS, finding.sides[i].key.container.bytes, HASH_SIZE);
    return fits;
}

static void keep_what_was_said(struct repair *repair)
{
    size_t count;
    struct rebuild_entry *list = rebuild_list(&repair->rebuild, DB_RESOLVED, &count);
    for (size_t i = 0; i < count; i++)
        list[i].keep = outcome_fits(repair, &list[i]);
    list = rebuild_list(&repair->rebuild, DB_FINDINGS, &count);
    for (size_t i = 0; i < count; i++)
        list[i].keep = finding_fits(repair, &list[i]);
    list = rebuild_list(&repair->rebuild, DB_RUNS, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].keep)
            repair->rebuild.last_run = number_of(&(struct tree_key){list[i].key, list[i].key_size});
}

/* ---- the whole ---- */

static uint64_t count_kept(const struct repair *repair, enum store_db db)
{
    size_t count;
    uint64_t kept = 0;
    const struct rebuild_entry *list = rebuild_list(&repair->rebuild, db, &count);
    for (size_t i = 0; i < count; i++)
        kept += list[i].keep;
    return kept;
}

static uint64_t count_lost(const struct repair *repair, enum store_db db)
{
    uint64_t kept = count_kept(repair, db);
    return repair->counted[db] != UINT64_MAX && repair->counted[db] > kept ? repair->counted[db] - kept : 0;
}

static bool salvage(struct repair *repair, struct store *out)
{
    struct repair_result *result = repair->result;
    uint64_t problems;
    if (!read_all(repair))
        return false;
    mark_sound(repair);
    keep_contents(repair);
    forget_places(repair);
    forget_parents_of_lost(repair);
    forget_archives(repair);
    keep_what_was_said(repair);
    result->sources = count_kept(repair, DB_SOURCES);
    result->contents = count_kept(repair, DB_CONTAINERS);
    result->resources = count_kept(repair, DB_RESOURCES);
    result->geometries = count_kept(repair, DB_GEOMETRY);
    result->lost_captures = count_lost(repair, DB_CAPTURES);
    if (repair->lost.failed || repair->bytes.failed || repair->starved)
        return store_nomem(repair->err);
    return rebuild_write(&repair->rebuild, out, repair->err) &&
           store_check(out, NULL, NULL, &problems, repair->err) &&
           (!problems || error_set(repair->err, ERROR_STORE, ERROR_NO_OFFSET,
                                   "what was saved has %llu problems of its own; nothing was changed",
                                   (unsigned long long)problems));
}

/* A name that nothing has yet. */
static bool name_kept(const char *path, char *kept, size_t room)
{
    struct stat status;
    for (int i = 1; i < 1000; i++) {
        int length = i == 1 ? snprintf(kept, room, "%s.damaged", path)
                            : snprintf(kept, room, "%s.damaged.%d", path, i);
        if ((size_t)length >= room)
            return false;
        if (lstat(kept, &status) != 0)
            return errno == ENOENT;
    }
    return false;
}

/* Whether the store opens and nothing is wrong with it. A problem of this moment (memory) is an error. */
static bool is_sound(const char *path, bool *sound, struct error *err)
{
    struct error fault = {0};
    uint64_t problems = 1;
    struct store *store = store_open(path, STORE_READ, false, &fault);
    *sound = store && store_check(store, NULL, NULL, &problems, &fault) && problems == 0;
    store_close(store);
    if (fault.code == ERROR_NOMEM)
        *err = fault;
    return fault.code != ERROR_NOMEM;
}

static bool repair_at(struct repair *repair, const char *path, bool single)
{
    struct place place = {0};
    char lock[4200];
    snprintf(lock, sizeof lock, "%s%s", path, single ? "-writer" : "/writer.lock");
    if (!lock_check_filesystem(path, repair->err))
        return false;
    if (!rebuild_open(&repair->rebuild, path, single, repair->err))
        return false;
    repair->rebuild.lock_fd = lock_take(lock, false, repair->err);
    bool ok = repair->rebuild.lock_fd >= 0;
    if (ok && !name_kept(path, repair->result->kept_as, sizeof repair->result->kept_as))
        ok = error_set(repair->err, ERROR_STORE, ERROR_NO_OFFSET, "no name is free for what it was");
    ok = ok && place_begin_beside(&place, path, repair->err) && salvage(repair, place.store) &&
         place_commit_keeping(&place, repair->result->kept_as, repair->err);
    place_abandon(&place);
    return ok;
}

bool store_repair(const char *path, void (*report)(const char *place, void *ctx), void *ctx,
                  struct repair_result *result, struct error *err)
{
    struct repair repair = {
        .rebuild = {.lock_fd = -1}, .result = result, .report = report, .ctx = ctx, .err = err};
    struct stat status;
    char name[4000];
    *result = (struct repair_result){0};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof name)
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET, "the name of the store is too long");
    memcpy(name, path, length);
    name[length] = '\0';
    if (stat(name, &status) != 0)
        return error_set_system(err, ERROR_STORE, errno, "store '%s'", name);
    if (!is_sound(name, &result->was_sound, err))
        return false;
    bool ok = result->was_sound || repair_at(&repair, name, S_ISREG(status.st_mode));
    if (!ok)
        error_prefix(err, "repairing '%s'", name);
    rebuild_close(&repair.rebuild);
    arena_free(&repair.arena);
    arena_free(&repair.record);
    buffer_free(&repair.lost);
    buffer_free(&repair.bytes);
    return ok;
}
