#!/bin/bash
# SIGKILL at random moments: the store opens, `check` passes, and the next run ends with the digest of one that was left
# alone. TAP on stdout.
#
#   tests/hostile/run_kills.sh BUILD_DIR [RUNS [OTHERS]]
#
# RUNS kills of a run with -j 2 (200), of its first process and of one it started by turns; OTHERS (50) each of resolve, report,
# merge and prune.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/hostile/run_kills.sh BUILD_DIR [RUNS [OTHERS]]}
runs=${2:-200}
others=${3:-50}
program=$PWD/$build/anchorage
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
RANDOM=4711

"$program" corpus -o corpus --seed 9 --scale 0.03 || exit 1
now() { echo $((${EPOCHREALTIME/./} / 1000)); }
begun=$(now)
"$program" run -q -j2 -s whole.store corpus >/dev/null || exit 1
took=$(($(now) - begun))
whole=$("$program" check --digest whole.store)

number=0
result() {
    number=$((number + 1))
    echo "$1 $number - $2"
}
# children PID: the processes it started.
children() { cat "/proc/$1"/task/*/children 2>/dev/null; }

# kill_during MS VICTIM COMMAND...: VICTIM is parent or child. Sets `killed`.
kill_during() {
    local ms=$1 victim=$2 pid target list
    shift 2
    "$@" >out.txt 2>err.txt &
    pid=$!
    sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
    target=$pid
    if [ "$victim" = child ]; then
        # shellcheck disable=SC2207 # pids
        list=($(children "$pid"))
        [ ${#list[@]} -eq 0 ] || target=${list[RANDOM % ${#list[@]}]}
    fi
    kill -KILL "$target" 2>/dev/null
    wait "$pid" 2>/dev/null
    code=$?
}

# after WHAT: the store opens, is sound, and the next run completes it.
after() {
    if [ -e store/data.mdb ] && ! "$program" check store >check.txt 2>&1; then
        # Killed before its first commit: not a store yet. Anything else is damage.
        grep -q 'no store\|not a store\|is empty' check.txt || { echo "#   $1: check: $(tail -n 1 check.txt)"; return 1; }
    fi
    "$program" run -q -j2 -s store corpus >/dev/null 2>err.txt || { echo "#   $1: next run: $(tail -n 1 err.txt)"; return 1; }
    "$program" check store >check.txt 2>&1 || { echo "#   $1: then: $(tail -n 1 check.txt)"; return 1; }
    [ "$("$program" check --digest store)" = "$whole" ] || { echo "#   $1: another digest"; return 1; }
}

wrong=0 early=0
for ((i = 0; i < runs; i++)); do
    rm -rf store
    ms=$((RANDOM % (took + took / 10 + 1)))
    victim=parent
    [ $((i % 2)) -eq 1 ] && victim=child
    kill_during "$ms" "$victim" "$program" run -q -j2 -s store corpus
    [ "$code" -eq 137 ] && early=$((early + 1))
    after "run, $victim killed after $ms ms" || wrong=$((wrong + 1))
done
if [ "$wrong" -eq 0 ] && [ "$early" -gt 0 ]; then
    result ok "run: $runs kills, $early of which ended it"
else
    result "not ok" "run: $wrong of $runs kills lost something ($early ended it)"
fi

command_of() {
    case $1 in
        resolve) echo resolve -s store ;;
        report) echo report -s store -o out ;;
        merge) echo merge -o store whole.store other.store ;;
        prune) echo prune store ;;
    esac
}
"$program" run -q -j2 -s other.store corpus/meshbin corpus/archives >/dev/null || exit 1
for what in resolve report merge prune; do
    "$program" "$what" --help >/dev/null 2>&1 || continue
    wrong=0
    rm -rf store && cp -r whole.store store
    begun=$(now)
    # shellcheck disable=SC2046 # words
    "$program" $(command_of $what) >/dev/null 2>&1
    took=$(($(now) - begun))
    for ((i = 0; i < others; i++)); do
        rm -rf store
        cp -r whole.store store
        ms=$((RANDOM % (took + 2)))
        # shellcheck disable=SC2046 # words
        kill_during "$ms" parent "$program" $(command_of $what)
        after "$what killed after $ms ms" || wrong=$((wrong + 1))
    done
    if [ "$wrong" -eq 0 ]; then
        result ok "$what: $others kills"
    else
        result "not ok" "$what: $wrong of $others kills lost something"
    fi
done
echo "1..$number"
