/* http.c - see http.h */
#include "reports/http.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool malformed(struct error *err, const char *what)
{
    return error_set(err, ERROR_MALFORMED, ERROR_NO_OFFSET, "%s", what);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *percent_decode(const char *text, size_t length, bool form, struct arena *arena,
                                  struct error *err)
{
    char *out = arena_alloc(arena, length + 1);
    size_t used = 0;
    if (!out) {
        error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        int high = -1, low = -1;
        if (text[i] != '%') {
            out[used++] = form && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        if (length - i > 2) {
            high = hex_digit(text[i + 1]);
            low = hex_digit(text[i + 2]);
        }
        if (high < 0 || low < 0 || (high | low) == 0) {
            malformed(err, high < 0 || low < 0
                               ? "'%' must be followed by two hexadecimal digits; '%' itself is %25"
                               : "%00 is in no name");
            return NULL;
        }
        out[used++] = (char)(high << 4 | low);
        i += 2;
    }
    out[used] = '\0';
    return out;
}

static bool add_parameter(const char *text, size_t length, struct arena *arena, struct http_target *out,
                          struct error *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    const char *name = percent_decode(text, name_length, true, arena, err);
    const char *value = name ? percent_decode(text + name_length + !!equals, length - name_length - !!equals,
                                              true, arena, err)
                             : NULL;
    if (!value)
        return false;
    if (http_parameter(out, name))
        return error_set(err, ERROR_MALFORMED, ERROR_NO_OFFSET, "the parameter '%.60s' is given twice", name);
    if (out->parameter_count == HTTP_PARAMETERS_MOST)
        return malformed(err, "too many parameters");
    out->parameters[out->parameter_count++] = (struct http_parameter){name, value};
    return true;
}

bool http_target_parse(const char *text, struct arena *arena, struct http_target *out, struct error *err)
{
    memset(out, 0, sizeof *out);
    if (text[0] != '/')
        return malformed(err, "the request target is no path");
    size_t length = strcspn(text, "?#");
    if (!(out->path = percent_decode(text, length, false, arena, err)))
        return false;
    if (text[length] != '?')
        return true;
    for (const char *at = text + length + 1; *at && *at != '#';) {
        size_t piece = strcspn(at, "&#");
        if (piece && !add_parameter(at, piece, arena, out, err))
            return false;
        at += piece + (at[piece] == '&');
    }
    return true;
}

const char *http_parameter(const struct http_target *target, const char *name)
{
    for (size_t i = 0; i < target->parameter_count; i++)
        if (strcmp(target->parameters[i].name, name) == 0)
            return target->parameters[i].value;
    return NULL;
}

bool http_host_is_ours(const char *host, const char *name)
{
    char bare[256];
    struct in_addr four;
    struct in6_addr six;
    bool bracket = host[0] == '[';
    const char *start = host + bracket, *end = bracket ? strchr(host, ']') : host + strcspn(host, ":");
    if (!end || (size_t)(end - start) >= sizeof bare)
        return false;
    const char *port = end + bracket;
    if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return false;
    memcpy(bare, start, (size_t)(end - start));
    bare[end - start] = '\0';
    if (bracket)
        return inet_pton(AF_INET6, bare, &six) == 1;
    return inet_pton(AF_INET, bare, &four) == 1 || strcasecmp(bare, "localhost") == 0 ||
           (name && strcasecmp(bare, name) == 0);
}

bool http_tag_matches(const char *header, const char *tag)
{
    size_t length = strlen(tag);
    for (const char *at = header; at && *at;) {
        at += strspn(at, ", \t");
        if (*at == '*')
            return true;
        if (at[0] == 'W' &&
            at[1] == '/') /* a weak tag of equal text says as much to a GET (RFC 9110, 13.1.2) */
            at += 2;
        if (strncmp(at, tag, length) == 0)
            return true;
        if (*at == '"') {
            const char *close = strchr(at + 1, '"');
            at = close ? close + 1 : at + strlen(at);
        } else {
            at += strcspn(at, ",");
        }
    }
    return false;
}
