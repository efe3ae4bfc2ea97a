//! `run`: from a spec to a folder of results.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use cpu_time::ProcessTime;
use serde_json::json;

use super::args::{Run, SpecArgs};
use super::progress::{Progress, SearchProgress, cancel_on_signal};
use super::search::{self, Searched};
use super::{End, Usage, complain, load, print};
use crate::claims::{self, Judged};
use crate::engine::{self, Failed, Journal, Options, Plan};
use crate::frame::{Cell, Provenance, Results, Staging, Table};
use crate::optimize::Step;
use crate::report;
use crate::spec::{Experiment, Optimize};

/// Version of the files' columns and of the manifest.
pub(super) const SCHEMA: u32 = 1;
/// Failed replications named on stderr.
const NAMED_FAILURES: usize = 10;

pub(super) fn run(args: &Run) -> anyhow::Result<End> {
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let experiment = load(&args.spec)?;
    // Before the first file is there, so that an interruption never leaves one.
    let cancel = cancel_on_signal()?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("results").join(&experiment.name));
    keep_others(&experiment, &folder, args.fresh)?;
    let shown = report::shown_points(&experiment);
    let keep = shown.iter().copied().chain(experiment.claimed_points()).collect();
    let mut results = Results::new(&experiment, Staging::new(&folder)?, keep)?;
    let mut journal = search::journal(&experiment, &folder, args.fresh)?;
    let plan = Plan::all(&experiment);
    let progress = Progress::new(&experiment, plan.total(), args.output.quiet)?;
    let options = Options {
        threads: usize::from(args.effort.threads),
        fail_fast: args.effort.fail_fast,
        cancel,
    };
    let observe = |event: engine::Event| progress.observe(event);
    let mut sink = |output| results.take(output);
    let failed = match &experiment.select {
        None => engine::run(&experiment, &plan, options, &observe, &mut sink).map(|f| (f, None)),
        Some(rule) => engine::select(&experiment, rule, &plan, options, &observe, &mut sink)
            .map(|(failed, selected)| (failed, Some(selected))),
    };
    let arrivals = progress.finish();
    let sweep_seconds = start.elapsed().as_secs_f64();
    let (failed, selected) = match failed {
        Err(engine::EngineError::Interrupted) => {
            drop(results);
            return interrupted(&folder, journal);
        }
        other => other?,
    };
    let (mut staging, kept) = results.finish()?;
    let searched = match &mut journal {
        Some(journal) => {
            let progress = SearchProgress::new(args.output.quiet)?;
            let observe = |search: &Optimize, step: &Step| progress.observe(search, step);
            let searched = search::searches(&experiment, options, journal, &observe);
            progress.finish();
            searched?
        }
        None => Searched::Done(Vec::new(), Vec::new()),
    };
    let Searched::Done(outcomes, fruitless) = searched else {
        drop(staging);
        return interrupted(&folder, journal);
    };
    if !experiment.optimize.is_empty() {
        search::store(&experiment, (&outcomes, &fruitless), &mut staging)?;
    }
    let judge = |claim| claims::judge(&experiment, claim, kept.moments.get(&claim.point));
    let judged: Vec<Judged> = experiment.claims.iter().map(judge).collect();
    if !judged.is_empty() {
        claims::table(&judged).write(&mut staging, "claims.csv")?;
    }
    if !failed.is_empty() {
        failures(&experiment, &args.spec, &failed).write(&mut staging, "failures.csv")?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let count = json!({
        "points": experiment.points(), "replications": plan.most(),
        "rows": kept.rows, "failed": failed.len(), "arrivals": arrivals,
        "search_replications": search::replications(&outcomes),
        "claims": judged.len(), "claims_failed": judged.iter().filter(|claim| !claim.passed).count(),
    });
    staging.commit(&json!({
        "schema": SCHEMA,
        "name": experiment.name,
        "spec_hash": Provenance::new(&experiment).spec_hash,
        "seed": experiment.seed,
        "generator": Provenance::new(&experiment).generator,
        "version": Provenance::new(&experiment).version,
        "commit": env!("BALANCELAB_COMMIT"),
        "counts": count,
        "selected": selected.as_ref().map(selected_json),
        "finished": unix_time(),
        "wall_seconds": seconds,
        "cpu_seconds": cpu.elapsed().as_secs_f64(),
        "threads": threads(usize::from(args.effort.threads)),
        "overrides": args.spec.changes.overrides().map_err(Usage)?.iter().map(|change| &change.flag).collect::<Vec<_>>(),
        "spec": experiment.text,
    }))?;
    if let Some(journal) = journal {
        journal.remove().map_err(|error| anyhow::anyhow!("{}: {error}", folder.display()))?;
    }
    if args.output.json {
        let summary = json!({
            "name": experiment.name, "results": folder.display().to_string(), "counts": count,
            "selected": selected.as_ref().map(selected_json), "wall_seconds": seconds, "claims": judged.iter().map(claim_json).collect::<Vec<_>>(),
            "searches": search::optima(&experiment, &outcomes, &fruitless),
        });
        print(&format!("{summary:#}\n"))?;
    } else if !args.output.quiet {
        print(&format!("{}\n", headline(&experiment, kept.rows, arrivals, sweep_seconds)))?;
        print(&report::results(&experiment, &kept, &shown))?;
        if let (Some(rule), Some(selected)) = (&experiment.select, &selected) {
            print(&report::selected(&experiment, rule, selected))?;
        }
        print(&report::comparisons(&experiment, &kept))?;
        print(&report::searches(&experiment, &outcomes))?;
        if !judged.is_empty() {
            print(&format!("\n{}", report::claims(&experiment, &judged)))?;
        }
        print(&format!("results are in {}\n", folder.display()))?;
    }
    name_failures(&experiment, &args.spec, &failed)?;
    for this in &fruitless {
        complain(&anyhow::anyhow!("{}", this.sentence(&experiment)))?;
    }
    match end(&experiment, &judged, &failed)? {
        End::Fine | End::ClaimFailed if !fruitless.is_empty() => Ok(End::ReplicationsFailed),
        end => Ok(end),
    }
}

/// Says what an interrupted run leaves: the journal of its searches, if there is anything in it.
fn interrupted(folder: &Path, journal: Option<Journal>) -> anyhow::Result<End> {
    let mut left = String::new();
    match journal {
        Some(journal) if !journal.is_empty() => {
            let known = report::grouped(journal.used() as f64);
            left = format!("; run again, and the searches go on from their {known} evaluations");
        }
        Some(journal) => journal.remove()?,
        None => {}
    }
    // A folder made for this run alone is empty; any other stays.
    let _ = std::fs::remove_dir(folder);
    complain(&anyhow::anyhow!("interrupted: no results were written{left}"))?;
    Ok(End::Interrupted)
}

/// Refuses to write over the results of another spec.
fn keep_others(experiment: &Experiment, folder: &Path, fresh: bool) -> Result<(), Usage> {
    let theirs = Staging::manifest(folder);
    let hash = theirs.as_ref().and_then(|manifest| manifest["spec_hash"].as_str());
    match hash {
        Some(hash) if hash != Provenance::new(experiment).spec_hash && !fresh => {
            Err(Usage(format!(
                "{} holds the results of another spec, or of this one with other settings; \
             --fresh replaces them, --out DIR keeps both",
                folder.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Returns how a run ends, and names the claims that failed.
pub(super) fn end(
    experiment: &Experiment,
    judged: &[Judged],
    failed: &[Failed],
) -> anyhow::Result<End> {
    for claim in judged.iter().filter(|claim| !claim.passed) {
        let at = if claim.at.is_empty() { String::new() } else { format!(" at {}", claim.at) };
        let why = if claim.sd_run.is_none() {
            " (fewer than two replications have a value, so there is nothing to judge by)"
        } else {
            ""
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
    Ok(if !failed.is_empty() {
        End::ReplicationsFailed
    } else if judged.iter().any(|claim| !claim.passed) {
        End::ClaimFailed
    } else {
        End::Fine
    })
}

/// Returns one line that says what the sweep ran.
fn headline(experiment: &Experiment, rows: u64, arrivals: u64, seconds: f64) -> String {
    format!(
        "{}: {} points × {}{} = {} rows, {} arrivals in {seconds:.1} s",
        experiment.name,
        report::grouped(f64::from(experiment.points())),
        experiment.replications,
        if experiment.select.is_some() { " at the most" } else { "" },
        report::grouped(rows as f64),
        report::grouped(arrivals as f64),
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

fn selected_json(selected: &engine::Selected) -> serde_json::Value {
    json!({
        "point": selected.best, "left": selected.left, "most_replications": selected.most,
        "rows": selected.total,
    })
}

/// Returns the table of `failures.csv`.
fn failures(experiment: &Experiment, spec: &SpecArgs, failed: &[Failed]) -> Table {
    let rows = failed.iter().map(|failed| {
        let policy = experiment.design.point(failed.point).policy;
        vec![
            Cell::Whole(failed.point.into()),
            Cell::Text(experiment.labels[policy].clone()),
            Cell::Whole(failed.replication.into()),
            Cell::Text(failed.failure.to_string()),
            Cell::Text(replay_line(spec, failed)),
        ]
    });
    let columns =
        ["point", "policy", "replication", "failure", "replay"].map(String::from).to_vec();
    Table { columns, rows: rows.collect() }
}

/// Names failed replications on stderr, each with the command that reruns it.
pub(super) fn name_failures(
    experiment: &Experiment,
    spec: &SpecArgs,
    failed: &[Failed],
) -> anyhow::Result<()> {
    for failed in failed.iter().take(NAMED_FAILURES) {
        let policy = experiment.design.point(failed.point).policy;
        complain(&anyhow::anyhow!(
            "replication {} of point {} ({}) failed: {}\n  {}",
            failed.replication,
            failed.point,
            experiment.labels[policy],
            failed.failure,
            replay_line(spec, failed)
        ))?;
    }
    if failed.len() > NAMED_FAILURES {
        let more = failed.len() - NAMED_FAILURES;
        complain(&anyhow::anyhow!("{more} more replications failed; failures.csv names them"))?;
    }
    Ok(())
}

fn replay_line(spec: &SpecArgs, failed: &Failed) -> String {
    let mut line = format!("balancelab replay {}", quoted(&spec.spec));
    for set in &spec.changes.set {
        line += &format!(" --set {}", quoted(&PathBuf::from(set)));
    }
    if let Some(seed) = spec.changes.seed {
        line += &format!(" --seed {seed}");
    }
    line + &format!(" --point {} --replication {}", failed.point, failed.replication)
}

/// Returns a word as a shell wants it.
fn quoted(word: &Path) -> String {
    let word = word.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,".contains(c);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
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
