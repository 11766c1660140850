/* explain.c - see explain.h */
#include "reports/explain.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/topology.h"
#include "reports/coverage.h"

#include "reports/number.h"
#include "reports/text.h"

#define EXPLAIN_MOST 40 /* rows of one list; a library of 2 000 materials is read with --json */

/* One line "label   text", the text made safe. */
static void print_text(FILE *out, const char *label, const char *text)
{
    size_t room = strlen(text) * 4 + 1;
    char *safe = malloc(room);
    if (!safe)
        return;
    text_visible(text, safe, room);
    fprintf(out, "  %-13s %s\n", label, safe);
    free(safe);
}

static void print_float(FILE *out, const char *before, float value)
{
    char text[FLOAT_TEXT_SIZE];
    float_text(value, text);
    fprintf(out, "%s%s", before, text);
}

void explain_bounds(FILE *out, const struct bounds *bounds)
{
    if (!bounds->valid) {
        fputs("none", out);
        return;
    }
    for (int i = 0; i < 3; i++)
        print_float(out, i ? " x " : "", bounds->max[i] - bounds->min[i]);
    for (int i = 0; i < 3; i++)
        print_float(out, i ? ", " : " from (", bounds->min[i]);
    for (int i = 0; i < 3; i++)
        print_float(out, i ? ", " : ") to (", bounds->max[i]);
    fputs(")", out);
}

static void print_flags(FILE *out, uint32_t flags)
{
    if (!flags)
        return;
    fprintf(out, "  %-13s", "flags");
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags & FLAG_BIT(i))
            fprintf(out, " %s", flag_word((enum flag)i));
    fputc('\n', out);
}

static void print_error(FILE *out, const struct error *error)
{
    if (error->code == ERROR_NONE)
        return;
    print_text(out, "because", error->msg);
    if (error->offset != ERROR_NO_OFFSET)
        fprintf(out, "  %-13s 0x%llX (%llu)\n", "at offset", (unsigned long long)error->offset,
                (unsigned long long)error->offset);
}

static const char *usage_word(unsigned usage)
{
    static const char *const words[] = {"POSITION",   "BLENDWEIGHT", "BLENDINDICES", "NORMAL",
                                        "PSIZE",      "TEXCOORD",    "TANGENT",      "BINORMAL",
                                        "TESSFACTOR", "usage 9",     "COLOR"};
    return usage < sizeof words / sizeof *words ? words[usage] : "unknown";
}

static void print_markers(FILE *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->marker_count && i < EXPLAIN_MOST; i++) {
        const struct xbg7_marker *marker = &resource->markers[i];
        fprintf(
            out,
            "  buffer %-6u %u vertices of %u bytes, %u indices in %u draw%s; marker at descriptor +0x%X\n", i,
            marker->vertex_count, marker->stride, marker->index_count, marker->draw_count,
            marker->draw_count == 1 ? "" : "s", marker->offset);
        fprintf(out, "  %-13s", "");
        for (uint32_t k = 0; k < marker->element_count; k++)
            fprintf(out, " %s%u@%u(0x%06X)", usage_word(marker->elements[k].usage),
                    marker->elements[k].usage_index, marker->elements[k].offset, marker->elements[k].format);
        fputc('\n', out);
    }
    if (resource->marker_count > EXPLAIN_MOST)
        fprintf(out, "  ... and %u buffers more\n", resource->marker_count - EXPLAIN_MOST);
}

static void print_lods(FILE *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->lod_count && i < EXPLAIN_MOST; i++) {
        const struct lod_info *lod = &resource->lods[i];
        fprintf(out, "  lod %-9u object %u, %u triangles", i, lod->object, lod->triangles);
        if (lod->has_distance) {
            print_float(out, ", from ", lod->in);
            print_float(out, " to ", lod->out);
        }
        fputs(lod->implicit ? ", implicit\n" : "\n", out);
    }
}

static void print_parts(FILE *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->part_count && i < EXPLAIN_MOST; i++) {
        const struct part_info *part = &resource->parts[i];
        char label[24], text[400];
        snprintf(label, sizeof label, "part %u", i);
        snprintf(text, sizeof text, "material %s%s%s%s%s%s", part->material ? part->material : "-",
                 part->special ? ", special " : "", part->special ? part->special : "",
                 part->faceted ? ", faceted" : "", part->decal ? ", decal" : "",
                 part->back_material ? ", two-sided" : "");
        print_text(out, label, text);
    }
    if (resource->part_count > EXPLAIN_MOST)
        fprintf(out, "  ... and %u parts more\n", resource->part_count - EXPLAIN_MOST);
}

static void print_materials(FILE *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->material_count && i < EXPLAIN_MOST; i++) {
        const struct material_info *material = &resource->materials[i];
        print_text(out, "material", material->name ? material->name : "-");
        for (uint32_t k = 0; k < material->string_count && k < EXPLAIN_MOST; k++) {
            char text[300];
            snprintf(text, sizeof text, "  0x%04X %s", material->strings[k].tag, material->strings[k].text);
            print_text(out, "", text);
        }
    }
    if (resource->material_count > EXPLAIN_MOST)
        fprintf(out, "  ... and %u materials more\n", resource->material_count - EXPLAIN_MOST);
}

static void print_nodes(FILE *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->node_count && i < EXPLAIN_MOST; i++)
        print_text(out, i ? "" : "strings", resource->nodes[i]);
    if (resource->node_count > EXPLAIN_MOST)
        fprintf(out, "  ... and %u strings more\n", resource->node_count - EXPLAIN_MOST);
}

/* ---- why here
 * ---------------------------------------------------------------------------------------------- */

/* Appends to a line that is cut when it is full. */
static void say(char *line, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(char *line, size_t room, const char *fmt, ...)
{
    size_t used = strlen(line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + used, room - used, fmt, args);
    va_end(args);
}

static void say_evidence(char *line, size_t room, const struct anchor_evidence *e)
{
    line[0] = '\0';
    say(line, room,
        e->short_of_top ? "greatest index short of the count in %u buffer%s"
                        : "greatest index is the last vertex",
        e->short_of_top, e->short_of_top == 1 ? "" : "s");
    if (e->unreferenced)
        say(line, room, ", %u of %u vertices unreferenced", e->unreferenced, e->vertices);
    else
        say(line, room, ", all %u vertices referenced", e->vertices);
    if (e->normals)
        say(line, room, ", %u of %u normals of unit length", e->unit, e->normals);
    else
        say(line, room, ", no normals");
    if (e->run_start)
        say(line, room, e->run_start > 0 ? ", their run begins here" : ", their run began before");
    if (e->run_end)
        say(line, room, e->run_end > 0 ? " and ends here" : " and goes on behind");
    if (e->faces)
        say(line, room, ", %u of %u faces on the normals' side", e->agreeing, e->faces);
    if (e->degenerate)
        say(line, room, ", %u degenerate triangles", e->degenerate);
    if (e->nonsense)
        say(line, room, ", %u positions that make no sense", e->nonsense);
    if (e->stated)
        say(line, room, ", laid out as the descriptor's words say");
    if (e->size_match)
        say(line, room,
            e->size_match > 0    ? ", of the size the descriptor stores"
            : e->size_match < -1 ? ", far from the size the descriptor stores"
                                 : ", not of the size the descriptor stores");
    say(line, room, "; extent %.5g x %.5g x %.5g", (double)e->extent[0], (double)e->extent[1],
        (double)e->extent[2]);
    if (e->locality > 0.05f || e->locality < -0.05f)
        say(line, room, "; its neighbours' places count %+.1f", (double)e->locality);
}

/* What a rival lacks, or shares, beside the chosen one. */
static void say_difference(char *line, size_t room, const struct anchor_evidence *best,
                           const struct anchor_evidence *e)
{
    line[0] = '\0';
    if (e->short_of_top > best->short_of_top)
        say(line, room, "its greatest index falls short; ");
    if (e->unreferenced > best->unreferenced)
        say(line, room, "%u more vertices unreferenced; ", e->unreferenced - best->unreferenced);
    if (e->normals && e->unit < best->unit)
        say(line, room, "%u fewer unit normals; ", best->unit - e->unit);
    if (e->run_start < best->run_start || e->run_end < best->run_end)
        say(line, room, "the run of normals goes past it; ");
    if (e->degenerate > best->degenerate)
        say(line, room, "more degenerate triangles; ");
    if (e->nonsense > best->nonsense)
        say(line, room, "positions that make no sense; ");
    if (e->size_match < best->size_match)
        say(line, room, "not the stored size; ");
    if (e->stated < best->stated)
        say(line, room, "not where the descriptor's words put the vertices; ");
    if (e->locality < best->locality - 0.05f)
        say(line, room, "further from the neighbours; ");
    if (!line[0])
        say(line, room,
            "nothing of its own bytes speaks against it: other resources' claims, or chance, decide; ");
    line[strlen(line) - 2] = '\0';
}

void explain_decision(FILE *out, const struct resource *resource)
{
    char line[700];
    if (!resource->candidate_count)
        return;
    fprintf(out, "  %-13s %u kept, %u dropped; score %.2f, margin %.2f (natural log; below 1 is ambiguous)\n",
            "candidates", resource->candidate_count, resource->candidates_dropped, resource->score,
            resource->margin);
    const struct anchor_evidence *best = resource->chosen < resource->candidate_count
                                             ? &resource->candidates[resource->chosen].evidence
                                             : NULL;
    for (uint32_t i = 0; i < resource->candidate_count; i++) {
        const struct candidate *candidate = &resource->candidates[i];
        bool chosen = i == resource->chosen && resource->status != RESOURCE_DECLINED;
        fprintf(out, "  %s %-2u %9.2f  ", chosen ? "chosen    " : "          ", i, candidate->score);
        for (uint32_t k = 0; k < resource->marker_count && k < 4; k++)
            fprintf(out, "%sindices 0x%llX vertices 0x%llX", k ? ", " : "",
                    (unsigned long long)candidate->buffers[k].index_offset,
                    (unsigned long long)candidate->buffers[k].vertex_offset);
        fputs(resource->marker_count > 4 ? " ...\n" : "\n", out);
        say_evidence(line, sizeof line, &candidate->evidence);
        fprintf(out, "  %-13s           %s\n", "", line);
        if (best && !chosen && resource->status != RESOURCE_DECLINED) {
            say_difference(line, sizeof line, best, &candidate->evidence);
            fprintf(out, "  %-13s           against it: %s\n", "", line);
        }
    }
}

void explain_topology(FILE *out, const struct mesh *mesh)
{
    struct topology t = topology_of(mesh);
    if (!t.list_faces)
        fprintf(out, "  %-13s no normals to compare faces with\n", "topology");
    else
        fprintf(out, "  %-13s as list %.3f of %u faces, as strip %.3f of %u\n", "topology", t.list,
                t.list_faces, t.strip, t.strip_faces);
}

void explain_resource(FILE *out, const struct resource *resource, const char *name)
{
    print_text(out, "name", name ? name : "-");
    fprintf(out, "  %-13s %s%s%s, entry %u of its container\n", "format", format_word(resource->format),
            resource->variant ? " " : "", resource->variant ? resource->variant : "", resource->index);
    fprintf(out, "  %-13s %s%s%s\n", "status", resource_status_word(resource->status),
            resource->status == RESOURCE_DECLINED ? ": " : "",
            resource->status == RESOURCE_DECLINED ? decline_reason_word(resource->reason) : "");
    print_error(out, &resource->error);
    fprintf(out, "  %-13s %u vertices, %u triangles%s\n", "counts", resource->vertices, resource->triangles,
            resource->status == RESOURCE_DECLINED ? " declared" : "");
    fprintf(out, "  %-13s ", "bounds");
    explain_bounds(out, &resource->bounds);
    fputc('\n', out);
    print_flags(out, resource->flags);
    for (uint32_t i = 0; i < resource->buffer_count; i++)
        fprintf(out, "  %-13s indices at 0x%llX, vertices at 0x%llX\n", "placed",
                (unsigned long long)resource->buffers[i].index_offset,
                (unsigned long long)resource->buffers[i].vertex_offset);
    explain_decision(out, resource);
    print_markers(out, resource);
    print_lods(out, resource);
    print_parts(out, resource);
    print_materials(out, resource);
    print_nodes(out, resource);
}

static void print_textures(FILE *out, const struct container *container)
{
    static const struct table_column columns[] = {
        {"entry", true, false},  {"texture", false, true}, {"size", false, false}, {"format", true, false},
        {"offset", true, false}, {"bytes", true, false},   {"mips", true, false},  {"note", false, false}};
    if (!container->texture_count)
        return;
    fputc('\n', out);
    struct table *table = table_new(out, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; table && i < container->texture_count; i++) {
        const struct texture *texture = &container->textures[i];
        table_cellf(table, 0, "%u", texture->index);
        table_cell(table, texture->name, 0);
        table_cellf(table, 0, "%u x %u", texture->width, texture->height);
        table_cellf(table, 0, "%u", texture->format);
        table_cellf(table, 0, "0x%llX", (unsigned long long)texture->base_offset);
        table_cellf(table, 0, "%llu", (unsigned long long)texture->base_size);
        table_cellf(table, 0, "%llu", (unsigned long long)texture->mip_size);
        table_cell(table, !texture->valid ? texture->error.msg : texture->contested ? "contested" : "", 33);
    }
    if (table)
        table_print(table);
}

static void print_resources(FILE *out, const struct container *container, const char *stem)
{
    static const struct table_column columns[] = {
        {"entry", true, false},   {"name", false, true},     {"status", false, false},
        {"reason", false, false}, {"vertices", true, false}, {"triangles", true, false},
        {"buffers", true, false}, {"offset", true, false},   {"note", false, false}};
    fputc('\n', out);
    struct table *table = table_new(out, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; table && i < container->resource_count; i++) {
        const struct resource *resource = &container->resources[i];
        bool declined = resource->status == RESOURCE_DECLINED;
        table_cellf(table, 0, "%u", resource->index);
        table_cell(table, resource->name ? resource->name : stem, 0);
        table_cell(table, resource_status_word(resource->status), declined ? 33 : 32);
        table_cell(table, declined ? decline_reason_word(resource->reason) : NULL, 0);
        table_cellf(table, 0, "%u", resource->vertices);
        table_cellf(table, 0, "%u", resource->triangles);
        table_cellf(table, 0, "%u", resource->marker_count);
        if (declined && resource->error.offset != ERROR_NO_OFFSET)
            table_cellf(table, 0, "0x%llX", (unsigned long long)resource->error.offset);
        else if (resource->buffer_count)
            table_cellf(table, 0, "0x%llX", (unsigned long long)resource->buffers[0].index_offset);
        else
            table_cell(table, NULL, 0);
        table_cell(table, resource->error.code ? resource->error.msg : "", 0);
    }
    if (table)
        table_print(table);
}

void explain_container(FILE *out, const struct container *container, uint64_t bytes, const char *path,
                       const char *stem)
{
    char size[16];
    text_bytes(bytes, size);
    print_text(out, "container", path);
    fprintf(out, "  %-13s %s, %s (%llu bytes)\n", "format", format_word(container->format), size,
            (unsigned long long)bytes);
    const char *reason = container_reason_word(container->reason);
    fprintf(out, "  %-13s %s%s%s\n", "status", container_status_word(container->status), reason ? ": " : "",
            reason ? reason : "");
    print_error(out, &container->error);
    print_flags(out, container->flags);
    if (container->data_size)
        fprintf(out, "  %-13s 0x%llX to 0x%llX\n", "data section", (unsigned long long)container->data_offset,
                (unsigned long long)(container->data_offset + container->data_size));
    for (uint32_t i = 0; i < container->tag_count_count && i < EXPLAIN_MOST; i++)
        fprintf(out, "  %-13s %s x %u\n", i ? "" : "other tags", container->tag_counts[i].tag,
                container->tag_counts[i].count);
    if (container->coverage_count)
        fputc('\n', out);
    coverage_strip(out, container->coverage, container->coverage_count, 72);
    print_textures(out, container);
    print_resources(out, container, stem);
}
