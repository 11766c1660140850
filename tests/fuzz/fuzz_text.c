/* fuzz_text.c - names and numbers on their way to people and back: addresses, JSON strings, terminal text,
 * f32.
 *
 * The input is a name of any bytes, a line that somebody typed, and a row of f32, all at once.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "pipeline/address.h"
#include "pipeline/signature.h"
#include "reports/export.h"
#include "reports/number.h"
#include "reports/text.h"
#include "reports/view.h"
#include "store/key.h"
#include "tests/fuzz/harness.h"

/* Judged by somebody else's decoder: jansson takes well-formed UTF-8 only. */
static bool is_utf8(const char *text)
{
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static void must_be_escaped(const char *text)
{
    MUST(is_utf8(text), "'%s'", text);
    MUST(!strpbrk(text, "!#"), "'%s'", text);
    for (const char *p = strchr(text, '%'); p; p = strchr(p + 1, '%'))
        MUST(strspn(p + 1, "0123456789ABCDEF") >= 2, "'%s'", text);
}

/* Any bytes can be written as an address and be had back. */
static void escape_round_trip(const char *bytes, size_t size)
{
    size_t back_size;
    char *text = address_escape(bytes, size);
    char *back = address_unescape(text, strlen(text), &back_size);
    must_be_escaped(text);
    MUST(back_size == size && memcmp(back, bytes, size) == 0, "'%s'", text);
    MUST(back[back_size] == '\0', "'%s'", text);
    free(text);
    free(back);
}

/* A path that was cleaned up once is clean. */
static void paths_are_stable(const char *bytes, size_t size, const char *line)
{
    size_t plain_size;
    char *member = address_of_member(bytes, size);
    must_be_escaped(member);
    char *plain = address_unescape(member, strlen(member), &plain_size);
    char *again = address_of_member(plain, plain_size);
    MUST(strcmp(member, again) == 0, "member '%s', then '%s'", member, again);
    MUST(!strstr(member, "//"), "'%s'", member);
    free(plain);
    free(again);
    char *input = address_of_input(line);
    must_be_escaped(input);
    plain = address_unescape(input, strlen(input), NULL);
    again = address_of_input(plain);
    MUST(strcmp(input, again) == 0, "input '%s', then '%s'", input, again);
    free(plain);
    free(again);
    free(input);
    free(member);
}

static void parse_is_a_cut(const char *line)
{
    struct address address;
    MUST(address_parse(line, &address), "out of memory");
    size_t length = strlen(address.container);
    MUST(strncmp(line, address.container, length) == 0 && !strchr(address.container, '#'), "'%s'", line);
    if (address.resource) {
        MUST(line[length] == '#' && strcmp(line + length + 1, address.resource) == 0, "'%s'", line);
        bool digits = *address.resource && strspn(address.resource, "0123456789") == strlen(address.resource);
        MUST(address.by_index == digits, "'%s'", line);
        char text[16];
        snprintf(text, sizeof text, "%u", address.index);
        size_t zeros = strspn(address.resource, "0");
        const char *number = address.resource + zeros;
        MUST(!digits || address.index == UINT32_MAX || strcmp(*number ? number : "0", text) == 0,
             "'%s' is %u", line, address.index);
    } else {
        MUST(line[length] == '\0' && !address.by_index, "'%s'", line);
    }
    address_free(&address);
    char *stem = address_stem(line);
    MUST(stem && (is_utf8(stem) || !is_utf8(line)), "the stem of '%s'", line);
    free(stem);
}

/* ---- what people see ----------------------------------------------------------------------------------- */

/* No byte that moves a cursor: ASCII controls, DEL, and the UTF-8 of C1 and of what turns a line around. */
static void must_be_visible(const char *text)
{
    static const char *const forbidden[] = {"\xC2\x80",     "\xC2\x9B",     "\xE2\x80\x8B", "\xE2\x80\x8E",
                                            "\xE2\x80\x8F", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAA",
                                            "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9", "\xD8\x9C",
                                            "\xEF\xBB\xBF"};
    MUST(is_utf8(text), "'%s'", text);
    for (const char *p = text; *p; p++)
        MUST((unsigned char)*p >= 0x20 && *p != 0x7F, "byte %02X", (unsigned char)*p);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        MUST(!strstr(text, forbidden[i]), "sequence %zu", i);
}

static void visible_text(const char *line, size_t size)
{
    size_t ample = size * 10 + 1;
    char *whole = malloc(ample), *again = malloc(ample);
    text_visible(line, whole, ample);
    must_be_visible(whole);
    text_visible(whole, again, ample);
    MUST(strcmp(whole, again) == 0, "'%s' is made visible twice", whole);
    MUST(text_width(whole) <= strlen(whole), "'%s'", whole);
    for (size_t room = 1; room < 24; room++) {
        char *cut = malloc(room);
        text_visible(line, cut, room);
        MUST(strlen(cut) < room && strncmp(cut, whole, strlen(cut)) == 0, "%zu bytes of room: '%s'", room,
             cut);
        must_be_visible(cut);
        free(cut);
    }
    free(whole);
    free(again);
}

static void json_text(const char *line)
{
    json_t *value = json_of_bytes(line);
    MUST(value, "out of memory");
    MUST(!is_utf8(line) || strcmp(json_string_value(value), line) == 0, "'%s'", line);
    char *text = json_dumps(value, JSON_PRINT | JSON_ENCODE_ANY);
    json_t *back = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    MUST(back && json_equal(value, back), "'%s'", text ? text : "");
    free(text);
    json_decref(value);
    json_decref(back);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* Digits between the first and the last that are not zero. */
static int significant_digits(const char *text)
{
    int count = 0, kept = 0;
    for (const char *p = text; *p && *p != 'e'; p++) {
        bool digit = *p >= '0' && *p <= '9';
        count += digit && (count || *p != '0');
        kept = digit && *p != '0' ? count : kept;
    }
    return kept;
}

static void float_is_shortest(float value)
{
    char text[FLOAT_TEXT_SIZE], printed[FLOAT_TEXT_SIZE];
    size_t length = float_text(value, text);
    MUST(length == strlen(text) && length < sizeof text, "'%s'", text);
    if (!isfinite(value)) {
        MUST(strcmp(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf") == 0, "'%s'", text);
        return;
    }
    MUST(bits_of_float(strtof(text, NULL)) == bits_of_float(value), "'%s' is not %a", text, (double)value);
    json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
    MUST(json_is_number(number), "'%s' is no JSON number", text);
    json_decref(number);
    int digits = 1;
    do
        snprintf(printed, sizeof printed, "%.*g", digits, (double)value);
    while (strtof(printed, NULL) != value && digits++ < 9);
    MUST(significant_digits(text) <= digits, "'%s', and '%s' would do", text, printed);
    json_t *json = json_of_f32(value);
    char *dumped = json_dumps(json, JSON_PRINT | JSON_ENCODE_ANY);
    MUST(dumped && strtof(dumped, NULL) == value, "%s is not %a", dumped ? dumped : "", (double)value);
    free(dumped);
    json_decref(json);
}

static void other_numbers(const uint8_t *bytes)
{
    char text[28];
    uint64_t value = (uint64_t)load_u32be(bytes) << 32 | load_u32be(bytes + 4);
    double seconds;
    memcpy(&seconds, bytes, sizeof seconds);
    text_bytes(value, text);
    MUST(strlen(text) < 16 && strchr(text, 'B'), "%s", text);
    text_count(value, text);
    MUST(text[0] >= '0' && text[0] <= '9', "%s", text);
    text_duration(seconds, text);
    MUST(text[0] && strlen(text) < 16, "%s", text);
    time_text((int64_t)value, text);
    MUST(strlen(text) < 24, "%s", text);
}

static void hash_text(const char *line)
{
    struct hash hash;
    char text[HASH_HEX];
    enum export_format format;
    if (hash_parse(line, &hash)) {
        hash_format(&hash, text);
        MUST(strcasecmp(text, line) == 0, "'%s'", line);
    }
    if (export_parse(line, &format))
        MUST((unsigned)format < EXPORT_FORMAT_COUNT, "'%s'", line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    if (size)
        memcpy(line, data, size);
    line[size] = '\0';
    escape_round_trip((const char *)data, size);
    paths_are_stable((const char *)data, size, line);
    parse_is_a_cut(line);
    visible_text(line, strlen(line));
    json_text(line);
    hash_text(line);
    (void)signature_of(data, size < SIGNATURE_HEAD ? size : SIGNATURE_HEAD);
    for (size_t at = 0; at + 4 <= size; at += 4)
        float_is_shortest(load_f32le(data + at));
    for (size_t at = 0; at + 8 <= size; at += 8)
        other_numbers(data + at);
    free(line);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const lines[] = {
        "",
        ".",
        "./",
        ".//a//b/",
        "disc.iso!hidden/resource3d/Stage_S02.xpr#e003",
        "a%zip!b.7z!c~2#4294967296",
        "x#007",
        "a%21b%2g%",
        "\xff\xc3\x28\xed\xa0\x80\xf4\x90\x80\x80",
        "caf\xc3\xa9 \xe2\x80\xae \xc2\x9b \x1b[31m \xef\xbb\xbf",
        "0123456789abcdef0123456789ABCDEF",
        "mesh.GLB",
        ".hidden",
        "dir/.tar.gz",
        "\xf0\x9f\x9a\xa2 \xe8\x88\xb9",
    };
    static const float values[] = {0.1f,          -0.0f,  1e30f,           16777216, 8388607.5f, 1e-45f,
                                   3.4028235e38f, 24.55f, 1.17549435e-38f, 0x1p-96f, 0x1p87f,    0x1p90f,
                                   INFINITY,      NAN};
    char name[32];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(name, sizeof name, "line-%02zu", i);
        put_seed(name, lines[i], strlen(lines[i]));
    }
    put_seed("floats", values, sizeof values);
}
