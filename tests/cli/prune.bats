#!/usr/bin/env bats
# prune: what is gone goes, the rest is as if it alone had ever been run, and nothing goes by accident.

load helper

setup_file() { make_corpus; }

digest() { anchorage check "$1" --digest; }

@test "prune: what is left has the digest of a run over what is left" {
    cd "$BATS_TEST_TMPDIR"
    cp -r "$BATS_FILE_TMPDIR/corpus" in
    anchorage run -q -s s in >/dev/null
    rm -r in/stage/Stage_S0[1-3].xpr in/archives/nested.tar in/models
    anchorage run -q -s want in >/dev/null
    [ "$(digest s)" != "$(digest want)" ]
    anchorage prune s --json >out
    jq -e '.gone > 3 and .members > 3 and .contents > 3 and .resources > 10 and .geometries > 10 and .bytes_after < .bytes_before' out
    anchorage check s
    [ "$(digest s)" = "$(digest want)" ]
    # Again there is nothing to drop, and the next run reads no more than it would have.
    anchorage prune s --json | jq -e '.gone == 0 and .contents == 0 and .geometries == 0'
    [ "$(anchorage run -q -s s in --json | jq .bytes_read)" -eq "$(anchorage run -q -s want in --json | jq .bytes_read)" ]
    [ "$(digest s)" = "$(digest want)" ]
}

@test "prune: a store as one file, and files that come back" {
    cd "$BATS_TEST_TMPDIR"
    mkdir in
    write_bgf in/a.bgf
    cp "$BATS_FILE_TMPDIR"/corpus/stage/Stage_S00.xpr in/
    anchorage run -q -s s.mdb in >/dev/null
    want=$(digest s.mdb)
    mv in/a.bgf aside
    anchorage prune s.mdb >/dev/null
    anchorage check s.mdb
    [ "$(anchorage query -s s.mdb --name a | wc -l)" -eq 1 ]
    mv aside in/a.bgf
    anchorage run -q -s s.mdb in >/dev/null
    [ "$(digest s.mdb)" = "$want" ]
    [ -z "$(find . -name '*tmp*')" ]
}

@test "prune: old runs go, the newest stays, and numbers go on" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf a.bgf
    for i in 1 2 3 4; do anchorage run -q -s s a.bgf >/dev/null; done
    anchorage prune s --keep-runs 2 >/dev/null
    [ "$(anchorage query -s s --runs | cut -f1 | tr '\n' ' ')" = "run 3 4 " ]
    anchorage run -q -s s a.bgf >/dev/null
    [ "$(anchorage query -s s --runs | cut -f1 | tail -n 1)" = 5 ]
    run -2 anchorage prune s --keep-runs 0
}

@test "prune: seen from another folder, nothing is dropped" {
    cd "$BATS_TEST_TMPDIR"
    mkdir elsewhere
    write_bgf a.bgf
    anchorage run -q -s s a.bgf >/dev/null
    want=$(digest s)
    cd elsewhere
    run -3 anchorage prune ../s
    [[ $output == *"not one of the 1 inputs"* ]]
    [ "$(digest ../s)" = "$want" ]
    run -0 anchorage prune ../s --all-gone
    [ "$(anchorage query -s ../s | wc -l)" -eq 1 ]
    anchorage check ../s
}

@test "prune: captures stay" {
    cd "$BATS_TEST_TMPDIR"
    cp -r "$BATS_FILE_TMPDIR/corpus" in
    anchorage run -q -s s in --captures in/captures.jsonl >/dev/null
    rm in/stage/Stage_S01.xpr
    anchorage prune s >/dev/null
    anchorage run -q -s want in --captures in/captures.jsonl >/dev/null
    [ "$(digest s)" = "$(digest want)" ]
}
