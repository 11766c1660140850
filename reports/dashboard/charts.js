// Charts: trends over runs (uPlot), and the map of a data section (canvas).

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { bytes, count, h, hex, share } from "./dom.js";
import { KIND_WORDS } from "./parts.js";

// A canvas needs the colour that is meant now; only the browser can tell which of light-dark() that is.
const probe = h("i", { hidden: true });
document.body.append(probe);
function colour(name) {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
}

// Charts are pixels: they are drawn again when colours or widths change.
const redraws = new Set();
const redraw = () => {
    for (const draw of redraws) draw();
};
addEventListener("themechange", redraw);

/** Forgets the charts of a section that was left. */
export function forgetCharts() {
    redraws.clear();
}

function onWidth(element, draw) {
    let width = 0;
    new ResizeObserver(() => {
        if (element.isConnected && element.clientWidth !== width) {
            width = element.clientWidth;
            draw();
        }
    }).observe(element);
    redraws.add(draw);
}

/**
 * Areas on top of each other, by run. `series`: [{ key (a colour), label, values }], the lowest first.
 * `format(value)` for the axis and the legend.
 */
export function trend(runs, series, format, label) {
    const box = h("div.chart", { role: "img", "aria-label": label });
    const sums = runs.map(() => 0);
    // Each area reaches down to zero and the next, lower one is painted over it.
    const stacked = series.map(({ values }) => values.map((value, i) => (sums[i] += value)));
    const order = series.map((_, i) => i).reverse();
    let plot;
    const draw = () => {
        if (!box.clientWidth) return;
        plot?.destroy();
        const grid = { stroke: colour("--line"), width: 1 };
        const axis = { stroke: colour("--muted"), font: "12px system-ui, sans-serif", grid, ticks: { show: false } };
        plot = new uPlot(
            {
                width: box.clientWidth,
                height: 210,
                padding: [8, 8, 0, 0],
                legend: { show: true, live: true },
                // Without a pointer the legend tells of the last run.
                hooks: { setCursor: [(u) => u.cursor.left < 0 && u.setLegend({ idx: runs.length - 1 }, false)], ready: [(u) => u.setLegend({ idx: runs.length - 1 }, false)] },
                cursor: { points: { show: false }, y: false, drag: { x: false, y: false } },
                scales: { x: { time: false, range: (_, low, high) => [low, high === low ? low + 1 : high] }, y: { range: (_, __, high) => [0, (high || 1) * 1.06] } },
                axes: [
                    { ...axis, grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], values: (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? `#${n}` : "")) },
                    { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
                ],
                series: [
                    { label: "run", value: (_, x) => (x === null ? "–" : `#${x}`) },
                    ...order.map((i) => ({
                        label: series[i].label,
                        stroke: colour(`--${series[i].key}`),
                        fill: colour(`--${series[i].key}`),
                        width: 1,
                        points: { show: runs.length < 2, size: 6 },
                        value: (_, __, ___, at) => (at === null || at === undefined ? "–" : format(series[i].values[at])),
                    })),
                ],
            },
            [runs.map((run) => run.run), ...order.map((i) => stacked[i])],
            box,
        );
    };
    onWidth(box, draw);
    return box;
}

/* ---- coverage ------------------------------------------------------------------------------------------- */

const BAND = 16; // height of a row of the map, and the gap below it
const GAP = 5;

/** The run at an offset, by bisection: runs follow each other without a gap. */
function runAt(runs, offset) {
    let low = 0;
    let high = runs.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (runs[middle].end <= offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * The bytes of a data section as coloured strips, one below the other. Pointer and arrow keys tell what lies where.
 * `owner(run)`: more words on a run, or null.
 */
export function coverageMap(container, { rows, owner } = {}) {
    const runs = container.coverage;
    const [first, last] = [container.data_offset, container.data_offset + container.data_size];
    const canvas = h("canvas.map", { tabIndex: 0, role: "img", "aria-label": `Map of the data section of ${container.path}; arrow keys step through it` });
    const tip = h("div.tip", { role: "status", hidden: true });
    const box = h("div.map-box", null, canvas, tip);
    let bands = 1;
    let chosen = -1;

    const perBand = () => Math.ceil(container.data_size / bands);
    const draw = () => {
        const width = canvas.clientWidth;
        if (!width) return;
        // A band for every 256 KiB at most, so that a block is more than a pixel.
        bands = rows ?? Math.max(1, Math.min(width < 500 ? 12 : 16, Math.ceil(container.data_size / 262144)));
        const scale = devicePixelRatio || 1;
        const height = bands * (BAND + GAP) - GAP;
        canvas.style.height = `${height}px`;
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        const context = canvas.getContext("2d");
        context.scale(scale, scale);
        const colours = Object.fromEntries(Object.keys(KIND_WORDS).map((kind) => [kind, colour(`--k-${kind}`)]));
        const unit = width / perBand();
        // Twice: what nobody has is painted last and never thinner than a pixel, because it is what one looks for.
        for (const frontier of [false, true])
            for (const [i, run] of runs.entries()) {
                if (run.kind.endsWith("-like") !== frontier) continue;
                for (let band = Math.floor((run.start - first) / perBand()); band * perBand() < run.end - first; band++) {
                    const from = Math.max(run.start - first - band * perBand(), 0) * unit;
                    const to = Math.min(run.end - first - band * perBand(), perBand()) * unit;
                    context.fillStyle = colours[run.kind];
                    context.fillRect(from, band * (BAND + GAP), Math.max(to - from, frontier ? 1 : 0.35), BAND);
                    if (i === chosen) {
                        context.fillStyle = colour("--ink");
                        context.fillRect(from, band * (BAND + GAP) + BAND, Math.max(to - from, 2), 2);
                    }
                }
            }
    };
    const show = (i, x, y) => {
        chosen = i;
        draw();
        if (i < 0) {
            tip.hidden = true;
            return;
        }
        const run = runs[i];
        const more = owner?.(run);
        tip.replaceChildren(
            h("b", null, h("i.key", { className: `key c-${run.kind}` }), KIND_WORDS[run.kind]),
            h("span", null, `${hex(run.start)} to ${hex(run.end)}`),
            h("span", null, `${count(run.end - run.start)} bytes, ${share(run.end - run.start, container.data_size)}`),
            more && h("span", null, more),
        );
        tip.hidden = false;
        tip.style.left = `${Math.min(Math.max(0, x + 12), Math.max(0, box.clientWidth - tip.offsetWidth))}px`;
        tip.style.top = `${y + BAND + 10}px`;
    };
    const under = (event) => {
        const place = canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - place.left, event.clientY - place.top];
        const band = Math.min(bands - 1, Math.max(0, Math.floor(y / (BAND + GAP))));
        const offset = first + band * perBand() + (x / place.width) * perBand();
        if (offset >= last) show(-1);
        else show(runAt(runs, offset), x, band * (BAND + GAP));
    };
    const step = (event) => {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const i = Math.max(0, Math.min(runs.length - 1, chosen + by));
        const at = runs[i].start - first;
        show(i, ((at % perBand()) / perBand()) * canvas.clientWidth, Math.floor(at / perBand()) * (BAND + GAP));
    };
    canvas.addEventListener("pointermove", under);
    canvas.addEventListener("pointerdown", under);
    canvas.addEventListener("pointerleave", () => show(-1));
    canvas.addEventListener("blur", () => show(-1));
    canvas.addEventListener("keydown", step);
    onWidth(box, draw);
    return box;
}

/** The same in one line of a table: each pixel the kind that most of its bytes are. */
export function miniStrip(container, width = 220) {
    const canvas = h("canvas.mini", { role: "img", "aria-label": "map of the data section" });
    const draw = () => {
        const scale = devicePixelRatio || 1;
        canvas.width = width * scale;
        canvas.height = 12 * scale;
        const context = canvas.getContext("2d");
        const unit = canvas.width / (container.data_size || 1);
        for (const frontier of [false, true])
            for (const run of container.coverage) {
                if (run.kind.endsWith("-like") !== frontier) continue;
                context.fillStyle = colour(`--k-${run.kind}`);
                context.fillRect((run.start - container.data_offset) * unit, 0, Math.max((run.end - run.start) * unit, frontier ? 1 : 0.3), canvas.height);
            }
    };
    canvas.addEventListener("pointermove", (event) => {
        const place = canvas.getBoundingClientRect();
        const offset = container.data_offset + ((event.clientX - place.left) / place.width) * container.data_size;
        const run = container.coverage[runAt(container.coverage, offset)];
        if (run) canvas.title = `${KIND_WORDS[run.kind]}: ${hex(run.start)} to ${hex(run.end)}, ${bytes(run.end - run.start)}`;
    });
    draw();
    redraws.add(() => canvas.isConnected && draw());
    return canvas;
}
