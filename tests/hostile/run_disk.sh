#!/bin/bash
# Full disks for real: a small file system is given every amount of free space from none to enough, in pages, and each
# command has to end with its result or with status 3 (75 of a shard) and words that name the file, the cause and what to do;
# nothing that is not whole stands under its name, the store is sound, and with room again the same command ends as if
# nothing had happened. TAP on stdout.
#
#   tests/hostile/run_disk.sh BUILD_DIR [STEPS | short]
#
# A sweep has STEPS steps (0, the default: one for every page); `short` is two of each of a part. The file system is a tmpfs in a
# mount namespace of this test's own. ANCHORAGE_DISK_ONLY=PATTERN takes the scenarios of that name alone.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?usage: tests/hostile/run_disk.sh BUILD_DIR [STEPS]}" && pwd)
steps=${2:-0}
program=$build/anchorage
export LC_ALL=C
short=
if [ "$steps" = short ]; then
    short="|run|again|log|merge|merge with what is there|report|sql|plan|glb|obj, a folder|printed|shard, its store|shard, published|"
    steps=2
fi

# As root without a namespace of users first: in one, containers may not mount.
if [ -z "${ANCHORAGE_DISK:-}" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/disk"
    for enter in "unshare -m" "unshare -rm"; do
        if $enter mount -t tmpfs -o size=64k none "$work/disk" 2>/dev/null; then
            ANCHORAGE_DISK=$work $enter "$0" "$build" "${2:-0}"
            exit
        fi
    done
    echo "1..0 # SKIP no file system can be mounted here, neither as root nor in a namespace of users"
    exit 0
fi
work=$ANCHORAGE_DISK
cd "$work" || exit 1
mount -t tmpfs -o size=512m none disk || exit 1

number=0
result() { # result ok|"not ok" WHAT
    number=$((number + 1))
    echo "$1 $number - $2"
}

# ---- the file system ----------------------------------------------------------------------------------------------

used_pages() { stat -f -c '%b %f' disk | { read -r all free; echo $((all - free)); }; }
room_again() { mount -o remount,size=512m disk; }
# leave PAGES: that many are free, no more. A size of 0 would be no limit, so one page is always taken.
leave() { mount -o remount,size=$((($(used_pages) + $1) * 4))k disk; }
empty_disk() {
    room_again
    rm -rf disk/* && echo taken >disk/taken
}

# ---- what there is to do ------------------------------------------------------------------------------------------

"$program" corpus -o corpus --seed 3 --scale 0.002 2>/dev/null || exit 1
mkdir in more large away
cp corpus/archives/{old.7z,models.tar.gz} in
cp "$(find corpus/resource3d -name '*.xpr' -printf '%s %p\n' | sort -n | head -n 1 | cut -d ' ' -f 2)" in
find corpus/meshbin -type f | sort | head -n 12 | while read -r file; do cp "$file" in; done
cp corpus/archives/night.zip more
rm -rf corpus
# An archive in an archive that is too large for memory goes through the spool.
if [ -z "$short" ]; then
    head -c 70000000 /dev/zero >zeros
    tar cf inner.tar zeros -C in models.tar.gz && tar czf large/outer.tar.gz inner.tar
    rm zeros inner.tar
fi
printf '{"resource": "nobody", "row0_x": 1}\n' >captures.jsonl
"$program" run -q -s half.store in >/dev/null && "$program" run -q -s other.store more >/dev/null &&
    "$program" run -q -s whole.store in more >/dev/null || exit 1
largest=$("$program" query -s whole.store --status decoded --json --limit 1 --sort -triangles |
    sed 's/^{"container":"\([^"]*\)".*"index":\([0-9]*\),.*/\1#\2/')
# A job of two shards, and the same with both done.
"$program" submit -s disk/store --work fresh.job --shards 2 --engine parallel --retries 0 --program /bin/false in more \
    >/dev/null 2>&1
cp -r fresh.job done.job 2>/dev/null
for k in 0 1; do "$program" run --job done.job --shard $k/2 2>/dev/null; done

# Name | what is there before: COPY or COPY:PLACE | the store it makes | status of a full disk | what its message names | command
scenarios="
run | | disk/store | 3 | disk/store | run -q -j2 -s disk/store in more
again | half.store:disk/store | disk/store | 3 | disk/store | run -q -j2 -s disk/store in more
one file | | disk/store.mdb | 3 | disk/store.mdb | run -q -j2 -s disk/store.mdb in more
spool | | away/store | 3 | spool file | run -q -j2 -s away/store --tmp disk large
log | | away/store | 3 | disk/log | run -q -j2 -s away/store --log disk/log in more
report of a run | | away/store | 3 | disk/out | run -q -j2 -s away/store --report disk/out in
resolve | half.store:disk/store | disk/store | 3 | disk/store | resolve -s disk/store --captures captures.jsonl
prune | whole.store:disk/store | disk/store | 3 | disk/store | prune disk/store
repair | half.store:disk/store | disk/store | 3 | disk/store | repair disk/store
merge | | disk/store | 3 | disk/store | merge -o disk/store half.store other.store
merge into one file | | disk/store.mdb | 3 | disk/store.mdb | merge -o disk/store.mdb half.store other.store
merge with what is there | half.store:disk/store | disk/store | 3 | disk/store | merge -o disk/store disk/store other.store
report | | | 3 | disk/out | report -s half.store -o disk/out
diff | | | 3 | disk/out | diff half.store whole.store -o disk/out
sql | | | 3 | disk/all.sqlite | query -s whole.store --sql disk/all.sqlite
plan | | | 3 | disk/plan.jsonl | plan -o disk/plan.jsonl --shards 9 --split 1000 in more
glb | | | 3 | disk/one.glb | export -s whole.store $largest -o disk/one.glb
obj | | | 3 | disk/one.obj | export -s whole.store $largest -o disk/one.obj
ply | | | 3 | disk/one.ply | export -s whole.store $largest -o disk/one.ply
glb, a folder | | | 3 | disk/out | export -s half.store --name * -o disk/out/
obj, a folder | | | 3 | disk/out | export -s half.store --name * --format obj -o disk/out/
ply, a folder | | | 3 | disk/out | export -s half.store --name * --format ply -o disk/out/
printed | | | 3 | standard output | query -s whole.store --json
run, printed | | away/store | 3 | standard output | run -q -s away/store --json in
diff, printed | | | 3 | standard output | diff half.store whole.store --json
cat, printed | | | 3 | standard output | cat in/old.7z
submit | | | 3 | disk/job | submit -s away/store --work disk/job --shards 2 --engine parallel --retries 0 in more
shard, its store | fresh.job:away/job | | 75 | disk/ | run --job away/job --shard 0/2
shard, published | fresh.job:disk/job | | 75 | disk/job | run --job disk/job --shard 0/2
merge of a job | done.job:away/job | disk/store | 3 | disk/store | merge --job away/job
"

# The shards build in TMPDIR, which is on the disk only where that is what is tried.
begin() { # begin NAME COPIES
    local copy
    room_again
    rm -rf disk/* away
    mkdir away
    echo taken >disk/taken
    export TMPDIR=$work/away
    [ "$1" = "shard, its store" ] && export TMPDIR=$work/disk
    for copy in $2; do cp -r "${copy%:*}" "${copy#*:}"; done
    [ "$1" != repair ] || printf '\377' | dd of=disk/store/data.mdb bs=1 seek=$((4096 * 5 + 20)) conv=notrunc 2>/dev/null
}
perform() { # perform NAME COMMAND: status, what is printed to disk/printed or out.txt
    local out=out.txt words
    case $1 in *printed) out=disk/printed ;; esac
    set -f
    # shellcheck disable=SC2206 # words
    words=($2)
    set +f
    timeout 120 "$program" "${words[@]}" 2>err.txt >"$out"
}
# What a scenario made that is no store: copies of it, to compare with.
outputs() { (cd disk && find . -type f ! -path './store*' ! -path './job*' ! -name taken ! -name log | sort); }
keep_outputs() {
    rm -rf want && mkdir want
    outputs | while read -r file; do mkdir -p "want/$(dirname "$file")" && cp "disk/$file" "want/$file"; done
}
whole_outputs() { # each that is there is as it has to be; printed ones are cut where the disk ended
    outputs | while read -r file; do
        [ "$file" = ./printed ] || cmp -s "disk/$file" "want/$file" || echo "$file is not whole"
    done
}
all_outputs() {
    diff <(outputs) <(cd want && find . -type f | sort) >/dev/null || echo "files are missing"
    outputs | while read -r file; do cmp -s "disk/$file" "want/$file" || echo "$file differs"; done
}
shard_files() { find disk/job away/job -name 'shard-0.*.mdb' 2>/dev/null; }

# After a failure, the disk still full: nothing half, nothing left behind, and a sound store.
look_after() { # look_after STORE MAYBE_ABSENT
    local left
    left=$(find disk ! -path 'disk/job/log*' | grep -E '\.(part|tmp|old)-|anchorage-' | head -n 3 | tr '\n' ' ')
    [ -z "$left" ] || echo "left behind: $left"
    case $name in *run*) ;; *) whole_outputs ;; esac
    if [ -n "$1" ] && [ -e "$1" ] && ! "$program" check "$1" >check.txt 2>&1; then
        grep -Eq 'is empty: its creation|without a store in it|does not exist' check.txt || echo "the store: $(tail -n 1 check.txt)"
    fi
    shard_files | while read -r file; do "$program" check "$file" >/dev/null 2>&1 || echo "$file is not sound"; done
}

# one PAGES: what is wrong with the scenario when that many are free. Sets `code`.
one() {
    begin "$name" "$copies"
    leave "$1"
    perform "$name" "$command"
    code=$?
    if [ $code -eq 0 ]; then
        finished
        return
    fi
    [ $code -eq "$status" ] || echo "status $code: $(tail -n 1 err.txt)"
    grep -q 'No space left on device' err.txt || echo "no cause: $(tail -n 1 err.txt)"
    grep -q "$names" err.txt || echo "does not name $names: $(tail -n 1 err.txt)"
    grep -q 'make room' err.txt || echo "says not what to do: $(tail -n 1 err.txt)"
    [ "$name" = repair ] || look_after "$store"
    room_again
    rm -f disk/printed
    perform "$name" "$command" || echo "with room: status $?: $(tail -n 1 err.txt)"
    finished
}
finished() {
    [ -z "$digest" ] || [ "$("$program" check --digest "$store" 2>&1)" = "$digest" ] || echo "another digest"
    [ -z "$digest" ] || "$program" check "$store" >check.txt 2>&1 || echo "at last: $(tail -n 1 check.txt)"
    case $name in *run*) ;; *) all_outputs ;; esac # runs have other times
    case $name in shard*) [ -n "$(shard_files)" ] || echo "no shard is there" ;; esac
}

# sweep: all amounts of free space.
sweep() {
    local enough n step cases=0 failed=0 wrong='' said
    begin "$name" "$copies"
    enough=$(used_pages)
    perform "$name" "$command" || { result "not ok" "$name: undisturbed it ends with $?: $(tail -n 1 err.txt)"; return; }
    keep_outputs
    digest=
    [ -z "$store" ] || digest=$("$program" check --digest "$store")
    # More than what is there at the end: what is replaced is there until then.
    enough=$(($(used_pages) - enough))
    [ "$enough" -gt 0 ] || enough=1
    while one $enough >said.txt; [ "$code" -ne 0 ] && [ $enough -lt 100000 ]; do enough=$((enough * 3 / 2 + 1)); done
    step=$((steps && enough > steps ? enough / steps : 1))
    # The spool's pages are many, and all alike.
    [ "$name" != spool ] || step=$((enough / (steps ? 2 : 40)))
    for ((n = 0; n < enough + (steps ? 0 : 3); n += step)); do
        one "$n" >said.txt
        said=$(cat said.txt)
        cases=$((cases + 1)) failed=$((failed + (code != 0)))
        [ -z "$said" ] || wrong="$wrong
#   $n pages: ${said//$'\n'/$'\n#     '}"
    done
    if [ -z "$wrong" ] && [ $failed -gt 0 ]; then
        result ok "$name: $failed of $cases amounts of free space up to $enough pages were too little"
    else
        result "not ok" "$name: $failed of $cases were too little$(head -n 12 <<<"$wrong")"
    fi
}

while IFS='|' read -r name copies store status names command; do
    [ -n "$name" ] || continue
    read -r name <<<"$name"
    read -r copies <<<"$copies"
    read -r store <<<"$store"
    read -r status <<<"$status"
    read -r names <<<"$names"
    case $name in *job* | shard* | submit)
        command -v parallel >/dev/null || { result ok "$name # SKIP GNU parallel is not installed"; continue; } ;;
    esac
    # shellcheck disable=SC2053 # a pattern
    [ -z "${ANCHORAGE_DISK_ONLY:-}" ] || [[ $name == $ANCHORAGE_DISK_ONLY ]] || continue
    [ -z "$short" ] || [[ $short == *"|$name|"* ]] || continue
    sweep
done <<<"$scenarios"

# ---- what only reads, and what may not write ----------------------------------------------------------------------

# answers STORE: what is asked of a store that cannot be written, and the status of each.
answers() {
    "$program" query -s "$1" --json && "$program" query -s "$1" --findings && "$program" check "$1" --digest &&
        "$program" check "$1" && "$program" show -s "$1" "$largest" &&
        "$program" export -s "$1" "$largest" --format obj -o -
}
answers whole.store >want.txt 2>&1 || result "not ok" "the questions are wrong: $(tail -n 1 want.txt)"

begin readers "whole.store:disk/store"
leave 0
if answers disk/store 2>&1 | sed 's,disk/store,whole.store,' | cmp -s - want.txt; then
    result ok "on a full disk a store can be read"
else
    result "not ok" "on a full disk a store cannot be read"
fi
rm disk/store/lock.mdb # as in a copy of the data alone
leave 0
"$program" query -s disk/store >out.txt 2>err.txt
code=$?
if [ $code -eq 3 ] && grep -q "disk/store/lock.mdb': No space left" err.txt; then
    result ok "a lock file for which there is no room is an error like any other"
else
    result "not ok" "no room for the lock file: status $code: $(tail -n 1 err.txt)"
fi

# Nobody may write there: a file system mounted so, and modes for whom they count.
refused() { # refused WHAT PREFIX...: every command that writes ends with 3 and names the place and the reason
    local what=$1 command wrong='' code
    shift
    while read -r command; do
        set -f
        # shellcheck disable=SC2086 # words
        "$@" "$program" $command >out.txt 2>err.txt
        code=$?
        set +f
        [ $code -eq 3 ] && grep -q 'disk/' err.txt &&
            grep -Eq 'Read-only file system|Permission denied|may not be written' err.txt || wrong="$wrong
#   $command: status $code: $(tail -n 1 err.txt)"
    done <<END
run -q -s disk/store more
run -q -s disk/new more
resolve -s disk/store --captures captures.jsonl
prune disk/store
merge -o disk/store half.store other.store
merge -o disk/new half.store other.store
report -s whole.store -o disk/out
export -s whole.store $largest -o disk/one.glb
query -s whole.store --sql disk/all.sqlite
plan -o disk/plan.jsonl --shards 2 more
END
    if [ -z "$wrong" ] && ! ls disk/*new* disk/*tmp* 2>/dev/null; then
        result ok "$what: what would write is refused with the reason"
    else
        result "not ok" "$what$wrong"
    fi
    if "$@" bash -c "$(declare -f answers); program=$program largest='$largest'; answers disk/store" 2>&1 |
        sed 's,disk/store,whole.store,' | cmp -s - want.txt; then
        result ok "$what: what only reads has its answers"
    else
        result "not ok" "$what: a reader has no answer"
    fi
}
begin readers "whole.store:disk/store"
mount -o remount,ro disk
refused "a read-only file system"
mount -o remount,rw disk
chmod 444 disk/store/* && chmod 644 disk/store/lock.mdb # in which readers tell the writer what they read
chmod 555 disk disk/store
if setpriv --bounding-set -all --inh-caps -all true 2>/dev/null; then # modes mean nothing to root
    refused "no permission" setpriv --bounding-set -all --inh-caps -all
    chmod 444 disk/store/lock.mdb
    setpriv --bounding-set -all --inh-caps -all "$program" query -s disk/store >out.txt 2>err.txt
    code=$?
    if [ $code -eq 3 ] && grep -q "disk/store' may not be read by this user: readers need" err.txt; then
        result ok "no permission to tell the writer of a reader is no permission to read"
    else
        result "not ok" "a reader that the writer cannot see: status $code: $(tail -n 1 err.txt)"
    fi
else
    result ok "no permission # SKIP capabilities cannot be dropped here"
fi
chmod -R u+w disk
echo "1..$number"
