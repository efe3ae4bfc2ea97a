//! The command line: arguments, progress, tables, exit codes.

mod args;
mod engines;
mod failures;
mod progress;
mod reports;
mod run;
mod search;
mod shards;
mod submit;
mod verify;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use args::{Arguments, Command, SpecArgs};

use crate::engine::{self, Case, Plan};
use crate::frame::{StoreError, Work, read_input};
use crate::report;
use crate::spec::{self, Experiment, Override, Replications, SpecError, Stored};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fine = 0,
    ClaimFailed = 1,
    Usage = 2,
    ReplicationsFailed = 3,
    Storage = 4,
    Interrupted = 130,
}

impl From<End> for ExitCode {
    fn from(end: End) -> ExitCode {
        ExitCode::from(end as u8)
    }
}

/// What the user asked for can't be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// Runs the program.
pub fn main() -> ExitCode {
    quiet_worker_panics();
    match dispatch(Arguments::from_env().command) {
        Ok(end) => end.into(),
        Err(error) => {
            let end = classify(&error);
            // Nobody reads a closed pipe's error message.
            if !broken_pipe(&error) {
                let _ = complain(&error);
            }
            end.into()
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Plan(args) => plan(&args),
        Command::Status(args) => shards::status(&args),
        Command::Merge(args) => shards::merge(&args),
        Command::Submit(args) => submit::submit(&args),
        Command::Check(args) => check(&args),
        Command::Replay(args) => replay(&args),
        Command::Theory(args) => theory(&args),
        Command::Report(args) => reports::report(&args),
        Command::Models => print(&report::vocabulary()),
        Command::Schema => print(&format!("{:#}\n", spec::schema())),
    }
}

fn plan(args: &args::PlanArgs) -> anyhow::Result<End> {
    let experiment = load(&args.spec)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan::all(&experiment);
    print(&report::plan(&experiment, &plan, threads))?;
    match shards::cut(&experiment, args.cut)? {
        Some(shards) => print(&report::shards(&plan, shards)),
        None => Ok(End::Fine),
    }
}

fn check(args: &args::Check) -> anyhow::Result<End> {
    let mut end = End::Fine;
    for path in &args.specs {
        match load(&SpecArgs { spec: path.clone(), changes: args.changes.clone() }) {
            Ok(experiment) => {
                let points = report::grouped(f64::from(experiment.points()));
                print(&format!("{}: fine, {points} points\n", path.display()))?;
            }
            Err(error) => {
                complain(&error)?;
                end = classify(&error);
            }
        }
    }
    Ok(end)
}

fn theory(args: &args::Theory) -> anyhow::Result<End> {
    let experiment = load(&args.spec)?;
    let mut values = BTreeMap::new();
    for point in report::shown_points(&experiment) {
        values.insert(point, Case::new(&experiment, point)?.theory());
    }
    if args.json {
        let points = values.iter().map(|(point, values)| {
            let named = experiment.columns.iter().cloned().zip(values.iter().map(|&v| v.into()));
            let mut object: serde_json::Map<String, serde_json::Value> = named.collect();
            object.insert("point".to_owned(), (*point).into());
            serde_json::Value::from(object)
        });
        return print(&format!("{:#}\n", serde_json::Value::from_iter(points)));
    }
    print(&report::theory(&experiment, &values))
}

fn replay(args: &args::Replay) -> anyhow::Result<End> {
    let experiment = load(&args.spec)?;
    if args.point >= experiment.points() {
        return Err(Usage(format!(
            "there is no point {}: {} has points 0 to {}",
            args.point,
            experiment.name,
            experiment.points() - 1
        ))
        .into());
    }
    if let Replications::Batches(batches) = experiment.replications
        && args.replication >= batches
    {
        let last = batches - 1;
        return Err(
            Usage(format!("there is no batch {}: they are 0 to {last}", args.replication)).into()
        );
    }
    let values =
        Case::new(&experiment, args.point).and_then(|case| case.replicate(args.replication));
    let values = match values {
        Ok(values) => values,
        Err(failure) => {
            complain(&anyhow::anyhow!("{failure}"))?;
            return Ok(End::ReplicationsFailed);
        }
    };
    if args.json {
        let numbers =
            experiment.columns.iter().cloned().zip(values.iter().map(|&value| value.into()));
        let object: serde_json::Map<String, serde_json::Value> = numbers.collect();
        return print(&format!("{:#}\n", serde_json::Value::from(object)));
    }
    let point = experiment.design.point(args.point);
    let mut place = format!("policy {}", experiment.labels[point.policy]);
    let columns = experiment.design.columns().iter();
    for (name, level) in columns.zip(experiment.design.levels(&point)) {
        if let Some(level) = level {
            place += &format!(", {name} {level}");
        }
    }
    print(&format!("{place}, replication {}\n", args.replication))?;
    print(&report::replication(&experiment.columns, &values))
}

/// A checked spec and where it comes from.
struct Loaded {
    experiment: Experiment,
    stored: Stored,
    /// Where its results go, unless the arguments say otherwise.
    folder: PathBuf,
}

/// Reads and checks the spec that the arguments name.
fn load(args: &SpecArgs) -> anyhow::Result<Experiment> {
    Ok(load_whole(args)?.experiment)
}

/// Reads and checks the spec that the arguments name: a file, or that of an unfinished run.
fn load_whole(args: &SpecArgs) -> anyhow::Result<Loaded> {
    let path = args.spec.as_path();
    if path.is_dir() {
        return unfinished(args);
    }
    let name = path.display().to_string();
    let text = read_spec(path).map_err(|message| {
        let help = format!("`{name}` must be a YAML file; see experiments/quickstart.yaml");
        SpecError::file(&name, message, Some(help))
    })?;
    // Absolute, since whoever goes on with the run may do so from elsewhere.
    let folder = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = folder.parent().unwrap_or(Path::new("")).to_owned();
    let mut overrides = Vec::new();
    override_with(&mut overrides, args.changes.overrides().map_err(Usage)?);
    let experiment = spec::load(&name, text, &overrides, &reader(&folder))?;
    let stored = Stored::new(&experiment, name, folder.display().to_string(), overrides);
    if !stored.files.is_empty() && folder.to_str().is_none() {
        let folder = folder.display();
        return Err(Usage(format!(
            "the name of {folder} is no UTF-8 text, so that the files that the spec names couldn't be \
             found again; rename the folder"
        ))
        .into());
    }
    let folder = Path::new("results").join(&experiment.name);
    Ok(Loaded { experiment, stored, folder })
}

/// Reads the spec of an unfinished run as it was when the run began, and changes it further.
fn unfinished(args: &SpecArgs) -> anyhow::Result<Loaded> {
    let folder = args.spec.clone();
    let Some(mut intent) = Work::at(&folder).intent()? else {
        return Err(Usage(format!(
            "{} is a folder without an unfinished run; name a spec, such as my.yaml",
            folder.display()
        ))
        .into());
    };
    override_with(&mut intent.spec.overrides, args.changes.overrides().map_err(Usage)?);
    let experiment = intent.load()?;
    Ok(Loaded { experiment, stored: intent.spec, folder })
}

/// Adds overrides, of which the last one of a path counts.
fn override_with(overrides: &mut Vec<Override>, changes: Vec<Override>) {
    for change in changes {
        match overrides.iter_mut().find(|earlier| earlier.path == change.path) {
            Some(earlier) => *earlier = change,
            None => overrides.push(change),
        }
    }
}

/// Returns what reads the files that a spec in a folder names.
fn reader(folder: &Path) -> impl Fn(&str) -> Result<String, String> {
    let folder = folder.to_owned();
    move |file| read_input(&folder.join(file))
}

fn read_spec(path: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| format!("can't read the spec: {error}");
    let bytes = std::fs::metadata(path).map_err(said)?.len();
    if bytes > spec::MAX_BYTES {
        let (bytes, most) = (report::size(bytes as f64), report::size(spec::MAX_BYTES as f64));
        return Err(format!("the spec has {bytes}, more than the {most} that a spec may have"));
    }
    let content = std::fs::read(path).map_err(said)?;
    String::from_utf8(content).map_err(|_| "the spec is no UTF-8 text".to_owned())
}

/// Returns a word for the shell.
fn quoted(word: impl std::fmt::Display) -> String {
    let word = word.to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a path for the shell, and not as an option.
fn quoted_path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('-') { quoted(format!("./{text}")) } else { quoted(text) }
}

/// Prints to stdout; a reader that left is an error that ends the program quietly.
fn print(text: &str) -> anyhow::Result<End> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("can't write to stdout")?;
    Ok(End::Fine)
}

/// Prints an error to stderr, in colour on a terminal that wants it.
fn complain(error: &anyhow::Error) -> anyhow::Result<()> {
    let stderr = std::io::stderr();
    let colour = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let text = match error.downcast_ref::<SpecError>() {
        Some(error) if colour => error.styled(),
        Some(error) => error.to_string(),
        None => format!("error: {error:#}"),
    };
    writeln!(stderr.lock(), "{text}").context("can't write to stderr")
}

fn classify(error: &anyhow::Error) -> End {
    let storage = |error: &engine::EngineError<StoreError>| match error {
        engine::EngineError::Interrupted => End::Interrupted,
        engine::EngineError::Failed(_) => End::ReplicationsFailed,
        engine::EngineError::Threads(_) | engine::EngineError::Sink(_) => End::Storage,
    };
    if let Some(error) = error.downcast_ref() {
        storage(error)
    } else if error.is::<StoreError>()
        || error.is::<std::io::Error>()
        || error.is::<engines::EngineError>()
    {
        End::Storage
    } else {
        End::Usage
    }
}

fn broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Keeps panics in replications, which become rows of the list of failures, off the screen.
fn quiet_worker_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        if !thread.name().is_some_and(|name| name.starts_with(engine::WORKER)) {
            default(panic);
        }
    }));
}
