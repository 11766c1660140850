// serve.mjs - `anchorage serve` in a real browser, and under 64 clients beside a run that writes.
//   node tests/browser/serve.mjs PROGRAM        from the project's root

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve as absolute } from "node:path";
import { launch, open, runTests, screenshots, test } from "./browser.mjs";

const program = absolute(process.argv[2]); // it is started elsewhere, too
const work = mkdtempSync(join(tmpdir(), "anchorage-serve-"));
const corpus = join(work, "corpus");
const store = join(work, "store");
const anchorage = (...args) => execFileSync(program, args, { cwd: work, stdio: ["ignore", "pipe", "inherit"] });

/** Starts the server; { base, stop }, which resolves to its exit status. */
function serve() {
    const child = spawn(program, ["serve", "-s", store, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
    return new Promise((resolve, reject) => {
        child.stdout.once("data", (text) => resolve({ base: String(text).trim(), stop: () => (child.kill("SIGTERM"), ended) }));
        child.on("exit", (code) => reject(new Error(`serve ended with ${code}`)));
    });
}

const resourcePath = (address) => `resource/${encodeURIComponent(address)}`;
let server;
const ask = async (path) => {
    const response = await fetch(server.base + path);
    return { status: response.status, tag: response.headers.get("etag"), body: await response.json() };
};
const first = async (query) => (await ask(`api/resources?limit=1&${query}`)).body.resources[0];

/** How many colours a screenshot has: a picture that is empty, or of one colour, has few. */
async function colours(page, png) {
    return page.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, image.width, image.height);
        const seen = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
            seen.set(colour, (seen.get(colour) ?? 0) + 1);
        }
        return { different: seen.size, pixels: image.width * image.height, least: Math.min(...[...seen.keys()].map((c) => (c >> 16) + ((c >> 8) & 255) + (c & 255))) };
    }, png.toString("base64"));
}

let browser;

async function shown(path, options) {
    const page = await open(browser, options);
    await page.goto(server.base + path);
    return page;
}

async function drawn(page, name) {
    await page.waitForSelector(".stage.ready");
    await page.waitForTimeout(300);
    const canvas = page.locator(".stage");
    const before = await colours(page, await canvas.screenshot());
    await page.screenshot({ path: join(screenshots, `serve-${name}.png`) });
    return before;
}

test("the dashboard is fed by the server, without an error", async () => {
    const page = await shown("");
    await page.waitForSelector(".frame");
    for (const section of ["overview", "coverage", "declined", "consistency", "twins", "unknown", "resources"]) {
        await page.goto(`${server.base}#${section}`);
        await page.waitForSelector(`nav a[data-section=${section}][aria-current]`);
    }
    const resource = await first("status=proven&sort=-triangles");
    await page.goto(`${server.base}#resources?${new URLSearchParams({ address: resource.address })}`);
    await page.waitForSelector("dialog[open] .facts");
    await page.waitForFunction(() => [...document.querySelectorAll("dialog[open] img")].some((image) => image.naturalWidth === 192));
    await page.screenshot({ path: join(screenshots, "serve-dashboard.png") });
    const link = page.locator("dialog[open] a", { hasText: "View in 3D" });
    await link.click();
    await page.waitForSelector(".stage.ready");
    assert.deepEqual(page.problems, []);
    await page.context().close();
});

test("a located resource is drawn, and what is put on it is seen", async () => {
    const resource = await first("status=proven&sort=-triangles");
    const page = await shown(resourcePath(resource.address));
    const plain = await drawn(page, "resource-light");
    // A shaded surface on a soft ground: hundreds of shades, and it is not black.
    assert.ok(plain.different > 150, `${plain.different} colours`);
    const states = [plain.different];
    for (const key of ["w", "n", "b"]) {
        await page.keyboard.press(key);
        await page.waitForTimeout(150);
        states.push((await colours(page, await page.locator(".stage").screenshot())).different);
        assert.notEqual(states.at(-1), states.at(-2), `${key} changes nothing`);
    }
    await page.screenshot({ path: join(screenshots, "serve-resource-lines.png") });
    const box = await page.locator(".stage canvas").boundingBox();
    const still = await page.locator(".stage").screenshot();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 120, box.y + box.height / 2 + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForTimeout(200);
    assert.notDeepEqual(await page.locator(".stage").screenshot(), still, "dragging does not turn it");
    assert.deepEqual(page.problems, []);
    await page.context().close();
});

test("the GLB that a page offers is what export writes", async () => {
    const resource = await first("status=proven&sort=-triangles");
    const page = await shown(resourcePath(resource.address));
    await page.waitForSelector(".stage.ready");
    const download = page.waitForEvent("download");
    await page.click("text=Download GLB");
    const file = join(work, "downloaded.glb");
    await (await download).saveAs(file);
    anchorage("export", "-s", store, resource.address, "-o", "exported.glb");
    execFileSync("cmp", [file, join(work, "exported.glb")]);
    await page.context().close();
});

test("an ambiguous resource shows its alternatives side by side", async () => {
    const resource = await first("status=ambiguous&sort=-triangles");
    const count = 1 + resource.alternatives.filter((other) => other.geometry).length;
    const page = await shown(resourcePath(resource.address), { dark: true });
    const picture = await drawn(page, "alternatives-dark");
    assert.ok(count > 1);
    assert.equal(await page.locator(".pane").count(), count);
    assert.equal(await page.locator(".pane .note").count(), 0, "each is drawn");
    assert.ok(picture.different > 100, `${picture.different} colours`);
    assert.deepEqual(page.problems, []);
    await page.context().close();
    const narrow = await shown(resourcePath(resource.address), { width: 390, height: 844 });
    await drawn(narrow, "alternatives-390");
    const wide = await narrow.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide[0] <= wide[1], `it scrolls sideways: ${wide}`);
    await narrow.context().close();
});

test("other formats, mirrored twins, what is declined and what is not there", async () => {
    for (const [name, query] of [["bgf", "format=bgf&status=decoded&sort=-triangles"], ["meshbin", "format=meshbin&status=decoded&sort=-triangles"]]) {
        const page = await shown(resourcePath((await first(query)).address));
        assert.ok((await drawn(page, name)).different > 100, name);
        assert.deepEqual(page.problems, []);
        await page.context().close();
    }
    const all = (await ask("api/resources?format=xbg7&limit=1000")).body.resources;
    const twin = all.find((resource) => resource.canonical?.mirrored);
    const pair = await shown(resourcePath(twin.address));
    await drawn(pair, "twin");
    assert.ok((await pair.locator(".pane").count()) >= 2, "as drawn, and as stored");
    await pair.context().close();
    const declined = await first("status=declined");
    const page = await shown(resourcePath(declined.address));
    await page.waitForSelector(".viewer.empty");
    assert.match(await page.locator(".viewer.empty").innerText(), new RegExp(declined.reason));
    await page.screenshot({ path: join(screenshots, "serve-declined.png") });
    assert.deepEqual(page.problems, []);
    await page.goto(`${server.base}resource/${encodeURIComponent("no <b>such</b> thing")}`);
    await page.waitForSelector("h1");
    assert.match(await page.locator("main").innerText(), /no <b>such<\/b> thing/);
    await page.context().close();
});

test("64 clients beside a run that writes: every answer is whole, new data is seen", async () => {
    const before = (await ask("api/resources?limit=0")).body.total;
    const writer = spawn(program, ["run", "-q", "-s", store, join(work, "more")], { stdio: ["ignore", "ignore", "inherit"] });
    const written = new Promise((resolve) => writer.on("exit", resolve));
    const { address } = await first("status=proven");
    const paths = ["api/resources?q=wep&limit=5", "api/resources?sort=-triangles&limit=5", `api/resource/${encodeURIComponent(address)}`, "api/containers?limit=3", "api/findings?limit=3", "api/runs"];
    const statuses = await Promise.all(
        Array.from({ length: 64 }, async (_, client) => {
            const seen = [];
            for (let i = 0; i < 6; i++) seen.push((await ask(paths[(client + i) % paths.length])).status);
            return seen;
        }),
    );
    assert.ok(statuses.flat().every((status) => status === 200), String(statuses.flat().filter((status) => status !== 200)));
    assert.equal(await written, 0);
    assert.ok((await ask("api/resources?limit=0")).body.total > before);
});

test("a tag spares what is known; it ends by a signal, with status 0", async () => {
    const { tag } = await ask("api/containers");
    const again = await fetch(`${server.base}api/containers`, { headers: { "if-none-match": tag } });
    assert.equal(again.status, 304);
    assert.equal(await server.stop(), 0);
});

anchorage("corpus", "-o", "corpus", "--seed", "7", "--scale", "0.01");
anchorage("corpus", "-o", "more", "--seed", "8", "--scale", "0.01");
anchorage("run", "-q", "-s", "store", "corpus");
browser = await launch(["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]);
server = await serve();
const failed = await runTests();
await browser.close();
await server.stop();
rmSync(work, { recursive: true });
process.exitCode = failed ? 1 : 0;
