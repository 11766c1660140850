#!/bin/sh
# Makes the dashboard's page and the server's page of a resource, or plain ones that say how to get them where npm
# packages cannot be had.
#   reports/dashboard/bundle.sh DIR        from the project's root; dashboard.html is written last
# A registry that does not answer must not break the build: the program is whole without its dashboard.
set -eu
output=$1/dashboard.html
here=$(dirname "$0")
mkdir -p "$1"

if "$here/packages.sh" && node "$here/build.mjs" "$1"; then
    exit 0
fi

cat >&2 <<'WARNING'

  ************************************************************************************************************
  warning: the dashboard could not be bundled (npm packages esbuild, three and uplot, from package-lock.json).
  `anchorage report` will write a plain page in its place; report.json, metrics.prom and thumbnails are whole.
  `make dashboard` tries again.
  ************************************************************************************************************

WARNING
cat >"$output.part" <<'PAGE'
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="anchorage" content="plain">
<title>Anchorage</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em">
<h1>This anchorage was built without its dashboard</h1>
<p>The npm packages that bundle it could not be had when the program was built. With Node.js 18 or newer, npm, and a
registry that answers, run <code>make dashboard</code> in the source tree, then <code>make</code>, and write the report
again.</p>
<p>What stands beside this page is whole: <a href="report.json">report.json</a>, <a href="metrics.prom">metrics.prom</a>,
and the cast sheets, <a href="sheet.html">sheet.html</a>.</p>
</body>
</html>
PAGE
cp "$output.part" "$1/resource.html"
: >"$1/resource.js"
: >"$1/resource.css"
mv "$output.part" "$output"
