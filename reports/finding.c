/* finding.c - see finding.h */
#include "reports/finding.h"

#include <stdlib.h>
#include <string.h>

#include "reports/text.h"

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading the store");
}

/* ---- findings ------------------------------------------------------------------------------------------ */

/* Copies of all findings wanted: a walk through the store is in the order of hashes. */
struct collect {
    struct store_txn *txn;
    struct arena *arena;
    uint32_t kinds;
    struct view_finding *list;
    size_t count, room;
    struct error *err;
};

/* The least path of a content, or its hash when it has none any more. */
static const char *path_of(struct store_txn *txn, const struct hash *container, struct arena *arena,
                           struct error *err)
{
    const char **paths;
    size_t count;
    char *hex = arena_alloc(arena, HASH_HEX);
    if (!hex || !store_places(txn, container, arena, &paths, &count, NULL, err))
        return NULL;
    hash_format(container, hex);
    return count ? paths[0] : hex;
}

static const char *address_of(struct store_txn *txn, const struct resource_key *key, struct arena *arena,
                              struct error *err)
{
    const char *path = path_of(txn, &key->container, arena, err);
    size_t room = path ? strlen(path) + 16 : 0;
    char *address = path ? arena_alloc(arena, room) : NULL;
    if (address)
        snprintf(address, room, "%s#%u", path, key->index);
    return address;
}

/* A copy of the record that lives on. */
static struct finding_record *keep(const struct finding_record *record, struct arena *arena)
{
    struct finding_record *copy = arena_alloc(arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *record;
    copy->subject = arena_copy(arena, record->subject, strlen(record->subject));
    copy->message = arena_copy(arena, record->message, strlen(record->message));
    copy->sides = arena_array(arena, record->side_count, sizeof *copy->sides);
    if (!copy->subject || !copy->message || !copy->sides)
        return NULL;
    if (record->side_count)
        memcpy(copy->sides, record->sides, record->side_count * sizeof *copy->sides);
    return copy;
}

static bool collect_one(const struct finding_record *record, void *ctx)
{
    struct collect *collect = ctx;
    if (collect->kinds && !(collect->kinds >> record->kind & 1))
        return true;
    if (collect->count == collect->room) {
        size_t room = collect->room ? 2 * collect->room : 256;
        struct view_finding *list = realloc(collect->list, room * sizeof *list);
        if (!list)
            return out_of_memory(collect->err);
        collect->list = list;
        collect->room = room;
    }
    struct view_finding *view = &collect->list[collect->count];
    *view = (struct view_finding){.record = keep(record, collect->arena)};
    if (!view->record)
        return out_of_memory(collect->err);
    if (!hash_is_zero(&record->container) &&
        !(view->container = path_of(collect->txn, &record->container, collect->arena, collect->err)))
        return out_of_memory(collect->err);
    collect->count++;
    return true;
}

static int compare_findings(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right;
    if (a->record->kind != b->record->kind)
        return a->record->kind < b->record->kind ? -1 : 1;
    int order = strcmp(a->container ? a->container : "", b->container ? b->container : "");
    if (order)
        return order;
    /* Places are numbers: shorter ones are lower. */
    size_t x = strlen(a->record->subject), y = strlen(b->record->subject);
    if (a->record->kind == FINDING_UNCLAIMED && x != y)
        return x < y ? -1 : 1;
    return strcmp(a->record->subject, b->record->subject);
}

/* Addresses are made when a finding's turn comes: together they would be most of the memory. */
static bool show_one(struct collect *collect, struct view_finding *view,
                     bool (*each)(const struct view_finding *finding, void *ctx), void *ctx, bool *go_on)
{
    struct arena arena = {0};
    const char **addresses = arena_array(&arena, view->record->side_count, sizeof *addresses);
    bool ok = addresses != NULL;
    for (uint32_t i = 0; ok && i < view->record->side_count; i++)
        ok = (addresses[i] = address_of(collect->txn, &view->record->sides[i].key, &arena, collect->err)) !=
             NULL;
    view->addresses = addresses;
    *go_on = ok && each(view, ctx);
    arena_free(&arena);
    return ok || out_of_memory(collect->err);
}

bool view_findings(struct store_txn *txn, uint32_t kinds,
                   bool (*each)(const struct view_finding *finding, void *ctx), void *ctx, struct error *err)
{
    struct arena arena = {0};
    struct collect collect = {.txn = txn, .arena = &arena, .kinds = kinds, .err = err};
    bool ok = store_each_finding(txn, collect_one, &collect, err) && err->code == ERROR_NONE, go_on = true;
    if (ok && collect.count)
        qsort(collect.list, collect.count, sizeof *collect.list, compare_findings);
    for (size_t i = 0; ok && go_on && i < collect.count; i++)
        ok = show_one(&collect, &collect.list[i], each, ctx, &go_on);
    free(collect.list);
    arena_free(&arena);
    return ok;
}

json_t *json_of_finding(const struct view_finding *view)
{
    const struct finding_record *record = view->record;
    json_t *sides = json_array();
    for (uint32_t i = 0; i < record->side_count; i++) {
        const struct finding_side *side = &record->sides[i];
        char hash[HASH_HEX];
        hash_format(&side->geometry, hash);
        json_array_append_new(
            sides,
            json_pack("{s:o, s:s, s:I, s:I, s:o, s:o}", "address", json_of_bytes(view->addresses[i]),
                      "status", resource_status_word(side->status), "vertices", (json_int_t)side->vertices,
                      "triangles", (json_int_t)side->triangles, "bounds", json_of_bounds(&side->bounds),
                      "geometry", hash_is_zero(&side->geometry) ? json_null() : json_string(hash)));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", finding_kind_word(record->kind), "container",
                     view->container ? json_of_bytes(view->container) : json_null(), "subject",
                     json_of_bytes(record->subject), "message", json_of_bytes(record->message), "sides",
                     sides);
}

/* ---- census -------------------------------------------------------------------------------------------- */

static int compare_declined(const void *left, const void *right)
{
    const struct view_declined *a = left, *b = right;
    if (a->dimension != b->dimension)
        return a->dimension < b->dimension ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->key, b->key);
}

static int compare_rows(const struct declined_row *a, const struct declined_row *b)
{
    if (a->dimension != b->dimension)
        return a->dimension < b->dimension ? -1 : 1;
    return strcmp(a->key, b->key);
}

/* Joins two censuses, each sorted: rows of either. */
static size_t join(const struct declined_census census[static 2], struct view_declined *out)
{
    size_t count = 0;
    for (uint32_t i = 0, k = 0; i < census[0].count || k < census[1].count; count++) {
        int order = i == census[0].count   ? 1
                    : k == census[1].count ? -1
                                           : compare_rows(&census[0].rows[i], &census[1].rows[k]);
        const struct declined_row *row = order <= 0 ? &census[0].rows[i] : &census[1].rows[k];
        out[count] =
            (struct view_declined){row->dimension, row->key, order <= 0 ? census[0].rows[i].count : 0,
                                   order >= 0 ? census[1].rows[k].count : 0};
        i += order <= 0;
        k += order >= 0;
    }
    return count;
}

bool view_declined(struct store_txn *txn, bool *compared,
                   bool (*each)(const struct view_declined *row, void *ctx), void *ctx, struct error *err)
{
    struct arena arena = {0};
    struct declined_census census[2];
    bool ok = store_get_declined(txn, &arena, census, err);
    struct view_declined *rows = NULL;
    size_t count = 0;
    if (ok && !(rows = arena_array(&arena, (size_t)census[0].count + census[1].count, sizeof *rows)))
        ok = out_of_memory(err);
    *compared = ok && census[1].run != 0;
    if (ok)
        count = join(census, rows);
    for (size_t i = 0; ok && i < count; i++) {
        struct hash container;
        if (rows[i].dimension == CENSUS_CONTAINER && hash_parse(rows[i].key, &container) &&
            !(rows[i].key = path_of(txn, &container, &arena, err)))
            ok = out_of_memory(err);
    }
    if (ok && count)
        qsort(rows, count, sizeof *rows, compare_declined);
    for (size_t i = 0; ok && i < count && each(&rows[i], ctx); i++)
        ;
    arena_free(&arena);
    return ok;
}

json_t *json_of_declined(const struct view_declined *row, bool compared)
{
    json_int_t change = (json_int_t)row->count - (json_int_t)row->before;
    return json_pack("{s:s, s:o, s:I, s:o}", "by", census_dimension_word(row->dimension), "key",
                     json_of_bytes(row->key), "count", (json_int_t)row->count, "change",
                     compared ? json_integer(change) : json_null());
}

/* ---- history ------------------------------------------------------------------------------------------- */

json_t *json_of_history(const struct resolved_record *outcome)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < outcome->change_count; i++) {
        const struct resolved_change *change = &outcome->changes[i];
        json_t *from = change->from_chosen == RESOLVED_NONE ? json_null() : json_integer(change->from_chosen);
        json_t *to = change->to_chosen == RESOLVED_NONE ? json_null() : json_integer(change->to_chosen);
        json_array_append_new(
            list, json_pack("{s:o, s:I, s:s, s:s, s:o, s:o, s:o}", "pass", json_of_bytes(change->pass),
                            "version", (json_int_t)change->version, "from",
                            resource_status_word(change->from), "to", resource_status_word(change->to),
                            "from_candidate", from, "to_candidate", to, "why", json_of_bytes(change->why)));
    }
    return list;
}

static void print_candidate(FILE *out, uint32_t chosen)
{
    if (chosen != RESOLVED_NONE)
        fprintf(out, " (candidate %u)", chosen);
}

void history_print(FILE *out, const struct resolved_record *outcome)
{
    char why[600];
    for (uint32_t i = 0; i < outcome->change_count; i++) {
        const struct resolved_change *change = &outcome->changes[i];
        text_visible(change->why, why, sizeof why);
        fprintf(out, "  %-13s %s", i ? "" : "history", resource_status_word(change->from));
        print_candidate(out, change->from_chosen);
        fprintf(out, " -> %s", resource_status_word(change->to));
        print_candidate(out, change->to_chosen);
        fprintf(out, ", by %s %u: %s\n", change->pass, change->version, why);
    }
    const struct resolved_canonical *canonical = &outcome->canonical;
    char hash[HASH_HEX];
    hash_format(&canonical->geometry, hash);
    if (canonical->basis != CANONICAL_NONE)
        fprintf(out, "  %-13s of entry %u; drawn %s %s, %s\n", "twin", canonical->twin,
                canonical->mirrored ? "mirrored from" : "as", hash, canonical_basis_word(canonical->basis));
}
