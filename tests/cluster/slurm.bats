# A run on a real Slurm cluster, three nodes on this machine, whose parts are killed: the store is that of one machine.
load ../cli/helper
load slurm

setup_file() {
    why=$(cluster_possible) || { export CLUSTER_MISSING=$why; return 0; }
    make_corpus
    cd "$BATS_FILE_TMPDIR" || return 1
    tar cf corpus/archives/plain.tar -C corpus models
    anchorage run -q -s one corpus >/dev/null
    cluster_start "$BATS_FILE_TMPDIR/cluster" || { cluster_stop; export CLUSTER_MISSING="the daemons do not come up"; return 0; }
    export CLUSTER
    # The program as the nodes see it: while the file `hold` exists shards stop in the middle; with `small` their disk is one
    # of 64 KiB, in a namespace of mounts that unshare makes with the options that stand in it.
    cat >slow <<EOF
#!/bin/bash
[ "\$1" = run ] && [ -e $BATS_FILE_TMPDIR/small ] &&
    exec unshare \$(cat $BATS_FILE_TMPDIR/small) sh -c 'mount -t tmpfs -o size=64k none $BATS_FILE_TMPDIR/disk && exec "\$@"' sh \\
        env SLURM_TMPDIR=$BATS_FILE_TMPDIR/disk "$ANCHORAGE" "\$@"
[ "\$1" = run ] && [ -e $BATS_FILE_TMPDIR/hold ] || exec "$ANCHORAGE" "\$@"
"$ANCHORAGE" "\$@" &
sleep 0.03
kill -STOP \$!
while [ -e $BATS_FILE_TMPDIR/hold ]; do sleep 0.1; done
kill -CONT \$!
wait \$!
EOF
    chmod +x slow
}

teardown_file() { cluster_stop; }

setup() {
    [ -z "${CLUSTER_MISSING:-}" ] || skip "$CLUSTER_MISSING"
    cd "$BATS_FILE_TMPDIR" || return 1
    PATH=$PATH:/usr/sbin
    rm -rf store store.job hold small && mkdir -p disk
    # Nodes on which something was killed are taken out of service by Slurm.
    scancel --me 2>/dev/null
    for node in 1 2 3; do scontrol update nodename=node$node state=resume 2>/dev/null || true; done
    cluster_up
}

submit() { timeout 200 "$ANCHORAGE" submit -s store --shards 6 --split 1000 --program "$PWD/slow" "$@" --wait corpus 3>&- 4>&-; }
digest() { anchorage check "$1" --digest; }
same() { [ "$(digest store)" = "$(digest one)" ] && anchorage check store; }

until_true() { # until_true COMMAND...: within 20 s
    local turn
    for turn in $(seq 100); do "$@" && return; sleep 0.2; done
    return 1
}
idle() { [ -z "$(squeue -h -o %i)" ]; }
running() { [ "$(squeue -h -t running -o %i | wc -l)" -ge "$1" ]; }
task_on() { squeue -h -r -t running -w "$1" -o "$2" | head -n 1; } # task_on NODE %K (its index) or %A (its job)

@test "six shards on three nodes, and the night after it" {
    run submit
    [ "$status" = 0 ]
    [[ $output == *"6 of 6 shards"* ]]
    same
    [ "$(ls store.job)" = "$(printf 'log\nresult')" ]
    # An archive has another member less, a file is new.
    rm -rf night && mkdir night && cp -r corpus/. night/
    mv corpus before && mv night corpus
    cp -r one grown
    rm "corpus/models/$(ls corpus/models | tail -1)"
    tar cf corpus/archives/plain.tar -C corpus models
    write_bgf corpus/new.bgf
    anchorage run -q -s grown corpus >/dev/null
    submit
    [ "$(digest store)" = "$(digest grown)" ]
    anchorage check store
    [ "$(anchorage query -s store --runs --json | jq -s length)" = 2 ]
    rm -rf corpus && mv before corpus
}

@test "a task, a step and a node killed: what is missing is named, and the same command completes it" {
    touch hold
    submit --retries 0 >first 2>&1 &
    waiting=$!
    until_true running 3
    sleep 0.3
    # The program of the task on one node; the step daemon of that on another; all of the third node, whose task is
    # the only one that Slurm gives to another by itself.
    kill -9 "$(cluster_program "--shard $(task_on node1 %K)/6")"
    kill -9 "$(cluster_step "$(task_on node2 %A)")"
    kill_tree "$(cluster_pid node3)"
    rm hold
    scontrol update nodename=node3 state=down reason=killed
    cluster_node 3
    code=0
    wait $waiting || code=$?
    cat first store.job/log/reduce.log
    [ $code = 3 ]
    grep -Eq '[1-6] of 6 shards (is|are) missing: ' store.job/log/reduce.log
    [ ! -e store ]
    for node in 1 2 3; do scontrol update nodename=node$node state=resume 2>/dev/null || true; done
    submit
    same
}

@test "only slurmd killed: the task runs twice" {
    touch hold
    submit >first 2>&1 &
    waiting=$!
    until_true running 3
    kill -9 "$(cluster_pid node2)"
    scontrol update nodename=node2 state=down reason=killed
    cluster_node 2
    sleep 1
    rm hold
    wait $waiting
    same
}

@test "slurmctld killed and restarted" {
    touch hold
    submit >first 2>&1 &
    waiting=$!
    until_true running 3
    sleep 1 # what is younger may be lost with it
    kill_tree "$(cluster_pid slurmctld)"
    cluster_controller
    rm hold
    wait $waiting || cat first
    # What came to an end without a store says so, and the same command completes it. A controller that lost the job gives
    # its number to the next one, whose tasks it may then take for leftovers of the lost one and end: that is said, too.
    for _ in 1 2 3; do
        [ -e store ] && break
        cat first
        grep -Eq 'has lost job|is still at work|has ended with status' first
        scancel --me # as the message says, when tasks of it are left
        until_true idle
        submit >first 2>&1 || true
    done
    same
}

@test "a full disk: another try, then a clear end" {
    for options in -m -rm; do
        unshare $options mount -t tmpfs -o size=64k none disk 2>/dev/null && echo "$options" >small && break
    done
    [ -e small ] || skip "no file system can be mounted here, neither as root nor in a namespace of users"
    run -3 submit --retries 1
    grep -q "No space left on device" store.job/log/shard-*.log
    grep -q "exit 75" store.job/log/shard-*.log
    grep -q "given up after 2 tries" store.job/log/shard-*.log
    grep -q "shards are missing" store.job/log/reduce.log
    rm small
    submit --retries 1
    same
}
