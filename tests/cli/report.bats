# Reports of a store: files, their figures, and how the command fails.

setup_file() {
    load helper
    make_corpus
    make_store
}

setup() { load helper; }

@test "a report has every file, and its figures are the store's" {
    cd "$BATS_TEST_TMPDIR"
    run -0 anchorage report -s "$BATS_FILE_TMPDIR/store" -o out
    [[ $output == *"out/index.html"*"out/metrics.prom"*"pictures drawn"* ]]
    resources=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json | wc -l)
    [ "$(jq '.resources | length' out/report.json)" = "$resources" ]
    [ "$(jq '[.totals.resources[]] | add' out/report.json)" = "$resources" ]
    [ "$(jq '.schema == "anchorage-report" and .version == 1' out/report.json)" = true ]
    [ "$(jq '[.containers[].coverage // {} | .[]] | add' out/report.json)" = "$(jq '[.coverage[]] | add' out/report.json)" ]
    declined=$(jq '.totals.resources.declined' out/report.json)
    grep -q "^anchorage_resources{store=\".*\",status=\"declined\"} $declined$" out/metrics.prom
    geometries=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json |
        jq -r '.geometry // empty, (.alternatives // [] | .[].geometry // empty)' | sort -u | wc -l)
    [ "$(find out/thumbs -name '*.png' | wc -l)" = "$geometries" ]
    run -0 anchorage report -s "$BATS_FILE_TMPDIR/store" -o out
    [[ $output == *"0 pictures drawn"* ]]
    [ -z "$(find out -name '*.part-*')" ]
}

@test "promtool is content with the metrics" {
    command -v promtool >/dev/null || skip "there is no promtool (Debian's prometheus)"
    cd "$BATS_TEST_TMPDIR"
    anchorage report -s "$BATS_FILE_TMPDIR/store" -o out --no-thumbnails
    [ ! -e out/thumbs ]
    run -0 promtool check metrics <out/metrics.prom
    [ -z "$output" ]
}

@test "run --report writes it at the end, and it tells of that run" {
    cd "$BATS_TEST_TMPDIR"
    write_bgf model.bgf
    run -0 anchorage run -q -s store --report out model.bgf
    [ "$(jq '.run.run' out/report.json)" = 1 ]
    [ "$(jq -c '[.run.stages[].stage] | index("ingest", "ingest/extract", "ingest/decode", "ingest/commit", "resolve") != null' out/report.json | sort -u)" = true ]
    [ "$(jq '[.run.stages[] | select(.stage | contains("/")) | .seconds > 0] | all' out/report.json)" = true ]
    [ -s out/index.html ]
    run -0 anchorage run -q -s store --report out model.bgf
    [ "$(jq -c '[.run.run, .change.decoded]' out/report.json)" = "[2,0]" ]
    write_bgf good.bgf
    # Under what it ran: the limits as they were asked for, and the sandbox.
    anchorage run -q -s limited --max-depth 3 --max-ratio 0 --report limited.report good.bgf >/dev/null
    [ "$(jq -r '.runs[-1].conditions | [.["max-depth"], .["max-ratio"], .["max-seconds"]] | join(" ")' limited.report/report.json)" = "3 none 3 600" ]
    [ "$(jq -r '.runs[-1].conditions.sandbox' limited.report/report.json)" != null ]
}

@test "a report that cannot be made says why" {
    cd "$BATS_TEST_TMPDIR"
    run -2 anchorage report -s "$BATS_FILE_TMPDIR/store"
    run -2 anchorage report -o out
    run -2 anchorage report -s "$BATS_FILE_TMPDIR/store" -o out more
    run -3 anchorage report -s nothing -o out
    [ ! -e out ]
    run -3 anchorage report -s "$BATS_FILE_TMPDIR/store" -o not/there
    [[ $output == *"not/there"* ]]
    echo >file
    run -3 anchorage report -s "$BATS_FILE_TMPDIR/store" -o file
}
