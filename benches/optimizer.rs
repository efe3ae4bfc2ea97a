//! The optimiser on problems with known answers, against what it says of itself.
//!
//! Run with `cargo bench --bench optimizer`, and a number after `--` for other than 60
//! macroreplications. Each is a search of 1 000 replications with a seed of its own.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod problems;

use balancelab::optimize::{Search, search};
use balancelab::spec::Method;
use balancelab::stats::{Good, Moments};

const BUDGET: u64 = 1000;

fn main() {
    let runs = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(60);
    println!(
        "budget {BUDGET} replications, {runs} macroreplications; gap: true mean at the point found, less the minimum"
    );
    println!(
        "| problem | method | mean gap | ± (95 %) | largest gap | rms error | predicted / empirical s.e. |"
    );
    println!("|---|---|---|---|---|---|---|");
    for problem in problems::all() {
        for (name, method) in methods() {
            report(&problem, name, &method, runs);
        }
    }
}

fn methods() -> Vec<(&'static str, Method)> {
    vec![("spsa", Method::Spsa(Default::default()))]
}

fn report(problem: &problems::Problem, name: &str, method: &Method, runs: u64) {
    let space = problem.space();
    let (mut gap, mut worst) = (Moments::default(), 0.0_f64);
    let (mut at, mut se) = (Moments::default(), Moments::default());
    let mut square = Moments::default();
    for seed in 0..runs {
        let mut search_of =
            Search::new(space.clone(), problem, Good::Less, (seed, 7), BUDGET, &|_| {});
        let found = search(&mut search_of, method, &problem.start).unwrap();
        assert!(search_of.spent() <= BUDGET);
        let point = space.natural(&found.unit);
        gap.push((problem.gap)(&point));
        worst = worst.max((problem.gap)(&point));
        at.push(found.unit[0]);
        if let Some(all) = found.se {
            se.push(all[0] * all[0])
        }
        square.push((point[0] - problem.best[0]).powi(2));
    }
    println!(
        "| {} | {name} | {:.5} | {:.5} | {worst:.5} | {:.4} | {:.2} |",
        problem.name,
        gap.mean().unwrap(),
        gap.interval(0.95).unwrap().half_width(),
        square.mean().unwrap().sqrt(),
        se.mean().unwrap_or(f64::NAN).sqrt() / at.sd().unwrap()
    );
}
