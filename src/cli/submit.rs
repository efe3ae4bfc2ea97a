//! `submit`: what is missing of a sharded run, handed to a batch system.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::args::{Cut, Engine, Submit};
use super::engines::{Submission, hyperqueue, slurm};
use super::run::{Opener, open};
use super::shards::{check_same, cut, is_of};
use super::{End, Loaded, Usage, load_whole, print, quoted_path};
use crate::engine::Options;
use crate::frame::{Intent, Work, missing};
use crate::spec::Experiment;

/// Time that a shard should take on one core, unless the arguments say otherwise [seconds].
const SHARD_SECONDS: f64 = 300.0;

/// Plans the shards, unless they are planned, and hands those that are missing to an engine.
pub(super) fn submit(args: &Submit) -> anyhow::Result<End> {
    let Loaded { experiment, stored, folder } = load_whole(&args.spec)?;
    let folder = args.out.clone().unwrap_or(folder);
    let mut intent = Intent::new(&experiment, stored, None, args.fresh);
    // Given again, --fresh goes on with what it began.
    let goes_on = |before: &Intent| !args.fresh || before.fresh && before.plan == intent.plan;
    let there = match Work::at(&folder).intent() {
        Err(_) if args.fresh => None,
        other => other?,
    };
    let before = there.clone().filter(goes_on);
    let planned = before.as_ref().and_then(|before| before.shards);
    let shards = match planned {
        Some(shards) if args.cut.shards.is_none() => shards,
        _ => shards(&experiment, args.cut)?,
    };
    intent.shards = Some(shards);
    match &before {
        Some(before) => {
            intent.fresh = false;
            check_same(&folder, before, &intent)?;
        }
        None if !args.fresh && is_of(&folder, &intent)?.is_some() => {
            return Err(nothing(&folder, "its results are in place").into());
        }
        None => {}
    }
    let missing = match planned {
        Some(shards) => missing(&Work::at(&folder), &intent, shards)?,
        None => (1..=shards).collect(),
    };
    if missing.is_empty() {
        let how = format!("`balancelab merge {}` makes the results", quoted_path(&folder));
        return Err(nothing(&folder, &how).into());
    }
    let set_plan = || -> anyhow::Result<()> {
        // Tasks of a plan that goes on may be at work.
        let work = if planned.is_some() { Work::share(&folder) } else { Work::open(&folder) }?;
        let has_changed = match work.intent() {
            Ok(now) => now != there,
            // What is damaged is replaced, or was so before.
            Err(_) => planned.is_some(),
        };
        if has_changed {
            work.leave()?;
            let why = "another run has begun or ended in this folder meanwhile: submit again";
            return Err(Usage(why.to_owned()).into());
        }
        if planned.is_some() {
            return Ok(());
        }
        // What is there is looked at before anything waits in a queue for it.
        let never = AtomicBool::new(false);
        let options = Options { threads: 0, fail_fast: false, cancel: &never };
        let opened = open(&work, &experiment, &intent, Opener::Whole, options).map(drop);
        work.leave()?;
        opened
    };
    let submission = Submission {
        program: &std::env::current_exe()?,
        folder: &std::path::absolute(&folder)?,
        name: &experiment.name,
        missing: &missing,
        shards,
        options: &args.options,
        dry_run: args.dry_run,
        plan: &intent.plan,
        set_plan: &set_plan,
    };
    print(&match args.engine {
        Engine::Slurm => slurm(&submission)?,
        Engine::Hq => hyperqueue(&submission)?,
    })
}

/// Returns the number of shards of a plan that isn't cut yet.
fn shards(experiment: &Experiment, args: Cut) -> anyhow::Result<u32> {
    let usual = Cut { shards: None, shard_seconds: Some(SHARD_SECONDS) };
    let asked = cut(experiment, args)?;
    Ok(match asked {
        Some(shards) => shards,
        None => cut(experiment, usual)?.unwrap_or(1),
    })
}

fn nothing(folder: &Path, then: &str) -> Usage {
    let folder = quoted_path(folder);
    Usage(format!("nothing is missing in {folder}, so nothing is submitted; {then}"))
}
