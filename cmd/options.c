/* options.c - option parsing and messages shared by the subcommands. See cmd.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "reports/text.h"

#define OPTIONS_MOST 40
#define OPTION_HELP  0x100 /* getopt's value for --help; the others are OPTION_FIRST + index */
#define OPTION_FIRST 0x200

static void print_command_help(const struct command *command)
{
    printf("usage: anchorage %s %s\n\n%s\n\n", command->name, command->usage, command->purpose);
    for (const struct option_info *o = command->options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%c%s --%s%s%s", o->letter ? "-" : " ", o->letter ? o->letter : ' ',
                 o->letter ? "," : " ", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-28s ", left);
        for (const char *c = o->help; *c; c++)
            fputs(*c == '\n' ? "\n                               " : (char[2]){*c}, stdout);
        putchar('\n');
    }
    printf("  -h, --help                   this text\n");
    flush_output();
}

int options_next(const struct command *command, int argc, char **argv, const char **argument)
{
    struct option longs[OPTIONS_MOST + 2] = {0};
    char shorts[2 * OPTIONS_MOST + 8] = ":h";
    size_t count = 0, letters = strlen(shorts);
    for (const struct option_info *o = command->options; o->name && count < OPTIONS_MOST; o++, count++) {
        longs[count] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL,
                                       OPTION_FIRST + (int)count};
        if (o->letter) {
            shorts[letters++] = o->letter;
            if (o->argument)
                shorts[letters++] = ':';
        }
    }
    longs[count] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    opterr = 0;
    const char *word = optind < argc ? argv[optind] : "";
    int got = getopt_long(argc, argv, shorts, longs, NULL);
    *argument = optarg;
    if (got == -1)
        return OPTIONS_END;
    if (got == OPTION_HELP || got == 'h') {
        print_command_help(command);
        return OPTIONS_HELP;
    }
    if (got == '?' || got == ':') {
        if (got == ':')
            usage_error(command, "option '%s' needs an argument", word);
        else if (optopt >= OPTION_FIRST)
            usage_error(command, "option '%s' takes no argument", word);
        else
            usage_error(command, "there is no option '%s', or it is no unique beginning of one", word);
        return OPTIONS_BAD;
    }
    if (got >= OPTION_FIRST)
        return got - OPTION_FIRST;
    for (size_t i = 0; i < count; i++)
        if (command->options[i].letter == got)
            return (int)i;
    return OPTIONS_BAD;
}

/* Messages may quote file and member names: what a terminal would obey is made visible. */
static void print_message(const char *prefix, const char *fmt, va_list args)
{
    char text[1024], safe[4 * sizeof text];
    vsnprintf(text, sizeof text, fmt, args);
    text_visible(text, safe, sizeof safe);
    fprintf(stderr, "%s%s\n", prefix, safe);
}

int usage_error(const struct command *command, const char *fmt, ...)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "anchorage %s: ", command->name);
    va_list args;
    va_start(args, fmt);
    print_message(prefix, fmt, args);
    va_end(args);
    fprintf(stderr, "usage: anchorage %s %s\n       `anchorage %s --help` explains\n", command->name,
            command->usage, command->name);
    return EXIT_USAGE;
}

void warning(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_message("anchorage: warning: ", fmt, args);
    va_end(args);
}

static void complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_message("anchorage: ", fmt, args);
    va_end(args);
}

int failure(const struct error *err)
{
    complain("%s", err->code == ERROR_NONE ? "failed without saying why" : err->msg);
    if (err->code == ERROR_DISK)
        complain(
            "make room, or see to that disk, and give the same command again: it goes on from what is whole");
    return err->code == ERROR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    return text_number(text, low, high, value);
}

bool parse_threads(const struct command *command, const char *argument, int *threads)
{
    uint64_t number;
    if (!parse_number(argument, 1, 1024, &number)) {
        usage_error(command, "-j takes a number from 1 to 1024, not '%s'", argument);
        return false;
    }
    *threads = (int)number;
    return true;
}

bool parse_size(const char *text, uint64_t *value)
{
    static const char units[] = "kmgt";
    char digits[24];
    size_t length = strspn(text, "0123456789");
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    const char *unit = text[length] ? strchr(units, tolower((unsigned char)text[length])) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (text[length] && (!unit || text[length + 1]))
        return false;
    if (!parse_number(digits, 0, UINT64_MAX >> shift, value))
        return false;
    *value <<= shift;
    return true;
}

bool print_failed(struct error *err)
{
    if (errno == EPIPE)
        return true; /* whoever read has seen enough */
    return error_set_system(err, ERROR_IO, errno ? errno : EIO, "writing to standard output");
}

bool flush_output(void)
{
    struct error err = {0};
    if (((fflush(stdout) == 0 && !ferror(stdout)) || print_failed(&err)) &&
        (text_is_whole() ||
         error_set(&err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory: what was printed is incomplete")))
        return true;
    failure(&err);
    return false;
}
