#!/usr/bin/env bats
# export: what other people's programs make of it.

load helper

setup_file() {
    make_corpus
    make_store
    # What is ambiguous is exported, too: it must be as valid as the rest.
    anchorage export -s "$BATS_FILE_TMPDIR/store" --status decoded,proven,assigned,ambiguous -o "$BATS_FILE_TMPDIR/glb/"
}

setup() { store=$BATS_FILE_TMPDIR/store; }

@test "the Khronos validator has no error and no warning for any export of the corpus" {
    [ -d "$ROOT/node_modules/gltf-validator" ] || skip "gltf-validator is not installed (make test-deps)"
    [ "$(ls "$BATS_FILE_TMPDIR/glb" | wc -l)" -gt 50 ]
    run -0 node "$ROOT/tests/cli/validate_glb.mjs" "$BATS_FILE_TMPDIR"/glb/*.glb
}

@test "one file holds everything, too, and is valid" {
    [ -d "$ROOT/node_modules/gltf-validator" ] || skip "gltf-validator is not installed (make test-deps)"
    anchorage export -s "$store" --status decoded,proven,assigned,ambiguous -o "$BATS_TEST_TMPDIR/all.glb"
    run -0 node "$ROOT/tests/cli/validate_glb.mjs" "$BATS_TEST_TMPDIR/all.glb"
}

@test "assimp agrees on vertices and faces of BGF models" {
    command -v assimp >/dev/null || skip "assimp-utils is not installed"
    count=0
    while IFS=$'\t' read -r address vertices triangles; do
        # Faceted parts have vertices of their own for each corner.
        anchorage show -s "$store" "$address" --json | jq -e '.details.parts | any(.faceted) | not' >/dev/null || continue
        anchorage export -s "$store" "$address" -o "$BATS_TEST_TMPDIR/m.ply"
        run -0 "$ROOT/tests/cli/assimp_agrees.sh" "$BATS_TEST_TMPDIR/m.ply" "$vertices" "$triangles"
        count=$((count + 1))
    done < <(anchorage query -s "$store" --json --format bgf --status decoded --min-triangles 1 |
        jq -r 'select(.flags | index("non-finite") | not) | [.container + "#0", .vertices, .triangles] | @tsv' | head -n 12)
    [ "$count" -gt 5 ]
}

@test "export without a store gives the same geometry" {
    cd "$BATS_FILE_TMPDIR/corpus"
    for format in bgf meshbin; do
        address=$(anchorage query -s "$store" --json --format $format --status decoded --min-triangles 10 --limit 1 |
            jq -r '.container + "#0"')
        anchorage export "$address" -o "$BATS_TEST_TMPDIR/a.ply"
        anchorage export -s "$store" "$address" -o "$BATS_TEST_TMPDIR/b.ply"
        cmp "$BATS_TEST_TMPDIR/a.ply" "$BATS_TEST_TMPDIR/b.ply"
    done
}

@test "OBJ positions read back to the stored f32" {
    address=$(anchorage query -s "$store" --json --format bgf --status decoded --min-triangles 10 --limit 1 |
        jq -r '.container + "#0"')
    vertices=$(anchorage show -s "$store" "$address" --json | jq .vertices)
    anchorage export -s "$store" "$address" -o "$BATS_TEST_TMPDIR/m.obj"
    [ "$(grep -c '^v ' "$BATS_TEST_TMPDIR/m.obj")" -eq "$vertices" ]
}

@test "what has no geometry is said, with the reason; nothing is written" {
    address=$(anchorage query -s "$store" --json --status declined --format meshbin --limit 1 | jq -r '.container + "#0"')
    run -3 --separate-stderr anchorage export -s "$store" "$address" -o "$BATS_TEST_TMPDIR/none.glb"
    [[ $stderr == *declined* ]]
    [ ! -e "$BATS_TEST_TMPDIR/none.glb" ]
    run -3 anchorage export -s "$store" nothing-like-it -o "$BATS_TEST_TMPDIR/none.glb"
}

@test "exports can be piped, and a full disk leaves no half file" {
    address=$(anchorage query -s "$store" --json --status decoded --min-triangles 10 --limit 1 | jq -r '.container + "#" + (.index | tostring)')
    [ "$(anchorage export -s "$store" "$address" --format glb -o - | head -c 4)" = glTF ]
    run -3 sh -c "'$ANCHORAGE' export -s '$store' '$address' --format glb -o - >/dev/full"
    run -3 anchorage export -s "$store" "$address" -o /nonexistent/folder/m.glb
}

@test "file names are made safe and unique" {
    for file in "$BATS_FILE_TMPDIR"/glb/*; do
        [[ ${file##*/} =~ ^[A-Za-z0-9_-][A-Za-z0-9._-]*\.glb$ ]]
    done
    [ "$(ls "$BATS_FILE_TMPDIR/glb" | wc -l)" -eq \
      "$(anchorage query -s "$store" --json | jq -s 'map(select(.geometry)) | length')" ]
}

@test "what is ambiguous is written only on request, with a warning; its alternatives by their hashes" {
    anchorage query -s "$store" --json --status ambiguous --format xbg7 >"$BATS_TEST_TMPDIR/open"
    address=$(jq -r 'select(.alternatives | length > 0) | .container + "#" + (.index | tostring)' "$BATS_TEST_TMPDIR/open" | head -n 1)
    run -0 --separate-stderr anchorage export -s "$store" "$address" -o "$BATS_TEST_TMPDIR/best.glb"
    [[ $stderr == *"is ambiguous"* ]]
    # Of a whole container, from a store or straight from its file, it is left out, and that is said.
    container=${address%#*}
    want=$(anchorage query -s "$store" --json --container "$container" | jq -s 'map(select(.geometry and .status != "ambiguous")) | length')
    run -0 --separate-stderr anchorage export -s "$store" "$container" -o "$BATS_TEST_TMPDIR/stored/"
    [[ $stderr == *"left out"* ]]
    [ "$(ls "$BATS_TEST_TMPDIR/stored" | wc -l)" -eq "$want" ]
    cd "$BATS_FILE_TMPDIR/corpus"
    run -0 --separate-stderr anchorage export "$container" -o "$BATS_TEST_TMPDIR/straight/"
    [[ $stderr == *"left out"* ]]
    hash=$(jq -r --arg a "$address" 'select(.container + "#" + (.index | tostring) == $a) | .alternatives[0].geometry' "$BATS_TEST_TMPDIR/open")
    run -0 anchorage export -s "$store" "$hash" -o "$BATS_TEST_TMPDIR/other.glb"
    ! cmp -s "$BATS_TEST_TMPDIR/best.glb" "$BATS_TEST_TMPDIR/other.glb"
    run -0 anchorage export -s "$store" --status ambiguous --format glb -o "$BATS_TEST_TMPDIR/many/"
    [ "$(ls "$BATS_TEST_TMPDIR/many" | wc -l)" -ge "$(wc -l <"$BATS_TEST_TMPDIR/open")" ]
}
