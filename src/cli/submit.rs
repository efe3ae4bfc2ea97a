//! `submit`: what is missing of a sharded run, handed to a batch system.

use std::path::Path;

use super::args::{Cut, Engine, Submit};
use super::engines::{Submission, hyperqueue, slurm};
use super::progress::cancel_on_signal;
use super::run::open;
use super::shards::{check_same, cut, is_of};
use super::{End, Loaded, Usage, load_whole, print, quoted};
use crate::engine::Options;
use crate::frame::{Intent, Work, missing};
use crate::spec::Experiment;

/// Time that a shard should take on one core, unless the arguments say otherwise [seconds].
const SHARD_SECONDS: f64 = 300.0;

/// Plans the shards, unless they are planned, and hands those that are missing to an engine.
pub(super) fn submit(args: &Submit) -> anyhow::Result<End> {
    let Loaded { experiment, stored, folder } = load_whole(&args.spec)?;
    let folder = args.out.clone().unwrap_or(folder);
    let before = Work::at(&folder).intent()?.filter(|_| !args.fresh);
    let planned = before.as_ref().and_then(|before| before.shards);
    let shards = match planned {
        Some(shards) if args.cut.shards.is_none() => shards,
        _ => shards(&experiment, args.cut)?,
    };
    let intent = Intent::new(&experiment, stored, Some(shards), args.fresh);
    match &before {
        Some(before) => check_same(&folder, before, &intent)?,
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
        let how = format!("`balancelab merge {}` makes the results", quoted(folder.display()));
        return Err(nothing(&folder, &how).into());
    }
    if planned.is_none() && !args.dry_run {
        // What is there is looked at before anything waits in a queue for it.
        let work = Work::open(&folder)?;
        let options = Options { threads: 0, fail_fast: false, cancel: cancel_on_signal()? };
        let opened = open(&work, &experiment, &intent, None, options).map(drop);
        work.leave()?;
        opened?;
    }
    let submission = Submission {
        program: &std::env::current_exe()?,
        folder: &std::path::absolute(&folder)?,
        name: &experiment.name,
        missing: &missing,
        shards,
        options: &args.options,
        dry_run: args.dry_run,
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
    Usage(format!("nothing is missing in {}, so nothing is submitted; {then}", folder.display()))
}
