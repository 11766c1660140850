/* xdvdfs.c - see xdvdfs.h
 *
 * Little-endian, in sectors of 2048 bytes from the partition's start:
 *
 *   0x10000  volume descriptor: magic of 20 bytes, u32 root table's sector, u32 its size; the magic again at
 * 0x7EC table    entries at multiples of 4: u16 left, u16 right (in 4 bytes from the table's start; 0 or
 * 0xFFFF: none), u32 sector, u32 size, u8 attributes, u8 length of the name, name; filled with 0xFF
 *
 * A table's entries are a search tree by name; nothing here depends on its order or balance.
 */
#include "pipeline/xdvdfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"
#include "pipeline/address.h"
#include "pipeline/ipfb.h"

#define SECTOR           UINT64_C(2048)
#define DESCRIPTOR       UINT64_C(0x10000)
#define SECOND_MAGIC     0x7EC
#define MAGIC_SIZE       20
#define ATTRIBUTE_FOLDER 0x10
#define NONE             0xFFFF
/* Real tables have some hundred kilobytes at the most: this is a million entries. */
#define TABLE_MOST ((uint64_t)16 << 20)
#define PATH_MOST  ((size_t)4096)

static const char magic[MAGIC_SIZE + 1] = "MICROSOFT*XBOX*MEDIA";
static const uint64_t bases[] = {0, 0x18300000, 0x0FD90000, XDVDFS_NEXT_BASE};

/* A file, or what could not be made sense of, under its path. */
struct file {
    const char *path; /* its bytes; in the arena */
    size_t path_size;
    uint64_t offset, size; /* in the feed */
    uint32_t order;        /* as met, for a fixed order among equals */
    bool folder, again;
    enum container_reason reason; /* why it cannot be read, with its message */
    const char *message;
};

struct image {
    struct unpacker u;
    uint64_t base;
    struct arena arena;
    struct file *files;
    size_t count, room, next; /* next: to be handed out */
    size_t folder;            /* whose table is read next, while they are gathered */
    uint8_t *seen;            /* a bit for each sector that a table begins in */
    uint64_t table_bytes;     /* of all tables read */
    bool nomem;
};

/* A table being read: the entries still to be visited, and which of its words belong to one already. */
struct table {
    const struct file *folder;
    uint8_t *bytes;
    size_t size;
    uint8_t *begun, *taken; /* a bit for each 4 bytes: an entry was read from there; it belongs to one */
    uint32_t *stack;
    size_t depth, room;
};

static bool has_magic(struct feed *feed, uint64_t at)
{
    uint8_t bytes[MAGIC_SIZE];
    return at < feed_size(feed) && feed_peek(feed, at, bytes, sizeof bytes) == sizeof bytes &&
           memcmp(bytes, magic, sizeof bytes) == 0;
}

bool xdvdfs_find(struct feed *feed, uint64_t *base)
{
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (!has_magic(feed, bases[i] + DESCRIPTOR))
            continue;
        *base = bases[i];
        return true;
    }
    return false;
}

/* ---- what is found ------------------------------------------------------------------------------------- */

static struct file *add_file(struct image *image, const char *path, size_t path_size)
{
    if (image->count == image->room) {
        size_t room = image->room ? image->room * 2 : 256;
        struct file *files = realloc(image->files, room * sizeof *files);
        if (!files) {
            image->nomem = true;
            return NULL;
        }
        image->files = files;
        image->room = room;
    }
    struct file *file = &image->files[image->count];
    *file = (struct file){.path = path, .path_size = path_size, .order = (uint32_t)image->count};
    image->count++;
    return file;
}

/* What is wrong with a file or folder whose name is known. */
static void refuse(struct image *image, struct file *file, enum container_reason reason, const char *message)
{
    if (file->reason)
        return;
    file->reason = reason;
    file->message = arena_copy(&image->arena, message, strlen(message));
    image->nomem |= !file->message;
}

/* What is wrong in a table, where nothing has a name to be told under. */
static void note_damage(struct image *image, const struct file *folder, const struct error *err)
{
    failure_set(&image->u.failure, CONTAINER_BAD_DIRECTORY, "folder '%.*s', offset 0x%llx: %s",
                (int)(folder->path_size < 64 ? folder->path_size : 64), folder->path,
                (unsigned long long)err->offset, err->msg);
}

/* "folder/name" in the arena. */
static const char *join(struct image *image, const struct file *folder, const uint8_t *name, size_t size,
                        size_t *path_size)
{
    bool slash = folder->path_size > 0;
    *path_size = folder->path_size + slash + size;
    char *path = arena_alloc(&image->arena, *path_size + 1);
    if (!path) {
        image->nomem = true;
        return NULL;
    }
    memcpy(path, folder->path, folder->path_size);
    if (slash)
        path[folder->path_size] = '/';
    memcpy(path + folder->path_size + slash, name, size);
    return path;
}

/* ---- one entry ----------------------------------------------------------------------------------------- */

static void check_place(struct image *image, struct file *file, uint32_t sector)
{
    char message[96];
    uint64_t size = feed_size(image->u.feed);
    if (!file->size) {
        file->offset = image->base;
        return;
    }
    file->offset = image->base + sector * SECTOR;
    if (file->offset <= size && file->size <= size - file->offset)
        return;
    snprintf(message, sizeof message, "%llu bytes from 0x%llx on; the image has %llu",
             (unsigned long long)file->size, (unsigned long long)file->offset, (unsigned long long)size);
    refuse(image, file, CONTAINER_TRUNCATED, message);
}

/* Claims the words of [start, end); false when one of them is taken. */
static bool claim(uint8_t *words, size_t start, size_t end)
{
    for (size_t word = start / 4; word < (end + 3) / 4; word++) {
        if (words[word / 8] & 1 << word % 8)
            return false;
        words[word / 8] |= (uint8_t)(1 << word % 8);
    }
    return true;
}

static bool push(struct image *image, struct table *table, uint16_t branch)
{
    if (branch == 0 || branch == NONE)
        return true;
    if (table->depth == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        uint32_t *stack = realloc(table->stack, room * sizeof *stack);
        if (!stack)
            return !(image->nomem = true);
        table->stack = stack;
        table->room = room;
    }
    table->stack[table->depth++] = (uint32_t)branch * 4;
    return true;
}

static bool may_add(struct image *image)
{
    if (image->arena.bytes <= UNPACK_NAMES_MOST)
        return unpack_count(&image->u);
    failure_set(&image->u.failure, CONTAINER_OVER_LIMIT, "names of more than %zu bytes", UNPACK_NAMES_MOST);
    return false;
}

/* An entry as it stands in its table. */
struct row {
    uint16_t left, right;
    uint32_t sector, size;
    uint8_t attributes, length;
    const uint8_t *name;
};

/* Reads a row; false with the reader's error set when it cannot be one. Where branches lead astray, what is
 * read there must not take words from the entries they belong to: so a name is looked at first. */
static bool read_row(struct table *table, struct reader *r, uint32_t at, struct row *row)
{
    reader_seek(r, at);
    if (reader_ok(r) && !claim(table->begun, at, at + 4))
        return reader_fail(r, ERROR_MALFORMED, "a branch leads back");
    row->left = reader_u16le(r, "left branch");
    row->right = reader_u16le(r, "right branch");
    row->sector = reader_u32le(r, "sector");
    row->size = reader_u32le(r, "size");
    row->attributes = reader_u8(r, "attributes");
    row->length = reader_u8(r, "length of the name");
    if (reader_ok(r) && row->left == NONE && row->right == NONE && row->sector == UINT32_MAX) {
        /* Filling: a folder without files is nothing else. */
        *row = (struct row){.left = NONE, .right = NONE};
        return !at || reader_fail(r, ERROR_MALFORMED, "a branch leads into filling");
    }
    row->name = reader_bytes(r, row->length, "name");
    if (!reader_ok(r))
        return false;
    if (!row->length)
        return reader_fail(r, ERROR_MALFORMED, "an entry without a name");
    if (memchr(row->name, '/', row->length) || memchr(row->name, '\0', row->length))
        return reader_fail(r, ERROR_MALFORMED, "a name with a slash or a NUL");
    return claim(table->taken, at, r->pos) ||
           reader_fail(r, ERROR_MALFORMED, "an entry that lies across another one");
}

/* Takes a row among the image's files. False when there may be no more, or memory runs out. */
static bool add_row(struct image *image, struct table *table, const struct row *row)
{
    size_t path_size, folder = (size_t)(table->folder - image->files);
    const char *path = join(image, table->folder, row->name, row->length, &path_size);
    struct file *file = path && may_add(image) ? add_file(image, path, path_size) : NULL;
    if (!file)
        return false;
    table->folder = &image->files[folder]; /* it may have moved */
    file->size = row->size;
    file->folder = row->attributes & ATTRIBUTE_FOLDER;
    if (path_size > PATH_MOST)
        refuse(image, file, CONTAINER_BAD_DIRECTORY, "a path of more than 4096 bytes");
    check_place(image, file, row->sector);
    return true;
}

/* Reads the entry at `at`, and puts what hangs on it on the stack. False when there may be no more entries,
 * or memory runs out. */
static bool read_entry(struct image *image, struct table *table, uint32_t at)
{
    struct error err = {0};
    struct reader r = reader_make(table->bytes, table->size, table->folder->offset, NULL, &err);
    struct row row = {.left = NONE, .right = NONE};
    if (read_row(table, &r, at, &row) && row.name && !add_row(image, table, &row))
        return false;
    if (err.code)
        note_damage(image, table->folder, &err);
    return push(image, table, row.right) && push(image, table, row.left) && !image->nomem;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

/* Whether a folder's table is one to be read: where it lies was checked when its entry was. */
static bool may_read(struct image *image, struct file *folder)
{
    uint64_t sector = (folder->offset - image->base) / SECTOR;
    uint8_t bit = (uint8_t)(1 << sector % 8);
    if (folder->reason || !folder->size)
        return false;
    if (folder->size > TABLE_MOST)
        refuse(image, folder, CONTAINER_BAD_DIRECTORY, "a table of more than 16 MiB");
    else if (image->seen[sector / 8] & bit)
        refuse(image, folder, CONTAINER_BAD_DIRECTORY, "its table is that of another folder");
    else if (folder->size > feed_size(image->u.feed) - image->table_bytes)
        refuse(image, folder, CONTAINER_BAD_DIRECTORY, "tables larger than the image");
    if (folder->reason)
        return false;
    image->seen[sector / 8] |= bit;
    image->table_bytes += folder->size;
    return true;
}

/* False when there may be no more entries, or memory has run out. */
static bool read_table(struct image *image, size_t index)
{
    struct file *folder = &image->files[index];
    if (!may_read(image, folder))
        return !image->nomem;
    struct table table = {.folder = folder, .size = (size_t)folder->size};
    table.bytes = malloc(table.size);
    table.begun = calloc(table.size / 32 + 2, 1);
    table.taken = calloc(table.size / 32 + 2, 1);
    bool ok = table.bytes && table.begun && table.taken;
    image->nomem |= !ok;
    if (ok && feed_peek(image->u.feed, folder->offset, table.bytes, table.size) < 0)
        refuse(image, folder, CONTAINER_UNREADABLE, feed_failure(image->u.feed)->message);
    else if (ok)
        ok = read_entry(image, &table, 0);
    while (ok && table.depth)
        ok = read_entry(image, &table, table.stack[--table.depth]);
    free(table.bytes);
    free(table.begun);
    free(table.taken);
    free(table.stack);
    return ok;
}

/* In the order the bytes lie in, so that an image is read front to back; what cannot be read comes last. */
static int by_place(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    if (!x->reason != !y->reason)
        return x->reason ? 1 : -1;
    if (x->offset != y->offset && !x->reason)
        return x->offset < y->offset ? -1 : 1;
    if (x->size != y->size && !x->reason)
        return x->size < y->size ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* A file that runs into the beginning of another one, or of a table, is not what its entry says: that of the
 * other may be wrong as well, but an entry that claims half the disc must not take the rest with it. Equal
 * extents are one content under two names. */
static void refuse_overlaps(struct image *image)
{
    struct file *next = NULL; /* the nearest one that begins behind */
    qsort(image->files, image->count, sizeof *image->files, by_place);
    for (size_t i = image->count; i-- > 0;) {
        struct file *file = &image->files[i], *after = i + 1 < image->count ? file + 1 : NULL;
        if (file->reason || !file->size)
            continue;
        if (after && !after->reason && after->offset > file->offset)
            next = after;
        /* Of those that begin together the shortest stands. */
        bool longer = i && file[-1].size && file[-1].offset == file->offset && file[-1].size < file->size;
        if (!file->folder && (longer || (next && next->offset < file->offset + file->size)))
            refuse(image, file, CONTAINER_BAD_DIRECTORY, "runs into another file");
    }
    qsort(image->files, image->count, sizeof *image->files, by_place);
}

/* Folders that were read have done their work; what is left are files, and what cannot be read. */
static void drop_folders(struct image *image)
{
    size_t kept = 0;
    for (size_t i = 0; i < image->count; i++)
        if (!image->files[i].folder || image->files[i].reason)
            image->files[kept++] = image->files[i];
    image->count = kept;
}

/* ---- the volume ---------------------------------------------------------------------------------------- */

static void add_root(struct image *image)
{
    uint8_t bytes[8];
    struct error err = {0};
    struct feed *feed = image->u.feed;
    if (!has_magic(feed, image->base + DESCRIPTOR + SECOND_MAGIC))
        failure_set(&image->u.failure, CONTAINER_BAD_DIRECTORY, "the volume descriptor has no end");
    ssize_t n = feed_peek(feed, image->base + DESCRIPTOR + MAGIC_SIZE, bytes, sizeof bytes);
    struct reader r = reader_make(bytes, n > 0 ? (size_t)n : 0, image->base + DESCRIPTOR + MAGIC_SIZE,
                                  "volume descriptor", &err);
    uint32_t sector = reader_u32le(&r, "root sector"), size = reader_u32le(&r, "root size");
    struct file *root = add_file(image, "", 0);
    if (!root)
        return;
    root->folder = true;
    root->size = size;
    if (!reader_ok(&r))
        refuse(image, root, CONTAINER_TRUNCATED, err.msg);
    else
        check_place(image, root, sector);
}

static void gather(struct image *image)
{
    uint64_t sectors = (feed_size(image->u.feed) - image->base) / SECTOR;
    /* Sectors are numbers of 32 bits, however long the file is. */
    image->seen = calloc((size_t)((sectors < UINT32_MAX ? sectors : UINT32_MAX) / 8 + 1), 1);
    if (!image->seen) {
        image->nomem = true;
        return;
    }
    add_root(image);
    for (size_t i = 0; i < image->count; i++)
        if (image->files[i].folder && !read_table(image, i))
            break;
    free(image->seen);
    image->seen = NULL;
    if (image->nomem)
        return;
    /* The root's own trouble has no name but the image's. */
    struct file *root = &image->files[0];
    if (root->reason)
        failure_set(&image->u.failure, root->reason, "the root folder: %s", root->message);
    root->reason = CONTAINER_REASON_NONE;
    refuse_overlaps(image);
    drop_folders(image);
}

/* ---- members ------------------------------------------------------------------------------------------- */

static enum unpack_result next_member(struct unpacker *u, struct member *member)
{
    struct image *image = (struct image *)u;
    if (image->next == image->count)
        return UNPACK_END;
    const struct file *file = &image->files[image->next++];
    if (!unpack_name(u, member, file->path, file->path_size))
        return UNPACK_FAULT;
    member->size_known = true;
    member->size = file->size;
    member->in_place = true;
    member->offset = file->offset;
    member->again = file->again;
    if (!file->reason)
        return UNPACK_OK;
    failure_set(&member->failure, file->reason, "%s", file->message);
    return UNPACK_FAILED;
}

static enum unpack_result next_block(struct unpacker *u, struct member *member)
{
    uint64_t left = member->size - u->delivered;
    if (!left)
        return UNPACK_END;
    ssize_t n = -1;
    if (feed_advance(u->feed, member->offset + u->delivered))
        n = feed_read(u->feed, &u->block);
    if (n <= 0) {
        failure_take(&member->failure, feed_failure(u->feed));
        failure_set(&member->failure, CONTAINER_TRUNCATED, "ends early");
        return UNPACK_FAILED;
    }
    u->block_size = (uint64_t)n < left ? (size_t)n : (size_t)left;
    u->block_offset = u->delivered;
    return unpack_spend(u, u->block_size, &member->failure) ? UNPACK_OK : UNPACK_FAILED;
}

static enum unpack_result find_parts(struct unpacker *u, const char *name, struct feed **parts)
{
    struct image *image = (struct image *)u;
    for (size_t i = 0; i < image->count; i++) {
        const struct file *file = &image->files[i];
        if (file->reason)
            continue;
        char *address = address_of_member(file->path, file->path_size);
        int number = address ? ipfb_part_number(name, address) : -1;
        free(address);
        if (!address)
            return UNPACK_FAULT;
        if (number >= 0 && !parts[number] &&
            !(parts[number] = feed_window(u->feed, file->offset, file->size, u->limits.hashed)))
            return UNPACK_FAULT;
    }
    return UNPACK_OK;
}

static void close_image(struct unpacker *u)
{
    struct image *image = (struct image *)u;
    free(image->files);
    arena_free(&image->arena);
}

static const struct unpack_kind xdvdfs_kind = {
    .format = FORMAT_XDVDFS,
    .next = next_member,
    .block = next_block,
    .parts = find_parts,
    .close = close_image,
};

struct unpacker *unpack_xdvdfs(struct feed *feed, uint64_t base, bool iso9660,
                               const struct unpack_limits *limits)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        feed_close(feed);
        return NULL;
    }
    image->u.kind = &xdvdfs_kind;
    image->u.feed = feed;
    image->u.limits = *limits;
    image->base = base;
    gather(image);
    if (!image->nomem && iso9660) {
        struct file *again = add_file(image, "iso9660", 7);
        if (again) {
            again->size = feed_size(feed);
            again->again = true;
        }
    }
    if (!image->nomem)
        return &image->u;
    unpack_close(&image->u);
    return NULL;
}
