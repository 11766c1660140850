/* json_text.c - see json_text.h */
#include "reports/json_text.h"

#include <math.h>
#include <stdio.h>

#include "reports/number.h"
#include "reports/text.h"

/* What a value stands behind decides whether a comma comes first. */
static void separate(struct buffer *out)
{
    uint8_t last = out->size ? out->data[out->size - 1] : '[';
    if (last != '[' && last != '{' && last != ':' && last != ',')
        buffer_append(out, ",", 1);
}

void json_text_open(struct buffer *out, char bracket)
{
    separate(out);
    buffer_append(out, &bracket, 1);
}

void json_text_close(struct buffer *out, char bracket)
{
    buffer_append(out, &bracket, 1);
}

void json_text_raw(struct buffer *out, const char *json, size_t size)
{
    separate(out);
    buffer_append(out, json, size);
}

void json_text_document(struct buffer *out, const char *json)
{
    separate(out);
    while (*json) {
        size_t plain = strcspn(json, "<"); /* which only strings have */
        buffer_append(out, json, plain);
        json += plain;
        if (*json++)
            buffer_append(out, "\\u003c", 6);
        else
            break;
    }
}

void json_text_key(struct buffer *out, const char *key)
{
    json_text_string(out, key);
    buffer_append(out, ":", 1);
}

void json_text_null(struct buffer *out)
{
    json_text_raw(out, "null", 4);
}

void json_text_bool(struct buffer *out, bool value)
{
    json_text_raw(out, value ? "true" : "false", value ? 4 : 5);
}

static void append_count(struct buffer *out, uint64_t value, unsigned at_least)
{
    char digits[24];
    unsigned first = sizeof digits, end = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value || end - first < at_least);
    buffer_append(out, digits + first, end - first);
}

void json_text_count(struct buffer *out, uint64_t value)
{
    separate(out);
    append_count(out, value, 1);
}

void json_text_f32(struct buffer *out, float value)
{
    char text[FLOAT_TEXT_SIZE];
    if (!isfinite(value))
        json_text_null(out);
    else
        json_text_raw(out, text, float_text(value, text));
}

void json_text_odds(struct buffer *out, double value)
{
    if (!(fabs(value) < 1e15)) {
        json_text_null(out);
        return;
    }
    uint64_t hundredths = (uint64_t)llround(fabs(value) * 100);
    separate(out);
    if (value < 0 && hundredths)
        buffer_append(out, "-", 1);
    append_count(out, hundredths / 100, 1);
    if (hundredths % 100) {
        buffer_append(out, ".", 1);
        append_count(out, hundredths % 100, 2);
    }
}

static void append_escaped(struct buffer *out, unsigned char byte, bool is_character)
{
    char piece[8];
    int length = is_character ? snprintf(piece, sizeof piece, "\\u%04x", byte)
                              : snprintf(piece, sizeof piece, "%%%02X", byte);
    buffer_append(out, piece, (size_t)length);
}

/* Length of the bytes from `text` on that stand for themselves. */
static size_t plain_run(const unsigned char *text, size_t left)
{
    size_t run = 0;
    while (run < left && text[run] >= 0x20 && text[run] < 0x7F && text[run] != '"' && text[run] != '\\' &&
           text[run] != '<')
        run++;
    return run;
}

void json_text_string(struct buffer *out, const char *string)
{
    if (!string) {
        json_text_null(out);
        return;
    }
    separate(out);
    buffer_append(out, "\"", 1);
    const unsigned char *text = (const unsigned char *)string;
    for (size_t left = strlen(string); left;) {
        uint32_t code;
        size_t step = plain_run(text, left);
        if (step) {
            buffer_append(out, text, step);
        } else if (*text < 0x80) {
            step = 1;
            append_escaped(out, *text, true);
        } else if ((step = text_utf8(text, left, &code)) != 0) {
            buffer_append(out, text, step);
        } else {
            step = 1;
            append_escaped(out, *text, false);
        }
        text += step;
        left -= step;
    }
    buffer_append(out, "\"", 1);
}

void json_text_hash(struct buffer *out, const struct hash *hash)
{
    char text[HASH_HEX + 2] = "\"";
    if (hash_is_zero(hash)) {
        json_text_null(out);
        return;
    }
    hash_format(hash, text + 1);
    text[HASH_HEX] = '"';
    json_text_raw(out, text, HASH_HEX + 1);
}
