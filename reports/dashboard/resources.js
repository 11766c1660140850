// Resources: search, filter, and everything that is known of one.

import { count, h, hex, measure, shortPath, size, tail } from "./dom.js";
import { downloads } from "./download.js";
import { STATUSES, tally } from "./model.js";
import { badge, chips, containerLink, drawing, facts, heading, panel, resourceDrawing, resourceLink, search, select } from "./parts.js";
import { link, update } from "./route.js";
import { live, loadDetail } from "./source.js";
import { Table } from "./table.js";

const COLUMNS = [
    { title: "", width: "56px", narrow: true, cell: (r) => resourceDrawing(r) },
    { title: "name", width: "minmax(0, 1.5fr)", narrow: true, value: (r) => r.name, cell: (r) => [h("a.name.clip", { href: link("resources", { address: r.address }), title: r.name, tabIndex: -1 }, r.name), h("span.under", null, tail(r.address))] },
    { title: "status", width: "150px", narrow: true, value: (r) => STATUSES.indexOf(r.status), first: 1, cell: (r) => [badge(r.status), (r.reason || r.was) && h("span.under", null, r.reason ?? `was ${r.was}`)] },
    { title: "format", width: "84px", value: (r) => r.format, cell: (r) => r.format },
    { title: "vertices", width: "86px", right: true, value: (r) => r.vertices, cell: (r) => count(r.vertices) },
    { title: "triangles", width: "86px", right: true, value: (r) => r.triangles, cell: (r) => count(r.triangles) },
    { title: "margin", width: "76px", right: true, value: (r) => (r.status === "decoded" || r.status === "declined" ? null : r.margin), cell: (r) => (r.status === "decoded" || r.status === "declined" ? "–" : measure(r.margin)) },
    { title: "size", width: "minmax(0, 170px)", right: true, value: (r) => (r.bounds ? Math.max(r.bounds[3] - r.bounds[0], r.bounds[4] - r.bounds[1], r.bounds[5] - r.bounds[2]) : null), cell: (r) => h("span.clip", null, size(r.bounds, 3)) },
];

const CSV = [
    { title: "address", csv: (r) => r.address },
    { title: "container_hash", csv: (r) => r.container.hash },
    ...["name", "format", "index", "status", "reason", "vertices", "triangles", "score", "margin", "geometry"].map((title) => ({ title, csv: (r) => r[title] })),
    { title: "canonical", csv: (r) => r.canonical?.geometry ?? null },
    { title: "mirrored", csv: (r) => r.canonical?.mirrored ?? null },
    ...["min_x", "min_y", "min_z", "max_x", "max_y", "max_z"].map((title, i) => ({ title, csv: (r) => r.bounds?.[i] ?? null })),
    { title: "flags", csv: (r) => r.flags.join(" ") },
    { title: "error", csv: (r) => r.error },
    { title: "error_offset", csv: (r) => r.offset },
];

const FILTERS = ["q", "status", "format", "reason", "container"];

export function resources(data, params, closers) {
    let state = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""]));
    let shown = [];
    const table = new Table({ columns: COLUMNS, height: 60, narrowHeight: 66, sort: ["triangles", -1], label: "resources", open: (r) => update({ address: r.address }, { push: true }), empty: "No resource matches. Fewer words or filters find more." });
    closers.push(table);
    const summary = h("span.muted", { role: "status" });
    const statuses = h("div");
    const inContainer = h("div");
    const formats = [...new Set(data.resources.map((r) => r.format))].sort();
    const reasons = Object.entries(tally(data.resources.filter((r) => r.reason), "reason")).sort((a, b) => b[1] - a[1]);
    const apply = (changes) => {
        state = { ...state, ...changes };
        const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
        const matching = data.resources.filter(
            (r) =>
                (!state.format || r.format === state.format) &&
                (!state.reason || r.reason === state.reason) &&
                (!state.container || r.container.path === state.container) &&
                words.every((word) => r.haystack.includes(word)),
        );
        const counts = tally(matching, "status");
        shown = matching.filter((r) => !state.status || r.status === state.status);
        statuses.replaceChildren(chips(STATUSES.map((key) => ({ key, label: key, colour: key, count: counts[key] ?? 0 })), state.status, (key) => apply({ status: key }), "status"));
        inContainer.replaceChildren(...(state.container ? [h("p.within", null, "in ", h("span.path", { title: state.container }, shortPath(state.container)), h("button.quiet", { type: "button", onclick: () => apply({ container: "" }) }, "everywhere"))] : []));
        table.set(shown);
        summary.textContent = `${count(shown.length)} of ${count(data.resources.length)}`;
        if (changes) update(changes, { own: true });
    };
    const page = h(
        "div",
        null,
        heading("resources", "Resources", "Everything with geometry, by name, address or hash. A row opens its evidence.", [h("a.quiet", { href: "sheet.html" }, "Cast sheets"), downloads("resources", CSV, () => shown)]),
        h("section.panel.flush", null,
            h("div.toolbar", null,
                search(state.q, "Search resources", (q) => apply({ q })),
                statuses,
                select("format", formats.map((f) => [f, f]), state.format, (format) => apply({ format })),
                select("declined for", reasons.map(([reason, n]) => [reason, `${reason} (${n})`]), state.reason, (reason) => apply({ reason })),
                summary),
            inContainer,
            table.element),
    );
    apply(null);
    return page;
}

/* ---- one resource --------------------------------------------------------------------------------------- */

// Rows of the evidence table: name, value, and which of two values is worse (null: neither is).
const sign = (good, bad) => (n) => (n > 0 ? good : n < 0 ? bad : "–");
const lower = (a, b) => a - b;
const higher = (a, b) => b - a;
const EVIDENCE = [
    ["greatest index is the last vertex", (e) => (e.short_of_top ? `${e.short_of_top} fall short` : "yes"), (e) => e.short_of_top, lower],
    ["vertices that no index names", (e) => count(e.unreferenced), (e) => e.unreferenced, lower],
    ["normals of length 1", (e) => (e.normals ? `${count(e.unit)} of ${count(e.normals)}` : "none stored"), (e) => (e.normals ? e.unit / e.normals : 1), higher],
    ["faces on their normals' side", (e) => (e.faces ? `${count(e.agreeing)} of ${count(e.faces)}` : "–"), (e) => (e.faces ? e.agreeing / e.faces : 1), higher],
    ["degenerate triangles", (e) => count(e.degenerate), (e) => e.degenerate, lower],
    ["positions that make no sense", (e) => count(e.nonsense), (e) => e.nonsense, lower],
    ["run of normals begins here", (e) => sign("yes", "began before")(e.run_start), (e) => e.run_start, higher],
    ["run of normals ends here", (e) => sign("yes", "goes on")(e.run_end), (e) => e.run_end, higher],
    ["index list begins here", (e) => sign("yes", "began before")(e.index_start), (e) => e.index_start, higher],
    ["where the descriptor's words say", (e) => sign("yes", "no")(e.stated), (e) => e.stated, higher],
    ["of the stored size", (e) => (e.size_match < -1 ? "far from it" : sign("yes", "no")(e.size_match)), (e) => e.size_match, higher],
    ["edge length over chance", (e) => measure(e.coherence), (e) => e.coherence, lower],
    ["extent", (e) => e.extent.map((x) => measure(x)).join(" × "), null, null],
    ["odds of that size", (e) => measure(e.size_odds), (e) => e.size_odds, higher],
    ["odds of the neighbours' places", (e) => measure(e.locality), (e) => e.locality, higher],
];

const place = (candidate) => candidate.buffers.slice(0, 3).map((b) => h("div", null, `${hex(b.index_offset)} · ${hex(b.vertex_offset)}`));

/* What was measured of each place, the chosen one first; where a rival is worse it is marked. */
function evidencePanel(detail) {
    const list = [...detail.candidates].sort((a, b) => b.chosen - a.chosen).slice(0, 6);
    if (!list.length) return null;
    const best = list[0];
    const row = ([name, text, value, order]) =>
        h("tr", null, h("th", null, name), list.map((c) => {
            const against = value && c !== best && order(value(best.evidence), value(c.evidence)) < 0;
            return h("td.mono", { className: against ? "against" : "" }, text(c.evidence));
        }));
    return panel(
        "Evidence",
        h("p.muted", null, `${count(detail.candidates.length)} ${detail.candidates.length === 1 ? "place was" : "places were"} kept, ${count(detail.candidates_dropped)} dropped. Scores are natural-log odds; what speaks against a place beside the first is marked.`),
        h("div.scroll", null, h("table.evidence", null,
            h("thead", null, h("tr", null, h("th", null, "place"), list.map((c, i) => h("th", null, c.chosen ? "chosen" : i === 0 ? "best" : "rival")))),
            h("tbody", null,
                h("tr", null, h("th", null, "looks like"), list.map((c) => h("td", null, drawing(c.geometry)))),
                h("tr", null, h("th", null, "score"), list.map((c) => h("td.mono", null, measure(c.score)))),
                h("tr", null, h("th", null, "indices · vertices"), list.map((c) => h("td.mono", null, place(c)))),
                EVIDENCE.map(row)))),
    );
}

function alternativesPanel(resource, detail) {
    const others = detail.candidates.filter((c) => !c.chosen && c.geometry);
    if (resource.status !== "ambiguous" || !others.length) return null;
    return panel("Alternatives", h("div.strip", null, others.map((c) => h("figure", null, drawing(c.geometry), h("figcaption", null, h("span", null, `score ${measure(c.score)}`), h("code", null, c.geometry.slice(0, 8)))))));
}

function placementPanel(detail) {
    if (!detail.buffers.length) return null;
    return panel("Placement", h("div.scroll", null, h("table.plain", null,
        h("thead", null, h("tr", null, ["indices at", "count", "vertices at", "count", "stride"].map((t) => h("th.right", null, t)))),
        h("tbody", null, detail.buffers.map((b) => h("tr", null, h("td.right.mono", null, hex(b.index_offset)), h("td.right", null, count(b.index_count)), h("td.right.mono", null, hex(b.vertex_offset)), h("td.right", null, count(b.vertex_count)), h("td.right", null, count(b.stride))))))));
}

function historyPanel(resource, detail) {
    if (!detail.history.length) return null;
    return panel("How it came about", h("ol.history", null,
        h("li", null, badge(detail.history[0].from), h("span.muted", null, " by the decoder")),
        detail.history.map((step) => h("li", null, badge(step.to), h("span.muted", null, ` by ${step.pass} ${step.version}`), h("p", null, step.why)))));
}

function others(title, list, resource) {
    const rest = (list ?? []).filter((other) => other !== resource);
    if (!rest.length) return null;
    return panel(`${title} (${count(rest.length)})`, h("ul.others", null, rest.slice(0, 60).map((other) => h("li", null, resourceDrawing(other), h("div", null, resourceLink(other, other.name), tail(other.address), badge(other.status))))), rest.length > 60 && h("p.muted", null, `and ${count(rest.length - 60)} more`));
}

function words(title, list) {
    return list.length > 0 && [title, h("span.words", null, list.slice(0, 40).map((word) => h("code", null, word)), list.length > 40 && `and ${list.length - 40} more`)];
}

function detailPanels(data, resource, detail) {
    if (!detail) return [];
    return [
        evidencePanel(detail),
        alternativesPanel(resource, detail),
        placementPanel(detail),
        historyPanel(resource, detail),
        (detail.materials.length || detail.nodes.length || detail.objects.length || detail.variant) &&
            panel("Inside", facts([
                detail.variant && ["variant", detail.variant],
                ["parts", count(detail.parts)],
                detail.lods > 0 && ["levels of detail", count(detail.lods)],
                words("objects", detail.objects.filter(Boolean)),
                words("materials", detail.materials.filter(Boolean)),
                words("nodes", detail.nodes),
            ])),
    ];
}

/** One resource, with what is loaded of it a moment later. */
export function resourcePage(data, resource) {
    const { container } = resource;
    const later = h("div", null, h("p.muted", null, "Reading the evidence…"));
    loadDetail(resource.number, resource.address).then(
        (detail) => later.replaceChildren(...detailPanels(data, resource, detail).filter(Boolean)),
        (error) => later.replaceChildren(h("p.warn", null, `The evidence cannot be shown: ${error.message}`)),
    );
    const twin = resource.canonical && data.byAddress.get(`${container.path}#${resource.canonical.twin}`);
    return h(
        "div",
        null,
        h("div.resource-head", null,
            resourceDrawing(resource, { large: true }),
            h("div", null,
                h("h2.drawer-title", null, h("span.name", null, resource.name)),
                h("p", null, badge(resource.status), resource.reason && h("span.muted", null, ` ${resource.reason}`), resource.was && h("span.muted", null, ` was ${resource.was}`)),
                resource.error && h("p.because", null, resource.error, resource.offset !== null && `, at ${hex(resource.offset)}`),
                live && resource.geometry && h("p", null, h("a", { href: `resource/${encodeURIComponent(resource.address)}` }, "View in 3D")))),
        facts([
            ["address", h("code.path", null, resource.address)],
            ["format", `${resource.format}, entry ${resource.index}`, resource.flags.length > 0 && ` (${resource.flags.join(", ")})`],
            ["vertices", count(resource.vertices), resource.status === "declined" && " declared"],
            ["triangles", count(resource.triangles), resource.status === "declined" && " declared"],
            resource.bounds && ["size", size(resource.bounds)],
            resource.bounds && ["bounds", h("span.mono", null, `${resource.bounds.slice(0, 3).map((x) => measure(x)).join(", ")} to ${resource.bounds.slice(3).map((x) => measure(x)).join(", ")}`)],
            !["decoded", "declined"].includes(resource.status) && ["score, margin", `${measure(resource.score)}, ${measure(resource.margin)}`],
            resource.geometry && ["geometry", h("code", null, resource.geometry)],
            twin && ["twin", resourceLink(twin), ` · drawn ${resource.canonical.mirrored ? "mirrored from its block" : "from its own block"}, ${resource.canonical.basis}`],
            ["container", containerLink(container)],
            container.also.length > 0 && [`every place (${container.also.length + 1})`, h("ul.places", null, [container.path, ...container.also].map((path) => h("li.path", null, path, `#${resource.index}`)))],
        ]),
        later,
        others("Same geometry", resource.geometry && data.byGeometry.get(resource.geometry), resource),
        others("Same name", data.byName.get(resource.name), resource),
    );
}
