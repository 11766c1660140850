/* prometheus.c - see prometheus.h */
#include "reports/prometheus.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "reports/text.h"

struct metrics {
    struct buffer *out;
    const char *store;  /* escaped for a label */
    const char *metric; /* whose samples are being written */
};

__attribute__((format(printf, 2, 3))) static void put(struct buffer *out, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text)
        out->failed = true;
    else
        buffer_append(out, text, (size_t)length);
}

/* A label's value: visible text with backslash and quote escaped, as the format wants it. */
static char *label_of(const char *text)
{
    size_t room = strlen(text) * 8 + 1, used = 0;
    char *visible = malloc(room), *label = malloc(2 * room);
    if (visible && label) {
        text_visible(text, visible, room);
        for (const char *at = visible; *at; at++) {
            if (*at == '\\' || *at == '"')
                label[used++] = '\\';
            label[used++] = *at;
        }
        label[used] = '\0';
    } else {
        free(label);
        label = NULL;
    }
    free(visible);
    return label;
}

/* Everything here can go down as well as up. */
static void begin(struct metrics *m, const char *metric, const char *help)
{
    m->metric = metric;
    put(m->out, "# HELP %s %s\n# TYPE %s gauge\n", metric, help, metric);
}

static void put_labels(struct metrics *m, const char *label, const char *value)
{
    put(m->out, "%s{store=\"", m->metric);
    buffer_append(m->out, m->store, strlen(m->store));
    if (label && value) {
        char *escaped = label_of(value);
        if (escaped) {
            put(m->out, "\",%s=\"", label);
            buffer_append(m->out, escaped, strlen(escaped));
        }
        m->out->failed |= !escaped;
        free(escaped);
    }
    put(m->out, "\"} ");
}

static void sample(struct metrics *m, const char *label, const char *value, uint64_t number)
{
    put_labels(m, label, value);
    put(m->out, "%" PRIu64 "\n", number);
}

static void sample_real(struct metrics *m, const char *label, const char *value, double number)
{
    put_labels(m, label, value);
    put(m->out, "%.6f\n", number);
}

static void single(struct metrics *m, const char *metric, const char *help, uint64_t number)
{
    begin(m, metric, help);
    sample(m, NULL, NULL, number);
}

static void put_containers(struct metrics *m, const struct view_summary *s)
{
    begin(m, "anchorage_containers", "Containers by what could be read of them.");
    for (int i = 0; i < 3; i++)
        sample(m, "status", container_status_word((enum container_status)i), s->containers_by_status[i]);
    begin(m, "anchorage_containers_by_format", "Containers by format.");
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (i != FORMAT_XBG7) /* of resources only */
            sample(m, "format", format_word((enum format_id)i), s->containers_by_format[i]);
    begin(m, "anchorage_container_faults", "Damaged and skipped containers by reason.");
    for (int i = 1; i < CONTAINER_REASON_COUNT; i++)
        sample(m, "reason", container_reason_word((enum container_reason)i), s->failed_by_reason[i]);
    single(m, "anchorage_container_places", "Places that containers were met at.", s->places);
}

static void put_resources(struct metrics *m, const struct view_summary *s)
{
    begin(m, "anchorage_resources", "Resources by outcome.");
    for (int i = 0; i < RESOURCE_STATUS_COUNT; i++)
        sample(m, "status", resource_status_word((enum resource_status)i), s->resources_by_status[i]);
    begin(m, "anchorage_declined_resources", "Declined resources by reason.");
    for (int i = 1; i < DECLINE_REASON_COUNT; i++)
        sample(m, "reason", decline_reason_word((enum decline_reason)i), s->declined_by_reason[i]);
}

static void put_contents(struct metrics *m, const struct figures *figures)
{
    begin(m, "anchorage_findings", "Findings of the global passes by kind.");
    for (int i = 1; i < FINDING_KIND_COUNT; i++)
        sample(m, "kind", finding_kind_word((enum finding_kind)i), figures->findings[i]);
    begin(m, "anchorage_coverage_bytes", "Bytes of XPR2 data sections by what they are.");
    for (int i = 0; i < COVERAGE_KIND_COUNT; i++)
        sample(m, "kind", coverage_kind_word((enum coverage_kind)i), figures->coverage.bytes[i]);
    single(m, "anchorage_unknown_files", "Files that are no known container.", figures->unknown_files);
    single(m, "anchorage_unknown_bytes", "Bytes of files that are no known container.",
           figures->unknown_bytes);
    single(m, "anchorage_geometries", "Distinct geometries.", figures->stat.geometries);
    begin(m, "anchorage_geometry_bytes", "Bytes of distinct geometries, canonical and as they are stored.");
    sample(m, "form", "canonical", figures->stat.geometry_raw);
    sample(m, "form", "stored", figures->stat.geometry_encoded);
    single(m, "anchorage_store_file_bytes", "Bytes of the store's file in use.", figures->stat.file_bytes);
}

static void put_run(struct metrics *m, const struct run_record *run)
{
    single(m, "anchorage_run", "Number of the last run that ended.", run->id);
    begin(m, "anchorage_run_started_timestamp_seconds", "When it started, in seconds since 1970.");
    sample_real(m, NULL, NULL, (double)run->started_ns / 1e9);
    begin(m, "anchorage_run_finished_timestamp_seconds", "When it ended, in seconds since 1970.");
    sample_real(m, NULL, NULL, (double)run->finished_ns / 1e9);
    begin(m, "anchorage_run_duration_seconds", "How long it took.");
    sample_real(m, NULL, NULL, (double)(run->finished_ns - run->started_ns) / 1e9);
    begin(m, "anchorage_run_stage_duration_seconds", "How long each of its stages took.");
    for (uint32_t i = 0; i < run->stage_count; i++)
        sample_real(m, "stage", run->stages[i].name, (double)run->stages[i].ns / 1e9);
    single(m, "anchorage_run_exit_status", "Its exit status.", (uint64_t)(uint32_t)run->exit_status);
    single(m, "anchorage_run_containers", "Containers it met.", run->containers);
    single(m, "anchorage_run_unchanged", "Of them, those known already.", run->skipped_unchanged);
    single(m, "anchorage_run_read_bytes", "Bytes it read.", run->bytes_read);
    single(m, "anchorage_run_decoded_bytes", "Bytes of geometry it decoded.", run->bytes_decoded);
}

void prometheus_text(const struct figures *figures, const char *program, const char *store,
                     struct buffer *out)
{
    char *label = label_of(store);
    struct metrics m = {.out = out, .store = label};
    out->failed |= !label;
    if (!label)
        return;
    begin(&m, "anchorage_info", "The program that wrote these figures.");
    sample(&m, "version", program, 1);
    put_containers(&m, &figures->summary);
    put_resources(&m, &figures->summary);
    put_contents(&m, figures);
    if (figures->has_run)
        put_run(&m, &figures->run);
    free(label);
}
