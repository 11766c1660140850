// Bundles the dashboard into one HTML page, and the server's page of a resource beside its script and style:
// node build.mjs DIR
// In the dashboard scripts and styles go inside; the mark <!--anchorage:data--> stays for the program to put its data there.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2];

async function bundle(entry) {
    const result = await build({
        entryPoints: [join(here, entry)],
        bundle: true,
        minify: true,
        write: false,
        outdir: "out",
        format: "iife",
        target: ["es2022"],
        charset: "utf8",
        legalComments: "inline",
        logLevel: "warning",
    });
    return (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
}

const resource = await bundle("resource.js");
await writeFile(join(output, "resource.js"), resource(".js"));
await writeFile(join(output, "resource.css"), resource(".css"));
await writeFile(join(output, "resource.html"), await readFile(join(here, "resource.html"), "utf8"));

const dashboard = await bundle("main.js");
const page = await readFile(join(here, "page.html"), "utf8");
// A closing tag inside a string of the script would end the element.
const script = dashboard(".js").replaceAll("</script", "<\\/script");
// This script and no other runs in the page, whatever a name from an archive says.
const policy = `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`;
const html = page
    .replace("<!--anchorage:style-->", () => `<style>${dashboard(".css")}</style>`)
    .replace("<!--anchorage:policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace("<!--anchorage:script-->", () => `<script>${script}</script>`);
await writeFile(join(output, "dashboard.html.part"), html);
await rename(join(output, "dashboard.html.part"), join(output, "dashboard.html"));
