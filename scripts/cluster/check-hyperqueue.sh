#!/usr/bin/env bash
# check-hyperqueue.sh BALANCELAB DIR PYTHON: checks sharded runs against HyperQueue's server and
# scheduler, in DIR (emptied first): that tasks give the files of a single process, byte for byte,
# and still do after tasks are killed. PYTHON is one that has HyperQueue's package:
#     python3 -m venv VENV && VENV/bin/pip install hyperqueue==0.27.0
# Its workers are part of the scheduler's process: the loss of a worker is not checked here. Needs
# root. All happens in network and process namespaces of its own.
set -euo pipefail

if [ $# -ne 3 ]; then
    echo "usage: check-hyperqueue.sh BALANCELAB DIR PYTHON" >&2
    exit 2
fi
if ! "$3" -c 'import hyperqueue'; then
    echo "check-hyperqueue.sh: $3 has no hyperqueue; $3 -m pip install hyperqueue==0.27.0" >&2
    exit 1
fi
# Before the current folder is another. Not resolved: a venv's python3 is a link out of it.
python=$(cd "$(dirname "$(command -v "$3")")" && pwd)
. "$(dirname "$(readlink -f "$0")")/checks.sh"
# The stand-in for `hq` runs with the `python3` that is found first.
PATH=$here:$python:$PATH

# submit SPEC FOLDER SHARDS [ENGINE OPTIONS] submits what is missing and waits, as the stand-in
# does.
submit() {
    local spec=$1 folder=$2 shards=$3
    shift 3
    echo "--- submit $spec to $folder" >>said
    timeout 120 "$program" submit "$spec.yaml" --engine hq --shards "$shards" --out "$folder" \
        -- "$@" >>said 2>&1
}

merge() {
    "$program" merge "$1" >>said 2>&1
}

references

echo "# a sweep over two workers"
# A folder whose name a shell could stumble over.
submit short "it's 100% \"a\"" 45
merge "it's 100% \"a\""
holds "45 shards over two workers give the files of one process" equal "it's 100% \"a\"" short
submit short wide 4 --cpus=2
merge wide
holds "and so do shards of two threads each" equal wide short
check "submitting a finished sweep is refused" "$(code submit short wide 4)" 2

echo "# a task is killed once"
submit long again 8 &
kill_runner 3/8 again
holds "it starts again by itself" wait $!
merge again
holds "the result is that of one process" equal again long

echo "# a task is killed whenever it starts"
submit long killed 8 &
for start in 1 2 3; do
    kill_runner 2/8 killed
done
gone() {
    ! wait "$1"
}
holds "after three starts it is given up" gone $!
check "exactly the killed shard is missing" "$(missing killed)" 2
check "its ends are kept" "$(grep -c 'exit code 137' killed/unfinished/error-000002.txt)" 3
check "merge refuses" "$(code "$program" merge killed)" 3
submit long killed 8
merge killed
holds "the same submission completes it" equal killed long

total
