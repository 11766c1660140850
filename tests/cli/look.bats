#!/usr/bin/env bats
# query, show, inspect, cat: what people and scripts see.

load helper

setup_file() {
    make_corpus
    make_store
}

setup() { store=$BATS_FILE_TMPDIR/store; }

first() { # first FILTERS...: the address of the first resource that passes
    anchorage query -s "$store" --json --limit 1 "$@" | jq -r '.container + "#" + (.index | tostring)'
}

@test "query: TSV in a pipe has a header and as many columns everywhere" {
    run -0 sh -c "'$ANCHORAGE' query -s '$store' | awk -F'\t' 'NR == 1 { n = NF } NF != n { exit 1 } END { print n, NR }'"
    [[ $output == "9 "* ]]
}

@test "query: an aligned table on a terminal, coloured unless NO_COLOR" {
    command -v script >/dev/null || skip "script(1) is missing"
    run -0 script -qec "'$ANCHORAGE' query -s '$store' --limit 3" /dev/null
    [[ $output == *$'\033[32m'* ]]
    run -0 env NO_COLOR=1 script -qec "'$ANCHORAGE' query -s '$store' --limit 3" /dev/null
    [[ $output != *$'\033'* ]]
}

@test "query: filters agree with jq over everything" {
    anchorage query -s "$store" --json >"$BATS_TEST_TMPDIR/all"
    same() { # same JQ-CONDITION FILTERS...
        local condition=$1
        shift
        diff <(jq -c "select($condition)" "$BATS_TEST_TMPDIR/all") <(anchorage query -s "$store" --json "$@" | jq -c .)
    }
    same '.status == "declined"' --status declined
    same '.status == "decoded" or .status == "ambiguous"' --status decoded,ambiguous
    same '.reason == "truncated"' --reason truncated
    same '.format == "bgf" or .format == "bmf"' --format bgf,bmf
    same '.triangles >= 100 and .triangles <= 200' --min-triangles 100 --max-triangles 200
    same '.name | test("^[a-f]")' --name '[a-f]*'
    same '.container | test("zip!")' --container '*zip!*'
    same '.bounds and .bounds.min[1] >= -0.5 and .bounds.max[1] <= 4 and .bounds.max[0] <= 2.5' --bounds ,-0.5,,2.5,4,
}

@test "query: sorted by several keys, what is equal in the usual order" {
    sorted() { # sorted JQ-KEY FILTERS...
        local key=$1
        shift
        diff <(anchorage query -s "$store" --json | jq -c -s "$key | .[]") <(anchorage query -s "$store" --json "$@" | jq -c .)
    }
    sorted 'sort_by([-.triangles, .name])' --sort -triangles,name
    sorted 'sort_by(.reason // "", .format)' --sort reason,format
    sorted 'sort_by(-(.bounds | if . then ([.min, .max] | transpose | map(.[1] - .[0]) | max) else -1 end))' --sort -size
    sorted 'sort_by([-.triangles, .name]) | .[:5]' --sort -triangles,name --limit 5
    [ "$(anchorage query -s "$store" --sort -geometry | wc -l)" -eq "$(anchorage query -s "$store" | wc -l)" ]
}

@test "query: filters that nothing can pass are errors" {
    refused() { # refused WORDS-OF-THE-MESSAGE OPTIONS...
        local words=$1
        shift
        run -2 --separate-stderr anchorage query -s "$store" "$@"
        [[ $stderr == *"$words"* && -z $output ]]
    }
    refused 'more than max-triangles' --min-triangles 9 --max-triangles 3
    refused 'selects what is declined' --status proven --reason truncated
    refused 'not known of what is declined' --status declined --bounds 0,0,0,1,1,1
    refused 'beyond' --bounds 1,,,0,,
    refused 'x0,y0' --bounds 1,2,3
    refused 'x0,y0' --bounds 1,2,3,4,5,nan
    refused 'it knows bgf' --format xpr2
    refused 'given before' --name a --name b
    refused 'twice' --sort name,-name
    refused 'does not know' --sort colour
    refused 'its own order' --containers --sort name
    refused 'number from 1' --max-triangles 0
}

@test "query: every line has the documented keys in the documented order" {
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --json | jq -c 'del(.alternatives, .alternatives_dropped) | keys_unsorted' | sort -u"
    [ "$output" = '["container","also","container_hash","format","index","name","status","reason","score","margin","vertices","triangles","bounds","buffers","geometry","canonical","flags","error"]' ]
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --containers --json | jq -c keys_unsorted | sort -u"
    [ "$output" = '["container","also","container_hash","format","bytes","status","reason","resources","decoded","ambiguous","declined","flags","error"]' ]
}

@test "query: ambiguous resources, and only they, list their alternatives" {
    anchorage query -s "$store" --json >"$BATS_TEST_TMPDIR/all"
    jq -e -s 'map(select(.status == "ambiguous")) | length > 0 and all((.alternatives | type == "array") and .alternatives_dropped >= 0) and any(.alternatives | length > 0)' "$BATS_TEST_TMPDIR/all"
    jq -e -s 'map(select(.status != "ambiguous")) | all(has("alternatives") | not)' "$BATS_TEST_TMPDIR/all"
    jq -e -s 'map(select(.status == "ambiguous")) | all((.alternatives | length <= 16) and ([.alternatives[].score] == ([.alternatives[].score] | sort | reverse)))' "$BATS_TEST_TMPDIR/all"
}

@test "query: coverage accounts for every byte of a data section" {
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --coverage --json |
        jq -e -s 'length > 5 and all(([.bytes[]] | add) == .data_size and (.runs | length > 0))'"
}

@test "inspect: a strip, and the list-or-strip test" {
    cd "$BATS_FILE_TMPDIR/corpus"
    container=$(anchorage query -s "$store" --containers --json | jq -r 'select(.format == "xpr2" and .status == "read" and .resources > 20) | .container' | head -n 1)
    run -0 anchorage inspect "$container"
    [[ $output == *"claimed vertices"* ]]
    # Nearly all right placements agree as list (or disagree, wound the other way) far more than as strip.
    run -0 sh -c "'$ANCHORAGE' inspect '$container' --verify | awk -F'\t' 'NR > 1 && \$6 > 50 { n++; l = \$4 > 0.5 ? \$4 : 1 - \$4; s = \$5 > 0.5 ? \$5 : 1 - \$5; good += l > s } END { exit !(n > 5 && good >= 0.9 * n) }'"
}

@test "query: unknown content is counted by magic and ending" {
    cd "$BATS_TEST_TMPDIR"
    mkdir in
    printf 'hello world' >in/a.txt
    printf 'hello again' >in/b.TXT
    printf 'x' >in/c
    tar cf in/t.tar in/a.txt
    anchorage run -q -s s in >/dev/null
    run -0 sh -c "'$ANCHORAGE' query -s s --unknown --json | jq -r '[.magic, .ending, .count, .bytes] | @csv'"
    [ "$output" = '"68656c6c",".txt",3,33
"78","",1,1' ]
    # An unknown file that was named itself is listed; one that was met is only counted.
    anchorage run -q -s s2 in/c >/dev/null
    [ "$(anchorage query -s s2 --containers --json | jq -r 'select(.format == "unknown") | .container')" = in/c ]
}

@test "query: runs are listed with what they did" {
    run -0 sh -c "'$ANCHORAGE' query -s '$store' --runs --json | jq -r '.run, .exit_status, (.arguments | test(\"run -q\"))'"
    [ "$output" = '1
0
true' ]
}

@test "show: by index, by name, by geometry hash, by a lone name" {
    address=$(first --format meshbin --status decoded)
    run -0 anchorage show -s "$store" "$address"
    [[ $output == *"triangles"* && $output == *"bounds"* ]]
    container=${address%#*}
    run -0 anchorage show -s "$store" "$container"
    anchorage show -s "$store" "$address" --json >"$BATS_TEST_TMPDIR/one"
    name=$(jq -r .name "$BATS_TEST_TMPDIR/one")
    run -0 anchorage show -s "$store" "$container#$name"
    hash=$(jq -r .geometry "$BATS_TEST_TMPDIR/one")
    run anchorage show -s "$store" "$hash"
    [ "$status" -eq 0 ] || [[ $output == *"answer to"* ]]
    run -3 anchorage show -s "$store" "$container#999" || [ "$status" -eq 2 ]
    jq -e '.details and (.shares | type == "array") and (.same_name | type == "array")' "$BATS_TEST_TMPDIR/one"
}

@test "show: says why something was declined, and where" {
    address=$(first --reason truncated --format meshbin)
    run -0 anchorage show -s "$store" "$address"
    [[ $output == *"declined: truncated"* && $output == *"at offset"* && $output == *because* ]]
}

@test "show: every place of a content is told" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf b.bgf
    cp b.bgf a.bgf
    tar cf c.tar b.bgf
    anchorage run -q -s s b.bgf c.tar a.bgf >/dev/null
    run -0 sh -c "'$ANCHORAGE' query -s s --json | jq -c '[.container, .also, .name]'"
    [ "$output" = '["a.bgf",["b.bgf","c.tar!b.bgf"],"a"]' ]
    for place in a.bgf b.bgf 'c.tar!b.bgf'; do
        run -0 anchorage show -s s "$place#0"
        [[ $output == *"also at"* ]]
    done
    run -0 anchorage show -s s b # the name it has at another place
}

@test "inspect: the same resources as a store has, without one" {
    while IFS= read -r container; do
        diff <(cd "$BATS_FILE_TMPDIR/corpus" && anchorage inspect --json "$container" |
                jq -S '.entries[] | del(.details, .container, .also, .name)') \
            <(anchorage query -s "$store" --json --container "$container" | jq -S 'del(.container, .also, .name)')
    done < <(anchorage query -s "$store" --containers --json |
        jq -r 'select(.resources > 0 and .status != "skipped") | .container' | grep -v '[][*?\\]' | head -n 40)
}

@test "inspect: for people, whole containers and single resources" {
    cd "$BATS_FILE_TMPDIR/corpus"
    container=$(anchorage query -s "$store" --containers --json | jq -r 'select(.format == "xpr2" and .resources > 1) | .container' | head -n 1)
    run -0 anchorage inspect "$container"
    [[ $output == *"data section"* ]]
    run -0 anchorage inspect "$(first --format bgf --status decoded)"
    [[ $output == *material* ]]
}

@test "cat: the bytes as they are, at any depth" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf m.bgf
    tar cf inner.tar m.bgf
    gzip -c inner.tar >inner.tar.gz
    tar cf outer.tar inner.tar.gz
    anchorage cat 'outer.tar!inner.tar.gz!m.bgf' >got
    cmp got m.bgf
    anchorage cat m.bgf | cmp - m.bgf
    gzip -c m.bgf >m.bgf.gz
    anchorage cat 'm.bgf.gz!m.bgf' | cmp - m.bgf
    run -3 anchorage cat 'outer.tar!nothing'
}

@test "limits: an outcome that names the option, the same for run and cat" {
    cd "$BATS_TEST_TMPDIR"
    mkdir in
    write_bgf m.bgf
    tar cf inner.tar m.bgf
    gzip -c inner.tar >inner.tar.gz
    tar cf in/outer.tar inner.tar.gz
    write_bgf in/neighbour.bgf
    anchorage run -q -s limited.store --max-depth 0 in >/dev/null
    anchorage query -s limited.store --containers --json >rows
    [ "$(jq -r 'select(.reason == "too-deep") | .container' rows)" = $'in/outer.tar\nin/outer.tar!inner.tar.gz' ]
    [ "$(jq -r 'select(.container == "in/neighbour.bgf") | .status' rows)" = read ]
    run -3 anchorage cat --max-depth 0 'in/outer.tar!inner.tar.gz!m.bgf'
    [[ $output == *"--max-depth is 0"* ]]
    run -3 anchorage cat --max-member 1K in/outer.tar
    [[ $output == *"--max-member is 1024"* ]]
    run -2 anchorage cat --spool 1X in/outer.tar
    run -2 anchorage export -s limited.store --max-depth 1 --name '*' -o out/
    # another limit: what hit the old one is read again
    anchorage run -q -s limited.store in >/dev/null
    [ "$(anchorage query -s limited.store --containers --json | jq -r 'select(.reason) | .container')" = "" ]
}

@test "names from archives cannot steer a terminal" {
    cd "$BATS_TEST_TMPDIR"
    evil=$'a\033[31m\a\n.bgf'
    write_bgf "$evil"
    tar cf t.tar "$evil"
    anchorage run -q -s s t.tar >/dev/null
    for command in "query -s s" "query -s s --containers" "show -s s t.tar!a*" "run -s s t.tar"; do
        run anchorage $command
        [[ $output != *$'\033'* && $output != *$'\a'* ]]
    done
    [ "$(anchorage query -s s | wc -l)" -eq 2 ]
    anchorage query -s s --json | jq -e '.container | contains("\u001b")'
}
