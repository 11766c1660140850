// dashboard.mjs - the report of a small store, in a real browser, from disk.
//   node tests/browser/dashboard.mjs PROGRAM        from the project's root; prints TAP
//
// The corpus holds every format and kind of damage; beside it lie files whose names try what a page must not do.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { launch, open, runTests, screenshots, test } from "./browser.mjs";

const program = resolve(process.argv[2] ?? "build/release/anchorage");
const work = mkdtempSync(join(tmpdir(), "anchorage-browser-"));
const anchorage = (...args) => execFileSync(program, args, { cwd: join(work, "corpus"), encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28 });

const HOSTILE = ["<img src=x onerror=globalThis.hacked=1>", "=HYPERLINK(\"http:x\")", "\u202egnp.exe", "a\u0007b"];

// A BGF of one triangle, byte for byte by the format page (as in tests/cli/helper.bash).
const BGF = Buffer.concat([
    Buffer.from("DIV-BIZ2"),
    Buffer.from("030004072001004000" + "3f41003c4200394600" + "36800024", "hex"),
    Buffer.from("000000000000000000000000" + "0000803f0000000000000000" + "000000000000803f00000000", "hex"),
    Buffer.from("47000c00000000010000000200000005" + "0000", "hex"),
]);

execFileSync(program, ["corpus", "-o", join(work, "corpus"), "--seed", "7", "--scale", "0.01"]);
anchorage("run", "-q", "-s", "../store", "stage", "models");
for (const [i, name] of HOSTILE.entries()) {
    const content = Buffer.from(BGF);
    content.writeFloatLE(i + 2, 42); // equal bytes would be one container at four places
    writeFileSync(join(work, "corpus", `${name}.bgf`), content);
}
anchorage("run", "-q", "-s", "../store", ".");
anchorage("report", "-s", "../store", "-o", "../report");
const listed = anchorage("query", "-s", "../store", "--json").trim().split("\n").map((line) => JSON.parse(line));

const url = (fragment = "", file = "report/index.html") => `file://${join(work, file)}${fragment}`;
const browser = await launch();
const page = await open(browser);
page.on("dialog", (dialog) => {
    page.problems.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
});

async function visit(target, fragment, file) {
    await target.goto("about:blank");
    await target.goto(url(fragment, file));
    await target.waitForSelector("html[data-ready]");
}
const rows = (selector = "main .tr") => page.locator(selector);
const quiet = (target) => assert.deepEqual(target.problems.splice(0), []);

test("every section loads from disk without an error", async () => {
    const titles = { overview: "Overview", coverage: "Coverage", declined: "Declined", consistency: "Consistency", twins: "Twins", unknown: "Unknown content", resources: "Resources" };
    for (const [section, title] of Object.entries(titles)) {
        await visit(page, `#${section}`);
        assert.equal(await page.locator("main h1").innerText(), title);
        assert.equal(await page.locator("nav a[aria-current]").getAttribute("data-section"), section);
    }
    quiet(page);
});

test("the overview counts what the store counts", async () => {
    await visit(page, "#overview");
    for (const status of ["proven", "assigned", "decoded", "ambiguous", "declined"]) {
        const shown = await page.locator(`.outcome.s-${status} strong`).innerText();
        assert.equal(Number(shown.replace(/\D/g, "")), listed.filter((r) => r.status === status).length, status);
        assert.match(await page.locator(`.outcome.s-${status} .delta`).innerText(), /^[+−]\d|^±0$/);
    }
    assert.ok((await page.locator(".trends canvas").count()) >= 2, "trends over two runs");
    assert.match(await page.locator("main").innerText(), /ingest[\s\S]*resolve/);
});

test("a search finds a resource, and its evidence opens", async () => {
    const wanted = listed.find((r) => r.status === "proven" && listed.filter((o) => o.name === r.name).length === 1);
    await visit(page, "#resources");
    await page.fill("main input[type=search]", wanted.name);
    await page.waitForFunction((name) => location.hash.includes(`q=${encodeURIComponent(name)}`), wanted.name);
    const row = rows().filter({ hasText: wanted.name }).first();
    await row.click();
    await page.waitForSelector("dialog[open] table.evidence");
    const text = await page.locator("dialog").innerText();
    assert.ok(text.includes(`${wanted.container}#${wanted.index}`) && text.includes(wanted.geometry), text);
    assert.ok(text.includes(`0x${wanted.buffers[0].index_offset.toString(16).toUpperCase()}`), "its place");
    await page.goBack();
    await page.waitForSelector("dialog", { state: "hidden" });
    quiet(page);
});

test("an ambiguous resource shows its alternatives, by a link", async () => {
    const open = listed.find((r) => r.status === "ambiguous" && r.alternatives.some((a) => a.geometry));
    await visit(page, `#resources?address=${encodeURIComponent(`${open.container}#${open.index}`)}`);
    await page.waitForSelector("dialog[open] .strip figure");
    assert.equal(await page.locator("dialog .strip figure").count(), open.alternatives.filter((a) => a.geometry).length);
});

test("tables sort by their headings", async () => {
    await visit(page, "#resources");
    const counts = listed.map((r) => r.vertices).sort((a, b) => b - a);
    const first = async () => Number((await rows().first().locator("div[role=cell]").nth(4).innerText()).replace(/\D/g, ""));
    const heading = page.getByRole("columnheader", { name: "vertices" });
    await heading.getByRole("button").click();
    await page.waitForFunction(() => document.querySelector("[aria-sort=descending]")?.innerText.includes("vertices"));
    await page.waitForSelector("main .tr");
    assert.equal(await first(), counts[0]);
    await heading.getByRole("button").click();
    await page.waitForFunction(() => document.querySelector("[aria-sort=ascending]")?.innerText.includes("vertices"));
    await page.waitForSelector("main .tr");
    assert.equal(await first(), counts.at(-1));
});

test("filters narrow, and stand in the address", async () => {
    await visit(page, "#resources?status=declined&reason=truncated");
    const want = listed.filter((r) => r.status === "declined" && r.reason === "truncated").length;
    assert.match(await page.locator(".toolbar [role=status]").innerText(), new RegExp(`^${want} of`));
});

test("the keyboard reaches rows and the drawer", async () => {
    await visit(page, "#resources");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    await page.locator("main .tbody").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator("main .tr.active").count(), 1);
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open] h2");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "hidden" });
    assert.ok(!(await page.evaluate(() => location.hash)).includes("address"));
});

test("the map of a data section tells what lies where", async () => {
    const xpr2 = listed.find((r) => r.status === "proven");
    await visit(page, `#coverage?container=${encodeURIComponent(xpr2.container)}`);
    await page.locator("dialog canvas.map").hover({ position: { x: 40, y: 6 } });
    assert.match(await page.locator("dialog .tip").innerText(), /0x[0-9A-F]+ to 0x[0-9A-F]+/);
    const colours = await page.locator("dialog canvas.map").evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 4).join());
        return seen.size;
    });
    assert.ok(colours > 3, `${colours} colours`);
    quiet(page);
});

test("pictures are drawn, in tables and on cast sheets", async () => {
    await visit(page, "#resources?status=decoded");
    await page.waitForFunction(() => [...document.querySelectorAll("main .thumb img")].some((img) => img.naturalWidth === 192));
    await page.goto(url("", "report/sheet.html"));
    await page.waitForFunction(() => [...document.images].some((img) => img.naturalWidth === 192));
    assert.equal(await page.locator("figure").count(), listed.filter((r) => r.geometry).length);
    quiet(page);
});

test("names from archives are text, and visible", async () => {
    const shown = { "src=x": "<img src=x", "gnp.exe": "\\u{202E}gnp", "hyperlink": "=HYPERLINK", "b.bgf": "a\\u{7}b" };
    for (const section of ["resources", "coverage"])
        for (const [q, part] of Object.entries(shown)) {
            await visit(page, `#${section}?q=${encodeURIComponent(q)}`);
            const text = await page.locator("main .table").first().innerText();
            assert.ok(text.includes(part), `${section}: ${part} in ${text}`);
            assert.ok(!/[\u202e\u0007]/.test(text));
        }
    await page.goto(url("", "report/sheet.html"));
    assert.ok((await page.locator("body").innerText()).includes("<img src=x"));
    assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
    quiet(page);
});

test("a section's rows are saved as CSV and JSON, and no cell is a formula", async () => {
    await visit(page, "#resources?q=.bgf");
    const save = async (name) => {
        const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).first().click()]);
        return readFileSync(await download.path(), "utf8");
    };
    const csv = await save("CSV");
    assert.ok(csv.startsWith("address,") && csv.includes('"\'=HYPERLINK(""http:x"")'), csv.slice(0, 900));
    assert.ok(!/(^|,|\n)"?[=+@-][A-Z]/.test(csv), "a formula");
    const json = JSON.parse(await save("JSON"));
    assert.equal(json.length, csv.trim().split("\r\n").length - 1);
    assert.ok(json.every((row) => row.status));
});

test("ten thousand resources are a hundred elements", async () => {
    const html = readFileSync(join(work, "report/index.html"), "utf8");
    const grown = html.replace(/(id="page-data">)([^<]+)/, (_, head, data) => {
        const document = JSON.parse(gunzipSync(Buffer.from(data, "base64")));
        const at = document.containers.columns.indexOf("resources");
        const rows = document.containers.rows.map((row) => row[at]).find((list) => list.length);
        const others = document.containers.rows.reduce((sum, row) => sum + row[at].length, 0) - rows.length;
        for (let i = 0; rows.length + others < 10000; i++) rows.push(rows[i]);
        return head + gzipSync(JSON.stringify(document)).toString("base64");
    });
    writeFileSync(join(work, "report/grown.html"), grown);
    await visit(page, "#resources", "report/grown.html");
    assert.match(await page.locator(".toolbar [role=status]").innerText(), /10.000 of 10.000/);
    for (const share of [0, 0.5, 1]) {
        await page.evaluate((at) => scrollTo(0, at * document.body.scrollHeight), share);
        await page.waitForTimeout(60);
        const count = await rows().count();
        assert.ok(count > 5 && count < 100, `${count} rows`);
    }
    quiet(page);
});

test("light, dark, and the reader's choice", async () => {
    const ground = (target) => target.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await open(browser, { dark: true });
    await visit(dark, "#overview");
    await visit(page, "#overview");
    assert.notEqual(await ground(page), await ground(dark));
    await page.getByRole("button", { name: /Colours/ }).click();
    await page.getByRole("button", { name: /Colours/ }).click();
    assert.equal(await ground(page), await ground(dark));
    await page.getByRole("button", { name: /Colours/ }).click();
    await dark.context().close();
});

test("data of another version is refused, not guessed at", async () => {
    const html = readFileSync(join(work, "report/index.html"), "utf8");
    const other = html.replace(/(id="page-data">)([^<]+)/, (_, head, data) => head + gzipSync(gunzipSync(Buffer.from(data, "base64")).toString().replace('"version":1', '"version":99')).toString("base64"));
    writeFileSync(join(work, "report/other.html"), other);
    await visit(page, "", "report/other.html");
    assert.match(await page.locator("body").innerText(), /version 1, not 99/);
    page.problems.length = 0; // it says so on the console, too
});

test("nothing overflows at 1280 and 390 pixels, light and dark", async () => {
    const open_ = listed.find((r) => r.status === "ambiguous" && r.alternatives.length);
    const twin = listed.find((r) => r.canonical?.mirrored) ?? open_;
    const address = (r) => encodeURIComponent(`${r.container}#${r.index}`);
    const views = {
        overview: "#overview", coverage: "#coverage", declined: "#declined", consistency: "#consistency", twins: "#twins", unknown: "#unknown", resources: "#resources",
        ambiguous: `#resources?address=${address(open_)}`, twin: `#resources?address=${address(twin)}`, container: `#coverage?container=${encodeURIComponent(open_.container)}`,
    };
    for (const width of [1280, 390])
        for (const dark of [false, true]) {
            const target = await open(browser, { width, height: width === 390 ? 844 : 900, dark });
            await visit(target, "#overview");
            for (const [name, fragment] of Object.entries(views)) {
                if (width === 390 && dark && !["overview", "resources", "container"].includes(name)) continue;
                // From view to view as a reader goes, which spares loading the page for each.
                await target.evaluate((hash) => (location.hash = hash), fragment);
                await target.waitForTimeout(80); // pictures
                await target.screenshot({ path: `${screenshots}/dashboard-${name}-${width}-${dark ? "dark" : "light"}.png`, animations: "disabled" });
                const [scroll, client] = await target.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
                assert.ok(scroll <= client, `${name} at ${width}: ${scroll} of ${client} pixels`);
            }
            await target.goto(url("", "report/sheet.html"));
            await target.screenshot({ path: `${screenshots}/sheet-${width}-${dark ? "dark" : "light"}.png` });
            target.problems = target.problems.filter((problem) => !problem.includes("ERR_ABORTED")); // pictures of a page that was left
            quiet(target);
            await target.context().close();
        }
});

const failed = await runTests();
await browser.close();
rmSync(work, { recursive: true });
process.exitCode = failed ? 1 : 0;
