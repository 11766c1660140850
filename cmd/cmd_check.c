/* cmd_check.c - `anchorage check`: is everything in a store sound, and what is it as one hash. */
#include "cmd/cmd.h"
#include "reports/text.h"

enum { OPT_DIGEST };

static const struct command command = {
    .name = "check",
    .usage = "STORE [--digest]",
    .purpose = "Re-hashes every geometry, verifies every checksum and every reference. Exit 3 when anything "
               "is wrong.",
    .options =
        (const struct option_info[]){
            [OPT_DIGEST] = {"digest", 0, NULL,
                            "print one hash over the logical content, then check nothing else"},
            {0},
        },
};

static void print_problem(const struct store_problem *problem, void *ctx)
{
    char what[1024];
    (void)ctx;
    text_visible(problem->what, what, sizeof what);
    printf("%s %s: %s\n", problem->database, problem->key, what);
}

static int print_digest(struct store *store, struct error *err)
{
    struct hash digest;
    char text[HASH_HEX];
    if (!store_digest(store, &digest, err))
        return failure(err);
    hash_format(&digest, text);
    puts(text);
    return EXIT_DONE;
}

static int check_store(struct store *store, struct error *err)
{
    uint64_t problems = 0;
    struct store_stat stat;
    char sources[28], containers[28], resources[28], geometries[28], raw[16], kept[16];
    if (!store_check(store, print_problem, NULL, &problems, err))
        return failure(err);
    if (problems) {
        fprintf(stderr, "anchorage: %llu problem%s found\n", (unsigned long long)problems,
                problems == 1 ? "" : "s");
        return EXIT_FAILED;
    }
    if (!store_stat(store, &stat, err))
        return failure(err);
    text_count(stat.sources, sources);
    text_count(stat.containers, containers);
    text_count(stat.resources, resources);
    text_count(stat.geometries, geometries);
    text_bytes(stat.geometry_raw, raw);
    text_bytes(stat.geometry_encoded, kept);
    printf("sound: %s sources, %s containers, %s resources, %s geometries (%s kept in %s)\n", sources,
           containers, resources, geometries, raw, kept);
    return EXIT_DONE;
}

int cmd_check(int argc, char **argv)
{
    const char *argument;
    bool digest = false;
    int option;
    while ((option = options_next(&command, argc, argv, &argument)) != OPTIONS_END) {
        if (option != OPT_DIGEST)
            return option == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
        digest = true;
    }
    if (argc - optind != 1)
        return usage_error(&command, argc == optind ? "STORE is missing" : "one STORE at a time");
    struct error err = {0};
    struct store *store = store_open(argv[optind], STORE_READ, false, &err);
    int status = !store ? failure(&err) : digest ? print_digest(store, &err) : check_store(store, &err);
    store_close(store);
    return flush_output() ? status : EXIT_FAILED;
}
