# merge: stores of parts of a corpus are one store of the corpus.
load helper

setup_file() {
    make_corpus
    cd "$BATS_FILE_TMPDIR/corpus" || return 1
    anchorage run -q -s ../one archives stage models meshbin >/dev/null
    for part in archives stage models meshbin; do anchorage run -q -s "../$part" "$part" >/dev/null; done
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

@test "the digest of one run, in any order and grouping" {
    expected=$(anchorage check one --digest)
    anchorage merge -o all archives stage models meshbin >/dev/null
    [ "$(anchorage check all --digest)" = "$expected" ]
    anchorage merge -o half.mdb meshbin archives >/dev/null
    anchorage merge -o all models half.mdb stage stage half.mdb >/dev/null
    [ "$(anchorage check all --digest)" = "$expected" ]
    anchorage check all
}

@test "a store may be merged into itself" {
    cp -r archives grown
    anchorage merge -o grown grown stage >/dev/null
    anchorage merge -o grown models grown meshbin >/dev/null
    [ "$(anchorage check grown --digest)" = "$(anchorage check one --digest)" ]
    [ "$(ls -d grown*)" = grown ]
}

@test "what is no store is not replaced" {
    mkdir -p folder
    echo precious >folder/file
    run -3 anchorage merge -o folder archives
    [[ $output == *"without a store in it"* ]]
    [ "$(cat folder/file)" = precious ]
    run -3 anchorage merge -o folder/file archives
    [ "$(cat folder/file)" = precious ]
}

@test "an input that is no store stops it, and nothing is left behind" {
    run -3 anchorage merge -o new archives nowhere
    [[ $output == *"'nowhere' does not exist"* ]]
    [ ! -e new ]
    run ! ls -d new.tmp-*
}

@test "usage" {
    run -2 anchorage merge archives
    run -2 anchorage merge -o new
    run -2 anchorage merge -o new --prefer older archives
}

@test "the summary as JSON" {
    anchorage merge -o new --json stage archives | jq -e '.merged == 2 and .totals.resources.proven > 100 and .partial == 0'
}
