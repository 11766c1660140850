// browser.mjs - a real browser for tests: Debian's chromium, driven by playwright-core.

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const screenshots = "build/screenshots";

/** `more`: further flags. */
export async function launch(more = []) {
    mkdirSync(screenshots, { recursive: true });
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...more] });
}

/** A page that remembers what went wrong in it: console errors, exceptions, requests that failed. */
export async function open(browser, { width = 1280, height = 860, dark = false } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
    const page = await context.newPage();
    page.problems = [];
    page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
    page.on("pageerror", (error) => page.problems.push(String(error)));
    // A picture whose row is scrolled away while it loads is given up, which is no fault.
    page.on("requestfailed", (request) => {
        const why = request.failure()?.errorText;
        if (why !== "net::ERR_ABORTED") page.problems.push(`${request.url()}: ${why}`);
    });
    return page;
}

/* ---- TAP ------------------------------------------------------------------------------------------------ */

const tests = [];
export const test = (name, run) => tests.push({ name, run });

export async function runTests() {
    console.log(`1..${tests.length}`);
    let failed = 0;
    for (const [i, { name, run }] of tests.entries()) {
        const started = performance.now();
        try {
            await run();
            console.log(`ok ${i + 1} - ${name}`);
            if (process.env.BROWSER_TIMES) console.log(`# ${Math.round(performance.now() - started)} ms`);
        } catch (error) {
            failed++;
            console.log(`not ok ${i + 1} - ${name}`);
            console.log(String(error.stack ?? error).replace(/^/gm, "# "));
        }
    }
    return failed;
}
