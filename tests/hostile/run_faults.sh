#!/bin/bash
# Makes the n-th allocation, mapping, write, sync, rename, open, commit or put of a command fail, and looks at what comes
# of it: the command ends with status 0 or 3 (never by a signal, never by 1 or 2), says why when it is 3, and the store that is
# left opens and is sound. TAP on stdout.
#
#   tests/hostile/run_faults.sh BUILD_DIR [EVERY [SAMPLED]]
#
# The first EVERY calls of a kind (500) all fail in turn, and SAMPLED ones beyond (2000), evenly spread.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/hostile/run_faults.sh BUILD_DIR [EVERY [SAMPLED]]}
every=${2:-500}
sampled=${3:-2000}
program=$PWD/$build/anchorage shim=$PWD/$build/tests/hostile/faults.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OMP_NUM_THREADS

"$program" corpus -o "$work/corpus" --seed 3 --scale 0.002 || exit 1
# Something of everything, and little of it: each case is a run of its own.
mkdir "$work/in"
cp "$work"/corpus/archives/{old.7z,models.tar.gz} "$work"/in
cp "$(find "$work/corpus/resource3d" -name '*.xpr' -size -60k | sort | head -n 1)" "$work/in"
find "$work/corpus/meshbin" -type f | sort | head -n 12 | while read -r file; do cp "$file" "$work/in"; done
rm -rf "$work/corpus"
cd "$work" || exit 1
"$program" run -q -s whole.store in >whole.txt || exit 1
whole=$("$program" check --digest whole.store)

number=0
result() { # result ok|"not ok" WHAT
    number=$((number + 1))
    echo "$1 $number - $2"
}

# fresh NAME: makes the state a scenario starts from.
fresh() {
    rm -rf store out
    case $1 in run) ;; *) cp -r whole.store store ;; esac
}
command_of() {
    case $1 in
        run) echo run -q -j2 --stall-timeout 3 -s store in ;;
        again) echo run -q -j2 --stall-timeout 3 --rehash -s store in ;;
        resolve) echo resolve -s store ;;
        query) echo query -s store --json ;;
        export) echo "export -s store --name * -o out/" ;;
        report) echo report -s store -o out ;;
    esac
}

# one SCENARIO KIND N: "" when all is well, else what is wrong.
one() {
    local code
    fresh "$1"
    head -c 4096 /dev/zero >counter
    # shellcheck disable=SC2046 # words
    (set -f && LD_PRELOAD=$shim ANCHORAGE_FAULT=$2:$3 ANCHORAGE_FAULT_COUNTER=counter \
        timeout 60 "$program" $(command_of "$1") >out.txt 2>err.txt)
    code=$?
    case $code in
        0) ;;
        3) [ -s err.txt ] || echo "status 3 without a word" ;;
        *) echo "status $code: $(tail -n 1 err.txt)" ;;
    esac
    if [ -e store/data.mdb ] && ! "$program" check store >check.txt 2>&1; then
        # A store whose making failed has no commit and is none yet; a later run makes it.
        "$program" run -q -s store in >/dev/null 2>check.txt || echo "the store: $(tail -n 1 check.txt)"
    fi
    # Outcomes of the machine (an input that could not be read) are mended by the next run, with everything else.
    if [ $((($3 * 7) % 10)) -eq 0 ] && [ "$1" = run ]; then
        "$program" run -q -s store in >/dev/null 2>&1
        [ "$("$program" check --digest store 2>&1)" = "$whole" ] || echo "the next run has another digest"
    fi
}

for scenario in run again resolve query export report; do
    "$program" "$scenario" --help >/dev/null 2>&1 || [ "$scenario" = again ] || continue
    for kind in malloc mmap write sync rename open commit mapfull; do
        one "$scenario" "$kind" 0 >/dev/null
        calls=$(od -An -tu8 -N8 counter | tr -d ' ')
        [ "$calls" -gt 0 ] || continue
        step=$(((calls - every) / (sampled > 0 ? sampled : 1)))
        [ "$step" -ge 1 ] || step=1
        cases=0 wrong=
        n=1
        while [ "$n" -le "$calls" ] && { [ "$n" -le "$every" ] || [ "$sampled" -gt 0 ]; }; do
            said=$(one "$scenario" "$kind" "$n")
            cases=$((cases + 1))
            [ -z "$said" ] || wrong="$wrong
#   $kind $n: $said"
            if [ "$n" -lt "$every" ]; then n=$((n + 1)); else n=$((n + step)); fi
        done
        if [ -z "$wrong" ]; then
            result ok "$scenario: $cases of $calls calls of $kind fail, each cleanly"
        else
            result "not ok" "$scenario: $kind$wrong"
        fi
    done
done
echo "1..$number"
