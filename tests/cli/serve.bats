#!/usr/bin/env bats
# serve: the program as a process, and curl. What is answered in detail is in tests/test_serve.c and tests/browser/serve.mjs.

load helper

setup_file() {
    make_corpus
    make_store
}

# Starts a server on a free port: $base is its address, $server its pid.
start_server() {
    cd "$BATS_FILE_TMPDIR"
    : >"$BATS_TEST_TMPDIR/url"
    "$ANCHORAGE" serve -s store --listen 127.0.0.1:0 "$@" >"$BATS_TEST_TMPDIR/url" 2>"$BATS_TEST_TMPDIR/log" 3>&- &
    server=$!
    for _ in $(seq 200); do
        base=$(cat "$BATS_TEST_TMPDIR/url")
        [ -n "$base" ] && break
        sleep 0.05
    done
    [ -n "$base" ]
}

teardown() {
    if [ -n "${server:-}" ]; then kill "$server" 2>/dev/null || true; fi
}

encode() { jq -rn --arg text "$1" '$text | @uri'; }

@test "serve: the bound address is the first line, and both signals end it with status 0" {
    for signal in INT TERM; do
        start_server
        [[ $base == http://127.0.0.1:*/ ]]
        curl -sf "${base}api/runs" | jq -e '.total == 1' >/dev/null
        kill -s "$signal" "$server"
        wait "$server"
        [ ! -s "$BATS_TEST_TMPDIR/log" ]
    done
}

@test "serve: lists agree with query, one resource with show, geometry with export" {
    start_server
    for filter in status=ambiguous format=bgf,bmf min-triangles=500 'name=*_wep_*' reason=truncated sort=-triangles,name; do
        curl -sfG "${base}api/resources" --data-urlencode "$filter" -d limit=1000 | jq -c '.resources[] | del(.address)' >served
        anchorage query -s store --json "--$filter" | head -n 1000 | jq -c . >queried
        cmp served queried
    done
    address=$(anchorage query -s store --json --status ambiguous | jq -r '"\(.container)#\(.index)"' | sed -n 1p)
    curl -sf "${base}api/resource/$(encode "$address")" | jq -c 'del(.address, .shares_total, .same_name_total)' >served
    anchorage show -s store --json "$address" | jq -c . >shown
    cmp served shown
    for geometry in $(jq -r '.geometry, .alternatives[].geometry | values' shown); do
        curl -sf "${base}api/geometry/$geometry.glb?resource=$(encode "$address")" -o "$geometry.glb"
        [ "$(head -c 4 "$geometry.glb")" = glTF ]
    done
    twin=$(anchorage query -s store --json | jq -r 'select(.canonical.mirrored) | "\(.container)#\(.index) \(.canonical.geometry)"' | sed -n 1p)
    curl -sf "${base}api/geometry/${twin##* }.glb?resource=$(encode "${twin% *}")" -o served.glb
    anchorage export -s store "${twin% *}" -o exported.glb
    cmp served.glb exported.glb
    anchorage query -s store --coverage --json | head -n 1 >queried
    curl -sf "${base}api/coverage/$(encode "$(jq -r .container queried)")" | cmp - <(tr -d '\n' <queried)
}

@test "serve: pages follow each other without gaps or repeats" {
    start_server
    for offset in $(seq 0 100 900); do
        curl -sf "${base}api/resources?sort=geometry&limit=100&offset=$offset" | jq -r '.resources[].address'
    done >pages
    [ "$(wc -l <pages)" -eq "$(anchorage query -s store --json | wc -l)" ]
    [ -z "$(sort pages | uniq -d)" ]
}

@test "serve: 64 connections of curl at once" {
    start_server
    for i in $(seq 256); do
        printf 'url = "%sapi/resources?q=wep&limit=%d"\noutput = "%s/out.%d"\n' "$base" "$((i % 50))" "$BATS_TEST_TMPDIR" "$i"
    done >"$BATS_TEST_TMPDIR/urls"
    curl -sf --parallel --parallel-immediate --parallel-max 64 -K "$BATS_TEST_TMPDIR/urls"
    for i in $(seq 256); do jq -e ".limit == $i % 50 and (.resources | length) <= .limit" "$BATS_TEST_TMPDIR/out.$i" >/dev/null; done
}

@test "serve: conditional requests, HEAD, other methods, foreign hosts" {
    start_server --host farm.example
    tag=$(curl -sfI "${base}api/containers" | tr -d '\r' | sed -n 's/^ETag: //p')
    [ -n "$tag" ]
    [ "$(curl -s -o body -w '%{http_code}' -H "If-None-Match: $tag" "${base}api/containers")" = 304 ]
    [ "$(curl -s -o body -w '%{http_code}' -X PUT -d x "${base}api")" = 405 ]
    [ "$(curl -s -o body -w '%{http_code}' -H 'Host: evil.example' "${base}api")" = 403 ]
    [ "$(curl -s -o body -w '%{http_code}' -H 'Host: farm.example:80' "${base}api")" = 200 ]
    [ "$(curl -s -o body -w '%{http_code}' --path-as-is "${base}../../../../etc/passwd")" = 404 ]
    [ "$(curl -s -o body -w '%{http_code}' -H "X: $(head -c 30000 /dev/zero | tr '\0' a)" "${base}api")" = 431 ]
}

@test "serve: what cannot be served is said at once" {
    run -2 --separate-stderr anchorage serve
    run -2 --separate-stderr anchorage serve -s "$BATS_FILE_TMPDIR/store" --listen nowhere
    [[ $stderr == *nowhere*ADDRESS:PORT* ]]
    run -3 --separate-stderr anchorage serve -s "$BATS_TEST_TMPDIR/none" --listen 127.0.0.1:0
    [ -z "$output" ]
    start_server
    run -3 --separate-stderr anchorage serve -s "$BATS_FILE_TMPDIR/store" --listen "${base:7:-1}"
    [[ $stderr == *"${base:7:-1}"*"in use"* ]]
}
