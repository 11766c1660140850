/* parcel.c - see parcel.h */
#include "pipeline/parcel.h"

#include <string.h>

#include "pipeline/census.h"

#define ALIGN 16

/* In front of the strings, the census and the content, in this order. A length counts the NUL behind it; 0:
 * NULL. */
struct head {
    uint64_t whole, content, bytes, members, member_count;
    int64_t mtime_ns;
    struct hash hash;
    uint32_t kind, format, status, reason, flags, version, census_count;
    uint32_t path, parent, name, message, images;
    uint64_t readable, first_failed, place_failed;
    struct shard_deal deal;
    uint32_t place_reason, place_message;
    uint8_t is_input, ambiguous_format, in_parts, foreign;
    char magic[CENSUS_MAGIC_SIZE], ending[CENSUS_ENDING_SIZE];
};

struct packed_row {
    uint64_t count, bytes;
    char magic[CENSUS_MAGIC_SIZE], ending[CENSUS_ENDING_SIZE];
};

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static uint32_t length_of(const char *text)
{
    return text ? (uint32_t)strlen(text) + 1 : 0;
}

static size_t strings_size(const struct head *head)
{
    return (size_t)head->path + head->parent + head->name + head->message + head->place_message +
           head->images;
}

/* The head of a parcel with all sizes filled in. */
static struct head head_of(const struct parcel *parcel)
{
    const struct extracted *item = &parcel->item;
    struct head head = {
        .content = item->kind == EXTRACT_BYTES ? item->size : 0,
        .bytes = item->bytes,
        .members = parcel->members,
        .member_count = item->member_count,
        .mtime_ns = item->mtime_ns,
        .hash = item->hash,
        .kind = item->kind,
        .format = item->format,
        .status = item->status,
        .reason = item->reason,
        .flags = item->flags,
        .version = parcel->version,
        .census_count = item->census_count,
        .path = length_of(item->path),
        .parent = length_of(item->parent_path),
        .name = length_of(item->name),
        .message = length_of(item->message),
        .place_message = length_of(item->place_message),
        .images = length_of(item->images),
        .place_reason = item->place_reason,
        .readable = item->readable,
        .first_failed = item->first_failed,
        .place_failed = item->place_failed,
        .deal = parcel->deal,
        .in_parts = item->in_parts,
        .foreign = item->foreign,
        .is_input = item->is_input,
        .ambiguous_format = item->ambiguous_format,
    };
    memcpy(head.magic, item->magic, sizeof head.magic);
    memcpy(head.ending, item->ending, sizeof head.ending);
    head.whole = aligned(aligned(sizeof head) + strings_size(&head)) +
                 aligned((size_t)head.census_count * sizeof(struct packed_row)) +
                 aligned((size_t)head.content);
    return head;
}

size_t parcel_size(const struct parcel *parcel)
{
    return (size_t)head_of(parcel).whole;
}

static uint8_t *pack_string(uint8_t *at, const char *text, uint32_t length)
{
    if (length)
        memcpy(at, text, length);
    return at + length;
}

void parcel_pack(const struct parcel *parcel, uint8_t *at)
{
    const struct extracted *item = &parcel->item;
    struct head head = head_of(parcel);
    memcpy(at, &head, sizeof head);
    uint8_t *text = at + aligned(sizeof head);
    text = pack_string(text, item->path, head.path);
    text = pack_string(text, item->parent_path, head.parent);
    text = pack_string(text, item->name, head.name);
    text = pack_string(text, item->message, head.message);
    text = pack_string(text, item->place_message, head.place_message);
    pack_string(text, item->images, head.images);
    uint8_t *rows = at + aligned(aligned(sizeof head) + strings_size(&head));
    for (uint32_t i = 0; i < head.census_count; i++) {
        struct packed_row row = {.count = item->census[i].count, .bytes = item->census[i].bytes};
        strncpy(row.magic, item->census[i].magic, sizeof row.magic - 1);
        strncpy(row.ending, item->census[i].ending, sizeof row.ending - 1);
        memcpy(rows + i * sizeof row, &row, sizeof row);
    }
    if (head.content)
        memcpy(rows + aligned(head.census_count * sizeof(struct packed_row)), item->data,
               (size_t)head.content);
}

/* Whether the head's numbers are such as the program writes, and all of it fits. */
static bool is_sound(const struct head *head, size_t left)
{
    size_t strings = aligned(aligned(sizeof *head) + strings_size(head));
    size_t census = aligned((size_t)head->census_count * sizeof(struct packed_row));
    return head->whole <= left && strings <= head->whole && census <= head->whole - strings &&
           head->content <= head->whole - strings - census && head->whole % ALIGN == 0 &&
           head->kind <= EXTRACT_UNCHANGED && head->format < FORMAT_COUNT &&
           head->status <= CONTAINER_SKIPPED && head->reason < CONTAINER_REASON_COUNT &&
           head->place_reason < CONTAINER_REASON_COUNT && head->path &&
           (head->kind != EXTRACT_BYTES || head->name) && head->magic[CENSUS_MAGIC_SIZE - 1] == '\0' &&
           head->ending[CENSUS_ENDING_SIZE - 1] == '\0';
}

/* The next string in place; *sound is cleared when it does not end where it should. */
static char *unpack_string(const uint8_t **at, uint32_t length, bool *sound)
{
    const uint8_t *text = *at;
    if (!length)
        return NULL;
    *at += length;
    *sound &= text[length - 1] == '\0';
    return (char *)(uintptr_t)text;
}

static bool unpack_census(const uint8_t *rows, struct arena *arena, struct extracted *item)
{
    const struct packed_row *packed = (const struct packed_row *)rows;
    item->census = arena_array(arena, item->census_count, sizeof *item->census);
    if (!item->census)
        return false;
    for (uint32_t i = 0; i < item->census_count; i++) {
        if (packed[i].magic[CENSUS_MAGIC_SIZE - 1] || packed[i].ending[CENSUS_ENDING_SIZE - 1])
            return false;
        item->census[i] =
            (struct census_row){packed[i].magic, packed[i].ending, packed[i].count, packed[i].bytes};
    }
    return true;
}

size_t parcel_unpack(const uint8_t *at, size_t left, struct arena *arena, struct parcel *parcel)
{
    struct head head;
    struct extracted *item = &parcel->item;
    if (left < sizeof head)
        return 0;
    memcpy(&head, at, sizeof head);
    if (!is_sound(&head, left))
        return 0;
    bool sound = true;
    const uint8_t *text = at + aligned(sizeof head);
    const uint8_t *rows = at + aligned(aligned(sizeof head) + strings_size(&head));
    memset(parcel, 0, sizeof *parcel);
    parcel->version = head.version;
    parcel->members = head.members;
    item->kind = (enum extract_kind)head.kind;
    item->path = unpack_string(&text, head.path, &sound);
    item->parent_path = unpack_string(&text, head.parent, &sound);
    item->name = unpack_string(&text, head.name, &sound);
    const char *message = unpack_string(&text, head.message, &sound);
    const char *place = unpack_string(&text, head.place_message, &sound);
    item->images = unpack_string(&text, head.images, &sound);
    if (!sound || head.message > sizeof item->message || head.place_message > sizeof item->place_message)
        return 0;
    if (message)
        memcpy(item->message, message, head.message);
    if (place)
        memcpy(item->place_message, place, head.place_message);
    parcel->deal = head.deal;
    item->in_parts = head.in_parts;
    item->foreign = head.foreign;
    item->readable = head.readable;
    item->first_failed = head.first_failed;
    item->place_failed = head.place_failed;
    item->place_reason = (enum container_reason)head.place_reason;
    item->is_input = head.is_input;
    item->format = (enum format_id)head.format;
    item->ambiguous_format = head.ambiguous_format;
    item->data = (uint8_t *)(uintptr_t)rows + aligned((size_t)head.census_count * sizeof(struct packed_row));
    item->size = (size_t)head.content;
    item->bytes = head.bytes;
    item->mtime_ns = head.mtime_ns;
    item->hash = head.hash;
    item->status = (enum container_status)head.status;
    item->reason = (enum container_reason)head.reason;
    item->flags = head.flags;
    memcpy(item->magic, head.magic, sizeof item->magic);
    memcpy(item->ending, head.ending, sizeof item->ending);
    item->member_count = head.member_count;
    item->census_count = head.census_count;
    if (head.census_count && !unpack_census(rows, arena, item))
        return 0;
    return (size_t)head.whole;
}
