/* summary.c - see summary.h */
#include "reports/summary.h"

#include <string.h>

#include "reports/text.h"

static int status_colour(enum resource_status status)
{
    return status == RESOURCE_DECLINED ? 33 : status == RESOURCE_AMBIGUOUS ? 35 : 32;
}

static void print_share(FILE *out, bool colour, int indent, const char *word, uint64_t count, uint64_t of,
                        int sgr)
{
    char text[28];
    text_count(count, text);
    fprintf(out, "%*s%s%-*s%s %9s  %5.1f %%\n", indent, "",
            colour ? (sgr == 32   ? "\033[32m"
                      : sgr == 33 ? "\033[33m"
                      : sgr == 35 ? "\033[35m"
                                  : "")
                   : "",
            24 - indent, word, colour && sgr ? "\033[0m" : "", text,
            of ? 100.0 * (double)count / (double)of : 0.0);
}

static void print_containers(FILE *out, const struct view_summary *s)
{
    char read[28], damaged[28], skipped[28], places[28];
    uint64_t total = s->containers_by_status[0] + s->containers_by_status[1] + s->containers_by_status[2];
    text_count(s->containers_by_status[CONTAINER_READ], read);
    text_count(s->containers_by_status[CONTAINER_DAMAGED], damaged);
    text_count(s->containers_by_status[CONTAINER_SKIPPED], skipped);
    text_count(s->places, places);
    fprintf(out, "Containers    %s read, %s damaged, %s skipped", read, damaged, skipped);
    if (s->places > total)
        fprintf(out, ", at %s places", places);
    fputc('\n', out);
    bool first = true;
    for (int i = 1; i < FORMAT_COUNT; i++)
        if (s->containers_by_format[i]) {
            text_count(s->containers_by_format[i], read);
            fprintf(out, "%s%s %s", first ? "              " : ", ", read, format_word((enum format_id)i));
            first = false;
        }
    if (!first)
        fputc('\n', out);
    first = true;
    for (int i = 1; i < CONTAINER_REASON_COUNT; i++)
        if (s->failed_by_reason[i]) {
            text_count(s->failed_by_reason[i], read);
            fprintf(out, "%s%s %s", first ? "              because of: " : ", ", read,
                    container_reason_word((enum container_reason)i));
            first = false;
        }
    if (!first)
        fputc('\n', out);
}

static uint64_t print_resources(FILE *out, const struct view_summary *s)
{
    static const enum resource_status order[] = {RESOURCE_DECODED, RESOURCE_PROVEN, RESOURCE_ASSIGNED,
                                                 RESOURCE_AMBIGUOUS, RESOURCE_DECLINED};
    bool colour = text_colour(out);
    uint64_t total = 0;
    char text[28];
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        total += s->resources_by_status[i];
    text_count(total, text);
    fprintf(out, "Resources     %20s\n", text);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (s->resources_by_status[order[i]])
            print_share(out, colour, 2, resource_status_word(order[i]), s->resources_by_status[order[i]],
                        total, status_colour(order[i]));
    for (int i = 1; i < DECLINE_REASON_COUNT; i++)
        if (s->declined_by_reason[i])
            print_share(out, colour, 4, decline_reason_word((enum decline_reason)i), s->declined_by_reason[i],
                        total, 0);
    return total;
}

static bool print_unknown(FILE *out, struct store_txn *txn, struct error *err)
{
    struct arena arena = {0};
    struct census_row *rows = NULL;
    size_t count = 0;
    uint64_t files = 0, bytes = 0;
    char files_text[28], bytes_text[16];
    if (!view_unknown(txn, &arena, &rows, &count, err)) {
        arena_free(&arena);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        files += rows[i].count;
        bytes += rows[i].bytes;
    }
    text_count(files, files_text);
    text_bytes(bytes, bytes_text);
    if (files)
        fprintf(out, "Unknown       %s files of %zu kinds, %s\n", files_text, count, bytes_text);
    arena_free(&arena);
    return true;
}

/* "  anchorage query -s STORE --containers   what it shows". */
static void print_hint(FILE *out, const char *command, const char *store, const char *options,
                       const char *shows)
{
    fprintf(out, "  anchorage %s -s %s%-*s  %s\n", command, store, 32 - (int)strlen(command), options, shows);
}

bool summary_print(FILE *out, const struct view_summary *summary, struct store *store, struct store_txn *txn,
                   const char *store_path, struct error *err)
{
    struct store_stat stat;
    if (!store_stat(store, &stat, err))
        return false;
    print_containers(out, summary);
    uint64_t total = print_resources(out, summary);
    char count[28], raw[16], kept[16], path[512];
    text_count(stat.geometries, count);
    text_bytes(stat.geometry_raw, raw);
    text_bytes(stat.geometry_encoded, kept);
    fprintf(out, "Geometry      %s distinct, %s kept in %s\n", count, raw, kept);
    if (!print_unknown(out, txn, err))
        return false;
    text_visible(store_path, path, sizeof path);
    bool broken =
        summary->containers_by_status[CONTAINER_DAMAGED] + summary->containers_by_status[CONTAINER_SKIPPED];
    fputs("\nNext\n", out);
    if (total)
        print_hint(out, "query", path, "", "every resource");
    if (summary->resources_by_status[RESOURCE_DECLINED])
        print_hint(out, "query", path, " --status declined", "what was declined, and why");
    if (broken)
        print_hint(out, "query", path, " --containers", "damaged and skipped containers among all");
    if (total)
        print_hint(out, "query", path, " --findings", "what does not fit together, and what is unclaimed");
    if (total)
        print_hint(out, "export", path, " --name '*' -o meshes/", "all that is not in doubt, as GLB");
    return true;
}
