// Pieces that several sections are made of.

import { bytes, count, h, share, tail } from "./dom.js";
import { picture, STATUSES } from "./model.js";
import { link } from "./route.js";
import { thumb } from "./source.js";

/** A heading with its fragment as a link, a sentence on what is below, and the section's downloads. */
export function heading(id, title, lead, tools) {
    return h(
        "header.section-head",
        null,
        h("div", null, h("h1", null, h("a", { href: link(id) }, title)), lead && h("p.lead", null, lead)),
        tools && h("div.tools", null, tools),
    );
}

export function panel(title, ...children) {
    return h("section.panel", null, title && h("h2", null, title), children);
}

/** A bar in parts: [{ key, value, title }]; keys are names of colours (style.css). */
export function bar(parts, label) {
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    return h(
        "div.bar",
        { role: "img", "aria-label": label ?? parts.filter((p) => p.value).map((p) => `${p.key} ${share(p.value, total)}`).join(", ") },
        parts
            .filter((part) => part.value)
            .map((part) => h("span", { className: `c-${part.key}`, title: part.title ?? `${part.key}: ${count(part.value)}, ${share(part.value, total)}`, style: { "flex-grow": part.value } })),
    );
}

/** What became of the resources of one container. */
export const outcomeBar = (container) =>
    bar(STATUSES.map((status) => ({ key: status, value: container[status] })));

/** What the bytes of data sections are: claimed ones first, what nobody has at the end. */
export const KINDS = ["vertex", "index", "texture", "padding", "other", "index-like", "vertex-like"];
export const KIND_WORDS = {
    vertex: "claimed vertices",
    index: "claimed indices",
    texture: "textures",
    padding: "padding",
    other: "other bytes",
    "index-like": "unclaimed, like indices",
    "vertex-like": "unclaimed, like vertices",
};

export function kindBar(sums) {
    const total = KINDS.reduce((sum, kind) => sum + (sums[kind] ?? 0), 0);
    return bar(KINDS.map((kind) => ({ key: kind, value: sums[kind] ?? 0, title: `${KIND_WORDS[kind]}: ${bytes(sums[kind] ?? 0)}, ${share(sums[kind] ?? 0, total)}` })));
}

/** A status as a coloured word. */
export const badge = (status) => h("span.badge", { className: `badge s-${status}` }, status);

/** A picture of a geometry, or a quiet square where there is none. */
export function drawing(geometry, { mirrored = false, large = false, alt = "" } = {}) {
    const frame = h("span.thumb", { className: `thumb${large ? " large" : ""}${mirrored ? " mirrored" : ""}` });
    if (geometry) {
        const image = h("img", { src: thumb(geometry), alt, loading: "lazy", decoding: "async", width: 192, height: 192 });
        image.addEventListener("error", () => frame.classList.add("none"), { once: true });
        frame.append(image);
    } else {
        frame.classList.add("none");
    }
    return frame;
}

export function resourceDrawing(resource, options = {}) {
    const { geometry, mirrored } = picture(resource);
    return drawing(geometry, { mirrored, alt: "", ...options });
}

export const resourceLink = (resource, text) =>
    resource.missing ? h("span.path", null, resource.address) : h("a.name", { href: link("resources", { address: resource.address }) }, text ?? resource.name);

export const containerLink = (container) =>
    container.resources ? tail(container.path, "a", { href: link("coverage", { container: container.path }) }) : tail(container.path);

/** One choice of several, as buttons: [{ key, label, count }]. */
export function chips(list, chosen, choose, label) {
    return h(
        "div.chips",
        { role: "group", "aria-label": label },
        list.map((item) =>
            h(
                "button",
                { type: "button", "aria-pressed": String(item.key === chosen), onclick: () => choose(item.key === chosen ? "" : item.key), className: item.colour ? `s-${item.colour}` : "" },
                item.colour && h("i.dot", { "aria-hidden": "true" }),
                item.label,
                item.count !== undefined && h("b", null, count(item.count)),
            ),
        ),
    );
}

export function search(value, placeholder, changed) {
    let timer;
    return h("input.search", {
        type: "search",
        value,
        placeholder,
        "aria-label": placeholder,
        autocomplete: "off",
        spellcheck: false,
        oninput: (event) => {
            clearTimeout(timer);
            timer = setTimeout(() => changed(event.target.value), 60);
        },
    });
}

export function select(label, options, value, changed) {
    return h(
        "label.select",
        null,
        h("span", null, label),
        h("select", { onchange: (event) => changed(event.target.value) }, h("option", { value: "" }, "any"), options.map(([key, text]) => h("option", { value: key, selected: key === value }, text))),
    );
}

/** Rows of words and values. */
export function facts(list) {
    return h("dl.facts", null, list.filter(Boolean).map(([name, ...value]) => [h("dt", null, name), h("dd", null, value)]));
}

/** Many cards, a few dozen at a time. */
export function paged(items, card, className = "cards", step = 40) {
    const list = h(`div.${className}`);
    const more = h("button.more", { type: "button" });
    let shown = 0;
    const grow = () => {
        list.append(...items.slice(shown, shown + step).map(card));
        shown = Math.min(items.length, shown + step);
        more.textContent = `Show ${count(Math.min(step, items.length - shown))} more of ${count(items.length - shown)}`;
        more.hidden = shown >= items.length;
    };
    more.addEventListener("click", grow);
    grow();
    return h("div", null, list, more);
}
