// Where the page's data comes from: inside the page (a report on disk), or from the server that sent it.
//
// Both give the documents of reports/page_data.h; docs/report.md describes them. A page and the program that wrote
// its data are one build, so another version is refused, not guessed at.

const VERSION = 1;

async function unpack(id) {
    const element = document.getElementById(id);
    if (!element) return null;
    if (typeof DecompressionStream === "undefined")
        throw new Error("this browser cannot decompress the data inside the page; one of 2023 or later can");
    const packed = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
}

async function ask(path) {
    const response = await fetch(path, { headers: { accept: "application/json" } });
    if (!response.ok) throw new Error(`${path}: the server says ${response.status}`);
    return response.json();
}

/** Whether the page is fed by a server. */
export const live = !document.getElementById("page-data");

export async function loadPage() {
    const page = live ? await ask("api/page") : await unpack("page-data");
    if (page.version !== VERSION)
        throw new Error(`this page reads data of version ${VERSION}, not ${page.version}: write the report again`);
    return page;
}

let details;
/** The details of resource number `index` (in the order of the page's rows) with that address. */
export async function loadDetail(index, address) {
    if (live) return ask(`api/detail/${encodeURIComponent(address)}`);
    details ??= unpack("detail-data");
    return (await details)?.[index] ?? null;
}

/** The picture of a geometry. */
export const thumb = (hash) => `thumbs/${hash}.png`;
