#!/bin/sh
# Installs the npm packages of package-lock.json into node_modules, unless they are there. Run from the project's root.
# Two that run at once (make -j) would trample on each other: the second waits.
set -eu
fresh() { [ -e node_modules/.anchorage ] && [ ! package-lock.json -nt node_modules/.anchorage ]; }
fresh && exit 0
command -v npm >/dev/null 2>&1 || { echo "npm is missing: 'make deps' installs it" >&2; exit 1; }
mkdir -p build
exec 9>build/npm.lock
flock 9
fresh && exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=20000 >&2
touch node_modules/.anchorage
