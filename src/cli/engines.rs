//! Batch systems that run the shards of a sweep: Slurm and HyperQueue.
//!
//! A submission becomes a script for the shell, kept with the shards, and job arrays that run it
//! once for each missing shard. The script decides what an end of the program means: a shard that
//! is complete is a success; a program that was killed is started again, twice at the most; one
//! that reports an error is not, since it would report the same again. What a failed shard said is
//! kept in `unfinished/error-000003.txt`.

mod script;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use script::{hyperqueue_script, slurm_script};

use super::{Usage, quoted};
use crate::frame::UNFINISHED;
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
    /// Hash of the plan that the shards are of.
    pub(super) plan: &'a str,
    /// Writes the plan down, unless it is there; called when nothing else stands in the way.
    pub(super) set_plan: &'a dyn Fn() -> anyhow::Result<()>,
}

/// An engine can't be called, or refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error("can't run `{command}`: {reason}; {help}{done}")]
    NotRun { command: String, reason: std::io::Error, help: &'static str, done: String },
    #[error("{command}\nfailed ({status}): {said}{done}")]
    Refused { command: String, status: String, said: String, done: String },
    #[error("{command}\ndid not answer with a job's number but with `{said}`{done}")]
    Unclear { command: String, said: String, done: String },
}

/// Hands the missing shards to Slurm: an array, or several where the site's `MaxArraySize` asks for
/// it, and a job that merges when all of them have ended. Returns what the user should know.
///
/// # Errors
/// [`Usage`], [`EngineError`], [`std::io::Error`] when the script can't be written.
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
    let (file, script) =
        (paths.script("slurm", submission.shards), slurm_script(&paths, submission.shards));
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
        return Ok(text + &shown(&file, &script));
    }

    // What Slurm would refuse it refuses before anything is planned.
    let mut test = Call::new("sbatch", SLURM_HELP, ["--test-only"]);
    test.args(submission.options.iter().cloned());
    test.arg("--wrap=true");
    test.run()?;
    (submission.set_plan)()?;
    write(&paths, &file, &script)?;
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
    let file = paths.script("hq", submission.shards);
    let script = hyperqueue_script(&paths, submission.shards);
    let mut call = Call::new("hq", HQ_HELP, ["--output-mode=quiet", "submit"]);
    call.arg(format!("--array={}", report::ranges(submission.missing)));
    call.arg(format!("--name={}", submission.name));
    // A task's output would be two files in the current folder; the script keeps what matters.
    call.args(["--stdout=none", "--stderr=none"]);
    call.args(submission.options.iter().cloned());
    // The script is read when the task starts, and may have gone with what was merged by then.
    let (program, folder) = (quoted(&paths.program), quoted(&paths.folder));
    let run = format!(
        "[ -f \"$0\" ] || ! grep -qs {} {folder}/manifest.json || exit 0; exec sh \"$0\"",
        paths.plan
    );
    call.args(["--", "sh", "-c", &run, &file]);
    if submission.dry_run {
        return Ok(format!("{call}\n{}", shown(&file, &script)));
    }
    Call::new("hq", HQ_HELP, ["server", "info"]).run()?;
    (submission.set_plan)()?;
    write(&paths, &file, &script)?;
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
        // Engines take abbreviations of long options, and values attached to short ones.
        let is = |option: &str, reserved: &str| match reserved.strip_prefix("--") {
            Some(_) => name(option).len() > 3 && reserved.starts_with(&name(option)),
            None => option.starts_with(reserved),
        };
        let refused = |option: &&String| reserved.iter().any(|reserved| is(option, reserved));
        if let Some(option) = self.options.iter().find(refused) {
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
    /// Hash of the plan, which stands in files there.
    plan: String,
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
            unfinished: text(&submission.folder.join(UNFINISHED))?,
            plan: submission.plan.to_owned(),
        })
    }

    /// Returns the path of the script of an engine. Each plan has its own: tasks of another may be
    /// about to read theirs.
    fn script(&self, engine: &str, shards: u32) -> String {
        format!("{}/{engine}-{}-{shards}.sh", self.unfinished, self.plan)
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
    // What Slurm itself says, of the time limit for instance, goes to this file of each task.
    call.arg(format!("--output={}/slurm-%A_%a.txt", pattern(&paths.unfinished)));
    call.arg("--open-mode=append");
    call.args(submission.options.iter().cloned());
    call.arg(paths.script("slurm", submission.shards));
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
    // The folder may have been given to another run while this job waited. Merging makes the
    // searches of the spec too.
    let plan = &paths.plan;
    call.arg(format!(
        "--wrap=grep -qs {plan} {}/plan.json || {{ grep -qs {plan} {folder}/manifest.json && exit 0; \
         echo 'the folder has another run now, or is gone'; exit 2; }}; \
         exec {program} merge {folder} --threads \"${{SLURM_CPUS_PER_TASK:-1}}\"",
        quoted(&paths.unfinished)
    ));
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

/// Writes a script, whole or not at all: tasks of an earlier submission may be about to read it.
fn write(paths: &Paths, path: &str, script: &str) -> anyhow::Result<()> {
    let written = || {
        let mut file = tempfile::Builder::new().prefix(".job-").tempfile_in(&paths.unfinished)?;
        file.write_all(script.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(std::io::Error::from)
    };
    written().with_context(|| format!("can't write {path}")).map(drop)
}

fn shown(path: &str, script: &str) -> String {
    format!("\n# {path}:\n{script}")
}

/// What may help when a program isn't there, and when it refuses.
type Help = [&'static str; 2];

const SLURM_HELP: Help = [
    "submit on a machine of a cluster that runs Slurm",
    "what stands after `--` is handed on as it is; `sinfo` should list nodes and partitions",
];
const HQ_HELP: Help = [
    "HyperQueue is at https://it4innovations.github.io/hyperqueue",
    "what stands after `--` is handed on as it is; `hq server info` should describe a server",
];

/// A call of an engine's program.
struct Call {
    program: &'static str,
    arguments: Vec<String>,
    help: Help,
}

impl Call {
    fn new<const N: usize>(program: &'static str, help: Help, first: [&str; N]) -> Call {
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
        let output = output.map_err(|reason| EngineError::NotRun {
            command: self.program.to_owned(),
            reason,
            help: self.help[0],
            done: String::new(),
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(EngineError::Refused {
                command: self.to_string(),
                status: output.status.to_string(),
                said: if said.is_empty() { "it said nothing".to_owned() } else { said },
                done: format!("\n{}", self.help[1]),
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

#[cfg(test)]
mod tests;
