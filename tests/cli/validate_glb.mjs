#!/usr/bin/env node
// Judges GLB files with the Khronos glTF validator: one line a file, exit status 1 when any has an error or a warning.
//
//   node tests/cli/validate_glb.mjs FILE...
//
// The validator is the npm package of package.json, found in node_modules or build/node_modules.
import { readFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const places = [process.env.ANCHORAGE_NODE_MODULES, join(root, 'node_modules'), join(root, 'build', 'node_modules')];
const place = places.find((dir) => dir && existsSync(join(dir, 'gltf-validator')));
const files = process.argv.slice(2);

if (files.length === 0) {
    console.error('usage: validate_glb.mjs FILE...');
    process.exit(2);
}
if (!place) {
    console.error("gltf-validator is not installed: 'npm ci' in the project's root");
    process.exit(2);
}
const validator = createRequire(join(place, 'index.js'))('gltf-validator');

let bad = 0;
for (const file of files) {
    let line;
    try {
        const bytes = new Uint8Array(readFileSync(file));
        const report = await validator.validateBytes(bytes, { uri: file, format: 'glb', maxIssues: 0 });
        const { numErrors, numWarnings, messages } = report.issues;
        const info = report.info;
        const worst = messages.find((message) => message.severity < 2);
        line = `${file}: ${numErrors} errors, ${numWarnings} warnings, ` +
            `${info?.totalVertexCount ?? 0} vertices, ${info?.totalTriangleCount ?? 0} triangles`;
        if (worst) {
            line += `; ${worst.code} at ${worst.pointer ?? worst.offset}: ${worst.message}`;
        }
        bad += numErrors + numWarnings > 0 ? 1 : 0;
    } catch (error) {
        line = `${file}: cannot be validated: ${error}`;
        bad += 1;
    }
    console.log(line);
}
process.exit(bad ? 1 : 0);
