//! The α of the theta policy with runs ≤ 2 in series 2: SPSA against a fine grid.
//!
//! Run with `cargo bench --bench alpha`, and a number after `--` for other than 100
//! macroreplications. Each is a search of 610 replications, a tenth of what a grid of 61 points with
//! 100 replications each takes. It uses all cores, for a minute or two on two.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::atomic::AtomicBool;

use balancelab::engine::{Job, Options, Workers};
use balancelab::model::Model;
use balancelab::optimize::{self, Evaluate, Request, Search, Space, Stop, Target};
use balancelab::policy::Policy;
use balancelab::spec::{self, Experiment};
use balancelab::stats::{Good, Moments};

const SPEC: &str = include_str!("../experiments/series2.yaml");
const BUDGET: u64 = 610;
const GRID: u32 = 61;

struct Errors<'a> {
    experiment: &'a Experiment,
    workers: Workers<'a>,
}

impl Evaluate for Errors<'_> {
    fn evaluate(&self, requests: &[Request]) -> Result<Vec<Vec<Option<f64>>>, Stop> {
        let search = &self.experiment.optimize[0];
        let point = self.experiment.design.point(0);
        let jobs: Vec<Job> = requests
            .iter()
            .map(|request| {
                let Target::Point(at) = &request.target else { unreachable!("no rivals") };
                let (model, policy): (Model, Policy) =
                    self.experiment.searched(search, &point, at).unwrap();
                let (streams, replications) = (request.streams, request.replications);
                Job { model, policy, column: search.column, streams, replications }
            })
            .collect();
        let values = self.workers.run(&jobs).unwrap();
        Ok(values.into_iter().map(|one| one.into_iter().map(Result::ok).collect()).collect())
    }
}

fn main() {
    let runs = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(100);
    let no_files = |path: &str| Err(format!("{path} is not read"));
    let experiment = spec::load("series2.yaml", SPEC.to_owned(), &[], &no_files).unwrap();
    let cancel = AtomicBool::new(false);
    let options = Options { threads: 0, fail_fast: true, cancel: &cancel };
    let workers = Workers::new::<Stop>(options).unwrap();
    let errors = Errors { experiment: &experiment, workers };
    let search = &experiment.optimize[0];
    let space = Space { parameters: vec![search.over[0].range] };

    let mut units = Moments::default();
    let mut predicted = Moments::default();
    let mut alphas = Vec::new();
    for seed in 0..runs {
        let mut run = Search::new(space.clone(), &errors, Good::Less, (seed, 1), BUDGET, &|_| {});
        let found = optimize::search(&mut run, &search.method, &search.start).unwrap();
        units.push(found.unit[0]);
        predicted.push(found.se.unwrap()[0].powi(2));
        alphas.push(space.natural(&found.unit)[0]);
    }
    // All on the same streams, which no search has seen.
    let plan = optimize::Plan {
        found: &[alphas[0]],
        rivals: &[],
        good: Good::Less,
        seed: 0,
        scenario: 2,
        replications: 200,
        grid: Some(GRID),
        delta: None,
        confidence: 0.95,
    };
    let grid = optimize::confirm(&space, &errors, &plan, &|_| {}).unwrap();
    let best = grid.regret.unwrap().best_value;
    let mut gaps: Vec<f64> = alphas
        .iter()
        .map(|&alpha| {
            let plan = optimize::Plan { found: &[alpha], grid: None, ..plan.clone() };
            let found = optimize::confirm(&space, &errors, &plan, &|_| {}).unwrap().found;
            found.unwrap().mean - best
        })
        .collect();
    gaps.sort_by(f64::total_cmp);
    let within = gaps.iter().filter(|&&gap| gap <= 0.1).count();
    alphas.sort_by(f64::total_cmp);
    let at = |share: f64| (share * (runs - 1) as f64).round() as usize;
    println!(
        "{runs} searches of {BUDGET} replications, against the best of {GRID} points, {best:.3} % errors"
    );
    println!(
        "alpha: median {:.5}, 5 % to 95 % {:.5} to {:.5}",
        alphas[at(0.5)],
        alphas[at(0.05)],
        alphas[at(0.95)]
    );
    println!(
        "confirmed errors above the grid's best: median {:.3}, 95 % {:.3}, most {:.3} points; within 0.1: {within} of {runs}",
        gaps[at(0.5)],
        gaps[at(0.95)],
        gaps[gaps.len() - 1]
    );
    println!(
        "standard error [share of the box]: predicted {:.4}, empirical {:.4}, ratio {:.2}",
        predicted.mean().unwrap().sqrt(),
        units.sd().unwrap(),
        predicted.mean().unwrap().sqrt() / units.sd().unwrap()
    );
}
