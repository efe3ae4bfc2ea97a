#!/usr/bin/env bash
# up.sh DIR [NODES] [CPUS]: starts a real Slurm on loopback, to try job arrays and to test them: one
# munged, one slurmctld and NODES slurmd (2 by default), each a node of its own with CPUS processors
# (2 by default, whether the machine has them or not). Needs root, no systemd, cgroups or database:
#     apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge iproute2
# The host's own name must resolve. Everything is kept in DIR.
# Afterwards: export SLURM_CONF=DIR/slurm.conf; sbatch, squeue, ...
# Environment: MAX_ARRAY_SIZE (10001) is Slurm's MaxArraySize, SLURMD_TIMEOUT (6) the seconds after
# which a silent node is given up, CRED_EXPIRE (5) the seconds that a requeued job waits.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 3 ]; then
    echo "usage: up.sh DIR [NODES] [CPUS]" >&2
    exit 2
fi
here=$(dirname "$(readlink -f "$0")")
nodes=${2:-2}
cpus=${3:-2}
PATH=$PATH:/usr/sbin:/sbin

packages="slurmctld slurmd slurm-client munge iproute2"
missing=()
for program in munged slurmctld slurmd sbatch squeue scontrol sinfo; do
    command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "up.sh: not found: ${missing[*]}; on Debian and Ubuntu they come with" >&2
    echo "    apt-get install -y --no-install-recommends $packages" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "up.sh: slurmd starts jobs in the name of their users, so this must be run by root" >&2
    exit 1
fi

mkdir -p "$1"
dir=$(cd "$1" && pwd)
for file in "$dir"/pid/*; do
    if [ -s "$file" ] && kill -0 "$(cat "$file")" 2>/dev/null; then
        echo "up.sh: $(basename "$file") of $dir is running; down.sh stops it" >&2
        exit 1
    fi
done
mkdir -p "$dir"/{state,log,pid,munge}
# munged wants the way to its socket open to all and its key closed to all others.
chmod 711 "$dir/munge"
if [ ! -s "$dir/munge/key" ]; then
    head -c 1024 /dev/urandom >"$dir/munge/key"
fi
chmod 400 "$dir/munge/key"

host=$(hostname -s)
cat >"$dir/slurm.conf" <<CONF
ClusterName=trial
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
# Listen on the loopback address, and nowhere else.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
# A requeued job starts again once its first credential has expired: with the usual 120 s the tests
# would do little but wait.
AuthInfo=socket=$dir/munge/sock,cred_expire=${CRED_EXPIRE:-5}
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/pid/slurmctld
SlurmdPidFile=$dir/pid/slurmd.%n
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/slurmd.%n
# No cgroups, so that it works in a container too.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
# One line for every job that ended, with its node and times.
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=2
# Believe CPUs= below, not the machine.
SlurmdParameters=config_overrides
JobRequeue=1
SlurmdTimeout=${SLURMD_TIMEOUT:-6}
SlurmctldTimeout=10
ReturnToService=2
MaxArraySize=${MAX_ARRAY_SIZE:-10001}
MaxJobCount=20000
KillWait=5
# Keep what is known of jobs that ended.
MinJobAge=3600
CONF
for ((node = 1; node <= nodes; node++)); do
    mkdir -p "$dir/spool.n$node"
    cat >>"$dir/slurm.conf" <<CONF
NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$((17000 + node)) CPUs=$cpus
CONF
done
cat >>"$dir/slurm.conf" <<CONF
PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$dir/slurm.conf

# What did come up doesn't stay behind when something else doesn't.
up=
trap '[ -n "$up" ] || "$here/down.sh" "$dir" || true' EXIT
munged --force --num-threads=2 --key-file="$dir/munge/key" --socket="$dir/munge/sock" \
    --pid-file="$dir/pid/munged" --log-file="$dir/log/munged" --seed-file="$dir/munge/seed"
slurmctld -c -f "$SLURM_CONF"
for ((node = 1; node <= nodes; node++)); do
    slurmd -N "n$node" -f "$SLURM_CONF"
done

for ((deadline = SECONDS + 30; SECONDS < deadline; )); do
    # With no controller to answer, sinfo alone would take minutes.
    if [ "$(timeout 5 sinfo -h -t idle -o %D 2>/dev/null | head -n 1)" = "$nodes" ]; then
        up=yes
        echo "$nodes nodes are up: export SLURM_CONF=$SLURM_CONF"
        exit 0
    fi
    sleep 0.2
done
timeout 5 sinfo -N -l >&2 || true
echo "up.sh: not all of the $nodes nodes came up in time; see $dir/log" >&2
exit 1
