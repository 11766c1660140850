#!/bin/bash
# Fuzzes one harness with AFL++ for so many seconds, beginning from its seeds. Findings stay in BUILD_DIR/afl/NAME.
#
#   tests/fuzz/run_afl.sh BUILD_DIR NAME SECONDS
set -eu
cd "$(dirname "$0")/../.."
build=${1:?usage: tests/fuzz/run_afl.sh BUILD_DIR NAME SECONDS}
name=$2 seconds=$3
seeds=$build/afl/seeds.$name out=$build/afl/$name
rm -rf "$out"
mkdir -p "$build/afl"
"$build/tests/fuzz/$name" --seeds "$seeds" >/dev/null
# AFL++ wants small inputs to begin with; the largest seeds say nothing that these don't.
find "$seeds" -type f -size +64k -delete
dictionary=()
[ -e "tests/fuzz/$name.dict" ] && dictionary=(-x "tests/fuzz/$name.dict")
# No files of the kernel's are changed for it, and it takes whatever core is free.
export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_QUIET=1
code=0
afl-fuzz -i "$seeds" -o "$out" -m none -t 5000 -V "$seconds" "${dictionary[@]}" -- "$build/tests/fuzz/$name" \
    >"$out.log" 2>&1 || code=$?
stats=$out/default/fuzzer_stats
[ -e "$stats" ] || { tail -n 20 "$out.log" >&2; exit 1; }
value() { sed -n "s/^$1 *: *//p" "$stats"; }
crashes=$(value saved_crashes)
hangs=$(value saved_hangs)
echo "$name (AFL++): $(value execs_done) executions, $seconds s, $(value edges_found) of $(value total_edges) edges," \
    "$(value corpus_count) inputs kept, $crashes crashes, $hangs hangs"
[ "$code" -eq 0 ] && [ "${crashes:-0}" -eq 0 ] && [ "${hangs:-0}" -eq 0 ]
