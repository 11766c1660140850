#!/bin/bash
# Power cuts: a run's writes to its store are recorded, and what a disk may hold after a cut at any of them, with any of the
# writes since the last sync lost, must open and be sound. TAP on stdout.
#
#   tests/hostile/run_replay.sh BUILD_DIR [CUTS [SEEDS]]
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/hostile/run_replay.sh BUILD_DIR [CUTS [SEEDS]]}
cuts=${2:-200}
seeds=${3:-5}
program=$PWD/$build/anchorage shim=$PWD/$build/tests/hostile/faults.so replay=$PWD/$build/tests/hostile/replay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

echo 1..2
"$program" corpus -o corpus --seed 5 --scale 0.002 || exit 1
# Several commits, of which later ones use pages again that earlier ones gave back.
for part in materials meshbin models resource3d archives; do
    ANCHORAGE_TRACE=$work/trace LD_PRELOAD=$shim "$program" run -q -s store "corpus/$part" >/dev/null || exit 1
done
records=$("$replay" trace none 0 0)
if [ "$records" -gt 50 ]; then
    echo "ok 1 - $records writes, truncations and syncs were recorded"
else
    echo "not ok 1 - only $records writes were recorded"
fi

# Until the first commit is on the disk there is no store, which is what opening it has to say.
opened=no wrong=0 cases=0
for ((i = 1; i <= cuts; i++)); do
    cut=$((i * records / cuts))
    [ "$cut" -gt 0 ] || continue
    for ((seed = 1; seed <= seeds; seed++)); do
        rm -rf cutstore
        mkdir cutstore
        "$replay" trace cutstore/data.mdb "$seed" "$cut" >/dev/null || exit 1
        "$program" check cutstore >out.txt 2>&1
        code=$?
        cases=$((cases + 1))
        [ "$code" -eq 0 ] && opened=yes
        if [ "$code" -ne 0 ] && { [ "$opened" = yes ] || [ "$code" -ne 3 ]; }; then
            wrong=$((wrong + 1))
            echo "#   cut $cut, seed $seed: status $code: $(tail -n 1 out.txt)"
        fi
    done
done
if [ "$wrong" -eq 0 ] && [ "$opened" = yes ]; then
    echo "ok 2 - $cases power cuts leave a sound store"
else
    echo "not ok 2 - $wrong of $cases power cuts leave a store that is not sound"
fi
