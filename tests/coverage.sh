#!/bin/bash
# Line coverage of formats/ by its tests and by the seeds of the harnesses that decode, a line a file, least first.
#
#   tests/coverage.sh BUILD_DIR
#
# BUILD_DIR is one of config=coverage. Counts begin anew on each call.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: tests/coverage.sh BUILD_DIR}
case $build in /*) ;; *) build=$PWD/$build ;; esac
find "$build" -name '*.gcda' -delete

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for source in tests/formats/test_*.c tests/test_{arena,mesh,reader}.c; do
    "$build/${source%.c}" >"$work/out" 2>&1 || { echo "$source failed" >&2; status=1; }
done
for name in fuzz_formats fuzz_xpr2; do
    "$build/tests/fuzz/$name" --seeds "$work/$name" >"$work/out" 2>&1 &&
        "$build/tests/fuzz/$name" "$work/$name" >"$work/out" 2>&1 || { echo "$name failed" >&2; status=1; }
done

for source in formats/*.c; do
    # The first summary is the file's own, those of headers follow.
    (cd "$work" && gcov -n -o "$build/formats" "$build/${source%.c}.o" 2>"$work/err") |
        awk -v "file=$source" -F'[:% ]+' '$1 == "File" { own = index($0, file) }
            own && $1 == "Lines" { printf "%6.2f%% of %5d lines  %s\n", $3, $5, file; exit }'
done | sort -n | tee "$work/lines"
awk '{ lines += $3; run += $1 * $3 / 100 } END { printf "%6.2f%% of %5d lines  all\n", run * 100 / lines, lines }' "$work/lines"
exit $status
