#!/usr/bin/env bats
# The main job against the generator's truth, and everything that must not change its result.

load helper

setup_file() {
    make_corpus --images
    make_store
}

digest() { anchorage check "$1" --digest; }

# Truth and store as comparable lines: container, index, status, reason, vertices, triangles, bounds. Located formats are
# judged by their own tests.
truth_lines() {
    jq -c 'select(.format != "xbg7") | [.container, .index, .format, .status, .reason, .vertices, .triangles, .bounds]' \
        "$BATS_FILE_TMPDIR/corpus/truth.jsonl" | sort
}

@test "every addressed resource is what the truth says" {
    # A container is listed by the least of its places; the truth has a line for each place.
    anchorage query -s "$BATS_FILE_TMPDIR/store" --json |
        jq -c 'select(.format != "xbg7") | . as $r | ([.container] + .also)[] |
            [., $r.index, $r.format, $r.status, $r.reason, $r.vertices, $r.triangles, $r.bounds]' |
        sort >"$BATS_TEST_TMPDIR/got"
    truth_lines >"$BATS_TEST_TMPDIR/want"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/want")" -gt 100 ]
    diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
}

@test "an image and a pack of the corpus are read, and nothing else of it changes with them" {
    anchorage query -s "$BATS_FILE_TMPDIR/store" --containers --json |
        jq -r 'select(.container | startswith("images/")) | select(.container | contains("!") | not) |
            [.container, .format, .status] | @tsv' | sort >"$BATS_TEST_TMPDIR/got"
    printf 'images/data.pak\tarchive\tread\nimages/disc.iso\txdvdfs\tread\n' | diff - "$BATS_TEST_TMPDIR/got"
    [ "$(grep -c '"container":"images/data.pak!' "$BATS_FILE_TMPDIR/corpus/truth.jsonl")" -gt 10 ]
    [ "$(grep -c '"container":"images/disc.iso!' "$BATS_FILE_TMPDIR/corpus/truth.jsonl")" -gt 50 ]
    anchorage corpus -o "$BATS_TEST_TMPDIR/again" --seed 7 --scale 0.01 --images
    diff -r "$BATS_FILE_TMPDIR/corpus" "$BATS_TEST_TMPDIR/again"
    anchorage corpus -o "$BATS_TEST_TMPDIR/without" --seed 7 --scale 0.01
    head -n "$(wc -l <"$BATS_TEST_TMPDIR/without/truth.jsonl")" "$BATS_FILE_TMPDIR/corpus/truth.jsonl" |
        diff "$BATS_TEST_TMPDIR/without/truth.jsonl" -
    diff -r -x images -x truth.jsonl "$BATS_FILE_TMPDIR/corpus" "$BATS_TEST_TMPDIR/without"
}

@test "every XBG7 entry of the truth is there under its name" {
    anchorage query -s "$BATS_FILE_TMPDIR/store" --json --format xbg7 |
        jq -c '. as $r | ([.container] + .also)[] | [., $r.index, $r.name]' | sort >"$BATS_TEST_TMPDIR/got"
    jq -c 'select(.format == "xbg7") | [.container, .index, .name // ""]' "$BATS_FILE_TMPDIR/corpus/truth.jsonl" |
        sort >"$BATS_TEST_TMPDIR/want"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/want")" -gt 50 ]
    diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
}

@test "an input that is not there is named beside good ones" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf good.bgf
    run --separate-stderr anchorage run -q -s s good.bgf ./no/such
    [ "$status" = 0 ]
    [[ $stderr == *"warning: no/such: No such file or directory"* ]]
    run -3 anchorage run -q -s s2 no/such
}

@test "a folder that was not there one night is no failure the next" {
    cd "$BATS_TEST_TMPDIR"
    mkdir there
    write_bgf there/good.bgf
    run -3 anchorage run -q -s s later
    mv there later
    anchorage run -q -s s later
    anchorage run -q -s once later
    [ "$(digest s)" = "$(digest once)" ]
    [ -z "$(anchorage query -s s --containers --json | jq -r 'select(.status != "read").container')" ]
}

@test "resources = decoded + ambiguous + declined, for every container" {
    run -0 sh -c "'$ANCHORAGE' query -s '$BATS_FILE_TMPDIR/store' --containers --json |
        jq -e -s 'length > 50 and all(.resources == .decoded + .ambiguous + .declined)'"
}

@test "the digest is the same at any -j, in any order, and after another run" {
    want=$(digest "$BATS_FILE_TMPDIR/store")
    cd "$BATS_FILE_TMPDIR/corpus"
    anchorage run -q -j 1 -s "$BATS_TEST_TMPDIR/one" . >/dev/null
    anchorage run -q -j 3 -s "$BATS_TEST_TMPDIR/three" $(ls -r) >/dev/null
    [ "$(digest "$BATS_TEST_TMPDIR/one")" = "$want" ]
    [ "$(digest "$BATS_TEST_TMPDIR/three")" = "$want" ]
    anchorage run -q -s "$BATS_TEST_TMPDIR/one" . >/dev/null
    anchorage run -q --rehash -s "$BATS_TEST_TMPDIR/one" . >/dev/null
    [ "$(digest "$BATS_TEST_TMPDIR/one")" = "$want" ]
    run -0 anchorage check "$BATS_TEST_TMPDIR/one"
}

@test "the digest does not depend on the locale or the terminal" {
    cd "$BATS_FILE_TMPDIR/corpus"
    LC_ALL=POSIX TERM=dumb anchorage run -q -s "$BATS_TEST_TMPDIR/posix" . >/dev/null
    [ "$(digest "$BATS_TEST_TMPDIR/posix")" = "$(digest "$BATS_FILE_TMPDIR/store")" ]
}

@test "a second run reads nothing that is unchanged" {
    cd "$BATS_FILE_TMPDIR/corpus"
    run -0 sh -c "'$ANCHORAGE' run -q --json -s ../store . | jq -e '.containers == 0 and .unchanged > 50 and .bytes_decoded == 0'"
}

@test "a changed file is read again, and what it held is gone" {
    mkdir "$BATS_TEST_TMPDIR/in"
    write_bgf "$BATS_TEST_TMPDIR/in/a.bgf"
    write_bgf "$BATS_TEST_TMPDIR/b.bgf"
    (cd "$BATS_TEST_TMPDIR" && tar cf in/x.tar b.bgf)
    cd "$BATS_TEST_TMPDIR/in"
    anchorage run -q -s ../s . >/dev/null
    [ "$(anchorage query -s ../s --json | jq -r '.container, .also[]' | xargs)" = "a.bgf x.tar!b.bgf" ]
    printf 'DIV-BIZ2' >a.bgf # nothing follows: does not close
    (cd .. && mv b.bgf c.bgf && tar cf in/x.tar c.bgf)
    anchorage run -q -s ../s . >/dev/null
    [ "$(anchorage query -s ../s --json | jq -r '.container + " " + .status' | xargs)" = "a.bgf declined x.tar!c.bgf decoded" ]
    # The same as a store that never saw the old ones.
    anchorage run -q -s ../fresh . >/dev/null
    [ "$(digest ../s)" = "$(digest ../fresh)" ]
}

@test "a run killed at any moment is finished by the next" {
    want=$(digest "$BATS_FILE_TMPDIR/store")
    cd "$BATS_FILE_TMPDIR/corpus"
    check=$BATS_TEST_TMPDIR/check.out
    for delay in 0.005 0.02 0.04 0.08 0.15 0.3; do
        "$ANCHORAGE" run -q -s "$BATS_TEST_TMPDIR/killed" . >/dev/null & # not a function: its shell would be killed
        pid=$!
        sleep "$delay"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" || true
        # Killed before its first commit, it is no store yet, and says so; after that it is sound.
        [ ! -s "$BATS_TEST_TMPDIR/killed/data.mdb" ] || anchorage check "$BATS_TEST_TMPDIR/killed" >"$check" 2>&1 ||
            grep -q "creation was interrupted" "$check" || { cat "$check"; false; }
    done
    anchorage run -q -s "$BATS_TEST_TMPDIR/killed" . >/dev/null
    anchorage check "$BATS_TEST_TMPDIR/killed"
    [ "$(digest "$BATS_TEST_TMPDIR/killed")" = "$want" ]
}

@test "Ctrl-C stops cleanly, and the same command goes on" {
    cd "$BATS_FILE_TMPDIR/corpus"
    anchorage run -q -j 1 -s "$BATS_TEST_TMPDIR/s" . >/dev/null 2>"$BATS_TEST_TMPDIR/err" &
    pid=$!
    sleep 0.03
    kill -INT "$pid" 2>/dev/null || true
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 75 ] || [ "$status" -eq 0 ]
    [ "$status" -eq 0 ] || grep -q interrupted "$BATS_TEST_TMPDIR/err"
    anchorage run -q -s "$BATS_TEST_TMPDIR/s" . >/dev/null
    [ "$(digest "$BATS_TEST_TMPDIR/s")" = "$(digest "$BATS_FILE_TMPDIR/store")" ]
}

@test "decoders beyond the files that may be open are refused, with both numbers" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf good.bgf
    ulimit -n 100
    run -3 --separate-stderr anchorage run -q -j 90 -s s good.bgf
    [[ $stderr == *"90 decoders need 154 open files; ulimit -n allows 100"* ]]
    ulimit -Sn 80
    anchorage run -q -j 30 -s s good.bgf
}

@test "a run that is killed takes its workers along" {
    cd "$BATS_FILE_TMPDIR/corpus"
    for delay in 0.03 0.06 0.1; do
        anchorage run -q -s "$BATS_TEST_TMPDIR/s$delay" . >/dev/null &
        pid=$!
        sleep "$delay"
        workers=$(cat /proc/"$pid"/task/*/children 2>/dev/null) || true
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" || true
        for worker in $workers; do
            for _ in $(seq 100); do [ -e "/proc/$worker" ] && sleep 0.05 || break; done
            [ ! -e "/proc/$worker" ]
        done
    done
}

@test "damaged inputs never stop a run" {
    mkdir "$BATS_TEST_TMPDIR/in"
    cd "$BATS_TEST_TMPDIR/in"
    write_bgf good.bgf
    printf 'XPR2' >short.xpr
    printf 'MESHBIN\x09' >future.meshbin
    tar cf whole.tar good.bgf
    head -c 700 whole.tar >cut.tar
    gzip -c whole.tar | head -c 60 >cut.tar.gz
    printf 'PK\003\004garbage' >bad.zip
    : >empty
    run -0 anchorage run -q -s ../s .
    [ "$(anchorage query -s ../s --json --status decoded | jq -r .container)" = good.bgf ]
    anchorage query -s ../s --containers --json | jq -r '.container + " " + .status + " " + (.reason // "-")' >../list
    grep -q '^cut.tar damaged truncated$\|^cut.tar!good.bgf skipped truncated$' ../list
    grep -q '^short.xpr damaged truncated$' ../list
}

@test "an input that is missing is an outcome; exit 3 only when nothing could be read" {
    write_bgf "$BATS_TEST_TMPDIR/a.bgf"
    cd "$BATS_TEST_TMPDIR"
    run -0 anchorage run -q -s s a.bgf none
    run -1 anchorage run -q -s s --fail-on unreadable a.bgf none
    run -3 anchorage run -q -s s2 none
    [ "$(anchorage query -s s --containers --json | jq -r 'select(.status == "skipped") | .container + " " + .reason')" = "none unreadable" ]
}

@test "--fail-on names findings, and only those" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf a.bgf
    printf 'DIV-BIZ2' >b.bgf
    run -0 anchorage run -q -s s --fail-on declined a.bgf
    run -1 anchorage run -q -s s --fail-on declined a.bgf b.bgf
    run -0 anchorage run -q -s s --fail-on ambiguous a.bgf b.bgf
    run -0 anchorage run -q -s s --fail-on changed,inconsistent a.bgf b.bgf
    write_bgf c.bgf
    printf 'more' >>c.bgf # does not close: other bytes, and a finding of its own
    run -1 anchorage run -q -s s --fail-on changed a.bgf b.bgf c.bgf
    run -0 anchorage run -q -s s --fail-on changed a.bgf b.bgf c.bgf
}

@test "--fail-on inconsistent: one name with two contents" {
    cd "$BATS_TEST_TMPDIR"
    anchorage corpus -o in --seed 5 --scale 0.05 >/dev/null
    run -1 anchorage run -q -s s --fail-on inconsistent in
    [ "$(anchorage query -s s --findings --json | jq -r 'select(.kind == "inconsistent").kind' | sort -u)" = inconsistent ]
}

@test "nothing of an archive is written to disk by name" {
    cd "$BATS_TEST_TMPDIR"
    mkdir work
    write_bgf evil.bgf
    tar cPf work/evil.tar --transform='s,^,../../escape/,' evil.bgf
    cd work
    run -0 anchorage run -q -s ../s evil.tar
    [ "$(anchorage query -s ../s --json | jq -r .container)" = 'evil.tar!../../escape/evil.bgf' ]
    [ "$(ls)" = evil.tar ]
    [ ! -e ../../escape ]
    anchorage export -s ../s --name '*' -o out/
    [ "$(ls out | wc -l)" -eq 1 ]
}

@test "progress is plain lines off a terminal and nothing with -q; no escapes anywhere" {
    cd "$BATS_FILE_TMPDIR/corpus"
    run -0 --separate-stderr anchorage run -s "$BATS_TEST_TMPDIR/s" .
    [[ $stderr != *$'\033'* && $output != *$'\033'* ]]
    run -0 --separate-stderr anchorage run -q -s "$BATS_TEST_TMPDIR/s" .
    [ -z "$stderr" ]
}

@test "the log has one JSON line per item, the summary is one JSON object" {
    cd "$BATS_FILE_TMPDIR/corpus"
    anchorage run -q --json --log "$BATS_TEST_TMPDIR/log" -s "$BATS_TEST_TMPDIR/s" . >"$BATS_TEST_TMPDIR/summary"
    jq -e -s 'length > 50 and all(.path and .event and .time)' "$BATS_TEST_TMPDIR/log"
    jq -e '.totals.resources.decoded > 50 and .geometry.distinct > 20 and .exit_status == 0' "$BATS_TEST_TMPDIR/summary"
    [ "$(jq -s 'map(select(.event == "container")) | length' "$BATS_TEST_TMPDIR/log")" -eq \
      "$(jq '.containers' "$BATS_TEST_TMPDIR/summary")" ] ||
    [ "$(jq -s 'map(select(.event == "container" or .event == "archive" or .event == "known")) | length' "$BATS_TEST_TMPDIR/log")" -eq \
      "$(jq '.containers' "$BATS_TEST_TMPDIR/summary")" ]
}

@test "the sanitized program agrees on the whole corpus" {
    [ -n "${ANCHORAGE_SANITIZE:-}" ] || skip "no sanitized build"
    cd "$BATS_FILE_TMPDIR/corpus"
    "$ANCHORAGE_SANITIZE" run -q -s "$BATS_TEST_TMPDIR/s" . >/dev/null
    [ "$("$ANCHORAGE_SANITIZE" check "$BATS_TEST_TMPDIR/s" --digest)" = "$(digest "$BATS_FILE_TMPDIR/store")" ]
}
