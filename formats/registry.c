/* registry.c - the list of decoders, and the words of format.h's enums. */
#include "format.h"

#include <string.h>
#include <strings.h>

extern const struct format format_xpr2, format_bgf, format_bmf, format_meshbin;

static const struct format *const formats[] = {&format_xpr2, &format_bgf, &format_bmf, &format_meshbin};

const struct format *const *format_all(size_t *count)
{
    *count = sizeof formats / sizeof *formats;
    return formats;
}

const struct format *format_probe(const struct input *in, bool *ambiguous)
{
    const struct format *best = NULL;
    unsigned best_bits = 0;
    *ambiguous = false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        unsigned bits = formats[i]->probe(in);
        if (bits > best_bits) {
            best = formats[i];
            best_bits = bits;
            *ambiguous = false;
        } else if (bits && bits == best_bits) {
            *ambiguous = true;
        }
    }
    return best;
}

bool format_decode(const struct format *format, const struct input *in, struct arena *arena,
                   struct container *out)
{
    memset(out, 0, sizeof *out);
    out->error.offset = ERROR_NO_OFFSET;
    if (!format)
        return true;
    out->format = format->id;
    if (!format->decode(in, arena, out))
        return false;
    for (uint32_t i = 0; i < out->resource_count; i++) {
        struct resource *resource = &out->resources[i];
        const struct mesh *mesh = resource->mesh;
        if (!mesh)
            continue;
        resource->part_count = resource->parts ? mesh->part_count : 0;
        resource->vertices = mesh->vertex_count;
        resource->triangles = mesh->triangle_count;
        resource->bounds = mesh_bounds(mesh);
        if (mesh_has_non_finite(mesh))
            resource->flags |= FLAG_BIT(FLAG_NON_FINITE);
    }
    return true;
}

bool resource_decline(struct resource *resource, enum decline_reason reason, const struct error *err)
{
    resource->status = RESOURCE_DECLINED;
    resource->reason = reason;
    resource->error = *err;
    resource->mesh = NULL;
    return false;
}

bool name_has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcasecmp(name + length - tail, ending) == 0;
}

const char *format_word(enum format_id id)
{
    static const char *const words[FORMAT_COUNT] = {"unknown", "archive", "xdvdfs",  "xpr2",
                                                    "bgf",     "bmf",     "meshbin", "xbg7"};
    return (unsigned)id < FORMAT_COUNT ? words[id] : "unknown";
}

const char *container_status_word(enum container_status status)
{
    static const char *const words[] = {"read", "damaged", "skipped"};
    return words[status];
}

const char *container_reason_word(enum container_reason reason)
{
    static const char *const words[CONTAINER_REASON_COUNT] = {
        NULL,       "encrypted",  "truncated", "bad-crc",   "bad-directory", "over-limit",
        "too-deep", "unreadable", "crashed",   "timed-out", "quarantined",   "ascii-variant"};
    return (unsigned)reason < CONTAINER_REASON_COUNT ? words[reason] : NULL;
}

const char *resource_status_word(enum resource_status status)
{
    static const char *const words[RESOURCE_STATUS_COUNT] = {"declined", "decoded", "proven", "assigned",
                                                             "ambiguous"};
    return (unsigned)status < RESOURCE_STATUS_COUNT ? words[status] : "declined";
}

const char *decline_reason_word(enum decline_reason reason)
{
    static const char *const words[DECLINE_REASON_COUNT] = {NULL,
                                                            "truncated",
                                                            "bad-directory",
                                                            "bad-descriptor",
                                                            "no-marker",
                                                            "no-declaration",
                                                            "unknown-element",
                                                            "no-candidate",
                                                            "too-weak",
                                                            "out-of-range-index",
                                                            "does-not-close",
                                                            "ascii-variant",
                                                            "unknown-version",
                                                            "bad-skeleton",
                                                            "over-limit"};
    return (unsigned)reason < DECLINE_REASON_COUNT ? words[reason] : NULL;
}

const char *flag_word(enum flag flag)
{
    static const char *const words[FLAG_COUNT] = {"non-finite",
                                                  "effect",
                                                  "bad-pmesh",
                                                  "inferred-container",
                                                  "over-engine-limit",
                                                  "trailing-bytes",
                                                  "legacy",
                                                  "ambiguous-variant",
                                                  "early-form",
                                                  "legacy-base",
                                                  "texture-out-of-data",
                                                  "texture-overlap",
                                                  "ambiguous-format",
                                                  "rounded",
                                                  "bad-link",
                                                  "partial"};
    return (unsigned)flag < FLAG_COUNT ? words[flag] : "unknown";
}

const char *coverage_kind_word(enum coverage_kind kind)
{
    static const char *const words[COVERAGE_KIND_COUNT] = {"other",   "texture",     "index",     "vertex",
                                                           "padding", "vertex-like", "index-like"};
    return (unsigned)kind < COVERAGE_KIND_COUNT ? words[kind] : "other";
}
