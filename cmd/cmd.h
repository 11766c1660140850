/* cmd.h - what the subcommands share: the table they stand in, option parsing, messages.
 *
 * A subcommand is `int cmd_NAME(int argc, char **argv)` with argv[0] its own name; it returns the exit status
 * of the program. Data goes to stdout; everything else to stderr.
 */
#ifndef ANCHORAGE_CMD_H
#define ANCHORAGE_CMD_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/error.h"
#include "store/store.h"

#define ANCHORAGE_VERSION "0.1.0"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FINDINGS = 1, /* done, with findings that --fail-on names */
    EXIT_USAGE = 2,
    EXIT_FAILED = 3, /* could not do the job: I/O, store, contradicted capture */
    EXIT_AGAIN = 75, /* a passing fault: try again */
};

int cmd_run(int argc, char **argv);
int cmd_resolve(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_cat(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_prune(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_corpus(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_submit(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* One long option of a command; the help text is generated from it. */
struct option_info {
    const char *name;     /* "store" for --store */
    char letter;          /* 's', or 0 */
    const char *argument; /* "STORE", or NULL when it takes none */
    const char *help;     /* a line or two; the second is indented when it is printed */
};

struct command {
    const char *name;
    const char *usage;                 /* what follows the name: "-s STORE [options] INPUT..." */
    const char *purpose;               /* one line */
    const struct option_info *options; /* ended by a NULL name; --help is added */
};

/* Steps through the options of argv: the index into command->options of the next one, with *argument set when
 * it takes one; OPTIONS_END at the first operand (optind is its place); OPTIONS_BAD after a message was
 * printed, on which the command returns EXIT_USAGE; OPTIONS_HELP after the help was printed to stdout. */
enum { OPTIONS_END = -1, OPTIONS_BAD = -2, OPTIONS_HELP = -3 };
int options_next(const struct command *command, int argc, char **argv, const char **argument);

/* Prints "anchorage COMMAND: message" and a hint at --help; EXIT_USAGE. */
int usage_error(const struct command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "anchorage: message", control characters made visible; EXIT_FAILED (EXIT_AGAIN for passing faults).
 */
int failure(const struct error *err);
/* A line on stderr beginning "anchorage: warning: ". */
void warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whole decimal number within low..high; false (nothing printed) otherwise. */
bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);
/* The argument of -j, 1 to 1024; false after a usage message. */
bool parse_threads(const struct command *command, const char *argument, int *threads);
/* Whole decimal number with K, M, G or T behind it (powers of 1024; either case) or nothing; false (nothing
 * printed) otherwise. */
bool parse_size(const char *text, uint64_t *value);

/* What a call that prints to stdout and has just failed comes to: true for a closed pipe, else false with
 * *err set. */
bool print_failed(struct error *err);
/* Flushes stdout: false with a message when what was printed did not arrive (disk full); a closed pipe is no
 * failure. Every command that prints data ends with it. */
bool flush_output(void);

#endif
