#!/bin/bash
# Makes the n-th allocation, mapping, write, sync, rename, open, commit or put of a command fail, and looks at what comes
# of it: the command ends with status 0 or 3 (never by a signal, never by 1 or 2), says why when it is 3, and the store that is
# left opens and is sound. TAP on stdout.
#
#   tests/hostile/run_faults.sh BUILD_DIR [EVERY [SAMPLED [SCENARIO...]]]
#
# The first EVERY calls of a kind (500) all fail in turn, and SAMPLED ones beyond (2000), evenly spread. With EVERY 0 and SAMPLED
# N it is N evenly spread over all. ANCHORAGE_FAULT_KINDS="malloc sync" takes those kinds alone.
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
cp "$(find "$work/corpus/resource3d" -name '*.xpr' -printf '%s %p\n' | sort -n | head -n 1 | cut -d ' ' -f 2)" "$work/in"
find "$work/corpus/meshbin" -type f | sort | head -n 12 | while read -r file; do cp "$file" "$work/in"; done
rm -rf "$work/corpus"
cd "$work" || exit 1
"$program" run -q -s whole.store in >whole.txt && "$program" run -q -s other.store in/*.meshbin >/dev/null || exit 1
whole=$("$program" check --digest whole.store)
"$program" plan -o plan.jsonl --shards 2 --split 1000 in 2>/dev/null
address=$("$program" query -s whole.store --status proven --json --limit 1 | sed 's/^{"container":"\([^"]*\)".*"index":\([0-9]*\),.*/\1#\2/')
printf '{"resource": "nobody", "row0_x": 1}\n' >captures.jsonl

number=0
result() { # result ok|"not ok" WHAT
    number=$((number + 1))
    echo "$1 $number - $2"
}

# fresh NAME: makes the state a scenario starts from.
fresh() {
    rm -rf store store.* out
    case $1 in run | shard | merge) ;; *) cp -r whole.store store ;; esac
    [ "$1" != repair ] || printf '\377' | dd of=store/data.mdb bs=1 seek=$((4096 * 5 + 20)) conv=notrunc 2>/dev/null
}
command_of() {
    case $1 in
        run) echo run -q -j2 --stall-timeout 3 -s store in ;;
        again) echo run -q -j2 --stall-timeout 3 --rehash -s store in ;;
        shard) echo run -q -j2 -s store --shard 0/2 --plan plan.jsonl ;;
        resolve) echo resolve -s store --captures captures.jsonl ;;
        merge) echo merge -o store whole.store other.store ;;
        replace) echo merge -o store store other.store ;;
        prune) echo prune store ;;
        repair) echo repair store ;;
        sql) echo query -s store --sql out ;;
        plan) echo plan -o out --shards 2 --split 1000 in ;;
        straight) echo "export in/$(ls in | tail -n 1)#0 -o out/" ;;
        query) echo query -s store --json ;;
        list) echo query -s store ;;
        show) echo "show -s store $address --json" ;;
        export) echo "export -s store --name * -o out/" ;;
        report) echo report -s store -o out ;;
    esac
}

# What a command has made when it says that all went well is what it makes undisturbed. A run notes what could not be read with
# the item, as an outcome, and goes on.
as_wanted() {
    case $1 in
        run | again | shard) return ;;
        merge | replace | prune | repair | resolve)
            [ "$("$program" check --digest store 2>&1)" = "$want" ] || echo "status 0 and another digest" ;;
        *) cmp -s out.txt want.txt && { [ ! -e want ] || diff -rq out want >/dev/null; } || echo "status 0 and other bytes" ;;
    esac
}
keep_wanted() {
    rm -rf want && cp out.txt want.txt
    [ ! -e out ] || cp -r out want
    want=$("$program" check --digest store 2>&1)
}

# one SCENARIO KIND N: "" when all is well, else what is wrong.
one() {
    local code left
    fresh "$1"
    head -c 4096 /dev/zero >counter
    # shellcheck disable=SC2046 # words
    (set -f && timeout 60 env LD_PRELOAD="$shim" ANCHORAGE_FAULT="$2:$3" ANCHORAGE_FAULT_COUNTER=counter \
        "$program" $(command_of "$1") >out.txt 2>err.txt)
    code=$?
    case $code in
        0) [ "$3" -eq 0 ] || as_wanted "$1" ;;
        1) grep -q '^libgomp: ' err.txt || echo "status 1: $(tail -n 1 err.txt)" ;; # its thread got no memory: not promised
        75) [ "$1" = shard ] || echo "status 75" ;;
        3) [ -s err.txt ] || echo "status 3 without a word" ;;
        *) echo "status $code: $(tail -n 1 err.txt)" ;;
    esac
    left=$(find . -maxdepth 2 -name '*.part-*' -o -maxdepth 2 -name '*.tmp-*' | head -n 3 | tr '\n' ' ')
    [ -z "$left" ] || { echo "left behind: $left"; rm -rf ./*.part-* ./*.tmp-*; }
    if [ -e store/data.mdb ] && ! "$program" check store >check.txt 2>&1; then
        if [ "$1" = repair ]; then
            "$program" repair store >/dev/null 2>check.txt || echo "the store: $(tail -n 1 check.txt)"
        else # a store whose making failed has no commit and is none yet; a later run makes it
            "$program" run -q -s store in >/dev/null 2>check.txt || echo "the store: $(tail -n 1 check.txt)"
        fi
    fi
    # Outcomes of the machine (an input that could not be read) are mended by the next run, with everything else.
    if [ $((($3 * 7) % 10)) -eq 0 ] && [ "$1" = run ]; then
        "$program" run -q -s store in >/dev/null 2>&1
        [ "$("$program" check --digest store 2>&1)" = "$whole" ] || echo "the next run has another digest"
    fi
}

# next N: the call that fails after the N-th.
next() {
    if [ "$1" -lt "$every" ]; then echo $(($1 + 1)); else echo $(($1 + step)); fi
}

[ $# -gt 3 ] && scenarios=("${@:4}") ||
    scenarios=(run again shard resolve query list show sql plan export straight report merge replace prune repair)
for scenario in "${scenarios[@]}"; do
    for kind in ${ANCHORAGE_FAULT_KINDS:-malloc mmap write sync rename open commit mapfull quota}; do
        one "$scenario" "$kind" 0 >/dev/null
        calls=$(od -An -tu8 -N8 counter | tr -d ' ')
        [ "$calls" -gt 0 ] || continue
        keep_wanted
        step=$(((calls - every) / (sampled > 0 ? sampled : 1)))
        [ "$step" -ge 1 ] || step=1
        cases=0 wrong=
        n=$((every > 0 ? 1 : 1 + step / 2))
        while [ "$n" -le "$calls" ] && { [ "$n" -le "$every" ] || [ "$sampled" -gt 0 ]; }; do
            said=$(one "$scenario" "$kind" "$n")
            cases=$((cases + 1))
            [ -z "$said" ] || wrong="$wrong
#   $kind $n: $said"
            n=$(next "$n")
        done
        if [ -z "$wrong" ]; then
            result ok "$scenario: $cases of $calls calls of $kind fail, each cleanly"
        else
            result "not ok" "$scenario: $kind$(head -n 20 <<<"$wrong")"
        fi
    done
done
echo "1..$number"
