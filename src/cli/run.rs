//! `run`: from a spec to a folder of results.

use std::collections::BTreeSet;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use cpu_time::ProcessTime;
use serde_json::json;

use super::args::{Output, Run};
use super::failures::{command, failures, name_failures};
use super::progress::{Progress, SearchProgress, arrivals_column, cancel_on_signal};
use super::search::{self, Fruitless, Searched};
use super::{End, Loaded, Usage, complain, load_whole, print, quoted_path, reports, shards};
use crate::claims::{self, Judged};
use crate::engine::{self, EngineError, Failed, Journal, Options, Plan, Shard};
use crate::frame::{
    Found, Intent, Kept, Layout, OpenError, PAGE, Provenance, Results, Staging, Store, StoreError,
    Work,
};
use crate::model::KERNELS;
use crate::optimize::{Outcome, Step};
use crate::report;
use crate::spec::{Experiment, Optimize, Replications};

/// Version of the files' columns and of the manifest.
pub(super) const SCHEMA: u32 = 2;

pub(super) fn run(args: &Run) -> anyhow::Result<End> {
    if let Some(shard) = args.shard {
        return shards::run(args, shard);
    }
    let start = Start::now();
    let Loaded { experiment, stored, folder } = load_whole(&args.spec)?;
    // Before the first file is there, so that an interruption never leaves one.
    let cancel = cancel_on_signal()?;
    let work = Work::open(&args.out.clone().unwrap_or(folder))?;
    let intent = Intent::new(&experiment, stored, None, args.fresh);
    let how = (Opener::Whole, args.effort.options(cancel));
    sweep(&start, &experiment, work, &intent, how, args.output)
}

/// When a run began.
pub(super) struct Start(Instant, ProcessTime);

impl Start {
    pub(super) fn now() -> Start {
        Start(Instant::now(), ProcessTime::now())
    }
}

/// Which command it is that opens what is there, and so what it can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    /// `run` and `submit`.
    Whole,
    Shard(Shard),
    Merge,
}

/// Opens what earlier runs left; says what was torn.
pub(super) fn open<'a>(
    work: &'a Work,
    experiment: &'a Experiment,
    intent: &Intent,
    opener: Opener,
    options: Options,
) -> anyhow::Result<Store<'a>> {
    let shard = match opener {
        Opener::Shard(shard) => Some(shard),
        Opener::Whole | Opener::Merge => None,
    };
    let mut said = Vec::new();
    let store = Store::open(work, experiment, intent, shard, options, &mut |line| said.push(line));
    for line in said {
        complain(&anyhow::anyhow!("{line}"))?;
    }
    store.map_err(|error| refusal(error, work, opener))
}

/// Returns what the user is told when what is there can't be used.
fn refusal(error: OpenError, work: &Work, opener: Opener) -> anyhow::Error {
    match error {
        OpenError::Foreign { why, unfinished } => {
            let folder = quoted_path(work.folder());
            let mut remedy = match opener {
                Opener::Whole => "--fresh discards them, --out DIR keeps both".to_owned(),
                Opener::Shard(_) => "choose another folder with --out".to_owned(),
                Opener::Merge => format!("move {folder} to another folder, and merge that"),
            };
            if unfinished {
                remedy += &format!("; removing {folder} discards what an unfinished run has kept");
            }
            Usage(format!("{why}\n{remedy}")).into()
        }
        OpenError::Store(error) => error.into(),
        OpenError::Engine(error) => error.into(),
    }
}

/// Runs all of an experiment that isn't there yet, and puts its results in place.
pub(super) fn sweep(
    start: &Start,
    experiment: &Experiment,
    work: Work,
    intent: &Intent,
    (opener, options): (Opener, Options),
    output: Output,
) -> anyhow::Result<End> {
    let end = open(&work, experiment, intent, opener, options).and_then(|store| {
        let how = (opener, options);
        let end = sweep_with(start, experiment, (&work, &store), intent, how, output);
        if end.is_err() {
            // What can be kept is; the error that is told is the first.
            let _ = store.flush();
        }
        end
    });
    let left = work.leave();
    let end = end?;
    left.map(|()| end).map_err(anyhow::Error::from)
}

/// What a run came to.
struct Findings {
    kept: Kept,
    /// Rows that were there before.
    reused: u64,
    arrivals: u64,
    /// How long the sweep took.
    seconds: f64,
    failed: Vec<Failed>,
    selected: Option<engine::Selected>,
    optima: Vec<Outcome>,
    fruitless: Vec<Fruitless>,
    judged: Vec<Judged>,
}

fn sweep_with(
    start: &Start,
    experiment: &Experiment,
    (work, store): (&Work, &Store),
    intent: &Intent,
    (opener, options): (Opener, Options),
    output: Output,
) -> anyhow::Result<End> {
    let mut journal = search::journal(experiment, work.folder())?;
    let shown = report::shown_points(experiment);
    let keep = shown.iter().copied().chain(experiment.claimed_points()).collect();
    let mut results = Results::new(experiment, Staging::new(work), keep)?;
    let plan = Plan::all(experiment);
    let progress = Progress::new(experiment, plan.total(), output.quiet)?;
    let observe = |event: engine::Event| progress.observe(event);
    // How many replications a point has, where that depends on what they are.
    let is_open =
        experiment.select.is_some() || matches!(experiment.replications, Replications::Until(_));
    let mut reached = vec![0; if is_open { experiment.points() as usize } else { 0 }];
    // Of the rows that are kept: a selection runs some for nothing.
    let (mut arrivals, column) = (0, arrivals_column(experiment));
    let mut sink = |output| {
        if let engine::Output::Row(row) = &output {
            if let Some(reached) = reached.get_mut(row.point as usize) {
                *reached = row.replication + 1;
            }
            arrivals += column.map_or(0, |column| row.values[column] as u64);
        }
        results.take(output)
    };
    let simulated = match &experiment.select {
        None => engine::run(experiment, &plan, options, store, &observe, &mut sink)
            .map(|failed| (failed, None)),
        Some(rule) => engine::select(experiment, rule, &plan, options, store, &observe, &mut sink)
            .map(|(failed, selected)| (failed, Some(selected))),
    };
    progress.finish();
    let seconds = start.0.elapsed().as_secs_f64();
    let (failed, selected) = match simulated {
        Err(EngineError::Interrupted) => {
            drop(results);
            return interrupted((work, store), &plan, intent, journal.as_ref());
        }
        Err(EngineError::Failed(failed)) => {
            drop(results);
            store.flush()?;
            name_failures(experiment, &intent.spec, &failed, "")?;
            complain(&anyhow::anyhow!(
                "stopped at a failure: {}; without --fail-fast it is passed over",
                goes_on(store, &plan, intent)
            ))?;
            return Ok(End::ReplicationsFailed);
        }
        other => other?,
    };
    let (mut staging, kept) = results.finish()?;
    if is_open {
        // Only its end tells what isn't part of it.
        store.check_reached(&reached, options).map_err(|error| match error {
            OpenError::Foreign { why, unfinished } => {
                let folder = quoted_path(work.folder());
                let why = match opener {
                    Opener::Merge => why,
                    _ => format!(
                        "{why}\n{folder} keeps what this run made; moved to another folder, which \
                         --out names, it is used there"
                    ),
                };
                refusal(OpenError::Foreign { why, unfinished }, work, opener)
            }
            error => refusal(error, work, opener),
        })?;
    }
    let searched = match &mut journal {
        Some(journal) => {
            // Searches may take longer than the sweep.
            store.flush()?;
            let progress = SearchProgress::new(output.quiet)?;
            let observe = |search: &Optimize, step: &Step| progress.observe(search, step);
            let searched = search::searches(experiment, options, journal, &observe);
            progress.finish();
            searched?
        }
        None => Searched::Done(Vec::new(), Vec::new()),
    };
    let Searched::Done(optima, fruitless) = searched else {
        drop(staging);
        return interrupted((work, store), &plan, intent, journal.as_ref());
    };
    let judge = |claim| claims::judge(experiment, claim, kept.moments.get(&claim.point));
    let judged: Vec<Judged> = experiment.claims.iter().map(judge).collect();
    // A selection asks for more than it takes.
    let reused = store.used().min(kept.rows);
    let findings =
        Findings { kept, reused, arrivals, seconds, failed, selected, optima, fruitless, judged };
    store_tables(experiment, intent, &findings, &mut staging)?;
    let counts = counts(experiment, &plan, &findings);
    let end = match end(&findings.judged, &findings.failed) {
        End::Fine | End::ClaimFailed if !findings.fruitless.is_empty() => End::ReplicationsFailed,
        end => end,
    };
    let mut manifest = manifest(start, experiment, intent, options, (&counts, &findings));
    manifest["exit_code"] = (end as u8).into();
    staging.commit(manifest)?;
    let made = reports::put(work);
    work.remove()?;
    let (found, report) = made.map_err(StoreError::of_report).with_context(|| {
        let folder = quoted_path(work.results());
        format!(
            "the results are in place, but their report isn't, which `balancelab report {folder}` makes"
        )
    })?;
    if output.json {
        let summary = json!({
            "name": experiment.name, "results": work.results().display().to_string(),
            "counts": counts, "selected": findings.selected.as_ref().map(|one| selected_json(experiment, one)),
            "wall_seconds": start.0.elapsed().as_secs_f64(),
            "claims": findings.judged.iter().map(claim_json).collect::<Vec<_>>(),
            "searches": search::optima(experiment, &findings.optima, &findings.fruitless),
            "verdict": report.verdict.iter().map(|one| &one.text).collect::<Vec<_>>(),
            "report": work.results().join(PAGE).display().to_string(),
        });
        print(&format!("{summary:#}\n"))?;
    } else if !output.quiet {
        print(&tables(experiment, &findings, &shown, &found))?;
        let folder = work.results().display();
        print(&format!("results are in {folder}, to be looked at in {folder}/{PAGE}\n"))?;
    }
    name_failures(experiment, &intent.spec, &findings.failed, "; failures.csv names them")?;
    for this in &findings.fruitless {
        complain(&anyhow::anyhow!("{}", this.sentence(experiment)))?;
    }
    name_failed_claims(experiment, &findings.judged)?;
    Ok(end)
}

/// Writes the tables that don't grow with the number of replications.
fn store_tables(
    experiment: &Experiment,
    intent: &Intent,
    findings: &Findings,
    staging: &mut Staging,
) -> Result<(), StoreError> {
    let Findings { failed, optima, fruitless, judged, .. } = findings;
    if !experiment.optimize.is_empty() {
        search::store(experiment, (optima, fruitless), staging)?;
    }
    if !judged.is_empty() {
        claims::table(judged).write(staging, "claims.csv")?;
    }
    if !failed.is_empty() {
        failures(experiment, &intent.spec, failed).write(staging, "failures.csv")?;
    }
    Ok(())
}

fn counts(experiment: &Experiment, plan: &Plan, findings: &Findings) -> serde_json::Value {
    let Findings { kept, reused, arrivals, failed, optima, judged, .. } = findings;
    json!({
        "points": experiment.points(), "replications": plan.most(),
        "rows": kept.rows, "reused": reused, "failed": failed.len(), "arrivals": arrivals,
        "search_replications": search::replications(optima),
        "claims": judged.len(), "claims_failed": judged.iter().filter(|claim| !claim.passed).count(),
    })
}

fn manifest(
    start: &Start,
    experiment: &Experiment,
    intent: &Intent,
    options: Options,
    (counts, findings): (&serde_json::Value, &Findings),
) -> serde_json::Value {
    let provenance = Provenance::new(experiment);
    json!({
        "schema": SCHEMA,
        "name": experiment.name,
        "spec_hash": provenance.spec_hash,
        "plan": intent.plan,
        "seed": experiment.seed,
        "generator": provenance.generator,
        "kernels": KERNELS,
        "version": provenance.version,
        "commit": env!("BALANCELAB_COMMIT"),
        "counts": counts,
        "selected": findings.selected.as_ref().map(|one| selected_json(experiment, one)),
        "finished": unix_time(),
        "wall_seconds": start.0.elapsed().as_secs_f64(),
        "cpu_seconds": start.1.elapsed().as_secs_f64(),
        "threads": threads(options.threads),
        "run": command("run", &intent.spec),
        "replay": command("replay", &intent.spec),
        "layout": Layout::new(experiment),
        "overrides": intent.spec.overrides.iter().map(|change| &change.flag).collect::<Vec<_>>(),
        "spec": experiment.text,
    })
}

/// Returns what the terminal shows of a run.
fn tables(
    experiment: &Experiment,
    findings: &Findings,
    shown: &BTreeSet<u32>,
    found: &Found,
) -> String {
    let Findings { kept, selected, optima, judged, .. } = findings;
    let mut text = format!("{}\n", headline(experiment, findings));
    let overview = if experiment.points() > report::FEW { report::overview(found) } else { None };
    let is_whole = overview.is_none();
    text += &match overview {
        Some(overview) => overview + &report::short_batches(experiment, kept, shown),
        None => report::results(experiment, kept, shown),
    };
    if let (Some(rule), Some(selected)) = (&experiment.select, selected) {
        text += &report::selected(experiment, rule, selected);
    }
    if is_whole {
        text += &report::comparisons(experiment, kept);
    }
    text += &report::searches(experiment, optima);
    if !judged.is_empty() {
        text += &format!("\n{}", report::claims(experiment, judged));
    }
    text
}

/// Says what an interrupted run leaves, and how it goes on.
fn interrupted(
    (work, store): (&Work, &Store),
    plan: &Plan,
    intent: &Intent,
    journal: Option<&Journal>,
) -> anyhow::Result<End> {
    store.flush()?;
    if store.safe(plan) == 0 && journal.is_none_or(Journal::is_empty) {
        // The plan of tasks that wait somewhere stays.
        if !store.had_begun() {
            work.clear()?;
        }
        complain(&anyhow::anyhow!("interrupted before the first replication was done"))?;
        return Ok(End::Interrupted);
    }
    let searched = match journal {
        Some(journal) if !journal.is_empty() => {
            let count = report::grouped(journal.len() as f64);
            format!("{count} evaluations of searches and ")
        }
        _ => String::new(),
    };
    complain(&anyhow::anyhow!("interrupted: {searched}{}", goes_on(store, plan, intent)))?;
    Ok(End::Interrupted)
}

/// Says how a run goes on that was stopped.
fn goes_on(store: &Store, plan: &Plan, intent: &Intent) -> String {
    let safe = report::grouped(store.safe(plan) as f64);
    let total = report::grouped(plan.total() as f64);
    let without = if intent.fresh { ", without --fresh" } else { "" };
    format!(
        "{safe} of {total} replications are kept; run the same again{without}, and it goes on from \
         there"
    )
}

/// Names the claims that failed on stderr.
pub(super) fn name_failed_claims(experiment: &Experiment, judged: &[Judged]) -> anyhow::Result<()> {
    for claim in judged.iter().filter(|claim| !claim.passed) {
        let at = if claim.at.is_empty() { String::new() } else { format!(" at {}", claim.at) };
        let why = if claim.is_judged() {
            ""
        } else {
            " (too few replications have a value, so there is nothing to judge by)"
        };
        complain(&anyhow::anyhow!(
            "{}: claim failed: {} of {}{at} was published as {}, simulated as {}{why}",
            experiment.name,
            claim.response,
            claim.policy,
            claim.written,
            claim.simulated.map_or("nothing".to_owned(), |mean| format!("{mean:.4}"))
        ))?;
    }
    Ok(())
}

/// Returns how a run ends.
pub(super) fn end(judged: &[Judged], failed: &[Failed]) -> End {
    if !failed.is_empty() {
        End::ReplicationsFailed
    } else if judged.iter().any(|claim| !claim.passed) {
        End::ClaimFailed
    } else {
        End::Fine
    }
}

/// Returns one line that says what the sweep ran.
fn headline(experiment: &Experiment, findings: &Findings) -> String {
    let Findings { kept: Kept { rows, .. }, reused, arrivals, seconds, .. } = findings;
    let before = match reused {
        0 => String::new(),
        _ => format!(" ({} were there)", report::grouped(*reused as f64)),
    };
    format!(
        "{}: {} points × {}{} = {} rows{before}, {} arrivals in {seconds:.1} s",
        experiment.name,
        report::grouped(f64::from(experiment.points())),
        experiment.replications,
        if experiment.select.is_some() { " at the most" } else { "" },
        report::grouped(*rows as f64),
        report::grouped(*arrivals as f64),
    )
}

pub(super) fn claim_json(claim: &Judged) -> serde_json::Value {
    json!({
        "policy": claim.policy, "response": claim.response, "at": claim.at,
        "published": claim.published, "simulated": claim.simulated,
        "ci_low": claim.interval.map(|interval| interval.low),
        "ci_high": claim.interval.map(|interval| interval.high),
        "sd_run": claim.sd_run, "p": claim.p, "tolerance": claim.tolerance,
        "verdict": claim.verdict(),
    })
}

fn selected_json(experiment: &Experiment, selected: &engine::Selected) -> serde_json::Value {
    let rule = experiment.select.as_ref();
    json!({
        "response": rule.map(|rule| &experiment.columns[rule.column]),
        "verdict": rule.map(|rule| report::selection(experiment, rule, selected)),
        "point": selected.best, "left": selected.left, "most_replications": selected.most,
        "rows": selected.total,
    })
}

fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        asked => asked,
    }
}

/// Returns seconds since 1970, for the manifest.
fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
