# submit --engine parallel: the same job without daemons.
load ../cli/helper

setup_file() {
    make_corpus
    cd "$BATS_FILE_TMPDIR" || return 1
    anchorage run -q -s one corpus >/dev/null
    cat >mortal <<EOF
#!/bin/bash
# The program, killed the first time that it does shard 2.
case " \$* " in
*" --shard 2/5 "*) [ -e $BATS_FILE_TMPDIR/killed ] || { touch $BATS_FILE_TMPDIR/killed; kill -9 \$\$; } ;;
esac
exec "$ANCHORAGE" "\$@"
EOF
    chmod +x mortal
}

setup() {
    command -v parallel >/dev/null || skip "GNU parallel is not installed"
    cd "$BATS_FILE_TMPDIR" || return 1
    rm -rf store store.job killed tmp
    mkdir tmp
    export TMPDIR=$PWD/tmp # what others leave in theirs is none of this test's
}

submit() { anchorage submit -s store --shards 5 --split 1000 --engine parallel "$@" corpus; }
digest() { anchorage check "$1" --digest; }

@test "five shards, and nothing left behind" {
    submit
    [ "$(digest store)" = "$(digest one)" ]
    [ "$(ls store.job)" = log ]
    run ! ls -d "$TMPDIR"/anchorage-*-[0-4]-*
    submit # the next night
    [ "$(digest store)" = "$(digest one)" ]
}

@test "a worker killed" {
    run --separate-stderr submit --program "$PWD/mortal"
    [ "$status" = 0 ]
    [ -e killed ]
    [ "$(digest store)" = "$(digest one)" ]
}

@test "a worker killed at every try: what is missing is named, and done by the next submit alone" {
    run -3 submit --program "$PWD/mortal" --retries 0
    [[ $output == *"1 of 5 shards is missing: 2"* ]]
    [ ! -e store ]
    cp -p store.job/shard-0.*.mdb first-0
    submit --retries 0
    [ "$(digest store)" = "$(digest one)" ]
}

@test "a folder that was not there one night is no failure the next" {
    rm -rf later
    anchorage submit -s store --shards 2 --engine parallel corpus later
    [ -n "$(anchorage query -s store --containers --json | jq -r 'select(.container == "later" and .reason == "unreadable").container')" ]
    mkdir later
    write_bgf later/good.bgf
    anchorage submit -s store --shards 2 --engine parallel corpus later
    anchorage run -q -s both corpus later >/dev/null
    [ "$(digest store)" = "$(digest both)" ]
    rm -rf later both
}

@test "two machines do the same shard: either serves" {
    anchorage submit -s store --shards 2 --engine parallel --retries 0 --program /bin/false corpus && return 1
    for k in 0 1; do anchorage run --job store.job --shard $k/2; done
    # As if both had looked before either was done.
    one=$(ls store.job/shard-0.*.mdb) && mv "$one" aside.mdb
    anchorage run --job store.job --shard 0/2
    mv aside.mdb "$one"
    [ "$(ls store.job/shard-0.*.mdb | wc -l)" = 2 ] || [ "$(ls store.job/shard-0.*.mdb | wc -l)" = 1 ]
    run anchorage run --job store.job --shard 0/2
    [[ $output == *"done already"* ]]
    anchorage merge --job store.job >/dev/null
    [ "$(digest store)" = "$(digest one)" ]
}

@test "another job in the same directory is not forgotten unasked" {
    run ! submit --program /bin/false --retries 0
    run -2 anchorage submit -s store --shards 4 --engine parallel corpus
    [[ $output == *"--fresh"* ]]
    anchorage submit -s store --shards 4 --engine parallel --fresh corpus
    [ "$(digest store)" = "$(digest one)" ]
}

@test "a store that went on meanwhile is not overwritten" {
    run ! submit --program /bin/false --retries 0
    anchorage run -q -s store corpus/models >/dev/null
    for k in 0 1 2 3 4; do anchorage run --job store.job --shard $k/5; done
    run -3 anchorage merge --job store.job
    [[ $output == *"has 1 runs by now"* ]]
}

@test "dry run: the scripts, and nothing done" {
    anchorage submit -s store --shards 12 --dry-run --partition night --time 2:00:00 -j 4 'cor pus' >scripts
    grep -qx '#SBATCH --array=0-11' scripts
    grep -qx '#SBATCH --partition=night' scripts
    grep -qx '#SBATCH --cpus-per-task=4' scripts
    grep -q 'merge --job' scripts
    sh -n scripts
    [ ! -e store.job ]
}

@test "usage" {
    run -2 anchorage submit -s store corpus
    run -2 anchorage submit -s store --shards 2
    run -2 anchorage submit -s store --shards 2 --engine pbs corpus
    run -2 anchorage submit -s store --shards 2 --jobs 2 corpus
    run -2 anchorage submit -s store --shards 2 --engine parallel --partition x corpus
    run -2 anchorage run --job x --shard 0/2 -s store
    run -2 anchorage merge --job x store
}
