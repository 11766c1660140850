#!/usr/bin/env bats
# repair: all that is sound stays, what is not is named, and the next run makes it whole again.

load helper

setup_file() {
    make_corpus
    cd "$BATS_FILE_TMPDIR/corpus"
    anchorage run -q -s ../store . --captures captures.jsonl >/dev/null
}

setup() {
    command -v perl >/dev/null || skip "perl is missing"
    cp -r "$BATS_FILE_TMPDIR/store" "$BATS_TEST_TMPDIR/s"
    want=$(digest "$BATS_FILE_TMPDIR/store")
    cd "$BATS_FILE_TMPDIR/corpus"
    store=$BATS_TEST_TMPDIR/s
}

digest() { anchorage check "$1" --digest; }
run_again() { anchorage run -q -s "$store" . --captures captures.jsonl >/dev/null; }

# spoil NEEDLE-IN-HEX OFFSET: flips a bit OFFSET bytes behind every place where these bytes stand in the data file.
spoil() {
    perl -e '
        my ($file, $hex, $offset) = @ARGV;
        open(my $f, "+<:raw", $file) or die;
        local $/;
        my ($bytes, $needle, $count, $at) = (<$f>, pack("H*", $hex), 0, -1);
        while (($at = index($bytes, $needle, $at + 1)) >= 0) {
            seek($f, $at + $offset, 0);
            print $f chr(ord(substr($bytes, $at + $offset, 1)) ^ 4);
            $count++;
        }
        exit !$count;
    ' "$store/data.mdb" "$1" "$2"
}

# spoil_pages FLAG COUNT: overwrites COUNT pages of trees: 1 branches, 2 leaves.
spoil_pages() {
    perl -e '
        my ($file, $flag, $most) = @ARGV;
        open(my $f, "+<:raw", $file) or die;
        local $/;
        my ($bytes, $count) = (<$f>, 0);
        for my $page (reverse 2 .. int(length($bytes) / 4096) - 1) {
            my ($n, $pad, $flags) = unpack("Q<S<S<", substr($bytes, 4096 * $page, 12));
            next unless $n == $page && $flags == $flag && $count++ < $most;
            seek($f, 4096 * $page, 0);
            print $f "\xA5" x 4096;
        }
        exit !$count;
    ' "$store/data.mdb" "$1" "$2"
}

# Every page of the store counts: one that is free may be spoiled and nothing is wrong.
without_free_pages() {
    command -v mdb_copy >/dev/null || skip "mdb_copy is missing (package lmdb-utils)"
    rm -rf "$store" "$store".damaged*
    mkdir "$store"
    mdb_copy -c "$BATS_FILE_TMPDIR/store" "$store"
}

@test "repair: a sound store is left as it is" {
    before=$(sha256sum <"$store/data.mdb")
    run -0 anchorage repair "$store"
    [[ $output == "sound: "* ]]
    [ "$(sha256sum <"$store/data.mdb")" = "$before" ]
    [ ! -e "$store.damaged" ]
}

@test "repair: a geometry that is wrong costs the contents that use it, and nothing else" {
    hash=$(anchorage query -s "$store" --json --status proven --limit 1 | jq -r .geometry)
    users=$(anchorage query -s "$store" --json | jq -r --arg hash "$hash" 'select(.geometry == $hash) | .container' | sort -u)
    # Wherever the hash stands as a key of this length a value begins behind it; in records it is data. One of both.
    spoil "$hash" 40
    run -3 anchorage check "$store"
    run -0 anchorage repair "$store"
    for container in $users; do [[ $output == *"to be decoded again: $container"* ]]; done
    [[ $output == *"saved: "* && -d $store.damaged ]]
    anchorage check "$store"
    # What is saved is what it was.
    diff <(anchorage query -s "$store" --json | jq -c '[.container, .index, .name, .geometry]') \
        <(anchorage query -s "$BATS_FILE_TMPDIR/store" --json | jq -c '[.container, .index, .name, .geometry]' |
            grep -F -f <(anchorage query -s "$store" --containers --json | jq -r '"[" + (.container | tojson) + ","'))
    run_again
    [ "$(digest "$store")" = "$want" ]
}

@test "repair: pages that are gone: branches, leaves, both" {
    for what in "1 1" "1 100" "2 1" "2 30"; do
        without_free_pages
        # shellcheck disable=SC2086 # two words
        spoil_pages $what
        run -3 anchorage query -s "$store"
        [[ $output == *"is damaged"*"anchorage repair"* ]]
        run -3 anchorage run -q -s "$store" .
        [[ $output == *"is damaged"* ]]
        run -0 anchorage repair "$store"
        anchorage check "$store"
        run_again
        [ "$(digest "$store")" = "$want" ] || { echo "another digest after $what"; false; }
    done
}

@test "repair: a branch page that is gone costs nothing: the pages below it are found" {
    spoil_pages 1 1
    total=$(anchorage query -s "$BATS_FILE_TMPDIR/store" --json | wc -l)
    anchorage repair "$store" >/dev/null
    [ "$(anchorage query -s "$store" --json | wc -l)" -eq "$total" ]
}

@test "repair: one head is gone" {
    printf 'XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX' | dd of="$store/data.mdb" bs=1 seek=4096 conv=notrunc 2>/dev/null
    run -3 anchorage query -s "$store"
    run -0 anchorage repair "$store"
    anchorage check "$store"
    run_again
    [ "$(digest "$store")" = "$want" ]
}

@test "repair: a store as one file; a second repair keeps both damaged ones" {
    without_free_pages
    cp "$store/data.mdb" "$BATS_TEST_TMPDIR/one.mdb"
    store=$BATS_TEST_TMPDIR/one.mdb
    for kept in damaged damaged.2; do
        printf '\377' | dd of="$store" bs=1 seek=$((4096 * 3 + 10)) conv=notrunc 2>/dev/null
        printf '\377' | dd of="$store" bs=1 seek=$((4096 * 4 + 10)) conv=notrunc 2>/dev/null
        run -3 anchorage query -s "$store"
        anchorage repair "$store" >/dev/null
        [ -s "$store.$kept" ]
        anchorage check "$store"
    done
    run_again
    [ "$(digest "$store")" = "$want" ]
}

@test "repair: what is no store, and what is being written, is left alone" {
    mkdir "$BATS_TEST_TMPDIR/empty"
    run -3 anchorage repair "$BATS_TEST_TMPDIR/empty"
    head -c 100000 /dev/zero >"$BATS_TEST_TMPDIR/zero.mdb"
    run -3 anchorage repair "$BATS_TEST_TMPDIR/zero.mdb"
    [[ $output == *"nothing can be had"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/zero.mdb.damaged" ]
    run -3 anchorage repair "$BATS_TEST_TMPDIR/none"
    run -2 anchorage repair
    [ -z "$(find "$BATS_TEST_TMPDIR" -name '*tmp-*')" ]
}
