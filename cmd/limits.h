/* limits.h - the options that bound what is extracted, the same for run, cat, inspect and export. */
#ifndef ANCHORAGE_CMD_LIMITS_H
#define ANCHORAGE_CMD_LIMITS_H

#include "cmd/cmd.h"
#include "pipeline/extract.h"

enum limit_option {
    LIMIT_DEPTH,
    LIMIT_MEMBER,
    LIMIT_MEMBERS,
    LIMIT_EXPANDED,
    LIMIT_RATIO,
    LIMIT_SPOOL,
    LIMIT_TMP,
    LIMIT_OPTION_COUNT
};

/* Rows of an option table, by enum limit_option. */
#define LIMIT_OPTIONS(first)                                                                                 \
    [(first) + LIMIT_DEPTH] = {"max-depth", 0, "N", "archives around an archive that is opened (8)"},        \
               [(first) + LIMIT_MEMBER] = {"max-member", 0, "SIZE", "bytes of one container (4G)"},          \
               [(first) + LIMIT_MEMBERS] = {"max-members", 0, "N", "entries of one archive (4M)"},           \
               [(first) +                                                                                    \
                   LIMIT_EXPANDED] = {"max-expanded", 0, "SIZE", "bytes one input unpacks to (256G)"},       \
               [(first) + LIMIT_RATIO] = {"max-ratio", 0, "N", "the same in sizes of the input (2000)"},     \
               [(first) + LIMIT_SPOOL] = {"spool", 0, "SIZE", "large archives in archives, on disk (32G)"},  \
               [(first) + LIMIT_TMP] = {"tmp", 0, "DIR", "where those go ($TMPDIR, or /var/tmp)"}

struct limit_settings {
    struct extract_limits limits;
    const char *tmp; /* NULL: the usual place */
};
#define LIMIT_SETTINGS_DEFAULT                                                                               \
    (struct limit_settings)                                                                                  \
    {                                                                                                        \
        .limits = EXTRACT_LIMITS_DEFAULT                                                                     \
    }

/* Takes one option, counted from LIMIT_DEPTH; false after a usage message. */
bool limit_option(const struct command *command, struct limit_settings *settings, int option,
                  const char *argument);
/* The options of one extraction, with a spool that the caller frees. False with *err set when memory runs
 * out. */
bool limit_extract_options(const struct limit_settings *settings, struct extract_options *options,
                           struct error *err);

/* The limits in force in words, for a run's record: names and texts live as long as `texts` does. How many
 * were written to `conditions`, which has room for LIMIT_CONDITIONS. */
#define LIMIT_CONDITIONS 7
struct limit_texts {
    char text[LIMIT_CONDITIONS][28];
};
uint32_t limit_conditions(const struct extract_limits *limits, struct limit_texts *texts,
                          struct run_condition *conditions);

#endif
