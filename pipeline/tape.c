/* tape.c - see tape.h */
#include "pipeline/tape.h"

#include <string.h>

#define ALIGN 8

struct packed {
    uint32_t kind, whole;
    struct hash hash;
};

struct packed_event {
    struct packed head;
    uint64_t bytes;
    uint32_t order, kind, format, status, reason, resources, declined, ambiguous;
    uint32_t path, message; /* lengths with their NULs; 0: NULL */
    uint32_t known;
};

struct packed_end {
    struct packed head;
    uint64_t members;
};

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static size_t write_event(uint8_t *at, size_t room, const struct tape_record *record)
{
    const struct ingest_event *event = &record->event;
    size_t path = strlen(event->path) + 1, message = event->message ? strlen(event->message) + 1 : 0;
    size_t whole = aligned(sizeof(struct packed_event) + path + message);
    if (whole > room || whole > UINT32_MAX)
        return 0;
    const struct packed_event packed = {
        .head = {TAPE_EVENT, (uint32_t)whole, record->hash},
        .bytes = event->bytes,
        .order = record->order,
        .kind = event->kind,
        .format = event->format,
        .status = event->status,
        .reason = event->reason,
        .resources = event->resources,
        .declined = event->declined,
        .ambiguous = event->ambiguous,
        .path = (uint32_t)path,
        .message = (uint32_t)message,
        .known = event->known,
    };
    memcpy(at, &packed, sizeof packed);
    memcpy(at + sizeof packed, event->path, path);
    if (message)
        memcpy(at + sizeof packed + path, event->message, message);
    return whole;
}

size_t tape_write(uint8_t *at, size_t room, const struct tape_record *record)
{
    if (record->kind == TAPE_EVENT)
        return write_event(at, room, record);
    const struct packed_end end = {{record->kind, sizeof end, record->hash}, record->members};
    if (room < sizeof end)
        return 0;
    memcpy(at, &end, sizeof end);
    return sizeof end;
}

static bool read_event(const uint8_t *at, size_t whole, struct tape_record *record)
{
    struct packed_event packed;
    if (whole < sizeof packed)
        return false;
    memcpy(&packed, at, sizeof packed);
    const char *text = (const char *)at + sizeof packed;
    size_t left = whole - sizeof packed;
    if (!packed.path || packed.path > left || packed.message > left - packed.path || text[packed.path - 1] ||
        (packed.message && text[packed.path + packed.message - 1]) || packed.kind > EXTRACT_UNCHANGED ||
        packed.format >= FORMAT_COUNT || packed.status > CONTAINER_SKIPPED ||
        packed.reason >= CONTAINER_REASON_COUNT)
        return false;
    record->order = packed.order;
    record->event = (struct ingest_event){
        .path = text,
        .kind = (enum extract_kind)packed.kind,
        .format = (enum format_id)packed.format,
        .status = (enum container_status)packed.status,
        .reason = (enum container_reason)packed.reason,
        .message = packed.message ? text + packed.path : NULL,
        .bytes = packed.bytes,
        .known = packed.known,
        .resources = packed.resources,
        .declined = packed.declined,
        .ambiguous = packed.ambiguous,
    };
    return true;
}

size_t tape_read(const uint8_t *at, size_t left, struct tape_record *record)
{
    struct packed head;
    struct packed_end end;
    if (left < sizeof end)
        return 0;
    memcpy(&head, at, sizeof head);
    if (head.whole < sizeof end || head.whole > left || head.whole % ALIGN)
        return 0;
    record->kind = (enum tape_kind)head.kind;
    record->hash = head.hash;
    if (head.kind == TAPE_EVENT)
        return read_event(at, head.whole, record) ? head.whole : 0;
    memcpy(&end, at, sizeof end);
    record->members = end.members;
    return head.kind == TAPE_KEY || head.kind == TAPE_END ? head.whole : 0;
}
