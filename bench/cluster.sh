#!/bin/bash
# What shards cost: bench/cluster.sh PROGRAM [SCALE] [DIRECTORY]. Prints a table in Markdown.
#
# A corpus (`anchorage corpus --scale SCALE`, and its largest folder once more as one plain tar) is run as a whole, and as
# 1, 2, 4 and 8 shards one after the other on this machine: plan, shards, merge. Each side is run three times, in turns,
# and the least user time counts: it is what sharding costs, whatever else the machine does; wall
# clock is beside it. Then 64 shards are merged, for the peak of anonymous memory.
set -eu
program=$(realpath "$1") scale=${2:-0.1}
work=$(mktemp -d "${3:-/tmp}/cluster-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

"$program" corpus -o corpus --seed 3 --scale "$scale"
tar cf corpus/stage.tar -C corpus stage

# cost COMMAND...: "user-seconds wall-seconds"
cost() {
    local TIMEFORMAT='%U %S %R' out
    out=$({ time "$@" >/dev/null 2>&1; } 2>&1)
    echo "$out" | awk '{ print $1, $3 }'
}
least() { # least FILE: of lines "user wall", by column
    awk 'NR == 1 || $1 < p { p = $1 } NR == 1 || $2 < w { w = $2 } END { print p, w }' "$1"
}
shards() { # shards N
    local k
    rm -rf s.*
    for ((k = 0; k < $1; k++)); do "$program" run -q -s s.$k --plan plan --shard $k/$1; done
}
fresh() { rm -rf "$@"; }

for round in 1 2 3; do
    fresh one
    cost "$program" run -q -s one corpus >>one.cost
    for n in 1 2 4 8; do
        cost "$program" plan -o plan --shards $n corpus >>plan.$n
        cost shards $n >>shards.$n
        fresh all
        cost "$program" merge -o all s.* >>merge.$n
    done
done
[ "$("$program" check one --digest)" = "$("$program" check all --digest)" ] || { echo "digests differ" >&2; exit 1; }

read -r one one_wall < <(least one.cost)
bytes=$(stat -c %s all/data.mdb)
resources=$("$program" query -s all --json | wc -l)
echo "$(du -sm corpus | cut -f1) MB, $resources resources, a store of $((bytes / 1000000)) MB; one run: $one s user time, $one_wall s wall"
echo
echo "| shards | plan | shards | merge with passes | all, against one run | wall, against one run |"
echo "|---:|---:|---:|---:|---:|---:|"
for n in 1 2 4 8; do
    echo "$n $(least plan.$n) $(least shards.$n) $(least merge.$n) $one $one_wall" |
        awk '{ printf "| %d | %.2f s | %.2f s | %.2f s | %+.0f %% | %+.0f %% |\n",
                      $1, $2, $4, $6, 100 * (($2 + $4 + $6) / $8 - 1), 100 * (($3 + $5 + $7) / $9 - 1) }'
done
echo

# 64 shards: the merge alone by its own clock, and its anonymous memory every few milliseconds.
"$program" plan -o plan --shards 64 corpus 2>/dev/null
shards 64 >/dev/null
"$program" merge -o all s.* >merged &
pid=$! peak=0
while kill -0 $pid 2>/dev/null; do
    now=$(awk '/RssAnon/ { print $2 }' /proc/$pid/status 2>/dev/null || echo 0)
    [ "${now:-0}" -gt $peak ] && peak=$now
    sleep 0.005
done
wait $pid
head -1 merged
seconds=$("$program" merge -o all --json s.* | jq .seconds)
echo "$bytes $resources $seconds" | awk '{ printf "64 shards: %.0f MB/s, %.0f resources/s without the passes\n", $1 / $3 / 1e6, $2 / $3 }'
echo "peak of anonymous memory, passes included: $((peak / 1024)) MiB"
