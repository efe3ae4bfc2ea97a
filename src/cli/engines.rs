//! Batch systems that run the shards of a sweep: Slurm and HyperQueue.
//!
//! A submission becomes a script for the shell, kept with the shards, and job arrays that run it
//! once for each missing shard. The script decides what an end of the program means: a shard that
//! is complete is a success; a program that was killed is started again, twice at the most; one
//! that reports an error is not, since it would report the same again. What a failed shard said is
//! kept in `unfinished/error-000003.txt`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Usage;
use crate::frame::Staging;
use crate::report;

/// Slurm's own default of `MaxArraySize`, assumed where a dry run can't ask.
const MAX_ARRAY_SIZE: u32 = 1001;

/// What to hand to an engine.
pub(super) struct Submission<'a> {
    /// Absolute path of this executable.
    pub(super) program: &'a Path,
    /// Absolute path of the folder for the results.
    pub(super) folder: &'a Path,
    /// Name of the experiment.
    pub(super) name: &'a str,
    /// Numbers of the shards to run, rising, at least one.
    pub(super) missing: &'a [u32],
    /// Number of all shards.
    pub(super) shards: u32,
    /// Options for the engine.
    pub(super) options: &'a [String],
    /// Whether to say what would be run instead of running it.
    pub(super) dry_run: bool,
}

/// An engine can't be called, or refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("can't run `{command}`: {source}; {help}{done}")]
    NotRun { command: String, source: std::io::Error, help: &'static str, done: String },
    #[error("{command}\nfailed ({status}): {said}{done}")]
    Refused { command: String, status: String, said: String, done: String },
    #[error("{command}\ndid not answer with a job's number but with `{said}`{done}")]
    Unclear { command: String, said: String, done: String },
}

/// Hands the missing shards to Slurm: an array, or several where the site's `MaxArraySize` asks for
/// it, and a job that merges when all of them have ended. Returns what the user should know.
///
/// # Errors
/// [`Usage`], [`EngineError`], [`crate::frame::StoreError`] when the script can't be written.
pub(super) fn slurm(submission: &Submission) -> anyhow::Result<String> {
    let paths = Paths::new(submission)?;
    submission.check(&["--array", "-a", "--wrap"])?;
    if paths.folder.contains('\\') {
        // In names of its files Slurm takes a backslash for a sign of its own.
        return Err(
            Usage(format!("Slurm can't write to {}, for the backslash", paths.folder)).into()
        );
    }
    let (largest, assumed) = largest_index(submission.dry_run)?;
    let script = slurm_script(&paths, submission.shards);
    let arrays = arrays(submission.missing, largest);
    let calls: Vec<Call> =
        arrays.iter().map(|array| array_call(submission, &paths, array)).collect();

    if submission.dry_run {
        let mut text = String::new();
        if assumed {
            _ = writeln!(
                text,
                "# No Slurm answers here: MaxArraySize is taken to be {MAX_ARRAY_SIZE}."
            );
        }
        for call in &calls {
            _ = writeln!(text, "{call}");
        }
        let ids: Vec<String> = (1..=calls.len()).map(|job| format!("JOB{job}")).collect();
        _ = writeln!(text, "{}", merge_call(submission, &paths, &ids));
        return Ok(text + &shown(&paths.script("job.sh"), &script));
    }

    write(&paths, "job.sh", &script)?;
    let mut ids: Vec<String> = Vec::new();
    for call in &calls {
        let id = call.run().and_then(|said| job_id(call, &said));
        ids.push(id.map_err(|error| error.after(&ids))?);
    }
    let merge = merge_call(submission, &paths, &ids);
    let merge_id = merge.run().and_then(|said| job_id(&merge, &said));
    let merge_id = merge_id.map_err(|error| error.without_merge(&ids, &paths))?;
    Ok(slurm_report(submission, &paths, &arrays, &ids, &merge_id))
}

/// Hands the missing shards to HyperQueue, as one job. Returns what the user should know.
///
/// # Errors
/// As [`slurm`].
pub(super) fn hyperqueue(submission: &Submission) -> anyhow::Result<String> {
    let paths = Paths::new(submission)?;
    submission.check(&["--array", "--each-line", "--from-json"])?;
    let script = hyperqueue_script(&paths, submission.shards);
    let mut call = Call::new("hq", HQ_HELP, ["--output-mode=quiet", "submit"]);
    call.arg(format!("--array={}", report::ranges(submission.missing)));
    call.arg(format!("--name={}", submission.name));
    // A task's output would be two files in the current folder; the script keeps what matters.
    call.args(["--stdout=none", "--stderr=none"]);
    call.args(submission.options.iter().cloned());
    call.args(["--".to_owned(), "sh".to_owned(), paths.script("job-hq.sh")]);

    let (program, folder) = (quoted(&paths.program), quoted(&paths.folder));
    if submission.dry_run {
        return Ok(format!("{call}\n{}", shown(&paths.script("job-hq.sh"), &script)));
    }
    write(&paths, "job-hq.sh", &script)?;
    let said = call.run()?;
    let id = job_id(&call, &said)?;
    Ok(format!(
        "{} handed to HyperQueue as job {id}\n\
         watch:  hq job progress {id}; {program} status {folder}\n\
         when it has ended:  {program} merge {folder}\n\
         what a failed shard said is in {}/error-*.txt; the same submission runs what is missing\n",
        counted(submission),
        paths.unfinished,
    ))
}

impl Submission<'_> {
    /// Refuses options that would run something else than the missing shards.
    fn check(&self, reserved: &[&str]) -> anyhow::Result<()> {
        // Slurm takes an empty array for no array, and would run the script as a single plain job.
        anyhow::ensure!(!self.missing.is_empty(), "no shard is missing: nothing is submitted");
        let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
        if let Some(option) = self.options.iter().find(|o| reserved.contains(&name(o).as_str())) {
            let option = name(option);
            return Err(Usage(format!(
                "the option {option} can't be passed on: which shards are run is what is missing"
            ))
            .into());
        }
        Ok(())
    }
}

/// The paths of a submission, as text.
struct Paths {
    program: String,
    folder: String,
    unfinished: String,
}

impl Paths {
    fn new(submission: &Submission) -> Result<Paths, Usage> {
        let text = |path: &Path| match path.to_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(Usage(format!("{}: the path is no UTF-8 text", path.display()))),
        };
        Ok(Paths {
            program: text(submission.program)?,
            folder: text(submission.folder)?,
            unfinished: text(&submission.folder.join("unfinished"))?,
        })
    }

    fn script(&self, name: &str) -> String {
        format!("{}/{name}", self.unfinished)
    }
}

/// A part of the missing shards with indices that Slurm accepts.
#[derive(Debug, PartialEq, Eq)]
struct Array {
    /// What the script adds to an index to get the number of the shard.
    offset: u32,
    indices: Vec<u32>,
}

/// Splits rising numbers of shards into arrays of indices from 1 to `largest`.
///
/// The offsets are multiples of `largest`, whatever is missing, so that a shard has the same index
/// in every submission.
fn arrays(missing: &[u32], largest: u32) -> Vec<Array> {
    let mut arrays: Vec<Array> = Vec::new();
    for &shard in missing {
        let offset = (shard - 1) / largest * largest;
        match arrays.last_mut() {
            Some(array) if array.offset == offset => array.indices.push(shard - offset),
            _ => arrays.push(Array { offset, indices: vec![shard - offset] }),
        }
    }
    arrays
}

/// Returns the largest index that an array may have at this site, and whether it is a guess.
fn largest_index(dry_run: bool) -> anyhow::Result<(u32, bool)> {
    let call = Call::new("scontrol", SLURM_HELP, ["show", "config"]);
    let config = match call.run() {
        Err(_) if dry_run => return Ok((MAX_ARRAY_SIZE - 1, true)),
        config => config?,
    };
    match max_array_size(&config) {
        Some(size @ 2..) => Ok((size - 1, false)),
        Some(size) => {
            Err(Usage(format!("this Slurm runs no job arrays (MaxArraySize = {size})")).into())
        }
        None => Ok((MAX_ARRAY_SIZE - 1, false)),
    }
}

/// Finds `MaxArraySize` in the output of `scontrol show config`.
fn max_array_size(config: &str) -> Option<u32> {
    let values = config.lines().filter_map(|line| line.split_once('='));
    let (_, size) = values.into_iter().find(|(name, _)| name.trim() == "MaxArraySize")?;
    size.trim().parse().ok()
}

fn array_call(submission: &Submission, paths: &Paths, array: &Array) -> Call {
    let mut call = Call::new("sbatch", SLURM_HELP, ["--parsable", "--requeue"]);
    call.arg(format!("--array={}", report::ranges(&array.indices)));
    call.arg(format!("--job-name={}", submission.name));
    // Stated, or a submission from within a job would hand on that job's number of processors.
    call.arg("--cpus-per-task=1");
    // What Slurm itself says, of the time limit for instance, goes to this file of each task.
    call.arg(format!("--output={}/slurm-%A_%a.txt", pattern(&paths.unfinished)));
    call.arg("--open-mode=append");
    call.args(submission.options.iter().cloned());
    call.arg(paths.script("job.sh"));
    if array.offset > 0 {
        call.arg(array.offset.to_string());
    }
    call
}

/// Returns the call for the job that merges once all arrays have ended, however they did: `merge`
/// itself finds out whether a shard is missing, and names it.
fn merge_call(submission: &Submission, paths: &Paths, ids: &[String]) -> Call {
    let mut call = Call::new("sbatch", SLURM_HELP, ["--parsable"]);
    // Accounts and partitions are needed for this job too; what follows has the last word.
    call.args(submission.options.iter().cloned());
    call.arg(format!("--dependency=afterany:{}", ids.join(":")));
    call.arg(format!("--job-name={}-merge", submission.name));
    // Not among the shards, which are gone after merging.
    call.arg(format!("--output={}/merge.log", pattern(&paths.folder)));
    call.arg("--open-mode=truncate");
    let (program, folder) = (quoted(&paths.program), quoted(&paths.folder));
    call.arg(format!("--wrap=exec {program} merge {folder}"));
    call
}

fn slurm_report(
    submission: &Submission,
    paths: &Paths,
    arrays: &[Array],
    ids: &[String],
    merge: &str,
) -> String {
    let (program, folder) = (quoted(&paths.program), quoted(&paths.folder));
    let mut text = format!("{} handed to Slurm\n", counted(submission));
    for (array, id) in arrays.iter().zip(ids) {
        let shards: Vec<u32> = array.indices.iter().map(|index| index + array.offset).collect();
        _ = write!(text, "  job {id}: shards {}", report::ranges(&shards));
        if array.offset > 0 {
            _ = write!(text, "; its task 1 is shard {}", array.offset + 1);
        }
        text.push('\n');
    }
    let all = ids.join(",");
    _ = write!(
        text,
        "  job {merge}: merges when they have ended; see {}/merge.log\n\
         watch:  squeue -j {all},{merge}; {program} status {folder}\n\
         stop:   scancel {} {merge}; finished shards, and finished parts of others, are kept\n\
         what a failed shard said is in {}/error-*.txt; the same submission runs what is missing\n",
        paths.folder,
        ids.join(" "),
        paths.unfinished,
    );
    text
}

fn counted(submission: &Submission) -> String {
    format!("{} of {} shards", submission.missing.len(), submission.shards)
}

/// The beginning of both scripts: what they are about.
fn script_head(paths: &Paths, shards: u32, engine: &str) -> String {
    let (program, folder) = (quoted(&paths.program), quoted(&paths.folder));
    format!(
        "#!/bin/sh
# Runs one shard as a task of {engine}. Every submission writes this file anew.
program={program}
folder={folder}
shards={shards}
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
    if [ ! -d "$unfinished" ] && [ -f "$folder/manifest.json" ]; then
        # Another task did this shard too, and all have been merged since.
        exit 0
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

fn slurm_script(paths: &Paths, shards: u32) -> String {
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
# the whole array, of which all running tasks would be started again.
if [ "${SLURM_RESTART_COUNT:-0}" -lt 2 ] && scontrol requeue "$task" 2>>"$error"; then
    # Slurm ends this shell.
    sleep 30
fi
exit "$code"
"#;
    head + task + RUN_SHARD + tail
}

fn hyperqueue_script(paths: &Paths, shards: u32) -> String {
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

fn write(paths: &Paths, name: &str, script: &str) -> anyhow::Result<()> {
    let mut staging = Staging::new(&PathBuf::from(&paths.unfinished))?;
    staging.write(name, script)?;
    Ok(staging.commit_without_manifest()?)
}

fn shown(path: &str, script: &str) -> String {
    format!("\n# {path}:\n{script}")
}

const SLURM_HELP: &str = "is this a machine from which Slurm jobs can be submitted? \
                          `sinfo` should list its nodes";
const HQ_HELP: &str = "HyperQueue is at https://it4innovations.github.io/hyperqueue; \
                       `hq server info` should describe a server that runs";

/// A call of an engine's program.
struct Call {
    program: &'static str,
    arguments: Vec<String>,
    help: &'static str,
}

impl Call {
    fn new<const N: usize>(program: &'static str, help: &'static str, first: [&str; N]) -> Call {
        Call { program, help, arguments: first.map(str::to_owned).to_vec() }
    }

    fn arg(&mut self, argument: impl Into<String>) {
        self.arguments.push(argument.into());
    }

    fn args(&mut self, arguments: impl IntoIterator<Item = impl Into<String>>) {
        self.arguments.extend(arguments.into_iter().map(Into::into));
    }

    /// Runs it and returns what it printed.
    fn run(&self) -> Result<String, EngineError> {
        let output = Command::new(self.program).args(&self.arguments).output();
        let output = output.map_err(|source| EngineError::NotRun {
            command: self.program.to_owned(),
            source,
            help: self.help,
            done: String::new(),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(EngineError::Refused {
                command: self.to_string(),
                status: output.status.to_string(),
                said: if said.is_empty() { "it said nothing".to_owned() } else { said },
                done: format!("\n{}", self.help),
            });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl std::fmt::Display for Call {
    /// As one would type it.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(out, " {}", quoted(argument)))
    }
}

impl EngineError {
    /// Adds which jobs were submitted before.
    fn after(self, ids: &[String]) -> EngineError {
        if ids.is_empty() {
            return self;
        }
        self.with(format!(
            "\nsubmitted before it, and going on: {}; end them with `scancel {}`, or let them end \
             and submit again, which runs what is missing then",
            ids.join(", "),
            ids.join(" ")
        ))
    }

    /// Adds that only the merging is left.
    fn without_merge(self, ids: &[String], paths: &Paths) -> EngineError {
        self.with(format!(
            "\nthe shards are submitted, and going on: {}; when they have ended, run `{} merge {}`",
            ids.join(", "),
            quoted(&paths.program),
            quoted(&paths.folder)
        ))
    }

    fn with(mut self, more: String) -> EngineError {
        let (EngineError::NotRun { done, .. }
        | EngineError::Refused { done, .. }
        | EngineError::Unclear { done, .. }) = &mut self;
        *done += &more;
        self
    }
}

/// Returns the job's number from what `sbatch --parsable` or `hq` in its quiet mode printed. Slurm
/// puts the cluster's name behind it where there are several.
fn job_id(call: &Call, said: &str) -> Result<String, EngineError> {
    let said = said.trim();
    let id = said.split(';').next().unwrap_or_default();
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EngineError::Unclear {
            command: call.to_string(),
            said: said.to_owned(),
            done: String::new(),
        });
    }
    Ok(id.to_owned())
}

/// Returns a path for a name of Slurm's, in which a percent sign has a meaning.
fn pattern(path: &str) -> String {
    path.replace('%', "%%")
}

/// Returns a word for the shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::Stdio;

    use super::*;

    /// Calls `test` with a submission whose paths hold what a shell could stumble over.
    fn with_submission(missing: &[u32], options: &[&str], test: impl FnOnce(&Submission, &Paths)) {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let submission = Submission {
            program: Path::new("/opt/it's $HOME/balancelab"),
            folder: Path::new("/data/100% \"new\""),
            name: "quick start",
            missing,
            shards: 40,
            options: &options,
            dry_run: true,
        };
        let paths = Paths::new(&submission).unwrap();
        test(&submission, &paths);
    }

    fn sh(arguments: &[&str], script: &str) -> (Option<i32>, String) {
        let mut shell = Command::new("sh")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn scripts_are_what_a_plain_shell_understands() {
        with_submission(&[1], &[], |submission, paths| {
            for script in [
                slurm_script(paths, submission.shards),
                hyperqueue_script(paths, submission.shards),
            ] {
                assert_eq!(sh(&["-n"], &script), (Some(0), String::new()), "{script}");
                assert!(script.lines().all(|line| line.len() <= 100), "{script}");
                let head = script.lines().take(5).collect::<Vec<_>>().join("\n");
                let (_, said) = sh(&[], &format!("{head}\necho \"$program|$folder|$shards\""));
                assert_eq!(said, "/opt/it's $HOME/balancelab|/data/100% \"new\"|40\n");
            }
        });
    }

    /// Runs a script in a folder `it's here` whose program ends as `program` says, with a `scontrol`
    /// that notes its calls. Returns the exit code, what is kept of errors, and those calls.
    fn end_of_task(engine: fn(&Paths, u32) -> String, program: &str) -> (i32, String, String) {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join("it's here").join(name);
        let text = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
        std::fs::create_dir_all(path("unfinished")).unwrap();
        let executable = |name: &str, content: &str| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(path(name), format!("#!/bin/sh\n{content}\n")).unwrap();
            std::fs::set_permissions(path(name), PermissionsExt::from_mode(0o755)).unwrap();
        };
        executable(
            "program",
            &format!("echo \"$@\" >>\"${{0%/*}}\"/calls; echo said >&2; {program}"),
        );
        executable("scontrol", "echo \"$@\" >>\"${0%/*}\"/calls");
        executable("sleep", "");
        let paths = Paths {
            program: path("program").to_str().unwrap().to_owned(),
            folder: path("").to_str().unwrap().trim_end_matches('/').to_owned(),
            unfinished: path("unfinished").to_str().unwrap().to_owned(),
        };
        std::fs::write(path("job.sh"), engine(&paths, 4000)).unwrap();
        let search = format!("{}:{}", paths.folder, std::env::var("PATH").unwrap());
        let status = Command::new("sh")
            .args([path("job.sh").to_str().unwrap(), "1000"])
            .env("PATH", search)
            .envs([("SLURM_ARRAY_JOB_ID", "12"), ("SLURM_ARRAY_TASK_ID", "7")])
            .envs([("SLURM_CPUS_PER_TASK", "4"), ("SLURM_RESTART_COUNT", "1")])
            .envs([("HQ_JOB_ID", "12"), ("HQ_TASK_ID", "1007"), ("HQ_CPUS", "3,5,6,7")])
            .status()
            .unwrap();
        let calls = text("calls").replace(&paths.folder, "DIR");
        let host = Command::new("uname").arg("-n").output().unwrap();
        let host = String::from_utf8(host.stdout).unwrap();
        let error = text("unfinished/error-001007.txt").replace(host.trim(), "HOST");
        (status.code().unwrap(), error, calls)
    }

    const SHARD: &str = "run DIR --shard 1007/4000 --out DIR --threads 4 --quiet\n";

    #[test]
    fn a_complete_shard_is_a_success_and_leaves_no_error() {
        for engine in [slurm_script, hyperqueue_script] {
            for program in ["exit 0", "exit 3"] {
                assert_eq!(end_of_task(engine, program), (0, String::new(), SHARD.to_owned()));
            }
        }
    }

    #[test]
    fn an_error_is_kept_and_not_tried_again() {
        for program in ["exit 2", "exit 4", "exit 130"] {
            let code: i32 = program[5..].parse().unwrap();
            let (end, error, calls) = end_of_task(slurm_script, program);
            assert_eq!((end, calls.as_str()), (code, SHARD), "{program}");
            assert_eq!(
                error,
                format!(
                    "said\nshard 1007 of 4000: exit code {code} on HOST, Slurm job 12_7, restart 1\n"
                )
            );
            let (end, _, calls) = end_of_task(hyperqueue_script, program);
            assert_eq!((end, calls.as_str()), (code, SHARD), "{program}");
        }
    }

    #[test]
    fn a_killed_program_is_started_again() {
        let (end, error, calls) = end_of_task(slurm_script, "kill -9 $$");
        assert_eq!((end, calls), (137, format!("{SHARD}requeue 12_7\n")));
        assert!(error.contains("exit code 137 on HOST, Slurm job 12_7, restart 1\n"), "{error}");
        let (end, error, calls) = end_of_task(hyperqueue_script, "kill -9 $$");
        assert_eq!((end, calls), (137, SHARD.repeat(3)));
        assert!(error.ends_with("HyperQueue job 12, start 3 of 3\n"), "{error}");
    }

    #[test]
    fn a_cancelled_task_is_not_started_again() {
        // As an engine does, the program signals the shell too.
        let (end, _, calls) = end_of_task(slurm_script, "kill $PPID; kill $$");
        assert_eq!((end, calls.as_str()), (143, SHARD));
        let (end, _, calls) = end_of_task(hyperqueue_script, "kill -INT $PPID; kill -9 $$");
        assert_eq!((end, calls.as_str()), (137, SHARD));
    }

    #[test]
    fn an_array_is_what_is_missing() {
        with_submission(&[3, 7, 8, 9], &["--time=10", "-p", "long"], |submission, paths| {
            let array = Array { offset: 0, indices: vec![3, 7, 8, 9] };
            assert_eq!(
                array_call(submission, paths, &array).to_string(),
                "sbatch --parsable --requeue --array=3,7-9 '--job-name=quick start' \
                 --cpus-per-task=1 \
                 '--output=/data/100%% \"new\"/unfinished/slurm-%A_%a.txt' --open-mode=append \
                 --time=10 -p long '/data/100% \"new\"/unfinished/job.sh'"
            );
            let array = Array { offset: 1000, indices: vec![1] };
            let call = array_call(submission, paths, &array).to_string();
            assert!(call.ends_with("unfinished/job.sh' 1000"), "{call}");
        });
    }

    #[test]
    fn merging_waits_for_every_array_and_has_the_last_word_on_its_log() {
        with_submission(&[1], &["--output=x", "--account=a"], |submission, paths| {
            let call = merge_call(submission, paths, &["12".into(), "13".into()]);
            assert_eq!(
                call.arguments,
                [
                    "--parsable",
                    "--output=x",
                    "--account=a",
                    "--dependency=afterany:12:13",
                    "--job-name=quick start-merge",
                    "--output=/data/100%% \"new\"/merge.log",
                    "--open-mode=truncate",
                    "--wrap=exec '/opt/it'\\''s $HOME/balancelab' merge '/data/100% \"new\"'",
                ]
            );
        });
    }

    #[test]
    fn arrays_have_the_indices_that_the_site_accepts() {
        assert_eq!(arrays(&[1, 2, 15], 15), [Array { offset: 0, indices: vec![1, 2, 15] }]);
        assert_eq!(
            arrays(&[2, 15, 16, 30, 31, 40], 15),
            [
                Array { offset: 0, indices: vec![2, 15] },
                Array { offset: 15, indices: vec![1, 15] },
                Array { offset: 30, indices: vec![1, 10] },
            ]
        );
        assert_eq!(arrays(&[u32::MAX], 1)[0].offset, u32::MAX - 1);
    }

    #[test]
    fn max_array_size_is_found_in_what_scontrol_prints() {
        let config = "MaxArraySizeOfOthers    = 3\nMaxArraySize            = 1001\nA = b = c\n";
        assert_eq!(max_array_size(config), Some(1001));
        assert_eq!(max_array_size("Configuration data as of 2026-11-30T03:30:12\n"), None);
    }

    #[test]
    fn a_job_number_is_read_with_and_without_a_cluster() {
        let call = Call::new("sbatch", SLURM_HELP, ["--parsable"]);
        assert_eq!(job_id(&call, "12\n").unwrap(), "12");
        assert_eq!(job_id(&call, "12;far\n").unwrap(), "12");
        let error = job_id(&call, "Submitted batch job 12").unwrap_err().after(&["7".into()]);
        assert_eq!(
            error.to_string(),
            "sbatch --parsable\n\
             did not answer with a job's number but with `Submitted batch job 12`\n\
             submitted before it, and going on: 7; end them with `scancel 7`, or let them end and \
             submit again, which runs what is missing then"
        );
    }

    #[test]
    fn nothing_else_than_the_missing_shards_is_submitted() {
        for options in [&["--array=1-9"][..], &["-p", "long", "-a", "3"], &["--wrap", "true"]] {
            with_submission(&[1], options, |submission, _| {
                let error = slurm(submission).unwrap_err();
                assert!(error.is::<Usage>(), "{error}");
            });
        }
        with_submission(&[], &[], |submission, _| {
            assert!(slurm(submission).is_err());
            assert!(hyperqueue(submission).is_err());
        });
    }

    #[test]
    fn a_dry_run_shows_commands_and_script_and_needs_no_engine() {
        with_submission(&[1, 2, 40], &["--cpus=4"], |submission, _| {
            let text = hyperqueue(submission).unwrap();
            assert!(text.starts_with(
                "hq --output-mode=quiet submit --array=1-2,40 '--name=quick start' --stdout=none \
                 --stderr=none --cpus=4 -- sh '/data/100% \"new\"/unfinished/job-hq.sh'\n\n# "
            ));
            assert!(text.contains("shard=$HQ_TASK_ID\n"));
            let text = slurm(submission).unwrap();
            assert!(text.contains("sbatch --parsable --requeue --array=1-2,40 "), "{text}");
            assert!(text.contains("--dependency=afterany:JOB1 "), "{text}");
            assert!(text.contains("scontrol requeue \"$task\""), "{text}");
        });
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_or_change_them() {
        assert_eq!(quoted("--array=1,3-5"), "--array=1,3-5");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("~/a"), "'~/a'");
        assert_eq!(quoted("größe"), "'größe'");
    }
}
