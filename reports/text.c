/* text.c - see text.h */
#include "reports/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

size_t text_utf8(const unsigned char *s, size_t left, uint32_t *code)
{
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    size_t length = s[0] >= 0xF0 && s[0] < 0xF5   ? 4
                    : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
                    : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
                                                  : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t value = s[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    if ((length == 3 && value < 0x800) || (length == 4 && (value < 0x10000 || value > 0x10FFFF)) ||
        (value >= 0xD800 && value < 0xE000))
        return 0;
    *code = value;
    return length;
}

/* What could move the cursor, hide text or turn a line around. */
static bool is_dangerous(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           code == 0x061C;
}

void text_visible(const char *text, char *out, size_t size)
{
    size_t used = 0, left = strlen(text);
    while (left) {
        uint32_t code;
        char piece[16];
        size_t length = text_utf8((const unsigned char *)text, left, &code);
        if (length == 0) {
            length = 1;
            snprintf(piece, sizeof piece, "\\x%02X", (unsigned char)*text);
        } else if (is_dangerous(code)) {
            snprintf(piece, sizeof piece, code < 0x80 ? "\\x%02X" : "\\u{%X}", code);
        } else {
            memcpy(piece, text, length);
            piece[length] = '\0';
        }
        size_t wide = strlen(piece);
        if (used + wide >= size)
            break;
        memcpy(out + used, piece, wide);
        used += wide;
        text += length;
        left -= length;
    }
    out[used] = '\0';
}

void text_bytes(uint64_t bytes, char out[static 16])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit < 6) {
        value /= 1000;
        unit++;
    }
    snprintf(out, 16, unit && value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void text_count(uint64_t count, char out[static 28])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), used = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[used++] = ' ';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

void text_duration(double seconds, char out[static 16])
{
    if (!(seconds >= 0) || seconds > 3.6e8)
        snprintf(out, 16, "-");
    else if (seconds < 60)
        snprintf(out, 16, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    else if (seconds < 3600)
        snprintf(out, 16, "%d:%02d", (int)(seconds / 60), (int)seconds % 60);
    else
        snprintf(out, 16, "%d:%02d:%02d", (int)(seconds / 3600), (int)seconds / 60 % 60, (int)seconds % 60);
}

bool text_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || number < low || number > high)
        return false;
    *value = number;
    return true;
}

bool text_colour(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(out)) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

size_t text_width(const char *text)
{
    size_t width = 0, left = strlen(text);
    while (left) {
        uint32_t code;
        size_t length = text_utf8((const unsigned char *)text, left, &code);
        if (length == 0) {
            length = 1;
            code = '?';
        }
        int columns = wcwidth((wchar_t)code);
        width += columns > 0 ? (size_t)columns : 0;
        text += length;
        left -= length;
    }
    return width;
}

/* ---- tables
 * ------------------------------------------------------------------------------------------------ */

struct cell {
    char *text;
    int colour;
};

struct table {
    FILE *out;
    const struct table_column *columns;
    size_t column_count, cell_count, cell_room;
    struct cell *cells; /* row after row; kept only for a terminal */
    bool terminal, colour, failed;
};

static _Atomic bool incomplete;

bool text_is_whole(void)
{
    return !incomplete;
}

struct table *table_new(FILE *out, const struct table_column *columns, size_t count)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table) {
        incomplete = true;
        return NULL;
    }
    table->out = out;
    table->columns = columns;
    table->column_count = count;
    table->terminal = isatty(fileno(out));
    table->colour = text_colour(out);
    if (!table->terminal)
        for (size_t i = 0; i < count; i++)
            fprintf(out, "%s%c", columns[i].title, i + 1 < count ? '\t' : '\n');
    return table;
}

void table_cell(struct table *table, const char *text, int colour)
{
    if (!table)
        return;
    size_t column = table->cell_count % table->column_count;
    char *safe = NULL;
    if (text) {
        size_t room = strlen(text) * 4 + 1;
        safe = malloc(room);
        if (safe)
            text_visible(text, safe, room);
        else
            table->failed = true;
    }
    if (!table->terminal) {
        fprintf(table->out, "%s%c", safe ? safe : "", column + 1 < table->column_count ? '\t' : '\n');
        free(safe);
        table->cell_count = (column + 1) % table->column_count;
        return;
    }
    if (table->cell_count == table->cell_room) {
        size_t room = table->cell_room ? table->cell_room * 2 : 256;
        struct cell *cells = realloc(table->cells, room * sizeof *cells);
        if (!cells) {
            table->failed = true;
            free(safe);
            return;
        }
        table->cells = cells;
        table->cell_room = room;
    }
    table->cells[table->cell_count++] = (struct cell){safe, colour};
}

void table_cellf(struct table *table, int colour, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    table_cell(table, text, colour);
}

static size_t terminal_columns(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 100;
}

/* Prints `text` in `width` columns, keeping the end of what is too long: addresses differ at their ends. */
static void print_cell(const struct table *table, const char *text, size_t width, bool right, bool last,
                       int colour)
{
    size_t wide = text_width(text);
    const char *cut = "";
    while (wide > width && *text) {
        cut = "…";
        do
            text++;
        while (((unsigned char)*text & 0xC0) == 0x80);
        wide = text_width(text) + 1;
    }
    if (table->colour && colour)
        fprintf(table->out, "\033[%dm", colour);
    size_t pad = width > wide ? width - wide : 0;
    fprintf(table->out, "%*s%s%s", right ? (int)pad : 0, "", cut, text);
    if (table->colour && colour)
        fputs("\033[0m", table->out);
    if (!last)
        fprintf(table->out, "%*s", right ? 2 : (int)pad + 2, "");
}

/* Takes up to `cut` columns off a width; how many. */
static size_t narrow(size_t *width, size_t cut)
{
    const size_t least = 12;
    if (*width <= least)
        return 0;
    if (cut > *width - least)
        cut = *width - least;
    *width -= cut;
    return cut;
}

static void print_aligned(struct table *table)
{
    size_t n = table->column_count, rows = table->cell_count / n, total = 0;
    size_t *width = calloc(n, sizeof *width);
    if (!width) {
        table->failed = true;
        return;
    }
    for (size_t c = 0; c < n; c++)
        width[c] = text_width(table->columns[c].title);
    for (size_t i = 0; i < rows * n; i++) {
        size_t wide = table->cells[i].text ? text_width(table->cells[i].text) : 1;
        if (wide > width[i % n])
            width[i % n] = wide;
    }
    for (size_t c = 0; c < n; c++)
        total += width[c] + (c ? 2 : 0);
    /* The columns that may give way do so first, then, where that is not enough, whichever text is widest. */
    size_t room = terminal_columns(table->out);
    for (size_t c = 0; c < n && total > room; c++)
        if (table->columns[c].stretch)
            total -= narrow(&width[c], total - room);
    while (total > room) {
        size_t widest = 0;
        for (size_t c = 1; c < n; c++)
            if (!table->columns[c].right && (table->columns[widest].right || width[c] > width[widest]))
                widest = c;
        if (table->columns[widest].right || !narrow(&width[widest], 1))
            break;
        total--;
    }
    for (size_t c = 0; c < n; c++)
        print_cell(table, table->columns[c].title, width[c], table->columns[c].right, c + 1 == n, 1);
    fputc('\n', table->out);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < n; c++) {
            struct cell *cell = &table->cells[r * n + c];
            print_cell(table, cell->text ? cell->text : "-", width[c], table->columns[c].right, c + 1 == n,
                       cell->colour);
        }
        fputc('\n', table->out);
    }
    free(width);
}

void table_print(struct table *table)
{
    if (!table)
        return;
    if (table->terminal)
        print_aligned(table);
    for (size_t i = 0; table->terminal && i < table->cell_count; i++)
        free(table->cells[i].text);
    if (table->failed)
        incomplete = true;
    free(table->cells);
    free(table);
}
