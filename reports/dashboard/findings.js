// Consistency, twins, what was declined, unknown content: what does not fit together, and what is not there.

import { bytes, change, count, h, measure, share, shortPath, size, tail } from "./dom.js";
import { downloads } from "./download.js";
import { badge, chips, containerLink, heading, paged, resourceDrawing, resourceLink, search } from "./parts.js";
import { link, update } from "./route.js";
import { Table } from "./table.js";

const FINDING_CSV = [
    { title: "kind", csv: (f) => f.kind },
    { title: "container", csv: (f) => f.container?.path ?? null },
    { title: "subject", csv: (f) => f.subject },
    { title: "message", csv: (f) => f.message },
    { title: "sides", csv: (f) => f.sides.map((side) => side.address).join(" | ") },
];

const SIDE_ROWS = [
    ["vertices", (r) => count(r.vertices)],
    ["triangles", (r) => count(r.triangles)],
    ["size", (r) => size(r.bounds)],
    ["from", (r) => (r.bounds ? r.bounds.slice(0, 3).map((x) => measure(x)).join(", ") : "–")],
    ["to", (r) => (r.bounds ? r.bounds.slice(3).map((x) => measure(x)).join(", ") : "–")],
    ["geometry", (r) => (r.geometry ? r.geometry.slice(0, 8) : "–")],
];

/* Resources of one name side by side; what is not the same for all is marked. */
function compare(sides) {
    const known = sides.filter((side) => !side.missing);
    const differs = SIDE_ROWS.map(([, value]) => new Set(known.map(value)).size > 1);
    return h("div.scroll", null, h("table.sides", null,
        h("tbody", null,
            h("tr", null, h("th"), sides.map((side) => h("td", null, side.missing ? null : resourceDrawing(side)))),
            h("tr", null, h("th", null, "where"), sides.map((side) => h("td", null, side.missing ? h("span.path", null, side.address) : h("a.path", { href: link("resources", { address: side.address }), title: side.address }, shortPath(side.container.path, 28), `#${side.index}`)))),
            h("tr", null, h("th", null, "status"), sides.map((side) => h("td", null, side.missing ? "gone" : badge(side.status)))),
            SIDE_ROWS.map(([name, value], i) => h("tr", { className: differs[i] ? "differs" : "" }, h("th", null, name), sides.map((side) => h("td.mono", null, side.missing ? "–" : value(side))))))));
}

const card = (finding) => h("article.panel.finding", null, h("h3", null, h("span.name", null, finding.subject)), h("p.muted", null, finding.message), compare(finding.sides.slice(0, 12)), finding.sides.length > 12 && h("p.muted", null, `and ${finding.sides.length - 12} more places`));

const NAME_KINDS = { inconsistent: "other bytes at equal counts", variant: "other bytes, other counts", undecided: "located once at most", same: "the same bytes everywhere" };
const DANGLING = ["missing-texture", "missing-library", "missing-material", "missing-image"];
const PROOFS = ["proof-not-stored", "contested-proof", "unused-capture"];

function findingTable(findings, label, closers) {
    const table = new Table({
        label,
        height: 44,
        narrowHeight: 60,
        columns: [
            { title: "kind", width: "130px", value: (f) => f.kind, cell: (f) => f.kind },
            { title: "subject", width: "minmax(0, 1.4fr)", narrow: true, value: (f) => f.subject, cell: (f) => [h("span.name.clip", { title: f.subject }, f.subject), h("span.under.only-narrow", null, f.kind)] },
            { title: "message", width: "minmax(0, 2fr)", value: (f) => f.message, cell: (f) => h("span.clip", { title: f.message }, f.message) },
            { title: "where", width: "minmax(0, 1.6fr)", narrow: true, value: (f) => f.container?.path ?? f.sides[0]?.address ?? "", cell: (f) => f.sides.length ? tail(f.sides[0].address, "a", { href: link("resources", { address: f.sides[0].address }) }) : f.container && containerLink(f.container) },
        ],
    });
    closers.push(table);
    table.set(findings);
    return table;
}

export function consistency(data, params, closers) {
    const of = (kind) => data.byKind.get(kind) ?? [];
    const kinds = Object.keys(NAME_KINDS);
    const kind = params.get("kind") || "inconsistent";
    const q = params.get("q") ?? "";
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const list = of(kind).filter((f) => words.every((word) => f.subject.toLowerCase().includes(word)));
    const dangling = DANGLING.flatMap(of);
    const proofs = PROOFS.flatMap(of);
    return h(
        "div",
        null,
        heading("consistency", "Consistency", "Names that occur in several containers, and whether the same bytes stand behind them.", downloads("consistency", FINDING_CSV, () => list)),
        h("div.toolbar.free", null,
            chips(kinds.map((key) => ({ key, label: key, count: of(key).length })), kind, (key) => update({ kind: key || "inconsistent" }), "kind"),
            search(q, "Search names", (text) => update({ q: text }))),
        h("p.muted", null, `${NAME_KINDS[kind] ?? ""}: ${count(list.length)} ${list.length === 1 ? "name" : "names"}`),
        list.length ? paged(list, card, "cards", 20) : h("p.empty.panel", null, "There are none."),
        proofs.length > 0 && h("section.panel.flush", null, h("div.panel-head", null, h("h2", null, "Proofs and captures"), downloads("proofs", FINDING_CSV, () => proofs)), findingTable(proofs, "proofs and captures", closers).element),
        dangling.length > 0 && h("section.panel.flush", null, h("div.panel-head", null, h("div", null, h("h2", null, "Names that lead nowhere"), h("p.muted", null, "Textures, material libraries and materials that are named and not there.")), downloads("dangling", FINDING_CSV, () => dangling)), findingTable(dangling, "names that lead nowhere", closers).element),
    );
}

/* ---- twins ---------------------------------------------------------------------------------------------- */

const TWIN_CSV = [
    { title: "first", csv: ([a]) => a.address },
    { title: "second", csv: ([, b]) => b.address },
    { title: "first_name", csv: ([a]) => a.name },
    { title: "second_name", csv: ([, b]) => b.name },
    { title: "canonical", csv: ([a]) => a.canonical.geometry },
    { title: "mirrored", csv: ([a, b]) => (a.canonical.mirrored ? a.name : b.name) },
    { title: "basis", csv: ([a]) => a.canonical.basis },
];

function twinCard([a, b]) {
    const side = (resource) => h("figure", null, h("a", { href: link("resources", { address: resource.address }), "aria-label": resource.name }, resourceDrawing(resource)), h("figcaption", null, resourceLink(resource), h("span.muted", null, resource.canonical.mirrored ? "mirrored" : "as stored")));
    return h("article.panel.twin", null, h("div.pair", null, side(a), h("i.axis", { "aria-hidden": "true" }), side(b)), h("p.muted", null, h("b", null, a.canonical.basis), a.canonical.basis === "confirmed" ? " by a capture" : " by the rule of the format page"), containerLink(a.container));
}

export function twins(data, params, closers) {
    const doubts = ["contradicted", "unclear-twins"].flatMap((kind) => data.byKind.get(kind) ?? []);
    const pairs = [];
    for (const a of data.resources) {
        if (!a.canonical || a.canonical.twin <= a.index) continue;
        const b = data.byAddress.get(`${a.container.path}#${a.canonical.twin}`);
        if (b?.canonical) pairs.push([a, b]);
    }
    const basis = params.get("basis") ?? "";
    const shown = pairs.filter(([a]) => !basis || a.canonical.basis === basis);
    return h(
        "div",
        null,
        heading("twins", "Twins", "Resources that are each other's reflection, drawn from one block.", downloads("twins", TWIN_CSV, () => shown)),
        doubts.length > 0
            ? h("section.panel.flush.alert", null, h("div.panel-head", null, h("div", null, h("h2", null, "Contradictions first"), h("p.muted", null, "Captures that exclude each other, and reflections that make no clear pair.")), downloads("contradictions", FINDING_CSV, () => doubts)), findingTable(doubts, "contradictions", closers).element)
            : h("p.panel.fine", null, "No contradictions: no two captures exclude each other, and every reflection makes a clear pair."),
        h("div.toolbar.free", null, chips(["assumed", "confirmed"].map((key) => ({ key, label: key, count: pairs.filter(([a]) => a.canonical.basis === key).length })), basis, (key) => update({ basis: key }), "basis"), h("span.muted", null, `${count(shown.length)} pairs`)),
        paged(shown, twinCard, "cards.grid", 48),
    );
}

/* ---- what was declined ---------------------------------------------------------------------------------- */

const CENSUS_CSV = ["by", "key", "count", "before"].map((title) => ({ title, csv: (row) => row[title] }));
const CENSUS = [
    ["reason", "By reason", (key) => link("resources", { status: "declined", reason: key })],
    ["prefix", "By the letters names begin with", (key) => link("resources", { status: "declined", q: key })],
    ["vertices", "By declared vertices", null],
    ["container", "By container", (key) => link("resources", { status: "declined", container: key })],
];

function censusPanel(rows, title, href) {
    const total = rows.reduce((sum, row) => sum + row.count, 0);
    const most = Math.max(1, ...rows.map((row) => row.count));
    const line = (row) =>
        h("li", null,
            row.by === "container" ? tail(row.key, row.count ? "a" : "span", { href: row.count ? href(row.key) : null }) : h("span.name.clip", { title: row.key }, href && row.count && row.key ? h("a", { href: href(row.key) }, row.key) : row.key || "(none)"),
            h("span.meter", { "aria-hidden": "true" }, h("i.c-declined", { style: { width: `${(100 * row.count) / most}%` } })),
            h("b", null, count(row.count)),
            h("span.muted.share", null, share(row.count, total)),
            h("span.delta", { className: `delta${row.before === null ? "" : row.count > row.before ? " up" : row.count < row.before ? " down" : ""}` }, row.before === null ? "" : change(row.count - row.before)));
    return h("section.panel.census", null, h("h2", null, title), paged(rows, line, "census-rows", 14));
}

export function declined(data) {
    const total = data.resources.filter((r) => r.status === "declined").length;
    const compared = data.declined.some((row) => row.before !== null);
    return h(
        "div",
        null,
        heading("declined", "Declined", `${count(total)} resources were not decoded${compared ? "; beside each count its change since the run before" : ""}.`, downloads("declined", CENSUS_CSV, () => data.declined)),
        h("div.columns", null, CENSUS.map(([dimension, title, href]) => {
            const rows = data.declined.filter((row) => row.by === dimension);
            return rows.length > 0 && censusPanel(rows, title, href);
        })),
        !data.declined.length && h("p.panel.fine", null, "Nothing was declined."),
    );
}

/* ---- unknown content ------------------------------------------------------------------------------------ */

/** "41 4d 53 48", with the characters that can be read beside it. */
function magic(text) {
    const codes = text.match(/../g) ?? [];
    const letters = codes.map((code) => { const c = parseInt(code, 16); return c > 0x20 && c < 0x7f ? String.fromCharCode(c) : "·"; }).join("");
    return [h("code", null, codes.join(" ") || "empty"), h("code.letters", null, letters)];
}

const UNKNOWN = [
    { title: "magic", width: "minmax(150px, 1fr)", narrow: true, value: (row) => row.magic, cell: (row) => magic(row.magic), csv: (row) => row.magic },
    { title: "ending", width: "minmax(80px, 1fr)", narrow: true, value: (row) => row.ending, cell: (row) => row.ending || h("span.muted", null, "none"), csv: (row) => row.ending },
    { title: "files", width: "90px", right: true, narrow: true, value: (row) => row.count, cell: (row) => count(row.count), csv: (row) => row.count },
    { title: "bytes", width: "100px", right: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes), csv: (row) => row.bytes },
];

export function unknown(data, params, closers) {
    const total = data.unknown.reduce((sum, row) => sum + row.bytes, 0);
    const table = new Table({
        label: "unknown content",
        height: 40,
        sort: ["bytes", -1],
        columns: [...UNKNOWN, { title: "share", width: "minmax(90px, 1.4fr)", cell: (row) => h("span.meter", null, h("i.c-other", { style: { width: `${(100 * row.bytes) / (total || 1)}%` } })) }],
        empty: "Every file was recognised.",
    });
    closers.push(table);
    table.set(data.unknown);
    return h(
        "div",
        null,
        heading("unknown", "Unknown content", `${count(data.unknown.reduce((sum, row) => sum + row.count, 0))} files are no known container: what they begin with, and how their names end.`, downloads("unknown", UNKNOWN, () => data.unknown)),
        h("section.panel.flush", null, table.element),
    );
}
