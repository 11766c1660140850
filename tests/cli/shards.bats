# Shards: each source is one shard's, and merged they are the run of one machine. Archives above --split are shared.
load helper

setup_file() {
    make_corpus
    cd "$BATS_FILE_TMPDIR" || return 1
    # A tar that is not compressed, with a member that is damaged and one that is a link.
    mkdir tarred && cp -r corpus/models corpus/meshbin tarred/ && ln -s ../outside tarred/link
    tar cf corpus/archives/plain.tar tarred
    head -c 300000 corpus/archives/plain.tar >corpus/archives/short.tar
    anchorage run -q -s one corpus >/dev/null
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

digest() { anchorage check "$1" --digest; }
paths() { anchorage query -s "$1" --containers --json | jq -r '.container, .also[]' | sort; }

shards() { # shards N [options] INPUT...: stores s0 .. s(N-1)
    local n=$1 k
    shift
    rm -rf s?
    for ((k = 0; k < n; k++)); do anchorage run -q -s s$k --shard $k/$n "$@" >/dev/null || return 1; done
}

@test "by the rule: every source is one shard's, and the merge is the whole" {
    for options in "" "--split 1000"; do
        # shellcheck disable=SC2086 # options are words
        shards 4 $options corpus
        anchorage merge -o all s2 s0 s3 s1 >/dev/null
        [ "$(digest all)" = "$(digest one)" ]
        anchorage check all
        for k in 0 1 2 3; do anchorage check s$k; paths s$k; done | sed '/^sound/d' | sort >of-shards
        paths one >of-one
        diff of-one of-shards
    done
}

@test "by a plan: the same, and the shards are about as large" {
    anchorage plan -o plan --shards 5 --split 1000 corpus
    [ "$(jq -s '[.[1:][].shard] | unique | length' plan)" = 5 ]
    # No shard has more than an even share and the largest piece.
    jq -s -e '.[1:] | (map(.bytes) | max) as $largest | (map(.bytes) | add / 5) as $even |
        group_by(.shard) | map(map(.bytes) | add) | max <= $even + $largest' plan
    shards 5 --plan plan
    anchorage merge -o all s4 s3 s2 s1 s0 >/dev/null
    [ "$(digest all)" = "$(digest one)" ]
    anchorage plan -o again --shards 5 --split 1000 corpus
    cmp plan again
}

@test "archives in parts say so, and what is missing of them" {
    shards 3 --split 1000 corpus
    run --separate-stderr anchorage merge -o part s0 s1
    [ "$status" = 0 ]
    [[ $stderr == *"1 of its shards is missing"* ]]
    anchorage query -s part --containers --json | jq -s -e 'map(select(.flags | index("partial"))) | length > 0'
    anchorage merge -o all part s2 >/dev/null
    [ "$(digest all)" = "$(digest one)" ]
    anchorage query -s all --containers --json | jq -s -e 'map(select(.flags | index("partial"))) | length == 0'
}

@test "a night that begins from the last" {
    rm -rf night && cp -r corpus night
    cp -rp night before
    anchorage run -q -s last night >/dev/null
    cp -r last grown
    # One file changed, one added; an archive lost a member, another got one.
    cp night/models/"$(ls night/models | tail -1)" night/models/"$(ls night/models | head -1)"
    write_bgf night/new.bgf
    rm -r tarred/models
    tar cf night/archives/plain.tar tarred
    cp night/archives/plain.tar night/archives/another.tar
    anchorage run -q -s grown night >/dev/null
    anchorage plan -o plan --shards 3 --split 1000 night
    shards 3 --plan plan --seed last
    # They hold only what is new.
    [ "$(cat s?/data.mdb | wc -c)" -lt "$(stat -c %s last/data.mdb)" ]
    anchorage merge -o all s1 last s0 s2 >/dev/null
    anchorage check all
    run -3 anchorage merge -o nothing s1 s0 s2
    [[ $output == *"--seed"* ]]
}

@test "usage" {
    run -2 anchorage run -s x --shard 4/4 corpus
    run -2 anchorage run -s x --shard 1 corpus
    run -2 anchorage run -s x --shard 0/2 --plan plan corpus
    run -2 anchorage run -s x --plan plan
    run -2 anchorage run -s x --seed one corpus
    run -2 anchorage plan -o p corpus
    run -2 anchorage plan --shards 2 corpus
    anchorage plan -o plan --shards 2 corpus
    run -2 anchorage run -s x --shard 0/3 --plan plan
    sed -i '$d' plan
    run -2 anchorage run -s x --shard 0/2 --plan plan
    [[ $output == *"not complete"* ]]
}

@test "a full disk is worth another try elsewhere" {
    run -75 bash -c "ulimit -f 400; exec \"$ANCHORAGE\" run -q -s full --shard 0/1 corpus"
    run -3 bash -c "ulimit -f 400; exec \"$ANCHORAGE\" run -q -s full2 corpus"
}
