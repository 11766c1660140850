// The server's page of one resource: what it is, where it lies, what else it may be, in words and in 3D.

import "./style.css";
import "./resource.css";
import { count, h, hex, measure, shortPath, visible } from "./dom.js";
import { canDraw, view3d } from "./view3d.js";

const app = document.getElementById("app");
try {
    document.documentElement.dataset.theme = localStorage.getItem("anchorage-theme") ?? "auto"; // as the dashboard set it
} catch {
    /* a browser that keeps nothing */
}
const encoded = (address) => encodeURIComponent(address);
const page = (address) => `/resource/${encoded(address)}`;

async function ask(path) {
    const response = await fetch(path);
    const answer = await response.json();
    if (!response.ok && !answer.choices) throw new Error(answer.error.message);
    return answer;
}

const geometryUrl = (hash, address) => `/api/geometry/${hash}.glb?resource=${encoded(address)}`;

/** A file name that every system takes. */
const fileName = (resource, suffix = "") => `${resource.name.replace(/[^A-Za-z0-9_.-]/g, "_").replace(/^\.+/, "")}${suffix}.glb`;

// ---- what can be drawn ----

/** The meshes of a resource: what is drawn, what lies at its own place, and what else it may be. */
function drawings(resource) {
    const { canonical, geometry, address } = resource;
    const list = [];
    if (canonical) {
        const own = canonical.geometry === geometry;
        const block = own ? "its own block" : "the block of its twin";
        const same = own && !canonical.mirrored;
        list.push({ label: `${same ? "as drawn and as stored" : "as drawn"}: ${block}${canonical.mirrored ? ", x negated" : ""}`, url: geometryUrl(canonical.geometry, address) });
        // Without a resource to draw it for, a geometry is what is stored.
        if (geometry && !same) list.push({ label: "as stored at its own place", url: own ? `/api/geometry/${geometry}.glb` : geometryUrl(geometry, address), suffix: "-stored" });
    } else if (geometry) {
        list.push({ label: resource.status === "ambiguous" ? `best of ${resource.alternatives.length + 1}: score ${measure(resource.score)}` : "", url: geometryUrl(geometry, address) });
    }
    (resource.alternatives ?? []).forEach((other, i) => {
        if (other.geometry) list.push({ label: `alternative ${i + 1}: score ${measure(other.score)}`, url: geometryUrl(other.geometry, address), suffix: `-alternative-${i + 1}` });
    });
    return list;
}

const KEYS = [
    ["surface", "Surface", "s"],
    ["wireframe", "Wireframe", "w"],
    ["normals", "Normals", "n"],
    ["bounds", "Bounds", "b"],
];

function viewer(resource, list) {
    const options = { surface: true, wireframe: false, normals: false, bounds: false };
    const canvas = h("canvas", { tabIndex: 0, "aria-label": `${visible(resource.name)} in 3D: ${resource.vertices} vertices, ${resource.triangles} triangles. Drag to turn, scroll to come nearer, arrow keys to shift.` });
    const panes = list.map((item) => {
        const note = h("span.note", { role: "status" }, "loading…");
        return { item, note, element: h("figure.pane", null, h("div.spot", null, note), (item.label || list.length > 1) && h("figcaption", null, h("span", null, item.label), h("a", { href: item.url, download: fileName(resource, item.suffix), title: "download as glTF" }, "GLB"))) };
    });
    const stage = h("div.stage", { className: `stage panes-${Math.min(list.length, 5)}` }, canvas, panes.map((pane) => pane.element));
    const view = view3d(canvas, panes.map(({ element, item }) => ({ element: element.querySelector(".spot"), url: item.url })), options);
    view.ready.forEach((promise, i) =>
        promise.then(
            () => panes[i].note.remove(),
            (error) => {
                panes[i].note.textContent = `cannot be drawn: ${error.message}`;
            },
        ),
    );
    Promise.allSettled(view.ready).then(() => stage.classList.add("ready"));

    const buttons = KEYS.map(([key, label, letter]) =>
        h("button", { type: "button", "aria-pressed": String(options[key]), title: `${label} (${letter})`, onclick: (event) => toggle(key, event.currentTarget) }, label),
    );
    function toggle(key, button) {
        options[key] = !options[key];
        button.setAttribute("aria-pressed", String(options[key]));
        view.set(options);
    }
    window.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
        const at = KEYS.findIndex(([, , letter]) => letter === event.key);
        if (at >= 0) toggle(KEYS[at][0], buttons[at]);
        if (event.key === "h") view.home();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.set({}));
    return h(
        "section.viewer",
        null,
        stage,
        h(
            "div.tools",
            { role: "toolbar", "aria-label": "view" },
            buttons,
            h("button", { type: "button", title: "Home (h)", onclick: () => view.home() }, "Home"),
            h("a.button", { href: list[0].url, download: fileName(resource) }, "Download GLB"),
        ),
    );
}

function stageFor(resource) {
    const list = drawings(resource);
    if (!list.length) {
        const why = resource.error?.message ?? (resource.format === "bmf" ? "a material library has no geometry" : "it has no triangles");
        return h("section.viewer.empty", null, h("p", null, h("strong", null, resource.status === "declined" ? `Declined: ${resource.reason}` : "Nothing to draw"), h("br"), why));
    }
    if (!canDraw())
        return h("section.viewer.empty", null, h("p", null, h("strong", null, "This browser cannot draw in 3D"), h("br"), "It has no WebGL 2. ", h("a", { href: list[0].url, download: fileName(resource) }, "Download the geometry as GLB")));
    return viewer(resource, list);
}

// ---- words ----

const facts = (rows) => h("dl.facts", null, rows.filter(Boolean).map(([name, ...value]) => [h("dt", null, name), h("dd", null, value)]));

function panel(title, ...content) {
    return h("section.panel", null, h("h2", null, title), content);
}

/** Rows of texts, numbers (to the right, grouped) and elements; `columns` whose name begins with '#' have numbers. */
function table(columns, rows) {
    const numeric = columns.map((name) => name.startsWith("#"));
    const cell = (value, i) => h("td", { className: numeric[i] ? "number" : "" }, typeof value === "number" ? count(value) : value);
    return h(
        "div.scroll",
        null,
        h(
            "table",
            null,
            h("thead", null, h("tr", null, columns.map((name, i) => h("th", { scope: "col", className: numeric[i] ? "number" : "" }, name.replace("#", ""))))),
            h("tbody", null, rows.map((row) => h("tr", null, row.map(cell)))),
        ),
    );
}

function identity(resource) {
    const b = resource.bounds;
    const located = resource.buffers.length > 0;
    return panel(
        "What it is",
        facts([
            ["format", resource.format, resource.details.variant && ` (${resource.details.variant})`],
            ["vertices", count(resource.vertices)],
            ["triangles", count(resource.triangles)],
            b && ["size", [0, 1, 2].map((i) => measure(b.max[i] - b.min[i])).join(" × ")],
            b && ["from", b.min.map((x) => measure(x)).join(", ")],
            b && ["to", b.max.map((x) => measure(x)).join(", ")],
            located && ["score", measure(resource.score), " (natural-log odds)"],
            located && ["margin", measure(resource.margin)],
            resource.reason && ["declined", resource.reason],
            resource.error && ["because", resource.error.message, resource.error.offset !== null && ` (at ${hex(resource.error.offset)})`],
            resource.canonical && ["twin", `${resource.canonical.mirrored ? "the mirror image" : "the canonical one"}, ${resource.canonical.basis}`],
            resource.flags.length && ["flags", resource.flags.join(", ")],
            resource.geometry && ["geometry", h("code", null, resource.geometry)],
            ["container", h("code", null, resource.container_hash)],
        ]),
    );
}

function places(resource) {
    const rows = [];
    const add = (label, buffers, score) => buffers.forEach((b, i) => rows.push([i ? "" : label, i ? "" : measure(score), hex(b.index_offset), b.index_count, hex(b.vertex_offset), b.vertex_count, b.stride]));
    add(resource.status === "ambiguous" ? "best" : "chosen", resource.buffers, resource.score);
    (resource.alternatives ?? []).forEach((other, i) => add(`alternative ${i + 1}`, other.buffers, other.score));
    if (!rows.length) return null;
    return panel(
        "Where it lies",
        table(["place", "#score", "#indices at", "#indices", "#vertices at", "#vertices", "#stride"], rows),
        resource.alternatives_dropped > 0 && h("p.muted", null, `${count(resource.alternatives_dropped)} more alternatives were not kept.`),
    );
}

function history(resource) {
    if (!resource.history.length) return null;
    return panel("How it was decided", h("ol.steps", null, resource.history.map((step) => h("li", null, h("strong", null, step.pass), ` ${step.from} → ${step.to}: ${step.why}`))));
}

function parts(resource) {
    const { parts: list, objects, materials, nodes } = resource.details;
    return [
        list.length > 0 && panel("Parts", table(["#part", "object", "#lod", "material", "special"], list.slice(0, 200).map((part, i) => [i, objects[part.object] ?? "", part.lod, part.material ?? "", part.special ?? ""])), list.length > 200 && h("p.muted", null, `and ${count(list.length - 200)} more`)),
        materials.length > 0 && panel("Materials", table(["name", "strings"], materials.slice(0, 200).map((material) => [material.name ?? "", material.strings.map((string) => string.text).join(", ")])), materials.length > 200 && h("p.muted", null, `and ${count(materials.length - 200)} more`)),
        nodes.length > 0 && panel("Names in its descriptor", h("p.names", null, nodes.join(" · "))),
    ];
}

function others(title, list, total) {
    if (!total) return null;
    return panel(`${title}: ${count(total)}`, h("ul.links", null, list.map((address) => h("li", null, h("a.path", { href: page(address) }, address)))), total > list.length && h("p.muted", null, `and ${count(total - list.length)} more`));
}

function head(resource) {
    const copy = h("button", { type: "button", title: "copy the address", onclick: () => navigator.clipboard.writeText(resource.address).then(() => (copy.textContent = "copied")) }, "copy");
    return h(
        "header.item-head",
        null,
        h("div.up", { role: "navigation", "aria-label": "up" }, h("a", { href: "/" }, "Anchorage"), h("span", { "aria-hidden": "true" }, " / "), h("a.path", { href: `/#coverage?${new URLSearchParams({ container: resource.container })}`, title: resource.container }, shortPath(resource.container, 70))),
        h("h1", null, h("span.name", null, resource.name), " ", h("span.badge", { className: `badge s-${resource.status}` }, resource.status)),
        h("p.address", null, h("code.path", null, resource.address), navigator.clipboard && copy, h("a", { href: `/#resources?${new URLSearchParams({ address: resource.address })}` }, "evidence"), h("a", { href: `/api/resource/${encoded(resource.address)}` }, "JSON")),
    );
}

function show(resource) {
    document.title = `${visible(resource.name)} – Anchorage`;
    app.replaceChildren(
        head(resource),
        h(
            "main.item",
            null,
            h("div.wide", null, stageFor(resource), places(resource), history(resource), parts(resource)),
            h("aside", null, identity(resource), others("Same geometry", resource.shares, resource.shares_total), others("Same name", resource.same_name, resource.same_name_total), others("The container is also at", resource.also, resource.also.length)),
        ),
    );
}

function choose(answer) {
    app.replaceChildren(h("header.item-head", null, h("div.up", null, h("a", { href: "/" }, "Anchorage")), h("h1", null, "Several resources answer to this")), h("main", null, others("Choose one", answer.choices, answer.total)));
}

function fail(error) {
    app.replaceChildren(h("header.item-head", null, h("div.up", null, h("a", { href: "/" }, "Anchorage")), h("h1", null, "This cannot be shown")), h("main", null, h("p", null, error.message)));
}

ask(`/api${location.pathname}`).then((answer) => (answer.choices ? choose(answer) : show(answer)), fail);
