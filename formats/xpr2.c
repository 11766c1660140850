/* xpr2.c - XPR2, the packed-resource container of a console's development kit. See xpr2.h; the layout is
 * stated in formats/xpr2.md. Big-endian:
 *
 *   0x00 char[4] "XPR2"      0x08 u32 data size           0x10 entry[count], 16 bytes each:
 *   0x04 u32 header size     0x0C u32 entry count              char[4] tag, u32 descriptor offset,
 *                                                              u32 descriptor size, u32 name offset
 *
 * Offsets count from 0x0C and the data section begins at 0x0C + header size; in a legacy file both count four
 * and twelve bytes differently (struct directory).
 */
#include "xpr2.h"

#include <stdlib.h>
#include <string.h>

#include "anchor_coverage.h"
#include "anchor_locate.h"
#include "anchor_scan.h"
#include "reader.h"
#include "tx2d.h"
#include "xbg7.h"

#define HEADER_BYTES 16u
#define ENTRY_BYTES  16u
#define BASE         0x0Cu
#define LEGACY_BASE  0x10u
#define NAME_LIMIT   256u /* bytes with the NUL; bounds what a directory of a million entries copies */
#define TAGS_MAX     256u /* distinct tags that are counted by name */
#define ENTRIES_MAX  ((uint32_t)1 << 15) /* that are read: hundreds are usual */
/* Descriptor bytes that are read, per byte of the file: entries may share a descriptor, but a thousand that
 * share a megabyte are an attack. */
#define DESCRIPTOR_WORK 4u
#define DESCRIPTOR_FREE ((uint64_t)1 << 20)

/* Descriptors that are remembered, for entries that share one: what was read of it serves again. */
#define RECENT 64u

#define TAG(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#define TAG_XBG7        TAG('X', 'B', 'G', '7')
#define TAG_TX2D        TAG('T', 'X', '2', 'D')
#define TAG_NONE        0u /* entries whose tag is none */

struct entry {
    uint32_t tag, data_offset, size, name_offset;
};

struct directory {
    uint64_t base;        /* what offsets count from */
    uint64_t data_offset; /* where the data section begins */
    uint64_t end;         /* of the file, as the sizes declare it */
    uint32_t header_size, data_size;
    uint32_t declared, count; /* entries; `count` of them are readable */
};

struct decode {
    const struct input *in;
    struct arena *arena;
    struct container *out;
    struct directory directory;
    uint64_t work;                         /* descriptor bytes that may still be read */
    struct anchor_descriptor *descriptors; /* parallel to out->resources */
    uint32_t recent[RECENT];               /* 1 + the resource last read of such a descriptor; 0: none */
};

/* ---- the directory
 * ----------------------------------------------------------------------------------------- */

/* A reader over the file from `offset` on that reports into `err`; `offset` is within the file. */
static struct reader reader_at(const struct decode *d, uint64_t offset, struct error *err)
{
    struct reader r = reader_make(d->in->data, d->in->size, 0, "xpr2", err);
    reader_seek(&r, (size_t)offset);
    return r;
}

/* The entry of that number; it is one of the readable ones. */
static struct entry entry_at(const struct decode *d, uint32_t index)
{
    struct error err = {.offset = ERROR_NO_OFFSET};
    struct reader r = reader_at(d, HEADER_BYTES + (uint64_t)index * ENTRY_BYTES, &err);
    struct entry entry = {.tag = reader_u32be(&r, "tag")};
    entry.data_offset = reader_u32be(&r, "descriptor offset");
    entry.size = reader_u32be(&r, "descriptor size");
    entry.name_offset = reader_u32be(&r, "name offset");
    return entry;
}

static bool is_known_tag(uint32_t tag)
{
    return tag == TAG_XBG7 || tag == TAG_TX2D || tag == TAG('T', 'X', 'C', 'M') ||
           tag == TAG('T', 'X', '3', 'D') || tag == TAG('V', 'B', 'U', 'F') ||
           tag == TAG('I', 'B', 'U', 'F') || tag == TAG('U', 'S', 'E', 'R');
}

/* Four capitals, digits or spaces at the end. */
static bool is_tag(uint32_t tag)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint32_t c = tag >> shift & 0xFF;
        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c == ' ' && shift < 24)))
            return false;
    }
    return true;
}

/* Whether a string may begin at `offset`: it is not empty, and what is in front of it ends something. */
static bool starts_string(const struct decode *d, uint64_t offset, uint64_t descriptor_end)
{
    if (offset >= d->in->size || offset < HEADER_BYTES || d->in->data[offset] == 0)
        return false;
    return d->in->data[offset - 1] == 0 || offset == descriptor_end ||
           offset == HEADER_BYTES + (uint64_t)d->directory.count * ENTRY_BYTES;
}

/* Whether offsets count from 0x10. Names decide: those that start a string by one base only. Where they say
 * nothing, a data section does that leaves the file by one base and fits by the other. A file that lost up to
 * 12 bytes looks like that too, which is why names that speak are believed first. */
static bool is_legacy(const struct decode *d)
{
    uint32_t here = 0, legacy = 0;
    for (uint32_t i = 0; i < d->directory.count; i++) {
        struct entry entry = entry_at(d, i);
        if (!is_tag(entry.tag))
            continue;
        uint64_t end = (uint64_t)entry.data_offset + entry.size;
        bool by_base = starts_string(d, (uint64_t)BASE + entry.name_offset, BASE + end);
        bool by_legacy = starts_string(d, (uint64_t)LEGACY_BASE + entry.name_offset, LEGACY_BASE + end);
        here += by_base && !by_legacy;
        legacy += by_legacy && !by_base;
    }
    if (here != legacy)
        return legacy > here;
    uint64_t sizes = (uint64_t)d->directory.header_size + d->directory.data_size;
    return sizes <= d->in->size && BASE + sizes > d->in->size;
}

/* How many of `count` entries lie in front of what they point at. Whatever follows there under a tag that is
 * not known is names and descriptors read as entries. */
static uint32_t entries_before_content(const struct decode *d, uint32_t count)
{
    uint64_t content = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct entry entry = entry_at(d, i);
        uint64_t end = HEADER_BYTES + (i + (uint64_t)1) * ENTRY_BYTES;
        if (end > content && !is_known_tag(entry.tag))
            return i;
        uint64_t name = BASE + (uint64_t)entry.name_offset;
        uint64_t descriptor = BASE + (uint64_t)entry.data_offset;
        if (name >= end && name < content)
            content = name;
        if (descriptor >= end && descriptor < content)
            content = descriptor;
    }
    return count;
}

/* Entries whose 16 bytes are there: inside the header, or behind its end as long as their tags are known ones
 * - then it is the header's size that is wrong, not the count. A count that does not fit says nothing of
 * where they end: their content does. */
static uint32_t readable_entries(struct decode *d)
{
    uint64_t room = (d->in->size - HEADER_BYTES) / ENTRY_BYTES;
    uint32_t most = d->directory.declared < room ? d->directory.declared : (uint32_t)room;
    uint64_t header_end = BASE + (uint64_t)d->directory.header_size;
    uint64_t inside = header_end > HEADER_BYTES ? (header_end - HEADER_BYTES) / ENTRY_BYTES : 0;
    uint32_t count = inside < most ? (uint32_t)inside : most;
    while (count < most && count < ENTRIES_MAX && is_known_tag(entry_at(d, count).tag))
        count++;
    count = count < ENTRIES_MAX ? count : ENTRIES_MAX;
    return d->directory.declared > inside ? entries_before_content(d, count) : count;
}

static void damaged(struct container *out, enum container_reason reason, const struct error *err)
{
    if (out->status == CONTAINER_DAMAGED)
        return;
    out->status = CONTAINER_DAMAGED;
    out->reason = reason;
    out->error = *err;
}

/* Records, in the order in which the reasons take precedence, what the sizes and the count promise and the
 * file lacks. */
static void check_sizes(struct decode *d)
{
    const struct directory *dir = &d->directory;
    struct error err = {.offset = ERROR_NO_OFFSET};
    if (dir->end > d->in->size) {
        error_set(&err, ERROR_TRUNCATED, d->in->size, "the file ends at %zu of %llu bytes", d->in->size,
                  (unsigned long long)dir->end);
        damaged(d->out, CONTAINER_TRUNCATED, &err);
    } else if (dir->count == ENTRIES_MAX && dir->count < dir->declared) {
        error_set(&err, ERROR_LIMIT, BASE, "%u entries are announced, the first %u are read", dir->declared,
                  dir->count);
        damaged(d->out, CONTAINER_OVER_LIMIT, &err);
    } else if (dir->count < dir->declared) {
        error_set(&err, ERROR_RANGE, BASE, "%u entries are announced, %u are there", dir->declared,
                  dir->count);
        damaged(d->out, CONTAINER_BAD_DIRECTORY, &err);
    }
}

/* Reads the header; false when the file is shorter than that. */
static bool read_header(struct decode *d)
{
    struct error err = {.offset = ERROR_NO_OFFSET};
    struct reader r = reader_at(d, 0, &err);
    reader_skip(&r, 4);
    struct directory *dir = &d->directory;
    dir->header_size = reader_u32be(&r, "header size");
    dir->data_size = reader_u32be(&r, "data size");
    dir->declared = reader_u32be(&r, "entry count");
    if (!reader_ok(&r)) {
        damaged(d->out, CONTAINER_TRUNCATED, &err);
        return false;
    }
    dir->count = readable_entries(d);
    bool legacy = is_legacy(d);
    if (legacy)
        d->out->flags |= FLAG_BIT(FLAG_LEGACY_BASE);
    dir->base = legacy ? LEGACY_BASE : BASE;
    dir->data_offset = dir->header_size + (legacy ? 0u : (uint64_t)BASE);
    dir->end = dir->data_offset + dir->data_size;
    uint64_t size = d->in->size;
    d->out->data_offset = dir->data_offset < size ? dir->data_offset : size;
    d->out->data_size = (dir->end < size ? dir->end : size) - d->out->data_offset;
    check_sizes(d);
    return true;
}

/* ---- entries
 * ----------------------------------------------------------------------------------------------- */

/* Why [offset, offset + size) cannot be read: it is cut off with the file's end, or never was in it. */
static enum decline_reason range_fault(const struct decode *d, const char *what, uint64_t offset,
                                       uint64_t size, struct error *err)
{
    uint64_t end = offset + size;
    if (end <= d->in->size)
        return DECLINE_NONE;
    bool cut = end <= d->directory.end;
    error_set(err, cut ? ERROR_TRUNCATED : ERROR_RANGE, offset,
              "%s at 0x%llX, %llu bytes, leaves the file's %zu", what, (unsigned long long)offset,
              (unsigned long long)size, d->in->size);
    return cut ? DECLINE_TRUNCATED : DECLINE_BAD_DIRECTORY;
}

/* The entry's name, copied. *reason says why there is none. False when memory runs out. */
static bool read_name(struct decode *d, const struct entry *entry, const char **name,
                      enum decline_reason *reason, struct error *err)
{
    uint64_t offset = d->directory.base + entry->name_offset;
    *name = NULL;
    *reason = range_fault(d, "its name", offset, 1, err);
    if (*reason != DECLINE_NONE)
        return true;
    struct reader r = reader_at(d, offset, err);
    bool cut = reader_left(&r) < NAME_LIMIT && d->directory.end > d->in->size;
    size_t length;
    const char *text = reader_string(&r, NAME_LIMIT, &length, "its name");
    if (!text) {
        *reason = cut ? DECLINE_TRUNCATED : DECLINE_BAD_DIRECTORY;
        return true;
    }
    *name = arena_copy(d->arena, text, length);
    return *name != NULL;
}

/* Where the entry's descriptor can be read, or why it cannot. */
static enum decline_reason descriptor_fault(struct decode *d, const struct entry *entry, struct error *err)
{
    uint64_t offset = d->directory.base + entry->data_offset;
    enum decline_reason reason = range_fault(d, "its descriptor", offset, entry->size, err);
    if (reason != DECLINE_NONE)
        return reason;
    if (!entry->size || offset < HEADER_BYTES + (uint64_t)d->directory.count * ENTRY_BYTES) {
        error_set(err, ERROR_MALFORMED, offset, "its descriptor of %u bytes %s", entry->size,
                  entry->size ? "lies in the directory" : "is empty");
        return DECLINE_BAD_DESCRIPTOR;
    }
    if (entry->size > d->work) {
        error_set(err, ERROR_LIMIT, offset, "entries share descriptors so often that they are not all read");
        return DECLINE_OVER_LIMIT;
    }
    d->work -= entry->size;
    return DECLINE_NONE;
}

/* What is wrong with a directory's entry is the container's damage too. */
static void note_damage(struct decode *d, enum decline_reason reason, const struct error *err)
{
    if (reason == DECLINE_TRUNCATED)
        damaged(d->out, CONTAINER_TRUNCATED, err);
    else if (reason == DECLINE_BAD_DIRECTORY)
        damaged(d->out, CONTAINER_BAD_DIRECTORY, err);
    else if (reason == DECLINE_OVER_LIMIT)
        damaged(d->out, CONTAINER_OVER_LIMIT, err);
}

/* What both kinds of entries need: the name, and a reader over the descriptor, empty with *reason set when
 * there is none. `err` is the item's own. False when memory runs out. */
static bool open_entry(struct decode *d, uint32_t index, const struct entry *entry, const char **name,
                       struct reader *descriptor, enum decline_reason *reason, struct error *err)
{
    struct error descriptor_err = {.offset = ERROR_NO_OFFSET};
    error_clear(err);
    *descriptor = reader_make(NULL, 0, 0, NULL, err);
    if (!read_name(d, entry, name, reason, err))
        return false;
    /* A cut descriptor takes precedence over a bad name, a bad name over a bad descriptor. */
    enum decline_reason second = descriptor_fault(d, entry, &descriptor_err);
    if (second != DECLINE_NONE && (*reason == DECLINE_NONE || second < *reason)) {
        *reason = second;
        *err = descriptor_err;
    }
    if (*reason != DECLINE_NONE) {
        error_prefix(err, "entry %u", index);
        note_damage(d, *reason, err);
        return true;
    }
    uint64_t offset = d->directory.base + entry->data_offset;
    struct reader file = reader_at(d, offset, err);
    *descriptor = reader_sub(&file, entry->size, "descriptor");
    return true;
}

/* Takes over what an earlier resource of the same descriptor read, if there is one that is remembered. */
static bool take_twin(struct decode *d, const struct anchor_descriptor *mine)
{
    struct container *out = d->out;
    struct resource *resource = &out->resources[out->resource_count - 1];
    uint32_t *recent = &d->recent[(uintptr_t)mine->bytes / 4 % RECENT], twin = *recent;
    *recent = out->resource_count;
    if (!twin || d->descriptors[twin - 1].bytes != mine->bytes || d->descriptors[twin - 1].size != mine->size)
        return false;
    const char *name = resource->name;
    uint32_t index = resource->index;
    *resource = out->resources[twin - 1];
    resource->name = name;
    resource->index = index;
    return true;
}

static bool read_resource(struct decode *d, uint32_t index, const struct entry *entry)
{
    struct resource *resource = &d->out->resources[d->out->resource_count++];
    resource->format = FORMAT_XBG7;
    resource->index = index;
    enum decline_reason reason;
    struct reader descriptor;
    if (!open_entry(d, index, entry, &resource->name, &descriptor, &reason, &resource->error))
        return false;
    if (reason != DECLINE_NONE) {
        resource->status = RESOURCE_DECLINED;
        resource->reason = reason;
        return true;
    }
    struct anchor_descriptor *mine = &d->descriptors[d->out->resource_count - 1];
    *mine = (struct anchor_descriptor){descriptor.data, descriptor.size};
    return take_twin(d, mine) || xbg7_parse(&descriptor, d->arena, resource);
}

static bool read_texture(struct decode *d, uint32_t index, const struct entry *entry)
{
    struct texture *texture = &d->out->textures[d->out->texture_count++];
    texture->index = index;
    enum decline_reason reason;
    struct reader descriptor;
    if (!open_entry(d, index, entry, &texture->name, &descriptor, &reason, &texture->error))
        return false;
    if (reason == DECLINE_NONE)
        tx2d_parse(&descriptor, d->directory.data_offset, texture);
    return true;
}

/* ---- other tags
 * -------------------------------------------------------------------------------------------- */

static int tag_order(const void *left, const void *right)
{
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return a < b ? -1 : a > b;
}

static void add_tag(struct container *out, uint32_t tag, uint32_t count)
{
    /* Past TAGS_MAX names the rest is one row: no real directory has that many. */
    if (out->tag_count_count == TAGS_MAX) {
        struct tag_count *last = &out->tag_counts[TAGS_MAX - 1];
        memcpy(last->tag, "others", sizeof "others");
        last->count += count;
        return;
    }
    struct tag_count *row = &out->tag_counts[out->tag_count_count++];
    row->count = count;
    if (tag == TAG_NONE) {
        memcpy(row->tag, "?", sizeof "?");
        return;
    }
    for (int i = 0; i < 4; i++)
        row->tag[i] = (char)(tag >> (24 - 8 * i));
}

/* Counts the entries that are neither geometry nor 2D textures, by tag. */
static bool count_tags(struct decode *d, uint32_t others)
{
    uint32_t *tags = arena_array(d->arena, others, sizeof *tags);
    if (!tags)
        return false;
    uint32_t used = 0;
    for (uint32_t i = 0; i < d->directory.count; i++) {
        uint32_t tag = entry_at(d, i).tag;
        if (tag != TAG_XBG7 && tag != TAG_TX2D)
            tags[used++] = is_tag(tag) ? tag : TAG_NONE;
    }
    qsort(tags, used, sizeof *tags, tag_order);
    d->out->tag_counts =
        arena_array(d->arena, others < TAGS_MAX ? others : TAGS_MAX, sizeof *d->out->tag_counts);
    if (!d->out->tag_counts)
        return false;
    for (uint32_t i = 0, next; i < used; i = next) {
        for (next = i + 1; next < used && tags[next] == tags[i];)
            next++;
        add_tag(d->out, tags[i], next - i);
    }
    return true;
}

/* ---- the whole
 * --------------------------------------------------------------------------------------------- */

/* Reads every entry of the directory. False when memory runs out. */
static bool read_entries(struct decode *d)
{
    struct container *out = d->out;
    uint32_t resources = 0, textures = 0, count = d->directory.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tag = entry_at(d, i).tag;
        resources += tag == TAG_XBG7;
        textures += tag == TAG_TX2D;
        if (!is_tag(tag)) {
            struct error err = {.offset = ERROR_NO_OFFSET};
            error_set(&err, ERROR_MALFORMED, HEADER_BYTES + (uint64_t)i * ENTRY_BYTES,
                      "entry %u: 0x%08X is no tag", i, tag);
            damaged(out, CONTAINER_BAD_DIRECTORY, &err);
        }
    }
    out->resources = arena_array(d->arena, resources, sizeof *out->resources);
    out->textures = arena_array(d->arena, textures, sizeof *out->textures);
    d->descriptors = arena_array(d->arena, resources, sizeof *d->descriptors);
    if (!out->resources || !out->textures || !d->descriptors || !count_tags(d, count - resources - textures))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct entry entry = entry_at(d, i);
        if ((entry.tag == TAG_XBG7 && !read_resource(d, i, &entry)) ||
            (entry.tag == TAG_TX2D && !read_texture(d, i, &entry)))
            return false;
    }
    return true;
}

/* ---- geometry
 * ---------------------------------------------------------------------------------------------- */

static int range_order(const void *left, const void *right)
{
    const struct anchor_range *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_wall(struct anchor_input *in, struct anchor_range *walls, uint64_t start, uint64_t size)
{
    if (size)
        walls[in->wall_count++] = (struct anchor_range){start - in->offset, start - in->offset + size};
}

/* The extents of the textures that nothing contradicts, sorted, equal ones once. Being uncontested they do
 * not overlap, and do not leave the declared section. */
static bool find_walls(struct decode *d, struct anchor_input *in)
{
    const struct container *out = d->out;
    struct anchor_range *walls = arena_array(d->arena, out->texture_count, 2 * sizeof *walls);
    if (!walls)
        return false;
    in->wall_count = 0;
    for (uint32_t i = 0; i < out->texture_count; i++) {
        const struct texture *texture = &out->textures[i];
        if (!texture->valid || texture->contested)
            continue;
        add_wall(in, walls, texture->base_offset, texture->base_size);
        add_wall(in, walls, texture->mip_offset, texture->mip_size);
    }
    qsort(walls, in->wall_count, sizeof *walls, range_order);
    size_t kept = 0;
    for (size_t i = 0; i < in->wall_count; i++)
        if (!kept || walls[i].start != walls[kept - 1].start)
            walls[kept++] = walls[i];
    in->walls = walls;
    in->wall_count = kept;
    return true;
}

/* Finds where the geometry lies, and accounts for the rest. */
static bool locate(struct decode *d)
{
    struct container *out = d->out;
    struct anchor_input in = {.size = (size_t)out->data_size, .offset = out->data_offset};
    struct error err = {.offset = ERROR_NO_OFFSET};
    struct reader r = reader_at(d, out->data_offset, &err);
    in.data = reader_bytes(&r, in.size, "data section");
    in.truncated = d->directory.end > d->in->size;
    struct anchor_map map;
    return find_walls(d, &in) &&
           anchor_scan(in.data, in.size, in.walls, in.wall_count, anchor_best_path(), d->arena, &map) &&
           anchor_locate(&in, &map, out->resources, d->descriptors, out->resource_count, d->arena) &&
           anchor_coverage(&map, out, d->arena);
}

static unsigned xpr2_probe(const struct input *in)
{
    return in->size >= 4 && memcmp(in->data, "XPR2", 4) == 0 ? 32 : 0;
}

static bool xpr2_decode(const struct input *in, struct arena *arena, struct container *out)
{
    struct decode d = {.in = in, .arena = arena, .out = out};
    d.work = DESCRIPTOR_WORK * (uint64_t)in->size + DESCRIPTOR_FREE;
    if (!read_header(&d))
        return true;
    if (!read_entries(&d) || !tx2d_contest(out->textures, out->texture_count, d.directory.data_offset,
                                           d.directory.data_size, arena, &out->flags))
        return false;
    return locate(&d);
}

const struct format format_xpr2 = {FORMAT_XPR2, 7, xpr2_probe, xpr2_decode};
