// The page's data as objects that refer to each other.

export const STATUSES = ["proven", "assigned", "decoded", "ambiguous", "declined"];
export const PLACED = ["proven", "assigned", "decoded"];

function objects(table) {
    return table.rows.map((row) => Object.fromEntries(table.columns.map((name, i) => [name, row[i]])));
}

function readContainer(container, number, kinds) {
    container.number = number;
    container.resources = [];
    container.total = STATUSES.reduce((sum, status) => sum + container[status], 0);
    container.haystack = container.path.toLowerCase();
    if (!container.coverage) return;
    // [length, kind, ...] from data_offset on becomes runs with both ends.
    const runs = [];
    const sums = Object.fromEntries(kinds.map((kind) => [kind, 0]));
    let start = container.data_offset;
    for (let i = 0; i < container.coverage.length; i += 2) {
        const end = start + container.coverage[i];
        const kind = kinds[container.coverage[i + 1]];
        runs.push({ start, end, kind });
        sums[kind] += end - start;
        start = end;
    }
    container.coverage = runs;
    container.sums = sums;
    container.data_size = start - container.data_offset;
}

function readResource(resource, number, containers) {
    const container = containers[resource.container];
    resource.number = number;
    resource.container = container;
    resource.address = `${container.path}#${resource.index}`;
    if (resource.canonical) {
        const [geometry, mirrored, basis, twin] = resource.canonical;
        resource.canonical = { geometry, mirrored, basis, twin };
    }
    resource.haystack = `${resource.name}\n${container.path}#${resource.index}\n${resource.geometry ?? ""}`.toLowerCase();
    container.resources.push(resource);
}

function group(list, key) {
    const map = new Map();
    for (const item of list) {
        const k = key(item);
        if (k === null || k === undefined) continue;
        if (!map.has(k)) map.set(k, []);
        map.get(k).push(item);
    }
    return map;
}

/** What the sections show, from the document of reports/page_data.h. */
export function read(page) {
    const containers = objects(page.containers);
    const resources = objects(page.resources);
    containers.forEach((container, i) => readContainer(container, i, page.coverage_kinds));
    resources.forEach((resource, i) => readResource(resource, i, containers));
    const byAddress = new Map(resources.map((resource) => [resource.address, resource]));
    const byPath = new Map(containers.map((container) => [container.path, container]));
    const findings = objects(page.findings);
    for (const finding of findings) {
        finding.container = finding.container && (byPath.get(finding.container) ?? { path: finding.container });
        finding.sides = finding.sides.map((address) => byAddress.get(address) ?? { address, name: address, missing: true });
    }
    const finished = page.runs.filter((run) => run.finished);
    return {
        program: page.program,
        store: page.store,
        geometry: page.geometry,
        kinds: page.coverage_kinds,
        runs: page.runs,
        run: finished.at(-1) ?? page.runs.at(-1) ?? null,
        before: finished.at(-2) ?? null,
        containers,
        resources,
        byAddress,
        byPath,
        byGeometry: group(resources, (resource) => resource.geometry),
        byName: group(resources, (resource) => resource.name),
        findings,
        byKind: group(findings, (finding) => finding.kind),
        declined: objects(page.declined),
        unknown: objects(page.unknown),
    };
}

/** How many of a list have each value of a key. */
export function tally(list, key) {
    const counts = {};
    for (const item of list) counts[item[key]] = (counts[item[key]] ?? 0) + 1;
    return counts;
}

/** What a resource is drawn from: of a mirrored twin the block that both share. */
export const picture = (resource) =>
    resource.canonical
        ? { geometry: resource.canonical.geometry, mirrored: resource.canonical.mirrored }
        : { geometry: resource.geometry, mirrored: false };
