// The page's data as objects that refer to each other.

export const STATUSES = ["proven", "assigned", "decoded", "ambiguous", "declined"];
export const PLACED = ["proven", "assigned", "decoded"];

const objectsOf = (columns, rows) => rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
const objects = (table) => objectsOf(table.columns, table.rows);

function readContainer(container, number, { coverage_kinds, resource_columns }) {
    container.number = number;
    container.total = STATUSES.reduce((sum, status) => sum + container[status], 0);
    container.haystack = container.path.toLowerCase();
    container.resources = objectsOf(resource_columns, container.resources);
    if (container.coverage) readCoverage(container, coverage_kinds);
}

// [length, kind, ...] from data_offset on becomes runs with both ends.
function readCoverage(container, kinds) {
    const lengths = container.coverage;
    const sums = Object.fromEntries(kinds.map((kind) => [kind, 0]));
    let start = container.data_offset;
    container.coverage = [];
    for (let i = 0; i < lengths.length; i += 2) {
        const end = start + lengths[i];
        const kind = kinds[lengths[i + 1]];
        container.coverage.push({ start, end, kind });
        sums[kind] += end - start;
        start = end;
    }
    container.sums = sums;
    container.data_size = start - container.data_offset;
}

function readResource(resource, number, container) {
    resource.number = number;
    resource.container = container;
    resource.address = `${container.path}#${resource.index}`;
    if (resource.canonical) {
        const [geometry, mirrored, basis, twin] = resource.canonical;
        resource.canonical = { geometry, mirrored, basis, twin };
    }
    resource.haystack = `${resource.name}\n${container.path}#${resource.index}\n${resource.geometry ?? ""}`.toLowerCase();
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
    const resources = [];
    containers.forEach((container, i) => {
        readContainer(container, i, page);
        for (const resource of container.resources) {
            readResource(resource, resources.length, container);
            resources.push(resource);
        }
    });
    const byHash = new Map(containers.filter((container) => container.hash).map((container) => [container.hash, container]));
    const byAddress = new Map(resources.map((resource) => [resource.address, resource]));
    const byPath = new Map(containers.map((container) => [container.path, container]));
    const byKey = new Map(resources.map((resource) => [`${resource.container.hash} ${resource.index}`, resource]));
    const findings = objects(page.findings);
    for (const finding of findings) {
        finding.container = finding.container && (byHash.get(finding.container) ?? { path: "no longer here", number: Infinity });
        const sides = [];
        // [container, index, container, index ...]; a container may have gone since the passes ran.
        for (let i = 0; i < finding.sides.length; i += 2)
            sides.push(byKey.get(`${finding.sides[i]} ${finding.sides[i + 1]}`) ?? { address: "no longer here", name: "no longer here", missing: true });
        finding.sides = sides;
    }
    const text = new Intl.Collator("en", { numeric: true });
    findings.sort((a, b) => (a.container?.number ?? -1) - (b.container?.number ?? -1) || text.compare(a.subject, b.subject));
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
