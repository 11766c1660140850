// Small tools: elements, and numbers as people read them.

// What would move the cursor, hide text or turn a line around: shown by its number instead. The same set as
// text_visible in reports/text.c.
const DANGEROUS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Text from an archive, safe to show: names are hostile. */
export const visible = (text) =>
    String(text).replace(DANGEROUS, (c) => `\\u{${c.codePointAt(0).toString(16).toUpperCase()}}`);

function append(element, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) append(element, child);
        else element.append(child instanceof Node ? child : visible(child));
    }
}

/** An element: h("a.link", { href, onclick }, ...children). Strings are text, never HTML. */
export function h(tag, props, ...children) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name);
    if (classes.length) element.className = classes.join(" ");
    for (const [key, value] of Object.entries(props ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key === "className") element.classList.add(...value.split(" ").filter(Boolean));
        else if (key === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
        else if (key in element && key !== "list" && key !== "role") element[key] = value;
        else element.setAttribute(key, value === true ? "" : visible(value));
    }
    append(element, children);
    return element;
}

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");

/** 12 345, with thin spaces. */
export const count = (n) => (n < 0 ? "−" : "") + grouped(String(Math.abs(Math.round(n))));

/** +12, −3, or ±0. */
export const change = (n) => (n > 0 ? `+${count(n)}` : n < 0 ? count(n) : "±0");

export const share = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}\u2009%` : "–");

/** 1.4 MB: decimal units, as everywhere in this program. */
export function bytes(n) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (n >= 999.5 && unit < units.length - 1) {
        n /= 1000;
        unit++;
    }
    return `${unit && n < 9.95 ? n.toFixed(1) : Math.round(n)}\u2009${units[unit]}`;
}

export const hex = (n) => `0x${n.toString(16).toUpperCase()}`;

export function duration(seconds) {
    if (seconds < 0.0995) return `${Math.round(seconds * 1000)}\u2009ms`;
    if (seconds < 60) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)}\u2009s`;
    const s = Math.round(seconds);
    const two = (n) => String(n).padStart(2, "0");
    return s < 3600
        ? `${Math.floor(s / 60)}:${two(s % 60)}`
        : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** 2026-11-30 18:03 UTC */
export const when = (iso) => (iso ? `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC` : "not finished");

/** Four significant digits, or as many as a table has room for. */
export const measure = (x, digits = 4) =>
    x === null || x === undefined ? "–" : String(Number(Number(x).toPrecision(digits))).replace("-", "−");

/** 12.5 × 3 × 40 */
export const size = (b, digits) => (b ? [0, 1, 2].map((i) => measure(b[i + 3] - b[i], digits)).join(" × ") : "–");

/** A path in one line: when there is no room it loses its beginning, because its end is what tells it from its neighbours. */
export const tail = (path, tag = "span", props = {}) => h(`${tag}.path.tail`, { title: path, ...props }, h("bdi", { dir: "ltr" }, path));

/** The same for running text. */
export function shortPath(path, most = 60) {
    return path.length <= most ? path : `…${path.slice(path.length - most + 1)}`;
}
