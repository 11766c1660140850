/* captures.c - see captures.h */
#include "pipeline/captures.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/json_whole.h"

/* ---- lines --------------------------------------------------------------------------------------------- */

struct parse {
    struct capture_list *list;
    size_t line, room;
    struct error *err;
};

static bool bad_line(const struct parse *parse, const char *what)
{
    return error_set(parse->err, ERROR_USAGE, ERROR_NO_OFFSET, "captures: line %zu: %s", parse->line, what);
}

static bool out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, ERROR_NO_OFFSET, "out of memory while reading captures");
}

/* A whole number of an object within 0..most. */
static bool number_of(const json_t *object, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool parse_buffer(const json_t *object, struct buffer_place *out)
{
    uint64_t index_count, vertex_count, stride;
    if (!number_of(object, "index_offset", INT64_MAX, &out->index_offset) ||
        !number_of(object, "vertex_offset", INT64_MAX, &out->vertex_offset) ||
        !number_of(object, "index_count", UINT32_MAX, &index_count) ||
        !number_of(object, "vertex_count", UINT32_MAX, &vertex_count) ||
        !number_of(object, "stride", UINT32_MAX, &stride))
        return false;
    out->index_count = (uint32_t)index_count;
    out->vertex_count = (uint32_t)vertex_count;
    out->stride = (uint32_t)stride;
    return true;
}

static bool parse_buffers(const struct parse *parse, const json_t *list, struct capture_record *out)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0 || count > 4096)
        return bad_line(parse,
                        "\"buffers\" must be a list of buffers as `query --json` prints them, or null");
    out->buffer_count = (uint32_t)count;
    out->buffers = arena_array(&parse->list->arena, count, sizeof *out->buffers);
    if (!out->buffers)
        return out_of_memory(parse->err);
    for (size_t i = 0; i < count; i++)
        if (!parse_buffer(json_array_get(list, i), &out->buffers[i]))
            return bad_line(
                parse, "a buffer needs index_offset, index_count, vertex_offset, vertex_count and stride");
    return true;
}

static bool parse_sign(const struct parse *parse, const json_t *value, struct capture_line *out)
{
    double sign = json_number_value(value); /* engines print 1.0 as well as 1 */
    out->record.kind = CAPTURE_ROW0;
    out->withdraws = json_is_null(value);
    if (out->withdraws)
        return true;
    if (!json_is_number(value) || (sign != 1 && sign != -1))
        return bad_line(parse, "\"row0_x\" must be 1, -1 or null");
    out->record.row0_x = sign > 0 ? 1 : -1;
    return true;
}

static bool parse_object(const struct parse *parse, json_t *object, struct capture_line *out)
{
    const char *resource = json_string_value(json_object_get(object, "resource"));
    const char *container = json_string_value(json_object_get(object, "container"));
    const json_t *sign = json_object_get(object, "row0_x"), *buffers = json_object_get(object, "buffers");
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "resource") != 0 && strcmp(key, "container") != 0 && strcmp(key, "row0_x") != 0 &&
            strcmp(key, "buffers") != 0)
            return bad_line(
                parse,
                "an object of \"resource\" and \"row0_x\", or \"container\" and \"buffers\", is wanted");
    }
    if (!resource || !*resource)
        return bad_line(parse, "\"resource\" must be a name");
    if (!sign == !buffers || !buffers != !container)
        return bad_line(parse, "either \"row0_x\", or \"container\" and \"buffers\" are wanted");
    struct capture_record *record = &out->record;
    record->resource = arena_copy(&parse->list->arena, resource, strlen(resource));
    if (!record->resource)
        return out_of_memory(parse->err);
    if (sign)
        return parse_sign(parse, sign, out);
    record->kind = CAPTURE_PLACE;
    record->container = arena_copy(&parse->list->arena, container, strlen(container));
    if (!record->container)
        return out_of_memory(parse->err);
    out->withdraws = json_is_null(buffers);
    return out->withdraws || parse_buffers(parse, buffers, record);
}

static bool parse_line(struct parse *parse, const char *text, size_t size)
{
    json_error_t fault;
    struct capture_list *list = parse->list;
    if (list->count == parse->room) {
        size_t room = parse->room ? 2 * parse->room : 64;
        struct capture_line *lines = realloc(list->lines, room * sizeof *lines);
        if (!lines)
            return out_of_memory(parse->err);
        list->lines = lines;
        parse->room = room;
    }
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);
    if (!object && json_lacked_memory())
        return out_of_memory(parse->err);
    struct capture_line *line = &list->lines[list->count];
    *line = (struct capture_line){.withdraws = false};
    bool ok = json_is_object(object) ? parse_object(parse, object, line)
                                     : bad_line(parse, object ? "no JSON object" : fault.text);
    json_decref(object);
    list->count += ok;
    return ok;
}

static bool is_blank(const char *text, size_t size)
{
    return strspn(text, " \t\r") >= size;
}

bool captures_parse(const char *text, size_t size, struct capture_list *list, struct error *err)
{
    struct parse parse = {.list = list, .err = err};
    const char *end = text + size;
    *list = (struct capture_list){0};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        parse.line++;
        if (memchr(text, 0, length))
            return bad_line(&parse, "a NUL inside");
        if (!is_blank(text, length) && !parse_line(&parse, text, length))
            return false;
        text += length + 1;
    }
    return true;
}

bool captures_read(const char *path, struct capture_list *list, struct error *err)
{
    struct buffer text = {0};
    FILE *file = fopen(path, "rbe");
    bool ok = file != NULL;
    *list = (struct capture_list){0};
    while (ok && !feof(file)) {
        uint8_t *room = buffer_extend(&text, 65536);
        if (!room) {
            ok = out_of_memory(err);
            break;
        }
        size_t got = fread(room, 1, 65536, file);
        text.size -= 65536 - got;
        ok = !ferror(file);
        if (ok && text.size > CAPTURES_BYTES_MAX)
            ok = error_set(err, ERROR_USAGE, ERROR_NO_OFFSET, "%s has more than 64 MiB of captures", path);
    }
    if (!ok)
        error_set_system(err, ERROR_IO, errno, "cannot read the captures %s", path);
    if (file)
        fclose(file);
    buffer_append(&text, "", 1); /* strspn needs an end */
    if (ok && text.failed)
        ok = out_of_memory(err);
    ok = ok && captures_parse((const char *)text.data, text.size - 1, list, err);
    buffer_free(&text);
    return ok;
}

void captures_free(struct capture_list *list)
{
    free(list->lines);
    arena_free(&list->arena);
    *list = (struct capture_list){0};
}

/* ---- into the store ------------------------------------------------------------------------------------ */

struct put {
    const struct capture_list *list;
    uint64_t changed;
};

/* The stored captures while lines are applied to them. */
struct stored {
    struct capture_record *list;
    bool *gone;
    size_t count;
    uint64_t next; /* order of the next one */
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_about_the_same(const struct capture_record *a, const struct capture_record *b)
{
    return a->kind == b->kind && same_text(a->resource, b->resource) && same_text(a->container, b->container);
}

static bool withdraw(struct store_txn *txn, struct stored *stored, const struct capture_record *what,
                     uint64_t *changed, struct error *err)
{
    for (size_t i = 0; i < stored->count; i++) {
        if (stored->gone[i] || !is_about_the_same(&stored->list[i], what))
            continue;
        if (!store_drop_capture(txn, &stored->list[i], err))
            return false;
        stored->gone[i] = true;
        (*changed)++;
    }
    return true;
}

static bool add(struct store_txn *txn, struct stored *stored, const struct capture_record *what,
                uint64_t *changed, struct error *err)
{
    struct hash key, other;
    if (!capture_key(what, &key))
        return out_of_memory(err);
    for (size_t i = 0; i < stored->count; i++) {
        if (stored->gone[i] || !is_about_the_same(&stored->list[i], what))
            continue;
        if (!capture_key(&stored->list[i], &other))
            return out_of_memory(err);
        if (hash_equal(&key, &other))
            return true;
    }
    struct capture_record *record = &stored->list[stored->count++];
    *record = *what;
    record->order = stored->next++;
    (*changed)++;
    return store_put_capture(txn, record, err);
}

static bool put_captures(struct store_txn *txn, void *ctx, struct error *err)
{
    struct put *put = ctx;
    struct arena arena = {0};
    struct stored stored = {0};
    struct capture_record *was;
    put->changed = 0;
    bool ok = store_get_captures(txn, &arena, &was, &stored.count, err);
    size_t room = ok ? stored.count + put->list->count : 0;
    if (ok) {
        stored.list = arena_array(&arena, room, sizeof *stored.list);
        stored.gone = arena_array(&arena, room, sizeof *stored.gone);
        ok = (stored.list && stored.gone) || out_of_memory(err);
    }
    if (ok && stored.count) {
        memcpy(stored.list, was, stored.count * sizeof *was);
        stored.next = was[stored.count - 1].order + 1;
    }
    for (size_t i = 0; ok && i < put->list->count; i++) {
        const struct capture_line *line = &put->list->lines[i];
        ok = line->withdraws ? withdraw(txn, &stored, &line->record, &put->changed, err)
                             : add(txn, &stored, &line->record, &put->changed, err);
    }
    arena_free(&arena);
    return ok;
}

bool captures_store(struct store *store, const struct capture_list *list, uint64_t *changed,
                    struct error *err)
{
    struct put put = {.list = list};
    bool ok = store_update(store, put_captures, &put, err);
    *changed = put.changed;
    return ok;
}
