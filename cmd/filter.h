/* filter.h - the options that select resources, the same for query and export. */
#ifndef ANCHORAGE_CMD_FILTER_H
#define ANCHORAGE_CMD_FILTER_H

#include "cmd/cmd.h"
#include "reports/view.h"

/* Rows of an option table, by enum filter_option. */
#define FILTER_OPTIONS(first)                                                                                \
    [(first) +                                                                                               \
        FILTER_NAME] = {"name", 0, "GLOB", "resources whose name matches"},                                  \
        [(first) + FILTER_CONTAINER] = {"container", 0, "GLOB", "in containers whose path matches"},         \
        [(first) + FILTER_STATUS] = {"status", 0, "LIST", "decoded, proven, assigned, ambiguous, declined"}, \
        [(first) + FILTER_REASON] = {"reason", 0, "LIST", "declined for these reasons"},                     \
        [(first) + FILTER_MIN] = {"min-triangles", 0, "N", "with at least N triangles"},                     \
        [(first) + FILTER_MAX] = {"max-triangles", 0, "N", "with at most N triangles"},                      \
        [(first) + FILTER_BOUNDS] = {"bounds", 0, "BOX",                                                     \
                                     "inside x0,y0,z0,x1,y1,z1; a number left out leaves that side open"}

/* Only query has this one: export's --format is the format it writes. */
#define FILTER_FORMAT_OPTION                                                                                 \
    {                                                                                                        \
        "format", 0, "LIST", "xbg7, bgf, bmf, meshbin"                                                       \
    }

enum filter_option {
    FILTER_NAME,
    FILTER_CONTAINER,
    FILTER_STATUS,
    FILTER_REASON,
    FILTER_MIN,
    FILTER_MAX,
    FILTER_BOUNDS,
    FILTER_FORMAT,
    FILTER_OPTION_COUNT
};

/* Takes one option; false after a usage message, as when it was given before. */
bool filter_option(const struct command *command, struct view_filter *filter, int option,
                   const char *argument);

/* False after a usage message when no resource can pass all that was given. */
bool filter_check(const struct command *command, const struct view_filter *filter);
/* Takes the argument of --sort; false after a usage message. */
bool filter_sort_option(const struct command *command, struct view_sort *sort, const char *argument);

#endif
