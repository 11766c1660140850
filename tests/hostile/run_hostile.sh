#!/bin/bash
# Everything in this folder at full length (`make check-hostile`). Ends with a line "N passed, N failed".
#
#   tests/hostile/run_hostile.sh RELEASE_BUILD TSAN_BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
release=${1:?usage: tests/hostile/run_hostile.sh RELEASE_BUILD TSAN_BUILD}
tsan=${2:?usage: tests/hostile/run_hostile.sh RELEASE_BUILD TSAN_BUILD}
all=$(mktemp)
trap 'rm -f "$all"' EXIT
for script in replay kills faults flips disk; do
    echo "--- $script"
    "tests/hostile/run_$script.sh" "$release" 2>&1 | tee -a "$all"
    [ "${PIPESTATUS[0]}" -eq 0 ] || echo "not ok - run_$script.sh ended early" | tee -a "$all"
done
echo "--- threads"
tests/hostile/run_threads.sh "$tsan" 2>&1 | tee -a "$all"
passed=$(grep -c '^ok' "$all")
failed=$(grep -c '^not ok' "$all")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
