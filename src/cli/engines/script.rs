//! The shell scripts that engines run once for each shard.

use super::{Paths, quoted};

/// The beginning of both scripts: what they are about.
fn script_head(paths: &Paths, shards: u32, engine: &str) -> String {
    let (program, folder, plan) = (quoted(&paths.program), quoted(&paths.folder), &paths.plan);
    format!(
        "#!/bin/sh
# Runs one shard as a task of {engine}.
program={program}
folder={folder}
shards={shards}
plan={plan}
"
    )
}

/// What both scripts do with a shard.
///
/// The trap has to do something, or the program would inherit that signals are ignored. The program
/// runs in the foreground and the shell doesn't pass signals on, because both engines send them to
/// all processes of a task: twice would make the program drop what it is about to save.
const RUN_SHARD: &str = r#"
unfinished=$folder/unfinished
error=$unfinished/error-$(printf %06d "$shard").txt
# Asked to stop (cancelled, out of time), the program saves what it has. This shell waits for it and
# doesn't start it again.
stopped=
trap 'stopped=yes' HUP INT TERM

# Runs the program. Returns only if it was killed, with how in `code`: that may go better next time.
run_shard() {
    if ! { grep -qs "$plan" "$unfinished/plan.json" &&
        grep -qs "\"shards\": $shards," "$unfinished/plan.json"; }; then
        # Another task did this shard too, and all have been merged since.
        grep -qs "$plan" "$folder/manifest.json" && exit 0
        echo "shard $shard of $shards: $folder has another run now, or is gone" >&2
        exit 2
    fi
    "$program" run "$folder" --shard "$shard/$shards" --out "$folder" --threads "$threads" --quiet \
        2>>"$error"
    code=$?
    if [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; then
        # With 3 some replications failed: the shard is complete with a list of them.
        rm -f "$error" ${log:+"$log"}
        exit 0
    fi
    echo "shard $shard of $shards: exit code $code on $(uname -n), $attempt" >>"$error"
    # A shell reports death by signal S as 128 + S; 130 is the program's own answer to a signal.
    if [ "$code" -le 128 ] || [ "$code" -eq 130 ] || [ -n "$stopped" ]; then
        exit "$code"
    fi
}
"#;

pub(super) fn slurm_script(paths: &Paths, shards: u32) -> String {
    let head = script_head(paths, shards, "a Slurm array");
    let task = r#"
# The site limits the indices of an array: an array of later shards is told what to add to them.
shard=$((SLURM_ARRAY_TASK_ID + ${1:-0}))
threads=${SLURM_CPUS_PER_TASK:-1}
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
log=$folder/unfinished/slurm-$task.txt
attempt="Slurm job $task, restart ${SLURM_RESTART_COUNT:-0}"
"#;
    let tail = r#"
run_shard
# Slurm starts a task again when its node is lost, but not when only its program was killed (for
# memory, say). The task is named by its index: the plain job id of an array's last task is that of
# the whole array, of which all tasks would be started again, finished ones too.
if [ "${SLURM_RESTART_COUNT:-0}" -lt 2 ] && scontrol requeue "$task" 2>>"$error"; then
    # Slurm ends this shell.
    sleep 30
fi
exit "$code"
"#;
    head + task + RUN_SHARD + tail
}

pub(super) fn hyperqueue_script(paths: &Paths, shards: u32) -> String {
    let head = script_head(paths, shards, "a HyperQueue job");
    let task = r#"
shard=$HQ_TASK_ID
# The processors that the task has, as 0,1,2.
threads=$(IFS=,; set -- ${HQ_CPUS:-0}; echo $#)
log=
"#;
    let tail = r#"
# HyperQueue starts a task again when its worker is lost, but not when only its program was killed.
for start in 1 2 3; do
    attempt="HyperQueue job ${HQ_JOB_ID:-?}, start $start of 3"
    run_shard
done
exit "$code"
"#;
    head + task + RUN_SHARD + tail
}
