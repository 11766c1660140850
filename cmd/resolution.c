/* resolution.c - see resolution.h */
#include "cmd/resolution.h"

#include "cmd/cmd.h"
#include "reports/text.h"

/* One row, under its heading when it is the first of them. */
static void print_row(FILE *out, const char **heading, const char *what, uint64_t number)
{
    char count[28];
    if (!number)
        return;
    text_count(number, count);
    fprintf(out, "%s  %-24s %9s\n", *heading, what, count);
    *heading = "";
}

bool resolution_print(FILE *out, const struct resolve_result *result)
{
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {
        {"became proven", result->proven},          {"became assigned", result->assigned},
        {"became ambiguous", result->ambiguous},    {"became declined", result->declined},
        {"pairs of mirrored twins", result->twins},
    };
    bool printed = !result->changed;
    const char *heading = "Resolved\n";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_row(out, &heading, rows[i].what, rows[i].count);
    printed |= !*heading;
    heading = "Findings\n";
    for (int i = 1; i < FINDING_KIND_COUNT; i++)
        print_row(out, &heading, finding_kind_word((enum finding_kind)i), result->findings[i]);
    printed |= !*heading;
    if (!result->changed)
        fputs("Nothing changed: the store was resolved already\n", out);
    return printed;
}

json_t *resolution_json(const struct resolve_result *result)
{
    json_t *findings = json_object();
    for (int i = 1; i < FINDING_KIND_COUNT; i++)
        json_object_set_new(findings, finding_kind_word((enum finding_kind)i),
                            json_integer((json_int_t)result->findings[i]));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o}", "changed", (json_int_t)result->changed,
                     "proven", (json_int_t)result->proven, "assigned", (json_int_t)result->assigned,
                     "ambiguous", (json_int_t)result->ambiguous, "declined", (json_int_t)result->declined,
                     "twins", (json_int_t)result->twins, "rounds", (int)result->rounds, "findings", findings);
}

static bool warn_one(const struct finding_record *finding, void *ctx)
{
    (void)ctx;
    if (finding->kind == FINDING_CONTRADICTED)
        warning("%s", finding->message);
    return true;
}

bool resolution_warn(struct store *store, const struct resolve_result *result, struct error *err)
{
    if (!result->findings[FINDING_CONTRADICTED])
        return true;
    struct store_txn *txn = store_begin_read(store, err);
    bool ok = txn && store_each_finding(txn, warn_one, NULL, err);
    store_end_read(txn);
    return ok;
}
