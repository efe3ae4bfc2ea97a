//! The searches of a run: `optimize:` on the simulator, and what is stored of them.

use std::cell::RefCell;
use std::path::Path;

use serde_json::json;

use crate::design::Level;
use crate::engine::{JOURNAL, Job, Journal, Options, Workers};
use crate::frame::{Cell, Provenance, Staging, StoreError, Table};
use crate::model::Model;
use crate::optimize::{self, Evaluate, Outcome, Request, Search, Space, Step, Stop, Target};
use crate::policy::Policy;
use crate::report;
use crate::rng::content_hash;
use crate::spec::{Experiment, Optimize};
use crate::stats::{Good, Interval};

/// Replications between two looks at what is left to do, and two entries in the journal.
const BATCH: u64 = 512;

/// How the searches of a run ended.
pub(super) enum Searched {
    /// What was found, and the searches that found nothing.
    Done(Vec<Outcome>, Vec<Fruitless>),
    /// By the user, with so many evaluations in the journal.
    Interrupted,
}

/// A search in a scenario that found nothing.
pub(super) struct Fruitless {
    /// Position of the search, and a point of the scenario.
    search: usize,
    point: u32,
    why: String,
}

impl Fruitless {
    pub(super) fn sentence(&self, experiment: &Experiment) -> String {
        let label = &experiment.optimize[self.search].label;
        let scenario = report::scenario(experiment, self.point);
        format!("the search {label}{scenario} found nothing: {}", self.why)
    }
}

/// Opens the journal of the searches, if the experiment has any.
pub(super) fn journal(
    experiment: &Experiment,
    folder: &Path,
) -> Result<Option<Journal>, StoreError> {
    if experiment.optimize.is_empty() {
        return Ok(None);
    }
    let error = |error| StoreError::new(&folder.join(JOURNAL), error);
    Journal::open(folder).map(Some).map_err(error)
}

/// Runs all searches, each in every scenario; those that found nothing are told of in sentences.
pub(super) fn searches(
    experiment: &Experiment,
    options: Options,
    journal: &mut Journal,
    observe: &dyn Fn(&Optimize, &Step),
) -> anyhow::Result<Searched> {
    let workers = Workers::new::<StoreError>(options)?;
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for (position, search) in experiment.optimize.iter().enumerate() {
        for (scenario, point) in experiment.scenarios(&search.at) {
            let trouble = RefCell::new(None);
            let simulator = Simulator {
                experiment,
                search,
                point,
                rivals: rivals(experiment, search, scenario),
                workers: &workers,
                journal: RefCell::new(journal),
                trouble: &trouble,
            };
            let found = one(experiment, (position, search), scenario, &simulator, observe);
            if let Some(error) = trouble.take() {
                return Err(error);
            }
            match found {
                Ok(outcome) => outcomes.push(outcome),
                Err(Stop::Interrupted) => return Ok(Searched::Interrupted),
                Err(stop) => {
                    failures.push(Fruitless { search: position, point, why: stop.to_string() });
                }
            }
        }
    }
    Ok(Searched::Done(outcomes, failures))
}

fn rivals(experiment: &Experiment, search: &Optimize, scenario: u64) -> Vec<Option<u32>> {
    search.against.iter().map(|rival| experiment.rival(rival, scenario)).collect()
}

fn one(
    experiment: &Experiment,
    (position, search): (usize, &Optimize),
    scenario: u64,
    simulator: &Simulator,
    observe: &dyn Fn(&Optimize, &Step),
) -> Result<Outcome, Stop> {
    let space = Space { parameters: search.over.iter().map(|over| over.range).collect() };
    let observe = |step: &Step| observe(search, step);
    // All searches of a scenario meet the same traffic, which differs from that of the sweep.
    let model = experiment.model(&experiment.design.point(simulator.point));
    let traffic = |purpose: &str| {
        let model = model.as_ref().map(Model::scenario).unwrap_or_default();
        content_hash(format!("{model:032x} {purpose}").as_bytes())
    };
    let streams = (experiment.seed, traffic("search"));
    let mut run =
        Search::new(space.clone(), simulator, search.good, streams, search.budget, &observe);
    let found = optimize::search(&mut run, &search.method, &search.start)?;
    let at = space.natural(&found.unit);
    let se = found.se.as_ref().map(|se| space.change(&found.unit, se));
    let names: Vec<String> = search.against.iter().map(|rival| rival.name.clone()).collect();
    let plan = optimize::Plan {
        found: &at,
        rivals: &names,
        good: search.good,
        seed: experiment.seed,
        scenario: traffic("confirm"),
        replications: search.confirm.replications,
        grid: search.confirm.grid,
        delta: search.confirm.delta,
        confidence: experiment.confidence,
    };
    let confirmation = optimize::confirm(&space, simulator, &plan, &observe)?;
    Ok(Outcome {
        search: position,
        scenario,
        point: simulator.point,
        found,
        at,
        se,
        spent: run.spent(),
        failures: run.failures(),
        steps: run.into_steps(),
        confirmation,
    })
}

/// The simulator as a noisy function; what it once computed comes from the journal.
struct Simulator<'a> {
    experiment: &'a Experiment,
    search: &'a Optimize,
    /// A point of the scenario.
    point: u32,
    rivals: Vec<Option<u32>>,
    workers: &'a Workers<'a>,
    journal: RefCell<&'a mut Journal>,
    /// What went wrong outside of the search.
    trouble: &'a RefCell<Option<anyhow::Error>>,
}

impl Evaluate for Simulator<'_> {
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let mut values = Vec::with_capacity(requests.len());
        let mut rest = requests;
        while !rest.is_empty() {
            let mut sum = 0;
            let fits = |request: &&Request| {
                sum += u64::from(request.replications);
                sum <= BATCH
            };
            let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            values.extend(self.batch(batch)?);
            rest = after;
        }
        Ok(values)
    }
}

impl Simulator<'_> {
    fn batch(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let mut journal = self.journal.borrow_mut();
        let jobs: Vec<Option<(u128, Job)>> =
            requests.iter().map(|request| self.job(request)).collect();
        let (keys, new): (Vec<u128>, Vec<Job>) =
            jobs.iter().flatten().filter(|(key, _)| !journal.knows(*key)).cloned().unzip();
        let results = self.workers.run(&new).ok_or(Stop::Interrupted)?;
        let results: Vec<Vec<Option<f64>>> = results
            .into_iter()
            .map(|values| values.into_iter().map(Result::ok).collect())
            .collect();
        let entries = keys.into_iter().zip(results.iter().map(Vec::as_slice));
        if let Err(error) = journal.put(&entries.collect::<Vec<_>>()) {
            *self.trouble.borrow_mut() = Some(StoreError::new(journal.path(), error).into());
            return Err(Stop::Interrupted);
        }
        let none = |request: &Request| vec![None; request.replications as usize];
        let mut values = Vec::with_capacity(jobs.len());
        for (job, request) in jobs.iter().zip(requests) {
            let known = job.as_ref().and_then(|(key, _)| journal.get(*key));
            values.push(known.map_or_else(|| none(request), <[_]>::to_vec));
        }
        Ok(values)
    }

    /// Returns what a request asks to be run, with the hash of all that its values depend on;
    /// nothing for a target that the model can't have.
    fn job(&self, request: &Request) -> Option<(u128, Job)> {
        let scenario = self.experiment.design.point(self.point);
        let (model, policy): (Model, Policy) = match &request.target {
            Target::Point(at) => self.experiment.searched(self.search, &scenario, at)?,
            Target::Rival(rival) => {
                let point = self.experiment.design.point(self.rivals[*rival]?);
                (self.experiment.model(&point)?, self.experiment.policy(&point)?)
            }
        };
        let response = &self.experiment.columns[self.search.column];
        let column = model.columns().iter().position(|column| column == response)?;
        let Request { streams, replications, .. } = *request;
        let text = format!("{model:?} {policy:?} {response} {streams:?} {replications}");
        let job = Job { model, policy, column, streams, replications };
        Some((content_hash(text.as_bytes()), job))
    }
}

/// Returns the replications of all searches and their confirmations.
pub(super) fn replications(outcomes: &[Outcome]) -> u64 {
    let steps = |outcome: &Outcome| -> u64 {
        let all = outcome.steps.iter().chain(&outcome.confirmation.steps);
        all.map(|step| u64::from(step.replications)).sum()
    };
    outcomes.iter().map(steps).sum()
}

/// Writes `optimum.json` and `trace.parquet`.
pub(super) fn store(
    experiment: &Experiment,
    (outcomes, fruitless): (&[Outcome], &[Fruitless]),
    staging: &mut Staging,
) -> Result<(), StoreError> {
    let provenance = Provenance::new(experiment);
    let optimum = json!({
        "schema": super::run::SCHEMA,
        "name": experiment.name,
        "spec_hash": provenance.spec_hash,
        "seed": experiment.seed,
        "searches": optima(experiment, outcomes, fruitless),
    });
    staging.write("optimum.json", &format!("{optimum:#}\n"))?;
    trace(experiment, outcomes).write_parquet(staging, "trace.parquet", &provenance)
}

/// Returns what the searches found, for machines.
pub(super) fn optima(
    experiment: &Experiment,
    outcomes: &[Outcome],
    fruitless: &[Fruitless],
) -> serde_json::Value {
    let found = outcomes.iter().map(|outcome| optimum(experiment, outcome));
    let nothing = fruitless.iter().map(|this| {
        json!({
            "search": experiment.optimize[this.search].label,
            "scenario": scenario(experiment, this.point),
            "found": null,
            "error": this.why,
        })
    });
    found.chain(nothing).collect()
}

/// Returns the values of the model's axes at a point.
fn scenario(experiment: &Experiment, point: u32) -> serde_json::Map<String, serde_json::Value> {
    let point = experiment.design.point(point);
    let levels = experiment.design.scenario_levels(&point).into_iter();
    let value = |level| match level {
        Level::Number(number) => json!(number),
        Level::Text(text) => json!(text),
    };
    levels.map(|(axis, level)| (axis.to_owned(), value(level))).collect()
}

fn optimum(experiment: &Experiment, outcome: &Outcome) -> serde_json::Value {
    let search = &experiment.optimize[outcome.search];
    let names = || search.over.iter().map(|over| over.name.clone());
    let point = |at: &[f64]| -> serde_json::Map<String, serde_json::Value> {
        names().zip(at.iter().map(|&value| value.into())).collect()
    };
    let found =
        |i: usize| json!({"value": outcome.at[i], "se": outcome.se.as_ref().map(|se| se[i])});
    let interval = |interval: Option<Interval>| {
        [interval.map(|interval| interval.low), interval.map(|interval| interval.high)]
    };
    let measured = |value: &optimize::Measured| {
        let [low, high] = interval(value.interval);
        json!({"replications": value.n, "mean": value.mean, "ci_low": low, "ci_high": high})
    };
    let confirmation = &outcome.confirmation;
    json!({
        "search": search.label,
        "scenario": scenario(experiment, outcome.point),
        "scenario_number": outcome.scenario,
        "policy": experiment.labels[search.policy],
        "response": experiment.columns[search.column],
        "goal": match search.good { Good::Less => "minimize", Good::More => "maximize" },
        "method": outcome.found.method,
        "why": outcome.found.why,
        "gains": outcome.found.gains,
        "budget": search.budget,
        "spent": outcome.spent,
        "replications_failed": outcome.failures.replications,
        "evaluations_retried": outcome.failures.retried,
        "evaluations_skipped": outcome.failures.skipped,
        "found": names().enumerate().map(|(i, name)| (name, found(i)))
            .collect::<serde_json::Map<_, _>>(),
        "confirmed": confirmation.found.as_ref().map(measured),
        "against": confirmation.rivals.iter().map(|rival| {
            let [low, high] = interval(rival.interval);
            json!({
                "rival": rival.name, "value": rival.value.as_ref().map(measured),
                "difference": rival.difference, "ci_low": low, "ci_high": high,
                "verdict": crate::frame::verdict(rival.verdict),
            })
        }).collect::<Vec<_>>(),
        "grid": confirmation.regret.as_ref().map(|regret| json!({
            "points": regret.points,
            "best": point(&regret.best), "best_value": regret.best_value,
            "regret": regret.regret, "ci_low": regret.interval.low,
            "ci_high": regret.interval.high, "delta": search.confirm.delta,
            "at_noise_floor": regret.at_noise_floor,
        })),
    })
}

/// Returns the table of `trace.parquet`: a row per evaluation.
fn trace(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for over in experiment.optimize.iter().flat_map(|search| &search.over) {
        if !names.contains(&over.name.as_str()) {
            names.push(&over.name);
        }
    }
    let before = ["search", "scenario", "evaluation", "phase", "iteration", "side"];
    let after = ["value", "sd", "replications", "failed", "gain_a", "gain_c"];
    let streams = ["stream", "first_replication"];
    let columns = (before.map(String::from).into_iter())
        .chain(names.iter().map(|name| (*name).to_owned()))
        .chain(after.map(String::from))
        .chain(names.iter().map(|name| format!("estimate_{name}")))
        .chain(streams.map(String::from))
        .collect();
    let mut rows = Vec::new();
    for outcome in outcomes {
        let search = &experiment.optimize[outcome.search];
        let values = |point: Option<&[f64]>| -> Vec<Cell> {
            let value = |name: &&str| {
                let position = search.over.iter().position(|over| over.name == **name)?;
                point.and_then(|point| point.get(position)).copied()
            };
            names.iter().map(|name| Cell::Number(value(name))).collect()
        };
        let steps = outcome.steps.iter().chain(&outcome.confirmation.steps);
        for (evaluation, step) in steps.enumerate() {
            let mut row = vec![
                Cell::Text(search.label.clone()),
                Cell::Whole(outcome.scenario),
                Cell::Whole(evaluation as u64),
                Cell::Text(step.phase.name().to_owned()),
                Cell::Whole(step.iteration.into()),
                Cell::Text(step.side.clone()),
            ];
            row.extend(values(Some(&step.point)));
            row.extend([
                Cell::Number(step.value),
                Cell::Number(step.sd),
                Cell::Whole(step.replications.into()),
                Cell::Whole(step.failed.into()),
                Cell::Number(step.gains.map(|[a, _]| a)),
                Cell::Number(step.gains.map(|[_, c]| c)),
            ]);
            row.extend(values(step.estimate.as_deref()));
            row.extend([
                Cell::Text(format!("{:032x}", step.streams.scenario)),
                Cell::Whole(step.streams.replication.into()),
            ]);
            rows.push(row);
        }
    }
    Table { columns, rows }
}
