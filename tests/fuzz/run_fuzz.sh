#!/bin/bash
# Fuzzes every harness (or the ones named) for so many seconds each, one after the other. Findings are kept.
#
#   tests/fuzz/run_fuzz.sh BUILD_DIR SECONDS [NAME...]
#
# BUILD_DIR is one of config=fuzz. The growing corpus of a harness is BUILD_DIR/corpus/NAME, which a later run goes on
# with; findings land in BUILD_DIR/findings/. Ends with status 1 when there are any.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/fuzz/run_fuzz.sh BUILD_DIR SECONDS [NAME...]}
seconds=${2:-60}
shift 2
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do set -- "$@" "$(basename "$source" .c)"; done
fi
mkdir -p "$build/corpus" "$build/findings"

# Longest input in bytes: where size shows nothing new, small ones are more runs a second.
longest() {
    case $1 in
        fuzz_text | fuzz_names | fuzz_tree) echo 512 ;;
        fuzz_store | fuzz_export) echo 16384 ;;
        *) echo 65536 ;;
    esac
}

stat_of() { sed -n "s/^stat::$1: *//p" "$2"; }

status=0
for name; do
    corpus=$build/corpus/$name log=$build/findings/$name.log words=()
    mkdir -p "$corpus"
    "$build/tests/fuzz/$name" --seeds "$build/corpus/seeds.$name" || exit 1
    [ -d "tests/regress/$name" ] && words+=("tests/regress/$name")
    [ -e "tests/fuzz/$name.dict" ] && words+=("-dict=tests/fuzz/$name.dict")
    # Corpus folders first: new inputs go into the first one.
    # In seconds of the processor: on a machine that has other work the clock says little.
    TIMEFORMAT='%U %S'
    spent=$({ time "$build/tests/fuzz/$name" "$corpus" "$build/corpus/seeds.$name" "${words[@]}" \
        -max_total_time="$seconds" -timeout=5 -report_slow_units=1 -rss_limit_mb=2048 \
        -max_len="$(longest "$name")" -print_final_stats=1 -artifact_prefix="$build/findings/$name." \
        >"$log" 2>&1; } 2>&1) || status=1
    spent=$(awk '{ printf "%.0f", $1 + $2 }' <<<"$spent")
    edges=$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1)
    crashes=$(find "$build/findings" -name "$name.*" ! -name '*.log' ! -name '*.slow-unit-*' | wc -l)
    slow=$(find "$build/findings" -name "$name.slow-unit-*" | wc -l)
    echo "$name: $(stat_of number_of_executed_units "$log") executions, $spent CPU s, ${edges#cov: } edges," \
        "$(find "$corpus" -type f | wc -l) inputs kept, $crashes findings, $slow slow"
    [ "$crashes" -eq 0 ] || { grep -aE 'does not hold|ERROR: |SUMMARY: |runtime error' "$log" | head -n 5; status=1; }
done
exit $status
