#!/bin/bash
# Runs every fuzz harness, built without libFuzzer, over its seeds, over changed copies of them, and over
# tests/regress/NAME. Prints a TAP line a harness: "ok - fuzz_xpr2: 357 inputs".
#
#   tests/fuzz/run_corpus.sh BUILD_DIR [CHANGES]
#
# CHANGES copies of each input are run beside it; without libFuzzer nothing guides them, but they are the same ones on
# every machine. An input that takes longer than its harness's whole minute is a failure like a crash.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/fuzz/run_corpus.sh BUILD_DIR [CHANGES]}
changes=${2:-10}
case $build in /*) ;; *) build=$PWD/$build ;; esac
root=$PWD

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0
for source in "$root"/tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    program=$build/tests/fuzz/$name
    inputs=("$work/seeds.$name")
    [ -d "$root/tests/regress/$name" ] && inputs+=("$root/tests/regress/$name")
    rm -f finding
    if "$program" --seeds "$work/seeds.$name" >out 2>&1 &&
        timeout --signal=ALRM --kill-after=5 60 "$program" --changes "$changes" "${inputs[@]}" >out 2>&1; then
        echo "ok - $name: $(tail -n 1 out)"
    else
        echo "not ok - $name"
        grep -a . out | tail -n 30 | sed 's/^/# /'
        [ -e finding ] && echo "# the input, in base64: $(base64 -w 0 finding | head -c 20000)"
        status=1
    fi
done
exit $status
