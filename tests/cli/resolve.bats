#!/usr/bin/env bats
# The global passes from the command line: what they decide, what captures do, what they list, what is exported.

load helper

setup_file() {
    make_corpus
    make_store
    (cd "$BATS_FILE_TMPDIR" && anchorage resolve -s store >/dev/null)
}

store_copy() { cp -r "$BATS_FILE_TMPDIR/store" "$BATS_TEST_TMPDIR/store"; }
digest() { anchorage check "$1" --digest; }

# The first of a pair of twins that are located: ADDRESS NAME of both, the first one's name first.
twins() {
    anchorage query -s "$1" --json --format xbg7 |
        jq -r -s '[.[] | select(.canonical)] | group_by(.container) | .[0] | sort_by(.name) | .[0:2][] |
            "\(.container)#\(.index) \(.name)"'
}

@test "what only another container tells is decided" {
    jq -c 'select(.needs == ["container"]) | [.container, .index, .placements[0]]' \
        "$BATS_FILE_TMPDIR/corpus/truth.jsonl" | sort >"$BATS_TEST_TMPDIR/want"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/want")" -gt 3 ]
    anchorage query -s "$BATS_FILE_TMPDIR/store" --json --status proven,assigned |
        jq -c '. as $r | ([.container] + .also)[] | [., $r.index, $r.buffers]' | sort >"$BATS_TEST_TMPDIR/got"
    # Every one of them is among the answers, at the right place.
    [ -z "$(comm -23 "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got")" ]
}

@test "resolving again changes nothing, at any -j" {
    store_copy
    want=$(digest "$BATS_TEST_TMPDIR/store")
    for j in 1 2 5; do
        run -0 sh -c "'$ANCHORAGE' resolve -s '$BATS_TEST_TMPDIR/store' -j $j --json | jq -e '.changed == 0'"
        [ "$(digest "$BATS_TEST_TMPDIR/store")" = "$want" ]
    done
    run -0 anchorage check "$BATS_TEST_TMPDIR/store"
}

@test "counts of a container agree with its resources" {
    anchorage query -s "$BATS_FILE_TMPDIR/store" --json |
        jq -r '[.container, (if .status == "ambiguous" or .status == "declined" then .status else "decoded" end)] | @tsv' |
        sort | uniq -c | awk '{print $2, $3, $1}' | sort >"$BATS_TEST_TMPDIR/counted"
    anchorage query -s "$BATS_FILE_TMPDIR/store" --containers --json |
        jq -r '. as $c | ("decoded", "ambiguous", "declined") | select($c[.] > 0) | [$c.container, ., $c[.]] | @tsv' |
        tr '\t' ' ' | sort >"$BATS_TEST_TMPDIR/told"
    diff "$BATS_TEST_TMPDIR/counted" "$BATS_TEST_TMPDIR/told"
}

@test "show tells the history of what was decided" {
    address=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json --name 'k*_base' --status proven,assigned |
        jq -r '"\(.container)#\(.index)"' | while read -r a; do
            anchorage show -s "$BATS_FILE_TMPDIR/store" "$a" --json | jq -r --arg a "$a" 'select(.history != []) | $a'
        done | head -n 1)
    [ -n "$address" ]
    run -0 anchorage show -s "$BATS_FILE_TMPDIR/store" "$address"
    [[ "$output" == *"history"*"ambiguous"*"by proof "[0-9]*": the same bytes"* ]]
}

@test "a capture turns a pair of twins over; one that excludes it is told and ignored" {
    store_copy
    read -r address name < <(twins "$BATS_TEST_TMPDIR/store" | head -n 1)
    read -r second second_name < <(twins "$BATS_TEST_TMPDIR/store" | tail -n 1)
    canonical() { anchorage show -s "$BATS_TEST_TMPDIR/store" "$1" --json | jq -c '[.canonical.mirrored, .canonical.basis]'; }
    [ "$(canonical "$address")" = '[false,"assumed"]' ]
    echo "{\"resource\":\"$name\",\"row0_x\":-1}" >"$BATS_TEST_TMPDIR/captures"
    run -0 anchorage resolve -s "$BATS_TEST_TMPDIR/store" --captures "$BATS_TEST_TMPDIR/captures"
    [ "$(canonical "$address")" = '[true,"confirmed"]' ]
    [ "$(canonical "$second")" = '[false,"confirmed"]' ]

    echo "{\"resource\":\"$second_name\",\"row0_x\":-1}" >"$BATS_TEST_TMPDIR/captures"
    run -3 --separate-stderr anchorage resolve -s "$BATS_TEST_TMPDIR/store" --captures "$BATS_TEST_TMPDIR/captures"
    [[ "$stderr" == *"$second_name"*"$name"* ]]
    [ "$(canonical "$address")" = '[true,"confirmed"]' ]
    run -0 anchorage check "$BATS_TEST_TMPDIR/store"

    printf '{"resource":"%s","row0_x":null}\n' "$name" "$second_name" >"$BATS_TEST_TMPDIR/captures"
    run -0 anchorage resolve -s "$BATS_TEST_TMPDIR/store" --captures "$BATS_TEST_TMPDIR/captures"
    [ "$(canonical "$address")" = '[false,"assumed"]' ]
    [ "$(digest "$BATS_TEST_TMPDIR/store")" = "$(digest "$BATS_FILE_TMPDIR/store")" ]
}

@test "a placement that does not fit is a contradiction, a file of nonsense is refused whole" {
    store_copy
    read -r container name index < <(anchorage query -s "$BATS_TEST_TMPDIR/store" --json --status proven |
        jq -r 'select(.format == "xbg7") | "\(.container) \(.name) \(.index)"' | head -n 1)
    buffers='[{"index_offset":4,"index_count":3,"vertex_offset":12,"vertex_count":3,"stride":20}]'
    echo "{\"resource\":\"$name\",\"container\":\"$container\",\"buffers\":$buffers}" >"$BATS_TEST_TMPDIR/captures"
    run -3 --separate-stderr anchorage resolve -s "$BATS_TEST_TMPDIR/store" --captures "$BATS_TEST_TMPDIR/captures"
    [[ "$stderr" == *"$name"*"contradicts"* ]]
    want=$(digest "$BATS_TEST_TMPDIR/store")
    printf '{"resource":"a","row0_x":1}\nnonsense\n' >"$BATS_TEST_TMPDIR/captures"
    run -2 --separate-stderr anchorage resolve -s "$BATS_TEST_TMPDIR/store" --captures "$BATS_TEST_TMPDIR/captures"
    [[ "$stderr" == *"line 2"* ]]
    [ "$(digest "$BATS_TEST_TMPDIR/store")" = "$want" ]
}

@test "a mirrored twin is exported as it is drawn; --physical is what lies there" {
    address=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json |
        jq -r 'select(.canonical and .canonical.mirrored) | "\(.container)#\(.index)"' | head -n 1)
    [ -n "$address" ]
    twin=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json | jq -r --arg a "$address" -s '
        (.[] | select("\(.container)#\(.index)" == $a)) as $m | .[] |
        select(.canonical and (.canonical.mirrored | not) and .canonical.geometry == $m.canonical.geometry) |
        "\(.container)#\(.index)"' | head -n 1)
    cd "$BATS_TEST_TMPDIR"
    anchorage export -s "$BATS_FILE_TMPDIR/store" "$address" -o mirrored.obj
    anchorage export -s "$BATS_FILE_TMPDIR/store" "$address" --physical -o physical.obj
    anchorage export -s "$BATS_FILE_TMPDIR/store" "$twin" -o twin.obj
    points() { awk '$1 == "v" { print $2 + 0, $3, $4 }' "$1" | sort; }
    negated() { awk '$1 == "v" { print 0 - $2, $3, $4 }' "$1" | sort; }
    # The twin's points with x negated, one by one.
    diff <(points mirrored.obj) <(negated twin.obj)
    run ! diff -q <(points physical.obj) <(negated physical.obj)
    # With the winding reversed, normals and triangles agree as they do in the twin.
    [ "$(grep -c '^f ' mirrored.obj)" -eq "$(grep -c '^f ' twin.obj)" ]
    run -2 anchorage export --physical "$address" -o x.obj
}

@test "findings, the declined and priors are listed as tables and as JSON" {
    store="$BATS_FILE_TMPDIR/store"
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --findings --json | jq -e -s '
        length > 0 and all((.kind | type) == \"string\" and (.sides | type) == \"array\")'"
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --findings --kind same,inconsistent --json |
        jq -e -s 'length > 0 and all(.kind == \"same\" or .kind == \"inconsistent\") and all(.sides | length >= 2)'"
    # Names that differ on purpose are inconsistent, those with equal bytes never.
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --findings --kind inconsistent --json |
        jq -e -s 'all(.subject | startswith(\"v\"))'"
    [ "$(anchorage query -s "$store" --declined --json | jq -s '[.[] | select(.by == "reason") | .count] | add')" -eq \
        "$(anchorage query -s "$store" --status declined --json | wc -l)" ]
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --priors --json | jq -e -s '.[-1].container == null and .[-1].blocks > 50'"
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --findings | grep -q '^unclaimed'"
    run -2 anchorage query -s "$store" --kind same
    run -2 anchorage query -s "$store" --findings --kind nonsense
}

@test "models whose materials are missing are findings, as the truth has them" {
    jq -r 'select(.unresolved) | .unresolved[]' "$BATS_FILE_TMPDIR/corpus/truth.jsonl" | sort -u >"$BATS_TEST_TMPDIR/want"
    [ -s "$BATS_TEST_TMPDIR/want" ]
    anchorage query -s "$BATS_FILE_TMPDIR/store" --findings --kind missing-material --json | jq -r .subject |
        sort >"$BATS_TEST_TMPDIR/got"
    diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
}

@test "images that libraries name are looked for in folders and archives, by stem" {
    store_copy
    cd "$BATS_TEST_TMPDIR"
    anchorage query -s store --findings --kind missing-image --json | jq -r .subject >missing
    [ "$(wc -l <missing)" -gt 2 ]
    mkdir -p loose packed/maps
    echo pixels >"loose/$(sed -n 1p missing).PNG"
    echo pixels >"packed/maps/$(sed -n 2p missing | tr a-z A-Z).tga"
    tar -cf images.tar packed
    anchorage run -s store loose images.tar >/dev/null
    anchorage query -s store --findings --kind missing-image --json | jq -r .subject >now
    diff <(sed 1,2d missing) now
    anchorage check store
    before=$(digest store)
    anchorage run -s store loose images.tar >/dev/null
    [ "$before" = "$(digest store)" ]
}
