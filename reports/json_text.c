/* json_text.c - see json_text.h */
#include "reports/json_text.h"

#include <math.h>
#include <stdio.h>

#include "reports/number.h"
#include "reports/text.h"

/* Room for `size` bytes and a comma, which is written when what stands before asks for one. A page is half a
 * million values: each takes its room once and gives back what it did not need. NULL when memory ran out. */
static uint8_t *begin(struct buffer *out, size_t size)
{
    uint8_t *at = buffer_extend(out, size + 1);
    if (!at)
        return NULL;
    uint8_t last = at > out->data ? at[-1] : '[';
    if (last != '[' && last != '{' && last != ':' && last != ',')
        *at++ = ',';
    return at;
}

static void end(struct buffer *out, const uint8_t *at)
{
    out->size = (size_t)(at - out->data);
}

void json_text_open(struct buffer *out, char bracket)
{
    uint8_t *at = begin(out, 1);
    if (at) {
        *at++ = (uint8_t)bracket;
        end(out, at);
    }
}

void json_text_close(struct buffer *out, char bracket)
{
    buffer_append(out, &bracket, 1);
}

void json_text_raw(struct buffer *out, const char *json, size_t size)
{
    uint8_t *at = begin(out, size);
    if (at) {
        if (size)
            memcpy(at, json, size);
        end(out, at + size);
    }
}

void json_text_document(struct buffer *out, const char *json)
{
    json_text_raw(out, "", 0); /* its comma */
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

void json_text_count(struct buffer *out, uint64_t value)
{
    uint8_t *at = begin(out, 20);
    if (at)
        end(out, (uint8_t *)count_text(value, 1, (char *)at));
}

void json_text_f32(struct buffer *out, float value)
{
    if (!isfinite(value)) {
        json_text_null(out);
        return;
    }
    uint8_t *at = begin(out, FLOAT_TEXT_SIZE);
    if (at)
        end(out, at + float_text(value, (char *)at));
}

void json_text_odds(struct buffer *out, double value)
{
    if (!(fabs(value) < 1e15)) {
        json_text_null(out);
        return;
    }
    uint64_t hundredths = (uint64_t)llround(fabs(value) * 100);
    uint8_t *at = begin(out, 32);
    if (!at)
        return;
    if (value < 0 && hundredths)
        *at++ = '-';
    at = (uint8_t *)count_text(hundredths / 100, 1, (char *)at);
    if (hundredths % 100) {
        *at++ = '.';
        at = (uint8_t *)count_text(hundredths % 100, 2, (char *)at);
    }
    end(out, at);
}

static uint8_t *put_escape(uint8_t *at, unsigned char byte, bool is_character)
{
    static const char hex[] = "0123456789abcdef", HEX[] = "0123456789ABCDEF";
    if (is_character) {
        memcpy(at, "\\u00", 4);
        at[4] = (uint8_t)hex[byte >> 4];
        at[5] = (uint8_t)hex[byte & 15];
        return at + 6;
    }
    at[0] = '%';
    at[1] = (uint8_t)HEX[byte >> 4];
    at[2] = (uint8_t)HEX[byte & 15];
    return at + 3;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<';
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The highest bit of each byte that is zero; of a byte above a zero one perhaps as well. */
static uint64_t zero_bytes(uint64_t word)
{
    return (word - EACH_BYTE(1)) & ~word;
}

/* Whether all eight are plain: what most of any name is. */
static bool are_plain(uint64_t word)
{
    uint64_t other = word | (word + EACH_BYTE(1)) | (word - EACH_BYTE(0x20)) |
                     zero_bytes(word ^ EACH_BYTE('"')) | zero_bytes(word ^ EACH_BYTE('\\')) |
                     zero_bytes(word ^ EACH_BYTE('<'));
    return !(other & EACH_BYTE(0x80));
}

void json_text_string(struct buffer *out, const char *string)
{
    if (!string) {
        json_text_null(out);
        return;
    }
    const unsigned char *text = (const unsigned char *)string;
    size_t left = strlen(string);
    uint8_t *at = begin(out, 6 * left + 2); /* an escape is six bytes at most */
    if (!at)
        return;
    *at++ = '"';
    while (left) {
        uint32_t code;
        uint64_t word;
        size_t step = 1;
        if (left >= sizeof word && (memcpy(&word, text, sizeof word), are_plain(word))) {
            memcpy(at, &word, step = sizeof word);
            at += step;
        } else if (is_plain(*text)) {
            *at++ = *text;
        } else if (*text < 0x80) {
            at = put_escape(at, *text, true);
        } else if ((step = text_utf8(text, left, &code)) != 0) {
            memcpy(at, text, step);
            at += step;
        } else {
            step = 1;
            at = put_escape(at, *text, false);
        }
        text += step;
        left -= step;
    }
    *at++ = '"';
    end(out, at);
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
