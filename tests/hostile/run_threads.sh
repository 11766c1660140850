#!/bin/bash
# ThreadSanitizer over the commands that have threads, with readers beside a writer. TAP on stdout.
#
#   tests/hostile/run_threads.sh BUILD_DIR        (of config=tsan)
#
# Archer tells ThreadSanitizer of OpenMP's barriers. A program with a race is run first: when that is not reported, silence
# about ours is worth nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/hostile/run_threads.sh BUILD_DIR}
program=$PWD/$build/anchorage control=$PWD/$build/tests/hostile/race
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
archer=$(find /usr/lib -name libarcher.so -path '*14*' 2>/dev/null | head -n 1)
export OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"

number=0
result() {
    number=$((number + 1))
    echo "$1 $number - $2"
}
# quiet WHAT FILE...: no report in any of the files.
quiet() {
    local what=$1
    shift
    if grep -q 'WARNING: ThreadSanitizer' "$@"; then
        result "not ok" "$what"
        grep -h -A 12 'WARNING: ThreadSanitizer' "$@" | head -n 40 | sed 's/^/#   /'
    else
        result ok "$what"
    fi
}

[ -n "$archer" ] || { echo "1..0 # SKIP libarcher.so is not there (package libomp-14-dev)"; exit 0; }
"$control" >control.txt 2>&1
if grep -q 'data race' control.txt; then result ok "a race is reported"; else result "not ok" "a race is not reported"; fi

"$program" corpus -o corpus --seed 11 --scale 0.02 >/dev/null 2>&1 || exit 1
"$program" run -q -j4 -s store corpus/archives corpus/materials >run1.txt 2>&1
echo "# status $?"
quiet "run" run1.txt
"$program" run -q -j4 -s store corpus >run2.txt 2>&1 &
writer=$!
while kill -0 $writer 2>/dev/null; do
    "$program" query -s store --json >/dev/null 2>>readers.txt
    "$program" check store >/dev/null 2>>readers.txt
done
wait $writer
code=$?
touch readers.txt
quiet "run again, with readers beside it (status $code)" run2.txt readers.txt
"$program" resolve -s store >resolve.txt 2>&1
quiet "resolve" resolve.txt
if "$program" merge --help >/dev/null 2>&1; then
    "$program" run -q -j4 -s other corpus/meshbin >/dev/null 2>&1
    "$program" merge -o both store other >merge.txt 2>&1
    quiet "merge" merge.txt
fi
if "$program" report --help >/dev/null 2>&1; then
    "$program" report -s store -o report >report.txt 2>&1
    quiet "report" report.txt
fi
if "$program" serve --help >/dev/null 2>&1; then
    "$program" serve -s store --listen 127.0.0.1:0 >serve.txt 2>&1 &
    server=$!
    for ((i = 0; i < 100; i++)); do
        url=$(grep -o 'http://[0-9.:]*' serve.txt | head -n 1)
        [ -n "$url" ] && break
        sleep 0.1
    done
    "$program" run -q -j2 --rehash -s store corpus >/dev/null 2>run3.txt &
    writer=$!
    for ((i = 0; i < 20; i++)); do
        curl -s -o /dev/null "$url/api/resources?limit=50" &
        curl -s -o /dev/null "$url/api/containers" &
        curl -s -o /dev/null "$url/" &
        wait %+ 2>/dev/null
    done
    wait $writer
    kill -TERM $server
    wait $server
    quiet "serve, with a writer beside it" serve.txt run3.txt
fi
echo "1..$number"
