/* shown.c - see shown.h */
#include "reports/shown.h"

#include "reports/finding.h"

static bool read_list(struct store_txn *txn, const struct resource_key *keys, size_t count,
                      const struct resource_key *except, size_t most, struct arena *arena,
                      struct shown_list *list, struct error *err)
{
    list->addresses = arena_array(arena, count < most ? count : most, sizeof *list->addresses);
    if (!list->addresses)
        return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct view_resource view;
        bool found = false;
        if (keys[i].index == except->index && hash_equal(&keys[i].container, &except->container))
            continue;
        list->total++;
        if (list->count == most)
            continue;
        if (!view_resource(txn, &keys[i], arena, &view, &found, err))
            return false;
        if (found)
            list->addresses[list->count++] = view.address;
    }
    return true;
}

bool shown_read(struct store_txn *txn, const struct resource_key *key, size_t most, struct arena *arena,
                struct shown *out, struct error *err)
{
    struct resource_key *keys;
    size_t count = 0;
    bool found = false;
    *out = (struct shown){0};
    if (!view_resource(txn, key, arena, &out->view, &found, err))
        return false;
    if (!found)
        return error_set(err, ERROR_STORE, ERROR_NO_OFFSET,
                         "the store names a resource it does not hold; run `check`");
    const struct hash *geometry = &out->view.record->geometry;
    if (!hash_is_zero(geometry) && (!store_find_geometry(txn, geometry, arena, &keys, &count, err) ||
                                    !read_list(txn, keys, count, key, most, arena, &out->shares, err)))
        return false;
    return store_find_name(txn, out->view.name, arena, &keys, &count, err) &&
           read_list(txn, keys, count, key, most, arena, &out->same_name, err);
}

static json_t *json_of_list(const struct shown_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_of_bytes(list->addresses[i]));
    return array;
}

json_t *json_of_shown(const struct shown *shown)
{
    json_t *object = json_of_resource(&shown->view);
    if (object && (json_object_set_new(object, "details", json_of_details(&shown->view.record->resource)) ||
                   json_object_set_new(object, "history", json_of_history(shown->view.outcome)) ||
                   json_object_set_new(object, "shares", json_of_list(&shown->shares)) ||
                   json_object_set_new(object, "same_name", json_of_list(&shown->same_name)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}
