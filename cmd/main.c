/* main.c - the table of subcommands. */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "pipeline/json_whole.h"
#include "pipeline/worker.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose;
} commands[] = {
    {"run", cmd_run, "extract, decode and store everything in the inputs"},
    {"resolve", cmd_resolve, "decide everything in a store together; take captures"},
    {"query", cmd_query, "list resources, containers, unknown content or runs of a store"},
    {"show", cmd_show, "explain one resource of a store"},
    {"export", cmd_export, "write geometry as GLB, OBJ or PLY, from a store or straight from a file"},
    {"report", cmd_report, "write a dashboard, figures and pictures of a store into a folder"},
    {"inspect", cmd_inspect, "look into one container, without a store"},
    {"cat", cmd_cat, "write a container's raw bytes to stdout"},
    {"serve", cmd_serve, "show a store in a browser, live"},
    {"diff", cmd_diff, "what changed from one store to another"},
    {"check", cmd_check, "re-hash and cross-check a store"},
    {"repair", cmd_repair, "save what is sound of a damaged store"},
    {"prune", cmd_prune, "drop what is gone and what is old"},
    {"plan", cmd_plan, "cut the work of a run into shards"},
    {"submit", cmd_submit, "a run on many machines"},
    {"merge", cmd_merge, "several stores into one, the result independent of their order"},
    {"corpus", cmd_corpus, "write a corpus whose truth is known"},
    {"bench", cmd_bench, "measure, beside the machine's own limit"},
};

static void print_help(FILE *out)
{
    fprintf(out, "anchorage " ANCHORAGE_VERSION
                 " - decodes corpora of 3D mesh containers and says what it could not\n\n"
                 "usage: anchorage COMMAND [options] ...\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].purpose);
    fprintf(out,
            "\n`anchorage COMMAND --help` lists a command's options; `man anchorage` has the rest.\n"
            "First steps:  anchorage run -s corpus.store DIRECTORY && anchorage query -s corpus.store\n");
}

int main(int argc, char **argv)
{
    /* Member names must not depend on the environment; libarchive gives none for 7z and zip outside a UTF-8
     * locale. C.UTF-8 is part of Debian's libc. */
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        fputs("anchorage: the C.UTF-8 locale is missing from this system\n", stderr);
        return EXIT_FAILED;
    }
    /* Batches are freed and taken again: keeping their pages saves the kernel clearing them each time. The
     * heap stays bounded by what is in flight. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    signal(SIGXFSZ, SIG_IGN); /* `ulimit -f` is then a write that fails, like a full disk */
    json_watch_memory();
    if (worker_is_wanted(argc, argv))
        return worker_main(argc, argv);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen at the write and ends the command quietly */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return flush_output() ? EXIT_DONE : EXIT_FAILED;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("anchorage " ANCHORAGE_VERSION);
        return flush_output() ? EXIT_DONE : EXIT_FAILED;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "anchorage: there is no command '%s'; `anchorage --help` lists them\n", argv[1]);
    return EXIT_USAGE;
}
