#!/usr/bin/env bash
# kill-node.sh DIR NODE [agent]: takes a node away from the Slurm that up.sh started in DIR, as if
# its power had failed: its slurmd is killed, and all that it runs. With `agent` only slurmd is
# killed, and its jobs go on unseen, as if its network had failed: then a task runs twice.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: kill-node.sh DIR NODE [agent]" >&2
    exit 2
fi
dir=$(cd "$1" && pwd)
node=$2
if [ ! -s "$dir/pid/slurmd.$node" ]; then
    echo "kill-node.sh: $dir has no node $node" >&2
    exit 2
fi
kill -s KILL "$(cat "$dir/pid/slurmd.$node")"
if [ "${3:-}" = agent ]; then
    exit 0
fi

# What a job runs has the node's name in its environment. A slurmstepd that is its parent goes
# first, or it would report the death of its child.
for environment in /proc/[0-9]*/environ; do
    id=${environment#/proc/}
    id=${id%/environ}
    # A process may end while it is looked at.
    { tr '\0' '\n' <"$environment"; } 2>/dev/null | grep -qxF "SLURMD_NODENAME=$node" || continue
    parent=$(awk '/^PPid:/ { print $2 }' "/proc/$id/status" 2>/dev/null) || continue
    if { tr '\0' ' ' <"/proc/$parent/cmdline"; } 2>/dev/null | grep -q slurmstepd; then
        kill -s KILL "$parent" 2>/dev/null || true
    fi
    kill -s KILL "$id" 2>/dev/null || true
done
