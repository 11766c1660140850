/* limits.c - see limits.h */
#include "cmd/limits.h"

#include "reports/text.h"

static bool set_number(const struct command *command, const char *name, const char *argument, uint64_t most,
                       uint64_t *value)
{
    if (parse_size(argument, value) && *value <= most)
        return true;
    usage_error(command, "--%s takes a whole number up to %llu, K, M, G or T behind it, not '%s'", name,
                (unsigned long long)most, argument);
    return false;
}

bool limit_option(const struct command *command, struct limit_settings *settings, int option,
                  const char *argument)
{
    struct extract_limits *limits = &settings->limits;
    uint64_t depth;
    switch ((enum limit_option)option) {
    case LIMIT_DEPTH:
        /* Each level has its buffers and its stack of readers; nobody nests by hand as deep as this. */
        if (!set_number(command, "max-depth", argument, 64, &depth))
            return false;
        limits->depth = (unsigned)depth;
        return true;
    case LIMIT_MEMBER:
        return set_number(command, "max-member", argument, INT64_MAX, &limits->member_bytes);
    case LIMIT_MEMBERS:
        return set_number(command, "max-members", argument, UINT32_MAX - 1, &limits->members);
    case LIMIT_EXPANDED:
        return set_number(command, "max-expanded", argument, INT64_MAX, &limits->expanded_bytes);
    case LIMIT_RATIO:
        return set_number(command, "max-ratio", argument, INT64_MAX, &limits->ratio);
    case LIMIT_SPOOL:
        return set_number(command, "spool", argument, INT64_MAX, &limits->spool_bytes);
    case LIMIT_TMP:
        settings->tmp = argument;
        return true;
    case LIMIT_OPTION_COUNT:
        break;
    }
    return false;
}

bool limit_extract_options(const struct limit_settings *settings, struct extract_options *options,
                           struct error *err)
{
    *options = (struct extract_options){.limits = settings->limits, .spool = spool_new(settings->tmp)};
    return options->spool || error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
}

uint32_t limit_conditions(const struct extract_limits *limits, struct limit_texts *texts,
                          struct run_condition *conditions)
{
    const struct {
        const char *name;
        uint64_t value;
        bool bytes;
    } rows[LIMIT_CONDITIONS] = {
        {"max-depth", limits->depth, false},     {"max-member", limits->member_bytes, true},
        {"max-members", limits->members, false}, {"max-expanded", limits->expanded_bytes, true},
        {"max-ratio", limits->ratio, false},     {"spool", limits->spool_bytes, true},
        {"max-seconds", limits->seconds, false},
    };
    for (int i = 0; i < LIMIT_CONDITIONS; i++) {
        char *text = texts->text[i];
        if (!rows[i].value && i > 0) /* a depth of 0 opens no archive in an archive */
            snprintf(text, sizeof texts->text[i], "none");
        else if (rows[i].bytes)
            text_bytes(rows[i].value, text);
        else
            text_count(rows[i].value, text);
        conditions[i] = (struct run_condition){rows[i].name, text};
    }
    return LIMIT_CONDITIONS;
}
