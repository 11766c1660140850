# Quotas, limits of file sizes, and file systems that no store may live on; tests/hostile/run_disk.sh has disks that are full.
load helper

setup_file() {
    make_corpus
    make_store
}

setup() {
    shim=$(dirname "$ANCHORAGE")/tests/hostile/faults.so
    [ -e "$shim" ] || skip "there is no $shim"
    cd "$BATS_TEST_TMPDIR" || return 1
    cp -r "$BATS_FILE_TMPDIR/store" store
    head -c 4096 /dev/zero >counter
}

# with_quota N COMMAND...: from the N-th write on the quota is used up.
with_quota() { LD_PRELOAD=$shim ANCHORAGE_FAULT=quota:$1 ANCHORAGE_FAULT_COUNTER=counter "$ANCHORAGE" "${@:2}"; }
# on_share TYPE COMMAND...: what is in the folder `share` is on a file system of that type.
on_share() { LD_PRELOAD=$shim ANCHORAGE_FAULT_FILESYSTEM=$1:share "$ANCHORAGE" "${@:2}"; }

@test "a quota that is used up is named as such, with the file and what to do" {
    local address
    address=$(anchorage query -s store --status proven --json --limit 1 | jq -r '.container + "#" + (.index | tostring)')
    while read -r names command; do
        cause="Disk quota exceeded"
        [ "$names" != all.sqlite ] || cause="Input/output error" # SQLite keeps no more than that
        set -f
        for n in 1 8; do
            head -c 4096 /dev/zero >counter
            # shellcheck disable=SC2086 # words
            run -3 with_quota $n $command
            [[ $output == *"$names"*"$cause"*"make room"* ]] || { echo "$command, write $n: $output"; false; }
        done
        set +f
    done <<END
new run -q -s new $BATS_FILE_TMPDIR/corpus/meshbin
merged merge -o merged store
out report -s store -o out
all.sqlite query -s store --sql all.sqlite
plan.jsonl plan -o plan.jsonl --shards 2 $BATS_FILE_TMPDIR/corpus
END
    run -3 with_quota 1 export -s store "$address" -o one.glb
    [[ $output == *"one.glb"*"Disk quota exceeded"*"make room"* ]]
    [ ! -e one.glb ] && [ ! -e all.sqlite ] && [ ! -e plan.jsonl ] && [ ! -e merged ]
    anchorage check store
    anchorage run -q -s new "$BATS_FILE_TMPDIR/corpus/meshbin" >/dev/null
    anchorage check new
}

@test "ulimit -f is told from a disk that is full" {
    # What the processes of a run share is a file in memory, and counts.
    run -3 bash -c "ulimit -f 64; '$ANCHORAGE' run -q -s new '$BATS_FILE_TMPDIR/corpus/meshbin'"
    [[ $output == *"address space cannot be had"*"ulimit -f"* ]]
    run -3 bash -c "ulimit -f 64; '$ANCHORAGE' merge -o merged store"
    [[ $output == *"store 'merged"*"File too large"* ]]
    [ ! -e merged ]
    run -3 bash -c "ulimit -f 64; '$ANCHORAGE' query -s store --sql all.sqlite"
    [[ $output == *"all.sqlite"*"File too large"* || $output == *"all.sqlite"*"disk"* ]]
    [ ! -e all.sqlite ]
}

@test "a store on a network file system is refused with the reason" {
    mkdir share
    cp -r store share/store
    # NFS, CIFS, SMB2, 9p, Lustre, GPFS, Ceph, AFS.
    for type in 0x6969 0xFF534D42 0xFE534D42 0x01021997 0x0BD00BD0 0x47504653 0x00C36400 0x5346414F; do
        for command in "query -s share/store" "run -q -s share/store $BATS_FILE_TMPDIR/corpus/meshbin" "repair share/store"; do
            # shellcheck disable=SC2086 # words
            run -3 on_share $type $command
            [[ $output == *"store 'share/store' is on a network file system ("*"put it on a local disk"* ]] ||
                { echo "$type: $command: $output"; false; }
        done
    done
    on_share 0xEF53 query -s share/store >/dev/null # ext4
}

@test "on a network file system a store is one sealed file, made elsewhere and carried over" {
    mkdir share tmp
    export TMPDIR=$PWD/tmp
    run -3 on_share 0x6969 merge -o share/merged store
    [[ $output == *"there it is one file"* ]]
    on_share 0x6969 merge -o share/merged.mdb store >/dev/null
    [ "$(on_share 0x6969 check share/merged.mdb --digest)" = "$(anchorage check store --digest)" ]
    [ "$(ls share tmp)" = "$(printf 'share:\nmerged.mdb\n\ntmp:')" ]
    run -3 on_share 0x6969 run -q -s share/merged.mdb "$BATS_FILE_TMPDIR/corpus/meshbin"
}
