#!/bin/bash
# One wrong bit in a store: no command gives wrong data or dies by a signal, and repair followed by a run brings back
# the digest of the undamaged store.
#
#   tests/hostile/run_flips.sh RELEASE_BUILD [FLIPS]
#
# Every second bit lies in a page of a tree, where LMDB would believe it; the others anywhere in the file.
set -u
build=$(cd "${1:?usage: tests/hostile/run_flips.sh RELEASE_BUILD [FLIPS]}" && pwd)
flips=${2:-500}
anchorage=$build/anchorage
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C

"$anchorage" corpus -o in --seed 11 --scale 0.01 >/dev/null
"$anchorage" run -q -s sound in --captures in/captures.jsonl >/dev/null
digest=$("$anchorage" check sound --digest)
address=$("$anchorage" query -s sound --status decoded,proven --json --limit 1 --sort -triangles |
    sed 's/^{"container":"\([^"]*\)".*"index":\([0-9]*\),.*/\1#\2/')

# What is asked of each store. The answer is the sound store's, or status 3.
questions=(
    "query -s STORE --json"
    "query -s STORE --containers --json"
    "query -s STORE --findings --json"
    "query -s STORE --coverage --json"
    "query -s STORE --runs --json"
    "show -s STORE $address --json"
    "export -s STORE $address -o -"
    "check STORE --digest"
)
# ask QUESTION STORE: the answer to stdout.
ask() {
    local words
    read -ra words <<<"${1//STORE/$2}"
    case ${words[0]} in export) words+=(--format obj) ;; esac
    "$anchorage" "${words[@]}"
}
for i in "${!questions[@]}"; do ask "${questions[$i]}" sound >"want.$i" 2>/dev/null; done

# flip FILE NUMBER: flips a bit that depends on the number alone, and prints where.
flip() {
    perl -e '
        use strict;
        my ($file, $number) = @ARGV;
        open(my $f, "+<:raw", $file) or die;
        local $/;
        my $bytes = <$f>;
        my $state = $number * 2654435761 % 4294967296;
        my $next = sub { $state = ($state * 1103515245 + 12345) % 2147483648; int($state / 65536) };
        my ($pages, $page) = (int(length($bytes) / 4096), 0);
        my @trees = grep { my ($n, $pad, $flags) = unpack("Q<S<S<", substr($bytes, 4096 * $_, 12));
                           $n == $_ && ($flags & 3) } 2 .. $pages - 1;
        $page = $number % 2 ? $trees[$next->() % @trees] : ($next->() * 32768 + $next->()) % $pages;
        my $at = 4096 * $page + ($number % 4 == 1 ? $next->() % 64 : $next->() % 4096);
        my $bit = $next->() % 8;
        seek($f, $at, 0);
        print $f chr(ord(substr($bytes, $at, 1)) ^ 1 << $bit);
        print "bit $bit of byte $at (page $page)\n";
    ' "$1" "$2"
}

# At length: every bit of a small store, in one process.
if [ "$flips" -ge 100 ] && [ -x "$build/tests/test_tree" ]; then
    if ANCHORAGE_FLIP_STEP=1 "$build/tests/test_tree" >tree.log 2>&1; then
        echo "ok - a small store: $(sed -n 's/^# //p' tree.log); the others changed nothing"
    else
        echo "not ok - a small store"
        tail -n 20 tree.log
    fi
fi

wrong=0 noticed=0 repaired=0
complain() {
    echo "flip $1, $(cat where): $2"
    wrong=$((wrong + 1))
}
for ((i = 1; i <= flips; i++)); do
    rm -rf bad bad.damaged*
    cp -r sound bad
    flip bad/data.mdb "$i" >where
    told=
    for k in "${!questions[@]}"; do
        ask "${questions[$k]}" bad >got 2>err
        code=$?
        case $code in
            0) cmp -s got "want.$k" || complain "$i" "another answer to '${questions[$k]}'" ;;
            3) told=yes ;;
            *) complain "$i" "status $code of '${questions[$k]}': $(head -c 200 err)" ;;
        esac
    done
    "$anchorage" check bad >got 2>err
    code=$?
    [ $code -eq 0 ] || [ $code -eq 3 ] || complain "$i" "status $code of check"
    [ $code -eq 3 ] || [ -z "$told" ] || complain "$i" "a command refused what check finds sound"
    [ $code -eq 0 ] || noticed=$((noticed + 1))
    "$anchorage" repair bad >got 2>err || complain "$i" "status $? of repair: $(head -c 300 err)"
    "$anchorage" check bad >/dev/null 2>&1 || complain "$i" "what was repaired is not sound"
    [ ! -e bad.damaged ] || repaired=$((repaired + 1))
    "$anchorage" run -q -s bad in --captures in/captures.jsonl >/dev/null 2>err || complain "$i" "status $? of run: $(head -c 200 err)"
    [ "$("$anchorage" check bad --digest 2>&1)" = "$digest" ] || complain "$i" "another digest after repair and run"
done
if [ $wrong -eq 0 ] && [ $noticed -gt 0 ] && [ $repaired -gt 0 ]; then
    echo "ok - $flips flips: $noticed noticed, $repaired repaired, the others changed nothing"
else
    echo "not ok - $flips flips: $noticed noticed, $repaired repaired, $wrong wrong"
fi
