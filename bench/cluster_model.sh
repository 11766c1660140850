#!/bin/bash
# A night on a cluster, simulated: bench/cluster_model.sh [NAME=VALUE...]. Prints when each part ends and what was busy.
#
# Shards are taken by nodes as they become free, as a Slurm array is. Each shard costs its launch (the controller starts
# so many a second), reading its bytes (at its own node's rate, and all nodes share the storage's), decoding, writing
# its store on the node, and publishing it (sharing the storage again). Then one machine merges: it reads all published
# stores, writes the result, and runs the passes. Defaults are the figures of bench/README.md; docs/operations.md has
# the same as formulas, and this checks them.
set -eu
total_gb=10000 nodes=1000 shards=1000 skew=1.2 # skew: the largest shard against the mean
launch_per_s=10 overhead_s=1                   # tasks the controller starts, and what each costs beside its work
node_gbs=0.36 storage_gbs=20                   # a node decodes this much input; the storage delivers that much to all
store_share=0.094                              # bytes of store for a byte of input
merge_gbs=0.2 local_gbs=1                      # of store merged; what the reduce machine's disk writes
resources_per_gb=10500 pass_us=60 pass_kb=4.9  # resources in a GB of input; time and memory of the passes for each
pass_threads=1
for setting in "$@"; do
    case $setting in *[!a-z_0-9.=]* | *=*=*) echo "not a setting: $setting" >&2; exit 2 ;; esac
    eval "$setting"
done
awk -v total="$total_gb" -v nodes="$nodes" -v shards="$shards" -v skew="$skew" -v rate="$launch_per_s" \
    -v overhead="$overhead_s" -v node="$node_gbs" -v storage="$storage_gbs" -v share="$store_share" -v merge="$merge_gbs" \
    -v per="$resources_per_gb" -v pass="$pass_us" -v kb="$pass_kb" -v threads="$pass_threads" -v disk="$local_gbs" '
BEGIN {
    mean = total / shards; step = 0.25; t = 0
    for (i = 0; i < shards; i++) left[i] = mean * (2 - skew + 2 * (skew - 1) * (i + 0.5) / shards)
    queued = shards; free = nodes; credit = 0; done = 0; busy_storage = 0
    # Time goes in steps; who is reading shares the storage evenly.
    while (done < shards) {
        credit += rate * step
        while (credit >= 1 && free > 0 && queued > 0) {
            queued--; free--; credit--; ready[queued] = t + overhead; running[queued] = 1
        }
        if (credit > rate) credit = rate
        active = 0
        for (i = queued; i < shards; i++) if (running[i] && t >= ready[i]) active++
        each = active ? storage / active : 0
        if (each > node) each = node
        busy_storage += each * active / storage * step
        for (i = queued; i < shards; i++) if (running[i] && t >= ready[i]) {
            left[i] -= each / (1 + share) * step # what is published goes the same way
            if (left[i] <= 0) { running[i] = 0; done++; free++ }
        }
        t += step
    }
    map = t
    store = total * share
    reading = store / storage; merging = store / merge; writing = store / disk
    merging = merging > reading ? merging : reading; merging = merging > writing ? merging : writing
    passes = total * per * pass / 1e6 / threads
    printf "map     %8.0f s   (launching %.0f s, storage %.0f s, nodes %.0f s if each were alone; storage busy %.0f %%)\n",
        map, shards / rate, total * (1 + share) / storage, total * (1 + share) / node / (nodes < shards ? nodes : shards), 100 * busy_storage / map
    printf "merge   %8.0f s   (%.0f GB of stores)\n", merging, store
    printf "passes  %8.0f s   (%.0f million resources, %.0f GB of memory)\n", passes, total * per / 1e6, total * per * kb / 1e6
    printf "night   %8.0f s\n", map + merging + passes
}'
