// The data of a section as a file: CSV for spreadsheets, JSON for programs.

import { h, visible } from "./dom.js";

// A spreadsheet runs what begins like a formula, so text that does is quoted with an apostrophe.
function csvCell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    let text = visible(value);
    if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, with a header line. `columns`: [{ title, csv(row) }]. */
export function csv(columns, rows) {
    const lines = [columns.map((column) => csvCell(column.title)).join(",")];
    for (const row of rows) lines.push(columns.map((column) => csvCell(column.csv(row))).join(","));
    return `${lines.join("\r\n")}\r\n`;
}

export function json(columns, rows) {
    const list = rows.map((row) => Object.fromEntries(columns.map((column) => [column.title, column.csv(row) ?? null])));
    return `${JSON.stringify(list, null, 1)}\n`;
}

function save(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Two buttons that save what `rows()` gives when they are pressed. */
export function downloads(name, columns, rows) {
    return h(
        "span.downloads",
        null,
        h("button.quiet", { type: "button", title: "Save these rows as CSV", onclick: () => save(`${name}.csv`, "text/csv;charset=utf-8", csv(columns, rows())) }, "CSV"),
        h("button.quiet", { type: "button", title: "Save these rows as JSON", onclick: () => save(`${name}.json`, "application/json", json(columns, rows())) }, "JSON"),
    );
}
