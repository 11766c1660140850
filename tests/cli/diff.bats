#!/usr/bin/env bats
# diff: every class by something that was done to a corpus, the gate, the page.

load helper

setup_file() {
    make_corpus
    make_store
    cd "$BATS_FILE_TMPDIR"
    cp -r corpus changed
    cd changed
    mv stage/Stage_S00.xpr stage/Renamed.xpr # moved
    rm stage/Stage_S01.xpr                   # lost
    mkdir more
    write_bgf more/new.bgf # gained
    anchorage run -q -s ../other . --captures captures.jsonl >/dev/null # other canonical
}

setup() {
    before=$BATS_FILE_TMPDIR/store
    after=$BATS_FILE_TMPDIR/other
}

changes() { anchorage diff "$before" "$after" --json 2>/dev/null; }

@test "diff: stores of one digest are the same, in either direction" {
    cd "$BATS_FILE_TMPDIR/corpus"
    anchorage run -q -j 1 -s "$BATS_TEST_TMPDIR/twin" . >/dev/null
    run -0 --separate-stderr anchorage diff "$before" "$BATS_TEST_TMPDIR/twin" --fail-on changed --json
    [ -z "$output" ]
    [[ $stderr == *"one digest"* ]]
}

@test "diff: a file that is gone is lost, one that came is gained, one that was renamed has moved" {
    changes >"$BATS_TEST_TMPDIR/out"
    jq -e -s '[.[] | select(.before.container == "stage/Stage_S01.xpr" and .change == "lost")] | length > 5 and all(.after == null)' "$BATS_TEST_TMPDIR/out"
    jq -e -s '[.[] | select(.change == "gained" and .after.container == "more/new.bgf")] | length == 1 and .[0].before == null and .[0].name == "new"' "$BATS_TEST_TMPDIR/out"
    jq -e -s '[.[] | select(.change == "moved")] | length > 5 and all(.before.container == "stage/Stage_S00.xpr" and .after.container == "stage/Renamed.xpr" and .before.geometry == .after.geometry)' "$BATS_TEST_TMPDIR/out"
}

@test "diff: captures that contradict the rule change what twins are drawn from" {
    run -0 sh -c "'$ANCHORAGE' diff '$before' '$after' --json 2>/dev/null | jq -e -s '[.[] | select(.change == \"canonical\")] | length >= 2 and all(.before.geometry == .after.geometry and .before.canonical != .after.canonical)'"
}

@test "diff: turned around, gained is lost" {
    count() { jq -s "[.[] | select(.change == \"$1\")] | length" "$2"; }
    changes >"$BATS_TEST_TMPDIR/there"
    anchorage diff "$after" "$before" --json 2>/dev/null >"$BATS_TEST_TMPDIR/back"
    [ "$(count gained "$BATS_TEST_TMPDIR/there")" -eq "$(count lost "$BATS_TEST_TMPDIR/back")" ]
    [ "$(count lost "$BATS_TEST_TMPDIR/there")" -eq "$(count gained "$BATS_TEST_TMPDIR/back")" ]
    for class in geometry canonical moved outcome; do
        [ "$(count $class "$BATS_TEST_TMPDIR/there")" -eq "$(count $class "$BATS_TEST_TMPDIR/back")" ]
    done
}

@test "diff: a model whose bytes changed has other geometry; nothing else of its store did" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf m.bgf
    write_bgf n.bgf
    printf '\x41' | dd of=n.bgf bs=1 seek=39 conv=notrunc 2>/dev/null
    anchorage run -q -s a m.bgf n.bgf >/dev/null
    printf '\x42' | dd of=n.bgf bs=1 seek=39 conv=notrunc 2>/dev/null
    anchorage run -q -s b m.bgf n.bgf >/dev/null
    anchorage diff a b --json >out 2>/dev/null
    [ "$(jq -r '[.change, .name] | join(" ")' out)" = "geometry n" ]
    run -1 anchorage diff a b --fail-on changed
    rm n.bgf
    anchorage run -q -s c m.bgf >/dev/null
    [ "$(anchorage diff a c 2>/dev/null | cut -f1,2 | tail -n +2)" = "$(printf 'lost\tn')" ]
}

@test "diff: no resource is counted twice or dropped" {
    total=$(changes | wc -l)
    same=$(anchorage diff "$before" "$after" 2>&1 >/dev/null | sed -n 's/.*same: //p' | tr -d ' ')
    before_count=$(anchorage query -s "$before" --json | wc -l)
    after_count=$(anchorage query -s "$after" --json | wc -l)
    # Pairs take one of each store, lone sides one.
    lone_before=$(changes | jq -s '[.[] | select(.after == null)] | length')
    lone_after=$(changes | jq -s '[.[] | select(.before == null)] | length')
    [ $((same + total - lone_after)) -eq "$before_count" ]
    [ $((same + total - lone_before)) -eq "$after_count" ]
}

@test "diff: the page shows what it says, and its pictures are there" {
    cd "$BATS_TEST_TMPDIR"
    anchorage diff "$before" "$after" -o page >/dev/null 2>&1
    [ "$(grep -o '<article>' page/index.html | wc -l)" -eq "$(changes | wc -l)" ]
    grep -o 'src="[^"]*"' page/index.html | sort -u | sed 's/src="\(.*\)"/\1/' | while read -r picture; do
        [ -s "page/$picture" ]
    done
    grep -q 'src="thumbs/' page/index.html
}

@test "diff: names are text on the page, whatever they are" {
    cd "$BATS_TEST_TMPDIR"
    mkdir in
    write_bgf 'in/<script>alert(1)<&script>.bgf'
    anchorage run -q -s a in >/dev/null
    rm in/*
    write_bgf in/other.bgf
    anchorage run -q -s b in >/dev/null
    anchorage diff a b -o page >/dev/null 2>&1
    ! grep -q '<script' page/index.html
    grep -q '&lt;script&gt;' page/index.html
}

@test "diff: two stores, no more and no less, and not one twice" {
    run -2 anchorage diff "$before"
    run -2 anchorage diff "$before" "$after" "$after"
    run -2 anchorage diff "$before" "$before"
    run -2 anchorage diff "$before" "$after" --fail-on lost
    run -3 anchorage diff "$before" "$BATS_TEST_TMPDIR/none"
}
