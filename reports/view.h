/* view.h - what a store holds, in the order and the words people see: by path, filtered, with names.
 *
 * Everything that lists or explains (query, show, export, run's summary) goes through these walks, so that
 * one filter means the same everywhere. Thread safety: a walk belongs to the thread of its transaction.
 */
#ifndef ANCHORAGE_VIEW_H
#define ANCHORAGE_VIEW_H

#include <jansson.h>

#include "store/store.h"

/* A container as it is listed. */
struct view_container {
    const char *path; /* the least of its places */
    const char *const *also;
    size_t also_count;
    const char *stem; /* the name of resources without a directory's; NULL for archives and failures */
    struct hash hash; /* zero when its bytes could not be had */
    enum format_id format;
    uint64_t bytes;
    enum container_status status;
    enum container_reason reason;
    const char *message;   /* NULL without a fault */
    uint64_t error_offset; /* ERROR_NO_OFFSET when it has none */
    uint32_t flags;
    uint32_t by_status[RESOURCE_STATUS_COUNT];
    const struct container_record *record; /* NULL when its bytes could not be had */
};

struct view_resource {
    const struct view_container *container;
    const struct resource_record
        *record;         /* with its candidates when it is ambiguous, or view_resource gave it */
    const char *name;    /* the directory's, or the file name less its ending */
    const char *address; /* CONTAINER#INDEX */
    const struct resolved_record *outcome; /* what the global passes made of it, which `record` shows already;
                                              NULL or all zero when that is what the decoder said */
};

/* NULL or 0 in a field: anything passes. Globs are fnmatch patterns over the whole text. */
struct view_filter {
    const char *name, *container;
    uint32_t statuses;                     /* bit per enum resource_status */
    uint32_t reasons;                      /* bit per enum decline_reason */
    uint32_t formats;                      /* bit per enum format_id */
    uint64_t min_triangles, max_triangles; /* max 0: no bound */
    /* With `boxed`, those whose bounds lie inside, the faces of the box included; infinite: open on that
     * side. What has no bounds does not pass. */
    bool boxed;
    double box_min[3], box_max[3];
    uint64_t limit; /* at most that many; 0: all */
    /* No condition: candidates are read of every resource, not of ambiguous ones only. */
    bool candidates;
};

/* Whether a resource passes, its container's path aside. */
bool view_passes(const struct view_filter *filter, const struct resource *resource, const char *name);

/* What resources can be sorted by. */
enum view_sort_key {
    VIEW_BY_NAME,
    VIEW_BY_CONTAINER,
    VIEW_BY_INDEX,
    VIEW_BY_FORMAT,
    VIEW_BY_STATUS,
    VIEW_BY_REASON,
    VIEW_BY_VERTICES,
    VIEW_BY_TRIANGLES,
    VIEW_BY_SIZE, /* the longest edge of the bounds; none is less than any */
    VIEW_BY_SCORE,
    VIEW_BY_MARGIN,
    VIEW_BY_GEOMETRY,
    VIEW_SORT_KEYS
};
struct view_sort {
    unsigned count; /* of keys, the first one first; 0: by container path, then index */
    struct {
        enum view_sort_key key;
        bool descending;
    } keys[VIEW_SORT_KEYS]; /* each at most once */
};
/* "name", "triangles" ...: the word of an option or a query. */
const char *view_sort_word(enum view_sort_key key);

/* A container of the list: enough to look at it later, by itself. */
struct view_entry {
    const char *path;
    struct hash hash; /* of the content; of the path for places that could not be read */
    bool failed;      /* no content: described by its source alone */
};
/* All that is listed, in byte order of paths; the arena's. Threads may share the list, each looking with a
 * transaction of its own. */
bool view_list(struct store_txn *txn, struct arena *arena, const struct view_entry **list, size_t *count,
               struct error *err);
/* The container of an entry; its memory is the arena's. */
bool view_listed(struct store_txn *txn, const struct view_entry *entry, struct arena *arena,
                 struct view_container *out, bool *found, struct error *err);
/* Walks containers in byte order of their paths; the callback returns false to stop. False only for an error.
 */
bool view_containers(struct store_txn *txn, bool (*each)(const struct view_container *container, void *ctx),
                     void *ctx, struct error *err);
/* Walks the resources that pass, by container path, then index. */
bool view_resources(struct store_txn *txn, const struct view_filter *filter,
                    bool (*each)(const struct view_resource *resource, void *ctx), void *ctx,
                    struct error *err);
/* The same in another order; what is equal by every key stays by container path, then index. Keeps the keys
 * of all that pass in memory, and reads those that are shown again. */
bool view_sorted(struct store_txn *txn, const struct view_filter *filter, const struct view_sort *sort,
                 bool (*each)(const struct view_resource *resource, void *ctx), void *ctx, struct error *err);
/* Resources that are being put into an order: all zero but `sort`, then added in the usual order, then
 * sorted. Keeps what it needs of them. */
struct view_order {
    const struct view_sort *sort;
    struct arena arena;
    struct view_order_row {
        const struct sort_value *values; /* [sort->count] */
        struct resource_key key;
        uint32_t met; /* how many were added before: settles what is equal otherwise */
    } * rows;
    size_t count, room;
};
bool view_order_add(struct view_order *order, const struct view_resource *view); /* false: no memory */
void view_order_sort(struct view_order *order);
void view_order_free(struct view_order *order);
/* Walks the resources of one container that pass, by index; the container is one that a walk gives. */
bool view_resources_of(struct store_txn *txn, const struct view_container *container,
                       const struct view_filter *filter,
                       bool (*each)(const struct view_resource *resource, void *ctx), void *ctx,
                       struct error *err);
/* The container at a path, any of its places; its memory is the arena's. */
bool view_container(struct store_txn *txn, const char *path, struct arena *arena, struct view_container *out,
                    bool *found, struct error *err);
/* The one resource under a key, with its container; its memory is the arena's. */
bool view_resource(struct store_txn *txn, const struct resource_key *key, struct arena *arena,
                   struct view_resource *out, bool *found, struct error *err);

/* Unknown content of the whole store: of archives once per place, and of plain files. Rows sorted by count,
 * then bytes, descending, then magic and ending; they live in the arena. */
bool view_unknown(struct store_txn *txn, struct arena *arena, struct census_row **rows, size_t *count,
                  struct error *err);

/* Sums over the whole store. */
struct view_summary {
    uint64_t containers_by_status[3];
    uint64_t containers_by_format[FORMAT_COUNT];
    uint64_t resources_by_status[RESOURCE_STATUS_COUNT];
    uint64_t declined_by_reason[DECLINE_REASON_COUNT];
    uint64_t failed_by_reason[CONTAINER_REASON_COUNT]; /* of containers damaged or skipped */
    uint64_t places;                                   /* of containers, "also" counted */
};
bool view_summarise(struct store_txn *txn, struct view_summary *summary, struct error *err);

/* The documented JSON (docs/json.md). New references; NULL when memory runs out. */
json_t *json_of_resource(const struct view_resource *resource);
json_t *json_of_container(const struct view_container *container);
json_t *json_of_run(const struct run_record *run);
json_t *json_of_summary(const struct view_summary *summary);
json_t *json_of_unknown(const struct census_row *row);
/* Details beyond the documented fields, for show and inspect: parts, lods, materials, markers, nodes, error.
 */
json_t *json_of_details(const struct resource *resource);
/* A f32 so that it prints in its shortest decimal under JSON_PRINT; null when it is not finite. */
json_t *json_of_f32(float value);
/* {"min": [...], "max": [...]}, or null. */
json_t *json_of_bounds(const struct bounds *bounds);
/* A string of any bytes: what is no UTF-8 becomes %XX. */
json_t *json_of_bytes(const char *text);
/* "2026-11-30T18:03:22Z". */
void time_text(int64_t ns, char out[static 24]);
/* The flags every dump uses: nine digits are what a f32 needs, keys stay in the documented order. */
#define JSON_PRINT (JSON_COMPACT | JSON_REAL_PRECISION(9))
/* Prints one value and a newline; false when memory runs out (value NULL) or writing fails. Takes the
 * reference. */
bool json_print(json_t *value, FILE *out);

#endif
