/* json.c - the documented JSON of resources, containers and runs. See view.h and docs/json.md. */
#include "pipeline/json_whole.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reports/number.h"

json_t *json_of_f32(float value)
{
    if (!isfinite(value))
        return json_null();
    if (value == rintf(value) && fabsf(value) < 9.0e15f && !(value == 0 && signbit(value)))
        return json_integer((json_int_t)value);
    /* The double nearest to the shortest decimal prints as that decimal under %.9g, which is JSON_PRINT's. */
    char text[FLOAT_TEXT_SIZE];
    float_text(value, text);
    return json_real(strtod(text, NULL));
}

json_t *json_of_bytes(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    size_t length = strlen(text), used = 0;
    char *escaped = malloc(length * 3 + 1);
    if (!escaped)
        return NULL;
    for (size_t i = 0; i < length;) {
        size_t step = 4 < length - i ? 4 : length - i;
        json_t *piece = NULL;
        /* The shortest piece that jansson takes is one character. */
        size_t n;
        for (n = 1; n <= step && !(piece = json_stringn(text + i, n)); n++)
            ;
        if (piece) {
            memcpy(escaped + used, text + i, n);
            used += n;
            i += n;
            json_decref(piece);
        } else {
            used += (size_t)sprintf(escaped + used, "%%%02X", (unsigned char)text[i]);
            i++;
        }
    }
    string = json_stringn(escaped, used);
    free(escaped);
    return string;
}

static json_t *word_or_null(const char *word)
{
    return word ? json_string(word) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_of_bytes(text) : json_null();
}

static json_t *json_of_hash(const struct hash *hash)
{
    if (hash_is_zero(hash))
        return json_null();
    char text[HASH_HEX];
    hash_format(hash, text);
    return json_string(text);
}

static json_t *json_of_flags(uint32_t flags)
{
    json_t *list = json_array();
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags & FLAG_BIT(i))
            json_array_append_new(list, json_string(flag_word((enum flag)i)));
    return list;
}

static json_t *json_of_vector(const float *v, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_of_f32(v[i]));
    return list;
}

json_t *json_of_bounds(const struct bounds *bounds)
{
    if (!bounds->valid)
        return json_null();
    return json_pack("{s:o,s:o}", "min", json_of_vector(bounds->min, 3), "max",
                     json_of_vector(bounds->max, 3));
}

static json_t *json_of_error(const char *message, uint64_t offset)
{
    if (!message)
        return json_null();
    return json_pack("{s:o,s:o}", "message", json_of_bytes(message), "offset",
                     offset == ERROR_NO_OFFSET ? json_null() : json_integer((json_int_t)offset));
}

static json_t *json_of_also(const struct view_container *container)
{
    json_t *list = json_array();
    for (size_t i = 0; i < container->also_count; i++)
        json_array_append_new(list, json_of_bytes(container->also[i]));
    return list;
}

static json_t *json_of_buffers(const struct buffer_place *buffers, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:I,s:I,s:I,s:I,s:I}", "index_offset", (json_int_t)buffers[i].index_offset,
                            "index_count", (json_int_t)buffers[i].index_count, "vertex_offset",
                            (json_int_t)buffers[i].vertex_offset, "vertex_count",
                            (json_int_t)buffers[i].vertex_count, "stride", (json_int_t)buffers[i].stride));
    return list;
}

/* The candidates of an ambiguous resource but the one under "buffers". */
static json_t *json_of_alternatives(const struct resource_record *record)
{
    const struct resource *resource = &record->resource;
    json_t *list = json_array();
    for (uint32_t i = 0; i < resource->candidate_count; i++) {
        const struct candidate *candidate = &resource->candidates[i];
        if (i == resource->chosen)
            continue;
        json_array_append_new(list, json_pack("{s:o, s:f, s:o}", "buffers",
                                              json_of_buffers(candidate->buffers, resource->marker_count),
                                              "score", candidate->score, "geometry",
                                              json_of_hash(&record->candidate_hashes[i].geometry)));
    }
    return list;
}

static json_t *json_of_canonical(const struct resolved_record *outcome)
{
    if (!outcome || outcome->canonical.basis == CANONICAL_NONE)
        return json_null();
    return json_pack("{s:o, s:b, s:s}", "geometry", json_of_hash(&outcome->canonical.geometry), "mirrored",
                     outcome->canonical.mirrored, "basis", canonical_basis_word(outcome->canonical.basis));
}

json_t *json_of_resource(const struct view_resource *view)
{
    const struct resource *resource = &view->record->resource;
    bool declined = resource->status == RESOURCE_DECLINED;
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:s, s:I, s:o, s:s, s:o, s:f, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
        "container", json_of_bytes(view->container->path), "also", json_of_also(view->container),
        "container_hash", json_of_hash(&view->container->hash), "format", format_word(resource->format),
        "index", (json_int_t)resource->index, "name", json_of_bytes(view->name), "status",
        resource_status_word(resource->status), "reason",
        word_or_null(declined ? decline_reason_word(resource->reason) : NULL), "score", resource->score,
        "margin", resource->margin, "vertices", (json_int_t)resource->vertices, "triangles",
        (json_int_t)resource->triangles, "bounds", json_of_bounds(&resource->bounds), "buffers",
        json_of_buffers(resource->buffers, resource->buffer_count), "geometry",
        json_of_hash(&view->record->geometry), "canonical", json_of_canonical(view->outcome), "flags",
        json_of_flags(resource->flags), "error",
        resource->error.code ? json_of_error(resource->error.msg, resource->error.offset) : json_null());
    if (resource->status == RESOURCE_AMBIGUOUS) {
        json_object_set_new(object, "alternatives", json_of_alternatives(view->record));
        json_object_set_new(object, "alternatives_dropped",
                            json_integer((json_int_t)resource->candidates_dropped));
    }
    return object;
}

json_t *json_of_container(const struct view_container *view)
{
    const uint32_t *by = view->by_status;
    uint64_t located = (uint64_t)by[RESOURCE_DECODED] + by[RESOURCE_PROVEN] + by[RESOURCE_ASSIGNED];
    return json_pack("{s:o, s:o, s:o, s:s, s:I, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "container",
                     json_of_bytes(view->path), "also", json_of_also(view), "container_hash",
                     json_of_hash(&view->hash), "format", format_word(view->format), "bytes",
                     (json_int_t)view->bytes, "status", container_status_word(view->status), "reason",
                     word_or_null(container_reason_word(view->reason)), "resources",
                     (json_int_t)(located + by[RESOURCE_AMBIGUOUS] + by[RESOURCE_DECLINED]), "decoded",
                     (json_int_t)located, "ambiguous", (json_int_t)by[RESOURCE_AMBIGUOUS], "declined",
                     (json_int_t)by[RESOURCE_DECLINED], "flags", json_of_flags(view->flags), "error",
                     json_of_error(view->message, view->error_offset));
}

void time_text(int64_t ns, char out[static 24])
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm parts;
    if (ns <= 0 || !gmtime_r(&seconds, &parts) || !strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &parts))
        strcpy(out, "-");
}

static json_t *json_of_stages(const struct run_record *run)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < run->stage_count; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:f, s:I, s:I}", "stage", json_of_bytes(run->stages[i].name), "seconds",
                            (double)run->stages[i].ns / 1e9, "items", (json_int_t)run->stages[i].items,
                            "bytes", (json_int_t)run->stages[i].bytes));
    return list;
}

static json_t *json_of_conditions(const struct run_record *run)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < run->condition_count; i++)
        json_object_set_new(object, run->conditions[i].name, json_of_bytes(run->conditions[i].value));
    return object;
}

json_t *json_of_run(const struct run_record *run)
{
    char started[24], finished[24];
    time_text(run->started_ns, started);
    time_text(run->finished_ns, finished);
    json_t *by = json_object();
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        json_object_set_new(by, resource_status_word((enum resource_status)i),
                            json_integer((json_int_t)run->by_status[i]));
    return json_pack("{s:I, s:s, s:o, s:f, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:i}",
                     "run", (json_int_t)run->id, "started", started, "finished",
                     run->finished_ns ? json_string(finished) : json_null(), "seconds",
                     run->finished_ns ? (double)(run->finished_ns - run->started_ns) / 1e9 : 0.0, "version",
                     json_of_bytes(run->version), "arguments", json_of_bytes(run->arguments), "inputs",
                     (json_int_t)run->inputs, "containers", (json_int_t)run->containers, "resources",
                     (json_int_t)run->resources, "bytes_read", (json_int_t)run->bytes_read, "bytes_decoded",
                     (json_int_t)run->bytes_decoded, "unchanged", (json_int_t)run->skipped_unchanged,
                     "by_status", by, "stages", json_of_stages(run), "conditions", json_of_conditions(run),
                     "exit_status", run->exit_status);
}

json_t *json_of_unknown(const struct census_row *row)
{
    return json_pack("{s:s, s:o, s:I, s:I}", "magic", row->magic, "ending", json_of_bytes(row->ending),
                     "count", (json_int_t)row->count, "bytes", (json_int_t)row->bytes);
}

json_t *json_of_summary(const struct view_summary *summary)
{
    json_t *containers = json_object(), *formats = json_object(), *resources = json_object(),
           *declined = json_object(), *failed = json_object();
    for (int i = 0; i < 3; i++)
        json_object_set_new(containers, container_status_word((enum container_status)i),
                            json_integer((json_int_t)summary->containers_by_status[i]));
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (summary->containers_by_format[i])
            json_object_set_new(formats, format_word((enum format_id)i),
                                json_integer((json_int_t)summary->containers_by_format[i]));
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        json_object_set_new(resources, resource_status_word((enum resource_status)i),
                            json_integer((json_int_t)summary->resources_by_status[i]));
    for (int i = 1; i < DECLINE_REASON_COUNT; i++)
        if (summary->declined_by_reason[i])
            json_object_set_new(declined, decline_reason_word((enum decline_reason)i),
                                json_integer((json_int_t)summary->declined_by_reason[i]));
    for (int i = 1; i < CONTAINER_REASON_COUNT; i++)
        if (summary->failed_by_reason[i])
            json_object_set_new(failed, container_reason_word((enum container_reason)i),
                                json_integer((json_int_t)summary->failed_by_reason[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I}", "containers", containers, "formats", formats,
                     "reasons", failed, "resources", resources, "declined", declined, "places",
                     (json_int_t)summary->places);
}

/* ---- details
 * ----------------------------------------------------------------------------------------------- */

static json_t *json_of_parts(const struct resource *resource, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct part_info *part = &resource->parts[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:b}", "material",
                                              text_or_null(part->material), "back_material",
                                              text_or_null(part->back_material), "special",
                                              text_or_null(part->special), "object", (json_int_t)part->object,
                                              "lod", (json_int_t)part->lod, "patch", (json_int_t)part->patch,
                                              "faceted", part->faceted, "decal", part->decal));
    }
    return list;
}

static json_t *json_of_lods(const struct resource *resource)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < resource->lod_count; i++) {
        const struct lod_info *lod = &resource->lods[i];
        json_t *distance =
            lod->has_distance ? json_pack("[o,o]", json_of_f32(lod->in), json_of_f32(lod->out)) : json_null();
        json_array_append_new(list, json_pack("{s:I, s:b, s:o, s:I}", "object", (json_int_t)lod->object,
                                              "implicit", lod->implicit, "distance", distance, "triangles",
                                              (json_int_t)lod->triangles));
    }
    return list;
}

static json_t *json_of_materials(const struct resource *resource)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < resource->material_count; i++) {
        const struct material_info *material = &resource->materials[i];
        json_t *strings = json_array();
        for (uint32_t k = 0; k < material->string_count; k++) {
            char tag[12];
            snprintf(tag, sizeof tag, "0x%04X", material->strings[k].tag);
            json_array_append_new(strings, json_pack("{s:s, s:o}", "tag", tag, "text",
                                                     json_of_bytes(material->strings[k].text)));
        }
        json_array_append_new(list, json_pack("{s:o, s:I, s:b, s:o}", "name", text_or_null(material->name),
                                              "tag", (json_int_t)material->tag, "inferred",
                                              material->inferred, "strings", strings));
    }
    return list;
}

static json_t *json_of_markers(const struct resource *resource)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < resource->marker_count; i++) {
        const struct xbg7_marker *marker = &resource->markers[i];
        json_t *elements = json_array(), *draws = json_array();
        for (uint32_t k = 0; k < marker->element_count; k++) {
            const struct vertex_element *element = &marker->elements[k];
            char code[12];
            snprintf(code, sizeof code, "0x%06X", element->format);
            json_array_append_new(elements,
                                  json_pack("{s:i, s:i, s:i, s:s, s:i}", "offset", element->offset, "usage",
                                            element->usage, "usage_index", element->usage_index, "format",
                                            code, "size", element->size));
        }
        for (uint32_t k = 0; k < marker->draw_count; k++)
            json_array_append_new(draws, json_pack("{s:I, s:I}", "vertex_count",
                                                   (json_int_t)marker->draws[k].vertex_count, "index_count",
                                                   (json_int_t)marker->draws[k].index_count));
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "offset", (json_int_t)marker->offset,
                            "vertex_count", (json_int_t)marker->vertex_count, "index_count",
                            (json_int_t)marker->index_count, "stride", (json_int_t)marker->stride, "fetch0",
                            (json_int_t)marker->fetch0, "fetch1", (json_int_t)marker->fetch1, "elements",
                            elements, "draws", draws));
    }
    return list;
}

static json_t *json_of_strings(const char *const *strings, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_of_bytes(strings[i]));
    return list;
}

json_t *json_of_details(const struct resource *resource)
{
    json_t *objects = json_array();
    for (uint32_t i = 0; i < resource->object_count; i++)
        json_array_append_new(objects, text_or_null(resource->objects[i].name));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "variant", word_or_null(resource->variant),
                     "objects", objects, "lods", json_of_lods(resource), "parts",
                     json_of_parts(resource, resource->parts ? resource->part_count : 0), "materials",
                     json_of_materials(resource), "markers", json_of_markers(resource), "nodes",
                     json_of_strings(resource->nodes, resource->node_count));
}

bool json_print(json_t *value, FILE *out)
{
    bool ok = json_whole_write(value, out, JSON_PRINT) && fputc('\n', out) != EOF;
    json_decref(value);
    return ok;
}
