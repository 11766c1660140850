// Overview: what there is, what changed, how long it took.

import { trend } from "./charts.js";
import { bytes, change, count, duration, h, share, when } from "./dom.js";
import { downloads } from "./download.js";
import { STATUSES, tally } from "./model.js";
import { bar, facts, heading, panel } from "./parts.js";
import { link } from "./route.js";

const MEANINGS = {
    proven: "its place is proven by content",
    assigned: "the best of several places, with a margin",
    decoded: "its place is stated by the format",
    ambiguous: "several places fit; none is claimed",
    declined: "not decoded, with the reason",
};

function outcome(data, counts, status) {
    const now = counts[status] ?? 0;
    const before = data.before?.by_status?.[status];
    return h(
        "a.outcome",
        { href: link("resources", { status }), className: `outcome s-${status}` },
        h("span.label", null, h("i.dot", { "aria-hidden": "true" }), status),
        h("strong", null, count(now)),
        h("span.share", null, share(now, data.resources.length)),
        h("span.delta", { title: before === undefined ? "there is no earlier run to compare with" : `since run ${data.before.run}` }, before === undefined ? "first run" : change(now - before)),
        h("span.meaning", null, MEANINGS[status]),
    );
}

function resourcesPanel(data) {
    const counts = tally(data.resources, "status");
    return h(
        "section.panel.hero",
        null,
        h("div.hero-head", null, h("h2", null, "Resources"), h("strong.big", null, count(data.resources.length)), data.before && h("span.muted", null, `compared with run ${data.before.run}, ${when(data.before.finished)}`)),
        bar(STATUSES.map((status) => ({ key: status, value: counts[status] ?? 0 })), "resources by outcome"),
        h("div.outcomes", null, STATUSES.map((status) => outcome(data, counts, status))),
    );
}

function containersPanel(data) {
    const status = tally(data.containers, "status");
    const damaged = data.containers.filter((container) => container.status !== "read");
    const list = (object, total) =>
        Object.entries(object)
            .sort((a, b) => b[1] - a[1])
            .map(([name, n]) => h("li", null, h("span", null, name === "null" ? "other damage" : name), h("b", null, count(n)), h("span.muted", null, share(n, total))));
    return panel(
        "Containers",
        h("p.figures", null, ["read", "damaged", "skipped"].map((key) => h("span", null, h("strong", null, count(status[key] ?? 0)), ` ${key}`))),
        bar([{ key: "read", value: status.read ?? 0 }, { key: "damaged", value: status.damaged ?? 0 }, { key: "skipped", value: status.skipped ?? 0 }]),
        h("div.lists", null,
            h("div", null, h("h3", null, "Formats"), h("ul.tally", null, list(tally(data.containers, "format"), data.containers.length))),
            damaged.length > 0 && h("div", null, h("h3", null, "Not whole because"), h("ul.tally", null, list(tally(damaged, "reason"), damaged.length)))),
    );
}

function storePanel(data) {
    const { geometry } = data;
    const places = data.containers.reduce((sum, container) => sum + 1 + container.also.length, 0);
    const findings = Object.entries(tally(data.findings, "kind")).sort((a, b) => b[1] - a[1]);
    return panel(
        "Kept",
        facts([
            ["distinct geometries", count(geometry.distinct)],
            ["kept in", bytes(geometry.stored)],
            ["places of containers", count(places)],
            ["unknown content", `${count(data.unknown.reduce((sum, row) => sum + row.count, 0))} files`],
        ]),
        findings.length > 0 && [h("h3", null, "Findings"), h("ul.tally", null, findings.map(([kind, n]) => h("li", null, h("span", null, kind), h("b", null, count(n)))))],
    );
}

/** "ingest/decode" is a part of "ingest". */
const isPart = (stage) => stage.includes("/");

function runPanel(data) {
    const { run } = data;
    if (!run) return null;
    const stages = run.stages ?? [];
    const rate = (n, seconds, unit) => (n && seconds > 0 ? unit(n / seconds) : "–");
    const conditions = Object.entries(run.conditions ?? {});
    return panel(
        `Run ${run.run}`,
        facts([
            ["started", when(run.started)],
            ["took", run.finished ? duration(run.seconds) : "it did not finish"],
            ["read", `${bytes(run.bytes_read)} in ${count(run.inputs)} ${run.inputs === 1 ? "input" : "inputs"}`],
            ["containers", `${count(run.containers)}, ${count(run.unchanged)} known already`],
            ["throughput", `${rate(run.bytes_read, run.seconds, bytes)}/s, ${rate(run.resources, run.seconds, count)} resources/s`],
            ["exit status", String(run.exit_status)],
            ["program", run.version],
            ["command", h("code", null, run.arguments)],
        ]),
        stages.length > 0 && [
            h("h3", null, "Time by stage"),
            h("table.plain", null,
                h("thead", null, h("tr", null, ["stage", "time", "of the run", "items/s", "bytes/s"].map((title, i) => h("th", { className: i ? "right" : "" }, title)))),
                h("tbody", null, stages.map((stage) => h(isPart(stage.stage) ? "tr.part" : "tr", null,
                    h("td", null, stage.stage.slice(stage.stage.indexOf("/") + 1)),
                    h("td.right", null, duration(stage.seconds)),
                    h("td.right", null, isPart(stage.stage) ? "" : share(stage.seconds, run.seconds)),
                    h("td.right", null, rate(stage.items, stage.seconds, count)),
                    h("td.right", null, rate(stage.bytes, stage.seconds, bytes)))))),
            stages.some((stage) => isPart(stage.stage)) && h("p.muted", null, "Parts of a stage go on beside each other: extract and decode are processor time of all their threads."),
        ],
        h("h3", null, "Limits and sandbox in force"),
        conditions.length ? facts(conditions) : h("p.muted", null, "This run recorded none."),
    );
}

function trendsPanel(data) {
    const runs = data.runs.filter((run) => run.finished).slice(-120);
    if (runs.length < 2) return panel("Trends", h("p.muted", null, "Trends are drawn from the second run on."));
    const outcomes = [...STATUSES].map((status) => ({ key: status, label: status, values: runs.map((run) => run.by_status[status] ?? 0) }));
    const names = [...new Set(runs.flatMap((run) => (run.stages ?? []).map((stage) => stage.stage)))].filter((name) => !isPart(name));
    const time = (run, name) => (run.stages ?? []).filter((stage) => stage.stage === name).reduce((sum, stage) => sum + stage.seconds, 0);
    const stages = names.map((name, i) => ({ key: `stage-${i % 4}`, label: name, values: runs.map((run) => time(run, name)) }));
    const rest = runs.map((run) => Math.max(0, run.seconds - names.reduce((sum, name) => sum + time(run, name), 0)));
    stages.push({ key: "stage-rest", label: "rest", values: rest });
    return h(
        "section.panel.trends",
        null,
        h("div", null, h("h2", null, "Resources by run"), trend(runs, outcomes, count, "resources by outcome, for each run")),
        h("div", null, h("h2", null, "Time by run"), trend(runs, stages, duration, "seconds by stage, for each run")),
    );
}

const RUN_COLUMNS = [
    { title: "run", csv: (run) => run.run },
    { title: "started", csv: (run) => run.started },
    { title: "finished", csv: (run) => run.finished },
    { title: "seconds", csv: (run) => run.seconds },
    { title: "containers", csv: (run) => run.containers },
    { title: "unchanged", csv: (run) => run.unchanged },
    { title: "bytes_read", csv: (run) => run.bytes_read },
    ...STATUSES.map((status) => ({ title: status, csv: (run) => run.by_status[status] })),
    { title: "exit_status", csv: (run) => run.exit_status },
    { title: "version", csv: (run) => run.version },
    { title: "arguments", csv: (run) => run.arguments },
];

function runsPanel(data) {
    const runs = data.runs.toReversed().slice(0, 40);
    return h(
        "section.panel",
        null,
        h("div.panel-head", null, h("h2", null, "Runs"), downloads("runs", RUN_COLUMNS, () => data.runs)),
        h("div.scroll", null, h("table.plain", null,
            h("thead", null, h("tr", null, ["run", "started", "took", "containers", "known", "read", ...STATUSES].map((title, i) => h("th", { className: i > 1 ? "right" : "" }, title)))),
            h("tbody", null, runs.map((run) => h("tr", null,
                h("td", null, `#${run.run}`),
                h("td", null, when(run.started)),
                h("td.right", null, run.finished ? duration(run.seconds) : "not finished"),
                h("td.right", null, count(run.containers)),
                h("td.right", null, count(run.unchanged)),
                h("td.right", null, bytes(run.bytes_read)),
                STATUSES.map((status) => h("td.right", null, count(run.by_status[status] ?? 0)))))))),
    );
}

export function overview(data) {
    const { run } = data;
    return h(
        "div",
        null,
        heading("overview", "Overview", run ? `As of run ${run.run}, ${run.finished ? `finished ${when(run.finished)}` : "which did not finish"}.` : "This store has no run."),
        resourcesPanel(data),
        h("div.columns", null, containersPanel(data), storePanel(data)),
        trendsPanel(data),
        h("div.columns.single", null, runPanel(data)),
        runsPanel(data),
    );
}
