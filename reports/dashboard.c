/* dashboard.c - see dashboard.h */
#include "reports/dashboard.h"

#include <string.h>

/* The file NAME of the directory WEB, which the Makefile names, between symbol_begin and symbol_end. */
#define EMBED(symbol, name)                                                                                  \
    __asm__(".section .rodata\n.balign 16\n.global " #symbol "_begin\n.global " #symbol "_end\n" #symbol     \
            "_begin: .incbin \"" WEB name "\"\n" #symbol "_end: .byte 0\n.previous\n");                      \
    extern const char symbol##_begin[], symbol##_end[]

EMBED(embedded_dashboard, "dashboard.html");
EMBED(embedded_resource_html, "resource.html");
EMBED(embedded_resource_js, "resource.js");
EMBED(embedded_resource_css, "resource.css");

struct dashboard dashboard_page(void)
{
    static const char mark[] = "<!--anchorage:data-->";
    // cppcheck-suppress comparePointers ; two ends of one object that the assembler made
    size_t size = (size_t)(embedded_dashboard_end - embedded_dashboard_begin);
    const char *found = memmem(embedded_dashboard_begin, size, mark, sizeof mark - 1);
    if (!found) /* the plain page that stands for a bundle that could not be made */
        return (struct dashboard){embedded_dashboard_begin, embedded_dashboard_end, size, 0};
    const char *tail = found + sizeof mark - 1;
    return (struct dashboard){embedded_dashboard_begin, tail, (size_t)(found - embedded_dashboard_begin),
                              (size_t)(embedded_dashboard_end - tail)};
}

const char *dashboard_file(enum dashboard_file file, size_t *size)
{
    static const struct {
        const char *begin, *end;
    } files[] = {
        [DASHBOARD_RESOURCE_HTML] = {embedded_resource_html_begin, embedded_resource_html_end},
        [DASHBOARD_RESOURCE_JS] = {embedded_resource_js_begin, embedded_resource_js_end},
        [DASHBOARD_RESOURCE_CSS] = {embedded_resource_css_begin, embedded_resource_css_end},
    };
    *size = (size_t)(files[file].end - files[file].begin);
    return files[file].begin;
}
