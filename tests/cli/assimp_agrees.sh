#!/bin/sh
# Whether assimp, which shares no code with this program, finds the same counts in an exported file.
#
#   tests/cli/assimp_agrees.sh FILE VERTICES FACES
#
# Read raw: assimp's post-processing would join equal vertices and drop degenerate faces. Primitives that share
# vertices are counted once each by assimp. Of an OBJ it counts a vertex for each corner. Exit status: 0 they agree,
# 1 they do not, 2 usage.
set -eu
[ $# -eq 3 ] || {
    echo "usage: assimp_agrees.sh FILE VERTICES FACES" >&2
    exit 2
}
if ! report=$(assimp info "$1" --raw 2>&1); then
    printf '%s: assimp cannot read it\n%s\n' "$1" "$report" >&2
    exit 1
fi
found=$(printf '%s\n' "$report" | awk '/^Vertices:/ { v = $2 } /^Faces:/ { f = $2 } END { print v, f }')
if [ "$found" != "$2 $3" ]; then
    echo "$1: assimp finds (vertices faces) $found, expected $2 $3" >&2
    exit 1
fi
