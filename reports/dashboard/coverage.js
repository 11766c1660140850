// Coverage: what the bytes of each container are, and which of them nobody has.

import { coverageMap, miniStrip } from "./charts.js";
import { bytes, count, h, hex, share, tail } from "./dom.js";
import { downloads } from "./download.js";
import { STATUSES } from "./model.js";
import { chips, containerLink, facts, heading, KIND_WORDS, kindBar, KINDS, outcomeBar, panel, resourceLink, search, select } from "./parts.js";
import { link, update } from "./route.js";
import { live, loadDetail } from "./source.js";
import { Table } from "./table.js";

const unclaimed = (container) => (container.sums ? container.sums["vertex-like"] + container.sums["index-like"] : null);

const COLUMNS = [
    { title: "container", width: "minmax(0, 2.4fr)", narrow: true, value: (c) => c.path, cell: (c) => [tail(c.path), h("span.under", null, h("span", null, c.format), c.status !== "read" && h("span.warn", null, c.reason ? `${c.status}: ${c.reason}` : c.status)), c.total > 0 && h("span.only-narrow", null, outcomeBar(c))], csv: (c) => c.path },
    { title: "bytes", width: "80px", right: true, value: (c) => c.bytes, cell: (c) => bytes(c.bytes), csv: (c) => c.bytes },
    { title: "resources", width: "88px", right: true, value: (c) => c.total, cell: (c) => (c.total ? count(c.total) : "–"), csv: (c) => c.total },
    { title: "placed", width: "84px", right: true, value: (c) => (c.total ? (c.proven + c.assigned + c.decoded) / c.total : null), cell: (c) => (c.total ? share(c.proven + c.assigned + c.decoded, c.total) : "–"), csv: (c) => c.proven + c.assigned + c.decoded },
    { title: "outcome", width: "minmax(90px, 1fr)", cell: (c) => (c.total ? outcomeBar(c) : null), csv: (c) => STATUSES.map((s) => `${s} ${c[s]}`).join(", ") },
    { title: "data section", width: "minmax(120px, 1.4fr)", cell: (c) => (c.coverage?.length ? miniStrip(c) : null), csv: (c) => (c.sums ? KINDS.map((k) => `${k} ${c.sums[k]}`).join(", ") : null) },
    { title: "unclaimed", width: "92px", right: true, narrow: true, value: unclaimed, cell: (c) => (unclaimed(c) ? bytes(unclaimed(c)) : "–"), csv: unclaimed },
];

const CSV = [
    ...["path", "hash", "format", "bytes", "status", "reason", "message"].map((title) => ({ title, csv: (c) => c[title] })),
    { title: "flags", csv: (c) => c.flags.join(" ") },
    ...STATUSES.map((title) => ({ title, csv: (c) => c[title] })),
    ...KINDS.map((kind) => ({ title: `bytes_${kind}`, csv: (c) => c.sums?.[kind] ?? null })),
    { title: "also", csv: (c) => c.also.join(" | ") },
];

const FRONTIER = [
    { title: "container", csv: (f) => f.container.path },
    { title: "offset", csv: (f) => f.subject },
    { title: "what", csv: (f) => f.message },
    { title: "may_belong_to", csv: (f) => f.sides.map((side) => side.address).join(" | ") },
];

function totals(data) {
    const sums = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    let whole = 0;
    for (const container of data.containers)
        for (const kind of KINDS) {
            sums[kind] += container.sums?.[kind] ?? 0;
            whole += container.sums?.[kind] ?? 0;
        }
    if (!whole) return null;
    return panel(
        "All data sections",
        kindBar(sums),
        h("ul.legend", null, KINDS.map((kind) => h("li", null, h("i.key", { className: `key c-${kind}` }), h("span", null, KIND_WORDS[kind]), h("b", null, bytes(sums[kind])), h("span.muted", null, share(sums[kind], whole))))),
    );
}

/* The research frontier: bytes that look like geometry and are nobody's. */
function frontier(data, container) {
    const findings = (data.byKind.get("unclaimed") ?? []).filter((f) => !container || f.container === container);
    if (!findings.length) return null;
    const columns = [
        !container && { title: "container", width: "minmax(0, 2fr)", narrow: true, value: (f) => f.container.path, cell: (f) => containerLink(f.container), csv: null },
        { title: "offset", width: "110px", narrow: true, value: (f) => parseInt(f.subject, 16) || 0, cell: (f) => h("code", null, f.subject) },
        { title: "what", width: "minmax(0, 2fr)", narrow: Boolean(container), value: (f) => f.message, cell: (f) => h("span.clip", { title: f.message }, f.message) },
        { title: "may belong to", width: "minmax(0, 1.6fr)", value: (f) => f.sides.length, first: -1, cell: (f) => h("span.clip", null, f.sides.slice(0, 4).map((side, i) => [i ? ", " : "", resourceLink(side)]), f.sides.length > 4 && ` and ${f.sides.length - 4} more`) },
    ].filter(Boolean);
    const table = new Table({ columns, height: 36, sort: ["may belong to", -1], label: "unclaimed runs" });
    table.set(findings);
    return { table, element: h("section.panel", null,
        h("div.panel-head", null, h("div", null, h("h2", null, container ? "Unclaimed here" : "The research frontier"), h("p.muted", null, `${count(findings.length)} runs of bytes look like geometry and belong to nothing that was decoded; beside them the declined resources whose sizes they fit.`)), downloads("unclaimed", FRONTIER, () => findings)),
        table.element) };
}

/** One container: what it is, its map, its resources. */
export function containerPage(data, container, closers) {
    const names = new Map();
    const map = container.coverage?.length > 0 && coverageMap(container, { owner: (run) => names.get(run.start) ?? null });
    // Whose a claimed run is stands in the resources' details; a server would be asked once for each.
    if (map && !live)
        Promise.all(container.resources.map(async (resource) => [resource, await loadDetail(resource.number, resource.address)])).then((list) => {
            for (const [resource, detail] of list)
                for (const place of detail?.buffers ?? []) {
                    if (resource.status === "ambiguous") continue;
                    names.set(place.index_offset, `indices of ${resource.name}`);
                    names.set(place.vertex_offset, `vertices of ${resource.name}`);
                }
        });
    const rest = frontier(data, container);
    if (rest) closers.push(rest.table);
    return h(
        "div",
        null,
        h("h2.drawer-title", null, h("span.path", null, container.path)),
        facts([
            ["format", container.format, container.flags.length > 0 && ` (${container.flags.join(", ")})`],
            ["status", container.status, container.reason && `: ${container.reason}`],
            container.message && ["because", `${container.message}${container.offset === null ? "" : `, at ${hex(container.offset)}`}`],
            ["bytes", count(container.bytes)],
            container.hash && ["content", h("code", null, container.hash)],
            container.also.length > 0 && ["also at", h("ul.places", null, container.also.map((path) => h("li.path", null, path)))],
        ]),
        container.total > 0 && panel("Resources", outcomeBar(container), h("ul.legend", null, STATUSES.filter((s) => container[s]).map((s) => h("li", null, h("i.key", { className: `key c-${s}` }), h("a", { href: link("resources", { container: container.path, status: s }) }, s), h("b", null, count(container[s])), h("span.muted", null, share(container[s], container.total))))), h("p", null, h("a", { href: link("resources", { container: container.path }) }, `All ${count(container.total)} resources`), " · ", h("a", { href: `sheet.html#${container.hash}` }, "cast sheet"))),
        map && panel("Data section", map, h("ul.legend", null, KINDS.filter((kind) => container.sums[kind]).map((kind) => h("li", null, h("i.key", { className: `key c-${kind}` }), h("span", null, KIND_WORDS[kind]), h("b", null, bytes(container.sums[kind])), h("span.muted", null, share(container.sums[kind], container.data_size)))))),
        rest?.element,
    );
}

export function coverage(data, params, closers) {
    const formats = [...new Set(data.containers.map((c) => c.format))].sort();
    const table = new Table({ columns: COLUMNS, height: 52, narrowHeight: 74, sort: ["unclaimed", -1], label: "containers", open: (c) => update({ container: c.path }, { push: true }) });
    closers.push(table);
    const summary = h("span.muted", { role: "status" });
    let state = { q: params.get("q") ?? "", format: params.get("format") ?? "", state: params.get("state") ?? "" };
    let shown = [];
    const statuses = h("div");
    const apply = (changes) => {
        state = { ...state, ...changes };
        const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
        const matching = data.containers.filter((c) => (!state.format || c.format === state.format) && words.every((word) => c.haystack.includes(word)));
        shown = matching.filter((c) => !state.state || c.status === state.state);
        statuses.replaceChildren(chips(["read", "damaged", "skipped"].map((key) => ({ key, label: key, colour: key, count: matching.filter((c) => c.status === key).length })), state.state, (key) => apply({ state: key }), "status"));
        table.set(shown);
        summary.textContent = `${count(shown.length)} of ${count(data.containers.length)} containers`;
        if (changes) update(changes, { own: true });
    };
    const rest = frontier(data);
    if (rest) closers.push(rest.table);
    const page = h(
        "div",
        null,
        heading("coverage", "Coverage", "What the bytes of each container are, and what nobody has claimed.", downloads("containers", CSV, () => shown)),
        totals(data),
        h("section.panel.flush", null,
            h("div.toolbar", null, search(state.q, "Search containers", (q) => apply({ q })), statuses, select("format", formats.map((f) => [f, f]), state.format, (format) => apply({ format })), summary),
            table.element),
        rest?.element,
    );
    apply(null);
    return page;
}
