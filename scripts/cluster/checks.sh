# What check-slurm.sh and check-hyperqueue.sh have in common; they source it, and it uses their
# arguments: the program, and a folder to work in. It enters namespaces, empties the folder, makes
# it the current one and defines how claims are checked.

if [ -z "${CHECK_INSIDE:-}" ]; then
    for name in unshare ip timeout; do
        if ! command -v "$name" >/dev/null; then
            echo "$0: not found: $name; apt-get install util-linux iproute2 coreutils" >&2
            exit 1
        fi
    done
    # A private loopback, and processes that end with this one, whatever happens.
    export CHECK_INSIDE=1
    exec timeout --kill-after=5 900 \
        unshare --net --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi
ip link set lo up
# Without an address that is not of the loopback network, names are resolved without asking for
# addresses, and each daemon waits for that to fail.
ip addr add 192.0.2.1/32 dev lo

here=$(dirname "$(readlink -f "$0")")
program=$(readlink -f "$1")
if [ ! -f "$program" ] || [ ! -x "$program" ]; then
    echo "$0: $1 is no program" >&2
    exit 2
fi
if [ -e "$2" ] && [ ! -e "$2/balancelab-check" ] && [ -n "$(ls -A "$2")" ]; then
    echo "$0: $2 would be emptied, but holds something else than an earlier check" >&2
    exit 2
fi
rm -rf "$2"
mkdir -p "$2"
dir=$(cd "$2" && pwd)
touch "$dir/balancelab-check"
cd "$dir"
# What the commands under test print.
: >said

passed=0
failed=0
finished=

# What is to be done at the end, whatever end that is; check-slurm.sh has more of it.
end() {
    :
}
at_exit() {
    if [ -z "$finished" ]; then
        echo "FAIL  the check ended early; what balancelab said is in $dir/said:"
        tail -n 5 "$dir/said" || true
    fi
    end
}
trap at_exit EXIT

# check CLAIM GOT WANTED
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        printf 'ok    %s\n' "$1"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s: got "%s", not "%s"\n' "$1" "$2" "$3"
    fi
}

# holds CLAIM COMMAND...
holds() {
    local claim=$1 end=yes
    shift
    "$@" || end=no
    check "$claim" "$end" yes
}

total() {
    finished=yes
    echo "$passed passed, $failed failed, in $SECONDS s"
    [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
}

# within SECONDS COMMAND... waits until the command succeeds, silently.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited in vain for: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# code COMMAND... prints its exit code.
code() {
    local end=0
    "$@" >/dev/null 2>&1 || end=$?
    echo "$end"
}

# spec NAME REPLICATIONS HORIZON writes NAME.yaml: four points.
spec() {
    cat >"$1.yaml" <<SPEC
name: $1
seed: 7
model:
  loss_router:
    channels: [2, 4]
    interarrival: {poisson: 15}
    service: {poisson: 80}
    horizon: $3
policies:
  - coin: {theta: 0.333}
  - alternate
  - theta: {label: learner, rule: j, alpha: {values: [0.01, 0.1]}}
replications: $2
SPEC
}

# Writes two specs and the results of a single process. A fortieth of the short one takes some
# 0.1 s, an eighth of the long one some 2 s.
references() {
    local name start
    spec short 1_000 400_000
    spec long 1_000 2_000_000
    for name in short long; do
        start=$(date +%s%N)
        "$program" run "$name.yaml" --out "reference/$name" --quiet
        echo "# $name.yaml takes $((($(date +%s%N) - start) / 1000000)) ms in a single process"
    done
}

# equal FOLDER SPEC: the folder's results are those of a single process, and all that it holds.
equal() {
    local file
    for file in replications.parquet summary.parquet summary.csv; do
        cmp "$1/$file" "reference/$2/$file" || return 1
    done
    if [ -e "$1/unfinished" ]; then
        echo "$1/unfinished is left"
        return 1
    fi
}

missing() {
    "$program" status "$1" --missing || true
}

# runner SHARD FOLDER prints the process that runs a shard (K/N) of a folder.
runner() {
    local arguments
    for arguments in /proc/[0-9]*/cmdline; do
        # The program's arguments, one a line; a process may end while it is looked at.
        if { tr '\0' '\n' <"$arguments"; } 2>/dev/null |
            awk -v shard="$1" -v folder="$dir/$2" '
                $0 == "run" { run = 1 } $0 == shard { asked = 1 } $0 == folder { here = 1 }
                END { exit !(run && asked && here) }'; then
            arguments=${arguments#/proc/}
            echo "${arguments%/cmdline}"
            return
        fi
    done
    return 1
}

# kill_runner SHARD FOLDER waits for the process of a shard, and kills it when it is at work.
kill_runner() {
    local id
    within 60 runner "$1" "$2"
    sleep 0.4
    id=$(runner "$1" "$2")
    kill -s KILL "$id"
}
