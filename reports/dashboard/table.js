// A table of any length: only the rows in sight are elements. It scrolls with the page, sorts by its headings, and is
// walked with the arrow keys.
//
// A column: { title, width (a grid track), value(row) (what it sorts by), cell(row) (what it shows), csv(row), right
// (numbers), narrow (whether it stays on a small screen), first (the direction of the first click: 1 or -1) }.

import { h } from "./dom.js";

const EXTRA = 6; // rows kept beyond each edge of the window, so that a fast scroll shows no gap
const small = matchMedia("(max-width: 700px)");

export class Table {
    /** `options`: columns, height and narrowHeight of a row in pixels, sort [title, direction], open(row), label. */
    constructor(options) {
        this.options = options;
        this.rows = [];
        [this.by, this.direction] = options.sort ?? [null, 1];
        this.active = -1;
        this.head = h("div.thead", { role: "row" });
        this.body = h("div.tbody", { role: "rowgroup", tabIndex: 0, onkeydown: (event) => this.key(event) });
        this.element = h("div.table", { role: "table", "aria-label": options.label }, this.head, this.body);
        this.drawn = new Map();
        this.draw = this.draw.bind(this);
        this.layout = this.layout.bind(this);
        this.frame = 0;
        this.later = () => {
            this.frame ||= requestAnimationFrame(this.draw);
        };
        // Listeners end with the table: a section that is left takes its element out of the page.
        this.abort = new AbortController();
        const signal = { signal: this.abort.signal, passive: true };
        addEventListener("scroll", this.later, signal);
        addEventListener("resize", this.later, signal);
        small.addEventListener("change", this.layout, signal);
        this.layout();
    }

    close() {
        this.abort.abort();
    }

    get columns() {
        return small.matches ? this.options.columns.filter((column) => column.narrow) : this.options.columns;
    }

    get height() {
        return small.matches ? (this.options.narrowHeight ?? this.options.height) : this.options.height;
    }

    layout() {
        this.element.style.setProperty("--columns", this.columns.map((column) => column.width ?? "1fr").join(" "));
        this.element.style.setProperty("--row", `${this.height}px`);
        this.head.replaceChildren(...this.columns.map((column) => this.heading(column)));
        this.set(this.rows);
    }

    heading(column) {
        const sorted = column.title === this.by;
        return h(
            "div",
            {
                role: "columnheader",
                className: column.right ? "right" : "",
                "aria-sort": sorted ? (this.direction > 0 ? "ascending" : "descending") : null,
            },
            column.value
                ? h("button", { type: "button", onclick: () => this.sortBy(column) }, column.title, sorted && h("i.arrow", { "aria-hidden": "true" }, this.direction > 0 ? "▲" : "▼"))
                : column.title,
        );
    }

    sortBy(column) {
        this.direction = this.by === column.title ? -this.direction : (column.first ?? (column.right ? -1 : 1));
        this.by = column.title;
        const had = this.columns.indexOf(column);
        this.layout();
        this.head.children[had]?.querySelector("button")?.focus();
    }

    /** Shows these rows, in the order of the chosen column. */
    set(rows) {
        this.rows = rows;
        const column = this.options.columns.find((c) => c.title === this.by);
        if (column) {
            const text = new Intl.Collator("en", { numeric: true });
            const keys = new Map(rows.map((row) => [row, column.value(row)]));
            const compare = (a, b) => {
                const [x, y] = [keys.get(a), keys.get(b)];
                if (x === y) return 0;
                if (x === null || x === undefined) return 1; // what has no value stands last either way
                if (y === null || y === undefined) return -1;
                return this.direction * (typeof x === "string" ? text.compare(x, y) : x - y);
            };
            this.rows = rows.toSorted ? rows.toSorted(compare) : [...rows].sort(compare);
        }
        this.body.style.height = `${Math.max(1, this.rows.length) * this.height}px`;
        this.active = -1;
        this.drawn.clear();
        this.body.replaceChildren(...(this.rows.length ? [] : [h("p.empty", null, this.options.empty ?? "Nothing matches.")]));
        this.later();
    }

    draw() {
        this.frame = 0;
        if (!this.body.isConnected || !this.rows.length) return;
        const top = -this.body.getBoundingClientRect().top;
        const first = Math.max(0, Math.floor(top / this.height) - EXTRA);
        const last = Math.min(this.rows.length, Math.ceil((top + innerHeight) / this.height) + EXTRA);
        for (const [i, element] of this.drawn)
            if (i < first || i >= last) {
                element.remove();
                this.drawn.delete(i);
            }
        for (let i = first; i < last; i++) if (!this.drawn.has(i)) this.place(i);
    }

    place(i) {
        const row = this.rows[i];
        const element = h(
            "div.tr",
            { role: "row", "aria-rowindex": i + 2, onclick: (event) => this.click(event, i), style: { top: `${i * this.height}px` } },
            this.columns.map((column) => h("div", { role: "cell", className: column.right ? "right" : "" }, column.cell(row))),
        );
        element.classList.toggle("active", i === this.active);
        if (this.options.open) element.classList.add("opens");
        this.drawn.set(i, element);
        this.body.append(element);
    }

    click(event, i) {
        if (event.target.closest("a, button") || String(getSelection())) return;
        this.activate(i);
        this.options.open?.(this.rows[i]);
    }

    activate(i) {
        this.drawn.get(this.active)?.classList.remove("active");
        this.active = i;
        this.drawn.get(i)?.classList.add("active");
    }

    key(event) {
        if (event.target !== this.body) return;
        const page = Math.max(1, Math.floor(innerHeight / this.height) - 2);
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.key === "Enter" && this.active >= 0) {
            this.options.open?.(this.rows[this.active]);
        } else if (event.key in steps && this.rows.length) {
            this.activate(Math.max(0, Math.min(this.rows.length - 1, this.active + steps[event.key])));
            this.reveal(this.active);
        } else {
            return;
        }
        event.preventDefault();
    }

    reveal(i) {
        const top = this.body.getBoundingClientRect().top + i * this.height;
        const sticky = this.head.getBoundingClientRect().height + (small.matches ? 56 : 8);
        if (top < sticky) scrollBy(0, top - sticky);
        else if (top + this.height > innerHeight) scrollBy(0, top + this.height - innerHeight + 8);
    }
}
