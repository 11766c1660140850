/* cmd_show.c - `anchorage show`: one resource of a store, explained. */
#include <string.h>

#include "cmd/cmd.h"
#include "pipeline/lookup.h"
#include "reports/explain.h"
#include "reports/finding.h"
#include "reports/shown.h"
#include "reports/text.h"
#include "reports/view.h"

enum { OPT_STORE, OPT_JSON };

static const struct command command = {
    .name = "show",
    .usage = "-s STORE ADDRESS [--json]",
    .purpose =
        "Explains one resource: what it is, where it lies, why it was declined, where else it occurs. "
        "ADDRESS is\n"
        "CONTAINER#INDEX, CONTAINER#NAME, a container with one resource, a unique name or a geometry hash.",
    .options =
        (const struct option_info[]){
            [OPT_STORE] = {"store", 's', "STORE", "the store"},
            [OPT_JSON] = {"json", 0, NULL,
                          "one JSON object: the resource's, with \"details\", \"history\", \"shares\" and "
                          "\"same_name\""},
            {0},
        },
};

#define SHOW_MOST 20

static void print_list(const char *label, const struct shown_list *list)
{
    char safe[1024];
    for (size_t i = 0; i < list->count; i++) {
        text_visible(list->addresses[i], safe, sizeof safe);
        printf("  %-13s %s\n", i ? "" : label, safe);
    }
    if (list->total > list->count)
        printf("  %-13s ... and %zu more\n", "", list->total - list->count);
}

static void print_for_people(const struct shown *shown)
{
    const struct view_resource *view = &shown->view;
    char hash[HASH_HEX], safe[2048];
    text_visible(view->address, safe, sizeof safe);
    printf("%s\n", safe);
    explain_resource(stdout, &view->record->resource, view->name);
    if (view->outcome)
        history_print(stdout, view->outcome);
    if (!hash_is_zero(&view->record->geometry)) {
        char size[16];
        hash_format(&view->record->geometry, hash);
        text_bytes(view->record->geometry_bytes, size);
        printf("  %-13s %s, %s\n", "geometry", hash, size);
    }
    hash_format(&view->container->hash, hash);
    printf("  %-13s %s, content %s\n", "container", container_status_word(view->container->status), hash);
    for (size_t i = 0; i < view->container->also_count && i < SHOW_MOST; i++) {
        text_visible(view->container->also[i], safe, sizeof safe);
        printf("  %-13s %s\n", i ? "" : "also at", safe);
    }
    print_list("same geometry", &shown->shares);
    print_list("same name", &shown->same_name);
}

static int show_resource(struct store_txn *txn, const struct resource_key *key, bool json,
                         struct arena *arena, struct error *err)
{
    struct shown shown;
    if (!shown_read(txn, key, json ? SIZE_MAX : SHOW_MOST, arena, &shown, err))
        return failure(err);
    if (!json)
        print_for_people(&shown);
    else if (!json_print(json_of_shown(&shown), stdout) && !print_failed(err))
        return failure(err);
    return EXIT_DONE;
}

/* Several resources answer: say which, so that the user can name one. */
static int tell_choices(struct store_txn *txn, const char *text, const struct resource_key *keys,
                        size_t count, struct arena *arena)
{
    fprintf(stderr, "anchorage: %zu resources answer to '%s'; name one of them:\n", count, text);
    for (size_t i = 0; i < count && i < SHOW_MOST; i++) {
        struct view_resource view;
        struct error err = {0};
        bool found = false;
        char safe[2048];
        if (!view_resource(txn, &keys[i], arena, &view, &found, &err) || !found)
            continue;
        text_visible(view.address, safe, sizeof safe);
        fprintf(stderr, "  %s\n", safe);
    }
    if (count > SHOW_MOST)
        fprintf(stderr, "  ... and %zu more\n", count - SHOW_MOST);
    return EXIT_USAGE;
}

int cmd_show(int argc, char **argv)
{
    const char *argument, *store_path = NULL;
    bool json = false;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option == OPTIONS_HELP)
            return EXIT_DONE;
        if (option == OPTIONS_BAD)
            return EXIT_USAGE;
        if (option == OPT_STORE)
            store_path = argument;
        else
            json = true;
    }
    if (!store_path)
        return usage_error(&command, "-s STORE is missing");
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "there is no ADDRESS" : "one ADDRESS at a time");
    struct error err = {0};
    struct arena arena = {0};
    struct resource_key *keys;
    size_t count;
    struct store *store = store_open(store_path, STORE_READ, false, &err);
    struct store_txn *txn = store ? store_begin_read(store, &err) : NULL;
    int status;
    if (!txn || !lookup_in_store(txn, argv[optind], &arena, &keys, &count, &err)) {
        status = failure(&err);
    } else if (count > 1) {
        status = tell_choices(txn, argv[optind], keys, count, &arena);
    } else {
        status = show_resource(txn, &keys[0], json, &arena, &err);
    }
    store_end_read(txn);
    store_close(store);
    arena_free(&arena);
    return flush_output() ? status : EXIT_FAILED;
}
