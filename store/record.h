/* record.h - the written form of what a store keeps: structs to bytes and back.
 *
 * Every record begins with u8 version; all numbers are little-endian, strings are u32 length and bytes. The
 * layouts are in store/README.md, so that another program can read them. Writers append to a struct buffer;
 * readers check every length before they allocate, put everything into the arena, and set *err for bytes that
 * are no such record. No function here touches LMDB. Thread safety: as the arguments.
 */
#ifndef ANCHORAGE_RECORD_H
#define ANCHORAGE_RECORD_H

#include "formats/arena.h"
#include "formats/buffer.h"
#include "formats/error.h"
#include "formats/format.h"
#include "store/key.h"

enum source_kind {
    SOURCE_CONTAINER = 1, /* a recognised container, or an archive: `container` names its content */
    SOURCE_UNKNOWN = 2,   /* a plain file that is no known container: only counted */
    SOURCE_FAILED = 3,    /* could not be read: status and reason say why; `container` is zero */
    SOURCE_DIRECTORY = 4, /* an input that is a directory: holds no content, is listed nowhere */
};

/* One place where content was met: a path as the addresses write it (docs/addresses: `a.zip!b/c.xpr`). */
struct source_record {
    enum source_kind kind;
    const char *path;
    struct hash parent;    /* hash_bytes of the parent's path: the archive it is in; zero for a plain file */
    struct hash container; /* hash of its bytes */
    enum format_id format;
    enum container_status status; /* of this place: SKIPPED when its bytes could not be had */
    enum container_reason reason;
    const char *message; /* detail of a failure, or NULL */
    const char *stem; /* the name its resource has here when the format has no directory (address_stem of the
                         path); NULL otherwise */
    bool is_input;    /* named on the command line */
    uint64_t bytes;   /* its length, as far as it is known */
    /* Facts of the machine, not of the content; no digest sees them. */
    int64_t mtime_ns; /* of a plain file, for skipping it unread; 0 for members */
    uint64_t run;     /* the run that saw it last */
    uint32_t version; /* of a plain file: of everything that made its outcome (pipeline/ingest.c), 0 for
                         members; a file read by another version is read again */
    /* Of SOURCE_UNKNOWN, for the census. */
    const char *magic;  /* its first bytes as hex, or "" */
    const char *ending; /* ".txt" in lower case, or "" */
};

/* A row of the unknown-content census of an archive. */
struct census_row {
    const char *magic;  /* first 4 bytes as 8 hex digits; fewer digits for shorter content */
    const char *ending; /* with its dot, lower case; "" without one */
    uint64_t count, bytes;
};

/* What is known of a content, wherever it lies. */
struct container_record {
    uint64_t bytes;
    uint32_t decoder_version;   /* of the format's decoder, or of the extractor for archives */
    struct container container; /* without resources (those are records of their own); textures, tags, error
                                   kept; container.resource_count counts them */
    uint32_t by_status[RESOURCE_STATUS_COUNT]; /* resources counted by status */
    /* Archives. */
    uint64_t member_count; /* files met in it, recognised or not */
    uint32_t census_count;
    struct census_row *census; /* sorted by magic, then ending */
    const char *images; /* names of members with an image's ending (image_names.h); NULL when that is not
                           known: there were too many, or it is no archive */
};

/* What stands in front of the strings and lists of a record: read without memory, for walks over many records
 * of which few are wanted whole. Fields are those of the records. */
struct source_head {
    enum source_kind kind;
    enum format_id format;
    enum container_status status;
    enum container_reason reason;
    bool is_input;
    struct hash parent, container;
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t run;
    uint32_t version;
};

struct container_head {
    uint32_t decoder_version;
    enum format_id format;
    enum container_status status;
    enum container_reason reason;
    uint32_t flags;
    uint64_t bytes, data_offset, data_size;
    uint32_t resource_count;
    uint64_t member_count;
    uint32_t by_status[RESOURCE_STATUS_COUNT];
};

/* Names a resource: its content, and its position in the directory. */
struct resource_key {
    struct hash container;
    uint32_t index;
};

struct resource_record {
    struct resource resource; /* mesh is NULL: see geometry. Candidates are a record of their own: as read
                                 from a store candidate_count is 0 until store_get_candidates */
    struct candidate_hashes *candidate_hashes; /* [resource.candidate_count] */
    uint32_t part_count;  /* elements of resource.parts; a writer may leave it 0 when resource.part_count or
                             resource.mesh tells */
    struct hash geometry; /* zero: none */
    uint64_t geometry_bytes; /* length of the canonical serialisation */
};

/* What is kept of one candidate beside struct candidate (whose mesh is then NULL): hashes of the raw bytes at
 * its place, the index bytes of all its buffers in order, and the vertex bytes likewise. The same bytes
 * elsewhere have the same hashes, which is how a proof in one container serves another without reading it
 * again. */
struct candidate_hashes {
    struct hash index_bytes, vertex_bytes;
    struct hash geometry; /* of its decoded mesh, which the store keeps too; zero: it was not decoded */
};

/* What a run spent its time on, in the order it happened. Stages may overlap. */
struct run_stage {
    const char *name;      /* "ingest", "resolve" */
    uint64_t ns;           /* of the wall clock */
    uint64_t items, bytes; /* it went over; 0: not counted */
};

/* What held while it ran: a limit, the sandbox. */
struct run_condition {
    const char *name, *value; /* for people: "memory", "2 GB" */
};

struct run_record {
    uint64_t id;                     /* 1, 2, ... */
    int64_t started_ns, finished_ns; /* since 1970; finished 0: interrupted, or still going */
    const char *version;             /* of the program */
    const char *arguments;           /* the command line, one string */
    uint64_t inputs, containers, resources, bytes_read, bytes_decoded;
    uint64_t skipped_unchanged; /* files not read, or contents not decoded, because the store had them */
    uint64_t by_status[RESOURCE_STATUS_COUNT]; /* of all resources live in the store at its end */
    int exit_status;
    uint32_t stage_count, condition_count; /* none in runs of before version 2 of the record */
    const struct run_stage *stages;
    const struct run_condition *conditions;
};

/* Writers return false when memory runs out (out->failed is set); readers for bytes that are no such record,
 * with *err saying where: a shorter or longer length, a number outside its enum, a string with a NUL inside.
 */
bool source_write(struct buffer *out, const struct source_record *record);
bool source_read(const uint8_t *bytes, size_t size, struct arena *arena, struct source_record *record,
                 struct error *err);
bool container_write(struct buffer *out, const struct container_record *record);
bool container_read(const uint8_t *bytes, size_t size, struct arena *arena, struct container_record *record,
                    struct error *err);
/* The heads alone; what is behind them is not looked at. */
bool source_read_head(const uint8_t *bytes, size_t size, struct source_head *head, struct error *err);
bool container_read_head(const uint8_t *bytes, size_t size, struct container_head *head, struct error *err);
bool resource_write(struct buffer *out, const struct resource_record *record);
bool resource_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resource_record *record,
                   struct error *err);
/* Candidates of a resource that has some: resource.candidates, candidates_dropped, chosen and
 * candidate_hashes. Reading sets these of *record and nothing else. */
bool candidates_write(struct buffer *out, const struct resource_record *record);
bool candidates_read(const uint8_t *bytes, size_t size, struct arena *arena, struct resource_record *record,
                     struct error *err);
/* The coverage map of a container: container.coverage, and nothing else. */
bool coverage_write(struct buffer *out, const struct container *container);
bool coverage_read(const uint8_t *bytes, size_t size, struct arena *arena, struct container *container,
                   struct error *err);
bool run_write(struct buffer *out, const struct run_record *record);
bool run_read(const uint8_t *bytes, size_t size, struct arena *arena, struct run_record *record,
              struct error *err);

#endif
