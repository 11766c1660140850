#!/usr/bin/env bats
# query --sql: the database says what the store says, whatever names are like, and docs/sql.md can be believed.

load helper

setup_file() {
    make_corpus
    make_store
    anchorage query -s "$BATS_FILE_TMPDIR/store" --sql "$BATS_FILE_TMPDIR/db"
}

setup() {
    command -v sqlite3 >/dev/null || skip "sqlite3 is missing"
    store=$BATS_FILE_TMPDIR/store
    db=$BATS_FILE_TMPDIR/db
}

sql() { sqlite3 "$db" "$@"; }

@test "sql: sound by SQLite's own checks, and nothing is left beside it" {
    [ "$(sql 'PRAGMA integrity_check')" = ok ]
    [ -z "$(sql 'PRAGMA foreign_key_check')" ]
    [ "$(echo "$db"*)" = "$db" ]
    [ "$(sql "SELECT value FROM meta WHERE key = 'schema'")" = 1 ]
}

@test "sql: resources and containers are those of --json" {
    diff <(anchorage query -s "$store" --json | jq -c '[.container + "#" + (.index | tostring), .name, .format, .status, .reason, .vertices, .triangles, .geometry, .canonical.geometry, .canonical.basis, 1 + (.also | length), .error.message, .error.offset]') \
        <(sql "SELECT json_array(address, name, format, status, reason, vertices, triangles, geometry, canonical, basis, places, message, error_offset) FROM resource_list ORDER BY id" | jq -c .)
    diff <(anchorage query -s "$store" --containers --json | jq -c '[.container, .format, .bytes, .status, .reason, .resources, .decoded, .ambiguous, .declined]') \
        <(sql "SELECT json_array(path, format, bytes, status, reason, resources, decoded, ambiguous, declined) FROM container_list ORDER BY id" | jq -c .)
}

@test "sql: places, alternatives, findings, runs and unknown content are all there" {
    [ "$(sql 'SELECT count(*) FROM findings')" -eq "$(anchorage query -s "$store" --findings --json | wc -l)" ]
    [ "$(sql 'SELECT count(*) FROM finding_sides WHERE resource_id IS NOT NULL')" -eq "$(anchorage query -s "$store" --findings --json | jq -s 'map(.sides | length) | add')" ]
    [ "$(sql 'SELECT count(*) FROM runs')" -eq 1 ]
    [ "$(sql 'SELECT count(*) FROM unknown')" -eq "$(anchorage query -s "$store" --unknown --json | wc -l)" ]
    [ "$(sql 'SELECT count(*) FROM declined_census')" -eq "$(anchorage query -s "$store" --declined --json | wc -l)" ]
    # Of every ambiguous resource one candidate is chosen, the others are its alternatives.
    diff <(anchorage query -s "$store" --status ambiguous --json | jq -c '[.container + "#" + (.index | tostring), (.alternatives | length)]') \
        <(sql "SELECT json_array(address, (SELECT count(*) FROM candidates k WHERE k.resource_id = r.id AND NOT chosen)) FROM resource_list r WHERE status = 'ambiguous' ORDER BY id" | jq -c .)
    diff <(anchorage query -s "$store" --coverage --json | jq -c '[.container, .bytes["vertex-like"], .bytes.texture]') \
        <(sql 'SELECT json_array(path, vertex_like_bytes, texture_bytes) FROM coverage_by_container ORDER BY id' | jq -c .)
}

@test "sql: the ten questions of docs/sql.md have answers" {
    awk '/^```sql/ { n++; next } /^```/ { next } n { print > ("'"$BATS_TEST_TMPDIR"'/" n ".sql") } /^```$/ { }' \
        <(sed -n '/^## Ten/,$p' "$ROOT/docs/sql.md" | sed -E '/^([0-9]+\.|$)/d')
    [ "$(ls "$BATS_TEST_TMPDIR" | wc -l)" -eq 10 ]
    for query in "$BATS_TEST_TMPDIR"/*.sql; do
        run -0 sqlite3 "$db" ".read $query"
        [ -n "$output" ] || { echo "no rows: $query" && cat "$query" && false; }
    done
}

@test "sql: names are values, never statements" {
    cd "$BATS_TEST_TMPDIR"
    evil=$'x\'); DROP TABLE resources; --\033[31m<script>\xff.bgf'
    write_bgf "$evil"
    tar cf t.tar "$evil"
    anchorage run -q -s s t.tar >/dev/null
    anchorage query -s s --sql e.sqlite
    [ "$(sqlite3 e.sqlite 'SELECT hex(name) FROM resources')" = "$(printf '%s' $'x\'); DROP TABLE resources; --\033[31m<script>%FF' | od -An -tx1 | tr -d ' \n' | tr a-f A-F)" ]
    [ "$(sqlite3 e.sqlite 'PRAGMA integrity_check')" = ok ]
}

@test "sql: an old database is replaced, any other file is not, nor one in use" {
    cd "$BATS_TEST_TMPDIR"
    cp "$db" old
    anchorage query -s "$store" --sql old
    cmp old "$db"
    echo precious >notes
    run -3 anchorage query -s "$store" --sql notes
    [[ $output == *"no SQLite database"* && $(cat notes) == precious ]]
    : >old-wal
    run -3 anchorage query -s "$store" --sql old
    [[ $output == *"old-wal"* ]]
    run -3 anchorage query -s "$store" --sql none/db
    [[ $output == *none/db* ]]
    [ -z "$(find . -name '*.part-*')" ]
}

@test "sql: what selects or prints makes no sense with it" {
    for option in --json --containers '--limit 3' '--sort name' '--status declined'; do
        run -2 anchorage query -s "$store" --sql "$BATS_TEST_TMPDIR/x" $option
        [ ! -e "$BATS_TEST_TMPDIR/x" ]
    done
}
