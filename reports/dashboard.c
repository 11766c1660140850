/* dashboard.c - see dashboard.h */
#include "reports/dashboard.h"

#include <string.h>

/* DASHBOARD_HTML is the bundle's path, from the Makefile. */
#define QUOTE(text)  #text
#define QUOTED(text) QUOTE(text)
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global dashboard_html\n"
        ".type dashboard_html, @object\n"
        "dashboard_html: .incbin " QUOTED(
            DASHBOARD_HTML) "\n"
                            ".global dashboard_html_end\n"
                            "dashboard_html_end: .byte 0\n"
                            ".size dashboard_html, dashboard_html_end - dashboard_html\n"
                            ".previous\n");
extern const char dashboard_html[], dashboard_html_end[];

struct dashboard dashboard_page(void)
{
    static const char mark[] = "<!--anchorage:data-->";
    size_t size = (size_t)(dashboard_html_end - dashboard_html);
    const char *found = memmem(dashboard_html, size, mark, sizeof mark - 1);
    if (!found) /* the plain page that stands for a bundle that could not be made */
        return (struct dashboard){dashboard_html, dashboard_html_end, size, 0};
    const char *tail = found + sizeof mark - 1;
    return (struct dashboard){dashboard_html, tail, (size_t)(found - dashboard_html),
                              (size_t)(dashboard_html_end - tail)};
}
