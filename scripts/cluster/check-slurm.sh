#!/usr/bin/env bash
# check-slurm.sh BALANCELAB DIR: checks sharded runs against a real Slurm of two nodes, which it
# starts in DIR (emptied first): that a sweep over nodes gives the files of a single process, byte
# for byte, and still does after tasks, nodes and files are lost. Needs root and what up.sh needs.
# All happens in network and process namespaces of its own: nothing is sent anywhere but over a
# private loopback, and no daemon outlives the script.
set -euo pipefail

if [ $# -ne 2 ]; then
    echo "usage: check-slurm.sh BALANCELAB DIR" >&2
    exit 2
fi
# Slurm's variables of a job that this may run in would get into the jobs below.
for variable in $(compgen -e | grep -E '^(SLURM|SBATCH|SQUEUE|SCANCEL)_' || true); do
    unset "$variable"
done
. "$(dirname "$(readlink -f "$0")")/checks.sh"
no_jobs() {
    [ -z "$(squeue -h -o %i)" ]
}

# Waits until no job is left, a minute and a half at most; ends those that are.
drain() {
    if ! within 90 no_jobs; then
        squeue >&2
        failed=$((failed + 1))
        echo "FAIL  all jobs end"
        scancel --user="$(id -un)"
        within 20 no_jobs || true
    fi
}

# submit SPEC FOLDER SHARDS [ENGINE OPTIONS] submits what is missing, and notes what was said.
submit() {
    local spec=$1 folder=$2 shards=$3
    shift 3
    echo "--- submit $spec to $folder" >>said
    "$program" submit "$spec.yaml" --engine slurm --shards "$shards" --out "$folder" \
        -- "$@" >>said 2>&1
}

# restarts NAME prints how often Slurm started again tasks of jobs of this name.
restarts() {
    scontrol --oneliner show job |
        awk -v name="JobName=$1" '
            { hit = 0; for (i = 1; i <= NF; i++) if ($i == name) hit = 1 }
            hit && match($0, / Restarts=[0-9]+/) { sum += substr($0, RSTART + 10, RLENGTH - 10) }
            END { print sum + 0 }'
}

# Prints the nodes on which jobs of this name ended.
nodes() {
    sed -n "s/.* Name=$1 .* NodeList=\([^ ]*\) .*/\1/p" slurm/log/jobcomp | sort -u | tr '\n' ' '
}

last_job() {
    scontrol --oneliner show job | sed -n 's/^JobId=\([0-9]*\) .*/\1/p' | sort -n | tail -n 1
}

end() {
    "$here/down.sh" "$dir/slurm" || true
}
"$here/up.sh" slurm 2 2
export SLURM_CONF=$dir/slurm/slurm.conf
references

echo "# a sweep over two nodes"
# A folder whose name a shell could stumble over.
submit short "it's 100% \"a\"" 40
drain
holds "40 shards over two nodes give the files of one process" equal "it's 100% \"a\"" short
check "both nodes worked" "$(nodes short)" "n1 n2 "

echo "# nothing is missing"
last=$(last_job)
check "submitting a finished sweep is refused" "$(code submit short "it's 100% \"a\"" 40)" 2
check "and starts no job" "$(last_job)" "$last"
for shard in 1 2 3; do
    "$program" run short.yaml --shard $shard/3 --out complete --quiet
done
check "submitting complete shards is refused" "$(code submit short complete 3)" 2
check "and starts no job" "$(last_job)" "$last"
check "status says that they are complete" "$(code "$program" status complete)" 0

echo "# a task is killed, and Slurm may not start it again"
submit long killed 8 --no-requeue
kill_runner 2/8 killed
drain
check "exactly the killed shard is missing" "$(missing killed)" 2
check "status says so with its exit code" "$(code "$program" status killed)" 3
holds "the merge job named it" grep -q 'missing.*\<2\>' killed/merge.log
check "its end is kept" "$(grep -c 'exit code 137' killed/unfinished/error-000002.txt)" 1
check "merge refuses" "$(code "$program" merge killed)" 3
submit long killed 8
drain
holds "the same submission completes it" equal killed long

echo "# a task is killed, and starts again by itself"
submit long again 8
# The last one, whose plain job id is that of the whole array: the others must not start again.
kill_runner 8/8 again
drain
holds "the result is there without more ado" equal again long
check "one start was enough" "$(restarts long)" 1

echo "# a job is cancelled"
before=$(restarts long)
submit long cancelled 8
within 60 runner 1/8 cancelled
sleep 0.4
scancel --user="$(id -un)"
drain
check "the program had time to end" \
    "$(grep -c 'exit code 130' cancelled/unfinished/error-000001.txt)" 1
check "nothing was started again" "$(restarts long)" "$before"
submit long cancelled 8
drain
holds "the same submission completes it" equal cancelled long

echo "# shards are torn"
for shard in 1 2 3 4 5 6 7 8; do
    "$program" run short.yaml --shard $shard/8 --out torn --quiet
done
truncate -s -20 torn/unfinished/shard-000002-*.parquet
echo "no parquet" >"$(echo torn/unfinished/shard-000005-*.parquet)"
: >"$(echo torn/unfinished/shard-000006-*.parquet)"
check "status finds them" "$(missing torn)" 2,5-6
submit short torn 8
drain
holds "the same submission completes them" equal torn short

echo "# tasks report an error"
before=$(restarts short)
submit short wrong 8 --hold
cp wrong/unfinished/plan.json plan.json
sed -i '0,/"hash": "/s//"hash": "x/' wrong/unfinished/plan.json
squeue -h -o %F | sort -u | xargs scontrol release
drain
check "each is named" "$(cat wrong/unfinished/error-*.txt | grep -c 'exit code 4 ')" 8
check "none is started again" "$(restarts short)" "$before"
cp plan.json wrong/unfinished/plan.json
submit short wrong 8
drain
holds "with the right plan the same submission completes it" equal wrong short

echo "# a node is lost"
before=$(restarts long)
submit long lost 8
both_busy() {
    [ "$(squeue -h -t R -o %N | sort -u | tr '\n' ' ')" = "n1 n2 " ]
}
within 60 both_busy
sleep 0.4
"$here/kill-node.sh" slurm n2
drain
holds "the result is there without more ado" equal lost long
more_restarts() {
    [ "$(restarts long)" -gt "$before" ]
}
holds "its shards were started again" more_restarts

echo "# a site that allows indices up to 15"
"$here/down.sh" slurm
rm -rf slurm
MAX_ARRAY_SIZE=16 "$here/up.sh" slurm 2 2
submit short split 40
check "40 shards are three arrays" "$(squeue -h -o %F -n short | sort -u | wc -l)" 3
drain
holds "and give the files of one process" equal split short

echo "# a node is cut off, and what it runs goes on unseen"
before=$(restarts long)
# Four shards, so long that they still run when Slurm starts them again.
submit long twice 4
within 60 both_busy
sleep 0.4
"$here/kill-node.sh" slurm n2 agent
scontrol update NodeName=n2 State=DOWN Reason="cut off"
drain
holds "the result is there without more ado" equal twice long
holds "its shards were started a second time" more_restarts

total
