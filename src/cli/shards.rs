//! Runs in parts: `run --shard`, `status`, `merge`.

use std::path::Path;
use std::time::{Duration, Instant};

use super::args::{Cut, Merge, Run, ShardArg, Status};
use super::failures::name_failures;
use super::progress::{Progress, cancel_on_signal};
use super::run::{Opener, Start, open, sweep};
use super::{End, Loaded, Usage, complain, load_whole, print, quoted_path};
use serde_json::json;

use crate::engine::{self, EngineError, Plan, Shard, most_shards};
use crate::frame::{Intent, ShardWriter, Staging, StoreError, Work, finished_shard, kept, missing};
use crate::report;
use crate::spec::{Experiment, changes};

/// Where engines leave the number of a task.
///
/// HyperQueue's workers may themselves be tasks of another.
const TASK_NUMBERS: [&str; 4] =
    ["HQ_TASK_ID", "SLURM_ARRAY_TASK_ID", "SGE_TASK_ID", "PBS_ARRAY_INDEX"];

/// Runs one shard of a plan, if it isn't there yet.
pub(super) fn run(args: &Run, shard: ShardArg) -> anyhow::Result<End> {
    let shard = number(shard)?;
    if let Some(end) = is_finished(args)? {
        return Ok(end);
    }
    let Loaded { experiment, stored, folder } = load_whole(&args.spec)?;
    check_count(&experiment, shard.of)?;
    let cancel = cancel_on_signal()?;
    let folder = args.out.clone().unwrap_or(folder);
    let intent = Intent::new(&experiment, stored, Some(shard.of), false);
    if let Some(end) = is_there(&folder, &intent, shard)? {
        return Ok(end);
    }
    cut_whole(&folder, &intent)?;
    if let Some(end) = is_there(&folder, &intent, shard)? {
        return Ok(end);
    }
    let work = patiently(|| Work::share(&folder))?;
    // Others may have done it meanwhile, and all of the rest too.
    if let Some(end) = is_there(&folder, &intent, shard)? {
        work.leave()?;
        return Ok(end);
    }
    let end = run_in(args, &experiment, &work, &intent, shard, cancel);
    let left = work.leave();
    match end {
        // Engines may run a shard twice at once; whichever came first removed what it was made
        // from.
        Err(error) => is_there(&folder, &intent, shard).ok().flatten().ok_or(error),
        end => left.map(|()| end)?,
    }
}

/// How long a folder is waited for that another has for itself: planning and cutting take no time,
/// and whoever takes longer is at work on the whole.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens a folder that others may have for themselves for a moment.
fn patiently(open: impl Fn() -> Result<Work, StoreError>) -> Result<Work, StoreError> {
    let limit = Instant::now() + PATIENCE;
    loop {
        match open() {
            Err(_) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
}

/// Cuts a whole run that is unfinished in the folder into shards: one process does, and others wait
/// for it.
fn cut_whole(folder: &Path, intent: &Intent) -> anyhow::Result<()> {
    let uncut = |work: &Work| -> Result<Option<Intent>, StoreError> {
        Ok(work.intent()?.filter(|before| before.shards.is_none()))
    };
    // Whoever waits for it to be cut goes on as soon as it is; the others are then at work.
    let limit = Instant::now() + PATIENCE;
    let work = loop {
        let Some(before) = uncut(&Work::at(folder))? else { return Ok(()) };
        check_same(folder, &before, intent)?;
        match Work::open(folder) {
            Err(_) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(20)),
            other => break other?,
        }
    };
    // It may have been cut, or finished, meanwhile.
    if let Some(before) = uncut(&work)? {
        check_same(folder, &before, intent)?;
        work.set_intent(&Intent { shards: intent.shards, ..before })?;
    }
    Ok(work.leave()?)
}

/// Returns how a shard ended, if its rows are all there, or the whole run, if it is finished.
fn is_there(folder: &Path, intent: &Intent, shard: Shard) -> anyhow::Result<Option<End>> {
    let work = Work::at(folder);
    let Some(before) = work.intent()? else { return is_of(folder, intent) };
    check_same(folder, &before, intent)?;
    let failed = finished_shard(&work, intent, shard)?;
    Ok(failed.map(|failed| if failed == 0 { End::Fine } else { End::ReplicationsFailed }))
}

fn run_in(
    args: &Run,
    experiment: &Experiment,
    work: &Work,
    intent: &Intent,
    shard: Shard,
    cancel: &std::sync::atomic::AtomicBool,
) -> anyhow::Result<End> {
    let options = args.effort.options(cancel);
    let store = open(work, experiment, intent, Opener::Shard(shard), options)?;
    let mut writer = ShardWriter::new(work, experiment, intent, shard)?;
    let plan = Plan::shard(experiment, shard);
    let progress = Progress::new(experiment, plan.total(), args.output.quiet)?;
    let observe = |event: engine::Event| progress.observe(event);
    let mut sink = |output: engine::Output| writer.take(&output);
    let failed = engine::run(experiment, &plan, options, &store, &observe, &mut sink);
    progress.finish();
    let failed = match failed {
        Err(EngineError::Interrupted) => {
            drop(writer);
            store.flush()?;
            complain(&anyhow::anyhow!(
                "interrupted: {} of {} replications of shard {shard} are kept; run it again, and \
                 it goes on from there",
                report::grouped(store.safe(&plan) as f64),
                report::grouped(plan.total() as f64)
            ))?;
            return Ok(End::Interrupted);
        }
        Err(EngineError::Failed(failed)) => {
            drop(writer);
            store.flush()?;
            name_failures(experiment, &intent.spec, &failed, "")?;
            complain(&anyhow::anyhow!(
                "shard {shard} is stopped at a failure, and not complete; without --fail-fast it \
                 is passed over"
            ))?;
            return Ok(End::ReplicationsFailed);
        }
        Err(error) => {
            drop(writer);
            // What can be kept is; the error that is told is the first.
            let _ = store.flush();
            return Err(error.into());
        }
        Ok(failed) => failed,
    };
    let path = match writer.finish(&failed) {
        Ok(path) => path,
        Err(error) => {
            let _ = store.flush();
            return Err(error.into());
        }
    };
    if !args.output.quiet {
        print(&format!("shard {shard} is in {}\n", path.display()))?;
    }
    name_failures(experiment, &intent.spec, &failed, "")?;
    Ok(if failed.is_empty() { End::Fine } else { End::ReplicationsFailed })
}

/// Returns the shard, its number from the environment if it wasn't given.
fn number(shard: ShardArg) -> Result<Shard, Usage> {
    let of = match shard {
        ShardArg::Given(shard) => return Ok(shard),
        ShardArg::Task(of) => of,
    };
    let set = |name: &&str| {
        let value = std::env::var(name).ok();
        value.filter(|value| !value.is_empty() && value != "undefined")
    };
    let found = TASK_NUMBERS.iter().find_map(|name| Some((name, set(name)?)));
    let Some((name, value)) = found else {
        return Err(Usage(format!(
            "--shard /{of} takes the number from {}, and none of them is set; write --shard K/{of}",
            TASK_NUMBERS.join(", ")
        )));
    };
    format!("{value}/{of}")
        .parse()
        .map_err(|_| Usage(format!("{name} is `{value}`, which is no number from 1 to {of}")))
}

/// Returns the number of shards that were asked for, if any were.
pub(super) fn cut(experiment: &Experiment, cut: Cut) -> anyhow::Result<Option<u32>> {
    let shards = match (cut.shards, cut.shard_seconds) {
        (Some(shards), _) => shards,
        (None, Some(seconds)) if seconds > 0.0 && seconds.is_finite() => {
            let all = Plan::all(experiment).seconds(0);
            let most = most_shards(experiment).map_err(Usage)?;
            ((all / seconds).ceil().max(1.0) as u32).min(most)
        }
        (None, Some(seconds)) => {
            return Err(
                Usage(format!("--shard-seconds {seconds}: no time to run a shard in")).into()
            );
        }
        (None, None) => return Ok(None),
    };
    check_count(experiment, shards)?;
    Ok(Some(shards))
}

fn check_count(experiment: &Experiment, shards: u32) -> Result<(), Usage> {
    let most = most_shards(experiment).map_err(Usage)?;
    if shards > most {
        let unit = "replications, or points where replications depend on the data";
        return Err(Usage(format!("{shards} shards are more than the {most} {unit}")));
    }
    Ok(())
}

/// Refuses to mix shards of different plans.
pub(super) fn check_same(folder: &Path, before: &Intent, intent: &Intent) -> Result<(), Usage> {
    let (folder, unfinished) = (quoted_path(folder), Work::at(folder));
    if before.plan != intent.plan {
        let found = match (before.load(), intent.load()) {
            (Ok(before), Ok(now)) => changes(&before.json, &now.json),
            (Err(error), _) | (_, Err(error)) => vec![error.reason()],
        };
        let found: String = found.iter().map(|line| format!("\n  {line}")).collect();
        return Err(Usage(format!(
            "{folder} has an unfinished run of another spec, or of this one with other \
             settings{found}\nfinish that one (`balancelab status {folder}`), choose another folder \
             with --out, or discard what it has kept by removing {}",
            quoted_path(unfinished.folder())
        )));
    }
    match (before.shards, intent.shards) {
        (Some(theirs), Some(ours)) if theirs != ours => Err(Usage(format!(
            "{folder} is cut into {theirs} shards, not {ours}; go on with {theirs}, or choose \
             another folder with --out"
        ))),
        _ => Ok(()),
    }
}

/// Returns how a run ended whose folder of results the arguments name as their spec, unchanged:
/// nobody needs a shard of it.
fn is_finished(args: &Run) -> anyhow::Result<Option<End>> {
    let folder = args.spec.spec.as_path();
    let changed = !args.spec.changes.overrides().map_err(Usage)?.is_empty();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let elsewhere = args.out.as_deref().is_some_and(|out| real(out) != real(folder));
    if !folder.is_dir() || changed || elsewhere || Work::at(folder).intent()?.is_some() {
        return Ok(None);
    }
    finished(folder)
}

/// Returns how a run ended, for its shards, if its results are in a folder, and sound.
fn finished(folder: &Path) -> anyhow::Result<Option<End>> {
    Ok(Staging::finished(folder)?.as_ref().map(end_of))
}

fn end_of(manifest: &serde_json::Value) -> End {
    match manifest["counts"]["failed"].as_u64() {
        Some(0) => End::Fine,
        _ => End::ReplicationsFailed,
    }
}

/// Returns how a run ended, if a folder holds the finished results of just this one.
pub(super) fn is_of(folder: &Path, intent: &Intent) -> anyhow::Result<Option<End>> {
    let manifest = Staging::finished(folder)?;
    Ok(manifest.filter(|manifest| manifest["plan"] == *intent.plan).as_ref().map(end_of))
}

/// Tells what is missing.
pub(super) fn status(args: &Status) -> anyhow::Result<End> {
    let folder = quoted_path(&args.folder);
    let work = Work::at(&args.folder);
    let Some(intent) = work.intent()? else {
        if finished(&args.folder)?.is_none() {
            return Err(nothing_in(&args.folder)?.into());
        }
        return if args.missing {
            Ok(End::Fine)
        } else {
            print(&format!("{folder} is complete: its results are in place\n"))
        };
    };
    let Some(of) = intent.shards else {
        if !args.missing {
            let rows = report::grouped(kept(&work)? as f64);
            print(&format!(
                "{folder} has an unfinished run: {rows} replications are kept; \
                 `balancelab run {folder}` goes on\n"
            ))?;
        }
        return Ok(End::ReplicationsFailed);
    };
    let missing = missing(&work, &intent, of)?;
    if !missing.is_empty() && work.intent()?.as_ref() != Some(&intent) {
        // Another process has merged them meanwhile.
        return status(args);
    }
    let ranges = report::ranges(&missing);
    if args.missing {
        print(&format!("{ranges}\n"))?;
    } else if missing.is_empty() {
        print(&format!(
            "{folder}: all {of} shards are there; `balancelab merge {folder}` makes the results\n"
        ))?;
    } else {
        let there = of as usize - missing.len();
        print(&format!("{folder}: {there} of {of} shards are there; missing: {ranges}\n"))?;
        for (number, note) in notes(&work, &missing)? {
            print(&format!("shard {number}: {note}\n"))?;
        }
    }
    Ok(if missing.is_empty() { End::Fine } else { End::ReplicationsFailed })
}

/// Returns what the tasks of missing shards left as their last words.
fn notes(work: &Work, missing: &[u32]) -> anyhow::Result<Vec<(u32, String)>> {
    let notes = work
        .errors()?
        .into_iter()
        .filter(|(number, text)| missing.binary_search(number).is_ok() && !text.trim().is_empty());
    Ok(notes.take(10).map(|(number, text)| (number, text.trim().replace('\n', "\n  "))).collect())
}

/// Returns what is said of a folder without a plan and without results.
fn nothing_in(folder: &Path) -> anyhow::Result<Usage> {
    let word = quoted_path(folder);
    Ok(Usage(match kept(&Work::at(folder))? {
        0 => format!("{word} has neither results nor an unfinished run"),
        _ => format!(
            "{word} has rows of an unfinished run, but not its plan; `balancelab run SPEC --out \
             {word}` takes them up"
        ),
    }))
}

/// Makes the results of all shards.
pub(super) fn merge(args: &Merge) -> anyhow::Result<End> {
    let (start, cancel) = (Start::now(), cancel_on_signal()?);
    loop {
        if let Some(end) = merge_as_it_is(args, &start, cancel)? {
            return Ok(end);
        }
    }
}

/// Does so unless what is there changes meanwhile.
fn merge_as_it_is(
    args: &Merge,
    start: &Start,
    cancel: &std::sync::atomic::AtomicBool,
) -> anyhow::Result<Option<End>> {
    let folder = quoted_path(&args.folder);
    let before = Work::at(&args.folder);
    let Some(intent) = before.intent()? else {
        let Some(manifest) = Staging::finished(&args.folder)? else {
            return Err(nothing_in(&args.folder)?.into());
        };
        if args.output.json {
            let summary = json!({
                "name": manifest["name"], "results": args.folder.display().to_string(),
                "counts": manifest["counts"], "selected": manifest["selected"],
            });
            print(&format!("{summary:#}\n"))?;
        } else if !args.output.quiet {
            print(&format!("{folder} is complete: its results are in place\n"))?;
        }
        // As it ended the first time.
        return Ok(Some(match manifest["exit_code"].as_u64() {
            Some(0) => End::Fine,
            Some(1) => End::ClaimFailed,
            _ => End::ReplicationsFailed,
        }));
    };
    let Some(of) = intent.shards else {
        let how = format!("`balancelab run {folder}` goes on with it");
        return Err(Usage(format!("the run in {folder} is not cut into shards; {how}")).into());
    };
    let experiment = intent.load()?;
    let missing = missing(&before, &intent, of)?;
    if !missing.is_empty() {
        if before.intent()?.as_ref() != Some(&intent) {
            // Another process has merged them meanwhile.
            return Ok(None);
        }
        complain(&anyhow::anyhow!(
            "{} of {of} shards are missing: {}; run them, then merge again",
            missing.len(),
            report::ranges(&missing)
        ))?;
        for (number, note) in notes(&before, &missing)? {
            complain(&anyhow::anyhow!("shard {number}: {note}"))?;
        }
        return Ok(Some(End::ReplicationsFailed));
    }
    let work = Work::open(&args.folder)?;
    if work.intent()?.as_ref() != Some(&intent) {
        work.leave()?;
        return Ok(None);
    }
    // What it replaces was told when it began, and its own shards are no part of that.
    let intent = Intent { fresh: false, ..intent };
    let options = args.effort.options(cancel);
    sweep(start, &experiment, work, &intent, (Opener::Merge, options), args.output).map(Some)
}
