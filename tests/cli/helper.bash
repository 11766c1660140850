# helper.bash - what the command-line tests share. Loaded by every *.bats file.
#
# ANCHORAGE is the program; without it, the release build of this tree. The corpus of seed 7 is made once per file of
# tests (corpus), a store of it likewise (store).

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${ANCHORAGE:=$ROOT/build/release/anchorage}"
export LC_ALL=C
bats_require_minimum_version 1.5.0

anchorage() { "$ANCHORAGE" "$@"; }

make_corpus() { anchorage corpus -o "$BATS_FILE_TMPDIR/corpus" --seed 7 --scale 0.01 "$@"; } # make_corpus [OPTION...]
make_store() { (cd "$BATS_FILE_TMPDIR/corpus" && anchorage run -q -s ../store . >/dev/null); }

# A BGF of one triangle, byte for byte by the format page: HEADER(FILETYPE 0), OBJECT(LOD(PATCH(PMESH(XYZ, CONN)))), DONE.
write_bgf() { # write_bgf FILE
    {
        printf 'DIV-BIZ2'
        printf '\x03\x00\x04\x07\x20\x01\x00'
        printf '\x40\x00\x3f\x41\x00\x3c\x42\x00\x39\x46\x00\x36'
        printf '\x80\x00\x24'
        printf '\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
        printf '\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x00\x00'
        printf '\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x00'
        printf '\x47\x00\x0c\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00'
        printf '\x05\x00\x00'
    } >"$1"
}
