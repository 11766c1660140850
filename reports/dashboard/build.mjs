// Bundles the dashboard into one HTML page: node build.mjs OUTPUT
// Scripts and styles go inside; the mark <!--anchorage:data--> stays for the program to put its data there.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const result = await build({
    entryPoints: [join(here, "main.js")],
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
const text = (ending) => result.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
const page = await readFile(join(here, "page.html"), "utf8");
// A closing tag inside a string of the script would end the element.
const script = text(".js").replaceAll("</script", "<\\/script");
const html = page
    .replace("<!--anchorage:style-->", () => `<style>${text(".css")}</style>`)
    .replace("<!--anchorage:script-->", () => `<script>${script}</script>`);
await writeFile(process.argv[2], html);
