#!/bin/sh
# The demonstration behind `make demo`: a small corpus of every format, one run over it, and where to look.
#   docs/demo.sh PROGRAM DIRECTORY
set -eu
program=$1 directory=$2

say() { printf '\n$ anchorage %s\n' "$*"; }
# Prints the command as a user would type it, then runs it.
show() { say "$@"; "$program" "$@"; }

rm -rf "$directory"
mkdir -p "$directory"
show corpus -o "$directory/corpus" --seed 1 --scale 0.01
echo "A small corpus of every format, in folders and archives. Many of its files are broken on purpose, each in a way that
has been met: what the program makes of them can be compared with truth.jsonl beside them."
say run -s "$directory/store" "$directory/corpus"
# truth.jsonl and captures.jsonl lie beside the containers and count as unknown content.
"$program" run -q -s "$directory/store" "$directory/corpus"

printf '\nThe largest models:\n'
"$program" query -s "$directory/store" --status decoded,proven,assigned |
    awk -F'\t' 'NR > 1 { print $6 "\t" $1 "\t" $2 "\t" $9 }' | sort -k1,1nr | head -n 5

address=$("$program" query -s "$directory/store" --status decoded --min-triangles 100 |
    awk -F'\t' 'NR == 2 { print $9 }')
show export -s "$directory/store" "$address" -o "$directory/model.glb"
show check "$directory/store"
printf '\nThe corpus, its truth (truth.jsonl), the store and model.glb are in %s.\n' "$directory"
