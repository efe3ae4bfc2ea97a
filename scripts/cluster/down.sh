#!/usr/bin/env bash
# down.sh DIR: stops the Slurm that up.sh started in DIR, by the ids that it recorded and no others.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: down.sh DIR" >&2
    exit 2
fi
dir=$(cd "$1" && pwd)
export SLURM_CONF=$dir/slurm.conf

# Prints the ids of the daemons that still run.
running() {
    local file id
    for file in "$dir"/pid/*; do
        # A daemon that ends takes its file with it.
        id=$(cat "$file" 2>/dev/null) || continue
        [ -n "$id" ] || continue
        # An id may have passed to another program since: the daemon's arguments name DIR.
        if { tr '\0' ' ' <"/proc/$id/cmdline"; } 2>/dev/null | grep -qF "$dir/"; then
            echo "$id"
        fi
    done
}

# Jobs first: with slurmd gone nobody would end them. One controller that is down is waited for in
# vain, so it isn't asked.
if [ -s "$dir/pid/slurmctld" ] && kill -0 "$(cat "$dir/pid/slurmctld")" 2>/dev/null; then
    timeout 10 scancel --user="$(id -un)" 2>/dev/null || true
    for ((try = 0; try < 50; try++)); do
        [ -n "$(timeout 5 squeue -h -t R,CG 2>/dev/null | head -n 1)" ] || break
        sleep 0.2
    done
fi

for signal in TERM KILL; do
    for id in $(running); do
        kill -s "$signal" "$id" 2>/dev/null || true
    done
    for ((try = 0; try < 25; try++)); do
        [ -n "$(running)" ] || exit 0
        sleep 0.2
    done
done
echo "down.sh: still running: $(running | tr '\n' ' ')" >&2
exit 1
